"""A picture as shapes with positions: what the SVG writer and the page's canvas both draw.

Sizes are pixels, the origin is the upper left corner. Text is placed by its baseline; its width is estimated by the
widest of the usual fonts (DejaVu Sans), so that what fits here fits everywhere.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from ..base.errors import Error, did_you_mean, how_to_install

if TYPE_CHECKING:
    from collections.abc import Iterable

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


# --- A scene as SVG, as PNG, and as a fragment of HTML ---
#
# The SVG has presentation attributes only and no style sheet, so that browsers, notebooks, LaTeX converters and resvg
# draw the same. Rectangles of one colour are one path, texts of one kind one group: a 32 x 32 result with both inputs
# takes 60 kB. It is ASCII, and its identifiers come from its content, so that several fit in one page.


FACES = "Inter,Segoe UI,Helvetica Neue,DejaVu Sans,Arial,sans-serif"
MONO = "SF Mono,Cascadia Mono,Consolas,DejaVu Sans Mono,monospace"


def number(value: float) -> str:
    """A coordinate with at most two decimals, rounded half up (as the page's JavaScript rounds).

    >>> number(12.0), number(0.125), number(-0.3)
    ('12', '0.13', '-0.3')
    """
    hundredths = int((value * 100 + 0.5) // 1)
    sign, (whole, rest) = "-" * (hundredths < 0), divmod(abs(hundredths), 100)
    return f"{sign}{whole}" + (f".{rest:02}".rstrip("0") if rest else "")


def escaped(text: str) -> str:
    """Text for XML, in ASCII."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return text.encode("ascii", "xmlcharrefreplace").decode()


def svg(scene: Scene) -> str:
    """The scene as an SVG document."""
    body = "".join(map(_layer, scene.layers))
    mark = _hash(scene.title + scene.description + body)
    width, height = number(scene.width), number(scene.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%;height:auto" role="img" aria-labelledby="t{mark} d{mark}" font-family="{FACES}">'
        f'<title id="t{mark}">{escaped(scene.title)}</title><desc id="d{mark}">{escaped(scene.description)}</desc>'
        f'<rect width="{width}" height="{height}" fill="{scene.paper}"/>{body}</svg>\n'
    )


def _hash(text: str) -> str:
    """FNV-1a, 32 bits: a name that follows from the content, and is quick to write in any language."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{value:08x}"


def _layer(shapes: Iterable[Box | Line | Label]) -> str:
    groups: dict[tuple[str, ...], list[str]] = {}
    for shape in shapes:
        attributes, text = _shape(shape)
        groups.setdefault(attributes, []).append(text)
    return "".join(_group(attributes, texts) for attributes, texts in groups.items())


def _group(attributes: tuple[str, ...], texts: list[str]) -> str:
    kind, *rest = attributes
    named = " ".join(rest)
    return f'<path {named} d="{"".join(texts)}"/>' if kind == "path" else f"<g {named}>{''.join(texts)}</g>"


def _shape(shape: Box | Line | Label) -> tuple[tuple[str, ...], str]:
    """What a shape shares with others of its kind, and its own part."""
    if isinstance(shape, Label):
        face = {"bold": ' font-weight="600"', "mono": f' font-family="{MONO}"'}.get(shape.face, "")
        anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
        shared = f'fill="{shape.colour}" font-size="{number(shape.size)}"{anchor}{face}'
        return ("g", shared), f'<text x="{number(shape.x)}" y="{number(shape.y)}">{escaped(shape.text)}</text>'
    if isinstance(shape, Line):
        path = f"M{number(shape.x)} {number(shape.y)}L{number(shape.to_x)} {number(shape.to_y)}"
        return ("path", f'stroke="{shape.colour}" stroke-width="{number(shape.width)}"'), path
    width, height = number(shape.width), number(shape.height)
    path = f"M{number(shape.x)} {number(shape.y)}h{width}v{height}h-{width}z"
    if shape.stroke:
        return ("path", f'fill="none" stroke="{shape.fill}" stroke-width="{number(shape.stroke)}"'), path
    return ("path", f'fill="{shape.fill}"'), path


def html(scene: Scene) -> str:
    """The picture with its description below, to put into a page; it opens by itself as well."""
    caption = f"<figcaption>{escaped(scene.title)}<br>{escaped(scene.description)}</figcaption>"
    return f'<figure style="margin:0">\n{svg(scene)}{caption}\n</figure>\n'


def png(scene: Scene, zoom: int = 2) -> bytes:
    """The picture as a PNG file, by default two pixels for each of the SVG's.

    Raises:
        Error: resvg-py is not installed, or the machine has no font to write with.
    """
    try:
        resvg = import_module("resvg_py")
    except ImportError:
        raise Error(f"PNG needs resvg-py: {how_to_install('resvg-py')}; .svg and .html need nothing") from None
    frame = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9" fill="#fff"/>'
    letter = f'<text x="0" y="8" font-size="9" font-family="{FACES}">8</text>'
    blank, written = (bytes(resvg.svg_to_bytes(svg_string=f"{frame}{text}</svg>")) for text in ("", letter))
    if blank == written:
        raise Error("PNG needs a font, and none was found; install one, such as DejaVu Sans (fonts-dejavu-core)")
    return bytes(resvg.svg_to_bytes(svg_string=svg(scene), zoom=zoom))
