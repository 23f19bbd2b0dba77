"""Integers and bits of PTX: halves of products, quotients, shifts, fields and permutations, as functions on arrays."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = [
    "bit_field", "bits_reversed", "clamped", "divided", "dot", "funnel", "high_half", "highest_one", "inserted",
    "leading_zeros", "mask_of", "nth_one", "permuted", "population", "remainder", "shifted_left", "shifted_right",
    "three_bits",
]  # fmt: skip


def high_half(a: Array, b: Array) -> Array:
    """The high half of a product."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
        return (a.astype(wide) * b.astype(wide) >> wide.type(bits)).astype(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = (x0 * y0 >> half) + (x1 * y0 & mask) + (x0 * y1 & mask)
    high = x1 * y1 + (x1 * y0 >> half) + (x0 * y1 >> half) + (middle >> half)
    if a.dtype.kind == "i":
        zero = np.uint64(0)
        high = high - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return high.view(a.dtype)


def divided(a: Array, b: Array) -> Array:
    """The quotient toward zero; of a division by zero all ones (unspecified in PTX; what NVIDIA's GPUs give)."""
    zero = b == 0
    safe = np.where(zero, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        found = a // safe
    else:
        least = np.iinfo(a.dtype).min
        overflow = (a == least) & (safe == -1)
        safe = np.where(overflow, a.dtype.type(1), safe)
        quotient = a // safe
        inexact = (quotient * safe != a) & ((a < 0) ^ (safe < 0))
        found = np.where(overflow, a, quotient + inexact.astype(a.dtype))
    return np.where(zero, ~a.dtype.type(0), found)


def remainder(a: Array, b: Array) -> Array:
    """What the quotient leaves, with the sign of a; of a division by zero a."""
    zero = b == 0
    return np.where(zero, a, a - divided(a, b) * b)


def clamped(value: Array, dtype: np.dtype[Any]) -> Array:
    """Values within the range of a type."""
    limits = np.iinfo(dtype)
    return np.clip(value, limits.min, limits.max).astype(dtype)


def _shift_amount(amount: Array, bits: int) -> tuple[Array, Array]:
    """The amount kept below the width, and whether it was at least that."""
    return np.minimum(amount, np.uint32(bits - 1)), amount >= bits


def shifted_left(a: Array, amount: Array) -> Array:
    """shl: beyond the width zero."""
    within, beyond = _shift_amount(amount, 8 * a.dtype.itemsize)
    return np.where(beyond, a.dtype.type(0), a << within.astype(a.dtype))


def shifted_right(a: Array, amount: Array) -> Array:
    """shr: beyond the width zero, of a signed value its sign."""
    within, beyond = _shift_amount(amount, 8 * a.dtype.itemsize)
    shifted = a >> within.astype(a.dtype)
    return shifted if a.dtype.kind == "i" else np.where(beyond, a.dtype.type(0), shifted)


def funnel(direction: str, wrap: bool) -> Callable[..., Any]:
    """shf: a shift of two words as one."""

    def function(a: Array, b: Array, c: Array) -> Array:
        by = (c & np.uint32(31) if wrap else np.minimum(c, np.uint32(32))).astype(np.uint64)
        both = b.astype(np.uint64) << np.uint64(32) | a
        shifted = (both << by) >> np.uint64(32) if direction == "l" else both >> by
        return shifted.astype(np.uint32)

    return function


def bit_field(a: Array, start: Array, length: Array) -> Array:
    """bfe (PTX ISA 9.7.1.19): positions and lengths of 0 to 255; beyond the word its sign."""
    bits = 8 * a.dtype.itemsize
    start, length = ((x & np.uint32(0xFF)).astype(np.int64) for x in (start, length))
    raw = a.view(f"u{a.dtype.itemsize}").astype(np.uint64)
    top = np.minimum(start + length - 1, bits - 1)
    sign = (raw >> np.maximum(top, 0).astype(np.uint64) & np.uint64(1)).astype(bool)
    sign = sign & (length > 0) & (a.dtype.kind == "i")
    kept = np.clip(np.minimum(length, bits - start), 0, 64)
    mask = np.where(kept >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(kept, 63).astype(np.uint64)) - np.uint64(1))
    moved = np.where(start >= bits, np.uint64(0), raw >> np.minimum(start, 63).astype(np.uint64))
    found = np.where(sign, moved & mask | ~mask, moved & mask)
    return found.astype(f"u{a.dtype.itemsize}").view(a.dtype)


def inserted(a: Array, b: Array, start: Array, length: Array) -> Array:
    """bfi (PTX ISA 9.7.1.20): the low bits of a in place of some of b."""
    bits = 8 * a.dtype.itemsize
    start, length = ((x & np.uint32(0xFF)).astype(np.int64) for x in (start, length))
    kept = np.clip(np.minimum(length, bits - start), 0, 64)
    low = np.where(kept >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(kept, 63).astype(np.uint64)) - np.uint64(1))
    at = np.minimum(start, 63).astype(np.uint64)
    mask = np.where(start >= bits, np.uint64(0), low << at)
    return (b.astype(np.uint64) & ~mask | (a.astype(np.uint64) << at) & mask).astype(a.dtype)


def leading_zeros(a: Array) -> Array:
    """The number of zeros above the highest one."""
    bits = 8 * a.dtype.itemsize
    value, count = a.astype(np.uint64), np.zeros(a.shape, np.uint32)
    for step in (32, 16, 8, 4, 2, 1):
        high = value >> np.uint64(step)
        moved = high != 0
        value = np.where(moved, high, value)
        count = count + np.where(moved, np.uint32(step), np.uint32(0))
    return np.where(a == 0, np.uint32(bits), np.uint32(bits - 1) - count)


def population(a: Array) -> Array:
    """popc: how many bits are set."""
    value = a.astype(np.uint64)
    found = np.zeros(a.shape, np.uint32)
    for byte in range(a.dtype.itemsize):
        found = found + _POPULATION[(value >> np.uint64(8 * byte) & np.uint64(0xFF)).astype(np.intp)]
    return found


_POPULATION = np.array([bin(code).count("1") for code in range(256)], np.uint32)
_REVERSED = np.array([sum((code >> bit & 1) << (7 - bit) for bit in range(8)) for code in range(256)], np.uint64)


def bits_reversed(a: Array) -> Array:
    """brev: the bits in reverse order."""
    value, found = a.astype(np.uint64), np.uint64(0)
    for byte in range(a.dtype.itemsize):
        part = _REVERSED[(value >> np.uint64(8 * byte) & np.uint64(0xFF)).astype(np.intp)]
        found = found | part << np.uint64(8 * (a.dtype.itemsize - 1 - byte))
    return np.asarray(found).astype(a.dtype)


def highest_one(shift: bool) -> Callable[[Array], Array]:
    """bfind: the place of the highest one (of a negative number, zero), or how far to shift it to the top."""

    def function(a: Array) -> Array:
        bits = 8 * a.dtype.itemsize
        raw = a.view(f"u{a.dtype.itemsize}")
        if a.dtype.kind == "i":
            raw = np.where(a < 0, ~raw, raw)
        zeros = leading_zeros(raw)
        place = zeros if shift else np.uint32(bits - 1) - zeros
        return np.where(raw == 0, np.uint32(0xFFFFFFFF), place)

    return function


def nth_one(mask: Array, base: Array, offset: Array) -> Array:
    """fns (PTX ISA 9.7.1.16): the place of the n-th one of a mask from a place on, upwards or downwards; of offset 0
    that place itself; 0xFFFFFFFF if there is none."""
    mask, base, offset = np.broadcast_arrays(mask, base.astype(np.int64), offset.view(np.int32).astype(np.int64))
    found = np.full(mask.shape, 0xFFFFFFFF, np.uint32)
    left = np.maximum(np.abs(offset), 1)
    for step in range(32):
        place = base + np.where(offset < 0, -step, step)
        inside = (place >= 0) & (place < 32) & ((offset != 0) | (step == 0))
        one = inside & ((mask >> (place & 31).astype(np.uint32) & np.uint32(1)) != 0)
        left = left - one
        found = np.where(one & (left == 0), place.astype(np.uint32), found)
    return found


def permuted(mode: str) -> Callable[..., Any]:
    """prmt (PTX ISA 9.7.9.7)."""

    def function(a: Array, b: Array, c: Array) -> Array:
        both = b.astype(np.uint64) << np.uint64(32) | a
        found: Any = np.uint32(0)
        for place in range(4):
            if mode:
                low = (c & np.uint32(3)).astype(np.int64)
                chosen = {
                    "f4e": low + place, "b4e": (low - place) % 8, "rc8": low,
                    "ecl": np.maximum(low, place), "ecr": np.minimum(low, place),
                    "rc16": (low & 1) * 2 + place % 2,
                }[mode]  # fmt: skip
                code = chosen.astype(np.uint64)
            else:
                code = (c >> np.uint32(4 * place) & np.uint32(15)).astype(np.uint64)
            byte = (both >> np.uint64(8) * (code & np.uint64(7)) & np.uint64(0xFF)).astype(np.uint32)
            sign = np.where(byte & np.uint32(0x80), np.uint32(0xFF), np.uint32(0))
            byte = np.where((code & np.uint64(8)) != 0, sign, byte)
            found = np.asarray(found | byte << np.uint32(8 * place))
        return found

    return function


def three_bits(a: Array, b: Array, c: Array, table: Array) -> Array:
    """lop3: the bit of an eight-bit table that the bits of a, b and c name."""
    code = int(np.asarray(table).flat[0])
    found: Any = np.uint32(0)
    for row in range(8):
        if code >> row & 1:
            found = found | (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return np.broadcast_to(found, np.broadcast_shapes(a.shape, b.shape, c.shape))


def dot(elements: int, first: str, second: str, high: bool) -> Callable[..., Any]:
    """dp4a, dp2a."""

    def parts(value: Array, kind: str, bits: int, count: int, start: int) -> list[Array]:
        dtype = np.dtype(f"{'i' if kind[0] == 's' else 'u'}{bits // 8}")
        raw = value.view(np.uint32)
        return [
            (raw >> np.uint32(bits * (start + at))).astype(f"u{bits // 8}").view(dtype).astype(np.int64)
            for at in range(count)
        ]

    def function(a: Array, b: Array, c: Array) -> Array:
        left = parts(a, first, 8 if elements == 4 else 16, elements, 0)
        right = parts(b, second, 8, elements, 2 * high if elements == 2 else 0)
        total = c.astype(np.int64) + sum(x * y for x, y in zip(left, right))
        return total.astype(np.uint32).view(c.dtype)

    return function


def mask_of(clamp: bool) -> Callable[..., Any]:
    """bmsk: ones from a place on, as many as are wanted."""

    def function(a: Array, b: Array) -> Array:
        start, length = ((x if clamp else x & np.uint32(31)).astype(np.uint64) for x in (a, b))
        length, start = np.minimum(length, np.uint64(32)), np.minimum(start, np.uint64(32))
        return ((((np.uint64(1) << length) - np.uint64(1)) << start) & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    return function
