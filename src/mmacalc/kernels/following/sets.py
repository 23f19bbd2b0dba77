"""Sets that have numbers, so that an array can hold one of them for each of its elements."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...base.arrays import Array

__all__ = ["NumberedSets"]


class NumberedSets:
    """Sets by their numbers; that of the empty one is 0. They are frozensets, or integers with a bit for each member.

    >>> found = NumberedSets(0)
    >>> one, other = found.number(0b01), found.number(0b10)
    >>> joined = found.joined(np.array([one, 0], np.int32), np.array([other, other], np.int32))
    >>> [found[number] for number in joined.tolist()]
    [3, 2]
    """

    def __init__(self, empty: Any) -> None:
        self.every: list[Any] = [empty]
        self._numbers: dict[Any, int] = {empty: 0}
        self._unions: dict[tuple[int, int], int] = {}

    def __getitem__(self, number: int) -> Any:
        return self.every[number]

    def number(self, members: Any) -> int:
        """The number of a set."""
        number = self._numbers.setdefault(members, len(self.every))
        if number == len(self.every):
            self.every.append(members)
        return number

    def union(self, one: int, other: int) -> int:
        """The number of the union of two."""
        if one == other or not other:
            return one
        if not one:
            return other
        key = (one, other) if one < other else (other, one)
        if key not in self._unions:
            self._unions[key] = self.number(self.every[one] | self.every[other])
        return self._unions[key]

    def joined(self, one: Array, other: Array) -> Array:
        """The unions, element by element; `one` itself where nothing comes to it."""
        if not other.any() or (one == other).all():
            return one
        if not one.any():
            return other.copy()
        pairs, back = np.unique(one.astype(np.int64) << 32 | other, return_inverse=True)
        found = [self.union(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()]
        joined: Array = np.array(found, np.int32)[back.reshape(-1)]
        return joined
