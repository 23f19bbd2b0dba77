"""Operand slots: what one operand of an instruction takes, as text and as the value of its field.

A source field has nine bits. 256 to 511 are registers 0 to 255; below that are the scalar registers, the inline
constants and a few values of the hardware (`constants`, `operand_codes`). The destination's field has eight,
for registers.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.errors import Error
from ..base.records import Record, TupleRecord
from .constants import CONSTANTS, constant_code, constant_texts
from .decoded import ConstantOperand, RegisterOperand
from .operand_codes import OTHER_NAMES, constant_patterns, register_text, tuple_fits, vector_codes, word_sources
from .registers import RegisterRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .operand_codes import Scalars
    from .tables import Entry

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
    """One operand of a matrix instruction.

    Attributes:
        name, title: "A", and how a message calls it; field: the encoding's field.
        scalars: the registers of the target, which say where tuples may begin and end.
        registers: how many 32-bit registers; or, where a field chooses the format, (field, counts by its value).
        files: the register files that it takes: "v", "a".
        bank: (field, bit) that is set for AccVGPRs, where both files are possible.
        constant: the format in which LLVM reads inline constants; None if there are none. pattern: the type of the
            constants that the hardware reads (see `mmacalc.asm.operand_codes`).
        words: the codes of the scalar registers and values of the hardware that it takes.
        destination: whether the field is the destination's, which has eight bits and counts registers from 0.
    """

    name: str
    title: str
    field: str
    registers: int | tuple[str, tuple[int, ...]]
    scalars: Scalars
    files: tuple[str, ...] = ("v",)
    bank: tuple[str, int] | None = None
    constant: str | None = None
    pattern: str = "f32"
    words: frozenset[int] = frozenset()
    destination: bool = False

    @property
    def alignment(self) -> int:
        """2 where tuples start at even registers."""
        return self.scalars.vector_alignment

    @property
    def specials(self) -> Mapping[str, int]:
        """The words that it takes beside vector registers and constants, in every spelling, with their codes."""
        return _spellings(self.words, min(self.registers, 2) if isinstance(self.registers, int) else 2, self.scalars)

    def count(self, fields: Mapping[str, int]) -> int:
        """How many registers it takes under the fields that choose formats."""
        if isinstance(self.registers, int):
            return self.registers
        field, counts = self.registers
        return counts[fields.get(field, 0)]

    def entries(self, count: int, words: frozenset[int]) -> tuple[Entry, ...]:
        """What the codes of the field mean, for VGPRs and for AccVGPRs where the bank says which.

        Args:
            words: which scalar registers and values of the hardware are taken.
        """
        constant = self.pattern if self.constant else ""
        files = self.files if self.bank else (self.files[0],) * 2
        if self.destination:
            return tuple(vector_codes(file, count, self.scalars) for file in files)
        return tuple(word_sources(file, count, constant, words, self.scalars) for file in files)

    def texts(self) -> dict[object, str]:
        """What is printed for constants: LLVM's texts, which follow the format in which it reads them."""
        patterns = constant_patterns(self.pattern)
        return {
            ConstantOperand(patterns[1][code], False, max(patterns[0], 32)): text
            for code, text in (constant_texts(self.constant).items() if self.constant else ())
        }

    def text(self, fields: Mapping[str, int]) -> str | None:
        """The operand that the fields of an instruction encode; None where LLVM has no text."""
        bank = fields[self.bank[0]] >> self.bank[1] & 1 if self.bank else 0
        operand = self.entries(self.count(fields), self.words)[bank][fields[self.field]]
        return register_text(operand) if isinstance(operand, RegisterOperand) else self.texts().get(operand)

    def _fits(self, first: int, count: int) -> bool:
        return tuple_fits(first, count, self.scalars)

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


@lru_cache(maxsize=256)
def _spellings(words: frozenset[int], count: int, scalars: Scalars) -> dict[str, int]:
    found: dict[str, int] = {}
    for code in sorted(words):
        register = scalars.register(code, count) or scalars.register(code, 1)
        assert register is not None
        found[register_text(register)] = code
    return found | {OTHER_NAMES[name]: code for name, code in found.items() if name in OTHER_NAMES}
