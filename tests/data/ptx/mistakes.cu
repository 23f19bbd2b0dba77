// Kernels of Hopper and Blackwell in the small, each right for BUG 0 and with one mistake that people make for each
// other number. tests/test_ptx_mistakes.py says what is found wrong with each.
// nvcc -ptx -arch=sm_90a -lineinfo mistakes.cu
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
__device__ void store(const Map *map, int x, int y, const void *from) {
    ASM("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
        ::"l"(map), "r"(x), "r"(y), "r"(at(from)));
}
__device__ void fence_async() { ASM("fence.proxy.async.shared::cta;" ::); }
__device__ void fence_init() { ASM("fence.mbarrier_init.release.cluster;" ::); }
__device__ void commit_bulk() { ASM("cp.async.bulk.commit_group;" ::); }
template <int N> __device__ void wait_read() { ASM("cp.async.bulk.wait_group.read %0;" ::"n"(N)); }
template <int N> __device__ void wait_bulk() { ASM("cp.async.bulk.wait_group %0;" ::"n"(N)); }

// --- a tile written by threads and stored by TMA, twice: out is (2, 128) f32, 128 threads ---
K(tma_store)(const __grid_constant__ Map map, const float *in) {
    __shared__ alignas(128) float tile[128];
    int t = threadIdx.x;
    for (int row = 0; row < 2; ++row) {
        if (BUG == 2) fence_async();  // before the write
        tile[t] = 2 * in[row * 128 + t];
        if (BUG != 1 && BUG != 2 && BUG != 3 && BUG != 6) fence_async();
        if (BUG == 3 && t == 0) fence_async();  // by one thread, not by those that wrote
        if (BUG == 6) ASM("fence.proxy.async.global;" ::);  // of the other space
        if (BUG != 4) __syncthreads();
        if (t == 0) {
            store(&map, 0, row, tile);
            if (BUG != 7) commit_bulk();
            if (BUG != 5) wait_read<0>();
        }
        __syncthreads();
    }
}

// --- two tiles of 128 f32 loaded by TMA into one buffer, each copied to out (2, 128) ---
K(tma_load)(const __grid_constant__ Map map, float *out) {
    __shared__ alignas(128) float tile[128 + 32];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) {
        if (BUG != 1) init(&full, BUG == 2 ? 2 : BUG == 3 ? 128 : 1);
        fence_init();
    }
    if (BUG != 4) __syncthreads();
    for (int row = 0; row < 2; ++row) {
        if (t == 0) {
            if (BUG != 5) expect(&full, BUG == 6 ? 256 : BUG == 7 ? 1024 : 512);
            load(BUG == 8 ? tile + 4 : tile, &map, 0, row, &full);
            if (BUG == 5) arrive(&full);  // without the bytes
        }
        if (BUG == 9) wait(&full, row ^ 1);  // the other parity
        else if (BUG == 10) wait(&full, 0);  // the parity is not flipped
        else if (BUG != 11) wait(&full, row);
        out[row * 128 + t] = tile[t];
        if (BUG != 12) __syncthreads();  // all have read before the next load
    }
}

// --- a ring of two stages: a producer warp, and 128 consumers that add up steps tiles of 128 f32 ---
K(ring)(const __grid_constant__ Map map, float *out, int steps) {
    __shared__ alignas(128) float tiles[2][128];
    __shared__ alignas(8) u64 full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 2; ++i) {
            init(&full[i], 1);
            init(&empty[i], BUG == 1 ? 1 : BUG == 2 ? 129 : 128);
        }
        fence_init();
    }
    __syncthreads();
    if (t >= 128) {
        if (t == 128)
            for (int step = 0; step < steps; ++step) {
                int s = step % 2, phase = step / 2 & 1;
                if (BUG == 3) wait(&empty[s], phase);  // the producer must start with the other parity
                else if (BUG != 4) wait(&empty[s], phase ^ 1);
                expect(&full[s], 512);
                load(BUG == 5 ? tiles[0] : tiles[s], &map, 0, step, &full[s]);  // always the first stage
            }
        return;
    }
    float sum = 0;
    for (int step = 0; step < steps; ++step) {
        int s = step % 2, phase = step / 2 & 1;
        if (BUG == 6) phase = step & 1;  // flips in each step, not in each round
        wait(&full[s], phase);
        if (BUG == 7) arrive(&empty[s]);  // before the slot has been read
        sum += tiles[s][t];
        if (BUG != 7 && BUG != 8) arrive(&empty[s]);
    }
    out[t] = sum;
}

// --- wgmma: D = A B^T of 64x64x16 f16, A and B written to shared memory by threads (no swizzle) ---
#define D32 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27," \
            "%28,%29,%30,%31}"
#define C32(c) "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]),        \
        "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]),         \
        "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]),       \
        "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
#define MULTIPLY(c, a, b, scale) \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n" \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " D32 ", %32, %33, p, 1, 1, 0, 0;\n}" \
                 : C32(c) : "l"(a), "l"(b), "r"(scale) : "memory")
__device__ u64 matrix(const void *p, u32 leading, u32 stride, u64 swizzle) {
    return (u64)((at(p) & 0x3ffff) >> 4) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | swizzle << 62;
}
__device__ void wg_fence() { ASM("wgmma.fence.sync.aligned;" ::); }
__device__ void wg_commit() { ASM("wgmma.commit_group.sync.aligned;" ::); }
template <int N> __device__ void wg_wait() { ASM("wgmma.wait_group.sync.aligned %0;" ::"n"(N)); }
__device__ void put(float *d, const float *c) {
    int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; ++i) d[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + column + i % 2] = c[i];
}
K(product)(const unsigned short *a, const unsigned short *b, float *d) {
    __shared__ alignas(128) unsigned short tiles[2][64 * 16];
    int t = threadIdx.x;
    float c[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) c[i] = 0;
    for (int i = t; i < 64 * 16; i += 128) {  // core matrices of 8 rows of 16 bytes: k, then rows
        int row = i / 16, k = i % 16, place = k / 8 * 512 + row / 8 * 64 + row % 8 * 8 + k % 8;
        tiles[0][place] = a[i];
        tiles[1][place] = b[i];
    }
    if (BUG != 1) fence_async();
    __syncthreads();
    u32 leading = BUG == 2 ? 128 : 1024, stride = BUG == 2 ? 1024 : 128;  // the two are exchanged
    u64 left = matrix(tiles[0], leading, BUG == 9 ? 2048 : stride, 0), right = matrix(tiles[1], leading, stride, 0);
    if (BUG != 3) wg_fence();
    MULTIPLY(c, left, right, 0);
    MULTIPLY(c, left, right, 1);
    if (BUG != 4) wg_commit();
    if (BUG == 5) c[0] += 1;  // an accumulator in flight
    if (BUG == 7) tiles[0][t] = 0;  // while it is read
    if (BUG == 8) { MULTIPLY(c, left, right, 1); wg_commit(); }
    if (BUG == 8) wg_wait<1>();  // off by one
    else if (BUG != 6) wg_wait<0>();
    put(d, c);
}

// --- TMA with the 128-byte swizzle, and wgmma: D = A B^T of 64x64x64 f16 ---
K(swizzled)(const __grid_constant__ Map a, const __grid_constant__ Map b, float *d) {
    extern __shared__ __align__(1024) unsigned char raw[];
    __shared__ alignas(8) u64 full;
    unsigned char *tiles = raw + (BUG == 1 ? 128 : 0);
    int t = threadIdx.x;
    if (t == 0) { init(&full, 1); fence_init(); }
    __syncthreads();
    if (t == 0) {
        expect(&full, 2 * 8192);
        load(tiles, &a, 0, 0, &full);
        load(tiles + 8192, &b, 0, 0, &full);
    }
    wait(&full, 0);
    float c[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) c[i] = 0;
    u64 left = matrix(tiles, 16, BUG == 2 ? 512 : 1024, BUG == 3 ? 2 : 1);  // 3: another swizzle than the map's
    u64 right = matrix(tiles + 8192, 16, 1024, 1);
    wg_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) MULTIPLY(c, left + (BUG == 4 ? 1 : 2) * k, right + 2 * k, 1);
    wg_commit();
    wg_wait<0>();
    put(d, c);
}

// --- cp.async: three stages of 128 words, each thread reads another thread's ---
K(stages)(const u32 *in, u32 *out, int steps) {
    __shared__ alignas(16) u32 tiles[3][128];
    int t = threadIdx.x;
    auto issue = [&](int step) {
        if (step < steps)
            ASM("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(&tiles[step % 3][t])), "l"(in + step * 128 + t));
        if (BUG != 3 || step % 2 == 0) ASM("cp.async.commit_group;" ::);
    };
    issue(0);
    issue(1);
    u32 sum = 0;
    for (int step = 0; step < steps; ++step) {
        if (BUG == 4) __syncthreads();  // before the wait
        if (BUG == 1) ASM("cp.async.wait_group 2;" ::);  // off by one
        else ASM("cp.async.wait_group 1;" ::);
        if (BUG != 2 && BUG != 4) __syncthreads();
        sum += tiles[step % 3][(t + 33) % 128];
        issue(step + 2);
    }
    out[t] = sum;
}

// --- named barriers: 64 threads hand a buffer to 64 others and get it back ---
K(named)(const u32 *in, u32 *out) {
    __shared__ u32 buffer[64];
    int t = threadIdx.x;
    if (t < 64) {
        buffer[t] = in[t];
        if (BUG == 1) ASM("bar.arrive 1, 64;" ::);  // 64 arrive and 64 wait: that makes 128
        else if (BUG == 2) ASM("bar.arrive 2, 128;" ::);  // another barrier than the one that is waited at
        else ASM("bar.arrive 1, 128;" ::);
    } else {
        if (BUG == 1) ASM("bar.sync 1, 64;" ::);
        else if (BUG == 3) ASM("bar.sync 1, 96;" ::);
        else ASM("bar.sync 1, 128;" ::);
        out[t - 64] = buffer[(t + 7) % 64];
    }
}

// --- exchange within a warp ---
K(lanes)(const u32 *in, u32 *out) {
    __shared__ u32 buffer[64];
    int t = threadIdx.x;
    u32 x = in[t];
    buffer[t] = x;
    if (BUG != 1) __syncwarp();
    u32 y = buffer[t ^ 1];
    if (BUG == 2) {  // half of the lanes that the mask names
        if (t % 32 < 16) y += __shfl_xor_sync(0xffffffff, x, 1);
    } else if (BUG == 3) {  // a source lane that is not in the mask
        if (t % 32 < 16) y += __shfl_xor_sync(0xffff, x, 16);
    } else if (BUG == 4) {
        if (t % 2 == 0) __syncthreads();  // in divergent code
    } else y += __shfl_xor_sync(0xffffffff, x, 1);
    if (BUG == 2) __syncwarp();
    if (BUG == 4) { __syncthreads(); y += buffer[t ^ 32]; }
    out[t] = y;
}

// --- clusters of two CTAs of 64 threads: each reads what the other has written ---
template <int BUG> __global__ void __cluster_dims__(2, 1, 1) peers(const u32 *in, u32 *out) {
    __shared__ u32 buffer[64];
    int t = threadIdx.x;
    u32 rank, peer;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    buffer[t] = in[blockIdx.x * 64 + t];
    if (BUG == 2) __syncthreads();
    else if (BUG == 3) ASM("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::);
    else if (BUG != 1) ASM("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(at(&buffer[t ^ 1])), "r"(rank ^ (BUG == 5 ? 2 : 1)));
    u32 y;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(y) : "r"(peer) : "memory");
    out[blockIdx.x * 64 + t] = y;
    if (BUG == 6) ASM("barrier.cluster.arrive.aligned;" ::);
    else if (BUG != 4) ASM("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::);
}

// --- multicast: CTA 0 loads a tile into both CTAs of a cluster ---
template <int BUG> __global__ void __cluster_dims__(2, 1, 1) multicast(const __grid_constant__ Map map, float *out) {
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        init(&full, 1);
        if (BUG != 1) fence_init();
    }
    if (BUG == 1) ASM("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::);
    else if (BUG == 2) __syncthreads();
    else ASM("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::);
    if (t == 0) {
        if (BUG != 3 || rank == 0) expect(&full, 512);
        else arrive(&full);
        if (rank == 0)
            ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                "[%0], [%1, {0, 0}], [%2], %3;" ::"r"(at(tile)), "l"(&map), "r"(at(&full)), "h"((short)(BUG == 4 ? 1 : 3)));
    }
    wait(&full, 0);
    out[blockIdx.x * 128 + t] = tile[t];
    ASM("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::);
}

// --- setmaxnreg: a producer warpgroup gives registers to two consumers ---
template <int BUG> __global__ void __launch_bounds__(384, 1) registers(u32 *out) {
    int t = threadIdx.x;
    if (t < 128) {
        if (BUG == 1) { if (t < 32) ASM("setmaxnreg.dec.sync.aligned.u32 40;" ::); }  // one warp of the warpgroup
        else if (BUG != 2) ASM("setmaxnreg.dec.sync.aligned.u32 40;" ::);
    } else {
        if (BUG == 3) ASM("setmaxnreg.inc.sync.aligned.u32 240;" ::);
        else ASM("setmaxnreg.inc.sync.aligned.u32 232;" ::);
    }
    out[t] = t;
}

// --- through global memory: the last of 2 CTAs reads what the other has stored ---
K(handed_on)(const __grid_constant__ Map map, float *work, u32 *count, float *out) {
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) u64 full;
    __shared__ bool last;
    int t = threadIdx.x;
    if (BUG < 10) {  // stored by TMA, read by loads
        tile[t] = blockIdx.x + t;
        fence_async();
        __syncthreads();
        if (t == 0) {
            store(&map, 0, blockIdx.x, tile);
            commit_bulk();
            if (BUG == 1) wait_read<0>();  // the shared memory is free, the data have not arrived
            else if (BUG != 2) wait_bulk<0>();
        }
    } else {  // stored by threads, read by TMA
        work[blockIdx.x * 128 + t] = blockIdx.x + t;
        if (BUG == 10) ASM("fence.proxy.async.global;" ::);
        if (BUG == 12) fence_async();  // of shared memory
        if (t == 0) { init(&full, 1); fence_init(); }
        __syncthreads();
    }
    if (t == 0) {
        __threadfence();
        last = atomicAdd(count, 1) == 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    if (BUG < 10) {
        out[t] = work[t] + work[128 + t];
        return;
    }
    if (t == 0) {
        if (BUG == 13) ASM("fence.proxy.async.global;" ::);
        expect(&full, 512);
        load(tile, &map, 0, blockIdx.x ^ 1, &full);
    }
    wait(&full, 0);
    out[t] = tile[t] + work[blockIdx.x * 128 + t];
}

// --- a tensor map that the kernel makes: the address is replaced, and the copy of the map is used ---
K(made_map)(const __grid_constant__ Map map, Map *made, const float *in, float *out) {
    __shared__ alignas(128) Map own;
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) { init(&full, 1); fence_init(); }
    if (t < 16) own.words[t] = map.words[t];
    __syncwarp();
    if (t == 0) ASM("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at(&own)), "l"(in));
    __syncwarp();
    if (t < 32) {
        if (BUG == 1) { if (t < 16) made->words[t] = own.words[t]; }  // without a fence
        else ASM("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
                 ::"l"(made), "r"(at(&own)));
    }
    __syncthreads();
    if (BUG != 2) ASM("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made));
    if (t == 0) {
        expect(&full, 512);
        load(tile, made, 0, 1, &full);
    }
    wait(&full, 0);
    out[t] = tile[t];
}

#define MAP const __grid_constant__ Map
#define MAKE(NAME, BUG, ...) template __global__ void NAME<BUG>(__VA_ARGS__);
#define A1(M, N, ...) M(N, 0, __VA_ARGS__) M(N, 1, __VA_ARGS__) M(N, 2, __VA_ARGS__)
#define A3(M, N, ...) A1(M, N, __VA_ARGS__) M(N, 3, __VA_ARGS__)
#define A4(M, N, ...) A3(M, N, __VA_ARGS__) M(N, 4, __VA_ARGS__)
#define A5(M, N, ...) A4(M, N, __VA_ARGS__) M(N, 5, __VA_ARGS__)
#define A6(M, N, ...) A5(M, N, __VA_ARGS__) M(N, 6, __VA_ARGS__)
#define A7(M, N, ...) A6(M, N, __VA_ARGS__) M(N, 7, __VA_ARGS__)
#define A8(M, N, ...) A7(M, N, __VA_ARGS__) M(N, 8, __VA_ARGS__)
#define A9(M, N, ...) A8(M, N, __VA_ARGS__) M(N, 9, __VA_ARGS__)
#define A12(M, N, ...) A9(M, N, __VA_ARGS__) M(N, 10, __VA_ARGS__) M(N, 11, __VA_ARGS__) M(N, 12, __VA_ARGS__)
A7(MAKE, tma_store, MAP, const float *)
A12(MAKE, tma_load, MAP, float *)
A8(MAKE, ring, MAP, float *, int)
A9(MAKE, product, const unsigned short *, const unsigned short *, float *)
A4(MAKE, swizzled, MAP, MAP, float *)
A4(MAKE, stages, const u32 *, u32 *, int)
A3(MAKE, named, const u32 *, u32 *)
A4(MAKE, lanes, const u32 *, u32 *)
A6(MAKE, peers, const u32 *, u32 *)
A4(MAKE, multicast, MAP, float *)
A3(MAKE, registers, u32 *)
A1(MAKE, handed_on, MAP, float *, u32 *, float *)
MAKE(handed_on, 10, MAP, float *, u32 *, float *)
MAKE(handed_on, 11, MAP, float *, u32 *, float *)
MAKE(handed_on, 12, MAP, float *, u32 *, float *)
MAKE(handed_on, 13, MAP, float *, u32 *, float *)
A1(MAKE, made_map, MAP, Map *, const float *, float *)
