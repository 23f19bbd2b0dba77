"""Bugs seeded into compiled HIP kernels: waits, barriers and wait states taken out of clang's assembly, and counts of
waits that are one too high. All are named by their kind; the kernels as they are have no finding."""

from __future__ import annotations

import re

import numpy as np

import mmacalc
from hip_kernels import assembled, hip_kernels, hip_listing
from samples import sampled

HEAD = """typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 256))) void k
#define SHARED static __attribute__((shared))
#define I __builtin_amdgcn_workitem_id_x()
#define G __builtin_amdgcn_workgroup_id_x()
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
"""
KERNELS = {
    "transpose": """KERNEL(const float *x, float *y) {
        SHARED float tile[16 * 17]; int i = I;
        tile[i / 16 * 17 + i % 16] = x[G * 256 + i]; SYNC y[G * 256 + i] = tile[i % 16 * 17 + i / 16]; }""",
    "reduction": """KERNEL(const float *x, float *y) {
        SHARED float part[256]; int i = I; float v = x[G * 256 + i]; part[i] = v; SYNC
        for (int s = 64; s < 256; s <<= 1) { v += part[(i + s) % 256]; SYNC part[i] = v; SYNC }
        y[G * 256 + i] = v + part[(i + 64) % 256]; }""",
    "scan": """KERNEL(const float *x, float *y) {
        SHARED float sums[4]; int i = I; float v = x[G * 256 + i];
        v += __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, v), 0x111, 15, 15, 1));
        v += __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, v), 0x112, 15, 15, 1));
        float last = __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, v), 13));
        if (i % 64 == 0) sums[i / 64] = last; SYNC
        y[G * 256 + i] = v + sums[(i / 64 + 1) % 4]; }""",
    "product": """KERNEL(const float *x, float *y) {
        SHARED float tile[512]; int i = I, w = i / 64, l = i % 64; tile[i] = x[i]; tile[256 + i] = x[256 + i]; SYNC
        float4_ c = {0, 0, 0, 0};
        for (int k = 0; k < 4; k++) {
            float a = tile[l % 16 * 16 + k * 4 + l / 16], b = tile[256 + (k * 4 + l / 16) * 16 + l % 16];
            c = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0); }
        for (int k = 0; k < 4; k++) y[w * 256 + (l / 16 * 4 + k) * 16 + l % 16] = c[k] * (w + 1); }""",
}  # fmt: skip
TARGETS = {"gfx90a": KERNELS, "gfx942": KERNELS, "gfx950": KERNELS, "gfx1100": ("transpose", "reduction", "scan"),
           "gfx1201": ("transpose", "reduction", "scan")}  # fmt: skip
CASES = [(target, name) for target, names in TARGETS.items() for name in names]
WAIT = re.compile(r"^\ts_wait(cnt|_)(?!.*(alu|depctr))")


def ran(kernels):
    (kernel,) = kernels.values()
    x, y = np.random.default_rng(2).standard_normal(1024).astype(np.float32), np.zeros(1024, np.float32)
    report = mmacalc.launch(kernel, 2, 256, x, y, limit=200_000)
    return y, report


def mutants(listing):
    """(what, text) of each listing with one bug."""
    lines = listing.split("\n")
    end = next(number for number, line in enumerate(lines) if "s_endpgm" in line)
    for number, line in enumerate(lines[:end]):
        without = "\n".join([*lines[:number], *lines[number + 1 :]])
        if "s_wait_loadcnt" in line and "s_barrier_signal" in lines[number + 1] and "dscnt" not in line:
            continue  # for a cache that global_inv invalidates, of which the emulator has none
        if WAIT.match(line):
            yield "wait", number, without
            if found := re.search(r"(vmcnt|lgkmcnt|dscnt|loadcnt)(\(| 0x)(\d+)", line):
                more = line[: found.start(3)] + str(int(found[3]) + 1) + line[found.end(3) :]
                yield "count", number, "\n".join([*lines[:number], more, *lines[number + 1 :]])
        elif re.match(r"\ts_barrier(_signal)?\b", line):
            kept = [one for at, one in enumerate(lines) if at != number and not (
                "signal" in line and "s_barrier_wait" in one and at == _wait_of(lines, number))]  # fmt: skip
            yield "barrier", number, "\n".join(kept)
        elif re.match(r"\ts_nop\b", line):
            yield "wait states", number, without


def _wait_of(lines, number):
    return next(at for at in range(number, len(lines)) if "s_barrier_wait" in lines[at])


KINDS = {"wait": "wait", "count": "wait", "barrier": "race", "wait states": "wait states"}


@sampled(("target", "name"), CASES, 1, first=3, whole=5)
def test_every_bug_is_named_and_the_kernel_without_one_is_clean(target, name):
    source = HEAD + KERNELS[name]
    right, report = ran(hip_kernels(source, target))
    assert report.findings == ()
    assert right.any()
    listing = hip_listing(source, target)
    missed, total = [], 0
    for kind, number, text in mutants(listing):
        _, report = ran(assembled(text, target))
        total += 1
        if KINDS[kind] not in {finding.kind for finding in report.findings}:
            missed.append((kind, listing.split("\n")[number].strip(), [one.sentence for one in report.findings]))
    assert missed == []
    assert total >= 3


def test_a_kernel_whose_symbol_has_no_size_is_checked_as_one_that_has():
    listing = hip_listing(HEAD + KERNELS["transpose"], "gfx942")
    bare = re.sub(r"\t\.size\t.*\n", "", listing)
    assert bare != listing
    right, report = ran(assembled(bare, "gfx942"))
    assert right.any()
    assert report.findings == ()
    text = next(text for kind, _, text in mutants(bare) if kind == "wait")
    assert {one.kind for one in ran(assembled(text, "gfx942"))[1].findings} >= {"wait"}


POLLED = (
    HEAD
    + """KERNEL(unsigned *flag, float *x, float *y) { int i = I;
    if (G == 0) { x[i] = i; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        __builtin_amdgcn_s_barrier(); if (i == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, 4); }
    else { unsigned seen;
        do asm volatile("s_load_dword %0, %1, 0x0 HOW\\ns_waitcnt lgkmcnt(0)" : "=s"(seen) : "s"(flag)); while (!seen);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); y[i] = x[i]; } }"""
)


def test_a_flag_that_scalar_loads_poll_past_their_cache_orders_workgroups():
    for how, kinds in (("glc", set()), ("", {"race"})):
        (kernel,) = hip_kernels(POLLED.replace("HOW", how), "gfx942").values()
        flag, x, y = np.zeros(1, np.uint32), np.zeros(256, np.float32), np.zeros(256, np.float32)
        report = mmacalc.launch(kernel, 2, 256, flag, x, y, limit=200_000)
        assert (y == np.arange(256)).all()
        assert {one.kind for one in report.findings} == kinds
