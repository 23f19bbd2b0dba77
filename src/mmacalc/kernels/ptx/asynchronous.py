"""mbarrier objects and bulk copies in flight (PTX ISA 9.0, 9.7.13.15, 9.7.9.25).

A copy that completes by an mbarrier arrives when no thread can continue without it, the latest that PTX permits; until
then its bytes are in flight. What it wrote is visible only to threads that have waited for the phase that it completes.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import Error, plural
from .order import span
from .relaxed import Relaxed
from .shared_core import none_occupied
from .tensor_commits import carry_out, complete_alike

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .global_copies import GlobalStore
    from .machine import Machine
    from .order import Order
    from .program import Step
    from .threads import Repeated, Threads

    Array = NDArray[Any]

__all__ = ["Asynchronous", "Barrier", "Store"]

MOST = (1 << 20) - 1
"""Arrivals, and bytes, that an mbarrier counts (PTX ISA 9.7.13.15.2)."""


class Barrier:
    """An mbarrier object: expected and pending arrivals, bytes expected, phase, and what its arrivals make known."""

    __slots__ = (
        "agent",
        "arrived",
        "clocks",
        "done",
        "expected",
        "expecting",
        "init",
        "pending",
        "phase",
        "place",
        "row",
        "shown",
        "tx",
    )
    expected: int
    expecting: Step | None
    place: int
    tx: int
    agent: int
    init: tuple[int, int, Step]
    row: int
    shown: int
    phase: int
    pending: int

    def __init__(
        self, place: int, expected: int, agent: int, order: Order, init: tuple[int, int, Step], row: int
    ) -> None:  # fmt: skip
        """row: of `Asynchronous.used` and `Asynchronous.waited`."""
        self.row = row
        self.place, self.expected, self.pending, self.tx, self.phase = place, expected, expected, 0, 0
        self.agent, self.init, self.shown = agent, init, -1
        self.expecting = None  # the statement that last expected bytes
        self.clocks: Array = np.zeros(order.agents, np.int32)
        self.done: dict[int, Array] = {}
        # By thread of the team: phase of its last arrival, how much it had heard.
        self.arrived: Array = np.full((2, order.threads), -1, np.int32)

    def text(self, machine: Machine, phase: int) -> str:
        """What is missing for a phase that is waited for, in words."""
        where = f"the mbarrier at {machine.byte_of(self.place)}"
        if self.tx < 0:
            bytes_ = f"{-self.tx} bytes more than expected have come (a wrong expect_tx)"
        else:
            bytes_ = f"{self.tx} bytes that were expected have not come" if self.tx else ""
        arrivals = f"{plural(self.pending, 'arrival')} of {self.expected} missing" if self.pending else ""
        missing = " and ".join(one for one in (arrivals, bytes_) if one)
        return f"{where} is in phase {self.phase}, and phase {phase} is waited for: {missing}"

    @property
    def counted(self) -> Step:
        """The statement that says what a phase waits for: of bytes the last expect_tx, of arrivals mbarrier.init."""
        return self.expecting if self.tx and self.expecting is not None else self.init[2]

    def learn(self, clocks: Array) -> None:
        """An arrival makes clocks known."""
        if len(self.clocks) < len(clocks):
            self.clocks = np.concatenate([self.clocks, np.zeros(len(clocks) - len(self.clocks), np.int32)])
        mine = self.clocks[: len(clocks)]
        np.maximum(mine, clocks, out=mine)

    def settle(self) -> bool:
        """Complete the phase if nothing is pending."""
        if self.pending or self.tx:
            return False
        self.done = {
            self.phase: self.clocks,
            **({self.phase - 1: self.done[self.phase - 1]} if self.phase - 1 in self.done else {}),
        }
        self.clocks = np.zeros_like(self.clocks)
        self.phase += 1
        self.pending = self.expected
        return True


class _Flight:
    """An operation in flight: what it does when it arrives, the bytes of shared memory that it writes or reads, how its
    end is known. alone: by nothing, so that it may arrive at any time."""

    __slots__ = (
        "alone", "barriers", "deliver", "granules", "group", "number", "reads", "source_read", "step", "thread",
    )  # fmt: skip
    granules: Array
    number: int
    reads: bool
    step: Step
    thread: int
    barriers: list[tuple[int, int]]
    deliver: Any
    group: int
    source_read: bool
    alone: bool

    def __init__(
        self,
        number: int,
        step: Step,
        thread: int,
        granules: Array,
        reads: bool,
        deliver: Any,
        barriers: list[tuple[int, int]],
    ) -> None:
        self.number, self.step, self.thread, self.granules, self.reads = number, step, thread, granules, reads
        self.deliver, self.barriers, self.group, self.source_read = deliver, barriers, -1, False
        self.alone = False


class Asynchronous:
    """The mbarriers and bulk copies of the resident CTAs."""

    machine: Machine
    relaxed: Relaxed
    meetings: int
    next: int
    waits: int

    def __init__(self, machine: Machine) -> None:
        self.machine, self.relaxed = machine, Relaxed(machine)
        self.barriers: dict[int, Barrier] = {}
        self.occupied: Array = np.zeros(len(machine.shared) // 8 + 1, bool)  # by 8 bytes: whether an mbarrier is there
        self.flights: dict[int, _Flight] = {}
        self.committed: dict[int, int] = {}
        self.agents: dict[int, int] = {}  # team -> how many mbarriers have had an agent
        # By place of an mbarrier its row. There by thread of its team: clock and statement of the last use of what the
        # place holds; the last phase that the thread passed, the number of its first wait.
        self.rows: dict[int, int] = {}
        self.used: Array = np.zeros((0, 2, machine.order.threads), np.int32)
        self.waited: Array = np.full((0, 2, machine.order.threads), -1, np.int64)
        self.waits = 0
        # By thread: place of the mbarrier and phase that it asked for last.
        self.asked: Array = np.full((machine.count, 2), -1, np.int64)
        self.unshown: set[Step] = set()
        self.reducing: dict[int, Array] = {}  # number of a reduction in flight -> the granules
        self.meetings = 0
        self.met_at: Array = np.zeros(machine.count, np.int64)  # by thread: its last meeting with lanes of its warp
        self.met_clock: Array = np.zeros(machine.count, np.int32)
        self.next = 1 << 30

    # --- mbarriers ---

    def initialise(self, step: Step, thread: int, place: int, count: int) -> None:
        machine = self.machine
        if not 1 <= count <= MOST:
            raise Error(f"line {step.line}: {step.text}: the count of an mbarrier is 1 to {MOST}; got {count}")
        if place in self.barriers:
            machine.launch.find(
                "mbarrier",
                step,
                "initialises an mbarrier that is in use: mbarrier.inval must come first",
                np.array([thread]),
                self.barriers[place].init[2],
            )
        team = int(machine.team_of[thread])
        agent = machine.order.threads + self.agents.get(team, 0)
        self.agents[team] = self.agents.get(team, 0) + 1
        if agent >= machine.order.agents:
            machine.order.grow(2 * (agent - machine.order.threads + 1))
        member = int(machine.member_of[thread])
        made = (member, int(machine.order.clock[team, member]), step)
        self.occupied[place >> 3] = True
        self.barriers[place] = Barrier(place, count, agent, machine.order, made, self._row(place))
        machine.order.tick(np.array([team]), np.array([member]))

    def _row(self, place: int) -> int:
        """The row of a place, for a new mbarrier, which nothing has used."""
        row = self.rows.setdefault(place, len(self.rows))
        if row >= len(self.used):
            more = row + 64, *self.used.shape[1:]
            self.used = np.concatenate([self.used, np.zeros(more, np.int32)])
            self.waited = np.concatenate([self.waited, np.full(more, -1, np.int64)])
        self.used[row] = 0
        return row

    def show(self, threads: Threads) -> None:
        """fence.mbarrier_init.release.cluster (9.7.13.5): with the thread's next arrival at the barrier of the cluster,
        relaxed or not, the mbarriers that it has initialised are visible to who waits there."""
        machine = self.machine
        for thread in threads.number.tolist():
            for barrier in self.barriers.values():
                cta = barrier.place // machine.shared_size
                if (
                    barrier.shown < 0
                    and machine.team_of[cta * machine.block_size] == machine.team_of[thread]
                    and (barrier.init[0] == machine.member_of[thread])
                ):
                    barrier.shown = int(machine.cluster_barriers.arrived[thread])

    def signalled(self, place: int) -> None:
        """A bulk copy will signal an mbarrier: its initialisation is to be visible to the async proxy, too (9.7.13.5,
        fence.mbarrier_init; CUDA's own examples have fence.proxy.async). Compilers leave that out without effect."""
        machine, barrier = self.machine, self.barriers[place]
        member, clock, step = barrier.init
        team = np.array([machine.team_of[place // machine.shared_size * machine.block_size]])
        fences = machine.proxy_fences["shared"].clocks
        fenced = fences is not None and (fences[:, team, member] >= clock).any()
        if barrier.shown < 0 and not fenced and step not in self.unshown:
            self.unshown.add(step)
            machine.launch.remark(step, "bulk copies signal this mbarrier: fence.mbarrier_init (or fence.proxy.async) "
                                  "belongs after its initialisation; no effect of its lack is known")  # fmt: skip

    def invalidate(self, step: Step, thread: int, place: int) -> None:
        """mbarrier.inval: no other thread may use the mbarrier any more (9.7.13.15, mbarrier.inval)."""
        machine, found = self.machine, self.barrier(step, np.array([thread]), place)
        if found is None:
            return
        del self.barriers[place]
        used = self.used[found.row]
        self.occupied[place >> 3] = False
        order, team, own = machine.order, int(machine.team_of[thread]), int(machine.member_of[thread])
        users = np.flatnonzero(used[0])
        users = users[users != own]
        clocks = used[0, users]
        late = ~order.ordered(np.full(len(users), team), np.full(len(users), own), users, clocks)
        # What copies and commits do with an mbarrier is over with its last phase, which they belong to.
        over = order.ordered(*(np.array([one]) for one in (team, own, found.agent, found.phase))).all() and not any(
            place == other for flight in self.flights.values() for other, _ in flight.barriers
        )
        for user in users[late].tolist():
            if over and machine.program.steps[int(used[1, user])].statement.root in ("cp", "tcgen05"):
                continue
            if not self._done_with(thread, team * order.threads + user, int(used[0, user])):
                machine.launch.find(
                    "mbarrier", step, f"invalidates an mbarrier that thread {user % machine.block_size} may still "
                    "use: a barrier must come in between", np.array([thread]),
                    machine.program.steps[int(used[1, user])],
                )  # fmt: skip
                return

    def met(self, threads: Threads) -> None:
        """Lanes of warps execute a statement together: what each did before with an mbarrier it has executed."""
        self.meetings += 1
        self.met_at[threads.use] = self.meetings
        self.met_clock[threads.use] = self.machine.order.clock[threads.team, threads.member]

    def _done_with(self, thread: int, user: int, clock: int) -> bool:
        """Whether a user of an mbarrier has then met lanes of its warp, one of which tells a thread of that. This
        orders no memory, but the mbarrier is not accessed any more: cuda::pipeline's last thread relies on it."""
        machine = self.machine
        if machine.cluster_barriers.behind(thread, user, clock):
            return True
        if clock > self.met_clock[user]:
            return False
        lanes = np.flatnonzero(self.met_at == self.met_at[user])
        lanes = lanes[lanes // 32 == user // 32]
        wide = np.full(len(lanes), machine.team_of[thread]), np.full(len(lanes), machine.member_of[thread])
        return bool(machine.order.ordered(*wide, machine.member_of[lanes], self.met_clock[lanes]).any())

    def overwritten(self, step: Step, threads: Threads | Repeated, places: Array, size: int) -> None:
        """Threads write bytes of shared memory: not those of an mbarrier (9.7.13.15, mbarrier.inval)."""
        if none_occupied(self.occupied, places, size):
            return
        near = [self.occupied[places + at >> 3] for at in (*range(0, size, 8), size - 1)]
        if any(one.any() for one in near):
            lane, at = (int(found[0]) for found in np.nonzero(np.stack(near, 1)))
            which = int(places[lane]) + min(8 * at, size - 1) & ~7
            self.machine.launch.find(
                "mbarrier", step, f"writes to the mbarrier at {self.machine.byte_of(which)}: "
                "mbarrier.inval must come before its bytes are used for something else",
                threads.number[lane : lane + 1], self.barriers[which].init[2],
            )  # fmt: skip

    def barrier(self, step: Step, number: Array, place: int) -> Barrier | None:
        """The mbarrier at a place, for threads of one team; one that is not initialised, or not visibly so, is a
        finding."""
        machine, order = self.machine, self.machine.order
        found = self.barriers.get(place)
        if found is None:
            machine.launch.find("mbarrier", step, "the mbarrier is not initialised", number)
            return None
        one, member = int(machine.team_of[number[0]]), machine.member_of[number]
        part = span(member)
        used = self.used[found.row]
        used[0, part], used[1, part] = order.clock[one, part], step.index
        who, clock, made = found.init
        if found.shown < 0 and clock <= order.common[one, who]:  # all threads of the team know
            return found
        team = np.full(len(number), one)
        shown = (found.shown >= 0) & (found.shown < machine.cluster_barriers.waited[number])
        if not shown.all():
            same = np.full(len(number), who), np.full(len(number), clock)
            blind = ~shown & ~order.ordered(team, member, *same)
            if blind.any():
                machine.launch.find(
                    "mbarrier",
                    step,
                    "uses an mbarrier whose initialisation by another thread it does not see: "
                    "a barrier must come in between",
                    number[blind],
                    made,
                )
        return found

    def arrive(
        self, step: Step, number: Array, place: int, counts: Array, expects: Array | None = None, drop: bool = False,
        release: Array | bool = True,
    ) -> Array:  # fmt: skip
        """Arrivals of threads of one team, one after the other; returns for each the state before: phase and pending
        arrivals. expects: the bytes that each expects; release: whether they make known what they have done so far, or
        the clocks that they make known."""
        machine, barrier = self.machine, self.barrier(step, number, place)
        if barrier is None:
            return np.zeros(len(number), np.uint64)
        if isinstance(release, bool):
            self._early(step, number, barrier)
        total = int(counts.sum())
        if total > barrier.pending and len(number) > 1:  # the phase ends among them
            each = [slice(lane, lane + 1) for lane in range(len(number))]
            more = [None if expects is None else expects[one] for one in each]
            return np.concatenate([
                self.arrive(step, number[one], place, counts[one], tx, drop, release) for one, tx in zip(each, more)
            ])  # fmt: skip
        states = barrier.pending - (np.cumsum(counts) - counts) | barrier.phase << 32
        if expects is not None:
            barrier.tx += int(expects.sum())
            barrier.expecting = step
        if total > barrier.pending:
            machine.launch.find("mbarrier", step, f"arrives {total} times where {barrier.pending} arrivals are pending",
                                number)  # fmt: skip
            total = barrier.pending
        barrier.pending -= total
        if drop:
            barrier.expected -= total
        team = int(machine.team_of[number[0]])
        clocks: Array | None
        if isinstance(release, bool):
            make = machine.order.release if release else self.relaxed.released
            clocks = make(team, machine.member_of[number])
        else:
            clocks = release
        if clocks is not None:
            barrier.learn(clocks)
        self.settle(barrier)
        return states.astype(np.uint64)

    def _early(self, step: Step, number: Array, barrier: Barrier) -> None:
        """Threads of one team arrive in a phase that have arrived in the one before, and have heard of no other thread
        since: in another order both arrivals are of that phase. Who knows of all arrivals there made them alone."""
        machine, order = self.machine, self.machine.order
        team, member = int(machine.team_of[number[0]]), machine.member_of[number]
        heard, (phases, before) = order.heard[team, member], barrier.arrived[:, member]
        again = (phases >= 0) & (phases < barrier.phase) & (before == heard)
        made = barrier.done.get(barrier.phase - 1, barrier.clocks)
        for at in np.flatnonzero(again).tolist():
            agents = np.flatnonzero(made)
            wide = np.full(len(agents), team), np.full(len(agents), member[at])
            if not order.ordered(*wide, agents, made[agents]).all():
                machine.launch.find(
                    "mbarrier", step, f"arrives in phase {barrier.phase} of the mbarrier at "
                    f"{machine.byte_of(barrier.place)}, and has waited for nothing since its arrival in phase "
                    f"{phases[at]}: both may count in that phase, which ends too early then", number[at : at + 1],
                )  # fmt: skip
                break
        barrier.arrived[0, member], barrier.arrived[1, member] = barrier.phase, heard

    def settle(self, barrier: Barrier) -> None:
        if barrier.settle():
            self.machine.events += 1

    def overtaken(self, threads: Threads) -> str:
        """Of threads that wait for a parity: whether the phase that comes next for them was over two phases ago."""
        found = []
        for place, row in self.rows.items():
            lasts, first = self.waited[row]
            barrier = self.barriers.get(place)
            team = self.machine.team_of[place // self.machine.shared_size * self.machine.block_size]
            mine = threads.member[threads.team == team]
            for member in mine[(lasts[mine] >= 0) & (lasts[mine] + 1 < barrier.phase - 1)].tolist() if barrier else ():
                found.append((int(first[member]), member, int(lasts[member]), place))
        if not found:
            return ""
        _, member, last, place = min(found)
        return (
            f"; thread {member % self.machine.block_size} last waited for phase {last} of the mbarrier at byte "
            f"{self.machine.byte_of(place)[5:]}; phases {last + 1} and {last + 2} are over, and by its parity "
            "only the current phase and the one before can be waited for"
        )

    def passed(self, barrier: Barrier, number: Array, phase: int, acquire: bool) -> None:
        """Threads of one team have waited for a phase."""
        machine = self.machine
        waited = self.waited[barrier.row]
        part = span(machine.member_of[number])
        waited[0, part] = phase
        waited[1, part] = np.where(waited[1, part] < 0, self.waits, waited[1, part])
        self.waits += 1
        clocks = barrier.done.get(phase)
        known = np.zeros(machine.order.agents, np.int32)
        if clocks is not None:
            known[: len(clocks)] = clocks
        known[barrier.agent] = phase + 1
        learn = machine.order.acquire if acquire else self.relaxed.waited
        learn(int(machine.team_of[number[0]]), machine.member_of[number], known)

    # --- bulk copies ---

    def signalled_text(self, number: int, thread: int) -> str:
        """Of a copy in flight the statements at its mbarrier that decide when a thread takes it for complete, in words:
        what expects its bytes, and the thread's last wait. "" if it signals none."""
        flight = self.flights.get(number)
        found = [self.barriers[place] for place, _ in flight.barriers if place in self.barriers] if flight else []
        if not found:
            return ""
        barrier, machine = found[0], self.machine
        words = [] if barrier.expecting is None else [f"line {barrier.expecting.line} expects bytes"]
        clock, index = self.used[barrier.row, :, machine.member_of[thread]].tolist()
        step = machine.program.steps[index]
        if clock and step.statement.modifiers[:1] in (("try_wait",), ("test_wait",)):
            words.append(f"line {step.line} waits")
        where = f"; at the mbarrier that it signals, which is in phase {barrier.phase}, "
        return where + " and ".join(words) if words else ""

    def reduced(self, granules: Array) -> None:
        """A reduction has come to its end: others of the same places are still in flight."""
        for number, others in self.reducing.items():
            still = np.intersect1d(granules, others)
            if number in self.flights and len(still):
                self.machine.flight[still] = number

    def fly(
        self, step: Step, thread: int, granules: Array, reads: bool, deliver: Any, barriers: list[tuple[int, int]]
    ) -> _Flight:
        """A copy is in flight: it writes granules of shared memory, or reads them."""
        machine = self.machine
        flight = _Flight(self.next, step, thread, granules, reads, deliver, barriers)
        self.next += 1
        self.flights[flight.number] = flight
        if barriers:
            places, sizes = np.array(barriers).T
            machine.launch.synchronised(step, np.full(len(barriers), thread), places, sizes)
        if reads and len(granules):  # a tcgen05.commit has none
            machine.async_reads.begin(granules, flight.number)
        elif len(granules):
            machine.flight[granules] = flight.number
        return flight

    def complete(self, flight: _Flight) -> None:
        """A copy arrives."""
        machine = self.machine
        self.flights.pop(flight.number)
        self.reducing.pop(flight.number, None)
        if not flight.reads:
            still = machine.flight[flight.granules] == flight.number
            machine.flight[flight.granules[still]] = 0
        elif not flight.source_read and len(flight.granules):
            machine.async_reads.end(flight.granules, flight.number)
        flight.deliver()
        for place, size in flight.barriers:
            barrier = self.barriers.get(place)
            if barrier is not None:
                barrier.tx -= size
                self.settle(barrier)
        machine.events += 1

    def complete_one(self) -> bool:
        """Of each team the oldest copy that completes by an mbarrier, or by itself, arrives, so that teams that do the
        same stay together. Returns whether there was one."""
        first: dict[int, _Flight] = {}
        for flight in self.flights.values():
            if flight.barriers or flight.alone:
                first.setdefault(int(self.machine.team_of[flight.thread]), flight)
        carry_out(flight.deliver for flight in first.values())
        if not complete_alike(self, list(first.values())):
            for flight in first.values():
                self.complete(flight)
        return bool(first)

    def commit(self, threads: Threads) -> None:
        for thread in threads.number.tolist():
            number = self.committed.get(thread, 0)
            for flight in self.flights.values():
                if flight.thread == thread and flight.group < 0 and not flight.barriers and not flight.alone:
                    flight.group = number
            self.committed[thread] = number + 1

    def wait(self, threads: Threads, keep: int, sources_only: bool) -> None:
        """cp.async.bulk.wait_group: all but the youngest groups of the thread, or their reads, are done."""
        for thread in threads.number.tolist():
            for flight in list(self.flights.values()):
                if flight.thread == thread and 0 <= flight.group < self.committed.get(thread, 0) - keep:
                    if not flight.source_read:  # a later wait says nothing new of when its source was read
                        self.machine.async_reads.note(flight.granules, np.array([thread]), flight.step)
                    if sources_only and not flight.source_read:
                        self.machine.async_reads.end(flight.granules, flight.number)
                        flight.source_read = True
                        flight.deliver = _once_read(flight.deliver)
                    elif not sources_only:
                        flight.deliver.store.waited = True
                        self.complete(flight)


def _once_read(deliver: Any) -> Any:
    """The source has been read: take the data now, write them when the copy completes."""
    data = deliver.take()
    return Store(lambda: data, deliver.put, deliver.store)


class Store:
    """A copy out of shared memory: `take` reads it, `put` writes global memory. store: what the check of global memory
    knows of it."""

    take: Any
    put: Any
    store: GlobalStore

    def __init__(self, take: Any, put: Any, store: GlobalStore) -> None:
        self.take, self.put, self.store = take, put, store

    def __call__(self) -> None:
        self.put(self.take())
