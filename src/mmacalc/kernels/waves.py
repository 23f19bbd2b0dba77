"""The wave that a kernel gets: its place in the grid, and the LDS of its workgroup."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np

from ..base.errors import Error
from ..base.records import TupleRecord
from .device.launch import Dim3
from .lanes import PerLane

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from typing import Any

    from numpy.typing import DTypeLike

    from ..model import Architecture, Instruction
    from .device.findings import LineFinding
    from .memory import Memory, Pointer

__all__ = ["Launch", "Wave", "Workgroup", "current_wave", "running_wave"]


class LaneDim3(TupleRecord):
    """Three numbers of each lane, called x, y and z."""

    x: PerLane
    y: PerLane
    z: PerLane


class Launch:
    """State shared by all waves of a launch: the architecture, memory, the count of issued instructions, findings."""

    architecture: Architecture
    target: str
    wave_size: int
    memory: Memory

    def __init__(self, architecture: Architecture, target: str, wave_size: int, memory: Memory) -> None:
        self.architecture, self.target, self.wave_size, self.memory = architecture, target, wave_size, memory
        self.issued: Counter[tuple[Instruction, tuple[tuple[str, int], ...]]] = Counter()
        self.warnings: Counter[str] = Counter()  # with the number of workgroups that each concerns
        self.findings: dict[Hashable, LineFinding] = {}


class Workgroup:
    """One workgroup: its place in the grid and its LDS."""

    def __init__(self, index: Dim3) -> None:
        self.index = index
        self.shared: dict[str, Pointer] = {}
        self._warned: set[str] = set()

    def warn(self, launch: Launch, text: str) -> None:
        """Enter a warning about this workgroup, once."""
        if text not in self._warned:
            self._warned.add(text)
            launch.warnings[text] += 1

    def meet(self) -> None:
        """All waves have come to a barrier."""
        for pointer in self.shared.values():
            if pointer.region.local is not None:
                pointer.region.local.memory.barrier()


class Wave:
    """One wave of a launch.

    Attributes:
        blockIdx, blockDim, gridDim: as in HIP. threadIdx: as in HIP, that of every lane (see the property).
        first_threadIdx: threadIdx of the wave's first lane, as plain numbers, for code that is the same in all lanes.
        index: the wave's number in its workgroup. size: its number of lanes. lane: 0 to size - 1, an array.
        target: the architecture's name in the call of launch; architecture: its record.
    """

    launch: Launch
    group: Workgroup
    index: int
    size: int
    target: str
    architecture: Architecture
    blockIdx: Dim3
    blockDim: Dim3
    gridDim: Dim3
    first_threadIdx: Dim3

    def __init__(self, launch: Launch, group: Workgroup, index: int, grid: Dim3, block: Dim3) -> None:
        self.launch, self.group, self.index = launch, group, index
        self.size, self.target, self.architecture = launch.wave_size, launch.target, launch.architecture
        self.blockIdx, self.blockDim, self.gridDim = group.index, block, grid
        first = index * self.size
        self.first_threadIdx = Dim3(first % block.x, first // block.x % block.y, first // (block.x * block.y))
        # Set by the scheduler: yields to the other waves until the awaited result is ready.
        self.wait: Callable[[str, Any], None] = _no_scheduler

    def __repr__(self) -> str:
        return f"workgroup ({self.blockIdx.x}, {self.blockIdx.y}, {self.blockIdx.z}), wave {self.index}"

    @property
    def lane(self) -> PerLane:
        """The number of each lane: 0 to size - 1."""
        return np.arange(self.size).view(PerLane)

    @property
    def threadIdx(self) -> LaneDim3:
        """threadIdx of every lane: x, y and z are arrays with one number for each lane. While all lanes have the same
        number, as in `threadIdx.x // warpSize`, it serves as a plain one too: see `mmacalc.kernels.PerLane`."""
        thread, block = self.index * self.size + self.lane, self.blockDim
        x, y, z = thread % block.x, thread // block.x % block.y, thread // (block.x * block.y)
        return LaneDim3(*(number.view(PerLane) for number in (x, y, z)))

    lane_threadIdx = threadIdx

    def shared(self, name: str, size: int, dtype: DTypeLike) -> Pointer:
        """`__shared__ T name[size]`: LDS of the workgroup, shared by the waves that use the same name.

        It holds NaN (all bits set) until it is written; reading it before is a warning in the launch's report.

        Raises:
            Error: another size or type than before, or more LDS than a workgroup can have.
        """
        kind, shared = np.dtype(dtype), self.group.shared
        if name not in shared:
            limit = self.architecture.lds_bytes
            used = sum(pointer.size * pointer.dtype.itemsize for pointer in shared.values())
            if size < 0 or used + size * kind.itemsize > limit:
                raise Error(
                    f"shared('{name}'): {size} elements of {kind} on top of {used} bytes; a workgroup of "
                    f"{self.architecture.title} has {limit} bytes of LDS"
                )
            shared[name] = self.launch.memory.local(size, kind, name)
        pointer = shared[name]
        if pointer.size != size or pointer.dtype != kind:
            other = f"{pointer.size} of {pointer.dtype}"
            raise Error(f"shared('{name}'): {size} elements of {kind}, but another wave has {other}")
        return pointer

    def synchronize(self) -> None:
        """`__syncthreads()`: wait until every wave of the workgroup has come to its barrier."""
        self.wait("barrier", None)

    def issue(self, inst: Instruction, count: int, fields: Mapping[str, int] | None = None) -> None:
        """Count an instruction as issued `count` times."""
        self.launch.issued[inst, tuple(sorted((fields or {}).items()))] += count


def _no_scheduler(reason: str, what: Any) -> None:
    raise Error(f"a wave can wait for a {reason} only inside mmacalc.launch")


_running = threading.local()


def running_wave() -> Wave | None:
    """The wave that this thread runs, or None."""
    return getattr(_running, "wave", None)


def bind_wave(wave: Wave) -> None:
    """Bind a wave to this thread."""
    _running.wave = wave


def current_wave(call: str) -> Wave:
    """The wave that this thread runs; `call` is the caller's name, for the message.

    Raises:
        Error: no kernel is running in this thread.
    """
    wave = running_wave()
    if wave is None:
        raise Error(f"{call} is for kernels: call it inside a function that mmacalc.launch runs")
    return wave
