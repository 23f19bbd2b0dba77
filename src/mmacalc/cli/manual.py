"""Manual pages for man(1): one of the program, and one of each command, written from what help says.

A wheel installs them in share/man/man1 (`hatch_build.py`); `mmacalc help COMMAND --man` prints one,
`python -m mmacalc.cli.manual FOLDER` writes all of them.
"""

from __future__ import annotations

import re
from textwrap import dedent

from ..base.version import __version__
from ..command.options import is_modifier
from . import command, command_names
from .help import TOPICS, by_need, texts, usage_words, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..command import Command, Option

__all__ = ["page", "pages"]

SECTION = 1
WIDTH = 72  # characters of an example, which is indented on a terminal of 80
SITE = "https://mmacalc.github.io/mmacalc/"
SUMMARY = "matrix instructions of GPUs: layouts, encodings, wait states, arithmetic"


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    return {f"{title(name)}.{SECTION}": page(name) for name in ("", *command_names())}


def title(name: str) -> str:
    """What the page of a command is called.

    >>> title("draw"), title("")
    ('mmacalc-draw', 'mmacalc')
    """
    return f"mmacalc-{name}" if name else "mmacalc"


def page(name: str) -> str:
    """The page of a command, or of the program (""), as man(7) has it.

    >>> page("batch").split(chr(10))[0].startswith('.TH "MMACALC\\\\-BATCH" 1')
    True
    """
    known = command(name)
    assert known is not None, name
    return "\n".join(_lines(known)) + "\n"


def _lines(known: Command) -> Iterator[str]:
    yield f'.TH "{_escaped(title(known.name).upper())}" {SECTION} "" "mmacalc {_escaped(__version__)}" "mmacalc"'
    yield ".SH NAME"
    yield f"{_escaped(title(known.name))} \\- {_escaped(known.summary if known.name else SUMMARY)}"
    yield ".SH SYNOPSIS"
    yield from _synopsis(known)
    yield ".SH DESCRIPTION"
    yield from _text(wrapped(known.about or known.summary, WIDTH))
    if not known.name:
        yield from _commands()
    yield from _options(known)
    if not known.name:
        for topic, text in {**TOPICS, **texts()}.items():
            yield f".SH {topic.upper()}"
            yield from _text(wrapped(text, WIDTH))
    else:
        yield ".SH EXIT STATUS"
        yield "0: an answer; 1: a finding; 2: refused input; 3: a bug in mmacalc; 130: Ctrl\\-C."
    yield ".SH SEE ALSO"
    named = ["mmacalc"] if known.name else [title(each) for each in command_names()]
    yield ",\n".join([f"\\fB{_escaped(each)}\\fR({SECTION})" for each in named])
    yield ".PP"
    yield _escaped(SITE)


def _synopsis(known: Command) -> Iterator[str]:
    if not known.name:
        yield "\\fBmmacalc\\fR \\fICOMMAND\\fR ..."
        yield ".br"
        yield "\\fBmmacalc\\fR \\fB\\-a\\fR \\fINAME\\fR \\fB\\-i\\fR \\fINAME\\fR \\fIoptions\\fR"
        return
    yield f"\\fBmmacalc {_escaped(known.name)}\\fR {_escaped(' '.join(usage_words(known)))}"


def _commands() -> Iterator[str]:
    """Every command with what it does, by need."""
    yield ".SH COMMANDS"
    for need, each in by_need().items():
        yield f".SS {_escaped(need)}"
        for name, what in each.items():
            yield ".TP"
            yield f"\\fB{_escaped(title(name))}\\fR({SECTION})"
            yield _line(what)


def _options(known: Command) -> Iterator[str]:
    shown = [each for each in known.options if not known.name or not is_modifier(each)]
    shown.sort(key=lambda each: bool(each.spellings))  # arguments by themselves first
    if not shown:
        return
    yield ".SH OPTIONS"
    for each in shown:
        yield ".TP"
        yield _spelt(each)
        yield _line(each.help)
    if len(shown) < len(known.options):
        yield ".PP"
        yield f"Modifiers (\\-m, \\-\\-cbsz, \\-\\-neg ...) are in \\fB{_escaped(title(''))}\\fR({SECTION})."


def _spelt(option: Option) -> str:
    value = option.placeholder or "|".join(option.choices)
    if not option.spellings:
        return f"\\fI{_escaped(value if option.placeholder else option.name)}\\fR"
    ways = ", ".join([f"\\fB{_escaped(way)}\\fR" for way in option.spellings])
    return f"{ways} \\fI{_escaped(value)}\\fR" if value else ways


def _text(text: str) -> Iterator[str]:
    """Paragraphs, and between them examples and tables, which keep their lines."""
    for at, part in enumerate(text.strip("\n").split("\n\n")):
        kept = any(line.startswith("  ") for line in part.split("\n"))
        if kept:
            yield from (".PP", ".RS 4", ".nf")
            yield from [_line(line) for line in dedent(part).split("\n")]
            yield from (".fi", ".RE")
        else:
            if at:
                yield ".PP"
            yield from [_line(line) for line in part.split("\n")]


def _line(text: str) -> str:
    """A line of text, which is none of roff's requests."""
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _escaped(text: str) -> str:
    """A text in which nothing means anything to roff, in ASCII; the hyphens of options are such that can be copied.

    >>> print(_escaped("--a \\\\ x"))
    \\-\\-a \\e x
    """
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("~", "\\(ti")
    plain = plain.replace("^", "\\(ha").replace("'", "\\(aq")
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", plain)


def main(folder: str) -> None:
    """Write every page into a folder."""
    from pathlib import Path

    for name, text in pages().items():
        Path(folder, name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
