"""Answers in the width of a terminal: what is too wide of a finished text goes on below.

An answer is laid out without regard to a screen; that is what pipes, files and Python get, to the byte. Where a
terminal is narrower, or COLUMNS asks for it, this stands between the answer and the screen, so that no answer knows of
widths.

A line goes on below the place where its text began. A table first loses what pads its columns, then the words of its
cells go below each other, and where that is not enough it comes in parts that all begin with the columns that tell
its rows apart. Commands that write code, pictures or files are not touched: their lines are never broken.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise

from ..base.checks import number
from . import tables
from .options import terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

__all__ = ["COMMANDS", "fitted", "screen"]

COMMANDS = frozenset((
    "architectures", "assemble", "chain", "compare", "descriptor", "diagnose", "estimate", "explain", "find", "gemm",
    "intrinsic", "layout", "lint", "memory", "numerics", "profile", "run", "run-kernel", "tile",
    "transpose-loads", "waits",
))  # fmt: skip
"""The commands whose texts are for people."""
_GLUED = "\0%"  # a number and its unit are one word
NARROWEST = 40  # characters: below that nothing can be read anyway
_TITLE = re.compile(r"[A-Z][\w ]{0,18}: (?=\S)")
_LABEL = re.compile(rf" *(?:\S+(?: \S+){{0,4}} {{2,}}(?=\S)|{_TITLE.pattern})?")
_MARKDOWN = re.compile(r"\|[-|]+\|")
_WORD = re.compile(r"\S+")
_ROW = re.compile(r" *(?:[-+]?(?:\d[\w.+-]*|inf|nan)(?: +|$)){4,}")
FILLED = 100  # characters that the lines of our longest sentences have


def screen(stream: TextIO | None) -> int | None:
    """Characters in a line of where a text is printed; None where nothing says it, as of a pipe or a file.

    COLUMNS says it also of a pipe.
    """
    asked = number(os.environ.get("COLUMNS", ""))
    if asked or (stream is not None and stream.isatty()):
        return max(NARROWEST, terminal_width())
    return None


def fitted(text: str, width: int) -> str:
    r"""A text whose lines have `width` characters at most, as far as its words allow.

    >>> print(fitted("  note   one two three four five six\n", 30), end="")
      note   one two three four
             five six
    """
    lines = text.split("\n")
    if max(map(len, lines)) <= width:
        return text
    found: list[str] = []
    at = 0
    while at < len(lines):
        end = at + 1
        if _is_rule(lines[at]):
            while end < len(lines) and lines[end][:1] in ("+", "|") and len(lines[end]) == len(lines[at]):
                end += 1
            found += _table(lines[at:end], width)
        elif end < len(lines) and _MARKDOWN.fullmatch(lines[end]):
            while end < len(lines) and lines[end][:1] == "|":
                end += 1
            found += _as_grid(lines[at:end], width)
        elif ends := _numbers(lines[at]):
            while end < len(lines) and _numbers(lines[end]) == ends:
                end += 1
            found += _matrix(lines[at:end], ends, width)
        else:
            further = _further(lines[at], width)
            while end < len(lines) and _goes_on(lines[end - 1], lines[end], further):
                end += 1
            found += _paragraph(lines[at:end], further, width)
        at = end
    return "\n".join(found)


# --- lines ------------------------------------------------------------------------------------------------------------


def _further(line: str, width: int) -> int:
    """Where what is too long of a line goes on: below the text behind its label, else two further in."""
    label = _LABEL.match(line)
    begin = label.end() if label else 0
    indent = len(line) - len(line.lstrip(" "))
    return begin if indent < begin <= width // 3 and line[begin - 2] == " " else indent + 2


def _goes_on(line: str, below: str, further: int) -> bool:
    """Whether the line below belongs to the same sentence: it begins where that goes on, has no label of its own
    (`Remedy: `), and had no room above."""
    words = below.lstrip(" ")
    if len(below) - len(words) != further or not words or "  " in words or _TITLE.match(words):
        return False
    room = FILLED if further == 2 else FILLED - 10  # lists are broken between their items
    return len(line) + 1 + len(words.partition(" ")[0]) > room


def _paragraph(lines: Sequence[str], further: int, width: int) -> Iterator[str]:
    """The lines of a sentence, filled anew if one of them is too long."""
    if max(map(len, lines)) <= width:
        yield from lines
        return
    line = " ".join([lines[0], *[each.lstrip(" ") for each in lines[1:]]])
    while len(line) > width:
        at = line.rfind(" ", further + 1, width + 1)
        if at < 0 or not line[:at].strip():
            at = _break_in_word(line, width, further)
            if at < 0:
                break
        yield line[:at].rstrip()
        line = " " * further + line[at:].lstrip()
    yield line


def _break_in_word(line: str, width: int, begin: int) -> int:
    """Where a word that is longer than a line may end: behind a comma; -1 if nowhere."""
    return line.rfind(",", begin + 1, width) + 1 or -1


def _numbers(line: str) -> tuple[int, ...]:
    """Where the numbers of a row of a matrix end; () if the line is no such row."""
    found = _ROW.fullmatch(line) and tuple([word.end() for word in _WORD.finditer(line)])
    return found or ()


def _matrix(lines: Sequence[str], ends: Sequence[int], width: int) -> Iterator[str]:
    """Rows of a matrix in groups of columns that fit, under their numbers."""
    if len(lines[0]) <= width:
        yield from lines
        return
    first = 0
    while first < len(ends):
        begin = ends[first - 1] if first else 0
        last = first
        while last + 1 < len(ends) and ends[last + 1] - begin <= width:
            last += 1
        yield f"  columns {first} to {last}:" if last > first else f"  column {first}:"
        for line in lines:
            yield line[begin : ends[last]]
        first = last + 1


# --- tables -----------------------------------------------------------------------------------------------------------


def _is_rule(line: str) -> bool:
    return line[:2] == "+-" and not line.strip("+-")


def _table(lines: Sequence[str], width: int) -> list[str]:
    """A table of `tables.write` in a width, or a frame, such as one of the bits of a word."""
    if len(lines[0]) <= width:
        return list(lines)
    if not any(line[:2] == "+=" for line in lines):
        return [*_frame(lines, width)]
    header, rows = _cells(lines)
    columns = [[title, *cells] for title, *cells in zip(header, *rows)]
    least = [max(len(word) for cell in column for word in cell.split() or [""]) for column in columns]
    parts = []
    for chosen in _parts(columns, least, width):
        room = _widths([columns[number] for number in chosen], [least[number] for number in chosen], width)
        titles, *body = zip(*[
            [_wrapped(cell, size) for cell in columns[number]] for number, size in zip(chosen, room)
        ])  # fmt: skip
        parts.append(tables.grid(titles, body).replace(_GLUED, " %"))
    return "".join(parts).rstrip("\n").split("\n")


def _as_grid(lines: Sequence[str], width: int) -> list[str]:
    """A table of Markdown, which becomes a grid if it is too wide."""
    if len(lines[0]) <= width or len({len(line) for line in lines}) > 1:
        return list(lines)
    rule = lines[1].replace("|", "+")
    return _table([rule, lines[0], rule.replace("-", "="), *lines[2:], rule], width)


def _frame(lines: Sequence[str], width: int) -> Iterator[str]:
    """A frame without titles, its columns below each other."""
    bars = [at for at, character in enumerate(lines[0]) if character == "+"]
    first = 0
    while first < len(bars) - 1:
        last = first + 1
        while last + 1 < len(bars) and bars[last + 1] - bars[first] < width:
            last += 1
        yield from [line[bars[first] : bars[last] + 1] for line in lines]
        first = last


def _cells(lines: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The titles and rows of a table; the lines of a cell are kept."""
    bars = [at for at, character in enumerate(lines[0]) if character == "+"]
    split = next(at for at, line in enumerate(lines) if line[:2] == "+=")
    ruled = any(map(_is_rule, lines[split + 1 : -1]))
    rows: list[list[list[str]]] = []
    new = True
    for line in [*lines[1:split], *lines[split:]]:
        if line[0] == "+":
            new = True
            continue
        cells = [_cell(line[left + 2 : right].rstrip()) for left, right in pairwise(bars)]
        if new or (not ruled and len(rows) > 1):
            rows.append([[cell] for cell in cells])
        else:
            for known, cell in zip(rows[-1], cells):
                known.append(cell)
        new = False
    header, *body = [["\n".join(cell).rstrip("\n") for cell in row] for row in rows]
    return header, body


def _cell(text: str) -> str:
    """A cell of a table, whose indentation means something unless it is a number's."""
    bare = text.lstrip(" ")
    indent = "" if bare.isdecimal() or len(text) - len(bare) > 4 else text[: len(text) - len(bare)]
    return indent + bare.replace(" %", _GLUED)


def _parts(columns: Sequence[Sequence[str]], least: Sequence[int], width: int) -> Iterator[list[int]]:
    """The columns of each part of a table: all if they fit, else each with those that tell the rows apart."""
    everything = [*range(len(columns))]
    if _needed(least) <= width:
        yield everything
        return
    keys = 1
    rows = [*zip(*columns)]
    while keys < len(columns) - 1 and len({row[:keys] for row in rows}) < len(rows):
        keys += 1
    while keys > 1 and _needed([*least[:keys], max(least[keys:])]) > width:
        keys -= 1
    part = everything[:keys]
    for column in everything[keys:]:
        if len(part) > keys and _needed([least[each] for each in (*part, column)]) > width:
            yield part
            part = everything[:keys]
        part.append(column)
    yield part


def _needed(widths: Sequence[int]) -> int:
    """Characters of a line of a table with columns of these widths."""
    return sum(widths) + 3 * len(widths) + 1


def _widths(columns: Sequence[Sequence[str]], least: Sequence[int], width: int) -> list[int]:
    """The width of each column: as wide as its cells, the widest cut until all fit, no word broken for that."""
    sizes = [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]
    while _needed(sizes) > width:
        spare = [number for number, size in enumerate(sizes) if size > least[number]]
        if not spare:
            break
        sizes[max(spare, key=lambda number: sizes[number])] -= 1
    while _needed(sizes) > width and max(sizes) > 8:  # words alone are too long: they are broken
        sizes[sizes.index(max(sizes))] -= 1
    return sizes


def _wrapped(cell: str, size: int) -> str:
    """The words of a cell below each other; one that is too long is broken behind a point, comma or underscore."""
    lines = []
    for given in cell.split("\n"):
        line = given
        while len(line) > size:
            at = line.rfind(" ", 1, size + 1)
            if at < 0:
                at = max(line.rfind(mark, 1, size) for mark in "._,|/") + 1 or size
            lines.append(line[:at].rstrip())
            line = line[at:].lstrip()
        lines.append(line)
    return "\n".join(lines)
