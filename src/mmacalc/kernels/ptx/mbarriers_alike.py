"""mbarriers that threads of several teams use at once, each team one of its own, the same threads of each team.

So CTAs that run together wait for mbarriers and commit to them: what `Asynchronous` does for one team is done here for
all of them, in arrays over the teams. Where anything is not alike, or is a finding, the functions give None or False
and have changed nothing; `Asynchronous` then goes team by team.
"""

from __future__ import annotations

import numpy as np

from ...base.records import TupleRecord
from .order import across, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .asynchronous import Asynchronous, Barrier
    from .program import Step

    Array = NDArray[Any]

__all__ = ["Uses", "arrive", "arriving", "uses", "wait"]


class Uses(TupleRecord):
    """The mbarrier of each of some teams, ascending, and the threads of each team (by their members) that use it."""

    barriers: list[Barrier]
    teams: Array
    members: Array

    def rows(self) -> tuple[Any, Any]:
        """The index of their rows, and of the threads there."""
        return across(np.array([one.row for one in self.barriers]), span(self.members))

    def note(self, asynchronous: Asynchronous, step: Step) -> None:
        """The threads have used the mbarriers by a statement."""
        clocks = asynchronous.machine.order.clock[across(self.teams, span(self.members))]
        rows, part = self.rows()
        asynchronous.used[rows, 0, part], asynchronous.used[rows, 1, part] = clocks, step.index


def uses(asynchronous: Asynchronous, number: Array, places: Array) -> Uses | None:
    """The mbarriers at places, one of each thread; None if they are not used alike, or one of them is not initialised,
    or not so that all threads of its team know."""
    machine, order = asynchronous.machine, asynchronous.machine.order
    team = machine.team_of[number]
    count = int((team[1:] != team[:-1]).sum()) + 1
    if count == 1 or len(number) % count:
        return None
    teams, at, members = (one.reshape(count, -1) for one in (team, places, machine.member_of[number]))
    if (teams != teams[:, :1]).any() or (at != at[:, :1]).any() or (members != members[:1]).any():
        return None
    barriers = [asynchronous.barriers.get(place) for place in at[:, 0].tolist()]
    found = [one for one in barriers if one is not None and one.shown < 0]
    if len(found) < count:
        return None
    who, clocks = np.array([one.init[:2] for one in found]).T
    if (clocks > order.common[teams[:, 0], who]).any():
        return None
    return Uses(found, teams[:, 0], members[0])


def wait(
    asynchronous: Asynchronous, step: Step, number: Array, places: Array, phase: int, by_parity: bool, acquire: bool
) -> bool | None:  # fmt: skip
    """Threads ask whether a phase is over; whether it is so, for all of them."""
    used = uses(asynchronous, number, places)
    if used is None:
        return None
    current = used.barriers[0].phase
    if any(one.phase != current for one in used.barriers):
        return None
    used.note(asynchronous, step)
    if not (current & 1 != phase if by_parity else phase < current):
        asynchronous.asked[number, 0], asynchronous.asked[number, 1] = places, current if by_parity else phase
        return False
    ended = current - 1 if by_parity else phase
    if ended >= 0:
        _passed(asynchronous, used, ended, acquire)
    return True


def _passed(asynchronous: Asynchronous, used: Uses, phase: int, acquire: bool) -> None:
    """As `Asynchronous.passed`."""
    order, (rows, part) = asynchronous.machine.order, used.rows()
    waits, numbers = asynchronous.waited, asynchronous.waits + np.arange(len(rows))[:, None]
    waits[rows, 0, part] = phase
    before = waits[rows, 1, part]
    waits[rows, 1, part] = np.where(before < 0, numbers, before)
    asynchronous.waits += len(rows)
    known = np.zeros((len(rows), order.agents), np.int32)
    for row, one in zip(known, used.barriers):
        clocks = one.done.get(phase)
        if clocks is not None:
            row[: len(clocks)] = clocks
    known[np.arange(len(rows)), [one.agent for one in used.barriers]] = phase + 1
    if acquire:
        order.acquire_alike(used.teams, used.members, known)
        return
    for team, clocks in zip(used.teams.tolist(), known):
        asynchronous.relaxed.waited(team, used.members, clocks)


def arriving(asynchronous: Asynchronous, number: Array, places: Array) -> Uses | None:
    """As `uses`, of one thread of each team, where an arrival is pending; else None."""
    used = uses(asynchronous, number, places)
    if used is None or len(used.members) > 1 or not all(one.pending for one in used.barriers):
        return None
    return used


def arrive(asynchronous: Asynchronous, step: Step, used: Uses, clocks: list[Array]) -> None:
    """A thread of each team arrives once, and makes clocks known."""
    used.note(asynchronous, step)
    for barrier, made in zip(used.barriers, clocks):
        barrier.pending -= 1
        barrier.learn(made)
        asynchronous.settle(barrier)
