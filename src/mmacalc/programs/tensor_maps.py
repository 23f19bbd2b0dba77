"""The bits of a tensor map as cuTensorMapEncodeTiled's arguments say it."""

from __future__ import annotations

from ..base.errors import Error
from ..kernels.ptx.tensor_map_bits import new, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["encoded"]

# CUtensorMapDataType, and the code that tensormap.replace has for each (PTX ISA): there f64 and bf16 come behind the
# f32 whose denormals are 0.
_TYPES = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12, 13, 14, 15)
# CUtensorMapSwizzle: its mode and its atomicity in tensormap.replace.
_SWIZZLES = ((0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3))


def encoded(
    kind: int, address: int, interleave: int, swizzle: int, fill: int, axes: Sequence[Sequence[int]]
) -> bytes:  # fmt: skip
    """The 128 bytes of a map of tiles.

    axes: of each axis from the innermost the size, the stride in bytes (0 of the innermost), the box and the step.

    Raises:
        Error: an argument that the driver does not take, or an interleaved layout.
    """
    if interleave:
        raise Error(f"an interleaved layout (CU_TENSOR_MAP_INTERLEAVE, {interleave}) is not covered")
    for what, value, known in (("data type", kind, _TYPES), ("swizzle", swizzle, _SWIZZLES)):
        if not 0 <= value < len(known):
            raise Error(f"there is no {what} {value}")
    if not 1 <= len(axes) <= 5:
        raise Error(f"a tensor has 1 to 5 axes; got {len(axes)}")
    if address % 16:
        raise Error(f"a tensor's address is a multiple of 16; got {address:#x}")
    mode, atomicity = _SWIZZLES[swizzle]
    fields = [("global_address", 0, address), ("rank", 0, len(axes) - 1), ("elemtype", 0, _TYPES[kind]),
              ("swizzle_mode", 0, mode), ("swizzle_atomicity", 0, atomicity), ("fill_mode", 0, fill)]  # fmt: skip
    for axis, (size, stride, box, step) in enumerate(axes):
        fields += [("global_dim", axis, size), ("box_dim", axis, box), ("element_stride", axis, step)]
        fields += [("global_stride", axis - 1, stride)] if axis else []
    bits = new(False)
    for field, axis, value in fields:
        bits = place(bits, field, axis, value)
    return bits.to_bytes(64, "little") + bytes(64)
