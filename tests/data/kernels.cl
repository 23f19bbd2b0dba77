#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define DEVICE __attribute__((noinline))
typedef float f4 __attribute__((ext_vector_type(4)));
typedef half h4 __attribute__((ext_vector_type(4)));
kernel void mix(global int *out, global const float *x, global const double *d, global const half *h, global const char *c, global const short *s, global const long *l, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i >= n) return;
  float a = x[i], b = x[i + 1];
  double e = d[i] * 1.5 + d[i + 3];
  half g = h[i] * h[i + 5] + (half)0.25;
  long q = l[i] * l[i + 1] >> (i & 31);
  unsigned long uq = (unsigned long)l[i + 2] / 7u;
  int r = (int)a + (int)e + (int)(float)g + (int)q + (int)uq;
  for (int k = 0; k < (c[i] & 15); k++) { r = r * 31 + s[i + k]; r ^= r >> 3; a = __builtin_fmaf(a, b, (float)k); if (a > 100.0f) { a -= b; break; } }
  r += __builtin_popcount(r) + __builtin_clz(r | 1) + __builtin_ctz(r | 1) + __builtin_bswap32(r);
  a = __builtin_sqrtf(a) + __builtin_floorf(b) + 1.0f / a + __builtin_exp2f(b) + __builtin_log2f(a) + __builtin_sinf(b) + __builtin_fabsf(a - b);
  e = __builtin_sqrt(e) + 1.0 / e;
  out[i] = r + (int)a + (int)e + (a < b ? 3 : 7) + (int)((unsigned)r % 10u) + (short)(r * 3) + (unsigned char)(r + 5);
}
kernel void lds(global float *out, global const float *in) {
  local float tile[1024]; local double dd[64];
  int t = __builtin_amdgcn_workitem_id_x();
  for (int k = 0; k < 4; k++) tile[t + 256 * k] = in[t + 256 * k];
  dd[t & 63] = in[t];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  f4 v = *(local f4 *)(tile + 4 * (255 - t));
  float sum = v.x + v.y * v.z - v.w + dd[(t + 1) & 63];
  sum += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(4 * (t ^ 1), __builtin_bit_cast(int, sum)));
  sum += __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, sum), 0x111, 15, 15, 1));
  sum += __builtin_bit_cast(float, __builtin_amdgcn_readfirstlane(__builtin_bit_cast(int, sum)));
  out[t] = sum;
}
kernel void attention(global float *o, global const half *q, global const half *k, global const half *v, int n) {
  int t = __builtin_amdgcn_workitem_id_x();
  float m = -1e30f, l = 0, acc[8] = {0};
  for (int j = 0; j < n; j++) {
    float s = 0;
    for (int e = 0; e < 8; e++) s += (float)q[t * 8 + e] * (float)k[j * 8 + e];
    float m2 = __builtin_fmaxf(m, s), p = __builtin_exp2f((s - m2) * 1.44f), f = __builtin_exp2f(m - m2);
    l = l * f + p; m = m2;
    for (int e = 0; e < 8; e++) acc[e] = acc[e] * f + p * (float)v[j * 8 + e];
  }
  for (int e = 0; e < 8; e++) o[t * 8 + e] = acc[e] / l;
}
kernel void atomics(global int *p, global float *f, global long *l, local int *s) {
  int t = __builtin_amdgcn_workitem_id_x();
  int old = __atomic_fetch_add(p + t, 3, __ATOMIC_RELAXED); __atomic_fetch_max(p + 1, t, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(l + t, old, __ATOMIC_RELAXED);
  __atomic_compare_exchange_n(p + 2, &old, 5, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  __atomic_fetch_or(s + t, old, __ATOMIC_RELAXED); p[t + 7] = __atomic_exchange_n(s, 4, __ATOMIC_RELAXED);
  volatile int stack[20]; for (int i = 0; i < 20; i++) stack[i] = t * i; p[t + 9] = stack[t & 15];
}
DEVICE int helper(int a, global int *p) { return p[a] * 3 + (a > 4 ? p[a - 1] : 0); }
kernel void calls(global int *p, int n) { int t = __builtin_amdgcn_workitem_id_x(); p[t] = helper(t, p) + helper(n, p + 4); }
kernel void packed(global h4 *o, global const h4 *a, global const h4 *b, global f4 *fo, global const f4 *fa, global const char *c8, global int *io) {
  int t = __builtin_amdgcn_workitem_id_x();
  o[t] = a[t] * b[t] + a[t + 1]; fo[t] = fa[t] * fa[t + 1] + fa[t + 2];
  int r = 0; for (int i = 0; i < 8; i++) r += c8[t * 8 + i] * c8[i]; io[t] = r; io[t + 64] = __builtin_amdgcn_perm(r, t, 0x05040100);
  ((global short*)io)[t*2+200] = (short)(o[t].x > (half)0 ? 1 : -1); ((global char*)io)[t + 4000] = r >> 8;
}
