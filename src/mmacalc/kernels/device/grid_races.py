"""Races in global memory between workgroups, of kernels in which nothing orders workgroups.

Two accesses of a byte by two workgroups race if one of them writes and nothing orders them. A kernel that releases or
acquires orders some; which, its machine must follow. Of one that does neither, every such pair is a race: no workgroup
may rely on the order in which others run. Atomic operations do not race with each other. Two workgroups that write the
same value to the same bytes do no harm, which is told apart.

As long as nothing is stored to an array, reads of it are only listed: most arrays are read or written, not both.
"""

from __future__ import annotations

import numpy as np

from ...base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.arrays import Array
    from .memory import GlobalMemory

__all__ = ["GridRace", "GridRaces"]

LISTED = 1 << 22
"""Reads that are listed as they are before they are entered."""
SEVERAL = -1
"""Instead of a workgroup's number from 1: several have read."""


class GridRace(TupleRecord):
    """A race: which of the accesses, the byte in memory, the other workgroup (None: several), the label of the other
    instruction, what it did ("wrote", "read", "changed by an atomic operation"), whether both write the same value."""

    access: int
    offset: int
    workgroup: int | None
    label: int
    did: str
    same: bool


class GridRaces:
    """Which workgroup wrote and read each granule of global memory last. granule: bytes that all accesses are multiples
    of; labels are numbers of instructions, below 2^31.

    >>> from .memory import GlobalMemory
    >>> memory = GlobalMemory()
    >>> _ = memory.add("x", np.zeros(64, np.uint8), True); memory.finish()
    >>> races, at = GridRaces(memory, 4), np.array([0, 4])
    >>> races.note("write", at, 4, np.array([0, 0]), 1) is None
    True
    >>> races.note("read", at, 4, np.array([0, 1]), 2)
    GridRace(access=1, offset=4, workgroup=0, label=1, did='wrote', same=False)
    """

    granule: int
    memory: GlobalMemory

    def __init__(self, memory: GlobalMemory, granule: int) -> None:
        self.memory, self.granule = memory, granule
        self._shift = granule.bit_length() - 1
        places = len(memory.data) // granule + 1
        # np.zeros takes no memory until it is touched.
        self._writer: Array = np.zeros(places, np.int32)
        self._atomic: Array = np.zeros(places, np.bool_)
        self._write_label: Array = np.zeros(places, np.int32)
        self._reader: Array = np.zeros(places, np.int32)
        self._read_label: Array = np.zeros(places, np.int32)
        self._stored: set[int] = set()
        self._listed: dict[int, list[tuple[Array, int, Array, int]]] = {}
        self._count = 0

    def note(
        self, kind: str, offsets: Array, size: int, groups: Array, label: int,
        stored: Callable[[], tuple[Array, Array]] | None = None,
    ) -> GridRace | None:  # fmt: skip
        """Enter accesses, after `GlobalMemory.offsets` has found them. Gives the first race that they make.

        Args:
            kind: "read", "write" or "atomic". offsets: of each access in the memory's bytes; size: its bytes. groups:
                whose it is, a number from 0. label: of the instruction.
            stored: of a write gives the bytes before it and those written, (accesses, size) each.
        """
        if not len(offsets):
            return None
        region = self.memory.region
        if kind == "read" and region >= 0 and region not in self._stored:
            self._listed.setdefault(region, []).append((offsets, size, groups, label))
            self._count += len(offsets)
            if self._count > LISTED:
                for one in list(self._listed):
                    self._enter_listed(one)
            return None
        if kind != "read":
            for one in [region] if region >= 0 else list(range(len(self.memory.regions))):
                self._enter_listed(one)
        width = max(1, size // self.granule)
        at = offsets >> self._shift
        if width > 1:
            at = (at[:, None] + np.arange(width)).ravel()
        own = np.repeat(groups, width) + 1
        race = self._check(kind, at, width, own, stored)
        if kind == "read":
            self._read(at, own, label)
        else:
            self._writer[at], self._write_label[at], self._atomic[at] = own, label, kind == "atomic"
            lost = self._writer[at] != own
            if race is None and kind == "write" and lost.any():
                race = self._together(at, width, own, label, stored, int(np.flatnonzero(lost)[0]))
        return race

    def _enter_listed(self, region: int) -> None:
        """From now on accesses of a region are entered at once."""
        self._stored.add(region)
        for offsets, size, groups, label in self._listed.pop(region, ()):
            width = max(1, size // self.granule)
            at = ((offsets >> self._shift)[:, None] + np.arange(width)).ravel()
            self._count -= len(offsets)
            self._read(at, np.repeat(groups, width) + 1, label)

    def _read(self, at: Array, own: Array, label: int) -> None:
        before = self._reader[at]
        self._reader[at], self._read_label[at] = own, label
        several = ((before != 0) & (before != own)) | (self._reader[at] != own)
        self._reader[at[several]] = SEVERAL

    def _check(
        self, kind: str, at: Array, width: int, own: Array, stored: Callable[[], tuple[Array, Array]] | None
    ) -> GridRace | None:
        writer, reader = self._writer[at], self._reader[at]
        wrong = (writer != 0) & (writer != own)
        if kind == "atomic":
            wrong &= ~self._atomic[at]
        harmless: GridRace | None = None
        if wrong.any():
            harm = wrong & self._differs(at, stored) if kind == "write" else wrong
            first = int(np.flatnonzero(harm if harm.any() else wrong)[0])
            did = "changed by an atomic operation" if self._atomic[at[first]] else "wrote"
            race = GridRace(first // width, int(at[first]) * self.granule, int(writer[first]) - 1,
                            int(self._write_label[at[first]]), did, not harm.any())  # fmt: skip
            if not race.same:
                return race
            harmless = race
        if kind != "read":
            wrong = (reader != 0) & (reader != own)
            if wrong.any() and kind == "write":
                wrong &= self._differs(at, stored)  # what stays as it is can be read before or after
            if wrong.any():
                first = int(np.flatnonzero(wrong)[0])
                other = None if reader[first] == SEVERAL else int(reader[first]) - 1
                return GridRace(first // width, int(at[first]) * self.granule, other,
                                int(self._read_label[at[first]]), "read", False)  # fmt: skip
        return harmless

    def _differs(self, at: Array, stored: Callable[[], tuple[Array, Array]] | None) -> Array:
        if stored is None:
            return np.ones(len(at), np.bool_)
        before, after = stored()
        found: Array = (before != after).reshape(len(at), -1).any(axis=1)
        return found

    def _together(
        self,
        at: Array,
        width: int,
        own: Array,
        label: int,
        stored: Callable[[], tuple[Array, Array]] | None,
        first: int,
    ) -> GridRace | None:
        """The race of several workgroups that write to one granule in one instruction."""
        if stored is not None:
            after = stored()[1].reshape(len(at), -1)
            same = after[at == at[first]]
            if (same == same[0]).all():
                return None
        return GridRace(first // width, int(at[first]) * self.granule, int(self._writer[at[first]]) - 1, label, "wrote",
                        False)  # fmt: skip
