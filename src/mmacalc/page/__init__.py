"""The data of the interactive page, from the catalog, and the page itself, which is made from page/src.

The data are tables in which each thing stands once, and which refer to each other by number.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any


class Distinct:
    """Things, each once, by their number."""

    def __init__(self) -> None:
        self.things: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, thing: Any, key: Hashable = None) -> int:
        """The number of a thing, a new one if it was not there; `key` is what tells it from others."""
        key = key or (thing if isinstance(thing, (str, tuple)) else repr(thing))
        if key not in self._numbers:
            self._numbers[key] = len(self.things)
            self.things.append(thing)
        return self._numbers[key]
