"""The instructions of an architecture (-L), as text and as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..catalog import Entry

__all__ = ["json_object", "text"]


def text(entry: Entry) -> str:
    """The names, in the order of AMD's tool."""
    names = "".join(f"    {name}\n" for name in (*entry.names, *entry.tensor_memory_names))
    return f"Available instructions in the {entry.architecture.title} architecture:\n{names}"


def json_object(entry: Entry) -> dict[str, Any]:
    """Every instruction with its shape, formats and cost."""
    from . import json

    return {
        "instructions": [json.instruction_object(instruction) for instruction in entry.instructions()],
        "tensor_memory_instructions": list(entry.tensor_memory_names),
    }
