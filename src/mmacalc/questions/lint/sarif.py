"""Findings as SARIF 2.1.0 (OASIS), which code scanning of GitHub, Azure and editors read.

Lines and columns are counted from 1, columns in Unicode code points. A place in an object is an address. Each result
has a fingerprint without line numbers (`baseline.fingerprint`), so that it stays the same finding where lines move.
"""

from __future__ import annotations

import json
from os.path import isabs
from pathlib import Path
from urllib.parse import quote

from ...base.errors import printable
from ...base.version import __version__
from ..waits import nops_text, states_text
from .baseline import fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ...base.errors import Error
    from ...hazards.lint import Finding
    from . import CheckedListing

__all__ = ["RULES", "document", "message", "rule_of"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SITE = "https://mmacalc.github.io/mmacalc"
RULES = {
    "wait states": ("missing-wait-states", "A register is used before enough wait states have passed"),
    "wait": ("missing-wait", "The result of a memory access is used without a wait for its counter"),
    "vccz": ("stale-vccz", "vccz is read after a write of one half of VCC, which does not update it"),
    "shift amount": (
        "high-shift-amount",
        "A shift of 64 bits takes its amount from a register that gfx90a may read wrongly",
    ),
    "exec": ("lost-lanes", "EXEC is not restored, or nothing reads a mask of lanes that is written"),
    "invalid": ("invalid-instruction", "No assembler accepts the instruction"),
}
"""By the kind of a finding, the rule's name and what it says."""


def rule_of(finding: Finding) -> str:
    """The name of the rule of a finding."""
    return RULES[finding.kind][0]


def message(finding: Finding, answer: CheckedListing) -> str:
    """What is wrong and what to do, in sentences."""
    wait, addresses = finding.wait, answer.addresses
    first = f"{addresses[finding.first_line]:#x}" if finding.first_line in addresses else f"line {finding.first_line}"
    after = f" after {first} ({printable(finding.first_text)})" if finding.first_line else ""
    at = f" at {addresses[finding.line]:#x}" if finding.line in addresses else ""
    repair = f" Put {nops_text(finding.nops)} before it." if finding.nops else ""
    if wait is None:
        return f"{printable(finding.text)}{at}: {printable(finding.message).rstrip('.')}{after}.{repair}"
    early = states_text(finding.missing, wait.unit)
    needs = f"needs {wait.states}, has {finding.elapsed}"
    return f"{printable(finding.text)}{at} comes {early} too early{after}: {needs} ({wait.rule}).{repair}"


def document(checked: Sequence[CheckedListing], unread: Iterable[tuple[str, Error]]) -> str:
    """The report of one run; unread: the files that could not be checked, and why."""
    notices = [
        {"level": "error", "message": {"text": str(error)}, "locations": [{"physicalLocation": _artifact(name)}]}
        for name, error in unread
    ]
    rules = [{"id": name, "shortDescription": {"text": about}, "helpUri": f"{SITE}/continuous-integration.html"}
             for name, about in RULES.values()]  # fmt: skip
    driver = {"name": "mmacalc", "version": __version__, "informationUri": f"{SITE}/", "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not notices, "toolExecutionNotifications": notices}],
        "results": [_result(one, answer) for answer in checked for one in answer.report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _result(finding: Finding, answer: CheckedListing) -> dict[str, Any]:
    kinds = list(RULES)
    found: dict[str, Any] = {
        "ruleId": rule_of(finding),
        "ruleIndex": kinds.index(finding.kind),
        "level": "error",
        "message": {"text": message(finding, answer)},
        "locations": [{"physicalLocation": _place(finding.line, finding, answer)}],
        "partialFingerprints": {"mmacalc/v1": fingerprint(finding)},
    }
    if finding.first_line:
        related = {"id": 1, "message": {"text": printable(finding.first_text)}}
        found["relatedLocations"] = [{**related, "physicalLocation": _place(finding.first_line, None, answer)}]
    if finding.nops and finding.line not in answer.addresses:
        before = {"startLine": finding.line, "startColumn": 1, "endLine": finding.line, "endColumn": 1}
        inserted = {"text": "".join([f"\t{one}\n" for one in finding.nops])}
        change = {**_artifact(answer.name), "replacements": [{"deletedRegion": before, "insertedContent": inserted}]}
        what = {"text": f"put {nops_text(finding.nops)} before it"}
        found["fixes"] = [{"description": what, "artifactChanges": [change]}]
    return found


def _place(line: int, finding: Finding | None, answer: CheckedListing) -> dict[str, Any]:
    """A line, of the finding with its columns; of an object an address."""
    artifact = _artifact(answer.name)
    if line in answer.addresses:
        return {**artifact, "address": {"absoluteAddress": answer.addresses[line], "kind": "instruction"}}
    region = {"startLine": line}
    if finding is not None:
        region |= {"startColumn": finding.column, "endColumn": finding.column + len(finding.text)}
    return {**artifact, "region": region}


def _artifact(name: str) -> dict[str, Any]:
    """A file by its URI, which is relative where the name is.

    >>> _artifact("a b/k.s")
    {'artifactLocation': {'uri': 'a%20b/k.s'}}
    """
    path = name.encode("utf-8", "surrogateescape")
    uri = Path(name).as_uri() if isabs(name) else quote(path.replace(b"\\", b"/"))
    return {"artifactLocation": {"uri": uri}}
