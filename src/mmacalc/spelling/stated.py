"""Places in Apple's SIMD groups, AMX tiles and SME's vectors and ZA, as their manuals write them.

thread_elements()[1] @ thread 9     Metal: the second of the two elements that a thread has
row[3].bf16[11]                     AMX: the twelfth bf16 of a tile's fourth row (Intel's pseudo code)
z.h[11], za.s[3][5]                 SME: an element of a vector; of ZA column 5 of the fourth horizontal slice
"""

from __future__ import annotations

from . import Spelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Element, Instruction, Location, Operand
    from ..questions.classic.layouts import RegisterColumn

__all__ = ["SPELLING", "element_at"]

NOT_ENCODED = "Encodings are not described here; the assembler of its vendor has them."
SUFFIXES = {8: "b", 16: "h", 32: "s"}  # of SME
NAMES = {"f32": "fp32", "f16": "fp16", "i32": "dword", "u32": "dword", "i8": "byte", "u8": "byte",
         "e5m2": "bf8", "e4m3": "hf8"}  # fmt: skip
"""Of AMX, where they are not the format's."""


def instruction_name(instruction: Instruction) -> str:
    """The name as it is."""
    return instruction.name


def element_at(operand: Operand, register: int, lane: int, lsb: int, width: int) -> str:
    """The name of a place, by its register, lane and bits.

    >>> import mmacalc
    >>> element_at(mmacalc.instruction("amx", "tdpbf16ps").operand("A"), 3, 5, 16, 16)
    'row[3].bf16[11]'
    >>> fmopa = mmacalc.instruction("sme", "fmopa.s.h")
    >>> element_at(fmopa.operand("A"), 0, 5, 16, 16), element_at(fmopa.operand("D"), 3, 5, 0, 32)
    ('z.h[11]', 'za.s[3][5]')
    """
    family = operand.instruction.architecture.family.name
    if family == "simdgroup":
        return f"thread_elements()[{(32 * register + lsb) // width}] @ thread {lane}"
    at = (32 * lane + lsb) // width
    if family == "amx":
        return f"row[{register}].{NAMES.get(operand.format.name, operand.format.name)}[{at}]"
    return f"za.{SUFFIXES[width]}[{register}][{at}]" if operand.name in "CD" else f"z.{SUFFIXES[width]}[{at}]"


def place(operand: Operand, location: Location, prefix: str = "") -> str:
    """The text of a location."""
    return element_at(operand, location.register, location.lane, location.lsb, location.width)


def lane_texts(operand: Operand, location: Location, mark: Callable[[str], str]) -> list[str]:
    """The texts of an item's place in every lane, each of them marked."""
    _, _, register, lsb, width = location
    return [mark(element_at(operand, register, lane, lsb, width)) for lane in range(operand.lanes)]


def held_place(operand: Operand, register: int, lane: int, element: Element) -> str:
    """The place that `Operand.contents` found an element in."""
    return element_at(operand, register, lane, element.lsb, element.width)


def column_title(operand: Operand, column: RegisterColumn) -> str:
    """The heading of a column in a table of registers."""
    bits = "" if column.width == 32 else f" [{column.lsb + column.width - 1}:{column.lsb}]"
    return f"register {column.register}{bits}"


def also(operand: Operand, row: int, col: int) -> str:
    """Nothing."""
    return ""


SPELLING = Spelling(
    "register", "lane", ("r{0}", "r{0}"), False, NOT_ENCODED, {}, instruction_name, place, lane_texts,
    held_place, column_title, also,
)  # fmt: skip
