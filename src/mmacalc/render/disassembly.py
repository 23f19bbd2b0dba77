"""Decoded machine code, as text and as JSON."""

from __future__ import annotations

from ..errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..answers.disassembly import DecodedSection, Disassembly

__all__ = ["json_object", "text"]


def text(answer: Disassembly) -> str:
    """One line per instruction, and a comment before each section of an object; of an object whose whole code is known
    also its target, labels, addresses and words, so that it can be assembled and linted."""
    lines = []
    if any(section.address is not None for section in answer.sections):
        lines.append(f'.amdgcn_target "amdgcn-amd-amdhsa--{answer.target}"')
    for section in answer.sections:
        if section.name:
            lines.append(f"; section {section.name}")
        if section.address is None:
            lines += [printable(line) for _, line in section.instructions]
        else:
            lines += _lines(section)
    return "".join(f"{line}\n" for line in lines)


def _lines(section: DecodedSection) -> Iterator[str]:
    """The labels and instructions of a section, as llvm-objdump shows addresses and words."""
    starts = [word for word, _ in section.instructions if word is not None]
    for (word, line), end in zip(section.instructions, [*starts[1:], len(section.code) // 4]):
        assert word is not None
        assert section.address is not None
        for label in section.labels.get(word, ()):
            if word and label in section.kernels:
                yield ""
            yield f"{printable(label)}:{'  ; kernel' if label in section.kernels else ''}"
        words = [section.code[4 * at : 4 * at + 4][::-1].hex().upper() for at in range(word, end)]
        yield f"\t{printable(line):<59} // {section.address + 4 * word:012X}: {' '.join(words)}"


def json_object(answer: Disassembly) -> dict[str, Any]:
    """Every instruction with its offset in bytes, section, address and labels, where it has them."""
    instructions = [
        {
            **({"section": section.name} if section.name else {}),
            **({} if word is None else {"offset": 4 * word}),
            **({} if section.address is None or word is None else {"address": section.address + 4 * word}),
            **({"labels": list(section.labels[word])} if word in section.labels else {}),
            "text": line,
        }
        for section in answer.sections
        for word, line in section.instructions
    ]
    return {"architecture": answer.architecture, "target": answer.target, "instructions": instructions}
