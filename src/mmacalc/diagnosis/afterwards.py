"""What may happen to a right result after the product: scaled, rounded, an activation, a bias, part of it not stored.

`stored_otherwise` needs the problem only; `fitted` reads its numbers (a factor, a bias) from the D that was given, and
computes D with them.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import erf, sqrt

import numpy as np

from ..arithmetic.codecs import encode, largest, round_to_format
from ..formats import FORMATS
from .candidates import Candidate, Stored, coarse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["before_c", "codes_of", "fitted", "rounded_on_the_way", "stored_otherwise"]

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
"""Kernels approximate exp, tanh and erf: relative to the result."""

COARSEST, QUANTISED = 2.0**15, 2.0
"""The largest quantised number in steps (those of a 16-bit integer), and what a power of two costs in bits besides."""

STORES = ("f16", "bf16", "tf32", "e4m3", "e5m2")


def stored_otherwise(problem: Problem) -> Iterator[Candidate]:
    """An activation applied, D clipped or wrapped to a narrow integer."""
    form = problem.execution.formats["D"]
    d = problem.right
    if not form.is_float:
        advice = "D of this instruction is a 32-bit integer; store it whole, or compare after the conversion"
        for bits, low in ((8, -128), (8, 0), (16, -32768), (16, 0)):
            high = low + (1 << bits) - 1
            name = f"{'u' if low == 0 else ''}int{bits}"
            clipped, wrapped = np.clip(d, low, high), (d - low) % (1 << bits) + low
            yield Candidate(f"D was clipped to {name}", advice, Stored(problem, codes_of(problem, clipped)))
            yield Candidate(
                f"D was cut to its low {bits} bits ({name})", advice, Stored(problem, codes_of(problem, wrapped))
            )
        with np.errstate(all="ignore"):
            single = np.asarray(d.astype(np.float32), np.float64)
        through = Stored(problem, codes_of(problem, np.clip(single, -(2**31), 2**31 - 1)))
        advice_of_f32 = "f32 holds integers to 2**24: convert after the sums are small, or keep D in int32"
        yield Candidate("D went through f32, which has 24 bits of an integer", advice_of_f32, through)
        relu = Stored(problem, codes_of(problem, np.maximum(d, 0)))
        yield Candidate("relu was applied to D", "compare before the activation", relu)
        return
    for name, function in ACTIVATIONS.items():
        with np.errstate(all="ignore"):
            values = function(d)
            around = np.abs(function(d + problem.slack * problem.magnitude) - values)
        apart = 0.0 if name in EXACT else 2 * around + ACTIVATION_SLACK * np.abs(values) + 1e-7
        text = (
            f"{name} was applied to D" if name not in ("absolute value", "square") else f"D is the {name} of the result"
        )
        stored = Stored(problem, codes_of(problem, values), apart=np.nan_to_num(apart, posinf=0.0))
        yield Candidate(text, "compare before the activation, or apply it to the reference too", stored)
    for axis, what in ((-1, "row"), (-2, "column")):
        with np.errstate(all="ignore"):
            values = np.exp(d - d.max(axis=axis, keepdims=True))
            values /= values.sum(axis=axis, keepdims=True)
        apart = np.nan_to_num(values * (2 * problem.slack * problem.magnitude + ACTIVATION_SLACK) + 1e-7)
        text = f"softmax was applied to each {what} of D"
        advice = "compare before softmax, or apply it to the reference too"
        yield Candidate(text, advice, Stored(problem, codes_of(problem, values), 0, apart))


def before_c(problem: Problem) -> Iterator[Candidate]:
    """An activation applied to the product, and C added after it."""
    if not problem.linear or not np.any(problem.values["C"]):
        return
    c = problem.beta * problem.effective("C")
    product = problem.decoded_d(problem.run(C=np.zeros_like(problem.codes["C"])))
    advice = "apply the activation after C is added: initialise the accumulator with C"
    for name, function in ACTIVATIONS.items():
        if problem.execution.formats["D"].is_float or name in EXACT:
            with np.errstate(all="ignore"):
                values = function(product)
                around = np.abs(function(product + problem.slack * problem.magnitude) - values)
            apart = 0.0 if name in EXACT else np.nan_to_num(2 * around + ACTIVATION_SLACK * np.abs(values) + 1e-7)
            stored = Stored(problem, codes_of(problem, values + c), apart=apart)
            yield Candidate(f"{name} was applied to the product before C was added", advice, stored)


def codes_of(problem: Problem, values: Array) -> Array:
    """Numbers as codes of D, rounded to nearest; integers wrap."""
    form = problem.execution.formats["D"]
    if not form.is_float:
        values = (np.rint(values).astype(np.int64) + 2**31) % 2**32 - 2**31
    with np.errstate(all="ignore"):
        return encode(values, form, problem.inst.architecture.vendor)


def fitted(problem: Problem, given: Array) -> Iterator[Candidate]:
    """What the given numbers themselves say: rounded on the way, scaled, a bias, a constant accumulator."""
    if problem.execution.formats["D"].is_float:
        yield from rounded_on_the_way(problem, given)
        yield from _quantised(problem, given)
    yield from _combined(problem, given)
    yield from _clipped(problem, given)
    yield from _with_relu(problem, given)
    yield from _per_line(problem, given)
    yield from _biased(problem, given)


# --- rounded ----------------------------------------------------------------------------------------------------------


def rounded_on_the_way(problem: Problem, given: Array) -> Iterator[Candidate]:
    """D has only values of a narrower format."""
    d, own = problem.right, problem.execution.formats["D"]
    for name in STORES:
        form = FORMATS[name]
        if (form.bits >= own.bits and name != "tf32") or form.mantissa >= own.mantissa:
            continue
        if not _on_grid(given, form) or _on_grid(d, form):
            continue
        advice = f"keep D in {own.name} until it is stored, or compare with the reference rounded to {name}"
        step = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(d), 2.0 ** (1 - form.bias)))) - form.mantissa)
        cut = np.where(np.isfinite(d), np.trunc(d / step) * step, d)
        for text, values in (
            (f"D was rounded to {name}", _saturated(d, form, given)),
            (f"D was cut to {name}, not rounded to nearest", cut),
        ):
            yield Candidate(text, advice, Stored(problem, codes_of(problem, values), apart=step))


def _on_grid(values: Array, form: Any) -> bool:
    finite = values[np.isfinite(values)]
    return bool(finite.size) and bool((round_to_format(finite, form) == finite).all())


def _saturated(values: Array, form: Any, given: Array) -> Array:
    """Values rounded to a format; those too large are its largest where the given D has no infinity or NaN there."""
    found = round_to_format(values, form)
    most = largest(form.name)
    return np.where(np.isfinite(given) & ~np.isfinite(found), np.sign(values) * most, found)


def _quantised(problem: Problem, given: Array) -> Iterator[Candidate]:
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
    advice = "compare before D is quantised, or quantise the reference alike"
    for text, rounding in (("was rounded to", np.rint), ("was cut to", np.trunc), ("was rounded down to", np.floor)):
        stored = Stored(problem, codes_of(problem, rounding(problem.right / step) * step), apart=step)
        yield Candidate(f"D {text} multiples of {step:.9g}", advice, stored, bits=QUANTISED)


# --- scaled -----------------------------------------------------------------------------------------------------------


def _combined(problem: Problem, given: Array) -> Iterator[Candidate]:
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
    tolerance = max(2e-6, coarse(problem, given)[0] / 4)
    x, y = (_plain(float(value), tolerance) for value in (solved if len(parts) > 1 else (*solved, *solved)))
    if x != y and abs(x - y) <= 4e-6 * abs(x):
        y = x
    if (x, y) == (1, 1) or abs(x) < 1e-6:
        return
    codes = _weighted(problem, x, y)
    spread = max(abs(x), abs(y), 1e-30)
    yield Candidate(*_scaled_words(problem, x, y, len(parts) > 1), Stored(problem, codes, 2 * spread))


def _clipped(problem: Problem, given: Array) -> Iterator[Candidate]:
    """D kept within bounds, which are the smallest and the largest number of D and occur several times."""
    d = problem.right
    low, high = float(np.min(given)), float(np.max(given))
    if not problem.execution.formats["D"].is_float or not np.isfinite([low, high]).all() or not low < high:
        return
    often = [(given == bound).sum() >= 4 for bound in (low, high)]
    if any(often) and (low != 0 or often[1]):
        sides = zip(("below", "above"), (low, high), often)
        words = " and ".join(f"{what} {bound:.9g}" for what, bound, several in sides if several)
        bounds = low if often[0] else -np.inf, high if often[1] else np.inf
        stored = Stored(problem, codes_of(problem, np.clip(d, *bounds)))
        yield Candidate(f"D was clipped {words}", "compare before the bounds are applied", stored)


def _with_relu(problem: Problem, given: Array) -> Iterator[Candidate]:
    """relu after a factor or a bias, which the elements that are left say."""
    d = problem.right
    left = given > 0
    if (given < 0).any() or left.all() or left.sum() < 4 or not problem.execution.formats["D"].is_float:
        return
    advice = "compare before the activation, or apply it to the reference too"
    with np.errstate(all="ignore"):
        ratio = float(np.median(given[left] / d[left]))  # infinite or NaN where D of another mistake is 0
    if np.isfinite(ratio) and (factor := _plain(ratio, max(2e-6, coarse(problem, given)[0] / 4))) > 0:
        stored = Stored(problem, codes_of(problem, np.maximum(factor * d, 0)), 2 * factor)
        yield Candidate(f"D is scaled by {factor:.9g}, and relu was applied to it", f"check alpha; {advice}", stored)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a line without elements that are left
        for axis, what in (((-1, -2), "one number"), (-2, "a number for each column"), (-1, "a number for each row")):
            bias = np.nan_to_num(np.nanmedian(np.where(left, given - d, np.nan), axis=axis, keepdims=True))
            stored = Stored(problem, codes_of(problem, np.maximum(d + bias, 0)), 4)
            text = f"{what} is added to D (a bias), and relu was applied to it"
            yield Candidate(text, f"add the bias to C; {advice}", stored)


def _plain(value: float, tolerance: float = 2e-6) -> float:
    """The simplest number that a fitted one may mean."""
    simple = Fraction(value).limit_denominator(64)
    near = float(simple)
    if abs(near - value) <= tolerance * max(abs(value), 0.25):
        return near
    power = 2.0 ** round(np.log2(abs(value))) * np.sign(value)
    return float(power) if abs(power - value) <= tolerance / 2 * abs(value) else value


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


def _scaled_words(problem: Problem, x: float, y: float, has_c: bool) -> tuple[str, str]:
    if not has_c or x == y:
        sign = "D has the opposite sign: it is" if x == -1 else "D is scaled by a constant: it is"
        return (
            f"{sign} {x:.9g} ({'A B + C' if has_c else 'A B'})",
            "check alpha, and the scales that the kernel applies",
        )
    if x == 1:
        times = {2: "C is added twice", 0: "C is not added", -1: "C is subtracted instead of added"}
        named = times.get(int(y) if y == int(y) else 9, f"C is added {y:.9g} times (beta)")
        return named, "check how the accumulator is initialised, and beta"
    if y == 1:
        times = {2: "the product is added twice", -1: "the product is subtracted: D is C - A B"}
        named = times.get(int(x) if x == int(x) else 9, f"the product is scaled by {x:.9g}, C is not (alpha)")
        return named, "reset the accumulator between tiles" if x == 2 else "check alpha"
    if abs(y) < 1e-6:
        return f"the product is scaled by {x:.9g}, and C is not added", "check alpha and beta"
    return f"D is {x:.9g} A B + {y:.9g} C (alpha and beta)", "check alpha and beta"


def _per_line(problem: Problem, given: Array) -> Iterator[Candidate]:
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
        shown = ", ".join(f"{x:.6g}" for x in factor.reshape(-1)[:4])
        spread = float(np.abs(factor).max())
        stored = Stored(problem, codes_of(problem, factor * d), 2 * spread)
        text = f"each {what} of D is scaled by a number of its own ({shown} ...)"
        yield Candidate(text, f"check the scales by {what}", stored)


def _biased(problem: Problem, given: Array) -> Iterator[Candidate]:
    """A number added to D everywhere or along rows or columns; C taken as one number."""
    d = problem.right
    if not problem.linear or not np.isfinite(given).all() or not np.isfinite(d).all():
        return
    zero = problem.approximate({"C": (None, np.zeros_like(problem.values["C"]))})
    with np.errstate(all="ignore"):
        starts = given - zero
        added = given - d
    constant = float(np.median(starts))
    if np.ptp(starts) <= 4 * problem.slack * problem.magnitude.max() and abs(constant) > 1e-30:
        text = f"the accumulator is {constant:.6g} in every element instead of C"
        stored = Stored(problem, codes_of(problem, zero + constant), 4)
        yield Candidate(text, "initialise the accumulator (with C, or with zero) before the first instruction", stored)
    for axis, what in (((-1, -2), "everywhere"), (-2, "to each column"), (-1, "to each row")):
        bias = np.median(added, axis=axis, keepdims=True)
        large = np.abs(bias) > 8 * problem.slack * problem.magnitude.max()
        if 2 * large.sum() <= large.size or d.shape[-1] < 4:
            continue  # a bias in a few lines only is something else: see `mmacalc.diagnosis.partial`
        shown = f"{bias.reshape(-1)[0]:.6g}" if what == "everywhere" else "a number of its own (a bias)"
        if what == "everywhere":
            text = f"{shown} is added everywhere"
        else:
            text = f"{shown} is added {what}"
        yield Candidate(
            text, "compare before the bias is added, or add it to C", Stored(problem, codes_of(problem, d + bias), 4)
        )
