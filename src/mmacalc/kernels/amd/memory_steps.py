"""Memory instructions, compiled: where each takes its addresses from, and which access of `memory` it makes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...asm.decoded import ConstantOperand, RegisterOperand
from ...base.errors import Error
from ...memory_access.transpose_loads import transpose_loads
from ..device.memory import Outside, gathered, scattered
from .checks import LocalAccess
from .clusters import CLUSTER_LOADS, shared_load
from .local_access import LocalMove
from .memory import (
    Access,
    ActiveLanes,
    atomic_words,
    extended,
    global_access,
    global_offsets,
    index_scale,
    lds_access,
    load_registers,
    loaded_words,
    offset_of,
    scratch_access,
)
from .operands import raw_reader, scalar_row
from .state import M0
from .target import SCRATCH_RESOURCE
from .tensor_copies import tensor_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ...memory_access.transpose_loads import TransposeLoad
    from .memory import Access
    from .operands import Data, Operand, Reader
    from .state import Group
    from .target import MachineTarget

    Places = Callable[[Group], tuple[Array, Array | None]]

__all__ = ["local_moves", "memory_step", "transposing_access"]

# --- global and flat instructions ---


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


def _in_aperture(group: Group, addresses: Array) -> bool:
    whole = np.broadcast_to(addresses, (group.count, group.lanes))
    high = whole[group.active] >> np.uint64(48)
    return bool(high.any())


def _flat(group: Group, addresses: Array, instruction: DecodedInstruction, access: Access, data: Data) -> None:
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


# --- buffer instructions: through resource descriptors ---


def resource_fields(resource: Operand, target: MachineTarget) -> Callable[[Group], tuple[Array, Array, Array]]:
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
    operands: Sequence[Operand], instruction: DecodedInstruction, access: Access, target: MachineTarget
) -> Callable[[Group], tuple[Array, list[Array]]]:
    """Of each lane the address, and whether it is within the resource, for each word; of scratch the offset, and none.

    Atomic operations are within as a whole, other accesses word by word (RDNA3 ISA guide, "Range checking"; LLVM,
    AMDGPU usage, "Relaxed buffer OOB mode"). Without a stride, and on gfx9 without an index, records are bytes, and
    SOFFSET counts too (PAL, gfx9Device.cpp, CalcNumRecords: structured or not is the instruction's; LLVM, AMDGPU.td:
    "On GFX9 IDXEN matters for interpretation of buffer sizes").

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
    by_bytes = target.generation == "gfx9" and not index_on

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
        raw = (stride == 0) | by_bytes
        within = [np.where(raw, inside + soffset + end <= records, index < records) for end in ends]
        return base + (index * stride + inside + soffset).view(np.uint64), within

    return places


def _operands_and_data(instruction: DecodedInstruction, access: Access) -> tuple[list[Operand], Operand | None]:
    """The sources that say the address, and what is stored: the first, or the last of an atomic operation that returns,
    since the register is also its destination; None of a load."""
    operands = list(instruction.sources)
    if access.action == "load":
        return operands, None
    return operands, operands.pop(-1 if instruction.destinations else 0)


def buffer_step(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    """MUBUF and VBUFFER with a raw or a structured resource; the one of scratch by its base."""
    operands, data = _operands_and_data(instruction, access)
    places = buffer_places(operands, instruction, access, target)

    def run(group: Group) -> None:
        where, within = places(group)
        if within:
            _buffer_access(group, instruction, access, data, (where, within))
        else:
            scratch_access(group, ActiveLanes(group, where, access.size), instruction, access, data)

    return run


def _buffer_access(
    group: Group,
    instruction: DecodedInstruction,
    access: Access,
    data: Data,
    where: tuple[Array, list[Array]],
) -> None:
    """Words beyond the resource are loaded as zeros and not stored, which the hardware defines; atomic operations
    return zeros there (RDNA3 ISA guide, "Range checking": reads give zero, atomics are in or out as a whole)."""
    addresses, within = where
    lanes = ActiveLanes(group, addresses, access.size)
    if all(np.broadcast_to(one, (group.count, group.lanes))[group.active].all() for one in within):
        global_access(group, lanes, instruction, access, data)
        return
    if access.action == "load":
        words = words_within(group, where, instruction, access)
        load_registers(group, lanes, instruction, access, [lanes.gather(word) for word in words])
        return
    assert isinstance(data, RegisterOperand)
    if instruction.destinations:
        _return_zeros(group, instruction, access, where)
    for number, (lanes, one) in enumerate(_parts(group, where, access)):
        part = data if one.size == access.size else data._replace(index=data[1] + number, count=1, bits=32)
        global_access(group, lanes, instruction, one, part)


def _return_zeros(
    group: Group, instruction: DecodedInstruction, access: Access, where: tuple[Array, list[Array]]
) -> None:
    """What an atomic operation returns to lanes that are outside of the resource."""
    (addresses, within), before = where, group.mask
    group.mask = group.active & ~within[0]
    lanes = ActiveLanes(group, addresses, access.size)
    zeros = np.zeros(len(lanes.addresses), np.uint32)
    load_registers(group, lanes, instruction, access, [zeros] * (access.size // 4))
    group.mask = before


def _parts(group: Group, where: tuple[Array, list[Array]], access: Access) -> Iterator[tuple[ActiveLanes, Access]]:
    """The access of each word, or of the whole, by the lanes that are within the resource there: EXEC meanwhile."""
    (addresses, within), before = where, group.mask
    if all(np.array_equal(one & group.active, within[0] & group.active) for one in within[1:]):
        within = within[:1]  # each lane has all of its words within, or none: one access
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


# --- LDS and scratch ---


def _local_parts(instruction: DecodedInstruction, access: Access) -> list[tuple[int, Data, int]]:
    """The accesses of a DS instruction: the offset of each, what it stores, and which register of the destination it
    loads first."""
    data = instruction.sources[1] if len(instruction.sources) > 1 else None
    if not access.pair:
        return [(offset_of(instruction), data, 0)]
    both = access.action == "store"
    return [
        (int(instruction.modifiers.get(name, 0)) * access.pair, instruction.sources[1 + number] if both else data,
         0 if both else number * access.size // 4) for number, name in enumerate(("offset0", "offset1"))
    ]  # fmt: skip


def local_moves(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> tuple[LocalMove, ...]:
    """The accesses of a DS instruction, if the core can carry out all of them; else none."""
    if access.transposes:
        load, move = _transpose_load(instruction.name, target), None
        if load is not None:
            move = LocalMove.of(instruction, access, offset_of(instruction), None, 0)
        if load is None or move is None:
            return ()
        lanes, items = _transpose_sources(load, target.wave)
        move.transposes = load.bits, np.ascontiguousarray(lanes * 8 * access.size + items * load.bits, np.int32)
        return (move,)
    parts = _local_parts(instruction, access)
    found = [LocalMove.of(instruction, access, start, data, first) for start, data, first in parts]
    moves = tuple([one for one in found if one is not None])
    return moves if len(moves) == len(found) else ()


def ds_step(instruction: DecodedInstruction, access: Access) -> Callable[..., None]:
    """The function of a DS instruction that loads, stores or computes; of its accesses those from `begin` on."""
    address, parts = raw_reader(instruction.sources[0]), _local_parts(instruction, access)

    def run(group: Group, begin: int = 0) -> None:
        results = []
        for start, data, first in parts[begin:]:
            base = address(group).astype(np.int64)
            lanes = ActiveLanes(group, base + start & 0xFFFFFFFF, access.size)  # the sum has 32 bits
            words = lds_access(group, lanes, instruction, access, data, delayed=access.pair > 0)
            results.append((first, lanes, words))
        if access.pair and access.action == "load":  # both are read before either register is written
            for first, lanes, words in results:
                if words is not None:
                    load_registers(group, lanes, instruction, access, words, first)

    return run


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


# --- between memory and LDS ---


def load_to_lds(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    """Lane n's data to M0 + offset + n times the size, at least four bytes; the offset counts in memory too.

    The asynchronous loads of gfx1250 have an address in LDS for each lane (LLVM 22, global.load.async.to.lds).
    Beyond the records of a buffer resource a lane loads zeros. Source: CDNA3 ISA guide, "Memory buffer load to LDS";
    of the offset also LLVM 22, llvm.amdgcn.raw.ptr.buffer.load.lds.

    Raises:
        Error: neither a global nor a buffer load.
    """
    if access.unit not in ("global", "buffer") or access.action != "load":
        raise Error(f"{instruction.name} to LDS is not covered")
    named = [source for source in instruction.sources if source != RegisterOperand("m0", 0, 1)]
    own = raw_reader(named.pop(0)) if access.asynchronous else None
    plain = instruction._replace(sources=tuple(named))  # as of a load into registers; it has no text
    if access.unit == "buffer":
        places = buffer_places(plain.sources, plain, access, target)
    else:
        addresses, everywhere = global_addresses(plain, access), np.ones((1, 1), np.bool_)
        places = lambda group: (addresses(group), [everywhere])  # noqa: E731
    offset, size = offset_of(instruction), access.size if own else max(4, access.size)

    def run(group: Group) -> None:
        batch, (where, within) = group.batch, places(group)
        lanes = ActiveLanes(group, where, access.size)
        rows, columns = lanes.lanes()
        if own is None:
            starts = batch.registers.s[M0][rows].astype(np.int64) + offset + columns * size
        else:
            starts = lanes.gather(own(group)).astype(np.int64) + offset & 0xFFFFFFFF
        if len(starts) and int(starts.max()) + size > batch.lds.size:
            into = ActiveLanes(group, lanes.spread(starts), size)
            far, before = into.spread(batch.bounds.far_outside_lds(group, instruction, access, into)), group.mask
            group.mask = group.active & ~far
            try:
                run(group)
            finally:
                group.mask = before
            return
        found = [extended(word, access) for word in words_within(group, (where, within), instruction, access)]
        offsets = starts + batch.waves.workgroup_of[rows] * batch.lds.stride
        words = [lanes.gather(word) for word in found]
        into = ActiveLanes(group, lanes.spread(starts), size)
        batch.accessed(LocalAccess(group, into, instruction, access, "write", offsets, rows, words, True))
        scattered(batch.lds.data, offsets, size, words)
        batch.lds.note_stored(offsets, size)

    return run


def store_from_lds(instruction: DecodedInstruction, access: Access) -> Callable[[Group], None]:
    """GLOBAL_STORE_ASYNC_FROM_LDS_* of gfx1250: bytes of LDS at an address of each lane to memory.

    The offset counts in both (LLVM 22, llvm.amdgcn.global.store.async.from.lds). LDS is read here when the instruction
    issues; what overwrites it before ASYNCCNT is waited for is found (`Waits.accessed`).
    """
    sources = instruction.sources
    local, offset = raw_reader(sources[1]), offset_of(instruction)
    addresses = global_addresses(instruction._replace(sources=(sources[0], *sources[2:])), access)
    loading = access._replace(unit="ds", action="load")

    def run(group: Group) -> None:
        batch, where = group.batch, addresses(group)
        inside = ActiveLanes(group, local(group).astype(np.int64) + offset & 0xFFFFFFFF, access.size)
        words = lds_access(group, inside, instruction, loading, None, delayed=True)
        if words is None:
            return
        rows, _ = inside.lanes()
        offsets = inside.addresses + batch.waves.workgroup_of[rows] * batch.lds.stride
        if (wrong := batch.lds.undefined_at(offsets, access.size)) is not None:
            text = "it stores bytes of LDS that nothing has written"
            batch.reporter.find("uninitialised", group.numbers(), instruction, text, inside.spread(wrong))
        lanes = ActiveLanes(group, where, access.size)
        scattered(batch.memory.data, global_offsets(group, lanes, instruction, access), access.size, words)

    return run


# --- loads that transpose ---


def _transpose_load(name: str, target: MachineTarget) -> TransposeLoad | None:
    for load in transpose_loads(target.name):
        if name in (load.name, *load.aliases):
            return load
    return None


def transposing_access(name: str, target: MachineTarget) -> Access | None:
    """The access of a transposing load; None of other instructions.

    Raises:
        Error: its layout, or that of this wave size, is not published.
    """
    load = _transpose_load(name, target) if "_tr" in name else None
    if load is None:
        return None
    if "unconfirmed" in (load.received_by, load.fetched_by):
        raise Error(f"{name} is not covered: {load.caveats}")
    if target.generation == "gfx12" and target.wave == 64:
        raise Error(f"{name} in wave64 is not covered: it was measured in wave32 only")
    return Access("ds" if load.memory == "LDS" else "global", "load", 4 * load.registers, transposes=True)


def transposing_step(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    """The function of a transposing load."""
    load = _transpose_load(instruction.name, target)
    assert load is not None
    lanes_from, items_from = _transpose_sources(load, target.wave)
    destination = instruction.destinations[0]
    local = access.unit == "ds"
    base, offset = raw_reader(instruction.sources[0]), offset_of(instruction)
    addresses = None if local else global_addresses(instruction, access)

    def run(group: Group, begin: int = 0) -> None:
        if group.mask is not None:
            text = "runs while lanes are inactive, whose part of the tile is then undefined"
            group.batch.reporter.find("exec", group.numbers(), instruction, text, ~group.mask)
        if addresses is None:
            lanes = ActiveLanes(group, base(group).astype(np.int64) + offset & 0xFFFFFFFF, access.size)
            words = lds_access(group, lanes, instruction, access, None, delayed=True)
        else:
            lanes = ActiveLanes(group, addresses(group), access.size)
            words = loaded_words(group, lanes, instruction, access)
        if words is None:
            return
        table = np.stack([lanes.spread(word) for word in words], axis=-1)
        bits = np.unpackbits(table.view(np.uint8), axis=-1, bitorder="little")
        elements = bits.reshape(*table.shape[:2], load.elements, load.bits)[:, lanes_from, items_from]
        packed = np.packbits(elements.reshape(*table.shape[:2], -1), axis=-1, bitorder="little").view(np.uint32)
        for number in range(load.registers):
            group.write(group.registers.file(destination), destination[1] + number, packed[..., number])

    return run


@lru_cache(maxsize=64)
def _transpose_sources(load: TransposeLoad, wave: int) -> tuple[Array, Array]:
    """Of each lane and each slot of its registers, the lane whose address fetches the element, and where there."""
    received, fetched = load.lane_receives, load.lane_fetches
    lanes = np.zeros((wave, load.elements), np.int64)
    items = np.zeros((wave, load.elements), np.int64)
    for lane in range(wave):
        start, place = lane // load.lanes * load.lanes, lane % load.lanes
        for slot in range(load.elements):
            (element,) = received.contents((place, slot))
            ((lane_from, item),) = fetched.locate(dict(zip(("k", "i"), element)))
            lanes[lane, slot], items[lane, slot] = start + lane_from, item
    lanes.setflags(write=False)
    items.setflags(write=False)
    return lanes, items


# --- scalar accesses ---


def scalar_step(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    """The function of a scalar access.

    Through a resource each 32-bit word beyond its records is loaded as 0, and neither stored nor changed (CDNA3 ISA
    guide, section 8.2; RDNA3 ISA guide, section 8.2.2).
    """
    sources, data = _operands_and_data(instruction, access)
    places = _scalar_places(sources, instruction, access, target)
    if access.action == "load":
        return _scalar_load(instruction, access, places)
    return _scalar_change(instruction, access, places, data)


def _scalar_places(
    sources: list[Operand], instruction: DecodedInstruction, access: Access, target: MachineTarget
) -> Places:
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
        where = np.broadcast_to(start + within.view(np.uint64), (group.count, 1))[:, 0]
        if access.action not in ("load", "store"):
            group.batch.alignment.scalar_atomic(group, instruction, access, where)
        elif access.size >= 4:
            group.batch.alignment.scalar(group, instruction, access, where)
            where = where & ~np.uint64(3)
        return where, room

    return places


def _scalar_offsets(group: Group, where: Array, size: int, instruction: DecodedInstruction, access: Access) -> Array:
    """Where addresses are in global memory; one that is outside of it stops the launch.

    LLVM makes an aligned scalar load of 4 bytes of one of 1 or 2 (AMDGPULateCodeGenPrepare).
    """
    try:
        found: Array = group.batch.memory.offsets(where, size, access.action != "load", access.action == "load")
    except Outside as outside:
        group.batch.bounds.outside(group, instruction, access, outside, None)
    return found


def _scalar_load(instruction: DecodedInstruction, access: Access, places: Places) -> Callable[[Group], None]:
    row = scalar_row(instruction.destinations[0])
    unit = min(access.size, 4)

    def run(group: Group) -> None:
        where, room = places(group)
        data, races = group.batch.memory.data, group.batch.grid_races
        if room is None or (room >= access.size).all():
            offsets = _scalar_offsets(group, where, access.size, instruction, access)
            races.scalar(group, instruction, access, (group.numbers(), offsets, access.size))
            words = gathered(data, offsets, access.size)
        else:
            words = []
            for at in range(0, access.size, unit):
                inside, word = room >= at + unit, np.zeros(group.count, np.uint32)
                there = _scalar_offsets(group, where[inside] + np.uint64(at), unit, instruction, access)
                races.scalar(group, instruction, access, (group.numbers()[inside], there, unit))
                word[inside] = gathered(data, there, unit)[0]
                words.append(word)
        for number, word in enumerate(words):
            group.write_scalar(row + number, extended(word, access))

    return run


def _scalar_change(
    instruction: DecodedInstruction, access: Access, places: Places, data: Data
) -> Callable[[Group], None]:
    """A store or an atomic operation, of the waves whose whole access is within the resource."""
    assert data is not None
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
        offsets = _scalar_offsets(group, where[inside], access.size, instruction, access)
        stored = values if access.action == "store" else None
        group.batch.grid_races.scalar(
            group, instruction, access, (group.numbers()[inside], offsets, access.size), stored
        )
        if access.action == "store":
            scattered(memory.data, offsets, access.size, values)
            return
        returns = row is not None
        found = atomic_words(memory.data, offsets, access.action, access.kind, values[:count], values[count:], returns)
        for number in range(count if found is not None and row is not None else 0):
            word = np.zeros(group.count, np.uint32)
            word[inside] = found[number] if found is not None else 0
            group.write_scalar((row or 0) + number, word)

    return run


# --- all of them ---


def memory_step(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    """The function that executes a memory instruction."""
    if instruction.name.startswith(CLUSTER_LOADS):
        plain = instruction._replace(sources=instruction.sources[:-1])  # without the mask
        return shared_load(instruction, _step(plain, access, target))
    return _step(instruction, access, target)


def _step(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    if access.unit != "tensor" and (access.to_lds or instruction.modifiers.get("lds")):
        return load_to_lds(instruction, access, target)
    if access.unit == "tensor":
        return tensor_step(instruction, access)
    if access.asynchronous and access.unit != "ds":
        return store_from_lds(instruction, access)
    if access.transposes:
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
