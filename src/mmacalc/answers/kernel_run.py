"""What `mmacalc run-kernel` answers: the kernels of a code object, or what a launch did."""

from __future__ import annotations

from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asm.code_objects import Kernel
    from ..kernels.amd.report import KernelReport, TraceStep

__all__ = ["KernelList", "KernelRun"]


class KernelList(TupleRecord):
    """The kernels of a code object: its file, and the kernels."""

    file: str
    kernels: tuple[Kernel, ...]


class KernelRun(TupleRecord):
    """A launch: its report, the steps of the traced wave, the files that were written."""

    report: KernelReport
    steps: tuple[TraceStep, ...]
    written: tuple[str, ...]
