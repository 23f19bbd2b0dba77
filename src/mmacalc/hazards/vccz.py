"""Branches and reads of vccz after a write of one half of VCC, which does not update vccz before gfx10.

Only a write of both halves by one instruction does: then vccz is right, and so is what reads it. Every path through the
basic blocks is followed. Assumed: vccz is right where a kernel begins, and where a call comes back.

Source: LLVM 22.1.8, GCNSubtarget::partialVCCWritesUpdateVCCZ (from GFX10 on), by which SIInsertWaitcnts puts
`s_mov_b64 vcc, vcc` before such branches. No ISA guide says so.
"""

from __future__ import annotations

from ..base.records import TupleRecord
from .touched import numbers_of, tables_of, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..asm.blocks import Block
    from ..asm.reader import Listing

__all__ = ["MESSAGE", "REPAIR", "StaleVccz", "stale_vccz"]

MESSAGE = "reads vccz, which a write of half of VCC leaves as it was"
REPAIR = "s_mov_b64 vcc, vcc"
_VCC = numbers_of("vcc")
_HALF, _WHOLE, _READ = "writes a half", "writes all", "reads vccz"
_FLAGS = frozenset(("vccz", "src_vccz"))


class StaleVccz(TupleRecord):
    """A statement that reads vccz, and the one that wrote a half of VCC before."""

    at: int
    writer: int


def stale_vccz(listing: Listing, blocks: Sequence[Block], target: str) -> Iterator[StaleVccz]:
    """Every statement that may read a vccz that is not that of VCC, in the order of the listing, with the write that
    may be why; of several, the first of the listing. After such a statement vccz counts as right.

    Args:
        listing, blocks: from `mmacalc.asm.reader` and `pending`. target: the compiler target, such as "gfx942".
    """
    if not target.startswith("gfx9"):
        return
    effects = _effects(listing, tables_of(target))
    if not {_HALF, _READ} <= {*effects.values()}:
        return
    events = [[(at, effects[at]) for at in range(block.start, block.end) if at in effects] for block in blocks]
    right = len(listing.statements)  # no statement: vccz is that of VCC
    entering = [right] * len(blocks)  # the first statement that may have written a half
    waiting = set(range(len(blocks)))
    while waiting:
        ready, waiting = sorted(waiting), set()
        for number in ready:
            *_, writer = _writers(events[number], entering[number], right)
            for following in blocks[number].following:
                if writer < entering[following]:
                    entering[following] = writer
                    waiting.add(following)
    for own, first in zip(events, entering):
        for (at, effect), writer in zip(own, _writers(own, first, right)):
            if effect == _READ and writer < right:
                yield StaleVccz(at, writer)


def _effects(listing: Listing, tables: str) -> dict[int, str]:
    """By statement, whether it writes a half of VCC or all of it, or reads vccz, where it does."""
    found = {}
    for at in dict.fromkeys(listing.alike):
        one = listing.statements[at]
        if "vcc" not in one.text.lower():  # what writes VCC names it
            continue
        written = touched(one, tables).writes & _VCC
        reads = one.mnemonic.endswith(("_vccz", "_vccnz")) or not _FLAGS.isdisjoint(one.operands)
        if written or reads:
            found[at] = _READ if not written else _WHOLE if written == _VCC else _HALF
    return {at: found[first] for at, first in enumerate(listing.alike) if first in found}


def _writers(events: Sequence[tuple[int, str]], writer: int, right: int) -> Iterator[int]:
    """Before each event of a block, and at its end, the statement that has written a half since vccz was right."""
    for at, effect in events:
        yield writer
        writer = at if effect == _HALF else right  # after a read it has been said
    yield writer
