"""Elements and locations as text, spelt as the vendor's users do: see `amd`, `ptx` and `dpas`."""

from __future__ import annotations

from ..base.records import TupleRecord
from ..model import Location
from ..model.architecture import DOUBTFUL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..families.base import Family
    from ..model import Element, Instruction, Operand
    from ..questions.classic.layouts import RegisterColumn
    from ..questions.classic.sums import NotInRegisters

__all__ = [
    "Spelling",
    "element_text",
    "family_text",
    "heading",
    "instruction_name",
    "place_text",
    "register_name",
    "run_text",
    "signed",
    "transposition_note",
    "vendor_text",
]


def heading(instruction: Instruction, operand: Operand | None = None) -> str:
    """The two lines above every answer, and a third where the operand's layout is unconfirmed."""
    text = f"Architecture: {instruction.architecture.title}\nInstruction: {instruction_name(instruction)}\n"
    if operand is not None and operand.tile is not None:
        text += f"Tile: {operand.tile.title}; {operand.tile.threads} threads, {operand.tile.lanes} of each wave"
        text += " (a table counts its lanes through all waves)\n"
    if operand is not None and operand.provenance in DOUBTFUL:
        text += f"Provenance: the layout of {operand.name} is {operand.provenance}\n"
    return text


def instruction_name(instruction: Instruction) -> str:
    """An instruction's name as answers print it."""
    return family_text(instruction.architecture.family).instruction_name(instruction)


class Spelling(TupleRecord):
    """How the users of a vendor write names, registers and places.

    Attributes:
        register: what a register is called. lane: what a lane is. names: of a register and of 64 bits, from its number,
            the next and half of it. counted: whether the elements of a lane's fragment have names. not_encoded: what is
            said of an instruction whose encoding is not published. source_fields: by operand, the field of the encoding
            that names its registers.
        instruction_name: a name as answers print it. place: a location, with what stands before AMD's registers.
        lane_texts: an item's place in every lane, each line of them marked. held_place: the register, lane and bits in
            which an element was found. column_title: the heading of a column in a table of registers. also: what else
            to say about the place of an element.
    """

    register: str
    lane: str
    names: tuple[str, str]
    counted: bool
    not_encoded: str
    source_fields: Mapping[str, str]
    instruction_name: Callable[[Instruction], str]
    place: Callable[[Operand, Location, str], str]
    lane_texts: Callable[[Operand, Location, Callable[[str], str]], list[str]]
    held_place: Callable[[Operand, int, int, Element], str]
    column_title: Callable[[Operand, RegisterColumn], str]
    also: Callable[[Operand, int, int], str]


def family_text(family: Family) -> Spelling:
    """How names and registers of a family are spelt."""
    if family.spelling == "amd":
        from .amd import SPELLING
    elif family.spelling == "ptx":
        from .ptx import SPELLING
    else:
        from .dpas import SPELLING
    return SPELLING


def register_name(family: Family, register: int, width: int) -> str:
    """The name of a register, or of the pair that a 64-bit element takes."""
    return family_text(family).names[width == 64].format(register, register + 1, register // 2)


def vendor_text(operand: Operand) -> Spelling:
    """How an operand's locations are spelt."""
    return family_text(operand.instruction.architecture.family)


def place_text(operand: Operand, location: Any, prefix: str = "v") -> str:
    """An operand's location as text; `prefix` goes before AMD's registers. Of a tile also the wave and the thread.

    >>> import mmacalc
    >>> name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    >>> a = mmacalc.instruction("sm_80", name).operand("A")
    >>> place_text(a, a.locate(i=9, k=3)[0])
    'a3 @ lane 5 (%r1[31:16])'
    """
    if operand.tile is None:
        return vendor_text(operand).place(operand, location, prefix)
    wave, *own = location
    thread = wave * operand.tile.lanes + location.lane
    return f"wave {wave}, {vendor_text(operand).place(operand, Location(*own), prefix)}, thread {thread}"


def element_text(operand: Operand | NotInRegisters, row: int, col: int, block: int) -> str:
    """An element as text; the block is named where the instruction has several.

    >>> import mmacalc
    >>> element_text(mmacalc.instruction("cdna2", "v_mfma_f32_4x4x4f16").operand("A"), 1, 2, 4)
    'A[1][2].B4'
    """
    suffix = f".B{block}" if operand.instruction.blocks > 1 else ""
    return f"{operand.name}[{row}][{col}]{suffix}"


def run_text(operand: Operand | NotInRegisters, rows: range, columns: range) -> str:
    """A run of elements as text, such as `SA[3][32..63]`."""
    texts = [f"{run[0]}" if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in (rows, columns)]
    return f"{operand.name}[{texts[0]}][{texts[1]}]"


def signed(text: str, sign: str) -> str:
    """Put signs around an element: "-", "|" for an absolute value, or both; others show nothing."""
    if "|" in sign:
        text = f"|{text}|"
    return f"-{text}" if "-" in sign else text


def transposition_note(inst: Instruction) -> str:
    """The rows and columns that a matrix has in memory, where they are not M and N; else "".

    PTX calls the 8-bit matrices of stmatrix.m16n8.trans 16x8, which are stored as 8 rows of 16 bytes (PTX ISA 9.1,
    stmatrix).
    """
    held = next((name for name in inst.register_operands if inst.moves and name in "AD"), None)
    if held is None or inst.operand(held).shape[1:] == (inst.m, inst.n):
        return ""
    rows, columns = inst.operand(held).shape[1:]
    return f"transposed, {rows} rows (i) of {columns} elements (j)"
