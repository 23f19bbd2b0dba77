"""From one layout of a tensor to another: whether they are the same, and if not what has to move, and how far.

Triton's convert_layout does this with the same three means: registers are renamed, lanes of a warp exchange values, or
values go through shared memory. Which one is needed is decided over GF(2): a target place gets its element from a
source place of the same warp and lane if the difference of the two is in the span of the source's registers; of the
same warp if it is in the span of registers and lanes.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import Record
from ..layout.cute import CuteLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..layout.linear import LinearLayout

__all__ = ["Conversion", "convert"]

WIDEST = 16
"""Bytes of the widest access of a lane to shared memory."""


class Conversion(Record):
    """What it takes to go from one layout to another of the same tensor.

    Attributes:
        kind: "identical", "registers" (others, of the same lane), "lanes" (of the same warp) or "shared memory".
        extents: the sizes of the tensor's axes. bits: of an element.
        first: the first place that differs, with the elements that the two have there; empty if none does.
        differ: of how many places of the target the source has another element. places: how many there are.
        moved: how many elements each thread gets from another lane or warp, on the average.
        stores, loads: elements that each thread has in the source and in the target, copies once.
        shared_bytes: of shared memory that it goes through; 0 if it does not.
        vector: how many elements an access to shared memory moves at most.
        orders: by axis, where each bit of the source's coordinate goes in the target's, if the two layouts are one
            but for the order along some axes; empty if they are not, or are identical.
    """

    kind: str
    extents: tuple[int, ...]
    bits: int
    first: tuple[dict[str, int], tuple[int, ...], tuple[int, ...]] | tuple[()]
    differ: int
    places: int
    moved: float
    stores: int
    loads: int
    shared_bytes: int
    vector: int
    orders: dict[str, tuple[int, ...]] = {}

    @property
    def permutations(self) -> dict[str, str]:
        """The orders as CuTe writes the permutation of a tiled MMA, where that says them: by the axis, from a place's
        coordinate in the source to that in the target."""
        return {
            axis: str(CuteLayout((2,) * len(bits), bits).coalesce())
            for axis, bits in self.orders.items()
            if all(bit & (bit - 1) == 0 for bit in bits)
        }


def convert(source: LinearLayout, target: LinearLayout, bits: int = 32) -> Conversion:
    """What it takes to go from one layout of a tensor to another.

    Args:
        source, target: layouts of the same axes. bits: of an element.

    Raises:
        Error: they are of other axes or sizes, or of other numbers of lanes or warps.

    >>> from mmacalc.foreign import read
    >>> rows = read("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])").linear((64, 64))
    >>> convert(rows, read("gl.BlockedLayout([4, 1], [8, 4], [4, 1], [0, 1])").linear((64, 64)), 16).kind
    'shared memory'
    """
    if dict(source.extents) != dict(target.extents):
        raise Error(
            f"the layouts are of tensors of {_sizes(source)} and of {_sizes(target)}; a conversion is of one tensor"
        )
    for place in ("lane", "warp", "block", "thread"):
        counts = [layout.spans().get(place, 1) for layout in (source, target)]
        if counts[0] != counts[1]:
            raise Error(f"the layouts have {counts[0]} and {counts[1]} {place}s; a conversion is within one kernel")
    first, differ, places = _differences(source, target)
    kind = "identical" if not differ and source.spans() == target.spans() else _means(source, target)
    ours, theirs = _registers(source), _registers(target)
    common = [basis for basis in theirs if basis in ours]
    through = kind == "shared memory"
    total = 1
    for size in source.extents.values():
        total *= size
    widest = max(1, WIDEST * 8 // bits)
    return Conversion(
        kind, tuple(source.extents.values()), bits, first, differ, places, _moved(source, target, kind),
        1 << len(ours), 1 << len(theirs), total * bits // 8 if through else 0,
        min(1 << len(common), widest) if through else 0, _orders(source, target) if differ else {},
    )  # fmt: skip


def _sizes(layout: LinearLayout) -> str:
    return "x".join(map(str, layout.extents.values()))


def _registers(layout: LinearLayout) -> list[tuple[int, ...]]:
    """The bases of what a thread holds, without copies."""
    every = [basis for place in ("register", "item", "value", "offset") for basis in layout.bases.get(place, ())]
    return [basis for basis in every if any(basis)]


def _differences(
    source: LinearLayout, target: LinearLayout
) -> tuple[tuple[dict[str, int], tuple[int, ...], tuple[int, ...]] | tuple[()], int, int]:
    """The first place with another element, how many there are, and how many places."""
    spans = target.spans()
    places = 1
    for span in spans.values():
        places *= span
    wider = {place: max(len(source.bases.get(place, ())), len(rows)) for place, rows in target.bases.items()}
    nothing = (0,) * len(target.extents)
    deltas, first = [], None
    for place, count in wider.items():
        ours, theirs = source.bases.get(place, ()), target.bases[place]
        for bit in range(count):
            one = ours[bit] if bit < len(ours) else nothing
            other = theirs[bit] if bit < len(theirs) else nothing
            delta = tuple(a ^ b for a, b in zip(one, other))
            if any(delta) and first is None:
                first = ({place: 1 << bit}, one, other)
            if bit < len(theirs):
                deltas.append(delta)
    rank = len(_reduced([_packed(target, delta) for delta in deltas]))
    same = places >> rank
    return first or (), places - same, places


def _orders(source: LinearLayout, target: LinearLayout) -> dict[str, tuple[int, ...]]:
    """By axis, the order of its coordinates with which the source is the target; {} if no order makes it so.

    A place's coordinate along an axis is a sum over GF(2) of the bases of its bits. There is an order where the sums
    that are 0 in one layout are 0 in the other.
    """
    places = {place: max(len(source.bases.get(place, ())), len(rows)) for place, rows in target.bases.items()}
    places |= {place: len(rows) for place, rows in source.bases.items() if place not in places}
    found = {}
    for at, (axis, size) in enumerate(source.extents.items()):
        width = size.bit_length() - 1
        ours, theirs = [
            [rows[bit][at] if bit < len(rows := layout.bases.get(place, ())) else 0
             for place, bits in places.items() for bit in range(bits)]
            for layout in (source, target)
        ]  # fmt: skip
        both = _reduced([one << width | other for one, other in zip(ours, theirs)])
        if not len(both) == len(_reduced(ours)) == len(_reduced(theirs)) == width:
            return {}
        goes = tuple([_remainder(1 << (width + bit), both) for bit in range(width)])
        if goes != tuple([1 << bit for bit in range(width)]):
            found[axis] = goes
    return found


def _packed(layout: LinearLayout, coordinates: Sequence[int]) -> int:
    """Coordinates as one number."""
    number = 0
    for value, size in zip(coordinates, layout.extents.values()):
        number = number << (size.bit_length() - 1) | value
    return number


def _reduced(vectors: Iterable[int]) -> list[int]:
    """A basis of the span of vectors over GF(2)."""
    basis: list[int] = []
    for vector in vectors:
        if left := _remainder(vector, basis):
            basis.append(left)
    return basis


def _remainder(vector: int, basis: Iterable[int]) -> int:
    """What is left of a vector after the elements of a basis, which `_reduced` made; 0 if it is in their span."""
    for known in basis:
        vector = min(vector, vector ^ known)
    return vector


def _means(source: LinearLayout, target: LinearLayout) -> str:
    """How far elements have to move."""
    registers = [place for place in source.bases if place in ("register", "item", "value")]
    for kind, free in (("registers", registers), ("lanes", [*registers, "lane"])):
        span = _reduced([_packed(source, basis) for place in free for basis in source.bases.get(place, ())])
        if not any(_remainder(_packed(source, delta), span) for delta in _deltas(source, target, free)):
            return kind
    return "shared memory"


def _deltas(source: LinearLayout, target: LinearLayout, free: Sequence[str]) -> list[tuple[int, ...]]:
    """For each bit of the target's places what the source has to make up for by its free places."""
    found = []
    for place, rows in target.bases.items():
        for bit, basis in enumerate(rows):
            own = source.bases.get(place, ())
            same = own[bit] if place not in free and bit < len(own) else (0,) * len(basis)
            found.append(tuple(a ^ b for a, b in zip(basis, same)))
    return found


def _moved(source: LinearLayout, target: LinearLayout, kind: str) -> float:
    """The elements that a thread gets from elsewhere, on the average: those outside the span of its registers."""
    if kind in ("identical", "registers"):
        return 0.0
    registers = [place for place in source.bases if place in ("register", "item", "value")]
    span = _reduced([_packed(source, basis) for place in registers for basis in source.bases[place]])
    outside = len(_reduced([*span, *[_packed(source, delta) for delta in _deltas(source, target, registers)]]))
    held = 1 << len(_registers(target))
    return held * (1 - 1 / (1 << (outside - len(span))))
