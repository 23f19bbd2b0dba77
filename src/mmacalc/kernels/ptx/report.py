"""What a launch of a PTX kernel did, and what it found wrong with it."""

from __future__ import annotations

from math import prod

from ...errors import counted
from ..device.report import CompiledReport
from .findings import PtxFinding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PtxReport"]


class PtxReport(CompiledReport):
    """What a launch of a PTX kernel did.

    kernel, target; grid, block, cluster; findings; executed: thread instructions; warps: how many ran; opcodes: how
    often threads executed each; approximations: opcodes whose results differ on hardware within a documented error.
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

    def __init__(self, launch: Any) -> None:
        program = launch.program
        self.kernel, self.target = program.name, program.target
        self.grid, self.block, self.cluster = launch.grid, launch.block, launch.cluster
        self.findings = tuple(launch.findings.values())
        self.executed = launch.executed
        self.warps = -(-launch.block_size // 32) * prod(launch.grid)
        self.opcodes = {}
        self.approximations = {}
        for step in program.steps:
            if step.executed and step.line:
                name = step.statement.opcode
                self.opcodes[name] = self.opcodes.get(name, 0) + step.executed
                if step.operation is not None and step.operation.approximate:
                    self.approximations[name] = self.approximations.get(name, 0) + step.executed

    @property
    def notes(self) -> tuple[str, ...]:
        """What is remarkable, and not wrong."""
        return tuple([
            f"{times} x {name}: approximate on hardware, within the error that PTX documents; rounded correctly here"
            for name, times in self.approximations.items()
        ])  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "kernel": self.kernel,
            "target": self.target,
            "grid": list(self.grid),
            "block": list(self.block),
            "cluster": list(self.cluster),
            "warps": self.warps,
            "executed": self.executed,
            "opcodes": dict(self.opcodes),
            "findings": self.findings_as_dicts(),
            "notes": list(self.notes),
            "approximations": dict(self.approximations),
        }

    def __repr__(self) -> str:
        ran = f"{counted(self.warps, 'warp')}, {counted(self.executed, 'thread instruction')}"
        return self._short(ran)

    def __str__(self) -> str:
        lines = [f"{self.kernel} for {self.target}: {counted(self.warps, 'warp')}, "
                 f"{counted(self.executed, 'thread instruction')}"]  # fmt: skip
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, *self.verdict()])
