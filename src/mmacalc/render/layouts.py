"""Whole operands as tables: the registers of a matrix, and the matrix in the registers.

A place is a sum of one-dimensional tables, so both directions add two integers for each element instead of asking
`Operand.locate` or `Operand.contents`: whole tables are what this tool prints most of.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby

from ..answers.output_terms import same_blocks
from ..answers.output_terms import sign as true_sign
from . import tables
from .spelling import is_ptx, place_halves, signed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..model import Operand

    # The signs to print before what an operand's items hold, by the item's lowest bit: as `query.sign` gives them.
    Signs = Callable[[Operand, int], str]

# What the two printed coordinates of each operand run over, as AMD's tool heads its tables.
_EXTENTS = {"i": "M", "j": "N", "k": "K"}


def register_layout(operand: Operand, style: str, transpose: bool, sign: Signs = true_sign) -> str:
    """For every element its registers and lanes, a table for each block."""
    parts = []
    for blocks in same_blocks(operand):
        rows = block_cells(operand, blocks[0], sign)
        names = [_EXTENTS[axis] for axis in operand.axes[1:]]
        if transpose:
            rows, names = tuple(zip(*rows)), names[::-1]
        header = [f"{operand.name}[{names[0]}][{names[1]}]", *map(str, range(len(rows[0])))]
        if operand.instruction.architecture.layout == "mfma" or operand.shape[0] > 1:
            parts.append(f"Block{'s' * (len(blocks) > 1)} {', '.join(map(str, blocks))}\n")
        parts.append(tables.write(header, [(str(n), *row) for n, row in enumerate(rows)], style))
    return "".join(parts)


@lru_cache(maxsize=256)
def block_cells(operand: Operand, block: int, sign: Signs) -> tuple[tuple[str, ...], ...]:
    """The locations of every element of one block as text, by row and column."""
    placement, merge, (first, second) = operand.placement, operand.placement.merge, operand.axes[1:]
    slots = [_slot_text(operand, item, sign) for item in range(operand.items)]
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


def _slot_text(operand: Operand, item: int, sign: Signs) -> str:
    """The text of an item's place, with a NUL for the lane, and a line for each register that it straddles."""
    location = operand.slot(0, item)
    signs = sign(operand, location.lsb)
    return "\n".join(signed("\0".join(halves), signs) for halves in place_halves(operand, location))


def matrix_layout(operand: Operand, style: str, transpose: bool, sign: Signs = true_sign) -> str:
    """For every register, and every lane that holds something, the elements there."""
    columns = register_columns(operand, sign)
    lanes = [str(lane) for lane, cells in enumerate(zip(*(cells for _, cells in columns))) if any(cells)]
    if len(lanes) < operand.lanes:
        columns = tuple((title, [cells[int(lane)] for lane in lanes]) for title, cells in columns)
    if transpose:
        return tables.write(["lane", *lanes], [(title, *cells) for title, cells in columns], style)
    header = ["lane", *(title for title, _ in columns)]
    return tables.write(header, list(zip(lanes, *(cells for _, cells in columns))), style)


@lru_cache(maxsize=256)
def register_columns(operand: Operand, sign: Signs) -> tuple[tuple[str, Sequence[str]], ...]:
    """For each item in each register, its title and, lane by lane, the elements it holds, a line for each.

    A register pair counts once, at its first register; items that hold nothing are left out.
    """
    columns = []
    items = _item_cells(operand)
    for register in range(operand.registers):
        for item in operand.items_in(register):
            first, last = operand.bits_in(item, register)
            if any(items[item]) and not (last == 63 and register % 2):
                columns.append((_title(operand, register, item), _signed_cells(items[item], sign(operand, first))))
    return tuple(columns)


def _signed_cells(cells: Sequence[str], signs: str) -> Sequence[str]:
    if signs not in ("-", "|", "-|"):
        return cells
    return ["\n".join([signed(line, signs) for line in cell.split("\n")]) if cell else "" for cell in cells]


def _title(operand: Operand, register: int, item: int) -> str:
    if is_ptx(operand.instruction):
        from . import ptx_text

        return ptx_text.column_title(operand, item)
    first, last = operand.bits_in(item, register)
    if last == 63:
        return f"v[{register + 1}:{register}]"
    return f"v{register}" if (first, last) == (0, 31) else f"v{register}.[{last}:{first}]"


def _item_cells(operand: Operand) -> list[list[str]]:
    """For each item, lane by lane, the names of the elements it holds, a line for each.

    Their order is that of AMD's tool: by block, then by row (of B by column), then by k.
    """
    placement, merge, copies = operand.placement, operand.placement.merge, operand.copies()
    cells = [[""] * operand.lanes for _ in range(operand.items)]
    places = [placement.lanes(lane) for lane in range(operand.lanes)] if placement.lanes else range(operand.lanes)
    several = merge > 1 or bool(placement.lanes or operand.layout.shared)
    by_column, begin = operand.axes[1] == "k", "\n" if several else ""
    first, second = (_named_steps(operand, axis) for axis in operand.axes[1:])
    for block, (block_lane, block_item) in enumerate(operand.steps("block")):
        suffix = f".B{block}" if operand.instruction.blocks > 1 else ""
        heads = [(step, f"{begin}{operand.name}[{text}]") for step, text in first]
        tails = [(step, f"[{text}]{suffix}") for step, text in second]
        for (outer_lane, outer_item), outer in tails if by_column else heads:
            names = [(step, head + outer) for step, head in heads] if by_column else [(s, outer + t) for s, t in tails]
            for copy_lane, copy_item in copies:
                lane, item = block_lane + outer_lane + copy_lane, block_item + outer_item + copy_item
                for (shift, step), name in names:
                    cells[(item + step) // merge][places[lane + shift]] += name
    return [[cell[1:] for cell in column] for column in cells] if several else cells


def _named_steps(operand: Operand, axis: str) -> list[tuple[tuple[int, int], str]]:
    """What the values of a coordinate add to lane and slot, with their names; one name for the k of one scale."""
    steps = operand.steps(axis)
    if axis != "k" or operand.name not in ("SA", "SB"):
        return [(step, str(value)) for value, step in enumerate(steps)]
    runs = [list(run) for _, run in groupby(enumerate(steps), key=lambda pair: pair[1])]
    return [(run[0][1], str(run[0][0]) if len(run) == 1 else f"{run[0][0]}..{run[-1][0]}") for run in runs]
