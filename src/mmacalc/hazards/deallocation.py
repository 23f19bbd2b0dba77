"""Vector registers that are given back (s_sendmsg sendmsg(MSG_DEALLOC_VGPRS), before s_endpgm) without an s_nop before.

LLVM puts s_nop 0 directly before the message on gfx11 and on gfx1200 and gfx1201, and none on gfx1250.

Source: LLVM 22.1.8, SIInsertWaitcnts and GCNSubtarget::requiresNopBeforeDeallocVGPRs. No ISA guide says so.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..asm.reader import Listing

__all__ = ["MESSAGE", "REPAIR", "early_deallocations"]

MESSAGE = "gives back the vector registers without s_nop directly before: LLVM 22.1.8, requiresNopBeforeDeallocVGPRs"
REPAIR = "s_nop 0"
_MESSAGE = re.compile(r"s_sendmsg\s+(?:sendmsg\(\s*)?(?:MSG_DEALLOC_VGPRS|0x0*3|3)\s*\)?$", re.IGNORECASE)


def early_deallocations(listing: Listing, target: str) -> Iterator[int]:
    """Every statement that gives back the vector registers too early, in the order of the listing."""
    if not target.startswith(("gfx11", "gfx120")):
        return
    statements = listing.statements
    for at in range(1, len(statements)):
        if _MESSAGE.match(statements[at].text) and statements[at - 1].mnemonic != "s_nop":
            yield at
