"""Bank conflicts of shared memory and sectors of global memory, by statement.

Shared memory: an access of a warp is served in the phases of `Architecture.lds_phases`, each of which takes as many
cycles as its busiest bank has words to deliver; ldmatrix and stmatrix are served eight rows at a time
(`mmacalc.memory` has the rules, and how sure each is). Global memory: an access of a warp moves whole sectors of 32
bytes (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"); as few as hold the distinct bytes would do.

Not counted: atomic operations in shared memory, the destinations of cp.async, bulk copies, wgmma and tcgen05, local
memory. Caches are not modelled.
"""

from __future__ import annotations

import numpy as np

from ...base.records import TupleRecord, json_keys
from ...memory_access.banks import bank_access
from ..device.traffic import address_patterns, units_moved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ...model import Architecture
    from ...ptx.module import Location
    from ..device.observer import Observer
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]
    Key = tuple[tuple[int, str, Location | None], str, int]

__all__ = ["BANKS", "SECTOR", "AccessCounter", "GlobalAccess", "SharedAccess"]

SECTOR = 32
"""Bytes of a sector."""
BANKS = 128
"""Bytes after which the banks of shared memory repeat: 32 of 4 bytes."""
WARP = 32
KNOWN = 1 << 16
"""Patterns of addresses whose cost is remembered."""


@json_keys(
    "line",
    "text",
    "location: FILE:LINE of the source, by .loc",
    "access: read, write, ldmatrix or stmatrix",
    "bytes: of one thread",
    "requests: how many warps made it",
    "cycles",
    "ideal",
    "provenance",
    "conflicts",
)
class SharedAccess(TupleRecord):
    """The accesses of a statement to shared memory.

    line, text, location: the statement, and its place in the source. access: "read", "write", "ldmatrix" or
    "stmatrix". bytes: of one thread. requests: how many warps made it. cycles, ideal: what they take, and would take
    without bank conflicts. provenance: how sure the rule of the banks is.
    """

    line: int
    text: str
    location: Location | None
    access: str
    bytes: int
    requests: int
    cycles: int
    ideal: int
    provenance: str

    @property
    def conflicts(self) -> int:
        """The cycles lost to bank conflicts."""
        return self.cycles - self.ideal


@json_keys(
    "line",
    "text",
    "location: FILE:LINE of the source, by .loc",
    "access: read, write or atomic",
    "bytes: of one thread",
    "requests: how many warps made it",
    "sectors",
    "ideal",
    "excess",
)
class GlobalAccess(TupleRecord):
    """The accesses of a statement to global memory.

    line, text, location: the statement, and its place in the source. access: "read", "write" or "atomic". bytes: of
    one thread. requests: how many warps made it. sectors, ideal: of 32 bytes, that they move and that would do.
    """

    line: int
    text: str
    location: Location | None
    access: str
    bytes: int
    requests: int
    sectors: int
    ideal: int

    @property
    def excess(self) -> int:
        """The sectors beyond those that would do."""
        return self.sectors - self.ideal


class AccessCounter:
    """Counts the accesses of a launch. architecture: that of the kernel's target; None where no rule is known."""

    architecture: Architecture | None

    def __init__(self, architecture: Architecture | None) -> None:
        self.architecture = architecture if architecture is not None and architecture.lds_phases else None
        self.observers: tuple[Observer, ...] = ()
        self._sites: dict[tuple[Step, str, int], list[int]] = {}
        self._totals: dict[tuple[str, int, int], tuple[int, int, int]] = {}
        self._costs: dict[tuple[str, int, bytes], tuple[int, int]] = {}
        self._provenance: dict[tuple[str, int], str] = {}

    def shared(
        self, step: Step, threads: Threads, places: Array, size: int, access: str, pattern: int | None = None
    ) -> None:
        """Count an access to shared memory at `places`, one for each thread. pattern: a number that only accesses have
        in common whose warps' places are as far from a multiple of BANKS each."""
        for observer in self.observers:
            observer.shared(step, threads, places, size, access)
        if self.architecture is None:
            return

        def costs() -> tuple[Array, Array]:
            patterns, counts = address_patterns(_by_warp(threads, places), BANKS)
            return counts, np.array([self._bank_cost(pattern, size, access) for pattern in patterns])

        self._add(step, access, size, pattern, costs)

    def anywhere(
        self, step: Step, threads: Threads, address: Array, size: int, access: str, pattern: int | None = None
    ) -> None:
        """Count an access to global memory. pattern: as in `shared`, of multiples of SECTOR."""
        for observer in self.observers:
            observer.memory(step, threads, address, size, access)

        def costs() -> tuple[Array, Array]:
            patterns, counts = address_patterns(_by_warp(threads, address), SECTOR)
            return counts, units_moved(patterns, size, SECTOR)

        self._add(step, f"global {access}", size, pattern, costs)

    def _add(
        self, step: Step, access: str, size: int, pattern: int | None, costs: Callable[[], tuple[Array, Array]]
    ) -> None:
        """Add the costs of an access; those of a pattern are remembered."""
        added = self._totals.get((access, size, pattern)) if pattern is not None else None
        if added is None:
            counts, each = costs()
            cycles, ideal = counts @ each
            added = int(counts.sum()), int(cycles), int(ideal)
            if pattern is not None:
                if len(self._totals) > KNOWN:
                    self._totals.clear()
                self._totals[access, size, pattern] = added
        known = self._sites.setdefault((step, access, size), [0, 0, 0])
        known[:] = [known[0] + added[0], known[1] + added[1], known[2] + added[2]]

    def _bank_cost(self, pattern: Array, size: int, access: str) -> tuple[int, int]:
        key = access, size, pattern.tobytes()
        found = self._costs.get(key)
        if found is None:
            assert self.architecture is not None
            cost = bank_access(
                self.architecture, [None if place < 0 else place for place in pattern.tolist()], size, access
            )
            if len(self._costs) > KNOWN:
                self._costs.clear()
            found = self._costs[key] = cost.cycles, cost.ideal
            self._provenance[access, size] = cost.rule.provenance
        return found

    @property
    def sites(self) -> Mapping[tuple[Step, str, int], list[int]]:
        """By statement, access ("global ..." of global memory), width: warps, cycles or sectors, how few would do."""
        return self._sites

    @property
    def shared_accesses(self) -> tuple[SharedAccess, ...]:
        """Of shared memory, by statement, that with the most conflicts first."""
        found = [
            SharedAccess(*place, access, size, *cost, self._provenance[access, size])
            for (place, access, size), cost in self._by_statement(False)
        ]
        return tuple(sorted(found, key=lambda site: (-site.conflicts, site.line)))

    @property
    def global_accesses(self) -> tuple[GlobalAccess, ...]:
        """Of global memory, by statement, that with the most sectors too many first."""
        found = [
            GlobalAccess(*place, access.removeprefix("global "), size, *cost)
            for (place, access, size), cost in self._by_statement(True)
        ]
        return tuple(sorted(found, key=lambda site: (-site.excess, site.line)))

    def _by_statement(self, everywhere: bool) -> list[tuple[Key, tuple[int, int, int]]]:
        """By place, access and width: a function that is called in two places has its statements in two steps."""
        found: dict[Key, tuple[int, int, int]] = {}
        for (step, access, size), numbers in self._sites.items():
            if access.startswith("global ") == everywhere:
                key = (step.line, step.text, step.statement.location), access, size
                before = found.get(key, (0, 0, 0))
                found[key] = before[0] + numbers[0], before[1] + numbers[1], before[2] + numbers[2]
        return list(found.items())


def _by_warp(threads: Threads, values: Array) -> Array:
    """The values as (warp, lane); -1 where a lane takes no part."""
    if threads.warps() is not None and threads.machine.block_size % WARP == 0:
        return values.reshape(-1, WARP)
    machine = threads.machine
    warp = threads.cta * machine.block_size + machine.inner_of[threads.use] // WARP
    first = np.r_[True, warp[1:] != warp[:-1]]
    found = np.full((int(first.sum()), WARP), -1, np.int64)
    found[np.cumsum(first) - 1, threads.lane] = values
    return found
