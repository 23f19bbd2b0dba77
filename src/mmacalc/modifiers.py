"""The modifier fields of matrix instructions: small functions on lanes, blocks, halves and signs.

Names are those of the encodings' fields. A modifier that only picks among places (ABID, OPSEL, index sets)
is a selector of the layout and needs no function here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# BLGP, B-matrix Lane Group Pattern: which lane is read for the B element that lies in lane l.
# Source: AMD's README ("Example of Using the BLGP Modifier"), CDNA ISA guides, VOP3P-MAI BLGP field.
BLGP: dict[int, Callable[[int], int]] = {
    0: lambda lane: lane,
    1: lambda lane: lane % 32,
    2: lambda lane: lane % 32 + 32,
    3: lambda lane: (lane + 16) % 64,
    4: lambda lane: lane % 16,
    5: lambda lane: lane % 16 + 16,
    6: lambda lane: lane % 16 + 32,
    7: lambda lane: lane % 16 + 48,
}


def negated(bits: int, operand: str) -> bool:
    """Whether a 3-bit negate field (NEG, NEG_HI, or BLGP of an FP64 MFMA) names this operand.

    >>> negated(0b010, "B"), negated(0b010, "A")
    (True, False)
    """
    return operand in "ABC" and bool(bits >> "ABC".index(operand) & 1)


def index_set(cbsz: int, abid: int) -> int:
    """The set of compression indices that an SMFMAC reads: ABID's, unless CBSZ[1:0] is not zero.

    Source: AMD's tool 1.3.2 and the CDNA4 ISA guide, section 7.1.8.
    """
    return abid if cbsz & 3 == 0 else 0
