"""What the hardware computes, bit for bit: execute on registers, multiply on matrices.

`multiply`, `multiply_bits` and `execute` are methods of every instruction; `numerics` says which arithmetic model
it follows and how sure that is. NumPy is imported when one of the first three is used.
"""

from __future__ import annotations

from ..arithmetic.numerics import Numerics, numerics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .matrices import dot as dot
    from .registers import Executor as Executor

__all__ = ["Executor", "Numerics", "dot", "numerics"]

_HOMES = {"dot": "matrices", "Executor": "registers"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'mmacalc.emulator' has no attribute '{name}'")
