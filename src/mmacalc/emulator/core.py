"""The compiled core of the emulator, where there is one: core.c and those beside it as a library, called by ctypes.

    python -m mmacalc.emulator.core          compile it beside this file

Wheels bring it along. Without it, and with MMACALC_CORE=off, everything is computed on NumPy, with the same results;
MMACALC_CORE=<file> takes another library. ctypes rather than an extension module: one library serves every version of
Python, and calls release the interpreter's lock, so that threads run at the same time.
"""

from __future__ import annotations

import ctypes
import os
import sys
import zlib
from functools import cache, lru_cache
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Task", "address", "build", "function", "library", "version"]

HERE = Path(__file__).parent
SOURCES = tuple(
    [
        HERE / f"{name}.c"
        for name in ("lanes", "memory", "core", "aligned", "shared", "threads", "places", "rdna", "products", "steps")
    ]  # fmt: skip
)
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
# No contraction into fused multiply-adds: it would change results. Traps are not used, and floor() is faster without.
FLAGS = ("-O3", "-std=c11", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-fvisibility=hidden")

_POINTERS = ("a", "b", "scale_a", "scale_b", "exponent_a", "exponent_b", "exponent_sa", "exponent_sb", "c", "flags")
_NUMBERS = (
    "lanes", "group", "fraction", "dot_fraction", "sum_fraction", "reach", "lowest", "kept", "flush", "out", "low_bits",
    "pair", "narrow",
)  # fmt: skip


class Task(ctypes.Structure):
    """The struct of core.h: pointers, then the sizes of one entry, then the model's parameters."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in _POINTERS),
        *((name, ctypes.c_int64) for name in ("rows", "columns", "depth")),
        *((name, ctypes.c_int32) for name in _NUMBERS),
    ]


_ROWS = (ctypes.POINTER(Task), ctypes.c_int64, ctypes.c_int64)


@cache
def version() -> int:
    """What names the sources of the core: a library that was compiled from others is not taken, since its structs may
    be others."""
    texts = [path.read_bytes() for path in sorted(HERE.glob("*.[ch]"))]
    return zlib.crc32(b"".join(texts)) >> 1


def address(array: Any) -> int:
    """Where a contiguous array begins; NumPy's own attributes take four times as long."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):  # it is read-only, or empty
        found: int = array.__array_interface__["data"][0]
        return found


def build(folder: Path | None = None, compiler: str | None = None) -> Path:
    """Compile the core, by default beside its source, and return the library's path.

    Raises:
        RuntimeError: there is no C compiler, or it refused the source; says what it printed.
    """
    from concurrent.futures import ThreadPoolExecutor
    from shutil import which
    from subprocess import run
    from tempfile import TemporaryDirectory

    target = (folder or HERE) / f"_core{SUFFIX}"
    command = compiler or os.environ.get("CC") or next((name for name in ("cc", "gcc", "clang") if which(name)), None)
    if command is None:
        raise RuntimeError("there is no C compiler (cc, gcc or clang); mmacalc works without its core, on NumPy")

    def compiled(*words: str) -> None:
        line = [*command.split(), *words]
        done = run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(line)} failed:\n{done.stderr}")

    with TemporaryDirectory(dir=target.parent) as scratch, ThreadPoolExecutor(os.cpu_count()) as threads:
        made = Path(scratch) / target.name
        objects = {source: str(made.with_name(f"{source.stem}.o")) for source in SOURCES}
        for done in [threads.submit(compiled, *FLAGS, f"-DVERSION={version()}", "-fPIC", "-c", str(source), "-o", to)
                     for source, to in objects.items()]:  # fmt: skip
            done.result()
        compiled("-shared", *objects.values(), "-o", str(made), "-lm")
        made.replace(target)
    library.cache_clear()
    return target


@cache
def library() -> ctypes.CDLL | None:
    """The core, or None if there is none."""
    chosen = os.environ.get("MMACALC_CORE", "")
    path = Path(chosen) if chosen else HERE / f"_core{SUFFIX}"
    if chosen == "off" or not path.is_file():
        return None
    try:
        found = ctypes.CDLL(str(path))
        found.mmacalc_version.restype = ctypes.c_int32
        return found if found.mmacalc_version() == version() else None
    except (OSError, AttributeError):  # of another machine, or no core at all
        return None


@lru_cache(maxsize=64)
def function(name: str, arguments: tuple[Any, ...] = _ROWS, result: Any = None) -> Callable[..., Any] | None:
    """A function of the core by its name without mmacalc_; None without the core, or if it has none of this name.

    arguments, result: the types of ctypes. By default those of a kernel, which computes the rows from first to before
    last of a task.
    """
    found = getattr(library(), f"mmacalc_{name}", None)
    if found is not None:
        found.argtypes, found.restype = arguments, result
    return found


if __name__ == "__main__":
    try:
        print(build())
    except (RuntimeError, OSError) as _error:
        sys.exit(str(_error))
