"""The index expressions of an operand, as text and plain data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..codegen.generate import Formulas

__all__ = ["json_object", "text"]


def text(found: Formulas) -> str:
    """The expressions in C, and in Python beside them where they differ."""
    axes = list(found.operand.axes[1:])
    sums = {axes[0]: found.row, axes[1]: found.column}
    if found.operand.shape[0] > 1:
        sums["block"] = found.block
    head = f"{found.operand.name} of {found.operand.instruction.name}: {found.operand.pattern}"
    lines = [head, "", "C, lane by lane:"]
    lines += [f"    int {name} = {expression};" for name, expression in found.digits]
    lines += [f"    int {axis} = {expression};  // + the item's" for axis, expression in sums.items()]
    lines += ["", "Python, for all lanes (lane = numpy.arange(wave)):"]
    lines += [f"    {name} = {expression.replace(' / ', ' // ')}" for name, expression in found.digits]
    lines += [f"    {axis} = {expression}" for axis, expression in sums.items()]
    lines += ["", f"items: (slot, {axes[0]}, {axes[1]}{', block' if 'block' in sums else ''}) that each adds"]
    for first in range(0, len(found.items), 8):
        lines.append("    " + "  ".join(_item(item, "block" in sums) for item in found.items[first : first + 8]))
    return "\n".join(lines) + "\n"


def _item(item: tuple[int, int, int, int], blocks: bool) -> str:
    slot, block, row, column = item
    return f"({slot}, {row}, {column}{f', {block}' if blocks else ''})"


def json_object(found: Formulas) -> dict[str, Any]:
    """The expressions as plain data."""
    axes = found.operand.axes[1:]
    return {
        "architecture": found.operand.instruction.arch,
        "instruction": found.operand.instruction.name,
        "matrix": found.operand.name,
        "wave": found.operand.wave,
        "pattern": found.operand.pattern,
        "digits": dict(found.digits),
        "row": {"axis": axes[0], "expression": found.row},
        "column": {"axis": axes[1], "expression": found.column},
        "block": found.block,
        "items": [dict(zip(("slot", "block", "row", "column"), item)) for item in found.items],
    }
