"""How matrices lie in memory for generated kernels where that is not plain."""

from __future__ import annotations

import numpy as np

from ..base.checks import arguments_checked, require_int
from ..base.errors import Error
from .tensor_copies import SCALE_BLOCKS, SCALE_ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["pack_scales"]


@arguments_checked
def pack_scales(scales: Any, blocks: int = SCALE_BLOCKS) -> Array:
    """Scales as tcgen05.cp takes them to Tensor Memory, and as cuBLAS and cuDNN have them in memory.

    Tiles of 512 bytes follow each other along k, then along the rows; the scale of row i and block s of a tile is its
    byte 16 (i % 32) + 4 (i / 32) + s. What the matrix does not have is 0.

    Args:
        scales: encodings of a byte each (E8M0 or UE4M3), (rows of A or columns of B, K / block size).
        blocks: of a stage of the kernel, a multiple of 4: the tiles of k are filled up to a multiple of it.

    Returns:
        uint8, (rows / 128, tiles along k * 512).

    Raises:
        Error: not a matrix of bytes, or blocks that no tile has.

    Source: PTX ISA 9.1, sections 9.7.16.9 (32x128b.warpx4) and 9.7.16.10.7 (scale factors); cuBLAS 13.0, "1D Block
    Scaling Factors Layout".

    >>> import numpy
    >>> packed = pack_scales(numpy.arange(256, dtype=numpy.uint8).reshape(64, 4))
    >>> packed.shape, packed[0, :8].tolist(), packed[0, 16:20].tolist()
    ((1, 512), [0, 1, 2, 3, 128, 129, 130, 131], [4, 5, 6, 7])
    """
    given = np.asarray(scales)
    if given.ndim != 2 or given.dtype.itemsize != 1:
        raise Error(f"scales are a matrix of bytes (uint8); got {given.dtype} of shape {given.shape}")
    if require_int("blocks", blocks) < SCALE_BLOCKS or blocks % SCALE_BLOCKS:
        raise Error(f"blocks is a multiple of {SCALE_BLOCKS}: the blocks of k of a stage; got {blocks}")
    rows, count = (-(-size // unit) * unit for size, unit in zip(given.shape, (SCALE_ROWS, blocks)))
    filled = np.zeros((rows, count), np.uint8)
    filled[: given.shape[0], : given.shape[1]] = given.view(np.uint8)
    tiles = filled.reshape(rows // SCALE_ROWS, 4, 32, count // SCALE_BLOCKS, SCALE_BLOCKS)
    return np.ascontiguousarray(tiles.transpose(0, 3, 2, 1, 4).reshape(rows // SCALE_ROWS, -1))
