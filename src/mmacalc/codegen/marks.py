"""Marked text: one generator of sources for whoever wants a kernel and for the page, which wants what depends on the
instruction, its modifiers and orders in memory to be marks that it fills in.

A value is written between three private characters as `mark` does: its name, what it is here. `plain` leaves what it is
and breaks lists into lines; `named` leaves @{name} in its place.
"""

from __future__ import annotations

import re

from ..base.checks import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["listed", "mark", "mark_lines", "named", "parts", "plain"]

BEGIN, IS, END, NEXT = "\ue000", "\ue001", "\ue002", "\ue003"  # of Unicode's private use area
SPECIAL = re.compile(f"([{BEGIN}{IS}{END}])")


def mark(name: str, text: object) -> str:
    """A value under its name.

    >>> plain(mark("wave", 64)), named(mark("wave", 64))
    ('64', '@{wave}')
    """
    return f"{BEGIN}{name}{IS}{text}{END}"


def mark_lines(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines that are one value: a mark alone in its line."""
    first, *others = lines
    *between, last = [f"{BEGIN}{name}{IS}{first}", *others]
    yield from between
    yield last + END


def parts(texts: Iterable[str]) -> str:
    """Parts of a list that are one value."""
    return NEXT.join(texts)


def listed(head: str, texts: Sequence[str], most: int, indent: int) -> str:
    """A list behind its head, in lines of at most `most` columns before the comma.

    Args:
        indent: of the lines behind the first. Both are counted as if nothing stood before the head; the lines may be
            indented afterwards.

    >>> text = listed("  f(", ["int a", "int b", "int c"], 16, 6)
    >>> print(plain(text))
      f(int a, int b,
          int c
    >>> named(text)
    '  f(@{list 14 4}int a, int b, int c@{end}'
    """
    if not texts:
        return head.rstrip()
    begin = len(head) - len(head.lstrip())
    return head + mark(f"list {most - begin} {indent - begin}", parts(texts))


def named(text: str) -> str:
    """The text with marks @{name} in place of values; a list is between @{list columns indent} and @{end}."""

    def written(name: str, value: str, before: str) -> str:
        return f"@{{{name}}}{value.replace(NEXT, ', ')}@{{end}}" if name.startswith("list ") else f"@{{{name}}}"

    return _replaced(text, written)


def plain(text: str) -> str:
    """The text without marks, its lists in lines of a readable length."""

    def written(name: str, value: str, before: str) -> str:
        if not name.startswith("list "):
            return value
        most, indent = [whole(number, "a column") for number in name.split()[1:]]
        begin = len(before) - len(before.lstrip())
        lines = [before]
        for part in value.split(NEXT):
            if len(lines[-1]) + len(part) > begin + most:
                lines[-1] = lines[-1].rstrip()
                lines.append(" " * (begin + indent))
            lines[-1] += f"{part}, "
        return "\n".join(lines).rstrip(", ")[len(before) :]

    return _replaced(text, written)


def _replaced(text: str, written: Callable[[str, str, str], str]) -> str:
    """The text with every value as `written` has it: of its name, the value, and what stands before it in its line."""
    names: list[str] = []
    texts = [""]  # what is written so far; then of each value that is open its name, or the value
    for token in SPECIAL.split(text):
        if token == BEGIN:
            texts.append("")
        elif token == IS:
            names.append(texts.pop())
            texts.append("")
        elif token == END:
            value = texts.pop()
            texts[-1] += written(names.pop(), value, texts[-1].rpartition("\n")[2])
        else:
            texts[-1] += token
    return texts[-1]
