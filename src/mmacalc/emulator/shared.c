/* Loads and stores of LDS by whole waves of AMD's machine code: what mmacalc.kernels.amd.local_access describes.
 *
 * An access is carried out here only if there is nothing to say about it: every active lane within LDS, at a multiple of
 * what the hardware likes, no byte that nothing has written, no byte that another wave has accessed in a way that races
 * since the last barrier. Else it declines, and nothing has changed: the caller carries it out on NumPy, and finds out
 * what there is to say. What is kept of an access is what mmacalc.kernels.device.races keeps; a load is entered there
 * only when a store asks, since a barrier forgets most loads before.
 */
#include "waves.h"

typedef struct {
    int32_t address, registers; /* operands: of the address, and the first one that is loaded or stored */
    int32_t kind;               /* READ or WRITE */
    int32_t size, native;       /* bytes of a lane, and what the hardware likes addresses to be a multiple of */
    int32_t narrow;             /* 0, or as in put_narrow */
    uint32_t offset;
    int32_t label, instruction; /* the number of the instruction for `layers`, and its address */
    /* Of a load that transposes: the bits of an element, how many a lane has, and of each lane and element which bit of
     * what all lanes fetch is its first. */
    int32_t bits, elements;
    const int32_t *from;
} Local;

/* With which accesses one races: as AGAINST of mmacalc.kernels.device.races. */
static const int32_t against[2][8] = {
    {WRITE, ATOMIC, UNWAITED, -1}, {WRITE, READ, ATOMIC, SWAP, UNWAITED, UNFETCHED, UNREAD, -1},
};

INLINE uint64_t mixed(uint64_t z) { /* splitmix64 */
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

INLINE uint32_t pattern_of(const int unit) { return unit == 4 ? 0x01010101u : unit == 2 ? 0x0101u : 1; }

INLINE void enter(const Layer *layer, int64_t at, uint32_t own, uint64_t label, const int unit) {
    const uint32_t word = own * 0x01010101u;
    const uint64_t labels = label * 0x0001000100010001ull;
    memcpy(layer->waves + at, &word, (size_t)unit);
    memcpy(layer->labels + at, &labels, 2 * (size_t)unit);
}

/* Find the places of a wave's active lanes; how many they are, -1 if one is not fine. */
INLINE int64_t located(const Waves *w, const Local *t, int64_t wave, int64_t *places, const uint64_t *factors,
                       uint64_t *relative, const int L, const int64_t size) {
    static const int64_t period = 256;
    const uint32_t *address = register_of(w, t->address, wave, L), limit = (uint32_t)(w->limit - size);
    const uint64_t exec = exec_of(w, wave, L);
    const int64_t start = w->workgroup[wave] * w->stride;
    uint32_t wrong = 0, least = 0xFFFFFFFF;
    uint64_t sum = 0, ones = 0;
    int64_t k = 0;
    if (w->limit < size)
        return exec ? -1 : 0;
    if (!~(exec | (L == 64 ? 0 : ~0ull << 32))) {
        for (int j = 0; j < L; j++) {
            const uint32_t at = address[j] + t->offset;
            wrong |= (at > limit) | ((at & (uint32_t)(t->native - 1)) != 0);
            least = at < least ? at : least;
            sum += (at + 1ull) * factors[j];
            ones += factors[j];
            places[j] = start + at;
        }
        k = L;
    } else
        for (int j = 0; j < L; j++) {
            if (!(exec >> j & 1))
                continue;
            const uint32_t at = address[j] + t->offset;
            wrong |= (at > limit) | ((at & (uint32_t)(t->native - 1)) != 0);
            least = at < least ? at : least;
            sum += (at + 1ull) * factors[j];
            ones += factors[j];
            places[k++] = start + at;
        }
    *relative = sum - (k ? ones * (uint64_t)(least / period * period) : 0);
    return wrong ? -1 : k;
}

/* Whether a layer knows another wave than an own one at some bytes; `own` in each byte of a unit. */
INLINE int foreign(const uint8_t *waves, const int64_t *places, int64_t active, uint32_t own, const int unit,
                   const int64_t size) {
    const uint64_t both = own | (uint64_t)own << 32;
    uint64_t wrong = size % 8 != 0;
    for (int64_t k = 0; size % 8 == 0 && k < active; k++)
        for (int64_t part = 0; part < size; part += 8) {
            const uint64_t found = load8(waves + places[k] + part);
            wrong |= (found != 0) & (found != both);
        }
    if (!wrong)
        return 0;
    wrong = 0;
    for (int64_t k = 0; k < active; k++)
        for (int64_t part = 0; part < size; part += unit) {
            const uint32_t found = WORD(waves, places[k] + part, unit);
            wrong |= (found != 0) & (found != own);
        }
    return wrong != 0;
}

/* Whether one of some bytes is not 0. */
INLINE int marked(const uint8_t *bytes, const int64_t *places, int64_t active, const int unit, const int64_t size) {
    uint64_t found = 0;
    for (int64_t k = 0; k < active; k++)
        if (size % 8 == 0)
            for (int64_t part = 0; part < size; part += 8)
                found |= load8(bytes + places[k] + part);
        else
            for (int64_t part = 0; part < size; part += unit)
                found |= WORD(bytes, places[k] + part, unit);
    return found != 0;
}

/* Whether no access of a wave races, and none of a load is of undefined bytes. */
INLINE int harmless(const Waves *w, const Local *t, const int64_t *places, int64_t active, uint32_t own, const int unit,
                    const int64_t size) {
    for (const int32_t *kind = against[t->kind]; *kind >= 0; kind++)
        for (int number = 0; number < 2; number++) {
            const Layer *layer = &w->layers[*kind][number];
            if (layer->waves && *layer->used && foreign(layer->waves, places, active, own, unit, size))
                return 0;
        }
    return !(w->landing && marked(w->landing, places, active, unit, size)) &&
           !(t->kind == READ && marked(w->undefined, places, active, unit, size));
}

/* Enter what is left of a load: of several waves at a byte one is in the first layer, another in the second. */
INLINE void entered_rest(const Waves *w, const Local *t, const int64_t *places, int64_t active, uint32_t number,
                         const int unit, const int64_t size) {
    const Layer *first = w->layers[READ], *second = first + 1;
    const uint32_t own = number * pattern_of(unit);
    for (int64_t k = 0; k < active; k++)
        for (int64_t part = 0; part < size; part += unit) {
            const uint32_t found = WORD(first->waves, places[k] + part, unit);
            if (found == own)
                continue;
            if (found == (found & 0xFF) * pattern_of(unit)) { /* all bytes have one other wave */
                enter(second, places[k] + part, number, (uint64_t)t->label, unit);
                continue;
            }
            for (int64_t at = places[k] + part; at < places[k] + part + unit; at++) {
                const int mine = first->waves[at] == 0 || first->waves[at] == number;
                enter(mine ? first : second, at, number, (uint64_t)t->label, 1);
            }
        }
}

INLINE void loaded(const Waves *w, const Local *t, int64_t wave, const int64_t *places, const int L, const int unit,
                   const int64_t size) {
    const int64_t narrow = t->narrow, next = w->waves * L;
    const uint64_t exec = exec_of(w, wave, L);
    const uint8_t *lds = w->lds;
    uint8_t *read = w->read - w->workgroup[wave] * w->stride;
    uint32_t *registers = register_of(w, t->registers, wave, L);
    if (unit == 4 && !~(exec | (L == 64 ? 0 : ~0ull << 32))) {
        for (int64_t part = 0; part < size; part += 4, registers += next)
            for (int j = 0; j < L; j++)
                registers[j] = load4(lds + places[j] + part);
        for (int j = 0; j < L; j++)
            memset(read + places[j], 1, (size_t)size);
        return;
    }
    for (int64_t j = 0, k = 0; j < L; j++) {
        if (!(exec >> j & 1))
            continue;
        const int64_t place = places[k++];
        memset(read + place, 1, (size_t)size);
        uint32_t *own = registers + j;
        for (int64_t part = 0; part < size; part += unit, own += next) {
            const uint32_t word = WORD(lds, place + part, unit);
            *own = unit == 4 ? word : put_narrow(*own, word, narrow, unit);
        }
    }
}

/* A load that transposes, with all lanes active. */
INLINE void transposed(const Waves *w, const Local *t, int64_t wave, const int64_t *places, const int L,
                       const int64_t size) {
    const int64_t start = w->workgroup[wave] * w->stride;
    uint8_t fetched[64 * 16 + 4];
    uint32_t words[4], *registers = register_of(w, t->registers, wave, L);
    for (int j = 0; j < L; j++) {
        memset(w->read + places[j] - start, 1, (size_t)size);
        memcpy(fetched + j * size, w->lds + places[j], (size_t)size);
    }
    memset(fetched + L * size, 0, 4);
    for (int j = 0; j < L; j++) {
        memset(words, 0, sizeof words);
        for (int32_t n = 0, to = 0; n < t->elements; n++, to += t->bits) {
            const int32_t at = t->from[j * t->elements + n];
            const uint32_t element = load4(fetched + at / 8) >> at % 8 & ((1u << t->bits) - 1);
            words[to / 32] |= element << to % 32;
            if (to % 32 + t->bits > 32)
                words[to / 32 + 1] |= element >> (32 - to % 32);
        }
        for (int64_t number = 0; number < size / 4; number++)
            registers[number * w->waves * L + j] = words[number];
    }
}

INLINE void stored(const Waves *w, const Local *t, int64_t wave, const int64_t *places, const int L, const int unit,
                   const int64_t size) {
    const int64_t start = w->workgroup[wave] * w->stride, next = w->waves * L, narrow = t->narrow;
    const int32_t instruction = t->instruction;
    const uint64_t exec = exec_of(w, wave, L);
    const uint32_t *registers = register_of(w, t->registers, wave, L);
    uint8_t *lds = w->lds, *undefined = w->undefined;
    int32_t *writer = w->writer - start;
    for (int64_t j = 0, k = 0; j < L; j++) {
        if (!(exec >> j & 1))
            continue;
        const int64_t place = places[k++];
        const uint32_t *own = registers + j;
        for (int64_t i = 0; i < size; i++)
            writer[place + i] = instruction;
        memset(undefined + place, 0, (size_t)size);
        for (int64_t part = 0; part < size; part += unit, own += next) {
            const uint32_t word = narrow & 8 ? *own >> 16 : *own;
            memcpy(lds + place + part, &word, (size_t)unit);
        }
    }
}

/* Whether another wave than its own is entered for a byte that some wave accesses. active: of each wave its accesses. */
INLINE int taken(const Waves *w, const Layer *layer, const int64_t *place, const uint64_t *active, const int unit,
                 const int64_t size) {
    const uint8_t *waves = layer->waves;
    int found = 0;
    for (int64_t n = 0; n < w->count; n++) {
        const uint32_t own = w->number[w->rows[n]] * pattern_of(unit);
        for (uint64_t k = 0; k < active[n]; k++, place++)
            for (int64_t part = 0; part < size; part += unit)
                found |= WORD(waves, *place + part, unit) != own;
    }
    return found;
}

/* Enter the stores of all waves; whether each byte has one wave. */
INLINE int entered_store(const Waves *w, const Local *t, const int64_t *places, const uint64_t *active, const int unit,
                         const int64_t size) {
    const Layer first = w->layers[WRITE][0];
    const uint64_t label = (uint64_t)t->label;
    uint32_t *before = w->room;
    const int64_t *place = places;
    *first.used = 1;
    for (int64_t n = 0; n < w->count; n++) {
        const uint32_t number = w->number[w->rows[n]];
        for (uint64_t k = 0; k < active[n]; k++, place++)
            for (int64_t part = 0; part < size; part += unit) {
                *before++ = WORD(first.waves, *place + part, unit);
                enter(&first, *place + part, number, label, unit);
            }
    }
    const int lost = taken(w, &first, places, active, unit, size);
    while (lost && place-- > places) /* as it was: the first one that entered knows */
        for (int64_t part = size - unit; part >= 0; part -= unit)
            memcpy(first.waves + *place + part, --before, (size_t)unit);
    return !lost;
}

/* Enter the loads of all waves. */
INLINE void entered_load(const Waves *w, const Local *t, const int64_t *places, const uint64_t *active, const int unit,
                         const int64_t size) {
    const Layer *first = w->layers[READ];
    *first[0].used = *first[1].used = 1;
    uint8_t *free_ = (uint8_t *)w->room;
    const int64_t *place = places;
    for (int64_t n = 0; n < w->count; n++) {
        const uint32_t own = w->number[w->rows[n]] * pattern_of(unit);
        for (uint64_t k = 0; k < active[n]; k++, place++)
            for (int64_t part = 0; part < size; part += unit) {
                const uint32_t found = WORD(first->waves, *place + part, unit);
                *free_++ = (found == 0) | (found == own);
            }
    }
    place = places;
    free_ = (uint8_t *)w->room;
    for (int64_t n = 0; n < w->count; n++)
        for (uint64_t k = 0; k < active[n]; k++, place++)
            for (int64_t part = 0; part < size; part += unit)
                if (*free_++)
                    enter(first, *place + part, w->number[w->rows[n]], (uint64_t)t->label, unit);
    const int lost = taken(w, first, places, active, unit, size);
    place = places;
    for (int64_t n = 0; lost && n < w->count; place += active[n++])
        entered_rest(w, t, place, (int64_t)active[n], w->number[w->rows[n]], unit, size);
}

INLINE int64_t accessed(const Waves *w, const Local *t, uint64_t *active, Accessed *out, int64_t *start, const int L,
                        const int unit, const int64_t size) {
    uint64_t factors[64], pattern = 0;
    int64_t *places = start;
    for (int j = 0; j < L; j++)
        factors[j] = mixed((uint64_t)j) | 1;
    for (int64_t n = 0; n < w->count; n++) {
        const int64_t wave = w->rows[n];
        uint64_t relative = 0;
        const int64_t k = located(w, t, wave, places, factors, &relative, L, size);
        if (k < 0 || (t->bits && k < L) || !harmless(w, t, places, k, w->number[wave] * pattern_of(unit), unit, size))
            return 0;
        pattern = mixed(pattern ^ relative) + (uint64_t)n;
        active[n] = (uint64_t)k;
        places += k;
    }
    out->pattern = pattern;
    out->active = places - start;
    places = start;
    out->entered = t->kind == WRITE;
    if (t->kind == WRITE && !entered_store(w, t, places, active, unit, size))
        return 0;
    for (int64_t n = 0; n < w->count; places += active[n++])
        if (t->kind == WRITE)
            stored(w, t, w->rows[n], places, L, unit, size);
        else if (t->bits)
            transposed(w, t, w->rows[n], places, L, size);
        else
            loaded(w, t, w->rows[n], places, L, unit, size);
    return 1;
}

/* Carry out an access of some waves of 32 or 64 lanes: whether it is done. Of each wave `active` tells how many lanes
 * access LDS; the bytes that they access go to `places`. Each size has its own loops. Loads before a store are to be
 * entered before it (mmacalc_enter_loads). */
EXPORT int64_t mmacalc_local(const Waves *w, const Local *t, uint64_t *active, Accessed *out, int64_t *places,
                             int64_t lanes) {
#define OF(size, unit) \
    case size: \
        return lanes == 64 ? accessed(w, t, active, out, places, 64, unit, size) \
                           : accessed(w, t, active, out, places, 32, unit, size);
    switch (t->size) {
        OF(1, 1) OF(2, 2) OF(4, 4) OF(8, 4) OF(12, 4) OF(16, 4)
    }
#undef OF
    return 0;
}

/* Enter the loads of an access that was carried out. */
EXPORT void mmacalc_enter_loads(const Waves *w, const Local *t, const uint64_t *active, const int64_t *places) {
#define OF(size, unit) case size: entered_load(w, t, places, active, unit, size); break;
    switch (t->size) {
        OF(1, 1) OF(2, 2) OF(4, 4) OF(8, 4) OF(12, 4) OF(16, 4)
    }
#undef OF
}
