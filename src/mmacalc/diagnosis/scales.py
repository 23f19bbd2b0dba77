"""Mistakes with the index of a sparse A and with block scales."""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import encode, largest, round_to_format
from ..emulator.sparse import selected
from .candidates import Candidate, Rerun, changed
from .moves import memory_moves, register_moves
from .problem import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["biased_scales", "wrong_index", "wrong_scales"]


def wrong_index(problem: Problem) -> Iterator[Candidate]:
    """The index of a sparse A not read, zero, exchanged, of other rows or lanes."""
    sparsity = problem.execution.sparsity
    if not sparsity:
        return
    index, entries = problem.codes["K"], sparsity.entries
    groups = index.reshape(*index.shape[:-1], -1, entries)
    advice = "each group's two positions are in the order of the stored values, the first in the low bits"
    changes: dict[str, Array] = {}
    if entries == 2:
        first = np.broadcast_to(np.array([0, 1], index.dtype), groups.shape)
        changes["the index is not read: positions 0 and 1 are taken"] = first
        second = np.broadcast_to(np.array([2, 3], index.dtype), groups.shape)
        changes["the index is not read: positions 2 and 3 are taken"] = second
        changes["the two positions of each group are swapped"] = groups[..., ::-1]
        changes["the index is inverted: the positions that are zero are taken"] = _others(groups)
    changes["the index is zero: position 0 is taken for every stored value"] = np.zeros_like(groups)
    for text, changed_groups in changes.items():
        yield Candidate(text, advice, changed(problem, K=changed_groups.reshape(index.shape)))
    if sparsity.unit == 1:
        # Dense rows of which the first half is stored: what a kernel does that knows no sparsity.
        yield from _positions_moved(problem, groups, sparsity.period // sparsity.unit)
    advice = "check which set of indices the instruction reads (ABID, OPSEL or the sparsity selector), and its register"
    count = groups.shape[-2]
    flat = np.arange(index[0].size).reshape(index.shape[1:])
    for step in range(1, count):
        source = np.roll(flat.reshape(*flat.shape[:-1], count, entries), -step, axis=-2).reshape(flat.shape)
        text = "the halves of the index are swapped" if 2 * step == count else f"the index is {step} groups off"
        yield Candidate(text, advice, Rerun(problem, {"K": source}))
    yield from _not_compressed(problem)
    yield from _moved(problem, "K", "the index", advice)


def _not_compressed(problem: Problem) -> Iterator[Candidate]:
    """The values of the dense A in the place of the stored ones: a kernel compressed the index only."""
    sparsity, index, a = problem.execution.sparsity, problem.codes["K"], problem.codes["A"]
    if not sparsity or problem.tiles[2] > 1:
        return
    dense = np.zeros((*a.shape[:-1], problem.shapes["B"][-2]), a.dtype)
    np.put_along_axis(dense, selected(index.astype(np.intp), sparsity), a, axis=-1)
    count = dense.shape[-1] // a.shape[-1]
    advice = "store the values at the positions of the index, one after the other; see `mmacalc.compress`"
    for text, values in (
        ("the first elements of each dense row are", dense[..., : a.shape[-1]]),
        ("the last elements of each dense row are", dense[..., -a.shape[-1] :]),
        (f"every {count}th element of each dense row is", dense[..., ::count]),
    ):
        yield Candidate(f"A is not compressed: {text} taken for its values", advice, changed(problem, A=values))


def _others(groups: Array) -> Array:
    """The two positions of four that are not in a group, in order."""
    free = np.ones((*groups.shape[:-1], 4), bool)
    np.put_along_axis(free, groups.astype(np.intp), False, axis=-1)
    order = np.argsort(~free, axis=-1, kind="stable")[..., :2]
    return order.astype(groups.dtype)


def _positions_moved(problem: Problem, groups: Array, positions: int) -> Iterator[Candidate]:
    for step in range(1, positions):
        moved = ((groups + step) % positions).astype(groups.dtype)
        text = f"every position of the index is shifted by {step}"
        yield Candidate(text, "positions count from 0", changed(problem, K=moved.reshape(problem.codes["K"].shape)))


def biased_scales(problem: Problem) -> Iterator[Candidate]:
    """All codes of scales one too high or low, or applied twice."""
    if not problem.execution.block_size:
        return
    chosen = {"scale_a": ("SA",), "scale_b": ("SB",), "scale_a and scale_b": ("SA", "SB")}
    for exponent in (1, -1):
        for of, names in chosen.items():
            other = {x: np.clip(problem.codes[x].astype(np.int64) + exponent, 0, 254) for x in names}
            codes = {x: array.astype(problem.codes[x].dtype) for x, array in other.items()}
            text = f"the codes of {of} are off by {exponent:+d} (the bias of E8M0 is 127)"
            yield Candidate(text, "encode a scale of 2**e as e + 127", changed(problem, **codes))
    for of, names in chosen.items():
        squares = {}
        for x in names:
            form = problem.execution.formats[x]
            squared = np.minimum(problem.values[x] ** 2, largest(form.name))
            squares[x] = encode(round_to_format(squared, form), form)
        text = f"{of} {'are' if len(names) > 1 else 'is'} applied twice"
        advice = "the instruction scales: do not multiply the inputs or D by the scales besides"
        yield Candidate(text, advice, changed(problem, **squares))


def wrong_scales(problem: Problem) -> Iterator[Candidate]:
    """Scales not applied, exchanged, one for all, of other rows or blocks of k."""
    execution = problem.execution
    if not execution.block_size:
        return
    codes = {x: problem.codes[x] for x in ("SA", "SB")}
    ones = {x: np.broadcast_to(encode(np.array(1.0), execution.formats[x]), codes[x].shape) for x in codes}
    yield Candidate("the scales are not applied", "turn scaling on (ABID[0] = 1 on CDNA4)", changed(problem, **ones))
    for x, of in (("SA", "scale_a"), ("SB", "scale_b")):
        yield Candidate(f"{of} is not applied", "check its register and byte", changed(problem, **{x: ones[x]}))
    m, n = problem.shapes["D"][-2:]
    if m == n and execution.formats["SA"] == execution.formats["SB"]:
        sa, sb = (np.swapaxes(codes[x], -1, -2) for x in ("SA", "SB"))
        yield Candidate(
            "the scales of A and B are swapped", "exchange the scale operands", changed(problem, SA=sb, SB=sa)
        )
    for x, of in (("SA", "scale_a"), ("SB", "scale_b")):
        axis, advice = (-1 if x == "SA" else -2), "check which lane and byte (OPSEL) hold which block's scale"
        flat = np.arange(codes[x][0].size).reshape(problem.shapes[x])
        size = int(flat.shape[axis])
        for step in range(1, size):
            near = step if step <= size // 2 else step - size
            text = f"{of} is off by {near:+d} block{'s' * (abs(near) > 1)} of k"
            yield Candidate(text, advice, Rerun(problem, {x: np.roll(flat, -step, axis)}))
        for block in range(size):
            source = np.repeat(np.take(flat, [block], axis), size, axis)
            text = f"one scale byte for all: {of} of block {block} of k is used for every block"
            yield Candidate(text, advice, Rerun(problem, {x: source}))
        first = np.broadcast_to(codes[x][:, :1, :1], codes[x].shape)
        text = f"one scale byte for all: the first of {of} is used for the whole matrix"
        yield Candidate(text, advice, changed(problem, **{x: first}))
        for count in (2, 4):
            if size % count == 0 and size > count:
                index = np.arange(size)
                source = np.take(flat, index - index % count, axis)
                text = f"{of} of the first of each {count} blocks of k is used for all {count}"
                yield Candidate(text, advice, Rerun(problem, {x: source}))
    both = {}
    for x, axis in (("SA", -1), ("SB", -2)):
        flat = np.arange(codes[x][0].size).reshape(problem.shapes[x])
        both[x] = np.repeat(np.take(flat, [0], axis), flat.shape[axis], axis)
    text = "one scale byte for all: both scales of block 0 of k are used for every block"
    yield Candidate(text, "step the byte (OPSEL) or the lane with k", Rerun(problem, both))
    for x, of in (("SA", "scale_a"), ("SB", "scale_b")):
        yield from _moved(problem, x, of, "check which lane and byte (OPSEL) hold which block's scale")


def _moved(problem: Problem, name: str, whose: str, advice: str) -> Iterator[Candidate]:
    # An index is made in registers; scales are loaded as matrices.
    for moves in (register_moves, memory_moves) if name == "K" else (memory_moves, register_moves):
        for move in moves(problem, name):
            if name == "K" or not (whole(move.source) < 0).any():
                yield Candidate(f"{whose} {move.text}", advice, Rerun(problem, {name: move.source}))
