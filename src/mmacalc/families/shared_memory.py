"""Where wgmma's shared-memory operands have their elements, and the descriptor that says so.

B always, and A if it is not in registers, is read from shared memory in 16-byte chunks of eight rows. In one of
four canonical layouts the eight rows of a tile are 16, 32, 64 or 128 bytes long, and the chunks of a row are
permuted by Swizzle<B,4,3>: B address bits from bit 4 up are XORed with those three places above. So eight rows
of one chunk column lie in eight different 16-byte bank groups, and a column is read without conflicts.

    K-major     rows of A (columns of B) are the rows of the tile, k runs along them
    MN-major    k is the row of the tile, and m (of B: n) runs along it; for 16-bit types only

Blackwell has two more patterns for rows of 128 bytes, which keep 32 or 64 bytes together: Swizzle<2,5,2> and
Swizzle<1,6,1>. Tensor copies have both, tcgen05.mma the first. `PATTERNS` is the one table of all of them.

Sources: PTX ISA 9.1, sections 9.7.15.5.1 (canonical layouts), 9.7.15.5.1.2 (descriptor) and 5.5.7 (swizzling modes);
CUTLASS 7107b055, cute/atom/mma_traits_sm90_gmma.hpp. One source for the strides; nothing here was measured on hardware.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "COPY_PATTERNS",
    "PADDED_ROW",
    "PATTERNS",
    "SWIZZLES",
    "Swizzle",
    "descriptor",
    "element_byte",
    "offset",
    "panel_offsets",
    "swizzled",
]


class Swizzle(TupleRecord):
    """A pattern: `bits` bits of a byte address, from bit `base` up, are XORed with those from bit 7 up, the number of
    the line of 128 bytes. That is CuTe's Swizzle<bits, base, 7 - base>.

    Attributes:
        name: as it is written here. code: in a descriptor of wgmma, -1 where there is none. flips: whether the halves
        of each 16 bytes are exchanged in every second line. row: the bytes of a row, 0 where bits and base say it.

    >>> [one.rows for one in PATTERNS.values()]
    [8, 8, 8, 8, 4, 2]
    """

    name: str
    bits: int
    base: int
    code: int
    flips: bool = False
    row: int = 0

    @property
    def row_bytes(self) -> int:
        """The bytes of a row of an atom."""
        return self.row or 1 << self.base + self.bits

    @property
    def shift(self) -> int:
        """How far down the number of the line comes."""
        return LINE - self.base

    @property
    def mask(self) -> int:
        """The bits of an address that change."""
        return (1 << self.bits) - 1 << self.base

    @property
    def rows(self) -> int:
        """The rows of an atom, after which the pattern begins again."""
        return (1 << LINE + self.bits) // self.row_bytes

    def __call__(self, place: Any) -> Any:
        """Byte addresses, a number or an array, after the swizzle; its own inverse."""
        found = place ^ (place >> self.shift & self.mask)
        return found ^ (place >> LINE - 3 & 8) if self.flips else found

    def linear(self, across: Any, byte: Any, mn_major: bool, leading: int, stride: int) -> Any:
        """The byte of a matrix of atoms before the swizzle, of numbers or of arrays.

        Args:
            across: the row of K-major matrices, k of MN-major ones. byte: along the rows of atoms. leading, stride: the
                descriptor's offsets; which of them leads along the rows is in the ISA's table of canonical layouts.
        """
        width, rows = self.row_bytes, self.rows
        along, over = (stride, leading) if mn_major and not self.bits else (leading, stride)
        return across // rows * over + across % rows * width + byte // width * along + byte % width


LINE = 7
"""log2 of the bytes of a line, which the banks of shared memory deliver at a time."""
PATTERNS = {
    row[0]: Swizzle(*row)
    for row in (
        ("none", 0, 4, 0), ("32B", 1, 4, 3), ("64B", 2, 4, 2), ("128B", 3, 4, 1),
        ("128B base32B", 2, 5, -1), ("128B base64B", 1, 6, -1),
    )
}  # fmt: skip
COPY_PATTERNS = PATTERNS | {
    "128B base32B flip8B": Swizzle("128B base32B flip8B", 2, 5, -1, flips=True),
    "96B": Swizzle("96B", 1, 4, -1, row=96),
}
"""Those of tensor copies (PTX ISA 5.5.7). Which lines are flipped was measured on an RTX 5080, as the other patterns of
128 bytes and the rows of a box that is narrower (github.com/roundandr/Allegro, verification/cocotb/golden); of 96B two
readings of the ISA's figure 32 agree (numsim, tma/swizzle.rs; hbfsim), and nothing was measured."""
SWIZZLES = {name: one for name, one in PATTERNS.items() if one.code >= 0}
"""Those of wgmma."""
PADDED_ROW = 128
"""Elements of a row of a box of padded ones (see `element_byte`), and what a row of their tensor has a multiple of
(cuTensorMapEncodeTiled; PTX ISA, restrictions on tensor copies)."""
# The fields of the matrix descriptor: (name, lowest bit, bits, shift of the value).
FIELDS = (
    ("start address", 0, 14, 4),
    ("leading dimension byte offset", 16, 14, 4),
    ("stride dimension byte offset", 32, 14, 4),
    ("base offset", 49, 3, 0),
    ("swizzle", 62, 2, 0),
)


def _mode(swizzle: str) -> Swizzle:
    if swizzle not in PATTERNS:
        raise Error(f"unknown swizzle '{swizzle}'. Known: {', '.join(PATTERNS)}", kind="unknown name")
    return PATTERNS[swizzle]


def swizzled(address: int, swizzle: str) -> int:
    """A byte address under a pattern; its own inverse.

    >>> swizzled(0x80, "128B") == 0x90, swizzled(0x90, "128B") == 0x80
    (True, True)
    """
    return int(_mode(swizzle)(address))


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
    return int(mode(mode.linear(across, element_byte(along, bits), major == "mn", leading, stride)))


def element_byte(index: Any, bits: int, padded: bool = False) -> Any:
    """The byte in which an element begins along a row, of numbers or of arrays.

    padded: 16 elements of 4 or 6 bits follow each other from the first of 16 bytes on, and the rest of these is empty
    (PTX ISA 9.7.16.10.4.4 and 5.5.1.1).

    >>> [element_byte(index, 6, padded=True) for index in (0, 1, 2, 15, 16)]
    [0, 0, 1, 11, 16]
    """
    return index // 16 * 16 + index % 16 * bits // 8 if padded else index * bits // 8


def panel_offsets(row_bytes: int, k: int, rows: int = 8) -> tuple[int, int]:
    """The leading and the stride dimension byte offset of an MN-major tile whose atoms lie one behind the other: those
    of eight k (an atom's `rows`), and those of the next `row_bytes` along m or n behind all k.

    >>> panel_offsets(128, 16), panel_offsets(16, 16)
    ((2048, 1024), (128, 256))
    """
    panel, group = k * row_bytes, rows * row_bytes
    return (panel, group) if row_bytes > 16 else (group, panel)


def descriptor(address: int, leading: int, stride: int, swizzle: str = "128B", base_offset: int = 0) -> int:
    """The 64-bit matrix descriptor of an operand.

    Raises:
        Error: an offset or address that is not a multiple of 16, or does not fit.

    >>> hex(descriptor(address=0x400, leading=16, stride=1024))
    '0x4000004000010040'
    """
    if swizzle not in SWIZZLES:
        raise Error(f"the swizzle of wgmma is {', '.join(SWIZZLES)}; got '{swizzle}'", kind="unknown name")
    values = (address, leading, stride, base_offset, SWIZZLES[swizzle].code)
    word = 0
    for (name, low, bits, shift), value in zip(FIELDS, values):
        if value % (1 << shift) or not 0 <= value >> shift < 1 << bits:
            raise Error(f"the {name} is a multiple of {1 << shift} below {1 << bits + shift}; got {value}")
        word |= value >> shift << low
    return word
