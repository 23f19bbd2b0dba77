"""Part of D right, and the wrong rest exactly some rows, columns, lanes, registers or tiles: not stored, not
initialised, overwritten."""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import encode
from .candidates import Candidate, Stored
from .units import whole_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["not_stored", "partly"]


def not_stored(problem: Problem, given: Array, wrong: Array) -> Iterator[Candidate]:
    """Rows, columns, lanes, registers or tiles of D that are zero."""
    if (given[wrong] != 0).any():
        return
    where = "every element" if wrong.any() and not given.any() else _where(problem, wrong) or _triangle(wrong)
    if where is None:
        return
    codes = np.where(wrong, problem.expected.dtype.type(0), problem.expected)
    text = f"D is zero in {where}: not computed, or not stored"
    yield Candidate(text, "check the bounds of the store, and EXEC", Stored(problem, codes))


def partly(problem: Problem, given: Array, wrong: Array) -> Iterator[Candidate]:
    """Rows, columns, lanes, registers or tiles of D that hold something else, while the rest is right."""
    values, reproduced = given[wrong], True
    everywhere = wrong.all() and np.isnan(given).all() and np.isfinite(problem.right).any()
    where = "every element" if everywhere else _where(problem, wrong)
    if where is None:
        return
    if np.isnan(values).all():
        text = f"D is NaN in {where}: the accumulator was not initialised there, or an input is NaN"
        advice = "initialise the accumulator before the first instruction"
    elif len(np.unique(values)) == 1 and values.size > 2:
        text, advice = f"D is {values[0]:.9g} throughout {where}: not stored", "check the bounds of the store, and EXEC"
    else:
        text, reproduced = f"D holds other values in {where}; all the rest is right", False
        advice = (
            "an accumulator that was not initialised there, registers that were overwritten before the store, or "
            "a result that was read too early"
        )
    form = problem.execution.formats["D"]
    values = given if form.is_float else given.astype(np.int64)
    codes = np.where(wrong, encode(values, form, problem.inst.architecture.vendor), problem.expected)
    yield Candidate(text, advice, Stored(problem, codes), reproduced)


def _triangle(wrong: Array) -> str | None:
    """One side of the diagonal, or both, of which at least four rows are more than zero by chance."""
    i, j = np.indices(wrong.shape[-2:])
    sides = {"above the diagonal (a mask?)": j > i, "below the diagonal (a mask?)": j < i, "off the diagonal": j != i}
    for text, side in sides.items():
        if len(wrong.shape) >= 2 and side.sum() >= 6 and (wrong == side).all():
            return f"the elements {text}"
    return None


def _where(problem: Problem, wrong: Array) -> str | None:
    """The units that the wrong elements are, if most of D is right."""
    mask: Array = np.asarray(wrong.any(axis=0))
    if mask.mean() > 0.75 or not (wrong == mask).all():
        return None
    return whole_units(problem, "D", mask)
