"""Tables as text: grid, CSV, Markdown and AsciiDoc.

The first column holds numbers and is right-aligned, all others text and left-aligned. Grid, Markdown and
AsciiDoc are to the byte what tabulate 0.10.0 writes (a test compares them); tabulate itself would take longer
to import than a query takes to answer.
"""

from __future__ import annotations

from itertools import zip_longest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

STYLES = ("grid", "csv", "markdown", "asciidoc")
# How a cell of several lines is written where a row is one line; AMD's tool chose the first two.
_LINE_BREAKS = {"csv": " ", "markdown": "<br />", "asciidoc": " +\n"}
_HEADER_PADDING = 2  # tabulate keeps a column two characters wider than its heading


def write(header: Sequence[str], rows: Sequence[Sequence[str]], style: str = "grid") -> str:
    r"""A table as text, with a newline at its end.

    >>> print(write(["lane", "v0"], [["0", "A[0][0]"], ["1", "A[1][0]"]], "markdown"), end="")
    |   lane | v0      |
    |--------|---------|
    |      0 | A[0][0] |
    |      1 | A[1][0] |
    """
    if style != "grid" and any(_has_line_breaks(row) for row in rows):
        rows = [[cell.replace("\n", _LINE_BREAKS[style]) for cell in row] for row in rows]
    if style == "csv":
        return "".join(",".join(cells) + "\n" for cells in (header, *rows))
    columns = zip(*rows) if rows else [()] * len(header)
    widths = [max(len(title) + _HEADER_PADDING, _width(column)) for title, column in zip(header, columns)]
    return _WRITERS[style](header, rows, widths)


def _has_line_breaks(cells: Sequence[str]) -> bool:
    return "\n" in "".join(cells)  # one search of a long text takes a tenth of as many searches of short ones


def _width(cells: Sequence[str]) -> int:
    if _has_line_breaks(cells):
        return max(len(line) for cell in cells for line in cell.split("\n"))
    return max(map(len, cells), default=0)


def _template(widths: Sequence[int]) -> str:
    """What a row is formatted with: the first cell flush right, the others flush left."""
    return f"| %{widths[0]}s | {' | '.join([f'%-{width}s' for width in widths[1:]])} |\n"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    rule, template = "+" + "+".join(["-" * (width + 2) for width in widths]) + "+\n", _template(widths)
    parts = [rule, template % tuple(header), rule.replace("-", "=")]
    for row in rows:
        if _has_line_breaks(row):
            parts += [template % line for line in zip_longest(*(cell.split("\n") for cell in row), fillvalue="")]
        else:
            parts.append(template % tuple(row))
        parts.append(rule)
    return "".join(parts)


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    rule, template = "|" + "|".join("-" * (width + 2) for width in widths) + "|\n", _template(widths)
    return "".join([template % tuple(header), rule, *(template % tuple(row) for row in rows)])


def _asciidoc(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    columns = ",".join(f"{'<' if number else '>'}{width + 2}" for number, width in enumerate(widths))
    template = _template(widths).removesuffix("|\n") + "\n"
    lines = [template % tuple(cells) for cells in (header, *rows)]
    return f'[cols="{columns}",options="header"]\n|====\n' + "".join(lines) + "|====\n"


_WRITERS = {"grid": _grid, "markdown": _markdown, "asciidoc": _asciidoc}
