"""Integer and bit operations of vector instructions: a row for each, over arrays of lanes.

A row is "names": (signature, function). The signature has the type of each source in order, then those of the results;
see `mmacalc.kernels.amd.operands` for the types. Names of several generations share a row.
"""

from __future__ import annotations

import re

import numpy as np

from . import bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name
    Rows = dict[str, tuple[str, Callable[..., Any]]]

__all__ = ["DIFFERENCES", "INTEGERS", "saturating"]

INTEGERS: Rows = {
    "v_bitop3_b32": ("u32 u32 u32 -> u32", bits.any_of_three),
    "v_bitop2_b32": ("u32 u32 -> u32", lambda table: lambda a, b: bits.any_of_three(table)(a, b, np.zeros_like(a))),
    "v_bitop3_b16": ("u16 u16 u16 -> u16", bits.any_of_three),
    "v_mov_b32 v_accvgpr_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32": ("b32 -> b32", lambda a: a),
    "v_mov_b64": ("b64 -> b64", lambda a: a),
    "v_mov_b16": ("u16 -> u16", lambda a: a),
    "v_cndmask_b32": ("b32 b32 mask -> b32", lambda a, b, mask: np.where(mask, b, a)),
    "v_cndmask_b16": ("u16 u16 mask -> u16", lambda a, b, mask: np.where(mask, b, a)),
    "v_not_b32": ("u32 -> u32", lambda a: ~a),
    "v_not_b16": ("u16 -> u16", lambda a: ~a),
    "v_and_b32": ("u32 u32 -> u32", np.bitwise_and),
    "v_or_b32": ("u32 u32 -> u32", np.bitwise_or),
    "v_xor_b32": ("u32 u32 -> u32", np.bitwise_xor),
    "v_xnor_b32": ("u32 u32 -> u32", lambda a, b: ~(a ^ b)),
    "v_and_b16": ("u16 u16 -> u16", np.bitwise_and),
    "v_or_b16": ("u16 u16 -> u16", np.bitwise_or),
    "v_xor_b16": ("u16 u16 -> u16", np.bitwise_xor),
    "v_and_or_b32": ("u32 u32 u32 -> u32", lambda a, b, c: a & b | c),
    "v_or3_b32": ("u32 u32 u32 -> u32", lambda a, b, c: a | b | c),
    "v_xor3_b32": ("u32 u32 u32 -> u32", lambda a, b, c: a ^ b ^ c),
    "v_bfi_b32": ("u32 u32 u32 -> u32", lambda mask, a, b: mask & a | ~mask & b),
    "v_bfe_u32": ("u32 u32 u32 -> u32", bits.bit_field),
    "v_bfe_i32": ("i32 u32 u32 -> i32", bits.signed_field),
    "v_bfm_b32": ("u32 u32 -> u32", bits.mask_bits),
    "v_bfrev_b32": ("u32 -> u32", bits.reversed_bits),
    "v_bcnt_u32_b32": ("u32 u32 -> u32", lambda a, b: bits.ones(a) + b),
    "v_ffbh_u32 v_clz_i32_u32": ("u32 -> u32", bits.find_high),
    "v_ffbl_b32 v_ctz_i32_b32": ("u32 -> u32", bits.find_low),
    "v_ffbh_i32 v_cls_i32": ("i32 -> u32", bits.find_sign),
    "v_alignbit_b32": ("u32 u32 u16 -> u32", bits.align_bits),
    "v_alignbyte_b32": ("u32 u32 u16 -> u32", bits.align_bytes),
    "v_perm_b32": ("u32 u32 u32 -> u32", bits.permuted),
    "v_lshlrev_b32": ("u32 u32 -> u32", lambda a, b: b << bits.shift_amount(a, 32)),
    "v_lshrrev_b32": ("u32 u32 -> u32", lambda a, b: b >> bits.shift_amount(a, 32)),
    "v_ashrrev_i32": ("u32 i32 -> i32", lambda a, b: b >> bits.shift_amount(a, 32).astype(np.int32)),
    "v_lshlrev_b16": ("u16 u16 -> u16", lambda a, b: b << (a & np.uint16(15))),
    "v_lshrrev_b16": ("u16 u16 -> u16", lambda a, b: b >> (a & np.uint16(15))),
    "v_ashrrev_i16": ("u16 i16 -> i16", lambda a, b: b >> (a & np.uint16(15)).astype(np.int16)),
    "v_lshlrev_b64": ("u32 u64 -> u64", lambda a, b: bits.left64(b, a)),
    "v_lshrrev_b64": ("u32 u64 -> u64", lambda a, b: bits.right64(b, a)),
    "v_ashrrev_i64": ("u32 i64 -> i64", lambda a, b: bits.right_signed64(b, a)),
    "v_lshl_add_u32": ("u32 u32 u32 -> u32", lambda a, b, c: (a << bits.shift_amount(b, 32)) + c),
    "v_add_lshl_u32": ("u32 u32 u32 -> u32", lambda a, b, c: (a + b) << bits.shift_amount(c, 32)),
    "v_lshl_or_b32": ("u32 u32 u32 -> u32", lambda a, b, c: a << bits.shift_amount(b, 32) | c),
    "v_xad_u32": ("u32 u32 u32 -> u32", lambda a, b, c: (a ^ b) + c),
    "v_lshl_add_u64": ("u64 u32 u64 -> u64", lambda a, b, c: (a << bits.u64(b & np.uint32(7))) + c),
    "v_add_u32 v_add_nc_u32": ("u32 u32 -> u32", np.add),
    "v_sub_u32 v_sub_nc_u32": ("u32 u32 -> u32", np.subtract),
    "v_subrev_u32 v_subrev_nc_u32": ("u32 u32 -> u32", lambda a, b: b - a),
    "v_add_i32 v_add_nc_i32": ("i32 i32 -> i32", np.add),
    "v_sub_i32 v_sub_nc_i32": ("i32 i32 -> i32", np.subtract),
    "v_add3_u32": ("u32 u32 u32 -> u32", lambda a, b, c: a + b + c),
    "v_add_nc_u64 v_add_u64": ("u64 u64 -> u64", np.add),
    "v_sub_nc_u64 v_sub_u64": ("u64 u64 -> u64", np.subtract),
    "v_mul_u64": ("u64 u64 -> u64", np.multiply),
    "v_add_co_u32": ("u32 u32 -> u32 mask", bits.carry_add),
    "v_sub_co_u32": ("u32 u32 -> u32 mask", bits.borrow),
    "v_subrev_co_u32": ("u32 u32 -> u32 mask", bits.reverse_operands(bits.borrow)),
    "v_addc_co_u32 v_add_co_ci_u32": ("u32 u32 mask -> u32 mask", bits.carry_add_in),
    "v_subb_co_u32 v_sub_co_ci_u32": ("u32 u32 mask -> u32 mask", bits.borrow_in),
    "v_subbrev_co_u32 v_subrev_co_ci_u32": ("u32 u32 mask -> u32 mask", bits.reverse_operands(bits.borrow_in)),
    "v_mul_lo_u32": ("u32 u32 -> u32", np.multiply),
    "v_mul_hi_u32": ("u32 u32 -> u32", bits.high_product),
    "v_mul_hi_i32": ("i32 i32 -> i32", bits.high_product_signed),
    "v_mul_u32_u24": ("u32 u32 -> u32", lambda a, b: bits.low24(a) * bits.low24(b)),
    "v_mul_i32_i24": ("i32 i32 -> i32", lambda a, b: bits.signed24(a) * bits.signed24(b)),
    "v_mul_hi_u32_u24": ("u32 u32 -> u32", lambda a, b: bits.high_product(bits.low24(a), bits.low24(b))),
    "v_mul_hi_i32_i24": ("i32 i32 -> i32", lambda a, b: bits.high_product_signed(bits.signed24(a), bits.signed24(b))),
    "v_mad_u32_u24": ("u32 u32 u32 -> u32", lambda a, b, c: bits.low24(a) * bits.low24(b) + c),
    "v_mad_i32_i24": ("i32 i32 i32 -> i32", lambda a, b, c: bits.signed24(a) * bits.signed24(b) + c),
    "v_mad_u32": ("u32 u32 u32 -> u32", lambda a, b, c: a * b + c),
    "v_mad_u64_u32 v_mad_co_u64_u32": ("u32 u32 u64 -> u64 mask", bits.mad64),
    "v_mad_i64_i32 v_mad_co_i64_i32": ("i32 i32 i64 -> i64 mask", bits.mad64_signed),
    "v_mad_nc_u64_u32": ("u32 u32 u64 -> u64", lambda a, b, c: bits.mad64(a, b, c)[0]),
    "v_mad_nc_i64_i32": ("i32 i32 i64 -> i64", lambda a, b, c: bits.mad64_signed(a, b, c)[0]),
    "v_mad_u32_u16": ("u16 u16 u32 -> u32", lambda a, b, c: a.astype(np.uint32) * b.astype(np.uint32) + c),
    "v_mad_i32_i16": ("i16 i16 i32 -> i32", lambda a, b, c: a.astype(np.int32) * b.astype(np.int32) + c),
    "v_add_u16 v_add_nc_u16": ("u16 u16 -> u16", np.add),
    "v_sub_u16 v_sub_nc_u16": ("u16 u16 -> u16", np.subtract),
    "v_subrev_u16 v_subrev_nc_u16": ("u16 u16 -> u16", lambda a, b: b - a),
    "v_add_i16 v_add_nc_i16": ("i16 i16 -> i16", np.add),
    "v_sub_i16 v_sub_nc_i16": ("i16 i16 -> i16", np.subtract),
    "v_mul_lo_u16": ("u16 u16 -> u16", np.multiply),
    "v_mad_u16 v_mad_legacy_u16": ("u16 u16 u16 -> u16", lambda a, b, c: a * b + c),
    "v_mad_i16 v_mad_legacy_i16": ("i16 i16 i16 -> i16", lambda a, b, c: a * b + c),
    "v_ashr_pk_i8_i32": ("i32 i32 u32 -> u16", bits.shifted_bytes(-128, 127)),
    "v_ashr_pk_u8_i32": ("i32 i32 u32 -> u16", bits.shifted_bytes(0, 255)),
    "v_sat_pk_u8_i16": ("i32 -> u16", bits.sat_pack),
    "v_swap_b32": ("u32 u32 -> u32 u32", lambda a, b: (b, a)),
    "v_prng_b32": ("u32 -> u32", lambda a: (a << np.uint32(1)) ^ (a >> np.uint32(31)) * np.uint32(197)),
}

for _kind in ("u16", "i16", "u32", "i32", "u64", "i64"):
    for _name, _function in (("min", np.minimum), ("max", np.maximum)):
        INTEGERS[f"v_{_name}_{_kind}"] = (f"{_kind} {_kind} -> {_kind}", _function)
        if _kind[1:] != "64":
            INTEGERS[f"v_{_name}3_{_kind}"] = (
                f"{_kind} {_kind} {_kind} -> {_kind}", lambda a, b, c, f=_function: f(f(a, b), c)
            )  # fmt: skip
    if _kind[1:] == "32":
        for _first, _f in (("max", np.maximum), ("min", np.minimum)):
            for _second, _s in (("max", np.maximum), ("min", np.minimum)):
                if _first != _second:
                    INTEGERS[f"v_{_first}{_second}_{_kind}"] = (
                        f"{_kind} {_kind} {_kind} -> {_kind}", lambda a, b, c, f=_f, s=_s: s(f(a, b), c)
                    )  # fmt: skip
    if _kind[1:] != "64":
        INTEGERS[f"v_med3_{_kind}"] = (f"{_kind} {_kind} {_kind} -> {_kind}", bits.median)


# --- sums of absolute differences (CDNA3 and RDNA3 ISA guides, V_SAD_*, V_MSAD_U8, V_QSAD_PK_U16_U8, V_LERP_U8) ---


def _sum(bits: int, masked: bool = False) -> Callable[[Array, Array, Array], Array]:
    """The differences of the fields of two words, added to c. masked: a field of b that is zero does not count."""

    def operation(a: Array, b: Array, c: Array) -> Array:
        total = c
        for place in range(0, 32, bits):
            x, y = (value >> np.uint32(place) & np.uint32((1 << bits) - 1) for value in (a, b))
            difference = np.where(x > y, x - y, y - x)
            total = total + (np.where(y == 0, np.uint32(0), difference) if masked else difference)
        return total

    return operation


def _high_sum(a: Array, b: Array, c: Array) -> Array:
    """V_SAD_HI_U8: the sum is added to the high half of c."""
    return (_sum(8)(a, b, np.uint32(0)) << np.uint32(16)) + c


def _four_sums(masked: bool) -> Callable[[Array, Array, Array], Array]:
    """Sums at four places of eight bytes, each a byte further, added to the four halves of c."""
    one = _sum(8, masked)

    def operation(a: Array, b: Array, c: Array) -> Array:
        total = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint64)
        for number in range(4):
            window = (a >> np.uint64(8 * number)).astype(np.uint32)
            before = (c >> np.uint64(16 * number)).astype(np.uint32)
            found = one(window, b, before) & np.uint32(0xFFFF)
            total = total | found.astype(np.uint64) << np.uint64(16 * number)
        return total

    return operation


def _mean(a: Array, b: Array, c: Array) -> Array:
    """V_LERP_U8: the mean of each two bytes, rounded up where the lowest bit of c's byte is one."""
    even = np.uint32(0x01010101)
    carry = (a & b | (a | b) & c) & even
    return (a >> np.uint32(1) & ~(even << np.uint32(7))) + (b >> np.uint32(1) & ~(even << np.uint32(7))) + carry


DIFFERENCES: Rows = {
    "v_sad_u8": ("u32 u32 u32 -> u32", _sum(8)),
    "v_sad_hi_u8": ("u32 u32 u32 -> u32", _high_sum),
    "v_sad_u16": ("u32 u32 u32 -> u32", _sum(16)),
    "v_sad_u32": ("u32 u32 u32 -> u32", _sum(32)),
    "v_msad_u8": ("u32 u32 u32 -> u32", _sum(8, masked=True)),
    "v_qsad_pk_u16_u8": ("u64 u32 u64 -> u64", _four_sums(masked=False)),
    "v_mqsad_pk_u16_u8": ("u64 u32 u64 -> u64", _four_sums(masked=True)),
    "v_lerp_u8": ("u32 u32 u32 -> u32", _mean),
}


# --- sums with CLAMP ---


_NAME = re.compile(r"v_(?:pk_)?(add|sub|subrev)(?:_nc)?_[ui](?:16|32)")
_EXACT: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "subrev": lambda a, b: b - a,
}


def saturating(name: str) -> Callable[[Array, Array], Array] | None:
    """What an instruction with CLAMP computes; None if it is none of these.

    >>> saturating("v_sub_u16")(np.array([1], np.uint16), np.array([2], np.uint16))
    array([0], dtype=uint16)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    exact = _EXACT[match[1]]

    def operation(a: Array, b: Array) -> Array:
        limits = np.iinfo(a.dtype)
        return np.clip(exact(a.astype(np.int64), b.astype(np.int64)), limits.min, limits.max).astype(a.dtype)

    return operation
