"""The values that constants may have, by opcode, as ptxas 13.0 checks them: the number of a barrier, the columns of
tcgen05.alloc, the fields of a tensor map.

A row has the root and the words that the opcode has among others, the operand by its place, and what its value is:
`low..high`, `*n` for a multiple of n, or `2^` for a power of two. Registers are looked at when they are used.

>>> wrong_constant("bar", ("sync",), (Number(16),))
'operand 1 of bar.sync is a constant of 0 to 15; got 16'
"""

from __future__ import annotations

from ...ptx.module import Number, count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...ptx.module import Operand

__all__ = ["wrong_constant"]

ROWS = """
bar|barrier    sync               0  0..15
bar|barrier    arrive             0  0..15
bar|barrier    red                1  0..15
bar|barrier    sync               1  *32
bar|barrier    arrive             1  *32
bar|barrier    red                2  *32
tcgen05        alloc              1  32..512 2^
tcgen05        dealloc            1  *32
cp             async,bulk         2  *16
pmevent        -                  0  0..15
tensormap      elemtype           1  0..15
tensormap      interleave_layout  1  0..2
tensormap      fill_mode          1  0..1
tensormap      box_dim            1  0..4
tensormap      global_dim         1  0..4
tensormap      element_stride     1  0..4
tensormap      global_stride      1  0..4
applypriority  global             1  128..128
bfe            -                  2  0..255
bfe            -                  3  0..255
bfi            -                  3  0..255
bfi            -                  4  0..255
"""


def wrong_constant(root: str, modifiers: tuple[str, ...], operands: Sequence[Operand]) -> str:
    """What is wrong with the value of a constant, in words; "" if nothing is."""
    if "warp" in modifiers or "tensor" in modifiers or "mask" in modifiers:
        return ""
    for roots, words, place, *rules in ROW_LIST:
        at = count_of(place)
        if root not in roots.split("|") or at >= len(operands) or not (
            words == "-" or all(word in modifiers for word in words.split(","))
        ):  # fmt: skip
            continue
        operand = operands[at]
        if not isinstance(operand, Number) or operand.kind:
            continue
        said = [text for text in rules if not _holds(operand.value, text)]
        if said:
            what = ", ".join(_said(text) for text in rules)
            return f"operand {at + 1} of {'.'.join((root, *modifiers))} is {what}; got {operand.value}"
    return ""


def _holds(value: int, rule: str) -> bool:
    if rule == "2^":
        return value > 0 and value & (value - 1) == 0
    if rule[0] == "*":
        return value >= 0 and value % count_of(rule[1:]) == 0
    low, high = rule.split("..")
    return count_of(low) <= value <= count_of(high)


def _said(rule: str) -> str:
    if rule == "2^":
        return "a power of two"
    if rule[0] == "*":
        return f"a multiple of {rule[1:]}"
    low, high = rule.split("..")
    return f"a constant of {low} to {high}" if low != high else f"the constant {low}"


ROW_LIST = [line.split() for line in ROWS.strip().splitlines()]
