"""Coordinates of blocks and waves: what rocWMMA's samples compute addresses with.

Source: rocWMMA 1.6, mapping_util.hpp and vector.hpp (`Coord2d`, `MappingUtil`, `DataSpace`).
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..kernels.waves import current_wave
from .types import LAYOUTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..kernels.lanes import PerLane
    from ..kernels.memory import Pointer

    Number = int | NDArray[Any]

__all__ = ["Coord2d", "DataLayout", "MappingUtil", "get", "make_coord2d"]


class Coord2d(TupleRecord):
    """Two numbers, usually a row and a column. Sums, differences and products are taken element by element."""

    row: Number
    column: Number

    def __add__(self, other: Coord2d | Number) -> Coord2d:  # type: ignore[override]
        row, column = _pair(other)
        return Coord2d(self.row + row, self.column + column)

    def __sub__(self, other: Coord2d | Number) -> Coord2d:
        row, column = _pair(other)
        return Coord2d(self.row - row, self.column - column)

    def __mul__(self, other: Coord2d | Number) -> Coord2d:  # type: ignore[override]
        row, column = _pair(other)
        return Coord2d(self.row * row, self.column * column)


def _pair(other: Coord2d | Number) -> tuple[Number, Number]:
    return (other.row, other.column) if isinstance(other, Coord2d) else (other, other)


def make_coord2d(x: Number, y: Number) -> Coord2d:
    """`make_coord2d(x, y)`: a coordinate of two numbers.

    >>> make_coord2d(2, 3) * make_coord2d(16, 32) + make_coord2d(1, 0)
    Coord2d(row=33, column=96)
    """
    return Coord2d(x, y)


def get(index: int, coordinate: Coord2d) -> Number:
    """`get<index>(coordinate)`: element 0 or 1 of a coordinate.

    >>> get(1, make_coord2d(2, 3))
    3
    """
    element: Number = tuple.__getitem__(coordinate, index)
    return element


class DataLayout(TupleRecord):
    """Matrix coordinates as offsets in memory; in rocWMMA the classes row_major and col_major as `DataSpace`.

    >>> DataLayout("row_major").fromMatrixCoord(make_coord2d(2, 3), 100)
    203
    """

    layout: str

    def leadingDim(self, size: Coord2d) -> Number:
        """The leading dimension of a matrix of this size without padding."""
        return get(1 if self.layout == "row_major" else 0, size)

    def fromMatrixCoord(self, coordinate: Coord2d, ld: Number) -> Number:
        """The offset of an element, in elements; ld is the leading dimension."""
        row, column = coordinate
        major, minor = (row, column) if self.layout == "row_major" else (column, row)
        offset: Number = major * ld + minor
        return offset


class MappingUtil:
    """`MappingUtil<BlockHeight, BlockWidth, DataT, DataLayout>`: which block of a matrix is the calling wave's.

    Waves map one to one to blocks, those along x of a workgroup to rows, those along y to columns.

    Args:
        DataT: the data type; it is checked by the loads and stores that use the addresses.

    Raises:
        Error: a layout that is not row_major or col_major, or a method called outside a kernel.
    """

    shape: Coord2d
    type: Any
    layout: DataLayout

    def __init__(self, BlockHeight: int, BlockWidth: int, DataT: Any, DataLayoutT: str) -> None:
        if DataLayoutT not in LAYOUTS:
            raise Error(f"MappingUtil: the layout is {DataLayoutT!r}; it is row_major or col_major")
        self.shape, self.type, self.layout = Coord2d(BlockHeight, BlockWidth), DataT, DataLayout(DataLayoutT)

    def laneId(self) -> PerLane:
        """The number of each lane in its wave."""
        return current_wave("MappingUtil").lane

    def waveCoord(self) -> Coord2d:
        """The wave's coordinate in its workgroup."""
        wave = current_wave("MappingUtil")
        return Coord2d(wave.first_threadIdx.x // wave.size, wave.first_threadIdx.y)

    def workgroupDim(self) -> Coord2d:
        """The size of the workgroup in waves."""
        wave = current_wave("MappingUtil")
        return Coord2d(wave.blockDim.x // wave.size, wave.blockDim.y)

    def blockCoord(self) -> Coord2d:
        """The wave's coordinate in the grid: the block that it computes."""
        wave = current_wave("MappingUtil")
        return self.workgroupDim() * Coord2d(wave.blockIdx.x, wave.blockIdx.y) + self.waveCoord()

    def blockCoordM(self, m: int) -> Coord2d:
        """`blockCoord` with another row."""
        return self.blockCoord()._replace(row=m)

    def blockCoordN(self, n: int) -> Coord2d:
        """`blockCoord` with another column."""
        return self.blockCoord()._replace(column=n)

    def matrixCoord(self, blockCoord: Coord2d | None = None) -> Coord2d:
        """The row and column of a block's first element; of the wave's block if left out."""
        return (self.blockCoord() if blockCoord is None else blockCoord) * self.shape

    def matrixCoordM(self, m: int) -> Coord2d:
        """`matrixCoord` of the wave's block with another row."""
        return self.matrixCoord()._replace(row=m)

    def matrixCoordN(self, n: int) -> Coord2d:
        """`matrixCoord` of the wave's block with another column."""
        return self.matrixCoord()._replace(column=n)

    def dataOffset(self, matrixCoord: Coord2d, ldm: int) -> Number:
        """The offset of an element, in elements."""
        return self.layout.fromMatrixCoord(matrixCoord, ldm)

    def dataCoord(self, baseAddr: Pointer, *where: Any) -> Pointer:
        """`dataCoord(baseAddr, ldm)` and `dataCoord(baseAddr, matrixCoord, ldm)`: a pointer to an element; without a
        coordinate, to the first of the wave's block."""
        if not 1 <= len(where) <= 2:
            raise Error(
                f"dataCoord takes (baseAddr, ldm) or (baseAddr, matrixCoord, ldm); got {1 + len(where)} arguments"
            )
        coordinate = self.matrixCoord() if len(where) == 1 else where[0]
        return baseAddr + self.dataOffset(coordinate, where[-1])
