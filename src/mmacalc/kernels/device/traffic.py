"""Bytes moved, and accesses of shared memory by call site: how many, their cycles, and their bank conflicts.

The rules are those of `mmacalc.memory`: an access is as wide as its lanes' elements are contiguous, up to 16 bytes, and
is served in the phases of `Architecture.lds_phases`.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from os.path import basename, dirname

import numpy as np

from ...base.records import Cache, TupleRecord, json_keys
from ...memory_access.banks import bank_access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    Cost = tuple[int, int, int]
    """Of an access the width of a lane's part in bytes, the cycles, and the cycles without conflicts."""

    Added = tuple[list[int], int, int, int]
    """The counts of a site, and what is added to its accesses, cycles and ideal cycles."""

    from ...base.arrays import Array
    from ...model import Architecture

__all__ = [
    "KNOWN", "PERIOD", "BankCounter", "BankSite", "Traffic", "TrafficCounter", "address_patterns", "call_site",
    "enter", "units_moved",
]  # fmt: skip

PACKAGE = dirname(dirname(dirname(__file__)))
_costs = Cache(4096)
"""Cycles, those without conflicts and their provenance, by architecture, width, "read" or "write", and addresses."""
PERIOD = 256  # bytes after which banks repeat on every architecture
KNOWN = 4096  # patterns of addresses that are remembered


class Traffic(TupleRecord):
    """Bytes moved: from and to global memory, from and to shared memory, which AMD calls LDS."""

    loaded: int
    stored: int
    lds_loaded: int
    lds_stored: int


class TrafficCounter:
    """Counts bytes moved.

    >>> counter = TrafficCounter()
    >>> counter.add(64, store=False, local=True)
    >>> counter.traffic
    Traffic(loaded=0, stored=0, lds_loaded=64, lds_stored=0)
    """

    def __init__(self) -> None:
        self._bytes = [0, 0, 0, 0]

    def add(self, number: int, store: bool, local: bool) -> None:
        """Count bytes that are stored or loaded, in shared or global memory."""
        self._bytes[2 * local + store] += number

    @property
    def traffic(self) -> Traffic:
        """The bytes so far."""
        return Traffic(*self._bytes)


@json_keys(
    "place",
    "access",
    "bytes",
    "accesses",
    "cycles",
    "ideal",
    "provenance",
    "conflicts",
)
class BankSite(TupleRecord):
    """The accesses of shared memory in one line of a kernel.

    place: "file:line"; access: "read" or "write"; bytes: the width of a lane's access; accesses: how many a wave
    issued, over all waves; cycles, ideal: what they take, and would take without conflicts; provenance: how sure the
    bank rule is.
    """

    place: str
    access: str
    bytes: int
    accesses: int
    cycles: int
    ideal: int
    provenance: str

    @property
    def conflicts(self) -> int:
        """The cycles lost to bank conflicts."""
        return self.cycles - self.ideal


class BankCounter:
    """Counts the accesses of shared memory of a launch on an architecture."""

    architecture: Architecture
    wave: int

    def __init__(self, architecture: Architecture, wave: int) -> None:
        self.architecture, self.wave = architecture, wave
        self._sites: dict[tuple[str, str, int], list[int]] = {}
        self._provenance: dict[tuple[str, int], str] = {}

    def count(self, addresses: Array, element_bytes: int, access: str, place: str = "", times: int = 1) -> None:
        """Count the accesses of one statement.

        Args:
            addresses: the byte address of each element, (lanes, elements); negative where a lane has none.
            access: "read" or "write".
            place: the statement; the line of the kernel that is running if left out.
            times: how many waves access it so.
        """
        costs = self.costs(addresses, element_bytes, access)
        enter(self.added(costs, access, place or call_site(sys._getframe(1)), times))

    def costs(self, addresses: Array, element_bytes: int, access: str) -> list[Cost]:
        """Of each access that one statement makes the width of a lane's part, its cycles, and those without conflicts.

        Args: see `count`.
        """
        if not self.architecture.lds_phases or not addresses.size:
            return []
        width = _width(addresses, element_bytes)
        columns = [addresses[:, first] for first in range(0, addresses.shape[1], width // element_bytes)]
        return [(width, *self._cost(lanes, width, access)) for lanes in columns if lanes.max() >= 0]

    def added(self, costs: list[Cost], access: str, place: str, times: int = 1) -> list[Added]:
        """What is to be entered where `times` waves carry out a statement of which `costs` gives the cost."""
        sites = [self._sites.setdefault((place, access, width), [0, 0, 0]) for width, _, _ in costs]
        return [(site, times, times * cycles, times * ideal) for site, (_, cycles, ideal) in zip(sites, costs)]

    def _cost(self, lanes: Array, width: int, access: str) -> tuple[int, int]:
        start = int(lanes[lanes >= 0].min()) // PERIOD * PERIOD
        offsets = np.where(lanes < 0, -1, lanes - start)
        key = (self.architecture, width, access, offsets.astype(np.int64).tobytes())

        def make() -> tuple[int, int, str]:
            wave = tuple([None if offset < 0 else offset for offset in offsets.tolist()])
            cost = bank_access(self.architecture, wave, width, access)
            return cost.cycles, cost.ideal, cost.rule.provenance

        cycles, ideal, self._provenance[access, width] = _costs.get(key, make)
        return cycles, ideal

    @property
    def sites(self) -> tuple[BankSite, ...]:
        """Every call site, that with the most conflicts first."""
        found = [
            BankSite(place, access, width, accesses, cycles, ideal, self._provenance[access, width])
            for (place, access, width), (accesses, cycles, ideal) in self._sites.items()
        ]
        return tuple(sorted(found, key=lambda site: -site.conflicts))


def enter(added: list[Added]) -> None:
    """Add to the counts of sites."""
    for site, times, cycles, ideal in added:
        site[0] += times
        site[1] += cycles
        site[2] += ideal


def _width(addresses: Array, element_bytes: int) -> int:
    """The bytes of a lane's access: the largest power of two up to 16 that the lanes' runs and alignment allow."""
    elements = addresses.shape[1]
    width = element_bytes
    while width < 16 and elements % (2 * width // element_bytes) == 0:
        step = 2 * width // element_bytes
        runs = addresses.reshape(addresses.shape[0], -1, step)
        active = runs[:, :, 0] >= 0
        apart = (np.diff(runs, axis=2) != element_bytes).any(axis=2) & (runs.max(axis=2) >= 0)
        if apart.any() or (runs[:, :, 0] % (2 * width) > 0)[active].any():
            break
        width *= 2
    return min(width, 16)


def call_site(frame: FrameType) -> str:
    """The line of the kernel that is running, outside this package: "file:line"."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return f"{basename(frame.f_code.co_filename)}:{frame.f_lineno}"


# --- accesses of global memory: which lines or sectors they move ---


@lru_cache(maxsize=1)
def _mixed() -> Array:
    found: Array = np.random.default_rng(1).integers(1, 1 << 63, 64, np.int64) | 1
    return found


def address_patterns(rows: Array, period: int) -> tuple[Array, Array]:
    """The distinct rows of addresses (wave, lane), in any order, and how often each occurs.

    Args:
        rows: -1 where a lane takes no part. period: each row is counted from a multiple of it on.

    >>> patterns, counts = address_patterns(np.array([[512, 516], [1024, 1028], [8, -1]]), 256)
    >>> sorted(zip(patterns.tolist(), counts.tolist()))
    [([0, 4], 2), ([8, -1], 1)]
    """
    base = rows.min(axis=1)
    if base.min() >= 0:
        found = rows - (base & -period)[:, None]
    else:
        active = rows >= 0
        base = np.where(active, rows, np.iinfo(np.int64).max).min(axis=1)
        found = np.where(active, rows - (base & -period)[:, None], -1)
    if (found == found[0]).all():
        return found[:1], np.array([len(found)])
    _, index, counts = np.unique(found @ _mixed()[: rows.shape[1]], return_index=True, return_counts=True)
    return found[index], counts


def units_moved(patterns: Array, size: int, unit: int) -> Array:
    """Of each pattern of addresses how many units of memory it moves, and how few would hold its distinct bytes.

    Args:
        patterns: (pattern, lane), -1 where a lane takes no part. size: bytes of a lane. unit: bytes of a line or of a
            sector.

    >>> units_moved(np.array([[0, 4, 64, -1]]), 4, 32).tolist()
    [[2, 1]]
    """

    def distinct(values: Array) -> Array:
        ranked = np.sort(values, axis=1)
        fresh = np.ones(ranked.shape, bool)
        fresh[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
        found: Array = (fresh & (ranked >= 0)).sum(axis=1)
        return found

    moved = distinct(patterns >> unit.bit_length() - 1) * max(1, size // unit)
    return np.stack([moved, -(-distinct(patterns) * size // unit)], 1)
