"""The places of every element of an operand (-R), as tables and as JSON."""

from __future__ import annotations

from functools import lru_cache

from . import amd_tool_quirks, tables
from .spelling import heading, signed, turned_over, vendor_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.layouts import RegisterLayout

__all__ = ["block_cells", "json_object", "notes", "text"]

# What the two printed coordinates of each operand run over, as AMD's tool heads its tables.
_EXTENTS = {"i": "M", "j": "N", "k": "K"}


def text(layout: RegisterLayout, style: str = "grid", transpose: bool = False) -> str:
    """For every element its registers and lanes, a table for each block."""
    operand = layout.operand
    parts = [heading(operand.instruction, operand)]
    for number, group in enumerate(layout.blocks):
        rows = block_cells(layout, number)
        names = [_EXTENTS[axis] for axis in operand.axes[1:]]
        if turned_over(operand.instruction):
            names = names[::-1]
        if transpose:
            rows, names = tuple(zip(*rows)), names[::-1]
        header = [f"{operand.name}[{names[0]}][{names[1]}]", *map(str, range(len(rows[0])))]
        if operand.instruction.architecture.family.blocks or operand.shape[0] > 1:
            parts.append(f"Block{'s' * (len(group.blocks) > 1)} {', '.join(map(str, group.blocks))}\n")
        parts.append(tables.write(header, [(str(n), *row) for n, row in enumerate(rows)], style))
    return "".join(parts)


@lru_cache(maxsize=256)
def block_cells(layout: RegisterLayout, group: int) -> tuple[tuple[str, ...], ...]:
    """The locations of every element of a group of blocks as text, by row and column, a line for each copy."""
    texts, columns, by_copy = _slot_texts(layout), layout.columns, []
    for start in layout.blocks[group].starts:
        bases = [start + row for row in layout.rows]
        by_copy.append([tuple([texts[base + column] for column in columns]) for base in bases])
    if len(by_copy) == 1:
        return tuple(by_copy[0])
    return tuple(tuple(map("\n".join, zip(*rows))) for rows in zip(*by_copy))


@lru_cache(maxsize=256)
def _slot_texts(layout: RegisterLayout) -> list[str]:
    """The text of every slot's place; a line for each register that it straddles."""
    operand = layout.operand
    lane_texts, own = vendor_text(operand).lane_texts, amd_tool_quirks.has_own_signs(operand)
    by_item = []
    for location, sign in zip(layout.locations, layout.signs):
        signs = amd_tool_quirks.sign(operand, location.lsb) if own else sign
        by_item.append(lane_texts(operand, location, lambda text, signs=signs: signed(text, signs)))
    texts = [text for lane in zip(*by_item) for text in lane]
    return [texts[place] for place in layout.places]


def notes(layout: RegisterLayout) -> tuple[str, ...]:
    """What a reader of the text should know besides."""
    return amd_tool_quirks.sign_notes(layout.operand) if layout.operand.name == "A" else ()


def json_object(layout: RegisterLayout) -> dict[str, Any]:
    """The locations as nested lists [block][row][column][copy]."""
    from . import json

    operand = layout.operand
    items = [{**place._asdict(), **json.sign_object(sign)} for place, sign in zip(layout.locations, layout.signs)]
    blocks: dict[int, list[Any]] = {}
    for group in layout.blocks:
        rows = []
        for row in layout.rows:
            slots = ([start + row + column for start in group.starts] for column in layout.columns)
            places = (sorted({layout.places[slot] for slot in copies}) for copies in slots)
            rows.append(
                [[{**items[place % len(items)], "lane": place // len(items)} for place in copies] for copies in places]
            )
        blocks |= dict.fromkeys(group.blocks, rows)
    return {
        **json.operand_object(operand), "axes": list(operand.axes), "locations": [blocks[n] for n in sorted(blocks)]
    }  # fmt: skip
