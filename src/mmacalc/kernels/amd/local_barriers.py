"""Barriers in LDS of gfx1250: 64 bits that DS_ATOMIC_BARRIER_ARRIVE_RTN_B64 and tensor copies arrive at.

Bits 28 to 0 are the arrivals that are still pending, less one; bits 31 to 29 the phase; bits 63 to 32 what is pending
when a phase begins. An arrival takes from the pending ones; the one behind the last pending one borrows from the phase,
which so goes down by one and around, and what is pending begins anew. A kernel initialises a barrier by a plain store,
and waits by loading it until the phase is another.

Source: Triton 3.9, BarrierOpToLLVM.cpp (fields and initial values) and its Gluon documentation (the phase is
decremented with a wraparound). What remains of an arrival that counts more than is pending no public text says: it is
refused.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import Error, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .state import Group

__all__ = ["ARRIVE", "arrived", "arrived_by_copy", "phase_ended"]

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


def phase_ended(group: Group, instruction: DecodedInstruction, row: int) -> None:
    """A phase of a barrier in LDS has ended by a wave. Accesses of LDS before and after are not compared, of no waves
    of the workgroup: two that the barrier does not order may race unseen."""
    batch = group.batch
    batch.lds.barrier([int(batch.waves.workgroup_of[row])], [])
    batch.reporter.note(
        "not checked", np.array([row]), instruction,
        "waves meet at a barrier in LDS: races in LDS are not looked for across the end of its phase",
    )  # fmt: skip


def arrived_by_copy(group: Group, instruction: DecodedInstruction, row: int, place: int) -> None:
    """A tensor copy of a wave has ended, and arrives at a barrier in the LDS of its workgroup. place: its byte."""
    lds = group.batch.lds
    offset = place + int(group.batch.waves.workgroup_of[row]) * lds.stride
    cell: Array = lds.data[offset : offset + 8].view(np.uint64)
    before = int(cell[0])
    cell[0] = arrived(before, 1)
    if (before ^ int(cell[0])) >> 29 & 7:
        phase_ended(group, instruction, row)
