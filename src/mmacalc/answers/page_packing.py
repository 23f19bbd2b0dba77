"""The page's tables made small: columns in place of rows, differences in place of numbers that count up.

A list is written in that of these forms which is shortest, above all when it is compressed; `unpacked` of
page/src/packing.ts undoes it:

    {"runs": [value, how often it stands there, value, ...]}
    {"steps": [...]}      numbers, or lists of numbers, each less the one before it
    {"columns": [...]}    lists of one length, by columns
    {"rows": [...]}       lists of numbers by columns, with null where a list has ended
    {"names": [...]}      texts, as a graph of their parts (see `page_names`)

What is in a form can again be in one. Only `choices` are different: in them each placement is less the one before it,
across all choices, and null where none exists.
"""

from __future__ import annotations

from itertools import groupby
from json import dumps
from typing import TYPE_CHECKING, Any
from zlib import compress

from .page_names import graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["packed"]

SHORT = 8  # values of a list that is written as it is
COMPRESSED = 30  # characters that a compressed character counts


def packed(data: dict[str, Any]) -> dict[str, Any]:
    """The tables of `page_data`, small.

    >>> packed({"choices": [0], "texts": ["a"] * 99, "words": [*range(999)]})
    {'choices': [0], 'texts': {'runs': ['a', 99]}, 'words': {'steps': {'runs': [0, 1, 1, 998]}}}
    """
    tables = {**data, "choices": _choice_differences(data["choices"])}
    return {name: _packed(table) for name, table in tables.items()}


def _packed(value: Any, steps: bool = False) -> Any:
    """A value with its lists in their forms; `steps`: they are differences already."""
    if isinstance(value, dict):
        return {name: _packed(each) for name, each in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    plain = [_packed(each) if isinstance(each, (list, tuple, dict)) else each for each in value]
    if len(value) < SHORT:
        return plain
    return min([plain, *_forms([list(each) if isinstance(each, tuple) else each for each in value], steps)], key=_cost)


def _cost(form: Any) -> int:
    text = dumps(form, separators=(",", ":"))
    return len(text) + COMPRESSED * len(compress(text.encode()))


def _forms(values: list[Any], steps: bool) -> Iterator[Any]:
    runs = [part for value, same in groupby(values) for part in (value, len([*same]))]
    if len(runs) < len(values):
        yield {"runs": runs}
    if all(isinstance(value, str) and value and "|" not in value for value in values):
        yield {"names": graph(values)}
    lists = all(isinstance(value, list) for value in values)
    numbers = all(type(each) is int for value in values for each in (value if lists else [value]))
    if numbers and not steps:
        yield {"steps": _packed(_differences(values), steps=True)}
    widths = {len(value) for value in values} if lists else {0}
    if len(widths) == 1 < max(widths):
        yield {"columns": [_packed(list(column), steps) for column in zip(*values)]}
    elif numbers and any(widths):
        ended = [[value[at] if at < len(value) else None for value in values] for at in range(max(widths))]
        yield {"rows": [_packed(column, steps=True) for column in ended]}


def _differences(values: Sequence[Any]) -> list[Any]:
    """Each number, or list of numbers, less the one before it."""
    if isinstance(values[0], int):
        return [value - before for value, before in zip(values, [0, *values])]
    return [[a - b for a, b in zip(row, before + [0] * len(row))] for before, row in zip([[], *values], values)]


def _choice_differences(choices: Sequence[Any]) -> list[Any]:
    before, found = 0, []
    for choice in choices:
        placements = [choice] if isinstance(choice, int) else choice[2]
        steps: list[int | None] = []
        for placement in placements:
            steps.append(None if placement < 0 else placement - before)
            before = before if placement < 0 else placement
        found.append(steps[0] if isinstance(choice, int) else [*choice[:2], steps])
    return found
