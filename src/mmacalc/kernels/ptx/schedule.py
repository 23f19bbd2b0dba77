"""Orders of the warps that PTX permits, by a seed: which warps go on, and for how long.

A schedule has one of three characters, by its seed: warps mixed at random; one warp after the other, each as far as it
can go, so that it is as far ahead of all others as synchronisation lets it be; one warp after the other, a few steps
each. A warp is the same one of every CTA, so that many threads run together still.
"""

from __future__ import annotations

import numpy as np

from .machine import PATIENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine

    Array = NDArray[Any]

__all__ = ["NEVER", "Schedule"]

NEVER = 1 << 60
"""A step that no kernel has."""
MIXED, AHEAD, FINE = range(3)


class Schedule:
    """The order of a launch. ranks: the program's; unit: the threads that are kept together, a warp or a warpgroup."""

    ranks: list[int]
    block: int
    unit: int
    character: int
    early: float
    random: np.random.Generator
    current: int | None

    def __init__(self, seed: int, ranks: list[int], block: int, unit: int) -> None:
        self.random, self.ranks, self.block, self.unit = np.random.default_rng(seed), ranks, block, unit
        self.character = (AHEAD, MIXED, FINE)[seed % 3]
        self.early = float(self.random.choice([0.0, 0.2])) if self.character == AHEAD else 0.2
        self.current = None

    def completes(self) -> bool:
        """Whether an operation in flight completes now."""
        return bool(self.random.random() < self.early)

    def _units(self, number: Array) -> Array:
        found: Array = number % self.block // self.unit
        return found

    def _numbered(self, number: Array) -> Array:
        """The warps or warpgroups of threads, counted over all CTAs."""
        found: Array = number // self.block * -(-self.block // self.unit) + self._units(number)
        return found

    def choose(self, groups: Mapping[int, list[Array]]) -> int:
        """The step that goes on: the lowest of the warp that is to go on, so that its lanes meet again."""
        steps = sorted(groups, key=self.ranks.__getitem__)
        if self.current is None or self.character != AHEAD:
            self.current = self._any_of(groups, steps)
        found = self._lowest(groups, steps)
        if found is None:
            self.current = self._any_of(groups, steps)
            found = self._lowest(groups, steps)
        assert found is not None
        return found

    def _any_of(self, groups: Mapping[int, list[Array]], steps: list[int]) -> int:
        part = groups[steps[int(self.random.integers(len(steps)))]]
        number = part[int(self.random.integers(len(part)))]
        return int(self._units(number[int(self.random.integers(len(number))) :][:1])[0])

    def _lowest(self, groups: Mapping[int, list[Array]], steps: list[int]) -> int | None:
        return next((at for at in steps if any((self._units(part) == self.current).any() for part in groups[at])), None)

    def part(self, machine: Machine, at: int, number: Array) -> tuple[Array, int, int]:
        """Which of the threads at a step go on, for how many steps at most, and where they stop."""
        unit = self._numbered(number)
        if self.character == MIXED:
            chosen = self._mixed(machine, at, unit)
            patience = int(self.random.choice([4, 32, 256, PATIENCE]))
        else:
            chosen = self._units(number) == self.current
            patience = PATIENCE if self.character == AHEAD else int(self.random.integers(1, 16))
        if not chosen.all():
            machine.enter(at, number[~chosen])
            number, unit = number[chosen], unit[chosen]
        later = [step for step, parts in machine.groups.items() if step > at and self._has(parts, unit)]
        return number, patience, min(later, default=NEVER)

    def _has(self, parts: list[Array], unit: Array) -> bool:
        return any(np.isin(self._numbered(part), unit).any() for part in parts)

    def _mixed(self, machine: Machine, at: int, unit: Array) -> Array:
        """Some of the warps; none whose other lanes are at a lower step."""
        rank = self.ranks
        before = [self._numbered(part) for step, parts in machine.groups.items() if rank[step] < rank[at]
                  for part in parts]  # fmt: skip
        chosen = ~np.isin(unit, np.concatenate(before)) if before else np.ones(len(unit), bool)
        units = np.unique(unit[chosen])
        if len(units) > 1 and self.random.random() < 0.5:
            some = chosen & np.isin(unit, units[self.random.random(len(units)) < self.random.choice([0.1, 0.5, 0.9])])
            if some.any():
                chosen = some
        return chosen
