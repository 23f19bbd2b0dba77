"""Stores and reductions that a thread does not wait for: st.async, red.async, and st.bulk (PTX ISA 9.0, 9.7.9.12,
9.7.9.13, 9.7.13.13).

A value arrives when no thread can continue without it, the latest that PTX permits, and its bytes count at an mbarrier
of the CTA where they arrive.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...ptx.module import is_braced
from .accesses import vector_of
from .bulk import REDUCTIONS, reduce_later, write_later
from .mbarriers import shared_address
from .operation import DTYPES
from .threads import Repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

__all__ = ["initialise", "store"]


def store(compiler: Compiler, statement: Statement, step: Step) -> None:
    """st.async and red.async to the shared memory of a cluster."""
    words = statement.modifiers
    if "mbarrier::complete_tx::bytes" not in words:
        raise Error(f"{statement.opcode} is not covered: asynchronous stores to global memory")
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
