"""A suspected mistake: what to call it, what to do about it, and D as it would be, in float64 and to the bit.

`near` and `coarse` say whether numbers agree up to rounding.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import largest, round_to_format
from ..formats import FORMATS
from ..records import TupleRecord
from .problem import Problem, Source, part_of, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from ..emulator.execution import Execution

    Array = NDArray[Any]
    Part = Array | slice

__all__ = ["Candidate", "Moved", "Rerun", "Stored", "changed", "coarse", "moved", "near"]

WHOLE = slice(None)


class Candidate(TupleRecord):
    """One suspected mistake. outcome: a `Rerun`, `Moved` or `Stored`, which computes D under it; reproduced: whether it
    gives the wrong values, which otherwise are taken from the D to compare; bits: of fitted numbers.

    An outcome gives D in float64 (`estimate`, of some rows and columns), the magnitudes that its rounding depends on,
    and D's codes (`result`).
    """

    name: str
    advice: str
    outcome: Rerun | Moved | Stored
    reproduced: bool = True
    bits: float = 0.0


class Rerun:
    """The instruction computes with other inputs, or is another one.

    sources, codes: by operand, where its elements come from, or its codes; chains: the order along K.
    """

    __slots__ = ("chains", "codes", "execution", "problem", "sources")
    problem: Problem
    sources: dict[str, Array | Source]
    codes: dict[str, Array]
    execution: Execution | None
    chains: Sequence[Sequence[int]] | None

    def __init__(
        self, problem: Problem, sources: Mapping[str, Array | Source] | None = None,
        codes: Mapping[str, Array] | None = None, execution: Execution | None = None,
        chains: Sequence[Sequence[int]] | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.sources, self.codes = problem, dict(sources or {}), dict(codes or {})
        self.execution, self.chains = execution, chains

    @property
    def effect(self) -> Any:
        """What tells it from others: two mistakes with the same effect are the same, however they are called."""
        shapes = self.problem.shapes
        parts = [
            (name, np.broadcast_to(whole(source), shapes[name]).tobytes())
            for name, source in sorted(self.sources.items(), key=lambda pair: pair[0])
        ]
        parts += [("codes of " + name, np.broadcast_to(codes, self.problem.codes[name].shape).tobytes())
                  for name, codes in sorted(self.codes.items())]  # fmt: skip
        return (id(self.problem), *parts, self.execution, str(self.chains))  # fmt: skip

    @property
    def operand(self) -> str | None:
        """The operand that is moved, if nothing else is changed."""
        alone = len(self.sources) == 1 and not self.codes and self.execution is None and self.chains is None
        return next(iter(self.sources)) if alone else None

    def _changes(self) -> dict[str, tuple[Array | Source | None, Array | None]]:
        changes: dict[str, tuple[Array | Source | None, Array | None]] = {x: (s, None) for x, s in self.sources.items()}
        for name, codes in self.codes.items():
            changes[name] = (None, self.problem.decoded(name, np.broadcast_to(codes, self.problem.codes[name].shape)))
        if self.chains is not None:  # how often each step is added
            times = np.bincount([step for chain in self.chains for step in chain], minlength=self.problem.tiles[2])
            a = self.problem.values["A"]
            step = self.problem.execution.shapes["A"][-1]
            if (times != 1).any():
                changes["A"] = (None, a * times[np.arange(a.shape[-1]) // step])
        return changes

    def estimate(self, rows: Part = WHOLE, columns: Part = WHOLE) -> Array:
        """D in float64, some of its rows and columns."""
        if self.execution is not None or not self.problem.linear:
            return self.problem.decoded_d(self.result())[..., rows, :][..., columns]
        return self.problem.approximate(self._changes(), rows, columns)

    def magnitude(self) -> Array:
        """What the rounding of D depends on."""
        if self.execution is not None or not self.problem.linear:
            return self.problem.magnitude
        return self.problem.approximate(self._changes(), absolute=True)

    def result(self) -> Array:
        """D's codes, by the emulator."""
        replaced = {name: self.problem.replaced(name, source) for name, source in self.sources.items()}
        return self.problem.run(self.execution, self.chains, **{**replaced, **self.codes})


class Moved:
    """The right result, its elements stored elsewhere or not at all."""

    __slots__ = ("problem", "sources")
    problem: Problem
    sources: dict[str, Array | Source]
    operand = "D"

    def __init__(self, problem: Problem, source: Array | Source) -> None:
        self.problem, self.sources = problem, {"D": source}

    @property
    def effect(self) -> Any:
        """What tells it from others."""
        return "D", id(self.problem), whole(self.sources["D"]).tobytes()

    def estimate(self, rows: Part = WHOLE, columns: Part = WHOLE) -> Array:
        return self._taken(self.problem.right, rows, columns)

    def magnitude(self) -> Array:
        return self._taken(self.problem.magnitude, WHOLE, WHOLE)

    def _taken(self, array: Array, rows: Part, columns: Part) -> Array:
        at = part_of(self.sources["D"], rows, columns)
        return np.where(at < 0, 0.0, array.reshape(len(array), -1)[:, np.maximum(at, 0)])

    def result(self) -> Array:
        return self.problem.replaced("D", self.sources["D"])


class Stored:
    """The right result, changed by what follows the product: scaled, rounded, an activation.

    codes: D; spread: how much of the rounding error of the right D comes through (1: all of it), and besides it
    `apart`, how far the values themselves may lie from what a kernel computes.
    """

    __slots__ = ("apart", "codes", "problem", "spread")
    problem: Problem
    codes: Array
    spread: float
    apart: Array
    operand = None
    sources: dict[str, Array | Source] = {}

    def __init__(self, problem: Problem, codes: Array, spread: float = 1.0, apart: Array | float = 0.0) -> None:
        self.problem, self.codes, self.spread = problem, codes, spread
        self.apart = np.broadcast_to(apart, codes.shape)

    @property
    def effect(self) -> Any:
        """What tells it from others."""
        return "stored", self.codes.tobytes()

    def estimate(self, rows: Part = WHOLE, columns: Part = WHOLE) -> Array:
        return self.problem.decoded_d(self.codes)[..., rows, :][..., columns]

    def magnitude(self) -> Array:
        return self.problem.magnitude * self.spread + self.apart / (self.problem.slack or 1.0)

    def result(self) -> Array:
        return self.codes


def moved(problem: Problem, name: str, source: Array | Source) -> Rerun | Moved:
    """What D becomes when the elements of one operand are moved."""
    return Moved(problem, source) if name == "D" else Rerun(problem, {name: source})


def changed(problem: Problem, **codes: Array) -> Rerun:
    """What D becomes with other codes of some operands."""
    return Rerun(problem, codes=codes)


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
