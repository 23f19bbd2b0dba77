"""Find where an assembly listing touches a matrix instruction's result or source too early.

    mmacalc lint -a gfx942 kernel.s          a compiler's or a hand-written listing
    llvm-objdump -d kernel.o | mmacalc lint -a gfx942 -

Every place is printed with its line, the rule and the s_nop to put before it; the status is 1 when there is any, else
0. Labels, comments, directives, s_nop and other instructions are understood. Every path is followed: fall-through,
both ways of a conditional branch, loops. Assumed: s_setpc and branches to labels outside the listing lead nowhere,
calls return at once, each instruction between two others gives one wait state, macros are not expanded, and unknown
mnemonics write their first operand and read the others. Waits for memory (s_waitcnt) are not checked.
"""

from __future__ import annotations

import re

from ..errors import Error
from .files import read_text
from .waits import as_json, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from ..isa.lint import Finding
    from .parser import Parser

_MATRIX = re.compile(r"\bv_(mfma|smfmac|wmma|swmmac)_", re.IGNORECASE)


def add_arguments(parser: Parser) -> None:
    """The architecture and the listing."""
    parser.add_common("architecture", "json")
    parser.add_argument("file", help="the listing; - for standard input")


def run(options: Namespace) -> tuple[str, int]:
    """The findings, and 1 if there are any."""
    from ..isa.lint import lint

    text = _read(options.file)
    found = lint(text, options.architecture)
    status = 1 if found else 0
    if options.json:
        from ..present.json_text import document

        return document("lint", architecture=options.architecture, findings=[_plain(one) for one in found]), status
    name = "<stdin>" if options.file == "-" else options.file
    if not found:
        why = "" if _MATRIX.search(text) else ": there is no matrix instruction in it"
        return f"{name}: nothing comes too early{why}\n", status
    places = "1 place comes" if len(found) == 1 else f"{len(found)} places come"
    return "".join(_shown(name, one) for one in found) + f"{places} too early\n", status


def _read(file: str) -> str:
    text = read_text(file)
    if "\0" in text:  # "nothing comes too early" would be a lie about code that was not read
        raise Error(
            f"'{file}' is no text; for an object, give its listing: llvm-objdump -d {file} | mmacalc lint ... -"
        )
    return text


def _shown(name: str, one: Finding) -> str:
    wait = one.wait
    mend = f"put {'; '.join(one.mend)} before it" if one.mend else "the nops put in earlier mend this too"
    if one.mend and one.mend[0] == "v_nop":
        mend = f"put {len(one.mend)} v_nop before it"
    return (
        f"{name}:{one.line}: {one.text}\n"
        f"  comes {counted(one.missing, wait.unit)} too early after line {one.first_line}: {one.first_text}\n"
        f"  needs {wait.states}, has {one.given}: {mend}\n"
        f"  {wait.rule}\n"
    )


def _plain(one: Finding) -> dict[str, Any]:
    return {
        "line": one.line,
        "text": one.text,
        "first_line": one.first_line,
        "first_text": one.first_text,
        "given": one.given,
        "missing": one.missing,
        "mend": list(one.mend),
        "wait": as_json(one.wait),
    }
