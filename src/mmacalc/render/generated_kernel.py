"""A generated kernel, as text and plain data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..codegen.generate import GeneratedKernel

__all__ = ["json_object", "text"]


def text(kernel: GeneratedKernel) -> str:
    """The source, or where it was written."""
    return f"written to {kernel.path}\n" if kernel.path else kernel.source


def json_object(kernel: GeneratedKernel) -> dict[str, Any]:
    """The kernel as plain data."""
    inst = kernel.instruction
    return {"architecture": inst.arch, "instruction": inst.name, "source": kernel.source}
