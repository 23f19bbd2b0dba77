"""The LDS loads that transpose, against the four sentences of the CDNA4 ISA guide's section 11.4."""

import json

import pytest

import mmacalc
from closed_forms import distinct
from mmacalc.cli import answer
from mmacalc.memory_access.transpose_loads import loads_for, transpose_loads


def k_of(step):
    return [(run[0], run[-1]) for run in step.k]


@pytest.mark.parametrize(
    ("name", "modifiers", "load", "first", "second"),
    [
        ("v_mfma_f32_32x32x16_f16", {}, "ds_read_b64_tr_b16", [(0, 3), (8, 11)], [(4, 7), (12, 15)]),
        (
            "v_mfma_i32_16x16x64_i8", {}, "ds_read_b64_tr_b8",
            [(0, 7), (16, 23), (32, 39), (48, 55)], [(8, 15), (24, 31), (40, 47), (56, 63)],
        ),
        ("v_mfma_f32_32x32x64_f8f6f4", {"cbsz": "fp4"}, "ds_read_b64_tr_b4", [(0, 15), (32, 47)], [(16, 31), (48, 63)]),
        ("v_mfma_f32_32x32x64_f8f6f4", {"cbsz": "fp6"}, "ds_read_b96_tr_b6", [(0, 15), (32, 47)], [(16, 31), (48, 63)]),
    ],
)  # fmt: skip
def test_two_loads_take_the_k_that_the_guide_says(name, modifiers, load, first, second):
    steps = loads_for(mmacalc.instruction("cdna4", name).operand("A", **modifiers))
    assert [step.load.name for step in steps] == [load, load]
    assert [k_of(step) for step in steps] == [first, second]
    assert [step.first_register for step in steps] == [0, steps[0].load.registers]


def test_what_the_loads_put_in_each_lane_is_what_the_operand_says():
    fed = 0
    for operand in distinct(inst.operand(name) for inst in mmacalc.instructions("cdna4") for name in "AB"):
        try:
            steps = loads_for(operand)
        except mmacalc.Error:
            continue
        fed += 1
        assert sum(step.load.registers for step in steps) == operand.registers
        for step in steps:
            for first_lane, first_row, first_k in step.groups:
                for lane in range(16):
                    for slot in range(step.load.elements):
                        ((k, row),) = step.load.lane_receives.contents((lane, slot))
                        held = list(operand.elements(first_lane + lane, step.number * step.load.elements + slot))
                        one, two = first_row + row, first_k + k
                        assert [found[:2] for found in held] == [(one, two) if operand.name == "A" else (two, one)]
    assert fed > 20


def test_a_tile_is_fetched_and_received_whole():
    for load in transpose_loads("mi355x"):
        for layout in (load.lane_receives, load.lane_fetches):
            places = {layout.locate({"k": k, "i": i}) for k in range(load.elements) for i in range(16)}
            assert len(places) == 16 * load.elements
            assert layout.spans == {"lane": 16, "item": load.elements}


def test_the_command_names_what_is_undocumented():
    text = answer(["lds-transpose", "-i", "v_mfma_f32_16x16x128_f8f6f4", "-A", "--cbsz", "fp6"]).out
    assert "ds_read_b96_tr_b6 fills v[5:3]" in text
    assert "lanes 16..31: i = 0..15, k = 48..63" in text
    assert "unconfirmed" in text
    for argv in (["-l", "ds_read_b64_tr_b8"], [], ["-i", "v_mfma_f32_16x16x32_f16", "-B"]):
        assert "Caveat: the CDNA4 ISA guide does not say" in answer(["lds-transpose", *argv]).out
        assert json.loads(answer(["lds-transpose", *argv, "--json"]).out)["architecture"] == "cdna4"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-i", "v_mfma_f32_16x16x4_f32", "-A"], "transposes elements of 4, 6, 8, 16 bits"),
        (["-i", "v_smfmac_f32_16x16x64_f16", "-A"], "not compressed"),
        (["-i", "v_mfma_f32_4x4x4_16b_f16", "-A"], "it holds 4 and 4"),
        (["-i", "v_mfma_f32_16x16x32_f16"], "choose the matrix"),
        (["-a", "cdna3"], "CDNA3 has no loads that transpose"),
        (["-l", "ds_read_b64_tr_b12"], "Did you mean"),
    ],
)
def test_what_no_load_can_do_is_refused(argv, message):
    done = answer(["lds-transpose", *argv])
    assert (done.status, done.out) == (2, "")
    assert message in done.err
