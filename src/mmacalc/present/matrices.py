"""Whole operands as tables: the registers of a matrix, and the matrix in the registers."""

from __future__ import annotations

from functools import lru_cache

from ..query import holdings, same_blocks
from . import tables
from .text import held_texts, is_ptx, place_halves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..record import Operand

# What the two printed coordinates of each operand run over, as AMD's tool heads its tables.
_EXTENTS = {"i": "M", "j": "N", "k": "K"}


def register_layout(operand: Operand, style: str, transpose: bool) -> str:
    """For every element its registers and lanes, a table for each block."""
    parts = []
    for blocks in same_blocks(operand):
        rows = block_cells(operand, blocks[0])
        names = [_EXTENTS[axis] for axis in operand.axes[1:]]
        if transpose:
            rows, names = tuple(zip(*rows)), names[::-1]
        header = [f"{operand.name}[{names[0]}][{names[1]}]", *map(str, range(len(rows[0])))]
        if operand.instruction.architecture.layout == "mfma" or operand.shape[0] > 1:
            parts.append(f"Block{'s' * (len(blocks) > 1)} {', '.join(map(str, blocks))}\n")
        parts.append(tables.write(header, [(str(n), *row) for n, row in enumerate(rows)], style))
    return "".join(parts)


@lru_cache(maxsize=256)
def block_cells(operand: Operand, block: int) -> tuple[tuple[str, ...], ...]:
    """The locations of every element of one block as text, by row and column.

    A place is a sum of one-dimensional tables, so this adds two integers a cell instead of asking
    `Operand.locate` for each: whole tables are what this tool prints most of.
    """
    placement, merge, (first, second) = operand.placement, operand.placement.merge, operand.axes[1:]
    slots = ["\n".join(map("\0".join, place_halves(operand, operand.slot(0, i)))) for i in range(operand.items)]
    read = placement.lanes or int
    lanes = [str(read(lane)) for lane in range(operand.lanes)]
    block_lane, block_item = operand.steps("block")[block]
    columns = operand.steps(second)
    by_copy = []
    for copy_lane, copy_item in operand.copies():
        rows = []
        for row_lane, row_item in operand.steps(first):
            lane, item = block_lane + copy_lane + row_lane, block_item + copy_item + row_item
            # The lane goes where the slot's text has a NUL: twice, if the slot straddles two registers.
            cells = [slots[(item + step) // merge].replace("\0", lanes[lane + shift]) for shift, step in columns]
            rows.append(tuple(cells))
        by_copy.append(rows)
    if len(by_copy) == 1:
        return tuple(by_copy[0])
    return tuple(tuple(map("\n".join, zip(*rows))) for rows in zip(*by_copy))


def matrix_layout(operand: Operand, style: str, transpose: bool) -> str:
    """For every register and lane the elements it holds."""
    header, columns = ["lane"], []
    for register in range(operand.registers):
        for title, cells in _register_columns(operand, register):
            header.append(title)
            columns.append(cells)
    rows = [(str(lane), *cells) for lane, cells in enumerate(zip(*columns))]
    if transpose:
        rows = [(title, *cells) for title, cells in zip(header[1:], columns)]
        header = ["register", *map(str, range(operand.lanes))]
    return tables.write(header, rows, style)


def _register_columns(operand: Operand, register: int) -> list[tuple[str, list[str]]]:
    """The columns of one register: one for each item in it. A register pair has one column, at its first."""
    columns = []
    for item in operand.items_in(register):
        first, last = operand.bits_in(item, register)
        if last == 63:
            if register % 2:
                continue
            title = f"v[{register + 1}:{register}]"
        else:
            title = f"v{register}" if (first, last) == (0, 31) else f"v{register}.[{last}:{first}]"
        if is_ptx(operand.instruction):
            from . import ptx_text

            title = ptx_text.column_title(operand, item)
        cells = [_cell(operand, register, lane, first) for lane in range(operand.lanes)]
        if any(cells):
            columns.append((title, cells))
    return columns


def _cell(operand: Operand, register: int, lane: int, lsb: int) -> str:
    found = holdings(operand, register, lane)
    return "\n".join(text for element, text in held_texts(operand, found) if element.lsb == lsb)
