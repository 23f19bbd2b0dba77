"""Pointers into NumPy arrays, checked at every access, on copies that replace the arrays when all went well.

A launch works on a copy of each array that it is given (a `Buffer`), and writes the copies back when it ends: a
launch that fails leaves every array as it was. A `Pointer` is to an array what `T*` is to memory: it has an
element type, moves by whole elements, and may only be followed inside the array it came from.

>>> memory = Memory()
>>> matrix = memory.pointer(np.arange(12.0).reshape(3, 4), "a")
>>> row = matrix + 1 * 4  # the second row of a matrix whose leading dimension is 4
>>> float(row[2]), row[np.array([0, 3])].tolist()
(6.0, [4.0, 7.0])
"""

from __future__ import annotations

from collections import namedtuple
from operator import index

import numpy as np

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[Any]

__all__ = ["Buffer", "Memory", "Pointer", "Traffic"]


class Traffic(namedtuple("Traffic", "loaded stored lds_loaded lds_stored")):
    """Bytes moved: from and to global memory, from and to LDS."""

    __slots__ = ()
    loaded: int
    stored: int
    lds_loaded: int
    lds_stored: int


class Buffer:
    """One stretch of memory: the copy of an array, or an allocation in LDS."""

    __slots__ = ("array", "data", "local", "start", "views", "written")

    def __init__(self, array: Array | None, size: int = 0) -> None:
        self.array, self.local, self.written = array, array is None, False
        self.data: Array
        self.views: dict[np.dtype[Any], Array] = {}
        if array is None:
            # Nobody knows what LDS holds at first. All ones are a NaN in every format that has one.
            self.data, self.start = np.full(size, 0xFF, np.uint8), 0
        else:
            self.data = array.reshape(-1, order="A").copy().view(np.uint8)
            self.start = array.__array_interface__["data"][0]

    def view(self, dtype: np.dtype[Any]) -> Array:
        """The memory as elements of a type."""
        if dtype not in self.views:
            whole = len(self.data) // dtype.itemsize * dtype.itemsize
            self.views[dtype] = self.data[:whole].view(dtype)
        return self.views[dtype]

    def commit(self) -> None:
        """Write the copy back."""
        if self.array is not None and self.written:
            self.array.reshape(-1, order="A").view(np.uint8)[:] = self.data


class Memory:
    """What the kernels of one launch can reach. Counts the bytes that they move."""

    def __init__(self) -> None:
        self.buffers: dict[int, Buffer] = {}
        self._kept: list[Array] = []
        self.loaded = self.stored = self.lds_loaded = self.lds_stored = 0

    @property
    def traffic(self) -> Traffic:
        """The bytes moved so far."""
        return Traffic(self.loaded, self.stored, self.lds_loaded, self.lds_stored)

    def count(self, pointer: Pointer, elements: int, store: bool) -> None:
        """Note that so many elements were moved."""
        name = ("lds_" if pointer.buffer.local else "") + ("stored" if store else "loaded")
        setattr(self, name, getattr(self, name) + elements * pointer.dtype.itemsize)

    def pointer(self, array: Array, name: str = "array") -> Pointer:
        """A pointer to the first element of an array, which reaches as far as the array does.

        Arrays that are views of one another share their memory, as they do in NumPy.

        Raises:
            Error: the memory that the array is a view of is not contiguous.
        """
        base: Array = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        if not (base.flags.c_contiguous or base.flags.f_contiguous):
            raise Error(f"{name} lies in memory that is not contiguous; give the kernel numpy.ascontiguousarray of it")
        if id(base) not in self.buffers:
            self.buffers[id(base)] = Buffer(base)
            self._kept.append(base)
        buffer = self.buffers[id(base)]
        first = array.__array_interface__["data"][0] - buffer.start
        strides = [stride * (size - 1) for stride, size in zip(array.strides, array.shape)]
        low, high = first + sum(min(s, 0) for s in strides), first + sum(max(s, 0) for s in strides) + array.itemsize
        if first % array.itemsize:
            raise Error(f"{name} does not begin at a multiple of its element's {array.itemsize} bytes")
        size = array.itemsize
        if not array.size:
            high = low
        return Pointer(
            self, buffer, array.dtype, first // size, (low // size, high // size), name, array.flags.writeable
        )

    def local(self, size: int, dtype: np.dtype[Any], name: str) -> Pointer:
        """A pointer to `size` new elements in LDS."""
        return Pointer(self, Buffer(None, size * dtype.itemsize), dtype, 0, (0, size), name, True)

    def commit(self) -> None:
        """Write everything that was stored into the arrays."""
        for buffer in self.buffers.values():
            buffer.commit()


class Pointer:
    """`T*`: a place in memory with an element type. `p + n` and `p - n` move by elements, `p[n]` reads and writes.

    An index may be an array, one for each lane: `a[m * k]` is what every lane loads. Made by `launch` from the
    arrays that a kernel is given, and by `Wave.shared`.

    Attributes:
        name: the array's, as messages say it; dtype: the element type; offset: in elements, from the array's start.
    """

    __slots__ = ("bounds", "buffer", "dtype", "memory", "name", "place", "writeable")

    def __init__(
        self,
        memory: Memory,
        buffer: Buffer,
        dtype: np.dtype[Any],
        place: int,
        bounds: tuple[int, int],
        name: str,
        writeable: bool,
    ) -> None:
        self.memory, self.buffer, self.dtype, self.place = memory, buffer, dtype, place
        self.bounds, self.name, self.writeable = bounds, name, writeable

    @property
    def offset(self) -> int:
        """Elements from the start of the array."""
        return self.place - self.bounds[0]

    def __add__(self, elements: int) -> Pointer:
        place = self.place + index(elements)
        return Pointer(self.memory, self.buffer, self.dtype, place, self.bounds, self.name, self.writeable)

    __radd__ = __add__

    def __sub__(self, elements: int) -> Pointer:
        return self + -index(elements)

    def __repr__(self) -> str:
        return f"<{self.dtype}* {self.name} + {self.offset} of {self.bounds[1] - self.bounds[0]}>"

    def __getitem__(self, where: ArrayLike) -> Array:
        places = np.asarray(where)
        self.check("load", places, places.min(initial=0), places.max(initial=0))
        return self.read(places, places.size)

    def __setitem__(self, where: ArrayLike, values: ArrayLike) -> None:
        places = np.asarray(where)
        self.check("store", places, places.min(initial=0), places.max(initial=0))
        self.write(places, values, places.size)

    def check(self, call: str, places: Array, least: int, most: int, store: bool | None = None) -> None:
        """Refuse places outside the array, and stores to one that is read-only.

        Args:
            call: who asks, as the message says it. places: relative to this pointer; least, most: of them.
            store: whether it writes; told from the call "store" if left out.

        Raises:
            Error: names the call, the array, the element and its byte address.
        """
        low, high = self.bounds
        if places.dtype.kind not in "iu":
            raise Error(f"{call}: {self.name} is indexed by {places.dtype}; an index is a whole number for each lane")
        if self.place + least < low or self.place + most >= high:
            bad = self.place + (most if self.place + most >= high else least) - low
            lane = _lane_of(places, bad + low - self.place)
            address, size = _hex(bad * self.dtype.itemsize), _hex((high - low) * self.dtype.itemsize)
            raise Error(
                f"{call}: {self.name}[{bad}]{lane} is out of bounds: {self.name} has {high - low} elements of "
                f"{self.dtype}, 0 to {high - low - 1}; the address is {address} of {size} bytes"
            )
        if (call == "store" if store is None else store) and not self.writeable:
            raise Error(f"{call}: {self.name} is read-only")

    def read(self, places: Array, elements: int) -> Array:
        """The elements at checked places; `elements` of them are counted as traffic."""
        self.memory.count(self, elements, store=False)
        found: Array = self.buffer.view(self.dtype)[places + self.place]
        return found

    def write(self, places: Array, values: ArrayLike, elements: int) -> None:
        """Store values at checked places."""
        self.memory.count(self, elements, store=True)
        self.buffer.written = True
        self.buffer.view(self.dtype)[places + self.place] = values


def _hex(value: int) -> str:
    return f"-0x{-value:x}" if value < 0 else f"0x{value:x}"


def _lane_of(places: Array, bad: int) -> str:
    """Which lane asked for a place, for a message."""
    if not places.ndim:
        return ""
    found = np.argwhere(places == bad)
    return f" of lane {found[0][0]}" if len(found) else ""
