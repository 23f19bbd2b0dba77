"""The kernels of a code object, as text and as JSON."""

from __future__ import annotations

from ..errors import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.kernel_run import KernelList
    from ..asm.code_objects import Kernel, KernelArgument

__all__ = ["json_object", "text"]


def text(found: KernelList) -> str:
    """A line for each kernel, and one for each of its arguments."""
    lines = []
    for kernel in found.kernels:
        lines.append(
            f"{kernel.name}: {kernel.target}, wave{kernel.wavefront_size}, {kernel.vgpr_count} VGPRs, "
            f"{kernel.descriptor.group_segment_size} bytes of LDS, "
            f"{kernel.descriptor.private_segment_size} bytes of scratch"
        )
        lines += [f"  {_described(number, one)}" for number, one in enumerate(_shown(kernel))]
    return "\n".join(lines) + "\n"


def _shown(kernel: Kernel) -> list[KernelArgument]:
    return [one for one in kernel.arguments if not one.value_kind.startswith("hidden_")]


def _described(number: int, one: KernelArgument) -> str:
    name = one.name or f"argument {number + 1}"
    return f"{name}: {counted(one.size, 'byte')}" if one.value_kind == "by_value" else f"{name}: a pointer"


def json_object(found: KernelList) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "kernels": [
            {
                "name": kernel.name,
                "target": kernel.target,
                "wave": kernel.wavefront_size,
                "vgprs": kernel.vgpr_count,
                "lds_bytes": kernel.descriptor.group_segment_size,
                "scratch_bytes": kernel.descriptor.private_segment_size,
                "arguments": [
                    {"name": one.name, "offset": one.offset, "size": one.size, "kind": one.value_kind}
                    for one in _shown(kernel)
                ],
            }
            for kernel in found.kernels
        ]
    }
