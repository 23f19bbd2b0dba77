// Each workgroup reverses its 256 elements through LDS; the faults of test_machine.py are put into its assembly.
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

extern "C" __global__ void reverse(const float *in, float *out, int n) {
    __shared__ float tile[256];
    const int thread = __builtin_amdgcn_workitem_id_x();
    const int i = __builtin_amdgcn_workgroup_id_x() * 256 + thread;
    tile[thread] = in[i] * 2;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[i] = tile[255 - thread];
}
