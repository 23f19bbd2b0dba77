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

MODELS has every model by its name. The modules: `mmacalc.arithmetic.aligned` (NVIDIA), `mmacalc.arithmetic.floored`
(CDNA3, RDNA3, RDNA4) and `mmacalc.arithmetic.stepwise` (every operation rounded by itself, exact sums, integers).
`mmacalc.arithmetic.tables` says which instruction follows which model.
"""

from __future__ import annotations

import numpy as np  # noqa: F401  (the doctest above)

from ..formats import FORMATS  # noqa: F401
from .aligned import aligned_truncated, block_scaled_fp4, fp8_two_halves
from .exact import Numbers, numbers
from .floored import dot2_ones_complement, dot4_floored, two_stage_floored, two_stage_floored_even_odd
from .numerics import ALIASES
from .stepwise import exact, fma_chain, integer, pairwise_f32, rounded_to_odd, two_chains

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["MODELS", "Numbers", "numbers"]

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
