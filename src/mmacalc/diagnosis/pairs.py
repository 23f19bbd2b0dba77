"""Two mistakes at once.

The first one changes the inputs, or turns D. For each there is a `Problem` of its own, whose right D is what that
mistake gives, and the second one is looked for as if it were the only one. The ways to move A and B are many; of these
a few elements of D choose: they must be x D' + y C for some x and y, D' being what the first mistake gives.
"""

from __future__ import annotations

from copy import copy
from itertools import chain, islice

import numpy as np

from ..records import TupleRecord
from .afterwards import fitted, stored_otherwise
from .candidates import Candidate, Moved, Rerun, near
from .conversions import other_conversion
from .mistakes import shortened_k, transposed, wrong_accumulator, wrong_addresses
from .moves import moves_of, turning_moves
from .partial import not_stored
from .problem import Problem
from .scales import biased_scales, wrong_scales

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["two_mistakes"]

LARGEST = 1 << 27
"""Multiply-accumulates of the largest product for which two mistakes are looked for."""
SMALL = 1 << 14
"""Elements of D up to which all of the likeliest mistakes are tried as the first one; beyond, C left out."""
PROBABLE = 24
"""How many moves that fit a few elements are tried on all."""
SCALES = 64
"""Of the mistakes with scales, those before their permutations: what a pair may begin with."""
LOST = 8
"""How many parts of k may be missing together with another mistake: halves, the first and last steps."""


class _Probe(TupleRecord):
    """Some rows and columns of D as they were given, of C, and of the right D; how far sums may differ by rounding."""

    at: tuple[Array, Array]
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


def two_mistakes(problem: Problem, given: Array, rows: Array, columns: Array) -> Iterator[Candidate]:
    """Suspected pairs of mistakes.

    Args:
        given: D as numbers; rows, columns: those of the few elements.
    """
    if not problem.linear or given.size * problem.shapes["B"][-2] > LARGEST:
        return
    yield from _both_turned(problem)
    for text, advice, first in _turned(problem):
        yield from _besides(text, advice, first, chain(not_stored_of(first, given), stored_otherwise(first)))
    for text, advice, first in _changed(problem, given, rows, columns):
        seconds = (
            not_stored_of(first, given), stored_otherwise(first), transposed(first), wrong_accumulator(first),
            fitted(first, given),
        )  # fmt: skip
        yield from _besides(text, advice, first, chain.from_iterable(seconds))
    for text, advice, first in _shortened(problem, given):
        if first.movable("A") and first.movable("B"):
            yield from _besides(text, advice, first, wrong_addresses(first, "AB"))


def _besides(text: str, advice: str, first: Problem, seconds: Iterator[Candidate]) -> Iterator[Candidate]:
    for second in seconds:
        yield Candidate(f"{text}; and {second.name}", f"{advice}; {second.advice}", second.outcome)


def not_stored_of(first: Problem, given: Array) -> Iterator[Candidate]:
    """Parts of D that are zero, where the rest is as the first mistake gives it."""
    return not_stored(first, given, ~near(first, given, first.right, first.magnitude))


def _turned(problem: Problem) -> Iterator[tuple[str, str, Problem]]:
    """D stored column by column."""
    for candidate in transposed(problem):
        if isinstance(candidate.outcome, Moved):
            first = copy(problem)
            first.expected, first.right = candidate.outcome.result(), candidate.outcome.estimate()
            first.magnitude = candidate.outcome.magnitude()
            yield candidate.name, candidate.advice, first


# --- changed inputs ---------------------------------------------------------------------------------------------------


def _changed(
    problem: Problem, given: Array, rows: Array, columns: Array
) -> Iterator[tuple[str, str, Problem]]:  # fmt: skip
    """The likeliest mistakes, and those of the others that fit a few elements: each with the problem that it makes."""
    likely = [one for one in chain(wrong_accumulator(problem), transposed(problem), _turned_inputs(problem))
              if isinstance(one.outcome, Rerun)]  # fmt: skip
    if given.size > SMALL:
        likely = likely[:1]
    for candidate in chain(likely, islice(_probable(problem, given, rows, columns), PROBABLE)):
        yield candidate.name, candidate.advice, _made(problem, candidate)


def _shortened(problem: Problem, given: Array) -> Iterator[tuple[str, str, Problem]]:
    """Part of k left out, which shows in every element: A or B may be moved besides."""
    for candidate in islice(shortened_k(problem), LOST if given.size <= SMALL else 1):
        if isinstance(candidate.outcome, Rerun) and candidate.outcome.codes:
            yield candidate.name, candidate.advice, _made(problem, candidate)


def _made(problem: Problem, candidate: Candidate) -> Problem:
    """The problem whose right D is what a mistake gives."""
    outcome = candidate.outcome
    assert isinstance(outcome, Rerun)
    moved = {name: problem.replaced(name, source) for name, source in outcome.sources.items()}
    codes = {**problem.codes, **moved}
    codes |= {name: np.broadcast_to(array, codes[name].shape) for name, array in outcome.codes.items()}
    return Problem(problem.execution, codes, {}, (problem.alpha, problem.beta))


def _turned_inputs(problem: Problem) -> Iterator[Candidate]:
    """A or B row-major for column-major, or both, or with tiles transposed."""
    of = {name: list(turning_moves(problem, name)) for name in "AB"}
    for name, moves in of.items():
        for move in moves:
            yield Candidate(f"{name} {move.text}", move.advice, Rerun(problem, {name: move.source}))


def _both_turned(problem: Problem) -> Iterator[Candidate]:
    for a in turning_moves(problem, "A"):
        for b in turning_moves(problem, "B"):
            outcome = Rerun(problem, {"A": a.source, "B": b.source})
            yield Candidate(f"A {a.text}, and B {b.text}", f"{a.advice}; {b.advice}", outcome)


def _probable(problem: Problem, given: Array, rows: Array, columns: Array) -> Iterator[Candidate]:
    """Conversions, and moves of A, of B and of both, that fit a few elements; D may be turned besides."""
    probes = list(_probes(problem, given, rows, columns))
    inputs = (other_conversion(problem), biased_scales(problem), islice(wrong_scales(problem), SCALES),
              shortened_k(problem), _both_turned(problem))  # fmt: skip
    for candidate in chain.from_iterable(inputs):
        outcome = candidate.outcome
        if (
            isinstance(outcome, Rerun)
            and outcome.chains is None
            and outcome.problem is problem
            and any(probe.fits(outcome.estimate(*probe.at)[None])[0] for probe in probes)
        ):
            yield candidate
    for name in "BA" if problem.movable("A") and problem.movable("B") else "":
        moves = list(moves_of(problem, name))
        sources = [move.source for move in moves]
        good = np.zeros(len(moves), bool)
        for probe in probes if moves else ():
            good |= probe.fits(problem.estimates(name, sources, *probe.at))
        for move in (move for move, fits in zip(moves, good) if fits):
            yield Candidate(f"{name} {move.text}", move.advice, Rerun(problem, {name: move.source}))


def _probes(problem: Problem, given: Array, rows: Array, columns: Array) -> Iterator[_Probe]:
    """The few elements of D; those of a square one also for D transposed."""
    most = float(np.nanmax(problem.magnitude, initial=0.0, where=np.isfinite(problem.magnitude)))
    error = 64 * max(problem.slack, 2.0**-40) * most
    c, own = problem.beta * problem.effective("C"), problem.approximate(None, rows, columns)
    for d in (given, np.swapaxes(given, -1, -2)):
        if d.shape == given.shape:
            few, few_of_c = (array[..., rows, :][..., columns] for array in (d, c))
            yield _Probe((rows, columns), few, few_of_c, own, error)
