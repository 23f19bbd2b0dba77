"""Masks of lanes that are lost: EXEC that is not restored, and comparisons that nothing reads.

Every path through the basic blocks is followed.

- Behind s_cbranch_execz that is taken, and behind s_cbranch_execnz that is not, EXEC is 0 until something writes it. An
  access of memory or LDS, or a vector instruction that writes registers of lanes, does nothing there: EXEC should have
  been restored first. Compilers branch so over code that no lane executes, never into it.
- What s_and_saveexec and its kin have saved is read again, or the rest of the program is for these lanes alone, which
  s_cbranch_execz passes over. Where neither is so and a barrier follows, EXEC is not restored before it.
- The mask that a comparison writes is read on some path, as EXEC's next value, by s_cbranch_vccnz, by v_cndmask ...

Assumed: calls, returns, branches whose target is not in the listing, the end of a text without s_endpgm, and macros
read every mask and write EXEC. Copies of EXEC that nothing reads are not reported by themselves, since a program may
end with the lanes that it has then.

Source: what EXEC and VCC are, and that s_cbranch_execz skips code (CDNA3 ISA guide, sections 3.3 and 3.4). Of 160
kernels by clang 22, 120 by Triton 3.9 and 140 code objects of AITER none has such a place.
"""

from __future__ import annotations

import re

from ..asm.tables import flags_of
from ..base.records import TupleRecord
from .register_use import bare, is_matrix, operation_of
from .touched import EXEC, numbers_of, register_names, tables_of, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..asm.blocks import Block
    from ..asm.reader import Listing, Statement

__all__ = ["LostLanes", "lost_lanes"]

_MASKS = ("v_cmp", "v_nop", "v_accvgpr")
_LANES_NAMED = frozenset(("lane_select", "read_lane"))
"""Vector instructions that EXEC does not stop, or whose result without lanes may be meant: an empty mask. Beside these
matrix instructions."""
_LOGIC = re.compile(r"s_(?:n?and|x?n?or|andn[12]|orn[12]|and_not[01]|or_not[01])_b(?:32|64)$")
_WRITES_MASK = re.compile(rf"v_cmp_|s_\w+_saveexec_|{_LOGIC.pattern}")
_REGISTER = re.compile(r"exec|vcc|ttmp|s\d|s\[")
_NARROWS = re.compile(r"v_cmpx_|s_and_(?:not0_)?(?:saveexec|wrexec)_|s_andn1_(?:saveexec|wrexec)_")
"""What leaves EXEC 0 where it is 0."""
_NO_LANES = ("", "scalar", "message")
_SCC = numbers_of("scc")
_BRANCHES = ("s_cbranch_execz", "s_cbranch_execnz")


class LostLanes(TupleRecord):
    """A statement that should not be as it is, the other one that tells so, and the sentence."""

    at: int
    other: int
    message: str


def lost_lanes(listing: Listing, blocks: Sequence[Block], target: str) -> Iterator[LostLanes]:
    """Every place where lanes are lost, rule by rule.

    Args:
        listing, blocks: from `mmacalc.asm.reader` and `pending`. target: the compiler target, such as "gfx942".
    """
    names = [bare(one.mnemonic) for one in listing.statements]
    tables = tables_of(target)
    yield from _without_lanes(listing, blocks, names, tables)
    written = {at for at, name in enumerate(names) if _writes_mask(listing, at, name) or _copies(listing, at, names)}
    if written:
        yield from _Masks(listing, blocks, names, tables, written).unread()


def _writes_mask(listing: Listing, at: int, name: str) -> bool:
    """Whether a statement writes a mask that something should read."""
    if not _WRITES_MASK.match(name) or _other_lanes(listing, at, name):
        return False
    return not _LOGIC.match(name) or _of_masks(listing.statements[at])


def _of_masks(statement: Statement) -> bool:
    """Whether a scalar instruction combines masks: one with a number, or for M0, is arithmetic that compilers may leave
    there for nothing."""
    destination, *sources = statement.operands
    return destination != "m0" and all(_REGISTER.match(one) or one == "-1" for one in sources)


def _other_lanes(listing: Listing, at: int, name: str) -> bool:
    """Whether a statement has the lanes of an `else`, which may have nothing to do: LLVM writes s_xor_b64 anyway."""
    return name.startswith("s_xor_b") and any(one.startswith("exec") for one in listing.statements[at].operands)


def _copies(listing: Listing, at: int, names: Sequence[str]) -> bool:
    """Whether a statement saves EXEC, which v_cmpx narrows then. Other copies may be there for nothing (VCC's, where
    LLVM has made s_cbranch_execnz of s_cbranch_vccnz)."""
    if names[at] not in ("s_mov_b32", "s_mov_b64") or not listing.statements[at].operands[-1].startswith("exec"):
        return False
    behind = next((name for name in names[at + 1 :] if name.startswith("v_cmpx_") or "branch" in flags_of(name)), "")
    return behind.startswith("v_cmpx_")


# --- EXEC is 0 --------------------------------------------------------------------------------------------------------


def _without_lanes(listing: Listing, blocks: Sequence[Block], names: Sequence[str], tables: str) -> Iterator[LostLanes]:
    """What runs without lanes behind a branch by EXEC."""
    found: dict[int, int] = {}
    for number, block in enumerate(blocks):
        if names[block.end - 1] in _BRANCHES and _may_be_zero(listing, block, names, tables):
            for at in _first_lanes(listing, blocks, _empty(blocks, number, names), names, tables):
                found.setdefault(at, block.end - 1)
    for at, branch in sorted(found.items()):
        past = "takes" if names[branch] == "s_cbranch_execz" else "does not take"
        message = f"runs without any lane where {names[branch]} {past} its branch: EXEC is 0 and not restored"
        yield LostLanes(at, branch, message)


def _may_be_zero(listing: Listing, block: Block, names: Sequence[str], tables: str) -> bool:
    """Whether EXEC may be 0 at the end of a block: its last write there takes lanes away or exchanges them. Where none
    is taken away the branch is always, or never, taken: compilers write such ones."""
    for at in range(block.end - 2, block.start - 1, -1):
        if not touched(listing.statements[at], tables).writes.isdisjoint(EXEC):
            return not names[at].startswith(("s_or_b", "s_mov_b", "s_wqm_b"))
    return False


def _empty(blocks: Sequence[Block], number: int, names: Sequence[str]) -> list[int]:
    """The blocks that come behind one where EXEC is 0."""
    block = blocks[number]
    falls = [one for one in block.following if blocks[one].start == block.end]
    jumps = [one for one in block.following if one not in falls] or falls
    return {"s_cbranch_execz": jumps, "s_cbranch_execnz": falls}.get(names[block.end - 1], [*block.following])


def _first_lanes(
    listing: Listing, blocks: Sequence[Block], starts: Sequence[int], names: Sequence[str], tables: str
) -> Iterator[int]:
    """On each path from some blocks the first statement of lanes, unless EXEC is written before."""
    seen, waiting = set(starts), [*starts]
    while waiting:
        number = waiting.pop()
        block = blocks[number]
        for at in range(block.start, block.end):
            does = _does(listing.statements[at], names[at], tables)
            if does == "lanes":
                yield at
            if does:
                break
        else:
            behind = [one for one in _empty(blocks, number, names) if one not in seen]
            waiting += behind
            seen.update(behind)


def _does(statement: Statement, name: str, tables: str) -> str:
    """What a statement does with EXEC: "writes", "lanes" (an instruction of lanes), or ""."""
    if "call" in flags_of(name) or operation_of(name, tables) is None:
        return "writes"
    found = touched(statement, tables)
    if not found.writes.isdisjoint(EXEC):
        return "lanes" if _narrows(statement, name) else "writes"
    if name.startswith("v_"):
        stopped = not (name.startswith(_MASKS) or flags_of(name) & _LANES_NAMED or is_matrix(name))
        return "lanes" if stopped else ""
    return "lanes" if found.kind not in _NO_LANES else ""


def _narrows(statement: Statement, name: str) -> bool:
    """Whether a write of EXEC takes lanes away, or leaves all."""
    exec_and = re.match(r"s_and(?:n2|_not1)?_b(?:32|64)$", name) and statement.operands[1].startswith("exec")
    return bool(_NARROWS.match(name) or exec_and)


# --- masks that nothing reads -----------------------------------------------------------------------------------------


class _Masks:
    """Which masks are read behind each statement. written: the statements whose masks are asked about."""

    def __init__(
        self, listing: Listing, blocks: Sequence[Block], names: Sequence[str], tables: str, written: set[int]
    ) -> None:
        self.listing, self.blocks, self.names, self.tables = listing, blocks, names, tables
        self.written = written
        masks = {at: touched(listing.statements[at], tables).writes - EXEC for at in written}
        words = sorted({number for numbers in masks.values() for number in numbers})
        self.bits = {number: 1 << place for place, number in enumerate(words)}
        self.all = (1 << len(words)) - 1
        self.scc = self._masks(_SCC)
        of_first = {at: self._effect(listing.statements[at], names[at]) for at in dict.fromkeys(listing.alike)}
        self.effects = [of_first[first] for first in listing.alike]

    def _effect(self, statement: Statement, name: str) -> tuple[int, int]:
        """The masks that a statement reads, and those that it writes."""
        flags = flags_of(name)
        if "call" in flags or name.startswith("s_trap") or operation_of(name, self.tables) is None:
            return self.all, 0
        found = touched(statement, self.tables)
        reads = found.reads | (numbers_of("vcc") if name.endswith(("_vccz", "_vccnz")) else frozenset())
        return self._masks(reads), self._masks(found.writes)

    def _masks(self, numbers: frozenset[int]) -> int:
        return sum(bit for number, bit in self.bits.items() if number in numbers)

    def _read_behind(self) -> list[int]:
        """The masks that are read behind the end of each block."""
        entering = [0] * len(self.blocks)
        leaving = [self._left(block) for block in self.blocks]
        before: list[list[int]] = [[] for _ in self.blocks]
        for number, block in enumerate(self.blocks):
            for following in block.following:
                before[following].append(number)
        waiting = [*range(len(self.blocks))]
        while waiting:
            number = waiting.pop()
            block, live = self.blocks[number], leaving[number]
            for at in range(block.end - 1, block.start - 1, -1):
                reads, writes = self.effects[at]
                live = live & ~writes | reads
            if live != entering[number]:
                entering[number] = live
                for one in before[number]:
                    leaving[one] |= live
                    waiting.append(one)
        return leaving

    def _left(self, block: Block) -> int:
        """The masks that may be read where a block leads to a place that is not known."""
        flags = flags_of(self.names[block.end - 1])
        if "return" in flags:
            return 0
        known = 0 if {"barrier", "branch"} <= flags else 1
        known += "branch" in flags
        falls = [one for one in block.following if self.blocks[one].start == block.end]
        twice = "branch" in flags and len(falls) == len(block.following) == 1 and known == 2
        return 0 if len(block.following) >= known or (twice and self._jumps_on(block)) else self.all

    def _jumps_on(self, block: Block) -> bool:
        """Whether a conditional branch leads to the next statement, where it would go anyway."""
        statement = self.listing.statements[block.end - 1]
        places = self.listing.labels.get(statement.operands[0] if statement.operands else "", ())
        return block.end in places

    def unread(self) -> Iterator[LostLanes]:
        """What writes a mask that nothing reads."""
        found: list[LostLanes] = []
        for number, (block, live) in enumerate(zip(self.blocks, self._read_behind())):
            for at in range(block.end - 1, block.start - 1, -1):
                reads, writes = self.effects[at]
                if at in self.written and not (writes & ~self.scc if "_saveexec_" in self.names[at] else writes) & live:
                    found += self._lost(number, at)
                live = live & ~writes | reads
        yield from sorted(found)

    def _lost(self, number: int, at: int) -> Iterator[LostLanes]:
        """What is lost with a mask that a statement of a block writes."""
        mask = touched(self.listing.statements[at], self.tables).writes - EXEC - _SCC
        if not mask:
            return
        copies = _copies(self.listing, at, self.names)
        if "_saveexec_" not in self.names[at] and not copies:
            yield LostLanes(at, at, f"writes a mask of lanes to {register_names(mask)}, which nothing reads")
        elif not self._skipped(number, at, 1 if copies else 0):
            barrier = self._barrier_behind(number, at)
            if barrier is not None:
                message = f"saves EXEC in {register_names(mask)}, and nothing restores it before a barrier comes"
                yield LostLanes(at, barrier, message)

    def _skipped(self, number: int, at: int, narrowed: int) -> bool:
        """Whether s_cbranch_execz of the same block passes over what the lanes that are left do. narrowed: by how many
        statements behind this one."""
        end = self.blocks[number].end - 1
        between = (self.listing.statements[place] for place in range(at + 1, end))
        writes = sum(not touched(one, self.tables).writes.isdisjoint(EXEC) for one in between)
        return writes <= narrowed and self.names[end] == "s_cbranch_execz"

    def _barrier_behind(self, number: int, at: int) -> int | None:
        """The first barrier behind a statement, on any path."""
        places = [place for place in range(at, self.blocks[number].end) if self.names[place].startswith("s_barrier")]
        seen, waiting = set(), [*self.blocks[number].following]
        while waiting:
            following = waiting.pop()
            if following not in seen:
                seen.add(following)
                block = self.blocks[following]
                names = enumerate(self.names[block.start : block.end], block.start)
                places += [place for place, name in names if name.startswith("s_barrier")]
                waiting += block.following
        return min(places, default=None)
