"""The assembler: text in, bytes out, byte for byte LLVM's."""

from __future__ import annotations

import re

from ..base.checks import arguments_checked
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord
from .encoder import NOWHERE, Labels, Relocation, encode, faults, rows_of
from .forms import spellings
from .program import Item, laid_out, wave_named
from .reader import MATRIX, Reader, named_targets
from .tables import COVERED, covered, table
from .targets import agreed, own_assembler, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .rows import Row
    from .targets import Target

__all__ = ["Assembled", "assemble", "assemble_lines", "problems", "statement"]


@arguments_checked
def assemble(
    text: str,
    arch: str | None = None,
    wave: int | None = None,
    llvm: int | None = None,
    relocations: list[Relocation] | None = None,
) -> bytes:
    """The machine code of assembly.

    Takes every instruction of gfx908, gfx90a, gfx942, gfx950, gfx1100 to gfx1103, gfx1200, gfx1201 and gfx1250, but
    those of graphics, as clang -S, Triton and `disassemble` write them, with labels (`1:` and `1b` too), comments,
    macros, repetitions, conditions, `.set` and directives:
    the bytes are those of the executable sections. Of every other target it takes the matrix instructions,
    v_accvgpr_read, v_accvgpr_write and v_accvgpr_mov, the scale loads, and data. Spellings of matrix instructions that
    LLVM knows as aliases are taken. Their bytes are those of LLVM 24 or, on request, of LLVM 22, which differ on
    gfx1250 and gfx1251, and LLVM 22 takes src_pops_exiting_wave_id on CDNA1 to CDNA4; other instructions, LLVM
    24 writes the constant 0 into sources that VOP3 of RDNA3 and newer does not use.
    On Intel's Xe-HP, Xe-HPG and Xe-HPC it takes dpas and dpasw as iga64 does.

    Args:
        text: assembly, one instruction a line.
        arch: an architecture, product or compiler target, such as "gfx942"; may be left out where the text names its
            target (.amdgcn_target).
        wave: 32 or 64 where the architecture has both; if left out what the text's kernels say, or the default.
        llvm: the LLVM version whose encodings and rules are meant, 24 or 22; 24 if left out.
        relocations: a list to which is added what a linker fills in (f@rel32@lo), each with its offset in the code,
            which has 0 there, as LLVM's objects do; if left out, such a text is refused.

    Raises:
        Error: unknown architecture or instruction, or an operand or modifier that it does not take; the message
            names the operand, what it got and what it takes, and the line if there are several.

    >>> assemble("v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1", "gfx942").hex()
    '0081ccd310250204'
    >>> assemble("s_branch end\\n v_add_f32 v2, v1, 0.5\\n end: s_endpgm", "gfx942").hex()
    '020082bf020001d101e10100000081bf'
    >>> assemble("v_mfma_f32_32x32x16_f16 v[0:15], v[17:18], v[20:23], v[0:15]", "gfx950")
    Traceback (most recent call last):
    mmacalc.base.errors.Error: A of v_mfma_f32_32x32x16_f16 takes 4 registers, even-aligned: v[16:19]; got v[17:18]
    """
    lines = assemble_lines(text, arch, wave, llvm)
    at = 0
    for line in lines:
        if line.linked is not None:
            if relocations is None:
                raise Error(f"{line.linked}: that is what a linker fills in; a list given as relocations= takes such")
            relocations.append(line.linked._replace(offset=at + line.linked.offset))
        at += len(line.code)
    return b"".join(line.code for line in lines)


class Assembled(TupleRecord):
    """One assembled statement: the rows that it is of (none of data, two of a pair), its bytes, and whether it is an
    instruction. linked: what a linker fills in, its offset counted from the statement."""

    rows: tuple[Row, ...]
    code: bytes
    instruction: bool = True
    linked: Relocation | None = None

    @property
    def form(self) -> Row | None:
        """The row of a matrix instruction, a scale load or a move of AccVGPRs; None of all others."""
        row = self.rows[0] if len(self.rows) == 1 else None
        return row if row is not None and row.slots and row.slots[0].name else None

    @property
    def values(self) -> dict[str, int]:
        """The value of every field of the encoding."""
        return self.form.format.decode(int.from_bytes(self.code, "little")) if self.form else {}


def assemble_lines(
    text: str, arch: str | None = None, wave: int | None = None, llvm: int | None = None
) -> list[Assembled]:
    """Every statement of a text, assembled: as `assemble`, each with its rows."""
    if arch is not None and _ALONE.fullmatch(text) and own_assembler(arch) is None:
        return [_statement(text.strip(), target(arch, wave, llvm), NOWHERE)]
    arch = agreed(arch, named_targets(text) if arch is None else (), "the text")
    if own := own_assembler(arch):
        statements: list[Assembled] = own.assemble_lines(text, arch, wave, llvm)
        return statements
    where, reader = target(arch, wave or _wave_of(text, arch), llvm), Reader(text, meant=False)
    made: dict[int, Assembled] = {}
    # Symbols have the values that they have where a statement stands.
    values: dict[int, dict[str, int]] = {}

    def items() -> Iterator[Item]:
        for number, (at, line) in enumerate(reader.statements(strict=True)):
            values[number] = dict(reader.symbols) if reader.symbols else {}
            yield Item(number, at, tuple(reader.before), line)
        yield Item(-1, 0, tuple(reader.after), "")

    def encoded(item: Item, address: int, labels: Mapping[str, int | None]) -> bytes:
        made[item.number] = one = _statement(item.text, where, Labels(address, labels, values[item.number]))
        return one.code

    try:
        pieces = laid_out(items(), encoded, reader.symbols)
    except Error as error:
        if "\n" in text.strip():
            raise
        raise Error(str(error).partition(": ")[2]) from None
    if not pieces:
        raise Error("there is nothing to assemble: the text has no instruction")
    return [made[one.number] if one.instruction else Assembled((), one.code, False) for one in pieces]


# One instruction alone: no label, directive, comment or symbol whose place would count.
_ALONE = re.compile(r"[ \t]*[A-Za-z_]\w*(?:[ \t]+[\w \t,\[\]:|().+*-]*)?", re.ASCII)


def _wave_of(text: str, arch: str) -> int | None:
    named = wave_named(text) if ".amdhsa_" in text else None
    return named if named in target(arch).entry.architecture.waves else None


def _statement(text: str, where: Target, labels: Labels) -> Assembled:
    """One instruction at a place of a program."""
    try:
        made = encode(text, where, labels)
    except Error:
        _require(text, where)
        raise
    return Assembled(made.rows, made.code, True, made.linked)


def _require(text: str, where: Target) -> None:
    """Refuse a mnemonic that the target lacks."""
    mnemonic = text.split(None, 1)[0].lower() if text.strip() else ""
    if "::" in text or rows_of(mnemonic, where):
        return
    title = f"{where.entry.architecture.title} ({where.name})"
    if not re.match(r"[a-z_]\w*$", mnemonic):
        raise Error(f"'{text[:60]}' does not begin with an instruction")
    if where.name in COVERED and not mnemonic.startswith((*MATRIX, "v_accvgpr_")):
        known = dict.fromkeys((*table(covered(where.name), where.wave).names(), *spellings(where)))
        raise Error(f"{title} has no instruction '{mnemonic}'.{did_you_mean(mnemonic, tuple(known))}")
    names = {spelling: name for spelling, name in spellings(where).items() if not spelling.endswith("_e64")}
    hint = did_you_mean(mnemonic, names, shown=names)
    raise Error(f"{title} has no matrix instruction '{mnemonic}'.{hint} `mmacalc -a {where.name} -L` lists them all.")


def statement(text: str, where: Target, symbols: Mapping[str, int] = {}) -> Assembled:
    """One statement without labels, assembled.

    Raises:
        Error: as `assemble`.
    """
    return _statement(text, where, Labels(0, {}, symbols) if symbols else NOWHERE)


def problems(text: str, where: Target, symbols: Mapping[str, int]) -> tuple[str, ...]:
    """Everything for which a statement is refused; empty where it is accepted.

    >>> from mmacalc.asm.targets import target
    >>> problems("v_mfma_f32_32x32x8f16 v[1:16], v[20:21], v[22:25], v[3:18]", target("gfx90a"), {})[1]
    'B of v_mfma_f32_32x32x8f16 takes 2 registers, even-aligned: v[22:23]; got v[22:25]'
    """
    try:
        _require(text, where)
        return faults(text, where, symbols)
    except Error as error:
        return (str(error),)
