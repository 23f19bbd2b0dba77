"""Where a row's bytes lie in LDS: padding and swizzles.

    Swizzle(bits, base, shift)    CuTe's Swizzle on byte addresses: address bits [base + shift, base + shift + bits)
                                  are XORed into bits [base, base + bits)
    RowSwizzle(vec, per_phase, max_phase)   Triton's: within a row, vectors of `vec` elements are permuted by XOR with
                                  (row / per_phase) % max_phase

NVIDIA's modes 32B, 64B and 128B are Swizzle(1, 4, 3), (2, 4, 3) and (3, 4, 3); those of Blackwell that keep 32 and 64
bytes together (128B base32B, 128B base64B) are (2, 5, 2) and (1, 6, 1).
"""

from __future__ import annotations

from operator import index

from ..base.checks import shown, whole
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord
from ..families.shared_memory import PATTERNS

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

    def piece(self, element_bits: int) -> int:
        """The bytes that it leaves side by side; 0 where it moves nothing."""
        return 1 << self.base if self.bits else 0

    def fault(self, rows: int, row_bytes: int, stride: int, element_bits: int) -> str:
        """Why it is not a permutation of the bytes of a tile; empty if it is one.

        An address stays within its block of 2**(base + bits) bytes, whose number says what is flipped, as shift is at
        least bits. So only a last block that is not whole can be left.

        Args:
            rows: of the tile; row_bytes: of each without padding; stride: with padding; element_bits: of an element.

        >>> Swizzle(3, 4, 3).fault(9, 16, 16, 16)
        'it moves bytes of the last 16 of 144 out of the tile; the tile should be a multiple of 128 bytes'
        """
        size = rows * stride
        last = size % (1 << self.base + self.bits)
        flipped = size - last >> self.shift & (1 << self.bits) - 1 << self.base
        if last % (1 << flipped.bit_length()) == 0:
            return ""
        whole = f"the tile should be a multiple of {1 << self.base + self.bits} bytes"
        return f"it moves bytes of the last {last} of {size} out of the tile; {whole}"


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

    def piece(self, element_bits: int) -> int:
        """The bytes that it leaves side by side; 0 where it moves nothing."""
        return self.vec * element_bits // 8 if self.max_phase > 1 else 0

    def fault(self, rows: int, row_bytes: int, stride: int, element_bits: int) -> str:
        """Why it is not a permutation of the bytes of each row of a tile; empty if it is one.

        Args:
            rows: of the tile; row_bytes: of each without padding; stride: with padding; element_bits: of an element.

        >>> RowSwizzle(4, 1, 16).fault(32, 16, 16, 16)
        'rows of 16 bytes have 2 vectors of 8 bytes, phases reach 15: maxPhase should be at most 2, or a row 128 bytes'
        >>> RowSwizzle(4, 1, 16).fault(32, 128, 128, 16)
        ''
        """
        if self.vec * element_bits % 8:
            return f"vec {self.vec} is {self.vec * element_bits} bits, not a whole number of bytes"
        width = self.vec * element_bits // 8
        last = min((rows - 1) // self.per_phase, self.max_phase - 1)
        vectors, rest = divmod(row_bytes, width)
        if not last or not (rest or vectors % (1 << last.bit_length())):
            return ""
        needed = width << last.bit_length()
        if rest:
            return f"rows of {row_bytes} bytes are not whole vectors of {width} bytes; a row should be {needed} bytes"
        return (
            f"rows of {row_bytes} bytes have {vectors} vectors of {width} bytes, phases reach {last}: maxPhase should "
            f"be at most {vectors & -vectors}, or a row {needed} bytes"
        )


MODES = {name: Swizzle(one.bits, one.base, one.shift) for name, one in PATTERNS.items()}


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
