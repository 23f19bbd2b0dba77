"""Races in global memory: the accesses of a grid, compared by what `knowledge` says of their order.

Of each granule the last write and the last read are kept, with agent, clock and statement in one number. As long as
nothing is stored to an array, reads of it are only listed: most arrays are read or written, not both.

Not a race: two strong operations whose scopes include each other; a compare-and-swap with a plain read (the loop around
it begins with one); two writes of the same bytes.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from ..device.access_log import LOGGED, AccessLog, Entries
from ..device.suspects import Suspects
from .global_copies import GlobalCopies
from .knowledge import AGENT, AGENTS, CLOCK, CLUSTER, CTA, GPU, MOST_CLOCK, NO_STEP, access_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from .knowledge import Access, Flag, Knowledge
    from .launch import Launch
    from .machine import Machine
    from .program import Step
    from .proxies import EndedFences
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["GlobalOrder"]

LISTED = 1 << 22
"""Reads that are listed as they are before they are entered."""
SWAPPED, REPEATED = 4, 8
"""Of the last write of a granule: a compare-and-swap; two threads wrote the same bytes."""


class GlobalOrder:
    """The accesses of a grid to global memory, and its flags, from the first resident CTAs to the last.

    suspects: the reads that race. undefined: those that are so, in a run that asks whether what they give is used."""

    launch: Launch
    stride: int
    granule: int
    communicates: bool
    strong: bool
    entered: bool
    count: int
    issued: int
    enabled: bool
    copies: GlobalCopies
    suspects: Suspects
    undefined: Suspects | None

    def __init__(self, launch: Launch) -> None:
        program = launch.program
        self.launch = launch
        self.suspects, self.undefined = Suspects(), None
        self.stride = launch.cluster_size * launch.block_size + AGENTS
        self.granule, self.communicates = program.global_granule, program.communicates
        self._shift = self.granule.bit_length() - 1
        places = len(launch.memory.data) // self.granule + 1
        # np.zeros takes no memory until it is touched.
        self.writes: Array = np.zeros(places, np.int64)
        self.reads: Array = np.zeros(places, np.int64)
        self.scopes: Array = np.zeros(places, np.uint8)  # of the last write; SWAPPED, REPEATED
        self.read_scopes: Array = np.zeros(places, np.uint8)
        self.log: AccessLog = AccessLog(places, AGENT)  # of reads
        self.strong = self.entered = False
        self.alike: list[tuple[Array, Array]] = []  # granules and writes of bytes that another thread wrote, too
        self.flags: dict[int, Flag] = {}
        self.changed: set[int] = set()  # regions that were stored to
        self.listed: dict[int, list[tuple[Array | slice, int, Array, Array, Any, int]]] = {}
        self.copied: dict[int, list[tuple[Array, int]]] = {}  # as `listed`, of bulk copies
        self.copies = GlobalCopies(self)
        self.ended_fences: dict[int, EndedFences] = {}  # between generic and async proxy, by team
        self.count = self.issued = 0
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

    def ended(self, machine: Machine) -> None:
        """The resident teams have ended; who reads their flags later may rely on their proxy fences."""
        if self.flags:
            self.ended_fences.update(machine.proxy_fences["global"].ended(machine.knowledge))

    # --- plain accesses ---

    def loaded(self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int) -> None:
        """Threads read global memory."""
        access, region = self.access(step), self.launch.memory.region
        if not self.enabled:
            return
        knowledge = machine.knowledge
        place = None if access.scope else self._span(offsets, size)
        if not access.scope and region >= 0 and region not in self.changed:
            known = offsets if place is None else place
            self.listed.setdefault(region, []).append(
                (known, size, knowledge.agent, knowledge.clocks(), threads.use, min(step.index, NO_STEP))
            )
            self.count += len(offsets) if place is None else 64
            if self.count > LISTED:
                for one in list(self.listed):
                    self._enter(one)
            return
        if place is not None:
            accesses = _wide(knowledge.accesses(threads.use, step), size // self.granule)
            if _own(self.writes[place], accesses) and _own(self.reads[place], accesses):
                self.reads[place], self.entered = accesses, True
                if self.strong:
                    self.read_scopes[place] = 0
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
            for place in [place for place in self.flags if place >= 0 and (offsets == place).any()]:
                del self.flags[place]

    def swapped(
        self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int, wrote: Array | None
    ) -> None:
        """Atomic operations. wrote: which of them wrote, None where all did."""
        access = self.access(step)
        if not self.enabled:
            return
        self._written(machine, step, threads, offsets, size, access, None)
        self.hand_on(machine, step, threads, offsets, wrote)

    def arrives_later(self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int) -> None:
        """Threads issue strong writes that arrive at a time that nothing tells: only who reads them by a strong
        operation knows of them, the threads themselves not excepted."""
        access = self.access(step)
        if not self.enabled:
            return
        self._store_regions(offsets)
        at, width = self.granules(offsets, size)
        if width:
            self._check(machine, step, threads, at, width, access, "writes", None)
            teams = _wide(threads.team.astype(np.int64), width) + machine.knowledge.first_team
            self.mark_written(at, self.unknown(teams, step), access.scope)

    def unknown(self, team: Any, step: Step) -> Any:
        """An access of an agent of teams of which no thread knows anything, a new one each time."""
        self.issued += 1
        clock = 1 + self.issued % (MOST_CLOCK - 1)
        return (team + 1) * self.stride << AGENT | clock << CLOCK | min(step.index, NO_STEP)

    def hand_on(self, machine: Machine, step: Step, threads: Threads, offsets: Array, wrote: Array | None) -> None:
        """What atomic operations acquire and release."""
        access, knowledge = self.access(step), machine.knowledge
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

    def _written(
        self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int, access: Access,
        data: Array | None,
    ) -> None:  # fmt: skip
        self._store_regions(offsets)
        if data is not None and not access.scope and self._written_own(machine, step, threads, offsets, size):
            return
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

    def _span(self, offsets: Array, size: int) -> slice | None:
        """The granules of accesses that follow each other without a gap, as they mostly do; None of others."""
        count, first = len(offsets), int(offsets[0])
        if size % self.granule or int(offsets[-1]) - first != (count - 1) * size:
            return None
        if count > 1 and (offsets[1:] - offsets[:-1] != size).any():
            return None
        return slice(first >> self._shift, (first >> self._shift) + count * (size >> self._shift))

    def _written_own(self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int) -> bool:
        """Enter writes in a row to granules that no other thread has accessed: whether they were entered."""
        place = self._span(offsets, size)
        if place is None or self.log.has(place):
            return False
        accesses = _wide(machine.knowledge.accesses(threads.use, step), size // self.granule)
        if not _own(self.writes[place], accesses) or (self.entered and not _own(self.reads[place], accesses)):
            return False
        self.writes[place] = accesses
        if self.entered:
            self.reads[place] = 0
        if self.strong:
            self.scopes[place] = self.read_scopes[place] = 0
        return True

    def _repeated(self, at: Array, accesses: Array) -> None:
        """Several threads wrote the same bytes: who has written them, or knows of one that has, may read them."""
        self.strong = True
        self.scopes[at] |= REPEATED
        self.alike = [*self.alike[-LOGGED:], (at, accesses)]

    def _written_alike(self, machine: Machine, at: int, agent: int, team: int, member: int) -> bool:
        """Whether a write like the last one of a granule precedes what a thread does."""
        for granules, written in self.alike:
            accesses = written[granules == at]
            if len(accesses):
                wide = np.full(len(accesses), team), np.full(len(accesses), member)
                if ((accesses ^ agent) >> AGENT == 0).any() or machine.knowledge.ordered(*wide, accesses).any():
                    return True
        return False

    def _store_regions(self, offsets: Array) -> None:
        """From now on accesses of these regions are entered at once."""
        region = self.launch.memory.region
        regions: Iterable[int] = (region,) if region >= 0 else np.unique(self.regions(offsets)).tolist()
        for one in regions:
            self.entered_at_once(one)

    def entered_at_once(self, region: int) -> None:
        """From now on accesses of a region are entered at once."""
        if region not in self.changed:
            self._enter(region)

    def regions(self, offsets: Array) -> Array:
        places = np.array([region.place for region in self.launch.memory.regions])
        order = np.argsort(places)
        found: Array = order[np.searchsorted(places[order], offsets, "right") - 1]
        return found

    def _enter(self, region: int) -> None:
        """Enter the reads of a region that are only listed."""
        self.changed.add(region)
        for known, size, agent, clocks, use, step in self.listed.pop(region, ()):
            if isinstance(known, slice):
                self.count -= 64
                at, width = np.arange(known.start, known.stop), size // self.granule
            else:
                self.count -= len(known)
                at, width = self.granules(known, size)
            if width:
                self._read(at, _wide(agent[use] | clocks[use] | step, width), 0)
        for at, access in self.copied.pop(region, ()):
            self._read(at, np.full(len(at), access), 0)

    def read_later(self, at: Array, access: int) -> None:
        """Granules of one region were read by a bulk copy, which has ended: an access of the agent that knows."""
        region = int(self.regions(at[:1] * self.granule)[0])
        if region in self.changed:
            self._read(at, np.full(len(at), access), 0)
        else:
            self.copied.setdefault(region, []).append((at, access))

    def mark_written(self, at: Array, access: Array | int, scopes: int) -> None:
        """Granules are written by asynchronous operations."""
        self.writes[at] = access
        self.reads[at], self.strong = 0, True
        self.log.forget(at)
        self.scopes[at], self.read_scopes[at] = scopes, 0

    def known_repeated(self, machine: Machine, one: Threads, granule: int, access: int) -> bool:
        """Whether a write of a granule, or one of several threads that wrote the same, precedes what a thread does."""
        team, member = one.team[:1], one.member[:1]
        if machine.knowledge.ordered(team, member, np.array([access])).all():
            return True
        agent = int(machine.knowledge.agent[one.number[0]])
        return self._written_alike(machine, granule, agent, int(team[0]), int(member[0]))

    def _read(self, at: Array, accesses: Array, scope: int) -> None:
        before = self.reads[at]
        other = np.flatnonzero((before != 0) & ((before ^ accesses) >> AGENT != 0))
        if len(other):
            self._log(at[other], before[other], self.read_scopes[at[other]])
        self.reads[at], self.entered = accesses, True
        if scope or self.strong:
            self.read_scopes[at] = scope
            self.strong = True
        together = np.flatnonzero(self.reads[at] != accesses)  # lanes of one instruction at one place
        if len(together):
            self._log(at[together], accesses[together], np.full(len(together), scope, np.uint8))

    def _log(self, at: Array, accesses: Array, scopes: Array) -> None:
        self.log.add(Entries(at, accesses, scopes, accesses))

    def _write(self, at: Array, accesses: Array, access: Access) -> None:
        self.writes[at] = accesses
        if self.entered:
            self.reads[at] = 0
        self.log.forget(at)
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
            scopes = self.scopes[at[other]]
            wrong = other[self.unordered(machine, threads, at, width, other, before[other], scopes, access, does)]
            if len(wrong) and data is not None:
                same = self._same(at[wrong], data, wrong, width)
                repeated, wrong = wrong[same], wrong[~same]
            if len(wrong):
                if does == "reads":
                    clocks = _wide(machine.knowledge.clocks()[threads.use], width)[wrong] >> CLOCK
                    self.suspects.add(at[wrong], agent[wrong] >> AGENT, clocks, clocks)
                self.race(machine, step, threads, int(wrong[0]), width, int(at[wrong[0]]), int(before[wrong[0]]),
                           does, "wrote")  # fmt: skip
        if does == "writes" and not access.swaps and self.entered:
            self.check_reads(machine, step, threads, at, width, agent, access)
        return repeated if repeated is not None and len(repeated) else None

    def check_reads(
        self, machine: Machine, step: Step, threads: Any, at: Array, width: int, agent: Array, access: Access
    ) -> None:
        """Find reads that writes of granules collide with. agent: of each granule, the bits of an access."""
        before = self.reads[at]
        other = np.flatnonzero((before != 0) & ((before ^ agent) >> AGENT != 0))
        last = [(other, Entries(at[other], before[other], self.read_scopes[at[other]], before[other]))]
        for which, reads in chain(last if len(other) else (), self.log.others_by_instruction(at, agent)):
            wrong = self.unordered(machine, threads, at, width, which, reads.codes, reads.bits, access, "writes")
            if len(wrong):
                self._suspect(machine, threads, which[wrong] // width, reads.of(wrong))
                place, read = int(which[wrong[0]]), int(reads.codes[wrong[0]])
                self.race(machine, step, threads, place, width, int(at[place]), read, "writes", "read")

    def _suspect(self, machine: Machine, threads: Any, lanes: Array, reads: Entries) -> None:
        """Enter reads that race with what lanes write, of each thread back to the first that nothing orders."""
        codes = reads.codes
        team, member = threads.team[lanes], threads.member[lanes]
        agents, last = codes >> AGENT << AGENT, codes >> CLOCK & MOST_CLOCK
        least, most = np.full_like(last, -1), last.copy()  # the first that is not ordered is above `least`
        while (most - least > 1).any():
            middle = (least + most) // 2
            later = ~machine.knowledge.ordered(team, member, agents | middle << CLOCK)
            least, most = np.where(later, least, middle), np.where(later, middle, most)
        self.suspects.add(reads.at, codes >> AGENT, most, last)

    def racing(self, machine: Machine, step: Step, threads: Threads, offsets: Array, size: int) -> Array | None:
        """Of loads that have been entered the bytes (thread, byte) that race, in a run that asks whether these are
        used; None if none does."""
        if self.undefined is None:
            return None
        at, width = self.granules(offsets, size)
        if not width:
            return None
        agents = _wide(machine.knowledge.agent[threads.use] >> AGENT, width)
        clocks = _wide(machine.knowledge.clocks()[threads.use] >> CLOCK, width)
        hit = self.undefined.among(at, agents, clocks)
        if not hit.any():
            return None
        self.undefined.met.add(step.line)
        found: Array = np.repeat(hit.reshape(len(offsets), width), self.granule, axis=1)
        return found

    def unordered(  # noqa: PLR0913
        self, machine: Machine, threads: Any, at: Array, width: int, which: Array, before: Array, scopes: Array,
        access: Access, does: str,
    ) -> Array:  # fmt: skip
        """Which accesses collide with those before them, of `which` (indices into `at`), as indices into it. before,
        scopes: of each of them."""
        if does == "reads":
            fine = (scopes & SWAPPED != 0) & (access.scope == 0)
        else:
            fine = np.zeros(len(which), bool)
        repeated, scopes = (scopes & REPEATED != 0) & (does == "reads"), scopes & 3
        lanes = which // width
        if access.scope and scopes.any():
            cta = machine.cta_of[threads.number[lanes]] + machine.first
            number = (before >> AGENT) - 1
            size, threads_of = self.launch.cluster_size, self.launch.block_size
            # An operation in flight counts as one of the last CTA of its cluster.
            other = number // self.stride * size + np.minimum(number % self.stride // threads_of, size - 1)
            reach = np.where(cta == other, CTA, np.where(cta // size == other // size, CLUSTER, GPU))
            fine |= (scopes >= reach) & (access.scope >= reach)
        left = np.flatnonzero(~fine)
        if len(left):
            who = lanes[left]
            team, member = threads.team[who], threads.member[who]
            known = machine.knowledge.ordered(team, member, before[left])
            if self.flags and not known.all():
                for one in np.flatnonzero(~known).tolist()[:64]:
                    place = int(at[which[left[one]]]) * self.granule
                    known[one] = machine.knowledge.observed(int(threads.number[who[one]]), place)
            for one in np.flatnonzero(repeated[left] & ~known).tolist():
                thread, place = int(threads.number[who[one]]), int(at[which[left[one]]])
                agent = int(machine.knowledge.agent[thread])
                known[one] = self._written_alike(machine, place, agent, int(team[one]), int(member[one]))
            left = left[~known]
        return left

    def _same(self, at: Array, data: Array, which: Array, width: int) -> Array:
        """Whether writes (indices of granules of `data`) leave the bytes as they are."""
        index = at[:, None] * self.granule + np.arange(self.granule)
        now = self.launch.memory.data[index]
        new = np.ascontiguousarray(data[:, : width * self.granule]).reshape(-1, self.granule)
        found: Array = (now == new[which]).all(axis=1)
        return found

    def race(  # noqa: PLR0913
        self, machine: Machine, step: Step, threads: Any, place: int, width: int, granule: int, before: int,
        does: str, did: str,
    ) -> None:  # fmt: skip
        number, index = (before >> AGENT) - 1, before & NO_STEP
        steps = machine.program.steps
        other = steps[index] if index < len(steps) else None
        thread = int(threads.number[place // width])
        team, agent = divmod(number, self.stride)
        own = machine.first + thread // self.launch.block_size
        if agent == self.stride - 1:
            self._flies(machine, step, threads, place // width, granule, does, other)
            return
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
        reads = step if does == "reads" else other if did == "read" else None
        if reads is not None:
            self.suspects.findings["race", step.line, None if other is None else other.line] = reads.line

    def _flies(
        self, machine: Machine, step: Step, threads: Any, lane: int, granule: int, does: str, other: Step | None
    ) -> None:
        """A byte is touched that an operation in flight writes."""
        if other is not None and other.statement.root != "cp":
            kind = "reduction" if other.statement.root == "red" else "store"
            machine.launch.find(
                "race", step, f"{does} {self.place(granule * self.granule)}, which an asynchronous {kind} writes, at a "
                "time that is open: only who has read what it wrote by a strong operation, such as ld.acquire, knows "
                "of it", threads.number[lane : lane + 1], other,
            )  # fmt: skip
            return
        machine.launch.find(
            "wait", step, f"{does} {self.place(granule * self.granule)}, which a bulk copy writes that is not waited "
            "for: cp.async.bulk.wait_group (without .read) of the thread that issued it must come before",
            threads.number[lane : lane + 1], other,
        )  # fmt: skip

    def place(self, offset: int) -> str:
        """A byte of global memory in words."""
        region = self.launch.memory.regions[int(self.regions(np.array([offset]))[0])]
        return f"byte {offset - region.place} of {region.name}"


def _own(held: Array, accesses: Array) -> bool:
    """Whether what is held for each granule is nothing, or of the agent that accesses it now."""
    if not held.any():
        return True
    return bool((((held ^ accesses) >> AGENT == 0) | (held == 0)).all())


def _wide(accesses: Array, width: int) -> Array:
    return accesses if width == 1 else np.repeat(accesses, width)
