"""The elements in every register of every lane (-M), as a table and as JSON."""

from __future__ import annotations

from functools import lru_cache

from . import amd_tool_quirks, tables
from .spelling import heading, run_text, signed, vendor_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..answers.layouts import MatrixLayout, RegisterColumn

__all__ = ["json_object", "notes", "register_columns", "text"]


def text(layout: MatrixLayout, style: str = "grid", transpose: bool = False) -> str:
    """For every register, and every lane that holds something, the elements there."""
    operand, columns = layout.operand, register_columns(layout)
    lanes = [str(lane) for lane, cells in enumerate(zip(*(cells for _, cells in columns))) if any(cells)]
    if len(lanes) < operand.lanes:
        columns = tuple((title, [cells[int(lane)] for lane in lanes]) for title, cells in columns)
    if transpose:
        table = tables.write([vendor_text(operand).LANE, *lanes], [(title, *cells) for title, cells in columns], style)
    else:
        header = [vendor_text(operand).LANE, *(title for title, _ in columns)]
        table = tables.write(header, list(zip(lanes, *(cells for _, cells in columns))), style)
    return heading(operand.instruction, operand) + table


@lru_cache(maxsize=256)
def register_columns(layout: MatrixLayout) -> tuple[tuple[str, Sequence[str]], ...]:
    """For each item in each register, its title and, lane by lane, the elements it holds, a line for each.

    A register pair counts once, at its first register; items that hold nothing are left out.
    """
    operand, title = layout.operand, vendor_text(layout.operand).column_title
    texts, own, found = _cell_texts(layout), amd_tool_quirks.has_own_signs(operand), []
    for column in layout.columns:
        if any(layout.held[column.item]) and not (column.width == 64 and column.register % 2):
            sign = amd_tool_quirks.sign(operand, column.lsb) if own else column.sign
            found.append((title(operand, column), _signed_cells(texts[column.item], sign)))
    return tuple(found)


def _signed_cells(cells: Sequence[str], signs: str) -> Sequence[str]:
    if signs not in ("-", "|", "-|"):
        return cells
    return ["\n".join([signed(line, signs) for line in cell.split("\n")]) if cell else "" for cell in cells]


def _cell_texts(layout: MatrixLayout) -> list[list[str]]:
    """By item and lane, the names of the elements, a line for each."""
    operand = layout.operand
    if operand.name in ("SA", "SB"):
        return [[_scale_text(layout, cell) for cell in cells] for cells in layout.held]
    names = _names(operand.name, operand.shape, operand.instruction.blocks > 1)
    try:
        return [[names[number] for (number,) in cells] for cells in layout.held]
    except ValueError:  # not one element in every cell
        return [["\n".join([names[number] for number in cell]) for cell in cells] for cells in layout.held]


@lru_cache(maxsize=64)
def _names(operand: str, shape: tuple[int, ...], with_block: bool) -> list[str]:
    """The name of every element, by its number."""
    blocks, rows, columns = shape
    suffixes = [f".B{block}" for block in range(blocks)] if with_block else [""]
    heads, tails = ([f"[{number}]" for number in range(count)] for count in (rows, columns))
    lines = [f"{operand}{head}" for head in heads]
    return [line + tail + suffix for suffix in suffixes for line in lines for tail in tails]


def _scale_text(layout: MatrixLayout, cell: tuple[int, ...]) -> str:
    """A scale is named once, with the run of k that it scales."""
    if not cell:
        return ""
    (row, col, _), (last_row, last_col, _) = layout.element(cell[0]), layout.element(cell[-1])
    return run_text(layout.operand, range(row, last_row + 1), range(col, last_col + 1))


def notes(layout: MatrixLayout) -> tuple[str, ...]:
    """What a reader of the text should know besides."""
    return amd_tool_quirks.sign_notes(layout.operand) if layout.operand.name == "A" else ()


def json_object(layout: MatrixLayout) -> dict[str, Any]:
    """The elements as nested lists [register][lane][element]."""
    from . import json

    operand = layout.operand
    registers = [[c for c in layout.columns if c.register == register] for register in range(operand.registers)]
    return {
        **json.operand_object(operand),
        "axes": list(operand.axes),
        "elements": [
            [[held for column in columns for held in _held(layout, column, lane)] for lane in range(operand.lanes)]
            for columns in registers
        ],
    }


def _held(layout: MatrixLayout, column: RegisterColumn, lane: int) -> list[dict[str, Any]]:
    from ..model import Element
    from . import json

    elements = [Element(*layout.element(number), column.lsb, column.width) for number in layout.held[column.item][lane]]
    return [json.held_object(layout.operand, column.register, lane, element, column.sign) for element in elements]
