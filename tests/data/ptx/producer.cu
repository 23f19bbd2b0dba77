// D = A B^T by a producer warp and a consumer warpgroup: TMA loads through a ring of two stages, mbarriers, wgmma.
// A (64, k) and B (64, k) are f16, k contiguous and a multiple of 64; D (64, 64) is f32. 160 threads.
struct alignas(64) TensorMap { unsigned long long words[16]; };

constexpr int STAGES = 2, DEPTH = 64, BYTES = 64 * DEPTH * 2;

__device__ unsigned address_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void wait(unsigned barrier, unsigned parity) {
    asm volatile("{\n.reg .pred done;\nagain:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}"
                 :: "r"(barrier), "r"(parity) : "memory");
}

__device__ void load(unsigned to, const TensorMap *map, int x, int y, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}

__device__ unsigned long long descriptor(unsigned address) {
    return (unsigned long long)((address & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

extern "C" __global__ void __launch_bounds__(160) product(
    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *d, int k) {
    __shared__ alignas(1024) unsigned char tiles_a[STAGES][BYTES];
    __shared__ alignas(1024) unsigned char tiles_b[STAGES][BYTES];
    __shared__ alignas(8) unsigned long long full[STAGES], empty[STAGES];
    int steps = k / DEPTH;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address_of(&full[stage])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(address_of(&empty[stage])) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128) {
            for (int step = 0; step < steps; ++step) {
                int stage = step % STAGES;
                unsigned barrier = address_of(&full[stage]);
                wait(address_of(&empty[stage]), (step / STAGES & 1) ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             :: "r"(barrier), "r"(2 * BYTES) : "memory");
                load(address_of(tiles_a[stage]), &a, step * DEPTH, 0, barrier);
                load(address_of(tiles_b[stage]), &b, step * DEPTH, 0, barrier);
            }
        }
        return;
    }
    float c[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) c[i] = 0;
    for (int step = 0; step < steps; ++step) {
        int stage = step % STAGES;
        wait(address_of(&full[stage]), step / STAGES & 1);
        unsigned long long left = descriptor(address_of(tiles_a[stage]));
        unsigned long long right = descriptor(address_of(tiles_b[stage]));
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int part = 0; part < DEPTH / 16; ++part)
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
                "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                "%32, %33, 1, 1, 1, 0, 0;"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]),
                  "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]),
                  "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]),
                  "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]),
                  "+f"(c[30]), "+f"(c[31])
                : "l"(left + 2 * part), "l"(right + 2 * part));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address_of(&empty[stage])) : "memory");
    }
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; ++i) d[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + column + i % 2] = c[i];
}
