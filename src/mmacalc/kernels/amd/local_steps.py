"""Accesses of LDS and scratch, compiled."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ..device.memory import gathered, scattered
from .access_names import index_scale, offset_of
from .active_lanes import ActiveLanes, load_registers, stored_words
from .atomics import atomic_access
from .checks import LocalAccess
from .operands import raw_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from ..device.shared import PrivateMemory
    from .access_names import Access
    from .operands import Reader
    from .state import Group

__all__ = ["ds_step", "lds_access", "scratch_access", "scratch_step"]


def ds_step(instruction: DecodedInstruction, access: Access) -> Callable[[Group], None]:
    """The function of a DS instruction that loads, stores or computes."""
    address = raw_reader(instruction.sources[0])
    data = instruction.sources[1] if len(instruction.sources) > 1 else None
    modifiers = instruction.modifiers
    if access.pair:
        starts = [int(modifiers.get(name, 0)) * access.pair for name in ("offset0", "offset1")]
    else:
        starts = [offset_of(instruction)]

    def run(group: Group) -> None:
        base = address(group).astype(np.int64)
        results = []
        for number, start in enumerate(starts):
            lanes = ActiveLanes(group, base + start & 0xFFFFFFFF, access.size)  # the sum has 32 bits
            operand = instruction.sources[1 + number] if access.pair and access.action == "store" else data
            words = lds_access(group, lanes, instruction, access, operand, delayed=access.pair > 0)
            results.append((lanes, words))
        if access.pair and access.action == "load":  # both are read before either register is written
            for number, (lanes, words) in enumerate(results):
                if words is not None:
                    load_registers(group, lanes, instruction, access, words, number * (access.size // 4))

    return run


def lds_access(
    group: Group,
    lanes: ActiveLanes,
    instruction: DecodedInstruction,
    access: Access,
    data: Any,
    delayed: bool = False,
) -> list[Array] | None:
    """An access of LDS; what a load finds is returned if `delayed`, else written."""
    batch = group.batch
    lds = batch.lds
    addresses = lanes.addresses
    if len(addresses) and (int(addresses.max()) + access.size > lds.size or int(addresses.min()) < 0):
        return _partly_outside(group, lanes, instruction, access, data, delayed)
    rows, _ = lanes.lanes()
    offsets = addresses + batch.waves.workgroup_of[rows] * lds.stride
    if access.action == "load":
        batch.accessed(LocalAccess(group, lanes, instruction, access, "read", offsets, rows, None, False))
        words = gathered(lds.data, offsets, access.size)
        batch.uninitialised.loaded(group, lanes, lds.undefined_at(offsets, access.size), "LDS")
        if delayed:
            return words
        load_registers(group, lanes, instruction, access, words)
    elif access.action == "store":
        words = stored_words(group, lanes, access, data)
        batch.accessed(LocalAccess(group, lanes, instruction, access, "write", offsets, rows, words, False))
        scattered(lds.data, offsets, access.size, words)
        lds.note_stored(offsets, access.size, _stored(group, lanes, data))
    else:
        kind = "compare-and-swap" if "cmp" in access.action else "atomic"
        batch.accessed(LocalAccess(group, lanes, instruction, access, kind, offsets, rows, None, False))
        _local_atomic(group, lanes, instruction, access, (lds, offsets, data, "LDS"))
    return None


def _partly_outside(
    group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access, data: Any, delayed: bool
) -> list[Array] | None:
    """As `lds_access`, where some lanes are far outside of LDS: these load zeros, and what they store is dropped."""
    far = lanes.spread(group.batch.bounds.far_outside_lds(group, instruction, access, lanes))
    whole, before, active = lanes.spread(lanes.addresses), group.mask, group.active
    words: list[Array] | None = None
    zeros = [np.zeros((group.count, group.lanes), np.uint32)] * max(1, access.size // 4)
    loads = access.action == "load"
    try:
        group.mask = active & ~far
        inside = ActiveLanes(group, whole, access.size)
        if len(inside.addresses):
            words = lds_access(group, inside, instruction, access, data, delayed=loads)
        if not loads and instruction.destinations:  # what an atomic operation returns
            group.mask = active & far
            outside = ActiveLanes(group, whole, access.size)
            load_registers(group, outside, instruction, access, [outside.gather(word) for word in zeros])
    finally:
        group.mask = before
    if not loads:
        return None
    found = [lanes.gather(word) for word in (zeros if words is None else [inside.spread(word) for word in words])]
    if delayed:
        return found
    load_registers(group, lanes, instruction, access, found)
    return None


def _local_atomic(
    group: Group,
    lanes: ActiveLanes,
    instruction: DecodedInstruction,
    access: Access,
    where: tuple[PrivateMemory, Array, Any, str],
) -> None:
    """An atomic operation on LDS or scratch; `where`: the memory, the offsets, the operand, what it is called.

    What it returns is undefined where the memory was. What it leaves is undefined where the memory or an operand was;
    an exchange leaves its operand.
    """
    memory, offsets, data, name = where
    if instruction.destinations:
        group.batch.uninitialised.loaded(group, lanes, memory.undefined_at(offsets, access.size), name)
    operands = instruction.sources[1:] if access.unit == "ds" else (data,)
    for operand in operands:
        undefined = _stored(group, lanes, operand)
        if access.action == "swap":
            memory.note_stored(offsets, access.size, undefined)
        elif undefined is not None:
            memory.note_stored(offsets[undefined], access.size, np.ones(int(undefined.sum()), np.bool_))
    atomic_access(group, lanes, instruction, access, (memory.data, offsets, data))


def _stored(group: Group, lanes: ActiveLanes, data: Any) -> Array | None:
    """Which accesses store an undefined value; None if none does."""
    found = group.batch.uninitialised.stored(group, data)
    return None if found is None else lanes.gather(found)


def scratch_step(instruction: DecodedInstruction, access: Access) -> Callable[[Group], None]:
    """The function of a scratch instruction."""
    vector = instruction.sources[0]
    scalar = instruction.sources[-1] if len(instruction.sources) > 1 else None
    data = instruction.sources[1] if len(instruction.sources) > 2 else None
    offset, scale = offset_of(instruction), index_scale(instruction, access)
    terms: list[Reader] = []
    if isinstance(vector, RegisterOperand) and vector.file != "off":
        index = raw_reader(vector)
        terms.append(lambda group: index(group).view(np.int32).astype(np.int64) * scale)
    if scalar is not None and not (isinstance(scalar, RegisterOperand) and scalar.file in ("off", "null", "v", "a")):
        base = raw_reader(scalar)
        terms.append(lambda group: base(group).view(np.int32).astype(np.int64))

    def run(group: Group) -> None:
        where: Array = np.full((1, 1), offset, np.int64)
        for term in terms:
            where = where + term(group)
        scratch_access(group, ActiveLanes(group, where, access.size), instruction, access, data)

    return run


def scratch_access(
    group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access, data: Any
) -> None:
    """An access of scratch by some lanes."""
    batch = group.batch
    scratch = batch.scratch
    addresses = lanes.addresses
    if len(addresses) and (int(addresses.max()) + access.size > scratch.size or int(addresses.min()) < 0):
        batch.bounds.outside_scratch(instruction, access, lanes)
    rows, columns = lanes.lanes()
    offsets = addresses + (rows * group.lanes + columns) * scratch.stride
    if access.action == "load":
        words = gathered(scratch.data, offsets, access.size)
        if access.size < 4:
            batch.uninitialised.loaded(group, lanes, scratch.undefined_at(offsets, access.size), "scratch")
        else:
            batch.uninitialised.loaded_bits(
                group, lanes, gathered(scratch.undefined, offsets, access.size), instruction
            )
        load_registers(group, lanes, instruction, access, words)
    elif access.action == "store":
        scattered(scratch.data, offsets, access.size, stored_words(group, lanes, access, data))
        bits = batch.uninitialised.stored_bits(data)
        if bits is None or access.size < 4:
            scratch.note_stored(offsets, access.size, _stored(group, lanes, data))
        else:  # compilers keep masks of lanes there that are defined in some
            scattered(scratch.undefined, offsets, access.size, [lanes.gather(group.undefined(one)) for one in bits])
    else:
        _local_atomic(group, lanes, instruction, access, (scratch, offsets, data, "scratch"))
