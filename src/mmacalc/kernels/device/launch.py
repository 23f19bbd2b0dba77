"""What every launch begins with: the grid, the values among its arguments; and its progress on a terminal."""

from __future__ import annotations

import gc
import sys
import time
from contextlib import contextmanager
from itertools import product
from operator import index

import numpy as np

from ...base.checks import shown
from ...base.errors import Error, plural
from ...base.records import TupleRecord
from ...base.waiting import DELAY, LINE
from .memory import check_contiguous, check_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ...base.arrays import Array

    Size = int | tuple[int, ...]

__all__ = [
    "MAX_THREADS",
    "AddressedValue",
    "Dim3",
    "Progress",
    "buffer_bytes",
    "collector_paused",
    "dim3",
    "value_bytes",
    "workgroups",
]

MAX_THREADS = 1024
"""Threads of a workgroup (HIP, maxThreadsPerBlock; CUDA C++ programming guide, "Compute capabilities")."""
STRUCTURE = 8
"""Bytes of which the size of a structure of pointers and numbers is a multiple."""
FLOATS: dict[int, type[np.floating[Any]]] = {2: np.float16, 4: np.float32, 8: np.float64}


class Dim3(TupleRecord):
    """Three numbers called x, y and z, as HIP's and CUDA's dim3."""

    x: int
    y: int
    z: int


def dim3(name: str, given: Size) -> Dim3:
    """One to three sizes as a Dim3; those left out are 1.

    Raises:
        Error: none, more than three, or one that is not a whole number from 1 up; says `name`.
    """
    sizes = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    try:
        whole = [index(size) for size in sizes]
    except TypeError:
        whole = []
    if not 1 <= len(whole) <= 3 or min(whole) < 1 or max(whole) >> 31:
        raise Error(f"launch: {name} is {shown(given)}; it takes one to three whole numbers from 1 up (below 2^31)")
    return Dim3(*whole, *(1,) * (3 - len(whole)))


def workgroups(grid: Dim3) -> Iterator[Dim3]:
    """The workgroups in the order in which they are dispatched: x first."""
    return (Dim3(x, y, z) for z, y, x in product(range(grid.z), range(grid.y), range(grid.x)))


def checked_seed(schedule: object) -> int | None:
    """The seed of a schedule as it was given.

    Raises:
        Error: it is none.
    """
    whole = isinstance(schedule, (int, np.integer)) and not isinstance(schedule, bool)
    if schedule is not None and not (whole and 0 <= schedule < 1 << 64):  # type: ignore[operator]
        raise Error(f"schedule is a seed, a whole number from 0 to 2^64 - 1; got {shown(schedule)}")
    return schedule  # type: ignore[return-value]


def value_bytes(name: str, size: int, value: Any) -> bytes:
    """The bytes of an argument that is a value: a NumPy scalar, an integer, a float or bytes.

    Raises:
        Error: it does not have `size` bytes, or does not fit into them.
    """
    if isinstance(value, (bytes, bytearray)):
        packed = bytes(value)
    elif isinstance(value, (np.generic, np.ndarray)):
        packed = bytes(np.array(value).reshape(1).view(np.uint8))
    elif isinstance(value, (bool, int)) and size:
        if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            raise Error(f"{name} of the kernel has {plural(size, 'byte')}; {shown(value)} does not fit")
        packed = (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")
    elif isinstance(value, float) and size in FLOATS:
        with np.errstate(all="ignore"):
            packed = np.array(value).astype(FLOATS[size]).tobytes()
    else:
        raise Error(f"{name} of the kernel has {plural(size, 'byte')}: it takes a number, or bytes; got {shown(value)}")
    if len(packed) != size:
        raise Error(f"{name} of the kernel has {plural(size, 'byte')}; {shown(value)} has {len(packed)}")
    return packed


def buffer_bytes(given: object, args: Sequence[Any], least: int, most: int) -> bytes:
    """All arguments of a kernel as one buffer, arguments= of a launch: bytes, a NumPy array, a ctypes structure.

    Args:
        args: the arguments that were given one by one beside it; there must be none.
        least, most: how many bytes the kernel takes; a structure may end in padding, to a multiple of 8.

    Raises:
        Error: it is not memory, or not as large as the kernel's arguments.
    """
    if args:
        raise Error(f"arguments is all arguments of the kernel; got {plural(len(args), 'argument')} beside it")
    if isinstance(given, np.ndarray):
        check_type("arguments", given)
        check_contiguous(given, "arguments")
        found = given.tobytes()
    else:
        try:
            found = bytes(memoryview(given))  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):
            raise Error(
                f"arguments is the kernel's arguments as they lie in memory: bytes, an array (structured, with "
                f"address_of for pointers) or a ctypes structure; got {shown(given)}"
            ) from None
    most = -(-most // STRUCTURE) * STRUCTURE
    if not least <= len(found) <= most:
        wanted = plural(most, "byte") if least == most else f"{least} to {most} bytes"
        raise Error(f"the kernel's arguments have {wanted}; the buffer has {len(found)}")
    return found


class AddressedValue(TupleRecord):
    """A value among a kernel's arguments that holds the address of an array. packed: its bytes, of the address."""

    array: Array
    packed: Callable[[int], bytes]


class Progress:
    """A progress line on a terminal, for launches that take long."""

    done: int
    last: float
    name: str
    shown: bool
    start: float
    total: int
    wanted: bool

    def __init__(self, name: str, total: int, wanted: bool | None) -> None:
        self.name, self.total, self.done, self.shown = name, total, 0, False
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.start = self.last = time.monotonic()

    def tick(self) -> None:
        """Redraw the line, at most five times a second."""
        now = time.monotonic()
        if not self.wanted or now - self.start < DELAY or (self.shown and now - self.last < 0.2):
            return
        self.shown, self.last = True, now
        left = f", {(now - self.start) / self.done * (self.total - self.done):.0f} s left" if self.done else ""
        LINE.show(f"{self.name}: {self.done} of {plural(self.total, 'workgroup')}{left}", self.wanted)

    def close(self) -> None:
        """Erase the line."""
        if self.shown:
            LINE.erase()


@contextmanager
def collector_paused() -> Iterator[None]:
    """What is made here stays: Python's collector, which would look through all of it again and again for cycles, waits
    until it is made (a fifth of the first launch of a kernel of 2,000 instructions)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
