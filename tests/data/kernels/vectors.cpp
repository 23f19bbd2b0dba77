// Packed types, bfloat16 and functions: the same on the host and on a GPU (HEADER of random_programs.py is in front).
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort2 __attribute__((ext_vector_type(2)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef unsigned char uchar4 __attribute__((ext_vector_type(4)));

#define HALF(n) bits<half2>(in[i * 64 + (n)])
#define SHORT(n) bits<short2>(in[i * 64 + (n)])
#define USHORT(n) bits<ushort2>(in[i * 64 + (n)])
#define FLOAT(n) bits<float>(in[i * 64 + (n)])
#define PUT_HALF(slot, value) do { half2 x = (value); for (int k = 0; k < 2; ++k) \
    out[i * 16 + (slot)] = (k ? out[i * 16 + (slot)] : 0u) | (unsigned)(x[k] != x[k] ? 0x7e00 : bits<unsigned short>(x[k])) << 16 * k; } while (0)
#define PUT_FLOAT(slot, value) do { float x = (value); PUT(slot, x != x ? 0x7fc00000u : bits<unsigned>(x)); } while (0)

#ifdef HOST  // older libgcc have no such function: to nearest, of two as near to the even one
extern "C" __bf16 __truncsfbf2(float value) {
    unsigned word = bits<unsigned>(value), kept = word >> 16, rest = word & 0xffff;
    if (value != value) return bits<__bf16>((unsigned short)(kept | 0x40));
    return bits<__bf16>((unsigned short)(kept + (rest > 0x8000 || (rest == 0x8000 && (kept & 1)))));
}
#endif

KERNEL(packed_halves) {
    half2 a = HALF(0), b = HALF(1), c = HALF(2);
    PUT_HALF(0, a + b);
    PUT_HALF(1, a * b);
    PUT_HALF(2, a - b.yx);
    PUT_HALF(3, __builtin_elementwise_fma(a, b, c));
    PUT_HALF(4, -a * b.xx + c);
    half2 sum = c;
    for (unsigned k = 0; k < (in[i * 64 + 3] & 7); ++k) sum = sum * a + b;
    PUT_HALF(5, sum);
    PUT_HALF(6, __builtin_convertvector(__builtin_convertvector(a, float2) * FLOAT(4), half2) + (half2)0);
}

KERNEL(packed_integers) {
    short2 a = SHORT(0), b = SHORT(1), c = SHORT(2);
    PUT(0, bits<unsigned>(a + b));
    PUT(1, bits<unsigned>(a * b + c));
    PUT(2, bits<unsigned>(a - b.yx));
    PUT(3, bits<unsigned>(__builtin_elementwise_max(a, b)));
    PUT(4, bits<unsigned>(__builtin_elementwise_min(USHORT(0), USHORT(1))));
    PUT(5, bits<unsigned>(a << (b & (short)15)));
    PUT(6, bits<unsigned>(a >> (b & (short)15)));
    PUT(7, bits<unsigned>(USHORT(0) >> (USHORT(1) & (unsigned short)15)));
    PUT(8, bits<unsigned>(__builtin_elementwise_add_sat(in[i * 64], 0u)));
    int dot = 0;
    unsigned x = in[i * 64 + 3], y = in[i * 64 + 4];
    for (int k = 0; k < 32; k += 8) dot += (int)(signed char)(x >> k) * (int)(signed char)(y >> k);
    PUT(9, dot);
    PUT(10, (unsigned)a.x * (unsigned)b.x + (unsigned)a.y * (unsigned)b.y + x);
    PUT(11, __builtin_rotateleft32(x, y & 31));
    PUT(12, (x & y) | (~x & in[i * 64 + 5]));
    PUT(13, (x >> 8 & 0xff) + (y >> 16 & 0xff00));
    PUT(14, (unsigned)((unsigned long)x * y >> 32));
    PUT(15, (unsigned)((long)(int)x * (int)y >> 32));
}

KERNEL(packed_floats) {
    float2 a = {FLOAT(0), FLOAT(1)}, b = {FLOAT(2), FLOAT(3)}, c = {FLOAT(4), FLOAT(5)};
    float2 sum = a + b, product = a * b, fused = __builtin_elementwise_fma(a, b, c);
    PUT_FLOAT(0, sum.x);
    PUT_FLOAT(1, sum.y);
    PUT_FLOAT(2, product.x);
    PUT_FLOAT(3, product.y);
    PUT_FLOAT(4, fused.x);
    PUT_FLOAT(5, fused.y);
    PUT_FLOAT(6, __builtin_fmaxf(a.x, b.x) + 0.0f);
    PUT_FLOAT(7, __builtin_fminf(a.y, c.x) + 0.0f);
    PUT_FLOAT(8, (float)(unsigned char)in[i * 64 + 6]);
    PUT_FLOAT(9, (float)(unsigned char)(in[i * 64 + 6] >> 24));
}

KERNEL(bfloats) {
    __bf16 a = bits<__bf16>((unsigned short)in[i * 64]), b = bits<__bf16>((unsigned short)(in[i * 64 + 1] >> 16));
    // LLVM 22 multiplies by v_fma_mixlo_bf16 a, b, 0, which loses the sign of a zero.
    __bf16 each[] = {(__bf16)(a + b), (__bf16)(a * b + (__bf16)0), (__bf16)(a - b), (__bf16)FLOAT(2), (__bf16)(float)(int)in[i * 64 + 3]};
    for (int k = 0; k < 5; ++k) PUT(k, each[k] != each[k] ? 0x7fc0u : bits<unsigned short>(each[k]));
    PUT(5, a < b);
    float wide = (float)a * (float)b;
    PUT_FLOAT(6, wide);
}
