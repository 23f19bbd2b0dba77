// A HIP program for tests/test_programs.py:
//   hipcc -O1 --offload-arch=gfx942 hip.cpp -o hip && strip hip && xz -9e hip
#include <cstdio>
#include <cstring>
#include <hip/hip_runtime.h>
#include <vector>

__device__ int counter;
__constant__ float factor;

__global__ void scale(float *x, int n, char shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * factor + shift;
  if (i == 0) counter += 1;
}

__device__ void meet() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__global__ void reverse(float *x, bool wait) {
  extern __shared__ float s[];
  s[threadIdx.x] = x[threadIdx.x];
  if (wait) meet();
  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  const int n = 1000;
  std::vector<float> host(n);
  for (int i = 0; i < n; i++) host[i] = i;
  float *x, two = 2;
  (void)hipMalloc((void **)&x, n * sizeof(float));
  (void)hipMemcpy(x, host.data(), n * sizeof(float), hipMemcpyHostToDevice);
  (void)hipMemcpyToSymbol(HIP_SYMBOL(factor), &two, sizeof two);
  for (int time = 0; time < 3; time++) scale<<<4, 256>>>(x, n, 1);
  (void)hipMemcpy(host.data(), x, n * sizeof(float), hipMemcpyDeviceToHost);
  int times = 0, processors;
  (void)hipMemcpyFromSymbol(&times, HIP_SYMBOL(counter), sizeof times);
  hipDeviceProp_t device;
  (void)hipGetDeviceProperties(&device, 0);
  (void)hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, 0);
  bool right = times == 3 && processors == device.multiProcessorCount && !strcmp(device.gcnArchName, "gfx942");
  for (int i = 0; i < n; i++) right &= host[i] == i * 8 + 7;
  int *there = nullptr, seven = 7;
  (void)hipGetSymbolAddress((void **)&there, HIP_SYMBOL(counter));
  (void)hipMemcpy(there, &seven, sizeof seven, hipMemcpyHostToDevice);
  (void)hipMemcpyFromSymbol(&times, HIP_SYMBOL(counter), sizeof times);
  right &= times == 7;

  if (!strcmp(what, "race") || !strcmp(what, "wait")) reverse<<<1, 256, 1024>>>(x, !strcmp(what, "wait"));
  if (!strcmp(what, "outside")) {
    scale<<<4, 256>>>(x, n + 1, 0);
    right &= hipDeviceSynchronize() == hipErrorLaunchFailure;
  }
  if (!strcmp(what, "module")) {  // words[2]: tests/data/llvm/scale_gfx942.hsaco, out[i] = in[i] * factor * table[i % 4]
    hipModule_t module;
    hipFunction_t function;
    float *y;
    (void)hipMalloc((void **)&y, n * sizeof(float));
    right &= hipModuleLoad(&module, words[2]) == hipSuccess;
    (void)hipModuleGetFunction(&function, module, "scale");
    struct { float *y, *x; float factor; } packed{y, x, 0.5f};
    size_t size = sizeof packed;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    (void)hipModuleLaunchKernel(function, 15, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra);
    std::vector<float> found(n);
    (void)hipMemcpy(found.data(), y, n * sizeof(float), hipMemcpyDeviceToHost);
    for (int i = 4; i < 960; i++)
      right &= found[i] != 0 && (double)found[i] * host[i - 4] == (double)found[i - 4] * host[i];
  }
  printf("%s: %s\n", device.name, right ? "right" : "wrong");
  return right ? 0 : 3;
}
