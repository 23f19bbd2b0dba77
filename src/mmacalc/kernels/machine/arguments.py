"""The arguments of a launch, packed as the kernel's metadata says.

Source: LLVM, AMDGPUUsage, "Code Object V5 Metadata", `.args`.
"""

from __future__ import annotations

import numpy as np

from ...checks import shown
from ...errors import Error, counted
from .addresses import check_type, kept_arrays, owner_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...asm.code_objects import KernelArgument
    from ..waves import Dim3
    from .storage import GlobalMemory

__all__ = ["packed_arguments"]

FLOATS: dict[int, type[np.floating[Any]]] = {2: np.float16, 4: np.float32, 8: np.float64}


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
    addresses = {}
    for address, base in kept_arrays():
        addresses[id(base)] = address
        name = f"the array of address_of ({base.dtype} of shape {base.shape})"
        memory.add(name, base.reshape(-1, order="A").view(np.uint8), bool(base.flags.writeable), base, address)
    for number, (one, value) in enumerate(zip(shown_ones, given)):
        packed = _packed(number, one, value, memory, addresses)
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


def _packed(number: int, one: KernelArgument, value: Any, memory: GlobalMemory, addresses: dict[int, int]) -> bytes:
    size, name = one.size, one.name or f"argument {number + 1}"
    if isinstance(value, (np.ndarray, np.generic)):
        check_type(name, value)
    if isinstance(value, np.ndarray) and value.ndim:
        if size != 8:
            raise Error(f"{name} of the kernel is a value of {counted(size, 'byte')}; got an array")
        return _address(name, value, memory, addresses).to_bytes(8, "little")
    if one.value_kind != "by_value":
        if value is None:
            return bytes(size)
        raise Error(f"{name} of the kernel is a pointer: it takes a NumPy array, or None; got {shown(value)}")
    if isinstance(value, (bytes, bytearray)):
        packed = bytes(value)
    elif isinstance(value, (np.generic, np.ndarray)):
        packed = bytes(np.array(value).reshape(1).view(np.uint8))
    elif isinstance(value, (bool, int)) and size:
        if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            raise Error(f"{name} of the kernel has {counted(size, 'byte')}; {shown(value)} does not fit")
        packed = (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")
    elif isinstance(value, float) and size in FLOATS:
        with np.errstate(all="ignore"):
            packed = np.array(value).astype(FLOATS[size]).tobytes()
    else:
        raise Error(
            f"{name} of the kernel has {counted(size, 'byte')}: it takes a number, or bytes; got {shown(value)}"
        )
    if len(packed) != size:
        raise Error(f"{name} of the kernel has {counted(size, 'byte')}; {shown(value)} has {len(packed)}")
    return packed


def _address(name: str, array: Any, memory: GlobalMemory, addresses: dict[int, int]) -> int:
    """Where an array lies: views of one array lie in the same memory."""
    base, first = owner_of(name, array)
    if id(base) not in addresses:
        content = base.reshape(-1, order="A").view(np.uint8)
        addresses[id(base)] = memory.add(name, content, bool(base.flags.writeable), base)
    return addresses[id(base)] + first


def _hidden(kind: str, grid: Dim3, block: Dim3, lds: int) -> int:
    name, _, axis = kind.rpartition("_")
    if axis in ("x", "y", "z"):
        at = "xyz".index(axis)
        return {"block_count": grid[at], "group_size": block[at], "remainder": 0, "global_offset": 0}.get(name, 0)
    from .storage import PRIVATE_BASE, SHARED_BASE

    dimensions = 3 if grid.z * block.z > 1 else 2 if grid.y * block.y > 1 else 1
    return {
        "grid_dims": dimensions, "dynamic_lds_size": lds, "private_base": PRIVATE_BASE >> 32,
        "shared_base": SHARED_BASE >> 32,
    }.get(kind, 0)  # fmt: skip
