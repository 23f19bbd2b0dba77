"""mbarrier statements (PTX ISA 9.0, 9.7.13.15), and cp.async.mbarrier.arrive."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...base.errors import Error
from ...ptx.module import Address, Symbol
from .accesses import SHARED_BASE, space_of_access
from .mbarriers_alike import wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["BUILDERS", "copies_arrive", "shared_address"]


def by_place(places: Array, threads: Threads) -> Iterator[tuple[int, Array]]:
    """Each place with the threads (by their indices) of one team that name it."""
    keys = places * threads.machine.ctas + threads.team
    if len(keys) and (keys[1:] >= keys[:-1]).all():  # as they are where all CTAs do the same
        starts = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
        for start, end in pairwise(starts):
            yield int(places[start]), np.arange(start, end)
        return
    first, inverse = np.unique(keys, return_index=True, return_inverse=True)[1:]
    for group, at in enumerate(first.tolist()):
        yield int(places[at]), np.flatnonzero(inverse == group)


def shared_address(compiler: Compiler, statement: Statement, operand: Any, generic_ok: bool = True) -> Any:
    """The shared-memory address of an operand; a generic one is taken apart."""
    address = compiler.address(operand)
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        return address
    shared = any(word.startswith("shared") for word in statement.modifiers)
    if shared or not generic_ok or space_of_access(compiler, statement, operand) == "shared":
        return address
    return lambda machine, threads: address(machine, threads) - SHARED_BASE


def _mbarrier(compiler: Compiler, statement: Statement, step: Step) -> None:
    what = statement.modifiers[0]
    builder = {
        "init": _init, "inval": _invalidate, "arrive": _arrive, "arrive_drop": _arrive, "test_wait": _wait,
        "try_wait": _wait, "expect_tx": _expect, "complete_tx": _expect, "pending_count": _pending,
    }.get(what)  # fmt: skip
    if builder is None:
        raise Error(f"{statement.opcode} is not covered")
    builder(compiler, statement, step)


def _init(compiler: Compiler, statement: Statement, step: Step) -> None:
    address = shared_address(compiler, statement, statement.operands[0])
    count = compiler.source(statement.operands[1], "u32")
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(8)

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        counts = np.broadcast_to(count(machine, threads), (len(threads),))
        machine.check_write(step, threads, places, 8)
        machine.written[places[:, None] + np.arange(8)] = True
        machine.launch.synchronised(step, threads.number, places, counts)
        for thread, place, number in zip(threads.number.tolist(), places.tolist(), counts.tolist()):
            machine.asynchronous.initialise(step, thread, place, number)

    step.run = run


def _invalidate(compiler: Compiler, statement: Statement, step: Step) -> None:
    address = shared_address(compiler, statement, statement.operands[0])
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        for thread, place in zip(threads.number.tolist(), places.tolist()):
            machine.asynchronous.invalidate(step, thread, place)
        machine.check_write(step, threads, places, 8)

    step.run = run


def _arrive(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = statement.modifiers
    operands = list(statement.operands)
    target = None if isinstance(operands[0], Address) else operands.pop(0)
    address = shared_address(compiler, statement, operands.pop(0))
    expects = "expect_tx" in words
    given = compiler.source(operands[0], "u32") if operands else None
    sink = compiler.sink(target, "b64") if target is not None else None
    step.critical = frozenset(compiler.accessed[0])
    release = "relaxed" not in words

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        values = np.broadcast_to(given(machine, threads) if given else 1, (len(threads),)).astype(np.int64)
        counts, bytes_ = (np.ones_like(values), values) if expects else (values, None)
        states = np.zeros(len(threads), np.uint64)
        machine.launch.synchronised(step, threads.number, places, values)
        for place, mine in by_place(places, threads):
            states[mine] = machine.asynchronous.arrive(
                step, threads.number[mine], place, counts[mine], None if bytes_ is None else bytes_[mine],
                words[0] == "arrive_drop", release,
            )  # fmt: skip
        if sink is not None:
            sink(machine, threads, states)

    step.run = run


def _expect(compiler: Compiler, statement: Statement, step: Step) -> None:
    """mbarrier.expect_tx and complete_tx: bytes without an arrival."""
    address = shared_address(compiler, statement, statement.operands[0])
    amount = compiler.source(statement.operands[1], "u32")
    step.critical = frozenset(compiler.accessed[0])
    sign = 1 if statement.modifiers[0] == "expect_tx" else -1

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        amounts = np.broadcast_to(amount(machine, threads), (len(threads),))
        machine.launch.synchronised(step, threads.number, places, amounts)
        for thread, place, value in zip(threads.number.tolist(), places.tolist(), amounts.tolist()):
            barrier = machine.asynchronous.barrier(step, np.array([thread]), place)
            if barrier is not None:
                barrier.tx += sign * value
                if sign > 0:
                    barrier.expecting = step
                else:
                    machine.asynchronous.settle(barrier)

    step.run = run


def _wait(compiler: Compiler, statement: Statement, step: Step) -> None:
    """test_wait and try_wait. The second may return false after a time (9.7.13.15.16), so that it stands in a loop,
    where it sleeps here; elsewhere it returns at once."""
    words = statement.modifiers
    target, operand, state, *_ = statement.operands
    sink = compiler.sink(target, "pred")
    address = shared_address(compiler, statement, operand)
    by_parity = "parity" in words
    value = compiler.source(state, "u32" if by_parity else "b64")
    step.critical = frozenset(compiler.accessed[0])
    acquire = "relaxed" not in words
    sleeps = words[0] == "try_wait" and compiler.repeats(step)

    def run(machine: Machine, threads: Threads) -> Array | None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        values = np.broadcast_to(value(machine, threads), (len(threads),))
        done = np.zeros(len(threads), bool)
        asked = (values & 1 if by_parity else values >> np.uint64(32)).astype(np.int64)
        machine.launch.synchronised(step, threads.number, places, asked)
        alike = len(asked) and bool((asked == asked[0]).all())
        asks = machine.asynchronous, step, threads.number, places
        if alike and (over := wait(*asks, int(asked[0]), by_parity, acquire)) is not None:
            return _waited(machine, step, threads, np.full(len(threads), over), sink, sleeps)
        for place, mine in by_place(places, threads):
            barrier = machine.asynchronous.barrier(step, threads.number[mine], place)
            if barrier is None:
                continue
            for phase in (asked[:1] if alike else np.unique(asked[mine])).tolist():
                these = mine if alike else mine[asked[mine] == phase]
                number = threads.number[these]
                done[these] = over = barrier.phase & 1 != phase if by_parity else phase < barrier.phase
                if not over:
                    machine.asynchronous.asked[number] = place, barrier.phase if by_parity else phase
                elif (ended := barrier.phase - 1 if by_parity else phase) >= 0:
                    machine.asynchronous.passed(barrier, number, ended, acquire)
        return _waited(machine, step, threads, done, sink, sleeps)

    step.run = run


def _waited(machine: Machine, step: Step, threads: Threads, done: Array, sink: Any, sleeps: bool) -> Array | None:
    """What a wait gives: predicates, and who sleeps."""
    if not done.all() and (sleeps or machine.impatient(step)):
        some = threads.where(done)
        if len(some):
            sink(machine, some, done[done])
        return ~done
    sink(machine, threads, done)
    return None


def _pending(compiler: Compiler, statement: Statement, step: Step) -> None:
    sink, state = compiler.sink(statement.operands[0], "u32"), compiler.source(statement.operands[1], "b64")
    step.run = lambda machine, threads: sink(
        machine, threads, (state(machine, threads) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    )


def copies_arrive(compiler: Compiler, statement: Statement, step: Step) -> None:
    """cp.async.mbarrier.arrive: an arrival when the thread's copies so far are complete."""
    address = shared_address(compiler, statement, statement.operands[0])
    step.critical = frozenset(compiler.accessed[0])
    neutral = "noinc" not in statement.modifiers

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        for thread, place in zip(threads.number.tolist(), places.tolist()):
            barrier = machine.asynchronous.barrier(step, np.array([thread]), place)
            if barrier is not None:
                if neutral:
                    barrier.pending += 1
                machine.launch.arrive_later(machine, step, thread, place)

    step.run = run


BUILDERS = {"mbarrier": _mbarrier}
