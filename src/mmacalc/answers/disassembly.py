"""Decoded machine code, section by section."""

from __future__ import annotations

from functools import partial

from ..asm.disassembler import instructions, respelled
from ..asm.tables import COVERED
from ..asm.targets import agreed, own_assembler
from ..asm.targets import target as compiler_target
from ..catalog import entry
from ..records import Record, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..asm.objects import CodeFile

__all__ = ["DecodedSection", "Disassembly", "disassembly"]


class DecodedSection(TupleRecord):
    """The name of an ELF section, empty where there is none, and its instructions: (number of the 32-bit word, None
    where it came as text; the text)."""

    name: str
    instructions: tuple[tuple[int | None, str], ...]


class Disassembly(Record):
    """Decoded machine code; architecture: the canonical name, target: the name that was asked for or found."""

    architecture: str
    target: str
    sections: tuple[DecodedSection, ...]


def disassembly(
    file: CodeFile,
    name: str,
    target: str | None,
    wave: int | None = None,
    llvm: int | None = None,
    every: bool | None = False,
) -> Disassembly:
    """Decode the code of a file: machine code as LLVM prints it, assembly with its matrix instructions respelled.

    Args:
        file: what was read. name: how messages call it. target: the architecture or target; may be left out where the
            file names it. wave: the wave size; the default if left out. llvm: the LLVM version whose encodings the code
            has; those of every known version are taken if left out. every: decode all instructions, not only those
            of matrices; None where the target is one whose other instructions are known.

    Raises:
        Error: the target is unknown, missing, not the file's, or one whose other instructions are not known.
    """
    arch = agreed(target and target.partition(":")[0], file.targets, name)
    if file.assembly:
        lines = respelled(file.assembly, arch, wave, llvm)
        sections = [DecodedSection("", tuple((None, line) for line in lines))]
    else:
        if every is None:
            every = own_assembler(arch) is None and compiler_target(arch, wave, llvm).name in COVERED
        decoded = _all_of(arch, wave) if every else partial(instructions, arch=arch, wave=wave, llvm=llvm)
        sections = [DecodedSection(part.name, tuple(decoded(part.code))) for part in file.sections]
    return Disassembly(entry(arch).architecture.name, arch, tuple(sections))


def _all_of(arch: str, wave: int | None) -> Callable[[bytes], list[tuple[int, str]]]:
    """The decoder of whole code for an architecture."""
    from ..asm.decoder import listing

    where = compiler_target(arch, wave)
    return partial(listing, target=where.name, wave=where.wave)
