"""What the command line adds for CDNA4 and CDNA5: chosen formats, scales, 6-bit elements, provenance."""

import json

import pytest

import mmacalc
from closed_forms import distinct
from formula_reader import evaluate
from mmacalc.cli import answer
from samples import sampled

PLAIN = ["-a", "gfx950", "-i", "v_mfma_f32_16x16x128_f8f6f4"]
SCALED = ["-a", "MI355X", "-i", "v_mfma_scale_f32_16x16x128_f8f6f4"]
WMMA = ["-a", "gfx1250", "-i", "v_wmma_scale_f32_16x16x128_f8f6f4"]


def lines(*argv):
    done = answer(argv)
    assert (done.status, done.err) == (0, "")
    return done.out.splitlines()


def test_a_6_bit_element_across_two_registers_prints_both_pieces():
    for choice in ("2", "fp6", "FP6", "e2m3"):
        assert lines(*PLAIN, "-A", "--cbsz", choice, "-g", "-I", "3", "-K", "5")[2:] == [
            "A[3][5] = v0{3}.[31:30] v1{3}.[3:0]"
        ]
    assert lines(*PLAIN, "-B", "--blgp", "bf6", "-m", "-r", "1", "-l", "3")[2:4] == [
        "v1{3}.[3:0] = B[5][3]",
        "v1{3}.[9:4] = B[6][3]",
    ]
    header = next(line for line in lines(*PLAIN, "-A", "--cbsz", "3", "-M") if "lane" in line)
    assert [cell.strip() for cell in header.split("|")][2:9] == [
        "v0.[5:0]", "v0.[11:6]", "v0.[17:12]", "v0.[23:18]", "v0.[29:24]", "v0.[31:30]", "v1.[3:0]",
    ]  # fmt: skip


def test_the_formats_of_a_move_the_elements_of_a_alone():
    split, together = "v4{3}.[7:0]", "v0{35}.[3:0]"
    assert lines(*PLAIN, "-A", "-g", "-I", "3", "-K", "64")[2:] == [f"A[3][64] = {split}"]
    assert lines(*PLAIN, "-A", "-g", "-I", "3", "-K", "64", "--cbsz", "fp4")[2:] == [f"A[3][64] = {together}"]
    mixed = lines(*PLAIN, "-D", "-g", "-o", "-I", "3", "-J", "5", "--cbsz", "fp4")[2]
    assert f"Src0_{together}*Src1_v4{{5}}.[7:0]" in mixed


def test_scales_are_answered_by_all_four_queries():
    assert lines(*SCALED, "--scale-a", "-g", "-I", "3", "-K", "40")[2:] == ["SA[3][40] = v0{19}.[7:0]"]
    high = ["--op-sel-hi", "2", "--opsel", "3"]
    assert lines(*SCALED, "--scale-b", "-g", "-J", "3", "-K", "40", *high)[2:] == ["SB[40][3] = v0{19}.[31:24]"]
    assert lines(*SCALED, "--scale_b", "-m", "-l", "19")[2:] == ["v0{19}.[7:0] = SB[32..63][3]"]
    assert "|     19 | SA[3][32..63]   |" in lines(*SCALED, "--scale-a", "-M")
    row = next(line for line in lines(*SCALED, "--scale-a", "-R", "--csv") if line.startswith("3,"))
    assert row.split(",")[1:] == [f"v0{{{16 * (k // 32) + 3}}}.[7:0]" for k in range(128)]


def test_the_output_calculation_groups_the_products_that_share_scales():
    text = lines(*SCALED, "-D", "-m", "-o", "-r", "1", "-l", "2")[2]
    assert text.startswith("v1{2} = D[1][2] = SA[1][0..31]*SB[0..31][2]*(A[1][0]*B[0][2] + A[1][1]*B[1][2] + ")
    assert "A[1][31]*B[31][2]) + SA[1][32..63]*SB[32..63][2]*(A[1][32]*B[32][2] + " in text
    assert text.endswith("A[1][127]*B[127][2]) + C[1][2]")
    places = lines(*SCALED, "-D", "-g", "-o", "-I", "1", "-J", "2")[2]
    assert "ScaleSrc0_v0{17}.[7:0]*ScaleSrc1_v0{18}.[7:0]*(Src0_v0{33}.[7:0]*" in places
    found = json.loads(answer([*SCALED, "-D", "-g", "-o", "-I", "1", "-J", "2", "--json"]).out)
    assert [(entry["first_k"], entry["last_k"]) for entry in found["scales"]] == [
        (0, 31),
        (32, 63),
        (64, 95),
        (96, 127),
    ]
    assert found["scales"][1]["a"]["location"]["lane"] == 17
    blocks = lines("-a", "gfx1250", "-i", "v_wmma_scale16_f32_32x16x128_f4", "-D", "-m", "-o")[2]
    assert blocks.count("*(") == 8


def test_the_page_without_a_choice_has_the_table_of_all_formats():
    page = lines(*SCALED, "-d")
    table = [[cell.strip() for cell in line.split("|")[1:6]] for line in page if line.startswith("        |")]
    assert table[:6] == [
        ["value", "format", "encoding", "bits", "GPRs"],
        ["0", "FP8", "e4m3", "8", "8"],
        ["1", "BF8", "e5m2", "8", "8"],
        ["2", "FP6", "e2m3", "6", "6"],
        ["3", "BF6", "e3m2", "6", "6"],
        ["4", "FP4", "e2m1", "4", "4"],
    ]
    assert "        FLOPs/CU/cycle: 8192" in page
    assert "        FLOPs/CU/cycle where A and B have at most 6 bits: 16384" in page
    assert "        Order of rounding: unconfirmed" in page


def test_the_page_of_a_choice_is_about_that_choice():
    page = lines(*SCALED, "-d", "--cbsz", "fp4", "--blgp", "fp6")
    for line in ("GPRs required for A: 4", "GPRs required for B: 6", "Execution cycles: 16", "FLOPs/CU/cycle: 16384"):
        assert f"        {line}" in page
    assert "        VALU co-execution cycles: assumed" in page
    assert not [line for line in page if line.startswith("        |")]
    found = json.loads(answer([*SCALED, "-d", "--cbsz", "fp4", "--json"]).out)
    assert (found["chosen"], found["cycles"]) == ({"cbsz": 4}, 32)
    assert [value["registers"] for value in found["format_choices"][0]["values"]] == [8, 8, 6, 6, 4]


@pytest.mark.parametrize("arch", ["cdna4", "cdna5", "gfx1251"])
@sampled("step", [4, 1], 1)
def test_every_formula_of_every_page_evaluates_to_the_place_and_back(arch, step):
    operands = [inst.operand(name) for inst in mmacalc.instructions(arch) for name in inst.operands]
    for inst in mmacalc.instructions(arch):
        for field, name in inst.choices.items():
            operands += [inst.operand(name, **{field: value}) for value in inst.modifier_limits()[field]]
    for operand in list(distinct(operands))[::step]:
        evaluate(operand)


def test_fields_that_choose_index_sets_are_supported_where_there_are_several():
    new, kept = "v_smfmac_f32_16x16x128_fp8_fp8", "v_smfmac_f32_16x16x64_fp8_fp8"
    pages = {name: lines("-a", "gfx950", "-i", name, "-d") for name in (new, kept)}
    assert "        CBSZ and ABID bits supported: False" in pages[new]
    assert "        CBSZ and ABID bits supported: True" in pages[kept]


def test_a_page_without_doubts_has_no_word_of_them():
    for name in ("v_mfma_f32_16x16x4_f32", "v_mfma_f64_16x16x4_f64"):
        assert "    Provenance:" not in lines("-a", "gfx950", "-i", name, "-d")


def test_pages_that_amds_tool_does_not_have_name_the_intrinsic_and_the_arithmetic():
    page = lines("-a", "gfx950", "-i", "v_mfma_f32_16x16x32_f16", "-d")
    at = page.index("    Compiler intrinsic:")
    assert "__builtin_amdgcn_mfma_f32_16x16x32_f16(_Float16 x8, " in page[at + 1]
    assert "@llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half>, " in page[at + 2]
    assert page[at + 3] == "    Arithmetic:"
    assert "assumed" in page[at + 5]
    found = json.loads(answer(["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-d", "--json"]).out)
    assert found["intrinsics"]["64"][0]["builtin"] == "__builtin_amdgcn_mfma_f32_16x16x16f16"
    assert found["numerics"]["model"] == "two_stage_floored"


def test_what_nobody_has_confirmed_is_said_in_text_and_json():
    doubtful = ["-a", "gfx1250", "-i", "v_wmma_f32_16x16x64_fp8_fp8", "-A", "-g", "-I", "3", "-K", "20"]
    assert lines(*doubtful)[2:] == ["Provenance: the layout of A is unconfirmed", "A[3][20] = v1{19}.[7:0]"]
    assert json.loads(answer([*doubtful, "--json"]).out)["provenance"] == "unconfirmed"
    index = ["-a", "gfx1250", "-i", "v_swmmac_f32_16x16x128_fp8_fp8", "-k", "-g", "-I", "3", "-K", "40"]
    assert lines(*index)[2:] == ["K[3][40] = v1{3}.[11:8]"]
    assert json.loads(answer([*index, "--json"]).out)["provenance"] == "hardware-verified"
    page = lines("-a", "gfx1250", "-i", "v_wmma_f32_16x16x64_fp8_fp8", "-d")
    doubts = page[page.index("    Provenance:") + 1 : page.index("    Compiler intrinsic:")]
    expected = ["Execution cycles: unconfirmed", "Layout of A: unconfirmed", "Layout of B: unconfirmed"]
    assert [line.strip() for line in doubts if line.strip()] == expected
    assert "Provenance" not in answer(["-a", "gfx1250", "-i", "v_wmma_f32_16x16x64_fp8_fp8", "-D", "-g"]).out


def test_the_classic_spelling_of_formats_is_understood_on_cdna5():
    for option in ("--cbsz", "--matrix-a-fmt", "--matrix_a_fmt"):
        assert lines(*WMMA, "-A", option, "fp4", "-g", "-K", "40")[2:] == ["A[0][40] = v1{16}.[3:0]"]
    assert lines(*WMMA, "--scale-a", "-g", "-I", "2", "-K", "40", "--matrix-a-scale", "1")[2:] == [
        "SA[2][40] = v0{18}.[15:8]"
    ]


def test_the_formats_of_both_operands_go_with_every_operand():
    for operand in ("-A", "-B", "-C", "-D"):
        for first, second in (("bf6", "bf8"), ("fp8", "fp4"), ("fp4", "fp8")):
            own = {"-A": ("--cbsz", first), "-B": ("--blgp", second)}.get(operand, ())
            query = [*PLAIN, operand, "-R"]
            assert answer([*query, "--cbsz", first, "--blgp", second]) == answer([*query, *own])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([*PLAIN, "-A", "-g", "--cbsz", "5"], "CBSZ of v_mfma_f32_16x16x128_f8f6f4 is 0 (fp8)"),
        ([*PLAIN, "-A", "-g", "--cbsz", "fp7"], "'fp7' is not a format of f8f6f4"),
        ([*PLAIN, "-A", "-g", "--blgp", "fp4"], "--blgp has no effect on A"),
        ([*PLAIN, "--scale-a", "-g"], "has no SA matrix"),
        ([*SCALED, "--scale-a", "-g", "--opsel", "4"], "OPSEL of v_mfma_scale_f32_16x16x128_f8f6f4 is 0 to 3; got 4"),
        ([*SCALED, "--scale-a", "-B", "-g"], "were given together"),
        (["-a", "cdna3", "-i", "v_mfma_f32_4x4x1_16b_f32", "-A", "-g", "--cbsz", "fp4"], "should be a number"),
        (["-a", "gfx1250", "-i", "v_swmmac_f32_16x16x128_fp8_fp8", "-k", "-g", "--opsel", "1"], "is 0; got 1"),
    ],
)
def test_what_does_not_fit_is_refused(argv, message):
    done = answer(argv)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_find_finds_an_instruction_by_each_format_it_can_take():
    for wanted in ("fp4", "f8f6f4"):
        assert "v_mfma_f32_16x16x128_f8f6f4" in answer(["find", "-a", "gfx950", "--a", wanted]).out
    assert "f8f6f4" not in answer(["find", "-a", "gfx950", "--a", "f16"]).out
