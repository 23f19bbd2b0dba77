"""Fragments: a matrix block spread over the lanes of one wave, and the products that fill accumulators.

`mma_sync` does not compute at once. It creates a `Product`, and the first access to the accumulator (an element, a
store) makes the wave wait until the products that all waves await are computed together. A and B are copied at the
call, so the result is the same to the bit.
"""

from __future__ import annotations

from operator import index

import numpy as np

from ..base.errors import Error
from ..kernels.waves import Wave
from .geometry import multiplier, operand_places
from .types import DataType, dtype_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import ArrayLike

    from ..base.arrays import Array
    from ..model import Architecture, Instruction
    from .geometry import Blocks, MemoryShape

__all__ = ["Elements", "Fragment", "Product", "compute"]

MAX_PENDING = 64
"""How many products of one accumulator may be pending, which bounds the memory that they use."""


class Product:
    """A pending mma_sync: D of a block from A, B and C."""

    __slots__ = ("a", "b", "before", "depth", "plan", "result")
    a: Array
    b: Array
    before: Product | Array
    plan: Plan

    def __init__(self, plan: Plan, a: Array, b: Array, before: Product | Array) -> None:
        self.plan, self.a, self.b, self.before = plan, a, b, before
        self.result: Array | None = None  # codes of D's matrix
        self.depth: int = before.depth + 1 if isinstance(before, Product) and before.result is None else 1


class Plan:
    """How blocks of given types and sizes are multiplied: the instruction, and where its operands are in fragments."""

    a: Array
    b: Array
    c: Array
    steps: int
    native: np.dtype[Any]
    fields: dict[str, int]

    def __init__(self, architecture: Architecture, kind: DataType, compute: DataType, blocks: Blocks) -> None:
        self.inst: Instruction = multiplier(architecture, kind.name, compute.name, blocks[0])
        source, result = dtype_of(kind, architecture).itemsize, dtype_of(compute, architecture)
        self.a = operand_places(self.inst, "matrix_a", blocks[2], source)
        self.b = operand_places(self.inst, "matrix_b", blocks[2], source)
        self.c = operand_places(self.inst, "accumulator", blocks[2], result.itemsize)
        self.steps = len(self.a)
        self.compute = result
        self.native = self.inst.format("D").dtype
        # NEG[0] and NEG[1] make the operands of an integer WMMA signed.
        self.fields = {"neg": 3} if self.inst.format("A").kind == "either" else {}

    def multiply(self, products: list[Product]) -> None:
        """Compute products whose C is known, all at once: an instruction for each step of k, k ascending."""
        a = np.stack([product.a for product in products]).reshape(len(products), -1)[:, self.a]
        b = np.stack([product.b for product in products]).reshape(len(products), -1)[:, self.b]
        d = np.stack([self._before(product) for product in products])
        d = _codes(d.view(self.compute).astype(self.native))
        fields: dict[str, Any] = self.fields
        for step in range(self.steps):
            d = self.inst.multiply_bits(a[:, step], b[:, step], d, **fields)
        found = _codes(d.view(self.native).astype(self.compute))
        for product, matrix in zip(products, found):
            product.result, product.before = matrix, matrix

    def _before(self, product: Product) -> Array:
        before = product.before
        if isinstance(before, Product):
            assert before.result is not None
            return before.result
        matrix: Array = before.reshape(-1)[self.c]
        return matrix


def _codes(values: Array) -> Array:
    return values.view(f"u{values.dtype.itemsize}")


def compute(products: list[Product]) -> None:
    """Compute products and all that they depend on: those whose C is known first, those of a plan together."""
    seen: dict[int, Product] = {}
    for product in products:
        node: Product | Array = product
        while isinstance(node, Product) and node.result is None and id(node) not in seen:
            seen[id(node)] = node
            node = node.before
    with np.errstate(all="ignore"):
        for depth in range(1, max((product.depth for product in seen.values()), default=0) + 1):
            level: dict[int, list[Product]] = {}
            for product in seen.values():
                if product.depth == depth:
                    level.setdefault(id(product.plan), []).append(product)
            for together in level.values():
                together[0].plan.multiply(together)


class Elements:
    """The elements that each lane holds: `x[i]` is element i of every lane, an array with a lane axis.

    The order is that of vector loads and differs between architectures and types, so only what treats all elements
    alike is portable (rocWMMA says the same of its fragments).
    """

    __slots__ = ("_fragment",)

    def __init__(self, fragment: Fragment) -> None:
        self._fragment = fragment

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return self._fragment.num_elements

    def _index(self, i: int | slice) -> int | slice:
        if isinstance(i, slice):
            return i
        most = len(self)
        try:
            number = index(i)
        except TypeError:
            number = -1
        if not 0 <= number < most:
            raise Error(f"x[{i}] is outside {self._fragment!r}: its elements are x[0] to x[{most - 1}]")
        return number

    def __getitem__(self, i: int | slice) -> Array:
        where = self._index(i)
        fragment = self._fragment
        fragment.require("x[i]", None if fragment.filled is None else _mask_of(fragment.filled, where))
        fragment.finish()
        found: Array = fragment.data.T[where]
        return found

    def __setitem__(self, i: int | slice, values: ArrayLike) -> None:
        where = self._index(i)
        fragment = self._fragment
        fragment.finish()
        with np.errstate(all="ignore"):  # as a conversion in C++
            fragment.data.T[where] = np.asarray(values).astype(fragment.dtype)
        if fragment.filled is not None and not fragment.cooperative:
            fragment.filled.T[where] = True


def _mask_of(filled: Array, where: int | slice) -> Array:
    mask = np.zeros_like(filled)
    mask.T[where] = True
    return mask


class Fragment:
    """A block of a matrix, spread over a wave. Made by `fragment`.

    In C++ `y = x` copies a fragment. In Python it gives the same fragment a second name, so that what is done to y is
    done to x: write `y = x.copy()`.

    Attributes:
        context: matrix_a, matrix_b or accumulator. BlockM, BlockN, BlockK: the block's sizes. type: the data type.
        layout: row_major, col_major or None. num_elements: how many elements each lane holds. x: the elements.
    """

    __slots__ = (
        "BlockK", "BlockM", "BlockN", "context", "cooperative", "data", "dtype", "filled", "layout", "product",
        "shapes", "type", "wave", "x",
    )  # fmt: skip
    BlockK: int
    BlockM: int
    BlockN: int
    context: str
    cooperative: bool
    dtype: np.dtype[Any]
    layout: str | None
    type: DataType
    wave: Wave
    x: Elements

    def __init__(self, wave: Wave, context: str, blocks: Blocks, type: DataType, layout: str | None) -> None:
        self.wave, self.context, self.type, self.layout = wave, context, type, layout
        self.BlockM, self.BlockN, self.BlockK = blocks
        self.dtype = dtype_of(type, wave.architecture)
        elements = {
            "matrix_a": self.BlockM * self.BlockK, "matrix_b": self.BlockK * self.BlockN,
        }.get(context, self.BlockM * self.BlockN)  # fmt: skip
        self.data: Array = np.zeros((wave.size, elements // wave.size), self.dtype)
        self.filled: Array | None = np.zeros(self.data.shape, bool)  # None: all of them
        self.cooperative = False  # whether it holds this wave's part of a cooperative load
        self.product: Product | None = None
        self.x = Elements(self)
        self.shapes: dict[tuple[str, int], MemoryShape] = {}  # its elements in memory, by layout and leading dimension

    @property
    def num_elements(self) -> int:
        """How many elements each lane holds."""
        return int(self.data.shape[1])

    size = num_elements

    def copy(self) -> Fragment:
        """Another fragment with the same elements, as `y = x` makes it in C++; `copy.copy` and `copy.deepcopy` too."""
        return self.relabelled(self.context, self.blocks, self.layout)

    def relabelled(self, context: str, blocks: Blocks, layout: str | None) -> Fragment:
        """A copy that stands for a block of another matrix: the same elements in the same lanes."""
        other = Fragment(self.wave, context, blocks, self.type, layout)
        other.data, other.product, other.cooperative = self.data.copy(), self.product, self.cooperative
        other.filled = None if self.filled is None else self.filled.copy()
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Fragment:
        return self.copy()

    @property
    def blocks(self) -> tuple[int, int, int]:
        """BlockM, BlockN, BlockK."""
        return self.BlockM, self.BlockN, self.BlockK

    def __len__(self) -> int:
        return self.num_elements

    def __iter__(self) -> Iterator[Array]:
        return iter(self.x)

    def __getitem__(self, i: int | slice) -> Array:
        return self.x[i]

    def __setitem__(self, i: int | slice, values: ArrayLike) -> None:
        self.x[i] = values

    def __repr__(self) -> str:
        layout = f", {self.layout}" if self.layout else ""
        return f"fragment<{self.context}, {self.BlockM}, {self.BlockN}, {self.BlockK}, {self.type.cpp}{layout}>"

    def fill(self, data: Array) -> None:
        """Set all elements."""
        self.data, self.filled, self.product, self.cooperative = data, None, None, False

    def fill_part(self, part: Array, values: Array) -> None:
        """Set this wave's part of a cooperative load; `part` is a mask."""
        self.finish()
        self.data = self.data.copy()
        self.data[part] = values
        earlier = self.filled if self.filled is not None and self.cooperative else False
        self.filled = part | earlier
        self.cooperative = True

    def finish(self) -> None:
        """Wait for the pending product, if there is one."""
        product = self.product
        if product is None:
            return
        if product.result is None:
            self.wave.wait("value", (compute, product))
        assert product.result is not None
        self.product = None
        data = np.empty_like(self.data)
        data.reshape(-1)[product.plan.c] = product.result.view(self.dtype)
        self.data = data

    def require(self, call: str, part: Array | None = None) -> None:
        """Refuse the use of elements that have not been set.

        Args:
            call: the caller's name. part: which elements, as a mask; all if left out.

        Raises:
            Error: names the call and the fragment.
        """
        if self.filled is None:
            return
        if self.filled.all():
            self.filled, self.cooperative = None, False
        elif not self.filled.any():
            raise Error(f"{call}: {self!r} is used before it is filled")
        elif part is None or not (self.filled[part].all() or (self.cooperative and call == "x[i]")):
            why = "a cooperative load gives each wave its own work items" if self.cooperative else "fill the others too"
            raise Error(
                f"{call}: {self!r} holds only a part of its block, {int(self.filled.sum())} of {self.filled.size} "
                f"elements: {why}"
            )

    def values(self, call: str, part: Array | None = None) -> Array:
        """The elements, (lanes, elements), once all are set and computed."""
        self.require(call, part)
        self.finish()
        return self.data

    def codes(self) -> Array:
        """A copy of the elements as encodings."""
        return _codes(self.data.copy())

    def addend(self) -> Product | Array:
        """What a product adds to: the pending product, or the elements."""
        return self.product if self.product is not None else self.codes()

    def attach(self, product: Product) -> None:
        """Attach a pending product, computed on first access."""
        self.product, self.filled, self.cooperative = product, None, False
        if product.depth >= MAX_PENDING:
            self.finish()
