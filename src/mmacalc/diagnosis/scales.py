"""Mistakes with the index of a sparse A and with block scales."""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import encode
from .candidates import Candidate, Rerun, changed
from .moves import memory_moves, register_moves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["wrong_index", "wrong_scales"]


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
    yield from _moved(problem, "K", "the index", advice)


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
        for exponent in (1, -1):
            other = np.clip(codes[x].astype(np.int64) + exponent, 0, 254).astype(codes[x].dtype)
            text = f"the codes of {of} are off by {exponent:+d} (the bias of E8M0 is 127)"
            yield Candidate(text, "encode a scale of 2**e as e + 127", changed(problem, **{x: other}))
    both = {}
    for x, axis in (("SA", -1), ("SB", -2)):
        flat = np.arange(codes[x][0].size).reshape(problem.shapes[x])
        both[x] = np.repeat(np.take(flat, [0], axis), flat.shape[axis], axis)
    text = "one scale byte for all: both scales of block 0 of k are used for every block"
    yield Candidate(text, "step the byte (OPSEL) or the lane with k", Rerun(problem, both))
    for x, of in (("SA", "scale_a"), ("SB", "scale_b")):
        yield from _moved(problem, x, of, "check which lane and byte (OPSEL) hold which block's scale")


def _moved(problem: Problem, name: str, whose: str, advice: str) -> Iterator[Candidate]:
    for moves in (memory_moves, register_moves):
        for move in moves(problem, name):
            if not (move.source < 0).any():
                yield Candidate(f"{whose} {move.text}", advice, Rerun(problem, {name: move.source}))
