"""What one product of one wave multiplies, read from the numbers of its elements: rows of one matrix by columns of the
other, along k; and which products add to the same sums."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...base.records import TupleRecord
from .tags import FOREIGN, NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...base.arrays import Array
    from .asked import Product
    from .recorder import Recorded

__all__ = ["Chain", "Element", "Numbers", "Side", "Tile", "chains_of", "places_of", "tiles_of"]

A, B = 1, 2


class Element(TupleRecord):
    """An element of A or B by its numbers: matrix ("A", "B"), outer (row of A, column of B), k; both count on from one
    batch to the next."""

    matrix: str
    outer: int
    k: int


class Numbers:
    """Elements by their numbers, and their names. See `Tags`. turned: which of A and B to read the other way round, as
    if the product were with their transposes."""

    product: Product

    def __init__(self, product: Product, turned: str = "") -> None:
        self.product, self._turned = product, turned
        self._of_a = product.batch * product.m * product.k

    def split(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Of each the matrix (0: none; A, B; FOREIGN), row of A or column of B, and k, -1 where there is none."""
        product, of_a = self.product, self._of_a
        is_a = (numbers > 0) & (numbers <= of_a)
        is_b = numbers > of_a
        matrix = np.where(is_a, A, np.where(is_b, B, numbers))
        in_a, in_b = numbers - 1, numbers - 1 - of_a
        batch_b, within = in_b // (product.k * product.n), in_b % (product.k * product.n)
        outer = np.where(is_a, in_a // product.k, np.where(is_b, batch_b * product.n + within % product.n, -1))
        batch_a = in_a // (product.m * product.k)
        depth = np.where(is_a, batch_a * product.k + in_a % product.k,
                         np.where(is_b, batch_b * product.k + within // product.n, -1))  # fmt: skip
        for name, which, sizes in (("A", A, (product.m, product.k)), ("B", B, (product.n, product.k))):
            if name in self._turned:
                batch, row, col = outer // sizes[0], outer % sizes[0], depth % sizes[1]
                own = matrix == which
                outer = np.where(own, batch * sizes[0] + col, outer)
                depth = np.where(own, batch * sizes[1] + row, depth)
        return matrix, outer, depth

    def number(self, matrix: int, outer: int, k: int) -> int:
        """The number of an element."""
        product, batch, inner = self.product, k // self.product.k, k % self.product.k
        if matrix == A:
            return 1 + (batch * product.m + outer % product.m) * product.k + inner
        return 1 + self._of_a + (batch * product.k + inner) * product.n + outer % product.n

    def index(self, matrix: int, outer: Array, k: Array) -> Array:
        """Where elements lie in the array of a matrix."""
        product, held = self.product, self.product.a if matrix == A else self.product.b
        batch, of_outer = k // product.k, product.m if matrix == A else product.n
        row, col = outer % of_outer, k % product.k
        if ("AB"[matrix - A] in self._turned) != ((matrix == B) != held.turned):
            row, col = col, row
        columns = held.array.shape[-1] * held.packed
        found: Array = ((batch * held.array.shape[-2] + row) * columns + col) // held.packed
        return found

    def inside(self, chain: Chain, name: str) -> Array:
        """Which rows of an operand (A, B) of a chain's products do not lie beyond the edge of its matrix: where memory
        goes on from row to row, what lies beyond the end of one is the beginning of the next, so all k are larger."""
        found = np.ones(0, np.bool_)
        for tile in chain.tiles:
            numbers = tile.recorded.a[tile.entry] if name == "A" else tile.recorded.b[tile.entry].T
            matrix, _, depth = self.split(numbers)
            usual, _ = _agreed(depth, matrix > 0, 0)
            shift = np.where(matrix > 0, depth - usual, 0)
            beyond = (matrix > 0).any(1) & (np.where(matrix > 0, shift, 1) > 0).all(1)
            found = ~beyond if not len(found) else found & ~beyond
        return found

    def element(self, number: int) -> Element | None:
        """The element of a number, None of zero and of what is none."""
        matrix, outer, k = (int(part[0]) for part in self.split(np.array([number])))
        return Element("AB"[matrix - 1], outer, k) if matrix in (A, B) else None

    def name(self, element: Element) -> str:
        """An element as A[3][17], with its batch before where there are several."""
        product = self.product
        of_k, of_outer = element.k % product.k, element.outer % (product.m if element.matrix == "A" else product.n)
        batch = f"[{element.k // product.k}]" if product.batch > 1 else ""
        row, col = (of_outer, of_k) if element.matrix == "A" else (of_k, of_outer)
        return f"{element.matrix}{batch}[{row}][{col}]"

    def held(self, number: int) -> str:
        """What a place holds, in words."""
        element = self.element(number)
        if element is not None:
            return self.name(element)
        return "zero" if number == NONE else "a value that is not an element of A or B"


def places_of(mask: Array) -> list[tuple[int, int]]:
    """Where a mask is true: (row, column)."""
    return [(int(row), int(col)) for row, col in zip(*np.nonzero(mask))]


class Side:
    """An operand of a product: rows of A (columns of B) along `outer`, k along `depth`, as most of its elements say.

    matrix: A or B, 0 if it is all zeros. outer: by row. depth: by slot; -1 of those that have no element, or whose slot
    of the other operand is zero. alone: the k of the latter. numbers (row, slot). off: places (row, slot) of elements
    that say otherwise.
    """

    __slots__ = ("alone", "depth", "matrix", "numbers", "off", "outer")
    alone: Array
    depth: Array
    matrix: int
    numbers: Array
    off: list[tuple[int, int]]
    outer: Array

    def __init__(self, numbers: Array, paired: Array, of: Numbers) -> None:
        self.numbers, self.off = numbers, []
        matrix, outer, depth = of.split(numbers)
        known = matrix > 0
        lone = bool(known.any()) and matrix[known].min() == matrix[known].max()
        self.matrix = int(matrix[known][0]) if lone else _vote(matrix[known].tolist(), 0)
        own = known & (matrix == self.matrix)
        self.alone = np.unique(depth[own & ~paired])
        own, matrix = own & paired, np.where(paired, matrix, 0)
        self.outer, even = _agreed(outer, own, 1)
        self.depth, flat = _agreed(depth, own, 0)
        if not (lone and even and flat and (matrix != FOREIGN).all()):
            wrong = (matrix != 0) & ((outer != self.outer[:, None]) | (depth != self.depth) | ~own)
            self.off = places_of(wrong)

    @property
    def every_k(self) -> list[int]:
        """The k of its slots, also of those whose other side is zero."""
        return [*self.depth[self.depth >= 0].tolist(), *self.alone.tolist()]


def _agreed(values: Array, own: Array, axis: int) -> tuple[Array, bool]:
    """Along an axis the value that all (or most) of some places have, -1 where there is none; whether all have it."""
    high = np.where(own, values, -1).max(axis)
    low = np.where(own, values, np.iinfo(np.int64).max).min(axis)
    if (high <= low).all():
        return high, True
    rows = np.moveaxis(np.where(own, values, -1), axis, -1)
    return np.array([_vote([one for one in row if one >= 0], -1) for row in rows.tolist()], np.int64), False


def _vote(values: Sequence[int], default: int) -> int:
    return Counter(values).most_common(1)[0][0] if values else default


class Tile:
    """One product of one wave, of one block: entry of a `Recorded`.

    left, right: the operands. parent: the tile whose sums it adds to, None if it begins with zeros or other values.
    strays: places (row, column) of C that are not from the same place of that tile. begins: whether C holds values that
    are not sums.
    """

    __slots__ = ("begins", "chain", "entry", "left", "parent", "recorded", "right", "strays")
    begins: bool
    chain: Chain
    entry: int
    left: Side
    parent: Tile | None
    recorded: Recorded
    right: Side
    strays: list[tuple[int, int]]

    def __init__(self, recorded: Recorded, entry: int) -> None:
        self.recorded, self.entry = recorded, entry
        self.parent, self.strays, self.begins = None, [], False

    @property
    def block(self) -> int:
        """Which block of the instruction."""
        return self.entry % int(self.recorded.inst.blocks)

    @property
    def wave(self) -> int:
        """Which of the recorded waves."""
        return self.entry // int(self.recorded.inst.blocks)

    @property
    def first(self) -> int:
        """The number of its first sum."""
        return self.recorded.first + self.entry * int(self.recorded.c[0].size)

    def read(self, of: Numbers, rows: Array, columns: Array) -> None:
        """Read the operands, of the rows and columns of D that count."""
        left = np.where(rows[:, None], self.recorded.a[self.entry], NONE)
        right = np.where(columns[:, None], self.recorded.b[self.entry].T, NONE)
        paired = left.any(0) & right.any(0)
        self.left, self.right = Side(left, paired, of), Side(right, paired, of)

    def side(self, name: str) -> Side:
        """The operand that the instruction calls A, or B."""
        return self.left if name == "A" else self.right


class Chain:
    """Tiles that add to the same sums, in their order. rows, columns: those of the left and the right operand, as most
    say of those whose elements fit each other; matrices: which these are."""

    columns: Array
    matrices: tuple[int, int]
    rows: Array
    tiles: list[Tile]

    def __init__(self, tiles: list[Tile]) -> None:
        self.tiles = tiles
        for tile in tiles:
            tile.chain = self

    def read(self, of: Numbers, rows: Array, columns: Array) -> None:
        """Read the operands of its tiles, of the rows and columns of D that count."""
        tiles = self.tiles
        for tile in tiles:
            tile.read(of, rows, columns)
        sides = [[tile.left for tile in tiles if tile.left.matrix], [tile.right for tile in tiles if tile.right.matrix]]
        self.settle(*[_vote([one.matrix for one in some], 0) for some in sides])

    def settle(self, left: int, right: int) -> None:
        """The operands are of these matrices."""
        self.matrices = left, right
        sides = [tile.left for tile in self.tiles], [tile.right for tile in self.tiles]
        self.rows, self.columns = (_voted(some, which) for some, which in zip(sides, self.matrices))

    @property
    def last(self) -> Tile:
        """The one that adds last."""
        return self.tiles[-1]


def _voted(sides: Sequence[Side], matrix: int) -> Array:
    own = [one.outer for one in sides if one.matrix == matrix and not one.off]
    own = own or [one.outer for one in sides if one.matrix == matrix]
    if not own:
        return np.zeros(0, np.int64)
    first = own[0]
    if all(np.array_equal(first, other) for other in own):
        return first
    votes = zip(*[one.tolist() for one in own])
    return np.array([_vote([one for one in row if one >= 0], -1) for row in votes], np.int64)


def _settle(chains: Sequence[Chain]) -> None:
    """Chains of which as many products have A first as B take it as most of all chains do."""
    known = Counter([chain.matrices for chain in chains if 0 not in chain.matrices]).most_common(1)
    usual = known[0][0] if known else (0, 0)
    for chain in chains:
        counts = Counter([(tile.left.matrix, tile.right.matrix) for tile in chain.tiles])
        if chain.matrices != usual and counts[usual] and counts[usual] >= counts[chain.matrices]:
            chain.settle(*usual)


def tiles_of(products: Iterable[Recorded]) -> list[Tile]:
    """The tiles of some products, by their order and entry, with their parents."""
    found: list[Tile] = []
    starts: list[int] = []
    firsts: list[int] = []
    for one in products:
        starts.append(len(found))
        firsts.append(one.first)
        for entry in range(len(one.a)):
            tile = Tile(one, entry)
            _find_parent(tile, found, starts, firsts)
            found.append(tile)
    return found


def _find_parent(tile: Tile, found: Sequence[Tile], starts: Sequence[int], firsts: Sequence[int]) -> None:
    sums: Array = tile.recorded.c[tile.entry]
    if not sums.any():
        return
    if (sums == FOREIGN).any():
        tile.begins = True
    known = sums > 0
    if not known.any():
        return
    first = np.searchsorted(firsts, sums - 1, side="right") - 1
    size = sums.size
    entry = (sums - 1 - np.array(firsts)[first]) // size
    index = np.where(known, np.array(starts)[first] + entry, -1)
    parent = _vote(index[known].tolist(), -1)
    tile.parent = found[parent]
    place = sums - 1 - tile.parent.first
    wrong = place != np.arange(size).reshape(sums.shape)
    if wrong.any():
        tile.strays = places_of(wrong & ((sums > 0) | ~tile.begins))


def chains_of(tiles: Sequence[Tile], of: Numbers, stored: Array) -> list[Chain]:
    """The tiles that add to the same sums. stored: the numbers of the sums that D holds, and 1; empty if that is not
    known. What no D holds does not count: products beyond the edge of a matrix multiply what happens to be there."""
    roots: dict[int, list[Tile]] = {}
    root_of: dict[int, int] = {}
    for tile in tiles:
        root = root_of[id(tile)] = id(tile) if tile.parent is None else root_of[id(tile.parent)]
        roots.setdefault(root, []).append(tile)
    chains = [Chain(some) for some in roots.values()]
    if not len(stored):
        for chain in chains:
            chain.read(of, of.inside(chain, "A"), of.inside(chain, "B"))
        _settle(chains)
        return chains
    masks = {id(chain): [np.zeros(size, np.bool_) for size in chain.last.recorded.c.shape[1:]] for chain in chains}
    numbers = np.unique(stored[stored > 0]) - 1
    at = np.searchsorted([tile.first for tile in tiles], numbers, side="right") - 1
    for which in np.unique(at).tolist():
        tile = tiles[which]
        rows, columns = masks[id(tile.chain)]
        place = numbers[at == which] - tile.first
        rows[place // len(columns)] = columns[place % len(columns)] = True
    for chain in chains:
        rows, columns = masks[id(chain)]
        chain.read(of, rows, columns)
    _settle(chains)
    return [chain for chain in chains if masks[id(chain)][0].any()]
