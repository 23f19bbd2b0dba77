"""Inputs made up for one instruction: random, identity, one-hot; and inputs on which its rounding shows."""

from __future__ import annotations

from collections import namedtuple
from fractions import Fraction

import numpy as np

from ..errors import Error
from .decode import decode, encode, largest, round_to_format
from .matrices import dot
from .models import MODELS, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format
    from .call import Call

    Array = NDArray[Any]

__all__ = ["Witness", "encoded", "identity", "one_hot", "random", "witness"]


def _range(format: Format, signed: bool) -> tuple[int, int]:
    has_sign = format.kind == "signed" or (format.kind == "either" and signed)
    return (-(1 << (format.bits - 1)), (1 << (format.bits - 1)) - 1) if has_sign else (0, (1 << format.bits) - 1)


def _dense(made: Call, name: str) -> tuple[int, ...]:
    """The shape of a matrix, A with its zeros."""
    shape = made.shapes[name]
    return (*shape[:-1], made.inst.k) if name == "A" else shape


def random(made: Call, seed: int) -> dict[str, Array]:
    """Random values for every input, numbers of its format; the same for the same seed.

    Floats are from the standard normal distribution, integers up to 9 in magnitude (C 99), scales 2**-2 to 2**2. A
    sparse A has its zeros, in random places.
    """
    generator = np.random.default_rng(seed)
    result: dict[str, Array] = {}
    for name in "ABC":
        form, shape = made.formats[name], _dense(made, name)
        if form.is_float:
            values = generator.standard_normal(shape)
            result[name.lower()] = decode(encode(values, form), form)
        else:
            low, high = _range(form, made.signed.get(name, True))
            most = 99 if name == "C" else 9
            result[name.lower()] = generator.integers(max(low, -most), min(high, most), shape, endpoint=True)
    if made.sparsity:
        positions = made.sparsity.period // made.sparsity.unit
        shape = (*made.shapes["A"][:-1], made.inst.k // made.sparsity.period, positions)
        kept = generator.random(shape).argsort(axis=-1) < made.sparsity.entries
        result["a"] = result["a"] * np.repeat(kept, made.sparsity.unit, axis=-1).reshape(result["a"].shape)
    for name in ("SA", "SB") if made.block_size else ():
        scales = 2.0 ** generator.integers(-2, 3, made.shapes[name])
        result[f"scale_{name[1].lower()}"] = encode(scales, made.formats[name])
    return result


def _counting(made: Call) -> Array:
    """B as 0, 1, 2 ... row by row, starting over where the format cannot tell whole numbers apart any more."""
    form, shape = made.formats["B"], made.shapes["B"]
    exact = (2 << form.mantissa) if form.is_float else _range(form, made.signed["B"])[1] + 1
    if form.is_float:
        exact = min(exact, int(largest(form.name)) + 1)
    return np.arange(np.prod(shape)).reshape(shape) % exact


def identity(made: Call) -> dict[str, Array]:
    """A with ones where row and k are equal, B that counts, C zero: D is B's first rows."""
    a = np.zeros(_dense(made, "A"))
    a[..., :, :] = np.eye(a.shape[-2], a.shape[-1])
    return {"a": a, "b": _counting(made), "c": np.zeros(made.shapes["C"])}


def one_hot(made: Call, row: int, k: int) -> dict[str, Array]:
    """A with a single one, B that counts, C zero: row `row` of D is row `k` of B.

    Raises:
        Error: A has no such element.
    """
    a = np.zeros(_dense(made, "A"))
    if row >= a.shape[-2] or k >= a.shape[-1]:
        raise Error(
            f"A of {made.inst.name} has no [{row}][{k}]: rows are 0 to {a.shape[-2] - 1}, k 0 to {a.shape[-1] - 1}"
        )
    a[..., row, k] = 1
    return {"a": a, "b": _counting(made), "c": np.zeros(made.shapes["C"])}


def encoded(made: Call, values: Mapping[str, Array]) -> dict[str, Array]:
    """The same inputs as codes."""
    vendor = made.inst.architecture.vendor
    return {
        name: encode(array, made.formats[name.upper()], vendor, made.signed.get(name.upper(), True))
        if name in ("a", "b", "c") else array
        for name, array in values.items()
    }  # fmt: skip


# --- inputs on which the rounding shows -----------------------------------------------------------------------------


class Witness(namedtuple("Witness", "a b c instruction exact fused")):
    """One dot product on which an instruction is not what one might expect.

    a, b: k values; c: the accumulator; instruction: what the instruction gives; exact: the exact sum rounded once to
    nearest even; fused: a chain of fused multiply-adds in the order of k, each rounded to nearest even.
    """

    __slots__ = ()
    a: tuple[float, ...]
    b: tuple[float, ...]
    c: float
    instruction: float
    exact: float
    fused: float


def witness(made: Call, tries: int = 4000) -> Witness | None:
    """The simplest dot product found on which the instruction differs from the exact sum and from a chain of fused
    multiply-adds (from those of the two that it is not); None if there is none, as for integers.

    Candidates are signed powers of two, few of them not zero; the instruction itself computes each answer.
    """
    model, stored = made.numerics.model, made.shapes["A"][-1]
    if model == "I":
        return None
    whole = made.numerics.parameters.get("group", stored) == stored
    own = {"X": "exact", "F": "fused"}.get(model) if whole else None
    generator = np.random.default_rng(0)
    for used in (1, 2, 3, 4, 6, 8):
        if used <= stored:
            a, b, c = _candidates(made, generator, used, tries)
            found = _computed(made, a, b, c)
            finite = np.isfinite(np.stack(list(found.values()))).all(axis=0)
            subject = "instruction" if own is None else own
            others = {"exact", "fused"} - {subject}
            differ = finite & np.all([found[subject] != found[other] for other in others], axis=0)
            if differ.any():
                spread = np.abs(np.log2(np.where(a == 0, 1, np.abs(a)))).sum(axis=1) + np.abs(
                    np.log2(np.where(c == 0, 1, np.abs(c)))
                )
                best = int(np.argmin(np.where(differ, spread, np.inf)))
                values = {name: float(array[best]) for name, array in found.items()}
                return Witness(tuple(a[best].tolist()), tuple(b[best].tolist()), float(c[best]), **values)
    return None


def _candidates(made: Call, generator: np.random.Generator, used: int, tries: int) -> tuple[Array, Array, Array]:
    """Dot products of which the first `used` products are not zero."""
    form, stored = made.formats["A"], made.shapes["A"][-1]
    a, b = np.zeros((tries, stored)), np.zeros((tries, stored))
    lowest, highest = 1 - form.bias - form.mantissa, int(np.log2(largest(form.name)))
    span = min(40, max(-lowest, highest))
    at = np.arange(used)
    sign = generator.choice([-1.0, 1.0], (tries, used))
    odd = generator.choice([1.0, 1.0, 1.5], (tries, used)) if form.mantissa else 1.0
    a[:, at] = sign * odd * 2.0 ** generator.integers(max(lowest, -span), min(highest, span), (tries, used))
    other = made.formats["B"]
    low = max(1 - other.bias - other.mantissa, -span)
    b[:, at] = np.where(generator.random((tries, used)) < 0.5, 1.0, 2.0 ** generator.integers(low, 1, (tries, used)))
    c = generator.choice([0.0, 1.0, 1.0, -1.0], tries) * 2.0 ** generator.integers(-12, 13, tries)
    c = np.where(generator.random(tries) < 0.3, c * (1 + 2.0 ** -made.formats["C"].mantissa), c)
    return a, b, c


def _computed(made: Call, a: Array, b: Array, c: Array) -> dict[str, Array]:
    """The three sums of each candidate, the instruction's by the instruction."""
    result = dot(made.inst, a, b, c, **made.fields).astype(np.float64)
    out = made.formats["D"]
    forms = [made.formats[name] for name in "ABC"]
    x, y, z = (numbers(round_to_format(np.asarray(v, np.float64), form), form) for v, form in zip((a.T, b.T, c), forms))
    with np.errstate(all="ignore"):
        fused = MODELS["F"](x, y, z, out)
        exact = _exact(a, b, c) if out.name == "f64" else MODELS["X"](x, y, z, out)
    return {"instruction": result, "exact": exact, "fused": fused}


def _exact(a: Array, b: Array, c: Array) -> Array:
    """The exact sums of float64 products, rounded once."""
    sums = []
    for row, column, start in zip(a.tolist(), b.tolist(), c.tolist()):
        total = Fraction(start) + sum(Fraction(x) * Fraction(y) for x, y in zip(row, column) if x and y)
        sums.append(float(total))
    return np.array(sums)
