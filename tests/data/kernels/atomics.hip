// Atomic operations of every thread on the same places: in global memory, in LDS, and on both through flat addresses.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
typedef short s2 __attribute__((ext_vector_type(2)));
typedef unsigned long long u64;
#define RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
static __device__ int thread_x() { return __builtin_amdgcn_workitem_id_x(); }

struct Places {  // 16 of each type
    unsigned u[16];
    int i[16];
    u64 w[16];
    double d[16];
    float f[16];
};
struct Returned { unsigned ticket, swapped; u64 wide; float sum; };

template <class P> static __device__ __attribute__((always_inline)) void work(P p, Returned *back, unsigned x) {
    const int thread = thread_x();
    back->ticket = __hip_atomic_fetch_add(&p->u[0], 1u, RELAXED);
    __hip_atomic_fetch_add(&p->u[1], x, RELAXED);
    __hip_atomic_fetch_sub(&p->u[2], x, RELAXED);
    __hip_atomic_fetch_min(&p->u[3], x, RELAXED);
    __hip_atomic_fetch_max(&p->u[4], x, RELAXED);
    __hip_atomic_fetch_and(&p->u[5], x | 0xff, RELAXED);
    __hip_atomic_fetch_or(&p->u[6], x & 0xff00, RELAXED);
    __hip_atomic_fetch_xor(&p->u[7], x, RELAXED);
    back->swapped = __hip_atomic_exchange(&p->u[8], thread + 1u, RELAXED);
    __builtin_amdgcn_atomic_inc32((unsigned *)&p->u[9], 99u, __ATOMIC_RELAXED, "agent");
    __builtin_amdgcn_atomic_dec32((unsigned *)&p->u[10], 99u, __ATOMIC_RELAXED, "agent");
    for (unsigned old = p->u[11];;) {  // a product by compare and swap
        unsigned next = old * 3 + 0;
        if (__hip_atomic_compare_exchange_strong(&p->u[11], &old, next, __ATOMIC_RELAXED, RELAXED)) break;
    }
    __hip_atomic_fetch_min(&p->i[0], (int)x, RELAXED);
    __hip_atomic_fetch_max(&p->i[1], (int)x, RELAXED);
    back->wide = __hip_atomic_fetch_add(&p->w[0], (u64)x << 20, RELAXED);
    __hip_atomic_fetch_max(&p->w[1], (u64)x << 31, RELAXED);
    __hip_atomic_fetch_min((long long *)&p->w[2], -(long long)x, RELAXED);
    __hip_atomic_fetch_xor(&p->w[3], (u64)x << 7, RELAXED);
    for (u64 old = p->w[4];;)
        if (__hip_atomic_compare_exchange_strong(&p->w[4], &old, old * 5, __ATOMIC_RELAXED, RELAXED)) break;
    back->sum = __hip_atomic_fetch_add(&p->f[0], (float)(x & 255), RELAXED);
    __hip_atomic_fetch_min(&p->f[1], (float)(int)x, RELAXED);
    __hip_atomic_fetch_max(&p->f[2], (float)(int)x, RELAXED);
    __hip_atomic_fetch_add(&p->d[0], (double)(x & 65535), RELAXED);
    __hip_atomic_fetch_min(&p->d[1], (double)(int)x, RELAXED);
    __hip_atomic_fetch_max(&p->d[2], (double)(int)x, RELAXED);
}
extern "C" __global__ void everywhere(Places *global, Places *flat, Places *copies, Returned *back, const unsigned *x, int start) {
    __shared__ Places local, other;
    const int thread = thread_x();
    const int words = sizeof(Places) / 4;
    for (int at = thread; at < words; at += 256) ((unsigned *)&local)[at] = ((unsigned *)&other)[at] = ((unsigned *)global)[at];
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    work(&local, back + thread, x[thread]);
    Places *far = flat, *near = &other;
    asm volatile("" : "+v"(far), "+v"(near));  // nothing is known of these addresses
    work(near, back + 256 + thread, x[thread]);
    work(far, back + 512 + thread, x[thread]);
    work(global, back + 768 + thread, x[thread]);
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    for (int at = thread; at < words; at += 256) ((unsigned *)copies)[at] = ((unsigned *)&local)[at], ((unsigned *)(copies + 1))[at] = ((unsigned *)&other)[at];
}
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) || defined(__GFX12__)
extern "C" __global__ void packed(h2 *out, const h2 *x) {
    __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) h2 *)out, x[thread_x()]);
}
#endif
#if defined(__gfx942__) || defined(__gfx950__) || defined(__GFX12__)
extern "C" __global__ void packed_short(s2 *out, const s2 *x, s2 *copy) {
    __shared__ s2 local;
    if (thread_x() == 0) local = out[0];
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_global_atomic_fadd_v2bf16((__attribute__((address_space(1))) s2 *)out, x[thread_x()]);
    __builtin_amdgcn_ds_atomic_fadd_v2bf16((__attribute__((address_space(3))) s2 *)&local, x[thread_x()]);
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    if (thread_x() == 0) copy[0] = local;
}
#endif
