"""Reads of shared memory by the async proxy: bulk copies, wgmma, tcgen05.mma.

Of operations that threads of several CTAs issue together each reads the same granules, from a start of its own on, so
that all of them are checked and noted at once.
"""

from __future__ import annotations

import numpy as np

from .memory_bytes import WORDS
from .threads import Repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .program import Step

    Array = NDArray[Any]

__all__ = ["AsyncReads", "Reading"]

ALL_WRITTEN = {size: int.from_bytes(b"\1" * size, "little") for size in (1, 2, 4, 8)}
"""What `Machine.written` holds where all bytes of a word are written."""


class Reading:
    """Granules that asynchronous operations of some threads read: of each the same ones (`alone`), from a start of its
    own on. at: the place of each among the operations of its statement, ascending."""

    __slots__ = ("alone", "at", "starts")
    alone: Array
    starts: Array
    at: Array

    def __init__(self, alone: Array, starts: Array, at: Array) -> None:
        self.alone, self.starts, self.at = alone, np.ascontiguousarray(starts), at

    def where(self, mask: Array) -> Reading:
        """Those of some operations."""
        mine = mask[self.at]
        return Reading(self.alone, self.starts[mine], self.at[mine])

    def holds(self, granule: int) -> bool:
        """Whether a granule is among them."""
        return bool(np.isin(granule - self.starts, self.alone).any())


class AsyncReads:
    """Reads of a machine's shared memory by the async proxy: those in flight, and whether one may be made."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.steps: dict[int, Step] = {}
        self.granules: dict[int, list[tuple[int, Array]]] = {}
        self.alike: dict[int, list[Reading]] = {}

    def begin(self, granules: Array, number: int) -> None:
        """An asynchronous operation reads granules until it completes."""
        self.machine.readers[granules] += 1
        self.steps[number] = self.machine.step
        self.granules.setdefault(number, []).append((number, granules))

    def end(self, granules: Array, number: int) -> None:
        self.machine.readers[granules] -= 1
        self.granules[number] = [entry for entry in self.granules.get(number, []) if entry[1] is not granules]
        if not self.granules[number]:
            del self.granules[number]

    def reader_of(self, granule: int) -> Step | None:
        """The statement of an asynchronous operation that reads a granule."""
        for number, entries in self.granules.items():
            if any((granules == granule).any() for _, granules in entries):
                return self.steps[number]
        for number, readings in self.alike.items():
            if any(one.holds(granule) for one in readings):
                return self.steps[number]
        return None

    def note(self, granules: Array, threads: Array, step: Step) -> None:
        """An asynchronous operation has read granules, and threads know that: each of them may hand it on."""
        machine = self.machine
        team = int(machine.team_of[threads[0]])
        members = machine.member_of[threads]
        machine.shadow.note_completed(granules, team, members, machine.order.clock[team, members].copy(), step.index)

    def check_each(self, step: Step, threads: Array, granules: list[Array]) -> None:
        """The async proxy reads granules on behalf of each of some threads."""
        machine = self.machine
        left = [(thread, mine) for thread, mine in zip(threads.tolist(), granules)
                if not machine.core.may_read(thread, mine)]  # fmt: skip
        if not left:
            return
        number = np.repeat([thread for thread, _ in left], [len(mine) for _, mine in left])
        together = np.concatenate([mine for _, mine in left])
        machine.unread.read(machine.shadow, together)
        if not self.fine(together, number):
            for thread, mine in left:
                self.check(step, thread, mine)

    def fine(self, granules: Array, threads: Array) -> bool:
        """Whether the async proxy may read granules, each on behalf of a thread: all are written, by writes that
        precede it and, where they are of the generic proxy, have a fence behind them."""
        machine = self.machine
        word = WORDS[machine.granule]
        if (
            machine.flight[granules].any()
            or (machine.written.view(word)[granules] != word(ALL_WRITTEN[machine.granule])).any()
        ):
            return False
        shadow = machine.shadow
        writer, clock = shadow.writer[granules], shadow.write_clock[granules]
        generic = shadow.by_generic(granules)
        other = (np.diff(writer) != 0) | (np.diff(clock) != 0) | np.diff(generic) | (np.diff(threads) != 0)
        one = np.flatnonzero(np.concatenate([[True], other]))  # the first of each run of equal writes
        writer, clock, generic, threads = writer[one], clock[one], generic[one], threads[one]
        team, member = machine.team_of[threads], machine.member_of[threads]
        apart = (writer >= 0) & (writer != member)
        if (apart & ~machine.order.ordered(team, member, np.maximum(writer, 0), clock)).any():
            return False
        left = np.flatnonzero(generic & (writer >= 0) & (writer < machine.order.threads))
        return not machine.proxy_fences["shared"].missing(team[left], member[left], writer[left], clock[left]).any()

    def check(self, step: Step, thread: int, granules: Array) -> None:
        """The async proxy reads granules on behalf of a thread."""
        machine = self.machine
        number = np.array([thread])
        if machine.core.may_read(thread, granules):
            return
        machine.unread.read(machine.shadow, granules)
        if self.fine(granules, np.repeat(number, len(granules))):
            return
        flying = machine.flight[granules]
        if flying.any():
            machine.launch.touched_in_flight(
                machine, step, Repeated(machine, thread, len(granules)), granules[:, None], "reads"
            )
        elif not machine.written.reshape(-1, machine.granule)[granules].all():
            bad = granules[~machine.written.reshape(-1, machine.granule)[granules].all(axis=1)]
            byte = machine.byte_of(int(bad[0]) * machine.granule)
            machine.launch.find("uninitialised", step, f"reads {byte}, which nothing has written", number)
        count = len(granules)
        team, member = np.full(count, machine.team_of[thread]), np.full(count, machine.member_of[thread])
        writer, clock = machine.shadow.writer[granules], machine.shadow.write_clock[granules]
        apart = (writer >= 0) & (writer != member)
        wrong = apart & ~machine.order.ordered(team, member, np.maximum(writer, 0), clock)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            who = Repeated(machine, thread, count)
            machine.race(
                step, who, at, int(granules[at]), int(machine.shadow.write_step[granules[at]]), "reads", "wrote"
            )
        dirty = machine.shadow.by_generic(granules) & (writer >= 0) & (writer < machine.order.threads) & ~wrong
        if dirty.any():
            which = np.flatnonzero(dirty)
            dirty[which] = machine.proxy_fences["shared"].missing(
                team[which], member[which], writer[which], clock[which]
            )
        if dirty.any():
            at = int(np.flatnonzero(dirty)[0])
            byte = machine.byte_of(int(granules[at]) * machine.granule)
            other = machine.program.steps[int(machine.shadow.write_step[granules[at]])]
            text = (
                f"reads {byte} by the async proxy, which the statement at line {other.line} wrote by the generic "
                "proxy: fence.proxy.async must come after the write, before the synchronisation"
            )
            machine.launch.find("proxy", step, text, number, other)

    # --- of the threads of several CTAs together ---

    def check_alike(self, step: Step, threads: Array, readings: list[Reading]) -> None:
        """The async proxy reads granules on behalf of threads: as `check_each`."""
        for one in readings:
            if self.machine.core.may_read_alike(threads[one.at], one.starts, one.alone):
                continue
            at, first = np.unique(one.at, return_index=True)
            parts = np.split(one.starts, first[1:])  # of a pair of CTAs a thread has two starts
            granules = [(starts[:, None] + one.alone).reshape(-1) for starts in parts]
            self.check_each(step, threads[at], granules)

    def begin_alike(self, step: Step, readings: list[Reading], number: int) -> None:
        """The operations read granules until they complete."""
        for one in readings:
            self.machine.core.begin_reading(one, 1)
        self.steps[number] = step
        self.alike[number] = readings

    def end_alike(self, readings: list[Reading], number: int, done: Array) -> list[Reading]:
        """Some of the operations (a mask) have read all; those that are left."""
        for one in readings:
            self.machine.core.begin_reading(one.where(done), -1)
        left = [one.where(~done) for one in readings if not done[one.at].all()]
        self.alike[number] = left
        if not left:
            del self.alike[number]
        return left

    def note_alike(self, readings: list[Reading], threads: Array, step: Step) -> None:
        """The operations have read granules, and threads (operation, member) know that: as `note`."""
        machine = self.machine
        for one in readings:
            machine.core.log_reads(one)
            for start, at in zip(one.starts.tolist(), one.at.tolist()):
                team, members = int(machine.team_of[threads[at, 0]]), machine.member_of[threads[at]]
                clocks = machine.order.clock[team, members]
                machine.shadow.log_completed(one.alone, start, team, members, clocks, step.index)
