"""Elements and places as text, spelt as their readers do.

There is one `Spelling` for each kind of place: registers of AMD (`amd`), NVIDIA (`ptx`) and Intel (`dpas`), and Tensor
Memory, before and after a load (`tensor_memory`). Answers, tables and pictures take their words from there.
"""

from __future__ import annotations

from ..base.records import TupleRecord
from ..model import Location
from ..model.architecture import DOUBTFUL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from ..families import Family
    from ..model import Element, Instruction, Operand
    from ..questions.classic.layouts import RegisterColumn
    from ..questions.classic.sums import NotInRegisters

__all__ = [
    "Spelling", "element_text", "family_spelling", "heading", "instruction_name", "place_text", "ranges",
    "register_text", "run_text", "signed", "spelling_of", "transposition_note",
]  # fmt: skip


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
    return family_spelling(instruction.architecture.family).instruction_name(instruction)


def no_text(operand: Operand, *coordinates: int) -> str:
    """Nothing."""
    return ""


def ranges(values: Iterable[int], between: str = ", ") -> str:
    """Numbers with runs written as ranges.

    >>> ranges([0, 1, 2, 3, 16, 18])
    '0-3, 16, 18'
    """
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and runs[-1][1] == value - 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return between.join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def lanes_text(operand: Operand, lanes: tuple[int, ...]) -> str:
    """Lanes by their numbers."""
    return f"lane {ranges(lanes)}"


def no_notes(operand: Operand) -> list[str]:
    """None."""
    return []


class Spelling(TupleRecord):
    """How names, registers and places are written.

    Attributes:
        register: what a register is called. lane: what a lane is. names: of a register and of 64 bits, from its number,
            the next and half of it. counted: whether the elements of a lane's fragment have names. not_encoded: what is
            said of an instruction whose encoding is not published. source_fields: by operand, the field of the encoding
            that names its registers.
        instruction_name: a name as answers print it. place: a location, with what stands before AMD's registers.
        lane_texts: an item's place in every lane, each line of them marked. held_place: the register, lane and bits in
            which an element was found. column_title: the heading of a column in a table of registers.
        also: what else to say about the place of an element. lanes: lanes as a sentence names them. parameters: what
            the title of a picture says of the operand besides modifiers. notes: what a reader of it must know besides.
    """

    register: str
    lane: str
    names: tuple[str, str]
    counted: bool
    not_encoded: str
    source_fields: Mapping[str, str]
    instruction_name: Callable[[Instruction], str]
    place: Callable[[Operand, Any, str], str]
    lane_texts: Callable[[Operand, Location, Callable[[str], str]], list[str]]
    held_place: Callable[[Operand, int, int, Element], str]
    column_title: Callable[[Operand, RegisterColumn], str]
    also: Callable[[Operand, int, int], str] = no_text
    lanes: Callable[[Operand, tuple[int, ...]], str] = lanes_text
    parameters: Callable[[Operand], str] = no_text
    notes: Callable[[Operand], list[str]] = no_notes


def by_place(
    text: Callable[[Operand, int, int, int, int], str],
) -> tuple[Callable[[Operand, Location, Callable[[str], str]], list[str]], Callable[[Operand, int, int, Element], str]]:
    """`lane_texts` and `held_place` of a spelling whose places are named by register, lane, lowest bit and width."""

    def lane_texts(operand: Operand, location: Location, mark: Callable[[str], str]) -> list[str]:
        _, _, register, lsb, width = location
        return [mark(text(operand, register, lane, lsb, width)) for lane in range(operand.lanes)]

    def held_place(operand: Operand, register: int, lane: int, element: Element) -> str:
        return text(operand, register, lane, element.lsb, element.width)

    return lane_texts, held_place


def family_spelling(family: Family) -> Spelling:
    """How names and registers of a family are spelt."""
    if family.spelling == "amd":
        from .amd import SPELLING
    elif family.spelling == "ptx":
        from .ptx import SPELLING
    elif family.spelling == "dpas":
        from .dpas import SPELLING
    else:
        from .stated import SPELLING
    return SPELLING


def spelling_of(operand: Operand) -> Spelling:
    """How an operand's places are spelt."""
    if operand.instruction.in_tensor_memory:
        from .tensor_memory import CELLS, LOADED

        return CELLS if operand.in_columns else LOADED
    return family_spelling(operand.instruction.architecture.family)


def register_text(operand: Operand, register: int, width: int) -> str:
    """The name of a register, or of the pair that a 64-bit element takes; in Tensor Memory of a column.

    >>> import mmacalc
    >>> amd = mmacalc.instruction("cdna3", "v_mfma_f64_16x16x4_f64").operand("A")
    >>> ptx = mmacalc.instruction("sm_80", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64").operand("A")
    >>> register_text(amd, 2, 64), register_text(ptx, 2, 64), register_text(ptx, 2, 16)
    ('v[2:3]', '%rd1', '%r2')
    """
    return spelling_of(operand).names[width == 64].format(register, register + 1, register // 2)


def place_text(operand: Operand, location: Any, prefix: str = "v") -> str:
    """An operand's location as text; `prefix` goes before AMD's registers. Of a tile also the wave and the thread.

    >>> import mmacalc
    >>> name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    >>> a = mmacalc.instruction("sm_80", name).operand("A")
    >>> place_text(a, a.locate(i=9, k=3)[0])
    'a3 @ lane 5 (%r1[31:16])'
    """
    if operand.tile is None:
        return spelling_of(operand).place(operand, location, prefix)
    wave, *own = location
    thread = wave * operand.tile.lanes + location.lane
    return f"wave {wave}, {spelling_of(operand).place(operand, Location(*own), prefix)}, thread {thread}"


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
