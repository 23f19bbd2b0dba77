"""What lint says of lines that no assembler accepts, and how it takes files."""

from __future__ import annotations

import json
import random
import re

import pytest

import mmacalc
from asm_texts import TARGETS, random_text
from llvm_mc import assembled
from mmacalc.asm.assembler import problems
from mmacalc.asm.forms import forms
from mmacalc.asm.targets import target
from mmacalc.cli import answer
from mmacalc.hazards.register_use import OTHER_NAMES
from samples import sampled

FOUR_FAULTS = "v_mfma_f32_32x32x8f16 v[1:16], v[21:22], v[22:25], v[3:18]"


def invalid(text, arch):
    return mmacalc.lint(text, arch).of_kind("invalid")


def test_every_fault_of_a_line_is_a_finding_with_its_line():
    found = invalid(f"s_nop 0\n{FOUR_FAULTS}\n", "gfx90a")
    assert [one.line for one in found] == [2] * 5
    for fault, one in zip(("D of", "A of", "B of", "C of", "C of"), found):
        assert one.message.startswith(fault)
    assert found[4].message.endswith("is D itself or shares no register with it; got D v[1:16] and C v[3:18]")


@sampled("where", TARGETS, 4, ids=lambda where: f"{where[0]}w{where[1]}" if where[1] else where[0])
def test_lint_names_what_llvm_refuses_and_nothing_that_it_accepts(where):
    """Mutated lines of every matrix instruction. What LLVM 22 refuses and LLVM 24 accepts is no finding."""
    rng = random.Random(f"lint{where}")
    known = forms(target(*where, llvm=22)).values()
    lines = [random_text(form, rng, mistakes) for form in known for mistakes in (0, 0, 0.1, 0.2, 0.3, 0.5)]
    verdicts = assembled(lines, *where)
    newer = target(*where)
    refused = {
        at + 1
        for at, (line, verdict) in enumerate(zip(lines, verdicts))
        if isinstance(verdict, str) and problems(line, newer, {})
    }
    assert {one.line for one in invalid("\n".join(lines), where[0])} == refused
    assert len(refused) > len(known)  # as many are wrong


def test_lines_that_depend_on_what_is_not_known_are_no_finding_and_symbols_are_followed():
    text = """.set base, 4
    v_mfma_f32_32x32x8_f16 v[0:15], v[base:base+1], v[18:19], v[0:15]
    .set base, 5
    v_mfma_f32_32x32x8_f16 v[0:15], v[base:base+1], v[18:19], v[0:15]
    v_mfma_f32_32x32x8_f16 v[0:15], v[other:other+1], v[18:19], v[0:15]
    v_mfma_f32_32x32x8_f16 v[0x0:0xf], v[\\n:\\n+1], v[18:19], v[0:15]
    .macro v_own a
    v_nop
    .endm
    v_own v[1:2]
    v_ad_f32 v0, v1, v2
    """
    first, second = invalid(text, "gfx942")
    assert (first.line, second.line) == (4, 11)
    assert first.message == "A of v_mfma_f32_32x32x8_f16 takes 2 registers, even-aligned: v[4:5]; got v[5:6]"
    assert "unknown instruction 'v_ad_f32'. Did you mean" in second.message
    assert "v_add_f32" in second.message


def test_an_instruction_that_is_unknown_has_no_hazard():
    text = "v_mfma_f32_32x32x8f16 a[0:15], v[20:21], v[22:23], a[0:15]\n{} v0, a0"
    wrong, right = (mmacalc.lint(text.format(name), "gfx90a").findings for name in ("v_nonsense", "v_accvgpr_read_b32"))
    assert [(one.kind, one.missing) for one in (*wrong, *right)] == [("invalid", 0), ("wait states", 19)]


def test_names_that_the_tables_lack_are_those_that_llvm_knows():
    names = [*OTHER_NAMES.split(), "v_nothing", "image_load", "v_interp_p10_f32", "exp", "tbuffer_load_format_x"]
    unknown = set(names)
    for arch in ("gfx90a", "gfx1100", "gfx1150", "gfx1200", "gfx1250"):
        for name, error in zip(names, assembled(names, arch)):
            if not isinstance(error, str) or not re.search("not supported on|invalid instruction", error):
                unknown.discard(name)
    assert unknown == {"v_nothing"}
    found = [one.text for one in invalid("\n".join(f"{name} v0" for name in names), "gfx1100")]
    assert found == ["v_nothing v0"]


def test_the_wave_size_is_that_of_most_lines():
    wide = "v_wmma_f32_16x16x16_f16 v[0:3], v[8:15], v[16:23], v[0:3]"  # wave64
    narrow = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"
    assert not invalid(wide, "gfx1100")
    assert not invalid(narrow, "gfx1100")
    assert [one.line for one in invalid(f"{narrow}\n{wide}\n{wide}", "gfx1100")] == [1, 1]


# --- the command line ---


@pytest.fixture
def files(tmp_path):
    wrong, right = tmp_path / "wrong.s", tmp_path / "right.s"
    wrong.write_text(f'.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n{FOUR_FAULTS}\n')
    right.write_text('.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\ns_endpgm\n')
    return str(wrong), str(right)


def test_several_files_are_linted_each_with_its_name_and_the_worst_status_counts(files):
    wrong, right = files
    found = answer(["lint", wrong, right])
    assert found.status == 1
    assert f"{wrong}:2:1: {FOUR_FAULTS}\n  D of" in found.out
    assert "\n5 errors found" in found.out
    assert f"\n{right}: no hazards found" in found.out
    assert answer(["lint", right, right]).status == 0
    documents = [json.loads(line) for line in answer(["lint", "--json", wrong, right]).out.splitlines()]
    assert [(one["file"], len(one["findings"])) for one in documents] == [(wrong, 5), (right, 0)]
    other = answer(["lint", "-a", "gfx90a", right, wrong])  # one refusal does not hide the findings of others
    assert (other.status, "right.s: the listing is for gfx942" in other.err, "5 errors" in other.out) == (2, True, True)


def test_what_looks_like_a_file_and_is_none_is_refused_by_its_name(files):
    assert "cannot read 'missing.s'" in answer(["lint", files[0], "missing.s"]).err
    assert "'v_nop' is not a file, but other arguments are" in answer(["lint", files[0], "v_nop"]).err
    assert answer(["lint", "-a", "gfx942", "v_mov_b32", "v0,", "v1"]).status == 0  # one text


# --- vccz ---


def test_a_half_of_vcc_that_is_written_leaves_vccz_as_it_was_along_every_path():
    text = """
    s_mov_b32 vcc_lo, s0
    s_cbranch_vccz L
    s_cbranch_vccnz L
    v_readfirstlane_b32 vcc_hi, v0
    s_nop 4
    v_mov_b32_e32 v1, src_vccz
    s_and_b32 vcc_hi, s0, s1
    s_branch M
    L: s_mov_b64 vcc, vcc
    M: s_cbranch_vccnz L
    s_endpgm"""
    lines = [(one.line, one.first_line, *one.nops) for one in mmacalc.lint(text, "gfx942").of_kind("vccz")]
    assert lines == [(line, first, "s_mov_b64 vcc, vcc") for line, first in ((3, 2), (7, 5), (11, 8))]
    assert mmacalc.lint(text, "gfx1100").of_kind("vccz") == ()
    loop = "s_mov_b64 vcc, 0\nL: s_cbranch_vccz L\ns_mov_b32 vcc_lo, s0\ns_branch L"
    assert [one.line for one in mmacalc.lint(loop, "gfx90a").of_kind("vccz")] == [2]
    assert mmacalc.lint(loop.replace("s_branch L", "s_mov_b64 vcc, vcc\ns_branch L"), "gfx90a").findings == ()
