"""A GEMM whose waves share their inputs in LDS: cooperative loads, two barriers for each step of k.

    python examples/gemm_lds.py [ARCHITECTURE]

Each workgroup of 2 x 2 waves computes 2 x 2 output blocks. The two waves of a row need the same block of A: they load
half of it each, and put it into LDS, where both find it whole; and so with B and columns.
"""

import sys

import numpy as np

import mmacalc
from mmacalc import rocwmma

BLOCK, BLOCK_K = 16, 32


def gemm_lds(wave, m, n, k, a, b, d, lda, ldb, ldd):
    """D = A B with A (m x k) row-major, B (k x n) column-major, D (m x n) row-major."""
    fragA = rocwmma.fragment(rocwmma.matrix_a, BLOCK, BLOCK, BLOCK_K, rocwmma.float16_t, rocwmma.row_major)
    fragB = rocwmma.fragment(rocwmma.matrix_b, BLOCK, BLOCK, BLOCK_K, rocwmma.float16_t, rocwmma.col_major)
    fragAcc = rocwmma.fragment(rocwmma.accumulator, BLOCK, BLOCK, BLOCK_K, rocwmma.float32_t, rocwmma.row_major)
    rocwmma.fill_fragment(fragAcc, 0.0)

    waveX, waveY = wave.threadIdx.x // wave.size, wave.threadIdx.y
    cRow = (wave.blockIdx.x * 2 + waveX) * BLOCK
    cCol = (wave.blockIdx.y * 2 + waveY) * BLOCK
    ldsA = wave.shared("ldsA", 2 * BLOCK * BLOCK_K, np.float16) + waveX * BLOCK * BLOCK_K
    ldsB = wave.shared("ldsB", 2 * BLOCK * BLOCK_K, np.float16) + waveY * BLOCK * BLOCK_K

    for i in range(0, k, BLOCK_K):
        # Waves with the same x share A, so their number in the pool is y; and the other way round.
        rocwmma.load_matrix_coop_sync(fragA, a + (cRow * lda + i), lda)
        rocwmma.load_matrix_coop_sync(fragB, b + (i + cCol * ldb), ldb)
        rocwmma.store_matrix_coop_sync(ldsA, fragA, BLOCK_K)
        rocwmma.store_matrix_coop_sync(ldsB, fragB, BLOCK_K)
        rocwmma.synchronize_workgroup()
        rocwmma.load_matrix_sync(fragA, ldsA, BLOCK_K)
        rocwmma.load_matrix_sync(fragB, ldsB, BLOCK_K)
        rocwmma.mma_sync(fragAcc, fragA, fragB, fragAcc)
        rocwmma.synchronize_workgroup()

    rocwmma.store_matrix_sync(d + (cRow * ldd + cCol), fragAcc, ldd)


def gemm(m, n, k, arch="gfx942"):
    """Random A, B (n x k), their product D, and the launch's report."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(m, k)).astype(np.float16), rng.normal(size=(n, k)).astype(np.float16)
    d = np.full((m, n), np.nan, np.float32)
    grid, block = (m // (2 * BLOCK), n // (2 * BLOCK)), (2 * rocwmma.wave_size(arch), 2)
    report = mmacalc.launch(gemm_lds, grid, block, m, n, k, a, b, d, k, k, n, arch=arch)
    return a, b, d, report


def main():
    arch = sys.argv[1] if len(sys.argv) > 1 else "gfx942"
    a, b, d, report = gemm(64, 64, 128, arch)
    print(report)
    print("largest difference from float64:", np.abs(d - a.astype(np.float64) @ b.T.astype(np.float64)).max())


if __name__ == "__main__":
    main()
