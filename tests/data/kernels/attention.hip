// One wave computes one row of softmax(q K^T) V: 64 keys, head size 16; reductions across lanes by the target's means.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

static __device__ float other_lane(float value, int lane) {
    return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(lane * 4, __builtin_bit_cast(int, value)));
}

extern "C" __global__ void attention(const _Float16 *Q, const _Float16 *K, const float *V, float *out, int keys) {
    __shared__ float weights[1024];
    const int thread = __builtin_amdgcn_workitem_id_x(), width = __builtin_amdgcn_wavefrontsize();
    const int lane = thread % width, wave = thread / width;
    const int row = __builtin_amdgcn_workgroup_id_x() * 2 + wave;
    float largest = -__builtin_inff(), score[2];
    for (int part = 0; part < keys / width; ++part) {
        float sum = 0;
        for (int k = 0; k < 16; ++k) sum += (float)Q[row * 16 + k] * (float)K[(part * width + lane) * 16 + k];
        score[part] = sum;
        largest = __builtin_fmaxf(largest, sum);
    }
    for (int step = 1; step < 32; step *= 2) largest = __builtin_fmaxf(largest, other_lane(largest, lane ^ step));
    if (width == 64) largest = __builtin_fmaxf(__builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, largest), 0)),
                                               __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, largest), 63)));
    float total = 0;
    for (int part = 0; part < keys / width; ++part) {
        const float weight = __builtin_amdgcn_exp2f((score[part] - largest) * 1.44269504f);
        weights[wave * keys + part * width + lane] = weight;
        total += weight;
    }
    // Sums within rows of 16 lanes by DPP, then the rows.
    total += __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, total), 0xB1, 15, 15, 1));
    total += __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, total), 0x4E, 15, 15, 1));
    total += __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, total), 0x141, 15, 15, 1));
    total += __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, total), 0x140, 15, 15, 1));
    float all = 0;
    for (int first = 0; first < width; first += 16)
        all += __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, total), first));
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (lane < 16) {
        float sum = 0;
        for (int key = 0; key < keys; ++key) sum = __builtin_fmaf(weights[wave * keys + key], V[key * 16 + lane], sum);
        out[row * 16 + lane] = sum / all;
    }
}
