"""Barriers in LDS of gfx1250: 64 bits that lanes and copies arrive at.

Bits 28 to 0 are the arrivals that are still pending, less one; bits 31 to 29 the phase; bits 63 to 32 what is pending
when a phase begins. An arrival takes from the pending ones; the one behind the last pending one borrows from the phase,
which so goes down by one and around, and what is pending begins anew. A kernel initialises a barrier by a plain store,
and waits by loading it until the phase is another.

DS_ATOMIC_BARRIER_ARRIVE_RTN_B64 follows what its wave has done in LDS before. DS_ATOMIC_ASYNC_BARRIER_ARRIVE_B64 counts
for one of each lane, is counted by ASYNCCNT, and happens when the asynchronous loads that its wave has issued before
are in LDS; a tensor copy whose descriptor says so arrives when it ends, and those before it of its wave have ended.
That orders them before what a wave does behind the load that shows it the end of the phase; other copies only where
their wave has waited for them before it arrives (`mmacalc.kernels.device.ordered_races`). What a wave has stored and
loaded itself counts as released by its copies' arrivals, too, though no text says so.

Sources: CDNA5 ISA guide, sections 10.11.3, 11.2.2 and 15.15, as a public reading of it has them; Triton 3.9,
BarrierOpToLLVM.cpp (fields and initial values), its Gluon documentation (the phase is decremented with a wraparound)
and pull request 11896 (what arrives with a copy orders it across the workgroup). Of the width of what is pending the
guide has several, and Triton 29. What remains of an arrival that counts more than is pending its two expressions leave
open: it is refused.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import Error, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...base.arrays import Array
    from .batch import Batch
    from .state import Group

__all__ = ["ARRIVE", "arrive", "arrived", "arrived_by_copy"]

ARRIVE = "barrier_arrive"
"""The action of an access that arrives at a barrier in LDS."""
_PENDING = (1 << 29) - 1


def arrived(state: Any, count: Any) -> np.uint64:
    """The state of a barrier after an arrival that counts for some.

    >>> hex(arrived(0x1_00000001, 1)), hex(arrived(0x1_00000000, 1))
    ('0x100000000', '0x1e0000001')

    Raises:
        Error: more arrive than are pending.
    """
    low, first = int(state) & 0xFFFFFFFF, int(state) >> 32
    pending, count = low & _PENDING, int(count)
    if count > pending + 1:
        raise Error(
            f"{plural(count, 'arrival')} at a barrier in LDS where {pending + 1} are pending: what is left over is not "
            "documented"
        )
    if count <= pending:
        return np.uint64(int(state) - count)
    return np.uint64(first << 32 | ((low >> 29) - 1 & 7) << 29 | first & _PENDING)


def arrive(batch: Batch, row: int, places: Array, counts: Array, copies: str = "") -> Array:
    """A wave's lanes arrive at barriers, one after the other, or its copies of a kind do. Gives what was there before.

    Args:
        places: the byte of each, in the LDS of the batch. counts: for how many arrivals each counts.
    """
    races, wave = batch.ordered_lds(), int(batch.waves.wave_in_group[row])
    group = int(batch.waves.workgroup_of[row])
    batch.settle_copies(np.array([row]))
    races.acquire(group, wave, places & ~7)
    cells, before = batch.lds.data.view(np.uint64), np.zeros(len(places), np.uint64)
    for number, (place, count) in enumerate(zip(places.tolist(), counts.tolist())):
        before[number] = cells[place // 8]
        cells[place // 8] = after = arrived(before[number], count)
        races.release(group, wave, place, copies)
        if (int(before[number]) ^ int(after)) >> 29 & 7:
            races.end_phase(place)
    races.pass_on(group, wave)
    return before


def arrived_by_copy(group: Group, row: int, place: int) -> None:
    """A tensor copy of a wave has ended, and arrives at a barrier in the LDS of its workgroup. place: its byte."""
    lds = group.batch.lds
    offset = place + int(group.batch.waves.workgroup_of[row]) * lds.stride
    arrive(group.batch, row, np.array([offset]), np.ones(1, np.int64), "tensor")
