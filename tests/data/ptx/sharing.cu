// Kernels whose CTAs exchange data through global memory. Names that begin with wrong_ lack an ordering.
#include <cuda/atomic>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void

// The last CTA adds the partial sums (CUDA samples, threadFenceReduction).
#define LAST(NAME, FENCE, AFTER)                                                    \
    K NAME(const int *x, int *partial, unsigned *count, int *out) {                 \
        __shared__ bool last;                                                       \
        __shared__ int sum;                                                         \
        if (threadIdx.x == 0) sum = 0;                                              \
        __syncthreads();                                                            \
        atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);                  \
        __syncthreads();                                                            \
        if (threadIdx.x == 0) {                                                     \
            partial[blockIdx.x] = sum;                                              \
            FENCE;                                                                  \
            last = atomicAdd(count, 1) == gridDim.x - 1;                            \
            AFTER;                                                                  \
        }                                                                           \
        __syncthreads();                                                            \
        if (last && threadIdx.x == 0) {                                             \
            int total = 0;                                                          \
            for (int i = 0; i < gridDim.x; i++) total += partial[i];                \
            *out = total;                                                           \
            *count = 0;                                                             \
        }                                                                           \
    }
LAST(right_last_block, __threadfence(), __threadfence())
LAST(wrong_last_block_no_release, , __threadfence())
LAST(wrong_last_block_no_acquire, __threadfence(), )
LAST(wrong_last_block_scope, __threadfence_block(), __threadfence())

// All threads fence, one counts: split-K with a counter per tile.
K right_all_fence(const float *x, float *work, unsigned *count, float *out) {
    __shared__ bool last;
    work[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    float total = 0;
    for (int i = 0; i < gridDim.x; i++) total += work[i * blockDim.x + threadIdx.x];
    out[threadIdx.x] = total;
}

// CUTLASS's semaphore: CTAs take their turn in order (split-K, stream-K fix-up).
__device__ void wait(int *lock, int turn) {
    if (threadIdx.x == 0) {
        int state = -1;
        while (state != turn) asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(lock) : "memory");
    }
    __syncthreads();
}
__device__ void release(int *lock, int turn) {
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("st.global.release.gpu.b32 [%0], %1;" ::"l"(lock), "r"(turn) : "memory");
}
K right_semaphore(const int *x, int *out, int *lock) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    wait(lock, blockIdx.x);
    out[threadIdx.x] = blockIdx.x ? out[threadIdx.x] + v : v;
    release(lock, blockIdx.x + 1);
}
K wrong_semaphore_relaxed(const int *x, int *out, volatile int *lock) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (threadIdx.x == 0) while (*lock != blockIdx.x) ;
    __syncthreads();
    out[threadIdx.x] = blockIdx.x ? out[threadIdx.x] + v : v;
    __syncthreads();
    if (threadIdx.x == 0) *lock = blockIdx.x + 1;
}
// Stream-K: a fence and a relaxed reduction release, a peer acquires and reduces its part.
K right_stream_k(const int *x, int *work, int *flag, int *out) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (blockIdx.x) {
        work[blockIdx.x * blockDim.x + threadIdx.x] = v;
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
            asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" ::"l"(flag) : "memory");
        }
        return;
    }
    wait(flag, gridDim.x - 1);
    for (int i = 1; i < gridDim.x; i++) v += work[i * blockDim.x + threadIdx.x];
    out[threadIdx.x] = v;
}
// A persistent kernel: a barrier of the grid between two phases, the second of which reads its neighbours.
#define GRID(NAME, FENCE)                                                                        \
    K NAME(int *a, int *b, unsigned *count, int rounds) {                                        \
        int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;                \
        for (int r = 0; r < rounds; r++) {                                                       \
            b[i] = a[i] + a[(i + 1) % n];                                                        \
            __syncthreads();                                                                     \
            if (threadIdx.x == 0) {                                                              \
                FENCE;                                                                           \
                atomicAdd(count, 1);                                                             \
                while (*(volatile unsigned *)count < (r + 1) * gridDim.x) ;                      \
                FENCE;                                                                           \
            }                                                                                    \
            __syncthreads();                                                                     \
            int *t = a; a = b; b = t;                                                            \
        }                                                                                        \
    }
GRID(right_grid_barrier, __threadfence())
GRID(wrong_grid_barrier, )
// A dynamic scheduler, histogram by atomics, and a flag that all write.
K right_relaxed(const int *x, int n, unsigned *next, unsigned *bins, int *any) {
    __shared__ unsigned tile;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) tile = atomicAdd(next, blockDim.x);
        __syncthreads();
        unsigned i = tile + threadIdx.x;
        if (tile >= n) break;
        if (i < n) { atomicAdd(&bins[x[i] & 15], 1u); if (x[i] & 1) *any = 1; }
    }
}
// Double-precision addition by compare-and-swap, whose loop begins with a plain read.
K right_swap(const double *x, double *sum) {
    unsigned long long *address = (unsigned long long *)sum, old = *address, assumed;
    do {
        assumed = old;
        old = atomicCAS(address, assumed, __double_as_longlong(x[blockIdx.x * blockDim.x + threadIdx.x] + __longlong_as_double(assumed)));
    } while (assumed != old);
}
// A spin lock, by libcu++.
K right_lock(int *value, int *lock) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> l(*lock);
    while (l.exchange(1, cuda::memory_order_acquire)) ;
    *value = *value * 3 + 1;
    l.store(0, cuda::memory_order_release);
}
K wrong_lock(int *value, int *lock) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> l(*lock);
    while (l.exchange(1, cuda::memory_order_relaxed)) ;
    *value = *value * 3 + 1;
    l.store(0, cuda::memory_order_release);
}
// Neighbours exchange by plain accesses.
K wrong_plain(int *a, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    a[i] = i;
    __syncthreads();
    out[i] = a[(i + 1) % n];
}
K wrong_in_place(int *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = a[i + 1];
    a[i] = v;
}
K wrong_order_in_block(int *a, int *out) {
    a[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = a[threadIdx.x ^ 33];
}
K wrong_one_place(int *a) { a[threadIdx.x / 2] = threadIdx.x; }
K right_one_value(int *a, int *out) { a[threadIdx.x / 2] = 7; out[threadIdx.x] = a[threadIdx.x / 2]; }
K right_block_order(int *a, int *out) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = a[blockIdx.x * blockDim.x + (threadIdx.x ^ 33)];
    __syncthreads();
    a[blockIdx.x * blockDim.x + (threadIdx.x ^ 5)] = 3;
}
K right_grid_sync(int *a, int *out, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.num_threads();
    for (int r = 0; r < rounds; r++) {
        out[i] = a[(i + 1) % n] + a[i];
        grid.sync();
        int *t = a; a = out; out = t;
    }
}
