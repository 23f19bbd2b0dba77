"""A whole operand: the places of every element (-R), and the elements in every register of every lane (-M).

A place is a sum of one-dimensional tables (see `mmacalc.layout`), so both directions add integers for each element
instead of asking `Operand.locate` or `Operand.contents`: whole tables are what users print most of. Places and
elements are numbers here, `lane * items + item` and `(block * rows + row) * columns + col`.
"""

from __future__ import annotations

from functools import lru_cache

from ..records import Record
from .output_terms import sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Location, Operand

    Rows = tuple[tuple[int, ...], ...]

__all__ = ["BlockPlaces", "MatrixLayout", "RegisterColumn", "RegisterLayout", "matrix_layout", "register_layout"]


class BlockPlaces(Record):
    """The places of the elements of one block, or of several that CBSZ makes read the same registers.

    Attributes:
        blocks: their numbers. copies: for each copy of the elements (one, unless they are replicated), the places by
            row and column.
    """

    blocks: tuple[int, ...]
    copies: tuple[Rows, ...]


class RegisterLayout(Record):
    """The places of every element of an operand.

    Attributes:
        operand: which, under its modifiers. blocks: the places, block by block.
        slots: the Location of each item in lane 0. signs: what the instruction does to the sign of each item.
    """

    operand: Operand
    blocks: tuple[BlockPlaces, ...]
    slots: tuple[Location, ...]
    signs: tuple[str, ...]


class RegisterColumn(Record):
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
        held: by item and lane, the numbers of the elements there: by block, then by row (of B by column), then by k.
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
    >>> place = layout.blocks[0].copies[0][3][9]
    >>> divmod(place, layout.operand.items)
    (35, 1)
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for block, step in enumerate(operand.steps("block")):
        groups.setdefault(step, []).append(block)
    slots = tuple([operand.slot(0, item) for item in range(operand.items)])
    return RegisterLayout(
        operand,
        tuple([BlockPlaces(tuple(blocks), _copies(operand, step)) for step, blocks in groups.items()]),
        slots,
        tuple([sign(operand, slot.lsb) for slot in slots]),
    )


def _copies(operand: Operand, block: tuple[int, int]) -> tuple[Rows, ...]:
    merge, items, read = operand.placement.merge, operand.items, operand.placement.lanes
    per_lane = items * merge  # a place in unmerged slots, which are what adds up
    rows, columns = ([lane * per_lane + slot for lane, slot in operand.steps(axis)] for axis in operand.axes[1:])
    copies = []
    for lane, slot in operand.copies():
        start = (block[0] + lane) * per_lane + block[1] + slot
        places = [[start + row + column for column in columns] for row in rows]
        if merge > 1:
            places = [[place // merge for place in row] for row in places]
        if read:
            places = [[read(place // items) * items + place % items for place in row] for row in places]
        copies.append(tuple(map(tuple, places)))
    return tuple(copies)


@lru_cache(maxsize=256)
def matrix_layout(operand: Operand) -> MatrixLayout:
    """The elements in every register of every lane.

    >>> import mmacalc
    >>> layout = matrix_layout(mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A"))
    >>> [layout.element(number) for number in layout.held[1][35]]
    [(3, 9, 0)]
    """
    columns = []
    for register in range(operand.registers):
        for item in operand.items_in(register):
            first, last = operand.bits_in(item, register)
            columns.append(RegisterColumn(register, item, first, last - first + 1, sign(operand, first)))
    return MatrixLayout(operand, tuple(columns), _held(operand))


def _held(operand: Operand) -> tuple[tuple[tuple[int, ...], ...], ...]:
    by_column = operand.axes[1] == "k"
    _, row_count, column_count = operand.shape
    cells: list[tuple[int, ...]] = [()] * (operand.lanes * operand.items)
    for group in register_layout(operand).blocks:
        for block in group.blocks:
            first = block * row_count * column_count
            numbers = [range(first + row * column_count, first + (row + 1) * column_count) for row in range(row_count)]
            for copy in group.copies:
                pairs = zip(zip(*numbers), zip(*copy)) if by_column else zip(numbers, copy)
                for line, places in pairs:
                    for number, place in zip(line, places):
                        cells[place] += (number,)
    return tuple([tuple(cells[item :: operand.items]) for item in range(operand.items)])
