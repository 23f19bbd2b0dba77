"""A dot product on which two instructions round differently, found by trying with the emulator."""

from __future__ import annotations

from math import lcm

import numpy as np

from ...base.errors import Error
from ...base.records import TupleRecord
from ...emulator.gemm import gemm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ...formats import Format
    from ...model import Instruction

    Array = NDArray[Any]

__all__ = ["RoundingDifference", "rounding_difference"]

TRIES = 512
LONGEST = 256  # products of a dot product


class RoundingDifference(TupleRecord):
    """One dot product, and what each of two instructions gives for it, chained where K is less.

    a, b: the factors; c: the accumulator; source, target: the two results.
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    c: float
    source: float
    target: float


def rounding_difference(
    source: Instruction,
    target: Instruction,
    source_fields: Mapping[str, Any] = {},
    target_fields: Mapping[str, Any] = {},
) -> RoundingDifference | None:
    """The simplest dot product found on which two instructions differ; None if none was.

    Args:
        source, target: the instructions. source_fields, target_fields: that choose their formats.

    Raises:
        Error: the products are sparse or scaled, too long, or cannot be chained.

    The factors are powers of two, or 1.5 times one, that both sides' formats have; few of them are not zero.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    >>> found = rounding_difference(mma, mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_bf16"))
    >>> found.source != found.target
    True
    """
    sides = (source, source_fields), (target, target_fields)
    if any(not inst.format(name, fields).is_float for inst, fields in sides for name in "ABD"):
        return None  # sums of integers are exact
    k = lcm(source.k, target.k)
    if k > LONGEST or source.scaled or source.sparse:
        what = "scaled" if source.scaled else "sparse" if source.sparse else f"{k} products long"
        raise Error(f"inputs are tried for dense dot products of up to {LONGEST}; this one is {what}")
    generator = np.random.default_rng(0)
    for used in [count for count in (1, 2, 3, 4, 6, 8) if count <= k]:
        a, c = _candidates(generator, used, k, [[inst.format(name, fields) for name in "AC"] for inst, fields in sides])
        b = np.ones((k, 1))
        found = [np.asarray(gemm(a, b, c, None, inst, **fields), np.float64)[:, 0] for inst, fields in sides]
        differ = np.isfinite(found[0]) & np.isfinite(found[1]) & (found[0] != found[1])
        if differ.any():
            size = np.abs(np.log2(np.where(a == 0, 1, np.abs(a)))).sum(axis=1)
            size += np.abs(np.log2(np.where(c == 0, 1, np.abs(c))))[:, 0]
            best = int(np.argmin(np.where(differ, size, np.inf)))
            values = [float(one[best]) for one in found]
            return RoundingDifference(tuple(a[best].tolist()), (1.0,) * k, float(c[best, 0]), values[0], values[1])
    return None


def _candidates(generator: np.random.Generator, used: int, k: int, sides: list[list[Format]]) -> tuple[Array, Array]:
    """Rows of A of which the first `used` are not zero, and C; sides: the formats of A and C of both."""
    forms = [a for a, _ in sides]
    low, high = max([_least(form) for form in forms]), min([_most(form) for form in forms])
    a = np.zeros((TRIES, k))
    odd = generator.choice([1.0, 1.5], (TRIES, used)) if min([form.mantissa for form in forms]) else 1.0
    sign = generator.choice([-1.0, 1.0], (TRIES, used))
    a[:, :used] = sign * odd * 2.0 ** generator.integers(low, high + 1, (TRIES, used))
    fraction = min([c.mantissa for _, c in sides])
    c = generator.choice([0.0, 1.0, -1.0], (TRIES, 1)) * 2.0 ** generator.integers(-8, 9, (TRIES, 1))
    c = np.where(generator.random((TRIES, 1)) < 0.5, c, c * (1 + 2.0**-fraction))
    return a, c


def _least(form: Format) -> int:
    return max(-24, 1 - form.bias)


def _most(form: Format) -> int:
    return min(24, (1 << form.exponent) - 2 - form.bias)
