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
    if style != "grid" and any("\n" in cell for row in rows for cell in row):
        rows = [[cell.replace("\n", _LINE_BREAKS[style]) for cell in row] for row in rows]
    if style == "csv":
        return "".join(",".join(cells) + "\n" for cells in (header, *rows))
    columns = zip(*rows) if rows else [()] * len(header)
    widths = [max(len(title) + _HEADER_PADDING, _width(column)) for title, column in zip(header, columns)]
    return _WRITERS[style](header, rows, widths)


def _width(cells: Sequence[str]) -> int:
    longest = max(map(len, cells), default=0)
    if any("\n" in cell for cell in cells):
        longest = max(len(line) for cell in cells for line in cell.split("\n"))
    return longest


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = cells
    padded = [cell.ljust(width) for cell, width in zip(rest, widths[1:])]
    return f"| {first.rjust(widths[0])} | {' | '.join(padded)} |\n"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    rule = "+" + "+".join(["-" * (width + 2) for width in widths]) + "+\n"
    parts = [rule, _line(header, widths), rule.replace("-", "=")]
    for row in rows:
        if any("\n" in cell for cell in row[1:]):
            lines = zip_longest(*(cell.split("\n") for cell in row), fillvalue="")
            parts += [_line(line, widths) for line in lines]
        else:
            parts.append(_line(row, widths))
        parts.append(rule)
    return "".join(parts)


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|\n"
    return "".join([_line(header, widths), rule, *(_line(row, widths) for row in rows)])


def _asciidoc(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    columns = ",".join(f"{'<' if number else '>'}{width + 2}" for number, width in enumerate(widths))
    lines = [_line(cells, widths).removesuffix("|\n") + "\n" for cells in (header, *rows)]
    return f'[cols="{columns}",options="header"]\n|====\n' + "".join(lines) + "|====\n"


_WRITERS = {"grid": _grid, "markdown": _markdown, "asciidoc": _asciidoc}
