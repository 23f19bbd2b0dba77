"""Conversions between formats: a row for each, as in `integers`."""

from __future__ import annotations

import numpy as np

from .floats import exact_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Array = Any  # of the types that the signatures name
    Rows = dict[str, tuple[str, Callable[..., Any]]]

__all__ = ["CONVERSIONS", "float8_rows", "largest_float8"]


def _saturated(kind: str, rounding: Callable[[Array], Array] = np.trunc) -> Callable[[Array], Array]:
    """To an integer, out of range to the nearest that there is, NaN to 0."""
    limits = np.iinfo(kind)

    def convert(value: Array) -> Array:
        wide = rounding(value.astype(np.float64))
        inside = np.clip(np.where(np.isnan(wide), 0.0, wide), float(limits.min), float(limits.max))
        return inside.astype(np.int64).astype(kind)

    return convert


def toward_zero_f16(value: Array) -> Array:
    """float32 or float64 to float16, toward zero; a finite number stays finite."""
    narrow = value.astype(np.float16)
    wide = narrow.astype(value.dtype)
    beyond = np.isfinite(value) & (np.abs(wide) > np.abs(value))
    raw = narrow.view(np.uint16)
    return np.where(beyond, raw - np.uint16(1), raw).view(np.float16)


def _pack(low: Array, high: Array) -> Array:
    """Two 16-bit patterns in one register."""
    low, high = (part.view(np.uint16).astype(np.uint32) for part in (low, high))
    return low | high << np.uint32(16)


def _bfloat(value: Array) -> Array:
    """float32 to bfloat16, to nearest even, as uint16."""
    raw = value.astype(np.float32).view(np.uint32)
    rounded = raw + np.uint32(0x7FFF) + (raw >> np.uint32(16) & np.uint32(1))
    return (np.where(np.isnan(value), raw | np.uint32(0x400000), rounded) >> np.uint32(16)).astype(np.uint16)


def _byte(place: int) -> Callable[[Array], Array]:
    return lambda value: (value >> np.uint32(8 * place) & np.uint32(0xFF)).astype(np.float32)


def _normalised(kind: type, scale: float) -> Callable[[Array], Array]:
    def convert(value: Array) -> Array:
        wide = np.rint(np.nan_to_num(value.astype(np.float64)) * scale)
        return np.clip(wide, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)

    return convert


def _insert_byte(value: Array, place: Array, old: Array) -> Array:
    wide = np.clip(np.rint(np.nan_to_num(value.astype(np.float64))), 0, 255).astype(np.uint32)
    shift = (place & np.uint32(3)) * np.uint32(8)
    return old & ~(np.uint32(0xFF) << shift) | wide << shift


def _clipped(value: Array, kind: type) -> Array:
    return np.clip(value, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)


CONVERSIONS: Rows = {
    "v_cvt_f32_i32": ("i32 -> f32", lambda a: a.astype(np.float32)),
    "v_cvt_f32_u32": ("u32 -> f32", lambda a: a.astype(np.float32)),
    "v_cvt_f64_i32": ("i32 -> f64", lambda a: a.astype(np.float64)),
    "v_cvt_f64_u32": ("u32 -> f64", lambda a: a.astype(np.float64)),
    "v_cvt_f32_f64": ("f64 -> f32", lambda a: a.astype(np.float32)),
    "v_cvt_f64_f32": ("f32 -> f64", lambda a: a.astype(np.float64)),
    "v_cvt_f16_f32": ("f32 -> f16", lambda a: a.astype(np.float16)),
    "v_cvt_f32_f16": ("f16 -> f32", lambda a: a.astype(np.float32)),
    "v_cvt_f32_bf16": ("bf16 -> f32", lambda a: a),
    "v_cvt_i32_f32": ("f32 -> i32", _saturated("i4")),
    "v_cvt_u32_f32": ("f32 -> u32", _saturated("u4")),
    "v_cvt_i32_f64": ("f64 -> i32", _saturated("i4")),
    "v_cvt_u32_f64": ("f64 -> u32", _saturated("u4")),
    "v_cvt_i16_f16": ("f16 -> i16", _saturated("i2")),
    "v_cvt_u16_f16": ("f16 -> u16", _saturated("u2")),
    "v_cvt_f16_i16": ("i16 -> f16", lambda a: a.astype(np.float32).astype(np.float16)),
    "v_cvt_f16_u16": ("u16 -> f16", lambda a: a.astype(np.float32).astype(np.float16)),
    "v_cvt_i32_i16": ("i16 -> i32", lambda a: a.astype(np.int32)),
    "v_cvt_u32_u16": ("u16 -> u32", lambda a: a.astype(np.uint32)),
    "v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32": (
        "f32 -> i32", _saturated("i4", lambda a: np.floor(exact_sum(a, np.float64(0.5))))
    ),
    "v_cvt_flr_i32_f32 v_cvt_floor_i32_f32": ("f32 -> i32", _saturated("i4", np.floor)),
    "v_cvt_off_f32_i4": ("u32 -> f32", lambda a: (((a & 15) ^ 8).astype(np.float32) - np.float32(8)) / np.float32(16)),
    "v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32": (
        "f32 f32 -> b32", lambda a, b: _pack(*np.broadcast_arrays(toward_zero_f16(a), toward_zero_f16(b)))
    ),
    "v_cvt_pk_f16_f32": ("f32 f32 -> b32", lambda a, b: _pack(a.astype(np.float16), b.astype(np.float16))),
    "v_cvt_pk_bf16_f32": ("f32 f32 -> b32", lambda a, b: _pack(_bfloat(a), _bfloat(b))),
    "v_pack_b32_f16": ("f16 f16 -> b32", _pack),
    "v_cvt_pk_u16_u32": ("u32 u32 -> b32", lambda a, b: _pack(_clipped(a, np.uint16), _clipped(b, np.uint16))),
    "v_cvt_pk_i16_i32": ("i32 i32 -> b32", lambda a, b: _pack(_clipped(a, np.int16), _clipped(b, np.int16))),
    "v_cvt_pk_i16_f32": ("f32 f32 -> b32", lambda a, b: _pack(_saturated("i2")(a), _saturated("i2")(b))),
    "v_cvt_pk_u16_f32": ("f32 f32 -> b32", lambda a, b: _pack(_saturated("u2")(a), _saturated("u2")(b))),
    "v_cvt_pknorm_i16_f32 v_cvt_pk_norm_i16_f32": (
        "f32 f32 -> b32", lambda a, b: _pack(_normalised(np.int16, 32767)(a), _normalised(np.int16, 32767)(b))
    ),
    "v_cvt_pknorm_u16_f32 v_cvt_pk_norm_u16_f32": (
        "f32 f32 -> b32", lambda a, b: _pack(_normalised(np.uint16, 65535)(a), _normalised(np.uint16, 65535)(b))
    ),
    "v_cvt_norm_i16_f16": ("f16 -> i16", _normalised(np.int16, 32767)),
    "v_cvt_norm_u16_f16": ("f16 -> u16", _normalised(np.uint16, 65535)),
    "v_cvt_pk_u8_f32": ("f32 u32 u32 -> u32", _insert_byte),
    **{f"v_cvt_f32_ubyte{place}": ("u32 -> f32", _byte(place)) for place in range(4)},
    "s_cvt_f32_i32": ("i32 -> f32", lambda a: a.astype(np.float32)),
    "s_cvt_f32_u32": ("u32 -> f32", lambda a: a.astype(np.float32)),
    "s_cvt_i32_f32": ("f32 -> i32", _saturated("i4")),
    "s_cvt_u32_f32": ("f32 -> u32", _saturated("u4")),
    "s_cvt_f16_f32": ("f32 -> f16", lambda a: a.astype(np.float16)),
    "s_cvt_f32_f16": ("f16 -> f32", lambda a: a.astype(np.float32)),
    "s_cvt_hi_f32_f16": ("u32 -> f32", lambda a: (a >> np.uint32(16)).astype(np.uint16).view(np.float16).astype("f4")),
    "s_cvt_pk_rtz_f16_f32": ("f32 f32 -> b32", lambda a, b: _pack(toward_zero_f16(a), toward_zero_f16(b))),
}  # fmt: skip


FLOAT8 = {"fp8": "e4m3", "bf8": "e5m2"}


def largest_float8(name: str, formats: Mapping[str, str]) -> float:
    """The largest number of the 8-bit format that a conversion gives; 0 of other instructions."""
    from ....arithmetic.codecs import largest

    short = name.removeprefix("v_cvt_pk_")[:3]
    return largest(formats.get(short, FLOAT8[short])) if name in ("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32") else 0.0


def float8_rows(formats: dict[str, str]) -> Rows:
    """The conversions from and to 8-bit floats of an architecture.

    Args:
        formats: what it means by fp8 and bf8 (`Architecture.format_names`).
    """
    from ....arithmetic.codecs import decode, encode
    from ....formats import named

    rows: Rows = {}
    for short in ("fp8", "bf8"):
        form = named(formats.get(short, FLOAT8[short]))

        def wide(value: Array, form: Any = form) -> Array:
            return decode((value & np.uint32(0xFF)).astype(np.uint8), form).astype(np.float32)

        def two(value: Array, wide: Callable[[Array], Array] = wide) -> Array:
            low, high = (wide(value >> np.uint32(by)).view(np.uint32).astype(np.uint64) for by in (0, 8))
            return low | high << np.uint64(32)

        def narrow(a: Array, b: Array, form: Any = form) -> Array:
            low, high = (encode(value, form).astype(np.uint16) for value in np.broadcast_arrays(a, b))
            return low | high << np.uint16(8)

        rows[f"v_cvt_f32_{short}"] = ("byte -> f32", wide)
        rows[f"v_cvt_pk_f32_{short}"] = ("u16 -> b64", lambda value, two=two: two(value.astype(np.uint32)))
        rows[f"v_cvt_pk_{short}_f32"] = ("f32 f32 -> h16", narrow)
    return rows
