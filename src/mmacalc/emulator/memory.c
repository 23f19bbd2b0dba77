/* Loads and stores of global memory by whole waves of AMD's machine code: what mmacalc.kernels.amd.global_access
 * describes.
 *
 * As in shared.c, an access is carried out here only if there is nothing to say about it: all active lanes within one
 * region, no granule that another wave was the last to write, or to read before a store. Else it declines, and nothing
 * has changed. What is kept is what mmacalc.kernels.device.grid_races keeps.
 */
#include "waves.h"

typedef struct {
    int32_t base, vector;      /* a row of scalar registers, and a vector register; -1 if there is none */
    int32_t wide, scale;       /* whether the vector register and the next one are the address; what an index counts */
    int32_t registers;         /* operand: the first one that is loaded or stored */
    int32_t size, stores, narrow; /* bytes of a lane; narrow: 0, or as in put_narrow */
    int32_t label, bits;       /* the address of the instruction, and what it is to the rules (Grade.bits) */
    uint64_t offset;
} Global;

enum { CLOCK = 32 };

/* The addresses of a wave's lanes. */
INLINE void addressed(const Waves *w, const Global *t, int64_t wave, uint64_t *found, const int L) {
    uint64_t start = t->offset;
    if (t->base >= 0)
        start += w->s[t->base * w->waves + wave] | (uint64_t)w->s[(t->base + 1) * w->waves + wave] << 32;
    const uint32_t *low = t->vector < 0 ? NULL : register_of(w, t->vector, wave, L), *high = low;
    if (t->wide)
        high = register_of(w, t->vector + 1, wave, L);
    for (int j = 0; j < L; j++)
        found[j] = start + (!low ? 0 : t->wide ? low[j] | (uint64_t)high[j] << 32 : t->scale == 1 ? low[j] :
                            (uint64_t)((int64_t)(int32_t)low[j] * t->scale));
}

/* The places of all active lanes, all in one region: which, -1 if they are not. */
INLINE int64_t placed(const Waves *w, const Global *t, int64_t *places, uint8_t *active, const int L,
                      const int64_t size) {
    int64_t region = -1, k = 0;
    uint64_t start = 0, room = 0, wrong = 0;
    for (int64_t n = 0; n < w->count; n++) {
        uint64_t addresses[64];
        const uint64_t exec = exec_of(w, w->rows[n], L);
        const int64_t before = k;
        addressed(w, t, w->rows[n], addresses, L);
        for (int j = 0; j < L; j++) {
            if (!(exec >> j & 1))
                continue;
            if (region < 0) {
                for (region = w->regions - 1; region >= 0 && w->starts[region] > addresses[j]; region--)
                    continue;
                if (region < 0 || w->ends[region] - w->starts[region] < (uint64_t)size)
                    return -1;
                start = w->starts[region], room = w->ends[region] - start - (uint64_t)size;
            }
            wrong |= addresses[j] - start > room;
            places[k++] = (int64_t)(addresses[j] - start) + w->places[region];
        }
        if (wrong)
            return -1;
        active[n] = (uint8_t)(k - before);
    }
    return region;
}

/* Whether no access meets one of another wave. Each is entered as the last one of its granules then. */
INLINE int unshared(const Waves *w, const Global *t, const int64_t *codes, const int64_t *places, const uint8_t *active,
                    const int64_t width) {
    int64_t *last = t->stores ? w->writers : w->readers, *other = t->stores ? w->readers : w->writers;
    int64_t *before = (int64_t *)w->room;
    const int64_t *place = places;
    int met = 0;
    for (int64_t n = 0; n < w->count; n++) {
        const int64_t code = codes[n];
        for (int64_t k = 0; k < active[n]; k++, place++)
            for (int64_t at = *place >> w->shift; at < (*place >> w->shift) + width; at++) {
                const int64_t was = last[at], beside = other[at];
                met |= (was != 0) & ((was ^ code) >> CLOCK != 0);
                met |= (beside != 0) & ((beside ^ code) >> CLOCK != 0);
                met |= w->several_changes[at] | (t->stores & w->several_reads[at]);
                *before++ = was;
                last[at] = code;
            }
        if (met)
            break;
    }
    if (!met)
        return 1;
    for (int64_t done = (before - (int64_t *)w->room) / width; done-- > 0;) /* as it was */
        for (int64_t part = width - 1; part >= 0; part--)
            last[(places[done] >> w->shift) + part] = *--before;
    return 0;
}

/* Enter what else is kept of the last accesses. */
INLINE void entered(const Waves *w, const Global *t, const int64_t *places, int64_t active, const int64_t width) {
    for (int64_t k = 0; k < active; k++)
        for (int64_t at = places[k] >> w->shift; at < (places[k] >> w->shift) + width; at++)
            if (t->stores) {
                w->write_labels[at] = t->label;
                w->write_bits[at] = (uint8_t)t->bits;
                w->readers[at] = 0;
            } else {
                w->read_labels[at] = t->label;
                w->read_reach[at] = (uint8_t)t->bits;
            }
}

INLINE void moved(const Waves *w, const Global *t, int64_t wave, const int64_t *places, const int L, const int unit,
                  const int64_t size) {
    const uint64_t exec = exec_of(w, wave, L);
    uint32_t *registers = register_of(w, t->registers, wave, L);
    for (int64_t j = 0, k = 0; j < L; j++) {
        if (!(exec >> j & 1))
            continue;
        uint8_t *at = w->memory + places[k++];
        uint32_t *own = registers + j;
        for (int64_t part = 0; part < size; part += unit, own += w->waves * L)
            if (t->stores) {
                const uint32_t word = t->narrow & 8 ? *own >> 16 : *own;
                memcpy(at + part, &word, (size_t)unit);
            } else {
                const uint32_t word = WORD(at, part, unit);
                *own = unit == 4 ? word : put_narrow(*own, word, t->narrow, unit);
            }
    }
}

INLINE int64_t accessed(Waves *w, const Global *t, const int64_t *codes, Accessed *out, int64_t *places, const int L,
                        const int unit, const int64_t size) {
    uint8_t *active = w->declined; /* room for a byte of each wave that runs */
    const int64_t region = placed(w, t, places, active, L, size), width = size >> w->shift ? size >> w->shift : 1;
    if (region < 0 || (t->stores && !w->writeable[region]))
        return 0;
    const int listed = w->writers && !w->entered[region];
    if (listed && t->stores) {
        w->first = region;
        return 0;
    }
    if (w->writers && !listed && !unshared(w, t, codes, places, active, width))
        return 0;
    out->pattern = 2 * (uint64_t)region + (uint64_t)listed;
    out->active = 0;
    for (int64_t n = 0; n < w->count; n++) {
        if (w->writers && !listed)
            entered(w, t, places + out->active, active[n], width);
        moved(w, t, w->rows[n], places + out->active, L, unit, size);
        out->active += active[n];
    }
    return 1;
}

/* Carry out an access of some waves of 32 or 64 lanes: whether it is done. codes: of each wave (`code_of`). The places
 * of the active lanes go to `places`. */
EXPORT int64_t mmacalc_global(Waves *w, const Global *t, const int64_t *codes, Accessed *out, int64_t *places,
                              int64_t lanes) {
#define OF(size, unit) \
    case size: \
        return lanes == 64 ? accessed(w, t, codes, out, places, 64, unit, size) \
                           : accessed(w, t, codes, out, places, 32, unit, size);
    switch (t->size) {
        OF(1, 1) OF(2, 2) OF(4, 4) OF(8, 4) OF(12, 4) OF(16, 4)
    }
#undef OF
    return 0;
}
