"""Decoded instructions as text: as llvm-objdump 22 prints them.

Source: LLVM 22.1.8, AMDGPUInstPrinter.
"""

from __future__ import annotations

from .decoded import ConstantOperand, DecodedInstruction, RegisterOperand
from .immediates import STYLES, dpp_control, swizzle
from .operand_codes import constant_patterns, register_text
from .rows import FLAGS, LISTS, NAMES, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Printer = Callable[[int, Row, Mapping[str, int | str]], str]

__all__ = ["hidden_value", "instruction_text", "listed_bits", "operand_text", "order_of", "printed_modifier"]

_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
_SCOPES = ("", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS")
_MULTIPLY = ("", "mul:2", "mul:4", "div:2")
_FLOAT_TEXTS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494")


def instruction_text(instruction: DecodedInstruction) -> str:
    """The assembly of a decoded instruction."""
    row = instruction.form
    assert isinstance(row, Row)
    body = _half_text(instruction, row)
    if instruction.second is not None:
        second = instruction.second
        assert isinstance(second.form, Row)
        return f"{body} :: {_half_text(second, second.form)}"
    return body


def _half_text(instruction: DecodedInstruction, row: Row) -> str:
    modifiers = instruction.modifiers
    signs: dict[str, int] = {}
    if modifiers:
        signs = {sign: int(modifiers[name]) for sign, name in row.signs.items() if name in modifiers}
    sources, destinations = iter(instruction.sources), iter(instruction.destinations)
    texts, number = [], 0
    for slot in row.slots:
        if slot.style and slot.field is not None:
            texts.append(STYLES[slot.style](int(modifiers[slot.field.name.lower()]), row.family))
            continue
        if slot.destination:
            texts.append(register_text(next(destinations)))
            continue
        operand = next(sources)
        own = slot.texts.get(operand) if slot.texts else None
        if isinstance(operand, RegisterOperand):
            shown = register_text(operand)
        else:
            shown = own or operand_text(operand, slot.style or slot.constant, instruction.size - row.size == 8)
        if slot.field is None and not slot.style:
            texts.append(shown)
            continue
        texts.append(_signed(shown, operand, number, signs) if signs else shown)
        number += not slot.style
    operands = f" {', '.join(texts)}" if any(texts) else ""
    return f"{row.mnemonic}{operands}{modifiers_text(instruction, row) if modifiers else ''}"


def _signed(shown: str, operand: RegisterOperand | ConstantOperand, number: int, signs: Mapping[str, int]) -> str:
    """A source with its absolute value, sign and sign extension."""
    negated, absolute = signs.get("neg", 0) >> number & 1, signs.get("abs", 0) >> number & 1
    if signs.get("sext", 0) >> number & 1:
        shown = f"sext({shown})"
    if absolute:
        shown = f"|{shown}|"
    if negated:
        return f"neg({shown})" if isinstance(operand, ConstantOperand) and not absolute else f"-{shown}"
    return shown


def operand_text(operand: RegisterOperand | ConstantOperand, constant: str, wide: bool = False) -> str:
    """A register, or a constant of a type; wide: whether the instruction has a 64-bit literal."""
    if isinstance(operand, RegisterOperand):
        return register_text(operand)
    kind, bits = constant.rstrip("!"), operand.bits
    if kind.startswith("literal"):
        return _own_literal(kind, bits)
    if operand.literal and operand.width == 64:
        return _literal_64(kind, bits, wide)
    if not operand.literal or kind == "v2b16":
        return _inline(kind, bits) or hexadecimal(bits)
    if kind in ("f16", "bf16") and _inline(kind, bits & 0xFFFF):
        return f"lit({bits:#x})"
    if kind == "i16" and _inline("i32", bits):
        return f"lit({bits:#x})"
    if kind in ("i16", "f16"):
        return hexadecimal(bits & 0xFFFF)
    return f"lit({bits:#x})" if _inline(kind, bits) else hexadecimal(bits)


def _inline(kind: str, bits: int) -> str:
    """The text of a pattern that is an inline constant of a type; "" if it is none."""
    width, patterns = constant_patterns(kind or "i32")
    value = bits - (1 << width) if bits >> width - 1 else bits
    if -16 <= value <= 64:
        return str(value)
    if kind in ("i16", "v2b16"):
        return ""
    for code, name in zip(range(240, 249), _FLOAT_TEXTS):
        if patterns[code] == bits:
            return "0.15915494309189532" if code == 248 and width == 64 else name
    return ""


def _own_literal(kind: str, bits: int) -> str:
    """A literal that is part of the instruction: K of fmamk, the value of s_setreg_imm32_b32."""
    if kind == "literali32":
        return _inline("i32", bits) or hexadecimal(bits)
    if kind != "literal64":
        return hexadecimal(bits)
    if bits >> 32 == 0:
        return f"lit64({bits:#x})"
    return hexadecimal(bits >> 32 if bits & 0xFFFFFFFF == 0 else bits)


def _literal_64(kind: str, bits: int, wide: bool) -> str:
    """A literal of a 64-bit operand, of 32 bits or (wide) of 64."""
    if wide and bits >> 32 == 0:
        return f"lit64({bits:#x})"
    if kind == "f64":
        if inline := _inline(kind, bits):
            return inline
        return hexadecimal(bits >> 32 if bits & 0xFFFFFFFF == 0 else bits)
    if wide:
        return _inline(kind, bits) or hexadecimal(bits)
    return f"lit({bits:#x})" if bits <= 64 else hexadecimal(bits & 0xFFFFFFFF)


def hexadecimal(value: int) -> str:
    """0x and digits."""
    return f"{value:#x}"


# --- modifiers ---


def modifiers_text(instruction: DecodedInstruction, row: Row) -> str:
    """What follows the operands."""
    modifiers, parts = instruction.modifiers, []
    elsewhere, order = row.in_place.union(row.signs.values()), order_of(row)
    for name in sorted([name for name in modifiers if name in order and name not in elsewhere], key=order.__getitem__):
        shown = printed_modifier(name, int(modifiers[name]), row, modifiers)
        if shown and f" {shown}" not in parts:
            parts.append(f" {shown}")
    return "".join(parts)


def order_of(row: Row) -> Mapping[str, int]:
    """The place of each modifier among those that follow the operands."""
    return _LDS_STORE if "lds" in row.implied and "from_lds" in row.flags else _RANK


def printed_modifier(name: str, value: int, row: Row, modifiers: Mapping[str, int | str]) -> str:
    """A modifier of a value as the text has it, "" where nothing is printed."""
    if name not in _RANK:
        return ""
    return _PRINTED[name](value, row, modifiers) if name in _PRINTED else f"{name}:{value}" if value else ""


def _offset(value: int, row: Row, modifiers: Mapping[str, int | str]) -> str:
    if not value:
        return ""
    if "swizzle" in row.flags:
        return f"offset:{swizzle(value)}"
    return f"offset:{value:#x}" if row.encoding == "smem" else f"offset:{value}"


def _flag(name: str) -> Printer:
    return lambda value, row, modifiers: name if value else ""


def _choice(name: str, names: tuple[str, ...]) -> Printer:
    return lambda value, row, modifiers: f"{name}:{names[value]}" if value else ""


def hidden_value(name: str, row: Row) -> int:
    """The value of a list of bits that is not printed. Without op_sel_hi both halves are read, but by fma_mix, whose
    sources are then f32."""
    return (1 << row.sources) - 1 if name == "op_sel_hi" and row.signs.get("neg") != "neg_lo" else 0


def listed_bits(name: str, row: Row) -> list[int]:
    """The bits of a modifier that its list has, in order: one for each source; the last of op_sel's may be that of the
    destination, bit 3."""
    places = [*range(row.widths.get(name, row.sources))]
    if name == "op_sel" and len(places) > row.sources:
        places[-1] = 3
    return places


def _mask(name: str) -> Printer:
    def shown(value: int, row: Row, modifiers: Mapping[str, int | str]) -> str:
        bits = [value >> place & 1 for place in listed_bits(name, row)]
        if sum(bit << at for at, bit in enumerate(bits)) == hidden_value(name, row):
            return ""
        return f"{name}:[{','.join(map(str, bits))}]"

    return shown


_plain_op_sel = _mask("op_sel")


def _op_sel(value: int, row: Row, modifiers: Mapping[str, int | str]) -> str:
    """op_sel, and what bits of it are called in swaps of lanes and, of RDNA4 and CDNA5, in 8-bit conversions."""
    if "permlane_swap" in row.flags:
        return " ".join([name for bit, name in ((2, "bound_ctrl:1"), (1, "fi:1")) if value & bit])
    if row.family not in ("rdna4", "cdna5"):
        return _plain_op_sel(value, row, modifiers)
    if "scale_sel" in row.flags:
        return f"scale_sel:{value}" if value else ""
    selected = 0
    if "byte_sel" in row.flags:
        selected, value = (value & 1) << 1 | value >> 1 & 1, value & 8
        parts = ["op_sel:[0,1]" if value else ""]
    elif "byte_sel_dst" in row.flags:
        selected, value = value >> 2, value & 3
        parts = [_plain_op_sel(value, row, modifiers)]
    else:
        return _plain_op_sel(value, row, modifiers)
    return " ".join(filter(None, (*parts, f"byte_sel:{selected}" if selected else "")))


def _th(value: int, row: Row, modifiers: Mapping[str, int | str]) -> str:
    scope = int(modifiers.get("scope", 0))
    if not value:
        return ""
    if "atomic" in row.flags:
        if value & 4:
            return f"th:TH_ATOMIC_CASCADE_{'NT' if value & 2 else 'RT'}" if scope >= 2 else f"th:TH_ATOMIC_{value:#x}"
        if value & 2:
            return "th:TH_ATOMIC_NT" + ("_RETURN" if value & 1 else "")
        return "th:TH_ATOMIC_RETURN"
    store = row.stores
    if value == 7 and not store:
        return "th:0x7"
    bypass = "BYPASS" if scope == 3 else "WB" if store else "LU"
    names = ("", "NT", "HT", bypass, "NT_RT", "RT_NT", "NT_HT", "NT_WB")
    return f"th:TH_{'STORE' if store else 'LOAD'}_{names[value]}"


_PRINTED: dict[str, Printer] = {
    "omod": lambda value, row, modifiers: _MULTIPLY[value],
    **{name: _mask(name) for name in LISTS},
    "op_sel": _op_sel,
    **{name: _flag(name) for name in FLAGS},
    **{name: _choice(name, names) for name, names in NAMES.items()},
    "dpp_ctrl": lambda value, row, modifiers: dpp_control(value, row.family),
    "dpp8": lambda value, row, modifiers: f"dpp8:[{','.join(str(value >> 3 * lane & 7) for lane in range(8))}]",
    "row_mask": lambda value, row, modifiers: f"row_mask:{value:#x}",
    "bank_mask": lambda value, row, modifiers: f"bank_mask:{value:#x}",
    "bound_ctrl": lambda value, row, modifiers: f"bound_ctrl:{value}" if value else "",
    "dst_sel": lambda value, row, modifiers: f"dst_sel:{_SELECTS[value]}",
    "dst_unused": lambda value, row, modifiers: f"dst_unused:{_UNUSED[value]}",
    "src0_sel": lambda value, row, modifiers: f"src0_sel:{_SELECTS[value]}",
    "src1_sel": lambda value, row, modifiers: f"src1_sel:{_SELECTS[value]}",
    "scope": lambda value, row, modifiers: f"scope:{_SCOPES[value]}" if value else "",
    "offset": _offset,
    "th": _th,
    "bitop3": lambda value, row, modifiers: f"bitop3:{value if value <= 10 else hexadecimal(value)}" if value else "",
}  # fmt: skip
_ORDER = (
    "bitop3", "op_sel", "op_sel_hi", "index_key", "matrix_a_fmt", "matrix_b_fmt", "matrix_a_scale", "matrix_b_scale",
    "matrix_a_scale_fmt", "matrix_b_scale_fmt", "matrix_a_reuse", "matrix_b_reuse", "cbsz", "abid", "blgp", "neg",
    "neg_lo", "neg_hi", "clamp", "omod", "dpp_ctrl", "dpp8", "row_mask", "bank_mask",
    "bound_ctrl", "fi", "dst_sel", "dst_unused", "src0_sel", "src1_sel", "idxen", "offen", "offset",
    "offset0", "offset1", "gds", "r128", "scale_offset", "th", "scope", "nv", "glc", "sc0", "slc", "nt", "dlc", "scc",
    "sc1", "lds", "tfe",
)  # fmt: skip
_RANK = {name: at for at, name in enumerate(_ORDER)}
_LDS_STORE = {name: at for at, name in enumerate(dict.fromkeys(("idxen", "offen", "offset", "lds", *_ORDER)))}
