"""The page's tables made small: columns in place of rows, differences in place of numbers that count up.

Compressed, that is a third less. `unpacked` of page/src/catalog.ts undoes it; `columns` tells it how:

    columns    {table that is a list of columns: the columns that hold the difference from the row before}
    choices    each placement less the one before it, null for those that do not exist

A column with long runs is {"runs": [value, how often it stands there, value, ...]}.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["packed"]

COLUMNS: dict[str, tuple[int, ...]] = {
    "layouts": (), "placements": (0,), "operands": (1,), "sets": (0,), "kinds": (0, 1, 2, 7, 8), "contents": (),
    "words": (2,), "instructions": (2,),
}  # fmt: skip


def packed(data: dict[str, Any]) -> dict[str, Any]:
    """The tables of `page_data`, small.

    >>> from mmacalc.answers.page_data import page_data
    >>> packed(page_data())["sets"][1]["runs"][0]
    []
    """
    tables = {name: _columns(data[name], differences) for name, differences in COLUMNS.items()}
    return {**data, **tables, "choices": _choice_differences(data["choices"]), "columns": COLUMNS}


def _columns(rows: Sequence[Sequence[Any]], differences: Sequence[int]) -> list[Any]:
    columns = [list(column) for column in zip(*rows)]
    for number in differences:
        columns[number] = _differences(columns[number])
    return [_runs(column) for column in columns]


def _runs(values: list[Any]) -> Any:
    runs = [part for value, same in groupby(values) for part in (value, len([*same]))]
    return {"runs": runs} if len(runs) < len(values) else values


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
