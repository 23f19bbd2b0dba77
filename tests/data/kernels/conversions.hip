// Conversions from and to 8-bit floats, and toward zero to f16.
#define __global__ __attribute__((global))
typedef float float2 __attribute__((ext_vector_type(2)));
extern "C" __global__ void convert(const float *in, const unsigned *words, unsigned *out) {
    const int i = __builtin_amdgcn_workitem_id_x();
    const float a = in[2 * i], b = in[2 * i + 1];
    out[8 * i] = __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, false);
    out[8 * i + 1] = __builtin_amdgcn_cvt_pk_bf8_f32(a, b, 0x1234, true);
    float2 two = __builtin_bit_cast(float2, __builtin_amdgcn_cvt_pk_f32_fp8(words[i], false));
    const float low = two.x, high = two.y;
    out[8 * i + 2] = __builtin_bit_cast(unsigned, low);
    out[8 * i + 3] = __builtin_bit_cast(unsigned, high);
    two = __builtin_bit_cast(float2, __builtin_amdgcn_cvt_pk_f32_bf8(words[i], true));
    const float third = two.x;
    out[8 * i + 4] = __builtin_bit_cast(unsigned, third);
    out[8 * i + 5] = __builtin_bit_cast(unsigned, __builtin_amdgcn_cvt_f32_fp8(words[i], 3));
    out[8 * i + 6] = __builtin_bit_cast(unsigned, __builtin_amdgcn_cvt_f32_bf8(words[i], 1));
    out[8 * i + 7] = __builtin_bit_cast(unsigned, __builtin_amdgcn_cvt_pkrtz(a, b));
}
