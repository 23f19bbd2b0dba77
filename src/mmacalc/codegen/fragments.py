"""An operand as generated code sees it: which digits of the lane number, and which items, make up its coordinates.

A coordinate is a sum: each digit of the lane contributes its value times a weight, each item a constant. So the code
computes the digits once and adds constants per access:

    A of v_mfma_f32_16x16x16_f16    i (g e) -> lane (g i), item (e)
    digits                          a_g = lane / 16 % 4,  a_i = lane % 16
    element of item e               row a_i, column 4 * a_g + e
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from ..base.errors import Error
from ..base.records import TupleRecord
from ..layout import printed_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..model import Operand

__all__ = ["Digit", "Fragment", "Item", "Run", "chosen_lanes", "fragment", "linear_sum", "runs", "total"]


class Digit(TupleRecord):
    """A digit of the lane number, lane / divisor % size, and its weight in each coordinate."""

    name: str
    divisor: int
    size: int
    block: int
    row: int
    column: int

    @property
    def value(self) -> str:
        """The digit of `lane`, as C text."""
        quotient = f"lane / {self.divisor}" if self.divisor > 1 else "lane"
        return f"{quotient} % {self.size}"


class Item(TupleRecord):
    """A slot of the lane's registers, and what it adds to each coordinate."""

    slot: int
    block: int
    row: int
    column: int


class Run(TupleRecord):
    """Items that are neighbours in the registers and in memory: the first, and how many."""

    first: Item
    count: int  # type: ignore[assignment]  # not tuple's method


class Fragment(TupleRecord):
    """An operand's digits and items. Of a 2:4 sparse A, the columns are those of the compressed matrix."""

    operand: Operand
    digits: tuple[Digit, ...]
    items: tuple[Item, ...]
    rows: int
    columns: int

    def variables(self, letter: str) -> Iterator[str]:
        """A C variable for each digit."""
        for digit in self.digits:
            yield f"const int {letter}_{digit.name} = {digit.value};"

    def first(self, axis: str, letter: str) -> str:
        """The "row", "column" or "block" at which a lane begins, as a sum of those variables."""
        return total([(getattr(digit, axis), f"{letter}_{digit.name}") for digit in self.digits])


@lru_cache(maxsize=256)
def fragment(operand: Operand) -> Fragment:
    """The digits and items of an operand.

    Raises:
        Error: a modifier makes lanes read other lanes' registers, so that no expression of the lane is right.

    >>> import mmacalc
    >>> found = fragment(mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").operand("A"))
    >>> found.digits[0], found.items[3]
    (Digit(name='g', divisor=16, size=4, block=0, row=0, column=4), Item(slot=3, block=0, row=0, column=3))
    """
    layout, per_location = operand.layout, operand.placement.slots_per_location
    if operand.placement.lanes:
        raise Error(
            f"BLGP makes lanes of {operand.instruction.name} read other lanes' {operand.name}: there are no index "
            "expressions of a lane's own number. Leave out blgp"
        )
    weights = _weights(operand)
    divisors = layout.strides(layout.places["lane"])
    lane = [name for name in layout.places["lane"] if name[0] != "*" and layout.sizes[name] > 1]
    if operand.wave_place:  # the warps of a warpgroup, or fused EUs
        waves = [name for name in layout.places[operand.wave_place] if layout.sizes[name] > 1]
        divisors |= dict.fromkeys(waves, operand.wave)
        lane = waves + lane
    printed = printed_names(layout)  # the names of the pattern, which stands above the code
    digits = [
        Digit(printed[name], divisors[name], layout.sizes[name], *weights[name]) for name in lane if name in weights
    ]
    names = [name.lstrip("*") for name in layout.places["item"]]
    slots = layout.strides(names)
    values = [
        range(layout.sizes[name]) if name in weights else [operand.placement.fields.get(name, 0)] for name in names
    ]
    items = []
    for chosen in product(*values):
        slot = sum(value * slots[name] for name, value in zip(names, chosen))
        place = [
            sum(weights.get(name, (0, 0, 0))[axis] * value for name, value in zip(names, chosen)) for axis in range(3)
        ]
        items.append(Item(slot, *place))
    _, rows, columns = operand.shape
    return Fragment(operand, tuple(digits), tuple(sorted(items)), rows, columns * per_location // group_size(operand))


def chosen_lanes(operand: Operand) -> Iterator[tuple[Digit, int]]:
    """The digits of the lane that a selector chooses, each with its value: other lanes hold nothing that is read.

    >>> import mmacalc
    >>> inst = mmacalc.instruction("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    >>> [(digit.value, value) for digit, value in chosen_lanes(inst.operand("K", selector=1))]
    [('lane / 2 % 2', 1)]
    """
    layout = operand.layout
    coordinates = {name for group in layout.coordinates for name in group}
    divisors = layout.strides(layout.places["lane"])
    for name in layout.places["lane"]:
        if name[0] != "*" and layout.sizes[name] > 1 and name not in coordinates:
            yield Digit(name, divisors[name], layout.sizes[name], 0, 0, 0), operand.placement.fields.get(name, 0)


def group_size(operand: Operand) -> int:
    """How many k of a 2:4 sparse A share a group of stored values; 1 for any other operand."""
    return operand.layout.sizes["p"] if operand.name == "A" and operand.instruction.sparse else 1


def _weights(operand: Operand) -> dict[str, tuple[int, int, int]]:
    """What each digit adds to (block, row, column). Stored values of a 2:4 group are neighbouring columns."""
    layout, per_location, shared = operand.layout, operand.placement.slots_per_location, group_size(operand)
    weights: dict[str, tuple[int, int, int]] = {}
    for axis, group in enumerate(layout.coordinates):
        for name, weight in layout.strides(group).items():
            if shared > 1 and "p" in group:
                weight = weight * per_location // shared
            weights[name] = tuple([weight if axis == where else 0 for where in range(3)])  # type: ignore[assignment]
    if shared > 1:
        del weights["p"]
        weights["s"] = (0, 0, 1)
    return weights


def runs(found: Fragment, order: str) -> tuple[Run, ...]:
    """The items in aligned runs of equal length, as long as memory of that order allows.

    Args:
        order: "row" if the columns of a row are neighbours in memory, "col" if the rows of a column are.
    """
    items, along = found.items, 3 if order == "row" else 2
    step = Item(1, 0, int(order == "col"), int(order == "row"))

    def contiguous(length: int) -> bool:
        neighbours = [(items[n - 1], items[n]) for n in range(1, len(items)) if n % length]
        return all(tuple(map(sum, zip(before, step))) == after for before, after in neighbours)

    # Two digits of the lane could interleave with a run; then its first element is not a multiple of its length.
    length = max(n for n in range(1, len(items) + 1) if len(items) % n == 0 and contiguous(n))
    while length > 1 and any(digit[along + 2] % length for digit in found.digits):
        length = max(n for n in range(1, length) if length % n == 0)
    return tuple([Run(items[first], length) for first in range(0, len(items), length)])


def total(terms: Iterable[tuple[int, str]], constant: int = 0) -> str:
    """A sum as C and Python write it: 4 * a_g + 1.

    >>> total([(4, "a_g"), (1, "a_i"), (0, "a_b")], 1), total([])
    ('4 * a_g + a_i + 1', '0')
    """
    parts = [name if weight == 1 else f"{weight} * {name}" for weight, name in terms if weight]
    if constant or not parts:
        parts.append(str(constant))
    return " + ".join(parts)


def linear_sum(values: Sequence[int], name: str) -> str:
    """An expression of a number that gives each value at its place, where every bit of the number adds its own.

    >>> linear_sum([0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11], "lane")
    'lane % 4 + 8 * (lane / 8 % 2)'
    """
    bits = [values[1 << bit] - values[0] for bit in range((len(values) - 1).bit_length())]
    for place, value in enumerate(values):
        assert value == values[0] + sum(weight for bit, weight in enumerate(bits) if place >> bit & 1)
    terms, bit = [], 0
    while bit < len(bits):
        end = bit + 1
        while end < len(bits) and bits[end] == 2 * bits[end - 1]:
            end += 1
        digit = f"{name} / {1 << bit} % {1 << end - bit}" if bit else f"{name} % {1 << end}"
        terms.append((bits[bit], f"({digit})" if bit or bits[bit] != 1 else digit))
        bit = end
    return total(terms, values[0])
