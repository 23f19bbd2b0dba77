"""Products whose operands lie in registers or in memory, by the compiled core (products.c), without gathering them.

The core has a kernel for most products of floats with sums in float32; what it computes is what `Instruction.executor`
computes, which stays the definition: it is asked where there is no such kernel, and for the products in which an
infinity, a NaN or an exponent far out makes the core decline.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np

from . import core, fast
from .computing import is_stood_in
from .core import Task, address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..base.arrays import Array
    from ..formats import Format
    from .execution import Execution, Places

__all__ = ["ROOM", "Placed", "Tables", "multiplied", "tables"]

ROOM = 1 << 17
"""Numbers of 32 bits for the elements of one product."""


class _Matrix(ctypes.Structure):
    """The struct Matrix of products.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("at", "words", "copy", "values", "exponents")),
        ("count", ctypes.c_int64), ("copies", ctypes.c_int64), ("padded", ctypes.c_int64),
        ("bits", ctypes.c_int32), ("cut", ctypes.c_uint32),
        ("mantissa", ctypes.c_int32), ("bias", ctypes.c_int32), ("rows", ctypes.c_int64),
    ]  # fmt: skip


class _Table(ctypes.Structure):
    """The struct Table of products.c."""

    _fields_ = [
        ("task", Task), ("kernel", ctypes.c_void_p), *((name, _Matrix) for name in "abcd"),
        ("blocks", ctypes.c_int64), ("aligned", ctypes.c_int64),
    ]  # fmt: skip


class Tables:
    """Where the elements of a product lie, in the order in which a kernel of the core takes them: of A row by row, of
    B, C and D with columns padded, of B in strips. Of an operand in registers register << 32 and the place in it (of
    elements), one array for each copy; -1 of padding."""

    execution: Execution
    kernel: fast.Kernel
    lanes: int
    padded: int
    registers: dict[str, tuple[Array, ...]]

    __slots__ = ("execution", "kernel", "lanes", "padded", "registers")

    def __init__(self, execution: Execution, kernel: fast.Kernel, names: str) -> None:
        columns = execution.inst.n
        self.execution, self.kernel = execution, kernel
        self.lanes = fast.at_once(kernel, columns)
        self.padded = -(-columns // self.lanes) * self.lanes
        places = {name: execution.places(_held(execution, name)) for name in names}
        self.registers = {name: tuple([self.ordered(name, one) for one in _units(place)])
                          for name, place in places.items()}  # fmt: skip

    @property
    def size(self) -> int:
        """The numbers of 32 bits that the elements of a product take."""
        blocks, inst = self.execution.inst.blocks, self.execution.inst
        return 2 * blocks * (inst.m * inst.k + (inst.k + inst.m) * self.padded)

    def ordered(self, name: str, table: Array) -> Array:
        """Something of each element of a matrix, A (..., m, k), B (..., k, n), C or D (..., m, n), in the order in
        which the kernel takes them."""
        if name == "A":
            return table
        wide = np.full((*table.shape[:-1], self.padded), -1, np.int64)
        wide[..., : table.shape[-1]] = table
        if name != "B":
            return wide
        return wide.reshape(*wide.shape[:-1], -1, self.lanes).swapaxes(-3, -2)


def _held(execution: Execution, name: str) -> str:
    """The operand that says where one lies: an accumulator that is C and D has one name."""
    return "D" if name == "C" and "C" not in execution.inst.operands else name


def _units(place: Places) -> tuple[Array, ...]:
    """Register << 32 and the place in it of each element, one array for each copy."""
    each = 32 // place.bits
    found = place.register.astype(np.int64) << 32 | place.lane * each + place.lsb // place.bits
    return tuple([found[..., copy] for copy in range(place.copies)])


@lru_cache(maxsize=64)
def tables(execution: Execution, names: str = "ABCD") -> Tables | None:
    """The tables of an instruction of which some operands are in registers, if the core can carry it out so."""
    kernel = fast.kernel(execution)
    if kernel is None or core.function(kernel.name) is None:
        return None
    formats = execution.formats
    plain = not (execution.block_size or execution.absolute or execution.sparsity)
    if not plain or formats["D"].name != "f32" or formats["C"].name != "f32":
        return None
    if any(not isinstance(flip, int) or flip for flip in execution.flips.values()):
        return None
    if any(formats[name].bits not in (8, 16, 32) for name in "AB"):
        return None
    places = {name: execution.places(_held(execution, name)) for name in names}
    if any(place.units is None or (name in "CD" and place.copies != 1) for name, place in places.items()):
        return None
    found = Tables(execution, kernel, names)
    return found if found.size <= ROOM else None


class Placed:
    """The tables of a product for arrays that hold its operands, and the arrays that they point to.

    row: elements of 32 bits from a register to the next one. memory: of the operands that do not lie in registers the
    place of each element in the array that holds them, counted in elements. address: of the struct. size: numbers of 32
    bits that the elements of a product take.
    """

    address: int
    size: int

    def __init__(self, tables: Tables, row: int, memory: Mapping[str, Array] | None = None) -> None:
        self._kept: list[Array] = []
        self._row, self.size = row, tables.size
        execution, kernel, self._table = tables.execution, tables.kernel, _Table()
        task, table = Task.from_buffer_copy(kernel.task), self._table
        task.rows, task.columns, task.depth = execution.inst.m, tables.padded, execution.inst.k
        task.lanes, table.blocks, table.aligned = tables.lanes, execution.inst.blocks, bool(kernel.aligned)
        table.task = task
        for name in "ABCD":
            form, matrix = execution.formats[name], getattr(table, name.lower())
            if memory and name in memory:
                self._entered(matrix, form, [tables.ordered(name, memory[name]).ravel()])
            else:
                self._in_registers(matrix, form, tables.registers[name])
        for name in "AB":
            form, matrix = execution.formats[name], getattr(table, name.lower())
            if form.bits <= 16:
                values, exponents = fast.tables(form.name, kernel.flushed)
                matrix.values = self._new(values)
                if kernel.aligned and exponents is not None:
                    matrix.exponents = self._new(exponents)
                    if computable(form, kernel.flushed):
                        matrix.mantissa, matrix.bias = form.mantissa, form.bias
        function: Any = core.function(kernel.name)
        table.kernel = ctypes.cast(function, ctypes.c_void_p).value
        self.address = ctypes.addressof(table)

    def _new(self, array: Array) -> int:
        self._kept.append(array)
        return address(array)

    def _in_registers(self, matrix: Any, form: Format, tables: tuple[Array, ...]) -> None:
        row = self._row * (32 // form.bits)
        self._entered(matrix, form, [np.where(one < 0, -1, (one >> 32) * row + (one & 0xFFFFFFFF)).ravel()
                                     for one in tables])  # fmt: skip

    def _entered(self, matrix: Any, form: Format, places: Sequence[Array]) -> None:
        matrix.bits, matrix.cut = form.bits, 0xFFFFE000 if form.bits == 32 and form.mantissa == 10 else 0xFFFFFFFF
        first, *copies = places
        matrix.count, matrix.at, matrix.padded = first.size, self._new(first.astype(np.int32)), bool((first < 0).any())
        rows = first[: first.size // 16 * 16].reshape(-1, 16)
        whole = form.bits == 32 and rows.size == first.size and not matrix.padded
        matrix.rows = whole and bool((np.diff(rows, axis=1) == 1).all())
        if copies:  # an element is at the same place of a register in each copy
            words = [np.stack((first, one))[:, first >= 0] // (32 // form.bits) for one in copies]
            pairs = np.array(sorted({*zip(*np.concatenate(words, axis=1).tolist())}), np.int32).T
            matrix.copies = pairs.shape[1]
            matrix.words, matrix.copy = (self._new(np.ascontiguousarray(one)) for one in pairs)


@lru_cache(maxsize=64)
def computable(form: Format, flushed: str) -> bool:
    """Whether `computed` of products.c gives the tables of a format: the exponents of all its codes, and the values of
    those that are finite."""
    values, exponents = fast.tables(form.name, flushed)
    codes = np.arange(len(values), dtype=np.uint32)
    size = codes & np.uint32((1 << form.bits - 1) - 1)
    field, most = size >> np.uint32(form.mantissa), (1 << form.bits - 1 - form.mantissa) - 1
    own = np.where(field == most, fast.NONFINITE, np.maximum(field, 1).astype(int) - form.bias)
    with np.errstate(invalid="ignore", over="ignore"):
        found = (size << np.uint32(23 - form.mantissa)).view(np.float32) * np.float32(2.0 ** (127 - form.bias))
    found = np.where(codes >> np.uint32(form.bits - 1), -found, found)
    finite = field != most
    return bool((np.where(size, own, fast.EMPTY) == exponents).all()) and np.array_equal(
        found[finite].view(np.uint32), values[finite].view(np.uint32))  # fmt: skip


def multiplied(placed: Placed, arrays: Mapping[str, Array], starts: Mapping[str, Array], zero: Array) -> Array:
    """Carry out products; which of them are still to do: all without the core, and where something stands in for what
    computes products.

    Args:
        arrays: by operand the memory that holds it (D is written). starts: the byte at which the operand of each
            product begins in it, int64. zero: of each whether its C is zeros.
    """
    run = core.function("products", _PRODUCTS, ctypes.c_int64)
    count = len(zero)
    if run is None or is_stood_in():
        return np.ones(count, bool)
    pointers = (ctypes.c_void_p * 4)(*[address(arrays[name]) for name in "ABCD"])
    begin = np.stack([starts[name] for name in "ABCD"]).astype(np.int64, copy=False)
    declined, none, room = np.empty(count, np.uint8), np.ascontiguousarray(zero, np.uint8), np.empty(placed.size, "f4")
    run(placed.address, count, pointers, address(begin), address(none), address(room), address(declined))
    return declined.view(bool)


_PRODUCTS = (ctypes.c_void_p, ctypes.c_int64, *(ctypes.c_void_p,) * 5)
