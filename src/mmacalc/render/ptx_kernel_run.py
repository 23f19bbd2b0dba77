"""What a launch of a PTX kernel did, as text and as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.ptx_kernel_run import PtxKernelRun

__all__ = ["json_object", "text"]


def text(found: PtxKernelRun) -> str:
    """The report, the files."""
    lines = [str(found.report), *[f"written to {path}" for path in found.written]]
    return "\n".join(lines) + "\n"


def json_object(found: PtxKernelRun) -> dict[str, Any]:
    """The same as plain data."""
    return {**found.report.as_dict(), "written": list(found.written)}
