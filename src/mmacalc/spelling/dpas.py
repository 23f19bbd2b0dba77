"""Places in Intel's registers as IGC and iga64 write operands: `r1.11:bf`, the twelfth bf16 of r1.

r0 is the operand's first register. Elements of less than a byte are written as bits of a byte: `r0.3:ub[7:4]`. Of
DPASW's A, the registers of the second fused EU are `EU1 r0.3:bf`.
"""

from __future__ import annotations

from ..families.dpas import SOURCES, TYPES, vector_type, work_items
from . import Spelling, by_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction, Location, Operand
    from ..questions.classic.layouts import RegisterColumn

__all__ = ["SPELLING"]

SUFFIXES = {
    "e8m0": "ub",
    **{name: word for word, name in TYPES.items()},
}  # of 8 bits ub and b, which other instructions take too


def instruction_name(instruction: Instruction) -> str:
    """The name as it is."""
    return instruction.name


def place(operand: Operand, location: Location, prefix: str = "") -> str:
    """The text of a location; any `prefix` but "v" asks for the source's name before it.

    >>> import mmacalc
    >>> a = mmacalc.instruction("xe-hpc", "dpas.8x8.f.f.bf.bf").operand("A")
    >>> place(a, a.locate(i=3, k=9)[0])
    'r1.25:bf'
    """
    name = _at(operand, location.register, location.lane, location.lsb, location.width)
    return name if prefix in ("", "v") else f"{SOURCES[operand.name].lower()} {name}"


def _at(operand: Operand, register: int, lane: int, lsb: int, width: int) -> str:
    eu, channel = divmod(lane, operand.wave)
    bit = 32 * channel + lsb
    name = f"EU{eu} r{register}" if eu else f"r{register}"
    if width < 8:
        return f"{name}.{bit // 8}:ub[{bit % 8 + width - 1}:{bit % 8}]"
    return f"{name}.{bit // width}:{SUFFIXES[operand.format.name]}"


def column_title(operand: Operand, column: RegisterColumn) -> str:
    """The heading of a column in a table of registers."""
    last = column.lsb + column.width - 1
    return f"r{column.register}" if column.width == 32 else f"r{column.register} [{last}:{column.lsb}]"


def also(operand: Operand, row: int, col: int) -> str:
    """Which work item of a sub-group has the element in OpenCL, and where in its vector.

    >>> import mmacalc
    >>> also(mmacalc.instruction("xe-hpc", "dpas.8x8.f.f.bf.bf").operand("A"), 3, 9)
    'In OpenCL: work item 9 of the sub-group, element 3 of its short8\\n'
    """
    found = work_items(operand.instruction, operand.name)
    if found is None:
        return ""
    layout, width = found
    (lane, item), *copies = layout.locate(dict(zip(layout.axes, (row, col))))
    inside = width // operand.format.bits
    bits = (
        f", bits {item % inside * operand.format.bits + operand.format.bits - 1}:{item % inside * operand.format.bits}"
    )
    count = layout.spans["item"] // inside
    kind = vector_type(operand.instruction, operand.name, width, count)
    of = f"element {item // inside} of its {kind}" if count > 1 else f"its {kind}"
    lanes = " and ".join([str(at) for at, _ in ((lane, item), *copies)])
    return f"In OpenCL: work item {lanes} of the sub-group, {of}{bits if inside > 1 else ''}\n"


ENCODED = "The types are those of dst, src0, src1 and src2. `mmacalc assemble` encodes lines of iga64's assembly."

LANE_TEXTS, HELD_PLACE = by_place(_at)
SPELLING = Spelling(
    register="GRF", lane="dword", names=("r{0}", "r{0}"), counted=False, not_encoded=ENCODED, source_fields=SOURCES,
    instruction_name=instruction_name, place=place, lane_texts=LANE_TEXTS, held_place=HELD_PLACE,
    column_title=column_title, also=also,
)  # fmt: skip
