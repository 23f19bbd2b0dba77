/* What the files of the core share: the task, sums and roundings of single elements, and the loops of every kernel.
 * See core.c for what a kernel does.
 */
#ifndef MMACALC_CORE_H
#define MMACALC_CORE_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#define EMPTY (-4096)     /* the exponent of a zero; two of them make less than NOTHING */
#define NOTHING (-2000)
#define HUGE_EXPONENT 2000 /* the exponents of infinities and NaN are above; NONFINITE is 12288 */
#define LOW (-94)          /* alignments between LOW and HIGH scale in float32 without rounding anything that counts */
#define HIGH 94

#if defined(_WIN32)
#define VISIBLE __declspec(dllexport)
#else
#define VISIBLE __attribute__((visibility("default")))
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__gnu_linux__)
#define EXPORT VISIBLE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EXPORT VISIBLE
#endif
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static __forceinline
#endif

enum { OUT_F32, OUT_F16, OUT_BF16 };

typedef struct {
    const void *a, *b, *scale_a, *scale_b;                          /* values; the scales are float32, one for each block */
    const int16_t *exponent_a, *exponent_b, *exponent_sa, *exponent_sb;
    void *c;                                                        /* in: C; out: D */
    uint8_t *flags;
    int64_t rows, columns, depth;                                   /* M, padded N and K of one entry */
    int32_t lanes, group, fraction, dot_fraction, sum_fraction, reach, lowest, kept, flush, out, low_bits, pair, narrow;
} Task;

INLINE double pow2(int64_t e) { int64_t b = (e + 1023) << 52; double d; memcpy(&d, &b, 8); return d; }
INLINE float pow2f(int32_t e) { int32_t b = (e + 127) << 23; float f; memcpy(&f, &b, 4); return f; }
INLINE int64_t bits_of(double d) { int64_t b; memcpy(&b, &d, 8); return b; }
INLINE double of_bits(int64_t b) { double d; memcpy(&d, &b, 8); return d; }
INLINE int32_t clamp(int32_t x, int32_t low, int32_t high) { return x < low ? low : x > high ? high : x; }
INLINE int32_t larger(int32_t x, int32_t y) { return x > y ? x : y; }

/* The exponent that c is aligned by. */
INLINE int32_t exponent_of(float c) {
    uint32_t b;
    memcpy(&b, &c, 4);
    int32_t e = (int32_t)(b >> 23 & 255);
    return (b << 1) == 0 ? 2 * EMPTY : e == 255 ? HUGE_EXPONENT + 1 : (e ? e : 1) - 127;
}

/* To nearest even with `fraction` bits of exponents from `least`, sign kept. */
INLINE double nearest(double v, int fraction, int least) {
    int64_t e = (bits_of(v) >> 52 & 2047) - 1023;
    double big = 1.5 * pow2((e > least ? e : least) - fraction + 52);
    return copysign((v + big) - big, v);
}

/* The sum of two numbers, of which the result may have any error, as a number that rounds as the exact sum does. */
INLINE double odd_sum(double x, double y) {
    double s = x + y, t = s - x, error = (x - (s - t)) + (y - t);
    int64_t b = bits_of(s), step = (error > 0) == (s > 0) ? 1 : -1;
    return of_bits(error != 0 && (b & 1) == 0 ? b + step : b);
}

/* Loops of every kernel: tiles of TILE elements, which are W columns of TILE / W rows, in parts of V, each of one row.
 * Of part i x[i], ex[i] are the row of A; y[i], ey[i] its columns of B, line after line of k, N apart; c[i] and own[i]
 * are D's elements and flags. Rows beyond the last one repeat it. B lies in strips of N columns, one after the other,
 * so that a strip stays in the cache while all rows pass it. All else is computed of all elements alike: so GCC takes
 * two vectors of 16 at once or more, of which one is computed while the others wait for results. */
#ifndef TILE
#define TILE 32
#endif
#define MOST_PARTS (TILE / 8)
#define ROWS_BEGIN(T)                                                                                                   \
    const int V = W < 16 ? W : 16, R = TILE / W, PARTS = TILE / V, C = PARTS / R;                                       \
    for (int64_t j0 = 0; j0 < t->columns; j0 += W)                                                                      \
        for (int64_t r = first, rows; r < last; r += rows) {                                                            \
            const int64_t N = W, K = t->depth, entry = r / t->rows, strip = entry * t->columns + j0;                    \
            const int64_t end = (entry + 1) * t->rows < last ? (entry + 1) * t->rows : last;                            \
            const T *x[MOST_PARTS], *y[MOST_PARTS];                                                                     \
            T *c[MOST_PARTS];                                                                                           \
            uint8_t *own[MOST_PARTS];                                                                                   \
            int64_t row[MOST_PARTS];                                                                                    \
            rows = end - r < R ? end - r : R;                                                                           \
            for (int i = 0; i < PARTS; i++) {                                                                           \
                row[i] = r + (i / C < rows ? i / C : rows - 1);                                                         \
                x[i] = (const T *)t->a + row[i] * K;                                                                    \
                y[i] = (const T *)t->b + strip * K + i % C * V;                                                         \
                c[i] = (T *)t->c + row[i] * t->columns + j0 + i % C * V;                                                \
                own[i] = t->flags + row[i] * t->columns + j0 + i % C * V;                                               \
            }
#define EXPONENTS                                                                                                       \
    const int16_t *ex[MOST_PARTS], *ey[MOST_PARTS];                                                                     \
    for (int i = 0; i < PARTS; i++) {                                                                                   \
        ex[i] = t->exponent_a + row[i] * K;                                                                             \
        ey[i] = t->exponent_b + strip * K + i % C * V;                                                                  \
    }
#define LANES for (int j = 0; j < TILE; j++)
/* GCC would replace a loop of 16 turns or less by its turns, before it looks for vectors. */
#if defined(__GNUC__) && !defined(__clang__)
#define AS_A_LOOP _Pragma("GCC unroll 1")
#else
#define AS_A_LOOP
#endif
#define PART(number, ...)                                                                                               \
    AS_A_LOOP for (int j = 0; j < V; j++) { enum { i = number }; const int n = number * V + j; (void)n; __VA_ARGS__ }
/* Statements for each element of a tile: its part, i, its place in it, j, and in the tile, n. */
#define ELEMENTS(...)                                                                                                   \
    do {                                                                                                                \
        if (W == TILE) {                                                                                                \
            LANES { enum { i = 0 }; const int n = j; (void)n; __VA_ARGS__ }                                             \
        } else {                                                                                                        \
            PART(0, __VA_ARGS__)                                                                                        \
            PART(1, __VA_ARGS__)                                                                                        \
            if (PARTS > 2) {                                                                                            \
                PART(2, __VA_ARGS__)                                                                                    \
                PART(3, __VA_ARGS__)                                                                                    \
            }                                                                                                           \
            if (PARTS > 4) {                                                                                            \
                PART(4, __VA_ARGS__)                                                                                    \
                PART(5, __VA_ARGS__)                                                                                    \
                PART(6, __VA_ARGS__)                                                                                    \
                PART(7, __VA_ARGS__)                                                                                    \
            }                                                                                                           \
        }                                                                                                               \
    } while (0)

/* The sums of a tile, d, which begin with the values of C, and which of them are flagged, bad. value: c[i][j]. */
#define START(value)                                                                                                   \
    float d[TILE];                                                                                                     \
    int32_t bad[TILE];                                                                                                 \
    ELEMENTS(d[n] = value;);                                                                                           \
    LANES bad[j] = 0;

INLINE void finish(float *restrict c, const float *restrict d, uint8_t *restrict flags, const uint8_t *restrict wrong,
                   const int V) {
    AS_A_LOOP for (int j = 0; j < V; j++) c[j] = d[j];
    AS_A_LOOP for (int j = 0; j < V; j++) flags[j] |= wrong[j];
}
/* Write a tile's results. */
#define FINISH(d, bad)                                                                                                  \
    do {                                                                                                                \
        uint8_t wrong[TILE];                                                                                            \
        LANES wrong[j] = (uint8_t)((bad[j] != 0) | !(fabsf(d[j]) <= 3.4028234e38f));                                    \
        for (int i = 0; i < PARTS; i++)                                                                                 \
            finish(c[i], d + i * V, own[i], wrong + i * V, V);                                                          \
    } while (0)

/* The largest exponent of the products k0, k0 + step ... below k1. */
#define LARGEST(e, k0, k1, step)                                                                                        \
    do {                                                                                                                \
        if (W == TILE) {                                                                                                \
            int16_t most_[TILE];                                                                                        \
            LANES most_[j] = 2 * EMPTY;                                                                                 \
            for (int64_t k = k0; k < k1; k += step) {                                                                   \
                const int16_t s = ex[0][k], *z = ey[0] + k * N;                                                         \
                LANES { int16_t p = (int16_t)(s + z[j]); most_[j] = p > most_[j] ? p : most_[j]; }                      \
            }                                                                                                           \
            LANES e[j] = most_[j];                                                                                      \
        } else {                                                                                                        \
            LANES e[j] = 2 * EMPTY;                                                                                     \
            for (int64_t k = k0; k < k1; k += step)                                                                     \
                ELEMENTS(e[n] = larger(e[n], ex[i][k] + ey[i][k * N + j]););                                            \
        }                                                                                                               \
    } while (0)
/* The products k0, k0 + step ... below k1, scaled and cut toward zero, added to sum. Unsigned: flagged lanes may wrap. */
#define CUT_SUM(sum, scale, k0, k1, step)                                                                               \
    for (int64_t k = k0; k < k1; k += step) {                                                                           \
        const float f = x[0][k], *z = y[0] + k * N;                                                                     \
        if (W == TILE)                                                                                                  \
            LANES sum[j] += (uint32_t)(int32_t)(f * z[j] * scale[j]);                                                   \
        else                                                                                                            \
            ELEMENTS(sum[n] += (uint32_t)(int32_t)(x[i][k] * y[i][k * N + j] * scale[n]););                             \
    }

/* A call by W, the columns that are taken at once. */
#define WIDTHS(call)                                                                                                    \
    do {                                                                                                                \
        if (t->lanes == 8) { enum { W = 8 }; call; }                                                                    \
        else if (t->lanes == 16) { enum { W = 16 }; call; }                                                             \
        else { enum { W = 32 }; call; }                                                                                 \
    } while (0)

#endif
