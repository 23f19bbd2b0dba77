"""Video instructions of PTX (PTX ISA 9.0, 9.7.19), as functions on arrays: sums, differences and comparisons of whole
registers, of their halves (vadd2 ...) and of their bytes (vadd4 ...).

Parts of registers (%r1.b0), masks of results, second operations other than a sum over bytes or halves, vshl, vshr and
vmad are not covered; nvcc emits none of these.
"""

from __future__ import annotations

import numpy as np

from ...ptx.module import count_of
from .operation import DTYPES, Modifiers, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = ["ROOTS", "video"]

_COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
            "ge": np.greater_equal}  # fmt: skip
_COMPUTE: dict[str, Callable[[Array, Array], Array]] = {
    "vadd": np.add, "vsub": np.subtract, "vabsdiff": lambda a, b: np.abs(a - b), "vmin": np.minimum,
    "vmax": np.maximum, "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
}  # fmt: skip
ROOTS = (
    *[f"{root}{count}" for root in _COMPUTE for count in ("", "2", "4") if (root, count) != ("vavrg", "")],
    "vset", "vset2", "vset4",
)  # fmt: skip


def video(root: str, words: tuple[str, ...]) -> Operation:
    """What a video instruction computes."""
    modifiers = Modifiers(root, words)
    name, count = (root[:-1], count_of(root[-1])) if root[-1] in "24" else (root, 1)  # of parts in a register
    types = modifiers.types(2 if name == "vset" else 3)
    target = "u32" if name == "vset" else types.pop(0)
    sat, adds = modifiers.flag("sat"), modifiers.flag("add")
    compare = modifiers.one_of(tuple(_COMPARE))
    modifiers.done()
    bits = 32 // count
    plain = _comparison(compare) if name == "vset" else _COMPUTE[name]

    def function(a: Array, b: Array, *c: Array) -> Array:
        total: Array = np.int64(0)
        for part in range(count):
            values = [_part(x, kind[0] == "s", bits, part) for x, kind in zip((a, b), types)]
            found = plain(*values)
            if sat:
                found = np.clip(found, *_limits(target[0] == "s", bits))
            total = total + (found if adds else (found & np.int64((1 << bits) - 1)) << np.int64(bits * part))
        total = total + c[0].astype(np.int64) if adds else total
        return np.asarray(total).astype(np.uint32).view(DTYPES[target])

    return Operation((target,), (*types, *((target,) if count > 1 else ())), function)


def _comparison(word: str) -> Callable[[Array, Array], Array]:
    return lambda a, b: _COMPARE[word](a, b).astype(np.int64)


def _part(value: Array, signed: bool, bits: int, place: int) -> Array:
    raw = value.view(np.uint32).astype(np.int64) >> np.int64(bits * place) & np.int64((1 << bits) - 1)
    return raw - ((raw >> np.int64(bits - 1)) << np.int64(bits)) if signed else raw


def _limits(signed: bool, bits: int) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
