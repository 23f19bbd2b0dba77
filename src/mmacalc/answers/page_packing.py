"""The page's tables made small: columns in place of rows, differences in place of numbers that count up.

Compressed, that is a third less. `unpacked` of page/src/catalog.ts undoes it; `columns` tells it how:

    columns    {table that is a list of columns: the columns that hold the difference from the row before}
    choices    each placement less the one before it, null for those that do not exist

A column is a list, or where that is shorter {"runs": [value, how often it stands there, value, ...]}, or of lists of
numbers {"rows": [column ...]} with null where a list has ended, or of texts {"names": [node ...]} (see `page_names`).
So are `choices` and `kernels`.
"""

from __future__ import annotations

from itertools import groupby
from json import dumps
from typing import TYPE_CHECKING, Any
from zlib import compress

from .page_names import graph

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["packed"]

COLUMNS: dict[str, tuple[int, ...]] = {
    "layouts": (), "placements": (0,), "operands": (1,), "sets": (0,), "kinds": (0, 1, 2, 7, 8), "contents": (),
    "words": (2,), "calls": (), "instructions": (1,),
}  # fmt: skip


def packed(data: dict[str, Any]) -> dict[str, Any]:
    """The tables of `page_data`, small.

    >>> from mmacalc.answers.page_data import page_data
    >>> packed(page_data())["sets"][1]["runs"][0]
    []
    """
    tables = {name: _columns(data[name], differences) for name, differences in COLUMNS.items()}
    choices = _encoded(_choice_differences(data["choices"]))
    kernels = _encoded([list(lines) for lines in data["kernels"]])
    return {**data, **tables, "choices": choices, "kernels": kernels, "columns": COLUMNS}


def _columns(rows: Sequence[Sequence[Any]], differences: Sequence[int]) -> list[Any]:
    columns = [list(column) for column in zip(*rows)]
    for number in differences:
        columns[number] = _differences(columns[number])
    return [_encoded(column) for column in columns]


def _encoded(values: list[Any]) -> Any:
    """A column in that of its forms which is shortest, above all when it is compressed."""
    forms: list[Any] = [values]
    runs = [part for value, same in groupby(values) for part in (value, len([*same]))]
    if len(runs) < len(values):
        forms.append({"runs": runs})
    width = max([len(value) if isinstance(value, list) else 0 for value in values], default=0)
    if width and all(isinstance(value, list) and all(isinstance(each, int) for each in value) for value in values):
        columns = [[value[at] if at < len(value) else None for value in values] for at in range(width)]
        forms.append({"rows": [_encoded(column) for column in columns]})
    if values and all(isinstance(value, str) and value and "|" not in value for value in values):
        forms.append({"names": graph(values)})
    return min(forms, key=lambda form: len(dumps(form)) + 10 * len(compress(dumps(form).encode())))


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
