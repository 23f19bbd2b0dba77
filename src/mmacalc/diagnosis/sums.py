"""The right products, rounded or added in another way: what a reference program or another GPU would give.

They are not mistakes: they say why a right result has other bits.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import on_grid, round_to_format
from ..arithmetic.tables import TABLES
from ..emulator.execution import execution_of
from .candidates import Candidate, Rerun, Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["other_arithmetic"]


def other_arithmetic(problem: Problem) -> Iterator[Candidate]:
    """The same products added in another way: another GPU's, a reference program's."""
    execution = problem.execution
    if execution.numerics.model == "integer" or execution.sparsity or execution.block_size:
        return
    seen = {(execution.numerics.model, tuple(sorted(execution.numerics.parameters.items())))}
    for text, model, parameters in _ways(problem):
        key = (model, tuple(sorted(parameters.items())))
        if key not in seen:
            seen.add(key)
            changed = execution_of(execution.inst, execution.wave, execution.fields, False, False).with_numerics(
                model, parameters
            )
            advice = f"this instruction: {execution.numerics.explanation}"
            yield Candidate(f"the sum is formed {text}", advice, Rerun(problem, execution=changed))
    if execution.formats["D"].name == "f32" and (problem.alpha, problem.beta) == (1, 1):
        yield from _numpy_sums(problem)
    d, form = problem.expected, execution.formats["D"]
    small = np.abs(problem.decoded_d(d)) < 2.0 ** (1 - form.bias)
    flushed = np.where(small, d & d.dtype.type(1 << (form.bits - 1)), d)
    text = "subnormal results were flushed to zero"
    yield Candidate(text, "compare with subnormals kept", Stored(problem, flushed))


def _ways(problem: Problem) -> Iterator[tuple[str, str, dict[str, Any]]]:
    k, (a, d) = problem.execution.inst.k, (problem.execution.formats[name].name for name in "AD")
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


def _numpy_sums(problem: Problem) -> Iterator[Candidate]:
    """Products and sums each rounded to f32, as a program without fused multiply-adds does it."""
    execution = problem.execution
    a, b, c = (problem.effective(x).astype(np.float32) for x in "ABC")
    vendor, out = execution.inst.architecture.vendor, execution.formats["D"]
    with np.errstate(all="ignore"):
        first, last = c, np.zeros_like(c)
        for k in range(a.shape[-1]):
            term = a[..., :, k, None] * b[..., None, k, :]
            first, last = first + term, last + term
    advice = f"this instruction: {execution.numerics.explanation}"
    for text, values in (("C first", first), ("C last", last + c)):
        codes = on_grid(round_to_format(values.astype(np.float64), out), out, vendor)
        yield Candidate(
            f"products and sums are each rounded to f32, in the order of k, {text}", advice, Stored(problem, codes)
        )
