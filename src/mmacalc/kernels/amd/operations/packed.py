"""Packed operations (VOP3P): rows for the elements of each half, and the dot products."""

from __future__ import annotations

import numpy as np

from .floats import FLOATS, _larger, _maximum, _minimum, _smaller, fma, fma_bfloat
from .integers import INTEGERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name
    Rows = dict[str, tuple[str, Callable[..., Any]]]

__all__ = ["DOTS", "MIXED", "PACKED"]


def _row(names: str, table: Rows) -> tuple[str, Callable[..., Any]]:
    return next(row for key, row in table.items() if names in key.split())


PACKED: Rows = {
    "v_pk_mov_b32": ("b32 b32 -> b32", lambda a, b: a),
    "v_pk_mad_u16": _row("v_mad_u16", INTEGERS),
    "v_pk_mad_i16": _row("v_mad_i16", INTEGERS),
    "v_pk_mul_lo_u16": _row("v_mul_lo_u16", INTEGERS),
    **{f"v_pk_{name}": _row(f"v_{name}", INTEGERS) for name in (
        "add_u16", "add_i16", "sub_u16", "sub_i16", "lshlrev_b16", "lshrrev_b16", "ashrrev_i16", "max_u16", "max_i16",
        "min_u16", "min_i16",
    )},
    **{f"v_pk_{name}": _row(f"v_{name}", FLOATS) for name in (
        "add_f16", "mul_f16", "fma_f16", "min_f16", "max_f16", "min_num_f16", "max_num_f16", "minimum_f16",
        "maximum_f16", "add_f32", "mul_f32", "fma_f32",
    )},
    "v_pk_fmac_f16": _row("v_fma_f16", FLOATS),
    "v_pk_minimum3_f16": _row("v_minimum3_f16", FLOATS),
    "v_pk_maximum3_f16": _row("v_maximum3_f16", FLOATS),
    "v_pk_add_bf16": ("bf16 bf16 -> bf16", np.add),
    "v_pk_mul_bf16": ("bf16 bf16 -> bf16", np.multiply),
    "v_pk_min_num_bf16": ("bf16 bf16 -> bf16", _smaller),
    "v_pk_max_num_bf16": ("bf16 bf16 -> bf16", _larger),
    "v_pk_minimum3_bf16": ("bf16 bf16 bf16 -> bf16", lambda a, b, c: _minimum(_minimum(a, b), c)),
    "v_pk_maximum3_bf16": ("bf16 bf16 bf16 -> bf16", lambda a, b, c: _maximum(_maximum(a, b), c)),
    "v_pk_fma_bf16": ("bf16 bf16 bf16 -> bf16", fma_bfloat),
}  # fmt: skip


# v_fma_mix_f32 and its like: the result's type, and that of the halves.
MIXED = {
    **{f"v_{name}_mix_f32": ("f32", "f16") for name in ("fma", "mad")},
    **{f"v_{name}_mix{half}_f16": ("f16", "f16") for name in ("fma", "mad") for half in ("lo", "hi")},
    "v_fma_mix_f32_f16": ("f32", "f16"),
    "v_fma_mix_f32_bf16": ("f32", "bf16"),
    "v_fma_mixlo_bf16": ("bf16", "bf16"),
    "v_fma_mixhi_bf16": ("bf16", "bf16"),
}


def _parts(value: Array, bits: int, signed: bool) -> list[Array]:
    """The fields of a register, widened to 64 bits."""
    found = []
    for place in range(0, 32, bits):
        field = value.view(np.int32) << np.int32(32 - bits - place)
        field = field >> np.int32(32 - bits) if signed else (field.view(np.uint32) >> np.uint32(32 - bits))
        found.append(field.astype(np.int64))
    return found


def _integer_dot(bits: int, clamp_to: str) -> Callable[..., Any]:
    limits = np.iinfo(clamp_to)

    def dot(a: Array, b: Array, c: Array, signs: tuple[bool, bool], clamp: bool) -> Array:
        total = c.view(clamp_to).astype(np.int64)
        for x, y in zip(_parts(a, bits, signs[0]), _parts(b, bits, signs[1])):
            total = total + x * y
        if clamp:
            total = np.clip(total, limits.min, limits.max)
        return total.astype(np.uint64).astype(np.uint32)

    return dot


def _float_dot(a: list[Array], b: list[Array], c: Array) -> Array:
    """Each product (of a low and a high pair) added by a fused multiply-add, the high one first.

    Sources differ on the order and the roundings in between, so the report marks these instructions.
    """
    total = c
    for x, y in reversed(list(zip(a, b))):
        total = fma(x, y, total)
    return total


# name: (the elements; function; whether a and b are signed, None: NEG_LO says so). Functions of integers take words
# a, b, c, the sources' signs and CLAMP; of floats the halves of a and b as float32, and c.
DOTS: dict[str, tuple[str, Callable[..., Any], bool | None]] = {
    "v_dot2_i32_i16": ("int", _integer_dot(16, "i4"), True),
    "v_dot2_u32_u16": ("int", _integer_dot(16, "u4"), False),
    "v_dot4_i32_i8": ("int", _integer_dot(8, "i4"), True),
    "v_dot4_u32_u8": ("int", _integer_dot(8, "u4"), False),
    "v_dot8_i32_i4": ("int", _integer_dot(4, "i4"), True),
    "v_dot8_u32_u4": ("int", _integer_dot(4, "u4"), False),
    "v_dot4_i32_iu8": ("int", _integer_dot(8, "i4"), None),
    "v_dot8_i32_iu4": ("int", _integer_dot(4, "i4"), None),
    "v_dot2c_i32_i16": ("int", _integer_dot(16, "i4"), True),
    "v_dot4c_i32_i8": ("int", _integer_dot(8, "i4"), True),
    "v_dot8c_i32_i4": ("int", _integer_dot(4, "i4"), True),
    **{f"v_dot2{how}_f32_f16": ("f16", _float_dot, False) for how in ("", "c", "acc")},
    **{f"v_dot2{how}_f32_bf16": ("bf16", _float_dot, False) for how in ("", "c", "acc")},
}
