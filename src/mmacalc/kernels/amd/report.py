"""What a launch of a compiled kernel did, step by step and in sum, and what it found wrong with it."""

from __future__ import annotations

from ...asm.decoded import RegisterOperand
from ...asm.decoder import text
from ...base.errors import plural
from ...base.records import TupleRecord, json_keys
from ..device.report import CompiledReport
from ..report import KEYS, Report
from .operands import scalar_row
from .operations.floats import APPROXIMATE
from .state import EXEC, SCC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...asm.code_objects import Kernel
    from ...asm.source_lines import SourceLines, SourceLocation
    from ...model import Architecture
    from ..device.findings import KernelFinding, Tally
    from ..device.traffic import BankSite
    from .program import Step
    from .state import Group

__all__ = ["KernelReport", "TraceStep", "tracer"]

KINDS = {
    "uninitialised": "a value that no instruction has written is used",
    "wait": "a register or a byte of LDS is touched before the access that writes it is waited for",
    "race": "two waves access the same bytes of LDS, or two workgroups of global memory, and nothing orders them",
    "barrier": "the waves of a workgroup meet at different barriers, and not equally often",
    "exec": "a WMMA instruction runs while lanes are inactive",
    "wait states": "too few wait states after a matrix instruction",
    "misaligned": "the hardware takes another address than the instruction says, or does not transpose",
}
"""What is wrong with a kernel."""
NOTES = {
    "same value": "two waves, or two workgroups, write the same value to the same bytes, and nothing orders them",
    "barrier": "the waves of a workgroup meet at different barriers",
    "scope": "the scope of an atomic operation does not include another workgroup that accesses the same bytes",
    "not used": "a load races with a store, and nothing uses what it gives",
    "outside LDS": "lanes access LDS far outside: the hardware drops what they store and loads zeros",
    "misaligned": "an access of LDS that is right in the unaligned mode only, which ROCm sets",
    "never read": "bytes of LDS that an instruction writes, and that nothing reads",
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


@json_keys(
    "kernel",
    "target",
    *KEYS,
    "lds_atomics",
    "executed",
    "mnemonics",
    "notes: what is remarkable, and not wrong",
    "approximations",
)
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
    mnemonics: dict[str, int]

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
        self.mnemonics = {}
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

    def _lds_lines(self) -> list[str]:
        lines = super()._lds_lines()
        if self.lds_atomics:
            count = plural(self.lds_atomics, "atomic operation")
            lines.append(f"LDS: {count}, not among the cycles: no public source says what they take")
        return lines

    def __repr__(self) -> str:
        ran = f"{plural(self.waves, 'wave')}, {plural(self.executed, 'instruction')}"
        return self._short(ran)

    def __str__(self) -> str:
        return f"{self.kernel} for {self.target}: {plural(self.executed, 'instruction')}\n{super().__str__()}"

    def _finding_lines(self) -> list[str]:
        lines = [
            f"{one.times} x {one.name}: approximate on hardware: up to {one.ulp} ULP" for one in self.approximations
        ]
        lines += [f"note: {note.sentence}" for note in self.notes]
        return [*lines, *self.verdict()]


# --- steps of one wave ---


class TraceStep(TupleRecord):
    """One instruction of the traced wave.

    number: counted from 0. address, text: the instruction. exec: EXEC after it, a bit for each lane. registers: what it
    wrote: (name, 32-bit values), one value for each lane of vector registers, one of scalar registers. location: the
    line of the source, None where the object does not say.
    """

    number: int
    address: int
    text: str
    exec: int
    registers: tuple[tuple[str, tuple[int, ...]], ...]
    location: SourceLocation | None = None


def tracer(show: Callable[[TraceStep], None], lines: SourceLines) -> Callable[[Step, Group, int], None]:
    """What `Batch` calls after each instruction of the traced wave; passes a `TraceStep` on."""
    numbers = iter(range(1 << 62))

    def traced(step: Step, group: Group, row: int) -> None:
        instruction = step.instruction
        halves = [instruction, *([instruction.second] if instruction.second is not None else [])]
        registers = [item for half in halves for operand in half.destinations for item in _values(operand, group, row)]
        wave = int(group.numbers()[row])
        words = [int(group.s[EXEC + part, wave]) for part in range(group.lanes // 32)]
        mask = sum(word << 32 * part for part, word in enumerate(words))
        at = instruction.address
        show(TraceStep(next(numbers), at, text(instruction), mask, tuple(registers), lines.at(at)))

    return traced


def _values(operand: RegisterOperand, group: Group, row: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    wave = int(group.numbers()[row])
    for part in range(operand[2]):
        if operand.file in ("v", "a"):
            yield (
                f"{operand.file}{operand[1] + part}",
                tuple(group.registers.file(operand)[operand[1] + part, wave].tolist()),
            )
        elif operand.file not in ("null", "off"):
            row_of = SCC if operand.file == "scc" else scalar_row(operand) + part
            name = f"s{operand[1] + part}" if operand.file == "s" else _named(operand, part)
            yield name, (int(group.s[row_of, wave]),)


def _named(operand: RegisterOperand, part: int) -> str:
    if operand.file in ("vcc", "exec"):
        return f"{operand.file}_{('lo', 'hi')[operand[1] + part]}"
    return operand.file
