// Kernels for each group of statements of PTX, run by tests/test_ptx_kernels.py against NumPy.
// nvcc -ptx -arch=sm_100a groups.cu (13.0); other targets as the tests name them.
#include <cstdint>
#include <cstdio>
#include <cassert>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define ID (blockIdx.x * blockDim.x + threadIdx.x)

struct Pair { int a; float b; short c; };
__device__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int *pointer = &table[2];
__device__ int *pointers[3] = {&table[0], &table[7], nullptr};
__device__ float total = 0.5f;
__constant__ float weights[4] = {1.0f, -2.0f, 0.25f, 8.0f};
__constant__ Pair pairs[2] = {{1, 2.5f, -3}, {7, -0.125f, 9}};

extern "C" {

__global__ void integers(const int *a, const int *b, long long *out) {
  int i = ID;
  int x = a[i], y = b[i];
  unsigned u = x, v = y;
  long long s = 0;
  s += x / (y ? y : 1) + x % (y | 1);
  s ^= (long long)(u / (v | 1)) << 7;
  s += (unsigned long long)u * v >> 5;
  s += __mulhi(x, y) ^ __umulhi(u, v);
  s += __popc(u) + __clz(x) + __ffs(x) + __brev(u);
  s += __byte_perm(u, v, 0x5140) + __funnelshift_l(u, v, x & 63) + __sad(x, y, u);
  s ^= (long long)min(x, y) * max(u, v) + abs(x);
  s += (x >> (y & 31)) + (u >> (v & 31)) + (u << (v & 15));
  s += __vadd2(u, v) + __dp4a(x, y, x);
  out[i] = s;
}

__global__ void wide(const unsigned long long *a, const unsigned long long *b, unsigned long long *out) {
  int i = ID;
  unsigned __int128 p = (unsigned __int128)a[i] * b[i];
  p += ((unsigned __int128)b[i] << 64) | a[i];
  p -= (unsigned __int128)a[i] << 17;
  out[3 * i] = (unsigned long long)p;
  out[3 * i + 1] = (unsigned long long)(p >> 64);
  out[3 * i + 2] = a[i] / (b[i] | 1) + a[i] % (b[i] | 1);
}

__global__ void floats(const float *a, const float *b, float *out, double *wide_out) {
  int i = ID;
  float x = a[i], y = b[i];
  out[4 * i] = __fadd_rz(x, y) + __fmul_ru(x, y);
  out[4 * i + 1] = __fdiv_rn(x, y) - __fsqrt_rd(fabsf(x));
  out[4 * i + 2] = fmaf(x, y, fminf(x, y)) + truncf(x) + rintf(y) + floorf(x) + ceilf(y);
  out[4 * i + 3] = __saturatef(x) + copysignf(x, y) + (isnan(x) ? 1.0f : 2.0f) + __frcp_rn(y);
  double d = x, e = y;
  wide_out[i] = d / e + sqrt(fabs(d)) + __dadd_ru(d, e) + fma(d, e, d) + (double)(long long)(d * 1000.0);
}

__global__ void halves(const __half2 *a, const __half2 *b, __half2 *out) {
  int i = ID;
  __half2 x = a[i], y = b[i];
  __half2 r = __hfma2(x, y, __hadd2(x, y));
  r = __hadd2(r, __hmin2(x, y));
  r = __hadd2(r, __hgt2(x, y));
  __half lone = __hmul(__low2half(x), __high2half(y));
  out[i] = __hadd2(r, __half2half2(lone));
}

__global__ void bfloats(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out) {
  int i = ID;
  __nv_bfloat162 x = a[i], y = b[i];
  __nv_bfloat162 r = __hfma2(x, y, x);
  r = __hadd2(r, __hmax2(x, y));
  out[i] = __hmul2(r, y);
}

__global__ void small(const float2 *a, unsigned short *codes, __half2 *back) {
  int i = ID;
  unsigned short c = __nv_cvt_float2_to_fp8x2(a[i], __NV_SATFINITE, __NV_E4M3);
  unsigned short d = __nv_cvt_float2_to_fp8x2(a[i], __NV_SATFINITE, __NV_E5M2);
  codes[2 * i] = c;
  codes[2 * i + 1] = d;
  back[2 * i] = __half2(__nv_cvt_fp8x2_to_halfraw2(c, __NV_E4M3));
  back[2 * i + 1] = __half2(__nv_cvt_fp8x2_to_halfraw2(d, __NV_E5M2));
}

__global__ void collatz(const int *a, int *out) {
  int i = ID;
  long long n = a[i];
  int steps = 0;
  while (true) {
    if (n <= 1) break;
    if (steps > 200) break;
    if (n & 1) { n = 3 * n + 1; steps++; continue; }
    n >>= 1;
    steps++;
  }
  for (int j = 0; j < (i & 7); j++) {
    if (j == 5) break;
    if (j & 1) continue;
    steps += j;
  }
  out[i] = steps;
}

__noinline__ __device__ float polynomial(float x, int n) {
  float s = 0;
  for (int k = 0; k < n; k++) s = s * x + weights[k & 3];
  return s;
}
__noinline__ __device__ Pair made(int a, float b) { Pair p = {a + 1, b * 2, (short)(a * 3)}; return p; }
__noinline__ __device__ int summed(Pair p) { return p.a + (int)p.b + p.c; }

__global__ void calls(const float *a, float *out) {
  int i = ID;
  float x = a[i];
  Pair p = made(i, x);
  float s = polynomial(x, i & 7);
  if (i & 1) s += polynomial(x + 1, 3);
  out[i] = s + summed(p) + pairs[i & 1].a + pairs[i & 1].b;
}

__global__ void switched(const int *a, int *out) {
  int i = ID, r = 0;
  switch (a[i]) {
    case 0: r = i * 3; break;
    case 1: r = i ^ 5; break;
    case 2: r = i + 7;
    case 3: r += 11; break;
    case 4: r = -i; break;
    case 5: r = i << 2; break;
    case 6: r = ~i; break;
    default: r = 99;
  }
  out[i] = r;
}

__global__ void local_array(const int *a, int *out) {
  int i = ID, mine[16];
  for (int j = 0; j < 16; j++) mine[j] = a[(i + j) & 63] * j;
  for (int j = 0; j < 16; j++) { int k = (mine[j] ^ i) & 15; int t = mine[j]; mine[j] = mine[k]; mine[k] = t; }
  int s = 0;
  for (int j = 0; j < 16; j++) s = s * 31 + mine[j];
  out[i] = s;
}

__global__ void dynamic(const int *a, int *out) {
  extern __shared__ int row[];
  __shared__ short fixed[64];
  int t = threadIdx.x;
  row[t] = a[ID];
  fixed[t & 63] = (short)t;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (t < half) row[t] += row[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = row[0] + fixed[5];
}

__global__ void variables(int *out) {
  int i = ID;
  out[i] = *pointer + pointers[i & 1][0] + (pointers[2] == nullptr) + table[i & 7] + (int)(weights[i & 3] * 4);
  atomicAdd(&total, 1.0f);
}

__global__ void atomics(int *i32, unsigned *u32, unsigned long long *u64, float *f32, double *f64, __half2 *f16) {
  int i = ID;
  atomicAdd(&i32[0], i); atomicMin(&i32[1], -i); atomicMax(&i32[2], i); atomicXor(&i32[3], i); atomicSub(&i32[4], i);
  atomicAnd(&u32[0], ~(1u << (i & 31))); atomicOr(&u32[1], 1u << (i & 31)); atomicInc(&u32[2], 10); atomicDec(&u32[3], 6);
  atomicExch(&u32[4], 77); atomicMax(&u64[0], (unsigned long long)i << 33); atomicAdd(&u64[1], 1ull << 32);
  atomicAdd(&f32[0], 0.5f); atomicAdd(&f64[0], 0.25); atomicAdd(&f16[0], __floats2half2_rn(1.0f, 2.0f));
  unsigned old = u32[5], seen;
  do { seen = old; old = atomicCAS(&u32[5], seen, seen * 3 + 1); } while (old != seen);
  unsigned short *tiny = (unsigned short *)&u32[6];
  unsigned short o = *tiny, s;
  do { s = o; o = atomicCAS(tiny, s, (unsigned short)(s + 1)); } while (o != s);
}

__global__ void warps(const int *a, int *out) {
  int i = ID, lane = threadIdx.x & 31, x = a[i];
  unsigned all = 0xffffffffu;
  int r = __shfl_xor_sync(all, x, 5) + 2 * __shfl_up_sync(all, x, 3) + 3 * __shfl_down_sync(all, x, 7, 16)
        + 4 * __shfl_sync(all, x, lane * 3, 8);
  r += __ballot_sync(all, x & 1) + __any_sync(all, x > 90) * 5 + __all_sync(all, x >= 0) * 7;
  r ^= __match_any_sync(all, x & 3);
  int pred; r += __match_all_sync(all, x >> 20, &pred) + pred;
  r += __reduce_add_sync(all, x) + __reduce_min_sync(all, x) ^ __reduce_max_sync(all, x);
  r ^= __reduce_xor_sync(all, (unsigned)x) + __reduce_or_sync(all, (unsigned)x) + __reduce_and_sync(all, (unsigned)x);
  if (lane & 1) r += __shfl_xor_sync(0xaaaaaaaau, x, 2);
  r += __activemask() == all;
  out[i] = r;
}

__global__ void barriers(const int *a, int *out) {
  int x = a[ID];
  int n = __syncthreads_count(x & 1);
  int o = __syncthreads_or(x == 17);
  int d = __syncthreads_and(x >= 0);
  if (threadIdx.x < 64) asm volatile("barrier.cta.sync 3, 64;" ::: "memory");
  asm volatile("barrier.cta.sync.aligned 4, 128;" ::: "memory");
  if (threadIdx.x < 32) asm volatile("barrier.cta.arrive 5, 64;" ::: "memory");
  else if (threadIdx.x < 64) asm volatile("barrier.cta.sync 5, 64;" ::: "memory");
  __syncwarp();
  out[ID] = n * 100 + o * 10 + d;
}

__global__ void specials(unsigned *out) {
  int i = ID;
  unsigned lane, warp, eq, lt;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  long long c = clock64();
  unsigned k = clock();
  out[4 * i] = lane + 100 * warp + 10000 * threadIdx.y;
  out[4 * i + 1] = eq;
  out[4 * i + 2] = lt + gridDim.x * blockDim.x;
  out[4 * i + 3] = (clock64() >= c) + (clock() - k < 100000u);
}

__global__ void prints(int *out) {
  if (ID == 3) printf("thread %d\n", ID);
  assert(blockDim.x > 1);
  out[ID] = 5;
}

__global__ void traps(int *out) {
  if (out[ID] == 9) __trap();
  out[ID] = 1;
}

__global__ void byte_moves(const uchar4 *a, uchar4 *out, const short2 *b, short2 *c) {
  int i = ID;
  uchar4 x = a[i];
  out[i] = make_uchar4(x.w, x.z, x.y, x.x + 1);
  short2 y = b[i];
  c[i] = make_short2(y.y, -y.x);
}

__global__ void by_value(Pair p, int4 v, int *out) {
  int i = ID;
  out[i] = p.a + (int)p.b + p.c + v.x * v.w;
}
}
