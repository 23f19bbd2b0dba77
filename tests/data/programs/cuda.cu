// A CUDA program for tests/test_programs.py:
//   nvcc -O1 -cudart shared -gencode arch=compute_90a,code=compute_90a --no-compress cuda.cu -o cuda && strip cuda && xz -9e cuda
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

__device__ int counter;
__constant__ float factor;

__global__ void scale(float *x, int n, char shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * factor + shift;
  if (i == 0) counter += 1;
}

__global__ void reverse(float *x, bool wait) {
  extern __shared__ float s[];
  s[threadIdx.x] = x[threadIdx.x];
  if (wait) __syncthreads();
  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

__global__ void tile(const __grid_constant__ CUtensorMap map, float *to) {
  __shared__ alignas(128) float box[8][16];
  __shared__ unsigned long long barrier;
  unsigned at = __cvta_generic_to_shared(box), with = __cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(with));
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" ::"r"(with));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(at), "l"(&map), "r"(16), "r"(24), "r"(with) : "memory");
  }
  __syncthreads();
  asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again;}" ::"r"(with) : "memory");
  to[threadIdx.x] = box[threadIdx.x / 16][threadIdx.x % 16];
}

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  const int n = 1000;
  std::vector<float> host(n);
  for (int i = 0; i < n; i++) host[i] = i;
  float *x, two = 2;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(factor, &two, sizeof two);
  cudaEvent_t from, until;
  cudaEventCreate(&from), cudaEventCreate(&until);
  cudaEventRecord(from);
  for (int time = 0; time < 3; time++) scale<<<4, 256>>>(x, n, 1);
  cudaEventRecord(until);
  cudaEventSynchronize(until);
  float took;
  cudaEventElapsedTime(&took, from, until);
  cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost);
  int times = 0, *there;
  cudaMemcpyFromSymbol(&times, counter, sizeof times);
  cudaGetSymbolAddress((void **)&there, counter);
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  int processors;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  bool right = took > 0 && times == 3 && *there == 3 && processors == device.multiProcessorCount && device.major == 9;
  for (int i = 0; i < n; i++) right &= host[i] == i * 8 + 7;

  if (!strcmp(what, "race") || !strcmp(what, "wait")) reverse<<<1, 256, 1024>>>(x, !strcmp(what, "wait"));
  if (!strcmp(what, "outside")) {
    scale<<<4, 256>>>(x, n + 1, 0);
    scale<<<4, 256>>>(x, n, 0);
    right &= cudaDeviceSynchronize() == cudaErrorLaunchFailure && cudaGetLastError() == cudaErrorLaunchFailure;
  }
  if (!strcmp(what, "far")) right &= cudaMemcpy(x, host.data(), n * sizeof(float) + 4, cudaMemcpyHostToDevice) != cudaSuccess;
  if (!strcmp(what, "graph")) {
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
  }
  if (!strcmp(what, "tile")) {
    float *matrix, *to;
    cudaMallocManaged(&matrix, 32 * 64 * sizeof(float));
    cudaMallocHost(&to, 128 * sizeof(float));
    for (int i = 0; i < 32 * 64; i++) matrix[i] = i;
    CUtensorMap map;
    cuuint64_t sizes[] = {64, 32}, strides[] = {64 * sizeof(float)};
    cuuint32_t box[] = {16, 8}, steps[] = {1, 1};
    void *encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
    ((decltype(&cuTensorMapEncodeTiled))encode)(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    tile<<<1, 128>>>(map, to);
    cudaDeviceSynchronize();
    for (int i = 0; i < 128; i++) right &= to[i] == (24 + i / 16) * 64 + 16 + i % 16;
  }
  printf("%s: %s\n", device.name, right ? "right" : "wrong");
  return right ? 0 : 3;
}
