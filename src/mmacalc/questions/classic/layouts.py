"""A whole operand: the places of every element (-R), and the elements in every register of every lane (-M).

A place is a sum of one-dimensional tables (see `mmacalc.layout`), and that sum is the answer: the slots of all lanes
are numbered through, lane by lane, and the slot of an element is a start plus what its row and its column add. So a
reader adds two numbers for each element instead of asking `Operand.locate`: whole tables are what users print most of.
"""

from __future__ import annotations

from functools import lru_cache

from ...base.records import Record, TupleRecord, json_keys
from ...command import tables
from ...model import Element
from ...spelling import heading, run_text, signed, spelling_of, transposition_note
from . import quirks
from .places import HeldPlace, sign_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...model import Location, Operand


class BlockPlaces(Record):
    """Where one block begins, or several that CBSZ makes read the same registers.

    Attributes:
        blocks: their numbers. starts: for each copy of the elements (one, unless they are replicated), its first slot.
    """

    blocks: tuple[int, ...]
    starts: tuple[int, ...]


class SignedPlace(TupleRecord):
    """A location, with what the instruction does to the sign of what it reads there."""

    lane: int
    item: int
    register: int
    lsb: int
    width: int
    negated: bool | None
    negated_half: str | None
    absolute: bool


@json_keys("**operand", "axes=operand.axes", "locations=by_element: [block][row][column][copy]")
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

    @property
    def by_element(self) -> list[list[list[list[SignedPlace]]]]:
        """The locations by block, row, column and copy."""
        found: dict[int, list[list[list[SignedPlace]]]] = {}
        for group in self.blocks:
            places = [[self._copies(group, row + column) for column in self.columns] for row in self.rows]
            found |= dict.fromkeys(group.blocks, places)
        return [found[number] for number in sorted(found)]

    def _copies(self, group: BlockPlaces, step: int) -> list[SignedPlace]:
        items, found = len(self.locations), []
        for place in sorted({self.places[start + step] for start in group.starts}):
            lane, item = divmod(place, items)
            found.append(SignedPlace(lane, *self.locations[item][1:], *sign_of(self.signs[item])))
        return found


class RegisterColumn(TupleRecord):
    """The bits that one item has in one register: lsb and width, 0 and 64 in both registers of a pair."""

    register: int
    item: int
    lsb: int
    width: int
    sign: str


@json_keys("**operand", "axes=operand.axes", "elements: [register][lane][element]")
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

    @property
    def elements(self) -> list[list[list[HeldPlace]]]:
        """The elements by register and lane, with their places."""
        registers = range(self.operand.registers)
        columns = [[column for column in self.columns if column.register == register] for register in registers]
        return [
            [[held for column in each for held in self._held(column, lane)] for lane in range(self.operand.lanes)]
            for each in columns
        ]

    def _held(self, column: RegisterColumn, lane: int) -> list[HeldPlace]:
        where = (self.operand, column.register, lane)
        found = [Element(*self.element(number), column.lsb, column.width) for number in self.held[column.item][lane]]
        return [HeldPlace(*where, element, column.sign) for element in found]

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
    per_location = placement.slots_per_location
    per_lane = items * per_location
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
    if per_location > 1 or placement.lanes:
        read = placement.lanes or int
        slots = range(operand.lanes * per_lane)
        places = [read(slot // per_lane) * items + slot % per_lane // per_location for slot in slots]
    locations = tuple([operand.location_of_item(0, item) for item in range(items)])
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
    placement = operand.placement  # several: elements in one place
    several = placement.slots_per_location > 1 or placement.lanes or operand.layout.shared
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


# What the two printed coordinates of each operand run over, as AMD's tool heads its tables.
_EXTENTS = {"i": "M", "j": "N", "k": "K"}


def text(layout: RegisterLayout, style: str = "grid", transpose: bool = False) -> str:
    """For every element its registers and lanes, a table for each block."""
    operand = layout.operand
    parts = [heading(operand.instruction, operand)]
    for number, group in enumerate(layout.blocks):
        rows = block_cells(layout, number)
        names = [_EXTENTS[axis] for axis in operand.axes[1:]]
        if transposition_note(operand.instruction):
            names = names[::-1]
        if transpose:
            rows, names = tuple(zip(*rows)), names[::-1]
        header = [f"{operand.name}[{names[0]}][{names[1]}]", *map(str, range(len(rows[0])))]
        if operand.instruction.architecture.family.blocks or operand.shape[0] > 1:
            parts.append(f"Block{'s' * (len(group.blocks) > 1)} {', '.join(map(str, group.blocks))}\n")
        parts.append(tables.write(header, [(str(n), *row) for n, row in enumerate(rows)], style, ruled=True))
    return "".join(parts)


@lru_cache(maxsize=256)
def block_cells(layout: RegisterLayout, group: int) -> tuple[tuple[str, ...], ...]:
    """The locations of every element of a group of blocks as text, by row and column, a line for each copy."""
    texts, columns, by_copy = _slot_texts(layout), layout.columns, []
    for start in layout.blocks[group].starts:
        bases = [start + row for row in layout.rows]
        by_copy.append([tuple([texts[base + column] for column in columns]) for base in bases])
    if len(by_copy) == 1:
        return tuple(by_copy[0])
    return tuple(tuple(map("\n".join, zip(*rows))) for rows in zip(*by_copy))


def _marked(signs: str) -> Callable[[str], str]:
    return lambda text: signed(text, signs)


@lru_cache(maxsize=256)
def _slot_texts(layout: RegisterLayout) -> list[str]:
    """The text of every slot's place; a line for each register that it straddles."""
    operand = layout.operand
    lane_texts, own = spelling_of(operand).lane_texts, quirks.has_own_signs(operand)
    by_item = []
    for location, sign in zip(layout.locations, layout.signs):
        signs = quirks.sign(operand, location.lsb) if own else sign
        by_item.append(lane_texts(operand, location, _marked(signs)))
    texts = [text for lane in zip(*by_item) for text in lane]
    return [texts[place] for place in layout.places]


def notes(layout: RegisterLayout) -> tuple[str, ...]:
    """What a reader of the text should know besides."""
    return quirks.sign_notes(layout.operand) if layout.operand.name == "A" else ()


def matrix_text(layout: MatrixLayout, style: str = "grid", transpose: bool = False) -> str:
    """For every register, and every lane that holds something, the elements there."""
    operand, columns = layout.operand, register_columns(layout)
    lanes = [str(lane) for lane, cells in enumerate(zip(*(cells for _, cells in columns))) if any(cells)]
    if len(lanes) < operand.lanes:
        columns = tuple((title, [cells[int(lane)] for lane in lanes]) for title, cells in columns)
    if transpose:
        table = tables.write(
            [spelling_of(operand).lane, *lanes], [(title, *cells) for title, cells in columns], style, ruled=True
        )
    else:
        header = [spelling_of(operand).lane, *(title for title, _ in columns)]
        table = tables.write(header, list(zip(lanes, *(cells for _, cells in columns))), style, ruled=True)
    return heading(operand.instruction, operand) + table


@lru_cache(maxsize=256)
def register_columns(layout: MatrixLayout) -> tuple[tuple[str, Sequence[str]], ...]:
    """For each item in each register, its title and, lane by lane, the elements it holds, a line for each.

    A register pair counts once, at its first register; items that hold nothing are left out.
    """
    operand, title = layout.operand, spelling_of(layout.operand).column_title
    texts, own, found = _cell_texts(layout), quirks.has_own_signs(operand), []
    for column in layout.columns:
        if any(layout.held[column.item]) and not (column.width == 64 and column.register % 2):
            sign = quirks.sign(operand, column.lsb) if own else column.sign
            found.append((title(operand, column), _signed_cells(texts[column.item], sign)))
    return tuple(found)


def _signed_cells(cells: Sequence[str], signs: str) -> Sequence[str]:
    if signs not in ("-", "|", "-|"):
        return cells
    return ["\n".join([signed(line, signs) for line in cell.split("\n")]) if cell else "" for cell in cells]


def _cell_texts(layout: MatrixLayout) -> list[list[str]]:
    """By item and lane, the names of the elements, a line for each."""
    operand = layout.operand
    if operand.name in ("SA", "SB"):
        return [[_scale_text(layout, cell) for cell in cells] for cells in layout.held]
    names = _names(operand.name, operand.shape, operand.instruction.blocks > 1)
    try:
        return [[names[number] for (number,) in cells] for cells in layout.held]
    except ValueError:  # not one element in every cell
        return [["\n".join([names[number] for number in cell]) for cell in cells] for cells in layout.held]


@lru_cache(maxsize=64)
def _names(operand: str, shape: tuple[int, ...], with_block: bool) -> list[str]:
    """The name of every element, by its number."""
    blocks, rows, columns = shape
    suffixes = [f".B{block}" for block in range(blocks)] if with_block else [""]
    heads, tails = ([f"[{number}]" for number in range(count)] for count in (rows, columns))
    lines = [f"{operand}{head}" for head in heads]
    return [line + tail + suffix for suffix in suffixes for line in lines for tail in tails]


def _scale_text(layout: MatrixLayout, cell: tuple[int, ...]) -> str:
    """A scale is named once, with the run of k that it scales."""
    if not cell:
        return ""
    (row, col, _), (last_row, last_col, _) = layout.element(cell[0]), layout.element(cell[-1])
    return run_text(layout.operand, range(row, last_row + 1), range(col, last_col + 1))


def matrix_notes(layout: MatrixLayout) -> tuple[str, ...]:
    """What a reader of the text should know besides."""
    return quirks.sign_notes(layout.operand) if layout.operand.name == "A" else ()
