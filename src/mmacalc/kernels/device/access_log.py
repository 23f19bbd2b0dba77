"""Accesses of granules of memory that several agents made, beside the last one of each granule.

An access is one number: its agent (counted from 1) above the bit `agent`, what its machine keeps of it below.
"""

from __future__ import annotations

import numpy as np

from ...base.records import TupleRecord
from .memory import untouched

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

    def of(self, some: Array | slice) -> Entries:
        """Some of them."""
        return Entries(self.at[some], self.codes[some], self.bits[some], self.labels[some])


class AccessLog:
    """The accesses of a launch that are kept beside the last ones. places: the granules; agent: the first bit of the
    agent in an access. several: which granules have any; where it is kept, if that is given.

    >>> log = AccessLog(4, agent=8)
    >>> two = Entries(np.array([1, 2]), np.array([1 << 8, 1 << 8]), np.zeros(2, np.uint8), np.zeros(2, np.int32))
    >>> log.add(two)
    >>> which, found = log.others(np.array([0, 2]), np.array([2 << 8] * 2))
    >>> which.tolist(), found.at.tolist()
    ([1], [2])
    >>> log.forget(np.array([2]))
    >>> log.has(np.array([1])), log.has(np.array([2]))
    (True, False)
    """

    agent: int
    several: Array

    def __init__(self, places: int, agent: int, several: Array | None = None) -> None:
        self.agent = agent
        self.several = untouched((places,), np.bool_) if several is None else several
        self._mine: Array = untouched((places,), np.int32)
        self._entries = _empty(1 << 10)  # of all instructions, one after the other, with room for more
        self._starts: list[int] = [0]  # where those of each instruction begin, and where there is room
        self._least: list[int] = []  # of each instruction its granules, from the least to the greatest
        self._most: list[int] = []

    def add(self, entries: Entries) -> None:
        """Enter accesses of one instruction. What lanes of an agent access together is entered once."""
        at, codes = entries.at, entries.codes
        fresh = np.ones(len(at), np.bool_)
        fresh[1:] = (at[1:] != at[:-1]) | (codes[1:] != codes[:-1])
        self._append(entries if fresh.all() else entries.of(fresh))
        self.several[at] = True
        if len(self._least) > LOGGED:
            self._forget_oldest()

    def _append(self, entries: Entries) -> None:
        first, last = self._starts[-1], self._starts[-1] + len(entries.at)
        if last > len(self._entries.at):
            before, self._entries = self._entries.of(slice(first)), _empty(2 * last)
            self._put(0, before)
        self._put(first, entries)
        self._starts.append(last)
        self._least.append(int(entries.at.min()))
        self._most.append(int(entries.at.max()))

    def _put(self, first: int, entries: Entries) -> None:
        for own, values in zip(self._entries, entries):
            own[first : first + len(values)] = values

    def _forget_oldest(self) -> None:
        parts = [self._entries.of(slice(*pair)) for pair in zip(self._starts, self._starts[1:])]
        kept = [one for one in parts if self.several[one.at].any()]
        self._entries, self._starts, self._least, self._most = _empty(len(self._entries.at)), [0], [], []
        for one in kept[-LOGGED // 2 :]:
            self._append(one)

    def forget(self, at: Array | slice) -> None:
        """Some granules have been written since."""
        if self._least:
            self.several[at] = False

    def has(self, at: Array | slice) -> bool:
        """Whether there are accesses of any of these granules."""
        return bool(self._least) and bool(self.several[at].any())

    def others(self, at: Array, own: Array) -> tuple[Array, Entries]:
        """Accesses of granules by other agents than those of `own`, which access them now: which of `at`, and they, in
        the order in which they were entered."""
        hit, index = self._found(at, own)
        return index, self._entries.of(hit)

    def others_by_instruction(self, at: Array, own: Array) -> Iterator[tuple[Array, Entries]]:
        """As `others`, those of one instruction after the other."""
        hit, index = self._found(at, own)
        edges = np.flatnonzero(np.diff(np.searchsorted(self._starts, hit, "right"))) + 1
        for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(hit)]):
            if last > first:
                yield index[first:last], self._entries.of(hit[first:last])

    def _found(self, at: Array, own: Array) -> tuple[Array, Array]:
        """Which entries are of granules that other agents access now, and which of these."""
        if not self.has(at):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        near = (np.array(self._least) <= int(at.max())) & (np.array(self._most) >= int(at.min()))
        numbers = np.flatnonzero(near).tolist()
        first, last = (self._starts[numbers[0]], self._starts[numbers[-1] + 1]) if numbers else (0, 0)
        places, codes = self._entries.at[first:last], self._entries.codes[first:last]
        self._mine[at] = np.arange(1, len(at) + 1, dtype=np.int32)
        index = self._mine[places]
        self._mine[at] = 0
        hit = np.flatnonzero(index)
        hit = hit[self.several[places[hit]]]
        index = index[hit].astype(np.int64) - 1
        other = (codes[hit] ^ own[index]) >> self.agent != 0
        return hit[other] + first, index[other]


def _empty(room: int) -> Entries:
    at, codes, labels = np.zeros((3, room), np.int64)
    return Entries(at, codes, np.zeros(room, np.uint8), labels)
