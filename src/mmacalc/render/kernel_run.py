"""What a launch of a compiled kernel did, as text and as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..answers.kernel_run import KernelRun
    from ..kernels.amd.report import TraceStep

__all__ = ["json_object", "text"]

LANES_IN_ROW = 8


def text(found: KernelRun) -> str:
    """The traced steps, the report, the files."""
    lines = [line for step in found.steps for line in _step_lines(step)]
    lines.append(str(found.report))
    lines += [f"written to {path}" for path in found.written]
    return "\n".join(lines) + "\n"


def _step_lines(step: TraceStep) -> Iterator[str]:
    yield f"{step.number:>6}  {step.address:#x}  {step.text}"
    for name, values in step.registers:
        if len(values) == 1:
            yield f"        {name} = {values[0]:08x}"
        elif len(set(values)) == 1:
            yield f"        {name} = {values[0]:08x} in every lane"
        else:
            for first in range(0, len(values), LANES_IN_ROW):
                row = values[first : first + LANES_IN_ROW]
                cells = " ".join([f"{value:08x}" for value in row])
                yield f"        {name}, lanes {first}-{first + len(row) - 1}: {cells}"


def json_object(found: KernelRun) -> dict[str, Any]:
    """The same as plain data."""
    return {
        **found.report.as_dict(),
        "written": list(found.written),
        "trace": [
            {
                "number": step.number,
                "address": step.address,
                "text": step.text,
                "exec": step.exec,
                "registers": [{"name": name, "values": list(values)} for name, values in step.registers],
            }
            for step in found.steps
        ],
    }
