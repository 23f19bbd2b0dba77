"""Memory instructions, compiled."""

from __future__ import annotations

from .buffer_steps import buffer_step
from .global_steps import global_step
from .lds_loads import load_to_lds, store_from_lds
from .local_steps import ds_step, scratch_step
from .scalar_steps import scalar_step
from .transposing import transposing_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ...asm.decoded import DecodedInstruction
    from .access_names import Access
    from .state import Group

    Array = NDArray[Any]

__all__ = ["memory_step"]


def memory_step(instruction: DecodedInstruction, access: Access, target: Any) -> Callable[[Group], None]:
    """The function that executes a memory instruction."""
    if access.to_lds or instruction.modifiers.get("lds"):
        return load_to_lds(instruction, access, target)
    if "_async_from_lds_" in instruction.name:
        return store_from_lds(instruction, access)
    if "_tr" in instruction.name:
        return transposing_step(instruction, access, target)
    if access.unit == "ds":
        return ds_step(instruction, access)
    if access.unit == "scratch":
        return scratch_step(instruction, access)
    if access.unit == "buffer":
        return buffer_step(instruction, access, target)
    if access.unit in ("scalar", "scalar buffer"):
        return scalar_step(instruction, access, target)
    return global_step(instruction, access)
