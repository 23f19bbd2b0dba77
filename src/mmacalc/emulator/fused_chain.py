"""A chain of fused multiply-adds in float64, on NumPy.

NumPy has no fused multiply-add. What is computed instead is an interval that holds a b + d without any doubt: where
both ends round to the same number, as they nearly always do, that is the result; elsewhere
`mmacalc.arithmetic.exact.fused_multiply_add` is asked.

Each number is the sum of two of 26 bits, a = a1 + a2, b = b1 + b2 (Veltkamp). a1 b1 is exact, its sum with d is known
with its error, s + t (Knuth); r = a2 b1 + a b2, at most 2**-25 of a b, is rounded by 2**-77 of it at most. So a b + d
is s + t + r, and each of the next two sums, t + r and its ends of the interval, is rounded by 2**-53 of |t| + |r|,
where |t| is at most 2**-53 of |s|: together 2**-76 |a b| + 2**-105 |s|. The interval is twice as wide.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.exact import fused_multiply_add, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .fast import Operand

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

__all__ = ["fma_chain_f64"]

STEPS = 64  # of k, for which the width of the interval is computed once
COLUMNS = 128  # at a time: the arrays stay in the second-level cache
LEAST, MOST = 2.0**-850, 2.0**900  # products for which nothing here underflows or overflows
OF_PRODUCTS, OF_D = 2.0**-75, 2.0**-103  # the parts of the largest |a b| and of |d| in the interval's width


def fma_chain_f64(a: Operand, b: Operand, c: Array, given: dict[str, int]) -> tuple[Array, Flags]:
    """See `mmacalc.arithmetic.stepwise.fma_chain`: f64."""
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
