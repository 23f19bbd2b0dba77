"""The functions that C's headers declare for AMX and SME: names that the catalog files have beside the mnemonics."""

from __future__ import annotations

from .dialects import Intrinsic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction

__all__ = ["functions"]


def functions(instruction: Instruction) -> tuple[Intrinsic, ...]:
    """The functions of an instruction: of clang's immintrin.h and arm_sme.h.

    >>> import mmacalc
    >>> [one.builtin for one in functions(mmacalc.instruction("sme", "fmopa.s.h"))]
    ['svmopa_za32_f16_m']
    """
    return tuple([Intrinsic(name, "", (), "", "", (), ()) for name in instruction.aliases])
