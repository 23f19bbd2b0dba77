"""Runs the steps of a PTX kernel: threads at one step together, as arrays over all threads of the resident CTAs.

The group of threads with the lowest step goes first, so that threads which diverged meet again where their paths do. A
group that waits for an mbarrier sleeps until something has happened; a group that spins otherwise yields after a while.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.errors import Error, plural
from .barriers import WARP, CtaBarriers
from .memory_bytes import all_bits, gathered, scattered
from .order import ENDED, Order, Shadow
from .program import RESERVED
from .proxies import ProxyFences
from .reading import AsyncReads
from .shared_core import SharedCore
from .threads import Threads
from .unread import SharedUnread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from .asynchronous import Asynchronous
    from .clusters import ClusterBarriers, RemoteAccesses
    from .copies import Copies
    from .global_copies import TensorMapFences
    from .knowledge import Knowledge
    from .launch import Launch
    from .matrix_descriptors import Descriptors
    from .program import Program, Step
    from .register_pool import RegisterPool
    from .tensor_memory import TensorMemory
    from .threads import Repeated
    from .wgmma import Products

    Array = NDArray[Any]

__all__ = ["WARP", "WARPGROUP", "Machine"]

WARPGROUP = 128
PATIENCE = 4096
"""Steps that a group executes before others that could go on have their turn."""
DIRECT = frozenset(["ld", "st", "atom", "red", "mbarrier"])
"""Roots whose accesses to the memory of other CTAs a thread makes itself; copies end by an mbarrier of that CTA."""
SPINS = 16
"""How often threads repeat a loop that polls memory before all others have their turn."""
ROUNDS = 5000
"""How often threads that poll are let go on, while no thread ends, before they are said to do so for ever."""


class Machine:
    """The resident CTAs of a launch: registers, shared memory, clocks, and the loop."""

    copies: Copies
    knowledge: Knowledge
    asynchronous: Asynchronous
    products: Products
    tensor_memory: TensorMemory
    cluster_barriers: ClusterBarriers
    remote: RemoteAccesses
    ctas: int
    first: int
    launch: Launch
    program: Program
    block_size: int
    count: int
    cta_of: Array
    lane_of: Array
    member_of: Array
    team_of: Array
    special: Mapping[str, Array]
    votes: Array
    vague: Array
    carry: Array
    shared_size: int
    order: Order
    granule: int
    shadow: Shadow
    proxy_fences: dict[str, ProxyFences]
    map_fences: TensorMapFences
    descriptors: Descriptors
    pool: RegisterPool
    executed: int
    rounds: int
    events: int

    def __init__(self, launch: Launch, first: int, ctas: int) -> None:  # noqa: PLR0915
        program = launch.program
        self.launch, self.program, self.first, self.ctas = launch, program, first, ctas
        self.block_size = launch.block_size
        self.count = ctas * self.block_size
        number = np.arange(self.count)
        self.cta_of, inner = number // self.block_size, number % self.block_size
        self.lane_of = inner % WARP
        self.inner_of = inner
        self.warpgroup_of: Array = self.cta_of * -(-self.block_size // WARPGROUP) + inner // WARPGROUP
        size = launch.cluster_size
        self.team_of, self.member_of = self.cta_of // size, number % (size * self.block_size)
        self.window: Array = self.cta_of % size << 24  # where each thread's own shared memory is in that of its cluster
        self.registers: list[Array | None] = [None] * len(program.registers)
        self.undefined: dict[int, Array] = {}
        self.unwritten: set[int] = set(range(len(program.registers)))
        self.origin: dict[int, Step] = {}
        self.special = launch.special_registers(first, ctas)
        self.votes = np.zeros(self.count, bool)
        self.vague = np.zeros(self.count, bool)  # which of the votes are undefined
        self.carry = np.zeros(self.count, bool)
        # --- shared memory, of all CTAs one after the other ---
        self.shared_size = launch.shared_size
        places = ctas * self.shared_size
        self.shared: Array = np.zeros(places, np.uint8)
        self.written: Array = np.zeros(places, bool)
        if not program.first_shared:
            self.written.reshape(ctas, -1)[:, :RESERVED] = True
        self.order = Order(-(-ctas // size), size * self.block_size)
        self.granule = program.granule
        self.shadow = Shadow(places // self.granule, self.order)
        self.unread: SharedUnread = SharedUnread(launch.written, self)
        self.shadow.unread = self.unread
        self.proxy_fences = {space: ProxyFences(self.order) for space in ("shared", "global")}
        self.flight: Array = np.zeros(places // self.granule, np.int32)
        self.readers: Array = np.zeros(places // self.granule, np.int16)
        self.async_reads: AsyncReads = AsyncReads(self)
        self.core: SharedCore = SharedCore(self)
        self.spins: dict[int, int] = {}
        self.pending_arrivals: list[tuple[Step, int, int]] = []
        self.local: Array = np.zeros((self.count, program.local_size), np.uint8)
        self.local_written: Array = np.zeros(self.local.shape, bool)
        # --- the loop ---
        self.groups: dict[int, list[Array]] = {0: [number]}
        self.barriers: CtaBarriers = CtaBarriers(self)
        self.asleep: list[tuple[int, Array, int]] = []
        self.polling: list[tuple[int, Array, Step]] = []  # threads at a loop that polls, which let others go first
        self.rounds = 0
        self.alive: Array = np.ones(self.count, bool)
        self.events = 0
        self.step: Step = program.steps[0]
        self.executed = 0
        self.most: float = math.inf
        self.tick: Callable[[], None] | None = None

    # --- registers ---

    def register(self, index: int) -> Array:
        """A register of all threads; one that nothing has written is zeros, and undefined."""
        found = self.registers[index]
        if found is None:
            self.unwritten.discard(index)
            found = self.registers[index] = np.zeros(self.count, self.program.registers[index])
            if index not in self.undefined:
                self.undefined[index] = np.full(self.count, all_bits(found.dtype))
        return found

    def write(self, index: int, threads: Threads, value: Array, fresh: bool = False) -> None:
        """Write a register whose type the value has. fresh: whether nothing else has the value's memory."""
        found = self.registers[index]
        if isinstance(threads.use, slice):
            if value.shape != (self.count,):
                value = np.broadcast_to(value, (self.count,))
            own = fresh or (value.base is None and value.flags.owndata)
            self.registers[index] = value if own else value.copy()
            self.unwritten.discard(index)
            self.undefined.pop(index, None)
            return
        if found is None:
            found = self.register(index)
        found[threads.number] = value
        mask = self.undefined.get(index)
        if mask is not None:
            mask[threads.number] = 0
            if not mask.any():
                del self.undefined[index]

    # --- the loop ---

    def run(self) -> None:
        """Run until every thread has ended.

        Raises:
            Error: threads touch memory outside all arrays, or execute more than the launch allows.
        """
        with np.errstate(all="ignore"):
            while self.groups or self.asleep or self.barriers.waiting or self.polling:
                if not self.groups and not self._wake():
                    self._deadlock()
                    return
                self._group()
                if self.executed > self.most:
                    raise Error(f"the launch is at its limit, stopped after {self.places()}")
                if self.tick is not None:
                    self.tick()

    def places(self) -> str:
        """What was executed, and where threads are, in words."""
        found = [(self.program.steps[at], sum(len(part) for part in parts)) for at, parts in self.groups.items()]
        found += [(self.program.steps[at], len(number)) for at, number, _ in self.asleep]
        found += [(entry.step, len(entry.number)) for entry in self.barriers.waiting if entry.waits]
        if not found:
            found = [(self.step, int(self.alive.sum()))]
        where = [f"{plural(count, 'thread')} at line {step.line} ({step.text})" for step, count in found[:4]]
        more = f" and {len(found) - 4} more places" if len(found) > 4 else ""
        return f"{plural(self.executed // WARP, 'warp instruction')}: {'; '.join(where)}{more}"

    def _wake(self) -> bool:
        """Let those who sleep try again, if something has happened since, or if a completion can be brought about."""
        if self.polling:
            return self._poll()
        still = self.asleep and all(when == self.events for *_, when in self.asleep) and not self._parted()
        if still and not self.launch.complete_one(self):
            return False
        if not self.asleep:
            return self.launch.complete_one(self) and bool(self.groups)
        woken, self.asleep = self.asleep, []
        for step, number, _ in woken:
            self.enter(step, number)
        return True

    def _parted(self) -> bool:
        """Whether lanes of one warp sleep at one step apart from each other: together they may go on."""
        seen: dict[int, Array] = {}
        for step, number, _ in self.asleep:
            warps = np.unique(number // WARP)
            if step in seen and np.isin(warps, seen[step]).any():
                return True
            seen[step] = np.concatenate([seen[step], warps]) if step in seen else warps
        return False

    def _poll(self) -> bool:
        """Let those who poll memory, and those who sleep, try again."""
        self.rounds += 1
        if self.rounds > ROUNDS:
            return False
        self.launch.complete_one(self)
        again, self.polling = [*[entry[:2] for entry in self.polling], *[entry[:2] for entry in self.asleep]], []
        self.asleep = []
        self.spins.clear()
        for step, number in again:
            self.enter(step, number)
        return True

    def repeat(self, step: Step, at: int, target: int, number: Array) -> None:
        """Threads go back to a step; those of a loop that polls memory let others go on after a while."""
        if self.program.polls(target, at):
            self.spins[at] = self.spins.get(at, 0) + 1
            if self.spins[at] > SPINS:
                self.polling.append((target, number, step))
                return
        self.enter(target, number)

    def enter(self, step: int, number: Array) -> None:
        """Threads go on at a step."""
        if len(number):
            self.groups.setdefault(step, []).append(number)

    def _group(self) -> None:
        at = self.launch.choose(self.groups)
        parts = self.groups.pop(at)
        number = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
        number, patience, stop = self.launch.part(self, at, number)
        steps, counts, spent = self.program.steps, self.launch.counts, 0
        threads = Threads(self, number)
        while at != stop:
            step = steps[at]
            self.step = step
            spent += 1
            active, rest = threads, None
            if step.guard is not None:
                active, rest = self._guarded(step, threads)
            if not len(active):
                at += 1
                continue
            counts[at] += len(active)
            self.executed += len(active)
            if step.watched:
                self._watch(step, active)
            self.launch.before(step, active)
            if step.control is not None:
                step.control(self, step, active, rest, at)
                return
            if self.unwritten and not step.reads.isdisjoint(self.unwritten):
                for index in step.reads & self.unwritten:
                    self.register(index)
            if self.undefined and not step.reads.isdisjoint(self.undefined):
                later = self.launch.undefined_values(self, step, active)
            else:
                later = step.run(self, active)
            self.launch.after(step, active)
            if later is not None:
                self._sleep(at, active, threads, later)
                return
            at += 1
            if spent > patience and (self.groups or self.asleep):
                break
        self.enter(at, threads.number)

    def _guarded(self, step: Step, threads: Threads) -> tuple[Threads, Array | None]:
        """The threads whose predicate holds, and the others."""
        index, negated = step.guard or (0, False)
        if index in self.unwritten:
            self.register(index)
        if index in self.undefined:
            self.launch.undefined_guard(self, step, threads, index)
        value = self.register(index)[threads.use]
        taken = ~value if negated else value
        if taken.all():
            return threads, None
        return threads.where(taken), threads.number[~taken]

    def _sleep(self, at: int, active: Threads, threads: Threads, later: Array) -> None:
        """Threads (`later`, a mask of the active ones) try the step again when something has happened."""
        self.asleep.append((at, active.number[later], self.events))
        awake = np.setdiff1d(threads.number, active.number[later], assume_unique=True)
        self.enter(at + 1, awake)

    def _watch(self, step: Step, threads: Threads) -> None:
        """A register of a wgmma is touched by another instruction."""
        products = self.products
        for index in step.watched:
            if index in products.hot:
                product = products.hot[index]
                mine = np.isin(self.warpgroup_of[threads.number], product.groups[~product.done])
                if mine.any() and not product.named:  # once: what is done with one register is done with all
                    product.named = True
                    self.launch.find(
                        "wait",
                        step,
                        f"touches {self.program.names[index]}, which a wgmma in flight uses: "
                        "wgmma.wait_group must come before",
                        threads.number[mine],
                        product.step,
                    )
        products.touched(step, threads)

    def threads(self, number: Array) -> Threads:
        """Threads by their numbers."""
        return Threads(self, number)

    def impatient(self, step: Step) -> bool:
        """Whether a test that does not sleep has failed so often that others should go on first."""
        self.spins[step.index] = self.spins.get(step.index, 0) + 1
        return self.spins[step.index] > 64

    # --- ends ---

    def finish(self, threads: Threads) -> None:
        """Threads have ended."""
        self.alive[threads.number] = False
        self.rounds = 0
        self.order.meetings[~self.alive.reshape(len(self.order.meetings), -1).any(axis=1)] = ENDED
        self.launch.ended(self, threads)
        if self.remote.last:
            self.remote.ended(threads)
        self.events += 1
        self.barriers.release()

    def _deadlock(self) -> None:
        """Every thread waits: say for what."""
        self.barriers.deadlock()
        for _, number, step in self.polling:
            self.launch.find("deadlock", step, "polls memory that no other thread will change", number)
        for at, number, _ in self.asleep:
            step = self.program.steps[at]
            self.launch.find(
                "deadlock", step, f"is never released{self.launch.awaited(self, step, Threads(self, number))}", number,
                self.launch.counted(self, step, number),
            )  # fmt: skip

    def where(self, number: Array) -> str:
        """Where threads wait, in words."""
        places = [(entry.step, entry.number) for entry in self.barriers.waiting]
        places += [(self.program.steps[at], found) for at, found, _ in self.asleep]
        for step, found in places:
            if np.isin(number, found).any():
                thread = int(self.inner_of[np.intersect1d(number, found)[0]])
                return f"; thread {thread} waits at line {step.line}: {step.text}"
        return ""

    # --- memory ---

    def shared_places(self, step: Step, threads: Threads, address: Array, size: int) -> Array:
        """Where the bytes at shared-memory addresses begin, in the shared memory of all CTAs.

        Bits 24 and up of an address are the rank of the CTA in its cluster, in those of variables and of `mapa`: so a
        kernel finds the peer of a pair of CTAs by one bit, as CUTLASS does (cute/arch/copy_sm100_tma.hpp).

        Raises:
            Error: an access is outside the CTA's shared memory.
        """
        rank, offset = address >> 24, address & 0xFFFFFF
        cta = threads.cta
        size_of = self.launch.cluster_size
        if size_of > 1 or rank.any():
            if (rank >= size_of).any() or (rank < 0).any():
                self.outside(
                    step, threads, address, (rank >= size_of) | (rank < 0), f"shared memory of a cluster of {size_of}"
                )
            own, cta = cta, cta // size_of * size_of + rank
            if step.statement.root in DIRECT and (cta != own).any():
                self.remote.note(step, threads, cta)
        wrong = (offset + size > self.launch.shared_bytes) | (offset < self.program.first_shared)
        if wrong.any():
            end = self.launch.shared_bytes
            what = f"shared memory, which has {plural(end - RESERVED, 'byte')} from {RESERVED:#x} on"
            self.outside(step, threads, offset, wrong, what)
        misaligned = offset & (size - 1) if size & (size - 1) == 0 else offset & 3
        if misaligned.any():
            self.misaligned(step, threads, address, misaligned != 0, size)
        places: Array = cta * self.shared_size + offset
        return places

    def shared_access(self, step: Step, threads: Threads, address: Array, size: int, access: str) -> Array:
        """As `shared_places`, of an access whose bank conflicts count."""
        found = self.core.shared_places(threads, address, size)
        places, pattern = (self.shared_places(step, threads, address, size), None) if found is None else found
        self.launch.traffic.shared(step, threads, places, size, access, pattern)
        return places

    def outside(self, step: Step, threads: Threads, address: Array, wrong: Array, what: str) -> None:
        """Stop: some addresses are outside."""
        at = int(np.flatnonzero(wrong)[0])
        raise Error(
            f"line {step.line}: {step.text}: address {int(np.broadcast_to(address, wrong.shape)[at]):#x} is outside "
            f"{what}; {self.launch.thread_text(self, int(threads.number[at]))}"
        )

    def misaligned(self, step: Step, threads: Threads, address: Array, wrong: Array, size: int) -> None:
        at = int(np.flatnonzero(wrong)[0])
        raise Error(
            f"line {step.line}: {step.text}: address {int(address[at]):#x} is not a multiple of {size}; "
            f"{self.launch.thread_text(self, int(threads.number[at]))}"
        )

    def granules(self, places: Array, size: int) -> Array:
        """The granules of accesses of `size` bytes: (access, granule)."""
        count = max(1, size // self.granule)
        first = places // self.granule
        return first[:, None] + np.arange(count) if count > 1 else first[:, None]

    def read_shared(self, step: Step, threads: Threads, places: Array, size: int) -> tuple[Array, Array | None]:
        """Read and check bytes of shared memory, (thread, size), and which of them nothing has written, if any."""
        self.check_read(step, threads, places, size)
        return gathered(self.shared, places, size), self.take(places, size)

    def take(self, places: Array, size: int) -> Array | None:
        """Note that bytes are read. Which of them nothing has written, (place, byte), if any."""
        if self.core.take(places, size):
            return None
        self.unread.read(self.shadow, self.granules(places, size).reshape(-1))
        written = gathered(self.written.view(np.uint8), places, size)
        return None if written.all() else written == 0

    def check_read(self, step: Step, threads: Threads, places: Array, size: int) -> None:
        if self.shadow.settled() and not self.copies.flights and not self.asynchronous.flights:
            width = max(1, size // self.granule)
            self.shadow.read_raw(places // self.granule, width, threads.team, threads.member, step.index)
            return
        granules = self.granules(places, size)
        flat, width = granules.reshape(-1), granules.shape[1]
        flying = self.flight[flat]
        if flying.any():
            self.launch.touched_in_flight(self, step, threads, granules, "reads")
        team, member = np.repeat(threads.team, width), np.repeat(threads.member, width)
        found = self.shadow.read(flat, team, member, step.index)
        if found is not None:
            place, other = found
            self.race(step, threads, place // width, int(flat[place]), other, "reads", "wrote")

    def check_write(
        self, step: Step, threads: Threads | Repeated, places: Array, size: int, same: Callable[[], Array] | None = None
    ) -> None:
        """Check and note writes of bytes. same: which granules keep what they are."""

        def written(flat: Array, team: Array, member: Array) -> tuple[int, int, bool] | None:
            return self.shadow.write(flat, team, member, step.index, same=same)

        self._before_write(step, threads, places, size, written)

    def check_destination(self, step: Step, threads: Threads | Repeated, places: Array, size: int) -> None:
        """Whether others are done with the bytes that a copy will overwrite: ordered before its issue."""
        if not self.core.may_write(threads, places, size):
            self._before_write(step, threads, places, size, self.shadow.conflict)

    def _before_write(
        self, step: Step, threads: Threads | Repeated, places: Array, size: int,
        conflict: Callable[[Array, Array, Array], tuple[int, int, bool] | None],
    ) -> None:  # fmt: skip
        """Operations in flight that touch bytes which are written, and what the shadow finds of them."""
        granules = self.granules(places, size)
        flat, width = granules.reshape(-1), granules.shape[1]
        flying = self.flight[flat]
        if flying.any():
            self.launch.touched_in_flight(self, step, threads, granules, "writes")
        self.launch.read_in_flight(self, step, threads, flat, width)
        team, member = np.repeat(threads.team, width), np.repeat(threads.member, width)
        found = conflict(flat, team, member)
        if found is not None:
            place, other, wrote = found
            self.race(step, threads, place // width, int(flat[place]), other, "writes", "wrote" if wrote else "read")

    def write_shared(self, step: Step, threads: Threads | Repeated, places: Array, data: Array) -> None:
        """Write and check bytes of shared memory: data is (thread, size).

        Threads may write the same value to the same bytes, as compilers let them where each has a copy of it.
        """
        size = data.shape[1]

        def same() -> Array:
            kept = (gathered(self.shared, places, size) == data).reshape(len(places), -1, min(size, self.granule))
            alike: Array = kept.all(axis=2).reshape(-1)
            return alike

        lost = self.core.write(threads, places, data, step.index)
        if lost is None:
            self.check_write(step, threads, places, size, same)
            self.put_shared(step, threads, places, data)
            return
        self._replaced(step, threads, places, size)
        if lost:
            self.check_lanes(step, threads, places, data, self.shared, self.byte_of)

    def _replaced(self, step: Step, threads: Threads | Repeated, places: Array, size: int) -> None:
        """What bytes that are written were before: mbarriers, or those of a tensor copy with a swizzle."""
        if self.asynchronous.barriers:
            self.asynchronous.overwritten(step, threads, places, size)
        if self.descriptors.swizzles is not None:
            self.descriptors.written(self.granules(places, size))

    def put_shared(self, step: Step, threads: Threads | Repeated, places: Array, data: Array) -> None:
        """Write bytes of shared memory that may be written."""
        self._replaced(step, threads, places, data.shape[1])
        scattered(self.shared, places, data)
        self.check_lanes(step, threads, places, data, self.shared, self.byte_of)
        scattered(self.written.view(np.uint8), places, np.ones_like(data))

    def byte_of(self, place: int) -> str:
        """A place of shared memory in words."""
        return self.program.shared_byte(place % self.shared_size)

    def check_lanes(
        self,
        step: Step,
        threads: Threads | Repeated,
        places: Array,
        data: Array,
        memory: Array,
        named: Callable[[int], str],
    ) -> None:
        """Threads of one instruction wrote bytes: of two warps they must not write different ones to one place.

        Which of a warp's lanes writes is open (CUDA C++ Programming Guide, SIMT architecture), and compilers rely on
        one of them doing so.
        """
        lost = (gathered(memory, places, data.shape[1]) != data).any(axis=1)
        if not lost.any():
            return
        mine = np.flatnonzero(np.isin(places, places[lost]))
        mine = mine[np.argsort(places[mine], kind="stable")]
        warps, starts = threads.number[mine] // WARP, np.flatnonzero(np.diff(places[mine], prepend=-1))
        apart = starts[np.minimum.reduceat(warps, starts) != np.maximum.reduceat(warps, starts)]
        if not len(apart):
            self.launch.remark(step, "lanes of a warp write different values to one place, and one of them remains")
        else:
            place = int(places[mine[apart[0]]])
            self.launch.find(
                "race",
                step,
                f"threads of several warps, which nothing orders, write different values to {named(place)}",
                threads.number[np.flatnonzero(places == place)],
            )

    def race(
        self, step: Step, threads: Threads | Repeated, which: int, granule: int, other: int, does: str, did: str
    ) -> None:
        if not self.program.first_shared and granule * self.granule % self.shared_size < RESERVED:
            return  # the system's bytes: how cooperative groups use them is their own affair
        who = self.shadow.writer[granule] if did == "wrote" and does == "reads" else -1
        by = ""
        if 0 <= who < self.order.threads:
            rank = f" of the CTA with rank {int(who) // self.block_size}" if self.launch.cluster_size > 1 else ""
            by = f" (thread {int(who) % self.block_size}{rank})"
        self.launch.find(
            "race",
            step,
            f"{does} {self.byte_of(granule * self.granule)}, which another thread{by} {did} without synchronisation in "
            "between",
            threads.number[which : which + 1],
            other=self.program.steps[other],
        )
