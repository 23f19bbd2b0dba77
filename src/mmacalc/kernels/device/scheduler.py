"""The order in which the waves of some workgroups run, their barriers, and where each of them is."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...base.arrays import Array
    from .launch import Dim3
    from .undefined import Rows

__all__ = ["PATIENCE", "Waves"]

_NOWHERE = np.iinfo(np.int64).max
PATIENCE = 1024
"""Blocks that are run before the waves of the next one stand back, so that others go on."""


class Waves:
    """The waves of some workgroups, as many of each: rows of a batch.

    seed: of an order in which they run, None for the usual one. groups: where the workgroups are in the grid.
    workgroup_of, wave_in_group: of each wave. ended, waiting: which have ended, or wait at a barrier; back: which stand
    back, until no other can go on. signalled, waited: how often each has arrived at a barrier, and waited at one.
    place: the barrier that each came to last. elsewhere: which of those that wait do so at another barrier than that of
    their workgroup; named: which of these at a named one. freed: those that the last barrier has let go on.
    """

    groups: list[Dim3]

    def __init__(self, groups: list[Dim3], each: int, seed: int | None = None) -> None:
        self.groups, count = groups, each * len(groups)
        self.workgroup_of: Array = np.repeat(np.arange(len(groups)), each)
        self.wave_in_group: Array = np.tile(np.arange(each), len(groups))
        self.ended: Array = np.zeros(count, np.bool_)
        self.waiting: Array = np.zeros(count, np.bool_)
        self.elsewhere: Array = np.zeros(count, np.bool_)
        self.named: Array = np.zeros(count, np.bool_)
        self.back: Array = np.zeros(count, np.bool_)
        self.freed: Array = np.zeros(count, np.bool_)
        self.signalled: Array = np.zeros(count, np.int64)
        self.waited: Array = np.zeros(count, np.int64)
        self.place: Array = np.zeros(count, np.int64)
        self._patience, self._turn = PATIENCE, 0
        self._random = None if seed is None else np.random.default_rng(seed)
        self._ahead: Array = np.ones(count, np.bool_)

    def text(self, number: int) -> str:
        """A wave, as messages name it."""
        place = self.groups[int(self.workgroup_of[number])]
        return f"workgroup ({place.x}, {place.y}, {place.z}), wave {int(self.wave_in_group[number])}"

    def next(self, at: Array) -> tuple[int, Array] | None:
        """The address whose waves run next, and which those are; None if no wave can go on. at: of each wave.

        It is the lowest one, so that waves that took different branches meet behind them; but a loop may wait for what
        other waves do, so that those in it stand back in the end.
        """
        stands = self.ended | self.waiting | self.back
        if stands.all():
            return None
        if self._random is not None:
            stands = ~self._of_turn(~stands, self._random)
        there = np.where(stands, _NOWHERE, at)
        chosen = int(there.min())
        rows = (there == chosen).nonzero()[0]
        if not self._patience:
            self._patience = PATIENCE
            self.back[rows] = True
            return self.next(at)
        self._patience -= 1
        return chosen, rows

    def _of_turn(self, ready: Array, random: np.random.Generator) -> Array:
        """Those that go on in another order: some of the waves for a while, then others."""
        self._turn -= 1
        if self._turn <= 0 or not (ready & self._ahead).any():
            self._turn = int(random.choice([2, 16, 128]))
            own = self.workgroup_of == self.workgroup_of[int(random.choice(np.flatnonzero(ready)))]
            some = random.random(len(ready)) < random.choice([0.1, 0.5])
            self._ahead = (own, own & some, some)[int(random.integers(3))]
        chosen: Array = ready & self._ahead
        return chosen if chosen.any() else ready

    def resume(self) -> bool:
        """Let waves go on that stand back; whether there are any."""
        found = bool((self.back & ~self.ended).any())
        self.back[:] = False
        return found

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
        if self._all_met():
            self.waiting[:], self.freed[:] = False, True
            return list(range(len(self.groups)))
        shape = len(self.groups), -1
        live, waiting = (~self.ended).reshape(shape), (self.waiting & ~self.elsewhere).reshape(shape)
        signalled, waited = self.signalled.reshape(shape), self.waited.reshape(shape)
        least = np.where(live, signalled, signalled.max()).min(axis=1, keepdims=True)
        free = live & waiting & (waited <= least)
        self.waiting[free.ravel()], self.freed = False, free.ravel()
        return [int(workgroup) for workgroup in np.flatnonzero(free.any(axis=1))]

    def _all_met(self) -> bool:
        """Whether all waves of all workgroups wait at the barrier that they have come to equally often."""
        times = int(self.signalled[0])
        return bool(
            self.waiting.all() and not (self.ended.any() or self.elsewhere.any())
            and (self.signalled == times).all() and (self.waited <= times).all()
        )  # fmt: skip

    def live(self, workgroup: int) -> Array:
        """Which waves are of a workgroup and have not ended."""
        found: Array = (self.workgroup_of == workgroup) & ~self.ended
        return found
