"""Pictures of layouts: `operand.draw()`, `instruction.draw()` and `mmacalc draw`.

    mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").draw().save("layout.svg")

The picture of an instruction has A at the left of D and B above it; that of an operand has its matrix, or with
`registers=True` its registers with an element in each slot.
"""

from __future__ import annotations

from os import fspath
from typing import TYPE_CHECKING

from ..base.checks import arguments_checked, whole
from ..base.errors import Error
from ..base.files import write
from ..base.records import cached_property
from .matrix import matrix
from .picture import Look, instruction_scene, operand_scene, registers_scene
from .scene import html, png, svg
from .scene import style as style_named

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from ..model import Instruction, Operand
    from .matrix import Matrix
    from .scene import Scene

__all__ = ["Drawing", "draw_instruction", "draw_operand"]


class Drawing:
    """A picture, in every form that it has. Immutable; made by `draw`.

    >>> import mmacalc
    >>> drawing = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16").operand("A").draw(mark="A[1][2].B4")
    >>> drawing.svg[:4], "A[1][2].B4 is in lane 17 v1[15:0]" in drawing.text()
    ('<svg', True)
    """

    def __init__(self, matrices: dict[str, Matrix], look: Look, instruction: Instruction, whole: bool, registers: bool):
        self._matrices, self._look, self._instruction = matrices, look, instruction
        self._whole, self._registers = whole, registers

    @cached_property
    def scene(self) -> Scene:
        """The picture as shapes with positions (`mmacalc.drawing.scene`)."""
        if self._whole:
            return instruction_scene(self._instruction, self._matrices, self._look)
        made = registers_scene if self._registers else operand_scene
        return made(next(iter(self._matrices.values())), self._look)

    @cached_property
    def svg(self) -> str:
        """The picture as an SVG document."""
        return svg(self.scene)

    @property
    def html(self) -> str:
        """The picture as a fragment of HTML, without script."""
        return html(self.scene)

    @property
    def png(self) -> bytes:
        """The picture as a PNG file.

        Raises:
            Error: resvg-py is missing (the message says how it is installed), or there is no font to write with.
        """
        return png(self.scene)

    @arguments_checked
    def text(self, *, colour: bool = False, width: int = 100) -> str:
        """The picture for a terminal.

        Args:
            colour: whether to colour it, with 24-bit escape sequences; width: characters in a line that the picture
                should take at most. It takes more where its cells would be less than a character.
        """
        from . import terminal

        made = terminal.registers if self._registers else terminal.matrix
        parts = [made(each, self._look, colour, width) for each in self._matrices.values()]
        return "\n".join(parts)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture; the name's end says how: .svg, .png, .html or .txt.

        Raises:
            Error: another end, or the file cannot be written.
        """
        end = str(path).lower().rpartition(".")[2]
        if end not in ("svg", "html", "txt", "png"):
            raise Error(f"'{path}' should end in .svg, .png, .html or .txt: the ending decides the format")
        content: str | bytes = self.text() if end == "txt" else getattr(self, end)
        write({fspath(path): content if isinstance(content, bytes) else content.encode()})

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.text(), "image/svg+xml": self.svg}

    def __repr__(self) -> str:
        return f"<picture: {self.scene.title}>"


def draw_operand(
    operand: Operand,
    *,
    registers: bool = False,
    style: str = "light",
    color_by: str = "lane",
    mark: str | Iterable[str] = (),
    labels: bool = False,
    fold: bool = True,
) -> Drawing:
    """The picture of one operand: see `Operand.draw`."""
    only = matrix(operand)
    name, instruction = only.operand.name, only.operand.instruction
    look = Look(style_named(style), color_by, _marks(mark, {name: only}, instruction), labels, fold)
    only.colour_by(color_by)
    return Drawing({name: only}, look, instruction, False, registers)


def draw_instruction(
    instruction: Instruction,
    *,
    wave: int | None = None,
    style: str = "light",
    color_by: str = "lane",
    mark: str | Iterable[str] = (),
    fold: bool = True,
    **modifiers: int | str,
) -> Drawing:
    """The picture of an instruction: see `Instruction.draw`."""
    names = instruction.drawn_operands
    if not names:
        raise Error(f"{instruction.name} cannot be drawn: none of its operands is in registers")
    names = tuple(name for name in names if name in "ABD") if {"D"} < {*names} & {*"ABD"} else names
    shown = {name: matrix(instruction.operand(name, wave, **modifiers)) for name in names}
    look = Look(style_named(style), color_by, _marks(mark, shown, instruction), False, fold)
    if not any(color_by in each.keys for each in shown.values()):
        next(iter(shown.values())).colour_by(color_by)  # says what it can be
    return Drawing(shown, look, instruction, names != ("T",), False)


def _marks(
    given: str | Iterable[str], shown: dict[str, Matrix], instruction: Instruction
) -> dict[str, frozenset[tuple[int, int, int]]]:
    """The marked elements of each operand, as (block, row, column)."""
    marks: dict[str, set[tuple[int, int, int]]] = {}
    for text in [given] if isinstance(given, str) else given:
        name, block, row, column = _element(text)
        if name not in shown:
            raise Error(f"mark {text}: the picture of {instruction.name} shows {', '.join(shown)}, not {name}")
        axes = (shown[name].blocks, shown[name].rows, shown[name].columns)
        for axis, value in zip(axes, (block, row, column)):
            if value >= axis.extent:
                allowed = f"{axis.name} is 0 to {axis.extent - 1}"
                raise Error(f"mark {text}: {axis.name} = {value} is outside {name}; {allowed}")
        marks.setdefault(name, set()).add((block, row, column))
    return {name: frozenset(elements) for name, elements in marks.items()}


def _element(text: str) -> tuple[str, int, int, int]:
    """Read `A[3][9]` or `A[3][9].B2`.

    >>> _element("a[3][9].b2")
    ('A', 2, 3, 9)
    """
    import re

    found = re.fullmatch(r"\s*([A-Z]+)\s*\[(\d{1,5})\]\s*\[(\d{1,5})\](?:\.B(\d{1,4}))?\s*", text.upper(), re.ASCII)
    if not found:
        raise Error(f"mark takes an element such as A[3][9], or A[3][9].B2 for block 2; got '{text[:40]}'")
    block, row, column = (whole(index or "0", "an index") for index in (found[4], found[2], found[3]))
    return found[1], block, row, column
