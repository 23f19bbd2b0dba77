"""What a launch issued and moved, by the catalog's numbers."""

from __future__ import annotations

from collections import Counter

from ..base.checks import arguments_checked
from ..base.errors import Error, plural
from ..base.json_form import encoded
from ..base.records import Cache, json_keys
from ..throughput import MATRIX_UNITS, peak

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from ..diagnosis.compare import Diagnosis
    from ..model import Architecture, Instruction
    from .device.findings import KernelFinding, LineFinding
    from .device.traffic import BankSite, Traffic

__all__ = ["KEYS", "Report"]


KEYS = (
    "architecture=architecture.name",
    "workgroups",
    "waves",
    "instructions: matrix instructions, by name",
    "cycles: how long they occupy matrix units",
    "flops",
    "flops_per_unit_and_cycle",
    "peak_share",
    "bytes=traffic",
    "lds: the accesses of each line",
    "warnings",
    "findings",
)
"""What JSON has of every report (`mmacalc.base.records.json_keys`)."""
_peaks = Cache(64)
"""The peak rates by instruction and formats."""


@json_keys(*KEYS)
class Report:
    """Summary of a launch.

    Attributes:
        architecture: its record. workgroups, waves: how many ran.
        instructions: how many of each were issued, by name. issued: each instruction with its modifiers.
        cycles: how long they occupy matrix units, summed over all waves; None if the catalog does not know.
        flops: the operations that they perform (for integers as well), padding included.
        peak_share: those operations over what the architecture's fastest dense instruction on the same formats
            would carry out in that time; None if not known or nothing was issued.
        traffic: the bytes moved: loaded, stored, lds_loaded, lds_stored.
        lds: the LDS accesses of each line, with their cycles and bank conflicts; that with the most conflicts first.
        warnings: what the hardware allows but is often a mistake: waves that had ended when the others met at a
            barrier, waves that met at barriers of different lines, reads of LDS that nothing has written.
        findings: what is wrong with the kernel: races in LDS, with both lines and waves; empty if nothing was found.

    `str()` is a small text, `as_dict()` the same for JSON.
    """

    warnings: tuple[str, ...]
    architecture: Architecture
    workgroups: int
    waves: int
    issued: tuple[tuple[Instruction, tuple[tuple[str, int], ...]], ...]
    traffic: Traffic
    flops: int
    peak_share: float | None
    findings: tuple[LineFinding | KernelFinding, ...]
    lds: tuple[BankSite, ...]
    instructions: Counter[str]
    cycles: int | None

    def __init__(
        self,
        architecture: Architecture,
        workgroups: int,
        waves: int,
        issued: Counter[tuple[Instruction, tuple[tuple[str, int], ...]]],
        traffic: Traffic,
        warnings: Counter[str] | None = None,
        lds: tuple[BankSite, ...] = (),
    ) -> None:
        self.lds = lds
        self.findings = ()
        self.warnings = tuple(_counted(text, count) for text, count in (warnings or {}).items())
        self.architecture, self.workgroups, self.waves, self.traffic = architecture, workgroups, waves, traffic
        self.issued = tuple(issued)
        self.instructions = Counter()
        self.flops = 0
        cycles: int | None = 0
        least: float | None = 0.0
        for (inst, fields), count in issued.items():
            self.instructions[inst.name] += count
            self.flops += inst.flops * count
            each, best = inst.cycles_for(**dict(fields)), self._peak(inst, dict(fields))
            cycles = None if cycles is None or each is None else cycles + each * count
            least = None if least is None or not best else least + inst.flops * count * MATRIX_UNITS / best
        self.cycles = cycles
        self.peak_share = least / cycles if least and cycles else None

    @staticmethod
    def _peak(inst: Instruction, fields: dict[str, int]) -> int | None:
        names = frozenset([inst.format(operand, fields).name for operand in "AB"])
        found: int | None = _peaks.get((inst, names), lambda: peak(inst.arch, *names))
        return found

    @property
    def flops_per_unit_and_cycle(self) -> float | None:
        """Operations per cycle of one compute unit (of RDNA: workgroup processor), all four matrix units busy."""
        return MATRIX_UNITS * self.flops / self.cycles if self.cycles else None

    @arguments_checked
    def diagnose(
        self, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, *, d: ArrayLike | None = None, **rest: Any
    ) -> Diagnosis:
        """Compare D with the product by the instruction that the kernel issued, and find the kernel's mistake.

        Args:
            a, b, c: A (..., M, K), B (..., K, N) and C (..., M, N), or a number, of any size.
            d: the whole D (..., M, N), as the kernel left it; it is cut into the instruction's tiles, told apart.
            rest: as for `mmacalc.diagnose`, such as alpha and beta.

        Returns:
            What `mmacalc.diagnose` returns: a `mmacalc.Diagnosis`.

        Raises:
            Error: the kernel issued no matrix instruction, or several; an operand that does not fit.

        >>> import mmacalc, numpy as np
        >>> from mmacalc.rocwmma import *
        >>> def gemm(wave, a, b, d):
        ...     x = fragment(matrix_a, 16, 16, 16, float16_t, row_major)
        ...     y = fragment(matrix_b, 16, 16, 16, float16_t, row_major)
        ...     sums = fragment(accumulator, 16, 16, 16, float32_t)
        ...     fill_fragment(sums, 0.0)
        ...     load_matrix_sync(x, a, 16)
        ...     load_matrix_sync(y, b, 16)
        ...     mma_sync(sums, x, y, sums)
        ...     store_matrix_sync(d, sums, 16, mem_col_major)
        >>> a, b = np.random.default_rng(1).standard_normal((2, 16, 16)).astype(np.float16)
        >>> d = np.zeros((16, 16), np.float32)
        >>> report = mmacalc.launch(gemm, 1, 64, a, b, d, arch="gfx942")
        >>> report.diagnose(a, b, d=d).explanations[0].name
        'the tile is transposed: D[j][i] was stored as D[i][j]'
        """
        from ..diagnosis.compare import diagnose

        if len(self.issued) != 1:
            names = ", ".join(dict.fromkeys(inst.name for inst, _ in self.issued)) or "none"
            raise Error(
                f"the launch should have issued one matrix instruction, with one set of modifiers; it issued {names}. "
                "mmacalc.diagnose takes the instruction that is meant"
            )
        ((inst, fields),) = self.issued
        return diagnose(inst, a, b, c, d=d, **{**dict(fields), **rest})

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        plain: dict[str, Any] = encoded(self)
        return plain

    def __repr__(self) -> str:
        return (
            f"<Report: {plural(self.waves, 'wave')}, {plural(sum(self.instructions.values()), 'matrix instruction')}>"
        )

    def __str__(self) -> str:
        traffic = self.traffic
        lines = [
            f"{plural(self.workgroups, 'workgroup')}, {plural(self.waves, 'wave')} on {self.architecture.title}",
            *(f"{count} x {name}" for name, count in self.instructions.items()),
            *self._work_lines(),
            f"{traffic.loaded} bytes loaded, {traffic.stored} stored; LDS {traffic.lds_loaded}, {traffic.lds_stored}",
            *self._lds_lines(),
            *(f"warning: {text}" for text in self.warnings),
            *self._finding_lines(),
        ]
        return "\n".join(lines)

    def _work_lines(self) -> list[str]:
        """Operations and cycles, where matrix instructions were issued."""
        if not self.instructions:
            return ["no matrix instructions"]
        share = "unknown" if self.peak_share is None else f"{100 * self.peak_share:.1f} %"
        rate = f"{self.flops_per_unit_and_cycle} operations per {self.architecture.unit} and cycle"
        return [f"{self.flops} operations in {self.cycles} cycles of matrix units", f"{rate}, {share} of the peak"]

    def _finding_lines(self) -> list[str]:
        """What is wrong."""
        return [finding.sentence for finding in self.findings]

    def _lds_lines(self) -> list[str]:
        """LDS cycles and conflicts, and the lines with conflicts."""
        if not self.lds:
            return []
        conflicts = sum(site.conflicts for site in self.lds)
        lines = [f"LDS: {sum(site.cycles for site in self.lds)} cycles, of which {conflicts} are bank conflicts"]
        for site in self.lds:
            if site.conflicts:
                each = f"{site.accesses} x {site.access} of {site.bytes} bytes a lane"
                lines.append(f"  {site.place}: {plural(site.conflicts, 'conflict')} in {each} ({site.provenance})")
        return lines


def _counted(text: str, workgroups: int) -> str:
    return text if workgroups == 1 else f"{text}; so in {workgroups} workgroups"
