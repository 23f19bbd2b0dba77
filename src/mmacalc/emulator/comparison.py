"""One product on several GPUs: will my loss differ, by how much, and in which direction?

`compare_numerics` computes the same product with the arithmetic of each GPU and says of each how many results have the
bits of the first, and how far they are from the exact product: the error is divided by the sum of |a| |b|, since the
error relative to a result that cancels says nothing about the arithmetic. Its mean with sign is the bias: where sums
are cut toward zero it does not average out. Besides stands a bound that no input exceeds.

**The bound.** Let S be the sum of |a| |b| of an element of D (C is zero). A model adds one group after the other to
the accumulator. All its terms, and the accumulator, are at most S in magnitude, but for the error made so far; so the
error of one group is at most u S, where u counts what the model does to a group:

    fma_chain           each addition rounded: 2^-24 to nearest, 2^-23 directed (f16 results: 2^-11)
    exact               one rounding a group, 2^-24
    pairwise_f32        each product and log2(group) + 1 additions rounded, 2^-24 each
    two_chains          K/2 products, the two sums, and C, each rounded, 2^-24
    rounded_to_odd      each product and sum of a group rounded to odd, 2^-23
    aligned_truncated   group + 1 terms cut below the largest exponent, less than 2^-fraction times the largest term
                        each; the sum cut, 2^-23 (2^-kept; f16 results: 2^-11)
    fp8_two_halves      the same, groups of 16, and C at the end
    two_stage_floored   group + 1 terms cut, 2^-fraction; the sums floored, 2^-dot_fraction and 2^-sum_fraction; rounded
    dot4_floored ...    the terms cut or floored, 2^-fraction each; a one's complement one unit more; rounded
    block_scaled_fp4    a term for each run of the block scale, 2^(2 - fraction); the sum cut, 2^-23

After n groups the error is at most ((1 + u)^n - 1) S; of s chains that are added in f32 (split-K, promotion), with the
groups of the longest, ((1 + u)^n (1 + 2^-24)^s - 1) S; where their sums are kept in f16 or bf16, (1 + v)^(s + 1) takes
the place of (1 + 2^-24)^s, v being half a unit of that format; a D that is converted is rounded once more. This is the
usual argument for dot products (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., 2002, section 3.1),
for blocks as in Blanchard, Higham, Lopez, Mary and Pranesh, "Mixed precision block fused multiply-add: error analysis
and application to GPU tensor cores" (SIAM J. Sci. Comput. 42(3), 2020, section 3). It supposes that nothing overflows,
and that no product or sum is subnormal.
"""

from __future__ import annotations

from math import log2

import numpy as np

from ..arithmetic.codecs import decode
from ..arithmetic.numerics import Numerics
from ..base.checks import arguments_checked
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord, json_keys
from ..formats import FORMATS
from .arrays import rounded
from .execution import execution_of
from .gemm import gemm
from .plan import best_instruction, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction
    from .execution import Execution
    from .gemm import Emulation

    Array = NDArray[Any]

__all__ = ["DISTRIBUTIONS", "GpuNumerics", "Growth", "NumericsComparison", "bound", "compare_numerics"]

DISTRIBUTIONS: dict[str, tuple[str, Callable[[np.random.Generator, tuple[int, int]], Array]]] = {
    "normal": ("N(0, 1), as weights and activations before a nonlinearity", lambda r, s: r.standard_normal(s)),
    "positive": ("|N(0, 1)|: sums that only grow, as of variances", lambda r, s: abs(r.standard_normal(s))),
    "relu": ("max(N(0, 1), 0): half are zero", lambda r, s: np.maximum(r.standard_normal(s), 0)),
    "uniform": ("from -1 to 1", lambda r, s: r.uniform(-1, 1, s)),
    "wide": ("N(0, 1) times 2 to a power of -4 to 4: few terms decide",
             lambda r, s: r.standard_normal(s) * 2.0 ** r.integers(-4, 5, s)),
}  # fmt: skip
"""The named distributions of A and B: what they stand for, and a function of a generator and a shape."""

PERCENTILES = (50, 90, 99)
SHORTEST = 64
"""The K from which on the growth of the error is shown."""
FEW = 16
"""Rows and columns of D of which the growth with K is computed."""
LARGEST = 1 << 26
"""Elements of the largest matrix."""


class Growth(TupleRecord):
    """The errors of the first k products: the mean with sign, and the largest, over the sum of |a| |b|; their bound."""

    k: int
    signed: float
    largest: float
    bound: float


@json_keys(
    "gpu=architecture: as it was asked for", "architecture=instruction.arch", "instruction=instruction.name",
    "modifiers",
    "model=numerics.model", "provenance=numerics.provenance", "split_k: how many chains are added",
    "equal: the share of the elements of D with the bits of the first GPU's",
    "converted: elements of A and B with another value than for the first GPU",
    "signed_error=signed: the mean of (D - exact) / sum |a| |b|",
    "percentiles: of |D - exact| / sum |a| |b|, by percent; 100 is the largest", "bound: what no input exceeds",
    "growth",
)  # fmt: skip
class GpuNumerics(TupleRecord):
    """One product with the arithmetic of one GPU.

    Attributes:
        architecture: as it was asked for. instruction, modifiers: what is chained. numerics: its model.
        split_k: how many chains are added.
        equal: the share of the elements with the bits of the first GPU's. converted: how many elements of A and B have
            another value than for the first GPU, since its format does not have them.
        signed: the mean of (D - exact) / sum |a| |b|. percentiles: of its magnitude, by percent, 100 being the
            largest. bound: what no input exceeds; see `mmacalc.emulator.comparison`.
        growth: the same for shorter K, on some rows and columns.
    """

    architecture: str
    instruction: Instruction
    modifiers: Mapping[str, int]
    numerics: Numerics
    split_k: int
    equal: float
    converted: int
    signed: float
    percentiles: Mapping[int, float]
    bound: float
    growth: tuple[Growth, ...]


class NumericsComparison(TupleRecord):
    """One product on several GPUs. shape: (M, N, K); format: of A and B; distribution: its name, or "as given";
    accumulate: the format of sums between chains; d_type: that which D is converted to, "" if it is not."""

    shape: tuple[int, int, int]
    format: str
    distribution: str
    gpus: tuple[GpuNumerics, ...]
    accumulate: str = ""
    d_type: str = ""


@arguments_checked
def compare_numerics(
    architectures: Sequence[str], a: ArrayLike | None = None, b: ArrayLike | None = None, *, type: str | None = None,
    shape: Sequence[int] = (64, 64, 4096), distribution: str = "normal", seed: int = 0, promote: int = 0,
    split_k: Any = 1, k_order: Any = "ascending", accumulate: str | None = None, d_type: str | None = None,
) -> NumericsComparison:  # fmt: skip
    """The same product with the arithmetic of several GPUs: equal bits, bias, errors and their bounds.

    Args:
        architectures: any names of architectures, targets or products; the others are compared with the first.
        a, b: A (M, K) and B (K, N); without them random ones of `shape` (M, N, K).
        type: the format of A and B: bf16, f16, fp8 ...; each GPU's own (fp8 of gfx942 is FNUZ). The instruction is that
            which takes the matrix units the least time for it, with the widest accumulator.
        distribution: of random A and B: one of `DISTRIBUTIONS`: normal, positive, relu, uniform, wide.
        promote: start a new chain each `promote` k, and add their results in f32, on every GPU whose instructions fit.
        split_k, k_order, accumulate, d_type: as for `gemm`, but for stream-K.

    Raises:
        Error: no type; a format whose results are integers or f64; an architecture without such an instruction;
            matrices that do not fit.

    >>> found = compare_numerics(["H100", "MI300X"], type="bf16", shape=(16, 16, 1024), distribution="positive")
    >>> [(gpu.instruction.arch, f"{gpu.signed:+.0e}", gpu.percentiles[100] < gpu.bound) for gpu in found.gpus]
    [('sm_90a', '-2e-06', True), ('cdna3', '+2e-08', True)]
    """
    if not architectures or isinstance(architectures, str):
        raise Error('compare_numerics() takes a list of architectures, such as ["H100", "MI300X"]')
    if type is None:
        raise Error("compare_numerics() needs the type of A and B: bf16, f16, fp8 ...")
    named = distribution if a is None and b is None else "as given"
    matrices = _matrices(a, b, shape, distribution, seed)
    m, n, k = matrices[0].shape[0], matrices[1].shape[1], matrices[0].shape[1]
    if isinstance(split_k, str) and split_k.startswith("stream-k"):
        raise Error("stream-K cuts each tile of D in another way; gemm() has it, compare_numerics() has no bound of it")
    options = {"promote": promote, "split_k": split_k, "k_order": k_order, "accumulate": accumulate, "d_type": d_type}
    gpus: list[GpuNumerics] = []
    first: tuple[Array, Array, Array] | None = None  # D, A, B
    for architecture in architectures:
        inst, fields = best_instruction(architecture, type, (m, n, k))
        _require_floats(inst, fields, type)
        made = _Product(inst, fields, matrices if first is None else first[1:])
        d, emulation = made.d(options)
        first = first or (d, made.a, made.b)
        converted = int((made.a != first[1]).sum() + (made.b != first[2]).sum())
        errors = made.errors(d)
        gpus.append(GpuNumerics(
            architecture, inst, fields, emulation.numerics, emulation.split_k, float(np.mean(d == first[0])), converted,
            float(errors.mean()), _percentiles(errors), bound(made.execution, emulation), made.growth(options),
        ))  # fmt: skip
    return NumericsComparison((m, n, k), type, named, tuple(gpus), accumulate or "", d_type or "")


class _Product:
    """A product with the arithmetic of one instruction, and its exact value."""

    def __init__(self, inst: Instruction, fields: Mapping[str, int], given: tuple[Array, Array]) -> None:
        self.inst, self.fields = inst, fields
        self.execution = execution_of(inst, None, fields, False, False)
        self.a, self.b = (
            decode(rounded(self.execution, name, array), self.execution.formats[name]).astype(np.float64)
            for name, array in zip("AB", given)
        )
        if not (np.isfinite(self.a).all() and np.isfinite(self.b).all()):
            raise Error(f"A or B has infinities or NaN in the formats of {inst.name} of {inst.arch}")

    def d(self, options: Mapping[str, Any], rows: Any = slice(None), k: Any = slice(None)) -> tuple[Array, Any]:
        """D, or its first rows, columns and products."""
        d = gemm(self.a[rows, k], self.b[k, rows], 0, None, self.inst, **{**options, **self.fields})
        return np.asarray(d, np.float64), d.emulation

    def errors(self, d: Array, rows: Any = slice(None), k: Any = slice(None)) -> Array:
        """(D - exact) / sum |a| |b|; 0 where that is 0. The product in float64 is taken as exact: its own error over
        that sum is K 2^-53 at most."""
        a, b = self.a[rows, k], self.b[k, rows]
        size = np.abs(a) @ np.abs(b)
        found: Array = (d - a @ b) / np.where(size == 0, 1.0, size)
        return found

    def growth(self, options: Mapping[str, Any]) -> tuple[Growth, ...]:
        """The errors for K of powers of two."""
        whole, found = self.a.shape[1], []
        plain = {**options, "split_k": 1, "k_order": "ascending"}
        if not options["promote"]:
            plain["accumulate"] = None
        sizes = [SHORTEST << step for step in range(32) if SHORTEST << step < whole]
        for k in (*sizes, whole):
            few = slice(FEW)
            d, emulation = self.d(plain if k < whole else options, few, slice(k))
            errors = self.errors(d, few, slice(k))
            largest = float(np.abs(errors).max(initial=0))
            found.append(Growth(k, float(errors.mean()), largest, bound(self.execution, emulation)))
        return tuple(found)


def _matrices(
    a: ArrayLike | None, b: ArrayLike | None, shape: Sequence[int], distribution: str, seed: int
) -> tuple[Array, Array]:
    """A and B as numbers, given or random."""
    if (a is None) != (b is None):
        raise Error(f"compare_numerics() takes A and B, or neither; {'A' if a is None else 'B'} is missing")
    if a is not None and b is not None:
        try:
            found = tuple(np.asarray(x) for x in (a, b))
            if any(array.dtype.kind == "c" for array in found):
                raise TypeError("complex")
            found = tuple(array.astype(np.float64) for array in found)
        except (TypeError, ValueError, OverflowError):
            raise Error("compare_numerics(): A and B should be matrices of numbers") from None
        if any(array.ndim != 2 for array in found) or found[0].shape[1] != found[1].shape[0] or 0 in found[0].shape:
            raise Error(
                f"A is {shape_text(found[0].shape)} and B {shape_text(found[1].shape)}; they need (M, K) and (K, N)"
            )
        return found[0], found[1]
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else ()
    if seed < 0:
        raise Error(f"seed = {seed} should not be negative")
    if len(sizes) != 3 or any(not isinstance(size, (int, np.integer)) or size < 1 for size in sizes):
        raise Error(f"shape = {shape!r} should be three positive whole numbers, (M, N, K)")
    m, n, k = sizes
    if (largest := max(m * k, k * n, m * n)) > LARGEST:
        text = shape_text(sizes)
        raise Error(f"shape = {text} has a matrix of {largest} elements; at most {LARGEST} are made")
    if distribution not in DISTRIBUTIONS:
        known = ", ".join(DISTRIBUTIONS)
        raise Error(f"distribution = '{distribution}' is none of {known}.{did_you_mean(distribution, DISTRIBUTIONS)}")
    generator, make = np.random.default_rng(seed), DISTRIBUTIONS[distribution][1]
    return make(generator, (m, k)), make(generator, (k, n))


def _require_floats(inst: Instruction, fields: Mapping[str, int], form: str) -> None:
    result = inst.format("D", fields)
    if not result.is_float or result.bits == 64:
        why = "integers, which are exact" if not result.is_float else "f64: gemm(compare=True) has their distance"
        raise Error(f"products of {form} have results of {why}; compare_numerics() is for f32, f16 and bf16")


def _percentiles(errors: Array) -> dict[int, float]:
    size = np.abs(errors)
    return {percent: float(np.percentile(size, percent)) for percent in (*PERCENTILES, 100)}


# --- the bound --------------------------------------------------------------------------------------------------------


def bound(execution: Execution, emulation: Emulation) -> float:
    """The largest error of any element of D over its sum of |a| |b|, by the argument at the head of this module.

    Args:
        emulation: how K is cut, the sums of chains are kept, and D is converted.
    """
    groups, unit = _groups(execution)
    longest = int(np.diff(emulation.cuts).max(initial=0))
    chains = len(emulation.cuts) - 1
    grown = longest * groups * np.log1p(unit)
    if chains > 1:
        kept = emulation.accumulate != "f32"
        grown += (chains + kept) * np.log1p(_half_unit(emulation.accumulate))
    if emulation.d_type != execution.formats["D"].name:
        grown += np.log1p(_half_unit(emulation.d_type))
    return float(np.expm1(grown))


def _half_unit(form: str) -> float:
    return float(2.0 ** -(FORMATS[form].mantissa + 1))


def _groups(execution: Execution) -> tuple[float, float]:
    """How many groups an instruction adds, and what one of them may add to the error."""
    model, given, k = execution.numerics.model, execution.numerics.parameters, execution.inst.k
    out = execution.formats["D"]
    cut = 2.0 ** -given.get("kept", 23) if out.name == "f32" else 2.0 ** -(out.mantissa + 1)
    nearest = 2.0 ** -(out.mantissa + 1)
    group = min(given.get("group") or k, k)
    count, term = -(-k // group), 2.0 ** -given.get("fraction", 0)
    if model == "fma_chain":
        return k, nearest if given.get("rounding", "rn") == "rn" else 2 * nearest
    if model == "exact":
        return count, nearest
    if model == "two_chains":
        return k // 2 + 2, nearest
    if model == "rounded_to_odd":
        return count, (group + 1) * 2.0**-23
    if model == "pairwise_f32":
        return count, (log2(group) + 2) * 2.0**-24
    if model == "aligned_truncated":
        return count, (group + 1) * term + cut
    if model == "fp8_two_halves":
        return 3, (min(16, k // 2) + 2) * term + 2.0**-23 + cut
    if model in ("two_stage_floored", "two_stage_floored_even_odd"):
        floors = 2.0 ** -given["dot_fraction"] + 2.0 ** -given["sum_fraction"]
        return count, (group + 4) * term + floors + nearest
    if model in ("dot2_ones_complement", "dot4_floored"):
        return count, 2 * (group + 2) * term + 2 * nearest
    if model == "block_scaled_fp4":
        return 1, (k // group + 1) * 4 * term + cut
    raise Error(f"no bound is known for the model {model}")
