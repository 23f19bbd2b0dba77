"""A whole operand: the places of every element (-R), and the elements in every register of every lane (-M).

A place is a sum of one-dimensional tables (see `mmacalc.layout`), and that sum is the answer: the slots of all lanes
are numbered through, lane by lane, and the slot of an element is a start plus what its row and its column add. So a
reader adds two numbers for each element instead of asking `Operand.locate`: whole tables are what users print most of.
"""

from __future__ import annotations

from functools import lru_cache

from ..records import Record, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model import Location, Operand

__all__ = ["BlockPlaces", "MatrixLayout", "RegisterColumn", "RegisterLayout", "matrix_layout", "register_layout"]


class BlockPlaces(Record):
    """Where one block begins, or several that CBSZ makes read the same registers.

    Attributes:
        blocks: their numbers. starts: for each copy of the elements (one, unless they are replicated), its first slot.
    """

    blocks: tuple[int, ...]
    starts: tuple[int, ...]


class RegisterLayout(Record):
    """The places of every element of an operand: in slot `start + rows[row] + columns[col]` of `places`.

    Attributes:
        operand: which, under its modifiers. blocks: their starts. rows, columns: what each row and column adds.
        places: by slot, the lane and the item as one number, lane * items + item.
        locations: by item, its Location in lane 0. signs: by item, what the instruction does to its sign.
    """

    operand: Operand
    blocks: tuple[BlockPlaces, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    places: Sequence[int]
    locations: tuple[Location, ...]
    signs: tuple[str, ...]


class RegisterColumn(TupleRecord):
    """The bits that one item has in one register: lsb and width, 0 and 64 in both registers of a pair."""

    register: int
    item: int
    lsb: int
    width: int
    sign: str


class MatrixLayout(Record):
    """The elements in every register of every lane of an operand.

    Attributes:
        operand: which, under its modifiers. columns: the items of each register, lowest bits first.
        held: by item and lane, the numbers of the elements there, (block * rows + row) * columns + col: by block, then
            by row (of B by column), then by k.
    """

    operand: Operand
    columns: tuple[RegisterColumn, ...]
    held: tuple[tuple[tuple[int, ...], ...], ...]

    def element(self, number: int) -> tuple[int, int, int]:
        """The row, column and block of an element."""
        _, rows, columns = self.operand.shape
        return number // columns % rows, number % columns, number // (rows * columns)


@lru_cache(maxsize=256)
def register_layout(operand: Operand) -> RegisterLayout:
    """The places of every element.

    >>> import mmacalc
    >>> layout = register_layout(mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A"))
    >>> place = layout.places[layout.blocks[0].starts[0] + layout.rows[3] + layout.columns[9]]
    >>> divmod(place, layout.operand.items)
    (35, 1)
    """
    placement, items = operand.placement, operand.items
    merge = placement.merge
    per_lane = items * merge
    groups: dict[tuple[int, int], list[int]] = {}
    for block, step in enumerate(operand.steps("block")):
        groups.setdefault(step, []).append(block)
    copies = operand.copies()
    blocks = [
        BlockPlaces(tuple(numbers), tuple([(lane + x) * per_lane + slot + y for x, y in copies]))
        for (lane, slot), numbers in groups.items()
    ]
    rows, columns = [tuple([lane * per_lane + slot for lane, slot in operand.steps(axis)]) for axis in operand.axes[1:]]
    places: Sequence[int] = range(operand.lanes * items)
    if merge > 1 or placement.lanes:
        read = placement.lanes or int
        places = [read(slot // per_lane) * items + slot % per_lane // merge for slot in range(operand.lanes * per_lane)]
    locations = tuple([operand.slot(0, item) for item in range(items)])
    low_high = (operand.sign(0), operand.sign(16))  # there are no others
    signs = tuple([low_high[location.lsb >= 16] for location in locations])
    return RegisterLayout(operand, tuple(blocks), rows, columns, places, locations, signs)


@lru_cache(maxsize=256)
def matrix_layout(operand: Operand) -> MatrixLayout:
    """The elements in every register of every lane.

    >>> import mmacalc
    >>> layout = matrix_layout(mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A"))
    >>> [layout.element(number) for number in layout.held[1][35]]
    [(3, 9, 0)]
    """
    columns, low_high = [], (operand.sign(0), operand.sign(16))
    for register in range(operand.registers):
        for item in operand.items_in(register):
            first, last = operand.bits_in(item, register)
            columns.append(RegisterColumn(register, item, first, last - first + 1, low_high[first >= 16]))
    return MatrixLayout(operand, tuple(columns), _held(operand))


def _held(operand: Operand) -> tuple[tuple[tuple[int, ...], ...], ...]:
    layout, items, (_, row_count, column_count) = register_layout(operand), operand.items, operand.shape
    outer, inner, outer_step, step = layout.rows, layout.columns, column_count, 1
    if operand.axes[1] == "k":
        outer, inner, outer_step, step = inner, outer, step, outer_step
    cells: list[tuple[int, ...]] = [()] * (operand.lanes * items)
    lists: dict[int, list[int]] = {}
    singles = _singles(operand.shape[0] * row_count * column_count)
    several = operand.placement.merge > 1 or operand.placement.lanes or operand.layout.shared  # elements in one place
    for group in layout.blocks:
        for block in group.blocks:
            for line, base in enumerate(outer):
                first = block * row_count * column_count + line * outer_step
                numbers = slice(first, first + step * len(inner), step)
                for start in group.starts:
                    at = start + base
                    if several:
                        for (number,), more in zip(singles[numbers], inner):
                            lists.setdefault(layout.places[at + more], []).append(number)
                    else:
                        for cell, more in zip(singles[numbers], inner):
                            cells[at + more] = cell
    for place, found in lists.items():
        cells[place] = tuple(found)
    return tuple([tuple(cells[item::items]) for item in range(items)])


@lru_cache(maxsize=64)
def _singles(count: int) -> list[tuple[int, ...]]:
    """The numbers below `count`, each as a tuple of its own: shared, since most places have one element."""
    return [(number,) for number in range(count)]
