"""Samples of long loops: `./test` runs a few values of each, `./test --all` (the marker `whole`) every one."""

import pytest


def sampled(names, values, count, first=0, ids=None):
    """As pytest.mark.parametrize, of which `count` values belong to the sample, spread evenly from the one numbered
    `first`, so that tests of the same values can take others; the rest are marked `whole`."""
    values = list(values)
    chosen = {(first + at * len(values) // count) % len(values) for at in range(count)}
    several = not isinstance(names, str) or "," in names
    rows = []
    for at, value in enumerate(values):
        name = None
        if hasattr(value, "marks"):  # pytest.param
            value, name = value.values, value.id
        elif not several:
            value = (value,)
        rows.append(pytest.param(*value, id=name, marks=[] if at in chosen else [pytest.mark.whole]))
    return pytest.mark.parametrize(names, rows, ids=ids)
