"""Layouts from layouts, and layouts as Triton and CuTe write them: what the methods of `Layout` compute."""

from __future__ import annotations

from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from . import Layout

__all__ = ["bases", "composed", "inverted", "renamed", "shape_and_stride"]


# --- inverse and names -------------------------------------------------------------------------------------


def inverted(layout: Layout) -> tuple[str, tuple[str, ...], Mapping[str, int]]:
    """The pattern, axes and sizes of the inverse; see `Layout.inverse`."""
    groups = [f"({' '.join([name.lstrip('*') for name in names])})" for names in layout.places.values()]
    targets = [
        f"{axis} ({' '.join([f'*{name}' if name in layout.shared else name for name in group])})"
        for axis, group in zip(layout.axes, layout.coordinates)
    ]
    return f"{' '.join(groups)} -> {', '.join(targets)}", tuple(layout.places), layout.sizes


def renamed(layout: Layout, names: Mapping[str, str]) -> tuple[str, tuple[str, ...], Mapping[str, int]]:
    """The pattern, axes and sizes under other names of axes and places; see `Layout.renamed`."""
    groups = [f"({' '.join(group)})" for group in layout.coordinates]
    places = [f"{names.get(place, place)} ({' '.join(digits)})" for place, digits in layout.places.items()]
    axes = tuple([names.get(axis, axis) for axis in layout.axes])
    return f"{' '.join(groups)} -> {', '.join(places)}", axes, layout.sizes


# --- composition -------------------------------------------------------------------------------------------


def composed(first: Layout, then: Layout) -> tuple[str, tuple[str, ...], Mapping[str, int]]:
    """The pattern, axes and sizes of `first` followed by `then`; see `Layout.compose`."""
    extents = dict(zip(then.axes, then.extents))
    if extents != first.spans:
        raise Error(
            f"'{first.pattern}' cannot be followed by '{then.pattern}': its places have {_counts(first.spans)} values, "
            f"the axes of the other {_counts(extents)}; they should be the same"
        )
    # Each digit of `first` as the sizes of its pieces, and each digit of `then` as pieces of those, lowest first.
    cuts: dict[str, list[int]] = {}
    pieces: dict[str, list[tuple[str, int]]] = {}
    for axis, group in zip(then.axes, then.coordinates):
        for ours, theirs, size in _aligned(first, then, axis, group):
            cuts.setdefault(ours, []).append(size)
            pieces.setdefault(theirs, []).append((ours, len(cuts[ours]) - 1))
    return _written(first, then, cuts, pieces)


def _counts(sizes: Mapping[str, int]) -> str:
    return ", ".join([f"{name} {size}" for name, size in sizes.items()])


def _aligned(first: Layout, then: Layout, axis: str, group: Sequence[str]) -> Iterable[tuple[str, str, int]]:
    """The digits of a place of `first` beside those of an axis of `then`, cut alike, the lowest first.

    Yields:
        Our digit, their digit, and the size of the piece that they share.

    Raises:
        Error: neither of two sizes that meet divides the other.
    """
    ours = [(name.lstrip("*"), first.sizes[name.lstrip("*")]) for name in first.places[axis]]
    theirs = [(name, then.sizes[name]) for name in group]
    left, right = ([pair for pair in side if pair[1] > 1] for side in (ours, theirs))
    while left:
        (name, many), (other, more) = left.pop(), right.pop()
        size = min(many, more)
        if many % size or more % size:
            raise Error(
                f"'{first.pattern}' cannot be followed by '{then.pattern}': {axis} has digits of "
                f"{_times(ours)} in the first and of {_times(theirs)} in the second, which cannot be cut alike"
            )
        yield name, other, size
        if many > size:
            left.append((name, many // size))
        if more > size:
            right.append((other, more // size))


def _times(digits: Iterable[tuple[str, int]]) -> str:
    return " x ".join([str(size) for _, size in digits if size > 1])


def _written(
    first: Layout, then: Layout, cuts: Mapping[str, list[int]], pieces: Mapping[str, list[tuple[str, int]]]
) -> tuple[str, tuple[str, ...], Mapping[str, int]]:
    taken = set(first.sizes)
    sizes: dict[str, int] = {}
    names: dict[tuple[str, int], str] = {}
    for digit, parts in cuts.items():
        for number, size in enumerate(parts):
            name = digit if len(parts) == 1 else _unused(digit, number, taken)
            names[digit, number], sizes[name] = name, size

    def ours(digit: str) -> list[str]:
        if digit in cuts:
            return [names[digit, number] for number in reversed(range(len(cuts[digit])))]
        sizes[digit] = first.sizes[digit]  # a shared digit, or one of a single value
        return [digit] if sizes[digit] > 1 else []

    def theirs(digit: str) -> list[str]:
        bare, star = digit.lstrip("*"), "*" * digit.count("*")
        if bare in pieces:
            found = reversed(pieces[bare])
            return ["*" * (name in first.replicated) + names[name, number] for name, number in found]
        if then.sizes[bare] == 1:
            return []
        name = bare if bare not in taken else _unused(bare, 1, taken)
        taken.add(name)
        sizes[name] = then.sizes[bare]
        return [star + name]

    left = [f"({' '.join([piece for digit in group for piece in ours(digit)])})" for group in first.coordinates]
    right = [
        f"{place} ({' '.join([piece for digit in digits for piece in theirs(digit)])})"
        for place, digits in then.places.items()
    ]
    return f"{' '.join(left)} -> {', '.join(right)}", first.axes, sizes


def _unused(digit: str, number: int, taken: set[str]) -> str:
    """A new name for a piece of a digit: j1, j0 for the pieces of j, unless those are names already."""
    name = f"{digit}{number}"
    while name in taken:
        digit += "_"
        name = f"{digit}{number}"
    taken.add(name)
    return name


# --- other notations ---------------------------------------------------------------------------------------


def bases(layout: Layout) -> dict[str, tuple[tuple[int, ...], ...]]:
    """The bases over GF(2) of each place's bits; see `Layout.linear`."""
    _refuse_shared(layout, "a linear layout")
    if odd := [f"{name}={size}" for name, size in layout.sizes.items() if size & (size - 1)]:
        raise Error(f"'{layout.pattern}' is not a linear layout over bits: {', '.join(odd)} is not a power of two")
    return {
        place: tuple([_added(layout, place, 1 << bit) for bit in range(span.bit_length() - 1)])
        for place, span in layout.spans.items()
    }


def shape_and_stride(layout: Layout, order: Sequence[str]) -> str:
    """CuTe's text of a layout from (thread, value) to an index; see `Layout.cute`."""
    _refuse_shared(layout, "a CuTe layout")
    axes = [*(order or [axis for axis in layout.axes if axis != "block"])]
    axes += [axis for axis in layout.axes if axis == "block" and axis not in axes]
    if sorted(axes) != sorted(layout.axes):
        raise Error(f"the order is {', '.join(order)}; it should name the axes {', '.join(layout.axes)} once each")
    weights, weight = dict.fromkeys(layout.axes, 0), 1
    for axis in axes:
        weights[axis] = weight
        weight *= layout.extents[layout.axes.index(axis)]
    modes = [_mode(layout, place, [weights[axis] for axis in layout.axes]) for place in layout.places]
    *threads, value = modes
    thread = [mode for place in reversed(threads) for mode in place]
    texts = [
        [_tuple([mode[which] for mode in _merged(group)], single) for group in (thread, value)]
        for which, single in ((0, "1"), (1, "0"))
    ]
    return ":".join([f"({','.join(pair)})" for pair in texts])


def _refuse_shared(layout: Layout, what: str) -> None:
    if shared := [name for name in layout.shared if layout.sizes[name] > 1]:
        raise Error(f"'{layout.pattern}' is not {what}: {', '.join(shared)} is shared, so a place has several elements")


def _added(layout: Layout, place: str, value: int) -> tuple[int, ...]:
    """What one value of a place adds to the coordinates."""
    return tuple([table[value] for table in layout.place_tables()[place].values()])


def _mode(layout: Layout, place: str, weights: Sequence[int]) -> list[tuple[int, int]]:
    """The (shape, stride) of each digit of a place, the fastest first."""
    modes, step = [], 1
    for digit in reversed(layout.places[place]):
        size = layout.sizes[digit.lstrip("*")]
        if size > 1:
            added = _added(layout, place, step)
            modes.append((size, sum([value * weight for value, weight in zip(added, weights)])))
        step *= size
    return modes


def _merged(modes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring modes that continue one another as one (CuTe's coalesce)."""
    merged: list[tuple[int, int]] = []
    for size, stride in modes:
        if merged and stride == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0] * size, merged[-1][1])
        else:
            merged.append((size, stride))
    return merged


def _tuple(numbers: Sequence[int], none: str) -> str:
    if len(numbers) < 2:
        return str(numbers[0]) if numbers else none
    return f"({','.join([str(number) for number in numbers])})"
