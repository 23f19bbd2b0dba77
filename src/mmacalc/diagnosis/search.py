"""The search for the cheapest mistake that gives the D that was given.

What a mistake costs is the number of bits that it takes to say: its kind (`mistakes.LIBRARY`, `_rows`), which one of
its kind, and each number that is fitted to D. Mistakes are made when they are needed, the cheapest first. One that
agrees up to rounding only, or in some tiles only, costs as much as saying the rest would. The search ends where
nothing that is left can be as cheap as what was found.
"""

from __future__ import annotations

from functools import partial
from heapq import heappop, heappush
from itertools import chain, islice, takewhile
from math import inf, log2

import numpy as np

from ..records import TupleRecord
from .afterwards import fitted, rounded_on_the_way
from .candidates import Candidate, coarse, near
from .mistakes import LAST, LIBRARY, NEARLY_RIGHT, chained_otherwise
from .pairs import two_mistakes
from .partial import not_stored, partly
from .problem import Problem, tile_of
from .recovery import recovered
from .sums import other_arithmetic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Row = tuple[float, Callable[[], Iterable[Candidate]]]
    Costed = tuple[float, Candidate]
    Found = list[tuple["Explanation", set[int]]]

__all__ = ["Explanation", "arithmetic_of", "by_cost", "mistakes_of"]

KINDS_OF_TILES = 4
"""How many different mistakes in different tiles of a GEMM are looked for."""
ALTERNATIVES = 8
"""How many mistakes that give the same D are listed."""
CHUNKS = (32, 256)
"""Suspected mistakes that are estimated together: at first, where the answer is likely, and at most."""

MARGIN = 6.0
"""Bits: a mistake that is 64 times less likely than another one which gives the same D is not looked for."""
ROUNDING = 16.0
"""Bits that a mistake costs which agrees up to rounding only, or says where values are wrong and not which they
should be: more than it takes to tell all single mistakes from each other, so one that agrees to the bit is cheaper."""
OTHER_TILES = 20.0
"""Bits that it costs to leave wrong tiles of a GEMM to another mistake: that of a second single mistake."""
FITTED, LOCATED, ELSEWHERE, PAIRED = 22.0, 28.0, 40.0, 48.0
"""Bits of what is tried after the single mistakes that are known: numbers read from D itself; the place of the wrong
values; the layouts of every other instruction; two mistakes (each about the cost of a single one, and that there are
two)."""
SOME = 0.3
"""A mistake that is right in this share of the few wrong elements is tried on all: it may be that of one tile."""
GENEROUS = 64
"""How many times the rounding error the few elements may lie apart: other inputs and scales have other magnitudes."""
NEAR, KEPT = 0.25, 0.5
"""Of the nearest mistake: the share of the wrong elements that it gives at least, and of the right ones it leaves."""


class Explanation(TupleRecord):
    """A mistake that gives what was given.

    name: what was done; advice: what to do about it; exact: whether every bit agrees, not only the values up to
    rounding; share: how many of the elements that are wrong it accounts for, 0 to 1; tiles: of a GEMM the (row, column)
    of each tile that it concerns; empty if it concerns all; reproduced: whether the mistake gives the wrong values, and
    not only says where they are; cost: how many bits it takes to say, a measure of how unlikely it is.
    """

    name: str
    advice: str
    exact: bool
    share: float
    tiles: tuple[tuple[int, int], ...]
    reproduced: bool = True
    cost: float = 0.0


class _Trial:
    """What suspected mistakes are tried on: the given D, and which of its elements and tiles are wrong; limit: what
    one may cost that is still worth trying."""

    def __init__(self, problem: Problem, given: Array, wrong: Array) -> None:
        self.problem, self.codes, self.wrong = problem, given, wrong
        self.given = problem.decoded_d(given)
        self.tile = tile_of(problem, wrong.shape[1:])
        self.count = int(self.tile.max(initial=0)) + 1
        self.limit = inf
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
        self.generous = GENEROUS * self.problem.slack * most

    def promising(self, candidates: Iterable[Costed]) -> Iterator[Costed]:
        """The mistakes that may account for a few elements, up to the limit; moves are tried many at a time."""
        stream, (size, most) = takewhile(lambda costed: costed[0] <= self.limit, candidates), CHUNKS
        while costed := list(islice(stream, size)):
            size, chunk = min(2 * size, most), [candidate for _, candidate in costed]
            alike: dict[tuple[int, str], list[int]] = {}
            for number, candidate in enumerate(chunk):
                name, problem = candidate.outcome.operand, candidate.outcome.problem
                if name and problem.movable(name):
                    alike.setdefault((id(problem), name), []).append(number)
            good: dict[int, bool] = {}
            for (_, name), numbers in alike.items():
                sources = [chunk[number].outcome.sources[name] for number in numbers]
                problem = chunk[numbers[0]].outcome.problem
                found = problem.estimates(name, sources, self.rows, self.columns)
                good.update(zip(numbers, self._possible(found).tolist()))
            for number, candidate in enumerate(chunk):
                if number not in good:
                    estimate = candidate.outcome.estimate(self.rows, self.columns)
                    good[number] = bool(self._possible(estimate[None])[0])
                if good[number]:
                    yield costed[number]

    def _possible(self, found: Array) -> Array:
        """Which estimates (estimate, batch, ...) may be the given D, by a generous measure."""
        if not self.problem.execution.formats["D"].is_float:
            found = self.probe + (found - self.probe + 2.0**31) % 2.0**32 - 2.0**31
        apart = np.abs(self.probe - found) > self.generous + self.coarse * np.abs(found)
        near_all = ~(apart & self.probe_finite).reshape(len(found), -1).any(axis=1)
        near_some = np.mean(~apart[:, self.probe_wrong], axis=1) > SOME
        either: Array = np.logical_or(near_all, near_some)
        return either

    def agreeing(self, candidate: Candidate) -> Array:
        """Which elements of D agree."""
        outcome = candidate.outcome
        return near(self.problem, self.given, outcome.estimate(), outcome.magnitude(), self.coarse)

    def explained(self, agree: Array) -> set[int]:
        """The wrong tiles in which all elements agree."""
        return self.wrong_tiles - self._tiles_of(~agree)

    def explanation(self, bits: float, candidate: Candidate, agree: Array, tiles: set[int]) -> Explanation:
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
            name += f"; and D was rounded to {self.narrow}"
        share = float((agree & inside)[self.wrong].mean())
        cost = bits + candidate.bits + OTHER_TILES * (not tiles >= self.open)
        cost += ROUNDING * (not (exact and candidate.reproduced))
        return Explanation(name, candidate.advice, exact, share, places, candidate.reproduced, cost)

    def nearer(
        self, bits: float, candidate: Candidate, agree: Array, nearest: Explanation | None
    ) -> Explanation | None:
        """The mistake that accounts for most of what is wrong and leaves most of the rest right."""
        covered = float(agree[self.wrong].mean())
        kept = agree[~self.wrong]
        if covered < NEAR or (nearest and covered <= nearest.share) or (kept.size and kept.mean() < KEPT):
            return nearest
        return Explanation(candidate.name, candidate.advice, False, covered, (), cost=bits + candidate.bits)


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


def _round(trial: _Trial, exact_only: bool) -> tuple[Found, Explanation | None]:
    """The mistakes that account for one wrong tile and as many others as possible, the cheapest first; the nearest."""
    found: Found = []
    nearest: Explanation | None = None
    effects: set[object] = set()
    trial.limit = inf
    rows = [(0.0, partial(of, trial.problem)) for of in NEARLY_RIGHT] if exact_only else _rows(trial)
    for bits, candidate in trial.promising(by_cost(rows)):
        if bits + candidate.bits > trial.limit:
            continue
        agree = trial.agreeing(candidate)
        tiles = trial.explained(agree) & trial.open
        if not tiles:
            nearest = trial.nearer(bits, candidate, agree, nearest)
        elif (effect := candidate.outcome.effect) not in effects:
            effects.add(effect)
            explanation = trial.explanation(bits, candidate, agree, tiles)
            if explanation.exact or not exact_only:
                found.append((explanation, tiles))
                trial.limit = min(trial.limit, explanation.cost + MARGIN)
    found.sort(key=lambda one: one[0].cost)
    words: dict[str, tuple[Explanation, set[int]]] = {}
    for explanation, tiles in found:
        if explanation.cost <= trial.limit:
            words.setdefault(explanation.name, (explanation, tiles))
    return list(words.values()), nearest


def by_cost(rows: Iterable[Row]) -> Iterator[Costed]:
    """Suspected mistakes, each made when it is asked for, the cheapest first, with what it costs at least.

    Args:
        rows: what a kind of mistake costs in bits, and a function that makes those of the kind, the likelier first: the
            n-th costs log2(n) bits more, which is what it takes to say which one it is.

    >>> rows = [(0.0, lambda: "ab"), (0.5, lambda: "xyz")]
    >>> [(round(bits, 2), each) for bits, each in by_cost(rows)]
    [(0.0, 'a'), (0.5, 'x'), (1.0, 'b'), (1.5, 'y'), (2.08, 'z')]
    """
    kinds = list(rows)
    streams: dict[int, Iterator[Candidate]] = {}
    places = [0] * len(kinds)
    heap = sorted((bits, number) for number, (bits, _) in enumerate(kinds))
    while heap:
        cost, number = heappop(heap)
        base, make = kinds[number]
        if number not in streams:
            streams[number] = iter(make())
        for candidate in streams[number]:
            yield cost, candidate
            places[number] += 1
            heappush(heap, (base + log2(places[number] + 1), number))
            break


def _rows(trial: _Trial) -> list[Row]:
    """Everything that is tried, with the bits of its kind."""
    problem, given = trial.problem, trial.given
    rest = trial.wrong & np.isin(trial.tile, sorted(trial.open))
    if trial.coarse and near(problem, given, problem.right, problem.magnitude, trial.coarse).all():
        # To a narrower format all the others look alike.
        return [(0.0, partial(rounded_on_the_way, problem, given))]
    rows: list[Row] = [(0.0, partial(not_stored, problem, given, rest))]
    rows += [(bits, partial(of, problem)) for bits, of in LIBRARY]
    rows += [(FITTED, partial(of, problem, given)) for of in (fitted, recovered)]
    rows += [(LOCATED, partial(partly, problem, given, rest))]
    rows += [(ELSEWHERE, partial(of, problem)) for of in LAST]
    rows += [(PAIRED, partial(two_mistakes, problem, given, trial.rows, trial.columns))]
    return rows


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
