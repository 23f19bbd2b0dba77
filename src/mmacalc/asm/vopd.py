"""The two halves of VOPD.

Either half is a row of the tables; a literal is shared. VDST of Y lacks its lowest bit, which is the opposite of that
of X (RDNA3 ISA guide, "Dual Issue VALU"); VOPD3 of CDNA5 has it whole.
"""

from __future__ import annotations

from .decoded import DecodedInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .tables import Row, Table

__all__ = ["vopd"]

_SHARED_BIT = 56  # of VOPD: the lowest bit of X's VDST


def vopd(bits: int, rows: Table, decoded: Callable[[Row, int], DecodedInstruction | None]) -> DecodedInstruction | None:
    """The VOPD instruction that the bits begin with; None if they begin none.

    Args:
        decoded: decodes the bits with a row.
    """
    for form in ("vopd", "vopd3"):
        if f"{form}:x" not in rows.formats or rows.wave == 64:  # LLVM 22 has it of wave32 only
            continue
        halves = [_half(bits, rows, f"{form}:{half}", decoded) for half in "xy"]
        if halves[0] is None or halves[1] is None:
            continue
        first, second = halves[0], halves[1]
        size = max(first.size, second.size)
        if form == "vopd":
            (register,) = second.destinations
            whole = register._replace(index=2 * register.index + (1 - (bits >> _SHARED_BIT & 1)))
            sources = [whole if "<VDST" in _reads(second) and at == len(second.sources) - 1 else one
                       for at, one in enumerate(second.sources)]  # fmt: skip
            second = second._replace(destinations=(whole,), sources=tuple(sources))
        return first._replace(size=size, second=second._replace(size=size))
    return None


def _reads(instruction: DecodedInstruction) -> tuple[str, ...]:
    return tuple(f"<{name}" for name in getattr(instruction.form, "reads", ()))


def _half(
    bits: int, rows: Table, name: str, decoded: Callable[[Row, int], DecodedInstruction | None]
) -> DecodedInstruction | None:
    form = rows.formats[name]
    encoding, opcode = form.fields["ENCODING"], form.fields["OP"]
    if bits & encoding.mask != encoding.spread(encoding.value or 0):
        return None
    for row in (*rows.rows(name, opcode.gather(bits)), *rows.rows(f"{name}:bitop2", opcode.gather(bits))):
        if bits & row.mask == row.value:
            return decoded(row, bits)
    return None
