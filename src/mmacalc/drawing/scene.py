"""A picture as shapes with positions: what the SVG writer and the page's canvas both draw.

Sizes are pixels, the origin is the upper left corner. Text is placed by its baseline; its width is estimated by the
widest of the usual fonts (DejaVu Sans), so that what fits here fits everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Box", "Label", "Line", "Scene", "text_width"]


class Box(NamedTuple):
    """A filled rectangle, or with a stroke an outline of that width."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: float = 0


class Line(NamedTuple):
    """A straight line."""

    x: float
    y: float
    to_x: float
    to_y: float
    colour: str
    width: float


class Label(NamedTuple):
    """A text: `anchor` is start, middle or end; `face` is "", "bold" or "mono"."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: str = "middle"
    face: str = ""


class Scene(NamedTuple):
    """A whole picture. Its layers are drawn one after another: fills, what goes over them, texts, marks.

    `title` and `description` are for those who do not see it.
    """

    width: float
    height: float
    paper: str
    title: str
    description: str
    layers: tuple[tuple[Box | Line | Label, ...], ...]


_WIDTHS = {"": 0.64, "bold": 0.7, "mono": 0.61}


def text_width(text: str, size: float, face: str = "") -> float:
    """How wide a text is at most."""
    return _WIDTHS[face] * size * len(text)


def baseline(middle: float, size: float) -> float:
    """The baseline of a text whose digits are centred at a height."""
    return middle + 0.35 * size
