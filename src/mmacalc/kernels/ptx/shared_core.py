"""Accesses of shared memory that the compiled core looks at and carries out (threads.c), where it is there.

What it computes is what `Machine.write_shared` and `Machine.check_async_reads` compute on NumPy, which stay the
definition: they are asked where there is something to say, and without the core.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ...emulator import core
from ...emulator.core import address
from .proxies import KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine, Repeated, Threads

    Array = NDArray[Any]

__all__ = ["SharedCore"]

_SHADOW = ("writer", "write_clock", "write_step", "generic", "reader", "read_clock", "shared", "atomic", "wrote")
_MACHINE = ("flight", "readers", "shared", "written", "team_of", "member_of")
_CHANGING = ("clock", "common", "known", "fences")
"""Arrays that are made again when there are more agents."""


class _Watch(ctypes.Structure):
    """The struct Watch of threads.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in (*_SHADOW, "meetings", *_MACHINE[:2], "memory", *_MACHINE[3:],
                                               *_CHANGING)),
        *((name, ctypes.c_int64) for name in ("kept", "teams", "threads", "agents", "granule", "logged")),
    ]  # fmt: skip


def _function(name: str, *arguments: Any) -> Callable[..., int] | None:
    return core.function(name, (ctypes.c_void_p, *arguments), ctypes.c_int64)


class SharedCore:
    """The shared memory of a machine's CTAs, as the core sees it."""

    def __init__(self, machine: Machine) -> None:
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._may_write = _function("may_write", pointer, pointer, number, number)
        self._write = _function("write_shared", pointer, pointer, number, number, pointer, number)
        self._reads = _function("async_reads", number, pointer, number)
        self.machine = machine
        self._arrays: tuple[Array | None, ...] = ()
        self._watch = _Watch(kept=KEPT, granule=machine.granule, threads=machine.order.threads,
                             teams=len(machine.order.meetings), meetings=address(machine.order.meetings))  # fmt: skip
        for name in _SHADOW:
            setattr(self._watch, name, address(getattr(machine.shadow, name)))
        for name in _MACHINE:  # the shadow's `shared` is a flag of each granule
            setattr(self._watch, "memory" if name == "shared" else name, address(getattr(machine, name)))

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

    def may_read(self, thread: int, granules: Array) -> bool:
        """Whether the async proxy may read granules on behalf of a thread. False if that is to be looked at."""
        if self._reads is None or not len(granules):
            return False
        granules = np.ascontiguousarray(granules)
        return bool(self._reads(self._state(), thread, address(granules), len(granules)))
