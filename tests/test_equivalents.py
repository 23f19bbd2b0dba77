"""What an instruction becomes on another architecture: counts, registers, lost values, rounding, what moves data."""

import json
import random

import numpy as np
import pytest

import mmacalc
from mmacalc import Error
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.cli import answer
from mmacalc.formats import FORMATS
from mmacalc.questions.find.equivalents import _change, distance, named_anywhere
from mmacalc.questions.find.movement import PURPOSES, movers
from samples import sampled

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
MFMA = "v_mfma_f32_16x16x16_bf16"


def nearest(text, arch):
    return mmacalc.equivalents(named_anywhere(text), arch).nearest


@pytest.mark.parametrize(
    ("text", "arch", "name", "counts"),
    [
        (f"sm_80 {MMA}", "MI300X", MFMA, (2, 1)),
        (f"MI300X {MFMA}", "sm_80", MMA, (1, 2)),
        ("sm_89 mma.m16n8k32.f32.e4m3.e4m3.f32", "MI300X", "v_mfma_f32_16x16x32_fp8_fp8", (2, 1)),
        ("sm_80 mma.m16n8k8.f32.tf32.tf32.f32", "MI300X", "v_mfma_f32_16x16x8_xf32", (2, 1)),
        ("sm_80 mma.m16n8k8.f32.tf32.tf32.f32", "MI355X", "v_mfma_f32_16x16x4_f32", (2, 2)),
        ("sm_80 mma.m8n8k4.f64.f64.f64.f64", "MI300X", "v_mfma_f64_16x16x4_f64", (4, 1)),
        ("H100 mma.sp.m16n8k32.f32.f16.f16.f32", "MI355X", "v_smfmac_f32_16x16x32_f16", (2, 1)),
        ("MI355X v_mfma_scale_f32_16x16x128_f8f6f4", "B200",
         "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32", None),
        ("gfx1100 v_wmma_i32_16x16x16_iu8", "sm_80", "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", None),
    ],
)  # fmt: skip
def test_the_nearest_is_what_an_engineer_would_take(text, arch, name, counts):
    found = nearest(text, arch)
    assert found.instruction.name == name
    assert counts is None or (found.source_count, found.target_count) == counts


@sampled("count", [16, 24, 40], 1, whole=1)
def test_both_sides_of_a_tile_do_the_same_work_and_hold_whole_operands(count):
    generator = random.Random(20261123)
    archs = ["sm_80", "sm_90a", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"]
    asked = 0
    for _ in range(count):
        inst = generator.choice([one for one in mmacalc.instructions(generator.choice(archs)) if one.flops])
        try:
            found = mmacalc.equivalents(inst, generator.choice(archs))
        except Error as refused:
            problem = str(refused)
        else:
            problem = ""
        if problem:
            assert "has nothing like" in problem
            continue
        asked += 1
        for one in (found.nearest, *found.others):
            other, (m, n, k) = one.instruction, one.tile
            assert one.source_count * inst.flops == one.target_count * other.flops
            assert {
                size % own
                for size, *owns in ((m, inst.m, other.m), (n, inst.n, other.n), (k, inst.k, other.k))
                for own in owns
            } == {0}
            assert other.sparse == inst.sparse
            if one.registers["D"] is not None and other.blocks == inst.blocks == 1:
                lanes, bits = other.architecture.waves[0], other.format("D").bits
                assert one.registers["D"] * lanes * 32 * (4 if "wgmma" in other.features else 1) >= m * n * bits
    assert asked > count // 2


@sampled("step", [27, 9], 1)
def test_an_instruction_is_nearest_to_itself(step):
    for arch in ("sm_80", "gfx942", "gfx1201", "sm_100a"):
        for inst in [one for one in mmacalc.instructions(arch) if one.flops][::step]:
            assert distance(inst, {}, inst, {}) == (0, 0)
            assert mmacalc.equivalents(inst, arch).nearest.instruction.name == inst.name


FLOATS = [name for name, form in FORMATS.items() if form.is_float and form.bits <= 16 and form.name[0] not in "u"
          and name != "e8m0"]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "name", "said"),
    [
        ("A100", "v_mfma_f64_16x16x4_f64", "fraction bits of the sum  of f64               of f64"),
        ("MI355X", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X",
         "32x32x64    cbsz=fp4 blgp=fp4"),
    ],
)  # fmt: skip
def test_formats_that_fields_choose_and_sums_in_f64_are_said(target, name, said):
    assert said in answer(["find", target, "like", name]).out


@pytest.mark.parametrize("source", FLOATS)
def test_a_format_lacks_values_exactly_where_some_do_not_survive_it(source):
    codes = np.arange(1 << FORMATS[source].bits, dtype=np.uint32)
    values = decode(codes, FORMATS[source])
    values = values[np.isfinite(values)].astype(np.float64)
    for target in FLOATS:
        back = np.asarray(decode(encode(values, FORMATS[target]), FORMATS[target]), np.float64)
        lost = bool((back != values).any())
        change = _change("A", FORMATS[source], FORMATS[target])
        assert bool(change.lost) == lost, (source, target, change)
        assert change.kind != "same" or not lost


def test_the_input_on_which_two_round_differently_is_what_both_compute():
    mma, mfma = mmacalc.instruction("sm_80", MMA), mmacalc.instruction("gfx942", MFMA)
    found = mmacalc.equivalents(mma, "gfx942").difference
    a = np.zeros((16, 16))
    a[0], c = found.a, np.zeros((16, 16))
    c[0, 0] = found.c
    b = np.zeros((16, 16))
    b[:, 0] = found.b
    assert float(mma.multiply(a, b[:, :8], c[:, :8])[0, 0]) == found.source
    assert float(mfma.multiply(a, b, c)[0, 0]) == found.target
    assert found.source != found.target


def test_products_shorter_than_the_inputs_that_are_tried_are_compared_too():
    found = mmacalc.equivalents(mmacalc.instruction("gfx942", "v_mfma_f64_16x16x4_f64"), "sm_80")
    assert found.nearest.instruction.k == 4
    assert found.difference is None
    assert "No dot product was found on which the two differ" in str(found)


def test_integers_are_exact_and_no_difference_is_shown():
    found = mmacalc.equivalents(named_anywhere("sm_80 mma.m16n8k32.s32.s8.s8.s32"), "gfx942")
    assert found.difference is None
    assert found.not_tried == ""
    assert {one.what: one.source for one in found.numerics}["terms of one sum"] == "all, exactly"


def test_each_target_has_the_moves_that_its_isa_guide_lists():
    expected = {
        "sm_75": [[], [], 2], "sm_80": [["cp.async.cg.shared.global"], ["cp.async.wait_group"], 2],
        "sm_90a": [["cp.async.bulk.tensor", "cp.async.cg.shared.global"],
                   ["mbarrier.try_wait.parity.shared.b64", "cp.async.wait_group"], 2],
        "gfx90a": [["buffer_load_dword ... lds"], ["s_waitcnt vmcnt"], 2],
        "gfx942": [["global_load_lds_dword", "buffer_load_dword ... lds"], ["s_waitcnt vmcnt"], 2],
        "gfx950": [["global_load_lds_dwordx4", "global_load_lds_dword", "buffer_load_dword ... lds"],
                   ["s_waitcnt vmcnt"], 3],
        "gfx1100": [[], ["s_waitcnt vmcnt"], 3],
        "gfx1201": [[], ["s_wait_loadcnt"], 3],
        "gfx1250": [["tensor_load_to_lds", "global_load_async_to_lds_b128"],
                    ["s_wait_tensorcnt", "s_wait_asynccnt", "s_wait_loadcnt"], 3],
    }  # fmt: skip
    copies, waits, lanes = PURPOSES[:3]
    for arch, (copying, waiting, exchanges) in expected.items():
        architecture = mmacalc.architecture(arch)
        assert [one.name for one in movers(architecture, copies)] == copying, arch
        assert [one.name for one in movers(architecture, waits)] == waiting, arch
        assert len(movers(architecture, lanes)) == exchanges, arch


def test_words_the_option_and_python_give_one_answer():
    texts = [answer(["find", *line]).out for line in (
        ["MI300X", "like", MMA], ["-a", "MI300X", "--like", MMA], ["MI300X", "like", "A100", MMA],
        ["MI300X", "like", "mma.m16n8k16.f32.bf16.bf16.f32"],
    )]  # fmt: skip
    assert len(set(texts)) == 1
    assert texts[0].startswith("sm_80  mma.sync")
    assert str(mmacalc.equivalents(mmacalc.instruction("sm_80", MMA), "MI300X")) + "\n" == texts[0]
    given = json.loads(answer(["find", "MI300X", "like", MMA, "--json"]).out)
    assert (given["nearest"]["instruction"], given["nearest"]["count"]) == (MFMA, 1)
    assert given["difference"]["source"] != given["difference"]["target"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["MI300X", "like"], "like takes an instruction"),
        (["like", MMA], "say where: mmacalc find MI300X like"),
        (["MI300X", "--m", "16", "like", MMA], "leave --m out"),
        (["MI300X", "like", "mma.m16n8k17"], "no architecture has an instruction 'mma.m16n8k17'"),
        (["MI300X", "like", "ldmatrix.x4"], "moves a matrix and multiplies none"),
        (["gfx1100", "like", "mma.m8n8k4.f64.f64.f64.f64"], "RDNA3 has nothing like"),
        (["MI300X", "like", "sm_80", "mma.f32.f16.f16.f32"], "may be"),
        (["MI301X", "like", MMA], "unknown architecture"),
        (["MI300X", "fp8", "like", MMA], "like takes only an architecture before it, such as mi300x; got 'MI300X fp8'"),
        (["MI300X", "--like", MMA, "like", "v_mfma_f32_16x16x16_f16"], "was given twice"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(line, words):
    reply = answer(["find", *line])
    assert reply.status == 2
    assert words in reply.err


def test_formats_that_fields_choose_are_chosen_and_said_in_json_on_both_sides():
    fp4 = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32"
    found = json.loads(answer(["find", "MI355X", "like", fp4, "--json"]).out)
    assert found["nearest"]["modifiers"] == {"cbsz": 4, "blgp": 0}
    assert {one["kind"] for one in found["nearest"]["formats"]} == {"same"}
    assert found["nearest"]["registers"] == {"A": 4, "B": 8, "D": 4}  # 32 elements of 4 and of 8 bits in a lane
    back = ["find", "sm_120a", "like", "gfx950 v_mfma_f32_16x16x128_f8f6f4", "--a-type", "fp4", "--b-type", "fp6"]
    found = json.loads(answer([*back, "--json"]).out)
    assert (found["modifiers"], found["instruction"]) == ({"cbsz": 4, "blgp": 2}, "v_mfma_f32_16x16x128_f8f6f4")
    assert found["nearest"]["instruction"].endswith("f32.e2m1.e2m3.f32")
    assert "cbsz=fp4 blgp=fp6" in answer(back).out
    wide = ["find", "gfx1250", "like", "B200 tcgen05.mma.cta_group::1.kind::f8f6f4", "--a-type", "e2m1", "--shape"]
    found = json.loads(answer([*wide, "64x32x32", "--json"]).out)
    assert ([found[size] for size in "mnk"], found["nearest"]["formats"][0]["source"]) == ([64, 32, 32], "e2m1")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["v_mfma_f32_16x16x16_f16", "--a-type", "fp4"], "A of v_mfma_f32_16x16x16_f16 is f16, as its name says"),
        (["v_mfma_f32_16x16x16_f16", "--k", "8"], "K of v_mfma_f32_16x16x16_f16 is 16"),
        (["v_mfma_f32_16x16x128_f8f6f4", "--b-type", "f16"], "'f16' is not a format of f8f6f4"),
        (["v_mfma_f32_16x16x16_f16", "--sparse"], "leave --sparse out"),
        (["tcgen05.mma.cta_group::1.kind::f16", "--c-type", "f16"], "give --d-type"),
    ],
)
def test_options_that_the_name_behind_like_answers_are_refused_in_words(given, says):
    reply = answer(["find", "sm_120a", "like", *given])
    assert reply.status == 2
    assert says in " ".join(reply.err.split())
