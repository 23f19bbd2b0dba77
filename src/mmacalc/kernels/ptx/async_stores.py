"""Stores and reductions that a thread does not wait for: st.async, red.async, and st.bulk (PTX ISA 9.0, 9.7.9.12,
9.7.9.13, 9.7.13.13).

A value arrives when no thread can continue without it, or its thread has ended, the latest that PTX permits. In shared
memory its bytes count at an mbarrier of the CTA where they arrive. In global memory it is a strong access of the
generic proxy: who acquires it knows what its thread had done when it issued it. Its thread does not wait for it, and an
asynchronous operation is not ordered with what its thread does next (8.9.1.1), so only who has read it knows of it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...base.errors import Error
from ...ptx.module import is_braced
from .accesses import global_places, index_of, store_undefined, vector_of
from .bulk import REDUCTIONS, reduce_later, write_later
from .mbarriers import shared_address
from .operation import DTYPES
from .threads import Repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .knowledge import Snapshot
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["initialise", "store"]


def store(compiler: Compiler, statement: Statement, step: Step) -> None:
    """st.async and red.async to the shared memory of a cluster, or to global memory."""
    words = statement.modifiers
    if "mbarrier::complete_tx::bytes" not in words:
        _store_globally(compiler, statement, step)
        return
    count, type_ = vector_of(statement)
    kind = next((word for word in words if word in REDUCTIONS), "") if statement.root == "red" else ""
    target, value, signal = statement.operands
    address, barrier = (shared_address(compiler, statement, operand) for operand in (target, signal))
    step.critical = frozenset(compiler.accessed[0])
    sources = [compiler.source(one, type_) for one in (value if is_braced(value) else (value,))]
    size = count * DTYPES[type_].itemsize
    compiler.sizes.add(DTYPES[type_].itemsize)

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), size)
        bars = machine.shared_places(step, threads, barrier(machine, threads), 8)
        values = [np.broadcast_to(source(machine, threads), (len(threads),)) for source in sources]
        data = np.stack(values, 1).view(np.uint8).reshape(len(threads), size)
        apart = places // machine.shared_size != bars // machine.shared_size
        if apart.any():
            machine.launch.find("mbarrier", step, "signals an mbarrier of another CTA than that of the bytes it writes",
                                threads.number[apart])  # fmt: skip
        for at, thread in enumerate(threads.number.tolist()):
            one, where, bar = threads.where(threads.number == thread), places[at] + np.arange(size), int(bars[at])

            def take(octets: Any = data[at]) -> Any:
                return octets

            if kind:
                reduce_later(machine, step, one, where, take, bar, kind, type_)
            else:
                write_later(machine, step, one, where, take, bar, size, None)

    step.run = run


def _store_globally(compiler: Compiler, statement: Statement, step: Step) -> None:
    """st.async.release and red.async.add to global memory."""
    type_, adds = statement.modifiers[-1], statement.root == "red"
    target, value = statement.operands
    address, source, index = compiler.address(target), compiler.source(value, type_), index_of(compiler, value)
    step.critical = frozenset(compiler.accessed[0])
    dtype = DTYPES[type_]
    size = dtype.itemsize
    compiler.global_sizes.add(size)

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        places = global_places(machine, step, threads, at, size, True)
        machine.launch.traffic.anywhere(step, threads, at, size, "atomic" if adds else "write")
        if machine.undefined:
            store_undefined(machine, step, threads, at, "global", [index], size)
        values = np.broadcast_to(source(machine, threads), (len(threads),)).astype(dtype)
        order, knowledge = machine.launch.order, machine.knowledge
        order.arrives_later(machine, step, threads, places, size)
        access = order.access(step)
        made = [knowledge.makes_known(thread, access) for thread in threads.number.tolist()]
        if access.releases:
            machine.order.tick(threads.team, threads.member)
        for team in np.unique(threads.team).tolist():
            mine = np.flatnonzero(threads.team == team)
            deliver = partial(_arrive, machine, step, threads.where(threads.team == team), places[mine], values[mine],
                              [made[one] for one in mine.tolist()])  # fmt: skip
            thread = int(threads.number[mine[0]])
            machine.asynchronous.fly(step, thread, np.zeros(0, np.int64), False, deliver, []).alone = True

    step.run = run


def _arrive(
    machine: Machine, step: Step, threads: Threads, places: Array, values: Array,
    made: list[tuple[Snapshot | None, Snapshot | None]],
) -> None:  # fmt: skip
    """Values of threads of one team arrive in global memory, with what each made known when it was issued."""
    adds, cells = step.statement.root == "red", machine.launch.memory.data.view(values.dtype)
    at = places // values.dtype.itemsize
    if adds:
        np.add.at(cells, at, values)
    else:
        cells[at] = values
    access = machine.launch.order.access(step)
    for thread, place, one in zip(threads.number.tolist(), places.tolist(), made):
        machine.knowledge.leave(thread, place, access, one, not adds)
    for observer in machine.launch.observers:
        observer.stored(step, threads, places, values.dtype.itemsize)


def initialise(compiler: Compiler, statement: Statement, step: Step) -> None:
    """st.bulk: zeros in shared memory, a multiple of 8 bytes, up to 16,777,208 (9.7.9.13)."""
    target, amount, value = statement.operands
    if compiler.number(value) != 0:
        raise Error(f"{statement.opcode} stores zeros; got {compiler.number(value)}")
    address, size = shared_address(compiler, statement, target), compiler.source_as_wide(amount)
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(8)

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        sizes = np.broadcast_to(size(machine, threads), (len(threads),))
        for thread, place, length in zip(threads.number.tolist(), places.tolist(), sizes.tolist()):
            if length % 8:
                machine.outside(step, threads, sizes, sizes % 8 != 0, "the sizes of st.bulk, multiples of 8 bytes")
            first = place % machine.shared_size
            if first + length > machine.shared_size:
                machine.outside(step, threads, sizes, sizes == length, "shared memory from that address on")
            each = np.arange(place, place + length, machine.granule)
            zeros = np.zeros((len(each), machine.granule), np.uint8)
            machine.write_shared(step, Repeated(machine, thread, len(each)), each, zeros)

    step.run = run
