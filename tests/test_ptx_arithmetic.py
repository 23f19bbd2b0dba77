"""PTX's arithmetic: every opcode that ptxas takes against a reading of the ISA in Python's integers and fractions."""

import numpy as np
import pytest

import mmacalc
import ptx_opcodes
import ptx_reference
import recorded
from mmacalc.kernels.ptx import arithmetic, grammar
from mmacalc.kernels.ptx.operation import DTYPES
from samples import sampled

TAKEN = {row["opcode"]: row["operands"] for row in recorded.table("ptx/opcodes.tsv.gz")}
UNDOCUMENTED = frozenset(
    [f"fma.{mode}{relu}.bf16{pair}" for mode in ("rz", "rm", "rp") for relu in ("", ".relu") for pair in ("", "x2")]
    + [f"{root}.{kind}16" for root in ("addc", "subc", "madc.lo", "madc.hi") for kind in "us"]
    + [f"rcp.{mode}.ftz.f64" for mode in ("rn", "rz", "rm", "rp")] )  # fmt: skip
"""What ptxas 13.0 takes and the PTX ISA 9.0 does not have: refused."""
NEWER = frozenset(
    f"cvt.rn{relu}.bf16x2.{small}" for relu in ("", ".relu") for small in ptx_opcodes.SMALL if small != "ue8m0x2"
)
"""What newer ptxas take, as Triton 3.9 emits it; exact."""
REFUSED = frozenset(
    [f"cvt.rs{relu}{finite}.f16x2.f32" for relu in ("", ".relu") for finite in ("", ".satfinite")]
    + [f"cvt.rs{relu}.satfinite.{small}.f32" for relu in ("", ".relu") for small in ptx_opcodes.SMALL4]
)  # fmt: skip
"""What the ISA has and mmacalc refuses by name."""
SHIFTING = ("shl", "shr", "shf", "bfe", "bfi", "bmsk", "szext")


def split(opcode):
    root, *words = opcode.split(".")
    return root, tuple(words)


def test_the_grammar_takes_what_ptxas_takes_and_nothing_else():
    taken = {opcode for opcode, _ in ptx_opcodes.candidates() if grammar.takes(*split(opcode))}
    assert taken == (set(TAKEN) - UNDOCUMENTED) | NEWER


def test_what_is_taken_is_computed_and_what_is_not_is_refused_by_name():
    for opcode in UNDOCUMENTED | REFUSED:
        with pytest.raises(mmacalc.Error, match=f"{opcode}(: | is not covered)"):
            arithmetic.operation(*split(opcode))
    for opcode in set(TAKEN) - UNDOCUMENTED - REFUSED:
        assert arithmetic.operation(*split(opcode)).results


@pytest.mark.parametrize("opcode", ["add.foo.f32", "mul.s32", "setp.lo.s32", "cvt.f16.f32", "add.rz.f16", "shl.u32"])
def test_a_refusal_shows_what_the_root_takes(opcode):
    with pytest.raises(mmacalc.Error, match=rf"{opcode} is not covered; {opcode.split('.')[0]} takes "):
        arithmetic.operation(*split(opcode))


def samples(type_, count, random):
    """Bits of a type: limits, specials, values near one another, and random ones."""
    bits = ptx_reference.width(type_)
    if bits == 1:
        return random.integers(0, 2, count).tolist()
    top = 1 << bits - 1
    special = [0, 1, 2, top, top - 1, top + 1, 2 * top - 1, 31, 32, 33, 255 % (2 * top), 64 % (2 * top)]
    special = special + [int(word) for word in random.integers(0, 1 << min(bits, 62), 4)]
    single = {"f32x2": "f32", "f16x2": "f16", "bf16x2": "bf16"}.get(type_, type_)
    if single in ptx_reference.FORMATS and single != "tf32":
        exponent, mantissa, _ = ptx_reference.FORMATS[single]
        infinity = ((1 << exponent) - 1) << mantissa
        one = ((1 << exponent - 1) - 1) << mantissa
        each = 1 + exponent + mantissa
        special = [0, 1, infinity, infinity + 1, infinity | 1 << mantissa - 1, infinity - 1, one, one + 1, one - 1]
        special += [1 << mantissa, (1 << mantissa) - 1, one + (1 << mantissa - 1), one + (3 << mantissa)]
        reach = 30 if exponent > 5 else 9
        steps = zip(random.integers(-reach, reach, 12), random.integers(0, 1 << mantissa, 12))
        special += [one + (int(step) << mantissa) + int(more) for step, more in steps]
        special += [code | 1 << each - 1 for code in special]
        if single != type_:
            special = [int(random.choice(special)) | int(random.choice(special)) << each for _ in range(40)]
    found = [int(one) for one in random.choice(np.array(special, object), count // 2)]
    return found + [int.from_bytes(random.bytes(8), "little") & 2 * top - 1 for _ in range(count - len(found))]


def array(bits, type_):
    dtype = DTYPES[type_]
    return np.array(bits, f"u{dtype.itemsize}").view(dtype) if type_ != "pred" else np.array(bits, bool)


def bits_of(value):
    value = np.asarray(value)
    if value.dtype == bool:
        return value.astype(int).tolist()
    return value.view(f"u{value.dtype.itemsize}").tolist()


def differences(opcode, count, random):
    """Where an operation differs from the reference: (opcode, sources, given, wanted)."""
    root, words = split(opcode)
    operation = arithmetic.operation(root, words)
    types = list(operation.sources)
    if root in ("min", "max") and TAKEN[opcode].count(",") == 3:
        types = types[:1] * 3
    if root in ("ex2",) or operation.approximate:
        return []
    given = [samples(type_, count, random) for type_ in types]
    for place, type_ in enumerate(types):
        if root in SHIFTING and type_ == "u32" and place >= max(len(types) - 2, 1):
            given[place] = [one % 70 if one % 3 else one for one in given[place]]
    if root == "lop3":
        given[3] = [given[3][0] & 0xFF] * count
    carry = given[-1] if operation.carry in ("in", "both") else None
    found = operation.function(*[array(bits, type_) for bits, type_ in zip(given, types)])
    found = [np.broadcast_to(one, (count,)) for one in (found if isinstance(found, tuple) else (found,))]
    found = list(zip(*[bits_of(np.ascontiguousarray(one)) for one in found]))
    wrong = []
    for place in range(count):
        sources = [bits[place] for bits in given]
        plain = sources[:-1] if carry is not None else sources
        wanted = ptx_reference.compute(root, list(words), plain, carry[place] if carry is not None else 0)
        if root == "lop3" and len(types) == 5:
            wanted = [wanted[0], int(ptx_reference.combined(words, wanted[0] != 0, sources[4:]))]
        pairs = [(a, b) for a, b in zip(found[place], wanted) if b is not None]
        wide = any("f64" in word for word in words)
        if any(a != b and not (wide and both_nan(a, b)) for a, b in pairs) or len(found[place]) != len(wanted):
            wrong.append((opcode, *[[hex(x) for x in part] for part in (sources, *zip(*pairs))]))
    return wrong


def both_nan(a, b):
    """The payload of a NaN of double precision is not specified."""
    infinity = 0x7FF << 52
    return (a & ~(1 << 63)) > infinity and (b & ~(1 << 63)) > infinity


@sampled("root", sorted({opcode.split(".")[0] for opcode in TAKEN}), 18)
def test_every_opcode_computes_what_the_isa_says(root):
    random = np.random.default_rng(20)
    computed = [
        opcode for opcode in (*TAKEN, *NEWER) if opcode.split(".")[0] == root and opcode not in UNDOCUMENTED | REFUSED
    ]
    count = 16 if root in ("set", "setp") else 40 if root == "cvt" else 64
    wrong = [one for opcode in computed for one in differences(opcode, count, random)]
    assert not wrong, wrong[:5]


@pytest.mark.parametrize(("column", "opcode"), [
    ("e8m0_rz_satfinite", "cvt.rz.satfinite.ue8m0x2.f32"), ("e8m0_rz", "cvt.rz.ue8m0x2.f32"),
    ("e8m0_rp_satfinite", "cvt.rp.satfinite.ue8m0x2.f32"), ("e8m0_rp", "cvt.rp.ue8m0x2.f32"),
    ("e4m3", "cvt.rn.satfinite.e4m3x2.f32"), ("e5m2", "cvt.rn.satfinite.e5m2x2.f32"),
    ("e2m3", "cvt.rn.satfinite.e2m3x2.f32"), ("e3m2", "cvt.rn.satfinite.e3m2x2.f32"),
    ("e2m1", "cvt.rn.satfinite.e2m1x2.f32"),
])  # fmt: skip
def test_small_floats_are_those_of_cudas_headers(column, opcode):
    rows = recorded.table("ptx/small_floats.tsv.gz")
    value = np.array([int(row["f32"]) for row in rows], np.uint32).view(np.float32)
    wanted = np.array([int(row[column]) for row in rows])
    found = arithmetic.operation(*split(opcode)).function(np.zeros_like(value), value)
    assert (found == wanted).all()


@pytest.mark.parametrize(("root", "function"), [
    ("ex2", np.exp2), ("lg2", np.log2), ("sin", np.sin), ("cos", np.cos), ("tanh", np.tanh),
    ("rsqrt", lambda x: 1 / np.sqrt(x)), ("rcp", lambda x: 1 / x), ("sqrt", np.sqrt),
])  # fmt: skip
def test_approximate_functions_are_rounded_from_double_precision_and_marked(root, function):
    random = np.random.default_rng(3)
    value = np.exp(random.uniform(-8, 2, 500))
    for opcode in (f"{root}.approx.f32", f"{root}.approx.ftz.f32"):
        if opcode in TAKEN:
            operation = arithmetic.operation(*split(opcode))
            assert operation.approximate
            single = value.astype(np.float32)
            assert (operation.function(single) == function(single.astype(np.float64)).astype(np.float32)).all()
            assert np.isnan(operation.function(np.float32([np.nan]))).all()


def test_upper_words_of_double_precision_alone_are_used_by_the_gross_reciprocals():
    value = np.float64([3.0, 3.0 + 2**-30, -np.inf, 5e-324, 0.0, 1e308])
    for root, function in (("rcp", lambda x: 1 / x), ("rsqrt", lambda x: 1 / np.sqrt(x))):
        found = arithmetic.operation(root, ("approx", "ftz", "f64")).function(value)
        assert not (found.view(np.uint64) & np.uint64(0xFFFFFFFF)).any()
        assert found[0] == found[1]
        assert abs(found[0] - function(3.0)) < 2**-20
        assert np.isposinf(found[3:5]).all()
