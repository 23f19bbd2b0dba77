"""Copies into LDS that nothing waits for, although LDS is read behind them: gfx1250's tensor and asynchronous loads.

Which bytes a copy fills a listing does not say, and a pipelined kernel reads one buffer while the next one is filled.
So what is found is a copy behind which no path has a wait for its counter, ASYNCCNT or TENSORCNT, which count nothing
but copies: what reads LDS behind it reads bytes that may not be there, or the copy is for nothing. `run-kernel` knows
the bytes, and names every read that comes too early.

A copy may also arrive at a barrier in LDS when it ends: an asynchronous one by ds_atomic_async_barrier_arrive_b64, a
tensor copy as its descriptor says, which a listing does not show (Triton's pull request 8681). Who waits there polls
LDS. So a loop of one block that reads LDS and copies nothing is taken for a wait, too.
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

    from ..asm.blocks import Block
    from ..asm.reader import Listing, Statement

__all__ = ["unwaited_copies"]

_COUNTERS = {"async": "asynccnt", "tensor": "tensorcnt"}
_READ, _UNKNOWN = "reads LDS", "may wait"


def unwaited_copies(listing: Listing, blocks: Sequence[Block], target: str) -> Iterator[MemoryWait]:
    """Every copy that nothing waits for, at the first statement behind it that reads LDS; in the order of the copies.

    Args:
        listing, blocks: from `mmacalc.asm.reader` and `pending`. target: the compiler target, such as "gfx1250".
    """
    if not target.startswith("gfx125"):
        return
    tables = tables_of(target)
    copies: list[tuple[int, int, str]] = []  # block, statement, counter
    events: dict[int, set[str]] = {}
    for number, block in enumerate(blocks):
        before = len(copies)
        for at in range(block.start, block.end):
            statement = listing.statements[at]
            if found := _event(statement):
                events[at] = found
            elif (counter := _copied(statement, tables)) is not None:
                copies.append((number, at, counter))
        if number in block.following and len(copies) == before:  # it may poll
            for at in range(block.start, block.end):
                if _READ in events.get(at, ()):
                    events[at].add(_UNKNOWN)
    for number, at, counter in copies if any(_READ in found for found in events.values()) else ():
        behind = _behind(events, blocks, number, at)
        if not any(counter in found or _UNKNOWN in found for _, found in behind):
            read = min((place for place, found in behind if _READ in found), default=-1)
            if read >= 0:
                message = f"reads LDS behind a copy into it that nothing waits for: no wait for {counter} on any path"
                yield MemoryWait(read, at, message, ((counter, 0),))


def _event(statement: Statement) -> set[str]:
    """What a statement is to copies into LDS: the counters that it waits for, whether it reads LDS or may wait."""
    flags = flags_of(bare(statement.mnemonic))
    if "asynccnt" in flags and "ds" in flags:  # arrives at a barrier, where others wait for it
        return {"asynccnt"}
    found = {counter for counter in waits_of_statement(statement, "gfx12") if counter in _COUNTERS.values()}
    found |= {_READ} if {"ds", "load"} <= flags else set()
    return found | ({_UNKNOWN} if "call" in flags else set())


def _copied(statement: Statement, tables: str) -> str | None:
    """The counter of a copy into LDS; None of anything else."""
    name = bare(statement.mnemonic)
    if "from_lds" in flags_of(name) or not may_access(name, tables):
        return None
    return _COUNTERS.get(touched(statement, tables).kind)


def _behind(events: dict[int, set[str]], blocks: Sequence[Block], number: int, at: int) -> list[tuple[int, set[str]]]:
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
