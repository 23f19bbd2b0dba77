"""`run_program`: a CUDA or HIP program whose kernels run on the emulator."""

from __future__ import annotations

import mmap
import os
import re
import socket
import subprocess
import sys
import tempfile
from functools import cached_property
from pathlib import Path

import numpy as np

from ..base.checks import arguments_checked, number, require_int, shown
from ..base.errors import Error
from ..base.records import TupleRecord, json_keys
from ..kernels.device.launch import checked_seed
from ..kernels.device.memory import BASE as CODE
from ..kernels.device.memory import NO_RESERVE, keep_at
from ..kernels.launching import launch
from ..kernels.loading import load
from ..kernels.ptx.kernel import PtxKernel
from ..kernels.ptx.tensor_maps import map_of_driver
from ..ptx.fatbins import ptx_texts
from .building import Program, build, program_of
from .devices import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..base.arrays import Array
    from ..kernels.amd.report import KernelReport
    from ..kernels.ptx.report import PtxReport

__all__ = ["ProgramLaunch", "ProgramReport", "run_program"]

BASE, WHOLE = 0x7100_0000_0000, 1 << 40
"""Where device memory lies, and how much there is: see runtime.cpp. The program gives out the lower half."""
GAP = 1 << 16


@json_keys("number", "kernel", "grid", "block", "findings", "notes", "stopped")
class ProgramLaunch(TupleRecord):
    """A launch of a program: its number, the kernel, the grid and the block, and the report; or what stopped it."""

    number: int
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    report: KernelReport | PtxReport | None
    stopped: str | None

    @property
    def findings(self) -> tuple[Any, ...]:
        """What is wrong with the kernel."""
        return self.report.findings if self.report is not None else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is remarkable, and not wrong."""
        notes = self.report.notes if self.report is not None else ()
        return tuple([one if isinstance(one, str) else one.sentence for one in notes])

    @property
    def words(self) -> tuple[str, ...]:
        """The findings in words, or what stopped it."""
        stopped = [f"stopped: {self.stopped}"] if self.stopped is not None else []
        return (*[finding.sentence for finding in self.findings], *stopped)


class ProgramReport(TupleRecord):
    """What a program did: its launches, and the status with which it ended."""

    program: str
    launches: tuple[ProgramLaunch, ...]
    status: int

    @property
    def findings(self) -> tuple[Any, ...]:
        """The findings of all launches."""
        return tuple([finding for one in self.launches for finding in one.findings])

    @property
    def stopped(self) -> tuple[ProgramLaunch, ...]:
        """The launches that were stopped."""
        return tuple([one for one in self.launches if one.stopped is not None])

    @property
    def failures(self) -> tuple[str, ...]:
        """The launches that were stopped, and a status that is not 0, in words."""
        status = [f"{self.program} ended with status {self.status}"] if self.status else []
        return (*[f"stopped: {one.kernel}: {one.stopped}" for one in self.stopped], *status)


@arguments_checked
def run_program(
    command: Sequence[str], arch: str | None = None, schedule: int | None = None, limit: int | None = None,
    processors: int = 2, quiet: bool = False, on_launch: Callable[..., object] | None = None,
) -> ProgramReport:  # fmt: skip
    """Run a CUDA or HIP program without a GPU: its host code as it is, its kernels on the emulator.

    The program is linked with the runtime's shared library, which is replaced: a HIP program as hipcc links it, a CUDA
    program with `nvcc -cudart shared`, and with PTX in it (-gencode arch=compute_90a,code=compute_90a). Every launch is
    checked as `mmacalc.launch` does. Memory lies at the same addresses for host and device; what one allocation lacks
    is out of bounds. Streams and events are done at once.

    Args:
        command: the program, and its arguments.
        arch: which of the program's targets, such as "gfx942" or "sm_90a"; may be left out if there is one.
        schedule: a seed: waves or warps then run in another order that the hardware permits.
        limit: instructions, of all waves of a launch, beyond which it is stopped.
        processors: how many compute units or multiprocessors the program is told that there are. Persistent kernels
            launch as many workgroups.
        quiet: whether what the program writes to standard output goes to standard error.
        on_launch: called with each `ProgramLaunch` when it has ended.

    Returns:
        A `ProgramReport`. A launch that was stopped gave the program hipErrorLaunchFailure or cudaErrorLaunchFailure.

    Raises:
        Error: no such program; it is linked otherwise; no C++ compiler.

    >>> run_program(["/bin/true"])
    Traceback (most recent call last):
    mmacalc.base.errors.Error: '/bin/true' is not linked with the shared library of a runtime (libcudart.so, libamdhip64.so): a CUDA program is linked with nvcc -cudart shared, a HIP program by hipcc
    """  # noqa: E501
    if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
        raise Error(f"run_program takes the program and its arguments, such as ['./gemm', '512']; got {shown(command)}")
    if limit is not None and require_int("limit", limit) < 1:
        raise Error(f"limit is how many instructions may be executed, from 1 up; got {limit}")
    if require_int("processors", processors) < 1:
        raise Error(f"processors is how many compute units there are, from 1 up; got {processors}")
    checked_seed(schedule)
    if not hasattr(os, "memfd_create"):
        raise Error("programs can be run on Linux alone")
    program = program_of(command[0])
    with tempfile.TemporaryDirectory() as folder, Emulator(program, Path(folder), arch, processors) as emulator:
        emulator.options = {"schedule": schedule, "limit": limit}
        emulator.on_launch, emulator.quiet = on_launch, quiet
        status = emulator.run(command)
    return ProgramReport(str(program.file), tuple(emulator.launches), status)


class Emulator:
    """The process that carries out a program's launches."""

    program: Program
    folder: Path
    arch: str | None
    processors: int
    options: dict[str, Any]
    on_launch: Callable[..., object] | None
    quiet: bool
    next: int
    allocations: int
    file: int
    memory: mmap.mmap

    def __init__(self, program: Program, folder: Path, arch: str | None, processors: int) -> None:
        self.program, self.folder, self.arch, self.processors = program, folder, arch, processors
        self.options, self.on_launch, self.quiet = {}, None, False
        self.launches: list[ProgramLaunch] = []
        self.binaries: list[Path] = []
        self.modules: dict[int, Mapping[str, Any]] = {}
        self.failure: Error | None = None
        self.blocks: dict[int, Array] = {}
        self.next, self.allocations = BASE + WHOLE // 2, 0
        self.file = os.memfd_create("device memory")
        try:
            os.ftruncate(self.file, WHOLE)
            self.memory = mmap.mmap(self.file, WHOLE, flags=mmap.MAP_SHARED | NO_RESERVE)
        except (OSError, OverflowError) as problem:
            os.close(self.file)
            raise Error(
                f"a program needs {WHOLE >> 30} GiB of addresses (not of memory), which the system refuses: {problem}"
            ) from None

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.blocks.clear()
        for module in self.modules.values():
            for kernel in module.values():
                if isinstance(kernel, PtxKernel):
                    kernel.variables.clear()
        os.close(self.file)

    def run(self, command: Sequence[str]) -> int:
        """Start the program and answer it until it ends; its status."""
        library = build(self.program, self.folder)
        ours, its = socket.socketpair()
        handed = (its.fileno(), self.file)
        environment = {**os.environ, "MMACALC_SOCKET": str(handed[0]), "MMACALC_MEMORY": str(handed[1])}
        for name, first in (("LD_PRELOAD", library), ("LD_LIBRARY_PATH", self.folder)):
            environment[name] = ":".join(filter(None, (str(first), environment.get(name))))
        with ours:
            output = sys.stderr.fileno() if self.quiet else None
            child = subprocess.Popen(
                [str(self.program.file), *command[1:]], env=environment, pass_fds=handed, stdout=output
            )
            its.close()
            try:
                with ours.makefile("rwb") as stream:
                    while head := stream.read(8):
                        question = stream.read(int.from_bytes(head, "little"))
                        answer = self.answer(question)
                        stream.write(len(answer).to_bytes(8, "little") + answer)
                        stream.flush()
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has ended
            except BaseException:
                child.kill()
                raise
            finally:
                status = child.wait()
        return status

    def answer(self, question: bytes) -> bytes:
        """The answer to a question: + and what was asked for, or - and why not."""
        words, _, data = question.partition(b"\n")
        what, *rest = [word if (value := number(word)) is None else value for word in words.decode().split(" ")]
        try:
            found = getattr(self, f"_{what}")(data, *rest)
        except Error as error:
            if self.failure is not None:
                raise self.failure from None
            return b"-" + str(error).encode()
        return b"+" + (found if isinstance(found, bytes) else str("" if found is None else found).encode())

    # --- memory ---

    def _view(self, at: int, size: int) -> Array:
        found: Array = np.frombuffer(self.memory, np.uint8, size, at - BASE)
        return found

    def _allocate(self, _: bytes, at: int, size: int) -> None:
        array = self._view(at, size)
        self.allocations += 1
        keep_at(array, at, f"the program's allocation {self.allocations}")
        self.blocks[at] = array

    def _release(self, _: bytes, at: int) -> None:
        del self.blocks[at]

    def _placed(self, size: int) -> tuple[int, Array]:
        """Memory of the emulator's half: for the variables of PTX."""
        at = self.next
        self.next = -(-(at + size + GAP) // 512) * 512
        return at, self._view(at, size)

    # --- code ---

    def _binary(self, code: bytes) -> int:
        number = len(self.binaries)
        path = self.folder / f"binary{number}"
        path.write_bytes(code)
        self.binaries.append(path)
        return number

    def module(self, number: int) -> Mapping[str, Any]:
        """The kernels of a binary, read when the first is asked for: a program may have many that it leaves alone."""
        if number in self.modules:
            return self.modules[number]
        try:
            kernels = load(self.binaries[number], self.arch)
        except Error as error:  # then nothing of the program can be run
            words = str(error).replace(str(self.binaries[number]), self.program.file.name)
            self.failure = Error(f"{self.program.file.name}: {words}")
            raise self.failure from None
        placed: dict[str, tuple[int, Array]] = {}
        for kernel in kernels.values():
            if isinstance(kernel, PtxKernel):
                kernel.variables = placed
                for variable in kernel.module.variables.values():
                    if variable.space in ("global", "const") and variable.name not in placed:
                        at, content = self._placed(variable.size)
                        content[: len(variable.content)] = np.frombuffer(variable.content, np.uint8)
                        placed[variable.name] = at, content
        self.modules[number] = kernels
        return kernels

    def _kernel(self, binary: int, name: str) -> Any:
        return self.module(binary)[name]

    def _parameters(self, _: bytes, binary: int, name: str) -> str:
        return " ".join([f"{start} {size}" for start, size in _layout(self._kernel(binary, name))])

    def _store(self, data: bytes, binary: int, offset: int, size: int, name: str) -> None:
        self._variable(binary, name)[offset : offset + size] = np.frombuffer(data, np.uint8)

    def _fetch(self, _: bytes, binary: int, offset: int, size: int, name: str) -> bytes:
        return bytes(self._variable(binary, name)[offset : offset + size])

    def _address(self, _: bytes, binary: int, _offset: int, _size: int, name: str) -> int:
        kernel = self._any(binary)
        if isinstance(kernel, PtxKernel):
            return kernel.variables[name][0]
        if len(self.binaries) > 1:  # all code objects lie at one address
            raise Error(f"hipGetSymbolAddress({name}) of a program with several code objects is not covered")
        return CODE + int(kernel.variables.placed(name)[0])

    def _write(self, data: bytes, at: int) -> None:
        self._any(0).variables.at(at - CODE, len(data))[:] = data

    def _read(self, _: bytes, at: int, size: int) -> bytes:
        return bytes(self._any(0).variables.at(at - CODE, size))

    def _any(self, binary: int) -> Any:
        return next(iter(self.module(binary).values()))

    def _variable(self, binary: int, name: str) -> Array:
        """The bytes of a variable, as they are now."""
        kernel = self._any(binary)
        if isinstance(kernel, PtxKernel):
            if name not in kernel.variables:
                raise Error(f"the PTX has no variable {name}")
            return kernel.variables[name][1]
        found: Array = np.frombuffer(kernel.variables.named(name), np.uint8)
        return found

    # --- launches ---

    def _launch(self, data: bytes, binary: int, *rest: Any) -> None:
        *sizes, shared, name = rest
        grid, block, cluster = (tuple(sizes[first : first + 3]) for first in (0, 3, 6))
        kernel, report, stopped = self._kernel(binary, name), None, None
        options = {**self.options, "cluster": cluster if max(cluster) > 1 else None}
        try:
            report = launch(kernel, grid, block, arguments=data, shared=shared, **options)
        except Error as error:
            stopped = str(error)
        if printed := getattr(report, "printed", ""):
            stream = sys.stderr if self.quiet else sys.stdout
            stream.write(printed)
            stream.flush()
        one = ProgramLaunch(len(self.launches), kernel.cpp_name, grid, block, report, stopped)
        self.launches.append(one)
        if self.on_launch is not None:
            self.on_launch(one)
        if stopped is not None:
            raise Error(stopped)

    # --- the device ---

    @cached_property
    def _target(self) -> str:
        """The target of the program's first binary, of which PTX is not read for that."""
        if self.program.cuda and 0 not in self.modules:
            content = self.binaries[0].read_bytes()
            texts = ptx_texts(content, self.program.file.name)
            if found := re.search(r"^\s*\.target\s+(\w+)", "\n".join(texts), re.MULTILINE):
                return found[1]
        return str(self._any(0).target)

    @property
    def device(self) -> Device:
        """What the program is told of its device."""
        usual = "sm_80" if self.program.cuda else "gfx942"
        target = self.arch or (self._target if self.binaries else usual)
        return Device(target, self.program.cuda, self.program.version, self.processors, WHOLE // 4)

    def _properties(self, _: bytes, function: str) -> bytes:
        return self.device.properties(function)

    def _attribute(self, _: bytes, asked: int) -> int:
        return self.device.attribute(asked)

    def _function(self, _: bytes) -> bytes:
        return self.device.function()

    def _version(self, _: bytes) -> int:
        return self.device.runtime

    def _host(self, _: bytes, _memory: str) -> int:
        return self.device.host_memory

    def _map(self, _: bytes, *words: int) -> bytes:
        """A tensor map, as cuTensorMapEncodeTiled makes it."""
        kind, address, interleave, swizzle, fill, *axes = words
        rows = [axes[first : first + 4] for first in range(0, len(axes), 4)]
        return map_of_driver(kind, address, interleave, swizzle, fill, rows).packed()


def _layout(kernel: Any) -> list[tuple[int, int]]:
    """Where the arguments of a kernel lie, and how long they are."""
    if isinstance(kernel, PtxKernel):
        from ..kernels.ptx.compiler import compile_kernel

        parameters = compile_kernel(kernel.module, kernel.name).parameters
        return [(start, variable.size) for start, variable in parameters.values()]
    return [(one.offset, one.size) for one in kernel.given_arguments]
