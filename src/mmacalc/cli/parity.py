"""What AMD's tool 1.3.2 leaves out of a -m answer, so that our text can be the same to the byte.

Both omissions are slips of its loops, not facts about the hardware (docs/isa-errata.md has the evidence). The
answer says on standard error that there is more, and --json and the Python API give everything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..record import Element, Operand

# The architectures that AMD's tool knows; on others there is nothing to be the same as.
KNOWN = ("cdna1", "cdna2", "cdna3", "rdna3", "rdna4")


def as_listed(operand: Operand, found: list[tuple[Element, str]]) -> list[tuple[Element, str]]:
    """Of what a register holds, the part that AMD's tool lists.

    With CBSZ or BLGP it advances by as many items as the last item has readers. Of the compression indices of
    RDNA4 it lists those of A's first register only.
    """
    if operand.instruction.arch not in KNOWN or not found:
        return found
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
