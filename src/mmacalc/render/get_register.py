"""Where an element is (-g), as text and as JSON."""

from __future__ import annotations

from .amd_text import SOURCE_FIELDS
from .spelling import element_text, heading, place_text, vendor_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.lookup import ElementPlaces

__all__ = ["json_object", "notes", "text"]


def text(answer: ElementPlaces) -> str:
    """A line for each place, or with a calculation one line with the first place and the sum."""
    operand, locations = answer.operand, answer.locations
    name = element_text(operand, answer.row, answer.col, answer.block)
    head = heading(operand.instruction, operand)
    if answer.calculation is None:
        lines = "".join([f"{name} = {place_text(operand, location)}\n" for location in locations])
        more: str = vendor_text(operand).also(operand, answer.row, answer.col)
        return head + lines + more
    from . import output_sum

    place = place_text(operand, locations[0], f"{SOURCE_FIELDS['D']}_v")
    return f"{head}{name} = {place} = {output_sum.text(answer.calculation, output_sum.place_of)}\n"


def notes(answer: ElementPlaces) -> tuple[str, ...]:
    """What a reader of the text should know besides."""
    if answer.calculation is None:
        return ()
    from . import amd_tool_quirks

    return amd_tool_quirks.sign_notes(answer.operand)


def json_object(answer: ElementPlaces) -> dict[str, Any]:
    """The same as plain data."""
    from . import json, output_sum

    operand = answer.operand
    return {
        **json.operand_object(operand),
        "element": json.element_object(operand, answer.row, answer.col, answer.block),
        "locations": [json.place_object(operand, location) for location in answer.locations],
        **json.sign_object(answer.sign),
        **output_sum.json_object(answer.calculation),
    }
