"""The wait states between two instructions, as text and as JSON."""

from __future__ import annotations

from ..errors import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..hazards.recognizer import WaitStates

__all__ = ["json_object", "nops_text", "states_text", "text"]


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


def states_text(states: int, unit: str) -> str:
    """`4 wait states`, or `4 VALU wait states` where only VALU instructions count."""
    return counted(states, "VALU wait state" if unit == "v_nop" else "wait state")


def nops_text(nops: Sequence[str]) -> str:
    """`s_nop 15; s_nop 1`, or `4 v_nop`."""
    return f"{len(nops)} v_nop" if nops and nops[0] == "v_nop" else "; ".join(nops)
