"""The counters of outstanding memory accesses: which registers a wave may not touch yet.

What raises which counter, which accesses end in order, how many a counter holds and what instructions wait for are
`mmacalc.hazards.memory_counters`, with the sources; lint follows the same rules over all paths. An access of those that
end in order has ended when n younger ones of them are issued and a wait for n, or a counter of this size, lets the wave
go on; one of those that end in any order has ended only after a wait for 0.

XCNT of gfx1250: the accesses of memory whose addresses may not be translated yet.

An access whose address cannot be translated is issued again later, so until then nothing may overwrite the registers
that it reads: its address, its data and, of vector accesses, EXEC. XCNT counts these accesses.

Sources: the waits that LLVM 22 inserts (SIInsertWaitcnts; for EXEC the only one), and of LLVM's pull requests 145566
(what is tracked; vector accesses are translated in order, scalar ones are not), 145688 (the hardware waits for 0
between scalar and vector accesses), 164357 (a vector access may overwrite what an earlier one reads; one that has
ended is translated), 198823 (barriers, messages and jumps wait for 0). LLVM 22 waits in more places: it does not take
it that a store is translated where a later load has ended. For asynchronous loads into LDS it inserts none, and whether
these need one is open: they are not tracked.
"""

from __future__ import annotations

import numpy as np

from ...asm.tables import flags_of
from ...base.records import TupleRecord
from ...hazards.memory_counters import COUNTERS, MOST, sequence_of
from ..device.races import UNREAD
from .state import EXEC, SCALARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.arrays import Array
    from ..device.undefined import Rows
    from .program import Step
    from .state import Group

__all__ = ["Counters", "Flight", "Landing", "Translations"]


COPIES = ("load", "async", "tensor")
"""The kinds of accesses that copy between memory and LDS, if they touch LDS at all."""


class Landing:
    """What an access writes into LDS, or reads of it (`kind`, of `device.races`): `size` bytes at each of some offsets,
    by these waves of the batch; numbers: of the waves in their workgroups, from 1."""

    __slots__ = ("_group", "_numbers", "_order", "_waves", "kind", "offsets", "size")
    kind: str
    offsets: Array
    size: int

    def __init__(self, offsets: Array, size: int, waves: Array, numbers: Array, kind: str) -> None:
        self.offsets, self.size, self.kind = offsets, size, kind
        self._waves: Array | None = waves
        self._numbers: Array | None = numbers
        self._group: tuple[Rows, Array | None, int, Array] | None = None
        self._order: Array | None = None

    @classmethod
    def of_group(cls, offsets: Array, size: int, group: Group, wave_in_group: Array, kind: str) -> Landing:
        """What the active lanes of a group write or read; whose is which is found out when somebody asks."""
        found = cls.__new__(cls)
        found.offsets, found.size, found._order, found._waves, found._numbers = offsets, size, None, None, None
        found.kind = kind
        found._group = group.rows, group.mask, group.lanes, wave_in_group
        return found

    @property
    def waves(self) -> Array:
        """Of each access the wave, a row of the batch."""
        if self._waves is None and self._group is not None:
            rows, mask, lanes, whole = self._group
            mine = np.arange(len(whole))[rows]
            self._waves = np.repeat(mine, lanes) if mask is None else mine[np.nonzero(mask)[0]]
        assert self._waves is not None
        return self._waves

    @property
    def numbers(self) -> Array:
        """Of each access the wave's number in its workgroup, from 1."""
        if self._numbers is None and self._group is not None:
            self._numbers = self._group[3][self.waves] + 1
        assert self._numbers is not None
        return self._numbers

    def meets(self, offsets: Array, size: int, waves: Array) -> Array:
        """Which accesses of some waves touch what they write themselves."""
        if self._order is None:
            self._order = np.argsort(self.offsets, kind="stable")
        starts, owners = self.offsets[self._order], self.waves[self._order]
        before = np.searchsorted(starts, offsets + size) - 1  # the last one that begins before the access ends
        found: Array = (before >= 0) & (starts[before] + self.size > offsets) & (owners[before] == waves)
        return found

    def of(self, which: Array) -> Landing:
        """Some of these accesses."""
        return Landing(self.offsets[which], self.size, self.waves[which], self.numbers[which], self.kind)


class Flight:
    """An outstanding access: its instruction, the registers that it writes, and its number on each counter by wave.

    order: its number among those accesses of the counter that end in order; None if it ends in any order. landings:
    what it writes into LDS or reads of it. clocks: of a copy that is an agent of `ordered_races`, its clock by wave.
    """

    __slots__ = ("address", "clocks", "kind", "landings", "numbers", "order", "sequence")
    address: int
    clocks: Array | None
    kind: str
    landings: tuple[Landing, ...]
    numbers: frozenset[int]
    order: dict[str, Array] | None
    sequence: dict[str, Array]

    def __init__(
        self,
        address: int,
        kind: str,
        numbers: frozenset[int],
        sequence: dict[str, Array],
        order: dict[str, Array] | None,
    ) -> None:
        self.address, self.kind, self.numbers = address, kind, numbers
        self.sequence, self.order = sequence, order
        self.landings, self.clocks = (), None

    @property
    def lands(self) -> bool:
        """Whether it copies between memory and LDS; what else writes there is in the order of its accesses."""
        return bool(self.landings) and self.kind in COPIES


class Counters:
    """The outstanding accesses of a batch of waves. busy: by register, those that write it. copies: whether there was
    one that may copy between memory and LDS. translations: those that may be issued again; None of targets without
    XCNT."""

    copies: bool
    disorderly: tuple[str, ...]
    generation: str
    kinds: dict[str, tuple[str, ...]]
    translations: Translations | None
    waves: int

    def __init__(self, waves: int, generation: str, translates: bool = False) -> None:
        self.waves, self.generation = waves, generation
        self.translations = Translations(self) if translates else None
        self.kinds = COUNTERS[generation]
        self.disorderly = tuple(kind for kind in self.kinds if sequence_of(kind, generation) is None)
        names = {name for names in self.kinds.values() for name in names}
        self.issued: dict[str, Array] = {name: np.zeros(waves, np.int64) for name in names}
        self.orderly: dict[str, Array] = {name: np.zeros(waves, np.int64) for name in names}
        self.flights: list[Flight] = []
        self.busy: dict[int, list[Flight]] = {}
        self.landings: list[Landing] = []  # of the instruction that is being carried out
        self.copies = False

    def issue(
        self, group: Group, address: int, kind: str, numbers: frozenset[int], writes_lds: bool = False
    ) -> Flight | None:
        """Enter an access of the group's waves; None if no check asks whether it has ended."""
        landings, self.landings = tuple(self.landings), []
        orderly = kind not in self.disorderly
        self.copies |= kind in COPIES and (writes_lds or bool(landings) or kind != "load")
        kept = numbers or writes_lds or landings or "flat" in kind or kind == "store"
        sequence, order = {}, {}
        for name in self.kinds[kind]:
            issued, among = self.issued[name], self.orderly[name]
            issued[group.rows] += 1
            if orderly:
                among[group.rows] += 1
            if kept:
                own = issued.copy()
                if group.count < self.waves:
                    own[:] = 0
                    own[group.rows] = issued[group.rows]
                sequence[name], order[name] = own, among.copy()
        if not kept:
            return None
        flight = Flight(address, kind, numbers, sequence, order if orderly else None)
        flight.landings = landings
        self.flights.append(flight)
        for number in numbers:
            self.busy.setdefault(number, []).append(flight)
        return flight

    def outstanding(self, flight: Flight, rows: Rows) -> Array:
        """In which of some waves an access may be outstanding."""
        found: Array = np.zeros(1, np.bool_)
        for name, sequence in flight.sequence.items():
            open_ = sequence[rows] > 0
            if flight.order is not None:
                open_ &= self.orderly[name][rows] - flight.order[name][rows] < MOST[self.generation][name]
            found = found | open_
        return found

    def wait(self, group: Group, waits: dict[str, int]) -> None:
        """Wait until at most the given number of accesses of each counter is outstanding."""
        ended = []
        for name, number in waits.items():
            if self.translations is not None:
                self.translations.wait(group, name, number)
            if name not in self.issued or not self.flights:
                continue
            for flight in [flight for flight in self.flights if name in flight.sequence]:
                if number and flight.order is None:
                    continue
                self._end(flight, name, number, group)
                if not flight.sequence:
                    ended.append(flight)
        for flight in ended:
            self._forget(flight)

    def _end(self, flight: Flight, name: str, number: int, group: Group) -> None:
        sequence = flight.sequence[name]
        if number == 0:
            sequence[group.rows] = 0
        else:
            assert flight.order is not None  # only a wait for 0 ends the others
            younger = self.orderly[name][group.rows] - flight.order[name][group.rows]
            sequence[group.rows] = np.where(younger >= number, 0, sequence[group.rows])
        if not sequence.any():
            del flight.sequence[name]

    def _forget(self, flight: Flight) -> None:
        if flight in self.flights:
            self.flights.remove(flight)
        for number in flight.numbers:
            flights = self.busy.get(number)
            if flights and flight in flights:
                flights.remove(flight)
                if not flights:
                    del self.busy[number]

    def touched(self, reads: frozenset[int], writes: frozenset[int], kind: str, group: Group) -> Flight | None:
        """An outstanding access whose result an instruction touches too early; it counts as ended then.

        A load (`kind`: of which counters) may write what an earlier one of its kind writes: they end in order.
        """
        for number in (reads | writes) & self.busy.keys():
            for flight in self.busy[number]:
                ordered = kind and flight.kind == kind and kind not in self.disorderly and number not in reads
                if not ordered and self.outstanding(flight, group.rows).any():
                    self._forget(flight)
                    return flight
        return None

    def landing_at(
        self, offsets: Array, size: int, waves: Array, against: tuple[str, ...]
    ) -> tuple[Flight, Array] | None:
        """A copy between memory and LDS that is outstanding in the waves that access its bytes there, or a load from
        there, and which of the accesses do; it counts as ended then. against: what kinds of accesses by it (see
        `Landing`) matter."""
        for flight in self.flights:
            if flight.landings and flight.landings[0].kind in against and (flight.lands or UNREAD in against):
                met = np.any([landing.meets(offsets, size, waves) for landing in flight.landings], axis=0)
                met &= self.outstanding(flight, waves)
                if met.any():
                    self._forget(flight)
                    return flight, met
        return None

    def copies_ended(self, row: int, kind: str, last: int) -> int:
        """Up to which clock all copies of a kind by a wave have ended. last: of the last one."""
        open_ = [
            int(flight.clocks[row]) - 1 for flight in self.flights
            if flight.clocks is not None and flight.kind == kind and flight.clocks[row]
            and self.outstanding(flight, np.array([row])).any()
        ]  # fmt: skip
        return min([last, *open_])

    def copied(self, row: int, kind: str, last: int) -> None:
        """A wave has learned that its copies of a kind have ended up to a clock, without a wait for their counter."""
        for flight in self.flights:
            if flight.clocks is not None and flight.kind == kind and 0 < flight.clocks[row] <= last:
                for sequence in flight.sequence.values():
                    sequence[row] = 0

    def unfinished_in_lds(self, group: Group) -> list[tuple[int, Landing]]:
        """What outstanding accesses of the group's waves write to LDS or read of it: the instruction, and what. Not of
        copies that are agents of their own."""
        mine = np.zeros(self.waves, np.bool_)
        mine[group.rows] = True
        found = []
        for flight in self.flights:
            for landing in flight.landings if flight.clocks is None else ():
                which = mine[landing.waves] & self.outstanding(flight, landing.waves)
                if which.any():
                    found.append((flight.address, landing.of(which)))
        return found


# --- XCNT of gfx1250 ---


COUNTER = "xcnt"
UNTRACKED = ("", "lds", "async", "tensor")


class Translation(TupleRecord):
    """An access: its instruction, whether it is a scalar one, the registers that it reads, and its numbers by wave.

    numbers: on XCNT, 0 where it is translated; counts: on the counters of its result.
    """

    address: int
    scalar: bool
    reads: frozenset[int]
    numbers: Array
    counts: dict[str, Array]


class Translations:
    """The accesses of a batch of waves that may not be translated yet."""

    counters: Counters

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.issued: Array = np.zeros(counters.waves, np.int64)
        self.pending: list[Translation] = []
        self.read: set[int] = set()

    def before(self, step: Step, group: Group) -> Translation | None:
        """The last access whose registers an instruction overwrites too early; it counts as translated then."""
        if not self.pending:
            return None
        if "waits_xcnt" in flags_of(step.instruction.name):
            self._end(group, self.issued, lambda one: True)
            return None
        vector = step.count not in ("scalar", *UNTRACKED)
        if step.count == "scalar" or vector:
            self._end(group, self.issued, lambda one: one.scalar == vector)
        if self.read.isdisjoint(step.writes):
            return None
        for one in reversed(self.pending):
            if not one.reads.isdisjoint(step.writes) and one.numbers[group.rows].any():
                self._end(group, one.numbers.copy(), lambda other: other is one or not other.scalar)  # noqa: B023 - ends here
                return None if vector else one
        return None

    def after(self, step: Step, group: Group) -> None:
        """Enter an access."""
        if step.count in UNTRACKED:
            return
        self.issued[group.rows] += 1
        numbers = np.zeros_like(self.issued)
        numbers[group.rows] = self.issued[group.rows]
        scalar = step.count == "scalar"
        reads = step.reads if scalar else step.reads | {SCALARS + EXEC, SCALARS + EXEC + 1}
        counts = {name: self.counters.issued[name].copy() for name in self.counters.kinds[step.count]}
        self.pending.append(Translation(step.instruction.address, scalar, reads, numbers, counts))
        self.read |= reads

    def wait(self, group: Group, name: str, number: int) -> None:
        """A wait until at most `number` accesses of a counter are outstanding."""
        if not self.pending:
            return
        if name == COUNTER:
            scalar = any(one.scalar and one.numbers[group.rows].any() for one in self.pending)
            if not (number and scalar):
                self._end(group, self.issued - number, lambda one: True)
            return
        reached = np.zeros_like(self.issued)
        for one in self.pending:
            if name in one.counts and not (number and one.scalar):
                ended = one.counts[name] <= self.counters.issued[name] - number
                if one.scalar:
                    one.numbers[group.rows] = 0
                else:
                    reached = np.maximum(reached, np.where(ended, one.numbers, 0))
        self._end(group, reached, lambda one: not one.scalar)

    def _end(self, group: Group, last: Array, which: Callable[[Translation], bool]) -> None:
        """Those up to a number, by wave, are translated."""
        for one in self.pending:
            if which(one):
                own = one.numbers[group.rows]
                one.numbers[group.rows] = np.where(own <= last[group.rows], 0, own)
        self.pending = [one for one in self.pending if one.numbers.any()]
        self.read = set().union(*[one.reads for one in self.pending])
