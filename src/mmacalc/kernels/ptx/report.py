"""What a launch of a PTX kernel did, and what it found wrong with it."""

from __future__ import annotations

from math import prod

from ...base.errors import plural
from ...base.json_form import encoded
from ...base.records import json_keys
from ..device.report import CompiledReport
from .findings import PtxFinding
from .traffic import SECTOR, GlobalAccess, SharedAccess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...ptx.module import Location

__all__ = ["PtxReport"]

SHOWN, NOTABLE = 4, 1.25
"""Statements that the text lists for each memory, and how many times the ideal these cost; the report has all."""


@json_keys(
    "kernel",
    "target",
    "grid",
    "block",
    "cluster",
    "warps",
    "executed: thread instructions",
    "opcodes",
    "findings",
    "shared_accesses: by statement; cycles with and without bank conflicts",
    "global_accesses: by statement; sectors of 32 bytes that are moved, and that would do",
    "notes: what is remarkable, and not wrong",
    "approximations",
    "printed: by printf",
)
class PtxReport(CompiledReport):
    """What a launch of a PTX kernel did.

    kernel, target; grid, block, cluster; findings; executed: thread instructions; warps: how many ran; opcodes: how
    often threads executed each; approximations: opcodes whose results differ on hardware within a documented error.
    shared_accesses, global_accesses: by statement, with their bank conflicts and sectors (see `SharedAccess` and
    `GlobalAccess`). printed: what the kernel has printed by printf.
    """

    kernel: str
    target: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    findings: tuple[PtxFinding, ...]
    executed: int
    warps: int
    opcodes: dict[str, int]
    approximations: dict[str, int]
    shared_accesses: tuple[SharedAccess, ...]
    global_accesses: tuple[GlobalAccess, ...]
    printed: str

    def __init__(self, launch: Any) -> None:
        program = launch.program
        self.kernel, self.target = program.name, program.target
        self.grid, self.block, self.cluster = launch.grid, launch.block, launch.cluster
        self.findings = tuple(launch.findings.values())
        self.executed = launch.executed
        self.warps = -(-launch.block_size // 32) * prod(launch.grid)
        self.shared_accesses = launch.traffic.shared_accesses
        self.global_accesses = launch.traffic.global_accesses
        self.printed = "".join(launch.printed)
        self.opcodes = {}
        self.approximations = {}
        self._remarks: dict[tuple[int, str], int] = dict(launch.remarks)
        self._places = {step.line: _source(step.statement.location) for step in program.steps}
        for step, executed in zip(program.steps, launch.counts):
            if executed and step.line:
                name = step.statement.opcode
                self.opcodes[name] = self.opcodes.get(name, 0) + executed
                if step.operation is not None and step.operation.approximate:
                    self.approximations[name] = self.approximations.get(name, 0) + executed

    @property
    def notes(self) -> tuple[str, ...]:
        """What is remarkable, and not wrong."""
        return tuple([
            f"{times} x {name}: approximate on hardware, within the error that PTX documents; rounded correctly here"
            for name, times in self.approximations.items()
        ] + self._remarked())  # fmt: skip

    def _remarked(self) -> list[str]:
        """The remarks, those of one wording together, by their first lines."""
        grouped: dict[str, list[tuple[int, int]]] = {}
        for (line, message), times in sorted(self._remarks.items()):
            grouped.setdefault(message, []).append((line, times))
        found = []
        for message, places in grouped.items():
            lines, total = (
                [f"{line}{self._places.get(line, '')}" for line, _ in places],
                sum(times for _, times in places),
            )
            more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
            where = f"line{'s' if len(lines) > 1 else ''} {', '.join(lines[:SHOWN])}{more}"
            found.append(f"{where}: {message}{f' ({total} times)' if total > 1 else ''}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        plain: dict[str, Any] = encoded(self)
        return plain

    def _shared_lines(self) -> list[str]:
        """Cycles of shared memory, and the statements with bank conflicts."""
        if not self.shared_accesses:
            return []
        cycles = sum(site.cycles for site in self.shared_accesses)
        conflicts = sum(site.conflicts for site in self.shared_accesses)
        lines = [f"shared memory: {plural(cycles, 'cycle')}, {conflicts} of them bank conflicts"]
        worst = [site for site in self.shared_accesses if site.cycles >= NOTABLE * site.ideal]
        for site in worst[:SHOWN]:
            each = f"{site.requests} x {site.access} of {site.bytes} bytes a thread"
            lines.append(f"  {_place(site)}: {plural(site.conflicts, 'conflict')} in {each} ({site.provenance})")
        return lines + _more(worst)

    def _global_lines(self) -> list[str]:
        """Sectors of global memory, and the statements that move more than would do."""
        if not self.global_accesses:
            return []
        sectors, ideal = (sum(getattr(site, name) for site in self.global_accesses) for name in ("sectors", "ideal"))
        lines = [f"global memory: {plural(sectors, 'sector')} of {SECTOR} bytes; {ideal} would hold the data"]
        worst = [site for site in self.global_accesses if site.sectors >= NOTABLE * site.ideal]
        for site in worst[:SHOWN]:
            each = f"{site.requests} x {site.access} of {site.bytes} bytes a thread"
            rate = f"{site.sectors / site.requests:.1f} sectors each where {site.ideal / site.requests:.1f} would do"
            lines.append(f"  {_place(site)}: {rate}, in {each}")
        return lines + _more(worst)

    def __repr__(self) -> str:
        ran = f"{plural(self.warps, 'warp')}, {plural(self.executed, 'thread instruction')}"
        return self._short(ran)

    def __str__(self) -> str:
        lines = [f"{self.kernel} for {self.target}: {plural(self.warps, 'warp')}, "
                 f"{plural(self.executed, 'thread instruction')}"]  # fmt: skip
        lines += self._shared_lines() + self._global_lines()
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, *self.verdict()])


def _place(site: SharedAccess | GlobalAccess) -> str:
    return f"line {site.line}{_source(site.location)}: {site.text}"


def _source(location: Location | None) -> str:
    """A place in the source, in brackets behind the line of PTX."""
    return f" ({location})" if location else ""


def _more(sites: list[Any]) -> list[str]:
    return [f"  and {plural(len(sites) - SHOWN, 'more statement')}"] if len(sites) > SHOWN else []
