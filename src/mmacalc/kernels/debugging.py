"""`debug`: stop a compiled kernel of either vendor at a place and look at a wave; see who writes what, and when."""

from __future__ import annotations

import numpy as np

from ..asm.code_objects import Kernel
from ..base.checks import arguments_checked, shown
from ..base.errors import Error, abbreviated
from .device.debugging import Debugged, Stopped, stop_at, watched
from .device.launch import dim3
from .launching import launch_observed
from .ptx.kernel import PtxKernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .device.debugging import Watched
    from .device.launch import Size
    from .device.memory import Region

__all__ = ["debug"]


@arguments_checked
def debug(
    kernel: Kernel | PtxKernel, grid: Size, block: Size, *args: Any, stop: str | None = None,
    watch: str | Sequence[str] = (), wave: int = 0, progress: bool | None = None, **options: Any,
) -> Debugged:  # fmt: skip
    """Launch a compiled kernel, stop it at a place or at its first finding, and see who writes what.

    Args:
        kernel, grid, block, args, options: as `mmacalc.launch`.
        stop: where: an address ("0x1c98") or for PTX a line of it ("74"); a line of the source ("gemm.py:74", of AMD
            also "74"); or "finding", the first mistake that `launch` would report. "#3" behind it is the third time.
            The wave has not executed the instruction then; of a finding it has.
        watch: what to watch, one or several: a register of the wave ("v41", "s7", "vcc", of PTX "%r5"; "v41[3]" of
            lane 3), four bytes of its workgroup's LDS ("lds:4160") or shared memory ("shared:4160"), an element of an
            array that is an argument, by the argument's name or number ("d[17]", "argument 3[17]").
        wave: which wave (warp) of the launch stops, and whose registers are watched.
        progress: as of `mmacalc.launch`.

    Returns:
        A `mmacalc.kernels.device.debugging.Debugged`: `state` (what registers hold; of a product which elements of its
        matrices), `changes` (who wrote what is watched, and when), `report` (of a launch that was not stopped). A
        notebook shows it as tables. A launch that was stopped leaves the arrays as they were.

    Raises:
        Error: a place, register or element that there is not; what stops the launch otherwise.

    >>> import mmacalc, numpy as np
    >>> text = ".version 7.0 .target sm_80 .address_size 64 .visible .entry f(.param .u64 p) {"
    >>> text += ".reg .b64 %a; .reg .b32 %t; ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; st.global.u32 [%a], %t; ret; }"
    >>> found = debug(mmacalc.load(text)["f"], 1, 1, np.full(1, 7, np.uint32), watch=["%t", "p[0]"])
    >>> [(change.watched, change.after) for change in found.changes]
    [('%t', '0'), ('p[0]', '0')]
    """
    if not isinstance(kernel, (Kernel, PtxKernel)):
        raise Error(f"debug takes a compiled kernel, one of mmacalc.load; got {shown(kernel)}")
    wanted = None if stop is None else stop_at(stop, isinstance(kernel, PtxKernel))
    sizes, groups = dim3("block", block), dim3("grid", grid)
    lanes = 32 if isinstance(kernel, PtxKernel) else kernel.wavefront_size
    each = -(-sizes.x * sizes.y * sizes.z // lanes)
    most = each * groups.x * groups.y * groups.z
    if not 0 <= wave < most:
        raise Error(f"wave is from 0 to {most - 1}, all waves of the launch counted; got {wave}")
    texts = (watch,) if isinstance(watch, str) else tuple(watch)

    def places(machine: Any, one: Watched) -> tuple[Region, int, np.dtype[Any]]:
        memory = machine.launch.memory if isinstance(kernel, PtxKernel) else machine.memory
        return _element(kernel, args, options.get("arguments"), memory, one)

    observer: Any
    if isinstance(kernel, PtxKernel):
        from .ptx.debugging import PtxDebugger

        watches = [watched(one, lambda name: name.startswith("%")) for one in texts]
        observer = PtxDebugger(wanted, watches, wave, places)
    else:
        from .amd.debugging import AmdDebugger, is_register

        watches = [watched(one, is_register) for one in texts]
        observer = AmdDebugger(kernel, each, wanted, watches, wave, places)
    try:
        report, _ = launch_observed(kernel, grid, block, args, options, (observer,), progress)
    except Stopped:
        report = None
    found: Debugged = observer.answer(report)
    return found


def _element(
    kernel: Kernel | PtxKernel, args: Sequence[Any], buffer: Any, memory: Any, one: Watched
) -> tuple[Region, int, np.dtype[Any]]:
    """Where an element of an argument is: its region, the byte in it, its type."""
    if isinstance(kernel, PtxKernel):
        names = list(kernel.parameters)
    else:
        names = [one.name or f"argument {number + 1}" for number, one in enumerate(kernel.given_arguments)]
    numbered = [f"argument {number + 1}" for number in range(len(names))]
    at = next((list_.index(one.name) for list_ in (names, numbered) if one.name in list_), None)
    if at is not None and buffer is not None:
        return _element_behind(_offsets(kernel)[at], bytes(memoryview(buffer)), memory, one)
    array = args[at] if at is not None and at < len(args) else None
    if at is None or not isinstance(array, np.ndarray):
        raise Error(f"watch: {one.text}: the kernel has no array called '{one.name}'; it takes {abbreviated(names, 8)}")
    assert one.at is not None
    if one.at >= array.size:
        raise Error(f"watch: {one.text}: {one.name} has {array.size} elements")
    start, first = memory.entered(names[at], array)
    region = next(held for held in memory.regions if held.start <= start - first < held.end)
    return region, start - region.start + one.at * array.itemsize, array.dtype


def _offsets(kernel: Kernel | PtxKernel) -> list[int]:
    """Where the arguments that a caller gives begin in a buffer of all."""
    if isinstance(kernel, PtxKernel):
        from .ptx.compiler import compile_kernel

        return [start for start, _ in compile_kernel(kernel.module, kernel.name).parameters.values()]
    return [one.offset for one in kernel.given_arguments]


def _element_behind(offset: int, buffer: bytes, memory: Any, one: Watched) -> tuple[Region, int, np.dtype[Any]]:
    """Where an element is of the array whose address lies in a buffer of arguments; it is of the type of the array."""
    address = int.from_bytes(buffer[offset : offset + 8], "little")
    region = next((held for held in memory.regions if held.start <= address < held.end), None)
    if region is None or region.array is None:
        raise Error(
            f"watch: {one.text}: byte {offset} of the arguments has no address of an array (mmacalc.address_of), but "
            f"{address:#x}"
        )
    assert one.at is not None
    type_ = region.array.dtype
    if one.at >= (region.end - address) // type_.itemsize:
        raise Error(f"watch: {one.text}: {one.name} has {(region.end - address) // type_.itemsize} elements")
    return region, address - region.start + one.at * type_.itemsize, type_
