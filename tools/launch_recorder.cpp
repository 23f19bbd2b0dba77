// A CUDA runtime that launches nothing and records the first launch, to be linked with a program instead of cudart:
//     nvcc -std=c++17 -gencode arch=compute_90a,code=compute_90a --no-compress -cudart none program.cu launch_recorder.cpp
//         -DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1 -o program
//     mkdir launch && OUT=launch ./program
//     python tools/recorded_launch.py launch
//     python tools/ptx_changes.py launch
// With RUN the program goes on behind each launch, which this command carries out (and puts its memory back):
//     OUT=launch RUN="python tools/recorded_launch.py --back" ./program
// Memory is the host's; tensor maps are the bits of mmacalc/kernels/ptx/tensor_map_bits.py. OUT gets launch.txt
// (name, grid, block, cluster, shared memory, address and size of each allocation), the parameters, the memory, and
// kernel.ptx.
// SKIP=2 records the third launch; what the launches before it compute is not there. MAJOR=9 is the compute capability
// that programs are told (10), SMS=8 the multiprocessors (2).
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#include <unistd.h>
static std::map<const void *, std::string> &names_() { static auto *m = new std::map<const void *, std::string>; return *m; }
#define names names_()
static std::vector<std::pair<char *, size_t>> &blocks_() { static auto *m = new std::vector<std::pair<char *, size_t>>; return *m; }
#define blocks blocks_()
static std::vector<std::string> &binaries_() { static auto *m = new std::vector<std::string>; return *m; }
#define binaries binaries_()
// The bytes of a kernel's parameters as its PTX has them: ".param .align 8 .b8 name[24]" or ".param .u64 name".
static std::string packed(const std::string &name, void **arguments) {
  std::string bytes;
  for (auto &one : binaries) {
    size_t at = one.find(".entry " + name + "("); if (at == std::string::npos) continue;
    std::string list = one.substr(at, one.find(')', at) - at);
    for (at = list.find(".param"); at != std::string::npos; at = list.find(".param", at + 1)) {
      std::string text = list.substr(at, list.find(',', at) - at); size_t align = 0, size = 1, bracket = text.find('[');
      size_t word = text.find(".align"); if (word != std::string::npos) align = atoi(text.c_str() + word + 7);
      if (bracket != std::string::npos) size = atoi(text.c_str() + bracket + 1);
      for (const char *type : {"8", "16", "32", "64"}) for (const char *kind : {".u", ".s", ".b", ".f"})
        if (text.find(std::string(kind) + type + " ") != std::string::npos) size *= atoi(type) / 8, align = align ? align : atoi(type) / 8;
      while (bytes.size() % align) bytes.push_back(0);
      bytes.append((const char *)*arguments++, size); }
    return bytes; }
  fprintf(stderr, "no PTX of %s: compile with --no-compress\n", name.c_str()); exit(3); }
static int launches = 0;
extern "C" {
void **__cudaRegisterFatBinary(void *given) {
  struct Wrapper { int magic, version; const unsigned char *data; void *rest; } *wrapper = (Wrapper *)given;
  unsigned short header; unsigned long long size; memcpy(&header, wrapper->data + 6, 2); memcpy(&size, wrapper->data + 8, 8);
  binaries.push_back(std::string((const char *)wrapper->data, header + size)); static void *one; return &one; }
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}
void __cudaRegisterFunction(void **, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) { names[host] = name; }
cudaError_t __cudaGetKernel(cudaKernel_t *k, const void *f) { *k = (cudaKernel_t)f; return cudaSuccess; }
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 g, dim3 b, void **a, size_t s, cudaStream_t st) { return cudaLaunchKernel((const void*)k, g, b, a, s, st); }
char __cudaInitModule(void **) { return 1; }
static dim3 pg, pb; static size_t ps;
unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t s, cudaStream_t) { pg = g; pb = b; ps = s; return 0; }
cudaError_t __cudaPopCallConfiguration(dim3 *g, dim3 *b, size_t *s, void *) { *g = pg; *b = pb; *s = ps; return cudaSuccess; }
static void dump(const void *f, dim3 g, dim3 b, dim3 c, size_t s, void **a) {
  const char *skip = getenv("SKIP"); if (skip && launches++ < atoi(skip)) return;
  std::string to = getenv("OUT") ? getenv("OUT") : "."; FILE *o = fopen((to + "/launch.txt").c_str(), "w");
  fprintf(o, "%s\n%d %d %d\n%d %d %d\n%d %d %d\n%zu\n", names[f].c_str(), g.x, g.y, g.z, b.x, b.y, b.z, c.x, c.y, c.z, s);
  std::string bytes = packed(names[f], a); int number = 0;
  FILE *p = fopen((to + "/parameters").c_str(), "wb"); fwrite(bytes.data(), 1, bytes.size(), p); fclose(p);
  for (auto &one : blocks) { fprintf(o, "%zu %zu\n", (size_t)one.first, one.second);
    FILE *m = fopen((to + "/memory" + std::to_string(number++)).c_str(), "wb"); fwrite(one.first, 1, one.second, m); fclose(m); }
  for (auto &one : binaries) { size_t at = one.find(".entry " + names[f] + "("); if (at == std::string::npos) continue;
    at = one.rfind(".version", at); FILE *t = fopen((to + "/kernel.ptx").c_str(), "w");
    fwrite(one.data() + at, 1, one.find('\0', at) - at, t); fclose(t); }
  fclose(o); printf("launched %s\n", names[f].c_str()); fflush(stdout);
  if (!getenv("RUN")) _exit(0);
  if (system((std::string(getenv("RUN")) + " " + to).c_str())) _exit(4);
  number = 0;
  for (auto &one : blocks) { FILE *m = fopen((to + "/memory" + std::to_string(number++)).c_str(), "rb");
    if (fread(one.first, 1, one.second, m) != one.second) _exit(5); fclose(m); } }
cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t s, cudaStream_t) { dump(f, g, b, dim3(1,1,1), s, a); return cudaSuccess; }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **a) {
  dim3 k(1,1,1); for (unsigned i = 0; i < c->numAttrs; i++) if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
    k = dim3(c->attrs[i].val.clusterDim.x, c->attrs[i].val.clusterDim.y, c->attrs[i].val.clusterDim.z);
  dump(f, c->gridDim, c->blockDim, k, c->dynamicSmemBytes, a); return cudaSuccess; }
cudaError_t cudaMalloc(void **p, size_t n) { n = (n + 511) / 512 * 512; *p = aligned_alloc(512, n); memset(*p, 0, n); blocks.push_back({(char *)*p, n}); return cudaSuccess; }
cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t) { return cudaMalloc(p, n); }
cudaError_t cudaFree(void *) { return cudaSuccess; }
cudaError_t cudaFreeAsync(void *, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemcpy(void *d, const void *s, size_t n, cudaMemcpyKind) { memcpy(d, s, n); return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void *d, const void *s, size_t n, cudaMemcpyKind, cudaStream_t) { memcpy(d, s, n); return cudaSuccess; }
cudaError_t cudaMemset(void *d, int v, size_t n) { memset(d, v, n); return cudaSuccess; }
cudaError_t cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t) { memset(d, v, n); return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamCreate(cudaStream_t *s) { *s = nullptr; return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { *s = nullptr; return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *e) { *e = nullptr; return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { *e = nullptr; return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *t, cudaEvent_t, cudaEvent_t) { *t = 1; return cudaSuccess; }
cudaError_t cudaMallocHost(void **p, size_t n) { *p = malloc(n); return cudaSuccess; }
cudaError_t cudaFreeHost(void *p) { free(p); return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *f, size_t *t) { *f = *t = 1ull << 36; return cudaSuccess; }
cudaError_t cudaGetDevice(int *d) { *d = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *d) { *d = 1; return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "error"; }
const char *cudaGetErrorName(cudaError_t) { return "error"; }
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }
static int sms() { const char *given = getenv("SMS"); return given ? atoi(given) : 2; }
static int major() { const char *given = getenv("MAJOR"); return given ? atoi(given) : 10; }
cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr a, int) {
  switch (a) {
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *v = 232448; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *v = 49152; break;
    case cudaDevAttrMultiProcessorCount: *v = sms(); break;
    case cudaDevAttrComputeCapabilityMajor: *v = major(); break;
    case cudaDevAttrComputeCapabilityMinor: *v = 0; break;
    case cudaDevAttrMaxThreadsPerBlock: *v = 1024; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *v = 2048; break;
    case cudaDevAttrMaxRegistersPerBlock: case cudaDevAttrMaxRegistersPerMultiprocessor: *v = 65536; break;
    case cudaDevAttrMaxGridDimX: *v = 0x7fffffff; break;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *v = 65535; break;
    case cudaDevAttrWarpSize: *v = 32; break;
    default: *v = 1; }
  return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int, size_t) { *n = 1; return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *, int, size_t, unsigned) { *n = 1; return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveClusters(int *n, const void *, const cudaLaunchConfig_t *c) {
  *n = sms();
  for (unsigned i = 0; i < c->numAttrs; i++) if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
    *n = sms() / (c->attrs[i].val.clusterDim.x * c->attrs[i].val.clusterDim.y * c->attrs[i].val.clusterDim.z);
  return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  memset(p, 0, sizeof *p); p->major = major(); p->multiProcessorCount = sms(); p->warpSize = 32; p->totalGlobalMem = 1ull << 36;
  p->sharedMemPerBlock = 49152; p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = 232448;
  p->maxThreadsPerBlock = 1024; p->maxThreadsPerMultiProcessor = 2048; p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->maxGridSize[0] = 0x7fffffff; p->maxGridSize[1] = p->maxGridSize[2] = 65535; strcpy(p->name, "recorder"); return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *p, const void *) {
  memset(p, 0, sizeof *p); p->maxThreadsPerBlock = 1024; p->numRegs = 32; p->maxDynamicSharedSizeBytes = 232448; return cudaSuccess; }
CUresult cuTensorMapEncodeTiled(CUtensorMap *m, CUtensorMapDataType type, cuuint32_t rank, void *at, const cuuint64_t *dims,
    const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave il, CUtensorMapSwizzle sw,
    CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  // CUtensorMapDataType from UINT8 on: f32 and tf32 with denormals made 0 are 8, tf32 has a bit of its own.
  static const int codes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8, 11, 12, 13};
  if (type > 15 || il) { fprintf(stderr, "tensor map of type %d, interleave %d\n", type, il); exit(3); }
  if (sw > 6) { fprintf(stderr, "swizzle %d\n", sw); exit(3); }
  unsigned word[32] = {0}, mode = sw < 3 ? sw : 3, atoms = sw < 3 ? 0 : sw - 3; memcpy(word, &at, 8);
  word[2] = 0x40002 | (rank - 1) << 4 | codes[type] << 7 | mode << 13 | atoms << 19 | (type == 11 || type == 12) << 16 | !!fill << 17;
  for (unsigned i = 0; i < rank; i++) { word[8 + i] = dims[i] - 1; word[13] |= (steps[i] - 1) << 3 * i; ((unsigned char *)word)[55 + i] = box[i] - 1; }
  for (unsigned i = 0; i + 1 < rank; i++) { word[3 + i] = strides[i] >> 4; word[7] |= strides[i] >> 36 << 4 * i; }
  memcpy(m, word, 128);
  return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char **s) { *s = "error"; return CUDA_SUCCESS; }
cudaError_t cudaDriverGetVersion(int *v) { *v = 13000; return cudaSuccess; }
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned, unsigned long long, cudaDriverEntryPointQueryResult *r) {
  *f = !strcmp(name, "cuTensorMapEncodeTiled") ? (void *)cuTensorMapEncodeTiled : nullptr; if (r) *r = *f ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  if (!*f) fprintf(stderr, "no %s\n", name);
  return cudaSuccess; }
}
