"""Which modifiers an instruction has, under which names, and which values they take.

`Instruction.modifier_limits`, `.resolved` and `.check_modifiers` are implemented here. What the fields do to a layout
is in `mmacalc.families`. Names are those of the encodings' fields.
"""

from __future__ import annotations

from ..base.checks import require_int
from ..base.errors import Error, did_you_mean
from ..formats import CHOICES, chosen, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .instruction import Instruction

__all__ = ["canonical_modifiers", "check_modifiers", "modifier_ranges", "negated"]

# Other spellings of modifiers: those of assembly text.
SYNONYMS = {"op_sel": "opsel", "opsel_hi": "op_sel_hi", "neg_lo": "neg", "index_key": "opsel"}
FORMAT_SYNONYMS = {"A": ("cbsz", "matrix_a_fmt"), "B": ("blgp", "matrix_b_fmt")}
BESIDE = ("clamp", "satfinite", "wave", "index", "scale_a", "scale_b")  # arguments of multiply that are none
SCALE_ROWS = ("MATRIX_SCALE_ROW0", "MATRIX_SCALE_ROW1")  # LLVM's names of the values of matrix_a_scale
KNOWN_MODIFIERS = (
    "cbsz", "abid", "blgp", "opsel", "op_sel_hi", "neg", "neg_hi",
    "selector", "byte_id_a", "thread_id_a", "byte_id_b", "thread_id_b",
)  # fmt: skip


def modifier_ranges(instruction: Instruction, wave: int | None, cbsz: int) -> dict[str, tuple[int, ...]]:
    """The modifiers that an instruction has, with the values that each may take: see `Instruction.modifier_limits`."""
    values: dict[str, tuple[int, ...]] = {}
    if "cbsz" in instruction.features:
        most = 3 if instruction.sparse else instruction.blocks.bit_length() - 1
        values["cbsz"] = tuple(range(most + 1))
        blocks = 1 << max(0, min(cbsz, most))
        values["abid"] = tuple(range(_index_choices(instruction, wave, cbsz) if instruction.sparse else blocks))
    if "blgp" in instruction.features:
        values["blgp"] = tuple(range(8))
    for field, operand in instruction.choices.items():
        values[field] = tuple(range(len(CHOICES[instruction.formats[operand]])))
    if "opsel" in instruction.features:
        values["opsel"] = tuple(range(instruction.index_sets(wave))) if instruction.sparse else (0, 4)
    for field in instruction.architecture.scale_fields if instruction.scaled else ():
        values[field] = tuple(range(instruction.architecture.scale_fields[field]))
    if "neg" in instruction.features:
        values["neg"] = tuple(range(4 if instruction.integer else 8))
        of_c = (0,) if instruction.integer else (0, 4)  # an element that fills a register has no upper half
        values["neg_hi"] = tuple(range(8)) if of_c[1:] and instruction.format("A").bits == 16 else of_c
    if "neg_c" in instruction.features:
        values["neg"] = values["neg_hi"] = (0, 4)
    return {**values, **instruction.architecture.family.fields(instruction)}


def _index_choices(instruction: Instruction, wave: int | None, cbsz: int) -> int:
    """How many values of ABID a sparse instruction takes: all 16 where the hardware ignores the field, since one set
    fills the register or CBSZ[1:0] is not 0 (CDNA4 ISA guide, section 7.5, "Sparse Index Select"; AMD's hip-fpsan runs
    CBSZ 1 with ABID 3 on gfx950, and LLVM takes any)."""
    sets = instruction.index_sets(wave)
    return sets if sets > 1 and not cbsz else 16


def canonical_modifiers(instruction: Instruction, modifiers: Mapping[str, int | str]) -> dict[str, int]:
    """Modifiers under the architecture's names for them, as numbers: see `Instruction.resolved`."""
    if not modifiers:
        return {}
    synonyms, choices = dict(SYNONYMS), instruction.choices
    if "blgp" in instruction.features and instruction.formats["A"] == "f64":
        synonyms |= {"neg": "blgp", "neg_lo": "blgp"}  # LLVM's assembly has neg:[1,0,1] for blgp:5
    for field, operand in choices.items():
        synonyms |= dict.fromkeys(FORMAT_SYNONYMS.get(operand, ()), field)
    result: dict[str, int] = {}
    for given, value in modifiers.items():
        name = synonyms.get(given, given)
        if isinstance(value, str) and value.upper() in SCALE_ROWS and name in instruction.architecture.scale_fields:
            value = SCALE_ROWS.index(value.upper())
        elif isinstance(value, str):
            if name not in choices:
                rows = f" or {' or '.join(SCALE_ROWS)}" if name in instruction.architecture.scale_fields else ""
                why = f": {instruction.name} has no formats to choose by it" if not rows else ""
                raise Error(f"{given} = '{value}' should be a number{rows}{why}")
            value = chosen(instruction.formats[choices[name]], value)
        number = require_int(given, value)
        if result.setdefault(name, number) != number:
            raise Error(f"{name} of {instruction.name} is given twice: {result[name]} and {number}")
    return result


def check_modifiers(instruction: Instruction, wave: int | None, modifiers: Mapping[str, int]) -> None:
    """Refuse modifiers that an instruction lacks, and values out of range: see `Instruction.check_modifiers`."""
    if not modifiers:
        return
    allowed = instruction.modifier_limits(wave, modifiers.get("cbsz", 0))
    known = dict.fromkeys((*KNOWN_MODIFIERS, *allowed))
    for name, value in modifiers.items():
        if name not in known:
            hint = did_you_mean(name, (*known, *BESIDE))
            raise Error(f"unknown modifier '{name}'.{hint} Known: {', '.join(known)}", kind="unknown name")
        if value and name not in allowed:
            has = f"its modifiers are {', '.join(allowed)}" if allowed else "it has no modifiers"
            raise Error(f"{instruction.name} on {instruction.architecture.title} has no {name.upper()}; {has}")
        if value and value not in allowed[name]:
            whose = f"{instruction.name}{_on(instruction, name, wave, modifiers)}"
            allowed_text = _values_text(instruction, name, allowed[name])
            raise Error(f"{name.upper()} of {whose} is {allowed_text}; got {value}")


def _on(instruction: Instruction, field: str, wave: int | None, modifiers: Mapping[str, int]) -> str:
    """What else decides which values a field takes, as a message says it."""
    if field == "abid" and not instruction.sparse:
        return f" with CBSZ {modifiers.get('cbsz', 0)}"
    if field == "opsel" and instruction.sparse and len(instruction.architecture.waves) > 1:
        return f" in wave{instruction.architecture.wave(wave)}"
    return ""


def _values_text(instruction: Instruction, field: str, values: tuple[int, ...]) -> str:
    """The values of a field as a message says them, with the formats that they choose."""
    if field not in instruction.choices:
        return _range_text(values)
    names = CHOICES[instruction.formats[instruction.choices[field]]]
    return ", ".join(f"{value} ({named(name).title.split()[0].lower()})" for value, name in zip(values, names))


def negated(bits: int, operand: str) -> bool:
    """Whether a 3-bit negate field (NEG, NEG_HI, or BLGP of an FP64 MFMA) names this operand.

    >>> negated(0b010, "B"), negated(0b010, "A")
    (True, False)
    """
    return operand in "ABC" and bool(bits >> "ABC".index(operand) & 1)


def _range_text(values: tuple[int, ...]) -> str:
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]} to {values[-1]}"
    return " or ".join(map(str, values))
