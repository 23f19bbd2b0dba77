"""Accesses of granules of memory that several agents made, beside the last one of each granule.

An access is one number: its agent (counted from 1) above the bit `agent`, what its machine keeps of it below.
"""

from __future__ import annotations

import numpy as np

from ...base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...base.arrays import Array

__all__ = ["LOGGED", "AccessLog", "Entries"]

LOGGED = 512
"""Instructions whose accesses are kept."""


class Entries(TupleRecord):
    """Accesses of one instruction, mostly. at: their granules; codes: the accesses. bits: what each is to the rules of
    its machine. labels: the instruction of each; the accesses again where they say it themselves."""

    at: Array
    codes: Array
    bits: Array
    labels: Array

    def of(self, some: Array) -> Entries:
        """Some of them."""
        return Entries(self.at[some], self.codes[some], self.bits[some], self.labels[some])


class AccessLog:
    """The accesses of a launch that are kept beside the last ones. places: the granules; agent: the first bit of the
    agent in an access. several: which granules have any.

    >>> log = AccessLog(4, agent=8)
    >>> two = Entries(np.array([1, 2]), np.array([1 << 8, 1 << 8]), np.zeros(2, np.uint8), np.zeros(2, np.int32))
    >>> log.add(two)
    >>> [(which.tolist(), found.at.tolist()) for which, found in log.others(np.array([0, 2]), np.array([2 << 8] * 2))]
    [([1], [2])]
    >>> log.forget(np.array([2]))
    >>> log.has(np.array([1])), log.has(np.array([2]))
    (True, False)
    """

    agent: int
    several: Array

    def __init__(self, places: int, agent: int) -> None:
        self.agent = agent
        # np.zeros takes no memory until it is touched.
        self.several = np.zeros(places, np.bool_)
        self._mine: Array = np.zeros(places, np.int32)
        self._entries: list[Entries] = []

    def add(self, entries: Entries) -> None:
        """Enter accesses."""
        self._entries.append(entries)
        self.several[entries.at] = True
        if len(self._entries) > LOGGED:
            kept = [one for one in self._entries if self.several[one.at].any()]
            self._entries = kept[-LOGGED // 2 :]

    def forget(self, at: Array | slice) -> None:
        """Some granules have been written since."""
        if self._entries:
            self.several[at] = False

    def has(self, at: Array | slice) -> bool:
        """Whether there are accesses of any of these granules."""
        return bool(self._entries) and bool(self.several[at].any())

    def others(self, at: Array, own: Array) -> Iterator[tuple[Array, Entries]]:
        """Accesses of granules by other agents than those of `own`, which access them now: which of `at`, and they."""
        if not self.has(at):
            return
        self._mine[at] = np.arange(1, len(at) + 1, dtype=np.int32)
        try:
            for entries in self._entries:
                index = self._mine[entries.at] - 1
                hit = np.flatnonzero((index >= 0) & self.several[entries.at])
                hit = hit[(entries.codes[hit] ^ own[index[hit]]) >> self.agent != 0]
                if len(hit):
                    yield index[hit], entries.of(hit)
        finally:
            self._mine[at] = 0
