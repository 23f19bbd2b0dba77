"""Where a kernel goes wrong, from what its products multiply: each tile of D is the sum over k of A[m][k] B[k][n], each
k once, and is stored in its place."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...base.errors import abbreviated, plural
from ...base.records import TupleRecord, json_keys
from .tags import FOREIGN, NONE
from .tiles import A, B, Element, Numbers, chains_of, places_of, tiles_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ...base.arrays import Array
    from .asked import Product
    from .machines import Machines
    from .recorder import Recorded
    from .suspects import Suspects
    from .tiles import Chain, Side, Tile

ORDER = {"A": "first", "B": "second"}
"""What messages call the operands of an instruction, which hold elements of either matrix."""

__all__ = ["ProductFinding", "Verdict", "Wrong", "found_in", "judged", "other_way_round", "runs"]


@json_keys(
    "kind", "place: the address, or the line of PTX", "text", "message", "origin: how a wrong operand came there",
    "workgroup", "wave", "times", "location: FILE:LINE of the source",
)  # fmt: skip
class ProductFinding(TupleRecord):
    """A mistake in what a kernel multiplies, or where it stores it.

    kind: "product". place, text, location: the instruction. message: what is wrong. origin: the instructions through
    which a wrong operand came, the last first. workgroup, wave: where it was first seen. times: of how many tiles.
    """

    kind: str
    place: str
    text: str
    message: str
    origin: tuple[str, ...]
    workgroup: tuple[int, int, int]
    wave: int
    times: int
    location: Any = None

    @property
    def sentence(self) -> str:
        """The finding in words, over one or several lines."""
        more = f" ({plural(self.times, 'time')})" if self.times > 1 else ""
        source = f"\n    at {self.location}" if self.location else ""
        came = "\n    and before by ".join(self.origin)
        came = f"\n    it came by {came}" if came else ""
        return (
            f"{self.kind}: {self.place}: {self.text}: {self.message}; workgroup {self.workgroup}, wave {self.wave}"
            f"{more}{source}{came}"
        )

    def __str__(self) -> str:
        return self.sentence


class Wrong(TupleRecord):
    """Something wrong with a tile. what: of which kind, for those that are the same mistake elsewhere. operand: "A",
    "B" of the instruction, "" if it is none. places: of the operand's elements that are wrong (row, slot). wanted: the
    element that fits the first (matrix, outer, k), None if that is not known. either: what it is if the one operand is
    wrong and if the other is, where that is not known."""

    tile: Tile
    what: str
    operand: str
    message: str
    places: tuple[tuple[int, int], ...] = ()
    wanted: tuple[int, int, int] | None = None
    either: tuple[Any, ...] = ()


class Verdict(TupleRecord):
    """What was found. wrong: by tile. chains. tiles: how many products of a wave there are. foreign: of how many a
    whole operand holds values that are not elements."""

    wrong: list[Wrong]
    chains: list[Chain]
    tiles: int
    foreign: int
    numbers: Numbers


def runs(numbers: Iterable[int]) -> str:
    """Numbers as runs.

    >>> runs([8, 9, 10, 11, 3])
    '3, 8 to 11'
    """
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return abbreviated([str(low) if low == high else f"{low} to {high}" for low, high in found], 6)


def judged(
    products: Sequence[Recorded], product: Product, machines: Machines, stored: Array, turned: str = ""
) -> Verdict:
    """What is wrong with some products, in the order in which they were carried out. stored: as of `chains_of`. turned:
    as of `Numbers`."""
    judge = _Judge(product, machines, turned)
    tiles = tiles_of(products)
    chains = chains_of(tiles, judge.numbers, stored)
    found = {id(chain): list(judge.chain(chain)) for chain in chains}
    if not len(stored):
        chains = judge.needed(chains, [chain for chain in chains if not found[id(chain)]])
    wrong = [one for chain in chains for one in found[id(chain)]]
    wrong += judge.coverage(chains, found)
    foreign = sum(_is_foreign(tile.left) or _is_foreign(tile.right) for chain in chains for tile in chain.tiles)
    wrong.sort(key=lambda one: one.tile.recorded.order)
    return Verdict(wrong, chains, len(tiles), foreign, judge.numbers)


def _is_foreign(side: Side) -> bool:
    """Whether an operand holds no elements as they are, but results of arithmetic."""
    return 4 * int((side.numbers == FOREIGN).sum()) > int((side.numbers != NONE).sum())


class _Judge:
    """Looks at tiles."""

    def __init__(self, product: Product, machines: Machines, turned: str) -> None:
        self.product, self.machines, self.numbers = product, machines, Numbers(product, turned)
        self.depths = set(range(product.batch * product.k))

    # --- one chain of products ---

    def chain(self, chain: Chain) -> Iterator[Wrong]:
        """What is wrong with the products that add to some sums."""
        uses = [Counter([k for tile in chain.tiles for k in tile.side(name).every_k]) for name in "AB"]
        seen: dict[int, Tile] = {}
        for tile in chain.tiles:
            found = list(self._tile(tile, chain, uses)) or list(self._repeated(tile, seen))
            yield from found
            if not found:
                seen.update(dict.fromkeys(tile.left.depth[tile.left.depth >= 0].tolist(), tile))

    def _tile(self, tile: Tile, chain: Chain, uses: Sequence[Counter[int]]) -> Iterator[Wrong]:
        sides, matrices = (tile.left, tile.right), chain.matrices
        if (tile.left.matrix, tile.right.matrix) == matrices[::-1] and matrices in ((A, B), (B, A)):
            which = "AB"[matrices[0] - 1]
            message = f"its operands are exchanged: in the other products of these sums the first is of {which}"
            yield Wrong(tile, "exchanged", "", message)
            return
        found = [wrong for at, name in enumerate("AB") for wrong in self._operand(tile, chain, at, name)]
        yield from found
        if not found and tile.left.matrix and tile.left.matrix == tile.right.matrix:
            yield Wrong(tile, "both", "", f"both operands hold elements of {'AB'[tile.left.matrix - 1]}")
        elif not any(side.off for side in sides) and not any(one.what == "matrix" for one in found):
            yield from self._depths(tile, uses)
        if tile.strays:
            place = self.machines.holder(tile.recorded, "C", *tile.strays[0], tile.block)
            where = f" ({place})" if place else ""
            message = f"adds to sums of other elements{where}: C is not what {self._named(tile.parent)} left"
            yield Wrong(tile, "sums", "", message)

    def _operand(self, tile: Tile, chain: Chain, at: int, name: str) -> Iterator[Wrong]:
        """An operand by itself, and beside those of the products that add to the same sums."""
        side, which, outer = tile.side(name), chain.matrices[at], (chain.rows, chain.columns)[at]
        if side.off:
            yield self._off(tile, name, outer)
        elif side.matrix and side.matrix != which:
            message = (
                f"its {ORDER[name]} operand holds elements of {'AB'[side.matrix - 1]} where the other products of "
                f"these sums have those of {'AB'[which - 1]}"
            )
            yield Wrong(tile, "matrix", name, message, _places(side))
        elif side.matrix and len(outer) == len(side.outer):
            rows = np.flatnonzero((side.outer != outer) & (side.outer >= 0) & (outer >= 0))
            if len(rows):
                yield self._other_rows(tile, name, side, outer, rows)

    def _named(self, tile: Tile | None) -> str:
        if tile is None:
            return "the product before"
        return f"the product at {self.machines.place_text(self.machines.place(tile.recorded.step))}"

    def _holder(self, tile: Tile, name: str, row: int, slot: int) -> str:
        at = (row, slot) if name == "A" else (slot, row)
        return self.machines.holder(tile.recorded, name, *at, tile.block) or f"its {ORDER[name]} operand"

    def _off(self, tile: Tile, name: str, rows: Array) -> Wrong:
        """Elements that do not fit the others of their operand; where they fit each other, and the other operand is
        even, those that do not fit that, and the rows of the other products."""
        side, other = tile.side(name), tile.side("B" if name == "A" else "A")
        outer, depth, off = side.outer, side.depth, side.off
        if not other.off and len(other.depth) == len(depth) and other.matrix != side.matrix:
            outer = np.where(rows >= 0, rows, outer) if len(rows) == len(outer) else outer
            depth = np.where(other.depth >= 0, other.depth, depth)
            off = self._unlike(side, outer, depth) or off
        row, slot = off[0]
        held = self.numbers.held(int(side.numbers[row, slot]))
        message, fits = f"{self._holder(tile, name, row, slot)} holds {held}", None
        if side.matrix and outer[row] >= 0 and depth[slot] >= 0:
            wanted = Element("AB"[side.matrix - 1], int(outer[row]), int(depth[slot]))
            message += f", where {self.numbers.name(wanted)} fits the others"
            fits = side.matrix, wanted.outer, wanted.k
        if len(off) > 1:
            message += f"; {len(off)} elements of {side.numbers.size} of that operand are wrong so"
        return Wrong(tile, "off", name, message, tuple(off), fits)

    def _unlike(self, side: Side, outer: Array, depth: Array) -> list[tuple[int, int]]:
        """The places of elements that are not those of some rows and k."""
        matrix, of_outer, of_depth = self.numbers.split(side.numbers)
        wrong = (matrix != 0) & (depth >= 0)
        wrong &= (matrix != side.matrix) | (of_outer != outer[:, None]) | (of_depth != depth)
        return places_of(wrong)

    def _other_rows(self, tile: Tile, name: str, side: Side, outer: Array, rows: Array) -> Wrong:
        row = int(rows[0])
        slot = int(np.flatnonzero(side.depth >= 0)[0])
        what = "rows" if side.matrix == A else "columns"
        k = int(side.depth[slot])
        wanted = Element("AB"[side.matrix - 1], int(outer[row]), k)
        message = (
            f"adds {what} {self._outer(side.outer[rows], side.matrix)} of {'AB'[side.matrix - 1]} to the sums of "
            f"{what} {self._outer(outer[rows], side.matrix)}: {self._holder(tile, name, row, slot)} holds "
            f"{self.numbers.held(int(side.numbers[row, slot]))}, where {self.numbers.name(wanted)} fits"
        )
        places = tuple([(int(row), int(slot)) for row in rows for slot in np.flatnonzero(side.depth >= 0)])
        return Wrong(tile, "rows", name, message, places, (side.matrix, wanted.outer, wanted.k))

    def _outer(self, outer: Array, matrix: int) -> str:
        size = self.product.m if matrix == A else self.product.n
        return runs([one % size for one in outer.tolist()])

    def _k(self, depths: Iterable[int]) -> str:
        return runs([k % self.product.k for k in depths])

    def _depths(self, tile: Tile, uses: Sequence[Counter[int]]) -> Iterator[Wrong]:
        """The k of A's elements and of B's are the same, slot by slot."""
        left, right = tile.left.depth, tile.right.depth
        if len(left) != len(right):
            return
        slots = np.flatnonzero((left != right) & (left >= 0) & (right >= 0))
        if not len(slots):
            return
        slot = int(slots[0])
        guilty = self._guilty(left[slots].tolist(), right[slots].tolist(), uses)
        ks = [self._k(one[slots].tolist()) for one in (left, right)]
        matrices = ["AB"[side.matrix - 1] for side in (tile.left, tile.right)]
        if ks[0] == ks[1]:  # in another order
            ks = [self._k([int(one[slot])]) for one in (left, right)]
        message = f"multiplies k = {ks[0]} of {matrices[0]} by k = {ks[1]} of {matrices[1]}"
        if guilty:
            yield self._wrong_k(tile, guilty, slots, message)
        else:
            either = self._wrong_k(tile, "A", slots, message), self._wrong_k(tile, "B", slots, message)
            yield Wrong(tile, "k", "", message, either=either)

    def _wrong_k(self, tile: Tile, guilty: str, slots: Array, message: str) -> Wrong:
        """What is wrong if an operand (A, B) is, whose slots have another k than those of the other one."""
        side, other, slot = tile.side(guilty), tile.side("B" if guilty == "A" else "A").depth, int(slots[0])
        row = int(np.flatnonzero(side.outer >= 0)[0])
        wanted = Element("AB"[side.matrix - 1], int(side.outer[row]), int(other[slot]))
        message += (
            f": {self._holder(tile, guilty, row, slot)} holds {self.numbers.held(int(side.numbers[row, slot]))}, where "
            f"{self.numbers.name(wanted)} fits"
        )
        places = tuple([(int(row), int(slot)) for row in np.flatnonzero(side.outer >= 0) for slot in slots])
        return Wrong(tile, "k", guilty, message, places, (side.matrix, wanted.outer, wanted.k))

    def _guilty(self, left: Sequence[int], right: Sequence[int], uses: Sequence[Counter[int]]) -> str:
        """Which operand has the wrong k: that whose k comes twice in these sums, or whose k leave some out."""
        twice = [any(used[k] > 1 for k in some) for some, used in zip((left, right), uses)]
        if twice[0] != twice[1]:
            return "A" if twice[0] else "B"
        lacks = [set(used) != self.depths for used in uses]
        if lacks[0] != lacks[1]:
            return "A" if lacks[0] else "B"
        return ""

    def _repeated(self, tile: Tile, seen: dict[int, Tile]) -> Iterator[Wrong]:
        again = [k for k in tile.left.depth.tolist() if k in seen]
        own = [k for k, count in Counter(tile.left.depth[tile.left.depth >= 0].tolist()).items() if count > 1]
        if again:
            message = f"k = {self._k(again)} is added to these sums a second time, after {self._named(seen[again[0]])}"
            yield Wrong(tile, "again", "", message)
        elif own:
            yield Wrong(tile, "again", "", f"k = {self._k(own)} is multiplied twice by one instruction")

    # --- all chains ---

    def needed(self, chains: Sequence[Chain], right: Sequence[Chain]) -> list[Chain]:
        """Chains without those whose elements of D others make up rightly: where it is not known what D holds, that is
        what a tile looks like that lies beyond the edge, since rows go on in memory as the next."""
        product = self.product
        made = np.zeros((product.batch * product.m, product.n), np.int64)
        for chain in right:
            rows, columns = self._of_d(chain)
            made[np.ix_(rows, columns)] += len({k for tile in chain.tiles for k in tile.left.depth.tolist() if k >= 0})
        kept, known = [], {id(chain) for chain in right}
        for chain in chains:
            rows, columns = self._of_d(chain)
            if id(chain) in known or not len(rows) or not len(columns) or made[np.ix_(rows, columns)].min() < product.k:
                kept.append(chain)
        return kept

    def _of_d(self, chain: Chain) -> tuple[Array, Array]:
        """The rows of D, batches one after the other, and the columns that a chain adds up."""
        rows, columns = (chain.rows, chain.columns) if chain.matrices[0] == A else (chain.columns, chain.rows)
        return np.unique(rows[rows >= 0]), np.unique(columns[columns >= 0] % self.product.n)

    def coverage(self, chains: Sequence[Chain], wrong: Mapping[int, Sequence[Wrong]]) -> Iterator[Wrong]:
        """Products that are never made: of tiles of D that have some, and of which nothing else is wrong."""
        made: dict[tuple[bytes, bytes], tuple[set[int], list[Chain]]] = {}
        for chain in chains:
            if 0 in chain.matrices or chain.matrices[0] == chain.matrices[1]:
                continue
            key = chain.rows.tobytes(), chain.columns.tobytes()
            known, some = made.setdefault(key, (set(), []))
            some.append(chain)
            for tile in chain.tiles:
                left, right = tile.left.depth, tile.right.depth
                both = (left >= 0) & (right >= 0) if len(left) == len(right) else np.zeros(len(left), np.bool_)
                known.update(left[both].tolist(), right[both].tolist())
        for known, some in made.values():
            batches = {k // self.product.k for k in known}
            wanted = {batch * self.product.k + k for batch in batches for k in range(self.product.k)}
            missing = wanted - known
            if missing and not any(wrong[id(chain)] for chain in some):
                yield self._missing(missing, some)

    def _missing(self, missing: set[int], chains: Sequence[Chain]) -> Wrong:
        for tile in (tile for chain in chains for tile in chain.tiles):
            for name, other in (("A", tile.right), ("B", tile.left)):
                if not tile.side(name).matrix and (lost := missing & set(other.alone.tolist())):
                    message = f"its {ORDER[name]} operand is zero where k = {self._k(lost)} of " \
                              f"{'AB'[other.matrix - 1]} come"  # fmt: skip
                    return Wrong(tile, "zero", name, message, tuple(np.ndindex(*tile.side(name).numbers.shape)))
        message = f"is the last product of its sums, which lack k = {self._k(missing)}: that is never multiplied"
        return Wrong(chains[-1].last, "missing", "", message)


def _places(side: Side) -> tuple[tuple[int, int], ...]:
    """Where an operand has elements."""
    return tuple(places_of(side.numbers > 0))


def other_way_round(
    verdict: Verdict, products: Sequence[Recorded], product: Product, machines: Machines, stored: Array
) -> Wrong | None:
    """What is wrong with nearly all products at once: that matrices are taken the other way round."""
    if 2 * len({id(one.tile) for one in verdict.wrong}) <= sum(len(chain.tiles) for chain in verdict.chains):
        return None
    square = "".join([name for name, size in (("A", product.m), ("B", product.n)) if size == product.k])
    for turned in (square, *square) if len(square) > 1 else square:
        if not judged(products, product, machines, stored, turned).wrong:
            sides = " and ".join(turned)
            are = "are" if len(turned) > 1 else "is"
            together = f"all products together are {_turned_text(product, turned)}"
            return Wrong(verdict.wrong[0].tile, "turned", "", f"{together}: {sides} {are} taken the other way round")
    return None


def _turned_text(product: Product, turned: str) -> str:
    sides = (("", product.d), ("A", product.a), ("B", product.b))
    d, a, b = (one.name + (".T" if one.turned != (name != "" and name in turned) else "") for name, one in sides)
    return f"{d} = {a} @ {b}"


def found_in(machines: Machines, suspects: Suspects) -> list[ProductFinding]:
    """Findings: what one instruction makes wrong is one, and so is what is wrong in one way with an operand of one."""
    groups: dict[tuple[Any, ...], list[Wrong]] = {}
    guilty: dict[tuple[Any, ...], int | None] = {}
    for one in suspects.wrong:
        place = suspects.guilty(one) if one.operand else None
        key = (place,) if place is not None else (machines.place(one.tile.recorded.step), one.what, one.operand)
        groups.setdefault(key, []).append(one)
        guilty[key] = place
    return [_finding(some, guilty[key], machines, suspects) for key, some in groups.items()]


def _finding(some: Sequence[Wrong], guilty: int | None, machines: Machines, suspects: Suspects) -> ProductFinding:
    first = some[0]
    recorded = first.tile.recorded
    wave, step, message = recorded.waves[first.tile.wave], recorded.step, first.message
    if guilty is not None:
        step = suspects.origins.steps[guilty]
        product = f"{machines.place_text(machines.place(recorded.step))} ({machines.text(recorded.step)})"
        brings = "it loads comes where it fits" if suspects.is_lost(guilty) else "it brings fits"
        message = f"nothing that {brings}: the product at {product} {message}"
    origin = suspects.came_by(first) if first.operand else ()
    computed = suspects.origins.computed.get(guilty, ()) if guilty is not None else ()
    if computed:
        message += f". Its address is by {' and by '.join(map(machines.described, computed))}"
    return ProductFinding("product", machines.place_text(machines.place(step)), machines.text(step), message, origin,
                          (*wave.workgroup,), wave.number, len(some), machines.location(step))  # fmt: skip
