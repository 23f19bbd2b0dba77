"""Tensor maps: how a tile of a tensor lies in global and in shared memory (PTX ISA 5.5, tensors; 9.7.9.28).

A map is 128 bytes (tensor_map_bits.py), which `tensor_map` makes from an array and `tensormap.replace` field by field;
kernels only hand it on.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...base.records import TupleRecord
from ...families.shared_memory import COPY_PATTERNS, PADDED_ROW
from . import grammar, tensor_map_bits
from .accesses import global_places
from .tensor_map import FLOATS, PADDED_SWIZZLES, SWIZZLES, row_fault, unit_of
from .tensor_map_bits import ELEMENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .program import Step
    from .tensor_map import TensorMapArgument, Unit
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["BYTES", "TensorMap", "map_at", "read_map", "replace_field"]

BYTES = 128
OUTSIDE = b"\xf7\x7f"
"""What each 16 bits of a float outside the tensor are, where it is filled with NaN."""


class TensorMap(TupleRecord):
    """A tensor map. dimensions, box, steps: from the innermost one, in units; strides: bytes, of dimension 1 and up.
    corners: () of tiles; in im2col mode the lower and the upper ones of the bounding box, by dimension, of all but the
    first and last; the box is then channels and pixels."""

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
    def unit(self) -> Unit:
        """What it moves as a whole; an element, but of less than a byte some of these."""
        return unit_of(self.element)

    def elements(self, at: Sequence[int], shifts: Sequence[int]) -> list[Array]:
        """The place of each unit of a box in the tensor: an array for each dimension.

        at: the coordinates; of .tile::gather4 and .tile::scatter4 there are five, a column and four rows (5.5.3.2).
        shifts: of im2col, what is added to the coordinates between the first and the last (5.5.5).

        Raises:
            Error: the coordinates of im2col are not in the bounding box.
        """
        step = PADDED_ROW if self.element in PADDED_SWIZZLES else self.unit.elements
        if at[0] % step:
            raise Error(f"the first coordinate counts elements of .{self.element}, and is a multiple of {step}; "
                        f"got {at[0]}")  # fmt: skip
        at = (at[0] // self.unit.elements, *at[1:])
        if self.corners:
            return self._column(at, shifts)
        if len(at) == 5 and self.rank == 2:
            index, row = np.indices((4, self.box[0])).reshape(2, -1)[::-1]
            return [at[0] + index, np.array(at[1:])[row]]
        # The driver ignores the step of the innermost dimension, and copies ceil(box / step) elements of the others.
        steps = (1, *self.steps[1:])
        counts = [-(-size // step) for size, step in zip(self.box, steps)]
        index = np.indices(counts[::-1]).reshape(self.rank, -1)[::-1]
        return [int(first) + part * step for first, part, step in zip(at, index, steps)]

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
        """Of each unit of the box at some coordinates: its offset in global memory, and whether it is in the tensor."""
        from ..device.memory import Outside

        try:
            place = self.elements(at.tolist(), shifts)
        except Error as error:
            raise Error(f"line {step.line}: {step.text}: {error}") from None
        inside = np.ones(len(place[0]), bool)
        address = np.full(len(place[0]), self.address, np.int64)
        for part, size, stride in zip(place, self.dimensions, (self.unit.size, *self.strides)):
            inside &= (part >= 0) & (part < size)
            address = address + part * stride
        offsets = np.zeros(len(address), np.int64)
        try:
            offsets[inside] = machine.launch.memory.offsets(address[inside].astype(np.uint64), self.unit.size, store)
        except Outside as outside:
            raise Error(f"line {step.line}: {step.text}: the tensor of the map is {outside.where}; "
                        f"{machine.launch.thread_text(machine, int(one.number[0]))}") from None  # fmt: skip
        return offsets, inside

    def shared_places(self, start: int, count: int) -> Array:
        """Where the units of the box begin in the shared memory of a CTA, swizzled by the address. A row takes the
        bytes of the swizzle's rows where it has less (see `COPY_PATTERNS`)."""
        pattern, (row, place) = COPY_PATTERNS[self.swizzle], np.divmod(np.arange(count), self.box[0])
        wide = max(self.box[0] * self.unit.shared, pattern.row_bytes if pattern.bits else 0)
        swizzled: Array = pattern(start + row * wide + place * self.unit.shared)
        return swizzled

    def loaded(self, data: Array, inside: Array) -> Array:
        """What a load leaves of the bytes (unit, byte) that it has read of the tensor; `inside`: of which units there
        are some. Outside, floats are 0x7ff7 in each 16 bits where the map says NaN. Of tf32 what was read is rounded to
        nearest, ties to even, infinities stay, and a NaN becomes 0x7fffe000; .ftz changes nothing. Measured on an RTX
        5080 (github.com/roundandr/Allegro, golden/nvidia_tma_formats_sm120a.json); so round Triton's tests."""
        found = np.where(inside[:, None], data, np.uint8(0))
        if self.fill:
            found[~inside] = np.tile(np.frombuffer(OUTSIDE, np.uint8), data.shape[1] // 2)
        if self.element in ("tf32", "tf32.ftz"):
            raw = np.ascontiguousarray(found).view(np.uint32)
            rounded = raw + np.uint32(0xFFF) + (raw >> np.uint32(13) & np.uint32(1)) & np.uint32(0xFFFFE000)
            least = raw & np.uint32(0x7FFFFFFF)
            rounded = np.where(least >= 0x7F800000, np.where(least > 0x7F800000, np.uint32(0x7FFFE000), raw), rounded)
            found = np.where(inside[:, None], rounded, raw).view(np.uint8)
        return found

    def packed(self) -> bytes:
        """The 128 bytes."""
        count = self.unit.elements
        dimensions, box = ((count * one[0], *one[1:]) for one in (self.dimensions, self.box))
        mode, atomicity = SWIZZLES[self.swizzle]
        bits = tensor_map_bits.new(bool(self.corners))
        one_by_one = {
            "global_address": (self.address,), "rank": (self.rank - 1,), "elemtype": (ELEMENTS.index(self.element),),
            "swizzle_mode": (mode,), "swizzle_atomicity": (atomicity,), "fill_mode": (self.fill,),
            "global_dim": dimensions, "global_stride": self.strides, "element_stride": self.steps,
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


_MODES = {codes: name for name, codes in SWIZZLES.items()}


def _unpacked(raw: bytes) -> TensorMap | None:
    bits = int.from_bytes(raw[:64], "little")
    rank, element, *swizzle = (tensor_map_bits.get(bits, field)
                               for field in ("rank", "elemtype", "swizzle_mode", "swizzle_atomicity"))  # fmt: skip
    rank += 1
    if not tensor_map_bits.is_map(bits) or rank > 5 or element < 0 or tuple(swizzle) not in _MODES:
        return None

    def each(field: str, count: int) -> tuple[int, ...]:
        return tuple(tensor_map_bits.get(bits, field, dimension) for dimension in range(count))

    dimensions, box = each("global_dim", rank), each("box_dim", rank)
    corners = tensor_map_bits.read_corners(bits, raw[64:], rank)
    if corners:
        box = box[0], (bits >> 448 & 0x3FF) + 1
    count = unit_of(ELEMENTS[element]).elements
    dimensions, box = ((one[0] // count, *one[1:]) for one in (dimensions, box))
    return TensorMap(
        ELEMENTS[element], rank, _MODES[swizzle[0], swizzle[1]], tensor_map_bits.get(bits, "fill_mode"),
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
    found = _unpacked(raw)
    wrong = _refused(bits, found, machine.program.target)
    if wrong:
        raise Error(f"line {step.line}: {step.text}: of the tensor map at {address:#x} {wrong}")
    if found is None:
        raise Error(
            f"line {step.line}: {step.text}: there is no tensor map at {address:#x}: pass one that mmacalc.tensor_map "
            f"makes; {machine.launch.thread_text(machine, int(one.number[0]))}"
        )
    return found


def _refused(bits: int, found: TensorMap | None, target: str) -> str:
    """What of a map is not covered, and what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col would refuse and its
    bits can say; "" if nothing is."""
    # Elements of less than a byte, and atoms of 32 and 64 bytes (PTX ISA, tensormap.replace) came with these.
    blackwell = grammar.has(target, "add", ("f32x2",))
    if found is None:
        return _not_covered(bits) if tensor_map_bits.is_map(bits) else ""
    if unknown := tensor_map_bits.unknown(bits):
        return f"{unknown:#x} in the third word has no known meaning: an interleaved layout has such bits"
    if found.address >> 63 or found.address % 16:
        return f"the address is {found.address:#x}; it is a multiple of 16 below 2^63"
    if not blackwell and (found.unit.elements > 1 or COPY_PATTERNS[found.swizzle].base > COPY_PATTERNS["128B"].base):
        what = f".{found.element}" if found.unit.elements > 1 else f"the swizzle {found.swizzle}"
        return f"{what} is not of this target: sm_100 and later have it"
    if found.swizzle == "96B" and not target.startswith("sm_103"):
        return "the swizzle 96B is not of this target: sm_103a has it"
    if found.fill and found.element not in FLOATS:
        return f"elements of .{found.element} outside the tensor are NaN, which floats alone can be"
    row, whole = tensor_map_bits.get(bits, "global_dim"), found.unit.elements
    if found.element in PADDED_SWIZZLES:
        whole = PADDED_ROW
    if row % whole:
        return f"the innermost dimension has {row} elements of .{found.element}; it has a multiple of {whole}"
    units, rest = divmod(tensor_map_bits.get(bits, "box_dim"), found.unit.elements)
    return row_fault(found.element, found.swizzle, 0 if rest else units, (found.address, *found.strides))


def _not_covered(bits: int) -> str:
    """The name of a swizzle that is not covered; "" of what there is not."""
    mode, atomicity = (tensor_map_bits.get(bits, field) for field in ("swizzle_mode", "swizzle_atomicity"))
    if atomicity and mode < len(_MODES):
        return f"the swizzle has mode {mode} and atomicity {atomicity}: only 128B (3) has another than 16B (0)"
    return ""


def replace_field(raw: Array, field: str, dimension: int, value: int) -> None:
    """tensormap.replace: set a field of the 128 bytes, in place.

    Raises:
        Error: a value that no map has, or that is not covered.
    """
    if field == "interleave_layout":
        if value:
            raise Error(f"{field} {value} is not covered")
        return
    bits = int.from_bytes(raw[:64].tobytes(), "little") | tensor_map_bits.new(False)
    bits = tensor_map_bits.place(bits, field, dimension, value & (1 << 64) - 1)
    raw[:64] = np.frombuffer(bits.to_bytes(64, "little"), np.uint8)


def map_at(argument: TensorMapArgument, address: int) -> TensorMap:
    """The map of an argument, for the address that the launch gives to its array."""
    array = argument.array
    size = unit_of(argument.element).size // array.itemsize
    dimensions, box = ((one[0] // size, *one[1:]) for one in (array.shape[::-1], argument.box))
    strides = tuple(array.strides[::-1][1:])
    return TensorMap(
        argument.element, array.ndim, argument.swizzle, argument.fill, address, dimensions, strides, box,
        argument.steps, argument.corners,
    )  # fmt: skip


# CUtensorMapDataType and CUtensorMapSwizzle, by their numbers.
_DRIVER_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz",
                 "b4x16", "b4x16_p64", "b6x16_p32")  # fmt: skip
_DRIVER_SWIZZLES = ("none", "32B", "64B", "128B", "128B base32B", "128B base32B flip8B", "128B base64B")


def map_of_driver(
    kind: int, address: int, interleave: int, swizzle: int, fill: int, axes: Sequence[Sequence[int]]
) -> TensorMap:  # fmt: skip
    """The map of tiles that cuTensorMapEncodeTiled makes of its arguments.

    axes: of each axis from the innermost the size, the stride in bytes (0 of the innermost), the box and the step.

    Raises:
        Error: an argument that the driver does not take, or an interleaved layout.
    """
    if interleave:
        raise Error(f"an interleaved layout (CU_TENSOR_MAP_INTERLEAVE, {interleave}) is not covered")
    for what, value, known in (("data type", kind, _DRIVER_TYPES), ("swizzle", swizzle, _DRIVER_SWIZZLES)):
        if not 0 <= value < len(known):
            raise Error(f"there is no {what} {value}")
    if not 1 <= len(axes) <= 5:
        raise Error(f"a tensor has 1 to 5 axes; got {len(axes)}")
    if address % 16:
        raise Error(f"a tensor's address is a multiple of 16; got {address:#x}")
    element = _DRIVER_TYPES[kind]
    count = unit_of(element).elements
    sizes, strides, box, steps = zip(*axes)
    dimensions, boxes = ((one[0] // count, *one[1:]) for one in (sizes, box))
    return TensorMap(
        element, len(axes), _DRIVER_SWIZZLES[swizzle], fill, address, dimensions, strides[1:], boxes, steps
    )
