"""Which waves of a workgroup have accessed which bytes of LDS since its last barrier.

Two accesses race if they are of different waves, without a barrier in between, and one of them writes. An atomic
operation races with reads and writes, and not with other atomic operations. A compare-and-swap does not race with
reads: the loop around it, which compilers make of atomic operations that the target lacks, begins with one.
"""

from __future__ import annotations

import numpy as np

from ...records import TupleRecord
from .storage import gathered, scattered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["Race", "RaceShadow"]

SEVERAL = 255
"""More than one wave: a workgroup has at most 32."""
AGAINST = {
    "read": ("write", "atomic"), "write": ("write", "read", "atomic", "compare-and-swap"), "atomic": ("write", "read"),
    "compare-and-swap": ("write",),
}  # fmt: skip
"""What an access races with."""
PATTERNS = {1: np.uint32(1), 2: np.uint32(0x101), 4: np.uint32(0x1010101)}
"""By bytes: a wave's number in each byte is the number times this."""


class Race(TupleRecord):
    """A race. access: which of those noted; wave: the other wave, 0 if there are several; kind: of the other access."""

    access: int
    wave: int
    kind: str


class RaceShadow:
    """For each byte of LDS and each kind of access, the wave that made it: its number from 1, 0 of none, or `SEVERAL`.

    size: bytes of LDS, of all workgroups that it is for; a multiple of 16.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.waves: dict[str, Array] = {}  # of the kinds that there were

    def barrier(self, part: slice = slice(None)) -> None:
        """Waves have met that share these bytes: what they did before cannot race with what they do next."""
        for shadow in self.waves.values():
            shadow[part] = 0

    def note(self, kind: str, offsets: Array, size: int, waves: Array) -> Race | None:
        """Enter the accesses of one instruction; the first race of theirs.

        Args:
            kind: one of `AGAINST`. offsets: the first byte of each access. size: its bytes.
            waves: whose it is, a number from 1.
        """
        unit = min(size, 4)
        numbers = waves.astype(np.uint32) * PATTERNS[unit]
        race: Race | None = None
        for other in AGAINST[kind]:
            race = race or self._other(other, offsets, size, numbers)
        if kind not in self.waves:
            self.waves[kind] = np.zeros(self.size, np.uint8)
        shadow = self.waves[kind]
        met = [self._enter(shadow, offsets + place, unit, numbers) for place in range(0, size, unit)]
        if race is None and kind == "write":  # several waves in one instruction
            race = next((Race(*one, kind) for one in met if one is not None), None)
        return race

    def _other(self, kind: str, offsets: Array, size: int, numbers: Array) -> Race | None:
        """The first access that meets another wave, and that wave."""
        shadow, unit = self.waves.get(kind), min(size, 4)
        if shadow is None:
            return None
        for place in range(0, size, unit):
            found = gathered(shadow, offsets + place, unit)[0]
            if ((found == 0) | (found == numbers)).all():
                continue
            octets = found.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :unit]
            wrong = (octets != 0) & (octets != (numbers & np.uint32(0xFF))[:, None])
            if wrong.any():
                access, octet = (int(one) for one in np.argwhere(wrong)[0])
                return Race(access, int(octets[access, octet]) % SEVERAL, kind)
        return None

    @staticmethod
    def _enter(shadow: Array, offsets: Array, size: int, numbers: Array) -> tuple[int, int] | None:
        """Enter accesses of up to four bytes; those of several waves to one byte: which, and another wave."""
        before = gathered(shadow, offsets, size)[0]
        fits = bool(((before == 0) | (before == numbers)).all())
        if fits:
            scattered(shadow, offsets, size, [numbers])
            if (gathered(shadow, offsets, size)[0] == numbers).all():
                return None
        places = (offsets[:, None] + np.arange(size)).ravel()
        waves = np.repeat(numbers & np.uint32(0xFF), size).astype(np.uint8)
        met = shadow[places]
        if not fits:
            shadow[places] = np.where((met == 0) | (met == waves), waves, SEVERAL)
            after = shadow[places]
            met = np.where((met == 0) | (met == waves), after, met)
        # Of several waves at one byte the last remains, and the others see it.
        clash = np.flatnonzero(met != waves)
        shadow[places[clash]] = SEVERAL
        return (int(clash[0]) // size, int(met[clash[0]]) % SEVERAL) if len(clash) else None
