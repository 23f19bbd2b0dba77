"""A range of registers: what an operand such as v[4:7] names."""

from __future__ import annotations

from ..base.records import TupleRecord

__all__ = ["FILES", "RegisterRange"]

# Register files by the prefixes that LLVM's assembler takes.
FILES = {"v": "v", "a": "a", "acc": "a", "s": "s", "ttmp": "ttmp"}


class RegisterRange(TupleRecord):
    """Consecutive 32-bit registers of one file: v (VGPRs), a (AccVGPRs), s (SGPRs) or ttmp (trap temporaries); half is
    "l" or "h" where it is the lower or upper 16 bits of one.

    >>> str(RegisterRange("v", 4, 4)), str(RegisterRange("a", 4, 1)), str(RegisterRange("v", 4, 1, "h"))
    ('v[4:7]', 'a4', 'v4.h')
    >>> RegisterRange("v", 4, 1, "h").overlaps(RegisterRange("v", 4, 1, "l"))
    False
    """

    file: str
    first: int
    count: int  # type: ignore[assignment]  # not tuple's method
    half: str = ""

    @property
    def last(self) -> int:
        """The number of the last register."""
        return int(self.first + self.count - 1)

    def overlaps(self, other: RegisterRange) -> bool:
        """Whether the two have bits in common."""
        apart = self.first + self.count <= other.first or other.first + other.count <= self.first
        apart = apart or {self.half, other.half} == {"l", "h"}
        return self.file == other.file and not apart

    def __str__(self) -> str:
        half = self.half and f".{self.half}"
        return f"{self.file}{self.first}{half}" if self.count == 1 else f"{self.file}[{self.first}:{self.last}]"
