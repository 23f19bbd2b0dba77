"""Products of Dask arrays: each block of D is one task, which may run on any worker of a cluster.

A task takes whole rows of A and whole columns of B, so K is not cut, and D has the bits of one product for any chunks
and any number of workers. The instruction is chosen once, for the whole product.
"""

from __future__ import annotations

import sys

import numpy as np

from ..base.errors import Error
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Instruction
    from .plan import Plan

__all__ = ["in_blocks", "product"]

AXES = {"a": "mk", "b": "kn", "c": "mn", "scale_a": "ms", "scale_b": "sn"}
"""The last two axes of each argument; k and s, of the products and of their scales, are not cut."""
NAMES = dict(zip(("A", "B", "C", "SA", "SB"), AXES))


def in_blocks(*operands: object) -> bool:
    """Whether one of the operands is a Dask array."""
    dask = sys.modules.get("dask.array")
    return dask is not None and any(isinstance(operand, dask.Array) for operand in operands)


def product(function: Callable[..., Any], plan: Plan, operands: Mapping[str, Any], how: Mapping[str, Any]) -> Any:
    """D of Dask arrays: a Dask array, not computed yet.

    Args:
        function: `gemm` or `gemm_bits`, which computes a block. plan: of the whole, whose instruction all blocks take.
        operands: a, b, c, scale_a, scale_b; other arrays among them are sent along whole, and cut as the others are.
        how: the other arguments, those at their defaults among them; threads None is one thread a task.

    Raises:
        Error: shapes that do not fit; arguments that would need D now.
    """
    options = dict(how)
    if options.pop("out", None) is not None or options.pop("compare", False):
        raise Error("out= and compare= are for arrays in memory; D of Dask arrays is computed later")
    if options.pop("progress", None) is not None:
        raise Error(
            "progress= is for arrays in memory; for Dask arrays use dask.diagnostics.ProgressBar(), or "
            "distributed.progress() of the persisted result"
        )
    if plan.cuts.tiles:
        raise Error("split_k = 'stream-k:...' numbers the tiles of the whole D, and Dask's blocks are parts of it")
    dask: Any = sys.modules["dask.array"]
    shapes = {name: np.shape(operands[key]) for name, key in NAMES.items() if operands.get(key) is not None}
    batch = plan.require_shapes(shapes)
    arrays = {key: dask.asarray(operands[key]) for name, key in NAMES.items() if shapes.get(name)}
    numbers = {key: operands[key] for name, key in NAMES.items() if name in shapes and key not in arrays}
    fixed = {**options, **numbers, **plan.execution.fields, "threads": how.get("threads") or 1}
    block = _Block(function, tuple(arrays), plan.execution.inst, fixed)
    given: list[Any] = []
    for key, array in arrays.items():
        uncut = {axis - 2: -1 for axis, letter in enumerate(AXES[key]) if letter in "ks"}
        given += [array.rechunk(uncut), _letters(array.ndim - 2) + AXES[key]]
    meta = np.empty((0,) * (len(batch) + 2), plan.result_type(function.__name__ == "gemm_bits"))
    return dask.blockwise(
        block, _letters(len(batch)) + "mn", *given, concatenate=True, dtype=meta.dtype, meta=meta,
        token=function.__name__,
    )  # fmt: skip


def _letters(count: int) -> str:
    """Names of leading axes, so that the last ones of two operands are the same."""
    return "".join(chr(ord("A") + axis) for axis in reversed(range(count)))


class _Block(TupleRecord):
    """One task: the function, the names of the arrays that it is called with, the instruction, all else."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    instruction: Instruction
    fixed: Mapping[str, Any]

    def __call__(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        given = dict(zip(self.names, arrays))
        return np.asarray(self.function(**given, instruction=self.instruction, **self.fixed))
