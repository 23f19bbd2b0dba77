/* The kernel of NVIDIA's models, aligned_truncated: see core.c. */
#include "core.h"

/* A whole number as float32, cut toward zero: where rounding to nearest went away from zero, the float below is taken. */
INLINE float cut_float(int32_t sum, int32_t keep) {
    float f = (float)sum;
    int32_t back = (int32_t)f, word;
    uint32_t size = back < 0 ? 0u - (uint32_t)back : (uint32_t)back, own = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum;
    memcpy(&word, &f, 4);
    word -= size > own;
    word &= keep;
    memcpy(&f, &word, 4);
    return f;
}

/* aligned_truncated. Eight products of 2^(fraction + 2) at most fit an int32; sums of more are added in float64. */
INLINE void aligned(const Task *t, int64_t first, int64_t last, const int W, const int G) {
    const int F = t->fraction, lowest = t->lowest;
    const int64_t keep = -(1LL << (52 - t->kept));
    const int32_t keep_float = -(1 << (23 - t->kept));
    ROWS_BEGIN(float) EXPONENTS
        START(c[i][j])
        for (int64_t k0 = 0; k0 < K; k0 += G) {
            int32_t e[TILE];
            float scale[TILE], unit[TILE];
            uint32_t sum[TILE];
            double total[TILE];
            LARGEST(e, k0, k0 + G, 1);
            LANES {
                int32_t top = larger(e[j], exponent_of(d[j])), empty = top < NOTHING;
                top = larger(top, lowest);
                bad[j] |= (!empty) & ((top < LOW) | (top > HIGH));
                top = clamp(top, LOW, HIGH);
                scale[j] = pow2f(F - top);
                unit[j] = pow2f(top - F);
                sum[j] = (uint32_t)(int32_t)(d[j] * scale[j]);
                total[j] = 0;
            }
            if (G <= 8 && t->out == OUT_F32) {
                CUT_SUM(sum, scale, k0, k0 + G, 1)
                LANES d[j] = cut_float((int32_t)sum[j], keep_float) * unit[j];
                continue;
            }
            for (int g = 0; g < G; g += 8) {
                CUT_SUM(sum, scale, k0 + g, k0 + g + (G < 8 ? G : 8), 1)
                LANES { total[j] += (double)(int32_t)sum[j]; sum[j] = 0; }
            }
            if (t->out == OUT_F32)
                LANES d[j] = (float)of_bits(bits_of(total[j]) & keep) * unit[j];
            else
                LANES {
                    double v = nearest(total[j] * (double)unit[j], 10, -14);
                    bad[j] |= fabs(v) > 65504.0;
                    d[j] = (float)v + 0.0f; /* no minus zero */
                }
        }
        FINISH(d, bad);
    }
}

#define ALIGNED(G) WIDTHS(aligned(t, first, last, W, G)); break

EXPORT void mmacalc_aligned_truncated(const Task *t, int64_t first, int64_t last) {
    switch (t->group) {
    case 4: ALIGNED(4);
    case 8: ALIGNED(8);
    case 16: ALIGNED(16);
    case 32: ALIGNED(32);
    }
}
