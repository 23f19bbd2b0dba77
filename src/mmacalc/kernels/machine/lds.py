"""LDS and scratch, with shadows: which bytes are written, and in LDS which waves accessed them."""

from __future__ import annotations

import numpy as np

from .race_shadow import MOST_LABELS, UNWAITED, RaceShadow
from .storage import gathered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from .counters import Landing

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
    """LDS of some workgroups. races: who has accessed what since the last barrier, each with its instruction."""

    races: RaceShadow

    def __init__(self, workgroups: int, size: int) -> None:
        super().__init__(workgroups, size)
        self.races = RaceShadow(len(self.data))
        self._addresses: list[int] = []
        self._labels: dict[int, int] = {}

    def label(self, address: int) -> int:
        """The label by which `races` keeps an instruction."""
        if address not in self._labels:
            self._labels[address] = min(len(self._addresses), MOST_LABELS - 1)
            self._addresses.append(address)
        return self._labels[address]

    def address(self, label: int) -> int | None:
        """The instruction of a label; None of those that share the last one."""
        return self._addresses[label] if label < MOST_LABELS - 1 else None

    def barrier(self, workgroup: int, unwaited: Iterable[tuple[int, Landing]] = ()) -> None:
        """The waves of a workgroup have met: what they did before cannot race with what they do next.

        Args:
            unwaited: what may still be outstanding then: the instruction, and what it writes.
        """
        self.races.barrier(slice(workgroup * self.stride, (workgroup + 1) * self.stride))
        for address, one in unwaited:
            self.races.note(UNWAITED, one.offsets, one.size, one.numbers, self.label(address))
