"""Groups of rows of generated GEMMs (experts of a mixture) on the emulator: right for any sizes, without a finding."""

import re

import pytest

import mmacalc
from generated_products import Product
from mmacalc import Error
from samples import sampled
from test_generate_block_scales import DEEPSEEK, MMA, TCGEN05, WGMMA
from test_generate_slices import MXF8, NVF4

MMA_SP, WGMMA_SP = "mma.sp.sync.aligned", "wgmma.mma_async.sp.sync.aligned"
ENDS = ([0, 37, 37, 166, 171], [5], [64, 128, 256], [300, 300, 450, 700])
"""Groups without rows, smaller and larger than a tile."""
CASES = [
    ("gfx942", "v_mfma_f32_32x32x8_f16", ("row", "col"), ENDS[0], (40, 96),
     {"epilogue": "alpha,beta,bias=column,relu"}),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", ("row", "col"), ENDS[0], (40, 128), {"cbsz": "fp6", "blgp": "fp8"}),
    ("gfx90a", "v_mfma_f64_16x16x4f64", ("row", "row"), ENDS[2], (16, 20), {}),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", ("row", "col"), ENDS[0], (144, 272), {"block_scales": DEEPSEEK}),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", ("row", "row"), ENDS[0], (33, 50), {"epilogue": "scale=row,bias=row"}),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", ("row", "col"), ENDS[1], (24, 64), {}),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", ("row", "col"), ENDS[0], (40, 576), {}),
    ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4", ("row", "col"), ENDS[0], (24, 640), {}),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", ("row", "row"), ENDS[0], (40, 96),
     {"epilogue": "alpha,beta,bias=column,relu"}),
    ("sm_75", f"{MMA}.m16n8k8.row.col.f32.f16.f16.f32", ("row", "col"), ENDS[0], (37, 50), {}),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("row", "col"), ENDS[2], (144, 272),
     {"block_scales": DEEPSEEK}),
    ("sm_80", f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", ("row", "col"), ENDS[0], (24, 64), {"epilogue": "scale=column"}),
    ("sm_90a", f"{WGMMA}.m64n64k16.f32.f16.f16", ("row", "row"), ENDS[0], (72, 80), {"epilogue": "scale=row,to=bf16"}),
    ("sm_90a", f"{WGMMA}.m64n64k32.f32.e4m3.e4m3", ("row", "col"), ENDS[0], (72, 272), {"block_scales": DEEPSEEK}),
    ("sm_90a", f"{WGMMA}.m64n64k32.f32.e4m3.e4m3", ("row", "row"), ENDS[2], (33, 50), {"epilogue": "beta,bias=row"}),
    ("sm_100a", f"{TCGEN05}1.kind::f8f6f4", ("row", "col"), ENDS[0], (144, 272),
     {"n": 64, "block_scales": "1x128,1x128", "epilogue": "alpha,beta,bias=column,to=bf16"}),
    ("sm_100a", f"{TCGEN05}2.kind::f16", ("row", "row"), ENDS[2], (72, 72),
     {"epilogue": "scale=row,scale=column,relu"}),
    ("sm_120a", NVF4, ("row", "col"), ENDS[0], (40, 192), {}),
    ("sm_100a", f"{TCGEN05}2.kind::mxf8f6f4.block_scale.block32", ("row", "row"), ENDS[3], (144, 160),
     {"n": 256, "epilogue": "bias=column,to=bf16"}),
    ("sm_120a", MXF8, ("row", "col"), ENDS[0], (33, 200), {"epilogue": "scale=row,to=f16"}),
    ("sm_103a", f"{TCGEN05}1.kind::mxf4.block_scale.block32", ("row", "col"), ENDS[0], (140, 352), {"n": 128}),
    ("sm_80", f"{MMA}.m16n8k64.row.col.s32.s4.s4.s32", ("row", "col"), ENDS[0], (40, 192), {}),
    ("sm_100a", f"{TCGEN05}2.kind::mxf4nvf4.block_scale.block16", ("row", "col"), ENDS[0], (140, 352),
     {"n": 128, "scale": "ue4m3"}),
    ("sm_90a", f"{WGMMA_SP}.m64n64k32.f32.bf16.bf16", ("row", "row"), ENDS[0], (72, 272), {"epilogue": "bias=column"}),
    ("sm_80", f"{MMA_SP}.m16n8k64.row.col.s32.s8.s8.s32", ("row", "col"), ENDS[0], (37, 264), {}),
    ("sm_100a", "tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale.block32", ("row", "col"), ENDS[3], (140, 328),
     {"n": 128, "epilogue": "scale=row"}),
]  # fmt: skip


@sampled(("target", "name", "orders", "ends", "sizes", "options"), CASES, 4, whole=7)
def test_groups_of_rows_are_multiplied_each_by_its_own_b(target, name, orders, ends, sizes, options, tmp_path):
    case = Product(target, name, orders, (ends[-1], *sizes), tmp_path, ends=ends, **options).run()
    assert case.findings == []
    assert case.wrong() == 0


@pytest.mark.parametrize(("target", "name", "given", "says"), [
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"order_a": "col"}, "use order_a='row'"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"batch": 2}, "neither with batch nor with split_k"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"groups": 0}, "groups is from 1 to 65535; got 0"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", {"block_scales": "128x128,128x128"}, "are for single rows, 1x128"),
    ("sm_100a", "tcgen05.mma.sp.cta_group::2.kind::f16", {}, "are generated with cta_group::1"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"language": "triton"}, "leave out groups"),
])  # fmt: skip
def test_groups_that_cannot_be_are_refused(target, name, given, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.generate(mmacalc.instruction(target, name), gemm="64x64x64", **{"groups": 3, **given})
