"""What threads of different teams know of each other: fences, releases and acquires with their scopes.

Within a team (a CTA or cluster) `order` knows what precedes what. Between teams only this orders (PTX ISA 8.7 to 8.10):
a *release pattern* (a release operation, or a fence and then a strong write) that a strong read observes in an *acquire
pattern* (an acquire operation, or a strong read and then a fence). What a release makes known is a `Snapshot`, clocks
of the agents of some teams; it stays with the flag that is written, as far as the scope of the pattern reaches. Who
acquires it has *learned* it at a clock of its own: all that know this clock know the snapshot.
"""

from __future__ import annotations

import numpy as np

from ...base.records import TupleRecord
from .shared_flags import forget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .global_order import GlobalOrder
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = [
    "AGENT", "AGENTS", "CLOCK", "CLUSTER", "CTA", "GPU", "MOST_CLOCK", "NO_STEP", "SCOPES", "Access", "Knowledge",
    "Learned", "Snapshot", "access_of",
]  # fmt: skip

STRONG = frozenset(["volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"])
SCOPES = {"cta": 1, "cluster": 2, "gpu": 3, "sys": 3}
"""How far a scope reaches: an own CTA, an own cluster, everybody (one GPU is emulated)."""
CTA, CLUSTER, GPU = 1, 2, 3
AGENT, CLOCK = 36, 16
"""First bits of the agent (plus one) and of its clock in an access; below is the statement."""
MOST_CLOCK, NO_STEP = (1 << AGENT - CLOCK) - 1, (1 << CLOCK) - 1
AGENTS = 1024
"""Agents of a team beside its threads (mbarriers), as far as they are told apart here."""
MOST_EVENTS = 8
"""What a team has learned, before that which is known otherwise is dropped."""
FEW = 256
"""Threads of one fence whose knowledge is copied."""


class Access(TupleRecord):
    """What an opcode is to the memory model. scope: 0 of a weak access. swaps: compare-and-swap."""

    scope: int
    acquires: bool
    releases: bool
    swaps: bool


def access_of(root: str, words: tuple[str, ...]) -> Access:
    """The access that an opcode makes (PTX ISA 8.2, 8.4): .volatile is relaxed with .sys scope, an atomic operation
    without .sem is relaxed, and without a scope it has .gpu.

    >>> access_of("ld", ("acquire", "cta", "global", "u32")), access_of("red", ("global", "add", "u32")).scope
    (Access(scope=1, acquires=True, releases=False, swaps=False), 3)
    """
    atomic = root in ("atom", "red")
    strong = atomic or not STRONG.isdisjoint(words)
    scope = next((SCOPES[word] for word in words if word in SCOPES), GPU) if strong else 0
    acquires = "acquire" in words or "acq_rel" in words
    releases = "release" in words or "acq_rel" in words
    return Access(scope, acquires and root != "red", releases, atomic and "cas" in words)


class Snapshot:
    """What a release makes known: by team the clocks of its agents."""

    __slots__ = ("_table", "_teams", "rows")
    rows: dict[int, Array]

    def __init__(self, rows: dict[int, Array]) -> None:
        self.rows = rows
        self._teams: Array | None = None
        self._table: Array | None = None

    def joined(self, other: Snapshot | None) -> Snapshot:
        """What both make known."""
        if other is None or other is self:
            return self
        rows = dict(self.rows)
        for team, row in other.rows.items():
            mine = rows.get(team)
            rows[team] = row if mine is None or mine is row else np.maximum(mine, row)
        return Snapshot(rows)

    def knows(self, team: Array, agent: Array, clock: Array) -> Array:
        """Whether what agents did at clocks is known."""
        if self._teams is None or self._table is None:
            self._teams = np.array(sorted(self.rows))
            self._table = np.stack([self.rows[int(team)] for team in self._teams])
        at = np.minimum(np.searchsorted(self._teams, team), len(self._teams) - 1)
        found: Array = (self._teams[at] == team) & (self._table[at, agent] >= clock)
        return found

    def includes(self, other: Snapshot) -> bool:
        """Whether all of another is known."""
        for team, row in other.rows.items():
            mine = self.rows.get(team)
            if mine is None or (mine is not row and (mine < row).any()):
                return False
        return True


class Learned:
    """A snapshot that a thread of a team read of in the epoch of a clock. fenced: None if it acquired it at once; else
    by thread of the team the clock at which it fenced and knew of the read, 0 if it has not yet."""

    __slots__ = ("clock", "fenced", "member", "reach", "snapshot")
    member: int
    clock: int
    reach: int
    snapshot: Snapshot
    fenced: Array | None

    def __init__(self, member: int, clock: int, reach: int, snapshot: Snapshot, fenced: Array | None) -> None:
        self.member, self.clock, self.reach, self.snapshot, self.fenced = member, clock, reach, snapshot, fenced


class Flag:
    """What writes of a location have released, by how far it reaches, and who has read the last strong write."""

    __slots__ = ("cta", "everywhere", "observers", "team")

    def __init__(self) -> None:
        self.cta: dict[int, Snapshot] = {}
        self.team: dict[int, Snapshot] = {}
        self.everywhere: Snapshot | None = None
        self.observers: dict[tuple[int, int], int] = {}  # (team, member): clock

    def seen(self, cta: int, team: int, scope: int) -> list[tuple[int, Snapshot]]:
        """What a thread comes to know whose acquire pattern has a scope, and how far each reaches."""
        found = ((CTA, self.cta.get(cta)), (CLUSTER, self.team.get(team)), (GPU, self.everywhere))
        return [(reach, one) for reach, one in found if one is not None and reach <= scope]


class Knowledge:
    """What the threads of the resident teams have released and learned beyond their team, while these run."""

    machine: Machine
    shared: GlobalOrder
    first_team: int
    any_fence: bool

    def __init__(self, machine: Machine, shared: GlobalOrder) -> None:
        self.machine, self.shared = machine, shared
        order = machine.order
        self.first_team = machine.first // machine.launch.cluster_size
        team = machine.team_of.astype(np.int64) + self.first_team
        self.agent: Array = (team * shared.stride + machine.member_of + 1) << AGENT
        self._clocks: tuple[int, Array] = (-1, np.zeros(0, np.int64))
        teams = len(order.meetings)
        self.fenced: Array = np.zeros(
            (GPU + 1, teams, order.threads), np.int32
        )  # by scope: the clock of the last fence
        self.any_fence = False
        self.rows: dict[int, tuple[int, Array]] = {}  # by thread: scope of its last fence, and what it knew then
        self._common: tuple[int, dict[int, Array]] = (-1, {})
        self.learned: list[list[Learned]] = [[] for _ in range(teams)]
        forget(shared.flags)

    # --- clocks ---

    def clocks(self) -> Array:
        """The clocks of all threads, as they stand in an access."""
        order = self.machine.order
        if self._clocks[0] != order.version:
            own = order.clock[:, : order.threads].reshape(-1)[: self.machine.count].astype(np.int64)
            self._clocks = order.version, np.minimum(own, MOST_CLOCK) << CLOCK
        return self._clocks[1]

    def accesses(self, use: Any, step: Step) -> Array:
        """Accesses of threads by a statement, each in one number."""
        found: Array = self.agent[use] | self.clocks()[use] | min(step.index, NO_STEP)
        return found

    @staticmethod
    def decoded(access: int) -> tuple[int, int]:
        """The number of an agent in the grid, and its clock."""
        return (access >> AGENT) - 1, access >> CLOCK & MOST_CLOCK

    @staticmethod
    def coded(number: int, clock: int) -> int:
        """An access of an agent at a clock."""
        return number + 1 << AGENT | min(clock, MOST_CLOCK) << CLOCK | NO_STEP

    def ordered(self, team: Array, member: Array, access: Array) -> Array:
        """Whether accesses happen before what threads (team, member) do now."""
        order, stride = self.machine.order, self.shared.stride
        number = (access >> AGENT) - 1
        other, agent = number // stride - self.first_team, number % stride
        clock = access >> CLOCK & MOST_CLOCK
        fine = np.zeros(len(access), bool)
        own = other == team
        if own.any():
            within = own & (agent < order.agents)
            fine[within] = order.ordered(team[within], member[within], agent[within], clock[within])
            fine |= own & ~within & (agent < stride - 1)  # that last one is of copies in flight
        rest = np.flatnonzero(~own)
        for one in np.unique(team[rest]).tolist():
            left = rest[team[rest] == one]
            for event in reversed(self.learned[one]):
                if not len(left):
                    break
                known = self._acquired(event, team[left], member[left])
                known &= event.snapshot.knows(other[left] + self.first_team, agent[left], clock[left])
                fine[left[known]] = True
                left = left[~known]
        return fine

    def _acquired(self, event: Learned, team: Array, member: Array) -> Array:
        """Whether threads (of one team) have come to know what a thread of it read of."""
        order = self.machine.order
        if event.fenced is None:
            same = np.full(len(team), event.member)
            known: Array = order.ordered(team, member, same, np.full(len(team), event.clock))
            return known
        found: Array = event.fenced[member] > 0
        others = np.flatnonzero(event.fenced)
        for at in np.flatnonzero(~found).tolist():
            wide = np.full(len(others), member[at])
            found[at] = order.ordered(np.full(len(others), team[at]), wide, others, event.fenced[others]).any()
        return found

    # --- release ---

    def _known(self, team: int, member: int) -> Array:
        """The clocks that a thread knows, its own with them, as long as a row of a snapshot."""
        order = self.machine.order
        row = np.zeros(self.shared.stride, np.int32)
        count = min(order.agents, self.shared.stride)
        row[:count] = order.common[team, :count]
        if order.known is not None:
            np.maximum(row[:count], order.known[team, member, :count], out=row[:count])
        row[member] = order.clock[team, member]
        return row

    def _at_fence(self, team: int, member: int) -> Array:
        """What a thread knows now; threads of a team that know the same share it."""
        order = self.machine.order
        if order.known is not None:
            return self._known(team, member)
        if self._common[0] != order.version:
            self._common = order.version, {}
        row = self._common[1].get(team)
        if row is None:
            row = np.zeros(self.shared.stride, np.int32)
            count = min(order.agents, self.shared.stride)
            row[:count] = order.common[team, :count]
            self._common[1][team] = row
        return row

    def _made(self, thread: int, scope: int, all_of_it: bool) -> Snapshot | None:
        """What a strong write of a thread makes known: all that it knows (a release), or what was fenced."""
        machine = self.machine
        team, member = int(machine.team_of[thread]), int(machine.member_of[thread])
        known = self._known(team, member)
        if not all_of_it:
            fenced = self.fenced[scope, team]
            at_fence = self.rows.get(thread)
            if not fenced[member]:
                return None
            count = len(fenced)
            known[:count] = np.minimum(known[:count], fenced)
            known[member] = fenced[member]
            if at_fence is not None and at_fence[0] >= scope:
                np.maximum(known, at_fence[1], out=known)
        made = Snapshot({team + self.first_team: known})
        for event in self.learned[team]:
            clocks = event.fenced
            if (
                event.clock <= known[event.member]
                if clocks is None
                else (((clocks > 0) & (clocks <= known[: len(clocks)])).any())
            ):
                made = event.snapshot.joined(made)
        return made

    def fence(self, threads: Threads, scope: int, acquires: bool = True, releases: bool = True) -> None:
        """A fence of threads: what they did so far is released by their next strong writes, and what their strong
        reads have seen is acquired."""
        order, team, member = self.machine.order, threads.team, threads.member
        if acquires and any(self.learned):
            for one in np.unique(team).tolist():
                mine = member[team == one]
                for event in self.learned[one]:
                    if event.fenced is not None and event.reach <= scope:
                        self._fenced(event, one, mine)
        if not releases or not self.shared.communicates:
            return
        self.any_fence = True
        if len(threads) <= FEW:
            for thread, one, own in zip(threads.number.tolist(), team.tolist(), member.tolist()):
                self.rows[thread] = scope, self._at_fence(one, own)
        clock = order.tick(team, member)
        for reach in range(CTA, scope + 1):
            self.fenced[reach, team, member] = clock

    def _fenced(self, event: Learned, team: int, members: Array) -> None:
        """Threads of a team fence after a relaxed read by one of them."""
        order, fenced = self.machine.order, event.fenced
        assert fenced is not None
        fresh = members[fenced[members] == 0]
        teams, same = np.full(len(fresh), team), np.full(len(fresh), event.member)
        fresh = fresh[order.ordered(teams, fresh, same, np.full(len(fresh), event.clock))]
        fenced[fresh] = order.clock[team, fresh]
        row = event.snapshot.rows.get(team + self.first_team)
        if row is not None:
            for member in fresh.tolist():
                self._learn_own(team, member, row)

    def fenced_row(self, threads: Threads) -> Array | None:
        """What threads of one team have fenced for their cluster, which their relaxed arrivals make known; None
        without a fence. Clocks of the team's agents."""
        if not self.any_fence:
            return None
        made = [self._made(thread, CLUSTER, False) for thread in threads.number.tolist()]
        rows = [one.rows[int(threads.team[0]) + self.first_team] for one in made if one is not None]
        return np.max(rows, axis=0)[: self.machine.order.agents] if rows else None

    def released(self, threads: Threads, offsets: Array, access: Access, replaces: bool) -> None:
        """Strong writes at locations: what they make known stays there. replaces: a store; an atomic operation adds to
        what is there."""
        if not self.shared.communicates or not (access.releases or self.any_fence or replaces):
            return
        for thread, place in zip(threads.number.tolist(), offsets.tolist()):
            self.leave(thread, place, access, self.makes_known(thread, access), replaces)
        if access.releases:
            self.machine.order.tick(threads.team, threads.member)

    def makes_known(self, thread: int, access: Access) -> tuple[Snapshot | None, Snapshot | None]:
        """What a strong write of a thread makes known: as far as its scope reaches, and in its CTA."""
        far = self._made(thread, access.scope, access.releases)
        return far, far or self._made(thread, CTA, access.releases)

    def leave(
        self, thread: int, place: int, access: Access, made: tuple[Snapshot | None, Snapshot | None], replaces: bool
    ) -> None:
        """What a strong write of a thread makes known stays at a location."""
        flags, machine, (far, near) = self.shared.flags, self.machine, made
        old = flags.get(place)
        if old is not None and not replaces:
            old.observers.clear()
        if near is None and (old is None or not replaces):
            return
        flag = flags[place] = Flag() if old is None or replaces else old
        team = int(machine.team_of[thread]) + self.first_team
        cta = machine.first + int(machine.cta_of[thread])
        if near is not None:
            flag.cta[cta] = near.joined(flag.cta.get(cta))
        if far is not None and access.scope >= CLUSTER:
            flag.team[team] = far.joined(flag.team.get(team))
        if far is not None and access.scope >= GPU:
            flag.everywhere = far.joined(flag.everywhere)

    # --- acquire ---

    def acquired(self, threads: Threads, offsets: Array, access: Access) -> None:
        """Strong reads of locations."""
        flags, machine = self.shared.flags, self.machine
        if not flags:
            return
        for thread, place in zip(threads.number.tolist(), offsets.tolist()):
            flag = flags.get(place)
            if flag is None:
                continue
            team, member = int(machine.team_of[thread]), int(machine.member_of[thread])
            seen = flag.seen(machine.first + int(machine.cta_of[thread]), team + self.first_team, access.scope)
            for reach, snapshot in seen:
                self._learn(team, member, reach, snapshot, access.acquires)
            flag.observers.setdefault((team + self.first_team, member), int(machine.order.clock[team, member]))

    def observed(self, thread: int, place: int) -> bool:
        """Whether a thread's knowledge includes a strong read of the last write of a location."""
        flag = self.shared.flags.get(place)
        team, member = int(self.machine.team_of[thread]), self.machine.member_of[thread : thread + 1]
        return flag is not None and any(
            at == team + self.first_team
            and self.machine.order.ordered(np.array([team]), member, np.array([who]), np.array([clock])).all()
            for (at, who), clock in flag.observers.items()
        )

    def _learn(self, team: int, member: int, reach: int, snapshot: Snapshot, at_once: bool) -> None:
        """A thread has read of a snapshot, and acquires it at once or by a fence that comes later."""
        order, own = self.machine.order, team + self.first_team
        row = snapshot.rows.get(own)
        if row is not None and at_once:
            self._learn_own(team, member, row)
        if snapshot.rows.keys() == {own} and at_once:
            return
        events, clock = self.learned[team], int(order.clock[team, member])
        for place, event in enumerate(events):
            if event.member != member or (event.fenced is None) != at_once:
                continue
            if event.snapshot is snapshot:
                return
            open_ = event.fenced is None or not event.fenced.any()
            if (event.clock, event.reach, open_) == (clock, reach, True) and snapshot.includes(event.snapshot):
                del events[place]
                break
        fenced = None if at_once else np.zeros(order.threads, np.int32)
        events.append(Learned(member, clock, reach, snapshot, fenced))
        if len(events) > MOST_EVENTS:
            self.learned[team] = self._kept(team, events)

    def _learn_own(self, team: int, member: int, row: Array) -> None:
        """A thread comes to know clocks of its own team."""
        order = self.machine.order
        count = min(len(row), order.agents)
        if (row[:count] > self._known(team, member)[:count]).any():
            clocks = np.zeros(order.agents, np.int32)
            clocks[:count] = row[:count]
            order.acquire(team, np.array([member]), clocks)

    def _kept(self, team: int, events: list[Learned]) -> list[Learned]:
        """The events without those that say no more than one which the whole team knows."""
        common = self.machine.order.common[team]

        def known(event: Learned) -> bool:
            if event.fenced is None:
                return bool(common[event.member] >= event.clock)
            clocks = event.fenced
            return bool(((clocks > 0) & (clocks <= common[: len(clocks)])).any())

        best = next((one for one in reversed(events) if known(one)), None)
        if best is None:
            return events
        return [one for one in events if one is best or not best.snapshot.includes(one.snapshot)]
