"""Elements and places as text, spelled as their readers do.

There is one `Spelling` for each kind of place: registers of AMD (`AMD`, here), NVIDIA (`ptx`) and Intel (`dpas`), and
Tensor Memory, before and after a load (`tensor_memory`). Answers, tables and pictures take their words from there.
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
    "Spelling", "element_text", "family_spelling", "heading", "instruction_name", "lanes_of", "place_text", "ranges",
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


def lanes_of(operand: Operand, lanes: tuple[int, ...]) -> str:
    """Lanes as a sentence names them; of a tile as threads, with the waves and the lanes of these.

    >>> import mmacalc
    >>> tile = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").tile((2, 2))
    >>> lanes_of(tile.operand("A"), (72, 200))
    'thread 72, 200 (wave 1, 3, lane 8)'
    """
    if operand.tile is None:
        return spelling_of(operand).lanes(operand, lanes)
    count = operand.parts.lane[-1][1]
    waves, own = ranges(lane // count for lane in lanes), ranges(lane % count for lane in lanes)
    return f"thread {ranges(lanes)} (wave {waves}, lane {own})"


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
    """How names and registers of a family are spelled."""
    if family.spelling == "amd":
        return AMD
    if family.spelling == "ptx":
        from .ptx import SPELLING
    elif family.spelling == "dpas":
        from .dpas import SPELLING
    else:
        from .stated import SPELLING
    return SPELLING


def spelling_of(operand: Operand) -> Spelling:
    """How an operand's places are spelled."""
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
    thread = wave * operand.parts.lane[-1][1] + location.lane
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


# --- AMD's registers as its tool spells them: `v1{17}.[15:0]`, `v[1:0]{5}`; the lane stands in braces ---

# The field of the encoding that names each operand's registers; sparse instructions hold K in Src2.
# Scales are the sources of the prefix, the first half of a 16-byte encoding.
SOURCE_FIELDS = {
    "A": "Src0", "B": "Src1", "C": "Src2", "K": "Src2", "D": "Vdst", "SA": "ScaleSrc0", "SB": "ScaleSrc1",
}  # fmt: skip


def _amd_name(instruction: Instruction) -> str:
    """A mnemonic in capitals, as AMD's tool prints it."""
    return instruction.name.upper()


def halves(operand: Operand, location: Location, prefix: str = "v") -> tuple[tuple[str, str], ...]:
    """The text of a location before and after the lane; two pairs where it straddles registers.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4").operand("A", cbsz="fp6")
    >>> halves(a, a.locate(i=3, k=5)[0])
    (('v0{', '}.[31:30]'), ('v1{', '}.[3:0]'))
    """
    _, _, register, lsb, width = location
    if width == 64:
        return ((f"{prefix}[{register + 1}:{register}]{{", "}"),)
    if width == 32:
        return ((f"{prefix}{register}{{", "}"),)
    last = lsb + width - 1
    if last < 32:
        return ((f"{prefix}{register}{{", f"}}.[{last}:{lsb}]"),)
    return (f"{prefix}{register}{{", f"}}.[31:{lsb}]"), (f"{prefix}{register + 1}{{", f"}}.[{last - 32}:0]")


def _amd_place(operand: Operand, location: Location, prefix: str = "v") -> str:
    """The text of a location."""
    return " ".join([f"{before}{location.lane}{after}" for before, after in halves(operand, location, prefix)])


def _amd_lane_texts(operand: Operand, location: Location, mark: Callable[[str], str]) -> list[str]:
    """The texts of an item's place in every lane, each line of them marked."""
    return by_halves(halves(operand, location), operand.lanes, mark)


def by_halves(pairs: tuple[tuple[str, str], ...], lanes: int, mark: Callable[[str], str]) -> list[str]:
    """An item's place in every lane, from what stands before and after the lane."""
    template = "\n".join([mark("\0".join(pair)) for pair in pairs])  # a NUL stands for the lane
    return [template.replace("\0", str(lane)) for lane in range(lanes)]


def _amd_held_place(operand: Operand, register: int, lane: int, element: Element) -> str:
    """The register, lane and bits that `Operand.contents` found an element in."""
    if element.width == 64:
        first = register & ~1
        return f"v[{first + 1}:{first}]{{{lane}}}"
    bits = "" if element.width == 32 else f".[{element.lsb + element.width - 1}:{element.lsb}]"
    return f"v{register}{{{lane}}}{bits}"


def _amd_column_title(operand: Operand, column: RegisterColumn) -> str:
    """The heading of a column in a table of registers."""
    register, lsb, width = column.register, column.lsb, column.width
    if width == 64:
        return f"v[{register + 1}:{register}]"
    return f"v{register}" if width == 32 else f"v{register}.[{lsb + width - 1}:{lsb}]"


AMD = Spelling(
    register="VGPR", lane="lane", names=("v{0}", "v[{0}:{1}]"), counted=False,
    not_encoded="It is not published how this instruction is encoded.", source_fields=SOURCE_FIELDS,
    instruction_name=_amd_name, place=_amd_place, lane_texts=_amd_lane_texts, held_place=_amd_held_place,
    column_title=_amd_column_title,
)  # fmt: skip
