"""A whole picture as a scene: title, pattern, the operand or the instruction, and what must be known besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..answers.picture import Colour, ColourOf
from . import tensor_memory
from .corner_scene import corner, crossing
from .matrix_plan import plan
from .matrix_scene import Layers, draw_matrix
from .places import element_text, operand_title, place_text, ranges
from .register_scene import draw_registers
from .scene import Box, Label, Scene, text_width
from .strips import notes

if TYPE_CHECKING:
    from ..answers.picture import Matrix
    from ..model import Instruction
    from .palette import Style
    from .tracks import Track

    Elements = frozenset[tuple[int, int, int]]

__all__ = [
    "Look", "answers", "folded", "instruction_scene", "operand_heading", "operand_scene", "pattern_text",
    "registers_scene",
]  # fmt: skip

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
    shown_not = {name: why for name, why in instruction.elsewhere.items() if name not in instruction.drawn_operands}
    absent = [f"{name} of this instruction {why}" for name, why in shown_not.items()]
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
    return title + (tensor_memory.title_words(operand) or _modifiers(matrix))


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
            lanes = matrix.found_in(*mark)
            apart = matrix.operand.instruction.in_tensor_memory
            where = tensor_memory.lanes_text(matrix.operand, lanes) if apart else f"lane {ranges(lanes)}"
            place = place_text(matrix.operand, matrix.location(*mark))
            found.append(f"{element_text(matrix, *mark)} is in {where} {place}")
    return found


def folded(matrix: Matrix, *tracks: Track) -> list[str]:
    """What an ellipsis stands for."""
    found = []
    for axis in (track.axis for track in tracks if track.breaks):
        digit, size = axis.digits[0]
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
