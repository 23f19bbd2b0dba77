"""Matrix instructions that the compiled core carries out on the registers as they are (`mmacalc.emulator.fragments`).

Of the waves in which an infinity, a NaN or an exponent far out makes the core decline, `Instruction.executor` is asked.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

from ...asm.decoded import ConstantOperand
from ...emulator import core
from ...emulator.fragments import Placed, Tables, tables
from .core_operations import CONSTANT, vector_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...base.arrays import Array
    from ...emulator.execution import Execution
    from .operands import Operand
    from .state import Group

__all__ = ["WaveProduct"]


class _Product(ctypes.Structure):
    """The struct Product of products.c."""

    _fields_ = [
        ("table", ctypes.c_void_p), *((name, ctypes.c_int32) for name in "abcd"), ("constant", ctypes.c_uint32),
    ]  # fmt: skip


def _core() -> Callable[[int, int, int], int] | None:
    return core.function("product", (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64), ctypes.c_int64)


class WaveProduct:
    """A matrix instruction with its operands."""

    operands: dict[str, Operand]
    tables: Tables

    def __init__(self, tables: Tables, operands: dict[str, Operand]) -> None:
        self.tables, self.operands = tables, operands
        self._described: dict[int, Any] = {}

    def carry_out(self, group: Group) -> Array | None:
        """Execute it in a group of waves; gives which of them are still to do, None if none is."""
        carried_out = _core()
        assert carried_out is not None
        batch, waves = group.batch, group.registers.waves
        if waves not in self._described:
            self._described[waves] = self.described(waves, group.lanes)
        if carried_out(batch.core.of(group), ctypes.addressof(self._described[waves]), group.lanes):
            return None
        return batch.core.left(group)

    @staticmethod
    def of(execution: Execution, operands: dict[str, Operand]) -> WaveProduct | None:
        """A product whose operands (A, B, C, D) are vector registers, C also a constant; None of another."""
        for name, operand in operands.items():
            constant = isinstance(operand, ConstantOperand)
            if not (name == "C" if constant else getattr(operand, "file", "") in ("v", "a")):
                return None
        found = None if _core() is None else tables(execution)
        return None if found is None else WaveProduct(found, operands)

    def described(self, waves: int, lanes: int) -> Any:
        """The product for the core, in a batch of some number of waves, each of some lanes."""
        table = _placed(self.tables, waves, lanes)
        made = _Product(table=table.address)
        made.kept = table
        for name, operand in self.operands.items():
            if isinstance(operand, ConstantOperand):
                made.c, made.constant = CONSTANT, operand.bits & 0xFFFFFFFF
            else:
                setattr(made, name.lower(), vector_code(operand))
        return made


@lru_cache(maxsize=64)
def _placed(tables: Tables, waves: int, lanes: int) -> Placed:
    return Placed(tables, waves * lanes)
