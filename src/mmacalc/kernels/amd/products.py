"""Matrix instructions that the compiled core carries out on the registers as they are (products.c).

The core has a kernel for most products of floats with sums in float32; what it computes is what `Instruction.executor`
computes, which stays the definition: it is asked where there is no such kernel, and of the waves in which an infinity,
a NaN or an exponent far out makes the core decline.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np

from ...asm.decoded import ConstantOperand
from ...emulator import core, fast
from ...emulator.core import Task, address
from .core_operations import CONSTANT, vector_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...base.arrays import Array
    from ...emulator.execution import Execution, Places
    from ...formats import Format
    from .operands import Operand
    from .state import Group

__all__ = ["ROOM", "WaveProduct"]

ROOM = 1 << 16
"""Numbers of 32 bits for the elements of a product of one wave."""


class _Matrix(ctypes.Structure):
    """The struct Matrix of products.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("at", "words", "copy", "values", "exponents")),
        ("count", ctypes.c_int64), ("copies", ctypes.c_int64), ("bits", ctypes.c_int32), ("cut", ctypes.c_uint32),
    ]  # fmt: skip


class _Table(ctypes.Structure):
    """The struct Table of products.c."""

    _fields_ = [
        ("task", Task), ("kernel", ctypes.c_void_p), *((name, _Matrix) for name in "abcd"),
        ("blocks", ctypes.c_int64), ("aligned", ctypes.c_int64),
    ]  # fmt: skip


class _Product(ctypes.Structure):
    """The struct Product of products.c."""

    _fields_ = [
        ("table", ctypes.c_void_p), *((name, ctypes.c_int32) for name in "abcd"), ("constant", ctypes.c_uint32),
    ]  # fmt: skip


def _core() -> Callable[[int, int, int], int] | None:
    return core.function("product", (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64), ctypes.c_int64)


class Tables:
    """Where the elements of a product lie, in the order in which a kernel of the core takes them: of A row by row, of
    B, C and D with columns padded, of B in strips. Register and place in it (of elements), -1 of padding."""

    a: tuple[Array, ...]
    b: tuple[Array, ...]
    c: tuple[Array, ...]
    d: tuple[Array, ...]
    execution: Execution
    kernel: fast.Kernel
    lanes: int
    padded: int

    __slots__ = ("a", "b", "c", "d", "execution", "kernel", "lanes", "padded")

    def __init__(self, execution: Execution, kernel: fast.Kernel) -> None:
        columns = execution.inst.n
        self.execution, self.kernel = execution, kernel
        self.lanes = fast.at_once(kernel, columns)
        self.padded = -(-columns // self.lanes) * self.lanes
        held = "C" if "C" in execution.inst.operands else "D"
        self.a = _units(execution.places("A"))
        self.b = tuple([self._strips(one) for one in _units(execution.places("B"))])
        self.c, self.d = (tuple([self._wide(one) for one in _units(execution.places(name))]) for name in (held, "D"))

    def _wide(self, table: Array) -> Array:
        wide = np.full((*table.shape[:-1], self.padded), -1, np.int64)
        wide[..., : table.shape[-1]] = table
        return wide

    def _strips(self, table: Array) -> Array:
        wide = self._wide(table)
        return wide.reshape(*wide.shape[:-1], -1, self.lanes).swapaxes(-3, -2)


def _units(place: Places) -> tuple[Array, ...]:
    """Register << 32 and the place in it of each element, one array for each copy."""
    each = 32 // place.bits
    found = place.register.astype(np.int64) << 32 | place.lane * each + place.lsb // place.bits
    return tuple([found[..., copy] for copy in range(place.copies)])


@lru_cache(maxsize=64)
def _tables(execution: Execution) -> Tables | None:
    """The tables of an instruction, if the core can carry it out on registers."""
    kernel = fast.kernel(execution)
    if kernel is None or _core() is None or core.function(kernel.name) is None:
        return None
    formats = execution.formats
    plain = not (execution.block_size or execution.absolute or execution.inst.in_tensor_memory)
    if not plain or formats["D"].name != "f32" or formats["C"].name != "f32":
        return None
    if any(not isinstance(flip, int) or flip for flip in execution.flips.values()):
        return None
    if any(formats[name].bits not in (8, 16, 32) or execution.places(name).units is None for name in "AB"):
        return None
    held = "C" if "C" in execution.inst.operands else "D"
    if execution.places("D").copies != 1 or execution.places(held).copies != 1:
        return None
    found = Tables(execution, kernel)
    return found if 2 * (found.a[0].size + found.b[0].size + found.d[0].size) <= ROOM else None


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
        tables = None if _core() is None else _tables(execution)
        return None if tables is None else WaveProduct(tables, operands)

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


class _Placed:
    """The tables of a product in a batch, and the arrays that they point to. address: of the struct."""

    address: int

    def __init__(self, tables: Tables, waves: int, lanes: int) -> None:
        self._kept: list[Array] = []
        self._row = waves * lanes
        execution, kernel, self._table = tables.execution, tables.kernel, _Table()
        task, table = Task.from_buffer_copy(kernel.task), self._table
        task.rows, task.columns, task.depth = execution.inst.m, tables.padded, execution.inst.k
        task.lanes, table.blocks, table.aligned = tables.lanes, execution.inst.blocks, bool(kernel.aligned)
        table.task = task
        for name, places in (("A", tables.a), ("B", tables.b), ("C", tables.c), ("D", tables.d)):
            self._matrix(getattr(table, name.lower()), execution.formats[name], places)
        for name in "AB":
            form, matrix = execution.formats[name], getattr(table, name.lower())
            if form.bits <= 16:
                values, exponents = fast.tables(form.name, kernel.flushed)
                matrix.values = self._new(values)
                if kernel.aligned and exponents is not None:
                    matrix.exponents = self._new(exponents)
        function: Any = core.function(kernel.name)
        table.kernel = ctypes.cast(function, ctypes.c_void_p).value
        self.address = ctypes.addressof(table)

    def _new(self, array: Array) -> int:
        self._kept.append(array)
        return address(array)

    def _matrix(self, matrix: Any, form: Format, tables: tuple[Array, ...]) -> None:
        matrix.bits, matrix.cut = form.bits, 0xFFFFE000 if form.bits == 32 and form.mantissa == 10 else 0xFFFFFFFF
        row = self._row * (32 // form.bits)
        first, *copies = [np.where(one < 0, -1, (one >> 32) * row + (one & 0xFFFFFFFF)).ravel() for one in tables]
        matrix.count, matrix.at = first.size, self._new(first.astype(np.int32))
        if copies:  # an element is at the same place of a register in each copy
            words = [np.stack((first, one))[:, first >= 0] // (32 // form.bits) for one in copies]
            pairs = np.unique(np.concatenate(words, axis=1), axis=1).astype(np.int32)
            matrix.copies = pairs.shape[1]
            matrix.words, matrix.copy = (self._new(np.ascontiguousarray(one)) for one in pairs)


@lru_cache(maxsize=64)
def _placed(tables: Tables, waves: int, lanes: int) -> _Placed:
    return _Placed(tables, waves, lanes)
