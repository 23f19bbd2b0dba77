"""The basic blocks of decoded code: runs of instructions with one way in and one way out."""

from __future__ import annotations

from ..base.records import TupleRecord
from .tables import flags_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .decoded import DecodedInstruction

__all__ = ["Block", "LEAVING", "blocks_of", "decoded_blocks"]

LEAVING = frozenset(("branch", "barrier"))  # flags: it may lead elsewhere; nothing follows it


class Block(TupleRecord):
    """Statements `start` to `end` - 1, which run one after another, and the numbers of the blocks that can follow."""

    start: int
    end: int
    following: tuple[int, ...]


def decoded_blocks(instructions: Sequence[DecodedInstruction]) -> list[Block]:
    """The basic blocks of decoded code, in its order."""
    places = {one.address: at for at, one in enumerate(instructions)}
    leaving: dict[int, tuple[int, ...]] = {}
    for at, one in enumerate(instructions):
        flags = flags_of(one.name) & LEAVING
        if flags:
            following: tuple[int, ...] = () if "barrier" in flags else (at + 1,)
            there = places.get(int(one.modifiers["target"])) if "target" in one.modifiers else None
            leaving[at] = following if there is None else (*following, there)
    return blocks_of(len(instructions), leaving)


def blocks_of(count: int, leaving: Mapping[int, tuple[int, ...]]) -> list[Block]:
    """The blocks of `count` statements; leaving: of those after which a block ends, which ones follow."""
    starts = {0, *(at + 1 for at in leaving), *(place for places in leaving.values() for place in places)}
    ordered = sorted(start for start in starts if start < count)
    numbers = {start: number for number, start in enumerate(ordered)}
    blocks = []
    for start, end in zip(ordered, [*ordered[1:], count]):
        next_ones = leaving.get(end - 1, (end,))
        blocks.append(Block(start, end, tuple(dict.fromkeys(numbers[at] for at in next_ones if at < count))))
    return blocks
