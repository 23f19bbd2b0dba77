"""What a launch of a compiled kernel did, and what it found wrong with it."""

from __future__ import annotations

from ...errors import counted
from ...records import TupleRecord
from ..device.findings import plain
from ..device.report import CompiledReport
from ..report import Report
from .operations.floats import APPROXIMATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...asm.code_objects import Kernel
    from ...model import Architecture
    from ..device.findings import KernelFinding, Tally
    from ..device.traffic import BankSite
    from .program import Step

__all__ = ["KINDS", "NOTES", "Approximation", "KernelReport"]

KINDS = {
    "uninitialised": "a value that no instruction has written is used",
    "wait": "a register or a byte of LDS is touched before the access that writes it is waited for",
    "race": "two waves access the same bytes of LDS without a barrier in between",
    "barrier": "the waves of a workgroup meet at different barriers, and not equally often",
    "exec": "a WMMA instruction runs while lanes are inactive",
    "wait states": "too few wait states after a matrix instruction",
}
"""What is wrong with a kernel."""
NOTES = {
    "same value": "two waves write the same value to the same bytes of LDS without a barrier in between",
    "barrier": "the waves of a workgroup meet at different barriers",
    "outside LDS": "lanes access LDS far outside: the hardware drops what they store and loads zeros",
    "not checked": "a check did not run",
}
"""What is remarkable, and not wrong."""


class Approximation(TupleRecord):
    """An instruction that hardware computes approximately, and this emulator correctly rounded.

    name: its mnemonic. times: how often waves executed it. ulp: the error that AMD documents, in ULP.
    """

    name: str
    times: int
    ulp: str


class KernelReport(CompiledReport, Report):
    """Summary of a launch of a compiled kernel: a `mmacalc.kernels.Report` with what compiled code has besides.

    Attributes:
        kernel, target: the kernel's name and compiler target.
        executed: how many instructions waves executed. mnemonics: how often each.
        findings: what is wrong with the kernel, see `KernelFinding`; empty if nothing was found.
        notes: what is remarkable and not wrong, as findings.
        lds_atomics: how many atomic operations on LDS waves executed; their cycles are not known, and not in `lds`.
        approximations: instructions whose results differ on hardware within the documented error.
    """

    kernel: str
    target: str
    executed: int
    lds_atomics: int
    findings: tuple[KernelFinding, ...]
    notes: tuple[KernelFinding, ...]
    approximations: tuple[Approximation, ...]

    def __init__(
        self,
        kernel: Kernel,
        architecture: Architecture,
        sizes: tuple[int, int],
        tally: Tally,
        steps: tuple[Step, ...],
        lds: tuple[BankSite, ...],
    ) -> None:
        Report.__init__(self, architecture, *sizes, tally.issued, tally.moved.traffic, tally.warnings, lds)
        self.kernel, self.target, self.lds_atomics = kernel.name, kernel.target, tally.atomics
        self.findings, self.notes = tuple(tally.findings.values()), tuple(tally.notes.values())
        self.mnemonics: dict[str, int] = {}
        for step in steps:
            halves = [step.instruction, *([step.instruction.second] if step.instruction.second is not None else [])]
            for half in halves:
                self.mnemonics[half.name] = self.mnemonics.get(half.name, 0) + step.executed
        self.executed = sum(step.executed for step in steps)
        self.approximations = tuple(
            Approximation(name, times, APPROXIMATE[name])
            for name, times in self.mnemonics.items()
            if name in APPROXIMATE
        )

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "kernel": self.kernel,
            "target": self.target,
            **super().as_dict(),
            "lds_atomics": self.lds_atomics,
            "executed": self.executed,
            "mnemonics": dict(self.mnemonics),
            "notes": [plain(note) for note in self.notes],
            "approximations": [one._asdict() for one in self.approximations],
        }

    def _lds_lines(self) -> list[str]:
        lines = super()._lds_lines()
        if self.lds_atomics:
            count = counted(self.lds_atomics, "atomic operation")
            lines.append(f"LDS: {count}, not among the cycles: no public source says what they take")
        return lines

    def __repr__(self) -> str:
        ran = f"{counted(self.waves, 'wave')}, {counted(self.executed, 'instruction')}"
        return self._short(ran)

    def __str__(self) -> str:
        return f"{self.kernel} for {self.target}: {counted(self.executed, 'instruction')}\n{super().__str__()}"

    def _finding_lines(self) -> list[str]:
        lines = [
            f"{one.times} x {one.name}: approximate on hardware: up to {one.ulp} ULP" for one in self.approximations
        ]
        lines += [f"note: {note.sentence}" for note in self.notes]
        return [*lines, *self.verdict()]
