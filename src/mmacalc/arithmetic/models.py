"""The arithmetic models: how matrix units round D = sum of a_k b_k + c.

One worked example. A Volta tensor core (`aligned_truncated`, 4 products a step, 23 fraction bits) adds
1 * 2**24, 1 * 1 and 1 * 1 to c = 0. The largest exponent is 24, so everything is cut to multiples of
2**(24 - 23) = 2: the two ones vanish and the result is 2**24, where an exact sum would be 2**24 + 2:

>>> a = numbers(np.array([2.0**12, 1.0, 1.0, 0.0]), FORMATS["f16"])
>>> b = numbers(np.array([2.0**12, 1.0, 1.0, 0.0]), FORMATS["f16"])
>>> c = numbers(np.array(0.0), FORMATS["f32"])
>>> float(aligned_truncated(a, b, c, FORMATS["f32"], group=4, fraction=23)) - 2.0**24
0.0

A model takes a, b: `Numbers` whose first axis is k and whose other axes broadcast to c's shape; c: `Numbers`;
out: D's format. It answers with the values of D as float64, each of them a number of that format. The caller has
cut the work so that one group's products are about a megabyte, and ignores floating-point warnings.

Every product of two operands of up to 32 bits is exact in float64. A sum that is cut at a common bit is exact as
well, while fraction + 2 + log2(group) + 1 <= 53. Multiplying by a power of two is exact, so exponents are kept as
powers of two. A sum of zero in the models that add integers (the aligned and floored ones) is plus zero.

Sources: MMA-Sim (arXiv 2511.10909); Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv
2512.07004); for the specials, Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores" (2021).
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..formats import FORMATS
from .codecs import powers, round_to_format
from .exact import fused_multiply_add, rounding_sum, to_odd, two_sum
from .numerics import ALIASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format

    Array = NDArray[np.float64]

__all__ = ["MODELS", "Numbers", "numbers"]


class Numbers(namedtuple("Numbers", "value power")):
    """Values with 2**exponent of each: what an adder that aligns by exponents reads. Both float64."""

    __slots__ = ()
    value: Array
    power: Array

    def __getitem__(self, index: Any) -> Numbers:
        """The same selection of both."""
        return Numbers(self.value[index], self.power[index])


def numbers(values: NDArray[Any], format: Format) -> Numbers:
    """Values of a format with their exponents."""
    values = np.asarray(values, np.float64)
    return Numbers(values, powers(values, format))


# --- rounding to D's format ---------------------------------------------------------------------------------


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


def nvidia_rounding(values: Array, out: Format, kept: int | None = None) -> Array:
    """NVIDIA: toward zero to f32 (or to `kept` fraction bits of it), to nearest even to f16."""
    return toward_zero(values, kept) if out.name == "f32" else round_to_format(values, out)


# --- models that align and cut --------------------------------------------------------------------------------


def _aligned(a: Numbers, b: Numbers, c: Numbers, fraction: int) -> Array:
    """The sum of products and c, each cut toward zero `fraction` bits below the largest exponent. Exact."""
    products = a.value * b.value
    scale = 2.0**fraction / np.maximum((a.power * b.power).max(axis=0), c.power)
    products *= scale
    np.trunc(products, out=products)
    total: Array = products.sum(axis=0)
    total += np.trunc(c.value * scale)
    total /= scale
    total += 0.0  # a sum of integers has no minus zero
    return total


def aligned_truncated(
    a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, fraction: int, kept: int | None = None
) -> Array:
    """NVIDIA's fused adder. `group` products and c are aligned to the largest exponent, each cut toward zero
    `fraction` bits below it, and added exactly; f32 results are cut toward zero, f16 results rounded to nearest.
    With `kept`, f32 results keep that many fraction bits. Longer k is a chain: D of one group is c of the next.

    Source: MMA-Sim, section 4; Khattak and Mikaitis, section 4 (models of V100 to B200).
    """
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        c = numbers(nvidia_rounding(_aligned(a[part], b[part], c, fraction), out, kept), out)
    return c.value


def two_stage_floored(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int) -> Array:
    """CDNA3, f16, bf16 and xf32. The products are cut toward zero at 24 fraction bits below their largest
    exponent and added; that sum is floored at 31 bits, c at 24 bits, below the larger exponent of the two; the
    sum of both is rounded to nearest. A single product of 2**128 or more is an infinity.

    Source: MMA-Sim, section 5; Khattak and Mikaitis confirm it.
    """
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        power = (a.power[part] * b.power[part]).max(axis=0)
        total = _cut_sum(_products(a[part], b[part], power), power)
        c = numbers(round_to_format(_add_floored(total, power, c), out), out)
    return c.value


def two_stage_floored_even_odd(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int) -> Array:
    """CDNA3, FNUZ fp8 and bf8: as `two_stage_floored`, but even and odd k are added apart, each below its
    own largest exponent, and the two sums floored at 24 bits and added; c counts as 0 when its exponent
    is more than 25 below.

    Source: MMA-Sim, section 5; Khattak and Mikaitis confirm it.
    """
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        exponents = a.power[part] * b.power[part]
        even, odd = exponents[0::2].max(axis=0), exponents[1::2].max(axis=0)
        power = np.maximum(even, odd)
        products = _products(a[part], b[part], power)
        scale = 2.0**24 / power
        total = np.floor(_cut_sum(products[0::2], even) * scale) + np.floor(_cut_sum(products[1::2], odd) * scale)
        top = np.maximum(power, c.power)
        near = Numbers(np.where(c.power < top * 2.0**-25, 0.0, c.value), c.power)
        c = numbers(round_to_format(_add_floored(total / scale, power, near), out), out)
    return c.value


def _products(a: Numbers, b: Numbers, power: Array) -> Array:
    """The products, of which those that f32 cannot hold are infinite; `power` is their largest exponent's."""
    products: Array = a.value * b.value
    if np.any(power > 2.0**125):  # significands are below 4
        products = np.where(np.abs(products) >= 2.0**128, np.copysign(np.inf, products), products)
    return products


def _cut_sum(products: Array, power: Array) -> Array:
    """The sum of products, each cut toward zero 24 bits below `power`."""
    scale = 2.0**24 / power
    scaled = products * scale
    np.trunc(scaled, out=scaled)
    total: Array = scaled.sum(axis=0) / scale
    return total


def _add_floored(total: Array, power: Array, c: Numbers) -> Array:
    top = np.maximum(power, c.power)
    fine, coarse = 2.0**31 / top, 2.0**24 / top
    sum_: Array = np.floor(total * fine) / fine + np.floor(c.value * coarse) / coarse + 0.0
    return sum_


def block_scaled_fp4(
    a: Numbers, b: Numbers, c: Numbers, out: Format, scale_a: Numbers, scale_b: Numbers, group: int, fraction: int
) -> Array:
    """NVIDIA mxf4 and mxf4nvf4: the exact sum of each run of `group` products, times its two scales, is cut
    toward zero `fraction` bits below the largest exponent (of the scales, and of c); all are added with c.

    `scale_a`, `scale_b`: first axis k, as a and b. Source: MMA-Sim, section 4.
    """
    runs = a.value * b.value
    runs = runs.reshape(-1, group, *runs.shape[1:]).sum(axis=1)
    scales = scale_a.value[::group] * scale_b.value[::group]
    power = scale_a.power[::group] * scale_b.power[::group]
    scale = 2.0**fraction / np.maximum(power.max(axis=0), c.power)
    total = np.trunc(runs * scales * scale).sum(axis=0) + np.trunc(c.value * scale)
    return nvidia_rounding(total / scale + 0.0, out)


def fp8_two_halves(a: Numbers, b: Numbers, c: Numbers, out: Format, fraction: int) -> Array:
    """Hopper and B200 mma.sync on fp8 with f16 results: `aligned_truncated` over k % 4 in (0, 1), chained into the same
    over the other half, from zero; then C is added and rounded to f16. (ptxas turns it into two HMMA.)

    Source: Khattak and Mikaitis; measured on H200 and B200.
    """
    k = np.arange(len(a.value))
    total = numbers(np.zeros_like(c.value), out)
    for half in (k % 4 < 2, k % 4 >= 2):
        total = numbers(nvidia_rounding(_aligned(a[half], b[half], total, fraction), out), out)
    return round_to_format(total.value + c.value, out)


def fp8_add_c_last(a: Numbers, b: Numbers, c: Numbers, out: Format, fraction: int) -> Array:
    """B200 mma.sync on fp8 with f32 results: `aligned_truncated` over all products from zero, cut toward zero to
    f32; then C is added and rounded to nearest. Source: Khattak and Mikaitis; measured on B200."""
    start = numbers(np.zeros_like(c.value), out)
    total = nvidia_rounding(_aligned(a, b, start, fraction), out)
    return (total.astype(np.float32) + c.value.astype(np.float32)).astype(np.float64)


# --- models that round each operation -------------------------------------------------------------------------


def pairwise_f32(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, flush: bool) -> Array:
    """CDNA2 f16 and bf16: products rounded to f32, a balanced binary tree of f32 additions over `group` of them,
    one more addition to c. With `flush`, subnormal inputs and results below 2**-126 become zero, sign kept.

    Source: MMA-Sim, section 5; Khattak and Mikaitis; CDNA2 ISA, "Denorm control" of V_MFMA (flush).
    """
    if flush:
        a, b, c = (Numbers(np.where(np.abs(x.value) < x.power, x.value * 0.0, x.value), x.power) for x in (a, b, c))

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


def fma_chain(a: Numbers, b: Numbers, c: Numbers, out: Format, rounding: str = "rn") -> Array:
    """A chain of fused multiply-adds in the order of k, starting from c, each rounded once.

    `rounding` (f64): rn to nearest even, rz toward zero, rm down, rp up. Source: MMA-Sim, sections 4 and 5.
    """
    total = np.broadcast_to(c.value, np.broadcast_shapes(c.value.shape, a.value.shape[1:], b.value.shape[1:]))
    for x, y in zip(a.value, b.value):
        if out.name == "f64":
            total = fused_multiply_add(x, y, total, rounding)
        else:
            total = round_to_format(to_odd(*two_sum(x * y, total)), out)
    return np.array(total)


def exact(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int | None = None) -> Array:
    """The exact sum of products and c, rounded once to nearest even. With `group`, that many products at a time.

    For operands of up to 26 significant bits, whose products float64 holds: all but f64.
    """
    total = c.value
    step = group or len(a.value)
    for start in range(0, len(a.value), step):
        products = a.value[start : start + step] * b.value[start : start + step]
        total = round_to_format(rounding_sum(products, total), out)
    return total


# --- integers ---------------------------------------------------------------------------------------------------


def integer(a: Array, b: Array, c: NDArray[np.int64], saturate: bool, operation: str = "multiply") -> NDArray[np.int64]:
    """Integers: exact, then wrapped modulo 2**32 or saturated to int32.

    a (..., M, K), b (..., K, N), c (..., M, N). `operation` for single bits: "and" or "xor", then a population
    count. Source: the vendors' ISA documents (CDNA4 ISA 7.1; RDNA3 ISA, WMMA, CLAMP; PTX ISA, mma, .satfinite).
    """
    total = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)  # exact: below 2**53
    if operation == "xor":
        ones = a.sum(axis=-1)[..., :, None] + b.sum(axis=-2)[..., None, :]
        total = ones.astype(np.int64) - 2 * total
    total = total + c
    if saturate:
        return np.clip(total, -(2**31), 2**31 - 1)
    return ((total + 2**31) & 0xFFFFFFFF) - 2**31


MODELS: dict[str, Callable[..., Any]] = {
    "aligned_truncated": aligned_truncated,
    "two_stage_floored": two_stage_floored,
    "two_stage_floored_even_odd": two_stage_floored_even_odd,
    "pairwise_f32": pairwise_f32,
    "exact": exact,
    "fma_chain": fma_chain,
    "block_scaled_fp4": block_scaled_fp4,
    "fp8_two_halves": fp8_two_halves,
    "fp8_add_c_last": fp8_add_c_last,
    "integer": integer,
}


def __getattr__(name: str) -> Any:
    """The models by the letters they had in 0.1: `models.T` is `models.aligned_truncated`."""
    if name in ALIASES:
        return MODELS[ALIASES[name]]
    raise AttributeError(f"module 'mmacalc.arithmetic.models' has no attribute '{name}'")
