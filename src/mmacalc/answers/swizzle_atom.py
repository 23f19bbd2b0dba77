"""The atom of a swizzle: the byte of every element of its eight rows."""

from __future__ import annotations

from ..families.descriptors import ATOMS, atom_offset
from ..formats import named
from ..records import Record

__all__ = ["SwizzleAtom", "swizzle_atom"]


class SwizzleAtom(Record):
    """The bytes of an atom.

    Attributes:
        swizzle, format, major: which. bits: of an element's slot. bytes: by row (k of an MN-major atom, else m or n)
            and the index along the row, the byte of the element.
    """

    swizzle: str
    format: str
    major: str
    bits: int
    bytes: tuple[tuple[int, ...], ...]


def swizzle_atom(swizzle: str = "128B", element: str = "f16", major: str = "k") -> SwizzleAtom:
    """The bytes of the atom of a swizzle.

    Args:
        swizzle: none, 32B, 64B, 128B or 128B base32B. element: the type. major: "k" or "mn".

    Raises:
        Error: an unknown swizzle, type or major, or a type of less than a byte.

    >>> swizzle_atom("128B", "f16").bytes[1][:2], swizzle_atom("128B", "f16").bytes[1][8]
    ((144, 146), 128)
    """
    bits = max(8, named(element).bits)
    atom_offset(0, 0, bits, swizzle, major)  # refuses what there is not
    count = ATOMS[swizzle] * 8 // bits
    rows = [
        [atom_offset(*_place(row, along, major), bits, swizzle, major) for along in range(count)] for row in range(8)
    ]
    return SwizzleAtom(swizzle, element, major, bits, tuple(map(tuple, rows)))


def _place(row: int, along: int, major: str) -> tuple[int, int]:
    """The coordinates mn and k of an element by its row and its index along it."""
    return (row, along) if major == "k" else (along, row)
