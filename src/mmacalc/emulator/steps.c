/* Instructions that follow each other, of every kind that the core carries out, in one call: what
 * mmacalc.kernels.amd.blocks calls where this file has been compiled.
 */
#include "waves.h"

enum { COMPUTES, MOVES, MULTIPLIES, REACHES };

typedef struct {
    int32_t kind, count; /* count: of the operations of one that computes, else 1 */
    const void *what;
    int64_t out;         /* of an access its number among them */
} Item;

int64_t mmacalc_lanes(const Waves *, const void *, int64_t, int64_t, int64_t);
int64_t mmacalc_local(const Waves *, const void *, Accessed *, int64_t *, int64_t);
int64_t mmacalc_global(Waves *, const void *, const int64_t *, Accessed *, int64_t *, int64_t);
int64_t mmacalc_product(const Waves *, const void *, int64_t);

/* Carry out items from the operation `first` on; every other item counts as one. Returns the first operation that
 * declines, or how many they are.
 *
 * codes: of each access and wave, in which order it is (of those of global memory). out, places: of each access what is
 * kept of it, and room for its places. */
VISIBLE int64_t mmacalc_steps(Waves *w, const Item *items, int64_t count, int64_t first, int64_t lanes,
                      const int64_t *codes, Accessed *out, int64_t *places) {
    int64_t at = 0;
    for (const Item *item = items; item < items + count; at += item++->count) {
        if (at + item->count <= first)
            continue;
        const void *what = item->what;
        Accessed *own = out + item->out;
        int64_t *own_places = places + item->out * w->count * lanes;
        int64_t done = 1;
        switch (item->kind) {
        case COMPUTES: done = mmacalc_lanes(w, what, first > at ? first - at : 0, item->count, lanes); break;
        case MOVES: done = mmacalc_local(w, what, own, own_places, lanes); break;
        case MULTIPLIES: done = mmacalc_product(w, what, lanes); break;
        case REACHES: done = mmacalc_global(w, what, codes + item->out * w->count, own, own_places, lanes); break;
        }
        if (done < item->count)
            return at + done;
    }
    return at;
}
