"""What AMD's tool 1.3.2 has different in a -m answer, so that our text can be the same to the byte.

These are slips of its loops and signs, not facts about the hardware (docs/isa-errata.md has the evidence). The
answer says so on standard error, and --json and the Python API give what is so.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..record import Element, Operand

# The architectures that AMD's tool knows; on others there is nothing to be the same as.
KNOWN = ("cdna1", "cdna2", "cdna3", "rdna3", "rdna4")


def as_listed(operand: Operand, found: list[tuple[Element, str]]) -> tuple[list[tuple[Element, str]], str]:
    """What AMD's tool lists of what a register holds, and a sentence on how that differs (or nothing)."""
    if operand.instruction.arch not in KNOWN or not found:
        return found, ""
    if _signs_integers(operand):
        listed = [(element, "-" if element.lsb < 16 else sign) for element, sign in found]
        return listed, "the minus is AMD's tool's: NEG on integers says that A is signed, and negates nothing"
    listed = _listed(operand, found)
    left_out = len(found) - len(listed)
    return listed, f"AMD's tool leaves out {left_out} further elements here; --json lists all" if left_out else ""


def _signs_integers(operand: Operand) -> bool:
    """Its pages of sparse integer instructions treat NEG[0] as they do that of floats, in the low half of A."""
    instruction = operand.instruction
    return operand.name == "A" and instruction.sparse and instruction.integer and bool(operand.fields.get("neg", 0) & 1)


def _listed(operand: Operand, found: list[tuple[Element, str]]) -> list[tuple[Element, str]]:
    """With CBSZ or BLGP it advances by as many items as the last item has readers. Of the compression indices of
    RDNA4 it lists those of A's first register only.
    """
    items: dict[int, list[tuple[Element, str]]] = {}
    for element, sign in found:
        items.setdefault(element.lsb, []).append((element, sign))
    groups = list(items.values())
    if operand.name == "K" and operand.instruction.arch == "rdna4":
        per_register = 32 // (2 * operand.instruction.format("A").bits)
        groups = groups[:per_register]
    elif not operand.instruction.sparse and (operand.placement.lanes or operand.fields.get("cbsz")):
        groups = groups[:: len(groups[0])]
    return [pair for group in groups for pair in group]
