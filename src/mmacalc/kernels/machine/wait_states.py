"""Missing wait states of a kernel: its listing is linted, see `mmacalc.hazards.lint`."""

from __future__ import annotations

from ...asm.decoder import text
from ...errors import Error
from ...hazards.lint import lint
from .findings import KernelFinding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...asm.code_objects import Kernel
    from .program import Program

__all__ = ["missing_wait_states"]


def missing_wait_states(kernel: Kernel, program: Program) -> Iterator[KernelFinding]:
    """The places where executed instructions come too early after executed matrix instructions.

    None of kernels with VGPRs above 255, whose instructions do not name them.
    """
    if any(one.name == "s_set_vgpr_msb" for one in program.instructions.values()):
        return
    if not any(step.matrix is not None and step.executed for step in program.steps.values()):
        return
    end = kernel.address + len(kernel.code)
    listed = [one for address, one in program.instructions.items() if kernel.address <= address < end]
    lines = [f"{text(one)} // {one.address:012X}: {'00000000 ' * (one.size // 4)}" for one in listed]
    try:
        report = lint("\n".join(lines), kernel.target)
    except Error:  # architectures without rules
        return
    for found in report.of_kind("wait states"):
        assert found.wait is not None
        second, first = listed[found.line - 1], listed[found.first_line - 1]
        if all(one.address in program.steps and program.steps[one.address].executed for one in (first, second)):
            message = f"{found.missing} wait states missing: {found.wait.rule}"
            yield KernelFinding(
                "wait states", second.address, text(second), message, first.address, text(first), (0, 0, 0), 0, (),
                program.steps[second.address].executed,
            )  # fmt: skip
