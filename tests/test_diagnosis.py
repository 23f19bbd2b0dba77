"""The report on a wrong D: every known mistake, made on random input, is named; nothing else is."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mmacalc
from mmacalc.cli import answer
from mmacalc.diagnosis.candidates import Candidate
from mmacalc.diagnosis.compare import diagnose, product
from mmacalc.diagnosis.inputs import encoded, random
from mmacalc.diagnosis.mistakes import MISTAKES
from mmacalc.diagnosis.problem import problem_of
from mmacalc.diagnosis.search import MARGIN
from mmacalc.emulator.execution import execution_of


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


@pytest.mark.parametrize(("arch", "name"), INSTRUCTIONS)
def test_every_mistake_is_named_when_it_is_made_and_none_when_it_is_not(arch, name):
    inst, inputs = sample(arch, name)
    assert diagnose(inst, inst.multiply(**inputs), **inputs).different == 0
    extras = {key: value for key, value in inputs.items() if key not in "abc"}
    problem = problem_of(inst, inputs["a"], inputs["b"], inputs["c"], False, extras)
    known = [candidate for mistake in MISTAKES for candidate in mistake(problem)]
    assert len(known) > 500
    for candidate in known[7::401]:
        codes = candidate.outcome.result()
        found = diagnose(inst, codes[0], bits=True, **encoded(problem.execution, inputs))
        assert found.right or found.explanations[0].exact, candidate.name


def test_the_usual_mistakes_are_made_here_by_hand_and_named():
    inst, given = sample("gfx942", "v_mfma_f32_32x32x8_f16")
    a, b, c = given["a"], given["b"], given["c"]
    d = inst.multiply(a, b, c)

    def explained(wrong, **modifiers):
        return diagnose(inst, wrong, a, b, c, **modifiers).explanations[0].name

    assert "transposed" in explained(d.T)
    assert explained(inst.multiply(b.T, a.T, c)).startswith("A and B are swapped")
    f16 = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    square = np.random.default_rng(7).standard_normal((3, 16, 16))
    other = diagnose(f16, f16.multiply(square[1], square[0], square[2]), *square)
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
    ampere = diagnose(inst, problem.run(turing)[0].view(np.float32), a, b, c)
    assert ampere.right
    assert ampere.arithmetic[0].name == "the sum is formed as on turing, ampere, ada (aligned_truncated)"


def test_no_two_explanations_say_the_same():
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16")
    rng = np.random.default_rng(9)
    a, b, c = (rng.standard_normal((16, 16)) for _ in range(3))
    twice = np.concatenate([a[:8], a[:8]])
    for wrong in (inst.multiply(a.T, b), inst.multiply(twice, b, c)):
        names = [each.name for each in mmacalc.diagnose(inst, wrong, a, b, c).explanations]
        assert names
        assert len(names) == len(set(names))


def test_the_cheapest_explanation_is_first_and_costly_candidates_are_not_made(monkeypatch):
    made = []
    new = Candidate.__new__
    monkeypatch.setattr(Candidate, "__new__", lambda cls, *given, **named: made.append(0) or new(cls, *given, **named))
    inst, given = sample("gfx942", "v_mfma_f32_16x16x16_f16")
    d = inst.multiply(**given)
    found = diagnose(inst, d.T, **given)
    assert found.explanations[0].cost == 0
    assert 0 < len(made) < 150
    integer, codes = sample("gfx942", "v_mfma_i32_16x16x32_i8")
    backwards = integer.multiply(codes["a"][:, ::-1], codes["b"], codes["c"])
    several = diagnose(integer, backwards, **codes).explanations
    costs = [one.cost for one in several]
    assert len(costs) > 1
    assert costs == sorted(costs)
    assert costs[-1] <= costs[0] + MARGIN
    both = diagnose(inst, inst.multiply(given["a"], given["b"].T, 0), **given).explanations[0]
    assert both.cost > 2 * costs[0]


def test_integers_through_f32_and_a_loop_over_k_that_runs_too_far_are_named():
    inst, rng = mmacalc.instruction("gfx942", "v_mfma_i32_16x16x32_i8"), np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, shape) for shape in ((16, 32), (32, 16)))
    c = rng.integers(-(2**30), 2**30, (16, 16))
    d = inst.multiply(a, b, c).astype(np.float32).astype(np.int64)
    assert "D went through f32" in diagnose(inst, d, a, b, c).explanations[0].name
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
        assert said in diagnose(inst, d, a, b).explanations[0].name
    every_second = product(inst, a[:, np.arange(64) // 16 % 2 == 0], b[np.arange(64) // 16 % 2 == 0])
    found = diagnose(inst, every_second, a, b).explanations[0]
    assert found.name == "only every 2nd step along K is added, from step 0"


def test_broadcasts_and_blocks_are_named():
    inst, given = sample("gfx942", "v_mfma_f32_4x4x4_16b_f16")
    d = inst.multiply(**given, cbsz=2, abid=1)
    assert "CBSZ = 2, ABID = 1" in diagnose(inst, d, **given).explanations[0].name
    assert "no modifier" in diagnose(inst, inst.multiply(**given), **given, cbsz=2, abid=1).explanations[0].name
    assert "BLGP = 3" in diagnose(inst, inst.multiply(**given, blgp=3), **given).explanations[0].name
    shifted = np.roll(inst.multiply(**given), -1, axis=0)
    assert diagnose(inst, shifted, **given).explanations[0].name == "the blocks of D are shifted by 1"


def test_a_partly_wrong_tile_is_located():
    inst, given = sample("gfx942", "v_mfma_f32_32x32x8_f16")
    d = inst.multiply(**given)
    wrong = d.copy()
    wrong[8:12] = 0
    found = diagnose(inst, wrong, **given)
    assert found.different == 128
    assert found.explanations[0].name == "D is zero in rows 8-11: not computed, or not stored"
    wrong = d.copy()
    wrong[3, 4] += 1
    assert diagnose(inst, wrong, **given).where == ("They lie in row 3, column 4, lane 4, register 3.",)


def test_rounding_alone_is_told_from_a_mistake():
    inst, given = sample("gfx950", "v_mfma_f32_32x32x16_f16")
    d = inst.multiply(**given)
    near = np.nextafter(d, np.float32(np.inf))
    found = diagnose(inst, near, **given)
    assert found.rounding
    assert found.max_ulps == 1
    products = given["a"].astype(np.float32)[:, :, None] * given["b"].astype(np.float32)
    total = np.zeros((32, 32), np.float32)
    for k in range(16):
        total = total + products[:, k]
    total = total + given["c"].astype(np.float32)
    assert "each rounded to f32, in the order of k, C last" in diagnose(inst, total, **given).arithmetic[0].name


@pytest.mark.parametrize("name", ["v_wmma_scale_f32_16x16x128_f8f6f4", "v_wmma_scale16_f32_16x16x128_f8f6f4"])
def test_scaled_products_are_compared_with_a_d_of_zeros(name):
    inst, given = sample("gfx1250", name)
    found = diagnose(inst, np.zeros((16, 16)), **given)
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
    assert line(*inputs, "--compare", paths["d"]).out.endswith("all 256 elements are equal to the bit.\n")
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
