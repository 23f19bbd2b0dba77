"""Accesses of memory that the compiled core looks at and carries out (threads.c, places.c), where it is there.

What it computes is what `Machine.shared_places`, `Machine.write_shared`, `AsyncReads.check_each`, `global_places`
and `gathered` compute on NumPy, which stay the definition: they are asked where there is something to say, and without
the core.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ...emulator import core
from ...emulator.core import address
from .proxies import KEPT
from .traffic import BANKS, SECTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .reading import Reading
    from .threads import Repeated, Threads

    Array = NDArray[Any]

__all__ = ["SharedCore", "bytes_at", "loaded_matrix", "none_occupied"]

_SHADOW = ("writer", "write_clock", "write_step", "how", "reader", "read_clock", "shared", "atomic", "wrote")
_MACHINE = ("flight", "readers", "shared", "written", "team_of", "member_of")
_CHANGING = ("clock", "common", "known", "fences")
"""Arrays that are made again when there are more agents."""


class _Watch(ctypes.Structure):
    """The struct Watch of threads.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in (*_SHADOW, "meetings", *_MACHINE[:2], "memory", *_MACHINE[3:],
                                               *_CHANGING)),
        *((name, ctypes.c_int64) for name in ("kept", "teams", "threads", "agents", "granule", "logged")),
        *((name, ctypes.c_void_p) for name in ("flags", "lost", "writers")), ("each", ctypes.c_int64),
    ]  # fmt: skip


class _Room(ctypes.Structure):
    """The struct Room of places.c."""

    _fields_ = [(name, ctypes.c_int64) for name in ("first", "last", "unit", "stride", "shift", "period")]


def _function(name: str, *arguments: Any) -> Callable[..., int] | None:
    return core.function(name, (ctypes.c_void_p, *arguments), ctypes.c_int64)


class SharedCore:
    """The shared memory of a machine's CTAs, as the core sees it."""

    def __init__(self, machine: Machine) -> None:
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._may_write = _function("may_write", pointer, pointer, number, number)
        self._write = _function("write_shared", pointer, pointer, number, number, pointer, number)
        self._reads = _function("async_reads", pointer, pointer, number, pointer, number)
        self._reading = _function("reading", pointer, number, pointer, number, number)
        self._take = _function("take", pointer, number, number)
        self._log_reads = _function("log_reads", pointer, number, pointer, number)
        self._places = _function("places", *[pointer] * 3, number, *[pointer] * 2)
        self._pattern = ctypes.c_uint64()
        self.machine = machine
        self._arrays: tuple[Array | None, ...] = ()
        self._watch = _Watch(kept=KEPT, granule=machine.granule, threads=machine.order.threads,
                             teams=len(machine.order.meetings), meetings=address(machine.order.meetings))  # fmt: skip
        for name in _SHADOW:
            setattr(self._watch, name, address(getattr(machine.shadow, name)))
        for name in _MACHINE:  # the shadow's `shared` is a flag of each granule
            setattr(self._watch, "memory" if name == "shared" else name, address(getattr(machine, name)))

        written = machine.launch.written
        self._watch.flags, self._watch.writers = address(written.unread.flags), address(written.writers)
        self._watch.lost = address(written.unread.lost)
        self._watch.each = written.unread.flags.shape[1]

    def _state(self) -> int:
        """The struct, with the arrays as they are now."""
        order, fences = self.machine.order, self.machine.proxy_fences["shared"].clocks
        arrays = (order.clock, order.common, order.known, fences)
        if len(arrays) != len(self._arrays) or any(new is not old for new, old in zip(arrays, self._arrays)):
            self._arrays, self._watch.agents = arrays, order.agents
            for name, array in zip(_CHANGING, arrays):
                assert array is None or array.flags.c_contiguous
                setattr(self._watch, name, None if array is None else address(array))
        return ctypes.addressof(self._watch)

    def _written(
        self, carry_out: Callable[..., int] | None, threads: Threads | Repeated, places: Array, size: int, *more: int
    ) -> int:
        """What a function of the core says of a write; 0 or less where there is something to say about it."""
        shadow = self.machine.shadow
        if carry_out is None or not len(places) or shadow.unmet():
            return -1
        number, places = np.ascontiguousarray(threads.number), np.ascontiguousarray(places)
        while True:
            self._watch.logged = bool(shadow.log)
            found = carry_out(self._state(), address(number), address(places), len(places), size, *more)
            if found > 0 or not shadow.log:
                return found
            shadow.prune()
            if shadow.log:
                return found

    def may_write(self, threads: Threads | Repeated, places: Array, size: int) -> bool:
        """Whether threads may write bytes, and there is nothing to say about it. False if that is to be looked at."""
        return self._written(self._may_write, threads, places, size) > 0

    def write(self, threads: Threads | Repeated, places: Array, data: Array, step: int) -> bool | None:
        """Write bytes (thread, size), and note it; whether threads wrote different values to one place. None where
        nothing was written, because there is something to say."""
        data = np.ascontiguousarray(data)
        found = self._written(self._write, threads, places, data.shape[1], address(data), step)
        return found > 1 if found > 0 else None

    def take(self, places: Array, size: int) -> bool:
        """Note that bytes are read; whether all of them are written, as far as the core can tell."""
        if self._take is None or not len(places):
            return False
        places = np.ascontiguousarray(places)
        return bool(self._take(self._state(), address(places), len(places), size))

    def may_read(self, thread: int, granules: Array) -> bool:
        """Whether the async proxy may read granules on behalf of a thread. False if that is to be looked at."""
        if self._reads is None or not len(granules):
            return False
        return self.may_read_alike(np.array([thread]), np.zeros(1, np.int64), np.ascontiguousarray(granules))

    def may_read_alike(self, threads: Array, starts: Array, alone: Array) -> bool:
        """Whether the async proxy may read granules on behalf of threads, `alone` from a start of each on."""
        if self._reads is None or not len(alone):
            return False
        threads = np.ascontiguousarray(threads)
        return bool(self._reads(self._state(), address(threads), address(starts), len(starts), address(alone),
                                len(alone)))  # fmt: skip

    def begin_reading(self, reading: Reading, change: int) -> None:
        """Asynchronous operations begin (1) or end (-1) to read granules."""
        if self._reading is None:
            for start in reading.starts.tolist():
                np.add.at(self.machine.readers, reading.alone + start, change)
        elif len(reading.starts):
            self._reading(self._state(), address(reading.starts), len(reading.starts), address(reading.alone),
                          len(reading.alone), change)  # fmt: skip

    def log_reads(self, reading: Reading) -> None:
        """Mark granules as those of reads in `Shadow.log`."""
        if self._log_reads is None:
            for start in reading.starts.tolist():
                self.machine.shadow.shared[reading.alone + start] = True
        elif len(reading.starts):
            self._log_reads(self._state(), address(reading.starts), len(reading.starts), address(reading.alone),
                            len(reading.alone))  # fmt: skip

    # --- places ---

    def shared_places(self, threads: Threads, at: Array, size: int) -> tuple[Array, int] | None:
        """Where accesses of whole warps of CTAs without a cluster begin in shared memory, and a number for the pattern
        of their addresses. None where that is to be looked at."""
        machine = self.machine
        launch = machine.launch
        if launch.cluster_size > 1:
            return None
        unit = size if size & (size - 1) == 0 else 4
        room = _Room(machine.program.first_shared, min(launch.shared_bytes, 1 << 24) - size, unit, machine.shared_size,
                     0, BANKS)  # fmt: skip
        return self._located(room, threads, at, machine.cta_of)

    def global_places(self, threads: Threads, at: Array, size: int, store: bool) -> tuple[Array, int] | None:
        """As `shared_places`, of global memory, where all accesses are in one region that permits them."""
        memory = self.machine.launch.memory
        if self._places is None or not len(at) or size & (size - 1):
            return None
        region = memory.around(int(at[0]))
        if region is None or (store and not region.writeable):
            return None
        room = _Room(region.start, region.end - size, min(size, 16) if size > 32 else size, 0,
                     region.place - region.start, SECTOR)  # fmt: skip
        found = self._located(room, threads, at, None)
        if found is not None:
            memory.found_around()
        return found

    def _located(self, room: _Room, threads: Threads, at: Array, cta_of: Array | None) -> tuple[Array, int] | None:
        if self._places is None or not len(at) or not self._whole(threads) or at.shape != threads.number.shape:
            return None
        at, places = np.ascontiguousarray(at, np.int64), np.empty(len(at), np.int64)
        fine = self._places(ctypes.addressof(room), address(at), address(threads.number),
                            None if cta_of is None else address(cta_of), len(at), address(places),
                            ctypes.addressof(self._pattern))  # fmt: skip
        return (places, self._pattern.value) if fine else None

    def _whole(self, threads: Threads) -> bool:
        return self.machine.block_size % 32 == 0 and threads.number.flags.c_contiguous and threads.warps() is not None


def bytes_at(memory: Array, places: Array, size: int) -> Array | None:
    """The bytes (place, byte) of a memory; None without the core, and where a place is not in it."""
    run = core.function("gathered", _GATHERED, ctypes.c_int64)
    if run is None or not len(places) or places.dtype != np.int64 or not memory.flags.c_contiguous:
        return None
    places, found = np.ascontiguousarray(places), np.empty((len(places), size), np.uint8)
    fine = run(address(memory), len(memory), address(places), len(places), address(found), size)
    return found if fine else None


def none_occupied(occupied: Array, places: Array, size: int) -> bool:
    """Whether no byte at places lies in a part of 8 bytes that is occupied, as far as the core can tell."""
    run = core.function("occupied", _GATHERED[:4] + _GATHERED[5:], ctypes.c_int64)
    if run is None or not len(places):
        return False
    places = np.ascontiguousarray(places)
    return not run(address(occupied), len(occupied), address(places), len(places), size)


def loaded_matrix(memory: Array, places: Array, warps: int, elements: Array, registers: int) -> Array | None:
    """Registers (register, thread) of which each half is an element of 16 bits in its warp's rows of 16 bytes, at
    places; None without the core. elements: which of them, of each register, lane and half, int32."""
    run = core.function("load_matrix", _LOADED, ctypes.c_int64)
    if run is None or not len(places):
        return None
    places, found = np.ascontiguousarray(places), np.empty((registers, warps * 32), np.uint32)
    fine = run(address(memory), len(memory), address(places), warps, len(places) // warps, address(elements),
               registers, address(found))  # fmt: skip
    return found if fine else None


_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_GATHERED = (_POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER, _NUMBER)
_LOADED = (_POINTER, _NUMBER, _POINTER, _NUMBER, _NUMBER, _POINTER, _NUMBER, _POINTER)
