"""Loads from memory into LDS, compiled: GLOBAL_LOAD_LDS_*, GLOBAL_LOAD_ASYNC_TO_LDS_*, buffer loads with LDS set; and
stores from LDS into memory, GLOBAL_STORE_ASYNC_FROM_LDS_*."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ...errors import Error
from ..device.memory import scattered
from .access_names import offset_of
from .active_lanes import ActiveLanes, extended
from .buffer_steps import buffer_places, words_within
from .checks import LocalAccess
from .global_steps import global_addresses, global_offsets
from .local_steps import lds_access
from .operands import raw_reader
from .state import M0

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...asm.decoded import DecodedInstruction
    from .access_names import Access
    from .state import Group
    from .target import MachineTarget

__all__ = ["load_to_lds", "store_from_lds"]


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
    own = raw_reader(named.pop(0)) if "_async_" in instruction.name else None
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

    The offset counts in both (LLVM 22, llvm.amdgcn.global.store.async.from.lds). LDS is read when the instruction
    issues: that something overwrites it before ASYNCCNT is waited for is not found.
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
