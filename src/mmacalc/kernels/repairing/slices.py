"""Which instructions the elements of a result depend on, by a launch that is looked at: its backward slices.

Followed are whole registers of a wave and words of shared and global memory: each has the set of instructions through
which its content came, those that computed addresses, masks and loaded values among them. What branches depend on
reaches every result, and is told apart.
"""

from __future__ import annotations

import numpy as np

from ..device.observer import Observer
from ..following.sets import NumberedSets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ...base.arrays import Array
    from ..following.machines import Machines

__all__ = ["LEVELS", "Slices"]

WORD = 4
LEVELS = 4
"""How near an instruction is to what is wrong: 0 all wrong elements depend on it and no right one, 1 all wrong ones do,
2 some do, 3 branches do."""


class Slices(Observer):
    """The instructions that results came through. Sets of them are numbered; one is an integer with a bit for each."""

    machines: Machines

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self.places: list[int] = []
        self._bits: dict[int, int] = {}
        self._sets = NumberedSets(0)
        self._registers: dict[int, Array] = {}
        self._shared: Array = np.zeros(0, np.int32)
        self._memory: Array = np.zeros(0, np.int32)
        self._regions: Any = None
        self._machine: Any = None
        self._read: Array | None = None
        self._sources: Array | None = None
        self._branches = 0
        self._last = -1

    # --- sets ---

    def _by_unit(self, units: Array, numbers: Array) -> Array:
        """The unions of the numbers of each unit."""
        found = self._none()
        for key in np.unique(units.astype(np.int64) << 32 | numbers).tolist():
            found[key >> 32] = self._sets.union(int(found[key >> 32]), key & 0xFFFFFFFF)
        return found

    def _through(self, step: Any, before: Array) -> Array:
        """What goes on through an instruction."""
        place = self.machines.place(step)
        if place not in self._bits:
            self._bits[place] = self._sets.number(1 << len(self.places))
            self.places.append(place)
        return self._sets.joined(before, np.full(len(before), self._bits[place], np.int32))

    # --- the launch ---

    def started(self, machine: Any) -> None:
        """Some workgroups begin."""
        self._machine, self._registers = machine, {}
        self._shared = np.zeros(-(-self.machines.shared_bytes(machine) // WORD) + 4, np.int32)
        memory = self.machines.memory(machine)
        if self._regions is None:
            self._regions = memory.regions
            self._memory = np.zeros(len(memory.data) // WORD + 4, np.int32)

    def before(self, step: Any, who: Any) -> None:
        """An instruction is about to be executed: what its sources came through."""
        del who
        self._read, self._last = None, self.machines.place(step)
        found = self._none()
        for number in self.machines.every_read(step):
            if number in self._registers:
                found = self._sets.joined(found, self._registers[number])
        self._sources = self._through(step, found)
        if self.machines.is_branch(step):
            for number in np.unique(self._sources).tolist():
                self._branches |= self._sets[number]

    def _accessed(self, memory: Array, words: Array, who: Any, kind: str) -> None:
        units = self.machines.access_units(self._machine, who, len(words))
        assert self._sources is not None
        if units is None:  # a copy by the wave as a whole
            units = np.repeat(self.machines.units(self._machine, who), max(1, len(words)))[: len(words)]
        if kind in ("read", "ldmatrix") or kind not in ("write", "stmatrix", "copy"):
            found = self._by_unit(np.repeat(units, words.shape[1]), memory[words].ravel())
            self._read = found if self._read is None else self._sets.joined(self._read, found)
        if kind not in ("read", "ldmatrix"):
            stored = self._sources if self._read is None else self._sets.joined(self._sources, self._read)
            memory[words] = stored[units][:, None]

    def shared(self, step: Any, who: Any, places: Array, size: int, kind: str) -> None:
        """Shared memory is accessed."""
        del step
        words = places[:, None].astype(np.int64) // WORD + np.arange(-(-size // WORD))
        self._accessed(self._shared, words, who, kind)

    def memory(self, step: Any, who: Any, addresses: Array, size: int, kind: str) -> None:
        """Global memory is accessed."""
        del step
        words = self._words(addresses)[:, None] + np.arange(-(-size // WORD))
        self._accessed(self._memory, words, who, kind)

    def _words(self, addresses: Array) -> Array:
        """Where some addresses are in global memory, in words."""
        starts = np.array([one.start for one in self._regions], np.int64)
        shifts = np.array([one.place - one.start for one in self._regions], np.int64)
        order = np.argsort(starts)
        at = order[np.maximum(np.searchsorted(starts[order], addresses.astype(np.int64), "right") - 1, 0)]
        found: Array = (addresses.astype(np.int64) + shifts[at]) // WORD
        return np.clip(found, 0, len(self._memory) - 5)

    def copied(self, step: Any, places: Array, size: int) -> None:
        """Shared memory was written by an asynchronous copy."""
        words = places[:, None].astype(np.int64) // WORD + np.arange(-(-size // WORD))
        self._shared[words] = self._through(step, np.zeros(1, np.int32))[0]

    def after(self, step: Any, who: Any) -> None:
        """An instruction was executed: what its results came through."""
        written = list(self.machines.every_written(step))
        if not written or self._sources is None:
            return
        found = self._sources if self._read is None else self._sets.joined(self._sources, self._read)
        units, whole = self.machines.units(self._machine, who), self.machines.is_whole(who)
        for number in written:
            held = self._registers.setdefault(number, self._none())
            held[units] = found[units] if whole else self._sets.joined(held, found)[units]

    def _none(self) -> Array:
        return np.zeros(self.machines.unit_count(self._machine), np.int32)

    # --- what results depend on ---

    def stopped(self) -> dict[int, int]:
        """As `levels`, of a launch that the last instruction has stopped: it is the nearest, then what its sources came
        through, and what was executed before. Nothing else can let the launch go on."""
        found, some = dict.fromkeys(self.places, 2), 0
        for number in np.unique(self._sources).tolist() if self._sources is not None else ():
            some |= self._sets[number]
        found.update({place: 1 for bit, place in enumerate(self.places) if some >> bit & 1})
        return {**found, self._last: 0} if self._last in found else found

    def levels(self, results: Iterable[tuple[Array, Array]]) -> dict[int, int] | None:
        """By instruction, how near it is to what is wrong (`LEVELS`); those that reach no wrong element are left out.
        None where a wrong element was never written, so that what should have written it is not known.

        Args:
            results: arrays, and which of their elements are wrong.
        """
        wrong: list[int] = []
        right = 0
        for array, off in results:
            found = [(one, array.ctypes.data - one.array.ctypes.data) for one in self._regions or ()
                     if one.array is not None]  # fmt: skip
            place = next((one.place + far for one, far in found if 0 <= far < one.array.nbytes), None)
            if place is None or not array.flags.c_contiguous:
                return None
            each = np.arange(array.size, dtype=np.int64) * array.itemsize + place
            numbers = self._memory[each // WORD]
            wrong += np.unique(numbers[off.reshape(-1)]).tolist()
            for number in np.unique(numbers[~off.reshape(-1)]).tolist():
                right |= self._sets[number]
        if not wrong or 0 in wrong:
            return None
        every, some = ~0, 0
        for number in wrong:
            every, some = every & self._sets[number], some | self._sets[number]
        levels: dict[int, int] = {}
        for bit, place in enumerate(self.places):
            tests = (every & ~right, every, some, self._branches)
            level = next((level for level, members in enumerate(tests) if members >> bit & 1), None)
            if level is not None:
                levels[place] = level
        return levels
