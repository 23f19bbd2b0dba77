"""Codes and values of every format: all codes of up to 16 bits against ml_dtypes, rounding at every midpoint."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from mmacalc import Error
from mmacalc.arithmetic.codecs import code_type, decode, encode, largest, nan_code, powers, ulps
from mmacalc.formats import ALIASES, FORMATS, NUMPY_NAMES, chosen, formats_named, named, scaling

ML_DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn, "e8m0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip


def every_code(format):
    return np.arange(1 << format.bits, dtype=np.uint8 if format.bits <= 8 else np.uint16)


@pytest.mark.parametrize("name", ML_DTYPES)
def test_every_code_means_what_ml_dtypes_says(name):
    codes = every_code(FORMATS[name])
    with np.errstate(invalid="ignore"):  # signalling NaN
        wanted = codes.view(ML_DTYPES[name]).astype(np.float64)
    np.testing.assert_array_equal(decode(codes, FORMATS[name]), wanted)


@pytest.mark.parametrize("name", ML_DTYPES)
def test_every_value_midpoint_and_neighbour_rounds_as_in_ml_dtypes(name):
    form = FORMATS[name]
    finite = decode(every_code(form), form)
    finite = np.unique(finite[np.isfinite(finite)])
    middle = (finite[1:] + finite[:-1]) / 2
    last = finite[-1] + (finite[-1] - finite[-2]) * np.array([0.25, 0.5, 0.75, 1, 8])
    with np.errstate(all="ignore"):
        values = np.concatenate([finite, middle, last, -last, [0.0, -0.0, np.inf, -np.inf]]).astype(np.float32)
        values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
    if form.specials == "e8m0":
        values = values[values > 2.0**-126]  # below, ml_dtypes rounds f32 subnormals to NaN
    with np.errstate(all="ignore"):
        wanted = values.astype(ML_DTYPES[name]).view(every_code(form).dtype)
    missing = np.isnan(decode(wanted, form))
    found = encode(values.astype(np.float64), form)
    np.testing.assert_array_equal(found[~missing], wanted[~missing])
    assert (found[missing] == nan_code(form)).all()


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.bits <= 16])
def test_every_code_survives_decoding_and_encoding(name):
    form = FORMATS[name]
    for signed in (False, True) if form.kind == "either" else (True,):
        codes = every_code(form)
        if name == "ue4m3":
            codes = codes[:128]  # its top bit is not used
        values = decode(codes, form, signed)
        keep = ~np.isnan(values) if form.is_float else np.ones(len(codes), bool)
        np.testing.assert_array_equal(encode(values, form, signed=signed)[keep], codes[keep])


@pytest.mark.parametrize(
    ("name", "integer", "float_"), [("f32", np.uint32, np.float32), ("f64", np.uint64, np.float64)]
)
def test_wide_formats_are_numpys(name, integer, float_):
    codes = np.random.default_rng(0).integers(0, 1 << FORMATS[name].bits, 5000, dtype=np.uint64).astype(integer)
    values = decode(codes, FORMATS[name])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(values, codes.view(float_).astype(np.float64))
    finite = ~np.isnan(values)
    np.testing.assert_array_equal(encode(values, FORMATS[name])[finite], codes[finite])


@pytest.mark.parametrize("name", ["tf32", "xf32"])
def test_the_low_13_bits_of_tf32_are_not_read_and_values_round_to_10_bits(name):
    codes = np.array([0x3F801FFF, 0x3F802000, 0xC0000001], np.uint32)
    assert decode(codes, FORMATS[name]).tolist() == [1.0, 1.0 + 2.0**-10, -2.0]
    halfway = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 1e39])
    assert decode(encode(halfway, FORMATS[name]), FORMATS[name]).tolist() == [1.0, 1.0 + 2.0**-9, np.inf]


@pytest.mark.parametrize("vendor", ["amd", "nvidia"])
def test_nan_stays_nan_in_every_format_that_has_one(vendor):
    formats = [form for form in FORMATS.values() if form.is_float and form.specials != "none"]
    assert len(formats) > 10
    for form in formats:
        for kind in (np.float32, np.float64):
            assert np.isnan(decode(encode(np.array([np.nan, -np.nan], kind), form, vendor), form)).all(), form.name


def test_the_nan_that_is_written_is_the_vendors():
    """NVIDIA's below 64 bits are all ones (see `nan_code`); the others have the quiet bit and no more. tf32 and xf32
    have the upper 19 bits of an f32; formats with one NaN have that."""
    amd = {"f64": 0x7FF8 << 48, "f32": 0x7FC00000, "xf32": 0x7FC00000, "tf32": 0x7FC00000, "f16": 0x7E00,
           "bf16": 0x7FC0, "e5m2": 0x7E}  # fmt: skip
    nvidia = {**amd, "f32": 0x7FFFFFFF, "xf32": 0x7FFFE000, "tf32": 0x7FFFE000, "f16": 0x7FFF, "bf16": 0x7FFF,
              "e5m2": 0x7F}  # fmt: skip
    only = {"e4m3": 0x7F, "e4m3fnuz": 0x80, "e5m2fnuz": 0x80, "e8m0": 0xFF, "ue4m3": 0x7F, "ue5m3": 0xFF}
    for vendor, codes in (("amd", amd), ("nvidia", nvidia)):
        for name, code in (codes | only).items():
            assert nan_code(FORMATS[name], vendor) == code
            assert encode(np.array([np.nan]), FORMATS[name], vendor).tolist() == [code]
        assert {name for name, form in FORMATS.items() if form.is_float and form.specials != "none"} == {*codes, *only}


def test_where_a_field_decides_a_whole_number_is_signed_unless_told_otherwise():
    for name, code in (("iu8", 255), ("iu4", 15)):
        assert encode(np.array([-1]), FORMATS[name]).tolist() == [code]
        assert decode(np.array([code], np.uint8), FORMATS[name]).tolist() == [-1]
        assert decode(encode(np.array([code]), FORMATS[name], signed=False), FORMATS[name], False).tolist() == [code]


def test_float64_is_rounded_once_and_not_through_float32():
    just_above = 1 + 2.0**-8 + 2.0**-40  # f32 would round it to the midpoint of two bf16
    assert decode(encode(np.array([just_above]), FORMATS["bf16"]), FORMATS["bf16"])[0] == 1 + 2.0**-7


@pytest.mark.parametrize(
    ("name", "value"),
    [("i8", 128), ("i8", -129), ("u8", -1), ("u8", 256), ("i4", 8), ("u4", 16), ("i8", 0.5), ("b1", 2), ("i32", 2**31),
     ("e2m1", np.nan), ("e2m3", np.nan), ("ue4m3", -1.0)],
)  # fmt: skip
def test_a_value_that_a_format_cannot_hold_is_refused(name, value):
    with pytest.raises(Error, match="takes"):
        encode(np.array([value]), FORMATS[name])


def test_whole_numbers_of_every_width_end_where_twos_complement_does():
    for form in FORMATS.values():
        for signed in (False, True) if form.kind == "either" else (form.kind == "signed",) if not form.is_float else ():
            low, high = (-(2 ** (form.bits - 1)), 2 ** (form.bits - 1) - 1) if signed else (0, 2**form.bits - 1)
            for kind in (np.int64, np.float64):
                ends = np.array([low, high], kind)
                assert decode(encode(ends, form, signed=signed), form, signed).tolist() == ends.tolist()
                for beyond in (low - 1, high + 1):
                    with pytest.raises(Error, match=rf"takes whole numbers from {low} to {high}; a value is {beyond}"):
                        encode(np.array([0, beyond], kind), form, signed=signed)


def test_powers_are_exponents_floored_at_the_smallest_normal_one():
    smallest = {"f16": -14, "bf16": -126, "e4m3": -6, "e5m2": -14, "e4m3fnuz": -7, "e5m2fnuz": -15, "e2m3": 0,
                "e3m2": -2, "e2m1": 0, "f32": -126, "tf32": -126, "xf32": -126, "f64": -1022}  # fmt: skip
    for name, least in smallest.items():
        form = FORMATS[name]
        values = decode(every_code(form), form) if form.bits <= 16 else np.ldexp(1.5, np.arange(least - 10, 2 - least))
        values = np.array([0.0, *values[np.isfinite(values)]])
        exponents = np.where(values == 0, least, np.frexp(values)[1] - 1)
        np.testing.assert_array_equal(powers(values, form), np.ldexp(1.0, np.maximum(exponents, least)))
        if form.bits <= 16:
            assert largest(name) == values.max()
    assert (largest("f32"), largest("f64")) == (float(np.finfo("f4").max), float(np.finfo("f8").max))
    assert largest("tf32") == largest("xf32") == float(np.array(0x7F7FE000, np.uint32).view(np.float32))


def test_whole_numbers_and_raw_bits_are_as_wide_as_their_names_say():
    whole = [form for form in FORMATS.values() if not form.is_float and form.name not in ("index", "address")]
    assert len(whole) == 15
    for form in whole:
        sign = {"i": "signed", "u": "unsigned", "b": "bits"}["i" if form.name.startswith("iu") else form.name[0]]
        assert form.bits == int(form.name.lstrip("biu"))
        assert form.kind == ("either" if form.name.startswith("iu") else sign)
    assert (FORMATS["index"].bits, FORMATS["address"].bits) == (2, 32)  # of 2:4 sparsity; of ldmatrix (PTX ISA)


def test_scales_are_bytes():
    """OCP Microscaling Formats 1.0, section 5.4.1; PTX ISA, ue8m0 and ue4m3; AMD's CDNA5 ISA, MATRIX_A_SCALE_FMT."""
    assert [FORMATS[name].bits for name in ("e8m0", "ue4m3", "ue5m3")] == [8, 8, 8]


def test_scales_without_a_sign_have_the_numbers_of_e4m3_and_of_f16s_exponent():
    """PTX ISA, ue4m3: e4m3 whose sign is 0. CDNA5 ISA, E5M3: f16's exponents, all of numbers."""
    codes = np.arange(128, dtype=np.uint8)
    np.testing.assert_array_equal(decode(codes, FORMATS["ue4m3"]), decode(codes, FORMATS["e4m3"]))
    halves = (np.arange(256, dtype=np.uint16) << 7).view(np.float16).astype(np.float64)
    top = np.array([*(2.0**16 * (1 + np.arange(7) / 8)), np.nan])
    every = decode(np.arange(256, dtype=np.uint8), FORMATS["ue5m3"])
    np.testing.assert_array_equal(every, np.concatenate([halves[:248], top]))


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.is_float and form.bits <= 16])
def test_ulps_are_the_distances_in_the_sorted_list_of_a_formats_numbers(name):
    form = FORMATS[name]
    codes = every_code(form) if form.bits <= 8 else np.random.default_rng(3).integers(0, 1 << 16, 300, np.uint16)
    if name[0] == "u" or name == "e8m0":
        codes = codes[:128]  # D is never a scale: no ULPs of codes with the top bit
    values = decode(codes, form)
    known = decode(every_code(form), form)
    known = np.unique(known[~np.isnan(known)])
    places = np.where(np.isnan(values), np.nan, np.searchsorted(known, values).astype(float))
    wanted = np.abs(places[:, None] - places)
    wanted[np.ix_(np.isnan(values), np.isnan(values))] = 0
    np.testing.assert_array_equal(ulps(*np.broadcast_arrays(codes[:, None], codes), form), wanted)


@pytest.mark.parametrize(("name", "type"), [("f32", np.float32), ("f64", np.float64)])
def test_ulps_of_wide_formats_count_the_steps_of_nextafter(name, type):
    first = np.array([1, -1, 0, 2.0**-126, 1.5], type)
    steps = np.array([3, 2, 4, 5, 0])
    other = first
    for step in range(5):
        other = np.where(step < steps, np.nextafter(other, type(-np.inf)), other)
    unsigned = f"u{first.itemsize}"
    assert ulps(first.view(unsigned), other.view(unsigned), FORMATS[name]).tolist() == steps.tolist()
    far = np.array([np.inf, np.nan], type).view(unsigned)
    found = ulps(far, np.array([-np.inf, 0], type).view(unsigned), FORMATS[name])
    assert found[0] == float({"f32": 2 * 0x7F800000, "f64": 2 * 0x7FF0000000000000}[name])
    assert np.isnan(found[1])


def test_blocks_that_share_a_scale_are_those_of_the_ocp_and_of_nvidia():
    """OCP Microscaling Formats 1.0, table 1: 32 elements and E8M0; PTX ISA, scale_vec::4X of mxf4nvf4: 16 and UE4M3."""
    mx = {"mxfp8": {"e4m3", "e5m2"}, "mxfp6": {"e2m3", "e3m2"}, "mxfp4": {"e2m1"}}
    for name, elements in mx.items():
        assert (formats_named(name), scaling(name)) == (elements, ("e8m0", 32))
    assert (formats_named("nvfp4"), scaling("nvfp4")) == ({"e2m1"}, ("ue4m3", 16))


OTHER_NAMES = {
    "f64": "float64 double fp64", "f32": "float32 float fp32 single", "tf32": "floattf32 FloatTF32",
    "f16": "float16 half fp16 torch.half", "bf16": "bfloat16 torch.bfloat16 bfloat np.bfloat16",
    "e4m3": "float8_e4m3fn torch.float8_e4m3fn f8E4M3FN Float8E4M3FN fp8_e4m3 .e4m3 E4M3 e4m3fn fp8",
    "e4m3fnuz": "float8_e4m3fnuz f8E4M3FNUZ amd_fp8 fp8_fnuz", "e5m2": "float8_e5m2 f8E5M2 bf8",
    "e5m2fnuz": "float8_e5m2fnuz f8E5M2FNUZ amd_bf8 bf8_fnuz", "e8m0": "float8_e8m0fnu f8E8M0FNU ue8m0 e8",
    "e2m1": "float4_e2m1fn_x2 float4_e2m1fn f4E2M1FN fp4", "e2m3": "float6_e2m3fn f6E2M3FN fp6",
    "e3m2": "float6_e3m2fn f6E3M2FN bf6", "i32": "int32 s32", "i8": "int8 s8", "i4": "int4 s4 jnp.int4",
    "i2": "int2 s2", "u32": "uint32", "u8": "uint8 torch.uint8", "u4": "uint4", "u2": "uint2",
}  # fmt: skip


def test_formats_have_the_names_of_torch_numpy_ocp_ptx_and_llvm():
    for name, others in OTHER_NAMES.items():
        assert {named(other).name for other in others.split()} == {name}
    assert set(ALIASES) <= set(" ".join(OTHER_NAMES.values()).split())
    for name, dtype in NUMPY_NAMES.items():
        assert named(dtype).dtype == named(name).dtype  # xf32 and iu8 have the type of f32 and i8


@pytest.mark.parametrize("name", ["float8_e4m3", "f8E4M3", "float8_e3m4", "float8_e4m3b11fnuz", "float8_e5m3", "f4"])
def test_a_format_that_no_instruction_has_is_not_taken_for_one_that_looks_alike(name):
    with pytest.raises(Error, match="format"):
        named(name)


def test_a_field_that_chooses_a_format_takes_its_value_in_digits_and_every_name_of_a_format():
    """CDNA4 ISA guide, section 7.1.5: CBSZ and BLGP; LLVM's MatrixScaleFmt."""
    for value, name in enumerate(("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")):
        assert {chosen("f8f6f4", each) for each in (str(value), name, *OTHER_NAMES[name].split())} == {value}
    for value, names in enumerate(("e8m0 ue8m0", "e5m3 ue5m3", "e4m3 ue4m3 fp8")):
        assert {chosen("scale", each) for each in (str(value), *names.split())} == {value}
    assert [chosen("f8f6f4", name) for name in ("mxfp4", "nvfp4")] == [4, 4]
    for name in ("mxfp8", "5", "-1", "f16", "2" * 5000):
        with pytest.raises(Error, match=r"is not a format of f8f6f4; it is one of 0 \(fp8\), 1"):
            chosen("f8f6f4", name)


@pytest.mark.parametrize("name", ["f32", "f16", "bf16", "e4m3", "e5m2", "e2m1"])
def test_values_of_a_longer_type_are_rounded_once(name):
    """Beside a tie by less than float64 shows: above it, below it, and on it."""
    form = FORMATS[name]
    codes = np.arange(1, 7) if form.bits < 16 else np.arange(0x3C00, 0x3C40)
    if name == "f32":
        codes = codes.astype(np.uint32) << 16
    low, high = (decode(part.astype(code_type(form)), form).astype(np.longdouble) for part in (codes, codes + 1))
    tie = (low + high) / 2
    beside = tie * np.longdouble(2) ** -60
    if (tie + beside == tie).all():  # long double is float64 here
        beside = tie * np.longdouble(2) ** -52
    assert (encode(tie + beside, form) == encode(high.astype(np.float64), form)).all()
    assert (encode(tie - beside, form) == encode(low.astype(np.float64), form)).all()
    assert (encode(tie, form) % 2 == 0).all()
    special = np.array([np.inf, -np.inf, 0.0, -0.0, 1e4000], np.longdouble)
    assert (encode(special, form) == encode(special.astype(np.float64), form)).all()
