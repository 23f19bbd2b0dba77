"""The right products, rounded or added in another way: what a reference program or another GPU would give.

The same form as `mmacalc.diagnosis.mistakes`, which lists these after its own.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import decode, encode, largest, on_grid, round_to_format
from ..arithmetic.tables import TABLES
from ..emulator.execution import execution_of
from ..emulator.rerun import Case
from .mistakes import Candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["ROUNDINGS"]


def other_conversion(case: Case) -> Iterator[Candidate]:
    """Inputs cut instead of rounded, flushed, or of the other kind of fp8."""
    execution = case.execution
    if not execution.formats["A"].is_float or execution.formats["A"].bits > 32:
        return
    if case.values:
        cut = {name: _cut(case, name) for name in "AB"}
        advice = "convert with rounding to nearest even, or expect these values"
        yield Candidate("A and B were cut to their format, not rounded to nearest", advice, case.run(**cut))
    flushed = {name: _flushed(case, name) for name in "AB"}
    advice = "the hardware keeps subnormals here; the kernel or the reference flushes them"
    yield Candidate("subnormal inputs were flushed to zero", advice, case.run(**flushed))
    if execution.formats["A"].bits == 8:
        yield from _other_fp8(case)


def _other_fp8(case: Case) -> Iterator[Candidate]:
    """A code of FNUZ means half of what it means in OCP."""
    execution = case.execution
    other = "OCP" if execution.formats["A"].specials == "fnuz" else "FNUZ"
    factor = 2.0 if other == "OCP" else 0.5
    advice = "gfx942 has FNUZ fp8, where a code means half as much as in OCP's (gfx950, gfx12, NVIDIA)"
    for names in ("AB", "A", "B"):
        values = {x: np.nan_to_num(decode(case.codes[x], execution.formats[x]) * factor) for x in names}
        if all(np.abs(value).max(initial=0) <= largest(execution.formats[x].name) for x, value in values.items()):
            changed = {x: encode(value, execution.formats[x]) for x, value in values.items()}
            which = " and ".join(names)
            yield Candidate(f"the fp8 codes of {which} were taken as {other} fp8", advice, case.run(**changed))


def _cut(case: Case, name: str) -> Array:
    """The codes of an input cut toward zero, one below those that were rounded away from zero."""
    values, form = np.asarray(case.values[name], np.float64), case.execution.formats[name]
    codes = encode(values, form)
    if codes.shape != case.codes[name].shape:
        return case.codes[name]  # a dense A that was compressed
    away = np.abs(decode(codes, form)) > np.abs(values)
    below: Array = codes - away.astype(codes.dtype)
    return below


def _flushed(case: Case, name: str) -> Array:
    codes, values = case.codes[name], decode(case.codes[name], case.execution.formats[name])
    return np.where(np.abs(values) < 2.0 ** (1 - case.execution.formats[name].bias), codes.dtype.type(0), codes)


def other_arithmetic(case: Case) -> Iterator[Candidate]:
    """The same products added in another way: another GPU's, a reference program's."""
    execution = case.execution
    if execution.numerics.model == "integer" or execution.sparsity or execution.block_size:
        return
    seen = {(execution.numerics.model, tuple(sorted(execution.numerics.parameters.items())))}
    for text, model, parameters in _ways(case):
        key = (model, tuple(sorted(parameters.items())))
        if key not in seen:
            seen.add(key)
            changed = execution_of(execution.inst, execution.wave, execution.fields, False, False).with_numerics(
                model, parameters
            )
            advice = f"this instruction: {execution.numerics.explanation}"
            yield Candidate(f"the sum is formed {text}", advice, case.run_as(changed))
    if execution.formats["D"].name == "f32":
        yield from _numpy_sums(case)
    d = case.expected
    small = np.abs(decode(d, execution.formats["D"])) < 2.0 ** (1 - execution.formats["D"].bias)
    flushed = np.where(small, d & d.dtype.type(1 << (execution.formats["D"].bits - 1)), d)
    yield Candidate("subnormal results were flushed to zero", "compare with subnormals kept", flushed)


def _ways(case: Case) -> Iterator[tuple[str, str, dict[str, Any]]]:
    k, (a, d) = case.execution.inst.k, (case.execution.formats[name].name for name in "AD")
    yield "by fused multiply-adds in the order of k", "fma_chain", {}
    if a == "f64":
        return
    yield "exactly and rounded once to nearest even", "exact", {"group": k}
    found: dict[tuple[Any, ...], list[str]] = {}
    for table, rows in TABLES.items():
        for row in rows:
            if a not in row.inputs or d not in (row.outputs or (d,)) or "group" not in row.parameters:
                continue
            group = min(row.parameters["group"] or k, k)
            if k % group == 0 and (row.model, group % 2) != ("two_stage_floored_even_odd", 1):
                key = (row.model, tuple({**row.parameters, "group": group}.items()))
                found.setdefault(key, []).append(table)
    for (model, items), names in found.items():
        yield f"as on {', '.join(dict.fromkeys(names))} ({model})", model, dict(items)


def _numpy_sums(case: Case) -> Iterator[Candidate]:
    """Products and sums each rounded to f32, as a program without fused multiply-adds does it."""
    execution = case.execution
    a, b = (decode(case.codes[x], execution.formats[x]).astype(np.float32) for x in "AB")
    c = decode(case.codes["C"], execution.formats["C"]).astype(np.float32)
    vendor, out = execution.inst.architecture.vendor, execution.formats["D"]
    with np.errstate(all="ignore"):
        first, last = c, np.zeros_like(c)
        for k in range(execution.inst.k):
            term = a[..., :, k, None] * b[..., None, k, :]
            first, last = first + term, last + term
    advice = f"this instruction: {execution.numerics.explanation}"
    for text, values in (("C first", first), ("C last", last + c)):
        codes = on_grid(round_to_format(values.astype(np.float64), out), out, vendor)
        yield Candidate(f"products and sums are each rounded to f32, in the order of k, {text}", advice, codes)


ROUNDINGS = (other_conversion, other_arithmetic)
