"""CDNA4 and CDNA5 layouts, and the LDS loads that transpose, against what Triton's AMD backend knows of them.

Triton's layouts are recorded (tests/oracles/triton_layouts.py); with Triton installed, `pytest -m triton` also
checks that the record is what it says today.
"""

import sys
from collections import Counter

import pytest

import mmacalc
from mmacalc.memory_access import transpose_loads as loads
from recorded import json_file

RECORD = json_file("triton_layouts.json.gz")
# An instruction of each recorded shape and input width; all that share a shape and width share a layout.
INSTRUCTIONS = {
    ("cdna4", 32, 32, 8, 16): "v_mfma_f32_32x32x8_f16", ("cdna4", 16, 16, 16, 16): "v_mfma_f32_16x16x16_f16",
    ("cdna4", 32, 32, 16, 16): "v_mfma_f32_32x32x16_bf16", ("cdna4", 16, 16, 32, 16): "v_mfma_f32_16x16x32_bf16",
    ("cdna4", 32, 32, 16, 8): "v_mfma_f32_32x32x16_fp8_bf8", ("cdna4", 16, 16, 32, 8): "v_mfma_f32_16x16x32_bf8_fp8",
    ("cdna4", 32, 32, 32, 8): "v_mfma_i32_32x32x32_i8", ("cdna4", 16, 16, 64, 8): "v_mfma_i32_16x16x64_i8",
    ("cdna4", 32, 32, 64, 8): "v_mfma_scale_f32_32x32x64_f8f6f4",
    ("cdna4", 16, 16, 128, 8): "v_mfma_scale_f32_16x16x128_f8f6f4",
    ("cdna4", 32, 32, 64, 4): "v_mfma_scale_f32_32x32x64_f8f6f4",
    ("cdna4", 16, 16, 128, 4): "v_mfma_scale_f32_16x16x128_f8f6f4",
    ("cdna5", 16, 16, 32, 16): "v_wmma_f32_16x16x32_f16",
    ("cdna5", 16, 16, 128, 8): "v_wmma_scale_f32_16x16x128_f8f6f4",
}  # fmt: skip


def recorded_instruction(arch, shape):
    return mmacalc.instruction(arch, INSTRUCTIONS[(arch, *shape)])


def at(bases, index):
    """A linear layout's coordinates: the XOR of the bases of the index's set bits."""
    row = column = 0
    for bit, (more_row, more_column) in enumerate(bases):
        if index >> bit & 1:
            row, column = row ^ more_row, column ^ more_column
    return row, column


def name(entry):
    return "-".join(map(str, (entry.get("arch", ""), *entry["shape"], entry.get("operand", ""))))


@pytest.mark.parametrize("entry", RECORD["linear"], ids=name)
def test_every_slot_of_every_lane_holds_what_triton_says(entry):
    operand = recorded_instruction(entry["arch"], entry["shape"]).operand(entry["operand"])
    scale = entry["operand"] in ("SA", "SB")
    slots = 1 << len(entry["registers"])
    assert slots == (operand.items if operand.layout.sizes.get("byte", 1) == 1 else 1)
    for lane in range(operand.lanes):
        for slot in range(slots):
            row, column = at([*entry["registers"], *entry["lanes"]], slot | lane * slots)
            if scale:
                # Triton indexes scales by row (of B: column) and block of 32 k; the half of the wave that the
                # hardware does not read repeats the other in Triton.
                place = {"i" if operand.name == "SA" else "j": row, "k": 32 * column + 7}
                lanes = {lane, lane % 16} if entry["arch"] == "cdna5" else {lane}
            else:
                place, lanes = dict(zip(operand.axes[1:], (row, column))), {lane}
            (found,) = operand.locate(**place)
            assert found.lane in lanes
            assert found.item == slot


@pytest.mark.parametrize("entry", RECORD["addresses"], ids=name)
def test_transposing_loads_fetch_from_the_addresses_that_triton_generates(entry):
    rows, _, _, bits = entry["shape"]
    instruction = recorded_instruction("cdna4", entry["shape"])
    operand = instruction.operand("A", **({"cbsz": "fp4"} if bits == 4 else {}))
    steps = loads.loads_for(operand)
    assert [step.load.bits for step in steps] == [load["bits"] for load in entry["loads"]]
    for step, load in zip(steps, entry["loads"]):
        expected = []
        for _, first_row, ks in step.groups:
            for lane in range(16):
                k, row = step.load.lane_fetches.contents((lane, 0))[0]
                expected.append((ks[k] * rows + first_row + row) * bits // 8)
        assert load["addresses"] == expected


def test_every_width_but_6_bits_is_among_the_recorded_addresses():
    known = {load["bits"] for entry in RECORD["addresses"] for load in entry["loads"]}
    for load in loads.transpose_loads("gfx950"):
        assert load.fetched_by == ("one source" if load.bits in known else "unconfirmed")
    assert Counter(entry["arch"] for entry in RECORD["linear"]) == {"cdna4": 34, "cdna5": 8}


@pytest.mark.triton
@pytest.mark.filterwarnings("ignore")
def test_the_record_is_what_triton_says_today():
    from oracles import triton_layouts

    assert list(triton_layouts.linear_layouts()) == RECORD["linear"]
    assert list(triton_layouts.addresses()) == RECORD["addresses"]
    assert "triton" in sys.modules
