"""A register layout is a re-grouping of the digits of the matrix coordinates.

One worked example. The A operand of v_mfma_f32_16x16x16_f16 is a 16 x 16 matrix of f16, and the notation
(einops users read it already) says where every element lives:

    i (g e) -> lane (g i), item (e)          sizes i=16, g=4, e=4

Read k as two digits, k = 4*g + e: the first name in a group is the most significant digit. Then A[i][k] is
in lane 16*g + i, and it is the e-th of the four items that the lane holds. So A[3][9] has g=2, e=1: lane 35,
item 1. Backwards, lane 35 and item 1 give g=2, i=3, e=1 and so k=9. Nothing else is needed: `Layout` turns
such a text and the digit sizes into both directions.

Where can a digit occur?

    on both sides          an ordinary digit
    right only, `*r`       replicated: the element is at every value of r
    right only, bare name  a selector: an instruction field chooses its value (0 unless set)
    left only              shared: all values of the digit live in the same place

What is an item? The element's slot within the lane. How wide a slot is, and so which register and bits it
takes, is not a matter of the layout (see `mmacalc.rules.placement`).

Why is this fast? Each digit belongs to one coordinate only. So a place is a sum of one-dimensional tables,
lane(i, k) = lane_of_i[i] + lane_of_k[k], and a coordinate is likewise a sum over the places.
"""

from __future__ import annotations

from itertools import product
from math import prod

from .checks import arguments_checked
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Layout"]


class Layout:
    """Maps coordinates to places (lane, item, warp ...) and back. Immutable.

    Args:
        text: the pattern. Groups left of the arrow are coordinates, in the order of `axes`; each place on the
            right is a name and its digits in parentheses.
        axes: the name of each coordinate, such as ("i", "k") or ("block", "i", "k").
        sizes: the number of values of every digit in the text.

    Raises:
        Error: the text cannot be read, a digit has no size, or a digit occurs twice on one side.

    >>> layout = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4})
    >>> layout.locate({"i": 3, "k": 9})
    ((35, 1),)
    >>> layout.contents((35, 1))
    ((3, 9),)
    """

    __slots__ = (
        "axes", "coordinates", "extents", "places", "replicated", "selectors", "shared", "sizes", "spans", "text",
        "_backward", "_forward", "_offsets", "_strides",
    )  # fmt: skip

    @arguments_checked
    def __init__(self, text: str, axes: Sequence[str], sizes: Mapping[str, int]) -> None:
        left, right = _parse(text)
        if len(left) != len(axes):
            raise Error(f"the pattern '{text}' has {len(left)} coordinates, but {len(axes)} axes: {', '.join(axes)}")
        digits = {name.lstrip("*") for group in (*left, *right.values()) for name in group}
        if missing := sorted(digits - set(sizes)):
            raise Error(f"the pattern '{text}' has no size for: {', '.join(missing)}")
        if empty := sorted(name for name in digits if sizes[name] < 1):
            raise Error(f"the pattern '{text}' has digits without a value: {', '.join(empty)}; a size is 1 or more")
        self.text = text
        self.axes = tuple(axes)
        self.sizes = {name: sizes[name] for name in sizes if name in digits}
        self.coordinates = left
        self.places = right
        self.extents = tuple(prod(self.sizes[name] for name in group) for group in left)
        self.spans = {place: prod(self.sizes[n.lstrip("*")] for n in names) for place, names in right.items()}
        given, placed = {n for group in left for n in group}, {n for names in right.values() for n in names}
        # Digits of the coordinates that do not change the place; digits at every value of which the same element
        # is found; digits whose value an instruction field chooses.
        self.shared = tuple(name for group in left for name in group if name not in placed)
        self.replicated = tuple(name[1:] for names in right.values() for name in names if name[0] == "*")
        self.selectors = tuple(n for names in right.values() for n in names if n[0] != "*" and n not in given)
        self._strides = [_strides(names, self.sizes) for names in right.values()]
        self._offsets: dict[tuple[int, ...], tuple[tuple[int, ...], ...]] = {}
        self._forward = [[self._table(group, names) for names in right.values()] for group in left]
        self._backward = [[self._table(names, group) for group in left] for names in right.values()]

    def __repr__(self) -> str:
        return f"Layout({self.pattern!r}, {self.trimmed_sizes})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.pattern, self.axes, tuple(self.trimmed_sizes.items())

    @property
    def copies(self) -> int:
        """How many places hold each element."""
        return prod(self.sizes[name] for name in self.replicated)

    # --- forwards: coordinates to places -------------------------------------------------------------------

    def locate(
        self, coordinates: Mapping[str, int], fields: Mapping[str, int] | None = None
    ) -> tuple[tuple[int, ...], ...]:
        """Every place of one element, ascending: a tuple of indices, one per place name, for each copy.

        Args:
            coordinates: a value for each axis; an axis left out counts as 0, others are ignored.
            fields: values of the selectors; those left out count as 0.

        Raises:
            Error: a coordinate is outside its axis.
        """
        values = [coordinates.get(axis, 0) for axis in self.axes]
        for axis, value, extent in zip(self.axes, values, self.extents):
            if not 0 <= value < extent:
                raise Error(f"{axis} = {value} is outside this operand: {axis} is 0 to {extent - 1}")
        steps = [[table[value] for table in rows] for rows, value in zip(self._forward, values)]
        base = [sum(column) for column in zip(*steps)]
        return tuple(
            tuple(place + step for place, step in zip(base, offset)) for offset in self.copy_offsets(fields or {})
        )

    def copy_offsets(self, fields: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
        """What selectors and replication add to every place: one tuple of offsets for each copy."""
        values = tuple([fields.get(name, 0) for name in self.selectors])
        if values not in self._offsets:
            chosen = dict(zip(self.selectors, values))
            offsets = []
            for copy in product(*(range(self.sizes[name]) for name in self.replicated)):
                digits = {**chosen, **{f"*{name}": value for name, value in zip(self.replicated, copy)}}
                offsets.append(tuple(sum(digits.get(n, 0) * s for n, s in row.items()) for row in self._strides))
            self._offsets[values] = tuple(sorted(offsets))
        return self._offsets[values]

    def axis_tables(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """For each axis and each place, what each value of that coordinate adds to the place's index.

        >>> layout = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 2, "g": 2, "e": 2})
        >>> layout.axis_tables()["k"]
        {'lane': (0, 0, 2, 2), 'item': (0, 1, 0, 1)}
        """
        return {axis: dict(zip(self.places, rows)) for axis, rows in zip(self.axes, self._forward)}

    # --- backwards: places to coordinates -----------------------------------------------------------------

    def contents(self, place: Sequence[int], fields: Mapping[str, int] | None = None) -> tuple[tuple[int, ...], ...]:
        """Every element at one place, ascending: a tuple of coordinates, one per axis, for each.

        A place outside the layout, or one whose selector digits are not those of `fields`, holds nothing.
        """
        for value, span in zip(place, self.spans.values()):
            if not 0 <= value < span:
                return ()
        if self.selectors and not self._selected(place, fields or {}):
            return ()
        steps = [[table[value] for table in rows] for rows, value in zip(self._backward, place)]
        base = [sum(column) for column in zip(*steps)]
        if not self.shared:
            return (tuple(base),)
        return tuple(tuple(map(sum, zip(base, offset))) for offset in self._shared_offsets())

    def _selected(self, place: Sequence[int], fields: Mapping[str, int]) -> bool:
        return all(
            value // stride[name] % self.sizes[name] == fields.get(name, 0)
            for value, stride in zip(place, self._strides)
            for name in self.selectors
            if name in stride
        )

    def _shared_offsets(self) -> Iterator[tuple[int, ...]]:
        shared = set(self.shared)
        return product(
            *(self._table(tuple(name for name in group if name in shared), group) for group in self.coordinates)
        )

    # --- the tables and the texts -------------------------------------------------------------------------

    def _table(self, source: tuple[str, ...], target: tuple[str, ...]) -> tuple[int, ...]:
        """For every value of the digits `source`, the sum of those digits at their weight in `target`."""
        strides = _strides(target, self.sizes)
        table = [0]
        for name in source:
            stride, size = strides.get(name, 0), self.sizes[name.lstrip("*")]
            table = [base + digit * stride for base in table for digit in range(size)]
        return tuple(table)

    @property
    def trimmed_sizes(self) -> dict[str, int]:
        """The sizes of the digits that `pattern` names, under the names it gives them."""
        names = self._printed_names()
        return {names[digit]: size for digit, size in self.sizes.items() if digit in names}

    @property
    def pattern(self) -> str:
        """The text without unit digits and without a block coordinate that has one value only.

        A coordinate that is left with one digit gives it its own name; one left with none prints as `()`.

        >>> Layout("b (v i) (c g e) -> lane (g b i), item (v c e)", ("block", "i", "k"),
        ...        {"b": 1, "v": 1, "i": 16, "c": 1, "g": 4, "e": 4}).pattern
        'i (g e) -> lane (g i), item (e)'
        """
        left, right = self._trimmed()
        places = ", ".join(f"{place} ({' '.join(names)})" for place, names in right.items())
        return f"{' '.join(left)} -> {places}"

    @property
    def einops(self) -> str:
        """The pattern as einops reads it: `rearrange` where every digit is on both sides, else `repeat`
        (digits on the right only) or `reduce` (digits on the left only).

        >>> Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4}).einops
        'i (g e) -> (g i) (e)'
        """
        left, right = self._trimmed()
        places = " ".join(f"({' '.join(name.lstrip('*') for name in names)})" for names in right.values())
        return f"{' '.join(left)} -> {places}"

    def _printed_names(self) -> dict[str, str]:
        """The digits worth printing, each with the name it prints under."""
        names = {digit: digit for digit, size in self.sizes.items() if size > 1}
        for axis, group in zip(self.axes, self.coordinates):
            kept = [name for name in group if name in names]
            if len(kept) == 1 and axis[0] not in names:
                names[kept[0]] = axis[0]
        return names

    def _trimmed(self) -> tuple[list[str], dict[str, list[str]]]:
        names = self._printed_names()
        right = {
            place: [n[: n.count("*")] + names[n.lstrip("*")] for n in digits if n.lstrip("*") in names]
            for place, digits in self.places.items()
        }
        left = []
        for axis, extent, group in zip(self.axes, self.extents, self.coordinates):
            kept = [names[digit] for digit in group if digit in names]
            if extent > 1 or axis != "block":
                left.append(kept[0] if len(kept) == 1 else f"({' '.join(kept)})")
        return left, right


def _strides(names: tuple[str, ...], sizes: Mapping[str, int]) -> dict[str, int]:
    """The weight of each digit in a group: the product of the sizes to its right."""
    strides, weight = {}, 1
    for name in reversed(names):
        strides[name] = weight
        weight *= sizes[name.lstrip("*")]
    return strides


def _parse(text: str) -> tuple[tuple[tuple[str, ...], ...], dict[str, tuple[str, ...]]]:
    left_text, arrow, right_text = text.partition("->")
    if not arrow:
        raise Error(f"the pattern '{text}' has no arrow; it should read like 'i (g e) -> lane (g i), item (e)'")
    left = tuple(_groups(left_text, text))
    right: dict[str, tuple[str, ...]] = {}
    for part in right_text.split(","):
        place, _, digits = part.strip().partition(" ")
        groups = _groups(digits, text)
        if not place.isidentifier() or len(groups) != 1 or place in right:
            raise Error(f"the pattern '{text}' should name each place once, with one group: lane (g i), item (e)")
        right[place] = groups[0]
    for side in ([n for group in left for n in group], [n.lstrip("*") for names in right.values() for n in names]):
        if twice := {name for name in side if side.count(name) > 1}:
            raise Error(f"the pattern '{text}' has {', '.join(sorted(twice))} twice on one side")
    replicated = {name[1:] for names in right.values() for name in names if name[0] == "*"}
    given = {name for group in left for name in group}
    if wrong := sorted((replicated & given) | {name for name in given if name[0] == "*"}):
        raise Error(f"the pattern '{text}' has {', '.join(wrong)} on the left; a replicated digit is on the right only")
    return left, right


def _groups(side: str, text: str) -> list[tuple[str, ...]]:
    """Split `b (v i) k` into its groups."""
    groups: list[tuple[str, ...]] = []
    rest = side.strip()
    while rest:
        if rest[0] == "(":
            inside, closed, rest = rest[1:].partition(")")
            if not closed:
                raise Error(f"the pattern '{text}' has an unclosed parenthesis")
            groups.append(tuple(inside.split()))
        else:
            name, _, rest = rest.partition(" ")
            groups.append((name,))
        if wrong := [name for name in groups[-1] if not name.removeprefix("*").isidentifier()]:
            raise Error(f"the pattern '{text}' has '{wrong[0]}' where the name of a digit should be")
        rest = rest.strip()
    return groups
