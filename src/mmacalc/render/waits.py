"""The wait states between two instructions, as text and as JSON."""

from __future__ import annotations

from itertools import groupby

from ..errors import counted, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..hazards.lint import RequiredWait, WaitsReport
    from ..hazards.recognizer import WaitStates

__all__ = ["json_object", "listing_object", "listing_text", "nops_text", "states_text", "text"]


def text(wait: WaitStates) -> str:
    """The number with the nops that give it, the rule, and every source's answer."""
    nops = f" ({nops_text(wait.nops)})" if wait.nops else ""
    nops = f", or {wait.expiry.instruction}" if wait.nops and wait.expiry.instruction else nops
    lines = [f"{states_text(wait.states, wait.unit)}{nops}", f"  {wait.rule}"]
    lines += [f"  also ended by {wait.expiry.words}"] if wait.expiry.words else []
    for source in wait.sources:
        note = "" if source.rule else ": no row"
        note += "" if source.provenance != "unconfirmed" else "  (unconfirmed, not counted)"
        lines.append(f"  {source.states:3}  {source.place}{note}")
    return "\n".join(lines) + "\n"


def json_object(wait: WaitStates) -> dict[str, Any]:
    """The same as plain data."""
    return {
        **({"architecture": wait.architecture} if wait.architecture else {}),
        "states": wait.states,
        "unit": wait.unit,
        "nops": list(wait.nops),
        "rule": wait.rule,
        "llvm": wait.llvm,
        "guide": wait.guide,
        "registers": wait.registers,
        **({"ended_by": wait.expiry.words} if wait.expiry.words else {}),
        "sources": [
            {"source": each.place, "states": each.states, "rule": each.rule, "provenance": each.provenance}
            for each in wait.sources
        ],
    }


def listing_text(report: WaitsReport, name: str, addresses: Mapping[int, int] = {}) -> str:
    """The waits of a listing, those of each kernel or function below its name.

    Args:
        addresses: those of the lines that have one, which name their places instead.
    """
    name = printable(name)
    if report.unjudged:
        return f"{name}: wait states are not judged: {report.unjudged}\n"
    if not report.waits:
        return f"{name}: no instruction needs wait states after another\n"
    lines = []
    for part, waits in groupby(report.waits, lambda one: one.part):
        lines += [f"{printable(part) or name}:"]
        lines += [_listed(one, addresses) for one in waits]
    short = sum(one.missing > 0 for one in report.waits)
    lines.append(f"{counted(len(report.waits), 'wait')}, of which {short} too short" if short else
                 f"{counted(len(report.waits), 'wait')}, all long enough")  # fmt: skip
    return "\n".join(lines) + "\n"


def _listed(one: RequiredWait, addresses: Mapping[int, int]) -> str:
    first, second = (f"{addresses[line]:#x}" if line in addresses else f"line {line}"
                     for line in (one.first_line, one.line))  # fmt: skip
    enough = f"  {counted(one.missing, 'state')} missing" if one.missing else ""
    ends = f" or {one.wait.expiry.instruction}" if one.wait.expiry.instruction else ""
    return (
        f"  {second}: {printable(one.text)}\n"
        f"    after {first}: {printable(one.first_text)}\n"
        f"    needs {states_text(one.wait.states, one.wait.unit)}{ends}, has {one.elapsed}{enough}: {one.wait.rule}"
    )


def listing_object(report: WaitsReport, name: str) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "file": printable(name),
        "architecture": report.architecture,
        "unjudged": report.unjudged,
        "waits": [
            {
                "line": one.line,
                "text": one.text,
                "first_line": one.first_line,
                "first_text": one.first_text,
                "part": one.part,
                "elapsed": one.elapsed,
                "missing": one.missing,
                "wait": json_object(one.wait),
            }
            for one in report.waits
        ],
    }


def states_text(states: int, unit: str) -> str:
    """`4 wait states`, or `4 VALU wait states` where only VALU instructions count."""
    return counted(states, "VALU wait state" if unit == "v_nop" else "wait state")


def nops_text(nops: Sequence[str]) -> str:
    """`s_nop 15; s_nop 1`, or `4 v_nop`."""
    return f"{len(nops)} v_nop" if nops and nops[0] == "v_nop" else "; ".join(nops)
