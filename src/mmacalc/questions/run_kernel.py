"""Run a compiled AMD kernel, or a CUDA kernel as PTX, on the emulator, and say what is wrong with it.

    mmacalc run-kernel kernel.hsaco gemm --grid 4 4 --block-dim 256 --args a.npy b.npy out:d.npy:f4:64x64 64 64 64
    mmacalc run-kernel kernel.hsaco scale --grid 2 --block-dim 64 --args out:x.npy 0.5 --trace
    mmacalc run-kernel kernel.hsaco          the kernels of a code object, with their arguments
    mmacalc run-kernel kernel.ptx gemm --grid 2 --block-dim 128 --args a.npy b.npy out:d.npy:f4:64x64 64 64 64
    mmacalc run-kernel kernel.hsaco gemm --grid 4 4 --block-dim 256 --args ... --stop-at gemm.py:74#3 --watch v41
    mmacalc run-kernel kernel.hsaco gemm --grid 4 4 --block-dim 256 --args ... --product "d = a @ b.T"
    mmacalc run-kernel kernel.hsaco norm --grid 4 --block-dim 256 --args x.npy out:y.npy:f4:4x256 --expect 2=right.npy
    mmacalc run-kernel kernel.ptx --covered  the statements of PTX that cannot be run, with their lines

Arguments in the kernel's order: FILE.npy is an array that the kernel reads, its rows one after the other however the
file keeps them; out:FILE.npy one that is written back when the kernel has ended well, out:FILE.npy:TYPE:SHAPE one that
begins as zeros (f4 is float32, u2 uint16 ...); null is a null pointer; 5 is an integer of the argument's size, 5.0 a
float of it. map:BOX:a.npy, or map:64x64:128B:a.npy, is a tensor map (CUtensorMap) of an array: the box that one copy
moves, rows first, and the swizzle (128B-base32B keeps 32 bytes together); out:FILE.npy also there. Bytes of a.npy that
hold smaller elements: map:8x64:128B:b4x16_p64:a.npy. buffer:FILE or buffer:0x00FF... is all arguments as they
lie in memory (HIP_LAUNCH_PARAM_BUFFER_POINTER); behind it 16=a.npy or 24=out:d.npy:f4:64x64 puts the address of an
array into the eight bytes from byte 16 or 24.
--limit stops a kernel that does not end, and says where its waves are then; so does Ctrl-C.
A PTX kernel comes from a .ptx file, from a fatbin or object of nvcc that carries PTX, from a folder with .ptx files, or
as text from standard input (-).
--schedule runs the waves or warps in another order that the hardware permits; --limit counts their instructions.
--stop-at stops it before an instruction, a line of the source, or behind its first finding, and shows a wave: what its
registers hold, of a product which elements of its matrices. --watch says who writes a register (v41, v41[3] of lane 3,
%r5), LDS or shared memory (lds:4160, shared:4160), an element of an argument (d[17], "argument 3[17]"), and when.
--product says which arguments are D, A and B of a matrix product, by name or number ("3 = 1 @ 2.T": .T is of a matrix
whose array holds it the other way round; b:bf16 of one whose type does not say its format). It follows the elements of
A and B into each matrix instruction and the sums into D, and names the instruction that makes the result wrong, where
no rule is broken: a load of a wrong address, a wrong register, a k that is missing or comes twice, a misplaced store.
--expect says what an argument should hold afterwards, by its number or name. If it is wrong, the kernel is run with one
instruction changed at a time, as a slip of the pen changes it (an offset, a register, a lane, a comparison, an order of
operands ...), and the instruction is named with which the result is right. --tolerance is how far elements may be off,
as a part of the largest (2^-8 for floats if left out); --tries how many changes are tried.
--trace prints each instruction of one wave with what its registers hold in each lane.
The status is 1 if something is wrong with the kernel: an uninitialised value, a race in LDS, a missing wait ...;
2 if it was stopped, by an access out of bounds or an instruction that is not covered. Arrays are then as before.
"""

from __future__ import annotations

import math

from ..base.checks import number, real
from ..base.errors import Error, plural
from ..base.records import TupleRecord, json_keys
from ..command import Command, Reply, argument, flag, given, option, refuse_given, show
from ..command import number as number_option
from ..command.common import JSON
from ..command.kernels import BUNDLED, LAUNCH, kernel_arguments, write_outputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..asm.code_objects import Kernel, KernelArgument
    from ..command import Options
    from ..kernels.amd.report import KernelReport, TraceStep
    from ..kernels.device.debugging import Debugged
    from ..kernels.following import FollowedProduct
    from ..kernels.ptx.kernel import PtxKernel
    from ..kernels.ptx.report import PtxReport
    from ..kernels.repairing import Repairs


@json_keys(
    "name=kernel.name",
    "target=kernel.target",
    "wave=kernel.wavefront_size",
    "vgprs=kernel.vgpr_count",
    "lds_bytes=kernel.descriptor.group_segment_size",
    "scratch_bytes=kernel.descriptor.private_segment_size",
    "arguments: those that a caller gives",
)
class ListedKernel(TupleRecord):
    """A kernel, and the arguments that a caller gives."""

    kernel: Kernel
    arguments: tuple[KernelArgument, ...]


@json_keys("kernels=listed")
class KernelList(TupleRecord):
    """The kernels of a code object: its file, and the kernels."""

    file: str
    kernels: tuple[Kernel, ...]

    @property
    def listed(self) -> tuple[ListedKernel, ...]:
        """The kernels with their arguments."""
        return tuple([ListedKernel(kernel, kernel.given_arguments) for kernel in self.kernels])


class TracedRegister(TupleRecord):
    """What a register holds, in each lane."""

    name: str
    values: tuple[int, ...]


@json_keys(
    "number=step.number",
    "address=step.address",
    "text=step.text",
    "exec=step.exec",
    "location=step.location: of the source",
    "registers",
)
class TracedStep(TupleRecord):
    """A step of the traced wave."""

    step: TraceStep

    @property
    def registers(self) -> tuple[TracedRegister, ...]:
        """What it wrote."""
        return tuple([TracedRegister(*each) for each in self.step.registers])


@json_keys("**report", "written: files", "trace")
class KernelRun(TupleRecord):
    """A launch: its report, the steps of the traced wave, the files that were written."""

    report: KernelReport
    steps: tuple[TraceStep, ...]
    written: tuple[str, ...]

    @property
    def trace(self) -> tuple[TracedStep, ...]:
        """The steps."""
        return tuple(map(TracedStep, self.steps))


class PtxParameter(TupleRecord):
    """A parameter of a kernel, with its PTX type."""

    name: str
    type: str


class ListedPtxKernel(TupleRecord):
    """A kernel, and its parameters."""

    name: str
    target: str
    arguments: tuple[PtxParameter, ...]


@json_keys("kernels=listed")
class PtxKernelList(TupleRecord):
    """The kernels of a file of PTX."""

    file: str
    kernels: tuple[PtxKernel, ...]

    @property
    def listed(self) -> tuple[ListedPtxKernel, ...]:
        """The kernels with their parameters."""
        return tuple([
            ListedPtxKernel(kernel.name, kernel.target, tuple([PtxParameter(*each) for each in kernel.signature]))
            for kernel in self.kernels
        ])  # fmt: skip


class Uncovered(TupleRecord):
    """A statement that cannot be run."""

    line: int
    text: str
    why: str


class KernelCoverage(TupleRecord):
    """The statements of a kernel that cannot be run."""

    name: str
    uncovered: tuple[Uncovered, ...]


@json_keys("kernels=covered")
class PtxCoverage(TupleRecord):
    """By kernel the statements that cannot be run: (line, statement, why)."""

    file: str
    kernels: tuple[tuple[str, tuple[tuple[int, str, str], ...]], ...]

    @property
    def covered(self) -> tuple[KernelCoverage, ...]:
        """`kernels` with names for their parts."""
        return tuple(
            [KernelCoverage(name, tuple([Uncovered(*each) for each in found])) for name, found in self.kernels]
        )


@json_keys("**report", "written: files")
class PtxKernelRun(TupleRecord):
    """A launch: its report, the files that were written."""

    report: PtxReport
    written: tuple[str, ...]


def list_text(found: KernelList) -> str:
    """A line for each kernel, and one for each of its arguments."""
    lines = []
    for kernel in found.kernels:
        lines.append(
            f"{kernel.name}: {kernel.target}, wave{kernel.wavefront_size}, {kernel.vgpr_count} VGPRs, "
            f"{kernel.descriptor.group_segment_size} bytes of LDS, "
            f"{kernel.descriptor.private_segment_size} bytes of scratch"
        )
        lines += [f"  {_described(number, one)}" for number, one in enumerate(kernel.given_arguments)]
    return "\n".join(lines) + "\n"


def _described(number: int, one: KernelArgument) -> str:
    name = one.name or f"argument {number + 1}"
    return f"{name}: {plural(one.size, 'byte')}" if one.value_kind == "by_value" else f"{name}: a pointer"


LANES_IN_ROW = 8


def text(found: KernelRun) -> str:
    """The traced steps, the report, the files."""
    before = (None, *[step.location for step in found.steps])
    lines = [line for step, place in zip(found.steps, before) for line in _step_lines(step, step.location != place)]
    lines.append(str(found.report))
    lines += [f"written to {path}" for path in found.written]
    return "\n".join(lines) + "\n"


def _step_lines(step: TraceStep, moved: bool) -> Iterator[str]:
    if moved and step.location is not None:
        yield step.location.described
    yield f"{step.number:>6}  {step.address:#x}  {step.text}"
    for name, values in step.registers:
        if len(values) == 1:
            yield f"        {name} = {values[0]:08x}"
        elif len(set(values)) == 1:
            yield f"        {name} = {values[0]:08x} in every lane"
        else:
            for first in range(0, len(values), LANES_IN_ROW):
                row = values[first : first + LANES_IN_ROW]
                cells = " ".join([f"{value:08x}" for value in row])
                yield f"        {name}, lanes {first}-{first + len(row) - 1}: {cells}"


def ptx_list_text(found: PtxKernelList) -> str:
    """A line for each kernel, and one for each of its parameters."""
    lines = []
    for kernel in found.kernels:
        block = f", blocks of {kernel.block[0]}" if kernel.block else ""
        lines.append(f"{kernel.name}: {kernel.target}{block}")
        lines += [f"  {name}: .{type_}" for name, type_ in kernel.signature]
    return "\n".join(lines) + "\n"


def ptx_text(found: PtxKernelRun) -> str:
    """What the kernel has printed, the report, the files."""
    lines = [str(found.report), *[f"written to {path}" for path in found.written]]
    return found.report.printed + "\n".join(lines) + "\n"


def coverage_text(found: PtxCoverage) -> str:
    """A line for each statement that cannot be run."""
    lines = []
    for name, statements in found.kernels:
        wrong = f"{plural(len(statements), 'statement')} cannot be run"
        lines.append(f"{name}: {wrong if statements else 'covered'}")
        lines += [f"  line {line}: {statement}: {why}" for line, statement, why in statements]
    return "\n".join(lines) + "\n"


def _given(file: str) -> str:
    """What `load` takes: the path, or of "-" the text of PTX on standard input."""
    if file != "-":
        return file
    from ..command.files import read_text

    text = read_text(file)
    if ".version" not in text or ".target" not in text:
        raise Error(
            "standard input has no PTX, which begins with .version and .target; other kernels are given by files"
        )
    return text


LAUNCHES = (
    *[one.name for one in LAUNCH], "trace", "trace_wave", "stop_at", "watch", "lanes",
    "product", "expect", "tolerance", "tries",
)  # fmt: skip
"""The options that a list of kernels has no use for."""


def run(options: Options) -> Reply:
    """The report of the launch, and 1 if something was found wrong."""
    from ..kernels.launching import launch
    from ..kernels.loading import load
    from ..kernels.ptx.kernel import PtxKernel

    kernels: Mapping[str, Any] = load(_given(options.file), options.architecture)
    if options.kernel is None and (asked := given(COMMAND, options, LAUNCHES)):
        if len(kernels) != 1:
            raise Error(f"{asked[0]} is for a launch; which kernel? The file has {', '.join(kernels)}")
        (options.kernel,) = kernels
    if options.stop_at is None and not options.watch:
        refuse_given(COMMAND, options, ("lanes",), "goes with --stop-at or --watch")
        if not options.trace:
            refuse_given(COMMAND, options, ("trace_wave",), "goes with --trace, --stop-at or --watch")
    if not options.expect:
        refuse_given(COMMAND, options, ("tolerance", "tries"), "goes with --expect")
    elif options.kernel is not None:
        return _repaired(options, kernels[options.kernel])
    if any(isinstance(kernel, PtxKernel) for kernel in kernels.values()):
        return _run_ptx(options, kernels)
    if options.covered:
        raise Error("--covered is for PTX kernels; this is a code object of an AMD GPU")
    if options.kernel is None:
        return show(options.json, "kernels", KernelList(options.file, tuple(kernels.values())), list_text)
    kernel = kernels[options.kernel]
    if options.product is not None:
        return _followed(options, kernel)
    if options.stop_at is not None or options.watch:
        return _debugged(options, kernel)
    arguments = kernel_arguments(options.args)
    steps: list[Any] = []
    report = launch(
        kernel, tuple(options.grid), tuple(options.block), *arguments.values,
        trace=steps.append if options.trace else None, trace_wave=options.trace_wave,
        **_launch_options(options, arguments),
    )  # fmt: skip
    write_outputs(arguments)
    found = KernelRun(report, tuple(steps), tuple(arguments.outputs))
    return show(options.json, "run-kernel", found, text, status=1 if report.findings else 0)


def _launch_options(options: Options, arguments: Any) -> dict[str, Any]:
    """What every launch takes beside the grid, the block and the values of its arguments."""
    cluster = tuple(options.cluster) if options.cluster else None
    return {"arguments": arguments.buffer, "shared": options.shared, "limit": options.limit,
            "schedule": options.schedule, "cluster": cluster}  # fmt: skip


def _run_ptx(options: Options, kernels: Mapping[str, Any]) -> Reply:
    from ..kernels.launching import launch

    if options.trace:
        raise Error("--trace is for AMD kernels; leave it out for PTX")
    if options.covered:
        chosen = kernels.values() if options.kernel is None else [kernels[options.kernel]]
        coverage = PtxCoverage(options.file, tuple([(kernel.name, kernel.uncovered()) for kernel in chosen]))
        found = any(statements for _, statements in coverage.kernels)
        return show(options.json, "ptx-coverage", coverage, coverage_text, status=1 if found else 0)
    if options.kernel is None:
        return show(options.json, "ptx-kernels", PtxKernelList(options.file, tuple(kernels.values())), ptx_list_text)
    if options.product is not None:
        return _followed(options, kernels[options.kernel])
    if options.stop_at is not None or options.watch:
        return _debugged(options, kernels[options.kernel])
    arguments = kernel_arguments(options.args)
    report = launch(
        kernels[options.kernel], tuple(options.grid), tuple(options.block), *arguments.values,
        **_launch_options(options, arguments),
    )  # fmt: skip
    write_outputs(arguments)
    run = PtxKernelRun(report, tuple(arguments.outputs))
    return show(options.json, "run-ptx-kernel", run, ptx_text, status=1 if report.findings else 0)


def follow_text(found: FollowedProduct) -> str:
    """The report of the launch, and what is wrong with the product."""
    return _told(found, bool(found.findings))


def _followed(options: Options, kernel: Any) -> Reply:
    """A launch whose product is followed."""
    from ..kernels.following import follow_product

    refused = ("trace", "trace_wave", "covered", "stop_at", "watch", "lanes")
    refuse_given(COMMAND, options, refused, "cannot be combined with --product")
    arguments = kernel_arguments(options.args)
    found = follow_product(
        kernel, tuple(options.grid), tuple(options.block), *arguments.values, product=options.product,
        **_launch_options(options, arguments),
    )  # fmt: skip
    write_outputs(arguments)
    wrong = bool(found.findings or found.report.findings)
    return show(options.json, "follow-product", found, follow_text, status=int(wrong))


def repair_text(found: Repairs) -> str:
    """The report of the launch, what is wrong with the result, and the changes with which it is right."""
    return _told(found, bool(found.wrong))


def _told(found: FollowedProduct | Repairs, wrong: bool) -> str:
    """The report, which must not say that nothing is wrong where something is, and the words of an answer."""
    report = f"{found.report}\n" if found.report is not None else ""
    if wrong:
        report = report.replace("nothing wrong was found", "no rule is broken")
    return f"{report}{found.words()}\n"


def _tolerance(text: str | None) -> float | None:
    """The number that --tolerance gives."""
    value = None if text is None else real(text)
    if text is not None and not (value is not None and 0 <= value < math.inf):
        raise Error(f"--tolerance takes a number from 0 up, such as 1e-3; got '{text}'")
    return value


def _repaired(options: Options, kernel: Any) -> Reply:
    """A launch whose result is compared, and changes that make it right."""
    from ..command.arrays import load as load_array
    from ..kernels.repairing import MOST, find_repairs

    refused = ("trace", "trace_wave", "covered", "stop_at", "watch", "lanes", "product")
    refuse_given(COMMAND, options, refused, "cannot be combined with --expect")
    arguments = kernel_arguments(options.args)
    expected: dict[int | str, Any] = {}
    for text in options.expect:
        name, equals, path = text.partition("=")
        if not equals:
            raise Error(f"--expect takes ARGUMENT=FILE, such as 2=right.npy; got '{text}'")
        expected[name if (at := number(name)) is None else at] = load_array("--expect", path, (), False)
    found = find_repairs(
        kernel, tuple(options.grid), tuple(options.block), *arguments.values, expected=expected,
        tolerance=_tolerance(options.tolerance), most=MOST if options.tries is None else options.tries,
        **_launch_options(options, arguments),
    )  # fmt: skip
    if found.report is not None:
        write_outputs(arguments)
    wrong = bool(found.wrong or found.reported)
    return show(options.json, "find-repairs", found, repair_text, status=int(wrong))


def debug_text(found: Debugged, lanes: Sequence[int] = (0, 1, 2, 3)) -> str:
    """Who wrote what is watched, the state where it stopped; of a launch that ended its report."""
    report = f"\n{found.report}" if found.report is not None else ""
    return f"{found.words(lanes)}{report}\n"


def _debugged(options: Options, kernel: Any) -> Reply:
    """A launch with a stop or watches; nothing is written."""
    from ..kernels.debugging import debug

    if options.trace or options.covered:
        raise Error("--stop-at and --watch cannot be combined with --trace or --covered")
    arguments = kernel_arguments(options.args)
    found = debug(
        kernel, tuple(options.grid), tuple(options.block), *arguments.values, stop=options.stop_at, watch=options.watch,
        wave=options.trace_wave, **_launch_options(options, arguments),
    )  # fmt: skip
    wrong = bool(found.report.findings) if found.report is not None else options.stop_at == "finding"
    return show(options.json, "debug-kernel", found, lambda one: debug_text(one, options.lanes), status=int(wrong))


COMMAND = Command(
    "run-kernel", "run a compiled AMD or PTX kernel on the emulator, and say what is wrong with it", "compute", __doc__,
    (
        JSON,
        argument(
            "file", "a linked code object (.hsaco, .co), by itself or in clang's offload bundle; or PTX, see above"
        ),
        argument("kernel", "the kernel's name; a file with one needs none; without it and options, a list", nargs="?"),
        BUNDLED,
        *LAUNCH,
        flag("--covered", help="list what cannot be run (PTX)"),
        flag("--trace", help="print every instruction of one wave and what it wrote"),
        number_option(
            "--trace-wave", default=0, placeholder="N",
            help="which wave of the launch: of --trace, --stop-at and --watch (default: 0)",
        ),
        option("--stop-at", placeholder="PLACE", help="0x1c98, gemm.py:74, finding ..., see above"),
        option("--watch", placeholder="WHAT", many=True, default=[], help="v41, lds:4160, d[17] ..., see above"),
        option("--product", placeholder='"D = A @ B"', help="follow a product of its arguments, see above"),
        option(
            "--expect", placeholder="ARGUMENT=FILE", many=True, default=[], help="the right result (2=d.npy), see above"
        ),
        option("--tolerance", placeholder="X", help="of --expect, a part of the largest element"),
        number_option("--tries", placeholder="N", help="changes that --expect tries (default: 4000)"),
        number_option(
            "--lanes", nargs="+", default=[0, 1, 2, 3], placeholder="N", help="lanes to show (default: 0 1 2 3)"
        ),
    ),
    run,
    {
        "kernels": list_text, "run-kernel": text, "ptx-kernels": ptx_list_text, "run-ptx-kernel": ptx_text,
        "debug-kernel": debug_text, "follow-product": follow_text,
        "find-repairs": repair_text,
        "ptx-coverage": coverage_text,
    },
    older=("launch",),
)  # fmt: skip
