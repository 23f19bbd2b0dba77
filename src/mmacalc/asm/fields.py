"""Bit fields: one engine that encodes and decodes every instruction format from its table.

A table (`mmacalc.asm.encodings`) lists the fields of one format with the manual's own bit numbers: bit 0 is the
lowest of the first 32-bit word, bit 32 the lowest of the second, and so on. A field that a manual splits is
written as its pieces from the top: "14,60:59" is three bits of which bit 14 is the highest. An `Encoding` refuses
a table in which a bit belongs to no field or to two, so a slip shows when the table is read, not in an encoding.

>>> from mmacalc.asm.encodings import VOP3P_MAI
>>> word = VOP3P_MAI.encode({"OP": 0x4C, "VDST": 4, "CBSZ": 1})
>>> word.to_bytes(8, "little").hex(), VOP3P_MAI.decode(word)["VDST"]
('0401ccd300000000', 4)
"""

from __future__ import annotations

from functools import lru_cache

from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Encoding", "Field"]


@lru_cache(maxsize=1024)
def _shape(bits: str) -> tuple[tuple[tuple[int, int], ...], int, int]:
    """The pieces of a field, its width and its mask."""
    pieces, width, mask = [], 0, 0
    for piece in bits.split(","):
        high, _, low = piece.partition(":")
        ends = int(high), int(low or high)
        pieces.append(ends)
        width += ends[0] - ends[1] + 1
        mask |= (2 << ends[0]) - (1 << ends[1])
    return tuple(pieces), width, mask


class Field:
    """One field: its name, its bits in the manual's numbers, and what it means.

    `value` is what the format itself writes there; None leaves it to the instruction. A decoder compares such a
    value, unless the field is `ignored`. pieces: the (highest, lowest) bit of every piece, the most significant piece
    first; width: the number of bits; mask: the bits of the instruction that belong to the field.
    """

    __slots__ = ("bits", "ignored", "mask", "meaning", "name", "pieces", "value", "width")
    bits: str
    ignored: bool
    mask: int
    meaning: str
    name: str
    pieces: tuple[tuple[int, int], ...]
    value: int | None
    width: int

    def __init__(self, name: str, bits: str, meaning: str, value: int | None = None, ignored: bool = False) -> None:
        self.name, self.bits, self.meaning, self.value, self.ignored = name, bits, meaning, value, ignored
        self.pieces, self.width, self.mask = _shape(bits)

    def __repr__(self) -> str:
        return f"Field({self.name!r}, {self.bits!r})"

    def spread(self, value: int) -> int:
        """A value of the field, put where its bits are."""
        word, left = 0, self.width
        for high, low in self.pieces:
            left -= high - low + 1
            word |= (value >> left & ((1 << high - low + 1) - 1)) << low
        return word

    def gather(self, word: int) -> int:
        """The value that the field has in an instruction."""
        value = 0
        for high, low in self.pieces:
            value = value << high - low + 1 | word >> low & ((1 << high - low + 1) - 1)
        return value


class Encoding:
    """One instruction format: its name, its source, its size in bytes, and its fields by name."""

    __slots__ = ("fields", "name", "size", "source")
    fields: dict[str, Field]
    name: str
    size: int
    source: str

    def __init__(self, name: str, source: str, fields: Iterable[Field]) -> None:
        self.name, self.source = name, source
        self.fields = {field.name: field for field in fields}
        covered = 0
        for field in self.fields.values():
            if covered & field.mask:
                raise Error(f"{name}: field {field.name} [{field.bits}] takes bits that another field has")
            if (field.value or 0) >> field.width:
                raise Error(f"{name}: {field.value} does not fit in field {field.name} [{field.bits}]")
            covered |= field.mask
        self.size = -(-covered.bit_length() // 8)
        if missing := [bit for bit in range(8 * self.size) if not covered >> bit & 1]:
            raise Error(f"{name}: no field has bits {missing}")

    def __repr__(self) -> str:
        return f"Encoding({self.name!r})"

    def encode(self, values: Mapping[str, int]) -> int:
        """The instruction as an integer; a field left out has the format's own value, or 0.

        Raises:
            Error: there is no such field, or a value does not fit.
        """
        word = 0
        for name, value in values.items():
            if name not in self.fields:
                raise Error(f"{self.name} has no field '{name}'; it has {', '.join(self.fields)}")
            if not 0 <= value < 1 << self.fields[name].width:
                raise Error(f"{name} of {self.name} has {self.fields[name].width} bits; {value} does not fit")
        for name, field in self.fields.items():
            word |= field.spread(values.get(name, field.value or 0))
        return word

    def decode(self, word: int) -> dict[str, int]:
        """The value of every field of an instruction."""
        return {name: field.gather(word) for name, field in self.fields.items()}

    def ignored(self) -> tuple[int, int]:
        """The bits that a decoder does not compare: (mask, what the format writes there)."""
        mask = value = 0
        for field in self.fields.values():
            if field.ignored:
                mask |= field.mask
                value |= field.spread(field.value or 0)
        return mask, value

    def template(self, fixed: Mapping[str, int], free: Iterable[str]) -> tuple[int, int]:
        """What a decoder compares: (mask, value). Ignored fields and the `free` ones are left out; a field that is
        neither free, nor fixed, nor the format's own, must be 0."""
        mask = value = 0
        for name, field in self.fields.items():
            if name not in free and not (field.ignored and name not in fixed):
                mask |= field.mask
                value |= field.spread(fixed.get(name, field.value or 0))
        return mask, value
