"""s_wait_alu in gfx12's mode of expert scheduling: va_vdst between the VALU and accesses, vm_vsrc before what an access
reads is overwritten; against the waits that clang 22 writes in that mode."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mmacalc
from hip_kernels import assembled, hip_kernels, hip_listing
from llvm_mc import assembled as assembled_lines
from mmacalc.asm.blocks import decoded_blocks
from mmacalc.asm.decoder import decode
from mmacalc.asm.decoder import text as instruction_text
from mmacalc.asm.high_registers import with_registers_meant
from mmacalc.hazards.memory_waits import missing_result_waits
from test_seeded_bugs import HEAD, KERNELS

EXPERT = ("-mllvm", "-amdgpu-expert-scheduling-mode")
SET = "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2"
MORE = {name: HEAD + KERNELS[name] for name in ("transpose", "reduction", "scan")} | {
    "stores": HEAD + """KERNEL(const float *x, float *y) {
        SHARED float part[256]; int i = I; float a = x[i] * 2 + 1; part[i] = a; SYNC
        float b = part[(i + 1) & 255]; y[i] = b * a; y[i + 256] = b + a; y[i + 512] = a - b;
        y[i + 768] = __builtin_amdgcn_exp2f(a); }""",
    # Unrolled whole, clang 22 lets loads overwrite what the VALU has yet to read, for which LLVM after 22 waits.
    "loop": HEAD + """KERNEL(const float *x, float *y) {
        SHARED float part[1024]; int i = I; for (int k = 0; k < 4; k++) part[k * 256 + i] = x[k * 256 + i] * k; SYNC
        float sum = 0;
        _Pragma("clang loop unroll_count(8)") for (int k = 0; k < 16; k++) {
            sum += part[(k * 64 + i * 3) & 1023]; y[(k & 3) * 256 + i] = sum; } }""",
    "product": HEAD + """typedef _Float16 half16 __attribute__((ext_vector_type(16)));
        typedef float float8 __attribute__((ext_vector_type(8)));
        KERNEL(const float *x, float *y) { SHARED _Float16 tile[1024]; int i = I, l = i % 32;
        for (int k = 0; k < 4; k++) tile[k * 256 + i] = (_Float16)x[k * 256 + i]; SYNC
        half16 a, b;
        for (int k = 0; k < 16; k++) { a[k] = tile[l * 16 + k]; b[k] = tile[512 + (l * 16 + k * 3) % 512]; }
        float8 c = {}; c = __builtin_amdgcn_wmma_f32_16x16x32_f16(0, a, 0, b, 0, c, false, false);
        SYNC for (int k = 0; k < 8; k++) tile[i + 4 * k] = (_Float16)(i < 32 ? c[k] : 0); SYNC
        if (i < 32) for (int k = 0; k < 8; k++) y[k * 32 + l] = c[k] * 2; }""",
}  # fmt: skip


def ran(kernels):
    (kernel,) = kernels.values()
    x, y = np.random.default_rng(2).standard_normal(1024).astype(np.float32), np.zeros(1024, np.float32)
    report = mmacalc.launch(kernel, 1, 256, x, y, limit=400_000)
    return [one for one in report.findings if one.kind == "wait"]


SAMPLE = ("scan", "stores")


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name in SAMPLE else pytest.mark.whole) for name in MORE
])  # fmt: skip
def test_every_wait_that_is_taken_out_is_named_by_lint_and_the_emulator(name):
    listing = hip_listing(MORE[name], "gfx1250", *EXPERT)
    assert mmacalc.lint(listing, "gfx1250").findings == ()
    assert ran(hip_kernels(MORE[name], "gfx1250", *EXPERT)) == []
    lines, unnamed, total = listing.split("\n"), [], 0
    for at, line in enumerate(lines):
        if "s_wait_alu" not in line:
            continue
        changes = [[]]
        if more := re.search(r"(va_vdst|vm_vsrc)\((\d)\)", line):
            changes.append([line[: more.start(2)] + str(int(more[2]) + 1) + line[more.end(2) :]])
        for change in changes:
            text, total = "\n".join([*lines[:at], *change, *lines[at + 1 :]]), total + 1
            found = mmacalc.lint(text, "gfx1250").findings
            if not found:
                unnamed.append(line)
                continue
            assert {one.kind for one in found} == {"wait"}
            assert "s_wait_alu" in found[0].nops[-1]
            (first, *_) = sorted({(one.line, one.text) for one in found})
            assert first[0] > at
            if change == []:
                emulated = ran(assembled(text, "gfx1250"))
                assert {one.text.split()[0] for one in emulated} == {one.text.split()[0] for one in found}
    assert total >= 3
    # What LLVM waits for although the access itself was waited for, and the order of results that it does not use.
    assert all("vm_vsrc" in line for line in unnamed), unnamed


CASES = [
    ("v_mov_b32 v1, 0\nds_store_b32 v9, v1", [(3, "va_vdst(0)")]),
    ("v_mov_b32 v1, 0\nv_mov_b32 v2, 0\ns_wait_alu depctr_va_vdst(1)\nds_store_b32 v9, v1", []),
    ("v_mov_b32 v1, 0\nv_mov_b32 v2, 0\ns_wait_alu 0x1f9f\nds_store_b32 v9, v1", []),
    ("v_mov_b32 v1, 0\nv_mov_b32 v2, 0\ns_wait_alu depctr_va_vdst(2)\nds_store_b32 v9, v1", [(5, "va_vdst(1)")]),
    ("v_mov_b32 v1, 0\nv_exp_f32 v2, v3\ns_wait_alu depctr_va_vdst(1)\nds_store_b32 v9, v1", [(5, "va_vdst(0)")]),
    ("v_mov_b32 v1, 0\nv_nop\nv_cmp_eq_u32 vcc_lo, v5, v6\ns_wait_alu depctr_va_vdst(2)\nds_store_b32 v9, v1", []),
    ("v_mov_b32 v2, 0\nglobal_load_b32 v2, v[4:5], off", [(3, "va_vdst(0)")]),
    ("v_mov_b32 v2, 0\nv_mov_b32 v3, v2", []),
    ("ds_store_b32 v9, v1\nv_mov_b32 v1, 0", [(3, "vm_vsrc(0)")]),
    ("ds_store_b32 v9, v1\nds_store_b32 v8, v2\ns_wait_alu depctr_vm_vsrc(1)\nv_mov_b32 v1, 0", []),
    ("ds_store_b32 v9, v1\nglobal_store_b32 v[4:5], v2, off\ns_wait_alu depctr_vm_vsrc(1)\nv_mov_b32 v1, 0",
     [(5, "vm_vsrc(0)")]),
    ("ds_store_b32 v9, v1\ns_wait_dscnt 0x0\nv_mov_b32 v1, 0", []),
    ("global_load_b32 v1, v[4:5], off\nds_load_b32 v4, v9", [(3, "vm_vsrc(0)")]),
    ("v_wmma_f32_16x16x4_f32 v[0:7], v[10:11], v[12:13], v[0:7]\nv_mov_b32 v20, 0\ns_wait_alu depctr_va_vdst(1)\n"
     "global_store_b128 v[24:25], v[0:3], off", []),
    # What LLVM after 22 asks for: a load must not overwrite what the VALU has yet to read.
    ("v_max_num_f32 v1, v2, v3\nds_load_b32 v2, v9", [(3, "va_vdst(0)")]),
    ("v_max_num_f32 v1, v2, v3\nv_mov_b32 v4, 0\nglobal_load_b32 v3, v[6:7], off", [(4, "va_vdst(1)")]),
    ("v_max_num_f32 v1, v2, v3\nv_mov_b32 v4, 0\ns_wait_alu depctr_va_vdst(1)\nds_load_b32 v2, v9", []),
    ("v_exp_f32 v1, v2\nv_mov_b32 v4, 0\ns_wait_alu depctr_va_vdst(1)\nds_load_b32 v2, v9", [(5, "va_vdst(0)")]),
    ("v_wmma_f32_16x16x4_f32 v[0:7], v[10:11], v[12:13], v[0:7]\nds_load_b32 v11, v9", [(3, "va_vdst(0)")]),
    ("v_max_num_f32 v1, v2, v3\nds_store_b32 v9, v2\nv_mov_b32 v3, v2", []),
    # What a later instruction of the VALU touches has been read and written by those before it that end apart, when
    # that one ends (Triton 3.9's attention, by LLVM 24); a store of the result waits for its writer all the same.
    ("v_exp_f32 v1, v2\nv_add_f32 v4, v1, v1\nv_mov_b32 v2, 0\ns_wait_alu depctr_va_vdst(0)\nds_load_b32 v2, v9", []),
    ("v_exp_f32 v1, v2\nv_add_f32 v4, v1, v2\nv_mov_b32 v5, 0\ns_wait_alu depctr_va_vdst(1)\nds_load_b32 v2, v9", []),
    ("v_exp_f32 v1, v2\nv_add_f32 v4, v1, v2\nv_mov_b32 v5, 0\ns_wait_alu depctr_va_vdst(1)\nds_load_b32 v1, v9", []),
    ("v_exp_f32 v1, v2\nv_mov_b32 v1, 0\nv_mov_b32 v5, 0\ns_wait_alu depctr_va_vdst(1)\nds_store_b32 v9, v1", []),
    ("v_exp_f32 v1, v2\nv_add_f32 v4, v1, v2\nv_mov_b32 v5, 0\ns_wait_alu depctr_va_vdst(1)\nds_store_b32 v9, v1",
     [(6, "va_vdst(0)")]),
    ("v_exp_f32 v1, v2\nv_mov_b32 v1, 0\nds_load_b32 v1, v9", [(4, "va_vdst(0)")]),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), CASES)
def test_rules_of_the_two_counters_one_by_one(lines, expected):
    report = mmacalc.lint(f"{SET}\n{lines}\n", "gfx1250")
    waits = [(one.line, nop) for one in report.findings for nop in one.nops if "s_wait_alu" in nop]
    assert waits == [(line, f"s_wait_alu depctr_{wait}") for line, wait in expected]
    plain = mmacalc.lint(f"{lines}\n", "gfx1250")
    assert not [one for one in plain.findings if "s_wait_alu" in "".join(one.nops)]


def waits_meant(lines):
    """What lacks a wait, in machine code by LLVM: the place in the kernel, and the wait."""
    text = "\n".join([SET, *lines, "s_endpgm"])
    codes = [code for _, code in assembled_lines(text.split("\n"), "gfx1250")]
    meant = with_registers_meant(list(decode(b"".join(codes), "gfx1250")))
    found = missing_result_waits([instruction_text(one) for one in meant], decoded_blocks(meant), "gfx1250")
    return [(len(meant) - one.at, one.waits) for one in found]


@pytest.mark.parametrize(("lines", "expected"), CASES)
def test_the_rules_of_registers_above_255_are_those_of_the_registers_below(lines, expected):
    """The same registers of another quarter lack the same waits; those of two quarters lack none of each other."""
    *before, last = lines.split("\n")
    low = waits_meant([*before, last])
    assert [place for place, _ in low] == [2 for _ in expected]  # the last but s_endpgm
    for bits in (0x55, 0xAA, 0xFF):
        chosen = f"s_set_vgpr_msb {bits:#x}"
        assert waits_meant([chosen, *before, last]) == low
        assert waits_meant([*before, chosen, last]) == []
