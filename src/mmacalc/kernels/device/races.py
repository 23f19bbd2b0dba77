"""Which waves of a workgroup have accessed which bytes of shared memory since its last barrier, and where.

Two accesses race if they are of different waves, without a barrier in between, and one of them writes. An atomic
operation races with reads and writes, and not with other atomic operations. A compare-and-swap does not race with
reads: the loop around it, which compilers make of atomic operations that the target lacks, begins with one. Two waves
that write the same value to a byte do no harm: that is told apart (compute-sanitizer's racecheck reports it as
information, too).
"""

from __future__ import annotations

import numpy as np

from ...base.records import TupleRecord
from .memory import gathered, scattered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.arrays import Array

    Stored = Callable[[], tuple[Array, Array]]

__all__ = ["UNFETCHED", "UNREAD", "UNWAITED", "Race", "RaceShadow", "together"]

UNWAITED = "unwaited"
"""The kind of a write whose wave came to the barrier without waiting for it."""
UNFETCHED = "unfetched"
"""The kind of a read by a copy to memory whose wave came to the barrier without waiting for it."""
UNREAD = "unread"
"""The kind of a read into registers whose wave came to the barrier without waiting for it."""
AGAINST = {
    "read": ("write", "atomic", UNWAITED),
    "write": ("write", "read", "atomic", "compare-and-swap", UNWAITED, UNFETCHED, UNREAD),
    "atomic": ("write", "read", UNWAITED, UNFETCHED, UNREAD),
    "compare-and-swap": ("write", UNWAITED, UNFETCHED, UNREAD),
}  # fmt: skip
"""What an access races with."""
PATTERNS = {1: np.uint32(1), 2: np.uint32(0x101), 4: np.uint32(0x1010101)}
"""By bytes: a wave's number in each byte is the number times this."""
MOST_LABELS = 1 << 16
MOST_DEFERRED = 1 << 22
"""Reads that are kept for later."""


class Race(TupleRecord):
    """A race.

    access: which of those noted. wave, kind, label: of the other access. same: whether both write the same value.
    """

    access: int
    wave: int
    kind: str
    label: int
    same: bool


class _Layer:
    """For each byte one wave that accessed it, its number from 1 or 0 of none, and the label of its access. used: 0 in
    one byte if no wave is entered, as the core sees it too."""

    __slots__ = ("labels", "used", "waves")

    def __init__(self, size: int) -> None:
        self.used: Array = np.zeros(1, np.uint8)
        self.waves: Array = np.zeros(size, np.uint8)
        self.labels: Array = np.zeros(size, np.uint16)

    def put(self, offsets: Array, unit: int, numbers: Array, label: int) -> None:
        """Enter accesses of one, two or four bytes."""
        self.used[0] = 1
        scattered(self.waves, offsets, unit, [numbers])
        if unit == 4 and not (offsets & 3).any():
            self.labels.view(np.uint64)[offsets >> 2] = np.uint64(label * 0x1_0001_0001_0001)
        else:
            for place in range(unit):
                self.labels[offsets + place] = label


class RaceShadow:
    """For each byte of shared memory and each kind of access, two different waves that made it: a third is not needed.

    size: bytes of shared memory, of all workgroups that it is for; a multiple of 16. version: changes when there is a
    layer more.
    """

    size: int
    version: int

    def __init__(self, size: int) -> None:
        self.size, self.version = size, 0
        self._layers: dict[str, list[_Layer]] = {}  # of the kinds that there were
        self._deferred: list[Callable[[], None]] = []
        self._count = 0

    def layers_of(self, kind: str, make: bool = True) -> list[_Layer]:
        """The layers of a kind of access: both, or if not `make` those that there are."""
        if make:
            self._layer(kind, 1)
        return self._layers.get(kind, [])

    def barrier(self, workgroups: Sequence[int] = (0,), stride: int = 0) -> None:
        """Waves of some workgroups have met: what they did before cannot race with what they do next.

        Args:
            stride: bytes of shared memory of a workgroup; 0 if all of it is of one.
        """
        whole = len(workgroups) * stride in (0, self.size)
        if whole:
            self._deferred, self._count = [], 0
        self.enter_deferred()
        for layer in [layer for layers in self._layers.values() for layer in layers if layer.used[0]]:
            if whole:
                layer.waves[:] = layer.used[0] = 0
            else:
                layer.waves.reshape(-1, stride)[workgroups] = 0

    def defer(self, enter: Callable[[], None], count: int) -> None:
        """Keep a number of reads, which `enter` enters, until something asks for them: most are forgotten at a barrier
        before that."""
        self._deferred.append(enter)
        self._count += count
        if self._count > MOST_DEFERRED:
            self.enter_deferred()

    def enter_deferred(self) -> None:
        """Enter the reads that were kept for later."""
        deferred, self._deferred, self._count = self._deferred, [], 0
        for enter in deferred:
            enter()

    def note(
        self, kind: str, offsets: Array, size: int, waves: Array, label: int = 0, stored: Stored | None = None
    ) -> Race | None:
        """Enter the accesses of one instruction; the first race of theirs, one that does harm if there is one.

        Args:
            kind: one of `AGAINST`; `UNWAITED`, `UNFETCHED` and `UNREAD` are entered only. offsets: the first byte of
                each access. size: its bytes. waves: whose it is, a number from 1. label: of the instruction, below
                65536.
            stored: of a write gives the values before it and those written, (accesses, size) each.
        """
        self.enter_deferred()
        unit = min(size, 4)
        numbers = waves.astype(np.uint32) * PATTERNS[unit]
        differs = _differing(stored)
        race: Race | None = None
        for other in AGAINST.get(kind, ()):
            if race is None or race.same:
                both = differs if kind == "write" and other in ("write", UNWAITED) else None
                race = self._other(other, offsets, size, (numbers, both)) or race
        shared = [self._enter(kind, offsets + place, unit, (numbers, label)) for place in range(0, size, unit)]
        if any(shared) and kind == "write" and (race is None or race.same):
            race = together(offsets, size, waves, (label, stored)) or race
        return race

    def _other(
        self, kind: str, offsets: Array, size: int, own: tuple[Array, Callable[[], Array] | None]
    ) -> Race | None:
        """The first access that meets another wave, and that wave. own: the waves, and which bytes change."""
        numbers, differs = own
        unit, harmless = min(size, 4), None
        for layer in self._layers.get(kind, ()):
            for place in range(0, size, unit):
                found = gathered(layer.waves, offsets + place, unit)[0]
                if ((found == 0) | (found == numbers)).all():
                    continue
                octets = _octets(found, unit)
                wrong = (octets != 0) & (octets != (numbers & np.uint32(0xFF))[:, None])
                harm = wrong if differs is None else wrong & differs()[:, place : place + unit]
                if (one := _first(harm if harm.any() else wrong)) is not None:
                    label = int(layer.labels[int(offsets[one[0]]) + place + one[1]])
                    race = Race(one[0], int(octets[one]), kind, label, not harm.any())
                    if not race.same:
                        return race
                    harmless = harmless or race
        return harmless

    def _layer(self, kind: str, number: int) -> _Layer:
        layers = self._layers.setdefault(kind, [])
        while len(layers) <= number:
            layers.append(_Layer(self.size))
            self.version += 1
        return layers[number]

    def _enter(self, kind: str, offsets: Array, unit: int, own: tuple[Array, int]) -> bool:
        """Enter accesses of up to four bytes; whether bytes of theirs have several waves now."""
        numbers, label = own
        first = self._layer(kind, 0)
        before = gathered(first.waves, offsets, unit)[0]
        other = (before != 0) & (before != numbers)
        if not other.any():
            first.put(offsets, unit, numbers, label)
            slow = gathered(first.waves, offsets, unit)[0] != numbers
        else:
            free = ~other
            first.put(offsets[free], unit, numbers[free], label)
            whole = other & (before == (before & np.uint32(0xFF)) * PATTERNS[unit])  # all bytes of one other wave
            self._layer(kind, 1).put(offsets[whole], unit, numbers[whole], label)
            slow = ~whole & (gathered(first.waves, offsets, unit)[0] != numbers)
        if slow.any():
            self._enter_bytes(kind, offsets[slow], unit, (numbers[slow], label))
        return bool(other.any() or slow.any())

    def _enter_bytes(self, kind: str, offsets: Array, unit: int, own: tuple[Array, int]) -> None:
        """Enter accesses byte by byte: of several waves at one byte one is in the first layer, another in the other."""
        numbers, label = own
        first, second = self._layer(kind, 0), self._layer(kind, 1)
        first.used[0] = second.used[0] = 1
        places = (offsets[:, None] + np.arange(unit)).ravel()
        waves = np.repeat(numbers & np.uint32(0xFF), unit).astype(np.uint8)
        mine = (first.waves[places] == 0) | (first.waves[places] == waves)
        first.waves[places[mine]], first.labels[places[mine]] = waves[mine], label
        rest = first.waves[places] != waves
        second.waves[places[rest]], second.labels[places[rest]] = waves[rest], label


def _octets(words: Array, unit: int) -> Array:
    found: Array = words.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :unit]
    return found


def _first(where: Array) -> tuple[int, int] | None:
    found = np.argwhere(where)
    return (int(found[0][0]), int(found[0][1])) if len(found) else None


def _differing(stored: Stored | None) -> Callable[[], Array] | None:
    """Which bytes of a write change, found out when it is asked for."""
    if stored is None:
        return None
    known: list[Array] = []

    def differing() -> Array:
        if not known:
            before, after = stored()
            known.append(before != after)
        return known[0]

    return differing


def together(offsets: Array, size: int, waves: Array, what: tuple[int, Stored | None]) -> Race | None:
    """The race of several waves that write to one byte in one instruction."""
    label, stored = what
    places = (offsets[:, None] + np.arange(size)).ravel()
    whose = np.repeat(waves, size)
    values = np.zeros(places.shape, np.uint8) if stored is None else stored()[1].ravel()
    order = np.lexsort((values, places))
    places, whose, values, at = places[order], whose[order], values[order], order // size
    starts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
    several = np.minimum.reduceat(whose, starts) != np.maximum.reduceat(whose, starts)
    differ = np.minimum.reduceat(values, starts) != np.maximum.reduceat(values, starts)
    if not several.any():
        return None
    harm = several if stored is None else several & differ
    number = int(np.flatnonzero(harm if harm.any() else several)[0])
    group = slice(starts[number], starts[number + 1] if number + 1 < len(starts) else len(places))
    last = int(np.flatnonzero(whose[group] != whose[group][0])[0])
    return Race(int(at[group][0]), int(whose[group][last]), "write", label, not harm.any())
