"""A generated kernel, as text and plain data."""

from __future__ import annotations

from ..model.architecture import DOUBTFUL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..codegen.generate import GeneratedKernel

__all__ = ["json_object", "notes", "text"]


def text(kernel: GeneratedKernel) -> str:
    """The source, or where it was written."""
    return f"written to {kernel.path}\n" if kernel.path else kernel.source


def notes(kernel: GeneratedKernel) -> list[str]:
    """The operands whose layout, by which the kernel loads them, no second source confirms."""
    inst = kernel.instruction
    doubts = {name: inst.provenance_of(name) for name in inst.register_operands}
    return [f"the layout of {name} is {doubt}" for name, doubt in doubts.items() if doubt in DOUBTFUL]


def json_object(kernel: GeneratedKernel) -> dict[str, Any]:
    """The kernel as plain data."""
    inst = kernel.instruction
    return {"architecture": inst.arch, "instruction": inst.name, "source": kernel.source}
