"""Compiler builtins as functions on per-lane registers."""

import ml_dtypes
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


@pytest.mark.parametrize("shape", ["16x16x128", "32x32x64"])
def test_a_scaled_builtin_with_both_scales_the_constant_0_is_the_instruction_without_scales(shape):
    """What llc 22.1.8 selects for the constants 0 and 0, whatever op_sel; any other pair stays scaled."""
    builtin = getattr(intrinsics, f"amdgcn_mfma_scale_f32_{shape}_f8f6f4")
    ones = np.full((8, 64), 0x38383838, np.int32)  # fp8
    k = int(shape.split("x")[2])

    def run(a_scale, b_scale, op_sel=0):
        issued = []

        def kernel(wave):
            issued.append(builtin(ones, ones, 0, 0, 0, op_sel, a_scale, op_sel, b_scale)[0][0])

        report = mmacalc.launch(kernel, 1, 64, arch="gfx950")
        return float(issued[0]), *report.instructions

    plain, scaled = f"v_mfma_f32_{shape}_f8f6f4", f"v_mfma_scale_f32_{shape}_f8f6f4"
    for zero in (0, np.uint8(0), np.int64(0)):
        assert run(zero, 0) == run(0, zero, 3) == (k, plain)
    assert run(127, 127) == (k, scaled)
    assert run(0, 127) == run(127, 0) == (k * 2.0**-127, scaled)
    assert run(np.zeros(64, np.int32), 0) == (0, scaled)  # 2^-254


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint32, np.int64, np.uint64])
def test_scales_and_indices_are_integers_of_any_width_whose_values_fit(dtype):
    fp4 = np.full((8, 64), 0x22222222, np.int32)
    codes = np.full(64, 126, dtype)
    scaled = intrinsics.amdgcn_mfma_scale_f32_16x16x128_f8f6f4
    assert (scaled(fp4, fp4, 0, 4, 4, 0, codes, 0, dtype(127), arch="gfx950") == 64).all()
    ones, index = np.ones((4, 64), np.float16), np.full(64, 0x44, dtype)
    b = np.arange(8)[:, None] * np.ones(64, np.float16)
    b = b.astype(np.float16)
    d = intrinsics.amdgcn_smfmac_f32_16x16x32_f16(ones, b, 0, index, 0, 0)
    assert np.array_equal(d, intrinsics.amdgcn_smfmac_f32_16x16x32_f16(ones, b, 0, 0x44, 0, 0))
    assert (d == 4 * (0 + 1 + 4 + 5)).all()  # positions 0 and 1 of both groups of four


def test_a_64_bit_index_is_given_whole():
    a, b = (np.ones((n, 32), np.int32) for n in (8, 16))
    call = intrinsics.amdgcn_swmmac_i32_16x16x128_iu8
    pair = np.stack([np.full(32, 0x44444444, np.uint32), np.full(32, 0xEEEEEEEE, np.uint32)])
    wide = np.full(32, 0xEEEEEEEE_44444444, np.uint64)
    given = [call(1, a, 1, b, 0, index, 0, 0, arch="gfx1250") for index in (pair, wide, wide.view(np.int64))]
    assert np.array_equal(given[0], given[1])
    assert np.array_equal(given[0], given[2])
    with pytest.raises(mmacalc.Error, match=r"the index has int32 of shape .32,.; it takes 64 bits in each lane"):
        call(1, a, 1, b, 0, pair[0].view(np.int32), 0, 0, arch="gfx1250")


def test_abid_is_taken_where_the_hardware_ignores_it():
    """With CBSZ[1:0] not 0 the first set counts, on gfx950's new 16-bit shapes too (hip-fpsan runs CBSZ 1, ABID 3)."""
    ones, b = np.ones((8, 64), np.float16), np.ones((16, 64), np.float16)
    index = np.full(64, 0x4444, np.int32)
    for abid in range(16):
        intrinsics.amdgcn_smfmac_f32_16x16x64_f16(ones, b, 0, index, 1, abid, arch="gfx950")
        inst = mmacalc.instruction("gfx950", "v_smfmac_f32_16x16x64_f16")
        assert inst.operand("K", cbsz=1, abid=abid).table().tolist() == inst.operand("K").table().tolist()
    with pytest.raises(mmacalc.Error, match=r"ABID of .* is 0 or 1; got 3"):
        intrinsics.amdgcn_smfmac_f32_16x16x64_f16(ones, b, 0, index, 0, 3, arch="gfx950")
    with pytest.raises(mmacalc.Error, match=r"ABID of .* is 0 to 15; got 16"):
        intrinsics.amdgcn_smfmac_f32_16x16x64_f16(ones, b, 0, index, 1, 16, arch="gfx950")


def in_bits(codes, bits):
    """Codes (elements, lanes) one after another in registers, by way of Python's integers."""
    whole = [sum(int(code) << bits * e for e, code in enumerate(lane)) for lane in codes.T]
    words = len(codes) * bits // 32
    return np.array([[value >> 32 * word & 0xFFFFFFFF for value in whole] for word in range(words)], np.uint32)


NARROW = {0: "float8_e4m3fn", 1: "float8_e5m2", 2: "float6_e2m3fn", 3: "float6_e3m2fn", 4: "float4_e2m1fn"}


@pytest.mark.parametrize("fmt", NARROW)
def test_the_narrow_types_of_ml_dtypes_are_packed_as_the_registers_have_them(fmt):
    dtype = np.dtype(getattr(ml_dtypes, NARROW[fmt]))
    rng = np.random.default_rng(fmt)
    a, b = (rng.integers(-2, 3, (32, 64)).astype(dtype) for _ in "ab")
    bits = 8 if fmt < 2 else 6 if fmt < 4 else 4
    words = in_bits(a.view(np.uint8), bits)
    assert np.array_equal(intrinsics.pack(a), words)
    assert np.array_equal(intrinsics.pack(a.view(np.uint8), bits), words)
    call = intrinsics.amdgcn_mfma_scale_f32_16x16x128_f8f6f4
    eight = [np.concatenate([intrinsics.pack(x), np.zeros((8 - len(words), 64), np.uint32)]) for x in (a, b)]
    d = call(a, b, 0, fmt, fmt, 0, 0, 0, 0, arch="gfx950")
    assert np.array_equal(d, call(*eight, 0, fmt, fmt, 0, 0, 0, 0, arch="gfx950"))
    assert d.any()
    with pytest.raises(mmacalc.Error, match=rf"A holds {dtype}; it takes float"):
        call(a, b, 0, (fmt + 1) % 5, fmt, 0, 0, 0, 0, arch="gfx950")


def test_4_bit_integers_are_packed_too():
    a = np.random.default_rng(1).integers(-8, 8, (16, 32))
    call = intrinsics.amdgcn_wmma_i32_16x16x16_iu4_w32
    d = call(1, in_bits(a & 15, 4).view(np.int32), 1, in_bits(a & 15, 4).view(np.int32), 0, 0, arch="gfx1100")
    for dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        given = (a & 15 if dtype is ml_dtypes.uint4 else a).astype(dtype)
        assert np.array_equal(call(1, given, 1, given, 0, 0, arch="gfx1100"), d)


@pytest.mark.parametrize(
    ("elements", "bits", "message"),
    [
        (np.zeros((5, 64), ml_dtypes.float6_e2m3fn), None, "5, 64. elements of 6 bits; the first axis fills whole reg"),
        (np.zeros((4, 64), np.uint8), 9, "of 9 bits"),
        (np.zeros((8, 64), np.float32), 4, "of 4 bits"),
        (["a"], None, "the elements are <U1"),
        (3, None, "the first axis fills whole registers"),
    ],
)
def test_what_does_not_fill_registers_is_not_packed(elements, bits, message):
    with pytest.raises(mmacalc.Error, match=f"pack: .*{message}"):
        intrinsics.pack(elements, bits)


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
        ((F32, F32, 0, 0, 0, 0.5), None, "are immediates: they should be whole numbers"),
        ((F32, F32, 0, 1, 0, 0), None, "has no CBSZ"),
        ((F32, F32, "x", 0, 0, 0), None, "C is 'x'; it takes a number, or float32 for each lane"),
        ((F32, F32, 0, 0, 0, 0), "gfx1100", "RDNA3 has no builtin amdgcn_mfma_f32_16x16x4f32"),
        ((F32, F32, 0, 0, 0, 0), "gfx1250", "CDNA5 has no builtin amdgcn_mfma_f32_16x16x4f32"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, arch, message):
    with pytest.raises(mmacalc.Error, match=message):
        intrinsics.amdgcn_mfma_f32_16x16x4f32(*arguments, arch=arch)


SCALED = (
    "amdgcn_mfma_scale_f32_16x16x128_f8f6f4",
    np.zeros((8, 64), np.int32),
    np.zeros((8, 64), np.int32),
    0,
    0,
    0,
    0,
)


@pytest.mark.parametrize(
    "scale", [1.0, np.float32(1), np.ones(64), True, 2**32, -(2**31) - 1, np.ones((2, 64), np.int64)]
)
def test_a_scale_that_is_no_code_is_refused(scale):
    name, *rest = SCALED
    with pytest.raises(mmacalc.Error, match=r"the scale of A (is \w+; it takes integers|holds|has int64)"):
        intrinsics.call(name, *rest, scale, 0, 127, arch="gfx950")


def test_a_builtin_of_another_architecture_or_wave_size_says_where_it_is():
    for name, arch, advice in (
        ("amdgcn_mfma_f32_32x32x16_f16", None, "CDNA3 has no builtin .* gfx950 has it: pass arch='gfx950'"),
        ("amdgcn_wmma_f32_16x16x16_f16_w64", "gfx1100", "RDNA3 has no .* for wave32. gfx1100 has .*, wave_size=64"),
        ("amdgcn_wmma_f32_16x16x16_f16_w32", "gfx950", "CDNA4 has no .*: pass arch='gfx1100'.$"),
        ("amdgcn_mfma_f32_16x16x5f32", None, "Did you mean amdgcn_mfma_f32_16x16x"),
    ):
        with pytest.raises(mmacalc.Error, match=advice):
            intrinsics.call(name, arch=arch)


def test_a_name_that_no_architecture_has_is_no_attribute():
    with pytest.raises(AttributeError, match="amdgcn_mfma_f32_16x16x5f32': no architecture has such a builtin"):
        intrinsics.amdgcn_mfma_f32_16x16x5f32  # noqa: B018
