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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...base.arrays import Array
    from ...emulator.execution import Execution, Places
    from ...formats import Format
    from .batch import Batch
    from .operands import Operand
    from .state import Group, Registers

__all__ = ["WaveProduct"]


class _Matrix(ctypes.Structure):
    """The struct Matrix of products.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("file", "at", "copy", "values", "exponents")),
        ("count", ctypes.c_int64), ("copies", ctypes.c_int64), ("bits", ctypes.c_int32), ("cut", ctypes.c_uint32),
        ("constant", ctypes.c_uint32),
    ]  # fmt: skip


class _Product(ctypes.Structure):
    """The struct Product of products.c."""

    _fields_ = [
        ("task", Task), ("kernel", ctypes.c_void_p), *((name, _Matrix) for name in "abcd"),
        *((name, ctypes.c_void_p) for name in (
            "values_a", "values_b", "values_c", "exponents_a", "exponents_b", "flags", "declined",
        )),
        ("blocks", ctypes.c_int64),
    ]  # fmt: skip


def _core() -> Callable[[int, int, int], int] | None:
    return core.function("products", core.WAVES, ctypes.c_int64)


class Tables:
    """Where the elements of a product lie, in the order in which a kernel of the core takes them: of A row by row, of
    B, C and D with columns padded, of B in strips. Register and place in it (of elements), -1 of padding."""

    a: tuple[Array, ...]
    b: tuple[Array, ...]
    c: tuple[Array, ...]
    d: tuple[Array, ...]
    kernel: fast.Kernel
    lanes: int
    padded: int

    __slots__ = ("a", "b", "c", "d", "kernel", "lanes", "padded")

    def __init__(self, execution: Execution, kernel: fast.Kernel) -> None:
        columns = execution.inst.n
        self.kernel = kernel
        self.lanes = 8 if columns < 64 and columns % 32 in range(1, 17) else 32  # as `fast.chain`
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
    return Tables(execution, kernel)


class WaveProduct:
    """A matrix instruction with its operands. d: the first register of D."""

    execution: Execution
    operands: dict[str, Operand]
    tables: Tables

    def __init__(self, execution: Execution, tables: Tables, operands: dict[str, Operand]) -> None:
        self.execution, self.tables, self.operands = execution, tables, operands

    @staticmethod
    def of(execution: Execution, operands: dict[str, Operand]) -> WaveProduct | None:
        """A product whose operands (A, B, C, D) are vector registers, C also a constant; None of another."""
        tables = None if _core() is None else _tables(execution)
        for name, operand in operands.items():
            constant = isinstance(operand, ConstantOperand)
            if not (name == "C" if constant else getattr(operand, "file", "") in ("v", "a")):
                return None
        return None if tables is None else WaveProduct(execution, tables, operands)

    def carry_out(self, group: Group) -> Array | None:
        """Execute it in a group of waves; gives which of them are still to do, None if none is."""
        batch, carried_out = group.batch, _core()
        assert carried_out is not None
        bound = batch.prepared.get(self)
        if bound is None:
            bound = batch.prepared[self] = self._bound(batch)
        product, declined = bound
        if not carried_out(batch.running_waves(group), ctypes.addressof(product), group.lanes):
            return None
        found: Array = declined[: group.count] != 0
        return found

    def _bound(self, batch: Batch) -> tuple[_Product, Array]:
        """The product in a batch, and where the core enters what it declines; what does not depend on the operands is
        shared."""
        shared = batch.prepared.get(self.execution)
        if shared is None:
            shared = batch.prepared[self.execution] = _Shared(self.execution, self.tables, batch.registers)
        product = _Product.from_buffer_copy(shared.product)
        for name, operand in self.operands.items():
            matrix = getattr(product, name.lower())
            if isinstance(operand, ConstantOperand):
                matrix.constant = operand.bits & 0xFFFFFFFF
                continue
            file = batch.registers.file(operand)
            matrix.file = address(file) + file.strides[0] * operand[1]
        return product, shared.declined


class _Shared:
    """A product in a batch, without its operands, and the arrays that it points to."""

    def __init__(self, execution: Execution, tables: Tables, registers: Registers) -> None:
        self._kept: list[Array] = []
        self.product = product = _Product()
        task = Task.from_buffer_copy(tables.kernel.task)
        task.rows, task.columns, task.depth = execution.inst.m, tables.padded, execution.inst.k
        task.lanes, product.blocks = tables.lanes, execution.inst.blocks
        for name, table in (("A", tables.a), ("B", tables.b), ("C", tables.c), ("D", tables.d)):
            self._matrix(getattr(product, name.lower()), registers, execution.formats[name], table)
        for name in ("a", "b"):
            matrix = getattr(product, name)
            setattr(task, name, self._new(np.empty(matrix.count, np.float32)))
            setattr(product, f"values_{name}", getattr(task, name))
            if tables.kernel.aligned:
                setattr(task, f"exponent_{name}", self._new(np.empty(matrix.count, np.int16)))
                setattr(product, f"exponents_{name}", getattr(task, f"exponent_{name}"))
            form = execution.formats[name.upper()]
            if form.bits <= 16:
                values, exponents = fast.tables(form.name, tables.kernel.flushed)
                matrix.values = self._new(values)
                if tables.kernel.aligned and exponents is not None:
                    matrix.exponents = self._new(exponents)
        size = int(product.d.count)
        task.c, task.flags = self._new(np.empty(size, np.float32)), self._new(np.empty(size, np.uint8))
        product.values_c, product.flags, product.task = task.c, task.flags, task
        self.declined = np.zeros(registers.waves, np.uint8)
        product.declined = address(self.declined)
        kernel: Any = core.function(tables.kernel.name)
        product.kernel = ctypes.cast(kernel, ctypes.c_void_p).value

    def _new(self, array: Array) -> int:
        self._kept.append(array)
        return address(array)

    def _matrix(self, matrix: Any, registers: Registers, form: Format, tables: tuple[Array, ...]) -> None:
        matrix.bits, matrix.cut = form.bits, 0xFFFFE000 if form.bits == 32 and form.mantissa == 10 else 0xFFFFFFFF
        row = registers.waves * registers.lanes * (32 // form.bits)
        places = [np.where(one < 0, -1, (one >> 32) * row + (one & 0xFFFFFFFF)).astype(np.int32) for one in tables]
        places = [np.ascontiguousarray(one.reshape(-1)) for one in places]
        matrix.count, matrix.copies, matrix.at = places[0].size, len(places) - 1, self._new(places[0])
        if len(places) > 1:
            matrix.copy = self._new(np.concatenate(places[1:]))
