"""Happens-before among the threads of a launch, by vector clocks, and the accesses of shared memory that it must
order.

A *team* is what shares memory: a cluster, or a CTA that is in none. Every thread of a team has a clock, which
advances whenever the thread releases (arrives at a barrier, at an mbarrier, fences), and knows a clock of every
other agent of its team: what that agent did up to there happens before what the thread does now. An asynchronous
copy that completes by an mbarrier is an agent of its own: only a thread knows of it that has waited for that mbarrier's
phase (PTX ISA 8.9.1.1, "asynchronous operations"; 9.7.13.15, mbarrier).

As long as all threads of the teams have only met at barriers of the whole team, or waited all for the same phase, they
know the same clocks, and one row for each team holds them (`common`); the rows of single threads (`known`) are made
when one is needed, and dropped when all teams meet.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from .unread import SharedUnread

    Array = NDArray[Any]

__all__ = ["ENDED", "FRESH", "GENERIC", "Order", "Shadow", "across", "span"]


ENDED = 1 << 40
"""The meetings of a team whose threads have all ended."""
GENERIC, FRESH = 1, 2
"""How a place was written last, as in threads.c: by the generic proxy; and nothing has read it since."""


def span(numbers: Array) -> Any:
    """An index of ascending numbers: a slice where they follow each other, which takes NumPy less time."""
    first, last = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (0, -1)
    return slice(first, last + 1) if last - first == len(numbers) - 1 else numbers


def across(rows: Array, part: Any) -> tuple[Any, Any]:
    """The index of a part, by `span`, of some rows: (row, place)."""
    return (rows, part) if isinstance(part, slice) else (rows[:, None], part)


class Order:
    """The clocks of teams of equal size.

    teams: how many; threads: of a team; agents: how many other agents (mbarriers) a team may have besides.
    """

    threads: int
    agents: int
    version: int

    def __init__(self, teams: int, threads: int, agents: int = 64) -> None:
        self.threads, self.agents = threads, threads + agents
        self.clock: Array = np.ones((teams, self.agents), np.int32)
        self.version = 0  # changes whenever a clock does
        self.common: Array = np.zeros((teams, self.agents), np.int32)
        self.known: Array | None = None
        self._dropped: Array | None = None  # the memory of rows that were dropped, to be used again
        self.meetings: Array = np.zeros(teams, np.int64)  # how often all threads of a team have met
        self.heard: Array = np.zeros((teams, threads), np.int32)  # how often each came to know of others

    def grow(self, more: int) -> None:
        """Room for more agents."""

        def wider(array: Array, value: int) -> Array:
            return np.concatenate([array, np.full((*array.shape[:-1], more), value, array.dtype)], -1)

        self.clock, self.common = wider(self.clock, 1), wider(self.common, 0)
        if self.known is not None:
            self.known = wider(self.known, 0)
        self.agents += more

    def knows(self, team: Array, observer: Array, agent: Array) -> Array:
        """Up to which clock what `agent` did happens before what `observer` does now. Arrays of one shape."""
        found: Array = self.common[team, agent]
        if self.known is not None:
            found = np.maximum(found, self.known[team, observer, agent])
        return np.where(agent == observer, self.clock[team, agent], found)

    def ordered(self, team: Array, observer: Array, agent: Array, clock: Array) -> Array:
        """Whether what `agent` did at `clock` happens before what `observer` does now. Arrays of one shape."""
        fine: Array = (agent == observer) | (clock <= self.common[team, agent])
        if self.known is not None and not fine.all():
            fine |= clock <= self.known[team, observer, agent]
        return fine

    def rows(self) -> Array:
        """The clocks that every thread knows: (team, thread, agent)."""
        if self.known is None:
            shape = (len(self.common), self.threads, self.agents)
            if self._dropped is None or self._dropped.shape != shape:
                self._dropped = np.empty(shape, np.int32)
            self._dropped[:] = self.common[:, None]
            self.known = self._dropped
        return self.known

    def meet(self, teams: Array) -> None:
        """All threads of some teams meet at a barrier."""
        self.meetings[teams] += 1
        self.heard[teams] += 1
        every = len(teams) == len(self.clock)
        own = self.clock[teams, : self.threads]
        if self.known is None:
            self.common[teams, : self.threads] = own
        else:
            rows = (self.known if every else self.known[teams]).max(axis=1)
            rows[:, : self.threads] = np.maximum(rows[:, : self.threads], own)
            self.common[teams] = np.maximum(self.common[teams], rows)
            if every:  # no thread knows more than its team
                self.known, self._dropped = None, self.known
            else:
                self.known[teams] = self.common[teams][:, None]
        self.version += 1
        self.clock[teams, : self.threads] += 1

    def join(self, team: Array, members: Array, made: Array | None = None) -> None:
        """Groups of threads meet: team (group,), members (group, member), all of a group in one team. made: clocks
        that others made known to them before."""
        rows = self.rows()
        joined = self._released(team, members)
        if made is not None:
            joined = np.maximum(joined, made)
        rows[team[:, None], members] = np.maximum(rows[team[:, None], members], joined[:, None])
        self.heard[team[:, None], members] += 1
        self.version += 1
        self.clock[team[:, None], members] += 1

    def _released(self, team: Array, members: Array) -> Array:
        """What groups of threads know together, their own last steps with it: (group, agent)."""
        joined: Array = self.common[team] if self.known is None else self.known[team[:, None], members].max(axis=1)
        group = np.arange(len(team))[:, None]
        joined[group, members] = np.maximum(joined[group, members], self.clock[team[:, None], members])
        return joined

    def release(self, team: int, threads: Array) -> Array:
        """What some threads of a team make known; their clocks advance."""
        made: Array = self._released(np.array([team]), threads[None])[0]
        self.version += 1
        self.clock[team, threads] += 1
        return made

    def acquire(self, team: int, threads: Array, clocks: Array) -> None:
        """Some threads of a team come to know clocks."""
        self.heard[team, threads] += 1
        every = len(threads) == self.threads
        if every:
            self.version += 1
            np.maximum(self.common[team], clocks, out=self.common[team])
            if self.known is None:
                return
        rows, part = self.rows()[team], span(threads)
        if isinstance(part, slice) and (every or (np.diff(threads) == 1).all()):  # without a copy of them
            np.maximum(rows[part], clocks, out=rows[part])
        else:
            rows[threads] = np.maximum(rows[threads], clocks)

    def release_alike(self, teams: Array, members: Array) -> Array:
        """As `release`, of one thread of each of some teams: (team, agent)."""
        made = self._released(teams, members[:, None])
        self.version += 1
        self.clock[teams, members] += 1
        return made

    def acquire_alike(self, teams: Array, threads: Array, clocks: Array) -> None:
        """As `acquire`, of the same threads of some teams: clocks (team, agent)."""
        part = span(threads)
        self.heard[across(teams, part)] += 1
        every = len(threads) == self.threads
        if every:
            self.version += 1
            self.common[teams] = np.maximum(self.common[teams], clocks)
            if self.known is None:
                return
        rows = self.rows()
        if len(teams) == len(rows) and isinstance(part, slice):  # without a copy of them
            np.maximum(rows[:, part], clocks[:, None], out=rows[:, part])
        else:
            index = across(teams, part)
            rows[index] = np.maximum(rows[index], clocks[:, None])

    def tick(self, team: Array, threads: Array) -> Array:
        """The clocks of threads before they advance by one."""
        before: Array = self.clock[team, threads].copy()
        self.version += 1
        self.clock[team, threads] = before + 1
        return before


class Shadow:
    """What the threads of all teams did to each place of a memory: the last write, and the reads since then.

    A place is `granule` bytes. Of reads that are not ordered among themselves all but one go into a log, which is
    searched when a place is written that more than one thread has read. As long as all threads only meet at barriers of
    the whole team, every read goes into the log as it is, and the log is forgotten when all teams have met.
    """

    def __init__(self, places: int, order: Order) -> None:
        self.order = order
        self.writer: Array = np.full(places, -1, np.int32)
        self.write_clock: Array = np.zeros(places, np.int32)
        self.write_step: Array = np.full(places, -1, np.int32)
        self.how: Array = np.zeros(places, np.uint8)  # of the last write: GENERIC, FRESH
        self.unread: SharedUnread | None = None
        self.reader: Array = np.full(places, -1, np.int32)
        self.read_clock: Array = np.zeros(places, np.int32)
        self.read_step: Array = np.full(places, -1, np.int32)
        self.shared: Array = np.zeros(places, bool)
        self.atomic: Array = np.zeros(places, bool)
        self.log: list[_Reads] = []
        self.raw: list[_Raw] = []
        self.limit: int = 512  # of raw reads
        self.most_logged: int = 512
        self.wrote: Array = np.full(len(order.meetings), -1, np.int64)  # the last write of each team, by its meetings
        self.apart: bool = False  # whether agents that are no threads have written

    def by_generic(self, at: Array) -> Array:
        """Whether the last writes of places were by the generic proxy."""
        found: Array = (self.how[at] & GENERIC) > 0
        return found

    def settled(self) -> bool:
        """Whether every write is known to all threads of its team, because they have met since."""
        return not self.apart and self.order.known is None and bool((self.wrote < self.order.meetings).all())

    def quiet(self) -> bool:
        """Whether no access at all can collide with what is known of."""
        return not self.log and self.settled() and not self.unmet()

    def unmet(self) -> bool:
        """Forget raw reads since which all teams have met; whether some are left."""
        if self.raw:
            low = int(self.order.meetings.min())
            self.raw = [entry for entry in self.raw if entry.meeting >= low]
        return bool(self.raw)

    def read_raw(self, first: Array, width: int, team: Array, thread: Array, step: int) -> None:
        """Note reads of `width` places from each of `first` on, while all writes are settled."""
        if len(self.raw) > self.limit:
            self.unmet()
            self.limit = 512 + 2 * len(self.raw)
        meetings = self.order.meetings
        meeting = int(meetings.max(where=meetings < ENDED, initial=0))
        self.raw.append(_Raw(first, width, team, thread, self.order.clock[team, thread], step, meeting))

    def _logged_raw(self, at: Array, team: Array, thread: Array) -> tuple[int, int, bool] | None:
        if not self.unmet():
            return None
        mine = np.full(len(self.writer), -1, np.int32)
        mine[at] = np.arange(len(at), dtype=np.int32)
        for entry in self.raw:
            for lane in range(entry.width):
                index = mine[entry.first + lane]
                hit = index >= 0
                if not hit.any():
                    continue
                observer = thread[np.maximum(index, 0)]
                wrong = hit & (entry.thread != observer)
                wrong &= ~self.order.ordered(entry.team, observer, entry.thread, entry.clock)
                if wrong.any():
                    return int(index[np.flatnonzero(wrong)[0]]), entry.step, False
        return None

    def read(self, at: Array, team: Array, thread: Array, step: int) -> tuple[int, int] | None:
        """Note reads of places (one dimension each). Returns (which of them, the step of the write) for the first that
        is not ordered after the last write, else None."""
        found = self.unordered_write(at, team, thread)
        self._note(at, team, thread, step)
        return found

    def unordered_write(self, at: Array, team: Array, thread: Array) -> tuple[int, int] | None:
        """As `read`, without noting it."""
        writer, clock = self.writer[at], self.write_clock[at]
        apart = (writer >= 0) & (writer != thread)
        if apart.any():
            wrong = apart & ~self.order.ordered(team, thread, np.maximum(writer, 0), clock)
            if wrong.any():
                place = int(np.flatnonzero(wrong)[0])
                return place, int(self.write_step[at[place]])
        return None

    def _note(self, at: Array, team: Array, thread: Array, step: int) -> None:
        own = self.order.clock[team, thread]
        reader, clock = self.reader[at], self.read_clock[at]
        apart = (reader >= 0) & (reader != thread)
        if apart.any():
            apart &= ~self.order.ordered(team, thread, np.maximum(reader, 0), clock)
        # Lanes of one instruction that read one place collide as well: all but the last go into the log.
        self.reader[at], self.read_clock[at], self.read_step[at] = thread, own, step
        apart |= self.reader[at] != thread
        if apart.any():
            self.shared[at[apart]] = True
            self.log.append(_Reads(at[apart], team[apart], reader[apart], clock[apart], step))
            self.log.append(_Reads(at[apart], team[apart], thread[apart].astype(np.int32), own[apart], step))
            if len(self.log) > self.most_logged:
                self.prune()
                self.most_logged = 512 + 2 * len(self.log)

    def note_completed(self, at: Array, team: int, threads: Array, clocks: Array, step: int) -> None:
        """Note reads of an asynchronous operation, whose end several threads know: one of them is enough."""
        self.shared[at] = True
        self.log_completed(at, 0, team, threads, clocks, step)

    def log_completed(self, at: Array, start: int, team: int, threads: Array, clocks: Array, step: int) -> None:
        """As `note_completed`, of places from a start on that are marked already."""
        one = np.array([team]), threads[:1].astype(np.int32), clocks[:1]
        self.log.append(_Reads(at, *one, step, (threads, clocks), start))

    def prune(self) -> None:
        """Forget reads that every thread of their team knows of."""
        kept, common = [], self.order.common
        if self.order.known is not None:
            common = np.maximum(common, self.order.known.min(axis=1))
        for entry in self.log:
            if entry.known is not None:
                if not entry.everywhere(self.order):
                    kept.append(entry)
                continue
            known = common[entry.team, np.maximum(entry.thread, 0)]
            late = (entry.clock > known) & (entry.thread >= 0)
            if late.any():
                kept.append(entry if late.all() else entry.where(late))
        self.log = kept

    def write(
        self, at: Array, team: Array, thread: Array, step: int, generic: bool = True, clock: Array | None = None,
        same: Callable[[], Array] | None = None,
    ) -> tuple[int, int, bool] | None:  # fmt: skip
        """Note writes of places. Returns (which of them, the other step, whether that wrote) for the first that is not
        ordered after what was done there before, else None. same: which of the places keep what another wrote."""
        # What an agent that is no thread writes has been compared when its operation was issued.
        found = None if clock is not None or self.quiet() else self.conflict(at, team, thread, same)
        if clock is None:
            self.wrote[team] = self.order.meetings[team]
        else:
            self.apart = True
        if self.unread is not None:
            self.unread.replaced(self, at)
        self.writer[at], self.write_step[at] = thread, step
        self.how[at] = FRESH | GENERIC if generic else FRESH
        self.write_clock[at] = self.order.clock[team, thread] if clock is None else clock
        self.reader[at], self.shared[at], self.atomic[at] = -1, False, False
        return found

    def conflict(
        self, at: Array, team: Array, thread: Array, same: Callable[[], Array] | None = None
    ) -> tuple[int, int, bool] | None:
        """As `write`, without noting it."""
        for who, clocks, steps, wrote in (
            (self.writer, self.write_clock, self.write_step, True),
            (self.reader, self.read_clock, self.read_step, False),
        ):
            other = who[at]
            apart = (other >= 0) & (other != thread)
            if apart.any():
                wrong = apart & ~self.order.ordered(team, thread, np.maximum(other, 0), clocks[at])
                if wrote and same is not None and wrong.any():
                    wrong &= ~same()
                if wrong.any():
                    place = int(np.flatnonzero(wrong)[0])
                    return place, int(steps[at[place]]), wrote
        found = self._logged(at, team, thread) if self.shared[at].any() else None
        return found or self._logged_raw(at, team, thread)

    def _logged(self, at: Array, team: Array, thread: Array) -> tuple[int, int, bool] | None:
        self.prune()
        if not self.log:
            return None
        mine = np.full(len(self.writer), -1, np.int64)
        mine[at] = np.arange(len(at))
        for entry in self.log:
            places = entry.at + entry.start if entry.start else entry.at
            index = mine[places]
            hit = (index >= 0) & (entry.thread >= 0) & self.shared[places]
            if not hit.any():
                continue
            observer = thread[np.maximum(index, 0)]
            if entry.known is not None:
                if not entry.seen(self.order, np.unique(observer[hit])):
                    return int(index[np.flatnonzero(hit)[0]]), entry.step, False
                continue
            wrong = hit & (entry.thread != observer)
            wrong &= ~self.order.ordered(entry.team, observer, np.maximum(entry.thread, 0), entry.clock)
            if wrong.any():
                return int(index[np.flatnonzero(wrong)[0]]), entry.step, False
        return None


class _Raw:
    """Reads of one instruction as they were made: `width` places from each of `first` on. meeting: how often the team
    that had met most had met."""

    __slots__ = ("clock", "first", "meeting", "step", "team", "thread", "width")

    def __init__(
        self, first: Array, width: int, team: Array, thread: Array, clock: Array, step: int, meeting: int
    ) -> None:
        self.first, self.width, self.team, self.thread = first, width, team, thread
        self.clock, self.step, self.meeting = clock, step, meeting


class _Reads:
    """Reads of one instruction: places, teams, threads and their clocks. known: of an asynchronous operation, which has
    one team, thread and clock, the threads that know its end, with their clocks; who knows what one of them did then
    knows it, too. start: what is added to the places. late: one who did not know when all were asked last: few learn of
    the end between two writes, so it is asked first."""

    __slots__ = ("at", "clock", "known", "late", "start", "step", "team", "thread")

    def __init__(
        self, at: Array, team: Array, thread: Array, clock: Array, step: int,
        known: tuple[Array, Array] | None = None, start: int = 0,
    ) -> None:  # fmt: skip
        self.at, self.team, self.thread, self.clock, self.step, self.known = at, team, thread, clock, step, known
        self.start = start
        self.late: int | None = None

    def seen(self, order: Order, observers: Array) -> bool:
        """Whether all observers know the end."""
        assert self.known is not None
        threads, clocks = self.known
        team = self.team[0]
        if (order.common[team, threads] >= clocks).any():
            return True
        if order.known is None:
            return bool(np.isin(observers, threads).all())
        rows = order.known[team]
        if self.late is not None and self.late in observers and not (rows[self.late, threads] >= clocks).any():
            return False
        observers = observers[~np.isin(observers, threads)]
        late = ~(rows[np.ix_(observers, threads)] >= clocks).any(axis=1)
        self.late = int(observers[late.argmax()]) if late.any() else None
        return self.late is None

    def everywhere(self, order: Order) -> bool:
        """Whether every thread of the team knows it."""
        return self.seen(order, np.arange(order.threads))

    def where(self, mask: Array) -> _Reads:
        return _Reads(self.at[mask], self.team[mask], self.thread[mask], self.clock[mask], self.step)
