// Two kernels of AMD lab notes, "AMD matrix cores" (gpuopen.com/learn/amd-lab-notes/amd-lab-notes-matrix-cores-readme,
// github.com/amd/amd-lab-notes, MIT licence), as printed there but for the names of the macros and `dnml`.
#define __global__ __attribute__((global))
struct dim { int x, y; };
#define THREAD dim{(int)__builtin_amdgcn_workitem_id_x(), (int)__builtin_amdgcn_workitem_id_y()}

extern "C" __global__ void sgemm_16x16x4(const float *A, const float *B, float *D) {
    const int M = 16, N = 16, K = 4;
    const dim threadIdx = THREAD;
    using float4 = __attribute__((__vector_size__(4 * sizeof(float)))) float;
    float4 dmn = {0};
    int mk = threadIdx.y + K * threadIdx.x;
    int kn = threadIdx.x + N * threadIdx.y;
    float amk = A[mk];
    float bkn = B[kn];
    dmn = __builtin_amdgcn_mfma_f32_16x16x4f32(amk, bkn, dmn, 0, 0, 0);
    for (int i = 0; i < 4; ++i) {
        const int idx = threadIdx.x + i * N + threadIdx.y * 4 * N;
        D[idx] = dmn[i];
    }
}

extern "C" __global__ void sgemm_16x16x1(const float *A, const float *B, float *D) {
    const int M = 16, N = 16, K = 1;
    const dim threadIdx = THREAD;
    using float16 = __attribute__((__vector_size__(16 * sizeof(float)))) float;
    float16 dmnl = {0};
    int mkl = K * threadIdx.x + M * K * threadIdx.y;
    int knl = threadIdx.x + N * K * threadIdx.y;
    float amkl = A[mkl];
    float bknl = B[knl];
    dmnl = __builtin_amdgcn_mfma_f32_16x16x1f32(amkl, bknl, dmnl, 0, 0, 0);
    for (int l = 0; l < 4; ++l) {
        for (int i = 0; i < 4; ++i) {
            const int idx = threadIdx.x + i * N + threadIdx.y * 4 * N + l * M * N;
            D[idx] = dmnl[i * 1 + 4 * l];
        }
    }
}
