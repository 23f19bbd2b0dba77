"""A whole picture as a scene: title, pattern, the operand or the instruction, and what must be known besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..spelling import element_text, lanes_of, register_text, spelling_of
from .matrix import Colour, ColourOf, bits_text, held_text, operand_title, slot_text
from .matrix_scene import Layers, draw_matrix
from .plan import BLOCK_GAP, BLOCK_TITLE, Grid, notes, plan, segments, with_pitches
from .scene import Box, Label, Scene, baseline, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model import Instruction
    from .matrix import Matrix
    from .plan import Track
    from .scene import Style

    Elements = frozenset[tuple[int, int, int]]
    from ..model import Location
    from .matrix import Axis, ColourOf
    from .matrix_scene import Layers
    from .plan import Plan

PADDING = 14.0
SPACE = (900.0, 840.0)  # for the cells of one operand


class Look(NamedTuple):
    """How to draw: the style, what colours (lane, register or a digit), marks by operand, labels, folding."""

    style: Style
    color_by: str = "lane"
    marks: dict[str, Elements] = {}
    labels: bool = False
    fold: bool = True


def operand_scene(matrix: Matrix, look: Look) -> Scene:
    """The matrix of one operand."""
    marks = look.marks.get(matrix.operand.name, frozenset())
    made = plan(matrix, SPACE, labels=look.labels, marks=marks, fold=look.fold, digit=look.color_by)
    page = _Page(look.style, operand_heading(matrix), pattern_text(matrix))
    draw_matrix(page.layers, made, look.style, matrix.colour_by(look.color_by), PADDING, page.bottom)
    page.grow(made.width, made.height)
    return page.finished([*answers([matrix], look), *folded(matrix, made.columns, made.rows), *notes(matrix)])


def registers_scene(matrix: Matrix, look: Look) -> Scene:
    """The registers of one operand: lanes down, registers across."""
    marks = look.marks.get(matrix.operand.name, frozenset())
    page = _Page(look.style, f"{operand_heading(matrix)}, by {matrix.place}", pattern_text(matrix))
    colour_of = matrix.colour_by(look.color_by)
    page.grow(*draw_registers(page.layers, matrix, look.style, colour_of, marks, PADDING, page.bottom))
    return page.finished([*answers([matrix], look), *notes(matrix)])


def instruction_scene(instruction: Instruction, matrices: dict[str, Matrix], look: Look) -> Scene:
    """A, B and D of an instruction in a corner; of an instruction that has not all three, its operands in a column."""
    first = next(iter(matrices.values()))
    page = _Page(look.style, f"{instruction.name}, {instruction.architecture.title}{_modifiers(first)}", "")
    if "D" in matrices and ("A" in matrices or "B" in matrices):
        shown = [matrices[name] for name in "ABD" if name in matrices]
        headings = {matrix.operand.name: _short_heading(matrix) for matrix in shown}
        made = corner(matrices.get("A"), matrices.get("B"), matrices["D"], look.marks, look.fold, headings)
        for each, x, y in made.plans:
            page.subtitle(each.matrix, x + PADDING, y + page.bottom)
            left, top = x + PADDING, y + page.bottom
            draw_matrix(page.layers, each, look.style, _colours(each.matrix, look), left, top)
            for across, down, width, height in crossing(each, look.marks):
                page.layers.marks.append(Box(left + across, top + down, width, height, look.style.mark, 1.25))
        page.grow(made.width, made.height)
    else:
        shown = list(matrices.values())
        for matrix in shown:
            each = plan(matrix, SPACE, labels=look.labels, marks=look.marks.get(matrix.operand.name, ()))
            page.subtitle(matrix, PADDING, page.bottom + 30)
            draw_matrix(page.layers, each, look.style, _colours(matrix, look), PADDING, page.bottom + 36)
            page.grow(each.width, each.height + 48)
    outside = instruction.outside_registers.items()
    absent = [f"{name} of this instruction {why}" for name, why in outside if name not in instruction.drawn_operands]
    about = [f"{matrix.operand.name}: {note}" for matrix in shown for note in notes(matrix)]
    return page.finished([*answers(shown, look), *absent, *about])


def _colours(matrix: Matrix, look: Look) -> ColourOf:
    """What colours an operand among others: one that lacks the digit is of one colour."""
    return matrix.colour_by(look.color_by) if look.color_by in matrix.keys else ColourOf(lambda *_: Colour(0, 0.0))


def operand_heading(matrix: Matrix) -> str:
    """The title of an operand's picture: the operand, the instruction, the architecture, the modifiers."""
    operand = matrix.operand
    instruction = operand.instruction
    title = f"{operand_title(operand.name)} of {instruction.name}, {instruction.architecture.title}"
    tile = f", tile of {operand.tile.title}" if operand.tile else ""
    return title + (spelling_of(operand).parameters(operand) or _modifiers(matrix)) + tile


def _modifiers(matrix: Matrix) -> str:
    operand = matrix.operand
    architecture = operand.instruction.architecture
    wave = [f"wave{operand.wave}"] if len(architecture.waves) > 1 else []
    fields = [f"{name} {value}" for name, value in operand.fields.items()]
    return "".join(f", {text}" for text in (*wave, *fields))


def _short_heading(matrix: Matrix) -> tuple[str, str]:
    if matrix.operand.in_columns:
        rows, columns = matrix.operand.shape[1:]
        return f"{matrix.operand.name} {rows}x{columns} in Tensor Memory", matrix.operand.pattern
    shape = "x".join(str(axis.extent) for axis in (matrix.rows, matrix.columns))
    return f"{matrix.operand.name} {shape} {matrix.operand.format.name}", matrix.operand.pattern


def pattern_text(matrix: Matrix) -> str:
    """The layout's pattern with the sizes of its digits."""
    sizes = " ".join(f"{digit}={size}" for digit, size in matrix.operand.sizes.items())
    return f"{matrix.operand.pattern}   {sizes}"


def answers(shown: list[Matrix], look: Look) -> list[str]:
    """For each marked element, where it is."""
    found = []
    for matrix in shown:
        for mark in sorted(look.marks.get(matrix.operand.name, ())):
            operand, (block, row, column) = matrix.operand, mark
            lanes = lanes_of(operand, matrix.found_in(*mark))
            place = slot_text(operand, matrix.location(*mark))
            found.append(f"{element_text(operand, row, column, block)} is in {lanes} {place}")
    return found


def folded(matrix: Matrix, *tracks: Track) -> list[str]:
    """What an ellipsis stands for."""
    found = []
    for axis in (track.axis for track in tracks if track.breaks):
        digit, size = axis.repeated, dict(axis.digits)[axis.repeated]
        found.append(f"{digit} = 0 ... {size - 1} repeats every {axis.period} {axis.name}, in further {matrix.place}s")
    return found


class _Page:
    """A scene in the making: a title, then what is added below it."""

    def __init__(self, style: Style, title: str, pattern: str) -> None:
        self.style, self.title, self.pattern = style, title, pattern
        self.layers = Layers.empty()
        self.width = self.bottom = 0.0
        self.descriptions = [pattern] if pattern else []
        self._line(title, 14, style.text, 24, "bold")
        if pattern:
            self._line(pattern, 11, style.quiet, 19, "mono")
        self.bottom += 12

    def _line(self, text: str, size: float, colour: str, height: float, face: str = "") -> None:
        self.bottom += height
        self._text(text, PADDING, self.bottom, size, colour, face)

    def _text(self, text: str, x: float, y: float, size: float, colour: str, face: str) -> None:
        # SVG would make one space of several.
        wide = text.replace("  ", "\N{NO-BREAK SPACE}" * 2)
        self.layers.texts.append(Label(x, y, wide, size, colour, "start", face))
        self.width = max(self.width, x - PADDING + text_width(text, size, face))

    def subtitle(self, matrix: Matrix, x: float, y: float) -> None:
        """Which operand stands below, and its pattern."""
        heading, pattern = _short_heading(matrix)
        self._text(heading, x, y - 18, 11, self.style.text, "bold")
        self._text(pattern, x, y - 5, 9.5, self.style.quiet, "mono")
        self.descriptions.append(f"{matrix.operand.name}: {pattern_text(matrix)}")

    def grow(self, width: float, height: float) -> None:
        """Make room for what was added at the bottom."""
        self.width = max(self.width, width)
        self.bottom += height

    def finished(self, lines: list[str]) -> Scene:
        """The scene, with these lines below the picture."""
        if lines:
            self.bottom += 8
        for line in lines:
            self._line(line, 11, self.style.quiet, 16)
        description = "; ".join([*self.descriptions, *lines])
        size = self.width + 2 * PADDING, self.bottom + PADDING
        layers = tuple(tuple(layer) for layer in self.layers)
        width, height = (float(-(-length // 1)) for length in size)
        return Scene(width, height, self.style.paper, self.title, description, layers)


# --- The picture of an operand's registers: lanes down, registers and their bits across, an element in each slot ---


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
    places = matrix.slots
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


def _starts(places: Sequence[Location], width: float) -> list[float]:
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


# --- The picture of a whole instruction: A at the left of D and B above it, so that a row meets a column ---
#
# The blocks of an instruction stand on the diagonal of D, as the product of block matrices has them, each beside its
# block of A and below its block of B.


CORNER_SPACE = (720.0, 640.0)  # for the cells of D
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
    rows, columns = (
        _runs(d.rows, fold, CORNER_SPACE[1], blocks, marks, 1),
        _runs(d.columns, fold, CORNER_SPACE[0], blocks, marks, 2),
    )
    width = (CORNER_SPACE[0] + BLOCK_GAP) / blocks - BLOCK_GAP
    height = CORNER_SPACE[1] / blocks - gap
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
