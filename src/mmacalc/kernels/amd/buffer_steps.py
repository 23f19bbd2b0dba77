"""Accesses through resource descriptors (buffer instructions), compiled."""

from __future__ import annotations

import numpy as np

from .access_names import offset_of
from .active_lanes import ActiveLanes, load_registers
from .global_steps import global_access, loaded_words
from .local_steps import scratch_access
from .operands import raw_reader
from .target import SCRATCH_RESOURCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from .access_names import Access
    from .state import Group
    from .target import MachineTarget

__all__ = ["buffer_places", "buffer_step", "resource_fields", "words_within"]


def resource_fields(resource: Any, target: MachineTarget) -> Callable[[Group], tuple[Array, Array, Array]]:
    """Base, stride and number of records of a resource descriptor.

    Source: CDNA3 ISA guide, "Buffer resource descriptor"; of gfx1250 LLVM pull request 159702.
    """
    words = [raw_reader(resource, number) for number in range(4)]

    def pairs(group: Group) -> tuple[Array, Array]:
        low, next_, third, high = (word(group).astype(np.uint64) for word in words)
        return low | next_ << np.uint64(32), third | high << np.uint64(32)

    def usual(group: Group) -> tuple[Array, Array, Array]:
        low, high = pairs(group)
        return _bits(low, 0, 48), _bits(low, 48, 14), _bits(high, 0, 32)

    def long_records(group: Group) -> tuple[Array, Array, Array]:
        low, high = pairs(group)
        return _bits(low, 0, 57), _bits(high, 44, 14), _bits(low, 57, 7) | _bits(high, 0, 38) << np.uint64(7)

    return long_records if target.long_records else usual


def _bits(word: Array, lowest: int, width: int) -> Array:
    found: Array = word >> np.uint64(lowest) & np.uint64((1 << width) - 1)
    return found


def buffer_places(
    operands: Sequence[Any], instruction: DecodedInstruction, access: Access, target: MachineTarget
) -> Callable[[Group], tuple[Array, list[Array]]]:
    """Of each lane the address, and whether it is within the resource, for each word; of scratch the offset, and none.

    Atomic operations are within as a whole, other accesses word by word (RDNA3 ISA guide, "Range checking"; LLVM,
    AMDGPU usage, "Relaxed buffer OOB mode"). Without a stride SOFFSET counts too.

    Args:
        operands: VADDR, the resource, SOFFSET.
    """
    ends = range(4, access.size + 1, 4) if access.size > 4 and access.action in ("load", "store") else [access.size]
    vector, resource, scalar = operands[:3]
    modifiers = instruction.modifiers
    index_on, offset_on = bool(modifiers.get("idxen")), bool(modifiers.get("offen"))
    fields = resource_fields(resource, target)
    start = raw_reader(scalar)
    offset = offset_of(instruction)

    def places(group: Group) -> tuple[Array, list[Array]]:
        base, stride, records = fields(group)
        soffset = start(group).astype(np.int64)
        inside: Array = np.full((1, 1), offset, np.int64)
        if offset_on:
            inside = inside + raw_reader(vector, int(index_on))(group).astype(np.int64)
        if (base == SCRATCH_RESOURCE).all():
            return inside + soffset // group.lanes, []
        stride, records = stride.astype(np.int64), records.astype(np.int64)
        index = raw_reader(vector)(group).astype(np.int64) if index_on else np.zeros((1, 1), np.int64)
        within = [np.where(stride == 0, inside + soffset + end <= records, index < records) for end in ends]
        return base + (index * stride + inside + soffset).view(np.uint64), within

    return places


def buffer_step(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    """MUBUF and VBUFFER with a raw or a structured resource; the one of scratch by its base."""
    operands = list(instruction.sources)
    data = operands.pop(0) if access.action != "load" else None
    places = buffer_places(operands, instruction, access, target)

    def run(group: Group) -> None:
        where, within = places(group)
        if within:
            _buffer_access(group, instruction, access, data, (where, within))
        else:
            scratch_access(group, ActiveLanes(group, where, access.size), instruction, access, data)

    return run


def _buffer_access(
    group: Group, instruction: DecodedInstruction, access: Access, data: Any, where: tuple[Array, list[Array]]
) -> None:
    """Words beyond the resource are loaded as zeros and not stored, which the hardware defines."""
    addresses, within = where
    lanes = ActiveLanes(group, addresses, access.size)
    if all(np.broadcast_to(one, (group.count, group.lanes))[group.active].all() for one in within):
        global_access(group, lanes, instruction, access, data)
        return
    if access.action == "load":
        words = words_within(group, where, instruction, access)
        load_registers(group, lanes, instruction, access, [lanes.gather(word) for word in words])
        return
    for number, (lanes, one) in enumerate(_parts(group, where, access)):
        part = data if len(within) == 1 else data._replace(index=data[1] + number, count=1, bits=32)
        global_access(group, lanes, instruction, one, part)


def _parts(group: Group, where: tuple[Array, list[Array]], access: Access) -> Iterator[tuple[ActiveLanes, Access]]:
    """The access of each word, or of the whole, by the lanes that are within the resource there: EXEC meanwhile."""
    (addresses, within), before = where, group.mask
    one = access if len(within) == 1 else access._replace(size=4)
    for number, inside in enumerate(within):
        group.mask = group.active & inside
        yield ActiveLanes(group, addresses + np.uint64(4 * number), one.size), one
        group.mask = before


def words_within(
    group: Group, where: tuple[Array, list[Array]], instruction: DecodedInstruction, access: Access
) -> list[Array]:
    """The words that a load finds, of every lane; zeros beyond the resource."""
    return [
        lanes.spread(word)
        for lanes, one in _parts(group, where, access)
        for word in loaded_words(group, lanes, instruction, one)
    ]
