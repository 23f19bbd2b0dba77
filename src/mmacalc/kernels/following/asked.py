"""What is asked of `follow_product`: which arguments of a kernel are D, A and B, and how they lie in memory."""

from __future__ import annotations

import re

import numpy as np

from ...base.checks import number
from ...base.errors import Error, abbreviated
from ...base.records import TupleRecord
from ...formats import FORMATS, NUMPY_NAMES, named
from ..ptx.tensor_map import TensorMapArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...base.arrays import Array
    from ...formats import Format
    from ..device.memory import GlobalMemory

__all__ = ["Matrix", "Product", "product_of"]

_NAME = r"(?P<{0}>argument \w+|[\w$.]*?\w)(?::(?P<{0}_format>\w+))?(?P<{0}_turned>\.T)?"
_PRODUCT = re.compile(rf"\s*{_NAME.format('d')}\s*=\s*{_NAME.format('a')}\s*@\s*{_NAME.format('b')}\s*")
HOW = 'such as "d = a @ b", with .T behind a matrix that lies the other way round and :bf16 where its type does not say'
TYPES = {name: kind for kind, name in reversed(NUMPY_NAMES.items()) if kind not in ("xf32", "tf32", "iu8", "iu4")}
"""Formats by the names of NumPy's and ml_dtypes' types."""


class Matrix(TupleRecord):
    """A matrix that is an argument: its name as it was asked for, the array, the format of its elements, whether the
    array holds it the other way round (.T)."""

    name: str
    array: Array
    format: Format
    turned: bool

    @property
    def packed(self) -> int:
        """Elements in one of the array's."""
        return max(1, 8 * self.array.itemsize // self.format.bits) if self.format.bits < 8 else 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Batch, rows, columns."""
        *batch, rows, columns = self.array.shape
        columns *= self.packed
        return int(np.prod(batch)), *((columns, rows) if self.turned else (rows, columns))

    def start(self, memory: GlobalMemory) -> tuple[int, int]:
        """Its address in a launch, and its place in the bytes of global memory; -1 where no argument has its bytes."""
        first = self.array.__array_interface__["data"][0]
        for region in memory.regions:
            if region.array is not None:
                offset = first - region.array.__array_interface__["data"][0]
                if 0 <= offset < region.array.nbytes:
                    return region.start + offset, region.place + offset
        return -1, -1


class Product(TupleRecord):
    """D = A B: the matrices, and the sizes."""

    d: Matrix
    a: Matrix
    b: Matrix
    batch: int
    m: int
    n: int
    k: int


def product_of(text: str, names: Sequence[str], args: Sequence[Any]) -> Product:
    """The product that a text asks for.

    Args:
        text: as "d = a @ b.T". names: of the kernel's arguments. args: what they are in the launch.

    Raises:
        Error: it cannot be read, names something else than an array, or the shapes do not fit.

    >>> a, d = np.zeros((2, 64, 32), np.float16), np.zeros((2, 64, 48), np.float32)
    >>> product_of("d = a @ b.T", ["a", "b", "d"], [a, np.zeros((2, 48, 32), np.float16), d])[3:]
    (2, 64, 48, 32)
    """
    found = _PRODUCT.fullmatch(text)
    if found is None:
        raise Error(f"product is {HOW}; got '{text[:60]}'")
    d, a, b = (_matrix(name, found, names, args) for name in "dab")
    (batch, m, k), sizes_b, sizes_d = a.shape, b.shape, d.shape
    if sizes_b[:2] != (batch, k) or sizes_d != (batch, m, sizes_b[2]):
        raise Error(
            f"product '{text.strip()}': A is {_size(a)}, B {_size(b)} and D {_size(d)}; they have to be M x K, K x N "
            "and M x N. Is a matrix the other way round (.T)?"
        )
    if any(one.array is other.array for one, other in ((a, b), (a, d), (b, d))):
        raise Error(f"product '{text.strip()}': two of its matrices are one array, whose elements cannot be told apart")
    return Product(d, a, b, batch, m, sizes_b[2], k)


def _size(matrix: Matrix) -> str:
    batch, rows, columns = matrix.shape
    return f"{rows} x {columns}" if batch == 1 else f"{batch} times {rows} x {columns}"


def _matrix(which: str, found: re.Match[str], names: Sequence[str], args: Sequence[Any]) -> Matrix:
    name, format_name = found[which], found[f"{which}_format"]
    numbered = [f"argument {at + 1}" for at in range(len(names))]
    at = next((list_.index(name) for list_ in (list(names), numbered) if name in list_), None)
    if at is None and (count := number(name, len(names), 1)) is not None:
        at = count - 1
    if at is None:
        raise Error(f"product: the kernel has no argument '{name}'; it has {abbreviated(names, 8)}")
    array = args[at] if at < len(args) else None
    if isinstance(array, TensorMapArgument):
        array = array.array
    if not isinstance(array, np.ndarray):
        raise Error(f"product: {name} is {type(array).__name__}; it has to be an array")
    if array.ndim not in (2, 3):
        raise Error(f"product: {name} has the shape {array.shape}; give it as rows and columns, batches before them")
    return Matrix(name, array, _format(name, array, format_name), bool(found[f"{which}_turned"]))


def _format(name: str, array: Array, given: str | None) -> Format:
    known = TYPES.get(array.dtype.name) if given is None else named(given).name
    if known is None or (given is None and array.dtype.name in ("uint8", "uint16", "uint32")):
        ways = f"{name}:bf16, {name}:e4m3"
        raise Error(f"product: {name} has the type {array.dtype}; which format is it? Write {ways} ...")
    found = FORMATS[known]
    if found.bits > 8 * array.itemsize or (found.bits < 8 and array.itemsize > 1) or 8 % min(found.bits, 8):
        raise Error(f"product: {name}: elements of {found.bits} bits do not lie in an array of {array.dtype}")
    return found
