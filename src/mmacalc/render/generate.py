"""Index expressions and what a compiled kernel contains, as text and plain data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..codegen.check import Checked
    from ..codegen.generate import Formulas
    from ..model import Instruction

__all__ = ["check_object", "check_text", "formulas_object", "formulas_text"]


def formulas_text(found: Formulas) -> str:
    """The expressions in C, and in Python beside them where they differ."""
    axes = [axis for axis in found.operand.axes[1:]]
    sums = {axes[0]: found.row, axes[1]: found.column}
    if found.operand.shape[0] > 1:
        sums["block"] = found.block
    lines = [f"{found.operand.name} of {found.operand.instruction.name}: {found.operand.pattern}", "", "C, lane by lane:"]
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


def formulas_object(found: Formulas) -> dict[str, Any]:
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


def check_text(checked: Checked, inst: Instruction) -> str:
    """One line for a kernel that contains what was wanted, else what it contains."""
    if checked.wanted(inst):
        return f"{checked.target}: {checked.instructions} instructions, one {inst.name}, no wait state missing\n"
    lines = [f"{checked.target}: wanted one {inst.name}; got {', '.join(checked.matrix_instructions) or 'none'}"]
    lines += [f"  {finding.missing} wait states missing before: {finding.text}" for finding in checked.findings]
    return "\n".join(lines) + "\n"


def check_object(checked: Checked, inst: Instruction) -> dict[str, Any]:
    """What a compiled kernel contains as plain data."""
    return {
        "target": checked.target,
        "compiler": checked.compiler,
        "instructions": checked.instructions,
        "matrix_instructions": list(checked.matrix_instructions),
        "wanted": checked.wanted(inst),
        "findings": [{"line": finding.line, "missing": finding.missing} for finding in checked.findings],
    }
