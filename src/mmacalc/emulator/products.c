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
    int64_t rows;              /* whether 16 elements after each other lie so in a register */
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

/* The values and exponents of elements; of padding a zero. */
#define TAKEN(name, type)                                                                                               \
    INLINE void name(const Matrix *m, const type *restrict file, float *restrict values,                                \
                     int16_t *restrict exponents) {                                                                     \
        const int32_t *restrict at = m->at;                                                                             \
        const float *restrict value_of = m->values;                                                                     \
        const int16_t *restrict exponent_of = m->exponents;                                                             \
        const int64_t count = m->count;                                                                                 \
        if (exponents && !m->padded)                                                                                    \
            for (int64_t i = 0; i < count; i++) {                                                                       \
                const uint32_t code = file[at[i]];                                                                      \
                values[i] = value_of[code];                                                                             \
                exponents[i] = exponent_of[code];                                                                       \
            }                                                                                                           \
        else                                                                                                            \
            for (int64_t i = 0; i < count; i++) {                                                                       \
                values[i] = at[i] < 0 ? 0 : value_of[file[at[i]]];                                                      \
                if (exponents)                                                                                          \
                    exponents[i] = at[i] < 0 ? EMPTY : exponent_of[file[at[i]]];                                        \
            }                                                                                                           \
    }
TAKEN(taken_8, uint8_t)
TAKEN(taken_16, uint16_t)
#undef TAKEN

/* Values and exponents of codes of 16 or 8 bits, where a zero, an infinity or NaN is known by its exponent. The codes
 * come into the place of the exponents first. */
INLINE void computed(const Matrix *m, const void *file, float *restrict values, int16_t *restrict exponents,
                     const int bits) {
    const int32_t *restrict const at = m->at;
    const uint16_t *restrict const halves = file;
    const uint8_t *restrict const bytes = file;
    if (m->padded)
        for (int64_t i = 0; i < m->count; i++)
            exponents[i] = (int16_t)(at[i] < 0 ? 0 : bits == 16 ? halves[at[i]] : bytes[at[i]]);
    else
        for (int64_t i = 0; i < m->count; i++)
            exponents[i] = (int16_t)(bits == 16 ? halves[at[i]] : bytes[at[i]]);
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

INLINE void taken_32(const Matrix *m, const uint32_t *restrict file, float *restrict values,
                     int16_t *restrict exponents) {
    const int32_t *restrict at = m->at;
    const uint32_t cut = (uint32_t)m->cut;
    for (int64_t i = 0; i < m->count; i++) {
        const uint32_t code = at[i] < 0 ? 0 : file[at[i]] & cut;
        memcpy(values + i, &code, 4);
        if (exponents) {
            const int32_t field = code >> 23 & 255;
            exponents[i] = (int16_t)(code << 1 == 0 ? EMPTY : field == 255 ? 12288 : (field ? field : 1) - 127);
        }
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
        taken_32(m, file, values, exponents);
    else if (exponents && m->mantissa && m->bits == 16)
        computed(m, file, values, exponents, 16);
    else if (exponents && m->mantissa)
        computed(m, file, values, exponents, 8);
    else if (m->bits == 16)
        taken_16(m, file, values, exponents);
    else
        taken_8(m, file, values, exponents);
}

/* C as it is in registers, all of it `constant` where there is none; and D to registers. */
INLINE void read_sums(const Matrix *m, const uint32_t *restrict file, uint32_t constant, float *restrict sums) {
    const int32_t *restrict at = m->at;
    if (file && m->rows) {
        for (int64_t i = 0; i < m->count; i += 16)
            memcpy(sums + i, file + at[i], 64);
        return;
    }
    for (int64_t i = 0; i < m->count; i++) {
        const uint32_t code = at[i] < 0 ? 0 : file ? file[at[i]] : constant;
        memcpy(sums + i, &code, 4);
    }
}
INLINE void write_sums(const Matrix *m, uint32_t *restrict file, const float *restrict sums) {
    const int32_t *restrict at = m->at;
    if (m->rows) {
        for (int64_t i = 0; i < m->count; i += 16)
            memcpy(file + at[i], sums + i, 64);
        return;
    }
    for (int64_t i = 0; i < m->count; i++)
        if (at[i] >= 0)
            memcpy(file + at[i], sums + i, 4);
}

/* Whether the kernel flags an element that is no padding. */
INLINE int flagged(const Matrix *m, const uint8_t *restrict flags) {
    const int32_t *restrict at = m->at;
    uint8_t bad = 0;
    for (int64_t i = 0; i < m->count; i++)
        bad |= flags[i] & (uint8_t)(at[i] >= 0);
    return bad;
}

/* One product, C of which is a constant where it is NULL; whether it is done. */
INLINE int multiplied(const Table *t, const Task *task, const void *a, const void *b, const uint32_t *c,
                      uint32_t constant, uint32_t *d) {
    float *sums = (float *)task->c;
    if (!alike(&t->a, a) || !alike(&t->b, b))
        return 0;
    read_matrix(&t->a, a, (float *)task->a, (int16_t *)task->exponent_a);
    read_matrix(&t->b, b, (float *)task->b, (int16_t *)task->exponent_b);
    read_sums(&t->c, c, constant, sums);
    for (int64_t i = 0; task->flush && i < t->d.count; i++)
        sums[i] = fabsf(sums[i]) < 1.17549435e-38f ? 0 : sums[i];
    memset(task->flags, 0, (size_t)t->d.count);
    t->kernel(task, 0, t->blocks * task->rows);
    if (flagged(&t->d, task->flags))
        return 0;
    write_sums(&t->d, d, sums);
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
