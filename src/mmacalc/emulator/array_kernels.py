"""The kernels of core.c on arrays: on NumPy, for where it has not been compiled, and on torch, for tensors on a GPU.
The same results, and the same meaning of flags.

Each takes a block of rows of A (R, K), B (K, N) and C (R, N), and goes along k on arrays of R x N elements (on NumPy
few enough to stay in the cache): exponents in int16, products in float32, sums in int32 or float64. A flagged element
is of no use. What is rare (tiny and huge numbers, sums that two roundings could change) is looked for in the whole
block at once, and computed with more care, where it occurs.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.exact import fused_multiply_add, split, two_sum
from .array_parts import (
    HIGH,
    HUGE,
    LOW,
    NOTHING,
    CutSums,
    Products,
    as_type,
    bits_as,
    cut,
    dot2_ones_complement,
    dot4_floored,
    exponents,
    fields,
    inverse,
    largest,
    namespace,
    nearest,
    power,
    power64,
    product,
    to_odd,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from .fast import Operand

    Array = NDArray[Any]
    Flags = NDArray[np.bool_]
    Kernels = Callable[..., tuple[Array, Flags]]

EXPONENT_BITS = 0x7FF0 << 48


def aligned_truncated(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.models.aligned_truncated`."""
    group, fraction, lowest = given["group"], given["fraction"], given["lowest"]
    xp = namespace(c)
    d, bad, products = 1 * c, c != c, CutSums(a, b, c)
    for start in range(0, a.values.shape[1], group):
        top = _alignment(largest(a, b, range(start, start + group)), d, lowest, bad)
        scale = power(fraction - top)
        sums = as_type(d * scale, "int32")
        for part in range(start, start + group, 8):  # eight of 2**27 at most fit an int32
            products.add(sums, scale, range(part, min(part + 8, start + group)))
            if part == start:
                total = as_type(sums, "float64")
            else:
                total += sums
            if group > 8:
                sums[...] = 0
        if given["out"]:
            wide = nearest(total * inverse(scale), 10, -14)
            bad |= xp.abs(wide) > 65504.0
            d = as_type(wide, "float32") + 0.0
        else:
            d = as_type(cut(total, 52 - given["kept"]), "float32")
            d *= inverse(scale)
    return d, bad


def _alignment(of_products: Array, c: Array, lowest: int, bad: Array) -> Array:
    """The exponents that products and c are aligned to; flags those that float32 cannot scale by."""
    xp = namespace(c)
    top: Array = xp.maximum(of_products, fields(c))
    if top.max() <= HIGH and top.min() >= max(LOW, lowest):
        return top  # and none of them is that of a zero or subnormal c, which `fields` does not know
    top = xp.maximum(of_products, exponents(c))
    empty = top < NOTHING
    top = xp.clip(top, lowest, None)
    bad |= ((top < LOW) | (top > HIGH)) & ~empty
    clipped: Array = xp.clip(top, LOW, HIGH)
    return clipped


# --- CDNA3 --------------------------------------------------------------------------------------------------------


def two_stage_floored(a: Operand, b: Operand, c: Array, given: dict[str, int], halves: int = 1) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.models.two_stage_floored`."""
    group, fraction = given["group"], given["fraction"]
    xp = namespace(c)
    d, bad, products = 1 * c, c != c, CutSums(a, b, c)
    for start in range(0, a.values.shape[1], group):
        sums, tops = [], []
        for half in range(halves):
            ks = range(start + half, start + group, halves)
            top = largest(a, b, ks)
            if top.max() > HIGH or top.min() < LOW:
                bad |= (top > HIGH) | ((top < LOW) & (top > NOTHING))
            scale = power(fraction - xp.clip(top, LOW, HIGH))
            sums.append(0 * bits_as(scale, "int32"))
            tops.append(top)
            products.add(sums[-1], scale, ks)
        if halves == 2:
            top = xp.maximum(*tops)
            sums[0] >>= as_type(xp.clip(top - tops[0], 0, 31), "int32")
            sums[0] += sums[1] >> as_type(xp.clip(top - tops[1], 0, 31), "int32")
            scale = power(fraction - xp.clip(top, LOW, HIGH))
        d = _with_c(sums[0], top, scale, d, given, bad)
    return d, bad


def _with_c(sums: Array, top: Array, scale: Array, c: Array, given: dict[str, int], bad: Flags) -> Array:
    """The sum of products, whole numbers of 1 / scale, and c on CDNA3.

    c is floored to these units as well. While the whole sum is below 2**31, that is all that is floored: what the model
    floors next lies lower. Conversion to float32 rounds to nearest even.
    """
    xp = namespace(c)
    own, unit = c * scale, inverse(scale)
    size = xp.abs(own)
    if given["reach"] < HIGH:
        own = xp.where(size < 2.0 ** (given["fraction"] - given["reach"]), 0.0, own)
    xp.floor(own, out=own)
    d = as_type(sums + as_type(own, "int32"), "float32")
    d *= unit
    large = ~(size < 2.0**30)
    if large.any():
        at = xp.where(large.reshape(-1))[0]
        total = as_type(own.reshape(-1)[at], "float64")
        total += sums.reshape(-1)[at]
        rounded = as_type(_floored(total, 52 - given["sum_fraction"]), "float32")
        d.reshape(-1)[at] = rounded * unit.reshape(-1)[at]
    low, high = top.min(), top.max()
    if low < LOW or high >= given["fraction"] or not size.max() < 2.0**52:
        rare = ~(size < 2.0**52) | ((top < NOTHING) & (c != 0))
        rare |= (own == 0) & (c != 0) & (top >= given["fraction"])  # negative, but too small for float32
        at = xp.where(rare.reshape(-1))[0]
        few = [array.reshape(-1)[at] for array in (sums, top, c)]
        d.reshape(-1)[at], flagged = _with_far_c(as_type(few[0], "float64"), few[1], few[2], given)
        bad.reshape(-1)[at] |= flagged
    return d


def _floored(values: Array, bits: int) -> Array:
    """float64 values floored to 52 - bits fraction bits, in place."""
    words, low = bits_as(values, "int64"), (1 << bits) - 1
    words += words >> 63 & low
    words &= ~low
    return values


def _with_far_c(total: Array, top_p: Array, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """The sum of products, in units of 2**(top_p - fraction), and c; see with_c in core.c."""
    xp = namespace(c)
    own = xp.clip(exponents(c), -126, None)
    top = xp.maximum(top_p, own)
    fraction, dot, reach = given["fraction"], given["dot_fraction"], given["reach"]
    bad = ((top > HIGH) | (top < LOW)) & ((top > HIGH) | (top_p > NOTHING) | (c != 0))
    top = xp.clip(top, LOW, HIGH)
    floored: Array = xp.floor(total * power(xp.clip(top_p - top, -120, None) + (dot - fraction)))
    if reach < HIGH:
        c = xp.where((own < top_p - reach) & (top_p > NOTHING), 0.0, c)
    floored += xp.floor(as_type(c, "float64") * power(fraction - top)) * 2.0 ** (dot - fraction)
    unit = bits_as(bits_as(floored, "int64") & EXPONENT_BITS, "float64") * 2.0 ** -given["sum_fraction"]
    unit = xp.clip(unit, 1.0, None)
    floored = xp.floor(floored / unit) * unit
    return as_type(floored, "float32") * power(top - dot) + 0.0, bad


def two_stage_floored_even_odd(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.models.two_stage_floored_even_odd`."""
    return two_stage_floored(a, b, c, given, halves=2)


# --- sums that are rounded ----------------------------------------------------------------------------------------


def pairwise_f32(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.models.pairwise_f32`. The inputs are flushed already; minus zeros are flagged, as in
    core.c."""
    xp = namespace(c)

    def settled(values: Array) -> Array:
        if (small := xp.abs(values) < 2.0**-126).any():
            values[small] *= 0
        return values

    d, group = 1 * c, given["group"]
    for start in range(0, a.values.shape[1], group):
        tree = [settled(a.values[:, k, None] * b.values[k]) for k in range(start, start + group)]
        while len(tree) > 1:
            tree = [settled(x + y) for x, y in zip(tree[0::2], tree[1::2])]
        d = settled(d + tree[0])
    return d, _minus_zero(d) | (c != c)


def fma_chain(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.models.fma_chain`: f32. A product is exact in float64."""
    d, bad = 1 * c, _minus_zero(c) | (c != c)
    products, one = Products(a.values, b.values, "float64"), as_type(c, "float64")
    for k in range(a.values.shape[1]):
        d = _plus(products.at(k, one), d, bad)
    return d, bad


def _minus_zero(values: Array) -> Flags:
    found: Flags = (values == 0) & namespace(values).signbit(values)
    return found


def _plus(exact: Array, d: Array, bad: Flags) -> Array:
    """A float64 and a float32, added and rounded once, to float32; flags results of minus zero.

    Their sum in float64 is rounded there and once more to float32. That is only wrong where the first comes to lie in
    the middle between two neighbours of float32, or where float32 has fewer bits, below 2**-126. A product of matrices
    has lost the sign of its zeros; it would count if d were minus zero.
    """
    xp = namespace(d)
    wide = as_type(d, "float64")
    wide += exact
    rounded = as_type(wide, "float32")
    small = xp.abs(rounded) < 2.0**-125
    if small.any():
        bad |= small & _minus_zero(rounded)
    rare = (bits_as(wide, "int64") & 0x1FFFFFFF) == 0x10000000
    rare |= small
    if rare.any():
        rare &= (wide - d != exact) | (wide - exact != d)  # the sum in float64 is not exact
        at = xp.where(rare.reshape(-1))[0]
        few = exact.reshape(-1)[at], as_type(d.reshape(-1)[at], "float64")
        rounded.reshape(-1)[at] = as_type(to_odd(*two_sum(*few)), "float32")
    return rounded


def exact(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.models.exact`.

    A product of matrices in float64 (BLAS) is exact, in any order of addition, where the bits of all terms lie within
    53; that follows from the range of the exponents of the row and of the column.
    """
    group, room = given["group"], 53 - 4 - given["low_bits"] - int(given["group"] - 1).bit_length()
    x, rows = as_type(a.values, "float64"), _spread(a, 1, group)
    y, columns = b
    assert columns is not None
    d, bad = 1 * c, c != c
    for step, start in enumerate(range(0, x.shape[1], group)):
        part = slice(start, start + group)
        products = product(x[:, part], y[part])
        if rows[:, step].max() + columns[step].max() > room:
            bad |= rows[:, step, None] + columns[step] > room
        if given["out"]:
            d = _plus_narrow(products, d, given["out"], bad)
        else:
            d = _plus(products, d, bad)
            d += 0.0
    return d, bad


def _plus_narrow(exact: Array, d: Array, out: int, bad: Flags) -> Array:
    """The same, rounded to f16 (out 1) or bf16 (2); flags what overflows f16."""
    wide = to_odd(*two_sum(exact, as_type(d, "float64"))) + 0.0
    if out == 2:
        return as_type(nearest(wide, 7, -126), "float32")
    wide = nearest(wide, 10, -14)
    bad |= namespace(wide).abs(wide) > 65504.0
    return as_type(wide, "float32")


def exact_b(b: Operand, given: dict[str, int]) -> Operand:
    """B as `exact` reads it: in float64, and its `_spread`."""
    return type(b)(as_type(b.values, "float64"), _spread(b, 0, given["group"]))


def _spread(operand: Operand, axis: int, group: int) -> Array:
    """For each step, the difference of the exponents of a row (axis 1) or column (0); infinite where one is none."""
    own = operand.exponents
    assert own is not None
    steps = own.shape[axis] // group
    split = own.reshape(-1, steps, group) if axis else own.reshape(steps, group, -1)
    inner = 2 if axis else 1
    xp = namespace(split)
    high = xp.amax(split, inner)
    low = xp.amin(xp.where(split < NOTHING, HUGE, split), inner)
    found: Array = xp.where(high > HUGE, HUGE, xp.clip(high - low, 0, None))
    return found


def block_scaled_fp4(
    a: Operand, b: Operand, c: Array, given: dict[str, int], scales: tuple[Operand, Operand]
) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.models.block_scaled_fp4`."""
    group, fraction, lowest = given["group"], given["fraction"], given["lowest"]
    d, bad = c.copy(), np.zeros(c.shape, bool)
    size_a, size_b = np.abs(a.values), np.abs(b.values)
    (value_a, power_a), (value_b, power_b) = scales
    assert power_a is not None
    assert power_b is not None
    for first in range(0, value_a.shape[1], 4):
        top, terms = np.maximum(exponents(d), np.int16(lowest)), []
        for run in range(first, first + 4):
            part = slice(run * group, (run + 1) * group)
            own = power_a[:, run, None] + power_b[run]
            bad |= own > HUGE
            used = product(size_a[:, part], size_b[part]) != 0
            top = np.where(used, np.maximum(top, own), top)
            factor = value_a[:, run, None].astype(np.float64) * value_b[run]
            terms.append(product(a.values[:, part], b.values[part]) * factor)
        bad |= (top > HIGH) | ((top < LOW) & (top != lowest))
        scale = power64(fraction - np.clip(top, -200, HIGH))
        total = np.trunc(d * scale) + 0.0
        for term in terms:
            total += np.trunc(term * scale)
        bad |= (top == lowest) & (total != 0)
        d = (cut(total, 29) / scale).astype(np.float32)
    return d, bad


ON_DEVICES = (
    "aligned_truncated",
    "two_stage_floored",
    "two_stage_floored_even_odd",
    "pairwise_f32",
    "fma_chain",
    "exact",
)
"""Those that torch's tensors can be given: of RDNA's the payloads of NaN matter, which get lost in values."""

PREPARED = {"exact": exact_b}
"""What is done with B once for all rows."""


# --- A chain of fused multiply-adds in float64, on NumPy ---
#
# NumPy has no fused multiply-add. What is computed instead is an interval that holds a b + d without any doubt: where
# both ends round to the same number, as they nearly always do, that is the result; elsewhere
# `mmacalc.arithmetic.exact.fused_multiply_add` is asked.
#
# Each number is the sum of two of 26 bits, a = a1 + a2, b = b1 + b2 (Veltkamp). a1 b1 is exact, its sum with d is known
# with its error, s + t (Knuth); r = a2 b1 + a b2, at most 2**-25 of a b, is rounded by 2**-77 of it at most. So a b + d
# is s + t + r, and each of the next two sums, t + r and its ends of the interval, is rounded by 2**-53 of |t| + |r|,
# where |t| is at most 2**-53 of |s|: together 2**-76 |a b| + 2**-105 |s|. The interval is twice as wide.


STEPS = 64  # of k, for which the width of the interval is computed once
COLUMNS = 128  # at a time: the arrays stay in the second-level cache
LEAST, MOST = 2.0**-850, 2.0**900  # products for which nothing here underflows or overflows
OF_PRODUCTS, OF_D = 2.0**-75, 2.0**-103  # the parts of the largest |a b| and of |d| in the interval's width


def fma_chain_f64(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.models.fma_chain`: f64."""
    d, bad = np.empty_like(c), (c == 0) & np.signbit(c)  # a product of matrices has lost the sign of its zeros
    for first in range(0, c.shape[1], COLUMNS):
        columns = slice(first, first + COLUMNS)
        part, flags = c[:, columns].copy(), bad[:, columns].copy()
        for start in range(0, a.values.shape[1], STEPS):
            ks = slice(start, start + STEPS)
            part = _steps(a.values[:, ks], b.values[ks, columns], part, flags)
        d[:, columns], bad[:, columns] = part, flags
    return d, bad


def _steps(a: Array, b: Array, d: Array, bad: Flags) -> Array:
    """d after some steps. Flags the elements whose products could be out of range."""
    size = np.multiply.outer(np.abs(a).max(axis=1), np.abs(b).max(axis=0))
    bad |= ~((size < MOST) & (np.multiply.outer(_least(a, 1), _least(b, 0)) > LEAST))
    for values, axis in ((a, 1), (b, 0)):
        bad |= np.expand_dims(~(np.abs(values).max(axis=axis) < MOST), axis)
    flagged, width = bool(bad.any()), OF_PRODUCTS * size + OF_D * np.abs(d)
    left, right = _halves(a, b)
    products, total, part = np.empty((2 * len(d), len(d[0]))), np.empty_like(d), np.empty_like(d)
    high, low = products[: len(d)], products[len(d) :]
    for k in range(len(right)):
        np.matmul(left[k], right[k], out=products)  # a1 b1, and a2 b1 + a b2
        np.add(high, d, out=total)
        np.subtract(total, d, out=part)
        high -= part
        np.subtract(total, part, out=part)
        np.subtract(d, part, out=part)
        part += high
        part += low
        np.add(part, width, out=high)
        part -= width
        high += total
        part += total
        rare = high > part
        if flagged:
            rare &= ~bad
        if rare.any():
            at = np.flatnonzero(rare)
            row, column = np.divmod(at, len(d[0]))
            high.reshape(-1)[at] = fused_multiply_add(a[row, k], b[k, column], d.reshape(-1)[at])
        d[...] = high
    return d


def _halves(a: Array, b: Array) -> tuple[Array, Array]:
    """For each k: the pairs (a1, 0) of all rows of A, then (a2, a); b1 and b2 of a row of B."""
    (a1, a2), (b1, b2) = split(a), split(b)
    first, second = np.concatenate([a1, a2]), np.concatenate([0 * a1, a])
    return np.ascontiguousarray(np.stack([first.T, second.T], axis=2)), np.stack([b1, b2], axis=1)


def _least(values: Array, axis: int) -> Array:
    """The smallest magnitude but zero; 1 if there is none."""
    size = np.abs(values)
    found: Array = np.where(size == 0, np.inf, size).min(axis=axis)
    return np.where(found == np.inf, 1.0, found)


KERNELS: dict[str, Kernels] = {
    function.__name__: function
    for function in (
        aligned_truncated, two_stage_floored, two_stage_floored_even_odd, pairwise_f32, fma_chain, fma_chain_f64,
        exact, block_scaled_fp4, dot2_ones_complement, dot4_floored,
    )
}  # fmt: skip
