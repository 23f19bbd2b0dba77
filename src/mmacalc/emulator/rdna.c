/* The models of RDNA3 and RDNA4 (mmacalc.arithmetic.floored): see core.c for what a kernel does.
 *
 * A product of two operands is exact in float32, while it is normal there; a step's terms lie on one grid and are below
 * 2^27 times it, so their sum is an int32.
 */
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
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = flush && fabsf(c[j]) < 0x1p-126f ? with_sign(0.0f, c[j]) : c[j]; bad[j] = 0; }
        for (int64_t k0 = 0; k0 < K; k0 += 2) {
            const float f = x[k0], g = x[k0 + 1], *y0 = y + k0 * N, *y1 = y0 + N;
            int16_t e[MOST_LANES];
            LARGEST(e, k0, k0 + 2, 1)
            LANES {
                int32_t most = larger(e[j], reached(d[j], lowest, further)), nothing = (e[j] < NOTHING) & (d[j] == 0.0f);
                most = checked(most, nothing, &bad[j]);
                float scale = with_sign(pow2f(F - most), d[j]), p = f * y0[j] * scale, q = g * y1[j] * scale;
                uint32_t units = (uint32_t)(int32_t)p + (uint32_t)(int32_t)q; /* unsigned: flagged lanes may wrap */
                units += (uint32_t)(int32_t)(d[j] * scale) - below_zero(p) - below_zero(q);
                d[j] = narrowed(nothing ? 0 : (int32_t)units, with_sign(pow2f(most - F), d[j]), out, &bad[j]);
            }
        }
        finish(c, d, flags, bad, W);
    }
}

/* dot4_floored: pairs of two products (P 2), or all four together (P 4). Products so small that float32 loses them are
 * flagged: floored, they may be -1. */
INLINE void dot4(const Task *t, int64_t first, int64_t last, const int W, const int P, const int out) {
    const int F = t->fraction, further = t->reach - F, lowest = larger(t->lowest, -200);
    ROWS_BEGIN(float) EXPONENTS
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = c[j]; bad[j] = 0; }
        for (int64_t k0 = 0; k0 < K; k0 += 4) {
            int16_t e[2][MOST_LANES], least[MOST_LANES];
            uint32_t units[MOST_LANES];
            int32_t most[MOST_LANES];
            LANES least[j] = 0;
            for (int h = 0; h < 4 / P; h++) {
                LANES e[h][j] = 2 * EMPTY;
                for (int64_t k = k0 + h * P; k < k0 + h * P + P; k++) {
                    const int16_t s = ex[k], *z = ey + k * N;
                    LANES {
                        int16_t p = (int16_t)(s + z[j]), q = p < NOTHING ? 0 : p;
                        e[h][j] = p > e[h][j] ? p : e[h][j];
                        least[j] = q < least[j] ? q : least[j];
                    }
                }
            }
            LANES {
                int32_t top = P == 2 ? larger(e[0][j], e[1][j]) : e[0][j];
                bad[j] |= (least[j] < SMALL) | (least[j] - top < VANISHING);
                most[j] = checked(larger(top, reached(d[j], lowest, further)), (top < NOTHING) & (d[j] == 0.0f), &bad[j]);
                float own = d[j] * pow2f(F - most[j]);
                int lost = (fabsf(own) < 1.0f) & (most[j] - F > lowest);
                units[j] = lost ? 0 : (uint32_t)(int32_t)floorf(own);
            }
            for (int h = 0; h < 4 / P; h++) {
                float scale[MOST_LANES];
                uint32_t sum[MOST_LANES];
                LANES {
                    scale[j] = pow2f(F - checked(e[h][j], e[h][j] < NOTHING, &bad[j]));
                    sum[j] = 0;
                }
                for (int64_t k = k0 + h * P; k < k0 + h * P + P; k++) {
                    const float f = x[k], *z = y + k * N;
                    LANES sum[j] += (uint32_t)(int32_t)floorf(f * z[j] * scale[j]);
                }
                LANES units[j] += (uint32_t)((int32_t)sum[j] >> clamp(most[j] - e[h][j], 0, 31));
            }
            LANES d[j] = narrowed((int32_t)units[j], pow2f(most[j] - F), out, &bad[j]);
        }
        finish(c, d, flags, bad, W);
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
