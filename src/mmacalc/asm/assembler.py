"""The assembler: text in, bytes out, byte for byte LLVM's."""

from __future__ import annotations

import re

from ..base.checks import arguments_checked
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord
from .encoder import Labels, Relocation, encode, knows
from .forms import InstructionForm, form_of, spellings
from .program import Item, laid_out, wave_named
from .reader import MATRIX, Reader, named_targets
from .registers import RegisterRange
from .tables import COVERED, covered, table
from .targets import agreed, own_assembler, target
from .tokens import TokenStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from .modifiers import Modifier
    from .operands import Constant, Symbol

    AnyOperand: TypeAlias = RegisterRange | Constant | Symbol
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
    """One assembled statement: its form (None of data and of other than matrix instructions), its bytes, and whether it
    is an instruction. linked: what a linker fills in, its offset counted from the statement."""

    form: InstructionForm | None
    code: bytes
    instruction: bool = True
    linked: Relocation | None = None

    @property
    def values(self) -> dict[str, int]:
        """The value of every field of the encoding."""
        return self.form.encoding.decode(int.from_bytes(self.code, "little")) if self.form else {}


def assemble_lines(
    text: str, arch: str | None = None, wave: int | None = None, llvm: int | None = None
) -> list[Assembled]:
    """Every statement of a text, assembled: as `assemble`, each with its form."""
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
    return [made[one.number] if one.instruction else Assembled(None, one.code, False) for one in pieces]


def _wave_of(text: str, arch: str) -> int | None:
    named = wave_named(text) if ".amdhsa_" in text else None
    return named if named in target(arch).entry.architecture.waves else None


def _statement(text: str, where: Target, labels: Labels) -> Assembled:
    """One instruction at a place of a program."""
    mnemonic = text.split(None, 1)[0].lower()
    own = form_of(mnemonic, where) is not None or mnemonic.startswith((*MATRIX, "v_accvgpr_"))
    if own or where.name not in COVERED:
        return statement(TokenStream(text, labels.symbols), where)
    name = covered(where.name)
    if "::" not in text and not knows(mnemonic, name, where.wave):
        raise Error(_unknown(mnemonic, where, text))
    made = encode(text, name, where.wave, labels, where.llvm)
    return Assembled(None, made.code, True, made.linked)


def _unknown(mnemonic: str, where: Target, text: str) -> str:
    title = f"{where.entry.architecture.title} ({where.name})"
    if not re.match(r"[a-z_]\w*$", mnemonic):
        return f"'{text[:60]}' does not begin with an instruction"
    known = (*table(covered(where.name), where.wave).names(), *spellings(where))
    return f"{title} has no instruction '{mnemonic}'.{did_you_mean(mnemonic, known)}"


def statement(line: TokenStream, where: Target) -> Assembled:
    """One statement, assembled.

    Raises:
        Error: as `assemble`.
    """
    made, faults = _assembled(line, where)
    if faults:
        raise Error(faults[0])
    return made


def problems(text: str, where: Target, symbols: Mapping[str, int]) -> tuple[str, ...]:
    """Everything for which a statement is refused; empty where it is accepted.

    >>> from mmacalc.asm.targets import target
    >>> problems("v_mfma_f32_32x32x8f16 v[1:16], v[20:21], v[22:25], v[3:18]", target("gfx90a"), {})[1]
    'B of v_mfma_f32_32x32x8f16 takes 2 registers, even-aligned: v[22:23]; got v[22:25]'
    """
    try:
        return tuple(_assembled(TokenStream(text, symbols), where)[1])
    except Error as error:
        return (str(error),)


def _assembled(line: TokenStream, where: Target) -> tuple[Assembled, list[str]]:
    """A statement and what is wrong with its operands; without code where anything is.

    Raises:
        Error: it cannot be read as far as its operands.
    """
    mnemonic = line.word()
    form = _find(mnemonic, where, line.text)
    operands = _operands(line, form)
    chosen = _modifiers(line, form)
    values = dict(form.fixed)
    for modifier in form.modifiers:
        values[modifier.field] = chosen.get(modifier.name, modifier.default)
    faults = list(_encode_operands(form, operands, values, where))
    if not faults and form.instruction and (why := where.generation.refused(form.instruction, values)):
        faults.append(f"{form.name}: {why}")
    if faults:
        return Assembled(form, b""), faults
    word = form.encoding.encode(values)
    return Assembled(form, word.to_bytes(form.encoding.size, "little")), faults


def _encode_operands(
    form: InstructionForm, operands: list[AnyOperand], values: dict[str, int], where: Target
) -> Iterator[str]:
    """Enter the operands into the values of the fields; what is wrong with them."""
    banks: dict[str, set[str]] = {}
    for slot, operand in zip(form.slots, operands):
        try:
            _check_count(form, slot.name, operand, values)
            code, bank = slot.encode(operand, slot.count(values), form.name)
        except Error as error:
            yield f"{error}{_other_wave(form, slot.name, operand, where)}"
            continue
        values[slot.field] = code
        if slot.bank:
            field, bit = slot.bank
            values[field] = values.get(field, 0) | bank << bit
            if isinstance(operand, RegisterRange):
                banks.setdefault(field, set()).add(operand.file)
    yield from _faults_together(form, dict(zip((slot.name for slot in form.slots), operands)), banks)


def _find(mnemonic: str, where: Target, text: str) -> InstructionForm:
    form = form_of(mnemonic, where)
    if form is not None:
        return form
    title = f"{where.entry.architecture.title} ({where.name})"
    if not mnemonic:
        raise Error(f"'{text[:60]}' does not begin with an instruction")
    known = {spelling: name for spelling, name in spellings(where).items() if not spelling.endswith("_e64")}
    hint = did_you_mean(mnemonic, known, shown=known)
    raise Error(f"{title} has no matrix instruction '{mnemonic}'.{hint} `mmacalc -a {where.name} -L` lists them all.")


def _operands(line: TokenStream, form: InstructionForm) -> list[AnyOperand]:
    operands: list[AnyOperand] = []
    titles = ", ".join(slot.name for slot in form.slots)
    for slot in form.slots:
        if operands:
            line.take(",")
        if line.peek()[0] == "end":
            raise Error(f"{form.name} takes {len(form.slots)} operands ({titles}); {slot.name} is missing")
        operands.append(line.operand(f"{slot.title} of {form.name}"))
    return operands


def _modifiers(line: TokenStream, form: InstructionForm) -> dict[str, int]:
    chosen: dict[str, int] = {}
    left = list(form.modifiers)
    names = [modifier.name for modifier in form.modifiers]
    while True:
        line.take(",")
        kind, text = line.peek()
        if kind == "end":
            return chosen
        negated = text[:2] == "no" and any(one.kind == "flag" and one.name == text[2:] for one in form.modifiers)
        text = text[2:] if negated else text  # LLVM takes noclamp for what is not clamped
        if text not in names:
            has = f"its modifiers are {', '.join(names)}" if names else "it has no modifiers"
            what = f"no modifier '{text}'" if kind == "word" else f"nothing that '{text}' could be after its operands"
            raise Error(f"{form.name} has {what}; {has}")
        if text in chosen:
            raise Error(f"{text} of {form.name} is written twice")
        line.word()
        modifier = next(one for one in form.modifiers if one.name == text)
        if modifier not in left:
            raise Error(f"{text} of {form.name} is out of order; its modifiers are written {', '.join(names)}")
        left = left[left.index(modifier) + 1 :]
        chosen[text] = 0 if negated else modifier.checked(_value(line, modifier, form), form.name)


def _value(line: TokenStream, modifier: Modifier, form: InstructionForm) -> int:
    if modifier.kind == "flag":
        return 1
    where = f"{modifier.name} of {form.name}"
    line.expect(":", where)
    if modifier.kind == "bits":
        return _bits(line, where)
    if modifier.kind == "choice" and line.peek()[0] == "word":
        word = line.word()
        if word not in modifier.names:
            raise Error(f"{where} is one of {', '.join(modifier.names)}; got {word}")
        return modifier.names.index(word)
    return line.integer(where)


def _bits(line: TokenStream, where: str) -> int:
    line.expect("[", where)
    value = count = 0
    while True:
        bit = line.integer(where)
        if bit not in (0, 1):
            raise Error(f"{where} is a list of 0 and 1, such as [1,0,0]; got {bit}")
        value |= bit << count
        count += 1
        if not line.take(",") or count == 4:
            line.expect("]", where)
            return value


def _other_wave(form: InstructionForm, name: str, operand: AnyOperand, where: Target) -> str:
    """What to add to a message when the operand has the size that the other wave size needs."""
    if not isinstance(operand, RegisterRange):
        return ""
    for wave in where.entry.architecture.waves:
        other = form_of(form.name, where._replace(wave=wave)) if wave != where.wave else None
        slot = other.slot(name) if other else None
        if slot and slot.registers == operand.count != form.slot(name).registers:  # type: ignore[union-attr]
            return f". That is wave{where.wave}; in wave{wave} (-w {wave}, wave={wave}) it takes {slot.registers}"
    return ""


def _check_count(form: InstructionForm, name: str, operand: AnyOperand, values: Mapping[str, int]) -> None:
    """Refuse a wrong count of an operand whose count a field chooses, and name that field."""
    slot = form.slot(name)
    if slot is None or isinstance(slot.registers, int) or not isinstance(operand, RegisterRange):
        return
    field, needed = slot.registers[0], slot.count(values)
    if operand.file in slot.files and operand.count != needed:
        modifier = next(one for one in form.modifiers if one.field == field)
        chosen = (modifier.text(values[field]) or "").strip() or f"{modifier.name}:{values[field]}"
        example = RegisterRange(operand.file, min(operand.first & ~1, 256 - needed), needed)
        raise Error(f"{name} of {form.name} takes {needed} registers under {chosen}: {example}; got {operand}")


def _faults_together(
    form: InstructionForm, operands: Mapping[str, AnyOperand], banks: Mapping[str, set[str]]
) -> Iterator[str]:
    """LLVM's conditions on several operands: C and D in one file, no partial overlap; few scalar registers."""
    d, c = operands.get("D"), operands.get("C")
    if len(banks.get("ACC_CD", ())) > 1:
        yield f"C and D of {form.name} are both VGPRs or both AccVGPRs; got D {d} and C {c}"
    overlaps = isinstance(c, RegisterRange) and isinstance(d, RegisterRange) and 0 < abs(c.first - d.first) < d.count
    if form.overlap_checked and overlaps:
        yield f"C of {form.name} is D itself or shares no register with it; got D {d} and C {c}"
    if form.scalar_limit is not None:
        words = {word for slot in form.slots for word in slot.specials}
        scalars = words & {str(one) for one in operands.values()}
        if len(scalars) > form.scalar_limit:
            yield f"{form.name} reads at most {form.scalar_limit} scalar register; got {' and '.join(sorted(scalars))}"
