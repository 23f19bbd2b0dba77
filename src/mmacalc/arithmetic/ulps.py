"""Distances of codes in units in the last place."""

from __future__ import annotations

import numpy as np

from .codecs import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format

    Array = NDArray[Any]

__all__ = ["ulps"]


def ulps(x: Array, y: Array, format: Format) -> NDArray[np.float64]:
    """The distance of two arrays of codes in units in the last place; NaN where just one of them is a NaN.

    >>> from mmacalc.formats import FORMATS
    >>> ulps(np.array([0x3C00, 0x8000], np.uint16), np.array([0x3C02, 0x0001], np.uint16), FORMATS["f16"])
    array([2., 1.])
    """
    if not format.is_float:
        apart: NDArray[np.int64] = np.abs(decode(x, format) - decode(y, format))
        return apart.astype(np.float64)
    sign = 1 << (format.bits - 1)
    ordered = [(code & (sign - 1)).astype(object if format.bits == 64 else np.int64) for code in (x, y)]
    ordered = [np.where(code & code.dtype.type(sign) != 0, -o, o) for code, o in zip((x, y), ordered)]
    missing = [np.isnan(decode(code, format)) for code in (x, y)]
    distance: NDArray[np.float64] = np.abs(ordered[0] - ordered[1]).astype(np.float64)
    distance[missing[0] & missing[1]] = 0.0
    distance[missing[0] ^ missing[1]] = np.nan
    return distance
