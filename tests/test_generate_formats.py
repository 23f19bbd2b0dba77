"""Generated GEMMs around mma.sync of narrow elements, of blocks with scales, and around mma.sp, on the emulator."""

import random
import re

import numpy as np
import pytest

import mmacalc
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
]  # fmt: skip


def laid_out(codes, bits, form, lead):
    """Rows of memory, behind which lies what would be noticed: elements of 4 bits in pairs, or one in a byte."""
    found = np.full((len(codes), lead), (1 << bits) - 1, f"u{max(8, bits) // 8}")
    found[:, : codes.shape[1]] = codes << (2 if (bits, form.bits) == (8, 4) else 0)
    return found if bits >= 8 else found[:, ::2] | found[:, 1::2] << 4


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
        form, bits = inst.format(name), inst.operand(name).placement.slot_bits
        codes = encode(matrix if order == "row" else matrix.T, form, "nvidia")
        leads.append(codes.shape[1] + behind)
        given.append(laid_out(codes, bits, form, leads[-1]))
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
    assert tried(inst, plan, kernels, orders, (m, n // 8 * 8, 3 * k), (32, 32, 2))
    odd = 2 * k + chance.randrange(1, k // 8) * 8
    assert not tried(inst, plan, kernels, orders, (m - 60, n | 1, odd), (6, 2, 1))


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


@pytest.mark.parametrize("given", [{}, {"gemm": "64x64x64"}])
def test_a_kernel_says_where_elements_lie_that_are_narrower_than_their_bytes(given):
    said = "Each element of A and B lies in a byte: e2m1 in bits 5 to 2, e2m3 and e3m2 in bits 5 to 0."
    for a, b in (("e2m1", "e4m3"), ("e5m2", "e3m2"), ("e4m3", "e5m2")):
        inst = mmacalc.instruction("sm_120a", f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.{a}.{b}.f32")
        assert (said in mmacalc.generate(inst, **given)) == ({a, b} != {"e4m3", "e5m2"})


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
