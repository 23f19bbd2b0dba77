"""`tensor_map`: a tensor map (CUtensorMap) as an argument of a launch."""

from __future__ import annotations

import numpy as np

from ...base.checks import require_int, shown
from ...base.errors import Error
from ...base.records import TupleRecord
from ...families.shared_memory import COPY_PATTERNS, PADDED_ROW
from ..device.memory import check_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = [
    "DTYPES", "FLOATS", "PADDED_SWIZZLES", "SWIZZLES", "TensorMapArgument", "Unit", "row_fault",
    "tensor_map", "unit_of",
]  # fmt: skip

DTYPES = {
    "u8": "u1",
    "u16": "u2",
    "u32": "u4",
    "s32": "i4",
    "u64": "u8",
    "s64": "i8",
    "f16": "f2",
    "f32": "f4",
    "f32.ftz": "f4",
    "tf32": "f4",
    "tf32.ftz": "f4",
    "f64": "f8",
    "bf16": "u2",
    "b4x16": "u1",
    "b4x16_p64": "u1",
    "b6x16_p32": "u1",
}
SWIZZLES = {
    "none": (0, 0), "32B": (1, 0), "64B": (2, 0), "128B": (3, 0), "128B base32B": (3, 1), "128B base64B": (3, 3),
    "128B base32B flip8B": (3, 2), "96B": (4, 0),
}  # fmt: skip
"""Of each swizzle the mode and the atomicity that tensormap.replace has for it (PTX ISA, table 33)."""


class Unit(TupleRecord):
    """What a tensor copy moves as a whole: some elements, with their bytes in global and in shared memory."""

    elements: int
    size: int
    shared: int


UNITS = {"b4x16": Unit(2, 1, 1), "b4x16_p64": Unit(16, 8, 16), "b6x16_p32": Unit(16, 12, 16)}
"""Of elements below a byte. Sixteen of the padded ones lie in 16 bytes of shared memory (PTX ISA 5.5.1.1)."""
PADDED_SWIZZLES = {
    "b4x16_p64": ("none", "128B", "128B base32B"),
    "b6x16_p32": ("none", "128B", "128B base32B", "128B base64B"),
}
"""The swizzles that cuTensorMapEncodeTiled takes with them; PTX has 128B base64B of 4 bits, too."""


def unit_of(element: str) -> Unit:
    """The unit of a type.

    >>> unit_of("f16")
    Unit(elements=1, size=2, shared=2)
    """
    size = np.dtype(DTYPES[element]).itemsize
    return UNITS.get(element) or Unit(1, size, size)


def row_fault(element: str, swizzle: str, units: int, others: Sequence[int]) -> str:
    """What is wrong with a row of a box, of some units; "" if nothing is. others: what is a multiple of 32 bytes where
    elements are padded, the address and the strides."""
    unit = unit_of(element)
    if element in PADDED_SWIZZLES:
        if swizzle not in PADDED_SWIZZLES[element]:
            return f"the swizzle of .{element} is {', '.join(PADDED_SWIZZLES[element])}; got {swizzle}"
        if units * unit.elements != PADDED_ROW:
            bytes_ = PADDED_ROW // unit.elements * unit.size
            return f"the box's innermost axis has {units * unit.size} bytes; of .{element} it has {bytes_}"
        if any(one % 32 for one in others):
            return f"of .{element} the address and the strides are multiples of 32 bytes"
        return ""
    inner, limit = units * unit.shared, COPY_PATTERNS[swizzle].row_bytes if COPY_PATTERNS[swizzle].bits else 0
    if inner % 16 or (limit and inner > limit):
        return f"the box's innermost axis has {inner} bytes; with swizzle {swizzle} it has a multiple of 16" + (
            f", up to {limit}" if limit else ""
        )
    return ""


OF_ARRAYS = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "int32": "s32", "uint64": "u64", "int64": "s64",
             "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}  # fmt: skip
"""Types by the names of NumPy and ml_dtypes."""


FLOATS = ("f16", "bf16", "f32", "f32.ftz", "tf32", "tf32.ftz", "f64")
"""Types for which elements outside the tensor may be NaN."""


class TensorMapArgument(TupleRecord):
    """A tensor map of an array, as an argument of a launch; see `tensor_map`."""

    array: Array
    element: str
    box: tuple[int, ...]
    swizzle: str
    steps: tuple[int, ...]
    fill: int
    corners: tuple[tuple[int, ...], ...] = ()


def _whole_numbers(name: str, given: Any) -> tuple[int, ...]:
    if not isinstance(given, (tuple, list)):
        raise Error(f"{name} is a tuple of whole numbers; got {shown(given)}")
    return tuple([require_int(name, one) for one in given])


def _corners(array: Array, corners: Any) -> tuple[tuple[int, ...], ...]:
    """The corners of a bounding box from the innermost dimension; the ranges are those of the driver."""
    if not isinstance(corners, (tuple, list)):
        raise Error(f"corners is a pair of corners; got {shown(corners)}")
    if not corners:
        return ()
    if not 3 <= array.ndim <= 5 or len(corners) != 2:
        raise Error(f"corners is the lower and the upper one, of an array of 3 to 5 axes; got {shown(corners)}")
    edges = tuple([_whole_numbers("a corner", corner)[::-1] for corner in corners])
    most = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}[array.ndim]
    if any(len(edge) != array.ndim - 2 or any(not -most <= one < most for one in edge) for edge in edges):
        raise Error(f"a corner has a number from {-most} to {most - 1} for each of the {array.ndim - 2} axes between "
                    f"images and channels; got {shown(corners)}")  # fmt: skip
    return edges


def _check_box(rank: int, sizes: tuple[int, ...], columns: bool, box: Any) -> None:
    if columns and (len(sizes) != 2 or not 1 <= sizes[0] <= 256 or not 1 <= sizes[1] <= 1024):
        raise Error(f"with corners the box is (pixels, channels), up to 1024 and 256; got {shown(box)}")
    if not columns and (len(sizes) != rank or any(not 1 <= size <= 256 for size in sizes)):
        raise Error(f"box has a size of 1 to 256 for each of the {rank} axes; got {shown(box)}")


def _check_rows(array: Array, kind: str, swizzle: str, size: int) -> None:
    """Refuse rows of a box, of `size` elements of the array, and strides that cuTensorMapEncodeTiled refuses."""
    units, rest = divmod(size * array.itemsize, unit_of(kind).size)
    if fault := row_fault(kind, swizzle, units if not rest else 0, array.strides[:-1]):
        raise Error(fault)
    if kind in PADDED_SWIZZLES and array.shape[-1] % size:
        raise Error(f"a row of a tensor of .{kind} has a multiple of {size} bytes; got {array.shape[-1]}")
    if any(stride % 16 or stride < 0 for stride in array.strides[:-1]):  # one of 0 repeats an axis
        raise Error(f"the strides of the outer axes are multiples of 16 bytes, from 0 up; got {array.strides[:-1]}")


def tensor_map(
    array: Array, box: Sequence[int], *, swizzle: str = "none", element: str | None = None, steps: Sequence[int] = (),
    fill: str = "zeros", corners: Sequence[Sequence[int]] = (),
) -> TensorMapArgument:  # fmt: skip
    """A tensor map (CUtensorMap) of a NumPy array, to be passed as an argument of a PTX kernel.

    Args:
        array: the tensor, of 1 to 5 dimensions, the last one innermost, whose elements are neighbours; a view such as
            `[batch, row, head, element]` with two axes exchanged does, too.
        box: the tile that one copy moves, in the order of the array's axes; 1 to 256 elements each.
        swizzle: "none", "32B", "64B" or "128B": how the tile's bytes are exchanged in shared memory; on Blackwell also
            "128B base32B" and "128B base64B", which keep 32 and 64 bytes together, "128B base32B flip8B", for loads,
            and on sm_103a "96B".
        element: a PTX type, where the array's own does not say it: uint16 with "bf16"; float32 with "tf32", which loads
            round to (to nearest, ties to even); uint8 with elements of less than a byte, packed in memory, of which
            `box` counts bytes: "b4x16", and "b4x16_p64" and "b6x16_p32", of which 16 elements are padded to 16 bytes in
            shared memory (16U4_ALIGN16B, 16U6_ALIGN16B). A row of a box has 128 of these, so 64 and 96 bytes.
        steps: elements from one that is copied to the next, by axis; 1 where it is left out, and of the innermost axis.
            A box of 16 with a step of 2 copies eight.
        fill: what is read outside the tensor: "zeros", or of floats "nan".
        corners: for im2col mode, the lower and the upper corner of the bounding box, by the axes between the first
            (images) and the last (channels) of 3 to 5; what a convolution with some padding reads first, and how far
            before the end it reads last. The box is then (pixels, channels), up to 1024 and 256.

    Raises:
        Error: an array, box or swizzle that cuTensorMapEncodeTiled refuses too.

    Source: CUDA Driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.

    >>> import numpy
    >>> tensor_map(numpy.zeros((128, 64), numpy.float16), (64, 64), swizzle="128B").box
    (64, 64)
    >>> image = numpy.zeros((1, 16, 16, 64), numpy.float16)  # a convolution of 3 x 3 with padding 1
    >>> tensor_map(image, (128, 64), swizzle="128B", corners=((-1, -1), (-1, -1))).corners
    ((-1, -1), (-1, -1))
    """
    if not isinstance(array, np.ndarray):
        raise Error(f"tensor_map takes a NumPy array; got {shown(array)}")
    check_type("tensor_map", array)
    if element is not None and not isinstance(element, str):
        raise Error(f"element is a PTX type, such as 'bf16'; got {shown(element)}")
    kind = element or OF_ARRAYS.get(array.dtype.name, "")
    if kind not in DTYPES:
        raise Error(f"a tensor map has elements of {', '.join(DTYPES)}; got {kind or array.dtype}")
    if np.dtype(DTYPES[kind]).itemsize != array.dtype.itemsize:
        raise Error(
            f"the array has elements of {array.dtype.itemsize} bytes; .{kind} has {np.dtype(DTYPES[kind]).itemsize}"
        )
    if not 1 <= array.ndim <= 5 or not array.size:
        raise Error(f"a tensor map is of an array of 1 to 5 dimensions with elements; got shape {array.shape}")
    if array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        raise Error(
            f"the elements of the innermost axis are neighbours in memory; got a stride of {array.strides[-1]} bytes"
        )
    sizes = _whole_numbers("box", box)[::-1]
    edges = _corners(array, corners)
    _check_box(array.ndim, sizes, bool(edges), box)
    if not isinstance(swizzle, str) or swizzle not in SWIZZLES:
        raise Error(f"swizzle is {', '.join(SWIZZLES)}; got {shown(swizzle)}")
    _check_rows(array, kind, swizzle, sizes[0])
    if not isinstance(fill, str) or fill not in ("zeros", "nan") or (fill == "nan" and kind not in FLOATS):
        raise Error(f"fill is 'zeros', or 'nan' of {', '.join(FLOATS)}; got {shown(fill)} of {kind}")
    every = _whole_numbers("steps", steps)[::-1] or (1,) * array.ndim
    if len(every) != array.ndim or any(not 1 <= step <= 8 for step in every):
        raise Error(f"steps has a number of 1 to 8 for each of the {array.ndim} axes; got {shown(steps)}")
    return TensorMapArgument(array, kind, sizes, swizzle, every, int(fill == "nan"), edges)
