"""Tensor maps: how a tile of a tensor lies in global and in shared memory (PTX ISA 5.5, tensors; 9.7.9.28).

A map is 128 bytes (tensor_map_bits.py), which `tensor_map` makes from an array and `tensormap.replace` field by field;
kernels only hand it on.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...base.records import TupleRecord
from . import tensor_map_bits
from .accesses import global_places
from .tensor_map import DTYPES, SWIZZLES, WIDTHS
from .tensor_map_bits import ELEMENTS, PAIRS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine, Threads
    from .program import Step
    from .tensor_map import TensorMapArgument

    Array = NDArray[Any]

__all__ = ["BYTES", "PAIRS", "TensorMap", "map_at", "read_map", "replace_field"]

BYTES = 128
# The bits of a shared-memory address that are exchanged: (those that take part, how far they come down).
_MASKS = {"none": 0, "32B": 0x10, "64B": 0x30, "128B": 0x70}


class TensorMap(TupleRecord):
    """A tensor map. dimensions, box, steps: from the innermost one; strides: bytes, of dimension 1 and up. corners: ()
    of tiles; in im2col mode the lower and the upper ones of the bounding box, by dimension, of all but the first and
    last; the box is then channels and pixels."""

    element: str
    rank: int
    swizzle: str
    fill: int
    address: int
    dimensions: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    corners: tuple[tuple[int, ...], ...] = ()

    @property
    def element_bytes(self) -> int:
        return np.dtype(DTYPES[self.element]).itemsize

    def elements(self, at: Sequence[int], shifts: Sequence[int]) -> list[Array]:
        """The place of each element of a box in the tensor: an array for each dimension.

        at: the coordinates; of .tile::gather4 and .tile::scatter4 there are five, a column and four rows (5.5.3.2).
        shifts: of im2col, what is added to the coordinates between the first and the last (5.5.5).

        Raises:
            Error: the coordinates of im2col are not in the bounding box.
        """
        if self.element == PAIRS:
            if at[0] % 2:
                raise Error(f"the first coordinate counts elements of 4 bits, two in a byte, and is even; got {at[0]}")
            at = (at[0] // 2, *at[1:])
        if self.corners:
            return self._column(at, shifts)
        if len(at) == 5 and self.rank == 2:
            index, row = np.indices((4, self.box[0])).reshape(2, -1)[::-1]
            return [at[0] + index, np.array(at[1:])[row]]
        index = np.indices(self.box[::-1]).reshape(self.rank, -1)[::-1]
        return [int(first) + part * step for first, part, step in zip(at, index, self.steps)]

    def _column(self, at: Sequence[int], shifts: Sequence[int]) -> list[Array]:
        """im2col: pixels follow each other in the bounding box from the coordinates on, those of one image after those
        of the one before (5.5.5.1, 5.5.5.2)."""
        pixel, channel = np.indices(self.box[::-1]).reshape(2, -1)
        number, weight, counts = np.zeros(len(pixel), np.int64), 1, []
        inner = list(zip(at[1:-1], self.dimensions[1:-1], self.steps[1:-1], *self.corners))
        for first, size, step, lower, upper in inner:
            count, (place, rest) = (size - 1 + upper - lower) // step + 1, divmod(first - lower, step)
            if rest or not 0 <= place < count:
                raise Error(f"the coordinate {first} is not in the bounding box of the tensor map, which has "
                            f"{lower} to {size - 1 + upper} by {step}")  # fmt: skip
            number, weight = number + place * weight, weight * count
            counts.append(count)
        number = number + pixel
        found = [at[0] + channel]
        for (_, _, step, lower, _), count, shift in zip(inner, counts, shifts or (0,) * len(inner)):
            found.append(lower + number % count * step + shift)
            number = number // count
        return [*found, at[-1] + number]

    def offsets(
        self, machine: Machine, step: Step, one: Threads, at: Array, store: bool, shifts: Sequence[int] = ()
    ) -> tuple[Array, Array]:
        """Of each element of the box at some coordinates: its offset in global memory, and whether it is in the
        tensor."""
        from ..device.memory import Outside

        try:
            place = self.elements(at.tolist(), shifts)
        except Error as error:
            raise Error(f"line {step.line}: {step.text}: {error}") from None
        inside = np.ones(len(place[0]), bool)
        address = np.full(len(place[0]), self.address, np.int64)
        for part, size, stride in zip(place, self.dimensions, (self.element_bytes, *self.strides)):
            inside &= (part >= 0) & (part < size)
            address = address + part * stride
        offsets = np.zeros(len(address), np.int64)
        try:
            offsets[inside] = machine.launch.memory.offsets(
                address[inside].astype(np.uint64), self.element_bytes, store
            )
        except Outside as outside:
            raise Error(f"line {step.line}: {step.text}: the tensor of the map is {outside.where}; "
                        f"{machine.launch.thread_text(machine, int(one.number[0]))}") from None  # fmt: skip
        return offsets, inside

    def shared_places(self, start: int, count: int) -> Array:
        """Where the elements of the box begin in the shared memory of a CTA, swizzled by the address."""
        place = start + np.arange(count) * self.element_bytes
        mask = _MASKS[self.swizzle]
        swizzled: Array = place ^ (place >> 3 & mask)
        return swizzled

    def packed(self) -> bytes:
        """The 128 bytes."""
        dimensions, box = self.dimensions, self.box
        if self.element == PAIRS:
            dimensions, box = (2 * dimensions[0], *dimensions[1:]), (2 * box[0], *box[1:])
        bits = tensor_map_bits.new(bool(self.corners))
        one_by_one = {
            "global_address": (self.address,), "rank": (self.rank - 1,), "elemtype": (ELEMENTS.index(self.element),),
            "swizzle_mode": (SWIZZLES.index(self.swizzle),), "fill_mode": (self.fill,), "global_dim": dimensions,
            "global_stride": self.strides, "element_stride": self.steps,
        }  # fmt: skip
        for field, values in one_by_one.items():
            for dimension, value in enumerate(values):
                bits = tensor_map_bits.place(bits, field, dimension, value)
        if self.corners:  # up to 256 channels and 1024 pixels
            bits |= (box[0] - 1) << 440 | (box[1] - 1) << 448
        else:
            for dimension, value in enumerate(box):
                bits = tensor_map_bits.place(bits, "box_dim", dimension, value)
        return bits.to_bytes(64, "little") + tensor_map_bits.write_corners(self.corners)


def _unpacked(raw: bytes) -> TensorMap | None:
    bits = int.from_bytes(raw[:64], "little")
    rank, element, swizzle = (tensor_map_bits.get(bits, field) for field in ("rank", "elemtype", "swizzle_mode"))
    rank += 1
    if not tensor_map_bits.is_map(bits) or rank > 5 or element < 0 or swizzle >= len(SWIZZLES):
        return None

    def each(field: str, count: int) -> tuple[int, ...]:
        return tuple(tensor_map_bits.get(bits, field, dimension) for dimension in range(count))

    dimensions, box = each("global_dim", rank), each("box_dim", rank)
    corners = tensor_map_bits.read_corners(bits, raw[64:], rank)
    if corners:
        box = box[0], (bits >> 448 & 0x3FF) + 1
    if ELEMENTS[element] == PAIRS:
        dimensions, box = (dimensions[0] // 2, *dimensions[1:]), (box[0] // 2, *box[1:])
    return TensorMap(
        ELEMENTS[element], rank, SWIZZLES[swizzle], tensor_map_bits.get(bits, "fill_mode"),
        tensor_map_bits.get(bits, "global_address"), dimensions, each("global_stride", rank - 1), box,
        each("element_stride", rank), corners,
    )  # fmt: skip


def read_map(machine: Machine, step: Step, one: Threads, address: int) -> TensorMap:
    """The tensor map at a generic address.

    Raises:
        Error: there is none.
    """
    offset = int(global_places(machine, step, one, np.array([address]), 64, False)[0])
    machine.map_fences.check(step, one, offset)
    raw = machine.launch.memory.data[offset : offset + BYTES].tobytes()
    bits = int.from_bytes(raw[:64], "little")
    if tensor_map_bits.is_map(bits) and (unknown := tensor_map_bits.unknown(bits)):
        raise Error(
            f"line {step.line}: {step.text}: the tensor map at {address:#x} has {unknown:#x} in its third word, whose "
            "meaning is not known: an interleaved layout, or a swizzle with other atoms"
        )
    found = _unpacked(raw)
    if found is None:
        raise Error(
            f"line {step.line}: {step.text}: there is no tensor map at {address:#x}: pass one that mmacalc.tensor_map "
            f"makes; {machine.launch.thread_text(machine, int(one.number[0]))}"
        )
    wrong = _refused(found)
    if wrong:
        raise Error(f"line {step.line}: {step.text}: of the tensor map at {address:#x} {wrong}")
    return found


def _refused(found: TensorMap) -> str:
    """What of a map cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col would refuse and its bits can say; "" if nothing
    is."""
    if found.address >> 63 or found.address % 16:
        return f"the address is {found.address:#x}; it is a multiple of 16 below 2^63"
    inner = found.box[0] * found.element_bytes
    limit = WIDTHS.get(found.swizzle, inner)
    if inner % 16 or inner > limit:
        return f"the box's innermost axis has {inner} bytes; with swizzle {found.swizzle} it has a multiple of 16" + (
            f", up to {limit}" if found.swizzle in WIDTHS else ""
        )
    return ""


def replace_field(raw: Array, field: str, dimension: int, value: int) -> None:
    """tensormap.replace: set a field of the 128 bytes, in place.

    Raises:
        Error: a value that no map has, or that is not covered.
    """
    if field in ("interleave_layout", "swizzle_atomicity"):
        if value:
            raise Error(f"{field} {value} is not covered")
        return
    bits = int.from_bytes(raw[:64].tobytes(), "little") | tensor_map_bits.new(False)
    bits = tensor_map_bits.place(bits, field, dimension, value & (1 << 64) - 1)
    raw[:64] = np.frombuffer(bits.to_bytes(64, "little"), np.uint8)


def map_at(argument: TensorMapArgument, address: int) -> TensorMap:
    """The map of an argument, for the address that the launch gives to its array."""
    array = argument.array
    dimensions, strides = tuple(array.shape[::-1]), tuple(array.strides[::-1][1:])
    return TensorMap(
        argument.element, array.ndim, argument.swizzle, argument.fill, address, dimensions, strides, argument.box,
        argument.steps, argument.corners,
    )  # fmt: skip
