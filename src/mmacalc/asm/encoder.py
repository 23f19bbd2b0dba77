"""Every instruction of a target from text to bytes: the rows of `mmacalc.asm.tables`, read the other way.

A row's operands have the same tables of codes that the decoder reads, and its modifiers the same texts that the printer
writes, turned round: what is printed is taken, and what LLVM also takes where clang, Triton or people write it (numbers
for names, `v0` for `v0.l`, mnemonics without _e32 or _e64). Anything else is refused by name.

Of the encodings of one mnemonic the first that takes the operands is meant, as LLVM has them: _e32, _e64, SDWA, DPP.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..base.errors import Error
from ..base.numerals import real
from ..base.records import TupleRecord
from ..formats import named
from .constants import rounded
from .decoded import ConstantOperand, RegisterOperand
from .decoded_text import printed_modifier
from .encoder_rules import bank_conflict, missing_registers, refusal
from .operand_codes import OTHER_NAMES, Literal, constant_patterns, register_text
from .style_values import style_value, swizzle_value
from .tables import Table, table
from .tokens import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .tables import Row, Slot

__all__ = ["Encoded", "Labels", "encode", "knows"]


class Labels(TupleRecord):
    """What names mean where an instruction stands: its address, labels -> their addresses in the same section (None in
    the first pass, when they are not known yet), symbols -> their values."""

    address: int
    labels: Mapping[str, int | None]
    symbols: Mapping[str, int]


_NOWHERE = Labels(0, {}, {})


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


class _UnfitError(Exception):
    """A row does not take the operands; the message says why."""


def knows(mnemonic: str, target: str, wave: int) -> bool:
    """Whether a target has an instruction of this mnemonic, with or without the suffix of an encoding."""
    return bool(_rows(table(target, wave), mnemonic))


def encode(text: str, target: str, wave: int, where: Labels = _NOWHERE, llvm: int = 22) -> Encoded:
    """One instruction, encoded.

    Args:
        text: the statement, without labels or comments. target: one of the tables'; wave: 32 or 64. llvm: 22 or 24.

    Raises:
        Error: the target lacks it, or does not take these operands or modifiers.

    >>> encode("v_add_f32_e32 v2, v1, v1", "gfx942", 64).code.hex()
    '01030402'
    """
    if "@" in text and (symbol := _LINKED.search(text)):
        return _linked(text, symbol, (target, wave), where, llvm)
    rows = table(target, wave)
    if "::" in text:
        return _pair(text, rows, where)
    statement = _Statement(text)
    found = _rows(rows, statement.mnemonic)
    if not found:
        raise Error(f"{target} has no instruction '{statement.mnemonic}'", kind="unknown name")
    reasons = []
    for row in found:
        try:
            bits, literal = _encoded(row, statement, where)
        except _UnfitError as reason:
            reasons.append((len(statement.operands(row)) == len(row.slots), str(reason)))
            continue
        bits |= _unused(row) if llvm > _ZEROS else 0
        return Encoded(bits.to_bytes(row.size, "little") + literal, (row,))
    raise Error(f"{statement.mnemonic}: {max(reasons, key=lambda one: one[0])[1]}")


def _linked(text: str, symbol: re.Match[str], target: tuple[str, int], where: Labels, llvm: int) -> Encoded:
    """An instruction with a literal that a linker fills in, which is 0 so far."""
    kind = _KINDS.get(symbol[2])
    if kind is None:
        raise Error(f"{symbol[1]}@{symbol[2]} is unknown; what a linker fills in is {', '.join(_KINDS)}")
    wide = kind.endswith("64")
    placeholder = hex(_PLACEHOLDER << 32 | _PLACEHOLDER if wide else _PLACEHOLDER)
    try:
        found = encode(text[: symbol.start()] + placeholder + text[symbol.end() :], *target, where, llvm)
    except Error as error:
        raise Error(str(error).replace(placeholder, symbol[0])) from None
    literal = _PLACEHOLDER.to_bytes(4, "little") * (1 + wide)
    if found.code.count(literal) != 1:
        raise Error(f"{symbol[0]}: the instruction has no literal of {32 + 32 * wide} bits for a linker to fill in")
    offset = found.code.index(literal)
    addend = integer(f"0{symbol[3]}", where.symbols)
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
    return sum(field.spread(_ZERO) for field in fields if not field.mask & row.mask)


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
    loads, FORMAT 1 in buffers."""
    old = row.format.name == "smem:old"
    return _ORDER.get(row.mnemonic[len(row.name) :], 5), not old, "FORMAT=0" in row.signature[4].split()


# --- statements ---

_SPACED = re.compile(r"\s*(\+|\*|/|&|\^|<<|>>|\s-(?=\s))\s*")
_PIECES = re.compile(r"(?:[^\s,\[\](){}]|\[[^\]]*\]|\((?:[^()]|\([^()]*\))*\))+|,")


class _Statement:
    """A mnemonic and what follows it, in words."""

    def __init__(self, text: str) -> None:
        self.mnemonic, self.rest = (*text.split(None, 1), "")[:2]
        self.mnemonic = self.mnemonic.lower()
        parts: list[list[str]] = [[]]
        for piece in _PIECES.findall(_SPACED.sub(r"\1", self.rest)):
            if piece == ",":
                parts.append([])
            else:
                parts[-1].append(piece)
        self.parts = [part for part in parts if part]

    def operands(self, row: Row) -> list[str]:
        """As many operands as the row has, if there are."""
        count = len(row.slots)
        if count == 1 and row.slots[0].style in _WHOLE:
            return [self.rest]
        return [part[0] for part in self.parts[:count]]

    def modifiers(self, row: Row) -> list[str]:
        """The other words."""
        count = len(row.slots)
        if count == 1 and row.slots[0].style in _WHOLE:
            return []
        return [word for at, part in enumerate(self.parts) for word in (part[1:] if at < count else part)]


_WHOLE = ("waitcnt", "depctr", "delay", "version")  # operands that are the rest of the line


# --- one row ---

_OLD = {
    **{short: name for name, short in OTHER_NAMES.items()},
    **{f"flat_scratch_base_{half}": f"src_flat_scratch_base_{half}" for half in ("lo", "hi")},
}


def _encoded(row: Row, statement: _Statement, where: Labels, free: bool = True) -> tuple[int, bytes]:
    """The bits and the literal of a statement by a row."""
    operands, words = statement.operands(row), statement.modifiers(row)
    optional = len(row.slots) == 1 and row.slots[0].style == "opt"
    if len(operands) != len(row.slots) and not (optional and not operands):
        raise _UnfitError(f"it takes {len(row.slots)} operands; got {len(operands)}")
    for bank in (0, 1) if row.acc else (0,):
        signs = {"neg": 0, "abs": 0, "sext": 0}
        try:
            bits, literal = _operands(row, operands or ["0"] * len(row.slots), where, bank, signs)
            break
        except _UnfitError:
            if bank or not row.acc:
                raise
    bits |= row.value | (row.acc if bank else 0) | _modifiers(row, words, signs, where)
    if bits & row.mask != row.value:
        raise _UnfitError("its operands and modifiers do not go together")
    scalars = {text for text in map(_core, operands[_sources_from(row) :]) if text in _SCALARS or _SCALAR.match(text)}
    if why := refusal(row, bits, scalars, bool(literal)):
        raise _UnfitError(why)
    return bits | row.written_too, literal


def _operands(row: Row, operands: Sequence[str], where: Labels, bank: int, signs: dict[str, int]) -> tuple[int, bytes]:
    bits, number, literal = 0, 0, b""
    for slot, text in zip(row.slots, operands):
        if slot.style:
            if slot.field is None:
                literal = _one_literal(literal, _own_literal(slot, text, where))
            else:
                bits |= slot.field.spread(_number(row, slot, text, where))
            continue
        core = text if slot.destination or slot.field is None else _unsigned(text, number, signs)
        if slot.field is None:
            assert slot.fixed is not None
            if _register(core) != _fixed_text(slot):
                raise _UnfitError(f"'{_fixed_text(slot)}' is needed where '{text}' is")
            continue
        number += not slot.destination
        code, more, half = _code(row, slot, core, where, bank)
        bits |= slot.field.spread(code)
        if half:
            assert slot.half is not None
            bits |= 1 << row.op_sel + slot.half
        if more:
            literal = _one_literal(literal, more)
    return bits, literal


_SCALAR = re.compile(r"(s|ttmp)(\d|\[)")
_SCALARS = {
    "vcc", "vcc_lo", "vcc_hi", "exec", "exec_lo", "exec_hi", "m0", "flat_scratch", "flat_scratch_lo",
    "flat_scratch_hi", "xnack_mask", "xnack_mask_lo", "xnack_mask_hi", *_OLD.values(),
}  # fmt: skip


def _core(text: str) -> str:
    """An operand without its signs."""
    return _register(_unsigned(text, 0, {"neg": 0, "abs": 0, "sext": 0}))


def _sources_from(row: Row) -> int:
    """How many destinations come first."""
    return sum(slot.destination for slot in row.slots)


def _fixed_text(slot: Slot) -> str:
    fixed = slot.fixed
    return register_text(fixed) if isinstance(fixed, RegisterOperand) else "0"


def _one_literal(before: bytes, literal: bytes) -> bytes:
    if before and before != literal:
        raise _UnfitError("it has two literals, and can hold one")
    return literal


def _unsigned(text: str, number: int, signs: dict[str, int]) -> str:
    """A source without its signs, which are entered."""
    negated = False
    if text.startswith("-") and not text[1:2].isdigit() and text[1:2] != ".":
        text, negated = text[1:], True
    for name, sign in (("neg", "neg"), ("abs", "abs"), ("sext", "sext"), ("neg", "neg")):
        if text.startswith(f"{name}(") and text.endswith(")"):
            text = text[len(name) + 1 : -1]
            signs[sign] |= 1 << number
    if text.startswith("|") and text.endswith("|") and len(text) > 2:
        text = text[1:-1]
        signs["abs"] |= 1 << number
    if text.startswith("sext(") and text.endswith(")"):
        text = text[5:-1]
        signs["sext"] |= 1 << number
    if negated:
        signs["neg"] |= 1 << number
    return text


_NAMED = re.compile(r"(v|a|acc|s|ttmp)(\d+)((?:\.[lh])?)")
_TUPLE = re.compile(r"(v|a|acc|s|ttmp)\[([^\]:]+)(?::([^\]]+))?\]((?:\.[lh])?)")
_LIST = re.compile(r"\[(.+)\]")


def _register(text: str, symbols: Mapping[str, int] = {}) -> str:
    """A register as `register_text` writes it; other texts as they are."""
    if found := _NAMED.fullmatch(text):
        return f"{found[1][:1] if found[1] == 'acc' else found[1]}{found[2]}{found[3]}"
    if found := _TUPLE.fullmatch(text):
        file = found[1][:1] if found[1] == "acc" else found[1]
        first = integer(found[2], symbols)
        last = integer(found[3], symbols) if found[3] else first
        return f"{file}{first}{found[4]}" if first == last else f"{file}[{first}:{last}]"
    if found := _LIST.fullmatch(text):
        each = [_register(one.strip(), symbols) for one in found[1].split(",")]
        numbers = [integer(one.lstrip("vasctmp")) for one in each if _NAMED.fullmatch(one)]
        if len(numbers) == len(each) and numbers == [*range(numbers[0], numbers[0] + len(numbers))]:
            file = each[0].rstrip("0123456789")
            return f"{file}[{numbers[0]}:{numbers[-1]}]" if len(each) > 1 else each[0]
    return _OLD.get(text, text)


@lru_cache(maxsize=4096)
def _registers(entries: tuple[object, ...]) -> dict[str, int]:
    """The code of every register of a field, by its text."""
    found: dict[str, int] = {}
    for code, operand in enumerate(entries):
        if isinstance(operand, RegisterOperand):
            found.setdefault(register_text(operand), code)
    return found


def _code(row: Row, slot: Slot, text: str, where: Labels, bank: int) -> tuple[int, bytes, bool]:
    """The code of an operand, its literal, and whether it is the upper half by OP_SEL."""
    entries, half = slot.entries[bank], False
    core = _register(text, where.symbols)
    if slot.half is not None and core[-2:] in (".l", ".h"):
        core, half = core[:-2], core.endswith(".h")
    known = _registers(entries)
    code = known.get(core, known.get(f"{core}.l"))
    if core in missing_registers(row.family):
        raise _UnfitError(f"{core} is a register that the target lacks")
    if code is not None:
        width = slot.field.width if slot.field else 0
        if code >> width:
            raise _UnfitError(f"'{text}' is beyond what an operand of this encoding reaches")
        return code, b"", half
    if re.match(r"(v|a|acc|s|ttmp)\d|(v|a|acc|s|ttmp)\[", core) or core in _WORDS:
        raise _UnfitError(f"it does not take '{text}' there")
    if not slot.constant:
        raise _UnfitError(f"it takes no constant there; got '{text}'")
    return (*_constant(row, slot, text, where, entries), False)


_WORDS = {
    "vcc", "vcc_lo", "vcc_hi", "exec", "exec_lo", "exec_hi", "m0", "null", "off", "flat_scratch", "flat_scratch_lo",
    "flat_scratch_hi", "xnack_mask", "xnack_mask_lo", "xnack_mask_hi", *_OLD.values(),
}  # fmt: skip
_FLOAT = re.compile(r"-?(\d+\.\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|\d+e[+-]?\d+)", re.IGNORECASE)
_FORCED = re.compile(r"(lit|lit64)\((.*)\)")
_FORMATS = {"i16": "f16", "f16": "f16", "bf16": "bf16", "i64": "f64", "f64": "f64", "v2f16": "f16", "both16": "f16",
            "v2bf16": "bf16", "v2b16": "f16"}  # fmt: skip


@lru_cache(maxsize=64)
def _inline(kind: str) -> tuple[int, dict[int, int]]:
    width, patterns = constant_patterns(kind)
    if kind in ("v2b16", "i16"):  # whole numbers only
        patterns = {code: pattern for code, pattern in patterns.items() if code < 240}
    return width, {pattern: code for code, pattern in reversed(patterns.items())}


def _constant(row: Row, slot: Slot, text: str, where: Labels, entries: tuple[object, ...]) -> tuple[int, bytes]:
    """The code of a constant and its literal."""
    kind = slot.constant.rstrip("!")
    width, inline = _inline(kind)
    forced = _FORCED.fullmatch(text)
    body = forced[2] if forced else text
    is_float = bool(_FLOAT.fullmatch(body))
    value, unknown = (0, False) if is_float else _expression(body, where)
    number = real(body) if is_float else None
    form = _FORMATS.get(kind, "f32")
    if is_float:
        pattern = rounded(number or 0.0, named(form))
        if pattern is None:
            raise _UnfitError(f"{text} does not fit in {form}")
    else:
        pattern = value & (1 << width) - 1
        fits = -(1 << width - 1) <= value < 1 << width
        pattern = pattern if fits else None
    if not forced and not unknown and pattern is not None and pattern in inline:
        return inline[pattern] + _base(entries), b""
    return _literal_code(row, slot, (value, number, pattern, forced[1] if forced else ""), entries, text)


def _base(entries: tuple[object, ...]) -> int:
    """Where the constants of a field begin: an SDWA source has its scalar sources from 256 on."""
    return 0 if isinstance(entries[_ZERO], ConstantOperand) else 256


_ZERO = 128  # the code of the constant 0


def _literal_code(
    row: Row, slot: Slot, given: tuple[int, float | None, int | None, str], entries: tuple[object, ...], text: str
) -> tuple[int, bytes]:
    value, number, pattern, forced = given
    kind = slot.constant.rstrip("!")
    if not slot.constant.endswith("!"):
        raise _UnfitError(f"it takes inline constants there, no literal; got '{text}'")
    wide = isinstance(entries[254], Literal)
    if number is not None:
        if kind in ("f64", "i64"):
            assert pattern is not None
            if wide and (pattern & 0xFFFFFFFF or forced == "lit64" or kind == "i64"):
                return 254, pattern.to_bytes(8, "little")
            return 255, (pattern >> 32).to_bytes(4, "little")
        assert pattern is not None
        return 255, pattern.to_bytes(4, "little")
    negative = kind == "i64" and value < 0 and "_i64" not in row.name  # 32 bits are extended by zeros
    if wide and (forced == "lit64" or negative or not -(1 << 31) <= value < 1 << 32):
        if not -(1 << 63) <= value < 1 << 64:
            raise _UnfitError(f"{text} does not fit in 64 bits")
        return 254, (value & (1 << 64) - 1).to_bytes(8, "little")
    if forced == "lit64" or not -(1 << 31) <= value < 1 << 32:
        raise _UnfitError(f"{text} does not fit in the 32 bits of a literal")
    if kind in ("i16", "f16", "bf16") and not -(1 << 15) <= value < 1 << 16 and not forced:
        raise _UnfitError(f"{text} does not fit in 16 bits")
    return 255, (value & 0xFFFFFFFF).to_bytes(4, "little")


def _own_literal(slot: Slot, text: str, where: Labels) -> bytes:
    """K of fmamk, the value of s_setreg_imm32_b32: the literal is always there."""
    width = integer(slot.style.removeprefix("literal").removeprefix("i"))
    forced = _FORCED.fullmatch(text)
    body = forced[2] if forced else text
    size = 8 if width == 64 else 4
    if _FLOAT.fullmatch(body):
        pattern = rounded(real(body) or 0.0, named({16: "f16", 32: "f32", 64: "f64"}[width]))
        if pattern is None:
            raise _UnfitError(f"{text} does not fit in {width} bits")
        return pattern.to_bytes(size, "little")
    value, _ = _expression(body, where)
    if width == 64 and not forced and 0 <= value < 1 << 32:
        value <<= 32
    if not -(1 << width - 1) <= value < 1 << width:
        raise _UnfitError(f"{text} does not fit in {width} bits")
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


_NAME = re.compile(r"(?<![\w.$@])[A-Za-z_.$][\w.$@]*")


def _expression(text: str, where: Labels) -> tuple[int, bool]:
    """The value of an integer expression, and whether labels decide it, so that it is a literal of any value."""
    names = [name for name in _NAME.findall(text) if name not in where.symbols]
    if not names:
        try:
            return integer(text, where.symbols), False
        except Error as reason:
            raise _UnfitError(str(reason)) from None
    for name in names:
        if name not in where.labels and name != ".":
            raise _UnfitError(
                f"'{name}' is not a register, constant, symbol or label; what a linker would fill in is not taken"
            )
    places = {name: where.labels[name] or 0 for name in names if name != "."}
    try:
        here, there = (integer(text, {**where.symbols, **{n: p + base for n, p in places.items()}}) for base in (0, 64))
    except Error as reason:
        raise _UnfitError(str(reason)) from None
    if here != there:
        raise _UnfitError(f"'{text}' depends on where a linker puts the code; differences of labels are taken")
    return here, True


def _number(row: Row, slot: Slot, text: str, where: Labels) -> int:
    """The value of a number in the place of an operand."""
    field = slot.field
    assert field is not None
    if row.branch and field.name == "SIMM16" and text in where.labels:
        there = where.labels[text]
        offset = 0 if there is None else there - where.address - 4
        if offset % 4 or not -(1 << 17) <= offset < 1 << 17:
            raise _UnfitError(f"the label {text} is out of reach, {offset} bytes away")
        return offset // 4 & 0xFFFF
    try:
        value = style_value(slot.style, text, row.family, where.symbols)
    except Error as reason:
        raise _UnfitError(str(reason)) from None
    width = field.width
    signed = field.name in ("SIMM16",) or (field.name == "OFFSET")
    if not -(1 << width - 1 if signed else 0) <= value < 1 << width:
        raise _UnfitError(f"{text} does not fit in {width} bits")
    return value & (1 << width) - 1


# --- modifiers ---

_DEFAULTS = {"row_mask": 15, "bank_mask": 15, "dst_sel": 6, "dst_unused": 2, "src0_sel": 6, "src1_sel": 6}
_NUMBERS = ("offset", "offset0", "offset1", "row_mask", "bank_mask", "bitop3", "fi", "bound_ctrl")
_VALUE = re.compile(r"([a-z_0-9]+):(.*)")
_SELECTED = ("op_sel:", "byte_sel:", "scale_sel:")


def _modifiers(row: Row, words: list[str], signs: dict[str, int], where: Labels) -> int:
    """The bits of the modifiers: those of the words, of the signs, and the defaults."""
    left = [_plain(word, where.symbols) for word in words]
    if len(set(left)) < len(left):
        raise _UnfitError("a modifier is written twice")
    _take_implied(row, left)
    bits, scope = 0, next((at for at, name in enumerate(_SCOPES) if name in left), 0)
    in_place = {slot.field.name.lower() for slot in row.slots if slot.style and slot.field is not None}
    of_operands = {name: sign for sign, name in row.signs.items()}
    for name, shift, mask, field, _, sign, known in row.modifiers:
        if name in in_place:
            continue
        if name in of_operands:
            value = signs.pop(of_operands[name], 0)
        else:
            value = _chosen(row, name, mask, sign, left, scope)
        if value & ~mask or (known is not None and value not in known):
            raise _UnfitError(f"{name} takes no such value")
        placed, all_bits = (field.spread(value), field.mask) if field is not None else (value << shift, mask << shift)
        if (placed ^ row.value) & row.mask & all_bits:  # bit 0 of TH says whether an atomic returns
            raise _UnfitError(f"{name} cannot be combined with its operands")
        bits |= placed
    if wrong := [name for name, value in signs.items() if value]:
        raise _UnfitError(f"an operand has no {wrong[0]}")
    if left:
        raise _UnfitError(f"it has no modifier '{left[0]}'")
    return bits


def _take_implied(row: Row, left: list[str]) -> None:
    """Take the modifiers away that the row implies, and refuse where the text lacks them."""
    in_place = {slot.field.name.lower() for slot in row.slots if slot.field}
    for name, value in row.implied.items():
        shown = "" if name in in_place else printed_modifier(name, value, row, row.implied)
        if shown and shown not in left:
            raise _UnfitError(f"{shown} is missing")
        if shown:
            left.remove(shown)


_SCOPES = ("", "scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS")


def _plain(word: str, symbols: Mapping[str, int]) -> str:
    """A modifier as the printer writes it, but for numbers, which are decimal."""
    found = _VALUE.fullmatch(word)
    if found and found[1] in _NUMBERS and not found[2].startswith("swizzle"):
        try:
            return f"{found[1]}:{integer(found[2], symbols)}"
        except Error as reason:
            raise _UnfitError(str(reason)) from None
    return word.replace(" ", "")


def _chosen(row: Row, name: str, mask: int, sign: int, left: list[str], scope: int) -> int:
    """The value of a modifier by the words that are left, which it takes away."""
    if name in _NUMBERS:
        return _numeric(row, name, mask, sign, left)
    if name == "dpp8":
        word = next((word for word in left if word.startswith("dpp8:")), None)
        lanes = re.fullmatch(r"dpp8:\[((?:[0-7],){7}[0-7])\]", word or "")
        if lanes is None or word is None:
            raise _UnfitError("dpp8:[...] with eight lanes is missing")
        left.remove(word)
        return sum(integer(lane) << 3 * at for at, lane in enumerate(lanes[1].split(",")))
    texts = _texts(row, name, mask, scope)
    if name == "op_sel":
        own = [word for word in left if word.startswith(_SELECTED)]
        if "bound_ctrl:1" in " ".join(texts):
            own = [word for word in left if word in ("bound_ctrl:1", "fi:1")]
        found = texts.get(" ".join(sorted(own)))
        if found is None:
            raise _UnfitError(f"it does not take {' '.join(own) or 'what selects nothing'}")
        left[:] = [word for word in left if word not in own]
        return found
    for word in left:
        if word in texts:
            left.remove(word)
            return texts[word]
    if name == "dpp_ctrl":
        raise _UnfitError("it needs a DPP control, such as quad_perm:[0,1,2,3]")
    return _DEFAULTS.get(name, texts.get("", 0))


def _numeric(row: Row, name: str, mask: int, sign: int, left: list[str]) -> int:
    for word in left:
        if word.startswith(f"{name}:"):
            left.remove(word)
            given = word.partition(":")[2]
            if given.startswith("swizzle("):
                return swizzle_value(given)
            value = integer(given)
            if not (-sign if sign else 0) <= value <= (sign - 1 if sign else mask):
                raise _UnfitError(f"{name} is {-sign if sign else 0} to {sign - 1 if sign else mask}; got {value}")
            return value & mask
    return _DEFAULTS.get(name, 0)


@lru_cache(maxsize=4096)
def _texts(row: Row, name: str, mask: int, scope: int) -> dict[str, int]:
    """What is printed for every value of a modifier: text (its words sorted) -> value."""
    found: dict[str, int] = {}
    for value in range(mask.bit_length() and 1 << mask.bit_length()):
        if value & ~mask:
            continue
        try:
            shown = printed_modifier(name, value, row, {"scope": scope})
        except (IndexError, KeyError):
            continue
        if shown is not None:
            found.setdefault(" ".join(sorted(shown.split())), value)
    return found


# --- pairs ---


def _pair(text: str, rows: Table, where: Labels) -> Encoded:
    """The two halves of a VOPD."""
    halves = [half for half in text.split("::") if half.strip()]
    if len(halves) != 2:
        raise Error(f"'{text}': a pair has two halves")
    statements = [_Statement(half) for half in halves]
    reason = f"it has no pair of {statements[0].mnemonic} and {statements[1].mnemonic}"
    for form in ("vopd", "vopd3"):
        if f"{form}:x" not in rows.formats or rows.wave == 64:
            continue
        for first in _halves(rows, statements[0].mnemonic, f"{form}:x"):
            for second in _halves(rows, statements[1].mnemonic, f"{form}:y"):
                try:
                    return _both(form, (first, second), statements, where)
                except _UnfitError as why:
                    reason = str(why)
    raise Error(f"{statements[0].mnemonic} :: {statements[1].mnemonic}: {reason}")


def _halves(rows: Table, name: str, form: str) -> list[Row]:
    return [row for row in rows.named_rows(name) if row.format.name in (form, f"{form}:bitop2")]


def _both(form: str, rows: tuple[Row, Row], statements: list[_Statement], where: Labels) -> Encoded:
    first, second = (_sources(row, statement) for row, statement in zip(rows, statements))
    if why := bank_conflict(rows[0].family, first, second):
        raise _UnfitError(why)
    bits, literals = 0, b""
    for row, statement in zip(rows, statements):
        half = statement
        if form == "vopd" and row is rows[1]:
            half = _halved(statement, _destination(statements[0]))
        made, literal = _encoded(row, half, where)
        bits |= made
        if literal:
            literals = _one_literal(literals, literal)
    return Encoded(bits.to_bytes(rows[0].size, "little") + literals, rows)


def _sources(row: Row, statement: _Statement) -> dict[str, int]:
    """The VGPRs that half of a pair reads, by their places."""
    found = {}
    for slot, text in zip(row.slots, statement.operands(row)):
        register = re.fullmatch(r"v(?:\[)?(\d+)(?::\d+\])?", _core(text))
        if slot.field is not None and register:
            name = slot.field.name
            if name == "VDST" and "VDST" not in row.reads:
                continue
            third = name in ("VDST", "VSRC2") or (name == "VSRC1" and "fmamk" in row.name)
            found["src2" if third else name] = integer(register[1])
    return found


def _destination(statement: _Statement) -> int:
    found = re.fullmatch(r"v(\d+)", _register(statement.parts[0][0])) if statement.parts else None
    if found is None:
        raise _UnfitError("the destinations of a pair are single VGPRs")
    return integer(found[1])


def _halved(statement: _Statement, first: int) -> _Statement:
    """Y as its row has it: VDST lacks the lowest bit, which is the opposite of X's."""
    second = _destination(statement)
    if not (first ^ second) & 1:
        raise _UnfitError(f"one destination of a pair is even and the other odd; got v{first} and v{second}")
    made = _Statement(statement.mnemonic)
    made.rest = statement.rest
    made.parts = [[f"v{second >> 1}", *statement.parts[0][1:]], *statement.parts[1:]]
    return made
