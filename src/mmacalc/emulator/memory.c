/* Loads and stores of global memory by whole waves of AMD's machine code: what mmacalc.kernels.amd.global_moves
 * describes.
 *
 * As in shared.c, an access is carried out here only if there is nothing to say about it: all active lanes within one
 * region, no granule that another wave was the last to write, or to read before a store. Else it declines, and nothing
 * has changed. What is kept is what mmacalc.kernels.device.grid_races keeps: of a line of granules once, as long as all
 * of them have the same.
 */
#include "waves.h"

typedef struct {
    int32_t base, vector;      /* a row of scalar registers, and a vector register; -1 if there is none */
    int32_t wide, scale;       /* whether the vector register and the next one are the address; what an index counts */
    int32_t registers;         /* operand: the first one that is loaded or stored */
    int32_t size, stores, narrow; /* bytes of a lane; narrow: 0, or as in put_narrow */
    int32_t label, bits;       /* the address of the instruction, and what it is to the rules (Grade.bits) */
    uint64_t offset;
    /* Of a buffer: the row of its resource, or -1; the vector register of an index, or -1; whether its size counts bytes
     * in any case; whether it is a resource of gfx1250. */
    int32_t resource, index, bytes, longer;
    uint64_t scratch;          /* the base of the resource that means scratch */
} Global;

enum { CLOCK = 32, EACH = 16 };

/* A claim that was made: what was there before. */
typedef struct {
    Known *known;
    int64_t code;
} Before;

/* --- which bytes --- */

INLINE uint64_t row_pair(const Waves *w, int64_t row, int64_t wave) {
    return w->s[row * w->waves + wave] | (uint64_t)w->s[(row + 1) * w->waves + wave] << 32;
}

INLINE uint64_t all_lanes(const int L) { return L == 64 ? ~0ull : (1ull << L) - 1; }

/* The addresses of a wave's lanes. */
INLINE void addressed(const Waves *w, const Global *t, int64_t wave, uint64_t *found, const int L) {
    const uint64_t start = t->offset + (t->base < 0 ? 0 : row_pair(w, t->base, wave));
    if (t->vector < 0) {
        for (int j = 0; j < L; j++)
            found[j] = start;
        return;
    }
    const uint32_t *low = register_of(w, t->vector, wave, L);
    if (t->wide) {
        const uint32_t *high = register_of(w, t->vector + 1, wave, L);
        for (int j = 0; j < L; j++)
            found[j] = start + (low[j] | (uint64_t)high[j] << 32);
    } else if (t->scale == 1)
        for (int j = 0; j < L; j++)
            found[j] = start + low[j];
    else
        for (int j = 0; j < L; j++)
            found[j] = start + (uint64_t)((int64_t)(int32_t)low[j] * t->scale);
}

/* The addresses of a wave's lanes through a resource, and which lanes are within it; whether each is within it as a
 * whole or not at all, and it is not of scratch: `buffer_places`. */
INLINE int buffered(const Waves *w, const Global *t, int64_t wave, uint64_t exec, uint64_t *found, uint64_t *within,
                    const int L, const int64_t size) {
    const uint64_t low = row_pair(w, t->resource, wave), high = row_pair(w, t->resource + 2, wave);
    const uint64_t base = low & (t->longer ? (1ull << 57) - 1 : (1ull << 48) - 1);
    const int64_t stride = (int64_t)((t->longer ? high >> 44 : low >> 48) & 0x3FFF);
    const int64_t records =
        (int64_t)(t->longer ? low >> 57 | (high & ((1ull << 38) - 1)) << 7 : high & 0xFFFFFFFF);
    const int64_t start = (int64_t)t->offset + (t->base < 0 ? 0 : w->s[t->base * w->waves + wave]);
    const uint32_t *index = t->index < 0 ? NULL : register_of(w, t->index, wave, L);
    const uint32_t *more = t->vector < 0 ? NULL : register_of(w, t->vector, wave, L);
    const int raw = stride == 0 || t->bytes;
    uint64_t right = 0, wrong = 0;
    for (int j = 0; j < L; j++) {
        const int64_t number = index ? index[j] : 0, at = start + (more ? more[j] : 0);
        const int whole = raw ? at + size <= records : number < records;
        const int begins = raw ? at + (size > 4 ? 4 : size) <= records : whole;
        found[j] = base + (uint64_t)(number * stride + at);
        right |= (uint64_t)whole << j;
        wrong |= (uint64_t)(whole != begins) << j;
    }
    *within = right;
    return base != t->scratch && !(wrong & exec);
}

/* The places of all lanes that access memory, all in one region. live: of each wave that runs, those lanes.
 * Returns the region; -1 if no lane accesses memory, -2 if it declines. */
INLINE int64_t placed(const Waves *w, const Global *t, int64_t *places, uint64_t *live, const int L,
                      const int64_t size) {
    int64_t region = -1;
    uint64_t start = 0, room = 0, wrong = 0, shift = 0;
    for (int64_t n = 0; n < w->count; n++) {
        uint64_t addresses[64], within = ~0ull;
        const uint64_t exec = exec_of(w, w->rows[n], L);
        if (t->resource < 0)
            addressed(w, t, w->rows[n], addresses, L);
        else if (!buffered(w, t, w->rows[n], exec, addresses, &within, L, size))
            return -2;
        live[n] = exec & within;
        if (live[n] && region < 0) {
            int first = 0;
            while (!(live[n] >> first & 1))
                first++;
            for (region = w->regions - 1; region >= 0 && w->starts[region] > addresses[first]; region--)
                continue;
            if (region < 0 || w->ends[region] - w->starts[region] < (uint64_t)size)
                return -2;
            start = w->starts[region], room = w->ends[region] - start - (uint64_t)size;
            shift = start - (uint64_t)w->places[region];
        }
        if (live[n] == all_lanes(L)) {
            for (int j = 0; j < L; j++) {
                wrong |= addresses[j] - start > room;
                places[j] = (int64_t)(addresses[j] - shift);
            }
            places += L;
        } else
            for (int j = 0; j < L; j++)
                if (live[n] >> j & 1) {
                    wrong |= addresses[j] - start > room;
                    *places++ = (int64_t)(addresses[j] - shift);
                }
        if (wrong)
            return -2;
    }
    return region;
}

/* --- who accessed them before --- */

/* The granules of a line, whose last accesses are no longer the same. */
INLINE void split(const Shadow *s, int64_t number) {
    Known *line = s->lines + number;
    for (int64_t at = number * EACH; at < (number + 1) * EACH; at++)
        s->granules[at] = *line;
    line->split = 1;
}

/* Enter an access as the last one of a granule, or of a line that is one; whether it meets another wave's. kind: 0 a
 * read, 1 a store, 2 a read of which only other reads matter. */
INLINE int claimed(Known *known, int64_t code, const int kind, Before **before) {
    int64_t *last = kind == 1 ? &known->writer : &known->reader;
    const int64_t was = *last, beside = kind == 1 ? known->reader : known->writer;
    int met = (was != 0) & ((was ^ code) >> CLOCK != 0);
    if (kind != 2)
        met |= ((beside != 0) & ((beside ^ code) >> CLOCK != 0)) | known->several_changes |
               (kind == 1 ? known->several_reads : 0);
    *(*before)++ = (Before){known, was};
    *last = code;
    return met;
}

INLINE int claimed_run(const Shadow *s, int64_t at, int64_t end, int64_t code, const int kind, Before **before) {
    int met = 0;
    while (at < end) {
        const int64_t line = at / EACH, stop = end < (line + 1) * EACH ? end : (line + 1) * EACH;
        if (!s->lines[line].split) {
            if (stop - at == EACH) {
                met |= claimed(s->lines + line, code, kind, before);
                at = stop;
                continue;
            }
            split(s, line);
        }
        for (; at < stop; at++)
            met |= claimed(s->granules + at, code, kind, before);
    }
    return met;
}

/* As it was before some claims. */
INLINE void unclaimed(const Shadow *s, Before *first, Before *end, const int kind) {
    while (end-- > first) {
        Known *known = end->known;
        int64_t count = 1;
        *(kind == 1 ? &known->writer : &known->reader) = end->code;
        if (known >= s->lines && known < s->lines + s->count && known->split) /* since then */
            known = s->granules + (known - s->lines) * EACH, count = EACH;
        for (; count > 0; count--, known++)
            *(kind == 1 ? &known->writer : &known->reader) = end->code;
    }
}

/* Enter what else is kept of the last access of some granules. */
INLINE void entered_run(const Shadow *s, int64_t at, int64_t end, int64_t code, int32_t label, int32_t bits,
                        const int stores) {
    while (at < end) {
        const int64_t number = at / EACH, stop = end < (number + 1) * EACH ? end : (number + 1) * EACH;
        Known *line = s->lines + number;
        const int whole = stop - at == EACH;
        if (whole && stores)
            line->split = 0;
        else if (!whole && !line->split)
            split(s, number);
        Known *known = line->split ? s->granules + at : line, *last = line->split ? known + (stop - at) : line + 1;
        for (; known < last; known++)
            if (stores)
                known->writer = code, known->reader = 0, known->write_label = label, known->write_bits = (uint8_t)bits;
            else
                known->reader = code, known->read_label = label, known->read_reach = (uint8_t)bits;
        at = stop;
    }
}

/* Where the accesses end that follow each other from one on; those of the same bytes count too. */
INLINE int64_t run_of(const int64_t *places, int64_t k, int64_t count, const int64_t size) {
    for (k++; k < count && (places[k] == places[k - 1] + size || places[k] == places[k - 1]); k++)
        continue;
    return k;
}

/* Enter some accesses of one agent as the last ones; whether none meets another agent's. */
INLINE int claimed_all(const Shadow *s, const int64_t *places, int64_t count, int64_t code, const int kind,
                       Before **before, const int64_t size, const int64_t width) {
    int met = 0;
    for (int64_t k = 0, next; k < count; k = next) {
        next = run_of(places, k, count, size);
        const int64_t first = places[k] >> s->shift;
        met |= claimed_run(s, first, (places[next - 1] >> s->shift) + width, code, kind, before);
    }
    return !met;
}

INLINE void entered_all(const Shadow *s, const int64_t *places, int64_t count, int64_t code, int32_t label,
                        int32_t bits, const int stores, const int64_t size, const int64_t width) {
    for (int64_t k = 0, next; k < count; k = next) {
        next = run_of(places, k, count, size);
        const int64_t first = places[k] >> s->shift;
        entered_run(s, first, (places[next - 1] >> s->shift) + width, code, label, bits, stores);
    }
}

INLINE int64_t width_of(const Shadow *s, int64_t size) { return size >> s->shift ? size >> s->shift : 1; }

/* Enter listed reads as the last ones of their granules, `each` after each other with one code: whether it is done,
 * which it is not if several agents have read one. room: for as many `Before` as granules are read. */
EXPORT int64_t mmacalc_enter_reads(const Shadow *s, const int64_t *places, int64_t count, const int64_t *codes,
                                   int64_t each, int64_t size, int64_t label, int64_t reach, void *room) {
    const int64_t width = width_of(s, size);
    Before *before = room;
    int fine = 1;
    for (int64_t k = 0; k < count && fine; k += each)
        fine = claimed_all(s, places + k, each, codes[k / each], 2, &before, size, width);
    if (!fine) {
        unclaimed(s, room, before, 2);
        return 0;
    }
    for (int64_t k = 0; k < count; k += each)
        entered_all(s, places + k, each, codes[k / each], (int32_t)label, (int32_t)reach, 0, size, width);
    return 1;
}

/* Whether no access meets one of another wave. Each is entered as the last one of its granules then. */
INLINE int unshared(const Waves *w, const Global *t, const int64_t *codes, const int64_t *places, const uint64_t *live,
                    const int64_t size, const int64_t width) {
    const Shadow *s = &w->shadow;
    const int64_t *place = places;
    Before *before = (Before *)w->room;
    int fine = 1;
    for (int64_t n = 0; n < w->count && fine; n++) {
        const int64_t count = lanes_in(live[n]);
        fine = t->stores ? claimed_all(s, place, count, codes[n], 1, &before, size, width)
                         : claimed_all(s, place, count, codes[n], 0, &before, size, width);
        place += count;
    }
    if (!fine) {
        unclaimed(s, (Before *)w->room, before, t->stores != 0);
        return 0;
    }
    place = places;
    for (int64_t n = 0; n < w->count; n++) {
        const int64_t count = lanes_in(live[n]);
        if (t->stores)
            entered_all(s, place, count, codes[n], t->label, t->bits, 1, size, width);
        else
            entered_all(s, place, count, codes[n], t->label, t->bits, 0, size, width);
        place += count;
    }
    return 1;
}

/* --- the access --- */

INLINE void moved(const Waves *w, const Global *t, int64_t wave, const int64_t *places, uint64_t live, const int L,
                  const int unit, const int64_t size) {
    const uint64_t exec = exec_of(w, wave, L);
    uint32_t *registers = register_of(w, t->registers, wave, L);
    if (size == 4 && live == all_lanes(L) && places[L - 1] == places[0] + 4 * (L - 1) &&
        run_of(places, 0, L, 4) == L) {
        if (t->stores)
            memcpy(w->memory + places[0], registers, 4 * (size_t)L);
        else
            memcpy(registers, w->memory + places[0], 4 * (size_t)L);
        return;
    }
    for (int64_t j = 0, k = 0; j < L; j++) {
        if (!(exec >> j & 1))
            continue;
        const int there = (int)(live >> j & 1); /* else beyond the resource: zeros are loaded */
        uint8_t *at = there ? w->memory + places[k++] : NULL;
        uint32_t *own = registers + j;
        for (int64_t part = 0; part < size; part += unit, own += w->waves * L)
            if (!t->stores) {
                const uint32_t word = there ? WORD(at, part, unit) : 0;
                *own = unit == 4 ? word : put_narrow(*own, word, t->narrow, unit);
            } else if (there) {
                const uint32_t word = t->narrow & 8 ? *own >> 16 : *own;
                memcpy(at + part, &word, (size_t)unit);
            }
    }
}

INLINE int64_t accessed(Waves *w, const Global *t, const int64_t *codes, uint64_t *live, Accessed *out,
                        int64_t *places, const int L, const int unit, const int64_t size) {
    const int64_t region = placed(w, t, places, live, L, size);
    const int checked = region >= 0 && w->shadow.granules != NULL;
    if (region < -1 || (region >= 0 && t->stores && !w->writeable[region]))
        return 0;
    const int listed = checked && !w->entered[region];
    if (listed && t->stores) {
        w->first = region;
        return 0;
    }
    if (checked && !listed && !unshared(w, t, codes, places, live, size, width_of(&w->shadow, size)))
        return 0;
    out->pattern = listed ? 2 * (uint64_t)region + 1 : 0;
    out->active = 0;
    for (int64_t n = 0; n < w->count; n++) {
        moved(w, t, w->rows[n], places + out->active, live[n], L, unit, size);
        out->active += lanes_in(live[n]);
    }
    return 1;
}

/* Carry out an access of some waves of 32 or 64 lanes: whether it is done. codes: of each wave (`code_of`). The lanes of
 * each wave that access memory go to `live`, and their places, one after the other, to `places`. */
EXPORT int64_t mmacalc_global(Waves *w, const Global *t, const int64_t *codes, uint64_t *live, Accessed *out,
                              int64_t *places, int64_t lanes) {
#define OF(size, unit) \
    case size: \
        return lanes == 64 ? accessed(w, t, codes, live, out, places, 64, unit, size) \
                           : accessed(w, t, codes, live, out, places, 32, unit, size);
    switch (t->size) {
        OF(1, 1) OF(2, 2) OF(4, 4) OF(8, 4) OF(12, 4) OF(16, 4)
    }
#undef OF
    return 0;
}
