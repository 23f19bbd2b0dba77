"""The kernels of core.c on arrays: on NumPy, for where it has not been compiled, and on torch, for tensors on a GPU.
The same results, and the same meaning of flags.

Each takes a block of rows of A (R, K), B (K, N) and C (R, N), and goes along k on arrays of R x N elements (on NumPy
few enough to stay in the cache): exponents in int16, products in float32, sums in int32 or float64. A flagged element
is of no use. Everything is written with what NumPy and torch name alike: operators, `view` for the bits of a number,
assignment for conversions, functions with the same arguments.
"""

from __future__ import annotations

import sys

import numpy as np

from ..arithmetic.exact import fused_multiply_add, two_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from .fast import Operand

    Array = NDArray[Any]
    Flags = NDArray[np.bool_]
    Kernels = Callable[..., tuple[Array, Flags]]

__all__ = ["KERNELS", "ON_DEVICES", "PREPARED", "namespace"]

LOW, HIGH = -94, 94  # as in core.c: alignments that float32 can scale by
UNSHARED = 1 << 18  # multiply-accumulates of a product of matrices
NOTHING, HUGE = -2000, 2000  # a sum of exponents below: one of the factors is zero; above: not finite


EXPONENT_BITS = 0x7FF0 << 48


def namespace(array: Any) -> Any:
    """The library of an array: NumPy or torch."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def _as(array: Array, kind: str) -> Array:
    """An array of another type, cut toward zero where it has fractions."""
    xp = namespace(array)
    converted: Array = array.astype(kind) if xp is np else array.to(getattr(xp, kind))  # type: ignore[attr-defined]
    return converted


def _bits(array: Array, kind: str) -> Array:
    """The memory of an array as numbers of another type of the same size."""
    found: Array = array.view(getattr(namespace(array), kind))
    return found


def _power(exponents: Array) -> Array:
    """2.0**e as float32, -126 <= e <= 127."""
    bits = _as(exponents, "int32")
    bits += 127
    bits <<= 23
    return _bits(bits, "float32")


def _power64(exponents: Array) -> Array:
    """2.0**e as float64, e of any integer type, -1022 <= e <= 1023."""
    return _bits((_as(exponents, "int64") + 1023) << 52, "float64")


def _exponents(c: Array) -> Array:
    """The exponents that float32 values are aligned by, as int16; see exponent_of in core.c."""
    bits = _bits(c, "int32")
    field = _as(bits >> 23 & 0xFF, "int16")
    found: Array = namespace(c).clip(field, 1, None) - 127
    found[field == 0xFF] = HUGE + 1
    found[bits << 1 == 0] = 2 * NOTHING
    return found


def _largest(a: Operand, b: Operand, ks: range) -> Array:
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


def _cut_sum(a: Operand, b: Operand, scale: Array, ks: range, total: Array) -> None:
    """Add the products at some k, scaled and cut toward zero, to an int32 array."""
    xp = namespace(scale)
    product, whole = xp.empty_like(scale), xp.empty_like(total)
    for k in ks:
        xp.multiply(a.values[:, k, None], b.values[k], out=product)
        product *= scale
        whole[...] = product
        total += whole


def _cut(values: Array, bits: int) -> Array:
    """float64 values toward zero to 52 - bits fraction bits."""
    return _bits(_bits(values, "int64") & -(1 << bits), "float64")


def _nearest(values: Array, fraction: int, least: int) -> Array:
    """To nearest even with some fraction bits of exponents from `least`, sign kept."""
    xp = namespace(values)
    exponents = xp.clip((_bits(values, "int64") >> 52 & 2047) - 1023, least, None)
    big = 1.5 * _power64(exponents + (52 - fraction))
    rounded: Array = xp.copysign((values + big) - big, values)
    return rounded


def _to_odd(high: Array, low: Array) -> Array:
    """As `mmacalc.arithmetic.exact.to_odd`."""
    xp = namespace(high)
    bits = _bits(high, "int64")
    inexact = xp.isfinite(high) & (low != 0) & (low == low)
    step = xp.where((low > 0) == (high > 0), 1, -1)
    return _bits(xp.where(inexact & (bits & 1 == 0), bits + step, bits), "float64")


def aligned_truncated(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.aligned.aligned_truncated`."""
    group, fraction = given["group"], given["fraction"]
    xp = namespace(c)
    d, bad = 1 * c, c != c
    for start in range(0, a.values.shape[1], group):
        top = xp.maximum(_largest(a, b, range(start, start + group)), _exponents(d))
        empty = top < NOTHING
        top = xp.clip(top, given["lowest"], None)
        bad |= ((top < LOW) | (top > HIGH)) & ~empty
        top = xp.clip(top, LOW, HIGH)
        scale = _power(fraction - top)
        sums = _as(d * scale, "int32")
        total: Any = 0.0
        for part in range(start, start + group, 8):  # eight of 2**27 at most fit an int32
            _cut_sum(a, b, scale, range(part, min(part + 8, start + group)), sums)
            total = total + _as(sums, "float64")
            if group > 8:
                sums[...] = 0
        if given["out"]:
            wide = _nearest(total * _power(top - fraction), 10, -14)
            bad |= xp.abs(wide) > 65504.0
            d = _as(wide, "float32")
        else:
            d = _as(_cut(total, 52 - given["kept"]), "float32") * _power(top - fraction)
    return d, bad


def _with_c(total: Array, top_p: Array, c: Array, given: dict[str, int], bad: Flags) -> Array:
    """The sum of products and c on CDNA3, see with_c in core.c."""
    xp = namespace(c)
    own = xp.clip(_exponents(c), -126, None)
    top = xp.maximum(top_p, own)
    fraction, dot, reach = given["fraction"], given["dot_fraction"], given["reach"]
    outside = (top > HIGH) | (top < LOW)
    if outside.any():
        bad |= outside & ((top > HIGH) | (top_p > NOTHING) | (c != 0))
        top = xp.clip(top, LOW, HIGH)
    floored: Array = xp.floor(total * _power(xp.clip(top_p - top, -120, None) + (dot - fraction)))
    if reach < HIGH:
        c = xp.where((own < top_p - reach) & (top_p > NOTHING), 0.0, c)
    floored += xp.floor(_as(c, "float64") * _power(fraction - top)) * 2.0 ** (dot - fraction)
    unit = xp.clip(_bits(_bits(floored, "int64") & EXPONENT_BITS, "float64") * 2.0 ** -given["sum_fraction"], 1.0, None)
    floored /= unit
    xp.floor(floored, out=floored)
    floored *= unit
    return _as(floored, "float32") * _power(top - dot) + 0.0


def two_stage_floored(a: Operand, b: Operand, c: Array, given: dict[str, int], halves: int = 1) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.floored.two_stage_floored`."""
    group, fraction = given["group"], given["fraction"]
    xp = namespace(c)
    d, bad = 1 * c, c != c
    for start in range(0, a.values.shape[1], group):
        sums, tops = [], []
        for half in range(halves):
            ks = range(start + half, start + group, halves)
            top = _largest(a, b, ks)
            bad |= (top > HIGH) | ((top < LOW) & (top > NOTHING))
            scale = _power(fraction - xp.clip(top, LOW, HIGH))
            total = 0 * _bits(scale, "int32")
            _cut_sum(a, b, scale, ks, total)
            sums.append(_as(total, "float64"))
            tops.append(top)
        top = tops[0]
        if halves == 2:
            top = xp.maximum(*tops)
            sums = [xp.floor(one * _power(xp.clip(own - top, -120, None))) for one, own in zip(sums, tops)]
        d = _with_c(sum(sums[1:], sums[0]), top, d, given, bad)
    return d, bad


def two_stage_floored_even_odd(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.floored.two_stage_floored_even_odd`."""
    return two_stage_floored(a, b, c, given, halves=2)


def pairwise_f32(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.stepwise.pairwise_f32`. The inputs are flushed already."""
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
    return d, c != c


def fma_chain(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.stepwise.fma_chain`: f32.

    A product is exact in float64, its sum with d rounded once there and once more to f32. That is only wrong where the
    first comes to lie in the middle between two neighbours of f32, or where f32 has fewer bits, below 2**-126.
    """
    xp = namespace(c)
    d, x, y = 1 * c, _as(a.values, "float64"), _as(b.values, "float64")
    product, wide = (xp.empty_like(_as(c, "float64")) for _ in range(2))
    for k in range(x.shape[1]):
        xp.multiply(x[:, k, None], y[k], out=product)
        xp.add(product, d, out=wide)
        middle = _bits(wide, "int64") & 0x1FFFFFFF == 0x10000000
        rounded = _as(wide, "float32")
        middle |= xp.abs(wide) < 2.0**-125
        if middle.any():
            rounded[middle] = _as(_to_odd(*two_sum(product[middle], _as(d[middle], "float64"))), "float32")
        d = rounded
    return d, c != c


def fma_chain_f64(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.stepwise.fma_chain`: f64."""
    d = c
    for k in range(a.values.shape[1]):
        d = fused_multiply_add(a.values[:, k, None], b.values[k], d)
    return d, np.zeros(c.shape, bool)


def exact(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.stepwise.exact`.

    A product of matrices in float64 (BLAS) is exact, in any order of addition, where the bits of all terms lie within
    53; that follows from the range of the exponents of the row and of the column.
    """
    group, room = given["group"], 53 - 4 - given["low_bits"] - int(given["group"] - 1).bit_length()
    xp = namespace(c)
    x, rows = _as(a.values, "float64"), _spread(a, 1, group)
    y, columns = b
    assert columns is not None
    d, bad = 1 * c, (c == 0) & xp.signbit(c)
    for step, start in enumerate(range(0, x.shape[1], group)):
        part = slice(start, start + group)
        products = _product(x[:, part], y[part])
        bad |= rows[:, step, None] + columns[step] > room
        wide = _to_odd(*two_sum(products, _as(d, "float64"))) + 0.0
        if given["out"] == 1:
            wide = _nearest(wide, 10, -14)
            bad |= xp.abs(wide) > 65504.0
        elif given["out"] == 2:
            wide = _nearest(wide, 7, -126)
        d = _as(wide, "float32")
    return d, bad


def _product(a: Array, b: Array) -> Array:
    """a @ b, in parts so small that OpenBLAS does not share them out to threads: there are some already."""
    if namespace(a) is not np or (rows := max(1, UNSHARED // b.size)) >= len(a):
        return a @ b
    found = np.empty((len(a), b.shape[1]), b.dtype)
    for first in range(0, len(a), rows):
        np.matmul(a[first : first + rows], b, out=found[first : first + rows])
    return found


def exact_b(b: Operand, given: dict[str, int]) -> Operand:
    """B as `exact` reads it: in float64, and its `_spread`."""
    return type(b)(_as(b.values, "float64"), _spread(b, 0, given["group"]))


def _spread(operand: Operand, axis: int, group: int) -> Array:
    """For each step, the difference of the exponents of a row (axis 1) or column (0); infinite where one is none."""
    exponents = operand.exponents
    assert exponents is not None
    steps = exponents.shape[axis] // group
    split = exponents.reshape(-1, steps, group) if axis else exponents.reshape(steps, group, -1)
    inner = 2 if axis else 1
    xp = namespace(split)
    high = xp.amax(split, inner)
    low = xp.amin(xp.where(split < NOTHING, HUGE, split), inner)
    found: Array = xp.where(high > HUGE, HUGE, xp.clip(high - low, 0, None))
    return found


def block_scaled_fp4(
    a: Operand, b: Operand, c: Array, given: dict[str, int], scales: tuple[Operand, Operand]
) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.aligned.block_scaled_fp4`."""
    group, fraction, lowest = given["group"], given["fraction"], given["lowest"]
    d, bad = c.copy(), np.zeros(c.shape, bool)
    size_a, size_b = np.abs(a.values), np.abs(b.values)
    (value_a, power_a), (value_b, power_b) = scales
    assert power_a is not None
    assert power_b is not None
    for first in range(0, value_a.shape[1], 4):
        top, terms = np.maximum(_exponents(d), np.int16(lowest)), []
        for run in range(first, first + 4):
            part = slice(run * group, (run + 1) * group)
            own = power_a[:, run, None] + power_b[run]
            bad |= own > HUGE
            used = _product(size_a[:, part], size_b[part]) != 0
            top = np.where(used, np.maximum(top, own), top)
            factor = value_a[:, run, None].astype(np.float64) * value_b[run]
            terms.append(_product(a.values[:, part], b.values[part]) * factor)
        bad |= (top > HIGH) | ((top < LOW) & (top != lowest))
        scale = _power64(fraction - np.clip(top, -200, HIGH))
        total = np.trunc(d * scale)
        for term in terms:
            total += np.trunc(term * scale)
        bad |= (top == lowest) & (total != 0)
        d = (_cut(total, 29) / scale).astype(np.float32)
    return d, bad


KERNELS: dict[str, Kernels] = {
    function.__name__: function
    for function in (
        aligned_truncated, two_stage_floored, two_stage_floored_even_odd, pairwise_f32, fma_chain, fma_chain_f64,
        exact, block_scaled_fp4,
    )
}  # fmt: skip

ON_DEVICES = (
    "aligned_truncated",
    "two_stage_floored",
    "two_stage_floored_even_odd",
    "pairwise_f32",
    "fma_chain",
    "exact",
)
"""Those that torch's tensors can be given."""

PREPARED = {"exact": exact_b}
"""What is done with B once for all rows."""
