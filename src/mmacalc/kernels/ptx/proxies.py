"""Proxy fences: whether one lies on the path from a generic access to an access by the async proxy.

Two accesses of one place by different proxies are ordered only if a proxy fence lies between them on the path of
happens-before (PTX ISA 8.6, "Proxies", and 8.9.5, "proxy-preserved base causality order"). It may stand in the thread
that wrote, after the write and before what that thread releases; in the thread that issues the asynchronous operation,
after what it has acquired; or in a third thread in between, of the same team or another. `.shared::cta`,
`.shared::cluster` and `.global` restrict a fence to a state space (9.7.13.5), so each space has fences of its own.
"""

from __future__ import annotations

import numpy as np

from .knowledge import AGENT, CLOCK, MOST_CLOCK, NO_STEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .knowledge import Knowledge, Learned
    from .order import Order

    Array = NDArray[Any]

__all__ = ["EndedFences", "ProxyFences"]

KEPT = 8
"""Fences of a thread that are remembered."""


class ProxyFences:
    """The fences between generic and async proxy of one state space, by team and thread.

    clocks: those of the last fences, newest first, (fence, team, thread). rows: what each thread knew at its last
    one, (team, thread, agent).
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.clocks: Array | None = None
        self._rows: Array = np.zeros((0, 0, 0), np.int32)
        self._alike: Array | None = None  # what all threads of each team knew, if they all fenced last: (team, agent)

    def fence(self, team: Array, threads: Array, before: Array) -> None:
        """Threads fence; `before` are their clocks up to which their own accesses precede the fence."""
        order = self.order
        if self.clocks is None:
            self.clocks = np.zeros((KEPT, len(order.clock), order.threads), np.int32)
            self._rows = np.zeros((len(order.clock), order.threads, order.agents), np.int32)
        if len(team) == order.clock.shape[0] * order.threads:  # all threads, without a copy by index
            self.clocks[1:] = self.clocks[:-1]
            self.clocks[0, team, threads] = before
            self._alike = order.common.copy() if order.known is None else None
            if order.known is not None:
                self._rows = order.known.copy()
            return
        self.clocks[1:, team, threads] = self.clocks[:-1, team, threads]
        self.clocks[0, team, threads] = before
        self.rows[team, threads] = order.common[team] if order.known is None else order.known[team, threads]

    def knew(self, team: int, members: Array) -> Array:
        """What threads of a team knew at their last fences: (thread, agent)."""
        if self._alike is not None:
            return np.broadcast_to(self._alike[team], (len(members), self._alike.shape[1]))
        found: Array = self.rows[team, members]
        return found

    @property
    def rows(self) -> Array:
        """What each thread knew at its last fence, (team, thread, agent)."""
        if self._alike is not None:
            teams, agents = self._alike.shape
            self._rows = np.broadcast_to(self._alike[:, None], (teams, self.order.threads, agents)).copy()
            self._alike = None
        if self._rows.shape[2] < self.order.agents:
            more = np.zeros((*self._rows.shape[:2], self.order.agents - self._rows.shape[2]), np.int32)
            self._rows = np.concatenate([self._rows, more], 2)
        return self._rows

    def missing(self, team: Array, observer: Array, writer: Array, clock: Array) -> Array:
        """Of writes that happen before what `observer` does now, by threads of its team at clocks: those without a
        fence in between. Arrays of one shape."""
        if self.clocks is None:
            return np.ones(len(writer), bool)
        known = self.order.knows(team, observer, writer)
        fences = self.clocks[:, team, writer]
        lacks: Array = ~((fences >= clock) & (fences <= known)).any(axis=0)
        if lacks.any():
            for one, at in np.unique(np.stack([team[lacks], observer[lacks]], 1), axis=0).tolist():
                left = np.flatnonzero(lacks & (team == one) & (observer == at))
                lacks[left] = ~self._through_others(one, at, writer[left], clock[left])
        return lacks

    def _through_others(self, team: int, observer: int, writer: Array, clock: Array) -> Array:
        """Whether a thread fenced that knew of each write, and the observer knows of that fence."""
        who = self._known_fences(team, observer)
        found: Array = (self.knew(team, who)[:, writer] >= clock).any(axis=0)
        return found

    def _known_fences(self, team: int, observer: int) -> Array:
        """The threads of a team of whose last fence one of them knows."""
        assert self.clocks is not None
        who = np.flatnonzero(self.clocks[0, team])
        wide = np.full(len(who), team), np.full(len(who), observer)
        found: Array = who[self.clocks[0, team, who] <= self.order.knows(*wide, who)]
        return found

    # --- from team to team ---

    def missing_beyond(self, knowledge: Knowledge, team: int, observer: int, accesses: Array) -> Array:
        """As `missing`, of accesses (see `knowledge`) by threads of any team: the fence may stand in the team that
        wrote, in that of the observer, or in one between them."""
        stride = knowledge.shared.stride
        number, clock = (accesses >> AGENT) - 1, accesses >> CLOCK & MOST_CLOCK
        group, agent = number // stride, number % stride
        lacks = np.ones(len(accesses), bool)
        here = knowledge.first_team
        for one in self._teams_known(knowledge, team, group):
            fences: ProxyFences | EndedFences = self
            row = one - here
            if 0 <= row < len(self.order.clock):
                learned = knowledge.learned[row]
            elif one in knowledge.shared.ended_fences:
                fences = ended = knowledge.shared.ended_fences[one]
                learned, row = ended.learned, 0
            else:
                continue
            if fences.clocks is None:
                continue
            own = np.flatnonzero(lacks & (group == one))
            for each in fences.clocks[:, row, agent[own]]:
                known = (each >= clock[own]) & self._observed(knowledge, team, observer, one, agent[own], each)
                lacks[own[known]] = False
            who = np.flatnonzero(fences.clocks[0, row])
            who = who[self._observed(knowledge, team, observer, one, who, fences.clocks[0, row, who])]
            knew, left = fences.knew(row, who), np.flatnonzero(lacks)
            if not len(who) or not len(left):
                continue
            mine = left[group[left] == one]
            lacks[mine] = ~(knew[:, agent[mine]] >= clock[mine]).any(axis=0)
            for event in learned:
                since = knew[:, event.member] >= event.clock
                since |= (who == event.member) & (fences.clocks[0, row, who] >= event.clock)
                if since.any():
                    lacks[left] &= ~event.snapshot.knows(group[left], agent[left], clock[left])
        return lacks

    @staticmethod
    def _teams_known(knowledge: Knowledge, team: int, groups: Array) -> list[int]:
        """The teams of the grid in which a fence may stand that a team knows of: those that wrote, its own, and those
        that it has learned of."""
        found = {*groups.tolist(), team + knowledge.first_team}
        for event in knowledge.learned[team]:
            found.update(event.snapshot.rows)
        return sorted(found)

    @staticmethod
    def _observed(knowledge: Knowledge, team: int, observer: int, group: int, agents: Array, clocks: Array) -> Array:
        """Of which fences, by threads of a team of the grid at clocks, an observer knows."""
        values = (group * knowledge.shared.stride + agents.astype(np.int64) + 1) << AGENT
        values |= np.minimum(clocks, MOST_CLOCK).astype(np.int64) << CLOCK | NO_STEP
        return knowledge.ordered(np.full(len(agents), team), np.full(len(agents), observer), values)

    def ended(self, knowledge: Knowledge) -> dict[int, EndedFences]:
        """What is kept of the fences of teams that have ended, by team of the grid."""
        if self.clocks is None:
            return {}
        teams = np.flatnonzero(self.clocks[0].any(axis=1)).tolist()
        return {one + knowledge.first_team: EndedFences(self, one, knowledge.learned[one]) for one in teams}


class EndedFences:
    """The fences of a team that has ended, as `ProxyFences` of this one team. learned: what it knew of others."""

    __slots__ = ("_members", "_rows", "clocks", "learned")
    clocks: Array
    learned: list[Learned]

    def __init__(self, fences: ProxyFences, team: int, learned: list[Learned]) -> None:
        assert fences.clocks is not None
        self.clocks = fences.clocks[:, team : team + 1].copy()
        self._members = np.flatnonzero(self.clocks[0, 0])
        self._rows, self.learned = fences.knew(team, self._members).copy(), learned

    def knew(self, team: int, members: Array) -> Array:
        """As `ProxyFences.knew`, of threads that have fenced."""
        del team
        found: Array = self._rows[np.searchsorted(self._members, members)]
        return found
