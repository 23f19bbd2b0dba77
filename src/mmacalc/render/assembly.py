"""Assembled text: bytes, the encodings as figures, and JSON.

A figure has the words with every field, then each field's bits, value and meaning. Bits have the ISA guides' numbers:
0 is the lowest of the first word. AMD's README draws the same words with the first one on top as bits 63 to 32.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..answers.assembly import Assembly, Statement
    from ..asm.fields import Encoding, Field

__all__ = ["json_object", "text", "word_frame"]


def text(assembly: Assembly) -> str:
    """A line of bytes for each statement; with its fields also the figure of its encoding."""
    explained = any(statement.encoding for statement in assembly.statements)
    lines = (f"{statement.code.hex(' ')}\n{_figure(statement)}" for statement in assembly.statements)
    return ("\n" if explained else "").join(lines)


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


def json_object(assembly: Assembly) -> dict[str, Any]:
    """The same as plain data, with the text of every statement."""
    return {
        "architecture": assembly.architecture,
        "target": assembly.target,
        "llvm": assembly.llvm,
        "instructions": [_statement(statement) for statement in assembly.statements],
    }


def _statement(statement: Statement) -> dict[str, Any]:
    about = {"text": statement.text, "bytes": statement.code.hex(), "size": len(statement.code)}
    if statement.encoding is None:
        return about
    fields = [
        {"field": field.name, "bits": field.bits, "value": field.value, "meaning": field.meaning}
        for field in statement.fields
    ]
    return {**about, "encoding": statement.encoding.name, "fields": fields}


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
