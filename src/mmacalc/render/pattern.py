"""An operand's layout as a pattern (--pattern), as text and as JSON."""

from __future__ import annotations

from .spelling import heading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model import Operand

__all__ = ["ends_text", "json_object", "text"]


def text(operand: Operand) -> str:
    """The layout in einops-like notation, with the digit sizes and plain einops below it."""
    sizes = ", ".join(f"{name}={size}" for name, size in operand.sizes.items())
    return (
        f"{heading(operand.instruction, operand)}{operand.name}: {operand.pattern}\n"
        f"    sizes: {sizes}{ends_text(operand)}\n    einops: {operand.einops}{_steps(operand)}\n"
    )


def _steps(operand: Operand) -> str:
    """The two operations that einops needs where digits are on the left only, and others on the right only."""
    sides = operand.einops.replace("(", " ").replace(")", " ").split(" -> ")
    left, right = (set(side.split()) for side in sides)
    if left <= right or right <= left:
        return ""
    return f"   (reduce over {', '.join(sorted(left - right))}, then repeat along {', '.join(sorted(right - left))})"


def ends_text(operand: Operand) -> str:
    """Where axes end before their digits do, so that the last register is not full; empty if none does."""
    return "".join(f"; {axis} ends at {extent}" for axis, extent in operand.layout.partial.items())


def json_object(operand: Operand) -> dict[str, Any]:
    """The same as plain data."""
    from . import json

    return {
        **json.operand_object(operand), "pattern": operand.pattern, "sizes": operand.sizes, "einops": operand.einops,
        "ends": operand.layout.partial,
    }  # fmt: skip
