"""Decoded machine code, as text and as JSON."""

from __future__ import annotations

from collections import namedtuple

from ..errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["DecodedSection", "json_object", "text"]


class DecodedSection(namedtuple("DecodedSection", "name instructions")):
    """The name of an ELF section, empty where there is none, and its instructions: (number of the 32-bit word, None
    where it came as text; the text)."""

    __slots__ = ()
    name: str
    instructions: tuple[tuple[int | None, str], ...]


def text(sections: Iterable[DecodedSection]) -> str:
    """One line per instruction, and a comment before each section of an object."""
    lines = []
    for section in sections:
        if section.name:
            lines.append(f"; section {section.name}")
        lines += [printable(line) for _, line in section.instructions]
    return "".join(f"{line}\n" for line in lines)


def json_object(sections: Iterable[DecodedSection]) -> list[dict[str, Any]]:
    """Every instruction with its offset in bytes and its section, where it has them."""
    return [
        {
            **({"section": section.name} if section.name else {}),
            **({} if word is None else {"offset": 4 * word}),
            "text": line,
        }
        for section in sections
        for word, line in section.instructions
    ]
