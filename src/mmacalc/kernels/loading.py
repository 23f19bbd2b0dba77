"""`load`: the kernels of a code object of AMD, or of PTX: a text, a file, a fatbin, a compiler's cache folder."""

from __future__ import annotations

import os
from types import MappingProxyType

from ..asm import code_objects
from ..base.checks import arguments_checked, shown
from ..base.errors import Error
from ..base.files import file_name, reason
from .ptx.kernel import PtxKernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

__all__ = ["load"]

_CUDA_MACHINE = 190  # EM_CUDA, e_machine of a cubin
_FATBIN = (0xBA55ED50).to_bytes(4, "little")  # of each container in nvcc's fatbins and host objects
_DEEPEST = 3
"""Levels of folders that are searched for .ptx: Triton's cache has one, a keep folder none."""


class Kernels(code_objects.Kernels):
    """PTX kernels by name."""


@arguments_checked
def load(path: str | PathLike[str], arch: str | None = None) -> Mapping[str, code_objects.Kernel | PtxKernel]:
    """The kernels of a compiled file by name, with all that it takes to run them.

    The `__device__` variables of AMD's code objects keep their values from launch to launch, as in a module on a GPU;
    another `load` has them as they were at first. Those of PTX begin anew with every launch.

    Args:
        path: for AMD GPUs a linked code object (.hsaco, .co), by itself or in clang's offload bundle. For NVIDIA GPUs
            PTX: a .ptx file, the text itself, a fatbin or an object of nvcc that carries PTX, or a folder with .ptx
            files in it (nvcc -keep, Triton's cache).
        arch: which object of a bundle, fatbin or folder, such as "gfx942" or "sm_90a"; may be left out if there is one.

    Returns:
        By name `mmacalc.Kernel` (AMD) or `mmacalc.kernels.PtxKernel`, which `mmacalc.launch` runs.

    Raises:
        Error: no such file; neither a linked code object nor PTX; no kernel in it; a relocation that needs another
            object; a cubin without PTX; pyelftools is missing. Asking the result for a kernel that it lacks raises
            too.

    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 p) { ret; }"
    >>> load(text)["k"]
    <PtxKernel k for sm_80: 1 parameter>
    >>> load("kernel.hsaco")
    Traceback (most recent call last):
    mmacalc.base.errors.Error: cannot read 'kernel.hsaco': No such file or directory
    """
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str):
        raise Error(f"path = {shown(path)} should be the path of a code object or of PTX, such as 'kernel.hsaco'")
    if ".target" in name and ".version" in name:
        return _kernels([("the text", name)], "the text", arch)
    content = None
    try:
        at = file_name(name)
        if not os.path.isdir(at):
            with open(at, "rb") as file:
                content = file.read()
    except (OSError, ValueError) as problem:
        raise Error(f"cannot read '{name}': {reason(problem)}", kind="file", file=name) from None
    if content is None:
        return _kernels(list(_of_folder(name)), name, arch)
    texts = _ptx_in(content, name)
    return code_objects.load(path, arch) if texts is None else _kernels(texts, name, arch)


def _ptx_in(content: bytes, name: str) -> list[tuple[str, str]] | None:
    """The PTX in a file's bytes; None for what is an object of AMD, or nothing known."""
    if _FATBIN in content:
        from ..ptx.fatbins import ptx_texts

        return [(name, text) for text in ptx_texts(content, name)]
    if content[:4] == b"\x7fELF" and int.from_bytes(content[18:20], "little") == _CUDA_MACHINE:
        raise Error(
            f"'{name}' is a cubin: machine code without PTX, which cannot be run. Give the PTX (nvcc -ptx, nvcc -keep, "
            "Triton's cache folder) or a fatbin that carries it (nvcc -fatbin -gencode arch=compute_90,code=compute_90)"
        )
    if name.lower().endswith((".cu", ".cuh")):
        raise Error(
            f"'{name}' is a source: compile it to PTX first, with nvcc -ptx -arch=sm_90a {name} (-lineinfo names its "
            "lines)"
        )
    head = content[:4096]
    if name.lower().endswith(".ptx") or (b".version" in head and b".target" in head and b"\0" not in head):
        return [(name, _text(content, name))]
    return None


def _text(content: bytes, name: str) -> str:
    try:
        return content.rstrip(b"\0\n").decode("utf-8") + "\n"
    except UnicodeDecodeError:
        raise Error(f"'{name}' is not a text of PTX: it has bytes that are not UTF-8") from None


def _of_folder(folder: str) -> Iterator[tuple[str, str]]:
    found = False
    for place, folders, files in os.walk(folder):
        if os.path.relpath(place, folder).count(os.sep) >= _DEEPEST - 1:
            folders.clear()
        folders.sort()
        for file in sorted(files):
            if file.endswith(".ptx"):
                found = True
                path = os.path.join(place, file)
                try:
                    with open(path, "rb") as opened:
                        yield path, _text(opened.read(), path)
                except OSError as problem:
                    raise Error(f"cannot read '{path}': {reason(problem)}", kind="file", file=path) from None
    if not found:
        raise Error(f"'{folder}' has no .ptx file; nvcc -keep and Triton's cache leave one beside the cubin")


def _kernels(texts: list[tuple[str, str]], name: str, arch: str | None) -> Mapping[str, PtxKernel]:
    from ..ptx.reader import read

    found, files = Kernels(), dict[str, str]()
    targets: list[str] = []
    for file, text in texts:
        try:
            module = read(text)
        except Error as error:
            raise Error(f"'{file}': {error}" if file != "the text" else str(error)) from None
        targets.append(module.target)
        if arch is not None and module.target != arch:
            continue
        for entry in module.entries:
            if entry.name in found:
                raise Error(
                    f"'{name}' has the kernel {entry.name} twice, in '{files[entry.name]}' for "
                    f"{found[entry.name].target} and in '{file}' for {module.target}; name one by arch, or give "
                    "its file"
                )
            found[entry.name], files[entry.name] = PtxKernel(module, entry.name), file  # type: ignore[assignment]
    if arch is not None and arch not in targets:
        raise Error(f"'{name}' has PTX for {', '.join(dict.fromkeys(targets))}; got arch = {arch!r}")
    if not found:
        raise Error(f"'{name}' has no kernel: its PTX has no .entry", kind="unknown name")
    return MappingProxyType(found)  # type: ignore[arg-type]
