"""LDS and scratch, with shadows: which bytes are written, and in LDS by which wave since the last barrier."""

from __future__ import annotations

import numpy as np

from .storage import gathered, scattered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["Lds", "Scratch"]

SEVERAL = 255
"""In the shadow of readers: more than one wave."""


class Scratch:
    """Memory of the same size for each of some owners: of scratch the lanes, of LDS the workgroups.

    size: bytes of an owner. Offsets are those into `data`, where owner n has [n * stride, n * stride + size).
    """

    size: int
    stride: int

    def __init__(self, owners: int, size: int) -> None:
        self.size, self.stride = size, -(-size // 16) * 16
        self.data: Array = np.full(owners * self.stride, 0xFF, np.uint8)
        self.undefined: Array = np.ones(owners * self.stride, np.uint8)

    def undefined_at(self, offsets: Array, size: int) -> Array | None:
        """Where one of the bytes has not been written; None if nowhere."""
        words = gathered(self.undefined, offsets, size)
        found = words[0] != 0
        for word in words[1:]:
            found |= word != 0
        return found if found.any() else None


class Lds(Scratch):
    """LDS of some workgroups."""

    def __init__(self, workgroups: int, size: int) -> None:
        super().__init__(workgroups, size)
        self.writers: Array = np.zeros(len(self.data), np.uint8)
        self.readers: Array = np.zeros(len(self.data), np.uint8)

    def barrier(self, workgroup: int) -> None:
        """The waves of a workgroup have met: what they did before cannot race with what they do next."""
        part = slice(workgroup * self.stride, (workgroup + 1) * self.stride)
        self.writers[part] = 0
        self.readers[part] = 0

    def note_read(self, offsets: Array, size: int, waves: Array) -> tuple[int, int] | None:
        """Enter an access by waves (numbers in their workgroups, from 1); a race: which access, and the other wave."""
        race = self._other(self.writers, offsets, size, waves)
        unit = min(size, 4)
        pattern = np.uint32({1: 1, 2: 0x101, 4: 0x1010101}[unit])
        mine = waves.astype(np.uint32) * pattern
        for place in range(0, size, unit):
            at = offsets + place
            old = gathered(self.readers, at, unit)[0]
            scattered(self.readers, at, unit, [np.where((old == 0) | (old == mine), mine, np.uint32(0xFFFFFFFF))])
        return race

    def note_write(self, offsets: Array, size: int, waves: Array) -> tuple[int, int] | None:
        """As `note_read`, of writes."""
        race = self._other(self.writers, offsets, size, waves) or self._other(self.readers, offsets, size, waves)
        unit = min(size, 4)
        pattern = np.uint32({1: 1, 2: 0x101, 4: 0x1010101}[unit])
        values = [waves.astype(np.uint32) * pattern] * max(1, size // 4)
        scattered(self.writers, offsets, size, values)
        # Two waves that write one place in the same instruction: the last remains, the others see it.
        return race or self._other(self.writers, offsets, size, waves)

    @staticmethod
    def _other(shadow: Array, offsets: Array, size: int, waves: Array) -> tuple[int, int] | None:
        """The first access that meets another wave, and that wave's number (0 if there are several)."""
        unit = min(size, 4)
        pattern = np.uint32({1: 1, 2: 0x101, 4: 0x1010101}[unit])
        mine = waves.astype(np.uint32) * pattern
        for place in range(0, size, unit):
            found = gathered(shadow, offsets + place, unit)[0]
            wrong = (found != 0) & (found != mine)
            if not wrong.any():
                continue
            for access in np.flatnonzero(wrong).tolist():
                octets = int(found[access]).to_bytes(4, "little")[:unit]
                others = [octet for octet in octets if octet not in (0, int(waves[access]))]
                if others:
                    return access, 0 if others[0] == SEVERAL else others[0]
        return None
