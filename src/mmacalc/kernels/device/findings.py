"""What a launch found wrong with a kernel, and what it noted: each once, with how often it was so."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...base.errors import Error, abbreviated
from ...base.records import TupleRecord
from .traffic import TrafficCounter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any, Protocol, TypeVar

    from ...asm.source_lines import SourceLocation
    from ...base.arrays import Array
    from .scheduler import Waves

    class Finding(Protocol):
        """A record of a mistake or a note; `key`: what makes two of them the same."""

        @property
        def times(self) -> int:
            """How often it was so."""

        @property
        def key(self) -> Hashable:
            """What makes two of them the same."""

        def _replace(self, *, times: int) -> Any: ...

    AnyFinding = TypeVar("AnyFinding", bound=Finding)

__all__ = ["KernelFinding", "LineFinding", "Reporter", "Stop", "Tally", "entered", "lanes_text"]


class KernelFinding(TupleRecord):
    """One mistake of a compiled kernel, or one note.

    kind: of a mistake or a note, as its machine names them. address, text: the instruction. message: what is wrong with
    it. other_address, other_text: the instruction that it collides with, None and "" if there is none. workgroup, wave:
    where it was first seen. lanes: which lanes then. times: how often it was executed that way. location,
    other_location: the lines of the source that the two come from, None where the object does not say.
    """

    kind: str
    address: int
    text: str
    message: str
    other_address: int | None
    other_text: str
    workgroup: tuple[int, int, int]
    wave: int
    lanes: tuple[int, ...]
    times: int
    location: SourceLocation | None = None
    other_location: SourceLocation | None = None

    @property
    def key(self) -> tuple[str, int, int | None]:
        """What makes two findings the same: the kind and the instructions."""
        return self.kind, self.address, self.other_address

    @property
    def sentence(self) -> str:
        """The finding in words, over one or several lines."""
        lanes = f", {lanes_text(self.lanes)}" if self.lanes else ""
        source = f"\n    at {self.location.described}" if self.location else ""
        where = f"workgroup {self.workgroup}, wave {self.wave}{lanes}"
        more = f" ({self.times} times)" if self.times > 1 else ""
        other = ""
        if self.other_address is not None:
            other = f"\n    the other instruction: {self.other_address:#x}: {self.other_text}"
            other += f"\n    at {self.other_location.described}" if self.other_location else ""
        return f"{self.kind}: {self.address:#x}: {self.text}: {self.message}; {where}{more}{source}{other}"


class LineFinding(TupleRecord):
    """One mistake of a Python kernel: a race.

    kind: "race". place, other_place: the two lines, "file:line", in the order in which they ran here. message: what is
    wrong. workgroup, wave, other_wave: where it was first seen. times: how often the first line was executed that way.
    """

    kind: str
    place: str
    message: str
    other_place: str
    workgroup: tuple[int, int, int]
    wave: int
    other_wave: int
    times: int

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two findings the same: the kind and the lines."""
        return self.kind, self.place, self.other_place

    @property
    def sentence(self) -> str:
        """The finding in words."""
        more = f" ({self.times} times)" if self.times > 1 else ""
        return f"{self.kind}: {self.place}: {self.message}; workgroup {self.workgroup}, wave {self.wave}{more}"


def entered(known: dict[Hashable, AnyFinding], finding: AnyFinding) -> None:
    """Enter a finding among others; the same one again only counts.

    >>> found = {}
    >>> for times in (1, 2):
    ...     entered(found, LineFinding("race", "k.py:3", "writes x[0]", "k.py:2", (0, 0, 0), 1, 0, times))
    >>> [one.times for one in found.values()]
    [3]
    """
    before = known.get(finding.key)
    known[finding.key] = finding if before is None else before._replace(times=before.times + finding.times)


def lanes_text(lanes: tuple[int, ...], what: str = "lane") -> str:
    """Lanes, or other numbers, as runs.

    >>> lanes_text((0, 1, 2, 5)), lanes_text((7,), "thread"), lanes_text(())
    ('lanes 0-2, 5', 'thread 7', '')
    """
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    parts = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    return f"{what}{'s' if len(lanes) > 1 else ''} {abbreviated(parts, 6)}" if lanes else ""


class Stop(Error):  # noqa: N818
    """An error that says where it is."""


class Tally:
    """What the batches of a launch add up.

    describe: the text of an instruction; locate: the line of the source of an address. undefined: by where an
    undefined value was read first, the instruction that used it. issued: matrix instructions. atomics: atomic
    operations on shared memory. steps, executed: instructions, counted once for all waves that run together, and
    once for each wave.
    """

    atomics: int
    describe: Callable[[Any], str]
    executed: int
    locate: Callable[[int], SourceLocation | None]
    moved: TrafficCounter
    steps: int

    def __init__(
        self, describe: Callable[[Any], str], locate: Callable[[int], SourceLocation | None] = lambda address: None
    ) -> None:
        self.describe, self.locate = describe, locate
        self.findings: dict[Hashable, KernelFinding] = {}
        self.notes: dict[Hashable, KernelFinding] = {}
        self.undefined: dict[tuple[int, str], int] = {}
        self.issued: Counter[Any] = Counter()
        self.warnings: Counter[str] = Counter()
        self.moved = TrafficCounter()
        self.atomics = self.steps = self.executed = 0

    def add(self, finding: KernelFinding) -> None:
        """Enter a finding; one of the same instructions again only counts."""
        entered(self.findings, finding)

    def note(self, finding: KernelFinding) -> None:
        """Enter a note, in the same way."""
        entered(self.notes, finding)


class Reporter:
    """Enters findings about instructions, with the workgroup, wave and lanes where they were first seen."""

    tally: Tally
    waves: Waves

    def __init__(self, tally: Tally, waves: Waves) -> None:
        self.tally, self.waves = tally, waves

    def find(
        self, kind: str, rows: Array, instruction: Any, message: str, where: Array | None = None, other: Any = None
    ) -> None:
        """Enter a finding.

        Args:
            rows: the waves that execute it. instruction, other: it, and the one that it collides with. where: which of
                these waves and which lanes it concerns, (waves, lanes or 1).
        """
        self.tally.add(self._finding(kind, rows, instruction, message, where, other))

    def note(
        self, kind: str, rows: Array, instruction: Any, message: str, where: Array | None = None, other: Any = None
    ) -> None:
        """Enter what is remarkable and not wrong; as `find`."""
        self.tally.note(self._finding(kind, rows, instruction, message, where, other))

    def _finding(
        self, kind: str, rows: Array, instruction: Any, message: str, where: Array | None, other: Any
    ) -> KernelFinding:
        row = 0
        lanes: tuple[int, ...] = ()
        if where is not None and where.any():
            row = int(where.any(axis=1).argmax())
            lanes = tuple(np.flatnonzero(where[row]).tolist()) if where.shape[1] > 1 else ()
        waves, number = self.waves, int(rows[row])
        address, text = (None, "") if other is None else (other.address, self.tally.describe(other))
        return KernelFinding(
            kind, instruction.address, self.tally.describe(instruction), message, address, text,
            (*waves.groups[int(waves.workgroup_of[number])],), int(waves.wave_in_group[number]), lanes, 1,
            self.tally.locate(instruction.address), None if other is None else self.tally.locate(other.address),
        )  # fmt: skip

    def at(self, instruction: Any) -> str:
        """An instruction, as messages that stop a launch name it."""
        source = self.tally.locate(instruction.address)
        line = f", {source}" if source else ""
        return f"at {instruction.address:#x} ({self.tally.describe(instruction)}{line})"

    def where(self, row: int, instruction: Any, lane: int | None = None) -> str:
        """A wave, a lane of it and an instruction, as messages that stop a launch name them."""
        lanes = "" if lane is None else f"{lanes_text((lane,))}, "
        return f"{self.waves.text(row)}, {lanes}{self.at(instruction)}"
