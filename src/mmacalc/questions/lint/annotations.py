"""Findings as workflow commands of GitHub Actions, which shows them beside the lines of a pull request.

Source: GitHub's documentation, "Workflow commands for GitHub Actions", and actions/toolkit, packages/core, command.ts,
of which characters are escaped.
"""

from __future__ import annotations

from .sarif import message, rule_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import CheckedListing

__all__ = ["workflow_commands"]


def workflow_commands(answer: CheckedListing) -> str:
    """A line for each finding."""
    lines = []
    for one in answer.report.findings:
        place = {"file": answer.name.replace("\\", "/"), "title": f"mmacalc {rule_of(one)}"}
        if one.line not in answer.addresses:
            place |= {"line": str(one.line), "col": str(one.column), "endColumn": str(one.column + len(one.text))}
        properties = ",".join([f"{name}={_property(value)}" for name, value in place.items()])
        lines.append(f"::error {properties}::{_data(message(one, answer))}\n")
    return "".join(lines)


def _data(text: str) -> str:
    """
    >>> _data("50% of\\nthem")
    '50%25 of%0Athem'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """
    >>> _property("a,b:c")
    'a%2Cb%3Ac'
    """
    return _data(text).replace(":", "%3A").replace(",", "%2C")
