"""Run a compiled AMD kernel, or a CUDA kernel as PTX, on the emulator, and say what is wrong with it.

    mmacalc run-kernel kernel.hsaco gemm --grid 4 4 --block-dim 256 --args a.npy b.npy out:d.npy:f4:64x64 64 64 64
    mmacalc run-kernel kernel.hsaco scale --grid 2 --block-dim 64 --args out:x.npy 0.5 --trace
    mmacalc run-kernel kernel.hsaco          the kernels of a code object, with their arguments
    mmacalc run-kernel kernel.ptx gemm --grid 2 --block 128 --args a.npy b.npy out:d.npy:f4:64x64 64 64 64
    mmacalc run-kernel kernel.ptx --covered  the statements of PTX that cannot be run, with their lines

Arguments in the kernel's order: FILE.npy is an array that the kernel reads, its rows one after the other however the
file keeps them; out:FILE.npy one that is written back when
the kernel has ended well, out:FILE.npy:TYPE:SHAPE one that begins as zeros (f4 is float32, u2 uint16 ...); null is a
null pointer; 5 is an integer of the argument's size, 5.0 a float of it.
--limit stops a kernel that does not end, and says where its waves are then; so does Ctrl-C.
A PTX kernel comes from a .ptx file, from a fatbin or object of nvcc that carries PTX, or from a folder with .ptx files.
--schedule runs its warps in another order that PTX permits; --limit counts its warp instructions.
--trace prints each instruction of one wave with what its registers hold in each lane.
The status is 1 if something is wrong with the kernel: an uninitialised value, a race in LDS, a missing wait ...;
2 if it was stopped, by an access out of bounds or an instruction that is not covered. Arrays are then as before.
"""

from __future__ import annotations

from ..errors import Error
from ..numerals import number, real, whole
from . import Reply, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from .parser import Parser

OUTPUT = "out:"


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("json")
    from .parser import whole_number

    add = parser.add_argument
    add("file", help="a linked code object (.hsaco, .co), by itself or in clang's offload bundle; or PTX, see above")
    add("kernel", nargs="?", help="the kernel's name; without it, the kernels are listed")
    add("-a", "--architecture", metavar="NAME", help="which object of a bundle, such as gfx942 or sm_90a")
    add("--grid", nargs="+", type=whole_number, default=[1], metavar="N", help="workgroups along x, y, z (default: 1)")
    text = "threads of a workgroup along x, y, z (default: 64)"
    add("--block-dim", "--block", dest="block", nargs="+", type=whole_number, default=[64], metavar="N", help=text)
    add("--args", nargs="*", default=[], metavar="ARGUMENT", help="the kernel's arguments, see above")
    add("--shared", type=whole_number, default=0, metavar="BYTES", help="dynamic LDS (default: 0)")
    add("--limit", type=whole_number, metavar="N", help="stop after N instructions, of all waves (default: none)")
    add("--cluster", nargs="+", type=whole_number, metavar="N", help="CTAs of a cluster along x, y, z (PTX)")
    add("--schedule", type=whole_number, metavar="SEED", help="another order of the warps (PTX; default: a fixed one)")
    add("--covered", action="store_true", help="list what cannot be run (PTX)")
    add("--trace", action="store_true", help="print every instruction of one wave and what it wrote")
    add("--trace-wave", type=whole_number, default=0, metavar="N", help="which wave of the launch (default: 0)")


def run(options: Namespace) -> Reply:
    """The report of the launch, and 1 if something was found wrong."""
    from ..answers.kernel_run import KernelList, KernelRun
    from ..kernels.launching import launch
    from ..kernels.loading import load
    from ..kernels.ptx.kernel import PtxKernel
    from ..render import kernel_list, kernel_run

    kernels: Mapping[str, Any] = load(options.file, options.architecture)
    if any(isinstance(kernel, PtxKernel) for kernel in kernels.values()):
        return _run_ptx(options, kernels)
    if options.covered or options.schedule is not None or options.cluster:
        raise Error("--covered, --schedule and --cluster are of PTX kernels; this is a code object of an AMD GPU")
    if options.kernel is None:
        return show(options.json, "kernels", KernelList(options.file, tuple(kernels.values())), kernel_list)
    kernel = kernels[options.kernel]
    arguments, outputs, inputs = _arguments(options.args)
    steps: list[Any] = []
    report = launch(
        kernel, tuple(options.grid), tuple(options.block), *arguments, shared=options.shared,
        trace=steps.append if options.trace else None, trace_wave=options.trace_wave, limit=options.limit,
    )  # fmt: skip
    _write(outputs, inputs)
    found = KernelRun(report, tuple(steps), tuple(outputs))
    return show(options.json, "run-kernel", found, kernel_run, status=1 if report.findings else 0)


def _run_ptx(options: Namespace, kernels: Mapping[str, Any]) -> Reply:
    from ..answers.ptx_kernel_run import PtxCoverage, PtxKernelList, PtxKernelRun
    from ..kernels.launching import launch
    from ..render import ptx_kernel_run

    if options.trace:
        raise Error("--trace is of AMD kernels; a PTX kernel runs without it")
    if options.covered:
        chosen = kernels.values() if options.kernel is None else [kernels[options.kernel]]
        coverage = PtxCoverage(options.file, tuple([(kernel.name, kernel.uncovered()) for kernel in chosen]))
        found = any(statements for _, statements in coverage.kernels)
        return show(options.json, "ptx-coverage", coverage, ptx_kernel_run, status=1 if found else 0)
    if options.kernel is None:
        return show(options.json, "ptx-kernels", PtxKernelList(options.file, tuple(kernels.values())), ptx_kernel_run)
    arguments, outputs, inputs = _arguments(options.args)
    report = launch(
        kernels[options.kernel], tuple(options.grid), tuple(options.block), *arguments, shared=options.shared,
        limit=options.limit, schedule=options.schedule, cluster=tuple(options.cluster) if options.cluster else None,
    )  # fmt: skip
    _write(outputs, inputs)
    run = PtxKernelRun(report, tuple(outputs))
    return show(options.json, "run-ptx-kernel", run, ptx_kernel_run, status=1 if report.findings else 0)


def _write(outputs: dict[str, NDArray[Any]], inputs: list[str]) -> None:
    if outputs:
        from ..files import write
        from .arrays import content

        write({path: content("--args", path, array) for path, array in outputs.items()}, inputs)


def _arguments(words: list[str]) -> tuple[list[Any], dict[str, NDArray[Any]], list[str]]:
    """The arguments, the arrays among them that are written back, and the files that are only read."""
    arguments: list[Any] = []
    outputs: dict[str, NDArray[Any]] = {}
    inputs: list[str] = []
    for word in words:
        if word.startswith(OUTPUT):
            path, array = _output(word.removeprefix(OUTPUT))
            outputs[path] = array
            arguments.append(array)
        elif word.lower().endswith(".npy"):
            inputs.append(word)
            arguments.append(_array(word))
        else:
            arguments.append(_value(word))
    return arguments, outputs, inputs


def _array(path: str) -> NDArray[Any]:
    """The array of a file, in C order, however the file keeps it."""
    import numpy as np

    from .arrays import load

    return np.ascontiguousarray(load("--args", path, (), False))


def _output(word: str) -> tuple[str, NDArray[Any]]:
    import numpy as np

    path, _, rest = word.partition(":")
    if not path.lower().endswith(".npy"):
        raise Error(f"--args: out: takes a .npy file, as out:d.npy or out:d.npy:f4:64x64; got 'out:{word}'")
    if not rest:
        return path, np.array(_array(path))
    kind, _, shape = rest.partition(":")
    try:
        array = np.zeros([whole(size, "a size") for size in shape.split("x")], kind)
    except (TypeError, ValueError, MemoryError):
        raise Error(
            f"--args: '{rest}' cannot be read as a type and a shape, such as f4:64x64 for 64 rows of 64 float32"
        ) from None
    if array.dtype.hasobject or array.dtype.kind not in "biuf":
        raise Error(f"--args: unknown element type '{kind}'; types are such as f4, f2, i4 or u1")
    return path, array


def _value(word: str) -> Any:
    if word == "null":
        return None
    value = number(word, (1 << 64) - 1, -(1 << 63))
    found = real(word) if value is None and not word.lstrip("-").isalnum() else value
    if found is None:
        raise Error(
            f"--args: '{word[:40]}' is neither a .npy file, out:FILE.npy, a number (of at most 64 bits) nor null; "
            "see mmacalc run-kernel -h"
        )
    return found
