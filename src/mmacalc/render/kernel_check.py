"""What a compiled kernel contains, as text and plain data."""

from __future__ import annotations

from ..errors import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..codegen.check import Checked

__all__ = ["json_object", "text"]


def text(checked: Checked) -> str:
    """One line for a kernel that contains what was wanted, else what it contains."""
    name, found = checked.instruction.name, checked.matrix_instructions
    if checked.has_instructions:
        head = f"{counted(checked.instructions, 'instruction')}, {'one' if checked.single else len(found)} {name}"
    else:
        head = f"wanted {'one' if checked.single else 'only'} {name}; got {', '.join(found) or 'none'}"
    lines = [f"{checked.target}: {head}"]
    if checked.target.startswith("sm_"):
        lines[0] += f"; {_sass_words(checked)}"
    elif checked.wanted:
        lines[0] += ", no wait state missing"
    lines += [
        f"  {counted(finding.missing, 'wait state')} missing before: {finding.text}" for finding in checked.findings
    ]
    return "\n".join(lines) + "\n"


def _sass_words(checked: Checked) -> str:
    """What the machine code has."""
    if checked.sass is None:
        return "SASS not looked at: nvdisasm is not installed (pip install nvidia-cuda-nvdisasm)"
    counts = {name: checked.sass.count(name) for name in checked.sass}
    found = " + ".join(f"{count}x{name}" if count > 1 else name for name, count in counts.items())
    words = f"SASS: {found or 'no tensor-core opcode'}"
    return words if checked.has_sass else f"{words}, where {checked.becomes} was expected"


def json_object(checked: Checked) -> dict[str, Any]:
    """What a compiled kernel contains as plain data."""
    return {
        "instruction": checked.instruction.name,
        "target": checked.target,
        "compiler": checked.compiler,
        "instructions": checked.instructions,
        "matrix_instructions": list(checked.matrix_instructions),
        "sass": None if checked.sass is None else list(checked.sass),
        "wanted": checked.wanted,
        "findings": [{"line": finding.line, "missing": finding.missing} for finding in checked.findings],
    }
