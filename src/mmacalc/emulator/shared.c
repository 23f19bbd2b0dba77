/* Loads and stores of LDS by whole waves of AMD's machine code: what mmacalc.kernels.amd.local_access calls where this
 * file has been compiled.
 *
 * An access is carried out here only if there is nothing to say about it: every active lane within LDS, at a multiple of
 * what the hardware likes, no byte that nothing has written, no byte that another wave has accessed in a way that races
 * since the last barrier. Else it declines, and nothing has changed: the caller carries it out on NumPy, and finds out
 * what there is to say. What is kept of an access is what mmacalc.kernels.device.races keeps.
 */
#include "core.h"
#include "waves.h"

typedef struct {
    const uint32_t *address;         /* the register of it: (wave, lane) */
    uint32_t *registers;             /* the first one that is loaded or stored: (register, wave, lane) */
    uint8_t *data, *undefined;       /* of all workgroups, and which bytes are not written */
    const uint8_t *against[12];      /* by byte, waves (from 1) that made accesses with which this one races */
    uint8_t *first, *second;         /* by byte, two waves that made an access of this kind */
    uint16_t *first_label, *second_label;
    const int64_t *workgroup;        /* by wave, its workgroup in the batch */
    const uint8_t *number;           /* by wave, its number in its workgroup, from 1 */
    int64_t *places;                 /* out: the bytes that the active lanes access */
    uint32_t *before;                /* room for `size` bytes of each of them, and one more */
    uint8_t *read;                   /* by byte of a workgroup's LDS, whether something has read it, */
    int32_t *writer;                 /* and which instruction was the last to write it */
    int64_t size, native, offset, limit, stride, layers, label, stores, narrow; /* narrow: 0, or as in put_narrow */
    int64_t instruction;             /* its address */
    uint64_t pattern;                /* out: a number for the addresses, counted from a multiple of 256 on */
    int64_t active;                  /* out: active lanes */
} Local;

INLINE uint64_t mixed(uint64_t z) { /* splitmix64 */
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

/* Find the places; whether all are fine. */
INLINE int located(const Waves *w, Local *t, const int L) {
    static const int64_t period = 256;
    uint64_t factors[64], relative = 0;
    int64_t k = 0;
    for (int j = 0; j < L; j++)
        factors[j] = mixed((uint64_t)j) | 1;
    for (int64_t n = 0; n < w->count; n++) {
        const int64_t wave = w->rows[n];
        const uint32_t *e = w->s + w->exec * w->waves + wave, *address = t->address + wave * L;
        const uint64_t exec = e[0] | (L == 64 ? (uint64_t)e[w->waves] << 32 : 0);
        const int64_t start = t->workgroup[wave] * t->stride;
        int64_t least = INT64_MAX;
        uint64_t sum = 0, ones = 0;
        uint32_t wrong = 0;
        for (int j = 0; j < L; j++) {
            if (!(exec >> j & 1))
                continue;
            const uint32_t at = address[j] + (uint32_t)t->offset;
            wrong |= (at > t->limit - t->size) | ((at & (t->native - 1)) != 0);
            least = at < least ? at : least;
            sum += (at + 1ull) * factors[j];
            ones += factors[j];
            t->places[k++] = start + at;
        }
        if (wrong)
            return 0;
        if (least == INT64_MAX)
            least = 0;
        relative = mixed(relative ^ (sum - ones * (uint64_t)(least / period * period))) + (uint64_t)n;
    }
    t->active = k;
    t->pattern = relative;
    return 1;
}

/* The wave that makes the k-th of the accesses, in `owner`. */
INLINE void owned(const Waves *w, const Local *t, uint8_t *owner, const int L) {
    int64_t k = 0;
    for (int64_t n = 0; n < w->count; n++) {
        const int64_t wave = w->rows[n];
        const uint32_t *e = w->s + w->exec * w->waves + wave;
        const uint64_t exec = e[0] | (L == 64 ? (uint64_t)e[w->waves] << 32 : 0);
        for (int j = 0; j < L; j++)
            if (exec >> j & 1)
                owner[k++] = t->number[wave];
    }
}

#define WORD(array, at, unit) ((unit) == 4 ? load4((array) + (at)) : (unit) == 2 ? load2((array) + (at)) : (array)[at])
INLINE uint32_t load4(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
INLINE uint32_t load2(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return v; }

INLINE void enter(uint8_t *waves, uint16_t *labels, int64_t at, uint32_t own, uint16_t label, const int unit) {
    const uint32_t word = own * 0x01010101u;
    memcpy(waves + at, &word, (size_t)unit);
    for (int i = 0; i < unit; i++)
        labels[at + i] = label;
}

/* Whether no access races, and none of a load is of undefined bytes. */
INLINE int harmless(const Local *t, const uint8_t *owner, const int unit, const int64_t size) {
    const uint32_t pattern = unit == 4 ? 0x01010101u : unit == 2 ? 0x0101u : 1;
    uint32_t wrong = 0;
    for (int64_t layer = 0; layer < t->layers; layer++) {
        const uint8_t *against = t->against[layer];
        for (int64_t k = 0; k < t->active; k++) {
            const uint32_t own = owner[k] * pattern;
            for (int64_t part = 0; part < size; part += unit) {
                const uint32_t found = WORD(against, t->places[k] + part, unit);
                wrong |= (found != 0) & (found != own);
            }
        }
    }
    for (int64_t k = 0; !t->stores && k < t->active; k++)
        for (int64_t part = 0; part < size; part += unit)
            wrong |= WORD(t->undefined, t->places[k] + part, unit);
    return !wrong;
}

/* Enter a load: of several waves at a byte one is in the first layer, another in the second. */
INLINE void entered_load(const Local *t, const uint8_t *owner, const int unit, const int64_t size) {
    const uint32_t pattern = unit == 4 ? 0x01010101u : unit == 2 ? 0x0101u : 1;
    for (int64_t part = 0; part < size; part += unit) {
        int lost = 0;
        for (int64_t k = 0; k < t->active; k++) {
            const uint32_t found = WORD(t->first, t->places[k] + part, unit);
            t->before[k] = found == 0 || found == owner[k] * pattern;
        }
        for (int64_t k = 0; k < t->active; k++)
            if (t->before[k])
                enter(t->first, t->first_label, t->places[k] + part, owner[k], (uint16_t)t->label, unit);
        for (int64_t k = 0; k < t->active; k++)
            lost |= WORD(t->first, t->places[k] + part, unit) != owner[k] * pattern;
        for (int64_t k = 0; lost && k < t->active; k++)
            for (int64_t at = t->places[k] + part; at < t->places[k] + part + unit; at++) {
                const int own = t->first[at] == 0 || t->first[at] == owner[k];
                enter(own ? t->first : t->second, own ? t->first_label : t->second_label, at, owner[k],
                      (uint16_t)t->label, 1);
            }
    }
}

/* Enter a store; whether each byte has one wave. */
INLINE int entered_store(const Local *t, const uint8_t *owner, const int unit, const int64_t size) {
    const uint32_t pattern = unit == 4 ? 0x01010101u : unit == 2 ? 0x0101u : 1;
    uint32_t *before = t->before;
    int lost = 0;
    for (int64_t k = 0; k < t->active; k++)
        for (int64_t part = 0; part < size; part += unit)
            *before++ = WORD(t->first, t->places[k] + part, unit);
    for (int64_t k = 0; k < t->active; k++)
        for (int64_t part = 0; part < size; part += unit)
            enter(t->first, t->first_label, t->places[k] + part, owner[k], (uint16_t)t->label, unit);
    for (int64_t k = 0; k < t->active; k++)
        for (int64_t part = 0; part < size; part += unit)
            lost |= WORD(t->first, t->places[k] + part, unit) != owner[k] * pattern;
    if (!lost)
        return 1;
    for (int64_t k = t->active - 1; k >= 0; k--) /* as it was: the first one that entered knows */
        for (int64_t part = size - unit; part >= 0; part -= unit)
            memcpy(t->first + t->places[k] + part, --before, (size_t)unit);
    return 0;
}

/* A narrow word as it is put into a register: narrow is 1, plus 2 if the sign is extended, plus 4 or 8 if it goes to the
 * low or high half of the register. */
INLINE uint32_t put_narrow(uint32_t old, uint32_t word, const int64_t narrow, const int unit) {
    if (narrow & 2)
        word = unit == 1 ? (uint32_t)(int32_t)(int8_t)word : (uint32_t)(int32_t)(int16_t)word;
    if (narrow & 4)
        return (old & 0xFFFF0000) | (word & 0xFFFF);
    if (narrow & 8)
        return (old & 0xFFFF) | word << 16;
    return word;
}

INLINE void moved(const Waves *w, const Local *t, const int L, const int unit, const int64_t size) {
    const int32_t instruction = (int32_t)t->instruction;
    int64_t k = 0;
    for (int64_t n = 0; n < w->count; n++) {
        const int64_t wave = w->rows[n];
        const uint32_t *e = w->s + w->exec * w->waves + wave;
        const uint64_t exec = e[0] | (L == 64 ? (uint64_t)e[w->waves] << 32 : 0);
        const int64_t start = t->workgroup[wave] * t->stride;
        for (int j = 0; j < L; j++) {
            if (!(exec >> j & 1))
                continue;
            uint8_t *at = t->data + t->places[k];
            const int64_t own_place = t->places[k] - start;
            if (t->stores)
                for (int64_t i = 0; i < size; i++)
                    t->writer[own_place + i] = instruction;
            else
                memset(t->read + own_place, 1, (size_t)size);
            uint32_t *own = t->registers + wave * L + j;
            for (int64_t part = 0; part < size; part += unit, own += w->waves * L) {
                if (t->stores) {
                    const uint32_t word = t->narrow & 8 ? *own >> 16 : *own;
                    memcpy(at + part, &word, (size_t)unit);
                    memset(t->undefined + t->places[k] + part, 0, (size_t)unit);
                } else {
                    const uint32_t word = WORD(at, part, unit);
                    *own = unit == 4 ? word : put_narrow(*own, word, t->narrow, unit);
                }
            }
            k++;
        }
    }
}

INLINE int64_t accessed(const Waves *w, Local *t, const int L, const int unit, const int64_t size) {
    uint8_t *owner = (uint8_t *)(t->before + w->count * L * (size / unit));
    if (!located(w, t, L))
        return 0;
    owned(w, t, owner, L);
    if (!harmless(t, owner, unit, size))
        return 0;
    if (t->stores) {
        if (!entered_store(t, owner, unit, size))
            return 0;
    } else
        entered_load(t, owner, unit, size);
    moved(w, t, L, unit, size);
    return 1;
}

/* Carry out an access of some waves of 32 or 64 lanes: whether it is done. Each size has its own loops. */
EXPORT int64_t mmacalc_local(const Waves *w, Local *t, int64_t lanes) {
#define OF(size, unit) case size: return lanes == 64 ? accessed(w, t, 64, unit, size) : accessed(w, t, 32, unit, size);
    switch (t->size) {
        OF(1, 1) OF(2, 2) OF(4, 4) OF(8, 4) OF(12, 4) OF(16, 4)
    }
#undef OF
    return 0;
}
