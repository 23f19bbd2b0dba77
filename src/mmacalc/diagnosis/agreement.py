"""Whether numbers agree up to rounding, and whether D has only values of a narrower format."""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import largest, round_to_format
from ..formats import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["coarse", "near"]


def near(problem: Problem, given: Array, values: Array, magnitude: Array, coarse: float = 0.0) -> NDArray[np.bool_]:
    """Which values agree up to rounding.

    Args:
        coarse: how far a rounding of D to a narrower format may have moved them besides, relative to the values.
    """
    form = problem.execution.formats["D"]
    if not form.is_float:
        if problem.execution.saturate:
            values = np.clip(values, -(2.0**31), 2.0**31 - 1)
        difference = (given - values) % 2.0**32
        found: NDArray[np.bool_] = difference == 0
        return found
    with np.errstate(invalid="ignore"):
        close = np.abs(given - values) <= problem.slack * magnitude + coarse * np.abs(values)
        beyond = (
            np.isinf(given) & (np.abs(values) > largest(form.name) * (1 - 2.0**-form.mantissa)) & (given * values > 0)
        )
    same: NDArray[np.bool_] = close | beyond | (given == values) | (np.isnan(given) & np.isnan(values))
    return same


def coarse(problem: Problem, given: Array) -> tuple[float, str]:
    """If D has only values of a narrower format: its relative precision, and its name."""
    form = problem.execution.formats["D"]
    finite = given[np.isfinite(given) & (given != 0)]
    if not form.is_float or form.name not in ("f32", "f64") or finite.size < 8:
        return 0.0, ""
    expected = problem.right
    for name in ("bf16", "f16"):
        narrow = FORMATS[name]
        if (round_to_format(finite, narrow) == finite).all() and (round_to_format(expected, narrow) != expected).any():
            return 2.0 ** -(narrow.mantissa + 1) * 1.01, name
    return 0.0, ""
