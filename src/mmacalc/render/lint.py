"""What was found in a listing, as text and as JSON."""

from __future__ import annotations

from ..errors import counted, printable
from . import waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..hazards.lint import Finding, LintReport
    from ..hazards.recognizer import WaitStates

__all__ = ["json_object", "text"]


def text(report: LintReport, name: str, addresses: Mapping[int, int] = {}) -> str:
    """The findings, each with its line in the file `name`, their number, and what was not looked at.

    Args:
        addresses: those of the lines that have one, which name their places instead.
    """
    name = printable(name)
    unchecked = f"; not checked: {', '.join(report.unchecked)}" if report.unchecked else ""
    if not report.findings:
        none = "" if report.matrix_instructions else ": there is no matrix instruction in it"
        return f"{name}: no hazards found{none}{unchecked}\n"
    counts = [(len(report.of_kind(kind)), noun) for kind, noun in NOUNS.items()]
    found = " and ".join(counted(count, noun) for count, noun in counts if count)
    lines = [
        _finding(one, name, before is not None and before.line == one.line, addresses)
        for before, one in zip((None, *report.findings), report.findings)
    ]
    return "".join(lines) + f"{found} found{unchecked}\n"


NOUNS = {"invalid": "error", "wait states": "hazard", "wait": "missing wait"}
"""What the findings of a kind are called."""


def _finding(one: Finding, name: str, again: bool, addresses: Mapping[int, int]) -> str:
    """A finding; again: another one of the same line."""
    place = f"{addresses[one.line]:#x}" if one.line in addresses else f"{one.line}"
    first = f"{addresses[one.first_line]:#x}" if one.first_line in addresses else f"line {one.first_line}"
    head = "" if again else f"{name}:{place}: {printable(one.text)}\n"
    if one.wait is None:
        after = f" ({first}: {printable(one.first_text)})" if one.first_line else ""
        mend = f"  put {'; '.join(one.nops)} before it\n" if one.nops else ""
        return f"{head}  {printable(one.message)}{after}\n{mend}"
    return head + _too_early(one, one.wait, first)


def _too_early(one: Finding, wait: WaitStates, first: str) -> str:
    fix = f"put {waits.nops_text(one.nops)} before it" if one.nops else "no further s_nop: the other findings cover it"
    early = waits.states_text(one.missing, wait.unit)
    return (
        f"  {early} too early after {first}: {printable(one.first_text)}\n"
        f"  needs {wait.states}{' or a wait' if wait.expiry.instruction else ''}, has {one.elapsed}: {fix}\n"
        f"  {wait.rule}\n"
    )


def json_object(report: LintReport, name: str = "") -> dict[str, Any]:
    """The same as plain data; with the name of the file, if one is given."""
    return {
        **({"file": printable(name)} if name else {}),
        "architecture": report.architecture,
        "instructions": report.instructions,
        "matrix_instructions": report.matrix_instructions,
        "unchecked": list(report.unchecked),
        "findings": [
            {
                "kind": one.kind,
                "message": one.message or (one.wait.rule if one.wait else ""),
                "line": one.line,
                "text": one.text,
                "first_line": one.first_line,
                "first_text": one.first_text,
                "elapsed": one.elapsed,
                "missing": one.missing,
                "nops": list(one.nops),
                "wait": waits.json_object(one.wait) if one.wait else None,
            }
            for one in report.findings
        ],
    }
