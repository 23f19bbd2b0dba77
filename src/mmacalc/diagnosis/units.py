"""The rows, columns, lanes, registers and tiles of a matrix: what a set of elements is said to consist of."""

from __future__ import annotations

import numpy as np

from .problem import elements, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["many", "parts", "runs", "shown", "units", "whole_units"]


def units(problem: Problem, name: str) -> dict[str, Array]:
    """The tile, block, row, column or k, lane and register of every element of an operand."""
    shape = problem.shapes[name]
    index = np.indices(shape)
    axes = {"A": ("row", "k"), "B": ("k", "column")}.get(name, ("row", "column"))
    table: dict[str, Array] = {}
    own = problem.execution.shapes[name]
    if len(shape) == 3:
        table["block"] = index[0]
    elif problem.tiles != (1, 1, 1):
        across = -(-shape[1] // own[1])
        table["tile"] = index[0] // own[0] * across + index[1] // own[1]
    table |= dict(zip(axes, index[-2:]))
    if name in "ABCD" and problem.execution.in_registers(name if name in problem.inst.operands else "D"):
        place = problem.execution.places(name if name in problem.inst.operands else "D", natural=name in "AB")
        source = whole(problem.everywhere(name, elements(own)))
        inside = np.indices(shape)
        at = source if len(shape) == 3 else inside[0] % own[0] * own[1] + inside[1] % own[1]
        table["lane"] = place.lane[..., 0].reshape(-1)[at]
        table["register"] = place.register[..., 0].reshape(-1)[at]
    return table


def many(what: str) -> str:
    """The plural of a kind of unit."""
    return what if what == "k" else f"{what}s"


def runs(numbers: Iterable[Any]) -> str:
    """Whole numbers in order, runs shortened.

    >>> runs([4, 5, 6, 7, 0, 1])
    '4-7 0 1'
    """
    found: list[list[int]] = []
    for number in map(int, numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return " ".join(f"{part[0]}-{part[-1]}" if len(part) > 2 else " ".join(map(str, part)) for part in found)


def parts(problem: Problem, name: str, mask: Array) -> tuple[list[str], list[str]]:
    """The units that a set of elements (of one matrix) consists of exactly, and those within which it lies."""
    exact: list[str] = []
    within: list[str] = []
    for what, numbers in units(problem, name).items():
        present, everywhere = np.unique(numbers[mask]), np.unique(numbers)
        if 0 < len(present) < len(everywhere):
            text = f"{many(what) if len(present) > 1 else what} {shown(problem, what, present)}"
            (exact if mask[np.isin(numbers, present)].all() else within).append(text)
    return exact, within


def shown(problem: Problem, what: str, numbers: Iterable[Any]) -> str:
    """The numbers of units; tiles as (row, column)."""
    if what != "tile":
        return runs(numbers)
    return " ".join(f"({number // problem.tiles[1]}, {number % problem.tiles[1]})" for number in map(int, numbers))


def whole_units(problem: Problem, name: str, mask: Array) -> str | None:
    """The units that a set of elements consists of exactly, in words; None if there are none."""
    exact, within = parts(problem, name, mask)
    if exact:
        return exact[0]
    both = [text for text in within if text.startswith(("lane", "register"))]
    if len(both) == 2:
        table = units(problem, name)
        lanes, registers = (np.isin(table[what], np.unique(table[what][mask])) for what in ("lane", "register"))
        if np.array_equal(lanes & registers, mask) and mask.sum() > 1:
            return f"{both[1]} of {both[0]}"
    return None
