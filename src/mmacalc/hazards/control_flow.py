"""The control flow of a listing: basic blocks, and which of them can follow which.

What is assumed: a branch whose target is not in the listing, and s_setpc, lead nowhere; s_swappc and s_call come back
at once.
"""

from __future__ import annotations

from ..asm.tokens import integer
from ..errors import Error
from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..asm.decoded import DecodedInstruction
    from ..asm.reader import Listing

__all__ = ["Block", "basic_blocks", "blocks_before", "decoded_blocks"]

BRANCHES = ("s_branch", "s_cbranch")
ENDS = ("s_branch", "s_endpgm", "s_setpc", "s_set_pc", "s_rfe")


class Block(TupleRecord):
    """Statements `start` to `end` - 1, which run one after another, and the numbers of the blocks that can follow."""

    start: int
    end: int
    following: tuple[int, ...]


def basic_blocks(listing: Listing) -> list[Block]:
    """The basic blocks, in the order of the listing."""
    addresses = {place: address for address, place in listing.addresses.items()}
    leaving: dict[int, tuple[int, ...]] = {}  # statement -> its successors, where they are not just the next one
    for at, statement in enumerate(listing.statements):
        name = statement.mnemonic
        if name.startswith("s_") and name.startswith((*BRANCHES, *ENDS)):
            following: tuple[int, ...] = () if name.startswith(ENDS) else (at + 1,)
            if name.startswith(BRANCHES) and statement.operands:
                following += _target(listing, at, statement.operands[-1], addresses.get(at))
            leaving[at] = following
    return _blocks(len(listing.statements), leaving)


def decoded_blocks(instructions: Sequence[DecodedInstruction]) -> list[Block]:
    """The basic blocks of decoded code, in its order."""
    places = {one.address: at for at, one in enumerate(instructions)}
    leaving: dict[int, tuple[int, ...]] = {}
    for at, one in enumerate(instructions):
        if one.name.startswith((*BRANCHES, *ENDS)):
            following: tuple[int, ...] = () if one.name.startswith(ENDS) else (at + 1,)
            there = places.get(int(one.modifiers["target"])) if "target" in one.modifiers else None
            leaving[at] = following if there is None else (*following, there)
    return _blocks(len(instructions), leaving)


def _blocks(count: int, leaving: Mapping[int, tuple[int, ...]]) -> list[Block]:
    """The blocks of `count` statements; leaving: of those after which a block ends, which ones follow."""
    starts = {0, *(at + 1 for at in leaving), *(place for places in leaving.values() for place in places)}
    ordered = sorted(start for start in starts if start < count)
    numbers = {start: number for number, start in enumerate(ordered)}
    blocks = []
    for start, end in zip(ordered, [*ordered[1:], count]):
        next_ones = leaving.get(end - 1, (end,))
        blocks.append(Block(start, end, tuple(dict.fromkeys(numbers[at] for at in next_ones if at < count))))
    return blocks


def _target(listing: Listing, at: int, name: str, address: int | None) -> tuple[int, ...]:
    """Where a branch leads: a label, `1f` and `1b`, or an offset in words where the listing has addresses."""
    if name in listing.labels:
        return listing.labels[name][:1]
    if name[-1] in "bf" and name[:-1] in listing.labels:
        places = listing.labels[name[:-1]]
        return tuple(p for p in places if p > at)[:1] if name[-1] == "f" else tuple(p for p in places if p <= at)[-1:]
    if address is None:
        return ()
    try:
        offset = (integer(name) & 0xFFFF ^ 0x8000) - 0x8000  # a signed 16-bit number of words after the branch itself
    except Error:
        return ()
    place = listing.addresses.get(address + 4 + 4 * offset)
    return () if place is None else (place,)


def blocks_before(blocks: Sequence[Block]) -> list[list[int]]:
    """For each block the numbers of the blocks that it can follow."""
    found: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for following in block.following:
            found[following].append(number)
    return found
