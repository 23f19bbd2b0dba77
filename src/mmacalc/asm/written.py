"""Operands and modifiers as they are written, read: what the printer writes, and what LLVM takes beside it.

Source: LLVM 22.1.8's assembler (tests/test_encoder.py, tests/test_asm_llvm.py).
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..base.checks import whole
from ..base.errors import Error
from ..base.records import TupleRecord
from ..formats import named
from .decoded import ConstantOperand
from .decoded_text import hidden_value, listed_bits, order_of, printed_modifier
from .immediates import (
    DEPENDENCIES,
    INSTANCES,
    SKIPS,
    STYLES,
    counter_fields,
    hardware_registers,
    swizzle,
)
from .operand_codes import OTHER_NAMES, ZERO, Literal, constant_bits, constant_code, rounded
from .registers import FILES
from .rows import NAMES, kind_of
from .tokens import floating, integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from .rows import Modifier, Row, Slot

    Register: TypeAlias = tuple[str, int, int, int, int]
    """As `RegisterOperand`: file, first, count, half, bits."""

__all__ = [
    "HARDWARE", "LONG_NAMES", "Labels", "UnfitError", "modifier_default", "modifier_value", "modifiers_code",
    "number_code", "operand_code", "own_literal", "register", "style_value", "unsigned",
]  # fmt: skip


class Labels(TupleRecord):
    """What names mean where an instruction stands: its address, labels -> their addresses in the same section (None in
    the first pass, when they are not known yet), symbols -> their values."""

    address: int
    labels: Mapping[str, int | None]
    symbols: Mapping[str, int]


class UnfitError(Error):
    """A row does not take an operand or a modifier; the message says why and names the row."""


# --- registers ---

_ONE = re.compile(r"(v|a|acc|s|ttmp)(\d{1,9})(?:\.([lh]))?", re.ASCII)
_TUPLE = re.compile(r"(v|a|acc|s|ttmp)\[([^\]:]+)(?::([^\]]+))?\](?:\.([lh]))?")
# Where a register may begin, and where its tuple may end: of CDNA5's 1024 VGPRs an encoding names the first 256.
_FIRSTS = {"v": 256, "a": 256, "s": 106, "ttmp": 16}
_ENDS = {**_FIRSTS, "v": 1024}
LONG_NAMES = {short: name for name, short in OTHER_NAMES.items()}
"""Values of the hardware by their names without "src_"."""
HARDWARE = frozenset((
    "vcc", "vcc_lo", "vcc_hi", "exec", "exec_lo", "exec_hi", "m0", "flat_scratch", "flat_scratch_lo",
    "flat_scratch_hi", "xnack_mask", "xnack_mask_lo", "xnack_mask_hi", *LONG_NAMES.values(),
    "src_flat_scratch_base_lo", "src_flat_scratch_base_hi",
))  # fmt: skip
"""The scalar registers that are not counted, and values of the hardware, as they are written."""


@lru_cache(maxsize=16384)
def _register(text: str) -> Register | None:
    return _read(text, {})


def register(text: str, symbols: Mapping[str, int]) -> Register | None:
    """The registers that a text names by their numbers; None of another text.

    Raises:
        Error: they are written in capitals, end before they begin, or there are none of these numbers.

    >>> register("acc[4:7]", {}), register("[v1, v2]", {}), register("v3.h", {}), register("vcc", {})
    (('a', 4, 4, 0, 128), ('v', 1, 2, 0, 64), ('v', 3, 1, 1, 16), None)
    """
    return _read(text, symbols) if symbols else _register(text)


def _read(text: str, symbols: Mapping[str, int]) -> Register | None:
    if found := _ONE.fullmatch(text):
        first = last = whole(found[2], "a register")
    elif text[:1] == "[":
        return _listed(text, symbols)
    elif text[-1:] in "]lh" and (found := _TUPLE.fullmatch(text)):
        first = integer(found[2], symbols)
        last = integer(found[3], symbols) if found[3] else first
    elif text != text.lower() and (_ONE.fullmatch(text.lower()) or _TUPLE.fullmatch(text.lower())):
        raise Error(f"registers are written in lower case: {text.lower()}; got {text}")
    else:
        return None
    file, half = FILES[found[1]], found[found.lastindex or 0] if found[0][-1] in "lh" else ""
    if last < first:
        raise Error(f"{file}[{first}:{last}] ends before it begins")
    if not 0 <= first < _FIRSTS[file] or last >= _ENDS[file]:
        shown = f"{file}{first}" if first == last else f"{file}[{first}:{last}]"
        raise Error(f"{shown} is beyond the last register, {file}{_FIRSTS[file] - 1}")
    count = last - first + 1
    return file, first, count, int(half == "h"), 16 if half else 32 * count


def _listed(text: str, symbols: Mapping[str, int]) -> Register:
    """A list of single registers that follow one another."""
    parts = [part.strip() for part in text[1:-1].split(",")]
    if any(part[:1] == "[" for part in parts):
        raise Error("a list of registers has no list in it")
    listed = [register(part, symbols) for part in parts]
    first = listed[0]
    wanted = [] if first is None else [(first[0], first[1] + at, 1, 0, 32) for at in range(len(listed))]
    if first is None or listed != wanted:
        raise Error(f"[{', '.join(parts)}] is not a list of single registers in a row")
    return first[0], first[1], len(listed), 0, 32 * len(listed)


def unsigned(text: str, number: int, signs: dict[str, int], symbols: Mapping[str, int]) -> str:
    """A source without its signs, which are entered for its number."""
    negated = False
    if text[0] == "-" and not (text[1:2].isdigit() or text[1:2] in (".", "(") or text[1:] in symbols):
        text, negated = text[1:], True
    for name in ("neg", "abs", "sext", "neg"):
        if text.startswith(f"{name}(") and text.endswith(")"):
            text = text[len(name) + 1 : -1]
            signs[name] |= 1 << number
    if text.startswith("|") and text.endswith("|") and len(text) > 2:
        text = text[1:-1]
        signs["abs"] |= 1 << number
    if text.startswith("sext(") and text.endswith(")"):
        text = text[5:-1]
        signs["sext"] |= 1 << number
    if negated:
        signs["neg"] |= 1 << number
    return text


# --- constants ---

_FORCED = re.compile(r"(lit|lit64)\((.*)\)")


def operand_code(
    row: Row, slot: Slot, text: str, where: Labels, entries: tuple[object, ...]
) -> tuple[int, bytes] | None:
    """The code of a constant by the codes of an operand, and its literal; None if it is neither an inline constant nor
    a literal that the operand takes.

    Raises:
        Error: the text is not a constant, or it does not fit.
    """
    kind = slot.constant.rstrip("!")
    forced = _FORCED.fullmatch(text)
    body = forced[2] if forced else text
    number = floating(body)
    value, unknown = (0, False) if number is not None else _expression(body, where)
    code = None if forced or unknown else constant_code(value if number is None else number, kind)
    if code is not None:
        return code + _base(entries), b""
    if not slot.constant.endswith("!"):
        return None
    pattern = None if number is None else constant_bits(number, kind)
    if number is not None and pattern is None:
        raise Error(f"{text} does not fit in {kind}")
    return _literal_code(row, kind, (value, number, pattern, forced[1] if forced else ""), entries, text)


def _base(entries: tuple[object, ...]) -> int:
    """Where the constants of a field begin: an SDWA source has its scalar sources from 256 on."""
    return 0 if isinstance(entries[ZERO], ConstantOperand) else 256


def _literal_code(
    row: Row, kind: str, given: tuple[int, float | None, int | None, str], entries: tuple[object, ...], text: str
) -> tuple[int, bytes]:
    value, number, pattern, forced = given
    # LLVM's decoder reads literals of 64 bits in VOP3, and any there on CDNA; its assembler writes none of these.
    three = row.encoding in ("vop3", "vop3p")
    if three and row.family in ("cdna1", "cdna2", "cdna3"):
        raise Error(f"{text} is not an inline constant, and instructions of 64 bits take no literal on this target")
    wide = isinstance(entries[254], Literal) and not three
    if number is not None:
        if kind == "i64":
            raise Error(
                f"{text} is a floating point number and not an inline constant, and 64-bit integers take no other"
            )
        if kind == "f64":
            assert pattern is not None
            if wide and (pattern & 0xFFFFFFFF or forced == "lit64"):
                return 254, pattern.to_bytes(8, "little")
            return 255, (pattern >> 32).to_bytes(4, "little")
        assert pattern is not None
        return 255, pattern.to_bytes(4, "little")
    if wide and forced != "lit64" and kind == "f64" and value & 0xFFFFFFFF == 0:
        value >>= 32  # the high half; the low one is 0
    # What 32 bits extended by their sign and by zeros would be different numbers is written whole.
    whole = kind == "i64" and not 0 <= value < 1 << 31
    if wide and (forced == "lit64" or whole or not -(1 << 31) <= value < 1 << 32):
        if not -(1 << 63) <= value < 1 << 64:
            raise Error(f"{text} does not fit in 64 bits")
        return 254, (value & (1 << 64) - 1).to_bytes(8, "little")
    if forced == "lit64" or not -(1 << 31) <= value < 1 << 32:
        raise Error(f"{text} does not fit in the 32 bits of a literal")
    if kind in ("i16", "f16", "bf16") and not -(1 << 15) <= value < 1 << 16 and not forced:
        raise Error(f"{text} does not fit in 16 bits")
    return 255, (value & 0xFFFFFFFF).to_bytes(4, "little")


def own_literal(slot: Slot, text: str, where: Labels) -> bytes:
    """K of fmamk, the value of s_setreg_imm32_b32: the literal is always there."""
    width = integer(slot.style.removeprefix("literal").removeprefix("i"))
    forced = _FORCED.fullmatch(text)
    body = forced[2] if forced else text
    size = 8 if width == 64 else 4
    if (number := floating(body)) is not None:
        pattern = rounded(number, named({16: "f16", 32: "f32", 64: "f64"}[width]))
        if pattern is None:
            raise Error(f"{text} does not fit in {width} bits")
        return pattern.to_bytes(size, "little")
    value, _ = _expression(body, where)
    if width == 64 and not forced and 0 <= value < 1 << 32:
        value <<= 32
    if not -(1 << width - 1) <= value < 1 << width:
        raise Error(f"{text} does not fit in {width} bits")
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


_NAME = re.compile(r"(?<![\w.$@])[A-Za-z_.$][\w.$@]*")


def _expression(text: str, where: Labels) -> tuple[int, bool]:
    """The value of an integer expression, and whether labels decide it, so that it is a literal of any value."""
    names = [name for name in _NAME.findall(text) if name not in where.symbols]
    if not names:
        return integer(text, where.symbols), False
    for name in names:
        if name not in where.labels and name != ".":
            raise Error(
                f"'{name}' is not a register, constant, symbol or label; what a linker would fill in is not taken"
            )
    places = {name: where.labels[name] or 0 for name in names if name != "."}
    here, there = (integer(text, {**where.symbols, **{n: p + base for n, p in places.items()}}) for base in (0, 64))
    if here != there:
        raise Error(f"'{text}' depends on where a linker puts the code; differences of labels are taken")
    return here, True


def number_code(row: Row, slot: Slot, text: str, where: Labels) -> int:
    """The value of a number in the place of an operand."""
    field = slot.field
    assert field is not None
    if row.branch and field.name == "SIMM16" and text in where.labels:
        there = where.labels[text]
        offset = 0 if there is None else there - where.address - 4
        if offset % 4 or not -(1 << 17) <= offset < 1 << 17:
            raise Error(f"the label {text} is out of reach, {offset} bytes away")
        return offset // 4 & 0xFFFF
    value = style_value(slot.style, text, row.family, where.symbols)
    width = field.width
    least, end = 0, 1 << width
    if field.name == "SIMM16":
        least = -(1 << width - 1)
    elif field.name == "OFFSET":
        least, end = -(1 << width - 1), 1 << width - 1
    if not least <= value < end:
        raise Error(f"{text} does not fit in {width} bits: it should be from {least} to {end - 1}")
    return value & (1 << width) - 1


# --- names in the place of numbers ---

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(([^()]*)\)")


def style_value(style: str, text: str, family: str, symbols: Mapping[str, int]) -> int:
    """The number that a text in the place of an operand means.

    Raises:
        Error: it is neither a number nor a name of this kind.

    >>> style_value("waitcnt", "vmcnt(0)", "cdna3", {}), style_value("hwreg", "hwreg(HW_REG_MODE, 0, 4)", "cdna3", {})
    (3952, 6145)
    """
    text = text.strip()
    reader = _READERS.get(style)
    if reader is not None and not re.match(r"[-~(]*\d", text):
        return reader(text, family, symbols)
    return integer(text, symbols)


def _calls(text: str) -> list[tuple[str, str]]:
    """name(value) separated by spaces, commas, & or |."""
    found = _CALL.findall(text)
    if not found or re.sub(r"[\s,&|]", "", _CALL.sub("", text)):
        raise Error(f"cannot read '{text}'")
    if len({name for name, _ in found}) < len(found):
        raise Error(f"'{text}' has a name twice")
    return found


def _bounded(name: str, value: int, most: int, saturating: bool = False) -> int:
    if saturating:
        return min(value, most)
    if not 0 <= value <= most:
        raise Error(f"{name} is 0 to {most}; got {value}")
    return value


def _counters(text: str, family: str, symbols: Mapping[str, int]) -> int:
    fields = counter_fields(family)
    values = {name: most for name, _, most in fields}
    for name, given in _calls(text):
        plain = name.removesuffix("_sat")
        if plain not in values:
            raise Error(f"s_waitcnt has {', '.join(values)}; got {name}")
        values[plain] = _bounded(name, integer(given, symbols), values[plain], name != plain)
    result = 0
    for name, parts, _ in fields:
        shift = 0
        for low, width in parts:
            result |= (values[name] >> shift & (1 << width) - 1) << low
            shift += width
    return result


def _dependencies(text: str, family: str, symbols: Mapping[str, int]) -> int:
    values = {name: (1 << width) - 1 for name, _, width in DEPENDENCIES}
    for name, given in _calls(text):
        plain = name.removeprefix("depctr_").removesuffix("_sat")
        if plain not in values:
            raise Error(f"'{name}' is not one of {', '.join(values)}")
        values[plain] = _bounded(name, integer(given, symbols), values[plain], name.endswith("_sat"))
    unused = 0xFFFF & ~sum(((1 << width) - 1) << low for _, low, width in DEPENDENCIES)
    return sum(values[name] << low for name, low, _ in DEPENDENCIES) | unused & _UNUSED_DEPENDENCIES


_UNUSED_DEPENDENCIES = 0x0F80


def _delay(text: str, family: str, symbols: Mapping[str, int]) -> int:
    places = {"instid0": (0, INSTANCES), "instskip": (4, SKIPS), "instid1": (7, INSTANCES)}
    value = 0
    for name, given in _calls(text):
        if name not in places or given not in places[name][1]:
            raise Error(f"cannot read '{name}({given})' of s_delay_alu")
        value |= places[name][1].index(given) << places[name][0]
    return value


def _hardware(text: str, family: str, symbols: Mapping[str, int]) -> int:
    calls = _calls(text) if text.startswith("hwreg") else [("hwreg", text)]
    call = calls[0]
    register, *more = [part.strip() for part in call[1].split(",")]
    names = {f"HW_REG_{name}": number for number, name in hardware_registers(family).items()}
    number = names[register] if register in names else integer(register, symbols)
    offset, size = (integer(each, symbols) for each in more) if len(more) == 2 else (0, 32)
    if len(calls) > 1 or call[0] != "hwreg" or len(more) not in (0, 2):
        raise Error(f"cannot read '{text}'; it is hwreg(NAME) or hwreg(NAME, OFFSET, SIZE)")
    _bounded("the register", number, 63)
    return number | _bounded("the offset", offset, 31) << 6 | _bounded("the size less one", size - 1, 31) << 11


@lru_cache(maxsize=32)
def _printed(style: str, family: str) -> dict[str, int]:
    """The value of every text that a style prints."""
    found: dict[str, int] = {}
    for value in range(1 << 16):
        found.setdefault(STYLES[style](value, family).replace(" ", ""), value)
    return found


def _by_text(style: str) -> Callable[[str, str, Mapping[str, int]], int]:
    def read(text: str, family: str, symbols: Mapping[str, int]) -> int:
        found = _printed(style, family).get(text.replace(" ", ""))
        if found is None:
            raise Error(f"cannot read '{text}'")
        return found

    return read


_READERS: dict[str, Callable[[str, str, Mapping[str, int]], int]] = {
    "waitcnt": _counters, "depctr": _dependencies, "delay": _delay, "hwreg": _hardware, "sendmsg": _by_text("sendmsg"),
    "gpridx": _by_text("gpridx"), "version": _by_text("version"),
}  # fmt: skip


@lru_cache(maxsize=1)
def _swizzles() -> dict[str, int]:
    found: dict[str, int] = {}
    for value in range(1 << 16):
        found.setdefault(swizzle(value), value)
    return found


def _swizzle_value(text: str) -> int:
    """The offset of a pattern of ds_swizzle_b32.

    Raises:
        Error: LLVM prints no such pattern.
    """
    words = text.replace(" ", "")
    if pattern := re.fullmatch(r'swizzle\(BITMASK_PERM,"([01pi]{5})"\)', words):  # the masks as LLVM writes them
        return sum(_MASKS[letter] << bit for bit, letter in enumerate(reversed(pattern[1])))
    found = _swizzles().get(words)
    if found is None:
        raise Error(f"cannot read '{text}'")
    return found


_MASKS = {"0": 0, "1": 1 << 5, "p": 1, "i": 1 | 1 << 10}  # of a bit of the lane's number: and, or, xor


# --- modifiers ---

_DEFAULTS = {"row_mask": 15, "bank_mask": 15, "dst_sel": 6, "dst_unused": 2, "src0_sel": 6, "src1_sel": 6}
_CDNA = ("cdna1", "cdna2", "cdna3")
_SELECTED = ("op_sel:", "byte_sel:", "scale_sel:")
_OWN_NAMES = frozenset(("permlane_swap", "scale_sel", "byte_sel", "byte_sel_dst"))  # for bits of OP_SEL
_SCOPES = ("", "scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS")
# Cache policies are one operand to LLVM, in any order.
_CACHE = frozenset(("scale_offset", "th", "scope", "nv", "glc", "sc0", "slc", "nt", "dlc", "scc", "sc1"))


class _Words:
    """The words that are left of the modifiers of a statement, and which modifier each of the others was."""

    def __init__(self, row: Row, words: list[str]) -> None:
        self.row = row
        self.places = {word: at for at, word in enumerate(words)}
        self.named = {word.partition(":")[0]: word for word in words}
        self.ranks: list[tuple[int, int, str]] = []
        if len(self.named) < len(words):
            names = [word.partition(":")[0] for word in words]
            raise UnfitError(f"{max(names, key=names.count)} of {row.mnemonic} is written twice")

    def take(self, word: str, name: str) -> None:
        """A word that was read as a modifier."""
        rank = order_of(self.row).get("th" if name in _CACHE else name, 0)
        self.ranks.append((self.places.pop(word), rank, word.partition(":")[0]))

    def valued(self, name: str) -> str | None:
        """What follows the colon of a modifier, which is taken; None if it is not written."""
        word = self.named.get(name)
        if word not in self.places or ":" not in word:
            return None
        self.take(word, name)
        return word[len(name) + 1 :]

    def check(self) -> None:
        """Refuse words that were not read, and those out of order."""
        row = self.row
        names = [one.name for one in row.modifiers if one.name not in row.in_place.union(row.signs.values())]
        if self.places:
            has = f"its modifiers are {', '.join(names)}" if names else "it has no modifiers"
            raise UnfitError(f"{row.mnemonic} has no modifier '{next(iter(self.places))}'; {has}")
        highest = -1
        for _, rank, name in sorted(self.ranks):
            if rank < highest:
                written = ", ".join(sorted(names, key=lambda one: order_of(row).get(one, 0)))
                raise UnfitError(f"{name} of {row.mnemonic} is out of order; its modifiers are written {written}")
            highest = rank


def modifiers_code(row: Row, words: list[str], signs: dict[str, int], symbols: Mapping[str, int]) -> int:
    """The bits of the modifiers: those of the words, of the signs at operands, and the defaults.

    Raises:
        UnfitError: the row does not take them.
    """
    plain = not words and not any(signs.values())
    if plain and row.unmodified is not None:
        return row.unmodified
    left = _Words(row, words)
    _take_implied(row, left)
    bits, scope = 0, next((at for at, name in enumerate(_SCOPES) if name in left.places), 0)
    of_operands = {name: sign for sign, name in row.signs.items()}
    for modifier in row.modifiers:
        name, shift, mask, split, _, _, known, field = modifier
        if name in row.in_place:
            continue
        if name in of_operands:
            value = signs.pop(of_operands[name], 0)
        else:
            value = _chosen(row, modifier, left, scope, symbols)
        if value & ~mask or (known is not None and value not in known):
            raise UnfitError(f"{name} of {row.mnemonic} takes no such value")
        placed, all_bits = (split.spread(value), field.mask) if split is not None else (value << shift, mask << shift)
        if (placed ^ row.value) & row.mask & all_bits:  # bit 0 of TH says whether an atomic returns
            raise UnfitError(f"{name} of {row.mnemonic} cannot be combined with its operands")
        bits |= placed
    if wrong := [name for name, value in signs.items() if value]:
        instead = [name for name in ("neg", "neg_lo", "neg_hi") if any(one.name == name for one in row.modifiers)]
        hint = f"; it has {' and '.join(instead)}" if wrong[0] == "neg" and instead else ""
        raise UnfitError(f"no operand of {row.mnemonic} has a sign, {wrong[0]}{hint}")
    left.check()
    if plain:
        row.unmodified = bits
    return bits


def _take_implied(row: Row, left: _Words) -> None:
    """Take the modifiers away that the row implies, and refuse where the text lacks them."""
    in_place = {slot.field.name.lower() for slot in row.slots if slot.field}
    for name, value in row.implied.items():
        shown = "" if name in in_place else printed_modifier(name, value, row, row.implied)
        if shown and shown not in left.places:
            raise UnfitError(f"{row.mnemonic}: {shown} is missing")
        if shown:
            left.take(shown, name)


def _chosen(row: Row, modifier: Modifier, left: _Words, scope: int, symbols: Mapping[str, int]) -> int:
    """The value of a modifier by the words that are left, which it takes away."""
    name, kind = modifier.name, kind_of(modifier.name)
    if kind == "flag":
        for word, value in ((name, 1), (f"no{name}", 0)):  # LLVM takes noclamp for what is not clamped
            if word in left.places:
                left.take(word, name)
                return value
        return 0
    if kind and not (name == "op_sel" and not row.flags.isdisjoint(_OWN_NAMES)):
        given = left.valued(name)
        if name == "bound_ctrl" and given is not None and row.family in _CDNA:
            given = "1" if given == "0" else given  # LLVM, convertDppBoundCtrl: compilers wrote 0 for the bit
        return modifier_default(row, modifier) if given is None else modifier_value(row, modifier, given, symbols)
    if name == "dpp8":
        given = left.valued(name)
        lanes = re.fullmatch(r"\[((?:[0-7],){7}[0-7])\]", given or "")
        if lanes is None:
            raise UnfitError(f"{row.mnemonic}: dpp8:[...] with eight lanes is missing")
        return sum(integer(lane) << 3 * at for at, lane in enumerate(lanes[1].split(",")))
    return _by_texts(row, modifier, left, scope)


def _by_texts(row: Row, modifier: Modifier, left: _Words, scope: int) -> int:
    """The value of a modifier that its texts alone say."""
    name = modifier.name
    texts = _texts(row, name, modifier.mask, scope)
    if name == "op_sel":
        own = [word for word in left.places if word.startswith(_SELECTED)]
        if "permlane_swap" in row.flags:
            own = [word for word in left.places if word in ("bound_ctrl:1", "fi:1")]
        found = texts.get(" ".join(sorted(own)))
        if found is None:
            raise UnfitError(f"{row.mnemonic} does not take {' '.join(own) or 'what selects nothing'}")
        for word in own:
            left.take(word, name)
        return found
    for word in left.places:
        if word in texts:
            left.take(word, name)
            return texts[word]
    if name == "dpp_ctrl":
        raise UnfitError(f"{row.mnemonic} needs a DPP control, such as quad_perm:[0,1,2,3]")
    return _DEFAULTS.get(name, texts.get("", 0))


def modifier_default(row: Row, modifier: Modifier) -> int:
    """The value of a modifier that is not written."""
    hidden = hidden_value(modifier.name, row) if kind_of(modifier.name) == "bits" else 0
    return _DEFAULTS.get(modifier.name, 0 if hidden & ~modifier.mask else hidden)


def modifier_value(row: Row, modifier: Modifier, given: str, symbols: Mapping[str, int] = {}) -> int:
    """The value of what follows the colon of a modifier.

    Raises:
        UnfitError: the row does not take it.
    """
    name = modifier.name
    whose = f"{name} of {row.mnemonic}"
    kind, names = kind_of(name), NAMES.get(name, ())
    if kind == "flag":
        return 1
    if given in names:
        return names.index(given)
    try:
        if given.startswith("swizzle("):
            return _swizzle_value(given)
        if kind == "bits":
            return _bits(row, modifier, given, symbols)
        value = integer(given, symbols)
    except UnfitError:
        raise
    except Error as reason:
        if names and given[:1].isalpha():
            raise UnfitError(f"{whose} is one of {', '.join(names)}; got {given}") from None
        raise UnfitError(f"{whose}: {reason}") from None
    sign = modifier.sign
    least, most = (-sign, sign - 1) if sign else (0, modifier.mask)
    if isinstance(modifier.known, frozenset):
        most = max(modifier.known)
    if not least <= value <= most:
        shown = ", ".join(f"{text} ({at})" for at, text in enumerate(names)) or f"{least} to {most}"
        raise UnfitError(f"{whose} is {shown}; got {value}")
    return value & modifier.mask


def _bits(row: Row, modifier: Modifier, given: str, symbols: Mapping[str, int]) -> int:
    """A list of bits, which may be shorter than what is printed; bits that are dropped are not looked at."""
    whose = f"{modifier.name} of {row.mnemonic}"
    if given[:1] != "[" or given[-1:] != "]":
        raise UnfitError(f"{whose} is a list of 0 and 1, such as [1,0,0]; got {given}")
    bits = [integer(part, symbols) for part in given[1:-1].split(",")]
    if wrong := [bit for bit in bits if bit not in (0, 1)]:
        raise UnfitError(f"{whose} is a list of 0 and 1, such as [1,0,0]; got {wrong[0]}")
    places = listed_bits(modifier.name, row)
    dropped = row.dropped.get(modifier.name, 0)
    value = sum(bit << (places[at] if at < len(places) else at) for at, bit in enumerate(bits) if not dropped >> at & 1)
    if len(bits) > 4 or not modifier.takes(value):
        legal = [at for at, place in enumerate(places) if modifier.takes(1 << place)]
        names = [slot.name or f"source {at}" for at, slot in enumerate(one for one in row.slots if not one.destination)]
        free = " and ".join(names[at] for at in legal if at < len(names))
        shown = ",".join(name if len(name) == 1 else str(at) for at, name in enumerate(names[: len(places)]))
        raise UnfitError(f"{whose} can only be set for {free}, as [{shown}]; got {bits}")
    return value


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
