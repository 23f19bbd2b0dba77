"""HIP kernels whose workgroups communicate: flags, grid barriers, locks, look-back, fix-ups, tickets. With what each
computes."""

from __future__ import annotations

import numpy as np

HEAD = """
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 256))) void k
#define SHARED static __attribute__((shared))
#define G ((int)__builtin_amdgcn_workgroup_id_x())
#define I ((int)__builtin_amdgcn_workitem_id_x())
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define FENCE __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_RELAXED, AGENT)
#define STORE(p, v) __hip_atomic_store(p, v, __ATOMIC_RELAXED, AGENT)
#define ADD(p, v) __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, AGENT)
#define PAUSE __builtin_amdgcn_s_sleep(1);
"""
GROUPS, THREADS = 6, 128
KERNELS = {
    "message": """KERNEL(float *x, float *y, int *f, int n) {
        if (G % 2 == 0) { y[G * 128 + I] = x[G * 128 + I] * 2; SYNC
            if (I == 0) __hip_atomic_store(f + G, 1, __ATOMIC_RELEASE, AGENT); }
        else { if (I == 0) while (!__hip_atomic_load(f + G - 1, __ATOMIC_ACQUIRE, AGENT)) PAUSE
            SYNC y[G * 128 + I] = y[(G - 1) * 128 + 127 - I]; } }""",
    "fences": """KERNEL(float *x, float *y, int *f, int n) {
        if (G % 2) { y[G * 128 + I] = x[G * 128 + I] * 2; FENCE SYNC if (I == 0) STORE(f + G, 1); }
        else { if (I == 0) { while (!LOAD(f + G + 1)) PAUSE }
            SYNC FENCE y[G * 128 + I] = y[(G + 1) * 128 + 127 - I]; } }""",
    "last block": """KERNEL(float *x, float *y, int *f, int n) {
        SHARED int last; y[n * 128 + G * 128 + I] = x[G * 128 + I]; FENCE SYNC
        if (I == 0) last = ADD(f, 1) == n - 1; SYNC
        if (last) { FENCE float s = 0; for (int g = 0; g < n; g++) s += y[n * 128 + g * 128 + I]; y[I] = s; } }""",
    "grid barrier": """__attribute__((device)) void meet(int *f, int goal) {
        SYNC if (I == 0) { FENCE ADD(f, 1); while (LOAD(f) < goal) PAUSE FENCE } SYNC }
      KERNEL(float *x, float *y, int *f, int n) {
        float v = x[G * 128 + I];
        for (int r = 1; r <= 3; r++) { y[G * 128 + I] = v; meet(f, n * (2 * r - 1));
            v += y[(G + r) % n * 128 + I]; meet(f, n * 2 * r); }
        y[G * 128 + I] = v; }""",
    "lock": """KERNEL(float *x, float *y, int *f, int n) {
        if (I == 0) { int free = 0;
            while (!__hip_atomic_compare_exchange_strong(f, &free, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, AGENT))
                { free = 0; PAUSE } }
        SYNC y[I] += x[G * 128 + I]; SYNC
        if (I == 0) __hip_atomic_store(f, 0, __ATOMIC_RELEASE, AGENT); }""",
    "ticket": """KERNEL(float *x, float *y, int *f, int n) {
        if (I == 0) { int mine = ADD(f, 1); while (__hip_atomic_load(f + 1, __ATOMIC_ACQUIRE, AGENT) != mine) PAUSE }
        SYNC y[I] += x[G * 128 + I]; SYNC
        if (I == 0) __hip_atomic_fetch_add(f + 1, 1, __ATOMIC_RELEASE, AGENT); }""",
    "look-back": """KERNEL(float *x, float *y, int *f, int n) {
        SHARED float before; SHARED int tile; float *part = y + n * 128, *whole = part + 64;
        if (I == 0) { tile = ADD(f, 1); float s = 0; for (int i = 0; i < 128; i++) s += x[tile * 128 + i];
            part[tile] = s; __hip_atomic_store(f + 1 + tile, 1, __ATOMIC_RELEASE, AGENT);
            float sum = 0;
            for (int at = tile - 1; at >= 0;) {
                int state = __hip_atomic_load(f + 1 + at, __ATOMIC_ACQUIRE, AGENT);
                if (state == 2) { sum += whole[at]; break; }
                if (state == 1) { sum += part[at]; at--; } else PAUSE }
            whole[tile] = sum + s; __hip_atomic_store(f + 1 + tile, 2, __ATOMIC_RELEASE, AGENT); before = sum; }
        SYNC float v = before; for (int i = 0; i <= I; i++) v += x[tile * 128 + i]; y[tile * 128 + I] = v; }""",
    "fix-up": """KERNEL(float *x, float *y, int *f, int n) {
        float v = x[G * 128 + I]; float *part = y + n * 128;
        if (G % 3) { part[G * 128 + I] = v; FENCE SYNC if (I == 0) STORE(f + G, 1); }
        else { for (int p = G + 1; p < G + 3; p++) {
                if (I == 0) while (LOAD(f + p) != 1) PAUSE
                SYNC FENCE v += part[p * 128 + I]; }
            y[G * 128 + I] = v; } }""",
    "sums": """KERNEL(float *x, float *y, int *f, int n) {
        SHARED int last; __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float *)y + 128 + I,
                                                                 x[G * 128 + I]);
        FENCE SYNC if (I == 0) last = __hip_atomic_fetch_add(f, 1, __ATOMIC_ACQ_REL, AGENT) == n - 1; SYNC
        if (last) { FENCE y[I] = y[128 + I] * 2; } }""",
    "packed": """KERNEL(float *x, float *y, int *f, int n) {
        unsigned long long *state = (unsigned long long *)(f + 2);
        if (I == 0) { float s = 0; for (int i = 0; i < 128; i++) s += x[G * 128 + i];
            if (G) { unsigned long long v; while (!((v = LOAD(state + G - 1)) >> 32)) PAUSE
                s += __builtin_bit_cast(float, (unsigned)v); }
            STORE(state + G, 1ull << 32 | __builtin_bit_cast(unsigned, s)); y[G] = s; } }""",
    "reset ticket": """KERNEL(float *x, float *y, int *f, int n) {
        SHARED int last; unsigned long long *count = (unsigned long long *)f; y[n * 128 + G * 128 + I] = x[G * 128 + I];
        SYNC if (I == 0) last = __hip_atomic_fetch_add(count, 1ull, __ATOMIC_ACQ_REL, AGENT) == n - 1; SYNC
        if (last) { FENCE float s = 0; for (int g = 0; g < n; g++) s += y[n * 128 + g * 128 + I]; y[I] = s;
            if (I == 64) *count = 0; } }""",
    "reset flag": """KERNEL(float *x, float *y, int *f, int n) {
        if (G % 2 == 0) { y[G * 128 + I] = x[G * 128 + I] * 2; SYNC
            if (I == 0) __hip_atomic_store(f + G, 1, __ATOMIC_RELEASE, AGENT); }
        else { if (I == 0) while (!__hip_atomic_load(f + G - 1, __ATOMIC_ACQUIRE, AGENT)) PAUSE
            SYNC y[G * 128 + I] = y[(G - 1) * 128 + 127 - I]; if (I == 0) f[G - 1] = 0; } }""",
    "own workgroup": """KERNEL(float *x, float *y, int *f, int n) {
        y[G * 128 + I] = x[G * 128 + I]; SYNC float v = y[G * 128 + 127 - I]; SYNC y[G * 128 + I] = v * 2; }""",
}  # fmt: skip


def right(name, x):
    """What a kernel leaves in the first elements of y."""
    rows = x.reshape(GROUPS, THREADS)
    if name in ("message", "reset flag"):
        return np.stack([rows[g // 2 * 2][:: 1 if g % 2 == 0 else -1] * 2 for g in range(GROUPS)])
    if name == "fences":
        return np.stack([rows[g | 1][:: 1 if g % 2 else -1] * 2 for g in range(GROUPS)])
    if name == "grid barrier":
        v = rows.copy()
        for r in (1, 2, 3):
            v = v + np.roll(v, -r, 0)
        return v
    if name == "look-back":
        return np.cumsum(x)
    if name == "fix-up":
        return rows[:3].sum(0)
    if name == "packed":
        return np.cumsum(rows.sum(1))
    if name == "own workgroup":
        return rows[:, ::-1] * 2
    return rows.sum(0) * (2 if name == "sums" else 1)
