// Mistakes in the use of LDS.
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP
#define THREAD __builtin_amdgcn_workitem_id_x()
#define BARRIER __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");

// Counts of x & 15; forgotten: 1 the barrier before the counting, 2 that after it.
#define HISTOGRAM(name, forgotten) \
    extern "C" __global__ void name(int *out, const int *x) { \
        __shared__ int bins[16]; \
        if (THREAD < 16) bins[THREAD] = 0; \
        if (!(forgotten & 1)) { BARRIER } \
        __hip_atomic_fetch_add(&bins[x[THREAD] & 15], 1, RELAXED); \
        if (!(forgotten & 2)) { BARRIER } \
        if (THREAD < 16) out[THREAD] = bins[THREAD]; \
    }
HISTOGRAM(histogram0, 0)
HISTOGRAM(histogram1, 1)
HISTOGRAM(histogram2, 2)

// A wave overwrites what the others still read.
extern "C" __global__ void overwrite(float *out, const float *x, int writer) {
    __shared__ float tile[64];
    if (THREAD < 64) tile[THREAD] = x[THREAD];
    BARRIER
    float mine = tile[THREAD & 63];
    if (THREAD / 64 == writer) tile[THREAD & 63] = mine * 2;
    BARRIER
    out[THREAD] = mine + tile[THREAD & 63];
}

extern "C" __global__ void returned(int *out, const int *x, int exchange) {
    __shared__ int bins[16];
    if (exchange) __hip_atomic_exchange(&bins[x[THREAD] & 15], 0, RELAXED);
    out[THREAD] = __hip_atomic_fetch_add(&bins[x[THREAD] & 15], 1, RELAXED);
}
