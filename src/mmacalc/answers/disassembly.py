"""Decoded machine code, section by section."""

from __future__ import annotations

from ..asm.decoder import labelled
from ..asm.disassembler import decoded_lines, respelled
from ..asm.tables import COVERED
from ..asm.targets import agreed, own_assembler
from ..asm.targets import target as compiler_target
from ..catalog import entry
from ..records import Record, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asm.objects import CodeFile, Section

__all__ = ["DecodedSection", "Disassembly", "disassembly"]


class DecodedSection(TupleRecord):
    """The name of an ELF section, empty where there is none, and its instructions: (number of the 32-bit word, None
    where it came as text; the text). Of an object whose whole code is decoded, address is that of its first byte,
    labels are by the number of the word that they stand before, and kernels are those that begin a kernel."""

    name: str
    instructions: tuple[tuple[int | None, str], ...]
    code: bytes = b""
    address: int | None = None
    labels: dict[int, tuple[str, ...]] = {}
    kernels: frozenset[str] = frozenset()


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
        matrix = None if every is None else not every
        sections = [_section(part, arch, wave, llvm, matrix) for part in file.sections]
    return Disassembly(entry(arch).architecture.name, arch, tuple(sections))


def _section(part: Section, arch: str, wave: int | None, llvm: int | None, matrix: bool | None) -> DecodedSection:
    whole = not matrix and llvm is None and own_assembler(arch) is None
    where = compiler_target(arch, wave) if whole else None
    if where is None or part.address is None or where.name not in COVERED:
        return DecodedSection(part.name, tuple(decoded_lines(part.code, arch, wave, llvm, matrix)), part.code)
    start = part.address
    lines = labelled(part.code, where.name, start, part.labels, where.wave)
    labels = {(line.address - start) // 4: line.labels for line in lines if line.labels}
    shown = tuple(((line.address - start) // 4, line.text) for line in lines)
    return DecodedSection(part.name, shown, part.code, start, labels, part.kernels)
