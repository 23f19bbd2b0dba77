/* Matrix instructions on registers and memory as they are: what mmacalc.emulator.fragments describes. The elements are
 * read as a kernel of core.c or rdna.c takes them, and D is written back.
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
    int64_t padded;            /* whether there is padding */
    int32_t bits, cut;         /* of an element; of tf32 the bits that count */
    int32_t mantissa, bias;    /* of a format of which `computed` gives what the tables do; mantissa is 0 of others */
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

/* Values and exponents of codes of 16 or 8 bits, where a zero, an infinity or NaN is known by its exponent. The codes are
 * in the place of the exponents. */
INLINE void computed(const Matrix *m, float *restrict values, int16_t *restrict exponents, const int bits) {
    const int mantissa = m->mantissa, bias = m->bias, most = (1 << (bits - 1 - mantissa)) - 1;
    const float scale = pow2f(127 - bias);
    for (int64_t i = 0; i < m->count; i++) {
        const uint32_t code = (uint16_t)exponents[i], size = code & ((1u << (bits - 1)) - 1);
        const uint32_t word = size << (23 - mantissa);
        const int32_t field = (int32_t)(size >> mantissa);
        float value;
        memcpy(&value, &word, 4);
        values[i] = code >> (bits - 1) ? -(value * scale) : value * scale;
        exponents[i] = (int16_t)(size == 0 ? EMPTY : field == most ? 12288 : (field ? field : 1) - bias);
    }
}

INLINE void taken(const Matrix *m, const void *file, float *restrict values, int16_t *restrict exponents,
                  const int32_t bits) {
    if (exponents && m->mantissa && bits < 32) {
        const int32_t *restrict const at = m->at;
        if (m->padded)
            for (int64_t i = 0; i < m->count; i++)
                exponents[i] = (int16_t)(at[i] < 0 ? 0 : code_at(file, at[i], bits));
        else
            for (int64_t i = 0; i < m->count; i++)
                exponents[i] = (int16_t)code_at(file, at[i], bits);
        computed(m, values, exponents, bits);
        return;
    }
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

INLINE void read_sums(const Table *t, const uint32_t *restrict c, uint32_t constant, uint32_t *restrict sums) {
    const int32_t *restrict const at = t->c.at;
    const int64_t count = t->d.count;
    if (c && !t->d.padded)
        for (int64_t i = 0; i < count; i++)
            sums[i] = c[at[i]];
    else
        for (int64_t i = 0; i < count; i++)
            sums[i] = t->d.at[i] < 0 ? 0 : c ? c[at[i]] : constant;
}

INLINE void write_sums(const Table *t, uint32_t *restrict d, const uint32_t *restrict sums) {
    const int32_t *restrict const at = t->d.at;
    for (int64_t i = 0; i < t->d.count; i++)
        d[at[i]] = sums[i];
}

/* One product, C of which is a constant where it is NULL; whether it is done. */
INLINE int multiplied(const Table *t, const Task *task, const void *a, const void *b, const uint32_t *c,
                      uint32_t constant, uint32_t *d) {
    float *sums = (float *)task->c;
    if (!alike(&t->a, a) || !alike(&t->b, b))
        return 0;
    read_matrix(&t->a, a, (float *)task->a, (int16_t *)task->exponent_a);
    read_matrix(&t->b, b, (float *)task->b, (int16_t *)task->exponent_b);
    read_sums(t, c, constant, (uint32_t *)sums);
    for (int64_t i = 0; task->flush && i < t->d.count; i++)
        if (fabsf(sums[i]) < 1.17549435e-38f)
            sums[i] = 0;
    memset(task->flags, 0, (size_t)t->d.count);
    t->kernel(task, 0, t->blocks * task->rows);
    uint8_t bad = 0;
    for (int64_t i = 0; i < t->d.count; i++)
        bad |= t->d.at[i] < 0 ? 0 : task->flags[i];
    if (bad)
        return 0;
    if (t->d.padded) {
        for (int64_t i = 0; i < t->d.count; i++)
            if (t->d.at[i] >= 0)
                memcpy(d + t->d.at[i], sums + i, 4);
    } else
        write_sums(t, d, (const uint32_t *)sums);
    return 1;
}

/* The kernel's task, with room for the elements of one product. */
INLINE Task task_of(const Table *t, float *room) {
    Task task = t->task;
    float *b = room + t->a.count, *c = b + t->b.count;
    int16_t *exponents = (int16_t *)(c + t->d.count);
    task.a = room, task.b = b, task.c = c;
    task.exponent_a = t->aligned ? exponents : NULL;
    task.exponent_b = t->aligned ? exponents + t->a.count : NULL;
    task.flags = (uint8_t *)(exponents + t->a.count + t->b.count);
    return task;
}

/* The instruction in all waves that run, of 32 or 64 lanes: whether it is done in all of them. */
EXPORT int64_t mmacalc_product(const Waves *w, const Product *p, int64_t lanes) {
    const Task task = task_of(p->table, w->values);
    uint8_t declined = 0;
    for (int64_t n = 0; n < w->count; n++) {
        const int64_t wave = w->rows[n];
        const uint32_t *c = p->c >> 16 == CONSTANT ? NULL : register_of(w, p->c, wave, lanes);
        w->declined[n] = (uint8_t)!multiplied(p->table, &task, register_of(w, p->a, wave, lanes),
                                              register_of(w, p->b, wave, lanes), c, p->constant,
                                              register_of(w, p->d, wave, lanes));
        declined |= w->declined[n];
    }
    return !declined;
}

/* Products of one instruction whose operands begin at bytes `starts` of some arrays, (operand, product): whether all are
 * done. declined: of each whether it is not; zero: of each whether C is zeros. */
EXPORT int64_t mmacalc_products(const Table *t, int64_t count, uint8_t *const *arrays, const int64_t *starts,
                                const uint8_t *zero, float *room, uint8_t *declined) {
    const Task task = task_of(t, room);
    uint8_t left = 0;
    for (int64_t n = 0; n < count; n++) {
        const uint32_t *c = zero[n] ? NULL : (const uint32_t *)(arrays[2] + starts[2 * count + n]);
        declined[n] = (uint8_t)!multiplied(t, &task, arrays[0] + starts[n], arrays[1] + starts[count + n], c, 0,
                                           (uint32_t *)(arrays[3] + starts[3 * count + n]));
        left |= declined[n];
    }
    return !left;
}
