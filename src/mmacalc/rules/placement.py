"""What a rule answers: a layout and how its slots are packed into registers."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from ..formats import Format
    from ..layout import Layout

    class Layouts(Protocol):
        """What the rules read of an architecture."""

        layout: str

    class Shape(Protocol):
        """What the rules read of an instruction."""

        name: str
        m: int
        n: int
        k: int
        blocks: int
        formats: dict[str, str]
        features: tuple[str, ...]
        facts: dict[str, Any]

        @property
        def sparse(self) -> bool: ...

        @property
        def architecture(self) -> Layouts: ...

        def format(self, operand: str, fields: Mapping[str, int] = ...) -> Format: ...


class Placement(namedtuple("Placement", "layout fields slot_bits offset bits merge lanes")):
    """One operand's layout with what is needed to turn its items into registers and bits.

    layout: coordinates to lane and item; fields: the values of its selectors; slot_bits: the width of an item's
    slot; offset, bits: where in its slot the element lies and how wide it is; merge: how many neighbouring
    slots share one Location (the two stored values of a 2:4 group); lanes: a function from the layout's lane to
    the lane that is read instead (BLGP), or None.
    """

    __slots__ = ()
    layout: Layout
    fields: Mapping[str, int]
    slot_bits: int
    offset: int
    bits: int
    merge: int
    lanes: Callable[[int], int] | None


def packed(layout: Layout, bits: int, fields: Mapping[str, int] | None = None, merge: int = 1) -> Placement:
    """A placement whose slots are as wide as their elements."""
    return Placement(layout, fields or {}, bits, 0, bits, merge, None)
