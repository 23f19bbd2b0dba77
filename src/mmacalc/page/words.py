"""The instruction words of AMD's instructions as data for the page: which field every operand and modifier fills.

    encodings     [name, bytes, [[field, bits, meaning] ...]]
    words         [encoding, the bytes of the instruction as it stands (hexadecimal), slots, text modifiers, refusal]
    slots         [operand, first register, field, file, registers or [field, registers for each value]]
    text          [modifier, spelling, kind, field of the encoding, value that is not written, names, bits written]

A refusal is the number of the note that says why the assembler refuses the formats, -1 where it takes them: a number,
or a choice by the fields.

The registers are chosen so that every format has room: an instruction keeps its registers when a modifier widens A.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ..asm.assembler import assemble
from ..asm.decoded_text import hidden_value
from ..asm.forms import form_of, model_modifiers
from ..asm.rows import NAMES, kind_of
from ..asm.targets import own_assembler, target
from ..asm.written import modifier_default

if TYPE_CHECKING:
    from ..asm.fields import Encoding
    from ..asm.rows import Row, Slot
    from ..model import Instruction

__all__ = ["encodable", "encoding_data", "refusals", "word_data"]


def _form(inst: Instruction, wave: int) -> Row | None:
    if not inst.architecture.assembly or own_assembler(inst.arch):  # the page encodes by AMD's forms only
        return None
    return form_of(inst.name, target(inst.arch, wave))


def encodable(inst: Instruction, wave: int) -> dict[str, tuple[int, ...]]:
    """The values of every modifier that an assembler takes; a modifier that it lacks can only be 0.

    `Instruction.modifier_limits` has more: AMD's calculator takes NEG of a C that SWMMAC does not have.

    >>> import mmacalc
    >>> swmmac = mmacalc.instruction("rdna4", "v_swmmac_f32_16x16x32_f16")
    >>> len(swmmac.modifier_limits()["neg"]), len(encodable(swmmac, 32)["neg"])
    (8, 4)
    """
    limits = inst.modifier_limits(wave)
    form = _form(inst, wave)
    if form is None:
        return limits
    spelt = model_modifiers(form, wave)
    found = {}
    for field, values in limits.items():
        taken = [value for value in values if value == 0 or (field in spelt and spelt[field].takes(value))]
        found[field] = tuple(taken)
    return found


def word_data(inst: Instruction, wave: int) -> tuple[Encoding, list[Any]] | None:
    """The encoding of an instruction, and all but its number of a row of `words`; None if it has no encoding."""
    form = _form(inst, wave)
    if form is None:
        return None
    slots, first = [], 0
    places: dict[str, int] = {}
    for slot in form.slots:
        if slot.name == "C":
            start = places["D"]
        else:
            start = first + (first & slot.even)
            first = start + max(slot.counts)
        places[slot.name] = start
        chosen = [_field_of(inst, wave, form, slot), list(slot.counts)] if slot.choice else slot.counts[0]
        assert slot.field is not None
        slots.append([slot.name, start, slot.field.name, slot.files[0], chosen])
    text = ", ".join(_register_text(each) for each in slots)
    code = assemble(f"{inst.name} {text}", inst.arch, wave)
    modifiers = [
        [field, each.name, kind_of(each.name), each.field.name, _hidden(form, each.name),
         list(NAMES.get(each.name, ())), form.widths.get(each.name, 3)]
        for field, each in model_modifiers(form, wave).items()
    ]  # fmt: skip
    return form.format, [code.hex(), slots, modifiers]


def refusals(inst: Instruction, wave: int) -> tuple[list[str], list[tuple[int, ...]], list[str]]:
    """Why an assembler refuses formats that do not go together: the fields that choose formats, the values of each,
    and for every combination of them the reason, "" where there is none.

    >>> import mmacalc
    >>> fields, values, reasons = refusals(mmacalc.instruction("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4"), 32)
    >>> reasons[1]
    'the scales of B are MATRIX_SCALE_FMT_E5M3, which goes only with MATRIX_FMT_FP4'
    """
    form = _form(inst, wave)
    if form is None:
        return [], [], [""]
    limits, generation = inst.modifier_limits(wave), target(inst.arch, wave).generation
    named = {
        name: modifier.field.name for name, modifier in model_modifiers(form, wave).items() if name in inst.choices
    }
    unset = dict(form.fixed) | {each.field.name: modifier_default(form, each) for each in form.modifiers}
    values = [limits[name] for name in named]
    reasons = [generation.refused(inst, unset | dict(zip(named.values(), each))) for each in product(*values)]
    return list(named), values, reasons


def _field_of(inst: Instruction, wave: int, form: Row, slot: Slot) -> str:
    """The modifier that fills the field on which a number of registers depends."""
    return next(field for field, modifier in model_modifiers(form, wave).items() if modifier.field == slot.choice)


def _hidden(form: Row, name: str) -> int | None:
    """The value of a modifier that is not printed; None where every value is."""
    hidden = hidden_value(name, form) if kind_of(name) == "bits" else 0
    return None if hidden >> form.widths.get(name, 3) else hidden


def _register_text(slot: list[Any]) -> str:
    _, first, _, file, counts = slot
    count = counts if isinstance(counts, int) else counts[1][0]
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def encoding_data(encoding: Encoding) -> list[Any]:
    """A row of `encodings`."""
    fields = [[field.name, field.bits, field.meaning] for field in encoding.fields.values()]
    return [encoding.name, encoding.size, fields]
