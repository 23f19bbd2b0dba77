"""Operand kinds: what one operand of an instruction takes, as text and as the code in its field.

A source field has nine bits. 256 to 511 are registers 0 to 255; below that are the scalar registers, the inline
constants and a few values of the hardware. Source: CDNA4 ISA guide, table 88 (SRC0); RDNA3, RDNA4 and CDNA5 ISA
guides, "Scalar operands"; which of them a slot takes: LLVM 22.1.8.
"""

from __future__ import annotations

import struct
from collections import namedtuple
from functools import cache

from ..errors import Error
from ..formats import named
from .registers import RegisterRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..formats import Format

__all__ = ["Constant", "Slot", "Symbol", "constant_code", "constant_texts"]


class Constant(namedtuple("Constant", "value text")):
    """A number, with the text that it was written as."""

    __slots__ = ()
    value: int | float
    text: str

    def __str__(self) -> str:
        return self.text


class Symbol(namedtuple("Symbol", "name")):
    """A symbolic operand, such as null or src_scc."""

    __slots__ = ()
    name: str

    def __str__(self) -> str:
        return self.name


# --- inline constants ---

_FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}
# 1/(2 pi): the codes of each format; bf16's is f32's cut off, not rounded.
_INVERSE_2PI = {"f64": 0x3FC45F306DC9C882, "f32": 0x3E22F983, "f16": 0x3118, "bf16": 0x3E22}
# Of bf16 LLVM prints f32's text, which its own assembler then refuses: the number nearest to it is 0x3e23.
_INVERSE_2PI_TEXTS = {"f64": "0.15915494309189532", "bf16": "0x3e22"}
CONSTANTS = "0 to 64, -1 to -16, 0.5, 1.0, 2.0, 4.0, their negatives, or 1/(2*pi)"


@cache
def constant_texts(kind: str) -> dict[int, str]:
    """The inline constants of a format: code to text, which is LLVM's where its assembler takes it.

    >>> constant_texts("f32")[248], constant_texts("bf16")[248], constant_texts("f16")[193]
    ('0.15915494', '0x3e22', '-1')
    """
    texts = {128 + value: str(value) for value in range(65)}
    texts |= {192 + value: str(-value) for value in range(1, 17)}
    texts |= {code: str(value) for code, value in _FLOATS.items()}
    return {**texts, 248: _INVERSE_2PI_TEXTS.get(kind, "0.15915494")}


@cache
def _patterns(kind: str) -> dict[int, int]:
    """The code of every bit pattern that is an inline constant of a format."""
    bits = named(kind).bits
    patterns = {value & (1 << bits) - 1: 128 + value for value in range(65)}
    patterns |= {-value & (1 << bits) - 1: 192 + value for value in range(1, 17)}
    for code, value in _FLOATS.items():
        pattern = rounded(value, named(kind))
        assert pattern is not None
        patterns[pattern] = code
    return {**patterns, _INVERSE_2PI[kind]: 248}


def rounded(value: float, to: Format) -> int | None:
    """The bits of the format's number nearest to `value`; None where it overflows or loses bits to underflow."""
    double: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    if to.bits == 64:
        return double
    sign, exponent, fraction = double >> 63, (double >> 52 & 0x7FF) - 1023 + to.bias, double & (1 << 52) - 1
    if double << 1 & (1 << 64) - 1 == 0:
        return sign << to.bits - 1
    if exponent < 1:  # denormal: only a value that needs no rounding is taken
        whole, shift = fraction | 1 << 52, 52 - to.mantissa + 1 - exponent
        return None if whole & (1 << shift) - 1 else sign << to.bits - 1 | whole >> shift
    shift = 52 - to.mantissa
    half, rest = 1 << shift - 1, fraction & (1 << shift) - 1
    number = (exponent << to.mantissa | fraction >> shift) + (rest > half or (rest == half and fraction >> shift & 1))
    return None if number >> to.mantissa >= (1 << to.exponent) - 1 else sign << to.bits - 1 | number


def constant_code(value: int | float, kind: str) -> int | None:
    """The code of a number as an inline constant of a format; None if it is not one.

    An integer may also be the bits of a floating point constant, as in LLVM's assembler.

    >>> constant_code(1.0, "f32"), constant_code(1, "f32"), constant_code(0x3F800000, "f32"), constant_code(3.0, "f32")
    (242, 129, 242, None)
    """
    form = named(kind)
    if isinstance(value, float):
        pattern = rounded(value, form)
        return None if pattern is None else _patterns(kind).get(pattern)
    if not -(1 << form.bits - 1) <= value < 1 << form.bits:
        return None
    return _patterns(kind).get(value & (1 << form.bits) - 1)


# --- slots ---


class Slot:
    """One operand of an instruction.

    Attributes:
        name, title: "A", and how a message calls it; field: the encoding's field that holds its code.
        registers: how many 32-bit registers; or, where a field chooses the format, (field, counts by its value).
        files: the register files that it takes: "v", "a".
        bank: (field, bit) that is set for AccVGPRs, where both files are possible.
        alignment: 2 where tuples start at even registers; vgprs: how many registers a tuple may reach into.
        constant: the format that inline constants are read in; None if there are none.
        specials: other words that it takes, with their codes.
    """

    __slots__ = ("alignment", "bank", "constant", "field", "files", "name", "registers", "specials", "title", "vgprs")

    def __init__(
        self,
        name: str,
        title: str,
        field: str,
        registers: int | tuple[str, tuple[int, ...]],
        files: tuple[str, ...] = ("v",),
        bank: tuple[str, int] | None = None,
        alignment: int = 1,
        constant: str | None = None,
        specials: Mapping[str, int] | None = None,
        vgprs: int = 256,
    ) -> None:
        self.name, self.title, self.field, self.registers, self.files = name, title, field, registers, files
        self.bank, self.alignment, self.constant = bank, alignment, constant
        self.specials, self.vgprs = specials or {}, vgprs

    def count(self, fields: Mapping[str, int]) -> int:
        """How many registers it takes under the fields that choose formats."""
        if isinstance(self.registers, int):
            return self.registers
        field, counts = self.registers
        return counts[fields.get(field, 0)]

    def texts(self, count: int) -> tuple[str | None, ...]:
        """The text of every code, the codes with the bank bit set after those without; None where LLVM has none."""
        low: list[str | None] = [None] * 256
        for text, code in self.specials.items():
            low[code] = low[code] or text
        if self.constant:
            for code, text in constant_texts(self.constant).items():
                low[code] = text
        banks = self.files if self.bank else self.files[:1]
        found: list[str | None] = []
        for file in banks:
            found += low + [
                str(RegisterRange(file, first, count)) if self._fits(first, count) else None for first in range(256)
            ]
        return tuple(found)

    def _fits(self, first: int, count: int) -> bool:
        return first + count <= self.vgprs and (count == 1 or first % self.alignment == 0)

    def encode(self, given: RegisterRange | Constant | Symbol, count: int, whose: str) -> tuple[int, bool]:
        """The code of an operand, and whether the bank bit is set.

        Raises:
            Error: it does not belong here; the message says what does.
        """
        if isinstance(given, RegisterRange) and given.file in ("v", "a"):
            if given.file in self.files and given.count == count and self._fits(given.first, count):
                return 256 + given.first, bool(self.bank) and given.file == "a"
        elif isinstance(given, Constant):
            code = constant_code(given.value, self.constant) if self.constant else None
            if code is not None:
                return code, False
        elif (code := self.specials.get(str(given))) is not None:
            return code, False
        raise Error(f"{self.title} of {whose} takes {self._wanted(given, count)}; got {given}")

    def _wanted(self, given: RegisterRange | Constant | Symbol, count: int) -> str:
        """What a message says that the slot takes, with an example as close as possible to what was given."""
        first, file = 0, self.files[0]
        if isinstance(given, RegisterRange) and given.file in ("v", "a"):
            file = given.file if given.file in self.files else file
            first = min(given.first - given.first % (self.alignment if count > 1 else 1), 256 - count)
        even = ", even-aligned" if self.alignment == 2 and count > 1 else ""
        kinds = {"v": "VGPR", "a": "AccVGPR"}
        what = f"{count} registers{even}" if count > 1 else "1 register"
        if len(self.files) == 1:
            what = what.replace("register", kinds[file])
        if self.constant and not isinstance(given, RegisterRange):
            what += f", or an inline constant ({CONSTANTS})"
        return f"{what}: {RegisterRange(file, first, count)}"
