"""AMD's adders that align, as far as they are published: CDNA3 (MMA-Sim) and RDNA3, RDNA4 (AMD's own measurements).

CDNA3. Sources: MMA-Sim 2.1.1 (arXiv 2511.10909v2), TR-FDPA and GTR-FDPA; of the older TR-FDPA with 31 bits also
Khattak and Mikaitis. A zero product aligns nothing; a zero c counts with f32's smallest exponent.

RDNA3 and RDNA4. A WMMA is a chain of V_DOT2 (RDNA3) or of four-product steps (RDNA4) in the order of k. Source: AMD's
emulator rocjitsu, ROCm/rocm-systems pull request 12120 of September 2026 (shared/gfx11_dot2.h, gfx12_dot.h,
dot_packed16.h), measured on a Radeon Pro W7900 (gfx1100) and a Radeon AI Pro R9700 (gfx1201); on gfx1151 by the author
of issue 12056. The NaN bits are measured as well: `_special`.
"""

from __future__ import annotations

from math import sqrt
from sys import float_info

import numpy as np

from ..formats import FORMATS
from .codecs import EXPONENT_BITS, nan_value, powers, round_to_format
from .exact import Numbers, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..formats import Format

    Array = NDArray[np.float64]

__all__ = ["dot2_ones_complement", "dot4_floored", "two_stage_floored", "two_stage_floored_even_odd"]

NOTHING = sqrt(float_info.min)
"""The power of a sum of zeros: below all others, and float64 has its reciprocal."""


# --- CDNA3 ------------------------------------------------------------------------------------------------------


def two_stage_floored(
    a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, fraction: int, dot_fraction: int, sum_fraction: int
) -> Array:
    """CDNA3, f16, bf16 and xf32. The products of a group are cut toward zero at `fraction` bits below their largest
    exponent and added. That sum is floored at `dot_fraction` bits, c at `fraction` bits, below the larger exponent of
    the two; the sum of both is floored to `sum_fraction` fraction bits of its own exponent and rounded to nearest even.
    A single product of 2**128 or more is an infinity. MMA-Sim 2: TR-FDPA.
    """
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        power = np.maximum((a.power[part] * b.power[part]).max(axis=0), NOTHING)
        total = _cut_sum(_products(a.at(part), b.at(part)), power, fraction)
        c = _with_c(total, power, c, out, fraction, dot_fraction, sum_fraction)
    return c.value


def two_stage_floored_even_odd(
    a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, fraction: int, dot_fraction: int, sum_fraction: int,
    reach: int,
) -> Array:  # fmt: skip
    """CDNA3, FNUZ fp8 and bf8: as `two_stage_floored`, but even and odd k are added apart, each below its own largest
    exponent, and the two sums floored at `fraction` bits and added; c counts as 0 when its exponent is more than
    `reach` below. MMA-Sim 2: GTR-FDPA.
    """
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        exponents = np.maximum(a.power[part] * b.power[part], NOTHING)
        even, odd = exponents[0::2].max(axis=0), exponents[1::2].max(axis=0)
        power = np.maximum(even, odd)
        products = _products(a.at(part), b.at(part))
        scale = 2.0**fraction / power
        total = np.floor(_cut_sum(products[0::2], even, fraction) * scale)
        total += np.floor(_cut_sum(products[1::2], odd, fraction) * scale)
        far = np.maximum(c.power, FLOAT32_NORMAL) < power * 2.0**-reach
        near = Numbers(np.where(far, 0.0, c.value), c.power)
        c = _with_c(total / scale, power, near, out, fraction, dot_fraction, sum_fraction)
    return c.value


FLOAT32_NORMAL, FLOAT32_END = 2.0**-126, 2.0**128


def _within_float32(values: Array) -> Array:
    """Values of any exponent: those from 2**128 on are infinite."""
    beyond = np.abs(values) >= FLOAT32_END
    return np.where(beyond, np.copysign(np.inf, values), values) if beyond.any() else values


def _products(a: Numbers, b: Numbers) -> Array:
    """The products, of which those that f32 cannot hold are infinite."""
    return _within_float32(a.value * b.value)


def _cut_sum(products: Array, power: Array, fraction: int) -> Array:
    """The sum of products, each cut toward zero `fraction` bits below `power`."""
    scale = 2.0**fraction / power
    scaled = products * scale
    np.trunc(scaled, out=scaled)
    total: Array = scaled.sum(axis=0) / scale
    return total


def _with_c(
    total: Array, power: Array, c: Numbers, out: Format, fraction: int, dot_fraction: int, sum_fraction: int
) -> Numbers:
    """The sum of products plus c: each floored, their sum floored, and rounded to nearest even."""
    top = np.maximum(power, np.maximum(c.power, FLOAT32_NORMAL))
    fine, coarse = 2.0**dot_fraction / top, 2.0**fraction / top
    floored = np.floor(total * fine) / fine + np.floor(c.value * coarse) / coarse
    quantum = powers(floored, FORMATS["f32"]) * 2.0**-sum_fraction
    floored = np.where(np.isfinite(floored), np.floor(floored / quantum) * quantum, floored)
    return numbers(round_to_format(floored + 0.0, out), out)


# --- RDNA3 and RDNA4 ----------------------------------------------------------------------------------------------


def dot2_ones_complement(
    a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, fraction: int, reach: int, lowest: int | None = None
) -> Array:
    """RDNA3: a chain of V_DOT2, two products a step. Products and c are cut toward zero to the coarser of two grids:
    `fraction` bits below the largest exponent of the products, `reach` bits below the leading bit of the largest term
    (of which c's counts as `lowest` at least). A product whose sign is not c's is added as its one's complement, one
    unit too low. f32 results are rounded to nearest even, subnormal ones to zero; f16 results to nearest even from the
    same sum; bf16 results are the f32 result cut toward zero. Subnormal bf16 inputs and f32 or bf16 c count as zero.
    """
    if out.exponent == 8:
        c = _flushed(c)
    a, b = _flushed(a), _flushed(b)
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        x, y = a.at(part), b.at(part)
        terms = x.value * y.value
        grid = np.maximum(
            (x.power * y.power).max(axis=0) * 2.0**-fraction,
            np.maximum(_leading(terms).max(axis=0), _at_least(_leading(c.value), lowest)) * 2.0**-reach,
        )
        grid = grid + (grid == 0)  # of nothing but zeros any grid will do
        units = np.trunc(np.abs(terms) / grid)
        units = np.where(np.signbit(terms) == np.signbit(c.value), units, -units - 1).sum(axis=0)
        units += np.trunc(np.abs(c.value) / grid)
        total = np.copysign(1.0, c.value) * units * grid
        nothing = (terms == 0).all(axis=0) & (c.value == 0)
        result = _narrowed(np.where(nothing, 0.0, total), out, flush=True)
        invalid = NAN_INVALID[out.name]
        c = numbers(_special(x.value, y.value, terms, c.value, out, invalid, result), out)
    return c.value


def dot4_floored(
    a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, pair: int, fraction: int, reach: int, lowest: int
) -> Array:
    """RDNA4: four products a step. Each `pair` of products is floored to `fraction` bits below its largest exponent and
    added; the pairs and c are floored to the coarser of two grids, `fraction` bits below the largest exponent of the
    products and `reach` bits below c's leading bit (`lowest` at least), and added. (Of a negative c too small for
    that grid nothing is left if the grid is coarser than 2**lowest.) f32 and f16 results are rounded to nearest even;
    bf16 results are the f32 result cut toward zero. Subnormal numbers are kept.
    """
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        x, y = a.at(part), b.at(part)
        terms, exponents = x.value * y.value, x.power * y.power
        c_leading = np.maximum(_leading(c.value), 2.0**lowest)
        grid = np.maximum(exponents.max(axis=0) * 2.0**-fraction, c_leading * 2.0**-reach)
        lost = (grid > 2.0**lowest) & (np.abs(c.value) < grid)
        total = np.where(lost, 0.0, np.floor(c.value / grid))
        for at in range(0, len(terms), pair):
            own = exponents[at : at + pair].max(axis=0) * 2.0**-fraction
            own = own + (own == 0)
            total = total + np.floor(np.floor(terms[at : at + pair] / own).sum(axis=0) * own / grid)
        result = _narrowed(total * grid, out, flush=False)
        invalid = NAN_INVALID[out.name] if pair == 2 else NAN_FACTOR[out.name]
        c = numbers(_special(x.value, y.value, terms, c.value, out, invalid, result), out)
    return c.value


def _flushed(x: Numbers) -> Numbers:
    """Numbers below 2**-126, as only bf16 and f32 have them, as zeros of the same sign."""
    small = np.abs(x.value) < FLOAT32_NORMAL
    return Numbers(np.where(small, np.copysign(0.0, x.value), x.value), np.where(small, 0.0, x.power))


def _leading(values: Array) -> Array:
    """2**floor(log2 |x|), 0 for zero; anything for infinities and NaN."""
    bits: Array = (np.ascontiguousarray(values).view(np.int64) & EXPONENT_BITS).view(np.float64)
    return bits


def _at_least(powers_: Array, lowest: int | None) -> Array:
    return powers_ if lowest is None else np.maximum(powers_, 2.0**lowest)


def _narrowed(total: Array, out: Format, flush: bool) -> Array:
    """An exact sum in D's format; `flush`: f32 results that are subnormal after rounding to 24 bits are zero."""
    if out.name == "f16":
        return round_to_format(total, out) + 0.0
    wide = _to_24_bits(total) if flush else total.astype(np.float32).astype(np.float64)
    wide += 0.0  # zero is plus zero
    if out.name == "f32":
        return wide
    cut = wide.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    bf16: Array = cut.view(np.float32).astype(np.float64)
    return bf16


def _to_24_bits(total: Array) -> Array:
    """To nearest even with 24 bits of any exponent; then what is below 2**-126 is zero, from 2**128 on infinite."""
    bits = total.view(np.int64)
    rounded = (bits + ((1 << 28) - 1 + (bits >> 29 & 1))) & ~np.int64((1 << 29) - 1)
    near = np.where(np.isfinite(total), rounded.view(np.float64), total)
    near = np.where(np.abs(near) < FLOAT32_NORMAL, 0.0, near)
    return _within_float32(near)


# As measured on gfx1100 and gfx1201 in every format, with the bits that fit into it: D when infinities cancel or meet a
# zero, of which only the quiet bit of the fraction is set, and when a factor is NaN.
_FACTOR_BITS = 0xA3D
_QUIET = {name: (1 << FORMATS[name].bits) - (1 << FORMATS[name].mantissa - 1) for name in ("f32", "f16", "bf16")}
NAN_INVALID = {name: nan_value(code, FORMATS[name]) for name, code in _QUIET.items()}
NAN_FACTOR = {name: nan_value(code | _FACTOR_BITS & (code & -code) - 1, FORMATS[name]) for name, code in _QUIET.items()}


def _special(x: Array, y: Array, terms: Array, c: Array, out: Format, invalid: float, finite: Array) -> Array:
    """The result where an infinity or NaN takes part, in the order of precedence: a NaN factor, an invalid product or
    infinite products of both signs, c's NaN, infinities; elsewhere `finite`."""
    if np.isfinite(terms.sum(axis=0) + c).all():  # no infinity, no NaN, and no overflow that could hide one
        return finite
    positive, negative = (terms == np.inf).any(axis=0), (terms == -np.inf).any(axis=0)
    factor = (np.isnan(x) | np.isnan(y)).any(axis=0)
    product = np.isnan(terms).any(axis=0) | (positive & negative)
    clash = (positive & (c == -np.inf)) | (negative & (c == np.inf))
    infinite = np.where(positive | (c == np.inf), np.inf, -np.inf)
    result = np.where(positive | negative | np.isinf(c), infinite, finite)
    result = np.where(clash, invalid, result)
    result = np.where(np.isnan(c), c, result)
    result = np.where(product, invalid, result)
    return np.where(factor, NAN_FACTOR[out.name], result)
