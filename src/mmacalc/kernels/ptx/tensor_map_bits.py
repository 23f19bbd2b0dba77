"""The bits of a tensor map: 64 bytes with all of a map of tiles, and 64 more.

NVIDIA has not published them. These are the places where the maps have them that CuTe's DSL 4.8.1 encodes on the host
without a driver, found by the maps of tensors of each type, rank, size, stride, box and swizzle, with atoms of 32 and
64 bytes, too; its kernels copy 64 of the 128 bytes as well. Where the places of element strides, the fill mode and
im2col's corners are is not known from these: they are our own, in bits that those maps leave 0.
"""

from __future__ import annotations

import struct

from ...base.errors import Error

__all__ = ["ELEMENTS", "FIELDS", "get", "is_map", "new", "place", "read_corners", "unknown", "write_corners"]

# PTX ISA, tables of tensormap.replace: element types by their code.
ELEMENTS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz",
            "b4x16", "b4x16_p64", "b6x16_p32")  # fmt: skip
# The code in a map for each of them; tf32 is f32 with a bit of its own.
_ROUNDED = 1 << 80
_TYPES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 7, 8, 11, 12, 13)
_KNOWN = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 10: 10, 11: 13, 12: 14, 13: 15}
_NO_TYPE = 15
# The first bit of a field, its bits, the bits from a dimension to the next, and what is subtracted from its value.
FIELDS = {
    "global_address": (0, 64, 0, 0),
    "rank": (68, 3, 0, 0),  # less one
    "elemtype": (71, 4, 0, 0),
    "swizzle_mode": (77, 3, 0, 0),
    "fill_mode": (81, 1, 0, 0),
    "swizzle_atomicity": (83, 2, 0, 0),
    "global_dim": (256, 32, 32, 1),
    "element_stride": (416, 3, 3, 1),
    "box_dim": (440, 8, 8, 1),
}
_STRIDES, _STRIDES_ABOVE = 96, 224  # multiples of 16 bytes: their low 32 bits, and 4 more
_RANGES = {"element_stride": (1, 8), "box_dim": (1, 256), "rank": (0, 4), "swizzle_mode": (0, 7), "fill_mode": (0, 1),
           "swizzle_atomicity": (0, 3)}  # fmt: skip
_FIXED = 1 << 65 | 1 << 82
"""Bits that every map has."""
_IM2COL = 1 << 64
_LOADED = 1 << 85
"""A bit of maps for loads; what it says has no effect here."""
_MEANT = _FIXED | _IM2COL | _ROUNDED | _LOADED | 0b111 << 68 | 0b1111 << 71 | 0b111 << 77 | 1 << 81 | 0b11 << 83
"""All bits of the third word that are known."""
_CORNERS = struct.Struct("<6h")


def new(im2col: bool) -> int:
    """The bits of a map whose fields are not set yet."""
    return _FIXED | (_IM2COL if im2col else 0)


def is_map(bits: int) -> bool:
    """Whether 64 bytes may be a map."""
    return bits & (_FIXED | 0b1100 << 64 | 0xFFFFFFFF << 480) == _FIXED


def unknown(bits: int) -> int:
    """The bits of the third word of a map whose meaning is not known, such as that of an interleaved layout."""
    return (bits & ~_MEANT) >> 64 & 0xFFFFFFFF


def place(bits: int, field: str, dimension: int, value: int) -> int:
    """The bits with a field set, as tensormap.replace gives its value.

    Raises:
        Error: a value that has no place in a map, or there is no such field.
    """
    if field == "global_stride":
        if value % 16 or value >> 40:
            raise Error(f"global_stride {dimension} is {value}; it is a multiple of 16 below 2^40")
        low = _set(bits, _STRIDES + 32 * dimension, 32, value >> 4 & 0xFFFFFFFF)
        return _set(low, _STRIDES_ABOVE + 4 * dimension, 4, value >> 36)
    if field not in FIELDS:
        raise Error(f"there is no field '{field}'")
    first, last = _RANGES.get(field, (0, (1 << 64) - 1))
    if not first <= value <= last:
        what = f"{field} {dimension}" if FIELDS[field][2] else field
        raise Error(f"{what} is {value}; it is {first} to {last}")
    if field == "elemtype":
        bits = bits | _ROUNDED if value in (11, 12) else bits & ~_ROUNDED
        value = _TYPES[value] if value < len(_TYPES) else _NO_TYPE
    start, size, distance, less = FIELDS[field]
    return _set(bits, start + distance * dimension, size, value - less)


def get(bits: int, field: str, dimension: int = 0) -> int:
    """The value of a field; of elemtype -1 where there is no such type."""
    if field == "global_stride":
        low, above = bits >> _STRIDES + 32 * dimension, bits >> _STRIDES_ABOVE + 4 * dimension
        return (above & 0xF) << 36 | (low & 0xFFFFFFFF) << 4
    start, size, distance, less = FIELDS[field]
    value = (bits >> start + distance * dimension & (1 << size) - 1) + less
    if field != "elemtype":
        return value
    known = _KNOWN.get(value, -1)
    return known + 4 if bits & _ROUNDED and known in (7, 8) else known


def _set(bits: int, start: int, size: int, value: int) -> int:
    mask = (1 << size) - 1
    return bits & ~(mask << start) | (value & mask) << start


def write_corners(corners: tuple[tuple[int, ...], ...]) -> bytes:
    """The 64 bytes behind: the corners of im2col's bounding box."""
    filled = [edge for corner in corners or ((), ()) for edge in (*corner, 1, 1, 1)[:3]]
    return _CORNERS.pack(*filled).ljust(64, b"\0")


def read_corners(bits: int, above: bytes, rank: int) -> tuple[tuple[int, ...], ...]:
    """The lower and the upper corner, () of a map of tiles."""
    if not bits & _IM2COL:
        return ()
    edges = _CORNERS.unpack(above[: _CORNERS.size])
    return edges[: rank - 2], edges[3 : rank + 1]
