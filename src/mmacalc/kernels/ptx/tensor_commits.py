"""Operations of tcgen05 in flight, and tcgen05.commit, by which they complete (PTX ISA 9.0, 9.7.16.6).

Threads of several CTAs that issue an operation at once make one `Operation`, and where their commits complete at once,
so does it: one product on arrays of all those CTAs, which share neither shared memory nor Tensor Memory.
"""

from __future__ import annotations

import numpy as np

from . import mbarriers_alike
from .mbarriers import shared_address
from .order import span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .asynchronous import Asynchronous, Barrier, _Flight
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .reading import Reading
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["BAND", "BANDS", "Operation", "carry_out", "cells_of", "commit", "complete_alike"]

BAND = 16
BANDS = 128 // BAND
"""Lanes that are followed as one, and how many of them a CTA has: a product of 64 rows writes every second band."""
PIPED = ("cp", "shift")
"""Operations that a tcgen05.mma of the same thread follows without a wait (PTX ISA 9.7.16.6.2)."""


def cells_of(cta: Any, bands: Array, columns: Array) -> tuple[Any, Any, Any]:
    """The index of bands of the lanes and columns, both ascending, in a CTA or in some: (..., band, column)."""
    rows, part = _spaced(bands), span(columns)
    if isinstance(rows, slice) and isinstance(part, slice):
        return cta, rows, part
    return (cta[:, None, None] if isinstance(cta, np.ndarray) else cta), bands[:, None], columns


def _spaced(bands: Array) -> Any:
    """Bands as a slice where they are evenly apart: of 64 rows every second one. Slices are several times as fast."""
    first, last = int(bands[0]), int(bands[-1])
    step = int(bands[1]) - first if len(bands) > 1 else 1
    return slice(first, last + 1, step) if bands.tolist() == list(range(first, last + 1, step)) else bands


class Operation:
    """A product or copy in flight of each of some threads, all in CTAs of their own: it is carried out when the
    mbarrier of the thread's commit is waited for. adds: to what its cells hold; whole: whether it writes all lanes of
    its bands."""

    def __init__(  # noqa: PLR0913
        self, machine: Machine, step: Step, threads: Array, ctas: Array, carry_out: Callable[[Array], None],
        cells: tuple[Array, Array], reads: list[Reading], sources: tuple[Array, ...] = (),
    ) -> None:  # fmt: skip
        """ctas: (thread, CTA) that it touches; carry_out: does it for some of the threads, by their indices; cells:
        bands of the lanes and columns that it writes; reads: of shared memory; sources: columns of Tensor Memory
        that it reads."""
        self.machine: Machine = machine
        self.step: Step = step
        self.threads: Array = threads
        self.adds: bool = False
        self.whole: bool = True
        self.ctas: Array = ctas
        self.carry_out: Callable[[Array], None] = carry_out
        self.cells: tuple[Array, Array] = cells
        self.reads: list[Reading] = reads
        self.sources: tuple[Array, ...] = sources
        self.at: dict[int, int] = {thread: at for at, thread in enumerate(threads.tolist())}
        self.number: int = machine.asynchronous.next
        machine.asynchronous.next += 1
        memory = machine.tensor_memory
        index = self._index(ctas)
        memory.busy[index] += 1
        memory.step[index] = step.index
        self.readers: list[list[Any]] = [[] for _ in self.at]
        for columns in sources:
            for mine, thread, own in zip(self.readers, threads.tolist(), ctas.tolist()):
                mine += [(thread, cta, columns, step) for cta in own]
            memory.reading[ctas.reshape(-1)[:, None], :, columns] += 1
        memory.readers += [reader for mine in self.readers for reader in mine]
        if step.statement.modifiers[0] in PIPED:
            for thread in self.at:
                memory.piped.setdefault(thread, {})[self.number] = self
        machine.async_reads.begin_alike(step, reads, self.number)
        for thread in self.at:
            memory.queues.setdefault(thread, []).append(self)

    def _index(self, ctas: Array) -> tuple[Any, Any, Any]:
        """Of what it writes in CTAs: (CTA, band, column)."""
        return cells_of(ctas.reshape(-1), *self.cells)

    def complete(self, commits: list[tuple[int, int | None, int]]) -> None:
        """It is complete for threads, which learn of that by an agent at a clock; without one by themselves."""
        machine, memory = self.machine, self.machine.tensor_memory
        at = np.array([self.at[thread] for thread, _, _ in commits])
        self._touches(self.ctas[at])
        self.carry_out(at)
        for thread, _, _ in commits:
            memory.piped.get(thread, {}).pop(self.number, None)
        agents = [int(machine.member_of[thread]) if agent is None else agent for thread, agent, _ in commits]
        ctas, many = self.ctas[at], self.ctas.shape[1]
        index = self._index(ctas)
        memory.busy[index] -= 1
        memory.writer[index] = np.repeat(agents, many)[:, None, None]
        memory.clock[index] = np.repeat([clock for _, _, clock in commits], many)[:, None, None]
        memory.step[index] = self.step.index
        for columns in self.sources:
            memory.reading[ctas.reshape(-1)[:, None], :, columns] -= 1
        if self.sources:
            over = {id(reader) for number in at.tolist() for reader in self.readers[number]}
            memory.readers = [one for one in memory.readers if id(one) not in over]
        done = np.zeros(len(self.threads), bool)
        done[at] = True
        self.reads = machine.async_reads.end_alike(self.reads, self.number, done)

    def _touches(self, ctas: Array) -> None:
        """Say what it reads and writes of the Tensor Memory of CTAs."""
        unread, index = self.machine.tensor_memory.unread, self._index(ctas)
        for columns in self.sources:
            unread.read(cells_of(ctas.reshape(-1), np.arange(BANDS), columns))
        if self.adds:
            unread.read(index, self.machine.launch.cells.writers[self.step.index])
        elif self.whole:
            unread.replaced(index)
        unread.wrote(index, self.step)


class _Commit:
    """What a tcgen05.commit does when it is complete: so are the operations before it, and it arrives at mbarriers,
    of which `first` is the first. clocks: what its thread knew and had done."""

    def __init__(
        self, machine: Machine, step: Step, thread: int, queue: list[Operation], first: Barrier | None, clocks: Array,
        places: list[int],
    ) -> None:  # fmt: skip
        self.machine, self.step, self.thread, self.queue = machine, step, thread, queue
        self.first, self.clocks, self.places = first, clocks, places

    def learnt(self) -> tuple[int, int | None, int]:
        """The thread, and by which agent at which clock it learns of the end of its operations."""
        return self.thread, *((None, 0) if self.first is None else (self.first.agent, self.first.phase + 1))

    def __call__(self) -> None:
        if self.queue:
            carry_out([self])
        self.tell()
        thread, one = np.array([self.thread]), np.ones(1, np.int64)
        for place in self.places:
            self.machine.asynchronous.arrive(self.step, thread, place, one, release=self.clocks)

    def tell(self) -> None:
        """It says that all earlier products of the thread are complete, those of its earlier commits included."""
        known = self.machine.tensor_memory.commits.setdefault(self.thread, {})
        _, agent, clock = self.learnt()
        if agent is not None:
            known[agent] = clock
        for earlier, phase in known.items():
            self.clocks[earlier] = max(self.clocks[earlier], phase)


def complete_alike(asynchronous: Asynchronous, flights: list[_Flight]) -> bool:
    """Flights, of each team one, complete if they are commits of one statement whose operations are complete, each
    with one mbarrier; whether they were."""
    commits = [one.deliver for one in flights if isinstance(one.deliver, _Commit)]
    if not commits or len(commits) < len(flights):
        return False
    step = commits[0].step
    if any(one.queue or one.step is not step or len(one.places) > 1 or one.first is None for one in commits):
        return False
    number, places = np.array([one.thread for one in commits]), np.array([one.places[0] for one in commits])
    if (number[1:] < number[:-1]).any() or any(
        asynchronous.barriers.get(one.places[0]) is not one.first for one in commits
    ):
        return False
    used = mbarriers_alike.arriving(asynchronous, number, places)
    if used is None:
        return False
    for one in commits:
        one.tell()
    mbarriers_alike.arrive(asynchronous, step, used, [one.clocks for one in commits])
    for flight in flights:
        del asynchronous.flights[flight.number]
    asynchronous.machine.events += len(flights)
    return True


def carry_out(deliveries: Iterable[Any]) -> None:
    """Complete the operations of commits, at most one of a team: those of a thread in their order, and at once what was
    issued at once. Other deliveries are left."""
    complete_queues([(one.queue, one.learnt()) for one in deliveries if isinstance(one, _Commit)])


def complete_queues(queues: list[tuple[list[Operation], tuple[int, int | None, int]]]) -> None:
    """Complete the operations of threads, and empty their queues."""
    while queues := [(queue, learnt) for queue, learnt in queues if queue]:
        heads: dict[int, tuple[Operation, list[Any]]] = {}
        for queue, learnt in queues:
            operation = queue.pop(0)
            heads.setdefault(operation.number, (operation, []))[1].append(learnt)
        for operation, commits in heads.values():
            operation.complete(commits)


def _places(machine: Machine, step: Step, thread: int, at: int, mask: int) -> list[int]:
    """The mbarriers that a commit names: one, or that of each CTA in a mask."""
    one = machine.threads(np.array([thread]))
    targets = [rank << 24 | at & 0xFFFFFF for rank in range(16) if mask >> rank & 1] if mask else [at]
    return [int(machine.shared_places(step, one, np.array([target]), 8)[0]) for target in targets]


def _commit_alike(machine: Machine, step: Step, number: Array, places: Array) -> bool:
    """Threads commit, of each team one, to an mbarrier of their own each; whether that was done."""
    used = mbarriers_alike.uses(machine.asynchronous, number, places)
    if used is None or len(used.members) > 1:
        return False
    used.note(machine.asynchronous, step)
    released = machine.order.release_alike(used.teams, machine.member_of[number])
    none = np.zeros(0, np.int64)
    for thread, place, first, clocks in zip(number.tolist(), places.tolist(), used.barriers, released):
        queue = machine.tensor_memory.queues.pop(thread, [])
        deliver = _Commit(machine, step, thread, queue, first, clocks, [place])
        machine.asynchronous.fly(step, thread, none, True, deliver, [(place, 0)])
    return True


def commit(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.commit: an arrival when the products and copies of the thread so far are complete."""

    operand, *rest = statement.operands
    address = shared_address(compiler, statement, operand)
    mask = compiler.source(rest[0], "u16") if rest else None
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        masks = np.broadcast_to(mask(machine, threads), (len(threads),)) if mask else np.zeros(len(threads), int)
        alone = machine.shared_places(step, threads, at, 8) if not masks.any() else None
        if alone is not None and _commit_alike(machine, step, threads.number, alone):
            return
        own = alone.tolist() if alone is not None else []
        for number, thread in enumerate(threads.number.tolist()):
            places = own[number : number + 1] or _places(machine, step, thread, int(at[number]), int(masks[number]))
            queue = machine.tensor_memory.queues.pop(thread, [])
            barriers = [machine.asynchronous.barrier(step, np.array([thread]), place) for place in places]
            first = next((barrier for barrier in barriers if barrier is not None), None)
            member = machine.member_of[thread : thread + 1]
            released = machine.order.release(int(machine.team_of[thread]), member)
            deliver = _Commit(machine, step, thread, queue, first, released, places)
            machine.asynchronous.fly(
                step, thread, np.zeros(0, np.int64), True, deliver, [(place, 0) for place in places]
            )

    step.run = run
