"""Arithmetic in the modes that do not round to nearest even: the exact result, rounded up, down or toward zero."""

from __future__ import annotations

import numpy as np

from ....arithmetic.exact import fused_multiply_add
from ....base.errors import Error
from .floats import exact_sum, exact_sum_of_product

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = ["directed"]

UP, DOWN, TO_ZERO = 1, 2, 3
_OF_EXACT = {UP: "rp", DOWN: "rm", TO_ZERO: "rz"}
"""The names of `fused_multiply_add`."""

# Instructions whose results are exact, or do not depend on the mode.
_EXACT = tuple(
    f"v_{name}"
    for name in (
        "min", "max", "med3", "floor", "ceil", "trunc", "rndne", "fract", "frexp", "cvt_f64", "cvt_f32_f16",
        "cvt_f32_bf16", "cvt_f32_ubyte", "cvt_off", "exp", "log", "rcp", "rsq", "sqrt", "sin", "cos", "div_fixup",
        "cvt_f32_fp8", "cvt_f32_bf8",
    )
)  # fmt: skip


def _narrowed(exact: Array, dtype: Any, mode: int) -> Array:
    """A float64, rounded to odd or exact, as float32 or float16."""
    near = exact.astype(dtype)
    back = near.astype(np.float64)
    away = np.where(exact > 0, DOWN, UP)  # toward zero
    wanted = np.where(mode == TO_ZERO, away, mode)
    infinity = dtype(np.inf)
    down = (wanted == DOWN) & (back > exact) & np.isfinite(exact)
    up = (wanted == UP) & (back < exact) & np.isfinite(exact)
    return np.where(down, np.nextafter(near, -infinity), np.where(up, np.nextafter(near, infinity), near))


def _wide(*values: Array) -> tuple[Array, ...]:
    return tuple([value.astype(np.float64) for value in values])


def _cancelled(total: Array, terms: tuple[Array, ...], mode: int) -> Array:
    """A sum that is exactly zero is minus zero when rounded down, unless all its terms are plus zero."""
    if mode != DOWN:
        return total
    plus = np.bool_(True)
    for term in terms:
        plus = plus & ~np.signbit(term)
    return np.where((total == 0) & ~plus, -np.abs(total), total)


def directed(name: str, function: Callable[..., Any], kind: str, mode: int) -> Callable[..., Any]:
    """The operation of an instruction in a rounding mode (1 up, 2 down, 3 toward zero).

    Raises:
        Error: it is not known how the instruction rounds then.
    """
    base = name.replace("v_pk_", "v_").replace("s_", "v_", 1) if name.startswith(("v_pk_", "s_")) else name
    if base.startswith(_EXACT):
        return function
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}.get(kind)
    how = _OF_EXACT[mode]
    if dtype is np.float64:
        found = _F64.get(base)
        if found is not None:
            return lambda *values: found(how, *values)
    if dtype is not None and dtype is not np.float64:
        exact = _NARROW.get(base.rpartition("_")[0]) or _NARROW.get(base)
        if exact is not None:
            return lambda *values: _narrowed(exact(mode, *values), dtype, mode)
    raise Error(f"{name} in another rounding mode than to nearest even is not covered")


_F64: dict[str, Callable[..., Any]] = {
    "v_add_f64": lambda how, a, b: fused_multiply_add(a, np.ones_like(a), b, how),
    "v_mul_f64": lambda how, a, b: fused_multiply_add(a, b, np.copysign(0.0, a) * np.copysign(1.0, b), how),
    "v_fma_f64": lambda how, a, b, c: fused_multiply_add(a, b, c, how),
    "v_fmac_f64": lambda how, a, b, c: fused_multiply_add(a, b, c, how),
}


def _sum(mode: int, a: Array, b: Array) -> Array:
    a, b = _wide(a, b)
    return _cancelled(exact_sum(a, b), (a, b), mode)


def _fused(mode: int, a: Array, b: Array, c: Array) -> Array:
    total = exact_sum_of_product(a, b, c)
    product, last = _wide(a * b, c)
    return _cancelled(total, (product, last), mode)


# By name without the type: what is computed in float64.
_NARROW: dict[str, Callable[..., Any]] = {
    "v_add": _sum,
    "v_sub": lambda mode, a, b: _sum(mode, a, -b),
    "v_subrev": lambda mode, a, b: _sum(mode, b, -a),
    "v_mul": lambda mode, a, b: np.multiply(*_wide(a, b)),
    **dict.fromkeys(("v_fma", "v_fmac", "v_fmaak", "v_fmamk"), _fused),
    "v_cvt_f16_f32": lambda mode, a: _wide(a)[0],
    "v_cvt_f32_f64": lambda mode, a: a,
    "v_cvt_f32_i32": lambda mode, a: _wide(a)[0],
    "v_cvt_f32_u32": lambda mode, a: _wide(a)[0],
    "v_cvt_f16_i16": lambda mode, a: _wide(a)[0],
    "v_cvt_f16_u16": lambda mode, a: _wide(a)[0],
}
