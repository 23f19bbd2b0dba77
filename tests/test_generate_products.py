"""Options of generated GEMMs together, on the emulator: formats, orders, edges, epilogues, parts, batches, groups."""

import re

import pytest

import mmacalc
from generated_gemms import spills
from generated_products import Product
from mmacalc import Error
from mmacalc.codegen import gemm_cuda, gemm_wgmma
from mmacalc.codegen.gemm_choice import generated_gemm
from mmacalc.codegen.gemm_cuda_loads import side_matrices
from mmacalc.formats import formats_named
from mmacalc.model.block_scales import block_scales_of
from samples import rotated, sampled

WGMMA_SP = "wgmma.mma_async.sp.sync.aligned"
MMA, WGMMA, TCGEN05 = "mma.sync.aligned", "wgmma.mma_async.sync.aligned", "tcgen05.mma.cta_group::"
ALL = "alpha,beta,scale=row,scale=column"
CASES = [
    ("gfx1100", "v_wmma_i32_16x16x16_iu8", ("row", "row"), (40, 24, 70), {"neg": 1}),
    ("gfx950", "v_mfma_f32_16x16x128_f8f6f4", ("row", "col"), (37, 50, 264),
     {"cbsz": "bf8", "blgp": "fp4", "batch": 2, "split_k": 3, "epilogue": f"{ALL},bias=column,gelu,to=bf16"}),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e5m2.f32", ("col", "row"), (48, 40, 200),
     {"batch": 2, "split_k": 3, "epilogue": f"{ALL},bias=row,to=fp8"}),
    ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4", ("row", "col"), (24, 40, 256),
     {"matrix_a_scale_fmt": 1, "matrix_b_fmt": "fp4", "epilogue": "beta,silu,to=f16"}),
    ("sm_100a", f"{TCGEN05}2.kind::f8f6f4", ("row", "row"), (300, 70, 144),
     {"m": 256, "n": 256, "b": "e2m1", "batch": 2, "split_k": 2, "epilogue": f"{ALL},bias=column,relu,to=f16"}),
    ("gfx1100", "v_wmma_i32_16x16x16_iu4", ("row", "col"), (48, 32, 96), {"neg": 2, "split_k": 2}),
    ("sm_90a", f"{WGMMA}.m64n48k16.f32.bf16.bf16", ("col", "row"), (150, 56, 136),
     {"batch": 2, "split_k": 3, "epilogue": f"{ALL},bias=row,silu,to=bf16"}),
    ("gfx1201", "v_wmma_i32_16x16x32_iu4", ("row", "col"), (140, 24, 160), {"epilogue": "scale=row,to=f16"}),
    ("gfx942", "v_mfma_f32_16x16x8_xf32", ("col", "row"), (33, 50, 75), {"batch": 3, "epilogue": f"{ALL},to=fp8"}),
    ("sm_90a", f"{WGMMA}.m64n32k32.s32.s8.s8", ("row", "row"), (70, 40, 260),
     {"split_k": 3, "epilogue": "scale=column"}),
    ("sm_80", f"{MMA}.m16n8k8.row.col.f32.tf32.tf32.f32", ("col", "row"), (40, 21, 70), {"split_k": 2, "batch": 2}),
    ("sm_100a", f"{TCGEN05}1.kind::mxf8f6f4.block_scale.block32", ("row", "col"), (140, 130, 256),
     {"n": 128, "a": "e2m3", "epilogue": "alpha,beta,bias=column,gelu,to=bf16"}),
    ("sm_120a", f"{MMA}.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
     ("row", "col"), (40, 24, 192), {"epilogue": "beta,bias=row,relu,to=f16"}),
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", ("row", "col"), (40, 24, 128),
     {"epilogue": f"{ALL},bias=column,to=bf16"}),
    ("sm_100a", "tcgen05.mma.sp.cta_group::2.kind::f16", ("row", "col"), (300, 70, 264),
     {"n": 64, "a": "bf16", "split_k": 2, "batch": 2, "epilogue": f"{ALL},bias=column,gelu,to=bf16"}),
    ("sm_90a", f"{WGMMA_SP}.m64n48k64.f32.e4m3.e5m2", ("row", "col"), (140, 50, 544),
     {"split_k": 2, "batch": 2, "epilogue": "relu,to=f16"}),
    ("sm_90a", f"{WGMMA_SP}.m64n32k16.f32.tf32.tf32", ("col", "row"), (70, 40, 166), {"split_k": 3}),
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ("col", "row"), (40, 24, 268),
     {"split_k": 2, "batch": 2}),
    ("sm_90a", f"{WGMMA}.m64n256k8.f32.tf32.tf32", ("col", "row"), (72, 264, 75), {"split_k": 2, "batch": 2}),
    ("sm_90a", f"{WGMMA}.m64n24k8.f32.tf32.tf32", ("row", "row"), (70, 40, 76), {"epilogue": "bias=row"}),
    # K is a multiple of what 16 bytes of B have, and not of what 16 of a compressed A stand for.
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", ("col", "col"), (48, 160, 176), {}),
    ("gfx942", "v_mfma_i32_16x16x32_i8", ("row", "col"), (40, 24, 300), {"split_k": 2, "block_scales": "1x128,1x128"}),
    ("gfx950", "v_mfma_i32_32x32x16_i8", ("col", "row"), (70, 40, 512), {"block_scales": "1x256,64x256"}),
    ("gfx950", "v_mfma_f32_32x32x16_bf8_fp8", ("row", "row"), (70, 29, 334),
     {"block_scales": "128x128,128x128", "stages": 2}),
    ("sm_80", f"{MMA}.m16n8k16.row.col.s32.s8.s8.s32", ("col", "row"), (40, 24, 224), {"block_scales": "1x32,1x32"}),
    ("sm_100a", f"{TCGEN05}1.kind::i8", ("row", "col"), (14, 38, 300),
     {"m": 64, "n": 64, "split_k": 2, "batch": 2, "block_scales": "1x128,64x128", "epilogue": "relu"}),
]  # fmt: skip


TURNED = [
    ("sm_80", f"{MMA}.m16n8k32.row.col.s32.s8.u8.s32", {}),
    ("sm_120a", f"{MMA}.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0", {}),
    ("sm_80", f"{MMA}.m16n8k8.row.col.f32.tf32.tf32.f32", {}),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32", {"block_scales": "1x128,8x128", "epilogue": "bias=row"}),
    ("sm_75", f"{MMA}.m8n8k16.row.col.s32.s8.s8.s32", {}),
    ("sm_80", f"{MMA}.m8n8k4.row.col.f64.f64.f64.f64", {}),
    ("sm_80", f"{MMA}.m16n8k16.row.col.s32.s8.s8.s32", {"block_scales": "1x128,1x128", "epilogue": "bias=column"}),
    ("sm_90", f"{MMA}.m16n8k8.row.col.f64.f64.f64.f64", {}),
    ("sm_80", "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", {}),
    ("sm_90a", f"{WGMMA}.m64n64k32.s32.s8.s8", {}),
    ("sm_80", "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", {}),
    ("sm_90a", f"{WGMMA}.m64n128k8.f32.tf32.tf32", {}),
    ("sm_90a", f"{WGMMA}.m64n48k32.f32.e4m3.e5m2", {"split_k": 2}),
    ("sm_90a", f"{WGMMA}.m64n128k32.f32.e5m2.e4m3", {"block_scales": "1x128,128x128"}),
]


@sampled(("case", "orders"), rotated(TURNED, [("col", "row"), ("row", "row"), ("col", "col")]), 3, whole=3)
def test_matrices_of_any_width_that_lie_the_other_way_round_have_no_bank_conflict(case, orders, tmp_path):
    target, name, options = case
    found = Product(target, name, orders, (160, 144, 256), tmp_path, **options).run()
    assert found.findings == []
    assert found.wrong() == 0
    assert target == "sm_75" or found.conflicts() == 0  # without cp.async matrices are copied by loads and stores
    edges = Product(target, name, orders, (41, 23, 256), tmp_path, **options).run(seed=1)
    assert edges.findings == []
    assert edges.wrong() == 0


SPARSE = [
    ("gfx942", "v_smfmac_f32_32x32x16_bf16", {"epilogue": f"{ALL},bias=column,to=bf16"}),
    ("gfx1201", "v_swmmac_f32_16x16x32_f16", {"wave": 64}),
    ("gfx950", "v_smfmac_i32_16x16x128_i8", {}),
    ("gfx1250", "v_swmmac_f32_16x16x64_f16", {"epilogue": "relu"}),
    ("gfx942", "v_smfmac_f32_16x16x64_bf8_fp8", {"tile": "64x128x128"}),
    ("gfx1201", "v_swmmac_i32_16x16x32_iu8", {"neg": 1}),
    ("gfx950", "v_smfmac_f32_32x32x32_f16", {}),
    ("gfx942", "v_smfmac_f32_16x16x32_f16", {}),
    ("gfx1201", "v_swmmac_f32_16x16x32_fp8_bf8", {"stages": 2}),
]
"""A product that fills a register of metadata, or a half, or a quarter; whose k is relabelled, or not."""


SPARSE_BY_WGMMA = [
    ("m64n64k32.f32.bf16.bf16", {"epilogue": f"{ALL},bias=column,relu,to=bf16"}, ("row", "col")),
    ("m64n48k64.f32.e4m3.e5m2", {}, ("col", "row")),
    ("m64n24k32.f16.f16.f16", {"epilogue": "beta,bias=row"}, ("row", "row")),
    ("m64n64k16.f32.tf32.tf32", {"stages": 3}, ("row", "col")),
    ("m64n64k32.f32.f16.f16", {}, ("col", "row")),
    ("m64n32k64.s32.s8.u8", {"epilogue": "silu,to=f16"}, ("row", "col")),
    ("m64n136k16.f32.tf32.tf32", {}, ("col", "row")),
    ("m64n128k64.f32.e4m3.e5m2", {}, ("col", "row")),
    ("m64n64k16.f32.tf32.tf32", {"split_k": 2}, ("row", "row")),
]
EVERY_SPARSE = [
    *rotated(SPARSE, [("row", "col"), ("col", "row"), ("row", "row")]),
    *[(("sm_90a", f"{WGMMA_SP}.{name}", options), orders) for name, options, orders in SPARSE_BY_WGMMA],
]


@sampled(("case", "orders"), EVERY_SPARSE, 5, whole=19)
def test_a_product_of_a_sparse_a_is_right_without_bank_conflicts(case, orders, tmp_path):
    target, name, options = case
    for sizes, seed in (((160, 144, 384), 0), ((70, 41, 268), 1)):
        found = Product(target, name, orders, sizes, tmp_path, **options).run(seed=seed)
        assert found.findings == []
        assert found.wrong() == 0
        assert found.conflicts() == 0


SLICED_SPARSE = [
    ("gfx1250", "v_swmmac_f32_16x16x128_fp8_bf8", ("row", "col"), (70, 41, 520), None, {}),
    ("gfx950", "v_smfmac_f32_16x16x32_f16", ("row", "row"), (70, 41, 268), None, {}),
    ("gfx942", "v_smfmac_f32_16x16x32_f16", ("row", "col"), (70, 41, 268), None,
     {"split_k": 2, "batch": 2, "epilogue": "beta,bias=column,to=f16"}),
    ("gfx942", "v_smfmac_f32_32x32x32_fp8_fp8", ("row", "col"), (90, 41, 272), (33, 90),
     {"block_scales": "1x128,1x128"}),
    ("gfx1201", "v_swmmac_i32_16x16x64_iu4", ("row", "col"), (40, 24, 520), None, {"split_k": 3, "batch": 2}),
    ("gfx950", "v_smfmac_f32_16x16x64_f16", ("row", "row"), (70, 41, 272), None, {"block_scales": "1x64,32x64"}),
    ("gfx1250", "v_swmmac_f32_16x16x64_f16", ("row", "col"), (40, 30, 260), None, {"split_k": 2}),
    ("gfx942", "v_smfmac_f32_16x16x64_fp8_fp8", ("row", "col"), (70, 41, 272), None,
     {"block_scales": "1x128,128x128", "split_k": 2}),
    ("gfx950", "v_smfmac_f32_32x32x32_bf16", ("col", "row"), (70, 41, 600), None, {"split_k": 3}),
    ("gfx942", "v_smfmac_f32_32x32x16_bf16", ("row", "col"), (200, 41, 268), (37, 37, 150, 200),
     {"epilogue": "scale=row"}),
    ("gfx1201", "v_swmmac_i32_16x16x32_iu8", ("row", "col"), (40, 24, 264), None,
     {"block_scales": "16x64,16x64", "batch": 2}),
    ("gfx1250", "v_swmmac_i32_16x16x128_iu8", ("col", "row"), (70, 41, 524), None,
     {"neg": 1, "split_k": 2, "batch": 2}),
    ("gfx1250", "v_swmmac_f16_16x16x128_fp8_fp8", ("row", "row"), (160, 144, 512), None, {}),
    ("gfx950", "v_smfmac_f32_32x32x64_fp8_fp8", ("row", "row"), (44, 44, 552), None,
     {"split_k": 2, "block_scales": "1x128,128x128"}),
    ("gfx1250", "v_swmmac_f32_16x16x128_fp8_fp8", ("row", "col"), (100, 41, 300), (33, 100),
     {"epilogue": "bias=column,relu,to=bf16"}),
]  # fmt: skip
"""Parts of K, batches, groups and scales along K of a compressed A."""


@sampled(("target", "name", "orders", "sizes", "ends", "options"), SLICED_SPARSE, 2, whole=3)
def test_a_sparse_a_of_amd_has_slices_and_scales_along_k(target, name, orders, sizes, ends, options, tmp_path):
    found = Product(target, name, orders, sizes, tmp_path, ends=ends, **options).run()
    assert found.findings == []
    assert found.wrong() == 0
    assert found.conflicts() == 0
    assert not any(spills(found.product.path))


@pytest.mark.parametrize("name", ["v_swmmac_i32_16x16x32_iu4", "v_swmmac_i32_16x16x64_iu4"])
@pytest.mark.parametrize("k", [68, 256, 264])
def test_metadata_of_relabelled_k_are_those_of_whole_pieces_of_lanes(name, k, tmp_path):
    found = Product("gfx1201", name, ("row", "col"), (40, 24, k), tmp_path).run()
    assert found.findings == []
    assert found.wrong() == 0


def test_each_ldmatrix_of_a_gemm_fills_registers_of_the_warps_own_tiles():
    """Four at once: of an instruction with one register of B, two tiles would have half of what is loaded."""
    tried = 0
    for target in ("sm_75", "sm_80", "sm_89", "sm_120a"):
        for inst in mmacalc.instructions(target):
            for scales in (None, "1x64,1x64", "1x32,1x32", "1x16,1x16", "16x32,16x32"):
                try:
                    found = gemm_cuda.plan(inst, "row", "col", scales=scales and block_scales_of(scales))
                except Error:
                    continue
                for side, tiles in ((found.a, found.tiles_m), (found.b, found.tiles_n)):
                    loads = side_matrices(inst, side)
                    assert not loads or tiles * inst.operand(side.name).registers % 4 == 0, (inst.name, scales)
                    tried += bool(loads)
    assert tried > 1000


@pytest.mark.parametrize("kind", ["k8.f32.tf32.tf32", "k32.s32.s8.s8"])
def test_a_matrix_that_ends_within_what_a_thread_turns_over_at_once_is_not_aligned(kind):
    """A load of four elements would be beyond the last row of memory, or at no multiple of its bytes."""
    plan = gemm_wgmma.plan(mmacalc.instruction("sm_90a", f"{WGMMA}.m64n64{kind}"), "col", "row")
    assert plan.aligned(44, 36, 33, 48, 48, 36)
    assert not plan.aligned(42, 36, 33, 48, 48, 36)
    assert not plan.aligned(44, 38, 33, 48, 48, 38)


@sampled(("target", "name", "orders", "sizes", "options"), CASES, 2, whole=7)
def test_options_of_a_gemm_are_right_together(target, name, orders, sizes, options, tmp_path):
    case = Product(target, name, orders, sizes, tmp_path, **options).run()
    assert case.findings == []
    assert case.wrong() == 0


@pytest.mark.parametrize(("target", "name", "given", "says"), [
    ("gfx1100", "v_wmma_f32_16x16x16_f16", {"neg": 1, "gemm": "9x9x9"}, "signs of A and B as modifiers: leave out neg"),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"opsel": 1, "gemm": "9x9x9"}, "are blgp, cbsz: leave out opsel"),
    ("gfx942", "v_mfma_f64_16x16x4_f64", {"blgp": 1, "gemm": "9x9x9"}, "formats and signs of A and B as modifiers"),
    ("gfx1100", "v_wmma_f16_16x16x16_f16", {"opsel": 4, "gemm": "9x9x9"}, "leave out opsel"),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", {"cbsz": "fp6", "order_a": "col", "gemm": "9x9x9"},
     "has elements of 6 bits that are not neighbours along k: use order_a='row'"),
    ("gfx942", "v_smfmac_i32_16x16x64_i8", {"gemm": "9x9x8", "abid": 1}, "modifiers: leave out abid"),
])  # fmt: skip
def test_a_modifier_that_a_gemm_does_not_carry_out_is_refused(target, name, given, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.generate(mmacalc.instruction(target, name), **given)


TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250", "sm_70", "sm_75", "sm_80", "sm_89",
           "sm_90a", "sm_100a", "sm_103a", "sm_120a", "xe2")  # fmt: skip
TYPES = ("f16", "bf16", "fp8", "fp6", "fp4", "i8", "u8", "i4", "tf32", "f32", "f64", "mxfp8", "nvfp4", "b1")


@pytest.mark.parametrize("target", TARGETS)
def test_a_gemm_of_a_type_is_generated_around_an_instruction_of_it_or_refused(target):
    made = set()
    for element in TYPES:
        try:
            found = generated_gemm(target, element, (512, 512, 512))
        except Error:  # which says why: see below
            continue
        inst, fields = found.instruction, found.modifiers
        forms = {inst.format(side, fields).name for side in "AB"}
        assert forms <= formats_named(element) | {"iu8", "iu4"}, element
        assert inst.name in found.source
        assert inst.scaled == (element in ("mxfp8", "nvfp4"))
        assert found.source == mmacalc.generate(inst, gemm=(512, 512, 512), **fields)
        made.add(element)
    assert made >= {"f16"} or target in ("sm_70", "xe2")


CHOSEN = [
    ("gfx942", "f16", (70, 40, 100), {}, "v_mfma_f32_32x32x8_f16"),
    ("sm_80", "i8", (70, 40, 144), {}, f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32"),
    ("gfx1100", "u8", (70, 40, 100), {}, "v_wmma_i32_16x16x16_iu8"),
    ("sm_90a", "fp8", (150, 56, 144), {}, f"{WGMMA}.m64n256k32.f32.e4m3.e4m3"),
    ("sm_90a", "f16", (70, 40, 256), {"weights": "int4"}, f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32"),
    ("sm_100a", "mxfp8", (300, 130, 256), {}, f"{TCGEN05}2.kind::mxf8f6f4.block_scale.block32"),
    ("gfx950", "fp4", (37, 50, 288), {}, "v_mfma_f32_32x32x64_f8f6f4"),
    ("gfx1250", "bf8", (24, 40, 256), {}, "v_wmma_f32_16x16x128_f8f6f4"),
    ("sm_120a", "bf16", (70, 40, 144), {"epilogue": "relu,to=f16"}, f"{MMA}.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("gfx1201", "i4", (70, 40, 96), {}, "v_wmma_i32_16x16x32_iu4"),
]


@sampled(("target", "element", "sizes", "options", "name"), CHOSEN, 3, whole=3)
def test_a_gemm_around_the_instruction_of_its_type_is_right(target, element, sizes, options, name, tmp_path):
    inst, fields, _ = generated_gemm(target, element, (4096, 4096, 4096), **options)
    assert inst.name == name
    fields = {**fields, **getattr(inst, "given", {})}
    case = Product(target, name, ("row", "col"), sizes, tmp_path, **options, **fields).run()
    assert case.findings == []
    assert case.wrong() == 0


@pytest.mark.parametrize(("target", "element", "options", "says"), [
    ("MI300X", "fp4", {}, "CDNA3 multiplies no fp4 matrices"),
    ("H100", "f16", {"gemm": "5x5"}, "gemm is MxNxK, such as 4096x4096x4096; got '5x5'"),
    ("H100", "fp7", {}, "unknown number format 'fp7'. Did you mean fp8"),
    ("sm_70", "f16", {}, "no instruction of sm_70 (Volta) has a kernel for this GEMM of f16: a GEMM is generated"),
])  # fmt: skip
def test_a_gemm_for_which_there_is_no_instruction_is_refused(target, element, options, says):
    with pytest.raises(Error, match=re.escape(says)):
        generated_gemm(target, element, **{"gemm": (9, 9, 9), **options})
