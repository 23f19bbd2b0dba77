"""Integer and bit operations of scalar instructions: a row for each, as in `integers`, over arrays of waves."""

from __future__ import annotations

import numpy as np

from . import bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name
    Rows = dict[str, tuple[str, Callable[..., Any]]]

__all__ = ["SCALARS"]


def _quad_mask(a: Array) -> Array:
    """S_QUADMASK: a one for every group of four with a one, next to each other."""
    kind = a.dtype.type
    found = a * kind(0)
    for group in range(2 * a.dtype.itemsize):
        found = found | np.where(a >> kind(4 * group) & kind(15), kind(1) << kind(group), kind(0))
    return found


def _replicated(a: Array) -> Array:
    """S_BITREPLICATE: every bit twice."""
    found = bits.u64(a) * np.uint64(0)
    for place in range(32):
        found = found | (bits.u64(a) >> np.uint64(place) & np.uint64(1)) * np.uint64(3) << np.uint64(2 * place)
    return found


SCALARS: Rows = {
    "s_mov_b32": ("u32 -> u32", lambda a: a),
    "s_mov_b64": ("u64 -> u64", lambda a: a),
    "s_cmov_b32": ("u32 scc old -> u32", lambda a, scc, old: np.where(scc, a, old)),
    "s_cselect_b32": ("u32 u32 scc -> u32", lambda a, b, scc: np.where(scc, a, b)),
    "s_cselect_b64": ("u64 u64 scc -> u64", lambda a, b, scc: np.where(scc, a, b)),
    "s_add_u32 s_add_co_u32": ("u32 u32 -> u32 scc", bits.carry_add),
    "s_sub_u32 s_sub_co_u32": ("u32 u32 -> u32 scc", bits.borrow),
    "s_addc_u32 s_add_co_ci_u32": ("u32 u32 scc -> u32 scc", bits.carry_add_in),
    "s_subb_u32 s_sub_co_ci_u32": ("u32 u32 scc -> u32 scc", bits.borrow_in),
    "s_add_i32 s_add_co_i32": ("i32 i32 -> i32 scc", bits.signed_add),
    "s_sub_i32 s_sub_co_i32": ("i32 i32 -> i32 scc", bits.signed_subtract),
    "s_add_u64 s_add_nc_u64": ("u64 u64 -> u64", np.add),
    "s_sub_u64 s_sub_nc_u64": ("u64 u64 -> u64", np.subtract),
    "s_mul_u64": ("u64 u64 -> u64", np.multiply),
    "s_mul_i32": ("u32 u32 -> u32", np.multiply),
    "s_mul_hi_u32": ("u32 u32 -> u32", bits.high_product),
    "s_mul_hi_i32": ("i32 i32 -> i32", bits.high_product_signed),
    "s_absdiff_i32": ("i32 i32 -> i32 scc", bits.with_nonzero(lambda a, b: bits.absolute(a - b))),
    "s_abs_i32": ("i32 -> i32 scc", bits.with_nonzero(bits.absolute)),
    "s_bfe_u32": ("u32 u32 -> u32 scc", bits.with_nonzero(bits.scalar_field)),
    "s_bfe_i32": ("i32 u32 -> i32 scc", bits.with_nonzero(bits.scalar_field)),
    "s_bfe_u64": ("u64 u32 -> u64 scc", bits.with_nonzero(bits.scalar_field)),
    "s_bfe_i64": ("i64 u32 -> i64 scc", bits.with_nonzero(bits.scalar_field)),
    "s_bfm_b32": ("u32 u32 -> u32", bits.mask_bits),
    "s_bfm_b64": ("u32 u32 -> u64", bits.mask_bits64),
    "s_lshl_b32": ("u32 u32 -> u32 scc", bits.with_nonzero(lambda a, b: a << bits.shift_amount(b, 32))),
    "s_lshr_b32": ("u32 u32 -> u32 scc", bits.with_nonzero(lambda a, b: a >> bits.shift_amount(b, 32))),
    "s_ashr_i32": (
        "i32 u32 -> i32 scc",
        bits.with_nonzero(lambda a, b: a >> bits.shift_amount(b, 32).astype(np.int32)),
    ),
    "s_lshl_b64": ("u64 u32 -> u64 scc", bits.with_nonzero(bits.left64)),
    "s_lshr_b64": ("u64 u32 -> u64 scc", bits.with_nonzero(bits.right64)),
    "s_ashr_i64": ("i64 u32 -> i64 scc", bits.with_nonzero(bits.right_signed64)),
    "s_brev_b32": ("u32 -> u32", bits.reversed_bits),
    "s_brev_b64": ("u64 -> u64", bits.reversed_bits),
    "s_bcnt1_i32_b32": ("u32 -> u32 scc", bits.with_nonzero(bits.ones)),
    "s_bcnt1_i32_b64": ("u64 -> u32 scc", bits.with_nonzero(bits.ones)),
    "s_bcnt0_i32_b32": ("u32 -> u32 scc", bits.with_nonzero(lambda a: bits.ones(~a))),
    "s_bcnt0_i32_b64": ("u64 -> u32 scc", bits.with_nonzero(lambda a: bits.ones(~a))),
    "s_ff1_i32_b32 s_ctz_i32_b32": ("u32 -> u32", bits.find_low),
    "s_ff1_i32_b64 s_ctz_i32_b64": ("u64 -> u32", bits.find_low),
    "s_flbit_i32_b32 s_clz_i32_u32": ("u32 -> u32", bits.find_high),
    "s_flbit_i32_b64 s_clz_i32_u64": ("u64 -> u32", bits.find_high),
    "s_flbit_i32 s_cls_i32": ("i32 -> u32", bits.find_sign),
    "s_flbit_i32_i64 s_cls_i32_i64": ("i64 -> u32", bits.find_sign),
    "s_sext_i32_i8": ("i32 -> i32", lambda a: (a << np.int32(24)) >> np.int32(24)),
    "s_sext_i32_i16": ("i32 -> i32", lambda a: (a << np.int32(16)) >> np.int32(16)),
    "s_pack_ll_b32_b16": ("u32 u32 -> u32", lambda a, b: a & np.uint32(0xFFFF) | b << np.uint32(16)),
    "s_pack_lh_b32_b16": ("u32 u32 -> u32", lambda a, b: a & np.uint32(0xFFFF) | b & np.uint32(0xFFFF0000)),
    "s_pack_hh_b32_b16": ("u32 u32 -> u32", lambda a, b: a >> np.uint32(16) | b & np.uint32(0xFFFF0000)),
    "s_pack_hl_b32_b16": ("u32 u32 -> u32", lambda a, b: a >> np.uint32(16) | b << np.uint32(16)),
    "s_bitset0_b32": ("u32 old -> u32", lambda place, old: old & ~bits.one_bit(old, place)),
    "s_bitset1_b32": ("u32 old -> u32", lambda place, old: old | bits.one_bit(old, place)),
    "s_bitset0_b64": ("u32 old64 -> u64", lambda place, old: old & ~bits.one_bit(old, place)),
    "s_bitset1_b64": ("u32 old64 -> u64", lambda place, old: old | bits.one_bit(old, place)),
    "s_cmov_b64": ("u64 scc old64 -> u64", lambda a, scc, old: np.where(scc, a, old)),
    "s_ff0_i32_b32": ("u32 -> u32", lambda a: bits.find_low(~a)),
    "s_ff0_i32_b64": ("u64 -> u32", lambda a: bits.find_low(~a)),
    "s_bitreplicate_b64_b32": ("u32 -> u64", _replicated),
    "s_bitcmp0_b32": ("u32 u32 -> scc", lambda a, b: a & bits.one_bit(a, b) == 0),
    "s_bitcmp1_b32": ("u32 u32 -> scc", lambda a, b: a & bits.one_bit(a, b) != 0),
    "s_bitcmp0_b64": ("u64 u32 -> scc", lambda a, b: a & bits.one_bit(a, b) == 0),
    "s_bitcmp1_b64": ("u64 u32 -> scc", lambda a, b: a & bits.one_bit(a, b) != 0),
    "s_movk_i32": ("simm -> i32", lambda a: a),
    "s_cmovk_i32": ("simm scc old -> i32", lambda a, scc, old: np.where(scc, a, old.view(np.int32))),
    "s_addk_i32 s_addk_co_i32": ("simm old -> i32 scc", lambda a, old: bits.signed_add(old.view(np.int32), a)),
    "s_mulk_i32": ("simm old -> i32", lambda a, old: old.view(np.int32) * a),
}

for _by in (1, 2, 3, 4):
    SCALARS[f"s_lshl{_by}_add_u32"] = ("u32 u32 -> u32 scc", bits.shifted_add(_by))
for _kind in ("i32", "u32"):
    for _name, _choice in (("min", np.minimum), ("max", np.maximum)):
        SCALARS[f"s_{_name}_{_kind}"] = (f"{_kind} {_kind} -> {_kind} scc", bits.choosing(_choice))

_LOGIC: dict[str, Callable[..., Any]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "andn2 and_not1": lambda a, b: a & ~b,
    "orn2 or_not1": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}
# S_ANDN1_SAVEEXEC inverts the source, S_ANDN2_SAVEEXEC inverts EXEC.
_SAVE_EXEC: dict[str, Callable[..., Any]] = {
    **_LOGIC,
    "andn1 and_not0": lambda a, b: ~a & b,
    "orn1 or_not0": lambda a, b: ~a | b,
}


for _bits_of in ("32", "64"):
    _kind = f"u{_bits_of}"
    for _names, _function in _LOGIC.items():
        SCALARS[" ".join(f"s_{name}_b{_bits_of}" for name in _names.split())] = (
            f"{_kind} {_kind} -> {_kind} scc", bits.with_nonzero(_function)
        )  # fmt: skip
    for _names, _function in _SAVE_EXEC.items():
        SCALARS[" ".join(f"s_{name}_saveexec_b{_bits_of}" for name in _names.split())] = (
            f"{_kind} exec -> {_kind} exec scc", bits.saving(_function)
        )  # fmt: skip
    for _names in ("andn1 and_not0", "andn2 and_not1"):
        SCALARS[" ".join(f"s_{name}_wrexec_b{_bits_of}" for name in _names.split())] = (
            f"{_kind} exec -> {_kind} exec scc", bits.writing_exec(_SAVE_EXEC[_names])
        )  # fmt: skip
    SCALARS[f"s_not_b{_bits_of}"] = (f"{_kind} -> {_kind} scc", bits.with_nonzero(lambda a: ~a))
    SCALARS[f"s_quadmask_b{_bits_of}"] = (f"{_kind} -> {_kind} scc", bits.with_nonzero(_quad_mask))
    SCALARS[f"s_wqm_b{_bits_of}"] = (f"{_kind} -> {_kind} scc", bits.with_nonzero(bits.whole_quads))

_ORDER: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "lg": np.not_equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal,
}  # fmt: skip
for _name, _function in _ORDER.items():
    for _kind in ("i32", "u32", "u64"):
        SCALARS[f"s_cmp_{_name}_{_kind}"] = (f"{_kind} {_kind} -> scc", _function)
    SCALARS[f"s_cmpk_{_name}_i32"] = ("i32 simm -> scc", _function)
    SCALARS[f"s_cmpk_{_name}_u32"] = ("u32 uimm -> scc", _function)
