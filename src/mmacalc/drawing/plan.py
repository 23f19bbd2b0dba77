"""One operand laid out on paper: the size of its cells, where its blocks and strips are."""

from __future__ import annotations

from bisect import bisect_right
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from ..model.architecture import DOUBTFUL
from ..spelling import register_text, spelling_of
from .matrix import bits_text, slot_text, with_sign
from .scene import text_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .matrix import Axis, Matrix

    Runs = tuple[tuple[int, int], ...]

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


# --- The strips at the edges of a picture: what each row and column adds to the lane, the register and the bits ---
#
# A place is a sum of one-dimensional tables, so these strips are the whole layout: the lane of an element is the lane
# part of its row and that of its column. Where one axis makes up a part by itself, its strip says it outright (`v0`,
# `35`), else as a summand (`+32`).


class Part(NamedTuple):
    """A stretch of an axis, its text, and the lane part or the digit by which it is coloured."""

    first: int
    last: int
    text: str
    value: int = 0


class Strip(NamedTuple):
    """One strip: `kind` is index, lane, bits, register or digit; `head` is written at its end."""

    kind: str
    head: str
    parts: tuple[Part, ...]


def strips(matrix: Matrix, axis: Axis, digit: str = "") -> tuple[Strip, ...]:
    """The strips of the rows or of the columns, the nearest to the cells first, with the values of one digit."""
    indices = range(0, axis.extent, axis.merged)
    found = [Strip("index", axis.name, tuple(Part(n, n + axis.merged - 1, str(n)) for n in indices))]
    found += [strip for strip in (_lane(matrix, axis), _bits(matrix, axis), _register(matrix, axis)) if strip]
    if digit in dict(axis.digits):
        values = [axis.digit(digit, value) for value in range(axis.extent)]
        found.append(Strip("digit", digit, _grouped(axis, [(value, str(value), value) for value in values])))
    return tuple(found)


def _others(matrix: Matrix, axis: Axis) -> tuple[Axis, ...]:
    return tuple(other for other in (matrix.blocks, matrix.rows, matrix.columns) if other is not axis)


def _grouped(axis: Axis, parts: list[tuple[object, str, int]]) -> tuple[Part, ...]:
    """Neighbours with the same key as one part."""
    result: list[Part] = []
    for value, (key, text, coloured_by) in enumerate(parts):
        if value and parts[value - 1][0] == key:
            result[-1] = result[-1]._replace(last=value)
        else:
            result.append(Part(value, value, text, coloured_by))
    return tuple(result)


def _lane(matrix: Matrix, axis: Axis) -> Strip | None:
    if not axis.moves_lane:
        return None
    only, base = not any(other.moves_lane for other in _others(matrix, axis)), matrix.base[0]
    if matrix.read or not only:
        head = f"lane {base} +" if base else "lane"
        return Strip("lane", head, _grouped(axis, [(lane, f"+{lane}", lane) for lane, _ in axis.steps]))
    return Strip("lane", "lane", _grouped(axis, [(lane, str(lane + base), lane) for lane, _ in axis.steps]))


def _bit(matrix: Matrix, slot: int) -> int:
    """The first bit of a slot, counted from the operand's first register."""
    place = matrix.slots[slot // matrix.slots_per_location]
    return 32 * place.register + place.lsb - matrix.operand.placement.offset


def _parts(matrix: Matrix, axis: Axis) -> list[tuple[int, int]]:
    """What each value adds to the register, and to the bits beyond that."""
    return [divmod(_bit(matrix, slot), 32) for _, slot in axis.steps]


def _bits(matrix: Matrix, axis: Axis) -> Strip | None:
    parts = _parts(matrix, axis)
    if not any(bit for _, bit in parts):
        return None
    if any(bit for other in _others(matrix, axis) for _, bit in _parts(matrix, other)):
        return Strip("bits", "bits", _grouped(axis, [(part, f"+{part[1]}", 0) for part in parts]))
    texts = []
    for _, slot in axis.steps:
        place = matrix.slots[(slot + matrix.base[1]) // matrix.slots_per_location]
        texts.append(bits_text(place.lsb, place.width))
    return Strip("bits", "bits", _grouped(axis, [(part, text, 0) for part, text in zip(parts, texts)]))


def _register(matrix: Matrix, axis: Axis) -> Strip | None:
    if not axis.moves_slot:
        return None
    registers = [register for register, _ in _parts(matrix, axis)]
    head = spelling_of(matrix.operand).register
    if any(register for other in _others(matrix, axis) for register, _ in _parts(matrix, other)):
        if not any(registers):
            return None
        return Strip("register", head, _grouped(axis, [(r, f"+{r}", 0) for r in registers]))
    if not any(registers) and axis is matrix.rows and matrix.columns.moves_slot:
        return None  # one register for all, which the strip above the columns names
    base = _bit(matrix, matrix.base[1]) // 32
    width = matrix.slots[0].width
    names = [register_text(matrix.operand, r + base, width).removeprefix(f"{head} ") for r in registers]
    return Strip("register", head, _grouped(axis, [(r, name, 0) for r, name in zip(registers, names)]))


def block_title(matrix: Matrix, block: int) -> str:
    """What stands above a block: its number, and what it adds to the lane and the register."""
    lane, _ = matrix.blocks.steps[block]
    register, bit = _parts(matrix, matrix.blocks)[block]
    text = f"block {block}"
    if matrix.blocks.moves_lane:
        text += f", lane +{lane}"
    if any(part for part, _ in _parts(matrix, matrix.blocks)):
        text += f", register +{register}"
    return text + (f", bits +{bit}" if bit else "")


def notes(matrix: Matrix) -> tuple[str, ...]:
    """What else a reader must know: copies, shared places, signs, lanes moved, and how sure the layout is."""
    operand = matrix.operand
    found = []
    if not any(axis.moves_slot for axis in (matrix.blocks, matrix.rows, matrix.columns)):
        place = matrix.slots[matrix.base[1] // matrix.slots_per_location]
        name = register_text(operand, place.register, place.width)
        found.append(f"all in {name}" + (f"[{bits}]" if (bits := bits_text(place.lsb, place.width)) else ""))
    if len(matrix.copies) > 1:
        found.append(f"each element is kept {len(matrix.copies)} times")
    if matrix.slots_per_location > 1:
        kept = "indices" if operand.name == "K" else "stored values"
        found.append(f"{matrix.shared_by} values of k share a place, that of their {matrix.slots_per_location} {kept}")
    elif matrix.shared_by > 1:
        found.append(f"{matrix.shared_by} elements share each value")
    if matrix.read:
        found.append(f"BLGP {operand.fields['blgp']}: the tiles name the lanes that are read, the strips those without")
    found += _signs(matrix)
    if operand.tile:
        found.append(f"lanes are the threads of all waves: those of wave 1 begin at {operand.parts.lane[-1][1]}")
    found += spelling_of(operand).notes(operand)
    if operand.provenance in DOUBTFUL:
        found.append(f"this layout is {operand.provenance}")
    return tuple(found)


def _signs(matrix: Matrix) -> list[str]:
    """Which elements are read with a sign: all, or those of some bits."""
    meanings = {
        "-": "negated", "|": "taken without their sign", "-|": "taken without their sign, then negated",
        "low": "negated in their lower half, which is the first stored value of two",
        "high": "negated in their upper half, which is the second stored value of two",
    }  # fmt: skip
    found = []
    for sign, meaning in meanings.items():
        items = [item for item, of_item in enumerate(matrix.signs) if of_item == sign]
        if not items:
            continue
        places = {(slot.lsb, slot.width) for slot in (matrix.slots[item] for item in items)}
        which = "all elements" if len(items) == len(matrix.signs) else ""
        which = which or "the elements in bits " + ", ".join(bits_text(*place) for place in sorted(places))
        found.append(f"{which} are {meaning}")
    return found


# --- One axis laid out along a side of a picture: where each of its cells and tiles starts and ends ---
#
# A long axis whose first digit only moves the register repeats itself; such an axis is folded: the first repetition,
# those with a marked element and the last are shown, with an ellipsis where others were left out.


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
    count = dict(axis.digits)[axis.repeated]
    ends = [at for at in range(axis.extent // axis.period) if at % count in (0, count - 1)]
    kept = sorted({*ends, *(value // axis.period for value in shown)})
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
