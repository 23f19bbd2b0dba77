"""A dot product on which the rounding of an instruction shows: `RoundingExample`, found by trying."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..arithmetic.codecs import largest, round_to_format
from ..arithmetic.models import MODELS, numbers
from ..base.records import TupleRecord
from ..emulator.matrices import dot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..emulator.execution import Execution

    Array = NDArray[Any]

__all__ = ["RoundingExample", "rounding_example"]


class RoundingExample(TupleRecord):
    """One dot product that exposes how an instruction rounds.

    a, b: k values; c: the accumulator; instruction: what the instruction gives; exact: the exact sum rounded once to
    nearest even; fused: a chain of fused multiply-adds in the order of k, each rounded to nearest even.
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    c: float
    instruction: float
    exact: float
    fused: float


def rounding_example(execution: Execution, tries: int = 4000) -> RoundingExample | None:
    """The simplest dot product found on which the instruction differs from the exact sum and from a chain of fused
    multiply-adds (from those of the two that it is not); None if there is none, as for integers.

    Candidates are signed powers of two, few of them not zero; the instruction itself computes each answer.
    """
    model, stored = execution.numerics.model, execution.shapes["A"][-1]
    if model == "integer":
        return None
    whole = execution.numerics.parameters.get("group", stored) == stored
    own = {"exact": "exact", "fma_chain": "fused"}.get(model) if whole else None
    generator = np.random.default_rng(0)
    for used in (1, 2, 3, 4, 6, 8):
        if used <= stored:
            a, b, c = _candidates(execution, generator, used, tries)
            found = _computed(execution, a, b, c)
            finite = np.isfinite(np.stack(list(found.values()))).all(axis=0)
            subject = "instruction" if own is None else own
            others = {"exact", "fused"} - {subject}
            differ = finite & np.all([found[subject] != found[other] for other in others], axis=0)
            if differ.any():
                spread = np.abs(np.log2(np.where(a == 0, 1, np.abs(a)))).sum(axis=1) + np.abs(
                    np.log2(np.where(c == 0, 1, np.abs(c)))
                )
                best = int(np.argmin(np.where(differ, spread, np.inf)))
                values = {name: float(array[best]) for name, array in found.items()}
                return RoundingExample(tuple(a[best].tolist()), tuple(b[best].tolist()), float(c[best]), **values)
    return None


def _candidates(
    execution: Execution, generator: np.random.Generator, used: int, tries: int
) -> tuple[Array, Array, Array]:
    """Dot products of which the first `used` products are not zero."""
    form, stored = execution.formats["A"], execution.shapes["A"][-1]
    a, b = np.zeros((tries, stored)), np.zeros((tries, stored))
    lowest, highest = 1 - form.bias - form.mantissa, int(np.log2(largest(form.name)))
    span = min(40, max(-lowest, highest))
    at = np.arange(used)
    sign = generator.choice([-1.0, 1.0], (tries, used))
    odd = generator.choice([1.0, 1.0, 1.5], (tries, used)) if form.mantissa else 1.0
    a[:, at] = sign * odd * 2.0 ** generator.integers(max(lowest, -span), min(highest, span), (tries, used))
    other = execution.formats["B"]
    low = max(1 - other.bias - other.mantissa, -span)
    b[:, at] = np.where(generator.random((tries, used)) < 0.5, 1.0, 2.0 ** generator.integers(low, 1, (tries, used)))
    c = generator.choice([0.0, 1.0, 1.0, -1.0], tries) * 2.0 ** generator.integers(-12, 13, tries)
    c = np.where(generator.random(tries) < 0.3, c * (1 + 2.0 ** -execution.formats["C"].mantissa), c)
    given = {"A": a, "B": b, "C": c}  # of a narrow format, 1.5 times its smallest power of two is none of its values
    a, b, c = (round_to_format(values, execution.formats[name]) for name, values in given.items())
    return a, b, c


def _computed(execution: Execution, a: Array, b: Array, c: Array) -> dict[str, Array]:
    """The three sums of each candidate, the instruction's by the instruction."""
    result = dot(execution.inst, a, b, c, **execution.fields).astype(np.float64)
    out = execution.formats["D"]
    x, y, z = (numbers(v, execution.formats[name]) for name, v in zip("ABC", (a.T, b.T, c)))
    with np.errstate(all="ignore"):
        fused = MODELS["fma_chain"](x, y, z, out)
        exact = _exact(a, b, c) if out.name == "f64" else MODELS["exact"](x, y, z, out)
    return {"instruction": result, "exact": exact, "fused": fused}


def _exact(a: Array, b: Array, c: Array) -> Array:
    """The exact sums of float64 products, rounded once."""
    sums = []
    for row, column, start in zip(a.tolist(), b.tolist(), c.tolist()):
        total = Fraction(start) + sum(Fraction(x) * Fraction(y) for x, y in zip(row, column) if x and y)
        sums.append(float(total))
    return np.array(sums)
