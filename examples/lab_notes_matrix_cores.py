"""The three kernels of AMD's lab notes "AMD matrix cores", at the level of compiler builtins: each lane loads its own
elements, one instruction multiplies, each lane stores its own.

    python examples/lab_notes_matrix_cores.py

threadIdx.x and so on are those of all lanes, arrays with one number for each. So `A[mk]` is what every lane loads.
"""

import numpy as np

import mmacalc
from mmacalc import intrinsics


def sgemm_16x16x4(wave, A, B, D):
    """Example 1, V_MFMA_F32_16x16x4F32: D = A B, one block; launched with block = (16, 4)."""
    M, N, K = 16, 16, 4  # noqa: F841
    threadIdx = wave.threadIdx
    dmn = np.zeros((4, wave.size), np.float32)

    mk = threadIdx.y + K * threadIdx.x
    kn = threadIdx.x + N * threadIdx.y

    amk = A[mk]
    bkn = B[kn]
    dmn = intrinsics.amdgcn_mfma_f32_16x16x4f32(amk, bkn, dmn, 0, 0, 0)

    for i in range(4):
        idx = threadIdx.x + i * N + threadIdx.y * 4 * N
        D[idx] = dmn[i]


def sgemm_16x16x1(wave, A, B, D):
    """Example 2, V_MFMA_F32_16x16x1F32: four products of 16x1 and 1x16 matrices; launched with block = (16, 4)."""
    M, N, K = 16, 16, 1
    threadIdx = wave.threadIdx
    dmnl = np.zeros((16, wave.size), np.float32)

    mkl = K * threadIdx.x + M * K * threadIdx.y
    knl = threadIdx.x + N * K * threadIdx.y

    amkl = A[mkl]
    bknl = B[knl]

    dmnl = intrinsics.amdgcn_mfma_f32_16x16x1f32(amkl, bknl, dmnl, 0, 0, 0)

    for l in range(4):  # noqa: E741
        for i in range(4):
            idx = threadIdx.x + i * N + threadIdx.y * 4 * N + l * M * N
            # The page's listing stores dmnl[i] here, so that block 0 is written four times, although its text says
            # that each of the four products has an output of its own: block l is in registers 4 l to 4 l + 3. (The
            # listing also passes `dnml` for C, which is not declared.)
            D[idx] = dmnl[4 * l + i]


def dgemm_4x4x4(wave, W, X, Y, Z):
    """Example 3, V_MFMA_F64_4x4x4F64: Z_N = W_N X_N + Y_N for four blocks of 4x4; launched with block = (4, 4, 4).

    The page gives no listing, only where elements lie: lane 16 k + 4 N + i has W_N[i][k], lane 16 k + 4 N + j has
    X_N[k][j], and Y and Z lie as X does. Matrices are row-major, one block after the other.
    """
    x, N, y = wave.threadIdx
    w = W[16 * N + 4 * x + y]
    xkj = X[16 * N + 4 * y + x]
    yij = Y[16 * N + 4 * y + x]
    Z[16 * N + 4 * y + x] = intrinsics.amdgcn_mfma_f64_4x4x4f64(w, xkj, yij, 0, 0, 0)


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 10, shape).astype(np.float32) for shape in ((16, 4), (4, 16)))
    d = np.full((16, 16), np.nan, np.float32)
    mmacalc.launch(sgemm_16x16x4, 1, (16, 4, 1), a, b, d, arch="gfx90a")
    print("sgemm_16x16x4 is", "right" if np.array_equal(d, a @ b) else "wrong")

    a, b = (rng.integers(-9, 10, shape).astype(np.float32) for shape in ((4, 16, 1), (4, 1, 16)))
    d = np.full((4, 16, 16), np.nan, np.float32)
    mmacalc.launch(sgemm_16x16x1, 1, (16, 4, 1), a, b, d, arch="gfx90a")
    print("sgemm_16x16x1 is", "right" if np.array_equal(d, a @ b) else "wrong")

    w, x, y = (rng.integers(-9, 10, (4, 4, 4)).astype(np.float64) for _ in range(3))
    z = np.full((4, 4, 4), np.nan)
    mmacalc.launch(dgemm_4x4x4, 1, (4, 4, 4), w, x, y, z, arch="gfx90a")
    print("dgemm_4x4x4 is", "right" if np.array_equal(z, w @ x + y) else "wrong")


if __name__ == "__main__":
    main()
