"""One operand laid out on paper: the size of its cells, where its blocks and strips are."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from .places import slot_text, with_sign
from .scene import text_width
from .strips import Strip, block_title, strips
from .tracks import Track, segments, track

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .matrix import Matrix

    Runs = tuple[tuple[int, int], ...]

__all__ = ["Grid", "Plan", "grid", "plan"]

LARGEST_CELL = (44.0, 34.0)
# Where a tile has no room for its lane's number, an axis that repeats itself is folded.
SMALLEST_TILE = 9.0
SMALLEST_TEXT = 6.5
STRIP_TEXT = 9.5
LANE_TEXT = 12.5
BLOCK_TITLE = 17.0
BLOCK_TEXT = 10.0
BLOCK_GAP = 14.0


class Grid(NamedTuple):
    """How many blocks stand beside and below one another, and where each one is."""

    across: int
    down: int
    places: tuple[tuple[int, int], ...]


class Plan(NamedTuple):
    """Where everything of one operand's picture is.

    Attributes:
        columns, rows: the tracks of its axes within a block; grid: of its blocks; labels: whether every cell has a
            label; marks: the marked elements, as (block, row, column).
        top, left: the strips above and beside it, the nearest first, with the pixels that each takes.
        title_room: pixels above each block for its title.
    """

    matrix: Matrix
    columns: Track
    rows: Track
    grid: Grid
    labels: bool
    marks: frozenset[tuple[int, int, int]]
    top: tuple[tuple[Strip, float], ...]
    left: tuple[tuple[Strip, float], ...]
    title_room: float

    @property
    def margin_left(self) -> float:
        """The width of the strips at the left, with the heads of those above."""
        return max(40.0, sum(size for _, size in self.left))

    @property
    def margin_top(self) -> float:
        """The height of the strips above."""
        return sum(size for _, size in self.top)

    @property
    def step_across(self) -> float:
        """From the left edge of a block to that of the next."""
        return self.columns.length + BLOCK_GAP

    @property
    def step_down(self) -> float:
        """From the upper edge of a block's cells to that of the next."""
        return self.rows.length + self.title_room + BLOCK_GAP / 2

    @property
    def width(self) -> float:
        """The whole width, with the last block's title."""
        cells = self.margin_left + self.grid.across * self.step_across - BLOCK_GAP
        return max([cells, *(x + text_width(text, BLOCK_TEXT) for x, _, text in titles(self))])

    @property
    def height(self) -> float:
        """The whole height."""
        return self.margin_top + self.grid.down * self.step_down - BLOCK_GAP / 2

    def origin(self, block: int) -> tuple[float, float]:
        """The upper left corner of a block's cells."""
        across, down = self.grid.places[block]
        return self.margin_left + across * self.step_across, self.row_origin(down)

    def row_origin(self, down: int) -> float:
        """The upper edge of the cells in a row of blocks."""
        return self.margin_top + self.title_room + down * self.step_down


def grid(blocks: int, across: int) -> Grid:
    """Blocks in reading order, `across` of them in a row."""
    return Grid(across, -(-blocks // across), tuple((block % across, block // across) for block in range(blocks)))


def plan(
    matrix: Matrix,
    space: tuple[float, float],
    *,
    labels: bool = False,
    marks: Iterable[tuple[int, int, int]] = (),
    fold: bool = True,
    digit: str = "",
) -> Plan:
    """Lay out one operand in a space, in pixels; a picture whose cells would be too small there takes more.

    Args:
        matrix: what to draw; space: width and height for the cells.
        labels: label every cell instead of every tile; marks: elements to mark, as (block, row, column).
        fold: leave out repetitions where tiles would be too small for their numbers.
        digit: a digit whose values get a strip of their own.
    """
    blocks = matrix.blocks.extent
    shapes = [grid(blocks, across) for across in range(1, blocks + 1) if blocks % across == 0]
    chosen = max(shapes, key=lambda shape: _cell_area(matrix, shape, space))
    return planned(matrix, chosen, space, labels, frozenset(marks), fold, digit=digit)


def _cell_area(matrix: Matrix, shape: Grid, space: tuple[float, float]) -> float:
    width, height = _pitches(matrix, matrix.columns.extent, matrix.rows.extent, _shared(shape, space))
    return width * height


def _shared(shape: Grid, space: tuple[float, float]) -> tuple[float, float]:
    """The space of one block."""
    title = BLOCK_TITLE + BLOCK_GAP / 2 if len(shape.places) > 1 else 0.0
    return space[0] / shape.across - BLOCK_GAP, space[1] / shape.down - title


def planned(
    matrix: Matrix,
    shape: Grid,
    space: tuple[float, float],
    labels: bool,
    marks: frozenset[tuple[int, int, int]],
    fold: bool,
    *,
    digit: str = "",
) -> Plan:
    """Lay out one operand whose blocks are arranged already."""
    if labels:
        width, height = _label_pitches(matrix)
        visible: list[Runs] = [((0, axis.extent - 1),) for axis in (matrix.columns, matrix.rows)]
    else:
        of_block = _shared(shape, space)
        width, height = _pitches(matrix, matrix.columns.extent, matrix.rows.extent, of_block)
        narrowest = text_width(str(matrix.lanes - 1), SMALLEST_TEXT, "bold") + 4
        small = (width * matrix.columns.run < narrowest, height * matrix.rows.run < SMALLEST_TILE)
        shown = ([column for _, _, column in marks], [row for _, row, _ in marks])
        visible = [
            segments(axis, values, fold and is_small)
            for axis, values, is_small in zip((matrix.columns, matrix.rows), shown, small)
        ]
        counts = [sum(high + 1 - low for low, high in runs) for runs in visible]
        width, height = _pitches(matrix, counts[0], counts[1], of_block)
    return with_pitches(matrix, shape, (width, height), (visible[0], visible[1]), labels, marks, digit=digit)


def with_pitches(
    matrix: Matrix,
    shape: Grid,
    pitches: tuple[float, float],
    visible: tuple[Runs, Runs],
    labels: bool = False,
    marks: frozenset[tuple[int, int, int]] = frozenset(),
    *,
    digit: str = "",
) -> Plan:
    """Lay out one operand whose cells have a size already: pixels for each column and row, and which are visible."""
    columns = track(matrix.columns, pitches[0], visible[0])
    rows = track(matrix.rows, pitches[1], visible[1])
    top = [strip for strip in strips(matrix, matrix.columns, digit) if _legible(strip, columns, None)]
    left = [strip for strip in strips(matrix, matrix.rows, digit) if _legible(strip, rows, 0.9 * STRIP_TEXT)]
    return Plan(
        matrix, columns, rows, shape, labels, marks,
        tuple((strip, 16.0 if strip.kind == "index" else 17.0) for strip in top),
        tuple((strip, _strip_width(strip)) for strip in left),
        BLOCK_TITLE if len(shape.places) > 1 else 0.0,
    )  # fmt: skip


def _legible(strip: Strip, track: Track, height: float | None) -> bool:
    """Whether a strip of registers or bits has room for all its labels: every second one would say nothing."""
    cells = [(part, cell) for part in strip.parts for cell in track.span(part.first, part.last)]
    return strip.kind in ("index", "lane", "digit") or all(
        (height or text_width(part.text, STRIP_TEXT)) <= cell.size for part, cell in cells
    )


def _strip_width(strip: Strip) -> float:
    if strip.kind == "index":
        return max(26.0, float(int(text_width(strip.parts[-1].text, 10) + 9)))
    longest = max([part.text for part in strip.parts] + [strip.head], key=len)
    return float(int(text_width(longest, STRIP_TEXT) + 9))


def _pitches(matrix: Matrix, columns: int, rows: int, space: tuple[float, float]) -> tuple[float, float]:
    """Pixels for each column and each row: not too long either way, and whole where cells are large."""
    width = min(LARGEST_CELL[0], space[0] / columns)
    height = min(LARGEST_CELL[1], space[1] / rows)
    width = min(width, 2.4 * height * max(1, matrix.rows.run / matrix.columns.run))
    height = min(height, max(1.7 * width, min(22.0, matrix.columns.run * width / 3)))
    return _rounded(width), _rounded(height)


def _rounded(pitch: float) -> float:
    return float(int(pitch)) if pitch >= 8 else max(1.0, int(pitch * 4) / 4)


def _label_pitches(matrix: Matrix) -> tuple[float, float]:
    """Room for `16  v0[15:0]` in every cell."""
    operand = matrix.operand
    texts = [with_sign(slot_text(operand, slot), sign) for slot, sign in zip(matrix.slots, matrix.signs)]
    lanes = max((matrix.lanes_text(*element, ", ") for element in matrix.coordinates()), key=len)
    width = text_width(lanes, 11, "bold") + text_width(max(texts, key=len), STRIP_TEXT, "mono") + 16
    return float(-(-width // matrix.columns.merged)), float(-(-22 // matrix.rows.merged))


def titles(plan: Plan) -> list[tuple[float, float, str]]:
    """The title of each block with its place, where there are several: in full, or only the number if narrow."""
    blocks = range(len(plan.grid.places)) if plan.title_room else range(0)
    forms = [[block_title(plan.matrix, block), f"block {block}", str(block)] for block in blocks]
    room = plan.step_across - 4 if plan.grid.across > 1 else inf
    fitting = [form for form in zip(*forms) if all(text_width(text, BLOCK_TEXT) <= room for text in form)]
    places = [plan.origin(block) for block in blocks]
    return [(x, y - 5, text) for (x, y), text in zip(places, fitting[0] if fitting else ())]
