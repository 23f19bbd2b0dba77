"""Reads of shared memory by asynchronous operations that threads of several CTAs issued together: wgmma, tcgen05.mma.

Each operation reads the same granules, from a start of its own on, so that all of them are checked and noted at once.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .program import Step

    Array = NDArray[Any]

__all__ = ["Reading", "begin", "check", "end", "note"]


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


def check(machine: Machine, step: Step, threads: Array, readings: list[Reading]) -> None:
    """The async proxy reads granules on behalf of threads: as `Machine.check_async_reads`."""
    for one in readings:
        if machine.core.may_read_alike(threads[one.at], one.starts, one.alone):
            continue
        at, first = np.unique(one.at, return_index=True)
        parts = np.split(one.starts, first[1:])  # of a pair of CTAs a thread has two starts
        granules = [(starts[:, None] + one.alone).reshape(-1) for starts in parts]
        machine.check_async_reads(step, threads[at], granules)


def begin(machine: Machine, step: Step, readings: list[Reading], number: int) -> None:
    """The operations read granules until they complete."""
    for one in readings:
        machine.core.begin_reading(one, 1)
    machine.reading[number] = step
    machine.readings[number] = readings


def end(machine: Machine, readings: list[Reading], number: int, done: Array) -> list[Reading]:
    """Some of the operations (a mask) have read all; those that are left."""
    for one in readings:
        machine.core.begin_reading(one.where(done), -1)
    left = [one.where(~done) for one in readings if not done[one.at].all()]
    machine.readings[number] = left
    if not left:
        del machine.readings[number]
    return left


def note(machine: Machine, readings: list[Reading], threads: Array, step: Step) -> None:
    """The operations have read granules, and threads (operation, member) know that: as `Machine.note_reads`."""
    for one in readings:
        machine.core.log_reads(one)
        for start, at in zip(one.starts.tolist(), one.at.tolist()):
            team, members = int(machine.team_of[threads[at, 0]]), machine.member_of[threads[at]]
            clocks = machine.order.clock[team, members]
            machine.shadow.log_completed(one.alone, start, team, members, clocks, step.index)
