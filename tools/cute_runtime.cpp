// The CUDA calls of CuTe's DSL without a GPU: memory is the host's, launches go to a function of Python. For
// tools/cute_programs.py, which compiles and loads it; the DSL's host code calls these names of its own runtime library.
#include <cuda_runtime_api.h>
#include <cstdlib>
#include <cstring>
#include <string>
typedef void (*Launched)(const char *name, const unsigned *sizes, size_t shared, void **arguments);
static Launched launched;
static void (*allocated)(void *, size_t);
struct Kernel { std::string name; };
extern "C" {
void set_callbacks(Launched one, void (*other)(void *, size_t)) { launched = one; allocated = other; }
int _cudaLaunchKernelEx(const cudaLaunchConfig_t *c, Kernel *kernel, void **arguments) {
  unsigned sizes[9] = {c->gridDim.x, c->gridDim.y, c->gridDim.z, c->blockDim.x, c->blockDim.y, c->blockDim.z, 1, 1, 1};
  for (unsigned i = 0; i < c->numAttrs; i++) if (c->attrs[i].id == cudaLaunchAttributeClusterDimension) {
    auto &cluster = c->attrs[i].val.clusterDim; sizes[6] = cluster.x; sizes[7] = cluster.y; sizes[8] = cluster.z; }
  launched(kernel->name.c_str(), sizes, c->dynamicSmemBytes, arguments);
  return 0; }
int _cudaLibraryLoadData(void **library, ...) { static int one; *library = &one; return 0; }
int _cudaLibraryGetKernel(Kernel **kernel, void *, const char *name) { *kernel = new Kernel{name}; return 0; }
int _cudaDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 232448 : attribute == cudaDevAttrMultiProcessorCount ? 2 : 1;
  return 0; }
int _cudaGetDevice(int *device) { *device = 0; return 0; }
int _cudaGetDeviceCount(int *count) { *count = 1; return 0; }
int _cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *count, ...) { *count = 1; return 0; }
int _cudaMalloc(void **at, size_t size) {
  size = (size + 511) / 512 * 512; *at = aligned_alloc(512, size); memset(*at, 0, size); allocated(*at, size); return 0; }
int _cudaMallocAsync(void **at, size_t size, void *) { return _cudaMalloc(at, size); }
int _cudaMemset(void *at, int value, size_t size) { memset(at, value, size); return 0; }
int _cudaMemsetAsync(void *at, int value, size_t size, void *) { memset(at, value, size); return 0; }
int _cudaMemcpy(void *to, const void *from, size_t size, int) { memcpy(to, from, size); return 0; }
int _cudaMemcpyAsync(void *to, const void *from, size_t size, int, void *) { memcpy(to, from, size); return 0; }
#define DOES_NOTHING(name) int name(...) { return 0; }
DOES_NOTHING(_cuKernelGetAttribute) DOES_NOTHING(_cudaKernelSetAttributeForDevice) DOES_NOTHING(_cudaFuncSetAttribute)
DOES_NOTHING(_cudaLibraryUnload) DOES_NOTHING(_cudaFree) DOES_NOTHING(_cudaFreeAsync) DOES_NOTHING(_cudaSetDevice)
DOES_NOTHING(_cudaDeviceSynchronize) DOES_NOTHING(_cudaStreamSynchronize) DOES_NOTHING(_cudaStreamWaitEvent)
}
