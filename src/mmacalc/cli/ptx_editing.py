"""Problems of a PTX module while it is edited: what was read before is not read again.

What is wrong with a statement follows from its text and from the module's declarations: its target, its functions, the
registers, variables and labels of the blocks around it, and which functions are called. Those are the frame of the
module. As long as the frame stays, a statement that was judged once is known, and only the others are read, in a text
that has the frame and these alone, on their own lines.
"""

from __future__ import annotations

import re

from ..base.checks import number as number_of
from ..base.errors import Error
from ..base.records import Cache, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Fault", "faults", "faults_of_whole"]

_START = re.compile(r"\s*(?:@!?[%$\w]+\s+)?(?!call)[a-z][\w.]*(?:::[\w.]+)*(?=[\s;]|$)")
"""How a statement begins; a call belongs to the frame."""
_PLAIN = re.compile(_START.pattern + r'(?:[^;"{}/:]|\{[^;"{}/:]*\})*;[ \t]*(?://[^\n]*)?')
_ADDRESS = re.compile(r"\bmov\b[^;]*,\s*[A-Za-z_$]")
"""A statement that may take the address of a function, which decides what a call through a register calls."""
_IDLE = re.compile(r"\s*(?://.*)?")
_PLACE = re.compile(r"\s*\.loc\s+\d+\s+\d+\s+\d+\s*")
"""The place in the source of the statements below; between statements it says nothing of the module."""
_LABEL = re.compile(r"\s*[\w$%]+:\s*(?://.*)?")
_HEAD = re.compile(r"\s*(?:[.}{)]|[\w$%]+:)")
"""A line with which no statement goes on."""
LONGEST = 30  # lines of a statement
KEPT = 1 << 17  # statements of a module


class Fault(TupleRecord):
    """What is wrong in a line, counted from 1; readable: whether it is a statement that is not known, else the text
    cannot be read from there on."""

    line: int
    message: str
    readable: bool


class _Statement(TupleRecord):
    """A statement on lines of its own.

    line: its first, from 0. text: of its lines. block: how many lines of the frame, without labels, are above it.
    """

    line: int
    text: str
    block: int


def faults(text: str) -> list[Fault]:
    """What is wrong in a module: where it cannot be read, or else the statements of its kernels that are not known."""
    if "/*" in text:
        return list(faults_of_whole(text))
    lines = text.split("\n")
    frame, plain, open_lines = _split(lines)
    known: dict[tuple[int, str], tuple[tuple[int, str], ...]] = _known.get("\n".join([lines[at] for at in frame]), dict)
    if len(known) > KEPT:
        known.clear()
    new = [one for one in plain if (one.block, one.text) not in known]
    rest = text
    if known:  # else the frame may be no module
        kept = {*frame, *open_lines, *[one.line + row for one in new for row in range(one.text.count("\n") + 1)]}
        rest = "\n".join([line if at in kept else "" for at, line in enumerate(lines)])
    found = list(faults_of_whole(rest))
    if found and not found[0].readable:
        return found
    by_line: dict[int, list[str]] = {}
    for one in found:
        by_line.setdefault(one.line - 1, []).append(one.message)
    for each in new:
        rows = range(each.text.count("\n") + 1)
        known[each.block, each.text] = tuple([(row, why) for row in rows for why in by_line.get(each.line + row, ())])
    old = [Fault(each.line + row + 1, why, True) for each in plain for row, why in known[each.block, each.text]]
    return sorted(dict.fromkeys([*found, *old]), key=lambda one: one.line)


_known = Cache(16)
"""By the frame of a module: what is wrong with each statement, by the row of its text."""


def _split(lines: Sequence[str]) -> tuple[list[int], list[_Statement], list[int]]:
    """The lines of the frame, the statements that stand by themselves, and the lines of what may become one."""
    frame: list[int] = []
    plain: list[_Statement] = []
    unfinished: list[int] = []
    at = block = 0
    between = False  # whether a statement is above
    dangling = False  # whether a statement above has no semicolon: it takes what comes next
    while at < len(lines):
        end = at + 1
        line = lines[at]
        if _IDLE.fullmatch(line) or (between and _PLACE.fullmatch(line)):
            unfinished += [at] if dangling else ()
        elif _START.match(line):
            while (
                ";" not in _code(lines[end - 1]) and end < min(len(lines), at + LONGEST) and not _HEAD.match(lines[end])
            ):
                end += 1
            text = "\n".join(lines[at:end])
            rest = _code(lines[end - 1]).partition(";")
            if rest[2].strip() or _ADDRESS.search(text):
                frame += range(at, end)
                block += 1
            elif dangling or not _PLAIN.fullmatch(text):
                unfinished += range(at, end)
            else:
                plain.append(_Statement(at, text, block))
            between, dangling = True, not rest[1]
        else:
            frame.append(at)
            block += not (_LABEL.fullmatch(line) or _PLACE.fullmatch(line))
            between = dangling = False
        at = end
    return frame, plain, unfinished


def _code(line: str) -> str:
    """A line without its comment."""
    return line.partition("//")[0]


def faults_of_whole(text: str) -> Iterator[Fault]:
    """The same, read as a whole."""
    from ..kernels.ptx.kernel import PtxKernel
    from ..ptx.reader import read

    try:
        module = read(text)
    except Error as refused:
        place = re.match(r"line (\d+): (.*)", str(refused), re.S)
        yield Fault((place and number_of(place[1])) or 1, place[2] if place else str(refused), False)
        return
    seen = set()
    for entry in module.entries:
        for line, _, why in PtxKernel(module, entry.name).uncovered():
            if (line, why) not in seen:
                seen.add((line, why))
                yield Fault(line, why, True)
