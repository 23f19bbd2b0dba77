"""The search for the cheapest sequence of at most two edits that gives the D to compare.

What an edit costs is the number of bits that it takes to say: its kind (`library.LIBRARY`, `_rows`), which one of its
kind, and each number that is fitted to D. Edits are made when they are needed, the cheapest first. One that agrees up
to rounding only, or in some tiles only, costs as much as saying the rest would. The search ends where nothing that is
left can be as cheap as what was found.

A pair costs what both cost, and that there are two. The first one changes the inputs, or turns D, and makes a problem
of its own, on which the second one is tried as if it were the only one. Of the many first ones a few elements of D
choose: they must be x D' + y C for some x and y, D' being what the first edit gives.
"""

from __future__ import annotations

from functools import partial
from heapq import heappop, heappush
from itertools import chain, islice, takewhile
from math import inf, log2

import numpy as np

from ..base.records import TupleRecord, json_keys
from .edits import Edit, Permutation, Sum, Suspect, coarse, near
from .library import (
    LAST,
    LIBRARY,
    NEARLY_RIGHT,
    biased_scales,
    chained_otherwise,
    memory,
    narrow_accumulator,
    other_arithmetic,
    other_conversion,
    permuted,
    registers,
    shortened_k,
    transposed,
    turned,
    wrong_accumulator,
    wrong_scales,
)  # fmt: skip
from .one_step import in_one_step
from .problem import Problem, tile_of
from .solve import fitted, not_stored, partly, recovered, rounded_on_the_way, stored_otherwise
from .words import description

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Row = tuple[float, Callable[[], Iterable[Suspect]]]
    Rows = Iterable[tuple[float, Iterable[Row]]]
    Costed = tuple[float, Suspect]
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
ONE_STEP, FITTED, LOCATED, ELSEWHERE, PAIRED = 18.0, 22.0, 28.0, 40.0, 46.0
"""Bits of what is tried after the single mistakes that are known: the same in one step along K; numbers read from D
itself (one of f32 has 24 bits, of which a simple one needs fewer); the place of the wrong values; the layouts of every
other instruction; that there are two mistakes, besides the bits of each."""
SOME = 0.3
"""A mistake that is right in this share of the few wrong elements is tried on all: it may be that of one tile. Of three
wrong elements in as many rows and columns, one tile has a third at least."""
SAMPLED = 8
"""Wrong tiles of a GEMM in which a mistake is tried before it is tried on all of D: one that accounts for half of the
wrong tiles passes all but once in 2**8."""
GENEROUS = 64
"""How many times the rounding error the few elements may lie apart: other inputs and scales have other magnitudes, by
2**6 where a scale of 2**6 is left out. Whether a mistake is right is asked of all elements, by their own magnitudes."""
NEAR, KEPT = 0.25, 0.5
"""Of the nearest mistake: the share of the wrong elements that it gives at least, and of the right ones it leaves."""

LARGEST = 1 << 27
"""Multiply-accumulates of the largest product for which two mistakes are looked for."""
SMALL = 1 << 14
"""Elements of D up to which all of the likeliest mistakes are tried as the first one; beyond, C left out."""
PROBABLE = 24
"""How many first edits that fit a few elements are tried on all."""
SCALES = 64
"""Of the mistakes with scales, those before their permutations: what a pair may begin with."""
LOST = 8
"""How many parts of k may be missing together with another mistake: halves, the first and last steps."""


@json_keys(
    "name",
    "advice",
    "exact",
    "share",
    "tiles: of a GEMM, the (row, column) of the tiles that it concerns",
    "reproduced: false where the wrong values are only located: they are not the result of a known mistake",
    "cost: bits: how unlikely the mistake is; the cheapest explanation is first",
    "rule: what is changed and how, such as D: i j -> j i; a pair has two rules",
)
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
    rule: str = ""


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
        hit = np.zeros(self.count, bool)
        hit[self.tile[mask.any(axis=0)]] = True
        return set(np.flatnonzero(hit).tolist())

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
        self.most = float(np.nanmax(self.problem.magnitude, initial=0.0, where=np.isfinite(self.problem.magnitude)))
        self.generous = GENEROUS * self.problem.slack * self.most
        open_tiles = sorted(self.open)
        at = np.unique(np.linspace(0, len(open_tiles) - 1, SAMPLED).astype(int))
        self.sampled = [self.problem.lines(open_tiles[place]) for place in at] if len(open_tiles) > SAMPLED else []
        self.alone = self.problem.tile_alone(first) if self.count > SAMPLED else self.problem
        self.within = (self.rows, self.columns)
        if self.alone is not self.problem:
            self.within = tuple(lines - part.start for lines, part in zip(self.within, self.problem.lines(first)))

    def worth_trying(self, suspect: Suspect) -> bool:
        """Whether a mistake may account for a tile, or for much of what is wrong.

        Where many tiles are wrong, it is tried in some of them before it is tried on all.
        """
        if not self.sampled or suspect.emulated:
            return True
        covered: list[float] = []
        for rows, columns in self.sampled:
            part = (..., rows, columns)
            agree = near(self.problem, self.given[part], suspect.estimate(rows, columns),
                         suspect.magnitude(rows, columns), self.coarse)  # fmt: skip
            if agree.all():
                return True
            covered.append(float(agree[self.wrong[part]].mean()))
        return float(np.mean(covered)) >= NEAR / 2

    def estimated(self, suspects: Sequence[Suspect]) -> list[Array]:
        """The few elements under each of the suspects; moves of the same operand are computed together."""
        found: dict[int, Array] = {}
        alike: dict[tuple[int, str], list[int]] = {}
        for number, suspect in enumerate(suspects):
            name, problem = suspect.operand, suspect.problem
            if name and problem.movable(name):
                alike.setdefault((id(problem), name), []).append(number)
            else:
                found[number] = self._estimate(suspect)
        for (_, name), numbers in alike.items():
            sources = [suspects[number].sources[name] for number in numbers]
            together = suspects[numbers[0]].problem.estimates(name, sources, self.rows, self.columns)
            found.update(zip(numbers, together))
        return [found[number] for number in range(len(suspects))]

    def _estimate(self, suspect: Suspect) -> Array:
        """The few elements under a suspect; where they must be emulated, their tile alone is."""
        if suspect.emulated and suspect.problem is self.problem and isinstance(suspect.edit.map, Sum):
            return Suspect(self.alone, suspect.edit).estimate(*self.within)
        return suspect.estimate(self.rows, self.columns)

    def promising(self, suspects: Iterable[Costed]) -> Iterator[Costed]:
        """The mistakes that may account for a few elements, up to the limit."""
        for chunk in _chunks(takewhile(lambda costed: costed[0] <= self.limit, suspects)):
            possible = self.possible(np.stack(self.estimated([suspect for _, suspect in chunk])))
            yield from (costed for costed, good in zip(chunk, possible) if good)

    def possible(self, found: Array) -> Array:
        """Which estimates (estimate, batch, ...) may be the given D, by a generous measure."""
        if not self.problem.execution.formats["D"].is_float:
            found = self.probe + (found - self.probe + 2.0**31) % 2.0**32 - 2.0**31
        apart = np.abs(self.probe - found) > self.generous + self.coarse * np.abs(found)
        near_all = ~(apart & self.probe_finite).reshape(len(found), -1).any(axis=1)
        near_some = np.mean(~apart[:, self.probe_wrong], axis=1) > SOME
        either: Array = np.logical_or(near_all, near_some)
        return either

    def agreeing(self, suspect: Suspect) -> Array:
        """Which elements of D agree."""
        return near(self.problem, self.given, suspect.estimate(), suspect.magnitude(), self.coarse)

    def explained(self, agree: Array) -> set[int]:
        """The wrong tiles in which all elements agree."""
        return self.wrong_tiles - self._tiles_of(~agree)

    def explanation(self, bits: float, suspect: Suspect, agree: Array, tiles: set[int]) -> Explanation:
        """A mistake that accounts for the tiles."""
        everywhere = bool(agree.all())
        inside = np.isin(self.tile, sorted(tiles)) if tiles else np.ones(self.tile.shape, bool)
        result = suspect.result()
        same = (result == self.codes) | (np.isnan(self.problem.decoded_d(result)) & np.isnan(self.given))
        exact = bool(same[..., inside].all())
        across = self.problem.tiles[1]
        places = () if everywhere else tuple((tile // across, tile % across) for tile in sorted(tiles))
        name, advice = description(self.problem, suspect.edits)
        if self.narrow and not exact and "rounded to" not in name:
            name += f"; and D was rounded to {self.narrow}"
        share = float((agree & inside)[self.wrong].mean())
        reproduced = suspect.edit.reproduced
        cost = (
            bits + suspect.edit.bits + OTHER_TILES * (not tiles >= self.open) + ROUNDING * (not (exact and reproduced))
        )
        return Explanation(name, advice, exact, share, places, reproduced, cost, suspect.rule)

    def nearer(self, bits: float, suspect: Suspect, agree: Array, nearest: Explanation | None) -> Explanation | None:
        """The mistake that accounts for most of what is wrong and leaves most of the rest right."""
        covered = float(agree[self.wrong].mean())
        kept = agree[~self.wrong]
        if covered < NEAR or (nearest and covered <= nearest.share) or (kept.size and kept.mean() < KEPT):
            return nearest
        name, advice = description(self.problem, suspect.edits)
        return Explanation(name, advice, False, covered, (), cost=bits + suspect.edit.bits, rule=suspect.rule)


def _chunks(costed: Iterable[Costed]) -> Iterator[list[Costed]]:
    """Suspects in small groups at first, and larger ones then."""
    stream, (size, most) = iter(costed), CHUNKS
    while chunk := list(islice(stream, size)):
        yield chunk
        size = min(2 * size, most)


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
    nearly = [(0.0, [(0.0, partial(_suspects, of, trial.problem)) for of in NEARLY_RIGHT])]
    for bits, suspect in trial.promising(by_cost(nearly if exact_only else _rows(trial))):
        if bits + suspect.edit.bits > trial.limit:
            continue
        if not trial.worth_trying(suspect):
            continue
        agree = trial.agreeing(suspect)
        tiles = trial.explained(agree) & trial.open
        if not tiles:
            nearest = trial.nearer(bits, suspect, agree, nearest)
        elif (effect := suspect.effect) not in effects:
            effects.add(effect)
            explanation = trial.explanation(bits, suspect, agree, tiles)
            if explanation.exact or not exact_only:
                found.append((explanation, tiles))
                trial.limit = min(trial.limit, explanation.cost + MARGIN)
    found.sort(key=lambda one: one[0].cost)
    words: dict[str, tuple[Explanation, set[int]]] = {}
    for explanation, tiles in found:
        if explanation.cost <= trial.limit:
            words.setdefault(explanation.name, (explanation, tiles))
    return list(words.values()), nearest


def by_cost(groups: Rows) -> Iterator[Costed]:
    """Suspected mistakes, each made when it is asked for, the cheapest first, with what it costs at least.

    Args:
        groups: rows by groups, with a lower bound of their bits, which does not fall; a group is not asked for before
            it is needed. A row is what a kind of mistake costs in bits, and a function that makes those of the kind,
            the likelier first: the n-th costs log2(n) bits more, which is what it takes to say which one it is.

    >>> rows = [(0.0, [(0.0, lambda: "ab"), (0.5, lambda: "xyz")]), (1.2, [(1.2, lambda: "c")])]
    >>> [(round(bits, 2), each) for bits, each in by_cost(rows)]
    [(0.0, 'a'), (0.5, 'x'), (1.0, 'b'), (1.2, 'c'), (1.5, 'y'), (2.08, 'z')]
    """
    later = iter(groups)
    bound, group = next(later, (inf, ()))
    heap: list[tuple[float, int]] = []
    kinds: list[tuple[float, Callable[[], Iterable[Suspect]], list[Iterator[Suspect]]]] = []
    places: list[int] = []
    while heap or bound < inf:
        while bound < inf and (not heap or bound <= heap[0][0]):
            for bits, make in group:
                heappush(heap, (bits, len(kinds)))
                kinds.append((bits, make, []))
                places.append(0)
            bound, group = next(later, (inf, ()))
        if not heap:
            continue
        cost, number = heappop(heap)
        base, make, stream = kinds[number]
        if not stream:
            stream.append(iter(make()))
        for suspect in stream[0]:
            yield cost, suspect
            places[number] += 1
            heappush(heap, (base + log2(places[number] + 1), number))
            break


def _suspects(
    of: Callable[..., Iterable[Edit]], problem: Problem, *given: Any, before: tuple[Edit, ...] = ()
) -> Iterator[Suspect]:
    """What a generator of edits yields, on a problem."""
    return (Suspect(problem, edit, before) for edit in of(problem, *given))


def _rows(trial: _Trial) -> Rows:
    """Everything that is tried, with the bits of its kind: single edits, then pairs."""
    problem, given = trial.problem, trial.given
    rest = trial.wrong & np.isin(trial.tile, sorted(trial.open))
    if trial.coarse and near(problem, given, problem.right, problem.magnitude, trial.coarse).all():
        # To a narrower format all the others look alike.
        ways = ((0.0, partial(rounded_on_the_way, given=given)), (1.0, narrow_accumulator))
        yield 0.0, [(bits, partial(_suspects, of, problem)) for bits, of in ways]
        return
    of_d = ((0.0, not_stored, (given, rest)), (FITTED, fitted, (given,)), (FITTED, recovered, (given,)),
            (LOCATED, partly, (given, rest)))  # fmt: skip
    rows = [(bits, partial(_suspects, of, problem, *more)) for bits, of, more in of_d]
    rows += [(bits, partial(_suspects, of, problem)) for bits, of in LIBRARY]
    rows.append((ONE_STEP, partial(_suspects, in_one_step, problem, trial.rows, trial.columns, trial.possible)))
    rows += [(ELSEWHERE, partial(_suspects, of, problem)) for of in LAST]
    yield 0.0, rows
    if problem.linear and given.size * problem.shapes["B"][-2] <= LARGEST:
        yield from _pairs(trial)


# --- two edits --------------------------------------------------------------------------------------------------------


def _pairs(trial: _Trial) -> Rows:
    """The second edits for each first one, the cheapest first."""
    for bits, first in _firsts(trial):
        made = first.made()
        yield (
            PAIRED + bits,
            [
                (PAIRED + bits + more, partial(_suspects, of, made, before=(first.edit,)))
                for more, of in _seconds(trial, first.edit, made)
            ],
        )


def _seconds(trial: _Trial, first: Edit, made: Problem) -> list[tuple[float, Callable[[Problem], Iterable[Edit]]]]:
    """What may come after an edit, which has made a problem: C and D changed, and the other input turned."""
    lost = partial(_not_stored_besides, given=trial.given)
    rows: list[tuple[float, Callable[[Problem], Iterable[Edit]]]] = [(0.0, lost), (4.0, stored_otherwise)]
    if first.target == "D":
        return rows
    rows += [(0.0, transposed), (1.0, wrong_accumulator), (5.0, partial(fitted, given=trial.given))]
    if first.target == "A" and isinstance(first.map, Permutation):
        rows.append((2.0, partial(permuted, names="B", rules=turned)))
    if first.kind == "part of k" and made.movable("A") and made.movable("B"):
        rows.append((7.0, partial(permuted, names="AB", rules=memory)))
    return rows


def _not_stored_besides(made: Problem, given: Array) -> Iterator[Edit]:
    """Parts of D that are zero, where the rest is as the first edit gives it."""
    return not_stored(made, given, ~near(made, given, made.right, made.magnitude))


def _firsts(trial: _Trial) -> Iterator[Costed]:
    """The likeliest edits, and those of the others that fit a few elements; D may be turned besides."""
    problem, small = trial.problem, trial.given.size <= SMALL
    likely: list[tuple[float, Callable[[Problem], Iterable[Edit]]]] = [(0.0, transposed), (1.0, wrong_accumulator)]
    likely += [(2.0, partial(permuted, names=name, rules=turned)) for name in "AB"]
    likely.append((5.5, lambda problem: islice(shortened_k(problem), LOST if small else 1)))
    tried = list(by_cost([(0.0, [(bits, partial(_suspects, of, problem)) for bits, of in likely])]))
    yield from tried if small else tried[:2]
    of_inputs = ((1.5, biased_scales), (3.5, other_conversion), (4.5, lambda one: islice(wrong_scales(one), SCALES)),
                 (5.5, shortened_k))  # fmt: skip
    rows = [(bits, partial(_suspects, of, problem)) for bits, of in of_inputs]
    if problem.movable("A") and problem.movable("B"):
        rules = ((7.0, memory), (8.1, registers))
        rows += [(bits, partial(_suspects, partial(permuted, names=name, rules=of), problem))
                 for bits, of in rules for name in "BA"]  # fmt: skip
    probes, found = list(_probes(trial)), 0
    for chunk in _chunks((bits, one) for bits, one in by_cost([(0.0, rows)]) if one.of_inputs):
        estimates = np.stack(trial.estimated([suspect for _, suspect in chunk]))
        good = np.logical_or.reduce([probe.fits(estimates) for probe in probes])
        for costed, fits in zip(chunk, good):
            if fits and found < PROBABLE:
                found += 1
                yield costed


class _Probe(TupleRecord):
    """Some rows and columns of D as they were given, of C, and of the right D; how far sums may differ by rounding."""

    given: Array
    c: Array
    own: Array
    error: float

    def fits(self, estimates: Array) -> Array:
        """Which estimates (estimate, batch, rows, columns) give what was given, as x times them and y times C; not
        those that the mistake leaves as they are."""
        finite = np.isfinite(self.given.reshape(-1))
        e = estimates.reshape(len(estimates), -1)[:, finite]
        g, c, right = (array.reshape(-1)[finite] for array in (self.given, self.c, self.own))
        squares, mixed, own = (e * e).sum(axis=1), e @ c, c @ c
        determinant = squares * own - mixed**2
        free = determinant > 1e-9 * squares * own
        safe = np.where(free, determinant, 1.0)
        y = np.where(free, (squares * (c @ g) - mixed * (e @ g)) / safe, 0.0)
        x = (e @ g - y * mixed) / np.where(squares == 0, 1.0, squares)
        apart = np.abs(g - x[:, None] * e - y[:, None] * c).max(axis=1, initial=0.0)
        changed = np.abs(e - right).max(axis=1, initial=0.0) > 2 * self.error
        good: Array = changed & (apart <= self.error * np.maximum(1.0, np.abs(x) + np.abs(y))) & (np.abs(x) > 1e-6)
        return good


def _probes(trial: _Trial) -> Iterator[_Probe]:
    """The few elements of D; those of a square one also for D transposed."""
    problem, given = trial.problem, trial.given
    error = GENEROUS * max(problem.slack, 2.0**-40) * trial.most
    c, own = problem.beta * problem.effective("C"), problem.approximate(None, trial.rows, trial.columns)
    for d in (given, np.swapaxes(given, -1, -2)):
        if d.shape == given.shape:
            few, few_of_c = (array[..., trial.rows, :][..., trial.columns] for array in (d, c))
            yield _Probe(few, few_of_c, own, error)


# --- a right D with other bits ----------------------------------------------------------------------------------------


def arithmetic_of(problem: Problem, given: Array) -> tuple[Explanation, ...]:
    """Ways of adding and rounding that give the bits of a right D; each is tried on the first tile first."""
    found, seen = [], set()
    values, corner = problem.decoded_d(given), problem.tile_alone()
    rows, columns = corner.shapes["D"][-2:]
    first, numbers = given[..., :rows, :columns], values[..., :rows, :columns]
    pairs = ((other_arithmetic(one), chained_otherwise(one)) for one in (corner, problem))
    with np.errstate(all="ignore"):
        for small, whole in zip(*(chain(*pair) for pair in pairs)):
            name, advice = description(problem, (whole,))
            if name in seen or not _equal(corner, Suspect(corner, small).result(), first, numbers):
                continue
            if corner is problem or _equal(problem, Suspect(problem, whole).result(), given, values):
                seen.add(name)
                found.append(Explanation(name, advice, True, 1.0, (), rule=Suspect(problem, whole).rule))
    return tuple(found)


def _equal(problem: Problem, result: Array, given: Array, values: Array) -> bool:
    """Equal to the bit, any NaN to any other."""
    return bool(((result == given) | (np.isnan(problem.decoded_d(result)) & np.isnan(values))).all())
