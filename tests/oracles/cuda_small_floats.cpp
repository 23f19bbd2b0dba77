// Record how CUDA's headers convert float to their small floats on the host, for tests/data/ptx/small_floats.tsv.gz:
//   g++ -O1 -I $CUDA/include cuda_small_floats.cpp -o convert; ./convert < CODES | gzip -9n > TABLE
// CODES are the bits of floats in decimal, one a line. CUDA 13.0.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

int main() {
  uint32_t code;
  puts("f32\te8m0_rz_satfinite\te8m0_rz\te8m0_rp_satfinite\te8m0_rp\te4m3\te5m2\te2m3\te3m2\te2m1");
  while (scanf("%u", &code) == 1) {
    float value;
    memcpy(&value, &code, 4);
    printf("%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\n", code,
           __nv_cvt_float_to_e8m0(value, __NV_SATFINITE, cudaRoundZero), __nv_cvt_float_to_e8m0(value, __NV_NOSAT, cudaRoundZero),
           __nv_cvt_float_to_e8m0(value, __NV_SATFINITE, cudaRoundPosInf), __nv_cvt_float_to_e8m0(value, __NV_NOSAT, cudaRoundPosInf),
           __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3), __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2),
           __nv_cvt_float_to_fp6(value, __NV_E2M3, cudaRoundNearest), __nv_cvt_float_to_fp6(value, __NV_E3M2, cudaRoundNearest),
           __nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest));
  }
}
