"""Memory of a workgroup or of a lane, with shadows: which bytes are written, and of a workgroup by which waves."""

from __future__ import annotations

import numpy as np

from .memory import gathered, scattered
from .races import MOST_LABELS, RaceShadow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from typing import Any, Protocol

    from ...base.arrays import Array

    class Touched(Protocol):
        """What an access writes, or reads (`kind`, of `races`): `size` bytes at each of some offsets, by waves of these
        numbers, from 1."""

        kind: str
        offsets: Array
        size: int

        @property
        def numbers(self) -> Array:
            """Of each access."""


__all__ = ["Labels", "PrivateMemory", "SharedMemory"]


class PrivateMemory:
    """Memory of the same size for each of some owners, such as lanes.

    size: bytes of an owner. It begins undefined, with all bits set: a NaN in every format that has one. Offsets are
    those into `data`, where owner n has [n * stride, n * stride + size).
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

    def note_stored(self, offsets: Array, size: int, undefined: Array | None = None) -> None:
        """Note what was stored. undefined: which of the accesses stored what is not written itself."""
        value = np.zeros(len(offsets), np.uint32) if undefined is None else undefined.astype(np.uint32)
        scattered(self.undefined, offsets, size, [value * np.uint32(0xFFFFFFFF)] * max(1, size // 4))


class Labels:
    """Numbers for places in a kernel: the addresses of instructions, or lines.

    >>> labels = Labels()
    >>> labels.label("k.py:3"), labels.label("k.py:5"), labels.label("k.py:3"), labels.place(1)
    (0, 1, 0, 'k.py:5')
    """

    def __init__(self) -> None:
        self._places: list[Any] = []
        self._labels: dict[Hashable, int] = {}

    def label(self, place: Hashable) -> int:
        """The number of a place."""
        if place not in self._labels:
            self._labels[place] = min(len(self._places), MOST_LABELS - 1)
            self._places.append(place)
        return self._labels[place]

    def place(self, label: int) -> Any:
        """The place of a number; None of those that share the last one."""
        return self._places[label] if label < MOST_LABELS - 1 else None


class SharedMemory(PrivateMemory):
    """Memory of some workgroups. races: who has accessed what since the last barrier. labels: by which it keeps where
    in the kernel that was."""

    labels: Labels
    races: RaceShadow

    def __init__(self, workgroups: int, size: int, labels: Labels | None = None) -> None:
        super().__init__(workgroups, size)
        self.races, self.labels = RaceShadow(len(self.data)), labels or Labels()

    def barrier(self, workgroups: Sequence[int] = (0,), unwaited: Iterable[tuple[Hashable, Touched]] = ()) -> None:
        """The waves of some workgroups have met: what they did before cannot race with what they do next.

        Args:
            unwaited: what may still be outstanding then: the place, and what it writes or reads.
        """
        self.races.barrier(workgroups, self.stride)
        for place, one in unwaited:
            self.races.note(one.kind, one.offsets, one.size, one.numbers, self.labels.label(place))
