"""tcgen05.mma on the emulator: its shape and types from the matrices, and where they lie in Tensor Memory.

The shape and types of a tcgen05.mma are in its instruction descriptor. What a caller does not name follows from the
matrices: M, N and K from their sizes, the types of A and B from arrays of ml_dtypes and torch.
"""

from __future__ import annotations

import numpy as np

from ..errors import Error
from ..families.tensor_memory import LANES
from ..families.tensor_memory_shapes import types_of
from ..formats import FORMATS, NUMPY_NAMES
from .places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike

    from ..model import Instruction
    from ..model.tensor_memory_operand import TensorMemoryOperand

__all__ = ["fitted", "located_cells"]

FLOATS = {dtype: name for name, dtype in NUMPY_NAMES.items() if FORMATS[name].is_float and FORMATS[name].bits <= 16}
"""The types of arrays that say which of a kind's types A and B have."""


def fitted(inst: Instruction, a: ArrayLike, b: ArrayLike, modifiers: Mapping[str, Any]) -> tuple[Instruction, Any]:
    """The instruction with the shape and types of A and B, as far as they are parameters and were not named, and the
    modifiers that remain.

    Raises:
        Error: one instruction has no such shape.
    """
    if not inst.in_tensor_memory:
        return inst, modifiers
    inst, rest = inst.with_parameters(modifiers)
    inst = inst.with_parameters(_types(inst, a, b))[0]
    given = getattr(inst, "given", {})
    left, right = (value.shape if hasattr(value, "shape") else np.shape(value) for value in (a, b))
    sizes = {}
    if len(left) > 1 and len(right) > 1:
        sizes = {"m": int(left[-2]), "n": int(right[-1]), "k": int(right[-2])}
    try:
        return inst.with_parameters({name: size for name, size in sizes.items() if name not in given})[0], rest
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


def located_cells(operand: TensorMemoryOperand) -> Places:
    """The places of an operand in Tensor Memory: columns for registers, and for lanes those of both CTAs of a pair.

    Of a sparse A and of the metadata those of the stored elements, of scales one for each block of k.
    """
    cells, layout = operand.cells, operand.layout
    tables = layout.axis_tables()
    merge = cells.merge
    copies = [place for place in layout.copy_offsets(operand.fields) if place[-1] % merge == 0 or merge == 1]
    added = {name: np.array([copy[at] for copy in copies]) for at, name in enumerate(layout.places)}
    steps = [slice(None), slice(None)]
    steps[0] = slice(operand.shape[0])  # rows of scales beyond are padding
    if operand.scales:
        steps[1] = slice(operand.scale_id, operand.scale_id + operand.scales)
    elif operand.instruction.sparse and operand.name in "AK":
        steps[1] = slice(None, None, layout.sizes["p"])

    def along(place: str) -> Any:
        first, second = (np.array(tables[axis][place])[step] for axis, step in zip(layout.axes, steps))
        grid = first[:, None] + second
        return grid[..., None] + added[place] if place in added else np.zeros((*grid.shape, len(copies)), int)

    lane = along("lane") + LANES * along("cta")
    column, item = along("column"), along("item") if "item" in layout.places else np.zeros_like(lane)
    if merge > 1:
        slots = np.arange(merge)[:, None]
        item = (item[..., None, :] + slots).reshape(*item.shape[:-2], -1, item.shape[-1])
        lane, column = (np.repeat(array, merge, axis=-2) for array in (lane, column))
    bits = 2 if operand.name == "K" else operand.element_bits
    offset = 2 if (cells.slot_bits, bits) == (8, 4) else cells.offset
    lsb = item * cells.slot_bits + offset
    if operand.name == "SB":  # (k, j)
        lane, column, lsb = (np.swapaxes(array, 0, 1) for array in (lane, column, lsb))
    return Places(column, lane, lsb, bits, operand.columns, LANES * layout.spans["cta"])
