// Kernels as users of rocWMMA and CK write them: fragments as vectors, tiles staged in LDS, several waves in a block.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))

using half = _Float16;
using bf16 = __bf16;
using index = int;
template <class T, int N> using vector = T __attribute__((ext_vector_type(N)));

static __device__ __forceinline__ int thread_x() { return __builtin_amdgcn_workitem_id_x(); }
static __device__ __forceinline__ int block_x() { return __builtin_amdgcn_workgroup_id_x(); }
static __device__ __forceinline__ int block_y() { return __builtin_amdgcn_workgroup_id_y(); }
static __device__ __forceinline__ int block_z() { return __builtin_amdgcn_workgroup_id_z(); }
static __device__ __forceinline__ void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#ifdef __AMDGCN_WAVEFRONT_SIZE__
constexpr int WAVE = __AMDGCN_WAVEFRONT_SIZE__;
#elif defined(__GFX9__)
constexpr int WAVE = 64;
#else
constexpr int WAVE = 32;
#endif

// --- compile-time loops, as ck::static_for -----------------------------------------------------------------------------

template <int I> struct Number { static constexpr int value = I; constexpr __device__ operator int() const { return I; } };
template <int I, int N> struct StaticFor {
    template <class F> static __device__ __forceinline__ void apply(F &&f) {
        if constexpr (I < N) { f(Number<I>{}); StaticFor<I + 1, N>::apply(f); }
    }
};
template <int N, class F> __device__ __forceinline__ void static_for(F &&f) { StaticFor<0, N>::apply(f); }

// --- matrix instructions: shapes, fragments' vectors, and where an element is ------------------------------------------

template <class T> struct Mma;

#if defined(__GFX9__)
struct Mfma32 {  // 32x32: D has four rows of each group of eight
    static constexpr int M = 32, N = 32, C = 16;
    static __device__ int row(int lane, int item) { return item / 4 * 8 + lane / 32 * 4 + item % 4; }
    static __device__ int column(int lane) { return lane % 32; }
    static __device__ int line(int lane) { return lane % 32; }
};
template <> struct Mma<half> : Mfma32 {
    using Acc = float;
    static constexpr int K = 8, A = 4;
    static __device__ int k(int lane, int item) { return lane / 32 * 4 + item; }
    static __device__ vector<float, 16> mma(vector<half, 4> a, vector<half, 4> b, vector<float, 16> c) {
        return __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);
    }
};
template <> struct Mma<bf16> : Mfma32 {
    using Acc = float;
    static constexpr int K = 8, A = 4;
    static __device__ int k(int lane, int item) { return lane / 32 * 4 + item; }
    static __device__ vector<float, 16> mma(vector<bf16, 4> a, vector<bf16, 4> b, vector<float, 16> c) {
        return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(vector<short, 4>, a), __builtin_bit_cast(vector<short, 4>, b), c, 0, 0, 0);
    }
};
template <> struct Mma<signed char> : Mfma32 {
    using Acc = int;
#if defined(__gfx90a__)
    static constexpr int K = 8, A = 4;
    static __device__ int k(int lane, int item) { return lane / 32 * 4 + item; }
    static __device__ vector<int, 16> mma(vector<signed char, 4> a, vector<signed char, 4> b, vector<int, 16> c) {
        return __builtin_amdgcn_mfma_i32_32x32x8i8(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c, 0, 0, 0);
    }
#else
    static constexpr int K = 16, A = 8;
    static __device__ int k(int lane, int item) { return lane / 32 * 8 + item; }
    static __device__ vector<int, 16> mma(vector<signed char, 8> a, vector<signed char, 8> b, vector<int, 16> c) {
        return __builtin_amdgcn_mfma_i32_32x32x16_i8(__builtin_bit_cast(long, a), __builtin_bit_cast(long, b), c, 0, 0, 0);
    }
#endif
};
#define HAS_F64
template <> struct Mma<double> {
    using Acc = double;
    static constexpr int M = 16, N = 16, K = 4, A = 1, C = 4;
    static __device__ int row(int lane, int item) { return item * 4 + lane / 16; }
    static __device__ int column(int lane) { return lane % 16; }
    static __device__ int line(int lane) { return lane % 16; }
    static __device__ int k(int lane, int item) { return lane / 16; }
    static __device__ vector<double, 4> mma(vector<double, 1> a, vector<double, 1> b, vector<double, 4> c) {
        return __builtin_amdgcn_mfma_f64_16x16x4f64(a[0], b[0], c, 0, 0, 0);
    }
};
#elif defined(__GFX11__)
struct Wmma {
    static constexpr int M = 16, N = 16, K = 16, A = 16, C = 8;
    static __device__ int row(int lane, int item) { return 2 * item + lane / 16; }
    static __device__ int column(int lane) { return lane % 16; }
    static __device__ int line(int lane) { return lane % 16; }
    static __device__ int k(int lane, int item) { return item; }
};
template <> struct Mma<half> : Wmma {
    using Acc = float;
    static __device__ vector<float, 8> mma(vector<half, 16> a, vector<half, 16> b, vector<float, 8> c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
    }
};
template <> struct Mma<bf16> : Wmma {
    using Acc = float;
    static __device__ vector<float, 8> mma(vector<bf16, 16> a, vector<bf16, 16> b, vector<float, 8> c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(vector<short, 16>, a), __builtin_bit_cast(vector<short, 16>, b), c);
    }
};
template <> struct Mma<signed char> : Wmma {
    using Acc = int;
    static __device__ vector<int, 8> mma(vector<signed char, 16> a, vector<signed char, 16> b, vector<int, 8> c) {
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, __builtin_bit_cast(vector<int, 4>, a), true, __builtin_bit_cast(vector<int, 4>, b), c, false);
    }
};
#else
struct Wmma {
    static constexpr int M = 16, N = 16, C = 8;
    static __device__ int row(int lane, int item) { return lane / 16 * 8 + item; }
    static __device__ int column(int lane) { return lane % 16; }
    static __device__ int line(int lane) { return lane % 16; }
};
#if defined(__gfx1250__)
template <> struct Mma<half> : Wmma {
    using Acc = float;
    static constexpr int K = 32, A = 16;
    static __device__ int k(int lane, int item) { return item / 8 * 16 + lane / 16 * 8 + item % 8; }
    static __device__ vector<float, 8> mma(vector<half, 16> a, vector<half, 16> b, vector<float, 8> c) {
        return __builtin_amdgcn_wmma_f32_16x16x32_f16(false, a, false, b, (short)0, c, false, false);
    }
};
template <> struct Mma<bf16> : Wmma {
    using Acc = float;
    static constexpr int K = 32, A = 16;
    static __device__ int k(int lane, int item) { return item / 8 * 16 + lane / 16 * 8 + item % 8; }
    static __device__ vector<float, 8> mma(vector<bf16, 16> a, vector<bf16, 16> b, vector<float, 8> c) {
        return __builtin_amdgcn_wmma_f32_16x16x32_bf16(false, a, false, b, (short)0, c, false, false);
    }
};
template <> struct Mma<signed char> : Wmma {
    using Acc = int;
    static constexpr int K = 64, A = 32;
    static __device__ int k(int lane, int item) { return item / 16 * 32 + lane / 16 * 16 + item % 16; }
    static __device__ vector<int, 8> mma(vector<signed char, 32> a, vector<signed char, 32> b, vector<int, 8> c) {
        return __builtin_amdgcn_wmma_i32_16x16x64_iu8(true, __builtin_bit_cast(vector<int, 8>, a), true, __builtin_bit_cast(vector<int, 8>, b), c, false, false);
    }
};
#else
template <> struct Mma<half> : Wmma {
    using Acc = float;
    static constexpr int K = 16, A = 8;
    static __device__ int k(int lane, int item) { return item / 4 * 8 + lane / 16 * 4 + item % 4; }
    static __device__ vector<float, 8> mma(vector<half, 8> a, vector<half, 8> b, vector<float, 8> c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c);
    }
};
template <> struct Mma<bf16> : Wmma {
    using Acc = float;
    static constexpr int K = 16, A = 8;
    static __device__ int k(int lane, int item) { return item / 4 * 8 + lane / 16 * 4 + item % 4; }
    static __device__ vector<float, 8> mma(vector<bf16, 8> a, vector<bf16, 8> b, vector<float, 8> c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(__builtin_bit_cast(vector<short, 8>, a), __builtin_bit_cast(vector<short, 8>, b), c);
    }
};
template <> struct Mma<signed char> : Wmma {
    using Acc = int;
    static constexpr int K = 16, A = 8;
    static __device__ int k(int lane, int item) { return lane / 16 * 8 + item; }
    static __device__ vector<int, 8> mma(vector<signed char, 8> a, vector<signed char, 8> b, vector<int, 8> c) {
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, __builtin_bit_cast(vector<int, 2>, a), true, __builtin_bit_cast(vector<int, 2>, b), c, false);
    }
};
#endif
#endif

// --- fragments, as rocwmma::fragment ----------------------------------------------------------------------------------

template <class T> struct fragment {
    vector<T, Mma<T>::A> x;
    static constexpr int num_elements = Mma<T>::A;
};
template <class T> struct accumulator {
    vector<typename Mma<T>::Acc, Mma<T>::C> x;
    static constexpr int num_elements = Mma<T>::C;
};
template <class T> __device__ __forceinline__ void fill_fragment(accumulator<T> &f, typename Mma<T>::Acc value) {
    for (int i = 0; i < f.num_elements; ++i) f.x[int(i)] = value;
}
// Lines of T in memory: element (line, k) at pointer[line * ld + k].
template <class T> __device__ __forceinline__ void load_matrix_sync(fragment<T> &f, const T *pointer, int ld) {
    const int lane = thread_x() % WAVE;
    for (int i = 0; i < f.num_elements; ++i) f.x[int(i)] = pointer[Mma<T>::line(lane) * ld + Mma<T>::k(lane, i)];
}
template <class T> __device__ __forceinline__ void mma_sync(accumulator<T> &d, const fragment<T> &a, const fragment<T> &b, const accumulator<T> &c) {
    d.x = Mma<T>::mma(a.x, b.x, c.x);
}

// --- a GEMM: D = alpha A B^T + beta C, waves 2 x 2, each 2 x 2 fragments, two buffers in LDS ---------------------------

template <class T, int LINES, int DEPTH, int THREADS> struct TileLoader {
    static constexpr int WIDE = 16 / sizeof(T), PER = LINES * DEPTH / (THREADS * WIDE), PAD = WIDE;
    static constexpr int LD = DEPTH + PAD;
    vector<T, WIDE> held[PER];
    __device__ __forceinline__ void fetch(const T *source, int ld) {
        static_for<PER>([&](auto n) {
            const int place = (n * THREADS + thread_x()) * WIDE;
            held[n] = *(const vector<T, WIDE> *)(source + place / DEPTH * ld + place % DEPTH);
        });
    }
    __device__ __forceinline__ void put(T *tile) {
        static_for<PER>([&](auto n) {
            const int place = (n * THREADS + thread_x()) * WIDE;
            *(vector<T, WIDE> *)(tile + place / DEPTH * LD + place % DEPTH) = held[n];
        });
    }
};

template <class T, class Out> __device__ __forceinline__ void gemm(const T *A, const T *B, const Out *C, Out *D, int m, int n, int k, float alpha, float beta) {
    using I = Mma<T>;
    constexpr int THREADS = 4 * WAVE, TM = 4 * I::M, TN = 4 * I::N, TK = sizeof(T) == 1 ? 64 : 32;
    using LoaderA = TileLoader<T, TM, TK, THREADS>;
    using LoaderB = TileLoader<T, TN, TK, THREADS>;
    __shared__ __attribute__((aligned(16))) T a_tile[2][TM * LoaderA::LD], b_tile[2][TN * LoaderB::LD];
    const int wave = thread_x() / WAVE, lane = thread_x() % WAVE, wm = wave / 2 * 2 * I::M, wn = wave % 2 * 2 * I::N;
    const int m0 = block_y() * TM, n0 = block_x() * TN;
    LoaderA a_load;
    LoaderB b_load;
    accumulator<T> acc[2][2];
    static_for<4>([&](auto f) { fill_fragment(acc[f / 2][f % 2], 0); });
    a_load.fetch(A + m0 * k, k);
    b_load.fetch(B + n0 * k, k);
    a_load.put(a_tile[0]);
    b_load.put(b_tile[0]);
    __syncthreads();
    int now = 0;
    for (int k0 = 0; k0 < k; k0 += TK) {
        if (k0 + TK < k) {
            a_load.fetch(A + m0 * k + k0 + TK, k);
            b_load.fetch(B + n0 * k + k0 + TK, k);
        }
        __builtin_amdgcn_s_setprio(1);
        static_for<TK / I::K>([&](auto step) {
            fragment<T> a[2], b[2];
            static_for<2>([&](auto f) {
                load_matrix_sync(a[f], a_tile[now] + (wm + f * I::M) * LoaderA::LD + step * I::K, LoaderA::LD);
                load_matrix_sync(b[f], b_tile[now] + (wn + f * I::N) * LoaderB::LD + step * I::K, LoaderB::LD);
            });
            static_for<4>([&](auto f) { mma_sync(acc[f / 2][f % 2], a[f / 2], b[f % 2], acc[f / 2][f % 2]); });
        });
        __builtin_amdgcn_s_setprio(0);
        now ^= 1;
        if (k0 + TK < k) {
            a_load.put(a_tile[now]);
            b_load.put(b_tile[now]);
        }
        __syncthreads();
    }
    static_for<4>([&](auto f) {
        static_for<I::C>([&](auto i) {
            const int row = m0 + wm + f / 2 * I::M + I::row(lane, i), column = n0 + wn + f % 2 * I::N + I::column(lane);
            D[row * n + column] = (Out)(alpha * acc[f / 2][f % 2].x[int(i)] + beta * (float)C[row * n + column]);
        });
    });
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void gemm_f16(const half *A, const half *B, const float *C, float *D, int m, int n, int k, float alpha, float beta) {
    gemm<half, float>(A, B, C, D, m, n, k, alpha, beta);
}
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void gemm_bf16(const bf16 *A, const bf16 *B, const bf16 *C, bf16 *D, int m, int n, int k, float alpha, float beta) {
    gemm<bf16, bf16>(A, B, C, D, m, n, k, alpha, beta);
}
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void gemm_i8(const signed char *A, const signed char *B, const int *C, int *D, int m, int n, int k, float alpha, float beta) {
    gemm<signed char, int>(A, B, C, D, m, n, k, alpha, beta);
}

// --- split K: blocks of z add into D --------------------------------------------------------------------------------

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void split_k(const half *A, const half *B, float *D, int n, int k, int part) {
    using I = Mma<half>;
    const int wave = thread_x() / WAVE, lane = thread_x() % WAVE;
    const int m0 = (block_y() * 2 + wave / 2) * I::M, n0 = (block_x() * 2 + wave % 2) * I::N;
    accumulator<half> acc;
    fill_fragment(acc, 0);
#pragma unroll 2
    for (int k0 = block_z() * part; k0 < (block_z() + 1) * part; k0 += I::K) {
        fragment<half> a, b;
        load_matrix_sync(a, A + m0 * k + k0, k);
        load_matrix_sync(b, B + n0 * k + k0, k);
        mma_sync(acc, a, b, acc);
    }
    for (int i = 0; i < acc.num_elements; ++i) {
        float *place = D + (m0 + I::row(lane, i)) * n + n0 + I::column(lane);
        __hip_atomic_fetch_add(place, acc.x[int(i)], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
}

// --- reductions: layer norm of rows, a block for each ----------------------------------------------------------------

template <class T> __device__ __forceinline__ T shuffle_xor(T value, int mask) {
    const int lane = __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0));
    return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute((lane ^ mask) << 2, __builtin_bit_cast(int, value)));
}
template <class T, class Op> __device__ __forceinline__ T block_reduce(T value, Op op, T *scratch) {
    for (int mask = 1; mask < WAVE; mask *= 2) value = op(value, shuffle_xor(value, mask));
    const int wave = thread_x() / WAVE;
    __syncthreads();
    if (thread_x() % WAVE == 0) scratch[wave] = value;
    __syncthreads();
    T all = scratch[0];
    for (int other = 1; other < 256 / WAVE; ++other) all = op(all, scratch[other]);
    return all;
}
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256)))
void layer_norm(const half *x, const float *gamma, const float *beta, half *y, int columns, float epsilon) {
    __shared__ float scratch[8];
    const auto add = [](float a, float b) { return a + b; };
    const half *row = x + block_x() * columns;
    float sum = 0;
    for (int c = thread_x() * 4; c < columns; c += 1024) {
        const vector<half, 4> v = *(const vector<half, 4> *)(row + c);
        for (int e = 0; e < 4; ++e) sum += (float)v[e];
    }
    const float mean = block_reduce(sum, add, scratch) / columns;
    float squares = 0;
    for (int c = thread_x() * 4; c < columns; c += 1024) {
        const vector<half, 4> v = *(const vector<half, 4> *)(row + c);
        for (int e = 0; e < 4; ++e) squares += ((float)v[e] - mean) * ((float)v[e] - mean);
    }
    const float scale = __builtin_amdgcn_rsqf(block_reduce(squares, add, scratch) / columns + epsilon);
    for (int c = thread_x() * 4; c < columns; c += 1024) {
        const vector<half, 4> v = *(const vector<half, 4> *)(row + c);
        vector<half, 4> out;
        for (int e = 0; e < 4; ++e) out[e] = (half)(((float)v[e] - mean) * scale * gamma[c + e] + beta[c + e]);
        *(vector<half, 4> *)(y + block_x() * columns + c) = out;
    }
}

// --- histogram: LDS atomics, ballots, one global atomic for a wave ----------------------------------------------------

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256)))
void histogram(const unsigned *x, unsigned *bins, unsigned *odd, unsigned *kept, int count) {
    __shared__ unsigned local[64];
    if (thread_x() < 64) local[thread_x()] = 0;
    __syncthreads();
    const int stride = 256 * __builtin_amdgcn_grid_size_x() / 256;
    for (int at = block_x() * 256 + thread_x(); at < count; at += 512) {
        const unsigned value = x[at];
        __hip_atomic_fetch_add(local + value % 64, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
        const bool is_odd = value & 1;
#if defined(__GFX9__)
        const unsigned long mask = __builtin_amdgcn_ballot_w64(is_odd);
#else
        const unsigned long mask = __builtin_amdgcn_ballot_w32(is_odd);
#endif
        if (is_odd) {  // the first lane takes places for all of them
            const int lane = __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0));
            unsigned first = 0;
            const int leader = __builtin_ctzl(mask);
            if (lane == leader) first = __hip_atomic_fetch_add(odd, (unsigned)__builtin_popcountl(mask), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
            first = __builtin_amdgcn_readlane(first, leader);
            kept[first + __builtin_amdgcn_mbcnt_hi(mask >> 32, __builtin_amdgcn_mbcnt_lo(mask, 0))] = value;
        }
    }
    __syncthreads();
    if (thread_x() < 64) __hip_atomic_fetch_add(bins + thread_x(), local[thread_x()], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// --- attention as flash attention does it: S by matrix instructions, P through LDS ------------------------------------

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 64)))
void flash(const half *Q, const half *K, const half *V, float *O, int keys, float scale) {
    using I = Mma<half>;
    constexpr int HEAD = 64;
    __shared__ __attribute__((aligned(16))) half p_tile[I::M * (I::N + 8)], v_tile[HEAD * (I::N + 8)];
    __shared__ float largest[I::M], sums[I::M], factor[I::M];
    constexpr int LD = I::N + 8;
    const int lane = thread_x();
    const half *q = Q + block_x() * I::M * HEAD;
    accumulator<half> out[HEAD / I::N];
    static_for<HEAD / I::N>([&](auto f) { fill_fragment(out[f], 0); });
    if (lane < I::M) largest[lane] = -1e30f, sums[lane] = 0;
    __syncthreads();
    for (int key = 0; key < keys; key += I::N) {
        accumulator<half> s;
        fill_fragment(s, 0);
        for (int h = 0; h < HEAD; h += I::K) {
            fragment<half> a, b;
            load_matrix_sync(a, q + h, HEAD);
            load_matrix_sync(b, K + key * HEAD + h, HEAD);
            mma_sync(s, a, b, s);
        }
        for (int place = lane; place < I::N * HEAD; place += WAVE)  // V turned
            v_tile[place % HEAD * LD + place / HEAD] = V[(key + place / HEAD) * HEAD + place % HEAD];
        float top[I::C];
        static_for<I::C>([&](auto i) {
            float value = s.x[int(i)] * scale;
            for (int mask = 1; mask < I::N; mask *= 2) value = __builtin_fmaxf(value, shuffle_xor(value, mask));
            top[i] = __builtin_fmaxf(value, largest[I::row(lane, i)]);
        });
        __syncthreads();
        static_for<I::C>([&](auto i) {
            const int row = I::row(lane, i);
            const float weight = __builtin_amdgcn_exp2f((s.x[int(i)] * scale - top[i]) * 1.44269504f);
            p_tile[row * LD + I::column(lane)] = (half)weight;
            float sum = (float)(half)weight;
            for (int mask = 1; mask < I::N; mask *= 2) sum += shuffle_xor(sum, mask);
            if (I::column(lane) == 0) {
                factor[row] = __builtin_amdgcn_exp2f((largest[row] - top[i]) * 1.44269504f);
                sums[row] = sums[row] * factor[row] + sum;
                largest[row] = top[i];
            }
        });
        __syncthreads();
        static_for<HEAD / I::N>([&](auto f) {
            static_for<I::C>([&](auto i) { out[f].x[int(i)] *= factor[I::row(lane, i)]; });
        });
        for (int h = 0; h < I::N; h += I::K < I::N ? I::K : I::N) {
            if constexpr (I::K <= I::N) {
                fragment<half> p, v;
                load_matrix_sync(p, p_tile + h, LD);
                static_for<HEAD / I::N>([&](auto f) {
                    load_matrix_sync(v, v_tile + f * I::N * LD + h, LD);
                    mma_sync(out[f], p, v, out[f]);
                });
            } else {  // K is longer than the tile: the rest is zero
                static_for<HEAD / I::N>([&](auto f) {
                    fragment<half> p, v;
                    for (int i = 0; i < I::A; ++i) {
                        const int k = I::k(lane, i);
                        p.x[int(i)] = k < I::N ? p_tile[I::line(lane) * LD + k] : (half)0;
                        v.x[int(i)] = k < I::N ? v_tile[(f * I::N + I::line(lane)) * LD + k] : (half)0;
                    }
                    mma_sync(out[f], p, v, out[f]);
                });
            }
        }
        __syncthreads();
    }
    static_for<HEAD / I::N>([&](auto f) {
        static_for<I::C>([&](auto i) {
            const int row = I::row(lane, i);
            O[(block_x() * I::M + row) * HEAD + f * I::N + I::column(lane)] = out[f].x[int(i)] / sums[row];
        });
    });
}

// --- as CK: buffer resources, bounds by the hardware, thread-wise copies, inline assembly --------------------------------

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64)))
void buffers(const half *A, half *out, int count, float scale) {
#if defined(__GFX9__)
    constexpr int FLAGS = 0x00020000;
#elif defined(__GFX11__)
    constexpr int FLAGS = 0x31014000;
#else
    constexpr int FLAGS = 0x31014000;
#endif
    const auto from = __builtin_amdgcn_make_buffer_rsrc((void *)A, 0, count * 2, FLAGS);
    const auto to = __builtin_amdgcn_make_buffer_rsrc(out, 0, count * 2, FLAGS);
    const int offset = (block_x() * 64 + thread_x()) * 16;
    const auto raw = __builtin_amdgcn_raw_buffer_load_b128(from, offset, 0, 0);
    auto v = __builtin_bit_cast(vector<half, 8>, raw);
    __builtin_amdgcn_sched_barrier(0);
#if defined(__gfx1250__) || defined(__GFX12__)
    asm volatile("s_wait_loadcnt 0x0" ::: "memory");
#else
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
    static_for<8>([&](auto e) { v[int(e)] = (half)((float)v[int(e)] * scale); });
    half last = v[7];
    float big;
    asm("v_max_f32 %0, %1, %2" : "=v"(big) : "v"((float)last), "v"(1.0f));
    v[7] = (half)big;
    __builtin_amdgcn_raw_buffer_store_b128(__builtin_bit_cast(decltype(raw), v), to, offset, 0, 0);
}
#ifdef HAS_F64
extern "C" __global__ void gemm_f64(const double *A, const double *B, double *D, int n, int k) {
    using I = Mma<double>;
    accumulator<double> acc;
    fill_fragment(acc, 0.0);
    const int lane = thread_x(), m0 = block_y() * I::M, n0 = block_x() * I::N;
    for (int k0 = 0; k0 < k; k0 += I::K) {
        fragment<double> a, b;
        load_matrix_sync(a, A + m0 * k + k0, k);
        load_matrix_sync(b, B + n0 * k + k0, k);
        mma_sync(acc, a, b, acc);
    }
    for (int i = 0; i < I::C; ++i) D[(m0 + I::row(lane, i)) * n + n0 + I::column(lane)] = acc.x[int(i)];
}
#endif
