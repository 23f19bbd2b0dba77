"""What moves data for matrix instructions: loads of fragments, copies past registers, exchanges between lanes.

What a fragment needs is computed from its layout, as `mmacalc memory` does it. The others are listed here by what they
are for; a target has those that its assembler takes: a line of AMD's, an opcode of PTX. The remarks are of the ISA
guides of AMD (CDNA3, CDNA4, RDNA3, RDNA4) and LLVM's tables of gfx1250, and of PTX ISA 9.1.
"""

from __future__ import annotations

from ...asm.assembler import assemble
from ...asm.encoder import rows_of
from ...asm.targets import target
from ...base.errors import Error
from ...base.records import TupleRecord, json_keys
from ...kernels.ptx.grammar import has
from ...memory_access.answer import memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...model import Architecture, Instruction

__all__ = ["Mover", "Purpose", "fragment_loads", "movers", "purposes"]

SHOWN = 3  # of a target's instructions for one purpose


@json_keys("name", "count=needed: how many there must be, 0 where that depends", "remark")
class Mover(TupleRecord):
    """An instruction outside the matrix unit, and what it does. needed: how many there must be; 0 if that depends."""

    name: str
    needed: int = 0
    remark: str = ""

    @property
    def text(self) -> str:
        """As a line says it."""
        many = f"{self.needed} x " if self.needed > 1 else ""
        return many + self.name + (f": {self.remark}" if self.remark else "")


class Purpose(TupleRecord):
    """What instructions are for, with those of both vendors, the most useful first.

    amd: alternatives, of which a target has the first that its assembler takes: (a line of assembly, how it is called,
    a remark); nvidia: (an opcode of PTX, a remark).
    """

    what: str
    amd: tuple[tuple[tuple[str, str, str], ...], ...]
    nvidia: tuple[tuple[str, str], ...]


@json_keys("what", "source: of the first instruction's architecture", "target")
class Movement(TupleRecord):
    """What two architectures have for one purpose."""

    what: str
    source: tuple[Mover, ...]
    target: tuple[Mover, ...]


_IN_ORDER = "which lie side by side in LDS from M0 on"
_MASK = "a mask in SGPRs, a bit for each lane"
PURPOSES = (
    Purpose(
        "copy from global to shared memory past the registers",
        (
            (("tensor_load_to_lds s[0:3], s[4:11]", "tensor_load_to_lds", "a tile, by a descriptor; may pad it"),),
            (("global_load_async_to_lds_b128 v1, v[2:3], off", "global_load_async_to_lds_b128",
              "16 bytes of each lane, anywhere"),),
            (("global_load_lds_dwordx4 v[0:1], off", "global_load_lds_dwordx4",
              f"16 bytes of each lane, {_IN_ORDER}"),),
            (("global_load_lds_dword v[0:1], off", "global_load_lds_dword", f"4 bytes of each lane, {_IN_ORDER}"),),
            (("buffer_load_dword v1, s[4:7], 0 offen lds", "buffer_load_dword ... lds",
              f"4 bytes of each lane, {_IN_ORDER}"),),
        ),
        (
            ("cp.async.bulk.tensor", "a tile, by a tensor map; may swizzle it"),
            ("cp.async.cg.shared.global", "16 bytes of each lane, anywhere"),
        ),
    ),
    Purpose(
        "wait until loads or such copies have arrived",
        (
            (("s_wait_tensorcnt 0x0", "s_wait_tensorcnt", "for tensor_load_to_lds"),),
            (("s_wait_asynccnt 0x0", "s_wait_asynccnt", "for async copies"),),
            (("s_wait_loadcnt 0x0", "s_wait_loadcnt", "for loads"),
             ("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt", "for loads, and copies into LDS")),
        ),
        (
            ("mbarrier.try_wait.parity.shared.b64", "for bulk copies"),
            ("cp.async.wait_group", "for cp.async"),
        ),
    ),
    Purpose(
        "a value of another lane",
        (
            (("v_permlane32_swap_b32 v0, v1", "v_permlane32_swap_b32", "exchanges halves of the wave"),),
            (("v_permlane16_swap_b32 v0, v1", "v_permlane16_swap_b32", "exchanges rows of 16 lanes"),),
            (("v_permlanex16_b32 v0, v1, s0, s1", "v_permlanex16_b32", "any lane of the other 16 of 32"),),
            (("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf", "v_mov_b32_dpp",
              "within a row of 16 lanes"),),
            (("ds_bpermute_b32 v0, v1, v2", "ds_bpermute_b32", "any lane; waits like a load from LDS"),),
        ),
        (
            ("shfl.sync.bfly.b32", "the lane whose number differs in given bits"),
            ("shfl.sync.idx.b32", "any lane"),
        ),
    ),
    Purpose(
        "in which lanes a condition holds",
        ((("v_cmp_lt_f32 vcc, v0, v1", "v_cmp_lt_f32", _MASK),
          ("v_cmp_lt_f32 vcc_lo, v0, v1", "v_cmp_lt_f32", _MASK)),),
        (("vote.sync.ballot.b32", "a mask of 32 bits"),),
    ),
    Purpose(
        "a barrier of the workgroup",
        ((("s_barrier_signal -1", "s_barrier_signal -1, s_barrier_wait -1", ""), ("s_barrier", "s_barrier", "")),),
        (("barrier.cta.sync.aligned", ""),),
    ),
)  # fmt: skip


def purposes(source: Architecture, target: Architecture) -> tuple[Movement, ...]:
    """What two architectures have for each purpose.

    >>> import mmacalc
    >>> found = purposes(mmacalc.architecture("sm_80"), mmacalc.architecture("gfx942"))
    >>> [mover.name for mover in found[0].target]
    ['global_load_lds_dword', 'buffer_load_dword ... lds']
    """
    return tuple([Movement(one.what, movers(source, one), movers(target, one)) for one in PURPOSES])


def movers(architecture: Architecture, purpose: Purpose) -> tuple[Mover, ...]:
    """The instructions of an architecture for a purpose, the most useful first; none where it has none."""
    if architecture.vendor not in ("amd", "nvidia"):
        return (Mover("not described"),)
    if architecture.vendor == "nvidia":
        found = [Mover(name, 0, remark) for name, remark in purpose.nvidia if _has(architecture.name, name)]
    else:
        having = [[one for one in same if _assembles(architecture, one[0])] for same in purpose.amd]
        found = [Mover(same[0][1], 0, same[0][2]) for same in having if same]
    return tuple(found[:SHOWN])


def _has(target: str, opcode: str) -> bool:
    root, *modifiers = opcode.split(".")
    return has(target, root, tuple(modifiers))


def _assembles(architecture: Architecture, line: str) -> bool:
    try:
        where = target(architecture.name)
        if not rows_of(line.split()[0], where):  # at once: a refusal's message looks for names that are alike
            return False
        assemble(line, architecture.name)
    except Error:
        return False
    return True


def fragment_loads(
    inst: Instruction, operand: str, order: str, times: int, ld: int, fields: Mapping[str, int] = {}
) -> tuple[Mover, ...]:
    """The loads from shared memory that fill an operand, `times` fragments of it.

    Args:
        order: "row" or "col": how the matrix lies. ld: elements from one row (column) to the next.
        fields: that choose formats.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    >>> mfma = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_bf16")
    >>> [[mover.text for mover in fragment_loads(inst, "A", "row", 1, 64)] for inst in (mma, mfma)]
    [['ldmatrix.sync.aligned.m8n8.x4.shared.b16'], ['ds_read_b64']]
    """
    if operand not in inst.register_operands:
        where = inst.outside_registers.get(operand, "").partition(";")[0].partition(",")[0]
        where += " or in shared memory, by a descriptor" if inst.in_tensor_memory and operand == "A" else ""
        return (Mover("none", 0, f"{operand} {where}"),)
    if "wgmma" in inst.features:
        return (Mover("none", 0, f"{operand} is read from shared memory, by a descriptor; or it is in registers"),)
    held = inst.operand(operand, **fields)
    try:
        found = memory(held, order, ld)
        names = [load.name for load in found.matrix_loads] or [
            one.load for one in found.transposing if one.memory == found.transposing[0].memory
        ]
        names = names or [found.lds_instruction] * found.instructions
    except Error as refused:
        return (Mover("not known", 0, str(refused)),)
    return tuple([Mover(name, names.count(name) * times) for name in dict.fromkeys(names)])
