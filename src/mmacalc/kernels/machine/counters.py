"""The counters of outstanding memory accesses: which registers a wave may not touch yet.

An access raises a counter when it is issued; a wait for `n` lets a wave go on once at most n accesses of that counter
are outstanding. Accesses end in order, so those before the last n have ended then; but scalar loads, and on gfx9 flat
accesses, end in any order, and while one is outstanding only a wait for 0 says anything about its counter.
Sources: RDNA3 and RDNA4 ISA guides, "Data Dependency Resolution"; LLVM 22's SIInsertWaitcnts (`counterOutOfOrder`) and
`hasFlatLgkmVMemCountInOrder`.
"""

from __future__ import annotations

import numpy as np

from .translations import COUNTER as XCNT
from .translations import Translations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .state import Group

    Array = NDArray[Any]

__all__ = ["COUNTERS", "Counters", "Flight", "Landing", "waits_of"]

# What raises which counter, by generation.
COUNTERS: dict[str, dict[str, tuple[str, ...]]] = {
    "gfx9": {"load": ("vmcnt",), "store": ("vmcnt",), "lds": ("lgkmcnt",), "scalar": ("lgkmcnt",),
             "flat load": ("vmcnt", "lgkmcnt"), "flat store": ("vmcnt", "lgkmcnt")},
    "gfx11": {"load": ("vmcnt",), "store": ("vscnt",), "lds": ("lgkmcnt",), "scalar": ("lgkmcnt",),
              "flat load": ("vmcnt", "lgkmcnt"), "flat store": ("vscnt", "lgkmcnt")},
    "gfx12": {"load": ("loadcnt",), "store": ("storecnt",), "lds": ("dscnt",), "scalar": ("kmcnt",),
              "flat load": ("loadcnt", "dscnt"), "flat store": ("storecnt", "dscnt"), "async": ("asynccnt",)},
}  # fmt: skip
MOST = {"gfx9": {"vmcnt": 63, "lgkmcnt": 15}, "gfx11": {"vmcnt": 63, "lgkmcnt": 63}}
"""The values of s_waitcnt's fields that wait for nothing."""


def waits_of(name: str, simm: int, generation: str) -> dict[str, int]:
    """The waits of an instruction: counter and the number that may be outstanding.

    >>> waits_of("s_waitcnt", 0x0070, "gfx9"), waits_of("s_waitcnt", 0x0FFF, "gfx9"), waits_of("s_waitcnt", 7, "gfx11")
    ({'vmcnt': 0, 'lgkmcnt': 0}, {'vmcnt': 15}, {'lgkmcnt': 0, 'vmcnt': 0})
    >>> waits_of("s_wait_xcnt", 0, "gfx12")
    {'xcnt': 0}
    """
    if name == "s_waitcnt":
        if generation == "gfx9":
            waits = {"vmcnt": simm & 15 | simm >> 10 & 0x30, "lgkmcnt": simm >> 8 & 15}
        else:
            waits = {"lgkmcnt": simm >> 4 & 63, "vmcnt": simm >> 10 & 63}
        return {counter: number for counter, number in waits.items() if number < MOST[generation][counter]}
    kind = name.removeprefix("s_waitcnt_").removeprefix("s_wait_")
    if kind == "loadcnt_dscnt":
        return {"dscnt": simm & 63, "loadcnt": simm >> 8 & 63}
    if kind == "storecnt_dscnt":
        return {"dscnt": simm & 63, "storecnt": simm >> 8 & 63}
    known = {XCNT, *[name for kinds in COUNTERS.values() for names in kinds.values() for name in names]}
    return {kind: simm} if kind in known else {}


class Landing:
    """What a load from memory writes into LDS: `size` bytes at each of some offsets, by these waves of the batch."""

    __slots__ = ("offsets", "size", "waves")
    size: int

    def __init__(self, offsets: Array, size: int, waves: Array) -> None:
        order = np.argsort(offsets, kind="stable")
        self.offsets: Array = offsets[order]
        self.waves: Array = waves[order]
        self.size = size

    def meets(self, offsets: Array, size: int, waves: Array) -> Array:
        """Which accesses of some waves touch what they load themselves."""
        before = np.searchsorted(self.offsets, offsets + size) - 1  # the last one that begins before the access ends
        found: Array = (before >= 0) & (self.offsets[before] + self.size > offsets) & (self.waves[before] == waves)
        return found


class Flight:
    """An outstanding access: its instruction, the registers that it writes, and its number on each counter by wave.

    landing: of a load into LDS, where it writes.
    """

    __slots__ = ("address", "kind", "landing", "numbers", "sequence", "writes_lds")
    address: int
    kind: str
    numbers: frozenset[int]
    sequence: dict[str, Array]
    writes_lds: bool

    def __init__(
        self, address: int, kind: str, numbers: frozenset[int], sequence: dict[str, Array], writes_lds: bool
    ) -> None:
        self.address, self.kind, self.numbers = address, kind, numbers
        self.sequence, self.writes_lds = sequence, writes_lds
        self.landing: Landing | None = None

    def outstanding(self, rows: Any) -> bool:
        """Whether it may be outstanding in one of some waves."""
        return any(bool((sequence[rows] > 0).any()) for sequence in self.sequence.values())


class Counters:
    """The outstanding accesses of a batch of waves. busy: by register, those that write it. translations: those that
    may be issued again; None of targets without XCNT."""

    disorderly: tuple[str, ...]
    generation: str
    kinds: dict[str, tuple[str, ...]]
    translations: Translations | None
    waves: int

    def __init__(self, waves: int, generation: str, translates: bool = False) -> None:
        self.waves, self.generation = waves, generation
        self.translations = Translations(self) if translates else None
        self.kinds = COUNTERS[generation]
        self.disorderly = ("scalar", "flat load", "flat store") if generation == "gfx9" else ("scalar",)
        names = {name for names in self.kinds.values() for name in names}
        self.issued: dict[str, Array] = {name: np.zeros(waves, np.int64) for name in names}
        self.flights: list[Flight] = []
        self.busy: dict[int, list[Flight]] = {}
        self.landing: Landing | None = None  # of the instruction that is being carried out

    def issue(self, group: Group, address: int, kind: str, numbers: frozenset[int], writes_lds: bool = False) -> None:
        """Enter an access of the group's waves."""
        sequence = {}
        for name in self.kinds[kind]:
            self.issued[name][group.rows] += 1
            own = np.zeros(self.waves, np.int64)
            own[group.rows] = self.issued[name][group.rows]
            sequence[name] = own
        if not numbers and not writes_lds and "flat" not in kind and kind != "store":
            return
        flight = Flight(address, kind, numbers, sequence, writes_lds)
        flight.landing, self.landing = self.landing, None
        self.flights.append(flight)
        for number in numbers:
            self.busy.setdefault(number, []).append(flight)

    def wait(self, group: Group, waits: dict[str, int]) -> None:
        """Wait until at most the given number of accesses of each counter is outstanding."""
        ended = []
        for name, number in waits.items():
            if self.translations is not None:
                self.translations.wait(group, name, number)
            if name not in self.issued:
                continue
            mine = [flight for flight in self.flights if name in flight.sequence]
            if number and any(flight.kind in self.disorderly and flight.outstanding(group.rows) for flight in mine):
                continue
            for flight in mine:
                self._end(flight, name, number, group)
                if not flight.sequence:
                    ended.append(flight)
        for flight in ended:
            self._forget(flight)

    def _end(self, flight: Flight, name: str, number: int, group: Group) -> None:
        sequence = flight.sequence[name]
        if number == 0:
            sequence[group.rows] = 0
        else:
            own = sequence[group.rows]
            sequence[group.rows] = np.where(own <= self.issued[name][group.rows] - number, 0, own)
        if not sequence.any():
            del flight.sequence[name]

    def _forget(self, flight: Flight) -> None:
        if flight in self.flights:
            self.flights.remove(flight)
        for number in flight.numbers:
            flights = self.busy.get(number)
            if flights and flight in flights:
                flights.remove(flight)
                if not flights:
                    del self.busy[number]

    def touched(self, reads: frozenset[int], writes: frozenset[int], kind: str, group: Group) -> Flight | None:
        """An outstanding access whose result an instruction touches too early; it counts as ended then.

        A load (`kind`: of which counters) may write what an earlier one of its kind writes: they end in order.
        """
        for number in (reads | writes) & self.busy.keys():
            for flight in self.busy[number]:
                ordered = kind and flight.kind == kind and kind not in self.disorderly and number not in reads
                if not ordered and flight.outstanding(group.rows):
                    self._forget(flight)
                    return flight
        return None

    def landing_at(self, offsets: Array, size: int, waves: Array) -> tuple[Flight, Array] | None:
        """A load into LDS that is outstanding in the waves that access what it writes, and which of the accesses do;
        it counts as ended then."""
        for flight in self.flights:
            if flight.landing is not None:
                met = flight.landing.meets(offsets, size, waves)
                met &= np.any([sequence[waves] > 0 for sequence in flight.sequence.values()], axis=0)
                if met.any():
                    self._forget(flight)
                    return flight, met
        return None

    def unfinished_lds_write(self, group: Group) -> Flight | None:
        """A write to LDS that is outstanding in one of the group's waves; all of these count as ended then."""
        found = [flight for flight in self.flights if flight.writes_lds and flight.outstanding(group.rows)]
        for flight in found:
            self._forget(flight)
        return found[0] if found else None
