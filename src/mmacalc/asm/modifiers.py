"""Modifier slots: what may follow the operands, as text and as the value of its field.

LLVM's four kinds: a number (cbsz:1), bits for A, B and C (neg_lo:[1,0,0]), a flag (clamp), and a choice by name or
number (matrix_a_fmt:MATRIX_FMT_FP4). Each instruction takes its modifiers in one fixed order.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.numerals import literal
from ..base.records import Record
from ..formats import CHOICES, SHORT_NAMES

__all__ = ["MATRIX_FMT", "SCALE_FMT", "Modifier", "bits", "choice", "flag", "number"]

MATRIX_FMT = tuple(f"MATRIX_FMT_{SHORT_NAMES[name].upper()}" for name in CHOICES["f8f6f4"])
SCALE_FMT = tuple(f"MATRIX_SCALE_FMT_{name}" for name in ("E8", "E5M3", "E4M3"))


class Modifier(Record):
    """One modifier of an instruction.

    Attributes:
        name, kind: how it is written: "number", "bits", "flag" or "choice"; field: the encoding's field.
        legal: the values that it takes (of bits: those that may be set, as a mask).
        names: of a choice, the name of each value; width: of bits, how many are printed.
        default: the value when it is not written; hidden: the value that is not printed (None: all are).
        dropped: bits that are accepted and not encoded.
    """

    name: str
    kind: str
    field: str
    legal: int
    names: tuple[str, ...] = ()
    width: int = 3
    default: int = 0
    hidden: int | None = 0
    dropped: int = 0

    def takes(self, value: int) -> bool:
        """Whether the field may have this value."""
        return not value & ~self.legal if self.kind == "bits" else 0 <= value <= self.legal

    def text(self, value: int) -> str | None:
        """What is printed for a value, with a space before it; None if the modifier does not take it."""
        if not self.takes(value):
            return None
        if value == self.hidden:
            return ""
        if self.kind == "flag":
            return f" {self.name}"
        if self.kind == "bits":
            return f" {self.name}:[{','.join(str(value >> bit & 1) for bit in range(self.width))}]"
        return f" {self.name}:{self.names[value] if self.names else value}"

    def read(self, written: str) -> int | None:
        """The value of what follows the colon in a text; None if it is none.

        >>> bits("neg_lo", "NEG").read("[1,0,1]"), flag("clamp", "CLMP").read("")
        (5, 1)
        """
        words = written.strip("[]").replace(",", " ").split()
        if self.kind == "flag" or (self.kind == "choice" and written in self.names):
            return 1 if self.kind == "flag" else self.names.index(written)
        values = [value for word in words if (value := literal(word)) is not None]
        if len(values) != len(words):
            return None
        if self.kind == "bits":
            return sum(bool(value) << bit for bit, value in enumerate(values))
        return values[0] if len(values) == 1 else None

    def checked(self, written: int, whose: str) -> int:
        """The value to encode for the value that was written.

        Raises:
            Error: the modifier does not take it.
        """
        value = written & ~self.dropped & (1 << self.width) - 1 if self.kind == "bits" else written
        if not self.takes(value):
            raise Error(f"{self.name} of {whose} {self._limits()}; got {self._shown(written)}")
        return value

    def _limits(self) -> str:
        if self.kind == "bits":
            free = [name for bit, name in enumerate("ABC") if self.legal >> bit & 1]
            return f"can only be set for {' and '.join(free)}, as [{','.join('ABC'[: self.width])}]"
        if self.names:
            return f"is {', '.join(f'{name} ({value})' for value, name in enumerate(self.names))}"
        return f"is 0 to {self.legal}"

    def _shown(self, written: int) -> str:
        return str([written >> bit & 1 for bit in range(self.width)]) if self.kind == "bits" else str(written)


def number(name: str, field: str, most: int) -> Modifier:
    """A modifier such as cbsz:1."""
    return Modifier(name, "number", field, most)


def bits(name: str, field: str, legal: int = 7, **rest: int | None) -> Modifier:
    """A modifier such as neg_lo:[1,0,0]."""
    return Modifier(name, "bits", field, legal, **rest)  # type: ignore[arg-type]


def flag(name: str, field: str) -> Modifier:
    """A modifier such as clamp."""
    return Modifier(name, "flag", field, 1)


def choice(name: str, field: str, names: tuple[str, ...]) -> Modifier:
    """A modifier such as matrix_a_fmt:MATRIX_FMT_FP4."""
    return Modifier(name, "choice", field, len(names) - 1, names=names)
