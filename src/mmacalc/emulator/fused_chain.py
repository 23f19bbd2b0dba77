"""A chain of fused multiply-adds in float64, on NumPy.

NumPy has no fused multiply-add. What is computed instead is an interval that holds a b + d without any doubt: where
both ends round to the same number, as they nearly always do, that is the result; elsewhere
`mmacalc.arithmetic.exact.fused_multiply_add` is asked.

Each number is the sum of two of 26 bits, a = a1 + a2, b = b1 + b2 (Veltkamp). a1 b1 is exact, its sum with d is known
with its error, s + t (Knuth), and a1 b2 + a2 b, 2**-25 of a b at most, is missing less than 2**-76 of a b. So
a b + d = s + w with w = t + (a1 b2 + a2 b), but for roundings: 2**-75 |a b| and 2**-105 |s| together.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.exact import fused_multiply_add
from .array_parts import Products

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .fast import Operand

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

__all__ = ["fma_chain_f64"]

STEPS = 64  # of k, for which the width of the interval is computed once
LEAST, MOST = 2.0**-850, 2.0**900  # products for which nothing here underflows or overflows
EPSILON_PRODUCTS, EPSILON_START = 2.0**-72, 2.0**-100


def fma_chain_f64(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.stepwise.fma_chain`: f64."""
    d, bad = 1 * c, (c == 0) & np.signbit(c)
    for start in range(0, a.values.shape[1], STEPS):
        part = slice(start, start + STEPS)
        d = _steps(np.ascontiguousarray(a.values[:, part]), b.values[part], d, bad)
    return d, bad


def _steps(a: Array, b: Array, d: Array, bad: Flags) -> Array:
    """Some steps. Flags the elements whose products could be out of range."""
    size = np.multiply.outer(np.abs(a).max(axis=1), np.abs(b).max(axis=0))
    least = np.multiply.outer(_least(a, 1), _least(b, 0))
    bad |= ~((size < MOST) & (least > LEAST))
    bad |= np.logical_or.outer(~(np.abs(a).max(axis=1) < MOST), ~(np.abs(b).max(axis=0) < MOST))
    flagged = bool(bad.any())
    width = EPSILON_PRODUCTS * size + EPSILON_START * np.abs(d)
    (a1, a2), (b1, b2) = _split(a), _split(b)
    leading = Products(a1, b1)
    pairs = np.stack([a1.T, a2.T], axis=2), np.stack([b2, b], axis=1)
    high, low, total, part, tail, up = (np.empty_like(d) for _ in range(6))
    for k in range(a.shape[1]):
        leading.at(k, high)
        np.matmul(pairs[0][k], pairs[1][k], out=low)
        np.add(high, d, out=total)
        np.subtract(total, d, out=part)
        np.subtract(total, part, out=tail)
        np.subtract(d, tail, out=tail)
        high -= part
        tail += high
        tail += low
        np.add(tail, width, out=up)
        tail -= width
        up += total
        tail += total
        rare = up > tail
        if flagged:
            rare &= ~bad
        if rare.any():
            row, column = np.nonzero(rare)
            up[rare] = fused_multiply_add(a[row, k], b[k, column], d[rare])
        d, up = up, d
    return d


def _split(values: Array) -> tuple[Array, Array]:
    """Numbers as sums of two of 26 bits each (Veltkamp)."""
    wide = values * 134217729.0  # 2**27 + 1
    high = wide - (wide - values)
    return high, values - high


def _least(values: Array, axis: int) -> Array:
    """The smallest magnitude but zero; 1 if there is none."""
    size = np.abs(values)
    found: Array = np.where(size == 0, np.inf, size).min(axis=axis)
    return np.where(found == np.inf, 1.0, found)
