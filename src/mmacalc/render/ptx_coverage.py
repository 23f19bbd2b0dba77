"""What of a file of PTX cannot be run, as text and as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.ptx_kernel_run import PtxCoverage

__all__ = ["json_object", "text"]


def text(found: PtxCoverage) -> str:
    """A line for each statement that cannot be run."""
    lines = []
    for name, statements in found.kernels:
        lines.append(f"{name}: {f'{len(statements)} statements cannot be run' if statements else 'covered'}")
        lines += [f"  line {line}: {statement}: {why}" for line, statement, why in statements]
    return "\n".join(lines) + "\n"


def json_object(found: PtxCoverage) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "kernels": [
            {
                "name": name,
                "uncovered": [{"line": line, "text": statement, "why": why} for line, statement, why in statements],
            }
            for name, statements in found.kernels
        ]
    }
