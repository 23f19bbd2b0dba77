"""Reading from D which A, B or D there must have been, and the rule that made it.

Where D = A' B + C determines A' (B has full rank, and no more rows than columns), least squares recovers it from the
given D, up to rounding; likewise B'. Then rows, columns, lanes or registers of A' are looked for among those of A. The
same is done with D itself, and with D - C, of which rows are rows of A' B. Every rule found is computed by the emulator
and compared like any other suspected mistake.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import encode
from .candidates import Candidate, Rerun, moved
from .partial import many, runs, shown, units, whole_units
from .problem import elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["recovered"]

LARGEST = 1 << 20
"""Elements of the largest matrix that is solved for."""


def recovered(problem: Problem, given: Array) -> Iterator[Candidate]:
    """Suspected rules for D, for the product, and for A and B."""
    if not problem.linear or given.size > LARGEST or not np.isfinite(given).all():
        return
    expected = problem.right
    error = 4 * problem.slack * float(problem.magnitude.max(initial=0))
    yield from _permuted(problem, "D", given[0], expected[0], error)
    c = problem.beta * problem.effective("C")
    zero = problem.approximate({"C": (None, np.zeros_like(problem.values["C"]))})
    for name, what in (("A", "row"), ("B", "column")):
        yield from _product_permuted(problem, name, what, (given - c)[0], zero[0], error)
    for name in "AB":
        if (solved := _solved(problem, name, given - c)) is not None:
            yield from _permuted(problem, name, solved[0], problem.values[name][0], solved[1])
            yield from _replaced(problem, name, *solved)


# --- units that are elsewhere -------------------------------------------------------------------------------------


def _matched(found: Array, known: Array, numbers: Array, error: float) -> Array | None:
    """For every unit of `found` the unit of `known` that is equal up to `error`, -1 for one that is zero; None if one
    has no match. Elements of a unit are compared in order of their index."""
    order = np.argsort(numbers, axis=None, kind="stable")
    labels, counts = np.unique(numbers, return_counts=True)
    if len(set(counts.tolist())) != 1 or len(labels) < 2:
        return None
    new, old = (array.reshape(-1)[order].reshape(len(labels), -1) for array in (found, known))
    weights = np.random.default_rng(1).standard_normal(new.shape[1])
    projected, target = old @ weights, new @ weights
    rank = np.argsort(projected)
    at = np.searchsorted(projected[rank], target)
    best: Array = np.full(len(labels), -2)
    for step in (-1, 0, 1, -2):
        candidate = rank[np.clip(at + step, 0, len(labels) - 1)]
        good = (np.abs(old[candidate] - new) <= error).all(axis=1) & (best == -2)
        best = np.where(good, candidate, best)
    best = np.where((best == -2) & (np.abs(new) <= error).all(axis=1), -1, best)
    return None if (best == -2).any() else best


def _source(numbers: Array, best: Array) -> Array:
    """The source that takes every unit from the one named."""
    order = np.argsort(numbers, axis=None, kind="stable")
    table = order.reshape(len(best), -1)
    source = np.empty(numbers.size, np.int64)
    source[table] = np.where(best[:, None] < 0, -1, table[np.maximum(best, 0)])
    return source.reshape(numbers.shape)


def _permuted(problem: Problem, name: str, found: Array, known: Array, error: float) -> Iterator[Candidate]:
    """Rows, columns, lanes, registers or tiles of one operand that are elsewhere."""
    for what, numbers in units(problem, name).items():
        best = _matched(found, known, numbers, error)
        if best is None or np.array_equal(best, np.where((best < 0) & (name == "D"), -1, np.arange(len(best)))):
            continue
        text = f"{many(what)} of {name} are elsewhere: {_rule(problem, best, what)}"
        if name == "D":
            text = f"the elements are right, but in other places: {_rule(problem, best, what)}"
        option = f"-{name} --pattern"
        advice = f"the layout of {name}: `mmacalc -a {problem.inst.arch} -i {problem.inst.name} {option}`"
        yield Candidate(text, advice, moved(problem, name, _source(numbers, best)))
    if (source := _elementwise(found, known, error)) is not None:
        yield _scattered(problem, name, source)


def _rule(problem: Problem, best: Array, what: str) -> str:
    """Which units each comes from, in words."""
    used = best[best >= 0]
    index = np.arange(len(best))
    if len(np.unique(used)) == 1 and len(used) == len(best):
        return f"every {what} is {what} {int(best[0])}"
    if (best < 0).any() and np.array_equal(best[best >= 0], index[best >= 0]):
        return f"{many(what)} {shown(problem, what, index[best < 0])} are zero"
    if len(np.unique(best)) == len(best) and (best >= 0).all():
        for step in range(1, len(best)):
            if np.array_equal(best, (index + step) % len(best)):
                near = step if 2 * step <= len(best) else step - len(best)
                return f"{many(what)} come from {shown(problem, what, best)} ({near:+d})"
        changed = index[best != index]
        if len(changed) == 2:
            first, second = (shown(problem, what, [number]) for number in changed)
            return f"{many(what)} {first} and {second} are exchanged"
    taken = [str(x) if what != "tile" else shown(problem, what, [x]) for x in best]
    return f"{many(what)} come from {' '.join('zero' if x < 0 else text for x, text in zip(best, taken))}"


def _elementwise(found: Array, known: Array, error: float) -> Array | None:
    """Where each element comes from, if values tell it: a permutation with few ambiguities."""
    flat, target = known.reshape(-1), found.reshape(-1)
    if flat.size != target.size or flat.size < 16:
        return None
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    if (np.diff(ordered) <= 2 * error).mean() > 0.02:
        return None
    # Both in order: a permutation has the same values.
    back = np.argsort(target, kind="stable")
    if (np.abs(target[back] - ordered) > error).any():
        return None
    source = np.empty(flat.size, np.int64)
    source[back] = order
    same = np.abs(target - flat) <= error
    return np.where(same, np.arange(flat.size), source).reshape(known.shape)


def _scattered(problem: Problem, name: str, source: Array) -> Candidate:
    """A permutation of elements that is none of whole units: by axis, what comes from where."""
    rules = []
    for what, numbers in units(problem, name).items():
        taken = numbers.reshape(-1)[source]
        label = np.unique(numbers)
        lines = [np.unique(taken[numbers == one]) for one in label]
        if all(len(line) == 1 for line in lines):
            moves = np.array([int(line[0]) for line in lines])
            if not np.array_equal(moves, label):
                rules.append(f"{many(what)} come from {runs(moves)}")
    wrong = np.argwhere(source != elements(source.shape))
    first = tuple(wrong[0]) if len(wrong) else (0,) * source.ndim
    origin = np.unravel_index(int(source[first]), source.shape)
    if not rules:
        rules = [f"{len(wrong)} of them, such as {name}{_index(first)}, where {name}{_index(origin)} is"]
    inst = problem.inst
    advice = f"the layout of {name}: `mmacalc -a {inst.arch} -i {inst.name} -{name} --pattern`"
    text = f"the elements of {name} are right, but in other places: {'; '.join(rules)}"
    if name == "D":
        text = text.replace(" of D", "")
    return Candidate(text, advice, moved(problem, name, source))


def _index(index: Any) -> str:
    return "".join(f"[{int(x)}]" for x in index)


def _product_permuted(
    problem: Problem, name: str, what: str, found: Array, known: Array, error: float
) -> Iterator[Candidate]:
    """Rows of A (columns of B) elsewhere: rows (columns) of D - C are those of A B."""
    numbers = units(problem, "D")[what]
    best = _matched(found, known, numbers, error)
    if best is None or np.array_equal(best, np.arange(len(best))) or len(problem.shapes["D"]) == 3:
        return
    shape = problem.shapes[name]
    flat = elements(shape)
    axis = 0 if name == "A" else 1
    source = np.take(flat, np.maximum(best, 0), axis)
    source = np.where(np.expand_dims(best < 0, 1 - axis), -1, source)
    text = f"{many(what)} of {name} are elsewhere: {_rule(problem, best, what)}"
    changes = {name: source}
    if problem.execution.sparsity and name == "A":
        entries = elements(problem.shapes["K"])
        changes["K"] = np.take(entries, np.maximum(best, 0), 0)
    if problem.execution.block_size:
        entries = elements(problem.shapes[f"S{name}"])
        changes[f"S{name}"] = np.take(entries, np.maximum(best, 0), axis)
    yield Candidate(text, f"check the {what} index with which you load {name}", Rerun(problem, changes))


# --- least squares ----------------------------------------------------------------------------------------------------


def _solved(problem: Problem, name: str, product: Array) -> tuple[Array, float] | None:
    """A' of A' B = D - C (or B' of A B' = D - C), of the first batch, and how far its elements may be off."""
    execution = problem.execution
    if (name == "A" and execution.sparsity) or execution.rearranged[name] is not None or execution.block_size:
        return None
    own, other = problem.factors(name, {}, slice(None))[0], problem.factors("BA"["AB".index(name)], {}, slice(None))[0]
    rows, columns = other.shape[-2:]
    if (columns < rows if name == "A" else rows < columns) or not np.isfinite(other).all():
        return None
    back = np.linalg.pinv(other)
    spread = float(np.abs(back).sum(axis=-2 if name == "A" else -1).max())
    product = product[0] / problem.alpha
    found = product @ back if name == "A" else back @ product
    again = found @ other if name == "A" else other @ found
    error = max(problem.slack * float(problem.magnitude.max()), 1e-12) * spread
    residue = 4 * problem.slack * float(problem.magnitude.max()) + 1e-9 * float(np.abs(product).max())
    scale = float(np.abs(own).max(initial=0))
    if (np.abs(again - product) > residue).any() or error > 0.05 * max(scale, 1e-30):
        return None
    sign = problem._signs[name]
    return found * sign, error


def _replaced(problem: Problem, name: str, found: Array, error: float) -> Iterator[Candidate]:
    """A' that is A but for some lanes, registers, rows or columns, which hold other values."""
    own = problem.values[name][0]
    wrong = np.abs(found - own) > 2 * error + 2.0**-8 * np.abs(own)
    if not wrong.any() or wrong.mean() > 0.5:
        return
    zero = bool((np.abs(found[wrong]) <= 2 * error).all())
    whole = whole_units(problem, name, wrong)
    if whole is None and not zero:
        return
    where = whole or f"{int(wrong.sum())} elements, such as {name}{_index(np.argwhere(wrong)[0])}"
    values = np.where(wrong, 0.0 if zero else found, own)
    form = problem.execution.formats[name]
    numbers = values if form.is_float else np.rint(values).astype(np.int64)
    codes = encode(numbers, form, problem.inst.architecture.vendor, problem.execution.signed[name])
    codes = np.where(wrong, codes, problem.codes[name][0])
    text = f"{name} is zero in {where}" if zero else f"{name} holds other values in {where}; all the rest is right"
    advice = f"check which lanes load {name}, and into which registers" if whole else f"check how {name} is loaded"
    yield Candidate(text, advice, Rerun(problem, codes={name: np.broadcast_to(codes, problem.codes[name].shape)}))
