"""tcgen05.fence: whether it stands on both sides of the barrier that orders two threads' uses of Tensor Memory.

An asynchronous tcgen05 operation of one thread is ordered before one of another thread by
tcgen05.fence::before_thread_sync after the first, a barrier or an mbarrier, and tcgen05.fence::after_thread_sync before
the second (PTX ISA 9.0, 9.7.16.6.3, and the patterns of 9.7.16.6.4). tcgen05.commit stands for the first of the fences
(9.7.16.6.4.1); operations that form a pipeline in one thread need none. No compiler that was looked at emits either
fence (Triton 3.9, CUTLASS's tutorials and CuTe's DSL for sm_100a), and no effect of that is known: their lack is a
note, not an error.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .order import Order

    Array = NDArray[Any]

__all__ = ["AFTER", "BEFORE", "ThreadFences"]

KEPT = 8
"""Fences of a thread that are remembered."""
RULE = "by PTX (9.7.16.6); compilers leave it out, without a known effect"
AFTER = (
    "tcgen05.fence::after_thread_sync belongs before this and after the wait that orders it behind asynchronous "
    f"tcgen05 operations on the same Tensor Memory, {RULE}"
)
BEFORE = (
    "tcgen05.fence::before_thread_sync belongs after this (and its tcgen05.wait) and before the barrier that tells "
    f"another thread, which uses the same Tensor Memory, {RULE}"
)


class ThreadFences:
    """The tcgen05 fences of the threads of every team.

    before: the clocks of each thread's last fences ::before_thread_sync, newest first, (fence, team, thread). after:
    by team and thread, what the thread knew of every agent at its last fence ::after_thread_sync.
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.before: Array = np.zeros((0, 0, 0), np.int32)
        self.after: dict[tuple[int, int], Array] = {}

    def release(self, team: Array, threads: Array) -> None:
        """tcgen05.fence::before_thread_sync."""
        if not self.before.size:
            self.before = np.zeros((KEPT, len(self.order.clock), self.order.threads), np.int32)
        self.before[1:, team, threads] = self.before[:-1, team, threads]
        self.before[0, team, threads] = self.order.clock[team, threads]

    def acquire(self, team: Array, threads: Array) -> None:
        """tcgen05.fence::after_thread_sync."""
        order = self.order
        known = order.common[team] if order.known is None else order.known[team, threads]
        for key, row in zip(zip(team.tolist(), threads.tolist()), known):
            self.after[key] = row.copy()

    def lacking(self, team: int, observer: int, agent: Array, clock: Array) -> tuple[Array, Array]:
        """Of what agents of a team did at clocks, all of it known to a thread: what the thread has learned of since its
        last fence ::after_thread_sync, and what no ::before_thread_sync follows in the thread that did it."""
        row = self.after.get((team, observer), np.zeros(0, np.int32))
        fenced = np.zeros(len(agent), np.int32)
        seen = agent < len(row)  # mbarriers that are younger than the fence are not
        fenced[seen] = row[agent[seen]]
        unannounced = agent < self.order.threads  # an mbarrier's operations are those of tcgen05.commit
        if self.before.size:
            which = np.flatnonzero(unannounced)
            wide = np.full(len(which), team), np.full(len(which), observer)
            known = self.order.knows(*wide, agent[which])
            fences = self.before[:, team, agent[which]]
            unannounced[which] = ~((fences >= clock[which]) & (fences <= known)).any(axis=0)
        return fenced < clock, unannounced
