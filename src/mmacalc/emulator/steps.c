/* Instructions that follow each other, of every kind that the core carries out, in one call: what
 * mmacalc.kernels.amd.blocks calls where this file has been compiled.
 */
#include "waves.h"

enum { COMPUTES, LOADS, STORES, MULTIPLIES, REACHES, MASKS };

typedef struct {
    int32_t kind, count; /* count: of the operations of one that computes, else 1 */
    const void *what;
    int64_t out;         /* of an access its number among them */
} Item;

int64_t mmacalc_lanes(const Waves *, const void *, int64_t, int64_t, int64_t);
int64_t mmacalc_local(const Waves *, const void *, uint64_t *, Accessed *, int64_t *, int64_t);
void mmacalc_enter_loads(const Waves *, const void *, const uint64_t *, const int64_t *);
int64_t mmacalc_global(Waves *, const void *, const int64_t *, uint64_t *, Accessed *, int64_t *, int64_t);
int64_t mmacalc_product(const Waves *, const void *, int64_t);

/* Enter the loads of LDS among some items. */
static void enter_loads(const Waves *w, const Item *items, const Item *end, int64_t lanes, const uint64_t *live,
                        Accessed *out, const int64_t *places) {
    for (const Item *item = items; item < end; item++)
        if (item->kind == LOADS && !out[item->out].entered) {
            out[item->out].entered = 1;
            mmacalc_enter_loads(w, item->what, live + item->out * w->count, places + item->out * w->count * lanes);
        }
}

/* Carry out items from the operation `first` to before `last`; every item that does not compute counts as one. Returns
 * the first operation that declines, or `last`.
 *
 * codes: of each access and wave, in which order it is, and live: out, its lanes (of LDS, how many); behind those of the
 * accesses EXEC as an item that only gives it found it. out, places: of each access what is kept of it, and
 * room for its places. */
VISIBLE int64_t mmacalc_steps(Waves *w, const Item *items, int64_t first, int64_t last, int64_t lanes,
                              const int64_t *codes, uint64_t *live, Accessed *out, int64_t *places) {
    int64_t at = 0;
    const Item *begun = NULL;
    for (const Item *item = items; at < last; at += item++->count) {
        if (at + item->count <= first)
            continue;
        begun = begun ? begun : item;
        const void *what = item->what;
        const int64_t number = item->out, begin = first > at ? first - at : 0;
        const int64_t end = at + item->count > last ? last - at : item->count;
        int64_t done = 1;
        switch (item->kind) {
        case COMPUTES: done = mmacalc_lanes(w, what, begin, end, lanes); break;
        case STORES:
            enter_loads(w, begun, item, lanes, live, out, places);
            begun = item;
            /* fall through */
        case LOADS:
            done = mmacalc_local(w, what, live + number * w->count, out + number,
                                 places + number * w->count * lanes, lanes);
            break;
        case MULTIPLIES: done = mmacalc_product(w, what, lanes); break;
        case REACHES:
            done = mmacalc_global(w, what, codes + number * w->count, live + number * w->count, out + number,
                                  places + number * w->count * lanes, lanes);
            break;
        case MASKS:
            for (int64_t n = 0; n < w->count; n++)
                live[number * w->count + n] = exec_of(w, w->rows[n], (int)lanes);
            break;
        }
        if (done < end)
            return at + done;
    }
    return last;
}
