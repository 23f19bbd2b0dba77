"""Integer sums with CLAMP: the exact result, or the nearest that the type has.

Source: CDNA3 ISA guide, "Output Modifiers"; RDNA3 ISA guide, "Integer Clamp". LLVM writes them for saturating sums.
"""

from __future__ import annotations

import re

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of an integer type

__all__ = ["saturating"]

_NAME = re.compile(r"v_(?:pk_)?(add|sub|subrev)(?:_nc)?_[ui](?:16|32)")
_EXACT: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "subrev": lambda a, b: b - a,
}


def saturating(name: str) -> Callable[[Array, Array], Array] | None:
    """What an instruction with CLAMP computes; None if it is none of these.

    >>> saturating("v_sub_u16")(np.array([1], np.uint16), np.array([2], np.uint16))
    array([0], dtype=uint16)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    exact = _EXACT[match[1]]

    def operation(a: Array, b: Array) -> Array:
        limits = np.iinfo(a.dtype)
        return np.clip(exact(a.astype(np.int64), b.astype(np.int64)), limits.min, limits.max).astype(a.dtype)

    return operation
