/* Matrix instructions on the registers of whole waves: what mmacalc.kernels.amd.products calls where this file has been
 * compiled. The elements are read from the registers as a kernel of core.c or rdna.c takes them, and D is written back.
 *
 * Of a wave in which the kernel flags an element nothing is written: the caller carries the instruction out there on
 * NumPy and by the models.
 */
#include "core.h"
#include "waves.h"

typedef struct {
    const void *file;          /* registers (register, wave, lane); of C NULL if it is a constant */
    const int32_t *at;         /* in elements, of the first wave; -1 of padding */
    const int32_t *copy;       /* the same of the other copies, one after the other */
    const float *values;       /* by code; NULL of float32 */
    const int16_t *exponents;  /* by code; NULL if the kernel reads none */
    int64_t count, copies;     /* of elements, and of further copies */
    int32_t bits, cut;         /* of an element; of tf32 the bits that count */
    uint32_t constant;
} Matrix;

typedef struct {
    Task task;
    void (*kernel)(const Task *, int64_t, int64_t);
    Matrix a, b, c, d;
    float *values_a, *values_b, *values_c; /* room for the elements of one wave */
    int16_t *exponents_a, *exponents_b;
    uint8_t *flags, *declined;             /* by wave that runs */
    int64_t blocks;
} Product;

INLINE uint32_t code_at(const void *file, int64_t at, int32_t bits) {
    return bits == 32 ? ((const uint32_t *)file)[at] : bits == 16 ? ((const uint16_t *)file)[at] : ((const uint8_t *)file)[at];
}

INLINE void taken(const Matrix *m, const int64_t start, float *restrict values, int16_t *restrict exponents,
                  const int32_t bits) {
    for (int64_t i = 0; i < m->count; i++) {
        const int32_t at = m->at[i];
        if (at < 0) {
            values[i] = 0;
            if (exponents)
                exponents[i] = EMPTY;
            continue;
        }
        uint32_t code = code_at(m->file, start + at, bits);
        if (bits == 32) {
            code &= (uint32_t)m->cut;
            memcpy(values + i, &code, 4);
            if (exponents) {
                const int32_t field = code >> 23 & 255;
                exponents[i] = (int16_t)(code << 1 == 0 ? EMPTY : field == 255 ? 12288 : (field ? field : 1) - 127);
            }
            continue;
        }
        values[i] = m->values[code];
        if (exponents)
            exponents[i] = m->exponents[code];
    }
}

/* Whether all copies of the elements are the same. */
INLINE int alike(const Matrix *m, const int64_t start) {
    for (int64_t copy = 0; copy < m->copies; copy++)
        for (int64_t i = 0; i < m->count; i++)
            if (m->at[i] >= 0 && code_at(m->file, start + m->at[i], m->bits) !=
                                     code_at(m->file, start + m->copy[copy * m->count + i], m->bits))
                return 0;
    return 1;
}

INLINE void read_matrix(const Matrix *m, int64_t wave, int64_t lanes, float *values, int16_t *exponents) {
    const int64_t start = wave * lanes * (32 / m->bits);
    if (m->bits == 32)
        taken(m, start, values, exponents, 32);
    else if (m->bits == 16)
        taken(m, start, values, exponents, 16);
    else
        taken(m, start, values, exponents, 8);
}

/* One wave; whether it is done. */
INLINE int multiplied(const Waves *w, const Product *p, int64_t wave, int64_t lanes) {
    if (!alike(&p->a, wave * lanes * (32 / p->a.bits)) || !alike(&p->b, wave * lanes * (32 / p->b.bits)))
        return 0;
    read_matrix(&p->a, wave, lanes, p->values_a, p->exponents_a);
    read_matrix(&p->b, wave, lanes, p->values_b, p->exponents_b);
    const uint32_t *c = p->c.file;
    uint32_t *d = (uint32_t *)p->d.file;
    for (int64_t i = 0; i < p->d.count; i++) {
        const uint32_t code = p->d.at[i] < 0 ? 0 : c ? c[wave * lanes + p->c.at[i]] : p->c.constant;
        memcpy(p->values_c + i, &code, 4);
        if (p->task.flush && fabsf(p->values_c[i]) < 1.17549435e-38f)
            p->values_c[i] = 0;
        p->flags[i] = 0;
    }
    p->kernel(&p->task, 0, p->blocks * p->task.rows);
    uint8_t bad = 0;
    for (int64_t i = 0; i < p->d.count; i++)
        bad |= p->d.at[i] < 0 ? 0 : p->flags[i];
    if (bad)
        return 0;
    for (int64_t i = 0; i < p->d.count; i++)
        if (p->d.at[i] >= 0)
            memcpy(d + wave * lanes + p->d.at[i], p->values_c + i, 4);
    (void)w;
    return 1;
}

/* The instruction in all waves that run, of so many lanes. Returns how many of them it has declined. */
EXPORT int64_t mmacalc_products(const Waves *w, const Product *p, int64_t lanes) {
    int64_t declined = 0;
    for (int64_t n = 0; n < w->count; n++) {
        p->declined[n] = (uint8_t)!multiplied(w, p, w->rows[n], lanes);
        declined += p->declined[n];
    }
    return declined;
}
