"""Tokens of assembly: words, numbers, marks; and what is built of them: expressions, registers, constants.

Numbers are decimal, 0x, 0b, or octal with a leading 0, up to 64 bits; expressions are LLVM's. Registers are v5, v[4:7]
or [v4, v5, v6, v7], with a or acc for AccVGPRs.
"""

from __future__ import annotations

import re
from math import inf

from ..base.errors import Error
from ..base.numerals import literal, number, real, whole
from .operands import Constant, Symbol
from .registers import FILES, RegisterRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["TokenStream", "integer"]

_TOKENS = re.compile(
    r"""\s*(?:
      (?P<float>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+
               |(?:0|[1-9]\d*)\.\d*(?:[eE][+-]?\d*)?|\.\d+(?:[eE][+-]?\d*)?|[1-9]\d*[eE][+-]?\d*)
    | (?P<int>(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)(?=[uU]?[lL]{0,2}(?![\w.])))[uUlL]*
    | (?P<word>[A-Za-z_.$@][\w.$@]*)
    | (?P<mark><<|>>|<=|>=|<>|==|!=|&&|\|\||[\[\]:,+\-*/%()|&^~!<>])
    )""",
    re.VERBOSE | re.ASCII,
)
_REGISTER = re.compile(r"(v|acc|a|s|ttmp)(\d{1,9})", re.ASCII)
# Where a register may begin, and where its tuple may end: of CDNA5's 1024 VGPRs an encoding names the first 256.
_FIRSTS = {"v": 256, "a": 256, "s": 106, "ttmp": 16}
_ENDS = {**_FIRSTS, "v": 1024}

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
_LEVELS = 6
_DEEPEST = 50  # parentheses and signs within one another; Python itself stops at some hundred


def integer(text: str, symbols: Mapping[str, int] = {}) -> int:
    """The value of an integer expression.

    Raises:
        Error: it is none, or has a symbol of unknown value.

    >>> integer("2 * (x + 1) & 0xff", {"x": 3})
    8
    """
    if text[:1] != "0" and (plain := number(text)) is not None:
        return plain
    tokens = TokenStream(text, symbols)
    value = tokens.integer(f"'{text[:40]}'")
    if tokens.peek()[0] != "end":
        raise Error(f"'{text[:40]}' is not one number: cannot read '{tokens.peek()[1]}' in it")
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    """The tokens of a statement: (kind, text), kind being float, int, word or mark."""
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        token = _TOKENS.match(text, at)
        if token is None or token.lastgroup is None:
            raise Error(f"cannot read '{text[at:].strip()[:40]}' in '{text[:80]}'")
        tokens.append((token.lastgroup, token[token.lastgroup]))
        at = token.end()
    return tokens


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
        self._tokens = _tokens(text)
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

    # --- operands ---

    def operand(self, where: str) -> RegisterRange | Constant | Symbol:
        """The next operand.

        Raises:
            Error: there is none, or it is malformed.
        """
        kind, text = self.peek()
        if kind == "mark" and text == "[":
            return self._listed(where)
        if kind == "word" and text not in self.symbols:
            return self._named(where)
        negative = kind == "mark" and text == "-" and self.peek(1)[0] == "float"
        if kind == "float" or negative:
            number = self.peek(negative)[1]
            self._at += 1 + negative
            value = _float(number)
            return Constant(-value if negative else value, "-" * negative + number)
        if kind == "end":
            raise Error(f"{where} is missing")
        if text == "|" or (kind == "mark" and text in "-+" and self._signed_register()):
            raise Error(f"{where}: '{text}' before a register; matrix operands are negated with neg, neg_lo or neg_hi")
        start = self._at
        value = self.integer(where)
        return Constant(value, "".join(text for _, text in self._tokens[start : self._at]))

    def _signed_register(self) -> bool:
        kind, text = self.peek(1)
        return kind == "word" and text not in self.symbols

    def _named(self, where: str) -> RegisterRange | Symbol:
        text = self.word()
        if match := _REGISTER.fullmatch(text):
            register = whole(match[2], f"{where}: a register")
            return _range(FILES[match[1]], register, register, where)
        bracketed = self.peek() == ("mark", "[")
        if text.lower() != text and (_REGISTER.fullmatch(text.lower()) or (text.lower() in FILES and bracketed)):
            meant = text.lower() + self._bracketed()
            raise Error(f"{where}: registers are written in lower case: {meant}; got {text}{meant[len(text) :]}")
        if text not in FILES or not bracketed:
            return Symbol(text)
        self.expect("[", where)
        first = last = self.integer(where)
        if self.take(":"):
            last = self.integer(where)
        self.expect("]", where)
        return _range(FILES[text], first, last, where)

    def _bracketed(self) -> str:
        """The brackets that come next, with what is in them; "" if none do."""
        rest = [text for _, text in self._tokens[self._at :]]
        return "".join(rest[: rest.index("]") + 1]) if rest[:1] == ["["] and "]" in rest else ""

    def _listed(self, where: str) -> RegisterRange:
        """A list of single registers that follow one another."""
        listed: list[object] = []
        while self.take("," if listed else "["):
            if self.peek() == ("mark", "["):
                raise Error(f"{where}: a list of registers has no list in it")
            listed.append(self.operand(where))
        self.expect("]", where)
        registers = [one for one in listed if isinstance(one, RegisterRange) and one.count == 1]
        first = registers[0] if registers else None
        wanted = [RegisterRange(first.file, first.first + i, 1) for i in range(len(listed))] if first else []
        if registers != wanted or len(registers) != len(listed):
            raise Error(f"{where}: [{', '.join(map(str, listed))}] is not a list of single registers in a row")
        return RegisterRange(registers[0].file, registers[0].first, len(registers))


def _range(file: str, first: int, last: int, where: str) -> RegisterRange:
    registers = RegisterRange(file, first, last - first + 1)
    if last < first:
        raise Error(f"{where}: {file}[{first}:{last}] ends before it begins")
    if not 0 <= first < _FIRSTS[file] or last >= _ENDS[file]:
        raise Error(f"{where}: {registers} is beyond the last register, {file}{_FIRSTS[file] - 1}")
    return registers
