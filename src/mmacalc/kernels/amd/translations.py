"""XCNT of gfx1250: the accesses of memory whose addresses may not be translated yet.

An access whose address cannot be translated is issued again later, so until then nothing may overwrite the registers
that it reads: its address, its data and, of vector accesses, EXEC. XCNT counts these accesses.

Sources: the waits that LLVM 22 inserts (SIInsertWaitcnts; for EXEC the only one), and of LLVM's pull requests 145566
(what is tracked; vector accesses are translated in order, scalar ones are not), 145688 (the hardware waits for 0
between scalar and vector accesses), 164357 (a vector access may overwrite what an earlier one reads; one that has
ended is translated), 198823 (barriers, messages and jumps wait for 0). LLVM 22 waits in more places: it does not take
it that a store is translated where a later load has ended. For asynchronous loads into LDS it inserts none, and whether
these need one is open: they are not tracked.
"""

from __future__ import annotations

import numpy as np

from ...records import TupleRecord
from .state import EXEC, SCALARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...arrays import Array
    from .counters import Counters
    from .program import Step
    from .state import Group

__all__ = ["Translation", "Translations"]

COUNTER = "xcnt"
UNTRACKED = ("", "lds", "async")
DRAINS = ("s_branch", "s_cbranch", "s_call", "s_set_pc", "s_swap_pc", "s_barrier", "s_sendmsg", "s_endpgm")


class Translation(TupleRecord):
    """An access: its instruction, whether it is a scalar one, the registers that it reads, and its numbers by wave.

    numbers: on XCNT, 0 where it is translated; counts: on the counters of its result.
    """

    address: int
    scalar: bool
    reads: frozenset[int]
    numbers: Array
    counts: dict[str, Array]


class Translations:
    """The accesses of a batch of waves that may not be translated yet."""

    counters: Counters

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.issued: Array = np.zeros(counters.waves, np.int64)
        self.pending: list[Translation] = []
        self.read: set[int] = set()

    def before(self, step: Step, group: Group) -> Translation | None:
        """The last access whose registers an instruction overwrites too early; it counts as translated then."""
        if not self.pending:
            return None
        if step.instruction.name.startswith(DRAINS):
            self._end(group, self.issued, lambda one: True)
            return None
        vector = step.count not in ("scalar", *UNTRACKED)
        if step.count == "scalar" or vector:
            self._end(group, self.issued, lambda one: one.scalar == vector)
        if self.read.isdisjoint(step.writes):
            return None
        for one in reversed(self.pending):
            if not one.reads.isdisjoint(step.writes) and one.numbers[group.rows].any():
                self._end(group, one.numbers.copy(), lambda other: other is one or not other.scalar)  # noqa: B023 - ends here
                return None if vector else one
        return None

    def after(self, step: Step, group: Group) -> None:
        """Enter an access."""
        if step.count in UNTRACKED:
            return
        self.issued[group.rows] += 1
        numbers = np.zeros_like(self.issued)
        numbers[group.rows] = self.issued[group.rows]
        scalar = step.count == "scalar"
        reads = step.reads if scalar else step.reads | {SCALARS + EXEC, SCALARS + EXEC + 1}
        counts = {name: self.counters.issued[name].copy() for name in self.counters.kinds[step.count]}
        self.pending.append(Translation(step.instruction.address, scalar, reads, numbers, counts))
        self.read |= reads

    def wait(self, group: Group, name: str, number: int) -> None:
        """A wait until at most `number` accesses of a counter are outstanding."""
        if not self.pending:
            return
        if name == COUNTER:
            scalar = any(one.scalar and one.numbers[group.rows].any() for one in self.pending)
            if not (number and scalar):
                self._end(group, self.issued - number, lambda one: True)
            return
        reached = np.zeros_like(self.issued)
        for one in self.pending:
            if name in one.counts and not (number and one.scalar):
                ended = one.counts[name] <= self.counters.issued[name] - number
                if one.scalar:
                    one.numbers[group.rows] = 0
                else:
                    reached = np.maximum(reached, np.where(ended, one.numbers, 0))
        self._end(group, reached, lambda one: not one.scalar)

    def _end(self, group: Group, last: Array, which: Any) -> None:
        """Those up to a number, by wave, are translated."""
        for one in self.pending:
            if which(one):
                own = one.numbers[group.rows]
                one.numbers[group.rows] = np.where(own <= last[group.rows], 0, own)
        self.pending = [one for one in self.pending if one.numbers.any()]
        self.read = set().union(*[one.reads for one in self.pending])
