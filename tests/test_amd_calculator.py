"""Ours against AMD's Matrix Instruction Calculator 1.3.2: recorded answers and its README's examples."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mmacalc
import recorded
from formula_reader import evaluate
from mmacalc.cli import answer, command_parser
from mmacalc.questions.classic import layouts
from mmacalc.questions.classic.places import held_texts, matrix_entry
from samples import sampled

SCRIPT = Path(__file__).parents[1] / "matrix_calculator.py"
ANSWERS = recorded.json_lines("amd/outputs_v1.3.2.jsonl.gz")
LAYOUTS = recorded.json_lines("amd/layouts_v1.3.2.jsonl.gz")
SIGNS = recorded.json_lines("amd/signs_v1.3.2.jsonl.gz")
EXAMPLES = recorded.json_file("amd/readme_examples.json.gz")
CLASSIC = ("cdna1", "cdna2", "cdna3", "rdna3", "rdna4")

# AMD's tool prints 0x54 for these too; the opcodes are LLVM's (docs/isa-errata.md).
WRONG_OPCODES = {
    ("cdna1", "v_mfma_i32_16x16x16i8"), ("cdna2", "v_mfma_i32_16x16x16i8"),
    ("cdna3", "v_mfma_i32_32x32x16_i8"), ("cdna3", "v_mfma_i32_16x16x32_i8"),
}  # fmt: skip


def test_every_recorded_answer_is_ours_to_the_byte():
    differing = []
    for row in [*ANSWERS, *LAYOUTS, *SIGNS]:
        if row["kind"] == "detail":
            continue
        ours = answer(row["argv"])
        expected = (0, row["stdout"]) if row["exit"] == 0 else (2, "")
        if (ours.status, ours.out) != expected:
            differing.append(" ".join(row["argv"]))
    assert differing == []


INTEGER = ["-a", "rdna4", "-i", "v_swmmac_i32_16x16x32_iu8", "--neg", "1"]
PAIRS = ["-a", "rdna4", "-i", "v_swmmac_f32_16x16x32_f16"]


@pytest.mark.parametrize(
    ("action", "shown"), [("-A -m", "A["), ("-A -M", "A["), ("-A -R", "v0{"), ("-D -g -o", "Src0_"), ("-D -m -o", "A[")]
)
def test_the_minus_that_amds_tool_puts_before_signed_integers_is_printed_and_disowned(action, shown):
    status, text, note = answer([*INTEGER, *action.split()])
    assert status == 0
    assert "without negation" in note
    assert 2 * text.count(f"-{shown}") == text.count(shown) > 0  # half of A lies in the low halves of its registers
    assert '"negated": true' not in answer([*INTEGER, *action.split(), "--json"]).out


def test_the_minus_of_amds_tool_is_disowned_just_where_it_is_printed():
    """Every instruction with NEG: of integers, only pairs of 8 bits are given one, and floats have none."""
    disowned = 0
    for row in SIGNS:
        reply = answer(row["argv"])
        minus = re.search(r"-A\[|-Src0|= -v", reply.out) and "_i32_" in reply.out.lower()
        assert ("without negation" in reply.err) == bool(minus), row["argv"]
        disowned += bool(minus)
    assert disowned > 5


# Of AMD's tool 1.3.2: the long names of its options, each of which is one option; those of several words are spelt with
# hyphens and with underscores, except neg_hi.
AMDS_WORDS = (
    "version", "architecture", "instruction", "block", "register", "lane", "wavefront", "csv", "markdown", "asciidoc",
    "transpose", "compression", "cbsz", "abid", "blgp", "opsel", "neg",
)  # fmt: skip
AMDS_NAMES = (
    "list_instructions", "detail_instruction", "A_matrix", "B_matrix", "C_matrix", "D_matrix", "get_register",
    "I_coordinate", "J_coordinate", "K_coordinate", "matrix_entry", "output_calculation", "register_layout",
    "matrix_layout",
)  # fmt: skip
AMDS_OPTIONS = {name: (name,) for name in (*AMDS_WORDS, "neg_hi")}
AMDS_OPTIONS |= {name: (name.replace("_", "-"), name) for name in AMDS_NAMES}


def test_every_abbreviation_that_amds_tool_takes_is_taken_and_means_the_same():
    """A prefix of its options is one of them if no other option of it begins so; what we have besides takes no part."""
    parser, taken = command_parser(""), 0
    begins = {word[:length] for words in AMDS_OPTIONS.values() for word in words for length in range(1, len(word) + 1)}
    for prefix in sorted(begins):
        meant = {name for name, words in AMDS_OPTIONS.items() if any(word.startswith(prefix) for word in words)}
        meant = {name for name, words in AMDS_OPTIONS.items() if prefix in words} or meant
        if len(meant) > 1:
            continue
        (name,) = meant
        action = next(action for action in parser._actions if f"--{AMDS_OPTIONS[name][0]}" in action.option_strings)
        value = [] if action.nargs == 0 else ["3"]
        options = parser.parse_args(["-a", "cdna1", "-i", "x", f"--{prefix}", *value])
        assert getattr(options, action.dest) == (
            True if action.nargs == 0 else action.type(*value) if action.type else "3"
        )
        taken += 1
    assert taken > 200


@pytest.mark.parametrize("neg", [0, 1])
@pytest.mark.parametrize("neg_hi", [0, 1])
def test_json_negates_the_stored_values_of_a_sparse_a_as_the_emulator_does(neg, neg_hi):
    stored = np.zeros((16, 16))
    stored[3, :2] = 1, 10
    index = np.tile([0, 1], (16, 8))
    swmmac = mmacalc.instruction(*PAIRS[1::2])
    total = swmmac.multiply(stored, np.ones((32, 16)), index=index, neg=neg, neg_hi=neg_hi)[3, 0]
    low, high = {11: (False, False), 9: (True, False), -9: (False, True), -11: (True, True)}[int(total)]
    assert (low, high) == (neg == 1, neg_hi == 1)
    half = {(True, False): "low", (False, True): "high"}.get((low, high))
    expected = json.dumps({"negated": None if half else low, "negated_half": half})[1:-1]
    query = [*PAIRS, "--neg", str(neg), "--neg_hi", str(neg_hi)]
    for action in (["-A", "-m", "-l", "3"], ["-A", "-g", "-I", "3"], ["-A", "-R"], ["-D", "-g", "-I", "3", "-o"]):
        assert expected in answer([*query, *action, "--json"]).out
        assert not re.search(r"-(?:A\[|v\d|Src0)", answer([*query, *action]).out)
    for action in (["-A", "-m"], ["-A", "-R"], ["-A", "-M"], ["-D", "-g", "-o"], ["-D", "-m", "-o"]):
        assert ("negate" in answer([*query, *action]).err) == (low or high)


def test_the_registers_and_the_matrix_show_the_same_signs():
    rng = random.Random(5)
    for arch in CLASSIC:
        for inst in mmacalc.instructions(arch):
            fields = [name for name in ("neg", "neg_hi") if name in inst.modifier_limits()]
            fields += ["blgp"] if arch == "cdna3" and inst.formats["A"] == "f64" else []
            for _ in range(3 if fields else 0):
                values = {name: rng.choice(inst.modifier_limits()[name]) for name in fields}
                for name in set("ABC") & set(inst.operands):
                    operand = inst.operand(name, **values)
                    columns = layouts.register_columns(layouts.matrix_layout(operand))
                    elements = "".join(text for _, cells in columns for text in cells)
                    places = "".join(map("".join, layouts.block_cells(layouts.register_layout(operand), 0)))
                    for mark in ("-", "|"):
                        assert (mark in elements) == (mark in places), (arch, inst.name, name, values)


@sampled("arch", mmacalc.architectures(), 9)
def test_the_matrix_table_shows_what_each_register_of_each_lane_holds(arch):
    """The table adds up one-dimensional tables; `Operand.contents` goes backwards through the layout."""
    rng = random.Random(7)
    known = mmacalc.instructions(arch)
    for inst in rng.sample(known, min(5, len(known))):
        chosen = {field: rng.choice(values) for field, values in inst.modifier_limits().items() if field != "abid"}
        for name in inst.register_operands:
            operand = inst.operand(name, **chosen)
            columns = [cells for _, cells in layouts.register_columns(layouts.matrix_layout(operand))]
            for lane in rng.sample(range(operand.lanes), 4):
                shown = [line for cells in columns for line in cells[lane].split("\n") if line]
                held = [held_texts(operand, matrix_entry(operand, r, lane).elements) for r in range(operand.registers)]
                assert sorted(set(shown)) == sorted({text for texts in held for _, text in texts}), operand


def test_a_transposed_matrix_is_the_transpose_without_the_lanes_that_nothing_reads():
    query = ["-a", "cdna2", "-i", "v_mfma_f32_4x4x4f16", "-A", "-M", "--cbsz", "2", "--abid", "1", "--csv"]
    table = [line.split(",") for line in answer(query).out.splitlines()[2:]]
    turned = [line.split(",") for line in answer([*query, "--transpose"]).out.splitlines()[2:]]
    assert turned == [list(column) for column in zip(*table)]
    assert [row[0] for row in table[1:]] == [str(16 * group + lane) for group in range(4) for lane in range(4, 8)]


def test_elements_read_by_several_lanes_are_listed_by_column_as_amds_tool_does():
    query = ["-a", "cdna2", "-i", "v_mfma_f32_32x32x2f32", "-B", "-m", "-l", "12", "--blgp", "4"]
    texts = [line.split(" = ")[1] for line in answer(query).out.splitlines()[2:]]
    assert texts == ["B[0][12]", "B[1][12]", "B[0][28]", "B[1][28]"]


def test_the_indices_that_fill_their_register_are_all_listed():
    query = ["-a", "rdna4", "-i", "v_swmmac_i32_16x16x64_iu4", "-k", "-m", "-l", "10"]
    reply = answer(query)
    assert reply.err == ""
    assert len(reply.out.splitlines()) == 2 + 32
    assert "leaves out 12" in answer([*PAIRS, "-k", "-m"]).err


def test_what_amds_tool_answers_without_its_mattering_is_answered():
    for options in (["--neg", "3"], ["--neg_hi", "5"]):
        assert answer([*PAIRS, "-k", "-R", *options]) == answer([*PAIRS, "-k", "-R"])
    plain, explained = (answer(["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-D", "-M", *o]) for o in ([], ["-o"]))
    assert plain.out == explained.out
    assert "-o explains one element" in explained.err
    assert answer([*PAIRS, "-D", "-M", "-o", "--neg", "1"]).status == 2


@pytest.mark.parametrize("wrong", [["-A", "-g", "-J", "99"], ["-D", "-g", "-K", "32"], ["-d", "-w", "16"]])
def test_a_number_beyond_the_instruction_is_refused_where_it_does_not_matter_too(wrong):
    assert answer([*PAIRS, *wrong]).status == 2


def test_the_script_runs_by_itself_and_through_a_link_and_names_the_python_it_needs(tmp_path):
    query, expected = ["-a", "cdna3", "-L"], answer(["-a", "cdna3", "-L"]).out
    link = tmp_path / "calculator"
    link.symlink_to(SCRIPT)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": ""}
    for command in (SCRIPT, link):
        done = subprocess.run([command, *query], capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    old = f"import runpy, sys; sys.version_info = (3, 9, 2); runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", old], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mmacalc needs Python 3.10 or later; this is 3.9\n"


def parts_of(page):
    """A detail page's lines outside the formulas, and the formulas' labels in order."""
    lines, labels, within = [], [], False
    for line in page.splitlines():
        within = within or "mapping with no modifiers" in line
        label = re.match(r" {8}((?:C or D|compression|[ABD])\S* \w+):", line)
        if within and label:
            labels.append(label[1])
        elif not within or "mapping" in line:
            lines.append(line)
    return lines, labels


def test_every_recorded_detail_page_is_ours_but_for_its_formulas_and_four_opcodes():
    pages = [row for row in ANSWERS if row["kind"] == "detail"]
    assert len(pages) == 48
    for row in pages:
        theirs, ours = parts_of(row["stdout"]), parts_of(answer(row["argv"]).out)
        if (row["argv"][1], row["argv"][3]) in WRONG_OPCODES:
            theirs, ours = (([line for line in part[0] if "Opcode" not in line], part[1]) for part in (theirs, ours))
        assert ours == theirs, row["argv"]


def test_the_four_opcodes_that_amds_tool_has_wrong_are_llvms():
    opcodes = {key: mmacalc.instruction(*key).opcode for key in sorted(WRONG_OPCODES)}
    assert list(opcodes.values()) == [0x55, 0x55, 0x57, 0x56]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: " ".join(example["argv"])[:60])
def test_every_example_of_amds_readme_is_ours_to_the_byte(example):
    expected = example["stdout"]
    if example["argv"][-4:] == ["--cbsz", "1", "--abid", "3"]:
        # 1.3.2 corrected this one: CBSZ[1:0] = 1 selects the first index set, whatever ABID is.
        expected = expected.replace("v0{50}.[31:28]", "v0{50}.[7:4]")
    assert answer(example["argv"]) == (0, expected, "")


@pytest.mark.parametrize("arch", CLASSIC)
def test_every_formula_of_every_page_evaluates_to_the_place_and_back(arch):
    different = {}
    for instruction in mmacalc.instructions(arch):
        for wave in instruction.architecture.waves:
            for name in instruction.operands:
                operand = instruction.operand(name, wave)
                different[operand.layout, operand.placement.slot_bits] = operand
    for operand in different.values():
        evaluate(operand)
