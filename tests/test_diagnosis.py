"""The report on a wrong D: every known mistake, made on random input, is named; nothing else is."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from mmacalc.cli import answer
from mmacalc.diagnosis.compare import diagnose, product
from mmacalc.diagnosis.edits import Suspect, source_of
from mmacalc.diagnosis.inputs import encoded, random
from mmacalc.diagnosis.library import LIBRARY, memory, registers
from mmacalc.diagnosis.problem import problem_of, whole
from mmacalc.diagnosis.search import MARGIN
from mmacalc.diagnosis.words import description
from mmacalc.emulator.execution import execution_of
from samples import sampled

AMPERE = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def sample(arch, name, seed=1, **modifiers):
    inst = mmacalc.instruction(arch, name)
    execution = execution_of(inst, None, modifiers, False, False)
    return inst, random(execution, seed)


INSTRUCTIONS = [
    ("gfx942", "v_mfma_f32_16x16x16_f16"),
    ("gfx942", "v_mfma_f32_32x32x8_f16"),
    ("gfx942", "v_mfma_f32_4x4x4_16b_f16"),
    ("gfx942", "v_mfma_i32_16x16x32_i8"),
    ("gfx942", "v_smfmac_f32_16x16x32_f16"),
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4"),
    ("gfx1100", "v_wmma_f16_16x16x16_f16"),
    ("gfx1200", "v_wmma_i32_16x16x16_iu8"),
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16"),
]


@sampled("step", [1203, 401], 1, whole=0)
@sampled(("arch", "name"), INSTRUCTIONS, 4)
def test_every_mistake_is_named_when_it_is_made_and_none_when_it_is_not(arch, name, step):
    inst, inputs = sample(arch, name)
    assert diagnose(inst, d=inst.multiply(**inputs), **inputs).different == 0
    extras = {key: value for key, value in inputs.items() if key not in "abc"}
    problem = problem_of(inst, inputs["a"], inputs["b"], inputs["c"], False, extras)
    known = [Suspect(problem, edit) for _, mistake in LIBRARY for edit in mistake(problem)]
    assert len(known) > 500
    assert all(description(problem, suspect.edits) for suspect in known)  # every kind has its words
    for suspect in known[7::step]:
        codes = suspect.result()
        found = diagnose(inst, d=codes[0], bits=True, **encoded(problem.execution, inputs))
        assert found.right or found.explanations[0].exact, suspect.rule


def test_the_usual_mistakes_are_made_here_by_hand_and_named():
    inst, given = sample("gfx942", "v_mfma_f32_32x32x8_f16")
    a, b, c = given["a"], given["b"], given["c"]
    d = inst.multiply(a, b, c)

    def explained(wrong, **modifiers):
        return diagnose(inst, a, b, c, d=wrong, **modifiers).explanations[0].name

    assert "transposed" in explained(d.T)
    assert explained(inst.multiply(b.T, a.T, c)).startswith("A and B are swapped")
    f16 = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    square = np.random.default_rng(7).standard_normal((3, 16, 16))
    other = diagnose(f16, *square, d=f16.multiply(square[1], square[0], square[2]))
    assert other.explanations[0].name == "A and B are swapped: D is B A + C"
    assert "k is not in the same order in A and B: A has it with its halves swapped" in explained(
        inst.multiply(a[:, [4, 5, 6, 7, 0, 1, 2, 3]], b, c)
    )
    assert explained(d - c.astype(np.float32)) == "C is not added"
    table, file = inst.operand("D").table(), np.empty((16, 64), np.float32)
    file[table["register"], table["lane"]] = d
    assert "registers and lanes are exchanged" in explained(file.reshape(32, 32))
    assert "rows and lanes are exchanged" in explained(file.T.reshape(32, 32))
    assert "D is displaced by +4 rows" in explained(d[np.r_[4:32, 0:4]])
    assert "ran instead" in explained(
        mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_bf16")
        .multiply_bits(*(x.astype(np.float16).view(np.uint16) for x in (a, b)), c.astype(np.float32).view(np.uint32))
        .view(np.float32)
    )
    problem = problem_of(inst, a, b, c, False, {})
    turing = problem.execution.with_numerics(
        "T", {"group": 8, "fraction": 24, "lowest": -132}
    )  # the model's old letter
    ampere = diagnose(inst, a, b, c, d=problem.run(turing)[0].view(np.float32))
    assert ampere.right
    assert ampere.arithmetic[0].name == "the sum is formed as on turing, ampere, ada (aligned_truncated)"


def test_no_two_explanations_say_the_same():
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16")
    rng = np.random.default_rng(9)
    a, b, c = (rng.standard_normal((16, 16)) for _ in range(3))
    twice = np.concatenate([a[:8], a[:8]])
    for wrong in (inst.multiply(a.T, b), inst.multiply(twice, b, c)):
        names = [each.name for each in mmacalc.diagnose(inst, a, b, c, d=wrong).explanations]
        assert names
        assert len(names) == len(set(names))


def test_the_cheapest_explanation_is_first_and_costly_candidates_are_not_made(monkeypatch):
    made = []
    init = Suspect.__init__
    monkeypatch.setattr(
        Suspect, "__init__", lambda self, *given, **named: made.append(0) or init(self, *given, **named)
    )
    inst, given = sample("gfx942", "v_mfma_f32_16x16x16_f16")
    d = inst.multiply(**given)
    found = diagnose(inst, d=d.T, **given)
    assert found.explanations[0].cost == 0
    assert 0 < len(made) < 150
    integer, codes = sample("gfx942", "v_mfma_i32_16x16x32_i8")
    backwards = integer.multiply(codes["a"][:, ::-1], codes["b"], codes["c"])
    several = diagnose(integer, d=backwards, **codes).explanations
    costs = [one.cost for one in several]
    assert len(costs) > 1
    assert costs == sorted(costs)
    assert costs[-1] <= costs[0] + MARGIN
    both = diagnose(inst, d=inst.multiply(given["a"], given["b"].T, 0), **given).explanations[0]
    assert both.cost > 2 * costs[0]


SHAPES = [("gfx942", "v_mfma_f32_16x16x16_f16"), ("gfx942", "v_mfma_i32_16x16x32_i8"), ("sm_80", AMPERE)]


@pytest.mark.parametrize(("arch", "name"), SHAPES)
def test_a_rule_says_where_elements_come_from_and_a_part_of_it_is_part_of_the_whole(arch, name):
    """Each rule of a matrix in memory against its text read by Python itself, element by element."""
    inst, inputs = sample(arch, name)
    problem = problem_of(inst, inputs["a"], inputs["b"], inputs["c"], False, {})
    for operand in "AB":
        rows, columns = problem.shapes[operand]
        own = {(i, j): {"i": i, "j": j, "k": j if operand == "A" else i, "address": i * columns + j, "R": rows,
                        "C": columns, "size": rows * columns} for i in range(rows) for j in range(columns)}  # fmt: skip
        for number, (_, rule, _) in enumerate(memory(problem, operand)):
            source = source_of(problem, operand, rule)
            found = whole(source)
            part = source.part(np.array([1, 3]), np.array([0, 2, 5]))
            np.testing.assert_array_equal(part, found[np.ix_([1, 3], [0, 2, 5])])
            if "(q" in rule or "(x" in rule or "(r" in rule or "(b" in rule or number % 7:
                continue  # digits; and every seventh of the others
            left, right = rule.split(" if ")[0].split(" -> ")
            condition = rule.split(" if ")[1] if " if " in rule else "True"
            for (i, j), names in own.items():
                values = [eval(x, {}, names) for x in (right.split() if " " in left else [right])]
                there = {**names, **dict(zip(left.split(), values))}
                at = there["address"] if left == "address" else there["i"] * columns + there["j"]
                inside = 0 <= there["i"] < rows and 0 <= there["j"] < columns and 0 <= at < rows * columns
                assert found[i, j] == (at if inside and eval(condition, {}, names) else -1), (rule, i, j)


def test_digits_of_a_rule_are_exchanged_as_in_a_layout():
    inst, inputs = sample("gfx942", "v_mfma_f32_16x16x16_f16")
    problem = problem_of(inst, inputs["a"], inputs["b"], inputs["c"], False, {})
    own = np.arange(256).reshape(16, 16)
    cases = {
        "k (q r) -> k (r q), q=4 r=4": own.reshape(16, 4, 4).transpose(0, 2, 1).reshape(16, 16),
        "i (x u p) j (y v q) -> i (x v p) j (y u q), u=8 v=8 p=1 q=1": own.reshape(2, 8, 2, 8).transpose(0, 3, 2, 1),
        "k (b1 b0) -> k (b0 b1), b1=4 b0=4": own[:, np.arange(16) % 4 * 4 + np.arange(16) // 4],
        "i j -> j i": own.T,
        "register -> [1, 0]": own[:, np.arange(16) ^ 2],
        "lane -> lane ^ 1": own[np.arange(16) ^ 1],
        "bit -> bit ^ 16": own[:, np.arange(16) ^ 1],
    }  # fmt: skip
    for rule, expected in cases.items():
        np.testing.assert_array_equal(whole(source_of(problem, "A", rule)), expected.reshape(16, 16), err_msg=rule)
    rules = [rule for _, rule, _ in registers(problem, "D") if " if " not in rule]
    assert len(rules) > 100
    for rule in rules:  # what is moved lies in D
        found = whole(source_of(problem, "D", rule))
        assert found.min() >= 0
        assert found.max() < 256


def test_two_edits_are_the_cheapest_sequence_and_say_their_rules():
    inst, given = sample("gfx942", "v_mfma_f32_16x16x16_f16")
    d = inst.multiply(given["a"], given["b"].T, 0)
    first = diagnose(inst, d=d, **given).explanations[0]
    assert first.name == "B is transposed; and C is not added" or first.name == "C is not added; and B is transposed"
    assert sorted(first.rule.split("; ")) == ["B: i j -> j i", "C: C is not added"]
    assert diagnose(inst, d=inst.multiply(**given).T, **given).explanations[0].rule == "D: i j -> j i"


def test_a_narrow_accumulator_is_named():
    name = "mma.sync.aligned.m16n8k16.row.col.{0}.f16.f16.{0}"
    wide, narrow = (mmacalc.instruction("sm_80", name.format(form)) for form in ("f32", "f16"))
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    d = narrow.multiply(a, b)
    assert (d != wide.multiply(a, b).astype(np.float16)).any()
    found = diagnose(wide, a, b, d=d).explanations[0]
    assert found.exact
    assert found.name.startswith("the accumulator is f16")
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((32, 256), (256, 32)))
    cdna = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    for form, kept in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        d = np.zeros((32, 32), np.float32)
        for k in range(0, 256, 16):
            d = product(cdna, a[:, k : k + 16], b[k : k + 16], d).astype(kept).astype(np.float32)
        found = diagnose(cdna, a, b, d=d).explanations[0]
        assert found.name == f"the accumulator is {form}: the sum is rounded to it after each step along K"


def test_integers_through_f32_and_a_loop_over_k_that_runs_too_far_are_named():
    inst, rng = mmacalc.instruction("gfx942", "v_mfma_i32_16x16x32_i8"), np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, shape) for shape in ((16, 32), (32, 16)))
    c = rng.integers(-(2**30), 2**30, (16, 16))
    d = inst.multiply(a, b, c).astype(np.float32).astype(np.int64)
    assert "D went through f32" in diagnose(inst, a, b, c, d=d).explanations[0].name
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((32, 64), (64, 32)))
    after_a, after_b = np.roll(a, -1, 0)[:, :16], np.roll(b, -1, 1)[:16]
    after_a[-1], after_b[:, -1] = 0, 0
    further = {
        "step 3 along K is added twice": (a[:, 48:], b[48:]),
        "step 0 along K is added twice": (a[:, :16], b[:16]),
        "A continues in the next row, B in the next column": (after_a, after_b),
    }
    for said, (more_a, more_b) in further.items():
        d = product(inst, np.hstack([a, more_a]), np.vstack([b, more_b]))
        assert said in diagnose(inst, a, b, d=d).explanations[0].name
    every_second = product(inst, a[:, np.arange(64) // 16 % 2 == 0], b[np.arange(64) // 16 % 2 == 0])
    found = diagnose(inst, a, b, d=every_second).explanations[0]
    assert found.name == "only every 2nd step along K is added, from step 0"


def test_broadcasts_and_blocks_are_named():
    inst, given = sample("gfx942", "v_mfma_f32_4x4x4_16b_f16")
    d = inst.multiply(**given, cbsz=2, abid=1)
    assert "CBSZ = 2, ABID = 1" in diagnose(inst, d=d, **given).explanations[0].name
    assert "no modifier" in diagnose(inst, d=inst.multiply(**given), cbsz=2, abid=1, **given).explanations[0].name
    assert "BLGP = 3" in diagnose(inst, d=inst.multiply(**given, blgp=3), **given).explanations[0].name
    shifted = np.roll(inst.multiply(**given), -1, axis=0)
    assert diagnose(inst, d=shifted, **given).explanations[0].name == "the blocks of D are shifted by 1"


def test_a_partly_wrong_tile_is_located():
    inst, given = sample("gfx942", "v_mfma_f32_32x32x8_f16")
    d = inst.multiply(**given)
    wrong = d.copy()
    wrong[8:12] = 0
    found = diagnose(inst, d=wrong, **given)
    assert found.different == 128
    assert found.explanations[0].name == "D is zero in rows 8-11: not computed, or not stored"
    wrong = d.copy()
    wrong[3, 4] += 1
    assert diagnose(inst, d=wrong, **given).where == ("They lie in row 3, column 4, lane 4, register 3.",)


def test_rounding_alone_is_told_from_a_mistake():
    inst, given = sample("gfx950", "v_mfma_f32_32x32x16_f16")
    d = inst.multiply(**given)
    near = np.nextafter(d, np.float32(np.inf))
    found = diagnose(inst, d=near, **given)
    assert found.rounding
    assert found.max_ulps == 1
    products = given["a"].astype(np.float32)[:, :, None] * given["b"].astype(np.float32)
    total = np.zeros((32, 32), np.float32)
    for k in range(16):
        total = total + products[:, k]
    total = total + given["c"].astype(np.float32)
    assert "each rounded to f32, in the order of k, C last" in diagnose(inst, d=total, **given).arithmetic[0].name


@pytest.mark.parametrize("name", ["v_wmma_scale_f32_16x16x128_f8f6f4", "v_wmma_scale16_f32_16x16x128_f8f6f4"])
def test_scaled_products_are_compared_with_a_d_of_zeros(name):
    inst, given = sample("gfx1250", name)
    found = diagnose(inst, d=np.zeros((16, 16)), **given)
    assert found.explanations[0].name == "D is zero in every element: not computed, or not stored"


# --- the command line -------------------------------------------------------------------------------------------------


def line(*words):
    return answer(["run", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", *map(str, words)])


def test_run_reads_writes_and_compares_files(tmp_path):
    inst, given = sample("gfx942", "v_mfma_f32_16x16x16_f16")
    paths = {name: tmp_path / f"{name}.{'csv' if name == 'b' else 'npy'}" for name in "abcd"}
    np.save(paths["a"], given["a"])
    np.save(paths["c"], given["c"])
    np.savetxt(paths["b"], given["b"], delimiter=",")
    inputs = [word for name in "abc" for word in (f"--{name}", paths[name])]
    reply = line(*inputs, "-o", paths["d"])
    assert reply.status == 0
    assert "Arithmetic: two_stage_floored (MMA-Sim: TR-FDPA; group 8, " in reply.out
    assert "two sources agree" in reply.out
    d = np.load(paths["d"])
    np.testing.assert_array_equal(d, inst.multiply(**given))
    assert "Comparison: all 256 elements are equal to the bit.\n" in line(*inputs, "--compare", paths["d"]).out
    np.save(paths["d"], d.T)
    reply = line(*inputs, "--compare", paths["d"])
    assert reply.status == 1
    assert "Explained to the bit: the tile is transposed" in reply.out
    report = json.loads(line(*inputs, "--compare", paths["d"], "--json").out)
    assert report["comparison"]["explanations"][0]["exact"]
    assert report["numerics"]["provenance"] == "two sources agree"


def test_made_up_inputs_show_what_they_should():
    d = np.array(json.loads(line("--one-hot", "3,9", "--json").out)["d"])
    np.testing.assert_array_equal(d[3], np.arange(144, 160))
    assert (np.delete(d, 3, axis=0) == 0).all()
    d = np.array(json.loads(line("--identity", "--json").out)["d"])
    np.testing.assert_array_equal(d, np.arange(256).reshape(16, 16))
    first, again = (json.loads(line("--random", "7", "--json").out)["d"] for _ in range(2))
    assert first == again


def test_registers_are_shown_before_and_after():
    answered = json.loads(line("--random", "1", "--registers", "--json").out)
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    files = {name: np.array(file, np.uint32) for name, file in answered["registers"].items()}
    np.testing.assert_array_equal(inst.execute(files["A"], files["B"], files["C before"]), files["D after"])
    assert "| 00003c00 |" in line("--identity", "--registers").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no --a and no --b"),
        (["--random", "1", "--identity"], "choose one"),
        (["--one-hot", "3"], "such as 3,9"),
        (["--one-hot", "16,0"], "rows are 0 to 15"),
        (["--a", "nowhere.npy", "--b", "nowhere.npy"], "--a: cannot read 'nowhere.npy'"),
        (["--random", "1", "--cbsz", "1"], "has no CBSZ"),
        (["--random", "1", "--clamp"], "no CLAMP"),
        (["--random", "1", "-m", "cbsz"], "NAME=VALUE"),
    ],
)
def test_bad_command_lines_are_refused_with_what_is_right(words, said):
    reply = line(*words)
    assert reply.status == 2
    assert said in reply.err
    assert not reply.out


@pytest.mark.parametrize(
    ("arch", "name"),
    [*INSTRUCTIONS, ("gfx90a", "v_mfma_f32_16x16x16f16"), ("gfx942", "v_mfma_f64_16x16x4_f64"),
     ("sm_90a", "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16"),
     ("sm_120a", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")],
)  # fmt: skip
def test_numerics_explains_and_its_example_holds(arch, name):
    reply = json.loads(answer(["numerics", "-a", arch, "-i", name, "--json"]).out)
    inst, example = mmacalc.instruction(arch, name), reply["example"]
    assert reply["numerics"]["model"] == inst.numerics.model
    assert inst.numerics.provenance in answer(["numerics", "-a", arch, "-i", name]).out
    if inst.integer:
        assert example is None
        return
    answers = [example[key] for key in ("instruction", "exact", "fused")]
    assert len(set(answers)) == (2 if inst.numerics.model in ("exact", "fma_chain") else len(set(answers)))
    assert set(answers) - {example["instruction"]}
    if inst.numerics.model not in ("exact", "fma_chain"):
        assert example["instruction"] not in (example["exact"], example["fused"])


@pytest.mark.parametrize("value", ["cbsz=0x", "cbsz=1z", "cbsz=", "=1", "cbsz", "cbsz=\u0661z", "cbsz=" + "9" * 5000])
@pytest.mark.parametrize("command", ["run", "numerics"])
def test_a_modifier_that_is_no_number_is_refused(command, value):
    status, out, err = answer([command, "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "-m", value])
    assert (status, out) == (2, "")
    assert err.startswith("mmacalc: -m ")
    assert len(err) < 300


def test_ptx_names_and_registers_are_printed_as_ptx_writes_them():
    name = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
    told = answer(["run", "-a", "sm_80", "-i", name, "--random", "1", "--registers"]).out
    assert f"Instruction: {name}\n" in told
    assert "| %r0 " in told
    assert f"Instruction: {name}\n" in answer(["numerics", "-a", "sm_80", "-i", name]).out
    assert answer(["run", "-a", "sm_80", "-i", name, "--one-hot", "3," + "9" * 5000]).status == 2


def test_the_command_diagnose_takes_the_d_of_a_kernel(tmp_path):
    inst, given = sample("gfx942", "v_mfma_f32_16x16x16_f16")
    paths = {name: str(tmp_path / f"{name}.npy") for name in "abcd"}
    for name, array in (*given.items(), ("d", inst.multiply(**given).T)):
        np.save(paths[name], array)
    words = ["diagnose", "-a", "gfx942", "-i", inst.name, *(x for name in "abc" for x in (f"--{name}", paths[name]))]
    reply = answer([*words, "--d", paths["d"]])
    assert reply.status == 1
    assert "Explained to the bit: the tile is transposed" in reply.out
    assert "Arithmetic:" not in reply.out
    found = json.loads(answer([*words, "--d", paths["d"], "--json"]).out)
    assert found["comparison"]["explanations"][0]["rule"] == "D: i j -> j i"
    np.save(paths["d"], inst.multiply(**given))
    assert answer([*words, "--d", paths["d"]]).status == 0
    assert "no D: give the file" in answer(words).err
    assert "--d" in answer([*words, "--d", "nowhere.npy"]).err
