"""The tile of a generated GEMM as other languages are told of it: instruction, block, waves, order in shared memory."""

from __future__ import annotations

from ...base.errors import Error
from ...base.records import TupleRecord
from .. import gemm, gemm_cuda, gemm_wgmma
from ..fragments import fragment, runs
from ..gemm_staging import VECTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...model import Instruction, Operand
    from ..staging import Side

__all__ = ["SharedTile", "TilePlan", "tile_plan"]

WARPGROUP = 4
"""Warps that execute a wgmma."""


class SharedTile(TupleRecord):
    """How one matrix comes to shared memory, and how a lane holds it.

    Attributes:
        name: A or B; extent: its rows (B: columns) of a block; depth: the k of a stage; bits: of an element.
        k_first: whether neighbours along k are neighbours in memory.
        swizzle: bits, base, shift of byte addresses, as CuTe has it.
        k_width: the neighbours along k that a lane holds.
    """

    name: str
    extent: int
    depth: int
    bits: int
    k_first: bool
    swizzle: tuple[int, int, int]
    k_width: int

    @property
    def shape(self) -> tuple[int, int]:
        """As a tensor: A is M x K, B is K x N."""
        return (self.extent, self.depth) if self.name == "A" else (self.depth, self.extent)

    @property
    def order(self) -> tuple[int, int]:
        """The tensor's axes, the one whose neighbours are neighbours in memory first, as Triton has it."""
        return (1, 0) if self.k_first == (self.name == "A") else (0, 1)

    @property
    def vector(self) -> int:
        """The elements of an access of 16 bytes."""
        return VECTOR * 8 // self.bits

    @property
    def row_bytes(self) -> int:
        """The bytes of a row of the tile in the order of memory."""
        return self.shape[self.order[0]] * self.bits // 8

    @property
    def phases(self) -> tuple[int, int, int]:
        """vec, perPhase and maxPhase of Triton's swizzle, which is the same permutation of each row."""
        bits, base, shift = self.swizzle
        vec = (8 << base) // self.bits
        return (vec, max(1, (1 << base + shift) // self.row_bytes), 1 << bits) if bits else (self.vector, 1, 1)


class TilePlan(TupleRecord):
    """A block of a GEMM.

    Attributes:
        instruction: which; wave: the lanes of a wave.
        block: M, N and K of a stage; waves, repeat: waves along M and N, and the instructions of each along M and N.
        swapped: whether the instruction computes the transpose, B's columns as its rows.
        kpack: the instructions whose k a lane has side by side.
        stages: tiles of A and B in shared memory.
        a, b: the two matrices.
    """

    instruction: Instruction
    wave: int
    block: tuple[int, int, int]
    waves: tuple[int, int]
    repeat: tuple[int, int]
    swapped: bool
    kpack: int
    stages: int
    a: SharedTile
    b: SharedTile

    @property
    def sides(self) -> tuple[SharedTile, SharedTile]:
        """A and B."""
        return self.a, self.b

    @property
    def warps(self) -> int:
        """The waves of a block."""
        return self.waves[0] * self.waves[1]

    @property
    def sums(self) -> str:
        """The format of the accumulators."""
        return self.instruction.format("D").name

    @property
    def memory(self) -> str:
        """How the matrices lie in memory, in words."""
        words = ["row by row" if side.order == (1, 0) else "column by column" for side in self.sides]
        return f"A (M x K) lies {words[0]}, B (K x N) {words[1]}, D (M x N) row by row; ld in elements."

    @property
    def title(self) -> str:
        """Its sizes in words."""
        m, n, k = self.block
        waves, repeat = ("x".join(map(str, each)) for each in (self.waves, self.repeat))
        return f"a block's tile is {m}x{n}x{k}, of {waves} waves with {repeat} instructions each"


def tile_plan(
    inst: Instruction,
    wave: int,
    orders: tuple[str, str],
    tile: str | Sequence[int] | None,
    stages: int | None,
) -> TilePlan:
    """The tile that the generated kernel of HIP or CUDA has; of AMD, where none is asked for, one of 128x128.

    Raises:
        Error: no GEMM is generated around the instruction, or it is scaled, sparse or tcgen05's.
    """
    if inst.scaled or inst.sparse or inst.in_tensor_memory or inst.choices:
        what = "scaled" if inst.scaled else "sparse" if inst.sparse else "a choice of formats or shapes"
        raise Error(
            f"other languages are written for dense instructions of one shape and format; {inst.name} is {what}: leave "
            "out language for HIP or CUDA"
        )
    if inst.architecture.family.language == "hip":
        size = gemm.small_tile(inst, wave) if tile is None else tile
        found = gemm.without_copies(gemm.plan(inst, wave, *orders, size, stages))
        block = found.block_m, found.block_n, found.block_k
        waves, repeat = (found.waves_m, found.waves_n), (found.tiles_m, found.tiles_n)
        sides = [_shared(found.operand(side.name), side, found.kpack) for side in (found.a, found.b)]
        return TilePlan(inst, found.wave, block, waves, repeat, found.swapped, found.kpack, found.buffers, *sides)
    if tile is not None:
        raise Error("tile is of AMD's kernels: those of NVIDIA have one tile for each instruction")
    return _nvidia(inst, orders, stages)


def _nvidia(inst: Instruction, orders: tuple[str, str], stages: int | None) -> TilePlan:
    """The tile of a CUDA kernel around an mma.sync or a wgmma."""
    module = gemm_wgmma if "wgmma" in inst.features else gemm_cuda
    found = module.plan(inst, *orders, stages)
    block = found.block_m, found.block_n, found.block_k
    waves = (WARPGROUP, 1) if module is gemm_wgmma else (gemm_cuda.WARPS, gemm_cuda.WARPS)
    sides = []
    for side in (found.a, found.b):
        sides.append(_shared(None if module is gemm_wgmma else inst.operand(side.name), side, 1))
    return TilePlan(inst, 32, block, waves, (found.tiles_m, found.tiles_n), False, 1, found.stages, *sides)


def _shared(operand: Operand | None, side: Side, kpack: int) -> SharedTile:
    width = 0
    if operand is not None:
        found = fragment(operand)
        width = len(found.items) * kpack if kpack > 1 else runs(found, "row" if operand.name == "A" else "col")[0].count
    swizzle = side.swizzle.bits, side.swizzle.base, side.swizzle.shift
    return SharedTile(side.name, side.extent, side.depth, side.bits, side.along_k, swizzle, width)
