"""LinearLayout: places to coordinates as a matrix over GF(2), as Triton's C++ class of this name.

One worked example. D of v_mfma_f32_32x32x8_f16 has 16 registers in 64 lanes. Each bit of the register and of the lane
has a basis, what it adds to (i, j); the element at a place is the XOR of the bases of its set bits:

    register  (1, 0) (2, 0) (8, 0) (16, 0)
    lane      (0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (4, 0)

Register 5 of lane 33 is (1, 0) ^ (8, 0) ^ (0, 1) ^ (4, 0): element (13, 1). A basis of zeros is a copy: places that
differ in this bit only hold the same element. Where each basis is a single bit of one coordinate, the layout is a
re-grouping of digits, a `mmacalc.Layout`; where a basis has several bits, it is a swizzle.
"""

from __future__ import annotations

from operator import index

from ..base.checks import arguments_checked, shown
from ..base.errors import Error
from ..base.records import Frozen, cached_property, frozen
from . import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LinearLayout"]

MOST_BITS = 40  # of all places, or of all axes, together


class LinearLayout(Frozen):
    """Places (register, lane, warp ...) to coordinates, linear over GF(2). Immutable.

    Args:
        bases: by place, for each of its bits, lowest first, the coordinates that it adds, one for each axis.
        extents: by axis, its size, a power of two.

    Raises:
        Error: a size is not a power of two, or a basis has not as many coordinates as there are axes, or one outside.

    >>> layout = LinearLayout({"register": [(0, 1)], "lane": [(1, 0), (2, 0), (0, 2)]}, {"i": 4, "k": 4})
    >>> layout.apply(register=1, lane=5)
    (1, 3)
    """

    bases: Mapping[str, tuple[tuple[int, ...], ...]]
    extents: Mapping[str, int]

    def __init__(self, bases: Mapping[str, Sequence[Sequence[int]]], extents: Mapping[str, int]) -> None:
        try:
            kept = {place: tuple([tuple(map(index, basis)) for basis in rows]) for place, rows in bases.items()}
            extents = {axis: index(size) for axis, size in extents.items()}
        except (TypeError, AttributeError):
            raise Error("bases are lists of whole numbers by place, and extents whole numbers by axis") from None
        for axis, size in extents.items():
            if size < 1 or size & (size - 1):
                raise Error(f"{axis} has {size} values; in a linear layout every size is a power of two")
        for place, rows in kept.items():
            for basis in rows:
                if len(basis) != len(extents):
                    raise Error(
                        f"a basis of {place} has a number for each of {', '.join(extents)}; got {shown(list(basis))}"
                    )
                for (axis, size), value in zip(extents.items(), basis):
                    if not 0 <= value < size:
                        raise Error(f"a basis of {place} adds {value} to {axis}, which is 0 to {size - 1}")
        bits = sum([size.bit_length() - 1 for size in extents.values()])
        if max(bits, sum(map(len, kept.values()))) > MOST_BITS:
            raise Error(f"a linear layout of more than {MOST_BITS} bits is not taken")
        self._set(bases=frozen(kept), extents=frozen(dict(extents)))

    def __reduce__(self) -> tuple[object, ...]:
        return LinearLayout, (dict(self.bases), dict(self.extents))

    def __eq__(self, other: object) -> bool:
        """The same bases of the same places, and the same axes; places of one value do not count."""
        return isinstance(other, LinearLayout) and self._identity() == other._identity()

    def _identity(self) -> tuple[object, ...]:
        return {place: rows for place, rows in self.bases.items() if rows}, dict(self.extents)

    def __hash__(self) -> int:
        return hash(tuple(self.extents.items()))

    def __repr__(self) -> str:
        rows = ", ".join([f"{place!r}: {list(map(list, bases))}" for place, bases in self.bases.items()])
        return f"LinearLayout({{{rows}}}, {dict(self.extents)})"

    # --- making ---

    @classmethod
    @arguments_checked
    def of(cls, layout: Layout) -> LinearLayout:
        """A `Layout` as bases. A replicated digit, or a selector, has bases of zeros.

        Raises:
            Error: a size that is not a power of two, an axis that ends early, or a shared digit.

        >>> d = Layout("(m h) j -> lane (m j), item (h)", ("i", "j"), {"m": 4, "h": 4, "j": 16})
        >>> LinearLayout.of(d).bases["item"]
        ((1, 0), (2, 0))
        """
        return cls(layout.linear(), dict(zip(layout.axes, layout.extents)))

    @classmethod
    def identity(cls, size: int, place: str, axis: str, axes: Sequence[str]) -> LinearLayout:
        """`size` values of a place that are those of an axis, beside axes of one value.

        Args:
            size: a power of two. place, axis: their names. axes: the names of the coordinates.

        >>> LinearLayout.identity(4, "lane", "k", ("i", "k"))
        LinearLayout({'lane': [[0, 1], [0, 2]]}, {'i': 1, 'k': 4})
        """
        at = axes.index(axis)
        rows = [[0] * at + [1 << bit] + [0] * (len(axes) - at - 1) for bit in range(_bits(size, axis))]
        return cls({place: rows}, {name: size if name == axis else 1 for name in axes})

    @classmethod
    def copies(cls, size: int, place: str, axes: Sequence[str]) -> LinearLayout:
        """`size` values of a place that all hold the same.

        Args:
            size: a power of two. place: its name. axes: the names of the coordinates.

        >>> LinearLayout.copies(4, "lane", ("i", "k"))
        LinearLayout({'lane': [[0, 0], [0, 0]]}, {'i': 1, 'k': 1})
        """
        return cls({place: [[0] * len(axes)] * _bits(size, place)}, dict.fromkeys(axes, 1))

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """This layout repeated as the other one says: the bits of the other are above its own.

        >>> one = LinearLayout.identity(2, "item", "k", ("i", "k"))
        >>> one * LinearLayout.identity(4, "lane", "i", ("i", "k")) * LinearLayout.identity(2, "item", "k", ("i", "k"))
        LinearLayout({'item': [[0, 1], [0, 2]], 'lane': [[1, 0], [2, 0]]}, {'i': 4, 'k': 4})
        """
        if tuple(self.extents) != tuple(other.extents):
            raise Error(f"layouts of {', '.join(self.extents)} and of {', '.join(other.extents)} have no product")
        sizes = tuple(self.extents.values())
        bases = {place: [*rows] for place, rows in self.bases.items()}
        for place, rows in other.bases.items():
            bases.setdefault(place, []).extend([tuple(a * b for a, b in zip(basis, sizes)) for basis in rows])
        return LinearLayout(bases, {axis: size * other.extents[axis] for axis, size in self.extents.items()})

    def fitted(
        self, extents: Mapping[str, int], repeat: Sequence[str], place: str = "register", keep: bool = False
    ) -> LinearLayout:
        """The layout on a tensor of another size, as Triton fits it: where the tensor is larger, the layout is repeated
        in further registers; where it is smaller, places are copies of each other, and registers that would be are left
        out.

        Args:
            extents: of the tensor. repeat: the axes in the order in which they are repeated. place: the registers.
            keep: keep registers that are copies, as those of an instruction are, however small the tensor is.

        >>> rows = LinearLayout.identity(4, "lane", "i", ("i",))
        >>> rows.fitted({"i": 8}, ("i",)).bases, rows.fitted({"i": 2}, ("i",)).bases["lane"]
        (mappingproxy({'lane': ((1,), (2,)), 'register': ((4,),)}), ((1,), (0,)))
        """
        kept = {}
        for name, rows in self.bases.items():
            cut = [tuple([v if v < extents[a] else 0 for v, a in zip(basis, self.extents)]) for basis in rows]
            left_out = [any(basis) and not any(new) for basis, new in zip(rows, cut)]
            kept[name] = [new for new, out in zip(cut, left_out) if keep or not (out and name == place)]
        found = LinearLayout(kept, {axis: min(size, extents[axis]) for axis, size in self.extents.items()})
        for axis in repeat:
            if (more := extents[axis] // found.extents[axis]) > 1:
                found *= LinearLayout.identity(more, place, axis, tuple(self.extents))
        return found

    def without_copies(self, place: str) -> LinearLayout:
        """The layout without those bits of a place that only make copies.

        >>> LinearLayout({"lane": [(0,), (1,)]}, {"i": 2}).without_copies("lane")
        LinearLayout({'lane': [[1]]}, {'i': 2})
        """
        rows = [basis for basis in self.bases.get(place, ()) if any(basis)]
        return LinearLayout({**self.bases, place: rows}, self.extents)

    def sliced(self, axis: str, place: str = "register") -> LinearLayout:
        """The layout of what is left when an axis is reduced: its coordinate is dropped, and registers that then hold
        the same element are one.

        >>> LinearLayout({"register": [(0, 1)], "lane": [(1, 0)]}, {"i": 2, "j": 2}).sliced("j")
        LinearLayout({'register': [], 'lane': [[1]]}, {'i': 2})
        """
        at = tuple(self.extents).index(axis)
        bases = {name: [[*basis[:at], *basis[at + 1 :]] for basis in rows] for name, rows in self.bases.items()}
        extents = {name: size for name, size in self.extents.items() if name != axis}
        return LinearLayout(bases, extents).without_copies(place)

    def renamed(self, **names: str) -> LinearLayout:
        """The same with other names of axes and places.

        >>> LinearLayout({"item": [(1,)]}, {"i": 2}).renamed(item="register", i="m")
        LinearLayout({'register': [[1]]}, {'m': 2})
        """
        bases = {names.get(place, place): rows for place, rows in self.bases.items()}
        return LinearLayout(bases, {names.get(axis, axis): size for axis, size in self.extents.items()})

    # --- asking ---

    def spans(self) -> dict[str, int]:
        """How many values each place has.

        >>> LinearLayout({"lane": [(1,), (0,)]}, {"i": 2}).spans()
        {'lane': 4}
        """
        return {place: 1 << len(rows) for place, rows in self.bases.items()}

    def apply(self, **places: int) -> tuple[int, ...]:
        """The coordinates at a place; places left out are 0.

        >>> LinearLayout({"lane": [(1,), (3,)]}, {"i": 4}).apply(lane=3)
        (2,)

        Raises:
            Error: the layout lacks the place, or the number is outside.
        """
        found = [0] * len(self.extents)
        for place, value in places.items():
            rows = self.bases.get(place)
            if rows is None:
                raise Error(f"the layout has no '{place}'; its places are {', '.join(self.bases)}")
            if not 0 <= value < 1 << len(rows):
                raise Error(f"{place} = {value} is outside the layout: {place} is 0 to {(1 << len(rows)) - 1}")
            for bit, basis in enumerate(rows):
                if value >> bit & 1:
                    found = [one ^ more for one, more in zip(found, basis)]
        return tuple(found)

    def vectors(self) -> list[int]:
        """For each bit of the places, in their order and lowest first, the coordinates as one number: the last axis
        has its lowest bits.

        >>> LinearLayout({"lane": [(1, 0), (0, 1)]}, {"i": 2, "k": 4}).vectors()
        [4, 1]
        """
        shifts, total = [], 0
        for size in reversed([*self.extents.values()]):
            shifts.append(total)
            total += size.bit_length() - 1
        shifts.reverse()
        return [
            sum([value << shift for value, shift in zip(basis, shifts)])
            for rows in self.bases.values()
            for basis in rows
        ]

    @property
    def matrix(self) -> tuple[tuple[int, ...], ...]:
        """The matrix over GF(2): a column for each bit of the places, a row for each bit of the coordinates, the lowest
        bit of the last axis first.

        >>> LinearLayout({"lane": [(1,), (3,)]}, {"i": 4}).matrix
        ((1, 1), (0, 1))
        """
        columns = self.vectors()
        rows = sum([size.bit_length() - 1 for size in self.extents.values()])
        return tuple([tuple([column >> row & 1 for column in columns]) for row in range(rows)])

    @cached_property
    def _reduced(self) -> tuple[dict[int, int], tuple[int, ...]]:
        """Gauss over GF(2): by leading bit of the coordinates the (place bits) that reach a reduced vector, and the
        combinations of place bits that reach 0. Vector and combination share a number: the combination is above."""
        width = sum([size.bit_length() - 1 for size in self.extents.values()])
        mask = (1 << width) - 1
        pivots: dict[int, int] = {}
        kernel = []
        for at, vector in enumerate(self.vectors()):
            row = vector | 1 << (width + at)
            for lead in sorted(pivots, reverse=True):
                if row >> lead & 1:
                    row ^= pivots[lead]
            if row & mask:
                pivots[(row & mask).bit_length() - 1] = row
            else:
                kernel.append(row >> width)
        return pivots, tuple(kernel)

    @property
    def rank(self) -> int:
        """How many bits of the coordinates the places tell apart.

        >>> LinearLayout({"lane": [(1,), (3,), (2,)]}, {"i": 4}).rank
        2
        """
        return len(self._reduced[0])

    @property
    def kernel(self) -> tuple[dict[str, int], ...]:
        """The places that hold what place 0 holds, as a basis: any XOR of these is one, too.

        >>> LinearLayout({"lane": [(1,), (3,), (2,)], "warp": [(0,)]}, {"i": 4}).kernel
        ({'lane': 7, 'warp': 0}, {'lane': 0, 'warp': 1})
        """
        return tuple([self._unpacked(combination) for combination in self._reduced[1]])

    def _unpacked(self, combination: int) -> dict[str, int]:
        found = {}
        for place, rows in self.bases.items():
            found[place] = combination & ((1 << len(rows)) - 1)
            combination >>= len(rows)
        return found

    @property
    def injective(self) -> bool:
        """Whether no element is at two places."""
        return not self._reduced[1]

    @property
    def surjective(self) -> bool:
        """Whether every element is somewhere."""
        return self.rank == sum([size.bit_length() - 1 for size in self.extents.values()])

    def locate(self, **coordinates: int) -> tuple[dict[str, int], ...]:
        """Every place of an element, ascending; empty if it is nowhere.

        Raises:
            Error: a coordinate is outside, or the layout has no such axis.

        >>> LinearLayout({"lane": [(1,), (3,)]}, {"i": 4}).locate(i=2)
        ({'lane': 3},)
        """
        for axis, value in coordinates.items():
            if axis not in self.extents or not 0 <= value < self.extents[axis]:
                raise Error(f"{axis} = {value} is outside the layout of {self._sizes()}")
        wanted = 0
        for axis, size in self.extents.items():
            wanted = wanted << (size.bit_length() - 1) | coordinates.get(axis, 0)
        pivots, kernel = self._reduced
        width = sum([size.bit_length() - 1 for size in self.extents.values()])
        row = wanted
        for lead in sorted(pivots, reverse=True):
            if row >> lead & 1:
                row ^= pivots[lead]
        if row & ((1 << width) - 1):
            return ()
        found = [row >> width]
        for vector in kernel:
            found += [place ^ vector for place in found]
        return tuple([self._unpacked(place) for place in sorted(found, key=self._order)])

    def _order(self, combination: int) -> tuple[int, ...]:
        return tuple(reversed(self._unpacked(combination).values()))

    def _sizes(self) -> str:
        return ", ".join([f"{axis} {size}" for axis, size in self.extents.items()])

    # --- other layouts ---

    def compose(self, then: LinearLayout) -> LinearLayout:
        """First this layout, then one whose places are the axes of this one.

        Raises:
            Error: the axes of this one are not the places of the other, or have other sizes.

        >>> swap = LinearLayout({"i": [(0, 1)], "k": [(1, 0)]}, {"x": 2, "y": 2})
        >>> LinearLayout({"lane": [(1, 0), (0, 1)]}, {"i": 2, "k": 2}).compose(swap)
        LinearLayout({'lane': [[0, 1], [1, 0]]}, {'x': 2, 'y': 2})
        """
        if then.spans() != dict(self.extents):
            theirs = ", ".join([f"{place} {span}" for place, span in then.spans().items()])
            raise Error(f"a layout into {self._sizes()} cannot be followed by one from {theirs}")
        bases = {
            place: [then.apply(**dict(zip(self.extents, basis))) for basis in rows]
            for place, rows in self.bases.items()
        }
        return LinearLayout(bases, then.extents)

    def right_inverse(self) -> LinearLayout:
        """From coordinates to one place of each element (of several the first: copies are at bit 0).

        Raises:
            Error: some elements have no place.

        >>> LinearLayout({"lane": [(1,), (3,)], "warp": [(0,)]}, {"i": 4}).right_inverse()
        LinearLayout({'i': [[1, 0], [3, 0]]}, {'lane': 4, 'warp': 2})
        """
        if not self.surjective:
            raise Error(f"the layout has no right inverse: some elements of {self._sizes()} have no place")
        bases = {
            axis: [tuple(self.locate(**{axis: 1 << bit})[0].values()) for bit in range(size.bit_length() - 1)]
            for axis, size in self.extents.items()
        }
        return LinearLayout(bases, self.spans())

    def convert(self, to: LinearLayout) -> LinearLayout:
        """From the places of another layout of the same elements to places of this one that hold them.

        Raises:
            Error: the two have other axes or sizes, or some elements have no place in this one.

        >>> rows = LinearLayout({"register": [(0, 1)], "lane": [(1, 0)]}, {"i": 2, "j": 2})
        >>> rows.convert(LinearLayout({"register": [(1, 0)], "lane": [(0, 1)]}, {"i": 2, "j": 2})).bases["lane"]
        ((1, 0),)
        """
        if dict(to.extents) != dict(self.extents):
            raise Error(f"layouts of {self._sizes()} and of {to._sizes()} hold different elements")
        return to.compose(self.right_inverse())

    def common_vector(self, other: LinearLayout, place: str = "register") -> int:
        """The largest number of neighbouring registers that hold the same run of elements in both layouts: the widest
        access between one that is in registers and one that is in memory, in elements.

        >>> one = LinearLayout({"register": [(1,), (2,), (8,)], "lane": [(4,)]}, {"i": 16})
        >>> one.common_vector(LinearLayout({"register": [(1,), (2,), (4,), (8,)]}, {"i": 16}))
        4
        """
        count = 0
        for ours, theirs in zip(self.bases.get(place, ()), other.bases.get(place, ())):
            if ours != theirs or not any(ours):
                break
            count += 1
        return 1 << count

    # --- other notations ---

    @property
    def swizzled(self) -> bool:
        """Whether some basis has several bits, or two places have the same bit, so that no re-grouping of digits is
        the layout."""
        bits = [self._bits_of(basis) for rows in self.bases.values() for basis in rows]
        single = [each[0] for each in bits if len(each) == 1]
        return any(len(each) > 1 for each in bits) or len(single) != len(set(single))

    def _bits_of(self, basis: Sequence[int]) -> list[tuple[str, int]]:
        return [
            (axis, bit)
            for axis, value in zip(self.extents, basis)
            for bit in range(value.bit_length())
            if value >> bit & 1
        ]

    def layout(self) -> Layout:
        """The layout in this package's notation.

        Raises:
            Error: it is swizzled, or some elements have no place.

        >>> LinearLayout({"register": [(0, 1), (0, 2)], "lane": [(1, 0), (2, 0), (0, 4), (0, 0)]}, {"i": 4, "k": 8}
        ...     ).layout().pattern
        'i (k1 k0) -> register (k0), lane (*r k1 i)'
        """
        if self.swizzled:
            raise Error("the layout XORs coordinates (a swizzle), so no re-grouping of digits says it; see its bases")
        if not self.surjective:
            raise Error(f"some elements of {self._sizes()} have no place, which the notation cannot say")
        held = {
            self._bits_of(basis)[0]: (place, bit)
            for place, rows in self.bases.items()
            for bit, basis in enumerate(rows)
            if any(basis)
        }
        sizes: dict[str, int] = {}
        names: dict[tuple[str, int], str] = {}
        left = [self._axis_text(axis, size, held, sizes, names) for axis, size in self.extents.items()]
        right = [self._place_text(place, rows, sizes, names) for place, rows in self.bases.items()]
        return Layout(f"{' '.join(left)} -> {', '.join(right)}", tuple(self.extents), sizes)

    def _axis_text(
        self, axis: str, size: int, held: Mapping[tuple[str, int], tuple[str, int]], sizes: dict[str, int],
        names: dict[tuple[str, int], str],
    ) -> str:  # fmt: skip
        runs: list[list[tuple[str, int]]] = []
        for bit in range(size.bit_length() - 1):
            place, at = held[axis, bit]
            if runs and runs[-1][-1] == (place, at - 1):
                runs[-1].append((place, at))
            else:
                runs.append([(place, at)])
        group = []
        for number, run in enumerate(runs):
            name = axis if len(runs) == 1 else f"{axis}{number}"
            sizes[name] = 1 << len(run)
            names |= dict.fromkeys(run, name)
            group.append(name)
        return f"({' '.join(reversed(group))})"

    def _place_text(
        self, place: str, rows: Sequence[Sequence[int]], sizes: dict[str, int], names: Mapping[tuple[str, int], str]
    ) -> str:
        digits: list[str] = []
        for bit, basis in enumerate(rows):
            name = names.get((place, bit), "")
            if any(basis):
                if not digits or digits[-1] != name:
                    digits.append(name)
            elif digits and digits[-1][0] == "*" and not any(rows[bit - 1]):
                sizes[digits[-1][1:]] *= 2
            else:
                copy = next(f"r{more or ''}" for more in range(MOST_BITS) if f"r{more or ''}" not in sizes)
                sizes[copy] = 2
                digits.append(f"*{copy}")
        return f"{place} ({' '.join(reversed(digits))})"


def _bits(size: int, what: str) -> int:
    if size < 1 or size & (size - 1):
        raise Error(f"{what} has {size} values; in a linear layout every size is a power of two")
    return size.bit_length() - 1
