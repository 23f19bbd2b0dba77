"""How matrices lie in memory for generated kernels where that is not plain."""

from __future__ import annotations

import numpy as np

from ..base.checks import arguments_checked, require_int, shown
from ..base.errors import Error
from ..codegen.gemm import kpack_of
from ..codegen.gemm_lds import held_k
from ..emulator.execution import compress, execution_of
from ..emulator.registers import scatter
from ..families.tensor_memory import LANES, SCALE_BLOCKS, SCALE_ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["pack_int4", "pack_scales", "pack_sparse"]

PRODUCTS = 4  # of tcgen05.mma.sp in a stage of a generated GEMM: their A has 128 bytes in a row
COPIED = 4  # columns of Tensor Memory that a tcgen05.cp.128x128b fills


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
def pack_sparse(instruction: Instruction, matrix: Any, wave: int | None = None) -> tuple[Array, Array]:
    """A 2:4 sparse A compressed, and its metadata as a generated GEMM around a sparse instruction takes it.

    Each lane has a word of its own: for the rows of the instruction and as many of its k as share a register (by the
    sparsity selector, ABID or index_key), word L is the register of lane L. So 16 rows and 64 k of f16 are 32 words of
    mma.sp, which a warp loads at once, and 64 rows 128 words of wgmma, which a warpgroup does. Of AMD's instructions k
    is that of the kernel, which has lanes read 16 bytes. Around tcgen05.mma.sp the words are columns of Tensor Memory:
    four of each of 128 lanes, as tcgen05.cp.128x128b takes them.

    Args:
        instruction: a sparse one (mma.sp, wgmma, tcgen05.mma.sp of a shape and of types, SMFMAC, SWMMAC). matrix: A,
            (M, K), of values; of every four along k (of tf32 every two) at most two (one) are not 0, of every four
            pairs of e2m1 in mxf4 and mxf4nvf4 two; K is a multiple of these. wave: its size, of RDNA's.

    Returns:
        The values that are kept, (M, K / 2), float64; and the metadata, (ceil(M / m), ceil(K / k), lanes), uint32; k
        are those whose metadata share a register. Of 8 bits on gfx1250 two registers of a lane have those of a product,
        whose words lie one behind the other. Of AMD's instructions K is rounded up to whole pieces of lanes. Of
        tcgen05.mma.sp (rows of 128 lanes, words), where M is rounded up to the instruction's, K to four times its.

    Raises:
        Error: an instruction whose A is dense, or whose metadata are in no published place; or a matrix that is not
            sparse.

    Source: PTX ISA 9.1, sections 9.7.14.6 and 9.7.15.6 (sparse storage, metadata, sparsity selector), 9.7.16.10.6
    (metadata in Tensor Memory); AMD's CDNA4 ISA guide, section 7.5 (sparse matrices).

    >>> import mmacalc, numpy
    >>> inst = mmacalc.instruction("a100", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    >>> kept, metadata = pack_sparse(inst, numpy.tile([0.0, 1, 0, 2], (16, 16)))
    >>> kept.shape, metadata.shape, hex(metadata[0, 0, 0])
    ((16, 32), (1, 1, 32), '0xdddddddd')
    """
    inst = _sparse(instruction, wave)
    size = inst.architecture.wave(wave)
    try:
        values = np.asarray(matrix, float)
    except (TypeError, ValueError, OverflowError):
        raise Error(f"A is a matrix of numbers; got {shown(matrix)}") from None
    executions = [execution_of(inst, wave, part, False, False) for part in _parts_of_a_register(inst, size)]
    sparsity = executions[0].sparsity
    assert sparsity is not None  # of a sparse instruction
    if values.ndim != 2 or values.shape[1] % sparsity.period:
        raise Error(f"A is a matrix (M, K), K a multiple of {sparsity.period}; got shape {values.shape}")
    steps, m, k = len(executions), inst.m, inst.k
    order = _order_of_k(inst, size)
    unit = np.lcm(k * (PRODUCTS if inst.in_tensor_memory else steps), len(order))
    depth, count = -(-values.shape[1] // unit) * unit, -(-len(values) // m)
    rows = max(count, 1) * m  # of a group without rows, too, of which nothing is returned
    filled = np.zeros((rows, depth))
    filled[: len(values), : values.shape[1]] = values
    kept, index = compress(filled, filled == 0, sparsity, inst.name)
    groups = order[:: sparsity.period] // sparsity.period  # which lie side by side in either order
    index = index.reshape(rows, -1, len(groups), sparsity.entries)[:, :, groups].reshape(rows, -1)
    index = sparsity.in_metadata(index)
    each = index.shape[1] // (depth // k)  # entries of one product
    tiles = index.reshape(rows // m, m, depth // (steps * k), steps, each).transpose(0, 2, 3, 1, 4)
    words = np.zeros((*tiles.shape[:2], *executions[0].places("K")[4:6]), np.uint32)
    for step, execution in enumerate(executions):
        one = np.zeros_like(words)
        scatter(one, tiles[:, :, step], execution.places("K"))
        words |= one
    words = words[:count]
    if inst.in_tensor_memory:
        words = _columns(words)
    else:
        words = words.reshape(count, words.shape[1] * words.shape[2], words.shape[3])
    return kept[: len(values), : values.shape[1] // 2], words


def _sparse(given: Instruction, wave: int | None) -> Instruction:
    """The instruction whose metadata are packed; in Tensor Memory that of its shape.

    Raises:
        Error: A is dense.
    """
    name = shown(getattr(given, "name", given))
    if not getattr(given, "sparse", False):
        raise Error(
            f"pack_sparse takes a sparse instruction: mma.sp, wgmma, tcgen05.mma.sp, SMFMAC, SWMMAC; got {name}"
        )
    if given.in_tensor_memory:
        shaped: Instruction = given.split_parameters({"m": given.m, "n": given.n})[0]
        return shaped
    return given


def _columns(files: Array) -> Array:
    """Metadata in columns of Tensor Memory, (rows, along k, column, lane), as tcgen05.cp.128x128b takes them."""
    rows, depth, columns, lanes = files.shape
    pieces = files.reshape(rows, depth * columns // COPIED, COPIED, lanes // LANES, LANES)
    found = np.ascontiguousarray(pieces.transpose(0, 3, 1, 4, 2))
    return found.reshape(rows * lanes // LANES, depth * columns * LANES)


def _order_of_k(inst: Instruction, wave: int) -> Array:
    """The k of A that stand at each k of some instructions in a generated GEMM."""
    if inst.architecture.family.language == "cuda":
        return np.arange(inst.k)
    return np.array(held_k(inst.operand("B", wave), kpack_of(inst, wave)))


def _parts_of_a_register(inst: Instruction, wave: int) -> list[dict[str, int]]:
    """The modifiers by which products choose their part of a register of metadata."""
    name = next(each for each in ("selector", "abid", "opsel") if each in inst.modifier_limits())
    return [{name: at} for at in range(inst.index_sets(wave))]


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
