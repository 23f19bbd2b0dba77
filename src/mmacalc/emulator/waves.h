/* The waves that run together, as lanes.c and shared.c see them. */
#ifndef MMACALC_WAVES_H
#define MMACALC_WAVES_H
#include <stdint.h>

typedef struct {
    uint32_t *v, *a, *s;  /* vector registers (register, wave, lane), scalar ones (register, wave) */
    const int64_t *rows;  /* which waves run */
    int64_t count, waves; /* of them, and of all */
    uint32_t *room;       /* for two results of all lanes of the waves that run */
    int64_t exec, scc;    /* rows of s */
} Waves;

#endif
