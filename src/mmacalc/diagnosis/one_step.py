"""Mistakes in one step along K of several: what is known to happen to A and B, in that step alone.

D is the sum of the steps' products, so an edit made to step s alone changes D by the difference of that step's product
with the edit and without it. All steps are tried at once: of some rows and columns of D the products of every step with
the edit are computed, and each gives a D of its own.

What is tried is what the library knows of whole matrices (addresses, layouts, registers, codes, scales), the same
within a step as if its K were all there is, and what only steps know: the data of another step, and registers that
reach into those of a neighbouring step, as where the fragments of successive steps lie in successive registers.
"""

from __future__ import annotations

from itertools import chain
from math import log2

import numpy as np

from .edits import Edit, Permutation, Recoding, Suspect, moved
from .layouts import no_layout, wrong_layout
from .library import (
    biased_scales,
    memory,
    other_conversion,
    permuted,
    registers,
    reordered_k,
    wrong_index,
    wrong_scales,
)
from .problem import Source, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["in_one_step"]

AXIS = {"A": -1, "K": -1, "SA": -1, "B": -2, "SB": -2}
"""By operand, along which axis its K lies."""


def in_one_step(problem: Problem, rows: Array, columns: Array, possible: Callable[[Array], Array]) -> Iterator[Edit]:
    """Edits of A and B in one step that may give the D to compare, the likelier first.

    Args:
        rows, columns: of D, on which they are tried. possible: which of the values found there, (edit, batch, rows,
            columns), may be those of the D to compare.
    """
    steps = problem.tiles[2]
    if steps == 1 or not problem.linear or len(problem.shapes["D"]) == 3:
        return
    own, base = _products(problem, {}, rows, columns), problem.approximate(None, rows, columns)
    for edit in _edits(problem):
        suspect = Suspect(problem, edit)
        found = _products(problem, suspect.changes(), rows, columns)
        for step in np.flatnonzero(possible(base + problem.alpha * (found - own))).tolist():
            yield _restricted(problem, suspect, step)


def _products(problem: Problem, changes: Any, rows: Array, columns: Array) -> Array:
    """The products of every step with some inputs changed, of some rows and columns: (step, batch, rows, columns)."""
    x, y, steps = problem.factors("A", changes, rows), problem.factors("B", changes, columns), problem.tiles[2]
    if missing := -x.shape[-1] % steps:
        x, y = np.pad(x, ((0, 0), (0, 0), (0, missing))), np.pad(y, ((0, 0), (0, missing), (0, 0)))
    x = x.reshape(*x.shape[:2], steps, -1).transpose(2, 0, 1, 3)
    y = y.reshape(y.shape[0], steps, -1, y.shape[-1]).transpose(1, 0, 2, 3)
    found: Array = x @ y
    return found


def _restricted(problem: Problem, suspect: Suspect, step: int) -> Edit:
    """An edit made to one step alone."""
    codes = {}
    for name, changed in suspect.inputs().items():
        width = problem.execution.shapes[name][AXIS[name]]
        part = [slice(None)] * 3
        part[AXIS[name]] = slice(step * width, (step + 1) * width)
        codes[name] = problem.codes[name].copy()
        codes[name][tuple(part)] = np.broadcast_to(changed, codes[name].shape)[tuple(part)]
    steps, edit = problem.tiles[2], suspect.edit
    given = {"n": step, "steps": steps, "inner": edit}
    return Edit(edit.target, Recoding(f"step {step}: {edit.map.rule}", codes), "one step", given, log2(steps))


def _edits(problem: Problem) -> Iterator[Edit]:
    """What may happen to A, B or what belongs to them, made to all steps."""
    ways: list[Iterable[Edit]] = [
        *(_of_other_steps(problem, name) for name in "AB"),
        *(_next_registers(problem, name) for name in "AB"),
    ]
    unit = _unit(problem)
    if problem.movable("A") and problem.movable("B"):
        ways += [_lifted(problem, permuted(unit, "BA", memory)), permuted(problem, "BA", memory)]
        ways += [permuted(problem, "AB", registers), _lifted(problem, reordered_k(unit))]
    ways += [no_layout(problem), wrong_layout(problem), biased_scales(problem), wrong_scales(problem)]
    ways += [other_conversion(problem), wrong_index(problem)]
    for edit in chain.from_iterable(ways):
        done = edit.map
        names = done.sources if isinstance(done, Permutation) else done.codes if isinstance(done, Recoding) else {"": 0}
        if names.keys() <= AXIS.keys():
            yield edit


def _unit(problem: Problem) -> Problem:
    """The first step as a product of its own."""
    shapes = problem.execution.shapes
    parts = {name: codes[..., : shapes[name][-1]] if name in ("A", "K", "SA") else codes[:, : shapes[name][-2]]
             if name in AXIS else codes for name, codes in problem.codes.items()}  # fmt: skip
    return problem.of_same_kind(parts)


def _lifted(problem: Problem, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Edits of the first step as a product of its own, made to every step alike."""
    for edit in edits:
        if isinstance(edit.map, Permutation) and edit.map.sources.keys() <= {"A", "B"}:
            sources = {name: _in_every_step(problem, name, whole(one)) for name, one in edit.map.sources.items()}
            yield edit._replace(map=Permutation(edit.map.rule, sources))


def _in_every_step(problem: Problem, name: str, source: Array) -> Source:
    """The source of a step's matrix as one of the whole matrix."""
    rows, columns = source.shape
    across = problem.shapes[name][1]

    def at(i: Array, j: Array) -> Array:
        picked = source[i % rows, j % columns]
        index = (i // rows * rows + picked // columns) * across + j // columns * columns + picked % columns
        return np.where(picked < 0, -1, index)

    return Source(problem.shapes[name], at)


def _of_other_steps(problem: Problem, name: str) -> Iterator[Edit]:
    """The data of another step."""
    steps, width = problem.tiles[2], problem.execution.shapes[name][AXIS[name]]
    for number in range(1, steps):
        for n in (-number, number):
            yield moved(problem, name, f"k -> k + {n * width}", "other step", n=n)


def _next_registers(problem: Problem, name: str) -> Iterator[Edit]:
    """Registers a few numbers on, into those of the next step or the one before."""
    if not (problem.movable(name) and problem.execution.in_registers(name)):
        return
    place, lookup = problem.registers(name)
    lane, register, bit = (array[..., 0] for array in (place.lane, place.register, place.lsb))
    (rows, columns), shape = lane.shape[-2:], problem.shapes[name]
    for number in range(1, place.registers):
        for n in (number, -number):
            other, beyond = (register + n) % place.registers, (register + n) // place.registers
            picked = lookup[lane, other * 32 + bit]

            def at(i: Array, j: Array, picked: Array = picked, beyond: Array = beyond) -> Array:
                own, steps = picked[i % rows, j % columns], beyond[i % rows, j % columns]
                down, across = (i // rows, j // columns + steps) if name == "A" else (i // rows + steps, j // columns)
                row, column = down * rows + own // columns, across * columns + own % columns
                outside = (own < 0) | (row < 0) | (row >= shape[0]) | (column < 0) | (column >= shape[1])
                return np.where(outside, -1, row * shape[1] + column)

            rule = f"register -> register + {n}, through the steps"
            yield Edit(name, Permutation(rule, {name: Source(shape, at)}), "registers on", {"n": n})
