"""Places and elements as pictures write them, where lanes and registers stand apart: `v0[31:16]`, `%r1[31:16]`, `3,9`.

AMD's registers go by the assembler's names (`v[0:1]` is a pair); NVIDIA's are those of an operand whose 32-bit
registers are %r0, %r1 ... and whose 64-bit ones are %rd0, %rd1 ... (`mmacalc.spelling`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model import Location, Operand
    from .matrix import Matrix

from ..spelling import ranges, register_text, signed

__all__ = ["bits_text", "held_text", "operand_title", "slot_text", "with_sign"]

# The operands that are no matrix of the product, as their pictures call them.
TITLES = {"K": "K (index of A)", "SA": "SA (scale of A)", "SB": "SB (scale of B)", "P": "P (row addresses)"}


def operand_title(name: str) -> str:
    """What a picture calls an operand."""
    return TITLES.get(name, name)


def bits_text(lsb: int, width: int) -> str:
    """The bits of a register that an element takes; "" for all of them, with a + where it goes on in the next.

    >>> bits_text(16, 16), bits_text(0, 32), bits_text(30, 6)
    ('31:16', '', '31:30+')
    """
    if width >= 32:
        return ""
    last = lsb + width - 1
    return f"{min(last, 31)}:{lsb}{'+' if last > 31 else ''}"


def slot_text(operand: Operand, location: Location) -> str:
    """The registers and bits of a location, in full.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4").operand("A", cbsz="fp6")
    >>> slot_text(a, a.locate(i=3, k=5)[0])
    'v0[31:30] + v1[3:0]'
    """
    _, _, register, lsb, width = location
    first = register_text(operand, register, width)
    last = lsb + width - 1
    if last > 31 and width < 32:
        return f"{first}[31:{lsb}] + {register_text(operand, register + 1, width)}[{last - 32}:0]"
    return first if width >= 32 else f"{first}[{last}:{lsb}]"


def held_text(matrix: Matrix, lane: int, item: int) -> str:
    """What one item of a lane is: `3,9`, in a block `2:3,9`, with runs where several share the place; signs as read.

    >>> import mmacalc
    >>> from mmacalc.drawing.matrix import matrix
    >>> scale = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4").operand("SA")
    >>> held_text(matrix(scale), lane=19, item=0)
    '3,32-63'
    """
    found = matrix.elements(lane, item)
    if not found:
        return ""
    blocks, rows, columns = ({*part} for part in zip(*found))
    if len(blocks) * len(rows) * len(columns) == len(found):
        text = f"{ranges(rows, '/')},{ranges(columns, '/')}"
        text = f"{ranges(blocks, '/')}:{text}" if matrix.blocks.extent > 1 else text
    else:
        text = " ".join(f"{b}:{i},{j}" if matrix.blocks.extent > 1 else f"{i},{j}" for b, i, j in found)
    return with_sign(text, matrix.signs[item])


def with_sign(text: str, sign: str) -> str:
    """The signs that NEG and its kin put around an element: a minus, bars for the absolute value, or both.

    Of the two stored values of a sparse A in one register, the `low` or the `high` one may have a minus.

    >>> with_sign("3,9", "-|"), with_sign("3,8-11", "low")
    ('-|3,9|', '(low -) 3,8-11')
    """
    return f"({sign} -) {text}" if sign in ("low", "high") else signed(text, sign)
