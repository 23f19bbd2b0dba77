"""One axis laid out along a side of a picture: where each of its cells and tiles starts and ends.

A long axis whose first digit only moves the register repeats itself; such an axis is folded: the first repetition,
those with a marked element and the last are shown, with an ellipsis where others were left out.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .matrix import Axis

__all__ = ["Cell", "Track", "segments", "spaced", "track"]

TILE_GAP = 2.0
CELL_GAP = 0.6
ELLIPSIS = 18.0
# Below this many pixels a tile is one area: lines between its cells would only make it grey.
SMALLEST_CELL = 4.0


class Cell(NamedTuple):
    """Some neighbouring values of the axis, and the pixels that they take, without the gap after them."""

    first: int
    last: int
    start: float
    size: float


class Track(NamedTuple):
    """An axis along a side.

    Attributes:
        axis: whose track; pitch: pixels for each value; cells, tiles: what is visible, in order.
        breaks: the middle of each ellipsis; length: all of it, in pixels.
    """

    axis: Axis
    pitch: float
    cells: tuple[Cell, ...]
    tiles: tuple[Cell, ...]
    breaks: tuple[float, ...]
    length: float

    def span(self, first: int, last: int) -> tuple[Cell, ...]:
        """Where the visible values from `first` to `last` are: a stretch for each uninterrupted run of them."""
        found: list[Cell] = []
        for cell in self.cells:
            if cell.last < first or cell.first > last:
                continue
            low, high = max(first, cell.first), min(last, cell.last)
            start = cell.start + (low - cell.first) * self.pitch
            end = cell.start + (cell.size if high == cell.last else (high + 1 - cell.first) * self.pitch)
            if found and found[-1].last == low - 1:
                low, start = found.pop()[0:3:2]
            found.append(Cell(low, high, start, end - start))
        return tuple(found)

    def at(self, pixel: float) -> int | None:
        """The value at a pixel, or None beside the axis and in an ellipsis."""
        place = bisect_right([cell.start for cell in self.cells], pixel) - 1
        if place < 0:
            return None
        cell = self.cells[place]
        value = cell.first + int((pixel - cell.start) / self.pitch)
        return value if value <= cell.last else None


def segments(axis: Axis, shown: Iterable[int], fold: bool) -> tuple[tuple[int, int], ...]:
    """The values to show, as (first, last) of each uninterrupted run.

    Args:
        axis: the axis; shown: values that must be among them; fold: whether to leave out repetitions.
    """
    if not fold or not axis.period:
        return ((0, axis.extent - 1),)
    count = axis.extent // axis.period
    kept = sorted({0, count - 1, *(value // axis.period for value in shown)})
    runs: list[list[int]] = []
    for repetition in kept:
        if runs and runs[-1][1] == repetition - 1:
            runs[-1][1] = repetition
        else:
            runs.append([repetition, repetition])
    return tuple((first * axis.period, (last + 1) * axis.period - 1) for first, last in runs)


def track(
    axis: Axis,
    pitch: float,
    visible: tuple[tuple[int, int], ...],
    unit: int | None = None,
    ellipsis: float = ELLIPSIS,
    gaps: tuple[float, float] = (CELL_GAP, TILE_GAP),
) -> Track:
    """Lay out the visible values of an axis.

    Args:
        axis: what to lay out; pitch: pixels (or characters) for each value; visible: as `segments` gives them.
        unit: how many values are one cell: by default those that share a place, or the tile where that is too small.
        ellipsis: the length of an ellipsis; gaps: those after a cell, and after a tile.
    """
    if unit is None:
        unit = axis.merged if axis.merged * pitch >= SMALLEST_CELL else axis.run
    cell_gap, tile_gap = gaps if axis.run * pitch >= 4 * gaps[1] else (gaps[0], gaps[0])
    cells, tiles, breaks = [], [], []
    start = 0.0
    for number, (low, high) in enumerate(visible):
        if number:
            breaks.append(start + ellipsis / 2)
            start += ellipsis
        for first in range(low, high + 1, unit):
            last = first + unit - 1
            gap = tile_gap if (last + 1) % axis.run == 0 else cell_gap
            cells.append(Cell(first, last, start + (first - low) * pitch, unit * pitch - gap))
        for first in range(low, high + 1, axis.run):
            size = axis.run * pitch - tile_gap
            tiles.append(Cell(first, first + axis.run - 1, start + (first - low) * pitch, size))
        start += (high + 1 - low) * pitch
    return Track(axis, pitch, tuple(cells), tuple(tiles), tuple(breaks), start)


def spaced(parts: list[tuple[Cell, float]], slack: float = 2.0) -> Iterator[tuple[int, bool]]:
    """Which labels of a strip fit: every one, or every second, fourth, eighth ...; none is cut.

    Args:
        parts: for each stretch of the strip, how long its label is; slack: by how much a label may be longer than
            its own stretch.

    Returns:
        The number of each stretch that has a label; True if it fits in the stretch, else it takes the next ones too.
    """
    fitting = [need <= cell.size + slack for cell, need in parts]
    even = len({round(cell.size, 3) for cell, _ in parts}) <= 2  # tiles end in a wider gap: still an even row
    if all(fitting) or not even:
        yield from ((number, True) for number, fits in enumerate(fitting) if fits)
        return
    for every in (2, 4, 8, 16, 32, 64, 128):
        chosen = range(0, len(parts), every)
        if all(parts[number][1] <= _room(parts, number, every) + slack for number in chosen):
            yield from ((number, False) for number in chosen)
            return


def _room(parts: list[tuple[Cell, float]], number: int, every: int) -> float:
    """From the start of a stretch to that of the next one that has a label, or to the end."""
    start, last = parts[number][0].start, parts[-1][0]
    return parts[number + every][0].start - start if number + every < len(parts) else last.start + last.size - start
