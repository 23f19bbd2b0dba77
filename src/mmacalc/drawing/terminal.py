"""The same pictures for a terminal: tiles with their lanes, strips at the edges, 24-bit colour or plain.

Every tile is named once, in its first cell; a dot in each further cell says that the tile goes on. A text that does
not fit is left out and never cut, for `+1` instead of `+10` would be wrong.
"""

from __future__ import annotations

from itertools import zip_longest
from math import ceil
from typing import TYPE_CHECKING

from ..spelling import register_text
from .matrix import bits_text, held_text
from .picture import answers, folded, operand_heading, pattern_text
from .plan import Cell, block_title, notes, segments, spaced, strips, track

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .matrix import Axis, Colour, Matrix
    from .picture import Look
    from .plan import Strip, Track

__all__ = ["matrix", "registers"]

CONTINUED = "\N{MIDDLE DOT}"
ELLIPSIS = "..."
APART = 3  # characters between blocks that stand beside one another


class Line:
    """A line of characters, each with a colour behind it."""

    text: str

    def __init__(self) -> None:
        self.text = ""
        self._fills: list[tuple[int, int, str, str]] = []

    def put(self, at: int, text: str) -> None:
        """Write a text from a column on."""
        self.text = f"{self.text:{at}}"[:at] + text + self.text[at + len(text) :]

    def fill(self, at: int, length: int, behind: str, ink: str) -> None:
        """Colour a stretch; later ones cover earlier ones."""
        self._fills.append((at, length, behind, ink))
        self.text = f"{self.text:{at + length}}"

    def append(self, other: Line, at: int) -> None:
        """Add another line from a column on."""
        self.put(at, other.text)
        self._fills += [(start + at, length, behind, ink) for start, length, behind, ink in other._fills]

    def shown(self, colour: bool) -> str:
        """The line, with escape sequences if it is to have colour."""
        if not colour or not self._fills:
            return self.text.rstrip()
        colours = [("", "")] * len(self.text)
        for at, length, behind, ink in self._fills:
            colours[at : at + length] = [(behind, ink)] * length
        result, before = "", ("", "")
        for character, wanted in zip(self.text, colours):
            if wanted != before:
                result += _escape(*wanted)
                before = wanted
            result += character
        return result + "\033[0m" if before[0] else result.rstrip()


def _escape(behind: str, ink: str) -> str:
    if not behind:
        return "\033[0m"
    back, front = (";".join(str(int(part[at : at + 2], 16)) for at in (1, 3, 5)) for part in (behind, ink))
    return f"\033[48;2;{back};38;2;{front}m"


def matrix(shown: Matrix, look: Look, colour: bool, width: int) -> str:
    """The matrix of an operand as text; `width` is how many characters a line should take at most."""
    columns = _columns(shown, look, width)
    panels = [_Panel(shown, look, columns, block, colour).lines() for block in range(shown.blocks.extent)]
    wide = max(len(line.text) for line in panels[0]) + APART
    across = max(1, (width + APART) // wide)
    across = max(n for n in range(1, across + 1) if len(panels) % n == 0 or n == 1)
    lines = [operand_heading(shown), pattern_text(shown), ""]
    for first in range(0, len(panels), across):
        lines += [""] * (first > 0)
        for beside in zip_longest(*panels[first : first + across], fillvalue=Line()):
            joined = Line()
            for place, line in enumerate(beside):
                joined.append(line, place * wide)
            lines.append(joined.shown(colour))
    below = [*answers([shown], look), *folded(shown, columns), *notes(shown)]
    return "\n".join([*lines, *([""] if below else []), *below]) + "\n"


def _columns(shown: Matrix, look: Look, width: int) -> Track:
    """The columns as characters: room for every tile's lanes, and for every index where the width allows."""
    axis = shown.columns
    marks = look.marks.get(shown.operand.name, frozenset())
    room = width - _margin(shown)
    every = [(block, 0, column) for block in range(shown.blocks.extent) for column in range(axis.extent)]
    every += [(0, row, 0) for row in range(shown.rows.extent)]
    highest = max(range(shown.rows.extent), key=lambda row: shown.rows.steps[row][0])  # of two numbers that are added
    every += [(0, highest, column) for column in range(axis.extent)]
    tile = max(len(shown.lanes_text(*element)) for element in every) + 1
    cell = ceil(tile * axis.merged / axis.run)
    indexed = max(cell, len(str(axis.extent - axis.merged)) + 1)
    labelled = max(indexed, *(_cell_for(axis, strip) for strip in strips(shown, axis)))
    whole = ((0, axis.extent - 1),)
    kept = segments(axis, [column for _, _, column in marks], look.fold)
    for visible in (whole, kept):
        cells = sum(high + 1 - low for low, high in visible) // axis.merged
        for characters in (labelled, indexed, cell):
            if cells * characters <= room:
                return track(axis, characters / axis.merged, visible, axis.merged, len(ELLIPSIS) + 2, (0.0, 0.0))
    values = axis.merged
    while cell == 1 and cells * axis.merged // values > room and axis.run // (2 * values) >= tile:
        values *= 2
    return track(axis, cell / values, kept, values, len(ELLIPSIS) + 2, (0.0, 0.0))


def _cell_for(axis: Axis, strip: Strip) -> int:
    """How wide a cell must be for every label of a strip."""
    return max(ceil((len(part.text) + 1) * axis.merged / (part.last + 1 - part.first)) for part in strip.parts)


def _margin(shown: Matrix) -> int:
    """The characters that the strips at the left take, or the heads of those above."""
    left = sum(_wide(shown, strip) + 1 for strip in strips(shown, shown.rows))
    return 1 + max(left, *(len(strip.head) + 1 for strip in strips(shown, shown.columns)))


def _head(shown: Matrix, strip: Strip) -> str:
    return f"{strip.head}\\{shown.columns.name}" if strip.kind == "index" else strip.head


def _wide(shown: Matrix, strip: Strip) -> int:
    return max(len(_head(shown, strip)), *(len(part.text) for part in strip.parts))


class _Panel:
    """One block as lines."""

    def __init__(self, shown: Matrix, look: Look, columns: Track, block: int, colour: bool) -> None:
        self.shown, self.columns, self.block, self.style = shown, columns, block, look.style
        self.continued = "" if colour else CONTINUED
        self.marks = look.marks.get(shown.operand.name, frozenset())
        self.colour_of = shown.colour_by(look.color_by)
        self.fills: dict[Colour, str] = {}
        self.margin = _margin(shown)
        self.left = strips(shown, shown.rows)

    def lines(self) -> list[Line]:
        """The title, the strips above, and a line for each row (for each place, where several rows share one)."""
        found = []
        if self.shown.blocks.extent > 1:
            found.append(Line())
            found[0].put(self.margin, block_title(self.shown, self.block))
        found += [self._above(strip) for strip in reversed(strips(self.shown, self.shown.columns)) if self._fits(strip)]
        rows = self.shown.rows
        return found + [self._row(row) for row in range(0, rows.extent, rows.merged)]

    def _fits(self, strip: Strip) -> bool:
        """Whether a strip of registers or bits has room for all its labels: every second one would say nothing."""
        characters = self.columns.pitch * self.shown.columns.merged
        return strip.kind in ("index", "lane") or _cell_for(self.shown.columns, strip) <= characters

    def _above(self, strip: Strip) -> Line:
        line = Line()
        if strip.kind == "index":
            for side, at, wide in self._sides():
                line.put(at, f"{_head(self.shown, side):>{wide}}")
        else:
            line.put(self.margin - 2 - len(strip.head), strip.head)
        stretches = [(part, cell) for part in strip.parts for cell in _characters(self.columns, part.first, part.last)]
        for part, cell in stretches:
            if strip.kind == "lane" and self.colour_of.shows_lane and not self.shown.read:
                fill = self._fill(self.shown.by_lane[part.value + self.shown.base[0]])
                line.fill(self.margin + int(cell.start), int(cell.size), fill, self.style.ink)
        parts = [(cell, float(len(part.text) + 1)) for part, cell in stretches]
        for number, _ in spaced(parts, 0.0):
            line.put(self.margin + int(parts[number][0].start), stretches[number][0].text)
        return line

    def _sides(self) -> Iterator[tuple[Strip, int, int]]:
        """The strips at the left, the nearest first, each with where it starts and how wide it is."""
        end = self.margin - 1
        for side in self.left:
            wide = _wide(self.shown, side)
            end -= wide + 1
            yield side, end, wide

    def _row(self, row: int) -> Line:
        line = Line()
        for side, at, wide in self._sides():
            for part in side.parts:
                if part.first <= row <= part.last:
                    if side.kind == "lane" and self.colour_of.shows_lane and not self.shown.read:
                        fill = self._fill(self.shown.by_lane[part.value + self.shown.base[0]])
                        line.fill(at, wide, fill, self.style.ink)
                    line.put(at, f"{part.text if part.first == row else '':>{wide}}")
        colours = self.colour_of.along(self.block, row, [cell.first for cell in self.columns.cells])
        for cell, colour in zip(self.columns.cells, colours):
            at = self.margin + int(cell.start)
            element = (self.block, row, cell.first)
            line.fill(at, int(cell.size), self._fill(colour), self.style.ink)
            text = self.continued
            if row % self.shown.rows.run == 0 and cell.first % self.shown.columns.run == 0:
                text = self._tile(cell, *element)
            if self.marks and self._marked(row, cell):
                text = f"*{self.shown.found_in(*element)[0]}"
                text = text if len(text) < self.columns.pitch * self.shown.columns.merged else "*"
                line.fill(at, int(cell.size), self.style.mark, self.style.on_mark)
            if text and not (text == CONTINUED and line.text[at - 1 : at + 1].strip(f" {CONTINUED}")):
                line.put(at, text)
        for middle in self.columns.breaks:
            line.put(self.margin + int(middle) - 1, ELLIPSIS)
        return line

    def _fill(self, colour: Colour) -> str:
        """A colour in the picture's style, made once: neighbours have the same."""
        if colour not in self.fills:
            self.fills[colour] = self.style.fill(colour)
        return self.fills[colour]

    def _tile(self, cell: Cell, block: int, row: int, column: int) -> str:
        """The lanes of a tile; the first with a + where not all have room."""
        text = self.shown.lanes_text(block, row, column)
        return text if len(text) < self.shown.columns.run * self.columns.pitch else text.split(",")[0] + "+"

    def _marked(self, row: int, cell: Cell) -> bool:
        last = row + self.shown.rows.merged - 1
        return any(b == self.block and row <= i <= last and cell.first <= j <= cell.last for b, i, j in self.marks)


def _characters(columns: Track, first: int, last: int) -> Iterator[Cell]:
    """The stretches of characters over some columns."""
    for cell in columns.span(first, last):
        if cell.start == int(cell.start):
            yield cell


def registers(shown: Matrix, look: Look, colour: bool, width: int) -> str:
    """The registers of an operand as text: a line for each lane, an element in each slot; as wide tables as fit."""
    heads = [
        (register_text(shown.operand, slot.register, slot.width), bits_text(slot.lsb, slot.width))
        for slot in shown.slots
    ]
    columns = [_Slots(shown, look, item, head) for item, head in enumerate(heads)]
    lines = [f"{operand_heading(shown)}, by {shown.place}", pattern_text(shown)]
    for table in _tables(columns, width - 5):
        lines.append("")
        for number in range(-2, shown.lanes):
            line = Line()
            line.put(0, "lane" if number == -1 else f"{number:4}" if number >= 0 else "")
            at = 5
            for column in table:
                column.write(line, at, number)
                at += column.width + 1
            lines.append(line.shown(colour))
    below = [*answers([shown], look), *notes(shown)]
    return "\n".join([*lines, *([""] if below else []), *below]) + "\n"


def _tables(columns: Sequence[_Slots], room: int) -> Iterator[list[_Slots]]:
    """The columns that stand beside one another, in as many tables as it takes."""
    table: list[_Slots] = []
    used = 0
    for column in columns:
        if table and used + column.width > room:
            yield table
            table, used = [], 0
        table.append(column)
        used += column.width + 1
    yield table


class _Slots:
    """One item of every lane: a column of the table of registers."""

    def __init__(self, shown: Matrix, look: Look, item: int, head: tuple[str, str]) -> None:
        self.shown, self.item, self.head, self.style = shown, item, head, look.style
        self.colour_of = shown.colour_by(look.color_by)
        self.marks = look.marks.get(shown.operand.name, frozenset())
        self.texts = [held_text(shown, lane, item) for lane in range(shown.lanes)]
        marked = 1 if self.marks else 0
        self.width = max(*map(len, self.texts), *map(len, head)) + marked

    def write(self, line: Line, at: int, lane: int) -> None:
        """The column's part of a line; -2 and -1 are the heads."""
        if lane < 0:
            line.put(at, self.head[lane + 2])
            return
        elements = self.shown.elements(lane, self.item)
        marked = not self.marks.isdisjoint(elements)
        colour = self.shown.slot_colour(self.colour_of, lane, self.item)
        fill = self.style.fill(colour) if colour else self.style.empty
        ink = self.style.on_mark if marked else self.style.ink
        line.fill(at, self.width, self.style.mark if marked else fill, ink)
        line.put(at, "*" * marked + self.texts[lane])
