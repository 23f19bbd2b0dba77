"""What `mmacalc run-kernel` answers of PTX, as text and as JSON: kernels, what of them cannot be run, a launch."""

from __future__ import annotations

from ..answers.ptx_kernel_run import PtxCoverage, PtxKernelList
from ..errors import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.ptx_kernel_run import PtxKernelRun

    Answer = PtxCoverage | PtxKernelList | PtxKernelRun

__all__ = ["json_object", "text"]


def text(found: Answer) -> str:
    """The kernels with their parameters; the statements that cannot be run; or the report, and the files."""
    if isinstance(found, PtxKernelList):
        lines = []
        for kernel in found.kernels:
            block = f", blocks of {kernel.block[0]}" if kernel.block else ""
            lines.append(f"{kernel.name}: {kernel.target}{block}")
            lines += [f"  {name}: .{type_}" for name, type_ in kernel.signature]
    elif isinstance(found, PtxCoverage):
        lines = []
        for name, statements in found.kernels:
            wrong = f"{counted(len(statements), 'statement')} cannot be run"
            lines.append(f"{name}: {wrong if statements else 'covered'}")
            lines += [f"  line {line}: {statement}: {why}" for line, statement, why in statements]
    else:
        lines = [str(found.report), *[f"written to {path}" for path in found.written]]
    return "\n".join(lines) + "\n"


def json_object(found: Answer) -> dict[str, Any]:
    """The same as plain data."""
    if isinstance(found, PtxKernelList):
        kernels: list[dict[str, Any]] = [
            {
                "name": kernel.name,
                "target": kernel.target,
                "arguments": [{"name": name, "type": type_} for name, type_ in kernel.signature],
            }
            for kernel in found.kernels
        ]
        return {"kernels": kernels}
    if isinstance(found, PtxCoverage):
        kernels = [
            {
                "name": name,
                "uncovered": [{"line": line, "text": statement, "why": why} for line, statement, why in statements],
            }
            for name, statements in found.kernels
        ]
        return {"kernels": kernels}
    return {**found.report.as_dict(), "written": list(found.written)}
