"""Sums and products in float64 without losing a bit: error-free transformations.

The idea of every function here: keep what a floating-point operation rounds away as a second number. When a
result must be rounded to fewer bits in the end, it is first *rounded to odd*: the last bit of the float64 is set
whenever something was lost, so that the second rounding sees on which side of a tie the exact value lies.

Sources: Ogita, Rump, Oishi, "Accurate sum and dot product" (2005), and Rump, Ogita, Oishi, "Accurate
floating-point summation, part I" (2008); Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
proved algorithms using rounding to odd" (2008).
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, ldexp, sqrt
from sys import float_info

import numpy as np

from ..base.records import TupleRecord
from .codecs import EXPONENT_BITS, alignment_powers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    from typing import Any

    from ..formats import Format


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """(s, e): s = fl(a + b) and s + e = a + b exactly (Knuth).

    >>> two_sum(np.float64(2.0**60), np.float64(1.0))
    (np.float64(1.152921504606847e+18), np.float64(1.0))
    """
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def to_odd(high: Array, low: Array) -> Array:
    """high + low rounded to odd, where |low| is at most half a unit in the last place of high.

    An exact `high` is itself; of an inexact one the neighbour with an odd last bit is taken.
    """
    high = np.asarray(high, np.float64)
    bits = high.view(np.int64)
    inexact = np.isfinite(high) & (low != 0) & ~np.isnan(low)
    step = np.where((low > 0) == (high > 0), 1, -1)
    return np.where(inexact & (bits & 1 == 0), bits + step, bits).view(np.float64)


def _parts(terms: Array) -> list[Array]:
    """A few float64 whose exact sum is that of the terms along the first axis; the terms are used up.

    Each round cuts all terms at one common bit, such that what is above it can be added without error.

    Raises:
        OverflowError: a term so large that this bit has no float64; no product of the models' formats is.
    """
    headroom = 2.0 ** (int(len(terms) + 1).bit_length() + 1)
    parts: list[Array] = []
    while True:
        top = np.maximum(terms.max(axis=0), -terms.min(axis=0))
        if not top.any():
            return parts
        power = (top.view(np.int64) & EXPONENT_BITS).view(np.float64)
        sigma = power * headroom
        if not np.isfinite(sigma).all():
            raise OverflowError("terms of 2**1000 and more are not added")
        high = terms + sigma
        high -= sigma
        terms -= high
        parts.append(high.sum(axis=0))


def _collapse(parts: list[Array]) -> Array:
    """The sum of a few float64, rounded to odd."""
    for _ in range(len(parts)):
        changed = False
        for i in range(len(parts) - 1, 0, -1):
            total, error = two_sum(parts[i - 1], parts[i])
            changed |= bool((total != parts[i - 1]).any())
            parts[i - 1], parts[i] = total, error
        if not changed:
            break
    return to_odd(parts[0], parts[1]) if len(parts) > 1 else parts[0]


def rounding_sum(products: Array, c: Array) -> Array:
    """The sum along the first axis plus c, as a float64 that rounds to any format of up to 50 bits as the exact
    sum does. A sum that is exactly zero is plus zero; infinities and NaN are as in IEEE 754.
    """
    shape = np.broadcast_shapes(products.shape[1:], c.shape)
    terms = np.empty((len(products) + 1, *shape))
    terms[:-1], terms[-1] = products, c
    special = None
    if not np.isfinite(terms).all():
        special = terms.sum(axis=0)
        np.copyto(terms, 0.0, where=~np.isfinite(terms))
    parts = _parts(terms.copy())
    total = _collapse(parts) if parts else np.zeros(shape)
    total += 0.0
    return total if special is None else np.where(np.isfinite(special), total, special)


# --- the fused multiply-add of float64 --------------------------------------------------------------------------


def split(a: Array) -> tuple[Array, Array]:
    """a as the sum of two numbers of 26 bits each (Veltkamp)."""
    wide = a * 134217729.0  # 2**27 + 1
    high = wide - (wide - a)
    return high, a - high


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """(p, e): p = fl(a * b) and p + e = a * b exactly (Dekker), while nothing over- or underflows."""
    product = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


EASY = sqrt(float_info.max)
"""Between its reciprocal and this, neither Dekker's product nor its parts overflow or underflow."""


def fused_multiply_add(a: Array, b: Array, c: Array, rounding: str = "rn") -> Array:
    """a * b + c in float64, rounded once; arrays broadcast.

    `rounding` is rn (nearest even), rz (toward zero), rm (down) or rp (up). Where Dekker's product could overflow
    or underflow, Python's integers do it instead.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    high, low = two_product(a, b)
    with np.errstate(all="ignore"):
        top, bottom = two_sum(c, low)
        upper, middle = two_sum(high, top)
        tail = to_odd(*two_sum(bottom, middle))
        result = _directed(upper, tail, rounding)
    nothing = (a == 0) | (b == 0)
    result = np.where(nothing, high + c, result)
    zero = result == 0  # nothing underflows in the easy range: the sum is exactly zero, or there was nothing to add
    if zero.any():
        result = np.where(zero, _zero(high, c, nothing, rounding), result)
    magnitude = np.abs(high)
    easy = (magnitude > 1 / EASY) & (magnitude < EASY)
    easy &= (np.abs(a) < EASY) & (np.abs(b) < EASY) & (np.abs(c) < EASY)
    easy |= nothing
    if not easy.all():
        result = np.array(result)
        for index in zip(*np.nonzero(~easy)):
            result[index] = _scalar_fma(float(a[index]), float(b[index]), float(c[index]), rounding)
    return result


def _zero(product: Array, c: Array, nothing: NDArray[np.bool_], rounding: str) -> Array:
    """The sign of a sum that is exactly zero (IEEE 754, section 6.3): that of its terms, else plus, or minus down."""
    cancelled = -0.0 if rounding == "rm" else 0.0
    alike = nothing & (np.signbit(product) == np.signbit(c))
    return np.where(alike, c, cancelled)


def _directed(high: Array, low: Array, rounding: str) -> Array:
    """high + low rounded to float64."""
    total, error = two_sum(high, low)
    if rounding == "rn":
        return total
    down = np.asarray({"rz": total > 0, "rm": True, "rp": False}[rounding], bool)
    up = np.asarray({"rz": total < 0, "rm": False, "rp": True}[rounding], bool)
    total = np.where(down & (error < 0), np.nextafter(total, -inf), total)
    return np.where(up & (error > 0), np.nextafter(total, inf), total)


def _scalar_fma(a: float, b: float, c: float, rounding: str) -> float:
    plain = a * b + c
    if plain != plain or inf in (abs(a), abs(b), abs(c)):
        # a finite a * b that overflows must not make an infinity of an infinite c, nor a NaN
        return c if abs(c) == inf and abs(a) != inf and abs(b) != inf and a == a and b == b else plain
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return -0.0 if rounding == "rm" else 0.0
    return _round_fraction(exact, rounding)


def _round_fraction(exact: Fraction, rounding: str) -> float:
    """A fraction that is not zero, to float64."""
    sign, magnitude = (-1.0 if exact < 0 else 1.0), abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    exponent = max(exponent, -1022) - 52
    scaled = magnitude / Fraction(2) ** exponent
    away = {"rm": sign < 0, "rp": sign > 0}.get(rounding, False)
    whole = round(scaled) if rounding == "rn" else int(scaled) + (away and scaled.denominator != 1)
    try:
        return sign * ldexp(whole, exponent)
    except OverflowError:
        return sign * (inf if rounding == "rn" or away else float_info.max)


# --- What an adder that aligns by exponents reads: values, and 2**exponent of each ---


class Numbers(TupleRecord):
    """Values with 2**exponent of each, both float64; the power of a zero is 0 (it aligns nothing)."""

    value: Array
    power: Array

    def at(self, index: Any) -> Numbers:
        """The same selection of both."""
        return Numbers(self.value[index], self.power[index])


def numbers(values: NDArray[Any], format: Format) -> Numbers:
    """Values of a format with their exponents."""
    values = np.asarray(values, np.float64)
    return Numbers(values, alignment_powers(values, format))
