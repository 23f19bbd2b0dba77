"""Clusters that have not been launched are taken over by those that run (PTX ISA 9.0, 9.7.13.17,
clusterlaunchcontrol).

A request is answered when no thread can continue without the answer. Half of the grid's clusters are launched at first
where a kernel asks at all, so that there is something to take over; the rest is launched afterwards.
"""

from __future__ import annotations

import numpy as np

from .bulk import write_later
from .mbarriers import shared_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["BUILDERS"]

BYTES = 16
"""The size of an answer. Its bits are not published; here it is the first CTA's three coordinates, and whether there is
one."""


def _control(compiler: Compiler, statement: Statement, step: Step) -> None:
    if statement.modifiers[0] == "try_cancel":
        _try_cancel(compiler, statement, step)
    else:
        _query(compiler, statement, step)


def _try_cancel(compiler: Compiler, statement: Statement, step: Step) -> None:
    """The answer is written to shared memory by the async proxy, and counts 16 bytes at the mbarrier; with
    .multicast::cluster::all in every CTA of the cluster, at the same places of each."""
    address, signal = (shared_address(compiler, statement, operand) for operand in statement.operands)
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(BYTES)
    everywhere = "multicast::cluster::all" in statement.modifiers

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), BYTES)
        bars = machine.shared_places(step, threads, signal(machine, threads), 8)
        for at, thread in enumerate(threads.number.tolist()):
            answer = _Answer(machine)
            own, size = int(machine.cta_of[thread]), machine.launch.cluster_size
            ctas = range(own // size * size, own // size * size + size) if everywhere else [own]
            one = threads.where(threads.number == thread)
            for cta in ctas:
                shift = (cta - own) * machine.shared_size
                where = np.arange(places[at] + shift, places[at] + shift + BYTES)
                write_later(machine, step, one, where, answer, int(bars[at]) + shift, BYTES, None)

    step.run = run


class _Answer:
    """The answer to a request, found when it is first wanted."""

    machine: Machine
    found: Array | None

    def __init__(self, machine: Machine) -> None:
        self.machine, self.found = machine, None

    def __call__(self) -> Array:
        if self.found is None:
            cta = self.machine.launch.take_over()
            place = (0xFFFFFFFF,) * 3 if cta is None else self.machine.launch.coordinates(cta)
            self.found = np.array([*place, cta is not None], np.uint32).view(np.uint8)
        return self.found


def _query(compiler: Compiler, statement: Statement, step: Step) -> None:
    what, *_ = statement.modifiers[1:]
    target, answer = statement.operands
    source = compiler.source(answer, "b128")
    names: Any = target if what == "get_first_ctaid" else (target,)
    kind = "pred" if what == "is_canceled" else "b32"
    sinks = [compiler.sink(name, kind) for name in names]
    first = {"is_canceled": 3, "get_first_ctaid::y": 1, "get_first_ctaid::z": 2}.get(what, 0)

    def run(machine: Machine, threads: Threads) -> None:
        given = np.broadcast_to(source(machine, threads), (len(threads),))
        words = np.ascontiguousarray(given).view(np.uint32).reshape(-1, 4)
        for place, sink in enumerate(sinks):
            word = words[:, first + place].copy()
            sink(machine, threads, word != 0 if kind == "pred" else word)

    step.run = run


BUILDERS = {"clusterlaunchcontrol": _control}
