"""The scheme of rocWMMA's sample perf_hgemm, with its names: a workgroup loads macro tiles of A and B together into
one of two LDS buffers while it multiplies what is in the other.

    python examples/perf_hgemm.py [ARCHITECTURE]

After rocWMMA 1.6, samples/perf_hgemm.cpp (MIT licence). What differs from the C++: template arguments come first in the
parentheses, `using F = fragment<...>` is `F = fragment_type(...)`, and `F frag` is `frag = F()`.
"""

import sys

import numpy as np

import mmacalc
from mmacalc import rocwmma
from mmacalc.rocwmma import (
    ApplyDataLayout_t,
    ApplyTranspose_t,
    GetDataLayout_t,
    GetIOShape_t,
    accumulator,
    applyDataLayout,
    applyTranspose,
    col_major,
    fragment_type,
    get,
    make_coord2d,
    matrix_a,
    matrix_b,
    row_major,
)

InputT = OutputT = rocwmma.float16_t
ComputeT = rocwmma.float32_t

DataLayoutA = col_major
DataLayoutB = row_major
DataLayoutC = row_major
DataLayoutLds = col_major


class Parameters:
    """Block sizes and the fragment types that follow from them."""

    def __init__(self, arch):
        self.WARP_SIZE = rocwmma.wave_size(arch)
        gfx9 = self.WARP_SIZE == rocwmma.Constants.AMDGCN_WAVE_SIZE_64
        self.ROCWMMA_M = self.ROCWMMA_N = 32 if gfx9 else 16
        rows = [row for row in rocwmma.supported(arch) if row.input == "f16" and row.block_m == self.ROCWMMA_M]
        self.ROCWMMA_K = max(16, rows[0].minimal_k)
        self.BLOCKS_X, self.BLOCKS_Y = (2, 2) if gfx9 else (4, 2)
        self.TBLOCK_X, self.TBLOCK_Y = (128, 2) if gfx9 else (64, 4)

        # what a wave computes
        self.WARP_TILE_X = self.BLOCKS_X * self.ROCWMMA_M
        self.WARP_TILE_Y = self.BLOCKS_Y * self.ROCWMMA_N

        # what a workgroup computes
        self.WARPS_X = self.TBLOCK_X // self.WARP_SIZE
        self.WARPS_Y = self.TBLOCK_Y
        self.MACRO_TILE_X = self.WARPS_X * self.WARP_TILE_X
        self.MACRO_TILE_Y = self.WARPS_Y * self.WARP_TILE_Y

        # what one instruction takes
        M, N, K = self.ROCWMMA_M, self.ROCWMMA_N, self.ROCWMMA_K
        self.MfmaFragA = fragment_type(matrix_a, M, N, K, InputT, DataLayoutA)
        self.MfmaFragB = fragment_type(matrix_b, M, N, K, InputT, DataLayoutB)
        self.MfmaFragC = self.MfmaFragD = fragment_type(accumulator, M, N, K, OutputT, DataLayoutC)
        self.MfmaFragAcc = fragment_type(accumulator, M, N, K, ComputeT)

        # macro tiles as they are in global memory ...
        self.GRBuffA = fragment_type(matrix_a, self.MACRO_TILE_X, N, K, InputT, DataLayoutA)
        self.GRBuffB = fragment_type(matrix_b, M, self.MACRO_TILE_Y, K, InputT, DataLayoutB)

        # ... and as they are in LDS, which has B transposed, so that both are BlockK wide
        self.LWBuffA = ApplyDataLayout_t(self.GRBuffA, DataLayoutLds)
        self.LWBuffB = ApplyDataLayout_t(ApplyTranspose_t(self.GRBuffB), DataLayoutLds)

        # blocks as they are in LDS
        self.LRFragA = ApplyDataLayout_t(self.MfmaFragA, DataLayoutLds)
        self.LRFragB = ApplyDataLayout_t(ApplyTranspose_t(self.MfmaFragB), DataLayoutLds)

        self.BLOCKS = [(i, j) for i in range(self.BLOCKS_X) for j in range(self.BLOCKS_Y)]


def localWriteCoopA(p, ldsAddr, grBuffA, ldsld, waveIndexA, WaveCountA):
    buff = applyDataLayout(DataLayoutLds, grBuffA, WaveCountA)
    rocwmma.store_matrix_coop_sync(ldsAddr, buff, ldsld, waveIndexA, WaveCountA)


def localWriteCoopB(p, ldsAddr, grBuffB, ldsld, waveIndexB, WaveCountB):
    buff = applyDataLayout(DataLayoutLds, applyTranspose(grBuffB), WaveCountB)
    rocwmma.store_matrix_coop_sync(ldsAddr, buff, ldsld, waveIndexB, WaveCountB)


def localReadA(p, ldsAddrA, ldsld):
    blockStep = GetDataLayout_t(p.LRFragA).fromMatrixCoord(make_coord2d(GetIOShape_t(p.LRFragA).BlockHeight, 0), ldsld)
    fragsA = []
    for _ in range(p.BLOCKS_X):
        tmp = p.LRFragA()
        rocwmma.load_matrix_sync(tmp, ldsAddrA, ldsld)
        fragsA.append(applyDataLayout(DataLayoutA, tmp))
        ldsAddrA += blockStep
    return fragsA


def localReadB(p, ldsAddrB, ldsld):
    blockStep = GetDataLayout_t(p.LRFragB).fromMatrixCoord(make_coord2d(GetIOShape_t(p.LRFragB).BlockHeight, 0), ldsld)
    fragsB = []
    for _ in range(p.BLOCKS_Y):
        tmp = p.LRFragB()
        rocwmma.load_matrix_sync(tmp, ldsAddrB, ldsld)
        fragsB.append(applyDataLayout(DataLayoutB, applyTranspose(tmp)))
        ldsAddrB += blockStep
    return fragsB


def blockOffset(p, i, j, ld):
    """Where block (i, j) of a warp tile of C or D begins."""
    shape, mapper1d = GetIOShape_t(p.MfmaFragC), GetDataLayout_t(p.MfmaFragC)
    return mapper1d.fromMatrixCoord(make_coord2d(i * shape.BlockHeight, j * shape.BlockWidth), ld)


def globalReadC(p, gAddrC, ldc):
    fragsC = {}
    for i, j in p.BLOCKS:
        fragsC[i, j] = p.MfmaFragC()
        rocwmma.load_matrix_sync(fragsC[i, j], gAddrC + blockOffset(p, i, j, ldc), ldc)
    return fragsC


def globalWriteD(p, gAddrD, fragsD, ldd):
    for i, j in p.BLOCKS:
        rocwmma.store_matrix_sync(gAddrD + blockOffset(p, i, j, ldd), fragsD[i, j], ldd)


def mfma(p, fragsAccOut, fragsA, fragsB, fragsAccIn):
    for i, j in p.BLOCKS:
        rocwmma.mma_sync(fragsAccOut[i, j], fragsA[i], fragsB[j], fragsAccIn[i, j])


def uniformFma(p, alpha, fragsAcc, beta, fragsC):
    """D = alpha * acc + beta * C, computed in f32 and rounded to f16."""
    fragsD = {}
    for i, j in p.BLOCKS:
        fragsD[i, j] = p.MfmaFragD()
        for k in range(fragsD[i, j].num_elements):
            c = fragsC[i, j].x[k].astype(np.float32)
            fragsD[i, j].x[k] = alpha * fragsAcc[i, j].x[k] + beta * c
    return fragsD


def gemm_rocwmma_d(wave, p, m, n, k, a, b, c, d, lda, ldb, ldc, ldd, alpha, beta):
    blockIdx, threadIdx = wave.blockIdx, wave.threadIdx

    warpTileSize = make_coord2d(p.WARP_TILE_X, p.WARP_TILE_Y)
    macroTileSize = make_coord2d(p.MACRO_TILE_X, p.MACRO_TILE_Y)

    # where this wave is in its workgroup, and its block in C and D
    warpDims = make_coord2d(p.WARPS_X, p.WARPS_Y)
    localWarpCoord = make_coord2d(threadIdx.x // p.WARP_SIZE, threadIdx.y)
    localWarpOffset = localWarpCoord * warpTileSize

    macroTileCoord = make_coord2d(blockIdx.x, blockIdx.y) * macroTileSize
    warpTileCoord = macroTileCoord + localWarpOffset

    warpTileBound = warpTileCoord + warpTileSize
    if get(0, warpTileBound) > m or get(1, warpTileBound) > n:
        return

    # where A and B are read, and how far the next step of k is
    GRBuffAMap1d, GRBuffBMap1d = GetDataLayout_t(p.GRBuffA), GetDataLayout_t(p.GRBuffB)
    globalReadOffsetA = GRBuffAMap1d.fromMatrixCoord(make_coord2d(get(0, macroTileCoord), 0), lda)
    globalReadOffsetB = GRBuffBMap1d.fromMatrixCoord(make_coord2d(0, get(1, macroTileCoord)), ldb)
    kStepOffsetA = GRBuffAMap1d.fromMatrixCoord(make_coord2d(0, p.ROCWMMA_K), lda)
    kStepOffsetB = GRBuffBMap1d.fromMatrixCoord(make_coord2d(p.ROCWMMA_K, 0), ldb)

    # all waves of the workgroup load together, numbered row by row
    warpCount = get(0, warpDims) * get(1, warpDims)
    warpIndex = get(0, localWarpCoord) * get(1, warpDims) + get(1, localWarpCoord)

    # the first step of k
    grBuffA, grBuffB = p.GRBuffA(), p.GRBuffB()
    rocwmma.load_matrix_coop_sync(grBuffA, a + globalReadOffsetA, lda, warpIndex, warpCount)
    rocwmma.load_matrix_coop_sync(grBuffB, b + globalReadOffsetB, ldb, warpIndex, warpCount)
    globalReadOffsetA += kStepOffsetA
    globalReadOffsetB += kStepOffsetB

    # two buffers in LDS; in each, A is above B transposed
    LWBuffAShape, LWBuffBShape = GetIOShape_t(p.LWBuffA), GetIOShape_t(p.LWBuffB)
    LWBuffAMap1d, LWBuffBMap1d = GetDataLayout_t(p.LWBuffA), GetDataLayout_t(p.LWBuffB)

    ldsWidth = p.ROCWMMA_K
    ldsHeight = LWBuffAShape.BlockHeight + LWBuffBShape.BlockHeight
    sizeLds = ldsHeight * ldsWidth
    ldsld = ldsWidth if DataLayoutLds == row_major else ldsHeight

    ldsPtrLo = wave.shared("localMemPtr", 2 * sizeLds, np.float16)
    ldsPtrHi = ldsPtrLo + sizeLds

    ldsWriteOffsetA = 0
    ldsWriteOffsetB = LWBuffAMap1d.fromMatrixCoord(make_coord2d(LWBuffAShape.BlockHeight, 0), ldsld)

    ldsReadOffsetA = ldsWriteOffsetA + LWBuffAMap1d.fromMatrixCoord(make_coord2d(get(0, localWarpOffset), 0), ldsld)
    ldsReadOffsetB = ldsWriteOffsetB + LWBuffBMap1d.fromMatrixCoord(make_coord2d(get(1, localWarpOffset), 0), ldsld)

    localWriteCoopA(p, ldsPtrLo + ldsWriteOffsetA, grBuffA, ldsld, warpIndex, warpCount)
    localWriteCoopB(p, ldsPtrLo + ldsWriteOffsetB, grBuffB, ldsld, warpIndex, warpCount)

    fragsAcc = {block: p.MfmaFragAcc() for block in p.BLOCKS}
    for frag in fragsAcc.values():
        rocwmma.fill_fragment(frag, 0.0)

    rocwmma.synchronize_workgroup()

    for _ in range(p.ROCWMMA_K, k, p.ROCWMMA_K):
        # multiply what is in the first buffer, after the loads of the next step have been issued
        fragsA = localReadA(p, ldsPtrLo + ldsReadOffsetA, ldsld)
        fragsB = localReadB(p, ldsPtrLo + ldsReadOffsetB, ldsld)

        rocwmma.load_matrix_coop_sync(grBuffA, a + globalReadOffsetA, lda, warpIndex, warpCount)
        rocwmma.load_matrix_coop_sync(grBuffB, b + globalReadOffsetB, ldb, warpIndex, warpCount)
        globalReadOffsetA += kStepOffsetA
        globalReadOffsetB += kStepOffsetB
        mfma(p, fragsAcc, fragsA, fragsB, fragsAcc)

        localWriteCoopA(p, ldsPtrHi + ldsWriteOffsetA, grBuffA, ldsld, warpIndex, warpCount)
        localWriteCoopB(p, ldsPtrHi + ldsWriteOffsetB, grBuffB, ldsld, warpIndex, warpCount)
        rocwmma.synchronize_workgroup()
        ldsPtrLo, ldsPtrHi = ldsPtrHi, ldsPtrLo

    fragsC = globalReadC(p, c + GetDataLayout_t(p.MfmaFragC).fromMatrixCoord(warpTileCoord, ldc), ldc)

    # the last step of k
    fragsA = localReadA(p, ldsPtrLo + ldsReadOffsetA, ldsld)
    fragsB = localReadB(p, ldsPtrLo + ldsReadOffsetB, ldsld)
    mfma(p, fragsAcc, fragsA, fragsB, fragsAcc)

    fragsD = uniformFma(p, alpha, fragsAcc, beta, fragsC)
    globalWriteD(p, d + GetDataLayout_t(p.MfmaFragD).fromMatrixCoord(warpTileCoord, ldd), fragsD, ldd)


def gemm_test(m, n, k, alpha, beta, arch="gfx942"):
    """Random A (m x k), B (k x n), C; D = alpha A B + beta C and the launch's report."""
    p = Parameters(arch)
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=size).astype(np.float16) for size in ((m, k), (k, n), (m, n)))
    d = np.full((m, n), np.nan, np.float16)
    report = mmacalc.launch(
        gemm_rocwmma_d,
        (rocwmma.ceilDiv(m, p.MACRO_TILE_X), rocwmma.ceilDiv(n, p.MACRO_TILE_Y)),
        (p.TBLOCK_X, p.TBLOCK_Y),
        p, m, n, k,
        a.T.copy(), b, c, d,  # A column by column
        m, n, n, n,
        np.float32(alpha), np.float32(beta),
        arch=arch,
    )  # fmt: skip
    return a, b, c, d, report


def main():
    arch = sys.argv[1] if len(sys.argv) > 1 else "gfx942"
    a, b, c, d, report = gemm_test(128, 128, 128, 2.0, 2.0, arch)
    print(report)
    exact = 2 * (a.astype(np.float64) @ b.astype(np.float64)) + 2 * c.astype(np.float64)
    print("largest difference from float64:", np.abs(d - exact).max())


if __name__ == "__main__":
    main()
