"""What a compiled kernel contains, as text and plain data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..codegen.check import Checked

__all__ = ["json_object", "text"]


def text(checked: Checked) -> str:
    """One line for a kernel that contains what was wanted, else what it contains."""
    if checked.wanted:
        name = checked.instruction.name
        count = "one" if checked.single else str(len(checked.matrix_instructions))
        return f"{checked.target}: {checked.instructions} instructions, {count} {name}, no wait state missing\n"
    found = ", ".join(checked.matrix_instructions) or "none"
    lines = [f"{checked.target}: wanted one {checked.instruction.name}; got {found}"]
    lines += [f"  {finding.missing} wait states missing before: {finding.text}" for finding in checked.findings]
    return "\n".join(lines) + "\n"


def json_object(checked: Checked) -> dict[str, Any]:
    """What a compiled kernel contains as plain data."""
    return {
        "instruction": checked.instruction.name,
        "target": checked.target,
        "compiler": checked.compiler,
        "instructions": checked.instructions,
        "matrix_instructions": list(checked.matrix_instructions),
        "wanted": checked.wanted,
        "findings": [{"line": finding.line, "missing": finding.missing} for finding in checked.findings],
    }
