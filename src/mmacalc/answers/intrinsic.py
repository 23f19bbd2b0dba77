"""How a compiler reaches an instruction: clang's builtins and the LLVM intrinsics behind them."""

from __future__ import annotations

from ..catalog import entry
from ..checks import arguments_checked
from ..compiler.builtins import Intrinsic, all_by_name, intrinsics, unscaled
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction

__all__ = ["InstructionIntrinsics", "intrinsic", "intrinsic_named"]


class InstructionIntrinsics(Record):
    """The builtins of one instruction.

    Attributes:
        instruction: which. intrinsics: none, one, or on RDNA3 with a 16-bit D two.
        through: where it has none, the scaled instruction whose builtin becomes it when both scales are the constant
            0; None if there is no such instruction either.
        others: what a name that was asked for becomes as well, by its arguments.
    """

    instruction: Instruction
    intrinsics: tuple[Intrinsic, ...]
    through: Instruction | None = None
    others: tuple[Instruction, ...] = ()


@arguments_checked
def intrinsic(instruction: Instruction, wave: int | None = None) -> InstructionIntrinsics:
    """The builtins of an instruction.

    Args:
        instruction: which. wave: the wave size; the architecture's default if left out.

    Raises:
        Error: the architecture has no such wave size.

    >>> import mmacalc
    >>> found = mmacalc.intrinsic(mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"))
    >>> [one.llvm_intrinsic for one in found.intrinsics]
    ['llvm.amdgcn.mfma.f32.16x16x16f16']
    """
    found = intrinsics(instruction, wave)
    if found or not instruction.architecture.encoding:
        return InstructionIntrinsics(instruction, found)
    through = (other for other in entry(instruction.arch).instructions() if unscaled(other) is instruction)
    return InstructionIntrinsics(instruction, (), next(through, None))


def intrinsic_named(arch: str, name: str) -> InstructionIntrinsics:
    """The builtin or LLVM intrinsic of that name, and its instruction.

    Raises:
        Error: the architecture has no such builtin.
    """
    (instruction, found, _), *others = all_by_name(arch, name)
    return InstructionIntrinsics(instruction, (found,), others=tuple([inst for inst, _, _ in others]))
