"""`mmacalc.launch` for compiled kernels."""

from __future__ import annotations

import math

from ...checks import shown
from ...errors import Error
from .compiled import CompiledLaunch
from .report import KernelReport
from .trace import tracer
from .wait_states import check_wait_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...asm.code_objects import Kernel
    from ..device.launch import Dim3

__all__ = ["launch_compiled"]

OPTIONS = ("shared", "trace", "trace_wave", "limit")


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
    if not isinstance(shared, int) or not 0 <= shared < 1 << 63:
        raise Error(f"shared is the bytes of dynamic LDS, a whole number from 0 up; got {shown(shared)}")
    limit = options.get("limit")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise Error(f"limit is how many instructions all waves may execute, from 1 up; got {shown(limit)}")
    threads, most = block.x * block.y * block.z, kernel.maximum_workgroup_size
    if most and threads > most:
        raise Error(f"{kernel.name} was compiled for at most {most} threads in a block; got {threads}")
    found = CompiledLaunch(kernel, grid, block, args, shared)
    waves = found.waves * grid.x * grid.y * grid.z
    trace = None
    if options.get("trace") is not None:
        if not callable(options["trace"]):
            raise Error(f"trace is a function that takes a TraceStep; got {shown(options['trace'])}")
        if not isinstance(number, int) or not 0 <= number < waves:
            raise Error(f"trace_wave is from 0 to {waves - 1}, all waves of the launch counted; got {shown(number)}")
        trace = number, tracer(options["trace"])
    found.run(tick, trace, math.inf if limit is None else limit)
    check_wait_states(kernel, found.program, found.tally)
    tally = found.tally
    steps = tuple(step for step in found.program.steps.values() if step.executed)
    sizes = grid.x * grid.y * grid.z, waves
    return KernelReport(kernel, found.target.architecture, sizes, tally, steps, found.lds_counter.sites)
