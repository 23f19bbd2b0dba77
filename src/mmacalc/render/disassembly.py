"""Decoded machine code, as text and as JSON."""

from __future__ import annotations

from ..errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.disassembly import Disassembly

__all__ = ["json_object", "text"]


def text(answer: Disassembly) -> str:
    """One line per instruction, and a comment before each section of an object."""
    lines = []
    for section in answer.sections:
        if section.name:
            lines.append(f"; section {section.name}")
        lines += [printable(line) for _, line in section.instructions]
    return "".join(f"{line}\n" for line in lines)


def json_object(answer: Disassembly) -> dict[str, Any]:
    """Every instruction with its offset in bytes and its section, where it has them."""
    instructions = [
        {
            **({"section": section.name} if section.name else {}),
            **({} if word is None else {"offset": 4 * word}),
            "text": line,
        }
        for section in answer.sections
        for word, line in section.instructions
    ]
    return {"architecture": answer.architecture, "target": answer.target, "instructions": instructions}
