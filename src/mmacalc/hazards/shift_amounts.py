"""Shifts of 64 bits whose amount is in the last register of a block of eight, which gfx90a may read wrongly.

Registers are allocated by eight. Where the amount of V_LSHLREV_B64, V_LSHRREV_B64 or V_ASHRREV_I64 is in the last one
that a wave has, the shift is wrong. How many a wave has a listing of a function does not say, so what counts is, as for
LLVM, that the register is the last of a block of eight and that the next one occurs nowhere in the kernel or function.

Source: LLVM 22.1.8, GCNHazardRecognizer::fixShift64HighRegBug (hasShift64HighRegBug: gfx90a), which then copies the
amount to another register.
"""

from __future__ import annotations

from ..asm.reader import vector_registers
from .register_use import bare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..asm.reader import Listing, Statement

__all__ = ["MESSAGE", "high_shift_amounts"]

MESSAGE = (
    "takes its amount from {amount}, the last register of a block of eight, and {next} occurs nowhere: gfx90a may "
    "shift by another amount (Shift64HighReg); copy the amount to another register"
)
_SHIFTS = frozenset(("v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64"))
_BLOCK, _LAST = 8, 255


def high_shift_amounts(listing: Listing, starts: Sequence[int], target: str) -> Iterator[tuple[int, int]]:
    """Every such shift, as a number of a statement, and the number of its amount's register.

    Args:
        listing: from `mmacalc.asm.reader`. starts: the first statement of each kernel behind the first.
            target: the compiler target, such as "gfx90a".
    """
    if target != "gfx90a":
        return
    ends = [*starts, len(listing.statements)]
    for start, end in zip((0, *starts), ends):
        part = listing.statements[start:end]
        amounts = [(at, _amount(one)) for at, one in enumerate(part, start) if bare(one.mnemonic) in _SHIFTS]
        high = [(at, number) for at, number in amounts if number % _BLOCK == _BLOCK - 1]
        used = _used(part) if high else frozenset[int]()
        yield from ((at, number) for at, number in high if number == _LAST or number + 1 not in used)


def _amount(statement: Statement) -> int:
    """The number of the vector register that has the amount; -1 of none."""
    found = vector_registers(statement.operands[1]) if len(statement.operands) == 3 else ()
    return found[0].first if len(found) == 1 and found[0].file == "v" else -1


def _used(statements: Sequence[Statement]) -> frozenset[int]:
    """The numbers of the vector registers that occur in some statements."""
    found = {one for statement in statements for operand in statement.operands for one in vector_registers(operand)}
    return frozenset(number for one in found if one.file == "v" for number in range(one.first, one.last + 1))
