// Kernels as guides and samples show them, each right for BUG 0 and with one mistake for each other number: what
// memcheck, racecheck, initcheck and synccheck of compute-sanitizer look for, and pipelines of Ampere and Hopper.
// tests/test_ptx_pitfalls.py says what is found wrong with each.
// nvcc -ptx -arch=sm_90a -lineinfo pitfalls.cu
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
__device__ bool try_wait(u64 *bar, u32 parity) {
    u32 done;
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(at(bar)), "r"(parity) : "memory");
    return done;
}
__device__ void load(void *to, const Map *map, int x, int y, u64 *bar) {
    ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        ::"r"(at(to)), "l"(map), "r"(x), "r"(y), "r"(at(bar)));
}
__device__ void fence_init() { ASM("fence.mbarrier_init.release.cluster;" ::); }
__device__ void cluster_barrier() { ASM("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::); }
__device__ u32 cluster_rank() { u32 rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); return rank; }
__device__ u32 peer(const void *p, u32 rank) {
    u32 found;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(at(p)), "r"(rank));
    return found;
}

// --- racecheck: the sum of 128 values as a tree ---
K(tree)(const u32 *in, u32 *out) {
    __shared__ u32 part[128];
    int t = threadIdx.x;
    part[t] = in[t];
    if (BUG != 1) __syncthreads();
    for (int s = 64; s > (BUG == 3 || BUG == 4 ? 32 : 0); s /= 2) {
        if (BUG == 2) {
            if (t < s) { part[t] += part[t + s]; __syncthreads(); }  // the others come to the barrier behind the loop
        } else {
            if (t < s) part[t] += part[t + s];
            if (BUG != 5) __syncthreads();
        }
    }
    if ((BUG == 3 || BUG == 4) && t < 32) {  // the last warp, as it was done before sm_70
        volatile u32 *v = part;
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            v[t] = v[t] + v[t + s];
            if (BUG == 4) __syncwarp();  // between steps, not between reads and writes of a step
        }
    }
    if (BUG == 2) __syncthreads();
    if (t == 0) *out = part[0];
}

// --- racecheck: each thread reads its neighbour and writes its own place ---
K(neighbour)(const u32 *in, u32 *out) {
    __shared__ u32 x[129];
    int t = threadIdx.x;
    x[t] = in[t];
    if (t == 0) x[128] = 0;
    __syncthreads();
    u32 y = x[t + 1];
    if (BUG != 1) __syncthreads();
    x[t] += y;
    if (BUG != 2) __syncthreads();
    out[t] = x[127 - t];
}

// --- racecheck: a histogram of 256 values in 16 bins ---
K(histogram)(const u32 *in, u32 *out) {
    __shared__ u32 bins[16];
    int t = threadIdx.x;
    if (t < 16 && BUG != 2) bins[t] = 0;
    if (BUG != 4) __syncthreads();
    if (BUG == 1) bins[in[t] & 15] += 1;
    else atomicAdd(&bins[in[t] & 15], 1);
    if (BUG != 3) __syncthreads();
    if (t < 16) out[t] = bins[t];
}

// --- a tile of a product is kept in shared memory, the next one is loaded meanwhile ---
K(two_tiles)(const u32 *in, u32 *out, int steps) {
    __shared__ u32 tile[2][128];
    int t = threadIdx.x;
    tile[0][t] = in[t];
    __syncthreads();
    u32 sum = 0;
    for (int step = 0; step < steps; ++step) {
        u32 next = step + 1 < steps ? in[(step + 1) * 128 + t] : 0;
        int s = BUG == 1 ? 0 : step % 2;
        sum += tile[s][t ^ 64];
        tile[BUG == 1 ? 0 : BUG == 2 ? s : s ^ 1][t] = next;  // 1: one tile for both; 2: the one that is read
        if (BUG != 3) __syncthreads();
    }
    out[t] = sum;
}

// --- a warp hands data to another one by a flag in shared memory ---
K(flag)(const u32 *in, u32 *out) {
    __shared__ u32 data[32];
    __shared__ volatile u32 ready;
    int t = threadIdx.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t < 32) {
        data[t] = in[t];
        if (BUG != 1) __threadfence_block();
        if (BUG != 3) __syncwarp();  // 3: the other lanes have not written yet
        if (t == 0) ready = 1;
    } else {
        while (!ready) ;
        if (BUG != 2) __threadfence_block();
        out[t - 32] = data[(t + 1) % 32];
    }
}

// --- synccheck: n of 128 threads have work; those without have ended, which is no mistake ---
K(ended)(const u32 *in, u32 *out, int n) {
    __shared__ u32 x[128];
    int t = threadIdx.x;
    if (BUG == 0 && t >= n) return;
    if (t < n) x[t] = in[t];
    if (BUG == 1) { if (t < n) __syncthreads(); }  // the others go on and end later
    else __syncthreads();
    if (BUG == 1 && t >= n) { out[t] = x[0]; return; }
    if (BUG == 2) { out[t] = x[127 - t]; return; }  // what nobody has written
    out[t] = x[n - 1 - t];
}

// --- synccheck: votes and shuffles under divergence ---
K(diverged)(const u32 *in, u32 *out) {
    int t = threadIdx.x;
    u32 x = in[t], sum = 0;
    if (BUG == 0) {
        u32 mask = __ballot_sync(~0u, x & 1);
        if (x & 1) sum = __reduce_add_sync(mask, x);
    } else if (BUG == 1) {
        if (x & 1) sum = __reduce_add_sync(~0u, x);  // names lanes that come to another statement
        else __syncwarp();
    } else if (BUG == 2) {
        for (u32 i = 0; i < (x & 3); ++i) sum += __shfl_down_sync(~0u, x, 1);  // as often as each lane likes
    } else if (BUG == 3) {
        sum = __shfl_sync(0x0000fffe, x, 1);  // the mask lacks lanes that execute it
    } else if (BUG == 4) {
        if (t & 1) __syncwarp(0x55555555);  // the mask is that of the others
        sum = x;
    }
    out[t] = sum;
}

// --- two halves of a warp vote, reduce and match by themselves ---
K(halves)(const u32 *in, u32 *out) {
    int t = threadIdx.x;
    u32 x = in[t], mask = t < 16 ? 0xffff : 0xffff0000;
    u32 sum = __reduce_add_sync(mask, x), some = __any_sync(mask, x == in[3]), all = __all_sync(mask, x < in[32]);
    out[t] = sum + 1000 * some + 2000 * all + 4000 * __popc(__ballot_sync(mask, x & 1)) + (__match_any_sync(mask, x & 1) << 8);
}

// --- memcheck and initcheck ---
K(accesses)(const float *in, float *out, int n) {
    __shared__ float tile[64];
    float local[8];
    int t = threadIdx.x;
    for (int i = 0; i < 8; ++i)
        if (BUG != 7 || i != 5) local[i] = in[i] + t;
    if (BUG != 6 || t < 40) tile[t] = in[t];
    __syncthreads();
    float x = BUG == 1 ? in[t + n] : BUG == 2 ? in[t - 1] : in[t];
    if (BUG == 3) {
        float4 four = reinterpret_cast<const float4 *>(in + 1)[t / 32];
        x = four.x + four.y + four.z + four.w;
    }
    if (BUG == 4) x += tile[(t ^ 63) + n];
    else x += tile[t ^ 63];
    x += local[BUG == 5 ? t : t & 7];
    out[t] = x;
}

// --- cp.async: four stages; empty groups keep the count at the end ---
K(tail)(const u32 *in, u32 *out, int steps) {
    __shared__ alignas(16) u32 tiles[4][128];
    int t = threadIdx.x;
    auto issue = [&](int step) {
        if (step < steps) {
            ASM("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(&tiles[step % 4][t])), "l"(in + step * 128 + t));
            if (BUG == 1) ASM("cp.async.commit_group;" ::);  // no group without a copy
        }
        if (BUG != 1) ASM("cp.async.commit_group;" ::);
    };
    for (int i = 0; i < 3; ++i) issue(i);
    u32 sum = 0;
    for (int step = 0; step < steps; ++step) {
        if (BUG == 2) ASM("cp.async.wait_group 3;" ::);
        else ASM("cp.async.wait_group 2;" ::);
        if (BUG == 3) issue(step + 3);  // before all have read the stage that it overwrites
        __syncthreads();
        sum += tiles[step % 4][t ^ 96];
        if (BUG != 3) issue(step + 3);
        if (BUG == 4) tiles[step % 4][t] = 0;  // what another thread may still read
    }
    out[t] = sum;
}

// --- cp.async that arrives at an mbarrier ---
K(noted)(const u32 *in, u32 *out) {
    __shared__ alignas(16) u32 tile[128];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) init(&full, BUG == 2 ? 1 : 128);
    __syncthreads();
    ASM("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(&tile[t])), "l"(in + t));
    if (BUG == 1) ASM("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(at(&full)));  // without .noinc
    else if (BUG == 3) arrive(&full);  // does not wait for the copy
    else ASM("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at(&full)));
    wait(&full, 0);
    out[t] = tile[t ^ 64];
}

// --- one elected thread of a warp writes what all of it read ---
K(elected)(const u32 *in, u32 *out) {
    __shared__ u32 slot;
    int t = threadIdx.x;
    u32 one;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}" : "=r"(one));
    if (one) slot = in[7];
    if (BUG != 1) __syncwarp();
    out[t] = slot;
}

// --- ldmatrix and stmatrix exchange among lanes ---
K(fragments)(const u32 *in, u32 *out) {
    __shared__ alignas(16) u32 tile[4][8][4];
    int t = threadIdx.x;
    for (int i = 0; i < 4; ++i) tile[0][0][i * 32 + t] = in[i * 32 + t];
    if (BUG != 1) __syncwarp();
    u32 r[4], row = at(&tile[t / 8][t % 8][BUG == 3 ? 1 : 0]) + (BUG == 4 ? 8192 : 0);
    ASM("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
    __syncwarp();
    ASM("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
        ::"r"(at(&tile[t / 8][t % 8][0])), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    if (BUG != 2) __syncwarp();
    for (int i = 0; i < 4; ++i) out[i * 32 + t] = tile[0][0][i * 32 + t];
}

// --- two warps take turns, by named barriers ---
K(turns)(u32 *out, int steps) {
    __shared__ u32 value;
    int t = threadIdx.x, mine = t / 32, other = mine ^ 1;
    if (t == 0) value = 0;
    __syncthreads();
    if (mine == 1 && BUG != 2) ASM("bar.arrive 1, 64;" ::);  // the first turn is that of warp 0
    for (int step = 0; step < steps; ++step) {
        if (mine) ASM("bar.sync 2, 64;" ::);
        else ASM("bar.sync 1, 64;" ::);
        if (t % 32 == 0) value = 2 * value + mine;
        if (BUG == 4 && t % 32 == 1) out[0] = value;
        __syncwarp();
        if (BUG == 1 ? !other : other) { if (step + 1 < steps || !mine) ASM("bar.arrive 2, 64;" ::); }
        else if (BUG == 3) ASM("bar.arrive 1, 32;" ::);
        else if (step + 1 < steps || !mine) ASM("bar.arrive 1, 64;" ::);
    }
    __syncthreads();
    if (t == 0) out[0] = value;
}

// --- a distributed histogram: each CTA of a cluster of two has 8 of 16 bins ---
template <int BUG> __global__ void __cluster_dims__(2, 1, 1) spread(const u32 *in, u32 *out) {
    __shared__ u32 bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    if (BUG == 1) __syncthreads();
    else cluster_barrier();
    u32 bin = in[blockIdx.x * 64 + t] & 15;
    if (BUG == 4) ASM("st.shared::cluster.u32 [%0], %1;" ::"r"(peer(&bins[bin & 7], bin >> 3)), "r"(t));
    else ASM("red.shared::cluster.add.u32 [%0], 1;" ::"r"(peer(&bins[bin & 7], bin >> 3)));
    if (BUG == 2) __syncthreads();
    else cluster_barrier();
    if (t < 8 && BUG != 3) out[cluster_rank() * 8 + t] = bins[t];
    if (BUG == 3 && t < 8) {
        u32 x;
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(x) : "r"(peer(&bins[t], cluster_rank() ^ 1)) : "memory");
        out[(cluster_rank() ^ 1) * 8 + t] = x;  // the other CTA may have ended
    }
}

// --- bulk copies without a tensor map ---
K(bulk)(const u32 *in, u32 *out) {
    __shared__ alignas(128) u32 tile[256];
    __shared__ alignas(8) u64 full[2];
    int t = threadIdx.x;
    if (t == 0) { init(&full[0], 1); init(&full[1], 1); fence_init(); }
    __syncthreads();
    if (t == 0) {
        u32 bytes = BUG == 1 ? 500 : 512;
        expect(&full[0], bytes);
        ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            ::"r"(at(tile) + (BUG == 3 ? 8192 : 0)), "l"(in + (BUG == 2)), "r"(bytes), "r"(at(&full[BUG == 4])));
    }
    if (BUG == 5) { while (!try_wait(&full[1], 0)) ; }  // the other one
    else if (BUG == 6) try_wait(&full[0], 0);  // it may come back before the end of the phase
    else wait(&full[0], 0);
    out[t] = tile[t ^ 64];
    if (BUG == 7) {  // the same object begins anew
        __syncthreads();
        if (t == 0) init(&full[0], 1);
    }
    if (BUG == 8) { __syncthreads(); full[0] = t; }  // as data, without mbarrier.inval
}

// --- a producer warp loads by TMA; a warpgroup multiplies D = A B^T of 64x64 f16 in steps of 64 along k ---
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
__device__ u64 matrix(const void *p) {  // K-major with the 128-byte swizzle: 8 rows are 1024 bytes
    return (u64)((at(p) & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 62;
}
__device__ void wg_fence() { ASM("wgmma.fence.sync.aligned;" ::); }
__device__ void wg_commit() { ASM("wgmma.commit_group.sync.aligned;" ::); }
template <int N> __device__ void wg_wait() { ASM("wgmma.wait_group.sync.aligned %0;" ::"n"(N)); }
K(pipeline)(const __grid_constant__ Map a, const __grid_constant__ Map b, float *d, int steps) {
    extern __shared__ __align__(1024) unsigned char tiles[];  // two stages of A and B
    __shared__ alignas(8) u64 full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], 128); }
        fence_init();
    }
    __syncthreads();
    if (t >= 128) {
        if (t != 128) return;
        for (int step = 0; step < steps; ++step) {
            int s = step % 2, phase = step / 2 & 1;
            wait(&empty[s], phase ^ 1);
            expect(&full[s], BUG == 2 ? 8192 : 16384);  // one of the two copies
            load(tiles + s * 16384, &a, step * 64, 0, &full[s]);
            load(tiles + s * 16384 + 8192, &b, step * 64, 0, &full[BUG == 7 ? s ^ 1 : s]);
        }
        return;
    }
    float c[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) c[i] = 0;
    for (int step = 0; step < steps; ++step) {
        int s = step % 2, phase = step / 2 & 1;
        if (BUG == 3) wait(&full[s ^ 1], phase);  // the other stage
        else if (BUG == 4) try_wait(&full[s], phase);  // without a loop
        else wait(&full[s], phase);
        if (BUG == 5 && step == 2) for (int i = 0; i < 32; ++i) c[i] *= 2;  // in flight
        if (BUG != 6) wg_fence();
#pragma unroll
        for (int k = 0; k < 4; ++k) MULTIPLY(c, matrix(tiles + s * 16384) + 2 * k, matrix(tiles + s * 16384 + 8192) + 2 * k, 1);
        wg_commit();
        if (BUG == 6) {  // scaled between the products, without wgmma.fence
            wg_wait<0>();
            for (int i = 0; i < 32; ++i) c[i] *= 1.5f;
            arrive(&empty[s]);
        } else if (BUG == 8) {
            arrive(&empty[s]);  // before the product has read it
            wg_wait<1>();
        } else {
            wg_wait<1>();
            if (BUG == 1) arrive(&empty[s]);  // of this step, where only the last one is complete
            else if (step) arrive(&empty[s ^ 1]);
        }
    }
    if (BUG != 9) wg_wait<0>();
    int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; ++i) d[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + column + i % 2] = c[i];
}

// --- CTA 0 of a cluster of two loads tiles into both, in a ring of two stages ---
template <int BUG> __global__ void __cluster_dims__(2, 1, 1) shared_ring(const __grid_constant__ Map map, float *out, int steps) {
    __shared__ alignas(128) float tiles[2][128];
    __shared__ alignas(8) u64 full[2], empty[2];
    int t = threadIdx.x;
    u32 rank = cluster_rank();
    if (t == 0) {
        for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], BUG == 1 ? 1 : BUG == 2 ? 4 : 2); }
        fence_init();
    }
    cluster_barrier();
    float sum = 0;
    if (t >= 128) {
        if (t == 128)
            for (int step = 0; step < steps; ++step) {
                int s = step % 2, phase = step / 2 & 1;
                if (BUG == 4 && rank) expect(&full[s], 512);  // may come after the bytes of the phase after
                if (rank == 0) wait(&empty[s], phase ^ 1);
                if (rank == 0 || BUG != 4) {
                    if (rank == 0) {
                        expect(&full[s], 512);
                        ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                            ".multicast::cluster [%0], [%1, {0, %2}], [%3], %4;" ::"r"(at(tiles[s])), "l"(&map), "r"(step),
                            "r"(at(&full[s])), "h"((short)3));
                    }
                }
            }
    } else {
        for (int step = 0; step < steps; ++step) {
            int s = step % 2, phase = step / 2 & 1;
            if (rank && t == 0 && BUG != 4) expect(&full[s], 512);
            wait(&full[s], phase);
            sum += tiles[s][t ^ 64];
            ASM("bar.sync 1, 128;" ::);  // all 128 have read it
            if (t == 0) {
                if (BUG == 1) arrive(&empty[s]);  // of the own CTA, whose stage it is not alone
                else if (BUG == 5) ASM("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer(&empty[s], 0)));
                else ASM("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer(&empty[s], 0)));
            }
        }
        out[rank * 128 + t] = sum;
    }
    if (BUG != 3) cluster_barrier();  // CTA 0 must not end before the other has arrived at its mbarriers
}

#define MAP const __grid_constant__ Map
#define MAKE(NAME, BUG, ...) template __global__ void NAME<BUG>(__VA_ARGS__);
#define A1(M, N, ...) M(N, 0, __VA_ARGS__) M(N, 1, __VA_ARGS__)
#define A2(M, N, ...) A1(M, N, __VA_ARGS__) M(N, 2, __VA_ARGS__)
#define A3(M, N, ...) A2(M, N, __VA_ARGS__) M(N, 3, __VA_ARGS__)
#define A4(M, N, ...) A3(M, N, __VA_ARGS__) M(N, 4, __VA_ARGS__)
#define A5(M, N, ...) A4(M, N, __VA_ARGS__) M(N, 5, __VA_ARGS__)
#define A6(M, N, ...) A5(M, N, __VA_ARGS__) M(N, 6, __VA_ARGS__)
#define A7(M, N, ...) A6(M, N, __VA_ARGS__) M(N, 7, __VA_ARGS__)
#define A8(M, N, ...) A7(M, N, __VA_ARGS__) M(N, 8, __VA_ARGS__)
#define A9(M, N, ...) A8(M, N, __VA_ARGS__) M(N, 9, __VA_ARGS__)
A5(MAKE, tree, const u32 *, u32 *)
A2(MAKE, neighbour, const u32 *, u32 *)
A4(MAKE, histogram, const u32 *, u32 *)
A3(MAKE, two_tiles, const u32 *, u32 *, int)
A3(MAKE, flag, const u32 *, u32 *)
A2(MAKE, ended, const u32 *, u32 *, int)
A4(MAKE, diverged, const u32 *, u32 *)
MAKE(halves, 0, const u32 *, u32 *)
A7(MAKE, accesses, const float *, float *, int)
A4(MAKE, tail, const u32 *, u32 *, int)
A3(MAKE, noted, const u32 *, u32 *)
A1(MAKE, elected, const u32 *, u32 *)
A4(MAKE, fragments, const u32 *, u32 *)
A4(MAKE, turns, u32 *, int)
A4(MAKE, spread, const u32 *, u32 *)
A8(MAKE, bulk, const u32 *, u32 *)
A9(MAKE, pipeline, MAP, MAP, float *, int)
A5(MAKE, shared_ring, MAP, float *, int)
