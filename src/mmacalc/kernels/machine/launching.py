"""`mmacalc.launch` for compiled kernels."""

from __future__ import annotations

from ...checks import shown
from ...errors import Error
from ..memory import Traffic
from .compiled import CompiledLaunch
from .report import KernelReport
from .trace import tracer
from .wait_states import missing_wait_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...asm.code_objects import Kernel
    from ..waves import Dim3

__all__ = ["launch_compiled"]

OPTIONS = ("shared", "trace", "trace_wave")


def launch_compiled(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    options: Mapping[str, Any],
    tick: Callable[[int], None],
) -> KernelReport:
    """Run a compiled kernel: see `mmacalc.launch`.

    Raises:
        Error: an option that there is not, arguments that do not fit, what stops the kernel.
    """
    if unknown := [name for name in options if name not in OPTIONS]:
        raise Error(f"launch of a compiled kernel takes {', '.join(OPTIONS)} by name; got {unknown[0]}")
    shared, number = options.get("shared", 0), options.get("trace_wave", 0)
    if not isinstance(shared, int) or shared < 0:
        raise Error(f"shared is the bytes of dynamic LDS, a whole number from 0 up; got {shown(shared)}")
    threads, most = block.x * block.y * block.z, kernel.maximum_workgroup_size
    if most and threads > most:
        raise Error(f"{kernel.name} was compiled for at most {most} threads in a block; got {threads}")
    found = CompiledLaunch(kernel, grid, block, args, shared)
    waves = found.waves * grid.x * grid.y * grid.z
    trace = None
    if options.get("trace") is not None:
        if not isinstance(number, int) or not 0 <= number < waves:
            raise Error(f"trace_wave is from 0 to {waves - 1}, all waves of the launch counted; got {shown(number)}")
        trace = number, tracer(options["trace"])
    found.run(tick, trace)
    for missing in missing_wait_states(kernel, found.program):
        found.tally.add(missing)
    tally = found.tally
    traffic = Traffic(tally.loaded, tally.stored, tally.lds_loaded, tally.lds_stored)
    steps = tuple(step for step in found.program.steps.values() if step.executed)
    sizes = grid.x * grid.y * grid.z, waves
    return KernelReport(kernel, found.target.architecture, sizes, tally, steps, traffic, found.lds_counter.sites)
