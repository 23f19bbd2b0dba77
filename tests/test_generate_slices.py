"""Batches and a split K of generated GEMMs on the emulator: right at edges, without a finding."""

import re

import numpy as np
import pytest

import mmacalc
from generated_gemms import OPTIONS, laid_out
from generated_kernels import compiled
from generated_products import Product
from mmacalc import Error
from mmacalc.arithmetic.codecs import encode
from mmacalc.codegen import gemm, gemm_cuda, gemm_tcgen05, gemm_tma, gemm_wgmma
from mmacalc.codegen.staging import whole_accesses
from mmacalc.codegen.tensor_copies import box, swizzle_name
from mmacalc.model.block_scales import block_scales_of
from oracles.emulated_kernel import ptx_of
from samples import sampled
from test_generate_formats import MXF4 as MXF4_KIND
from test_generate_formats import MXF8 as MXF8_KIND
from test_generate_formats import NVF4 as NVF4_KIND

NVF4, MXF4 = f"{NVF4_KIND}.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", f"{MXF4_KIND}.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
MXF8 = f"{MXF8_KIND}.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0"
MMA, TCGEN05 = "mma.sync.aligned", "tcgen05.mma.cta_group::"
CASES = [
    ("gfx942", "v_mfma_f32_32x32x8_f16", ("row", "row"), 3, 2, (37, 21, 75)),
    ("gfx90a", "v_mfma_f64_16x16x4f64", ("row", "col"), 2, None, (33, 16, 9)),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", ("col", "col"), None, 3, (64, 32, 32)),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", ("row", "col"), 4, 2, (32, 40, 448)),
    ("gfx942", "v_mfma_i32_32x32x16_i8", ("col", "row"), 5, None, (48, 32, 256)),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", ("row", "col"), 2, 2, (16, 24, 96)),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", ("row", "row"), 3, 2, (37, 21, 75)),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", ("row", "row"), 2, 2, (40, 24, 130)),
    ("sm_75", f"{MMA}.m16n8k8.row.col.f32.f16.f16.f32", ("col", "col"), None, 3, (48, 32, 64)),
    ("sm_80", f"{MMA}.m8n8k4.row.col.f64.f64.f64.f64", ("row", "col"), 2, None, (33, 16, 30)),
    ("sm_120a", f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", ("row", "col"), 4, 2, (40, 48, 448)),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16", ("row", "row"), 3, 2, (70, 40, 200)),
    ("sm_100a", "tcgen05.mma.cta_group::1.kind::f16", ("row", "col"), 3, 2, (140, 72, 200)),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", ("row", "row"), 2, None, (70, 40, 144)),
    ("sm_100a", "tcgen05.mma.cta_group::2.kind::f16", ("col", "row"), None, 2, (72, 264, 136)),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16", ("col", "col"), 4, 2, (72, 33, 128)),
    ("sm_100a", "tcgen05.mma.cta_group::1.kind::i8", ("row", "col"), 4, None, (40, 48, 272)),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", ("row", "col"), 3, 2, (37, 40, 960)),
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", ("row", "col"), 3, None, (37, 21, 1152)),
    ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4", ("row", "col"), 2, 2, (37, 24, 1152)),
]
MORE = 48  # elements between batches; of packed ones bytes, also of 6 bits whole elements


@sampled(("target", "name", "orders", "split", "batches", "sizes"), CASES, 3, whole=3)
def test_products_in_slices_are_right(target, name, orders, split, batches, sizes, tmp_path):
    right_in_slices(target, name, orders, split, batches, sizes, tmp_path)


def right_in_slices(target, name, orders, split, batches, sizes, folder, scales=None):
    """Random small integers, times scales along K that are powers of two."""
    inst, rng = mmacalc.instruction(target, name), np.random.default_rng(0)
    fields = {"cbsz": "fp8" if inst.k == 128 else "fp6", "blgp": "fp4"} if inst.choices else {}
    epilogue = "alpha,beta,relu" if inst.format("D").name == "f32" and not (scales or inst.scaled) else None
    source = mmacalc.generate(
        inst, "", *orders, gemm="64x64x64", split_k=split, batch=batches, epilogue=epilogue, block_scales=scales,
        **fields,
    )  # fmt: skip
    if target.startswith("gfx"):
        kernels = mmacalc.load(compiled(source, target, folder / "k.hsaco", options=OPTIONS.get(target, ())))
        found = gemm.plan(inst, None, *orders, scales=scales and block_scales_of(scales), **fields)
    else:
        kernels = mmacalc.load(ptx_of(source, target, folder))
        found = planned(inst, orders, scales and block_scales_of(scales))
    m, n, k = sizes
    count = batches or 1
    a, b, c = (rng.integers(-2, 3, (count, *shape)).astype(float) for shape in ((m, k), (k, n), (m, n)))
    right = a @ b if epilogue is None else np.maximum(0.5 * (a @ b) + 2 * c, 0)
    scaled = []
    if inst.scaled:
        scaled = [rng.integers(126, 129, (count, size, k // 32)).astype(np.uint8) for size in (m, n)]
        a_scale, b_scale = (np.repeat(2.0 ** (each - 127.0), 32, 2) for each in scaled)
        right = (a * a_scale) @ (b * b_scale.transpose(0, 2, 1))
    if scales:
        scaled = [
            (2.0 ** rng.integers(-2, 3, (count, size, -(-k // 128)))).astype(np.float32) for size in (m, -(-n // 128))
        ]
        right = of_blocks(a, b, *scaled)
    given, leads = [], []
    for matrix, order, side in zip((a, b), orders, "AB"):
        form = found.operand(side).format if target.startswith("gfx") else inst.format(side)
        rows = [encode(each if order == "row" else each.T, form, inst.architecture.family.vendor) for each in matrix]
        leads.append(rows[0].shape[1])
        given.append([laid_out(each, form.bits, leads[-1]) for each in rows])
    form = inst.format("D")
    kind = np.dtype({"f32": np.float32, "f64": np.float64, "i32": np.int32}[form.name])
    d = apart([np.full((m, n), 77, kind)] * count)
    more = [apart(list(c.astype(np.float32))), n, np.float32(0.5), np.float32(2)] if epilogue else []
    behind = [m * n + MORE] * (1 + bool(epilogue)) if batches else []
    main, *reduce = launches(source)
    mapped, shared = takes_maps(found, sizes, leads), {}
    if mapped:
        given = [mapped_by(each, side, batches) for each, side in zip(given, (found.a, found.b))]
        shared, aligned, strides, leads = {"shared": found.shared}, True, [], []
    else:
        by_tma = hasattr(found, "other")
        found = found.other if by_tma else found
        given = [apart(each) for each in given]
        strides = [int(len(each[0]) * each.itemsize * 8 / side.bits) for each, side in zip(given, (found.a, found.b))]
        whole = [max(16, whole_accesses(side.bits)) for side in (found.a, found.b)]
        even = not any(stride % each for stride, each in zip(strides, whole))
        aligned = not by_tma and found.aligned(*sizes, *leads, n) and even
    main = re.sub(r"(_any)?$", "" if aligned else "_any", main)
    grid = (found.blocks(m, n), split or 1, count)
    if split is None:
        reports = [mmacalc.launch(
            kernels[main], grid, found.threads, *given, d, *scaled, m, n, k, *leads, n, *more, *strides, *behind,
            **shared,
        )]  # fmt: skip
    else:
        sums = np.full((count, split, m, n), 55, kind)
        reports = [
            mmacalc.launch(
                kernels[main],
                grid,
                found.threads,
                *given,
                sums,
                *scaled,
                m,
                n,
                k,
                *leads,
                *(strides if batches else []),
                **shared,
            ),  # fmt: skip
            mmacalc.launch(kernels[reduce[0]], (-(-m * n // 256), 1, count), 256, sums, d, m, n, n, *more, *behind),
        ]
    assert all(report.findings == () for report in reports)
    got = d[:, : m * n].reshape(count, m, n)
    assert (abs(got - right) < 0.5).all()
    assert (d[:, m * n :] == 0).all()


def of_blocks(a, b, a_scales, b_scales):
    """A B with scales for each row of A, each 128 columns of B, and 128 k."""
    columns = np.repeat(b_scales, 128, 1)[:, : b.shape[2]]
    return sum(
        a[:, :, at : at + 128] @ b[:, at : at + 128] * a_scales[:, :, [block]] * columns[:, None, :, block]
        for block, at in enumerate(range(0, a.shape[2], 128))
    )


def planned(inst, orders, scales=None):
    """The plan of a source in CUDA."""
    if inst.in_tensor_memory:
        return gemm_tcgen05.plan(inst, *orders)
    if "wgmma" in inst.features:
        return gemm_tma.plan(inst, *orders, scales=scales) or gemm_wgmma.plan(inst, *orders, scales=scales)
    return gemm_cuda.plan(inst, *orders, scales=scales)


def takes_maps(found, sizes, leads):
    """Whether the kernel takes tensor maps of matrices of these sizes."""
    if isinstance(found, gemm_tcgen05.TensorMemoryPlan):
        return found.aligned(*leads)
    return isinstance(found, gemm_tma.TmaPlan) and found.aligned(*leads, sizes[1], sizes[1])


def mapped_by(matrices, side, batches):
    """The tensor map of a matrix, or of all of a batch."""
    array = np.ascontiguousarray(np.stack(matrices) if batches else matrices[0])
    return mmacalc.tensor_map(array, (*[1] * bool(batches), *box(side)), swizzle=swizzle_name(side))


def apart(matrices):
    """Matrices one behind the other, with elements between them."""
    rows = [np.concatenate([each.ravel(), np.zeros(MORE, each.dtype)]) for each in matrices]
    return np.stack(rows)


def launches(source):
    """The names of the kernels that the launch lines have."""
    return re.findall(r"// (?:hipLaunchKernelGGL\()?(gemm_\w+)(?:,|<<<)", source)


@sampled(("target", "name", "split", "batches", "sizes"), [
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", 3, 2, (72, 144, 400)),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 3, 2, (37, 140, 400)),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32", 2, None, (37, 140, 400)),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", None, 2, (37, 21, 139)),
], 2)  # fmt: skip
def test_slices_have_their_scales_along_k(target, name, split, batches, sizes, tmp_path):
    right_in_slices(target, name, ("row", "col"), split, batches, sizes, tmp_path, scales="1x128,128x128")


SCALED = [
    ("sm_120a", NVF4, ("row", "col"), (140, 40, 704), {"split_k": 3, "batch": 2}),
    ("sm_100a", f"{TCGEN05}1.kind::mxf8f6f4.block_scale.block32", ("row", "col"), (140, 150, 400),
     {"n": 128, "split_k": 3, "batch": 2}),
    ("sm_120a", MXF8, ("row", "row"), (37, 48, 400), {"split_k": 2, "batch": 2}),
    ("sm_100a", f"{TCGEN05}2.kind::mxf4nvf4.block_scale.block16", ("row", "col"), (300, 140, 704),
     {"n": 256, "split_k": 2, "scale": "ue4m3"}),
    ("sm_120a", MXF4, ("row", "col"), (37, 21, 320), {"split_k": 2, "epilogue": "alpha,bias=column,to=bf16"}),
    ("sm_80", f"{MMA}.m16n8k64.row.col.s32.s4.s4.s32", ("row", "col"), (37, 40, 320), {"split_k": 2, "batch": 2}),
    ("sm_110a", f"{TCGEN05}1.kind::mxf8f6f4.block_scale.block32", ("col", "row"), (144, 144, 176),
     {"n": 128, "batch": 3, "a": "e5m2"}),
]  # fmt: skip


@sampled(("target", "name", "orders", "sizes", "options"), SCALED, 2, whole=3)
def test_slices_of_blocks_with_scales_or_of_4_bits_are_right(target, name, orders, sizes, options, tmp_path):
    case = Product(target, name, orders, sizes, tmp_path, **options).run()
    assert case.findings == []
    assert case.wrong() == case.conflicts() == 0


def test_parts_beyond_k_are_zeros(tmp_path):
    """More parts than stages: some have nothing to add."""
    right_in_slices("gfx942", "v_mfma_f32_16x16x16_f16", ("row", "col"), 7, None, (16, 16, 40), tmp_path)


@pytest.mark.parametrize(("target", "name", "given", "says"), [
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"gemm": "9x9x9", "split_k": 0}, "split_k is from 1 to 128; got 0"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"gemm": "9x9x9", "batch": 70000}, "batch is from 1 to 65535"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"split_k": 2}, "are of a whole GEMM"),
    ("gfx1100", "v_wmma_f16_16x16x16_f16", {"gemm": "9x9x9", "split_k": 2}, "its sibling that adds up in f32"),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f16.f16.f16.f16", {"gemm": "9x9x9", "split_k": 2}, "its sibling that adds up"),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", {"gemm": "8x8x64", "batch": 2, "weights": "int4"},
     "f32.f16.f16.f32 and weights"),
])  # fmt: skip
def test_slices_that_cannot_be_are_refused(target, name, given, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.generate(mmacalc.instruction(target, name), **given)
