"""The examples of examples/: their results to the bit."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import mmacalc
from mmacalc.rocwmma.geometry import multiplier

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name):
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs_and_is_right(path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", [path.name])
    example(path.stem).main()
    out = capsys.readouterr().out
    assert out
    assert "wrong" not in out
    assert "nobody" not in out


def in_the_same_arithmetic(inst, a, b):
    """A B on whole matrices, one instruction for each 16x16 block and step of k, k ascending."""
    m, k, n = len(a), a.shape[1], b.shape[1]
    rows = a.reshape(m // 16, 1, 16, k)
    columns = b.reshape(k, n // 16, 16).transpose(1, 0, 2)[None]
    d = np.zeros((m // 16, n // 16, 16, 16), np.uint32)
    for step in range(0, k, inst.k):
        part = slice(step, step + inst.k)
        left, right = rows[..., part].view(np.uint16), np.ascontiguousarray(columns[:, :, part]).view(np.uint16)
        shape = d.shape[:2]
        left = np.broadcast_to(left, (*shape, 16, inst.k))
        d = inst.multiply_bits(left, np.broadcast_to(right, (*shape, inst.k, 16)), d)
    return d.view(np.float32).transpose(0, 2, 1, 3).reshape(m, n)


@pytest.mark.parametrize("arch", ["gfx908", "gfx942", "gfx1200"])
def test_the_guides_gemm_has_the_bits_of_its_instructions(arch):
    a, b, c, d, report = example("gemm_rocwmma").gemm_test(256, 256, 256, 2.1, 2.1, arch)
    inst = multiplier(mmacalc.architecture(arch), "f16", "f32", 16)
    acc = in_the_same_arithmetic(inst, a, np.ascontiguousarray(b.T))
    expected = np.float32(2.1) * acc + np.float32(2.1) * c
    assert np.array_equal(d.view(np.uint32), expected.view(np.uint32))
    exact = 2.1 * (a.astype(np.float64) @ b.T.astype(np.float64)) + 2.1 * c
    assert np.allclose(d, exact, rtol=1e-5, atol=1e-2)
    assert report.instructions == {inst.name: 4096}
    assert report.traffic.stored == d.nbytes


def test_the_gemm_through_lds_has_the_bits_of_the_one_without():
    """BlockK is 32 there, so that an instruction takes k in fours, eight apart: see rocwmma/geometry.py."""
    a, b, d, _ = example("gemm_lds").gemm(64, 64, 128)
    k = np.arange(128).reshape(4, 4, 2, 4).transpose(0, 2, 1, 3).ravel()  # step, lane group, instruction, element
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    expected = in_the_same_arithmetic(inst, np.ascontiguousarray(a[:, k]), np.ascontiguousarray(b[:, k].T))
    assert np.array_equal(d.view(np.uint32), expected.view(np.uint32))


def test_the_lab_notes_kernels_are_right_on_every_architecture_that_has_their_builtins():
    notes = example("lab_notes_matrix_cores")
    rng = np.random.default_rng(1)
    for arch in ("gfx908", "gfx90a", "gfx942", "gfx950"):
        a, b = rng.normal(size=(16, 4)).astype(np.float32), rng.normal(size=(4, 16)).astype(np.float32)
        d = np.full((16, 16), np.nan, np.float32)
        report = mmacalc.launch(notes.sgemm_16x16x4, 1, (16, 4, 1), a, b, d, arch=arch)
        (name,) = report.instructions
        assert np.array_equal(d, mmacalc.instruction(arch, name).multiply(a, b))
        a, b = rng.normal(size=(4, 16, 1)).astype(np.float32), rng.normal(size=(4, 1, 16)).astype(np.float32)
        d = np.full((4, 16, 16), np.nan, np.float32)
        mmacalc.launch(notes.sgemm_16x16x1, 1, (16, 4, 1), a, b, d, arch=arch)
        assert np.array_equal(d, a * b)
        if arch != "gfx908":
            w, x, y = (rng.integers(-99, 99, (4, 4, 4)).astype(np.float64) for _ in range(3))
            z = np.full((4, 4, 4), np.nan)
            mmacalc.launch(notes.dgemm_4x4x4, 1, (4, 4, 4), w, x, y, z, arch=arch)
            assert np.array_equal(z, w @ x + y)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx950", "gfx1100"])
def test_macro_tiles_through_two_lds_buffers_give_the_product(arch):
    """rocWMMA's perf_hgemm: of two workgroups, each of whose waves load a part for all."""
    sample = example("perf_hgemm")
    a, b, c, d, report = sample.gemm_test(256, 128, 64, 0.5, 2.0, arch)
    exact = 0.5 * (a.astype(np.float64) @ b.astype(np.float64)) + 2 * c.astype(np.float64)
    assert np.abs(d - exact).max() <= 2.0**-10 * np.abs(exact).max()  # one rounding to f16, but for the f32 sums
    assert report.workgroups == 2
    assert not report.warnings
    assert report.flops == 2 * 256 * 128 * 64
    assert report.traffic.loaded == 2 * (2 * (128 * 64 + 64 * 128) + 128 * 256)
