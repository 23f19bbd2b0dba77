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

/* A step of aligned_truncated: d of W lanes after G products. x and ex are of all lanes, or (wide 0) one for each k. Eight
 * products of 2^(fraction + 2) at most fit an int32; sums of more are added in float64. */
INLINE void aligned_step(const Task *t, float *restrict d, int32_t *restrict bad, const float *x, const int16_t *ex,
                         const float *y, const int16_t *ey, const int W, const int G, const int wide) {
    const int F = t->fraction, lowest = t->lowest;
    const int64_t keep = -(1LL << (52 - t->kept));
    const int32_t keep_float = -(1 << (23 - t->kept));
    int16_t e[MOST_LANES];
    float scale[MOST_LANES], unit[MOST_LANES];
    uint32_t sum[MOST_LANES];
    double total[MOST_LANES];
    LANES e[j] = 2 * EMPTY;
    for (int k = 0; k < G; k++)
        LANES { int16_t p = (int16_t)(ex[wide ? k * W + j : k] + ey[k * W + j]); e[j] = p > e[j] ? p : e[j]; }
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
    for (int g = 0; g < G; g += 8) {
        for (int k = g; k < g + (G < 8 ? G : 8); k++)
            LANES sum[j] += (uint32_t)(int32_t)(x[wide ? k * W + j : k] * y[k * W + j] * scale[j]);
        if (G <= 8 && t->out == OUT_F32) {
            LANES d[j] = cut_float((int32_t)sum[j], keep_float) * unit[j];
            return;
        }
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

INLINE void aligned(const Task *t, int64_t first, int64_t last, const int W, const int G) {
    ROWS_BEGIN(float) EXPONENTS
        float d[MOST_LANES];
        int32_t bad[MOST_LANES];
        LANES { d[j] = c[j]; bad[j] = 0; }
        for (int64_t k0 = 0; k0 < K; k0 += G)
            aligned_step(t, d, bad, x + k0, ex + k0, y + k0 * N, ey + k0 * N, W, G, 0);
        finish(c, d, flags, bad, W);
    }
}

/* Values of W / columns rows (wide[k][q * columns + j] is that of row q, column j), stride apart; of each row one for all
 * columns (each 0), or one for each. */
#define WIDENED(T, wide, from, stride, depth, each)                                                                     \
    for (int64_t k = 0; k < depth; k++)                                                                                 \
        for (int q = 0; q < W / columns; q++) {                                                                         \
            T *const to = wide + k * W + q * columns;                                                                   \
            const T one = each ? 0 : from[q * stride + k];                                                              \
            for (int j = 0; j < columns; j++)                                                                           \
                to[j] = each ? from[k * columns + j] : one;                                                             \
        }

enum { PART = 64 }; /* of K at a time */

/* aligned_truncated of few columns: 32 lanes are those of some rows. Rows from first to before last are of one entry. */
INLINE void aligned_rows(const Task *t, int64_t first, int64_t last, const int columns, const int G) {
    enum { W = MOST_LANES };
    const int64_t K = t->depth, R = W / columns, N = t->columns;
    float d[W], x[PART * W], y[PART * W];
    int16_t ex[PART * W], ey[PART * W];
    int32_t bad[W];
    for (int64_t j0 = 0; j0 < N; j0 += columns)
        for (int64_t from = 0; from < K; from += PART) {
            const int64_t depth = K - from < PART ? K - from : PART, line = (first / t->rows * N + j0) * K + from * columns;
            WIDENED(float, y, ((const float *)t->b + line), 0, depth, 1)
            WIDENED(int16_t, ey, (t->exponent_b + line), 0, depth, 1)
            for (int64_t r = first; r < last; r += R) {
                float *const c = (float *)t->c + r * N + j0;
                WIDENED(float, x, ((const float *)t->a + r * K + from), K, depth, 0)
                WIDENED(int16_t, ex, (t->exponent_a + r * K + from), K, depth, 0)
                for (int q = 0; q < R; q++)
                    memcpy(d + q * columns, c + q * N, (size_t)columns * sizeof *d);
                LANES bad[j] = 0;
                for (int64_t k = 0; k < depth; k += G)
                    aligned_step(t, d, bad, x + k * W, ex + k * W, y + k * W, ey + k * W, W, G, 1);
                for (int q = 0; q < R; q++)
                    finish(c + q * N, d + q * columns, t->flags + (r + q) * N + j0, bad + q * columns, columns);
            }
        }
}

/* Rows whose number is no multiple of what 32 lanes hold are taken one by one. */
INLINE void aligned_narrow(const Task *t, int64_t first, int64_t last, const int columns, const int G) {
    const int64_t R = MOST_LANES / columns;
    for (int64_t end; first < last; first = end) {
        end = (first / t->rows + 1) * t->rows < last ? (first / t->rows + 1) * t->rows : last;
        const int64_t full = first + (end - first) / R * R;
        aligned_rows(t, first, full, columns, G);
        if (full < end)
            aligned(t, full, end, columns, G);
    }
}

#define ALIGNED(G)                                                                                                      \
    if (t->lanes == 8)                                                                                                  \
        aligned_narrow(t, first, last, 8, G);                                                                             \
    else if (t->lanes == 16)                                                                                            \
        aligned_narrow(t, first, last, 16, G);                                                                            \
    else                                                                                                                \
        aligned(t, first, last, 32, G);                                                                                 \
    break

EXPORT void mmacalc_aligned_truncated(const Task *t, int64_t first, int64_t last) {
    switch (t->group) {
    case 4: ALIGNED(4);
    case 8: ALIGNED(8);
    case 16: ALIGNED(16);
    case 32: ALIGNED(32);
    }
}
