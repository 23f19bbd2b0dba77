"""Scalar accesses of memory, compiled: S_LOAD, S_STORE, S_ATOMIC, and those through a resource (S_BUFFER_*)."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import ConstantOperand, RegisterOperand
from ..device.memory import Outside, gathered, scattered
from . import atomics
from .access_names import index_scale, offset_of
from .active_lanes import extended
from .buffer_steps import resource_fields
from .operands import raw_reader, scalar_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from .access_names import Access
    from .state import Group
    from .target import MachineTarget

    Places = Callable[[Group], tuple[Array, Array | None]]

__all__ = ["scalar_step"]


def scalar_step(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    """The function of a scalar access.

    Through a resource each 32-bit word beyond its records is loaded as 0, and neither stored nor changed (CDNA3 ISA
    guide, section 8.2; RDNA3 ISA guide, section 8.2.2).
    """
    sources = list(instruction.sources)
    data = sources.pop(0) if access.action == "store" or not instruction.destinations else None
    if data is None and access.action != "load":  # an atomic operation that returns: the data are last, being kept
        data = sources.pop()
    places = _places(sources, instruction, access, target)
    if access.action == "load":
        return _load(instruction, access, places)
    return _change(instruction, access, places, data)


def _places(sources: list[Any], instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Places:
    """The address of each wave, and through a resource how many bytes from there are within it."""
    base, *rest = sources
    offset, scale = offset_of(instruction), index_scale(instruction, access)
    named = rest[0] if rest else None
    constant = named.bits if isinstance(named, ConstantOperand) else 0
    by_register = isinstance(named, RegisterOperand) and named.file not in ("off", "null")
    index = raw_reader(named) if by_register and named is not None else None
    low, high = raw_reader(base), raw_reader(base, 1)
    fields = resource_fields(base, target) if access.unit == "scalar buffer" else None

    def places(group: Group) -> tuple[Array, Array | None]:
        within: Array = np.full((group.count, 1), offset + constant, np.int64)
        if index is not None:
            within = within + index(group).astype(np.int64) * scale
        if fields is None:
            start = high(group).astype(np.uint64) << np.uint64(32) | low(group)
            room = None
        else:
            start, stride, records = fields(group)
            size = np.where(stride == 0, records, stride * records).astype(np.int64)
            room = np.broadcast_to(np.where(within < 0, 0, size - within), (group.count, 1))[:, 0]
        where = start + within.view(np.uint64)
        if access.size >= 4:
            where = where & ~np.uint64(3)
        return np.broadcast_to(where, (group.count, 1))[:, 0], room

    return places


def _offsets(group: Group, where: Array, size: int, instruction: DecodedInstruction, access: Access) -> Array:
    """Where addresses are in global memory; one that is outside of it stops the launch."""
    try:
        found: Array = group.batch.memory.offsets(where, size, access.action != "load")
    except Outside as outside:
        group.batch.bounds.outside(group, instruction, access, outside, None)
    return found


def _load(instruction: DecodedInstruction, access: Access, places: Places) -> Callable[[Group], None]:
    row = scalar_row(instruction.destinations[0])
    unit = min(access.size, 4)

    def run(group: Group) -> None:
        where, room = places(group)
        data = group.batch.memory.data
        if room is None or (room >= access.size).all():
            words = gathered(data, _offsets(group, where, access.size, instruction, access), access.size)
        else:
            words = []
            for at in range(0, access.size, unit):
                inside, word = room >= at + unit, np.zeros(group.count, np.uint32)
                there = _offsets(group, where[inside] + np.uint64(at), unit, instruction, access)
                word[inside] = gathered(data, there, unit)[0]
                words.append(word)
        for number, word in enumerate(words):
            group.write_scalar(row + number, extended(word, access))

    return run


def _change(instruction: DecodedInstruction, access: Access, places: Places, data: Any) -> Callable[[Group], None]:
    """A store or an atomic operation, of the waves whose whole access is within the resource."""
    compares = access.action in ("cmpswap", "fcmpswap")
    count = access.size // 4
    reads = [raw_reader(data, number) for number in range(2 * count if compares else count)]
    row = scalar_row(instruction.destinations[0]) if instruction.destinations else None

    def run(group: Group) -> None:
        where, room = places(group)
        inside = np.ones(group.count, np.bool_) if room is None else room >= access.size
        memory = group.batch.memory
        group.batch.uninitialised.check_stored(group, instruction, data, access)
        values = [np.broadcast_to(read(group)[:, 0], (group.count,))[inside] for read in reads]
        offsets = _offsets(group, where[inside], access.size, instruction, access)
        if access.action == "store":
            scattered(memory.data, offsets, access.size, values)
            return
        returns = row is not None
        found = atomics.apply(memory.data, offsets, access.action, access.kind, values[:count], values[count:], returns)
        for number in range(count if found is not None and row is not None else 0):
            word = np.zeros(group.count, np.uint32)
            word[inside] = found[number] if found is not None else 0
            group.write_scalar((row or 0) + number, word)

    return run
