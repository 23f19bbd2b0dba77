"""Groups of rows of generated GEMMs (experts of a mixture) on the emulator: right for any sizes, without a finding."""

import re

import numpy as np
import pytest

import mmacalc
from mmacalc import Error
from samples import sampled
from test_generate_block_scales import DEEPSEEK, MMA, WGMMA, Kernels, numbers

ENDS = ([0, 37, 37, 166, 171], [5], [64, 128, 256])  # groups without rows, smaller and larger than a tile
CASES = [
    ("gfx942", "v_mfma_f32_32x32x8_f16", ("row", "col"), ENDS[0], (40, 96),
     {"epilogue": "alpha,beta,bias=column,relu"}),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", ("row", "col"), ENDS[0], (40, 128), {"cbsz": "fp8", "blgp": "fp4"}),
    ("gfx90a", "v_mfma_f64_16x16x4f64", ("row", "row"), ENDS[2], (16, 20), {}),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", ("row", "col"), ENDS[0], (144, 272), {"block_scales": DEEPSEEK}),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", ("row", "row"), ENDS[0], (33, 50), {"epilogue": "scale=row,bias=row"}),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", ("row", "col"), ENDS[1], (24, 64), {}),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", ("row", "row"), ENDS[0], (40, 96),
     {"epilogue": "alpha,beta,bias=column,relu"}),
    ("sm_75", f"{MMA}.m16n8k8.row.col.f32.f16.f16.f32", ("row", "col"), ENDS[0], (37, 50), {}),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("row", "col"), ENDS[2], (144, 272),
     {"block_scales": DEEPSEEK}),
    ("sm_80", f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", ("row", "col"), ENDS[0], (24, 64), {"epilogue": "scale=column"}),
    ("sm_90a", f"{WGMMA}.m64n64k16.f32.f16.f16", ("row", "row"), ENDS[0], (72, 80), {"epilogue": "scale=row,to=bf16"}),
    ("sm_90a", f"{WGMMA}.m64n64k32.f32.e4m3.e4m3", ("row", "col"), ENDS[0], (72, 272), {"block_scales": DEEPSEEK}),
]  # fmt: skip


@sampled(("target", "name", "orders", "ends", "sizes", "options"), CASES, 3)
def test_groups_of_rows_are_multiplied_each_by_its_own_b(target, name, orders, ends, sizes, options, tmp_path):
    rng, (n, k), m, count = np.random.default_rng(0), sizes, ends[-1], len(ends)
    kernels = Kernels(target, name, orders, tmp_path, groups=count, **options)
    inst, words = kernels.inst, options.get("epilogue", "")
    whole = inst.format("D").name != "f32" or "block_scales" not in options
    a, b = (
        rng.integers(-2, 3, shape) * 1.0 if whole else numbers(inst, shape, rng) for shape in ((m, k), (count, k, n))
    )
    given = {"C": rng.integers(-9, 10, (m, n)), "ldc": n, "alpha": 0.5, "beta": 2}
    given |= {"row_scale": 2.0 ** rng.integers(-2, 3, m), "column_scale": 2.0 ** rng.integers(-2, 3, (count, n))}
    given["bias"] = rng.integers(-9, 10, m if "bias=row" in words else (count, n))
    given["A_scales"] = rng.uniform(0.5, 2, (m, -(-k // 128)))
    given["B_scales"] = rng.uniform(0.5, 2, (count, -(-n // 128), -(-k // 128)))
    right = np.zeros((m, n))
    for group, (first, last) in enumerate(zip([0, *ends], ends)):
        right[first:last] = finished(a[first:last], b[group], slice(first, last), group, given, words, options)
    d = np.full(
        (m, n), 77, {"f64": np.float64, "i32": np.float32 if words else np.int32}.get(inst.format("D").name, np.float32)
    )
    if "to=bf16" in words:
        d = d.astype(np.uint16)
    report = launched(kernels, a, b, d, np.array(ends, np.int32), given)
    assert report.findings == ()
    found = (d.astype(np.uint32) << 16).view(np.float32) if d.dtype == np.uint16 else d
    size = 2.0**-12 * 4 * k if not whole else 2.0**-8 * abs(right) if d.dtype == np.uint16 else 1e-6
    assert (abs(found - right) <= size).all()


def finished(a, b, rows, group, given, words, options):
    """D of a group in float64."""
    if "block_scales" in options:
        columns = np.repeat(given["B_scales"][group], 128, 0)[: b.shape[1]]
        return sum(
            (a[:, at : at + 128] @ b[at : at + 128]) * given["A_scales"][rows, block, None] * columns[:, block]
            for block, at in enumerate(range(0, a.shape[1], 128))
        )
    value = a @ b
    value = value * given["row_scale"][rows, None] if "scale=row" in words else value
    value = value * given["column_scale"][group] if "scale=column" in words else value
    value = 0.5 * value + 2 * given["C"][rows] if "beta" in words else value
    value = value + given["bias"][group] if "bias=column" in words else value
    value = value + given["bias"][rows, None] if "bias=row" in words else value
    return np.maximum(value, 0) if "relu" in words else value


def launched(kernels, a, b, d, ends, given):
    """The report of all groups, by the kernel that the launch line names, or the other where sizes are not aligned."""
    source, plan = kernels.source, kernels.plan._replace(groups=len(ends))
    (m, k), n = a.shape, b.shape[2]
    left, right = kernels.codes(a, "A"), np.stack([kernels.codes(each, "B") for each in b])
    leads = [each * 8 // kernels.form(side).bits for each, side in
             ((left.strides[0], "A"), (right.strides[1], "B"))]  # fmt: skip
    each = right.strides[0] * 8 // kernels.form("B").bits
    aligned = plan.aligned(m, n, k, *leads, n)
    name = next(name for name in kernels.kernels if name.endswith("_any") != aligned)
    names = source.rstrip().rpartition("//")[2].split(",")
    values = {"A": left, "B": right, "D": d, "ends": ends, "groups": len(ends), "M": m, "N": n, "K": k, "ldd": n}
    values |= {"lda": leads[0], "ldb": leads[1], "b_group": np.int64(each)}
    values |= {name: np.asarray(value, np.float32) if np.ndim(value) or name in ("alpha", "beta") else value
               for name, value in given.items()}  # fmt: skip
    arguments = [values[name.strip()] for name in names]
    arguments = [
        np.float32(each) if np.ndim(each) == 0 and isinstance(each, np.ndarray) else each for each in arguments
    ]
    return mmacalc.launch(kernels.kernels[name], plan.blocks(m, n), plan.threads, *arguments)


@pytest.mark.parametrize(("target", "name", "given", "says"), [
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"order_a": "col"}, "use order_a='row'"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"batch": 2}, "neither with batch nor with split_k"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"groups": 0}, "groups is from 1 to 65535; got 0"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", {"block_scales": "128x128,128x128"}, "are for single rows, 1x128"),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {}, "matrices without scales"),
    ("sm_100a", "tcgen05.mma.cta_group::1.kind::f16", {}, "those of tcgen05 have none"),
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", {}, "are of dense matrices"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"language": "triton"}, "leave out groups"),
])  # fmt: skip
def test_groups_that_cannot_be_are_refused(target, name, given, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.generate(mmacalc.instruction(target, name), gemm="64x64x64", **{"groups": 3, **given})
