"""Scales along K of generated GEMMs on the emulator: the bits of block_scaled_gemm, near float64, no finding."""

import re

import numpy as np
import pytest

import mmacalc
from generated_gemms import OPTIONS, laid_out
from generated_kernels import compiled
from mmacalc import Error
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.codegen import gemm, gemm_cuda, gemm_tma, gemm_wgmma
from mmacalc.codegen.tensor_copies import box, swizzle_name
from mmacalc.model.block_scales import block_scales_of
from oracles.emulated_kernel import ptx_of
from samples import sampled

MMA, WGMMA = "mma.sync.aligned", "wgmma.mma_async.sync.aligned"
DEEPSEEK, EVERY = "1x128,128x128", "1x128,1x128"
CASES = [
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", ("row", "col"), DEEPSEEK, (70, 150, 272)),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", ("row", "col"), DEEPSEEK, (40, 32, 256)),
    ("gfx942", "v_mfma_i32_32x32x16_i8", ("row", "row"), EVERY, (37, 21, 139)),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", ("row", "col"), "1x64,32x64", (40, 36, 96)),
    ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", ("row", "col"), DEEPSEEK, (20, 24, 256)),
    ("gfx1100", "v_wmma_i32_16x16x16_iu8", ("row", "col"), "128x128,128x128", (18, 40, 200)),
    ("gfx1250", "v_wmma_f32_16x16x128_fp8_fp8", ("row", "col"), EVERY, (24, 40, 256)),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("row", "col"), DEEPSEEK, (70, 150, 272)),
    ("sm_80", f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", ("row", "row"), EVERY, (37, 21, 139)),
    ("sm_120a", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", ("row", "col"), "4x64,8x64", (33, 40, 130)),
    ("sm_90a", f"{WGMMA}.m64n128k32.f32.e4m3.e4m3", ("row", "col"), DEEPSEEK, (150, 144, 272)),
    ("sm_90a", f"{WGMMA}.m64n64k32.f32.e4m3.e4m3", ("row", "col"), EVERY, (70, 37, 139)),
    ("sm_90a", f"{WGMMA}.m64n64k32.s32.s8.s8", ("row", "col"), "1x256,128x256", (80, 72, 512)),
    ("sm_90a", f"{WGMMA}.m64n32k16.f32.bf16.bf16", ("row", "row"), DEEPSEEK, (70, 40, 200)),
]


class Kernels:
    """The kernels of a source, and what launches them."""

    def __init__(self, target, name, orders, folder, **options):
        self.inst, self.orders = mmacalc.instruction(target, name), orders
        text = options.get("block_scales")
        scales, fields = (
            text and block_scales_of(text),
            {name: options[name] for name in ("cbsz", "blgp") if name in options},
        )
        self.source = mmacalc.generate(self.inst, "", *orders, gemm="512x512x512", **options)
        if target.startswith("gfx"):
            path = compiled(self.source, target, folder / "k.hsaco", options=OPTIONS.get(target, ()))
            self.plan = gemm.plan(self.inst, None, *orders, scales=scales, **fields)
        else:
            path = ptx_of(self.source, target, folder)
            module = gemm_cuda
            if "wgmma" in self.inst.features:
                by_tma = "groups" not in options and gemm_tma.plan(self.inst, *orders)
                module = gemm_tma if by_tma else gemm_wgmma
            self.plan = module.plan(self.inst, *orders, scales=scales)
        self.kernels = mmacalc.load(path)

    def form(self, side):
        return self.plan.operand(side).format if hasattr(self.plan, "operand") else self.inst.format(side)

    def codes(self, matrix, side):
        """A matrix in memory, in its order."""
        form, vendor = self.form(side), self.inst.architecture.family.vendor
        rows = matrix if self.orders["AB".index(side)] == "row" else matrix.T
        return laid_out(encode(rows, form, vendor), form.bits, rows.shape[1])

    def launched(self, a, b, d, scales, more=()):
        """The report of D = A B by the kernel that the sizes ask for."""
        (m, k), n = a.shape, b.shape[1]
        given = [self.codes(a, "A"), self.codes(b, "B")]
        leads = [each.shape[1] for each in given]
        plan, tma = self.plan, isinstance(self.plan, gemm_tma.TmaPlan)
        aligned = plan.aligned(*leads, n, n) if tma else plan.aligned(m, n, k, *leads, n)
        name = next(name for name in self.kernels if name.endswith("_any") != aligned)
        shared = {}
        if tma and aligned:
            given = [
                mmacalc.tensor_map(np.ascontiguousarray(each), box(side), swizzle=swizzle_name(side))
                for each, side in zip(given, (plan.a, plan.b))
            ]
            leads, shared = [], {"shared": plan.shared}
        elif tma:
            plan = plan.other
        return mmacalc.launch(
            self.kernels[name], plan.blocks(m, n), plan.threads, *given, d, *scales, m, n, k, *leads, n, *more, **shared
        )


def numbers(inst, shape, rng):
    """Random matrices that the formats have: integers, or numbers of f8 and f16."""
    if inst.format("D").name == "i32":
        return rng.integers(0 if inst.format("A").kind == "either" else -9, 10, shape).astype(float)
    form = inst.format("A")
    vendor = inst.architecture.family.vendor
    return decode(encode(rng.standard_normal(shape), form, vendor), form).astype(float)


def of_each(scales, shared, extent):
    return np.repeat(scales.astype(float), shared, 0)[:extent]


@sampled(("target", "name", "orders", "text", "sizes"), CASES, 4)
def test_products_with_scales_along_k_have_the_bits_of_the_reference(target, name, orders, text, sizes, tmp_path):
    kernels, rng = Kernels(target, name, orders, tmp_path, block_scales=text), np.random.default_rng(0)
    (m, n, k), inst, scales = sizes, kernels.inst, block_scales_of(text)
    blocks = -(-k // scales.depth)
    a, b = numbers(inst, (m, k), rng), numbers(inst, (k, n), rng)
    given = [
        rng.uniform(0.5, 2, (-(-extent // shared), blocks)).astype(np.float32)
        for extent, shared in ((m, scales.rows), (n, scales.columns))
    ]
    d = np.full((m, n), 77, np.float32)
    report = kernels.launched(a, b, d, given)
    assert report.findings == ()
    if target == "gfx942":
        assert not sum(site.conflicts for site in report.lds)
    rows, columns = of_each(given[0], scales.rows, m), of_each(given[1], scales.columns, n)
    right = sum(
        (a[:, at : at + scales.depth] @ b[at : at + scales.depth]) * rows[:, [block]] * columns[:, block]
        for block, at in enumerate(range(0, k, scales.depth))
    )
    size = sum(
        (abs(a[:, at : at + scales.depth]) @ abs(b[at : at + scales.depth])) * rows[:, [block]] * columns[:, block]
        for block, at in enumerate(range(0, k, scales.depth))
    )
    # Each of K products and sums errs by at most some 2^-13 of what is added up (fp8 of Hopper: 14 bits).
    assert (abs(d - right) <= 2.0**-12 * size).all()
    order = relabelled(kernels.plan, k)
    fields = {"cbsz": "fp8", "blgp": "fp8"} if inst.choices else {}
    wide = [np.pad(a, ((0, 0), (0, len(order) - k)))[:, order], np.pad(b, ((0, len(order) - k), (0, 0)))[order]]
    swapped = getattr(kernels.plan, "swapped", False)
    if swapped:
        wide, given = [wide[1].T, wide[0].T], given[::-1]
        text = ",".join(reversed(text.split(",")))
    wanted = mmacalc.block_scaled_gemm(*wide, *given, target, inst, text, **fields)
    assert (d == (wanted.T if swapped else wanted)).all()


def relabelled(plan, k):
    """The k in the order in which the kernel's instructions take them, zeros behind the last included."""
    if not isinstance(plan, gemm.Plan):
        return np.arange(k)
    held = np.array(gemm.held_k(plan.operand("A"), plan.kpack))
    count = -(-k // len(held))
    return (np.arange(count)[:, None] * len(held) + held).ravel()


@pytest.mark.parametrize(("target", "name", "text", "says"), [
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "1x128", "rows of A x k, columns of B x k, such as '1x128,128x128'"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "1x128,128x64", "for as many k, such as '1x128,128x128'"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "1x32,1x32", "a stage of v_mfma_f32_32x32x16_fp8_fp8 has 64 k"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "0x128,1x128", "from 1 to 65536"),
    ("gfx942", "v_mfma_f64_16x16x4_f64", DEEPSEEK, "v_mfma_f64_16x16x4_f64 sums up in f64"),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", DEEPSEEK, "has scales of its own"),
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", DEEPSEEK, "is sparse"),
    ("sm_90a", f"{WGMMA}.m64n256k32.f32.e4m3.e4m3", DEEPSEEK, "use one of at most 128"),
    ("sm_100a", "tcgen05.mma.cta_group::1.kind::f8f6f4", DEEPSEEK, "are in Tensor Memory: use kind::mxf8f6f4"),
])  # fmt: skip
def test_scales_along_k_that_cannot_be_are_refused(target, name, text, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.generate(mmacalc.instruction(target, name), gemm="64x64x64", block_scales=text)


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
