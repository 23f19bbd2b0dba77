"""What the kernels on arrays (`mmacalc.emulator.array_kernels`) have in common: bits, exponents, products, roundings.

Everything is written with what NumPy and torch name alike: operators, `view` for the bits of a number, assignment for
conversions, functions with the same arguments.
"""

from __future__ import annotations

import sys

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .fast import Operand

    Array = NDArray[Any]

__all__ = [
    "as_type",
    "bits_as",
    "cut",
    "CutSums",
    "dot2_ones_complement",
    "dot4_floored",
    "exponents",
    "fields",
    "HIGH",
    "HUGE",
    "inverse",
    "largest",
    "LOW",
    "namespace",
    "nearest",
    "NOTHING",
    "power",
    "power64",
    "product",
    "Products",
    "to_odd",
]

LOW, HIGH = -94, 94  # as in core.c: alignments that float32 can scale by
UNSHARED = 1 << 18  # multiply-accumulates of a product of matrices
WINDOW = 64  # of k: what is rearranged at a time
NOTHING, HUGE = -2000, 2000  # a sum of exponents below: one of the factors is zero; above: not finite


def namespace(array: Any) -> Any:
    """The library of an array: NumPy or torch."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def as_type(array: Array, kind: str) -> Array:
    """An array of another type, cut toward zero where it has fractions."""
    xp = namespace(array)
    converted: Array = array.astype(kind) if xp is np else array.to(getattr(xp, kind))  # type: ignore[attr-defined]
    return converted


def bits_as(array: Array, kind: str) -> Array:
    """The memory of an array as numbers of another type of the same size."""
    found: Array = array.view(getattr(namespace(array), kind))
    return found


# --- exponents ----------------------------------------------------------------------------------------------------


def power(powers: Array) -> Array:
    """2.0**e as float32, -126 <= e <= 127."""
    bits = as_type(powers, "int32")
    bits += 127
    bits <<= 23
    return bits_as(bits, "float32")


def power64(powers: Array) -> Array:
    """2.0**e as float64, e of any integer type, -1022 <= e <= 1023."""
    return bits_as((as_type(powers, "int64") + 1023) << 52, "float64")


def inverse(powers: Array) -> Array:
    """1 / x of powers of two x in float32, both normal."""
    return bits_as((254 << 23) - bits_as(powers, "int32"), "float32")


def fields(c: Array) -> Array:
    """The exponents of normal float32 values, as int16; -127 of smaller ones, 128 of infinities and NaN."""
    found = bits_as(c, "int32") >> 23
    found &= 0xFF
    small = as_type(found, "int16")
    small -= 127
    return small


def exponents(c: Array) -> Array:
    """The exponents that float32 values are aligned by, as int16; see exponent_of in core.c."""
    found = fields(c)
    nonfinite = found == 128
    clipped: Array = namespace(c).clip(found, -126, None)
    clipped[nonfinite] = HUGE + 1
    clipped[c == 0] = 2 * NOTHING
    return clipped


def largest(a: Operand, b: Operand, ks: range) -> Array:
    """The largest exponent of the products at some k."""
    assert a.exponents is not None
    assert b.exponents is not None
    xp = namespace(a.exponents)
    top: Array = a.exponents[:, ks[0], None] + b.exponents[ks[0]]
    other = xp.empty_like(top)
    for k in ks[1:]:
        xp.add(a.exponents[:, k, None], b.exponents[k], out=other)
        xp.maximum(top, other, out=top)
    return top


# --- products -----------------------------------------------------------------------------------------------------


def product(a: Array, b: Array) -> Array:
    """a @ b, in parts so small that OpenBLAS does not share them out to threads: there are some already."""
    if namespace(a) is not np or (rows := max(1, UNSHARED // b.size)) >= len(a):
        return a @ b
    found = np.empty((len(a), b.shape[1]), b.dtype)
    for first in range(0, len(a), rows):
        np.matmul(a[first : first + rows], b, out=found[first : first + rows])
    return found


class Products:
    """The products of a column of A and a row of B, rounded to nearest even where they are not exact.

    On NumPy they are products of matrices over two k, for one of which A is zero: half the time of broadcasting. A is
    rearranged for that, and both converted, for some k at a time.
    """

    a: Array
    b: Array
    kind: str
    last: int
    start: int
    pairs: Array
    rows: Array

    def __init__(self, a: Array, b: Array, kind: str = "float32") -> None:
        self.a, self.b, self.kind, self.last = a, b, kind, a.shape[1] - 1
        self.paired = namespace(a) is np and self.last > 0 and 2 * len(a) * b.shape[1] <= UNSHARED
        self.start, self.pairs, self.rows = -1, a, b

    def at(self, k: int, out: Array) -> Array:
        """Those of one k, written to an array (R, N) of the kind."""
        if not self.paired:
            namespace(out).multiply(as_type(self.a[:, k, None], self.kind), as_type(self.b[k], self.kind), out=out)
            return out
        if k // WINDOW * WINDOW != self.start:
            self._prepare(k // WINDOW * WINDOW)
        row = min(k, self.last - 1) - min(self.start, self.last - 1)
        np.matmul(self.pairs[k - self.start], self.rows[row : row + 2], out=out)
        return out

    def _prepare(self, start: int) -> None:
        """The pairs (a, 0) of all rows for each k from `start`, of the last k (0, a), and the rows of B."""
        columns = self.a[:, start : start + WINDOW].T
        self.pairs = np.zeros((*columns.shape, 2), self.kind)
        self.pairs[:, :, 0] = columns
        if start + WINDOW > self.last:
            self.pairs[-1] = self.pairs[-1, :, ::-1]
        first = min(start, self.last - 1)
        self.start, self.rows = start, np.asarray(self.b[first : start + WINDOW + 1], self.kind)


class CutSums:
    """Sums of products, each scaled and cut toward zero, as int32."""

    products: Products
    product: Array
    whole: Array

    def __init__(self, a: Operand, b: Operand, c: Array) -> None:
        self.products = Products(a.values, b.values)
        self.product, self.whole = namespace(c).empty_like(c), bits_as(0 * c, "int32")

    def add(self, total: Array, scale: Array, ks: range) -> None:
        """Add those of some k to an int32 array."""
        for k in ks:
            scaled = self.products.at(k, self.product)
            scaled *= scale
            self.whole[...] = scaled
            total += self.whole


# --- roundings ----------------------------------------------------------------------------------------------------


def cut(values: Array, bits: int) -> Array:
    """float64 values toward zero to 52 - bits fraction bits."""
    return bits_as(bits_as(values, "int64") & -(1 << bits), "float64")


def nearest(values: Array, fraction: int, least: int) -> Array:
    """To nearest even with some fraction bits of exponents from `least`, sign kept."""
    xp = namespace(values)
    own = xp.clip((bits_as(values, "int64") >> 52 & 2047) - 1023, least, None)
    big = 1.5 * power64(own + (52 - fraction))
    rounded: Array = xp.copysign((values + big) - big, values)
    return rounded


def to_odd(high: Array, low: Array) -> Array:
    """As `mmacalc.arithmetic.exact.to_odd`."""
    xp = namespace(high)
    bits = bits_as(high, "int64")
    inexact = xp.isfinite(high) & (low != 0) & (low == low)
    step = xp.where((low > 0) == (high > 0), 1, -1)
    return bits_as(xp.where(inexact & (bits & 1 == 0), bits + step, bits), "float64")


# --- The kernels of rdna.c on arrays: RDNA3's and RDNA4's chains of dot products ---


SIGN = -(1 << 31)
VANISHING = -50
"""A product of a larger exponent stays a number of float32 when it is scaled by 2**(24 - HIGH), even if both factors
are subnormal, up to ten bits below their exponents."""


def dot2_ones_complement(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Array]:
    """See `mmacalc.arithmetic.models.dot2_ones_complement`. Subnormal inputs are flushed already.

    The leading bit of a product is at most one above its exponent, so that of the largest terms only c's counts.
    """
    xp, fraction = namespace(c), given["fraction"]
    d, bad = 1 * c, c != c
    if given["out"] != 1:
        d = xp.where(xp.abs(d) < 2.0**-126, xp.copysign(0 * d, d), d)
    for start in range(0, a.values.shape[1], 2):
        of_products = largest(a, b, range(start, start + 2))
        top = _grid(of_products, d, given)
        nothing = (of_products < NOTHING) & (d == 0)
        top = _checked(top, nothing, bad)
        scale = power(fraction - top)
        signed = bits_as(bits_as(scale, "int32") | (bits_as(d, "int32") & SIGN), "float32")
        units = as_type(d * signed, "int32")
        for k in (start, start + 1):
            term = a.values[:, k, None] * b.values[k]
            term *= signed
            units += as_type(term, "int32")
            units += bits_as(term, "int32") >> 31  # the complement of a term whose sign is not c's
        if nothing.any():
            units[nothing] = 0
        d = _narrowed(units, bits_as(bits_as(inverse(scale), "int32") | (bits_as(signed, "int32") & SIGN), "float32"),
                      given["out"], bad)  # fmt: skip
    return d, bad


def dot4_floored(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Array]:
    """See `mmacalc.arithmetic.models.dot4_floored`. Flags products that vanish in float32: floored, they may be -1."""
    xp, fraction, pair = namespace(c), given["fraction"], given["pair"]
    d, bad = 1 * c, c != c
    products, term = Products(a.values, b.values), xp.empty_like(c)
    vanishing = _least(a) + _least(b) < VANISHING
    for start in range(0, a.values.shape[1], 4):
        tops = [largest(a, b, range(k, k + pair)) for k in range(start, start + 4, pair)]
        of_products = tops[0] if pair == 4 else xp.maximum(*tops)
        top = _checked(_grid(of_products, d, given), (of_products < NOTHING) & (d == 0), bad)
        scale = power(fraction - top)
        own = d * scale
        lost = (xp.abs(own) < 1) & (top - fraction > given["lowest"])
        units = as_type(xp.where(lost, 0.0, xp.floor(own)), "int32")
        for k, highest in zip(range(start, start + 4, pair), tops):
            highest = _checked(highest, highest < NOTHING, bad)
            of_pair, total = power(fraction - highest), 0 * units
            for one in range(k, k + pair):
                scaled = products.at(one, term)
                scaled *= of_pair
                if vanishing:
                    assert a.exponents is not None
                    assert b.exponents is not None
                    bad |= (scaled == 0) & (a.exponents[:, one, None] + b.exponents[one] > NOTHING)
                total += as_type(xp.floor(scaled), "int32")
            units += total >> as_type(xp.clip(top - highest, 0, 31), "int32")
        d = _narrowed(units, inverse(scale), given["out"], bad)
    return d, bad


def _least(operand: Operand) -> int:
    """The smallest exponent of what is not zero; 0 if all are larger."""
    assert operand.exponents is not None
    xp = namespace(operand.exponents)
    return int(xp.where(operand.exponents < NOTHING, 0, operand.exponents).min())


def _grid(of_products: Array, c: Array, given: dict[str, int]) -> Array:
    """The exponents that terms are cut `fraction` bits below: of the products, or that of c's leading bit, counted
    lower as it reaches further."""
    xp = namespace(c)
    own = xp.clip(fields(c), max(given["lowest"], -200), None) - (given["reach"] - given["fraction"])
    found: Array = xp.maximum(of_products, own)
    return found


def _checked(top: Array, nothing: Array, bad: Array) -> Array:
    """Exponents that float32 can scale by; flags the others but those of sums of zeros."""
    if top.max() > HIGH or top.min() < LOW:
        bad |= ((top > HIGH) | (top < LOW)) & ~nothing
        top = namespace(top).clip(top, LOW, HIGH)
    return top


def _narrowed(units: Array, unit: Array, out: int, bad: Array) -> Array:
    """Whole numbers of units in D's format."""
    xp = namespace(units)
    if out == 1:
        wide = nearest(as_type(units, "float64") * unit, 10, -14) + 0.0
        bad |= xp.abs(wide) > 65504.0
        return as_type(wide, "float32")
    d = as_type(units, "float32") * unit + 0.0
    return d if out == 0 else bits_as(bits_as(d, "int32") & -(1 << 16), "float32")
