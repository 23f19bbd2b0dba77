"""Conversions of PTX: mov and cvt (PTX ISA 9.0, 9.7.9.1 and 9.7.9.21), as operations on arrays."""

from __future__ import annotations

import numpy as np

from ...arithmetic.codecs import decode, encode, largest
from ...arithmetic.exact import fused_multiply_add
from ...base.errors import Error
from ...formats import FORMATS
from ...ptx.module import count_of
from .floats import bfloat, exact_sum, finished, flushed, halves_of, narrowed, packed, values_of
from .operation import DTYPES, Modifiers, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = ["convert", "move"]

ROUNDINGS = ("rn", "rz", "rm", "rp", "rna", "rs")
TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
SMALL = {"e4m3x2": 8, "e5m2x2": 8, "e2m1x2": 4, "e2m3x2": 8, "e3m2x2": 8, "ue8m0x2": 8}
"""Pairs of small floats, and the bits that each takes."""


def move(root: str, words: tuple[str, ...]) -> Operation:
    """mov (PTX ISA 9.7.9.1)."""
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    return Operation((type_,), (type_,), lambda a: a, bitwise=True)


def convert(root: str, words: tuple[str, ...]) -> Operation:
    """cvt (PTX ISA 9.7.9.21)."""
    modifiers = Modifiers(root, words)
    if modifiers.flag("pack"):
        return _convert_pack(modifiers)
    target, source = modifiers.types(2)
    mode = modifiers.one_of(ROUNDINGS)
    integer = modifiers.one_of(tuple(TO_INTEGER))
    ftz, sat, relu = modifiers.flag("ftz"), modifiers.flag("sat"), modifiers.flag("relu")
    finite = modifiers.flag("satfinite")
    modifiers.done()
    if mode == "rs":
        return _stochastic(words, target, relu, finite)
    if target in SMALL:
        return _to_packed(target, source, mode, relu, finite)
    if source in SMALL:
        return _unpacked(target, source, relu)
    if target in ("f16x2", "bf16x2"):
        return _pair(target, source, mode, relu, finite)
    if target == "tf32":
        return Operation(("tf32",), ("f32",), _to_tf32(mode, relu, finite))
    is_float = [kind[0] == "f" or kind == "bf16" for kind in (target, source)]
    if is_float == [False, False]:
        return Operation((target,), (source,), _between_integers(target, source, sat), bitwise=not sat)
    if is_float == [False, True]:
        return Operation((target,), (source,), _to_integer(target, source, integer or "rzi", ftz))
    if is_float == [True, False]:
        return Operation((target,), (source,), _from_integer(target, mode or "rn", sat))
    return Operation((target,), (source,), _between_floats(target, source, mode, integer, ftz, sat, relu, finite))


def _between_integers(target: str, source: str, sat: bool) -> Callable[..., Any]:
    dtype = DTYPES[target]
    if not sat:
        return lambda a: a.astype(dtype)
    limits = np.iinfo(dtype)

    def function(a: Array) -> Array:
        own = np.iinfo(a.dtype)
        low, high = max(limits.min, own.min), min(limits.max, own.max)
        return np.clip(a, a.dtype.type(low), a.dtype.type(high)).astype(dtype)

    return function


def _to_integer(target: str, source: str, integer: str, ftz: bool) -> Callable[..., Any]:
    """Clamped to the range. A NaN is 0; where source or target has 64 bits it is the upper bit alone."""
    dtype = DTYPES[target]
    limits = np.iinfo(dtype)
    missing = dtype.type(0)
    if source == "f64" or dtype.itemsize == 8:
        missing = np.array(1 << 8 * dtype.itemsize - 1, f"u{dtype.itemsize}").view(dtype)[()]

    def function(a: Array) -> Array:
        a = values_of(a, source)
        if ftz:
            a = flushed(a)
        with np.errstate(all="ignore"):
            whole = TO_INTEGER[integer](a.astype(np.float64))
            low, high = whole < float(limits.min), whole >= float(limits.max)
            plain = np.where(low | high | np.isnan(whole), 0.0, whole).astype(dtype)
        found = np.where(high, dtype.type(limits.max), np.where(low, dtype.type(limits.min), plain))
        return np.where(np.isnan(whole), missing, found)

    return function


def _from_integer(target: str, mode: str, sat: bool) -> Callable[..., Any]:
    def function(a: Array) -> Array:
        if target == "f64" and mode == "rn":
            found = a.astype(np.float64)
        else:
            wide = a.astype(np.float64)
            if a.dtype.itemsize == 8:  # exact as the sum of two halves, rounded to odd
                low = (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64)
                high = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32
                wide = exact_sum(high, low)
                if target == "f64":
                    wide = fused_multiply_add(high, np.ones_like(high), low, mode)
            if target == "bf16":
                return bfloat(wide, mode)
            found = wide if target == "f64" else narrowed(wide, DTYPES[target], mode)
        return finished(found, False, sat)

    return function


def _between_floats(  # noqa: PLR0913
    target: str, source: str, mode: str, integer: str, ftz: bool, sat: bool, relu: bool, finite: bool
) -> Callable[..., Any]:
    def function(a: Array) -> Array:
        with np.errstate(all="ignore"):
            value = values_of(a, source)
            if ftz and source in ("f32",):
                value = flushed(value)
            if integer:
                value = TO_INTEGER[integer](value)
            wide = value.astype(np.float64)
            if relu:
                wide = np.where(wide > 0, wide, np.where(np.isnan(wide), wide, 0.0))
            if finite:
                most = largest("bf16" if target == "bf16" else target)
                wide = np.where(np.isnan(wide), wide, np.clip(wide, -most, most))
            if target == "bf16":
                return bfloat(np.clip(wide, 0, 1) if sat else wide, mode or "rn")
            if target == "f64":
                return finished(wide, ftz, sat)
            found = narrowed(wide, DTYPES[target], mode or "rn")
            return finished(found, ftz and target == "f32", sat)

    return function


def _pair(target: str, source: str, mode: str, relu: bool, finite: bool) -> Operation:
    """cvt.f16x2.f32 d, a, b: a in the high half."""
    single = target[:-2]
    one = _between_floats(single, source, mode, "", False, False, relu, finite)
    return Operation((target,), (source, source), lambda a, b: packed(one(b), one(a)))


def _stochastic(words: tuple[str, ...], target: str, relu: bool, finite: bool) -> Operation:
    """cvt.rs.bf16x2.f32 d, a, b, rbits: the upper 16 bits of rbits are added below those that a keeps, the lower for b.

    To f16 and to smaller floats the ISA leaves open where they are added to a subnormal: these are refused.
    """
    if target != "bf16x2":
        raise Error(f"cvt.{'.'.join(words)}: stochastic rounding is covered to bf16x2 alone")

    def one(a: Array, bits: Array) -> Array:
        raw = np.where((a < 0) & relu, np.float32(0), a).view(np.uint32)
        raw = np.where(raw == np.uint32(0x80000000), np.uint32(0), raw) if relu else raw
        found = np.where(np.isinf(a), raw, raw + bits) >> np.uint32(16)
        if finite:
            found = np.where(
                (found & np.uint32(0x7FFF)) >= np.uint32(0x7F80), found & np.uint32(0x8000) | np.uint32(0x7F7F), found
            )
        return np.where(np.isnan(a), np.uint32(0x7FFF), found).astype(np.uint16)

    def function(a: Array, b: Array, bits: Array) -> Array:
        return packed(one(b, bits & np.uint32(0xFFFF)), one(a, bits >> np.uint32(16)))

    return Operation((target,), ("f32", "f32", "b32"), function)


def _to_tf32(mode: str, relu: bool, finite: bool) -> Callable[..., Any]:
    """rna: to nearest, ties away from zero; rn to even; rz toward zero."""

    def function(a: Array) -> Array:
        value = np.where(a > 0, a, np.where(np.isnan(a), a, np.float32(0))) if relu else a
        raw = value.astype(np.float32).view(np.uint32)
        if mode in ("rna", ""):
            rounded = raw + np.uint32(0x1000)
        elif mode == "rn":
            rounded = raw + np.uint32(0xFFF) + (raw >> np.uint32(13) & np.uint32(1))
        else:
            rounded = raw
        found = rounded & np.uint32(0xFFFFE000)
        if finite:
            over = (found & np.uint32(0x7FFFFFFF)) >= np.uint32(0x7F800000)
            found = np.where(over, raw & np.uint32(0x80000000) | np.uint32(0x7F7FE000), found)
        return np.where(np.isnan(value), np.uint32(0x7FFFFFFF), found)

    return function


def _to_packed(target: str, source: str, mode: str, relu: bool, finite: bool) -> Operation:
    """cvt.rn.satfinite.e4m3x2.f32 d, a, b: a in the upper element."""
    name, bits = target[:-2], SMALL[target]
    kind = FORMATS["e8m0" if name == "ue8m0" else name]
    most = largest(kind.name)

    def codes(a: Array) -> Array:
        with np.errstate(invalid="ignore"):  # signalling NaNs
            wide = values_of(a, source).astype(np.float64)
        if name == "ue8m0":
            return _scale_codes(wide, mode, finite)
        if relu:
            wide = np.where(wide > 0, wide, np.where(np.isnan(wide), wide, 0.0))
        safe = np.where(np.isnan(wide), 0.0, np.clip(wide, -most, most))
        found = encode(safe, kind, "nvidia").astype(np.uint16)
        missing = {"e4m3": 0x7F, "e5m2": 0x7F}.get(name, encode(np.array(most), kind, "nvidia"))
        return np.where(np.isnan(wide), np.uint16(missing), found)

    result = "b8" if bits == 4 else "b16"

    def pack(a: Array, b: Array) -> Array:
        both = codes(a) << np.uint16(bits) | codes(b)
        return both.astype(DTYPES[result])

    if source in ("f16x2", "bf16x2"):
        single = source[:-2]

        def halves(a: Array) -> Array:
            low, high = halves_of(a, single)
            both = _single_codes(codes, high, single) << np.uint16(bits) | _single_codes(codes, low, single)
            return both.astype(DTYPES[result])

        return Operation((result,), (source,), halves)
    return Operation((result,), (source, source), pack)


def _single_codes(codes: Callable[[Array], Array], half: Array, single: str) -> Array:
    return codes(values_of(half, single) if single == "bf16" else half)


def _scale_codes(wide: Array, mode: str, finite: bool) -> Array:
    """UE8M0 of the absolute value: the power of two toward zero or plus infinity, at least 2**-127; a NaN is 0xFF, as
    is an infinity without .satfinite (cuda_fp8.hpp, __nv_cvt_bfloat16raw_to_e8m0)."""
    size = np.abs(wide)
    mantissa, exponent = np.frexp(np.where(np.isfinite(size) & (size > 0), size, 1.0))
    power = exponent - 1 + ((mantissa > 0.5) & (mode == "rp"))
    code = np.where(size == 0, 0, np.clip(power + 127, 0, 254 if finite else 255))
    code = np.where(np.isinf(size), 254 if finite else 255, code)
    return np.where(np.isnan(size), 255, code).astype(np.uint16)


def _unpacked(target: str, source: str, relu: bool) -> Operation:
    """cvt.rn.f16x2.e4m3x2: both elements, exactly."""
    name = source[:-2]
    kind = FORMATS["e8m0" if name == "ue8m0" else name]
    bits = SMALL[source]
    taken = "b8" if bits == 4 else "b16"
    mask = (1 << kind.bits) - 1

    def function(a: Array) -> Array:
        raw = a.astype(np.uint16)
        halves = []
        for at in (0, 1):
            value = decode(raw >> np.uint16(bits * at) & np.uint16(mask), kind).astype(np.float64)
            if relu:
                value = np.where(value > 0, value, np.where(np.isnan(value), value, 0.0))
            if target == "bf16x2":
                halves.append(bfloat(value))
            else:
                halves.append(finished(value.astype(np.float16), False, False))
        return packed(*halves)

    return Operation((target,), (taken,), function)


def _convert_pack(modifiers: Modifiers) -> Operation:
    """cvt.pack.sat.type.type{.b32}: two integers into halves or bytes above those of c."""
    three = modifiers.flag("b32")
    target, source = modifiers.types(2)
    modifiers.flag("sat")
    modifiers.done()
    bits = count_of(target[1:])
    low, high = (0, (1 << bits) - 1) if target[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    mask = np.uint32((1 << bits) - 1)

    def kept(a: Array) -> Array:
        return np.clip(a.astype(np.int64), low, high).astype(np.uint32) & mask

    def function(a: Array, b: Array, *rest: Array) -> Array:
        both = kept(a) << np.uint32(bits) | kept(b)
        return (rest[0] << np.uint32(2 * bits) | both) if rest else both

    return Operation(("b32",), (source, source, *(("b32",) if three else ())), function)
