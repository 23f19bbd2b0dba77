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
        START(c[i][j])
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            int32_t e[2][TILE];
            float scale[2][TILE];
            uint32_t sum[2][TILE];
            for (int h = 0; h < halves; h++) {
                LARGEST(e[h], k0 + h, k0 + G, halves);
                LANES {
                    const int32_t top = e[h][j];
                    bad[j] |= (top > HIGH) | ((top < LOW) & (top > NOTHING));
                    scale[h][j] = pow2f(t->fraction - clamp(top, LOW, HIGH));
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
        FINISH(d, bad);
    }
}

/* pairwise_f32, and (G 1) a chain of fused multiply-adds. The inputs are flushed already. With flush a minus zero is
 * flagged: the next instruction would take it for plus zero, and only a chain of those ends in one. */
INLINE float settled(float v, int flush) { return flush && fabsf(v) < 1.17549435e-38f ? v * 0.0f : v; }
INLINE void pairwise(const Task *t, int64_t first, int64_t last, const int W, const int G, const int flush) {
    ROWS_BEGIN(float)
        START(c[i][j])
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            float p[4][TILE];
            for (int k = 0; k < G; k++) {
                if (G == 1)
                    ELEMENTS(d[n] = fmaf(x[i][k0 + k], y[i][(k0 + k) * N + j], d[n]););
                else
                    ELEMENTS(p[k][n] = settled(x[i][k0 + k] * y[i][(k0 + k) * N + j], flush););
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
        FINISH(d, bad);
    }
}

/* A group's products, exact in float64, added to float64 sums; and sums in D's format, which is `out`. */
#define ADD_PRODUCTS(sum)                                                                                               \
    for (int64_t k = k0; k < k0 + G; k++)                                                                               \
        ELEMENTS(sum[n] += (double)x[i][k] * (double)y[i][k * N + j];);
#define NARROWED(total)                                                                                                 \
    if (out == OUT_F32)                                                                                                 \
        LANES d[j] = (float)((total) + 0.0);                                                                         \
    else                                                                                                                \
        LANES {                                                                                                         \
            double v = nearest((total) + 0.0, out == OUT_F16 ? 10 : 7, out == OUT_F16 ? -14 : -126);                    \
            bad[j] |= (out == OUT_F16) & (fabs(v) > 65504.0);                                                        \
            d[j] = (float)v;                                                                                         \
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
        START(c[i][j])
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            int16_t e[TILE], least[TILE];
            double high[TILE], low[TILE], big[TILE];
            int32_t lowest[TILE], top[TILE];
            int32_t spread = 0;
            LANES { e[j] = 2 * EMPTY; least[j] = 0; }
            for (int64_t k = k0; k < k0 + G; k++)
                ELEMENTS(
                    int16_t p = (int16_t)(ex[i][k] + ey[i][k * N + j]);
                    int16_t q = p < NOTHING ? 0 : (int16_t)(p - HUGE_EXPONENT);
                    e[n] = p > e[n] ? p : e[n];
                    least[n] = q < least[n] ? q : least[n];);
            LANES {
                int32_t ec = exponent_of(d[j]), of_c = ec > NOTHING ? ec - 23 : 0;
                int32_t below = least[j] + HUGE_EXPONENT - low_bits;
                top[j] = larger(e[j], ec);
                lowest[j] = of_c < below ? of_c : below;
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
            for (int64_t k = k0; k < k0 + G; k++)
                ELEMENTS(
                    double p = (double)x[i][k] * (double)y[i][k * N + j], h = (p + big[n]) - big[n];
                    high[n] += h;
                    low[n] += p - h;);
            NARROWED(odd_sum(high[j], low[j]))
        }
        FINISH(d, bad);
    }
}

/* exact, of formats so narrow that float64 holds every sum of a group's products: they are added as they come. */
INLINE void exact_narrow(const Task *t, int64_t first, int64_t last, const int W, const int64_t G) {
    const int out = t->out;
    ROWS_BEGIN(float)
        START(c[i][j])
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            double sum[TILE];
            LANES sum[j] = 0;
            ADD_PRODUCTS(sum)
            NARROWED(odd_sum(sum[j], (double)d[j]))
        }
        FINISH(d, bad);
    }
}

/* block_scaled_fp4: runs of 16 products are added exactly in float32 and scaled; four runs and c are cut and added. */
INLINE void block_scaled(const Task *t, int64_t first, int64_t last, const int W) {
    ROWS_BEGIN(float)
        const int64_t G = t->group, runs = t->depth / G;
        const float *sa[MOST_PARTS], *sb[MOST_PARTS];
        const int16_t *ea[MOST_PARTS], *eb[MOST_PARTS];
        for (int i = 0; i < PARTS; i++) {
            sa[i] = (const float *)t->scale_a + row[i] * runs;
            sb[i] = (const float *)t->scale_b + strip * runs + i % C * V;
            ea[i] = t->exponent_sa + row[i] * runs;
            eb[i] = t->exponent_sb + strip * runs + i % C * V;
        }
        START(c[i][j])
        for (int64_t run = 0; run < runs; run += 4) {
            double term[4][TILE], total[TILE];
            int32_t top[TILE];
            LANES top[j] = larger(exponent_of(d[j]), t->lowest);
            for (int h = 0; h < 4; h++) {
                const int64_t at = run + h;
                float sum[TILE], size[TILE];
                LANES { sum[j] = 0; size[j] = 0; }
                for (int64_t k = at * G; k < (at + 1) * G; k++)
                    ELEMENTS(float p = x[i][k] * y[i][k * N + j]; sum[n] += p; size[n] += fabsf(p););
                ELEMENTS(
                    term[h][n] = (double)sum[n] * ((double)sa[i][at] * (double)sb[i][at * N + j]);
                    int32_t p = ea[i][at] + eb[i][at * N + j];
                    bad[n] |= p > HUGE_EXPONENT;
                    top[n] = size[n] != 0 && p > top[n] ? p : top[n];);
            }
            LANES {
                bad[j] |= (top[j] > HIGH) | ((top[j] < LOW) & (top[j] != t->lowest));
                double scale = pow2(t->fraction - clamp(top[j], -200, HIGH));
                total[j] = trunc((double)d[j] * scale) + 0.0; /* no minus zero */
                for (int h = 0; h < 4; h++)
                    total[j] += trunc(term[h][j] * scale);
                bad[j] |= (top[j] == t->lowest) & (total[j] != 0);
                double cut = of_bits(bits_of(total[j]) & -(1LL << 29));
                d[j] = (float)(cut * pow2(clamp(top[j], -200, HIGH) - t->fraction));
            }
        }
        FINISH(d, bad);
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
    const int W = 8;
    ROWS_BEGIN(double)
        double d[TILE];
        ELEMENTS(d[n] = c[i][j];);
        for (int64_t k = 0; k < K; k++)
            ELEMENTS(d[n] = fma(x[i][k], y[i][k * N + j], d[n]););
        ELEMENTS(c[i][j] = d[n]; own[i][j] |= !(fabs(d[n]) <= 1.7976931348623157e308););
    }
}
/* The sources that it is compiled from: mmacalc.emulator.core.version. */
EXPORT int32_t mmacalc_version(void) { return VERSION; }
