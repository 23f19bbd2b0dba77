"""What follows a product, and what the D to compare says of itself: numbers fitted to it, and elements found again.

`stored_otherwise`, `before_c` and `not_reset` change the right D without another look. `fitted` takes a factor, a
bias, a bound or a step from the given D, by least squares or as a median, and computes D with them. `not_stored` and
`partly` say which whole rows, lanes or tiles are wrong while the rest is right. `recovered` solves for A, B or D and
looks where their elements have gone. Every edit found here is computed and compared like any other.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import erf, sqrt

import numpy as np

from ..arithmetic.codecs import encode, largest, round_to_format
from ..formats import FORMATS
from .edits import Edit, Fit, Permutation, Recoding, coarse
from .problem import elements, many, runs, unit_numbers, units, whole_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["before_c", "fitted", "not_reset", "not_stored", "partly", "recovered", "rounded_on_the_way",
           "stored_otherwise"]  # fmt: skip

_erf = np.vectorize(erf, otypes=[float])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "gelu (erf)": lambda x: x * 0.5 * (1 + _erf(x / sqrt(2))),
    "gelu (tanh)": lambda x: 0.5 * x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "gelu (sigmoid)": lambda x: x * _sigmoid(1.702 * x),
    "silu (swish)": lambda x: x * _sigmoid(x),
    "sigmoid": _sigmoid, "tanh": np.tanh, "exp": np.exp,
    "leaky relu (0.01)": lambda x: np.where(x > 0, x, 0.01 * x),
    "relu6": lambda x: np.clip(x, 0, 6), "absolute value": np.abs, "square": np.square,
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "softplus": lambda x: np.logaddexp(0, x),
}  # fmt: skip
"""What kernels fuse after a product; the definitions are PyTorch's."""

EXACT = ("relu", "absolute value", "relu6")
"""Those that round nothing."""

ACTIVATION_SLACK = 2.0**-14
"""Kernels approximate exp, tanh and erf: relative to the result. tanh.approx.f32 has a relative error of 2**-11 at most
(PTX ISA, tanh), ex2.approx 2**-22; 2**-14 is between what is seen of them in gelu and silu."""

COARSEST, QUANTISED = 2.0**15, 2.0
"""The largest quantised number in steps (those of a 16-bit integer), and what a power of two costs in bits besides."""

FIT = 2.0**-19
"""How near a fitted number lies to the simple one that it means, relative: 4 elements of f32, each off by 2**-24 and
weighed by their magnitudes, leave 2**-22; the rounding of sums adds a few bits. What is further away is not simplified,
and costs nothing else: the candidate is computed and compared with either number."""

STORES = ("f16", "bf16", "tf32", "e4m3", "e5m2")


def _edit(kind: str, problem: Problem, values: Array, spread: float = 1.0, apart: Array | float = 0.0,
          bits: float = 0.0, **given: Any) -> Edit:  # fmt: skip
    """D that holds these numbers."""
    return Edit("D", Fit(kind, codes_of(problem, values), spread, apart), kind, given, bits)


def codes_of(problem: Problem, values: Array) -> Array:
    """Numbers as codes of D, rounded to nearest; integers wrap."""
    form = problem.execution.formats["D"]
    if not form.is_float:
        values = (np.rint(values).astype(np.int64) + 2**31) % 2**32 - 2**31
    with np.errstate(all="ignore"):
        return encode(values, form, problem.inst.architecture.vendor)


# --- functions of the right D -----------------------------------------------------------------------------------------


def stored_otherwise(problem: Problem) -> Iterator[Edit]:
    """An activation applied, D clipped or wrapped to a narrow integer."""
    d = problem.right
    if not problem.execution.formats["D"].is_float:
        yield from _narrow_integers(problem, d)
        yield _edit("activation", problem, np.maximum(d, 0), function="relu")
        return
    for name in ACTIVATIONS:
        values, apart = _activated(problem, name, d)
        kind = "D is a function" if name in ("absolute value", "square") else "activation"
        yield _edit(kind, problem, values, apart=apart, function=name)
    for axis, what in ((-1, "row"), (-2, "column")):
        with np.errstate(all="ignore"):
            values = np.exp(d - d.max(axis=axis, keepdims=True))
            values /= values.sum(axis=axis, keepdims=True)
        apart = np.nan_to_num(values * (2 * problem.slack * problem.magnitude + ACTIVATION_SLACK) + 1e-7)
        yield _edit("softmax", problem, values, 0, apart, what=what)


def _activated(problem: Problem, name: str, d: Array) -> tuple[Array, Array | float]:
    """An activation of D, and how far it may lie from a kernel's."""
    function = ACTIVATIONS[name]
    with np.errstate(all="ignore"):
        values = function(d)
        around = np.abs(function(d + problem.slack * problem.magnitude) - values)
        return values, 0.0 if name in EXACT else np.nan_to_num(
            2 * around + ACTIVATION_SLACK * np.abs(values) + 1e-7, posinf=0.0
        )


def _narrow_integers(problem: Problem, d: Array) -> Iterator[Edit]:
    advice = "D of this instruction is a 32-bit integer; store it whole, or compare after the conversion"
    for bits, low in ((8, -128), (8, 0), (16, -32768), (16, 0)):
        to = f"{'u' if low == 0 else ''}int{bits}"
        clipped, wrapped = np.clip(d, low, low + (1 << bits) - 1), (d - low) % (1 << bits) + low
        yield _edit("integer clipped", problem, clipped, to=to, advice=advice)
        yield _edit("integer wrapped", problem, wrapped, to=to, advice=advice)
    with np.errstate(all="ignore"):
        single = np.asarray(d.astype(np.float32), np.float64)
    yield _edit("through f32", problem, np.clip(single, -(2**31), 2**31 - 1))


def before_c(problem: Problem) -> Iterator[Edit]:
    """An activation applied to the product, and C added after it."""
    if not problem.linear or not np.any(problem.values["C"]):
        return
    c = problem.beta * problem.effective("C")
    product = problem.decoded_d(problem.run(C=np.zeros_like(problem.codes["C"])))
    for name in ACTIVATIONS:
        if problem.execution.formats["D"].is_float or name in EXACT:
            values, apart = _activated(problem, name, product)
            yield _edit("before C", problem, values + c, apart=apart, function=name)


def not_reset(problem: Problem) -> Iterator[Edit]:
    """The accumulator of one tile of a GEMM is that of the tile before."""
    (down, across, _), shape = problem.tiles, problem.shapes["D"]
    rows, columns = problem.execution.shapes["D"][-2:]
    if down * across == 1 or not problem.linear or shape != (down * rows, across * columns):
        return
    c = problem.beta * problem.effective("C")
    line = (0, 1, 3, 2, 4)  # the tiles' row and column first
    cut = (problem.right - c).reshape(-1, down, rows, across, columns).transpose(line)
    in_turn = np.cumsum(cut.reshape(-1, down * across, rows, columns), axis=1).reshape(cut.shape)
    turned = np.swapaxes(cut, 1, 2)
    by_column = np.cumsum(turned.reshape(-1, down * across, rows, columns), axis=1).reshape(turned.shape)
    for how, sums, count in (
        ("row by row", in_turn, down * across),
        ("column by column", np.swapaxes(by_column, 1, 2), down * across),
        ("along each row", np.cumsum(cut, axis=2), across),
        ("along each column", np.cumsum(cut, axis=1), down),
    ):
        yield _edit("not reset", problem, sums.transpose(line).reshape(c.shape) + c, float(count), how=how)


# --- numbers fitted to the given D ------------------------------------------------------------------------------------


def fitted(problem: Problem, given: Array) -> Iterator[Edit]:
    """What the given numbers themselves say: rounded on the way, scaled, a bias, a constant accumulator."""
    if problem.execution.formats["D"].is_float:
        yield from rounded_on_the_way(problem, given)
        yield from _quantised(problem, given)
    for way in (_combined, _clipped, _with_relu, _per_line, _biased):
        yield from way(problem, given)


def rounded_on_the_way(problem: Problem, given: Array) -> Iterator[Edit]:
    """D has only values of a narrower format."""
    d, own = problem.right, problem.execution.formats["D"]
    for name in STORES:
        form = FORMATS[name]
        if (form.bits >= own.bits and name != "tf32") or form.mantissa >= own.mantissa:
            continue
        if not _on_grid(given, form) or _on_grid(d, form):
            continue
        step = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(d), 2.0 ** (1 - form.bias)))) - form.mantissa)
        cut = np.where(np.isfinite(d), np.trunc(d / step) * step, d)
        for kind, values in (("rounded", _saturated(d, form, given)), ("cut short", cut)):
            yield _edit(kind, problem, values, apart=step, to=name, own=own.name)


def _on_grid(values: Array, form: Any) -> bool:
    finite = values[np.isfinite(values)]
    return bool(finite.size) and bool((round_to_format(finite, form) == finite).all())


def _saturated(values: Array, form: Any, given: Array) -> Array:
    """Values rounded to a format; those too large are its largest where the given D has no infinity or NaN there."""
    found = round_to_format(values, form)
    return np.where(np.isfinite(given) & ~np.isfinite(found), np.sign(values) * largest(form.name), found)


def _quantised(problem: Problem, given: Array) -> Iterator[Edit]:
    """D has only multiples of a power of two, which is too coarse to be chance."""
    finite = given[np.isfinite(given) & (given != 0)]
    if finite.size < 16:
        return
    fractions, exponents = np.frexp(finite)
    whole = np.abs(fractions * 2.0**53).astype(np.int64)
    lowest = int((np.log2((whole & -whole).astype(np.float64)) + exponents).min()) - 53
    step = 2.0**lowest
    if np.abs(finite).max() > COARSEST * step or (np.rint(problem.right / step) * step == problem.right).all():
        return
    for how, rounding in (("was rounded to", np.rint), ("was cut to", np.trunc), ("was rounded down to", np.floor)):
        values = rounding(problem.right / step) * step
        yield _edit("quantised", problem, values, apart=step, bits=QUANTISED, how=how, step=step)


def _combined(problem: Problem, given: Array) -> Iterator[Edit]:
    """D = x A B + y C for other numbers x and y."""
    if not problem.linear:
        return
    zero = {"C": (None, np.zeros_like(problem.values["C"]))}
    product, c = problem.approximate(zero), problem.beta * problem.effective("C")
    with np.errstate(all="ignore"):
        good = np.isfinite(given) & np.isfinite(product) & np.isfinite(c)
        parts = [product[good], c[good]] if np.any(c[good]) else [product[good]]
        if good.sum() < 4 or not np.any(product[good]):
            return
        table = np.stack(parts, axis=1)
        weights = 1 / np.maximum(problem.magnitude[good], 1e-300)
        solved = np.linalg.lstsq(table * weights[:, None], given[good] * weights, rcond=None)[0]
    tolerance = max(FIT, coarse(problem, given)[0] / 4)
    x, y = (_plain(float(value), tolerance) for value in (solved if len(parts) > 1 else (*solved, *solved)))
    if x != y and abs(x - y) <= 2 * FIT * abs(x):
        y = x
    if (x, y) == (1, 1) or abs(x) < 1e-6:
        return
    kind, of = _scaled_kind(x, y, len(parts) > 1), "A B + C" if len(parts) > 1 else "A B"
    fit = Fit(f"{x:.9g} A B + {y:.9g} C", _weighted(problem, x, y), 2 * max(abs(x), abs(y), 1e-30))
    yield Edit("D", fit, kind, {"x": x, "y": y, "of": of})


def _scaled_kind(x: float, y: float, has_c: bool) -> str:
    if not has_c or x == y:
        return "opposite" if x == -1 else "scaled"
    if x == 1:
        return "C twice" if y == 2 else "C zero times" if y == 0 else "C negative" if y == -1 else "C times"
    if y == 1:
        return "product twice" if x == 2 else "product negative" if x == -1 else "product times"
    return "alpha, no C" if abs(y) < 1e-6 else "alpha and beta"


def _weighted(problem: Problem, x: float, y: float) -> Array:
    """The codes of x A B + y C, by the emulator as far as it computes such a thing."""
    if x == y:
        return codes_of(problem, x * problem.right)
    c = problem.values["C"]
    form, vendor = problem.execution.formats["C"], problem.inst.architecture.vendor
    if x == 1 and (form.is_float or float(y).is_integer()):
        with np.errstate(all="ignore"):
            return problem.run(C=encode(y * c if form.is_float else (y * c).astype(np.int64), form, vendor))
    product = problem.decoded_d(problem.run(C=np.zeros_like(problem.codes["C"])))
    return codes_of(problem, x * product + y * problem.beta * c)


def _plain(value: float, tolerance: float = FIT) -> float:
    """The simplest number that a fitted one may mean."""
    near = float(Fraction(value).limit_denominator(64))
    if abs(near - value) <= tolerance * max(abs(value), 0.25):
        return near
    power = 2.0 ** round(np.log2(abs(value))) * np.sign(value)
    return float(power) if abs(power - value) <= tolerance / 2 * abs(value) else value


def _clipped(problem: Problem, given: Array) -> Iterator[Edit]:
    """D kept within bounds, which are the smallest and the largest number of D and occur several times."""
    low, high = float(np.min(given)), float(np.max(given))
    if not problem.execution.formats["D"].is_float or not np.isfinite([low, high]).all() or not low < high:
        return
    often = [(given == bound).sum() >= 4 for bound in (low, high)]
    if any(often) and (low != 0 or often[1]):
        sides = zip(("below", "above"), (low, high), often)
        how = " and ".join(f"{what} {bound:.9g}" for what, bound, several in sides if several)
        bounds = low if often[0] else -np.inf, high if often[1] else np.inf
        yield _edit("clipped", problem, np.clip(problem.right, *bounds), how=how)


def _with_relu(problem: Problem, given: Array) -> Iterator[Edit]:
    """relu after a factor or a bias, which the elements that are left say."""
    d, left = problem.right, given > 0
    if (given < 0).any() or left.all() or left.sum() < 4 or not problem.execution.formats["D"].is_float:
        return
    with np.errstate(all="ignore"):
        ratio = float(np.median(given[left] / d[left]))  # infinite or NaN where D of another mistake is 0
    if np.isfinite(ratio) and (factor := _plain(ratio, max(FIT, coarse(problem, given)[0] / 4))) > 0:
        yield _edit("scaled, relu", problem, np.maximum(factor * d, 0), 2 * factor, x=factor)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a line without elements that are left
        for axis, what in (((-1, -2), "one number"), (-2, "a number for each column"), (-1, "a number for each row")):
            bias = np.nan_to_num(np.nanmedian(np.where(left, given - d, np.nan), axis=axis, keepdims=True))
            yield _edit("bias, relu", problem, np.maximum(d + bias, 0), 4, what=what)


def _per_line(problem: Problem, given: Array) -> Iterator[Edit]:
    """One factor for each row, or for each column."""
    d = problem.right
    if not problem.execution.formats["D"].is_float or not np.isfinite(given).all() or not np.isfinite(d).all():
        return
    for axis, what in ((-1, "row"), (-2, "column")):
        square = (d * d).sum(axis=axis, keepdims=True)
        with np.errstate(all="ignore"):
            factor = np.nan_to_num((given * d).sum(axis=axis, keepdims=True) / square)
        if np.ptp(factor) < 1e-6 or not (np.abs(factor) > 1e-6).all() or d.shape[axis] < 4:
            continue
        listed = ", ".join(f"{x:.6g}" for x in factor.reshape(-1)[:4])
        spread = 2 * float(np.abs(factor).max())
        yield _edit("scaled by line", problem, factor * d, spread, what=what, shown=listed)


def _biased(problem: Problem, given: Array) -> Iterator[Edit]:
    """A number added to D everywhere or along rows or columns; C taken as one number."""
    d = problem.right
    if not problem.linear or not np.isfinite(given).all() or not np.isfinite(d).all():
        return
    zero = problem.approximate({"C": (None, np.zeros_like(problem.values["C"]))})
    with np.errstate(all="ignore"):
        starts, added = given - zero, given - d
    constant, error = float(np.median(starts)), 4 * problem.slack * problem.magnitude.max()
    if np.ptp(starts) <= error and abs(constant) > 1e-30:
        yield _edit("constant start", problem, zero + constant, 4, x=constant)
    for axis, where in (((-1, -2), "everywhere"), (-2, "to each column"), (-1, "to each row")):
        bias = np.median(added, axis=axis, keepdims=True)
        large = np.abs(bias) > 2 * error
        if 2 * large.sum() <= large.size or d.shape[-1] < 4:
            continue  # a bias in a few lines only is something else: see `partly`
        shown = f"{bias.reshape(-1)[0]:.6g}" if where == "everywhere" else "a number of its own (a bias)"
        yield _edit("bias", problem, d + bias, 4, where=where, shown=shown)


# --- whole units of D that are wrong ----------------------------------------------------------------------------------


def not_stored(problem: Problem, given: Array, wrong: Array) -> Iterator[Edit]:
    """Rows, columns, lanes, registers or tiles of D that are zero."""
    if (given[wrong] != 0).any():
        return
    where = "every element" if wrong.any() and not given.any() else _where(problem, wrong) or _triangle(wrong)
    if where is not None:
        codes = np.where(wrong, problem.expected.dtype.type(0), problem.expected)
        yield Edit("D", Recoding("0", {"D": codes}), "not stored", {"where": where})


def partly(problem: Problem, given: Array, wrong: Array) -> Iterator[Edit]:
    """Rows, columns, lanes, registers or tiles of D that hold something else, while the rest is right."""
    values, said = given[wrong], {}
    everywhere = wrong.all() and np.isnan(given).all() and np.isfinite(problem.right).any()
    where = "every element" if everywhere else _where(problem, wrong)
    if where is None:
        return
    if np.isnan(values).all():
        kind = "NaN"
    elif len(np.unique(values)) == 1 and values.size > 2:
        kind, said = "constant", {"x": values[0]}
    else:
        kind = "other values in D"
    form = problem.execution.formats["D"]
    numbers = given if form.is_float else given.astype(np.int64)
    codes = np.where(wrong, encode(numbers, form, problem.inst.architecture.vendor), problem.expected)
    reproduced = kind != "other values in D"
    yield Edit("D", Recoding(kind, {"D": codes}), kind, {"where": where, **said}, reproduced=reproduced)


def _triangle(wrong: Array) -> str | None:
    """One side of the diagonal, or both, of which at least four rows are more than zero by chance."""
    i, j = np.indices(wrong.shape[-2:])
    sides = {"above the diagonal (a mask?)": j > i, "below the diagonal (a mask?)": j < i, "off the diagonal": j != i}
    for text, side in sides.items():
        if side.sum() >= 6 and (wrong == side).all():
            return f"the elements {text}"
    return None


def _where(problem: Problem, wrong: Array) -> str | None:
    """The units that the wrong elements are, if most of D is right."""
    mask: Array = np.asarray(wrong.any(axis=0))
    if mask.mean() > 0.75 or not (wrong == mask).all():
        return None
    return whole_units(problem, "D", mask)


# --- A, B and D found again -------------------------------------------------------------------------------------------

LARGEST = 1 << 20
"""Elements of the largest matrix that is solved for."""


def recovered(problem: Problem, given: Array) -> Iterator[Edit]:
    """Rules for D, for the product, and for A and B.

    Where D = A' B + C determines A' (B has full rank, and no more rows than columns), least squares recovers it, up to
    rounding; likewise B'. Then rows, columns, lanes or registers of A' are looked for among those of A. The same is
    done with D itself, and with D - C, of which rows are rows of A' B.
    """
    if not problem.linear or given.size > LARGEST or not np.isfinite(given).all():
        return
    error = 4 * problem.slack * float(problem.magnitude.max(initial=0))
    yield from _permuted(problem, "D", given[0], problem.right[0], error)
    c = problem.beta * problem.effective("C")
    zero = problem.approximate({"C": (None, np.zeros_like(problem.values["C"]))})
    for name, what in (("A", "row"), ("B", "column")):
        yield from _product_permuted(problem, name, what, (given - c)[0], zero[0], error)
    for name in "AB":
        if (solved := _solved(problem, name, given - c)) is not None:
            yield from _permuted(problem, name, solved[0], problem.values[name][0], solved[1])
            yield from _replaced(problem, name, *solved)


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


def _permuted(problem: Problem, name: str, found: Array, known: Array, error: float) -> Iterator[Edit]:
    """Rows, columns, lanes, registers or tiles of one operand that are elsewhere."""
    for what, numbers in units(problem, name).items():
        best = _matched(found, known, numbers, error)
        if best is None or np.array_equal(best, np.where((best < 0) & (name == "D"), -1, np.arange(len(best)))):
            continue
        kind, given = (
            "D elsewhere" if name == "D" else "elsewhere",
            {"what": many(what), "how": _rule(problem, best, what)},
        )
        rule = f"{what} -> {best.tolist()}"
        yield Edit(name, Permutation(rule, {name: _source(numbers, best)}), kind, given)
    if (source := _elementwise(found, known, error)) is not None:
        yield _scattered(problem, name, source)


def _rule(problem: Problem, best: Array, what: str) -> str:
    """Which units each comes from, in words."""
    used = best[best >= 0]
    index = np.arange(len(best))
    if len(np.unique(used)) == 1 and len(used) == len(best):
        return f"every {what} is {what} {int(best[0])}"
    if (best < 0).any() and np.array_equal(best[best >= 0], index[best >= 0]):
        return f"{many(what)} {unit_numbers(problem, what, index[best < 0])} are zero"
    if len(np.unique(best)) == len(best) and (best >= 0).all():
        for step in range(1, len(best)):
            if np.array_equal(best, (index + step) % len(best)):
                near = step if 2 * step <= len(best) else step - len(best)
                return f"{many(what)} come from {unit_numbers(problem, what, best)} ({near:+d})"
        changed = index[best != index]
        if len(changed) == 2:
            first, second = (unit_numbers(problem, what, [number]) for number in changed)
            return f"{many(what)} {first} and {second} are exchanged"
    taken = [str(x) if what != "tile" else unit_numbers(problem, what, [x]) for x in best]
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


def _scattered(problem: Problem, name: str, source: Array) -> Edit:
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
    how, kind = "; ".join(rules), "D elsewhere" if name == "D" else "scattered"
    return Edit(name, Permutation(how, {name: source}), kind, {"how": how})


def _index(index: Any) -> str:
    return "".join(f"[{int(x)}]" for x in index)


def _product_permuted(
    problem: Problem, name: str, what: str, found: Array, known: Array, error: float
) -> Iterator[Edit]:
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
    changes = {name: source}
    if problem.execution.sparsity and name == "A":
        entries = elements(problem.shapes["K"])
        changes["K"] = np.take(entries, np.maximum(best, 0), 0)
    if problem.execution.block_size:
        entries = elements(problem.shapes[f"S{name}"])
        changes[f"S{name}"] = np.take(entries, np.maximum(best, 0), axis)
    given = {"what": many(what), "line": what, "how": _rule(problem, best, what)}
    yield Edit(name, Permutation(f"{what} -> {best.tolist()}", changes), "line elsewhere", given)


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
    back = _inverse(other)
    if back is None:
        return None
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


MANY = 256
"""Rows and columns up to which the singular values are computed: they take about ten times as long as an inverse, which
is as good where the matrix is well conditioned. Whether it was, `_solved` sees from what it gives."""


def _inverse(matrix: Array) -> Array | None:
    """The pseudoinverse of a matrix of full rank; None if it has not."""
    rows, columns = matrix.shape[-2:]
    if max(rows, columns) <= MANY:
        return np.linalg.pinv(matrix)
    try:
        if rows == columns:
            return np.linalg.inv(matrix)
        turned = matrix.T
        return turned @ np.linalg.inv(matrix @ turned) if rows < columns else np.linalg.inv(turned @ matrix) @ turned
    except np.linalg.LinAlgError:
        return None


def _replaced(problem: Problem, name: str, found: Array, error: float) -> Iterator[Edit]:
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
    kind = "zero in part" if zero else "other values"
    advice = f"which lanes load {name}, and into which registers" if whole else f"how {name} is loaded"
    recoding = Recoding(kind, {name: np.broadcast_to(codes, problem.codes[name].shape)})
    yield Edit(name, recoding, kind, {"where": where, "advice": advice})
