/* Where accesses of whole warps of PTX lie, and bytes at such places: what mmacalc.kernels.ptx.shared_core describes. */
#include "core.h"

typedef struct {
    int64_t first, last;  /* the lowest and the highest address that an access may begin at */
    int64_t unit;         /* what addresses are multiples of, a power of two */
    int64_t stride;       /* of shared memory from one CTA's to the next */
    int64_t shift;        /* what is added to an address */
    int64_t period;       /* of the patterns of addresses, a power of two */
} Room;

INLINE uint64_t mixed(uint64_t z) { /* splitmix64 */
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

/* The places of `count` accesses of threads (by number; cta_of of each, NULL of global memory), a multiple of 32 one warp
 * after the other. Returns 0 where an address is not fine, else 1. pattern: a number for the addresses of all warps, each
 * counted from a multiple of the period on. */
EXPORT int64_t mmacalc_places(const Room *r, const int64_t *address, const int64_t *number, const int64_t *cta_of,
                              int64_t count, int64_t *places, uint64_t *pattern) {
    enum { WARP = 32 };
    const int64_t first = r->first, last = r->last, mask = r->unit - 1, shift = r->shift;
    uint64_t factors[WARP], found = (uint64_t)count;
    int64_t wrong = 0;
    for (int j = 0; j < WARP; j++)
        factors[j] = mixed((uint64_t)j) | 1;
    for (int64_t from = 0; from < count; from += WARP) {
        const int64_t *at = address + from;
        int64_t least = at[0];
        uint64_t sum = 0;
        for (int j = 0; j < WARP; j++) {
            wrong |= (at[j] < first) | (at[j] > last) | ((at[j] & mask) != 0);
            least = at[j] < least ? at[j] : least;
        }
        least &= -r->period;
        for (int j = 0; j < WARP; j++)
            sum += (uint64_t)(at[j] - least + 1) * factors[j];
        found = mixed(found ^ sum) + (uint64_t)from;
        for (int j = 0; j < WARP; j++)
            places[from + j] = at[j] + shift;
        for (int j = 0; cta_of && j < WARP; j++)
            places[from + j] += cta_of[number[from + j]] * r->stride;
    }
    *pattern = found;
    return !wrong;
}

INLINE int64_t gathered(const uint8_t *memory, int64_t bytes, const int64_t *places, int64_t count, uint8_t *data,
                        const int64_t size) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; i++)
        wrong |= (places[i] < 0) | (places[i] > bytes - size);
    for (int64_t i = 0; !wrong && i < count; i++)
        memcpy(data + i * size, memory + places[i], (size_t)size);
    return !wrong;
}

/* The bytes (access, byte) at places of a memory; 0 where one is outside of it, and else 1. */
EXPORT int64_t mmacalc_gathered(const uint8_t *memory, int64_t bytes, const int64_t *places, int64_t count, uint8_t *data,
                                int64_t size) {
#define OF(width) \
    if (size == width) \
        return gathered(memory, bytes, places, count, data, width);
    OF(1) OF(2) OF(4) OF(8) OF(16)
#undef OF
    return gathered(memory, bytes, places, count, data, size);
}

/* Fragments of elements of 16 bits: rows of 16 bytes at places, `lines` of each warp, as registers (register, warp, lane).
 * from: of each register, lane and half which element of its warp's rows it is. 0 where a row is outside of memory. */
EXPORT int64_t mmacalc_load_matrix(const uint8_t *memory, int64_t bytes, const int64_t *places, int64_t warps,
                                   int64_t lines, const int32_t *from, int64_t registers, uint16_t *out) {
    enum { ROW = 16, MOST = 32, HALVES = 64 };
    uint16_t rows[MOST * ROW / 2];
    for (int64_t warp = 0; warp < warps; warp++) {
        for (int64_t line = 0; line < lines; line++) {
            const int64_t place = places[warp * lines + line];
            if (place < 0 || place > bytes - ROW)
                return 0;
            memcpy(rows + line * (ROW / 2), memory + place, ROW);
        }
        for (int64_t number = 0; number < registers; number++)
            for (int half = 0; half < HALVES; half++)
                out[(number * warps + warp) * HALVES + half] = rows[from[number * HALVES + half]];
    }
    return 1;
}

/* Whether any of the bytes at places lies in a part of 8 bytes that is occupied. 1 also where a place is outside. */
EXPORT int64_t mmacalc_occupied(const uint8_t *occupied, int64_t parts, const int64_t *places, int64_t count,
                                int64_t size) {
    uint8_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t first = places[i] >> 3, last = (places[i] + size - 1) >> 3;
        if (first < 0 || last >= parts)
            return 1;
        for (int64_t part = first; part <= last; part++)
            found |= occupied[part];
    }
    return found;
}
