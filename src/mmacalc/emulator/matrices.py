"""D = A B + C on matrices: checking what is given, cutting it into tiles, applying the arithmetic model."""

from __future__ import annotations

from math import prod

import numpy as np

from ..arithmetic.codecs import code_type, decode, decode_powers, encode, on_grid
from ..arithmetic.models import MODELS, Numbers
from ..arithmetic.tables import OWN_NAN
from ..checks import arguments_checked
from ..errors import Error
from .arrays import SPOKEN, checked, rounded
from .execution import Execution, execution_of
from .sparse import compress, selected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..formats import Format
    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["compute", "dot", "extras", "multiply", "multiply_bits", "prepared"]

TILE = 1 << 17
"""Products alive at a time: a megabyte of float64, which stays in the second-level cache."""


@arguments_checked
def multiply(
    inst: Instruction,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike = 0,
    *,
    index: ArrayLike | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    clamp: bool = False,
    satfinite: bool = False,
    wave: int | None = None,
    **modifiers: int | str,
) -> Array:
    """D = A B + C on values, rounded as the hardware rounds it.

    A, B and C are first rounded to the operand formats, to nearest even; what overflows becomes an infinity, or NaN
    in formats without one (`mmacalc.arithmetic.codecs` has the list). Integers must be in range.

    Args:
        a, b, c: A (..., M, K), B (..., K, N), C (..., M, N), floats or integers, with the blocks before M, K, N if
            the instruction has several; leading axes are batches and broadcast. C may be a number. NumPy arrays (also
            of ml_dtypes), torch tensors in the host's memory, and what has `__array__` or `__dlpack__`.
        index, scale_a, scale_b, clamp, satfinite, wave, modifiers: as for `multiply_bits`.

    Returns:
        D (..., M, N): float64, float32 (also for f16 and bf16 results) or int32, by D's format.

    Raises:
        Error: a shape, type or value that does not fit; says which operand and what it needs.

    >>> import mmacalc, numpy
    >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    >>> d = inst.multiply(numpy.eye(16), numpy.arange(256).reshape(16, 16), 0.5)
    >>> d.dtype, float(d[1, 2])
    (dtype('float32'), 18.5)
    """
    execution = execution_of(inst, wave, modifiers, clamp, satfinite)
    given = {"A": a, "B": b, "C": c}
    codes = {name: rounded(execution, name, value) for name, value in given.items()}
    codes |= extras(execution, index, scale_a, scale_b)
    out = execution.formats["D"]
    values = decode(compute(execution, prepared(execution, codes), rearrange=True), out)
    return values if out.bits == 64 else values.astype(np.float32 if out.is_float else np.int32)


@arguments_checked
def multiply_bits(
    inst: Instruction,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike = 0,
    *,
    index: ArrayLike | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    clamp: bool = False,
    satfinite: bool = False,
    wave: int | None = None,
    **modifiers: int | str,
) -> Array:
    """D = A B + C on raw encodings, to the bit.

    The matrices are what the registers hold without CBSZ, ABID and BLGP; those then choose, as the hardware does,
    which block or column is read. A field that only chooses a place (OPSEL, an index set, a scale's byte) changes
    nothing here.

    Args:
        a, b, c: unsigned integers, or arrays of ml_dtypes and torch of the operand's own format; shaped as for
            `multiply`. C may be a number, the code of all elements.
        index: of a sparse A (..., M, K/2): (..., M, K/2) positions 0..3 within each group of four, in pairs (of
            NVIDIA's tf32 0 or 1 within each pair; of its 4-bit types (..., M, K/4) pairs 0..3 within each eight).
            Without it A is dense (..., M, K) and must have the zeros in place.
        scale_a, scale_b: codes of the block scales, (..., M, K/32) and (..., K/32, N) or as the block size says;
            without them the scales are 1.
        clamp, satfinite: AMD's and NVIDIA's word for saturating integer results.
        wave: 32 or 64, where an architecture has both.
        modifiers: cbsz, abid, blgp, opsel, neg, neg_hi and the fields that choose formats.

    Returns:
        D (..., M, N), the unsigned integer type of D's width.

    Raises:
        Error: a shape, type or value that does not fit; says which operand and what it needs.

    >>> import mmacalc, numpy
    >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    >>> one = numpy.full((16, 16), 0x3C00, numpy.uint16)
    >>> hex(inst.multiply_bits(one, one)[0, 0])
    '0x41800000'
    """
    execution = execution_of(inst, wave, modifiers, clamp, satfinite)
    codes = {name: checked(execution, name, value) for name, value in (("A", a), ("B", b), ("C", c))}
    codes |= extras(execution, index, scale_a, scale_b)
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
            values = _integers(
                execution, {"A": codes["A"][:, None], "B": codes["B"][..., None], "C": start[:, None, None]}
            )
            return decode(values[:, 0, 0], out).astype(np.int32)
        x, y = (_numbers(np.ascontiguousarray(codes[name].T), execution.formats[name]) for name in "AB")
        extra = dict(execution.numerics.parameters)
        if execution.numerics.model == "block_scaled_fp4":
            extra |= dict.fromkeys(("scale_a", "scale_b"), Numbers(np.ones((stored, 1)), np.ones((stored, 1))))
        found: Array = MODELS[execution.numerics.model](x, y, _numbers(start, execution.formats["C"]), out, **extra)
    return found if out.bits == 64 else found.astype(np.float32)


# --- what is given ----------------------------------------------------------------------------------------------


def extras(
    execution: Execution, index: ArrayLike | None, scale_a: ArrayLike | None, scale_b: ArrayLike | None
) -> dict[str, Array]:
    """The index and the scales, as far as they are given."""
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
        axes = SPOKEN[operand].replace("(", f"({lead}")
        if operand in ("A", "K") and not remark and shape[-1] < execution.inst.k:
            axes = axes.replace("K)", f"K/{execution.inst.k // shape[-1]})")
        raise Error(
            f"{axes} of {execution.inst.name}{remark} has shape {array.shape}; "
            f"it needs (..., {', '.join(map(str, shape))})"
        )


# --- computing --------------------------------------------------------------------------------------------------


def compute(execution: Execution, codes: Mapping[str, Array], rearrange: bool) -> Array:
    """D's codes from checked codes.

    Args:
        rearrange: whether CBSZ, ABID and BLGP still have to be applied; reading registers has done it already.
    """
    matrices = {name: execution.shapes[name] for name in codes}
    try:
        batch = np.broadcast_shapes(*(codes[name].shape[: codes[name].ndim - len(s)] for name, s in matrices.items()))
    except ValueError:
        shapes = ", ".join(f"{SPOKEN[name].split()[0]} {codes[name].shape}" for name in codes)
        raise Error(f"the batches of {execution.inst.name} do not broadcast: {shapes}") from None
    flat = {}
    for name, shape in matrices.items():
        array = codes[name]
        if rearrange and (source := execution.rearranged.get(name)) is not None:
            array = array.reshape(*array.shape[: -len(shape)], -1)[..., source]
        array = _resigned(execution, name, array)
        if array.shape != batch + shape:
            array = np.broadcast_to(array, batch + shape)
        flat[name] = array.reshape(-1, *shape[-2:])
    entries = prod(batch) * execution.inst.blocks
    result = np.empty((entries, *execution.shapes["D"][-2:]), code_type(execution.formats["D"]))
    with np.errstate(all="ignore"):
        for entry, rows in _tiles(execution, entries):
            part = {name: array[entry] for name, array in flat.items()}
            for name in {"A", "C", "K", "SA"} & part.keys():
                part[name] = part[name][:, rows]
            result[entry, rows] = _tile(execution, part)
    return result.reshape(batch + execution.shapes["D"])


def _resigned(execution: Execution, name: str, codes: Array) -> Array:
    """Codes after the instruction's absolute value (C only) and negation."""
    if name == "C" and execution.absolute:
        codes = codes & codes.dtype.type((1 << (execution.formats["C"].bits - 1)) - 1)
    flip = execution.flips.get(name, 0)
    return codes if isinstance(flip, int) and not flip else codes ^ np.asarray(flip, codes.dtype)


def _tiles(execution: Execution, entries: int) -> list[tuple[slice, slice]]:
    """How to cut the work: slices of entries (batches times blocks) and of rows."""
    rows, columns = execution.shapes["D"][-2:]
    stored = execution.shapes["A"][-1]
    depth = min(execution.numerics.parameters.get("group") or stored, stored)
    if execution.sparsity or execution.numerics.model in ("block_scaled_fp4", "fp8_two_halves", "fp8_add_c_last"):
        depth = stored
    per_entry = depth * rows * columns
    if per_entry > TILE:
        step = max(1, TILE // (depth * columns))
        return [(slice(e, e + 1), slice(r, r + step)) for e in range(entries) for r in range(0, rows, step)]
    step = max(1, TILE // per_entry)
    return [(slice(e, e + step), slice(0, rows)) for e in range(0, entries, step)]


def _tile(execution: Execution, codes: Mapping[str, Array]) -> Array:
    """D's codes of one tile: every array has one leading axis of entries."""
    out, model = execution.formats["D"], MODELS[execution.numerics.model]
    if execution.numerics.model == "integer":
        return _integers(execution, codes)
    k = selected(codes["K"], execution.sparsity) if execution.sparsity else None
    a = _by_k(codes["A"], execution.formats["A"])
    b = _b_by_k(codes["B"], execution.formats["B"], k)
    c = _numbers(codes["C"], execution.formats["C"])
    extra = dict(execution.numerics.parameters)
    if execution.block_size:
        scale_a, scale_b = _scales(execution, codes, k)
        if execution.numerics.model == "block_scaled_fp4":
            extra |= {"scale_a": scale_a, "scale_b": scale_b}
        else:
            a, b = (Numbers(x.value * y.value, x.power * y.power) for x, y in ((a, scale_a), (b, scale_b)))
    values = model(a, b, c, out, **extra)
    keep_nan = execution.numerics.model in OWN_NAN
    return on_grid(values, out, execution.inst.architecture.vendor, keep_nan)


def _numbers(codes: Array, format: Format) -> Numbers:
    return Numbers(*decode_powers(codes, format))


def _by_k(codes: Array, format: Format) -> Numbers:
    """(entries, rows, k) codes as numbers with k first and a last axis for the columns."""
    found = _numbers(np.ascontiguousarray(codes.transpose(2, 0, 1)), format)
    return Numbers(found.value[..., None], found.power[..., None])


def _b_by_k(codes: Array, format: Format, k: Array | None) -> Numbers:
    """(entries, k, columns) codes as numbers with k first and an axis for the rows; `k` (entries, rows, stored)
    are the logical k that each row of a sparse A selects."""
    if k is None:
        found = _numbers(np.ascontiguousarray(codes.transpose(1, 0, 2)), format)
        return Numbers(found.value[:, :, None], found.power[:, :, None])
    picked = codes[np.arange(len(codes))[:, None, None], k.transpose(0, 2, 1)]
    return _numbers(np.ascontiguousarray(picked.transpose(1, 0, 2, 3)), format)


def _scales(execution: Execution, codes: Mapping[str, Array], k: Array | None) -> tuple[Numbers, Numbers]:
    """The scales of A and B for each (stored) k."""
    if k is None:
        scale_a = _by_k(np.repeat(codes["SA"], execution.block_size, axis=2), execution.formats["SA"])
        return scale_a, _b_by_k(np.repeat(codes["SB"], execution.block_size, axis=1), execution.formats["SB"], None)
    picked = np.take_along_axis(codes["SA"], k // execution.block_size, axis=2)
    return _by_k(picked, execution.formats["SA"]), _b_by_k(
        codes["SB"], execution.formats["SB"], k // execution.block_size
    )


def _integers(execution: Execution, codes: Mapping[str, Array]) -> Array:
    a = decode(codes["A"], execution.formats["A"], execution.signed["A"])
    b = decode(codes["B"], execution.formats["B"], execution.signed["B"])
    c = decode(codes["C"], execution.formats["C"])
    operation = execution.inst.bit_operation or "multiply"
    if execution.sparsity is None or "K" not in codes:
        total = MODELS["integer"](a, b, c, execution.saturate, operation)
    else:
        k = selected(codes["K"], execution.sparsity)
        picked = b[np.arange(len(b))[:, None, None], k]
        total = MODELS["integer"](a[:, :, None, :], picked, c[:, :, None, :], execution.saturate, operation)[:, :, 0, :]
    wrapped: Array = total.astype(np.int32).view(np.uint32)
    return wrapped
