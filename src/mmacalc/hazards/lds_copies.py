"""Copies into LDS that nothing waits for, although LDS is read behind them: gfx1250's tensor and asynchronous loads.

Which bytes a copy fills a listing does not say, and a pipelined kernel reads one buffer while the next one is filled.
So what is found is a copy behind which no path has a wait for its counter, ASYNCCNT or TENSORCNT, which count nothing
but copies: what reads LDS behind it reads bytes that may not be there, or the copy is for nothing. `run-kernel` knows
the bytes, and names every read that comes too early.
"""

from __future__ import annotations

from ..asm.tables import flags_of
from .memory_counters import waits_of_statement
from .memory_waits import MemoryWait
from .register_use import bare
from .touched import may_access, tables_of, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..asm.reader import Listing
    from .pending import Block

__all__ = ["unwaited_copies"]

_COUNTERS = {"async": "asynccnt", "tensor": "tensorcnt"}
_READ, _CALL = "reads LDS", "calls"


def unwaited_copies(listing: Listing, blocks: Sequence[Block], target: str) -> Iterator[MemoryWait]:
    """Every copy that nothing waits for, at the first statement behind it that reads LDS; in the order of the copies.

    Args:
        listing, blocks: from `mmacalc.asm.reader` and `pending`. target: the compiler target, such as "gfx1250".
    """
    if not target.startswith("gfx125"):
        return
    tables = tables_of(target)
    copies: list[tuple[int, int, str]] = []  # block, statement, counter
    events: dict[int, frozenset[str]] = {}
    for number, block in enumerate(blocks):
        for at in range(block.start, block.end):
            statement = listing.statements[at]
            name = bare(statement.mnemonic)
            flags = flags_of(name)
            found = {counter for counter in waits_of_statement(statement, "gfx12") if counter in _COUNTERS.values()}
            found |= {_READ} if {"ds", "load"} <= flags else set()
            found |= {_CALL} if "call" in flags else set()
            if found:
                events[at] = frozenset(found)
            elif "from_lds" not in flags and may_access(name, tables):
                kind = touched(statement, tables).kind
                copies += [(number, at, _COUNTERS[kind])] if kind in _COUNTERS else []
    for number, at, counter in copies if any(_READ in found for found in events.values()) else ():
        behind = _behind(events, blocks, number, at)
        if not any(counter in found or _CALL in found for _, found in behind):
            read = min((place for place, found in behind if _READ in found), default=-1)
            if read >= 0:
                message = f"reads LDS behind a copy into it that nothing waits for: no wait for {counter} on any path"
                yield MemoryWait(read, at, message, ((counter, 0),))


def _behind(
    events: dict[int, frozenset[str]], blocks: Sequence[Block], number: int, at: int
) -> list[tuple[int, frozenset[str]]]:
    """What comes behind a statement on some path, by statement."""
    found = [(place, events[place]) for place in range(at + 1, blocks[number].end) if place in events]
    seen, waiting = set(), [*blocks[number].following]
    while waiting:
        following = waiting.pop()
        if following not in seen:
            seen.add(following)
            block = blocks[following]
            found += [(place, events[place]) for place in range(block.start, block.end) if place in events]
            waiting += block.following
    return found
