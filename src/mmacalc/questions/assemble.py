"""Encode AMD's instructions as machine code, byte for byte as LLVM 24 or 22 does.

    mmacalc assemble -a gfx942 "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1" --fields

    mmacalc assemble kernel.s                a compiler's text, which names its target (.amdgcn_target)
    mmacalc assemble *.s                     several; with --json, one line for each

Every instruction is taken, but those of graphics, for gfx908, gfx90a, gfx942, gfx950, gfx1100 to gfx1103, gfx1200,
gfx1201 and gfx1250; for other targets matrix instructions. Prints one line of bytes per instruction, in memory order.
With --fields, the encoding of a matrix instruction is drawn with every field, its bits (numbered as in the ISA guides)
and its meaning. The text may have labels, comments, .set, data and the directives that clang -S and Triton write; what
is printed is the code. It is the argument itself, or in files, folders or patterns (- for standard input).
"""

from __future__ import annotations

from ..base.errors import Error, printable
from ..base.records import Record, json_keys
from ..catalog import entry
from ..command import Command, Reply, argument, flag, show
from ..command.common import JSON, LLVM, TARGET, WAVE
from ..command.files import each_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NoReturn

    from ..asm.encoder import Relocation
    from ..asm.fields import Encoding, Field
    from ..asm.rows import Row
    from ..command import Options
    from ..command.files import GivenText


@json_keys("field=name", "bits", "value", "meaning")
class EncodedField(Record):
    """One field of an encoded instruction: its bits as the ISA guides number them, its value, and what that means."""

    name: str
    bits: str
    value: int
    meaning: str


@json_keys(
    "text",
    "bytes=hexadecimal: in memory order",
    "size: in bytes",
    "[encoding]=encoding.name: with --fields",
    "[fields]: with --fields",
    "[relocation]=linked: what a linker fills in; the offset is counted from the statement",
)
class Statement(Record):
    """One statement of a text.

    Attributes:
        target, wave: what it was assembled for. code: its bytes in memory order.
        encoding: how its bits are divided; None for data (.long), and where the fields were not asked for.
        fields: of the encoding, the lowest bits first.
        linked: what a linker fills in, where the code has 0.
    """

    target: str
    wave: int | None
    code: bytes
    encoding: Encoding | None = None
    fields: tuple[EncodedField, ...] = ()
    linked: Relocation | None = None

    @property
    def text(self) -> str:
        """The statement as LLVM disassembles it."""
        from ..asm.disassembler import disassemble

        return disassemble(self.code, self.target, self.wave)

    @property
    def hexadecimal(self) -> str:
        """The bytes."""
        return self.code.hex()

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.code)


@json_keys("architecture", "target", "llvm: the version whose encodings these are", "instructions=statements")
class Assembly(Record):
    """The statements of a text; architecture: the canonical name, target: the name that was asked for; llvm: the
    version of LLVM whose encodings these are, None where they are iga64's."""

    architecture: str
    target: str
    statements: tuple[Statement, ...]
    llvm: int | None


def assembly(
    text: str, arch: str | None, wave: int | None = None, *, llvm: int | None = None, fields: bool = False
) -> Assembly:
    """Assemble a text, as LLVM does.

    Args:
        text: lines of assembly. arch: the architecture or target; None where the text names it.
        wave: the wave size; the default if left out.
        llvm: the LLVM version whose encodings and rules are meant; the newest if left out.
        fields: whether to explain the fields of every encoding.

    Raises:
        Error: a line is wrong; says where and what would be right.

    >>> found = assembly("v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]", "gfx942", fields=True)
    >>> found.statements[0].code.hex(), found.statements[0].fields[0].meaning
    ('0080ccd310250204', 'D: the first register; D = a[0:15]')
    """
    from ..asm.assembler import assemble_lines
    from ..asm.reader import named_targets
    from ..asm.targets import agreed, own_assembler, target

    arch = agreed(arch, named_targets(text) if arch is None else (), "the text")
    lines = assemble_lines(text, arch, wave, llvm)
    statements = []
    for line in lines:
        encoding, meanings = (
            _explained(line.form, int.from_bytes(line.code, "little")) if fields and line.form else (None, ())
        )
        statements.append(Statement(arch, wave, line.code, encoding, meanings, line.linked))
    version = None if own_assembler(arch) else target(arch, wave, llvm).llvm
    return Assembly(entry(arch).architecture.name, arch, tuple(statements), version)


def _explained(row: Row, word: int) -> tuple[Encoding, tuple[EncodedField, ...]]:
    encoding = row.format
    found = sorted(encoding.fields.values(), key=lambda field: min(low for _, low in field.pieces))
    return encoding, tuple(
        EncodedField(field.name, field.bits, field.gather(word), meaning(row, field, word)) for field in found
    )


def meaning(row: Row, field: Field, word: int) -> str:
    """What the value of a field means in an instruction of these bits."""
    from ..asm.decoded_text import printed_modifier

    notes, value = [], field.gather(word)
    if field.name in ("OP", "SCALE_OP"):
        notes.append(f"{value:#x}: {row.name}" if field.name == "OP" else f"{value:#x}")
    notes += [f"{slot.name} = {slot.text(word)}" for slot in row.slots if slot.field == field]
    for modifier in row.modifiers:
        if modifier.field == field:
            shown = printed_modifier(modifier.name, value, row, {}) if modifier.takes(value) else ""
            notes.append(shown or f"{modifier.name} at its default")
    said = row.meanings.get(field.name, field.meaning)
    return f"{said}; {', '.join(notes)}" if notes else said


def text(answer: Assembly) -> str:
    """A line of bytes for each statement; with its fields also the figure of its encoding."""
    explained = any(statement.encoding for statement in answer.statements)
    lines = (f"{one.code.hex(' ')}{f'  {one.linked}' if one.linked else ''}\n{_figure(one)}"
             for one in answer.statements)  # fmt: skip
    return ("\n" if explained else "").join(lines)


@json_keys("[file]: where there are several", "**assembly")
class FileAssembly(Record):
    """The statements of one file; file: its name where there are several."""

    assembly: Assembly
    file: str | None = None


def file_text(answer: FileAssembly) -> str:
    """The statements of a file, after its name where there are several."""
    heading = f"{printable(answer.file)}:\n" if answer.file else ""
    return heading + text(answer.assembly) + ("\n" if answer.file else "")


def _figure(statement: Statement) -> str:
    """The words of an instruction, a frame of three lines each, and the list of its fields; nothing for data."""
    if statement.encoding is None:
        return ""
    encoding: Encoding = statement.encoding
    word = int.from_bytes(statement.code, "little")
    lines = [f"{encoding.name}, {encoding.size} bytes ({encoding.source})"]
    for first in range(0, 8 * encoding.size, 32):
        lines += word_frame(encoding.fields.values(), word, first)
    rows = [(field.name, f"[{field.bits}]", str(field.value), field.meaning) for field in statement.fields]
    names, places, values = (max(len(row[column]) for row in rows) for column in range(3))
    lines.append("")
    for name, bits, value, meaning in rows:
        lines.append(f"{name:{names}}  {bits:{places}}  {value:<{values}}  {meaning}")
    return "\n".join(lines) + "\n"


def word_frame(fields: Iterable[Field], word: int, first: int) -> Iterator[str]:
    """One 32-bit word: bit numbers, bits, and the name of each run of bits that belong to one field."""
    wide = 4 if first + 31 > 99 else 3
    runs = sorted(((high, low, field.name) for field in fields for high, low in field.pieces), reverse=True)
    cells = []
    for high, low, name in runs:
        if first <= low < first + 32:
            numbers = "".join(f"{bit:{wide}}" for bit in range(high, low - 1, -1))
            bits = "".join(f"{word >> bit & 1:{wide}}" for bit in range(high, low - 1, -1))
            # The frame shows that it is the scales' word, so the names need no prefix.
            cells.append((numbers, bits, " " + name.removeprefix("SCALE_")))
    widths = [max(len(numbers), len(name)) + 1 for numbers, _, name in cells]
    rule = "+" + "+".join("-" * width for width in widths) + "+"
    yield rule
    for row in range(3):
        yield "|" + "|".join(cell[row].ljust(width) for cell, width in zip(cells, widths)) + "|"
    yield rule


def run(options: Options) -> Iterator[Reply]:
    """The bytes of every statement; of several files one after another, also where one is refused."""
    return each_text(options, _reply, _object_refused)


def _reply(given: GivenText, options: Options) -> Reply:
    answer = assembly(given.text, options.architecture, options.wavefront, llvm=options.llvm, fields=options.fields)
    shown = FileAssembly(answer, given.name if given.several else None)
    return show(options.json, "assemble", shown, file_text)


def _object_refused(content: bytes, name: str, target: str | None) -> NoReturn:
    raise Error(f"'{name}' is an object, and assembled already: `mmacalc disassemble` prints its code")


COMMAND = Command(
    "assemble", "encode instructions and listings; --fields draws the encoding with every field", "encode", __doc__,
    (
        TARGET, WAVE, LLVM, JSON,
        argument("text", "one or more lines; or files, - for standard input", nargs="+"),
        flag("--fields", help="draw the encoding with every field"),
    ),
    run, {"assemble": file_text},
)  # fmt: skip
