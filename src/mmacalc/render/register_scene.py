"""The picture of an operand's registers: lanes down, registers and their bits across, an element in each slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .places import bits_text, held_text, register_text
from .scene import Box, Label, baseline, text_width

if TYPE_CHECKING:
    from ..answers.picture import ColourOf, Matrix
    from ..model import Location
    from .matrix_scene import Layers
    from .palette import Style

__all__ = ["draw_registers"]

ROW = 17.0
HEAD = 36.0
TEXT = 9.5
LANES = 40.0


def draw_registers(
    layers: Layers,
    matrix: Matrix,
    style: Style,
    colour_of: ColourOf,
    marks: frozenset[tuple[int, int, int]],
    x: float,
    y: float,
) -> tuple[float, float]:
    """Add the registers of one operand, the upper left corner at (x, y); give the width and height they take."""
    items = range(matrix.operand.items)
    held = [[held_text(matrix, lane, item) for item in items] for lane in range(matrix.lanes)]
    places = [matrix.operand.slot(0, item) for item in items]
    spans = [bits_text(place.lsb, place.width) for place in places]
    names = [register_text(matrix.operand, place.register, place.width) for place in places]
    heads = spans + (names if matrix.place == "column" else [])
    longest = max([text for row in held for text in row] + heads, key=len)
    width = max(28.0, float(int(text_width(longest, TEXT) + 9)))
    starts = _starts(places, width)
    _heads(layers, matrix, style, [(start + x, place, span) for start, place, span in zip(starts, places, spans)], y)
    marked = {lane for mark in marks for lane in matrix.found_in(*mark)}
    for lane, texts in enumerate(held):
        top = y + HEAD + lane * ROW
        at = baseline(top + ROW / 2, TEXT)
        layers.texts.append(Label(x + LANES - 8, at, str(lane), TEXT, style.quiet, "end"))
        for item, (text, start) in enumerate(zip(texts, starts)):
            found = matrix.elements(lane, item)
            inverse = not marks.isdisjoint(found)
            colour = matrix.slot_colour(colour_of, lane, item)
            fill = style.fill(colour) if colour else style.empty
            box = Box(x + start, top, width - 1, ROW - 1, style.mark if inverse else fill)
            (layers.marks if inverse else layers.fills).append(box)
            if style.frame:
                layers.over.append(box._replace(fill=style.frame, stroke=0.7))
            ink = style.on_mark if inverse else style.ink
            label = Label(box.x + box.width / 2, at, text, TEXT, ink, "middle", "bold" if inverse else "")
            (layers.on_marks if inverse else layers.texts).append(label)
        if lane in marked:
            box = Box(x + starts[0], top, starts[-1] + width - 1 - starts[0], ROW - 1, style.mark, 1.25)
            layers.marks.append(box)
    return starts[-1] + width, HEAD + matrix.lanes * ROW


def _starts(places: list[Location], width: float) -> list[float]:
    """The left edge of each item's column; registers stand a little apart."""
    starts, left = [], LANES
    for number, place in enumerate(places):
        if number and place.register != places[number - 1].register:
            left += 4
        starts.append(left)
        left += width
    return starts


def _heads(layers: Layers, matrix: Matrix, style: Style, columns: list[tuple[float, Location, str]], y: float) -> None:
    """Each register's name above its first column, and the bits above each."""
    before = -1
    layers.texts.append(Label(columns[0][0] - 8, y + HEAD - 6, "lane", TEXT, style.quiet, "end", "bold"))
    for left, place, span in columns:
        register, width = place.register, place.width
        if register != before:
            name = register_text(matrix.operand, register, width)
            at = y + (HEAD - 6 if not span else HEAD - 20)
            layers.texts.append(Label(left + 2, at, name, 10, style.text, "start", "bold"))
            before = register
        if span:
            layers.texts.append(Label(left + 2, y + HEAD - 6, span, TEXT, style.quiet, "start"))
