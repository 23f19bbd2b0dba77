"""A light reader of AMD assembly text: statements with their mnemonic, operands and modifiers, and labels.

It understands what LLVM and AMD's own kernels write: labels, comments of every style (`;`, `//`, `#`, `/* */`),
directives, `.set` symbols inside register brackets, macro definitions (passed over) and llvm-objdump's addresses.
It knows no instruction: what a statement does to registers is `mmacalc.isa.access`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import namedtuple

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Listing", "Span", "Statement", "parse", "read_line", "read_listing", "spans"]


class Span(namedtuple("Span", "file first count")):
    """Consecutive 32-bit registers of one file: `v` (architected VGPRs) or `a` (accumulation VGPRs)."""

    __slots__ = ()
    file: str
    first: int
    count: int

    def overlaps(self, other: Span) -> bool:
        """Whether the two have a register in common."""
        apart = self.first + self.count <= other.first or other.first + other.count <= self.first
        return self.file == other.file and not apart

    def __str__(self) -> str:
        last = self.first + self.count - 1
        return f"{self.file}{self.first}" if self.count == 1 else f"{self.file}[{self.first}:{last}]"


class Statement(namedtuple("Statement", "mnemonic operands modifiers number text")):
    """One instruction: lower-case mnemonic, operand texts, {modifier: value}, line number from 1, and its text."""

    __slots__ = ()
    mnemonic: str
    operands: tuple[str, ...]
    modifiers: dict[str, str]
    number: int
    text: str


class Listing(namedtuple("Listing", "statements labels addresses symbols")):
    """A listing: its statements; label -> the statements that it stands before, in order of appearance;
    address -> statement where the listing has addresses; and the `.set` symbols."""

    __slots__ = ()
    statements: tuple[Statement, ...]
    labels: dict[str, tuple[int, ...]]
    addresses: dict[int, int]
    symbols: dict[str, int]


# gfx1250 prints the true number of a register above 255 as a comment: `v0 /*v256*/`.
_TRUE_NAME = re.compile(r"\bv(?:\d+|\[\d+:\d+\])\s*/\*\s*(v(?:\d+|\[\d+:\d+\]))\s*\*/")
_ADDRESS = re.compile(r"//\s*([0-9A-Fa-f]{8,16}):")
_COMMENT = re.compile(r"/\*.*?\*/|//.*|;.*|^\s*#.*", re.DOTALL)
_LABEL = re.compile(r"\s*(?:[0-9A-Fa-f]+\s+<([^>]+)>|([\w.$@]+))\s*:(?!:)")
_SYMBOL = re.compile(r"\s*(?:\.(?:set|equ|equiv)\s+([\w.$]+)\s*,|([\w.$]+)\s*=(?!=))\s*(.+)")
_REGISTER = re.compile(r"(?<![\w.$@])(v|a|acc)(?:(\d+)(?![\w@])|\[([^\]]*)\])", re.IGNORECASE)
_RANGE = re.compile(r"\b(?:v|a|acc|s)\[[^\]]*\]")
_MODIFIER = re.compile(r"\b(\w+):(\[[^\]]*\]|[^\s,\[]+)")
_BLOCKS = {".macro": (".endm", ".endmacro"), ".amdgpu_metadata": (".end_amdgpu_metadata",)}
_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip


def read_line(text: str) -> Statement:
    """The one statement of a line of assembly.

    Raises:
        Error: the line has no instruction, or more than one line was given.

    >>> read_line("v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[0:3] cbsz:1 ; comment").operands
    ('v[0:3]', 'v4', 'v5', 'v[0:3]')
    """
    statements = read_listing(text).statements
    if len(statements) != 1:
        what = f"{len(statements)} instructions" if statements else "no instruction"
        raise Error(f"one line of assembly is needed, such as 'v_mov_b32 v0, v1'; '{text.strip()[:60]}' has {what}")
    return statements[0]


def read_listing(text: str) -> Listing:
    """Read a whole listing. Nothing in it is refused: what is no statement is passed over."""
    statements: list[Statement] = []
    labels: dict[str, list[int]] = {}
    addresses: dict[int, int] = {}
    symbols: dict[str, int] = {}
    for number, line in _lines(text):
        address = _ADDRESS.search(line)
        rest = _COMMENT.sub(" ", line)
        while label := _LABEL.match(rest):
            labels.setdefault(label[1] or label[2], []).append(len(statements))
            rest = rest[label.end() :]
        if symbol := _SYMBOL.match(rest):
            value = _value(symbol[3], symbols)
            if value is not None:
                symbols[symbol[1] or symbol[2]] = value
        elif (rest := rest.strip()) and rest[0] not in ".<-":
            if address:
                addresses[int(address[1], 16)] = len(statements)
            statements.append(parse(rest, number))
    return Listing(tuple(statements), {name: tuple(at) for name, at in labels.items()}, addresses, symbols)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines without block comments and without the blocks that hold no instructions to run."""
    text = _TRUE_NAME.sub(r"\1", text)
    # A block comment becomes its newlines, so that the numbers stay right. One that a line comment opens is no block.
    pattern = re.compile(r"(//[^\n]*|;[^\n]*)|/\*.*?\*/", re.DOTALL)
    text = pattern.sub(lambda found: found[1] or " " + "\n" * found[0].count("\n"), text)
    ends: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        first = line.split(maxsplit=1)[:1]
        word = first[0].lower() if first else ""
        if ends:
            ends = () if word in ends else ends
        elif word in _BLOCKS:
            ends = _BLOCKS[word]
        elif word:
            yield number, line


def parse(text: str, number: int = 1) -> Statement:
    """One statement without label or comment."""
    mnemonic, rest = (*text.split(None, 1), "")[:2]
    modifiers = {name.lower(): value for name, value in _MODIFIER.findall(_RANGE.sub("", rest))}
    operands: list[str] = []
    for part in _split(rest):
        tight = re.sub(r"\s+(?=[^\[]*\])", "", part)  # `v[0 : 3]` is one word
        words = tight.split()
        if words and not (operands and re.match(r"\w+:", words[0])):
            operands.append(words[0])
        for flag in words[1:]:
            if ":" not in flag:
                modifiers[flag.lower()] = ""
    return Statement(mnemonic.lower(), tuple(operands), modifiers, number, text)


def _split(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def spans(operand: str, symbols: Mapping[str, int] = {}) -> tuple[Span, ...]:
    """The vector registers that an operand names; empty for constants, SGPRs and symbols.

    >>> [str(span) for span in spans("neg(v[4:7])")]
    ['v[4:7]']
    """
    found = []
    for file, number, bracket in _REGISTER.findall(operand):
        name = "v" if file.lower() == "v" else "a"
        if number:
            found.append(Span(name, int(number), 1))
        else:
            found.extend(_bracketed(name, bracket, symbols))
    return tuple(found)


def _bracketed(file: str, text: str, symbols: Mapping[str, int]) -> Iterator[Span]:
    """`v[4:7]` is four registers; `v[4]`, one; `v[4,5]` or `v[4:5, 8]`, a list."""
    for part in text.split(","):
        ends = [_value(end, symbols) for end in part.split(":")]
        first, last = ends[0], ends[-1]
        if first is not None and last is not None and 0 <= first <= last and len(ends) <= 2:
            yield Span(file, first, last - first + 1)


def _value(text: str, symbols: Mapping[str, int]) -> int | None:
    """The value of an integer expression; None where it has a symbol that the listing does not set."""
    text = text.strip()
    if text.isdigit():
        return int(text)
    try:
        return _evaluate(ast.parse(text, mode="eval").body, symbols)
    except (SyntaxError, KeyError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _evaluate(node: ast.expr, symbols: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return symbols[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, symbols)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        value: int = _OPERATORS[type(node.op)](_evaluate(node.left, symbols), _evaluate(node.right, symbols))
        return value
    raise ValueError(ast.dump(node))
