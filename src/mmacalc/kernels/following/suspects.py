"""Which instruction is to blame for what is wrong with the operands of products."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np

from .tags import NONE
from .tiles import A

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.arrays import Array
    from .origins import Origins
    from .tiles import Chain, Numbers, Tile
    from .verdict import Wrong

    Held = tuple[int, int, str, int, int]

MOST = 0.75
"""How much of what an instruction brings is wrong if it is to blame: not everything that is wrong is looked at."""

__all__ = ["Suspects"]


def _held(tile: Tile, name: str, where: Array) -> set[Held]:
    """The registers (words of shared memory) of an operand that hold some of its elements: the product's number, the
    wave, the operand, the register, and the number of what it came by."""
    recorded = tile.recorded
    held = recorded.held[name][tile.wave]
    if recorded.in_shared(name):
        numbers = np.flatnonzero(where)
    else:
        numbers = np.unique(_of_block(recorded.execution.places(name).register, tile, name)[where])
    return {(recorded.order, tile.wave, name, int(one), int(held[one])) for one in numbers if one < len(held)}


def _of_block(table: Array, tile: Tile, name: str) -> Array:
    """Of a table (of all blocks, row, column, copy) the part of a tile's block, rows first of A, columns first of B."""
    blocks = table.reshape(-1, *table.shape[-3:])
    block = blocks[tile.block if len(blocks) > 1 else 0, ..., 0]
    return block if name == "A" else block.T


class Suspects:
    """Instructions through which nothing but what is wrong came to the products, or by which nothing came there."""

    origins: Origins
    wrong: list[Wrong]

    def __init__(self, origins: Origins, numbers: Numbers, chains: Sequence[Chain], wrong: Sequence[Wrong]) -> None:
        self.origins, self._numbers = origins, numbers
        self._tiles = [tile for chain in chains for tile in chain.tiles]
        everything: set[Held] = set()
        for tile in self._tiles if wrong else ():
            for name in tile.recorded.held:
                everything |= _held(tile, name, tile.side(name).numbers != NONE)
        self._total = self._by_place(everything)
        self.wrong = self._decided(wrong)
        self._bad = self._by_place({held for one in self.wrong for held in self._mistaken(one)})

    def _decided(self, wrong: Sequence[Wrong]) -> list[Wrong]:
        """What is wrong; of two operands that do not fit each other it is that by whose way nothing right came."""
        known = {held for one in wrong for held in self._mistaken(one)}
        if_so = {name: self._by_place(known | {held for one in wrong for each in one.either if each.operand == name
                                               for held in self._mistaken(each)}) for name in "AB"}  # fmt: skip
        found = []
        for one in wrong:
            likely = [each for each in one.either if self._suspected(each, if_so[each.operand])]
            found.append(likely[0] if len(likely) == 1 else one)
        return found

    def _by_place(self, held: set[Held]) -> Counter[int]:
        found: Counter[int] = Counter()
        for number, count in Counter([one[-1] for one in held]).items():
            for place in {place for way in self.origins.ways[number] for place in way}:
                found[place] += count
        return found

    def _where(self, one: Wrong) -> Array:
        """Which elements of the operand are wrong."""
        where = np.zeros(one.tile.side(one.operand).numbers.shape, np.bool_)
        where[tuple(np.array(one.places, np.int64).reshape(-1, 2).T)] = True
        return where

    def _mistaken(self, one: Wrong) -> set[Held]:
        """The registers of the operand that hold what is wrong."""
        if one.operand not in one.tile.recorded.held:
            return set()
        return _held(one.tile, one.operand, self._where(one))

    def guilty(self, one: Wrong) -> int | None:
        """The place of the instruction that is wrong, None if it is the product itself or is not known.

        Where both a load and a store to shared memory brought nothing right, it is the load if the element that fits
        was never loaded. Where what is wrong is only old, it is what loads the elements that fit, if nothing that
        it loads comes to a product where it fits, or rather what stores them to shared memory.
        """
        if self._is_exchanged(one):
            return None
        found = self._suspected(one, self._bad)
        if not found:
            return self._lost(one)
        others = [place for place in found if place not in self.origins.loads]
        blamed = [place for place in found if place in self._blamed]
        return (blamed or others or found)[-1]

    def _is_exchanged(self, one: Wrong) -> bool:
        """Whether the element that fits is in another register of the operand, in the same lane, and both came by loads
        of their own: then the product has its registers in a wrong order, rather than several loads their addresses."""
        recorded, side = one.tile.recorded, one.tile.side(one.operand) if one.operand else None
        if side is None or one.wanted is None or one.what != "off" or recorded.in_shared(one.operand):
            return False
        if len({way[0] for held in self._mistaken(one) for way in self.origins.ways[held[-1]] if way}) < 2:
            return False
        places = recorded.execution.places(one.operand)
        lane, register = (_of_block(table, one.tile, one.operand) for table in (places.lane, places.register))
        at = one.places[0]
        found = zip(*np.nonzero(side.numbers == self._numbers.number(*one.wanted)))
        return any(lane[place] == lane[at] and register[place] != register[at] for place in found)

    def _suspected(self, one: Wrong, bad: Counter[int]) -> list[int]:
        """The instructions on the ways of what is wrong that brought nothing right, or little; the first ones last."""
        ways = [way for held in sorted(self._mistaken(one)) for way in self.origins.ways[held[-1]]]
        passed = [place for way in ways for place in way if bad[place]]
        found = [place for place in passed if bad[place] == self._total[place]]
        return found or [place for place in passed if bad[place] >= MOST * self._total[place]]

    @cached_property
    def _blamed(self) -> set[int]:
        """The loads that brought nothing right where elements that fit were never loaded."""
        missing = [one for one in self.wrong if one.wanted is not None and self._loader(*one.wanted) < 0]
        return {place for one in missing for place in self._suspected(one, self._bad)} & self.origins.loads

    def _loader(self, matrix: int, outer: int, k: int) -> int:
        """The place of what loads an element, -1 if nothing does or it is not known."""
        index = self._numbers.index(matrix, np.array([outer]), np.array([k]))
        return int(self.origins.loaded["AB"[matrix - A]][index[0]])

    def _lost(self, one: Wrong) -> int | None:
        place = -1 if one.wanted is None else self._loader(*one.wanted)
        if place < 0 or self._arrived[place]:
            return None
        stores = {way[at - 1] for way in self.origins.every_way for at in range(1, len(way)) if way[at] == place}
        return stores.pop() if len(stores) == 1 else place

    @cached_property
    def _arrived(self) -> Counter[int]:
        """By the place of a load how many of its elements come to products where they fit."""
        off: dict[tuple[int, str], Array] = {}
        for one in self.wrong:
            if one.operand:
                key = id(one.tile), one.operand
                off[key] = off.get(key, False) | self._where(one)
        found: Counter[int] = Counter()
        for tile in self._tiles:
            for name in "AB":
                side = tile.side(name)
                right = side.numbers[(side.numbers > 0) & ~off.get((id(tile), name), np.bool_(False))]
                matrix, outer, k = self._numbers.split(right)
                for which in np.unique(matrix).tolist():
                    own = matrix == which
                    index = self._numbers.index(which, outer[own], k[own])
                    found.update(self.origins.loaded["AB"[which - A]][index].tolist())
        return found

    def came_by(self, one: Wrong) -> tuple[str, ...]:
        """The way of the first wrong register in words, the last instruction first: the longest of several."""
        held = sorted(self._mistaken(one))
        ways = self.origins.ways[held[0][-1]] if held else frozenset()
        machines, steps = self.origins.machines, self.origins.steps
        way = max(sorted(ways), key=len, default=())
        return tuple([machines.described(steps[place]) for place in way])

    def is_lost(self, place: int) -> bool:
        """Whether what an instruction brings comes to no product, rather than wrongly to one."""
        return self._bad[place] < MOST * self._total[place] or not self._bad[place]
