"""cp.async and its groups (PTX ISA 9.7.9.25): copies that arrive when they are waited for, the latest that PTX
permits."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...base.records import TupleRecord
from ...ptx.module import Negated, Register
from .accesses import global_places
from .bulk import build
from .mbarriers import copies_arrive

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

__all__ = ["BUILDERS", "Copies", "Copy"]


class Copy(TupleRecord):
    """A copy in flight: its number, the step that issued it, thread, destination, data, whether it waits for a
    group."""

    number: int
    step: Step
    threads: Array
    places: Array
    data: Array


class Copies:
    """The copies of all threads: those that are in no group yet, and the groups, oldest first."""

    next: int

    def __init__(self, count: int) -> None:
        self.flights: dict[int, Copy] = {}
        self.open: dict[int, Array] = {}  # number of a flight -> which of its threads are in no group
        self.group: dict[int, Array] = {}  # number of a flight -> the group of each of its threads, -1 for none
        self.committed: Array = np.zeros(count, np.int64)
        self.arrived: dict[int, Array] = {}
        self.next = 1

    def issue(self, machine: Machine, step: Step, threads: Threads, places: Array, data: Array) -> None:
        copy = Copy(self.next, step, threads.number, places, data)
        self.next += 1
        self.flights[copy.number] = copy
        self.group[copy.number] = np.full(len(places), -1, np.int64)
        self.arrived[copy.number] = np.zeros(len(places), bool)
        machine.flight[machine.granules(places, data.shape[1])] = copy.number

    def commit(self, threads: Threads) -> None:
        """What the threads have issued becomes a group of each."""
        for number, copy in self.flights.items():
            waiting = self.group[number] == -1
            if waiting.any():
                mine = waiting & np.isin(copy.threads, threads.number)
                self.group[number][mine] = self.committed[copy.threads[mine]]
        self.committed[threads.number] += 1

    def wait(self, machine: Machine, threads: Threads, keep: int, everything: bool) -> None:
        """The copies of all but the youngest groups arrive."""
        for number, copy in list(self.flights.items()):
            group = self.group[number]
            mine = np.isin(copy.threads, threads.number) & ~self.arrived[number]
            done = mine if everything else mine & (group >= 0) & (group < self.committed[copy.threads] - keep)
            if done.any():
                self.arrive(machine, number, done)

    def arrive(self, machine: Machine, number: int, which: Array) -> None:
        """Some threads' copies of an instruction arrive, as writes of the threads that issued them."""
        copy = self.flights[number]
        places, data = copy.places[which], copy.data[which]
        size = data.shape[1]
        granules = machine.granules(places, size)
        still = machine.flight[granules] == number
        machine.flight[granules[still]] = 0
        threads = copy.threads[which]
        flat, width = granules.reshape(-1), granules.shape[1]
        machine.shadow.write(
            flat,
            np.repeat(machine.team_of[threads], width),
            np.repeat(machine.member_of[threads], width),
            copy.step.index,
        )
        index = places[:, None] + np.arange(size)
        machine.shared[index] = data
        machine.written[index] = True
        for observer in machine.launch.observers:
            observer.copied(copy.step, places, size)
        self.arrived[number] |= which
        if self.arrived[number].all():
            del self.flights[number], self.group[number], self.arrived[number]


def _copy(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = statement.modifiers
    if "bulk" in words or words[:1] != ("async",):
        build(compiler, statement, step)
        return
    if "commit_group" in words:
        step.run = lambda machine, threads: machine.copies.commit(threads)
        return
    if "wait_group" in words or "wait_all" in words:
        keep = compiler.number(statement.operands[0]) if statement.operands else 0
        everything = "wait_all" in words
        step.run = lambda machine, threads: machine.copies.wait(machine, threads, keep, everything)
        return
    if "mbarrier" in words:
        copies_arrive(compiler, statement, step)
        return
    _start(compiler, statement, step)


def _start(compiler: Compiler, statement: Statement, step: Step) -> None:
    """cp.async.ca or .cg: cp-size 4, 8 or 16; src-size or ignore-src leave the rest zero."""
    words = statement.modifiers
    target, source, size_operand, *rest = statement.operands
    size = compiler.number(size_operand)
    if size not in (4, 8, 16) or ("cg" in words and size != 16):
        raise Error(f"cp.async copies 4, 8 or 16 bytes, .cg 16; got {size}")
    destination, origin = compiler.address(target), compiler.address(source)
    step.critical = frozenset(compiler.accessed[0])
    amount = ignore = None
    if len(rest) > ("L2::cache_hint" in words):
        names, chosen = compiler.frame.function.registers, rest[0]
        flag = chosen.operand if isinstance(chosen, Negated) else chosen
        is_predicate = isinstance(flag, Register) and names.get(flag.name) == "pred"
        if is_predicate:
            ignore = compiler.source(rest[0], "pred")
        else:
            amount = compiler.source(rest[0], "u32")
    compiler.sizes.add(size)
    compiler.global_sizes.add(size)

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, destination(machine, threads), size)
        at = origin(machine, threads)
        machine.launch.traffic.anywhere(step, threads, at, size, "read")
        taken = np.full(len(threads), size)
        if amount is not None:
            taken = np.broadcast_to(amount(machine, threads), (len(threads),)).astype(np.int64)
            if (taken > size).any():
                machine.outside(step, threads, taken, taken > size, f"the {size} bytes of the copy")
        if ignore is not None:
            taken = np.where(ignore(machine, threads), 0, size)
        data = np.zeros((len(threads), size), np.uint8)
        for length in np.unique(taken).tolist():
            if length:
                here = taken == length
                some = threads.where(here)
                offsets = global_places(machine, step, some, at[here], int(length), False)
                machine.launch.order.loaded(machine, step, some, offsets, int(length))
                data[here, :length] = machine.launch.memory.data[offsets[:, None] + np.arange(length)]
        machine.check_destination(step, threads, places, size)
        machine.copies.issue(machine, step, threads, places, data)

    step.run = run


BUILDERS = {"cp": _copy}
