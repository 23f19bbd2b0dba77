"""Tensor maps: how a tile of a tensor lies in global and in shared memory (PTX ISA 5.5, tensors; 9.7.9.28).

The bits of CUtensorMap are not published. A map here is 128 bytes of our own, which `tensor_map` makes from an
array and `tensormap.replace` field by field; kernels only hand it on.
"""

from __future__ import annotations

import struct

import numpy as np

from ...checks import require_int, shown
from ...errors import Error
from ...records import TupleRecord
from ..device.memory import check_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine, Threads
    from .program import Step

    Array = NDArray[Any]

__all__ = ["BYTES", "TensorMap", "TensorMapArgument", "read_map", "replace_field", "tensor_map"]

BYTES = 128
MAGIC = 0x70616D74
_LAYOUT = struct.Struct("<I4BQ5I4Q5I5I")
# PTX ISA 9.7.9.28, tables of tensormap.replace: element types by their code.
ELEMENTS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32", "f32")
DTYPES = {
    "u8": "u1",
    "u16": "u2",
    "u32": "u4",
    "s32": "i4",
    "u64": "u8",
    "s64": "i8",
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "bf16": "u2",
}
SWIZZLES = ("none", "32B", "64B", "128B")
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
    from .statements import _global

    offset = int(_global(machine, step, one, np.array([address]), 64, False)[0])
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


class TensorMapArgument(TupleRecord):
    """A tensor map of an array, as an argument of a launch; see `tensor_map`."""

    array: Array
    element: str
    box: tuple[int, ...]
    swizzle: str
    steps: tuple[int, ...]
    fill: int

    def at(self, address: int) -> TensorMap:
        """The map, for the address that the launch gives to the array."""
        array = self.array
        dimensions = tuple(array.shape[::-1])
        strides = tuple(array.strides[::-1][1:])
        return TensorMap(
            self.element, array.ndim, self.swizzle, self.fill, address, dimensions, strides, self.box, self.steps
        )


def _whole_numbers(name: str, given: Any) -> tuple[int, ...]:
    if not isinstance(given, (tuple, list, np.ndarray)):
        raise Error(f"{name} is a tuple of whole numbers; got {shown(given)}")
    return tuple([require_int(name, one) for one in given])


def tensor_map(
    array: Array, box: Sequence[int], *, swizzle: str = "none", element: str | None = None, steps: Sequence[int] = (),
    fill: str = "zeros",
) -> TensorMapArgument:  # fmt: skip
    """A tensor map (CUtensorMap) of a NumPy array, to be passed as an argument of a PTX kernel.

    Args:
        array: the tensor, C-contiguous, of 1 to 5 dimensions, the last one innermost.
        box: the tile that one copy moves, in the order of the array's axes; 1 to 256 elements each.
        swizzle: "none", "32B", "64B" or "128B": how the tile's bytes are exchanged in shared memory.
        element: a PTX type, where the array's own does not say it (uint16 with "bf16").
        steps: elements between two that are copied, by axis; 1 where it is left out.
        fill: what is read outside the tensor: "zeros" (of floats "nan" is not covered).

    Raises:
        Error: an array, box or swizzle that cuTensorMapEncodeTiled refuses too.

    Source: CUDA Driver API, cuTensorMapEncodeTiled.

    >>> import numpy
    >>> tensor_map(numpy.zeros((128, 64), numpy.float16), (64, 64), swizzle="128B").box
    (64, 64)
    """
    if not isinstance(array, np.ndarray):
        raise Error(f"tensor_map takes a NumPy array; got {shown(array)}")
    check_type("tensor_map", array)
    if element is not None and not isinstance(element, str):
        raise Error(f"element is a PTX type, such as 'bf16'; got {shown(element)}")
    kind = element or {"uint8": "u8", "uint16": "u16", "uint32": "u32", "int32": "s32", "uint64": "u64", "int64": "s64",
                       "float16": "f16", "float32": "f32", "float64": "f64"}.get(array.dtype.name, "")  # fmt: skip
    if kind not in DTYPES:
        raise Error(f"a tensor map has elements of {', '.join(DTYPES)}; got {kind or array.dtype}")
    if np.dtype(DTYPES[kind]).itemsize != array.dtype.itemsize:
        raise Error(
            f"the array has elements of {array.dtype.itemsize} bytes; .{kind} has {np.dtype(DTYPES[kind]).itemsize}"
        )
    if not 1 <= array.ndim <= 5 or not array.flags.c_contiguous:
        raise Error("a tensor map is of a C-contiguous array of 1 to 5 dimensions")
    sizes = _whole_numbers("box", box)[::-1]
    if len(sizes) != array.ndim or any(not 1 <= size <= 256 for size in sizes):
        raise Error(f"box has a size of 1 to 256 for each of the {array.ndim} axes; got {shown(box)}")
    if not isinstance(swizzle, str) or swizzle not in SWIZZLES:
        raise Error(f"swizzle is {', '.join(SWIZZLES)}; got {shown(swizzle)}")
    inner = sizes[0] * array.dtype.itemsize
    limit = {"none": inner, "32B": 32, "64B": 64, "128B": 128}[swizzle]
    if inner > limit or inner % 16:
        raise Error(
            f"the box's innermost axis has {inner} bytes; with swizzle {swizzle} it has a multiple of 16, up to {limit}"
        )
    if any(stride % 16 for stride in array.strides[:-1]):
        raise Error("the strides of the outer axes are multiples of 16 bytes")
    if not isinstance(fill, str) or fill != "zeros":
        raise Error(f"fill is 'zeros'; got {shown(fill)}")
    every = _whole_numbers("steps", steps)[::-1] or (1,) * array.ndim
    if len(every) != array.ndim or any(not 1 <= step <= 8 for step in every):
        raise Error(f"steps has a number of 1 to 8 for each of the {array.ndim} axes; got {shown(steps)}")
    return TensorMapArgument(array, kind, sizes, swizzle, every, 0)
