"""C, C++ and LLVM IR read as far as a call needs it: comments, strings, the calls of builtins, integer constants.

One pass over tokens, in time linear in the text: brackets nest, `->`, `>>` and `<` are operators, a call that is not
closed has no arguments. Whether `f<a, b>(c)` is a template or two comparisons C++ decides by what f is, which a line
does not say; the number of arguments that the builtin takes decides here (`Call.arguments_for`).

Source of the tokens and constants: ISO C11, 6.4; C++17, [lex]; LLVM Language Reference, "Lexical Structure".
"""

from __future__ import annotations

import re
from itertools import accumulate

from ..base.checks import literal, number
from ..base.errors import Error
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Call", "calls", "constant", "strings", "without_comments"]

LONGEST = 400  # characters of an argument that are kept: nested calls would else take quadratic memory
_STRING = r'R"(?P<end>[^()\\\s"]{0,16})\(.*?(?:\)(?P=end)"|\Z)|"(?:[^"\\\n]|\\.)*"?|(?<!\w)\'(?:[^\'\\\n]|\\.)*\'?'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(
    rf"(?P<name>__[a-z]\w*|llvm\.[\w.]+)|(?P<string>{_STRING})|(?P<word>\w+(?:'\w+)*)"
    r"|->|<<|<=|>=|==|!=|&&|\|\||::|\n|\S",
    re.DOTALL,
)
_NOT_CALLED = re.compile(r"[ \t]*(?:declare\b|;|#)")  # LLVM's declarations and comments, the preprocessor's tests
_NOT_IN_TEMPLATE = ("?", "&&", "||", "=", "==", "!=")
_AFTER_TEMPLATE = re.compile(r"\s*[({:)>,.;*&\]]")
_CLOSING = {")": "(", "]": "[", "}": "{"}


class Call(TupleRecord):
    """A call: the line of its name, from 1, the name, its text, and its arguments (none where only the name is there),
    each reading of them that C++ allows, the likeliest first."""

    number: int
    name: str
    text: str
    readings: tuple[tuple[str, ...], ...]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The likeliest arguments."""
        return self.readings[0]

    def arguments_for(self, count: int) -> tuple[str, ...]:
        """The arguments, in the reading that has `count` of them; the likeliest if none has."""
        return next((one for one in self.readings if len(one) == count), self.readings[0])


def without_comments(text: str) -> str:
    """C++ with its comments as blanks, so that lines keep their numbers."""
    return _COMMENT.sub(lambda found: found[1] or " " + "\n" * found[0].count("\n"), text)


def strings(text: str) -> Iterator[tuple[int, str]]:
    """The contents of the strings of C++ without comments, each with the number of the line where it begins.

    >>> list(strings('asm("s_nop 1\\\\n"\\n R"(v_mov)");'))
    [(1, 's_nop 1\\\\n'), (2, 'v_mov')]
    """
    number, at = 1, 0
    for found in re.finditer(_STRING, text, re.DOTALL):
        number, at = number + text.count("\n", at, found.start()), found.start()
        if found[0].startswith("R"):
            yield number, found[0].partition("(")[2].rpartition(")")[0]
        elif found[0].startswith('"') and found[0].endswith('"'):
            yield number, found[0][1:-1]


class _Open:
    """A bracket that is open; of a call that is looked for, where its arguments are."""

    __slots__ = ("angles", "bracket", "commas", "name", "number", "start", "templates")

    def __init__(self, bracket: str, start: int, name: re.Match[str] | None, number: int) -> None:
        self.bracket, self.start, self.name, self.number = bracket, start, name, number
        self.commas: list[int] = []
        self.angles: list[tuple[int, bool]] = []  # of each < how many commas were before it, and whether a blank was
        self.templates: list[tuple[int, int, bool]] = []  # the commas between < and >: from, to, and whether loose

    def take(self, text: str, at: int, word: str, after_word: bool) -> None:
        """Note a token that is directly in the call."""
        if word == ",":
            self.commas.append(at)
        elif word == "<" and after_word:
            self.angles.append((len(self.commas), text[at - 1].isspace()))
        elif word == ">" and self.angles:
            first, loose = self.angles.pop()
            if _AFTER_TEMPLATE.match(text, at + 1):
                self.templates.append((first, len(self.commas), loose))
        elif word in _NOT_IN_TEMPLATE:
            self.angles.clear()

    def readings(self, text: str, end: int) -> tuple[tuple[str, ...], ...]:
        """The arguments: with f<a, b> as a template, with f < a, b > as well, and without templates."""
        found: dict[tuple[str, ...], None] = {}
        for kinds in ((False,), (False, True), ()):
            depths = [0] * (len(self.commas) + 1)
            for first, last, loose in self.templates:
                if loose in kinds:
                    depths[first] += 1
                    depths[last] -= 1
            cuts = [at for at, depth in zip(self.commas, accumulate(depths)) if not depth]
            words = [_shown(text, first + 1, last) for first, last in zip([self.start, *cuts], [*cuts, end])]
            found[tuple([word for word in words if word])] = None
        return tuple(found)


def calls(text: str, wanted: Callable[[str], object]) -> list[Call]:
    """The calls of functions in C++ or LLVM IR, in the order of their names.

    Args:
        text: the source. wanted: whether a name (that begins with two underscores, or with llvm.) is looked for.

    >>> [one] = calls("d = __builtin_f(p->a[i >> 1], f<2, 1>(b), c < d ? 1 : 0); /* */", lambda name: True)
    >>> one.arguments
    ('p->a[i >> 1]', 'f<2, 1>(b)', 'c < d ? 1 : 0')
    """
    plain = without_comments(text)
    found: dict[int, Call] = {}
    opened: list[_Open] = []
    name: re.Match[str] | None = None
    number, line, skipped, after_word = 1, 0, False, False
    for token in _TOKEN.finditer(plain):
        word = token[0]
        if word == "\n":
            number, line, skipped = number + 1, token.end(), False
            continue
        if word in "([{":
            opened.append(_Open(word, token.start(), name if word == "(" else None, number))
        elif word in _CLOSING or word == ";":
            for one in _closed(opened, word):
                if one.name is not None:
                    shown = _shown(plain, one.name.start(), token.end())
                    call = Call(found[one.name.start()].number, one.name[0], shown, one.readings(plain, token.start()))
                    found[one.name.start()] = call
        elif opened and opened[-1].name is not None:
            opened[-1].take(plain, token.start(), word, after_word)
        name, after_word = None, token["word"] is not None or token["name"] is not None
        if token["string"] is not None:
            number += word.count("\n")
        elif token["name"] is not None and wanted(word):
            skipped = skipped or bool(_NOT_CALLED.match(plain, line))
            if not skipped:
                name, found[token.start()] = token, Call(number, word, word, ((),))
    return [found[start] for start in sorted(found)]


def _closed(opened: list[_Open], word: str) -> Iterator[_Open]:
    """Take what a closing bracket closes from the stack; give it if it was the last that was opened. At the end of a
    statement what is open since its beginning is not a call."""
    while opened:
        if word == ";":
            if opened[-1].bracket == "{":
                return
            opened.pop()
        elif opened[-1].bracket == _CLOSING[word]:
            yield opened.pop()
            return
        elif opened[-1].bracket == "{":
            return
        else:
            opened.pop()


def _shown(text: str, first: int, last: int) -> str:
    """A part of a text with single blanks; of a long one the beginning."""
    part = text[first : min(last, first + LONGEST)]
    return " ".join(part.split()) + (" ..." if last - first > LONGEST else "")


# --- constants --------------------------------------------------------------------------------------------------------

_INTEGER_TYPE = r"(?:(?:const|unsigned|signed|int|long|u?int(?:32|64)_t|size_t)\s*)+"
_CAST = re.compile(rf"\(\s*{_INTEGER_TYPE}\)|static_cast\s*<\s*{_INTEGER_TYPE}>|(?<!\w){_INTEGER_TYPE}(?=\()")
_PART = re.compile(r"\d[\w']*|\w+|<<|>>|\S")
_OPERATIONS: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "*": (6, lambda x, y: x * y),
    "+": (5, lambda x, y: x + y), "-": (5, lambda x, y: x - y),
    "<<": (4, lambda x, y: x << max(0, min(y, 64))), ">>": (4, lambda x, y: x >> max(0, min(y, 64))),
    "&": (3, lambda x, y: x & y), "^": (2, lambda x, y: x ^ y), "|": (1, lambda x, y: x | y),
}  # fmt: skip
_SIGNS: dict[str, Callable[[int], int]] = {
    "-": lambda x: -x, "+": lambda x: x, "~": lambda x: ~x, "!": lambda x: int(not x)
}  # fmt: skip
_UNARY = 7


def constant(text: str, llvm: bool = False) -> int | None:
    """The value of an integer constant of C++ (1u, 0xe, 01, true, (1 << 2) | 1) or, if llvm, of LLVM IR (i32 1); None
    where it is another expression, whose value the text does not say.

    Raises:
        Error: a number that C does not have, such as 08, or one of more than 64 bits.

    >>> constant("0xe"), constant("010"), constant("(int)2u"), constant("1 << 2 | 1"), constant("i1 true", llvm=True)
    (14, 8, 2, 5, 1)
    >>> constant("CBSZ"), constant("i32 010", llvm=True)
    (None, 10)
    """
    if llvm:
        word = (text.split() or [""])[-1]
        if not re.fullmatch(r"-?\d+", word, re.ASCII):
            return {"true": 1, "false": 0}.get(word)
        value = number(word, (1 << 64) - 1, -(1 << 63))
        if value is None:
            raise Error(f"'{word}' is not an integer of up to 64 bits")
        return value
    values: list[int] = []
    waiting: list[tuple[int, str]] = []  # operators with their ranks; 0 is an open parenthesis
    operand = True  # whether one comes next
    for part in _PART.findall(_CAST.sub(" ", text)):
        if operand and (part == "(" or part in _SIGNS):
            waiting.append((0 if part == "(" else _UNARY, part))
        elif operand:
            if (value := _literal(part)) is None:
                return None
            values.append(value)
            operand = False
        elif part == ")":
            _compute(values, waiting, 1)
            if not waiting:
                return None
            waiting.pop()
        elif part in _OPERATIONS:
            rank = _OPERATIONS[part][0]
            _compute(values, waiting, rank)
            waiting.append((rank, part))
            operand = True
        else:
            return None
    if operand:
        return None
    _compute(values, waiting, 1)
    return None if waiting else values[0]


def _compute(values: list[int], waiting: list[tuple[int, str]], rank: int) -> None:
    """Do the operations of at least a rank that wait."""
    while waiting and waiting[-1][0] >= rank:
        kind, sign = waiting.pop()
        last = values.pop()
        result = _SIGNS[sign](last) if kind == _UNARY else _OPERATIONS[sign][1](values.pop(), last)
        values.append(_bounded(result))


def _literal(word: str) -> int | None:
    """The value of an integer literal or of true and false; None where it is another word."""
    if word in ("true", "false"):
        return int(word == "true")
    if (value := literal(word)) is None and word[:1].isdigit():
        if re.fullmatch(r"0[\d']*[89][\d']*[uUlLzZ]*", word):
            raise Error(f"'{word}' is not a number of C: one that begins with 0 is octal, with the digits 0 to 7")
        raise Error(f"'{word}' is not an integer of C of up to 64 bits")
    return value


def _bounded(value: int) -> int:
    if not -(1 << 64) < value < 1 << 64:
        raise Error("a constant has more than 64 bits")
    return value
