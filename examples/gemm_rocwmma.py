"""The sample of the rocWMMA API guide, line for line: D = alpha A B + beta C, one output block for each wave.

    python examples/gemm_rocwmma.py [ARCHITECTURE]

Source: rocWMMA API guide, "Introduction" (gemm_wmma_d, fill and gemm_test). What differs from the C++: template
arguments come first in the parentheses; the wave is an argument; the device's copies are made by launch.
"""

import sys

import numpy as np

import mmacalc
from mmacalc import rocwmma
from mmacalc.rocwmma import float16_t, float32_t

# Supports BlockM/N square sizes of
# : 16 x 16
# : 32 x 32
ROCWMMA_M = 16
ROCWMMA_N = 16

# Supports ROCWMMA_K sizes as
# : multiples of 16 (of 32 on gfx950).
ROCWMMA_K = 16


def fill(mat, m, n):
    """Matrix data initialization: alternate sign every 3 elements."""
    value = np.arange(m * n) % 13
    mat[...] = np.where(value % 3 != 0, -value, value).reshape(mat.shape)


def gemm_wmma_d(wave, m, n, k, a, b, c, d, lda, ldb, ldc, ldd, alpha, beta, ROCWMMA_K=ROCWMMA_K):
    """Each wave computes one BLOCK_M x BLOCK_N output block of the M x N x K GEMM.

    A is in row-major format (m x k), B in col-major format (k x n), C and D in row-major format (m x n). The
    multiplication is not in place, and no LDS is required.
    """
    blockIdx, blockDim, threadIdx = wave.blockIdx, wave.blockDim, wave.threadIdx
    WAVE_SIZE = rocwmma.AMDGCN_WAVE_SIZE

    # Create frags with meta-data context for block-wise GEMM decomposition
    fragA = rocwmma.fragment(rocwmma.matrix_a, ROCWMMA_M, ROCWMMA_N, ROCWMMA_K, float16_t, rocwmma.row_major)
    fragB = rocwmma.fragment(rocwmma.matrix_b, ROCWMMA_M, ROCWMMA_N, ROCWMMA_K, float16_t, rocwmma.col_major)
    fragC = rocwmma.fragment(rocwmma.accumulator, ROCWMMA_M, ROCWMMA_N, ROCWMMA_K, float32_t)
    fragAcc = rocwmma.fragment(rocwmma.accumulator, ROCWMMA_M, ROCWMMA_N, ROCWMMA_K, float32_t)

    # Initialize accumulator fragment
    rocwmma.fill_fragment(fragAcc, 0.0)

    # Tile using a 2D grid
    majorWarp = (blockIdx.x * blockDim.x + threadIdx.x) // WAVE_SIZE
    minorWarp = blockIdx.y * blockDim.y + threadIdx.y

    # Target C block
    cRow = majorWarp * ROCWMMA_M
    cCol = minorWarp * ROCWMMA_N

    # Bounds check
    if cRow < m and cCol < n:
        # fragAcc = A x B
        for i in range(0, k, ROCWMMA_K):
            # Load the inputs
            rocwmma.load_matrix_sync(fragA, a + (cRow * lda + i), lda)
            rocwmma.load_matrix_sync(fragB, b + (i + cCol * ldb), ldb)

            # Matrix multiply - accumulate using MFMA units
            rocwmma.mma_sync(fragAcc, fragA, fragB, fragAcc)

        # Fetch C matrix
        rocwmma.load_matrix_sync(fragC, c + (cRow * ldc + cCol), ldc, rocwmma.mem_row_major)

        # D = alpha * A x B + beta * C
        for i in range(fragC.num_elements):
            fragC.x[i] = alpha * fragAcc.x[i] + beta * fragC.x[i]

        # Store to D
        rocwmma.store_matrix_sync(d + (cRow * ldd + cCol), fragC, ldd, rocwmma.mem_row_major)


def gemm_test(m, n, k, alpha, beta, arch="gfx942"):
    """Host side: make the matrices, launch the kernel, and return A, B (n x k), C, D and the launch's report."""
    # Thread block: each wave will compute one BLOCK_M x BLOCK_N output block, so this one computes (4 x 4 blocks)
    WAVE_SIZE = rocwmma.wave_size(arch)
    T_BLOCK_X = 4 * WAVE_SIZE
    T_BLOCK_Y = 4
    block_k = max(ROCWMMA_K, min(r.minimal_k for r in rocwmma.supported(arch) if r.input == "f16" and r.block_m == 16))

    # Problem size check
    if (
        m < ROCWMMA_M * T_BLOCK_X // WAVE_SIZE
        or n < ROCWMMA_N * T_BLOCK_Y
        or k < block_k
        or (m % ROCWMMA_M or n % ROCWMMA_N or k % block_k)
    ):
        raise SystemExit("Unsupported size!")

    lda = k
    ldb = k
    ldc = n
    ldd = ldc

    # Initialize input matrices
    matrixA = np.empty((m, k), np.float16)
    matrixB = np.empty((n, k), np.float16)
    matrixC = np.empty((m, n), np.float32)
    # Fill outputs with NaN to catch contamination
    matrixD = np.full((m, n), np.nan, np.float32)

    fill(matrixA, m, k)
    fill(matrixB, k, n)
    fill(matrixC, m, n)

    blockDim = (T_BLOCK_X, T_BLOCK_Y)
    gridDim = (
        rocwmma.ceilDiv(m, ROCWMMA_M * T_BLOCK_X // WAVE_SIZE),
        rocwmma.ceilDiv(n, ROCWMMA_N * T_BLOCK_Y),
    )

    report = mmacalc.launch(
        gemm_wmma_d,
        gridDim,
        blockDim,
        m, n, k,
        matrixA, matrixB, matrixC, matrixD,
        lda, ldb, ldc, ldd,
        alpha, beta,
        ROCWMMA_K=block_k,
        arch=arch,
    )  # fmt: skip
    return matrixA, matrixB, matrixC, matrixD, report


def main():
    """The guide's problem: 256 x 256 x 256, alpha = beta = 2.1."""
    arch = sys.argv[1] if len(sys.argv) > 1 else "gfx942"
    *_, d, report = gemm_test(256, 256, 256, 2.1, 2.1, arch)
    print(report)
    print("Finished!" if np.isfinite(d).all() else "D has elements that nobody wrote")


if __name__ == "__main__":
    main()
