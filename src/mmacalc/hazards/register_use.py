"""What one instruction does to vector registers, and its hazard classes: `register_use` of a line of assembly,
`decoded_use` of a decoded instruction.

Matrix instructions come from the catalog: their kind and length follow from formats, shape and cycles. What every other
instruction is, and which of its operands it reads and writes, is in the record of `mmacalc.asm.operations`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache

from .. import catalog
from ..asm.decoded import RegisterOperand
from ..asm.operations import form_of_row, operation
from ..asm.reader import (
    AMD_MNEMONICS,
    LAST_REGISTER,
    MATRIX,
    NAMED_REGISTERS,
    Statement,
    registers,
    vector_registers,
)  # fmt: skip
from ..asm.registers import RegisterRange
from ..asm.rows import Row
from ..asm.tables import FAMILY_OF, flags_of, instruction_names
from ..asm.tokens import integer
from ..asm.written import style_value
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord
from ..model.instruction import FORMAT_SYNONYMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from ..asm.decoded import DecodedInstruction
    from ..asm.operations import Form, OperandUse, Operation
    from ..catalog import Entry
    from ..model import Instruction

    Spans: TypeAlias = tuple[RegisterRange, ...]
    Accessed: TypeAlias = tuple[str, Spans, Spans]
    """How an operand is accessed, and the vector registers and SGPRs that it names."""

__all__ = [
    "OTHER_NAMES", "UNREAD", "RegisterUse", "accesses", "bare", "decoded_use", "entry_of", "form_of", "is_known",
    "is_matrix", "operation_of", "register_use", "states_given", "untabled",
]  # fmt: skip

# v_mfma_ld_scale_b32 and its like: the first half of a scaled instruction, which only reads the scales.
SCALE_PREFIX = "_ld_scale"
KNOWN = tuple(prefix.strip() for prefix in AMD_MNEMONICS)


class Untabled(TupleRecord):
    """What the tables leave out: its kinds, and the access to memory that it is (see `memory_counters`), "" of none."""

    kinds: frozenset[str]
    access: str = ""


_IMAGES, _NONE = frozenset(("MEM", "VMEM")), Untabled(frozenset())
# LDSDIR (RDNA3 ISA guide, section 12.2): what they load is written when VALU instructions have done with the register.
_LDS_DIRECT = Untabled(frozenset(("LDS_DIRECT",)), "direct")
# What the decoder's tables leave out, by the beginning of the name, the longer first: graphics, moves of AccVGPRs.
UNTABLED = {
    "image_bvh": Untabled(_IMAGES, "bvh"),
    **dict.fromkeys(("image_sample", "image_gather", "image_msaa"), Untabled(_IMAGES, "sample")),
    **dict.fromkeys(("image_", "tbuffer_"), Untabled(_IMAGES, "memory")),
    **dict.fromkeys(("lds_direct_load", "lds_param_load", "ds_direct_load", "ds_param_load"), _LDS_DIRECT),
    "lds_": Untabled(frozenset(("MEM",))),
    # Always of GDS, which M0 addresses (LLVM 22.1.8, isAlwaysGDS).
    **dict.fromkeys(("ds_gws_", "ds_ordered_count"), Untabled(frozenset(("MEM", "M0_READ")))),
    "v_interp_": Untabled(frozenset(("VALU", "M0_READ"))),
    "tensor_": Untabled(_IMAGES),
    "exp": Untabled(frozenset(("EXP",)), "export"),
    "v_accvgpr_read": Untabled(frozenset(("ACC_READ", "VALU"))),
    "v_accvgpr_write": Untabled(frozenset(("ACC_WRITE", "VALU"))),
    "v_": Untabled(frozenset(("VALU",))),
}
# Of the names in LLVM 22.1.8's assembler those that the tables lack and that a target from gfx908 to gfx1251 knows:
# older spellings, and what the decoder leaves out.
OTHER_NAMES = """
    buffer_atomic_csub buffer_atomic_fcmpswap buffer_atomic_fmax buffer_atomic_fmin ds_add_gs_reg_rtn
    ds_direct_load ds_gws_barrier ds_gws_init ds_gws_sema_br ds_gws_sema_p ds_gws_sema_release_all ds_gws_sema_v
    ds_ordered_count ds_param_load ds_sub_gs_reg_rtn flat_atomic_fcmpswap flat_atomic_fmax flat_atomic_fmin
    global_atomic_csub global_atomic_fcmpswap global_atomic_fmax global_atomic_fmin global_load_dword_addtid
    global_store_dword_addtid lds_direct_load lds_param_load s_andn1_saveexec_b32 s_andn1_wrexec_b32
    s_andn2_saveexec_b32 s_andn2_wrexec_b32 s_inst_prefetch s_max_f16 s_max_f32 s_min_f16 s_min_f32
    s_orn1_saveexec_b32 s_orn2_saveexec_b32 tensor_save tensor_stop v_fma_legacy_f32 v_fmac_legacy_f32
    v_mul_lo_i32
    """
# Beginnings of names of which the tables do not have all: graphics, halves of pairs, what the catalog has.
OTHERS = ("image_", "tbuffer_", "exp", "v_interp_", "v_dual_", "v_illegal", "v_accvgpr_", *MATRIX)
# The kinds that flags of the record are to the rules.
FLAG_KINDS = {
    "dot": "DOT", "trans": "TRANS", "lane_select": "LANE LANE_SELECT", "read_lane": "LANE READ_LANE",
    "div_fmas": "DIV_FMAS", "fma64": "FMA64", "permlane_swap": "PERMLANE_SWAP", "part": "PART",
}  # fmt: skip
# The flags of DPP, which preserves what its masks leave out (LLVM's operand `old`).
DPP = ("quad_perm", "row_", "wave_", "dpp8")
WAIT_VDST = ("wait_vdst", "wait_va_vdst")
# Both wait for the counters of dependencies; bits 12 to 15 are va_vdst.
DEPENDENCY_WAITS = ("s_waitcnt_depctr", "s_wait_alu")
_COUNTER = re.compile(r"([a-z_]+)\s*\(([^()]*)\)", re.IGNORECASE)
MOST_NOP = 16  # s_nop 15 gives 16 wait states (CDNA4 ISA guide, S_NOP: SIMM16[3:0])
EXEC = NAMED_REGISTERS["exec"].first
_SCALAR_FILES = {"s": 0, **{name: NAMED_REGISTERS[name].first for name in ("vcc", "m0", "exec")}}
MODE, TRAPSTS = 1, 3  # hardware registers (CDNA3 ISA guide, S_GETREG_B32)
VSKIP = 28  # the bit of MODE (CDNA3 ISA guide, section 3.5)
_HARDWARE = re.compile(r"\bhwreg\s*\([^()]*\)", re.ASCII)
_SOURCE = re.compile(r"\b(?:src_)?(vccz|execz|lds_direct)\b", re.ASCII)
_REGISTER_LIKE = re.compile(r"[-|]*(?:v|a|acc)[\d\[]", re.IGNORECASE)


class RegisterUse(TupleRecord):
    """One instruction as the hazard rules see it.

    kinds: the classes that rules name; passes: how long a matrix instruction takes, in the unit that the rules of
    its architecture count (passes of 4 cycles; on gfx1250, 8 or 16), else 0. name: the mnemonic, without suffix.
    writes: spans; reads: (role, span) pairs, role one of A, B, C, index, scale, data
    (more than 64 bits that are stored; "data at an offset" to a buffer at an SGPR's offset), other. execs: writes EXEC.
    valu: issues as a VALU instruction. states: the wait states that it provides: 1; for s_nop N, N + 1; for other words
    (macros), 0. scalars_written, scalars_read: SGPRs (VCC and M0 by their numbers) of a vector instruction, role one of
    lane (the lane select of v_readlane and v_writelane), vcc (of v_div_fmas), vccz (as data), M0 (where it must have
    been written), or scalar; of a scalar one M0, and hardware registers, of the file "hwreg". fewest: the passes on the
    stepping where they are fewest (gfx1250's B0: 4, 8 or 16).
    """

    kinds: frozenset[str]
    passes: int
    name: str
    writes: tuple[RegisterRange, ...]
    reads: tuple[tuple[str, RegisterRange], ...]
    execs: bool
    valu: bool
    states: int
    scalars_written: tuple[RegisterRange, ...] = ()
    scalars_read: tuple[tuple[str, RegisterRange], ...] = ()
    fewest: int = 0

    @property
    def is_instruction(self) -> bool:
        """Whether it is an instruction, as far as the mnemonic shows."""
        return self.name.startswith(KNOWN)

    @property
    def is_matrix(self) -> bool:
        """Whether it is an MFMA, SMFMAC, WMMA or SWMMAC."""
        return is_matrix(self.name)

    def roles(self, *names: str) -> tuple[RegisterRange, ...]:
        """The spans read in these roles."""
        return tuple(span for role, span in self.reads if role in names)


UNREAD = RegisterUse(frozenset({"VALU"}), 0, "", (), (), False, True, 1)
"""An instruction that cannot be read: a matrix instruction with wrong operands, or one that no target has."""


def entry_of(arch: str) -> Entry:
    """The catalog entry of an AMD architecture with matrix instructions.

    Raises:
        Error: unknown architecture, or one of another vendor.
    """
    entry = catalog.entry(arch)
    entry.architecture.family.require("waits", entry.architecture.title)
    return entry


def is_matrix(name: str) -> bool:
    """Whether a mnemonic is that of an MFMA, SMFMAC, WMMA or SWMMAC."""
    return name.startswith(MATRIX) and SCALE_PREFIX not in name


def is_known(name: str) -> bool:
    """Whether a target has an instruction of this name, without suffix. What another does, or a macro, is not known.

    >>> is_known("v_add_f32"), is_known("image_load"), is_known("v_foo_b32")
    (True, True, False)
    """
    return bool(flags_of(name)) or name in OTHER_NAMES.split() or name.startswith(OTHERS)


def register_use(statement: Statement, entry: Entry, strict: bool = False) -> RegisterUse:
    """What a statement does on an architecture.

    Args:
        statement: from `mmacalc.asm.reader`.
        entry: the catalog entry of the architecture.
        strict: refuse what no target has; else it gives a wait state, and touches nothing.

    Raises:
        Error: a matrix instruction that the architecture lacks or with too few operands; when strict also an unknown
            mnemonic.
    """
    name = bare(statement.mnemonic)
    if is_matrix(name):
        return _written_matrix(entry.instruction(name), statement)
    if SCALE_PREFIX in name:
        return _scales(name, map(vector_registers, statement.operands), entry)
    if statement.second is not None:
        return _dual(statement, entry)
    if not is_known(name):
        if strict:
            hint = did_you_mean(name, {*instruction_names(), *entry.names})
            begins = (
                ""
                if name.startswith(KNOWN)
                else " Mnemonics begin with v_, s_, ds_, buffer_, global_, flat_, scratch_, image_ or exp"
            )
            raise Error(f"unknown AMD instruction '{statement.mnemonic}'.{hint}{begins}")
        vector = name.startswith("v_")
        kinds = UNREAD.kinds if vector else frozenset()
        return UNREAD._replace(kinds=kinds, name=name, valu=vector, states=int(name.startswith(KNOWN)))
    if strict:
        _check_operands(statement)
    return _written(name, statement, entry)


def _check_operands(statement: Statement) -> None:
    """Refuse what no assembler reads: operands that look like vector registers and name none, too large numbers."""
    if not statement.text.isascii():
        raise Error(f"'{statement.text}' has characters that are not ASCII")
    for operand in statement.operands:
        if _REGISTER_LIKE.match(operand) and not vector_registers(operand):
            last = ", ".join(f"{file}{number}" for file, number in LAST_REGISTER.items())
            raise Error(f"'{operand}' in '{statement.text}' is not a vector register; the last are {last}")
        if operand.isdecimal():
            integer(operand)


@lru_cache(maxsize=16384)
def bare(mnemonic: str) -> str:
    """The mnemonic without encoding suffix, and without the underscore that macros of AMD's kernels put before it."""
    for suffix in ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"):
        mnemonic = mnemonic.removesuffix(suffix)
    return mnemonic.removeprefix("_")


def _matrix(instruction: Instruction, operands: Sequence[Spans], modifiers: Mapping[str, str]) -> RegisterUse:
    """operands: the vector registers of D, A, B, C and what follows; of a sparse instruction D, A, B and the index, and
    C is D."""
    roles = ("A", "B", "index" if instruction.sparse else "C", "scale", "scale")
    reads = [(role, span) for role, ranges in zip(roles, operands[1:]) for span in ranges]
    if instruction.sparse:
        reads += [("C", span) for span in operands[0][:1]]
    kinds, passes = _length(instruction, modifiers)
    newer = _cycles(instruction, modifiers, instruction.cycles or 0, instruction.narrow_cycles)
    fewest = min(passes, newer) if instruction.wait_cycles else passes
    return RegisterUse(kinds, passes, instruction.name, operands[0][:1], tuple(reads), False, True, 1, fewest=fewest)


def _written_matrix(instruction: Instruction, statement: Statement) -> RegisterUse:
    operands = [vector_registers(operand) for operand in statement.operands]
    if len(operands) < 4 or not operands[0]:
        raise Error(
            f"{instruction.name} takes D, A, B and {'the index' if instruction.sparse else 'C'}, D a vector register "
            f"tuple such as v[0:3]; got '{', '.join(statement.operands)}'"
        )
    return _matrix(instruction, operands, statement.modifiers)


def _scales(name: str, operands: Iterable[Spans], entry: Entry) -> RegisterUse:
    """v_mfma_ld_scale_b32 and its like."""
    reads = tuple(("scale", span) for spans in operands for span in spans)
    kinds = frozenset({"MFMA", "XDL"} if entry.architecture.family.blocks else ())
    return RegisterUse(kinds, 0, name, (), reads, False, True, 1)


def _length(instruction: Instruction, modifiers: Mapping[str, str]) -> tuple[frozenset[str], int]:
    """The kinds and the length of a matrix instruction."""
    inner = instruction.formats["A"]
    own = (instruction.cycles or 0, instruction.narrow_cycles)
    cycles = _cycles(instruction, modifiers, *(instruction.wait_cycles or own))
    if not instruction.architecture.family.blocks:
        if inner in ("f32", "f64"):  # no XDL instruction: it runs as VALU instructions do, without co-execution
            return frozenset({f"WMMA_{inner.upper()}"}), 0
        kind = "SWMMAC" if instruction.sparse else "WMMA"
        return frozenset({kind, f"{kind}_32"} if _cycles(instruction, modifiers, *own) == 32 else {kind}), cycles
    if inner == "f64":
        return frozenset({"MFMA", "DGEMM", f"DGEMM{instruction.m}"}), cycles // 4
    return frozenset({"MFMA", "SGEMM" if inner == "f32" else "XDL"}), cycles // 4


def _cycles(instruction: Instruction, modifiers: Mapping[str, str], cycles: int, narrow: tuple[int, int] | None) -> int:
    """How long an instruction takes with these formats: its own figures, or those by which wait states count."""
    return narrow[1] if narrow and _widest(instruction, modifiers) <= narrow[0] else cycles


def _widest(instruction: Instruction, modifiers: Mapping[str, str]) -> int:
    """The bits of the wider of A and B, whose formats fields may choose.

    Raises:
        Error: a field's value chooses no format.
    """
    fields = {
        name: value.lower().removeprefix("matrix_fmt_")
        for name, value in modifiers.items()
        if name in FORMAT_SYNONYMS["A"] + FORMAT_SYNONYMS["B"]
    }
    return max(instruction.format(operand, fields).bits for operand in "AB")


def _dual(statement: Statement, entry: Entry) -> RegisterUse:
    """A VOPD pair is one instruction that does what both halves do."""
    halves = [register_use(half, entry) for half in (statement._replace(second=None), statement.second) if half]
    return _both(halves)


def _both(halves: list[RegisterUse]) -> RegisterUse:
    return halves[0]._replace(
        kinds=frozenset({"DUAL"}).union(*(half.kinds for half in halves)),
        writes=tuple(written for half in halves for written in half.writes),
        reads=tuple(read for half in halves for read in half.reads),
    )


class _Given(TupleRecord):
    """What the modifiers and single operands of a vector instruction say.

    dpp, gds: whether it has them. sources: those of vccz, execz and lds_direct that it reads. op_sel: as a mask, bit 3
    the destination's. op_sel_hi: its lowest bit, None where it is not stated. select: whether SDWA's dst_sel chooses a
    part. unwaited: wait_vdst of a load by LDS_DIRECT.
    """

    dpp: bool
    gds: bool
    sources: frozenset[str]
    op_sel: int = 0
    select: bool = False
    unwaited: int = 0
    op_sel_hi: bool | None = None


def _written(name: str, statement: Statement, entry: Entry) -> RegisterUse:
    arch, flags = entry.architecture.name, statement.modifiers
    one, form = operation_of(name, arch), form_of(statement, arch)
    accesses = _accesses(name, statement, one, form)
    operands = [(access, *_spans(text)) for access, text in zip(accesses, statement.operands)]
    if one.scalar if one is not None else name.startswith("s_"):
        states = _nop_states(name, statement)
        waits = name in DEPENDENCY_WAITS and _waits_for_results(statement)
        return _scalar(name, one, form, operands, states, waits, _hardware(one, form, statement, arch))
    given = _Given(
        _dpp(flags), "gds" in flags, frozenset(_SOURCE.findall(" ".join(statement.operands).lower())),
        _op_sel(form, flags.get("op_sel", "")), flags.get("dst_sel", "dword").lower() != "dword", _wait_vdst(flags),
        flags["op_sel_hi"].lstrip("[ ")[:1] == "1" if "op_sel_hi" in flags else None,
    )  # fmt: skip
    return _vector(name, one, form, operands, given, entry)


@lru_cache(maxsize=16384)
def _spans(operand: str) -> tuple[Spans, Spans]:
    """The vector registers and the SGPRs that an operand names."""
    return vector_registers(operand), tuple([one for one in registers(operand) if one.file == "s"])


def _vector(
    name: str, one: Operation | None, form: Form | None, operands: Sequence[Accessed], given: _Given, entry: Entry
) -> RegisterUse:
    """What another vector instruction does, by its record and its operands in the order of the text."""
    kinds = _kinds(name, entry.architecture.name)
    if given.dpp:
        kinds |= {"DPP"}
    if not entry.architecture.family.blocks and "VALU" in kinds and name != "v_nop":
        kinds |= {"WORK"}
    if "LDS_DIRECT" in kinds and given.unwaited:
        kinds |= {"WAIT_VDST", f"WAIT_VDST_{given.unwaited}"}
    if "lds_direct" in given.sources or _reads_m0(one, form, given.gds):
        kinds |= _m0_kinds(one)
    if entry.architecture.family.blocks:
        if "VALU" in kinds and (named := _data_kinds(operands, given)):
            kinds |= named
        if one is not None and form is not None and _keeps_part(one, form, given):
            kinds |= {"PART"}
        if one is not None and form is not None and _op_sel_hi(one, form, given):
            kinds |= {"OP_SEL_HI"}
    roles = ("C", "A", "B", "C") if "DOT" in kinds else ()  # the accumulator of three operands is the destination
    stored, data = _stored(name, one, form, operands)
    reads: list[tuple[str, RegisterRange]] = []
    for number, (access, spans, _) in enumerate(operands):
        late = number == stored and sum(span.count for span in spans) > WORDS
        role = data if late else roles[number] if number < len(roles) else "other"
        reads += [(role, span) for span in spans if "r" in access]
    writes = tuple(span for access, spans, _ in operands if "w" in access for span in spans)
    execs = form is not None and "exec" in form.writes
    scalars = _scalars(kinds, [(access, spans) for access, _, spans in operands])
    # Copies between memory and LDS, tensor copies among them, are VALU instructions to LLVM (their flag VALU).
    valu = "VALU" in kinds or "valu" in flags_of(name)
    return RegisterUse(kinds, 0, name, writes, tuple(reads), execs, valu, 1, *scalars)


def _data_kinds(operands: Sequence[Accessed], given: _Given) -> set[str]:
    """The kinds of a VALU instruction that reads VCCZ, EXECZ or EXEC as data."""
    names = given.sources & {"vccz", "execz"}
    if any(span.first >= EXEC for access, _, spans in operands for span in spans if "r" in access):
        names |= {"exec"}
    return {f"{name.upper()}_SOURCE" for name in names}


def _scalars(
    kinds: frozenset[str], operands: list[tuple[str, Spans]]
) -> tuple[Spans, tuple[tuple[str, RegisterRange], ...]]:
    """The SGPRs that a vector instruction writes, and those that it reads with their roles; EXEC is not among them.

    Args:
        operands: of each operand how it is accessed, and the SGPRs that it names.
    """
    writes = [span for access, spans in operands for span in spans if "w" in access and span.first < EXEC]
    reads = [
        ("lane" if "LANE_SELECT" in kinds and at == len(operands) - 1 else "scalar", span)
        for at, (access, spans) in enumerate(operands)
        for span in spans
        if "r" in access and span.first < EXEC
    ]
    reads += [
        (role, NAMED_REGISTERS["vcc"]) for kind, role in (("DIV_FMAS", "vcc"), ("VCCZ_SOURCE", "vccz")) if kind in kinds
    ]
    if "M0_READ" in kinds:
        reads.append(("M0", NAMED_REGISTERS["m0"]))
    return tuple(writes), tuple(reads)


WORDS = 2
"""Registers of data that a store has read when it is issued: more are read later (CDNA3 ISA guide, section 4.5)."""


def _stored(name: str, one: Operation | None, form: Form | None, operands: Sequence[Accessed]) -> tuple[int, str]:
    """Which operand is the data of a store that reads what is beyond two registers late (-1 if none is), and its role:
    "data" of flat and global instructions, and of buffers without an SGPR as offset (LLVM 22.1.8, createsVALUHazard);
    "data at an offset" with one."""
    if form is None or one is None:
        fields = ["VDATA", "VADDR", "SRSRC", "SOFFSET"] if name.startswith("tbuffer_store") else []
    else:
        fields = [use.field for use in form.operands] if "store" in one.flags and one.unit in ("flat", "mubuf") else []
    offset = fields.index("SOFFSET") if "SOFFSET" in fields else len(operands)
    scalar = any(span.first < EXEC for _, _, scalars in operands[offset : offset + 1] for span in scalars)
    stored = next((at for at, field in enumerate(fields) if field in ("DATA", "VDATA")), -1)
    return stored, "data at an offset" if scalar else "data"


def _reads_m0(one: Operation | None, form: Form | None, gds: bool) -> bool:
    """Whether M0 must have been written before: of instructions that say so, but ds_append and ds_consume, and of
    accesses to GDS (LLVM 22.1.8, checkReadM0Hazards)."""
    if one is None or form is None:
        return False
    if one.unit == "ds" and (gds or {"load", "store"} <= one.flags):
        return gds
    return "m0" in form.reads and "m0" not in form.writes


def _m0_kinds(one: Operation | None) -> set[str]:
    """The kinds of a vector instruction that reads M0: loads to LDS are VALU instructions to LLVM."""
    return {"M0_READ", "TO_LDS"} if one is not None and one.unit in ("flat", "mubuf") else {"M0_READ"}


def _keeps_part(one: Operation, form: Form, given: _Given) -> bool:
    """Whether a result is moved within its register and the rest is kept: the upper half of OP_SEL, a byte or word of
    SDWA, one byte of FP8 (LLVM 22.1.8, getDstSelForwardingOperand)."""
    moved = 12 if "byte" in one.flags else 8  # of bytes, bits 2 and 3 are the destination's
    packed = form.format.startswith("vop3p")
    return "part" in one.flags or (not packed and bool(given.op_sel & moved)) or given.select


def _op_sel_hi(one: Operation, form: Form, given: _Given) -> bool:
    """Whether the upper half of the first source of a VOP3P instruction is its upper half: the bit that LLVM 22.1.8
    takes for that of a result in the upper half (SISrcMods::OP_SEL_1 is DST_OP_SEL)."""
    if not form.format.startswith("vop3p") or "dot" in one.flags:  # v_dot4_i32_i8 has no such operand
        return False
    return "packed" in one.flags if given.op_sel_hi is None else given.op_sel_hi


def _op_sel(form: Form | None, text: str) -> int:
    """OP_SEL as a mask, bit 3 the destination's; from RDNA3 on it is the half that an operand names."""
    if not text:
        return 0
    bits = [bit.strip() for bit in text.strip("[]").split(",") if bit.strip()]
    sources = sum(not use.destination and not use.number for use in form.operands) if form is not None else 3
    places = [*range(len(bits))]
    places[-1:] = [3] if len(bits) > sources else places[-1:]
    return sum(1 << place for place, bit in zip(places, bits) if bit == "1")


def _hardware(one: Operation | None, form: Form | None, statement: Statement, arch: str) -> int:
    """The part of a hardware register that a scalar instruction names, as SIMM16 has it; -1 if it names none."""
    if one is None or form is None or "hwreg" not in one.flags:
        return -1
    named = _HARDWARE.search(statement.text)
    texts = [named[0]] if named else [text for use, text in zip(form.operands, statement.operands) if use.number]
    with suppress(IndexError, Error):
        return style_value("hwreg", texts[0], FAMILY_OF[_targets(arch)[0]][0], {})
    return -1


def _scalar(
    name: str,
    one: Operation | None,
    form: Form | None,
    operands: Sequence[Accessed],
    states: int,
    waits: bool,
    hardware: int,
) -> RegisterUse:
    """What a scalar instruction does: the wait states that it gives, to EXEC, to M0 and to hardware registers.

    Args:
        waits: whether it waits for the results of VALU instructions. hardware: see `_hardware`.
    """
    kinds, written, read = {"VA_VDST"} if waits else set(), [], []
    first = operands[0][2] if operands and "w" in operands[0][0] else ()
    wide = form is not None and "exec" in form.writes and form.operands and form.operands[0].kind.endswith("2")
    if NAMED_REGISTERS["exec"] in first or wide:
        kinds.add("EXEC_64")
    if any(access == "w" and NAMED_REGISTERS["m0"] in spans for access, _, spans in operands) or (
        form and "m0" in form.writes
    ):
        kinds.add("M0_WRITE")
        written.append(NAMED_REGISTERS["m0"])
    if _reads_m0(one, form, False):
        kinds.add("M0_READ")
        read.append(("M0", NAMED_REGISTERS["m0"]))
    number, first_bit, bits = hardware & 63, hardware >> 6 & 31, (hardware >> 11 & 31) + 1
    if one is not None and "from_trap" in one.flags:
        kinds.add("RFE")
        read.append(("hwreg", RegisterRange("hwreg", TRAPSTS, 1)))
    elif one is not None and "sets_vskip" in one.flags:
        kinds.add("SETVSKIP")
        written.append(RegisterRange("hwreg", MODE, 1))
    elif hardware >= 0:
        sets = form is not None and not any(operand.destination for operand in form.operands)
        kinds.add("SETREG" if sets else "GETREG")
        if sets and number == MODE and first_bit <= VSKIP < first_bit + bits:
            kinds.add("VSKIP")
        written += [RegisterRange("hwreg", number, 1)] * sets
        read.append(("hwreg", RegisterRange("hwreg", number, 1)))
    return RegisterUse(frozenset(kinds), 0, name, (), (), False, False, states, tuple(written), tuple(read))


# --- decoded instructions ---

_PRESERVE = 2  # SDWA's dst_unused: the other bits are kept
DWORD = 6  # SDWA's dst_sel: all of the register


def decoded_use(instruction: DecodedInstruction, entry: Entry) -> RegisterUse:
    """What a decoded instruction does on an architecture: as `register_use` of its text.

    >>> from mmacalc.asm.decoder import decode
    >>> (one,) = decode(bytes.fromhex("01030402"), "gfx942")
    >>> [str(span) for span in decoded_use(one, entry_of("gfx942")).writes]
    ['v2']
    """
    if instruction.second is None:
        return _decoded_half(instruction, entry)
    halves = [_decoded_half(half, entry) for half in (instruction._replace(second=None), instruction.second)]
    return _both(halves)


def _decoded_half(instruction: DecodedInstruction, entry: Entry) -> RegisterUse:
    name, row, modifiers = instruction.name, instruction.form, instruction.modifiers
    assert isinstance(row, Row)
    if row.instruction is not None:
        known = entry.instruction(name)
        sources = instruction.sources[: 3 if known.sparse else None]  # the last of a sparse one is C, which is D
        spans = [_span(one) for one in (*instruction.destinations, *sources)]
        return _matrix(known, spans, {field: str(value) for field, value in modifiers.items()})
    operands = [(access, _span(operand), _scalar_span(operand)) for access, operand in _accessed(instruction)]
    if SCALE_PREFIX in name:
        return _scales(name, (spans for _, spans, _ in operands), entry)
    one, form = operation_of(name, entry.architecture.name), form_of_row(row)
    if not row.flags.isdisjoint(("salu", "smem")):
        number = int(modifiers.get("simm16", 0))
        waits = name in DEPENDENCY_WAITS and not number & 0xF000
        hardware = number if "hwreg" in row.flags else -1
        return _scalar(name, one, form, operands, states_given(name, number), waits, hardware)
    given = _Given(
        form.lanes_kept, bool(modifiers.get("gds")),
        frozenset(getattr(source, "file", "") for source in instruction.sources),
        int(modifiers.get("op_sel", 0)), modifiers.get("dst_sel", DWORD) != DWORD, 0,
        bool(int(modifiers["op_sel_hi"]) & 1) if "op_sel_hi" in modifiers else None,
    )  # fmt: skip
    return _vector(name, one, form, operands, given, entry)


def _accessed(instruction: DecodedInstruction) -> Iterator[tuple[str, object]]:
    """The printed operands with how each is accessed."""
    form = form_of_row(instruction.form)
    sources, destinations = iter(instruction.sources), iter(instruction.destinations)
    kept = form.lanes_kept or instruction.modifiers.get("dst_unused") == _PRESERVE
    relative = "relative" in flags_of(instruction.name)
    for number, use in enumerate(form.operands):
        access = "rw" if number == 0 and relative else use.access
        if use.number:
            yield "", None
        else:
            read = access == "w" and kept and _of_lanes(use)
            yield ("rw" if read else access), next(destinations if use.destination else sources)


def _span(operand: object) -> Spans:
    """The vector registers of an operand; none of others."""
    if not isinstance(operand, RegisterOperand) or operand.file not in ("v", "a"):
        return ()
    half = "lh"[operand.half] if operand.bits == 16 else ""
    return (RegisterRange(operand.file, operand.index, operand.count, half),)


def _scalar_span(operand: object) -> Spans:
    """The SGPRs of an operand, EXEC among them; none of others."""
    if not isinstance(operand, RegisterOperand) or operand.file not in _SCALAR_FILES:
        return ()
    return (RegisterRange("s", _SCALAR_FILES[operand.file] + operand.index, operand.count),)


def states_given(name: str, number: int) -> int:
    """The wait states that an instruction gives: 1, but for s_nop.

    >>> states_given("s_nop", 3), states_given("v_nop", 0)
    (4, 1)
    """
    return number % MOST_NOP + 1 if name == "s_nop" else 1


def _nop_states(name: str, statement: Statement) -> int:
    number = 0
    if name == "s_nop":
        with suppress(IndexError, Error):
            number = integer(statement.operands[0])
    return states_given(name, number)


def _waits_for_results(statement: Statement) -> bool:
    """Whether s_waitcnt_depctr waits until va_vdst is 0. A number that is not known is taken to."""
    text = " ".join([*statement.operands, *statement.modifiers])
    counters = _COUNTER.findall(text)
    named = [value for name, value in counters if name.lower().endswith("va_vdst")]
    if counters and not named:
        return False
    try:
        return any(integer(value) == 0 for value in named) if named else not integer(text) & 0xF000
    except Error:
        return True


def _wait_vdst(flags: Mapping[str, str]) -> int:
    """How many VALU results an LDS_DIRECT instruction does not wait for; left out, it is 0."""
    try:
        return integer(next((flags[name] for name in WAIT_VDST if name in flags), "0")) & 15
    except Error:
        return 0


@lru_cache(maxsize=16384)
def operation_of(name: str, arch: str) -> Operation | None:
    """The record of an instruction: the architecture's own, or another's where an assembler takes its name too
    (ds_read_b128 on RDNA3) or the text is of another target."""
    if not flags_of(name):  # so that no table of another target is read for it
        return None
    every = (operation(name, target) for target in _targets(arch))
    return next((one for one in every if one is not None), None)


@lru_cache(maxsize=256)
def _targets(arch: str) -> tuple[str, ...]:
    """The targets of the decoder's tables, those of an architecture first."""
    architecture = catalog.entry(arch).architecture
    own = {architecture.name, *architecture.aliases, *architecture.targets}

    def unlike(target: str) -> tuple[bool, bool]:
        return target not in own, FAMILY_OF[target][0] != architecture.assembly

    return tuple(sorted(FAMILY_OF, key=unlike))


def untabled(name: str) -> Untabled:
    """What is known of an instruction that the tables leave out."""
    return next((one for start, one in UNTABLED.items() if name.startswith(start)), _NONE)


@lru_cache(maxsize=16384)
def _kinds(name: str, arch: str) -> frozenset[str]:
    one = operation_of(name, arch)
    if one is None:
        return untabled(name).kinds
    if one.vector_memory:
        return frozenset({"MEM"} if one.unit == "ds" else {"MEM", "VMEM"})
    if "valu" not in one.flags:
        return frozenset()
    named = {kind for flag in one.flags for kind in FLAG_KINDS.get(flag, "").split()}
    if name.startswith("v_permlane") and "PERMLANE_SWAP" not in named:  # as LLVM, isPermlane
        named.add("PERMLANE")
    return frozenset({"VALU", *named})


_SCALAR = ("s", "S", "p", "q", "d")  # kinds of operands that are never vector registers (`mmacalc.asm.operand_codes`)
_ODD = set("13579bdf")  # the last digit of a number whose bit 0 says that an atomic returns


def _of_lanes(use: OperandUse) -> bool:
    """Whether an operand has vector registers: DPP keeps lanes of those, while masks and carries are written whole."""
    return use.kind[:1] in ("v", "t", "a")


def accesses(statement: Statement, arch: str) -> tuple[str, ...]:
    """How a statement accesses each of its operands, in the order of the text: "r", "w", or "rw".

    The operand that DPP's masks or SDWA's dst_unused keep in part is "rw". An instruction that the tables leave out is
    read by the general rule: the first operand is written, the others are read. Of an unknown one nothing is known.

    >>> from mmacalc.asm.reader import read_line
    >>> accesses(read_line("global_atomic_add v1, v2, v3, s[0:1] glc"), "gfx90a")
    ('w', 'r', 'r', 'r')
    """
    name = bare(statement.mnemonic)
    return _accesses(name, statement, operation_of(name, arch), form_of(statement, arch))


def _accesses(name: str, statement: Statement, one: Operation | None, form: Form | None) -> tuple[str, ...]:
    flags, count = statement.modifiers, len(statement.operands)
    if SCALE_PREFIX in name:
        return ("r",) * count
    if not is_known(name):
        return ("",) * count
    if one is None or form is None:
        stored = name.startswith(("exp", "ds_gws_")) or any(word in name for word in ("_store", "_atomic", "tensor_"))
        return (*("r" if stored else "w",), *["r"] * (count - 1))[:count]
    found = [*(operand.access for operand in form.operands), *["r"] * count][:count]
    if "relative" in one.flags:
        found[0] = "rw"
    if _dpp(flags) or "unused_preserve" in flags.get("dst_unused", "").lower():
        for number, use in enumerate(form.operands[:count]):
            if found[number] == "w" and _of_lanes(use):
                found[number] = "rw"
    return tuple(found)


def form_of(statement: Statement, arch: str) -> Form | None:
    """The form of its operation that a statement is written by; None of what no table has."""
    vectors = tuple([bool(_spans(text)[0]) for text in statement.operands])
    return _form_of(bare(statement.mnemonic), arch, vectors, *_stated(statement.modifiers))


def _stated(flags: Mapping[str, str]) -> tuple[bool, bool, bool, bool, bool]:
    """What modifiers say of the form: whether it has DPP, loads to LDS, and returns what it changes in memory (GLC, SC0
    and TH)."""
    if not flags:
        return False, False, False, False, False
    hint = flags.get("th", "").lower()
    return _dpp(flags), "lds" in flags, "glc" in flags, "sc0" in flags, "return" in hint or hint[-1:] in _ODD


@lru_cache(maxsize=16384)
def _form_of(name: str, arch: str, vectors: tuple[bool, ...], dpp: bool, lds: bool, *returns: bool) -> Form | None:
    """The form that fits best. vectors: of each operand, whether it names vector registers."""
    one = operation_of(name, arch)
    if one is None or not one.forms:
        return None
    forms = [form for form in one.forms if len(form.operands) == len(vectors)] or one.forms

    def fits(form: Form) -> tuple[bool, bool, bool, bool]:
        return (
            all(operand.kind[:1] not in _SCALAR or not vector for operand, vector in zip(form.operands, vectors)),
            form.lanes_kept == dpp,
            all(form.implied.get(name, value) == value for name, value in zip(("glc", "sc0", "th"), returns)),
            bool(form.implied.get("lds")) == lds,
        )

    return max(forms, key=fits)


def _dpp(flags: Mapping[str, str]) -> bool:
    return bool(flags) and any(flag.startswith(DPP) for flag in flags)
