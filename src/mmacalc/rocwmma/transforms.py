"""Fragment types and their transforms: what C++ does with `using` and rocwmma_transforms.hpp.

Source: rocWMMA 1.6, rocwmma_transforms.hpp, io_shape.hpp.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from .fragments import Fragment
from .mapping import DataLayout
from .operations import fragment
from .types import LAYOUTS, col_major, matrix_a, matrix_b, row_major

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ApplyDataLayout_t", "ApplyTranspose_t", "FragmentType", "GetDataLayout_t", "GetDataType_t", "GetIOShape_t",
    "IOShape", "applyDataLayout", "applyTranspose", "fragment_type",
]  # fmt: skip


class FragmentType(TupleRecord):
    """A fragment's type: `using F = fragment<...>` is `F = fragment_type(...)`, and `F frag` is `frag = F()`."""

    context: str
    BlockM: int
    BlockN: int
    BlockK: int
    type: Any
    layout: str | None

    def __call__(self) -> Fragment:
        """A fragment of this type, on the wave that calls; see `fragment`."""
        return fragment(*self)


def fragment_type(
    context: str, BlockM: int, BlockN: int, BlockK: int, type: Any, layout: str | None = None
) -> FragmentType:
    """The type of a fragment, with the arguments of `fragment`. It can be made outside a kernel.

    >>> GetIOShape_t(fragment_type("matrix_a", 128, 32, 16, "f16", "col_major")).BlockHeight
    128
    """
    return FragmentType(context, BlockM, BlockN, BlockK, type, layout)


def _type_of(call: str, frag: Fragment | FragmentType) -> FragmentType:
    if isinstance(frag, Fragment):
        return FragmentType(frag.context, *frag.blocks, frag.type, frag.layout)
    if not isinstance(frag, FragmentType):
        raise Error(f"{call}: a {type(frag).__name__} is passed where a fragment or a fragment type belongs")
    return frag


class IOShape(TupleRecord):
    """The size of a fragment's block: rows and columns; BlockDim is M of matrix_a and N of the others, KDim the other
    of the two."""

    BlockHeight: int
    BlockWidth: int
    BlockDim: int
    KDim: int


def GetIOShape_t(frag: Fragment | FragmentType) -> IOShape:
    """`GetIOShape_t<FragT>`: the size of the block."""
    kind = _type_of("GetIOShape_t", frag)
    if kind.context == matrix_a:
        return IOShape(kind.BlockM, kind.BlockK, kind.BlockM, kind.BlockK)
    if kind.context == matrix_b:
        return IOShape(kind.BlockK, kind.BlockN, kind.BlockN, kind.BlockK)
    return IOShape(kind.BlockM, kind.BlockN, kind.BlockN, kind.BlockM)


def GetDataLayout_t(frag: Fragment | FragmentType) -> DataLayout:
    """`GetDataLayout_t<FragT>`: the fragment's layout, with `fromMatrixCoord` and `leadingDim`.

    Raises:
        Error: the fragment has no layout.
    """
    layout = _type_of("GetDataLayout_t", frag).layout
    if layout is None:
        raise Error("GetDataLayout_t: the fragment has no layout")
    return DataLayout(layout)


def GetDataType_t(frag: Fragment | FragmentType) -> Any:
    """`GetDataType_t<FragT>`: the fragment's data type."""
    return _type_of("GetDataType_t", frag).type


def ApplyTranspose_t(frag: FragmentType) -> FragmentType:
    """The type of `applyTranspose`'s result.

    >>> ApplyTranspose_t(fragment_type("matrix_b", 32, 128, 16, "f16", "row_major"))
    FragmentType(context=matrix_a, BlockM=128, BlockN=32, BlockK=16, type='f16', layout=col_major)

    Raises:
        Error: an accumulator.
    """
    kind = _type_of("applyTranspose", frag)
    if kind.context not in (matrix_a, matrix_b):
        raise Error("applyTranspose: it is for fragments of matrix_a and matrix_b, not for accumulators")
    context = matrix_b if kind.context == matrix_a else matrix_a
    layout = None if kind.layout is None else col_major if kind.layout == row_major else row_major
    return FragmentType(context, kind.BlockN, kind.BlockM, kind.BlockK, kind.type, layout)


def ApplyDataLayout_t(frag: FragmentType, layout: str) -> FragmentType:
    """The type of `applyDataLayout`'s result."""
    if layout not in LAYOUTS:
        raise Error(f"applyDataLayout: the layout is {layout!r}; it is row_major or col_major")
    return _type_of("applyDataLayout", frag)._replace(layout=layout)


def applyTranspose(frag: Fragment) -> Fragment:
    """The same block as a fragment of the transposed matrix: columns of matrix_a become rows of matrix_b, and the other
    way round, with M and N exchanged and the layout the other one. No element moves.

    Raises:
        Error: an accumulator.
    """
    kind = ApplyTranspose_t(_type_of("applyTranspose", frag))
    return frag.relabelled(kind.context, (kind.BlockM, kind.BlockN, kind.BlockK), kind.layout)


def applyDataLayout(layout: str, frag: Fragment, WaveCount: int = 1) -> Fragment:
    """`applyDataLayout<DataLayoutT, WaveCount>(frag)`: the same block as a fragment with another layout.

    Args:
        WaveCount: the number of waves that share a cooperative fragment. In rocWMMA it chooses how elements move
            between registers, which cannot be observed here.
    """
    return frag.relabelled(
        frag.context, frag.blocks, ApplyDataLayout_t(_type_of("applyDataLayout", frag), layout).layout
    )
