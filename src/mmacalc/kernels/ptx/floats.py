"""Floats of PTX: rounded once, flushed, saturated, and in pairs, as functions on arrays.

Values of types that NumPy lacks are held by their bits. A NaN that single or half precision makes has the bits that
NVIDIA's GPUs give: 0x7FFFFFFF and 0x7FFF (PTX ISA 9.0, 9.7.3, 9.7.4: "NaN results are canonical").
"""

from __future__ import annotations

import numpy as np

from ...arithmetic.exact import fused_multiply_add, to_odd, two_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = [
    "bfloat",
    "by_halves", "bits_of_values", "exact_sum", "finished", "flushed", "halves_of", "narrowed", "on_floats", "packed",
    "rounded_fused", "rounded_product", "rounded_sum", "values_of",
]  # fmt: skip

CANONICAL = {np.dtype("f4"): np.uint32(0x7FFFFFFF), np.dtype("f2"): np.uint16(0x7FFF)}


# --- types that NumPy lacks ---


def values_of(bits: Array, type_: str) -> Array:
    """Values of bf16 (as float32) from their codes; of the two halves of a packed type the last axis is made."""
    if type_ == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if type_ == "tf32":
        return bits.view(np.float32)
    return bits


def bfloat(value: Array, mode: str = "rn") -> Array:
    """The codes of bf16 nearest to float32 or float64 values; a NaN is 0x7FFF."""
    wide = value.astype(np.float64)
    narrow = narrowed(wide, np.float32, "odd")
    raw = narrow.view(np.uint32)
    if mode == "rn":
        raw = raw + np.uint32(0x7FFF) + (raw >> np.uint32(16) & np.uint32(1))
    elif mode in ("rp", "rm"):
        away = np.signbit(narrow) == (mode == "rm")
        raw = np.where(away, raw + np.uint32(0xFFFF), raw)
    found = (raw >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(wide), np.uint16(0x7FFF), found)


def bits_of_values(value: Array, type_: str) -> Array:
    """The codes of bf16 from float32 values, rounded to nearest even."""
    return bfloat(value) if type_ == "bf16" else value


# --- rounding ---


def narrowed(exact: Array, dtype: Any, mode: str) -> Array:
    """A float64, exact or rounded to odd, as float32 or float16, rounded to nearest even, zero, minus or plus infinity,
    or to odd."""
    dtype = np.dtype(dtype).type
    with np.errstate(all="ignore"):
        near = exact.astype(dtype)
        if mode == "rn":
            return near
        back = near.astype(np.float64)
        finite = np.isfinite(exact)
        towards_minus = (mode == "rm") | ((exact > 0) & (mode in ("rz", "odd")))
        towards_plus = (mode == "rp") | ((exact < 0) & (mode in ("rz", "odd")))
        infinity = dtype(np.inf)
        found = np.where(finite & towards_minus & (back > exact), np.nextafter(near, -infinity), near)
        found = np.where(finite & towards_plus & (back < exact), np.nextafter(near, infinity), found)
        if mode == "odd":
            kind = np.dtype(f"u{found.dtype.itemsize}")
            inexact = finite & (found.astype(np.float64) != exact)
            found = np.where(inexact, (found.view(kind) | kind.type(1)).view(found.dtype), found)
        return found


def exact_sum(a: Array, b: Array) -> Array:
    """The sum of two float64, rounded to odd."""
    high, low = two_sum(a, b)
    if not low.any():
        return high
    return to_odd(high, np.where(np.isfinite(high), low, 0.0))


def _signed_zero(total: Array, mode: str, *terms: Array) -> Array:
    """The sum zero of terms of both signs is minus zero where it is rounded down."""
    if mode != "rm":
        return total
    plus = np.bool_(True)
    for term in terms:
        plus = plus & ~np.signbit(term)
    return np.where((total == 0) & ~plus, -np.abs(total), total)


def rounded_sum(mode: str, a: Array, b: Array) -> Array:
    """a + b, rounded once."""
    return rounded_fused(mode, np.ones_like(a), a, b)


def rounded_product(mode: str, a: Array, b: Array) -> Array:
    """a * b, rounded once."""
    if a.dtype == np.float64:
        zero = np.copysign(0.0, a) * np.copysign(1.0, b)
        return a * b if mode == "rn" else fused_multiply_add(a, b, zero, mode)
    if mode == "rn":
        return a * b
    return narrowed(a.astype(np.float64) * b.astype(np.float64), a.dtype, mode)


def rounded_fused(mode: str, a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once."""
    a, b, c = np.broadcast_arrays(a, b, c)
    if a.dtype == np.float64:
        return fused_multiply_add(a, b, c, mode)
    wide = [x.astype(np.float64) for x in (a, b, c)]
    total = exact_sum(wide[0] * wide[1], wide[2])
    return _signed_zero(narrowed(total, a.dtype, mode), mode, wide[0] * wide[1], wide[2])


def flushed(value: Array) -> Array:
    """Subnormal values as zeros of their sign."""
    least = {2: 2.0**-14, 4: 2.0**-126, 8: 2.0**-1022}[value.dtype.itemsize]
    return np.where(np.abs(value) < least, np.copysign(value.dtype.type(0), value), value)


def finished(value: Array, ftz: bool, sat: bool, relu: bool = False) -> Array:
    """The canonical NaN, .ftz, .sat and .relu of a result."""
    if ftz:
        value = flushed(value)
    if relu:
        value = np.where(np.isnan(value), value, np.maximum(value, value.dtype.type(0)))
        value = np.where(value == 0, value.dtype.type(0), value)
    if sat:
        value = np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1)).astype(value.dtype)
        value = np.where(value == 0, value.dtype.type(0), value)
    canonical = CANONICAL.get(value.dtype)
    if canonical is not None:
        wrong = np.isnan(value)
        if wrong.any():
            kind = f"u{value.dtype.itemsize}"
            value = np.where(wrong, np.asarray(canonical, kind), value.view(kind)).view(value.dtype)
    return value


def on_floats(function: Callable[..., Any], type_: str, ftz: bool, sat: bool, relu: bool = False) -> Callable[..., Any]:
    """A function on floats with .ftz, .sat and .relu, for a scalar type or the halves of a packed one."""
    single = {"f16x2": "f16", "bf16x2": "bf16"}.get(type_, type_)

    def one(*values: Array) -> Array:
        with np.errstate(all="ignore"):
            if single == "bf16":
                wide = [values_of(value, "bf16") for value in values]
                found = finished(function(*wide), ftz, sat, relu)
                return bfloat(found)
            if ftz:
                values = tuple([flushed(value) for value in values])
            return finished(np.asarray(function(*values)), ftz, sat, relu)

    if type_ in ("f16x2", "bf16x2"):
        return by_halves(one, single)
    if type_ == "f32x2":
        return _by_words(one)
    return one


def halves_of(value: Array, single: str) -> tuple[Array, Array]:
    """The lower and the upper half of packed values, of bf16 as codes."""
    low, high = (value & np.uint32(0xFFFF)).astype(np.uint16), (value >> np.uint32(16)).astype(np.uint16)
    return (low.view(np.float16), high.view(np.float16)) if single == "f16" else (low, high)


def packed(low: Array, high: Array) -> Array:
    """Two halves as one word, the first of them in its lower bits."""
    low, high = (np.asarray(x).view(np.uint16).astype(np.uint32) for x in (low, high))
    return high << np.uint32(16) | low


def by_halves(function: Callable[..., Any], single: str) -> Callable[..., Any]:
    """A function on f16 or bf16 as one on packed pairs."""

    def both(*values: Array) -> Array:
        parts = [halves_of(value, single) for value in values]
        return packed(*(function(*[part[place] for part in parts]) for place in (0, 1)))

    return both


def _by_words(function: Callable[..., Any]) -> Callable[..., Any]:
    def both(*values: Array) -> Array:
        low = function(*[(value & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32) for value in values])
        high = function(*[(value >> np.uint64(32)).astype(np.uint32).view(np.float32) for value in values])
        low, high = (x.view(np.uint32).astype(np.uint64) for x in (low, high))
        return high << np.uint64(32) | low

    return both
