"""Deviations of AMD's tool 1.3.2, reproduced so that our text is the same to the byte.

These are slips of its loops and signs, not facts about the hardware (docs/isa-errata.md has the evidence). The
answer says so on standard error, and --json and the Python API give what is so.
"""

from __future__ import annotations

from ..answers.output_terms import sign as true_sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Element, Operand

# The architectures that AMD's tool knows; on others there is nothing to be the same as.
KNOWN = ("cdna1", "cdna2", "cdna3", "rdna3", "rdna4")


def sign(operand: Operand, lsb: int) -> str:
    """The signs that AMD's tool prints before what lies at a bit position, as `query.sign` spells them.

    They are the true ones but for a sparse A (`has_own_signs`). A group of two 16-bit values fills its register and is
    neither a low nor a high half to that tool, which gives it no sign; and NEG on integers, which says that A is
    signed, it takes for a minus.

    >>> import mmacalc
    >>> swmmac = mmacalc.instruction("rdna4", "v_swmmac_i32_16x16x32_iu8")
    >>> sign(swmmac.operand("A", neg=1), lsb=0), sign(swmmac.operand("A", neg=1), lsb=16)
    ('-', '')
    """
    if not has_own_signs(operand):
        return true_sign(operand, lsb)
    return "-" if operand.instruction.integer and lsb < 16 and operand.fields.get("neg", 0) & 1 else ""


def has_own_signs(operand: Operand) -> bool:
    """Whether AMD's tool signs the elements of an operand by rules of its own."""
    return operand.name == "A" and operand.instruction.sparse and operand.instruction.arch in KNOWN


def sign_difference(operand: Operand) -> str:
    """What the printed signs of a sparse A leave unsaid or have wrong, as a sentence; nothing for other operands.

    Args:
        operand: the operand asked for; of D, whose terms -o prints, it is A that matters.
    """
    instruction, fields = operand.instruction, operand.fields
    if not instruction.sparse or operand.name not in ("A", "D"):
        return ""
    a = instruction.operand("A", operand.wave, **fields)
    truth, printed = true_sign(a, 0), sign(a, 0)
    if truth == printed:
        return ""
    if instruction.integer:
        return "the minus before A is AMD's tool's: NEG on integers says that A is signed, and negates nothing"
    if truth == "-":
        return "NEG and NEG_HI negate all of A, for which AMD's tool prints no minus"
    which, bits = ("first", "15:0") if truth == "low" else ("second", "31:16")
    return (
        f"of the two values that A stores of each four k, the {which} one (bits {bits}) is negated; no minus shows it"
    )


def as_listed(operand: Operand, found: list[tuple[Element, str]]) -> tuple[list[tuple[Element, str]], str]:
    """What AMD's tool lists of what a register holds, and a sentence on what that leaves out (or nothing)."""
    if operand.instruction.arch not in KNOWN or not found:
        return found, ""
    listed = [(element, sign(operand, element.lsb)) for element, _ in _listed(operand, found)]
    left_out = len(found) - len(listed)
    return listed, f"AMD's tool leaves out {left_out} further elements here; --json lists all" if left_out else ""


def _listed(operand: Operand, found: list[tuple[Element, str]]) -> list[tuple[Element, str]]:
    """With CBSZ or BLGP it advances by as many items as the last item has readers, whom it lists by block, then by
    column. Of the compression indices of RDNA4 it lists those of A's first register only, unless they fill theirs.
    """
    items: dict[int, list[tuple[Element, str]]] = {}
    for element, signs in found:
        items.setdefault(element.lsb, []).append((element, signs))
    groups = list(items.values())
    if operand.name == "K" and operand.instruction.arch == "rdna4":
        if operand.instruction.index_sets(operand.wave) > 1:
            groups = groups[: 32 // (2 * operand.instruction.format("A").bits)]
    elif not operand.instruction.sparse and (operand.placement.lanes or operand.fields.get("cbsz")):
        groups = [sorted(group, key=_reading_order) for group in groups[:: len(groups[0])]]
    return [pair for group in groups for pair in group]


def _reading_order(pair: tuple[Element, str]) -> tuple[int, int, int]:
    element, _ = pair
    return element.block, element.col, element.row
