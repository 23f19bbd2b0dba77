"""Answers as JSON with stable keys: the document, and the objects that several answers have.

Every answer is one object with `schema_version` and `query`. One about an instruction also has `architecture`,
`instruction` and `provenance`; a list of instructions has these in each of its `instructions`. The schema version
rises when a key changes its meaning or goes away, not when one is added.

Signs: `negated` and `absolute` say how the instruction reads an element. Of the two 16-bit values that a sparse A
stores of each four k, NEG and NEG_HI may negate one: `negated` is then null, and `negated_half` is "low" (the value
stored first) or "high"; else `negated_half` is null.
"""

from __future__ import annotations

import json
from types import MappingProxyType

from .spelling import element_text, place_text, vendor_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model import Element, Instruction, Location, Operand

__all__ = [
    "SCHEMA_VERSION", "document", "element_object", "held_object", "instruction_object", "operand_object",
    "place_object", "sign_object",
]  # fmt: skip

SCHEMA_VERSION = 2


def document(query: str, content: Mapping[str, Any]) -> str:
    """One JSON object as a line of text."""
    return json.dumps({"schema_version": SCHEMA_VERSION, "query": query, **content}, default=_read_only) + "\n"


def _read_only(value: Any) -> dict[str, Any]:
    """A mapping that cannot be changed, as records and layouts hand them out."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def instruction_object(instruction: Instruction) -> dict[str, Any]:
    """What identifies an instruction, and its shape, formats and cost."""
    return {
        "architecture": instruction.arch,
        "instruction": instruction.name,
        "aliases": list(instruction.aliases),
        "m": instruction.m,
        "n": instruction.n,
        "k": instruction.k,
        "blocks": instruction.blocks,
        "formats": dict(instruction.formats),
        "sparse": instruction.sparse,
        "opcode": instruction.opcode,
        "cycles": instruction.cycles,
        "operations": instruction.flops,
        "provenance": instruction.provenance,
        "unconfirmed": list(instruction.unconfirmed),
    }


def operand_object(operand: Operand) -> dict[str, Any]:
    """What identifies an operand under its modifiers."""
    return {
        "architecture": operand.instruction.arch,
        "instruction": operand.instruction.name,
        "matrix": operand.name,
        "wave": operand.wave,
        "modifiers": dict(operand.fields),
        "provenance": operand.provenance,
    }


def place_object(operand: Operand, location: Location, prefix: str = "v") -> dict[str, Any]:
    """A location, with its text."""
    return {**location._asdict(), "text": place_text(operand, location, prefix)}


def sign_object(sign: str) -> dict[str, Any]:
    """What `Operand.sign` answers."""
    half = sign if sign in ("low", "high") else None
    return {"negated": None if half else "-" in sign, "negated_half": half, "absolute": "|" in sign}


def element_object(operand: Operand, row: int, col: int, block: int) -> dict[str, Any]:
    """An element by its coordinates, with its text."""
    first, second = operand.axes[1:]
    return {first: row, second: col, "block": block, "text": element_text(operand, row, col, block)}


def held_object(operand: Operand, register: int, lane: int, element: Element, sign: str) -> dict[str, Any]:
    """An element in a register of a lane."""
    return {
        **element_object(operand, element.row, element.col, element.block),
        "lsb": element.lsb,
        "width": element.width,
        **sign_object(sign),
        "place": vendor_text(operand).held_place(operand, register, lane, element),
    }
