"""Decode machine code of AMD, as llvm-objdump 22 prints it.

    mmacalc disassemble -a gfx942 "00 81 cc d3 10 25 02 04"
    mmacalc disassemble kernel.hsaco
    mmacalc disassemble --matrix kernel.hsaco
    mmacalc disassemble *.hsaco              several; with --json, one line for each

Every instruction is decoded for gfx908, gfx90a, gfx942, gfx950, gfx1100 to gfx1103, gfx1200, gfx1201 and gfx1250; .long
is left for words that compute kernels do not have. For other targets, with --llvm, and with --matrix, only matrix
instructions are decoded, and everything else is written as .long. --all refuses targets whose other instructions are
not known.

An object is printed with its target, the names of kernels and functions, labels where branches lead, and addresses and
words as comments. `lint` and `explain` take that text, and an object directly.

Takes bytes in hexadecimal, in memory order, or 32-bit words: groups with 0x, or several of eight digits, as objdump
prints them. Or a file (- for standard input): such text, a listing of llvm-objdump, raw bytes, or an ELF code object,
by itself or in clang's offload bundle, whose executable sections are decoded (that needs pyelftools). An object names
its target, so -a is needed only where that stands for several GPUs (gfx9-4-generic), and to choose from a bundle
(-a gfx942:xnack+). Assembly is taken too: its matrix instructions are printed as LLVM spells them, the rest as it is.
"""

from __future__ import annotations

from ..base.errors import Error, printable
from ..base.records import Record, TupleRecord, json_keys
from ..catalog import entry
from ..command import Command, Reply, argument, flag, refused, show
from ..command.common import JSON, LLVM, TARGET, WAVE
from ..command.files import exists, expanded, names_file, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..asm.objects import CodeFile, Section
    from ..command import Options


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


@json_keys("[section]", "[offset]: in bytes", "[address]", "[labels]: that stand before it", "text")
class DecodedInstruction(Record):
    """One instruction, with where it is, as far as that is known."""

    text: str
    section: str = ""
    offset: int | None = None
    address: int | None = None
    labels: tuple[str, ...] = ()


@json_keys("architecture: the canonical name", "target: the name that was asked for or found", "instructions")
class Disassembly(Record):
    """Decoded machine code; architecture: the canonical name, target: the name that was asked for or found."""

    architecture: str
    target: str
    sections: tuple[DecodedSection, ...]

    @property
    def instructions(self) -> tuple[DecodedInstruction, ...]:
        """Those of all sections."""
        return tuple([
            DecodedInstruction(line, section.name) if word is None else
            DecodedInstruction(
                line, section.name, 4 * word, None if section.address is None else section.address + 4 * word,
                section.labels.get(word, ()),
            )
            for section in self.sections
            for word, line in section.instructions
        ])  # fmt: skip


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
    from ..asm.disassembler import respelled
    from ..asm.targets import agreed

    arch = agreed(target and target.partition(":")[0], file.targets, name)
    if file.assembly:
        lines = respelled(file.assembly, arch, wave, llvm)
        sections = [DecodedSection("", tuple((None, line) for line in lines))]
    else:
        matrix = None if every is None else not every
        sections = [_section(part, arch, wave, llvm, matrix) for part in file.sections]
    return Disassembly(entry(arch).architecture.name, arch, tuple(sections))


def _section(part: Section, arch: str, wave: int | None, llvm: int | None, matrix: bool | None) -> DecodedSection:
    from ..asm.decoder import labelled
    from ..asm.disassembler import decoded_lines
    from ..asm.tables import COVERED
    from ..asm.targets import own_assembler
    from ..asm.targets import target as compiler_target

    whole = not matrix and llvm is None and own_assembler(arch) is None
    where = compiler_target(arch, wave) if whole else None
    if where is None or part.address is None or where.name not in COVERED:
        return DecodedSection(part.name, tuple(decoded_lines(part.code, arch, wave, llvm, matrix)), part.code)
    start = part.address
    lines = labelled(part.code, where.name, start, part.labels, where.wave)
    labels = {(line.address - start) // 4: line.labels for line in lines if line.labels}
    shown = tuple(((line.address - start) // 4, line.text) for line in lines)
    return DecodedSection(part.name, shown, part.code, start, labels, part.kernels)


def text(answer: Disassembly) -> str:
    """One line per instruction, and a comment before each section of an object; of an object whose whole code is known
    also its target, labels, addresses and words, so that it can be assembled and linted."""
    lines = []
    if any(section.address is not None for section in answer.sections):
        lines.append(f'.amdgcn_target "amdgcn-amd-amdhsa--{answer.target}"')
    for section in answer.sections:
        if section.name:
            lines.append(f"; section {section.name}")
        if section.address is None:
            lines += [printable(line) for _, line in section.instructions]
        else:
            lines += _lines(section)
    return "".join(f"{line}\n" for line in lines)


def _lines(section: DecodedSection) -> Iterator[str]:
    """The labels and instructions of a section, as llvm-objdump shows addresses and words."""
    starts = [word for word, _ in section.instructions if word is not None]
    for (word, line), end in zip(section.instructions, [*starts[1:], len(section.code) // 4]):
        assert word is not None
        assert section.address is not None
        for label in section.labels.get(word, ()):
            if word and label in section.kernels:
                yield ""
            yield f"{printable(label)}:{'  ; kernel' if label in section.kernels else ''}"
        words = [section.code[4 * at : 4 * at + 4][::-1].hex().upper() for at in range(word, end)]
        yield f"\t{printable(line):<59} // {section.address + 4 * word:012X}: {' '.join(words)}"


def object_text(content: bytes, name: str, target: str | None) -> str:
    """The code of an object as text, as `lint` and `explain` take it."""
    from ..asm.objects import read

    return text(disassembly(read(content, name, target), f"'{name}'", target, every=True))


@json_keys("[file]: where there are several", "**disassembly")
class FileDisassembly(Record):
    """The code of one file; file: its name where there are several."""

    disassembly: Disassembly
    file: str | None = None


def file_text(answer: FileDisassembly) -> str:
    """The code of a file, after its name as a comment where there are several."""
    return (f"; file {printable(answer.file)}\n" if answer.file else "") + text(answer.disassembly)


def run(options: Options) -> Iterator[Reply]:
    """The text of the code; of several files one after another, also where one is refused."""
    words = options.code
    named = [names_file(word) for word in words]
    if not any(named) or (len(words) == 1 and words[0] != "-" and "*" not in words[0] and not exists(words[0])):
        from ..asm.objects import read_text

        sentence = f"'{words[0]}' is not a file, hexadecimal text or assembly"
        yield _reply(read_text(" ".join(words), sentence), "the code", None, options)
        return
    if not all(named):
        raise Error(f"'{words[named.index(False)]}' is not a file, but other arguments are: give files, or one text")
    paths = [path for path, _ in expanded(words)]
    several = len(paths) > 1
    from ..asm.objects import read

    for path in paths:
        name = "<stdin>" if path == "-" else path
        try:
            file = read(read_bytes(path), name, options.architecture)
            yield _reply(file, f"'{name}'", name if several else None, options)
        except Error as error:
            if not several:
                raise
            yield refused(options.json, error, name)


def _reply(file: CodeFile, name: str, shown: str | None, options: Options) -> Reply:
    every = True if options.all else False if options.matrix or options.llvm else None
    answer = disassembly(file, name, options.architecture, options.wavefront, options.llvm, every)
    return show(options.json, "disassemble", FileDisassembly(answer, shown), file_text)


COMMAND = Command(
    "disassemble", "decode machine code: hexadecimal, raw bytes, or an ELF code object", "encode", __doc__,
    (
        TARGET, WAVE, LLVM, JSON,
        flag("--all", alone="which", help="decode every instruction, or refuse the target"),
        flag("--matrix", alone="which", help="decode matrix instructions only"),
        argument("code", "hexadecimal or assembly, or files", nargs="+"),
    ),
    run, {"disassemble": file_text},
)  # fmt: skip
