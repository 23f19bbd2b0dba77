"""The arithmetic of Intel's AMX and Arm's SME as instructions, against their pseudo code in exact fractions.

`tests.exact_models` shares nothing with the models but the words of the manuals: scalars, `Fraction`, one rounding
function that knows to nearest even and to odd, and when a result counts as tiny.
"""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from tests import exact_models

import mmacalc
from mmacalc import Error
from mmacalc.arithmetic.models import _rounded_without_tiny
from samples import rotated, sampled


def fmopa_h(a, b, c):
    """One element of FMOPA of f16 pairs: FPDot rounds the sum of two products once."""
    terms = [x * y for x, y in zip(a, b)]  # exact in float64: 22 bits
    if all(map(math.isfinite, terms)):
        sign = all(math.copysign(1, term) < 0 for term in terms)
        pair = exact_models.f32(sum(map(Fraction, terms)), sign, "nearest", None)
    else:
        pair = terms[0] + terms[1]
    return exact_models.f32_sum(pair, c, "nearest", None)


SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0]


def inputs(rng, name, shape, spread):
    """Values of a format: of many magnitudes, near the least normal number, and special ones."""
    wide = 2.0 ** rng.integers(-spread, spread + 1, shape) * rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape)
    values = np.where(rng.random(shape) < 0.08, rng.choice(SPECIAL, shape), wide)
    if name == "f16":
        return values.clip(-65504, 65504).astype(np.float16).astype(np.float64)
    bits = np.asarray(values, np.float32).view(np.uint32)
    if name == "bf16":
        values = (bits & 0xFFFF0000).astype(np.uint32).view(np.float32)
        return np.where(np.isnan(values), np.nan, values).astype(np.float64)
    return np.asarray(values, np.float32).astype(np.float64)


def same(found, wanted):
    return (math.isnan(found) and math.isnan(wanted)) or struct.pack("d", found) == struct.pack("d", wanted)


NO_EXPONENTS = (0, "f32", 0)
ELEMENTS = {
    ("amx-spr", "tdpbf16ps"): lambda a, b, c: exact_models.two_chains(a, b, c, *NO_EXPONENTS, True),
    ("amx-gnr", "tdpfp16ps"): lambda a, b, c: exact_models.two_chains(a, b, c, *NO_EXPONENTS, False),
    ("sme-128", "bfmopa.s.h"): lambda a, b, c: exact_models.rounded_to_odd(a, b, c, *NO_EXPONENTS, 2),
    ("sme-128", "fmopa.s.h"): fmopa_h,
    ("sme-128", "fmopa.s.s"): lambda a, b, c: exact_models.f32_fma(a[0], b[0], c, "nearest", None),
}


@sampled(("of", "spread"), rotated(ELEMENTS, [3, 12, 66, 125]), 2 * len(ELEMENTS))
def test_every_element_is_what_the_pseudo_code_says(of, spread):
    arch, name = of
    inst = mmacalc.instruction(arch, name)
    rng = np.random.default_rng(spread)
    form = inst.format("A").name
    checked = 0
    for _ in range(3 if arch.startswith("amx") else 24):
        a = inputs(rng, form, (inst.m, inst.k), spread)
        b = inputs(rng, form, (inst.k, inst.n), spread)
        c = inputs(rng, "f32", (inst.m, inst.n), min(spread * 2, 126))
        if spread > 60 and form == "bf16":
            a[::2] *= 2.0**-60  # products and sums around 2**-126
        d = inst.multiply(a, b, c)
        for i in range(inst.m):
            for j in range(0, inst.n, 3):
                wanted = ELEMENTS[arch, name](a[i].tolist(), b[:, j].tolist(), float(c[i, j]))
                assert same(float(d[i, j]), wanted), (i, j, a[i], b[:, j], c[i, j])
                checked += 1
    assert checked > 180


@pytest.mark.parametrize(
    ("exact", "result"),
    [
        (2.0**-126 * (1 - 2.0**-25), 2.0**-126),  # rounded with an endless exponent it is 2**-126: not tiny
        (2.0**-126 * (1 - 2.0**-24), 0.0),
        (-(2.0**-127), -0.0),
        (-(2.0**-126), -(2.0**-126)),
    ],
)
def test_amx_flushes_what_is_tiny_after_rounding(exact, result):
    assert same(float(_rounded_without_tiny(np.array([exact]))[0]), result)


def test_amx_takes_a_subnormal_c_for_zero():
    inst = mmacalc.instruction("amx-gnr", "tdpfp16ps")
    a, b, c = np.zeros((16, 32)), np.zeros((32, 16)), np.full((16, 16), -(2.0**-127))
    assert same(float(inst.multiply(a, b, c)[0, 0]), 0.0)  # -0 + +0


def test_the_order_of_amx_is_seen_where_the_intrinsics_guide_has_another():
    """Intel's intrinsics guide adds every product to the result in the order of k; SDM and Bochs have two chains."""
    inst = mmacalc.instruction("amx-spr", "tdpbf16ps")
    a, b = np.zeros((16, 32)), np.ones((32, 16))
    a[0, :3] = 2.0**24, 1.0, 1.0
    assert (
        inst.multiply(a, b, np.zeros((16, 16)))[0, 0] == 2.0**24
    )  # (2**24 + 1), both rounded down; + 1 of odd k: a tie
    a[0, :4] = 2.0**24, 1.0, 0.0, 1.0
    assert inst.multiply(a, b, np.zeros((16, 16)))[0, 0] == 2.0**24 + 2  # in the order of k it were 2**24


@pytest.mark.parametrize("name", ["tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud"])
def test_integers_of_amx_wrap(name):
    inst = mmacalc.instruction("amx-spr", name)
    rng = np.random.default_rng(1)
    low, high = ((-128, 128) if name[4] == "s" else (0, 256)), ((-128, 128) if name[5] == "s" else (0, 256))
    a, b = rng.integers(*low, (16, 64)), rng.integers(*high, (64, 16))
    out = np.uint32 if name == "tdpbuud" else np.int32
    c = rng.integers(np.iinfo(out).min, np.iinfo(out).max, (16, 16), endpoint=True)
    d = inst.multiply(a, b, c)
    assert d.dtype == out
    assert (d == (a @ b + c).astype(np.int64).astype(out)).all()


@pytest.mark.parametrize(
    ("arch", "name", "code"), [("amx", "tdpbf16ps", 0xFFC00000), ("sme", "bfmopa.s.h", 0x7FC00000)]
)
def test_an_invalid_operation_makes_the_nan_of_the_processor(arch, name, code):
    inst = mmacalc.instruction(arch, name)
    zero, infinite = np.zeros((inst.m, inst.k), np.uint16), np.full((inst.k, inst.n), 0x7F80, np.uint16)
    d = inst.multiply_bits(zero, infinite, np.zeros((inst.m, inst.n), np.uint32))
    assert (d == code).all()


@pytest.mark.parametrize("name", ["tdpbf8ps", "tdphf8ps", "tmmultf32ps"])
def test_what_has_one_source_is_refused_by_name(name):
    with pytest.raises(Error, match=f"{name}: .*no second source"):
        mmacalc.numerics(mmacalc.instruction("amx-dmr", name))
    with pytest.raises(Error, match="not computed here"):
        mmacalc.instruction("amx-dmr", name).multiply(np.zeros((16, 16)), np.zeros((16, 16)), 0)


@pytest.mark.parametrize(
    ("arch", "name", "mode", "says"),
    [
        ("sme", "fmopa.s.s", "fz", "FPCR.FZ is taken as 0: fmopa.s.s is computed with FPCR 0 here"),
        ("sme", "bfmopa.s.h", "ebf", "another would round the sum of two bf16 products once"),
        ("sme-128", "fmopa.s.h", "rmode", "rounds to nearest even"),
        ("sme", "fmopa.s.s", "dn", "gives the default NaN with any DN"),
        ("amx", "tdpbf16ps", "daz", "tdpbf16ps does not read MXCSR"),
    ],
)
def test_modes_of_the_processor_that_are_not_modelled_are_refused_by_name(arch, name, mode, says):
    inst = mmacalc.instruction(arch, name)
    a, b, c = (np.ones(shape) for shape in ((inst.m, inst.k), (inst.k, inst.n), (inst.m, inst.n)))
    with pytest.raises(Error, match=says):
        inst.multiply(a, b, c, **{mode: 1})
