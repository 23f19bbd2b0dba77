"""Which bits of the registers of some waves are undefined, and which bits of a result follow from those.

A register is a number; from `first_scalar` on it has one value for a wave, below one for each lane.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ...base.arrays import Array

    Rows = slice | Array  # some waves of a batch

__all__ = ["ALL_BITS", "RegisterShadow", "dependent_bits", "unpacked"]

ALL_BITS = np.uint32(0xFFFFFFFF)
RANDOM = 2
"""How many random patterns of undefined bits are tried."""


def unpacked(words: Array, lanes: int) -> Array:
    """Bits (waves, lanes) of masks in 32-bit words (words, waves)."""
    octets = np.ascontiguousarray(words.T).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :lanes].view(np.bool_)


class RegisterShadow:
    """Which registers of some waves are written, and which bits of them are not.

    clean: the numbers of the registers that are written in every wave and lane. undefined: for others that some lanes
    have written, the bits that are not: uint32 (waves, lanes), of scalar registers (waves, 1). Registers in neither are
    not written at all. origins: for a register with an undefined value, where it came from.

    >>> shadow = RegisterShadow(1, 4, first_scalar=100)
    >>> rows, lanes = slice(0, 1), np.array([[True, False, True, True]])
    >>> shadow.settle(frozenset({7}), None, rows, lanes)  # three of four lanes write register 7
    >>> where, which = shadow.tainted(frozenset({7}), rows, 1, None)
    >>> where.tolist(), which
    ([[False, True, False, False]], (7,))
    """

    first_scalar: int
    lanes: int
    waves: int

    def __init__(self, waves: int, lanes: int, first_scalar: int) -> None:
        self.waves, self.lanes, self.first_scalar = waves, lanes, first_scalar
        self.clean: set[int] = set()
        self.undefined: dict[int, Array] = {}
        self.origins: dict[int, tuple[int, str]] = {}

    def mark_written(self, *numbers: int) -> None:
        """Enter registers that are written before a kernel starts."""
        self.clean.update(numbers)

    def undefined_of(self, number: int, rows: Rows, count: int) -> Array:
        """The undefined bits of a register in some waves: (count, lanes) or (count, 1)."""
        if number in self.clean:
            return np.zeros((count, 1), np.uint32)
        where = self.undefined.get(number)
        return np.full((count, 1), ALL_BITS) if where is None else where[rows]

    def tainted(
        self,
        numbers: frozenset[int],
        rows: Rows,
        count: int,
        mask: Array | None,
        bits: int = 0xFFFFFFFF,
        lane_masks: Mapping[int, int] = MappingProxyType({}),
    ) -> tuple[Array | None, tuple[int, ...]]:
        """Where one of some registers is undefined in an active lane: (count, lanes) or (count, 1); None if nowhere.

        And which registers those are.

        Args:
            rows, count: of which waves. mask: which of their lanes are active, (count, lanes); None: all are. bits:
                those of each register that are looked at. lane_masks: the words of masks of lanes, each with its
                number: a bit of such a register counts for its lane.
        """
        found, which = None, []
        for number in numbers - self.clean:
            where, by_lane = self.undefined.get(number), number < self.first_scalar
            if where is None:
                part: Array = np.ones((count, 1), np.bool_)
            elif number in lane_masks:
                by_lane, first = True, 32 * lane_masks[number]
                part = np.zeros((count, self.lanes), np.bool_)
                part[:, first : first + 32] = unpacked(where[rows].T, 32)
            else:
                part = where[rows] & np.uint32(bits) != 0
            if by_lane and mask is not None:
                part = part & mask
            if part.any():
                found = part if found is None else found | part
                which.append(number)
        return found, tuple(sorted(which))

    def settle(self, numbers: frozenset[int], taint: Array | None, rows: Rows, mask: Array | None) -> None:
        """Note that registers were written by some waves, in the active lanes.

        Args:
            taint: where their values are undefined, or their undefined bits (uint32). rows, mask: as of `tainted`.
        """
        whole = isinstance(rows, slice) and rows.stop - rows.start == self.waves
        for number in numbers:
            scalar = number >= self.first_scalar
            if taint is None and whole and (scalar or mask is None):
                self.clean.add(number)
                self.undefined.pop(number, None)
            elif taint is not None or number not in self.clean:
                self._settle_partly(number, scalar, taint, rows, mask)

    def _settle_partly(self, number: int, scalar: bool, taint: Array | None, rows: Rows, mask: Array | None) -> None:
        where = self.undefined.get(number)
        if where is None:
            shape = (self.waves, 1 if scalar else self.lanes)
            where = np.full(shape, 0 if number in self.clean else ALL_BITS, np.uint32)
            self.undefined[number] = where
            self.clean.discard(number)
        value: Any = np.uint32(0)
        if taint is not None:
            value = taint if taint.dtype == np.uint32 else np.where(taint, ALL_BITS, np.uint32(0))
        if scalar:
            where[rows] = value if taint is None else np.bitwise_or.reduce(value, axis=1, keepdims=True)
        elif mask is None:
            where[rows] = value
        else:
            where[rows] = np.where(mask, value, where[rows])
        if not where.any():
            self.clean.add(number)
            del self.undefined[number]


def dependent_bits(
    masks: Mapping[int, Array],
    sources: Mapping[int, int],
    run: Callable[[Mapping[int, Array]], dict[int, Array]],
    seed: int,
    one_pattern: bool = False,
) -> tuple[dict[int, Array], dict[int, Array]]:
    """Which bits of the results of an operation change with the undefined bits of what it reads, and the first results.

    What combines bits one by one has every combination of zeros and ones in its sources; two random patterns are for
    shifts by an undefined amount.

    Args:
        masks: the undefined bits by register. sources: which source of the operation each of these registers is.
        run: the results by register, of these values in the undefined bits. seed: of the random patterns.
            one_pattern: whether a random pattern is the same in all lanes.
    """
    order = {place: at for at, place in enumerate(sorted(set(sources.values())))}
    rng = np.random.default_rng(seed)
    first: dict[int, Array] = {}
    changed: dict[int, Array] = {}
    for turn in range((1 << len(order)) + RANDOM):
        fills: dict[int, Array] = {}
        for number, mask in masks.items():
            fill: Any = np.uint32(0xFFFFFFFF * (turn >> order[sources[number]] & 1))
            if turn >= 1 << len(order):
                fill = rng.integers(0, 1 << 32, (1, 1) if one_pattern else mask.shape, np.uint32)
            fills[number] = fill & mask
        results = run(fills)
        if not turn:
            first, changed = results, {number: np.zeros_like(value) for number, value in results.items()}
        for number, value in results.items():
            changed[number] |= value ^ first[number]
    return changed, first
