"""Bugs seeded into compiled HIP kernels: waits, barriers and wait states taken out of clang's assembly, and counts of
waits that are one too high. All are named by their kind; the kernels as they are have no finding."""

from __future__ import annotations

import re

import numpy as np
import pytest

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
    "lanes": """KERNEL(const float *x, float *y) { int i = I; float s = 0, v = x[G * 256 + i];
        for (int j = 0; j < 6; j++) {
            float u = __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, v), (j * 5) & 31));
            int c = (int)__builtin_amdgcn_ballot_w64(u > v);
            float f = __builtin_bit_cast(float, __builtin_amdgcn_readfirstlane(__builtin_bit_cast(int, s + v)));
            s += u > v ? u * f : (float)(c & 15);
            int o = __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, v), 0xB1, 15, 15, 1);
            v = __builtin_bit_cast(float, o) + ((c >> 3) & 1 ? s : v); v = v > 3.f ? v * 0.25f : v; }
        y[G * 256 + i] = s + v; }""",
    "math": """KERNEL(const float *x, float *y) { int i = I; float v = x[G * 256 + i] + 2.5f, w = x[i * 3 % 512];
        float q = w / v, e = __builtin_amdgcn_exp2f(w) * __builtin_amdgcn_rcpf(v * v + 1);
        e = __builtin_amdgcn_sinf(q * 0.1f) + e / v; double d = (double)q / (double)v;
        y[G * 256 + i] = (float)__builtin_fma(d, d, (double)e); }""",
}  # fmt: skip
MATRIX = {
    "chained": """KERNEL(const float *x, float *y) {
        SHARED _Float16 tile[SIZE], out[256 / LANES][256]; int i = I, w = i / LANES, l = i % LANES; sums c = {};
        tile[i] = (_Float16)x[i]; if (SIZE > 256) tile[(i + 256) % SIZE] = (_Float16)x[i + 256]; SYNC
        halves a, b;
        for (int e = 0; e < EACH; e++) {
            a[e] = tile[(l % 16 * 16 + l / 16 * EACH + e) % SIZE]; b[e] = tile[(l / 16 * EACH + e) * 16 + l % 16]; }
        c = PRODUCT;
        for (int e = 0; e < SUMS; e++) out[w][(l / 16 * SUMS + e) * 16 + l % 16] = (_Float16)(c[e] * (w + 1)); SYNC
        for (int e = 0; e < EACH; e++) a[e] = out[(w + 1) % 4][(l % 16 * 16 + l / 16 * SUMS + e) % 256];
        c = PRODUCT; c = PRODUCT;
        for (int e = 0; e < SUMS; e++) if (w < 4) y[w * 256 + (l / 16 * SUMS + e) * 16 + l % 16] = c[e]; }""",
    "shuffle": """KERNEL(const float *x, float *y) {
        SHARED float part[256]; int i = I, l = i % LANES; float v = x[i]; part[i] = v * 2; SYNC
        int o = __builtin_amdgcn_ds_bpermute((l ^ 5) * 4, __builtin_bit_cast(int, part[(i + LANES) % 256]));
        float s = __builtin_bit_cast(float, o);
        float f = __builtin_bit_cast(float, __builtin_amdgcn_readfirstlane(__builtin_bit_cast(int, s + v)));
        SYNC part[i * 7 % 256] = s * f; SYNC y[i] = part[i] + f; y[i + 256] = part[(i + 1) % 256]; }""",
}  # fmt: skip
"""Kernels whose products and lanes differ by target: see `source_of`."""
FORMS = {
    "gfx9": (64, 4, 4, 256, "__builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0)"),
    "gfx1201": (32, 8, 8, 256, "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c)"),
    "gfx1250": (32, 16, 8, 512, "__builtin_amdgcn_wmma_f32_16x16x32_f16(0, a, 0, b, 0, c, false, false)"),
}
"""Lanes, elements of A and of C of a lane, elements of the tile, and the product."""


def source_of(target, name):
    """A kernel's source for a target."""
    if name in KERNELS:
        return HEAD + KERNELS[name]
    lanes, each, sums, size, product = next(form for start, form in FORMS.items() if target.startswith(start))
    types = (f"typedef _Float16 halves __attribute__((ext_vector_type({each})));\n"
             f"typedef float sums __attribute__((ext_vector_type({sums})));\n")  # fmt: skip
    text = MATRIX[name].replace("PRODUCT", product)
    for word, number in (("LANES", lanes), ("EACH", each), ("SUMS", sums), ("SIZE", size)):
        text = text.replace(word, str(number))
    return HEAD + types + text


RDNA = ("transpose", "reduction", "scan", "lanes", "math")
TARGETS = {"gfx90a": KERNELS, "gfx942": KERNELS, "gfx950": KERNELS, "gfx1100": RDNA, "gfx1201": RDNA,
           "gfx1250": ("lanes", "math")}  # fmt: skip
CASES = [(target, name) for target, names in TARGETS.items() for name in names]
CASES += [(target, name) for target in ("gfx90a", "gfx950", "gfx1201", "gfx1250") for name in MATRIX]
WAIT, RESULT = re.compile(r"^\ts_wait(cnt|_)(?!.*(alu|depctr))"), re.compile(r"^\ts_wait(_alu|cnt_depctr) ")


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
        if WAIT.match(line) and "_d16_hi" in lines[number + 1]:
            continue  # loads of the two halves of a register: LLVM waits, and they end in order
        if RESULT.match(line):
            yield "result", number, without
        elif WAIT.match(line):
            yield "wait", number, without
            if found := re.search(r"(vmcnt|lgkmcnt|dscnt|loadcnt)(\(| 0x)(\d+)", line):
                more = line[: found.start(3)] + str(int(found[3]) + 1) + line[found.end(3) :]
                yield "count", number, "\n".join([*lines[:number], more, *lines[number + 1 :]])
        elif re.match(r"\ts_barrier(_signal)?\b", line):
            kept = [one for at, one in enumerate(lines) if at != number and not (
                "signal" in line and "s_barrier_wait" in one and at == _wait_of(lines, number))]  # fmt: skip
            yield "barrier", number, "\n".join(kept)
        elif re.match(r"\t[sv]_nop\b", line):
            yield "wait states", number, without


def _wait_of(lines, number):
    return next(at for at in range(number, len(lines)) if "s_barrier_wait" in lines[at])


KINDS = {"wait": {"wait"}, "count": {"wait"}, "barrier": {"race"}, "wait states": {"wait states"},
         "result": {"wait", "wait states"}}  # fmt: skip
"""Of a result, a VALU's in an SGPR is waited for, a transcendental one's on gfx11 is wait states."""


@sampled(("target", "name"), CASES, 1, first=3, whole=5)
def test_every_bug_is_named_and_the_kernel_without_one_is_clean(target, name):
    source = source_of(target, name)
    right, report = ran(hip_kernels(source, target))
    assert report.findings == ()
    assert right.any()
    listing = hip_listing(source, target)
    missed, total = [], 0
    for kind, number, text in mutants(listing):
        _, report = ran(assembled(text, target))
        total += 1
        if KINDS[kind].isdisjoint({finding.kind for finding in report.findings}):
            missed.append((kind, listing.split("\n")[number].strip(), [one.sentence for one in report.findings]))
    assert missed == []
    assert total >= 3


BRANCHES = (
    HEAD
    + """KERNEL(const float *x, float *y) {
    SHARED float tile[256], sums[4]; int i = I; float v = x[G * 256 + i], s = 0;
    if (v > 0) tile[i] = v * 2; else tile[i] = -v;
    SYNC
    for (int j = i % 7; j < 40; j += 3) { s += tile[(i + j) % 256]; if (s > 30) { s *= 0.5f; if (i % 2) break; } }
    if (i % 64 == 0) { float most = 0; for (int j = 0; j < 64; j++) if (tile[i + j] > most) most = tile[i + j];
        sums[i / 64] = most; }
    SYNC
    if (i < 128) { tile[i] = s + sums[i / 64]; if (i > 5) { v += s; if (v < 0) v = x[i]; } }
    SYNC
    y[G * 256 + i] = v + tile[i / 2]; }"""
)
SAVES = re.compile(r"\ts_\w+_saveexec_b(?P<width>32|64) (?P<saved>[^,]+),.*")


@pytest.mark.parametrize("target", TARGETS)
def test_lanes_that_are_lost_are_named_where_exec_is_not_restored_or_not_narrowed(target):
    listing = hip_listing(BRANCHES, target)
    right, report = ran(assembled(listing, target))
    assert report.findings == ()
    lines, kinds, harmful = listing.split("\n"), set(), 0
    for number, line in enumerate(lines):
        if saves := SAVES.match(line):
            width, saved = saves.groups()
            put = f"\ts_mov_b{width} {saved}, exec{'_lo' if width == '32' else ''}"
        elif re.match(r"\ts_(or|mov)_b(32|64) exec", line):
            put = ""
        else:
            continue
        text = "\n".join([*lines[:number], put, *lines[number + 1 :]])
        try:
            wrong, report = ran(assembled(text, target))
        except mmacalc.Error:
            continue  # stopped, with a message: out of bounds, or a loop that does not end
        if not np.array_equal(right, wrong):
            harmful += 1
            assert report.findings, line
            kinds |= {one.kind for one in report.findings}
            assert {one.kind for one in mmacalc.lint(text, target).findings} == {"exec"}, line
    assert harmful >= 3
    assert "exec" in kinds


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


def test_lanes_that_a_barrier_finds_inactive_are_noted_and_those_that_the_workgroup_lacks_are_not():
    source = (
        HEAD
        + """KERNEL(const float *x, float *y) { SHARED float part[256]; int i = I; part[i] = 0; SYNC
        if (i & 1) part[i] = x[i]; SYNC y[i] = part[i ^ 1]; }"""
    )
    listing = hip_listing(source, "gfx942")
    lost = re.sub(r"\n\ts_or_b64 exec, .*", "", listing)
    for text, threads, kinds in ((listing, 256, []), (listing, 100, []), (lost, 256, ["exec"])):
        (kernel,) = assembled(text, "gfx942").values()
        x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
        report = mmacalc.launch(kernel, 1, threads, x, y)
        assert [one.kind for one in report.findings] == kinds
        notes = [one for one in report.notes if one.kind == "exec"]
        assert [one.kind for one in notes] == kinds
        assert all(one.text == "s_barrier" and one.lanes == tuple(range(0, 64, 2)) for one in notes)


GIVEN_BACK = """typedef float floats __attribute__((ext_vector_type(32)));
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64))) void k(floats *x, floats *y) {
    int i = __builtin_amdgcn_workitem_id_x(); floats a[5];
    for (int j = 0; j < 5; j++) a[j] = x[i * 5 + j];
    for (int j = 0; j < 5; j++) y[i * 5 + j] = a[4 - j] * 2.f; }"""


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_registers_are_given_back_behind_an_s_nop_as_clang_does_it(target):
    listing = hip_listing(GIVEN_BACK, target)
    early = listing.replace("s_nop 0\n\ts_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)")
    assert early != listing
    x = np.arange(64 * 160, dtype=np.float32)
    for text, count in ((listing, 0), (early, 1)):
        y = np.zeros_like(x)
        findings = mmacalc.launch(assembled(text, target)["k"], 1, 64, x, y).findings
        assert np.array_equal(y.reshape(64, 5, 32), x.reshape(64, 5, 32)[:, ::-1] * 2)
        assert [one.text for one in findings] == ["s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"] * count
        assert [one.nops for one in mmacalc.lint(text, target).findings] == [("s_nop 0",)] * count
