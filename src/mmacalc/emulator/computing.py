"""D's codes from checked codes of A, B and C: by a kernel where there is one, else by the model, in tiles."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from math import prod

import numpy as np

from ..arithmetic.codecs import code_type, decode, decode_powers, on_grid
from ..arithmetic.models import MODELS, Numbers
from ..arithmetic.tables import OWN_NAN
from ..base.errors import Error
from . import core, fast
from .arrays import TYPE_WORDS
from .execution import selected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format
    from .execution import Execution

    Array = NDArray[Any]
    StandIn = Callable[[Execution, Mapping[str, Array]], Array]

__all__ = ["by_model", "compute", "computed_by", "integers", "is_stood_in", "numbers"]

TILE = 1 << 17
"""Products alive at a time: a megabyte of float64, which stays in the second-level cache."""
BATCH = 1 << 21
"""Elements of A and B that a kernel reads at a time: 6 bytes each."""

_STAND_IN: ContextVar[StandIn | None] = ContextVar("stand_in", default=None)


@contextmanager
def computed_by(stand_in: StandIn) -> Iterator[None]:
    """Within it `compute` asks something else for D: called with the execution and the codes of each operand (entry,
    row, column), signs changed and modifiers applied, it gives D's codes (entry, row, column). Entries are blocks of
    batches. So a launch can be asked which elements its products multiply (`mmacalc.follow_product`)."""
    before = _STAND_IN.set(stand_in)
    try:
        yield
    finally:
        _STAND_IN.reset(before)


def is_stood_in() -> bool:
    """Whether something else computes D."""
    return _STAND_IN.get() is not None


def compute(execution: Execution, codes: Mapping[str, Array], rearrange: bool) -> Array:
    """D's codes from checked codes.

    Args:
        rearrange: whether CBSZ, ABID and BLGP still have to be applied; reading registers has done it already.
    """
    matrices = {name: execution.shapes[name] for name in codes}
    leads = {codes[name].shape[: codes[name].ndim - len(shape)] for name, shape in matrices.items()}
    try:
        batch: tuple[int, ...] = np.broadcast_shapes(*leads) if len(leads) > 1 else leads.pop()
    except ValueError:
        shapes = ", ".join(f"{TYPE_WORDS[name].split()[0]} {codes[name].shape}" for name in codes)
        raise Error(f"the batches of {execution.inst.name} do not broadcast: {shapes}") from None
    flat = {}
    for name, shape in matrices.items():
        array = codes[name]
        if rearrange and (source := execution.rearranged.get(name)) is not None:
            array = array.reshape(*array.shape[: -len(shape)], -1)[..., source]
        array = _with_signs_changed(execution, name, array)
        if array.shape != batch + shape:
            array = np.broadcast_to(array, batch + shape)
        flat[name] = array.reshape(-1, *shape[-2:])
    if (stand_in := _STAND_IN.get()) is not None:
        return stand_in(execution, flat).reshape(batch + execution.shapes["D"])
    entries = prod(batch) * execution.inst.blocks
    kernel = fast.kernel(execution)
    compiled = kernel is not None and core.function(kernel.name) is not None
    result = (_by_kernel(execution, kernel, flat, entries) if kernel and compiled
              else _by_model(execution, flat, entries))  # fmt: skip
    return result.reshape(batch + execution.shapes["D"])


def _by_kernel(execution: Execution, kernel: fast.Kernel, flat: Mapping[str, Array], entries: int) -> Array:
    if entries == 1:
        return fast.products(execution, kernel, flat)
    size = max(1, BATCH // sum(prod(execution.shapes[name][-2:]) for name in "AB"))
    parts = [
        fast.products(execution, kernel, {name: array[start : start + size] for name, array in flat.items()})
        for start in range(0, entries, size)
    ]
    if len(parts) == 1:
        return parts[0]
    empty = np.empty((0, *execution.shapes["D"][-2:]), code_type(execution.formats["D"]))
    return np.concatenate(parts) if parts else empty


def _by_model(execution: Execution, flat: Mapping[str, Array], entries: int) -> Array:
    result = np.empty((entries, *execution.shapes["D"][-2:]), code_type(execution.formats["D"]))
    with np.errstate(all="ignore"):
        for entry, rows in _tiles(execution, entries):
            part = {name: array[entry] for name, array in flat.items()}
            for name in {"A", "C", "K", "SA"} & part.keys():
                part[name] = part[name][:, rows]
            result[entry, rows] = _tile(execution, part)
    return result


def _with_signs_changed(execution: Execution, name: str, codes: Array) -> Array:
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
    if execution.sparsity or execution.numerics.model in ("block_scaled_fp4", "fp8_two_halves"):
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
        return integers(execution, codes)
    k = selected(codes["K"], execution.sparsity) if execution.sparsity else None
    a = _by_k(codes["A"], execution.formats["A"])
    b = _b_by_k(codes["B"], execution.formats["B"], k)
    c = numbers(codes["C"], execution.formats["C"])
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


def numbers(codes: Array, format: Format) -> Numbers:
    """Codes as the models read them."""
    return Numbers(*decode_powers(codes, format))


def _by_k(codes: Array, format: Format) -> Numbers:
    """(entries, rows, k) codes as numbers with k first and a last axis for the columns."""
    found = numbers(np.ascontiguousarray(codes.transpose(2, 0, 1)), format)
    return Numbers(found.value[..., None], found.power[..., None])


def _b_by_k(codes: Array, format: Format, k: Array | None) -> Numbers:
    """(entries, k, columns) codes as numbers with k first and an axis for the rows; `k` (entries, rows, stored)
    are the logical k that each row of a sparse A selects."""
    if k is None:
        found = numbers(np.ascontiguousarray(codes.transpose(1, 0, 2)), format)
        return Numbers(found.value[:, :, None], found.power[:, :, None])
    picked = codes[np.arange(len(codes))[:, None, None], k.transpose(0, 2, 1)]
    return numbers(np.ascontiguousarray(picked.transpose(1, 0, 2, 3)), format)


def _scales(execution: Execution, codes: Mapping[str, Array], k: Array | None) -> tuple[Numbers, Numbers]:
    """The scales of A and B for each (stored) k."""
    if k is None:
        scale_a = _by_k(np.repeat(codes["SA"], execution.block_size, axis=2), execution.formats["SA"])
        return scale_a, _b_by_k(np.repeat(codes["SB"], execution.block_size, axis=1), execution.formats["SB"], None)
    picked = np.take_along_axis(codes["SA"], k // execution.block_size, axis=2)
    return _by_k(picked, execution.formats["SA"]), _b_by_k(
        codes["SB"], execution.formats["SB"], k // execution.block_size
    )


def integers(execution: Execution, codes: Mapping[str, Array]) -> Array:
    """D's codes of an instruction on integers: A (entries, M, K), B (entries, K, N), C (entries, M, N)."""
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


def by_model(execution: Execution, codes: Mapping[str, Array]) -> Array:
    """D's codes (entries, M, N) of a chain of instructions on matrices of any size, by the model.

    Integers that wrap need no chain: wrapping at the end is the same.
    """
    if execution.numerics.model == "integer" and not execution.saturate:
        return integers(execution, codes)
    inst, size = execution.inst, execution.block_size
    c = codes["C"]
    rows = max(1, TILE // max(1, inst.k * c.shape[2]))
    result = np.empty(c.shape, code_type(execution.formats["D"]))
    with np.errstate(all="ignore"):
        for entry in range(len(c)):
            for first in range(0, c.shape[1], rows):
                at = (slice(entry, entry + 1), slice(first, first + rows))
                total = c[at]
                for k in range(0, codes["A"].shape[2], inst.k):
                    step = slice(k, k + inst.k)
                    places: tuple[slice, ...] = (*at, step)
                    part = {"A": codes["A"][places], "B": codes["B"][at[0], step], "C": total}
                    if size:
                        blocks = slice(k // size, (k + inst.k) // size)
                        places = (*at, blocks)
                        part |= {"SA": codes["SA"][places], "SB": codes["SB"][at[0], blocks]}
                    total = _tile(execution, part)
                result[at] = total
    return result
