"""Location and Element: the two answers about one place of an operand."""

from __future__ import annotations

from ..records import TupleRecord

__all__ = ["Element", "Location"]


class Location(TupleRecord):
    """Where an element is: its lane, its slot in the lane, the 32-bit register (from the operand's first), its lowest
    bit there, and its width in bits. A 64-bit element takes `register` and the one after it. Of Intel, a lane is a
    channel of 32 bits of a general register, and `register` counts those; of two fused EUs, the second has the lanes
    behind the first's."""

    lane: int
    item: int
    register: int
    lsb: int
    width: int


class Element(TupleRecord):
    """What some bits of a register hold: the element's row, column and block, and the bits."""

    row: int
    col: int
    block: int
    lsb: int
    width: int
