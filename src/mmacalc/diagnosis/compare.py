"""Why is my kernel's D wrong? Compare it with the emulator's, and find the mistake that explains it.

`diagnose` says which elements differ and by how many units in the last place (ULP), where the wrong ones lie (rows,
columns, lanes, registers, tiles), and which mistake gives exactly what the kernel gave. A mistake is recomputed, not
guessed: it is named only if every element of D agrees with it, to the bit or at least up to rounding.

The search: the cheapest mistakes are tried first (`Explanation.cost`, in bits), each in float64 and on a few elements,
then on all, then by the emulator. Known ones (`library`) cost little; what the numbers themselves say costs more:
factors, biases, roundings, and the A, B or D that must have been there (`solve`).
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import decode, ulps
from ..base.checks import arguments_checked
from ..base.errors import Error
from ..base.records import TupleRecord, json_keys
from ..emulator.arrays import as_array, checked, rounded
from .edits import near
from .problem import Problem, parts, problem_of
from .search import Explanation, arithmetic_of, mistakes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["Diagnosis", "Difference", "Explanation", "diagnose", "product"]


class Difference(TupleRecord):
    """One element that differs: (batch, block, row, column) as D has them, both values, and the distance in ULP
    (None where one of them is NaN)."""

    element: tuple[int, ...]
    given: float
    expected: float
    ulps: int | None


@json_keys(
    "elements",
    "different",
    "max_ulps",
    "within_rounding=rounding",
    "differences",
    "where",
    "explanations",
    "arithmetic",
    "nearest",
)
class Diagnosis(TupleRecord):
    """What came of comparing.

    elements, different: how many there are, and how many differ; max_ulps: the largest distance (None with NaN);
    rounding: whether all differences are as small as rounding makes them; differences: each `Difference`, in
    order; where: sentences on where the differing elements lie; explanations: mistakes that account for all that
    is wrong, the likeliest first (where a GEMM has several kinds of wrong tiles, one for each kind, with its tiles);
    arithmetic: of a right D with other bits, ways of adding and rounding that give exactly these; nearest: the
    mistake that accounts for most of it, if none accounts for all.
    """

    elements: int
    different: int
    max_ulps: int | None
    rounding: bool
    differences: tuple[Difference, ...]
    where: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    arithmetic: tuple[Explanation, ...]
    nearest: Explanation | None

    @property
    def right(self) -> bool:
        """Whether D is right: to the bit, or up to rounding, in its place."""
        return self.rounding and not self.explanations


@arguments_checked
def diagnose(
    instruction: Instruction, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, *, d: ArrayLike | None = None,
    bits: bool = False, **rest: Any,
) -> Diagnosis:  # fmt: skip
    """Compare a kernel's D with what the instruction gives, and find the mistake that explains the difference.

    Args:
        instruction: what the kernel issues.
        d: the kernel's D, by name, so that it is not taken for A: (..., M, N) values, or encodings if `bits`;
            (..., N, M) is taken as transposed.
        a, b, c: the inputs, as for `Instruction.multiply` (`multiply_bits` if `bits`). Larger matrices, A (..., M, K)
            and B (..., K, N), are a whole GEMM, such as of `mmacalc.launch` or of a rocWMMA kernel: it is cut into
            tiles for the instruction, whose products are added in the order of k.
        rest: index, scale_a, scale_b, wave, clamp, satfinite and modifiers, as for `multiply`; alpha and beta, if the
            kernel computes alpha A B + beta C after the product.

    Raises:
        Error: no D, or an operand that does not fit; see `multiply`.

    >>> import mmacalc, numpy
    >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    >>> rng = numpy.random.default_rng(1)
    >>> a, b, c = (rng.standard_normal((16, 16)) for _ in range(3))
    >>> found = mmacalc.diagnose(inst, a, b, c, d=inst.multiply(a, b, c).T)
    >>> found.different, found.explanations[0].name
    (240, 'the tile is transposed: D[j][i] was stored as D[i][j]')
    >>> mmacalc.diagnose(inst, a, b, c, d=inst.multiply(a[:, ::-1], b, c)).explanations[0].name
    'k is not in the same order in A and B: A has it in reverse order'
    """
    if d is None:
        raise Error("diagnose() needs the kernel's D, by name: diagnose(instruction, a, b, c, d=D)")
    problem = problem_of(instruction, a, b, c, bits, rest)
    codes, turned = _given(problem, d, bits)
    return _compared(problem, codes, turned)


def product(
    instruction: Instruction, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, *, bits: bool = False, **rest: Any
) -> Array:
    """The D that `diagnose` compares with: of one instruction, or of a whole GEMM.

    Raises:
        Error: an operand that does not fit.
    """
    problem = problem_of(instruction, a, b, c, bits, rest)
    codes, form = problem.expected.reshape(*problem.batch, *problem.shapes["D"]), problem.execution.formats["D"]
    if bits:
        return codes
    values = decode(codes, form)
    return values if form.bits == 64 else values.astype(np.float32 if form.is_float else np.int32)


def _given(problem: Problem, given: ArrayLike, bits: bool) -> tuple[Array, bool]:
    """The kernel's D as codes of D's format, in D's shape; whether it came as (N, M)."""
    array = as_array(problem.execution, "D", given)
    shape = (*problem.batch, *problem.shapes["D"])
    turned = array.shape != shape
    if turned:
        if array.shape != (*shape[:-2], shape[-1], shape[-2]):
            raise Error(f"the D to compare has shape {array.shape}; D of {problem.inst.name} has shape {shape}")
        array = np.swapaxes(array, -1, -2)
    try:
        codes = (checked if bits else rounded)(problem.execution, "D", array)
    except Error as error:
        raise Error(f"the D to compare: {error}") from None
    return codes.reshape(problem.expected.shape), turned


def _compared(problem: Problem, given: Array, turned: bool) -> Diagnosis:
    form = problem.execution.formats["D"]
    values = [problem.decoded_d(codes) for codes in (given, problem.expected)]
    # Equal to the bit; any NaN equals any other, but minus zero is not zero.
    wrong = ~((given == problem.expected) | (np.isnan(values[0]) & np.isnan(values[1])))
    count = int(wrong.sum())
    moved: tuple[Explanation, ...] = ()
    if turned:
        columns, rows = problem.shapes["D"][-2:]
        text = f"D is transposed ({rows} x {columns}); all values are right"
        advice = "compare with D[i][j] in row i, or store the result the other way round"
        moved = (Explanation(text, advice, not count, 1.0, ()),)
    if not count:
        return Diagnosis(given.size, 0, 0, True, (), (), moved, (), None)
    distance = ulps(given, problem.expected, form)
    shape = (*problem.batch, *problem.shapes["D"])
    differences = tuple(_differences(wrong.reshape(shape), wrong, values, distance))
    largest = None if np.isnan(distance[wrong]).any() else int(np.max(distance, initial=0))
    bad = ~near(problem, values[0], values[1], problem.magnitude)
    if not bad.any():
        ways = arithmetic_of(problem, given)
        found = moved if ways or moved else mistakes_of(problem, given, wrong, exact_only=True)[0]
        return Diagnosis(given.size, count, largest, True, differences, (), found, ways, None)
    explanations, nearest = mistakes_of(problem, given, bad)
    where = () if explanations else tuple(_where(problem, bad, values[0]))
    return Diagnosis(given.size, count, largest, False, differences, where, explanations, (), nearest)


def _differences(
    places: Array, wrong: Array, values: list[Array], distance: NDArray[np.float64]
) -> Iterator[Difference]:  # fmt: skip
    """Each element that differs; places: which do, in the shape of D."""
    given, expected = (array[wrong].tolist() for array in values)
    ulp = (None if apart != apart else int(apart) for apart in distance[wrong].tolist())
    yield from map(Difference, zip(*(axis.tolist() for axis in np.nonzero(places))), given, expected, ulp)


def _where(problem: Problem, wrong: NDArray[np.bool_], given: Array) -> list[str]:
    """Sentences on what the wrong elements have in common."""
    if wrong.all():
        return ["They are all the elements of D."]
    exact, within = parts(problem, "D", np.asarray(wrong.any(axis=0)))
    sentences = [f"They are all the elements of {text}." for text in exact]
    if not exact and within:
        sentences.append(f"They lie in {', '.join(within)}.")
    for value, text in ((0.0, "zero"), (np.nan, "NaN"), (np.inf, "infinite")):
        hit: NDArray[np.bool_] = np.isnan(given) if np.isnan(value) else np.asarray(np.abs(given) == value)
        if hit[wrong].all():
            sentences.append(f"They are all {text}.")
    return sentences or ["They are in every row, column, lane and register."]
