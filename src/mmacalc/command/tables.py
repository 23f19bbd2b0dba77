"""Tables as text: grid, CSV, Markdown and AsciiDoc.

The first column is right-aligned where it holds numbers; all others hold text and are left-aligned. Grid,
Markdown and AsciiDoc are to the byte what tabulate 0.10.0 writes (a test compares them); tabulate itself would
take longer to import than a query takes to answer.
"""

from __future__ import annotations

from itertools import zip_longest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    # Of each column the width, and whether its cells are flush left (else right).
    Columns = Sequence[tuple[int, bool]]

STYLES = ("grid", "csv", "markdown", "asciidoc")
# How AMD's tool writes a cell of several lines where a row is one line. In AsciiDoc a cell may have several.
_LINE_BREAKS = {"csv": " ", "markdown": "<br />"}
_HEADER_PADDING = 2  # tabulate keeps a column two characters wider than its heading


def write(header: Sequence[str], rows: Sequence[Sequence[str]], style: str = "grid", *, ruled: bool = False) -> str:
    r"""A table as text, with a newline at its end; a grid is `ruled` between all rows only on AMD's pages.

    >>> print(write(["lane", "v0"], [["0", "A[0][0]"], ["1", "A[1][0]"]], "markdown"), end="")
    |   lane | v0      |
    |--------|---------|
    |      0 | A[0][0] |
    |      1 | A[1][0] |
    """
    if style in _LINE_BREAKS and any(_has_line_breaks(row) for row in rows):
        rows = [[cell.replace("\n", _LINE_BREAKS[style]) for cell in row] for row in rows]
    if style == "csv":
        return "".join(",".join(cells) + "\n" for cells in (header, *rows))
    longest = _longest_line if style == "grid" else _longest
    cells_of = zip(*rows) if rows else [()] * len(header)
    widths = [max(len(title) + _HEADER_PADDING, longest(cells)) for title, cells in zip(header, cells_of)]
    numbered = all(row[0].isdecimal() for row in rows)
    columns = [(width, number > 0 or not numbered) for number, width in enumerate(widths)]
    if style == "grid":
        return _grid(header, rows, columns, ruled)
    return _WRITERS[style](header, rows, columns)


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A grid without padding, whose titles may have several lines.

    >>> print(grid(["cycles\neach", "of"], [["16", "a"]]), end="")
    +--------+----+
    | cycles | of |
    | each   |    |
    +========+====+
    | 16     | a  |
    +--------+----+
    """
    widths = [_longest_line(cells) for cells in zip(header, *rows)]
    return _grid(header, rows, [(width, True) for width in widths])


def _has_line_breaks(cells: Sequence[str]) -> bool:
    return "\n" in "".join(cells)  # one search of a long text takes a tenth of as many searches of short ones


def _longest(cells: Sequence[str]) -> int:
    return max(map(len, cells), default=0)


def _longest_line(cells: Sequence[str]) -> int:
    if _has_line_breaks(cells):
        return max(len(line) for cell in cells for line in cell.split("\n"))
    return _longest(cells)


def _template(columns: Columns) -> str:
    """What a row is formatted with."""
    fields = [f"%-{width}s" if left else f"%{width}s" for width, left in columns]
    return f"| {' | '.join(fields)} |\n"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]], columns: Columns, ruled: bool = False) -> str:
    """A frame; rows have a rule between them where that is asked for, or where one has several lines."""
    rule, template = "+" + "+".join(["-" * (width + 2) for width, _ in columns]) + "+\n", _template(columns)
    ruled = ruled or any(_has_line_breaks(row) for row in rows)
    parts = [rule, *_lines(header, template), rule.replace("-", "=")]
    for row in rows:
        parts += _lines(row, template)
        if ruled:
            parts.append(rule)
    return "".join(parts) + ("" if ruled or not rows else rule)


def _lines(row: Sequence[str], template: str) -> list[str]:
    """The lines of a row, of which each cell may have several."""
    if _has_line_breaks(row):
        return [template % line for line in zip_longest(*(cell.split("\n") for cell in row), fillvalue="")]
    return [template % tuple(row)]


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]], columns: Columns) -> str:
    rule, template = "|" + "|".join("-" * (width + 2) for width, _ in columns) + "|\n", _template(columns)
    return "".join([template % tuple(header), rule, *(template % tuple(row) for row in rows)])


def _asciidoc(header: Sequence[str], rows: Sequence[Sequence[str]], columns: Columns) -> str:
    sides = ",".join(f"{'<' if left else '>'}{width + 2}" for width, left in columns)
    template = _template(columns).removesuffix("|\n") + "\n"
    lines = [template % tuple(cells) for cells in (header, *rows)]
    return f'[cols="{sides}",options="header"]\n|====\n' + "".join(lines) + "|====\n"


_WRITERS = {"markdown": _markdown, "asciidoc": _asciidoc}
