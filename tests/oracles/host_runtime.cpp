// Runs the threads of a block on the host, each as a coroutine, until all of them meet at an instruction of a warp, a
// warpgroup or the block; what the instruction does is asked of `Model`, for all groups that wait at once.
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>

// clang asks for it where it makes zeros of __bf16; libgcc has it from version 13 on.
extern "C" __bf16 __truncsfbf2(float value) {
    __bf16 result;
    std::memcpy(&result, (char *)&value + 2, 2);
    return result;
}

namespace host {
typedef void (*Model)(const char *what, int lanes, int groups, uint64_t **words);
int current, block_x, block_y;

struct Copy {
    void *to;
    const void *from;
    int bytes, read;
};
struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool done;
    const char *what;  // the instruction it waits at
    int members;
    uint64_t *words;
    std::vector<Copy> open;  // copies that were started, and the groups that were committed
    std::deque<std::vector<Copy>> groups;
};
static std::vector<Thread> threads;
static ucontext_t scheduler;
static int problems;
static void (*body)(void **);
static void **arguments;

static void start() {
    body(arguments);
    Thread &self = threads[current];
    for (auto &group : self.groups) self.open.insert(self.open.end(), group.begin(), group.end());
    problems += !self.open.empty();  // copies that nobody waited for
    self.done = true;
    swapcontext(&self.context, &scheduler);
}
void meet(const char *what, int members, uint64_t *words) {
    Thread &self = threads[current];
    self.what = what, self.members = members, self.words = words;
    swapcontext(&self.context, &scheduler);
}
void synchronize() { meet("barrier", (int)threads.size(), nullptr); }

// Asynchronous copies happen as late as they may: when the thread waits for them.
void copy(void *to, const void *from, int bytes, int read) {
    threads[current].open.push_back({to, from, bytes, read});
}
void commit() {
    Thread &self = threads[current];
    self.groups.push_back(std::exchange(self.open, {}));
}
void wait(size_t pending) {
    auto &groups = threads[current].groups;
    for (; groups.size() > pending; groups.pop_front())
        for (auto &each : groups.front()) {
            std::memset(each.to, 0, each.bytes);
            std::memcpy(each.to, each.from, each.read);
        }
}

// The first of the threads `at` and those after it that all wait at the same instruction; whether there are any.
static bool together(size_t at) {
    const Thread &first = threads[at];
    if (!first.what || at % first.members) return false;
    for (int n = 0; n < first.members; ++n)
        if (!threads[at + n].what || std::strcmp(threads[at + n].what, first.what)) return false;
    return true;
}
static bool step(Model model, bool alone) {
    for (size_t at = 0; at < threads.size(); ++at) {
        if (!together(at)) continue;
        const char *what = threads[at].what;
        const int members = threads[at].members;
        std::vector<uint64_t *> words;
        std::vector<Thread *> ready;
        for (size_t other = at; other < (alone ? at + 1 : threads.size()); ++other)
            if (together(other) && !std::strcmp(threads[other].what, what))
                for (int n = 0; n < members; ++n) {
                    words.push_back(threads[other + n].words);
                    ready.push_back(&threads[other + n]);
                }
        if (std::strcmp(what, "barrier")) model(what, members, (int)words.size() / members, words.data());
        for (Thread *each : ready) each->what = nullptr;
        return true;
    }
    return false;
}

// Lets threads run until each waits: those of the first warp (or of the block, by `together`) that can.
static bool proceed(int together) {
    for (size_t first = 0; first < threads.size(); first += together) {
        bool any = false;
        for (size_t at = first; at < first + together; ++at)
            if (!threads[at].done && !threads[at].what) {
                any = true, current = at;
                swapcontext(&scheduler, &threads[at].context);
            }
        if (any) return true;
    }
    return false;
}
// `alone`: each warp runs as far as it can before the next; else all warps run at once, which is faster.
// Returns 0, or the number of what went wrong: copies without a wait, or threads that wait for ever (1000000).
int run(int blocks_x, int blocks_y, int count, int alone, Model model, void (*kernel)(void **), void **given,
        char *shared, size_t bytes) {
    problems = 0, body = kernel, arguments = given;
    for (block_x = 0; block_x < blocks_x; ++block_x)
        for (block_y = 0; block_y < blocks_y; ++block_y) {
            std::memset(shared, 0xFF, bytes);
            threads = std::vector<Thread>(count);
            for (Thread &each : threads) {
                getcontext(&each.context);
                each.stack.reset(new char[1 << 16]);
                each.context.uc_stack.ss_sp = each.stack.get();
                each.context.uc_stack.ss_size = 1 << 16;
                makecontext(&each.context, start, 0);
            }
            while (alone ? step(model, true) || proceed(32) : proceed(count) || step(model, false)) {}
            for (Thread &each : threads)
                if (!each.done) return 1000000;
        }
    return problems;
}
}  // namespace host
