"""Locations as PTX authors think of them: `a3 @ lane 5 (%r1[31:16])`.

a3 is the fourth element of the lane's fragment of A, counted as the PTX ISA counts; %r1 is the second 32-bit
register of the operand, %rd1 the second 64-bit one.
"""

from __future__ import annotations

from . import Spelling, by_halves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Element, Instruction, Location, Operand
    from ..questions.classic.layouts import RegisterColumn

__all__ = ["SPELLING", "bits_of", "element_name", "halves"]

NAMES = ("%r{0}", "%rd{2}")

# What the PTX ISA calls the elements of each operand; K is its metadata operand e, P the address operand p.
LETTERS = {"A": "a", "B": "b", "C": "c", "D": "d"}
WHOLE = {"K": "e", "SA": "scale-a", "SB": "scale-b", "P": "p"}


def element_name(operand: Operand, item: int) -> str:
    """An element of a fragment: a3, or a4-a5 where a Location covers the stored values of a sparse group."""
    if operand.name in WHOLE:
        return WHOLE[operand.name]
    letter, per_location = LETTERS[operand.name], operand.placement.slots_per_location
    if letter == "c" and "wgmma" in operand.instruction.features:
        letter = "d"  # wgmma accumulates in its destination
    first = item * per_location
    return f"{letter}{first}" if per_location == 1 else f"{letter}{first}-{letter}{first + per_location - 1}"


def instruction_name(instruction: Instruction) -> str:
    """The name as it is, since its case matters."""
    return instruction.name


def bits_of(register: int, lsb: int, width: int) -> str:
    """The register and bits, such as %r1[31:16].

    >>> bits_of(1, 16, 16), bits_of(1, 0, 32), bits_of(2, 0, 64)
    ('%r1[31:16]', '%r1', '%rd1')
    """
    name = NAMES[width == 64].format(register, register + 1, register // 2)
    return name if width >= 32 else f"{name}[{lsb + width - 1}:{lsb}]"


def halves(operand: Operand, location: Location, prefix: str = "") -> tuple[tuple[str, str], ...]:
    """The text of a location before and after the lane; `prefix` is for AMD's registers."""
    _, item, register, lsb, width = location
    return ((f"{element_name(operand, item)} @ lane ", f" ({bits_of(register, lsb, width)})"),)


def place(operand: Operand, location: Location, prefix: str = "") -> str:
    """The text of a location."""
    ((before, after),) = halves(operand, location, prefix)
    return f"{before}{location.lane}{after}"


def lane_texts(operand: Operand, location: Location, mark: Callable[[str], str]) -> list[str]:
    """The texts of an item's place in every lane, each of them marked."""
    return by_halves(halves(operand, location), operand.lanes, mark)


def held_place(operand: Operand, register: int, lane: int, element: Element) -> str:
    """The place that `Operand.contents` found an element in."""
    placement = operand.placement
    item = (32 * register + element.lsb) // (placement.slot_bits * placement.slots_per_location)
    before, after = halves(operand, operand.location_of_item(lane, item))[0]
    return f"{before}{lane}{after}"


def column_title(operand: Operand, column: RegisterColumn) -> str:
    """The heading of a column in a table of registers."""
    _, item, register, lsb, width = operand.location_of_item(0, column.item)
    return f"{element_name(operand, item)} {bits_of(register, lsb, width)}"


SPELLING = Spelling(
    register="register", lane="lane", names=NAMES, counted=True,
    not_encoded="PTX. The registers are those of the picture: %a0 \u2026 are the 32-bit registers of A.",
    source_fields={},  # of an encoding, which is not published
    instruction_name=instruction_name, place=place, lane_texts=lane_texts, held_place=held_place,
    column_title=column_title,
)  # fmt: skip
