"""C++ in the style of rocWMMA and CK, compiled and run on the emulator, against `mmacalc.gemm` and NumPy."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from samples import rotated, sampled

SOURCE = Path(__file__).parent / "data/kernels/fragments.hip"
# The instructions that fragments.hip names: of f16, bf16, i8.
MFMA = ("v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8_bf16")
WMMA = ("v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16")
INSTRUCTIONS = {
    "gfx90a": ("v_mfma_f32_32x32x8f16", "v_mfma_f32_32x32x8bf16_1k"), "gfx942": MFMA, "gfx950": MFMA, "gfx1100": WMMA,
    "gfx1201": WMMA, "gfx1250": ("v_wmma_f32_16x16x32_f16", "v_wmma_f32_16x16x32_bf16"),
}  # fmt: skip
BFLOAT = ml_dtypes.bfloat16


class Target:
    """The kernels of fragments.hip for a target, and what its waves and tiles are."""

    def __init__(self, name, level, folder):
        options = [level, "-std=c++20", "-munsafe-fp-atomics"]
        self.kernels = mmacalc.load(compiled(SOURCE.read_text(), name, folder / "fragments.hsaco", None, options))
        self.name, self.wave, self.tile = name, *((64, 32) if name.startswith("gfx9") else (32, 16))
        self.findings = []

    def launch(self, kernel, *arguments):
        report = mmacalc.launch(self.kernels[kernel], *arguments)
        # clang 22 leaves no wait states before VOPD that overwrites what a WMMA of gfx1250 reads (docs/kernels.md).
        for one in report.findings:
            if (one.kind, one.text[:7]) != ("wait states", "v_dual_"):
                self.findings.append(one)
            else:
                assert "a fault of the compiler" in one.message
                assert "pull request 183573" in one.message

    def product(self, a, b, number):
        """A B^T as the hardware computes it, float32."""
        a, b = (np.asarray(one, np.float32) for one in (a, b.T))
        return np.asarray(mmacalc.gemm(a, b, arch=self.name, instruction=INSTRUCTIONS[self.name][number]), np.float32)


def random(shape, dtype):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def gemms(target):
    """Tiles of 4 x 4 fragments, LDS in two buffers, wide loads; alpha 1/2 and beta 2 are exact."""
    m, n, k = 4 * target.tile, 8 * target.tile, 96
    for kernel, dtype, out, number in (("gemm_f16", np.float16, np.float32, 0), ("gemm_bf16", BFLOAT, BFLOAT, 1)):
        a, b, c = random((m, k), dtype), random((n, k), dtype), random((m, n), out)
        d = np.zeros((m, n), out)
        target.launch(kernel, (2, 1), 4 * target.wave, a, b, c, d, m, n, k, 0.5, 2.0)
        wanted = (np.float32(0.5) * target.product(a, b, number) + np.float32(2) * c.astype(np.float32)).astype(out)
        assert d.tobytes() == wanted.tobytes(), kernel
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, (lines, 128)).astype(np.int8) for lines in (m, n))
    c, d = rng.integers(-99, 99, (m, n)).astype(np.int32), np.zeros((m, n), np.int32)
    target.launch("gemm_i8", (2, 1), 4 * target.wave, a, b, c, d, m, n, 128, 1.0, 1.0)
    assert np.array_equal(d, a.astype(np.int32) @ b.T.astype(np.int32) + c)


def split_k(target):
    """Blocks of z add their parts by atomic operations, here in the order of z."""
    m = n = 2 * target.tile
    a, b, d = random((m, 192), np.float16), random((n, 192), np.float16), random((m, n), np.float32)
    wanted = d.copy()
    for first in range(0, 192, 64):
        wanted += target.product(a[:, first : first + 64], b[:, first : first + 64], 0)
    target.launch("split_k", (1, 1, 3), 4 * target.wave, a, b, d, n, 192, 64)
    assert np.array_equal(d, wanted)


def layer_norm(target):
    x, (gamma, beta) = random((3, 2048), np.float16), random((2, 2048), np.float32)
    y = np.zeros_like(x)
    target.launch("layer_norm", 3, 256, x, gamma, beta, y, 2048, 1e-5)
    wide = x.astype(float)
    wanted = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gamma + beta
    assert np.abs(y - wanted).max() < 4e-3


def histogram(target):
    """Atomic operations on LDS, one on global memory for the odd numbers of a wave."""
    x = np.random.default_rng(0).integers(0, 1 << 32, 1000, dtype=np.uint32)
    bins, odd, kept = np.zeros(64, np.uint32), np.zeros(1, np.uint32), np.zeros(1000, np.uint32)
    target.launch("histogram", 2, 256, x, bins, odd, kept, len(x))
    assert np.array_equal(bins, np.bincount(x % 64, minlength=64))
    assert np.array_equal(np.sort(kept[: odd[0]]), np.sort(x[x % 2 == 1]))


def flash_attention(target):
    keys, head = 4 * target.tile, 64
    q, (k, v) = random((2 * target.tile, head), np.float16), random((2, keys, head), np.float16)
    out = np.zeros(q.shape, np.float32)
    target.launch("flash", 2, target.wave, q, k, v, out, keys, 0.125)
    scores = q.astype(float) @ k.astype(float).T / 8
    weights = np.exp(scores - scores.max(1, keepdims=True))
    assert np.abs(out - weights / weights.sum(1, keepdims=True) @ v.astype(float)).max() < 3e-4


def buffers(target):
    """Beyond the records of a resource nothing is read or written."""
    x, out = random((1000,), np.float16), np.zeros(1000, np.float16)
    target.launch("buffers", 2, 64, x, out, 1000, 3.0)
    wanted = (x.astype(np.float32) * 3).astype(np.float16)
    wanted[7::8] = np.maximum(wanted[7::8], 1)
    assert np.array_equal(out, wanted)


def double_precision(target):
    if "gemm_f64" not in target.kernels:
        return
    (a, b), d = random((2, 32, 20), np.float64), np.zeros((32, 32))
    target.launch("gemm_f64", (2, 2), 64, a, b, d, 32, 20)
    name = "v_mfma_f64_16x16x4f64" if target.name == "gfx90a" else "v_mfma_f64_16x16x4_f64"
    assert np.array_equal(d, mmacalc.gemm(a, b.T, arch=target.name, instruction=name))


PARTS = (gemms, split_k, layer_norm, histogram, flash_attention, buffers, double_precision)


@sampled("name", ["gfx942", "gfx1250"], 1, first=1)
def test_templates_with_fragments_run_as_on_hardware(name, tmp_path):
    target = Target(name, "-O3", tmp_path)
    for part in PARTS:
        part(target)
    assert target.findings == []


@sampled(("level", "name"), rotated(["-O1", "-Os", "-O2", "-O3"], INSTRUCTIONS), 0, whole=2)
def test_templates_with_fragments_run_at_every_level(name, level, tmp_path):
    target = Target(name, level, tmp_path)
    for part in PARTS:
        part(target)
    assert target.findings == []


def test_a_vector_that_is_built_element_by_element_is_undefined_until_it_is_whole(tmp_path):
    source = """
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));
extern "C" __attribute__((global)) void build(const _Float16 *x, float *out, int count) {
    half4 a;
    float16 sums = {};
#pragma nounroll
    for (int i = 0; i < count; ++i) a[i & 3] = x[i * 64 + __builtin_amdgcn_workitem_id_x()];
    sums = __builtin_amdgcn_mfma_f32_32x32x8f16(a, a, sums, 0, 0, 0);
    out[__builtin_amdgcn_workitem_id_x()] = sums[0];
}"""
    kernel = mmacalc.load(compiled(source, "gfx942", tmp_path / "build.hsaco", None, ["-O1"]))["build"]
    x, out = np.ones((4, 64), np.float16), np.zeros(64, np.float32)
    for count, kinds in ((4, []), (3, ["uninitialised"])):
        report = mmacalc.launch(kernel, 1, 64, x, out, count)
        assert [one.kind for one in report.findings][:1] == kinds, count


@pytest.mark.parametrize("name", ["gfx90a", "gfx1201"])
def test_registers_that_m0_chooses_are_those_of_an_index(name, tmp_path):
    """V_MOVREL and the indexing mode: other lanes, and other waves, want other elements."""
    source = """
typedef int vector __attribute__((ext_vector_type(16)));
extern "C" __attribute__((global)) void choose(const int *x, const int *at, int *out) {
    const int thread = __builtin_amdgcn_workitem_id_x();
    vector v;
    for (int i = 0; i < 16; ++i) v[i] = x[i * 256 + thread];
    v[at[thread] & 15] += 1000;                                           // of lanes
    const int whole = __builtin_amdgcn_readfirstlane(at[thread]);         // of waves
    v[(whole + 3) & 15] = v[whole & 15] * 2;
    for (int i = 0; i < 16; ++i) out[i * 256 + thread] = v[i];
}"""
    kernel = mmacalc.load(compiled(source, name, tmp_path / "choose.hsaco"))["choose"]
    rng = np.random.default_rng(0)
    x, at = rng.integers(0, 500, (16, 256)).astype(np.int32), rng.integers(0, 100, 256).astype(np.int32)
    out, wanted = np.zeros_like(x), x.copy()
    wanted[at & 15, np.arange(256)] += 1000
    for first in range(0, 256, kernel.wavefront_size):
        part = slice(first, first + kernel.wavefront_size)
        wanted[at[first] + 3 & 15, part] = wanted[at[first] & 15, part] * 2
    report = mmacalc.launch(kernel, 1, 256, x, at, out)
    assert np.array_equal(out, wanted)
    assert report.findings == ()
    assert any("movrel" in one or "gpr_idx" in one for one in report.mnemonics)
