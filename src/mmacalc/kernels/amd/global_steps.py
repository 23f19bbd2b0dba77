"""Accesses of global memory, compiled: global and flat instructions."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ..device.memory import Outside, gathered, scattered
from .access_names import index_scale, offset_of
from .active_lanes import ActiveLanes, load_registers, stored_words
from .atomics import atomic_access
from .local_steps import lds_access, scratch_access
from .operands import raw_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from .access_names import Access
    from .operands import Reader
    from .state import Group

__all__ = ["global_access", "global_addresses", "global_offsets", "global_step", "loaded_words"]


def global_addresses(instruction: DecodedInstruction, access: Access) -> Reader:
    """The 64-bit address of each lane: a register pair, or a scalar base and a 32-bit offset."""
    vector = instruction.sources[0]
    scalar = instruction.sources[-1] if len(instruction.sources) > 1 else None
    offset = np.uint64(offset_of(instruction) & (1 << 64) - 1)
    base: Reader | None = None
    if isinstance(scalar, RegisterOperand) and scalar.file not in ("off", "v", "a", "null") and scalar.count == 2:
        low, high = raw_reader(scalar), raw_reader(scalar, 1)
        base = lambda group: high(group).astype(np.uint64) << np.uint64(32) | low(group)  # noqa: E731
    if base is None:
        low_v, high_v = raw_reader(vector), raw_reader(vector, 1)
        return lambda group: (high_v(group).astype(np.uint64) << np.uint64(32) | low_v(group)) + offset
    start = base
    index, scale = raw_reader(vector), index_scale(instruction, access)
    if not isinstance(vector, RegisterOperand) or vector.file == "off":
        return lambda group: start(group) + offset
    if scale > 1:
        return lambda group: (
            start(group) + (index(group).view(np.int32).astype(np.int64) * scale).view(np.uint64) + offset
        )
    return lambda group: start(group) + index(group).astype(np.uint64) + offset


def global_step(instruction: DecodedInstruction, access: Access) -> Callable[[Group], None]:
    """The function of a global or flat instruction."""
    addresses = global_addresses(instruction, access)
    data = instruction.sources[1] if len(instruction.sources) > 1 else None
    flat = access.unit == "flat"

    def run(group: Group) -> None:
        found = addresses(group)
        if flat and _in_aperture(group, found):
            _flat(group, found, instruction, access, data)
            return
        lanes = ActiveLanes(group, found, access.size)
        global_access(group, lanes, instruction, access, data)

    return run


def global_access(group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access, data: Any) -> None:
    """An access of global memory by some lanes."""
    batch = group.batch
    memory = batch.memory
    offsets = global_offsets(group, lanes, instruction, access)
    if access.action == "load":
        load_registers(group, lanes, instruction, access, gathered(memory.data, offsets, access.size))
    elif access.action == "store":
        batch.uninitialised.check_stored(group, instruction, data, access)
        scattered(memory.data, offsets, access.size, stored_words(group, lanes, access, data))
    else:
        atomic_access(group, lanes, instruction, access, (memory.data, offsets, data))


def global_offsets(group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access) -> Array:
    """Where the accesses are in global memory; one that is outside of it stops the launch."""
    batch = group.batch
    try:
        offsets: Array = batch.memory.offsets(lanes.addresses, access.size, access.action != "load")
    except Outside as outside:
        batch.bounds.outside(group, instruction, access, outside, lanes)
    batch.moves.moved(access, len(offsets))
    return offsets


def loaded_words(group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access) -> list[Array]:
    """The words that a load of some lanes finds in global memory."""
    return gathered(group.batch.memory.data, global_offsets(group, lanes, instruction, access), access.size)


def _in_aperture(group: Group, addresses: Array) -> bool:
    whole = np.broadcast_to(addresses, (group.count, group.lanes))
    high = whole[group.active] >> np.uint64(48)
    return bool(high.any())


def _flat(group: Group, addresses: Array, instruction: DecodedInstruction, access: Access, data: Any) -> None:
    """A flat access of which some lanes are in LDS or scratch: each of the three by itself."""
    whole = np.broadcast_to(addresses, (group.count, group.lanes))
    # Of gfx1250 the lane's number is above: LLVM 22, "globally addressable scratch".
    kind = whole >> np.uint64(48) & np.uint64(15)
    before, active = group.mask, group.active
    try:
        for number in (0, 1, 2):
            mask = active & (kind == number)
            if not mask.any():
                continue
            group.mask = mask
            if number == 0:
                global_access(group, ActiveLanes(group, whole, access.size), instruction, access, data)
            elif number == 1:
                low = (whole & np.uint64(0xFFFFFFFF)).astype(np.int64)
                lds_access(group, ActiveLanes(group, low, access.size), instruction, access, data)
            else:
                low = (whole & np.uint64(0xFFFFFFFF)).astype(np.int64)
                scratch_access(group, ActiveLanes(group, low, access.size), instruction, access, data)
    finally:
        group.mask = before
