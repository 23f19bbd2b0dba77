"""Threads that execute a step together, and one that makes many accesses."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from .barriers import WARP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .program import Step

    Array = NDArray[Any]

__all__ = ["Repeated", "Threads"]


class Threads:
    """Threads that execute a step together. number: their numbers in the batch, ascending; use: the same as an index of
    the registers, a slice where it is all threads."""

    __slots__ = ("machine", "number", "use")
    machine: Machine
    number: Array
    use: Any

    def __init__(self, machine: Machine, number: Array, use: Any = None) -> None:
        self.machine, self.number = machine, number
        self.use = use if use is not None else slice(None) if len(number) == machine.count else number

    def __len__(self) -> int:
        return len(self.number)

    @property
    def cta(self) -> Array:
        """The CTA of each, in the batch."""
        found: Array = self.machine.cta_of[self.use]
        return found

    @property
    def lane(self) -> Array:
        found: Array = self.machine.lane_of[self.use]
        return found

    @property
    def team(self) -> Array:
        found: Array = self.machine.team_of[self.use]
        return found

    @property
    def member(self) -> Array:
        """The number of each in its team."""
        found: Array = self.machine.member_of[self.use]
        return found

    def where(self, mask: Array) -> Threads:
        return Threads(self.machine, self.number[mask])

    def warps(self) -> Array | None:
        """The numbers as (warp, 32) where all lanes of each warp take part, else None."""
        number = self.number
        if len(number) % WARP or (len(number) != self.machine.count and (
            (self.lane.reshape(-1, WARP) != np.arange(WARP)).any()
        )):  # fmt: skip
            return None
        return number.reshape(-1, WARP)

    def whole_warps(self, step: Step) -> Array:
        """As `warps`, of a statement that is .aligned.

        Raises:
            Error: lanes of a warp are missing: they have ended, or go another way.
        """
        warps = self.warps()
        if warps is None:
            where = self.machine.launch.thread_text(self.machine, int(self.number[0]))
            raise Error(f"line {step.line}: {step.text}: not all lanes of the warp execute it; {where}")
        return warps


class Repeated(Threads):
    """One thread, as the one that makes many accesses."""

    __slots__ = ()

    def __init__(self, machine: Machine, thread: int, count: int) -> None:
        number = np.full(count, thread)
        super().__init__(machine, number, number)
