"""What an opcode of PTX computes, as a record: the types of its results and sources, and a function on arrays."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...base.records import TupleRecord
from .grammar import TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = ["DTYPES", "Modifiers", "Operation"]

DTYPES = {
    **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    "f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "pred": np.dtype(bool),
    "f16x2": np.dtype("u4"), "bf16x2": np.dtype("u4"), "bf16": np.dtype("u2"), "f32x2": np.dtype("u8"),
    "b128": np.dtype("c16"), "tf32": np.dtype("u4"), "u16x2": np.dtype("u4"), "s16x2": np.dtype("u4"),
}  # fmt: skip
"""How the values of a type are held; those that NumPy lacks by their bits."""


class Operation(TupleRecord):
    """What an opcode computes: the types of its results and sources, and the function on arrays of them.

    approximate: the hardware's result may differ within a documented error. carry: "" or what it does with the carry
    of its thread: "in", "out", "both"; the carry is then the last source and the last result. bitwise: each bit of
    the result is a bit of one source or a function of single bits, so that undefined bits can be followed one by one.
    """

    results: tuple[str, ...]
    sources: tuple[str, ...]
    function: Callable[..., Any]
    approximate: bool = False
    carry: str = ""
    bitwise: bool = False


class Modifiers:
    """The modifiers of an opcode, taken one after the other; what is left over is refused by name."""

    root: str
    words: list[str]

    def __init__(self, root: str, words: tuple[str, ...]) -> None:
        self.root, self.words = root, list(words)

    def flag(self, word: str) -> bool:
        if word in self.words:
            self.words.remove(word)
            return True
        return False

    def one_of(self, words: tuple[str, ...], default: str = "") -> str:
        for word in self.words:
            if word in words:
                self.words.remove(word)
                return word
        return default

    def types(self, count: int = 1) -> list[str]:
        """The words that are types, which may stand before other modifiers."""
        found = [word for word in self.words if word in TYPES]
        if len(found) != count:
            raise self.unknown()
        self.words = [word for word in self.words if word not in TYPES]
        return found

    def unknown(self) -> Error:
        left = ".".join(self.words)
        return Error(f"{self.root} with the modifiers '.{left}' is not covered")

    def done(self) -> None:
        if self.words:
            raise self.unknown()
