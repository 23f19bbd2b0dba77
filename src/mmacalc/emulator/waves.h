/* The waves that run together, and the memory that they share, as lanes.c, shared.c and products.c see them. */
#ifndef MMACALC_WAVES_H
#define MMACALC_WAVES_H
#include "core.h"

enum { VECTOR, ACCUMULATOR, SCALAR, CONSTANT }; /* what an operand is; its number is in the low 16 bits */

/* By byte one wave (from 1) that made an access of some kind, and the label of its instruction: RaceShadow's layers. */
typedef struct {
    uint8_t *waves;
    uint16_t *labels;
    uint8_t *used;             /* one byte: 0 if no wave is entered */
} Layer;

/* The last accesses of a granule of global memory, or of a line of them that all have the same: GridRaces. */
typedef struct {
    int64_t writer, reader;    /* 0: none */
    int32_t write_label, read_label;
    uint8_t write_bits, read_reach;
    uint8_t several_reads, several_changes; /* of a granule, whether there are more of them */
    uint8_t split;             /* of a line, whether its granules count */
    uint8_t unused[3];
} Known;

typedef struct {
    Known *granules, *lines;   /* NULL if that is not checked */
    int64_t count, shift;      /* lines; 1 << shift: bytes of a granule */
} Shadow;

enum { READ, WRITE, ATOMIC, SWAP, UNWAITED, UNFETCHED, UNREAD, KINDS };

typedef struct {
    uint32_t *v, *a, *s;  /* vector registers (register, wave, lane), scalar ones (register, wave) */
    const int64_t *rows;  /* which waves run */
    int64_t count, waves; /* of them, and of all */
    uint32_t *room;       /* for 64 words of all lanes of the waves that run */
    int64_t exec, scc;    /* rows of s */
    uint8_t *lds, *undefined;  /* of all workgroups, and which bytes are not written */
    int64_t limit, stride;     /* bytes of LDS of a workgroup, and to the next one's */
    const int64_t *workgroup;  /* by wave, its workgroup in the batch */
    const uint8_t *number;     /* by wave, its number in its workgroup, from 1 */
    Layer layers[KINDS][2];    /* NULL where there was no such access yet */
    uint8_t *read;             /* by byte of a workgroup's LDS, whether something has read it, */
    int32_t *writer;           /* and which instruction was the last to write it */
    float *values;             /* room for the elements of a product of one wave */
    uint8_t *declined;         /* out: by wave that runs, whether a product is still to do */
    uint8_t *memory;           /* global memory, in which each region has a place */
    const uint64_t *starts, *ends;
    const int64_t *places;
    const uint8_t *writeable, *entered; /* by region; entered: whether reads are entered below, not only listed */
    int64_t regions;
    Shadow shadow;
    int64_t first;             /* out: the region to which a store that is declined is the first one */
    const uint8_t *landing;    /* by byte of `lds`, whether an outstanding copy reads or writes it; NULL if there is none */
} Waves;

/* What is kept of an access. */
typedef struct {
    uint64_t pattern; /* of LDS a number for the addresses, counted from a multiple of 256 on; of global memory twice the
                       * region, and one more if reads are to be listed */
    int64_t active;   /* active lanes */
    int64_t entered;  /* of a load of LDS, whether it is in the layers */
} Accessed;

INLINE uint64_t exec_of(const Waves *w, int64_t wave, const int lanes) {
    const uint32_t *e = w->s + w->exec * w->waves + wave;
    return e[0] | (lanes == 64 ? (uint64_t)e[w->waves] << 32 : 0);
}

INLINE int64_t lanes_in(uint64_t mask) {
    mask -= mask >> 1 & 0x5555555555555555ull;
    mask = (mask & 0x3333333333333333ull) + (mask >> 2 & 0x3333333333333333ull);
    return (int64_t)((mask + (mask >> 4) & 0x0F0F0F0F0F0F0F0Full) * 0x0101010101010101ull >> 56);
}

/* A vector register in all lanes of a wave. */
INLINE uint32_t *register_of(const Waves *w, int32_t operand, int64_t wave, const int64_t lanes) {
    return ((operand >> 16) == VECTOR ? w->v : w->a) + ((int64_t)(operand & 0xFFFF) * w->waves + wave) * lanes;
}

#define WORD(array, at, unit) ((unit) == 4 ? load4((array) + (at)) : (unit) == 2 ? load2((array) + (at)) : (array)[at])
INLINE uint64_t load8(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
INLINE uint32_t load4(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
INLINE uint32_t load2(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return v; }
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

#endif
