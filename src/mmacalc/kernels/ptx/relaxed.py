"""Relaxed arrivals and waits at mbarriers and at the cluster's barrier: fences around them make them order memory.

A fence that releases, before a relaxed arrival, makes known what its thread did before the fence; a fence that
acquires, after a relaxed wait, learns what was made known there (PTX ISA 8.8 and 8.9, release and acquire patterns;
.sync_restrict leaves the fence to objects in shared memory, such as mbarriers). tcgen05.fence is one for tcgen05
operations (9.7.16.6.4, whose patterns have relaxed mbarriers); that it orders no others is not modelled.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["Relaxed"]


class Relaxed:
    """What threads have released by their last fence, and seen since by relaxed waits: clocks by team and thread."""

    def __init__(self, machine: Machine) -> None:
        self.machine: Machine = machine
        self.used: bool = any(
            step.statement.root in ("mbarrier", "barrier") and "relaxed" in step.statement.modifiers
            for step in machine.program.steps
        )
        self.fenced: dict[tuple[int, int], Array] = {}
        self.seen: dict[tuple[int, int], Array] = {}

    def fence(self, threads: Threads, acquires: bool, releases: bool) -> None:
        """Threads execute a fence."""
        if not self.used:
            return
        order = self.machine.order
        for team, member in zip(threads.team.tolist(), threads.member.tolist()):
            one = np.array([member])
            if acquires and (clocks := self.seen.pop((team, member), None)) is not None:
                order.acquire(team, one, _padded(clocks, order.agents))
            if releases:
                self.fenced[team, member] = order.release(team, one)

    def waited(self, team: int, members: Array, clocks: Array) -> None:
        """Threads of a team have waited, relaxed, for a phase that has made clocks known."""
        for member in members.tolist():
            old = self.seen.get((team, member))
            self.seen[team, member] = clocks if old is None else np.maximum(_padded(old, len(clocks)), clocks)

    def released(self, team: int, members: Array) -> Array | None:
        """What threads of a team make known by a relaxed arrival; None without a fence before."""
        made = [self.fenced[team, one] for one in members.tolist() if (team, one) in self.fenced]
        if not made:
            return None
        agents = self.machine.order.agents
        found: Array = np.max([_padded(one, agents) for one in made], axis=0)
        return found


def _padded(clocks: Array, agents: int) -> Array:
    return np.concatenate([clocks, np.zeros(max(0, agents - len(clocks)), np.int32)])
