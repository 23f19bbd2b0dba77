"""An encoded instruction as a figure: the words with every field, then each field's bits, value and meaning.

Bits have the ISA guides' numbers: 0 is the lowest of the first word. AMD's README draws the same words with the
first one on top as bits 63 to 32.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ..asm.assembler import Assembled
    from ..asm.fields import Field
    from ..asm.forms import InstructionForm


def figure(line: Assembled) -> str:
    """The words of an instruction, a frame of three lines each, and the list of its fields."""
    assert line.form is not None
    encoding = line.form.encoding
    word = int.from_bytes(line.code, "little")
    lines = [f"{encoding.name}, {encoding.size} bytes ({encoding.source})"]
    for first in range(0, 8 * encoding.size, 32):
        lines += _word(encoding.fields.values(), word, first)
    rows = fields(line)
    names, places, values = (max(len(str(row[key])) for row in rows) for key in ("field", "bits", "value"))
    lines.append("")
    for row in rows:
        bits = f"[{row['bits']}]"
        lines.append(f"{row['field']:{names}}  {bits:{places + 2}}  {row['value']:<{values}}  {row['meaning']}")
    return "\n".join(lines) + "\n"


def fields(line: Assembled) -> list[dict[str, Any]]:
    """Every field with its bits, its value and what it means here, the lowest bits first."""
    form = line.form
    assert form is not None
    values = line.values
    found = sorted(form.encoding.fields.values(), key=lambda field: min(low for _, low in field.pieces))
    return [
        {
            "field": field.name,
            "bits": field.bits,
            "value": values[field.name],
            "meaning": _meaning(form, field, values),
        }
        for field in found
    ]


def _meaning(form: InstructionForm, field: Field, values: Mapping[str, int]) -> str:
    notes = []
    if field.name in ("OP", "SCALE_OP"):
        notes.append(f"{values[field.name]:#x}: {form.name}" if field.name == "OP" else f"{values[field.name]:#x}")
    notes += [f"{slot.name} = {slot.text(values)}" for slot in form.slots if slot.field == field.name]
    for modifier in form.modifiers:
        if modifier.field == field.name:
            shown = (modifier.text(values[field.name]) or "").strip()
            notes.append(shown or f"{modifier.name} at its default")
    return f"{field.meaning}; {', '.join(notes)}" if notes else field.meaning


def _word(fields: Iterable[Field], word: int, first: int) -> Iterator[str]:
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
