"""The picture of one operand's matrix: tiles with their lanes, the strips around them, marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .matrix import bits_text, slot_text, with_sign
from .plan import BLOCK_TEXT, CELL_GAP, LANE_TEXT, SMALLEST_TEXT, STRIP_TEXT, Cell, spaced, titles
from .scene import Box, Label, Line, baseline, text_width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .matrix import Colour, ColourOf
    from .plan import Plan, Strip, Track
    from .scene import Style

    Shape = Box | Line | Label

__all__ = ["Layers", "draw_matrix"]

INDEX_TEXT = 10.0


class Layers(NamedTuple):
    """The shapes of a picture by what covers what: fills, what lies on them, texts, marks, texts on marks."""

    fills: list[Shape]
    over: list[Shape]
    texts: list[Shape]
    marks: list[Shape]
    on_marks: list[Shape]

    @classmethod
    def empty(cls) -> Layers:
        """No shapes yet."""
        return cls([], [], [], [], [])


def draw_matrix(layers: Layers, plan: Plan, style: Style, colour_of: ColourOf, x: float, y: float) -> None:
    """Add the picture of one operand, its upper left corner at (x, y).

    Args:
        layers: where the shapes go; plan, style: how it is laid out and coloured; colour_of: the colour of an
            element by (block, row, column).
    """
    _Painter(layers, plan, style, colour_of, x, y).paint()


class _Painter:
    """Draws one plan at one place."""

    def __init__(self, layers: Layers, plan: Plan, style: Style, colour_of: ColourOf, x: float, y: float) -> None:
        self.layers, self.plan, self.style, self.colour_of = layers, plan, style, colour_of
        self.matrix = plan.matrix
        self.x, self.y = x, y
        self.by_colour: dict[Colour, str] = {}
        self.fills: dict[tuple[int, int], str] = {}  # of the cells of the block that is painted, by row and column
        self.lane_text, self.all_copies = self._lane_text()
        self.marked_lanes = {lane for mark in plan.marks for lane in self.matrix.found_in(*mark)}

    def paint(self) -> None:
        for block, (across, down) in enumerate(self.plan.grid.places):
            left, top = self.plan.origin(block)
            self._block(block, self.x + left, self.y + top)
            if down == min(d for a, d in self.plan.grid.places if a == across):
                self._top_strips(self.x + left)
            if across == min(a for a, d in self.plan.grid.places if d == down):
                self._left_strips(self.y + self.plan.row_origin(down))
        self._heads()
        for left, top, text in titles(self.plan):
            self._text(self.x + left, self.y + top, text, BLOCK_TEXT, self.style.quiet, "start")
        self._ellipses()

    def _text(self, x: float, y: float, text: str, size: float, colour: str, anchor: str, face: str = "") -> None:
        self.layers.texts.append(Label(x, y, text, size, colour, anchor, face))

    # --- cells, tiles and marks ---

    def _block(self, block: int, left: float, top: float) -> None:
        columns = self.plan.columns.cells
        self.fills = {}
        for row in self.plan.rows.cells:
            colours = self.colour_of.along(block, row.first, [column.first for column in columns])
            for column, colour in zip(columns, colours):
                fill = self.fills[row.first, column.first] = self._fill(colour)
                box = Box(left + column.start, top + row.start, column.size, row.size, fill)
                self.layers.fills.append(box)
                if self.plan.labels:
                    self._cell_label((block, row.first, column.first), box, self.layers.texts, self.style.ink)
        for row in self.plan.rows.tiles:
            for column in self.plan.columns.tiles:
                self._tile(block, row, column, left, top)

    def _fill(self, colour: Colour) -> str:
        if colour not in self.by_colour:
            self.by_colour[colour] = self.style.fill(colour)
        return self.by_colour[colour]

    def _tile(self, block: int, row: Cell, column: Cell, left: float, top: float) -> None:
        x, y = left + column.start, top + row.start
        if self.style.frame:
            self.layers.over.append(Box(x, y, column.size, row.size, self.style.frame, 0.7))
        marked = [m for m in self.plan.marks if m[0] == block and _inside(m, row, column)]
        written = [self._mark(mark, left, top) for mark in marked]
        if self.lane_text and not self.plan.labels and not any(written):
            text = self._lanes(block, row.first, column.first)
            middle_x, middle_y = x + column.size / 2, y + row.size / 2
            self._ground(row, column, (left, top), (middle_x, middle_y), text)
            at = baseline(middle_y, self.lane_text)
            self._text(middle_x, at, text, self.lane_text, self.style.ink, "middle", "bold")
        if self.marked_lanes & {*self.matrix.found_in(block, row.first, column.first)}:
            self.layers.marks.append(Box(x, y, column.size, row.size, self.style.mark, 1.25))

    def _mark(self, mark: tuple[int, int, int], left: float, top: float) -> bool:
        """A marked element: its cell in inverse video, with its lane if there is room; whether there was."""
        written = False
        block, row, column = mark
        merged = self.matrix.rows.merged, self.matrix.columns.merged
        first = row - row % merged[0], column - column % merged[1]
        for high in self.plan.rows.span(first[0], first[0] + merged[0] - 1):
            for wide in self.plan.columns.span(first[1], first[1] + merged[1] - 1):
                box = Box(left + wide.start, top + high.start, wide.size, high.size, self.style.mark)
                self.layers.marks.append(box)
                if self.plan.labels:
                    self._cell_label(mark, box, self.layers.on_marks, self.style.on_mark)
                    continue
                text = self._lanes(block, row, column)
                size = min(LANE_TEXT, 0.72 * box.height, (box.width - 2) / text_width(text, 1, "bold"))
                if size >= SMALLEST_TEXT:
                    at = baseline(box.y + box.height / 2, size)
                    label = Label(box.x + box.width / 2, at, text, size, self.style.on_mark, "middle", "bold")
                    self.layers.on_marks.append(label)
                    written = True
        return written

    def _lanes(self, block: int, row: int, column: int) -> str:
        lanes = self.matrix.found_in(block, row, column)
        if len(lanes) == 1 or self.all_copies or self.plan.labels:
            return self.matrix.lanes_text(block, row, column, ", ")
        return f"{lanes[0]}+"

    def _lane_text(self) -> tuple[float, bool]:
        """The size of the numbers on the tiles, the same for all, 0 if they do not fit; and whether all copies do."""
        plan = self.plan
        width = min(tile.size for tile in plan.columns.tiles)
        height = min(tile.size for tile in plan.rows.tiles)
        copies = len({*self.matrix.found_in(0, 0, 0)})
        longest = len(str(self.matrix.lanes - 1))
        for characters, every in ((copies * (longest + 2) - 2, True), (longest + 1, False)):
            size = min(LANE_TEXT, 0.72 * height, (width - 2) / text_width("0" * characters, 1, "bold"))
            if height >= 8 and size >= SMALLEST_TEXT:
                return int(size * 4) / 4, every
        return 0.0, False

    def _ground(
        self, row: Cell, column: Cell, corner: tuple[float, float], middle: tuple[float, float], text: str
    ) -> None:
        """Paint over the lines between cells where the number stands, so that none strikes it through."""
        half_width = text_width(text, self.lane_text, "bold") / 2
        if column.size < 3 * self.lane_text:
            half_width = column.size / 2  # no ticks beside the number of a narrow tile
        high = _covered(self.plan.rows, row, middle[1] - corner[1], 0.45 * self.lane_text)
        wide = _covered(self.plan.columns, column, middle[0] - corner[0], half_width)
        if len(high) * len(wide) == 1:
            return
        fills = [[self.fills[down.first, across.first] for across in wide] for down in high]
        if len({fill for line in fills for fill in line}) == 1:
            high, wide = [_joined(high)], [_joined(wide)]
        for line, down in zip(fills, high):
            for fill, across in zip(line, wide):
                box = Box(corner[0] + across.start, corner[1] + down.start, across.size, down.size, fill)
                self.layers.over.append(box)

    def _cell_label(self, element: tuple[int, int, int], box: Box, texts: list[Shape], ink: str) -> None:
        """The lane at the left, the place at the right, and below a bar of the register's bits, 31 at the left."""
        location = self.matrix.location(*element)
        place = with_sign(slot_text(self.matrix.operand, location), self.matrix.signs[location.item])
        at = baseline(box.y + box.height / 2 - 2, 11)
        texts.append(Label(box.x + 4, at, self._lanes(*element), 11, ink, "start", "bold"))
        texts.append(Label(box.x + box.width - 4, at, place, STRIP_TEXT, ink, "end", "mono"))
        if bits_text(location.lsb, location.width):
            whole = box.width - 8
            for low, high in _bit_runs(location.lsb, location.width):
                left = box.x + 4 + whole * (31 - high) / 32
                width = whole * (high - low + 1) / 32
                bars = self.layers.over if texts is self.layers.texts else texts
                bars.append(Box(left, box.y + box.height - 4, width, 2, ink))

    # --- strips ---

    def _top_strips(self, left: float) -> None:
        bottom = self.y + self.plan.margin_top
        for strip, size in self.plan.top:
            bottom -= size
            self._strip(strip, self.plan.columns, _Across(left, bottom, size - 1))

    def _left_strips(self, top: float) -> None:
        right = self.x + self.plan.margin_left
        for strip, size in self.plan.left:
            right -= size
            self._strip(strip, self.plan.rows, _Down(right, top, size - 4))

    def _strip(self, strip: Strip, track: Track, side: _Across | _Down) -> None:
        stretches = [(part, cell) for part in strip.parts for cell in track.span(part.first, part.last)]
        if strip.kind != "index":
            for part, cell in stretches:
                self.layers.fills.append(side.box(cell, self._strip_fill(strip, part.value)))
        index = strip.kind == "index"
        size = INDEX_TEXT if index else STRIP_TEXT
        coloured = strip.kind == "digit" or (strip.kind == "lane" and self._lane_colours)
        colour = self.style.ink if coloured else self.style.quiet
        for number, room in side.labelled([(part.text, cell) for part, cell in stretches], size):
            part, cell = stretches[number]
            self.layers.texts.append(side.label(part.text, cell, room, size, colour))

    @property
    def _lane_colours(self) -> bool:
        """Whether a lane's colour is that of the sum of its parts, so that the parts can have colours."""
        return self.colour_of.shows_lane and not self.matrix.read

    def _strip_fill(self, strip: Strip, value: int) -> str:
        if strip.kind == "digit":
            return self._fill(self.matrix.digit_colour(strip.head, value))
        if strip.kind != "lane" or not self._lane_colours:
            return self.style.strip
        return self._fill(self.matrix.by_lane[value + self.matrix.base[0]])

    def _heads(self) -> None:
        plan, style = self.plan, self.style
        left, bottom = self.x + plan.margin_left, self.y + plan.margin_top
        for strip, size in plan.top:
            bottom -= size
            if strip.kind != "index":
                at = baseline(bottom + size / 2, STRIP_TEXT)
                self._text(left - 6, at, strip.head, STRIP_TEXT, style.quiet, "end", "bold")
        right, top = left, self.y + plan.margin_top
        index_size = plan.top[0][1]
        for strip, size in plan.left:
            right -= size
            at = baseline(top - index_size / 2, STRIP_TEXT)
            if strip.kind != "index":
                self._text(right + (size - 4) / 2, at, strip.head, STRIP_TEXT, style.quiet, "middle", "bold")
        self._corner(left, top)

    def _corner(self, left: float, top: float) -> None:
        """A diagonal between the name of the columns, above it, and that of the rows, below."""
        width, height = self.plan.left[0][1] - 4, self.plan.top[0][1]
        x, y = left - width - 4, top - height
        self.layers.over.append(Line(x + 4, y + 2, x + width - 4, y + height - 1, self.style.quiet, 0.6))
        names = self.plan.matrix.columns.name, self.plan.matrix.rows.name
        self._text(x + width - 1, y + 8, names[0], STRIP_TEXT, self.style.text, "end", "bold")
        self._text(x + 2, y + height - 2, names[1], STRIP_TEXT, self.style.text, "start", "bold")

    def _ellipses(self) -> None:
        plan = self.plan
        for block in range(len(plan.grid.places)):
            left, top = (a + b for a, b in zip(plan.origin(block), (self.x, self.y)))
            for middle in plan.columns.breaks:
                at = baseline(top + plan.rows.length / 2, 12)
                self._text(left + middle, at, "\N{HORIZONTAL ELLIPSIS}", 12, self.style.quiet, "middle", "bold")
            for middle in plan.rows.breaks:
                at = baseline(top + middle, 12)
                self._text(left + plan.columns.length / 2, at, "\N{VERTICAL ELLIPSIS}", 12, self.style.quiet, "middle")


class _Across(NamedTuple):
    """A strip above the columns."""

    left: float
    top: float
    size: float

    def box(self, cell: Cell, fill: str) -> Box:
        return Box(self.left + cell.start, self.top, cell.size, self.size, fill)

    def label(self, text: str, cell: Cell, room: bool, size: float, colour: str) -> Label:
        at = baseline(self.top + self.size / 2, size)
        if room:
            return Label(self.left + cell.start + cell.size / 2, at, text, size, colour)
        return Label(self.left + cell.start, at, text, size, colour, "start")

    def labelled(self, parts: list[tuple[str, Cell]], size: float) -> Iterator[tuple[int, bool]]:
        """Which parts have room for their labels; True where that room is within the part itself."""
        return spaced([(cell, text_width(text, size) + 2) for text, cell in parts])


class _Down(NamedTuple):
    """A strip at the left of the rows."""

    left: float
    top: float
    size: float

    def box(self, cell: Cell, fill: str) -> Box:
        return Box(self.left, self.top + cell.start, self.size, cell.size, fill)

    def label(self, text: str, cell: Cell, room: bool, size: float, colour: str) -> Label:
        middle = cell.start + cell.size / 2 if room else cell.start + size / 2
        return Label(self.left + self.size / 2, baseline(self.top + middle, size), text, size, colour)

    def labelled(self, parts: list[tuple[str, Cell]], size: float) -> Iterator[tuple[int, bool]]:
        """Which parts have room for their labels; True where that room is within the part itself."""
        return spaced([(cell, 0.9 * size) for _, cell in parts], slack=0.6)


def _inside(mark: tuple[int, int, int], row: Cell, column: Cell) -> bool:
    return row.first <= mark[1] <= row.last and column.first <= mark[2] <= column.last


def _covered(track: Track, tile: Cell, middle: float, half: float) -> list[Cell]:
    """The parts of a tile's cells that a text around its middle covers, with the lines between them."""
    found = []
    for cell in track.cells:
        if tile.first <= cell.first <= tile.last:
            low = max(cell.start, middle - half)
            high = min(cell.start + cell.size + (0 if cell.last == tile.last else CELL_GAP), middle + half)
            if low < high:
                found.append(Cell(cell.first, cell.last, low, high - low))
    return found


def _joined(cells: list[Cell]) -> Cell:
    last = cells[-1]
    return Cell(cells[0].first, last.last, cells[0].start, last.start + last.size - cells[0].start)


def _bit_runs(lsb: int, width: int) -> list[tuple[int, int]]:
    """The bits as (low, high), two runs where they go on in the next register."""
    last = lsb + width - 1
    return [(lsb, min(last, 31))] + ([(0, last - 32)] if last > 31 else [])
