"""A model of how the waves of one compute unit issue: what bounds a kernel, and where its waves stand.

Each wave issues in order. An instruction needs pipes, each for some cycles; a pipe is of one SIMD or of several.
Results of memory come after a latency, on a counter that a later wait reads, or in registers that a later instruction
reads. That is all: see `LEFT_OUT`. It is a model, not a measurement, and its figures say where they come from.
"""

from __future__ import annotations

from heapq import heappop, heappush

from ...base.records import TupleRecord, json_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    State = tuple[float, str]

__all__ = ["LEFT_OUT", "Figure", "IssueModel", "Meeting", "Pipe", "Stall", "Unit", "WhatIf", "Work", "modelled"]

LEFT_OUT = (
    "caches (every access of global memory takes the same latency), the bandwidth of L2 and of memory, instruction "
    "fetch, register banks, clock and power, the start and the end of workgroups, other kernels"
)
"""What the model does not have."""
MOST_INSTRUCTIONS = 100_000
"""Wave instructions that are followed at most."""
NOTABLE = 1.03
"""From how many times faster on something is said to bound a kernel."""


class Figure(TupleRecord):
    """A figure of the model: what it is, its value, its unit, and where it comes from."""

    name: str
    value: float
    unit: str
    source: str


class Pipe(TupleRecord):
    """A pipe: its name, and how many SIMDs share one."""

    name: str
    simds: int


class Meeting(TupleRecord):
    """What an instruction does at a barrier that has phases, each of which ends with as many arrivals as it was begun
    with, and when as many bytes have come as were expected.

    barrier: which of its workgroup, "mbarrier" or another kind, and its number. does: "begin", "arrive", "wait" (until
    the phase of that parity has ended) or "meet" (arrive, and wait for the end of that phase). arrivals: how many.
    wanted: for a phase, by which it is begun where it has not been. bytes: that are expected more, less than 0 of those
    that have come. later: "" at once, "end" with the result, else a counter: when all that it counts has ended.
    """

    barrier: tuple[str, int]
    does: str
    arrivals: int = 0
    wanted: int = 0
    bytes: int = 0
    parity: int = 0
    later: str = ""


class Work(TupleRecord):
    """What one instruction asks for.

    issue: cycles until its wave may issue the next one. pipes: (pipe, cycles that it is taken, cycles without what
    could be better: bank conflicts, lines of which parts are not used). latency: cycles from the end of that to the
    result; result: what whoever waits for it waits for. counters: which it raises; groups: whether it closes a group of
    accesses that is waited for as one. waits: (counter, how many may be outstanding). reads, writes: registers that
    are waited for. barrier: "", "arrive", "wait" or "meet", of the one that has no phases. meetings: at others. kind:
    of the instruction.
    """

    kind: str
    issue: float
    pipes: tuple[tuple[str, float, float], ...] = ()
    latency: float = 0
    result: str = ""
    counters: tuple[str, ...] = ()
    waits: tuple[tuple[str, int], ...] = ()
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    barrier: str = ""
    meetings: tuple[Meeting, ...] = ()


class Unit(TupleRecord):
    """A pipe, and the share of the cycles in which it is busy (of the busiest, where there are several)."""

    name: str
    busy: float


class Stall(TupleRecord):
    """Cycles in which waves cannot issue an instruction, all waves added: its number in the profile, and what it waits
    for."""

    instruction: int
    reason: str
    cycles: float


class WhatIf(TupleRecord):
    """The cycles of the model with something taken away."""

    without: str
    cycles: float


@json_keys(
    "cycles: of the workgroups that share a compute unit",
    "workgroups: that share it",
    "waves: of each SIMD",
    "instructions: of each wave that were followed",
    "whole: whether these are all",
    "bound: what bounds the kernel most",
    "units",
    "what_if",
    "stalls: by what waves wait for; cycles, all waves added",
    "figures",
    "left_out",
)
class IssueModel(TupleRecord):
    """What the model says. per_instruction: the stalls of each instruction."""

    cycles: float
    workgroups: int
    waves: float
    instructions: int
    whole: bool
    bound: str
    units: tuple[Unit, ...]
    what_if: tuple[WhatIf, ...]
    per_instruction: tuple[Stall, ...]
    figures: tuple[Figure, ...]
    left_out: str = LEFT_OUT

    @property
    def stalls(self) -> dict[str, float]:
        """By what waves wait for the cycles, most first."""
        found: dict[str, float] = {}
        for one in self.per_instruction:
            found[one.reason] = found.get(one.reason, 0) + one.cycles
        return dict(sorted(found.items(), key=lambda item: -item[1]))


class _Wave:
    """A wave on its way."""

    __slots__ = ("arrived", "group", "lane", "outstanding", "passed", "pending", "place", "sequence")
    arrived: int
    group: int
    lane: int
    passed: int
    place: int
    sequence: Sequence[int]

    def __init__(self, sequence: Sequence[int], group: int, simd: int) -> None:
        self.sequence, self.group, self.lane = sequence, group, simd
        self.place = self.arrived = self.passed = 0
        self.outstanding: dict[str, list[State]] = {}
        self.pending: dict[int, State] = {}


class _Barrier:
    """A barrier with phases. waiting: waves with when they came, and which instruction waits."""

    __slots__ = ("bytes", "count", "pending", "phase", "waiting")

    def __init__(self, count: int) -> None:
        self.count = self.pending = count
        self.bytes = self.phase = 0
        self.waiting: list[tuple[float, int, int]] = []


class _Run:
    """One run of the model."""

    cycles: float
    pipes: Mapping[str, Pipe]
    waves: list[_Wave]
    work: Sequence[Work]

    def __init__(self, work: Sequence[Work], waves: list[_Wave], pipes: Mapping[str, Pipe]) -> None:
        self.work, self.waves, self.pipes = work, waves, pipes
        self.free: dict[tuple[str, int], float] = {}
        self.busy: dict[tuple[str, int], float] = {}
        self.stalls: dict[tuple[int, str], float] = {}
        self.cycles = 0.0
        self._heap = [(0.0, number) for number in range(len(waves))]
        self._held: list[tuple[float, int]] = []  # waves at a barrier
        self._barriers: dict[tuple[int, tuple[str, int]], _Barrier] = {}
        self._coming: list[tuple[_Barrier, int, int]] = []  # arrivals and bytes that come later

    def run(self) -> _Run:
        """Issue everything."""
        heap, waves, work = self._heap, self.waves, self.work
        while heap or self._held or self._wakes_all():
            if not heap:  # waves wait for others that have ended: these do not count any more
                self._release(self._held[0][0], everyone=True)
                continue
            time, number = heappop(heap)
            if number < 0:
                self._arrive(time, *self._coming[-1 - number])
                continue
            wave = waves[number]
            if wave.place == len(wave.sequence):
                self.cycles = max(self.cycles, time)
                self._release(time)
                continue
            index = wave.sequence[wave.place]
            one = work[index]
            start, reason = self._earliest(time, wave, one)
            if start <= time and one.meetings and self._waits(time, number, wave, one):
                continue
            if start > time:
                key = index, reason
                self.stalls[key] = self.stalls.get(key, 0.0) + start - time
                heappush(heap, (start, number))
            else:
                wave.place += 1
                self._issue(time, number, wave, one)
        return self

    def _earliest(self, time: float, wave: _Wave, one: Work) -> State:
        """When an instruction can be issued, and what it waits for."""
        start, reason = time, ""
        for counter, most in one.waits:
            flying = wave.outstanding.get(counter)
            if flying and len(flying) > most and flying[-1 - most][0] > start:
                start, reason = flying[-1 - most]
        if wave.pending:
            for register in (one.reads | one.writes) & wave.pending.keys():
                ready = wave.pending[register]
                if ready[0] > start:
                    start, reason = ready
                elif ready[0] <= time:
                    del wave.pending[register]
        for name, cycles, _ in one.pipes:
            free = self.free.get((name, wave.lane // self.pipes[name].simds), 0.0)
            if cycles and free > start:
                start, reason = free, name
        return start, reason

    def _issue(self, time: float, number: int, wave: _Wave, one: Work) -> None:
        end = time
        for name, cycles, _ in one.pipes:
            key = name, wave.lane // self.pipes[name].simds
            self.free[key] = time + cycles
            self.busy[key] = self.busy.get(key, 0.0) + cycles
            end = max(end, time + cycles)
        ready = end + one.latency, one.result
        for counter, most in one.waits:
            if flying := wave.outstanding.get(counter):
                del flying[: len(flying) - most]
        for counter in one.counters:
            flying = wave.outstanding.setdefault(counter, [])
            flying.append(max(ready, flying[-1]) if flying else ready)  # they end in order
        if one.result and not one.counters:
            wave.pending.update(dict.fromkeys(one.writes, ready))
        following = time + one.issue
        self.cycles = max(self.cycles, following, end)
        if one.meetings and self._meets_others(following, ready[0], number, wave, one):
            return
        if one.barrier and self._meets(following, number, wave, one.barrier):
            return
        heappush(self._heap, (following, number))

    # --- barriers ---

    def _meets(self, time: float, number: int, wave: _Wave, kind: str) -> bool:
        """A wave arrives at a barrier or waits at it; whether it is held there."""
        if kind != "wait":
            wave.arrived += 1
        if kind == "arrive":
            self._release(time)
            return False
        wave.passed += 1
        self._held.append((time, number))
        self._release(time)
        return True

    def _waits(self, time: float, number: int, wave: _Wave, one: Work) -> bool:
        """Whether a phase that an instruction waits for has not ended: then its wave is held. A barrier that nothing
        has begun holds no wave."""
        for meeting in one.meetings:
            barrier = self._barriers.get((wave.group, meeting.barrier))
            if meeting.does == "wait" and barrier is not None and barrier.phase % 2 == meeting.parity:
                barrier.waiting.append((time, number, wave.sequence[wave.place]))
                return True
        return False

    def _meets_others(self, time: float, ready: float, number: int, wave: _Wave, one: Work) -> bool:
        """What an instruction does at barriers with phases; whether its wave is held there."""
        held = False
        for meeting in one.meetings:
            key = wave.group, meeting.barrier
            if meeting.wanted and (meeting.does == "begin" or key not in self._barriers):
                self._barriers[key] = _Barrier(meeting.wanted)
            barrier = self._barriers.get(key)
            if barrier is None or meeting.does in ("begin", "wait"):
                continue
            if meeting.does == "meet":
                phase = barrier.phase
                self._arrive(time, barrier, meeting.arrivals, 0)
                if barrier.phase == phase:
                    barrier.waiting.append((time, number, wave.sequence[wave.place - 1]))
                    held = True
                continue
            flying = wave.outstanding.get(meeting.later)
            when = ready if meeting.later == "end" else flying[-1][0] if flying else time
            self._coming.append((barrier, meeting.arrivals, meeting.bytes))
            heappush(self._heap, (max(time, when), -len(self._coming)))
        return held

    def _arrive(self, time: float, barrier: _Barrier, arrivals: int, more: int) -> None:
        """Arrivals at a barrier; more: bytes that are expected there."""
        barrier.pending -= arrivals
        barrier.bytes += more
        if barrier.pending > 0 or barrier.bytes:
            return
        barrier.phase, barrier.pending = barrier.phase + 1, barrier.count
        self._wake(time, barrier)

    def _wake(self, time: float, barrier: _Barrier) -> None:
        for came, number, index in barrier.waiting:
            if time > came:
                key = index, "an mbarrier" if self.work[index].kind == "wait" else "other waves at a barrier"
                self.stalls[key] = self.stalls.get(key, 0.0) + time - came
            heappush(self._heap, (max(time, came), number))
        barrier.waiting = []

    def _wakes_all(self) -> bool:
        """Let waves go on that wait for what does not come: what follows it was not followed. Whether there are any."""
        found = [barrier for barrier in self._barriers.values() if barrier.waiting]
        for barrier in found:
            barrier.phase += 1
            self._wake(self.cycles, barrier)
        return bool(found)

    def _release(self, time: float, everyone: bool = False) -> None:
        """Let waves go on whose workgroup has come to the barrier. Those that have ended do not count."""
        least: dict[int, int] = {}
        for wave in self.waves:
            if wave.place < len(wave.sequence) or wave.arrived > wave.passed:
                least[wave.group] = min(least.get(wave.group, wave.arrived), wave.arrived)
        kept = []
        for came, number in self._held:
            wave = self.waves[number]
            if everyone or wave.passed <= least.get(wave.group, wave.passed):
                if time > came:
                    key = wave.sequence[wave.place - 1], "other waves at a barrier"
                    self.stalls[key] = self.stalls.get(key, 0.0) + time - came
                heappush(self._heap, (max(time, came), number))
            else:
                kept.append((came, number))
        self._held = kept


def modelled(
    work: Sequence[Work], sequences: Sequence[Sequence[int]], pipes: Iterable[Pipe], workgroups: int, simds: int,
    figures: Iterable[Figure],
) -> IssueModel:  # fmt: skip
    """Run the model.

    Args:
        work: of each instruction. sequences: of each wave of one workgroup the instructions, in order.
        pipes: of the compute unit. workgroups: how many share it. simds: how many it has. figures: to say with it.

    >>> add, wait = Work("vector", 4, (("vector", 4, 4),)), Work("wait", 4, waits=(("vmcnt", 0),))
    >>> load = Work("memory", 4, (("first cache", 16, 4),), 500, "global memory", ("vmcnt",))
    >>> found = modelled([load, wait, add], [[0, 1, 2]], [Pipe("vector", 1), Pipe("first cache", 4)], 1, 4, ())
    >>> found.cycles, found.bound, found.stalls
    (524.0, 'the latency of memory', {'global memory': 512.0})
    """
    names = {pipe.name: pipe for pipe in pipes}
    each = max(1, len(sequences))
    length = max(map(len, sequences), default=0)
    total = sum(map(len, sequences))
    workgroups = max(1, min(workgroups, MOST_INSTRUCTIONS // max(1, total)))
    kept = [sequence[: max(1, MOST_INSTRUCTIONS // each)] for sequence in sequences] if workgroups == 1 else sequences

    def run(change: Callable[[Work], Work] | None = None) -> _Run:
        waves = [
            _Wave(sequence, group, (group * each + number) % simds)
            for group in range(workgroups)
            for number, sequence in enumerate(kept)
        ]
        return _Run(work if change is None else [change(one) for one in work], waves, names).run()

    found = run()
    what_if = tuple(
        sorted([WhatIf(name, run(change).cycles) for name, change in _CHANGES.items() if _matters(work, change)],
               key=lambda one: one.cycles)
    )  # fmt: skip
    best = what_if[0] if what_if else None
    bound = best.without if best is not None and found.cycles >= NOTABLE * best.cycles else "nothing alone"
    busy: dict[str, float] = {}
    for (name, _), cycles in found.busy.items():
        busy[name] = max(busy.get(name, 0.0), cycles / found.cycles if found.cycles else 0.0)
    stalls = tuple([Stall(index, reason, cycles) for (index, reason), cycles in found.stalls.items()])
    followed = max(map(len, kept), default=0)
    return IssueModel(
        found.cycles, workgroups, workgroups * each / simds, followed, followed == length, bound,
        tuple([Unit(name, busy[name]) for name in sorted(busy, key=lambda name: -busy[name])]), what_if, stalls,
        tuple(figures),
    )  # fmt: skip


def _matters(work: Iterable[Work], change: Callable[[Work], Work]) -> bool:
    return any(change(one) != one for one in work)


# --- what is taken away, to see what bounds ---

ORDINARY = ("vector", "scalar", "wait", "branch", "other")
"""Kinds of instructions that compute addresses, convert, wait and steer."""


def _without_pipe(name: str) -> Callable[[Work], Work]:
    def change(one: Work) -> Work:
        pipes = tuple([(pipe, 0.0, 0.0) if pipe == name else (pipe, taken, least) for pipe, taken, least in one.pipes])
        return one._replace(pipes=pipes)

    return change


def _without_conflicts(one: Work) -> Work:
    kinds = ("LDS", "shared memory")
    return one._replace(
        pipes=tuple([(pipe, least if pipe in kinds else taken, least) for pipe, taken, least in one.pipes])
    )


def _coalesced(one: Work) -> Work:
    return one._replace(
        pipes=tuple([(pipe, least if pipe == "first cache" else taken, least) for pipe, taken, least in one.pipes])
    )


def _without_latency(result: str) -> Callable[[Work], Work]:
    return lambda one: one._replace(latency=0.0) if one.result == result else one


def _without_others(one: Work) -> Work:
    if one.kind not in ORDINARY or one.barrier or one.waits or one.meetings:
        return one
    return one._replace(issue=0.0, pipes=(), latency=0.0)


def _without_barriers(one: Work) -> Work:
    """Those of the workgroup's waves alone: an mbarrier says that data has come."""
    return one._replace(barrier="", meetings=tuple([each for each in one.meetings if each.barrier[0] == "mbarrier"]))


_CHANGES: dict[str, Callable[[Work], Work]] = {
    "the matrix units": _without_pipe("matrix"),
    "the latency of memory": _without_latency("global memory"),
    "the latency of LDS": _without_latency("LDS"),
    "the latency of shared memory": _without_latency("shared memory"),
    "the bandwidth of LDS": _without_pipe("LDS"),
    "the bandwidth of shared memory": _without_pipe("shared memory"),
    "the special functions": _without_pipe("special functions"),
    "bank conflicts": _without_conflicts,
    "accesses that are not coalesced": _coalesced,
    "the bandwidth of the first cache": _without_pipe("first cache"),
    "vector, scalar and other instructions": _without_others,
    "barriers": _without_barriers,
}
