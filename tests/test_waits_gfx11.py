"""What gfx11 waits for by other means than v_nop, against LLVM 22.1.8: s_waitcnt_depctr after transcendental
instructions, and wait_vdst of lds_direct_load."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import mmacalc
import samples
from generated_kernels import assembled as assembled_kernels
from generated_kernels import compiled
from hip_kernels import hip_listing
from llvm_mc import assembled
from mmacalc.cli import answer
from test_waits_llvm import after_recognizer, recognized
from waiting_sequences import INSERTED, RDNA4, answers, blocks, lines_of, loads, repaired_by_llvm, sampled, with_lines

RECORDED = Path(__file__).parent / "data" / "llvm" / "waiting_sequences.tsv.gz"
WAIT = "s_waitcnt_depctr depctr_va_vdst(0)"
EXP, WMMA = "v_exp_f32 v3, v60", "v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]"
LOAD = "lds_direct_load"


def lint(lines, target="gfx1100"):
    return mmacalc.lint("\n".join(lines), target).of_kind("wait states")


# --- random sequences (waiting_sequences.py) ---


def signs_of(lines, target):
    """LLVM's signs, from what lint says to put before each line."""
    put: list[list[str]] = [[] for _ in lines]
    for one in lint(lines, target):
        put[one.line - 1] += one.nops
    assert all(set(each) <= {WAIT, "v_nop"} and len(set(each)) == len(each) for each in put)
    return "".join({(0, 0): ".", (1, 0): "w", (0, 1): "n", (1, 1): "b"}[WAIT in each, "v_nop" in each] for each in put)


def load_as_llvm_says(lines, sign, target):
    """Whether a load with LLVM's wait_vdst is fine, and one with the next greater is too early."""
    load, most = lines[-1].rpartition(":")[0], int(sign, 16)
    fine = not lint([*lines[:-1], f"{load}:{most}"], target)
    found = lint([*lines[:-1], f"{load}:{most + 1}"], target) if most < 15 else ()
    return fine and (most == 15 or [one.line for one in found] == [len(lines)])


def differences(rows):
    for target, _, lines, signs in rows:
        if "direct_load" in lines[-1] and "v70" not in lines[-1]:
            if not load_as_llvm_says(lines, signs[-1], target):
                yield target, lines, signs
        else:
            theirs = "".join("." if line.startswith(LOAD) else sign for line, sign in zip(lines, signs))
            if (ours := signs_of(lines, target)) != theirs:
                yield target, lines, theirs, ours


@samples.sampled("step", [12, 5, 1], 1, whole=1)
def test_lint_puts_what_llvm_puts_into_recorded_random_sequences(step):
    with gzip.open(RECORDED, "rt") as file:
        rows = [(row[0], int(row[1]), row[2].split("; "), row[3]) for row in csv.reader(file, delimiter="\t")]
    assert len(rows) == 4800
    wrong = list(differences(rows[::step]))
    assert not wrong, (len(wrong), wrong[:3])


def test_lint_puts_what_llvm_puts_into_new_random_sequences():
    wrong = list(differences(sampled(2, 12)))
    assert not wrong, (len(wrong), wrong[:3])


@pytest.mark.parametrize("target", RDNA4)
def test_loads_of_rdna4_wait_as_long_as_llvm_lets_them(target):
    chance = random.Random(target)
    made = [loads(chance, target, 32) for _ in range(60)]
    wrong = list(differences([(target, 32, lines, signs) for lines, signs in zip(made, answers(target, 32, made))]))
    assert not wrong, (len(wrong), wrong[:3])


# --- the rule of transcendental results, exhaustively ---

MIDDLE = {
    "V": "v_mov_b32 v40, v41", "T": "v_rcp_f32 v42, v43", "S": "s_mov_b32 s8, 0",
    "M": "v_wmma_f32_16x16x16_f16 v[48:55], v[0:7], v[8:15], v[48:55]",
}  # fmt: skip
BETWEEN = ["".join(kinds) for count in range(5) for kinds in product("VTMS", repeat=count)]
BETWEEN += ["".join(kinds) for count in (5, 6, 7) for kinds in product("VT", repeat=count)]


@samples.sampled(("target", "wave"), [("gfx1100", 32), ("gfx1103", 64), ("gfx1153", 32)], 1)
def test_a_transcendental_result_is_waited_for_as_llvm_does(target, wave):
    """On gfx1100 to gfx1103 up to five VALU instructions between are too few, unless two of them are transcendental."""
    reads = (3, 9, 20)  # in A, B and C
    rows = [[EXP.replace("v3", f"v{reads[len(kinds) % 3]}"), *map(MIDDLE.get, kinds), WMMA] for kinds in BETWEEN]
    if wave == 64:  # C and D have half the registers
        rows = [[one.replace("16:23", "17:20").replace("48:55", "48:51") for one in row] for row in rows]
    theirs = answers(target, wave, rows)
    assert [signs_of(row, target) for row in rows] == theirs
    waits = {kinds for kinds, signs in zip(BETWEEN, theirs) if "M" not in kinds and signs.endswith(("w", "b"))}
    expected = {k for k in BETWEEN if "M" not in k and k.count("V") + k.count("T") <= 5 and k.count("T") <= 1}
    assert waits == (expected if target != "gfx1153" else set())


READS = {  # what may read v0, as assembly and as machine IR
    "v_mov_b32 v1, v0 quad_perm:[0,1,2,3]": "$vgpr1 = V_MOV_B32_dpp undef $vgpr1, $vgpr0, 228, 15, 15, 0{}",
    "v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3]": "$vgpr0 = V_MOV_B32_dpp undef $vgpr0, $vgpr1, 228, 15, 15, 0{}",
    "v_mov_b32 v0, v1 dpp8:[1,0,0,0,0,0,0,0]": "$vgpr0 = V_MOV_B32_dpp8_gfx11 undef $vgpr0, $vgpr1, 1, 0{}",
    "v_mov_b32 v0, v1": "$vgpr0 = V_MOV_B32_e32 $vgpr1{}",
    "v_fma_mixlo_f16 v0, v1, v2, v3": "$vgpr0 = V_FMA_MIXLO_F16 0, $vgpr1, 0, $vgpr2, 0, $vgpr3, 0, $vgpr0, 0, 0{}",
    "v_fma_mixhi_f16 v0, v1, v2, v3": "$vgpr0 = V_FMA_MIXHI_F16 0, $vgpr1, 0, $vgpr2, 0, $vgpr3, 0, $vgpr0, 0, 0{}",
    "v_writelane_b32 v0, s0, 3": "$vgpr0 = V_WRITELANE_B32 $sgpr0, 3, $vgpr0",
    "v_readlane_b32 s0, v0, 3": "$sgpr0 = V_READLANE_B32 $vgpr0, 3",
    "v_permlane16_b32 v0, v1, s0, s1": "$vgpr0 = V_PERMLANE16_B32_e64 0, $vgpr1, 0, $sgpr0, 0, $sgpr1, $vgpr0, 0{}",
    "v_permlane64_b32 v0, v1": "$vgpr0 = V_PERMLANE64_B32 $vgpr1{}",
    "v_swap_b32 v1, v0": "$vgpr1, $vgpr0 = V_SWAP_B32 $vgpr0, $vgpr1{}",
    "v_fmac_f32 v0, v1, v2": "$vgpr0 = V_FMAC_F32_e32 $vgpr1, $vgpr2, $vgpr0{}",
    "v_dot2acc_f32_f16 v0, v2, v3": "$vgpr0 = V_DOT2C_F32_F16_e32 $vgpr2, $vgpr3, $vgpr0{}",
    "ds_load_u8_d16 v0, v1": "$vgpr0 = DS_READ_U8_D16 $vgpr1, 0, 0, $vgpr0{}",
    "v_fma_f32 v0, v1, v2, v3": "$vgpr0 = V_FMA_F32_e64 0, $vgpr1, 0, $vgpr2, 0, $vgpr3, 0, 0{}",
    "v_pk_add_f16 v1, v2, v0": "$vgpr1 = V_PK_ADD_F16 8, $vgpr2, 8, $vgpr0, 0, 0, 0, 0, 0{}",
    "v_dot2_f32_f16 v1, v2, v3, v0": "$vgpr1 = V_DOT2_F32_F16 8, $vgpr2, 8, $vgpr3, 8, $vgpr0, 0, 0, 0, 0, 0{}",
    "v_exp_f16 v1.l, v0.l": "$vgpr1_lo16 = V_EXP_F16_t16_e64 0, $vgpr0_lo16, 0, 0, 0{}",
    "v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v4, v0": "$vgpr1, $vgpr4 = "
    "V_DUAL_MOV_B32_e32_X_MOV_B32_e32_gfx11 $vgpr2, $vgpr0, implicit $exec{}",
    "global_load_b32 v1, v[0:1], off": "$vgpr1 = GLOBAL_LOAD_DWORD $vgpr0_vgpr1, 0, 0{}",
}  # fmt: skip
# What writes v0, and whether the transcendental unit does it.
WRITES = {
    "v_exp_f32 v0, v9": "V_EXP_F32_e32 $vgpr9", "v_log_f32 v0, v9": "V_LOG_F32_e32 $vgpr9",
    "v_rcp_f32 v0, v9": "V_RCP_F32_e32 $vgpr9", "v_rcp_iflag_f32 v0, v9": "V_RCP_IFLAG_F32_e32 $vgpr9",
    "v_rsq_f32 v0, v9": "V_RSQ_F32_e32 $vgpr9", "v_sqrt_f32 v0, v9": "V_SQRT_F32_e32 $vgpr9",
    "v_sin_f32 v0, v9": "V_SIN_F32_e32 $vgpr9", "v_cos_f32 v0, v9": "V_COS_F32_e32 $vgpr9",
    "v_exp_f16 v0, v9": "V_EXP_F16_fake16_e32 $vgpr9", "v_frexp_exp_i32_f32 v0, v9": "V_FREXP_EXP_I32_F32_e32 $vgpr9",
    "v_floor_f32 v0, v9": "V_FLOOR_F32_e32 $vgpr9",
}  # fmt: skip


def test_what_writes_and_what_reads_a_transcendental_result_is_known_as_llvm_knows_it():
    end = ", implicit $mode, implicit $exec"
    written = [(one, f"$vgpr0 = {ir}{end}") for one, ir in WRITES.items()]
    pairs = [(written[0], (one, ir.format(end))) for one, ir in READS.items()]
    pairs += [(one, ("v_mov_b32 v5, v0", f"$vgpr5 = V_MOV_B32_e32 $vgpr0{end}")) for one in written]
    functions = [
        f"---\nname: f{number}\nbody: |\n  bb.0:\n    {one[1]}\n    {two[1]}\n    S_ENDPGM 0\n...\n"
        for number, (one, two) in enumerate(pairs)
    ]
    theirs = [INSERTED in body for body in after_recognizer("gfx1100", functions)]
    assert [bool(lint([one[0], two[0]])) for one, two in pairs] == theirs
    assert sum(theirs) == 15 + 9


# --- registers forwarded in wave64 ---


@pytest.mark.parametrize("target", ["gfx1100", "gfx1151"])
def test_what_is_written_around_a_write_of_exec_is_waited_for_as_llvm_does(target):
    """In wave64: at most two VALU instructions between the two writes, at most four before the WMMA."""
    numbers = list(product(range(5), range(5), range(7)))
    wmma = WMMA.replace("16:23", "16:19")
    rows = []
    for before, between, after in numbers:
        writes = [f"v_mov_b32 v{register}, v60" for register in ((3, 9), (9, 18), (18, 3))[after % 3]]
        spaces = [[MIDDLE["V"]] * count for count in (before, between, after)]
        rows.append([writes[0], *spaces[0], "s_mov_b64 exec, -1", *spaces[1], writes[1], *spaces[2], wmma])
    assert [signs_of(row, target) for row in rows] == answers(target, 64, rows)
    found = {number for number, row in zip(numbers, rows) if lint(row, target)}
    assert found == {(one, two, three) for one, two, three in numbers if one + two <= 2 and three <= 4}
    assert lint([row.replace("s_mov_b64 exec,", "s_mov_b32 exec_lo,") for row in rows[0]], target) == ()  # wave32
    assert lint(rows[0], "rdna4") == ()


EXEC_WRITES = (
    "s_mov_b64 exec, s[0:1]", "s_and_saveexec_b64 s[0:1], vcc", "s_or_b64 exec, exec, s[0:1]", "s_cmp_eq_u64 exec, 0",
    "s_and_not1_b64 exec, exec, s[0:1]", "s_and_not1_wrexec_b64 s[0:1], s[2:3]", "s_mov_b64 s[0:1], exec",
    "s_cselect_b64 exec, s[0:1], 0", "s_setpc_b64 s[0:1]", "v_cmpx_lt_f32_e32 v60, v61",
)  # fmt: skip


def test_scalar_instructions_that_write_exec_are_known():
    around = ["v_mov_b32 v3, v60", "v_mov_b32 v9, v60", WMMA.replace("16:23", "16:19")]
    found = [text for text in EXEC_WRITES if lint([around[0], text, *around[1:]])]
    assert found == [text for text in EXEC_WRITES if re.search(r"^s_\w+ exec,|exec_b64", text) and "cmp" not in text]
    [one] = lint([around[0], EXEC_WRITES[0], *around[1:]])
    words = "VALU writes v3, then EXEC is written, then VALU writes v9, then WMMA reads v[0:7] and v[8:15] in wave64"
    assert one.wait.rule == f"{words}: LLVM 22.1.8, fixVALUPartialForwardingHazard"
    assert (one.line, one.first_line, one.elapsed, one.missing, one.nops) == (4, 3, 0, 5, (WAIT,))


# --- listings with branches ---


def test_along_branches_lint_and_llvm_agree():
    """What LLVM puts into a listing is enough for lint, and what lint asks for is enough for LLVM."""
    chance, asked = random.Random(5), 0
    for target, wave in (("gfx1100", 32), ("gfx1102", 64), ("gfx1151", 64)):
        listings = [blocks(chance, target, wave) for _ in range(40)]
        for listing, repaired in zip(listings, repaired_by_llvm(target, wave, listings)):
            assert lint(lines_of(repaired), target) == (), lines_of(listing)
        mine = []
        for listing in listings:
            put = {}
            for one in lint(lines_of(listing), target):
                put.setdefault(one.line - 1, []).extend(one.nops)
                asked += 1
            mine.append(with_lines(listing, put))
        assert repaired_by_llvm(target, wave, mine) == mine
    assert asked > 50


COUNTERS = (
    "0xfff", "0xf9f", "0", "0x1fff", "0xffff", "65507", "0xe00", "4095 | 0x1000", "depctr_va_vdst(0)",
    "depctr_va_vdst(1)", "depctr_sa_sdst(0)", "depctr_va_vdst(0) depctr_sa_sdst(0)", "depctr_vm_vsrc(0)",
    "depctr_sa_sdst(0) & depctr_va_vdst(0)", "depctr_va_sdst(0), depctr_va_vdst(0)", "depctr_va_vdst( 1 - 1 )",
)  # fmt: skip


def test_s_waitcnt_depctr_is_read_in_every_spelling():
    """What each waits for is llc's answer for the number that llvm-mc makes of it."""
    codes = assembled([f"s_waitcnt_depctr {text}" for text in COUNTERS], "gfx1100")
    numbers = [int.from_bytes(code[1][:2], "little") for code in codes]
    listings = [[EXP, f"s_waitcnt_depctr {number}", WMMA] for number in numbers]
    bodies = recognized("gfx1100", [[listing[0], "s_mov_b32 s8, 0", listing[2]] for listing in listings])
    assert all(INSERTED in body for body in bodies)
    wanted = []
    for number, body in zip(numbers, recognized("gfx1100", listings)):
        wanted.append(sum("S_WAITCNT_DEPCTR" in one for one in body) == 2)
        assert f"S_WAITCNT_DEPCTR {number}" in body
    assert [bool(lint([EXP, f"s_waitcnt_depctr {text}", WMMA])) for text in COUNTERS] == wanted
    assert sum(wanted) == 7
    assert lint([EXP, ".set waits, 0xfff", "s_waitcnt_depctr waits", WMMA]) == ()
    assert lint([EXP, ".set waits, 0xffff", "s_waitcnt_depctr waits", WMMA])
    assert lint([EXP, "s_waitcnt_depctr nobody_knows", WMMA]) == ()


# --- what clang emits ---

KERNEL = """
typedef float f8 __attribute__((ext_vector_type(8))); typedef float f4 __attribute__((ext_vector_type(4)));
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
#define KERNEL extern "C" __attribute__((global)) void
#define I(x) __builtin_bit_cast(int, x)
#define F(x) __builtin_bit_cast(float, x)
#if WAVE == 64
typedef f4 fd;
#define MMA(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w64(a, b, c)
#else
typedef f8 fd;
#define MMA(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#endif
enum { N = sizeof(fd) / 4 };
__attribute__((device)) float row_max(float m) {
  m = __builtin_fmaxf(m, F(__builtin_amdgcn_update_dpp(I(m), I(m), 0x111, 0xf, 0xf, 0)));
  m = __builtin_fmaxf(m, F(__builtin_amdgcn_update_dpp(0, I(m), 0x128, 0xf, 0xf, 1)));
  return __builtin_fmaxf(m, F(__builtin_amdgcn_permlanex16(I(m), I(m), 0x76543210, 0xfedcba98, 0, 0)));
}
KERNEL attention(const h16* q, const h16* k, const h16* v, fd* out, int n) {
  int t = __builtin_amdgcn_workitem_id_x();
  h16 a = q[t];
  fd sum = {0};
  float l = 0, most = -1e30f;
  for (int j = 0; j < n; j++) {
    fd s = {0};
    s = MMA(a, k[j * 32 + t], s);
    float m = most;
    for (int i = 0; i < N; i++) m = __builtin_fmaxf(m, s[i]);
    m = row_max(m);
    float c = __builtin_amdgcn_exp2f(most - m);
    h16 p = {0};
    for (int i = 0; i < N; i++) {
      float e = __builtin_amdgcn_exp2f(s[i] - m);
      l = l * c + e;
      p[i] = (_Float16)e;
      p[i + 8] = (_Float16)(e * c);
    }
    most = row_max(c);
    sum *= c;
    sum = MMA(p, v[j * 32 + t], sum);
  }
  out[t] = sum * __builtin_amdgcn_rcpf(l);
}
KERNEL branches(const h16* q, fd* out, float* w, int n) {
  int t = __builtin_amdgcn_workitem_id_x();
  h16 a = q[t];
  fd sum = {0};
  float l = w[t];
  for (int j = 0; j < n; j++) {
    float e = __builtin_amdgcn_exp2f(l);
    if (l > 0.5f) a[3] = (_Float16)(e = __builtin_amdgcn_rcpf(e));
    else a[4] = __builtin_elementwise_sqrt((_Float16)__builtin_amdgcn_logf(e));
    a[5] = __builtin_elementwise_exp2(a[3]);
    double d = __builtin_amdgcn_rcp((double)e);
    sum = MMA(a, a, sum);
    l = (float)d + sum[1] + e;
    if (w[j] > l) sum[0] = __builtin_amdgcn_exp2f(l);
  }
  out[t] = sum;
}
KERNEL divergent(const h16* q, fd* out, float* w, int n) {
  int t = __builtin_amdgcn_workitem_id_x();
  h16 a = q[t];
  fd sum = {0};
  float l = w[t], m = w[t + 99];
  for (int j = 0; j < n; j++) {
    float x = l * m, y = m + 1.0f;
    if (x > 0.5f) y = x * 3.0f;
    l = x + y;
    if (l > m) m = l * 2.0f;
    else l = m + y;
    m = m * l + x;
    a[0] = (_Float16)l;
    a[1] = (_Float16)m;
    sum = MMA(a, a, sum);
    if (sum[0] > l) sum[1] = m + l;
    sum = MMA(a, a, sum);
  }
  out[t] = sum;
}
"""
NO_SELECTS = ["-mllvm", "-two-entry-phi-node-folding-threshold=0", "-mllvm", "-phi-node-folding-threshold=0"]


@samples.sampled(
    ("target", "optimised", "wave"), product(("gfx1100", "gfx1101", "gfx1151"), ("-O0", "-O2"), (32, 64)), 4
)
def test_a_softmax_of_clang_is_clean_and_no_wait_of_it_can_go(target, optimised, wave):
    size = "-mwavefrontsize64" if wave == 64 else "-mno-wavefrontsize64"
    lines = hip_listing(KERNEL, target, optimised, *NO_SELECTS, f"-DWAVE={wave}", size).splitlines()
    assert lint(lines, target) == ()
    waits = [at for at, line in enumerate(lines) if "depctr_va_vdst(0)" in line]
    assert len(waits) >= (2 if target != "gfx1151" else optimised == "-O2" and wave == 64)
    for at in waits if optimised == "-O2" else waits[:3]:
        assert lint([*lines[:at], "", *lines[at + 1 :]], target), lines[at - 8 : at + 2]
    without = lint(["" if at in waits else line for at, line in enumerate(lines)], target)
    assert [one.line for one in without if one.nops] == [
        next(after for after in range(at + 1, len(lines)) if re.match(r"\tv_", lines[after])) + 1 for at in waits
    ]


def test_a_kernel_that_runs_without_its_waits_has_findings(tmp_path):
    options = ["-O2", "-S", "-DWAVE=32"]
    text = compiled(KERNEL, "gfx1100", tmp_path / "softmax.s", None, options).read_text()
    without = re.sub(r"\ts_waitcnt_depctr .*\n", "", text)
    for listing, count in ((text, 0), (without, text.count("s_waitcnt_depctr", 0, text.index(".Lfunc_end0")))):
        kernel = assembled_kernels(listing, "gfx1100", tmp_path)["attention"]
        matrices = [np.ones((32, 16), np.float16) for _ in range(3)]
        found = mmacalc.launch(kernel, 1, 32, *matrices, np.zeros((32, 8), np.float32), 1).findings
        assert [one.kind for one in found] == ["wait states"] * len(found)
        assert bool(found) == bool(count)
        assert len(found) >= count
        assert all(one.other_text.startswith(("v_exp_f32", "v_rcp_f32")) for one in found)


# --- targets and the command line ---


def test_only_gfx1100_to_gfx1103_have_the_hazard_whatever_they_are_called():
    for name in ("rdna3", "gfx11-generic", "gfx1102", "RX 7900 XTX", "amdgcn-amd-amdhsa--gfx1103"):
        assert mmacalc.wait_states(EXP, WMMA, name).nops == (WAIT,)
        assert [one.nops for one in lint([EXP, WMMA], name)] == [(WAIT,)]
    for name in ("gfx1150", "strix halo", "gfx1152", "gfx1154", "890M"):
        assert int(mmacalc.wait_states(EXP, WMMA, name)) == 0
        assert lint([EXP, WMMA], name) == ()
    wmma = "v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[8:11], v[16:23]"
    assert int(mmacalc.wait_states(EXP, wmma, "rdna4")) == 0
    listing = '.amdgcn_target "amdgcn-amd-amdhsa--{}"\n' + f"{EXP}\n{WMMA}\n"
    assert len(mmacalc.lint(listing.format("gfx1100")).findings) == 1
    assert mmacalc.lint(listing.format("gfx1151")).findings == ()


def test_waits_and_lint_say_what_to_insert_and_what_else_ends_the_hazard(tmp_path):
    found = answer(["waits", "-a", "gfx1100", EXP, WMMA])
    assert found.out.startswith(f"6 VALU wait states, or {WAIT}\n  TRANS writes v3, then WMMA reads v[0:7]")
    assert "also ended by s_waitcnt_depctr with va_vdst(0), by an access to memory or LDS, by an export" in found.out
    data = json.loads(answer(["waits", "-a", "gfx1100", EXP, WMMA, "--json"]).out)
    assert (data["states"], data["nops"], data["llvm"]) == (6, [WAIT], 6)
    assert "by two transcendental instructions" in data["ended_by"]
    listing = tmp_path / "kernel.s"
    listing.write_text(f"{EXP}\nv_mov_b32 v40, v41\n{WMMA}\n")
    found = answer(["lint", "-a", "gfx1100", str(listing)])
    assert found.status == 1
    assert f"{listing}:3:1: {WMMA}" in found.out
    assert f"needs 6 or a wait, has 1: put {WAIT} before it" in found.out
    listing.write_text(f"{EXP}\n{WAIT}\n{WMMA}\n")
    assert answer(["lint", "-a", "gfx1100", str(listing)])[::2] == (0, "")


def test_a_load_of_lds_direct_waits_for_the_wmma_before_it():
    for register in (16, 3, 9):  # of D, A and B
        load = f"{LOAD} v{register} wait_vdst:"
        assert mmacalc.wait_states(WMMA, f"{load}4", "gfx1151").states == 4
        assert lint([WMMA, *["v_nop"] * 3, f"{load}3"]) == ()
        [one] = lint([WMMA, *["v_nop"] * 3, f"{load}5"])
        assert (one.line, one.elapsed, one.missing, one.nops) == (5, 3, 2, (WAIT,))
    assert lint([WMMA, "v_exp_f32 v80, v81", f"{LOAD} v16 wait_vdst:1"])
    for between in range(1, 17):  # with a transcendental instruction among them: until 15 VALU instructions have run
        lines = [WMMA, *["v_nop"] * (between - 1), "v_exp_f32 v80, v81", f"{LOAD} v16 wait_vdst:1"]
        assert bool(lint(lines)) == (between < 15), between
        if between < 15:
            assert answers("gfx1151", 32, [[*lines[:-1], f"{LOAD} v16 wait_vdst:15"]])[0].endswith("0")
    assert lint([WMMA, WAIT, f"{LOAD} v16 wait_vdst:15"]) == ()
    wmma = "v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[8:11], v[16:23]"
    [one] = lint([wmma, "ds_direct_load v16 wait_va_vdst:3 wait_vm_vsrc:1"], "gfx1200")
    assert (one.missing, one.nops) == (3, ("s_wait_alu depctr_va_vdst(0)",))
