"""Which bits of a result are undefined, where single bits of the sources are.

Compilers build a vector element by element: they select, shift and mask what is partly undefined, and read the whole
when all of it is written. So instructions that move bits are followed bit by bit. Each is carried out several times
with other values in the undefined bits; the bits of the result that change are undefined. Other arithmetic has an
undefined result where one bit of a source is undefined.
"""

from __future__ import annotations

import numpy as np

from .state import ACCUMULATORS, EXEC, SCALARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .program import Step
    from .state import Group

    Array = NDArray[Any]

__all__ = ["follows", "moves_bits", "read_bits", "undefined_bits"]

_MOVES = (
    "mov_b", "cndmask_b", "cselect_b", "and_b", "or_b", "xor_b", "xnor_b", "not_b", "bfi_b", "bfe_", "lshl", "lshr",
    "ashr", "perm_b", "alignbit", "alignbyte", "pack_", "and_or", "or3", "xor3", "bitop3", "bitop2", "accvgpr",
)  # fmt: skip
_HALVES = ("_f16", "_u16", "_i16", "_b16")
_WHOLE = ("pk_", "mix", "dot", "pack")
_PATTERNS = 5


def moves_bits(name: str) -> bool:
    """Whether an instruction moves, masks or combines bits, each by itself."""
    return name.startswith(tuple(f"{unit}{move}" for unit in ("v_", "s_", "v_dual_") for move in _MOVES))


def read_bits(name: str, modifiers: Any) -> int:
    """The bits of each source register that an instruction reads: of 16-bit operations before RDNA3 the low ones."""
    if name.endswith(_HALVES) and not any(one in name for one in _WHOLE) and not modifiers:
        return 0xFFFF
    return 0xFFFFFFFF


def undefined_bits(step: Step, group: Group) -> dict[int, Array]:
    """For each register that an instruction writes, its bits that depend on undefined ones: (waves, lanes or 1).

    The instruction is not carried out; all registers are as they were.
    """
    read = step.uses - group.registers.clean
    kept = {number: np.array(_of(group, number)) for number in step.uses | step.writes}
    masks = {number: _mask(group, number) for number in read}
    rng = np.random.default_rng(step.instruction.address)
    results: list[dict[int, Array]] = []
    for turn in range(_PATTERNS):
        for number, mask in masks.items():
            fill = rng.integers(0, 1 << 32, mask.shape, np.uint32) if turn > 1 else np.uint32(0xFFFFFFFF * turn)
            _set(group, number, kept[number] & ~mask | fill & mask)
        step.run(group)
        results.append({number: np.array(_of(group, number)) for number in step.writes})
        for number, value in kept.items():
            _set(group, number, value)
    changed = {number: np.zeros_like(value) for number, value in results[0].items()}
    for result in results[1:]:
        for number, value in result.items():
            changed[number] |= value ^ results[0][number]
    return changed


def follows(step: Step) -> bool:
    """Whether the bits of a step's results are followed one by one: it moves bits, and does not write EXEC."""
    return step.bitwise and not step.writes & {SCALARS + EXEC, SCALARS + EXEC + 1}


def _of(group: Group, number: int) -> Array:
    if number >= SCALARS:
        found: Array = group.s[number - SCALARS, group.rows][:, None]
        return found
    file, row = (group.a, number - ACCUMULATORS) if number >= ACCUMULATORS else (group.v, number)
    whole: Array = file[row, group.rows]
    return whole


def _set(group: Group, number: int, value: Array) -> None:
    if number >= SCALARS:
        group.s[number - SCALARS, group.rows] = value[:, 0]
    elif number >= ACCUMULATORS:
        group.a[number - ACCUMULATORS, group.rows] = value
    else:
        group.v[number, group.rows] = value


def _mask(group: Group, number: int) -> Array:
    """The undefined bits of a register."""
    where = group.registers.undefined.get(number)
    shape = group.count, 1 if number >= SCALARS else group.lanes
    found: Array = np.full(shape, 0xFFFFFFFF, np.uint32) if where is None else where[group.rows]
    return found
