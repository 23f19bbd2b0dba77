"""LDS and scratch, with shadows: which bytes are written, and in LDS which waves accessed them."""

from __future__ import annotations

import numpy as np

from .race_shadow import RaceShadow
from .storage import gathered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["Lds", "Scratch"]


class Scratch:
    """Memory of the same size for each of some owners: of scratch the lanes, of LDS the workgroups.

    size: bytes of an owner. Offsets are those into `data`, where owner n has [n * stride, n * stride + size).
    """

    size: int
    stride: int

    def __init__(self, owners: int, size: int) -> None:
        self.size, self.stride = size, -(-size // 16) * 16
        self.data: Array = np.full(owners * self.stride, 0xFF, np.uint8)
        self.undefined: Array = np.full(owners * self.stride, 0xFF, np.uint8)

    def undefined_at(self, offsets: Array, size: int) -> Array | None:
        """Where one of the bytes has not been written; None if nowhere."""
        words = gathered(self.undefined, offsets, size)
        found = words[0] != 0
        for word in words[1:]:
            found |= word != 0
        return found if found.any() else None


class Lds(Scratch):
    """LDS of some workgroups. races: who has accessed what since the last barrier."""

    races: RaceShadow

    def __init__(self, workgroups: int, size: int) -> None:
        super().__init__(workgroups, size)
        self.races = RaceShadow(len(self.data))

    def barrier(self, workgroup: int) -> None:
        """The waves of a workgroup have met: what they did before cannot race with what they do next."""
        self.races.barrier(slice(workgroup * self.stride, (workgroup + 1) * self.stride))
