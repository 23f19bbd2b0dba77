"""Launches PTX kernels: arguments, grids, resident CTAs, and what is found."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...base.checks import shown
from ...base.errors import Error, plural
from ...catalog import architecture
from ..device.findings import lanes_text
from ..device.launch import buffer_bytes, checked_seed, dim3, value_bytes
from ..device.memory import GlobalMemory, check_type
from .asynchronous import Asynchronous
from .clusters import ClusterBarriers, RemoteAccesses
from .compiler import compile_kernel, function_address
from .copies import Copies
from .findings import PtxFinding
from .global_copies import TensorMapFences
from .global_order import GlobalOrder
from .knowledge import Knowledge
from .machine import PATIENCE, WARP, Machine
from .matrix_descriptors import Descriptors
from .memory_bytes import all_bits
from .register_pool import RegisterPool
from .report import PtxReport
from .schedule import NEVER, Schedule
from .special_registers import SpecialRegisters
from .tensor_map import TensorMapArgument
from .tensor_maps import BYTES, map_at
from .tensor_memory import TensorMemory
from .tensor_unread import TensorWrites
from .threads import Threads
from .traffic import AccessCounter
from .undefined import critical_registers, follow_bits, followed_by_bits
from .unread import SharedWrites
from .warps import wants_whole_warps
from .wgmma import Products

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from ...model import Architecture
    from ..device.observer import Observer
    from .kernel import PtxKernel
    from .program import Program, Step
    from .threads import Repeated

    Array = NDArray[Any]

__all__ = ["Launch", "checked_options"]

OPTIONS = ("shared", "limit", "schedule", "cluster", "arguments")
LARGEST_SHARED = 232448
LAST_PRINTED = 500
"""Characters of what a kernel has printed that the error which stops it has."""
"""Bytes of shared memory of a CTA that the largest GPUs give (227 KiB, sm_90 and sm_100)."""
WARP_ROOTS = frozenset(["shfl", "vote", "match", "redux", "elect", "activemask"])
"""Opcodes by which the lanes of a warp that are named or there see one another."""
RESIDENT_BYTES = 1 << 29
"""Memory that the resident CTAs' registers, shared memory and clocks may take."""
WORKSPACE = 256
"""Bytes that a cooperative launch gives the grid: cooperative groups keep the barrier of the grid there."""
SHOWN = 32
"""Findings of one kind at one statement that are told apart by the other statement."""


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a launch by name.

    Raises:
        Error: one that there is not, or a value that it does not take.
    """
    if unknown := [name for name in options if name not in OPTIONS]:
        raise Error(f"launch of a PTX kernel takes {', '.join(OPTIONS)} by name; got {unknown[0]}")
    shared, limit, schedule = options.get("shared", 0), options.get("limit"), options.get("schedule")
    if not _whole(shared) or not 0 <= shared <= LARGEST_SHARED:
        raise Error(f"shared is the bytes of dynamic shared memory, 0 to {LARGEST_SHARED}; got {shown(shared)}")
    if limit is not None and (not _whole(limit) or limit < 1):
        raise Error(f"limit is how many warp instructions may be executed, from 1 up; got {shown(limit)}")
    return {
        "shared": shared, "limit": limit, "schedule": checked_seed(schedule), "cluster": options.get("cluster"),
        "buffer": options.get("arguments"),
    }  # fmt: skip


def _architecture(target: str) -> Architecture | None:
    """The record of a target, None where the catalog has none."""
    try:
        return architecture(target)
    except Error:
        return None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sizes(what: str, given: Any) -> tuple[int, int, int]:
    sizes = dim3(what, given)
    return sizes.x, sizes.y, sizes.z


class Launch:
    """A kernel with its grid, arguments and memory, while it runs."""

    kernel: PtxKernel
    program: Program
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    block_size: int
    cluster_size: int
    shared_bytes: int
    shared_size: int
    memory: GlobalMemory
    observers: tuple[Observer, ...]
    order: GlobalOrder
    schedule: Schedule | None
    traffic: AccessCounter
    parameters: bytes
    parameter_address: int
    executed: int
    launched: int
    workspace: int

    def __init__(  # noqa: PLR0913
        self, kernel: PtxKernel, grid: Any, block: Any, arguments: Sequence[Any], shared: int = 0, cluster: Any = None,
        schedule: int | None = None, limit: int | None = None, observers: tuple[Observer, ...] = (),
        buffer: object = None,
    ) -> None:  # fmt: skip
        self._again = partial(Launch, kernel, grid, block, arguments, shared, cluster, schedule, limit, (), buffer)
        self.kernel, self.program = kernel, compile_kernel(kernel.module, kernel.name)
        self.grid, self.block = _sizes("grid", grid), _sizes("block", block)
        named = self.program.attribute("reqnctapercluster") or self.program.attribute("explicitcluster")
        self.cluster = _sizes("cluster", cluster if cluster is not None else (named or 1))
        self.block_size = int(np.prod(self.block))
        self.cluster_size = int(np.prod(self.cluster))
        self._check_sizes()
        if not 0 <= shared <= LARGEST_SHARED:
            raise Error(f"shared is 0 to {LARGEST_SHARED} bytes; got {shared}")
        self.dynamic = shared
        self.shared_bytes = self.program.dynamic + shared
        self.shared_size = -(-self.shared_bytes // 1024) * 1024
        self.findings: dict[tuple[Any, ...], PtxFinding] = {}
        self.remarks: dict[tuple[int, str], int] = {}  # by line and message: how often
        self.printed: list[str] = []
        self.written: SharedWrites = SharedWrites(self.program, self.shared_size)
        self.cells: TensorWrites = TensorWrites(self.program)
        self.executed = 0
        self.counts: list[int] = [0] * len(self.program.steps)  # by step, the threads that have executed it
        self.traffic = AccessCounter(_architecture(self.program.target))
        self.observers = self.traffic.observers = observers
        self.limit = limit
        self.memory = GlobalMemory()
        self.addresses: dict[str, int] = {}
        self.memory.add_kept()
        unit = 128 if self.program.watched else 32  # wgmma wants warpgroups
        self.schedule = Schedule(schedule, self.program.ranks, self.block_size, unit) if schedule is not None else None
        self._place_variables()
        size = self.program.parameter_bytes
        given = self._pack(arguments) if buffer is None else buffer_bytes(buffer, arguments, size, size)
        self.parameters = given[:size]
        self.parameter_address = self.memory.add("the parameters", np.frombuffer(self.parameters, np.uint8), False)
        self.workspace = self.memory.add("the workspace of the grid", np.zeros(WORKSPACE, np.uint8), True)
        self.memory.finish()
        self.order = GlobalOrder(self)

    def _check_sizes(self) -> None:
        if self.block_size > 1024:
            raise Error(f"a CTA has up to 1024 threads; got {self.block_size}")
        for name, exact in (("reqntid", True), ("maxntid", False)):
            sizes = self.program.attribute(name)
            if sizes:
                wanted = int(np.prod(sizes))
                if (exact and self.block_size != wanted) or self.block_size > wanted:
                    raise Error(
                        f"the kernel says .{name} {', '.join(map(str, sizes))}; the block has {self.block_size} threads"
                    )
        if any(size % part for size, part in zip(self.grid, self.cluster)):
            raise Error(f"the grid {self.grid} is not a multiple of the cluster {self.cluster}")
        if self.cluster_size > 1 and self._parts_of_warps():
            raise Error(
                f"CTAs of {self.block_size} threads in a cluster are not covered: their last warp is not full. "
                f"A multiple of {WARP} threads is"
            )

    def _place_variables(self) -> None:
        contents: dict[str, Array] = {}
        for variable in self.program.module.variables.values():
            if variable.space in ("global", "const"):
                start, content = self.kernel.variables.get(variable.name, (0, None))
                kept = content
                if content is None:
                    content = np.zeros(variable.size, np.uint8)
                    content[: len(variable.content)] = np.frombuffer(variable.content, np.uint8)
                writeable = variable.space == "global"
                self.addresses[variable.name] = self.memory.add(variable.name, content, writeable, kept, start)
                contents[variable.name] = content
        module = self.program.module
        for variable in module.variables.values():
            for at, size, symbol, shift in variable.pointers:
                if symbol.name in module.functions:
                    self.addresses[symbol.name] = function_address(module, symbol.name)
                if symbol.name not in self.addresses:
                    raise Error(
                        f"line {variable.line}: {variable.name} holds the address of {symbol.name}, which does not "
                        "lie in global or constant memory; that is not covered"
                    )
                value = (self.addresses[symbol.name] + symbol.offset) >> shift & (1 << 8 * size) - 1
                contents[variable.name][at : at + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)

    # --- arguments ---

    def _pack(self, arguments: Sequence[Any]) -> bytes:
        """The parameter bytes: arrays by their addresses, numbers by their bytes, None as null."""
        wanted = list(self.program.parameters.items())
        signature = ", ".join([f"{name}: .{type_}" for name, type_ in self.kernel.signature]) or "none"
        if len(arguments) > len(wanted):
            raise Error(f"the kernel takes {plural(len(wanted), 'argument')} ({signature}); got {len(arguments)}")
        raw = bytearray(self.program.parameter_bytes)
        for number, (name, (start, variable)) in enumerate(wanted):
            if number >= len(arguments):
                if variable.size != 8:
                    raise Error(
                        f"the kernel takes {plural(len(wanted), 'argument')} ({signature}); got {len(arguments)}, and "
                        "only pointers at the end may be left out, which are null then"
                    )
                continue
            short = name.removeprefix(f"{self.program.name}_")
            what = f"argument {number + 1} ({short}, .{variable.type}, {plural(variable.size, 'byte')})"
            raw[start : start + variable.size] = self._argument(what, arguments[number], variable.size)
        return bytes(raw)

    def _argument(self, what: str, value: Any, size: int) -> bytes:
        if value is None:
            if size != 8:
                raise Error(f"{what} is not a pointer; got None")
            return bytes(size)
        if isinstance(value, TensorMapArgument):
            return self._map_argument(what, value, size)
        if isinstance(value, np.ndarray) and value.ndim:
            if size != 8:
                hint = ": a tensor map of it is mmacalc.tensor_map(array, box)" if size == BYTES else ""
                hint += ", or map:BOX:FILE.npy on the command line" if hint else ""
                raise Error(f"{what} is not a pointer; got an array{hint}")
            return self.memory.address(what, value).to_bytes(8, "little")
        if isinstance(value, (np.ndarray, np.generic)):
            check_type(what, value)
        return value_bytes(what, size, value)

    def _map_argument(self, what: str, value: TensorMapArgument, size: int) -> bytes:
        """A tensor map by value (a __grid_constant__ parameter), or by its address. Arrays that arguments share are
        one."""
        raw = map_at(value, self.memory.entered(what, value.array)[0]).packed()
        if size == BYTES:
            return raw
        if size == 8:
            return self.memory.add(what, np.frombuffer(raw, np.uint8), True).to_bytes(8, "little")
        raise Error(f"{what} is not a tensor map, which has {BYTES} bytes")

    # --- running ---

    def run(self, tick: Callable[[int], None] | None = None) -> PtxReport:
        """Run the grid, as many CTAs at a time as memory allows.

        Raises:
            Error: what stops the kernel; the limit is reached.
            KeyboardInterrupt: with the places of the threads.
        """
        self._run(tick)
        if all(finding.kind != "deadlock" for finding in self.findings.values()):
            for step, message in [*self.written.notes(), *self.cells.notes()]:
                self.remark(step, message)
        self._note_unused()
        self.memory.commit()
        return PtxReport(self)

    def _note_unused(self) -> None:
        """Turn races whose reads give what nothing uses into notes: a second run tells (see `device.suspects`).

        Where it finds the use of a value that has gone through shared or local memory, it cannot tell from which read
        that came: then all stay findings.
        """
        suspects = self.order.suspects
        if not suspects.findings or not suspects.settle():
            return
        second = self._again()
        second.order.undefined = suspects
        second._run()
        uses = [key for key in second.findings.keys() - self.findings.keys() if key[0] == "uninitialised"]
        if all(origin in suspects.met for _, _, origin in uses):
            for key in suspects.unused({origin for _, _, origin in uses}):
                found = self.findings.pop(key)
                step = next(one for one in self.program.steps if one.line == found.line)
                self.remark(step, f"{found.message}. What the load gives is not used")

    def _run(self, tick: Callable[[int], None] | None = None) -> None:
        total, self.launched = int(np.prod(self.grid)), 0
        each = self._resident()
        if any(step.statement.root == "clusterlaunchcontrol" for step in self.program.steps):
            each = min(each, max(1, total // self.cluster_size // 2) * self.cluster_size)
        with np.errstate(all="ignore"):
            while self.launched < total:
                first = self.launched
                self.launched = min(first + each, total)
                self.machine = machine = self._machine(first, self.launched - first)
                if tick is not None:
                    machine.tick = partial(tick, first)
                try:
                    machine.run()
                except Error as error:
                    raise self._stopped(error) from None
                except KeyboardInterrupt:
                    raise KeyboardInterrupt(f"interrupted after {machine.places()}") from None
                machine.pool.finish()
                if self.program.tensor_memory:
                    machine.tensor_memory.finish()
                    self._early_reads()
                machine.unread.finish(machine.shadow)
                self.order.ended(machine)
                self.executed += machine.executed

    def _stopped(self, error: Error) -> Error:
        """What stops the kernel, with what was found before: that may be why."""
        words = str(error)
        if self.findings:
            words += f". Found wrong before that: {next(iter(self.findings.values())).sentence.splitlines()[0]}"
        if self.printed:
            words += f". Printed before that: {''.join(self.printed)[-LAST_PRINTED:]}"
        return error if words == str(error) else Error(words, kind=error.kind)

    def take_over(self) -> int | None:
        """The first CTA of a cluster that has not been launched, which is now taken over; None if there is none."""
        first = self.launched
        if first >= int(np.prod(self.grid)):
            return None
        self.launched += self.cluster_size
        return first

    def _early_reads(self) -> None:
        """Registers of tcgen05.ld that are read before tcgen05.wait::ld: a rule of PTX (9.7.16.8) that compilers break
        without a known effect (Triton 3.9, CUTLASS's tutorials)."""
        found = {}
        for load, readers in self.program.early_reads().items():
            lines = [step.line for step in readers if self.counts[step.index]]
            if lines and self.counts[load.index]:
                found[load] = lines
        if not found:
            return
        count, first = sum(map(len, found.values())), min(map(min, found.values()))
        whose = "its registers" if len(found) == 1 else f"registers of {len(found)} such loads"
        self.remark(
            min(found, key=lambda load: load.line),
            f"{plural(count, 'statement')} from line {first} on use {whose} before tcgen05.wait::ld, which PTX does "
            "not permit; no effect of that is known",
        )

    def _machine(self, first: int, count: int) -> Machine:
        machine = Machine(self, first, count)
        machine.copies, machine.asynchronous = Copies(machine.count), Asynchronous(machine)
        machine.knowledge, machine.map_fences = Knowledge(machine, self.order), TensorMapFences(machine)
        machine.products, machine.cluster_barriers = Products(machine), ClusterBarriers(machine)
        machine.descriptors, machine.pool = Descriptors(machine), RegisterPool(machine)
        for observer in self.observers:
            observer.started(machine)
        machine.remote = RemoteAccesses(machine)
        if self.program.tensor_memory:
            machine.tensor_memory = TensorMemory(machine)
        if self.limit is not None:
            machine.most = 32 * self.limit - self.executed
        return machine

    def _parts_of_warps(self) -> bool:
        """Whether lanes exchange data in warps that are not full: 32 resident threads in a row must then be one warp's,
        so that one CTA runs at a time."""
        return bool(self.block_size % WARP) and any(
            step.statement.root in WARP_ROOTS
            or step.statement.modifiers[:1] == ("warp",)
            or wants_whole_warps(step.statement)
            for step in self.program.steps
        )

    def _resident(self) -> int:
        """How many CTAs run at a time: whole clusters."""
        threads = self.block_size
        bytes_each = threads * (sum(dtype.itemsize for dtype in self.program.registers) + self.program.local_size)
        bytes_each += self.shared_size * 12 + threads * (threads * self.cluster_size + 64) * 4
        if self._parts_of_warps():
            return self.cluster_size
        count = max(1, RESIDENT_BYTES // max(1, bytes_each)) // self.cluster_size * self.cluster_size
        return max(self.cluster_size, count)

    def special_registers(self, first: int, ctas: int) -> Mapping[str, Array]:
        """The special registers of the resident threads, made when they are read."""
        return SpecialRegisters(self, first, ctas)

    def choose(self, groups: Mapping[int, Any]) -> int:
        """The step whose threads go on: the lowest, or any by the seed of the schedule."""
        if self.schedule is not None:
            return self.schedule.choose(groups)
        return min(groups, key=self.program.ranks.__getitem__) if len(groups) > 1 else next(iter(groups))

    def part(self, machine: Machine, at: int, number: Array) -> tuple[Array, int, int]:
        """Which of the threads at a step go on, for how many steps at most, and at which step they stop, where others
        wait to go on with them. By the seed of a schedule it is some of the warps, and operations in flight may
        complete before."""
        if self.schedule is None:
            return number, PATIENCE, min((step for step in machine.groups if step > at), default=NEVER)
        if self.schedule.completes():
            self._complete_early(machine)
        return self.schedule.part(machine, at, number)

    def _complete_early(self, machine: Machine) -> None:
        """Operations in flight complete as early as PTX permits."""
        assert self.schedule is not None
        kind = int(self.schedule.random.integers(3))
        everyone = Threads(machine, np.arange(machine.count))
        if kind == 0:
            machine.asynchronous.complete_one()
        elif kind == 1:
            machine.copies.wait(machine, everyone, 0, True)
        elif machine.products.pending:
            machine.products.wait(everyone, 0)

    # --- places in words ---

    def cta_of(self, machine: Machine, thread: int) -> tuple[int, int, int]:
        x, y, z = self.coordinates(machine.first + thread // self.block_size)
        return int(x), int(y), int(z)

    def coordinates(self, cta: Any) -> tuple[Any, Any, Any]:
        """The place of CTAs in the grid; those of a cluster are consecutive."""
        if self.cluster_size == 1:
            return cta % self.grid[0], cta // self.grid[0] % self.grid[1], cta // (self.grid[0] * self.grid[1])
        inner, outer = cta % self.cluster_size, cta // self.cluster_size
        x, y, _ = (size // part for size, part in zip(self.grid, self.cluster))
        clusters = outer % x, outer // x % y, outer // (x * y)
        a, b, _ = self.cluster
        within = inner % a, inner // a % b, inner // (a * b)
        return tuple([c * size + w for c, size, w in zip(clusters, self.cluster, within)])

    def thread_text(self, machine: Machine, thread: int) -> str:
        return f"CTA {self.cta_of(machine, thread)}, thread {thread % self.block_size}"

    # --- findings ---

    def find(self, kind: str, step: Step, message: str, threads: Array, other: Step | None = None) -> None:
        """Note a finding; of one kind and one pair of statements it is counted."""
        key = (kind, step.line, other.line if other is not None else None)
        known = self.findings.get(key)
        if known is not None:
            self.findings[key] = known._replace(times=known.times + 1)
            return
        machine_thread = int(threads[0]) if len(threads) else 0
        cta = self.cta_of(self.machine, machine_thread)
        same = np.unique(threads[threads // self.block_size == machine_thread // self.block_size]) % self.block_size
        self.findings[key] = PtxFinding(
            kind, step.line, step.text, message, other.line if other is not None else None,
            other.text if other is not None else "", step.statement.location,
            other.statement.location if other is not None else None, cta, tuple(same.tolist()), 1,
        )  # fmt: skip

    machine: Machine

    def remark(self, step: Step, message: str) -> None:
        """Note what is remarkable at a statement, and not wrong."""
        key = (step.line, message)
        self.remarks[key] = self.remarks.get(key, 0) + 1

    def touched_in_flight(
        self, machine: Machine, step: Step, threads: Threads | Repeated, granules: Array, does: str
    ) -> None:
        """Granules (access, granule) are touched, some of which an asynchronous operation writes."""
        flying = machine.flight[granules]
        which, number = flying.any(axis=1), int(flying.max())
        byte = machine.byte_of(int(granules[flying == number][0]) * machine.granule)
        other = self.flight_step(machine, number)
        self.find(
            "wait",
            step,
            f"{does} {byte}, which an asynchronous copy in flight writes: it is not waited for"
            f"{machine.asynchronous.signalled_text(number, int(threads.number[which][0]))}",
            threads.number[which],
            other,
        )

    def flight_step(self, machine: Machine, number: int) -> Step | None:
        """The statement that issued an operation in flight."""
        copy = machine.copies.flights.get(number) or machine.asynchronous.flights.get(number)
        return copy.step if copy is not None else None

    def read_in_flight(
        self, machine: Machine, step: Step, threads: Threads | Repeated, places: Array, width: int
    ) -> None:
        """Bytes are written that an asynchronous operation in flight reads."""
        busy = machine.readers[places] > 0
        if not busy.any():
            return
        at = int(np.flatnonzero(busy)[0])
        other = machine.async_reads.reader_of(int(places[at]))
        self.find(
            "race",
            step,
            f"writes {machine.byte_of(int(places[at]) * machine.granule)}, which an asynchronous operation in flight "
            "reads: it must be waited for before",
            threads.number[at // width : at // width + 1],
            other,
        )

    # --- undefined values ---

    def mark_undefined(
        self, machine: Machine, step: Step, index: int, threads: Threads, bits: Array | None = None
    ) -> None:
        """A register of some threads holds what nothing has written, or has such bits."""
        register = machine.register(index)
        mask = machine.undefined.get(index)
        if mask is None:
            mask = machine.undefined[index] = np.zeros(machine.count, register.dtype)
        if bits is None or register.dtype.kind in "bc":
            mask[threads.number if bits is None else threads.number[bits.astype(bool)]] = all_bits(register.dtype)
        else:
            mask[threads.number] = bits.astype(register.dtype)
        machine.origin[index] = step

    def undefined_use(self, machine: Machine, step: Step, threads: Threads, index: int, how: str) -> None:
        name = machine.program.names[index]
        origin = machine.origin.get(index)
        why = "no instruction has written"
        if origin is not None:
            absent = origin.statement.root == "shfl"
            why = "comes from a lane that does not execute the shuffle" if absent else (
                "comes from memory that nothing has written"
            )  # fmt: skip
        self.find("uninitialised", step, f"{name}, which {why}, {how}", threads.number, origin)

    def undefined_guard(self, machine: Machine, step: Step, threads: Threads, index: int) -> None:
        bad = machine.undefined[index][threads.use]
        if bad.any():
            self.undefined_use(machine, step, threads.where(bad), index, "decides whether it is executed")

    def undefined_values(self, machine: Machine, step: Step, threads: Threads) -> Array | None:
        """Execute a step that reads registers with undefined values, and follow them. Returns what the step does: a
        mask of the threads that must try again."""
        critical = critical_registers(machine, step)
        for index in critical & machine.undefined.keys():
            bad = machine.undefined[index][threads.use].astype(bool)
            if bad.any():
                self.undefined_use(machine, step, threads.where(bad), index, "is used as an address or operand")
        bad = np.zeros(len(threads), bool)
        came = None
        for index in step.reads & machine.undefined.keys():
            here = machine.undefined[index][threads.use].astype(bool)
            if here.any():
                bad |= here
                came = machine.origin.get(index, came)
        if bad.any() and not critical and followed_by_bits(step):
            return follow_bits(machine, step, threads, came)
        later: Array | None = step.run(machine, threads)
        if step.statement.root == "match":  # each lane learns what all others hold
            bad |= np.isin(threads.number // WARP, threads.number[bad] // WARP)
        if later is not None:
            bad &= ~later
        if bad.any() and not critical:
            some = threads.where(bad)
            for index in step.writes:
                self.mark_undefined(machine, step, index, some)
                if came is not None:
                    machine.origin[index] = came
                else:
                    machine.origin.pop(index, None)
        return later

    def undefined_bytes(self, machine: Machine, step: Step, threads: Threads, places: Array, size: int) -> None:
        bad = ~machine.written[places[:, None] + np.arange(size)].all(axis=1)
        byte = machine.byte_of(int(places[bad][0]))
        self.find("uninitialised", step, f"reads {byte}, which nothing has written", threads.number[bad])

    # --- what the memory model watches ---

    def atomic_shared(self, machine: Machine, step: Step, threads: Threads, places: Array, size: int) -> None:
        """An atomic operation on shared memory: it collides with plain accesses, not with other atomic ones."""
        granules = machine.granules(places, size)
        flat, width = granules.reshape(-1), granules.shape[1]
        team, member = np.repeat(threads.team, width), np.repeat(threads.member, width)
        shadow = machine.shadow
        plain = ~shadow.atomic[flat]
        if plain.any():
            found = shadow.conflict(flat[plain], team[plain], member[plain])
            if found is not None:
                place, other, wrote = found
                which = int(np.flatnonzero(plain)[place]) // width
                machine.race(
                    step, threads, which, int(flat[plain][place]), other, "writes", "wrote" if wrote else "read"
                )
        shadow.write(flat, team, member, step.index)
        shadow.atomic[flat] = True

    def proxy_fence(self, machine: Machine, step: Step, threads: Threads, words: tuple[str, ...]) -> None:
        """fence.proxy.async: of both state spaces, or of the one that it names."""
        if not any(word.startswith("async") for word in words):
            return
        space = next((word.partition("::")[0] for word in words if word.partition("::")[0] in ("shared", "global")), "")
        before = machine.order.tick(threads.team, threads.member)
        for name, fences in machine.proxy_fences.items():
            if space in ("", name):
                fences.fence(threads.team, threads.member, before)

    def before(self, step: Step, threads: Threads) -> None:
        """Threads are about to execute a statement."""
        for observer in self.observers:
            observer.before(step, threads)

    def synchronised(self, step: Step, threads: Array, places: Array, amounts: Array) -> None:
        """Threads meet barriers, as of `Observer`."""
        for observer in self.observers:
            observer.synchronised(step, threads, places, amounts)

    def after(self, step: Step, threads: Threads) -> None:
        """Threads have executed a statement."""
        for observer in self.observers:
            observer.after(step, threads)

    def ended(self, machine: Machine, threads: Threads) -> None:
        """Threads have ended: what they have in flight comes to its end."""
        for flight in list(machine.asynchronous.flights.values()):
            if not flight.barriers and not machine.alive[flight.thread]:
                if flight.reads and not flight.source_read and len(flight.granules):
                    self.remark(
                        flight.step, "its thread ends without waiting until the shared memory has been read "
                        "(cp.async.bulk.wait_group.read): whether that is kept so long PTX leaves open",
                    )  # fmt: skip
                machine.asynchronous.complete(flight)

    def arrive_later(self, machine: Machine, step: Step, thread: int, place: int) -> None:
        """cp.async.mbarrier.arrive: the thread's copies so far arrive now, which is the latest that is of use."""
        machine.pending_arrivals.append((step, thread, place))

    def complete_one(self, machine: Machine) -> bool:
        """Bring about one completion of an asynchronous operation in each team, so that who waits there may go on."""
        if machine.asynchronous.complete_one():
            return True
        pending, machine.pending_arrivals = machine.pending_arrivals, []
        ready: set[int] = set()  # teams in which a phase is complete
        for step, thread, place in pending:
            team, before = int(machine.team_of[thread]), machine.events
            if team in ready:
                machine.pending_arrivals.append((step, thread, place))
                continue
            machine.copies.wait(machine, Threads(machine, np.array([thread])), 0, True)
            machine.asynchronous.arrive(step, np.array([thread]), place, np.ones(1, np.int64))
            if machine.events != before:
                ready.add(team)
        return bool(ready)

    def counted(self, machine: Machine, step: Step, number: Array) -> Step | None:
        """The statement that says for how much the mbarrier waits at which threads sleep; None elsewhere."""
        place = int(machine.asynchronous.asked[number[0], 0])
        barrier = machine.asynchronous.barriers.get(place) if step.statement.root == "mbarrier" else None
        return None if barrier is None else barrier.counted

    def awaited(self, machine: Machine, step: Step, threads: Threads) -> str:
        """What threads that sleep wait for, in words."""
        asked = [(int(place), int(phase)) for place, phase in machine.asynchronous.asked[threads.number]]
        waiting = [
            machine.asynchronous.barriers[place].text(machine, phase)
            for place, phase in dict.fromkeys(asked) if place in machine.asynchronous.barriers
        ] if step.statement.root == "mbarrier" else []  # fmt: skip
        if "cluster" in step.statement.modifiers and step.statement.root == "barrier":
            waiting = machine.cluster_barriers.missing(threads)
        elif wants_whole_warps(step.statement):
            waiting = ["not all lanes of the warp execute it", *self._other_lanes(machine, threads)]
        elif step.statement.root in WARP_ROOTS or step.statement.modifiers[:1] == ("warp",):
            waiting = self._other_lanes(machine, threads)
        overtaken = machine.asynchronous.overtaken(threads)
        return "".join([f"; {one}" for one in [*dict.fromkeys(waiting)][:4]]) + overtaken

    def _other_lanes(self, machine: Machine, threads: Threads) -> list[str]:
        """Where the other lanes of a warp are that wait for these, in words."""
        warp = int(threads.number[0]) // WARP
        lanes = np.setdiff1d(np.flatnonzero(machine.alive[warp * WARP : (warp + 1) * WARP]), threads.lane)
        places = [(number, machine.program.steps[at]) for at, number, _ in machine.asleep]
        places += [(entry.number, entry.step) for entry in machine.barriers.waiting]
        return [
            f"{lanes_text(tuple(there.tolist()))} of the warp wait at line {step.line}: {step.text}"
            for number, step in places
            if len(there := np.intersect1d(number[number // WARP == warp] % WARP, lanes))
        ]
