"""What happens before what in global memory, among the waves of a launch: barriers, waits, caches and flags.

Every wave has a clock, which advances with each of its accesses of global memory. Of a wave's accesses those up to a
clock are *done*: a wait of the right counter has come after them. Where waves of a workgroup meet at a barrier, each
learns what the others had done (on gfx9, where they share one cache in order: what they had issued).

Between workgroups only this orders: a wave stores to a flag (or changes it by an atomic operation), and another reads
what it stored by a strong access. With the flag goes what the writer had *released*: what it and its workgroup had done
and, where the target needs that, written back, and what it had learned from other flags. The reader has learned that,
for what it releases itself, and for its stores. What its plain loads see it has *acquired* once it has waited for the
flag and invalidated its caches.

Beside these rows of clocks is a second one of each, as they would be if no wait, write-back or invalidation were
missing: it tells a race that nothing orders from one where an instruction is missing on the way.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from ...base.records import TupleRecord
from ..device.grid_races import CLOCK, CLUSTER, DEVICE, WORKGROUP, agent_of, clock_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...base.arrays import Array
    from ..device.scheduler import Waves
    from ..device.undefined import Rows
    from .memory_model import Caches, MemoryModel

    Chain = tuple[int, "Chain | None", int]
    """An access, the chain of those before it, and how many they are together."""
    Place = tuple[int, int]
    """The first granule of an access, and how many it has."""

__all__ = ["MOST_AGENTS", "MOST_FLAGS", "VALUES", "WRITES", "Flag", "GlobalOrder", "Missing"]

MOST_AGENTS = 8192
"""Waves of a launch whose workgroups communicate, up to which their order is followed."""
MOST_FLAGS = 1 << 14
"""Places that atomic operations have changed, up to which it is kept who released what there."""
SLOTS = 4
"""Barriers that are kept: a wave is at most one ahead of the others."""
RING = 64
"""Accesses of a counter that are kept: no counter holds more."""
WRITES, VALUES = 0, 1
"""Kinds of accesses, by what is waited for: writes, and those that give a value."""
_LOW = (1 << CLOCK) - 1


class Flag(TupleRecord):
    """What goes with a flag: rows of clocks (kind, agent) that are released, and that would be if nothing were missing;
    code: the access that wrote it, label: its instruction. place: where (`Place`); chain: that access, and of atomic
    operations the chain of those before it."""

    released: Array
    meant: Array
    code: int
    label: int
    place: Place
    chain: Chain

    def holds(self, granule: int, code: int) -> bool:
        """Whether an access of a granule is one of the chain."""
        first, count = self.place
        chain: Chain | None = self.chain if first <= granule < first + count else None
        while chain is not None and chain[0] != code:
            chain = chain[1]
        return chain is not None


class _Learned(TupleRecord):
    """A flag that a wave has read at a clock of its own, by the instruction `label`."""

    flag: Flag
    clock: int
    label: int


class Missing(TupleRecord):
    """Why an access races although a flag or barrier comes in between. what: "done" (a barrier before the access is
    waited for), "refresh" (no invalidation behind the barrier), "release" (a flag before the access is), "acquire" (no
    invalidation behind the flag). code, flag: the access that wrote the flag, and its instruction; read: the one that
    read it."""

    what: str
    code: int = 0
    flag: int = -1
    read: int = -1


class _Row:
    """What a wave knows of others, in rows of clocks that are never changed, only replaced.

    learned: what others have released, as far as the wave has read their flags; meant: the same, if nothing were
    missing. seen: what its plain loads see; far, near: what they will see after the caches are invalidated that
    workgroups do not share, and the nearest one; settled: `seen`, as far as invalidations were waited for. flags: those
    that it has read and not acquired; kept: the last that it has read.
    """

    __slots__ = ("far", "flags", "kept", "learned", "meant", "near", "seen", "settled")

    def __init__(self, zeros: Array) -> None:
        self.learned = self.meant = self.seen = self.near = self.far = self.settled = zeros
        self.flags: list[_Learned] = []
        self.kept: list[_Learned] = []


class GlobalOrder:
    """The order of a launch. model: the rules of the target. each, cluster: waves of a workgroup and of a cluster.
    total: waves of the launch.
    communicates: whether the kernel has instructions that release or acquire between workgroups. full: whether there
    are more flags than are kept, so that no race is found any more."""

    cluster: int
    communicates: bool
    each: int
    first: int
    full: bool
    model: MemoryModel
    total: int
    waves: Waves

    def __init__(self, model: MemoryModel, each: int, cluster: int, total: int, communicates: bool) -> None:
        self.model, self.each, self.cluster, self.total, self.communicates = model, each, cluster, total, communicates
        self._zeros: Array = np.zeros((2, total if communicates else 0), np.int64)
        self._history: dict[int, tuple[list[int], list[tuple[Array, Array, Array, Array]]]] = {}
        self._flags: dict[Place, Flag] = {}
        self.full = False

    def begin(self, waves: Waves, first: int) -> None:
        """The waves of a batch start. first: the number of its first workgroup in the launch."""
        self.waves, self.first = waves, first * self.each
        count = len(waves.ended)
        self.clock: Array = np.zeros(count, np.int64)
        self._done: Array = np.zeros((2, count), np.int64)
        self._last: Array = np.zeros((2, count), np.int64)
        self._issued: dict[str, Array] = {name: np.zeros(count, np.int64) for name in self.model.counters}
        self._ring: dict[str, Array] = {name: np.zeros((count, RING), np.int64) for name in self.model.counters}
        self._met: Array = np.zeros((SLOTS, 2, 2, count), np.int64)  # by barrier: issued and done, by kind
        self._fresh: Array = np.zeros((2, count, self.each), np.int64)  # of its workgroup, what plain loads see
        # Of its workgroup, what a wave knows to be released to the device; and what a write-back on its way will add.
        self._local: Array = np.zeros((2, count, self.each), np.int64)
        self._staged: Array = np.zeros((2, count, self.each), np.int64)
        # By workgroup, and how often it has signalled its cluster: what it released then, and would have.
        self._signals: dict[tuple[int, int], tuple[Array, Array]] = {}
        self._rows = [_Row(self._zeros) for _ in range(count if self.communicates else 0)]

    # --- accesses ---

    def access(self, rows: Rows, kinds: tuple[int, ...]) -> None:
        """The clocks of waves that access global memory. kinds: of the access."""
        self.clock[rows] += 1
        for kind in kinds:
            self._last[kind, rows] = self.clock[rows]

    def raised(self, rows: Rows, names: tuple[str, ...]) -> None:
        """Waves have issued what raises some counters."""
        for name in names:
            if name in self._issued:
                issued = self._issued[name]
                issued[rows] += 1
                self._ring[name][self._numbers(rows), issued[rows] % RING] = self.clock[rows]

    def wait(self, rows: Rows, waits: dict[str, int]) -> None:
        """Waves wait until at most a number of accesses of each counter is outstanding."""
        for name, number in waits.items():
            kinds = self.model.counters.get(name)
            if kinds is None or number >= RING:
                continue
            if number == 0:
                done = self.clock[rows]
            else:
                before = self._issued[name][rows] - number
                done = np.where(before > 0, self._ring[name][self._numbers(rows), before % RING], 0)
            for kind in kinds:
                self._done[kind, rows] = np.maximum(self._done[kind, rows], done)
            if self.communicates:
                self._waited(rows, kinds, number == 0)

    def _waited(self, rows: Rows, kinds: tuple[int, ...], all_of_them: bool) -> None:
        """What a wait releases to the device."""
        if all_of_them and VALUES in kinds:
            for row in self._numbers(rows).tolist():
                self._rows[row].settled = self._rows[row].seen
        if self.model.back:
            if all_of_them and WRITES in kinds:
                self._local[:, rows] = np.maximum(self._local[:, rows], self._staged[:, rows])
            return
        if self.model.one_cache and all_of_them:
            self._local[:, rows] = np.maximum(self._local[:, rows], self._known(rows, issued=True))
        self._release_own(self._local, rows, self._finished(rows))

    def _finished(self, rows: Rows) -> Array:
        """The clocks up to which all accesses of a kind are done: (kind, wave)."""
        last, done = self._last[:, rows], self._done[:, rows]
        found: Array = np.where(last > done, done, self.clock[rows])
        return found

    def _release_own(self, table: Array, rows: Rows, clocks: Array) -> None:
        numbers = self._numbers(rows)
        mine = numbers % self.each
        table[:, numbers, mine] = np.maximum(table[:, numbers, mine], clocks)

    def _numbers(self, rows: Rows) -> Array:
        return np.arange(len(self.clock))[rows]

    def _known(self, rows: Rows, issued: bool) -> Array:
        """What waves know of their workgroup by the last barrier: clocks (kind, wave, of each)."""
        numbers = self._numbers(rows)
        waited = self.waves.waited[numbers]
        members = numbers[:, None] // self.each * self.each + np.arange(self.each)
        found: Array = self._met[waited[:, None] % SLOTS, 0 if issued else 1, :, members].transpose(2, 0, 1)
        return np.where(waited[:, None] > 0, found, 0)

    # --- barriers ---

    def signal(self, rows: Rows) -> None:
        """Waves have arrived at a barrier."""
        numbers = self._numbers(rows)
        slot = self.waves.signalled[numbers] % SLOTS
        if len(numbers) == len(self.clock) and (slot == slot[0]).all():
            self._met[slot[0], 0], self._met[slot[0], 1] = self.clock, self._finished(slice(None))
            return
        self._met[slot, 0, :, numbers] = self.clock[numbers][:, None]
        self._met[slot, 1, :, numbers] = self._finished(numbers).T

    def meet(self, workgroups: list[int]) -> None:
        """The waves of some workgroups have met and go on."""
        if not self.communicates:
            return
        for workgroup in workgroups:
            rows = np.arange(workgroup * self.each, (workgroup + 1) * self.each)
            rows = rows[~self.waves.ended[rows]]
            self._local[:, rows] = self._local[:, rows].max(axis=1, keepdims=True)
            if not (self.model.back or self.model.one_cache):
                self._local[:, rows] = np.maximum(self._local[:, rows], self._known(rows, issued=False))
            self._meet(rows.tolist())

    def _meet(self, rows: list[int]) -> None:
        """What waves of a workgroup have learned all of them know."""
        states = [self._rows[row] for row in rows]
        if all(state.meant is self._zeros for state in states):
            return
        flags = [one for row, state in zip(rows, states) for one in state.flags if self._arrived(row, one)]
        kept = [one for state in states for one in state.kept]
        learned, meant = _joined([one.learned for one in states]), _joined([one.meant for one in states])
        settled = _joined([one.settled if self.model.waited else one.seen for one in states])
        near, far = _joined([one.near for one in states]), _joined([one.far for one in states])
        for state in states:
            state.learned, state.meant = learned, meant
            state.far = _joined([far, *[one.flag.released for one in flags]])
            state.kept = kept[-KEPT:]
            if self.model.near:
                state.near = _joined([near, settled])
            else:
                state.near, state.seen = near, _joined([state.seen, settled])
                state.settled = _joined([state.settled, settled])

    def signal_cluster(self, rows: Rows, times: Array) -> None:
        """Waves have signalled the barrier of their cluster, each for its workgroup: what it knows of that to be done,
        and what would be if no wait were missing, the others learn there.

        Caches are not looked at: which instructions a cluster needs around its barrier no public text says.
        """
        if not self.communicates:
            return
        issued, done = self._known(rows, issued=True), self._known(rows, issued=False)
        finished = self._finished(rows)
        for at, row in enumerate(self._numbers(rows).tolist()):
            state, base = self._rows[row], (self.first + row) // self.each * self.each
            released, meant = state.learned.copy(), state.meant.copy()
            part = slice(base, base + self.each)
            released[:, part] = np.maximum(released[:, part], done[:, at])
            meant[:, part] = np.maximum(meant[:, part], issued[:, at])
            released[:, self.first + row] = np.maximum(released[:, self.first + row], finished[:, at])
            meant[:, self.first + row] = np.maximum(meant[:, self.first + row], int(self.clock[row]))
            self._signals[row // self.each, int(times[row // self.each])] = released, meant

    def meet_cluster(self, rows: Array, times: Array, size: int) -> None:
        """Waves go on whose clusters have met, each for the `times`-th time."""
        if not self.communicates:
            return
        nothing = self._zeros, self._zeros
        for row, time in zip(rows.tolist(), times.tolist()):
            first, state = row // self.each // size * size, self._rows[row]
            known = [self._signals.get((one, time), nothing) for one in range(first, first + size)]
            released, meant = _joined([one[0] for one in known]), _joined([one[1] for one in known])
            state.learned, state.meant = _joined([state.learned, released]), _joined([state.meant, meant])
            state.seen, state.settled = _joined([state.seen, released]), _joined([state.settled, released])

    # --- caches ---

    def cached(self, rows: Rows, caches: Caches) -> None:
        """Waves invalidate or write back caches."""
        if caches.near and self.model.near:
            self._fresh[:, rows] = self._known(rows, issued=False)
        if not self.communicates:
            return
        if caches.back:
            known = self._known(rows, issued=self.model.one_cache)
            self._staged[:, rows] = np.maximum(self._staged[:, rows], known)
            self._release_own(self._staged, rows, np.broadcast_to(self.clock[rows], (2, len(self.clock[rows]))))
        if caches.far or caches.near:
            for row in self._numbers(rows).tolist():
                self._invalidated(row, caches)

    def _invalidated(self, row: int, caches: Caches) -> None:
        state = self._rows[row]
        if caches.far:
            ready = [one for one in state.flags if self._arrived(row, one)]
            state.flags = [one for one in state.flags if not self._arrived(row, one)]
            state.near = _joined([state.near, state.far, *[one.flag.released for one in ready]])
            state.far = self._zeros
        if caches.near or (caches.far and self.model.levels == 1 and not self.model.near):
            state.seen, state.near = _joined([state.seen, state.near]), self._zeros

    def _arrived(self, row: int, one: _Learned) -> bool:
        return one.clock <= int(self._done[VALUES, row])

    # --- flags ---

    def stored(self, rows: Array) -> None:
        """Waves (one time each) are about to store what may be a flag: what they release is kept."""
        issued = self._known(rows, issued=True)
        for number, row in enumerate(rows.tolist()):
            state = self._rows[row]
            clocks, entries = self._history.setdefault(self.first + row, ([], []))
            local = self._local[:, row]
            if entries:
                learned, before, meant, known = entries[-1]
                same = learned is state.learned and meant is state.meant
                if same and (before == local).all() and (known == issued[:, number]).all():
                    continue
            clocks.append(int(self.clock[row]))
            entries.append((state.learned, local.copy(), state.meant, issued[:, number]))

    def _released(self, place: Place, code: int, label: int) -> Flag:
        """What a wave had released when it changed a place."""
        agent, clock = (code >> CLOCK) - 1, code & _LOW
        clocks, entries = self._history.get(agent, ([], []))
        at = bisect_right(clocks, clock) - 1
        if at < 0:
            return Flag(self._zeros, self._zeros, code, label, place, (code, None, 1))
        learned, local, meant, issued = entries[at]
        base = agent // self.each * self.each
        released, ideal = learned.copy(), meant.copy()
        part = slice(base, base + self.each)
        released[:, part] = np.maximum(released[:, part], local)
        ideal[:, part] = np.maximum(ideal[:, part], issued)
        ideal[:, agent] = np.maximum(ideal[:, agent], clock)
        return Flag(released, ideal, code, label, place, (code, None, 1))

    def flag_at(self, place: Place, code: int, label: int) -> Flag:
        """What goes with the last write of a place."""
        found = self._flags.get(place)
        return found if found is not None and found.code == code else self._released(place, code, label)

    def changed(self, place: Place, before: Flag | None, code: int, label: int) -> Flag | None:
        """A wave has changed a place by an atomic operation: what was released there before stays. None if there are
        too many places."""
        if len(self._flags) >= MOST_FLAGS and place not in self._flags:
            self.full = True
            return None
        own = self._released(place, code, label)
        if before is not None:
            released, meant = _joined([own.released, before.released]), _joined([own.meant, before.meant])
            chain = before.chain if before.chain[2] < 2 * CHAIN else _shortened(before.chain)
            own = Flag(released, meant, code, label, place, (code, chain, chain[2] + 1))
        self._flags[place] = own
        return own

    def learn(self, row: int, flag: Flag, label: int, arrived: bool = False) -> None:
        """A wave has read a flag. arrived: whether no wait is needed that the order follows (of a scalar load the wait
        for its register, which is looked at there)."""
        state = self._rows[row]
        if (flag.meant <= state.meant).all() and (flag.released <= state.learned).all():
            if not any(one.flag.code == flag.code for one in state.flags):
                return
            state.flags = [one for one in state.flags if one.flag.code != flag.code]
        state.learned, state.meant = _joined([state.learned, flag.released]), _joined([state.meant, flag.meant])
        one = _Learned(flag, 0 if arrived else int(self.clock[row]), label)
        state.flags.append(one)
        if len(state.flags) > UNACQUIRED:
            state.flags = [_merged(state.flags[:-KEPT]), *state.flags[-KEPT:]]
        state.kept = [*state.kept[1 - KEPT :], one]

    # --- what is ordered ---

    def apart(self, agents: Array, others: Array) -> Array:
        """How far a scope must reach for two agents."""
        found: Array = np.where(agents // self.cluster == others // self.cluster, CLUSTER, DEVICE)
        found[agents // self.each == others // self.each] = WORKGROUP
        return found

    def apart_of(self, agent: int, other: int) -> int:
        """As `apart`, of two agents."""
        return int(self.apart(np.array([agent]), np.array([other]))[0])

    def within(self, reach: int, code: int, other: int) -> bool:
        """Whether an access of a reach is strong as far as the agent of another one."""
        return reach >= self.apart_of(agent_of(code), agent_of(other))

    def unordered(self, codes: Array, returns: Array, agents: Array, kind: str, places: Array) -> Array:
        """Which accesses of some places do not happen before what some waves do there now."""
        rows, others, clocks = agents - self.first, (codes >> CLOCK) - 1, codes & _LOW
        kinds = self._kind(returns)
        wrong = np.ones(len(codes), np.bool_)
        own = np.flatnonzero(agents // self.each == others // self.each)
        if len(own):
            known = self._sibling(rows[own], others[own], kinds[own], kind == "read")
            wrong[own] = clocks[own] > known
        if not self.communicates or self.full:
            return wrong & ~np.bool_(self.full)
        for row in np.unique(rows[wrong]).tolist():
            mine = np.flatnonzero(wrong & (rows == row))
            state = self._rows[row]
            table = state.seen if kind == "read" else state.learned
            wrong[mine] = clocks[mine] > table[kinds[mine], others[mine]]
            if kind != "read":
                self._read_there(state, codes, places, wrong, mine)
        return wrong

    @staticmethod
    def _read_there(state: _Row, codes: Array, places: Array, wrong: Array, mine: Array) -> None:
        """What a wave has read at a place by a strong access comes before what it stores there: a flag may be reset by
        a plain store (C++, [intro.races]: a read, and what is then written to the same object).

        The waits behind the access that wrote the flag do not matter: its value has come from where both are done.
        """
        flags = [one.flag for one in state.kept]
        for at in mine[wrong[mine]].tolist() if flags else ():
            granule, code = int(places[at]), int(codes[at])
            wrong[at] = not any(one.holds(granule, code) for one in flags)

    def _kind(self, returns: Array) -> Array:
        return np.where(returns, VALUES, WRITES)

    def _sibling(self, rows: Array, others: Array, kinds: Array, reads: bool) -> Array:
        """What waves know of others of their workgroup."""
        if reads and self.model.near:
            found: Array = self._fresh[kinds, rows, others % self.each]
            return found
        waited = self.waves.waited[rows]
        known = self._met[waited % SLOTS, 0 if self.model.one_cache else 1, kinds, others - self.first]
        return np.where(waited > 0, known, 0)

    def missing(self, row: int, code: int, kind: str, returned: bool) -> Missing | None:
        """What is missing between an access and what a wave does now, if anything was there to order them."""
        agent, clock, side = (code >> CLOCK) - 1, clock_of(code), VALUES if returned else WRITES
        if agent // self.each == (self.first + row) // self.each:
            waited = int(self.waves.waited[row])
            met = self._met[waited % SLOTS, :, side, agent - self.first] if waited else (0, 0)
            if clock <= met[0]:
                return Missing("refresh" if clock <= met[1] else "done")
        if not self.communicates or clock > self._rows[row].meant[side, agent]:
            return None
        best = None
        for one in self._rows[row].kept:
            if clock <= one.flag.meant[side, agent]:
                what = "acquire" if clock <= one.flag.released[side, agent] else "release"
                if best is None or what == "acquire":
                    best = Missing(what, one.flag.code, one.flag.label, one.label)
        if best is None:  # the barrier of a cluster, which is no flag
            return Missing("done") if self._signals else None
        if best is not None and best.code == code:  # the flag itself
            return None
        if best is not None and best.what == "acquire" and clock <= self._rows[row].near[side, agent]:
            return Missing("refresh")
        return best


KEPT = 16
"""Flags that a wave remembers having read."""
UNACQUIRED = 4 * KEPT
"""Flags that a wave may have read and not acquired, before older ones are taken together: a loop around a relaxed
compare-and-swap reads them without end."""


CHAIN = 4096
"""Atomic operations on one place that are kept at least: more than the log of accesses has (`access_log`)."""


def _shortened(chain: Chain) -> Chain:
    """The last accesses of a chain."""
    codes: list[int] = []
    rest: Chain | None = chain
    while len(codes) < CHAIN and rest is not None:
        codes.append(rest[0])
        rest = rest[1]
    made: Chain = (codes[-1], None, 1)
    for code in codes[-2::-1]:
        made = code, made, made[2] + 1
    return made


def _merged(flags: list[_Learned]) -> _Learned:
    """Several flags as one, which has arrived when all have."""
    last = flags[-1].flag
    released, meant = _joined([one.flag.released for one in flags]), _joined([one.flag.meant for one in flags])
    return _Learned(last._replace(released=released, meant=meant), max(one.clock for one in flags), flags[-1].label)


def _joined(rows: list[Array]) -> Array:
    """The later of the clocks, element by element."""
    found = rows[0]
    for row in rows[1:]:
        if row is not found and (row > found).any():
            found = row if (row >= found).all() else np.maximum(found, row)
    return found
