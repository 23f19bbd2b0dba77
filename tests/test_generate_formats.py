"""Generated GEMMs around mma.sync of narrow elements, of blocks with scales, and around mma.sp, on the emulator."""

import random
import re

import numpy as np
import pytest

import mmacalc
from generated_gemms import laid_out
from mmacalc import Error
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.codegen import gemm_cuda
from mmacalc.emulator.execution import sparsity
from oracles.emulated_kernel import ptx_of
from samples import sampled

MMA, SPARSE, ORDERED = "mma.sync.aligned", "mma.sp.sync.aligned", "mma.sp::ordered_metadata.sync.aligned"
NVF4, MXF4 = (f"{MMA}.m16n8k64.row.col.kind::{kind}.block_scale" for kind in ("mxf4nvf4", "mxf4"))
MXF8 = f"{MMA}.m16n8k32.row.col.kind::mxf8f6f4.block_scale"
EMPTY = 0x5A5A5A5A
CASES = [
    ("sm_80", f"{SPARSE}.m16n8k32.row.col.f32.f16.f16.f32", ("row", "col")),
    ("sm_80", f"{SPARSE}.m16n8k16.row.col.f32.bf16.bf16.f32", ("row", "row")),
    ("sm_80", f"{SPARSE}.m16n8k64.row.col.s32.s8.s8.s32", ("row", "col")),
    ("sm_89", f"{ORDERED}.m16n8k64.row.col.f32.e4m3.e5m2.f32", ("row", "col")),
    ("sm_80", f"{MMA}.m16n8k64.row.col.s32.s4.s4.s32", ("row", "col")),
    ("sm_120a", f"{NVF4}.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", ("row", "col")),
    ("sm_80", f"{SPARSE}.m16n8k16.row.col.f32.tf32.tf32.f32", ("row", "col")),
    ("sm_120a", f"{MXF4}.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", ("row", "col")),
    ("sm_120a", f"{MXF8}.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0", ("row", "col")),
    ("sm_120a", f"{MXF8}.scale_vec::1X.f32.e2m1.e3m2.f32.ue8m0", ("row", "row")),
    ("sm_120a", f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m1.f32", ("col", "row")),
    ("sm_120a", f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e5m2.f32", ("row", "col")),
    ("sm_120a", f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m3.f32", ("col", "col")),
    ("sm_120a", f"{ORDERED}.m16n8k64.row.col.kind::f8f6f4.f32.e2m3.e2m1.f32", ("row", "col")),
    ("sm_120a", f"{ORDERED}.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", ("col", "row")),
    ("sm_120a", f"{MMA}.m16n8k32.row.col.f32.e4m3.e5m2.f32", ("col", "col")),
]  # fmt: skip


def thinned(rng, matrix, shape):
    """A matrix of which a group along k has as many values as a sparse A keeps."""
    groups = matrix.reshape(len(matrix), -1, shape.period // shape.unit, shape.unit)
    order = np.argsort(rng.random(groups.shape[:3]), axis=2)
    np.put_along_axis(groups, order[:, :, shape.entries :, None].repeat(shape.unit, 3), 0, axis=2)
    return groups.reshape(matrix.shape)


def tried(inst, plan, kernels, orders, sizes, padding):
    """One product of random sizes; whether it was that of the kernel for aligned matrices."""
    (m, n, k), rng = sizes, np.random.default_rng(sizes)
    a, b = rng.integers(-2, 3, (m, k)).astype(float), rng.integers(-2, 3, (k, n)).astype(float)
    kept, more = a, []
    if inst.sparse:
        a = thinned(rng, a, sparsity(inst))
        kept, metadata = mmacalc.pack_sparse(inst, a)
        more = [metadata]
    given, leads = [], []
    for matrix, order, name, behind in zip((kept, b), orders, "AB", padding):
        form = inst.format(name)
        codes = encode(matrix if order == "row" else matrix.T, form, "nvidia")
        leads.append(codes.shape[1] + behind)
        given.append(laid_out(codes, form.bits, leads[-1]))
    if inst.scaled:
        size = inst.block_size
        values = [2.0 ** rng.integers(-1, 2, (rows, -(-k // size))) for rows in (m, n)]
        codes = [encode(each, inst.format("SA"), "nvidia").astype(np.uint8) for each in values]
        more = [mmacalc.pack_scales(each).view(np.uint32) for each in codes]
        a, b = (x * np.repeat(each, size, 1)[:, :k] for x, each in zip((a, b.T), values))
        b = b.T
    form = inst.format("D")
    d = np.full((m, n + padding[2]), EMPTY, np.uint32)
    leads.append(d.shape[1])
    aligned = plan.aligned(m, n, k, *leads)
    kernel = kernels[plan.name + "_any" * (not aligned)]
    report = mmacalc.launch(kernel, plan.blocks(m, n), plan.threads, *given, d, *more, m, n, k, *leads)
    assert report.findings == ()
    assert np.array_equal(decode(d[:, :n], form), a @ b)
    assert (d[:, n:] == EMPTY).all()
    assert sum(site.conflicts for site in report.shared_accesses if "ldmatrix" in site.text) == 0
    return aligned


@sampled(("target", "name", "orders"), CASES, 2, whole=3)
def test_a_gemm_of_sparse_scaled_or_narrow_matrices_is_right_with_edges(target, name, orders, tmp_path):
    inst, chance = mmacalc.instruction(target, name), random.Random(name)
    plan = gemm_cuda.plan(inst, *orders)
    source = mmacalc.generate(inst, gemm="512x512x512", order_a=orders[0], order_b=orders[1])
    kernels = mmacalc.load(ptx_of(source, target, tmp_path))
    m, n, k = plan.block_m + chance.randrange(1, 60), chance.randrange(8, 64), plan.block_k
    whole = {"row": 1, "col": 16}  # of rows of A, as memory has them, and of columns of B the other way round
    sizes = m // whole[orders[0]] * whole[orders[0]], n // 16 * 16 + 16, 3 * k
    assert tried(inst, plan, kernels, orders, sizes, (32, 32, 2))
    odd = 2 * k + chance.randrange(1, k // 8) * 8
    if orders == ("row", "col"):
        m, n = m - 60, n | 1
    else:  # rows of memory have whole bytes
        m, n = m // 4 * 4 - 60, n | 4
        n = n // 4 * 4
    more = 8 if min(inst.format(name).bits for name in "AB") < 8 else 6
    assert not tried(inst, plan, kernels, orders, (m, n, odd), (more, more - 4, 1))


@sampled(("target", "form"), [("sm_80", "f16"), ("sm_86", "bf16")], 1)
def test_a_gemm_with_weights_of_4_bits_is_right_with_edges(target, form, tmp_path):
    inst = mmacalc.instruction(target, f"{MMA}.m16n8k16.row.col.f32.{form}.{form}.f32")
    plan = gemm_cuda.plan(inst, "row", "col", weights=True)
    kernels = mmacalc.load(ptx_of(mmacalc.generate(inst, gemm="512x512x512", weights="int4"), target, tmp_path))
    for (m, n, k), behind in (((150, 40, 296), 2), ((70, 21, 139), 1)):
        rng = np.random.default_rng(m)
        a, b = rng.integers(-2, 3, (m, k)).astype(float), rng.integers(-8, 8, (k, n))
        scales = 2.0 ** rng.integers(-2, 3, (-(-k // 128), n))
        packed, d = mmacalc.pack_int4(b), np.full((m, n + behind), EMPTY, np.uint32)
        leads = k, 2 * packed.shape[1], n + behind
        aligned = plan.aligned(m, n, k, *leads)
        given = [encode(a, inst.format("A")), packed, d, encode(scales, inst.format("A")), m, n, k, *leads]
        kernel = kernels[plan.name + "_any" * (not aligned)]
        report = mmacalc.launch(kernel, plan.blocks(m, n), plan.threads, *given)
        assert report.findings == ()
        assert np.array_equal(decode(d[:, :n], inst.format("D")), a @ (b * np.repeat(scales, 128, 0)[:k]))
        assert aligned == (m == 150)
        assert not aligned or not any(site.conflicts for site in report.shared_accesses)


@pytest.mark.parametrize(("target", "name", "options", "says"), [
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", {"weights": "int4", "order_b": "row"}, "use order_b='col'"),
    ("sm_80", f"{MMA}.m16n8k8.row.col.f32.f16.f16.f32", {"weights": "int4"}, "for a dense mma.sync of K = 16"),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", {"weights": "int8"}, "or left out; got .int8."),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", {"weights": "int4"}, "mma.sync of f16 or bf16"),
    ("sm_80", f"{MMA}.m16n8k64.row.col.s32.s4.s4.s32", {"order_b": "row"}, "elements of 4 bits have k contiguous"),
    ("sm_80", f"{MMA}.m16n8k256.row.col.s32.b1.b1.s32.and.popc", {}, "4 bits or more; A of .* has 1 bit"),
    (
        "sm_120a",
        f"{ORDERED}.m16n8k128.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        {},
        "with scales if A is dense",
    ),
])  # fmt: skip
def test_what_no_gemm_is_generated_for_is_refused(target, name, options, says):
    with pytest.raises(Error, match=says):
        mmacalc.generate(mmacalc.instruction(target, name), gemm="64x64x64", **options)


def test_a_matrix_that_is_not_sparse_is_not_packed():
    inst = mmacalc.instruction("sm_80", f"{SPARSE}.m16n8k32.row.col.f32.f16.f16.f32")
    matrix = np.zeros((16, 32))
    matrix[3, 4:7] = 1
    with pytest.raises(Error, match="row 3 has more than 2 values that are not zero in k = 4 to 7"):
        mmacalc.pack_sparse(inst, matrix)
    with pytest.raises(Error, match="pack_sparse takes a sparse instruction"):
        mmacalc.pack_sparse(mmacalc.instruction("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32"), np.zeros((16, 32)))


def test_a_kernel_says_where_elements_lie_that_are_narrower_than_a_byte():
    """Each in a byte around one instruction; packed in a GEMM."""
    said = "Each element of A and B lies in a byte: e2m1 in bits 5 to 2, e2m3 and e3m2 in bits 5 to 0."
    for a, b in (("e2m1", "e4m3"), ("e5m2", "e3m2"), ("e4m3", "e5m2")):
        inst = mmacalc.instruction("sm_120a", f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.{a}.{b}.f32")
        assert (said in mmacalc.generate(inst)) == ({a, b} != {"e4m3", "e5m2"})
        source = mmacalc.generate(inst, gemm="64x64x64")
        assert said not in source
        assert ("Elements of A have 4 bits in memory" in source) == (a == "e2m1")
        assert ("Elements of B have 6 bits in memory" in source) == (b == "e3m2")


@pytest.mark.parametrize(("warpgroup", "warp"), [
    ("m64n8k32.f32.f16.f16", "m16n8k32.row.col.f32.f16.f16.f32"),
    ("m64n8k64.s32.s8.s8", "m16n8k64.row.col.s32.s8.s8.s32"),
    ("m64n8k16.f32.tf32.tf32", "m16n8k16.row.col.f32.tf32.tf32.f32"),
])  # fmt: skip
def test_a_warp_of_wgmma_has_the_metadata_of_mma_sp(warpgroup, warp):
    of_wgmma = mmacalc.instruction("sm_90a", f"wgmma.mma_async.sp.sync.aligned.{warpgroup}")
    of_mma = mmacalc.instruction("sm_90a", f"mma.sp.sync.aligned.{warp}")
    rng = np.random.default_rng(0)
    matrix = thinned(rng, rng.integers(-2, 3, (150, 320)).astype(float), sparsity(of_mma))
    (kept, words), (same, each) = (mmacalc.pack_sparse(inst, matrix) for inst in (of_wgmma, of_mma))
    assert np.array_equal(kept, same)
    warps = words.reshape(*words.shape[:2], 4, 32).swapaxes(1, 2).reshape(-1, words.shape[1], 32)
    assert np.array_equal(warps[: len(each)], each)


@pytest.mark.parametrize(
    ("weights", "got"),
    [
        (np.full((32, 2), 9), "got 9 at k = 0, n = 0"),
        (np.array([[1, 2], [3, 0.5]]), "got 0.5 at k = 1, n = 1"),
        (np.zeros((0, 8), int), "got int64 of shape (0, 8)"),
    ],
)
def test_weights_that_are_no_4_bits_are_refused_by_value_and_place(weights, got):
    with pytest.raises(Error, match=re.escape(got)):
        mmacalc.pack_int4(weights)
