"""Races in global memory: which accesses of a grid happens-before orders, by fences, releases and acquires with scopes.

Within a team (a CTA or cluster) `order` knows what precedes what. Between teams only this orders (PTX ISA 8.7 to 8.10):
a *release pattern* (a release operation, or a fence and then a strong write) that a strong read observes in an *acquire
pattern* (an acquire operation, or a strong read and then a fence). What a release makes known is a `Snapshot`, clocks
of the agents of some teams; it stays with the flag that is written, as far as the scope of the pattern reaches. Who
acquires it has *learned* it at a clock of its own: all that know this clock know the snapshot.

Of each granule the last write and the last read are kept, with agent, clock and statement in one number. As long as
nothing is stored to an array, reads of it are only listed: most arrays are read or written, not both.

Not a race: two strong operations whose scopes include each other; a compare-and-swap with a plain read (the loop around
it begins with one); two writes of the same bytes.
"""

from __future__ import annotations

import numpy as np

from ...records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from .launch import Launch
    from .machine import Machine, Threads
    from .program import Step

    Array = NDArray[Any]

__all__ = ["SCOPES", "GlobalOrder", "Knowledge", "access_of"]

STRONG = frozenset(["volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"])
SCOPES = {"cta": 1, "cluster": 2, "gpu": 3, "sys": 3}
"""How far a scope reaches: an own CTA, an own cluster, everybody (one GPU is emulated)."""
CTA, CLUSTER, GPU = 1, 2, 3
AGENT, CLOCK = 36, 16
"""First bits of the agent (plus one) and of its clock in an access; below is the statement."""
MOST_CLOCK, NO_STEP = (1 << AGENT - CLOCK) - 1, (1 << CLOCK) - 1
AGENTS = 1024
"""Agents of a team that are no threads (mbarriers), as far as they are told apart here."""
LISTED = 1 << 22
"""Reads that are listed as they are before they are entered."""
SEVERAL = 512
"""Instructions whose reads are kept beside the last read of a granule."""
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


class _Learned:
    """A snapshot that a thread of a team read of in the epoch of a clock. fenced: None if it acquired it at once; else
    by thread of the team the clock at which it fenced and knew of the read, 0 if it has not yet."""

    __slots__ = ("clock", "fenced", "member", "reach", "snapshot")

    def __init__(self, member: int, clock: int, reach: int, snapshot: Snapshot, fenced: Array | None) -> None:
        self.member, self.clock, self.reach, self.snapshot, self.fenced = member, clock, reach, snapshot, fenced


class _Flag:
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


class _Reads(TupleRecord):
    """Reads of one instruction: granules and accesses in one number each; scope of the weakest of them."""

    at: Array
    access: Array
    scope: int


class Knowledge:
    """What the threads of the resident teams have released and learned beyond their team, while these run."""

    def __init__(self, machine: Machine, shared: GlobalOrder) -> None:
        self.machine, self.shared = machine, shared
        order = machine.order
        self.first_team = machine.first // machine.launch.cluster_size
        team = machine.team_of.astype(np.int64) + self.first_team
        self.agent: Array = (team * shared.stride + machine.member_of + 1) << AGENT
        self._clocks: tuple[int, Array] = (-1, np.zeros(0, np.int64))
        teams = len(order.meetings)
        self.fenced: Array = np.zeros((GPU + 1, teams, order.threads), np.int32)  # by scope: the clock of the last fence
        self.any_fence = False
        self.rows: dict[int, tuple[int, Array]] = {}  # by thread: scope of its last fence, and what it knew then
        self._common: tuple[int, dict[int, Array]] = (-1, {})
        self.learned: list[list[_Learned]] = [[] for _ in range(teams)]

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
            fine |= own & ~within
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

    def _acquired(self, event: _Learned, team: Array, member: Array) -> Array:
        """Whether threads (of one team) have come to know what a thread of it read of."""
        order = self.machine.order
        if event.fenced is None:
            same = np.full(len(team), event.member)
            return order.ordered(team, member, same, np.full(len(team), event.clock))
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
            if event.clock <= known[event.member] if clocks is None else (
                ((clocks > 0) & (clocks <= known[: len(clocks)])).any()
            ):
                made = event.snapshot.joined(made)
        return made

    def fence(self, threads: Threads, scope: int, acquires: bool = True, releases: bool = True) -> None:
        """A fence of threads: what they did so far is released by their next strong writes, and what their strong
        reads have seen is acquired."""
        order, team, member = self.machine.order, threads.team, threads.member
        if acquires and self.shared.flags:
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

    def _fenced(self, event: _Learned, team: int, members: Array) -> None:
        """Threads of a team fence after a relaxed read by one of them."""
        order, fenced = self.machine.order, event.fenced
        assert fenced is not None
        fresh = members[fenced[members] == 0]
        teams, same = np.full(len(fresh), team), np.full(len(fresh), event.member)
        fresh = fresh[order.ordered(teams, fresh, same, np.full(len(fresh), event.clock))]
        fenced[fresh] = order.clock[team, fresh]
        row = event.snapshot.rows.get(team + self.first_team)
        for member in fresh.tolist() if row is not None else ():
            self._learn_own(team, member, row)

    def released(self, threads: Threads, offsets: Array, access: Access, replaces: bool) -> None:
        """Strong writes at locations: what they make known stays there. replaces: a store; an atomic operation adds to
        what is there."""
        if not self.shared.communicates or not (access.releases or self.any_fence or replaces):
            return
        flags, machine = self.shared.flags, self.machine
        for thread, place in zip(threads.number.tolist(), offsets.tolist()):
            far, old = self._made(thread, access.scope, access.releases), flags.get(place)
            near = far or self._made(thread, CTA, access.releases)
            if old is not None and not replaces:
                old.observers.clear()
            if near is None and (old is None or not replaces):
                continue
            flag = flags[place] = _Flag() if old is None or replaces else old
            team = int(machine.team_of[thread]) + self.first_team
            cta = machine.first + int(machine.cta_of[thread])
            if near is not None:
                flag.cta[cta] = near.joined(flag.cta.get(cta))
            if far is not None and access.scope >= CLUSTER:
                flag.team[team] = far.joined(flag.team.get(team))
            if far is not None and access.scope >= GPU:
                flag.everywhere = far.joined(flag.everywhere)
        if access.releases:
            machine.order.tick(threads.team, threads.member)

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
            if event.member == member and (event.fenced is None) == at_once:
                if event.snapshot is snapshot:
                    return
                if event.clock == clock and event.reach == reach and (at_once or not event.fenced.any()) and (  # type: ignore[union-attr]
                    snapshot.includes(event.snapshot)
                ):
                    del events[place]
                    break
        fenced = None if at_once else np.zeros(order.threads, np.int32)
        events.append(_Learned(member, clock, reach, snapshot, fenced))
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

    def _kept(self, team: int, events: list[_Learned]) -> list[_Learned]:
        """The events without those that say no more than one which the whole team knows."""
        common = self.machine.order.common[team]

        def known(event: _Learned) -> bool:
            if event.fenced is None:
                return bool(common[event.member] >= event.clock)
            clocks = event.fenced
            return bool(((clocks > 0) & (clocks <= common[: len(clocks)])).any())

        best = next((one for one in reversed(events) if known(one)), None)
        if best is None:
            return events
        return [one for one in events if one is best or not best.snapshot.includes(one.snapshot)]


class GlobalOrder:
    """The accesses of a grid to global memory, and its flags, from the first resident CTAs to the last."""

    def __init__(self, launch: Launch) -> None:
        program = launch.program
        self.launch = launch
        self.stride = launch.cluster_size * launch.block_size + AGENTS
        self.granule, self.communicates = program.global_granule, program.communicates
        self._shift = self.granule.bit_length() - 1
        places = len(launch.memory.data) // self.granule + 1
        # np.zeros takes no memory until it is touched.
        self.writes: Array = np.zeros(places, np.int64)
        self.reads: Array = np.zeros(places, np.int64)
        self.scopes: Array = np.zeros(places, np.uint8)  # of the last write; SWAPPED, REPEATED
        self.read_scopes: Array = np.zeros(places, np.uint8)
        self.several: Array = np.zeros(places, bool)
        self.strong = self.entered = False
        self.log: list[_Reads] = []
        self.alike: list[_Reads] = []  # writes of bytes that another thread wrote, too
        self.flags: dict[int, _Flag] = {}
        self.changed: set[int] = set()  # regions that were stored to
        self.listed: dict[int, list[tuple[Array, int, Array, Array, Any, int]]] = {}
        self.count = 0
        self.kinds: dict[int, Access] = {}
        self.enabled = int(np.prod(launch.grid)) // launch.cluster_size * self.stride < 1 << 63 - AGENT

    def access(self, step: Step) -> Access:
        """What a statement is to the memory model."""
        found = self.kinds.get(step.index)
        if found is None:
            found = self.kinds[step.index] = access_of(step.statement.root, step.statement.modifiers)
        return found

    def granules(self, offsets: Array, size: int) -> tuple[Array, int]:
        """The granules that accesses cover whole, one row of them after the other, and how many each has."""
        if size == self.granule:
            return offsets >> self._shift, 1
        if size < self.granule:
            return offsets[:0], 0
        width = size // self.granule
        first = offsets >> self._shift
        return (first[:, None] + np.arange(width)).reshape(-1), width

    # --- plain accesses ---

    def loaded(self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int) -> None:
        """Threads read global memory."""
        access, region = self.access(step), self.launch.memory.region
        if not self.enabled:
            return
        knowledge = machine.knowledge
        if not access.scope and region >= 0 and region not in self.changed:
            self.listed.setdefault(region, []).append(
                (offsets, size, knowledge.agent, knowledge.clocks(), threads.use, min(step.index, NO_STEP))
            )
            self.count += len(offsets)
            if self.count > LISTED:
                for one in list(self.listed):
                    self._enter(one)
            return
        at, width = self.granules(offsets, size)
        if width:
            accesses = _wide(knowledge.accesses(threads.use, step), width)
            self._check(machine, step, threads, at, width, access, "reads", None)
            self._read(at, accesses, access.scope)
        if access.scope:
            knowledge.acquired(threads, offsets, access)

    def stored(self, machine: Machine, step: Step, threads: Threads, offsets: Array, data: Array) -> None:
        """Threads are about to write bytes (thread, size) to global memory."""
        access = self.access(step)
        if not self.enabled:
            return
        self._written(machine, step, threads, offsets, data.shape[1], access, data)
        if access.scope:
            machine.knowledge.released(threads, offsets, access, True)
        elif self.flags:
            for place in [place for place in self.flags if (offsets == place).any()]:
                del self.flags[place]

    def swapped(
        self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int, wrote: Array | None
    ) -> None:
        """Atomic operations. wrote: which of them wrote, None where all did."""
        access, knowledge = self.access(step), machine.knowledge
        if not self.enabled:
            return
        self._written(machine, step, threads, offsets, size, access, None)
        if not self.communicates or not (access.releases or knowledge.any_fence or self.flags):
            return
        alone = step.statement.root == "red"
        if len(np.unique(offsets)) == len(offsets):
            self._handed_on(knowledge, threads, offsets, access, wrote, alone)
            return
        for lane in range(len(threads)):  # one after the other, as they are executed
            one, mine = type(threads)(machine, threads.number[lane : lane + 1]), slice(lane, lane + 1)
            self._handed_on(knowledge, one, offsets[mine], access, None if wrote is None else wrote[mine], alone)

    @staticmethod
    def _handed_on(
        knowledge: Knowledge, threads: Threads, offsets: Array, access: Access, wrote: Array | None, alone: bool
    ) -> None:
        if not alone:
            knowledge.acquired(threads, offsets, access)
        if wrote is not None and not wrote.all():
            threads, offsets = threads.where(wrote), offsets[wrote]
        if len(threads):
            knowledge.released(threads, offsets, access, False)

    def _written(  # noqa: PLR0913
        self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int, access: Access,
        data: Array | None,
    ) -> None:  # fmt: skip
        self._store_regions(offsets)
        at, width = self.granules(offsets, size)
        if not width:
            return
        repeated = self._check(machine, step, threads, at, width, access, "writes", data)
        accesses = _wide(machine.knowledge.accesses(threads.use, step), width)
        before = self.writes[at[repeated]] if repeated is not None else None
        self._write(at, accesses, access)
        if repeated is not None and before is not None:
            self._repeated(at[repeated], before)
        if not access.scope and (lost := self.writes[at] != accesses).any():  # lanes of one instruction at one place
            self._repeated(at[lost], accesses[lost])

    def _repeated(self, at: Array, accesses: Array) -> None:
        """Several threads wrote the same bytes: who has written them, or knows of one that has, may read them."""
        self.strong = True
        self.scopes[at] |= REPEATED
        self.alike = [*self.alike[-SEVERAL:], _Reads(at, accesses, 0)]

    def _written_alike(self, machine: Machine, at: int, agent: int, team: int, member: int) -> bool:
        """Whether a write like the last one of a granule precedes what a thread does."""
        for entry in self.alike:
            accesses = entry.access[entry.at == at]
            if len(accesses):
                wide = np.full(len(accesses), team), np.full(len(accesses), member)
                if ((accesses ^ agent) >> AGENT == 0).any() or machine.knowledge.ordered(*wide, accesses).any():
                    return True
        return False

    def _store_regions(self, offsets: Array) -> None:
        """From now on accesses of these regions are entered at once."""
        region = self.launch.memory.region
        regions: Iterable[int] = (region,) if region >= 0 else np.unique(self._regions(offsets)).tolist()
        for one in regions:
            if one not in self.changed:
                self.changed.add(one)
                self._enter(one)

    def _regions(self, offsets: Array) -> Array:
        places = np.array([region.place for region in self.launch.memory.regions])
        order = np.argsort(places)
        found: Array = order[np.searchsorted(places[order], offsets, "right") - 1]
        return found

    def _enter(self, region: int) -> None:
        """Enter the reads of a region that are only listed."""
        self.changed.add(region)
        for offsets, size, agent, clocks, use, step in self.listed.pop(region, ()):
            self.count -= len(offsets)
            at, width = self.granules(offsets, size)
            if width:
                self._read(at, _wide(agent[use] | clocks[use] | step, width), 0)

    def _read(self, at: Array, accesses: Array, scope: int) -> None:
        before = self.reads[at]
        other = (before != 0) & ((before ^ accesses) >> AGENT != 0)
        self.reads[at], self.entered = accesses, True
        together = self.reads[at] != accesses  # lanes of one instruction at one place
        if scope or self.strong:
            was = int(self.read_scopes[at[other]].min(initial=GPU))
            self.read_scopes[at] = scope
            self.strong = True
        else:
            was = 0
        if other.any():
            self.several[at[other]] = True
            self.log.append(_Reads(at[other], before[other], was))
            together |= other
        if together.any():
            self.several[at[together]] = True
            self.log.append(_Reads(at[together], accesses[together], scope))
        if len(self.log) > SEVERAL:
            self.log = [entry for entry in self.log if self.several[entry.at].any()]
            self.log = self.log[-SEVERAL // 2 :]

    def _write(self, at: Array, accesses: Array, access: Access) -> None:
        self.writes[at] = accesses
        if self.entered:
            self.reads[at] = 0
        if self.log:
            self.several[at] = False
        if access.scope:
            self.strong = True
        if self.strong:
            self.scopes[at] = access.scope | (SWAPPED if access.swaps else 0)
            self.read_scopes[at] = 0

    # --- what collides ---

    def _check(  # noqa: PLR0913
        self, machine: Machine, step: Step, threads: Any, at: Array, width: int, access: Access, does: str,
        data: Array | None,
    ) -> Array | None:  # fmt: skip
        """Find what accesses of granules collide with. Returns which of them write the bytes that are there."""
        agent = _wide(machine.knowledge.agent[threads.use], width)
        repeated = None
        before = self.writes[at]
        other = np.flatnonzero((before != 0) & ((before ^ agent) >> AGENT != 0))
        if len(other):
            wrong = self._unordered(machine, threads, at, width, other, before, self.scopes[at[other]], access, does)
            if len(wrong) and data is not None:
                same = self._same(at[wrong], data, wrong, width)
                repeated, wrong = wrong[same], wrong[~same]
            if len(wrong):
                self._race(machine, step, threads, int(wrong[0]), width, int(at[wrong[0]]), int(before[wrong[0]]),
                           does, "wrote")  # fmt: skip
        if does == "writes" and not access.swaps and self.entered:
            self._check_reads(machine, step, threads, at, width, agent, access)
        return repeated if repeated is not None and len(repeated) else None

    def _check_reads(
        self, machine: Machine, step: Step, threads: Any, at: Array, width: int, agent: Array, access: Access
    ) -> None:
        before = self.reads[at]
        other = np.flatnonzero((before != 0) & ((before ^ agent) >> AGENT != 0))
        if not len(other):
            if not self.log or not self.several[at].any():
                return
        else:
            scopes = self.read_scopes[at[other]]
            wrong = self._unordered(machine, threads, at, width, other, before, scopes, access, "writes")
            if len(wrong):
                self._race(machine, step, threads, int(wrong[0]), width, int(at[wrong[0]]), int(before[wrong[0]]),
                           "writes", "read")  # fmt: skip
                return
        if not self.log or not self.several[at].any():
            return
        if not hasattr(self, "_mine"):
            self._mine: Array = np.zeros(len(self.writes), np.int32)
        self._mine[at] = np.arange(1, len(at) + 1, dtype=np.int32)
        for entry in self.log:
            index = self._mine[entry.at] - 1
            hit = np.flatnonzero((index >= 0) & self.several[entry.at])
            hit = hit[(entry.access[hit] ^ agent[index[hit]]) >> AGENT != 0]
            if not len(hit):
                continue
            reads = np.zeros(len(at), np.int64)
            reads[index[hit]] = entry.access[hit]
            scopes = np.full(len(hit), entry.scope, np.uint8)
            wrong = self._unordered(machine, threads, at, width, index[hit], reads, scopes, access, "writes")
            if len(wrong):
                place = int(wrong[0])
                self._race(machine, step, threads, place, width, int(at[place]), int(reads[place]), "writes", "read")
                break
        self._mine[at] = 0

    def _unordered(  # noqa: PLR0913
        self, machine: Machine, threads: Any, at: Array, width: int, which: Array, before: Array, scopes: Array,
        access: Access, does: str,
    ) -> Array:  # fmt: skip
        """Which of the accesses (indices into `at`) collide with those before them."""
        if does == "reads":
            fine = (scopes & SWAPPED != 0) & (access.scope == 0)
        else:
            fine = np.zeros(len(which), bool)
        repeated, scopes = (scopes & REPEATED != 0) & (does == "reads"), scopes & 3
        lanes = which // width
        if access.scope and scopes.any():
            cta = machine.cta_of[threads.number[lanes]] + machine.first
            number = (before[which] >> AGENT) - 1
            size, threads_of = self.launch.cluster_size, self.launch.block_size
            other = number // self.stride * size + number % self.stride // threads_of
            reach = np.where(cta == other, CTA, np.where(cta // size == other // size, CLUSTER, GPU))
            fine |= (scopes >= reach) & (access.scope >= reach)
        left = which[~fine]
        if len(left):
            who = lanes[~fine]
            team, member = threads.team[who], threads.member[who]
            known = machine.knowledge.ordered(team, member, before[left])
            if self.flags and not known.all():
                for one in np.flatnonzero(~known).tolist()[:64]:
                    place = int(at[left[one]]) * self.granule
                    known[one] = machine.knowledge.observed(int(threads.number[who[one]]), place)
            for one in np.flatnonzero(repeated[~fine] & ~known).tolist():
                thread = int(threads.number[who[one]])
                agent = int(machine.knowledge.agent[thread])
                known[one] = self._written_alike(machine, int(at[left[one]]), agent, int(team[one]), int(member[one]))
            left = left[~known]
        return left

    def _same(self, at: Array, data: Array, which: Array, width: int) -> Array:
        """Whether writes (indices of granules of `data`) leave the bytes as they are."""
        index = at[:, None] * self.granule + np.arange(self.granule)
        now = self.launch.memory.data[index]
        new = np.ascontiguousarray(data[:, : width * self.granule]).reshape(-1, self.granule)
        found: Array = (now == new[which]).all(axis=1)
        return found

    def _race(  # noqa: PLR0913
        self, machine: Machine, step: Step, threads: Any, place: int, width: int, granule: int, before: int,
        does: str, did: str,
    ) -> None:  # fmt: skip
        number, index = (before >> AGENT) - 1, before & NO_STEP
        steps = machine.program.steps
        other = steps[index] if index < len(steps) else None
        thread = int(threads.number[place // width])
        team, agent = divmod(number, self.stride)
        own = machine.first + thread // self.launch.block_size
        cta = team * self.launch.cluster_size + agent // self.launch.block_size
        if agent >= self.launch.cluster_size * self.launch.block_size:
            by = "an asynchronous copy"
        else:
            where = "" if cta == own else f" of CTA {tuple([int(x) for x in self.launch.coordinates(cta)])}"
            by = f"thread {agent % self.launch.block_size}{where}"
        how = "no barrier" if cta == own else (
            "no release (a fence and a strong write, or .release) that this thread acquires, of a scope that has both,"
        )  # fmt: skip
        machine.launch.find(
            "race",
            step,
            f"{does} {self.place(granule * self.granule)}, which {by} {did}: {how} comes in between",
            np.array([thread]),
            other,
        )

    def place(self, offset: int) -> str:
        """A byte of global memory in words."""
        region = self.launch.memory.regions[int(self._regions(np.array([offset]))[0])]
        return f"byte {offset - region.place} of {region.name}"


SWAPPED, REPEATED = 4, 8
"""Of the last write of a granule: a compare-and-swap; two threads wrote the same bytes."""


def _wide(accesses: Array, width: int) -> Array:
    return accesses if width == 1 else np.repeat(accesses, width)
