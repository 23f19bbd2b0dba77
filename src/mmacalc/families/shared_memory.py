"""Where wgmma's shared-memory operands have their elements, and the descriptor that says so.

B always, and A if it is not in registers, is read from shared memory in 16-byte chunks of eight rows. In one of
four canonical layouts the eight rows of a tile are 16, 32, 64 or 128 bytes long, and the chunks of a row are
permuted by Swizzle<B,4,3>: B address bits from bit 4 up are XORed with those three places above. So eight rows
of one chunk column lie in eight different 16-byte bank groups, and a column is read without conflicts.

    K-major     rows of A (columns of B) are the rows of the tile, k runs along them
    MN-major    k is the row of the tile, and m (of B: n) runs along it; for 16-bit types only

Sources: PTX ISA 9.1, sections 9.7.15.5.1 (canonical layouts) and 9.7.15.5.1.2 (descriptor); CUTLASS 7107b055,
cute/atom/mma_traits_sm90_gmma.hpp. One source for the strides; nothing here was measured on hardware.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord

__all__ = ["SWIZZLES", "Swizzle", "descriptor", "offset", "panel_offsets", "swizzled"]


class Swizzle(TupleRecord):
    """One canonical layout: its name, the B of Swizzle<B,4,3>, the descriptor's code."""

    name: str
    bits: int
    code: int

    @property
    def row_bytes(self) -> int:
        """The bytes of a tile's row."""
        return 16 << self.bits


SWIZZLES = {row[0]: Swizzle(*row) for row in (("none", 0, 0), ("32B", 1, 3), ("64B", 2, 2), ("128B", 3, 1))}
# The fields of the matrix descriptor: (name, lowest bit, bits, shift of the value).
FIELDS = (
    ("start address", 0, 14, 4),
    ("leading dimension byte offset", 16, 14, 4),
    ("stride dimension byte offset", 32, 14, 4),
    ("base offset", 49, 3, 0),
    ("swizzle", 62, 2, 0),
)


def _mode(swizzle: str) -> Swizzle:
    if swizzle not in SWIZZLES:
        raise Error(f"unknown swizzle '{swizzle}'. Known: {', '.join(SWIZZLES)}", kind="unknown name")
    return SWIZZLES[swizzle]


def swizzled(address: int, swizzle: str) -> int:
    """A byte address under Swizzle<B,4,3>; its own inverse.

    >>> swizzled(0x80, "128B") == 0x90, swizzled(0x90, "128B") == 0x80
    (True, True)
    """
    mask = (1 << _mode(swizzle).bits) - 1
    return address ^ ((address >> 7 & mask) << 4)


def offset(
    row: int, k: int, bits: int, swizzle: str = "128B", major: str = "k", leading: int = 0, stride: int = 0
) -> int:
    """The byte of an element, from the start of an operand that is aligned to 1024 bytes.

    Args:
        row: the row of A, or the column of B. k: the index along k. bits: the width of an element.
        swizzle: "none", "32B", "64B" or "128B". major: "k" or "mn".
        leading, stride: the leading and stride dimension byte offsets of the descriptor.

    Raises:
        Error: an unknown swizzle, or an MN-major operand of other than 16 bits.

    >>> offset(row=1, k=0, bits=16), offset(row=1, k=0, bits=16, swizzle="none")
    (144, 16)
    """
    mode = _mode(swizzle)
    if major not in ("k", "mn"):
        raise Error(f"major is 'k' or 'mn'; got '{major}'")
    if major == "mn" and bits != 16:
        raise Error(f"only 16-bit operands may be MN-major; got {bits} bits")
    along, across = (k, row) if major == "k" else (row, k)
    byte, tile = along * bits // 8, across // 8
    place = across % 8 * mode.row_bytes + byte % mode.row_bytes
    # K-major, and MN-major without a swizzle, step over further tiles by the stride; a swizzled MN-major operand
    # steps along its rows by the leading offset.
    steps = byte // mode.row_bytes, tile
    if major == "mn" and mode.bits == 0:
        steps = steps[::-1]
    return swizzled(place + steps[0] * leading + steps[1] * stride, swizzle)


def panel_offsets(row_bytes: int, k: int) -> tuple[int, int]:
    """The leading and the stride dimension byte offset of an MN-major tile whose atoms lie one behind the other: those
    of eight k, and those of the next `row_bytes` along m or n behind all k.

    >>> panel_offsets(128, 16), panel_offsets(16, 16)
    ((2048, 1024), (128, 256))
    """
    panel, group = k * row_bytes, 8 * row_bytes
    return (panel, group) if row_bytes > 16 else (group, panel)


def descriptor(address: int, leading: int, stride: int, swizzle: str = "128B", base_offset: int = 0) -> int:
    """The 64-bit matrix descriptor of an operand.

    Raises:
        Error: an offset or address that is not a multiple of 16, or does not fit.

    >>> hex(descriptor(address=0x400, leading=16, stride=1024))
    '0x4000004000010040'
    """
    values = (address, leading, stride, base_offset, _mode(swizzle).code)
    word = 0
    for (name, low, bits, shift), value in zip(FIELDS, values):
        if value % (1 << shift) or not 0 <= value >> shift < 1 << bits:
            raise Error(f"the {name} is a multiple of {1 << shift} below {1 << bits + shift}; got {value}")
        word |= value >> shift << low
    return word
