"""The kernels of rdna.c on arrays, as those of `mmacalc.emulator.array_kernels`: RDNA3's and RDNA4's chains of dot
products."""

from __future__ import annotations

from .array_parts import (
    HIGH,
    LOW,
    NOTHING,
    Products,
    as_type,
    bits_as,
    fields,
    inverse,
    largest,
    namespace,
    nearest,
    power,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .fast import Operand

    Array = NDArray[Any]

__all__ = ["dot2_ones_complement", "dot4_floored"]

SIGN = -(1 << 31)
VANISHING = -50
"""A product of a larger exponent stays a number of float32 when it is scaled by 2**(24 - HIGH), even if both factors
are subnormal, up to ten bits below their exponents."""


def dot2_ones_complement(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Array]:
    """See `mmacalc.arithmetic.floored.dot2_ones_complement`. Subnormal inputs are flushed already.

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
    """See `mmacalc.arithmetic.floored.dot4_floored`. Flags products that vanish in float32: floored, they may be -1."""
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
