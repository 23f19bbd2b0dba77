"""The runtime library of a program, compiled on this machine: runtime.cpp with the headers of CUDA or HIP.

It stands in for libcudart or libamdhip64 under that library's name, so the dynamic linker takes it instead. What the
program wants of the library and runtime.cpp lacks becomes a function that says so by name and ends the program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from ..base.errors import Error, how_to_install
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.elf.elffile import ELFFile

__all__ = ["Program", "build", "program_of"]

SOURCE = Path(__file__).with_name("runtime.cpp")
LIBRARY = re.compile(r"lib(cudart|amdhip64)\.so\.(\d+)")
OWN = re.compile(r"(__)?(cuda|cu[A-Z]|hip)")
"""How names of the runtimes and of CUDA's driver begin."""
COMPILERS = ("c++", "g++", "clang++", "clang++-22")
_STATIC = b"cudaLaunchKernel"


class Program(TupleRecord):
    """An executable: its file, the runtime that it is linked with (libcudart.so.13), the versions of that library's
    symbols that it names, and the functions of the runtime that it calls."""

    file: Path
    library: str
    versions: tuple[str, ...]
    functions: tuple[str, ...]

    @property
    def cuda(self) -> bool:
        """Whether it is a CUDA program; a HIP program otherwise."""
        return self.library.startswith("libcudart")


def program_of(name: str) -> Program:
    """What an executable wants of its runtime.

    Raises:
        Error: no such program, or one that is not linked with a runtime's shared library.
    """
    found = shutil.which(name)
    if found is None:
        hint = f", or ./{name}" if Path(name).is_file() and "/" not in name else ""
        raise Error(f"there is no program '{name}' that can be executed; give its path, such as ./gemm{hint}")
    path = Path(found)
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


def _program(path: Path, elf: ELFFile) -> Program:
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
    return Program(path, library, tuple(dict.fromkeys(versions)), tuple(functions))


def _why_not(path: Path) -> str:
    if _STATIC in path.read_bytes():
        return ": it has CUDA's runtime in itself, as nvcc links it; link it with nvcc -cudart shared"
    return ": a CUDA program is linked with nvcc -cudart shared, a HIP program by hipcc"


def build(program: Program, folder: Path) -> Path:
    """Compile the runtime for a program into a folder; its path.

    Raises:
        Error: no C++ compiler, no headers, or the compiler refused something; says what it printed.
    """
    compiler = next((found for one in COMPILERS if (found := shutil.which(one))), None)
    if compiler is None:
        raise Error(f"running a program needs a C++ compiler ({', '.join(COMPILERS[:3])}), and there is none on PATH")
    vendor = "CUDA" if program.cuda else "HIP"
    target = folder / program.library
    object_file = folder / "runtime.o"
    flags = ("-std=c++17", "-O1", "-fPIC", "-w")
    _run(compiler, *flags, f"-D{vendor}", f"-I{_headers(program)}", "-c", str(SOURCE), "-o", str(object_file))
    _run(compiler, "-shared", str(object_file), "-o", str(target))
    missing = [name for name in program.functions if name not in _defined(target)]
    stubs, script = folder / "missing.cpp", folder / "versions"
    stubs.write_text("".join(_stubs(missing)))
    script.write_text("".join(f"{version} {{}};\n" for version in program.versions))
    named = [f"-Wl,--version-script={script}"] if program.versions else []
    parts = (str(object_file), str(stubs), f"-Wl,-soname,{program.library}", *named)
    _run(compiler, *flags, "-shared", *parts, "-o", str(target))
    return target


def _stubs(missing: list[str]) -> Iterator[str]:
    yield "#include <cstdio>\n#include <unistd.h>\n"
    for name in missing:
        message = f"mmacalc: the program calls {name}, which is not carried out"
        yield f'extern "C" void {name}() {{ fflush(stdout); fprintf(stderr, "{message}\\n"); _exit(2); }}\n'


def _defined(library: Path) -> set[str]:
    from elftools.elf.elffile import ELFFile

    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        return {symbol.name for symbol in symbols if symbol.entry["st_shndx"] != "SHN_UNDEF"}


def _headers(program: Program) -> Path:
    """The folder with the runtime's headers."""
    if program.cuda:
        compiler, wanted = shutil.which("nvcc"), "cuda_runtime_api.h"
        places = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda", "/usr"]
    else:
        compiler, wanted = shutil.which("hipcc"), "hip/hip_runtime_api.h"
        places = [os.environ.get("ROCM_PATH"), os.environ.get("HIP_PATH"), "/opt/rocm", "/usr"]
    if compiler is not None:
        places.append(str(Path(compiler).resolve().parents[1]))
    for place in places:
        if place and (Path(place) / "include" / wanted).is_file():
            return Path(place) / "include"
    home = "CUDA_HOME" if program.cuda else "ROCM_PATH"
    raise Error(f"there is no {wanted} in {', '.join(dict.fromkeys(filter(None, places)))}; name the installation that "
                f"the program was compiled with by the environment variable {home}")  # fmt: skip


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Error(f"the runtime of programs cannot be compiled: {' '.join(command)}\n{done.stderr.strip()[:2000]}")
