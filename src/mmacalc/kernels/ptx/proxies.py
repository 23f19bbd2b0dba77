"""Proxy fences: whether one lies on the path from a generic access to an access by the async proxy.

Two accesses of one place by different proxies are ordered only if a proxy fence lies between them on the path of
happens-before (PTX ISA 8.9.1, "proxy-preserved base causality order"). It may stand in the thread that wrote, after
the write and before what that thread releases; in the thread that issues the asynchronous operation, after what it
has acquired; or in a third thread in between. `.shared::cta`, `.shared::cluster` and `.global` restrict a fence to a
state space (9.7.13.5), so each space has fences of its own.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .knowledge import Knowledge
    from .order import Order

    Array = NDArray[Any]

__all__ = ["ProxyFences"]

KEPT = 8
"""Fences of a thread that are remembered."""
MOST = 256
"""Writes of one access that are looked at for a fence in a third thread."""


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
        left = np.flatnonzero(lacks)
        if len(left):
            pairs, back = np.unique(
                np.stack([team[left], observer[left], writer[left], clock[left]], 1), axis=0, return_inverse=True
            )
            if len(pairs) <= MOST:
                through = np.array([self._through_others(*pair) for pair in pairs.tolist()])
                lacks[left] = ~through[back.reshape(-1)]
        return lacks

    def _through_others(self, team: int, observer: int, writer: int, clock: int) -> bool:
        """Whether a thread fenced that knew of the write, and the observer knows of that fence."""
        assert self.clocks is not None
        who = np.flatnonzero(self.rows[team, :, writer] >= clock)
        return self._knows(team, observer, who)

    def _knows(self, team: int, observer: int, who: Array) -> bool:
        """Whether the observer knows of the last fence of one of some threads of its team."""
        assert self.clocks is not None
        if not len(who):
            return False
        wide = np.full(len(who), team), np.full(len(who), observer)
        return bool((self.clocks[0, team, who] <= self.order.knows(*wide, who)).any())

    def missing_beyond(self, knowledge: Knowledge, team: int, observer: int, access: int) -> bool:
        """As `missing`, of one access (see `knowledge`) by a thread of another team. A fence of that thread counts
        where it is still resident, and so does one of the own team after the write was learned of."""
        order, stride = self.order, knowledge.shared.stride
        number, clock = knowledge.decoded(access)
        other, agent = number // stride - knowledge.first_team, number % stride
        if not 0 <= other < len(order.clock):
            return False  # that CTA has ended, and its fences are forgotten
        if self.clocks is None:
            return True
        who, at = np.array([team]), np.array([observer])
        for fence in self.clocks[:, other, agent].tolist():
            if fence >= clock and knowledge.ordered(who, at, np.array([knowledge.coded(number, fence)])).all():
                return False
        for event in knowledge.learned[team]:
            if event.snapshot.knows(np.array([number // stride]), np.array([agent]), np.array([clock])).all():
                knew = self.rows[team, :, event.member] >= event.clock
                knew[event.member] = self.clocks[0, team, event.member] >= event.clock
                if self._knows(team, observer, np.flatnonzero(knew)):
                    return False
        return True
