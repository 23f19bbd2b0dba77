"""A descriptor as a figure with every field, and as JSON."""

from __future__ import annotations

from ..asm.fields import Field
from .assembly import word_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..families.descriptors import Descriptor

__all__ = ["json_object", "text"]


def text(descriptor: Descriptor) -> str:
    """The value, its words with every field, the fields with their meanings, and notes."""
    fields = [
        Field(field.name, f"{field.low + field.bits - 1}:{field.low}", field.meaning) for field in descriptor.fields
    ]
    lines = [f"{descriptor.title}: {descriptor.word:#0{descriptor.size // 4 + 2}x}"]
    for first in range(0, descriptor.size, 32):
        lines += word_frame(_whole(fields, first), descriptor.word, first)
    rows = [(f.name, f"[{bits.bits}]", str(f.code), f.meaning) for f, bits in zip(descriptor.fields, fields)]
    names, places, values = (max(len(row[column]) for row in rows) for column in range(3))
    lines.append("")
    lines += [f"{name:{names}}  {bits:{places}}  {value:>{values}}  {meaning}" for name, bits, value, meaning in rows]
    lines += [f"Note: {note}" for note in descriptor.notes]
    return "\n".join(lines) + "\n"


def _whole(fields: list[Field], first: int) -> list[Field]:
    """The fields of one word, with the reserved bits between them."""
    taken = {bit for field in fields for high, low in field.pieces for bit in range(low, high + 1)}
    found = [field for field in fields if any(first <= low < first + 32 for _, low in field.pieces)]
    free = [bit for bit in range(first, first + 32) if bit not in taken]
    while free:
        last = free.index(free[0])
        while last + 1 < len(free) and free[last + 1] == free[last] + 1:
            last += 1
        found.append(Field("-", f"{free[last]}:{free[0]}", "reserved"))
        free = free[last + 1 :]
    return found


def json_object(descriptor: Descriptor) -> dict[str, Any]:
    """The same as plain data."""
    fields = [field._asdict() for field in descriptor.fields]
    return {
        "title": descriptor.title, "value": descriptor.word, "hex": f"{descriptor.word:#0{descriptor.size // 4 + 2}x}",
        "size": descriptor.size, "fields": fields, "notes": list(descriptor.notes),
    }  # fmt: skip
