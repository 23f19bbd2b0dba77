/* Accesses of a CTA's shared memory by the threads of PTX: what mmacalc.kernels.ptx.shared_core describes.
 *
 * As in shared.c an access is carried out here only if there is nothing to say about it. Else it declines, and nothing
 * has changed: the caller looks at it on NumPy, and finds out what there is to say.
 */
#include "core.h"

typedef struct {
    /* Shadow, by granule of shared memory: the last write, and the last read since. */
    int32_t *writer, *write_clock, *write_step;
    uint8_t *generic;
    int32_t *reader;
    const int32_t *read_clock;
    uint8_t *shared, *atomic;
    int64_t *wrote;                    /* by team */
    const int64_t *meetings;
    const int32_t *flight;             /* by granule: an operation in flight that writes it, and how many read it */
    const int16_t *readers;
    uint8_t *memory, *written;         /* by byte */
    const int64_t *team_of, *member_of; /* by thread */
    const int32_t *clock, *common;     /* Order: (team, agent), and (team, thread, agent), NULL if there are none */
    const int32_t *known;
    const int32_t *fences;             /* ProxyFences: (fence, team, thread), NULL if there are none */
    int64_t kept, teams, threads, agents, granule;
    int64_t logged;                    /* whether Shadow.log has reads, of granules that are `shared` */
} Watch;

/* Order.ordered. */
INLINE int ordered(const Watch *w, int64_t team, int64_t thread, int32_t agent, int32_t clock) {
    if (agent == thread || clock <= w->common[team * w->agents + agent])
        return 1;
    return w->known && clock <= w->known[(team * w->threads + thread) * w->agents + agent];
}

/* Whether nothing in flight touches the granules of an access. Pointers are read once: bytes that are written might
 * alias the struct that holds them. */
INLINE int at_rest(const int32_t *flight, const int16_t *readers, const uint8_t *shared, const int64_t width) {
    int busy = 0;
    for (int64_t k = 0; k < width; k++)
        busy |= (flight[k] != 0) | (readers[k] > 0);
    for (int64_t k = 0; shared && k < width; k++)
        busy |= shared[k];
    return !busy;
}

INLINE int may_write(const Watch *w, const int64_t *number, const int64_t *places, int64_t count, const int64_t width) {
    const int32_t *const writers = w->writer, *const readers = w->reader;
    const int32_t *const write_clock = w->write_clock, *const read_clock = w->read_clock;
    for (int64_t i = 0; i < count; i++) {
        const int64_t team = w->team_of[number[i]], thread = w->member_of[number[i]], first = places[i] / w->granule;
        if (!at_rest(w->flight + first, w->readers + first, w->logged ? w->shared + first : NULL, width))
            return 0;
        int32_t writer = -1, written = 0, reader = -1, read = 0; /* the last that are known to be ordered */
        for (int64_t at = first; at < first + width; at++) {
            if (writers[at] >= 0 && (writers[at] != writer || write_clock[at] != written)) {
                writer = writers[at], written = write_clock[at];
                if (!ordered(w, team, thread, writer, written))
                    return 0;
            }
            if (readers[at] >= 0 && (readers[at] != reader || read_clock[at] != read)) {
                reader = readers[at], read = read_clock[at];
                if (!ordered(w, team, thread, reader, read))
                    return 0;
            }
        }
    }
    return 1;
}

/* Whether threads (by number, one for each access) may write `size` bytes at places: nothing in flight touches them, and
 * all accesses before are ordered. */
VISIBLE int64_t mmacalc_may_write(const Watch *w, const int64_t *number, const int64_t *places, int64_t count,
                                  int64_t size) {
    const int64_t width = size / w->granule;
    switch (width) {
    case 1: return may_write(w, number, places, count, 1);
    case 4: return may_write(w, number, places, count, 4);
    case 8: return may_write(w, number, places, count, 8);
    }
    return may_write(w, number, places, count, width);
}

/* Note the write of an access, to granules from `first` on. */
INLINE void note(const Watch *w, int64_t first, int32_t thread, int32_t clock, int32_t step, const int64_t width) {
    int32_t *const writer = w->writer + first, *const write_clock = w->write_clock + first;
    int32_t *const write_step = w->write_step + first, *const reader = w->reader + first;
    uint8_t *const generic = w->generic + first, *const shared = w->shared + first, *const atomic = w->atomic + first;
    for (int64_t k = 0; k < width; k++)
        writer[k] = thread;
    for (int64_t k = 0; k < width; k++)
        write_clock[k] = clock;
    for (int64_t k = 0; k < width; k++)
        write_step[k] = step;
    memset(reader, 0xFF, (size_t)width * sizeof *reader); /* -1 */
    memset(generic, 1, (size_t)width);
    memset(shared, 0, (size_t)width);
    memset(atomic, 0, (size_t)width);
}

INLINE int64_t write_shared(const Watch *w, const int64_t *number, const int64_t *places, int64_t count,
                            const int64_t width, const int64_t size, const uint8_t *data, int64_t step) {
    uint8_t *const memory = w->memory, *const written = w->written;
    int lost = 0;
    if (!mmacalc_may_write(w, number, places, count, size))
        return 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t team = w->team_of[number[i]], thread = w->member_of[number[i]];
        note(w, places[i] / w->granule, (int32_t)thread, w->clock[team * w->agents + thread], (int32_t)step, width);
        w->wrote[team] = w->meetings[team];
        memcpy(memory + places[i], data + i * size, (size_t)size);
        memset(written + places[i], 1, (size_t)size);
    }
    for (int64_t i = 0; i < count; i++)
        lost |= memcmp(memory + places[i], data + i * size, (size_t)size) != 0;
    return 1 + lost;
}

/* Write bytes (access, byte) of shared memory and note it, if that may be: 0 if not, else 1, and 2 where another of the
 * accesses wrote another value to the place of one. */
VISIBLE int64_t mmacalc_write_shared(const Watch *w, const int64_t *number, const int64_t *places, int64_t count,
                                     int64_t size, const uint8_t *data, int64_t step) {
    const int64_t width = size / w->granule;
#define OF(bytes, granules) \
    if (size == bytes && width == granules) \
        return write_shared(w, number, places, count, granules, bytes, data, step);
    OF(16, 4) OF(16, 8) OF(4, 1) OF(4, 2) OF(2, 1) OF(8, 2) OF(8, 4)
#undef OF
    return write_shared(w, number, places, count, width, size, data, step);
}

/* Whether the async proxy may read granules on behalf of a thread: all are written, by writes that precede it and,
 * where they are of the generic proxy, have a fence of the writing thread behind them. 0 also where a fence of another
 * thread may do. */
VISIBLE int64_t mmacalc_async_reads(const Watch *w, int64_t number, const int64_t *granules, int64_t count) {
    const int64_t team = w->team_of[number], thread = w->member_of[number];
    int32_t last = -1, last_clock = 0;
    int last_generic = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = granules[i];
        const int32_t writer = w->writer[at], clock = w->write_clock[at];
        if (w->flight[at])
            return 0;
        for (int64_t byte = at * w->granule; byte < (at + 1) * w->granule; byte++)
            if (!w->written[byte])
                return 0;
        if (writer < 0 || (writer == last && clock == last_clock && w->generic[at] == last_generic))
            continue;
        last = writer, last_clock = clock, last_generic = w->generic[at];
        if (!ordered(w, team, thread, writer, clock))
            return 0;
        if (!last_generic || writer >= w->threads)
            continue;
        if (!w->fences)
            return 0;
        int32_t knows = w->common[team * w->agents + writer]; /* Order.knows */
        if (w->known && w->known[(team * w->threads + thread) * w->agents + writer] > knows)
            knows = w->known[(team * w->threads + thread) * w->agents + writer];
        if (writer == thread)
            knows = w->clock[team * w->agents + writer];
        int fenced = 0;
        for (int64_t k = 0; k < w->kept; k++) {
            const int32_t fence = w->fences[(k * w->teams + team) * w->threads + writer];
            fenced |= fence >= clock && fence <= knows;
        }
        if (!fenced)
            return 0;
    }
    return 1;
}
