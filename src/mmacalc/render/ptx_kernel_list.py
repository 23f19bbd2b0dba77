"""The kernels of a file of PTX, as text and as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.ptx_kernel_run import PtxKernelList

__all__ = ["json_object", "text"]


def text(found: PtxKernelList) -> str:
    """A line for each kernel, and one for each of its parameters."""
    lines = []
    for kernel in found.kernels:
        block = f", blocks of {kernel.block[0]}" if kernel.block else ""
        lines.append(f"{kernel.name}: {kernel.target}{block}")
        lines += [f"  {name}: .{type_}" for name, type_ in kernel.signature]
    return "\n".join(lines) + "\n"


def json_object(found: PtxKernelList) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "kernels": [
            {
                "name": kernel.name,
                "target": kernel.target,
                "arguments": [{"name": name, "type": type_} for name, type_ in kernel.signature],
            }
            for kernel in found.kernels
        ]
    }
