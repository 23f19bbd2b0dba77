"""SGPRs that s_wait_alu and s_waitcnt_depctr wait for, against what LLVM 22 inserts: by random listings that llc
completes, and by compiled kernels of which each wait is taken out."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import mmacalc
from hip_kernels import OPTIONS, clang
from test_seeded_bugs import HEAD
from test_waits_llvm import after_recognizer

EXEC = "implicit $exec"
STATEMENTS = {
    "s_mov_b32 s4, s6": "$sgpr4 = S_MOV_B32 $sgpr6",
    "s_mov_b32 s5, s4": "$sgpr5 = S_MOV_B32 $sgpr4",
    "s_mov_b64 s[4:5], s[6:7]": "$sgpr4_sgpr5 = S_MOV_B64 $sgpr6_sgpr7",
    "s_mov_b64 s[6:7], s[4:5]": "$sgpr6_sgpr7 = S_MOV_B64 $sgpr4_sgpr5",
    "s_mov_b32 vcc_lo, s6": "$vcc_lo = S_MOV_B32 $sgpr6",
    "s_mov_b32 s7, vcc_lo": "$sgpr7 = S_MOV_B32 $vcc_lo",
    "s_mov_b32 m0, s5": "$m0 = S_MOV_B32 $sgpr5",
    "s_nop 0": "S_NOP 0",
    "v_mov_b32_e32 v1, s4": f"$vgpr1 = V_MOV_B32_e32 $sgpr4, {EXEC}",
    "v_mov_b32_e32 v1, s7": f"$vgpr1 = V_MOV_B32_e32 $sgpr7, {EXEC}",
    "v_mov_b32_e32 v2, v1": f"$vgpr2 = V_MOV_B32_e32 $vgpr1, {EXEC}",
    "v_cndmask_b32_e64 v1, v2, v3, s5": f"$vgpr1 = V_CNDMASK_B32_e64 0, $vgpr2, 0, $vgpr3, $sgpr5, {EXEC}",
    "v_cndmask_b32_e32 v1, v2, v3, vcc_lo": f"$vgpr1 = V_CNDMASK_B32_e32 $vgpr2, $vgpr3, implicit $vcc, {EXEC}",
    "v_cmp_eq_u32_e32 vcc_lo, v1, v2": f"V_CMP_EQ_U32_e32 $vgpr1, $vgpr2, implicit-def $vcc, {EXEC}",
    "v_cmp_eq_u32_e64 s4, v1, v2": f"$sgpr4 = V_CMP_EQ_U32_e64 $vgpr1, $vgpr2, {EXEC}",
    "v_readfirstlane_b32 s7, v1": f"$sgpr7 = V_READFIRSTLANE_B32 $vgpr1, {EXEC}",
    "s_load_b32 s6, s[8:9], 0x0": "$sgpr6 = S_LOAD_DWORD_IMM $sgpr8_sgpr9, 0, 0",
    "ds_load_b32 v9, v8": f"$vgpr9 = DS_READ_B32_gfx9 $vgpr8, 0, 0, {EXEC}",
}  # fmt: skip
"""Lines of assembly for gfx1200 in wave32, and the same as LLVM's machine instructions."""


def completed(listings):
    """What llc makes of listings: the machine instructions of each. They are kernels: into a function LLVM takes over
    every hazard."""
    kernels = "".join(f"  define amdgpu_kernel void @f{number}() {{ ret void }}\n" for number in range(len(listings)))
    functions = [
        f"---\nname: f{number}\nbody: |\n  bb.0:\n" + "".join(f"    {STATEMENTS[one]}\n" for one in lines) + "...\n"
        for number, lines in enumerate(listings)
    ]
    functions[0] = f"--- |\n{kernels}...\n{functions[0]}"
    return [body[1:] for body in after_recognizer("gfx1200", functions, part="amdgpu-wait-sgpr-hazards")]


def waits_before(texts):
    """Of each instruction that is no wait, the fields of s_wait_alu that waits directly before it bring to 0."""
    found, fields = [], set()
    for text in texts:
        if text.startswith("S_WAITCNT_DEPCTR"):
            mask = int(text.split()[1])
            fields |= {name for name, bits in (("sa_sdst", 1), ("va_vcc", 2), ("va_sdst", 0xE00)) if not mask & bits}
        elif text.startswith("s_wait_alu"):
            fields |= set(re.findall(r"depctr_(\w+)\(0\)", text))
        else:
            found.append(fields)
            fields = set()
    return found


def scalar_findings(text, target):
    """The findings about SGPRs."""
    return [one for one in mmacalc.lint(text, target).findings if "the VALU had read" in one.message]


def test_lint_asks_for_the_waits_that_llc_inserts_into_random_listings_for_rdna4():
    chance, asked = random.Random(12), 0
    listings = [chance.choices(list(STATEMENTS), k=24) for _ in range(150)]
    for lines, body in zip(listings, completed(listings)):
        nops = {}
        for one in scalar_findings("\n".join(lines), "gfx1200"):
            nops.setdefault(one.line, []).extend(one.nops)
        ours = [text for number, line in enumerate(lines, 1) for text in (*nops.get(number, ()), line)]
        assert waits_before(ours) == waits_before(body), lines
        assert scalar_findings("\n".join(ours), "gfx1200") == []
        asked += len(nops)
    assert asked > 150


STATEMENTS64 = {
    "s_mov_b64 s[4:5], s[10:11]": "$sgpr4_sgpr5 = S_MOV_B64 $sgpr10_sgpr11",
    "s_mov_b64 s[10:11], s[4:5]": "$sgpr10_sgpr11 = S_MOV_B64 $sgpr4_sgpr5",
    "s_mov_b64 s[6:7], s[10:11]": "$sgpr6_sgpr7 = S_MOV_B64 $sgpr10_sgpr11",
    "s_mov_b32 s12, s7": "$sgpr12 = S_MOV_B32 $sgpr7",
    "s_mov_b64 vcc, s[6:7]": "$vcc = S_MOV_B64 $sgpr6_sgpr7",
    "s_load_b64 s[4:5], s[8:9], 0x0": "$sgpr4_sgpr5 = S_LOAD_DWORDX2_IMM $sgpr8_sgpr9, 0, 0",
    "s_load_b128 s[4:7], s[8:9], 0x0": "$sgpr4_sgpr5_sgpr6_sgpr7 = S_LOAD_DWORDX4_IMM $sgpr8_sgpr9, 0, 0",
    "s_nop 0": "S_NOP 0",
    "v_mov_b32_e32 v1, s4": f"$vgpr1 = V_MOV_B32_e32 $sgpr4, {EXEC}",
    "v_mov_b32_e32 v2, v1": f"$vgpr2 = V_MOV_B32_e32 $vgpr1, {EXEC}",
    "v_cndmask_b32_e64 v1, v2, v3, s[4:5]": f"$vgpr1 = V_CNDMASK_B32_e64 0, $vgpr2, 0, $vgpr3, $sgpr4_sgpr5, {EXEC}",
    "v_cndmask_b32_e64 v1, v2, v3, s[6:7]": f"$vgpr1 = V_CNDMASK_B32_e64 0, $vgpr2, 0, $vgpr3, $sgpr6_sgpr7, {EXEC}",
    "v_cndmask_b32_e32 v1, v2, v3, vcc": f"$vgpr1 = V_CNDMASK_B32_e32 $vgpr2, $vgpr3, implicit $vcc, {EXEC}",
    "v_cmp_eq_u32_e32 vcc, v1, v2": f"V_CMP_EQ_U32_e32 $vgpr1, $vgpr2, implicit-def $vcc, {EXEC}",
    "v_cmp_eq_u32_e64 s[4:5], v1, v2": f"$sgpr4_sgpr5 = V_CMP_EQ_U32_e64 $vgpr1, $vgpr2, {EXEC}",
    "ds_load_b32 v9, v8": f"$vgpr9 = DS_READ_B32_gfx9 $vgpr8, 0, 0, {EXEC}",
}
"""Lines of assembly for gfx1100 in wave64, and the same as LLVM's machine instructions."""


def test_a_listing_that_llc_completes_for_rdna3_lacks_no_wait_and_most_of_its_waits_are_asked_for():
    chance, inserted, asked = random.Random(3), 0, 0
    listings = [chance.choices(list(STATEMENTS64), k=24) for _ in range(150)]
    functions = [
        f"---\nname: f{number}\nbody: |\n  bb.0:\n" + "".join(f"    {STATEMENTS64[one]}\n" for one in lines) + "...\n"
        for number, lines in enumerate(listings)
    ]
    for lines, body in zip(listings, after_recognizer("gfx1100", functions, 64)):
        left, whole = iter(lines), []
        for text in body[1:]:
            wait = text.startswith("S_WAITCNT_DEPCTR")
            whole.append(f"s_waitcnt_depctr {hex(int(text.split()[1]))}" if wait else next(left))
        assert next(left, None) is None
        assert scalar_findings("\n".join(whole), "gfx1100") == [], whole
        inserted += len(whole) - len(lines)
        asked += len(scalar_findings("\n".join(lines), "gfx1100"))
    assert inserted > 200
    assert asked > inserted / 3  # llc waits behind each write, whoever reads


SOURCE = (
    HEAD
    + """KERNEL(const float *x, float *y, int n) { int i = I; float s = 0;
    for (int j = 0; j < n; j++) { float v = x[i * n + j]; unsigned long long b = __builtin_amdgcn_ballot_w64(v > s);
        if (b & 0xff) s += v; else s -= (float)__builtin_popcountll(b);
        if (v > s) s *= 1.5f;
        s += __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, s), j & 31)); }
    y[i] = s; }"""
)


@pytest.mark.parametrize(("target", "options"), [("gfx1201", ()), ("gfx1100", ("-mwavefrontsize64",))])
def test_every_wait_for_an_sgpr_that_is_taken_out_is_named_where_it_is_read(target, options):
    listing = clang(*OPTIONS, f"--offload-arch={target}", *options, "-S", text=SOURCE).read_text()
    lines, total = listing.split("\n"), 0
    assert mmacalc.lint(listing, target).findings == ()
    assert ran(listing, target, options) == []
    for at, line in enumerate(lines):
        if "sa_sdst" not in line and "va_vcc" not in line and "va_sdst" not in line:
            continue
        text, total = "\n".join([*lines[:at], *lines[at + 1 :]]), total + 1
        found = mmacalc.lint(text, target).findings
        assert found, line
        assert {one.kind for one in found} == {"wait"}
        assert line.strip() in {nop for one in found for nop in one.nops}
        assert [one.text for one in ran(text, target, options)] == [one.text for one in found]
    assert total >= 3


def ran(listing, target, options):
    """The findings of a launch of an assembly text."""
    made = clang("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", *options, text=listing, name="kernels.s")
    (kernel,) = mmacalc.load(made).values()
    x, y = np.random.default_rng(1).standard_normal(1024).astype(np.float32), np.zeros(128, np.float32)
    return list(mmacalc.launch(kernel, 1, 128, x, y, np.int32(8)).findings)


CASES = [
    ("gfx1201", "v_mov_b32 v1, s4\ns_mov_b32 s5, 1\ns_mov_b32 s6, s5", [(3, "s_wait_alu depctr_sa_sdst(0)")]),
    ("gfx1201", "v_mov_b32 v1, s4\ns_mov_b32 s5, 1\ns_wait_alu 0xfffe\ns_mov_b32 s6, s5", []),
    ("gfx1201", "v_mov_b32 v1, s4\nv_readlane_b32 s4, v1, 0\ns_mov_b32 s6, s4", []),
    ("gfx1201", "v_mov_b32 v1, s4\nv_readlane_b32 s4, v1, 0\nv_mov_b32 v2, s4", [(3, "s_wait_alu depctr_va_sdst(0)")]),
    ("gfx1201", "v_mov_b32 v1, s4\ns_mov_b32 s4, 1\n" + "ds_nop\n" * 4 + "s_mov_b32 s4, 2\nv_mov_b32 v1, s6", []),
    ("gfx1201", "v_mov_b32 v1, s4\n.L:\ns_add_co_i32 s4, s4, 1\ns_cbranch_scc1 .L\ns_endpgm",
     [(3, "s_wait_alu depctr_sa_sdst(0)")]),
    ("gfx1201", "v_cmp_lt_f32_e64_dpp s4, v1, v1 row_xmask:1 row_mask:0xf bank_mask:0xf bound_ctrl:1\n"
     "s_mov_b32 s5, 1\ns_mov_b32 s6, s5", []),  # DPP keeps lanes of vector registers, and reads no mask that it writes
    ("gfx1250", "v_mov_b32 v1, s4\ns_mov_b32 s5, 1\ns_mov_b32 s6, s5", []),
    ("gfx1100", "v_cmp_eq_u32_e64 s[2:3], v1, v2\nv_cndmask_b32_e64 v1, v2, v3, s[2:3]\ns_mov_b64 s[2:3], 0\n"
     "s_mov_b32 s6, s3", [(4, "s_waitcnt_depctr depctr_sa_sdst(0)")]),
    ("gfx1100", "v_cmp_eq_u32_e64 s2, v1, v2\nv_cndmask_b32_e64 v1, v2, v3, s2\ns_mov_b32 s2, 0\ns_mov_b32 s6, s2", []),
    ("gfx1100", "v_cmp_eq_u32_e64 s[2:3], v1, v2\nv_cndmask_b32_e64 v1, v2, v3, s[2:3]\ns_load_b64 s[2:3], s[8:9], 0\n"
     "s_waitcnt lgkmcnt(0)\ns_mov_b64 s[2:3], 0\ns_mov_b32 s6, s3", []),
    ("gfx1100", "v_cndmask_b32_e32 v1, v2, v3, vcc\nv_cmp_eq_u32_e32 vcc, v1, v2\ns_mov_b64 s[4:5], vcc", []),
    ("gfx1100", "v_cndmask_b32_e32 v1, v2, v3, vcc\nv_cmp_eq_u32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v1, v2, v3, vcc",
     [(3, "s_waitcnt_depctr depctr_va_vcc(0)")]),
]  # fmt: skip


@pytest.mark.parametrize(("target", "lines", "expected"), CASES)
def test_rules_of_sgprs_one_by_one(target, lines, expected):
    found = scalar_findings(lines, target)
    assert [(one.line, nop) for one in found for nop in one.nops] == expected
