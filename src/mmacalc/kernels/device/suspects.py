"""Reads of global memory that race, and whether what they read is used.

A load that races with a store gives an undefined value, and does no other harm (LLVM Language Reference, "Memory Model
for Concurrent Operations": where a byte may see more than one write, it is undef). Compilers build upon that: where a
tile has fewer elements than a workgroup has lanes, Triton lets several waves load the same elements, and one of them
store what it has made of them in their place.

Whether the value is used shows in a second run of the launch, in the same order, with these reads undefined: then it
reaches a store, an address, a branch or a product, or it does not.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...base.arrays import Array

__all__ = ["ORIGIN", "Suspects"]

ORIGIN = "a racing read"
"""Where an undefined value of the second run comes from."""
MOST = 1 << 20
"""Reads that are kept; of more nothing is said."""
PLACES = 1 << 36
"""Granules of memory, beside which the number of an agent is kept in one number."""
_LAST = np.iinfo(np.int64).max


class Suspects:
    """The reads of a launch that race. findings: by the key of a finding, the label of the read that it is about.

    >>> found = Suspects()
    >>> found.add(np.array([3]), np.array([1]), np.array([4]), np.array([6]))
    >>> found.settle()
    True
    >>> found.among(np.array([3, 3, 2]), np.array([1, 1, 1]), np.array([5, 7, 5])).tolist()
    [True, False, False]
    """

    findings: dict[tuple[Any, ...], int]

    def __init__(self) -> None:
        self.findings = {}
        self.met: set[int] = set()
        self._parts: list[tuple[Array, Array, Array]] = []
        self._count = 0
        self._keys: Array = np.zeros(0, np.int64)
        self._first: Array = self._keys
        self._last: Array = self._keys

    def add(self, granules: Array, agents: Array, first: Array, last: Array) -> None:
        """Enter reads of granules by agents: those between two clocks, both included."""
        self._count += len(granules)
        if self._count <= MOST:
            self._parts.append((_keys(granules, agents), first, last))

    def settle(self) -> bool:
        """All have been entered; whether there are any, and not too many."""
        if not self._parts or self._count > MOST:
            return False
        keys, first, last = (np.concatenate(each) for each in zip(*self._parts))
        self._keys, own = np.unique(keys, return_inverse=True)
        self._first = np.full(len(self._keys), _LAST)
        self._last = np.zeros(len(self._keys), np.int64)
        np.minimum.at(self._first, own, first)
        np.maximum.at(self._last, own, last)
        return True

    def among(self, granules: Array, agents: Array, clocks: Array) -> Array:
        """Which of some reads are among them."""
        keys = _keys(granules, agents)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: Array = (self._keys[at] == keys) & (self._first[at] <= clocks) & (clocks <= self._last[at])
        return found

    def unused(self, used: set[int]) -> list[tuple[Any, ...]]:
        """The findings of which the second run has met the read, and which are not among the labels that are used.

        Of reads of one place by one agent the last one is kept: where an earlier one is used, all stay.
        """
        if not used <= set(self.findings.values()):
            return []
        return [key for key, label in self.findings.items() if label in self.met and label not in used]


def _keys(granules: Array, agents: Array) -> Array:
    found: Array = agents.astype(np.int64) * PLACES + granules
    return found
