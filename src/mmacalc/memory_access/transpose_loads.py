"""Loads that transpose a matrix on its way from LDS into the registers of an MFMA operand.

An MFMA lane holds consecutive k of one row of A (or column of B). Where LDS holds the matrix the other way round,
A column by column or B row by row, these loads transpose it: each row of 16 lanes takes a tile of 16 rows of A
(columns of B) and `elements` consecutive k, and the lane of row i receives that row's k:

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
"""

from __future__ import annotations

from ..catalog import entry
from ..checks import arguments_checked
from ..errors import Error
from ..layout import Layout
from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Architecture, Operand

__all__ = ["LoadStep", "TransposeLoad", "loads_for", "transpose_loads"]

LANES = 16  # of a row, the group of lanes that transposes a tile


class TransposeLoad(TupleRecord):
    """One such load: its mnemonic and opcode, the bits of an element, and the registers it fills in each lane.

    received_by, fetched_by: how sure `lane_receives` and `lane_fetches` are, in the words of
    `Instruction.provenance_of`.
    """

    architecture: Architecture
    name: str
    opcode: int
    bits: int
    registers: int
    received_by: str
    fetched_by: str

    @property
    def caveats(self) -> str:
        """Undocumented aspects of this load."""
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
        """Which lane of a row, and which slot of its registers, receives element [k][i] of the tile."""
        return Layout("k i -> lane (i), item (k)", ("k", "i"), {"k": self.elements, "i": LANES})

    @property
    def lane_fetches(self) -> Layout:
        """Which lane of a row, and where in the bits at its address, fetches element [k][i]."""
        sizes = {"k": self.elements, "ih": LANES // self.elements, "il": self.elements}
        return Layout("k (ih il) -> lane (k ih), item (il)", ("k", "i"), sizes)


class LoadStep(TupleRecord):
    """One load of those that fill an operand.

    load: which instruction; number: counting from 0; first_register: of the operand, the first it fills;
    groups: for each row of 16 lanes (first lane, first row or column, first k): what its tile holds.
    """

    load: TransposeLoad
    number: int
    first_register: int
    groups: tuple[tuple[int, int, int], ...]

    @property
    def k(self) -> tuple[range, ...]:
        """The k that the load takes, as ascending ranges."""
        starts = sorted({first for _, _, first in self.groups})
        return tuple(range(start, start + self.load.elements) for start in starts)


@arguments_checked
def transpose_loads(arch: str) -> tuple[TransposeLoad, ...]:
    """The loads of an architecture that transpose, in the order of their opcodes; empty if it has none.

    Raises:
        Error: no such architecture.

    >>> [load.name for load in transpose_loads("gfx950")][3]
    'ds_read_b64_tr_b16'
    """
    known = entry(arch)
    return tuple(TransposeLoad(known.architecture, *line) for line in known.transpose_loads)


@arguments_checked
def loads_for(operand: Operand) -> tuple[LoadStep, ...]:
    """The loads that fill an operand from LDS where its other coordinate is the contiguous one.

    Args:
        operand: A or B of a dense instruction, or B of a sparse one, on an architecture with such loads.

    Raises:
        Error: no load fits the operand, and why.

    >>> import mmacalc
    >>> steps = loads_for(mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16").operand("A"))
    >>> [(step.load.name, step.first_register, step.k) for step in steps][0]
    ('ds_read_b64_tr_b16', 0, (range(0, 4), range(8, 12)))
    """
    instruction = operand.instruction
    whole = f"{operand.name} of {instruction.name}"
    if operand.name not in ("A", "B") or operand.placement.merge > 1:
        raise Error(f"{whole} is not filled by transposing loads: they take A or B, not compressed")
    loads = [load for load in transpose_loads(instruction.arch) if load.bits == operand.format.bits]
    if not loads:
        have = ", ".join(str(load.bits) for load in transpose_loads(instruction.arch)) or "no width at all"
        raise Error(f"{instruction.architecture.title} transposes elements of {have} bits; {whole} has "
                    f"{operand.format.bits}")  # fmt: skip
    load = loads[0]
    sizes = operand.layout.sizes
    rows = sizes.get("i", sizes.get("j", 0))
    if sizes["e"] % load.elements or rows % LANES:
        raise Error(
            f"{whole} is not filled by {load.name}: a row of 16 lanes would have to hold 16 rows or columns, and "
            f"a lane {load.elements} consecutive k; it holds {min(rows, LANES)} and {sizes['e']}"
        )
    return tuple(
        LoadStep(load, number, number * load.registers, _groups(operand, number * load.elements))
        for number in range(operand.items // load.elements)
    )


def _groups(operand: Operand, item: int) -> tuple[tuple[int, int, int], ...]:
    """For each row of 16 lanes, the row (of B: column) and k that its first lane holds in a slot."""
    groups = []
    for lane in range(0, operand.lanes, LANES):
        ((first, second, _),) = operand.elements(lane, item)
        groups.append((lane, first, second) if operand.name == "A" else (lane, second, first))
    return tuple(groups)
