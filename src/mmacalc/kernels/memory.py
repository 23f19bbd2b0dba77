"""What Python kernels access memory by: pointers into NumPy arrays and LDS, bounds-checked.

A launch works on the memory of `device.memory`, as compiled kernels do: on copies that are written back when it ends,
so that a launch that fails leaves every array as it was. A `Pointer` is to an array what `T*` is to memory: it has an
element type, moves by whole elements, and can be dereferenced only inside the array it came from.

LDS has the shadows of `device.shared`: races, and reads of what nothing has written. Waves take turns in a fixed order,
so a launch can give the right result where a barrier is missing. Waves that write the same value to an element do no
harm, and are not reported.

>>> memory = Memory()
>>> matrix = memory.pointer(np.arange(12.0).reshape(3, 4), "a")
>>> row = matrix + 1 * 4  # the second row of a matrix whose leading dimension is 4
>>> float(row[2]), row[np.array([0, 3])].tolist()
(6.0, [4.0, 7.0])
>>> rows = matrix + 4 * np.arange(3)  # a pointer of each lane's own
>>> rows[1].tolist(), rows[0:2].tolist()
([1.0, 5.0, 9.0], [[0.0, 4.0, 8.0], [1.0, 5.0, 9.0]])
"""

from __future__ import annotations

import sys
from operator import index

import numpy as np

from ..base.errors import Error
from ..base.records import TupleRecord
from .device.findings import LineFinding, entered
from .device.memory import GlobalMemory, check_contiguous
from .device.shared import SharedMemory
from .device.traffic import TrafficCounter, call_site
from .waves import running_wave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from ..base.arrays import Array
    from .device.races import Race, Stored
    from .device.traffic import BankCounter, Traffic
    from .waves import Wave

__all__ = ["Memory", "Pointer", "Region"]


class Allocation:
    """An allocation in LDS, by elements of some bytes. memory: its bytes, and who has accessed which."""

    memory: SharedMemory
    name: str
    size: int

    def __init__(self, name: str, elements: int, size: int) -> None:
        self.name, self.size, self.memory = name, size, SharedMemory(1, elements * size)

    def note(self, kind: str, places: Array, stored: Stored | None = None) -> None:
        """Enter an access by the running wave.

        Args:
            kind: "read" or "write". places: elements. stored: of a write gives the bytes of the elements before it, and
                those written, (elements, size) each.
        """
        wave = running_wave()
        if wave is None or not places.size:
            return
        elements, line, memory = places.ravel(), call_site(sys._getframe(1)), self.memory
        offsets, unit = elements * self.size, self.size
        if unit % 4 and unit > 2:  # a structure: byte by byte
            offsets, unit = (offsets[:, None] + np.arange(unit)).ravel(), 1
        number = np.full(offsets.size, wave.index + 1, np.uint8)
        octets = None if stored is None else (lambda: _reshaped(stored(), unit))
        race = memory.races.note(kind, offsets, unit, number, memory.labels.label(line), octets)
        if race is not None and not race.same:
            self._race(wave, kind, line, int(offsets[race.access]) // self.size, race)
        if kind == "write":
            memory.note_stored(offsets, unit)
        elif memory.undefined_at(offsets, unit) is not None:
            wave.group.warn(wave.launch, f"{line} reads elements of {self.name} in LDS that nothing has written")

    def _race(self, wave: Wave, kind: str, line: str, element: int, race: Race) -> None:
        place = self.memory.labels.place(race.label)
        who = f"wave {race.wave - 1}"
        message = (
            f"{kind}s {self.name}[{element}] in LDS, which {who} of the workgroup {race.kind}s at {place}, without "
            "synchronize_workgroup in between"
        )
        at = (*wave.group.index,)
        entered(wave.launch.findings, LineFinding("race", line, message, place, at, wave.index, race.wave - 1, 1))


def _reshaped(values: tuple[Array, Array], unit: int) -> tuple[Array, Array]:
    before, after = values
    return before.reshape(-1, unit), after.reshape(-1, unit)


class Region(TupleRecord):
    """What pointers from one origin may access: a part of an array's memory, or an allocation in LDS.

    dtype: the element type. start: the address of the memory that owns it; local: the allocation, of LDS. bounds: the
    first element and the one after the last, counted from there.
    """

    memory: Memory
    start: int
    local: Allocation | None
    dtype: np.dtype[Any]
    bounds: tuple[int, int]
    name: str
    writeable: bool

    @property
    def elements(self) -> Array:
        """The memory, as elements of the type."""
        octets = self.memory.bytes.bytes_of(self.start) if self.local is None else self.local.memory.data
        whole = len(octets) // self.dtype.itemsize * self.dtype.itemsize
        return octets[:whole].view(self.dtype)


class Memory:
    """The memory that the kernels of one launch can access. Counts the bytes that they move."""

    bytes: GlobalMemory
    lds: BankCounter | None
    moved: TrafficCounter
    written: set[int]

    def __init__(self, lds: BankCounter | None = None) -> None:
        self.lds, self.bytes, self.moved = lds, GlobalMemory(), TrafficCounter()
        self.written = set()

    @property
    def traffic(self) -> Traffic:
        """The bytes moved so far."""
        return self.moved.traffic

    def count(self, region: Region, elements: int, store: bool) -> None:
        """Count `elements` elements as traffic."""
        self.moved.add(elements * region.dtype.itemsize, store, local=region.local is not None)

    def count_lds(self, region: Region, places: Array, access: str) -> None:
        """Count an access of LDS.

        Args:
            places: elements from the allocation's start, (lanes, elements); negative where a lane has none.
        """
        if self.lds is not None:
            self.lds.count(places * region.dtype.itemsize, region.dtype.itemsize, access)

    def argument(self, array: Array, name: str) -> Pointer:
        """A pointer to an array that is an argument of a launch.

        Raises:
            Error: it is not C-contiguous.
        """
        check_contiguous(array, name)
        return self.pointer(array, name)

    def pointer(self, array: Array, name: str = "array") -> Pointer:
        """A pointer to the first element of an array, which reaches as far as the array does.

        Arrays that are views of one another share their memory, as they do in NumPy.

        Raises:
            Error: the memory that the array is a view of is not contiguous.
        """
        address, first = self.bytes.entered(name, array)
        strides = [stride * (size - 1) for stride, size in zip(array.strides, array.shape)]
        low, high = first + sum(min(s, 0) for s in strides), first + sum(max(s, 0) for s in strides) + array.itemsize
        if first % array.itemsize:
            raise Error(f"{name} does not begin at a multiple of its element's {array.itemsize} bytes")
        size = array.itemsize
        if not array.size:
            high = low
        bounds = low // size, high // size
        region = Region(self, address - first, None, array.dtype, bounds, name, array.flags.writeable)
        return Pointer(region, first // size)

    def local(self, size: int, dtype: np.dtype[Any], name: str) -> Pointer:
        """A pointer to `size` new elements in LDS."""
        allocation = Allocation(name, size, dtype.itemsize)
        return Pointer(Region(self, 0, allocation, dtype, (0, size), name, True), 0)

    def commit(self) -> None:
        """Write everything that was stored into the arrays."""
        self.bytes.commit(self.written)


class Pointer:
    """`T*`: a place in memory with an element type. `p + n` and `p - n` move by elements, `p[n]` reads and writes.

    An index may be an array, one for each lane: `a[m * k]` is what every lane loads. So may what is added: then each
    lane has a pointer of its own, and `p[n]` is an array with an element for each lane. A slice is a vector: `p[0:8]`
    has the shape (8,), of a pointer of each lane's own (8, lanes). Made by `launch` from the arrays that a kernel is
    given, and by `Wave.shared`.

    Attributes:
        name: the array's, as messages say it; dtype: the element type; offset: in elements, from the array's start.
    """

    __slots__ = ("lanes", "place", "region")
    lanes: Array | None
    place: int
    region: Region
    __array_ufunc__ = None  # so that `threadIdx.x * k + p` asks the pointer

    def __init__(self, region: Region, place: int, lanes: Array | None = None) -> None:
        self.region = region
        self.place = place  # in elements from the buffer's start
        self.lanes = lanes  # what each lane's own pointer adds to `place`

    @property
    def name(self) -> str:
        """The array's name."""
        return self.region.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self.region.dtype

    @property
    def offset(self) -> int | Array:
        """Elements from the start of the array: a number, or one for each lane."""
        start = self.place - self.region.bounds[0]
        return start if self.lanes is None else start + self.lanes

    def _moved(self, elements: int, lanes: Array | None) -> Pointer:
        return Pointer(self.region, self.place + elements, lanes)

    def __add__(self, elements: int | Array) -> Pointer:
        if type(elements) is int:
            return self._moved(elements, self.lanes)
        many = np.asarray(elements)
        if many.dtype.kind not in "iu" or many.ndim > 1:
            what = f"{many.dtype} of shape {many.shape}" if many.ndim else repr(elements)
            raise Error(f"{self.name} + {what}: a pointer moves by a whole number of elements, or by one for each lane")
        if not many.ndim:
            return self._moved(int(many), self.lanes)
        return self._moved(0, many.astype(np.intp, copy=False) if self.lanes is None else many + self.lanes)

    __radd__ = __add__

    def __sub__(self, elements: int | Array) -> Pointer:
        many = np.asarray(elements)
        return self + (-many.astype(np.intp) if many.dtype.kind in "iu" else many)

    def __repr__(self) -> str:
        return f"<{self.dtype}* {self.name} + {self.offset} of {self.size}>"

    @property
    def size(self) -> int:
        """The number of elements of the array."""
        first, end = self.region.bounds
        return end - first

    def same_in_all_lanes(self, call: str) -> Pointer:
        """This pointer as one for the whole wave.

        Raises:
            Error: the lanes' pointers differ; names `call`.
        """
        if self.lanes is None:
            return self
        values = self.lanes.tolist()  # faster than NumPy on so few
        if values.count(values[0]) != len(values):
            raise Error(
                f"{call}: {self.name} differs between the lanes of the wave; it takes one pointer for all lanes"
            )
        return self._moved(values[0], None)

    def __getitem__(self, where: ArrayLike | slice) -> Array:
        places = self._places("load", where)
        return self.read(places, places.size)

    def __setitem__(self, where: ArrayLike | slice, values: ArrayLike) -> None:
        places = self._places("store", where)
        self.write(places, values, places.size)

    def _places(self, call: str, where: ArrayLike | slice) -> Array:
        """The checked places that an index means, from `place`."""
        if isinstance(where, slice):
            places = self._vector(call, where)
        else:
            places = self._indexes(call, where)
        if self.lanes is not None and places.dtype.kind in "iu":
            try:
                places = places + self.lanes
            except ValueError:
                raise Error(
                    f"{call}: {self.name} has a pointer for each of {len(self.lanes)} lanes; the index has shape "
                    f"{places.shape}, whose last axis should be that of the lanes"
                ) from None
        if places.size:
            self.check(call, places, np.min(places), np.max(places))
        return places

    def _indexes(self, call: str, where: ArrayLike) -> Array:
        """An index, or one for each lane, as an array."""
        if isinstance(where, tuple):
            raise Error(
                f"{call}: {self.name} is indexed by {len(where)} values, as a matrix is; a pointer has one index, such "
                f"as {self.name}[row * ld + column]"
            )
        try:
            return np.asarray(where)
        except ValueError:
            raise Error(f"{call}: the index of {self.name} has parts of several lengths") from None

    def _vector(self, call: str, where: slice) -> Array:
        """The places that a slice means, before those of the lanes are added."""
        try:
            places = np.arange(index(where.start or 0), index(where.stop), index(where.step or 1))
        except TypeError:
            example = f"{self.name}[0:8]"
            raise Error(f"{call}: a slice of {self.name} needs an end, and whole numbers, as in {example}") from None
        return places if self.lanes is None else places[:, None]

    def check(self, call: str, places: Array, least: int, most: int, store: bool | None = None) -> None:
        """Refuse places outside the array, and stores to one that is read-only.

        Args:
            call: the caller's name, for the message. places: relative to this pointer; least, most: of them.
            store: whether it writes; if left out, whether the caller is "store".

        Raises:
            Error: names the call, the array, the element and its byte address.
        """
        low, high = self.region.bounds
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
        if (call == "store" if store is None else store) and not self.region.writeable:
            raise Error(f"{call}: {self.name} is read-only")

    def read(self, places: Array, elements: int, by_lane: Array | None = None) -> Array:
        """The elements at checked places; `elements` of them are counted as traffic.

        Args:
            by_lane: the places as (lanes, elements), for counting bank conflicts; negative where a lane has none.
                If left out, the last axis of `places` runs over the lanes.
        """
        region = self.region
        region.memory.count(region, elements, store=False)
        if region.local is not None:
            region.local.note("read", places + self.place)
            region.memory.count_lds(region, self._by_lane(places, by_lane), "read")
        found: Array = region.elements[places + self.place]
        return found

    def _by_lane(self, places: Array, by_lane: Array | None) -> Array:
        """Places from the buffer's start as (lanes, elements)."""
        if by_lane is None:
            lanes = np.atleast_1d(places)
            return lanes.reshape(-1, lanes.shape[-1]).T + self.place
        return np.where(by_lane < 0, -1, by_lane + self.place)

    def write(self, places: Array, values: ArrayLike, elements: int, by_lane: Array | None = None) -> None:
        """Store values at checked places; `by_lane` as for `read`."""
        region = self.region
        region.memory.count(region, elements, store=True)
        content = region.elements
        given: Array = np.empty(places.shape, region.dtype)
        try:
            with np.errstate(all="ignore"):  # as a conversion in C++
                given[...] = values
        except (TypeError, ValueError):
            raise Error(
                f"store: {self.name} takes {self.dtype} of shape {places.shape}, or one number; "
                f"got shape {np.shape(values)}"
            ) from None
        if region.local is not None:
            where = places + self.place
            region.local.note("write", where, lambda: (_octets(content[where]), _octets(given)))
            region.memory.count_lds(region, self._by_lane(places, by_lane), "write")
        else:
            region.memory.written.add(region.start)
        content[places + self.place] = given


def _octets(elements: Array) -> Array:
    """The bytes of elements, those of one in a row."""
    found: Array = np.ascontiguousarray(elements).reshape(-1, 1).view(np.uint8)
    return found


def _hex(value: int) -> str:
    return f"-0x{-value:x}" if value < 0 else f"0x{value:x}"


def _lane_of(places: Array, bad: int) -> str:
    """Which lane asked for a place, for a message."""
    if not places.ndim:
        return ""
    found = np.argwhere(places == bad)
    return f" of lane {found[0][0]}" if len(found) else ""
