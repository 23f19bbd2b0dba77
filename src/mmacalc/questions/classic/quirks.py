"""Deviations of AMD's tool 1.3.2, reproduced so that our text is the same to the byte.

These are slips of its loops and signs, not facts about the hardware (docs/isa-errata.md has the evidence). Answers,
and so --json and the Python API, have what is right; the notes below go to standard error beside the text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...model import Operand
    from .places import HeldElement, RegisterContents

__all__ = ["has_own_signs", "left_out", "listed", "sign", "sign_notes"]


def sign(operand: Operand, lsb: int) -> str:
    """The signs that AMD's tool prints before what lies at a bit position, as `Operand.sign` spells them.

    They are the true ones except for a sparse A (`has_own_signs`). That tool gives a minus to what it names [15:0] or
    [31:16]: not to a group of two 16-bit values, which fills its register, nor to one of two 4-bit values, but to one
    of two 8-bit integers, for which NEG means that A is signed.

    >>> import mmacalc
    >>> swmmac = mmacalc.instruction("rdna4", "v_swmmac_i32_16x16x32_iu8")
    >>> sign(swmmac.operand("A", neg=1), lsb=0), sign(swmmac.operand("A", neg=1), lsb=16)
    ('-', '')
    >>> sign(mmacalc.instruction("rdna4", "v_swmmac_i32_16x16x32_iu4").operand("A", neg=1), lsb=0)
    ''
    """
    if not has_own_signs(operand):
        return operand.sign(lsb)
    halves = operand.placement.slots_per_location * operand.placement.bits == 16
    return "-" if halves and operand.instruction.integer and lsb < 16 and operand.fields.get("neg", 0) & 1 else ""


def has_own_signs(operand: Operand) -> bool:
    """Whether AMD's tool signs the elements of an operand by rules of its own."""
    return operand.name == "A" and operand.instruction.sparse and operand.instruction.architecture.amd_calculator


def sign_notes(operand: Operand) -> tuple[str, ...]:
    """What the printed signs of a sparse A omit or have wrong, as a sentence; none for other operands.

    Args:
        operand: the operand asked for; of D, whose terms -o prints, it is A that matters.
    """
    instruction, fields = operand.instruction, operand.fields
    if not instruction.sparse or operand.name not in ("A", "D"):
        return ()
    a = instruction.operand("A", operand.wave, **fields)
    truth, printed = a.sign(0), sign(a, 0)
    if truth == printed:
        return ()
    if instruction.integer:
        return ("the minus before A is AMD's tool's: NEG on integers makes A signed, without negation",)
    if truth == "-":
        return ("NEG and NEG_HI negate all of A, for which AMD's tool prints no minus",)
    which, bits = ("first", "15:0") if truth == "low" else ("second", "31:16")
    return (
        f"of the two values that A stores of each four k, the {which} one (bits {bits}) is negated; no minus shows it",
    )


def listed(contents: RegisterContents) -> tuple[HeldElement, ...]:
    """What AMD's tool lists of what a register holds.

    With CBSZ or BLGP it advances by as many items as the last item has readers, whom it lists by block, then by
    column. Of the compression indices of RDNA4 it lists those of A's first register only, unless they fill theirs.
    """
    operand = contents.operand
    if not operand.instruction.architecture.amd_calculator or not contents.elements:
        return contents.elements
    items: dict[int, list[HeldElement]] = {}
    for held in contents.elements:
        items.setdefault(held.element.lsb, []).append(held)
    groups = list(items.values())
    if operand.name == "K" and not operand.instruction.architecture.family.blocks:
        if operand.instruction.index_sets(operand.wave) > 1:
            groups = groups[: 32 // (2 * operand.instruction.format("A").bits)]
    elif not operand.instruction.sparse and (operand.placement.lanes or operand.fields.get("cbsz")):
        groups = [sorted(group, key=_reading_order) for group in groups[:: len(groups[0])]]
    return tuple([held for group in groups for held in group])


def left_out(contents: RegisterContents) -> tuple[str, ...]:
    """A sentence on what `listed` leaves out, if it leaves out anything."""
    missing = len(contents.elements) - len(listed(contents))
    return (f"AMD's tool leaves out {missing} further elements here; --json lists all",) if missing else ()


def _reading_order(held: HeldElement) -> tuple[int, int, int]:
    element = held.element
    return element.block, element.col, element.row
