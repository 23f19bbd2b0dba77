/* The models of RDNA3 and RDNA4 (mmacalc.arithmetic.floored): see core.c for what a kernel does.
 *
 * A product of two operands is exact in float32, while it is normal there; a step's terms lie on one grid and are below
 * 2^27 times it, so their sum is an int32.
 */
#define TILE 64 /* whose steps are short, and each waits for the one before */
#include "core.h"

#define SMALL (-100)    /* a product of this exponent is a number of float32, whatever its factors' bits */
#define VANISHING (-120) /* below another one, and still a number of float32 when it is scaled as that */

/* Whole numbers of units in D's format, as float32: f32 results rounded to nearest even, bf16 results these cut toward
 * zero. */
INLINE float narrowed(int32_t units, float unit, int out, int32_t *bad) {
    if (out == OUT_F16) {
        double v = nearest((double)units * (double)unit, 10, -14) + 0.0;
        *bad |= fabs(v) > 65504.0;
        return (float)v;
    }
    float f = (float)units * unit + 0.0f;
    if (out == OUT_BF16) {
        uint32_t word;
        memcpy(&word, &f, 4);
        word &= 0xffff0000u;
        memcpy(&f, &word, 4);
    }
    return f;
}

/* Flags exponents that float32 cannot scale by, but of sums of nothing. */
INLINE int32_t checked(int32_t top, int nothing, int32_t *bad) {
    *bad |= ((top > HIGH) | (top < LOW)) & !nothing;
    return clamp(top, LOW, HIGH);
}

/* The exponent that c's leading bit counts as, lowered by as much as it reaches further than the products. */
INLINE int32_t reached(float c, int32_t lowest, int32_t further) {
    uint32_t word;
    memcpy(&word, &c, 4);
    return larger((int32_t)(word >> 23 & 255) - 127, lowest) - further;
}

INLINE float with_sign(float size, float sign) {
    uint32_t a, b;
    memcpy(&a, &size, 4);
    memcpy(&b, &sign, 4);
    a |= b & 0x80000000u;
    memcpy(&size, &a, 4);
    return size;
}
INLINE uint32_t below_zero(float v) { uint32_t word; memcpy(&word, &v, 4); return word >> 31; }

/* dot2_ones_complement. A term whose sign is not c's is added as its one's complement. The leading bit of a product is at
 * most one above its exponent, so of the largest terms only c's counts. */
INLINE void dot2(const Task *t, int64_t first, int64_t last, const int W, const int out) {
    const int F = t->fraction, further = t->reach - F, lowest = larger(t->lowest, -200), flush = out != OUT_F16;
    ROWS_BEGIN(float) EXPONENTS
        START(flush && fabsf(c[i][j]) < 0x1p-126f ? with_sign(0.0f, c[i][j]) : c[i][j])
        for (int64_t k0 = 0; k0 < K; k0 += 2) {
            int32_t e[TILE];
            float products[2][TILE];
            LARGEST(e, k0, k0 + 2, 1);
            for (int h = 0; h < 2; h++)
                ELEMENTS(products[h][n] = x[i][k0 + h] * y[i][(k0 + h) * N + j];);
            LANES {
                const float c0 = d[j];
                int32_t most = larger(e[j], reached(c0, lowest, further)), nothing = (e[j] < NOTHING) & (c0 == 0.0f);
                most = checked(most, nothing, &bad[j]);
                float scale = with_sign(pow2f(F - most), c0);
                float p = products[0][j] * scale, q = products[1][j] * scale;
                uint32_t units = (uint32_t)(int32_t)p + (uint32_t)(int32_t)q; /* unsigned: flagged lanes may wrap */
                units += (uint32_t)(int32_t)(c0 * scale) - below_zero(p) - below_zero(q);
                d[j] = narrowed(nothing ? 0 : (int32_t)units, with_sign(pow2f(most - F), c0), out, &bad[j]);
            }
        }
        FINISH(d, bad);
    }
}

/* dot4_floored: pairs of two products (P 2), or all four together (P 4). Products so small that float32 loses them are
 * flagged: floored, they may be -1. */
INLINE void dot4(const Task *t, int64_t first, int64_t last, const int W, const int P, const int out) {
    const int F = t->fraction, further = t->reach - F, lowest = larger(t->lowest, -200);
    ROWS_BEGIN(float) EXPONENTS
        START(c[i][j])
        for (int64_t k0 = 0; k0 < K; k0 += 4) {
            int16_t e[2][TILE], least[TILE];
            uint32_t units[TILE];
            int32_t most[TILE];
            LANES least[j] = 0;
            for (int h = 0; h < 4 / P; h++) {
                LANES e[h][j] = 2 * EMPTY;
                for (int64_t k = k0 + h * P; k < k0 + h * P + P; k++)
                    ELEMENTS(
                        int16_t p = (int16_t)(ex[i][k] + ey[i][k * N + j]), q = p < NOTHING ? 0 : p;
                        e[h][n] = p > e[h][n] ? p : e[h][n];
                        least[n] = q < least[n] ? q : least[n];);
            }
            LANES {
                int32_t top = P == 2 ? larger(e[0][j], e[1][j]) : e[0][j];
                const int nothing = (top < NOTHING) & (d[j] == 0.0f);
                bad[j] |= (least[j] < SMALL) | (least[j] - top < VANISHING);
                most[j] = checked(larger(top, reached(d[j], lowest, further)), nothing, &bad[j]);
                float own_units = d[j] * pow2f(F - most[j]);
                int lost = (fabsf(own_units) < 1.0f) & (most[j] - F > lowest);
                units[j] = lost ? 0 : (uint32_t)(int32_t)floorf(own_units);
            }
            for (int h = 0; h < 4 / P; h++) {
                float scale[TILE];
                uint32_t sum[TILE];
                LANES {
                    scale[j] = pow2f(F - checked(e[h][j], e[h][j] < NOTHING, &bad[j]));
                    sum[j] = 0;
                }
                for (int64_t k = k0 + h * P; k < k0 + h * P + P; k++)
                    ELEMENTS(sum[n] += (uint32_t)(int32_t)floorf(x[i][k] * y[i][k * N + j] * scale[n]););
                LANES units[j] += (uint32_t)((int32_t)sum[j] >> clamp(most[j] - e[h][j], 0, 31));
            }
            LANES d[j] = narrowed((int32_t)units[j], pow2f(most[j] - F), out, &bad[j]);
        }
        FINISH(d, bad);
    }
}

#define DOT2(out) WIDTHS(dot2(t, first, last, W, out)); break
#define DOT4(pair, out) WIDTHS(dot4(t, first, last, W, pair, out)); break

EXPORT void mmacalc_dot2_ones_complement(const Task *t, int64_t first, int64_t last) {
    switch (t->out) {
    case OUT_F32: DOT2(OUT_F32);
    case OUT_F16: DOT2(OUT_F16);
    case OUT_BF16: DOT2(OUT_BF16);
    }
}
EXPORT void mmacalc_dot4_floored(const Task *t, int64_t first, int64_t last) {
    switch (t->pair == 4 ? 4 + t->out : t->out) {
    case OUT_F32: DOT4(2, OUT_F32);
    case OUT_F16: DOT4(2, OUT_F16);
    case OUT_BF16: DOT4(2, OUT_BF16);
    case 4 + OUT_F32: DOT4(4, OUT_F32);
    }
}
