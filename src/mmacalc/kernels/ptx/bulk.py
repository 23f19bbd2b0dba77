"""mbarriers, bulk copies and tensor copies (PTX ISA 9.7.13.15, 9.7.9.25 to 9.7.9.27).

A copy that completes by an mbarrier arrives when no thread can continue without it, the latest that PTX permits; until
then its bytes are in flight. What it wrote is visible only to threads that have waited for the phase that it completes.
"""

from __future__ import annotations

import numpy as np

from ...errors import Error
from ...ptx.reader import Address, Symbol, count_of, is_braced
from .machine import Repeated
from .tensor_maps import BYTES, TensorMap, read_map, replace_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.reader import Statement
    from .machine import Machine, Threads
    from .program import Compiler, Step

    Array = NDArray[Any]

__all__ = ["BUILDERS", "Asynchronous", "Barrier", "build", "copies_arrive"]

MOST = (1 << 20) - 1
"""Arrivals, and bytes, that an mbarrier counts (PTX ISA 9.7.13.15.2)."""


class Barrier:
    """An mbarrier object: expected and pending arrivals, bytes expected, phase, and what its arrivals make known."""

    __slots__ = ("agent", "clocks", "done", "expected", "init", "pending", "phase", "place", "tx")
    expected: int
    place: int
    tx: int
    agent: int
    init: tuple[int, int, Step]
    phase: int
    pending: int

    def __init__(self, place: int, expected: int, agent: int, agents: int, init: tuple[int, int, Step]) -> None:
        self.place, self.expected, self.pending, self.tx, self.phase = place, expected, expected, 0, 0
        self.agent, self.init = agent, init
        self.clocks: Array = np.zeros(agents, np.int32)
        self.done: dict[int, Array] = {}

    def settle(self) -> bool:
        """Complete the phase if nothing is pending."""
        if self.pending or self.tx:
            return False
        self.done = {
            self.phase: self.clocks,
            **({self.phase - 1: self.done[self.phase - 1]} if self.phase - 1 in self.done else {}),
        }
        self.clocks = np.zeros_like(self.clocks)
        self.phase += 1
        self.pending = self.expected
        return True


class _Flight:
    """A bulk copy: what it does when it arrives, the bytes that it writes or reads, and how its end is known."""

    __slots__ = ("barriers", "deliver", "granules", "group", "number", "reads", "source_read", "step", "thread")
    granules: Array
    number: int
    reads: bool
    step: Step
    thread: int
    barriers: list[tuple[int, int]]
    deliver: Any
    group: int
    source_read: bool

    def __init__(
        self,
        number: int,
        step: Step,
        thread: int,
        granules: Array,
        reads: bool,
        deliver: Any,
        barriers: list[tuple[int, int]],
    ) -> None:
        self.number, self.step, self.thread, self.granules, self.reads = number, step, thread, granules, reads
        self.deliver, self.barriers, self.group, self.source_read = deliver, barriers, -1, False


class Asynchronous:
    """The mbarriers and bulk copies of the resident CTAs."""

    next: int

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.barriers: dict[int, Barrier] = {}
        self.flights: dict[int, _Flight] = {}
        self.committed: dict[int, int] = {}
        self.agents: dict[int, int] = {}  # team -> how many mbarriers have had an agent
        self.maps: dict[int, TensorMap] = {}
        self.next = 1 << 30

    # --- mbarriers ---

    def initialise(self, step: Step, thread: int, place: int, count: int) -> None:
        machine = self.machine
        if not 1 <= count <= MOST:
            raise Error(f"line {step.line}: {step.text}: the count of an mbarrier is 1 to {MOST}; got {count}")
        if place in self.barriers:
            machine.launch.find(
                "mbarrier",
                step,
                "initialises an mbarrier that is in use: mbarrier.inval must come first",
                np.array([thread]),
                self.barriers[place].init[2],
            )
        team = int(machine.team_of[thread])
        agent = machine.order.threads + self.agents.get(team, 0)
        self.agents[team] = self.agents.get(team, 0) + 1
        if agent >= machine.order.agents:
            machine.order.grow(2 * (agent - machine.order.threads + 1))
        member = int(machine.member_of[thread])
        made = (member, int(machine.order.clock[team, member]), step)
        self.barriers[place] = Barrier(place, count, agent, machine.order.agents, made)
        machine.order.tick(np.array([team]), np.array([member]))

    def barrier(self, step: Step, thread: int, place: int) -> Barrier | None:
        """The mbarrier at a place; one that is not initialised, or not visibly so, is a finding."""
        machine = self.machine
        found = self.barriers.get(place)
        if found is None:
            machine.launch.find("mbarrier", step, "the mbarrier is not initialised", np.array([thread]))
            return None
        team, member = machine.team_of[thread : thread + 1], machine.member_of[thread : thread + 1]
        who, clock, made = found.init
        if not machine.order.ordered(team, member, np.array([who]), np.array([clock])).all():
            machine.launch.find(
                "mbarrier",
                step,
                "uses an mbarrier whose initialisation by another thread it does not see: "
                "a barrier must come in between",
                np.array([thread]),
                made,
            )
        return found

    def arrive(
        self, step: Step, thread: int, place: int, count: int, tx: int = 0, drop: bool = False,
        release: Array | bool = True,
    ) -> int:  # fmt: skip
        """Arrivals of a thread; returns the state before: phase and pending arrivals. release: whether they make known
        what the thread has done so far, or the clocks that they make known."""
        machine, barrier = self.machine, self.barrier(step, thread, place)
        if barrier is None:
            return 0
        state = barrier.phase << 32 | barrier.pending
        barrier.tx += tx
        if count > barrier.pending:
            machine.launch.find("mbarrier", step, f"arrives {count} times where {barrier.pending} arrivals are pending",
                                np.array([thread]))  # fmt: skip
            count = barrier.pending
        barrier.pending -= count
        if drop:
            barrier.expected -= count
        if release is not False:
            member = machine.member_of[thread : thread + 1]
            clocks = machine.order.release(int(machine.team_of[thread]), member) if release is True else release
            if len(barrier.clocks) < len(clocks):
                barrier.clocks = np.concatenate([barrier.clocks, np.zeros(len(clocks) - len(barrier.clocks), np.int32)])
            barrier.clocks[: len(clocks)] = np.maximum(barrier.clocks[: len(clocks)], clocks)
        self.settle(barrier)
        return state

    def settle(self, barrier: Barrier) -> None:
        if barrier.settle():
            self.machine.events += 1

    def passed(self, barrier: Barrier, thread: int, phase: int, acquire: bool) -> None:
        """A thread has waited for a phase."""
        machine = self.machine
        clocks = barrier.done.get(phase)
        if not acquire:
            return
        known = np.zeros(machine.order.agents, np.int32)
        if clocks is not None:
            known[: len(clocks)] = clocks
        known[barrier.agent] = phase + 1
        machine.order.acquire(int(machine.team_of[thread]), machine.member_of[thread : thread + 1], known)

    # --- bulk copies ---

    def fly(
        self, step: Step, thread: int, granules: Array, reads: bool, deliver: Any, barriers: list[tuple[int, int]]
    ) -> _Flight:
        """A copy is in flight: it writes granules of shared memory, or reads them."""
        machine = self.machine
        flight = _Flight(self.next, step, thread, granules, reads, deliver, barriers)
        self.next += 1
        self.flights[flight.number] = flight
        if reads:
            machine.begin_reading(granules, flight.number)
        else:
            machine.flight[granules] = flight.number
        return flight

    def complete(self, flight: _Flight) -> None:
        """A copy arrives."""
        machine = self.machine
        self.flights.pop(flight.number)
        if not flight.reads:
            still = machine.flight[flight.granules] == flight.number
            machine.flight[flight.granules[still]] = 0
        elif not flight.source_read:
            machine.end_reading(flight.granules, flight.number)
        flight.deliver()
        for place, size in flight.barriers:
            barrier = self.barriers.get(place)
            if barrier is not None:
                barrier.tx -= size
                self.settle(barrier)
        machine.events += 1

    def complete_one(self) -> bool:
        """The oldest copy that completes by an mbarrier arrives. Returns whether there was one."""
        for flight in list(self.flights.values()):
            if flight.barriers:
                self.complete(flight)
                return True
        return False

    def commit(self, threads: Threads) -> None:
        for thread in threads.number.tolist():
            number = self.committed.get(thread, 0)
            for flight in self.flights.values():
                if flight.thread == thread and flight.group < 0 and not flight.barriers:
                    flight.group = number
            self.committed[thread] = number + 1

    def wait(self, threads: Threads, keep: int, sources_only: bool) -> None:
        """cp.async.bulk.wait_group: all but the youngest groups of the thread, or their reads, are done."""
        for thread in threads.number.tolist():
            for flight in list(self.flights.values()):
                if flight.thread == thread and 0 <= flight.group < self.committed.get(thread, 0) - keep:
                    if sources_only and not flight.source_read:
                        self.machine.end_reading(flight.granules, flight.number)
                        flight.source_read = True
                        flight.deliver = _once_read(flight.deliver)
                    elif not sources_only:
                        self.complete(flight)
                    self.machine.note_reads(flight.granules, np.array([thread]), flight.step)


def _once_read(deliver: Any) -> Any:
    """The source has been read: take the data now, write them when the copy completes."""
    data = deliver.take()
    return lambda: deliver.put(data)


class _Store:
    """A copy out of shared memory: `take` reads it, `put` writes global memory."""

    def __init__(self, take: Any, put: Any) -> None:
        self.take, self.put = take, put

    def __call__(self) -> None:
        self.put(self.take())


# --- builders ---


def _places(machine: Machine, step: Step, threads: Threads, address: Array, size: int) -> list[int]:
    return [int(place) for place in machine.shared_places(step, threads, address, size)]


def _shared_address(compiler: Compiler, statement: Statement, operand: Any, generic_ok: bool = True) -> Any:
    """The shared-memory address of an operand; a generic one is taken apart."""
    from .statements import SHARED_BASE, space_of_access

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
    address = _shared_address(compiler, statement, statement.operands[0])
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
    address = _shared_address(compiler, statement, statement.operands[0])
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        places = machine.shared_places(step, threads, address(machine, threads), 8)
        for thread, place in zip(threads.number.tolist(), places.tolist()):
            if machine.asynchronous.barrier(step, thread, place) is not None:
                del machine.asynchronous.barriers[place]
        machine.check_write(step, threads, places, 8)

    step.run = run


def _arrive(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = statement.modifiers
    operands = list(statement.operands)
    target = None if isinstance(operands[0], Address) else operands.pop(0)
    address = _shared_address(compiler, statement, operands.pop(0))
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
    address = _shared_address(compiler, statement, statement.operands[0])
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
    address = _shared_address(compiler, statement, operand)
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
            if done[at] and phase >= 0:
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
    address = _shared_address(compiler, statement, statement.operands[0])
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


# --- cp.async.bulk ---


def build(compiler: Compiler, statement: Statement, step: Step) -> None:
    """cp.async.bulk and cp.reduce.async.bulk, with and without tensor maps."""
    words = statement.modifiers
    if "commit_group" in words:
        step.run = lambda machine, threads: machine.asynchronous.commit(threads)
        return
    if "wait_group" in words:
        keep = compiler.number(statement.operands[0])
        sources = "read" in words
        step.run = lambda machine, threads: machine.asynchronous.wait(threads, keep, sources)
        return
    if "prefetch" in words:
        return
    spaces = [word.partition("::")[0] for word in words if word.partition("::")[0] in ("shared", "global")]
    if len(spaces) != 2:
        raise Error(f"{statement.opcode} is not covered")
    if "tensor" in words:
        _tensor(compiler, statement, step, spaces[0] == "shared")
    else:
        _plain(compiler, statement, step, spaces)


def _extra(statement: Statement) -> tuple[bool, bool]:
    words = statement.modifiers
    return any(word == "multicast::cluster" for word in words), any("cache_hint" in word for word in words)


def _plain(compiler: Compiler, statement: Statement, step: Step, spaces: list[str]) -> None:
    """Contiguous bytes: multiples of 16, at multiples of 16."""
    multicast, _ = _extra(statement)
    if "reduce" in (statement.root, *statement.modifiers):
        raise Error(f"{statement.opcode} is not covered")
    destination, source, amount, *rest = statement.operands
    to = compiler.address(destination)
    origin = compiler.address(source)
    size = compiler.source(amount, "u32")
    signals = any("complete_tx" in word for word in statement.modifiers)
    bar = compiler.address(rest.pop(0)) if signals else None
    mask = compiler.source(rest.pop(0), "u16") if multicast else None
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(16)

    def run(machine: Machine, threads: Threads) -> None:
        sizes = np.broadcast_to(size(machine, threads), (len(threads),))
        masks = np.broadcast_to(mask(machine, threads), (len(threads),)) if mask else np.zeros(len(threads), int)
        arguments = [
            to(machine, threads),
            origin(machine, threads),
            bar(machine, threads) if bar else np.zeros(len(threads), int),
        ]
        for at, thread in enumerate(threads.number.tolist()):
            one = threads.where(threads.number == thread)
            given = [int(argument[at]) for argument in arguments]
            _copy_bytes(machine, step, one, spaces, given, int(sizes[at]), int(masks[at]))

    step.run = run


def _copy_bytes(
    machine: Machine, step: Step, one: Threads, spaces: list[str], given: list[int], size: int, mask: int
) -> None:
    from .statements import _global

    to, origin, bar = given
    if size % 16 or to % 16 or origin % 16:
        raise Error(
            f"line {step.line}: {step.text}: a bulk copy has addresses and a size that are multiples of 16; got "
            f"{to:#x}, {origin:#x} and {size} bytes; {machine.launch.thread_text(machine, int(one.number[0]))}"
        )
    memory = machine.launch.memory
    if spaces[0] == "shared":
        if spaces[1] == "global":
            offset = int(_global(machine, step, one, np.array([origin]), size, False)[0])
            take = lambda: memory.data[offset : offset + size].copy()  # noqa: E731
        else:
            place = int(machine.shared_places(step, one, np.array([origin]), 16)[0])
            _async_read(machine, step, one, np.arange(place, place + size))
            take = lambda: machine.shared[place : place + size].copy()  # noqa: E731
        for target, barrier in _targets(machine, step, one, to, bar, mask):
            places = np.arange(target, target + size)
            _write_later(machine, step, one, places, take, barrier, size)
        return
    offset = int(_global(machine, step, one, np.array([to]), size, True)[0])
    place = int(machine.shared_places(step, one, np.array([origin]), 16)[0])
    places = np.arange(place, place + size)
    granules = _async_read(machine, step, one, places)

    def put(data: Array) -> None:
        memory.data[offset : offset + size] = data

    machine.asynchronous.fly(step, int(one.number[0]), granules, True, _Store(lambda: machine.shared[places], put), [])


def _targets(machine: Machine, step: Step, one: Threads, to: int, bar: int, mask: int) -> list[tuple[int, int]]:
    """(place of the data, place of the mbarrier) in each CTA of the mask, or in the one that is addressed."""
    if not mask:
        place = int(machine.shared_places(step, one, np.array([to]), 16)[0])
        return [(place, int(machine.shared_places(step, one, np.array([bar]), 8)[0]))]
    found = []
    for rank in range(machine.launch.cluster_size):
        if mask >> rank & 1:
            window = rank + 1 << 24
            place = int(machine.shared_places(step, one, np.array([window | to & 0xFFFFFF]), 16)[0])
            found.append((place, int(machine.shared_places(step, one, np.array([window | bar & 0xFFFFFF]), 8)[0])))
    return found


def _write_later(
    machine: Machine, step: Step, one: Threads, places: Array, take: Any, barrier: int, size: int
) -> None:  # fmt: skip
    """Bytes of shared memory are written by a copy that completes by an mbarrier."""
    thread = int(one.number[0])
    granules = np.unique(places // machine.granule)
    repeated = Repeated(machine, thread, len(granules))
    machine.check_destination(step, repeated, granules * machine.granule, machine.granule)
    team = int(machine.team_of[thread])

    def deliver() -> None:
        found = machine.asynchronous.barriers.get(barrier)
        machine.shared[places] = take()
        machine.written[places] = True
        agent = found.agent if found is not None else int(machine.member_of[thread])
        clock = np.full(len(granules), found.phase + 1 if found is not None else 0, np.int32)
        count = len(granules)
        machine.shadow.write(granules, np.full(count, team), np.full(count, agent), step.index, False, clock)

    if machine.asynchronous.barrier(step, thread, barrier) is None:
        deliver()
        return
    machine.asynchronous.fly(step, thread, granules, False, deliver, [(barrier, size)])


def _async_read(machine: Machine, step: Step, one: Threads, places: Array) -> Array:
    """The async proxy reads bytes of shared memory: order, proxy fence, copies in flight. Returns the granules."""
    granules = np.unique(places // machine.granule)
    machine.check_async_read(step, int(one.number[0]), granules)
    return granules


# --- tensor copies ---


def _tensor(compiler: Compiler, statement: Statement, step: Step, loads: bool) -> None:
    words = statement.modifiers
    multicast, _ = _extra(statement)
    if any(word.startswith(("im2col", "tile::gather", "tile::scatter")) for word in words):
        raise Error(f"{statement.opcode} is not covered: only tiles")
    operands = list(statement.operands)
    mapped = operands[1] if loads else operands[0]
    if not isinstance(mapped, Address) or len(mapped.more) != 1 or not is_braced(mapped.more[0]):
        raise Error("a tensor copy names a tensor map and coordinates: [map, {x, y}]")
    rank = count_of(next(word for word in words if word[1:] == "d")[0])
    coordinates = [compiler.source(one, "s32") for one in mapped.more[0]]
    if len(coordinates) != rank:
        raise Error(f"a copy of .{rank}d has {rank} coordinates; got {len(coordinates)}")
    map_address = compiler.address(mapped._replace(more=()))
    other = compiler.address(operands[0] if loads else operands[1])
    bar = compiler.address(operands[2]) if loads else None
    mask = compiler.source(operands[3], "u16") if multicast else None
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(16)
    reduction = next((word for word in words if word in ("add", "min", "max", "and", "or", "xor", "inc", "dec")), "")
    if reduction and reduction not in ("add", "min", "max", "and", "or", "xor"):
        raise Error(f"{statement.opcode} is not covered")

    def run(machine: Machine, threads: Threads) -> None:
        maps = map_address(machine, threads)
        shared = other(machine, threads)
        bars = bar(machine, threads) if bar else shared
        masks = np.broadcast_to(mask(machine, threads), (len(threads),)) if mask else np.zeros(len(threads), int)
        at = np.stack([np.broadcast_to(one(machine, threads), (len(threads),)) for one in coordinates], 1)
        for number, thread in enumerate(threads.number.tolist()):
            one = threads.where(threads.number == thread)
            tensor = read_map(machine, step, one, int(maps[number]))
            if tensor.rank != rank:
                raise Error(f"line {step.line}: {step.text}: the tensor map has {tensor.rank} dimensions")
            if loads:
                _load_tile(
                    machine, step, one, tensor, at[number], int(shared[number]), int(bars[number]), int(masks[number])
                )
            else:
                _store_tile(machine, step, one, tensor, at[number], int(shared[number]), reduction)

    step.run = run


def _load_tile(  # noqa: PLR0913
    machine: Machine, step: Step, one: Threads, tensor: TensorMap, at: Array, to: int, bar: int, mask: int
) -> None:
    memory = machine.launch.memory
    offsets, inside = tensor.offsets(machine, step, one, at, False)
    size = tensor.size
    element = np.arange(tensor.element_bytes)

    for place, barrier in _targets(machine, step, one, to, bar, mask):
        if place % 128:
            raise Error(f"line {step.line}: {step.text}: the tile must begin at a multiple of 128 bytes; it begins at "
                        f"{place % machine.shared_size:#x}")  # fmt: skip
        base = place // machine.shared_size * machine.shared_size
        places = base + tensor.shared_places(place - base)
        flat = (places[:, None] + element).reshape(-1)

        def take() -> Array:
            data = np.full((len(offsets), len(element)), 0, np.uint8)
            data[inside] = memory.data[offsets[inside][:, None] + element]
            return data.reshape(-1)

        _write_later(machine, step, one, flat, take, barrier, size)


def _store_tile(
    machine: Machine, step: Step, one: Threads, tensor: TensorMap, at: Array, origin: int, reduction: str
) -> None:
    memory = machine.launch.memory
    offsets, inside = tensor.offsets(machine, step, one, at, True)
    place = int(machine.shared_places(step, one, np.array([origin]), 16)[0])
    base = place // machine.shared_size * machine.shared_size
    element = np.arange(tensor.element_bytes)
    flat = (base + tensor.shared_places(place - base))[:, None] + element
    granules = _async_read(machine, step, one, flat.reshape(-1))

    def put(data: Array) -> None:
        index = offsets[inside][:, None] + element
        new = data.reshape(-1, len(element))[inside]
        if reduction:
            new = tensor.reduced(memory.data[index], new, reduction)
        memory.data[index] = new

    machine.asynchronous.fly(step, int(one.number[0]), granules, True, _Store(lambda: machine.shared[flat], put), [])


# --- tensor maps that kernels make ---


def _tensormap(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = statement.modifiers
    if words[0] == "cp_fenceproxy":
        to, origin = compiler.address(statement.operands[0]), compiler.address(statement.operands[1])
        step.critical = frozenset(compiler.accessed[0])

        def copy(machine: Machine, threads: Threads) -> None:
            from .statements import _global

            places = machine.shared_places(step, threads, origin(machine, threads), BYTES)
            offsets = _global(machine, step, threads, to(machine, threads), BYTES, True)
            data = machine.shared[places[:, None] + np.arange(BYTES)]
            machine.launch.memory.data[offsets[:, None] + np.arange(BYTES)] = data

        step.run = copy
        return
    if words[0] != "replace" or "tile" not in words:
        raise Error(f"{statement.opcode} is not covered")
    field, type_ = words[2], words[-1]
    shared = any(word.startswith("shared") for word in words)
    operand, *rest = statement.operands
    place_of = compiler.address(operand)
    dimension = compiler.number(rest.pop(0)) if len(rest) > 1 else 0
    value = compiler.source(rest[0], type_)
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        from .statements import _global

        at = place_of(machine, threads)
        values = np.broadcast_to(value(machine, threads), (len(threads),))
        places = (
            machine.shared_places(step, threads, at, BYTES)
            if shared
            else _global(machine, step, threads, at, BYTES, True)
        )
        memory = machine.shared if shared else machine.launch.memory.data
        for place, given in zip(places.tolist(), values.tolist()):
            replace_field(memory[place : place + BYTES], field, dimension, given)
            if shared:
                machine.written[place : place + BYTES] = True

    step.run = run


BUILDERS = {"mbarrier": _mbarrier, "tensormap": _tensormap}
