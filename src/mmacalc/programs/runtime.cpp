// A runtime of CUDA or HIP for programs that run without a GPU: memory is the host's, and each launch is a question to
// the process that emulates it. Compiled where it is used, as libcudart (-DCUDA) or libamdhip64 (-DHIP); see building.py.
// It needs no header of either: what it declares is their binary interface (cuda_runtime_api.h of 12.4 and 13.0,
// hip_runtime_api.h of 5.2 and 7.1), and layouts that differ from version to version are in devices.py.
//
// Device memory lies in a file that both processes map (MMACALC_MEMORY), at one address: a pointer means the same to the
// program, to its kernels and to the emulator. Questions and answers go through a socket (MMACALC_SOCKET), each with its
// length in front (8 bytes): words in the first line, bytes behind it. An answer begins with + or -.
#ifdef CUDA
#define GPU(name) cuda##name
#define HIDDEN(name) __cuda##name
#else
#define GPU(name) hip##name
#define HIDDEN(name) __hip##name
#endif
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <vector>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define TEXT(name) #name
#define STRING(name) TEXT(name)

using Error = int;
using Stream = struct StreamBehind *;
using Event = double *;
struct dim3 { unsigned x, y, z; };

namespace {

// cudaError_t and hipError_t, which share their numbers
constexpr Error Success = 0, Invalid = 1, OutOfMemory = 2, SymbolNotFound = 13, NoFunction = 98, NoDevice = 101;
constexpr Error NoFile = 301, Failed = 719;
constexpr uintptr_t BASE = 0x710000000000;
constexpr uintptr_t CODE = 0x7DFFF80000;  // where the variables of a code object lie, which the program does not map
constexpr size_t WHOLE = size_t(1) << 40, GAP = 1 << 16;  // what lies between two allocations is out of bounds of both

struct Function { std::string binary, name; };
struct Variable { std::string binary, name; size_t size; };
struct Block { size_t size; bool device; };

struct State {
  std::recursive_mutex mutex;
  int socket = -1, memory = -1;
  uintptr_t next = BASE;
  std::map<uintptr_t, Block> blocks;
  std::map<const void *, Function> functions;
  std::map<const void *, Variable> variables;
  Error last = Success, broken = Success;  // what the last call gave; what a launch that was stopped left
  dim3 grid, block; size_t shared = 0; Stream stream = nullptr;  // of <<< >>>
};

[[noreturn]] void stop(const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  fflush(stdout);
  fprintf(stderr, "mmacalc: ");
  vfprintf(stderr, format, rest);
  fprintf(stderr, "\n");
  _exit(2);
}

int handed(const char *name) {
  const char *given = getenv(name);
  if (!given) stop("start the program by `mmacalc run-program`: its runtime is loaded, and there is no emulator");
  return atoi(given);
}

State &state() {
  static State *one = [] {
    auto *made = new State;
    made->socket = handed("MMACALC_SOCKET");
    made->memory = handed("MMACALC_MEMORY");
    void *at = mmap((void *)BASE, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                    made->memory, 0);
    if (at != (void *)BASE) stop("the addresses from %#zx on, where device memory lies, are taken", (size_t)BASE);
    return made;
  }();
  return *one;
}

struct Locked {
  State &its = state();
  std::lock_guard<std::recursive_mutex> guard{its.mutex};
  State *operator->() { return &its; }
};

Error gives(Error error) {
  if (error != Success) state().last = error;
  return error;
}

void send(int socket, const void *from, size_t size) {
  for (const char *at = (const char *)from; size;) {
    ssize_t done = write(socket, at, size);
    if (done <= 0) stop("the emulator has gone");
    at += done, size -= done;
  }
}

void receive(int socket, void *to, size_t size) {
  for (char *at = (char *)to; size;) {
    ssize_t done = read(socket, at, size);
    if (done <= 0) stop("the emulator has gone");
    at += done, size -= done;
  }
}

// Asks the emulator; whether the answer is yes, and its words.
bool ask(State &its, const std::string &words, const void *data, size_t size, std::string &answer) {
  fflush(stdout);
  uint64_t whole = words.size() + 1 + size;
  send(its.socket, &whole, 8);
  send(its.socket, words.data(), words.size());
  send(its.socket, "\n", 1);
  send(its.socket, data, size);
  receive(its.socket, &whole, 8);
  answer.resize(whole);
  receive(its.socket, &answer[0], whole);
  bool yes = !answer.empty() && answer[0] == '+';
  answer.erase(0, 1);
  return yes;
}

std::string asked(const std::string &words, const void *data = "", size_t size = 0) {
  std::string answer;
  if (!ask(state(), words, data, size, answer)) stop("%s", answer.c_str());
  return answer;
}

// --- memory ---

Error allocate(void **to, size_t size, bool device = true) {
  Locked its;
  if (!to) return gives(Invalid);
  *to = nullptr;
  if (!size) return Success;
  uintptr_t at = its->next;
  if (size > WHOLE / 2 || at + size + GAP > BASE + WHOLE / 2) return gives(OutOfMemory);  // see its.program
  its->next = (at + size + GAP + 511) / 512 * 512;
  its->blocks[at] = {size, device};
  asked("allocate " + std::to_string(at) + " " + std::to_string(size));
  *to = (void *)at;
  return Success;
}

// Memory that nothing has written holds anything on a GPU: NaN and -1 here, so that who relies on zeros sees it.
Error allocate_unwritten(void **to, size_t size) {
  Error error = allocate(to, size);
  if (error == Success && *to) memset(*to, 0xff, size);
  return error;
}

Error release(void *at) {
  Locked its;
  if (!at) return Success;
  auto found = its->blocks.find((uintptr_t)at);
  if (found == its->blocks.end()) return gives(Invalid);
  asked("release " + std::to_string(found->first));
#ifdef FALLOC_FL_PUNCH_HOLE
  // Whole pages that this allocation alone has: the gap behind it is larger than one.
  uintptr_t from = (found->first - BASE + 4095) / 4096 * 4096, to = (found->first - BASE + found->second.size) / 4096 * 4096;
  if (to > from) fallocate(its->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
#endif
  its->blocks.erase(found);
  return Success;
}

bool in_code(const void *at) { return (uintptr_t)at - CODE < uintptr_t(1 << 30); }
bool in_memory(const void *at) { return (uintptr_t)at - BASE < WHOLE; }

// The allocation that holds an address.
std::map<uintptr_t, Block>::iterator around(State &its, const void *at) {
  auto found = its.blocks.upper_bound((uintptr_t)at);
  if (found == its.blocks.begin()) return its.blocks.end();
  --found;
  return (uintptr_t)at < found->first + found->second.size ? found : its.blocks.end();
}

// Whether bytes of device memory lie in one allocation; those of the host are the program's business.
bool reaches(const void *at, size_t size) {
  Locked its;
  if (!in_memory(at) || (uintptr_t)at >= BASE + WHOLE / 2) return true;
  auto found = around(its.its, at);
  bool known = found != its->blocks.end();
  if (known && (uintptr_t)at + size <= found->first + found->second.size) return true;
  fflush(stdout);
  fprintf(stderr, "mmacalc: a copy or fill of %zu bytes at %p: ", size, at);
  if (known)
    fprintf(stderr, "the allocation ends %zu bytes behind that\n", size_t(found->first + found->second.size - (uintptr_t)at));
  else
    fprintf(stderr, "no allocation is there\n");
  return false;
}

Error copy(void *to, const void *from, size_t size) {
  if (state().broken != Success) return gives(state().broken);
  if (!size) return Success;
  if (!to || !from || !reaches(to, size) || !reaches(from, size)) return gives(Invalid);
  std::string held;
  if (in_code(from)) {
    held = asked("read " + std::to_string((uintptr_t)from) + " " + std::to_string(size));
    from = held.data();
  }
  if (in_code(to)) {
    asked("write " + std::to_string((uintptr_t)to), from, size);
    return Success;
  }
  memmove(to, from, size);
  return Success;
}

Error copy_rows(void *to, size_t to_step, const void *from, size_t from_step, size_t width, size_t height) {
  for (size_t row = 0; row < height; row++) {
    Error error = copy((char *)to + row * to_step, (const char *)from + row * from_step, width);
    if (error != Success) return error;
  }
  return Success;
}

Error fill(void *to, int value, size_t size) {
  if (state().broken != Success) return gives(state().broken);
  if (!reaches(to, size)) return gives(Invalid);
  if (in_code(to)) return copy(to, std::string(size, (char)value).data(), size);
  memset(to, value, size);
  return Success;
}

Error variable(const void *symbol, size_t size, size_t offset, std::string &words) {
  Locked its;
  auto found = its->variables.find(symbol);
  if (found == its->variables.end()) return gives(SymbolNotFound);
  if (offset + size > found->second.size) return gives(Invalid);
  words = found->second.binary + " " + std::to_string(offset) + " " + std::to_string(size) + " " + found->second.name;
  return Success;
}

Error to_variable(const void *symbol, const void *from, size_t size, size_t offset) {
  std::string words;
  Error error = variable(symbol, size, offset, words);
  if (error == Success) asked("store " + words, from, size);
  return error;
}

Error from_variable(void *to, const void *symbol, size_t size, size_t offset) {
  std::string words;
  Error error = variable(symbol, size, offset, words);
  if (error != Success) return error;
  std::string bytes = asked("fetch " + words);
  memcpy(to, bytes.data(), size);
  return Success;
}

// --- launches ---

std::string sizes(dim3 one) {
  return std::to_string(one.x) + " " + std::to_string(one.y) + " " + std::to_string(one.z) + " ";
}

// arguments: a pointer to each; or, if there are none, all of them as they lie in memory.
Error launch(const Function &one, dim3 grid, dim3 block, dim3 cluster, void **arguments, const void *buffer, size_t bytes,
             size_t shared) {
  Locked its;
  if (its->broken != Success) return gives(its->broken);
  std::string packed, answer;
  if (arguments) {
    // An offset and a size for each.
    std::string listed = asked("parameters " + one.binary + " " + one.name);
    const char *at = listed.c_str();
    for (char *end;; at = end) {
      size_t offset = strtoull(at, &end, 10);
      if (end == at) break;
      size_t size = strtoull(end, &end, 10);
      if (packed.size() < offset + size) packed.resize(offset + size);
      memcpy(&packed[offset], *arguments++, size);
    }
  } else if (buffer) {
    packed.assign((const char *)buffer, bytes);
  }
  std::string words = "launch " + one.binary + " " + sizes(grid) + sizes(block) + sizes(cluster) + std::to_string(shared) +
                      " " + one.name;
  if (ask(its.its, words, packed.data(), packed.size(), answer)) return Success;
  return gives(its->broken = Failed);
}

Error launch(const void *function, dim3 grid, dim3 block, dim3 cluster, void **arguments, size_t shared) {
  Locked its;
  auto found = its->functions.find(function);
  if (found == its->functions.end()) return gives(NoFunction);
  return launch(found->second, grid, block, cluster, arguments, nullptr, 0, shared);
}

const dim3 ONE{1, 1, 1};

#ifdef CUDA
// cudaLaunchConfig_t, cudaLaunchAttribute
struct Attribute { int id; alignas(8) unsigned char value[64]; };
struct Configuration {
  dim3 grid, block;
  size_t shared;
  Stream stream;
  const Attribute *attributes;
  unsigned count;
  dim3 cluster() const {
    dim3 found = ONE;
    for (unsigned number = 0; number < count; number++)
      if (attributes[number].id == 4) memcpy(&found, attributes[number].value, sizeof found);  // ClusterDimension
    return found;
  }
};
#endif

// --- the device ---

// A number that describes the device, as the emulator says.
int number(const std::string &question) {
  static std::map<std::string, int> known;
  Locked its;
  auto found = known.find(question);
  if (found == known.end()) found = known.emplace(question, atoi(asked(question).c_str())).first;
  return found->second;
}

// The bytes of a structure that describes the device or a function.
Error described(void *to, const std::string &question) {
  std::string bytes = asked(question);
  memcpy(to, bytes.data(), bytes.size());
  return Success;
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

}  // namespace

extern "C" {

// --- what the compiler emits ---

void **HIDDEN(RegisterFatBinary)(void *given) {
  struct Wrapper { int magic, version; const unsigned char *data; void *rest; };
  const unsigned char *data = ((Wrapper *)given)->data;
  Locked its;
  size_t size = 0;
#ifdef CUDA
  unsigned short header; unsigned long long rest;
  memcpy(&header, data + 6, 2), memcpy(&rest, data + 8, 8);
  size = header + rest;
#else
  if (!memcmp(data, "__CLANG_OFFLOAD_BUNDLE__", 24)) {
    uint64_t count, entry[3];
    memcpy(&count, data + 24, 8);
    const unsigned char *at = data + 32;
    for (uint64_t number = 0; number < count; number++, at += 24 + entry[2]) {
      memcpy(entry, at, 24);
      if (entry[0] + entry[1] > size) size = entry[0] + entry[1];
    }
  } else if (!memcmp(data, "CCOB", 4)) {  // from its version 2 on with the whole size at 8: 32 bits, 64 from 3 on
    unsigned short version; uint32_t small; uint64_t large;
    memcpy(&version, data + 4, 2), memcpy(&small, data + 8, 4), memcpy(&large, data + 8, 8);
    size = version > 2 ? large : small;
  }
#endif
  return (void **)new std::string(asked("binary", data, size));
}

void HIDDEN(UnregisterFatBinary)(void **) {}

void HIDDEN(RegisterFunction)(void **binary, const void *host, char *, const char *name, unsigned, void *, void *, void *,
                              void *, int *) {
  Locked its;
  its->functions[host] = {*(std::string *)binary, name};
}

void HIDDEN(RegisterVar)(void **binary, void *host, char *, const char *name, int, size_t size, int, int) {
  Locked its;
  its->variables[host] = {*(std::string *)binary, name, size};
}

Error HIDDEN(PopCallConfiguration)(dim3 *grid, dim3 *block, size_t *shared, Stream *stream) {
  Locked its;
  *grid = its->grid, *block = its->block, *shared = its->shared, *stream = its->stream;
  return Success;
}

#ifdef CUDA
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, Stream stream) {
#else
Error __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, Stream stream) {
#endif
  Locked its;
  its->grid = grid, its->block = block, its->shared = shared, its->stream = stream;
  return Success;
}

#ifdef CUDA
void __cudaRegisterFatBinaryEnd(void **) {}
char __cudaInitModule(void **) { return 1; }
Error __cudaGetKernel(void * *kernel, const void *function) { *kernel = (void *)function; return Success; }
Error __cudaLaunchKernel(void * kernel, dim3 grid, dim3 block, void **arguments, size_t shared, Stream) {
  return launch((const void *)kernel, grid, block, ONE, arguments, shared);
}
#endif

// --- launches ---

Error GPU(LaunchKernel)(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, Stream) {
  return launch(function, grid, block, ONE, arguments, shared);
}
#ifdef CUDA
Error cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, Stream) {
#else
Error hipLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, unsigned shared, Stream) {
#endif
  return launch(function, grid, block, ONE, arguments, shared);
}

#ifdef CUDA
Error cudaLaunchKernelExC(const Configuration *one, const void *function, void **arguments) {
  return launch(function, one->grid, one->block, one->cluster(), arguments, one->shared);
}
#else
Error hipExtLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, Stream, Event, Event,
                         int) {
  return launch(function, grid, block, ONE, arguments, shared);
}

// A module is the number of its binary, a function of it the name behind that.
Error hipModuleLoadData(std::string * *module, const void *image) {
  const unsigned char *data = (const unsigned char *)image;
  if (memcmp(data, "\177ELF", 4)) {
    struct { int magic, version; const void *data; void *rest; } wrapper{0, 1, image, nullptr};
    *module = (std::string *)__hipRegisterFatBinary(&wrapper);
    return Success;
  }
  uint64_t sections; uint16_t size, count;  // the section headers are what comes last in the file
  memcpy(&sections, data + 40, 8), memcpy(&size, data + 58, 2), memcpy(&count, data + 60, 2);
  *module = new std::string(asked("binary", data, sections + (size_t)size * count));
  return Success;
}
Error hipModuleLoadDataEx(std::string * *module, const void *image, unsigned, int *, void **) {
  return hipModuleLoadData(module, image);
}
Error hipModuleLoad(std::string * *module, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return gives(NoFile);
  std::string content;
  char part[1 << 16];
  for (size_t count; (count = fread(part, 1, sizeof part, file));) content.append(part, count);
  fclose(file);
  *module = new std::string(asked("binary", content.data(), content.size()));
  return Success;
}
Error hipModuleUnload(std::string *) { return Success; }
Error hipModuleGetFunction(Function * *function, std::string * module, const char *name) {
  *function = new Function{*module, name};
  return Success;
}
Error hipModuleLaunchKernel(Function * function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                            unsigned bz, unsigned shared, Stream, void **arguments, void **extra) {
  const void *buffer = nullptr;
  size_t bytes = 0;
  for (; extra && *extra != (void *)3; extra += 2) {            // HIP_LAUNCH_PARAM_END
    if (*extra == (void *)1) buffer = extra[1];                 // HIP_LAUNCH_PARAM_BUFFER_POINTER
    if (*extra == (void *)2) bytes = *(size_t *)extra[1];       // HIP_LAUNCH_PARAM_BUFFER_SIZE
  }
  return launch(*function, dim3{gx, gy, gz}, dim3{bx, by, bz}, ONE, arguments, buffer, bytes, shared);
}
#endif

// --- memory ---

Error GPU(Malloc)(void **to, size_t size) { return allocate_unwritten(to, size); }
Error GPU(Free)(void *at) { return release(at); }
Error GPU(MallocAsync)(void **to, size_t size, Stream) { return allocate_unwritten(to, size); }
Error GPU(FreeAsync)(void *at, Stream) { return release(at); }
Error GPU(MallocManaged)(void **to, size_t size, unsigned) { return allocate(to, size); }
Error GPU(HostAlloc)(void **to, size_t size, unsigned) { return allocate(to, size, false); }
Error GPU(MallocHost)(void **to, size_t size) { return allocate(to, size, false); }
Error GPU(FreeHost)(void *at) { return release(at); }
Error GPU(HostGetDevicePointer)(void **to, void *at, unsigned) { *to = at; return in_memory(at) ? Success : gives(Invalid); }
#ifdef HIP
Error hipHostMalloc(void **to, size_t size, unsigned) { return allocate(to, size, false); }
Error hipHostFree(void *at) { return release(at); }
Error hipExtMallocWithFlags(void **to, size_t size, unsigned) { return allocate_unwritten(to, size); }
#endif
Error GPU(MallocPitch)(void **to, size_t *pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return allocate_unwritten(to, *pitch * height);
}
Error GPU(Memcpy)(void *to, const void *from, size_t size, int) { return copy(to, from, size); }
Error GPU(MemcpyAsync)(void *to, const void *from, size_t size, int, Stream) { return copy(to, from, size); }
Error GPU(Memcpy2D)(void *to, size_t to_step, const void *from, size_t from_step, size_t width, size_t height,
                    int) {
  return copy_rows(to, to_step, from, from_step, width, height);
}
Error GPU(Memcpy2DAsync)(void *to, size_t to_step, const void *from, size_t from_step, size_t width, size_t height,
                         int, Stream) {
  return copy_rows(to, to_step, from, from_step, width, height);
}
Error GPU(Memset)(void *to, int value, size_t size) { return fill(to, value, size); }
Error GPU(MemsetAsync)(void *to, int value, size_t size, Stream) { return fill(to, value, size); }
#ifdef HIP
Error hipMemcpyWithStream(void *to, const void *from, size_t size, int, Stream) { return copy(to, from, size); }
Error hipMemcpyHtoD(void * to, void *from, size_t size) { return copy(to, from, size); }
Error hipMemcpyDtoH(void *to, void * from, size_t size) { return copy(to, from, size); }
Error hipMemcpyDtoD(void * to, void * from, size_t size) { return copy(to, from, size); }
Error hipMemsetD8(void * to, unsigned char value, size_t size) { return fill(to, value, size); }
Error hipMemsetD32(void * to, int value, size_t count) {
  if (!reaches(to, count * 4)) return gives(Invalid);
  for (size_t number = 0; number < count; number++) ((int *)to)[number] = value;
  return Success;
}
#endif
Error GPU(MemcpyToSymbol)(const void *symbol, const void *from, size_t size, size_t offset, int) {
  return to_variable(symbol, from, size, offset);
}
Error GPU(MemcpyToSymbolAsync)(const void *symbol, const void *from, size_t size, size_t offset, int, Stream) {
  return to_variable(symbol, from, size, offset);
}
Error GPU(MemcpyFromSymbol)(void *to, const void *symbol, size_t size, size_t offset, int) {
  return from_variable(to, symbol, size, offset);
}
Error GPU(MemcpyFromSymbolAsync)(void *to, const void *symbol, size_t size, size_t offset, int, Stream) {
  return from_variable(to, symbol, size, offset);
}
Error GPU(GetSymbolSize)(size_t *size, const void *symbol) {
  Locked its;
  auto found = its->variables.find(symbol);
  if (found == its->variables.end()) return gives(SymbolNotFound);
  *size = found->second.size;
  return Success;
}
Error GPU(GetSymbolAddress)(void **to, const void *symbol) {
  std::string words;
  Error error = variable(symbol, 0, 0, words);
  if (error == Success) *to = (void *)(uintptr_t)strtoull(asked("address " + words).c_str(), nullptr, 10);
  return error;
}
Error GPU(MemGetInfo)(size_t *left, size_t *all) {
  *all = WHOLE / 4;
  *left = *all - *all / 16;
  return Success;
}
// cudaPointerAttributes, hipPointerAttribute_t
struct Pointer { int type, device; void *device_pointer, *host_pointer; };
Error GPU(PointerGetAttributes)(Pointer *one, const void *at) {
  Locked its;
  auto found = around(its.its, at);
  bool known = found != its->blocks.end();
#ifdef HIP
  if (!known) return gives(Invalid);
#endif
  int host = number("host memory");  // 1; 0 in HIP before 6
  *one = {known ? host + found->second.device : 0, 0, nullptr, nullptr};
  if (known) one->device_pointer = (void *)at;
  if (known && !found->second.device) one->host_pointer = (void *)at;
  return Success;
}

// --- streams and events: all that is asked for has been done ---

Error GPU(StreamCreate)(Stream *one) { *one = (Stream)malloc(1); return Success; }
Error GPU(StreamCreateWithFlags)(Stream *one, unsigned) { return GPU(StreamCreate)(one); }
Error GPU(StreamCreateWithPriority)(Stream *one, unsigned, int) { return GPU(StreamCreate)(one); }
Error GPU(StreamDestroy)(Stream one) { free((void *)one); return Success; }
Error GPU(StreamSynchronize)(Stream) { return gives(state().broken); }
Error GPU(StreamQuery)(Stream) { return gives(state().broken); }
Error GPU(StreamWaitEvent)(Stream, Event, unsigned) { return Success; }
Error GPU(DeviceSynchronize)(void) { return gives(state().broken); }
Error GPU(DeviceGetStreamPriorityRange)(int *low, int *high) { *low = *high = 0; return Success; }
Error GPU(EventCreate)(Event *one) { *one = new double(0); return Success; }
Error GPU(EventCreateWithFlags)(Event *one, unsigned) { return GPU(EventCreate)(one); }
Error GPU(EventDestroy)(Event one) { delete one; return Success; }
Error GPU(EventRecord)(Event one, Stream) { *one = now(); return Success; }
Error GPU(EventSynchronize)(Event) { return gives(state().broken); }
Error GPU(EventQuery)(Event) { return gives(state().broken); }
Error GPU(EventElapsedTime)(float *to, Event from, Event until) {
  *to = *until - *from;
  if (!(*to > 0)) *to = 1e-3f;
  return Success;
}

// --- the device ---

Error GPU(GetDeviceCount)(int *count) { *count = 1; return Success; }
Error GPU(GetDevice)(int *number) { *number = 0; return Success; }
Error GPU(SetDevice)(int number) { return number ? gives(NoDevice) : Success; }
Error GPU(DeviceReset)(void) { return Success; }
Error GPU(SetDeviceFlags)(unsigned) { return Success; }
Error GPU(RuntimeGetVersion)(int *version) { *version = number("version"); return Success; }
Error GPU(DriverGetVersion)(int *version) { *version = number("version"); return Success; }
Error GPU(GetDeviceProperties)(void *to, int) { return described(to, "properties " STRING(GPU(GetDeviceProperties))); }
Error GPU(DeviceGetAttribute)(int *to, int what, int) { *to = number("attribute " + std::to_string(what)); return Success; }
Error GPU(FuncSetAttribute)(const void *, int, int) { return Success; }
Error GPU(FuncGetAttributes)(void *to, const void *) { return described(to, "function"); }
Error GPU(FuncSetCacheConfig)(const void *, int) { return Success; }
Error GPU(DeviceSetCacheConfig)(int) { return Success; }
Error GPU(OccupancyMaxActiveBlocksPerMultiprocessor)(int *count, const void *, int, size_t) { *count = 1; return Success; }
#ifdef CUDA
Error cudaGetDeviceProperties_v2(void *to, int) { return described(to, "properties cudaGetDeviceProperties"); }
Error cudaDeviceSetLimit(int, size_t) { return Success; }
Error cudaProfilerStart(void) { return Success; }
Error cudaProfilerStop(void) { return Success; }
Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *, int, size_t, unsigned) {
  *count = 1;
  return Success;
}
Error cudaOccupancyMaxActiveClusters(int *count, const void *, const Configuration *one) {
  dim3 size = one->cluster();
  *count = number("attribute 16") / (size.x * size.y * size.z);
  return Success;
}
#else
Error hipGetDevicePropertiesR0600(void *to, int) { return described(to, "properties hipGetDevicePropertiesR0600"); }
Error hipInit(unsigned) { return Success; }
Error hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *, size_t, int limit) {
  *grid = number("attribute 63");
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  return Success;
}
#endif

// --- errors ---

Error GPU(GetLastError)(void) {
  Error error = state().last;
  state().last = state().broken;
  return error;
}
Error GPU(PeekAtLastError)(void) { return state().last; }
const char *GPU(GetErrorName)(Error error) { return error == Success ? "success" : error == Failed ? "launch failure" : "error"; }
const char *GPU(GetErrorString)(Error error) {
  return error == Success  ? "no error"
         : error == Failed ? "the emulator stopped a launch, and said why"
         : error == NoFile ? "there is no such file"
                           : "an argument that the runtime of mmacalc does not take";
}

#ifdef CUDA
// types, sizes, strides in bytes, boxes and steps as CUtensorMap's encoder has them
int cuTensorMapEncodeTiled(void *to, int type, unsigned rank, void *at, const uint64_t *sizes, const uint64_t *strides,
                           const unsigned *box, const unsigned *steps, int interleave, int swizzle, int, int fill) {
  std::string words = "map", answer;
  for (size_t one : {(size_t)type, (size_t)at, (size_t)interleave, (size_t)swizzle, (size_t)fill})
    words += " " + std::to_string(one);
  for (unsigned axis = 0; axis < rank; axis++)
    for (size_t one : {(size_t)sizes[axis], axis ? (size_t)strides[axis - 1] : 0, (size_t)box[axis], (size_t)steps[axis]})
      words += " " + std::to_string(one);
  if (!ask(state(), words, "", 0, answer)) {
    fprintf(stderr, "mmacalc: cuTensorMapEncodeTiled: %s\n", answer.c_str());
    return Invalid;
  }
  memcpy(to, answer.data(), answer.size());
  return Success;
}
int cuGetErrorString(int, const char **text) { *text = "error"; return Success; }

Error cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned, unsigned long long, int *result) {
  *function = !strcmp(name, "cuTensorMapEncodeTiled") ? (void *)cuTensorMapEncodeTiled : nullptr;
  if (result) *result = !*function;
  if (!*function) fprintf(stderr, "mmacalc: the driver's %s is not carried out\n", name);
  return Success;
}
Error cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *result) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, result);
}
#endif
}
