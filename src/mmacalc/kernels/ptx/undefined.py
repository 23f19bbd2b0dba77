"""Which bits of a result follow from undefined bits of registers, where an operation combines bits one by one, and
which lanes' results where the lanes of a warp exchange values."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["critical_registers", "follow_bits", "followed_by_bits"]

BY_BITS = frozenset(["and", "or", "xor", "not", "mov", "shl", "shr", "shf", "prmt", "bfe", "bfi", "lop3", "brev",
                     "selp"])  # fmt: skip
"""Roots of the operations whose results have a bit from single bits of their sources."""
EXCHANGES = frozenset(["shfl", "vote", "redux", "movmatrix", "mma", "wmma"])
"""Roots of the statements by which a lane's result follows from the registers of other lanes."""
MOVES = frozenset(["shfl", "vote", "movmatrix"])
"""Those of them whose results have single bits from single bits of their sources."""
PACKED = {"f16x2": 16, "bf16x2": 16, "u16x2": 16, "s16x2": 16, "f32x2": 32}
"""Types whose halves are computed apart, and the bits of a half."""
RANDOM = 2
"""How many random patterns of undefined bits are tried, for shifts by an undefined amount."""


def critical_registers(machine: Machine, step: Step) -> frozenset[int]:
    """The registers that must not be undefined where a statement reads them. Of a product they are those that no
    instruction has written: rows of shared memory beyond the edge of a matrix reach elements that are not stored
    (CUTLASS's SharedMemoryClearOption::kNone leaves such rows as they are)."""
    if step.statement.root != "mma":
        return step.critical
    return frozenset([index for index in step.critical & machine.undefined.keys() if index not in machine.origin])


def followed_by_bits(step: Step) -> bool:
    """Whether a statement's undefined bits are followed one by one, by the halves of a packed type, or by lanes."""
    if step.statement.root in EXCHANGES:
        return True
    if step.operation is None:
        return False
    if step.statement.modifiers[-1] == "b128":  # is undefined as a whole
        return False
    return step.operation.bitwise or step.statement.root in BY_BITS or step.statement.modifiers[-1] in PACKED


def follow_bits(machine: Machine, step: Step, threads: Threads, origin: Step | None) -> Array | None:
    """Execute a step and find what is undefined in its results: of a product by its rows and columns, else by executing
    it with every combination of zeros and ones in the undefined bits of its sources, as what changes then. Of a packed
    type that is the whole half. Returns a mask of the threads that must try again, as the step does."""
    if step.follow is not None:
        marks = step.follow(machine, threads)
        later = step.run(machine, threads)
        for index, mask in marks.items():
            _enter(machine, threads, index, mask, origin)
        return later
    known = sorted(step.reads & machine.undefined.keys())
    masks = {index: machine.undefined[index][threads.use].copy() for index in known}
    values = {index: machine.register(index)[threads.use].copy() for index in known}
    kept = {index: machine.register(index)[threads.use].copy() for index in step.reads & step.writes - set(known)}
    rng = np.random.default_rng(step.index)
    first: dict[int, Array] = {}
    changed: dict[int, Array] = {}
    for turn in range((1 << min(len(known), 4)) + RANDOM, -1, -1):  # the last, with what is there, stays
        for index, value in kept.items():  # an accumulator is the same in each turn
            machine.write(index, threads, value)
        for place, index in enumerate(known):
            machine.write(index, threads, values[index] ^ _flipped(masks[index], turn, place, len(known), rng))
        later = step.run(machine, threads)
        for index in step.writes:
            found = machine.register(index)[threads.use].copy()
            changed[index] = changed.get(index, np.zeros_like(found)) | (found ^ first.setdefault(index, found))
    for index in known:
        if index not in step.writes:
            _mark(machine, threads, index, masks[index])
    for index, mask in changed.items():
        unread = machine.undefined.get(index)  # of lanes that wait, and of those that a shuffle reads and are not there
        whole = _wholly(step, mask)
        _enter(machine, threads, index, whole if unread is None else whole | unread[threads.use], origin)
    return later


def _enter(machine: Machine, threads: Threads, index: int, mask: Array, origin: Step | None) -> None:
    """The undefined bits of a result, and the statement that they come from."""
    _mark(machine, threads, index, mask)
    if mask.any():
        if origin is not None:
            machine.origin[index] = origin
        else:
            machine.origin.pop(index, None)


def _wholly(step: Step, mask: Array) -> Array:
    """The undefined bits of a result, of which some have changed."""
    root, type_ = step.statement.root, step.statement.modifiers[-1]
    half = mask.itemsize * 8 if root in EXCHANGES - MOVES and mask.dtype != bool else PACKED.get(type_)
    return mask if half is None or mask.dtype == bool else _whole_halves(mask, half)


def _flipped(mask: Array, turn: int, place: int, count: int, rng: np.random.Generator) -> Array:
    """Which of the undefined bits of a source are turned over, the last time none."""
    if turn <= 1 << min(count, 4):
        return mask if turn and (turn - 1) >> min(place, 3) & 1 else np.zeros_like(mask)
    if mask.dtype == bool:
        return mask & (rng.random(mask.shape) < 0.5)
    random: Array = rng.integers(0, np.iinfo(mask.dtype).max, mask.shape, mask.dtype, endpoint=True)
    return mask & random


def _whole_halves(mask: Array, bits: int) -> Array:
    parts = mask.view(f"u{bits // 8}")
    found: Array = np.where(parts != 0, ~parts.dtype.type(0), parts.dtype.type(0)).view(mask.dtype)
    return found


def _mark(machine: Machine, threads: Threads, index: int, mask: Array) -> None:
    """The undefined bits of a register of some threads."""
    whole = machine.undefined.get(index)
    if whole is None:
        if not mask.any():
            return
        whole = machine.undefined[index] = np.zeros(machine.count, mask.dtype)
    whole[threads.use] = mask
    if not whole.any():
        del machine.undefined[index]
