// What generated kernels call when they run on the host; see host_runtime.cpp.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern char __start_shared_memory[], __stop_shared_memory[];

namespace host {
typedef void (*Model)(const char *what, int lanes, int groups, uint64_t **words);
extern int current, block_x, block_y;
void meet(const char *what, int members, uint64_t *words);  // stops this thread until all members have come here
void synchronize();
void copy(void *to, const void *from, int bytes, int read);
void commit();
void wait(size_t pending);
int run(int blocks_x, int blocks_y, int threads, int alone, Model model, void (*body)(void **), void **arguments,
        char *shared, size_t bytes);

static inline uint32_t lane(int wave) { return current % wave; }
static inline uint32_t shared_address(const void *pointer) { return (const char *)pointer - __start_shared_memory; }
template <class T> uint64_t bits(T value) {
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}
template <class T> T value(uint64_t word) {
    T found;
    memcpy(&found, &word, sizeof found);
    return found;
}
template <class T> void put(uint64_t *&words, T argument) {
    uint32_t part[(sizeof argument + 3) / 4] = {};
    memcpy(part, &argument, sizeof argument);
    for (uint32_t word : part) *words++ = word;
}

// An AMD builtin: the 32-bit words of its arguments one behind the other; the result, like c, begins where they begin.
template <class Result, class... Arguments> Result wave(const char *what, int lanes, Result c, Arguments... arguments) {
    uint64_t words[256], *end = words;
    (put(end, arguments), ...);
    meet(what, lanes, words);
    uint32_t part[(sizeof c + 3) / 4];
    for (uint32_t n = 0; n < sizeof part / 4; ++n) part[n] = (uint32_t)words[n];
    memcpy(&c, part, sizeof c);
    return c;
}
}  // namespace host
