"""Every instruction of a target from text to bytes: the rows that the decoder reads, read the other way.

A row's operands have the same tables of codes that the decoder reads, and its modifiers the same texts that the printer
writes, turned round: what is printed is taken, and what LLVM also takes where clang, Triton or people write it (numbers
for names, `v0` for `v0.l`, mnemonics without _e32 or _e64, no commas). Anything else is refused by name.

Of the encodings of one mnemonic the first that takes the operands is meant, as LLVM has them: _e32, _e64, SDWA, DPP.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..base.errors import Error, plural
from ..base.records import TupleRecord
from .decoded import RegisterOperand
from .decoded_text import printed_modifier
from .forms import form_of
from .generations import missing_registers
from .operand_codes import CONSTANTS, ZERO, register_text
from .registers import RegisterRange
from .tables import COVERED, covered, table
from .tokens import integer, pieces
from .written import (
    HARDWARE,
    LONG_NAMES,
    Labels,
    UnfitError,
    modifiers_code,
    number_code,
    operand_code,
    own_literal,
    register,
    unsigned,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .rows import Row, Slot
    from .tables import Table
    from .targets import Target
    from .written import Register

__all__ = ["NOWHERE", "Encoded", "Labels", "Relocation", "encode", "faults", "rows_of"]

NOWHERE = Labels(0, {}, {})


class Relocation(TupleRecord):
    """What a linker fills in: where in the code, in bytes; LLVM's name of how (R_AMDGPU_...), the symbol, what is added
    to its value."""

    offset: int
    kind: str
    symbol: str
    addend: int

    def __str__(self) -> str:
        return f"{self.kind} {self.symbol}{f'{self.addend:+d}' if self.addend else ''}"


# What follows @ in assembly, with the relocation's kind (LLVM, AMDGPUUsage, "Relocation Records").
_KINDS = {
    "abs32@lo": "ABS32_LO", "abs32@hi": "ABS32_HI", "abs64": "ABS64", "rel32@lo": "REL32_LO", "rel32@hi": "REL32_HI",
    "rel64": "REL64", "gotpcrel": "GOTPCREL", "gotpcrel32@lo": "GOTPCREL32_LO", "gotpcrel32@hi": "GOTPCREL32_HI",
}  # fmt: skip
_LINKED = re.compile(r"([A-Za-z_.$][\w.$]*)@([a-z]+\d*(?:@(?:lo|hi))?)((?:\s*[+-]\s*\w+)*)", re.ASCII)
_PLACEHOLDER = 0x5EA71DE5  # no inline constant


class Encoded(TupleRecord):
    """The bytes of an instruction, and the rows that they are of: two of a pair. linked: what a linker fills in."""

    code: bytes
    rows: tuple[Row, ...]
    linked: Relocation | None = None


def encode(text: str, where: Target, labels: Labels = NOWHERE) -> Encoded:
    """One instruction, encoded.

    Args:
        text: the statement, without labels or comments. where: the target, and the LLVM version whose encoding it is.

    Raises:
        Error: the target lacks it, or does not take these operands or modifiers.

    >>> from mmacalc.asm.targets import target as target_of
    >>> encode("v_add_f32_e32 v2, v1, v1", target_of("gfx942")).code.hex()
    '01030402'
    """
    if "@" in text and (symbol := _LINKED.search(text)):
        return _linked(text, symbol, where, labels)
    if "::" in text:
        return _pair(text, table(covered(where.name), where.wave), labels)
    found, wrong = _first(text, where, labels)
    if found is None:
        raise Error(wrong[0])
    return found


def faults(text: str, where: Target, symbols: Mapping[str, int]) -> tuple[str, ...]:
    """Everything for which a statement is refused; empty where it is accepted.

    Raises:
        Error: it cannot be read as far as its operands.

    >>> from mmacalc.asm.targets import target as target_of
    >>> faults("v_mfma_f32_32x32x8f16 v[1:16], v[20:21], v[22:25], v[3:18]", target_of("gfx90a"), {})[1]
    'B of v_mfma_f32_32x32x8f16 takes 2 registers, even-aligned: v[22:23]; got v[22:25]'
    """
    return tuple(_first(text, where, Labels(0, {}, symbols))[1])


def _first(text: str, where: Target, labels: Labels) -> tuple[Encoded | None, list[str]]:
    """The statement by the first of its mnemonic's rows that takes it; else what is wrong by the row that fits best."""
    statement = Statement(text)
    rows = rows_of(statement.mnemonic, where)
    if not rows:
        raise Error(f"{where.name} has no instruction '{statement.mnemonic}'", kind="unknown name")
    best: _Reading | None = None
    for row in rows:
        read = _Reading(row, statement, labels, where)
        if not read.wrong:
            bits = read.bits | row.written_too | (_unused(row) if where.llvm > _ZEROS else 0)
            return Encoded(bits.to_bytes(row.size, "little") + read.literal, (row,)), []
        if best is None or (read.counted, read.fits) > (best.counted, best.fits):
            best = read
    assert best is not None
    return None, best.wrong


def rows_of(mnemonic: str, where: Target) -> tuple[Row, ...]:
    """The rows that a mnemonic may mean, with or without the suffix of an encoding, the first choice first."""
    matrix = form_of(mnemonic, where)
    if matrix is not None:
        return (matrix,)
    return _rows(table(covered(where.name), where.wave), mnemonic) if where.name in COVERED else ()


def _linked(text: str, symbol: re.Match[str], where: Target, labels: Labels) -> Encoded:
    """An instruction with a literal that a linker fills in, which is 0 so far."""
    kind = _KINDS.get(symbol[2])
    if kind is None:
        raise Error(f"{symbol[1]}@{symbol[2]} is unknown; what a linker fills in is {', '.join(_KINDS)}")
    wide = kind.endswith("64")
    placeholder = hex(_PLACEHOLDER << 32 | _PLACEHOLDER if wide else _PLACEHOLDER)
    try:
        found = encode(text[: symbol.start()] + placeholder + text[symbol.end() :], where, labels)
    except Error as error:
        raise Error(str(error).replace(placeholder, symbol[0])) from None
    literal = _PLACEHOLDER.to_bytes(4, "little") * (1 + wide)
    if found.code.count(literal) != 1:
        raise Error(f"{symbol[0]}: the instruction has no literal of {32 + 32 * wide} bits for a linker to fill in")
    offset = found.code.index(literal)
    addend = integer(f"0{symbol[3]}", labels.symbols)
    return Encoded(
        found.code.replace(literal, bytes(len(literal))),
        found.rows,
        Relocation(offset, f"R_AMDGPU_{kind}", symbol[1], addend),
    )


_ZEROS = 22  # the last LLVM version that writes 0 into sources which an instruction lacks


@lru_cache(maxsize=32768)
def _unused(row: Row) -> int:
    """What LLVM 24 writes into the source fields of VOP3 and VOP3P that an instruction of RDNA3 and newer lacks: the
    constant 0. Seen in Triton 3.9's code objects of gfx1100, gfx1201 and gfx1250; with DPP the fields are 0."""
    if row.encoding not in ("vop3", "vop3p") or row.family not in ("rdna3", "rdna4", "cdna5"):
        return 0
    used = {slot.field.name for slot in row.slots if slot.field}
    fields = [field for name, field in row.format.fields.items() if name in ("SRC1", "SRC2") and name not in used]
    return sum(field.spread(ZERO) for field in fields if not field.mask & row.mask)


_ORDER = {"": 0, "_e32": 0, "_e64": 1, "_sdwa": 2, "_dpp": 3, "_e64_dpp": 4}


@lru_cache(maxsize=32)
def _aliases(target: str) -> dict[str, str]:
    """Older spellings of a target's mnemonics, which LLVM takes."""
    found: dict[str, str] = {}
    for line in Path(__file__).with_name("mnemonic_aliases.txt").read_text().splitlines():
        targets, _, pairs = line.partition("|")
        if target in targets.split():
            found.update(tuple(pair.split("=")) for pair in pairs.split())  # type: ignore[misc]
    return found


@lru_cache(maxsize=32768)
def _rows(rows: Table, mnemonic: str) -> tuple[Row, ...]:
    """The rows that a mnemonic may mean, the first choice first."""
    if found := _rows_named(rows, mnemonic):
        return found
    aliases = _aliases(rows.target)
    bases = [mnemonic.removesuffix(suffix) for suffix in ("", *_SUFFIXES)]
    base = next((base for base in bases if base in aliases), None)
    return _rows_named(rows, aliases[base] + mnemonic[len(base) :]) if base else ()


_SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp")


def _rows_named(rows: Table, mnemonic: str) -> tuple[Row, ...]:
    for suffix in (*_SUFFIXES, ""):
        name = mnemonic.removesuffix(suffix)
        if name + suffix == mnemonic and (found := rows.named_rows(name)):
            fitting = [row for row in found if row.mnemonic == mnemonic] if suffix else list(found)
            if fitting:
                return tuple(sorted(fitting, key=_preference))
    return ()


def _preference(row: Row) -> tuple[int, bool, bool]:
    """Of several rows with one text, that which LLVM writes: the older encoding of a register as offset in scalar
    loads, the newer of tensor copies, FORMAT 1 in buffers."""
    form = row.format.name
    later = form in ("tensor:old", "tensor:two:old") or "FORMAT=0" in row.signature[4].split()
    return _ORDER.get(row.mnemonic[len(row.name) :], 5), form != "smem:old", later


# --- statements ---

_WHOLE = ("waitcnt", "depctr", "delay", "version")  # operands that are the rest of the line
_VALUED = re.compile(r"[a-z_]\w*:(?!:)")


class Statement:
    """A mnemonic and what follows it, in words."""

    mnemonic: str
    rest: str
    words: list[str]

    def __init__(self, text: str) -> None:
        self.mnemonic, self.rest = (*text.split(None, 1), "")[:2]
        self.mnemonic = self.mnemonic.lower()
        self.words = pieces(self.rest)

    def divided(self, row: Row) -> tuple[list[str], list[str]]:
        """The operands, as many as the row has, if there are, and the modifiers."""
        count, words = len(row.slots), self.words
        if count == 1 and row.slots[0].style in _WHOLE:
            return [self.rest] if self.rest else [], []
        flags = row.flag_names
        count = next((at for at, word in enumerate(words[:count]) if word in flags or _VALUED.match(word)), count)
        return words[:count], words[count:]


# --- one row ---


class _Reading:
    """A statement read by a row: the bits, the literal, and what is wrong; fits: whether that is not the operands and
    modifiers one by one, but all of them together."""

    def __init__(self, row: Row, statement: Statement, labels: Labels, where: Target | None = None) -> None:
        self.row, self.labels, self.where = row, labels, where
        self.bits, self.literal, self.fits = row.value, b"", False
        self.wrong: list[str] = []
        self.banks: dict[int, set[str]] = {}  # the bit that says AccVGPR -> the files of the operands that it is of
        self.operands, words = statement.divided(row)
        count = len(row.slots)
        optional = count == 1 and row.slots[0].style == "opt" and not self.operands
        self.counted = len(self.operands) == count or optional
        if not self.counted:
            self.wrong.append(self._missing())
            return
        self.op_sel = any(word.startswith("op_sel:") for word in words)
        signs = {"neg": 0, "abs": 0, "sext": 0}
        plain = self._unsigned(signs)
        try:
            self.bits |= modifiers_code(row, words, signs, labels.symbols)
        except UnfitError as reason:
            self.wrong.append(str(reason))
        known = not self.wrong
        for slot, text in zip(row.slots, plain):
            if slot.choice is not None and not known:
                continue  # how many registers it has is not known
            try:
                self._take(slot, text)
            except UnfitError as reason:
                self.wrong.append(str(reason))
            except Error as reason:
                self.wrong.append(f"{slot.title} of {row.mnemonic}: {reason}")
        self.fits = not self.wrong
        for why in (self._banked(plain), self._overlap(plain), self._together(plain) if self.fits else ""):
            self.wrong += [why] if why else []

    def _missing(self) -> str:
        slots, got = self.row.slots, len(self.operands)
        names = [slot.name for slot in slots]
        if all(names):
            return f"{self.row.mnemonic} takes {len(slots)} operands ({', '.join(names)}); {names[got]} is missing"
        return f"{self.row.mnemonic} takes {plural(len(slots), 'operand')}; got {got}"

    def _unsigned(self, signs: dict[str, int]) -> list[str]:
        """The operands without their signs, which are entered."""
        number, found = 0, []
        for slot, text in zip(self.row.slots, self.operands or ["0"]):
            if not slot.style and not slot.destination and slot.field is not None:
                if text[0] in "-|" or text[-1] == ")":
                    text = unsigned(text, number, signs, self.labels.symbols)
                number += 1
            found.append(text)
        return found

    def _take(self, slot: Slot, text: str) -> None:
        """Enter an operand."""
        literal = b""
        if slot.style and slot.field is None:
            literal = own_literal(slot, text, self.labels)
        elif slot.style:
            assert slot.field is not None
            self.bits |= slot.field.spread(number_code(self.row, slot, text, self.labels))
        elif slot.field is None:
            fixed = register_text(slot.fixed) if isinstance(slot.fixed, RegisterOperand) else "0"
            if LONG_NAMES.get(text, text) != fixed:
                raise Error(f"'{fixed}' is needed where '{text}' is")
        else:
            code, literal = self._code(slot, text)
            self.bits |= code << slot.shift if slot.mask else slot.field.spread(code)
        if literal and self.literal and self.literal != literal:
            raise UnfitError(f"{self.row.mnemonic} has two literals, and can hold one")
        self.literal = self.literal or literal

    def _code(self, slot: Slot, text: str) -> tuple[int, bytes]:
        """The code of an operand and its literal; the bits that say AccVGPR, and upper half by OP_SEL, are entered."""
        row, table = self.row, 2 * slot.choice.gather(self.bits) if slot.choice is not None else 0
        found, word = register(text, self.labels.symbols), LONG_NAMES.get(text, text)
        if (
            found is None and word in missing_registers(row.family) and not slot.name
        ):  # the catalog's say what they take
            raise Error(f"{word} is a register that the target lacks")
        if slot.half is not None and found is not None and found[4] == 16:
            found = self._half(slot.half, found, text)
        for bank in (0, 1) if slot.bank else (0,):
            numbered, named = slot.known.get(table + bank) or slot.codes(table + bank)
            code = numbered.get(found) if found is not None else named.get(word)
            if code is None and found is not None and found[2:] == (1, 0, 32):
                code = numbered.get((*found[:4], 16))  # the lower half has the name of the whole
            if code is not None:
                if slot.field is None or code >> slot.field.width:
                    raise Error(f"'{text}' is beyond what an operand of this encoding reaches")
                if slot.bank and found is not None:
                    self.banks.setdefault(slot.bank, set()).add("va"[bank])
                self.bits |= slot.bank if bank else 0
                return code, b""
        taken = None
        if found is None and word not in HARDWARE and word not in ("null", "off") and slot.constant:
            taken = operand_code(row, slot, text, self.labels, slot.entries[table])
        if taken is None:
            raise UnfitError(self._wanted(slot, text, found))
        return taken

    def _half(self, bit: int, found: Register, text: str) -> Register:
        """The register of which OP_SEL says the half, which is entered."""
        half, place = found[3], self.row.op_sel + bit
        if self.op_sel and self.bits >> place & 1 != half:
            raise UnfitError(f"op_sel of {self.row.mnemonic} and '{text}' choose different halves")
        self.bits |= half << place
        return (*found[:3], 0, 32)

    def _wanted(self, slot: Slot, text: str, found: Register | None) -> str:
        """What an operand takes, with an example close to what was given."""
        row, at = self.row, slot.choice.gather(self.bits) if slot.choice is not None else 0
        count, file, first = slot.counts[at], slot.files[0], 0
        given = None if found is None else RegisterRange(*found[:3], "lh"[found[3]] if found[4] == 16 else "")
        if given is not None and given.file in ("v", "a"):
            file = given.file if given.file in slot.files else file
            first = max(min(given.first - given.first % (2 if slot.even and count > 1 else 1), 256 - count), 0)
        kinds = "register" if slot.files == ("v", "a") else " or ".join(_FILE_NAMES[one] for one in slot.files)
        what = f"{count} {kinds.replace(' or', 's or')}s" if count > 1 else f"1 {kinds}"
        if len(slot.counts) > 1 and given is not None and given.file in slot.files and given.count != count:
            modifier = next(one for one in row.modifiers if one.field == slot.choice)
            shown = printed_modifier(modifier.name, at, row, {}) or f"{modifier.name}:{at}"
            what += f" under {shown}"
        elif slot.even and count > 1 and file in ("v", "a"):
            what += ", even-aligned"
        if slot.constant and given is None:
            what += f", or an inline constant ({CONSTANTS})"
        example = RegisterRange(file, first, count)
        shown = f"{slot.title} of {row.mnemonic} takes {what}: {example}; got {given or text}"
        return shown + self._other_wave(slot, given)

    def _other_wave(self, slot: Slot, given: RegisterRange | None) -> str:
        """What to add to a message when the operand has the size that the other wave size needs."""
        where = self.where
        if where is None or given is None or self.row.instruction is None:
            return ""
        for wave in where.entry.architecture.waves:
            other = form_of(self.row.name, where._replace(wave=wave)) if wave != where.wave else None
            its = other.slot(slot.name) if other else None
            if its and its.counts == (given.count,) != slot.counts:
                return f". That is wave{where.wave}; in wave{wave} (-w {wave}, wave={wave}) it takes {its.counts[0]}"
        return ""

    def _banked(self, plain: list[str]) -> str:
        """Why operands are not in one register file that one bit chooses; "" if they are."""
        mixed = [bank for bank, files in self.banks.items() if len(files) > 1]
        if not mixed:
            return ""
        named = [(slot.name or slot.title, text) for slot, text in zip(self.row.slots, plain) if slot.bank in mixed]
        names = " and ".join(sorted(name for name, _ in named))
        got = " and ".join(f"{name} {_range(text, self.labels.symbols)}" for name, text in named)
        return f"{names} of {self.row.mnemonic} are both VGPRs or both AccVGPRs; got {got}"

    def _together(self, plain: list[str]) -> str:
        """Why operands and modifiers that are taken one by one do not go together; "" if they do."""
        row, bits = self.row, self.bits
        if row.instruction is not None and row.instruction.scaled and self.where is not None:
            why = self.where.generation.refused(row.instruction, row.format.decode(bits))
            if why:
                return f"{row.name}: {why}"
        if bits & row.mask != row.value:
            return f"{row.mnemonic}: its operands and modifiers do not go together"
        sources = [LONG_NAMES.get(text, text) for slot, text in zip(row.slots, plain) if not slot.destination]
        scalars = [name if name in HARDWARE or _SCALAR.match(name) else "" for name in sources]
        return (why := refusal(row, bits, scalars, bool(self.literal))) and f"{row.mnemonic}: {why}"

    def _overlap(self, plain: list[str]) -> str:
        """Why C overlaps D in part; "" if it does not."""
        if not self.row.overlap_checked:
            return ""
        texts = {slot.name: text for slot, text in zip(self.row.slots, plain) if slot.name in ("C", "D")}
        if len({*texts.values()}) < 2:
            return ""
        c, d = (_range(texts[name], self.labels.symbols) for name in "CD")
        if c is None or d is None or not 0 < abs(c.first - d.first) < d.count:
            return ""
        return f"C of {self.row.mnemonic} is D itself or shares no register with it; got D {d} and C {c}"


def _range(text: str, symbols: Mapping[str, int]) -> RegisterRange | None:
    """The registers of a text; None where it names none, or none that there are."""
    try:
        found = register(text, symbols)
    except Error:
        return None
    return None if found is None else RegisterRange(*found[:3])


_FILE_NAMES = {"v": "VGPR", "a": "AccVGPR", "s": "SGPR"}
_SCALAR = re.compile(r"(s|ttmp)(\d|\[)")


# --- pairs ---


def _pair(text: str, rows: Table, where: Labels) -> Encoded:
    """The two halves of a VOPD."""
    halves = [half for half in text.split("::") if half.strip()]
    if len(halves) != 2:
        raise Error(f"'{text}': a pair has two halves")
    statements = [Statement(half) for half in halves]
    reason = f"it has no pair of {statements[0].mnemonic} and {statements[1].mnemonic}"
    for form in ("vopd", "vopd3"):
        if f"{form}:x" not in rows.formats or rows.wave == 64:
            continue
        for first in _halves(rows, statements[0].mnemonic, f"{form}:x"):
            for second in _halves(rows, statements[1].mnemonic, f"{form}:y"):
                try:
                    return _both(form, (first, second), statements, where)
                except UnfitError as why:
                    reason = str(why)
    raise Error(f"{statements[0].mnemonic} :: {statements[1].mnemonic}: {reason}")


def _halves(rows: Table, name: str, form: str) -> list[Row]:
    return [row for row in rows.named_rows(name) if row.format.name in (form, f"{form}:bitop2")]


def _both(form: str, rows: tuple[Row, Row], statements: list[Statement], where: Labels) -> Encoded:
    first, second = (_sources(row, statement) for row, statement in zip(rows, statements))
    if why := bank_conflict(rows[0].family, first, second):
        raise UnfitError(why)
    bits, literals = 0, b""
    for row, statement in zip(rows, statements):
        half = statement
        if form == "vopd" and row is rows[1]:
            half = _halved(statement, _destination(statements[0]))
        made = _Reading(row, half, where)
        if made.wrong:
            raise UnfitError(made.wrong[0])
        bits |= made.bits | row.written_too
        if literals and made.literal not in (b"", literals):
            raise UnfitError("it has two literals, and can hold one")
        literals = literals or made.literal
    return Encoded(bits.to_bytes(rows[0].size, "little") + literals, rows)


def _sources(row: Row, statement: Statement) -> dict[str, int]:
    """The VGPRs that half of a pair reads, by their places."""
    found = {}
    for slot, text in zip(row.slots, statement.divided(row)[0]):
        core = unsigned(text, 0, {"neg": 0, "abs": 0, "sext": 0}, {})
        found_register = register(core, {})
        if slot.field is not None and found_register is not None and found_register[0] == "v":
            name = slot.field.name
            if name == "VDST" and "VDST" not in row.reads:
                continue
            third = name in ("VDST", "VSRC2") or (name == "VSRC1" and row.literal_second)
            found["src2" if third else name] = found_register[1]
    return found


def _destination(statement: Statement) -> int:
    found = register(statement.words[0], {}) if statement.words else None
    if found is None or found[0] != "v" or found[2:] != (1, 0, 32):
        raise UnfitError("the destinations of a pair are single VGPRs")
    return found[1]


def _halved(statement: Statement, first: int) -> Statement:
    """Y as its row has it: VDST lacks the lowest bit, which is the opposite of X's."""
    second = _destination(statement)
    if not (first ^ second) & 1:
        raise UnfitError(f"one destination of a pair is even and the other odd; got v{first} and v{second}")
    made = Statement(statement.mnemonic)
    made.words = [f"v{second >> 1}", *statement.words[1:]]
    return made


# --- What LLVM's assembler refuses though the encoding has a place for it: rules of the hardware on several operands
#
# Source: LLVM 22.1.8, AMDGPUAsmParser::validateInstruction, compared on random instances of every row
# (tests/test_encoder.py); CDNA3 and RDNA3 ISA guides, "Scalar operands", for the limit on scalar registers.


_VALU = ("vop1", "vop2", "vopc", "vop3", "vop3p", "sdwa", "dpp16", "dpp8", "vop3_dpp16", "vop3_dpp8", "vop3p_dpp16",
         "vop3p_dpp8")  # fmt: skip
_NEW_BROADCAST = range(0x150, 0x160)  # DPP controls: row_newbcast


def refusal(row: Row, bits: int, scalars: Sequence[str], literal: bool) -> str:
    """Why an encoded instruction is refused; "" if it is not.

    Args:
        scalars: of each source its name if it is a scalar register, else "". literal: whether it has a literal.
    """
    named = {name: (bits >> shift if field is None else field.gather(bits)) & mask
             for name, shift, mask, field, *_ in row.modifiers}  # fmt: skip
    if row.stores and (named.get("tfe") or row.implied.get("tfe") or "TFE=1" in row.signature[4].split()):
        return "tfe has no meaning for stores"
    # LLVM counts none of instructions of 16 bytes.
    if row.encoding in _VALU and row.size < 16 and (why := _too_many_scalars(row, {*scalars} - {""}, literal)):
        return why
    if row.family == "cdna5" and row.encoding == "vop3p" and "packed" in row.flags and _reads_doubles(row):
        halves = named.get("op_sel", 0) | named.get("op_sel_hi", 0)
        high = [name for number, name in enumerate(scalars) if name and halves >> number & 1]
        if high:
            return (
                f"of a scalar register such as {high[0]} it reads the lower word alone: its op_sel and op_sel_hi are 0"
            )
    double = row.family in ("cdna2", "cdna3") and "dpp_ctrl" in named and _reads_doubles(row)
    if double and named["dpp_ctrl"] not in _NEW_BROADCAST:
        return "DPP of 64-bit operands is row_newbcast alone"
    selected = named.get("op_sel") or named.get("op_sel_hi", 7) != 7
    if row.family == "cdna3" and "dot" in row.flags and selected:
        return "dot products have no op_sel and op_sel_hi on this target"
    if why := _register_refused(row, bits, scalars):
        return why
    if "lane_mask" in row.flags and "SRC2" in row.format.fields and row.format.fields["SRC2"].gather(bits) > 255:
        return "the lane mask is a scalar register"
    if row.slots and row.slots[-1].style == "gpridx" and _index_mode(row, bits) > 15:
        return "the mode has four bits"
    return ""


def _register_refused(row: Row, bits: int, scalars: Sequence[str]) -> str:
    """Why an operand that the format has is refused by LLVM's assembler (its decoder reads it); "" if it is not."""
    if row.family == "rdna3" and row.encoding.startswith(("vop3_dpp", "vop3p_dpp")):
        source = row.format.fields["SRC1"]  # gfx1150 and RDNA4 take more: FeatureDPPSrc1SGPR
        if source.gather(bits) < 256 and any(slot.field is source for slot in row.slots):
            return "the second source of an instruction with DPP is a VGPR on this target"
    if row.name.startswith("s_waitcnt_") and any(scalars):
        return f"its register is null; got {scalars[0]}"
    offset = row.format.fields.get("OFFSET") if row.encoding == "smem" and "buffer" in row.name else None
    if offset is not None and offset.gather(bits) >> offset.width - 1:
        return "the offset in a buffer is not negative"  # validateSMEMOffset
    return ""


def _index_mode(row: Row, bits: int) -> int:
    slot = row.slots[-1]
    return slot.field.gather(bits) if slot.field is not None else 0


@lru_cache(maxsize=32768)
def _reads_doubles(row: Row) -> bool:
    return any(getattr(entry, "count", 1) == 2 for slot in row.slots if slot.field is not None and not slot.style
               for entry in slot.entries[0] if getattr(entry, "file", "") == "v")  # fmt: skip


def _too_many_scalars(row: Row, scalars: set[str], literal: bool) -> str:
    if "lane_select" in row.flags and "read_lane" not in row.flags:
        scalars = scalars - {"m0"}  # which LLVM does not count there
    implied = {"vcc"} if "vcc" in row.reads else set()
    # Of the 64-bit shifts of gfx1250 LLVM 22.1.8 limits v_lshlrev_b64 alone, the one that also has an encoding of 32
    # bits there (getConstantBusLimit names opcodes of generations); no guide says what the hardware does.
    one = "one_scalar" in row.flags and (row.family != "cdna5" or row.mnemonic != row.name)
    most = 1 if row.family in ("cdna1", "cdna2", "cdna3") or one else 2
    count = len(scalars | implied) + literal
    if count > most:
        return f"it reads {most} scalar register{'s' * (most > 1)} or literals at most; got {count}"
    return ""


_BANKS = {"SRC0": 4, "VSRC1": 4, "src2": 2}  # of a pair: how many banks the VGPRs of a source are in


def bank_conflict(family: str, first: dict[str, int], second: dict[str, int]) -> str:
    """Why the sources of a pair do not go together; "" if they do.

    Args:
        first, second: the VGPR of each source (SRC0, VSRC1, src2) of a half. RDNA4's may be one register; of CDNA5,
            which has more forms, nothing is refused.
    """
    if family == "cdna5":
        return ""
    for role, banks in _BANKS.items():
        one, two = first.get(role), second.get(role)
        if one is not None and two is not None and one % banks == two % banks and (one != two or family == "rdna3"):
            return f"src{role[-1]} of both halves, v{one} and v{two}, are in one VGPR bank"
    return ""
