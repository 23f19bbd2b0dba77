"""Where the elements of a matrix lie in a register file, as arrays for NumPy to index with."""

from __future__ import annotations

import numpy as np

from ..base.records import Cache, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Operand

    Array = NDArray[Any]

__all__ = ["Places", "located", "placed"]


class Places(TupleRecord):
    """Where the elements of a matrix lie: arrays of the matrix's shape, with the copies of each element last.

    bits: the width of an element; registers, lanes: the size of the operand's register file. units: where each element
    lies in the file as an array of elements of its width, None where elements do not lie at multiples of it.
    """

    register: Array
    lane: Array
    lsb: Array
    bits: int
    registers: int
    lanes: int
    units: Array | None

    @property
    def copies(self) -> int:
        """How many copies of each element there are."""
        return int(self.lane.shape[-1])


def placed(register: Array, lane: Array, lsb: Array, bits: int, registers: int, lanes: int) -> Places:
    """The places of elements in a register file of that size."""
    units = None
    if bits in (8, 16, 32) and not (lsb % bits).any():
        units = (register * lanes + lane) * (32 // bits) + lsb // bits
    return Places(register, lane, lsb, bits, registers, lanes, units)


_kept = Cache(256)  # of 0.1 megabytes on average; all architectures together have 584


def located(operand: Operand) -> Places:
    """The places of an operand's elements: of a sparse A and of K those of the stored elements, of scales one for
    each block of k. Operands that lie alike share one answer."""
    placement = operand.placement
    layout = placement.layout
    groups = layout.sizes.get("p"), layout.sizes.get("s")  # of a sparse A and of K, which equal layouts may split apart
    key = (
        layout, groups, *sorted(placement.fields.items()), placement.slot_bits, placement.offset, placement.bits,
        placement.lanes, placement.axes, operand.name, operand.format.bits, operand.wave, operand.instruction.sparse,
    )  # fmt: skip
    places: Places = _kept.get(key, lambda: _located(operand))
    return places


def _located(operand: Operand) -> Places:
    name, sizes = operand.name, operand.layout.sizes
    placement, (lane, item) = operand.placement, operand.slots()
    if operand.shape[0] == 1:
        lane, item = lane[0], item[0]
    lane = lane.astype(np.intp)
    first = item.astype(np.intp) * placement.merge * placement.slot_bits + placement.offset
    if name in ("SA", "SB"):
        size = operand.instruction.block_size
        step = np.s_[:, ::size] if operand.axes[-1] == "k" else np.s_[::size]
        first, lane = first[step], lane[step]
        if (name, operand.axes[-1]) == ("SB", "k"):  # in Tensor Memory (j, k)
            first, lane = np.swapaxes(first, 0, 1), np.swapaxes(lane, 0, 1)
    elif operand.instruction.sparse and name in ("A", "K"):
        first, lane = (array[..., :: sizes["p"], :] for array in (first, lane))
        steps = np.arange(sizes["s"])[:, None] * placement.slot_bits
        first = (first[..., None, :] + steps).reshape(*first.shape[:-2], -1, first.shape[-1])
        lane = np.repeat(lane, sizes["s"], axis=-2)
    bits = operand.format.bits
    if placement.bits != bits and placement.slot_bits != bits:
        # A group of bytes whose Location covers them whole: e2m1 is in bits 5 to 2, 6-bit types in bits 5 to 0.
        first = first + (2 if bits == 4 else 0)
    return placed(first // 32, lane, first % 32, bits, operand.registers, operand.lanes)
