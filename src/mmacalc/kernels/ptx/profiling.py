"""The profile of a PTX kernel: what its statements are, how many warps share an SM, figures of the model.

Statements are not the instructions that the GPU executes: ptxas makes those, and gives them registers. So counts are of
PTX, and registers are known only where the user says what ptxas reports.
"""

from __future__ import annotations

import math
from math import prod

import numpy as np

from ...base.errors import Error
from ...catalog import entry
from ...ptx.module import Number
from ...throughput import duration
from ..device.issue import Figure, IssueModel, Meeting, Pipe, Stall, Work, modelled
from ..device.observer import Observer
from ..device.profile import Followed, Jumps, Occupancy, Profile, Profiled, counts_of, lines_of, loops_of, spans_of
from .compiler import compile_kernel
from .traffic import SECTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any

    from ...base.arrays import Array
    from ...model import Instruction
    from .kernel import PtxKernel
    from .launch import Launch
    from .machine import Machine
    from .program import Program, Step
    from .threads import Threads

__all__ = ["PtxProfiler", "occupancy", "static_profile"]

WARP, SIMDS = 32, 4
COPIED = 128  # bytes that a tensor copy writes in a cycle, and that tcgen05.mma reads
ROWS, COLUMNS = 128, 256  # of a tcgen05.mma that has NVIDIA's rate

# --- what a statement is ---

_KINDS = {
    **dict.fromkeys(("bar", "barrier", "membar", "fence"), "barrier"),
    **dict.fromkeys(("bra", "brx", "call", "ret", "exit", "trap"), "branch"),
    **dict.fromkeys(("ldmatrix", "stmatrix"), "shared"),
    **dict.fromkeys(("pragma", "prefetch", "prefetchu", "applypriority", "discard", "nanosleep", "setmaxnreg",
                     "griddepcontrol", "pmevent"), "other"),
}  # fmt: skip
_ACCESSES = (
    "ld",
    "st",
    "ldu",
    "atom",
    "red",
    "cp",
    "isspacep",
    "mbarrier",
    "wmma",
    "wgmma",
    "tcgen05",
    "mma",
    "multimem",
)


def kind_of(step: Step) -> str:
    """One of `device.profile.KINDS`; an access by a generic address is one of global memory."""
    statement = step.statement
    root, words = statement.root, statement.modifiers
    if root in _KINDS:
        return _KINDS[root]
    if root in ("mma", "wgmma", "tcgen05", "wmma"):
        if root == "mma" or any(word in ("mma", "mma_async", "mma_async_sp") for word in words[:1]):
            return "matrix"
        if words[:1] in (("load",), ("store",)):
            return _space(words)
        return "wait" if words[:1] and words[0].startswith("wait") else "other"
    if root == "mbarrier":
        return "wait" if words[:1] in (("try_wait",), ("test_wait",)) else "shared"
    if root == "cp":
        return "wait" if "wait_group" in words or "wait_all" in words else (
            "other" if "commit_group" in words else "memory")  # fmt: skip
    return _space(words) if root in _ACCESSES and root != "isspacep" else "vector"


def _space(words: Sequence[str]) -> str:
    spaces = {word.partition("::")[0] for word in words}
    if spaces & {"param", "const"}:
        return "scalar memory"
    return "shared" if "shared" in spaces else "memory"


# --- how many warps share an SM ---

_SM = {
    75: (1024, 16, 65536), 80: (2048, 32, 167936), 86: (1536, 16, 102400), 87: (1536, 16, 167936),
    88: (1536, 16, 102400), 89: (1536, 24, 102400), 90: (2048, 32, 233472), 100: (2048, 32, 233472),
    101: (2048, 32, 233472), 103: (2048, 32, 233472), 110: (1536, 24, 233472), 120: (1536, 24, 102400),
    121: (1536, 24, 102400), 70: (2048, 32, 98304),
}  # fmt: skip
"""By compute capability: resident threads and blocks of an SM, bytes of its shared memory (CUDA C++ Programming Guide
13.0, "Technical Specifications per Compute Capability")."""
REGISTERS, GRANULE = 65536, 256
"""Registers of an SM, and by how many a warp gets them (the same table; of its allocation unit "CUDA occupancy
calculator")."""
RESERVED = 1024
"""Bytes of shared memory that the system keeps for each block, from compute capability 8.0 on."""


def occupancy(
    target: str, block: int, shared: int, local: int, registers: int | None, own: tuple[int, ...] | None
) -> Occupancy:
    """How many warps of a kernel share a sub-partition of an SM.

    Args:
        block: its threads. shared: bytes of shared memory of a block. registers: of a thread, as ptxas reports them;
            None where that is not known. own: what .maxnreg says, if anything.
    """
    digits = "".join(filter(str.isdigit, target))
    limits_of = _SM.get(int(digits or 0))
    warps = -(-block // WARP)
    if limits_of is None:
        return Occupancy(
            None, None, f"the limits of {target} are not in the tables", 0, registers, None, None, shared, local
        )
    threads, blocks, room = limits_of
    most = threads // WARP
    limits = {"the warps that an SM holds": most // warps, "the blocks that an SM holds": blocks}
    if shared:
        limits["shared memory"] = room // shared
    count = registers or (own[0] if own else None)
    by_registers = most // SIMDS
    if count:
        given = -(-count * WARP // GRANULE) * GRANULE
        by_registers = min(by_registers, REGISTERS // SIMDS // given)
        limits["registers"] = by_registers * SIMDS // warps
    least = max(1, min(limits.values()))
    limit = next(name for name, number in limits.items() if number == min(limits.values()))
    if not count:
        limit += "; registers are not known before ptxas (give them as registers=)"
    return Occupancy(
        min(by_registers, -(-least * warps // SIMDS)), least, limit, most // SIMDS, count, GRANULE // WARP, None,
        shared, local,
    )  # fmt: skip


# --- the model's figures ---

_HOPPER = "arXiv 2402.13499, table of latencies (H100 PCIe)"
_FIGURES = (
    Figure("instructions of a sub-partition", 1, "cycle apart", "CUDA C++ Programming Guide, compute capability 7.x"),
    Figure("from a vector instruction to its result", 4, "cycles", "arXiv 2208.11174 (A100)"),
    Figure("from a product to its result, beside its cycles", 16, "cycles", "assumed"),
    Figure("from an access of shared memory to its result, beside its cycles", 29, "cycles", _HOPPER),
    Figure("four sectors of 32 bytes in the first cache", 1, "cycle", "CUDA C++ Best Practices Guide: 128 bytes"),
    Figure("from an access of constant memory to its result", 8, "cycles", "assumed"),
    Figure("a product on the matrix unit", 0, "cycles", "NVIDIA's rates, see `mmacalc estimate`"),
    Figure("an access of shared memory", 0, "cycles", "the phases of the banks, see `mmacalc memory`"),
)  # fmt: skip
_LATENCY = 263.0
_PIPES = (Pipe("issue", 1), Pipe("matrix", 1), Pipe("shared memory", 4), Pipe("first cache", 4))
_TENSOR_FIGURES = (
    Figure("a tensor copy writes and tcgen05.mma reads shared memory", 128, "bytes a cycle", "assumed: its 32 banks"),
    Figure("a load or store of Tensor Memory", 1, "cycle for each register of a warp", "assumed"),
    Figure(
        "from an access of Tensor Memory to its result, beside its cycles", 29, "cycles", "assumed as of shared memory"
    ),
)
_SPECIAL = frozenset(("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"))
"""Statements of one instruction of the special function units, if they are .approx."""
_SPECIAL_CYCLES = {"sm_103": 4.0}  # "Inside NVIDIA Blackwell Ultra": twice as many
_SPECIAL_FIGURE = Figure(
    "a special function (ex2, lg2, rcp, rsqrt, sin, cos, tanh) of a warp", 8, "cycles of its sub-partition",
    "CUDA C++ Programming Guide, throughput of native arithmetic instructions: 16 in a cycle of an SM; sm_103 has "
    "twice as many",
)  # fmt: skip
_NOT_MODELLED = ("multimem", "clusterlaunchcontrol", "mapa")
"""Opcodes whose waiting the model does not follow."""
_CLUSTERS = ("cta_group::2", "multicast::cluster", "shared::cluster")
"""Words of statements that meet barriers of other CTAs; a bulk load names shared::cluster for its own, too."""


def _is_beyond(root: str, words: Sequence[str]) -> bool:
    """Whether other CTAs may wait for a statement, or it arrives when the thread's cp.async have ended."""
    if root == "cp" and ("mbarrier" in words or "reduce" in words):
        return True
    clusters = _CLUSTERS if root in ("mbarrier", "st", "red") else _CLUSTERS[:2]
    return (root == "barrier" and "cluster" in words) or any(word in clusters for word in words)


def refusal(program: Program, executed: Container[int], shapes: Mapping[int, tuple[int, int, float]]) -> str:
    """Why the model does not follow a kernel; "" if it does.

    Args:
        executed: the statements that were. shapes: M and N of those of tcgen05.mma, and the bytes of A and B that they
            read from shared memory.
    """
    for step in program.steps:
        root, words = step.statement.root, step.statement.modifiers
        if root in _NOT_MODELLED or _is_beyond(root, words):
            return (
                f"the model does not follow {step.statement.opcode} (line {step.line}): what waits for it is not known"
            )
        if kind_of(step) == "matrix" and step.index in executed and _cycles(program.target, step, shapes) is None:
            return f"no rate of {step.statement.opcode} is published for {program.target}"
    return ""


def _product(target: str, step: Step) -> Instruction | None:
    try:
        return entry(target).instruction(step.statement.opcode)
    except Error:
        return None


def _cycles(target: str, step: Step, shapes: Mapping[int, tuple[int, int, float]]) -> float | None:
    """The cycles of a matrix unit for one warp (of wgmma: the four of a warpgroup together; of tcgen05: all four)."""
    inst: Any = _product(target, step)
    if inst is not None and inst.in_tensor_memory:
        m, n, held = shapes.get(step.index, (0, 0, 0.0))
        rated = duration(inst.shaped(m=ROWS, n=COLUMNS), {}, None) if inst.formats else None
        return None if rated is None else max(rated * max(m, ROWS) * n / (ROWS * COLUMNS), held / COPIED)
    cycles = duration(inst, {}, None) if inst is not None else None
    return None if cycles is None else float(cycles)


def _asynchronous(step: Step, row: Profiled, latency: float) -> Work | None:
    """What a statement of a tensor copy or of Tensor Memory asks for, and what waits for it; None of others."""
    root, words = step.statement.root, step.statement.modifiers
    guard = frozenset(() if step.guard is None else (step.guard[0],))
    work = Work(row.kind, 1.0, (("issue", 1.0, 1.0),), 0.0, "", reads=step.reads | guard, writes=step.writes)
    if root == "cp" and "bulk" in words:
        if "wait_group" in words:
            most = next((one.value for one in step.statement.operands if isinstance(one, Number)), 0)
            return work._replace(waits=(("bulk", most),))
        if "commit_group" in words or "prefetch" in words:
            return work
        return work._replace(latency=latency, result="global memory", counters=("bulk",))
    if root == "tcgen05" and words[0] in ("ld", "st"):
        count = max(1.0, float(len(step.writes if words[0] == "ld" else step.reads) - (words[0] == "st")))
        pipes = (*work.pipes, ("Tensor Memory", count, count))
        return work._replace(pipes=pipes, latency=29.0, result="Tensor Memory", counters=(f"tcgen05.{words[0]}",))
    if root == "tcgen05" and words[0].startswith("wait"):
        return work._replace(waits=((f"tcgen05.{words[0].rpartition('::')[2]}", 0),))
    return work if root == "tcgen05" and words[0] != "mma" else None


def _meetings(step: Step, given: tuple[tuple[int, ...], ...]) -> tuple[Meeting, ...]:
    """What a statement does at barriers. given: of each a place or number, an amount, how many threads had these."""
    root, words = step.statement.root, step.statement.modifiers
    found = []
    for place, amount, threads in given:
        name = ("bar" if root in ("bar", "barrier") else "mbarrier", place)
        if root in ("bar", "barrier"):
            if amount:
                does = "arrive" if "arrive" in words else "meet"
                found.append(Meeting(name, does, WARP, wanted=amount))
        elif root == "cp":
            found.append(Meeting(name, "arrive", bytes=-amount * threads, later="end"))
        elif root == "tcgen05":
            found.append(Meeting(name, "arrive", 1, later="tcgen05"))
        elif words[0] == "init":
            found.append(Meeting(name, "begin", wanted=amount))
        elif words[0] in ("test_wait", "try_wait"):
            found.append(Meeting(name, "wait", parity=amount & 1))
        elif words[0] in ("expect_tx", "complete_tx"):
            found.append(Meeting(name, "arrive", bytes=amount * threads * (1 if words[0] == "expect_tx" else -1)))
        elif "expect_tx" in words:
            found.append(Meeting(name, "arrive", threads, bytes=amount * threads))
        else:
            found.append(Meeting(name, "arrive", amount * threads))
    return tuple(found)


def _work(
    program: Program, step: Step, row: Profiled, latency: float, shapes: Mapping[int, tuple[int, int, float]]
) -> Work:  # fmt: skip
    """What a statement asks for."""
    if (special := _asynchronous(step, row, latency)) is not None:
        return special
    statement, times = step.statement, max(1, row.executed)
    words = statement.modifiers
    guard = frozenset(() if step.guard is None else (step.guard[0],))
    work = Work(row.kind, 1.0, (("issue", 1.0, 1.0),), 0.0, "", reads=step.reads | guard, writes=step.writes)
    issue = work.pipes
    if row.kind == "matrix":
        cycles = _cycles(program.target, step, shapes) or 0.0
        asynchronous = statement.root in ("wgmma", "tcgen05")
        return work._replace(
            pipes=(*issue, ("matrix", cycles, cycles)), latency=16.0, result="" if asynchronous else "the matrix units",
            reads=guard if asynchronous else work.reads, counters=(statement.root,) if asynchronous else (),
            writes=frozenset() if asynchronous else work.writes,
        )  # fmt: skip
    if row.kind == "wait" and statement.root == "mbarrier":
        return work
    if row.kind == "wait":
        counter = "wgmma" if statement.root == "wgmma" else "cp.async"
        most = next((one.value for one in statement.operands if isinstance(one, Number)), 0)
        return work._replace(waits=((counter, most),))
    if row.kind == "shared":
        cycles = max(row.shared_cycles / times, 1.0)
        least = max(cycles - row.conflicts / times, 1.0)
        pipes = (*issue, ("shared memory", cycles, least))
        return work._replace(pipes=pipes, latency=29.0, result="shared memory" if step.writes else "")
    if row.kind == "memory":
        moved, needed = max(row.moved / times / 4, 1.0), max(row.needed / times / 4, 1.0)
        copies = statement.root == "cp"
        return work._replace(
            pipes=(*issue, ("first cache", moved, needed)), latency=latency,
            result="global memory" if step.writes or copies else "", counters=("cp.async",) if copies else (),
        )  # fmt: skip
    if row.kind == "barrier" and statement.root in ("bar", "barrier") and "warp" not in words:
        return work._replace(barrier="arrive" if "arrive" in words else "meet")
    if row.kind == "scalar memory":
        return work._replace(latency=8.0, result="constant memory")
    if _is_special(step):
        cycles = _SPECIAL_CYCLES.get(program.target.rstrip("af"), 8.0)
        work = work._replace(pipes=(*work.pipes, ("special functions", cycles, cycles)))
        return work._replace(latency=4.0, result="the special functions")
    return work._replace(latency=4.0, result="vector instructions") if row.kind == "vector" else work


def _figures(steps: Sequence[Step], latency: float, own: bool) -> tuple[Figure, ...]:
    """What the model takes of a kernel. own: whether the latency is the model's."""
    source = f"{_HOPPER}: a hit in L2" if own else "given"
    found = [*_FIGURES, Figure("from an access of global memory to its result", latency, "cycles", source)]
    if any(map(_is_special, steps)):
        found.append(_SPECIAL_FIGURE)
    if any(step.statement.root == "tcgen05" or "bulk" in step.statement.modifiers for step in steps):
        found += _TENSOR_FIGURES
    return tuple(found)


def _is_special(step: Step) -> bool:
    """Whether a statement is one instruction of the special function units."""
    return step.statement.root in _SPECIAL and "approx" in step.statement.modifiers


def _met(work: Work, step: Step, given: tuple[tuple[int, ...], ...]) -> Work:
    """The work of a statement that meets barriers: a barrier of a number of threads is not one of all."""
    meetings = _meetings(step, given)
    work = work._replace(meetings=meetings, barrier="" if meetings else work.barrier)
    if step.statement.root == "cp":
        cycles = sum(-one.bytes for one in meetings) / COPIED
        work = work._replace(pipes=(*work.pipes, ("tensor copies", cycles, cycles)), counters=())
    return work


def _followed(sequence: Sequence[int], numbers: Mapping[int, int], steps: int, work: Sequence[Work]) -> list[int]:
    """What a warp did, as numbers of work; a wait that was tried again is one."""
    found: list[int] = []
    for at in sequence:
        number = numbers.get(at) if at >= 0 else steps - 1 - at
        if number is None:
            continue
        again = bool(found) and found[-1] == number and any(one.does == "wait" for one in work[number].meetings)
        if not again:
            found.append(number)
    return found


def _pipes(steps: Sequence[Step]) -> tuple[Pipe, ...]:
    """The pipes of an SM; a product of tcgen05 takes all matrix units."""
    whole = any(step.statement.root == "tcgen05" and kind_of(step) == "matrix" for step in steps)
    more = (Pipe("tensor copies", SIMDS), Pipe("Tensor Memory", 1), Pipe("special functions", 1))
    return (*[pipe._replace(simds=SIMDS) if whole and pipe.name == "matrix" else pipe for pipe in _PIPES], *more)


# --- while the kernel runs ---


class PtxProfiler(Observer):
    """Counts what a launch does, by statement. latency: of the model, None for its own; registers: of a thread."""

    followed: Followed
    jumps: Jumps
    latency: float | None
    registers: int | None

    def __init__(self, latency: float | None = None, registers: int | None = None) -> None:
        self.latency, self.registers = latency, registers
        self.followed = Followed(0, 1)
        self.warps: dict[int, int] = {}
        self.counted: dict[int, list[int]] = {}
        self.jumps = Jumps(0)
        self.shapes: dict[int, tuple[int, int, float]] = {}
        self._machine: Any = None

    def started(self, machine: Machine) -> None:
        """Some CTAs begin."""
        if self._machine is None:
            self.followed = Followed(prod(machine.launch.grid), -(-machine.block_size // WARP))
        self._machine = machine
        self.followed.start(machine.first, machine.ctas)
        self.jumps.start(machine.count)

    def before(self, step: Step, who: Threads) -> None:
        """Count warps, follow those of the first CTA, see where threads go back."""
        machine, index = self._machine, step.index
        block = machine.block_size
        whole = block % WARP == 0
        if whole and who.warps() is not None:
            warps = who.number[::WARP] // WARP
        else:
            each = -(-block // WARP)
            warps = np.unique(machine.cta_of[who.number] * each + machine.inner_of[who.number] // WARP)
        self.warps[index] = self.warps.get(index, 0) + len(warps)
        self.jumps.note(who.use, index, index + 1)
        self.followed.note(warps, index)

    def memory(self, step: Step, who: Threads, addresses: Array, size: int, kind: str) -> None:
        """Count bytes."""
        found = self.counted.setdefault(step.index, [0, 0, 0])
        found[0] += len(addresses) * size * (kind != "write")
        found[1] += len(addresses) * size * (kind != "read")

    def shared(self, step: Step, who: Threads, places: Array, size: int, kind: str) -> None:
        """Count bytes."""
        self.counted.setdefault(step.index, [0, 0, 0])[2] += len(places) * size

    def synchronised(self, step: Step, threads: Array, places: Array, amounts: Array) -> None:
        """Note what the warps that are followed do at barriers."""
        machine = self._machine
        each, size = -(-machine.block_size // WARP), max(16, machine.shared_size)  # there are 16 barriers of a CTA
        warps = machine.cta_of[threads] * each + machine.inner_of[threads] // WARP
        given: dict[int, dict[tuple[int, int], int]] = {}
        for warp, place, amount in zip(warps.tolist(), (places % size).tolist(), amounts.tolist()):
            found = given.setdefault(warp, {})
            found[place, amount] = found.get((place, amount), 0) + 1
        for warp, found in given.items():
            self.followed.mark(warp, tuple([(*key, count) for key, count in found.items()]))

    def multiplying(self, step: Step, who: Threads, places: Mapping[str, Array]) -> None:
        """Note the shape of tcgen05.mma; an A in Tensor Memory has its 128 lanes."""
        if step.statement.root == "tcgen05" and "B" in places:
            sizes = [math.prod(one.shape[1:]) for one in places.values()]
            m, n = places["A"].shape[1] if "A" in places else ROWS, places["B"].shape[1]
            inst = _product(self._machine.launch.program.target, step)
            bits = inst.format("A").bits if inst is not None and inst.formats else 0
            self.shapes[step.index] = m, n, sum(sizes) * bits / 8

    # --- afterwards ---

    def profile(self, launch: Launch, findings: tuple[str, ...]) -> Profile:
        """The profile of the launch that was watched."""
        program = launch.program
        steps = [step for step in program.steps if step.line]
        numbers = {step.index: number for number, step in enumerate(steps)}
        costs: dict[tuple[int, bool], list[int]] = {}
        for (step, access, _), (_, cost, ideal) in launch.traffic.sites.items():
            found = costs.setdefault((step.index, access.startswith("global ")), [0, 0])
            found[:] = [found[0] + cost, found[1] + ideal]
        rows = [self._row(step, costs) for step in steps]
        shared = launch.shared_bytes
        local = program.local_size
        lanes = occupancy(
            program.target, launch.block_size, shared, local, self.registers, program.attribute("maxnreg")
        )
        why = refusal(program, self.warps, self.shapes)
        model, group = None, None
        if not why:
            group, model = self._model(launch, steps, rows, lanes)
            stalls: dict[int, dict[str, float]] = {}
            for one in model.per_instruction:
                stalls.setdefault(one.instruction, {})[one.reason] = one.cycles
            rows = [row._replace(stalls=stalls.get(number, {})) for number, row in enumerate(rows)]
        back = [pair for pair in self.jumps.back if pair[0] in numbers and pair[1] in numbers]
        spans, entered = (
            spans_of([*_branches(program, steps), *[(numbers[last], numbers[first]) for last, first in back]]),
            {},
        )
        for first, last in spans:
            start, end = steps[first], steps[last]
            executed = launch.counts[start.index]
            threads = self.jumps.entries(start.index, end.index, executed)
            entered[first, last] = threads * self.warps.get(start.index, 0) / max(1, executed)
        groups, warps = prod(launch.grid), -(-launch.block_size // WARP)
        return Profile(
            program.name, program.target, True, "", groups, warps * groups, WARP,
            f"{SECTOR}-byte sectors", lanes, counts_of(rows, model is not None),
            loops_of(rows, spans, entered, model is not None), lines_of(rows, model is not None), tuple(rows), model,
            why, group, findings,
        )  # fmt: skip

    def _model(
        self, launch: Launch, steps: Sequence[Step], rows: Sequence[Profiled], lanes: Occupancy
    ) -> tuple[int, IssueModel]:  # fmt: skip
        """What the model says of the CTA that did most, and which that is."""
        program, numbers = launch.program, {step.index: number for number, step in enumerate(steps)}
        latency = _LATENCY if self.latency is None else self.latency
        work = [_work(program, step, row, latency, self.shapes) for step, row in zip(steps, rows)]
        origin = [*range(len(work))]
        for index, given in self.followed.marked:
            number = numbers.get(index, 0)
            work.append(_met(work[number], program.steps[index], given))
            origin.append(number)
        group, sequences = self.followed.longest
        followed = [_followed(sequence, numbers, len(steps), work) for sequence in sequences]
        resident = max(1, min(lanes.workgroups or 1, prod(launch.grid)))
        figures = _figures(steps, latency, self.latency is None)
        model = modelled(work, followed, _pipes(steps), resident, SIMDS, figures)
        stalls: dict[tuple[int, str], float] = {}
        for each in model.per_instruction:
            key = origin[each.instruction], each.reason
            stalls[key] = stalls.get(key, 0.0) + each.cycles
        return group, model._replace(per_instruction=tuple([Stall(*key, cycles) for key, cycles in stalls.items()]))

    def _row(self, step: Step, costs: dict[tuple[int, bool], list[int]]) -> Profiled:
        loaded, stored, shared = self.counted.get(step.index, (0, 0, 0))
        moved, needed = costs.get((step.index, True), (0, 0))
        cycles, ideal = costs.get((step.index, False), (0, 0))
        kind = kind_of(step)
        if kind == "memory" and shared and not loaded + stored:
            kind = "shared"  # by a generic address
        return Profiled(
            step.line, step.text, step.statement.location, kind, self.warps.get(step.index, 0), loaded, stored, moved,
            needed, shared, cycles, cycles - ideal,
        )  # fmt: skip


def _branches(program: Program, steps: Sequence[Step]) -> list[tuple[int, int]]:
    """The backward branches of the kernel's own text, as numbers of steps: from where, and to where."""
    labels, own = program.function.labels, program.function.statements
    first: dict[int, int] = {}
    for number, step in enumerate(steps):
        first.setdefault(step.line, number)
    found = []
    for number, step in enumerate(steps):
        for operand in step.statement.operands if step.statement.root == "bra" else ():
            at = labels.get(getattr(operand, "name", ""), len(own))
            if at < len(own) and first.get(own[at].line, number + 1) <= number:
                found.append((number, first[own[at].line]))
    return found


def static_profile(kernel: PtxKernel, why: str, block: int) -> Profile:
    """The profile of the text: each statement once."""
    program = compile_kernel(kernel.module, kernel.name)
    steps = [step for step in program.steps if step.line]
    rows = [Profiled(step.line, step.text, step.statement.location, kind_of(step), 1) for step in steps]
    back = _branches(program, steps)
    return Profile(
        program.name, program.target, False, why, 0, 0, WARP, f"{SECTOR}-byte sectors",
        occupancy(program.target, block, program.dynamic, program.local_size, None, program.attribute("maxnreg")),
        counts_of(rows, False), loops_of(rows, spans_of(back), {}, False), lines_of(rows, False), tuple(rows), None,
        "the model follows the statements of a launch", None, (),
    )  # fmt: skip
