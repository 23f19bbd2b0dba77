"""Memory of compiled kernels: bytes by offset, and the global address space with its regions."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from ...errors import counted
from ...records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = [
    "BASE", "FIRST_KEPT", "GAP", "PRIVATE_BASE", "SCRATCH_RESOURCE", "SHARED_BASE", "GlobalMemory", "Outside", "Region",
    "gathered", "octets_of", "scattered",
]  # fmt: skip

BASE = 0x7D_FFF8_0000
"""The address of the code object, before all other regions: larger arrays cross a multiple of 4 GiB, as on hardware."""
SHARED_BASE, PRIVATE_BASE = 0x0001_0000_0000_0000, 0x0002_0000_0000_0000
"""The apertures of LDS and of scratch in the flat address space."""
SCRATCH_RESOURCE = 0x0000_0002_0000_0000
"""The base in the resource descriptor of scratch, which buffer instructions of gfx908 and gfx90a use."""
FIRST_KEPT = 0x7000_0000_0000
"""From here on arrays lie that keep their address from launch to launch (see `addresses`)."""
GAP = 1 << 16
"""Bytes between two regions, where an access is out of bounds."""
ALIGNMENT = 256


def gathered(data: Array, offsets: Array, size: int) -> list[Array]:
    """The 32-bit words at some byte offsets, `size` bytes at each; of 1 and 2 bytes one word, extended by zeros."""
    if size == 1:
        return [data[offsets].astype(np.uint32)]
    if size == 2:
        if not (offsets & 1).any():
            return [data.view(np.uint16)[offsets >> 1].astype(np.uint32)]
        return [data[offsets].astype(np.uint32) | data[offsets + 1].astype(np.uint32) << np.uint32(8)]
    if not (offsets & 3).any():
        words, first = data.view(np.uint32), offsets >> 2
        if size == 4:
            return [words[first]]
        return [words[first + number] for number in range(size // 4)]
    octets = [data[offsets + place].astype(np.uint32) for place in range(size)]
    return [
        octets[at] | octets[at + 1] << np.uint32(8) | octets[at + 2] << np.uint32(16) | octets[at + 3] << np.uint32(24)
        for at in range(0, size, 4)
    ]


def scattered(data: Array, offsets: Array, size: int, values: list[Array]) -> None:
    """Write words, or the low one or two bytes of one, at byte offsets. Of several at one place the last remains."""
    if size == 1:
        data[offsets] = values[0].astype(np.uint8)
    elif size == 2 and not (offsets & 1).any():
        data.view(np.uint16)[offsets >> 1] = values[0].astype(np.uint16)
    elif size >= 4 and not (offsets & 3).any():
        words, first = data.view(np.uint32), offsets >> 2
        for number, value in enumerate(values):
            words[first + number] = value
    else:
        for place in range(size):
            data[offsets + place] = (values[place // 4] >> np.uint32(8 * (place % 4))).astype(np.uint8)


def octets_of(words: list[Array], size: int) -> Array:
    """The bytes of some words, `size` of each access: (accesses, size)."""
    found: Array = np.stack(words, axis=1).astype("<u4").view(np.uint8)[:, :size]
    return found


class Region(TupleRecord):
    """Consecutive global memory: [start, end), what it is called, whether it may be written, the array behind it.

    place: where it begins in the bytes of `GlobalMemory`.
    """

    start: int
    end: int
    name: str
    writeable: bool
    array: Array | None
    place: int


class Outside(Exception):  # noqa: N818
    """An access outside every region: which of the addresses (an index), the address, and where it is, in words."""

    address: int
    place: int
    where: str

    def __init__(self, place: int, address: int, where: str) -> None:
        self.place, self.address, self.where = place, address, where


class GlobalMemory:
    """The global address space of a launch: arguments, arrays, the code object's data."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self._parts: list[tuple[int, bytes | Array]] = []
        self._end, self._size = BASE, 0
        self.data: Array = np.zeros(0, np.uint8)
        self._starts: list[int] = []
        self._last = 0

    def add(self, name: str, content: Array, writeable: bool, array: Array | None = None, start: int = 0) -> int:
        """Enter a region that holds some bytes; returns its address, `start` or the next free one."""
        start = start or -(-self._end // ALIGNMENT) * ALIGNMENT
        place = self._size + start % ALIGNMENT
        self.regions.append(Region(start, start + len(content), name, writeable, array, place))
        self._parts.append((place, content))
        self._size = -(-(place + len(content)) // ALIGNMENT) * ALIGNMENT
        if start < FIRST_KEPT:
            self._end = start + len(content) + GAP
        return start

    def finish(self) -> None:
        """Make the memory, after the last region is entered."""
        self.data = np.zeros(self._size, np.uint8)
        for offset, content in self._parts:
            self.data[offset : offset + len(content)] = content
        self._parts = []
        self.regions.sort(key=lambda region: region.start)
        self._starts = [region.start for region in self.regions]

    def offsets(self, addresses: Array, size: int, store: bool) -> Array:
        """Where some addresses (uint64, one dimension) are in `data`.

        Raises:
            Outside: one of them is in no region, or in one that is not to be written.
        """
        if not addresses.size:
            return addresses.astype(np.int64)
        low, high = int(addresses.min()), int(addresses.max()) + size
        region = self.regions[self._last]
        if not (region.start <= low and high <= region.end):
            self._last = max(0, bisect_right(self._starts, low) - 1)
            region = self.regions[self._last]
        if not (region.start <= low and high <= region.end) or (store and not region.writeable):
            shifts = self._checked(addresses, size, store)
            return addresses.astype(np.int64) - shifts
        return addresses.astype(np.int64) - (region.start - region.place)

    def _checked(self, addresses: Array, size: int, store: bool) -> Array:
        """By how much each address is more than its place."""
        starts = np.array(self._starts, np.uint64)
        ends = np.array([region.end for region in self.regions], np.uint64)
        writeable = np.array([region.writeable for region in self.regions])
        found = np.searchsorted(starts, addresses, "right") - 1
        wrong = (found < 0) | (addresses > ends[found] - np.uint64(size))
        if store:
            wrong |= ~writeable[found]
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            address = int(addresses[place])
            raise Outside(place, address, self._where(address, size, store))
        shifts: Array = np.array([region.start - region.place for region in self.regions], np.int64)[found]
        return shifts

    def _where(self, address: int, size: int, store: bool) -> str:
        """Where an address is, by the nearest region."""
        best = min(self.regions, key=lambda region: max(region.start - address, address + size - region.end))
        length = best.end - best.start
        if best.start <= address and address + size <= best.end:
            return f"in {best.name}, which is not to be written"
        if address < best.start:
            away, side = best.start - address, "before the first byte"
        elif address < best.end:
            more = counted(address + size - best.end, "byte")
            return f"across the last byte of {best.name} ({counted(length, 'byte')}), {more} too many"
        else:
            away, side = address - best.end, "after the last byte"
        if away > 1 << 24:
            return f"at {address:#x}, in no memory that the kernel was given"
        return f"{counted(away, 'byte')} {side} of {best.name} ({counted(length, 'byte')})"

    def commit(self) -> None:
        """Write every region back to the array behind it."""
        for region in self.regions:
            if region.array is not None and region.writeable:
                content = self.data[region.place : region.place + region.end - region.start]
                region.array.reshape(-1, order="A").view(np.uint8)[:] = content
