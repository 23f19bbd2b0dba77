"""Why is my kernel's D wrong? Compare it with the emulator's, and find the mistake that explains it.

`compare` says which elements differ and by how many units in the last place (ULP), where the wrong ones lie (rows,
columns, lanes, registers), and which of the known mistakes (`mmacalc.diagnosis.mistakes`) gives exactly what the
kernel gave. A mistake is recomputed, not guessed: the emulator makes it, on the same input, and every element must
agree, to the bit or at least up to rounding.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import decode
from ..arithmetic.ulps import ulps
from ..emulator.arrays import as_array, checked, rounded
from ..emulator.rerun import Case, reference_case
from ..errors import Error
from ..records import TupleRecord
from .mistakes import MISTAKES
from .roundings import ROUNDINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction
    from .mistakes import Candidate

    Array = NDArray[Any]

__all__ = ["Comparison", "Difference", "Explanation", "compare", "ulps"]

# How far two sums of the same products may lie apart by rounding alone, relative to the sum of magnitudes.
SLACK = {"f64": 2.0**-48, "f32": 2.0**-20, "f16": 2.0**-9, "bf16": 2.0**-6}


class Difference(TupleRecord):
    """One element that differs: (batch, block, row, column) as D has them, both values, and the distance in ULP
    (None where one of them is NaN)."""

    element: tuple[int, ...]
    given: float
    expected: float
    ulps: int | None


class Explanation(TupleRecord):
    """A mistake that gives what was given.

    name: what was done; advice: what to do about it; exact: whether every bit agrees, not only the values up to
    rounding; share: how many of the elements that differ it accounts for, 0 to 1.
    """

    name: str
    advice: str
    exact: bool
    share: float


class Comparison(TupleRecord):
    """What came of comparing.

    elements, different: how many there are, and how many differ; max_ulps: the largest distance (None with NaN);
    rounding: whether all differences are as small as rounding makes them; differences: each `Difference`, in
    order; where: sentences on where the differing elements lie; explanations: mistakes that account for every
    element, the likeliest first; nearest: the one that accounts for most of them, if none accounts for all.
    """

    elements: int
    different: int
    max_ulps: int | None
    rounding: bool
    differences: tuple[Difference, ...]
    where: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    nearest: Explanation | None


def compare(
    inst: Instruction, given: ArrayLike, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, bits: bool = False, **rest: Any
) -> Comparison:
    """Compare a kernel's D with the emulator's.

    Args:
        given: the kernel's D, (..., M, N) values, or encodings if `bits`; (..., N, M) is taken as transposed.
        a, b, c, rest: the inputs, as for `multiply` (`multiply_bits` if `bits`).

    Raises:
        Error: an operand that does not fit; see `multiply`.

    >>> import mmacalc, numpy
    >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    >>> rng = numpy.random.default_rng(1)
    >>> a, b, c = (rng.standard_normal((16, 16)) for _ in range(3))
    >>> found = compare(inst, inst.multiply(a, b, c).T, a, b, c)
    >>> found.different, found.explanations[0].name
    (240, 'the tile is transposed: D[j][i] was stored as D[i][j]')
    """
    case = reference_case(inst, a, b, c, bits, rest)
    codes = _given(case, given, bits)
    return _compared(case, codes)


def _given(case: Case, given: ArrayLike, bits: bool) -> Array:
    """The kernel's D as codes of D's format, in D's shape."""
    array = as_array(case.execution, "D", given)
    shape = case.expected.shape
    if array.shape != shape:
        if array.shape != (*shape[:-2], shape[-1], shape[-2]):
            raise Error(f"the D to compare has shape {array.shape}; D of {case.execution.inst.name} has shape {shape}")
        array = np.swapaxes(array, -1, -2)
        case.turned = True
    try:
        return (checked if bits else rounded)(case.execution, "D", array)
    except Error as error:
        raise Error(f"the D to compare: {error}") from None


def _same(case: Case, x: Array, y: Array) -> NDArray[np.bool_]:
    """Equal to the bit; any NaN equals any other, but minus zero is not zero."""
    found: NDArray[np.bool_] = (x == y) | (_nan(case, x) & _nan(case, y))
    return found


def _nan(case: Case, codes: Array) -> NDArray[np.bool_]:
    return np.isnan(decode(codes, case.execution.formats["D"]).astype(np.float64))


def _compared(case: Case, given: Array) -> Comparison:
    wrong = ~_same(case, given, case.expected)
    count = int(wrong.sum())
    if not count and not case.turned:
        return Comparison(given.size, 0, 0, True, (), (), (), None)
    format_ = case.execution.formats["D"]
    distance = ulps(given, case.expected, format_)
    values = [decode(codes, format_) for codes in (given, case.expected)]
    differences = tuple(_difference(tuple(map(int, index)), values, distance) for index in np.argwhere(wrong))
    largest = None if np.isnan(distance[wrong]).any() else int(np.max(distance, initial=0))
    rounding = _close(case, values[0], values[1], case.magnitude()).all()
    explanations, nearest = _explained(case, given, wrong, bool(rounding))
    where = () if explanations or rounding else tuple(_where(case, wrong, values[0]))
    return Comparison(given.size, count, largest, bool(rounding), differences, where, explanations, nearest)


def _difference(index: tuple[int, ...], values: list[Array], distance: NDArray[np.float64]) -> Difference:
    given, expected = (value[index].item() for value in values)
    return Difference(index, given, expected, None if np.isnan(distance[index]) else int(distance[index]))


def _close(case: Case, x: Array, y: Array, magnitude: Array | float) -> NDArray[np.bool_]:
    """Whether values agree up to rounding."""
    if not case.execution.formats["D"].is_float:
        return np.asarray(x == y)
    slack = SLACK[case.execution.formats["D"].name]
    if kept := case.execution.numerics.parameters.get("kept"):
        slack = 2.0 ** (2 - kept)
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= slack * magnitude
    found: NDArray[np.bool_] = near | (x == y) | (np.isnan(x) & np.isnan(y))
    return found


def _explained(
    case: Case, given: Array, wrong: NDArray[np.bool_], rounding: bool
) -> tuple[tuple[Explanation, ...], Explanation | None]:
    """The mistakes that give what was given, and the nearest if there are none."""
    found: list[tuple[Explanation, bytes]] = []
    nearest, seen = None, {case.expected.tobytes()} if not case.turned else set()
    given_values, magnitude = decode(given, case.execution.formats["D"]), case.magnitude().max(initial=0)
    for mistake in (*MISTAKES, *ROUNDINGS):
        for candidate in mistake(case):
            bits = candidate.codes.tobytes()
            if bits in seen:
                continue
            seen.add(bits)
            same = _same(case, given, candidate.codes)
            share = float(same[wrong].mean()) if wrong.any() else float(same.mean())
            if same.all():
                found.append((Explanation(candidate.name, candidate.advice, True, 1.0), bits))
            elif (
                not rounding
                and _close(case, given_values, decode(candidate.codes, case.execution.formats["D"]), magnitude).all()
            ):
                found.append((Explanation(candidate.name, candidate.advice, False, 1.0), bits))
            elif nearest is None or share > nearest.share:
                nearest = Explanation(candidate.name, candidate.advice, False, share)
    exact = [explanation for explanation, _ in found if explanation.exact]
    explanations = tuple(exact or [explanation for explanation, _ in found])
    if not explanations and not rounding and (moved := _moved(case, given)):
        explanations = (moved,)
    useful = nearest if not explanations and nearest and nearest.share >= 0.25 else None
    return explanations, useful


# --- no known mistake: is it at least a permutation? ----------------------------------------------------------------


def _moved(case: Case, given: Array) -> Explanation | None:
    """The right elements in other places: which row and column each one comes from, if that is a rule."""
    expected = case.expected
    flat_given, flat_expected = given.ravel(), expected.ravel()
    order = np.argsort(flat_expected, kind="stable")
    if len(np.unique(flat_expected)) != flat_expected.size:
        return None
    if not np.array_equal(np.sort(flat_given), flat_expected[order]):
        return None
    source = order[np.searchsorted(flat_expected[order], flat_given)]
    places = np.stack(np.unravel_index(source.reshape(expected.shape), expected.shape), axis=-1)
    axes = ("batch " * (expected.ndim - len(case.execution.shapes["D"]))).split()
    axes += ["block"] * (len(case.execution.shapes["D"]) - 2) + ["row", "column"]
    rules = []
    for axis, name in enumerate(axes):
        along = np.moveaxis(places[..., axis], axis, 0).reshape(expected.shape[axis], -1)
        if (along == along[:, :1]).all():
            moved = along[:, 0]
            if not np.array_equal(moved, np.arange(len(moved))):
                rules.append(f"{name}s come from {_runs(moved)}")
        else:
            rules.append(f"{name}s are mixed")
    inst = case.execution.inst
    return Explanation(
        "the elements are right, but in other places: " + "; ".join(rules),
        f"the layout of D: `mmacalc -a {inst.arch} -i {inst.name} -D --pattern`", True, 1.0,
    )  # fmt: skip


def _runs(numbers: NDArray[np.intp]) -> str:
    """Whole numbers in order, runs shortened: 4-7 0-3."""
    parts: list[list[int]] = []
    for number in map(int, numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return " ".join(f"{part[0]}-{part[-1]}" if len(part) > 2 else " ".join(map(str, part)) for part in parts)


# --- where the wrong elements are -----------------------------------------------------------------------------------


def _where(case: Case, wrong: NDArray[np.bool_], given: Array) -> list[str]:
    """Sentences on what the wrong elements have in common."""
    if wrong.all():
        return ["They are all the elements of D."]
    table = {}
    if case.execution.in_registers("D"):
        place = case.execution.places("D")
        table = {"lane": place.lane[..., 0], "register": place.register[..., 0]}
    index = np.indices(case.execution.shapes["D"])
    names = ("block", "row", "column")[-len(index) :]
    table = {**dict(zip(names, index)), **table}
    any_wrong: NDArray[np.bool_] = np.asarray(wrong.reshape(-1, *case.execution.shapes["D"]).any(axis=0))
    exact: list[str] = []
    within: list[str] = []
    for name in table:
        numbers, everywhere = np.unique(table[name][any_wrong]), np.unique(table[name])
        if len(numbers) < len(everywhere):
            text = f"{name}{'s' if len(numbers) > 1 else ''} {_runs(numbers)}"
            (exact if any_wrong[np.isin(table[name], numbers)].all() else within).append(text)
    sentences = [f"They are all the elements of {text}." for text in exact]
    if not exact and within:
        sentences.append(f"They lie in {', '.join(within)}.")
    for value, text in ((0.0, "zero"), (np.nan, "NaN"), (np.inf, "infinite")):
        hit: NDArray[np.bool_] = np.isnan(given) if np.isnan(value) else np.asarray(np.abs(given) == value)
        if hit[wrong].all():
            sentences.append(f"They are all {text}.")
    return sentences or ["They are in every row, column, lane and register."]


def candidates(case: Case) -> list[Candidate]:
    """Everything that the known mistakes would give, for tests."""
    return [candidate for mistake in (*MISTAKES, *ROUNDINGS) for candidate in mistake(case)]
