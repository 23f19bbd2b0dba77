"""Test inputs for one instruction: random, identity, one-hot."""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import decode, encode, largest
from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..emulator.execution import Execution
    from ..formats import Format

    Array = NDArray[Any]

__all__ = ["encoded", "identity", "one_hot", "random"]


def _range(format: Format, signed: bool) -> tuple[int, int]:
    has_sign = format.kind == "signed" or (format.kind == "either" and signed)
    return (-(1 << (format.bits - 1)), (1 << (format.bits - 1)) - 1) if has_sign else (0, (1 << format.bits) - 1)


def _dense(execution: Execution, name: str) -> tuple[int, ...]:
    """The shape of a matrix, A with its zeros."""
    shape = execution.shapes[name]
    return (*shape[:-1], execution.inst.k) if name == "A" else shape


def random(execution: Execution, seed: int) -> dict[str, Array]:
    """Random values for every input, numbers of its format; the same for the same seed.

    Floats are from the standard normal distribution, integers up to 9 in magnitude (C 99), scales 2**-2 to 2**2. A
    sparse A has its zeros, in random places.
    """
    generator = np.random.default_rng(seed)
    result: dict[str, Array] = {}
    for name in "ABC":
        form, shape = execution.formats[name], _dense(execution, name)
        if form.is_float:
            values = generator.standard_normal(shape)
            result[name.lower()] = decode(encode(values, form), form)
        else:
            low, high = _range(form, execution.signed.get(name, True))
            most = 99 if name == "C" else 9
            result[name.lower()] = generator.integers(max(low, -most), min(high, most), shape, endpoint=True)
    if execution.sparsity:
        positions = execution.sparsity.period // execution.sparsity.unit
        shape = (*execution.shapes["A"][:-1], execution.inst.k // execution.sparsity.period, positions)
        kept = generator.random(shape).argsort(axis=-1) < execution.sparsity.entries
        result["a"] = result["a"] * np.repeat(kept, execution.sparsity.unit, axis=-1).reshape(result["a"].shape)
    for name in ("SA", "SB") if execution.block_size else ():
        scales = 2.0 ** generator.integers(-2, 3, execution.shapes[name])
        result[f"scale_{name[1].lower()}"] = encode(scales, execution.formats[name])
    return result


def _counting(execution: Execution) -> Array:
    """B as 0, 1, 2 ... row by row, starting over where the format cannot tell whole numbers apart any more."""
    form, shape = execution.formats["B"], execution.shapes["B"]
    exact = (2 << form.mantissa) if form.is_float else _range(form, execution.signed["B"])[1] + 1
    if form.is_float:
        exact = min(exact, int(largest(form.name)) + 1)
    return np.arange(np.prod(shape)).reshape(shape) % exact


def identity(execution: Execution) -> dict[str, Array]:
    """A with ones where row and k are equal, B that counts, C zero: D is B's first rows."""
    a = np.zeros(_dense(execution, "A"))
    a[..., :, :] = np.eye(a.shape[-2], a.shape[-1])
    return {"a": a, "b": _counting(execution), "c": np.zeros(execution.shapes["C"])}


def one_hot(execution: Execution, row: int, k: int) -> dict[str, Array]:
    """A with a single one, B that counts, C zero: row `row` of D is row `k` of B.

    Raises:
        Error: A has no such element.
    """
    a = np.zeros(_dense(execution, "A"))
    if row >= a.shape[-2] or k >= a.shape[-1]:
        raise Error(
            f"A of {execution.inst.name} has no [{row}][{k}]: rows are 0 to {a.shape[-2] - 1}, k 0 to {a.shape[-1] - 1}"
        )
    a[..., row, k] = 1
    return {"a": a, "b": _counting(execution), "c": np.zeros(execution.shapes["C"])}


def encoded(execution: Execution, values: Mapping[str, Array]) -> dict[str, Array]:
    """The same inputs as codes."""
    vendor = execution.inst.architecture.vendor
    return {
        name: encode(array, execution.formats[name.upper()], vendor, execution.signed.get(name.upper(), True))
        if name in ("a", "b", "c") else array
        for name, array in values.items()
    }  # fmt: skip
