"""Compiler builtins as functions on per-lane registers."""

import numpy as np
import pytest

import mmacalc
import recorded
from mmacalc import intrinsics

TYPES = {
    "_Float16": np.float16, "__fp16": np.float16, "float": np.float32, "double": np.float64, "int": np.int32,
    "short": np.int16, "__bf16": np.int16, "long long": np.int64, "long": np.int64,
}  # fmt: skip


def shape_and_type(text, lanes):
    base, _, count = text.partition(" x")
    return (int(count), lanes) if count else (lanes,), np.dtype(TYPES[base])


def test_every_builtin_of_clang_reaches_its_instruction_with_its_argument_and_return_types():
    rows = recorded.table("llvm/builtins.tsv.gz")
    assert len(rows) == 226
    columns = ("gfx", "mnemonic", "builtin", "return_type", "arg_types")
    for row in rows:
        gfx, mnemonic, builtin, returned, taken = (row[column] for column in columns)
        wave = int(row["wave"].lstrip("w") or 0)
        inst, _ = intrinsics.resolve(builtin, gfx, wave)
        assert inst.name == mnemonic
        lanes = inst.architecture.wave(wave)
        values = [0 if text.endswith("imm") else np.zeros(*shape_and_type(text, lanes)) for text in taken.split(", ")]
        if "K" in inst.operands and inst.operand("K", lanes).registers == 2:
            values[-3] = np.zeros(lanes, np.int64)  # int in clang, which leaves half of the index undefined
        d = intrinsics.call(builtin, *values, arch=gfx, wave_size=wave)
        shape, dtype = shape_and_type(returned, lanes)
        assert (d.shape, d.dtype.itemsize) == (shape, dtype.itemsize), builtin


def test_lanes_hold_what_execute_reads_and_writes():
    rng = np.random.default_rng(2)
    a, b = (rng.normal(size=(4, 64)).astype(np.float16) for _ in "ab")
    c = rng.normal(size=(16, 64)).astype(np.float32)
    d = intrinsics.amdgcn_mfma_f32_16x16x4f16(a, b, c, 1, 1, 2, arch="gfx90a")
    inst = mmacalc.instruction("gfx90a", "v_mfma_f32_16x16x4f16")
    packed = [
        x[0::2].view(np.uint16).astype(np.uint32) | x[1::2].view(np.uint16).astype(np.uint32) << 16 for x in (a, b)
    ]
    expected = inst.execute(*packed, c.view(np.uint32), cbsz=1, abid=1, blgp=2)
    assert np.array_equal(d.view(np.uint32), expected)


def test_signs_clamp_and_scales_go_where_the_builtin_has_them():
    ones = np.full((4, 32), -1, np.int32)  # bytes of 255, or of -1
    for signs, product in (((0, 0), 255 * 255), ((1, 0), -255), ((1, 1), 1)):
        d = intrinsics.amdgcn_wmma_i32_16x16x16_iu8_w32(signs[0], ones, signs[1], ones, 5, 0, arch="gfx1100")
        assert (d == 16 * product + 5).all()
    most = np.full((8, 32), 2**31 - 1, np.int32)
    assert (intrinsics.amdgcn_wmma_i32_16x16x16_iu8_w32(1, ones, 1, ones, most, 1, arch="gfx1100") == most).all()

    fp4 = np.full((8, 64), 0x22222222, np.int32)  # 1.0 everywhere
    scaled = intrinsics.amdgcn_mfma_scale_f32_16x16x128_f8f6f4
    scale_a, scale_b = np.full(64, 0x80_7F_7F_7F, np.uint32), np.full(64, 0x7F_7F_81_7F, np.uint32)
    assert (scaled(fp4, fp4, 0, 4, 4, 0, scale_a, 0, scale_b, arch="gfx950") == 128).all()
    assert (scaled(fp4, fp4, 0, 4, 4, 3, scale_a, 1, scale_b, arch="gfx950") == 128 * 2 * 4).all()


def test_cdna5_negates_inputs_and_takes_the_absolute_value_of_c():
    ones, c = np.ones((16, 32), np.float16), np.full((8, 32), -3, np.float32)
    for negate, c_mod, expected in (
        ((0, 0), 0, 29),
        ((1, 0), 0, -35),
        ((0, 1), 1, -29),
        ((1, 1), 2, 35),
        ((0, 0), 3, 29),
    ):
        d = intrinsics.amdgcn_wmma_f32_16x16x32_f16(negate[0], ones, negate[1], ones, c_mod, c, 0, 0, arch="gfx1250")
        assert (d == expected).all(), (negate, c_mod)
    ones, c = np.ones((2, 32), np.float32), 1.0
    assert (intrinsics.amdgcn_wmma_f32_16x16x4_f32(1, ones, 0, ones, 0, c, 1, 1, arch="gfx1250") == -3).all()


def test_a_builtin_in_a_launch_is_that_of_the_launch_and_is_counted():
    def kernel(wave, d):
        ones = np.ones(wave.size, np.float32)
        d[wave.lane] = intrinsics.amdgcn_mfma_f32_4x4x1f32(ones, ones, 0, 0, 0, 0)[0]

    d = np.zeros(64, np.float32)
    report = mmacalc.launch(kernel, 1, 64, d, arch="gfx950")
    assert (d == 1).all()
    assert report.instructions == {"v_mfma_f32_4x4x1_16b_f32": 1}


F32 = np.ones(64, np.float32)


@pytest.mark.parametrize(
    ("arguments", "arch", "message"),
    [
        ((F32, F32, 0, 0, 0), None, "takes 6 arguments, a, b, c, cbsz, abid, blgp; it was given 5"),
        ((F32[:32], F32, 0, 0, 0, 0), None, r"A has shape \(32,\); the last axis is that of the 64 lanes"),
        ((F32.astype(np.float16), F32, 0, 0, 0, 0), None, "A holds float16; it takes float32"),
        ((np.ones((2, 64), np.float32), F32, 0, 0, 0, 0), None, "A has 2 elements of float32 .* it takes 4: 1 of"),
        ((F32, F32, 0, 0, 0, 0.5), None, "are whole numbers that the instruction holds"),
        ((F32, F32, 0, 1, 0, 0), None, "has no CBSZ"),
        ((F32, F32, 0, 0, 0, 0), "gfx1100", "RDNA3 has no builtin amdgcn_mfma_f32_16x16x4f32"),
        ((F32, F32, 0, 0, 0, 0), "gfx1250", "CDNA5 has no builtin amdgcn_mfma_f32_16x16x4f32"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, arch, message):
    with pytest.raises(mmacalc.Error, match=message):
        intrinsics.amdgcn_mfma_f32_16x16x4f32(*arguments, arch=arch)


def test_a_name_that_no_architecture_has_is_no_attribute():
    with pytest.raises(AttributeError, match="amdgcn_mfma_f32_16x16x5f32': no architecture has such a builtin"):
        intrinsics.amdgcn_mfma_f32_16x16x5f32  # noqa: B018
