"""The answers about one place of an operand: where an element is, and what is there."""

from __future__ import annotations

from ..base.records import TupleRecord

__all__ = ["Element", "LoadedLocation", "Location", "TensorMemoryLocation", "TileLocation"]


class Location(TupleRecord):
    """Where an element is: its lane, its slot in the lane, the 32-bit register (from the operand's first), its lowest
    bit there, and its width in bits. A 64-bit element takes `register` and the one after it. Of Intel, a lane is a
    channel of 32 bits of a general register, and `register` counts those; of two fused EUs, the second has the lanes
    behind the first's."""

    lane: int
    item: int
    register: int
    lsb: int
    width: int


class TensorMemoryLocation(TupleRecord):
    """Where an element is in Tensor Memory: the CTA of the pair (0 or 1), the lane (0 to 127) and column from the
    operand's first, its lowest bit in the 32-bit cell, and its width in bits."""

    cta: int
    lane: int
    column: int
    lsb: int
    width: int


class LoadedLocation(TupleRecord):
    """Where an element is after tcgen05.ld: CTA, warp of the warpgroup, lane (thread) of the warp, the number of the
    load, its register, and the bits."""

    cta: int
    warp: int
    lane: int
    load: int
    register: int
    lsb: int
    width: int


class TileLocation(TupleRecord):
    """Where an element of a tile is: the wave, the lane of the wave (of a wgmma, of the warpgroup), its slot among the
    values of all instructions of the wave, the 32-bit register among theirs, and the bits."""

    wave: int
    lane: int
    item: int
    register: int
    lsb: int
    width: int


class Element(TupleRecord):
    """What some bits of a register, or of a cell of Tensor Memory, hold: the element's row, column and block, and the
    bits."""

    row: int
    col: int
    block: int
    lsb: int
    width: int
