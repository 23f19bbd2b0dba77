/* Vector and scalar instructions of AMD's machine code on the registers of whole waves: what mmacalc.kernels.amd.runs
 * calls where this file has been compiled, for runs of instructions that only compute.
 *
 * Every operation computes, bit for bit, what the row of its instruction in mmacalc.kernels.amd.operations does on NumPy.
 * What those rows do to a NaN depends on the processor, so an operation on floats whose result is a NaN in an active lane
 * declines: nothing of it is written, and the caller carries the instruction out by its row. So this file needs no rule
 * for NaN, and the rows stay the definition.
 *
 * Vector registers lie as (register, wave, lane), scalar ones as (register, wave). Compile as core.c.
 */
#include "waves.h"

typedef struct {
    int32_t code, destination, second, source[3];
    uint32_t low[3], high[3];            /* of constants */
    uint32_t shift[3], keep[3], flip[3]; /* a word of a source is (word >> shift & keep) ^ flip */
    uint32_t old, up;                    /* a result is word << up, and the bits `old` of the register stay */
    int32_t parts;                       /* of a pair for two floats, by source, which word each result takes (2 bits) */
    int32_t moves;                       /* whether source 0 comes from other lanes: */
    int32_t zeros, inactive;             /* 0 where there is none, from inactive lanes too */
    uint64_t there, allowed;             /* which lanes have a source, and which are written */
    uint8_t from[64];
} Operation;

/* Of operations in order: as in mmacalc.kernels.amd.runs, which reads the names from here. */
#define CODES \
    X(mov) X(mov_b16) X(bitop3) X(not) X(and) X(or) X(xor) X(xnor) X(and_or) X(or3) X(xor3) X(bfi) X(bfe_u32) X(bfe_i32) X(lshlrev) \
    X(lshrrev) X(ashrrev) X(lshl_add) X(add_lshl) X(lshl_or) X(xad) X(add) X(sub) X(subrev) X(add3) X(mul_lo) \
    X(mul_hi_u32) X(mul_hi_i32) X(mul_u24) X(mul_i24) X(mad_u24) X(mad_i24) X(min_i32) X(max_i32) X(min_u32) \
    X(max_u32) X(min3_i32) X(max3_i32) X(min3_u32) X(max3_u32) X(med3_i32) X(med3_u32) X(perm) X(alignbit) \
    X(alignbyte) X(bcnt) X(mbcnt_lo) X(mbcnt_hi) X(cndmask) X(f32_i32) X(f32_u32) X(i32_f32) X(u32_f32) \
    X(add_f32) X(sub_f32) X(subrev_f32) X(mul_f32) X(fma_f32) X(min_f32) X(max_f32) X(min3_f32) X(max3_f32) \
    X(rcp_f32) X(rsq_f32) X(sqrt_f32) X(floor_f32) X(ceil_f32) X(trunc_f32) X(rndne_f32) \
    X(ldexp_f32) X(div_scale_f32) X(div_fmas_f32) X(div_fixup_f32) X(f32_f16) X(f16_f32) \
    X(pk_bf16) X(pk_f16) X(lshl_add_u64) X(lshlrev_b64) X(lshrrev_b64) X(ashrrev_i64) X(mad_u64_u32) X(add_u64) \
    X(mov_b64) X(pk_add_f32) X(pk_mul_f32) X(pk_fma_f32) \
    X(add_co) X(sub_co) X(subrev_co) X(addc) X(subb) X(subbrev) \
    X(lt_i32) X(eq_i32) X(le_i32) X(gt_i32) X(ne_i32) X(ge_i32) X(lt_u32) X(le_u32) X(gt_u32) X(ge_u32) \
    X(lt_i64) X(le_i64) X(gt_i64) X(ge_i64) X(lt_u64) X(le_u64) X(gt_u64) X(ge_u64) X(eq_u64) X(ne_u64) \
    X(lt_f32) X(eq_f32) X(le_f32) X(gt_f32) X(lg_f32) X(ge_f32) X(nlt_f32) X(neq_f32) X(nle_f32) X(ngt_f32) \
    X(nlg_f32) X(nge_f32) X(o_f32) X(u_f32) \
    X(readfirstlane) X(readlane) X(writelane) \
    X(s_mov) X(s_mov64) X(s_cselect) X(s_cselect64) X(s_add_u32) X(s_sub_u32) X(s_addc) X(s_subb) X(s_add_i32) \
    X(s_sub_i32) X(s_mul) X(s_mul_hi_u32) X(s_mul_hi_i32) X(s_add_u64) X(s_and) X(s_or) X(s_xor) X(s_andn2) X(s_orn2) \
    X(s_nand) X(s_nor) X(s_xnor) X(s_and64) X(s_or64) X(s_xor64) X(s_andn264) X(s_orn264) X(s_nand64) X(s_nor64) \
    X(s_xnor64) X(s_not) X(s_not64) X(s_lshl) X(s_lshr) X(s_ashr) X(s_lshl64) X(s_lshr64) X(s_ashr64) X(s_bfe_u32) \
    X(s_bfe_i32) X(s_lshladd) X(s_min_i32) X(s_max_i32) X(s_min_u32) X(s_max_u32) X(s_pack_ll) X(s_sext8) X(s_sext16) \
    X(s_bitcmp0) X(s_bitcmp1) X(s_lt_i32) X(s_eq) X(s_le_i32) X(s_gt_i32) X(s_lg) X(s_ge_i32) X(s_lt_u32) X(s_le_u32) \
    X(s_gt_u32) X(s_ge_u32) X(s_eq64) X(s_lg64) X(s_mulk) X(s_abs) X(s_bcnt1) X(s_ff1) X(s_bfm)
#define X(name) OP_##name,
enum { CODES OPERATIONS };
#undef X
#define X(name) #name " "
VISIBLE const char *mmacalc_lane_operations(void) { return CODES; }
#undef X

INLINE float number(uint32_t word) { float f; memcpy(&f, &word, 4); return f; }
INLINE uint32_t word_of(float f) { uint32_t w; memcpy(&w, &f, 4); return w; }
INLINE int32_t is_nan(uint32_t w) { return (w & 0x7FFFFFFF) > 0x7F800000; }
INLINE uint32_t smaller_float(uint32_t x, uint32_t y) {
    float a = number(x), b = number(y);
    return a == b ? x | y : (a < b) | is_nan(y) ? x : y;
}
INLINE uint32_t larger_float(uint32_t x, uint32_t y) {
    float a = number(x), b = number(y);
    return a == b ? x & y : (a > b) | is_nan(y) ? x : y;
}
INLINE float settled_float(float f) { return fabsf(f) < 1.17549435e-38f ? copysignf(0.0f, f) : f; }
INLINE uint32_t half_to_float(uint32_t h) { /* no NaN */
    uint32_t sign = (h & 0x8000) << 16, rest = h & 0x7FFF;
    float small = (float)(int32_t)rest * 5.9604644775390625e-08f; /* of subnormal numbers: times 2^-24 */
    uint32_t usual = (rest << 13) + (rest >= 0x7C00 ? 0x70000000 : 0x38000000);
    return sign | (rest < 0x400 ? word_of(small) : usual);
}
INLINE uint32_t float_to_half(uint32_t w) { /* no NaN; to nearest even */
    uint32_t sign = w >> 16 & 0x8000, rest = w & 0x7FFFFFFF;
    uint32_t usual = (rest - 0x38000000 + 0xFFF + (rest >> 13 & 1)) >> 13;
    float magnitude = number(rest < 0x38800000 ? rest : 0);
    uint32_t small = word_of(magnitude + 0.5f) - 0x3F000000; /* units of 2^-24 */
    uint32_t found = rest < 0x38800000 ? small : usual;
    return sign | (rest >= 0x477FF000 ? 0x7C00 : found);
}
INLINE uint32_t to_bfloat(uint32_t w) { return (w + 0x7FFF + (w >> 16 & 1)) >> 16; } /* no NaN */
INLINE uint32_t bits_in(uint32_t v) {
    v -= v >> 1 & 0x55555555;
    v = (v & 0x33333333) + (v >> 2 & 0x33333333);
    return (v + (v >> 4) & 0x0F0F0F0F) * 0x01010101 >> 24;
}
INLINE uint32_t permuted(uint64_t both, uint32_t selector) {
    uint32_t result = 0;
    for (int place = 0; place < 32; place += 8) {
        uint32_t wanted = selector >> place & 0xFF, byte;
        uint32_t sign = (uint32_t)(both >> ((wanted & 3) * 16 + 15) & 1) * 0xFF;
        byte = wanted < 8 ? (uint32_t)(both >> (wanted & 7) * 8) & 0xFF : wanted < 12 ? sign : wanted == 12 ? 0 : 0xFF;
        result |= byte << place;
    }
    return result;
}
INLINE uint32_t field_i32(uint32_t value, uint32_t start, uint32_t width) {
    width &= 31;
    int32_t field = (int32_t)value >> (start & 31);
    uint32_t spare = width ? 32 - width : 31;
    return width ? (uint32_t)((int32_t)((uint32_t)field << spare) >> spare) : 0;
}
INLINE int32_t low24(uint32_t v) { return (int32_t)(v << 8) >> 8; }
INLINE int32_t smaller_i(int32_t a, int32_t b) { return a < b ? a : b; }
INLINE int32_t larger_i(int32_t a, int32_t b) { return a > b ? a : b; }
INLINE uint32_t smaller_u(uint32_t a, uint32_t b) { return a < b ? a : b; }
INLINE uint32_t larger_u(uint32_t a, uint32_t b) { return a > b ? a : b; }
INLINE int32_t saturated_i32(float f) {
    double d = f != f ? 0.0 : trunc((double)f);
    return (int32_t)(d < -2147483648.0 ? -2147483648.0 : d > 2147483647.0 ? 2147483647.0 : d);
}
INLINE uint32_t saturated_u32(float f) {
    double d = f != f ? 0.0 : trunc((double)f);
    return (uint32_t)(int64_t)(d < 0.0 ? 0.0 : d > 4294967295.0 ? 4294967295.0 : d);
}
INLINE uint32_t scaled_float(uint32_t w, int32_t by) { return word_of((float)((double)number(w) * pow2(by))); }
INLINE int32_t field_of(uint32_t w) { return w >> 23 & 0xFF; }
/* V_DIV_SCALE of a value, a denominator and a numerator, and its flag. */
INLINE uint32_t scaled_for_division(uint32_t value, uint32_t d, uint32_t n, uint32_t *flag) {
    const int32_t of_d = field_of(d), of_n = field_of(n), apart = of_n - of_d;
    const int is_d = value == d, is_n = value == n, tiny_d = of_d >= 253, tiny_quotient = apart <= -127;
    *flag = 0;
    if (d << 1 == 0 || n << 1 == 0)
        return 0x7FC00000;
    if (apart >= 96) {
        *flag = 1;
        return is_d ? scaled_float(value, 64) : value;
    }
    if (of_d == 0)
        return scaled_float(value, 64);
    if (tiny_d) {
        *flag = (uint32_t)tiny_quotient;
        return is_d || !tiny_quotient ? scaled_float(value, -64) : value;
    }
    if (tiny_quotient) {
        *flag = 1;
        return is_n ? scaled_float(value, 64) : value;
    }
    return of_n <= 23 ? scaled_float(value, 64) : value;
}
/* V_DIV_FIXUP of a quotient, a denominator and a numerator; a NaN where one of them is special, to decline. */
INLINE uint32_t fixed_up(uint32_t quotient, uint32_t d, uint32_t n) {
    const int usual = (field_of(d) != 255) & (field_of(n) != 255) & (d << 1 != 0) & (n << 1 != 0);
    const uint32_t found = (quotient & 0x7FFFFFFF) | ((d ^ n) & 0x80000000);
    return usual & (field_of(n) - field_of(d) >= -150) ? found : 0x7FC00000;
}
INLINE uint32_t of_three(uint32_t p, uint32_t q, uint32_t s, int32_t table) { /* V_BITOP3 */
    uint32_t found = 0;
    for (int at = 0; at < 8; at++)
        found |= (0u - (uint32_t)(table >> at & 1)) & (at & 4 ? p : ~p) & (at & 2 ? q : ~q) & (at & 1 ? s : ~s);
    return found;
}
INLINE uint64_t pair(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

/* The words of a source in all lanes of a wave, in `room` where they are not in a register as they are. */
INLINE const uint32_t *words(const Waves *w, const Operation *op, int n, int part, int64_t wave, uint64_t exec,
                             uint32_t *room, const int L) {
    const int32_t kind = op->source[n] >> 16, index = (op->source[n] & 0xFFFF) + part;
    const uint32_t shift = op->shift[n], keep = op->keep[n], flip = op->flip[n];
    if (kind >= SCALAR) {
        uint32_t word = kind == SCALAR ? w->s[index * w->waves + wave] : part ? op->high[n] : op->low[n];
        if (op->moves && n == 0) {
            uint64_t right = 0;
            for (int j = 0; j < L; j++)
                right |= (op->inactive ? 1ull : exec >> op->from[j] & 1) << j;
            right &= op->there;
            for (int j = 0; j < L; j++)
                room[j] = ((right >> j & 1 ? word : 0) >> shift & keep) ^ flip;
            return room;
        }
        word = (word >> shift & keep) ^ flip;
        for (int j = 0; j < L; j++)
            room[j] = word;
        return room;
    }
    const uint32_t *found = register_of(w, kind << 16 | index, wave, L);
    if (op->moves && n == 0) {
        const int whole = op->inactive || !~(exec | (L == 64 ? 0 : ~0ull << 32));
        for (int j = 0; j < L; j++) {
            const int from = op->from[j];
            const int right = (op->there >> j & 1) && (whole || (exec >> from & 1));
            room[j] = ((right ? found[from] : 0) >> shift & keep) ^ flip;
        }
        return room;
    }
    if (shift == 0 && keep == 0xFFFFFFFF && flip == 0)
        return found;
    for (int j = 0; j < L; j++)
        room[j] = (found[j] >> shift & keep) ^ flip;
    return room;
}

/* Which lanes an operation writes. */
INLINE uint64_t written(const Operation *op, uint64_t exec, const int L) {
    if (!op->moves || !~op->allowed)
        if (!op->moves || op->zeros || op->inactive)
            return exec;
    uint64_t mask = exec & op->allowed;
    if (!op->zeros && !op->inactive) {
        uint64_t from = 0;
        for (int j = 0; j < L; j++)
            from |= (exec >> op->from[j] & 1) << j;
        mask &= from;
    }
    return mask;
}

INLINE void lanes_of(uint64_t mask, uint32_t *wide, const int L) {
    for (int j = 0; j < L; j++)
        wide[j] = (uint32_t)-(int32_t)(mask >> j & 1);
}

/* Put words into the lanes of a register that are written. */
INLINE void put(const Waves *w, int32_t operand, int64_t wave, const uint32_t *result, uint32_t old, uint32_t up,
                uint64_t mask, const int L) {
    uint32_t *to = register_of(w, operand, wave, L);
    if (!~(mask | (L == 64 ? 0 : ~0ull << 32))) {
        if (old)
            for (int j = 0; j < L; j++)
                to[j] = (to[j] & old) | result[j] << up;
        else
            for (int j = 0; j < L; j++)
                to[j] = result[j] << up;
        return;
    }
    uint32_t wide[64];
    lanes_of(mask, wide, L);
    for (int j = 0; j < L; j++)
        to[j] = (to[j] & ~wide[j]) | (((to[j] & old) | result[j] << up) & wide[j]);
}

INLINE void put_mask(const Waves *w, int32_t operand, int64_t wave, uint64_t bits, const int L) {
    const int64_t row = operand & 0xFFFF;
    if (operand < 0)
        return; /* null */
    w->s[row * w->waves + wave] = (uint32_t)bits;
    if (L == 64)
        w->s[(row + 1) * w->waves + wave] = (uint32_t)(bits >> 32);
}
INLINE uint64_t mask_at(const Waves *w, int64_t row, int64_t wave, const int L) {
    return pair(w->s[row * w->waves + wave], L == 64 ? w->s[(row + 1) * w->waves + wave] : 0);
}
INLINE uint64_t get_mask(const Waves *w, const Operation *op, int n, int64_t wave, const int L) {
    const int32_t kind = op->source[n] >> 16;
    const int64_t row = op->source[n] & 0xFFFF;
    if (kind == CONSTANT)
        return pair(op->low[n], op->high[n]);
    return mask_at(w, row, wave, L);
}

#define EACH for (int j = 0; j < L; j++)
#define ONE(name, value) case OP_##name: EACH { const uint32_t p = x[j]; (void)p; r[j] = (uint32_t)(value); } break;
#define TWO(name, value) case OP_##name: EACH { const uint32_t p = x[j], q = y[j]; (void)q; r[j] = (uint32_t)(value); } break;
#define THREE(name, value) \
    case OP_##name: EACH { const uint32_t p = x[j], q = y[j], s = z[j]; (void)s; r[j] = (uint32_t)(value); } break;
#define SIGNED(v) ((int32_t)(v))

/* Operations of 32-bit words, of up to three, to one. Whether it is one of these. */
INLINE int narrow(int32_t code, const uint32_t *restrict x, const uint32_t *restrict y, const uint32_t *restrict z,
                  uint32_t *restrict r, const int L) {
    switch (code) {
    ONE(mov, p) ONE(mov_b16, p & 0xFFFF) ONE(not, ~p) TWO(and, p & q) TWO(or, p | q) TWO(xor, p ^ q) TWO(xnor, ~(p ^ q))
    THREE(and_or, (p & q) | s) THREE(or3, p | q | s) THREE(xor3, p ^ q ^ s) THREE(bfi, (p & q) | (~p & s))
    THREE(bfe_u32, p >> (q & 31) & ((1u << (s & 31)) - 1)) THREE(bfe_i32, field_i32(p, q, s))
    TWO(lshlrev, q << (p & 31)) TWO(lshrrev, q >> (p & 31)) TWO(ashrrev, SIGNED(q) >> (p & 31))
    THREE(lshl_add, (p << (q & 31)) + s) THREE(add_lshl, (p + q) << (s & 31)) THREE(lshl_or, p << (q & 31) | s)
    THREE(xad, (p ^ q) + s) TWO(add, p + q) TWO(sub, p - q) TWO(subrev, q - p) THREE(add3, p + q + s)
    TWO(mul_lo, p * q) TWO(mul_hi_u32, (uint64_t)p * q >> 32) TWO(mul_hi_i32, (int64_t)SIGNED(p) * SIGNED(q) >> 32)
    TWO(mul_u24, (p & 0xFFFFFF) * (q & 0xFFFFFF)) TWO(mul_i24, (uint32_t)low24(p) * (uint32_t)low24(q))
    THREE(mad_u24, (p & 0xFFFFFF) * (q & 0xFFFFFF) + s) THREE(mad_i24, (uint32_t)low24(p) * (uint32_t)low24(q) + s)
    TWO(min_i32, smaller_i(p, q)) TWO(max_i32, larger_i(p, q)) TWO(min_u32, smaller_u(p, q)) TWO(max_u32, larger_u(p, q))
    THREE(min3_i32, smaller_i(smaller_i(p, q), s)) THREE(max3_i32, larger_i(larger_i(p, q), s))
    THREE(min3_u32, smaller_u(smaller_u(p, q), s)) THREE(max3_u32, larger_u(larger_u(p, q), s))
    THREE(med3_i32, larger_i(smaller_i(p, q), smaller_i(larger_i(p, q), s)))
    THREE(med3_u32, larger_u(smaller_u(p, q), smaller_u(larger_u(p, q), s)))
    THREE(perm, permuted(pair(q, p), s)) THREE(alignbit, pair(q, p) >> (s & 31)) THREE(alignbyte, pair(q, p) >> (s & 3) * 8)
    TWO(bcnt, bits_in(p) + q)
    case OP_mbcnt_lo: EACH r[j] = bits_in(x[j] & (j < 32 ? (1u << j) - 1 : 0xFFFFFFFF)) + y[j]; break;
    case OP_mbcnt_hi: EACH r[j] = bits_in(x[j] & (j < 32 ? 0 : (1u << (j - 32)) - 1)) + y[j]; break;
    ONE(f32_i32, word_of((float)SIGNED(p))) ONE(f32_u32, word_of((float)p))
    ONE(i32_f32, saturated_i32(number(p))) ONE(u32_f32, saturated_u32(number(p)))
    default: return 0;
    }
    return 1;
}

/* Operations on floats; a NaN as result means that it declines. */
INLINE int floating(int32_t code, const uint32_t *restrict x, const uint32_t *restrict y, const uint32_t *restrict z,
                    uint32_t *restrict r, const int L) {
    switch (code) {
    TWO(add_f32, word_of(number(p) + number(q))) TWO(sub_f32, word_of(number(p) - number(q)))
    TWO(subrev_f32, word_of(number(q) - number(p))) TWO(mul_f32, word_of(number(p) * number(q)))
    THREE(fma_f32, word_of(fmaf(number(p), number(q), number(s))))
    TWO(min_f32, smaller_float(p, q)) TWO(max_f32, larger_float(p, q))
    THREE(min3_f32, smaller_float(smaller_float(p, q), s)) THREE(max3_f32, larger_float(larger_float(p, q), s))
    ONE(rcp_f32, word_of(settled_float((float)(1.0 / (double)settled_float(number(p))))))
    ONE(rsq_f32, word_of(settled_float((float)(1.0 / sqrt((double)settled_float(number(p)))))))
    ONE(sqrt_f32, word_of(settled_float((float)sqrt((double)settled_float(number(p))))))
    ONE(floor_f32, word_of(floorf(number(p)))) ONE(ceil_f32, word_of(ceilf(number(p))))
    ONE(trunc_f32, word_of(truncf(number(p)))) ONE(rndne_f32, word_of(rintf(number(p))))
    TWO(ldexp_f32, scaled_float(p, clamp(SIGNED(q), -600, 600)))
    THREE(div_fmas_f32, word_of(fmaf(number(p), number(q), number(s)))) THREE(div_fixup_f32, fixed_up(p, q, s))
    ONE(f32_f16, (p & 0x7FFF) > 0x7C00 ? 0x7FC00000 : half_to_float(p & 0xFFFF))
    ONE(f16_f32, is_nan(p) ? 0x7FC00000 : float_to_half(p))
    TWO(pk_bf16, is_nan(p) | is_nan(q) ? 0x7FC00000 : to_bfloat(p) | to_bfloat(q) << 16)
    TWO(pk_f16, is_nan(p) | is_nan(q) ? 0x7FC00000 : float_to_half(p) | float_to_half(q) << 16)
    default: return 0;
    }
    return 1;
}

#define MASK(name, relation) \
    case OP_##name: EACH { const uint32_t p = x[j], q = y[j]; (void)p; r[j] = (relation) ? 1 : 0; } break;
#define FLOATS(name, relation) \
    case OP_##name: EACH { const float p = number(x[j]), q = number(y[j]); r[j] = (relation) ? 1 : 0; } break;
/* Comparisons of words and floats. */
INLINE int compared(int32_t code, const uint32_t *restrict x, const uint32_t *restrict y, uint32_t *restrict r,
                    const int L) {
    switch (code) {
    MASK(lt_i32, SIGNED(p) < SIGNED(q)) MASK(eq_i32, p == q) MASK(le_i32, SIGNED(p) <= SIGNED(q))
    MASK(gt_i32, SIGNED(p) > SIGNED(q)) MASK(ne_i32, p != q) MASK(ge_i32, SIGNED(p) >= SIGNED(q))
    MASK(lt_u32, p < q) MASK(le_u32, p <= q) MASK(gt_u32, p > q) MASK(ge_u32, p >= q)
    FLOATS(lt_f32, p < q) FLOATS(eq_f32, p == q) FLOATS(le_f32, p <= q) FLOATS(gt_f32, p > q)
    FLOATS(lg_f32, (p < q) | (p > q)) FLOATS(ge_f32, p >= q) FLOATS(nlt_f32, !(p < q)) FLOATS(neq_f32, !(p == q))
    FLOATS(nle_f32, !(p <= q)) FLOATS(ngt_f32, !(p > q)) FLOATS(nlg_f32, !((p < q) | (p > q))) FLOATS(nge_f32, !(p >= q))
    FLOATS(o_f32, (p == p) & (q == q)) FLOATS(u_f32, !((p == p) & (q == q)))
    default: return 0;
    }
    return 1;
}

#define WIDE(name, value) \
    case OP_##name: EACH { \
        const uint64_t p = pair(x[j], xh[j]), q = pair(y[j], yh[j]), s = pair(z[j], zh[j]); \
        (void)p; (void)q; (void)s; \
        const uint64_t total = (value); \
        r[j] = (uint32_t)total; h[j] = (uint32_t)(total >> 32); } \
        break;
#define WIDE_MASK(name, relation) \
    case OP_##name: EACH { \
        const uint64_t p = pair(x[j], xh[j]), q = pair(y[j], yh[j]); \
        r[j] = (relation) ? 1 : 0; } \
        break;

INLINE uint64_t collected(const uint32_t *flags, const int L) {
    uint64_t bits = 0;
    EACH bits |= (uint64_t)(flags[j] & 1) << j;
    return bits;
}

/* One vector operation in one wave; what floats give goes to `room`, to be written when no wave declines. */
INLINE int vector(const Waves *w, const Operation *op, int64_t wave, uint64_t exec, uint32_t *room, const int L) {
    uint32_t m0[64], m1[64], m2[64], m3[64], m4[64], m5[64], r[64], h[64];
    const int32_t code = op->code;
    const uint64_t mask = written(op, exec, L);
    if (code >= OP_lshl_add_u64 && code <= OP_pk_fma_f32) { /* pairs */
        const uint32_t *x, *y, *z, *xh, *yh, *zh;
        const int p = code >= OP_pk_add_f32 ? op->parts : 0x2A;
        const int one = code == OP_mad_u64_u32, shift = code >= OP_lshlrev_b64 && code <= OP_ashrrev_i64;
        x = words(w, op, 0, p & 1, wave, exec, m0, L);
        xh = one || shift ? x : words(w, op, 0, p >> 1 & 1, wave, exec, m1, L);
        y = code == OP_mov_b64 ? x : words(w, op, 1, p >> 2 & 1, wave, exec, m2, L);
        yh = one || code == OP_lshl_add_u64 || code == OP_mov_b64 ? y : words(w, op, 1, p >> 3 & 1, wave, exec, m3, L);
        z = one || code == OP_lshl_add_u64 || code == OP_pk_fma_f32 ? words(w, op, 2, p >> 4 & 1, wave, exec, m4, L) : y;
        zh = one || code == OP_lshl_add_u64 || code == OP_pk_fma_f32 ? words(w, op, 2, p >> 5 & 1, wave, exec, m5, L) : y;
        switch (code) {
        WIDE(lshl_add_u64, (p << (y[j] & 7)) + s) WIDE(lshlrev_b64, q << (x[j] & 63)) WIDE(lshrrev_b64, q >> (x[j] & 63))
        WIDE(ashrrev_i64, (uint64_t)((int64_t)q >> (x[j] & 63))) WIDE(add_u64, p + q) WIDE(mov_b64, p)
        case OP_mad_u64_u32: {
            uint32_t over[64];
            EACH {
                const uint64_t product = (uint64_t)x[j] * y[j], total = product + pair(z[j], zh[j]);
                r[j] = (uint32_t)total; h[j] = (uint32_t)(total >> 32); over[j] = total < product;
            }
            if (op->second >= 0)
                put_mask(w, op->second, wave, collected(over, L) & mask, L);
            break;
        }
#define BOTH(f) EACH { r[j] = f(number(x[j]), number(y[j]), number(z[j])); h[j] = f(number(xh[j]), number(yh[j]), number(zh[j])); }
#define SUM(a, b, c) word_of((a) + (b))
#define PRODUCT(a, b, c) word_of((a) * (b))
#define FUSED(a, b, c) word_of(fmaf(a, b, c))
        case OP_pk_add_f32: BOTH(SUM) break;
        case OP_pk_mul_f32: BOTH(PRODUCT) break;
        case OP_pk_fma_f32: BOTH(FUSED) break;
        }
        if (code >= OP_pk_add_f32) {
            uint32_t bad[64];
            EACH { room[j] = r[j]; room[L + j] = h[j]; bad[j] = is_nan(r[j]) | is_nan(h[j]); }
            return (collected(bad, L) & mask) != 0;
        }
        put(w, op->destination, wave, r, 0, 0, mask, L);
        put(w, op->destination + 1, wave, h, 0, 0, mask, L);
        return 0;
    }
    if (code >= OP_lt_i64 && code <= OP_ne_u64) {
        const uint32_t *x = words(w, op, 0, 0, wave, exec, m0, L), *xh = words(w, op, 0, 1, wave, exec, m1, L);
        const uint32_t *y = words(w, op, 1, 0, wave, exec, m2, L), *yh = words(w, op, 1, 1, wave, exec, m3, L);
        switch (code) {
        WIDE_MASK(lt_i64, (int64_t)p < (int64_t)q) WIDE_MASK(le_i64, (int64_t)p <= (int64_t)q)
        WIDE_MASK(gt_i64, (int64_t)p > (int64_t)q) WIDE_MASK(ge_i64, (int64_t)p >= (int64_t)q)
        WIDE_MASK(lt_u64, p < q) WIDE_MASK(le_u64, p <= q) WIDE_MASK(gt_u64, p > q) WIDE_MASK(ge_u64, p >= q)
        WIDE_MASK(eq_u64, p == q) WIDE_MASK(ne_u64, p != q)
        }
        put_mask(w, op->destination, wave, collected(r, L) & mask, L);
        return 0;
    }
    if (code >= OP_readfirstlane && code <= OP_writelane) {
        const uint32_t *x = words(w, op, 0, 0, wave, exec, m0, L);
        if (code == OP_readfirstlane) {
            int first = 0;
            while (exec && !(exec >> first & 1))
                first++;
            w->s[(op->destination & 0xFFFF) * w->waves + wave] = x[first];
            return 0;
        }
        const uint32_t lane = words(w, op, 1, 0, wave, exec, m1, L)[0] & (L - 1);
        if (code == OP_readlane)
            w->s[(op->destination & 0xFFFF) * w->waves + wave] = x[lane];
        else
            w->v[((int64_t)(op->destination & 0xFFFF) * w->waves + wave) * L + lane] = x[0];
        return 0;
    }
    const uint32_t *x = words(w, op, 0, 0, wave, exec, m0, L);
    const uint32_t *y = op->source[1] < 0 ? x : words(w, op, 1, 0, wave, exec, m1, L);
    if (code >= OP_add_co && code <= OP_subbrev) {
        const uint64_t carry = code >= OP_addc ? get_mask(w, op, 2, wave, L) : 0;
        const int reversed = code == OP_subrev_co || code == OP_subbrev, adds = code == OP_add_co || code == OP_addc;
        lanes_of(carry, m2, L);
        EACH {
            const uint64_t p = reversed ? y[j] : x[j], q = (uint64_t)(reversed ? x[j] : y[j]) + (m2[j] & 1);
            const uint64_t total = adds ? p + q : p - q;
            r[j] = (uint32_t)total;
            h[j] = (uint32_t)(total >> 32) & 1;
        }
        put(w, op->destination, wave, r, 0, 0, mask, L);
        put_mask(w, op->second, wave, collected(h, L) & mask, L);
        return 0;
    }
    if (code == OP_cndmask) {
        lanes_of(get_mask(w, op, 2, wave, L), m2, L);
        EACH r[j] = (y[j] & m2[j]) | (x[j] & ~m2[j]);
        put(w, op->destination, wave, r, op->old, op->up, mask, L);
        return 0;
    }
    const uint32_t *z = op->source[2] < 0 ? x : words(w, op, 2, 0, wave, exec, m2, L);
    if (code == OP_bitop3) {
        EACH r[j] = of_three(x[j], y[j], z[j], op->parts);
        put(w, op->destination, wave, r, op->old, op->up, mask, L);
        return 0;
    }
    if (code == OP_div_scale_f32) {
        EACH { room[j] = scaled_for_division(x[j], y[j], z[j], &room[L + j]); h[j] = (uint32_t)is_nan(room[j]); }
        return (collected(h, L) & mask) != 0;
    }
    if (code == OP_div_fmas_f32 && (mask_at(w, op->second, wave, L) & mask)) /* what is scaled */
        return 1;
    if (narrow(code, x, y, z, r, L)) {
        put(w, op->destination, wave, r, op->old, op->up, mask, L);
        return 0;
    }
    if (floating(code, x, y, z, r, L)) {
        EACH { room[j] = r[j]; h[j] = (uint32_t)is_nan(r[j]); }
        if (code == OP_f16_f32 || code == OP_pk_bf16 || code == OP_pk_f16)
            EACH h[j] = (uint32_t)(is_nan(x[j]) | is_nan(y[j]));
        return (collected(h, L) & mask) != 0;
    }
    compared(code, x, y, r, L);
    put_mask(w, op->destination, wave, collected(r, L) & mask, L);
    return 0;
}

INLINE uint64_t scalar_of(const Waves *w, const Operation *op, int n, int wide, int64_t wave) {
    const int32_t kind = op->source[n] >> 16;
    const int64_t row = op->source[n] & 0xFFFF;
    if (op->source[n] < 0)
        return 0;
    if (kind == CONSTANT)
        return pair(op->low[n], wide ? op->high[n] : 0);
    return pair(w->s[row * w->waves + wave], wide ? w->s[(row + 1) * w->waves + wave] : 0);
}

#define S_ONE(name, value) case OP_##name: result = (uint32_t)(value); break;
#define S_TEST(name, value) case OP_##name: result = (uint32_t)(value); flag = result != 0; break;
#define S_WIDE(name, value) case OP_##name: result = (value); wide = 1; break;
#define S_WIDE_TEST(name, value) case OP_##name: result = (value); wide = 1; flag = result != 0; break;
#define S_COMPARE(name, value) case OP_##name: flag = (value); writes = 0; break;

/* One scalar operation in one wave. */
INLINE void scalar(const Waves *w, const Operation *op, int64_t wave) {
    const uint64_t p64 = scalar_of(w, op, 0, 1, wave), q64 = scalar_of(w, op, 1, 1, wave);
    const uint32_t p = (uint32_t)p64, q = (uint32_t)q64, scc = w->s[w->scc * w->waves + wave] != 0;
    uint64_t result = 0;
    int64_t flag = -1;
    int wide = 0, writes = 1;
    switch (op->code) {
    S_ONE(s_mov, p) S_WIDE(s_mov64, p64) S_ONE(s_cselect, scc ? p : q) S_WIDE(s_cselect64, scc ? p64 : q64)
    case OP_s_add_u32: result = p + q; flag = (uint32_t)result < p; break;
    case OP_s_sub_u32: result = p - q; flag = p < q; break;
    case OP_s_addc: result = (uint64_t)p + q + scc; flag = result >> 32 != 0; break;
    case OP_s_subb: result = (uint64_t)p - ((uint64_t)q + scc); flag = (uint64_t)p < (uint64_t)q + scc; break;
    case OP_s_add_i32: { const uint32_t t = p + q; result = t; flag = ((p ^ t) & (q ^ t)) >> 31; break; }
    case OP_s_sub_i32: { const uint32_t t = p - q; result = t; flag = ((p ^ q) & (p ^ t)) >> 31; break; }
    S_ONE(s_mul, p * q) S_ONE(s_mul_hi_u32, (uint64_t)p * q >> 32) S_ONE(s_mul_hi_i32, (int64_t)SIGNED(p) * SIGNED(q) >> 32)
    S_WIDE(s_add_u64, p64 + q64)
    S_TEST(s_and, p & q) S_TEST(s_or, p | q) S_TEST(s_xor, p ^ q) S_TEST(s_andn2, p & ~q) S_TEST(s_orn2, p | ~q)
    S_TEST(s_nand, ~(p & q)) S_TEST(s_nor, ~(p | q)) S_TEST(s_xnor, ~(p ^ q))
    S_WIDE_TEST(s_and64, p64 & q64) S_WIDE_TEST(s_or64, p64 | q64) S_WIDE_TEST(s_xor64, p64 ^ q64)
    S_WIDE_TEST(s_andn264, p64 & ~q64) S_WIDE_TEST(s_orn264, p64 | ~q64) S_WIDE_TEST(s_nand64, ~(p64 & q64))
    S_WIDE_TEST(s_nor64, ~(p64 | q64)) S_WIDE_TEST(s_xnor64, ~(p64 ^ q64)) S_TEST(s_not, ~p) S_WIDE_TEST(s_not64, ~p64)
    S_TEST(s_lshl, p << (q & 31)) S_TEST(s_lshr, p >> (q & 31)) S_TEST(s_ashr, SIGNED(p) >> (q & 31))
    S_WIDE_TEST(s_lshl64, p64 << (q & 63)) S_WIDE_TEST(s_lshr64, p64 >> (q & 63))
    S_WIDE_TEST(s_ashr64, (uint64_t)((int64_t)p64 >> (q & 63)))
    S_TEST(s_bfe_u32, p >> (q & 31) & ((q >> 16 & 0x7F) >= 32 ? 0xFFFFFFFF : (1u << (q >> 16 & 0x1F)) - 1))
    case OP_s_bfe_i32: {
        const int32_t offset = q & 31, width = smaller_i(q >> 16 & 0x7F, 32 - offset), spare = clamp(32 - width, 0, 31);
        result = width ? (uint32_t)(SIGNED((uint32_t)(SIGNED(p) >> offset) << spare) >> spare) : 0;
        flag = result != 0;
        break;
    }
    case OP_s_lshladd: result = ((uint64_t)p << op->up) + q; flag = result >> 32 != 0; break;
    case OP_s_min_i32: result = (uint32_t)smaller_i(p, q); flag = result == p && p != q; break;
    case OP_s_max_i32: result = (uint32_t)larger_i(p, q); flag = result == p && p != q; break;
    case OP_s_min_u32: result = smaller_u(p, q); flag = result == p && p != q; break;
    case OP_s_max_u32: result = larger_u(p, q); flag = result == p && p != q; break;
    S_ONE(s_pack_ll, (p & 0xFFFF) | q << 16) S_ONE(s_sext8, SIGNED(p << 24) >> 24) S_ONE(s_sext16, SIGNED(p << 16) >> 16)
    S_COMPARE(s_bitcmp0, !(p >> (q & 31) & 1)) S_COMPARE(s_bitcmp1, p >> (q & 31) & 1)
    S_COMPARE(s_lt_i32, SIGNED(p) < SIGNED(q)) S_COMPARE(s_eq, p == q) S_COMPARE(s_le_i32, SIGNED(p) <= SIGNED(q))
    S_COMPARE(s_gt_i32, SIGNED(p) > SIGNED(q)) S_COMPARE(s_lg, p != q) S_COMPARE(s_ge_i32, SIGNED(p) >= SIGNED(q))
    S_COMPARE(s_lt_u32, p < q) S_COMPARE(s_le_u32, p <= q) S_COMPARE(s_gt_u32, p > q) S_COMPARE(s_ge_u32, p >= q)
    S_COMPARE(s_eq64, p64 == q64) S_COMPARE(s_lg64, p64 != q64) S_ONE(s_mulk, p * q)
    S_TEST(s_abs, SIGNED(p) < 0 ? 0 - p : p) S_TEST(s_bcnt1, bits_in(p))
    S_ONE(s_ff1, p ? bits_in((p & (0 - p)) - 1) : 0xFFFFFFFF) S_ONE(s_bfm, ((1u << (p & 31)) - 1) << (q & 31))
    }
    if (writes && op->destination >= 0) {
        const int64_t row = op->destination & 0xFFFF;
        w->s[row * w->waves + wave] = (uint32_t)result;
        if (wide)
            w->s[(row + 1) * w->waves + wave] = (uint32_t)(result >> 32);
    }
    if (flag >= 0)
        w->s[w->scc * w->waves + wave] = (uint32_t)flag;
}

INLINE int64_t carried_out(const Waves *w, const Operation *ops, int64_t first, int64_t last, const int L) {
    for (int64_t at = first; at < last; at++) {
        const Operation *op = ops + at;
        const int floats = (op->code >= OP_add_f32 && op->code <= OP_pk_f16) ||
                           (op->code >= OP_pk_add_f32 && op->code <= OP_pk_fma_f32);
        const int both = op->code >= OP_pk_add_f32 && op->code <= OP_pk_fma_f32;
        for (int64_t n = 0; n < w->count; n++) {
            const int64_t wave = w->rows[n];
            if (op->code >= OP_s_mov) {
                scalar(w, op, wave);
                continue;
            }
            if (vector(w, op, wave, exec_of(w, wave, L), w->room + 2 * L * n, L))
                return at;
        }
        for (int64_t n = 0; floats && n < w->count; n++) {
            const int64_t wave = w->rows[n];
            const uint32_t *result = w->room + 2 * L * n;
            const uint64_t mask = written(op, exec_of(w, wave, L), L);
            put(w, op->destination, wave, result, op->old, op->up, mask, L);
            if (both)
                put(w, op->destination + 1, wave, result + L, 0, 0, mask, L);
            if (op->code == OP_div_scale_f32)
                put_mask(w, op->second, wave, collected(result + L, L) & mask, L);
        }
    }
    return last;
}

/* Carry out operations in some waves of 32 or 64 lanes. Returns the first that declines, or `last`. */
EXPORT int64_t mmacalc_lanes(const Waves *w, const Operation *ops, int64_t first, int64_t last, int64_t lanes) {
    return lanes == 64 ? carried_out(w, ops, first, last, 64) : carried_out(w, ops, first, last, 32);
}
