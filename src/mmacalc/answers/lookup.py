"""One place of an operand: where an element is (-g), and which elements a register of a lane holds (-m)."""

from __future__ import annotations

from ..records import Record, TupleRecord
from .output_terms import calculation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Element, Location, Operand
    from .output_terms import Calculation

__all__ = ["ElementPlaces", "HeldElement", "RegisterContents", "get_register", "matrix_entry"]


class ElementPlaces(Record):
    """Where one element of an operand is.

    Attributes:
        operand: which, under its modifiers. row, col, block: the element.
        locations: one, or several where it is replicated.
        sign: what the instruction does to its sign as it reads it, as `Operand.sign` gives it.
        calculation: what an element of D is the sum of, if that was asked for.
    """

    operand: Operand
    row: int
    col: int
    block: int
    locations: tuple[Location, ...]
    sign: str
    calculation: Calculation | None = None


class HeldElement(TupleRecord):
    """An element that a register holds, the sign under which the instruction reads it, and as in `ElementPlaces`
    the calculation."""

    element: Element
    sign: str
    calculation: Calculation | None


class RegisterContents(Record):
    """What one register of one lane of an operand holds, lowest bits first; empty where it holds nothing."""

    operand: Operand
    register: int
    lane: int
    elements: tuple[HeldElement, ...]


def get_register(
    operand: Operand, *, i: int = 0, j: int = 0, k: int = 0, block: int = 0, calculated: bool = False
) -> ElementPlaces:
    """Where an element is. Coordinates that the operand lacks are ignored.

    Args:
        operand: an instruction's operand; i, j, k, block: the element.
        calculated: of D, also what the element is the sum of.

    Raises:
        Error: a coordinate is outside the operand.

    >>> import mmacalc
    >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
    >>> get_register(a, i=3, k=9).locations
    (Location(lane=35, item=1, register=0, lsb=16, width=16),)
    """
    coordinates = {"i": i, "j": j, "k": k}
    locations = operand.locate(**coordinates, block=block)
    row, col = [coordinates[axis] for axis in operand.axes[1:]]
    terms = calculation(operand, i, j, block) if calculated else None
    return ElementPlaces(operand, row, col, block, locations, operand.sign(locations[0].lsb), terms)


def matrix_entry(operand: Operand, register: int = 0, lane: int = 0, *, calculated: bool = False) -> RegisterContents:
    """What a register of a lane holds.

    Args:
        operand: an instruction's operand; register: counted from its first; lane: of the wave.
        calculated: of D, also what each element is the sum of.

    Raises:
        Error: the operand has no such register, or the wave no such lane.

    >>> import mmacalc
    >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
    >>> [held.element.col for held in matrix_entry(a, register=0, lane=35).elements]
    [8, 9]
    """
    elements = [
        HeldElement(
            element,
            operand.sign(element.lsb),
            calculation(operand, element.row, element.col, element.block) if calculated else None,
        )
        for element in operand.contents(register, lane)
    ]
    return RegisterContents(operand, register, lane, tuple(elements))
