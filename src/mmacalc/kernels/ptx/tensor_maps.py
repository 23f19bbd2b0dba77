"""Tensor maps: how a tile of a tensor lies in global and in shared memory (PTX ISA 5.5, tensors; 9.7.9.28).

The bits of CUtensorMap are not published. A map here is 128 bytes of our own, which `tensor_map` makes from an
array and `tensormap.replace` field by field; kernels only hand it on.
"""

from __future__ import annotations

import struct

import numpy as np

from ...base.errors import Error
from ...base.records import TupleRecord
from .accesses import global_places
from .tensor_map import DTYPES, SWIZZLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine, Threads
    from .program import Step
    from .tensor_map import TensorMapArgument

    Array = NDArray[Any]

__all__ = ["BYTES", "TensorMap", "map_at", "read_map", "replace_field"]

BYTES = 128
MAGIC = 0x70616D74
_LAYOUT = struct.Struct("<I4BQ5I4Q5I5I")
# PTX ISA 9.7.9.28, tables of tensormap.replace: element types by their code.
ELEMENTS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32", "f32")
# The bits of a shared-memory address that are exchanged: (those that take part, how far they come down).
_MASKS = {"none": 0, "32B": 0x10, "64B": 0x30, "128B": 0x70}


class TensorMap(TupleRecord):
    """A tiled tensor map. dimensions, box, steps: from the innermost one; strides: bytes, of dimension 1 and up."""

    element: str
    rank: int
    swizzle: str
    fill: int
    address: int
    dimensions: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def element_bytes(self) -> int:
        return np.dtype(DTYPES[self.element]).itemsize

    @property
    def size(self) -> int:
        """The bytes of a box, which are those that an mbarrier counts."""
        return int(np.prod(self.box)) * self.element_bytes

    def offsets(self, machine: Machine, step: Step, one: Threads, at: Array, store: bool) -> tuple[Array, Array]:
        """Of each element of the box at some coordinates: its offset in global memory, and whether it is in the
        tensor."""
        from ..device.memory import Outside

        index = np.indices(self.box[::-1]).reshape(self.rank, -1)[::-1]
        place = [int(first) + part * step_of for first, part, step_of in zip(at.tolist(), index, self.steps)]
        inside = np.ones(index.shape[1], bool)
        address = np.full(index.shape[1], self.address, np.int64)
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

    def shared_places(self, start: int) -> Array:
        """Where the elements of the box begin in the shared memory of a CTA, swizzled by the address."""
        place = start + np.arange(int(np.prod(self.box))) * self.element_bytes
        mask = _MASKS[self.swizzle]
        swizzled: Array = place ^ (place >> 3 & mask)
        return swizzled

    def reduced(self, old: Array, new: Array, kind: str) -> Array:
        """What a reduction leaves: bytes (element, byte)."""
        dtype = np.dtype(DTYPES[self.element])
        if self.element == "bf16":
            raise Error("reductions of bf16 by tensor copies are not covered")
        a, b = (np.ascontiguousarray(x).view(dtype) for x in (old, new))
        function = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
                    "xor": np.bitwise_xor}[kind]  # fmt: skip
        return np.ascontiguousarray(function(a, b)).view(np.uint8).reshape(old.shape)

    def packed(self) -> bytes:
        """The 128 bytes."""

        def filled(values: tuple[int, ...], count: int, rest: int = 1) -> tuple[int, ...]:
            return (*values, *[rest] * (count - len(values)))

        return _LAYOUT.pack(
            MAGIC, ELEMENTS.index(self.element), self.rank, SWIZZLES.index(self.swizzle), self.fill, self.address,
            *filled(self.dimensions, 5), *filled(self.strides, 4, 0), *filled(self.box, 5), *filled(self.steps, 5),
        ).ljust(BYTES, b"\0")  # fmt: skip


def _unpacked(raw: bytes) -> TensorMap | None:
    magic, element, rank, swizzle, fill, address, *rest = _LAYOUT.unpack(raw[: _LAYOUT.size])
    if magic != MAGIC or not 1 <= rank <= 5 or element >= len(ELEMENTS) or swizzle >= len(SWIZZLES):
        return None
    return TensorMap(
        ELEMENTS[element], rank, SWIZZLES[swizzle], fill, address, tuple(rest[:rank]), tuple(rest[5 : 4 + rank]),
        tuple(rest[9 : 9 + rank]), tuple(rest[14 : 14 + rank]),
    )  # fmt: skip


def read_map(machine: Machine, step: Step, one: Threads, address: int) -> TensorMap:
    """The tensor map at a generic address.

    Raises:
        Error: there is none.
    """
    offset = int(global_places(machine, step, one, np.array([address]), 64, False)[0])
    machine.map_fences.check(step, one, offset)
    found = _unpacked(machine.launch.memory.data[offset : offset + BYTES].tobytes())
    if found is None:
        raise Error(
            f"line {step.line}: {step.text}: there is no tensor map at {address:#x}: pass one that mmacalc.tensor_map "
            f"makes; {machine.launch.thread_text(machine, int(one.number[0]))}"
        )
    return found


_FIELDS = {
    "rank": (5, "B"),
    "elemtype": (4, "B"),
    "swizzle_mode": (6, "B"),
    "fill_mode": (7, "B"),
    "global_address": (8, "Q"),
    "global_dim": (16, "I"),
    "global_stride": (36, "Q"),
    "box_dim": (68, "I"),
    "element_stride": (88, "I"),
}


def replace_field(raw: Array, field: str, dimension: int, value: int) -> None:
    """tensormap.replace: set a field of the 128 bytes, in place."""
    if field in ("interleave_layout", "swizzle_atomicity"):
        if value:
            raise Error(f"tensormap.replace: {field} {value} is not covered")
        return
    if field not in _FIELDS:
        raise Error(f"tensormap.replace has no field '{field}'")
    start, kind = _FIELDS[field]
    if field == "rank":
        value += 1  # the instruction is given the rank less one
    size = struct.calcsize(f"<{kind}")
    raw[:4] = np.frombuffer(struct.pack("<I", MAGIC), np.uint8)
    at = start + size * dimension
    raw[at : at + size] = np.frombuffer(struct.pack(f"<{kind}", value & (1 << 8 * size) - 1), np.uint8)


def map_at(argument: TensorMapArgument, address: int) -> TensorMap:
    """The map of an argument, for the address that the launch gives to its array."""
    array = argument.array
    dimensions, strides = tuple(array.shape[::-1]), tuple(array.strides[::-1][1:])
    return TensorMap(
        argument.element, array.ndim, argument.swizzle, argument.fill, address, dimensions, strides, argument.box,
        argument.steps,
    )  # fmt: skip
