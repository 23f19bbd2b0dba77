"""The picture of a whole instruction: A at the left of D and B above it, so that a row meets a column.

The blocks of an instruction stand on the diagonal of D, as the product of block matrices has them, each beside its
block of A and below its block of B.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .matrix_plan import BLOCK_GAP, BLOCK_TITLE, Grid, with_pitches
from .scene import text_width
from .tracks import segments

if TYPE_CHECKING:
    from ..answers.picture import Axis, Matrix
    from .matrix_plan import Plan

__all__ = ["Corner", "corner"]

SPACE = (720.0, 640.0)  # for the cells of D
SMALLEST = 14.0  # a cell with room for a lane's number; the picture grows with it
K_SPACE = 300.0  # for the k of A and of B
TITLE = 34.0
APART = 22.0


class Corner(NamedTuple):
    """The plans of A, B and D with their places, and the size of all."""

    plans: tuple[tuple[Plan, float, float], ...]
    width: float
    height: float


def corner(
    a: Matrix | None,
    b: Matrix | None,
    d: Matrix,
    marks: dict[str, frozenset[tuple[int, int, int]]],
    fold: bool,
    headings: dict[str, tuple[str, str]],
) -> Corner:
    """Lay out the operands of one instruction; A or B is None where it is in no register.

    `headings` are the two lines above each operand, which need room as well.
    """
    blocks = d.blocks.extent
    gap = BLOCK_TITLE + BLOCK_GAP / 2 if blocks > 1 else 0.0
    rows, columns = _runs(d.rows, fold, SPACE[1], blocks, marks, 1), _runs(d.columns, fold, SPACE[0], blocks, marks, 2)
    width = (SPACE[0] + BLOCK_GAP) / blocks - BLOCK_GAP
    height = SPACE[1] / blocks - gap
    cell = max(min(18.0, width / _count(columns), height / _count(rows)), SMALLEST)
    cell = float(int(cell))
    k_extent = max((axis.extent for axis in (a.columns if a else None, b.rows if b else None) if axis), default=1)
    k = min(cell, max(K_SPACE / k_extent, 1.0))
    k = float(int(k)) if k >= 4 else int(k * 4) / 4
    everything = ((0, k_extent - 1),)
    diagonal = Grid(blocks, blocks, tuple((n, n) for n in range(blocks)))
    below = Grid(1, blocks, tuple((0, n) for n in range(blocks)))
    beside = Grid(blocks, 1, tuple((n, 0) for n in range(blocks)))
    plan_d = with_pitches(d, diagonal, (cell, cell), (columns, rows), marks=marks.get("D", frozenset()))
    plan_a = with_pitches(a, below, (k, cell), (everything, rows), marks=marks.get("A", frozenset())) if a else None
    plan_b = with_pitches(b, beside, (cell, k), (columns, everything), marks=marks.get("B", frozenset())) if b else None
    written = max(text_width(headings["A"][0], 11, "bold"), text_width(headings["A"][1], 9.5, "mono")) if a else 0.0
    return _placed(plan_a, plan_b, plan_d, written)


def _count(runs: tuple[tuple[int, int], ...]) -> int:
    return sum(high + 1 - low for low, high in runs)


def _runs(
    axis: Axis, fold: bool, space: float, blocks: int, marks: dict[str, frozenset[tuple[int, int, int]]], place: int
) -> tuple[tuple[int, int], ...]:
    """The rows or columns of D that are shown: repetitions are left out where cells would be under 9 pixels."""
    shown = [mark[place] for name in "ABD" for mark in marks.get(name, ()) if name == "D" or "AB"[place - 1] == name]
    return segments(axis, shown, fold and space / (axis.extent * blocks) < 9)


def _placed(a: Plan | None, b: Plan | None, d: Plan, written: float) -> Corner:
    """A's rows beside D's, B's columns above D's."""
    left = max(max(a.width, written) + APART if a else 0.0, (b.margin_left - d.margin_left) if b else 0.0)
    top = b.height + TITLE if b else 0.0
    plans = []
    edge = top + TITLE + max(d.margin_top, a.margin_top if a else 0.0)  # the upper edge of the rows, under the strips
    if a:
        plans.append((a, 0.0, edge - a.margin_top))
    if b:
        plans.append((b, left + d.margin_left - b.margin_left, TITLE))
    plans.append((d, left, edge - d.margin_top))
    width = max(x + plan.width for plan, x, _ in plans)
    return Corner(tuple(plans), width, edge - d.margin_top + d.height)


def crossing(plan: Plan, marks: dict[str, frozenset[tuple[int, int, int]]]) -> list[tuple[float, float, float, float]]:
    """Which row or column of a plan goes with marks of the other operands: D's element with A's row and B's column,
    A's element with D's row, B's with D's column; each as x, y, width, height from the plan's corner."""
    name = plan.matrix.operand.name
    bands = []
    for of, elements in marks.items():
        for block, row, column in elements:
            x, y = plan.origin(block)
            if (of, name) in (("D", "A"), ("A", "D")):
                spans = plan.rows.span(row, row)
                bands += [(x, y + span.start, plan.columns.length, span.size) for span in spans]
            if (of, name) in (("D", "B"), ("B", "D")):
                spans = plan.columns.span(column, column)
                bands += [(x + span.start, y, span.size, plan.rows.length) for span in spans]
    return bands
