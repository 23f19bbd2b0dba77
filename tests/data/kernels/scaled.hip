// Conversions with a scale of gfx950: eight pairs, halves and bytes chosen in all ways, and the 32 elements of 6 bits.
typedef float f2 __attribute__((ext_vector_type(2)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f32v __attribute__((ext_vector_type(32)));
typedef short s2 __attribute__((ext_vector_type(2)));
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
typedef _Float16 h32 __attribute__((ext_vector_type(32)));
typedef __bf16 b2 __attribute__((ext_vector_type(2)));
typedef __bf16 b32 __attribute__((ext_vector_type(32)));
typedef unsigned u6 __attribute__((ext_vector_type(6)));
#define __global__ __attribute__((global))
// Not of an element of a vector: clang 22 takes the first one then.
template <class T> static __attribute__((device)) unsigned BITS(T value) { return __builtin_bit_cast(unsigned, value); }

extern "C" __global__ void narrow(const float *x, const float *scales, unsigned *out) {
    const int thread = __builtin_amdgcn_workitem_id_x();
    const float a = x[2 * thread], b = x[2 * thread + 1], scale = scales[thread];
    const h2 h = {(_Float16)a, (_Float16)b};
    const b2 w = {(__bf16)a, (__bf16)b};
    unsigned *o = out + 12 * thread;
    const s2 old = {0x1234, 0x5678};
    o[0] = BITS(__builtin_amdgcn_cvt_scalef32_pk_fp8_f32(old, a, -b, scale, 0));
    o[1] = BITS(__builtin_amdgcn_cvt_scalef32_pk_bf8_f32(old, a, b, scale, 1));
    o[2] = BITS(__builtin_amdgcn_cvt_scalef32_pk_fp8_f16(old, h, scale, 1));
    o[3] = BITS(__builtin_amdgcn_cvt_scalef32_pk_bf8_bf16(old, w, scale, 0));
    o[4] = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0x89abcdef, a, b, scale, 0);
    o[5] = __builtin_amdgcn_cvt_scalef32_pk_fp4_f16(0x89abcdef, h, scale, 1);
    o[6] = __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(0x89abcdef, w, scale, 2);
    o[7] = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0x89abcdef, b, a, scale, 3);
}
extern "C" __global__ void wide(const unsigned *x, const float *scales, unsigned *out) {
    const int thread = __builtin_amdgcn_workitem_id_x();
    const unsigned a = x[thread];
    const float scale = scales[thread];
    unsigned *o = out + 12 * thread;
    const h2 old = {(_Float16)1, (_Float16)2};
    o[0] = BITS(__builtin_amdgcn_cvt_scalef32_f32_fp8(a, scale, 2));
    o[1] = BITS(__builtin_amdgcn_cvt_scalef32_f32_bf8(a, scale, 1));
    o[2] = BITS(__builtin_amdgcn_cvt_scalef32_f16_fp8(old, a, scale, 3, 1));
    o[3] = BITS(__builtin_amdgcn_cvt_scalef32_pk_f16_bf8(a, scale, 1));
    o[4] = BITS(__builtin_amdgcn_cvt_scalef32_pk_bf16_fp8(a, scale, 0));
    o[5] = BITS(__builtin_amdgcn_cvt_scalef32_pk_f16_fp4(a, scale, 3));
    o[6] = BITS(__builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(a, scale, 1));
    const f2 both = __builtin_amdgcn_cvt_scalef32_pk_f32_fp8(a, scale, 1), four = __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(a, scale, 2);
    o[7] = BITS(both.x), o[8] = BITS(both.y), o[9] = BITS(four.x), o[10] = BITS(four.y);
}
extern "C" __global__ void six(const float *x, const float *scales, unsigned *out, unsigned *back) {
    const int thread = __builtin_amdgcn_workitem_id_x();
    const float scale = scales[thread];
    f16v low, high;
    h32 h;
    b32 w;
    for (int i = 0; i < 16; ++i) low[i] = x[32 * thread + 2 * i], high[i] = x[32 * thread + 2 * i + 1];
    for (int i = 0; i < 32; ++i) h[i] = (_Float16)x[32 * thread + i], w[i] = (__bf16)x[32 * thread + i];
    u6 *o = (u6 *)(out + 32 * thread);
    const u6 codes = __builtin_amdgcn_cvt_scalef32_2xpk16_fp6_f32(low, high, scale);
    const u6 others = __builtin_amdgcn_cvt_scalef32_pk32_bf6_bf16(w, scale);
    o[0] = codes, o[1] = others, o[2] = __builtin_amdgcn_cvt_scalef32_pk32_fp6_f16(h, scale);
    const f32v first = __builtin_amdgcn_cvt_scalef32_pk32_f32_fp6(codes, scale);
    const h32 second = __builtin_amdgcn_cvt_scalef32_pk32_f16_bf6(others, scale);
    for (int i = 0; i < 32; ++i) back[64 * thread + i] = BITS(first[i]), back[64 * thread + 32 + i] = BITS((float)second[i]);
}
