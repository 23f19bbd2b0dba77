"""Codes to values and back, for every number format.

A *code* is the raw encoding of an element, an unsigned integer; a *value* is what it means, a float64 (every
format here, from e2m1 to f64, is a subset of float64) or, for the integer formats, an int64.

Rounding is to nearest, ties to even. What does not fit after rounding becomes what the format has for it:

    f64 f32 tf32 xf32 f16 bf16 e5m2     infinity
    e4m3 e4m3fnuz e5m2fnuz ue4m3 ue5m3  NaN (these formats have no infinity; an infinite value becomes NaN too)
    e2m3 e3m2 e2m1                      the largest finite value (they have neither); a NaN is refused
    e8m0                                NaN; nearest power of two, ties away from zero; zero and negatives are NaN
    integers                            refused, and so is a value with a fraction

Sources: OCP 8-bit Floating Point Specification 1.0, section 4; OCP Microscaling Formats 1.0, section 5; IEEE 754.
Tested against ml_dtypes, every code of every format of up to 16 bits.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, nan

import numpy as np

from ..base.errors import Error
from ..formats import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format

    Array = NDArray[Any]

EXPONENT_BITS = np.int64(0x7FF0 << 48)


def code_type(format: Format) -> np.dtype[Any]:
    """The unsigned integer type that holds one code.

    >>> code_type(FORMATS["e2m1"]), code_type(FORMATS["bf16"])
    (dtype('uint8'), dtype('uint16'))
    """
    return np.dtype(f"u{max(8, format.bits) // 8}")


def has_sign(format: Format) -> bool:
    """Whether the top bit of a float format's code is a sign (the formats of scales have none)."""
    return format.name[0] != "u" and format.specials != "e8m0"


def _in_table(format: Format) -> bool:
    """Whether a float format has so few codes that their values are in a table."""
    return format.bits <= 16


def _meaning(code: int, format: Format) -> float:
    """The value of one code of a float format of at most 8 bits."""
    sign_bit = 1 << (format.bits - 1) if has_sign(format) else 0
    magnitude = code & ((1 << (format.exponent + format.mantissa)) - 1)
    exponent, mantissa = magnitude >> format.mantissa, magnitude & ((1 << format.mantissa) - 1)
    if format.specials == "e8m0":
        return nan if code == 0xFF else 2.0 ** (code - format.bias)
    if format.specials == "fnuz" and code == sign_bit:
        return nan
    full = (1 << format.exponent) - 1
    if format.specials == "fn" and exponent == full and mantissa == (1 << format.mantissa) - 1:
        return nan
    sign = -1.0 if code & sign_bit else 1.0
    if format.specials == "ieee" and exponent == full:
        return nan if mantissa else sign * inf
    significand = mantissa + (1 << format.mantissa if exponent else 0)
    return sign * significand * 2.0 ** (max(exponent, 1) - format.bias - format.mantissa)


@lru_cache(maxsize=64)
def _table(name: str) -> NDArray[np.float64]:
    found = FORMATS[name]
    if found.bits == 16:  # an f16, or the upper half of an f32
        codes = np.arange(1 << found.bits, dtype=np.uint32)
        with np.errstate(invalid="ignore"):  # signalling NaN
            floats = codes.astype(np.uint16).view(np.float16) if name == "f16" else (codes << 16).view(np.float32)
            table = floats.astype(np.float64)
    else:
        table = np.array([_meaning(code, found) for code in range(1 << found.bits)])
    table.flags.writeable = False
    return table


@lru_cache(maxsize=64)
def largest(name: str) -> float:
    """The largest finite value of a float format.

    >>> largest("e4m3"), largest("f16"), largest("e2m1")
    (448.0, 65504.0, 6.0)
    """
    found = FORMATS[name]
    if _in_table(found):
        table = _table(name)
        return float(np.max(table[np.isfinite(table)]))
    return (2.0 - 2.0**-found.mantissa) * 2.0 ** ((1 << (found.exponent - 1)) - 1)


def decode(codes: NDArray[Any], format: Format, signed: bool = True) -> NDArray[Any]:
    """The values of an array of codes: float64 for the float formats, int64 for the others.

    Args:
        codes: unsigned integers, any shape, each below 2**format.bits.
        signed: for the formats whose sign an instruction field decides (iu8, iu4), whether they are signed.

    >>> decode(np.array([0x38, 0xC0], np.uint8), FORMATS["e4m3"])
    array([ 1., -2.])
    >>> decode(np.array([0xFF], np.uint8), FORMATS["iu8"], signed=False)
    array([255])
    """
    if not format.is_float:
        values = codes.astype(np.int64)
        if format.kind == "signed" or (format.kind == "either" and signed):
            values -= (values >> (format.bits - 1)) << format.bits
        return values
    if _in_table(format):
        found: NDArray[np.float64] = _table(format.name)[codes]
        return found
    if format.mantissa == 10:  # tf32, xf32: the low 13 bits are not read (PTX ISA, .tf32; CDNA3 ISA, XF32)
        codes = codes & np.uint32(0xFFFFE000)
    floats = codes.view(f"f{format.bits // 8}")
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return floats.astype(np.float64)


def powers(values: NDArray[np.float64], format: Format) -> NDArray[np.float64]:
    """2**e of each value, e = max(floor(log2 |x|), emin): the exponent that a code of the format has.

    Zero and subnormals have the format's smallest exponent emin; infinities and NaN any finite one.

    >>> powers(np.array([0.0, 1.5, -6.0]), FORMATS["f16"])
    array([6.10351562e-05, 1.00000000e+00, 4.00000000e+00])
    """
    bits = np.asarray(values).view(np.int64) & EXPONENT_BITS
    largest = 2.0 ** min(format.bias + 1, 1023)
    smallest = -format.bias if format.specials == "e8m0" else 1 - format.bias
    found: NDArray[np.float64] = np.maximum(np.minimum(bits.view(np.float64), largest), 2.0**smallest)
    return found


def alignment_powers(values: NDArray[np.float64], format: Format) -> NDArray[np.float64]:
    """As `powers`, but 0 for zero: the hardware does not align by the exponent of a zero.

    >>> alignment_powers(np.array([0.0, 2.0**-24, -6.0]), FORMATS["f16"])
    array([0.00000000e+00, 6.10351562e-05, 4.00000000e+00])
    """
    return np.where(np.asarray(values) == 0, 0.0, powers(values, format))


@lru_cache(maxsize=64)
def _power_table(name: str) -> NDArray[np.float64]:
    table = alignment_powers(_table(name), FORMATS[name])
    table.flags.writeable = False
    return table


def decode_powers(codes: NDArray[Any], format: Format) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values and the `alignment_powers` of an array of codes of a float format."""
    if _in_table(format):
        return _table(format.name)[codes], _power_table(format.name)[codes]
    values = decode(codes, format)
    return values, alignment_powers(values, format)


def round_to_format(values: NDArray[np.float64], format: Format) -> NDArray[np.float64]:
    """Values rounded to nearest even on a float format's grid, kept as float64 (see above for what overflows)."""
    if format.name == "f64":
        return values
    if format.name in ("f32", "f16"):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return values.astype(f"f{format.bits // 8}").astype(np.float64)
    quantum = powers(values, format) * 2.0**-format.mantissa
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = np.where(np.isfinite(values), np.rint(values / quantum) * quantum, values)
    limit = largest(format.name)
    over = np.abs(rounded) > limit
    if over.any():
        beyond = {"ieee": inf, "none": limit}.get(format.specials, nan)
        rounded = np.where(over, np.copysign(beyond, rounded), rounded)
    return rounded


def nan_code(format: Format, vendor: str = "amd") -> int:
    """The NaN that the emulator writes.

    NVIDIA's f32 and f16 are all ones without the sign (measured: Fasi et al. 2021; MMA-Sim). AMD's bits are not
    published, nor NVIDIA's of f64: the canonical quiet NaN is given. x86's has the sign (SDM, volume 1, table 4-3).

    >>> hex(nan_code(FORMATS["f32"])), hex(nan_code(FORMATS["f32"], "nvidia"))
    ('0x7fc00000', '0x7fffffff')
    """
    if format.specials == "fnuz":
        return 1 << (format.bits - 1)
    if format.specials == "e8m0":
        return 0xFF
    unread = 13 if format.bits == 32 and format.mantissa == 10 else 0  # bits of tf32 and xf32
    ones = (1 << (format.exponent + format.mantissa)) - 1
    if (vendor == "nvidia" and format.name != "f64") or format.specials == "fn":
        return ones << unread
    sign = 1 << (format.bits - 1) if vendor == "intel" else 0
    return sign | (ones & ~((1 << (format.mantissa - 1)) - 1)) << unread


def encode(values: NDArray[Any], format: Format, vendor: str = "amd", signed: bool = True) -> NDArray[Any]:
    """The codes of an array of values, rounded to nearest even; the top of this module says what happens on overflow.

    Args:
        values: floats or integers, any shape. For an integer format they must be whole and in range.
        vendor: whose NaN is written.
        signed: as for `decode`.

    Raises:
        Error: a value that the format cannot hold: out of an integer format's range, or NaN without a NaN.

    >>> encode(np.array([1.0, -2.0, 1000.0]), FORMATS["e4m3"])
    array([ 56, 192, 127], dtype=uint8)
    """
    if not format.is_float:
        return _encode_integers(values, format, signed)
    if values.dtype.kind == "f" and values.dtype.itemsize > np.dtype(np.float64).itemsize and format.name != "f64":
        with np.errstate(over="ignore", invalid="ignore"):
            values = _to_odd(values, np.float64)
    if values.dtype.kind == "f" and format.name in NUMPY_FLOATS:
        return _encode_by_numpy(values, format, vendor)
    if values.dtype.kind == "f" and _in_table(format) and has_sign(format):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if not np.count_nonzero(values != values):
                return _encode_narrow(values, format)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        values = np.asarray(values, np.float64)
    if format.specials == "e8m0":
        return _encode_scales(values, format)
    return on_grid(round_to_format(values, format), format, vendor)


NUMPY_FLOATS: dict[str, type[np.floating[Any]]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
"""The formats that are types of NumPy, whose conversions round to nearest even, once."""


def _encode_by_numpy(values: NDArray[Any], format: Format, vendor: str) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        codes = values.astype(NUMPY_FLOATS[format.name]).view(code_type(format))
        missing = values != values
    if np.count_nonzero(missing):
        codes[missing] = nan_code(format, vendor)
    return codes


def _to_odd(values: NDArray[Any], narrower: type[np.floating[Any]]) -> NDArray[Any]:
    """Values in a narrower type of NumPy, rounded to odd, so that rounding them again is the same as rounding once."""
    near = np.asarray(values.astype(narrower))
    words = near.view(f"u{near.itemsize}")
    words = words - (np.abs(near) > np.abs(values))  # toward zero
    words |= near != values  # a NaN stays one
    found: NDArray[Any] = words.view(narrower)
    return found


def _encode_narrow(values: NDArray[Any], format: Format) -> NDArray[Any]:
    """The codes of values without NaN, of bf16 or a format of up to 8 bits: by way of float32 rounded to odd, which
    has at least two bits more (see `mmacalc.arithmetic.exact`)."""
    near = _to_odd(values, np.float32) if values.dtype == np.float64 else np.asarray(values.astype(np.float32))
    words = near.view(np.uint32)
    if format.name == "bf16":
        words = words + (np.uint32(0x7FFF) + (words >> np.uint32(16) & np.uint32(1)))
        return (words >> np.uint32(16)).astype(np.uint16)
    lost = words & np.uint32(0xFFFF) != 0
    codes: NDArray[Any] = _codes_of_bf16(format.name).take(words >> np.uint32(16) | lost)
    return codes


@lru_cache(maxsize=64)
def _codes_of_bf16(name: str) -> NDArray[Any]:
    """The code of each bf16 number in a narrower format; of bf16's NaNs anything."""
    values = _table("bf16")
    rounded = round_to_format(np.where(np.isnan(values), 0.0, values), FORMATS[name])
    return on_grid(rounded, FORMATS[name])


def on_grid(rounded: NDArray[np.float64], format: Format, vendor: str = "amd", keep_nan: bool = False) -> NDArray[Any]:
    """The codes of float values that are numbers of the format already.

    A NaN becomes the vendor's (`nan_code`); with `keep_nan` its own sign and leading bits (see `nan_value`).
    """
    missing = np.isnan(rounded)
    if format.specials == "none" and missing.any():
        limit = largest(format.name)
        raise Error(f"{format.name} has no NaN, but a value is NaN; it takes finite values, up to {limit}")
    if _in_table(format):
        codes = _fields(rounded, format)
    else:
        with np.errstate(invalid="ignore"):
            codes = rounded.astype(f"f{format.bits // 8}").view(code_type(format))
    if not missing.any():
        return codes
    nan = _nan_fields(rounded, format) if keep_nan else code_type(format).type(nan_code(format, vendor))
    return np.where(missing, nan, codes)


def nan_value(code: int, format: Format) -> float:
    """The float64 NaN whose sign and leading bits are those of a NaN of an IEEE-like format of up to 32 bits.

    >>> hex(on_grid(np.array([nan_value(0xFE3D, FORMATS["f16"])]), FORMATS["f16"], keep_nan=True)[0])
    '0xfe3d'
    """
    sign, rest = code >> (format.bits - 1), code & ((1 << format.mantissa) - 1)
    bits = sign << 63 | 0x7FF << 52 | rest << (52 - format.mantissa)
    return float(np.uint64(bits).view(np.float64))


def _nan_fields(values: NDArray[np.float64], format: Format) -> NDArray[Any]:
    bits = np.ascontiguousarray(values).view(np.uint64)
    payload = bits >> np.uint64(52 - format.mantissa) & np.uint64((1 << format.mantissa) - 1)
    fixed = np.uint64(((1 << format.exponent) - 1) << format.mantissa | 1 << (format.mantissa - 1))  # a quiet NaN
    codes: NDArray[Any] = bits >> np.uint64(63) << np.uint64(format.bits - 1) | payload | fixed
    return codes.astype(code_type(format))


def _fields(rounded: NDArray[np.float64], format: Format) -> NDArray[Any]:
    """Sign, exponent and mantissa of values that lie on the grid of a format of up to 16 bits, or are infinite."""
    if format.name == "f16":
        return rounded.astype(np.float16).view(np.uint16)
    if format.name == "bf16":
        wide: NDArray[np.uint32] = rounded.astype(np.float32).view(np.uint32)
        return (wide >> 16).astype(np.uint16)
    magnitude = np.abs(rounded)
    power = powers(magnitude, format)
    exponent = (power.view(np.int64) >> 52) - 1023 + format.bias
    with np.errstate(invalid="ignore"):
        significand = np.where(np.isfinite(rounded), magnitude / power, 0.0) * (1 << format.mantissa)
    codes = ((exponent - 1) << format.mantissa) + significand.astype(np.int64)
    infinite = ((1 << format.exponent) - 1) << format.mantissa
    codes = np.where(np.isinf(rounded), infinite, codes)
    if has_sign(format):
        negative = np.signbit(rounded) & ((rounded != 0) if format.specials == "fnuz" else True)
        codes = codes | (negative.astype(np.int64) << (format.bits - 1))
    elif (rounded < 0).any():
        least = np.min(rounded)
        raise Error(f"{format.name} has no sign, but a value is {least}; it takes 0 to {largest(format.name)}")
    return codes.astype(code_type(format))


def _encode_scales(values: NDArray[np.float64], format: Format) -> NDArray[Any]:
    fraction, exponent = np.frexp(np.where(np.isfinite(values) & (values > 0), values, 1.0))
    codes = exponent.astype(np.int64) - 1 + (fraction >= 0.75) + format.bias
    valid = np.isfinite(values) & (values > 0) & (codes < 0xFF)
    return np.where(valid, np.maximum(codes, 0), 0xFF).astype(np.uint8)


def _encode_integers(values: NDArray[Any], format: Format, signed: bool) -> NDArray[Any]:
    has_sign = format.kind == "signed" or (format.kind == "either" and signed)
    if (values.dtype.kind, 8 * values.dtype.itemsize) == ("i" if has_sign else "u", format.bits):
        return values.view(code_type(format))
    low, high = (-(1 << (format.bits - 1)), (1 << (format.bits - 1)) - 1) if has_sign else (0, (1 << format.bits) - 1)
    if values.dtype.kind == "f":  # as float64, since the range is none of float32's or float16's numbers
        values = values.astype(np.float64, copy=False)
    fits = (values >= low) & (values <= high)
    if values.dtype.kind == "f":
        fits &= values == np.rint(values)
    if not np.all(fits):
        wrong = values[~fits].ravel()[0]
        raise Error(f"{format.name} takes whole numbers from {low} to {high}; a value is {wrong}")
    return (values.astype(np.int64) & ((1 << format.bits) - 1)).astype(code_type(format))


# --- Distances of codes in units in the last place ---


def ulps(x: Array, y: Array, format: Format) -> NDArray[np.float64]:
    """The distance of two arrays of codes in units in the last place; NaN where just one of them is a NaN.

    >>> from mmacalc.formats import FORMATS
    >>> ulps(np.array([0x3C00, 0x8000], np.uint16), np.array([0x3C02, 0x0001], np.uint16), FORMATS["f16"])
    array([2., 1.])
    """
    if not format.is_float:
        apart: NDArray[np.int64] = np.abs(decode(x, format) - decode(y, format))
        return apart.astype(np.float64)
    sign = 1 << (format.bits - 1)
    ordered = [(code & (sign - 1)).astype(object if format.bits == 64 else np.int64) for code in (x, y)]
    ordered = [np.where(code & code.dtype.type(sign) != 0, -o, o) for code, o in zip((x, y), ordered)]
    missing = [np.isnan(decode(code, format)) for code in (x, y)]
    distance: NDArray[np.float64] = np.abs(ordered[0] - ordered[1]).astype(np.float64)
    distance[missing[0] & missing[1]] = 0.0
    distance[missing[0] ^ missing[1]] = np.nan
    return distance
