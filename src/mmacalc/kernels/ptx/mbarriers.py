"""mbarrier statements (PTX ISA 9.0, 9.7.13.15), and cp.async.mbarrier.arrive."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...ptx.module import Address, Symbol
from .accesses import SHARED_BASE, space_of_access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .machine import Machine, Threads
    from .program import Compiler, Step

    Array = NDArray[Any]

__all__ = ["BUILDERS", "copies_arrive", "shared_address"]


def _places(machine: Machine, step: Step, threads: Threads, address: Array, size: int) -> list[int]:
    return [int(place) for place in machine.shared_places(step, threads, address, size)]


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
        values = np.broadcast_to(given(machine, threads), (len(threads),)) if given else np.ones(len(threads), int)
        states = [
            machine.asynchronous.arrive(
                step,
                thread,
                place,
                1 if expects else value,
                value if expects else 0,
                words[0] == "arrive_drop",
                release,
            )
            for thread, place, value in zip(threads.number.tolist(), places.tolist(), values.tolist())
        ]
        if sink is not None:
            sink(machine, threads, np.array(states, np.uint64))

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
        for thread, place, value in zip(threads.number.tolist(), places.tolist(), amounts.tolist()):
            barrier = machine.asynchronous.barrier(step, thread, place)
            if barrier is not None:
                barrier.tx += sign * value
                if sign < 0:
                    machine.asynchronous.settle(barrier)

    step.run = run


def _wait(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = statement.modifiers
    target, operand, state, *_ = statement.operands
    sink = compiler.sink(target, "pred")
    address = shared_address(compiler, statement, operand)
    by_parity = "parity" in words
    value = compiler.source(state, "u32" if by_parity else "b64")
    step.critical = frozenset(compiler.accessed[0])
    acquire = "relaxed" not in words
    sleeps = words[0] == "try_wait"

    def run(machine: Machine, threads: Threads) -> Array | None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        values = np.broadcast_to(value(machine, threads), (len(threads),))
        done = np.zeros(len(threads), bool)
        for at, (thread, place, asked) in enumerate(zip(threads.number.tolist(), places.tolist(), values.tolist())):
            barrier = machine.asynchronous.barrier(step, thread, place)
            if barrier is None:
                continue
            phase = barrier.phase - 1 if by_parity else asked >> 32
            done[at] = (barrier.phase & 1) != (asked & 1) if by_parity else phase < barrier.phase
            if not done[at]:
                machine.asynchronous.asked[thread] = place, barrier.phase if by_parity else phase
            elif phase >= 0:
                machine.asynchronous.passed(barrier, thread, phase, acquire)
        if done.all():
            sink(machine, threads, done)
            return None
        if sleeps or machine.impatient(step):
            some = threads.where(done)
            if len(some):
                sink(machine, some, done[done])
            return ~done
        sink(machine, threads, done)
        return None

    step.run = run


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
            barrier = machine.asynchronous.barrier(step, thread, place)
            if barrier is not None:
                if neutral:
                    barrier.pending += 1
                machine.launch.arrive_later(machine, step, thread, place)

    step.run = run


BUILDERS = {"mbarrier": _mbarrier}
