"""Macros, repetitions and conditions of an assembly text, as LLVM's assembler expands them.

.macro and .endm, .purgem, .exitm; .rept, .irp, .irpc and .endr; .if and its relatives, .else, .endif. In a macro
`\\name` is an argument, `\\@` the number of expansions so far, `\\()` nothing. Conditions and counts are evaluated
where they stand, with the symbols that are set then. Source: LLVM 22.1.8, AsmParser.cpp, with which tests compare it.
"""

from __future__ import annotations

import re

from ..base.errors import Error
from ..base.records import TupleRecord
from .tokens import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["Expander"]

DEEPEST = 20
"""Macros within one another (LLVM's asm-macro-max-nesting-depth)."""
MOST = 1_000_000
"""Lines of a text after expansion."""

_COMMENT = re.compile(r"//.*|;.*|^\s*#.*")
_PARAMETER = re.compile(r"([\w.$]+)\s*(?::\s*(req|vararg))?\s*(?:=\s*(\"[^\"]*\"|[^,\s]*))?\s*,?\s*")
_USE = re.compile(r"\\(\(\)|@|[\w.$]+)")
_OPERATOR = re.compile(r"\s*(&&|\|\||<<|>>|[-+*/%&|^~<>=!])\s*")
_GROUPS = re.compile(r"\"[^\"]*\"|\((?:[^()]|\([^()]*\))*\)|[^\s\"(]+")
_REPEATS = (".rept", ".rep", ".irp", ".irpc")
_COMPARED: dict[str, Callable[[int], bool]] = {
    ".if": lambda value: value != 0, ".ifne": lambda value: value != 0, ".ifeq": lambda value: value == 0,
    ".ifgt": lambda value: value > 0, ".ifge": lambda value: value >= 0, ".iflt": lambda value: value < 0,
    ".ifle": lambda value: value <= 0,
}  # fmt: skip
_CONDITIONS = (*_COMPARED, ".ifdef", ".ifndef", ".ifnotdef", ".ifb", ".ifnb", ".ifc", ".ifnc", ".ifeqs", ".ifnes")

Line = tuple[int, str]


class _Parameter(TupleRecord):
    """A parameter of a macro; kind: "", "req" (an argument is needed) or "vararg" (it takes all that are left)."""

    name: str
    kind: str
    default: str


class _Macro(TupleRecord):
    """A macro: its parameters and the lines of its body."""

    parameters: tuple[_Parameter, ...]
    body: tuple[Line, ...]


class Expander:
    """Expands the lines of a text while they are read.

    symbols: their values so far; defined: whether a name is a symbol or a label so far.
    """

    def __init__(self, symbols: Mapping[str, int], defined: Callable[[str], bool]) -> None:
        self._symbols, self._defined = symbols, defined
        self._macros: dict[str, _Macro] = {}
        self._stack: list[tuple[Iterator[Line], int, bool]] = []  # lines, how many conditions are open, of a macro
        self._conditions: list[tuple[bool, bool]] = []  # whether the part is read, and whether one has been
        self._count = 0

    def expanded(self, lines: Iterable[str]) -> Iterator[Line]:
        """The lines with their numbers; those of an expansion have that of the line that asks for it.

        Raises:
            Error: with the number of the line.
        """
        self._stack.append((iter(enumerate(lines, 1)), 0, False))
        total = number = 0
        while self._stack:
            found = next(self._stack[-1][0], None)
            if found is None:
                self._stack.pop()
                continue
            number, line = found
            total += 1
            try:
                if total > MOST:
                    raise Error(f"the text has more than {MOST} lines when its macros are expanded")
                if not self._directive(number, line):
                    yield number, line
            except Error as error:
                raise Error(f"line {number}: {error}") from None
        if self._conditions:
            raise Error(f"line {number}: a condition (.if) has no .endif")

    def _directive(self, number: int, line: str) -> bool:
        """Whether a line is used up here."""
        if not self._conditions and "." not in line and not self._macros:
            return False
        bare = _COMMENT.sub("", line).strip()
        name, _, rest = bare.partition(" ") if " " in bare else bare.partition("\t")
        lower, rest = name.lower(), rest.strip()
        if lower in _CONDITIONS or lower in (".elseif", ".else", ".endif"):
            self._condition(lower, rest)
            return True
        if self._conditions and not all(read for read, _ in self._conditions):
            return True
        if lower == ".macro":
            self._define(rest)
        elif lower in _REPEATS:
            self._repeat(lower, rest)
        elif lower in (".endm", ".endmacro", ".endr"):
            raise Error(f"{name} ends nothing")
        elif lower == ".purgem":
            if rest not in self._macros:
                raise Error(f".purgem: there is no macro '{rest}'")
            del self._macros[rest]
        elif lower == ".exitm":
            self._leave()
        elif name in self._macros:
            self._expand(name, number, rest)
        else:
            return False
        return True

    # --- conditions ---

    def _condition(self, name: str, rest: str) -> None:
        opened = self._conditions
        if name in _CONDITIONS:
            outer = all(read for read, _ in opened)
            value = outer and self._holds(name, rest)
            opened.append((value, value or not outer))
            return
        if not opened:
            raise Error(f"{name} has no .if before it")
        _, done = opened.pop()
        if name == ".else":
            opened.append((not done, True))
        elif name == ".elseif":
            value = not done and self._holds(".if", rest)
            opened.append((value, done or value))

    def _holds(self, name: str, rest: str) -> bool:
        if name in _COMPARED:
            return _COMPARED[name](integer(rest, self._symbols))
        if name in (".ifdef", ".ifndef", ".ifnotdef"):
            return self._defined(rest) == (name == ".ifdef")
        if name in (".ifb", ".ifnb"):
            return (not rest) == (name == ".ifb")
        first, comma, second = rest.partition(",")
        if not comma:
            raise Error(f"{name} compares two texts with a comma between them; got '{rest}'")
        return (first.strip() == second.strip()) == (name in (".ifc", ".ifeqs"))

    # --- macros and repetitions ---

    def _body(self, opening: tuple[str, ...], closing: tuple[str, ...]) -> tuple[Line, ...]:
        """The lines up to what closes a definition."""
        found: list[Line] = []
        depth = 1
        for number, line in self._stack[-1][0]:
            word = (_COMMENT.sub("", line).split(None, 1) or [""])[0].lower()
            depth += (word in opening) - (word in closing)
            if not depth:
                return tuple(found)
            found.append((number, line))
        raise Error(f"{opening[0]} has no {closing[0]}")

    def _define(self, rest: str) -> None:
        name, _, parameters = rest.replace("\t", " ").partition(" ")
        name = name.rstrip(",")
        body = self._body((".macro",), (".endm", ".endmacro"))
        if not re.fullmatch(r"[A-Za-z_.$][\w.$@]*", name):
            raise Error(f".macro needs a name; got '{name}'")
        if name in self._macros:
            raise Error(f"the macro {name} is defined already")
        found, at = [], 0
        parameters = parameters.strip().lstrip(",").strip()
        while at < len(parameters):
            match = _PARAMETER.match(parameters, at)
            if match is None:
                raise Error(f"cannot read the parameters of the macro {name} at '{parameters[at:]}'")
            found.append(_Parameter(match[1], match[2] or "", _unquoted(match[3] or "")))
            at = match.end()
        self._macros[name] = _Macro(tuple(found), body)

    def _expand(self, name: str, number: int, rest: str) -> None:
        macro = self._macros[name]
        if sum(of_macro for _, _, of_macro in self._stack) >= DEEPEST:
            raise Error(f"the macro {name}: macros are within one another more than {DEEPEST} deep")
        values = {one.name: one.default for one in macro.parameters}
        given: set[str] = set()
        positions = iter(macro.parameters)
        texts = _arguments(rest)
        while texts:
            text = texts.pop(0)
            named = re.match(r"([\w.$]+)\s*=(?!=)\s*(.*)", text)
            if named and named[1] in values:
                values[named[1]] = _unquoted(named[2])
                given.add(named[1])
                continue
            one = next(positions, None)
            if one is None:
                raise Error(f"the macro {name} takes {len(macro.parameters)} arguments; got '{text}' besides")
            if one.kind == "vararg":
                text, texts = ", ".join([text, *texts]), []
            if text:
                values[one.name] = _unquoted(text)
                given.add(one.name)
        if missing := [one.name for one in macro.parameters if one.kind == "req" and one.name not in given]:
            raise Error(f"the macro {name} needs its argument {missing[0]}")
        lines = [(number, self._filled(line, values)) for _, line in macro.body]
        self._count += 1
        self._stack.append((iter(lines), len(self._conditions), True))

    def _repeat(self, name: str, rest: str) -> None:
        body = self._body(_REPEATS, (".endr",))
        if name in (".rept", ".rep"):
            count = integer(rest, self._symbols)
            if not 0 <= count * max(1, len(body)) <= MOST:
                raise Error(f"{name}: {count} times is not possible")
            self._stack.append((iter(list(body) * count), len(self._conditions), False))
            return
        parameter, _, values = rest.replace("\t", " ").partition(" ")
        parameter, _, first = parameter.partition(",")
        values = f"{first} {values}".strip().lstrip(",").strip()
        each = list(_unquoted(values)) if name == ".irpc" else _arguments(values) or [""]
        lines = [(at, self._filled(line, {parameter: _unquoted(one)})) for one in each for at, line in body]
        self._stack.append((iter(lines), len(self._conditions), False))

    def _filled(self, line: str, values: Mapping[str, str]) -> str:
        def value(use: re.Match[str]) -> str:
            if use[1] == "()":
                return ""
            return str(self._count) if use[1] == "@" else values.get(use[1], use[0])

        return _USE.sub(value, line) if "\\" in line else line

    def _leave(self) -> None:
        while self._stack:
            _, conditions, of_macro = self._stack.pop()
            del self._conditions[conditions:]
            if of_macro:
                return
        raise Error(".exitm is in no macro")


def _arguments(text: str) -> list[str]:
    """The arguments of a macro: with commas between them, or spaces where no operator stands.

    >>> _arguments("v[0:1], a + 1 b")
    ['v[0:1]', 'a+1', 'b']
    """
    found: list[str] = []
    for part in _split(text) if text else []:
        words = _GROUPS.findall(_OPERATOR.sub(lambda one: one[1], part) if '"' not in part else part)
        found += words or [""]
    return found


def _split(text: str) -> Iterator[str]:
    """The parts between commas that are in no parentheses, brackets or strings."""
    depth, start, quoted = 0, 0, False
    for at, character in enumerate(text):
        quoted ^= character == '"'
        depth += 0 if quoted else (character in "([") - (character in ")]")
        if character == "," and not depth and not quoted:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
