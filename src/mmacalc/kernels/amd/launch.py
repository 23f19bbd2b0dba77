"""`mmacalc.launch` of compiled kernels: arguments, registers as the hardware sets them up, batches of workgroups."""

from __future__ import annotations

import math
from functools import partial
from itertools import islice
from math import prod

import numpy as np

from ...base.checks import shown
from ...base.errors import Error, plural
from ..device.findings import Tally
from ..device.launch import AddressedValue, Dim3, buffer_bytes, checked_seed, value_bytes
from ..device.memory import GlobalMemory, check_type
from ..device.shared import PrivateMemory, SharedMemory
from ..device.suspects import ORIGIN
from ..device.traffic import BankCounter
from .batch import Batch
from .checks import Unread, check_lane_masks, check_result_waits, check_wait_states
from .clusters import cluster_of, cluster_words, clustered
from .control import CODE_BASE
from .ordering import global_checks
from .program import new_program, program_of
from .report import KernelReport, tracer
from .state import CLAMPS_NAN, DX10_CLAMP, EXEC, FP16_OVERFLOW, IEEE, ROWS, SCALARS, Registers, packed
from .target import PRIVATE_BASE, SCRATCH_RESOURCE, SHARED_BASE, MachineTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...asm.code_objects import Kernel, KernelArgument, KernelDescriptor
    from ...base.arrays import Array
    from ..device.memory import GlobalMemory
    from ..device.observer import Observer
    from ..device.suspects import Suspects
    from .ordering import GlobalChecks
    from .program import Program

__all__ = ["launch_compiled"]

MOST_WAVES = 1024
"""Waves that run together at most."""
MOST_BYTES = 1 << 27
"""Bytes of registers and LDS of a batch, about."""
COMMUNICATING = 8
"""How many times as much runs together where workgroups communicate, and may wait for others."""
KERNARG_ALIGNMENT = 64
"""The kernel arguments take a multiple of this number of bytes."""
MOST_SCRATCH, MOST_ARGUMENTS = 1 << 18, 1 << 20
"""Bytes of scratch for a work-item (hardware has 8 MiB for a wave), and of all kernel arguments."""
DYNAMIC_STACK = 16384
"""Bytes of scratch for a stack whose size the compiler does not know."""


OPTIONS = ("shared", "trace", "trace_wave", "limit", "schedule", "arguments", "cluster")
"""What a compiled kernel is launched with by name."""


class _CompiledLaunch:
    """A launch of a compiled kernel: its memory, program and initial registers."""

    arguments: int
    block: Dim3
    checks: GlobalChecks | None
    cluster: Dim3
    descriptor: KernelDescriptor
    grid: Dim3
    kernel: Kernel
    lds_bytes: int
    lds_counter: BankCounter
    memory: GlobalMemory
    packet: int
    program: Program
    schedule: int | None
    tally: Tally
    target: MachineTarget
    undefined: Suspects | None

    def __init__(  # noqa: PLR0913
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared: int, schedule: int | None,
        buffer: object = None, cluster: object = None, undefined: Suspects | None = None,
    ) -> None:  # fmt: skip
        self.undefined, self.checks = undefined, None
        self.schedule, self.cluster = schedule, cluster_of(kernel, cluster, grid)
        self.kernel, self.grid, self.block = kernel, grid, block
        self.descriptor = kernel.descriptor
        wave = kernel.wavefront_size
        self.target = MachineTarget(kernel.target, wave)
        self.program = (program_of if undefined is None else new_program)(kernel, self.target)
        self.lds_bytes = self.descriptor.group_segment_size + shared
        self._check_sizes()
        self.memory = GlobalMemory()
        for section in sorted(kernel.sections, key=lambda one: one.address):
            content = np.frombuffer(kernel.variables.of(section), np.uint8)
            behind = content if content.flags.writeable else None
            start = CODE_BASE + section.address
            self.memory.add(f"section {section.name}", content, section.writable, behind, start)
        self._arguments(args, shared, buffer)
        self.tally = Tally(self.program.text, kernel.source_lines.at)
        self.lds_counter = BankCounter(self.target.architecture, wave)

    def _check_sizes(self) -> None:
        """Refuse what the packet of a dispatch has no room for, and what no GPU has.

        Raises:
            Error: more work-items along an axis than 32 bits count, too much LDS, scratch or arguments.
        """
        architecture = self.target.architecture
        for axis, groups, threads in zip("xyz", self.grid, self.block):
            if groups * threads >> 32:
                raise Error(
                    f"launch: grid and block are {groups} x {threads} = {groups * threads} threads along {axis}; "
                    f"a dispatch has fewer than 2^32"
                )
        if self.lds_bytes > architecture.lds_bytes:
            raise Error(
                f"the kernel wants {self.lds_bytes} bytes of LDS; a workgroup of {architecture.title} has "
                f"{architecture.lds_bytes}"
            )
        for what, size, most in (("scratch for a work-item", self.descriptor.private_segment_size, MOST_SCRATCH),
                                 ("kernel arguments", self.kernel.argument_bytes, MOST_ARGUMENTS)):  # fmt: skip
            if size > most:
                raise Error(f"the kernel wants {size} bytes of {what}; mmacalc has {most}")

    def _arguments(self, args: Sequence[Any], shared: int, buffer: object) -> None:
        # LLVM widens loads beyond the last argument, as far as the alignment of the segment lets it.
        given = None if buffer is None else buffer_bytes(buffer, args, *buffer_sizes(self.kernel))
        longest = max(self.kernel.argument_bytes, 1, len(given or b""))
        length = -(-longest // KERNARG_ALIGNMENT) * KERNARG_ALIGNMENT
        self.memory.add_kept()
        if given is None:
            given = packed_arguments(self.kernel, args, self.memory)
        content = with_hidden(given.ljust(length, b"\0"), self.kernel.arguments, (self.grid, self.block, shared))
        for one in self.kernel.arguments:
            if one.value_kind in OF_THE_HOST:
                what = f"the memory of {OF_THE_HOST[one.value_kind]} ({one.value_kind}), which is not carried out"
                absent = self.memory.add(what, np.zeros(0, np.uint8), False).to_bytes(8, "little")
                content = content[: one.offset] + absent + content[one.offset + 8 :]
        self.argument_bytes = content
        self.arguments = self.memory.add("the kernel arguments", np.frombuffer(content, np.uint8), False)
        self.packet = self.memory.add("the dispatch packet", np.frombuffer(self._packet(), np.uint8), False)
        self.memory.finish()

    def _packet(self) -> bytes:
        """The AQL packet of the dispatch (HSA runtime specification, "Kernel dispatch packet")."""
        grid, block = self.grid, self.block
        halves = np.array([2, 3, *block, 0], np.uint16).tobytes()
        items = np.array([g * b for g, b in zip(grid, block)], np.uint32).tobytes()
        rest = np.array([self.descriptor.private_segment_size, self.lds_bytes], np.uint32).tobytes()
        return (halves + items + rest).ljust(64, b"\0")

    # --- batches ---

    @property
    def waves(self) -> int:
        """The waves of a workgroup."""
        return -(-self.block.x * self.block.y * self.block.z // self.target.wave)

    def run(
        self,
        tick: Callable[[int], None],
        trace: tuple[int, Callable[..., None]] | None = None,
        limit: float = math.inf,
        observers: tuple[Observer, ...] = (),
    ) -> None:
        """Run all workgroups; what they stored is in the launch's memory then.

        Args:
            tick: called now and then with the number of workgroups that are done.
            trace: the number of a wave of the launch, and what is called after each of its instructions.
            limit: how many instructions all waves may execute. observers: who looks on.

        Raises:
            Error: what stops the kernel; the limit is reached.
        """
        vectors, accumulators = self.program.registers()
        if self.program.indexes:
            vectors = max(vectors, self.kernel.vgpr_count - self.kernel.accvgpr_count)
        each = self.waves
        lane_bytes = 5 * (vectors + accumulators) + self.descriptor.private_segment_size * 2
        size = each * self.target.wave * lane_bytes + 4 * self.lds_bytes
        checks = global_checks(self.kernel, self.program, self.memory, (self.grid, self.cluster), each, self.tally)
        if checks is not None:
            self.checks, checks.undefined = checks, self.undefined
        together = 1 if checks is None or not checks.order.communicates else COMMUNICATING
        step = max(1, min(together * MOST_WAVES // each, together * MOST_BYTES // max(1, size)))
        step = max(step // prod(self.cluster), 1) * prod(self.cluster)
        places, total = clustered(self.grid, self.cluster), prod(self.grid)
        done, unread = 0, Unread(self.lds_bytes)
        with np.errstate(all="ignore"):
            while groups := list(islice(places, step)):
                batch = self._batch(groups, max(vectors, 3), accumulators)
                batch.limit, batch.observers = limit, observers
                batch.unread = unread
                batch.grid_races.begin(checks, done)
                left = total - done - len(groups)
                batch.later = f"{plural(left, 'workgroup')} of the launch, which has {total}," if left else ""
                for observer in observers:
                    observer.started(batch)
                if trace is not None and done * each <= trace[0] < (done + len(groups)) * each:
                    batch.trace = (trace[0] - done * each, trace[1])
                finished = done
                batch.run(lambda: tick(finished))  # noqa: B023 - called within this turn
                done += len(groups)
                self.tally.steps += batch.steps
        unread.finish(self.program, self.tally)

    def _batch(self, groups: list[Dim3], vectors: int, accumulators: int) -> Batch:
        lanes, each = self.target.wave, self.waves
        registers = Registers(each * len(groups), lanes, vectors, accumulators, self._mode())
        threads = self.block.x * self.block.y * self.block.z
        thread = np.arange(each * lanes)
        active = np.tile((thread < threads).reshape(each, lanes), (len(groups), 1))
        registers.s[EXEC : EXEC + lanes // 32] = packed(active)
        registers.mark_written(SCALARS + EXEC, SCALARS + EXEC + 1)
        self._vector_registers(registers, thread, len(groups))
        self._scalar_registers(registers, groups)
        entry = self.kernel.address
        if (
            self.descriptor.kernarg_preload[1] and self.target.generation == "gfx9"
        ):  # behind the code that loads them for older firmware
            entry += 256
        registers.pc[:] = entry
        owners = registers.waves * lanes
        stores = (
            SharedMemory(len(groups), self.lds_bytes, self.program.labels),
            PrivateMemory(owners, self._scratch_bytes()),
        )
        found = Batch(self.program, registers, self.memory, stores, groups, self.tally, self.lds_counter, self.schedule)
        found.in_clusters(prod(self.cluster), [cluster_words(group, self.cluster)[2] for group in groups])
        return found

    def _scratch_bytes(self) -> int:
        return self.descriptor.private_segment_size + (DYNAMIC_STACK if self.descriptor.uses_dynamic_stack else 0)

    def _mode(self) -> int:
        found = self.descriptor
        rounding = found.round_f32 | found.round_f16_f64 << 2
        subnormal = found.denormals_f32 << 4 | found.denormals_f16_f64 << 6
        bits = rounding | subnormal | (FP16_OVERFLOW if found.fp16_overflow else 0)
        if self.target.generation == "gfx12":
            return bits | CLAMPS_NAN
        return bits | (DX10_CLAMP if found.dx10_clamp else 0) | (IEEE if found.ieee_mode else 0)

    def _vector_registers(self, registers: Registers, thread: Array, groups: int) -> None:
        block, lanes = self.block, registers.lanes
        ids: tuple[Array, ...] = (
            thread % block.x, thread // block.x % block.y, thread // (block.x * block.y)
        )  # fmt: skip
        if self.target.packed_ids:
            ids = (ids[0] | ids[1] << 10 | ids[2] << 20,)
            wanted = 1
        else:
            wanted = self.descriptor.work_item_id + 1
        for number, each in enumerate(ids[:wanted]):
            registers.v[number] = np.tile(each.astype(np.uint32).reshape(-1, lanes), (groups, 1))
            registers.mark_written(number)

    def _scalar_registers(self, registers: Registers, groups: list[Dim3]) -> None:
        descriptor = self.descriptor
        values = {
            "kernarg_segment_ptr": self.arguments,
            "dispatch_ptr": self.packet,
            "private_segment_size": descriptor.private_segment_size,
            "flat_scratch_init": 0,
            # The base tells scratch from other buffers; words 2 and 3: no bound, swizzled with a work-item's id.
            "private_segment_buffer": SCRATCH_RESOURCE | 0xFFFFFFFF << 64 | 0x00A00000 << 96,
        }
        start = descriptor.kernarg_preload[0]
        for name, first, count in descriptor.user_sgprs:
            value, known = values.get(name, 0), name in values or name == "kernarg_preload"
            if name == "kernarg_preload":
                value = int.from_bytes(self.argument_bytes[4 * start : 4 * (start + count)], "little")
            for number in range(count if known else 0):  # others, as of the queue, are undefined
                self._set(registers, first + number, value >> 32 * number & 0xFFFFFFFF)
        self._workgroup_ids(registers, groups)
        for name, value in (("shared_base", SHARED_BASE), ("private_base", PRIVATE_BASE),
                            ("flat_scratch_base", PRIVATE_BASE)):  # fmt: skip
            for number in (0, 1):
                self._set(registers, ROWS[name] + number, value >> 32 * number & 0xFFFFFFFF)

    def _workgroup_ids(self, registers: Registers, groups: list[Dim3]) -> None:
        """The workgroup's ids; of gfx12 in trap registers, and with them the number of the wave in its workgroup.

        Of TTMP8 only bits 29 to 25 are documented (LLVM 22, llvm.amdgcn.wave.id): the others are undefined.
        """
        each = self.waves
        ids = [np.repeat([group[axis] for group in groups], each).astype(np.uint32) for axis in range(3)]
        if self.target.generation == "gfx12":
            ttmp = ROWS["ttmp"]
            if self.target.translates:
                words = [cluster_words(group, self.cluster) for group in groups]
                ids = [np.repeat([one[0][axis] for one in words], each).astype(np.uint32) for axis in range(3)]
                self._set(registers, ttmp + 6, np.repeat(np.array([one[1] for one in words], np.uint32), each))
            self._set(registers, ttmp + 9, ids[0])
            self._set(registers, ttmp + 7, ids[1] & np.uint32(0xFFFF) | ids[2] << np.uint32(16))
            registers.s[ttmp + 8] = np.tile(np.arange(each, dtype=np.uint32), len(groups)) << np.uint32(25)
            registers.undefined[SCALARS + ttmp + 8] = np.full((registers.waves, 1), ~np.uint32(31 << 25), np.uint32)
            return
        values = dict(zip(("workgroup_id_x", "workgroup_id_y", "workgroup_id_z"), ids))
        values["private_segment_wave_offset"] = np.zeros(1, np.uint32)
        for name, row in self.descriptor.workgroup_id_sgprs:
            if name in values:
                self._set(registers, row, values[name])

    @staticmethod
    def _set(registers: Registers, row: int, value: Any) -> None:
        registers.s[row] = value
        registers.mark_written(SCALARS + row)


def launch_compiled(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    options: Mapping[str, Any],
    tick: Callable[[int], None],
    observers: tuple[Observer, ...] = (),
) -> KernelReport:
    """Run a compiled kernel: see `mmacalc.launch`.

    Raises:
        Error: an option that there is not, arguments that do not fit, what stops the kernel.
    """
    if unknown := [name for name in options if name not in OPTIONS]:
        raise Error(f"launch of a compiled kernel takes {', '.join(OPTIONS)} by name; got {unknown[0]}")
    shared, number = options.get("shared", 0), options.get("trace_wave", 0)
    if not isinstance(shared, int) or not 0 <= shared < 1 << 63:
        raise Error(f"shared is the bytes of dynamic LDS, a whole number from 0 up; got {shown(shared)}")
    limit = options.get("limit")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise Error(f"limit is how many instructions all waves may execute, from 1 up; got {shown(limit)}")
    threads, most = block.x * block.y * block.z, kernel.maximum_workgroup_size
    if most and threads > most:
        raise Error(f"{kernel.name} was compiled for at most {most} threads in a block; got {threads}")
    seed = checked_seed(options.get("schedule"))
    found = _CompiledLaunch(kernel, grid, block, args, shared, seed, options.get("arguments"), options.get("cluster"))
    waves = found.waves * grid.x * grid.y * grid.z
    trace = None
    if options.get("trace") is not None:
        if not callable(options["trace"]):
            raise Error(f"trace is a function that takes a TraceStep; got {shown(options['trace'])}")
        if not isinstance(number, int) or not 0 <= number < waves:
            raise Error(f"trace_wave is from 0 to {waves - 1}, all waves of the launch counted; got {shown(number)}")
        trace = number, tracer(options["trace"], kernel.source_lines)
    program, tally = found.program, found.tally
    with program.lock:
        program.reset()
        found.run(tick, trace, math.inf if limit is None else limit, observers)
        again = partial(_CompiledLaunch, kernel, grid, block, args, shared, seed, options.get("arguments"),
                        options.get("cluster"))  # fmt: skip
        _note_unused(found, again)
        found.memory.commit()
        check_wait_states(kernel, program, tally)
        check_result_waits(kernel, program, tally)
        check_lane_masks(kernel, program, tally)
        steps = tuple(step for step in program.steps.values() if step.executed)
        sizes = grid.x * grid.y * grid.z, waves
        return KernelReport(kernel, found.target.architecture, sizes, tally, steps, found.lds_counter.sites)


def _note_unused(first: _CompiledLaunch, again: Callable[[Suspects], _CompiledLaunch]) -> None:
    """Turn races whose reads give what nothing uses into notes: a second run tells (see `suspects`).

    Where it finds the use of a value that has gone through LDS or scratch, it cannot tell from which read that came:
    then all stay findings.
    """
    suspects = None if first.checks is None else first.checks.shadow.suspects
    if suspects is None or not suspects.findings or not suspects.settle():
        return
    second, tally = again(suspects), first.tally
    second.run(lambda done: None)
    uses = second.tally.undefined.keys() - tally.undefined.keys()
    if all(what == ORIGIN for _, what in uses):
        for key in suspects.unused({address for address, _ in uses}):
            found = tally.findings.pop(key)
            message = f"{found.message}. What the load gives is not used"
            tally.note(found._replace(kind="not used", message=message))


# --- arguments: LLVM, AMDGPUUsage, "Code Object V5 Metadata", `.args` ---


def buffer_sizes(kernel: Kernel) -> tuple[int, int]:
    """How many bytes a buffer of all arguments has, at least and at most: those that the caller gives, and the whole
    segment. A kernel whose descriptor and metadata say nothing takes any number."""
    if not kernel.arguments:
        return kernel.argument_bytes, kernel.argument_bytes or MOST_ARGUMENTS
    least = max((one.offset + one.size for one in kernel.given_arguments), default=0)
    return least, max(least, kernel.argument_bytes)


def packed_arguments(kernel: Kernel, given: Sequence[Any], memory: GlobalMemory) -> bytes:
    """The bytes of the arguments that a caller gives, at their offsets; arrays are entered into global memory.

    Raises:
        Error: too few or too many; one that does not fit; the metadata lists none, and there are some.
    """
    listed = kernel.given_arguments
    if not kernel.arguments and kernel.argument_bytes:
        raise Error(
            f"the kernel has {plural(kernel.argument_bytes, 'byte')} of arguments, and its metadata does not say "
            f"which: give them as one buffer, arguments=BYTES (run-kernel: --args buffer:FILE)"
        )
    if len(listed) != len(given):
        raise Error(f"the kernel takes {plural(len(listed), 'argument')} ({_signature(listed)}); got {len(given)}")
    content = bytearray(max((one.offset + one.size for one in listed), default=0))
    for number, (one, value) in enumerate(zip(listed, given)):
        packed = _packed(number, one, value, memory)
        content[one.offset : one.offset + len(packed)] = packed
    return bytes(content)


OF_THE_HOST = {
    "hidden_hostcall_buffer": "printf and assert",
    "hidden_printf_buffer": "printf",
    "hidden_heap_v1": "malloc and free",
}
"""Hidden arguments through which a kernel asks for what the host or the runtime's heap does: an access says so."""


def with_hidden(content: bytes, listed: Sequence[KernelArgument], sizes: tuple[Dim3, Dim3, int]) -> bytes:
    """The kernel argument segment with the hidden arguments, which the runtime sets.

    Args:
        sizes: the grid in workgroups, the block, the bytes of dynamic LDS.
    """
    found = bytearray(content)
    for one in listed:
        if one.hidden:
            value = _hidden(one.value_kind.removeprefix("hidden_"), *sizes)
            found[one.offset : one.offset + one.size] = (value & (1 << 8 * one.size) - 1).to_bytes(one.size, "little")
    return bytes(found)


def _signature(listed: Sequence[KernelArgument]) -> str:
    return ", ".join(_described(number, one) for number, one in enumerate(listed)) or "none"


def _described(number: int, one: KernelArgument) -> str:
    name = one.name or f"argument {number + 1}"
    return f"{name}: a pointer" if one.value_kind != "by_value" else f"{name}: {plural(one.size, 'byte')}"


def _packed(number: int, one: KernelArgument, value: Any, memory: GlobalMemory) -> bytes:
    size, name = one.size, one.name or f"argument {number + 1}"
    if isinstance(value, AddressedValue):
        return value_bytes(name, size, value.packed(memory.address(name, value.array)))
    if isinstance(value, (np.ndarray, np.generic)):
        check_type(name, value)
    if isinstance(value, np.ndarray) and value.ndim:
        if size != 8:
            raise Error(f"{name} of the kernel is a value of {plural(size, 'byte')}; got an array")
        if one.value_kind == "by_value" and value.dtype.names:
            raise Error(
                f"{name} of the kernel is a value of {plural(size, 'byte')}; got an array of structures. Give one of "
                f"them (array[0]), or the address of the array: numpy.uint64(mmacalc.address_of(array))"
            )
        return memory.address(name, value).to_bytes(8, "little")
    if one.value_kind != "by_value":
        if value is None:
            return bytes(size)
        raise Error(f"{name} of the kernel is a pointer: it takes a NumPy array, or None; got {shown(value)}")
    return value_bytes(name, size, value)


def _hidden(kind: str, grid: Dim3, block: Dim3, lds: int) -> int:
    name, _, axis = kind.rpartition("_")
    if axis in ("x", "y", "z"):
        at = "xyz".index(axis)
        return {"block_count": grid[at], "group_size": block[at], "remainder": 0, "global_offset": 0}.get(name, 0)
    dimensions = 3 if grid.z * block.z > 1 else 2 if grid.y * block.y > 1 else 1
    return {
        "grid_dims": dimensions, "dynamic_lds_size": lds, "private_base": PRIVATE_BASE >> 32,
        "shared_base": SHARED_BASE >> 32,
    }.get(kind, 0)  # fmt: skip
