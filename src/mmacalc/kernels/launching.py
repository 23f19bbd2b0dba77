"""`launch`: run a kernel, in Python or compiled, over a grid of workgroups and waves."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import overload

import numpy as np

from ..asm.code_objects import Kernel
from ..base.checks import arguments_checked, shown
from ..base.errors import Error
from ..catalog import architecture
from .device.launch import MAX_THREADS, Progress, dim3, workgroups
from .device.traffic import BankCounter
from .memory import Memory
from .ptx.kernel import PtxKernel
from .report import Report
from .scheduler import Task, run
from .waves import Launch, Wave, Workgroup, running_wave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .amd.report import KernelReport
    from .device.launch import Dim3, Size
    from .device.observer import Observer
    from .ptx.launch import Launch as PtxLaunch
    from .ptx.report import PtxReport

__all__ = ["DEFAULT_ARCHITECTURE", "launch", "launch_observed"]

DEFAULT_ARCHITECTURE = "gfx942"
WAVES_AT_ONCE = 64
"""Waves that run concurrently, in whole workgroups: enough for one NumPy call to serve many."""


@overload
def launch(
    kernel: PtxKernel, grid: Size, block: Size, *args: Any, progress: bool | None = None, **options: Any
) -> PtxReport: ...


@overload
def launch(
    kernel: Kernel, grid: Size, block: Size, *args: Any, progress: bool | None = None, **options: Any
) -> KernelReport: ...


@overload
def launch(
    kernel: Callable[..., object], grid: Size, block: Size, *args: Any, arch: str = DEFAULT_ARCHITECTURE,
    wave_size: int | None = None, progress: bool | None = None, **kwargs: Any,
) -> Report: ...  # fmt: skip


@arguments_checked
def launch(
    kernel: Callable[..., object] | Kernel | PtxKernel,
    grid: Size,
    block: Size,
    *args: Any,
    arch: str = DEFAULT_ARCHITECTURE,
    wave_size: int | None = None,
    progress: bool | None = None,
    **kwargs: Any,
) -> Report | PtxReport:
    """Run a kernel on emulated waves, as `kernel<<<grid, block>>>(args...)` does on a GPU.

    The kernel is a plain function, `kernel(wave, *args)`, called once for each wave: `wave` has blockIdx, blockDim,
    gridDim and threadIdx as in HIP (see `mmacalc.kernels.Wave`). NumPy arrays among the arguments come as pointers
    (`mmacalc.kernels.Pointer`), and have to be C-contiguous; so do arrays of the surroundings that it passes to the
    functions of `mmacalc.rocwmma`. What a kernel stores is in the arrays when the launch has ended, and not before.

    Waves take turns in a fixed order, so a launch gives the same bits every time.

    A compiled kernel, from `mmacalc.load`, runs instruction by instruction on the target that it was compiled for; the
    report is then a `KernelReport`, which names uninitialised values, races in LDS, missing waits and the like with
    their instructions (docs/kernels.md). Its arguments: arrays for pointers, None for a null pointer; int (as an
    integer), float (as a floating-point number), NumPy scalars or bytes for values.

    So does a PTX kernel, for the target of its module; the report is then a `PtxReport`, which names races in shared
    memory, missing waits, missing fences between the proxies, wrong mbarriers, deadlocks and the like with their lines
    (docs/cuda-kernels.md). Its arguments are the same, and `mmacalc.tensor_map` for TMA's tensor maps.

    Args:
        kernel: the function, or a compiled kernel.
        grid, block: a number or up to three, as dim3; block counts threads, of a Python kernel in whole waves.
        args, kwargs: passed to the kernel after the wave. A compiled kernel takes by name shared= (bytes of dynamic
            LDS), trace= (called with a `TraceStep` after each instruction of one wave), trace_wave= (its number),
            limit= (instructions, of all waves: beyond them the launch is stopped, with the place of each wave),
            schedule= (a seed: waves then run in another order that the hardware permits) and cluster= (workgroups of a
            cluster, as grid: gfx1250). A PTX kernel takes shared=, limit= (warp instructions), schedule= and cluster=
            (CTAs of a cluster, as grid). Both take arguments= instead of args: all arguments as they lie in memory
            (HIP_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_POINTER), as bytes, a structured array or a ctypes
            structure, pointers by `mmacalc.address_of`. What a runtime sets (hidden arguments) is set here too.
        arch: the architecture, by any of its names; of a compiled kernel its own.
        wave_size: 32 or 64 where the architecture has both; its default if left out.
        progress: whether to show progress on standard error once it takes longer than two seconds; if left out,
            when that is a terminal.

    Returns:
        What was issued and moved: see `mmacalc.kernels.Report`; of a PTX kernel a `PtxReport`.

    Raises:
        Error: a block that is not whole waves; an array that is not C-contiguous; an access out of bounds or any
            other kernel error, with the workgroup, the wave, the line and the call. All arrays are then as they were.

    >>> import numpy as np
    >>> def scale(wave, x, y, factor):
    ...     i = wave.blockIdx.x * wave.blockDim.x + wave.threadIdx.x
    ...     y[i] = factor * x[i]
    >>> x, y = np.arange(128.0), np.zeros(128)
    >>> report = launch(scale, 2, 64, x, y, 3.0)
    >>> y[127], report.waves, report.traffic.loaded
    (np.float64(381.0), 2, 1024)
    """
    if running_wave() is not None:
        raise Error("launch: a kernel cannot launch another")
    if isinstance(kernel, Kernel):
        return _launch_compiled(kernel, dim3("grid", grid), dim3("block", block), args, kwargs, progress)
    if isinstance(kernel, PtxKernel):
        return _launch_ptx(kernel, dim3("grid", grid), dim3("block", block), args, kwargs, progress)[0]
    record = architecture(arch)
    record.family.require("launch", record.title)
    grid_size, block_size = dim3("grid", grid), dim3("block", block)
    if not callable(kernel):
        raise Error(f"launch: {_not_a_kernel(kernel)}")
    size = record.wave(wave_size)
    memory = Memory(BankCounter(record, size))
    state = Launch(record, "".join(filter(str.isalnum, arch.lower())), size, memory)
    waves = _waves_of(block_size, state)
    arguments = _pointers(kernel, args, memory)
    keywords = {name: memory.argument(v, name) if isinstance(v, np.ndarray) else v for name, v in kwargs.items()}

    def body(wave: Wave) -> object:
        return kernel(wave, *arguments, **keywords)

    groups = grid_size.x * grid_size.y * grid_size.z
    progress_line = Progress(getattr(kernel, "__name__", "kernel"), groups, progress)
    step = max(1, WAVES_AT_ONCE // waves)
    coming = workgroups(grid_size)
    try:
        for done in range(0, groups, step):
            batch = [Workgroup(next(coming)) for _ in range(min(step, groups - done))]
            run(
                [[Task(Wave(state, g, w, grid_size, block_size), body) for w in range(waves)] for g in batch],
                progress_line.tick,
            )
            progress_line.done = done + len(batch)
    finally:
        progress_line.close()
    memory.commit()
    sites = memory.lds.sites if memory.lds else ()
    report = Report(record, groups, groups * waves, state.issued, memory.traffic, state.warnings, sites)
    report.findings = tuple(state.findings.values())
    return report


def launch_observed(
    kernel: Kernel | PtxKernel,
    grid: Size,
    block: Size,
    args: tuple[Any, ...],
    options: dict[str, Any],
    observers: tuple[Observer, ...],
    progress: bool | None = None,
) -> tuple[Any, Any]:
    """Launch a compiled kernel, or a PTX kernel, with observers. Gives the report, and of PTX the `Launch`."""
    sizes = dim3("grid", grid), dim3("block", block)
    if isinstance(kernel, PtxKernel):
        return _launch_ptx(kernel, *sizes, args, options, progress, observers)
    return _launch_compiled(kernel, *sizes, args, options, progress, observers), None


def _launch_compiled(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: tuple[Any, ...],
    options: dict[str, Any],
    progress: bool | None,
    observers: tuple[Observer, ...] = (),
) -> KernelReport:
    from .amd.launch import launch_compiled

    threads = block.x * block.y * block.z
    if threads > MAX_THREADS:
        raise Error(f"launch: a block of {threads} threads; it takes at most {MAX_THREADS}")
    line = Progress(kernel.name, grid.x * grid.y * grid.z, progress)

    def tick(done: int) -> None:
        line.done = done
        line.tick()

    try:
        return launch_compiled(kernel, grid, block, args, options, tick, observers)
    finally:
        line.close()


def _launch_ptx(
    kernel: PtxKernel,
    grid: Dim3,
    block: Dim3,
    args: tuple[Any, ...],
    options: dict[str, Any],
    progress: bool | None,
    observers: tuple[Observer, ...] = (),
) -> tuple[PtxReport, PtxLaunch]:
    from .ptx.launch import Launch as PtxLaunch
    from .ptx.launch import checked_options

    given = checked_options(options)
    line = Progress(kernel.name, grid.x * grid.y * grid.z, progress)

    def tick(done: int) -> None:
        line.done = done
        line.tick()

    try:
        launched = PtxLaunch(kernel, grid, block, args, **given, observers=observers)
        return launched.run(tick), launched
    finally:
        line.close()


def _waves_of(block: Dim3, state: Launch) -> int:
    threads = block.x * block.y * block.z
    if threads % state.wave_size or threads > MAX_THREADS:
        raise Error(
            f"launch: a block of {block.x} x {block.y} x {block.z} has {threads} threads; it takes whole waves of "
            f"{state.wave_size} on {state.architecture.title}, at most {MAX_THREADS} threads"
        )
    return threads // state.wave_size


def _pointers(kernel: Callable[..., object], args: tuple[Any, ...], memory: Memory) -> list[Any]:
    """The kernel's arguments, arrays turned into pointers that are named as the kernel's parameters."""
    try:
        names = list(inspect.signature(kernel).parameters)[1:]
    except (TypeError, ValueError):
        names = []
    names += [f"argument {number + 1}" for number in range(len(names), len(args))]
    return [memory.argument(a, name) if isinstance(a, np.ndarray) else a for a, name in zip(args, names)]


def _not_a_kernel(kernel: object) -> str:
    """What to say of `kernel`; all of a file's kernels, as `mmacalc.load` gives them, are often given for one."""
    if isinstance(kernel, Mapping) and kernel:
        names = "'" + "', '".join(map(str, kernel)) + "'"
        one = f"kernels[{next(iter(kernel))!r}]"
        return f"these are the kernels of a file by name ({names}); it takes one of them, such as {one}"
    one = "a function, called as kernel(wave, *args), or a kernel of mmacalc.load"
    return f"the kernel is {shown(kernel)}; it takes {one}"
