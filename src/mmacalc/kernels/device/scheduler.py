"""The order in which the waves of some workgroups run, their barriers, and where each of them is."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...base.arrays import Array
    from .launch import Dim3
    from .undefined import Rows

__all__ = ["PATIENCE", "Waves"]

PATIENCE = 4096
"""Blocks that one group of waves may run while others could, before these have their turn."""


class Waves:
    """The waves of some workgroups, as many of each: rows of a batch.

    groups: where the workgroups are in the grid. workgroup_of, wave_in_group: of each wave. ended, waiting: which have
    ended, or wait at a barrier. signalled, waited: how often each has arrived at a barrier, and waited at one. place:
    the barrier that each came to last.
    """

    groups: list[Dim3]

    def __init__(self, groups: list[Dim3], each: int) -> None:
        self.groups, count = groups, each * len(groups)
        self.workgroup_of: Array = np.repeat(np.arange(len(groups)), each)
        self.wave_in_group: Array = np.tile(np.arange(each), len(groups))
        self.ended: Array = np.zeros(count, np.bool_)
        self.waiting: Array = np.zeros(count, np.bool_)
        self.signalled: Array = np.zeros(count, np.int64)
        self.waited: Array = np.zeros(count, np.int64)
        self.place: Array = np.zeros(count, np.int64)
        self._patience, self._turn = PATIENCE, 0

    def text(self, number: int) -> str:
        """A wave, as messages name it."""
        place = self.groups[int(self.workgroup_of[number])]
        return f"workgroup ({place.x}, {place.y}, {place.z}), wave {int(self.wave_in_group[number])}"

    def next(self, at: Array) -> tuple[int, Array] | None:
        """The address whose waves run next, and which those are; None if no wave can go on. at: of each wave.

        It is the lowest one, so that waves that took different branches meet behind them; but a loop may wait for what
        other waves do, so that these have their turn in the end.
        """
        ready = ~(self.ended | self.waiting)
        if not ready.any():
            return None
        there = at[ready]
        chosen = int(there.min())
        if self._patience <= 0:
            others = np.unique(there)
            self._turn += 1
            chosen = int(others[self._turn % len(others)])
            self._patience = 0 if self._turn % len(others) else PATIENCE
        elif int(there.max()) != chosen:
            self._patience -= 1
        return chosen, np.flatnonzero(ready & (at == chosen))

    def arrive(self, rows: int | Rows, place: int, signals: bool, waits: bool) -> None:
        """Waves arrive at a barrier, or wait at it."""
        if signals:
            self.signalled[rows] += 1
        if waits:
            self.waited[rows] += 1
            self.waiting[rows] = True
            self.place[rows] = place

    def released(self) -> list[int]:
        """Let waves go on whose workgroup has come to the barrier; gives these workgroups.

        Those that have ended do not count, as on the hardware: "If some waves in the threadgroup have already
        terminated, this waits on only the surviving waves" (S_BARRIER in AMD's ISA guides).
        """
        shape = len(self.groups), -1
        live, waiting = (~self.ended).reshape(shape), self.waiting.reshape(shape)
        signalled, waited = self.signalled.reshape(shape), self.waited.reshape(shape)
        least = np.where(live, signalled, signalled.max()).min(axis=1, keepdims=True)
        free = live & waiting & (waited <= least)
        self.waiting[free.ravel()] = False
        return [int(workgroup) for workgroup in np.flatnonzero(free.any(axis=1))]

    def live(self, workgroup: int) -> Array:
        """Which waves are of a workgroup and have not ended."""
        found: Array = (self.workgroup_of == workgroup) & ~self.ended
        return found
