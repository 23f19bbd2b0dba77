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
takes, is not a matter of the layout (see `mmacalc.families`).

Why is this fast? Each digit belongs to one coordinate only. So a place is a sum of one-dimensional tables,
lane(i, k) = lane_of_i[i] + lane_of_k[k], and a coordinate is likewise a sum over the places.

Layouts can be inverted and composed (`inverse`, `compose`); both results are layouts again. With the A operand `a`
from above, the inverse goes from registers to the matrix, and composed with the order of the matrix in memory it
says which address each lane reads; composed with another operand's layout, where each element has to move:

    >>> a = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4})
    >>> a.inverse().pattern
    '(g i) e -> i (i), k (g e)'
    >>> row_major = Layout("i k -> address (i k)", ("i", "k"), {"i": 16, "k": 16})
    >>> a.inverse().compose(row_major).pattern
    '(g i) e -> address (i g e)'
    >>> d = Layout("(m h) j -> lane (m j), item (h)", ("i", "k"), {"m": 4, "h": 4, "j": 16})
    >>> d.inverse().compose(a).pattern
    '(m j1 j0) h -> lane (j1 m h), item (j0)'

How does this relate to other notations? Triton's LinearLayout sends each bit of (register, lane, warp) to an XOR of
coordinate bits: it can swizzle, but every size is a power of two. A CuTe layout sends (thread, value) to an index by
shape and stride: any size, but it is a function, so neither copies nor the other direction are written down. A
pattern is a CuTe layout whose strides are products of the sizes of neighbouring digits, read in both directions:
any size, copies and selectors, but no XOR. `linear` writes a pattern as Triton's bases, `cute` as shape:stride.
"""

from __future__ import annotations

from ..base.checks import argument_class, arguments_checked, require_int, shown
from ..base.errors import Error
from ..base.records import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["checked_digits", "Layout", "parse", "printed_names", "printed_sizes", "written", "written_for_einops"]

LARGEST = 1 << 24  # there is a table of every axis


class Layout:
    """Maps coordinates to places (lane, item, warp ...) and back. Immutable.

    Args:
        text: the pattern. Groups left of the arrow are coordinates, in the order of `axes`; each place on the
            right is a name and its digits in parentheses.
        axes: the name of each coordinate, such as ("i", "k") or ("block", "i", "k").
        sizes: the number of values of every digit in the text.
        extents: where an axis ends before its digits do, by axis: 6 rows in groups of 4 leave the last group half
            empty, and the places of the missing rows hold nothing. Never so for an axis with a shared digit.

    Raises:
        Error: the text cannot be read, a digit has no size, a digit occurs twice on one side, or an axis is to end
            where its digits do not reach.

    >>> layout = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4})
    >>> layout.locate({"i": 3, "k": 9})
    ((35, 1),)
    >>> layout.contents((35, 1))
    ((3, 9),)
    """

    __slots__ = (
        "axes", "coordinates", "extents", "partial", "places", "replicated", "selectors", "shared", "sizes", "spans",
        "text", "_backward", "_copies", "_forward", "_strides",
    )  # fmt: skip
    axes: tuple[str, ...]
    coordinates: tuple[tuple[str, ...], ...]
    extents: tuple[int, ...]
    partial: Mapping[str, int]
    places: Mapping[str, tuple[str, ...]]
    replicated: tuple[str, ...]
    selectors: tuple[str, ...]
    shared: tuple[str, ...]
    sizes: Mapping[str, int]
    spans: Mapping[str, int]
    text: str
    _backward: tuple[tuple[tuple[int, ...], ...], ...]
    _copies: tuple[tuple[int, ...], ...]
    _forward: tuple[tuple[tuple[int, ...], ...], ...]
    _strides: tuple[Mapping[str, int], ...]

    @arguments_checked
    def __init__(
        self, text: str, axes: Sequence[str], sizes: Mapping[str, int], extents: Mapping[str, int] = {}
    ) -> None:
        left, right = parse(text)
        if any(type(size) is not int for size in sizes.values()):
            sizes = {name: require_int(f"the size of {name}", size) for name, size in sizes.items()}
        digits = checked_digits(text, left, right, axes, sizes)
        self._set(
            text=text, axes=tuple(axes), sizes={name: sizes[name] for name in sizes if name in digits},
            coordinates=left, places=right,
        )  # fmt: skip
        self._sort_digits()
        self._make_tables(extents)

    def _set(self, **values: object) -> None:
        """Set attributes of a new layout: tuples, and dictionaries, which become read-only."""
        for name, value in values.items():
            object.__setattr__(self, name, MappingProxyType(value) if type(value) is dict else value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Layout is immutable: '{name}' cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Layout is immutable: '{name}' cannot be deleted")

    def __reduce__(self) -> tuple[object, ...]:
        partial = {axis: self.extents[at] for at, axis in enumerate(self.axes) if axis in self.partial}
        return Layout, (self.text, self.axes, dict(self.sizes), partial)

    def _sort_digits(self) -> None:
        """Which digits are shared, replicated or selectors, by the side that they are on."""
        given = {name for group in self.coordinates for name in group}
        placed = [name for names in self.places.values() for name in names]
        self._set(
            shared=tuple([name for group in self.coordinates for name in group if name not in placed]),
            replicated=tuple([name[1:] for name in placed if name[0] == "*"]),
            selectors=tuple([name for name in placed if name[0] != "*" and name not in given]),
        )

    def _make_tables(self, extents: Mapping[str, int]) -> None:
        """What each value of a coordinate adds to each place, and the other way round."""
        left, right = self.coordinates, self.places
        whole = [self.span(group) for group in left]
        self._set(extents=tuple([extents.get(axis, size) for axis, size in zip(self.axes, whole)]))
        self._set(partial={axis: end for axis, end, size in zip(self.axes, self.extents, whole) if end != size})
        for axis, extent, size, group in zip(self.axes, self.extents, whole, left):
            if not 0 < extent <= size or (extent < size and not {*self.shared}.isdisjoint(group)):
                raise Error(f"{axis} of '{self.text}' ends at 1 to {size}, with no shared digit; got {extent}")
        self._set(spans={place: self.span(names) for place, names in right.items()})
        largest = max((*self.extents, *self.spans.values()), default=1)
        if largest > LARGEST:
            values = shown(largest)
            raise Error(f"'{self.text}' has {values} values on an axis or in a place; at most {LARGEST} are taken")
        self._set(_strides=tuple([MappingProxyType(self.strides(names)) for names in right.values()]))
        self._set(
            _forward=tuple([
                tuple([self._table(group, names)[:extent] for names in right.values()])
                for group, extent in zip(left, self.extents)
            ]),
            _backward=tuple([tuple([self._table(names, group) for group in left]) for names in right.values()]),
            _copies=tuple(sorted(self._copy_offsets())),
        )  # fmt: skip

    def _copy_offsets(self) -> Iterator[tuple[int, ...]]:
        """What replication alone adds to every place, for each copy."""
        for copy in _combined([range(self.sizes[name]) for name in self.replicated]):
            digits = {f"*{name}": value for name, value in zip(self.replicated, copy)}
            yield tuple([sum(digits.get(name, 0) * step for name, step in row.items()) for row in self._strides])

    def __repr__(self) -> str:
        partial = f", {self.partial}" if self.partial else ""
        return f"Layout({written(self, whole=True)!r}, {self.axes!r}, {self.trimmed_sizes}{partial})"

    def __eq__(self, other: object) -> bool:
        """Two layouts are equal if they map alike: the names of digits, and how they are split, do not matter.

        >>> one = Layout("i k -> lane (i), item (k)", ("i", "k"), {"i": 16, "k": 4})
        >>> one == Layout("(u v) k -> lane (u v), item (k)", ("i", "k"), {"u": 2, "v": 8, "k": 4})
        True
        """
        return isinstance(other, Layout) and self._mapping() == other._mapping()

    def __hash__(self) -> int:
        return hash((self.axes, *self.spans.items(), *(table for rows in self._forward for table in rows)))

    def _mapping(self) -> tuple[object, ...]:
        """All that `locate` and `contents` depend on."""
        chosen = [name for name in self.selectors if self.sizes[name] > 1]
        selectors = {name: (self.sizes[name], self.copy_offsets({name: 1})) for name in chosen}
        return self.axes, self.extents, [*self.spans.items()], self._forward, self.copy_offsets({}), selectors

    @property
    def copies(self) -> int:
        """How many places hold each element."""
        return self.span(self.replicated)

    def span(self, digits: Sequence[str]) -> int:
        """The number of values of a group of digits.

        >>> Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4}).span(("g", "e"))
        16
        """
        values = 1  # math.prod would do, but to load math's library takes as long as two modules of ours
        for name in digits:
            values *= self.sizes[name.lstrip("*")]
        return values

    def strides(self, digits: Sequence[str]) -> dict[str, int]:
        """The weight of each digit in a group: the product of the sizes to its right.

        >>> layout = Layout("i (g e) -> lane (*r g i), item (e)", "ik", {"e": 4, "g": 4, "i": 16, "r": 2})
        >>> layout.strides(("*r", "g", "i"))
        {'i': 1, 'g': 16, '*r': 64}
        """
        weights, weight = {}, 1
        for name in reversed(digits):
            weights[name] = weight
            weight *= self.sizes[name.lstrip("*")]
        return weights

    # --- forwards: coordinates to places -------------------------------------------------------------------

    def locate(
        self, coordinates: Mapping[str, int], fields: Mapping[str, int] | None = None
    ) -> tuple[tuple[int, ...], ...]:
        """Every place of one element, ascending: a tuple of indices, one per place name, for each copy.

        Args:
            coordinates: a value for each axis; an axis left out counts as 0, others are ignored.
            fields: values of the selectors; those left out count as 0.

        Raises:
            Error: a coordinate is outside its axis, or no whole number.

        >>> layout = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4})
        >>> layout.locate({"i": 3, "k": 9})
        ((35, 1),)
        """
        try:
            return self._places_of(coordinates, fields or {})
        except Error:
            raise
        except (TypeError, AttributeError, ValueError):
            raise Error(f"coordinates are whole numbers by axis, such as {self._example(self.axes)}") from None

    def _places_of(self, coordinates: Mapping[str, int], fields: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
        values = [coordinates.get(axis, 0) for axis in self.axes]
        for axis, value, extent in zip(self.axes, values, self.extents):
            if not 0 <= value < extent:
                raise Error(f"{axis} = {value} is outside this operand: {axis} is 0 to {extent - 1}")
        steps = [[table[value] for table in rows] for rows, value in zip(self._forward, values)]
        base = [sum(column) for column in zip(*steps)]
        return tuple(tuple(place + step for place, step in zip(base, offset)) for offset in self.copy_offsets(fields))

    def _example(self, names: Iterable[str]) -> str:
        return "{" + ", ".join(f"'{name}': 0" for name in names) + "}"

    def copy_offsets(self, fields: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
        """What selectors and replication add to every place: one tuple of offsets for each copy.

        >>> Layout("i -> lane (*r i)", ("i",), {"i": 16, "r": 2}).copy_offsets({})
        ((0,), (16,))
        """
        chosen = {name: fields[name] for name in self.selectors if fields.get(name)}
        if not chosen:
            return self._copies
        moved = [sum(chosen.get(name, 0) * step for name, step in row.items()) for row in self._strides]
        return tuple([tuple(map(sum, zip(copy, moved))) for copy in self._copies])

    def axis_tables(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """For each axis and each place, what each value of that coordinate adds to the place's index.

        >>> layout = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 2, "g": 2, "e": 2})
        >>> layout.axis_tables()["k"]
        {'lane': (0, 0, 2, 2), 'item': (0, 1, 0, 1)}
        """
        return {axis: dict(zip(self.places, rows)) for axis, rows in zip(self.axes, self._forward)}

    def place_tables(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """For each place and each axis, what each value of that place adds to the coordinate.

        >>> layout = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 2, "g": 2, "e": 2})
        >>> layout.place_tables()["lane"]
        {'i': (0, 1, 0, 1), 'k': (0, 0, 2, 2)}
        """
        return {place: dict(zip(self.axes, rows)) for place, rows in zip(self.places, self._backward)}

    # --- backwards: places to coordinates -----------------------------------------------------------------

    def contents(self, place: Sequence[int], fields: Mapping[str, int] | None = None) -> tuple[tuple[int, ...], ...]:
        """Every element at one place, ascending: a tuple of coordinates, one per axis, for each.

        A place outside the layout, or one whose selector digits are not those of `fields`, holds nothing.

        Raises:
            Error: the place is not as many whole numbers as there are names of places.

        >>> layout = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4})
        >>> layout.contents((35, 1))
        ((3, 9),)
        """
        try:
            if len(place) == len(self.spans):
                return self._contents(place, fields or {})
        except (TypeError, AttributeError, ValueError):  # no numbers, no dictionary, arrays
            pass
        raise Error(f"a place is {len(self.spans)} whole numbers ({', '.join(self.spans)}); got {shown(place)}")

    def _contents(self, place: Sequence[int], fields: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
        for value, span in zip(place, self.spans.values()):
            if not 0 <= value < span:
                return ()
        if self.selectors and not self._selected(place, fields):
            return ()
        steps = [[table[value] for table in rows] for rows, value in zip(self._backward, place)]
        base = [sum(column) for column in zip(*steps)]
        if self.partial and any(value >= extent for value, extent in zip(base, self.extents)):
            return ()
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

    def _shared_offsets(self) -> list[tuple[int, ...]]:
        shared = set(self.shared)
        digits = [tuple(name for name in group if name in shared) for group in self.coordinates]
        return _combined([self._table(names, group) for names, group in zip(digits, self.coordinates)])

    # --- other layouts, and other notations ----------------------------------------------------------------

    def inverse(self) -> Layout:
        """The layout from places to coordinates: what was an axis is a place, and the other way round.

        A replicated digit becomes a shared one (all its places hold the same element), a shared one a replicated
        one. Of a selector the inverse knows only the places: for every value of its field, the element is the one that
        the place holds when the field chooses that place.

        Raises:
            Error: an axis ends before its digits do, so that some places hold nothing.

        >>> d = Layout("(m h) j -> lane (m j), item (h)", ("i", "j"), {"m": 4, "h": 4, "j": 16})
        >>> d.inverse()
        Layout('(m j) h -> i (m h), j (j)', ('lane', 'item'), {'m': 4, 'j': 16, 'h': 4})
        """
        from .algebra import inverted

        self._require_whole("inverse")
        return Layout(*inverted(self))

    def _require_whole(self, what: str) -> None:
        for axis, extent in self.partial.items():
            raise Error(f"'{self.pattern}' has no {what}: {axis} ends at {extent}, so some places hold nothing")

    @arguments_checked
    def compose(self, then: Layout) -> Layout:
        """First this layout, then another one whose axes are the places of this one.

        Digits are split where the two cut them differently. A replicated digit stays replicated unless `then`
        shares it.

        Raises:
            Error: the axes of `then` are not the places of this layout, or their extents differ, or the digits
                cannot be cut alike (6 as 2 times 3 against 3 times 2).

        >>> a = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4})
        >>> memory = Layout("item lane -> byte (lane item b)", ("item", "lane"), {"item": 4, "lane": 64, "b": 2})
        >>> a.compose(memory).pattern
        'i (g e) -> byte (g i e b)'
        """
        from .algebra import composed

        return Layout(*composed(self, then), self.partial)

    @arguments_checked
    def renamed(self, **names: str) -> Layout:
        """The same layout with other names of axes and places; those not named keep theirs.

        >>> Layout("i j -> lane (j), item (i)", ("i", "j"), {"i": 4, "j": 8}).renamed(i="k", item="register")
        Layout('k j -> lane (j), register (k)', ('k', 'j'), {'k': 4, 'j': 8})
        """
        from .algebra import renamed

        partial = {names.get(axis, axis): extent for axis, extent in self.partial.items()}
        return Layout(*renamed(self, names), partial)

    def linear(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """The layout as Triton's LinearLayout: for each bit of each place, lowest first, the coordinates it adds.

        The element at a place is the XOR of the bases of its set bits. A basis of zeros is a copy (or a selector).

        Raises:
            Error: a size that is not a power of two, an axis of `partial`, or a digit that is shared (several elements
                in one place).

        >>> Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 4, "g": 2, "e": 2}).linear()
        {'lane': ((1, 0), (2, 0), (0, 2)), 'item': ((0, 1),)}
        """
        from .algebra import bases

        self._require_whole("linear layout")
        return bases(self)

    @arguments_checked
    def cute(self, order: Sequence[str] = ()) -> str:
        """The layout as CuTe's shape:stride, from (thread, value) to the index of an element in the matrix.

        The last place is the value; those before it are the thread, the last of them fastest. In both, as in CuTe,
        the first mode is the fastest.

        Args:
            order: the axes, the fastest in memory first; in their own order, and a block last, if left out. CuTe's
                B is (N, K), so its layouts of B are those of order ("j", "k").

        Raises:
            Error: a digit that is shared, an axis of `partial`, or an order that is not one of the axes.

        >>> Layout("(h i) (c t e) -> lane (i t), item (c h e)", ("i", "k"),
        ...        {"h": 2, "i": 8, "c": 2, "t": 4, "e": 2}).cute()
        '((4,8),(2,2,2)):((32,1),(16,8,128))'
        """
        from .algebra import shape_and_stride

        self._require_whole("shape:stride")
        return shape_and_stride(self, order)

    # --- the tables and the texts -------------------------------------------------------------------------

    def _table(self, source: tuple[str, ...], target: tuple[str, ...]) -> tuple[int, ...]:
        """For every value of the digits `source`, the sum of those digits at their weight in `target`."""
        weights = self.strides(target)
        table = [0]
        for name in source:
            stride, size = weights.get(name, 0), self.sizes[name.lstrip("*")]
            table = [base + digit * stride for base in table for digit in range(size)]
        return tuple(table)

    @property
    def trimmed_sizes(self) -> dict[str, int]:
        """The sizes of the digits that `pattern` names, under the names it gives them, in the order in which it does.

        >>> Layout("i (g e) -> lane (*r g i), item (e)", "ik", {"e": 4, "g": 4, "i": 16, "r": 2}).trimmed_sizes
        {'i': 16, 'g': 4, 'e': 4, 'r': 2}
        """
        return printed_sizes(self)

    @property
    def pattern(self) -> str:
        """The text without unit digits and without a block coordinate that has one value only.

        A coordinate that is left with one digit gives it its own name; one left with none prints as `()`.

        >>> Layout("b (v i) (c g e) -> lane (g b i), item (v c e)", ("block", "i", "k"),
        ...        {"b": 1, "v": 1, "i": 16, "c": 1, "g": 4, "e": 4}).pattern
        'i (g e) -> lane (g i), item (e)'
        """
        return written(self, whole=False)

    @property
    def einops(self) -> str:
        """The pattern as einops reads it: `rearrange` where every digit is on both sides, `repeat` where digits are on
        the right only, `reduce` where they are on the left only. Where both are so, no operation of einops takes it by
        itself: `reduce` the left side to the digits that both have, then `repeat` these to the right side.

        >>> Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4}).einops
        'i (g e) -> (g i) (e)'
        """
        return written_for_einops(self)


argument_class(Layout)


def _combined(choices: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
    """One of each of the choices, in all combinations: itertools.product, which costs a query 0.6 ms to import."""
    rows: list[tuple[int, ...]] = [()]
    for each in choices:
        rows = [(*row, value) for row in rows for value in each]
    return rows


# --- The notation of layouts: a text into groups of digits, and a layout back into its text without unit digits ---


def parse(text: str) -> tuple[tuple[tuple[str, ...], ...], dict[str, tuple[str, ...]]]:
    """The groups left of the arrow, and the group of each place right of it."""
    left_text, arrow, right_text = text.partition("->")
    if not arrow:
        raise Error(f"the pattern '{text}' has no arrow; it should read like 'i (g e) -> lane (g i), item (e)'")
    right: dict[str, tuple[str, ...]] = {}
    for part in right_text.split(","):
        place, _, digits = part.strip().partition(" ")
        groups = _groups(digits, text)
        if not place.isidentifier() or len(groups) != 1 or place in right:
            raise Error(f"the pattern '{text}' should name each place once, with one group: lane (g i), item (e)")
        right[place] = groups[0]
    return tuple(_groups(left_text, text)), right


def checked_digits(
    text: str,
    left: tuple[tuple[str, ...], ...],
    right: Mapping[str, tuple[str, ...]],
    axes: Sequence[str],
    sizes: Mapping[str, int],
) -> set[str]:
    """The digits of a pattern, once it is clear that each occurs where it may and has a size."""
    given = [name for group in left for name in group]
    placed = [name for names in right.values() for name in names]
    bare = [name.lstrip("*") for name in placed]
    for side in (given, bare):
        if twice := {name for name in side if side.count(name) > 1}:
            raise Error(f"the pattern '{text}' has {', '.join(sorted(twice))} twice on one side")
    replicated = {name[1:] for name in placed if name[0] == "*"}
    if wrong := sorted(replicated.intersection(given)) + [name for name in given if name[0] == "*"]:
        raise Error(f"the pattern '{text}' has {', '.join(wrong)} on the left; a replicated digit is on the right only")
    if len(left) != len(axes):
        raise Error(f"the pattern '{text}' has {len(left)} coordinates, but {len(axes)} axes: {', '.join(axes)}")
    digits = {*given, *bare}
    if missing := sorted(digits.difference(sizes)):
        raise Error(f"the pattern '{text}' has no size for: {', '.join(missing)}")
    if empty := sorted([name for name in digits if sizes[name] < 1]):
        raise Error(f"the pattern '{text}' has digits without a value: {', '.join(empty)}; a size is 1 or more")
    return digits


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


def printed_names(layout: Layout) -> dict[str, str]:
    """The digits worth printing, each with the name it prints under.

    The only digit of a coordinate that has a letter for its name (or of the block) takes that letter.
    """
    names = {digit: digit for digit, size in layout.sizes.items() if size > 1}
    for axis, group in zip(layout.axes, layout.coordinates):
        kept = [name for name in group if name in names]
        if len(kept) == 1 and axis[0] not in names and (len(axis) == 1 or axis == "block"):
            names[kept[0]] = axis[0]
    return names


def _trimmed(layout: Layout, whole: bool) -> tuple[list[str], dict[str, list[str]]]:
    """Both sides without unit digits; unless `whole`, also without a block of one value."""
    names = printed_names(layout)
    right = {
        place: [n[: n.count("*")] + names[n.lstrip("*")] for n in digits if n.lstrip("*") in names]
        for place, digits in layout.places.items()
        if whole or place != "block" or layout.spans[place] > 1
    }
    left = []
    for axis, extent, group in zip(layout.axes, layout.extents, layout.coordinates):
        kept = [names[digit] for digit in group if digit in names]
        if whole or extent > 1 or axis != "block":
            left.append(kept[0] if len(kept) == 1 else f"({' '.join(kept)})")
    return left, right


def printed_sizes(layout: Layout) -> dict[str, int]:
    """The sizes of the printed digits; see `Layout.trimmed_sizes`."""
    names = printed_names(layout)
    placed = (digit.lstrip("*") for group in layout.places.values() for digit in group)
    every = dict.fromkeys([digit for group in layout.coordinates for digit in group] + list(placed))
    return {names[digit]: layout.sizes[digit] for digit in every if digit in names}


def written(layout: Layout, whole: bool) -> str:
    """The pattern of a layout; see `Layout.pattern`. With `whole`, also a block of one value."""
    left, right = _trimmed(layout, whole)
    places = ", ".join([f"{place} ({' '.join(names)})" for place, names in right.items()])
    return f"{' '.join(left)} -> {places}"


def written_for_einops(layout: Layout) -> str:
    """The pattern of a layout as einops reads it; see `Layout.einops`."""
    left, right = _trimmed(layout, whole=False)
    places = " ".join(f"({' '.join(name.lstrip('*') for name in names)})" for names in right.values())
    return f"{' '.join(left)} -> {places}"
