"""Run a CUDA or HIP program without a GPU: its host code as it is, its kernels on the emulator, each launch checked.

    mmacalc run-program ./gemm 512 512 512
    mmacalc run-program -a gfx942 --schedule 1 ./gemm --verify
    mmacalc run-program --json ./gemm > launches.json

The program is an executable of this machine (Linux), linked with the shared library of its runtime, for which another
is put that asks the emulator: a HIP program as hipcc links it; a CUDA program with nvcc -cudart shared and PTX in it,
-gencode arch=compute_90a,code=compute_90a --no-compress. That library is compiled when the program is run, so a C++
compiler is needed, and neither a driver nor anything of CUDA or ROCm.
What follows the program belongs to it. Its output goes where it goes; with --json to standard error.
Device memory has the same addresses for host and device, allocations lie apart, and an access outside of them stops the
launch: the program then gets cudaErrorLaunchFailure, or hipErrorLaunchFailure. A function of the runtime that is not
carried out ends the program, by name. Streams and events are done at once, one after the other.
The status is that of the program; if that is 0, 1 if something is wrong with a kernel, 2 if a launch was stopped.
"""

from __future__ import annotations

from ..base.errors import plural
from ..command import Command, Reply, argument, number, show
from ..command.common import JSON
from ..command.kernels import BUNDLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..command import Options
    from ..programs.running import ProgramReport


def text(found: ProgramReport) -> str:
    """The launches that have findings or were stopped; of several with the same ones the first."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: ProgramReport) -> Iterator[str]:
    known: dict[tuple[str, ...], list[int]] = {}
    for one in found.launches:
        if one.words:
            known.setdefault((one.kernel, *one.words), []).append(one.number)
    for (kernel, *words), numbers in known.items():
        first = found.launches[numbers[0]]
        yield f"launch {numbers[0]}, {kernel}, grid {_size(first.grid)}, block {_size(first.block)}:"
        yield from [f"  {line}" for line in words]
        if numbers[1:]:
            shown = ", ".join(map(str, numbers[1:9])) + (" ..." if len(numbers) > 9 else "")
            yield f"  the same in {plural(len(numbers) - 1, 'other launch', 'other launches')}: {shown}"
    kernels = len({one.kernel for one in found.launches})
    head = f"{found.program}: {plural(len(found.launches), 'launch', 'launches')} of {plural(kernels, 'kernel')}"
    wrong = [plural(len(found.findings), "finding")] if found.findings else []
    wrong += [f"{plural(len(found.stopped), 'launch', 'launches')} stopped"] if found.stopped else []
    yield f"{head}, {', '.join(wrong) or 'nothing wrong was found'}; status {found.status}"


def _size(size: tuple[int, ...]) -> str:
    """As much of it as is more than 1: 4 x 2."""
    last = max([axis for axis, count in enumerate(size) if count > 1], default=0)
    return " x ".join(map(str, size[: last + 1]))


def run(options: Options) -> Reply:
    """What the program's launches have; its status, or 1 for findings, or 2 for a launch that was stopped."""
    from ..programs.running import run_program

    found = run_program(
        [options.program, *options.arguments], options.architecture, options.schedule, options.limit,
        options.processors, quiet=options.json,
    )  # fmt: skip
    status = found.status if found.status > 0 else 2 if found.stopped or found.status else 1 if found.findings else 0
    return show(options.json, "run-program", found, text, status=status)


COMMAND = Command(
    "run-program", "run a CUDA or HIP program without a GPU, and say what is wrong with it", "compute", __doc__,
    (
        JSON,
        argument("program", "an executable, linked with the runtime's shared library"),
        argument("arguments", "what belongs to the program", nargs="...", placeholder="ARGUMENT"),
        BUNDLED,
        number("--schedule", placeholder="SEED", help="another order of the waves or warps (default: a fixed one)"),
        number("--limit", placeholder="N", help="stop a launch after N instructions, of all waves (default: none)"),
        number("--processors", default=2, placeholder="N", help="compute units that the program is told (default: 2)"),
    ),
    run,
    {"run-program": text},
)  # fmt: skip
