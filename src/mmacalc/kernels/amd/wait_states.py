"""Missing wait states of a kernel: the rules of `mmacalc.hazards.lint` on its decoded instructions."""

from __future__ import annotations

from ...asm.decoder import text
from ...errors import Error
from ...hazards.decoded_wait_states import missing_states
from ...hazards.recognizer import recognizer_for
from ...hazards.register_use import entry_of
from ..device.findings import KernelFinding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...asm.code_objects import Kernel
    from ...asm.decoded import DecodedInstruction
    from ..device.findings import Tally
    from .program import Program

__all__ = ["check_wait_states"]

SCHED_MODE = 26
"""The hardware register whose value 2 is expert scheduling (gfx12)."""


def check_wait_states(kernel: Kernel, program: Program, tally: Tally) -> None:
    """Enter the places where executed instructions come too early after others: matrix instructions, and before gfx10
    also those that write what DPP, lanes and addresses are read from.

    Where that is not looked at, a note says so: kernels with VGPRs above 255, whose instructions do not name them;
    what the rules cannot read; gfx1250's mode of expert scheduling, in which LLVM leaves out the wait states between a
    WMMA and what may execute beside it (LLVM 24 in Triton 3.9, which sets that mode in every kernel).
    """
    executed = {address: step.executed for address, step in program.steps.items() if step.executed}
    matrix = [program.instructions[at] for at in executed if program.steps[at].matrix is not None]
    entry = entry_of(kernel.target)
    if not matrix and recognizer_for(entry.architecture, kernel.target).unit != "s_nop":
        return
    why = ""
    listed = _instructions(kernel, program)
    expert = [one for one in listed if one.address in executed and _is_expert(one)]
    if any(one.name == "s_set_vgpr_msb" for one in listed):
        why = "the kernel has vector registers above v255, which its instructions do not name"
    elif expert:
        why = "the kernel runs in the mode of expert scheduling, for which no rules are published"
    else:
        try:
            found = list(missing_states(listed, kernel.target))
        except Error as error:
            found, why = [], f"{error}"
        for place in found:
            second, first = listed[place.second], listed[place.first]
            if {first.address, second.address} <= executed.keys():
                message = f"{place.missing} wait states missing: {place.wait.rule}"
                tally.add(_entry("wait states", second, message, executed[second.address], first))
    if why:
        first = (expert or matrix or listed)[0]
        message = f"wait states around matrix instructions are not checked: {why}"
        tally.note(_entry("not checked", first, message, executed[first.address]))


def _instructions(kernel: Kernel, program: Program) -> list[DecodedInstruction]:
    end = kernel.address + len(kernel.code)
    return [one for address, one in program.instructions.items() if kernel.address <= address < end]


def _is_expert(instruction: DecodedInstruction) -> bool:
    """Whether an instruction sets the mode of scheduling, other than to 0."""
    if not instruction.name.startswith("s_setreg_") or int(instruction.modifiers["simm16"]) & 63 != SCHED_MODE:
        return False
    return not (instruction.sources and getattr(instruction.sources[0], "bits", 1) == 0)


def _entry(
    kind: str, where: DecodedInstruction, message: str, times: int, other: DecodedInstruction | None = None
) -> KernelFinding:
    address, words = (None, "") if other is None else (other.address, text(other))
    return KernelFinding(kind, where.address, text(where), message, address, words, (0, 0, 0), 0, (), times)
