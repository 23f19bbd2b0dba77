"""Numbers of which each lane of a wave has its own."""

from __future__ import annotations

from operator import index

import numpy as np

from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    _Array = np.ndarray[Any, np.dtype[Any]]
else:
    _Array = np.ndarray

__all__ = ["PerLane"]


class PerLane(_Array):
    """One number for each lane, such as threadIdx.x: an array, which also serves as a plain number while all lanes
    hold the same one. So `if row < m:`, `range(first, k)` and `names[threadIdx.y]` read as in HIP.

    Raises:
        Error: (when used as a plain number) the lanes hold different numbers.

    >>> rows = np.arange(64).view(PerLane) // 64 * 16
    >>> "inside" if rows < 256 else "outside"
    'inside'
    """

    def _number(self, use: str) -> Any:
        values = self.ravel().tolist()  # faster than NumPy on so few
        if not values or values.count(values[0]) != len(values):
            raise Error(
                f"{use} is not the same in all lanes of the wave; what holds for the whole wave follows from "
                "wave.first_threadIdx, choices by lane take numpy.where"
            )
        return values[0]

    def __bool__(self) -> bool:
        return bool(self._number("a condition"))

    def __index__(self) -> int:
        return index(self._number("a whole number"))

    def __int__(self) -> int:
        return int(self._number("a whole number"))

    def __float__(self) -> float:
        return float(self._number("a number"))
