"""Whole matrices by the models, fast: float32 values and whole exponents, and a flag where that is not enough.

A kernel computes D of a chain of steps from C, in the core (core.c) or on NumPy (`mmacalc.emulator.array_kernels`); it
flags elements that need more care: infinities, NaN, exponents far out. Those are computed again by the models
(`mmacalc.arithmetic.models`), which define the results. So both give the same bits, and a model can exist before anyone
has made it fast.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..arithmetic.codecs import alignment_powers, decode, decode_powers, largest, on_grid
from ..arithmetic.models import MODELS, Numbers
from ..arithmetic.tables import OWN_NAN
from ..base.records import TupleRecord
from ..formats import FORMATS
from . import core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format
    from .execution import Execution

    Array = NDArray[Any]
    Scales = tuple["Operand", "Operand"]

__all__ = ["EMPTY", "NONFINITE", "Kernel", "Operand", "chain", "decoded", "kernel", "products", "recomputed"]

EMPTY, NONFINITE = -4096, 12288
"""The exponents of zeros, and of infinities and NaN; see core.c."""
OUT = {"f32": 0, "f16": 1, "bf16": 2}
DEPTH = 1 << 11  # of A and B decoded at a time, along k
ELEMENTS = 1 << 15  # of the arrays of a block of rows on NumPy: 64 KiB of float32


class Operand(TupleRecord):
    """A matrix as kernels read it: float32 (of f64: float64) values, and int16 exponents (None where none are read)."""

    values: Array
    exponents: Array | None


class Kernel(TupleRecord):
    """How to compute one instruction fast.

    name: of the function of core.c; parameters: fields of its task; group: the products of a step; aligned: whether
    it reads exponents; flushed: what becomes of subnormal A and B: "" (kept), "plus" or "signed" zeros; task: a
    `core.Task` with the parameters, as bytes, since copying is faster than setting each.
    """

    name: str
    parameters: dict[str, int]
    group: int
    aligned: bool
    flushed: str
    task: bytes


@lru_cache(maxsize=256)  # as many as `execution.execution_of` keeps
def kernel(execution: Execution) -> Kernel | None:
    """The kernel of an instruction, None if there is none."""
    numerics, out = execution.numerics, execution.formats["D"]
    if execution.sparsity or execution.formats["C"] != out:
        return None
    given: dict[str, Any] = dict(numerics.parameters)
    group = given.get("group") or execution.inst.k
    name = numerics.model
    if execution.block_size and name in NO_EXPONENTS:
        return None  # scales are multiplied in with their exponents
    if name == "fma_chain":
        if out.name == "f64" and given.get("rounding", "rn") == "rn":
            return _kernel("fma_chain_f64", {"group": 1})
        return _kernel(name, {"group": 1}) if out.name == "f32" else None
    bits = execution.formats["A"].bits
    possible = {
        "aligned_truncated": group in (4, 8, 16, 32), "two_stage_floored": group in (4, 8),
        "two_stage_floored_even_odd": group == 16, "pairwise_f32": group in (2, 4) and given.get("flush"),
        "exact": group <= 128 and bits <= 16, "block_scaled_fp4": execution.inst.k % 64 == 0,
        "dot2_ones_complement": bits == 16, "dot4_floored": bits == 16 or out.name == "f32",
    }.get(name)  # fmt: skip
    if not possible or out.name not in OUT or (name not in WITH_BF16 and out.name == "bf16"):
        return None
    kept = {"kept": 23, "reach": 10000, "lowest": EMPTY, "low_bits": _low_bits(execution)}
    given = {**kept, **given, "group": group, "out": OUT[out.name]}
    if name == "exact":
        given["narrow"] = _narrow(execution, group)
    signed = name == "dot2_ones_complement" and execution.formats["A"].exponent == 8
    flushed = "plus" if given.get("flush") else "signed" if signed else ""
    return _kernel(name, {key: int(value) for key, value in given.items()}, flushed)


WITH_BF16 = ("exact", "dot2_ones_complement", "dot4_floored")
"""The kernels that have results in bf16."""
STRIPED = ("b", "exponent_b", "scale_b", "exponent_sb")
"""What the core takes in strips of `lanes` columns."""
NO_EXPONENTS = ("fma_chain", "fma_chain_f64", "pairwise_f32")


def _kernel(name: str, parameters: dict[str, int], flushed: str = "") -> Kernel:
    task = bytes(core.Task(**parameters))
    return Kernel(name, parameters, parameters["group"], name not in NO_EXPONENTS, flushed, task)


def _low_bits(execution: Execution) -> int:
    """How far below its exponent the lowest bit of a product may be, scales included."""
    names = ("A", "B", "SA", "SB") if execution.block_size else ("A", "B")
    return sum(execution.formats[name].mantissa for name in names)


def _narrow(execution: Execution, group: int) -> bool:
    """Whether float64 holds every sum of a group of products without rounding."""
    if execution.block_size:
        return False
    forms = [execution.formats[name] for name in "AB"]
    lowest = sum(1 - form.bias - form.mantissa for form in forms)
    return bool(np.log2(group * float(np.prod([largest(form.name) for form in forms]))) < lowest + 53)


# --- operands -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def tables(name: str, flushed: str) -> Operand:
    """The value and the exponent of every code of a format of up to 16 bits; `flushed` as in Kernel."""
    form = FORMATS[name]
    codes = np.arange(1 << form.bits, dtype=np.uint32).astype(f"u{max(8, form.bits) // 8}")
    values = decode(codes, form)
    if flushed:
        zero = np.copysign(0.0, values) if flushed == "signed" else 0.0
        values = np.where(np.abs(values) < 2.0 ** (1 - form.bias), zero, values)
    with np.errstate(over="ignore", invalid="ignore"):
        return Operand(values.astype(np.float32), _exponents(values, form))


def _exponents(values: NDArray[np.float64], form: Format) -> NDArray[np.int16]:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (alignment_powers(values, form).view(np.int64) >> 52) - 1023
    return np.where(values == 0, EMPTY, np.where(np.isfinite(values), found, NONFINITE)).astype(np.int16)


def decoded(codes: Array, form: Format, found: Kernel) -> Operand:
    """Codes as a kernel reads them."""
    aligned = found.aligned
    if form.bits <= 16:
        values, exponents = tables(form.name, found.flushed)
        return Operand(values.take(codes), exponents.take(codes) if aligned and exponents is not None else None)
    if form.bits == 64:
        return Operand(codes.view(np.float64), None)
    if form.mantissa == 10:  # tf32, xf32
        codes = codes & np.uint32(0xFFFFE000)
    values = codes.view(np.float32)
    return Operand(values, _float32_exponents(codes) if aligned else None)


def _float32_exponents(codes: NDArray[np.uint32]) -> NDArray[np.int16]:
    field = (codes >> np.uint32(23) & np.uint32(0xFF)).astype(np.int16)
    found: NDArray[np.int16] = np.maximum(field, 1) - np.int16(127)
    found[field == 0xFF] = NONFINITE
    found[codes << np.uint32(1) == 0] = EMPTY
    return found


def scaled(operand: Operand, scales: Operand) -> Operand:
    """An operand with its block scales multiplied in. What float32 cannot hold passes for not finite: it is flagged."""
    assert operand.exponents is not None
    assert scales.exponents is not None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = operand.values * scales.values
        wide = operand.values.astype(np.float64) * scales.values
    zero = (operand.exponents == EMPTY) & (scales.exponents != NONFINITE)
    exponents = operand.exponents + scales.exponents
    exponents[(operand.exponents == NONFINITE) | (scales.exponents == NONFINITE)] = NONFINITE
    exponents[zero | (scales.exponents == EMPTY)] = EMPTY
    exponents[(values != wide) & np.isfinite(wide)] = NONFINITE
    return Operand(values, exponents)


def _results(codes: Array, form: Format, found: Kernel) -> Array:
    """C's codes as the values that a kernel starts from."""
    if form.bits == 64:
        return codes.view(np.float64)
    values = codes.view(np.float32) if form.bits == 32 else tables(form.name, "").values.take(codes)
    if found.parameters.get("flush"):
        values = np.where(np.abs(values) < np.float32(2.0**-126), np.float32(0), values)
    return values


def _encoded(values: Array, form: Format) -> Array:
    """A kernel's results, numbers of D's format, as codes."""
    if form.bits == 64:
        return values.view(np.uint64)
    if form.name == "f16":
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(np.float16).view(np.uint16)
    words: Array = np.ascontiguousarray(values).view(np.uint32)
    return words if form.bits == 32 else (words >> np.uint32(16)).astype(np.uint16)


def at_once(found: Kernel, columns: int) -> int:
    """The columns of D that a kernel of the core takes at once: as few more than there are as it can."""
    if found.name == "fma_chain_f64":
        return 8
    last = columns % 32 if columns < 64 else 0
    if not 0 < last <= 16:
        return 32
    return 8 if last <= 8 else 16


# --- one chain ----------------------------------------------------------------------------------------------------


def chain(
    found: Kernel, a: Operand, b: Operand, c: Array, scales: Scales | None = None, threads: int = 1
) -> tuple[Array, Array]:
    """D of a chain of steps, and the flags of elements that must be computed again.

    Args:
        a: (entries, M, K); b: (entries, K, N); c: (entries, M, N) values. K is a multiple of the group.
        scales: of `block_scaled_fp4`, (entries, M, K/16) and (entries, K/16, N).
    """
    function = core.function(found.name)
    if function is None:
        return _on_numpy(found, a, b, c, scales, threads)
    entries, rows, columns = c.shape
    lanes = at_once(found, columns)
    padded = -(-columns // lanes) * lanes
    d = _padded(c, padded)
    d = d.copy() if d is c else d
    flags = np.zeros(d.shape, np.uint8)
    arrays = {"a": a.values, "exponent_a": a.exponents, "c": d, "flags": flags}
    arrays |= dict(zip(("b", "exponent_b"), _wide(b, padded)))
    if scales:
        arrays |= dict(zip(("scale_a", "exponent_sa"), scales[0]))
        arrays |= dict(zip(("scale_b", "exponent_sb"), _wide(scales[1], padded)))
    task = core.Task.from_buffer_copy(found.task)
    task.rows, task.columns, task.depth, task.lanes = rows, padded, a.values.shape[-1], lanes
    kept = []  # alive until the core has read them
    for name, array in arrays.items():
        if array is not None:
            if name in STRIPED:
                array = array.reshape(*array.shape[:2], -1, lanes).swapaxes(1, 2)
            kept.append(np.ascontiguousarray(array))
            setattr(task, name, core.address(kept[-1]))
    if threads <= 1:
        function(task, 0, entries * rows)
    else:
        _in_threads(lambda first, last: function(task, first, last), entries * rows, threads)
    return (d, flags) if padded == columns else (d[..., :columns], flags[..., :columns])


def _on_numpy(
    found: Kernel, a: Operand, b: Operand, c: Array, scales: Scales | None, threads: int
) -> tuple[Array, Array]:
    """The same by `mmacalc.emulator.array_kernels`, entry by entry, in blocks of rows."""
    from .array_kernels import KERNELS, PREPARED

    run = KERNELS[found.name]
    d, flags = np.empty_like(c), np.empty(c.shape, bool)
    rows = max(1, ELEMENTS // c.shape[-1])
    columns = [_part(b, entry) for entry in range(len(c))]
    if prepare := PREPARED.get(found.name):
        columns = [prepare(one, found.parameters) for one in columns]

    def block(part: int) -> None:
        entry, first = divmod(part, blocks)
        at = (entry, slice(first * rows, (first + 1) * rows))
        more = (_part(scales[0], at), _part(scales[1], entry)) if scales else None
        with np.errstate(all="ignore"):
            given = (_part(a, at), columns[entry], c[at], found.parameters)
            values, bad = run(*given, more) if more else run(*given)
        d[at], flags[at] = values, bad | ~np.isfinite(values)

    blocks = -(-c.shape[1] // rows)

    def several(first: int, last: int) -> None:
        for part in range(first, last):
            block(part)

    _in_threads(several, c.shape[0] * blocks, threads)
    return d, flags


def _each(operand: Operand, change: Callable[[Array], Array]) -> Operand:
    """The operand with both arrays changed."""
    return Operand(change(operand.values), None if operand.exponents is None else change(operand.exponents))


def _part(operand: Operand, at: Any) -> Operand:
    return _each(operand, lambda array: array[at])


def _in_threads(work: Callable[[int, int], object], size: int, threads: int) -> None:
    """Do work on all numbers below a size, in parts."""
    if threads <= 1 or size < 2:
        work(0, size)
        return
    from concurrent.futures import ThreadPoolExecutor

    # More parts than threads, so that a slow core does not keep the others waiting.
    parts = min(size, 4 * threads)
    edges = [size * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))


def _wide(operand: Operand, columns: int) -> Operand:
    return _each(operand, lambda array: _padded(array, columns))


def _padded(array: Array, columns: int) -> Array:
    """The last axis with zeros up to a number of columns."""
    missing = columns - array.shape[-1]
    if not missing:
        return array
    wide = np.zeros((*array.shape[:-1], columns), array.dtype)
    wide[..., : array.shape[-1]] = array
    if array.dtype == np.int16:
        wide[..., array.shape[-1] :] = EMPTY
    return wide


def products(execution: Execution, found: Kernel, codes: Mapping[str, Array], threads: int = 1) -> Array:
    """D's codes (entries, M, N) of A (entries, M, K), B (entries, K, N), C (entries, M, N) and scales. K may be that of
    several instructions."""
    form, depth = execution.formats["D"], codes["A"].shape[2]
    values = _results(np.ascontiguousarray(codes["C"]), execution.formats["C"], found)
    flags = None
    step = max(1, DEPTH // execution.inst.k) * execution.inst.k
    for start in range(0, depth, step):
        a, b, scales = _operands(execution, found, codes, slice(start, start + step))
        values, bad = chain(found, a, b, values, scales, threads)
        flags = bad if flags is None else flags | bad
    result = _encoded(values, form)
    if flags is not None and np.count_nonzero(flags):
        for at in _chunks(np.nonzero(flags), depth):
            result[at] = _elements(execution, codes, at)
    return result


def _operands(
    execution: Execution, found: Kernel, codes: Mapping[str, Array], k: slice
) -> tuple[Operand, Operand, Scales | None]:
    """A, B and scales of some k as a kernel reads them."""
    formats = execution.formats
    a = decoded(np.ascontiguousarray(codes["A"][:, :, k]), formats["A"], found)
    b = decoded(np.ascontiguousarray(codes["B"][:, k]), formats["B"], found)
    if "SA" not in codes:
        return a, b, None
    size, apart = execution.block_size, found.name == "block_scaled_fp4"
    blocks = slice(k.start // size, k.stop // size)
    times = size // found.group if apart else size
    scale_a, scale_b = (
        _repeated(decoded(np.ascontiguousarray(array), formats[name], found), times, axis)
        for name, array, axis in (("SA", codes["SA"][:, :, blocks], 2), ("SB", codes["SB"][:, blocks], 1))
    )
    return (a, b, (scale_a, scale_b)) if apart else (scaled(a, scale_a), scaled(b, scale_b), None)


def _repeated(operand: Operand, times: int, axis: int) -> Operand:
    if times == 1:
        return operand
    return _each(operand, lambda array: np.repeat(array, times, axis=axis))


def _chunks(places: tuple[Array, ...], depth: int) -> Iterator[tuple[Array, ...]]:
    """Places in pieces, so that the model's arrays of a piece stay below some megabytes."""
    size = max(1, (1 << 18) // depth)
    for start in range(0, len(places[0]), size):
        yield tuple(axis[start : start + size] for axis in places)


def _elements(execution: Execution, codes: Mapping[str, Array], at: tuple[Array, ...]) -> Array:
    """The codes of some elements of D, by the model."""
    entry, row, column = at
    scales = None
    if "SA" in codes:
        size = execution.block_size
        scales = (
            np.repeat(codes["SA"][entry, row], size, axis=1), np.repeat(codes["SB"][entry, :, column], size, axis=1)
        )  # fmt: skip
    return recomputed(execution, codes["A"][entry, row], codes["B"][entry, :, column], codes["C"][at], scales)


# --- what a kernel could not do -------------------------------------------------------------------------------------


def recomputed(execution: Execution, a: Array, b: Array, c: Array, scales: tuple[Array, Array] | None = None) -> Array:
    """D's codes of many elements by the model: a, b (elements, K), c (elements) codes; scales (elements, K) codes.

    K may be that of several instructions, each of which takes the result of the one before as its C.
    """
    inst, formats = execution.inst, execution.formats
    model, out = MODELS[execution.numerics.model], formats["D"]
    total = Numbers(*decode_powers(c, formats["C"]))
    result = c
    for start in range(0, a.shape[1], inst.k):
        step = slice(start, start + inst.k)
        x, y = (Numbers(*decode_powers(np.ascontiguousarray(codes[:, step].T), formats[name]))
                for codes, name in ((a, "A"), (b, "B")))  # fmt: skip
        extra = dict(execution.numerics.parameters)
        if scales:
            factors = [Numbers(*decode_powers(np.ascontiguousarray(codes[:, step].T), formats[name]))
                       for codes, name in zip(scales, ("SA", "SB"))]  # fmt: skip
            if execution.numerics.model == "block_scaled_fp4":
                extra |= {"scale_a": factors[0], "scale_b": factors[1]}
            else:
                x, y = (Numbers(v.value * s.value, v.power * s.power) for v, s in zip((x, y), factors))
        with np.errstate(all="ignore"):
            values = model(x, y, total, out, **extra)
            result = on_grid(values, out, inst.architecture.vendor, execution.numerics.model in OWN_NAN)
            total = Numbers(*decode_powers(result, formats["C"]))
    return result
