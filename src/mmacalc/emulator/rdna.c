/* The models of RDNA3 and RDNA4 (mmacalc.arithmetic.floored): see core.c for what a kernel does.
 *
 * Everything is in double: a product of two operands is exact there, and so is a step's sum, whose terms lie on one grid
 * and are below 2^29 times it. So only infinities and NaN are flagged.
 */
#include "core.h"

#define BELOW_ALL (-1000) /* no exponent of a sum is as low: 2^-302 is the least grid */

/* The exponent of the leading bit; of zero BELOW_ALL. */
INLINE int32_t leading(double v) {
    int32_t e = (int32_t)(bits_of(v) >> 52 & 2047) - 1023;
    return larger(e, BELOW_ALL);
}

/* 1 of a negative number and of minus zero. */
INLINE int64_t sign_of(double v) { return (int64_t)((uint64_t)bits_of(v) >> 63); }

/* A sum in D's format, as float32. f32 results are rounded to 24 bits of any exponent and those that are subnormal then
 * flushed, or (flush 0) to f32 with its subnormals; bf16 results are these cut toward zero. */
INLINE float narrowed(double total, int out, int flush, int32_t *bad) {
    if (out == OUT_F16) {
        double v = nearest(total, 10, -14) + 0.0;
        *bad |= fabs(v) > 65504.0;
        return (float)v;
    }
    int64_t b = bits_of(total), rounded = (b + ((1LL << 28) - 1 + (b >> 29 & 1))) & -(1LL << 29);
    double near = flush ? of_bits(rounded) : total;
    float f = flush && fabs(near) < 0x1p-126 ? 0.0f : (float)near + 0.0f;
    *bad |= !(fabsf(f) <= 3.4028234e38f);
    if (out == OUT_BF16) {
        uint32_t word;
        memcpy(&word, &f, 4);
        word &= 0xffff0000u;
        memcpy(&f, &word, 4);
    }
    return f;
}

/* dot2_ones_complement. A term whose sign is not c's is added as its one's complement. */
INLINE void dot2(const Task *t, int64_t first, int64_t last, const int W, const int out) {
    const int F = t->fraction, reach = t->reach, lowest = t->lowest, flush = out != OUT_F16;
    ROWS_BEGIN(float) EXPONENTS
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = flush && fabsf(c[j]) < 0x1p-126f ? copysignf(0.0f, c[j]) : c[j]; bad[j] = 0; }
        for (int64_t k = 0; k < K; k += 2) {
            const double f = x[k], g = x[k + 1];
            const float *y0 = y + k * N, *y1 = y0 + N;
            const int16_t s0 = ex[k], s1 = ex[k + 1], *z0 = ey + k * N, *z1 = z0 + N;
            LANES {
                double p = f * (double)y0[j], q = g * (double)y1[j], own = (double)d[j];
                int32_t top = larger(s0 + z0[j], s1 + z1[j]);
                bad[j] |= (top > HUGE_EXPONENT) | !(fabs(own) <= 0x1p128);
                int32_t most = larger(larger(leading(p), leading(q)), larger(leading(own), lowest));
                int32_t grid = clamp(larger(top - F, most - reach), BELOW_ALL, 600);
                double scale = pow2(-grid);
                int64_t sign = sign_of(own), other_p = sign ^ sign_of(p), other_q = sign ^ sign_of(q);
                double up = floor(fabs(p) * scale), uq = floor(fabs(q) * scale);
                double units = (other_p ? -1.0 - up : up) + (other_q ? -1.0 - uq : uq) + floor(fabs(own) * scale);
                int nothing = (p == 0.0) & (q == 0.0) & (own == 0.0);
                d[j] = nothing ? 0.0f : narrowed((sign ? -units : units) * pow2(grid), out, 1, &bad[j]);
            }
        }
        finish(c, d, flags, bad, W);
    }
}

/* dot4_floored: pairs of two products (P 2), or all four together (P 4). */
INLINE void dot4(const Task *t, int64_t first, int64_t last, const int W, const int P, const int out) {
    const int F = t->fraction, reach = t->reach, lowest = t->lowest;
    ROWS_BEGIN(float) EXPONENTS
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = c[j]; bad[j] = 0; }
        for (int64_t k0 = 0; k0 < K; k0 += 4) {
            int32_t own[2][MOST_LANES], grid[MOST_LANES];
            double total[MOST_LANES];
            for (int h = 0; h < 4 / P; h++) {
                LANES own[h][j] = BELOW_ALL;
                for (int64_t k = k0 + h * P; k < k0 + h * P + P; k++) {
                    const int16_t s = ex[k], *z = ey + k * N;
                    LANES own[h][j] = larger(own[h][j], s + z[j]);
                }
            }
            LANES {
                int32_t top = P == 2 ? larger(own[0][j], own[1][j]) : own[0][j];
                double of_c = (double)d[j];
                bad[j] |= (top > HUGE_EXPONENT) | !(fabs(of_c) <= 0x1p128);
                grid[j] = clamp(larger(top - F, larger(leading(of_c), lowest) - reach), BELOW_ALL, 600);
                int lost = (grid[j] > lowest) & (fabs(of_c) < pow2(grid[j]));
                total[j] = lost ? 0.0 : floor(of_c * pow2(-grid[j]));
            }
            for (int h = 0; h < 4 / P; h++) {
                double scale[MOST_LANES], sum[MOST_LANES];
                LANES {
                    own[h][j] = clamp(own[h][j] - F, BELOW_ALL, 600);
                    scale[j] = pow2(-own[h][j]);
                    sum[j] = 0;
                }
                for (int64_t k = k0 + h * P; k < k0 + h * P + P; k++) {
                    const double f = x[k];
                    const float *z = y + k * N;
                    LANES sum[j] += floor(f * (double)z[j] * scale[j]);
                }
                LANES total[j] += floor(sum[j] * pow2(clamp(own[h][j] - grid[j], BELOW_ALL, 0)));
            }
            LANES d[j] = narrowed(total[j] * pow2(grid[j]), out, 0, &bad[j]);
        }
        finish(c, d, flags, bad, W);
    }
}

#define DOT2(out) WIDTHS(dot2(t, first, last, 8, out), dot2(t, first, last, 32, out)); break
#define DOT4(pair, out) WIDTHS(dot4(t, first, last, 8, pair, out), dot4(t, first, last, 32, pair, out)); break

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
