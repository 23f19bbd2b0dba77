/* Accesses of a CTA's shared memory by the threads of PTX: what mmacalc.kernels.ptx.shared_core describes.
 *
 * As in shared.c an access is carried out here only if there is nothing to say about it. Else it declines, and nothing
 * has changed: the caller looks at it on NumPy, and finds out what there is to say.
 */
#include "core.h"

typedef struct {
    /* Shadow, by granule of shared memory: the last write, and the last read since. */
    int32_t *writer, *write_clock, *write_step;
    uint8_t *how;                      /* GENERIC: by the generic proxy; FRESH: nothing has read it since */
    int32_t *reader;
    const int32_t *read_clock;
    uint8_t *shared, *atomic;
    int64_t *wrote;                    /* by team */
    const int64_t *meetings;
    const int32_t *flight;             /* by granule: an operation in flight that writes it, and how many read it */
    int16_t *readers;
    uint8_t *memory, *written;         /* by byte */
    const int64_t *team_of, *member_of; /* by thread */
    const int32_t *clock, *common;     /* Order: (team, agent), and (team, thread, agent), NULL if there are none */
    const int32_t *known;
    const int32_t *fences;             /* ProxyFences: (fence, team, thread), NULL if there are none */
    int64_t kept, teams, threads, agents, granule;
    int64_t logged;                    /* whether Shadow.log has reads, of granules that are `shared` */
    /* Unread: its flags (writer, granule of a CTA), of which a CTA has `each`, whether a writer has any that are LOST, and
     * by step the writer that it is. */
    uint8_t *flags, *lost;
    const uint16_t *writers;
    int64_t each;
} Watch;

enum { GENERIC = 1, FRESH = 2 };  /* Watch.how */
enum { READ_ONCE = 1, LOST = 2 }; /* Watch.flags */

/* Enter in the flags what became of the last writes of granules of one CTA; of those that are LOST not the zeros. */
static void flag(const Watch *w, int64_t first, int64_t count, int what, int64_t granule) {
    static const uint8_t zeros[8] = {0};
    uint8_t *const flags = w->flags + first % w->each;
    for (int64_t k = 0, at = first; k < count; k++, at++)
        if (w->how[at] & FRESH && (what == READ_ONCE || memcmp(w->memory + at * granule, zeros, (size_t)granule))) {
            const int64_t writer = w->writers[w->write_step[at]];
            flags[writer * w->each + k] |= (uint8_t)what;
            w->lost[writer] |= what == LOST;
        }
}

INLINE int is_fresh(const uint8_t *how, const int64_t count) {
    uint8_t any = 0;
    for (int64_t k = 0; k < count; k++)
        any |= how[k];
    return any & FRESH;
}

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

/* Whether one access may write `width` granules from `first` on. */
INLINE int may_write_one(const Watch *w, int64_t team, int64_t thread, int64_t first, const int64_t width) {
    const int32_t *const writers = w->writer, *const readers = w->reader;
    const int32_t *const write_clock = w->write_clock, *const read_clock = w->read_clock;
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
    return 1;
}

/* How many of the accesses from the first one on are by threads in a row, of one team, to places in a row. Threads are
 * in the order of their teams. */
INLINE int64_t run_of(const Watch *w, const int64_t *number, const int64_t *places, int64_t count, const int64_t size) {
    int64_t n = 1;
    while (n < count && places[n] == places[0] + n * size && number[n] == number[0] + n)
        n++;
    while (w->team_of[number[n - 1]] != w->team_of[number[0]])
        n--;
    return n;
}

/* Whether any thread of a team may access granules: nothing is in flight, and all threads know what was done there, since
 * they know all that was done up to the clock `low`. */
INLINE int calm(const Watch *w, int64_t first, int64_t granules, int32_t low) {
    const int32_t *const writer = w->writer + first, *const reader = w->reader + first, threads = (int32_t)w->threads;
    const int32_t *const write_clock = w->write_clock + first, *const read_clock = w->read_clock + first;
    int32_t late = 0;
    if (!at_rest(w->flight + first, w->readers + first, w->logged ? w->shared + first : NULL, granules))
        return 0;
    for (int64_t k = 0; k < granules; k++) {
        late |= (writer[k] >= threads) | ((writer[k] >= 0) & (write_clock[k] > low));
        late |= (reader[k] >= threads) | ((reader[k] >= 0) & (read_clock[k] > low));
    }
    return !late;
}

/* The clock up to which every thread of a team knows what every other one did. */
INLINE int32_t low_of(const Watch *w, int64_t team) {
    const int32_t *const common = w->common + team * w->agents;
    int32_t low = INT32_MAX;
    for (int64_t k = 0; k < w->threads; k++)
        low = common[k] < low ? common[k] : low;
    return low;
}

/* What is kept of a granule lies in many arrays, which together do not fit the caches: it is fetched ahead of its use. */
INLINE void fetch(const Watch *w, int64_t place, const int64_t granule) {
#if defined(__GNUC__)
    const int64_t at = place / granule;
    __builtin_prefetch(w->flight + at);
    __builtin_prefetch(w->readers + at);
    __builtin_prefetch(w->writer + at, 1);
    __builtin_prefetch(w->write_clock + at, 1);
    __builtin_prefetch(w->write_step + at, 1);
    __builtin_prefetch(w->reader + at, 1);
    __builtin_prefetch(w->read_clock + at);
    __builtin_prefetch(w->how + at, 1);
    __builtin_prefetch(w->shared + at, 1);
    __builtin_prefetch(w->atomic + at, 1);
    __builtin_prefetch(w->memory + place, 1);
    __builtin_prefetch(w->written + place, 1);
#endif
}

enum { AHEAD = 96 }; /* accesses */

INLINE int may_write(const Watch *w, const int64_t *number, const int64_t *places, int64_t count, const int64_t size,
                     const int64_t granule) {
    const int64_t width = size / granule;
    int64_t known = -1;
    int32_t low = 0;
    for (int64_t i = 0, n; i < count; i += n) {
        const int64_t team = w->team_of[number[i]], first = places[i] / granule;
        n = run_of(w, number + i, places + i, count - i, size);
        if (i + AHEAD < count)
            fetch(w, places[i + AHEAD], granule);
        if (team != known)
            known = team, low = low_of(w, team);
        if (calm(w, first, n * width, low))
            continue;
        for (int64_t k = 0; k < n; k++)
            if (!may_write_one(w, team, w->member_of[number[i + k]], first + k * width, width))
                return 0;
    }
    return 1;
}

/* Note the writes of a run of accesses, to granules from `first` on. */
INLINE void note(const Watch *w, int64_t first, int64_t n, int64_t team, int64_t thread, int32_t step,
                 const int64_t width, const int64_t granule) {
    int32_t *const restrict writer = w->writer + first, *const restrict write_clock = w->write_clock + first;
    int32_t *const restrict write_step = w->write_step + first;
    const int32_t *const restrict clock = w->clock + team * w->agents + thread;
    const size_t granules = (size_t)(n * width);
    if (is_fresh(w->how + first, n * width))
        for (int64_t k = 0; k < n; k++)
            flag(w, first + k * width, width, LOST, granule);
    for (int64_t k = 0; k < n; k++)
        for (int64_t part = 0; part < width; part++)
            writer[k * width + part] = (int32_t)(thread + k);
    for (int64_t k = 0; k < n; k++)
        for (int64_t part = 0; part < width; part++)
            write_clock[k * width + part] = clock[k];
    for (int64_t k = 0; k < n * width; k++)
        write_step[k] = step;
    memset(w->reader + first, 0xFF, granules * sizeof *w->reader); /* -1 */
    memset(w->how + first, GENERIC | FRESH, granules);
    memset(w->shared + first, 0, granules);
    memset(w->atomic + first, 0, granules);
}

INLINE int64_t write_shared(const Watch *w, const int64_t *number, const int64_t *places, int64_t count,
                            const int64_t size, const int64_t granule, const uint8_t *data, int64_t step) {
    int lost = 0;
    if (!may_write(w, number, places, count, size, granule))
        return 0;
    for (int64_t i = 0, n; i < count; i += n) {
        const int64_t team = w->team_of[number[i]];
        n = run_of(w, number + i, places + i, count - i, size);
        note(w, places[i] / granule, n, team, w->member_of[number[i]], (int32_t)step, size / granule, granule);
        w->wrote[team] = w->meetings[team];
        memcpy(w->memory + places[i], data + i * size, (size_t)(n * size));
        memset(w->written + places[i], 1, (size_t)(n * size));
    }
    for (int64_t i = 0, n; i < count; i += n) {
        n = run_of(w, number + i, places + i, count - i, size);
        lost |= memcmp(w->memory + places[i], data + i * size, (size_t)(n * size)) != 0;
    }
    return 1 + lost;
}

/* A call by the sizes of accesses and granules that are common. */
#define SIZES(call) \
    do { \
        OF(2, 2, call) OF(4, 2, call) OF(4, 4, call) OF(8, 2, call) OF(8, 4, call) OF(16, 2, call) OF(16, 4, call) \
        const int64_t bytes = size, granule = w->granule; \
        return call; \
    } while (0)
#define OF(b, g, call) \
    if (size == b && w->granule == g) { \
        enum { bytes = b, granule = g }; \
        return call; \
    }

/* Whether threads (by number, one for each access) may write `size` bytes at places: nothing in flight touches them, and
 * all accesses before are ordered. */
EXPORT int64_t mmacalc_may_write(const Watch *w, const int64_t *number, const int64_t *places, int64_t count,
                                 int64_t size) {
    SIZES(may_write(w, number, places, count, bytes, granule));
}

/* Write bytes (access, byte) of shared memory and note it, if that may be: 0 if not, else 1, and 2 where another of the
 * accesses wrote another value to the place of one. */
EXPORT int64_t mmacalc_write_shared(const Watch *w, const int64_t *number, const int64_t *places, int64_t count,
                                    int64_t size, const uint8_t *data, int64_t step) {
    SIZES(write_shared(w, number, places, count, bytes, granule, data, step));
}

INLINE int take(const Watch *w, const int64_t *places, int64_t count, const int64_t size, const int64_t granule) {
    const uint8_t *const written = w->written;
    uint8_t all = 1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t first = places[i] / granule;
        uint8_t *const how = w->how + first;
        for (int64_t k = 0; k < size; k++)
            all &= written[places[i] + k];
        if (!is_fresh(how, size / granule))
            continue;
        flag(w, first, size / granule, READ_ONCE, granule);
        for (int64_t k = 0; k < size / granule; k++)
            how[k] &= GENERIC;
    }
    return all;
}

/* Note that bytes at places are read; whether all of them are written. */
EXPORT int64_t mmacalc_take(const Watch *w, const int64_t *places, int64_t count, int64_t size) {
    SIZES(take(w, places, count, bytes, granule));
}
#undef OF

/* Whether the async proxy may read a granule on behalf of a thread; see mmacalc_async_reads. */
INLINE int may_read_one(const Watch *w, int64_t team, int64_t thread, int64_t at) {
    const int32_t writer = w->writer[at], clock = w->write_clock[at];
    if (writer < 0)
        return 1;
    if (!ordered(w, team, thread, writer, clock))
        return 0;
    if (!(w->how[at] & GENERIC) || writer >= w->threads)
        return 1;
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
    return fenced;
}

/* The clock up to which writes by threads of a team have a fence behind them that all of them know of. */
INLINE int32_t fenced_of(const Watch *w, int64_t team) {
    const int32_t *const common = w->common + team * w->agents;
    int32_t most = -1;
    for (int64_t k = 0; w->fences && k < w->kept; k++) {
        const int32_t *const fence = w->fences + (k * w->teams + team) * w->threads;
        int32_t least = INT32_MAX, unknown = 0;
        for (int64_t t = 0; t < w->threads; t++) {
            least = fence[t] < least ? fence[t] : least;
            unknown |= fence[t] > common[t];
        }
        most = !unknown && least > most ? least : most;
    }
    return most;
}

INLINE int async_reads(const Watch *w, int64_t number, int64_t start, const int64_t *granules, int64_t count,
                       const int64_t granule) {
    const int64_t team = w->team_of[number], thread = w->member_of[number];
    const int32_t low = low_of(w, team), fenced = fenced_of(w, team), threads = (int32_t)w->threads;
    const int64_t each = w->each;
    int64_t base = 0; /* where the memory of a CTA begins */
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = granules[i] + start;
        const int32_t writer = w->writer[at], clock = w->write_clock[at];
        const uint8_t how = w->how[at];
        uint32_t all = 1;
        if (how & FRESH) { /* as `flag`, without a division for each */
            if (at < base || at >= base + each)
                base = at - at % each;
            w->flags[w->writers[w->write_step[at]] * each + at - base] |= READ_ONCE;
            w->how[at] = how & GENERIC;
        }
        for (int64_t byte = at * granule; byte < (at + 1) * granule; byte++)
            all &= w->written[byte];
        if (w->flight[at] || !all)
            return 0;
        if (writer < threads && clock <= low && (!(how & GENERIC) || clock <= fenced))
            continue;
        if (!may_read_one(w, team, thread, at))
            return 0;
    }
    return 1;
}

/* Whether the async proxy may read granules on behalf of threads, each counted from a start of its own: all are written,
 * by writes that precede it and, where they are of the generic proxy, have a fence of the writing thread behind them. 0
 * also where a fence of another thread may do. */
EXPORT int64_t mmacalc_async_reads(const Watch *w, const int64_t *numbers, const int64_t *starts, int64_t threads,
                                   const int64_t *granules, int64_t count) {
    int fine = 1;
    for (int64_t n = 0; fine && n < threads; n++)
        switch (w->granule) {
        case 2: fine = async_reads(w, numbers[n], starts[n], granules, count, 2); break;
        case 4: fine = async_reads(w, numbers[n], starts[n], granules, count, 4); break;
        default: fine = async_reads(w, numbers[n], starts[n], granules, count, w->granule);
        }
    return fine;
}

/* Operations begin (1) or end (-1) to read granules, each counted from some starts. */
EXPORT void mmacalc_reading(const Watch *w, const int64_t *starts, int64_t operations, const int64_t *granules,
                            int64_t count, int64_t change) {
    int16_t *const readers = w->readers;
    for (int64_t n = 0; n < operations; n++)
        for (int64_t i = 0; i < count; i++)
            readers[granules[i] + starts[n]] = (int16_t)(readers[granules[i] + starts[n]] + change);
}

/* Granules, each counted from some starts, have reads in Shadow.log. */
EXPORT void mmacalc_log_reads(const Watch *w, const int64_t *starts, int64_t operations, const int64_t *granules,
                              int64_t count) {
    for (int64_t n = 0; n < operations; n++)
        for (int64_t i = 0; i < count; i++)
            w->shared[granules[i] + starts[n]] = 1;
}
