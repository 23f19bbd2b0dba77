"""What `multiply` and `multiply_bits` mean: modifiers, sparsity, scales, shapes, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc
from mmacalc import Error
from mmacalc.diagnosis.inputs import random
from mmacalc.emulator import computing, core
from mmacalc.emulator.execution import execution_of
from mmacalc.families.amd import BLGP

RNG = np.random.default_rng(5)
MMA = "mma.sync.aligned."


def small(shape, low=-3, high=4):
    """Whole numbers, on which no model rounds."""
    return RNG.integers(low, high, shape)


def inputs(inst, low=-3, high=4):
    lead = (inst.blocks,) if inst.blocks > 1 else ()
    shapes = ((inst.m, inst.k), (inst.k, inst.n), (inst.m, inst.n))
    return tuple(small(lead + shape, low, high) for shape in shapes)


# --- modifiers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_16x16x4_4b_f16", "v_mfma_i32_32x32x4_2b_i8"])
def test_cbsz_and_abid_let_one_block_of_a_stand_in_for_its_neighbours(name):
    inst = mmacalc.instruction("cdna3", name)
    a, b, c = inputs(inst)
    for cbsz in inst.modifier_limits()["cbsz"]:
        for abid in range(1 << cbsz):
            read = np.arange(inst.blocks) >> cbsz << cbsz | abid
            np.testing.assert_array_equal(inst.multiply(a, b, c, cbsz=cbsz, abid=abid), a[read] @ b + c)


@pytest.mark.parametrize("name", ["v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_16x16x4f32", "v_mfma_f32_32x32x4_2b_bf16"])
def test_blgp_reads_b_from_other_lanes(name):
    inst = mmacalc.instruction("cdna3", name)
    a, b, c = inputs(inst)
    operand = inst.operand("B")
    held = {}
    for block, k, j in np.ndindex(inst.blocks, inst.k, inst.n):
        place = operand.locate(block=block, k=k, j=j)[0]
        held[place.lane, place.item] = (block, k, j) if inst.blocks > 1 else (k, j)
    for blgp, lane in BLGP.items():
        read = np.empty_like(b)
        for (at, item), element in held.items():
            read[element] = b[held[lane(at), item]]
        np.testing.assert_array_equal(inst.multiply(a, b, c, blgp=blgp), a @ read + c)


def test_neg_and_neg_hi_negate_the_halves_of_each_register_and_c_takes_its_absolute_value_first():
    inst, split = (mmacalc.instruction(arch, "v_wmma_f32_16x16x16_f16") for arch in ("rdna3", "rdna4"))
    a, b, c = (array.astype(np.float64) for array in inputs(inst))  # minus zero counts on RDNA3
    low = np.arange(16) % 2 == 0
    for neg in range(8):
        for neg_hi in range(8):
            flip_a = np.where(low, -1 if neg & 1 else 1, -1 if neg_hi & 1 else 1)
            flip_b = np.where(low, -1 if neg & 2 else 1, -1 if neg_hi & 2 else 1)
            read = (-1 if neg & 4 else 1) * (np.abs(c) if neg_hi & 4 else c)
            x, y = a * flip_a, b * flip_b[:, None]
            for wave in (32, 64):
                d = split.multiply(a, b, c, neg=neg, neg_hi=neg_hi, wave=wave)
                np.testing.assert_array_equal(d, x @ y + read)
                d = inst.multiply(a, b, c, neg=neg, neg_hi=neg_hi, wave=wave)
                np.testing.assert_array_equal(d, inst.multiply(x, y, read, wave=wave))


def test_blgp_of_an_fp64_mfma_negates_its_operands_on_cdna3():
    inst = mmacalc.instruction("cdna3", "v_mfma_f64_16x16x4_f64")
    a, b, c = inputs(inst)
    for blgp in range(8):
        signs = [-1 if blgp >> bit & 1 else 1 for bit in range(3)]
        np.testing.assert_array_equal(inst.multiply(a, b, c, blgp=blgp), signs[0] * signs[1] * (a @ b) + signs[2] * c)


@pytest.mark.parametrize("name", ["v_wmma_i32_16x16x16_iu8", "v_wmma_i32_16x16x16_iu4"])
def test_neg_makes_integers_signed(name):
    inst = mmacalc.instruction("rdna3", name)
    half = 1 << (inst.format("A").bits - 1)
    for neg in range(4):
        a = small((16, 16), -half if neg & 1 else 0, half if neg & 1 else 2 * half)
        b = small((16, 16), -half if neg & 2 else 0, half if neg & 2 else 2 * half)
        np.testing.assert_array_equal(inst.multiply(a, b, 7, neg=neg), a @ b + 7)


@pytest.mark.parametrize(
    ("arch", "name", "word"),
    [
        ("rdna4", "v_wmma_i32_16x16x16_iu8", "clamp"),
        ("sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "satfinite"),
    ],
)
def test_integers_wrap_or_saturate(arch, name, word):
    inst = mmacalc.instruction(arch, name)
    a, b = np.ones((16, inst.k), int), np.ones((inst.k, inst.n), int)
    c = np.full((16, inst.n), 2**31 - 2)
    wrapped = inst.multiply(a, b, c, **({"neg": 3} if word == "clamp" else {}))
    assert (wrapped == inst.k - 2 - 2**31).all()
    assert (inst.multiply(a, b, c, **{word: True}) == 2**31 - 1).all()
    bits = inst.multiply_bits(a.astype(np.uint8), b.astype(np.uint8), c.astype(np.uint32), **{word: True})
    assert (bits == 2**31 - 1).all()


def test_satfinite_in_the_name_saturates_too():
    inst = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32")
    assert (inst.multiply(-np.ones((16, 16), int), np.ones((16, 8), int), -(2**31)) == -(2**31)).all()


@pytest.mark.parametrize("operation", ["xor", "and"])
def test_single_bits_are_counted(operation):
    inst = mmacalc.instruction("sm_80", f"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.{operation}.popc")
    a, b, c = RNG.integers(0, 2, (16, 128)), RNG.integers(0, 2, (128, 8)), small((16, 8))
    pairs = {"xor": np.bitwise_xor, "and": np.bitwise_and}[operation](a[:, :, None], b[None])
    np.testing.assert_array_equal(inst.multiply(a, b, c), pairs.sum(axis=1) + c)


# --- sparsity and scales ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "name", "positions", "unit"),
    [
        ("cdna3", "v_smfmac_f32_16x16x32_f16", 4, 1),
        ("rdna4", "v_swmmac_i32_16x16x64_iu4", 4, 1),
        ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 4, 1),
        ("sm_80", "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", 2, 1),
        ("sm_80", "mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32", 4, 2),
    ],
)
def test_a_sparse_a_is_the_same_compressed_with_an_index_and_dense_with_its_zeros(arch, name, positions, unit):
    inst = mmacalc.instruction(arch, name)
    low = 0 if inst.format("A").kind == "either" else 1
    groups, entries = inst.k // (positions * unit), positions // 2
    index = np.sort(RNG.random((inst.m, groups, positions)).argsort(axis=-1)[..., :entries], axis=-1)
    stored = small((inst.m, groups, entries, unit), low, 4)
    dense = np.zeros((inst.m, groups, positions, unit), int)
    np.put_along_axis(dense, index[..., None], stored, axis=2)
    dense = dense.reshape(inst.m, inst.k)
    b, c = small((inst.k, inst.n), low, 4), small((inst.m, inst.n))
    wanted = dense @ b + c
    np.testing.assert_array_equal(inst.multiply(dense, b, c), wanted)
    given = stored.reshape(inst.m, -1), b, c
    np.testing.assert_array_equal(inst.multiply(*given, index=index.reshape(inst.m, -1)), wanted)


def test_an_a_that_is_not_sparse_is_refused_with_the_place():
    inst = mmacalc.instruction("cdna3", "v_smfmac_f32_16x16x32_f16")
    a = np.zeros((16, 32))
    a[3, 8:11] = 1
    with pytest.raises(Error, match=r"row 3 has more than 2 values that are not zero in k = 8 to 11"):
        inst.multiply(a, np.zeros((32, 16)))


@pytest.mark.parametrize(
    ("arch", "name", "size", "modifiers"),
    [
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", 32, {"cbsz": "fp4", "blgp": "bf6"}),
        ("gfx1250", "v_wmma_scale16_f32_16x16x128_f8f6f4", 16, {"matrix_a_fmt": "fp6"}),
        ("sm_120a", f"{MMA}m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0", 32, {}),
        ("sm_120a", f"{MMA}m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", 32, {}),
        ("sm_120a", f"{MMA}m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 16, {}),
    ],
)
def test_scales_multiply_blocks_of_k(arch, name, size, modifiers):
    inst = mmacalc.instruction(arch, name)
    a, b, c = small((inst.m, inst.k), -2, 3), small((inst.k, inst.n), -2, 3), small((inst.m, inst.n))
    one, step = (0x38, 8) if "ue4m3" in name else (127, 1)
    exponents = [RNG.integers(-2, 3, shape) for shape in ((inst.m, inst.k // size), (inst.k // size, inst.n))]
    scales = [(one + step * e).astype(np.uint8) for e in exponents]
    wanted = (a * 2.0 ** np.repeat(exponents[0], size, 1)) @ (b * 2.0 ** np.repeat(exponents[1], size, 0)) + c
    d = inst.multiply(a, b, c, scale_a=scales[0], scale_b=scales[1], **modifiers)
    np.testing.assert_array_equal(d, wanted)
    np.testing.assert_array_equal(inst.multiply(a, b, c, **modifiers), a @ b + c)


def test_a_scale_of_ff_is_nan():
    inst = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4")
    scale = np.full((16, 4), 127, np.uint8)
    scale[2, 3] = 0xFF
    d = inst.multiply(np.zeros((16, 128)), np.zeros((128, 16)), scale_a=scale)
    assert np.isnan(d[2]).all()
    assert (np.delete(d, 2, axis=0) == 0).all()


# --- shapes, types, results -------------------------------------------------------------------------------------


def test_leading_axes_are_batches_that_broadcast():
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16")
    a, b, c = small((5, 1, 16, 4, 4)), small((3, 16, 4, 4)), small((16, 4, 4))
    np.testing.assert_array_equal(inst.multiply(a, b, c), a @ b + c)
    assert inst.multiply(a[:0], b, c).shape == (0, 3, 16, 4, 4)


@pytest.mark.parametrize(
    ("arch", "name"),
    [("cdna3", "v_mfma_f32_32x32x8_f16"), ("cdna4", "v_mfma_f32_16x16x32_f16"), ("cdna3", "v_smfmac_f32_16x16x32_f16"),
     ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"), ("cdna2", "v_mfma_f32_16x16x16f16")],
)  # fmt: skip
def test_how_the_work_is_cut_changes_nothing(arch, name, monkeypatch):
    inst = mmacalc.instruction(arch, name)
    given = random(execution_of(inst, None, {}, False, False), 1)
    batch = {key: np.stack([array, array * 2]) for key, array in given.items()}
    whole = inst.multiply(**batch)
    monkeypatch.setattr(core, "function", lambda name: None)
    for tile in (1, 1000):
        monkeypatch.setattr(computing, "TILE", tile)
        np.testing.assert_array_equal(inst.multiply(**batch), whole)
    np.testing.assert_array_equal(inst.multiply(**given), whole[0])


def test_inputs_stay_as_they_were_and_may_be_read_only():
    inst = mmacalc.instruction("rdna3", "v_wmma_f32_16x16x16_f16")
    arrays = [RNG.standard_normal((16, 16)) for _ in range(3)]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    inst.multiply(*arrays, neg=7, neg_hi=7)
    for array, copy in zip(arrays, copies):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("arch", "name", "values", "codes"),
    [
        ("cdna3", "v_mfma_f64_16x16x4_f64", "float64", "uint64"),
        ("cdna3", "v_mfma_f32_16x16x16_f16", "float32", "uint32"),
        ("rdna3", "v_wmma_f16_16x16x16_f16", "float32", "uint16"),
        ("rdna3", "v_wmma_bf16_16x16x16_bf16", "float32", "uint16"),
        ("cdna3", "v_mfma_i32_16x16x32_i8", "int32", "uint32"),
    ],
)
def test_results_have_the_type_of_d(arch, name, values, codes):
    inst = mmacalc.instruction(arch, name)
    a, b, c = inputs(inst)
    assert inst.multiply(a, b, c).dtype == values
    zeros = (np.zeros(x.shape, np.uint8) for x in (a, b, c))
    assert inst.multiply_bits(*zeros).dtype == codes


@pytest.mark.parametrize(("arch", "nan"), [("cdna3", 0x7FC00000), ("sm_80", 0x7FFFFFFF)])
def test_nan_results_are_the_vendors(arch, nan):
    name = "v_mfma_f32_16x16x16_f16" if arch == "cdna3" else "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    inst = mmacalc.instruction(arch, name)
    a = np.zeros((16, 16), np.uint16)
    a[0, 0] = 0xFD00
    d = inst.multiply_bits(a, np.zeros((16, inst.n), np.uint16))
    assert (d[0] == nan).all()
    assert (d[1:] == 0).all()


def test_rounding_is_to_the_operand_formats_first():
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x8_xf32")
    a, b = np.zeros((16, 8)), np.zeros((8, 16))
    a[0, 0], b[0, 0] = 1 + 2.0**-11 + 2.0**-20, 1
    assert inst.multiply(a, b)[0, 0] == 1 + 2.0**-10
    bits = inst.multiply_bits(a.astype(np.float32).view(np.uint32), b.astype(np.float32).view(np.uint32))
    assert bits.view(np.float32)[0, 0] == 1


def test_f64_rounding_modes_are_those_of_the_name():
    name = f"{MMA}m16n8k4.row.col.f64.f64.f64.f64"
    down, up = (mmacalc.instruction("sm_90", f"{name}.{mode}") for mode in ("rm", "rp"))
    a, b, c = RNG.standard_normal((16, 4)), RNG.standard_normal((4, 8)), RNG.standard_normal((16, 8))
    low, high = down.multiply(a, b, c), up.multiply(a, b, c)
    assert (low < high).all()
    assert np.abs(low - (a @ b + c)).max() < 1e-14


@pytest.mark.parametrize(
    ("arch", "name"),
    [
        ("cdna3", "v_mfma_f32_16x16x32_fp8_bf8"),
        ("cdna2", "v_mfma_f32_16x16x8bf16"),
        ("sm_75", f"{MMA}m8n8k16.row.col.s32.u8.s8.s32"),
        ("cdna3", "v_mfma_f64_4x4x4_4b_f64"),
        ("sm_120a", f"{MMA}m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"),
    ],
)
def test_dot_is_one_element_of_d(arch, name):
    inst = mmacalc.instruction(arch, name)
    a, b, c = (array[0] if inst.blocks > 1 else array for array in inputs(inst, 0))
    if inst.format("A").is_float:
        a, b, c = (array + RNG.standard_normal(array.shape) / 4 for array in (a, b, c))
    lead = (inst.blocks,) if inst.blocks > 1 else ()
    d = inst.multiply(*(np.broadcast_to(x, lead + x.shape) for x in (a, b, c)))
    side = range(min(inst.m, inst.n))
    found = mmacalc.emulator.dot(inst, a[side], b.T[side], c[side, side])
    np.testing.assert_array_equal(found, (d[0] if lead else d)[side, side])


@pytest.mark.parametrize(
    ("arch", "name"),
    [
        ("cdna1", "v_mfma_f32_16x16x16f16"),
        ("cdna2", "v_mfma_f32_16x16x8bf16"),
        ("cdna3", "v_mfma_f32_16x16x16_f16"),
        ("cdna3", "v_mfma_f32_16x16x8_xf32"),
        ("cdna3", "v_mfma_f32_16x16x32_fp8_fp8"),
        ("cdna3", "v_mfma_f64_16x16x4_f64"),
        ("cdna3", "v_mfma_f32_16x16x4_f32"),
        ("rdna3", "v_wmma_bf16_16x16x16_bf16"),
        ("rdna4", "v_wmma_f32_16x16x16_fp8_bf8"),
        ("sm_80", f"{MMA}m16n8k8.row.col.f32.tf32.tf32.f32"),
        ("sm_90a", f"{MMA}m16n8k32.row.col.f32.e4m3.e5m2.f32"),
    ],
)
def test_no_input_makes_numpy_warn(arch, name):
    """Warnings are errors in this suite."""
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-320, 1e-300, 65520.0, 3.4e38, 1.0])
    inst = mmacalc.instruction(arch, name)
    shapes = ((inst.m, inst.k), (inst.k, inst.n), (inst.m, inst.n))
    for _ in range(5):
        inst.multiply(*(RNG.choice(values, shape) for shape in shapes))


# --- refusals ---------------------------------------------------------------------------------------------------

ZERO = np.zeros((16, 16))
CODES = np.zeros((16, 16), np.uint16)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda i: i.multiply(ZERO[:, 1:], ZERO), r"A \(M, K\) of .* has shape \(16, 15\); it needs \(..., 16, 16\)"),
        (lambda i: i.multiply(ZERO, np.zeros(16)), r"B \(K, N\) of .* has shape \(16,\)"),
        (lambda i: i.multiply(ZERO, ZERO, np.zeros((4, 4))), r"C \(M, N\)"),
        (lambda i: i.multiply(ZERO.astype(str), ZERO), r"A of .* has type <U32; it takes numbers"),
        (lambda i: i.multiply(ZERO + 1j, ZERO), r"A of .* has type complex128"),
        (lambda i: i.multiply_bits(ZERO, CODES), r"A of .* has type float64; it takes f16 encodings, unsigned"),
        (lambda i: i.multiply_bits(CODES, CODES.astype(int) - 1), r"B of .* holds -1; f16 encodings are 0 to 65535"),
        (lambda i: i.multiply_bits(CODES.astype(np.uint32) + 65536, CODES), r"A of .* holds 65536"),
        (lambda i: i.multiply(np.zeros((2, 16, 16)), np.zeros((3, 16, 16))), r"batches of .* do not broadcast"),
        (lambda i: i.multiply(ZERO, ZERO, index=CODES), r"is not sparse, so it takes no index"),
        (lambda i: i.multiply(ZERO, ZERO, scale_a=CODES), r"has no block scales"),
        (lambda i: i.multiply(ZERO, ZERO, clamp=True), r"has no CLAMP"),
        (lambda i: i.multiply(ZERO, ZERO, satfinite=True), r"has no .satfinite"),
        (lambda i: i.multiply(ZERO, ZERO, wave=32), r"no wave size 32"),
        (lambda i: i.multiply(ZERO, ZERO, cbsz=1), r"has no CBSZ"),
        (lambda i: i.multiply(ZERO, ZERO, cbz=1), r"unknown modifier 'cbz'"),
        (lambda i: i.multiply(ZERO, ZERO, neg=1.5), r"should be a whole number"),
        (lambda i: i.multiply([[1, 2], [3]], ZERO), r"A of .* is not an array of numbers"),
        (lambda i: i.execute([[1, 2], [3]], ZERO), r"A of .* is not an array of numbers"),
        (lambda i: i.execute(*[np.zeros((3, 2, 64), np.uint32)] * 2, d=np.zeros((2, 4, 64), np.uint32)),
         r"d of .* has batch shape \(2,\); the product has \(3,\)"),
        (lambda i: i.execute(ZERO, ZERO), r"A of .* has type float64; registers are uint32"),
        (lambda i: i.execute(*[np.zeros((4, 64), np.uint32)] * 2), r"it needs \(..., 2, 64\): 2 registers of 64 lanes"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(run, said):
    with pytest.raises(Error, match=said):
        run(mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16"))


@pytest.mark.parametrize(
    ("arch", "name", "value", "said"),
    [
        ("cdna3", "v_mfma_i32_16x16x32_i8", 200, r"A of .*: i8 takes whole numbers from -128 to 127; a value is 200"),
        ("cdna3", "v_mfma_i32_16x16x32_i8", 0.5, r"A of .*: i8 takes whole numbers"),
        ("rdna3", "v_wmma_i32_16x16x16_iu4", -1, r"A of .*: iu4 takes whole numbers from 0 to 15"),
        ("cdna5", "v_wmma_f32_32x16x128_f4", np.nan, r"A of .*: e2m1 has no NaN"),
    ],
)
def test_values_that_a_format_cannot_hold_are_refused(arch, name, value, said):
    inst = mmacalc.instruction(arch, name)
    with pytest.raises(Error, match=said):
        inst.multiply(np.full((inst.m, inst.k), value), np.zeros((inst.k, inst.n)))


def test_the_shape_that_a_sparse_operand_needs_is_told_in_its_own_letters():
    inst = mmacalc.instruction("sm_80", "mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    a, b = np.zeros((16, 32), int), np.zeros((64, 8), int)
    with pytest.raises(Error, match=r"index \(M, K/4\) of .* has shape \(16, 32\); it needs \(..., 16, 16\)"):
        inst.multiply(a, b, index=a)
    with pytest.raises(Error, match=r"A \(M, K/2\) of .* has shape \(16, 16\); it needs \(..., 16, 32\)"):
        inst.multiply(a[:, :16], b, index=a[:, :16])
    with pytest.raises(Error, match=r"A \(M, K\) of .* without index= has shape \(16, 32\); it needs \(..., 16, 64\)"):
        inst.multiply(a, b)


def test_an_instruction_needs_its_index_to_execute():
    inst = mmacalc.instruction("cdna3", "v_smfmac_f32_16x16x32_f16")
    with pytest.raises(Error, match="needs index="):
        inst.execute(np.zeros((2, 64), np.uint32), np.zeros((4, 64), np.uint32))
    with pytest.raises(Error, match="index encodings are 0 to 3"):
        inst.multiply_bits(np.zeros((16, 16), np.uint16), np.zeros((32, 16), np.uint16), index=np.full((16, 16), 4))
