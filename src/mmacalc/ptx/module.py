"""What a PTX module is, once it has been read: functions, variables, statements and operands, as records."""

from __future__ import annotations

import re

from ..base.checks import whole
from ..base.errors import Error
from ..base.records import TupleRecord, json_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias, TypeGuard

    Operand: TypeAlias = "Register | Number | Symbol | Address | Negated | Pair | tuple[Operand, ...]"

__all__ = [
    "Address",
    "Function",
    "Guard",
    "Location",
    "Module",
    "Negated",
    "Number",
    "Pair",
    "Register",
    "Statement",
    "Symbol",
    "Variable",
    "bits_of",
    "count_of",
    "is_braced",
]

WIDTHS = {"b128": 128, "pred": 1, "f16x2": 32, "bf16x2": 32, "f32x2": 64, "tf32": 32, "e4m3": 8, "e5m2": 8}
"""Bits of the fundamental types whose name does not end in them."""


class Register(TupleRecord):
    """A virtual register, or a special one (%tid.x), by its name; registers of inner blocks are renamed apart."""

    name: str


class Number(TupleRecord):
    """An immediate: an integer, or the bits of a float (kind "f32" or "f64"); a decimal float has the kind "decimal"
    and the bits of its float64."""

    value: int
    kind: str = ""


class Symbol(TupleRecord):
    """A variable, function or label; offset: bytes added to its address."""

    name: str
    offset: int = 0


class Address(TupleRecord):
    """A memory operand in brackets. `base` is a register, a symbol, or None for an absolute address; `more` what else
    stands in the brackets (the coordinates of a tensor copy)."""

    base: Register | Symbol | None
    offset: int = 0
    more: tuple[Operand, ...] = ()


class Negated(TupleRecord):
    """An operand behind `!` or `-`: a predicate, or a register of a negated immediate."""

    operand: Operand


class Pair(TupleRecord):
    """Two destinations, `p|q`."""

    first: Operand
    second: Operand


class Guard(TupleRecord):
    """The predicate in front of an instruction."""

    register: str
    negated: bool


@json_keys(
    "str()",
)
class Location(TupleRecord):
    """A place in the source that `.loc` names: file, line, column. The file is "" where no .file names it.
    inlined_at: of a function that was put in place of a call, the place of the call."""

    file: str
    line: int
    column: int
    inlined_at: Location | None = None

    def __str__(self) -> str:
        called = f", called at {self.inlined_at}" if self.inlined_at else ""
        return f"{self.file}:{self.line}{called}"


class Statement(TupleRecord):
    """An instruction: its line in the text, guard, opcode as root and modifiers, operands, source location, text.

    A label is not a statement: `Function.labels` has the index of the statement that follows it.
    """

    line: int
    guard: Guard | None
    root: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    location: Location | None
    text: str

    @property
    def opcode(self) -> str:
        """The opcode with its modifiers, as it is written."""
        return ".".join((self.root, *self.modifiers))


class Variable(TupleRecord):
    """A variable of a state space. size: bytes, 0 if it is left open; content: its initial bytes; pointers: where in
    them (byte, bytes) addresses of other variables belong, and how far these are shifted right."""

    name: str
    space: str
    type: str
    align: int
    size: int
    content: bytes = b""
    pointers: tuple[tuple[int, int, Symbol, int], ...] = ()
    line: int = 0


class Function(TupleRecord):
    """A .entry or .func: its parameters, results, registers (name to type), variables, statements and labels.

    attributes: what its directives say (reqntid, maxntid, maxnreg, reqnctapercluster ...), as numbers. external: it is
    declared and has no body.
    """

    name: str
    entry: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    registers: Mapping[str, str]
    variables: tuple[Variable, ...]
    statements: tuple[Statement, ...]
    labels: Mapping[str, int]
    tables: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, tuple[int, ...]]
    external: bool
    line: int


class Module(TupleRecord):
    """A module: .version, .target (the first word of it), its functions by name, and the variables outside them."""

    version: str
    target: str
    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]

    @property
    def entries(self) -> tuple[Function, ...]:
        """The kernels."""
        return tuple([function for function in self.functions.values() if function.entry])


def bits_of(type_: str) -> int:
    """The bits of a type's name.

    >>> bits_of("u32"), bits_of("bf16x2"), bits_of("pred")
    (32, 32, 1)
    """
    if type_ in WIDTHS:
        return WIDTHS[type_]
    digits = re.search(r"\d+$", type_)
    if digits is None:
        raise Error(f"unknown PTX type '.{type_}'", kind="unknown name")
    return count_of(digits[0])


def count_of(text: str) -> int:
    """The number in a modifier or type: 4 of v4.

    Raises:
        Error: it is none.
    """
    return whole(text[:40], "a number of PTX")


def is_braced(operand: Operand) -> TypeGuard[tuple[Operand, ...]]:
    """Whether an operand is a list in braces, or in parentheses."""
    return type(operand) is tuple
