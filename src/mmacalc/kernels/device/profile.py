"""The profile of a kernel: what its instructions are, how often they ran, what they moved, where waves stand.

Both machines give it a list of `Profiled`, one of each instruction, in the order of the program, and its backward
branches; loops, lines of the source and sums follow from these.
"""

from __future__ import annotations

import linecache

import numpy as np

from ...base.errors import plural
from ...base.json_form import encoded
from ...base.records import TupleRecord, json_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ...base.arrays import Array
    from .issue import IssueModel

__all__ = [
    "KINDS", "Counts", "Followed", "Jumps", "Occupancy", "Profile", "Profiled", "ProfiledLine", "ProfiledLoop",
    "counts_of", "lines_of", "loops_of", "spans_of",
]  # fmt: skip

KINDS = ("matrix", "vector", "scalar", "shared", "memory", "scalar memory", "wait", "barrier", "branch", "other")
"""What an instruction is: on the matrix units, the vector units, the scalar unit; an access of LDS (shared memory), of
global memory, by the scalar unit; a wait for memory; a barrier; a branch; a no-op, a hint, the end."""


class Counts(TupleRecord):
    """What some instructions did, all waves added.

    executed: wave instructions; kinds: the same by `KINDS`. loaded, stored: bytes of global memory that lanes asked
    for. moved, needed: lines (AMD) or sectors (NVIDIA) that their accesses move, and that would hold the bytes.
    shared_bytes: of LDS or shared memory. shared_cycles, conflicts: what it takes for that, and how many of these
    cycles are lost to bank conflicts. stalled: cycles in which waves cannot go on, by the model; None without it.
    """

    executed: int
    kinds: dict[str, int]
    loaded: int
    stored: int
    moved: int
    needed: int
    shared_bytes: int
    shared_cycles: int
    conflicts: int
    stalled: float | None


@json_keys(
    "place: the address (AMD) or the line of PTX",
    "text",
    "location: FILE:LINE of the source",
    "kind: matrix, vector, scalar, shared, memory, scalar memory, wait, barrier, branch or other",
    "executed: by how many waves",
    "loaded", "stored", "moved", "needed", "shared_bytes", "shared_cycles", "conflicts",
    "stalls: cycles of the model in which waves stand here, by what they wait for",
)  # fmt: skip
class Profiled(TupleRecord):
    """One instruction of a profile. place: its address, or its line of PTX. The rest is as in `Counts`."""

    place: int
    text: str
    location: Any
    kind: str
    executed: int
    loaded: int = 0
    stored: int = 0
    moved: int = 0
    needed: int = 0
    shared_bytes: int = 0
    shared_cycles: int = 0
    conflicts: int = 0
    stalls: dict[str, float] = {}

    @property
    def stalled(self) -> float:
        """The cycles in which waves stand here."""
        return sum(self.stalls.values())


class ProfiledLoop(TupleRecord):
    """A loop: the places of its first and last instruction, how many loops it is in, how often a wave that comes
    into it executes it on average; its instructions, and what they did."""

    first: int
    last: int
    depth: int
    iterations: float
    location: Any
    instructions: int
    counts: Counts


class ProfiledLine(TupleRecord):
    """A line of the source: where, its text ("" where the file is not there), and what its instructions did."""

    location: Any
    text: str
    counts: Counts


class Occupancy(TupleRecord):
    """How many waves share a SIMD.

    waves: of a SIMD, at most; None where registers are not known. workgroups: of a compute unit. limit: what limits
    them. most: waves of a SIMD that the hardware holds. vector_registers: of a lane; granule: by which they are given
    out; scalar_registers: of a wave. shared_bytes: LDS or shared memory of a workgroup; scratch_bytes: of a lane.
    """

    waves: int | None
    workgroups: int | None
    limit: str
    most: int
    vector_registers: int | None
    granule: int | None
    scalar_registers: int | None
    shared_bytes: int
    scratch_bytes: int


@json_keys(
    "kernel",
    "target",
    "launched: whether it was run; if not, counts are of the listing, each instruction once",
    "why?: why it was not run",
    "workgroups",
    "waves",
    "wave_size",
    "unit: what moved and needed count",
    "occupancy",
    "counts",
    "loops",
    "lines",
    "instructions",
    "model",
    "no_model?: why there is no model",
    "followed: the number of the workgroup whose waves the model follows",
    "findings: what is wrong with it, in words",
)
class Profile(TupleRecord):
    """What a kernel does, by loop, line and instruction, and what bounds it by a model.

    Attributes:
        kernel, target: its name and target. launched: whether it was run; if not, why, and counts are of the listing.
        workgroups, waves, wave_size: of the launch. unit: what `Counts.moved` counts: "128-byte lines", "sectors".
        occupancy, counts, loops, lines, instructions: see `Occupancy`, `Counts`, `ProfiledLoop`, `ProfiledLine`,
            `Profiled`.
        model: what bounds it (`mmacalc.kernels.device.issue.IssueModel`); None where there is none, with no_model.
        followed: the number of the workgroup whose waves it follows.
        findings: what is wrong with the kernel, in words.
    """

    kernel: str
    target: str
    launched: bool
    why: str
    workgroups: int
    waves: int
    wave_size: int
    unit: str
    occupancy: Occupancy
    counts: Counts
    loops: tuple[ProfiledLoop, ...]
    lines: tuple[ProfiledLine, ...]
    instructions: tuple[Profiled, ...]
    model: IssueModel | None
    no_model: str
    followed: int | None
    findings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The profile as plain data."""
        plain: dict[str, Any] = encoded(self)
        return plain

    def __repr__(self) -> str:
        what = plural(self.counts.executed, "wave instruction") if self.launched else "not launched"
        bound = f", bound by {self.model.bound}" if self.model else ""
        return f"<Profile: {self.kernel} for {self.target}, {what}{bound}>"

    def plot(self, path: str) -> None:
        """Draw it into a file: .svg.

        Raises:
            Error: another ending; the file cannot be written.
        """
        from ...base.records import late

        late("draw_profile")((self,), path)


def counts_of(instructions: Iterable[Profiled], model: bool) -> Counts:
    """What some instructions did together.

    >>> counts_of([Profiled(0, "v_nop", None, "vector", 3), Profiled(4, "s_nop 0", None, "other", 1)], False).kinds
    {'vector': 3, 'other': 1}
    """
    listed = list(instructions)
    kinds = {kind: sum(one.executed for one in listed if one.kind == kind) for kind in KINDS}
    sums = {name: sum(getattr(one, name) for one in listed) for name in SUMS}
    return Counts(
        executed=sum(one.executed for one in listed),
        kinds={kind: count for kind, count in kinds.items() if count},
        stalled=sum(one.stalled for one in listed) if model else None,
        **sums,
    )


SUMS = ("loaded", "stored", "moved", "needed", "shared_bytes", "shared_cycles", "conflicts")


class Jumps:
    """Where waves (or threads) go on elsewhere than behind their last instruction. places are addresses, or numbers.

    >>> jumps = Jumps(1)
    >>> for place in (0, 1, 2, 1, 2, 3):
    ...     jumps.note(slice(None), place, place + 1)
    >>> jumps.taken, jumps.entries(1, 2, 2)
    ({(2, 1): 1}, 1)
    """

    def __init__(self, count: int) -> None:
        self.taken: dict[tuple[int, int], int] = {}
        self.start(count)

    def start(self, count: int) -> None:
        """Others run now."""
        self._last: Array = np.full(count, -1, np.int64)
        self._next: Array = np.full(count, -1, np.int64)

    def note(self, rows: Any, place: int, following: int) -> None:
        """Some of them are at a place, behind which another one follows."""
        away = (self._next[rows] != place) & (self._last[rows] >= 0)
        if away.any():
            froms, counts = np.unique(self._last[rows][away], return_counts=True)
            for came, count in zip(froms.tolist(), counts.tolist()):
                self.taken[came, place] = self.taken.get((came, place), 0) + count
        self._last[rows], self._next[rows] = place, following

    def entries(self, first: int, last: int, executed: int) -> int:
        """How often one of them came into a loop from outside. executed: how often the loop's first instruction was."""
        inside = range(first, last + 1)
        jumped = sum(count for (came, to), count in self.taken.items() if to in inside and came not in inside)
        fell = executed - sum(count for (_, to), count in self.taken.items() if to == first)
        return jumped + fell

    @property
    def back(self) -> list[tuple[int, int]]:
        """The backward jumps: from where, and to where."""
        return [pair for pair in self.taken if pair[1] <= pair[0]]


FOLLOWED, MOST_FOLLOWED = 4, 200_000
"""Workgroups whose waves are followed, spread over the grid, and how many instructions of each."""


class Followed:
    """The instructions of some workgroups' waves in their order, of which the model takes the longest.

    groups: of the launch; each: waves of a workgroup.

    >>> followed = Followed(8, 1)
    >>> followed.start(0, 8)
    >>> followed.note(np.arange(8), 3)
    >>> followed.longest
    (0, [[3]])
    """

    each: int

    def __init__(self, groups: int, each: int) -> None:
        self.each, last = each, groups - 1
        chosen = sorted({last * number // max(1, FOLLOWED - 1) for number in range(FOLLOWED)})
        self.sequences: dict[int, list[list[int]]] = {group: [[] for _ in range(each)] for group in chosen}
        self.marked: list[tuple[int, tuple[tuple[int, ...], ...]]] = []
        self._marks: dict[tuple[int, tuple[tuple[int, ...], ...]], int] = {}
        self._slots: Array = np.zeros(0, np.int64)
        self._lists: list[list[int]] = []
        self._left = MOST_FOLLOWED * FOLLOWED

    def start(self, first: int, groups: int) -> None:
        """Workgroups run now, from number `first` on."""
        self._slots, self._lists = np.full(groups * self.each, -1, np.int64), []
        for group, sequences in self.sequences.items():
            if first <= group < first + groups:
                start = (group - first) * self.each
                self._slots[start : start + self.each] = np.arange(self.each) + len(self._lists)
                self._lists += sequences

    def note(self, waves: Array, place: int) -> None:
        """Waves, by their numbers among those that run, execute an instruction."""
        if self._lists and self._left > 0:
            slots = self._slots[waves]
            for slot in slots[slots >= 0].tolist():
                self._lists[slot].append(place)
                self._left -= 1

    def mark(self, wave: int, given: tuple[tuple[int, ...], ...]) -> None:
        """Say more of the instruction that a wave came to last: its place in a sequence is -1 - number then, of
        `marked`, which has the instruction and what was said.

        >>> followed = Followed(1, 1)
        >>> followed.start(0, 1)
        >>> followed.note(np.arange(1), 3)
        >>> followed.mark(0, ((64, 1, 1),))
        >>> followed.longest, followed.marked
        ((0, [[-1]]), [(3, ((64, 1, 1),))])
        """
        slot = int(self._slots[wave]) if self._lists and self._left > 0 else -1
        if slot < 0:
            return
        place = self._lists[slot][-1]
        place, before = self.marked[-1 - place] if place < 0 else (place, ())
        key = place, before + given
        if key not in self._marks:
            self._marks[key] = len(self.marked)
            self.marked.append(key)
        self._lists[slot][-1] = -1 - self._marks[key]

    @property
    def longest(self) -> tuple[int, list[list[int]]]:
        """The workgroup with the most instructions, and those of its waves."""
        return max(self.sequences.items(), key=lambda item: (sum(map(len, item[1])), -item[0]))


def loops_of(
    instructions: Sequence[Profiled], loops: Sequence[tuple[int, int]], entered: Mapping[tuple[int, int], float],
    model: bool,
) -> tuple[ProfiledLoop, ...]:  # fmt: skip
    """The loops, outer before inner.

    Args:
        loops: of each the numbers of its first and last instruction (see `spans_of`). entered: how often waves came
            into each from outside of it.
    """
    found = []
    for first, last in loops:
        body = instructions[first : last + 1]
        depth = sum(1 for span in loops if span[0] <= first and last <= span[1] and span != (first, last))
        inner = [span for span in loops if first <= span[0] and span[1] <= last and span != (first, last)]
        own = [at for at in range(first, last + 1) if not any(start <= at <= end for start, end in inner)]
        came = entered.get((first, last), 0)
        turns = max(instructions[at].executed for at in own) / came if came else 0.0
        places = [one.location for one in body if one.location is not None]
        found.append(
            ProfiledLoop(body[0].place, body[-1].place, depth, turns, places[0] if places else None, len(body),
                         counts_of(body, model))
        )  # fmt: skip
    return tuple(found)


def spans_of(branches: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The loops, as first and last instruction: those that branch back to one instruction are one loop.

    Args:
        branches: of each backward branch its number and that of the instruction that it goes to.

    >>> spans_of([(9, 2), (7, 2), (6, 4)])
    ((2, 9), (4, 6))
    """
    ends: dict[int, int] = {}
    for last, first in branches:
        ends[first] = max(last, ends.get(first, last))
    return tuple(sorted(ends.items(), key=lambda span: (span[0], -span[1])))


def lines_of(instructions: Iterable[Profiled], model: bool) -> tuple[ProfiledLine, ...]:
    """The lines of the source, that with the most wave instructions (of a model, the most stalled cycles) first."""
    found: dict[tuple[str, int], list[Profiled]] = {}
    for one in instructions:
        if one.location is not None:
            found.setdefault((one.location.file, one.location.line), []).append(one)
    lines = [
        ProfiledLine(held[0].location, linecache.getline(*place).strip(), counts_of(held, model))
        for place, held in found.items()
    ]
    lines.sort(key=lambda line: (-(line.counts.stalled or 0.0), -line.counts.executed))
    return tuple(lines)
