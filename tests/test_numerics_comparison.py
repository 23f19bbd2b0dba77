"""One product on several GPUs: the errors are those of the emulator's D, and no input exceeds the bound of a model."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mmacalc
from mmacalc.arithmetic.codecs import decode
from mmacalc.cli import answer
from mmacalc.emulator.arrays import rounded
from mmacalc.emulator.comparison import DISTRIBUTIONS, bound, compare_numerics
from mmacalc.emulator.execution import execution_of
from mmacalc.emulator.gemm import gemm


def chainable():
    """One dense instruction for each model and its parameters, of those that are chained along K and add floats."""
    found = {}
    for arch in mmacalc.architectures():
        for inst in mmacalc.instructions(arch):
            if inst.sparse or inst.blocks > 1 or inst.block_size or inst.kind or inst.n > 64:
                continue
            try:
                numerics, out = inst.numerics, inst.format("D")
            except mmacalc.Error:
                continue
            if inst.format("C") == out and out.is_float and out.bits < 64:
                found.setdefault((numerics.model, *sorted(numerics.parameters.items()), out.name), inst)
    return list(found.values())


CHAINABLE = chainable()


def adversarial(rng, shape, form):
    """Numbers that round badly: many of one sign whose last bits are set, beside a few large ones."""
    top = 1 + (1 - 2.0**-form.mantissa)
    values = np.where(rng.random(shape) < 0.1, 1.0, top) * 2.0 ** rng.integers(-3, 4, shape)
    return values * np.where(rng.random(shape) < 0.2, -1, 1)


@pytest.mark.parametrize("inst", CHAINABLE, ids=lambda inst: f"{inst.arch}-{inst.name}")
def test_no_input_exceeds_the_bound_of_its_model(inst):
    rng, k = np.random.default_rng(1), 8 * inst.k
    execution = execution_of(inst, None, {}, False, False)
    makers = [make for _, make in DISTRIBUTIONS.values()]
    for make in (lambda rng, shape: adversarial(rng, shape, execution.formats["A"]), *makers):
        given = {"A": make(rng, (12, k)), "B": make(rng, (k, 12))}
        a, b = (decode(rounded(execution, x, y), execution.formats[x]).astype(float) for x, y in given.items())
        product = gemm(a, b, 0, None, inst)
        d, limit = np.asarray(product, float), bound(execution, product.emulation)
        assert 0 < limit < 1
        good = np.isfinite(d)
        assert (np.abs(d - a @ b) <= (limit + 1e-12) * (np.abs(a) @ np.abs(b)) + 1e-30)[good].all()


def test_the_bias_of_truncation_is_what_was_measured():
    """The figures of a study with gemm and float64 alone: K = 4096, positive data."""
    found = compare_numerics(["H100", "A100", "MI300X"], type="bf16", shape=(48, 48, 4096), distribution="positive")
    h100, a100, mi300x = found.gpus
    assert h100.signed == pytest.approx(-1.4e-5, rel=0.05)
    assert a100.signed == pytest.approx(-3.2e-5, rel=0.05)
    assert abs(mi300x.signed) < 5e-8
    assert h100.equal == 1
    fast = compare_numerics(["H100"], type="fp8", shape=(48, 48, 4096), distribution="positive").gpus[0]
    promoted = compare_numerics(["H100"], type="fp8", shape=(48, 48, 4096), distribution="positive", promote=128).gpus[
        0
    ]
    assert fast.signed == pytest.approx(-0.070, rel=0.05)
    assert promoted.signed == pytest.approx(-0.0006, rel=0.1)
    assert promoted.split_k == 32
    for gpu in (h100, a100, mi300x, fast, promoted):
        assert gpu.percentiles[50] <= gpu.percentiles[99] <= gpu.percentiles[100] <= gpu.bound
        assert [one.k for one in gpu.growth] == [64, 128, 256, 512, 1024, 2048, 4096]
        assert all(abs(one.signed) <= one.largest <= one.bound for one in gpu.growth)


def test_given_matrices_are_those_that_are_multiplied():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((8, 100)), rng.standard_normal((100, 4))
    found = compare_numerics(["gfx942", "sm_80"], a, b, type="f16")
    assert (found.shape, found.distribution) == ((8, 4, 100), "as given")
    x, y = (z.astype(np.float16).astype(float) for z in (a, b))
    for gpu in found.gpus:
        d = np.asarray(mmacalc.gemm(x, y, instruction=gpu.instruction), float)
        errors = (d - x @ y) / (np.abs(x) @ np.abs(y))
        assert gpu.signed == pytest.approx(errors.mean(), abs=1e-18)
        assert gpu.percentiles[100] == pytest.approx(np.abs(errors).max())
        assert gpu.converted == 0
    small = compare_numerics(["gfx942", "gfx950"], 2.0**-10 * np.sign(a), b, type="fp8")
    assert small.gpus[1].converted >= 800  # the least of FNUZ fp8 is 2^-10, of OCP's 2^-9
    with pytest.raises(mmacalc.Error, match="infinities or NaN in the formats of v_mfma"):
        compare_numerics(["gfx942"], 300 * np.sign(a), b, type="fp8")  # FNUZ fp8 ends at 240


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"type": None}, "needs the type"),
        ({"type": "i8"}, "integers, which are exact"),
        ({"type": "f64"}, "f64: gemm"),
        ({"distribution": "norm"}, "Did you mean normal"),
        ({"shape": (4, 4)}, "three positive whole numbers"),
        ({"a": np.ones((4, 4))}, "B is missing"),
        ({"a": np.ones((4, 4)), "b": np.ones((5, 4))}, "they need"),
        ({"architectures": "H100"}, "takes a list"),
        ({"promote": 100}, "rising multiples of"),
        ({"promote": 128, "split_k": 2}, "leave one of them out"),
        ({"split_k": "cublas"}, "cublas:3"),
        ({"split_k": "hipblaslt:2"}, "give the k"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(given, said):
    usual = {"architectures": ["sm_90a"], "type": "bf16", "shape": (16, 16, 512)}
    with pytest.raises(mmacalc.Error, match=said):
        compare_numerics(**{**usual, **given})


def test_k_is_cut_where_one_says_or_as_cublas_was_measured_to():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((8, 320)), rng.standard_normal((320, 8))
    name = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
    whole = {"arch": "sm_90a", "instruction": name}
    parts = [mmacalc.gemm(a[:, k], b[k], **whole) for k in (np.s_[:128], np.s_[128:256], np.s_[256:])]
    sums = parts[0] + parts[1] + parts[2]
    for split in ("cublas:3", [128, 256], np.array([128, 256])):
        d = mmacalc.gemm(a, b, **whole, split_k=split)
        np.testing.assert_array_equal(d, sums)
        assert d.emulation.cuts == (0, 8, 16, 20)
    np.testing.assert_array_equal(mmacalc.gemm(a, b, **whole, promote=128), sums)
    assert (np.asarray(mmacalc.gemm(a, b, **whole, split_k=3)) != np.asarray(sums)).any()  # cut at 96 and 208
    with pytest.raises(mmacalc.Error, match="recorded is how cublas cuts K on sm_90 and sm_90a"):
        mmacalc.gemm(a, b, arch="gfx942", instruction="v_mfma_f32_16x16x16_f16", split_k="cublas:3")
    for wrong in ([100], [256, 128], [0], [320], [-16]):
        with pytest.raises(mmacalc.Error, match="rising multiples of 16 between 0 and 320"):
            mmacalc.gemm(a, b, **whole, split_k=wrong)


def test_the_command_compares_writes_json_and_draws(tmp_path):
    words = ["gemm", "-a", "H100", "--against", "MI300X,A100", "--type", "bf16", "--m", "16", "--n", "16", "--k", "256"]
    reply = answer([*words, "--distribution", "positive", "--plot", str(tmp_path / "errors.svg")])
    assert reply.status == 0
    assert "bf16, 16x16x256, positive data" in reply.out
    assert all(name in reply.out for name in ("| H100", "| MI300X", "| A100", "two sources agree"))
    picture = (tmp_path / "errors.svg").read_text()
    assert picture.startswith("<svg")
    assert "MI300X" in picture
    found = json.loads(answer([*words, "--json"]).out)
    assert found["query"] == "numerics-comparison"
    assert [gpu["gpu"] for gpu in found["gpus"]] == ["H100", "MI300X", "A100"]
    assert found["gpus"][0]["percentiles"]["100"] <= found["gpus"][0]["bound"]
    np.save(tmp_path / "a.npy", np.ones((4, 64)))
    np.save(tmp_path / "b.npy", np.ones((64, 4)))
    files = ["--a", str(tmp_path / "a.npy"), "--b", str(tmp_path / "b.npy")]
    assert "4x4x64, as given data" in answer(["gemm", "-a", "H100", "--against", "A100", "--type", "f16", *files]).out
    for wrong, said in (
        (["--plot", "x.svg"], "--plot goes with --against"),
        (["--against", "A100", "--accuracy"], "--accuracy is not taken together with --against"),
        (["--against", "A100", "--distribution", "norm"], "Did you mean normal"),
        (["--against", ","], "--against takes names of GPUs"),
    ):
        reply = answer(["gemm", "-a", "H100", "--gemm", "4x4x64", "--type", "f16", *wrong])
        assert reply.status == 2
        assert said in reply.err
    split = answer(["gemm", "-a", "sm_90a", "--gemm", "16x16x512", "--type", "f16", "--split-k", "cublas:3"])
    assert "in 3 chains that are added" in split.out
    promoted = answer(["gemm", "-a", "sm_90a", "--gemm", "16x16x512", "--type", "fp8", "--promote", "128"])
    assert "in 4 chains that are added" in promoted.out
