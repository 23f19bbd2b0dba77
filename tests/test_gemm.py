"""mmacalc.gemm: whole products are chains of the instruction, whatever computes them."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
from tests.oracles import mmasim_answers

import mmacalc
from mmacalc import Error, gemm, gemm_bits
from mmacalc.arithmetic.codecs import code_type, encode
from mmacalc.cli import answer
from mmacalc.emulator import array_kernels, array_parts, core, fast
from mmacalc.emulator.computing import by_model
from mmacalc.emulator.execution import execution_of
from mmacalc.emulator.plan import Plan
from samples import sampled

RNG = np.random.default_rng(16)
MMA = "mma.sync.aligned."
F16 = "v_mfma_f32_16x16x16_f16"

# One instruction for each model and each way in which a kernel can be set.
KERNELS = (
    ("sm_70", MMA + "m8n8k4.row.col.f32.f16.f16.f32"),
    ("sm_80", MMA + "m16n8k16.row.col.f32.f16.f16.f32"),
    ("sm_80", MMA + "m16n8k16.row.col.f16.f16.f16.f16"),
    ("sm_90a", MMA + "m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("sm_90a", MMA + "m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"),
    ("sm_120a", MMA + "m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32"),
    ("sm_120a", MMA + "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e5m2.f32.ue8m0"),
    ("sm_120a", MMA + "m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"),
    ("sm_120a", MMA + "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"),
    ("cdna1", "v_mfma_f32_32x32x8f16"),
    ("cdna2", "v_mfma_f32_32x32x8f16"),
    ("cdna2", "v_mfma_f32_32x32x4bf16"),
    ("cdna3", "v_mfma_f32_32x32x8_f16"),
    ("cdna3", "v_mfma_f32_16x16x8_xf32"),
    ("cdna3", "v_mfma_f32_16x16x32_fp8_bf8"),
    ("cdna3", "v_mfma_f32_32x32x2_f32"),
    ("cdna3", "v_mfma_f64_16x16x4_f64"),
    ("cdna4", "v_mfma_f32_32x32x16_f16"),
    ("cdna4", "v_mfma_scale_f32_16x16x128_f8f6f4"),
    ("cdna5", "v_wmma_f16_16x16x32_f16"),
    ("cdna5", "v_wmma_bf16_16x16x32_bf16"),
    ("rdna3", "v_wmma_f32_16x16x16_f16"),
    ("rdna3", "v_wmma_f32_16x16x16_bf16"),
    ("rdna3", "v_wmma_f16_16x16x16_f16"),
    ("rdna3", "v_wmma_bf16_16x16x16_bf16"),
    ("rdna4", "v_wmma_f32_16x16x16_f16"),
    ("rdna4", "v_wmma_f32_16x16x16_bf16"),
    ("rdna4", "v_wmma_f16_16x16x16_f16"),
    ("rdna4", "v_wmma_bf16_16x16x16_bf16"),
    ("rdna4", "v_wmma_f32_16x16x16_fp8_bf8"),
)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The core, compiled from its source as it is now. Without a C compiler the tests that need it fail."""
    built = core.HERE / f"_core{core.SUFFIX}"
    sources = core.HERE.glob("*.[ch]")
    current = built.is_file() and built.stat().st_mtime > max(source.stat().st_mtime for source in sources)
    return built if current else core.build(tmp_path_factory.mktemp("core"))


@pytest.fixture(params=["core", "NumPy"])
def kernels(request, compiled, monkeypatch):
    """Everything is computed by the core, then by NumPy."""
    monkeypatch.setenv("MMACALC_CORE", str(compiled) if request.param == "core" else "off")
    for cached in (core.library, core.function):
        cached.cache_clear()
    yield request.param
    monkeypatch.undo()
    for cached in (core.library, core.function):
        cached.cache_clear()


# --- the kernels are the models ---


def chain_inputs(inst, kind, outputs):
    """Codes of a chain of instructions with some number of outputs, of one kind of input."""
    execution = execution_of(inst, None, {}, False, False)
    entries = -(-outputs // (inst.m * inst.n * len(mmasim_answers.KINDS)))
    k = inst.k * (3 if inst.k < 64 else 1)
    shapes = {"A": (inst.m, k), "B": (k, inst.n), "C": (inst.m, inst.n)}
    if size := execution.block_size:
        shapes |= {"SA": (inst.m, k // size), "SB": (k // size, inst.n)}
    stream = mmasim_answers.Stream(f"gemm {inst.arch} {inst.name} {kind}")
    codes = {}
    for name, shape in shapes.items():
        form = execution.formats[name]
        drawn = "wide exponents" if kind == "zeros" else kind
        array = mmasim_answers.codes(stream, form.name, drawn, entries, *shape)
        if kind == "zeros" and name in "ABC":
            array = np.where(stream.below(2, *array.shape) == 0, 0, array)
        codes[name] = array.astype(f"u{max(8, form.bits) // 8}")
    if kind == "cancellation":  # the second half of every step takes back what the first one adds
        codes["A"][:, :, inst.k // 2 : inst.k] = codes["A"][:, :, : inst.k - inst.k // 2][:, :, -(inst.k // 2) :]
    codes["C"][:, ::5] = 0
    return execution, codes


def differences(arch, name, outputs):
    inst = mmacalc.instruction(arch, name)
    for kind in mmasim_answers.KINDS:
        execution, codes = chain_inputs(inst, kind, outputs)
        found = fast.products(execution, fast.kernel(execution), codes)
        wrong = found != by_model(execution, codes)
        yield kind, int(wrong.sum())


FORMS = [(kind, *form) for form in KERNELS for kind in ("core", "NumPy")]


@pytest.mark.parametrize(
    ("kernels", "arch", "name"), FORMS, indirect=["kernels"],
    ids=[f"{kind} {arch} {name.split('aligned.')[-1]}" for kind, arch, name in FORMS],
)  # fmt: skip
def test_a_kernel_is_the_model_to_the_bit_on_every_kind_of_special(arch, name, kernels):
    assert dict(differences(arch, name, 3000)) == dict.fromkeys(mmasim_answers.KINDS, 0)


@pytest.mark.parametrize(
    ("kernels", "arch", "name"), FORMS, indirect=["kernels"],
    ids=[f"{kind} {arch} {name.split('aligned.')[-1]}" for kind, arch, name in FORMS],
)  # fmt: skip
def test_c_may_lie_anywhere_above_and_below_the_products(arch, name, kernels):
    """Every exponent of C, with random and with few bits, beside products near 1, larger ones and smaller ones."""
    inst = mmacalc.instruction(arch, name)
    execution = execution_of(inst, None, {}, False, False)
    rng = np.random.default_rng(7)
    powers = {64: range(-1074, 1024, 7), 32: range(-149, 128), 16: range(-24, 16)}[execution.formats["C"].bits]
    sizes = [0, -30, 30] if execution.formats["A"].exponent > 5 else [0, -4, 4]
    rows = [(power, size) for power in powers for size in sizes]
    codes = {}
    for operand, shape in (("A", (len(rows), inst.k)), ("B", (inst.k, 16)), ("C", (len(rows), 16))):
        values = rng.choice([-1.0, 1.0], shape) * rng.uniform(1, 2, shape)
        if operand == "A":
            values *= 2.0 ** np.array([size for _, size in rows])[:, None]
        if operand == "C":
            values[:, ::4] = np.copysign(1, values[:, ::4])
            with np.errstate(over="ignore"):
                values *= 2.0 ** np.array([float(power) for power, _ in rows])[:, None]
        codes[operand] = encode(values, execution.formats[operand])[None]
    if size := execution.block_size:
        one = int(encode(np.array(1.0), execution.formats["SA"]))
        codes |= {"SA": np.full((1, len(rows), inst.k // size), one, np.uint8),
                  "SB": np.full((1, inst.k // size, 16), one, np.uint8)}  # fmt: skip
    found = fast.products(execution, fast.kernel(execution), codes)
    np.testing.assert_array_equal(found, by_model(execution, codes))


@pytest.mark.parametrize(("arch", "name"), [form for form in KERNELS if "bf16" in form[1] or "f32" in form[1][-6:]])
def test_a_product_may_lie_anywhere_below_another_one(arch, name, kernels):
    """Of formats with the exponents of f32: 2**60 and plus or minus 2**-e, down to what is nothing in float32."""
    inst = mmacalc.instruction(arch, name)
    execution = execution_of(inst, None, {}, False, False)
    a, b = np.zeros((240, inst.k)), np.zeros((inst.k, 20))
    a[:, 0], b[0], a[:, 1], b[1] = 2.0**40, 2.0**20, 2.0 ** -(np.arange(240) // 2.0), 2.0 ** -(5.0 * np.arange(20))
    a[::2, 1] *= -1
    codes = {"A": encode(a, execution.formats["A"])[None], "B": encode(b, execution.formats["B"])[None],
             "C": np.zeros((1, 240, 20), code_type(execution.formats["C"]))}  # fmt: skip
    found = fast.products(execution, fast.kernel(execution), codes)
    np.testing.assert_array_equal(found, by_model(execution, codes))


@pytest.mark.parametrize("name", ["v_mfma_f64_16x16x4_f64", "v_mfma_f32_16x16x4_f32"])
def test_a_chain_is_rounded_once_where_sums_lie_in_the_middle_and_next_to_it(name, kernels):
    """Numbers with three bits set, far apart: their products and sums are ties, or ties but for one low bit."""
    inst = mmacalc.instruction("cdna3", name)
    execution = execution_of(inst, None, {}, False, False)
    form, reach = (execution.formats["C"], 62) if "f64" in name else (execution.formats["C"], 28)
    rng = np.random.default_rng(3)

    def sparse(*shape):
        powers = -rng.integers(0, reach, (3, *shape)).astype(float)
        return (rng.choice([-1.0, 1.0], (3, *shape)) * 2.0**powers).sum(axis=0)

    codes = {"A": sparse(1, 300, 4), "B": sparse(1, 4, 200), "C": sparse(1, 300, 200)}
    codes = {operand: encode(values, form) for operand, values in codes.items()}
    found = fast.products(execution, fast.kernel(execution), codes)
    np.testing.assert_array_equal(found, by_model(execution, codes))


@sampled("count", [10_000, 1_000_000], 0, whole=1)
@pytest.mark.parametrize(("kernels", "arch", "name"), FORMS, indirect=["kernels"])
def test_a_kernel_is_the_model_to_the_bit_on_a_million_outputs(arch, name, kernels, count):
    assert dict(differences(arch, name, count)) == dict.fromkeys(mmasim_answers.KINDS, 0)


def test_the_core_has_every_kernel_and_no_other_version_of_it_is_used(kernels, monkeypatch):
    names = {fast.kernel(execution_of(mmacalc.instruction(*form), None, {}, False, False)).name for form in KERNELS}
    assert names == array_kernels.KERNELS.keys()
    assert all((core.function(name) is not None) == (kernels == "core") for name in names)
    other = core.version() + 1
    monkeypatch.setattr(core, "version", lambda: other)
    core.library.cache_clear()
    assert core.library() is None


def test_a_core_that_cannot_be_compiled_is_an_error_that_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="failed"):
        core.build(tmp_path, compiler="false")
    assert list(tmp_path.iterdir()) == []


# --- a product is a chain of instructions ---


def chained(inst, a, b, c, order=None):
    """D by `multiply_bits`, tile by tile and step by step."""
    (m, k), n = a.shape, b.shape[1]
    rows, columns, steps = (-(-size // each) for size, each in ((m, inst.m), (n, inst.n), (k, inst.k)))
    full = [np.zeros((rows * inst.m, steps * inst.k), a.dtype), np.zeros((steps * inst.k, columns * inst.n), b.dtype),
            np.zeros((rows * inst.m, columns * inst.n), c.dtype)]  # fmt: skip
    for target, given in zip(full, (a, b, c)):
        target[: given.shape[0], : given.shape[1]] = given
    for row in range(0, rows * inst.m, inst.m):
        for column in range(0, columns * inst.n, inst.n):
            at = (slice(row, row + inst.m), slice(column, column + inst.n))
            for step in order or range(steps):
                k = slice(step * inst.k, step * inst.k + inst.k)
                full[2][at] = inst.multiply_bits(full[0][at[0], k], full[1][k, at[1]], full[2][at])
    return full[2][:m, :n]


def half(*shape):
    return RNG.standard_normal(shape).astype(np.float16)


@pytest.mark.parametrize(
    ("arch", "name", "types"),
    [
        ("gfx942", "v_mfma_f32_32x32x8_f16", ("f2", "f2", "f4")),
        ("sm_80", MMA + "m16n8k16.row.col.f16.f16.f16.f16", ("f2", "f2", "f2")),
        ("rdna3", "v_wmma_f32_16x16x16_f16", ("f2", "f2", "f4")),
        ("gfx942", "v_mfma_f64_16x16x4_f64", ("f8", "f8", "f8")),
        ("gfx942", "v_mfma_i32_32x32x16_i8", ("u1", "u1", "u4")),
    ],
)
@pytest.mark.parametrize("order", [None, "descending"])
def test_a_product_of_any_size_is_the_chain_of_its_instructions(arch, name, types, order, kernels):
    inst = mmacalc.instruction(arch, name)
    m, n, k = 37, 41, 4 * inst.k - 1
    given = []
    for kind, shape in zip(types, ((m, k), (k, n), (m, n))):
        values = 40 * RNG.standard_normal(shape)
        given.append(
            values.astype(kind).view(f"u{kind[1]}") if kind[0] == "f" else values.astype(np.int64).astype(kind)
        )
    found = gemm_bits(*given, arch, name, k_order=order or "ascending")
    np.testing.assert_array_equal(found, chained(inst, *given, [3, 2, 1, 0] if order else None))
    assert (found.emulation.instruction, found.emulation.steps) == (inst, 4)


def test_batches_broadcast_and_every_cut_of_the_work_gives_the_same(kernels, monkeypatch):
    from mmacalc.emulator import plan

    a, b, c = half(3, 1, 20, 50), half(2, 50, 30), RNG.standard_normal((20, 30))
    whole = gemm(a, b, c, "gfx942", F16)
    assert whole.shape == (3, 2, 20, 30)
    for i, j in np.ndindex(3, 2):
        np.testing.assert_array_equal(whole[i, j], gemm(a[i, 0], b[j], c, "gfx942", F16))
    for name, size in (("ROWS", 7), ("COLUMNS", 9)):
        monkeypatch.setattr(plan, name, size)
    monkeypatch.setattr(array_parts, "WINDOW", 4)
    np.testing.assert_array_equal(gemm(a, b, c, "gfx942", F16), whole)
    monkeypatch.setattr(fast, "DEPTH", 16)
    monkeypatch.setattr(fast, "ELEMENTS", 64)
    np.testing.assert_array_equal(gemm(a, b, c, "gfx942", F16, threads=3), whole)


def test_split_k_adds_the_chains_and_the_epilogue_rounds_each_operation():
    a, b, c = half(20, 96), half(96, 30), RNG.standard_normal((20, 30)).astype(np.float32)
    parts = [gemm(a[:, k], b[k], 0, "gfx942", F16) for k in (slice(0, 32), slice(32, 64), slice(64, 96))]
    first = gemm(a[:, :32], b[:32], c, "gfx942", F16)
    np.testing.assert_array_equal(gemm(a, b, c, "gfx942", F16, split_k=3), first + parts[1] + parts[2])
    whole = gemm(a, b, 0, "gfx942", F16)
    expected = np.float32(0.7) * whole + np.float32(-0.3) * c
    np.testing.assert_array_equal(gemm(a, b, c, "gfx942", F16, alpha=0.7, beta=-0.3), expected)
    np.testing.assert_array_equal(gemm(a, b, np.full_like(c, np.nan), "gfx942", F16, beta=0), whole)


def test_steps_in_any_order_are_those_of_a_permuted_product():
    a, b = half(20, 64), half(64, 30)
    at = np.concatenate([np.arange(16) + 16 * step for step in (2, 0, 3, 1)])
    expected = gemm(a[:, at], b[at], 0, "gfx942", F16)
    np.testing.assert_array_equal(gemm(a, b, 0, "gfx942", F16, k_order=[2, 0, 3, 1]), expected)


def test_block_scales_multiply_their_blocks_and_are_filled_up_with_ones(kernels):
    name = MMA + "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e5m2.f32.ue8m0"
    a = RNG.standard_normal((20, 80)).astype(ml_dtypes.float8_e4m3fn)
    b = RNG.standard_normal((80, 30)).astype(ml_dtypes.float8_e5m2)
    scales = RNG.integers(120, 134, (20, 3), np.uint8), RNG.integers(120, 134, (3, 30), np.uint8)
    plain = gemm(a, b, 0, "sm_120a", name)
    np.testing.assert_array_equal(plain, gemm(a, b, 0, "sm_120a", name, scale_a=np.full((20, 3), 127, np.uint8)))
    scaled = gemm(a, b, 0, "sm_120a", name, scale_a=scales[0], scale_b=scales[1], compare=True)
    factors = [2.0 ** (scale.astype(float) - 127) for scale in scales]
    wanted = (a.astype(float) * np.repeat(factors[0], 32, 1)[:, :80]) @ (
        b.astype(float) * np.repeat(factors[1], 32, 0)[:80]
    )
    np.testing.assert_allclose(scaled, wanted, rtol=1e-2, atol=0.5)
    np.testing.assert_array_equal(scaled.emulation.accuracy.reference, wanted.astype(np.float32))


# --- what it is given and gives ---


def test_without_an_instruction_the_type_of_a_chooses_one_with_the_widest_accumulator():
    for arch, kind, formats in (
        ("gfx942", np.float16, ("f16", "f32")), ("sm_90a", ml_dtypes.float8_e4m3fn, ("e4m3", "f32")),
        ("sm_90a", np.float32, ("tf32", "f32")), ("gfx90a", np.float64, ("f64", "f64")),
        ("gfx1100", np.int8, ("iu8", "i32")),
    ):  # fmt: skip
        d = gemm(np.ones((70, 70), kind), np.ones((70, 70), kind), arch=arch)
        inst = d.emulation.instruction
        assert (inst.formats["A"], inst.formats["D"]) == formats
        assert (d == 70).all()
    whole = RNG.integers(-128, 128, (20, 30), np.int8)
    for arch in ("gfx1100", "gfx1200", "gfx942", "sm_80"):
        np.testing.assert_array_equal(gemm(whole, whole.T, arch=arch), whole.astype(int) @ whole.T.astype(int))


def test_results_go_where_they_are_asked_and_say_how_they_were_computed():
    a, b = half(20, 50), half(50, 30)
    out = np.empty((20, 30), np.float32)
    assert gemm(a, b, arch="gfx942", out=out) is out
    d = gemm(a, b, arch="gfx942")
    np.testing.assert_array_equal(out, d)
    assert (d.emulation.provenance, d.emulation.padded_k % d.emulation.instruction.k) == ("two sources agree", 0)
    assert d.emulation.accuracy is None
    assert np.asarray(d.emulation.numerics.parameters["group"]) == 8


def test_the_reference_is_exactly_rounded_and_errors_are_measured_from_it():
    from fractions import Fraction

    a, b, c = half(4, 60), half(60, 5), RNG.standard_normal((4, 5)).astype(np.float32)
    found = gemm(a, b, c, "gfx942", compare=True)
    accuracy = found.emulation.accuracy
    exact = [[sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(row, column)), Fraction(float(start)))
              for column, start in zip(b.T, starts)] for row, starts in zip(a, c)]  # fmt: skip
    for i, j in np.ndindex(4, 5):
        reference = accuracy.reference[i, j]
        gap = abs(Fraction(float(np.spacing(reference))))
        assert abs(Fraction(float(reference)) - exact[i][j]) <= gap / 2
        apart = abs(Fraction(float(found[i, j])) - Fraction(float(reference)))
        assert accuracy.ulps[i, j] in (float(apart / gap), float(2 * apart / gap)) or np.signbit(reference)
        assert accuracy.relative[i, j] == pytest.approx(float(apart / abs(Fraction(float(reference)))))


def test_an_array_of_another_library_gives_an_array_of_that_library():
    class Array:
        """Some library's array."""

        def __init__(self, values):
            self.values = np.asarray(values)
            self.shape, self.dtype = self.values.shape, self.values.dtype

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.values, dtype)

        def __array_namespace__(self):
            return type("namespace", (), {"asarray": Array})

    a, b = half(20, 50), half(50, 30)
    d = gemm(Array(a), Array(b), arch="gfx942")
    assert isinstance(d, Array)
    np.testing.assert_array_equal(d.values, gemm(a, b, arch="gfx942"))
    assert d.emulation.steps == gemm(a, b, arch="gfx942").emulation.steps


def test_a_library_that_would_narrow_d_and_an_out_that_cannot_be_written_are_refused():
    """JAX makes float32 of float64 without a word, and its arrays cannot be changed."""

    class Library:
        """An array of a library that has no float64."""

        def __init__(self, values):
            self.values, self.shape, self.dtype = values, values.shape, values.dtype

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.values, dtype)

        def __array_namespace__(self):
            return type("namespace", (), {"asarray": staticmethod(lambda x, device: x.astype(np.float32))})

    a, b = RNG.standard_normal((2, 16, 16))
    with pytest.raises(Error, match="D is float64, of which A's library makes float32"):
        gemm(Library(a), Library(b), arch="gfx942", instruction="v_mfma_f64_16x16x4_f64")
    assert gemm(Library(a), Library(b), arch="gfx942", instruction=F16).dtype == np.float32
    fixed = np.empty((16, 16), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(Error, match="out cannot be written"):
        gemm(a, b, arch="gfx942", instruction=F16, out=fixed)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"a": np.ones(3)}, r"A has shape \(3\)"),
        ({"b": half(49, 30)}, "as many rows as A has columns"),
        ({"c": np.ones((19, 30))}, r"C is \(19, 30\)"),
        ({"c": np.ones((2, 20, 30)), "a": half(3, 20, 50)}, "do not broadcast"),
        ({"arch": None}, "gemm needs arch="),
        ({"arch": "gfx000"}, "unknown architecture"),
        ({"a": half(20, 50).astype(complex)}, "complex128"),
        ({"split_k": 0}, "split_k = 0"),
        ({"split_k": 99}, "split_k = 99"),
        ({"k_order": "sideways"}, "ascending, descending"),
        ({"k_order": [0, 0]}, "each of the 4 steps"),
        ({"threads": 0}, "at least 1"),
        ({"scale_a": np.ones((20, 2), np.uint8)}, "no block scales"),
        ({"out": np.empty((3, 3))}, r"out has shape \(3, 3\)"),
        ({"instruction": "v_smfmac_f32_16x16x32_f16"}, "sparse"),
        ({"instruction": "v_mfma_f32_4x4x4_16b_f16", "cbsz": 1}, "choose formats"),
        ({"instruction": MMA + "m16n8k16.row.col.f32.f16.f16.f32"}, "no instruction"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_what_would(given, says):
    arguments = {"a": half(20, 50), "b": half(50, 30), "arch": "gfx942", "instruction": F16} | given
    if "a" in given and given["a"].dtype.kind == "c":
        del arguments["instruction"]
    with pytest.raises(Error, match=says):
        gemm(**arguments)


# --- the command ---


def test_the_command_computes_files_writes_d_and_says_how(tmp_path):
    a, b = half(20, 50), half(50, 30)
    for name, array in (("a", a), ("b", b)):
        np.save(tmp_path / f"{name}.npy", array)
    files = ["--a", str(tmp_path / "a.npy"), "--b", str(tmp_path / "b.npy")]
    status, out, _ = answer(["gemm", "-a", "gfx942", *files, "-o", str(tmp_path / "d.npy"), "--accuracy"])
    assert status == 0
    assert "Chain: 4 instructions along K" in out
    assert "From the exactly rounded product" in out
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), gemm(a, b, arch="gfx942"))
    found = json.loads(answer(["gemm", "-a", "gfx942", *files, "--split-k", "2", "--json"]).out)
    assert (found["query"], found["split_k"], found["d_shape"]) == ("gemm", 2, [20, 30])


def test_matrices_without_elements_have_products_and_too_many_elements_are_refused():
    assert gemm(np.ones((3, 0), np.float16), np.ones((0, 4), np.float16), 2, arch="gfx942").tolist() == [[2] * 4] * 3
    assert "D: 0x0 float32" in answer(["gemm", "-a", "gfx942", "--random", "0x0x0", "--type", "f16"]).out
    assert "at most" in answer(["gemm", "-a", "gfx942", "--random", "99999999x9999x9", "--type", "f16"]).err


def test_random_matrices_need_a_type_and_are_the_same_every_time():
    command = ["gemm", "-a", "sm_90a", "--random", "5x6x7", "--type", "bf16"]
    assert answer(command).out == answer(command).out != answer([*command, "--seed", "1"]).out
    assert "needs --type" in answer(command[:-2]).err
    assert "no --a and no --b" in answer(command[:3]).err
    assert "needs -i" in answer([*command[:5], "--bits"]).err


class OnDevice:
    """An array in memory that NumPy cannot read, with what the array API standard gives it to be copied."""

    def __init__(self, array, device="gpu:1"):
        self._array, self.device, self.shape, self.dtype = array, device, array.shape, f"library.{array.dtype}"

    def __array__(self, *_, **__):
        raise TypeError("implicit conversion to a NumPy array is not allowed")

    def __dlpack_device__(self):
        return (2, 1)

    def __dlpack__(self, *, dl_device=None, **_):
        if dl_device is None or dl_device[0] != 1:
            raise BufferError("not in the memory of the host")
        return self._array.__dlpack__()

    def __array_namespace__(self):
        return self

    @staticmethod
    def asarray(result, device=None):
        return OnDevice(result, device)


def test_arrays_on_a_device_are_computed_on_the_host_and_the_result_goes_back():
    a, b = RNG.standard_normal((2, 40, 40)).astype(np.float32)
    expected = gemm(a, b, arch="sm_80")
    d = gemm(OnDevice(a), OnDevice(b), arch="sm_80")
    assert (type(d), d.device) == (OnDevice, "gpu:1")
    np.testing.assert_array_equal(d._array, expected)
    assert d.emulation == expected.emulation
    multiply = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x4_f32").multiply
    x, y = a[:16, :4], b[:4, :16]
    np.testing.assert_array_equal(multiply(OnDevice(x), OnDevice(y)), multiply(x, y))


@pytest.mark.mmasim  # it needs torch, as MMA-Sim does
@pytest.mark.parametrize(("arch", "name"), [form for form in KERNELS if not form[0].startswith("rdna")])
def test_tensors_are_multiplied_where_they_lie_to_the_bits_of_the_host(arch, name, monkeypatch):
    """On tensors in the host's memory, taken for a GPU's: batches, scales, split K, orders, alpha and beta."""
    torch = pytest.importorskip("torch")
    from mmacalc.emulator import device
    from mmacalc.formats import NUMPY_NAMES

    inst = mmacalc.instruction(arch, name)
    if any(inst.format(operand).bits not in (8, 16, 32) for operand in "ABD"):
        return  # packed, or f64: for the host

    def drawn(operand, shape, kind):
        form = inst.format(operand)
        integers = RNG.integers(0, 1 << form.bits, shape, np.uint64).astype(f"u{form.bits // 8}")
        if operand in ("SA", "SB"):
            return torch.from_numpy(integers if kind == "any bits" else integers % 9 + 123)
        stored = torch.from_numpy(integers.view(np.uint8)).view(getattr(torch, NUMPY_NAMES[form.name]))
        return stored if kind == "any bits" else torch.from_numpy(RNG.standard_normal(shape)).to(stored.dtype)

    k = 3 * inst.k - 1
    hows = ({}, {"alpha": 1.5, "beta": -0.3}, {"split_k": 2, "alpha": 0.7, "beta": 0}, {"k_order": "descending"})
    for kind, how in zip(2 * ("normal", "any bits"), hows):
        tensors = [drawn("A", (2, 1, 20, k), kind), drawn("B", (3, k, 15), kind), drawn("C", (20, 15), kind)]
        if "SA" in inst.operands:
            how = how | {
                "scale_a": drawn("SA", (20, -(-k // 32)), kind),
                "scale_b": drawn("SB", (-(-k // 32), 15), kind),
            }
        expected = gemm(*tensors, instruction=inst, **how)
        monkeypatch.setattr(device, "HOSTS", [])
        monkeypatch.setattr(Plan, "take", None)  # what the host would call
        found = gemm(*tensors, instruction=inst, **how)
        monkeypatch.undo()
        assert torch.equal(found.view(torch.int32), expected.view(torch.int32))
        assert found.emulation == expected.emulation


def test_a_kernels_whole_d_is_diagnosed_by_gemm_as_by_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(5)
    for name, shape in (("a", (32, 64)), ("b", (64, 32))):
        np.save(f"{name}.npy", random.standard_normal(shape).astype(np.float16))
    files = ["--a", "a.npy", "--b", "b.npy"]
    assert answer(["gemm", "-a", "gfx942", *files, "-o", "d.npy"]).status == 0
    assert answer(["gemm", "-a", "gfx942", *files, "--type", "f16", "--compare", "d.npy"]).status == 0
    np.save("wrong.npy", np.load("d.npy").T.copy())
    compared = [*files, "--compare", "wrong.npy"]
    found = answer(["gemm", "-a", "gfx942", "--type", "f16", *compared])
    assert found.status == 1
    assert "Explained to the bit: the tile is transposed" in found.out
    named = ["-a", "gfx942", "-i", "v_mfma_f32_32x32x8_f16", *compared, "--json"]
    assert answer(["gemm", *named]) == answer(["run", *named])
    reply = answer(["gemm", "-a", "gfx942", "--alpha", "2", "--type", "f16", *compared])
    assert (reply.status, "--alpha is not taken together with --compare" in reply.err) == (2, True)
    assert "the best for f16, and A's array has type float16" in answer(["gemm", "-a", "gfx942", *compared]).err
    whole = ["diagnose", "-a", "gfx942", "--type", "f16", *files, "wrong.npy"]
    assert answer(whole).out == found.out
    np.save("a.npy", np.load("a.npy").astype(np.float32))
    assert "A's array has float32, in which values of any" in answer(["gemm", "-a", "gfx942", *compared]).err


@pytest.mark.parametrize("core_there", [True, False])
@pytest.mark.parametrize(
    "line", ["gemm -a gfx942 --gemm 16x16x16 --type f16", "run -a gfx942 -i v_mfma_f32_16x16x16_f16 --random 1"]
)
def test_long_work_without_the_core_says_once_what_would_be_faster(line, core_there, monkeypatch):
    monkeypatch.setattr("mmacalc.cli.LONG", 0.0)
    core.library.cache_clear()
    if not core_there:
        monkeypatch.setenv("MMACALC_CORE", "off")
    reply = answer(line.split())
    assert reply.status == 0
    assert reply.err.count("without the C core") == (core.library() is None)
    core.library.cache_clear()
