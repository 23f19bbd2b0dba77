"""How far a product is from the exactly rounded one."""

from __future__ import annotations

from math import fsum

import numpy as np

from ..arithmetic.codecs import decode, encode, round_to_format, ulps
from ..arithmetic.exact import rounding_sum, two_product
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .plan import Plan

    Array = NDArray[Any]

__all__ = ["Accuracy", "accuracy"]

ELEMENTS = 1 << 18  # products that are added exactly at a time


class Accuracy(TupleRecord):
    """D beside the exact product of the rounded A and B plus C, rounded once to nearest even to D's format.

    reference: that product, an array as D; ulps: for each element how many numbers of D's format D is away, NaN where
    just one of the two is NaN; relative: |D - reference| / |reference|, 0 where both are 0.
    """

    reference: Array
    ulps: NDArray[np.float64]
    relative: NDArray[np.float64]

    @property
    def max_ulps(self) -> float:
        """The largest distance; NaN if one is."""
        return float(np.max(self.ulps, initial=0))

    @property
    def mean_ulps(self) -> float:
        """The mean distance."""
        return float(np.mean(self.ulps)) if self.ulps.size else 0.0

    @property
    def max_relative(self) -> float:
        """The largest relative error; NaN if one is."""
        return float(np.max(self.relative, initial=0))


def accuracy(plan: Plan, d: Array) -> Accuracy:
    """The accuracy of a plan's D (as `Plan.values` gives it)."""
    execution, form = plan.execution, plan.result
    reference = _exact(plan)
    if not form.is_float:
        exact = reference.astype(np.int64)
        apart = np.abs(d.astype(np.int64) - exact).astype(np.float64)
        relative = np.where(exact == 0, np.where(apart == 0, 0, np.inf), apart / np.maximum(np.abs(exact), 1))
        return Accuracy(reference, apart, relative)
    vendor = execution.inst.architecture.vendor
    codes = [encode(values.astype(np.float64), form, vendor) for values in (d, reference)]
    with np.errstate(all="ignore"):
        apart, size = np.abs(d.astype(np.float64) - reference), np.abs(reference.astype(np.float64))
        same = (d == reference) | (np.isnan(d) & np.isnan(reference))
        relative = np.where(same, 0.0, apart / size)
    return Accuracy(reference, ulps(codes[0], codes[1], form), relative)


def _exact(plan: Plan) -> Array:
    execution, form = plan.execution, plan.execution.formats["D"]
    values = {name: decode(codes, execution.formats[name], execution.signed.get(name, True))
              for name, codes in plan.codes.items()}  # fmt: skip
    if not form.is_float:
        total = values["A"].astype(np.float64) @ values["B"].astype(np.float64)
        total = total + (values["C"] if plan.beta else 0)
        return np.asarray((total.astype(np.int64) + 2**31) % 2**32 - 2**31, np.int32).reshape(
            *plan.batch, plan.m, plan.n
        )
    if size := execution.block_size:
        values["A"] = values["A"] * np.repeat(values.pop("SA"), size, axis=2)
        values["B"] = values["B"] * np.repeat(values.pop("SB"), size, axis=1)
    result = np.empty((len(values["A"]), plan.m, plan.n))
    step = max(1, ELEMENTS // max(1, plan.k * plan.n))
    for entry in range(len(result)):
        for first in range(0, plan.m, step):
            rows = slice(first, first + step)
            a, b, c = values["A"][entry, rows].T[:, :, None], values["B"][entry][:, None, :], values["C"][entry, rows]
            result[entry, rows] = _sum(plan, a, b, c)
    if plan.result != form:
        out: Array = decode(plan.converted(result), plan.result).astype(np.float32)
    else:
        out = result if form.bits == 64 else round_to_format(result, form).astype(np.float32)
    return out.reshape(*plan.batch, plan.m, plan.n)


def _sum(plan: Plan, a: Array, b: Array, c: Array) -> Array:
    """alpha times the sum of products plus beta c, as numbers that round to D's format as the exact value does.

    With another alpha than 1 or beta than 0 and 1 the exact sum is rounded to float64 before they are applied.
    """
    plain = plan.alpha == 1 and plan.beta in (0, 1)
    start = c if plain and plan.beta else np.zeros_like(c, np.float64)
    with np.errstate(all="ignore"):
        total = _fsum(a, b, start) if plan.execution.formats["D"].bits == 64 else rounding_sum(a * b, start)
        return total if plain else plan.alpha * total + (plan.beta * c if plan.beta else 0)


def _fsum(a: Array, b: Array, c: Array) -> Array:
    """The sum of float64 products, each of two float64, and c, rounded once: element by element."""
    terms = np.concatenate([*two_product(*np.broadcast_arrays(a, b)), c[None]])
    columns = terms.reshape(len(terms), -1).T
    finite = np.isfinite(columns).all(axis=1)
    plain = ((a * b).sum(axis=0) + c).ravel()
    sums = [fsum(row) if good else float(other) for row, good, other in zip(columns.tolist(), finite, plain)]
    return np.array(sums).reshape(c.shape)
