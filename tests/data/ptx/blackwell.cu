// A persistent kernel for Blackwell with a warp each for TMA and for tcgen05.mma and four that store, right for BUG 0
// and with one mistake for each other number, and smaller kernels. tests/test_ptx_pitfalls.py says what is found.
// nvcc -ptx -arch=sm_100a -lineinfo blackwell.cu
struct alignas(64) Map { unsigned long long words[16]; };
using u32 = unsigned;
using u64 = unsigned long long;
#define ASM(...) asm volatile(__VA_ARGS__ : "memory")
#define K(NAME) template <int BUG> __global__ void NAME

__device__ u32 at(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void init(u64 *bar, u32 count) { ASM("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(bar)), "r"(count)); }
__device__ void expect(u64 *bar, u32 bytes) {
    ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(bar)), "r"(bytes));
}
__device__ void arrive(u64 *bar) { ASM("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(bar))); }
__device__ void wait(u64 *bar, u32 parity) {
    ASM("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}"
        ::"r"(at(bar)), "r"(parity));
}
__device__ void load(void *to, const Map *map, int x, int y, u64 *bar) {
    ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        ::"r"(at(to)), "l"(map), "r"(x), "r"(y), "r"(at(bar)));
}
__device__ void fence_init() { ASM("fence.mbarrier_init.release.cluster;" ::); }
__device__ void fence_async() { ASM("fence.proxy.async.shared::cta;" ::); }
__device__ bool elect() {
    u32 one;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}" : "=r"(one));
    return one;
}
__device__ void before() { ASM("tcgen05.fence::before_thread_sync;" ::); }
__device__ void after() { ASM("tcgen05.fence::after_thread_sync;" ::); }
template <int N> __device__ void alloc(u32 *to) {
    ASM("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(at(to)), "n"(N));
}
template <int N> __device__ void dealloc(u32 from) {
    ASM("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(from), "n"(N));
}
__device__ void commit(u64 *bar) {
    ASM("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at(bar)));
}
__device__ u64 matrix(const void *p) {  // K-major with the 128-byte swizzle: 8 rows are 1024 bytes
    return (u64)((at(p) & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 46 | (u64)2 << 61;
}
__device__ void multiply(u32 d, u64 a, u64 b, u32 shape, u32 add) {
    ASM("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}"
        ::"r"(d), "l"(a), "l"(b), "r"(shape), "r"(add));
}
__device__ void get(u32 from, u32 *x) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, [%16];"
        : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7]), "=r"(x[8]),
          "=r"(x[9]), "=r"(x[10]), "=r"(x[11]), "=r"(x[12]), "=r"(x[13]), "=r"(x[14]), "=r"(x[15]) : "r"(from) : "memory");
}
__device__ void put(u32 to, const u32 *x) {
    ASM("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};"
        ::"r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(to));
}
__device__ void wait_ld() { ASM("tcgen05.wait::ld.sync.aligned;" ::); }
__device__ void wait_st() { ASM("tcgen05.wait::st.sync.aligned;" ::); }
constexpr u32 SHAPE = 1 << 4 | 64 / 8 << 17 | 128 / 16 << 24;  // f32 += f16 x f16, 128 x 64

// --- D = A B^T: two stages of A (128x64) and B (64x64), `tiles` products of 128x64, one accumulator ---
K(gemm)(const __grid_constant__ Map a, const __grid_constant__ Map b, float *d, int tiles, int steps) {
    extern __shared__ __align__(1024) unsigned char stages[];  // two stages of 24,576 bytes
    __shared__ alignas(8) u64 full[2], empty[2], done, free;
    __shared__ u32 base;
    int t = threadIdx.x, warp = t / 32;
    if (t == 0) {
        for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], 1); }
        init(&done, 1);
        init(&free, BUG == 1 ? 4 : 128);
        fence_init();
    }
    if (warp == 1) alloc<64>(&base);
    before();
    if (BUG != 2) __syncthreads();
    after();
    u32 accumulator = base;
    if (warp == 0) {
        if (elect())
            for (int i = 0; i < tiles * steps; ++i) {
                int s = i % 2, phase = i / 2 & 1, tile = i / steps, step = i % steps;
                unsigned char *place = stages + s * 24576;
                if (BUG != 3) wait(&empty[s], phase ^ 1);  // 3: products may still read the stage
                expect(&full[s], BUG == 4 ? 16384 : BUG == 5 ? 32768 : 24576);
                load(place, &a, step * 64, tile * 128, &full[s]);
                load(place + 16384, &b, step * 64, 0, &full[s]);
            }
    } else if (warp == 1) {
        bool one = BUG == 6 ? true : elect();  // 6: all lanes issue
        for (int tile = 0; tile < tiles; ++tile) {
            if (BUG != 7) wait(&free, tile & 1 ^ 1);  // 7: the last tile may not have been stored
            after();
            for (int step = 0; step < steps; ++step) {
                int i = tile * steps + step, s = i % 2, phase = i / 2 & 1;
                if (BUG == 8) wait(&full[s ^ 1], phase);  // the other stage
                else if (BUG != 9) wait(&full[s], phase);
                after();
                if (one) {
                    unsigned char *place = stages + s * 24576;
                    for (int k = 0; k < 4; ++k)
                        multiply(accumulator, matrix(place) + 2 * k, matrix(place + 16384) + 2 * k, SHAPE, step || k);
                    if (BUG == 10) arrive(&empty[s]);  // issued, not complete
                    else commit(&empty[s]);
                }
                __syncwarp();
            }
            if (one && BUG == 11) arrive(&done);
            else if (one && BUG != 12) commit(BUG == 13 ? &free : &done);  // 13: another mbarrier
            __syncwarp();
        }
    } else if (warp >= 4) {
        u32 x[16], lanes = (warp - 4) * 32;
        for (int tile = 0; tile < tiles; ++tile) {
            if (BUG == 14) wait(&done, tile & 1 ^ 1);  // the parity of the phase before
            else if (BUG != 15) wait(&done, tile & 1);
            after();
#pragma unroll 1
            for (int j = 0; j < 4; ++j) {
                get(accumulator + (lanes << 16) + j * 16, x);
                if (BUG == 16 && j == 3) { before(); arrive(&free); }  // before the loads are complete
                wait_ld();
                for (int i = 0; i < 16; ++i) d[(tile * 128 + lanes + t % 32) * 64 + j * 16 + i] = __uint_as_float(x[i]);
            }
            before();
            if (BUG != 16) arrive(&free);
        }
    }
    if (BUG != 17) __syncthreads();
    if (warp == 1 && BUG != 18) dealloc<BUG == 19 ? 32 : 64>(accumulator);
}

// --- A is written to Tensor Memory by the threads, B to shared memory: D = A B^T of 128x64x16 ---
K(tensor_memory)(const u32 *a, const unsigned short *b, float *d) {
    __shared__ alignas(1024) unsigned short right[64 * 16];
    __shared__ alignas(8) u64 done;
    __shared__ u32 base;
    int t = threadIdx.x, warp = t / 32;
    if (t == 0) { init(&done, 1); fence_init(); }
    if (warp == 0) alloc<128>(&base);
    for (int i = t; i < 64 * 16; i += 128) {  // core matrices of 8 rows of 16 bytes: k, then rows
        int row = i / 16, k = i % 16;
        right[k / 8 * 512 + row / 8 * 64 + row % 8 * 8 + k % 8] = b[i];
    }
    if (BUG != 1) fence_async();
    before();
    __syncthreads();
    after();
    u32 accumulator = base, left = accumulator + 64, x[16];
    for (int i = 0; i < 8; ++i) x[i] = a[t * 8 + i];
    put(left + (warp * 32 << 16), x);
    if (BUG != 2) wait_st();
    before();
    if (BUG != 3) __syncthreads();
    after();
    if (t == 0) {
        u64 columns = (u64)((at(right) & 0x3ffff) >> 4) | (u64)64 << 16 | (u64)8 << 32 | (u64)1 << 46;
        ASM("{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n}"
            ::"r"(accumulator), "r"(left), "l"(columns), "r"(SHAPE));
        commit(&done);
    }
    __syncwarp();
    if (BUG == 4) put(left + (warp * 32 << 16), x);  // while the product reads it
    if (BUG == 5) right[t] = 0;  // while the product reads it
    wait(&done, 0);
    after();
#pragma unroll 1
    for (int j = 0; j < 4; ++j) {
        get(accumulator + ((BUG == 6 ? warp ^ 1 : warp) * 32 << 16) + j * 16, x);  // 6: the lanes of another warp
        wait_ld();
        for (int i = 0; i < 16; ++i) d[t * 64 + j * 16 + i] = __uint_as_float(x[i]);
    }
    if (BUG == 7) get(accumulator + (warp * 32 << 16) + 128, x);  // beyond what was allocated
    before();
    __syncthreads();
    after();
    if (warp == 0) dealloc<128>(accumulator);
    if (BUG == 8) { get(accumulator + (warp * 32 << 16), x); wait_ld(); d[0] = x[0]; }
}

#define MAP const __grid_constant__ Map
#define MAKE(NAME, BUG, ...) template __global__ void NAME<BUG>(__VA_ARGS__);
#define A8(M, N, ...) M(N, 0, __VA_ARGS__) M(N, 1, __VA_ARGS__) M(N, 2, __VA_ARGS__) M(N, 3, __VA_ARGS__) \
    M(N, 4, __VA_ARGS__) M(N, 5, __VA_ARGS__) M(N, 6, __VA_ARGS__) M(N, 7, __VA_ARGS__) M(N, 8, __VA_ARGS__)
A8(MAKE, gemm, MAP, MAP, float *, int, int)
MAKE(gemm, 9, MAP, MAP, float *, int, int) MAKE(gemm, 10, MAP, MAP, float *, int, int)
MAKE(gemm, 11, MAP, MAP, float *, int, int) MAKE(gemm, 12, MAP, MAP, float *, int, int)
MAKE(gemm, 13, MAP, MAP, float *, int, int) MAKE(gemm, 14, MAP, MAP, float *, int, int)
MAKE(gemm, 15, MAP, MAP, float *, int, int) MAKE(gemm, 16, MAP, MAP, float *, int, int)
MAKE(gemm, 17, MAP, MAP, float *, int, int) MAKE(gemm, 18, MAP, MAP, float *, int, int)
MAKE(gemm, 19, MAP, MAP, float *, int, int)
A8(MAKE, tensor_memory, const u32 *, const unsigned short *, float *)
