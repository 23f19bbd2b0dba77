"""CuteLayout: shape and stride, with CuTe's algebra: coalesce, compose, complement, divide, product, inverses.

A CuTe layout is a function from a coordinate to an index: the inner product of the coordinate's digits and the strides,
the first mode the fastest. `(4,8):(8,1)` takes coordinate 5, which is (1, 1), to 9. Shapes and strides may be nested:
`((4,8),(2,2)):((16,1),(8,64))` is B of SM80_16x8x16, from (thread, value) to the index in an 8 x 16 matrix whose rows
(n) are the fastest.

The operations are those of NVIDIA's documentation (CUTLASS, media/docs/cpp/cute/02_layout_algebra.md), and are compared
with pycute's and those of tensor-layouts.
"""

from __future__ import annotations

import re

from ..base.checks import arguments_checked, shown, whole
from ..base.errors import Error
from ..base.records import Frozen
from . import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    Nested: TypeAlias = "int | tuple[Nested, ...]"

__all__ = ["CuteLayout", "Swizzle"]

LARGEST = 1 << 24
"""The most elements of a layout."""
_TOKEN = re.compile(r"\s*(_?\d+|[(),:])")


class Swizzle(Frozen):
    """Swizzle<BITS, BASE, SHIFT>: index ^ ((index >> SHIFT) & (mask of BITS bits << BASE)).

    A negative shift moves the low bits up, as in CuTe.

    >>> Swizzle(3, 4, 3)(0x480)
    1168
    >>> hex(Swizzle(3, 4, 3)(0x380))
    '0x3f0'
    """

    bits: int
    base: int
    shift: int

    @arguments_checked
    def __init__(self, bits: int, base: int, shift: int) -> None:
        if not (0 <= bits <= 16 and 0 <= base <= 32 and bits <= abs(shift) <= 32):
            raise Error(
                f"Swizzle<{bits},{base},{shift}> is not a swizzle: bits and base are 0 or more, and the shift is at "
                "least the bits"
            )
        self._set(bits=bits, base=base, shift=shift)

    def __reduce__(self) -> tuple[object, ...]:
        return Swizzle, (self.bits, self.base, self.shift)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Swizzle) and (self.bits, self.base, self.shift) == (
            other.bits,
            other.base,
            other.shift,
        )

    def __hash__(self) -> int:
        return hash((self.bits, self.base, self.shift))

    def __repr__(self) -> str:
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    def __call__(self, index: int) -> int:
        mask = ((1 << self.bits) - 1) << self.base
        if self.shift >= 0:
            return index ^ (index & mask << self.shift) >> self.shift
        return index ^ (index & mask) << -self.shift


class CuteLayout(Frozen):
    """A shape and a stride of the same nesting, perhaps with a swizzle of the index behind them. Immutable.

    Args:
        shape: a number or nested tuples of numbers. stride: likewise; left out, the first mode is the fastest.
        swizzle: what is done with the index; offset: what is added to it before.

    Raises:
        Error: the two are not nested alike, a size is below 1, or there are more than 2**24 elements.

    >>> layout = CuteLayout((4, 8), (8, 1))
    >>> str(layout), layout.size, layout.cosize, layout(5), layout((1, 1))
    ('(4,8):(8,1)', 32, 32, 9, 9)
    """

    shape: Nested
    stride: Nested
    swizzle: Swizzle | None
    offset: int

    def __init__(
        self, shape: Nested, stride: Nested | None = None, swizzle: Swizzle | None = None, offset: int = 0
    ) -> None:
        shape = _checked(shape, "shape")
        steps = _checked(stride, "stride") if stride is not None else _compact(shape, 1)[0]
        if not _congruent(shape, steps):
            raise Error(f"the shape {_text(shape)} and the stride {_text(steps)} are not nested alike")
        total = 1
        for size in _flat(shape):
            if size < 1:
                raise Error(f"the shape {_text(shape)} has a mode of {size}; sizes are 1 or more")
            total *= size
        if total > LARGEST:
            raise Error(f"the shape {_text(shape)} has {total} elements; at most {LARGEST} are taken")
        self._set(shape=shape, stride=steps, swizzle=swizzle, offset=offset)

    def __reduce__(self) -> tuple[object, ...]:
        return CuteLayout, (self.shape, self.stride, self.swizzle, self.offset)

    def __eq__(self, other: object) -> bool:
        """The same shape and stride; layouts that map alike may be written in several ways: compare their `indices`."""
        return isinstance(other, CuteLayout) and self.__reduce__()[1] == other.__reduce__()[1]

    def __hash__(self) -> int:
        return hash((self.shape, self.stride))

    def __repr__(self) -> str:
        return f"CuteLayout.parse({str(self)!r})"

    def __str__(self) -> str:
        plain = f"{_text(self.shape)}:{_text(self.stride)}"
        if self.swizzle is None:
            return f"{self.offset} o {plain}" if self.offset else plain
        return f"{self.swizzle} o {self.offset} o {plain}"

    @classmethod
    @arguments_checked
    def parse(cls, text: str) -> CuteLayout:
        """A layout from its text.

        Args:
            text: as CuTe prints it, `((4,8),2):((16,1),8)`, with or without the underscores of static numbers; the
                shape alone; `S<3,4,3> o 0 o (8,64):(64,1)`; C++'s `Layout<Shape<_4,_8>,Stride<_8,_1>>` or
                `make_layout(Shape<_4, Int<2 * 4>>{})`; or Python's `Layout((4, 8), (8, 1))`.

        Raises:
            Error: it is none of these; says where it stops being one.

        >>> CuteLayout.parse("Layout<Shape <Shape <_4,_8>,_2>, Stride<Stride<_16,_1>,_8>>")
        CuteLayout.parse('((4,8),2):((16,1),8)')
        >>> str(CuteLayout.parse("Sw<3,4,3> o 0 o (8,64):(64,1)"))
        'S<3,4,3> o 0 o (8,64):(64,1)'
        """
        return _parsed(text)

    # --- asking ---

    @property
    def rank(self) -> int:
        """The number of modes at the top: 1 of a single number."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def depth(self) -> int:
        """How deep the shape is nested: 0 of a single number."""
        return _depth(self.shape)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return _product(_flat(self.shape))

    @property
    def cosize(self) -> int:
        """One more than the largest index.

        >>> CuteLayout((4, 2), (1, 8)).cosize
        12
        """
        if self.swizzle is not None:
            return max(self.indices) + 1
        return self.offset + 1 + sum([(size - 1) * abs(step) for size, step in self.modes])

    @property
    def modes(self) -> tuple[tuple[int, int], ...]:
        """Size and stride of each innermost mode, the fastest first."""
        return tuple(zip(_flat(self.shape), _flat(self.stride)))

    @property
    def indices(self) -> tuple[int, ...]:
        """The index of every coordinate, in their order.

        >>> CuteLayout((2, 2), (2, 1)).indices
        (0, 2, 1, 3)
        """
        found = [self.offset]
        for size, step in self.modes:
            found = [base + step * digit for digit in range(size) for base in found]
        return tuple(map(self.swizzle, found)) if self.swizzle else tuple(found)

    def __getitem__(self, mode: int) -> CuteLayout:
        """One of the modes at the top."""
        if not isinstance(self.shape, tuple) or not isinstance(self.stride, tuple):
            if mode in (0, -1):
                return self
            raise IndexError(f"{self} has one mode")
        return CuteLayout(self.shape[mode], self.stride[mode])

    def __iter__(self) -> Iterator[CuteLayout]:
        return iter([self[mode] for mode in range(self.rank)])

    def __len__(self) -> int:
        return self.rank

    def __call__(self, coordinate: Any, *more: Any) -> int:
        """The index of a coordinate: a number, or tuples that are nested at most as deep as the shape.

        Raises:
            Error: the coordinate is outside, or is not of the shape's form.
        """
        at = (coordinate, *more) if more else coordinate
        index = self.offset + _index(at, self.shape, self.stride, self)
        return self.swizzle(index) if self.swizzle else index

    # --- the algebra ---

    def _plain(self, what: str) -> None:
        if self.swizzle is not None or self.offset:
            raise Error(f"{what} needs a layout of shape and stride alone; {self} has a swizzle or an offset")

    def coalesce(self) -> CuteLayout:
        """The same function with as few modes as can be: neighbours that continue one another are one.

        >>> str(CuteLayout((2, (1, 6)), (1, (6, 2))).coalesce())
        '12:1'
        """
        made = _merged(self.modes)
        return CuteLayout(*_unwrapped(made), swizzle=self.swizzle, offset=self.offset)

    def filtered(self) -> CuteLayout:
        """Without the modes of stride 0, which are copies, coalesced.

        >>> str(CuteLayout((4, 8, 2), (1, 0, 4)).filtered())
        '8:1'
        """
        return CuteLayout(*_unwrapped(_merged([mode for mode in self.modes if mode[1]])))

    def compose(self, then: CuteLayout) -> CuteLayout:
        """self o then: first the other layout, whose indices are this one's coordinates.

        (CuTe writes composition(self, then); `Layout.compose` of this package goes the other way round.)

        Raises:
            Error: the sizes and strides of the other do not divide this one's modes.

        >>> str(CuteLayout(20, 2).compose(CuteLayout((5, 4), (4, 1))))
        '(5,4):(8,2)'
        """
        then._plain("composition on the right")
        base = _merged(self.modes)
        shape, stride = _composed(base, then.shape, then.stride, self, then)
        found = CuteLayout(shape, stride)
        # CuTe composes mode by mode, which is the composition only where the modes' indices do not carry into another.
        if then.rank > 1 and found.indices != tuple([_beyond(base, middle) for middle in then.indices]):
            raise Error(f"{self} cannot follow {then}: the indices of the modes of the second add up across its modes")
        return CuteLayout(shape, stride, self.swizzle, self.offset)

    def complement(self, size: int | None = None) -> CuteLayout:
        """The layout of what this one leaves out of 0 to size: both side by side reach each index once, where the
        strides divide one another; else, as in CuTe, the quotients are rounded down, and indices are left out.

        Args:
            size: to where; the cosize if left out.

        Raises:
            Error: a mode begins before the ones of smaller strides end, so that indices would be taken twice.

        >>> str(CuteLayout((2, 2), (1, 6)).complement(24))
        '(3,2):(2,12)'
        """
        self._plain("the complement")
        end = self.cosize if size is None else size
        made: list[tuple[int, int]] = []
        reached = 1
        for step, count in sorted((abs(step), count) for count, step in self.modes if count > 1 and step):
            if step < reached:
                raise Error(f"{self} has no complement: its mode of stride {step} begins before index {reached}")
            if step // reached > 1:
                made.append((step // reached, reached))
            reached = step * count
        made.append((-(-end // reached), reached))
        return CuteLayout(*_unwrapped(_merged(made)))

    def logical_divide(self, tiler: Any) -> CuteLayout:
        """(tile, rest): the elements that the tiler selects, and what is left.

        Args:
            tiler: a layout or number; or a tuple of them, one for each mode.

        >>> str(CuteLayout((4, 2, 3), (2, 1, 8)).logical_divide(CuteLayout(4, 2)))
        '((2,2),(2,3)):((4,1),(2,8))'
        """
        return self._by_mode(tiler, CuteLayout.logical_divide) or self._divided(_as_layout(tiler))

    def _divided(self, tiler: CuteLayout) -> CuteLayout:
        rest = tiler.complement(self.size)
        return self.compose(_joined([tiler, rest]))

    def _by_mode(self, tiler: Any, what: Any) -> CuteLayout | None:
        """For a tuple of tilers, what is asked of each mode; None for a single one."""
        if not isinstance(tiler, tuple):
            return None
        if len(tiler) > self.rank:
            raise Error(f"{self} has {self.rank} modes, and the tiler {len(tiler)}")
        parts = [what(self[at], one) for at, one in enumerate(tiler)]
        return _joined([*parts, *[self[at] for at in range(len(tiler), self.rank)]])

    def zipped_divide(self, tiler: Any) -> CuteLayout:
        """((tile of each mode), (rest of each mode)).

        >>> str(CuteLayout((8, 8)).zipped_divide((2, 4)))
        '((2,4),(4,2)):((1,8),(2,32))'
        """
        divided = self.logical_divide(tiler)
        if not isinstance(tiler, tuple):
            return divided
        pairs = [divided[at] for at in range(len(tiler))]
        rest = [divided[at] for at in range(len(tiler), divided.rank)]
        return _joined([_joined([pair[0] for pair in pairs]), _joined([*[pair[1] for pair in pairs], *rest])])

    def tiled_divide(self, tiler: Any) -> CuteLayout:
        """((tile of each mode), rest, rest ...); the tiler is as for `logical_divide`.

        >>> str(CuteLayout((8, 8)).tiled_divide((2, 4)))
        '((2,4),4,2):((1,8),2,32)'
        """
        zipped = self.zipped_divide(tiler)
        return _joined([zipped[0], *zipped[1]])

    def flat_divide(self, tiler: Any) -> CuteLayout:
        """(tile, tile ..., rest, rest ...); the tiler is as for `logical_divide`.

        >>> str(CuteLayout((8, 8)).flat_divide((2, 4)))
        '(2,4,4,2):(1,8,2,32)'
        """
        zipped = self.zipped_divide(tiler)
        return _joined([*zipped[0], *zipped[1]])

    def logical_product(self, tiler: Any) -> CuteLayout:
        """(this layout, where its copies go): the tiler says how many, and in which order.

        >>> str(CuteLayout((2, 2), (4, 1)).logical_product(CuteLayout(6, 1)))
        '((2,2),(2,3)):((4,1),(2,8))'
        """
        by_mode = self._by_mode(tiler, CuteLayout.logical_product)
        if by_mode is not None:
            return by_mode
        other = _as_layout(tiler)
        return _joined([self, self.complement(self.size * other.cosize).compose(other)])

    def blocked_product(self, tiler: CuteLayout) -> CuteLayout:
        """The tiles side by side: mode by mode (this layout, the tiler).

        >>> str(CuteLayout((2, 5), (5, 1)).blocked_product(CuteLayout((3, 4), (1, 3))))
        '((2,3),(5,4)):((5,10),(1,30))'
        """
        return self._interleaved(tiler, tiler_first=False)

    def raked_product(self, tiler: CuteLayout) -> CuteLayout:
        """The tiles interleaved: mode by mode (the tiler, this layout).

        >>> str(CuteLayout((2, 5), (5, 1)).raked_product(CuteLayout((3, 4), (1, 3))))
        '((3,2),(4,5)):((10,5),(30,1))'
        """
        return self._interleaved(tiler, tiler_first=True)

    def _interleaved(self, tiler: CuteLayout, tiler_first: bool) -> CuteLayout:
        rank = max(self.rank, tiler.rank)
        ours, theirs = (_joined([*each, *[CuteLayout(1, 0)] * (rank - each.rank)]) for each in (self, tiler))
        product = ours.logical_product(theirs)
        parts = []
        for one, more in zip(product[0], product[1]):
            pair = [more, one] if tiler_first else [one, more]
            merged = [part.coalesce() for part in pair]
            kept = [part for part in merged if part.size > 1]
            parts.append(_joined(kept) if len(kept) > 1 else (kept or [CuteLayout(1, 0)])[0])
        return _joined(parts)

    def right_inverse(self) -> CuteLayout:
        """From indices 0, 1 ... as far as they go to the coordinates that have them.

        >>> str(CuteLayout((4, 8), (8, 1)).right_inverse())
        '(8,4):(4,1)'
        """
        self._plain("the right inverse")
        made, reached, weight = [], 1, 1
        weighted = []
        for size, step in self.modes:
            weighted.append((step, size, weight))
            weight *= size
        for step, size, below in sorted(weighted):
            if size == 1 or step == 0:
                continue
            if step != reached:
                break
            made.append((size, below))
            reached = step * size
        return CuteLayout(*_unwrapped(_merged(made)))

    def left_inverse(self) -> CuteLayout:
        """From every index that this layout reaches to the coordinate; of copies (stride 0) to the first.

        Raises:
            Error: as `complement`, or the strides do not divide one another.

        >>> layout = CuteLayout((4, 2), (1, 8))
        >>> [layout.left_inverse()(layout(at)) for at in range(8)]
        [0, 1, 2, 3, 4, 5, 6, 7]
        """
        inverse = _joined([self, self.complement()]).right_inverse()
        if inverse.size < self.cosize:
            raise Error(f"{self} has no left inverse: its strides do not divide one another")
        return inverse

    def tiled_copy(self, values: CuteLayout) -> tuple[CuteLayout, tuple[int, ...]]:
        """Of threads laid out as this layout says, each with values laid out as `values` says: from (thread, value) to
        the index in the tile, the first axis the fastest, and the tile's sizes (CuTe's make_tiled_copy_tv).

        Raises:
            Error: threads and values do not fill a tile.

        >>> tiled, tile = CuteLayout((32, 4), (4, 1)).tiled_copy(CuteLayout((1, 8), (8, 1)))
        >>> str(tiled), tile
        ('((4,32),8):((256,1),32)', (32, 32))
        """
        both = self.raked_product(values)
        inverse = both.right_inverse()
        if inverse.size != both.size:
            raise Error(f"threads {self} with values {values} do not fill a tile")
        sizes = tuple([part.size for part in both])
        return inverse.compose(CuteLayout((self.size, values.size))), sizes

    def nullspace(self) -> CuteLayout:
        """The coordinates whose index is 0 since their modes have stride 0: what is a copy of what.

        >>> str(CuteLayout((4, 8, 2), (1, 0, 4)).nullspace())
        '8:4'
        """
        made, weight = [], 1
        for size, step in self.modes:
            if step == 0 and size > 1:
                made.append((size, weight))
            weight *= size
        return CuteLayout(*_unwrapped(made))

    def common_vector(self, other: CuteLayout) -> int:
        """How many elements a vector access between the two may move at once.

        >>> CuteLayout((8, 8), (8, 1)).common_vector(CuteLayout((8, 8), (1, 8)))
        1
        >>> CuteLayout((8, 4), (1, 8)).common_vector(CuteLayout((8, 4), (1, 16)))
        8
        """
        for layout in (self, other):
            layout._plain("the common vector")
        inverse, modes = other.right_inverse(), _merged(self.modes)
        return next((at for at, where in enumerate(inverse.indices) if _beyond(modes, where) != at), inverse.size)

    # --- this package's notation ---

    def layout(self, axes: Sequence[str] = ("index",), place: str = "place", extents: Sequence[int] = ()) -> Layout:
        """From the index to the coordinate, as a `Layout`: an axis is a part of the index, a place is a mode.

        Args:
            axes: the names of the parts of the index, the fastest first. place: the places are this name and the number
                of the mode, or names apart by commas. extents: the sizes of the axes; of one axis it may be left out.

        Raises:
            Error: it does not just re-group digits: indices are left out or shared, or there is a swizzle.

        >>> b = CuteLayout.parse("((4,8),(2,2)):((16,1),(8,64))")
        >>> b.layout(("j", "k"), "thread,value", (8, 16)).pattern
        'j (k2 k1 k0) -> thread (j k1), value (k2 k0)'
        """
        return _as_digits(self, tuple(axes), place, tuple(extents))


# --- shapes and strides ---


def _checked(value: Any, what: str) -> Nested:
    if isinstance(value, bool) or not isinstance(value, (int, tuple, list)):
        raise Error(f"a {what} is a number or nested tuples of numbers; got {shown(value)}")
    return value if isinstance(value, int) else tuple([_checked(part, what) for part in value])


def _flat(nested: Nested) -> list[int]:
    return [nested] if isinstance(nested, int) else [number for part in nested for number in _flat(part)]


def _depth(nested: Nested) -> int:
    return 0 if isinstance(nested, int) else 1 + max([_depth(part) for part in nested], default=0)


def _product(sizes: Iterable[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _compact(shape: Nested, weight: int) -> tuple[Nested, int]:
    """Strides with which the first mode is the fastest, and the weight after them."""
    if isinstance(shape, int):
        return (weight if shape > 1 else 0), weight * shape
    made = []
    for part in shape:
        step, weight = _compact(part, weight)
        made.append(step)
    return tuple(made), weight


def _congruent(one: Nested, other: Nested) -> bool:
    if isinstance(one, int) or isinstance(other, int):
        return isinstance(one, int) and isinstance(other, int)
    return len(one) == len(other) and all(map(_congruent, one, other))


def _text(nested: Nested) -> str:
    return str(nested) if isinstance(nested, int) else f"({','.join(map(_text, nested))})"


def _index(at: Any, shape: Nested, stride: Nested, whole_layout: CuteLayout) -> int:
    if isinstance(at, tuple):
        if isinstance(shape, int) or isinstance(stride, int) or len(at) != len(shape):
            raise Error(f"the coordinate {shown(at)} is not of the form of {whole_layout}")
        return sum(_index(*parts, whole_layout) for parts in zip(at, shape, stride))
    size = _product(_flat(shape))
    if not isinstance(at, int) or not 0 <= at < size:
        raise Error(f"the coordinate {shown(at)} is outside {whole_layout}: it is 0 to {size - 1}")
    total = 0
    for count, step in zip(_flat(shape), _flat(stride)):
        total += at % count * step
        at //= count
    return total


def _merged(modes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring modes that continue one another as one, without those of one value."""
    merged: list[tuple[int, int]] = []
    for size, step in modes:
        if size == 1:
            continue
        if merged and step == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0] * size, merged[-1][1])
        else:
            merged.append((size, step))
    return merged


def _unwrapped(modes: Sequence[tuple[int, int]]) -> tuple[Nested, Nested]:
    """Shape and stride of flat modes: of one, two numbers; of none, those of one element."""
    if len(modes) < 2:
        return modes[0] if modes else (1, 0)
    return tuple([size for size, _ in modes]), tuple([step for _, step in modes])


def _joined(parts: Sequence[CuteLayout]) -> CuteLayout:
    return CuteLayout(tuple([part.shape for part in parts]), tuple([part.stride for part in parts]))


def _as_layout(tiler: Any) -> CuteLayout:
    if isinstance(tiler, CuteLayout):
        return tiler
    if isinstance(tiler, int) and not isinstance(tiler, bool):
        return CuteLayout(tiler, 1)
    raise Error(f"a tiler is a layout, a number, or a tuple of them; got {shown(tiler)}")


def _composed(
    base: list[tuple[int, int]], shape: Nested, stride: Nested, self: CuteLayout, then: CuteLayout
) -> tuple[Nested, Nested]:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        parts = [_composed(base, size, step, self, then) for size, step in zip(shape, stride)]
        return tuple([part[0] for part in parts]), tuple([part[1] for part in parts])
    assert isinstance(shape, int)
    assert isinstance(stride, int)
    if stride == 0 or shape == 1:
        return shape, 0
    left, skip, made, divides = shape, stride, [], True
    for size, step in base[:-1]:
        if left > 1 and (left - 1) * skip < size:  # all that is left lies within this mode
            made.append((left, skip * step))
            left = 1
            break
        taken = min(max(1, size // skip), left)
        divides = divides and not (skip % size and size % skip) and not left % taken
        if taken > 1:
            made.append((taken, skip * step))
        left = -(-left // taken)
        skip = -(-skip // size)
    last = base[-1][1] if base else 0
    if left > 1 or not made:
        made.append((left, skip * last))
    found = CuteLayout(*_unwrapped(_merged(made)))
    if not divides and found.indices != tuple([_beyond(base, at * stride) for at in range(shape)]):
        raise Error(f"{self} cannot follow {then}: {shape} elements at stride {stride} do not fill its modes evenly")
    return found.shape, found.stride


def _beyond(modes: Sequence[tuple[int, int]], at: int) -> int:
    """The index of a coordinate, also of one behind the last, which the last mode reaches."""
    index = 0
    for size, step in modes[:-1]:
        index += at % size * step
        at //= size
    return index + (at * modes[-1][1] if modes else 0)


# --- texts ---

_SWIZZLED = re.compile(r"\s*(?:Swizzle|Sw|S)<\s*(\d+)\s*,\s*(\d+)\s*,\s*(-?\d+)\s*>\s*(?:o\s*(.*))?", re.DOTALL)
_OFFSET = re.compile(r"\s*_?(\d+)\s*o\s*(.*)", re.DOTALL)
_STATIC = re.compile(r"\b(?:Int|C)<\s*(\d+(?:\s*\*\s*\d+)*)\s*>")  # C++'s numbers, perhaps as a product: Int<16 * 4>


def _parsed(text: str) -> CuteLayout:
    swizzle, offset, rest = None, 0, text.strip()
    if (found := _SWIZZLED.fullmatch(rest)) is not None:
        bits, base, shift = (-whole(one[1:], "a shift") if one[0] == "-" else whole(one, "a swizzle")
                             for one in found.group(1, 2, 3))  # fmt: skip
        swizzle, rest = Swizzle(bits, base, shift), (found[4] or "").strip()
        if not rest:
            raise Error(f"'{text.strip()}' is a swizzle alone; a layout follows it: {swizzle} o 0 o (8,64):(64,1)")
    if (found := _OFFSET.fullmatch(rest)) is not None:
        offset, rest = whole(found[1], "an offset"), found[2]
    for wrapper in ("ComposedLayout", "make_layout", "cute.make_layout", "Layout"):
        if rest.startswith(wrapper):
            rest = rest[len(wrapper) :].strip()
            if rest[:1] not in "<(" or rest[-1:] not in ">)":
                raise Error(f"'{text.strip()}' is not a layout of CuTe; write (4,8):(8,1)")
            rest = rest[1:-1]
            break
    plain = re.sub(r"\b(?:Shape|Stride|make_shape|make_stride|cute\.Shape)\s*", "", rest)
    plain = _STATIC.sub(
        lambda found: str(_product([whole(one.strip(), "a size") for one in found[1].split("*")])), plain
    )
    plain = re.sub(r"\bstride\s*=|(?<=[>\d])\s*(?:\{\s*\}|\(\s*\))", "", plain)
    tokens = _tokens(plain.replace("<", "(").replace(">", ")"), text)
    shape, at = _nested(tokens, 0, text)
    if at < len(tokens) and tokens[at] in (":", ","):
        stride, at = _nested(tokens, at + 1, text)
        if at == len(tokens):
            return CuteLayout(shape, stride, swizzle, offset)
    elif at == len(tokens):
        return CuteLayout(shape, None, swizzle, offset)
    raise Error(f"'{text.strip()}' is not a layout of CuTe: '{' '.join(tokens[at:])[:40]}' is left behind it")


def _tokens(text: str, given: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Error(
                f"'{given.strip()[:80]}' is not a layout of CuTe: '{text[at:].strip()[:20]}' is not a number, comma, "
                "colon or parenthesis; write ((4,8),2):((16,1),8)"
            )
        tokens.append(found[1].lstrip("_"))
        at = found.end()
    return tokens


def _nested(tokens: list[str], at: int, given: str, depth: int = 0) -> tuple[Nested, int]:
    if depth > 16:
        raise Error(f"'{given.strip()[:80]}' is nested more than 16 deep")
    if at >= len(tokens):
        raise Error(f"'{given.strip()[:80]}' is not a layout of CuTe: it ends early")
    if tokens[at].isdecimal():
        return whole(tokens[at], "a size"), at + 1
    if tokens[at] != "(":
        raise Error(f"'{given.strip()[:80]}' is not a layout of CuTe: '{tokens[at]}' stands where a number should")
    parts: list[Nested] = []
    at += 1
    while at < len(tokens) and tokens[at] != ")":
        part, at = _nested(tokens, at, given, depth + 1)
        parts.append(part)
        if at < len(tokens) and tokens[at] == ",":
            at += 1
        elif at >= len(tokens) or tokens[at] != ")":
            break
    if at >= len(tokens) or tokens[at] != ")":
        raise Error(f"'{given.strip()[:80]}' is not a layout of CuTe: a parenthesis is not closed")
    return tuple(parts), at + 1


# --- digits ---


def _as_digits(layout: CuteLayout, axes: tuple[str, ...], place: str, extents: tuple[int, ...]) -> Layout:
    if layout.swizzle is not None or layout.offset:
        raise Error(f"{layout} has a swizzle or an offset, so no re-grouping of digits says it")
    sizes = extents or (layout.cosize,)
    if len(sizes) != len(axes):
        raise Error(f"{', '.join(axes)} have sizes, one for each; got {len(sizes)}")
    names = place.split(",") if "," in place else [f"{place}{mode}" for mode in range(layout.rank)]
    if layout.rank == 1 and "," not in place:
        names = [place]
    if len(names) != layout.rank:
        raise Error(f"{layout} has {layout.rank} modes; names were given for {len(names)}")
    bounds = [1]
    for size in sizes:
        bounds.append(bounds[-1] * size)
    pieces = [[piece for mode in one.modes for piece in _cut(*mode, bounds)] for one in layout]
    order = sorted([(step, size) for mode in pieces for size, step in mode if size > 1 and step])
    reached = 1
    for step, size in order:
        if step != reached:
            raise Error(
                f"{layout} does not just re-group digits: "
                f"{'indices are left out' if step > reached else 'indices are taken twice'} at stride {reached}"
            )
        reached *= size
    if reached != bounds[-1]:
        raise Error(f"{layout} reaches {reached} of {bounds[-1]} indices, so some elements have no place")
    return _written(axes, bounds, names, pieces, [step for step, _ in order])


def _cut(size: int, step: int, bounds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """A mode in pieces that each lie within one axis."""
    for bound in bounds[1:-1]:
        if step and step < bound < step * size and bound % step == 0 and size % (bound // step) == 0:
            yield bound // step, step
            size, step = size * step // bound, bound
    yield size, step


def _written(
    axes: tuple[str, ...], bounds: Sequence[int], names: Sequence[str],
    pieces: Sequence[Sequence[tuple[int, int]]], order: Sequence[int],
) -> Layout:  # fmt: skip
    named: dict[int, str] = {}
    left, sizes = [], {}
    every = {step: size for mode in pieces for size, step in mode if size > 1 and step}
    for axis, low, high in zip(axes, bounds, bounds[1:]):
        own = [step for step in order if low <= step < high]
        for number, step in enumerate(own):
            named[step] = axis if len(own) == 1 else f"{axis}{number}"
            sizes[named[step]] = every[step]
        left.append(f"({' '.join([named[step] for step in reversed(own)])})")
    right, copies = [], 0
    for name, mode in zip(names, pieces):
        digits = []
        for size, step in mode:
            if size > 1 and step == 0:
                copy = f"r{copies or ''}"
                sizes[copy], copies = size, copies + 1
                digits.append(f"*{copy}")
            elif size > 1:
                digits.append(named[step])
        right.append(f"{name} ({' '.join(reversed(digits))})")
    return Layout(f"{' '.join(left)} -> {', '.join(right)}", axes, sizes)
