"""Lists for the page in which each thing stands once."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

__all__ = ["Distinct"]


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
