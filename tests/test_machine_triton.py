"""Kernels that Triton 3.9 compiled for six AMD targets give what NumPy does, and nothing is found wrong with them."""

import json
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from mmacalc.cli import answer
from samples import sampled

UNITS = zipfile.ZipFile(Path(__file__).parent / "data/triton/units.zip")
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250")
NAMES = sorted(Path(name).stem for name in UNITS.namelist() if name.startswith("gfx942/") and name.endswith(".json"))


def normal(shape, dtype=np.float32):
    return np.random.default_rng(30).standard_normal(shape).astype(np.float32).astype(dtype)


def wide(x):
    return x.astype(np.float64)


def of_one_array(x, want, tolerance, out=None):
    """The arrays, what Z must be then, and by how much it may differ of its largest element."""
    return {"X": x, "Z": np.zeros_like(x) if out is None else out}, "Z", want(x), tolerance


def scaled_product():
    """A 64 x 128 times B 128 x 64 in e4m3, with a scale for each 32 of k."""
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal((64, 128)).astype(ml_dtypes.float8_e4m3fn) for _ in "AB")
    scale_a, scale_b = (rng.integers(120, 134, (64, 4)).astype(np.uint8) for _ in "AB")
    factors = [np.repeat(2.0 ** (codes.astype(int) - 127), 32, 1) for codes in (scale_a, scale_b)]
    arrays = {
        "A": a.view(np.uint8), "B": b.view(np.uint8), "SA": scale_a, "SB": scale_b, "O": np.zeros((64, 64), np.float32)
    }  # fmt: skip
    return arrays, "O", (wide(a) * factors[0]) @ (wide(b) * factors[1]).T, 1e-5


CASES = {
    "u_cumsum": lambda: of_one_array(normal((32, 64)), lambda x: np.cumsum(wide(x), 1), 1e-5),
    "u_atomic_add": lambda: of_one_array(
        normal(1024), lambda x: np.array([wide(x).sum()]), 1e-5, np.zeros(1, np.float32)
    ),
    "u_dot_fp64": lambda: of_one_array(normal((32, 32), np.float64), lambda x: x @ x, 1e-12),
    "u_fp8cast": lambda: of_one_array(
        normal(512, np.float16), lambda x: x.astype(np.float32).astype(ml_dtypes.float8_e4m3fn), 0
    ),
    "u_gather": lambda: of_one_array(normal(128), lambda x: x[::-1], 0),
    "u_welford": lambda: of_one_array(normal((16, 256)), lambda x: wide(x).var(1), 1e-5, np.zeros(16, np.float32)),
    "u_dot_scaled_e4m3_e4m3": scaled_product,
}


def test_every_kernel_is_there_for_every_target():
    assert sorted(CASES) == NAMES
    assert {f"{target}/{name}.hsaco" for target in TARGETS for name in NAMES} <= set(UNITS.namelist())


@sampled("target", TARGETS, 2, first=1)
def test_kernels_by_triton_are_right_and_have_no_finding(target, tmp_path):
    for name in NAMES:
        shape = json.loads(UNITS.read(f"{target}/{name}.json"))
        kernel = mmacalc.load(UNITS.extract(f"{target}/{name}.hsaco", tmp_path))[shape["entry"]]
        arrays, out, want, tolerance = CASES[name]()
        scratch = sum(not one.value_kind.startswith("hidden_") for one in kernel.arguments) - len(arrays)
        given = [*(arrays[each] for each in shape["args"]), *[None] * scratch]
        shared = max(0, shape["shared"] - kernel.descriptor.group_segment_size)
        report = mmacalc.launch(kernel, shape["grid"], shape["block"], *given, shared=shared)
        assert report.findings == (), (target, name)
        np.testing.assert_allclose(wide(arrays[out]), wide(want), rtol=0, atol=tolerance * np.abs(wide(want)).max())


@sampled("target", TARGETS, 2)
def test_lint_finds_nothing_in_the_disassembly_of_any_of_them(target, tmp_path):
    for name in NAMES:
        path = tmp_path / f"{name}.hsaco"
        path.write_bytes(UNITS.read(f"{target}/{name}.hsaco"))
        report = mmacalc.lint(answer(["disassemble", str(path)]).out, target)
        assert report.findings == (), (name, report.findings[:2])


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_lint_finds_where_nops_were_taken_out_of_kernels_without_a_matrix_instruction(target, tmp_path):
    rules = set()
    for name in ("u_atomic_add", "u_welford", "u_fp8cast"):
        path = tmp_path / f"{name}.hsaco"
        path.write_bytes(UNITS.read(f"{target}/{name}.hsaco"))
        lines = answer(["disassemble", str(path)]).out.splitlines()
        bare = [line for line in lines if not line.strip().startswith("s_nop")]
        found = mmacalc.lint("\n".join(bare), target).of_kind("wait states")
        rules |= {one.wait.rule.rpartition(", ")[2] for one in found}
        for one in found:
            bare[one.line - 1] = "\n".join([*one.nops, bare[one.line - 1]])
        assert not mmacalc.lint("\n".join(bare), target).of_kind("wait states")
    assert "checkDPPHazards" in rules
