"""Every arithmetic model against exact rational arithmetic (`tests.exact_models`), on cases made to be awkward:
any bit pattern, subnormals, infinities, NaN, signed zeros, overflow, and sums that cancel."""

from __future__ import annotations

import re
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from tests import exact_models

import mmacalc
from mmacalc.arithmetic import models
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.arithmetic.exact import fused_multiply_add
from mmacalc.arithmetic.tables import TABLES
from mmacalc.emulator.computing import compute
from mmacalc.emulator.execution import execution_of
from mmacalc.formats import FORMATS
from samples import sampled

ROWS = 16

# The longest k of an instruction of each format, for chains; and formats of C and D that differ, or go together.
DEPTHS = {64: 4, 32: 8, 16: 16, 8: 32, 6: 32, 4: 32}
RESULTS = {"f16": ("f16",), "f32": ("f32",), "bf16": ("bf16", "f32"), "f64": ("f64",)}


def depth(row, inputs):
    """Two steps of the row's model, or one where it takes the whole K."""
    bits = FORMATS[inputs].bits if FORMATS[inputs].mantissa != 10 or FORMATS[inputs].bits == 16 else 32
    group = row.parameters.get("group")
    return 2 * group if group else DEPTHS[bits]


def cases():
    """(model, formats of A and B, of C, of D, k, parameters) of every row of every table, each once."""
    found = {}
    for row in (row for rows in TABLES.values() for row in rows):
        if row.model in ("", "integer", "block_scaled_fp4"):
            continue
        for i, a in enumerate(row.inputs or ("f16", "bf16", "e4m3")):
            b = row.inputs[-1 - i] if row.inputs and row.inputs[0] in ("e4m3", "e4m3fnuz") else a
            for out in row.outputs or (("f64",) if a == "f64" else ("f32",) if row.inputs else ("f32", "f16", "bf16")):
                for c in RESULTS[out]:
                    parameters = {**row.parameters}
                    if "group" in parameters or row.model == "exact":
                        parameters["group"] = parameters.get("group") or depth(row, a)
                    case = (row.model, f"{a} {b}", c, out, depth(row, a), parameters)
                    found[repr(case)] = case
    roundings = [("fma_chain", "f64 f64", "f64", "f64", 4, {"rounding": way}) for way in ("rz", "rm", "rp")]
    return [
        *found.values(),
        *roundings,
        ("aligned_truncated", "f16 f16", "f16", "f32", 4, TABLES["volta"][0].parameters),
    ]


CASES = cases()


def interesting(format):
    """Codes worth meeting: zeros, ends of the subnormals, ones, the largest, infinities, NaN."""
    if format.specials == "e8m0":
        return np.array([0, 1, 126, 127, 128, 254, 255], np.uint64)
    bits, mantissa = format.bits, format.mantissa if format.mantissa != 10 or format.bits == 16 else 23
    top = (1 << (bits - 1)) - 1
    one = format.bias << mantissa
    codes = [
        0,
        1,
        (1 << mantissa) - 1,
        1 << mantissa,
        one - 1,
        one,
        one + 1,
        3 << (mantissa - 1),
        top,
        top - 1,
        top >> 1,
    ]
    if format.specials == "ieee":
        infinity = ((1 << format.exponent) - 1) << mantissa
        codes += [infinity, infinity - 1, infinity | 1 << (mantissa - 1)]
    return np.array([code | sign << (bits - 1) for code in codes for sign in (0, 1)], np.uint64)


@st.composite
def codes(draw, format, shape):
    """An array of codes: any, of middling size, or from the interesting ones."""
    count = int(np.prod(shape))
    width = max(8, format.bits) // 8
    raw = np.frombuffer(draw(st.binary(min_size=count * width, max_size=count * width)), f"u{width}").reshape(shape)
    raw = raw & raw.dtype.type((1 << format.bits) - 1)
    kind = draw(st.sampled_from(("any", "middling", "interesting", "mixed")))
    special = interesting(format)[raw % len(interesting(format))].astype(raw.dtype)
    if kind == "interesting":
        return special
    if kind == "mixed":
        return np.where(raw % 5 == 0, special, raw)
    if kind == "middling" and format.specials != "none":
        values = decode(raw, format)
        fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 1.0))
        return encode(np.ldexp(fraction, exponent % 6 - 2), format)
    return raw


def numbers(array, format):
    return models.numbers(decode(array, format), format)


@st.composite
def dot_products(draw, case):
    """Codes of a, b (rows, k) and c (rows); sometimes the second half of k undoes the first, or c the products."""
    _, inputs, c_format, _, k, _ = case
    a_format, b_format = (FORMATS[name] for name in inputs.split())
    a, b = draw(codes(a_format, (ROWS, k))), draw(codes(b_format, (ROWS, k)))
    c = draw(codes(FORMATS[c_format], (ROWS,)))
    cancel = draw(st.sampled_from(("no", "halves", "c")))
    sign = a.dtype.type(1 << (a_format.bits - 1))
    if cancel == "halves" and a_format.specials != "fnuz":
        a, b = a.copy(), b.copy()
        a[:, k // 2 :], b[:, k // 2 :] = a[:, : k // 2] ^ sign, b[:, : k // 2]
    if cancel == "c":
        with np.errstate(all="ignore"):
            exact = -(decode(a, a_format) * decode(b, b_format)).sum(axis=1)
        c = encode(np.where(np.isfinite(exact), exact, 0.0), FORMATS[c_format])
    return a, b, c


def same(x, y):
    return (x != x and y != y) or (x == y and np.signbit(x) == np.signbit(y))


def compared(case, a, b, c):
    """Every dot product (rows, k) by the model and by its description."""
    name, inputs, c_format, out, _, parameters = case
    a_format, b_format = (FORMATS[each] for each in inputs.split())
    with np.errstate(all="ignore"):
        result = getattr(models, name)(
            numbers(a.T, a_format), numbers(b.T, b_format), numbers(c, FORMATS[c_format]), FORMATS[out], **parameters
        )
    emin = (1 - a_format.bias, 1 - b_format.bias)
    values = decode(a, a_format).tolist(), decode(b, b_format).tolist(), decode(c, FORMATS[c_format]).tolist()
    for x, y, z, found in zip(*values, result.tolist()):
        wanted = getattr(exact_models, name)(x, y, z, emin, out, 1 - FORMATS[c_format].bias, **parameters)
        assert same(found, wanted), (x, y, z, found, wanted)


CASE_NAMES = [f"{case[0]}-{case[1]}-{case[3]}-{case[5]}" for case in CASES]


@sampled("case", CASES, 12, whole=40, ids=CASE_NAMES)
def test_every_model_is_its_description_in_exact_arithmetic(case):
    @settings(max_examples=25, deadline=None, database=None, derandomize=True)
    @given(dot_products(case))
    def check(drawn):
        compared(case, *drawn)

    check()


@sampled("case", CASES, 24, first=1, whole=40, ids=CASE_NAMES)
def test_the_least_products_beside_the_least_accumulators_are_added_as_described(case):
    """One or two products of the smallest numbers, of either sign, and a C of a few of its smallest units."""
    _, inputs, c_format, _, k, _ = case
    forms = [FORMATS[each] for each in (*inputs.split(), c_format)]
    signs = [1 << (form.bits - 1) for form in forms]
    rows = [
        (first, second, third)
        for first in (1, 3, signs[0] | 1, signs[0] | 3)
        for second in (1, 2)
        for third in (*range(8), *(signs[2] | code for code in range(8)), 1 << forms[2].mantissa)
    ]
    for used in (1, 2):
        a, b = (np.zeros((len(rows), k), f"u{max(8, form.bits) // 8}") for form in forms[:2])
        a[:, :used], b[:, :used] = ([[row[at]] for row in rows] for at in (0, 1))
        compared(case, a, b, np.array([row[2] for row in rows], f"u{forms[2].bits // 8}"))


FP4 = next(row for row in TABLES["blackwell_rtx"] if row.model == "block_scaled_fp4")


@pytest.mark.parametrize("scale", ["e8m0", "ue4m3"])
def test_block_scaled_fp4_is_its_description_in_exact_arithmetic(scale):
    @settings(max_examples=40, deadline=None, database=None, derandomize=True)
    @given(st.data())
    def check(data):
        fp4, f32, form = FORMATS["e2m1"], FORMATS["f32"], FORMATS[scale]
        a, b = (data.draw(codes(fp4, (ROWS, 64))) for _ in "ab")
        sa, sb = (data.draw(codes(form, (ROWS, 4))) & np.uint8(0x7F if scale == "ue4m3" else 0xFF) for _ in "ab")
        if scale == "e8m0" and data.draw(st.booleans()):
            sa, sb = sa % 16 + 120, sb % 16 + 120
        c = data.draw(codes(f32, (ROWS,)))
        with np.errstate(all="ignore"):
            wide = [numbers(np.repeat(s, 16, axis=1).T, form) for s in (sa, sb)]
            result = models.block_scaled_fp4(
                numbers(a.T, fp4), numbers(b.T, fp4), numbers(c, f32), f32, *wide, **FP4.parameters
            )
        for row in range(ROWS):
            pairs = [[(v, -127 if scale == "e8m0" else -6) for v in decode(s[row], form).tolist()] for s in (sa, sb)]
            wanted = exact_models.block_scaled_fp4(
                decode(a[row], fp4).tolist(), decode(b[row], fp4).tolist(), float(decode(c[row : row + 1], f32)[0]),
                (0, 0), "f32", -126, *FP4.parameters.values(), *pairs,
            )  # fmt: skip
            assert same(float(result[row]), wanted)

    check()


def test_the_fused_multiply_add_is_exact_where_its_parts_would_overflow_or_underflow():
    """Python divides integers with one rounding, to subnormal numbers too."""
    rng = np.random.default_rng(8)
    powers = [(x, total - x) for total in (-1074, -1030, -1000, -970, 990, 1010) for x in (-40, 5, 60, 1015 - 990)]
    powers += [(1015, -1000), (-1000, 1015), (1015, -30)]
    for first, second in powers:
        if min(first, second) < -1060 or max(first, second) > 1016:
            continue
        a, b = (np.ldexp(rng.integers(2**52, 2**53, 12) / 2.0**52, power) for power in (first, second))
        total = first + second
        for below in (-60, -30, 0, 2):
            c = np.ldexp(rng.integers(2**52, 2**53, 12) / -(2.0**52), max(-1074, min(1020, total + below)))
            with np.errstate(all="ignore"):
                found = fused_multiply_add(a, b, c)
            for x, y, z, result in zip(a.tolist(), b.tolist(), c.tolist(), found.tolist()):
                exact = Fraction(x) * Fraction(y) + Fraction(z)
                assert result == exact.numerator / exact.denominator, (x, y, z)


@pytest.mark.parametrize("arch", ["cdna1", "cdna3", "cdna4", "rdna4", "gfx1250", "sm_80", "sm_90a"])
def test_sums_that_are_exact_are_numpys(arch):
    """Small whole numbers leave nothing to round: on all but RDNA3, which subtracts one unit too much."""
    rng = np.random.default_rng(3)
    for inst in mmacalc.instructions(arch):
        if "move" in inst.features or inst.formats["A"] == "b1" or (inst.n > 16 and "wgmma" in inst.features):
            continue
        lead = (2, inst.blocks) if inst.blocks > 1 else (2,)
        kinds = {inst.format("A").kind, inst.format("B").kind}
        low, high = (0, 4) if kinds & {"unsigned", "either"} else (-2, 3)
        a = rng.integers(low, high, (*lead, inst.m, inst.k))
        if inst.sparse:
            a *= np.arange(inst.k) % 8 < 2 if inst.format("A").bits == 4 else np.arange(inst.k) % 4 == 1
        b, c = rng.integers(low, high, (*lead, inst.k, inst.n)), rng.integers(0, 50, (*lead, inst.m, inst.n))
        d = inst.multiply(a, b, c)
        assert d.dtype == (np.int32 if inst.format("D").name == "i32" else f"f{max(4, inst.format('D').bits // 8)}")
        wanted = np.asarray(a @ b + c, np.float64)
        if inst.format("D").name == "bf16":
            continue  # its 8 bits do round sums of this size
        np.testing.assert_array_equal(d, wanted, err_msg=inst.name)


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x16bf16_1k", "v_mfma_f32_16x16x8bf16"])
def test_cdna2_makes_zeros_of_products_sums_and_c_below_the_least_normal_number_of_f32(name):
    inst = mmacalc.instruction("cdna2", name)
    exponents = np.arange(-132, -116)
    a, b = np.zeros((16, inst.k)), np.zeros((inst.k, 16))
    a[:, 0], b[0] = np.ldexp(1.5, exponents + 60), 2.0**-60
    kept = np.where(exponents >= -126, np.ldexp(1.5, exponents), 0.0)
    c = np.zeros((16, 16))
    assert (inst.multiply(a, b, c) == kept[:, None]).all()
    assert (inst.multiply(-a, b, c) == -kept[:, None]).all()
    a[:, 1], b[1] = -np.ldexp(1.0, exponents + 60), 2.0**-60  # half of the first product is left
    halved = np.where(exponents >= -125, np.ldexp(0.5, exponents), 0.0)
    assert (inst.multiply(a, b, c) == halved[:, None]).all()
    c[:] = np.ldexp(1.5, exponents)[:, None]
    assert (inst.multiply(0 * a, b, c) == kept[:, None]).all()


def test_sums_of_whole_numbers_wrap_or_saturate_and_bits_are_counted():
    """Python's integers and its bit_count."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(-128, 128, (3, 4, 64)), rng.integers(-128, 256, (3, 64, 5))
    ends = np.array([-(2**31), 2**31 - 1, -(2**31) + 5, 2**31 - 5, 0])
    c = ends[rng.integers(0, 5, (3, 4, 5))]
    ones, others = (rng.integers(0, 2, shape) for shape in (a.shape, b.shape))
    counted = {"and": lambda x, y: (x & y).bit_count(), "xor": lambda x, y: (x ^ y).bit_count()}
    as_number = {tuple(bits): int("".join(map(str, bits)), 2) for bits in [*ones.reshape(-1, 64).tolist(),
                 *others.swapaxes(1, 2).reshape(-1, 64).tolist()]}  # fmt: skip
    for at in np.ndindex(c.shape):
        batch, row, column = at
        exact = int((a[batch, row] * b[batch, :, column]).sum()) + int(c[at])
        assert models.integer(a, b, c, False)[at] == (exact + 2**31) % 2**32 - 2**31
        assert models.integer(a, b, c, True)[at] == max(-(2**31), min(2**31 - 1, exact))
        x, y = (as_number[tuple(bits.tolist())] for bits in (ones[batch, row], others[batch, :, column]))
        for operation, count in counted.items():
            wanted = (count(x, y) + int(c[at]) + 2**31) % 2**32 - 2**31
            assert models.integer(ones, others, c, False, operation)[at] == wanted


# --- models that are selected by name ---

SELECTED = (
    ("cdna3", "v_mfma_f64_16x16x4_f64"), ("cdna3", "v_mfma_f32_16x16x4_f32"), ("cdna3", "v_mfma_f32_16x16x8_xf32"),
    ("cdna4", "v_mfma_f32_16x16x32_bf16"), ("rdna4", "v_wmma_f16_16x16x16_f16"),
    ("cdna5", "v_wmma_bf16_16x16x32_bf16"), ("cdna4", "v_mfma_scale_f32_16x16x128_f8f6f4"),
    ("sm_90a", "mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e5m2.f16"),
    ("sm_120a", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"),
)  # fmt: skip


def parameter_sets():
    """(model, parameters) of every row of the tables, and of the models' own defaults."""
    rows = {(row.model, tuple(row.parameters.items())) for table in TABLES.values() for row in table if row.model}
    return sorted(rows | {("fma_chain", (("rounding", way),)) for way in ("rn", "rz", "rm", "rp")}, key=str)


@pytest.mark.parametrize(("arch", "name"), SELECTED)
def test_every_model_that_is_selected_ends_on_all_specials_or_is_refused(arch, name):
    """Zeros, subnormals, the largest, infinities, NaN: the exact sum of f64 never ended on them."""
    execution = execution_of(mmacalc.instruction(arch, name), None, {}, False, False)
    chosen, refusals, rng = [], [], np.random.default_rng(31)
    for model, given_ in parameter_sets():
        try:
            # No group is all of K.
            parameters = {key: execution.inst.k if value is None else value for key, value in given_}
            chosen.append(execution.with_numerics(model, parameters))
        except mmacalc.Error as refused:
            refusals.append(str(refused))
    assert all(re.search(r"is for (integers|floats|formats of|operands with)", refusal) for refusal in refusals)
    assert execution.numerics.model in {each.numerics.model for each in chosen}

    @settings(max_examples=4, deadline=None, database=None, derandomize=True)
    @given(st.data())
    def check(data):
        drawn = {}
        for operand, shape in execution.shapes.items():
            form = execution.formats[operand]
            if operand != "D":
                drawn[operand] = rng.choice(interesting(form), shape).astype(f"u{max(8, form.bits) // 8}")
        operand = data.draw(st.sampled_from("ABC"))
        drawn[operand].reshape(-1)[:4] = data.draw(codes(execution.formats[operand], (4,)))
        for each in chosen:
            found = compute(each, drawn, True)
            assert (found.shape, found.dtype.itemsize) == (execution.shapes["D"], execution.formats["D"].bits // 8)

    check()


@pytest.mark.parametrize(
    ("name", "model", "given_", "says"),
    [("v_mfma_f32_16x16x16_f16", "exakt", {}, "Did you mean exact"),
     ("v_mfma_f32_16x16x16_f16", "dot4_floored", {"group": 4}, "takes fraction, group, lowest, pair, reach"),
     ("v_mfma_f32_16x16x16_f16", "fma_chain", {"group": 4}, "may take rounding; given are group"),
     ("v_mfma_i32_16x16x32_i8", "exact", {}, "is for floats")],
)  # fmt: skip
def test_a_model_that_is_none_and_arguments_of_another_are_refused(name, model, given_, says):
    execution = execution_of(mmacalc.instruction("cdna3", name), None, {}, False, False)
    with pytest.raises(mmacalc.Error, match=says):
        execution.with_numerics(model, given_)


def test_whole_numbers_of_the_largest_size_are_added_without_an_error_for_any_k():
    """Products of floats hold them only up to 2**24, so K is cut by the largest numbers."""
    for low, high, k in ((-128, 127, 5000), (0, 255, 700), (-8, 7, 300), (0, 1, 100)):
        a, b = np.full((3, k), low), np.full((k, 2), low)
        a[1], b[:, 1] = high, high
        a[2, ::3], a[2, 1::3] = high, low
        c = np.array([[1, -1]] * 3)
        assert (models.MODELS["integer"](a, b, c, False) == a @ b + c).all()
