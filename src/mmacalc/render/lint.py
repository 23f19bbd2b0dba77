"""What was found in a listing, as text and as JSON."""

from __future__ import annotations

from ..errors import counted, printable
from . import waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..hazards.lint import Finding, LintReport

__all__ = ["json_object", "text"]


def text(report: LintReport, name: str) -> str:
    """The findings, each with its line in the file `name`, and their number."""
    name = printable(name)
    if not report.findings:
        none = "" if report.matrix_instructions else ": there is no matrix instruction in it"
        return f"{name}: no hazards found{none}\n"
    count = counted(len(report.findings), "hazard")
    return "".join(_finding(one, name) for one in report.findings) + f"{count} found\n"


def _finding(one: Finding, name: str) -> str:
    wait = one.wait
    fix = f"put {waits.nops_text(one.nops)} before it" if one.nops else "what other findings ask for is enough"
    early = waits.states_text(one.missing, wait.unit)
    return (
        f"{name}:{one.line}: {printable(one.text)}\n"
        f"  {early} too early after line {one.first_line}: {printable(one.first_text)}\n"
        f"  needs {wait.states}{' or a wait' if wait.expiry.instruction else ''}, has {one.elapsed}: {fix}\n"
        f"  {wait.rule}\n"
    )


def json_object(report: LintReport) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "architecture": report.architecture,
        "instructions": report.instructions,
        "matrix_instructions": report.matrix_instructions,
        "findings": [
            {
                "line": one.line,
                "text": one.text,
                "first_line": one.first_line,
                "first_text": one.first_text,
                "elapsed": one.elapsed,
                "missing": one.missing,
                "nops": list(one.nops),
                "wait": waits.json_object(one.wait),
            }
            for one in report.findings
        ],
    }
