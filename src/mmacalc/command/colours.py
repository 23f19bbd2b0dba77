"""Colours of a terminal for what people look for first: verdicts, findings, headings.

They are put on the lines of a finished text, so that no answer knows of them, and taken off again nothing has changed.
NO_COLOR (https://no-color.org) and FORCE_COLOR are obeyed; a terminal that is called dumb gets none.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["COMMANDS", "coloured", "wanted"]

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "1;31", "32", "1;33", "36"
COMMANDS = frozenset((
    "architectures", "chain", "compare", "diagnose", "estimate", "explain", "find", "gemm", "help", "lint", "memory",
    "numerics", "profile", "run", "run-kernel", "tile", "waits",
))  # fmt: skip
"""The commands whose texts are for people; others print code, pictures or tables for programs."""
RULES = (
    (r"usage: |[a-z][\w ]*:$", BOLD),
    (r"Architecture: .*|Instruction: .*", BOLD),
    (r"\S*:(?:\d+:\d+|0x[0-9a-f]+):(?= )", BOLD),
    (r".*: no (?:new )?hazards found", GREEN),
    (r"\d+ (?:errors?|hazards?|missing waits?)\b.* found", RED),
    (r"Comparison: all .*|Right up to rounding.*|.*[Nn]othing wrong was found.*", GREEN),
    (r"Comparison: .*|No single known mistake .*", RED),
    (r"(?:Explained|Located|Nearest)\b[^:]*:", YELLOW),
    (r"  (?:Remedy|Look for):|  put .* before it", CYAN),
    (r"(?:race|uninitialised|missing wait|out of bounds|deadlock)[\w ]*: ", RED),
)
_RULES = tuple([(re.compile(pattern), style) for pattern, style in RULES])


def wanted(stream: TextIO | None) -> bool:
    """Whether a stream shows colours, and its reader wants them."""
    if os.environ.get("NO_COLOR") or stream is None:
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    r"""A text with colours where its lines begin with what one looks for.

    >>> coloured("Comparison: all 256 elements are equal to the bit.\n")
    '\x1b[32mComparison: all 256 elements are equal to the bit.\x1b[0m\n'
    """
    return "\n".join([_line(line) for line in text.split("\n")])


def _line(line: str) -> str:
    for pattern, style in _RULES:
        if (found := pattern.match(line)) and found[0]:
            return f"\x1b[{style}m{found[0]}\x1b[0m{line[found.end() :]}"
    return line
