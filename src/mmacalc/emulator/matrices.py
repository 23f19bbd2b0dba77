"""D = A B + C on matrices: `multiply` on values, `multiply_bits` on encodings, `dot` on many dot products."""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import decode, encode
from ..arithmetic.models import MODELS, Numbers
from ..base.checks import arguments_checked
from ..base.errors import Error
from ..families.tensor_memory import types_of
from ..formats import FORMATS, NUMPY_NAMES
from .arrays import TYPE_WORDS, checked, rounded
from .computing import compute, integers, numbers
from .execution import Execution, compress, execution_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction

    Array = NDArray[Any]
    from collections.abc import Mapping, Sequence

VALUES: dict[str, type[np.number[Any]]] = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "u32": np.uint32}
"""The types whose memory is the encoding."""

__all__ = ["dot", "extras", "fitted_execution", "multiply", "multiply_bits", "prepared"]


def multiply(execution: Execution, matrices: Sequence[Any], more: Sequence[Any]) -> Array:
    """What `Instruction.multiply` does under the modifiers of an execution.

    Args:
        execution: see `fitted_execution`; matrices: A, B and C; more: the index and the scales of A and B, or None.
    """
    codes = {name: rounded(execution, name, value) for name, value in zip("ABC", matrices)}
    codes |= extras(execution, *more)
    out = execution.formats["D"]
    found = compute(execution, prepared(execution, codes), rearrange=True)
    if out.name in VALUES:
        return found.view(VALUES[out.name])
    return decode(found, out).astype(np.float32 if out.is_float else np.int32)


def multiply_bits(execution: Execution, matrices: Sequence[Any], more: Sequence[Any]) -> Array:
    """What `Instruction.multiply_bits` does; the arguments are as for `multiply`."""
    codes = {name: checked(execution, name, value) for name, value in zip("ABC", matrices)}
    codes |= extras(execution, *more)
    return compute(execution, prepared(execution, codes), rearrange=True)


@arguments_checked
def dot(inst: Instruction, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, **modifiers: int | str) -> Array:
    """Many dot products, each as the instruction would compute it for one element of D.

    Args:
        a, b: values (n, K), rounded to the formats of A and B; for a sparse instruction the K/2 products that count.
        c: values (n), or a number. Block scales are 1.
        modifiers: those that choose formats, or make integers signed.

    Returns:
        n values, typed as those of `multiply`.

    >>> import mmacalc, numpy
    >>> volta = mmacalc.instruction("sm_70", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
    >>> dot(volta, [[4096, 1, 1, 0]], [[4096, 1, 1, 0]]) - 2.0**24
    array([0.], dtype=float32)
    """
    execution = execution_of(inst, None, modifiers, False, False)
    codes = {name: rounded(execution, name, value) for name, value in (("A", a), ("B", b), ("C", c))}
    count, stored = codes["A"].shape if codes["A"].ndim == 2 else (0, 0)
    if (
        stored != execution.shapes["A"][-1]
        or codes["B"].shape != codes["A"].shape
        or codes["C"].shape not in ((), (count,))
    ):
        raise Error(
            f"dot products on {inst.name} take a and b of shape (n, {execution.shapes['A'][-1]}) and c of shape (n,); "
            f"got {codes['A'].shape}, {codes['B'].shape} and {codes['C'].shape}"
        )
    start = np.broadcast_to(codes["C"], (count,))
    out = execution.formats["D"]
    with np.errstate(all="ignore"):
        if execution.numerics.model == "integer":
            values = integers(
                execution, {"A": codes["A"][:, None], "B": codes["B"][..., None], "C": start[:, None, None]}
            )
            return decode(values[:, 0, 0], out).astype(np.int32)
        x, y = (numbers(np.ascontiguousarray(codes[name].T), execution.formats[name]) for name in "AB")
        extra = dict(execution.numerics.parameters)
        if execution.numerics.model == "block_scaled_fp4":
            extra |= dict.fromkeys(("scale_a", "scale_b"), Numbers(np.ones((stored, 1)), np.ones((stored, 1))))
        found: Array = MODELS[execution.numerics.model](x, y, numbers(start, execution.formats["C"]), out, **extra)
    return found if out.bits == 64 else found.astype(np.float32)


# --- what is given ----------------------------------------------------------------------------------------------


def extras(
    execution: Execution, index: ArrayLike | None, scale_a: ArrayLike | None, scale_b: ArrayLike | None
) -> dict[str, Array]:
    """The index and the scales, as far as they are given."""
    if index is None and scale_a is None and scale_b is None:
        return {}
    name = execution.inst.name
    if index is not None and not execution.sparsity:
        raise Error(f"{name} is not sparse, so it takes no index")
    if not execution.block_size and (scale_a is not None or scale_b is not None):
        raise Error(f"{name} has no block scales, so it takes no scale_a and scale_b")
    given = {"K": index, "SA": scale_a, "SB": scale_b}
    return {operand: checked(execution, operand, value) for operand, value in given.items() if value is not None}


def prepared(execution: Execution, codes: dict[str, Array]) -> dict[str, Array]:
    """Everything the model needs, with shapes checked: a dense A compressed, scales of 1 filled in."""
    inst = execution.inst
    if execution.sparsity and "K" not in codes:
        dense = (*execution.shapes["A"][:-1], inst.k)
        _check_shape(execution, "A", codes["A"], dense, " without index=")
        zero = decode(codes["A"], execution.formats["A"], execution.signed["A"]) == 0
        codes["A"], codes["K"] = compress(codes["A"], zero, execution.sparsity, inst.name)
    for operand in ("SA", "SB") if execution.block_size else ():
        if operand not in codes:
            one = encode(np.array(1.0), execution.formats[operand])
            codes[operand] = np.broadcast_to(one, execution.shapes[operand])
    for operand, array in codes.items():
        if operand == "C" and array.ndim == 0:
            codes["C"] = np.broadcast_to(array, execution.shapes["C"])
        else:
            _check_shape(execution, operand, array, execution.shapes[operand])
    if (
        execution.sparsity
        and codes["K"].size
        and codes["K"].max() * execution.sparsity.unit >= execution.sparsity.period
    ):
        raise Error(
            f"index of {inst.name} holds {codes['K'].max()}; positions are 0 to {execution.sparsity.period - 1}"
        )
    return codes


def _check_shape(execution: Execution, operand: str, array: Array, shape: tuple[int, ...], remark: str = "") -> None:
    if array.shape[-len(shape) :] != shape:
        lead = "blocks, " if execution.inst.blocks > 1 else ""
        axes = TYPE_WORDS[operand].replace("(", f"({lead}")
        if operand in ("A", "K") and not remark and shape[-1] < execution.inst.k:
            axes = axes.replace("K)", f"K/{execution.inst.k // shape[-1]})")
        raise Error(
            f"{axes} of {execution.inst.name}{remark} has shape {array.shape}; "
            f"it needs (..., {', '.join(map(str, shape))})"
        )


# --- tcgen05.mma on the emulator: its shape and types from the matrices ---
#
# The shape and types of a tcgen05.mma are in its instruction descriptor. What a caller does not name follows from the
# matrices: M, N and K from their sizes, the types of A and B from arrays of ml_dtypes and torch.


FLOATS = {dtype: name for name, dtype in NUMPY_NAMES.items() if FORMATS[name].is_float and FORMATS[name].bits <= 16}
"""The types of arrays that say which of a kind's types A and B have."""


def fitted_execution(
    inst: Instruction,
    operands: Sequence[Any],
    wave: int | None,
    modifiers: Mapping[str, Any],
    clamp: bool,
    satfinite: bool,
) -> Execution:
    """An instruction under modifiers, its shape and types taken from A and B (`operands`, or none) where it can."""
    if operands:
        a, b = operands
        inst, modifiers = fitted(inst, a, b, modifiers)
    return execution_of(inst, wave, modifiers, clamp, satfinite)


def fitted(inst: Instruction, a: ArrayLike, b: ArrayLike, modifiers: Mapping[str, Any]) -> tuple[Instruction, Any]:
    """The instruction with the shape and types of A and B, as far as they are parameters and were not named, and the
    modifiers that remain.

    Raises:
        Error: one instruction has no such shape.
    """
    if not inst.in_tensor_memory:
        return inst, modifiers
    inst, rest = inst.split_parameters(modifiers)
    inst = inst.split_parameters(_types(inst, a, b))[0]
    given = getattr(inst, "given", {})
    left, right = (value.shape if hasattr(value, "shape") else np.shape(value) for value in (a, b))
    sizes = {}
    if len(left) > 1 and len(right) > 1:
        sizes = {"m": int(left[-2]), "n": int(right[-1]), "k": int(right[-2])}
    try:
        return inst.split_parameters({name: size for name, size in sizes.items() if name not in given})[0], rest
    except Error as error:
        raise Error(f"{error}; this is one instruction, mmacalc.gemm multiplies matrices of any size") from None


def _types(inst: Instruction, a: ArrayLike, b: ArrayLike) -> dict[str, str]:
    """The types that the arrays of A and B have, of those that the kind has and that were not named."""
    found = {}
    for name, value in (("a", a), ("b", b)):
        dtype = getattr(value, "dtype", "")
        word = FLOATS.get(str(getattr(dtype, "name", dtype)).removeprefix("torch."), "")
        if word in types_of(inst.kind)[0] and name not in getattr(inst, "given", {}):
            found[name] = word
    if inst.kind == "f16" and "b" in found:  # which has one type for both
        return {"a": found["b"], **found}
    return found
