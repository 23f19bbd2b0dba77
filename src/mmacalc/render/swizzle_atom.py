"""The atom of a swizzle as a table and as JSON."""

from __future__ import annotations

from . import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.swizzle_atom import SwizzleAtom

__all__ = ["json_object", "text"]


def text(atom: SwizzleAtom) -> str:
    """The byte of every element; neighbours that stay together are one run."""
    down, along = ("m or n", "k") if atom.major == "k" else ("k", "m or n")
    run = max(1, 16 * 8 // atom.bits)
    if atom.swizzle == "128B base32B":
        run *= 2
    starts = range(0, len(atom.bytes[0]), run)
    header = [f"{down} \\ {along}", *[f"{start} to {min(start + run, len(atom.bytes[0])) - 1}" for start in starts]]
    rows = [(str(row), *[str(line[start]) for start in starts]) for row, line in enumerate(atom.bytes)]
    title = f"Atom of swizzle {atom.swizzle}, {atom.major.upper()}-major, {atom.format}: the first byte of each run\n"
    return title + tables.write(header, rows, "grid") + "\n"


def json_object(atom: SwizzleAtom) -> dict[str, Any]:
    """The same as plain data: the byte of every element, by row."""
    return {
        "swizzle": atom.swizzle, "format": atom.format, "major": atom.major, "bits": atom.bits,
        "bytes": [list(row) for row in atom.bytes],
    }  # fmt: skip
