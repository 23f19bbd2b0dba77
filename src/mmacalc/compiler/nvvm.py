"""The functions that become NVIDIA's matrix instructions, by the names that `mmacalc.catalog.grammar.nvvm` makes."""

from __future__ import annotations

from ..catalog.grammar import nvvm
from .dialects import Intrinsic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction

__all__ = ["functions"]


def functions(instruction: Instruction) -> tuple[Intrinsic, ...]:
    """Every name that LLVM and clang have for an instruction.

    >>> import mmacalc
    >>> inst = mmacalc.instruction("sm_80", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
    >>> [(one.builtin, one.llvm_intrinsic) for one in functions(inst)]
    [('__hmma_m16n16k16_mma_f32f32', 'llvm.nvvm.wmma.m16n16k16.mma.row.col.f32.f32')]
    """
    return tuple([Intrinsic(builtin, "", (), name, "", (), ()) for builtin, name in nvvm.functions(instruction.name)])
