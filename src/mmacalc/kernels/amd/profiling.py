"""The profile of a compiled AMD kernel: what its instructions are, how many waves share a SIMD, the model's figures."""

from __future__ import annotations

from ...asm.decoder import text
from ...asm.operations import operation
from ...hazards.memory_counters import COUNTERS, waits_of
from ...hazards.register_use import states_given
from ...memory_access.banks import rule
from ..device.issue import Figure, Pipe, Work, modelled
from ..device.observer import Observer
from ..device.profile import Followed, Jumps, Occupancy, Profile, Profiled, counts_of, lines_of, loops_of, spans_of
from ..device.traffic import BankCounter, address_patterns, units_moved
from .state import SCALARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...asm.code_objects import Kernel
    from ...base.arrays import Array
    from ...model import Architecture
    from .batch import Batch
    from .memory import ActiveLanes
    from .program import Program, Step
    from .report import KernelReport
    from .state import Group

__all__ = ["AmdProfiler", "occupancy", "static_profile"]

LINE = 128
"""Bytes of a cache line (CDNA3 ISA guide, "Memory buffer"; RDNA3 ISA guide, section 1; 64 in the L1 of CDNA1)."""

# --- what an instruction is ---

_BY_UNIT = {"ds": "shared", "flat": "memory", "mubuf": "memory", "smem": "scalar memory", "valu": "vector"}


def kind_of(step: Step, target: str) -> str:
    """One of `device.profile.KINDS`."""
    instruction = step.instruction
    name = instruction.name
    if step.matrix is not None:
        return "matrix"
    if _waits(step, "gfx9") or _waits(step, "gfx11") or _waits(step, "gfx12"):
        return "wait"
    found = operation(name, target)
    if step.access is not None:
        return {"ds": "shared", "scalar": "scalar memory", "scalar buffer": "scalar memory"}.get(
            step.access.unit, "memory"
        )
    flags = found.flags if found is not None else frozenset()
    if name.startswith("s_barrier"):
        return "barrier"
    if flags & {"branch", "call", "return"}:
        return "branch"
    unit = found.unit if found is not None else ""
    if unit in _BY_UNIT:
        return "other" if name == "v_nop" else _BY_UNIT[unit]
    return "other" if step.kind == "control" or not (step.reads or step.writes) else "scalar"


def _waits(step: Step, generation: str) -> dict[str, int]:
    """What a wait for memory waits for; nothing of other instructions."""
    return waits_of(step.instruction.name, int(step.instruction.modifiers.get("simm16", 0)), generation)


# --- how many waves share a SIMD ---


WIDEST = 16  # bytes of a lane's access
BARRIERS = 16
"""Workgroups of several waves on a compute unit (LLVM 22, AMDGPUBaseInfo, getMaxWorkGroupsPerCU)."""


class _Registers:
    """Vector registers of a SIMD, by lane of a wave: how many, by how many they are given out, waves at most.

    Source: LLVM 22, AMDGPUBaseInfo (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU).
    """

    __slots__ = ("granule", "most", "total", "unified")
    granule: int
    most: int
    total: int
    unified: bool

    def __init__(self, total: int, granule: int, most: int, unified: bool = False) -> None:
        self.total, self.granule, self.most, self.unified = total, granule, most, unified


_MANY_REGISTERS = ("gfx1100", "gfx1101", "gfx1150", "gfx1151", "gfx1200", "gfx1201")
_GFX12_SERIES = ("gfx125",)


def _registers(target: str, wave: int) -> _Registers:
    if target.startswith(("gfx90a", "gfx94", "gfx95", "gfx9-4")):
        return _Registers(512, 8, 8, unified=True)
    if target.startswith("gfx9"):
        return _Registers(256, 4, 8 if target == "gfx90a" else 10)
    if target.startswith(_GFX12_SERIES):
        return _Registers(1024, 16, 16)
    half = 1 if wave == 32 else 2
    if target in _MANY_REGISTERS or target.startswith("gfx12"):
        return _Registers(1536 // half, 24 // half, 16)
    return _Registers(1024 // half, 16 // half, 16)


def occupancy(kernel: Kernel, architecture: Architecture, waves: int, shared: int) -> Occupancy:
    """How many waves of a kernel share a SIMD.

    Args:
        waves: of a workgroup. shared: bytes of dynamic LDS.
    """
    file = _registers(kernel.target, kernel.wavefront_size)
    vectors = kernel.vgpr_count  # accumulators among them, where both are in one file
    if not file.unified:
        vectors = max(vectors, kernel.accvgpr_count)
    lds = kernel.descriptor.group_segment_size + shared
    simds = 4
    room = _lds_of_unit(architecture)
    limits = {"the waves that a SIMD holds": file.most * simds // waves}
    by_registers = file.most
    if vectors:
        given = -(-vectors // file.granule) * file.granule
        by_registers = max(1, min(file.most, file.total // given))
        limits["vector registers"] = by_registers * simds // waves
    if lds:
        limits["LDS"] = room // lds
    if waves > 1:
        limits["the barriers of a compute unit"] = BARRIERS * (2 if architecture.unit == "WGP" else 1)
    least = min(limits.values())
    limit = next(name for name, count in limits.items() if count == least)
    if least == 0:
        least, limit = 1, "one workgroup, of which not all waves are on one SIMD at a time"
    return Occupancy(
        min(by_registers, -(-least * waves // simds)), least, limit, file.most, vectors or None, file.granule,
        kernel.sgpr_count or None, lds, kernel.descriptor.private_segment_size,
    )  # fmt: skip


def _lds_of_unit(architecture: Architecture) -> int:
    """Bytes of LDS of a compute unit, of RDNA of a workgroup processor, which has that of two (RDNA3 ISA guide)."""
    return architecture.lds_bytes * (2 if architecture.unit == "WGP" and architecture.lds_bytes == 65536 else 1)


# --- the model's figures ---

_ASSUMED = "assumed"
_LLVM = "LLVM 22, SISchedule.td, the longest that it names"


class _Hardware:
    """A generation for the model: figures, pipes, cycles of what is not a figure."""

    dependent: float
    figures: tuple[Figure, ...]
    issue: float
    lds: float
    line: float
    memory: float
    passes: int
    pipes: tuple[Pipe, ...]
    scalar: float

    def __init__(self, architecture: Architecture, generation: str, wave: int, latency: float | None) -> None:
        cdna = generation == "gfx9"
        passes = wave // 16 if cdna else wave // 32
        span = 4 if architecture.unit == "CU" else 2
        line = 2.0 if cdna else 1.0
        memory = 500.0 if latency is None else latency
        given = "given" if latency is not None else f"{_ASSUMED}: between a hit in L2 and one in memory"
        self.passes, self.memory, self.line, self.lds = passes, memory, line, 64.0
        self.issue = 4.0 if cdna else 1.0
        self.dependent = 0.0 if cdna else 5.0
        self.scalar = 200.0
        self.pipes = (
            Pipe("matrix", 1),
            Pipe("vector", 1),
            Pipe("scalar", 1),
            Pipe("LDS", span),
            Pipe("first cache", span),
        )
        width = "16 lanes wide (AMD, ROCm Compute Profiler, \"Vector arithmetic logic unit\")" if cdna else (
            "32 lanes wide (RDNA3 ISA guide, section 2)")  # fmt: skip
        self.figures = (
            Figure("a vector instruction", passes, "cycles", f"a SIMD is {width}"),
            Figure("instructions of one wave", self.issue, "cycles apart", "one in the turn of its SIMD" if cdna
                   else "RDNA3 ISA guide, section 2"),
            Figure("from an access of LDS to its result, beside its cycles", self.lds, "cycles", _LLVM),
            Figure("from an access of global memory to its result", memory, "cycles", given),
            Figure("from an access of scalar memory to its result", self.scalar, "cycles", _ASSUMED),
            Figure(f"a line of {LINE} bytes in the first cache", line, "cycles", _ASSUMED),
            Figure("a product on the matrix unit", 0, "cycles", "the catalog, see `mmacalc -d`"),
            Figure("an access of LDS", 0, "cycles", "measured phases of the banks, see `mmacalc memory`"),
        )  # fmt: skip
        if not cdna:
            self.figures += (Figure("from a vector instruction to its result", self.dependent, "cycles", _LLVM),)


def _work(step: Step, row: Profiled, generation: str, target: str, hardware: _Hardware) -> Work:
    """What an instruction asks for."""
    kind, times = row.kind, max(1, row.executed)
    vectors = frozenset(number for number in step.reads if number < SCALARS)
    written = frozenset(number for number in step.writes if number < SCALARS)
    work = Work(kind, hardware.issue, reads=vectors, writes=written)
    if kind == "matrix":
        assert step.matrix is not None
        cycles = float(step.matrix.cycles or hardware.passes)
        return work._replace(pipes=(("matrix", cycles, cycles),), result="the matrix units")
    if kind == "vector":
        found = operation(step.instruction.name.replace("v_dual_", "v_"), target)
        slow = 4 if found is not None and "trans" in found.flags else 1
        cycles = float(hardware.passes * slow)
        result = "vector instructions" if hardware.dependent else ""
        return work._replace(pipes=(("vector", cycles, cycles),), latency=hardware.dependent, result=result)
    if kind == "wait":
        return work._replace(waits=tuple(_waits(step, generation).items()))
    counters = COUNTERS[generation].get(step.count, ()) if step.count else ()
    if kind == "shared":
        cycles = row.shared_cycles / times
        taken = ("LDS", max(cycles, 1.0), max(cycles - row.conflicts / times, 1.0))
        return work._replace(pipes=(taken,), latency=hardware.lds, result="LDS", counters=counters)
    if kind == "memory":
        least = float(hardware.passes)
        moved, needed = (hardware.line * lines / times for lines in (row.moved, row.needed))
        pipes: tuple[tuple[str, float, float], ...] = (("first cache", max(moved, least), max(needed, least)),)
        if row.shared_cycles:  # loads that write LDS themselves
            cycles = row.shared_cycles / times
            pipes += (("LDS", cycles, cycles - row.conflicts / times),)
        return work._replace(pipes=pipes, latency=hardware.memory, result="global memory", counters=counters)
    if kind == "scalar memory":
        pipes = (("scalar", hardware.issue, hardware.issue),)
        return work._replace(pipes=pipes, latency=hardware.scalar, result="scalar memory", counters=counters)
    if kind == "scalar":
        return work._replace(pipes=(("scalar", hardware.issue, hardware.issue),))
    if kind == "barrier":
        return work._replace(barrier=_barrier(step.instruction.name))
    states = states_given(step.instruction.name, int(step.instruction.modifiers.get("simm16", 0)))
    return work._replace(issue=hardware.issue * states) if states > 1 else work


def _barrier(name: str) -> str:
    return "arrive" if "signal" in name else "wait" if name.endswith("_wait") else "meet"


def _without_conflicts(architecture: Architecture, size: int, kind: str) -> int:
    """The cycles of LDS for some bytes whose banks no source tells: of as many as its widest accesses have at once."""
    if not architecture.lds_phases:
        return 0
    return -(-size // (len(rule(architecture, WIDEST, kind).phases[0]) * WIDEST))


# --- while the kernel runs ---


class AmdProfiler(Observer):
    """Counts what a launch does, by instruction.

    kernel: which; groups: of the launch; each: waves of a workgroup; latency: of the model, None for its own.
    """

    each: int
    followed: Followed
    jumps: Jumps
    kernel: Kernel
    latency: float | None

    def __init__(self, kernel: Kernel, groups: int, each: int, latency: float | None = None) -> None:
        self.kernel, self.latency, self.each = kernel, latency, each
        self.followed = Followed(groups, each)
        self.counted: dict[int, list[int]] = {}
        self.jumps = Jumps(0)
        self._begun = 0
        self._banks: BankCounter | None = None
        self.shared_sites: dict[int, list[int]] = {}

    def started(self, machine: Batch) -> None:
        """Some workgroups begin."""
        count = len(machine.waves.groups)
        self.jumps.start(machine.registers.waves)
        self.followed.start(self._begun, count)
        self._begun += count
        self._banks = self._banks or BankCounter(machine.program.target.architecture, machine.program.target.wave)

    def before(self, step: Step, who: Group) -> None:
        """Follow waves, and where they go."""
        at = step.instruction.address
        self.jumps.note(who.rows, at, at + step.instruction.size)
        self.followed.note(who.numbers(), at)

    def memory(self, step: Step, who: ActiveLanes, addresses: Array, size: int, kind: str) -> None:
        """Count bytes and lines."""
        table = who.table(addresses)
        found = self.counted.setdefault(step.instruction.address, [0, 0, 0, 0])
        if kind != "write":
            found[0] += len(addresses) * size
        if kind != "read":
            found[1] += len(addresses) * size
        if len(table):
            patterns, counts = address_patterns(table, LINE)
            moved, needed = counts @ units_moved(patterns, size, LINE)
            found[2] += int(moved)
            found[3] += int(needed)

    def shared(self, step: Step, who: ActiveLanes, places: Array, size: int, kind: str) -> None:
        """Count bytes, cycles and conflicts."""
        found = self.shared_sites.setdefault(step.instruction.address, [0, 0, 0])
        found[0] += len(places) * size
        if kind not in ("read", "write") or self._banks is None or size > WIDEST or not len(places):
            return
        if step.access is not None and step.access.unit == "tensor":
            found[1] += _without_conflicts(self._banks.architecture, len(places) * size, kind)
            return
        patterns, counts = address_patterns(who.table(who.addresses), 256)
        for pattern, count in zip(patterns, counts.tolist()):
            for _, cycles, ideal in self._banks.costs(pattern[:, None], size, kind):
                found[1] += cycles * count
                found[2] += (cycles - ideal) * count

    # --- afterwards ---

    def profile(self, report: KernelReport, program: Program, shared: int) -> Profile:
        """The profile of the launch that was watched."""
        kernel = self.kernel
        steps = _steps(program, kernel)
        rows = [self._row(step, kernel) for step in steps]
        numbers = {step.instruction.address: number for number, step in enumerate(steps)}
        lanes = occupancy(kernel, report.architecture, self.each, shared)
        group, sequences = self.followed.longest
        generation = program.target.generation
        hardware = _Hardware(report.architecture, generation, kernel.wavefront_size, self.latency)
        work = [_work(step, row, generation, kernel.target, hardware) for step, row in zip(steps, rows)]
        followed = [[numbers[at] for at in sequence if at in numbers] for sequence in sequences]
        resident = max(1, min(lanes.workgroups or 1, report.workgroups))
        model = modelled(work, followed, hardware.pipes, resident, 4, hardware.figures)
        stalls: dict[int, dict[str, float]] = {}
        for one in model.per_instruction:
            stalls.setdefault(one.instruction, {})[one.reason] = one.cycles
        rows = [row._replace(stalls=stalls.get(number, {})) for number, row in enumerate(rows)]
        spans, entered = [], {}
        for first, last in _spans(program, kernel):
            span = numbers[first], numbers[last]
            spans.append(span)
            entered[span] = float(self.jumps.entries(first, last, rows[span[0]].executed))
        return Profile(
            kernel.name, kernel.target, True, "", report.workgroups, report.waves, kernel.wavefront_size,
            f"{LINE}-byte lines", lanes, counts_of(rows, True), loops_of(rows, spans, entered, True),
            lines_of(rows, True), tuple(rows), model, "", group,
            tuple([finding.sentence for finding in report.findings]),
        )  # fmt: skip

    def _row(self, step: Step, kernel: Kernel) -> Profiled:
        at = step.instruction.address
        loaded, stored, moved, needed = self.counted.get(at, (0, 0, 0, 0))
        bytes_, cycles, conflicts = self.shared_sites.get(at, (0, 0, 0))
        return Profiled(
            at, text(step.instruction), kernel.source_lines.at(at), kind_of(step, kernel.target), step.executed, loaded,
            stored, moved, needed, bytes_, cycles, conflicts,
        )  # fmt: skip


def _steps(program: Program, kernel: Kernel) -> list[Step]:
    """The instructions of a kernel, and those of other functions that were executed, by address."""
    end = kernel.address + len(kernel.code)
    own = [at for at in program.instructions if kernel.address <= at < end]
    others = [at for at, step in program.steps.items() if step.executed and not kernel.address <= at < end]
    return [program.step(at) for at in sorted({*own, *others})]


def _spans(program: Program, kernel: Kernel) -> Sequence[tuple[int, int]]:
    """The loops of a kernel, as first and last address."""
    back = []
    for step in _steps(program, kernel):
        target = step.instruction.modifiers.get("target")
        if target is not None and int(target) <= step.instruction.address:
            back.append((step.instruction.address, int(target)))
    return spans_of(back)


def static_profile(kernel: Kernel, architecture: Architecture, program: Program, why: str, waves: int) -> Profile:
    """The profile of the listing: each instruction once."""
    steps = _steps(program, kernel)
    rows = [
        Profiled(step.instruction.address, text(step.instruction),
                 kernel.source_lines.at(step.instruction.address), kind_of(step, kernel.target), 1)
        for step in steps
    ]  # fmt: skip
    numbers: dict[Any, int] = {row.place: number for number, row in enumerate(rows)}
    spans = [(numbers[first], numbers[last]) for first, last in _spans(program, kernel)]
    return Profile(
        kernel.name, kernel.target, False, why, 0, 0, kernel.wavefront_size, f"{LINE}-byte lines",
        occupancy(kernel, architecture, waves, 0), counts_of(rows, False), loops_of(rows, spans, {}, False),
        lines_of(rows, False), tuple(rows), None, "the model follows the instructions of a launch", None,
        (),
    )  # fmt: skip
