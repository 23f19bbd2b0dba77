// Runs every matrix instruction of one target on known registers and prints what comes out, as JSON.
//
//     python make_forms.py sm_90a > forms.inc
//     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a -O1 probe.cu -o probe && ./probe > measured.json
//     python check.py measured.json
//
// This program knows no layout: it fills registers and shared memory with hashed bits (see inputs.py, which says
// the same), runs one instruction, and prints the registers of D. check.py holds them against mmacalc's tables.
#pragma nv_diag_suppress 550  // loads and stores leave some of a kernel's variables unused
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

typedef uint32_t u32;
typedef uint64_t u64;

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t error_ = (call);                                                 \
        if (error_ != cudaSuccess) {                                                 \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));          \
            exit(2);                                                                 \
        }                                                                            \
    } while (0)

struct Fill {
    int registers, width, offset;
    u64 codes[8], keep, force, full;
};

enum Kind { WARP, MOVING, GROUP };

// in and out: [register][lane]; image and dump: shared memory before and after; descriptor: of wgmma's B at address 0
typedef void (*Kernel)(const u32 *in, u32 *out, const u32 *image, u32 *dump, int image_words, u64 descriptor);

struct Form {
    const char *name, *constants;
    Kind kind;
    Kernel kernel;
    int words, out;
    const char *order;
    Fill fills[6];
    int image_bytes;
    u64 descriptor;
    Fill b;
};

#define AS(...) __VA_ARGS__
#define W64(p) (((u64)(p)[1] << 32) | (p)[0])
#define SPLIT(d, w, n) for (int i_ = 0; i_ < (n); ++i_) d[i_] = (u32)(w[i_ / 2] >> (32 * (i_ & 1)));
#define COPY(d, x, n) for (int i_ = 0; i_ < (n); ++i_) d[i_] = (x)[i_];
#define ISSUE(text, results, inputs)                                                                     \
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                              \
    asm volatile(text : results : inputs);                                                               \
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");

#define HEAD(ID, NIN, NOUT, LANES)                                                                       \
    __global__ void run_##ID(const u32 *in, u32 *out, const u32 *image, u32 *dump, int words, u64 b) {   \
        const int lane = threadIdx.x;                                                                    \
        u32 x[(NIN) + 1], d[(NOUT) + 1];                                                                 \
        for (int i = 0; i < (NIN); ++i) x[i] = in[i * (LANES) + lane];                                   \
        (void)x, (void)d, (void)image, (void)dump, (void)words, (void)b;
#define TAIL(NOUT, LANES)                                                                                \
        for (int i = 0; i < (NOUT); ++i) out[i * (LANES) + lane] = d[i];                                 \
    }

#define MMA(ID, NIN, NOUT, ...) HEAD(ID, NIN, NOUT, 32) __VA_ARGS__ TAIL(NOUT, 32)

// The lane's row address is a permutation of the 32 rows of 16 bytes, so that addresses count.
#define MOVE(ID, NIN, NOUT, ...)                                                                         \
    HEAD(ID, NIN, NOUT, 32)                                                                              \
    __shared__ __align__(1024) u32 memory[1024];                                                         \
    for (int i = lane; i < words; i += 32) memory[i] = image[i];                                         \
    __syncwarp();                                                                                        \
    const u32 s = (u32)__cvta_generic_to_shared(memory + 4 * ((lane * 5 + 3) & 31));                     \
    (void)s;                                                                                             \
    __VA_ARGS__ __syncwarp();                                                                            \
    for (int i = lane; i < words; i += 32) dump[i] = memory[i];                                          \
    TAIL(NOUT, 32)

#define WGMMA(ID, NIN, NOUT, ...)                                                                        \
    HEAD(ID, NIN, NOUT, 128)                                                                             \
    __shared__ __align__(1024) u32 memory[4096];                                                         \
    for (int i = lane; i < words; i += 128) memory[i] = image[i];                                        \
    __syncthreads();                                                                                     \
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                         \
    b |= (u64)(((u32)__cvta_generic_to_shared(memory) & 0x3FFFF) >> 4);                                  \
    __VA_ARGS__ TAIL(NOUT, 128)

#include "forms.inc"

static const char *MODES[] = {"exact", "rounding", "any"};
static const int TRIALS = 3;

static u32 mix(u32 x) {
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

static u32 seed(const char *name) {
    u32 value = 0x811C9DC5u;
    for (; *name; ++name) value = (value ^ (unsigned char)*name) * 0x01000193u;
    return value;
}

static u32 random_word(u32 start, int trial, int operand, int index, int lane) {
    return mix(mix(start + 64 * trial + operand) + 256 * lane + index);
}

static u64 value(const Fill &fill, int mode, u64 bits) {
    u64 result = 0;
    const int slots = fill.width < 32 ? 32 / fill.width : 1;
    for (int slot = 0; slot < slots; ++slot) {
        const u64 part = bits >> (slot * fill.width);
        u64 code;
        if (mode == 2 && fill.full)
            code = part & fill.full;
        else if (mode == 0 || !fill.keep)
            code = fill.codes[part & 7];
        else
            code = (part & fill.keep) | fill.force;
        result |= code << (slot * fill.width + fill.offset);
    }
    return result;
}

static std::vector<u32> registers(const Form &form, int mode, int trial, int lanes) {
    std::vector<u32> file(form.words * lanes + 1);
    const u32 start = seed(form.name);
    int base = 0;
    for (int which = 0; form.order[which]; ++which) {
        const Fill &fill = form.fills[which];
        const int operand = form.order[which] - '0', step = fill.width == 64 ? 2 : 1;
        for (int lane = 0; lane < lanes; ++lane)
            for (int index = 0; index < fill.registers; index += step) {
                u64 bits = random_word(start, trial, operand, index, lane);
                if (step == 2) bits |= (u64)random_word(start, trial, operand, index + 1, lane) << 32;
                const u64 word = value(fill, mode, bits);
                file[(base + index) * lanes + lane] = (u32)word;
                if (step == 2) file[(base + index + 1) * lanes + lane] = (u32)(word >> 32);
            }
        base += fill.registers;
    }
    if (form.kind == MOVING)
        for (int index = 0; index < form.words; ++index)
            for (int lane = 0; lane < lanes; ++lane)
                file[index * lanes + lane] = random_word(start, trial, 0, index, lane);
    return file;
}

static std::vector<u32> shared_words(const Form &form, int mode, int trial) {
    std::vector<u32> image(form.image_bytes / 4 + 1);
    for (int i = 0; i < form.image_bytes / 4; ++i) {
        const u32 bits = random_word(seed(form.name), trial, 1, i & 255, i >> 8);
        image[i] = form.kind == GROUP ? (u32)value(form.b, mode, bits) : bits;
    }
    return image;
}

static void print_words(const char *key, const u32 *words, int count) {
    printf(",\"%s\":\"", key);
    for (int i = 0; i < count; ++i) printf("%08x", words[i]);
    printf("\"");
}

static void measure(const Form &form, int mode, int trial, bool first) {
    const int lanes = form.kind == GROUP ? 128 : 32, image_words = form.image_bytes / 4;
    const std::vector<u32> file = registers(form, mode, trial, lanes), image = shared_words(form, mode, trial);
    std::vector<u32> out(form.out * lanes + 1), dump(image_words + 1);
    u32 *in_, *out_, *image_, *dump_;
    CHECK(cudaMalloc(&in_, 4 * file.size()));
    CHECK(cudaMalloc(&out_, 4 * out.size()));
    CHECK(cudaMalloc(&image_, 4 * image.size()));
    CHECK(cudaMalloc(&dump_, 4 * dump.size()));
    CHECK(cudaMemcpy(in_, file.data(), 4 * file.size(), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(image_, image.data(), 4 * image.size(), cudaMemcpyHostToDevice));
    form.kernel<<<1, lanes>>>(in_, out_, image_, dump_, image_words, form.descriptor);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(out.data(), out_, 4 * out.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(dump.data(), dump_, 4 * dump.size(), cudaMemcpyDeviceToHost));
    printf("%s\n{\"instruction\":\"%s\",\"constants\":%s,\"mode\":\"%s\",\"trial\":%d", first ? "" : ",", form.name,
           form.constants, MODES[mode], trial);
    print_words("d", out.data(), form.out * lanes);
    if (form.kind == MOVING && !form.out) print_words("memory", dump.data(), 128);
    printf("}");
    cudaFree(in_), cudaFree(out_), cudaFree(image_), cudaFree(dump_);
}

// Without a GPU: a checksum of every run's inputs, which check.py --inputs holds against its own.
static void print_inputs() {
    printf("{\"target\":\"%s\",\"inputs\":[", TARGET);
    bool first = true;
    for (const Form &form : FORMS)
        for (int mode = 0; mode < (form.kind == MOVING ? 1 : 3); ++mode)
            for (int trial = 0; trial < TRIALS; ++trial, first = false) {
                const int lanes = form.kind == GROUP ? 128 : 32;
                const std::vector<u32> file = registers(form, mode, trial, lanes), image = shared_words(form, mode, trial);
                u32 sum = 0;
                for (int i = 0; i < form.words * lanes; ++i) sum = mix(sum ^ file[i]);
                for (int i = 0; i < form.image_bytes / 4; ++i) sum = mix(sum ^ image[i]);
                printf("%s\n{\"instruction\":\"%s\",\"constants\":%s,\"mode\":\"%s\",\"trial\":%d,\"sum\":%u}",
                       first ? "" : ",", form.name, form.constants, MODES[mode], trial, sum);
            }
    printf("\n]}\n");
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "--inputs")) {
        print_inputs();
        return 0;
    }
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver), cudaRuntimeGetVersion(&runtime);
    printf("{\"device\":\"%s\",\"compute_capability\":\"%d.%d\",\"target\":\"%s\",\"driver\":%d,\"runtime\":%d,\"runs\":[",
           device.name, device.major, device.minor, TARGET, driver, runtime);
    bool first = true;
    for (const Form &form : FORMS)
        for (int mode = 0; mode < (form.kind == MOVING ? 1 : 3); ++mode)
            for (int trial = 0; trial < TRIALS; ++trial, first = false) measure(form, mode, trial, first);
    printf("\n]}\n");
    return 0;
}
