"""Wait states and lint: the ISA guide's table, the record, listings of every style, and the command line."""

from __future__ import annotations

import contextlib
import json
import random
import re
import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmacalc
from mmacalc import lint as report_of
from mmacalc.asm.decoder import decode
from mmacalc.asm.reader import read_line, read_listing, vector_registers
from mmacalc.cli import answer
from mmacalc.hazards.lint import missing_states, waits
from mmacalc.hazards.recognizer import DEPENDENCIES, HazardRecognizer, recognizer_for
from mmacalc.hazards.register_use import entry_of, register_use
from mmacalc.hazards.tables import RULES, TABLES


def lint(text, arch):
    """The findings alone, but those about waits for memory."""
    return tuple(one for one in report_of(text, arch).findings if one.kind != "wait")


# An instruction of gfx942 and gfx950 of each class and length, D in v[0:...], inputs apart from it.
FIRST = {
    ("XDL", 2): "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[64:65], v[68:69], v[72:75]",
    ("XDL", 4): "v_mfma_f32_16x16x16_f16 v[0:3], v[64:65], v[68:69], v[72:75]",
    ("XDL", 8): "v_mfma_f32_32x32x8_f16 v[0:15], v[64:65], v[68:69], v[80:95]",
    ("XDL", 16): "v_mfma_f32_32x32x4_2b_bf16 v[0:31], v[64:65], v[68:69], v[96:127]",
    ("SGEMM", 2): "v_mfma_f32_4x4x1_16b_f32 v[0:3], v64, v68, v[72:75]",
    ("SGEMM", 8): "v_mfma_f32_16x16x4_f32 v[0:3], v64, v68, v[72:75]",
    ("SGEMM", 16): "v_mfma_f32_32x32x2_f32 v[0:15], v64, v68, v[80:95]",
    ("DGEMM", 16): "v_mfma_f64_16x16x4_f64 v[0:7], v[64:65], v[68:69], v[72:79]",
    ("DGEMM", 4): "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[64:65], v[68:69], v[72:73]",
}
# What comes second, touching v[0:...] as the key says. C: overlapping, by XDL, SGEMM or DGEMM.
SECOND = {
    "xC": "v_mfma_f32_16x16x16_f16 v[140:143], v[130:131], v[132:133], v[1:4]",
    "sC": "v_mfma_f32_16x16x1_4b_f32 v[140:155], v130, v131, v[1:16]",
    "dC": "v_mfma_f64_16x16x4_f64 v[140:147], v[130:131], v[132:133], v[1:8]",
    "A": "v_mfma_f32_16x16x16_f16 v[140:143], v[0:1], v[132:133], v[136:139]",
    "B": "v_mfma_f64_4x4x4_4b_f64 v[140:141], v[130:131], v[0:1], v[136:137]",
    "index": "v_smfmac_f32_16x16x32_f16 v[140:143], v[130:131], v[132:135], v1",
    "read": "v_add_f32 v200, v1, v201",
    "write": "v_mov_b32 v1, 0",
    "store": "global_store_dword v[200:201], v1, off",
    "lds": "ds_write_b32 v200, v1",
    "export": "exp mrt0 v1, v200, v200, v200",
}
# CDNA4 ISA guide, Table 38, copied a second time, by hand: class -> states by length, for what comes second. "same" is
# the instruction itself, whose C is exactly the first's D. CDNA3's has no extra state after XDL of 4 passes and more,
# and fewer after a 16x16x4 f64.
TABLE_38 = {
    "XDL": {"same": (2, 0, 0, 0), "xC": (4, 6, 10, 18), "sC dC": (3, 6, 10, 18),
            "A B index read write store lds export": (5, 8, 12, 20)},
    "SGEMM": {"same": (2, 0, 0, 0), "xC": (0, 0, 0, 0), "sC dC": (2, 4, 8, 16),
              "A B index read write store lds export": (4, 6, 10, 18)},
    "DGEMM": {"same": (None, 4, None, 0), "xC": (None, 0, None, 0), "sC dC": (None, 4, None, 17),
              "A B index read write": (None, 6, None, 19), "store lds export": (None, 9, None, 18)},
}  # fmt: skip
TABLE_CDNA3 = {
    "XDL": {"same": (2, 0, 0, 0), "xC sC dC": (3, 5, 9, 17), "A B index read write store lds export": (5, 7, 11, 19)},
    "SGEMM": TABLE_38["SGEMM"],
    "DGEMM": {"same": (None, 4, None, 0), "xC": (None, 0, None, 0), "sC dC": (None, 4, None, 9),
              "A B index read write": (None, 6, None, 11), "store lds export": (None, 9, None, 18)},
}  # fmt: skip


@pytest.mark.parametrize(("arch", "table"), [("gfx950", TABLE_38), ("gfx942", TABLE_CDNA3)])
def test_every_row_of_the_guides_table_is_its_answer(arch, table):
    for (kind, passes), first in FIRST.items():
        for names, numbers in table[kind].items():
            for name in names.split():
                *rest, _ = first.split(", ")
                same = ", ".join([*rest, rest[0].split()[1]])  # C is D
                wait = mmacalc.wait_states(first, same if name == "same" else SECOND[name], arch)
                guide = wait.sources[1]
                assert guide.states == numbers[(2, 4, 8, 16).index(passes)], (first, name, wait)
                assert guide.place.startswith("CDNA4 ISA guide, Table 38" if arch == "gfx950" else "CDNA3 ISA guide")
                assert wait.states >= wait.llvm == wait.sources[0].states


@pytest.mark.parametrize("arch", ["gfx950", "gfx942"])
@pytest.mark.parametrize(
    ("first", "second", "states"),
    [
        ("v_mov_b32 v64, v1", FIRST["XDL", 8], 2),
        ("v_cmpx_eq_u32_e32 v240, v241", FIRST["XDL", 8], 4),
        ("v_dot4_i32_i8 v64, v1, v2, v3", "v_dot4_i32_i8 v5, v6, v7, v64", 0),
        ("v_dot4_i32_i8 v64, v1, v2, v3", "v_dot4_i32_i8 v5, v64, v7, v8", 3),
        ("v_dot4_i32_i8 v64, v1, v2, v3", "v_dot8_i32_i4 v5, v6, v7, v64", 3),
        ("v_dot4_i32_i8 v64, v1, v2, v3", "v_mov_b32 v5, v64", 3),
        ("v_dot4_i32_i8 v64, v1, v2, v3", "v_mov_b32 v64, v5", 3),
        ("v_dot4_i32_i8 v64, v1, v2, v3", FIRST["XDL", 8], 3),
        ("v_dot4_i32_i8 v64, v1, v2, v3", "global_store_dword v[200:201], v64, off", 3),
        ("v_dot4_i32_i8 v64, v1, v2, v3", "global_load_dword v64, v[200:201], off", 3),
        ("v_dot4_i32_i8 v64, v1, v2, v3", "exp mrt0 v64, v200, v200, v200", 3),
    ],
)
def test_the_guides_rows_of_other_instructions_are_their_answer(arch, first, second, states):
    assert mmacalc.wait_states(first, second, arch).sources[1].states == states


@pytest.mark.parametrize(
    ("first", "second", "llvm", "guide"),
    [
        # "Exactly the same" takes as many passes too: 4 passes, then 2.
        (FIRST["XDL", 4], "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[64:65], v[68:69], v[0:3]", 0, 6),
        (FIRST["XDL", 4], "v_mfma_f32_16x16x16_f16 v[0:3], v[64:65], v[68:69], v[0:3]", 0, 0),
        (FIRST["XDL", 2], "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[64:65], v[68:69], v[0:3]", 2, 2),
        (FIRST["XDL", 4], "v_mfma_f32_16x16x4_f32 v[0:3], v64, v68, v[0:3]", 0, 6),
        (FIRST["SGEMM", 2], "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[64:65], v[68:69], v[0:3]", 2, 0),
        (FIRST["SGEMM", 8], "v_mfma_f32_16x16x16_f16 v[2:5], v[64:65], v[68:69], v[2:5]", 0, 0),
        (FIRST["DGEMM", 16], "v_mov_b32 v7, 0", 11, 19),
        ("v_dot4_i32_i8 v64, v1, v2, v3", FIRST["SGEMM", 8], 0, 3),
        # The guide at hand has no row of a write after a read.
        (FIRST["XDL", 16], "v_mov_b32 v96, 0", 15, 0),
    ],
)
def test_where_llvm_and_the_guide_differ_both_are_kept_and_the_larger_counts(first, second, llvm, guide):
    wait = mmacalc.wait_states(first, second, "gfx950")
    assert (wait.llvm, wait.guide, wait.states) == (llvm, guide, max(llvm, guide))
    assert int(wait) == wait.states == len(range(wait))


def test_the_length_of_f8f6f4_follows_its_formats():
    def states(formats: str, registers: str) -> int:
        first = f"v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[64:{registers}], v[80:87], v[0:15]{formats}"
        return mmacalc.wait_states(first, "v_mov_b32 v200, v1", "gfx950").states

    assert states("", "71") == states(" cbsz:1 blgp:4", "71") == states(" cbsz:4", "67") == 20
    assert states(" cbsz:2 blgp:4", "69") == 12


def test_the_largest_of_several_dependencies_is_named():
    first = FIRST["XDL", 8]
    wait = mmacalc.wait_states(first, "v_mfma_f32_32x32x16_f16 v[0:15], v[64:67], v[0:3], v[0:15]", "gfx950")
    assert wait.states == 12
    assert "as A, B" in wait.rule
    assert wait.registers == "v[0:3]"


def test_accumulation_registers_are_not_vgprs_of_the_same_number():
    first = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"
    assert mmacalc.wait_states(first, "v_mov_b32 v4, v5", "gfx942").states == 0
    assert mmacalc.wait_states(first, "v_accvgpr_read_b32 v4, a5", "gfx942").states == 11
    assert mmacalc.wait_states(first, "global_store_dwordx4 v[20:21], a[12:15], off", "gfx942").states == 11


def test_case_aliases_and_suffixes_make_no_difference():
    plain = mmacalc.wait_states(
        "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]", "v_mov_b32 v20, v0", "gfx942"
    )
    other = mmacalc.wait_states(
        "  V_MFMA_F32_32X32X8F16 V[0:15], v[16 : 17], v[18:19], v[0:15] // x", "V_MOV_B32_e32 v20, v0", "MI300X"
    )
    assert plain == other


def test_only_valu_instructions_fill_the_wait_states_of_wmma():
    first, second = "v_wmma_i32_16x16x64_iu8 v[0:7], v[8:15], v[16:23], v[0:7]", "v_mov_b32 v30, v0"
    wait = mmacalc.wait_states(first, second, "gfx1250")
    assert (wait.states, wait.unit, wait.guide, wait.nops) == (8, "v_nop", None, ("v_nop",) * 8)
    filler = ["s_nop 7"] * 3 + ["v_add_f32 v40, v41, v42"] * 3 + ["s_mov_b32 s0, 0"]
    [found] = lint("\n".join([first, *filler, second]), "gfx1250")
    assert (found.elapsed, found.missing, found.nops) == (3, 5, ("v_nop",) * 5)


def test_a_scale_prefix_only_reads():
    prefix = "v_mfma_ld_scale_b32 v20, v21"
    assert mmacalc.wait_states("v_mov_b32 v20, 0", prefix, "gfx950").states == 2
    assert mmacalc.wait_states(prefix, "v_mov_b32 v20, 0", "gfx950").states == 0
    assert [(one.line, one.missing) for one in lint(f"v_mov_b32 v20, 0\n{prefix}\nv_mov_b32 v20, 0", "gfx950")] == [
        (2, 2)
    ]


def test_the_64_bit_wmma_of_gfx1251_waits_as_llvm_24_does():
    first = "v_wmma_f64_16x16x4_f64 v[0:15], v[16:19], v[20:23], v[0:15]"
    assert mmacalc.wait_states(first, "v_mov_b32 v40, v0", "gfx1251").states == 0
    second = first.replace("v[16:19]", "v[0:3]").replace("v[0:15]", "v[64:79]")
    assert mmacalc.wait_states(first, second, "gfx1251").states == 1


# Table 11 of the guides, section 4.5, where LLVM has no rule: first, second, states.
TABLE_11 = [
    ("s_setvskip 1, 0", "s_getreg_b32 s0, hwreg(HW_REG_MODE)", 2),
    ("s_setvskip 1, 0", "s_getreg_b32 s0, hwreg(HW_REG_STATUS)", 0),
    ("s_setvskip 1, 0", "v_mov_b32 v0, v1", 0),
    *(
        (f"s_setreg_imm32_b32 {field}, 1", second, states)
        for field, states in (
            ("hwreg(HW_REG_MODE, 28, 1)", 2), ("hwreg(HW_REG_MODE)", 2), ("0xf801", 2), ("hwreg(1, 29, 3)", 0),
            ("hwreg(HW_REG_MODE, 0, 28)", 0), ("hwreg(HW_REG_STATUS)", 0), ("hwreg(HW_REG_MODE, 20, 9)", 2),
        )
        for second in (
            "v_mov_b32 v0, v1", "ds_read_b32 v0, v1", "global_store_dword v[0:1], v2, off",
            "v_mfma_f32_4x4x4f16 a[0:3], v[2:3], v[4:5], a[0:3]",
        )
    ),
    ("v_cmp_eq_u32_e32 vcc, v0, v1", "v_mov_b32 v2, src_vccz", 5),
    ("v_add_co_u32_e32 v0, vcc, v1, v2", "v_mov_b32 v2, src_vccz", 5),
    ("v_cmp_eq_u32_e64 s[0:1], v0, v1", "v_mov_b32 v2, src_vccz", 0),
    ("v_cmp_eq_u32_e32 vcc, v0, v1", "v_mov_b32 v2, src_execz", 0),
    ("v_cmpx_eq_u32_e64 s[0:1], v0, v1", "v_mov_b32 v2, src_execz", 5),
    ("s_mov_b64 vcc, s[0:1]", "v_mov_b32 v2, src_vccz", 0),
]  # fmt: skip


@pytest.mark.parametrize("target", ["gfx908", "gfx90a", "gfx942", "gfx950"])
def test_what_only_the_isa_guides_have_is_asked_for_of_lines_and_of_code(target):
    for first, second, states in TABLE_11:
        if target != "gfx908" and "a[0:3]" in second:
            second = second.replace("4x4x4f16", "4x4x4_16b_f16") if target != "gfx90a" else second
        wait = mmacalc.wait_states(first, second, target)
        assert (wait.states, wait.llvm) == (states, 0), (first, second)
        assert "Table 11" in wait.rule or not states
        assert wait.guide == states or not states
        assert lines_of(f"{first}\n{second}", target) == ([(2, states)] if states else [])
        code = mmacalc.assemble(f"{first}\n{second}", target)
        assert [one.missing for one in missing_states(list(decode(code, target)), target)] == [states] * bool(states)
    constant = mmacalc.wait_states("v_cmpx_eq_u32_e64 s[0:1], v0, v1", "v_mov_b32 v2, exec_lo", target)
    assert constant.states == (2 if target in ("gfx942", "gfx950") else 0)


def test_clauses_of_loads_are_named_as_unchecked_where_the_target_may_issue_them_again():
    load = "global_load_dwordx2 v[0:1], v[0:1], off\n"
    for text, arch, named in (
        (load, "gfx90a:xnack+", True), (load, "gfx90a:sramecc+:xnack+", True), (load, "gfx90a:xnack-", False),
        (load, "gfx90a", False), (f'.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:xnack+"\n{load}', None, True),
    ):  # fmt: skip
        assert any("XNACK" in clause for clause in report_of(text, arch).unchecked) is named


def test_every_row_is_well_formed():
    for name in RULES:
        assert HazardRecognizer(name).longest <= 20
    for table in TABLES.values():
        for row in table.rows:
            assert row[2] in DEPENDENCIES
            assert not isinstance(row[3], tuple) or len(row[3]) == len(table.lengths)


@pytest.mark.parametrize(
    ("first", "second", "arch", "words"),
    [
        ("hello", "v_mov_b32 v0, v1", "gfx942", "'hello'"),
        ("", "v_mov_b32 v0, v1", "gfx942", "no instruction"),
        ("v_mov_b32 v0, v1\ns_nop 0", "s_nop 0", "gfx942", "2 instructions"),
        ("v_mfma_f32_32x32x8_f61 v[0:15], v[16:17], v[18:19], v[0:15]", "s_nop 0", "gfx942", "Did you mean"),
        ("v_mfma_f32_32x32x8_f16 v[0:15], v[16:17]", "s_nop 0", "gfx942", "takes D, A, B and C"),
        ("v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], v[0:15] cbsz:7", "s_nop 0", "gfx950", "'7' is not"),
        ("s_nop 0", "s_nop 0", "gfx9000", "unknown architecture"),
        ("v_mov_b32 v[\u00b2:3], v1", "s_nop 0", "gfx942", "not ASCII"),
        ("v_mov_b32 v[x], v1", "s_nop 0", "gfx942", "'v[x]' in 'v_mov_b32 v[x], v1' is not a vector register"),
        (f"v_mov_b32 v{'9' * 5000}, v0", "s_nop 0", "gfx942", "the last are v1023, a255"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(first, second, arch, words):
    with pytest.raises(mmacalc.Error, match=re.escape(words)):
        mmacalc.wait_states(first, second, arch)


@given(st.text(alphabet="vas[]0123456789:, .;/#*_mfmaf32x\t\n=+()", max_size=80))
def test_no_text_breaks_the_reader(text):
    for statement in read_listing(text).statements:
        for operand in statement.operands:
            vector_registers(operand)
    with contextlib.suppress(mmacalc.Error):
        lint(text, "gfx942")


# --- lint ---

MFMA = "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]"
READ = "v_mov_b32 v20, v0"


def lines_of(text, arch="gfx942"):
    return [(one.line, one.missing) for one in lint(text, arch)]


@pytest.mark.parametrize(
    "filler",
    [
        "s_nop 10", "s_nop 0xa", "s_nop 4\ns_nop 5", "s_nop 7 ; comment\n\n// s_nop 0\n# more\ns_nop 2",
        "v_mov_b32 v40, v41\n" * 11, "label: s_nop 8\nother:\n  s_waitcnt vmcnt(0)\n\ts_barrier",
        "/* s_nop 0\n two lines */ s_nop 10", ".p2align 2\ns_nop 9\n.loc 1 2 3\n s_setprio 1",
    ],
)  # fmt: skip
def test_a_clean_listing_has_no_findings(filler):
    assert lines_of(f"{MFMA}\n{filler}\n{READ}") == []
    assert lines_of(f"{MFMA}\n{READ}") == [(2, 11)]


def test_a_finding_has_its_line_the_rule_and_what_mends_it_and_mends_what_follows():
    text = f"kernel:\n\t{MFMA} // why\n\ts_nop 3 ; wait\n\t{READ}\n\tv_mov_b32 v21, v1\n\tv_mov_b32 v22, v2\n"
    found = lint(text, "gfx942")
    assert [(one.line, one.first_line, one.elapsed, one.missing, one.nops) for one in found] == [
        (4, 2, 4, 7, ("s_nop 6",)), (5, 2, 5, 6, ()), (6, 2, 6, 5, ()),
    ]  # fmt: skip
    assert found[0].wait.states == 11
    mended = text.replace(f"\t{READ}", f"\t{found[0].nops[0]}\n\t{READ}")
    assert lint(mended, "gfx942") == ()


def test_the_last_of_20_states_counts_though_llvm_overlooks_it():
    first, second = FIRST["XDL", 16], "global_store_dword v[200:201], v1, off"
    for states, missing in ((18, [(20, 2)]), (19, [(21, 1)]), (20, [])):
        assert lines_of("\n".join([first, *["s_mov_b32 s8, 0"] * states, second]), "gfx950") == missing


def test_sources_and_exec_are_watched_too():
    assert lines_of(f"v_mov_b32 v17, 0\n{MFMA}") == [(2, 2)]
    assert lines_of(f"v_cmpx_eq_u32_e32 v30, v31\ns_nop 1\n{MFMA}") == [(3, 2)]
    assert lines_of(f"{MFMA}\ns_nop 0\nglobal_load_dword v3, v[30:31], off") == [(3, 10)]
    assert lines_of("v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[40:55]\nv_mov_b32 v55, 0") == [(2, 7)]


def test_every_path_is_followed():
    loop = f"s_nop 15\nhead:\nv_mov_b32 v20, v0\ns_nop 15\n{MFMA}\ns_cbranch_scc1 head\ns_endpgm"
    assert lines_of(loop) == [(3, 10)]
    skipped = f"{MFMA}\ns_cbranch_vccnz far\ns_nop 15\nfar:\n{READ}"
    assert lines_of(skipped) == [(5, 10)]
    never = f"{MFMA}\ns_branch far\n{READ}\nfar:\ns_nop 15\n{READ}"
    assert lines_of(never) == []
    ended = f"{MFMA}\ns_endpgm\nnext_kernel:\n{READ}"
    assert lines_of(ended) == []
    local = f"1:\n{READ}\ns_nop 15\n{MFMA}\ns_cbranch_scc0 1b"
    assert lines_of(local) == [(2, 10)]


def test_symbols_macros_metadata_and_duals_are_read():
    tensile = f".set vgprC, 0\nvgprOut = vgprC+40\n{MFMA}\nv_mov_b32 v[vgprOut+1], v[vgprC+2*3]"
    assert lines_of(tensile) == [(4, 11)]
    assert lines_of(f"{MFMA}\n.macro NEVER\n{READ}\n.endm\ns_nop 15\n{READ}") == []
    metadata = f"{MFMA}\n.amdgpu_metadata\n---\namdhsa.kernels:\n  - .args: [v0]\n{READ}\n.end_amdgpu_metadata\n"
    assert lines_of(metadata) == []
    dual = (
        "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[0:7]\nv_dual_mov_b32 v30, v31 :: v_dual_mov_b32 v33, v4"
    )
    assert lines_of(dual, "gfx1250") == [(2, 4)]
    high = "v_wmma_f32_16x16x32_f16 v[0:7] /*v[256:263]*/, v[8:15], v[16:23], v[0:7]\nv_mov_b32 v30, v0"
    assert lines_of(high, "gfx1250") == []


def test_a_disassembly_with_addresses_is_followed_through_its_branches():
    text = """
kernel.o:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001900 <kernel>:
	v_mov_b32_e32 v20, v0                                      // 000000001900: 7E280300
	s_nop 15                                                   // 000000001904: BF80000F
	v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]// 000000001908: D3CC8000 04022510
	s_cbranch_scc1 65531                                       // 000000001910: BF85FFFB <kernel+0x0>
	s_endpgm                                                   // 000000001914: BF810000
"""
    assert lines_of(text) == [(7, 10)]


def test_a_symbol_has_the_value_that_it_has_where_it_stands():
    again = f".set base, 100\nv_mov_b32 v200, v[base]\n.set base, 0\n{MFMA}\nv_mov_b32 v200, v[base]"
    assert lines_of(again) == [(5, 11)]
    assert lines_of(f".set base, 0\n{MFMA}\n.set base, nobody_knows\nv_mov_b32 v200, v[base]") == []
    assert lines_of(f"n = 9\n{MFMA}\ns_nop n\n{READ}") == [(4, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "v_mov_b32 v[\u00b2:3], v1", ".set x, \u00b20", "s_branch \u00b2 // 000000001900: BF820000", "v[0:1<<20000]",
        f"v_mov_b32 v{'9' * 5000}, v0", ".set x, 3\n" + ".set x, x*x\n" * 40, ".set x, 1<<30000000000",
        "/*" * 100_000, f"x {'v[' * 100_000}", f"v_mov_b32 {' ' * 100_000}v0 [", f".set x, {'(' * 5000}1",
        "v_mov_b32 v[1if]", "s_nop 1<<64", "s_nop", "::", "a::b", "x: y: z:", '.asciz "/*"', "; /*", "// /*", "#/*",
    ],
)  # fmt: skip
def test_no_text_is_too_much_for_the_reader(text):
    assert lines_of(f"{MFMA}\n{READ}\n{text}\n")[0] == (2, 11)
    if not text.startswith("/*"):  # a comment without an end swallows the rest
        assert lines_of(f"{text}\n{MFMA}\n{READ}\n")[-1] == (text.count("\n") + 3, 11)


def test_of_an_unknown_mnemonic_it_is_said_that_it_is_unknown_and_no_hazard():
    for line in ("v_brand_new_b32 v30, v0", "v_brand_new_b32_dpp v0, v1 quad_perm:[0,1,2,3]", "ds_new_b32 v30, v0"):
        load = "global_load_dword v30, v[2:3], off"
        listing = f"{MFMA}\nv_cmpx_eq_u32_e32 vcc, v40, v41\n{line}\ns_nop 15\n{load}\n{line}\n{MFMA}"
        first, second = report_of(listing, "gfx942").findings
        assert [(one.line, one.kind) for one in (first, second)] == [(3, "invalid"), (6, "invalid")]
        assert f"unknown instruction '{line.split()[0]}'" in first.message
        with pytest.raises(mmacalc.Error, match=f"unknown AMD instruction '{line.split()[0]}'"):
            mmacalc.wait_states(MFMA, line, "gfx942")
    assert lines_of(f"{MFMA}\nv_brand_new_b32 v30, v0\n{READ}") == [(2, 0), (3, 10)]


def test_macros_are_not_read_but_instructions_behind_an_underscore_are():
    assert lines_of(f"{MFMA}\n_v_add_co_u32 v30, vcc, v0, v1") == [(2, 11)]
    assert lines_of(f"{MFMA}\nFOO_MACRO v30, v0") == []


def test_a_matrix_instruction_that_the_architecture_lacks_is_a_finding_and_the_rest_is_read():
    first, second = lint(
        f"\n\nv_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[6:7], v[0:3]\n{MFMA.replace('_f16 ', 'f16 ')}\n{READ}", "gfx90a"
    )
    assert (first.line, first.kind) == (3, "invalid")
    assert "CDNA2 (gfx90a) has no matrix instruction 'v_mfma_f32_16x16x8_xf32'" in first.message
    assert (second.line, second.kind) == (5, "wait states")


# --- every path of a random listing, one by one ---


@st.composite
def branching_listings(draw):
    """(target, listing): few registers, so that much depends on much; branches to any statement."""
    target = draw(st.sampled_from(["gfx90a", "gfx942", "gfx950", "gfx908", "gfx1250", "gfx1100"]))
    d, other = ("a", "v") if target == "gfx908" else ("v", "v")
    even, register = st.integers(0, 5).map(lambda n: 2 * n), st.integers(0, 12)
    lines = []
    for _ in range(draw(st.integers(2, 14))):
        first, a, b, r, s = draw(even), draw(even), draw(even), draw(register), draw(register)
        wmma = "v_wmma_f32_16x16x32_f16 v[{0}:{1}], v[{2}:{3}], v[{4}:{5}], v[{0}:{1}]"
        mfma = "v_mfma_f32_4x4x4f16 {6}[{0}:{7}], v[{2}:{8}], v[{4}:{9}], {6}[{0}:{7}]"
        wmma = wmma.replace("x32_f16", "x16_f16") if target == "gfx1100" else wmma
        matrix = wmma if target.startswith("gfx1") else mfma
        matrix = matrix.format(first, first + 7, a, a + 7, b, b + 7, d, first + 3, a + 1, b + 1)
        plain = [f"v_mov_b32 v{r}, v{s}", f"global_store_dword v[40:41], {other}{r}, off", "s_nop 1", "v_nop"]
        special = {
            "gfx908": [f"v_accvgpr_read_b32 v{r}, a{s}", f"v_accvgpr_write_b32 a{r}, v{s}"],
            "gfx1250": [f"v_exp_f32 v{r}, v{s}"],
            "gfx1100": [
                f"v_exp_f32 v{r}, v{s}",
                f"v_rcp_f32 v{a}, v{s}",
                "s_waitcnt_depctr 0xfff",
                f"lds_direct_load v{r} wait_vdst:{s}",
            ],
        }.get(target, [f"v_dot4_i32_i8 v{r}, v{s}, v{a}, v{b}", f"v_cmpx_eq_u32_e32 v{r}, v40"])
        double = f"v_mfma_f64_4x4x4f64 v[{first}:{first + 1}], v[{a}:{a + 1}], v[{b}:{b + 1}], 0"
        special += [double] if target in ("gfx90a", "gfx942", "gfx950") else []
        branch = f"{draw(st.sampled_from(['s_branch', 's_cbranch_scc0']))} L{draw(st.integers(0, 13))}"
        lines.append(draw(st.sampled_from([matrix, matrix, *plain, *special, branch, branch])))
    return target, "".join(f"L{at}: {line}\n" for at, line in enumerate(lines))


def tightest_by_hand(target, text):
    """(line, what mends it) -> needed less elapsed wait states, the most, where any are needed: by walking every path
    from every instruction, with `register_use` and the rules."""
    lines = [line.split(": ")[1] for line in text.splitlines()]
    rules = recognizer_for(mmacalc.architecture(target))
    uses = [register_use(read_line(line), entry_of(target)) for line in lines]

    def following(at):
        where = int(lines[at].split("L")[1]) if "branch" in lines[at] else len(lines)
        return {where} if lines[at].startswith("s_branch") else {where, at + 1} if "branch" in lines[at] else {at + 1}

    worst = {}
    expiries = {row.expiry for source in rules.sources for row in source.rows}
    for (first, use), expiry in product(enumerate(uses), expiries):
        ending = set(expiry.first.split()), set(expiry.second.split())
        work, seen = [(at, 0, frozenset(), 0) for at in following(first)], set()
        while work:
            at, elapsed, passed, half_ended = step = work.pop()
            if at >= len(lines) or step in seen or elapsed > rules.longest:
                continue
            seen.add(step)
            needed, place = rules.states(use, uses[at], passed, expiry), (at + 1, expiry.instruction)
            if needed:
                worst[place] = max(worst.get(place, -100), needed - elapsed)
            half_ended += bool(uses[at].kinds & ending[1])
            if uses[at].kinds & ending[0] or half_ended == 2:
                continue
            later = elapsed + rules.states_provided(uses[at]), passed | uses[at].kinds, half_ended
            work += [(place, *later) for place in following(at)]
    return worst


@settings(max_examples=150, deadline=None)
@given(branching_listings())
def test_lint_and_waits_find_what_walking_every_path_finds_and_the_nops_are_enough(given_listing):
    target, text = given_listing
    found = report_of(text, target).of_kind("wait states")
    tightest = tightest_by_hand(target, text)
    missing = {place: states for place, states in tightest.items() if states > 0}
    assert {(one.line, one.wait.expiry.instruction): one.missing for one in found} == missing
    every = waits(text, target).waits
    spare = {(one.line, one.wait.expiry.instruction): one.wait.states - one.elapsed for one in every}
    near = {place: states for place, states in tightest.items() if states >= 0}  # those that wait long enough, just
    assert {place: states for place, states in spare.items() if states >= 0} == near
    assert all(one.missing == max(0, one.wait.states - one.elapsed) for one in every)
    lines = text.splitlines()
    for one in found:
        label, line = lines[one.line - 1].split(":", 1)
        lines[one.line - 1] = "\n".join([f"{label}:", *one.nops, line])
    assert report_of("\n".join(lines), target).of_kind("wait states") == ()


def test_many_blocks_with_branches_across_take_no_longer_than_their_number():
    def blocks(count):
        chance = random.Random(4)
        for at in range(count):
            d = 4 * chance.randrange(32)
            yield f"L{at}: v_mfma_f32_32x32x8_f16 v[{d}:{d + 15}], v[200:201], v[202:203], v[{d}:{d + 15}]"
            yield f"v_mov_b32 v{chance.randrange(200)}, v210\ns_cbranch_scc0 L{chance.randrange(count)}"

    start = time.process_time()
    assert lint("\n".join(blocks(400)), "gfx942")
    assert time.process_time() - start < 0.5  # 0.05 s; it took 9 s when every pair of blocks was visited
    start = time.process_time()
    assert lint("\n".join(blocks(4000)), "gfx942")
    assert time.process_time() - start < 5


# --- the command line ---


def test_lint_has_status_1_for_findings_0_for_none_and_2_for_bad_input(tmp_path):
    listing = tmp_path / "kernel.s"
    listing.write_text(f"{MFMA}\n{READ}\n")
    found = answer(["lint", "-a", "gfx942", str(listing)])
    assert found.status == 1
    assert f"{listing}:2:1: {READ}" in found.out
    assert "put s_nop 10 before it" in found.out
    data = json.loads(answer(["lint", "-a", "gfx942", str(listing), "--json"]).out)
    assert [one["line"] for one in data["findings"]] == [2]
    listing.write_text(f"{MFMA}\ns_nop 10\n{READ}\n")
    assert answer(["lint", "-a", "gfx942", str(listing)])[::2] == (0, "")
    assert answer(["lint", "-a", "gfx942", str(tmp_path / "none.s")]).status == 2


@pytest.mark.parametrize("text", [":: ::", "", "<html>\n", "int main() {}", "MACRO v0, v1\n.set x, 1"])
def test_a_text_without_an_instruction_is_refused(text):
    with pytest.raises(mmacalc.Error, match="has no AMD instruction"):
        lint(text, "gfx942")


def test_what_lint_has_not_read_is_not_called_clean(tmp_path):
    given = tmp_path / "kernel.o"
    given.write_bytes(b"\x7fELF\2\1\1\0")
    found = answer(["lint", "-a", "gfx942", str(given)])
    assert found.status == 2
    assert "is a damaged ELF object" in found.err
    given.write_text("s_endpgm\n")
    assert "no matrix instruction in it" in answer(["lint", "-a", "gfx942", str(given)]).out


def test_the_target_comes_from_the_listing_and_may_not_contradict_the_option(tmp_path):
    listing = tmp_path / "kernel.s"
    named = '\t.amdgcn_target "amdgcn-amd-amdhsa--{}:sramecc+:xnack-"\n' + f"{MFMA}\n{READ}\n"
    listing.write_text(named.format("gfx942"))
    assert answer(["lint", str(listing)]).out == answer(["lint", "-a", "MI300X", str(listing)]).out
    assert "the listing is for gfx942, not for gfx950" in answer(["lint", "-a", "gfx950", str(listing)]).err
    listing.write_text(named.format("gfx9-4-generic"))
    assert (
        "generic target gfx9-4-generic, which runs on gfx942, gfx950; give one of them"
        in answer(["lint", str(listing)]).err
    )
    assert answer(["lint", "-a", "gfx950", str(listing)]).status == 1
    assert "not for gfx90a" in answer(["lint", "-a", "gfx90a", str(listing)]).err
    listing.write_text(f"{MFMA}\n")
    assert "which architecture is the listing for?" in answer(["lint", str(listing)]).err
    listing.write_text(named.format("gfx942") + named.format("gfx950"))
    assert "the listing names several targets, gfx942, gfx950" in answer(["lint", str(listing)]).err


def test_a_file_that_is_no_listing_is_refused(tmp_path):
    given = tmp_path / "kernel.s"
    for content, message in (("", "is empty"), ("<html>\n", "no AMD instruction"), ("a\0b", "neither a text file")):
        given.write_text(content)
        found = answer(["lint", "-a", "gfx942", str(given)])
        assert (found.status, found.out) == (2, "")
        assert message in found.err


def test_waits_prints_both_sources_and_the_nops():
    line = answer(["waits", "-a", "gfx950", FIRST["DGEMM", 16], "v_mov_b32 v7, 0"])
    assert line.status == 0
    assert line.out.startswith("19 wait states (s_nop 15; s_nop 2)\n")
    assert "11  LLVM 22.1.8" in line.out
    assert "19  CDNA4 ISA guide, Table 38" in line.out
    data = json.loads(answer(["waits", "-a", "gfx950", FIRST["DGEMM", 16], "v_mov_b32 v7, 0", "--json"]).out)
    assert (data["states"], data["llvm"], data["guide"], data["unit"]) == (19, 11, 19, "s_nop")
    assert answer(["waits", "-a", "gfx950", "nonsense", "v_mov_b32 v7, 0"]).status == 2


def test_waits_of_a_listing_and_of_an_object_are_printed_by_kernel(tmp_path):
    listing = tmp_path / "kernel.s"
    mfma, store = FIRST["XDL", 2], SECOND["store"]
    body = f"one:\n{mfma}\n s_nop 4\n{store}\n s_endpgm\ntwo:\n{mfma}\n{store}\n s_endpgm\n"
    listing.write_text(f'.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n{body}')
    found = answer(["waits", str(listing)])
    assert (found.status, found.err) == (0, "")
    assert re.findall(r"^(one|two):|needs (\d+) wait states, has (\d+)(  5 states missing)?", found.out, re.M) == [
        ("one", "", "", ""), ("", "5", "5", ""), ("two", "", "", ""), ("", "5", "0", "  5 states missing"),
    ]  # fmt: skip
    assert found.out.endswith("2 waits, of which 1 too short\n")
    lines = json.loads(answer(["waits", str(listing), "--json"]).out)["waits"]
    assert [(one["part"], one["missing"], one["wait"]["states"]) for one in lines] == [("one", 0, 5), ("two", 5, 5)]
    assert "name no architecture" in answer(["waits", mfma, store]).err
    assert "which architecture" in answer(["waits", mfma]).err


def test_after_a_wmma_of_gfx1250_transcendental_instructions_wait_as_long_as_other_valu_instructions():
    """LLVM's pull request 186269, which lets its checks of VALU instructions include the transcendental ones."""
    llvm = {
        (first, what): states for first, second, what, states, *_ in TABLES["gfx1250"].rows if second == "VALU-TRANS"
    }
    later = {
        (first, what): states for first, second, what, states, *_ in TABLES["gfx1250 reports"].rows if second == "TRANS"
    }
    assert later == llvm
    assert len(later) == 6


@pytest.mark.parametrize(
    ("arch", "first", "second", "states"),
    [  # what llc 22.1.8 inserts
        ("gfx908", "s_mov_b32 m0, 0", "ds_gws_barrier v0 gds", 1),
        ("gfx90a", "s_mov_b32 m0, 0", "ds_gws_init v0 gds", 1),
        ("gfx942", "s_mov_b32 m0, 0", "ds_gws_barrier v0 gds", 1),
        ("gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[8:11]", "ds_gws_init v0 gds", 7),
    ],
)
def test_instructions_of_global_wave_sync_read_their_register_and_m0(arch, first, second, states):
    assert mmacalc.wait_states(first, second, arch).states == states


@pytest.mark.parametrize(("target", "first", "second", "nops"), [
    ("gfx1100", "v_cmpx_gt_f32_e32 v0, v1", "v_permlane16_b32 v1, v2, s1, s2", ("v_mov_b32_e32 v0, v0",)),
    ("gfx1201", "v_cmpx_gt_f32_e32 v0, v1\nv_nop", "v_permlanex16_b32 v1, v2, s1, s2", ("v_mov_b32_e32 v0, v0",)),
    ("gfx1250", "v_cmpx_gt_f32_e32 v0, v1\nv_mov_b32 v7, v8", "v_permlane16_b32 v1, v2, s1, s2", ()),
    ("gfx90a", "v_cmpx_gt_f32_e32 v0, v1", "v_permlane32_swap_b32 v1, v2", ()),
    ("gfx1250", "v_exp_f32 v1, v2", "v_add_f32 v3, v1, v1", ("v_nop",)),
    ("gfx1250", "v_exp_f32 v1, v2", "v_mov_b32 v2, v3", ("v_nop",)),
    ("gfx1250", "v_exp_f32 v1, v2", "v_exp_f32 v3, v1", ()),
    ("gfx1250", "v_exp_f32 v1, v2", "v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v5, v6", ()),
    ("gfx1250", "v_exp_f32 v1, v2", "v_dual_mov_b32 v2, v1 :: v_dual_mov_b32 v5, v6", ("v_nop",)),
    ("gfx942", "buffer_store_dwordx4 v[0:3], v9, s[8:11], s4 offen", "v_mov_b32 v1, 0", ("s_nop 0",)),
    ("gfx942", "buffer_store_dwordx4 v[0:3], v9, s[8:11], 0 offen", "v_mov_b32 v1, 0", ("s_nop 1",)),
    ("gfx90a", "buffer_store_dwordx4 v[0:3], v9, s[8:11], s4 offen", "v_mov_b32 v1, 0", ()),
    ("gfx90a", "s_mov_b32 m0, s4", "buffer_load_dword v1, s[8:11], 0 offen lds", ("s_nop 0",)),
    ("gfx942", "s_mov_b32 m0, s4", "ds_read_addtid_b32 v1", ("s_nop 0",)),
])  # fmt: skip
def test_hazards_without_a_matrix_instruction(target, first, second, nops):
    found = lint(f"{first}\n{second}", target)
    assert [one.nops for one in found if one.kind == "wait states"] == ([nops] if nops else [])


def test_a_wait_that_amds_own_kernels_leave_out_is_said_but_no_finding():
    m0, packed = "s_mov_b32 m0, s4", "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]"
    for first, second in (
        (m0, "buffer_load_dword v1, s[8:11], 0 offen lds"), (m0, "global_load_lds_dword v[2:3], off"),
        (packed, "v_add_f32 v6, v1, v1"), ("v_fma_mix_f32 v4, v8, v15, v4 op_sel_hi:[1,1,0]", "v_add_f32 v6, v4, v4"),
    ):  # fmt: skip
        report = mmacalc.lint(f"{first}\n{second}", "gfx942")
        assert report.findings == ()
        assert "AMD's AITER kernels for gfx942 and gfx950 have none there" in report.unchecked[-1]
        wait = mmacalc.wait_states(first, second, "gfx942")
        assert (wait.states, wait.llvm) == (1, 1)
    for other in ("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[0,1]", "v_fma_mix_f32 v1, v8, v15, v4"):
        assert mmacalc.wait_states(other, "v_add_f32 v6, v1, v1", "gfx942").states == 0


@pytest.mark.parametrize(
    "copy", ["tensor_load_to_lds s[0:3], s[4:11]", "global_load_async_to_lds_b128 v40, v[42:43], off"]
)
def test_copies_into_lds_count_among_the_valu_instructions_behind_a_wmma_as_llvm_counts_them(copy):
    """LLVM's flag VALU: llc 22.1.8 inserts two v_nop where two TENSOR_LOAD_TO_LDS stand there, and none behind four."""
    product = "v_wmma_f32_16x16x32_f16 v[16:23], v[0:7], v[8:15], v[16:23]"
    for copies in range(5):
        text = "\n".join([product, *[copy] * copies, "v_mov_b32 v4, 1"])
        assert [one.missing for one in mmacalc.lint(text, "gfx1250").findings] == [4 - copies] * (copies < 4)
