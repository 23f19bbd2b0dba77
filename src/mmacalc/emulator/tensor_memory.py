"""tcgen05.mma on the emulator: its shape and types from the matrices.

The shape and types of a tcgen05.mma are in its instruction descriptor. What a caller does not name follows from the
matrices: M, N and K from their sizes, the types of A and B from arrays of ml_dtypes and torch.
"""

from __future__ import annotations

import numpy as np

from ..base.errors import Error
from ..families.tensor_memory_shapes import types_of
from ..formats import FORMATS, NUMPY_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike

    from ..model import Instruction

__all__ = ["fitted"]

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
