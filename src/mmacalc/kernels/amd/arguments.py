"""The arguments of a launch, packed as the kernel's metadata says.

Source: LLVM, AMDGPUUsage, "Code Object V5 Metadata", `.args`.
"""

from __future__ import annotations

import numpy as np

from ...checks import shown
from ...errors import Error, counted
from ..device.launch import value_bytes
from ..device.memory import check_type
from .target import PRIVATE_BASE, SHARED_BASE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...asm.code_objects import KernelArgument
    from ..device.launch import Dim3
    from ..device.memory import GlobalMemory

__all__ = ["packed_arguments"]


def packed_arguments(
    listed: Sequence[KernelArgument],
    given: Sequence[Any],
    memory: GlobalMemory,
    sizes: tuple[Dim3, Dim3, int],
    length: int,
) -> bytes:
    """The bytes of the kernel arguments; arrays among those given are entered into global memory.

    Args:
        listed: the metadata's arguments. given: those of the launch, without hidden ones.
        sizes: the grid in workgroups, the block, the bytes of dynamic LDS. length: of the kernel argument segment.

    Raises:
        Error: too few or too many; one that does not fit.
    """
    shown_ones = [one for one in listed if not one.value_kind.startswith("hidden_")]
    if len(shown_ones) != len(given):
        raise Error(
            f"the kernel takes {counted(len(shown_ones), 'argument')} ({_signature(shown_ones)}); got {len(given)}"
        )
    content = bytearray(length)
    memory.add_kept()
    for number, (one, value) in enumerate(zip(shown_ones, given)):
        packed = _packed(number, one, value, memory)
        content[one.offset : one.offset + len(packed)] = packed
    for one in listed:
        if one not in shown_ones:
            size = one.size
            value = _hidden(one.value_kind.removeprefix("hidden_"), *sizes)
            content[one.offset : one.offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(content)


def _signature(listed: Sequence[KernelArgument]) -> str:
    return ", ".join(_described(number, one) for number, one in enumerate(listed)) or "none"


def _described(number: int, one: KernelArgument) -> str:
    name = one.name or f"argument {number + 1}"
    return f"{name}: a pointer" if one.value_kind != "by_value" else f"{name}: {counted(one.size, 'byte')}"


def _packed(number: int, one: KernelArgument, value: Any, memory: GlobalMemory) -> bytes:
    size, name = one.size, one.name or f"argument {number + 1}"
    if isinstance(value, (np.ndarray, np.generic)):
        check_type(name, value)
    if isinstance(value, np.ndarray) and value.ndim:
        if size != 8:
            raise Error(f"{name} of the kernel is a value of {counted(size, 'byte')}; got an array")
        return memory.address(name, value).to_bytes(8, "little")
    if one.value_kind != "by_value":
        if value is None:
            return bytes(size)
        raise Error(f"{name} of the kernel is a pointer: it takes a NumPy array, or None; got {shown(value)}")
    return value_bytes(name, size, value)


def _hidden(kind: str, grid: Dim3, block: Dim3, lds: int) -> int:
    name, _, axis = kind.rpartition("_")
    if axis in ("x", "y", "z"):
        at = "xyz".index(axis)
        return {"block_count": grid[at], "group_size": block[at], "remainder": 0, "global_offset": 0}.get(name, 0)
    dimensions = 3 if grid.z * block.z > 1 else 2 if grid.y * block.y > 1 else 1
    return {
        "grid_dims": dimensions, "dynamic_lds_size": lds, "private_base": PRIVATE_BASE >> 32,
        "shared_base": SHARED_BASE >> 32,
    }.get(kind, 0)  # fmt: skip
