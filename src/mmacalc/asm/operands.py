"""Operand slots: what one operand of an instruction takes, as text and as the value of its field.

A source field has nine bits. 256 to 511 are registers 0 to 255; below that are the scalar registers, the inline
constants and a few values of the hardware (`constants`, `scalars`). The destination's field has eight, for registers.
"""

from __future__ import annotations

from ..errors import Error
from ..records import Record, TupleRecord
from .constants import CONSTANTS, constant_code, constant_texts
from .registers import RegisterRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Constant", "OperandSlot", "Symbol"]


class Constant(TupleRecord):
    """A number, with the text that it was written as."""

    value: int | float
    text: str

    def __str__(self) -> str:
        return self.text


class Symbol(TupleRecord):
    """A symbolic operand, such as null or src_scc."""

    name: str

    def __str__(self) -> str:
        return self.name


class OperandSlot(Record):
    """One operand of an instruction.

    Attributes:
        name, title: "A", and how a message calls it; field: the encoding's field.
        registers: how many 32-bit registers; or, where a field chooses the format, (field, counts by its value).
        files: the register files that it takes: "v", "a".
        bank: (field, bit) that is set for AccVGPRs, where both files are possible.
        alignment: 2 where tuples start at even registers; past_v255: whether a tuple may reach past v255.
        constant: the format that inline constants are read in; None if there are none.
        specials: other words that it takes, with their codes.
        destination: whether the field is the destination's, which has eight bits and counts registers from 0.
    """

    name: str
    title: str
    field: str
    registers: int | tuple[str, tuple[int, ...]]
    files: tuple[str, ...] = ("v",)
    bank: tuple[str, int] | None = None
    alignment: int = 1
    constant: str | None = None
    specials: Mapping[str, int] = {}
    past_v255: bool = False
    destination: bool = False

    @property
    def field_bits(self) -> int:
        """The width of the field."""
        return 8 if self.destination else 9

    def count(self, fields: Mapping[str, int]) -> int:
        """How many registers it takes under the fields that choose formats."""
        if isinstance(self.registers, int):
            return self.registers
        field, counts = self.registers
        return counts[fields.get(field, 0)]

    def texts(self, count: int) -> tuple[str | None, ...]:
        """The text of every value of the field, those with the bank bit set after those without; None where LLVM has
        none."""
        below: list[str | None] = [] if self.destination else [None] * 256
        if not self.destination:
            for text, code in self.specials.items():
                below[code] = below[code] or text
            for code, text in constant_texts(self.constant).items() if self.constant else ():
                below[code] = text
        texts: list[str | None] = []
        for file in self.files if self.bank else self.files[:1]:
            registers = [RegisterRange(file, first, count) for first in range(256)]
            texts += below + [str(each) if self._fits(each.first, count) else None for each in registers]
        return tuple(texts)

    def text(self, fields: Mapping[str, int]) -> str | None:
        """The operand that the fields of an instruction encode; None where LLVM has no text."""
        bank = fields[self.bank[0]] >> self.bank[1] & 1 if self.bank else 0
        return self.texts(self.count(fields))[fields[self.field] | bank << self.field_bits]

    def _fits(self, first: int, count: int) -> bool:
        whole = self.past_v255 or first + count <= 256
        return whole and (count == 1 or first % self.alignment == 0)

    def encode(self, operand: RegisterRange | Constant | Symbol, count: int, whose: str) -> tuple[int, bool]:
        """The value of the field, and whether the bank bit is set.

        Raises:
            Error: the slot does not take the operand; the message says what it takes.
        """
        if isinstance(operand, RegisterRange) and operand.file in ("v", "a"):
            if operand.file in self.files and operand.count == count and self._fits(operand.first, count):
                return operand.first + (0 if self.destination else 256), bool(self.bank) and operand.file == "a"
        elif isinstance(operand, Constant):
            code = constant_code(operand.value, self.constant) if self.constant else None
            if code is not None:
                return code, False
        elif (code := self.specials.get(str(operand))) is not None:
            return code, False
        raise Error(f"{self.title} of {whose} takes {self._wanted(operand, count)}; got {operand}")

    def _wanted(self, operand: RegisterRange | Constant | Symbol, count: int) -> str:
        """What the slot takes, for error messages, with an example close to the operand."""
        first, file = 0, self.files[0]
        if isinstance(operand, RegisterRange) and operand.file in ("v", "a"):
            file = operand.file if operand.file in self.files else file
            first = min(operand.first - operand.first % (self.alignment if count > 1 else 1), 256 - count)
        even = ", even-aligned" if self.alignment == 2 and count > 1 else ""
        kinds = {"v": "VGPR", "a": "AccVGPR"}
        what = f"{count} registers{even}" if count > 1 else "1 register"
        if len(self.files) == 1:
            what = what.replace("register", kinds[file])
        if self.constant and not isinstance(operand, RegisterRange):
            what += f", or an inline constant ({CONSTANTS})"
        return f"{what}: {RegisterRange(file, first, count)}"
