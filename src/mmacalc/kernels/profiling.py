"""`profile`: what a compiled kernel of either vendor does, by loop, line and instruction, and what bounds it."""

from __future__ import annotations

from ..asm.code_objects import Kernel
from ..base.checks import arguments_checked, shown
from ..base.errors import Error
from .device.launch import dim3
from .launching import launch_observed
from .ptx.kernel import PtxKernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .device.launch import Size
    from .device.profile import Profile

__all__ = ["profile"]

MOST_LATENCY = 100_000


@arguments_checked
def profile(
    kernel: Kernel | PtxKernel, grid: Size | None = None, block: Size | None = None, *args: Any,
    latency: float | None = None, registers: int | None = None, progress: bool | None = None, **options: Any,
) -> Profile:  # fmt: skip
    """Launch a compiled kernel and say what it does: by loop, line of the source and instruction the counts, bytes,
    lines or sectors, cycles and bank conflicts; how many waves share a SIMD; and by a model of issue what bounds it.

    The model issues the instructions of one workgroup in order, on one compute unit that as many workgroups share as
    fit there. It is not a measurement: `profile(...).model.left_out` says what it lacks, `.figures` where its figures
    come from.

    Args:
        kernel: of `mmacalc.load`. grid, block, args, options: as `mmacalc.launch`. Without grid nothing is launched,
            and counts are of the listing, each instruction once.
        latency: cycles of an access of global memory in the model, instead of the one that `figures` names.
        registers: of a thread of a PTX kernel, as ptxas reports them; without it they do not limit the occupancy.
        progress: as of `mmacalc.launch`.

    Returns:
        A `mmacalc.kernels.device.profile.Profile`.

    Raises:
        Error: the kernel is not one of `mmacalc.load`; what stops the launch.

    >>> import mmacalc, numpy as np, tempfile, pathlib
    >>> text = ".version 7.0 .target sm_80 .address_size 64 .visible .entry f(.param .u64 p) {"
    >>> text += ".reg .b64 %a; .reg .b32 %t; ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; st.global.u32 [%a], %t; ret; }"
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "f.ptx"
    >>> _ = path.write_text(text)
    >>> found = mmacalc.profile(mmacalc.load(str(path))["f"], 1, 32, np.zeros(1, np.uint32))
    >>> found.counts.executed, found.counts.kinds
    (4, {'vector': 1, 'memory': 1, 'scalar memory': 1, 'branch': 1})
    """
    if not isinstance(kernel, (Kernel, PtxKernel)):
        raise Error(f"profile takes a compiled kernel, one of mmacalc.load; got {shown(kernel)}")
    for name, value, most in (("latency", latency, MOST_LATENCY), ("registers", registers, 255)):
        if value is not None and not (isinstance(value, (int, float)) and 0 <= value <= most):
            raise Error(f"{name} is from 0 to {most}; got {shown(value)}")
    if isinstance(kernel, PtxKernel):
        return _of_ptx(kernel, grid, block, args, latency, registers, progress, options)
    if registers is not None:
        raise Error("registers is for PTX kernels; a code object says how many a kernel has")
    return _of_amd(kernel, grid, block, args, latency, progress, options)


def _of_amd(
    kernel: Kernel, grid: Size | None, block: Size | None, args: tuple[Any, ...], latency: float | None,
    progress: bool | None, options: dict[str, Any],
) -> Profile:  # fmt: skip
    from .amd.profiling import AmdProfiler, static_profile
    from .amd.program import program_of
    from .amd.target import MachineTarget

    target = MachineTarget(kernel.target, kernel.wavefront_size)
    program = program_of(kernel, target)
    if grid is None:
        size = dim3("block", block if block is not None else kernel.wavefront_size)
        waves = -(-size.x * size.y * size.z // kernel.wavefront_size)
        with program.lock:
            program.reset()
            return static_profile(kernel, target.architecture, program, "not launched, since no grid was given", waves)
    size, groups = dim3("block", kernel.wavefront_size if block is None else block), dim3("grid", grid)
    waves = -(-size.x * size.y * size.z // kernel.wavefront_size)
    profiler = AmdProfiler(kernel, groups.x * groups.y * groups.z, waves, latency)
    with program.lock:  # until its counts are read
        report, _ = launch_observed(kernel, grid, (*size,), args, options, (profiler,), progress)
        return profiler.profile(report, program, int(options.get("shared", 0)))


def _of_ptx(  # noqa: PLR0913
    kernel: PtxKernel, grid: Size | None, block: Size | None, args: tuple[Any, ...], latency: float | None,
    registers: int | None, progress: bool | None, options: dict[str, Any],
) -> Profile:  # fmt: skip
    from .ptx.profiling import PtxProfiler, static_profile

    given = block if block is not None else (kernel.block or 32)
    if grid is None:
        size = dim3("block", given)
        return static_profile(kernel, "not launched, since no grid was given", size.x * size.y * size.z)
    profiler = PtxProfiler(latency, registers)
    report, launched = launch_observed(kernel, grid, given, args, options, (profiler,), progress)
    return profiler.profile(launched, tuple([finding.sentence for finding in report.findings]))
