"""Tokens of assembly: words, numbers, marks; the operands and modifiers that they are grouped into; expressions.

Numbers are decimal, 0x, 0b, or octal with a leading 0, up to 64 bits; expressions are LLVM's.
"""

from __future__ import annotations

import re
from math import inf

from ..base.checks import literal, number, real
from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["TokenStream", "floating", "integer", "pieces", "plain"]

_TOKENS = re.compile(
    r"""\s*(?:
      (?P<float>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+
               |(?:0|[1-9]\d*)\.\d*(?:[eE][+-]?\d*)?|\.\d+(?:[eE][+-]?\d*)?|[1-9]\d*[eE][+-]?\d*)
    | (?P<int>(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)(?=[uU]?[lL]{0,2}(?![\w.])))[uUlL]*
    | (?P<word>[A-Za-z_.$@][\w.$@]*)
    | (?P<string>"[^"]*")
    | (?P<mark><<|>>|<=|>=|<>|==|!=|&&|\|\||[\[\]:,+\-*/%()|&^~!<>])
    )""",
    re.VERBOSE | re.ASCII,
)
_PLAIN = re.compile(r"(?:[A-Za-z_]\w*(?:\[(?:0|[1-9]\d*)(?::(?:0|[1-9]\d*))?\])?(?:, ?(?=\w)|$))+", re.ASCII)
_FLOAT = re.compile(
    r"-?(?:0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+"
    r"|(?:(?:0|[1-9]\d*)\.\d*|\.\d+)(?:[eE][+-]?\d*)?|[1-9]\d*[eE][+-]?\d*)",
    re.ASCII,
)
# After one of these `-` begins another operand; after a number or a symbol it is a difference.
_REGISTER = re.compile(
    r"(?:v|a|acc|s|ttmp)\d+(?:\.[lh])?|(?:vcc|exec|flat_scratch|xnack_mask)(?:_lo|_hi)?|m0|null|off|scc|src_\w+",
    re.ASCII,
)
_FILES = ("v", "a", "acc", "s", "ttmp")

# Expressions are LLVM's: 64-bit two's complement, GNU's precedences, comparisons that give -1 for true, >> logical.
_WORD = (1 << 64) - 1
_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (1, lambda a, b: int(bool(a or b))),
    "&&": (2, lambda a, b: int(bool(a and b))),
    "==": (3, lambda a, b: -(a == b)),
    "!=": (3, lambda a, b: -(a != b)),
    "<>": (3, lambda a, b: -(a != b)),
    "<": (3, lambda a, b: -(a < b)),
    "<=": (3, lambda a, b: -(a <= b)),
    ">": (3, lambda a, b: -(a > b)),
    ">=": (3, lambda a, b: -(a >= b)),
    "+": (4, lambda a, b: a + b),
    "-": (4, lambda a, b: a - b),
    "|": (5, lambda a, b: a | b),
    "^": (5, lambda a, b: a ^ b),
    "&": (5, lambda a, b: a & b),
    "*": (6, lambda a, b: a * b),
    "/": (6, lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    "%": (6, lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1)),
    "<<": (6, lambda a, b: a << b),
    ">>": (6, lambda a, b: (a & _WORD) >> b),
}
_UNARY: dict[str, Callable[[int], int]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "~": lambda a: ~a,
    "!": lambda a: int(not a),
}
_REGISTERS = {str(value): value for value in range(256)}  # what nearly all numbers are
_LEVELS = 6
_DEEPEST = 50  # parentheses and signs within one another; Python itself stops at some hundred


def integer(text: str, symbols: Mapping[str, int] = {}) -> int:
    """The value of an integer expression.

    Raises:
        Error: it is none, or has a symbol of unknown value.

    >>> integer("2 * (x + 1) & 0xff", {"x": 3})
    8
    """
    if (small := _REGISTERS.get(text)) is not None:
        return small
    if text[:1] != "0" and (plain := number(text)) is not None:
        return plain
    tokens = TokenStream(text, symbols)
    value = tokens.integer(f"'{text[:40]}'")
    if tokens.peek()[0] != "end":
        raise Error(f"'{text[:40]}' is not one number: cannot read '{tokens.peek()[1]}' in it")
    return value


def _tokens(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The tokens of a statement with their kinds (float, int, word, string or mark), each with the blanks before it."""
    at, text = 0, text.rstrip()
    while at < len(text):
        token = _TOKENS.match(text, at)
        if token is None or token.lastgroup is None:
            raise Error(f"cannot read '{text[at:].strip()[:40]}' in '{text[:80]}'")
        yield token.lastgroup, token
        at = token.end()


def pieces(text: str) -> list[str]:
    """The operands and modifiers of a statement, one after another, each without blanks.

    LLVM takes a comma after each, and none. A sign after a register begins another operand.

    Raises:
        Error: a character begins no token, or a comma has nothing before it.

    >>> pieces("v0, -v[ 1 : 2 ] |v3| 1 - 1, s0 -1 neg_lo : [1, 0]")
    ['v0', '-v[1:2]', '|v3|', '1-1', 's0', '-1', 'neg_lo:[1,0]']
    """
    if found := plain(text):
        return found
    current = before = kind_before = ""
    depth = 0
    for kind, token in _tokens(text):
        start = token.start(kind)
        word, spaced = text[start : token.end()], start > token.start()
        if not depth and word == ",":
            if not current:
                raise Error(f"'{text[:80]}' has a comma with nothing before it")
            found.append(current)
            current = ""
            continue
        if current and not depth and _begins(kind, word, spaced, (kind_before, before), current):
            found.append(current)
            current = ""
        apart = spaced and kind not in ("mark", "string") and current[-1:].isalnum()
        current += f" {word}" if apart else word
        depth += (word in "([") - (word in ")]") if kind == "mark" else 0
        kind_before, before = kind, word
    return [*found, current] if current else found


def plain(text: str) -> list[str]:
    """The operands of a statement that has only names and registers, with commas between them, as nearly all have; none
    of another.

    >>> plain("v[0:3], vcc,s1"), plain("v0, -v1"), plain("v0, v1 glc")
    (['v[0:3]', 'vcc', 's1'], [], [])
    """
    return text.replace(", ", ",").split(",") if _PLAIN.fullmatch(text) else []


def _begins(kind: str, word: str, spaced: bool, last: tuple[str, str], current: str) -> bool:
    """Whether a token begins another operand or modifier than that which the last token belongs to."""
    before = last[1]
    if last[0] == "mark" and before not in ("]", ")") and (before != "|" or current.count("|") % 2):
        return False  # an operator, or within an absolute value
    if kind != "mark":
        return spaced or (before == "]" and word[0] != ".")
    register = before in ("]", "|") or (last[0] == "word" and _REGISTER.fullmatch(before) is not None)
    if word == "[":
        return before not in _FILES if spaced else before == "]"
    if word == "(":
        return spaced and last[0] != "word"
    if word == "|" and current.count("|") % 2:
        return False
    return register if word in ("-", "|") else word in ("~", "!") and spaced


def floating(text: str) -> float | None:
    """The value of a floating-point number as LLVM takes it (1.0e is 1.0), infinite if it is too large; None of
    another text.

    >>> floating("-4.e"), floating("0x1p3"), floating("8")
    (-4.0, 8.0, None)
    """
    if not _FLOAT.fullmatch(text):
        return None
    value = _float(text.lstrip("-"))
    return -value if text[0] == "-" else value


def _signed(value: int) -> int:
    """A value as 64 bits hold it."""
    return (value + (1 << 63) & _WORD) - (1 << 63)


def _number(text: str, where: str) -> int:
    """The value of an integer token: decimal, 0x, 0b, or octal with a leading 0."""
    value = literal(text)
    if value is None:
        raise Error(f"{where}: {text if len(text) < 70 else f'{text[:20]}...'} does not fit in 64 bits")
    return _signed(value)


def _float(text: str) -> float:
    """The value of a floating-point token; infinite if it is too large."""
    if not text.lower().startswith("0x"):
        return real(text.rstrip("eE+-")) or 0.0  # LLVM takes 1.0e for 1.0
    try:
        return float.fromhex(text)
    except OverflowError:
        return inf


class TokenStream:
    """One statement, read token by token. `symbols` are the values of words in expressions.

    Raises:
        Error: on creation, if a character begins no token.
    """

    text: str
    symbols: Mapping[str, int]

    def __init__(self, text: str, symbols: Mapping[str, int] = {}) -> None:
        self.text, self.symbols = text, symbols
        self._tokens = [(kind, token[kind]) for kind, token in _tokens(text)]
        self._at = 0
        self._depth = 0

    # --- tokens ---

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        """The next token, or one after it; ("end", "") past the end."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ("end", "")

    def take(self, mark: str) -> bool:
        """Consume a mark if it is next."""
        if self.peek() != ("mark", mark):
            return False
        self._at += 1
        return True

    def expect(self, mark: str, where: str) -> None:
        """Consume a mark.

        Raises:
            Error: something else is next.
        """
        if not self.take(mark):
            raise Error(f"{where}: expected '{mark}', got '{self.peek()[1] or 'the end of the line'}'")

    def word(self) -> str:
        """The next word, consumed; empty if something else is next."""
        kind, text = self.peek()
        if kind != "word":
            return ""
        self._at += 1
        return text

    # --- numbers ---

    def integer(self, where: str) -> int:
        """An integer or an expression of integers, as 64 bits hold it.

        Raises:
            Error: there is none, or it has no value.
        """
        kind, text = self.peek()
        if kind == "int" and self.peek(1)[1] not in _BINARY:
            self._at += 1
            return _number(text, where)
        self._depth = 0
        return self._binary(where, 1)

    def _binary(self, where: str, level: int) -> int:
        if level > _LEVELS:
            return self._unary(where)
        value = self._binary(where, level + 1)
        while self.peek()[0] == "mark" and _BINARY.get(self.peek()[1], (0,))[0] == level:
            mark = self.peek()[1]
            self._at += 1
            other = self._binary(where, level + 1)
            if mark in "/%" and not other:
                raise Error(f"{where}: division by zero")
            if mark in ("<<", ">>") and not 0 <= other < 64:
                raise Error(f"{where}: cannot shift by {other}; a shift is by 0 to 63")
            value = _signed(_BINARY[mark][1](value, other))
        return value

    def _unary(self, where: str) -> int:
        kind, text = self.peek()
        self._at += 1
        if kind == "mark" and (text in _UNARY or text == "("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise Error(f"{where}: the expression has more than {_DEEPEST} signs and parentheses in one another")
            if text in _UNARY:
                value = _signed(_UNARY[text](self._unary(where)))
            else:
                value = self._binary(where, 1)
                self.expect(")", where)
            self._depth -= 1
            return value
        if kind == "word" and text in self.symbols:
            return self.symbols[text]
        if kind != "int":
            raise Error(f"{where}: expected a number, got '{text or 'the end of the line'}'")
        return _number(text, where)
