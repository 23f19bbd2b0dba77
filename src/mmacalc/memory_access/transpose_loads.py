"""Loads that transpose a matrix on its way from LDS or global memory into the registers of an operand.

A lane holds several k of one row of A (or column of B). Where memory holds the matrix the other way round, A column
by column or B row by row, these loads transpose it: each group of 16 lanes (16 bits, RDNA4 and gfx1250: 8) takes a
tile of as many rows of A (columns of B) and `elements` k, and the lane of row i receives that row's k:

    k i -> lane (i), item (k)

That is the layout of the operands themselves, a piece at a time: load number x fills the slots from
`elements` * x on. So which k a load must take, and for which lanes, follows from the operand's layout, and
`loads_for` derives it. The result is what the CDNA4 ISA guide says (section 11.4): for DS_READ_B64_TR_B16, "the
first loads K=0..3 and K=8..11 into two VGPRs, and the next loads K=4..7 and 12..15", which is the case of
32x32x16; its other three sentences are 16x16x64 of 8 bits, and 32x32x64 of 4 and of 6 bits.

What the guide leaves open: which lane's address fetches which part of the tile. Triton 3.9.0 generates addresses
for the loads of 4, 8 and 16 bits, and they are one pattern: the lanes of a row take the tile in turn, `elements`
rows i at a time,

    k (ih il) -> lane (k ih), item (il)

For 6 bits the pattern is carried over, unconfirmed. Each load's `fetched_by` says which it is.

RDNA4's and gfx1250's loads of 16 bits transpose 8 x 8 elements in each group of 8 lanes: lane L receives element
L mod 8 of the 16 bytes at the address of lane 8 floor(L / 8) + j as its j-th. That was measured, on gfx1201 for
GLOBAL_LOAD_TR_B128 and on an MI455X for DS_LOAD_TR16_B128 and GLOBAL_LOAD_TR16_B128, by two authors. It is the same
pattern with one row for each lane.

gfx1250's loads of 8 bits transpose 8 x 16 elements in each group of 16 lanes, and four lanes in turn fetch four k of
the same 8 rows: lane L receives element L mod 8 of the 8 bytes at the address of lane 4 (L div 8) + 8 (j div 4) + j mod
4 as its j-th. Three public sources agree: a program that checks DS_LOAD_TR8_B64 lane by lane, one that feeds
V_WMMA_I32_16X16X64_IU8 by it and by GLOBAL_LOAD_TR8_B64 on an MI455X, and the addresses of a GEMM of fp8 weights. What
the other widths do, and RDNA4's loads in wave64, is unpublished.
"""

from __future__ import annotations

from ..base.checks import arguments_checked
from ..base.errors import Error
from ..base.records import TupleRecord
from ..catalog import entry
from ..layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Architecture, Operand

__all__ = ["LoadStep", "TransposeLoad", "loads_for", "transpose_loads"]

LANES = 16  # of CDNA4, the lanes that transpose a tile together


class TransposeLoad(TupleRecord):
    """One such load: its mnemonic and opcode, the bits of an element, and the registers it fills in each lane.

    received_by, fetched_by: how sure `lane_receives` and `lane_fetches` are, in the words of
    `Instruction.provenance_of`. lanes: how many transpose a tile together; 0 where that is not published. memory:
    "LDS" or "global". caveat: what is not documented. aliases: other mnemonics of the same encoding. turn: how many
    consecutive lanes fetch consecutive k of the same rows of i before others fetch the next rows.
    """

    architecture: Architecture
    name: str
    opcode: int
    bits: int
    registers: int
    received_by: str
    fetched_by: str
    lanes: int = LANES
    memory: str = "LDS"
    caveat: str = ""
    aliases: tuple[str, ...] = ()
    turn: int = 1

    @property
    def caveats(self) -> str:
        """Undocumented aspects of this load."""
        if self.caveat:
            return self.caveat
        text = "the CDNA4 ISA guide does not say which lane's address fetches which part of the tile"
        if self.fetched_by == "unconfirmed":
            return f"{text}; it is assumed to match the other widths; unconfirmed"
        return f"{text}; the pattern is that of the addresses that Triton 3.9.0 generates"

    @property
    def elements(self) -> int:
        """The elements that a lane receives."""
        return 32 * self.registers // self.bits

    @property
    def lane_receives(self) -> Layout:
        """Which lane of a group, and which slot of its registers, receives element [k][i] of the tile.

        Raises:
            Error: it is unpublished.
        """
        self._check_published()
        return Layout("k i -> lane (i), item (k)", ("k", "i"), {"k": self.elements, "i": self.lanes})

    @property
    def lane_fetches(self) -> Layout:
        """Which lane of a group, and where in the bits at its address, fetches element [k][i].

        Raises:
            Error: it is unpublished.
        """
        self._check_published()
        sizes = {"ih": self.lanes // self.elements, "il": self.elements}
        if self.turn == 1:
            return Layout("k (ih il) -> lane (k ih), item (il)", ("k", "i"), {"k": self.elements, **sizes})
        sizes |= {"kh": self.elements // self.turn, "kl": self.turn}
        return Layout("(kh kl) (ih il) -> lane (kh ih kl), item (il)", ("k", "i"), sizes)

    def _check_published(self) -> None:
        if not self.lanes:
            raise Error(f"which lane {self.name} gives which element is open: {self.caveats}")


class LoadStep(TupleRecord):
    """One load of those that fill an operand.

    load: which instruction; number: counting from 0; first_register: of the operand, the first it fills;
    groups: for each group of lanes (first lane, first row or column, the k of the slots): what its tile holds.
    """

    load: TransposeLoad
    number: int
    first_register: int
    groups: tuple[tuple[int, int, tuple[int, ...]], ...]

    @property
    def k(self) -> tuple[range, ...]:
        """The k that the load takes, as ascending ranges."""
        return tuple(run for ks in sorted({ks for _, _, ks in self.groups}) for run in runs(ks))


def runs(numbers: tuple[int, ...]) -> tuple[range, ...]:
    """Ascending numbers as ranges.

    >>> runs((0, 1, 2, 3, 8, 9, 10, 11))
    (range(0, 4), range(8, 12))
    """
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n + 1 for n in numbers if n + 1 not in numbers]
    return tuple(range(first, end) for first, end in zip(starts, ends))


@arguments_checked
def transpose_loads(arch: str) -> tuple[TransposeLoad, ...]:
    """The loads of an architecture that transpose, in the order of their opcodes; empty if it has none.

    Raises:
        Error: no such architecture.

    >>> [load.name for load in transpose_loads("gfx950")][3]
    'ds_read_b64_tr_b16'
    """
    known = entry(arch)
    loads = []
    for line in known.transpose_loads:
        more = dict(line[-1]) if isinstance(line[-1], dict) else {}
        if known.architecture.name in more.pop("on", (known.architecture.name,)):
            fields = line[:-1] if isinstance(line[-1], dict) else line
            load = TransposeLoad(known.architecture, *fields, **more)
            if load.lanes and "transpose_loads" in known.architecture.assumed:
                load = load._replace(received_by="assumed", fetched_by="assumed")
            loads.append(load)
    return tuple(loads)


@arguments_checked
def loads_for(operand: Operand, name: str | None = None) -> tuple[LoadStep, ...]:
    """The loads that fill an operand where its other coordinate is the contiguous one in memory.

    Args:
        operand: A or B of a dense instruction, or B of a sparse one, on an architecture with such loads.
        name: the load; the first of the architecture that fits if left out.

    Raises:
        Error: no load fits the operand, and why.

    >>> import mmacalc
    >>> steps = loads_for(mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16").operand("A"))
    >>> [(step.load.name, step.first_register, step.k) for step in steps][0]
    ('ds_read_b64_tr_b16', 0, (range(0, 4), range(8, 12)))
    """
    instruction = operand.instruction
    whole = f"{operand.name} of {instruction.name}"
    if operand.name not in ("A", "B") or operand.placement.slots_per_location > 1:
        raise Error(f"{whole} is not filled by transposing loads: they take A or B, not compressed")
    loads = [load for load in transpose_loads(instruction.arch) if load.bits == operand.format.bits]
    if not loads:
        have = ", ".join(str(load.bits) for load in transpose_loads(instruction.arch)) or "no width at all"
        raise Error(f"{instruction.architecture.title} transposes elements of {have} bits; {whole} has "
                    f"{operand.format.bits}")  # fmt: skip
    named = [load for load in loads if name in (None, load.name)]
    if not named:
        raise Error(f"{whole} has elements of {operand.format.bits} bits, which {name} does not load; "
                    f"{' and '.join(load.name for load in loads)} do")  # fmt: skip
    load = named[0]
    load._check_published()
    sizes = operand.layout.sizes
    rows = sizes.get("i", sizes.get("j", 0))
    if load.lanes != LANES and operand.lanes != 32:
        raise Error(f"{whole} in wave{operand.lanes}: {load.name} was measured in wave32 alone (-w 32, wave=32)")
    if (load.lanes == LANES and sizes["e"] % load.elements) or operand.items % load.elements or rows % load.lanes:
        raise Error(
            f"{whole} is not filled by {load.name}: a row of {load.lanes} lanes would have to hold {load.lanes} rows "
            f"or columns, and a lane {load.elements} consecutive k; it holds {min(rows, load.lanes)} and {sizes['e']}"
        )
    return tuple(
        LoadStep(load, number, number * load.registers, _groups(operand, load, number * load.elements))
        for number in range(operand.items // load.elements)
    )


def _groups(operand: Operand, load: TransposeLoad, item: int) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """For each group of lanes, the row (of B: column) and the k that its first lane holds in the load's slots."""
    groups = []
    for lane in range(0, operand.lanes, load.lanes):
        held = [next(iter(operand.elements(lane, item + slot)))[:2] for slot in range(load.elements)]
        pairs = held if operand.name == "A" else [(j, k) for k, j in held]
        groups.append((lane, pairs[0][0], tuple(k for _, k in pairs)))
    return tuple(groups)
