"""Epilogues of generated GEMMs on the emulator: against float64, rounded as the hardware rounds, without a finding."""

import numpy as np
import pytest

import mmacalc
from generated_gemms import OPTIONS, laid_out, spills, unsigned
from generated_kernels import compiled
from mmacalc import Error
from mmacalc.arithmetic.codecs import decode, encode, largest
from mmacalc.codegen import gemm, gemm_cuda, gemm_tcgen05, gemm_tma
from mmacalc.codegen.epilogue import c_format, epilogue_of, output_format
from mmacalc.codegen.gemm_choice import generated_gemm
from mmacalc.codegen.tensor_copies import box, swizzle_name
from oracles.emulated_kernel import ptx_of
from samples import sampled

MMA, WGMMA = "mma.sync.aligned", "wgmma.mma_async.sync.aligned"
ALL = "alpha,beta,scale=row,scale=column,bias"
CASES = [
    ("gfx942", "v_mfma_f32_32x32x8_f16", f"{ALL}=column,relu,to=fp8"),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", "alpha,beta,to=bf16"),
    ("gfx90a", "v_mfma_f32_16x16x16f16", "relu"),
    ("gfx942", "v_mfma_f32_16x16x32_fp8_bf8", "scale=row,scale=column,silu,to=bf8"),
    ("gfx942", "v_mfma_i32_32x32x16_i8", "scale=row,scale=column,bias=column,to=bf16"),
    ("gfx1201", "v_wmma_f32_16x16x16_f16", f"{ALL}=row,gelu,to=f16"),
    ("gfx950", "v_mfma_f32_32x32x16_bf16", f"{ALL}=column,gelu,to=bf16"),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", "alpha,relu,to=fp8"),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", f"{ALL}=column,silu,to=bf16"),
    ("gfx1100", "v_wmma_f16_16x16x16_f16", "alpha,beta,bias=row"),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.bf16.bf16.f32", f"{ALL}=row,relu,to=bf16"),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", "beta,to=bf8"),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", f"{ALL}=row,relu,to=fp8"),
    ("gfx1250", "v_wmma_f32_16x16x32_bf16", "alpha,bias=column,to=f16"),
    ("sm_75", f"{MMA}.m16n8k8.row.col.f32.f16.f16.f32", f"{ALL}=column,relu,to=f16"),
    ("sm_90a", f"{WGMMA}.m64n32k16.f32.f16.f16", f"{ALL}=column,silu,to=fp8"),
    ("sm_100a", "tcgen05.mma.cta_group::1.kind::f16", f"{ALL}=column,relu,to=fp8"),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f16.f16.f16.f16", "alpha,beta,gelu"),
    ("sm_110a", "tcgen05.mma.cta_group::2.kind::i8", "scale=row,scale=column,bias=row,to=bf16"),
    ("sm_80", f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", "scale=row,scale=column,bias=column,silu"),
    ("sm_89", f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32", "alpha,bias=row,to=bf8"),
    ("sm_90a", f"{WGMMA}.m64n24k16.f16.f16.f16", "alpha,beta,relu"),
    ("sm_120a", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", f"{ALL}=column,gelu,to=fp8"),
]
ACTIVATIONS = {
    "": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def planned(inst):
    """The plan of each kernel of a source, and whether it goes by tensor maps."""
    if inst.architecture.family.language == "hip":
        return gemm.plan(inst)
    if inst.in_tensor_memory:
        return gemm_tcgen05.plan(inst, "row", "col")
    if "wgmma" in inst.features:
        return gemm_tma.plan(inst, "row", "col")
    return gemm_cuda.plan(inst, "row", "col")


def takes(plan, sizes, leads):
    """What a plan is asked for, whether its kernel for aligned matrices takes it."""
    if isinstance(plan, gemm_tcgen05.TensorMemoryPlan):
        return leads[:2]
    return (*leads[:2], sizes[1], leads[2]) if isinstance(plan, gemm_tma.TmaPlan) else (*sizes, *leads)


class Case:
    """Random matrices and vectors, and what D must be between. C is D where both have one format."""

    def __init__(self, inst, epilogue, sizes, more, seed=0):
        self.inst, self.epilogue, (m, n, k) = inst, epilogue, sizes
        self.rng = np.random.default_rng(seed)
        a, b = (self.rng.integers(-2, 3, shape).astype(float) for shape in ((m, k), (n, k)))
        self.form, vendor = output_format(inst, epilogue), inst.architecture.family.vendor
        c = self.rng.integers(-64, 65, (m, n)).astype(float)
        row, column = (2.0 ** self.rng.integers(-2, 3, size) for size in (m, n))
        bias = self.rng.integers(-9, 10, m if epilogue.bias == "row" else n).astype(float)
        alpha, beta = 0.5, 0.25
        self.codes = [encode(matrix, inst.format(side), vendor) for matrix, side in ((a, "A"), (b, "B"))]
        value = a @ b.T
        value = value * row[:, None] if epilogue.row_scale else value
        value = value * column if epilogue.column_scale else value
        value = value * alpha if epilogue.alpha else value
        value = value + beta * c if epilogue.beta else value
        if epilogue.bias:
            value = value + (bias[:, None] if epilogue.bias == "row" else bias)
        self.value = ACTIVATIONS[epilogue.activation](value)
        floats = {"row_scale": row, "column_scale": column, "bias": bias}
        form = c_format(inst, epilogue)
        self.c = laid_out(encode(c, form, vendor), form.bits, n + more)
        self.given = {name: values.astype(np.float32) for name, values in floats.items()}
        self.given |= {"C": self.c, "ldc": n + more, "alpha": np.float32(alpha), "beta": np.float32(beta)}
        self.d = np.full((m, n + more), int.from_bytes(b"\x5a" * (self.form.bits // 8), "little"), unsigned(self.form))
        if form == self.form:  # in place
            self.d[:, :n] = self.c[:, :n]
            self.given["C"] = self.d
        self.n = n

    def arguments(self, source):
        """What the kernel takes behind ldd, in the order of its launch line."""
        names = source.rstrip().rpartition("ldd")[2].split(", ")[1:]
        return [self.given[name.strip()] for name in names]

    def wrong(self, error):
        """How many elements of D are not the nearest to any number within a relative error of the right one."""
        limits = []
        for sign in (-1, 1):
            near = self.value + sign * error * np.maximum(abs(self.value), 1e-3)
            if self.form.bits == 8:
                near = np.clip(near, -largest(self.form.name), largest(self.form.name))
            limits.append(decode(encode(near, self.form), self.form))
        found = decode(self.d[:, : self.n], self.form)
        behind = self.d[:, self.n :].view(np.uint8)
        return int((~((limits[0] <= found) & (found <= limits[1]))).sum() + (behind != 0x5A).sum())


def launched(target, name, words, folder):
    """For sizes with edges and for aligned sizes: (the case, the report)."""
    inst = mmacalc.instruction(target, name)
    plan, epilogue = planned(inst), epilogue_of(words, inst)
    source = mmacalc.generate(inst, gemm="512x512x512", epilogue=words)
    tma, hip = (
        isinstance(plan, (gemm_tma.TmaPlan, gemm_tcgen05.TensorMemoryPlan)),
        inst.architecture.family.language == "hip",
    )
    plan = plan.with_epilogue(epilogue) if "wgmma" in inst.features else plan._replace(epilogue=epilogue)
    path = compiled(source, target, folder / "k.hsaco", plan.wave, OPTIONS.get(target, ())) if hip else None
    kernels = mmacalc.load(path or ptx_of(source, target, folder))
    depth = inst.k if inst.scaled else 32
    for sizes, more in (((37, 21, depth), 3), ((48, 32, 2 * depth), 32)):
        case = Case(inst, epilogue, sizes, more)
        leads = [sizes[2], sizes[2], sizes[1] + more]
        aligned = plan.aligned(*takes(plan, sizes, leads))
        kernel, given, shared = kernels[plan.name + "_any" * (not aligned)], case.codes, 0
        shape = plan.other if tma and not aligned else plan
        if tma and aligned:
            sides = zip(case.codes, (plan.a, plan.b))
            given = [
                mmacalc.tensor_map(np.ascontiguousarray(each), box(side), swizzle=swizzle_name(side))
                for each, side in sides
            ]
            leads, shared = leads[2:], plan.shared
        scales = [np.full((size, sizes[2] // 32), 127, np.uint8) for size in sizes[:2]] if inst.scaled else []
        report = mmacalc.launch(
            kernel, shape.blocks(*sizes[:2]), shape.threads, *given, case.d, *scales, *sizes, *leads,
            *case.arguments(source), **({"shared": shared} if shared else {}),
        )  # fmt: skip
        assert report.findings == ()
        yield case
    assert aligned
    assert not path or not any(spills(path))


@sampled(("target", "name", "words"), CASES, 1, whole=6)
def test_an_epilogue_is_right_at_edges_and_rounds_as_the_hardware(target, name, words, tmp_path):
    """Sums, C and vectors are small integers or powers of two, so that only an activation may err before rounding.

    gelu and silu err by 2 ulp each of 2^x and 1/x, whose argument errs by some more.
    """
    smooth = "gelu" in words or "silu" in words
    for case in launched(target, name, words, tmp_path):
        error = 1e-5 * smooth
        if target == "gfx1100":  # whose sums of products round; see its arithmetic model
            error = 0.01
        assert case.wrong(error) == 0


LARGEST = {
    "gfx90a": "bf16 i8", "gfx942": "fp8 f16", "gfx950": "bf16 fp8 i8 fp4 mxfp4", "gfx1100": "f16 i8",
    "gfx1201": "f16 fp8", "gfx1250": "bf16 fp8 mxfp8",
}  # fmt: skip


@sampled(
    ("target", "element", "side"),
    [(target, each, side) for target, every in LARGEST.items() for each in every.split() for side in ("column", "row")],
    1, first=5, whole=3,
)  # fmt: skip
def test_an_epilogue_of_all_words_keeps_its_registers(target, element, side, tmp_path):
    """In the default tile, of which the sums take half of the registers."""
    words = f"{ALL}={side},gelu,to=bf16"
    found = generated_gemm(target, element, "512x512x512", epilogue=words)
    path = compiled(found.source, target, tmp_path / "k.hsaco", None, OPTIONS.get(target, ()))
    assert spills(path) == [0, 0]


@pytest.mark.parametrize(("target", "name", "words", "says"), [
    ("gfx942", "v_mfma_f32_32x32x8_f16", "alpha,relux", "got 'relux'. Did you mean relu"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", "", "got ''"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", "bias=row,bias=column", "says bias twice: 'row' and 'column'"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", "relu,gelu", "says activation twice: 'relu' and 'gelu'"),
    ("gfx942", "v_mfma_f64_16x16x4_f64", "alpha", "the sums of v_mfma_f64_16x16x4_f64 are f64"),
    ("gfx90a", "v_mfma_f32_32x32x8f16", "to=fp8", "no conversion of f32 to fp8 (v_cvt_pk_fp8_f32)"),
    ("sm_80", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", "to=bf8", "no conversion of f32 to bf8 (cvt.rn.satfinite"),
    ("sm_75", f"{MMA}.m16n8k8.row.col.f32.f16.f16.f32", "to=bf16", "no conversion of f32 to bf16"),
])  # fmt: skip
def test_an_epilogue_that_cannot_be_is_refused(target, name, words, says):
    with pytest.raises(Error) as refused:
        mmacalc.generate(mmacalc.instruction(target, name), gemm="64x64x64", epilogue=words)
    assert says in str(refused.value)


def test_an_epilogue_without_a_gemm_is_refused():
    with pytest.raises(Error, match=r"epilogue.* are of a whole GEMM"):
        mmacalc.generate(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16"), epilogue="alpha")
