"""Scales along K of generated GEMMs on the emulator: the bits of block_scaled_gemm, near float64, no finding."""

import re
import subprocess

import numpy as np
import pytest

import mmacalc
from generated_gemms import spills
from generated_products import Product
from mmacalc import Error
from mmacalc.arithmetic.codecs import decode
from mmacalc.codegen import gemm, gemm_lds
from samples import sampled

MMA, WGMMA, TCGEN05 = "mma.sync.aligned", "wgmma.mma_async.sync.aligned", "tcgen05.mma.cta_group::"
DEEPSEEK, EVERY = "1x128,128x128", "1x128,1x128"
CASES = [
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", ("row", "col"), DEEPSEEK, (70, 150, 272), {}),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", ("row", "col"), DEEPSEEK, (40, 32, 256), {"cbsz": "fp6", "blgp": "bf6"}),
    ("gfx942", "v_mfma_i32_32x32x16_i8", ("row", "row"), EVERY, (37, 21, 139), {}),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", ("row", "col"), "1x64,32x64", (40, 36, 96), {}),
    ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", ("row", "col"), DEEPSEEK, (20, 24, 256), {}),
    ("gfx1100", "v_wmma_i32_16x16x16_iu8", ("row", "col"), "128x128,128x128", (18, 40, 200), {}),
    ("gfx1250", "v_wmma_f32_16x16x128_fp8_fp8", ("row", "col"), EVERY, (24, 40, 256), {}),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("row", "col"), DEEPSEEK, (70, 150, 272), {}),
    ("sm_80", f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", ("row", "row"), EVERY, (37, 21, 139), {}),
    ("sm_120a", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", ("row", "col"), "4x64,8x64", (33, 40, 130), {}),
    ("sm_90a", f"{WGMMA}.m64n128k32.f32.e4m3.e4m3", ("row", "col"), DEEPSEEK, (150, 144, 272), {}),
    ("sm_90a", f"{WGMMA}.m64n64k32.f32.e4m3.e4m3", ("row", "col"), EVERY, (70, 37, 139), {}),
    ("sm_90a", f"{WGMMA}.m64n64k32.s32.s8.s8", ("row", "col"), "1x256,128x256", (80, 72, 512), {}),
    ("sm_90a", f"{WGMMA}.m64n32k16.f32.bf16.bf16", ("row", "row"), DEEPSEEK, (70, 40, 200), {}),
    ("sm_80", f"{MMA}.m16n8k64.row.col.s32.s4.s4.s32", ("row", "col"), "1x128,32x128", (37, 40, 320), {}),
    ("sm_120a", f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32", ("row", "col"), EVERY, (37, 24, 272), {}),
    ("sm_100a", f"{TCGEN05}1.kind::f8f6f4", ("row", "col"), DEEPSEEK, (140, 150, 272), {}),
    ("sm_100a", f"{TCGEN05}1.kind::f8f6f4", ("col", "row"), EVERY, (40, 72, 400), {"n": 64, "a": "e5m2"}),
    ("sm_103a", f"{TCGEN05}2.kind::f16", ("row", "row"), "1x64,32x64", (300, 40, 200), {"m": 256, "n": 64}),
    ("sm_100a", f"{TCGEN05}1.kind::i8", ("row", "col"), "64x128,1x128", (70, 40, 144), {"m": 64, "n": 48}),
    ("sm_100a", f"{TCGEN05}1.kind::tf32", ("row", "col"), "1x128,128x128", (40, 40, 260), {"n": 32}),
    ("sm_110a", f"{TCGEN05}2.kind::f8f6f4", ("row", "col"), "128x256,16x256", (40, 264, 520), {"m": 128, "n": 256}),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("row", "col"), "1x32,1x32", (70, 40, 272), {}),
    ("sm_90a", f"{WGMMA}.m64n64k32.f32.e4m3.e4m3", ("row", "col"), "1x64,1x64", (72, 80, 272), {}),
    ("sm_100a", f"{TCGEN05}1.kind::f8f6f4", ("row", "col"), "1x32,64x32", (140, 72, 336), {"n": 64}),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", ("row", "row"), "1x16,8x16", (37, 21, 75), {}),
    ("sm_90a", f"{WGMMA}.m64n64k32.f32.e4m3.e4m3", ("row", "row"), "1x32,64x32", (72, 41, 139), {}),
]
FINER = [
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", ("row", "col"), "1x32,1x32", (70, 150, 272), {}),
    ("gfx950", "v_mfma_f32_16x16x32_fp8_fp8", ("row", "row"), "1x64,32x64", (70, 40, 272), {}),
    ("gfx950", "v_mfma_f32_32x32x16_bf16", ("row", "col"), "1x32,128x32", (70, 40, 100), {}),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", ("row", "row"), "1x32,32x32", (24, 40, 90), {"tile": "64x64x64"}),
    ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", ("row", "col"), "1x32,64x32", (20, 24, 256), {}),
    ("gfx1100", "v_wmma_i32_16x16x16_iu8", ("col", "row"), "16x16,16x16", (18, 40, 200), {}),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", ("row", "col"), "1x16,1x16", (40, 36, 90), {"stages": 2}),
]
"""Blocks of k of which a stage of AMD has several."""


def of_each(scales, shared, extent):
    return np.repeat(scales.astype(float), shared, 0)[:extent]


@sampled(("target", "name", "orders", "text", "sizes", "options"), CASES, 3, whole=9)
def test_products_with_scales_along_k_have_the_bits_of_the_reference(
    target, name, orders, text, sizes, options, tmp_path
):
    has_the_bits_of_the_reference(target, name, orders, text, sizes, options, tmp_path)


@sampled(("target", "name", "orders", "text", "sizes", "options"), FINER, 2, whole=3)
def test_blocks_of_k_are_finer_than_a_stage(target, name, orders, text, sizes, options, tmp_path):
    product = has_the_bits_of_the_reference(target, name, orders, text, sizes, options, tmp_path)
    assert product.plan.block_k > product.scales.depth
    assert "tile" in options or spills(product.path) == [0, 0]


def has_the_bits_of_the_reference(target, name, orders, text, sizes, options, folder):
    product = Product(target, name, orders, sizes, folder, block_scales=text, **options)
    case, (m, n, k), inst, scales = product.run(real=True), sizes, product.inst, product.scales
    assert case.findings == []
    assert target != "gfx942" or not case.conflicts()
    a, b, given, d = case.a[0], case.b[0], [each[0] for each in case.along], decode(case.d[0], product.form)
    rows, columns = of_each(given[0], scales.rows, m), of_each(given[1], scales.columns, n)
    size = sum(
        (abs(a[:, at : at + scales.depth]) @ abs(b[at : at + scales.depth])) * rows[:, [block]] * columns[:, block]
        for block, at in enumerate(range(0, k, scales.depth))
    )
    # Each of K products and sums errs by at most some 2^-13 of what is added up (fp8 of Hopper: 14 bits).
    assert (abs(d - case.right()[0]) <= 2.0**-12 * size).all()
    order = relabelled(product.plan, k)
    fields = {"cbsz": "fp8", "blgp": "fp8"} if product.hip and inst.choices else {}
    fields |= {"neg": 3} if inst.format("A").kind == "either" else {}  # what a GEMM takes unless it is told
    wide = [np.pad(a, ((0, 0), (0, len(order) - k)))[:, order], np.pad(b, ((0, len(order) - k), (0, 0)))[order]]
    swapped = getattr(product.plan, "swapped", False)
    if swapped:
        wide, given = [wide[1].T, wide[0].T], given[::-1]
        text = ",".join(reversed(text.split(",")))
    wanted = mmacalc.block_scaled_gemm(*wide, *given, target, inst, text, **fields)
    assert (d == (wanted.T if swapped else wanted)).all()
    return product


def relabelled(plan, k):
    """The k in the order in which the kernel's instructions take them, zeros behind the last included."""
    if not isinstance(plan, gemm.Plan):
        return np.arange(k)
    held = np.array(gemm_lds.held_k(plan.operand("A"), plan.kpack))
    count = -(-k // len(held))
    return (np.arange(count)[:, None] * len(held) + held).ravel()


NARROW = [
    ("e2m3.e2m1", ("col", "row"), "1x32,1x32"),
    ("e2m3.e2m3", ("row", "row"), "1x32,1x32"),
    ("e2m1.e2m1", ("row", "row"), "1x32,1x32"),
    ("e2m1.e2m1", ("row", "col"), "1x32,1x32"),
    ("e4m3.e2m3", ("col", "row"), "1x32,1x32"),
    ("e2m3.e2m1", ("col", "row"), "1x64,32x64"),
]


@sampled(("formats", "orders", "scales"), NARROW, 1)
def test_no_kernel_with_several_blocks_of_k_in_a_stage_spills_registers(formats, orders, scales, tmp_path):
    inst = mmacalc.instruction("sm_120a", f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.{formats}.f32")
    source = mmacalc.generate(inst, "", *orders, gemm="512x512x512", block_scales=scales)
    (tmp_path / "kernel.cu").write_text(source)
    command = ["nvcc", "-arch=sm_120a", "-cubin", "-Xptxas", "-v", "kernel.cu", "-o", "kernel.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    assert done.stderr.count(" 0 bytes spill stores, 0 bytes spill loads") == source.count("__launch_bounds__(THREADS")


@pytest.mark.parametrize(("target", "name", "text", "says"), [
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "1x128", "rows of A x k, columns of B x k, such as '1x128,128x128'"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "1x128,128x64", "for as many k, such as '1x128,128x128'"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "1x16,1x16", "or for a part of it that is a multiple of 32; got 16"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "0x128,1x128", "from 1 to 65536"),
    ("gfx942", "v_mfma_f64_16x16x4_f64", DEEPSEEK, "v_mfma_f64_16x16x4_f64 sums up in f64"),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", DEEPSEEK, "has scales of its own"),
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", DEEPSEEK, "is sparse"),
    ("sm_90a", f"{WGMMA}.m64n256k32.f32.e4m3.e4m3", DEEPSEEK, "use one of at most 128"),
    ("sm_100a", f"{TCGEN05}1.kind::mxf8f6f4.block_scale.block32", DEEPSEEK, "has scales of its own"),
    ("sm_100a", f"{TCGEN05}1.kind::f8f6f4", "1x48,1x48", "or for a part of it that is a multiple of 32; got 48"),
])  # fmt: skip
def test_scales_along_k_that_cannot_be_are_refused(target, name, text, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.generate(mmacalc.instruction(target, name), gemm="64x64x64", block_scales=text)


def test_scales_along_k_of_too_many_columns_are_refused_with_those_that_do():
    inst = mmacalc.instruction("sm_100a", f"{TCGEN05}1.kind::f8f6f4")
    with pytest.raises(Error, match=re.escape("with N = 256 has too many: use N = 128 (-m n=128)")):
        mmacalc.generate(inst, gemm="64x64x64", block_scales=DEEPSEEK, n=256)


def test_scales_along_k_are_of_a_gemm_without_weights():
    with pytest.raises(Error, match="are of a whole GEMM"):
        mmacalc.generate(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16"), block_scales=DEEPSEEK)
    name = f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32"
    with pytest.raises(Error, match="exclude each other"):
        mmacalc.generate(mmacalc.instruction("sm_80", name), gemm="9x9x9", block_scales=DEEPSEEK, weights="int4")


def test_the_reference_names_scales_that_do_not_fit():
    a, b, one = np.ones((4, 256)), np.ones((256, 200)), np.ones((4, 2), np.float32)
    with pytest.raises(Error, match=r"scale_b is float32 of shape \(2, 2\); got float64 of shape \(2, 2\)"):
        mmacalc.block_scaled_gemm(a, b, one, np.ones((2, 2)), "gfx942", "v_mfma_f32_32x32x8_f16")
    with pytest.raises(Error, match=r"scale_a is float32 of shape \(4, 2\)"):
        mmacalc.block_scaled_gemm(a, b, one[:3], one[:2], "gfx942", "v_mfma_f32_32x32x8_f16")
