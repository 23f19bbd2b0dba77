"""Conversions with a scale of gfx950, compiled and run, against ml_dtypes on exact quotients and products."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled

SOURCE = (Path(__file__).parent / "data/kernels/scaled.hip").read_text()
FP8, BF8, FP4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn
FP6, BF6, BFLOAT = ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn, ml_dtypes.bfloat16


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return mmacalc.load(compiled(SOURCE, "gfx950", tmp_path_factory.mktemp("scaled") / "scaled.hsaco"))


def given(count, each):
    """Numbers of many sizes, with zeros, overflow and halves between two codes, and scales with a fraction."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((count, each)) * np.exp2(rng.integers(-9, 12, (count, each)))).astype(np.float32)
    x[::7] = rng.integers(-32, 33, x[::7].shape) / 8
    powers = rng.integers(-6, 7, count)
    return x, (np.exp2(powers) * rng.uniform(1, 2, count)).astype(np.float32), np.exp2(powers.astype(float))


def codes(values, dtype):
    """The sign of a NaN is not specified; here it is plus."""
    rounded = values.astype(dtype)
    return np.where(np.isnan(rounded.astype(float)), 0x7F, rounded.view(np.uint8)).astype(np.uint32)


def pair(values, dtype, bits):
    low, high = codes(values[:, 0], dtype), codes(values[:, 1], dtype)
    return low | high << bits


def test_narrow_results_are_rounded_quotients_in_the_part_that_op_sel_names(kernels):
    x, scales, powers = given(256, 2)
    out = np.zeros((256, 12), np.uint32)
    assert mmacalc.launch(kernels["narrow"], 1, 256, x, scales, out).findings == ()
    exact = x.astype(float) / powers[:, None]
    halves = x.astype(np.float16).astype(float) / powers[:, None]
    shorts = x.astype(BFLOAT).astype(float) / powers[:, None]
    with np.errstate(over="ignore"):
        wanted = [
            pair(exact * [1, -1], FP8, 8) | 0x56780000, pair(exact, BF8, 8) << 16 | 0x1234,
            pair(halves, FP8, 8) << 16 | 0x1234, pair(shorts, BF8, 8) | 0x56780000,
            pair(exact, FP4, 4) | 0x89ABCD00, pair(halves, FP4, 4) << 8 | 0x89AB00EF,
            pair(shorts, FP4, 4) << 16 | 0x8900CDEF, pair(exact[:, ::-1], FP4, 4) << 24 | 0xABCDEF,
        ]  # fmt: skip
    for number, column in enumerate(wanted):
        assert np.array_equal(out[:, number], column), number


def test_wide_results_are_products_of_the_part_that_op_sel_names(kernels):
    words = np.random.default_rng(1).integers(0, 1 << 32, 256, dtype=np.uint32)
    _, scales, powers = given(256, 2)
    out = np.zeros((256, 12), np.uint32)
    assert mmacalc.launch(kernels["wide"], 1, 256, words, scales, out).findings == ()
    octets = words.view(np.uint8).reshape(-1, 4)
    nibbles = np.stack([words >> 4 * place & 15 for place in range(8)], 1).astype(np.uint8)
    fp8, bf8 = (octets.view(dtype).astype(float) * powers[:, None] for dtype in (FP8, BF8))
    fp4 = nibbles.view(FP4).astype(float) * powers[:, None]
    single = [(0, fp8[:, 2]), (1, bf8[:, 1]), (7, fp8[:, 2]), (8, fp8[:, 3]), (9, fp4[:, 4]), (10, fp4[:, 5])]
    with np.errstate(over="ignore"):
        for number, values in single:
            assert np.array_equal(out[:, number].copy().view(np.float32), values.astype(np.float32), equal_nan=True)
        ones = np.ones(256)
        pairs = [(2, np.float16, (ones, fp8[:, 3])), (3, np.float16, bf8[:, 2:].T), (4, BFLOAT, fp8[:, :2].T),
                 (5, np.float16, fp4[:, 6:].T), (6, BFLOAT, fp4[:, 2:4].T)]  # fmt: skip
        for number, dtype, columns in pairs:
            got = out[:, number].copy().view(dtype).reshape(-1, 2).astype(float)
            wanted = np.stack(columns, 1).astype(dtype).astype(float)
            assert np.array_equal(got, wanted, equal_nan=True), number


def test_thirty_two_elements_of_six_bits_lie_one_after_another(kernels):
    x, scales, powers = given(64, 32)
    out, back = np.zeros((64, 32), np.uint32), np.zeros((64, 2, 32), np.float32)
    assert mmacalc.launch(kernels["six"], 1, 64, x, scales, out, back).findings == ()
    rows = ((0, x, FP6), (8, x.astype(BFLOAT), BF6), (16, x.astype(np.float16), FP6))
    for first, values, dtype in rows:
        rounded = (values.astype(float) / powers[:, None]).astype(dtype)
        bits = np.unpackbits(rounded.view(np.uint8)[..., None], axis=2, bitorder="little")[..., :6]
        packed = np.packbits(bits.reshape(64, -1), axis=1, bitorder="little").view(np.uint32)
        assert np.array_equal(out[:, first : first + 6], packed), dtype
        if first < 16:
            assert np.array_equal(back[:, first // 8], rounded.astype(float) * powers[:, None]), dtype


def test_stochastic_rounding_is_refused_with_its_name(tmp_path):
    source = """
extern "C" __attribute__((global)) void sr(unsigned *out, float x, unsigned seed, float scale) {
    out[0] = __builtin_amdgcn_cvt_scalef32_sr_fp8_f32(out[0], x, seed, scale, 0);
}"""
    kernel = mmacalc.load(compiled(source, "gfx950", tmp_path / "sr.hsaco"))["sr"]
    with pytest.raises(mmacalc.Error, match="v_cvt_scalef32_sr_fp8_f32 is not covered: how its seed rounds"):
        mmacalc.launch(kernel, 1, 64, np.zeros(1, np.uint32), 1.0, 7, 1.0)
