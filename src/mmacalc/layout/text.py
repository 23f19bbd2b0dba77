"""The notation of layouts: a text into groups of digits, and a layout back into its text without unit digits."""

from __future__ import annotations

from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from . import Layout

__all__ = [
    "checked_digits", "parse", "printed_names", "printed_sizes", "written", "written_for_einops",
]  # fmt: skip


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
