"""Float operations: a row for each, over arrays of lanes.

Rows are as in `integers`. Arithmetic is IEEE's to nearest even unless the wave's mode says otherwise. The functions
that AMD documents as approximate are given correctly rounded, and named in `APPROXIMATE` with their documented error.
Sources: the instruction descriptions of AMD's ISA guides (CDNA3, CDNA4, RDNA3, RDNA4); docs/isa-errata.md for V_DIV_*.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ....arithmetic.exact import fused_multiply_add, to_odd, two_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name
    Function = Callable[..., Array]
    Rows = dict[str, tuple[str, Function]]

__all__ = ["APPROXIMATE", "FLOATS", "LOOKUPS", "exact_sum", "exact_sum_of_product", "flushed", "fma", "fma_bfloat"]

# name: the error in ULP that AMD documents (RDNA3 ISA guide, section 16.8 and 16.12, "Notes" of each instruction).
APPROXIMATE = {
    **{f"v_{name}_f32": "1" for name in ("exp", "log", "rcp", "rcp_iflag", "rsq", "sqrt")},
    **{f"v_{name}_f16": "0.51" for name in ("exp", "log", "rcp", "rsq", "sqrt")},
    **{f"v_{name}_f64": "2^29" for name in ("rcp", "rsq", "sqrt")},
    **{f"v_{name}_{kind}": "an unpublished number of" for name in ("sin", "cos") for kind in ("f32", "f16")},
    **{f"v_s_{name}_f32": "1" for name in ("exp", "log", "rcp", "rsq", "sqrt")},
    **{f"v_s_{name}_f16": "0.51" for name in ("exp", "log", "rcp", "rsq", "sqrt")},
    "v_tanh_f32": "an unpublished number of", "v_tanh_f16": "an unpublished number of",
    # How the products are rounded on the way differs from source to source.
    **{f"v_dot2{how}_f32_{kind}": "an unpublished number of" for how in ("", "c", "acc") for kind in ("f16", "bf16")},
}  # fmt: skip

LEAST: dict[np.dtype[Any], np.floating[Any]] = {
    np.dtype(np.float32): np.float32(2.0**-126), np.dtype(np.float64): np.float64(2.0**-1022),
    np.dtype(np.float16): np.float16(2.0**-14),
}  # fmt: skip


def flushed(value: Array) -> Array:
    """Subnormal numbers as zeros of their sign."""
    return np.where(np.abs(value) < LEAST[value.dtype], np.copysign(value.dtype.type(0), value), value)


# --- fused multiply-add ---


def exact_sum_of_product(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float16 or float32 as float64 rounded to odd: it rounds to either as the exact sum does."""
    return exact_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))


def exact_sum(a: Array, b: Array) -> Array:
    """a + b of float64 rounded to odd."""
    high, low = two_sum(a, b)
    if not low.any():
        return high
    return to_odd(high, np.where(np.isfinite(high), low, 0.0))


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once to the operands' format."""
    if a.dtype == np.float64:
        return fused_multiply_add(a, b, c)
    return exact_sum_of_product(a, b, c).astype(a.dtype)


def fma_bfloat(a: Array, b: Array, c: Array) -> Array:
    """a * b + c as float32 rounded to odd, which rounds to bfloat16 as the exact sum does."""
    wide = exact_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    narrow = wide.astype(np.float32)
    back = narrow.astype(np.float64)
    raw = narrow.view(np.int32)
    step = np.where((np.abs(wide) > np.abs(back)), 1, -1).astype(np.int32)
    inexact = (back != wide) & np.isfinite(wide) & (raw & 1 == 0)
    return np.where(inexact, raw + step, raw).view(np.float32)


def _mad(a: Array, b: Array, c: Array) -> Array:
    """Rounded twice, subnormal numbers as zero: V_MAD_F32 and V_MAC_F32 of gfx9."""
    return flushed(flushed(flushed(a) * flushed(b)) + flushed(c))


def _legacy(a: Array, b: Array) -> Array:
    return np.where((a == 0) | (b == 0), a.dtype.type(0), a * b)


def _legacy_fma(a: Array, b: Array, c: Array) -> Array:
    return np.where((a == 0) | (b == 0), c, fma(a, b, c))


# --- choosing ---


def _integer(value: Array) -> Array:
    return value.view(f"u{value.dtype.itemsize}")


def quiet(value: Array) -> Array:
    """Signalling NaN as quiet ones."""
    missing = np.isnan(value)
    if not missing.any():
        return value
    bit = {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}[value.dtype.itemsize]
    raw = _integer(value)
    return np.where(missing, raw | raw.dtype.type(bit), raw).view(value.dtype)


def _smaller(a: Array, b: Array) -> Array:
    """The smaller, of a NaN and a number the number; minus zero is smaller than zero."""
    both = (_integer(a) | _integer(b)).view(a.dtype)
    return quiet(np.where(a == b, both, np.where((a < b) | np.isnan(b), a, b)))


def _larger(a: Array, b: Array) -> Array:
    both = (_integer(a) & _integer(b)).view(a.dtype)
    return quiet(np.where(a == b, both, np.where((a > b) | np.isnan(b), a, b)))


def _minimum(a: Array, b: Array) -> Array:
    """As `_smaller`, but a NaN if either is one."""
    return np.where(np.isnan(a), quiet(a), np.where(np.isnan(b), quiet(b), _smaller(a, b)))


def _maximum(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a), quiet(a), np.where(np.isnan(b), quiet(b), _larger(a, b)))


def _median(a: Array, b: Array, c: Array) -> Array:
    """The middle of three; the smallest if one is a NaN (V_MED3)."""
    missing = np.isnan(a) | np.isnan(b) | np.isnan(c)
    middle = _larger(_smaller(a, b), _smaller(_larger(a, b), c))
    return np.where(missing, _smaller(_smaller(a, b), c), middle)


# --- shapes of numbers ---


def exponent(value: Array) -> Array:
    """The exponent field."""
    raw = _integer(value)
    shift, mask = {2: (10, 0x1F), 4: (23, 0xFF), 8: (52, 0x7FF)}[value.dtype.itemsize]
    return (raw >> raw.dtype.type(shift) & raw.dtype.type(mask)).astype(np.int32)


def _ldexp(value: Array, by: Array) -> Array:
    by = np.clip(by.astype(np.int32), -5000, 5000)
    if value.dtype == np.float64:
        return np.ldexp(value, by)
    return np.ldexp(value.astype(np.float64), np.clip(by, -600, 600)).astype(value.dtype)


def _frexp_mantissa(value: Array) -> Array:
    return np.where(np.isfinite(value), np.asarray(np.frexp(value)[0]), quiet(value)).astype(value.dtype)


def _frexp_exponent(value: Array) -> Array:
    return np.where(np.isfinite(value), np.asarray(np.frexp(value)[1]), 0).astype(np.int32)


def _fraction(value: Array) -> Array:
    below_one = np.nextafter(value.dtype.type(1), value.dtype.type(0))
    return np.minimum(value - np.floor(value), below_one)


def classes(value: Array, mask: Array) -> Array:
    """Whether a number is of one of the ten classes in the mask (V_CMP_CLASS)."""
    negative, kind = np.signbit(value), exponent(value)
    top = {2: 31, 4: 255, 8: 2047}[value.dtype.itemsize]
    bit = {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}[value.dtype.itemsize]
    raw = _integer(value)
    calm = raw & raw.dtype.type(bit) != 0
    signed = np.where(value == 0, 5, np.where(kind == 0, 4, np.where(kind == top, 2, 3)))
    number = np.where(negative, signed, 11 - signed)
    found = np.where(np.isnan(value), np.where(calm, 1, 0), number).astype(np.uint32)
    return mask.astype(np.uint32) >> found & np.uint32(1) != 0


# --- division: V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP ---

# (of f32, of f64): how far apart the exponents may be; the power of two of the scaling; what a tiny numerator is
SCALES = {4: (96, 64, 23, 253), 8: (768, 128, 53, 2045)}


def _div_scale(value: Array, denominator: Array, numerator: Array) -> tuple[Array, Array]:
    apart, power, tiny, huge = SCALES[value.dtype.itemsize]
    up, down = (_ldexp(value, np.int32(step)) for step in (power, -power))
    of_d, of_n = exponent(denominator), exponent(numerator)
    bias = {4: 127, 8: 1023}[value.dtype.itemsize]
    is_d, is_n = _integer(value) == _integer(denominator), _integer(value) == _integer(numerator)
    subnormal_reciprocal = of_d >= huge
    subnormal_quotient = of_n - of_d <= -bias
    undefined = (denominator == 0) | (numerator == 0)
    far = of_n - of_d >= apart
    cases = [
        (undefined, value.dtype.type(np.nan), False),
        (far, np.where(is_d, up, value), True),
        ((of_d == 0) & (denominator != 0), up, False),
        (subnormal_reciprocal & subnormal_quotient, np.where(is_d, down, value), True),
        (subnormal_reciprocal, down, False),
        (subnormal_quotient, np.where(is_n, up, value), True),
        (of_n <= tiny, up, False),
    ]
    conditions = [condition for condition, _, _ in cases]
    shape = np.broadcast_shapes(value.shape, denominator.shape, numerator.shape)
    wide = [np.broadcast_to(condition, shape) for condition in conditions]
    results = [np.broadcast_to(result, shape) for _, result, _ in cases]
    scaled = np.select(wide, results, np.broadcast_to(value, shape)).astype(value.dtype)
    return scaled, np.select(wide, [np.bool_(flag) for _, _, flag in cases], np.bool_(False)).astype(bool)


def _div_fmas(a: Array, b: Array, c: Array, mask: Array) -> Array:
    _, power, _, _ = SCALES[a.dtype.itemsize]
    bias = {4: 127, 8: 1023}[a.dtype.itemsize]
    by = np.where(exponent(c) > bias, power, -power)
    if a.dtype == np.float32:
        scaled = np.ldexp(exact_sum_of_product(a, b, c), by).astype(np.float32)
    else:
        total = fma(a, b, c)
        scaled = np.ldexp(total, by)
        deep = mask & (by < 0) & (np.abs(scaled) < LEAST[a.dtype]) & (scaled != 0)
        if deep.any():  # rounded once: the scaled terms are exact where the scaled sum is not subnormal already
            scaled = np.where(deep, _scaled_once(a, b, c, power), scaled)
    return np.where(mask, scaled, fma(a, b, c))


def _scaled_once(a: Array, b: Array, c: Array, power: int) -> Array:
    """(a * b + c) * 2**-power, rounded once, of float64."""
    from fractions import Fraction

    from ....arithmetic.exact import _round_fraction

    a, b, c = np.broadcast_arrays(a, b, c)
    result = np.zeros(a.shape)
    for place in zip(*np.nonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))):
        total = Fraction(float(a[place])) * Fraction(float(b[place])) + Fraction(float(c[place]))
        result[place] = _round_fraction(total / 2**power, "rn") if total else 0.0
    return result


def _div_fixup(quotient: Array, denominator: Array, numerator: Array) -> Array:
    kind = quotient.dtype.type
    negative = np.signbit(denominator) ^ np.signbit(numerator)
    infinite_d, infinite_n = np.isinf(denominator), np.isinf(numerator)
    invalid = ((denominator == 0) & (numerator == 0)) | (infinite_d & infinite_n)
    result = np.where(negative, -np.abs(quotient), np.abs(quotient))
    apart = exponent(numerator) - exponent(denominator)
    zero, infinity = (np.where(negative, kind(-value), kind(value)) for value in (0.0, np.inf))
    # A quotient beyond the largest number has made a NaN of its own error.
    result = np.where(np.isnan(quotient), infinity, result)
    least = {2: -100, 4: -150, 8: -1075}[quotient.dtype.itemsize]
    result = np.where((apart < least) | infinite_d | (numerator == 0), zero, result)
    result = np.where((denominator == 0) | infinite_n, infinity, result)
    result = np.where(invalid, kind(-np.nan), result)
    result = np.where(np.isnan(denominator), quiet(denominator), result)
    return np.where(np.isnan(numerator), quiet(numerator), result).astype(quotient.dtype)


# --- functions that hardware approximates ---


def _approximated(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """By float64, rounded; subnormal float32 as zero on both sides ("denormals are flushed")."""

    def operation(value: Array) -> Array:
        if value.dtype == np.float64:
            return function(value)
        wide = function((flushed(value) if value.dtype == np.float32 else value).astype(np.float64))
        narrow = wide.astype(value.dtype)
        return quiet(np.where(np.isnan(value), value, flushed(narrow) if value.dtype == np.float32 else narrow))

    return operation


def _turn(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Of an angle in whole turns."""
    return lambda value: function(2 * np.pi * (value - np.floor(value)))


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp2,
    "log": np.log2,
    "rcp": lambda value: 1.0 / value,
    "rsq": lambda value: 1.0 / np.sqrt(value),
    "sqrt": np.sqrt,
    "sin": _turn(np.sin),
    "cos": _turn(np.cos),
    "tanh": np.tanh,
}

FLOATS: Rows = {
    "v_mac_f32 v_mad_f32 v_madak_f32 v_madmk_f32": ("f32 f32 f32 -> f32", _mad),
    "v_mul_legacy_f32 v_mul_dx9_zero_f32": ("f32 f32 -> f32", _legacy),
    "v_fma_legacy_f32 v_fma_dx9_zero_f32 v_fmac_legacy_f32 v_fmac_dx9_zero_f32": ("f32 f32 f32 -> f32", _legacy_fma),
    "v_rcp_iflag_f32": ("f32 -> f32", _approximated(FUNCTIONS["rcp"])),
    "v_mul_f64 v_mul_f64_pseudo": ("f64 f64 -> f64", np.multiply),
    "v_ldexp_f64": ("f64 i32 -> f64", _ldexp),
    "v_ldexp_f32": ("f32 i32 -> f32", _ldexp),
    "v_ldexp_f16": ("f16 i16 -> f16", _ldexp),
    "v_frexp_exp_i32_f32": ("f32 -> i32", _frexp_exponent),
    "v_frexp_exp_i32_f64": ("f64 -> i32", _frexp_exponent),
    "v_frexp_exp_i16_f16": ("f16 -> i16", lambda a: _frexp_exponent(a).astype(np.int16)),
}

for _kind in ("f16", "f32", "f64"):
    _classes = "u16" if _kind == "f16" else "u32"
    _one, _two, _three = (f"{' '.join([_kind] * count)} -> {_kind}" for count in (1, 2, 3))
    FLOATS |= {
        f"v_add_{_kind} s_add_{_kind}": (_two, np.add),
        f"v_sub_{_kind} s_sub_{_kind}": (_two, np.subtract),
        f"v_subrev_{_kind}": (_two, lambda a, b: b - a),
        f"v_mul_{_kind} s_mul_{_kind}": (_two, np.multiply),
        f"v_fma_{_kind} v_fmac_{_kind} v_fmaak_{_kind} v_fmamk_{_kind} s_fmac_{_kind} s_fmaak_{_kind} s_fmamk_{_kind}":
            (_three, fma),
        f"v_min_{_kind} v_min_num_{_kind} s_min_{_kind} s_min_num_{_kind}": (_two, _smaller),
        f"v_max_{_kind} v_max_num_{_kind} s_max_{_kind} s_max_num_{_kind}": (_two, _larger),
        f"v_minimum_{_kind} s_minimum_{_kind}": (_two, _minimum),
        f"v_maximum_{_kind} s_maximum_{_kind}": (_two, _maximum),
        f"v_min3_{_kind} v_min3_num_{_kind}": (_three, lambda a, b, c: _smaller(_smaller(a, b), c)),
        f"v_max3_{_kind} v_max3_num_{_kind}": (_three, lambda a, b, c: _larger(_larger(a, b), c)),
        f"v_minimum3_{_kind}": (_three, lambda a, b, c: _minimum(_minimum(a, b), c)),
        f"v_maximum3_{_kind}": (_three, lambda a, b, c: _maximum(_maximum(a, b), c)),
        f"v_minmax_{_kind} v_minmax_num_{_kind}": (_three, lambda a, b, c: _larger(_smaller(a, b), c)),
        f"v_maxmin_{_kind} v_maxmin_num_{_kind}": (_three, lambda a, b, c: _smaller(_larger(a, b), c)),
        f"v_minimummaximum_{_kind}": (_three, lambda a, b, c: _maximum(_minimum(a, b), c)),
        f"v_maximumminimum_{_kind}": (_three, lambda a, b, c: _minimum(_maximum(a, b), c)),
        f"v_med3_{_kind} v_med3_num_{_kind}": (_three, _median),
        f"v_floor_{_kind} s_floor_{_kind}": (_one, np.floor),
        f"v_ceil_{_kind} s_ceil_{_kind}": (_one, np.ceil),
        f"v_trunc_{_kind} s_trunc_{_kind}": (_one, np.trunc),
        f"v_rndne_{_kind} s_rndne_{_kind}": (_one, np.rint),
        f"v_fract_{_kind}": (_one, _fraction),
        f"v_frexp_mant_{_kind}": (_one, _frexp_mantissa),
        f"v_cmp_class_{_kind}": (f"{_kind} {_classes} -> mask", classes),
        f"v_cmpx_class_{_kind}": (f"{_kind} {_classes} -> mask", classes),
        f"v_div_fixup_{_kind}": (_three, _div_fixup),
    }  # fmt: skip
    if _kind != "f16":
        FLOATS[f"v_div_scale_{_kind}"] = (f"{_kind} {_kind} {_kind} -> {_kind} mask", _div_scale)
        FLOATS[f"v_div_fmas_{_kind}"] = (f"{_kind} {_kind} {_kind} mask -> {_kind}", _div_fmas)
    for _name in ("rcp", "rsq", "sqrt") if _kind == "f64" else FUNCTIONS:
        FLOATS[f"v_{_name}_{_kind} v_s_{_name}_{_kind}"] = (_one, _approximated(FUNCTIONS[_name]))

FLOATS |= {
    "v_add_bf16": ("bf16 bf16 -> bf16", np.add),
    "v_sub_bf16": ("bf16 bf16 -> bf16", np.subtract),
    "v_subrev_bf16": ("bf16 bf16 -> bf16", lambda a, b: b - a),
    "v_mul_bf16": ("bf16 bf16 -> bf16", np.multiply),
    "v_fma_bf16 v_fmac_bf16 v_fmaak_bf16 v_fmamk_bf16": ("bf16 bf16 bf16 -> bf16", fma_bfloat),
    "v_min_num_bf16": ("bf16 bf16 -> bf16", _smaller),
    "v_max_num_bf16": ("bf16 bf16 -> bf16", _larger),
    **{f"v_{name}_bf16": ("bf16 -> bf16", _approximated(function)) for name, function in FUNCTIONS.items()},
}
APPROXIMATE |= {f"v_{name}_bf16": "an unpublished number of" for name in FUNCTIONS}

# Comparisons: whether the relation holds, and whether NaN makes it true ("n" in front: not, so NaN does).
_RELATIONS: dict[str, Callable[..., Any]] = {
    "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lg": lambda a, b: (a < b) | (a > b), "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}  # fmt: skip


def _relations() -> dict[str, Callable[..., Any]]:
    found = dict(_RELATIONS)
    for name, function in _RELATIONS.items():
        opposite = {"o": "u", "eq": "neq"}.get(name, f"n{name}")
        found[opposite] = lambda a, b, f=function: ~f(a, b)
    return found


for _name, _function in _relations().items():
    for _kind in ("f16", "f32", "f64"):
        for _prefix in ("v_cmp", "v_cmpx"):
            FLOATS[f"{_prefix}_{_name}_{_kind}"] = (f"{_kind} {_kind} -> mask", _function)
        FLOATS[f"s_cmp_{_name}_{_kind}"] = (f"{_kind} {_kind} -> scc", _function)
_ORDERED: dict[str, Callable[..., Any]] = {**_RELATIONS, "ne": np.not_equal}
for _name, _function in _ORDERED.items():
    for _kind in ("u16", "i16", "u32", "i32", "u64", "i64"):
        if _name not in ("lg", "o"):
            for _prefix in ("v_cmp", "v_cmpx"):
                FLOATS[f"{_prefix}_{_name}_{_kind}"] = (f"{_kind} {_kind} -> mask", _function)
for _value, _names in ((True, ("t", "tru")), (False, ("f",))):
    for _kind in ("f16", "f32", "f64", "u16", "i16", "u32", "i32", "u64", "i64"):
        for _name in _names:
            for _prefix in ("v_cmp", "v_cmpx"):
                FLOATS[f"{_prefix}_{_name}_{_kind}"] = (
                    f"{_kind} {_kind} -> mask",
                    lambda a, b, v=_value: np.full(np.broadcast_shapes(a.shape, b.shape), v),
                )


# --- the bits of 2/pi, and the faces of a cube ---


_BITS = 1201
"""How many bits of 2/pi there are."""


@cache
def _two_over_pi() -> int:
    """2/pi times two to the power of 1201, cut off. Pi is Machin's: 16 arctan(1/5) - 4 arctan(1/239)."""
    one = 1 << _BITS + 64

    def arctangent(inverse: int) -> int:
        power, total, odd = one // inverse, 0, 1
        while power:
            total += power // odd if odd % 4 == 1 else -(power // odd)
            power, odd = power // inverse**2, odd + 2
        return total

    pi = 16 * arctangent(5) - 4 * arctangent(239)
    return 2 * one * (1 << _BITS) // pi


def _segment(value: Array, number: Array) -> Array:
    """53 bits of 2/pi: segment `number`, further right for values beyond 2**54."""
    exponent = (np.ascontiguousarray(value).view(np.uint64) >> np.uint64(52) & np.uint64(0x7FF)).astype(np.int64)
    shift = (number & np.uint32(31)).astype(np.int64) * 53 + np.maximum(exponent - 1077, 0)
    shift, exponent = np.broadcast_arrays(shift, exponent)
    places, which = np.unique(shift, return_inverse=True)
    bits = [(_two_over_pi() << int(place) & (1 << _BITS) - 1) >> _BITS - 53 for place in places]
    chosen = np.array(bits, np.float64)[which.reshape(shift.shape)]
    found = np.ldexp(chosen, np.where(exponent >= 1968, 75, -53) - shift)
    return np.where(np.isnan(value), value, found)


def _by_face(
    on_x: Callable[..., Array], on_y: Callable[..., Array], on_z: Callable[..., Array]
) -> Callable[..., Array]:
    """A function of the axis whose coordinate is the largest; of equal ones z before y before x."""

    def operation(x: Array, y: Array, z: Array) -> Array:
        x, y, z = np.broadcast_arrays(x, y, z)
        far_z = (np.abs(z) >= np.abs(x)) & (np.abs(z) >= np.abs(y))
        found = np.where(far_z, on_z(x, y, z), np.where(np.abs(y) >= np.abs(x), on_y(x, y, z), on_x(x, y, z)))
        return found.astype(np.float32)

    return operation


_THREE = "f32 f32 f32 -> f32"
LOOKUPS: Rows = {
    "v_trig_preop_f64": ("f64 u32 -> f64", _segment),
    "v_cubeid_f32": (_THREE, _by_face(
        lambda x, y, z: np.where(x < 0, 1, 0), lambda x, y, z: np.where(y < 0, 3, 2),
        lambda x, y, z: np.where(z < 0, 5, 4),
    )),
    "v_cubema_f32": (_THREE, _by_face(lambda x, y, z: 2 * x, lambda x, y, z: 2 * y, lambda x, y, z: 2 * z)),
    "v_cubesc_f32": (_THREE, _by_face(
        lambda x, y, z: np.where(x < 0, z, -z), lambda x, y, z: x, lambda x, y, z: np.where(z < 0, -x, x),
    )),
    "v_cubetc_f32": (_THREE, _by_face(
        lambda x, y, z: -y, lambda x, y, z: np.where(y < 0, -z, z), lambda x, y, z: -y,
    )),
}  # fmt: skip
