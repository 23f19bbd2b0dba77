"""The arithmetic models: how matrix units round D = sum of a_k b_k + c.

One worked example. A Volta tensor core (`aligned_truncated`, 4 products a step, 23 fraction bits) adds
1 * 2**24, 1 * 1 and 1 * 1 to c = 0. The largest exponent is 24, so everything is cut to multiples of
2**(24 - 23) = 2: the two ones vanish and the result is 2**24, where an exact sum would be 2**24 + 2:

>>> a = numbers(np.array([2.0**12, 1.0, 1.0, 0.0]), FORMATS["f16"])
>>> b = numbers(np.array([2.0**12, 1.0, 1.0, 0.0]), FORMATS["f16"])
>>> c = numbers(np.array(0.0), FORMATS["f32"])
>>> float(aligned_truncated(a, b, c, FORMATS["f32"], group=4, fraction=23, lowest=-131)) - 2.0**24
0.0

A model takes a, b: `Numbers` whose first axis is k and whose other axes broadcast to c's shape; c: `Numbers`;
out: D's format. It returns the values of D as float64, each of them a number of that format. The caller has cut the
work so that one group's products are about a megabyte, and ignores floating-point warnings.

MODELS has every model by its name: those of NVIDIA, those of CDNA3, RDNA3 and RDNA4, and those in which every operation
is rounded by itself, sums are exact, or numbers are integers. `mmacalc.arithmetic.tables` says which instruction
follows which model.
"""

from __future__ import annotations

from math import sqrt
from sys import float_info

import numpy as np

from ..base.errors import Error
from ..formats import FORMATS
from .codecs import EXPONENT_BITS, nan_value, powers, round_to_format
from .exact import Numbers, fused_multiply_add, numbers, rounding_sum, to_odd, two_sum
from .numerics import ALIASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format

    Array = NDArray[np.float64]

__all__ = ["MODELS", "Numbers", "numbers"]


# --- NVIDIA's tensor cores: all terms aligned to the largest exponent, cut toward zero, added exactly ---
#
# Every product of two operands of up to 32 bits is exact in float64, and so is a sum that is cut at a common bit,
# while fraction + 2 + log2(group) + 1 <= 53. Multiplying by a power of two is exact, so exponents are kept as powers
# of two.
#
# A product with a zero factor and a zero c have no exponent, and the alignment never goes below 2**lowest: 0 * 0 + c
# is c, however small. A sum that is zero, or becomes zero when it is cut or rounded, is plus zero.
#
# Sources: MMA-Sim 2.1.1 (arXiv 2511.10909v2), T-FDPA, ST-FDPA and GST-FDPA, also for the sign of zero, on which mmaemu
# 0.1.0 agrees (measured on an RTX 4060: fp8 with f32 results); Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor
# Cores" (TACO 23(3), 2026, doi 10.1145/3830409; their code of August 2026 drops zero products, and has minus zero
# where a negative sum becomes zero); Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores"
# (2021), section 3, for subnormals and special values.


def toward_zero(values: Array, fraction: int | None = None) -> Array:
    """Values cut to f32, toward zero; with `fraction`, to that many fraction bits of f32's exponent range."""
    f32 = FORMATS["f32"]
    if fraction is not None:
        quantum = powers(values, f32) * 2.0**-fraction
        cut = np.where(np.isfinite(values), np.trunc(values / quantum) * quantum, values)
    else:
        near = values.astype(np.float32)
        back = np.abs(near) > np.abs(values)
        cut = np.where(back, np.nextafter(near, np.float32(0)), near).astype(np.float64)
    return np.where(np.abs(values) >= 2.0**128, np.copysign(np.inf, values), cut)


def _rounded(values: Array, out: Format, kept: int | None = None) -> Array:
    """Toward zero to f32 (or to `kept` fraction bits of it), to nearest even to f16; a zero is plus zero."""
    return (toward_zero(values, kept) if out.name == "f32" else round_to_format(values, out)) + 0.0


def _sum(a: Numbers, b: Numbers, c: Numbers, fraction: int, lowest: int) -> Array:
    """The sum of products and c, each cut toward zero `fraction` bits below the largest exponent. Exact."""
    products = a.value * b.value
    top = np.maximum((a.power * b.power).max(axis=0), c.power)
    scale = 2.0**fraction / np.maximum(top, 2.0**lowest)
    products *= scale
    np.trunc(products, out=products)
    total: Array = products.sum(axis=0)
    total += np.trunc(c.value * scale)
    total /= scale
    return total


def aligned_truncated(
    a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, fraction: int, lowest: int, kept: int | None = None
) -> Array:
    """`group` products and c are aligned to the largest exponent, at least `lowest`, each cut toward zero `fraction`
    bits below it, and added exactly; f32 results are cut toward zero, f16 results rounded to nearest even. With
    `kept`, f32 results keep that many fraction bits. Longer k is a chain: D of one group is c of the next.

    MMA-Sim 2: T-FDPA, with block scales ST-FDPA (the scales' exponents are added to the products').
    """
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        c = numbers(_rounded(_sum(a.at(part), b.at(part), c, fraction, lowest), out, kept), out)
    return c.value


def fp8_two_halves(a: Numbers, b: Numbers, c: Numbers, out: Format, fraction: int, lowest: int) -> Array:
    """mma.sync on fp8 where the GPU has no such instruction (sm_90, 100, 103, 107 and 110): `aligned_truncated` over
    the stored k with k % 4 in (0, 1), from zero, chained into the same over the others; then C is added, rounded to
    nearest even.

    Source: ptxas 13.0 writes F2FP.UNPACK_B of the low halves of the registers, HMMA.16816 from RZ, the same of the high
    halves (.H1) onto the result, and FADD (HADD2) with C. Of mma.sp it writes HMMA.SP.16832 likewise: SHFL moves B so
    that the first takes the logical k with k % 8 < 4, whose stored values have k % 4 < 2.
    """
    k = np.arange(len(a.value))
    total = numbers(np.zeros_like(c.value), out)
    for half in (k % 4 < 2, k % 4 >= 2):
        total = numbers(_rounded(_sum(a.at(half), b.at(half), total, fraction, lowest), out), out)
    return round_to_format(total.value + c.value, out)


def block_scaled_fp4(
    a: Numbers, b: Numbers, c: Numbers, out: Format, scale_a: Numbers, scale_b: Numbers, group: int, fraction: int,
    lowest: int,
) -> Array:  # fmt: skip
    """mxf4 and mxf4nvf4: the exact sum of each run of `group` products, times its two scales, is cut toward zero
    `fraction` bits below the largest exponent (of the scales, and of c; at least `lowest`); all are added with c and
    cut toward zero to f32. A run takes no part in the alignment if all its products or its scale are zero.

    `scale_a`, `scale_b`: first axis k, as a and b. MMA-Sim 2: GST-FDPA.
    """
    products = a.value * b.value
    runs = products.reshape(-1, group, *products.shape[1:])
    scales = scale_a.value[::group] * scale_b.value[::group]
    power = np.where((runs == 0).all(axis=1), 0.0, scale_a.power[::group] * scale_b.power[::group])
    scale = 2.0**fraction / np.maximum(np.maximum(power.max(axis=0), c.power), 2.0**lowest)
    total = np.trunc(runs.sum(axis=1) * scales * scale).sum(axis=0) + np.trunc(c.value * scale)
    return _rounded(total / scale, out)


# --- AMD's adders that align, as far as they are published: CDNA3 (MMA-Sim), RDNA3 and RDNA4 (AMD's measurements) ---
#
# CDNA3. Sources: MMA-Sim 2.1.1 (arXiv 2511.10909v2), TR-FDPA and GTR-FDPA; of the older TR-FDPA with 31 bits also
# Khattak and Mikaitis. A zero product aligns nothing; a zero c counts with f32's smallest exponent.
#
# RDNA3 and RDNA4. A WMMA is a chain of V_DOT2 (RDNA3) or of four-product steps (RDNA4) in the order of k. Source:
# AMD's emulator rocjitsu, ROCm/rocm-systems pull request 12120 of September 2026 (shared/gfx11_dot2.h, gfx12_dot.h,
# dot_packed16.h), measured on a Radeon Pro W7900 (gfx1100) and a Radeon AI Pro R9700 (gfx1201); on gfx1151 by the
# author of issue 12056. The NaN bits are measured as well: `_special`.


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


# --- Models that round each operation by itself, exact sums, and integers ---


NORMAL = 2.0**-126
"""The least normal number of f32, and of bf16."""


def pairwise_f32(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, flush: bool) -> Array:
    """CDNA2 f16 and bf16: products rounded to f32, a balanced binary tree of f32 additions over `group` of them,
    one more addition to c. With `flush`, inputs below the least normal number, minus zero among them, are plus zero,
    and products and sums below 2**-126 are zeros of their sign.

    Without it, and for pairs of f16, whose products f32 holds, it is SME's FMOPA: the exact sum of two products,
    rounded, and c (Arm DDI 0602, FPDotAdd; QEMU, f16_dotadd).

    Source: MMA-Sim 2.1.1, FTZ_MUL_ADD, also for the signs; Khattak and Mikaitis; CDNA2 ISA, "Denorm control" of V_MFMA.
    """
    if flush:
        a, b, c = (Numbers(flushed(x.value, x.power), x.power) for x in (a, b, c))

    def settle(values: NDArray[np.float32]) -> NDArray[np.float32]:
        if flush and (small := np.abs(values) < np.float32(2.0**-126)).any():
            values[small] *= 0
        return values

    total = c.value.astype(np.float32)
    # f32 holds every f16 and bf16, and multiplying in f32 is rounding the exact product.
    x, y = a.value.astype(np.float32), b.value.astype(np.float32)
    for start in range(0, len(x), group):
        tree = settle(x[start : start + group] * y[start : start + group])
        while len(tree) > 1:
            tree = settle(tree[0::2] + tree[1::2])
        total = settle(total + tree[0])
    return total.astype(np.float64)


def flushed(values: Array, powers: Array) -> Array:
    """Values of which those below the least normal number, zeros among them, are plus zero; `powers` as in Numbers."""
    return np.where((np.abs(values) < powers) | (values == 0), 0.0, values)


def fma_chain(a: Numbers, b: Numbers, c: Numbers, out: Format, rounding: str = "rn") -> Array:
    """A chain of fused multiply-adds in the order of k, starting from c, each rounded once.

    `rounding` (f64): rn to nearest even, rz toward zero, rm down, rp up. Source: MMA-Sim 2.1.1, FMA.
    """
    total = np.broadcast_to(c.value, np.broadcast_shapes(c.value.shape, a.value.shape[1:], b.value.shape[1:]))
    for x, y in zip(a.value, b.value):
        if out.name == "f64":
            total = fused_multiply_add(x, y, total, rounding)
        else:
            total = round_to_format(to_odd(*two_sum(x * y, total)), out)
    return np.array(total)


def two_chains(a: Numbers, b: Numbers, c: Numbers, out: Format, flush_inputs: bool) -> Array:
    """AMX: a chain of fused multiply-adds over the even k and one over the odd k, each from plus zero; their sum; that
    sum and c. Each is rounded to nearest even in f32, and a result below 2**-126 is a zero of its sign, as is a c below
    it, and with `flush_inputs` a factor.

    Source: Intel's SDM, volume 2, the operations of TDPBF16PS and TDPFP16PS (temp1.fp32[2n] and [2n+1]; "DAZ=FTZ=1, RNE
    rounding"); Bochs (bochs/cpu/avx/amx.cc) does the same. That a result is below 2**-126 is decided after it was
    rounded as if exponents had no end, as everywhere on x86: SDM, volume 1, section 4.9.1.5.
    """
    x, y = (_signed_zeros(factors.value) if flush_inputs else factors.value for factors in (a, b))
    chains = []
    for start in (0, 1):
        total = np.zeros(np.broadcast_shapes(c.value.shape, x.shape[1:], y.shape[1:]))
        for p, q in zip(x[start::2], y[start::2]):
            total = _rounded_without_tiny(to_odd(*two_sum(p * q, total)))
        chains.append(total)
    both = _rounded_without_tiny(to_odd(*two_sum(*chains)))
    return _rounded_without_tiny(to_odd(*two_sum(_signed_zeros(c.value), both)))


def _signed_zeros(values: Array) -> Array:
    """Values of which those below 2**-126 are zeros of their sign."""
    return np.where(np.abs(values) < NORMAL, np.copysign(0.0, values), values)


def _rounded_without_tiny(values: Array) -> Array:
    """Values in f32; zeros of their sign where they are below 2**-126 even after rounding with an endless exponent."""
    scale = 2.0**64
    tiny = np.abs(values) < NORMAL
    tiny &= np.abs(round_to_format(np.where(tiny, values, 0.0) * scale, FORMATS["f32"])) < NORMAL * scale
    return np.where(tiny, np.copysign(0.0, values), round_to_format(values, FORMATS["f32"]))


def rounded_to_odd(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int) -> Array:
    """SME's BFMOPA with FPCR.EBF 0: of each pair two products, their sum, and c and that sum, each to odd in f32.

    What is below 2**-126 before it is rounded is a zero of its sign, operands too; 2**128 and more is infinite.

    Source: Arm DDI 0602, BFDotAdd with BFMulH, BFAdd and BFRound; QEMU (target/arm/tcg: is_ebf, bfdotadd) the same.
    """
    total = _signed_zeros(c.value)
    x, y = _signed_zeros(a.value), _signed_zeros(b.value)
    for start in range(0, len(x), group):
        products = _cut_to_odd(x[start : start + group] * y[start : start + group])
        pair = products[0]
        for product in products[1:]:
            pair = _cut_to_odd(to_odd(*two_sum(pair, product)))
        total = _cut_to_odd(to_odd(*two_sum(total, pair)))
    return np.array(total)


LOST = (1 << 29) - 1
"""The bits of a float64 that f32 has not."""


def _cut_to_odd(values: Array) -> Array:
    """Values in f32 rounded to odd: cut toward zero, with the last bit set if something was cut."""
    bits = np.ascontiguousarray(values).view(np.int64)
    sticky = np.where(bits & LOST, LOST + 1, 0)
    cut = ((bits & ~LOST) | sticky).view(np.float64)
    cut = np.where(np.abs(values) >= 2.0**128, np.copysign(np.inf, values), cut)
    return np.where(np.isnan(values), np.nan, _signed_zeros(np.where(np.abs(values) < NORMAL, values, cut)))


def exact(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int | None = None) -> Array:
    """The exact sum of products and c, rounded once to nearest even. With `group`, that many products at a time.

    For operands of up to 26 significant bits, whose products float64 holds: all but f64, which is refused. A sum that
    is exactly zero is plus zero even if all its terms are minus zero (MMA-Sim 2.1.1 and fpy2 0.3.0); a negative one
    that is rounded to zero is minus zero. MMA-Sim 2: E-FDPA.
    """
    if out.bits == 64:
        raise Error("the exact sum is of formats whose products float64 holds; f64 results are those of fma_chain")
    total = c.value
    step = group or len(a.value)
    for start in range(0, len(a.value), step):
        products = a.value[start : start + step] * b.value[start : start + step]
        total = round_to_format(rounding_sum(products, total), out)
    return total


def integer(a: Array, b: Array, c: NDArray[np.int64], saturate: bool, operation: str = "multiply") -> Any:
    """Integers: exact, then wrapped modulo 2**32 or saturated to int32.

    a (..., M, K), b (..., K, N), c (..., M, N). `operation` for single bits: "and" or "xor", then a population
    count. Source: the vendors' ISA documents (CDNA4 ISA 7.1; RDNA3 ISA, WMMA, CLAMP; PTX ISA, mma, .satfinite).
    """
    total = _whole_product(a, b)
    if operation == "xor":
        ones = a.sum(axis=-1)[..., :, None] + b.sum(axis=-2)[..., None, :]
        total = ones.astype(np.int64) - 2 * total
    total = total + c
    if saturate:
        return np.clip(total, -(2**31), 2**31 - 1)
    return ((total + 2**31) & 0xFFFFFFFF) - 2**31


def _whole_product(a: Array, b: Array) -> NDArray[np.int64]:
    """a (..., M, K) times b (..., K, N), exactly: in float32, in parts of K whose sums stay below 2**24.

    A product of matrices in floats is many times as fast as NumPy's of integers.
    """
    largest = [max(int(x.max(initial=0)), -int(x.min(initial=0)), 1) for x in (a, b)]
    part = max(1, (1 << 24) // (largest[0] * largest[1]))
    x, y = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.int64)
    for k in range(0, a.shape[-1], part):
        total += (x[..., k : k + part] @ y[..., k : k + part, :]).astype(np.int64)
    return total


MODELS: dict[str, Callable[..., Any]] = {
    model.__name__: model
    for model in (
        aligned_truncated, block_scaled_fp4, fp8_two_halves, two_stage_floored, two_stage_floored_even_odd,
        dot2_ones_complement, dot4_floored, pairwise_f32, fma_chain, exact, integer, two_chains,
        rounded_to_odd,
    )
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """The models by the letters they had in 0.1: `models.T` is `models.aligned_truncated`."""
    if name in ALIASES:
        return MODELS[ALIASES[name]]
    raise AttributeError(f"module 'mmacalc.arithmetic.models' has no attribute '{name}'")
