"""What the arguments of clang's builtins are: operands, and immediates that set modifiers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..model import Instruction

__all__ = ["OPERANDS", "fields_of"]

OPERANDS = {"a": "A", "b": "B", "c": "C", "index": "K", "a_scale": "SA", "b_scale": "SB"}
"""The operands, by the names of `Intrinsic.arg_names`."""

FIELDS: dict[str, Callable[[int], dict[str, int]]] = {
    # arguments that are not called as the fields that they set; bits of one field from several are put together
    "a_signed": lambda v: {"neg": 1 * bool(v)},
    "b_signed": lambda v: {"neg": 2 * bool(v)},
    "a_neg": lambda v: {"neg": 1 * bool(v), "neg_hi": 1 * bool(v)},
    "b_neg": lambda v: {"neg": 2 * bool(v), "neg_hi": 2 * bool(v)},
    "c_mod": lambda v: {"neg": 4 * (v & 1), "neg_hi": 4 * (v >> 1 & 1)},  # 1 negates, 2 takes the absolute value
    "high": lambda v: {"opsel": 4 * bool(v)},  # the half of the registers of C and D
    "a_op_sel": lambda v: {"opsel": v & 1, "op_sel_hi": v >> 1 & 1},  # the byte of the scale
    "b_op_sel": lambda v: {"opsel": 2 * (v & 1), "op_sel_hi": 2 * (v >> 1 & 1)},
    "a_fmt": lambda v: {"matrix_a_fmt": v},
    "b_fmt": lambda v: {"matrix_b_fmt": v},
    "a_scale_row": lambda v: {"matrix_a_scale": v},
    "b_scale_row": lambda v: {"matrix_b_scale": v},
    "a_scale_fmt": lambda v: {"matrix_a_scale_fmt": v},
    "b_scale_fmt": lambda v: {"matrix_b_scale_fmt": v},
    "a_reuse": lambda v: {},  # a hint to the operand cache
    "b_reuse": lambda v: {},
}
"""How immediate arguments become modifiers. Source: what llc 22.1.8 selects for the intrinsics."""


def fields_of(inst: Instruction, immediates: Mapping[str, int]) -> dict[str, int]:
    """The modifiers that immediate arguments set; those that are 0 are left out.

    >>> import mmacalc
    >>> wmma = mmacalc.instruction("gfx1201", "v_wmma_i32_16x16x16_iu8")
    >>> fields_of(wmma, {"a_signed": 1, "b_signed": 1})
    {'neg': 3}
    """
    fields: dict[str, int] = {}
    for key, value in immediates.items():
        for field, bits in FIELDS.get(key, lambda v, key=key: {key: v})(value).items():
            fields[field] = fields.get(field, 0) | bits
    if inst.format("A", fields).bits > 16:
        fields["neg_hi"] = fields.get("neg_hi", 0) & 4  # one NEG bit is the whole of a 32-bit element
    return {field: value for field, value in fields.items() if value}
