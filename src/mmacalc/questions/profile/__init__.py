"""What a compiled kernel does, by loop, line and instruction, and what bounds it: of AMD, or a CUDA kernel as PTX.

    mmacalc profile kernel.hsaco gemm --grid 4 4 --block-dim 256 --args a.npy b.npy out:d.npy:f4:64x64 64 64 64
    mmacalc profile kernel.ptx gemm --grid 2 --block-dim 128 --args a.npy b.npy out:d.npy:f4:64x64 64 64 64 -o gemm.svg
    mmacalc profile before.hsaco after.hsaco --grid 4 --block-dim 256 --args a.npy out:b.npy:f4:4096    side by side
    mmacalc profile kernel.hsaco gemm        without arguments: the listing, each instruction once

A file, its kernel where it has several, and again for a second one. The kernels are run on the emulator, as run-kernel
does, with its options and arguments; nothing is written but the picture. Counts and bytes are exact. Then a model says
what bounds the kernel: it issues the waves of one workgroup in order, on one compute unit that as many workgroups share
as fit, and says what it would take without memory's latency, without bank conflicts and so on. It is not a
measurement; what it assumes and leaves out stands below its result.
A kernel that cannot be launched, or is stopped, is shown by its listing: the status is 2 then; 1 if something is wrong
with it (see run-kernel).
"""

from __future__ import annotations

import os

from ...base.errors import Error, did_you_mean
from ...base.records import TupleRecord
from ...command import Command, Reply, argument, flag, option, show
from ...command import number as number_option
from ...command.common import JSON
from ...command.kernels import BUNDLED, LAUNCH, kernel_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ...command import Options
    from ...kernels.device.profile import Profile


class Profiles(TupleRecord):
    """The profiles of several kernels, and the files that they are from."""

    files: tuple[str, ...]
    profiles: tuple[Profile, ...]


def text(found: Profile, everything: bool = False) -> str:
    """Summary, tables, model."""
    from . import tables

    return tables.text(found, everything)


def comparison_text(found: Profiles) -> str:
    """The kernels side by side."""
    from . import tables

    return tables.comparison(found.files, found.profiles)


def draw(found: tuple[Profile, ...], path: str) -> None:
    """Draw profiles into an SVG file.

    Raises:
        Error: another ending; the file cannot be written.
    """
    from ...base.files import write
    from ...drawing.scene import svg
    from .plot import plot

    if not path.endswith(".svg"):
        raise Error(f"{path}: the picture of a profile is written as .svg")
    write({path: svg(plot(found)).encode()}, [])


def _kernels(options: Options) -> Iterator[tuple[str, Any]]:
    """The files and kernels that the words name: a file, and its kernel where one is named."""
    from ...kernels.loading import load

    words = list(options.files)
    while words:
        file = words.pop(0)
        kernels: Mapping[str, Any] = load(file, options.architecture)
        if words and not os.path.exists(words[0]):
            name = words.pop(0)
            if name not in kernels and any(mark in name for mark in (".", "/")):
                known = ", ".join(kernels)
                raise Error(
                    f"'{name}' is neither a file nor a kernel of {file}.{did_you_mean(name, kernels)} It has {known}"
                )
            yield file, kernels[name]
        elif len(kernels) == 1:
            yield file, next(iter(kernels.values()))
        else:
            raise Error(f"{file} has {len(kernels)} kernels; name one behind it: {', '.join(kernels)}")


def run(options: Options) -> Reply:
    """The profile of a kernel, or of two."""
    chosen = list(_kernels(options))
    if len(chosen) > 2:
        raise Error(f"profile takes one kernel, or two to compare; got {len(chosen)}")
    status, found = 0, []
    for _, kernel in chosen:
        code, profile = _profiled(kernel, options)
        status = max(status, code)
        found.append(profile)
    if options.output is not None:
        draw(tuple(found), options.output)
    if len(found) == 1:
        return show(options.json, "profile", found[0], lambda one: text(one, options.all), status=status)
    return show(
        options.json,
        "profiles",
        Profiles(tuple([file for file, _ in chosen]), tuple(found)),
        comparison_text,
        status=status,
    )


def _profiled(kernel: Any, options: Options) -> tuple[int, Profile]:
    """The profile of a kernel: of a launch, or of its listing where that is not possible."""
    from ...kernels.profiling import profile

    block = tuple(options.block)
    if not options.args and _takes_arguments(kernel):
        return 0, profile(kernel, None, block)._replace(why="not launched, since no --args were given")
    arguments = kernel_arguments(options.args)
    given = {"shared": options.shared, "limit": options.limit, "latency": options.latency}
    given["arguments"] = arguments.buffer
    if options.thread_registers is not None:
        given["registers"] = options.thread_registers
    given |= {name: value for name, value in (("schedule", options.schedule), ("cluster", options.cluster)) if value}
    try:
        found = profile(kernel, tuple(options.grid), block, *arguments.values, **given)
    except Error as error:
        from ...kernels.device.findings import Stop

        if not isinstance(error, Stop) and "is not covered" not in str(error):
            raise
        return 2, profile(kernel, None, block)._replace(why=f"the launch was stopped: {error}")
    return int(bool(found.findings)), found


def _takes_arguments(kernel: Any) -> bool:
    from ...kernels.ptx.kernel import PtxKernel

    return bool(kernel.parameters if isinstance(kernel, PtxKernel) else kernel.given_arguments)


COMMAND = Command(
    "profile", "what a compiled kernel does by loop, line and instruction, and what bounds it", "compute", __doc__,
    (
        JSON,
        argument("files", "a code object or PTX, and its kernel; two of them to compare", nargs="+"),
        BUNDLED,
        *LAUNCH,
        number_option("--latency", placeholder="CYCLES", help="of global memory in the model, see above"),
        number_option("--thread-registers", placeholder="N", help="of a thread, as ptxas reports them (PTX)"),
        flag("--all", help="list all lines and instructions, not only where waves stand longest"),
        option("-o", "--output", placeholder="FILE", help="draw the profile there, as .svg"),
    ),
    run,
    {"profile": text, "profiles": comparison_text},
)  # fmt: skip
