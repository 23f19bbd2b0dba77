"""The runtime library of a program, compiled on this machine: runtime.cpp.

It stands in for libcudart or libamdhip64 under that library's name, so the dynamic linker takes it instead. What the
program wants of the library and runtime.cpp lacks becomes a function that says so by name and ends the program.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from ..base.checks import number, shown
from ..base.errors import Error, how_to_install
from ..base.files import reason
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Program", "build", "program_of"]

SOURCE = Path(__file__).with_name("runtime.cpp")
LIBRARY = re.compile(r"lib(cudart|amdhip64)\.so\.(\d+)")
DRIVER = "libcuda.so.1"
OWN = re.compile(r"(__)?(cuda|cu[A-Z]|hip)")
"""How names of the runtimes and of CUDA's driver begin."""
COMPILERS = ("c++", "g++", "clang++", "clang++-22")
_STATIC = b"cudaLaunchKernel"


class Program(TupleRecord):
    """An executable: its file, the runtime that it is linked with (libcudart.so.13), the versions of that library's
    symbols that it names, the functions of the runtime that it calls, and whether it wants CUDA's driver, too."""

    file: Path
    library: str
    versions: tuple[str, ...]
    functions: tuple[str, ...]
    driver: bool

    @property
    def version(self) -> int:
        """The version of the library."""
        return number(self.library.rpartition(".")[2]) or 0

    @property
    def cuda(self) -> bool:
        """Whether it is a CUDA program; a HIP program otherwise."""
        return self.library.startswith("libcudart")


def program_of(name: str) -> Program:
    """What an executable wants of its runtime.

    Raises:
        Error: no such program, or one that is not linked with a runtime's shared library.
    """
    try:
        found = shutil.which(name)
        here = found is None and "/" not in name and Path(name).is_file()
    except (OSError, ValueError) as problem:
        raise Error(f"there is no program {shown(name)}: {reason(problem)}") from None
    if found is None:
        hint = f"./{name}, for one in this folder" if here else "give its path, such as ./gemm"
        raise Error(f"there is no program {shown(name)} that can be executed; {hint}", kind="file", file=name)
    path = Path(found).absolute()
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise Error(f"reading a program needs pyelftools: {how_to_install('pyelftools')}") from None
    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
            return _program(path, elf)
        except ELFError:
            raise Error(f"'{name}' is not an ELF executable; a script is started by its interpreter") from None


def _program(path: Path, elf: Any) -> Program:
    dynamic = elf.get_section_by_name(".dynamic")
    needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")] if dynamic else []
    library = next((one for one in needed if LIBRARY.fullmatch(one)), None)
    if library is None:
        raise Error(f"'{path}' is not linked with the shared library of a runtime (libcudart.so, libamdhip64.so)"
                    + _why_not(path))  # fmt: skip
    section = elf.get_section_by_name(".gnu.version_r")
    versions = [
        aux.name for version, auxes in (section.iter_versions() if section else ()) for aux in auxes
        if version.name == library
    ]  # fmt: skip
    symbols = elf.get_section_by_name(".dynsym")
    functions = [
        symbol.name for symbol in (symbols.iter_symbols() if symbols else ())
        if symbol.entry["st_shndx"] == "SHN_UNDEF" and OWN.match(symbol.name)
    ]  # fmt: skip
    return Program(path, library, tuple(dict.fromkeys(versions)), tuple(functions), DRIVER in needed)


def _why_not(path: Path) -> str:
    if _STATIC in path.read_bytes():
        return ": it has CUDA's runtime in itself, as nvcc links it; link it with nvcc -cudart shared"
    return ": a CUDA program is linked with nvcc -cudart shared, a HIP program by hipcc"


def build(program: Program, folder: Path) -> Path:
    """Put the runtime for a program into a folder; its path.

    Raises:
        Error: no C++ compiler, or it refused something; says what it printed.
    """
    target = folder / program.library
    target.write_bytes(_compiled(program.library, program.versions, program.functions, program.cuda))
    if program.driver:  # its functions are in the runtime, which is loaded first
        empty = ("-xc++", "/dev/null", f"-Wl,-soname,{DRIVER}", "-o", str(folder / DRIVER))
        _run(_compiler(), "-shared", "-nostdlib", *empty)
    return target


@lru_cache
def _compiled(library: str, versions: tuple[str, ...], functions: tuple[str, ...], cuda: bool) -> bytes:
    """A runtime that is called `library`, has the versions of its symbols, and answers for some functions."""
    compiler = _compiler()
    flags = ("-std=c++17", "-O1", "-fPIC", "-w", f"-D{'CUDA' if cuda else 'HIP'}")
    with tempfile.TemporaryDirectory() as place:
        object_file, target, stubs, script = (
            str(Path(place) / name) for name in ("runtime.o", "runtime.so", "missing.cpp", "versions")
        )
        _run(compiler, *flags, "-c", str(SOURCE), "-o", object_file)
        known = _defined(Path(object_file))
        Path(stubs).write_text("".join(_stubs([name for name in functions if name not in known])))
        Path(script).write_text("".join(f"{version} {{}};\n" for version in versions))
        named = [f"-Wl,--version-script={script}"] if versions else []
        _run(compiler, *flags, "-shared", object_file, stubs, f"-Wl,-soname,{library}", *named, "-o", target)
        return Path(target).read_bytes()


def _compiler() -> str:
    for name in COMPILERS:
        if found := shutil.which(name):
            return found
    raise Error(f"running a program needs a C++ compiler ({', '.join(COMPILERS[:3])}), and there is none on PATH")


def _stubs(missing: list[str]) -> Iterator[str]:
    yield "#include <cstdio>\n#include <unistd.h>\n"
    for name in missing:
        message = f"mmacalc: the program calls {name}, which is not carried out"
        yield f'extern "C" void {name}() {{ fflush(stdout); fprintf(stderr, "{message}\\n"); _exit(2); }}\n'


def _defined(object_file: Path) -> set[str]:
    from elftools.elf.elffile import ELFFile

    with object_file.open("rb") as file:
        table: Any = ELFFile(file).get_section_by_name(".symtab")
        return {symbol.name for symbol in table.iter_symbols() if symbol.entry["st_shndx"] != "SHN_UNDEF"}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Error(f"the runtime of programs cannot be compiled: {' '.join(command)}\n{done.stderr.strip()[:2000]}")
