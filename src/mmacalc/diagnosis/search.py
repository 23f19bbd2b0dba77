"""Trying suspected mistakes on a given D: which of them account for all that is wrong."""

from __future__ import annotations

from itertools import chain, islice

import numpy as np

from ..records import TupleRecord
from .afterwards import fitted, rounded_on_the_way
from .agreement import coarse, near
from .candidates import Candidate
from .mistakes import LAST, MISTAKES, NEARLY_RIGHT, chained_otherwise
from .pairs import two_mistakes
from .partial import not_stored, partly
from .problem import Problem, tile_of
from .recovery import recovered
from .sums import other_arithmetic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["Explanation", "arithmetic_of", "mistakes_of"]

KINDS_OF_TILES = 4
"""How many different mistakes in different tiles of a GEMM are looked for."""
ALTERNATIVES = 8
CHUNK = 256
"""Suspected mistakes that are estimated together."""


class Explanation(TupleRecord):
    """A mistake that gives what was given.

    name: what was done; advice: what to do about it; exact: whether every bit agrees, not only the values up to
    rounding; share: how many of the elements that are wrong it accounts for, 0 to 1; tiles: of a GEMM the (row, column)
    of each tile that it concerns; empty if it concerns all; reproduced: whether the mistake gives the wrong values, and
    not only says where they are.
    """

    name: str
    advice: str
    exact: bool
    share: float
    tiles: tuple[tuple[int, int], ...]
    reproduced: bool = True


class _Trial:
    """What suspected mistakes are tried on: the given D, and which of its elements and tiles are wrong."""

    def __init__(self, problem: Problem, given: Array, wrong: Array) -> None:
        self.problem, self.codes, self.wrong = problem, given, wrong
        self.given = problem.decoded_d(given)
        self.tile = tile_of(problem, wrong.shape[1:])
        self.count = int(self.tile.max(initial=0)) + 1
        self.coarse, self.narrow = coarse(problem, self.given)
        self.open = self._tiles_of(wrong)
        self.wrong_tiles = set(self.open)
        self.aim()

    def _tiles_of(self, mask: Array) -> set[int]:
        return set(np.unique(self.tile[mask.any(axis=0)]).tolist())

    def aim(self) -> None:
        """Choose a few rows and columns of one tile that is not explained yet, on which to try a mistake first."""
        first = min(self.open)
        here = self.wrong & (self.tile == first)
        index = np.argwhere(here)
        picked = index[np.unique(np.linspace(0, len(index) - 1, 3).astype(int))]
        self.rows, self.columns = np.unique(picked[:, -2]), np.unique(picked[:, -1])
        part = (..., self.rows[:, None], self.columns)
        self.probe, self.probe_wrong = self.given[part], self.wrong[part]
        self.probe_finite = np.isfinite(self.probe)
        # Scaled, and with other inputs, the magnitudes may be larger; integers may have wrapped.
        most = float(np.nanmax(self.problem.magnitude, initial=0.0, where=np.isfinite(self.problem.magnitude)))
        self.generous = 64 * self.problem.slack * most

    def promising(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """The mistakes that may account for a few elements, in their order; moves are tried many at a time."""
        stream = iter(candidates)
        while chunk := list(islice(stream, CHUNK)):
            by_operand: dict[str, list[int]] = {}
            for number, candidate in enumerate(chunk):
                name = candidate.outcome.operand
                if name and candidate.outcome.problem is self.problem and self.problem.movable(name):
                    by_operand.setdefault(name, []).append(number)
            good: dict[int, bool] = {}
            for name, numbers in by_operand.items():
                sources = [chunk[number].outcome.sources[name] for number in numbers]
                found = self.problem.estimates(name, sources, self.rows, self.columns)
                good.update(zip(numbers, self._possible(found).tolist()))
            for number, candidate in enumerate(chunk):
                if number in good:
                    if good[number]:
                        yield candidate
                elif self._possible(candidate.outcome.estimate(self.rows, self.columns)[None])[0]:
                    yield candidate

    def _possible(self, found: Array) -> Array:
        """Which estimates (estimate, batch, ...) may be the given D, by a generous measure."""
        if not self.problem.execution.formats["D"].is_float:
            found = self.probe + (found - self.probe + 2.0**31) % 2.0**32 - 2.0**31
        apart = np.abs(self.probe - found) > self.generous + self.coarse * np.abs(found)
        near_all = ~(apart & self.probe_finite).reshape(len(found), -1).any(axis=1)
        near_some = np.mean(~apart[:, self.probe_wrong], axis=1) > 0.3
        either: Array = np.logical_or(near_all, near_some)
        return either

    def agreeing(self, candidate: Candidate) -> Array:
        """Which elements of D agree."""
        outcome = candidate.outcome
        return near(self.problem, self.given, outcome.estimate(), outcome.magnitude(), self.coarse)

    def explained(self, agree: Array) -> set[int]:
        """The wrong tiles in which all elements agree."""
        return self.wrong_tiles - self._tiles_of(~agree)

    def explanation(self, candidate: Candidate, agree: Array, tiles: set[int]) -> Explanation:
        """A mistake that accounts for the tiles."""
        everywhere = bool(agree.all())
        inside = np.isin(self.tile, sorted(tiles)) if tiles else np.ones(self.tile.shape, bool)
        result = candidate.outcome.result()
        same = (result == self.codes) | (np.isnan(self.problem.decoded_d(result)) & np.isnan(self.given))
        exact = bool(same[..., inside].all())
        across = self.problem.tiles[1]
        places = () if everywhere else tuple((tile // across, tile % across) for tile in sorted(tiles))
        name = candidate.name
        if self.narrow and not exact and "rounded to" not in name:
            name += f"; besides, D was rounded to {self.narrow}"
        share = float((agree & inside)[self.wrong].mean())
        return Explanation(name, candidate.advice, exact, share, places, candidate.reproduced)

    def nearer(self, candidate: Candidate, agree: Array, nearest: Explanation | None) -> Explanation | None:
        """The mistake that accounts for most of what is wrong and leaves most of the rest right."""
        covered = float(agree[self.wrong].mean())
        kept = agree[~self.wrong]
        if covered < 0.25 or (nearest and covered <= nearest.share) or (kept.size and kept.mean() < 0.5):
            return nearest
        return Explanation(candidate.name, candidate.advice, False, covered, ())


def mistakes_of(
    problem: Problem, given: Array, wrong: Array, exact_only: bool = False
) -> tuple[tuple[Explanation, ...], Explanation | None]:
    """The mistakes that account for all that is wrong, the likeliest first; else the nearest.

    Args:
        exact_only: whether to take only those that agree to the bit (for a D that is right up to rounding).
    """
    with np.errstate(all="ignore"):
        return _searched(_Trial(problem, given, wrong), exact_only)


def _searched(trial: _Trial, exact_only: bool) -> tuple[tuple[Explanation, ...], Explanation | None]:
    every: list[Explanation] = []
    nearest: Explanation | None = None
    for _ in range(KINDS_OF_TILES):
        found, best = _round(trial, exact_only)
        nearest = nearest or best
        if not found:
            return (), nearest
        covered = found[0][1]
        every += [explanation for explanation, tiles in found if tiles == covered or not every][:ALTERNATIVES]
        trial.open -= covered
        if not trial.open:
            return tuple(every), None
        trial.aim()
    return (), nearest


def _round(trial: _Trial, exact_only: bool) -> tuple[list[tuple[Explanation, set[int]]], Explanation | None]:
    """The mistakes that account for one wrong tile and as many others as possible, and the nearest one."""
    found: list[tuple[Explanation, set[int]]] = []
    nearest: Explanation | None = None
    mentioned: set[str] = set()  # names and remedies: one of several with the same is enough
    lost = chain.from_iterable(mistake(trial.problem) for mistake in NEARLY_RIGHT)
    for stage in (lost,) if exact_only else _stages(trial):
        for candidate in trial.promising(stage):
            agree = trial.agreeing(candidate)
            tiles = trial.explained(agree) & trial.open
            if tiles and mentioned.isdisjoint((candidate.name, candidate.advice)):
                explanation = trial.explanation(candidate, agree, tiles)
                if explanation.exact or not exact_only:
                    found.append((explanation, tiles))
                    if explanation.exact and not explanation.tiles:
                        mentioned.update((candidate.name, candidate.advice))
            else:
                nearest = trial.nearer(candidate, agree, nearest)
        if found:
            break
    return _ranked(found), nearest


def _stages(trial: _Trial) -> tuple[Iterable[Candidate], ...]:
    """Suspected mistakes; those of a stage are tried if the stages before it have explained nothing."""
    problem, given = trial.problem, trial.given
    rest = trial.wrong & np.isin(trial.tile, sorted(trial.open))
    if trial.coarse and near(problem, given, problem.right, problem.magnitude, trial.coarse).all():
        return (rounded_on_the_way(problem, given),)  # to a narrower format all the others look alike
    return (
        chain(not_stored(problem, given, rest), chain.from_iterable(mistake(problem) for mistake in MISTAKES)),
        chain(fitted(problem, given), recovered(problem, given)),
        partly(problem, given, rest),
        chain.from_iterable(mistake(problem) for mistake in LAST),
        two_mistakes(problem, given, trial.rows, trial.columns),
    )


def _ranked(found: list[tuple[Explanation, set[int]]]) -> list[tuple[Explanation, set[int]]]:
    """Those that cover most tiles; of these the exact ones, if there are any, in the order in which they were tried."""
    most = max((len(tiles) for _, tiles in found), default=0)
    widest = [(e, tiles) for e, tiles in found if len(tiles) == most]
    return [(e, tiles) for e, tiles in widest if e.exact] or widest


def arithmetic_of(problem: Problem, given: Array) -> tuple[Explanation, ...]:
    """Ways of adding and rounding that give the bits of a right D; each is tried on the first tile first."""
    found, seen = [], set()
    values, corner = problem.decoded_d(given), problem.corner()
    rows, columns = corner.shapes["D"][-2:]
    first, numbers = given[..., :rows, :columns], values[..., :rows, :columns]
    pairs = ((other_arithmetic(one), chained_otherwise(one)) for one in (corner, problem))
    with np.errstate(all="ignore"):
        for small, whole in zip(*(chain(*pair) for pair in pairs)):
            if small.name in seen or not _equal(corner, small.outcome.result(), first, numbers):
                continue
            if corner is problem or _equal(problem, whole.outcome.result(), given, values):
                seen.add(whole.name)
                found.append(Explanation(whole.name, whole.advice, True, 1.0, ()))
    return tuple(found)


def _equal(problem: Problem, result: Array, given: Array, values: Array) -> bool:
    """Equal to the bit, any NaN to any other."""
    return bool(((result == given) | (np.isnan(problem.decoded_d(result)) & np.isnan(values))).all())
