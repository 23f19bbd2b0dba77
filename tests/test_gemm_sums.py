"""Where kernels cut K, in which format they keep the sums of the chains, and what becomes of D."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from mmacalc import Error, gemm, gemm_bits
from mmacalc.cli import answer
from mmacalc.emulator.comparison import bound
from mmacalc.emulator.execution import execution_of

RNG = np.random.default_rng(31)
F16, WGMMA = "v_mfma_f32_16x16x16_f16", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
M, N, K = 40, 56, 300
A, B, C = RNG.standard_normal((M, K)), RNG.standard_normal((K, N)), RNG.standard_normal((M, N))
A, B = A.astype(np.float16), B.astype(np.float16)


def chain(k, c=0):
    """One chain of the instruction over some k."""
    return np.asarray(gemm(A[:, k], B[k], c, "gfx942", F16))


def equal(found, expected):
    np.testing.assert_array_equal(np.asarray(found).view(np.uint32), np.asarray(expected, np.float32).view(np.uint32))


def test_interleaved_chains_take_units_of_k_in_turn():
    """As Triton's split-K kernels do it: pid_z * BLOCK_K + block * BLOCK_K * SPLIT_K."""
    parts = []
    for pid in range(3):
        k = np.concatenate([np.arange(k, min(k + 32, K)) for k in range(32 * pid, K, 32 * 3)])
        parts.append(chain(k, C if pid == 0 else 0))
    d = gemm(A, B, C, "gfx942", F16, split_k="interleaved:3:32")
    equal(d, parts[0] + parts[1] + parts[2])
    assert (d.emulation.k_order, d.emulation.cuts) == ("interleaved:3:32", (0, 7, 13, 19))


@pytest.mark.parametrize("workgroups", [1, 4, 7, 11, 200])
def test_stream_k_deals_the_units_of_all_tiles_out_to_workgroups_and_adds_in_the_order_of_k(workgroups):
    """Each workgroup here walks through its units, and stores what it has of each tile."""
    (m, n, unit), steps = (16, 32, 48), -(-K // 48)
    across, total = -(-N // n), -(-M // m) * -(-N // n) * -(-K // 48)
    shares = [total // workgroups + (group < total % workgroups) for group in range(workgroups)]
    held = {}
    at = 0
    for group, share in enumerate(shares):
        for one in range(at, at + share):
            held.setdefault((one // steps, group), []).append(one % steps)
        at += share
    expected = np.zeros((M, N), np.float32)
    for tile in range(total // steps):
        rows = slice(tile // across * m, tile // across * m + m)
        columns = slice(tile % across * n, tile % across * n + n)
        sums = None
        for units in (units for (own, _), units in sorted(held.items()) if own == tile):
            k = slice(units[0] * unit, (units[-1] + 1) * unit)
            part = np.asarray(gemm(A[rows, k], B[k, columns], 0, "gfx942", F16))
            sums = part if sums is None else sums + part
        expected[rows, columns] = sums
    equal(gemm(A, B, 0, "gfx942", F16, split_k=f"stream-k:{workgroups}:{m}x{n}x{unit}"), expected)


@pytest.mark.parametrize(("form", "kind"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_sums_of_chains_are_kept_in_the_format_that_is_asked_for(form, kind):
    parts = [chain(np.s_[k : k + 64]).astype(kind) for k in range(0, K, 64)]
    sums = parts[0]
    for part in parts[1:]:
        sums = sums + part  # ml_dtypes and NumPy round each sum to nearest even
    d = gemm(A, B, 0, "gfx942", F16, promote=64, accumulate=form)
    equal(d, sums.astype(np.float32))
    assert (d.emulation.accumulate, d.emulation.d_type) == (form, "f32")
    assert (np.asarray(d) != np.asarray(gemm(A, B, 0, "gfx942", F16, promote=64))).mean() > 0.9
    equal(gemm(A, B, C, "gfx942", F16, promote=64, accumulate=form, alpha=0.5, beta=2),
          np.float32(0.5) * sums.astype(np.float32) + np.float32(2) * C.astype(np.float32))  # fmt: skip


CONVERTED = [
    ("gfx942", F16, "bf16", ml_dtypes.bfloat16, None), ("gfx942", F16, "f16", np.float16, None),
    ("gfx942", F16, "fp8", ml_dtypes.float8_e4m3fnuz, None), ("gfx942", F16, "bf8", ml_dtypes.float8_e5m2fnuz, None),
    ("gfx950", F16, "fp8", ml_dtypes.float8_e4m3fn, None), ("gfx950", F16, "e5m2", ml_dtypes.float8_e5m2, None),
    ("sm_90a", WGMMA, "bf16", ml_dtypes.bfloat16, None), ("sm_90a", WGMMA, "fp8", ml_dtypes.float8_e4m3fn, 448.0),
    ("sm_90a", WGMMA, "e5m2", ml_dtypes.float8_e5m2, 57344.0),
]  # fmt: skip


@pytest.mark.parametrize(("arch", "name", "d_type", "kind", "largest"), CONVERTED)
def test_d_is_converted_once_from_the_f32_value_and_overflows_as_the_gpus_conversions_do(
    arch, name, d_type, kind, largest
):
    a = A * np.float16(2.0) ** RNG.integers(-6, 7, (M, 1)).astype(np.float16)
    alpha, beta = 3.0, -0.25
    wide = np.asarray(gemm(a, B, C * 1e4, arch, name, alpha=alpha, beta=beta))
    held = wide if largest is None else np.clip(wide, -largest, largest)
    with np.errstate(over="ignore"):
        expected = held.astype(kind)
    d = gemm(a, B, C * 1e4, arch, name, alpha=alpha, beta=beta, d_type=d_type)
    assert d.dtype == np.float32
    np.testing.assert_array_equal(d, expected.astype(np.float32))
    codes = gemm_bits(a.view(np.uint16), B.view(np.uint16), 0, arch, name, d_type=d_type)
    plain = np.asarray(gemm(a, B, 0, arch, name))
    held = plain if largest is None else np.clip(plain, -largest, largest)
    with np.errstate(over="ignore"):
        wanted = held.astype(kind)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(codes[number], wanted.view(codes.dtype)[number])
    np.testing.assert_array_equal(np.isnan(codes.view(kind)), ~number)
    if kind(0).itemsize == 1 and "e4m3" in str(kind):
        assert (np.abs(wide) > 1000).any()
        assert np.isnan(np.asarray(d)).any() == (largest is None)
    near = gemm(A, B, 0, arch, name, d_type=d_type, compare=True)
    assert near.emulation.accuracy.max_ulps <= 1  # sums of 300 products in f32, and then a few bits


@pytest.mark.parametrize("how", [{"promote": 64, "accumulate": "f16"}, {"promote": 64, "accumulate": "bf16"},
                                 {"d_type": "bf16"}, {"split_k": "interleaved:2:32", "d_type": "f16"}])  # fmt: skip
def test_the_bound_holds_for_narrow_sums_and_results(how):
    for arch, name in (("gfx942", F16), ("sm_90a", WGMMA)):
        execution = execution_of(mmacalc.instruction(arch, name), None, {}, False, False)
        for values in (np.abs(A), A):
            d = gemm(values, np.abs(B), 0, arch, name, **how)
            a, b = values.astype(float), np.abs(B).astype(float)
            error = np.abs(np.asarray(d, float) - a @ b) / (np.abs(a) @ b)
            assert error.max() <= bound(execution, d.emulation) < 0.1


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"split_k": "interleaved:3:40"}, "a unit is a multiple of 16"), ({"split_k": "interleaved:99:64"}, "too few"),
        ({"split_k": "interleaved:3"}, "interleaved:4:64"), ({"split_k": "hipblaslt:3"}, "nothing is recorded"),
        ({"split_k": "stream-k:3:16x16"}, "stream-k:132:128x128x64"), ({"accumulate": "f16"}, "K is one chain"),
        ({"split_k": "interleaved:3:32", "k_order": "descending"}, "its own order"),
        ({"promote": 64, "accumulate": "fp8"}, "f32, f16 or bf16"),
        ({"d_type": "e4m3"}, "converts f32 to f16, bf16, e4m3fnuz"),
        ({"d_type": "f64"}, "converts f32 to"), ({"d_type": "nonsense"}, "nonsense"),
        ({"a": np.ones((2, M, K)), "split_k": "stream-k:3:16x16x16"}, "batches"),
    ],
)  # fmt: skip
def test_sums_that_no_kernel_makes_are_refused(how, says):
    with pytest.raises(Error, match=says):
        gemm(**{"a": A, "b": B, "arch": "gfx942", "instruction": F16, **how})


def test_what_is_unknown_of_a_gpus_conversions_is_refused():
    with pytest.raises(Error, match="sm_80 converts f32 to f16, bf16, as far as"):
        gemm(A, B, arch="sm_80", d_type="fp8")
    with pytest.raises(Error, match="whose sums are too"):
        gemm(
            A.astype(float),
            B.astype(float),
            arch="gfx942",
            instruction="v_mfma_f64_16x16x4_f64",
            promote=64,
            accumulate="f16",
        )
    with pytest.raises(Error, match="which are not converted"):
        gemm(np.ones((4, 4), np.int8), np.ones((4, 4), np.int8), arch="gfx942", d_type="f16")


def test_two_gpus_are_compared_as_their_kernels_store_d():
    """Most bits that differ in f32 are equal once D is bf16."""
    wide, narrow = (
        mmacalc.compare_numerics(["H100", "MI300X"], type="bf16", shape=(32, 32, 512), d_type=d_type)
        for d_type in (None, "bf16")
    )
    assert wide.gpus[1].equal < 0.2 < 0.9 < narrow.gpus[1].equal
    assert narrow.gpus[1].percentiles[100] < narrow.gpus[1].bound
    with pytest.raises(Error, match="stream-K cuts each tile"):
        mmacalc.compare_numerics(["H100", "MI300X"], type="bf16", split_k="stream-k:4:64x64x64")


def test_the_command_says_how_sums_are_kept_and_what_d_becomes():
    how = "--split-k 4 --accumulate bf16 --d-type fp8"
    line = f"gemm -a MI300X --gemm 32x32x512 --type f16 {how}".split()
    reply = answer(line)
    assert "in 4 chains that are added in bf16. D is converted to e4m3fnuz." in reply.out
    found = json.loads(answer([*line, "--json"]).out)
    assert (found["accumulate"], found["d_type"], found["split_k"]) == ("bf16", "e4m3fnuz", 4)
    reply = answer(f"gemm -a H100 --against MI300X --type bf16 --m 8 --n 8 --k 256 {how.replace('fp8', 'f16')}".split())
    assert "normal data, chains added in bf16, D converted to f16." in reply.out
