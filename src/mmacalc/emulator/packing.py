"""How matrices lie in memory for generated kernels where that is not plain."""

from __future__ import annotations

import numpy as np

from ..base.checks import arguments_checked, require_int, shown
from ..base.errors import Error
from ..families.tensor_memory import SCALE_BLOCKS, SCALE_ROWS
from .execution import compress, execution_of
from .registers import scatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["pack_int4", "pack_scales", "pack_sparse"]


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
    return np.ascontiguousarray(tiles.transpose(0, 3, 2, 1, 4).reshape(rows // SCALE_ROWS, count * SCALE_ROWS))


@arguments_checked
def pack_sparse(instruction: Instruction, matrix: Any) -> tuple[Array, Array]:
    """A 2:4 sparse A compressed, and its metadata as a generated GEMM around mma.sp takes it.

    Each lane has a word of its own: for 16 rows and as many steps along k as the sparsity selector has values, word
    L of 32 is the register of lane L. So 16 rows and 64 k of f16 are 32 words, which a warp loads at once.

    Args:
        instruction: an mma.sp. matrix: A, (M, K), of values; of every four along k (of tf32 every two) at most two
            (one) are not 0; K is a multiple of four (of tf32 two).

    Returns:
        The values that are kept, (M, K / 2), float64; and the metadata, (ceil(M / 16), ceil(K / k), 32), uint32.

    Raises:
        Error: an instruction that is not mma.sp, or a matrix that is not sparse.

    Source: PTX ISA 9.1, section 9.7.14.6 (sparse storage, metadata, sparsity selector).

    >>> import mmacalc, numpy
    >>> inst = mmacalc.instruction("a100", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    >>> kept, metadata = pack_sparse(inst, numpy.tile([0.0, 1, 0, 2], (16, 16)))
    >>> kept.shape, metadata.shape, hex(metadata[0, 0, 0])
    ((16, 32), (1, 1, 32), '0xdddddddd')
    """
    if not getattr(instruction, "sparse", False) or not instruction.name.startswith("mma.sp"):
        raise Error(f"pack_sparse takes an mma.sp; got {shown(getattr(instruction, 'name', instruction))}")
    try:
        values = np.asarray(matrix, float)
    except (TypeError, ValueError, OverflowError):
        raise Error(f"A is a matrix of numbers; got {shown(matrix)}") from None
    selectors = instruction.modifier_limits()["selector"]
    executions = [execution_of(instruction, None, {"selector": at}, False, False) for at in selectors]
    sparsity = executions[0].sparsity
    assert sparsity is not None  # of mma.sp
    if values.ndim != 2 or values.shape[1] % sparsity.period:
        raise Error(f"A is a matrix (M, K), K a multiple of {sparsity.period}; got shape {values.shape}")
    steps, m, k = len(executions), instruction.m, instruction.k
    rows, depth = (-(-size // unit) * unit for size, unit in zip(values.shape, (m, steps * k)))
    filled = np.zeros((rows, depth))
    filled[: len(values), : values.shape[1]] = values
    kept, index = compress(filled, filled == 0, sparsity, instruction.name)
    if sparsity.period == 2:  # of tf32: two positions of 16 bits each
        index = np.stack([2 * index, 2 * index + 1], axis=-1).reshape(rows, -1)
    each = index.shape[1] // (depth // k)  # entries of one product
    tiles = index.reshape(rows // m, m, depth // (steps * k), steps, each).transpose(0, 2, 3, 1, 4)
    words = np.zeros((*tiles.shape[:2], 1, 32), np.uint32)
    for step, execution in enumerate(executions):
        one = np.zeros_like(words)
        scatter(one, tiles[:, :, step], execution.places("K"))
        words |= one
    return kept[: len(values), : values.shape[1] // 2], words[:, :, 0]


@arguments_checked
def pack_int4(weights: Any) -> Array:
    """B of 4 bits as a generated GEMM with weights="int4" takes it: a lane's values of two products in one word.

    Of every 32 k of a column word t has k = 2 t and 2 t + 1 of each eight, plus 8: pair h of the four is in bits 4 h to
    4 h + 3 and 4 h + 16 to 4 h + 19. K is filled up to a multiple of 32 with zeros (8).

    Args:
        weights: B, (K, N), whole numbers from -8 to 7.

    Returns:
        uint8, (N, K / 2), a column of B in each row.

    Raises:
        Error: not such a matrix.

    >>> import numpy
    >>> pack_int4(numpy.arange(-8, 8).repeat(2).reshape(32, 1)).tolist()[0][:4]  # pairs: k = 0, 8, 16, 24
    [64, 200, 64, 200]
    """
    given = np.asarray(weights)
    meaning = "weights are a matrix (K, N) of whole numbers from -8 to 7"
    if given.ndim != 2 or not given.size or given.dtype.kind not in "iuf":
        raise Error(f"{meaning}; got {given.dtype} of shape {given.shape}")
    wrong = np.argwhere(~((given == np.rint(given)) & (given >= -8) & (given <= 7)))
    if len(wrong):
        k, n = wrong[0].tolist()
        raise Error(f"{meaning}; got {given[k, n]} at k = {k}, n = {n}")
    k, n = given.shape
    filled = np.full((n, -(-k // 32) * 32), 8, np.uint32)
    filled[:, :k] = given.T.astype(np.int64) + 8
    pairs = filled.reshape(n, -1, 4, 4, 2)  # 32 k: four pairs of each of four lanes
    shifts = 4 * np.arange(4, dtype=np.uint32)[:, None, None] + np.array([0, 16], np.uint32)
    words = np.bitwise_or.reduce(pairs << shifts, axis=(2, 4))
    return np.ascontiguousarray(words.astype("<u4")).view(np.uint8).reshape(n, -1)
