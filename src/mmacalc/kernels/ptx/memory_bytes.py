"""Bytes of an array of bytes, at many places at once, and the values that have every bit set."""

from __future__ import annotations

import numpy as np

from .shared_core import bytes_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["WORDS", "all_bits", "gathered", "scattered"]

WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64}


def all_bits(dtype: np.dtype[Any]) -> Any:
    """The value of a register, or of the mask beside it, that has every bit set; of 128 bits the mask is one flag."""
    return dtype.type(1) if dtype.kind in "bc" else ~dtype.type(0)


def gathered(memory: Array, places: Array, size: int) -> Array:
    """The bytes at places that are multiples of their size: (place, byte)."""
    given = bytes_at(memory, places, size)
    if given is not None:
        return given
    word = WORDS.get(size)
    if word is None or (places & (size - 1)).any():
        found: Array = memory[places[:, None] + np.arange(size)]
    elif size == 16:
        found = memory.view(word).reshape(-1, 2)[places >> 4].view(np.uint8)
    else:
        found = memory.view(word)[places // size][:, None].view(np.uint8)
    return found


def scattered(memory: Array, places: Array, data: Array) -> None:
    """Write bytes (place, byte) at places."""
    size = data.shape[1]
    word = WORDS.get(size)
    if word is None or (places & (size - 1)).any():
        memory[places[:, None] + np.arange(size)] = data
    elif size == 16:
        memory.view(word).reshape(-1, 2)[places >> 4] = np.ascontiguousarray(data).view(word)
    else:
        memory.view(word)[places // size] = np.ascontiguousarray(data).view(word)[:, 0]
