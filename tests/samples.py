"""Samples of long loops, in three sizes: `./test` runs a few values of each, `./test --all` more of them (the marker
`whole`), `./test --exhaustive` every one (the marker `exhaustive`)."""

import pytest


def spread(values, count, first=0):
    """Up to `count` of the values, as far from each other as they can be, from the one numbered `first`.

    >>> sorted(spread(range(10), 3)), sorted(spread(range(10), 3, first=4)), spread([], 3)
    ([0, 3, 6], [0, 4, 7], set())
    """
    count = min(count, len(values))
    return {values[(first + at * len(values) // count) % len(values)] for at in range(count)}


def rotated(values, others):
    """All pairs of two lists. A sample of as many as `values` has each of those once, with other ones of `others`.

    >>> rotated("ab", [1, 2, 3])
    [('a', 1), ('a', 2), ('a', 3), ('b', 2), ('b', 3), ('b', 1)]
    """
    others = list(others)
    turns = (others[at % len(others) :] + others[: at % len(others)] for at in range(len(values)))
    return [(value, other) for value, turn in zip(values, turns) for other in turn]


def sized(values, count, first=0, whole=None):
    """The values as parameters: `./test` runs `count` of them, from the one numbered `first`, so that tests of the same
    values can take others; `./test --all` runs `whole` more, as many again if nothing is said; `./test --exhaustive`
    the rest."""
    values = list(values)
    quick = spread(range(len(values)), count, first)
    rest = [at for at in range(len(values)) if at not in quick]
    larger = spread(rest, count if whole is None else whole)
    for at, value in enumerate(values):
        row = value if hasattr(value, "marks") else pytest.param(value)
        marks = [] if at in quick else [pytest.mark.whole if at in larger else pytest.mark.exhaustive]
        yield pytest.param(*row.values, id=row.id, marks=marks)


def sampled(names, values, count, first=0, ids=None, whole=None):
    """As pytest.mark.parametrize with the values `sized`: `sampled("step", [15, 4, 1], 1, whole=1)` is every fifteenth,
    every fourth and every one of what a test goes through."""
    several = not isinstance(names, str) or "," in names
    rows = [pytest.param(*row) if several and not hasattr(row, "marks") else row for row in values]
    return pytest.mark.parametrize(names, list(sized(rows, count, first, whole)), ids=ids)
