"""Memory of a launch: bytes by offset, the global address space with its regions, arrays and where they lie.

A launch works on copies of the arrays that it is given, and writes them back when it has ended: one that fails leaves
every array as it was.
"""

from __future__ import annotations

import mmap
import platform
import sys
import threading
import weakref
from bisect import bisect_right

import numpy as np

from ...base.checks import shown
from ...base.errors import Error, plural
from ...base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from ...base.arrays import Array

__all__ = [
    "BASE", "GlobalMemory", "Outside", "Region", "address_of", "check_contiguous", "check_type", "gathered",
    "keep_at", "octets_of", "owner_of", "scattered", "untouched", "write_back",
]  # fmt: skip

BASE = 0x7D_FFF8_0000
"""The address of the code, before all other regions: larger arrays cross a multiple of 4 GiB, as on hardware."""
FIRST_KEPT = 0x7000_0000_0000
"""From here on arrays lie that keep their address from launch to launch (see `address_of`)."""
GAP = 1 << 16
"""Bytes between two regions, where an access is out of bounds."""
ALIGNMENT = 256
NO_RESERVE = 0x4000 if sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64") else 0
"""MAP_NORESERVE (Linux, asm-generic/mman.h), which Python 3.10 does not name: what is kept beside an array may be many
times as large as the array, and Linux refuses one mapping that is larger than all memory, however little is used."""


def untouched(shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros that take no memory until they are touched. Those of np.zeros do where the C library gives it memory that
    was used before: it then writes them all.

    Raises:
        MemoryError: the system does not promise as much.

    >>> int(untouched((1 << 20, 4), np.int64)[1 << 19].sum())
    0
    """
    count = int(np.prod(shape))
    size = max(1, count * np.dtype(dtype).itemsize)
    flags = (mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | NO_RESERVE,) if NO_RESERVE else ()
    try:
        room = mmap.mmap(-1, size, *flags)
    except (OSError, OverflowError) as problem:
        raise MemoryError(f"{size} bytes: {problem}") from None
    found: Array = np.frombuffer(room, dtype, count).reshape(shape)
    return found


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
    """The global address space of a launch: arguments, arrays, the code object's data.

    region: of the last addresses that were looked up the number of their region, -1 if they are in several.
    """

    region: int

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self._parts: list[tuple[int, bytes | Array]] = []
        self._end, self._size = BASE, 0
        self.data: Array = np.zeros(0, np.uint8)
        self._starts: list[int] = []
        self._last = 0
        self.region = -1
        self._owners: dict[int, int] = {}  # by the identity of an array that owns memory, its address

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

    def add_kept(self) -> None:
        """Enter the arrays that have an address already (`address_of`)."""
        for address, base, given in _kept_arrays():
            name = given or f"the array of address_of ({base.dtype} of shape {base.shape})"
            self._owners[id(base)] = self._add_owner(name, base, address)

    def address(self, name: str, array: Any) -> int:
        """The address of an array's first element; it is entered where its memory is not. Views of one array share it.

        Raises:
            Error: it is not numbers, or not contiguous.
        """
        check_type(name, array)
        check_contiguous(array, name)
        return self.entered(name, array)[0]

    def entered(self, name: str, array: Array) -> tuple[int, int]:
        """The address of an array's first element, and how many bytes of its owner's memory lie before it.

        Raises:
            Error: its memory is not contiguous.
        """
        base, first = owner_of(name, array)
        if id(base) not in self._owners:
            self._owners[id(base)] = self._add_owner(name, base)
        return self._owners[id(base)] + first, first

    def _add_owner(self, name: str, base: Array, start: int = 0) -> int:
        content = base.reshape(-1, order="A").view(np.uint8)
        return self.add(name, content, bool(base.flags.writeable), base, start)

    def finish(self) -> None:
        """Make the memory of the regions that are entered; of those entered since, too, if it was made before."""
        before, self.data = self.data, np.zeros(self._size, np.uint8)
        self.data[: len(before)] = before
        for offset, content in self._parts:
            self.data[offset : offset + len(content)] = content
        self._parts = []
        self.regions.sort(key=lambda region: region.start)
        self._starts = [region.start for region in self.regions]

    def offsets(self, addresses: Array, size: int, store: bool, words: bool = False) -> Array:
        """Where some addresses (uint64, one dimension) are in `data`. words: whether an aligned access of 4 bytes may
        have bytes behind the last one of a region: memory is given out by more than that, and they are zero here.

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
        self.region = self._last
        if not (region.start <= low and high <= region.end) or (store and not region.writeable):
            self.region = -1
            shifts = self._checked(addresses, size, store, words)
            return addresses.astype(np.int64) - shifts
        return addresses.astype(np.int64) - (region.start - region.place)

    def around(self, address: int) -> Region | None:
        """The region that holds an address, None if none does."""
        found = self.regions[self._last]
        if not found.start <= address < found.end:
            self._last = max(0, bisect_right(self._starts, address) - 1)
            found = self.regions[self._last]
        return found if found.start <= address < found.end else None

    def found_around(self) -> None:
        """The addresses that were looked up are all in the region that `around` gave."""
        self.region = self._last

    def _checked(self, addresses: Array, size: int, store: bool, words: bool) -> Array:
        """By how much each address is more than its place."""
        starts = np.array(self._starts, np.uint64)
        ends = np.array([region.end for region in self.regions], np.uint64)
        if words and size == 4 and not (addresses % np.uint64(4)).any():
            ends += -ends % np.uint64(4)
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
        if not length and 0 <= address - best.end < GAP:
            return f"in {best.name}"
        if best.start <= address and address + size <= best.end:
            return f"in {best.name}, which is not to be written"
        if address < best.start:
            away, side = best.start - address, "before the first byte"
        elif address < best.end:
            more = plural(address + size - best.end, "byte")
            return f"across the last byte of {best.name} ({plural(length, 'byte')}), {more} too many"
        else:
            away, side = address - best.end, "after the last byte"
        if not away:
            return f"just past the end of {best.name} ({plural(length, 'byte')})"
        if away > 1 << 24:
            return f"at {address:#x}, in no memory that the kernel was given"
        return f"{plural(away, 'byte')} {side} of {best.name} ({plural(length, 'byte')})"

    def bytes_of(self, start: int) -> Array:
        """The bytes of the region that begins at an address, as they are now."""
        if self._parts:
            self.finish()
        region = self.regions[bisect_right(self._starts, start) - 1]
        return self.data[region.place : region.place + region.end - region.start]

    def commit(self, starts: Container[int] | None = None) -> None:
        """Write every region back to its array; if `starts` is given, only those that begin at these addresses."""
        if self._parts:
            self.finish()
        for region in self.regions:
            if region.array is not None and region.writeable and (starts is None or region.start in starts):
                write_back(region.array, self.data[region.place : region.place + region.end - region.start])


# --- arrays and their memory ---

_lock = threading.RLock()
_kept: dict[int, tuple[int, weakref.ref[Array], str]] = {}
"""By the identity of an array that owns memory: its address, and its name or "". It goes when the array does."""
_next = FIRST_KEPT


def address_of(array: Array) -> int:
    """The address of an array's first element in the memory of compiled kernels, for pointers that lie in memory.

    Give a kernel an array of such addresses (uint64) or a structure that holds them. From then on the array is in the
    memory of every launch, at this address, for as long as it exists; a kernel reads and writes it as it does the
    arrays among its arguments, and an access outside of it stops the launch. Another launch sees what the last one
    that ended well has stored.

    Args:
        array: of numbers or structures, contiguous; a view has the address of its own first element.

    Returns:
        The address in bytes, a multiple of 256 where the array owns its memory.

    Raises:
        Error: it is not a NumPy array, not contiguous, or of text, dates or Python objects.

    >>> import mmacalc, numpy as np
    >>> tiles = [np.zeros((16, 16), np.float16) for _ in range(3)]
    >>> pointers = np.array([mmacalc.address_of(tile) for tile in tiles], np.uint64)  # an argument of a grouped GEMM
    >>> mmacalc.address_of(tiles[0][2:]) - int(pointers[0])
    64
    """
    global _next
    if not isinstance(array, np.ndarray):
        raise Error(f"address_of takes a NumPy array; got {shown(array)}")
    check_type("address_of", array)
    check_contiguous(array, "the array of address_of")
    base, first = owner_of("the array of address_of", array)
    with _lock:
        if id(base) not in _kept:
            keep_at(base, _next)
            _next = -(-(_next + base.nbytes + GAP) // ALIGNMENT) * ALIGNMENT
        return _kept[id(base)][0] + first


def keep_at(array: Array, address: int, name: str = "") -> None:
    """Have an array that owns its memory at an address in the memory of every launch, for as long as it exists.

    name: what messages call it.
    """
    key = id(array)
    with _lock:
        _kept[key] = address, weakref.ref(array, lambda _: _forget(key)), name


def _forget(key: int) -> None:
    with _lock:
        _kept.pop(key, None)


def _kept_arrays() -> list[tuple[int, Array, str]]:
    """The arrays that have an address and still exist, each with it and its name."""
    with _lock:
        found = [(address, reference(), name) for address, reference, name in _kept.values()]
    return [(address, base, name) for address, base, name in found if base is not None]


def owner_of(name: str, array: Any) -> tuple[Any, int]:
    """The array that owns the memory of a view, and where the view begins in it, in bytes.

    Raises:
        Error: the owner is not contiguous.
    """
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    if not (base.flags.c_contiguous or base.flags.f_contiguous):
        raise Error(f"{name} lies in memory that is not contiguous; pass numpy.ascontiguousarray of it")
    return base, int(array.__array_interface__["data"][0] - base.__array_interface__["data"][0])


def check_type(name: str, value: Any) -> None:
    """Refuse what is not numbers in memory: text, dates, Python objects; structures are taken by their bytes.

    Raises:
        Error: it is one of these.
    """
    kinds = {value.dtype[field].base.kind for field in value.dtype.names} if value.dtype.names else {value.dtype.kind}
    if value.dtype.hasobject or not kinds <= set("biufcV"):
        raise Error(f"{name} takes numbers; got {value.dtype}")


def check_contiguous(array: Array, name: str) -> None:
    """Refuse an array whose memory is not its elements, row by row: a kernel is given memory.

    Raises:
        Error: says what to pass instead.
    """
    if array.flags.c_contiguous:
        return
    shape, strides = (" x ".join(map(str, sizes)) for sizes in (array.shape, array.strides))
    where = "" if not array.flags.f_contiguous else "; its .T has its memory as it lies, column by column"
    raise Error(
        f"{name} is not C-contiguous ({shape} elements, {strides} bytes apart), and a kernel is given memory: pass "
        f"numpy.ascontiguousarray of it, and copy back what the kernel stores{where}"
    )


def write_back(array: Array, content: Array) -> None:
    """Put bytes into the memory that an array owns."""
    array.reshape(-1, order="A").view(np.uint8)[:] = content
