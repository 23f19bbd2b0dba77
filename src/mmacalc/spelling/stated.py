"""Places in Apple's SIMD groups, AMX tiles and SME's vectors and ZA, as their manuals write them.

thread_elements()[1] @ thread 9     Metal: the second of the two elements that a thread has
row[3].bf16[11]                     AMX: the twelfth bf16 of a tile's fourth row (Intel's pseudo code)
z.h[11], za.s[3][5]                 SME: an element of a vector; of ZA column 5 of the fourth horizontal slice
"""

from __future__ import annotations

from . import Spelling, by_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction, Location, Operand
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


def column_title(operand: Operand, column: RegisterColumn) -> str:
    """The heading of a column in a table of registers."""
    bits = "" if column.width == 32 else f" [{column.lsb + column.width - 1}:{column.lsb}]"
    return f"register {column.register}{bits}"


LANE_TEXTS, HELD_PLACE = by_place(element_at)
SPELLING = Spelling(
    register="register", lane="lane", names=("r{0}", "r{0}"), counted=False, not_encoded=NOT_ENCODED, source_fields={},
    instruction_name=instruction_name, place=place, lane_texts=LANE_TEXTS, held_place=HELD_PLACE,
    column_title=column_title,
)  # fmt: skip
