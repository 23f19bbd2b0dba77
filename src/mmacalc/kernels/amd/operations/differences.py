"""Sums of absolute differences and their like: a row for each, as in `integers`.

Source: CDNA3 and RDNA3 ISA guides, V_SAD_*, V_MSAD_U8, V_QSAD_PK_U16_U8, V_MQSAD_PK_U16_U8, V_LERP_U8.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name
    Rows = dict[str, tuple[str, Callable[..., Any]]]

__all__ = ["DIFFERENCES"]


def _sum(bits: int, masked: bool = False) -> Callable[[Array, Array, Array], Array]:
    """The differences of the fields of two words, added to c. masked: a field of b that is zero does not count."""

    def operation(a: Array, b: Array, c: Array) -> Array:
        total = c
        for place in range(0, 32, bits):
            x, y = (value >> np.uint32(place) & np.uint32((1 << bits) - 1) for value in (a, b))
            difference = np.where(x > y, x - y, y - x)
            total = total + (np.where(y == 0, np.uint32(0), difference) if masked else difference)
        return total

    return operation


def _high_sum(a: Array, b: Array, c: Array) -> Array:
    """V_SAD_HI_U8: the sum is added to the high half of c."""
    return (_sum(8)(a, b, np.uint32(0)) << np.uint32(16)) + c


def _four_sums(masked: bool) -> Callable[[Array, Array, Array], Array]:
    """Sums at four places of eight bytes, each a byte further, added to the four halves of c."""
    one = _sum(8, masked)

    def operation(a: Array, b: Array, c: Array) -> Array:
        total = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint64)
        for number in range(4):
            window = (a >> np.uint64(8 * number)).astype(np.uint32)
            before = (c >> np.uint64(16 * number)).astype(np.uint32)
            found = one(window, b, before) & np.uint32(0xFFFF)
            total = total | found.astype(np.uint64) << np.uint64(16 * number)
        return total

    return operation


def _mean(a: Array, b: Array, c: Array) -> Array:
    """V_LERP_U8: the mean of each two bytes, rounded up where the lowest bit of c's byte is one."""
    even = np.uint32(0x01010101)
    carry = (a & b | (a | b) & c) & even
    return (a >> np.uint32(1) & ~(even << np.uint32(7))) + (b >> np.uint32(1) & ~(even << np.uint32(7))) + carry


DIFFERENCES: Rows = {
    "v_sad_u8": ("u32 u32 u32 -> u32", _sum(8)),
    "v_sad_hi_u8": ("u32 u32 u32 -> u32", _high_sum),
    "v_sad_u16": ("u32 u32 u32 -> u32", _sum(16)),
    "v_sad_u32": ("u32 u32 u32 -> u32", _sum(32)),
    "v_msad_u8": ("u32 u32 u32 -> u32", _sum(8, masked=True)),
    "v_qsad_pk_u16_u8": ("u64 u32 u64 -> u64", _four_sums(masked=False)),
    "v_mqsad_pk_u16_u8": ("u64 u32 u64 -> u64", _four_sums(masked=True)),
    "v_lerp_u8": ("u32 u32 u32 -> u32", _mean),
}
