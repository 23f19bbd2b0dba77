/* The arithmetic models on whole matrices: what mmacalc.emulator.fast calls where this file has been compiled.
 *
 * Every kernel computes rows of D = A B + C, K in steps of a group, D of one step being C of the next, bit for bit as the
 * models of mmacalc.arithmetic do, or sets an element's flag: then the result is of no use, and the caller computes the
 * element by the model. Flags are for infinities, NaN and exponents outside of what the shortcuts below can do. So this
 * file needs no special cases, and the models stay the definition.
 *
 * A and B come as float32 values with int16 exponents, those by which the models align (of a product they add): EMPTY for
 * a zero, NONFINITE for an infinity or NaN. Columns are padded to a multiple of `lanes`; neighbouring columns are the
 * lanes of a vector, and B comes in strips of so many columns. Compile with -ffp-contract=off and without -ffast-math; -fno-trapping-math only makes it faster.
 */
#include "core.h"

/* The last part of CDNA3's models: the sum of products, in units of 2^(top_p - fraction), and c; no branches. */
typedef struct { int32_t F, dot, total, reach; } Floors;
INLINE float with_c(const Floors f, double sum, int32_t top_p, float c, int32_t *bad) {
    int32_t ec = larger(exponent_of(c), -126), empty = top_p < NOTHING, top = larger(top_p, ec);
    int32_t far = (top_p - f.reach - ec > 0) & !empty, zero = empty & (c == 0.0f);
    *bad |= (top > HIGH) | ((top < LOW) & !zero);
    c *= (float)(1 - far);
    top = clamp(top, LOW, HIGH);
    double s = floor(sum * pow2(clamp(top_p - top, -200, 0) + f.dot - f.F));
    s += floor((double)c * pow2(f.F - top)) * pow2(f.dot - f.F);
    int32_t e = (int32_t)(bits_of(s) >> 52 & 2047) - 1023 - f.total;
    e = clamp(e, 0, 60);
    s = floor(s * pow2(-e)) * pow2(e);
    return (float)s * pow2f(top - f.dot) + 0.0f;
}

/* two_stage_floored (halves 1) and two_stage_floored_even_odd (halves 2). */
INLINE void floored(const Task *t, int64_t first, int64_t last, const int W, const int G, const int halves) {
    const Floors floors = {t->fraction, t->dot_fraction, t->sum_fraction, t->reach};
    ROWS_BEGIN(float) EXPONENTS
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = c[j]; bad[j] = 0; }
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            int16_t e[2][MOST_LANES];
            float scale[2][MOST_LANES];
            uint32_t sum[2][MOST_LANES];
            for (int h = 0; h < halves; h++) {
                LARGEST(e[h], k0 + h, k0 + G, halves)
                LANES {
                    bad[j] |= (e[h][j] > HIGH) | ((e[h][j] < LOW) & (e[h][j] > NOTHING));
                    scale[h][j] = pow2f(t->fraction - clamp(e[h][j], LOW, HIGH));
                    sum[h][j] = 0;
                }
                CUT_SUM(sum[h], scale[h], k0 + h, k0 + G, halves)
            }
            if (halves == 1)
                LANES d[j] = with_c(floors, (double)(int32_t)sum[0][j], e[0][j], d[j], &bad[j]);
            else
                LANES {
                    int32_t top = larger(e[0][j], e[1][j]);
                    double s = floor((double)(int32_t)sum[0][j] * pow2(clamp(e[0][j] - top, -200, 0)));
                    s += floor((double)(int32_t)sum[1][j] * pow2(clamp(e[1][j] - top, -200, 0)));
                    d[j] = with_c(floors, s, top, d[j], &bad[j]);
                }
        }
        finish(c, d, flags, bad, W);
    }
}

/* pairwise_f32, and (G 1) a chain of fused multiply-adds. The inputs are flushed already. With flush a minus zero is
 * flagged: the next instruction would take it for plus zero, and only a chain of those ends in one. */
INLINE float settled(float v, int flush) { return flush && fabsf(v) < 1.17549435e-38f ? v * 0.0f : v; }
INLINE void pairwise(const Task *t, int64_t first, int64_t last, const int W, const int G, const int flush) {
    ROWS_BEGIN(float)
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = c[j]; bad[j] = 0; }
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            float p[4][MOST_LANES];
            for (int k = 0; k < G; k++) {
                const float f = x[k0 + k], *z = y + (k0 + k) * N;
                if (G == 1)
                    LANES d[j] = fmaf(f, z[j], d[j]);
                else
                    LANES p[k][j] = settled(f * z[j], flush);
            }
            if (G == 2)
                LANES d[j] = settled(d[j] + settled(p[0][j] + p[1][j], flush), flush);
            if (G == 4)
                LANES {
                    float s = settled(p[0][j] + p[1][j], flush), u = settled(p[2][j] + p[3][j], flush);
                    d[j] = settled(d[j] + settled(s + u, flush), flush);
                }
        }
        if (flush)
            LANES {
                int32_t sign;
                memcpy(&sign, &d[j], 4);
                bad[j] |= (d[j] == 0) & (sign < 0);
            }
        finish(c, d, flags, bad, W);
    }
}

/* A group's products, exact in float64, added to float64 sums; and sums in D's format, which is `out`. */
#define ADD_PRODUCTS(sum)                                                                                               \
    for (int64_t k = k0; k < k0 + G; k++) {                                                                             \
        const double f = x[k];                                                                                          \
        const float *z = y + k * N;                                                                                     \
        LANES sum[j] += f * (double)z[j];                                                                               \
    }
#define NARROWED(total)                                                                                                 \
    if (out == OUT_F32)                                                                                                 \
        LANES d[j] = (float)((total) + 0.0);                                                                            \
    else                                                                                                                \
        LANES {                                                                                                         \
            double v = nearest((total) + 0.0, out == OUT_F16 ? 10 : 7, out == OUT_F16 ? -14 : -126);                    \
            bad[j] |= (out == OUT_F16) & (fabs(v) > 65504.0);                                                           \
            d[j] = (float)v;                                                                                            \
        }

/* exact. While no bit of a term lies further below the largest exponent than float64 has bits, the terms are added as
 * they come. Else each product is split at a bit 40 below the largest exponent; what is above and what is below are
 * added without error while no bit of a term lies more than 86 below, which is checked. */
INLINE void exact(const Task *t, int64_t first, int64_t last, const int W, const int64_t G) {
    const int low_bits = t->low_bits, out = t->out;
    int room = 50; /* G + 1 terms below 2^(top + 2) add up to less than 2^53 units of the lowest bit */
    for (int64_t g = 1; g < G; g *= 2)
        room--;
    ROWS_BEGIN(float) EXPONENTS
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = c[j]; bad[j] = 0; }
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            int16_t e[MOST_LANES], least[MOST_LANES];
            double high[MOST_LANES], low[MOST_LANES], big[MOST_LANES];
            LANES { e[j] = 2 * EMPTY; least[j] = 0; }
            for (int64_t k = k0; k < k0 + G; k++) {
                const int16_t s = ex[k], *z = ey + k * N;
                LANES {
                    int16_t p = (int16_t)(s + z[j]), q = p < NOTHING ? 0 : (int16_t)(p - HUGE_EXPONENT);
                    e[j] = p > e[j] ? p : e[j];
                    least[j] = q < least[j] ? q : least[j];
                }
            }
            int32_t lowest[MOST_LANES], top[MOST_LANES], spread = 0;
            LANES {
                int32_t ec = exponent_of(d[j]), of_c = ec > NOTHING ? ec - 23 : 0;
                top[j] = larger(e[j], ec);
                lowest[j] = least[j] + HUGE_EXPONENT - low_bits;
                lowest[j] = of_c < lowest[j] ? of_c : lowest[j];
                spread |= (top[j] > NOTHING) & (top[j] - lowest[j] > room);
            }
            if (!spread) { /* all sums on the way are numbers of float64 */
                LANES high[j] = (double)d[j];
                ADD_PRODUCTS(high)
                NARROWED(high[j])
                continue;
            }
            LANES {
                bad[j] |= (top[j] > HUGE_EXPONENT) | ((top[j] > NOTHING) & (top[j] - lowest[j] > 86));
                big[j] = 1.5 * pow2(clamp(top[j], -400, 400) + 12);
                high[j] = ((double)d[j] + big[j]) - big[j];
                low[j] = (double)d[j] - high[j];
            }
            for (int64_t k = k0; k < k0 + G; k++) {
                const double f = x[k];
                const float *z = y + k * N;
                LANES {
                    double p = f * (double)z[j], h = (p + big[j]) - big[j];
                    high[j] += h;
                    low[j] += p - h;
                }
            }
            NARROWED(odd_sum(high[j], low[j]))
        }
        finish(c, d, flags, bad, W);
    }
}

/* exact, of formats so narrow that float64 holds every sum of a group's products: they are added as they come. */
INLINE void exact_narrow(const Task *t, int64_t first, int64_t last, const int W, const int64_t G) {
    const int out = t->out;
    ROWS_BEGIN(float)
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = c[j]; bad[j] = 0; }
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            double sum[MOST_LANES];
            LANES sum[j] = 0;
            ADD_PRODUCTS(sum)
            NARROWED(odd_sum(sum[j], (double)d[j]))
        }
        finish(c, d, flags, bad, W);
    }
}

/* block_scaled_fp4: runs of 16 products are added exactly in float32 and scaled; four runs and c are cut and added. */
INLINE void block_scaled(const Task *t, int64_t first, int64_t last, const int W) {
    ROWS_BEGIN(float)
        const int64_t R = t->group, runs = t->depth / R;
        const float *sa = (const float *)t->scale_a + r * runs, *sb = (const float *)t->scale_b + strip * runs;
        const int16_t *ea = t->exponent_sa + r * runs, *eb = t->exponent_sb + strip * runs;
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = c[j]; bad[j] = 0; }
        for (int64_t run = 0; run < runs; run += 4) {
            double term[4][MOST_LANES], total[MOST_LANES];
            int32_t top[MOST_LANES];
            LANES top[j] = larger(exponent_of(d[j]), t->lowest);
            for (int i = 0; i < 4; i++) {
                float sum[MOST_LANES], size[MOST_LANES];
                LANES { sum[j] = 0; size[j] = 0; }
                for (int64_t k = (run + i) * R; k < (run + i + 1) * R; k++) {
                    const float f = x[k], *z = y + k * N;
                    LANES { float p = f * z[j]; sum[j] += p; size[j] += fabsf(p); }
                }
                const float u = sa[run + i], *v = sb + (run + i) * N;
                const int16_t s = ea[run + i], *z = eb + (run + i) * N;
                LANES {
                    term[i][j] = (double)sum[j] * ((double)u * (double)v[j]);
                    int32_t p = s + z[j];
                    bad[j] |= p > HUGE_EXPONENT;
                    top[j] = size[j] != 0 && p > top[j] ? p : top[j];
                }
            }
            LANES {
                bad[j] |= (top[j] > HIGH) | ((top[j] < LOW) & (top[j] != t->lowest));
                double scale = pow2(t->fraction - clamp(top[j], -200, HIGH));
                total[j] = trunc((double)d[j] * scale) + 0.0; /* no minus zero */
                for (int i = 0; i < 4; i++)
                    total[j] += trunc(term[i][j] * scale);
                bad[j] |= (top[j] == t->lowest) & (total[j] != 0);
                double cut = of_bits(bits_of(total[j]) & -(1LL << 29));
                d[j] = (float)(cut * pow2(clamp(top[j], -200, HIGH) - t->fraction));
            }
        }
        finish(c, d, flags, bad, W);
    }
}

#define EXACT(G) WIDTHS(exact(t, first, last, W, G)); break

EXPORT void mmacalc_two_stage_floored(const Task *t, int64_t first, int64_t last) {
    if (t->group == 4)
        WIDTHS(floored(t, first, last, W, 4, 1));
    else
        WIDTHS(floored(t, first, last, W, 8, 1));
}
EXPORT void mmacalc_two_stage_floored_even_odd(const Task *t, int64_t first, int64_t last) {
    WIDTHS(floored(t, first, last, W, 16, 2));
}
EXPORT void mmacalc_pairwise_f32(const Task *t, int64_t first, int64_t last) {
    if (t->group == 4)
        WIDTHS(pairwise(t, first, last, W, 4, 1));
    else
        WIDTHS(pairwise(t, first, last, W, 2, 1));
}
EXPORT void mmacalc_fma_chain(const Task *t, int64_t first, int64_t last) {
    WIDTHS(pairwise(t, first, last, W, 1, 0));
}
EXPORT void mmacalc_exact(const Task *t, int64_t first, int64_t last) {
    if (t->narrow) {
        WIDTHS(exact_narrow(t, first, last, W, t->group));
        return;
    }
    switch (t->group) {
    case 2: EXACT(2);
    case 4: EXACT(4);
    default: EXACT(t->group);
    }
}
EXPORT void mmacalc_block_scaled_fp4(const Task *t, int64_t first, int64_t last) {
    WIDTHS(block_scaled(t, first, last, W));
}
EXPORT void mmacalc_fma_chain_f64(const Task *t, int64_t first, int64_t last) {
    const int W = 8; /* two vectors of AVX-512 */
    ROWS_BEGIN(double)
        double d[8];
        LANES d[j] = c[j];
        for (int64_t k = 0; k < K; k++) {
            const double f = x[k], *z = y + k * N;
            LANES d[j] = fma(f, z[j], d[j]);
        }
        LANES { c[j] = d[j]; flags[j] |= !(fabs(d[j]) <= 1.7976931348623157e308); }
    }
}
/* The sources that it is compiled from: mmacalc.emulator.core.version. */
EXPORT int32_t mmacalc_version(void) { return VERSION; }
