/* Matrix instructions on the registers of whole waves: what mmacalc.kernels.amd.products describes. The elements are read
 * from the registers as a kernel of core.c or rdna.c takes them, and D is written back.
 *
 * Of a wave in which the kernel flags an element nothing is written: the caller carries the instruction out there on
 * NumPy and by the models.
 */
#include "waves.h"

typedef struct {
    const int32_t *at;         /* in elements, of the first wave, from the operand's first register; -1 of padding */
    const int32_t *words;      /* registers of a lane that hold elements of which there are other copies */
    const int32_t *copy;       /* and those with a copy, in the same order */
    const float *values;       /* by code; NULL of float32 */
    const int16_t *exponents;  /* by code; NULL if the kernel reads none */
    int64_t count, copies;     /* of elements, and of such pairs of registers */
    int32_t bits, cut;         /* of an element; of tf32 the bits that count */
} Matrix;

/* An instruction of the catalog in a batch of some waves. */
typedef struct {
    Task task;                 /* without its pointers */
    void (*kernel)(const Task *, int64_t, int64_t);
    Matrix a, b, c, d;
    int64_t blocks, aligned;   /* whether the kernel reads exponents */
} Table;

typedef struct {
    const Table *table;
    int32_t a, b, c, d;        /* operands; C may be a constant */
    uint32_t constant;
} Product;

INLINE uint32_t code_at(const void *file, int64_t at, int32_t bits) {
    return bits == 32 ? ((const uint32_t *)file)[at] : bits == 16 ? ((const uint16_t *)file)[at] : ((const uint8_t *)file)[at];
}

INLINE void taken(const Matrix *m, const void *file, float *restrict values, int16_t *restrict exponents,
                  const int32_t bits) {
    for (int64_t i = 0; i < m->count; i++) {
        const int32_t at = m->at[i];
        if (at < 0) {
            values[i] = 0;
            if (exponents)
                exponents[i] = EMPTY;
            continue;
        }
        uint32_t code = code_at(file, at, bits);
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
INLINE int alike(const Matrix *m, const uint32_t *file) {
    uint32_t different = 0;
    for (int64_t i = 0; i < m->copies; i++)
        different |= file[m->words[i]] ^ file[m->copy[i]];
    return !different;
}

INLINE void read_matrix(const Matrix *m, const void *file, float *values, int16_t *exponents) {
    if (m->bits == 32)
        taken(m, file, values, exponents, 32);
    else if (m->bits == 16)
        taken(m, file, values, exponents, 16);
    else
        taken(m, file, values, exponents, 8);
}

/* One wave; whether it is done. */
INLINE int multiplied(const Waves *w, const Product *p, const Task *task, int64_t wave, int64_t lanes) {
    const Table *t = p->table;
    const uint32_t *a = register_of(w, p->a, wave, lanes), *b = register_of(w, p->b, wave, lanes);
    const uint32_t *c = p->c >> 16 == CONSTANT ? NULL : register_of(w, p->c, wave, lanes);
    uint32_t *d = register_of(w, p->d, wave, lanes);
    float *sums = (float *)task->c;
    if (!alike(&t->a, a) || !alike(&t->b, b))
        return 0;
    read_matrix(&t->a, a, (float *)task->a, (int16_t *)task->exponent_a);
    read_matrix(&t->b, b, (float *)task->b, (int16_t *)task->exponent_b);
    for (int64_t i = 0; i < t->d.count; i++) {
        const uint32_t code = t->d.at[i] < 0 ? 0 : c ? c[t->c.at[i]] : p->constant;
        memcpy(sums + i, &code, 4);
        if (task->flush && fabsf(sums[i]) < 1.17549435e-38f)
            sums[i] = 0;
        task->flags[i] = 0;
    }
    t->kernel(task, 0, t->blocks * task->rows);
    uint8_t bad = 0;
    for (int64_t i = 0; i < t->d.count; i++)
        bad |= t->d.at[i] < 0 ? 0 : task->flags[i];
    if (bad)
        return 0;
    for (int64_t i = 0; i < t->d.count; i++)
        if (t->d.at[i] >= 0)
            memcpy(d + t->d.at[i], sums + i, 4);
    return 1;
}

/* The instruction in all waves that run, of 32 or 64 lanes: whether it is done in all of them. */
EXPORT int64_t mmacalc_product(const Waves *w, const Product *p, int64_t lanes) {
    const Table *t = p->table;
    Task task = t->task;
    uint8_t declined = 0;
    float *b = w->values + t->a.count, *c = b + t->b.count;
    int16_t *exponents = (int16_t *)(c + t->d.count);
    task.a = w->values, task.b = b, task.c = c;
    task.exponent_a = t->aligned ? exponents : NULL;
    task.exponent_b = t->aligned ? exponents + t->a.count : NULL;
    task.flags = (uint8_t *)(exponents + t->a.count + t->b.count);
    for (int64_t n = 0; n < w->count; n++)
        declined |= w->declined[n] = (uint8_t)!multiplied(w, p, &task, w->rows[n], lanes);
    return !declined;
}
