"""Clusters: their barrier, and addresses in the shared memory of other CTAs (PTX ISA 9.7.13.4, 9.7.9.22, 9.7.9.23)."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error, plural
from .accesses import SHARED_BASE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["BUILDERS", "ClusterBarriers", "RemoteAccesses", "cluster_barrier"]


class ClusterBarriers:
    """The barrier of each cluster: who has arrived for the next phase, and what that makes known."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        teams = len(machine.order.clock)
        self.arrived: Array = np.zeros(machine.count, np.int64)  # how often each thread has arrived
        self.waited: Array = np.zeros(machine.count, np.int64)
        self.arrived_at: Array = np.full(machine.count, -1, np.int32)  # the clock of each thread when it last arrived
        self.phase: Array = np.zeros(teams, np.int64)
        self.clocks: dict[int, Array] = {}
        # By cluster, the threads that have come to .aligned arrivals of this phase, by the step's index.
        self.aligned: dict[int, dict[int, list[Array]]] = {}
        self.done: dict[int, Array] = {}

    def arrive(self, step: Step, threads: Threads, release: bool) -> None:
        machine = self.machine
        twice = self.arrived[threads.number] > self.waited[threads.number]
        if twice.any():
            machine.launch.find("barrier", step, "arrives again at the cluster barrier without barrier.cluster.wait",
                                threads.number[twice])  # fmt: skip
        self.arrived[threads.number] += 1
        self.arrived_at[threads.number] = machine.order.clock[threads.team, threads.member]
        if not release:  # what a thread does from now on is later than its arrival
            machine.order.tick(threads.team, threads.member)
        for team in np.unique(threads.team).tolist():
            some = threads.where(threads.team == team)
            if "aligned" in step.statement.modifiers:
                self.aligned.setdefault(team, {}).setdefault(step.index, []).append(some.number)
            # A relaxed arrival makes known what a fence before it has released (9.7.13.3, barrier.cluster).
            made = machine.order.release(int(team), some.member) if release else machine.knowledge.fenced_row(some)
            fenced = None if release else machine.asynchronous.relaxed.released(int(team), some.member)
            for clocks in (made, fenced):
                if clocks is None:
                    continue
                old = self.clocks.get(team)
                self.clocks[team] = clocks if old is None else np.maximum(_padded(old, clocks), clocks)
            self.settle(int(team))

    def settle(self, team: int) -> None:
        """Complete the phase if every thread of the cluster that lives has arrived."""
        machine = self.machine
        mine = (machine.team_of == team) & machine.alive
        if mine.any() and (self.arrived[mine] > self.phase[team]).all():
            self.phase[team] += 1
            for index, numbers in self.aligned.pop(team, {}).items():
                machine.barriers.check_aligned(machine.program.steps[index], np.concatenate(numbers))
            self.done[team] = self.clocks.pop(team, np.zeros(machine.order.agents, np.int32))
            machine.events += 1

    def missing(self, threads: Threads) -> list[str]:
        """Who has not come to the barrier that threads wait at, in words."""
        machine, team = self.machine, int(threads.team[0])
        late = (machine.team_of == team) & machine.alive & (self.arrived <= self.phase[team])
        number = np.flatnonzero(late)
        if not len(number):
            return []
        where = machine.launch.cta_of(machine, int(number[0]))
        return [f"{plural(len(number), 'thread')} of the cluster, the first in CTA {where}, have not arrived at its "
                "barrier"]  # fmt: skip

    def behind(self, thread: int, other: int, clock: int) -> bool:
        """Whether a thread has waited for an arrival before which another executed what it did at a clock: where both
        are relaxed that orders no memory, but the other has executed it."""
        return bool(0 < self.arrived[other] <= self.waited[thread] and clock <= self.arrived_at[other])

    def wait(self, step: Step, threads: Threads, acquire: bool) -> Array | None:
        machine = self.machine
        early = self.arrived[threads.number] <= self.waited[threads.number]
        if early.any():
            machine.launch.find(
                "barrier", step, "waits at the cluster barrier without having arrived", threads.number[early]
            )
        for team in np.unique(threads.team).tolist():
            self.settle(int(team))
        through = self.phase[threads.team] > self.waited[threads.number]
        for team in np.unique(threads.team[through]).tolist():
            some = threads.number[(threads.team == team) & through]
            if acquire:
                machine.order.acquire(
                    int(team), machine.member_of[some], _padded(self.done[team], machine.order.clock[0])
                )
        self.waited[threads.number[through]] += 1
        return None if through.all() else ~through


class RemoteAccesses:
    """Accesses to the shared memory of other CTAs of a cluster: these must have started, and not have ended.

    A CTA has started for a thread that knows of any step of it, through a barrier of the cluster (CUDA C++ Programming
    Guide, "Distributed shared memory"); it may end when one of its threads knows of all accesses to it.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        # CTA -> by thread of the cluster the clock of its last access, 0 for none, and its statement
        self.last: dict[int, tuple[Array, Array]] = {}

    def note(self, step: Step, threads: Threads, cta: Array) -> None:
        """Threads access the shared memory of CTAs, some of them other than their own."""
        machine = self.machine
        apart = cta != threads.cta
        for one in np.unique(cta[apart]).tolist():
            some = threads.where(apart & (cta == one))
            team, member = some.team, some.member
            first = machine.member_of[one * machine.block_size]
            others = np.arange(first, first + machine.block_size)
            if not machine.alive[one * machine.block_size + np.arange(machine.block_size)].any():
                self._ended(step, some.number, one)
                continue
            knows = (machine.order.common[team][:, others] > 0).any(axis=1)
            if machine.order.known is not None:
                knows |= (machine.order.known[team, member][:, others] > 0).any(axis=1)
            knows |= machine.cluster_barriers.waited[some.number] > 0  # also of relaxed arrivals
            if not knows.all():
                where = machine.launch.cta_of(machine, one * machine.block_size)
                machine.launch.find(
                    "race", step, f"touches shared memory of CTA {where} of its cluster, which may not have started: "
                    "a barrier of the cluster must come before", some.number[~knows],
                )  # fmt: skip
            clocks, steps = self.last.setdefault(
                one, (np.zeros(machine.order.threads, np.int32), np.zeros(machine.order.threads, np.int32))
            )
            clocks[member], steps[member] = machine.order.clock[team, member], step.index

    def ended(self, threads: Threads) -> None:
        """Threads have ended: what others did to the memory of a CTA must precede the end of its last thread."""
        machine = self.machine
        for cta in [one for one in self.last if (threads.cta == one).any()]:
            mine = cta * machine.block_size + np.arange(machine.block_size)
            if machine.alive[mine].any():
                continue
            clocks, steps = self.last.pop(cta)
            team, who = int(machine.team_of[mine[0]]), np.flatnonzero(clocks)
            known = machine.order.common[team, who]
            if machine.order.known is not None:
                known = np.maximum(known, machine.order.known[team, machine.member_of[mine]][:, who].max(axis=0))
            late = who[known < clocks[who]]
            if len(late):
                base = cta // machine.launch.cluster_size * machine.launch.cluster_size * machine.block_size
                self._ended(machine.program.steps[int(steps[late[0]])], base + late, cta)

    def _ended(self, step: Step, number: Array, cta: int) -> None:
        machine = self.machine
        where = machine.launch.cta_of(machine, cta * machine.block_size)
        machine.launch.find(
            "race", step, f"touches shared memory of CTA {where} of its cluster, which does not wait for that before "
            "it ends: a barrier of the cluster must come after", number,
        )  # fmt: skip


def _padded(clocks: Array, like: Array) -> Array:
    return clocks if len(clocks) == len(like) else np.concatenate([clocks, np.zeros(len(like) - len(clocks), np.int32)])


def cluster_barrier(compiler: Compiler, statement: Statement, step: Step) -> None:
    """barrier.cluster.arrive and wait."""
    words = statement.modifiers
    release, waits = "relaxed" not in words, "wait" in words
    if not waits and "arrive" not in words:
        raise Error(f"{statement.opcode} is not covered")

    if waits:
        step.run = lambda machine, threads: machine.cluster_barriers.wait(step, threads, True)
    else:
        step.run = lambda machine, threads: machine.cluster_barriers.arrive(step, threads, release)


def _map_address(compiler: Compiler, statement: Statement, step: Step) -> None:
    """mapa: the address of the same variable in another CTA of the cluster."""
    type_ = statement.modifiers[-1]
    shared = any(word.startswith("shared") for word in statement.modifiers)
    target, a, rank = statement.operands
    sink, source, ranks = compiler.sink(target, type_), compiler.source(a, type_), compiler.source(rank, "u32")

    def run(machine: Machine, threads: Threads) -> None:
        address = source(machine, threads).astype(np.int64) - (0 if shared else SHARED_BASE)
        found = ranks(machine, threads).astype(np.int64) << 24 | address & 0xFFFFFF
        value = found + (0 if shared else SHARED_BASE)
        sink(machine, threads, value.astype(np.uint64 if type_[1:] == "64" else np.uint32))

    step.run = run


def _rank_of(compiler: Compiler, statement: Statement, step: Step) -> None:
    """getctarank."""
    type_ = statement.modifiers[-1]
    sink, source = compiler.sink(statement.operands[0], "u32"), compiler.source(statement.operands[1], type_)

    def run(machine: Machine, threads: Threads) -> None:
        window = source(machine, threads).astype(np.int64) >> 24 & 0xFF
        sink(machine, threads, window.astype(np.uint32))

    step.run = run


BUILDERS = {"mapa": _map_address, "getctarank": _rank_of}
