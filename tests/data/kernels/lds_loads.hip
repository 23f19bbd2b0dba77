// Loads from memory into LDS: each wave loads 64 times SIZE bytes to its part of LDS, from OFFSET bytes on.
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
typedef __attribute__((address_space(3))) void local_void;
typedef __attribute__((address_space(1))) void global_void;
#define THREAD __builtin_amdgcn_workitem_id_x()
#define BARRIER __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");

// out[n] = in[n + OFFSET / 4] by way of LDS, which the waves read in reverse order.
extern "C" __global__ void copy(unsigned *out, const unsigned *in) {
    __shared__ unsigned tile[256 * SIZE / 4 + OFFSET / 4];
    const int wave = __builtin_amdgcn_readfirstlane(THREAD / 64), count = SIZE / 4;
#ifdef BUFFER
    __amdgpu_buffer_rsrc_t resource = __builtin_amdgcn_make_buffer_rsrc((void *)in, 0, 256 * SIZE + OFFSET, 0x00027000);
    __builtin_amdgcn_raw_ptr_buffer_load_lds(resource, (local_void *)(tile + wave * 64 * count), SIZE, THREAD * SIZE, 0, OFFSET, 0);
#else
    __builtin_amdgcn_global_load_lds((global_void *)(in + THREAD * count), (local_void *)(tile + wave * 64 * count), SIZE, OFFSET, 0);
#endif
    __builtin_amdgcn_s_waitcnt(0);
    BARRIER
    const int other = 255 - THREAD;
    for (int word = 0; word < count; word++) out[other * count + word] = tile[OFFSET / 4 + other * count + word];
}

// As above in one wave, which needs no barrier.
extern "C" __global__ void alone(unsigned *out, const unsigned *in) {
    __shared__ unsigned tile[64 * SIZE / 4];
    __builtin_amdgcn_global_load_lds((global_void *)(in + THREAD * SIZE / 4), (local_void *)tile, SIZE, 0, 0);
    __builtin_amdgcn_s_waitcnt(0);
    out[63 - THREAD] = tile[63 - THREAD];
}
