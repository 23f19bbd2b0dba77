"""How many wait states one instruction needs after another, and by which rule.

    mmacalc waits -a gfx950 "v_mfma_f32_32x32x16_f16 v[0:15], v[16:19], v[20:23], v[0:15]" "v_add_f32 v24, v0, v25"

The two lines are assembly as LLVM writes it. Wait states are independent instructions, or s_nop N for N + 1 of them;
on gfx11, gfx12 and gfx1250 they are VALU instructions or v_nop. Where LLVM and the ISA guide differ the larger counts.
A source marked unconfirmed is shown but does not count.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable
    from typing import Any

    from ..isa.hazards import WaitStates
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """The architecture and the two lines."""
    parser.add_common("architecture", "json")
    parser.add_argument("first", help="a line of assembly")
    parser.add_argument("second", help="the line that follows it")


def run(options: Namespace) -> str:
    """The wait states of a pair."""
    from ..isa.hazards import wait_states

    wait = wait_states(options.first, options.second, options.architecture)
    if options.json:
        from ..present.json_text import document

        return document("waits", architecture=options.architecture, **as_json(wait))
    lines = [f"{counted(wait.states, wait.unit)}{nops_text(wait.mend)}", f"  {wait.rule}"]
    for each in wait.opinions:
        note = "" if each.rule else ": no row"
        note += "" if each.provenance != "unconfirmed" else "  (unconfirmed, not counted)"
        lines.append(f"  {each.states:3}  {each.place}{note}")
    return "\n".join(lines) + "\n"


def counted(states: int, unit: str) -> str:
    """`4 wait states`, or `4 VALU wait states` where only VALU instructions count."""
    return f"{states} {'VALU ' if unit == 'v_nop' else ''}wait state{'' if states == 1 else 's'}"


def nops_text(mend: Iterable[str]) -> str:
    """` (s_nop 15; s_nop 1)`, ` (4 v_nop)`, or nothing."""
    mend = tuple(mend)
    if not mend:
        return ""
    return f" ({len(mend)} v_nop)" if mend[0] == "v_nop" else f" ({'; '.join(mend)})"


def as_json(wait: WaitStates) -> dict[str, Any]:
    """A WaitStates as plain data."""
    return {
        "states": wait.states,
        "unit": wait.unit,
        "mend": list(wait.mend),
        "rule": wait.rule,
        "llvm": wait.llvm,
        "guide": wait.guide,
        "registers": wait.registers,
        "sources": [
            {"source": each.place, "states": each.states, "rule": each.rule, "provenance": each.provenance}
            for each in wait.opinions
        ],
    }
