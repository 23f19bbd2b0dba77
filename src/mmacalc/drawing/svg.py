"""A scene as SVG, as PNG, and as a fragment of HTML.

The SVG has presentation attributes only and no style sheet, so that browsers, notebooks, LaTeX converters and resvg
draw the same. Rectangles of one colour are one path, texts of one kind one group: a 32 x 32 result with both inputs
takes 60 kB. It is ASCII, and its identifiers come from its content, so that several fit in one page.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..base.errors import Error, how_to_install
from .scene import Box, Label, Line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .scene import Scene

__all__ = ["html", "png", "svg"]

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
