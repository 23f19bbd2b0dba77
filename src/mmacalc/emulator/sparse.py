"""2:4 structured sparsity: which k the stored values of A stand for, and compressing a dense A.

A group of `period` logical k holds `kept` stored values. Their positions are `index` entries of two bits, each of
which places a run of `unit` stored values: 2:4 is (4, 2, 1), NVIDIA's 1:2 of tf32 (2, 1, 1), and its pairwise 4:8
of the 4-bit types (8, 4, 2).
"""

from __future__ import annotations

import numpy as np

from ..base.errors import Error
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Instruction


class Sparsity(TupleRecord):
    """The shape of a group (see the module)."""

    period: int
    kept: int
    unit: int

    @property
    def entries(self) -> int:
        """How many index entries a group has."""
        return self.kept // self.unit


def sparsity(inst: Instruction) -> Sparsity:
    """The group shape of a sparse instruction, from the digits of A's layout."""
    sizes = inst.operand("A").layout.sizes
    period, kept = sizes["p"], sizes["s"]
    return Sparsity(period, kept, max(1, period // 4))


def selected(index: NDArray[Any], shape: Sparsity) -> NDArray[np.intp]:
    """The logical k of every stored value: index (..., entries) -> (..., stored)."""
    entry = np.arange(index.shape[-1])
    first = entry // shape.entries * shape.period + index.astype(np.intp) * shape.unit
    return (first[..., None] + np.arange(shape.unit)).reshape(*index.shape[:-1], -1)


def compress(dense: NDArray[Any], zero: NDArray[np.bool_], shape: Sparsity, name: str) -> tuple[Any, Any]:
    """A dense A (..., M, K) as its stored values (..., M, K / 2) and their index.

    Args:
        zero: where the dense values are zero.

    Raises:
        Error: a group has more values that are not zero than can be stored; says which.
    """
    positions = shape.period // shape.unit
    used = ~zero.reshape(*zero.shape[:-1], -1, positions, shape.unit).all(axis=-1)
    full = used.sum(axis=-1) > shape.entries
    if full.any():
        *_, row, group = (int(x) for x in np.argwhere(full)[0])
        first = group * shape.period
        what = f"{shape.entries} pairs" if shape.unit > 1 else f"{shape.kept} value{'s' * (shape.kept > 1)}"
        raise Error(
            f"A of {name} is not {shape.kept}:{shape.period} sparse: row {row} has more than {what} that are not zero "
            f"in k = {first} to {first + shape.period - 1}; give the stored values, with index=, or a matrix with the "
            "zeros in place"
        )
    # Used positions first, each in order; what is left over fills up with unused ones from the start.
    order = np.argsort(~used, axis=-1, kind="stable")[..., : shape.entries]
    index = np.sort(order, axis=-1).reshape(*used.shape[:-2], -1).astype(np.uint8)
    return np.take_along_axis(dense, selected(index, shape), axis=-1), index
