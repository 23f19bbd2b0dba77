"""What a picture of an operand shows: its axes, tiles, blocks and lanes, without any text or size on paper.

The picture draws runs, not cells. Neighbours that lie in one lane are one tile with one number; a 32 x 32 result
of an MFMA has 1024 elements and 256 tiles. And it draws the layout itself: a place is a sum, lane = row part +
column part, slot = row part + column part (see `mmacalc.layout`), and those parts stand at the edges.

Colour says the lane in two parts. The hue is the lane digit with the fewest values, the shade all the others. Of
lane (m j), m=2, j=32, two hues show the two halves of the wave, and the shade runs along j.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ..base.errors import Error, did_you_mean
from ..base.records import cached_property
from ..layout import Layout
from ..spelling import ranges, register_text, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..model import Location, Operand

__all__ = [
    "Axis",
    "bits_text",
    "Colour",
    "ColourOf",
    "held_text",
    "Matrix",
    "matrix",
    "operand_title",
    "slot_text",
    "with_sign",
]

HUES = 4  # as many as people tell apart, colour-blind or not: see `mmacalc.drawing.scene`


class Colour(NamedTuple):
    """A colour before it is one: which ramp, and how far along it (0 to 1)."""

    hue: int
    shade: float


class ColourOf(NamedTuple):
    """What colours elements: the colour of (block, row, column), and whether it is that of the element's lane."""

    function: Callable[[int, int, int], Colour]
    shows_lane: bool = False

    def __call__(self, block: int, row: int, column: int) -> Colour:
        """The colour of an element."""
        return self.function(block, row, column)

    def along(self, block: int, row: int, columns: Iterable[int]) -> list[Colour]:
        """The colours of some elements of a row."""
        return [self.function(block, row, column) for column in columns]


class Axis(NamedTuple):
    """One coordinate of an operand.

    Attributes:
        name: i, j, k or block; digits: the name and size of each of its digits, most significant first.
        steps: what each value adds to the lane and to the slot.
        run: how many neighbours lie in one lane, a tile's length; merged: how many share one place.
        period: after how many values nothing but the slot changes, where that happens 4 times or more; else 0.
        repeated: the digit that counts these repetitions, "" without a period. Before it there may be digits of waves,
            each with all repetitions.
    """

    name: str
    digits: tuple[tuple[str, int], ...]
    steps: tuple[tuple[int, int], ...]
    run: int
    merged: int
    period: int
    repeated: str

    @property
    def extent(self) -> int:
        """The number of values."""
        return len(self.steps)

    @property
    def moves_lane(self) -> bool:
        """Whether its values differ in the lane."""
        return any(lane for lane, _ in self.steps)

    @property
    def moves_slot(self) -> bool:
        """Whether its values differ in the slot."""
        return any(slot for _, slot in self.steps)

    def digit(self, name: str, value: int) -> int:
        """The value of one of the digits at a value of the coordinate."""
        weight = prod(size for _, size in self.digits)  # an axis may end before its digits do
        for digit, size in self.digits:
            weight //= size
            if digit == name:
                return value // weight % size
        raise KeyError(name)


class Matrix:
    """All that a picture of one operand shows. Immutable.

    Attributes:
        operand: whose picture it is; blocks, rows, columns: its axes; lanes: how many lanes the wave has.
        copies: what each copy of an element adds to its lane and slot, the first of them the selectors' part.
        read: the lane that is read instead of each lane of the layout (BLGP), or None.
    """

    blocks: Axis
    rows: Axis
    columns: Axis
    lanes: int
    copies: tuple[tuple[int, int], ...]
    slots_per_location: int
    read: tuple[int, ...] | None

    def __init__(self, operand: Operand) -> None:
        self.operand = operand
        self._trimmed = _trimmed(operand.flat)
        places = self._trimmed.places
        self._lane_digits = tuple(digit for place in (operand.wave_place, "lane") for digit in places.get(place, ()))
        axes = dict(zip(self._trimmed.axes, self._trimmed.coordinates))
        self.blocks, self.rows, self.columns = (
            self._axis(name, axes.get(name, ())) for name in ("block", *operand.flat.axes[-2:])
        )
        self.lanes = operand.lanes
        self.copies = tuple(operand.copies())
        self.slots_per_location = operand.placement.slots_per_location
        read = operand.placement.lanes
        self._lanes_texts: dict[tuple[int, str], str] = {}
        self.read = tuple(read(lane) for lane in range(operand.lanes)) if read else None

    def _axis(self, name: str, names: tuple[str, ...]) -> Axis:
        sizes = [(digit, self._trimmed.sizes[digit]) for digit in names if self._trimmed.sizes[digit] > 1]
        steps = tuple(self.operand.steps(name))
        items = self._trimmed.places["item"]
        run = _trailing(sizes, lambda digit: digit not in self._lane_digits)
        merged = _trailing(sizes, lambda digit: digit not in (*self._lane_digits, *items))
        repeated, period = self._repeated(sizes) if name not in self._trimmed.partial else ("", 0)
        return Axis(name, tuple(sizes), steps, run, merged, period, repeated)

    def _repeated(self, sizes: Iterable[tuple[str, int]]) -> tuple[str, int]:
        """The first digit of 4 or more slots, if only digits of waves and slots come before it, and the period."""
        places = self._trimmed.places
        period = prod(size for _, size in sizes)
        for digit, size in sizes:
            period //= size
            if digit in places["item"] and size >= 4:
                return digit, period
            if digit not in (*places["item"], *places.get(self.operand.wave_place, ())):
                break
        return "", 0

    # --- places ---

    def step(self, block: int, row: int, column: int) -> tuple[int, int]:
        """The lane and slot of an element before copies, selectors and BLGP."""
        axes = zip((self.blocks, self.rows, self.columns), (block, row, column))
        steps = [axis.steps[value] for axis, value in axes]
        return sum(lane for lane, _ in steps), sum(slot for _, slot in steps)

    def found_in(self, block: int, row: int, column: int) -> tuple[int, ...]:
        """The lanes that hold an element, ascending."""
        lane, _ = self.step(block, row, column)
        lanes = {lane + more for more, _ in self.copies}
        return tuple(sorted(self.read[lane] for lane in lanes) if self.read else sorted(lanes))

    def lanes_text(self, block: int, row: int, column: int, between: str = ",") -> str:
        """The lanes that hold an element; those of one step have one text, made once."""
        lane, _ = self.step(block, row, column)
        if (lane, between) not in self._lanes_texts:
            self._lanes_texts[lane, between] = ranges(self.found_in(block, row, column), between)
        return self._lanes_texts[lane, between]

    def place_of(self, block: int, row: int, column: int) -> tuple[int, int]:
        """The lane and the item of the first place of an element."""
        lane, slot = self.step(block, row, column)
        lane, slot = lane + self.copies[0][0], slot + self.copies[0][1]
        return self.read[lane] if self.read else lane, slot // self.slots_per_location

    def location(self, block: int, row: int, column: int) -> Location:
        """The first place of an element."""
        return self.operand.location_of_item(*self.place_of(block, row, column))

    def elements(self, lane: int, item: int) -> tuple[tuple[int, int, int], ...]:
        """Every (block, row, column) at one item of a lane, ascending."""
        return tuple(sorted((block, row, column) for row, column, block in self.operand.elements(lane, item)))

    def coordinates(self) -> Iterator[tuple[int, int, int]]:
        """Every (block, row, column)."""
        return product(range(self.blocks.extent), range(self.rows.extent), range(self.columns.extent))

    @cached_property
    def slots(self) -> tuple[Location, ...]:
        """The Location of each item, in lane 0: every lane has its items in the same registers and bits."""
        return tuple([self.operand.location_of_item(0, item) for item in range(self.operand.items)])

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """The sign under which each item is read: "", "-", "|" (its absolute value) or "-|"."""
        return tuple([self.operand.sign(slot.lsb) for slot in self.slots])

    @cached_property
    def base(self) -> tuple[int, int]:
        """What selectors add to every lane and slot."""
        return self.copies[0]

    @property
    def shared_by(self) -> int:
        """How many elements share a place within a block."""
        return self.rows.merged * self.columns.merged

    # --- colours ---

    @cached_property
    def by_lane(self) -> tuple[Colour, ...]:
        """The colour of each lane."""
        chosen = self._trimmed.selectors
        digits = [
            (name.lstrip("*"), self._trimmed.sizes[name.lstrip("*")], name in chosen) for name in self._lane_digits
        ]
        free = [(size, place) for place, (_, size, selector) in enumerate(digits) if not selector and size > 1]
        hue_place = min(free)[1] if free else -1
        return tuple(self._lane_colour(lane, digits, hue_place) for lane in range(self.lanes))

    def _lane_colour(self, lane: int, digits: list[tuple[str, int, bool]], hue_place: int) -> Colour:
        values = _mixed(lane, [size for _, size, _ in digits])
        first, group = 0, 1
        rest, rests = 0, 1
        for place, (value, (_, size, selector)) in enumerate(zip(values, digits)):
            if place == hue_place:
                first, group = value, -(-size // HUES)
            elif not selector:
                rest, rests = rest * size + value, rests * size
        return Colour(first // group, _share(first % group * rests + rest, group * rests))

    @cached_property
    def by_item(self) -> tuple[Colour, ...]:
        """The colour of each item (slot of a lane), where colour is to show the register."""
        spans = self.operand.flat.spans["item"] // self.slots_per_location
        return tuple(_in_four(item, spans) for item in range(spans))

    def colour_by(self, key: str) -> ColourOf:
        """What colours an element, by "lane", "register" or a digit of the pattern that its coordinates have.

        Raises:
            Error: there is no such digit.
        """
        if key == "lane":
            return ColourOf(lambda *element: self.by_lane[self.place_of(*element)[0]], shows_lane=True)
        if key == self.place:
            return ColourOf(lambda *element: self.by_item[self.place_of(*element)[1]])
        for place, axis in enumerate((self.blocks, self.rows, self.columns)):
            if key in dict(axis.digits):
                return ColourOf(partial(_digit_colour, axis, key, place))
        operand = self.operand
        raise Error(
            f"{operand.name} of {operand.instruction.name} cannot be coloured by '{key}'."
            f"{did_you_mean(key, self.keys)} It can be by: {', '.join(self.keys)}"
        )

    def digit_colour(self, name: str, value: int) -> Colour:
        """What `colour_by` a digit gives the elements that have this value of it."""
        sizes = {name: size for axis in (self.blocks, self.rows, self.columns) for name, size in axis.digits}
        return _in_four(value, sizes[name])

    def slot_colour(self, colour_of: ColourOf, lane: int, item: int) -> Colour | None:
        """What colours an item of a lane, None if it holds nothing.

        Of a copied element, the lane's colour is that of this lane, not of the one that has the first copy.
        """
        found = self.elements(lane, item)
        if not found:
            return None
        return self.by_lane[lane] if colour_of.shows_lane else colour_of(*found[0])

    @property
    def place(self) -> str:
        """What the place of an item is: a register, or in Tensor Memory a column."""
        return "column" if self.operand.in_columns else "register"

    @property
    def keys(self) -> tuple[str, ...]:
        """What `colour_by` takes."""
        axes = (self.blocks, self.rows, self.columns)
        return ("lane", self.place, *(name for axis in axes for name, _ in axis.digits))


def matrix(operand: Operand) -> Matrix:
    """What a picture of an operand shows.

    >>> import mmacalc
    >>> d = matrix(mmacalc.instruction("cdna3", "v_mfma_f32_32x32x8_f16").operand("D"))
    >>> d.rows.run, d.columns.run, d.by_lane[37].hue
    (4, 1, 1)
    """
    return Matrix(operand)


def _trimmed(layout: Layout) -> Layout:
    """The layout without its unit digits, under the names that `pattern` prints."""
    axes = layout.axes if layout.axes[0] != "block" or layout.extents[0] > 1 else layout.axes[1:]
    return Layout(layout.pattern, axes, layout.trimmed_sizes, layout.partial)


def _trailing(sizes: list[tuple[str, int]], fits: Callable[[str], bool]) -> int:
    """The product of the last digits' sizes, as long as they fit."""
    length = 1
    for digit, size in reversed(sizes):
        if not fits(digit):
            break
        length *= size
    return length


def _mixed(number: int, sizes: list[int]) -> list[int]:
    """The digits of a number, the most significant first."""
    weights = list(accumulate(reversed(sizes), lambda weight, size: weight * size, initial=1))[-2::-1]
    return [number // weight % size for weight, size in zip(weights, sizes)]


def _share(place: int, count: int) -> float:
    return place / (count - 1) if count > 1 else 0.0


def _digit_colour(axis: Axis, name: str, place: int, *element: int) -> Colour:
    return _in_four(axis.digit(name, element[place]), dict(axis.digits)[name])


def _in_four(value: int, size: int) -> Colour:
    """Up to four values have a hue each; more are split into four groups, and the shade counts within a group."""
    if size <= HUES:
        return Colour(value, 0.5)
    group = -(-size // HUES)
    return Colour(value // group, _share(value % group, group))


# --- Places and elements as pictures write them, lane and register apart: `v0[31:16]`, `%r1[31:16]`, `3,9` ---
#
# AMD's registers go by the assembler's names (`v[0:1]` is a pair); NVIDIA's are those of an operand whose 32-bit
# registers are %r0, %r1 ... and whose 64-bit ones are %rd0, %rd1 ... (`mmacalc.spelling`).


# The operands that are no matrix of the product, as their pictures call them.
TITLES = {"K": "K (index of A)", "SA": "SA (scale of A)", "SB": "SB (scale of B)", "P": "P (row addresses)"}


def operand_title(name: str) -> str:
    """What a picture calls an operand."""
    return TITLES.get(name, name)


def bits_text(lsb: int, width: int) -> str:
    """The bits of a register that an element takes; "" for all of them, with a + where it goes on in the next.

    >>> bits_text(16, 16), bits_text(0, 32), bits_text(30, 6)
    ('31:16', '', '31:30+')
    """
    if width >= 32:
        return ""
    last = lsb + width - 1
    return f"{min(last, 31)}:{lsb}{'+' if last > 31 else ''}"


def slot_text(operand: Operand, location: Location) -> str:
    """The registers and bits of a location, in full.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4").operand("A", cbsz="fp6")
    >>> slot_text(a, a.locate(i=3, k=5)[0])
    'v0[31:30] + v1[3:0]'
    """
    _, _, register, lsb, width = location
    first = register_text(operand, register, width)
    last = lsb + width - 1
    if last > 31 and width < 32:
        return f"{first}[31:{lsb}] + {register_text(operand, register + 1, width)}[{last - 32}:0]"
    return first if width >= 32 else f"{first}[{last}:{lsb}]"


def held_text(matrix: Matrix, lane: int, item: int) -> str:
    """What one item of a lane is: `3,9`, in a block `2:3,9`, with runs where several share the place; signs as read.

    >>> import mmacalc
    >>> from mmacalc.drawing.matrix import matrix
    >>> scale = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4").operand("SA")
    >>> held_text(matrix(scale), lane=19, item=0)
    '3,32-63'
    """
    found = matrix.elements(lane, item)
    if not found:
        return ""
    blocks, rows, columns = ({*part} for part in zip(*found))
    if len(blocks) * len(rows) * len(columns) == len(found):
        text = f"{ranges(rows, '/')},{ranges(columns, '/')}"
        text = f"{ranges(blocks, '/')}:{text}" if matrix.blocks.extent > 1 else text
    else:
        text = " ".join(f"{b}:{i},{j}" if matrix.blocks.extent > 1 else f"{i},{j}" for b, i, j in found)
    return with_sign(text, matrix.signs[item])


def with_sign(text: str, sign: str) -> str:
    """The signs that NEG and its kin put around an element: a minus, bars for the absolute value, or both.

    Of the two stored values of a sparse A in one register, the `low` or the `high` one may have a minus.

    >>> with_sign("3,9", "-|"), with_sign("3,8-11", "low")
    ('-|3,9|', '(low -) 3,8-11')
    """
    return f"({sign} -) {text}" if sign in ("low", "high") else signed(text, sign)
