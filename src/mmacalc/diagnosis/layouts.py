"""A register layout that is nearly right: its digits in another order, another wave size's, another instruction's."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from ..catalog import architectures, entry
from ..layout import Layout
from .edits import Edit, Permutation
from .problem import elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Operand
    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["no_layout", "other_layout", "wrong_layout"]


def no_layout(problem: Problem) -> Iterator[Edit]:
    """An operand filled or read in the order of its registers or lanes, and by the other wave size's layout."""
    yield from _laid_out_as(problem, _other_waves)
    yield from _by_keys(problem, _in_order)


def wrong_layout(problem: Problem) -> Iterator[Edit]:
    """An operand filled or read by a layout whose digits are in another order."""
    yield from _by_keys(problem, _reordered)


def _by_keys(problem: Problem, wrongs: Callable[[Operand], Iterator[tuple[str, Array]]]) -> Iterator[Edit]:
    for name in "DAB":
        if (operand := _operand(problem, name)) is None:
            continue
        right = _keys(operand.layout)
        if right.size != len(np.unique(right)):
            continue
        for text, keys in wrongs(operand):
            permuted = np.array_equal(np.sort(keys, axis=None), np.sort(right, axis=None))
            if permuted and not np.array_equal(keys, right):
                advice = _example(operand, right, keys)
                yield _edit(problem, name, text, advice, _source(name, right, keys))


def other_layout(problem: Problem) -> Iterator[Edit]:
    """An operand filled or read as for another instruction of the vendor."""
    yield from _laid_out_as(problem, _other_instructions)


def _laid_out_as(problem: Problem, others: Callable[[Problem, str], Iterator[tuple[str, Operand]]]) -> Iterator[Edit]:
    inst, seen = problem.inst, set()
    for name in "DAB":
        if (operand := _operand(problem, name)) is None:
            continue
        right = _places(operand, _keys(operand.layout))
        for text, other in others(problem, name):
            key = (name, other.layout.text, *other.layout.sizes.items())
            if key in seen or other.shape != operand.shape:
                continue
            seen.add(key)
            wrong = _places(other, _keys(other.layout))
            if wrong.shape == right.shape and not np.array_equal(wrong, right):
                advice = f"the layout: `mmacalc -a {inst.arch} -i {inst.name} -{name} --pattern`"
                yield _edit(problem, name, text, advice, _source(name, right, wrong))


def _operand(problem: Problem, name: str) -> Operand | None:
    execution = problem.execution
    if (name == "A" and execution.sparsity) or not execution.in_registers(name):
        return None
    return execution.operand(name, natural=True)


def _edit(problem: Problem, name: str, how: str, advice: str, source: Array) -> Edit:
    everywhere = problem.everywhere(name, source.reshape(problem.execution.shapes[name]))
    return Edit(name, Permutation(how, {name: everywhere}), "layout", {"how": how, "advice": advice})


def _other_waves(problem: Problem, name: str) -> Iterator[tuple[str, Operand]]:
    for wave in problem.inst.architecture.waves:
        if wave != problem.execution.wave:
            text = f"as for wave{wave}, and the wave has {problem.execution.wave} lanes"
            yield text, problem.inst.operand(name, wave=wave)


def _other_instructions(problem: Problem, name: str) -> Iterator[tuple[str, Operand]]:
    inst = problem.inst
    if inst.architecture.family.equal_operands:
        return
    for architecture in architectures():
        if entry(architecture).architecture.vendor != inst.architecture.vendor:
            continue
        for other in entry(architecture).instructions():
            same = (other.m, other.n, other.blocks) == (inst.m, inst.n, inst.blocks)
            if name != "D":
                same = same and other.k == inst.k
            if same and not other.kind and not other.sparse and name in other.operands:
                operand = other.operand(name)
                if operand.format.bits == inst.format(name).bits:
                    yield f"as {other.name} of {architecture} has it", operand


def _places(operand: Operand, keys: Array) -> Array:
    """Lane and item as one number that does not depend on how many items there are."""
    items = operand.layout.spans["item"]
    places: Array = keys // items * 1024 + keys % items
    return places


def _example(operand: Operand, right: NDArray[np.int64], wrong: NDArray[np.int64]) -> str:
    """The right layout, and one element that the wrong one puts elsewhere."""
    sizes = " ".join(f"{digit}={size}" for digit, size in operand.sizes.items())
    *block, row, column = (int(x) for x in np.argwhere(right != wrong)[0])
    element = f"{operand.name}[{row}][{column}]" + (f" of block {block[0]}" if any(block) else "")
    index = (*block, row, column)
    items = operand.layout.spans["item"]
    places = [f"lane {int(keys[index]) // items}, item {int(keys[index]) % items}" for keys in (right, wrong)]
    verb = "taken from" if operand.name == "D" else "put in"
    return f"the layout is {operand.pattern} with {sizes}: {element} is in {places[0]}, but was {verb} {places[1]}"


def _keys(layout: Layout) -> NDArray[np.int64]:
    """One number for the place of every element (of its first copy)."""
    total: NDArray[np.int64] = np.zeros((), np.int64)
    spans = list(layout.spans.values())
    for tables in layout.axis_tables().values():
        step = np.zeros(len(next(iter(tables.values()))), np.int64)
        for table, span in zip(tables.values(), spans):
            step = step * span + np.asarray(table)
        total = np.add.outer(total, step)
    return total


def _in_order(operand: Operand) -> Iterator[tuple[str, Array]]:
    """Consecutive elements of the matrix in consecutive registers of a lane, or in consecutive lanes."""
    layout = operand.layout
    shape = layout.extents
    lanes, items = layout.spans["lane"] * layout.spans.get("warp", 1), layout.spans["item"]
    if int(np.prod(shape)) != lanes * items:
        return
    number = np.arange(lanes * items)
    by_lane = (number % lanes) * items + number // lanes
    turned = np.swapaxes(np.arange(number.size).reshape(*shape[:-2], shape[-1], shape[-2]), -1, -2)
    for order, index in (("row by row", number.reshape(shape)), ("column by column", turned)):
        yield f"lane by lane, the matrix {order}: rows and lanes are exchanged", number[index]
        yield f"register by register, the matrix {order}: registers and lanes are exchanged", by_lane[index]


def _reordered(operand: Operand) -> Iterator[tuple[str, Array]]:
    layout = operand.layout
    for text in _texts(layout):
        wrong = Layout(text, layout.axes, layout.sizes)
        if wrong.spans == layout.spans:
            yield f"as {wrong.pattern}", _keys(wrong)


def _texts(layout: Layout) -> Iterator[str]:
    """The layout's text with the digits of one group in another order, or a digit of lane and one of item exchanged."""
    left = [list(group) for group in layout.coordinates]
    right = {place: list(digits) for place, digits in layout.places.items()}

    def written() -> str:
        groups = " ".join(f"({' '.join(group)})" for group in left)
        places = ", ".join(f"{place} ({' '.join(digits)})" for place, digits in right.items())
        return f"{groups} -> {places}"

    for group in (*left, *right.values()):
        real = [i for i, digit in enumerate(group) if digit[0] != "*" and layout.sizes[digit] > 1]
        original = list(group)
        for order in permutations(real):
            if order != tuple(real) and len(real) <= 4:
                for place, source in zip(real, order):
                    group[place] = original[source]
                yield written()
        group[:] = original
    for (i, x), (j, y) in product(enumerate(right["lane"]), enumerate(right["item"])):
        if x[0] != "*" != y[0] and layout.sizes[x] == layout.sizes[y] > 1:
            right["lane"][i], right["item"][j] = y, x
            yield written()
            right["lane"][i], right["item"][j] = x, y


def _source(name: str, right: Array, wrong: Array) -> Array:
    """Where each element comes from when one operand lies in registers as `wrong` says and is taken as `right` says
    (D: lies as `right` says and is taken as `wrong` says); -1 where a place holds none."""
    held, taken = (right, wrong) if name == "D" else (wrong, right)
    order = np.argsort(held, axis=None, kind="stable")
    found = np.minimum(np.searchsorted(held.ravel()[order], taken), held.size - 1)
    source = order[found]
    hit = held.ravel()[source] == taken
    return np.where(hit, elements(held.shape).ravel()[source], -1)
