"""Where a row's bytes lie in LDS: padding and swizzles.

    Swizzle(bits, base, shift)    CuTe's Swizzle on byte addresses: address bits [base + shift, base + shift + bits)
                                  are XORed into bits [base, base + bits)
    RowSwizzle(vec, per_phase, max_phase)   Triton's: within a row, vectors of `vec` elements are permuted by XOR with
                                  (row / per_phase) % max_phase

NVIDIA's modes 32B, 64B and 128B are Swizzle(1, 4, 3), (2, 4, 3) and (3, 4, 3).
"""

from __future__ import annotations

from operator import index

from ..checks import shown
from ..errors import Error, did_you_mean
from ..numerals import whole
from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MODES", "RowSwizzle", "Swizzle", "swizzle_of"]


class Swizzle(TupleRecord):
    """CuTe's Swizzle<bits, base, shift> on byte addresses; its own inverse since shift >= bits.

    >>> hex(Swizzle(3, 4, 3).address(0x80))
    '0x90'
    """

    bits: int
    base: int
    shift: int

    def address(self, address: int) -> int:
        """A byte address after the swizzle."""
        mask = ((1 << self.bits) - 1) << self.base
        return address ^ (address >> self.shift & mask)

    def in_row(self, row: int, byte: int, element_bits: int) -> int:
        """A byte of a row, which this swizzle leaves where it is."""
        return byte


class RowSwizzle(TupleRecord):
    """Triton's swizzled shared encoding: the vectors of a row change places, row by row.

    >>> RowSwizzle(4, 1, 16).in_row(row=1, byte=0, element_bits=16)
    8
    """

    vec: int
    per_phase: int
    max_phase: int

    def address(self, address: int) -> int:
        """A byte address, which this swizzle leaves as it is."""
        return address

    def in_row(self, row: int, byte: int, element_bits: int) -> int:
        """A byte of a row after the swizzle."""
        width = self.vec * element_bits // 8
        return (byte // width ^ row // self.per_phase % self.max_phase) * width + byte % width


MODES = {"none": Swizzle(0, 4, 3), "32B": Swizzle(1, 4, 3), "64B": Swizzle(2, 4, 3), "128B": Swizzle(3, 4, 3)}


def swizzle_of(value: str | Sequence[int] | None) -> Swizzle | RowSwizzle:
    """A swizzle from what users write.

    Args:
        value: None; (bits, base, shift) or "3,4,3"; "none", "32B", "64B" or "128B"; "vec,perPhase,maxPhase=4,1,16".

    Raises:
        Error: none of these, or numbers that make no permutation.

    >>> swizzle_of("128B")
    Swizzle(bits=3, base=4, shift=3)
    >>> swizzle_of("vec,perPhase,maxPhase=4,1,16")
    RowSwizzle(vec=4, per_phase=1, max_phase=16)
    """
    if value is None or isinstance(value, (Swizzle, RowSwizzle)):
        return value or MODES["none"]
    if isinstance(value, str) and (mode := {name.lower(): name for name in MODES}.get(value.lower())):
        return MODES[mode]
    kind, _, text = value.rpartition("=") if isinstance(value, str) else ("", "", "")
    try:
        three = (
            [whole(part.strip(), "a number") for part in text.split(",")]
            if isinstance(value, str)
            else [*map(index, value)]
        )
    except (TypeError, ValueError):
        three = []
    if len(three) != 3 or min(three) < 0 or max(three) > 1 << 16:
        raise Error(
            f"a swizzle is bits,base,shift (such as 3,4,3), vec,perPhase,maxPhase=4,1,16, or one of "
            f"{', '.join(MODES)}; got {shown(value)}.{did_you_mean(shown(value), MODES)}"
        )
    if kind:
        return _row_swizzle(*three)
    bits, base, shift = three
    if shift < max(bits, 1) or bits + base + shift > 32:
        raise Error(
            f"a swizzle's shift is at least its bits, else it is not a permutation; got bits {bits}, shift {shift}"
        )
    return Swizzle(bits, base, shift)


def _row_swizzle(vec: int, per_phase: int, max_phase: int) -> RowSwizzle:
    if not vec or not per_phase or max_phase & (max_phase - 1) or not max_phase:
        raise Error(f"vec and perPhase are positive, maxPhase a power of two; got {vec}, {per_phase}, {max_phase}")
    return RowSwizzle(vec, per_phase, max_phase)
