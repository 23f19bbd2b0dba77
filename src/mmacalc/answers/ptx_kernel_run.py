"""What `mmacalc run-kernel` answers of PTX: the kernels of a file, what of them cannot be run, what a launch did."""

from __future__ import annotations

from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernels.ptx.kernel import PtxKernel
    from ..kernels.ptx.report import PtxReport

__all__ = ["PtxCoverage", "PtxKernelList", "PtxKernelRun"]


class PtxKernelList(TupleRecord):
    """The kernels of a file of PTX."""

    file: str
    kernels: tuple[PtxKernel, ...]


class PtxCoverage(TupleRecord):
    """By kernel the statements that cannot be run: (line, statement, why)."""

    file: str
    kernels: tuple[tuple[str, tuple[tuple[int, str, str], ...]], ...]


class PtxKernelRun(TupleRecord):
    """A launch: its report, the files that were written."""

    report: PtxReport
    written: tuple[str, ...]
