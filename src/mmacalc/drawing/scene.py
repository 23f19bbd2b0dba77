"""A picture as shapes with positions: what the SVG writer and the page's canvas both draw.

Sizes are pixels, the origin is the upper left corner. Text is placed by its baseline; its width is estimated by the
widest of the usual fonts (DejaVu Sans), so that what fits here fits everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..base.errors import Error, did_you_mean

if TYPE_CHECKING:
    from .matrix import Colour


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


# --- The colours of pictures: four ramps that stay apart for every kind of colour vision, on light, dark and print ---
#
# The ramps were found by search. Any two of them are at least 10.1 (light) or 9.4 (dark) CIEDE2000 apart at every
# equal step, as seen by normal, protan, deutan and tritan eyes (the simulation of Machado, Oliveira and Fernandes,
# 2009), and a label on them has a contrast of at least 4.5:1 (WCAG 2.2, 1.4.3). `tests/test_draw_colours.py` measures
# both anew.


class Style(NamedTuple):
    """The colours of a picture, as #rrggbb.

    Attributes:
        ramps: for each hue, the first and the last colour; paper: the ground; ink: labels on the ramps; text, quiet:
            titles, and what explains; strip: the parts that registers add at the edges; empty: unused slots.
        mark, on_mark: a marked element and its label; frame: the outline of every tile, or "" for none.
    """

    name: str
    ramps: tuple[tuple[str, str], ...]
    paper: str
    ink: str
    text: str
    quiet: str
    strip: str
    empty: str
    mark: str
    on_mark: str
    frame: str

    def fill(self, colour: Colour) -> str:
        """The colour of a hue and shade: a straight line between the ends of its ramp, in sRGB."""
        first, last = self.ramps[colour.hue]
        channels = ((int(first[at : at + 2], 16), int(last[at : at + 2], 16)) for at in (1, 3, 5))
        return "#" + "".join(f"{int(low + (high - low) * colour.shade + 0.5):02x}" for low, high in channels)


_LIGHT = (("#bcd1fd", "#6e93e2"), ("#f3c898", "#c58633"), ("#b8f9d8", "#57c394"), ("#fcdef0", "#d096bb"))
_DARK = (("#1b3268", "#42629f"), ("#4a2e08", "#7c5f3b"), ("#04583d", "#2b7f5d"), ("#57485a", "#806a86"))
# 0, 12, 22 and 32 % of black: four greys that a printer keeps apart, every tile in a frame.
_PRINT = tuple((grey, grey) for grey in ("#ffffff", "#e0e0e0", "#c7c7c7", "#adadad"))

STYLES = {
    style.name: style
    for style in (
        Style(
            "light", _LIGHT, "#ffffff", "#14161a", "#14161a", "#565d68", "#e8ebf0", "#f1f2f5", "#111418", "#ffffff", ""
        ),
        Style(
            "dark", _DARK, "#15181c", "#ffffff", "#f2f4f7", "#a9b1bd", "#2b2f37", "#1e2228", "#ffffff", "#111418", ""
        ),
        Style(
            "print", _PRINT, "#ffffff", "#000000", "#000000", "#333333", "#f2f2f2", "#ffffff", "#000000", "#ffffff",
            "#666666",
        ),
    )
}  # fmt: skip


def style(name: str) -> Style:
    """A style by its name: light, dark or print.

    Raises:
        Error: there is no such style.
    """
    if name not in STYLES:
        raise Error(
            f"unknown style '{name}'.{did_you_mean(name, STYLES)} Styles: {', '.join(STYLES)}", kind="unknown name"
        )
    return STYLES[name]
