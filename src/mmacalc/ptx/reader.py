"""Reads a PTX module: its variables, its functions, and their statements with operands, labels and source lines.

The reader follows the grammar of the PTX ISA (sections 4 "Syntax", 5 "State Spaces, Types, and Variables", 7
"Abstracting the ABI", 11 "Directives") and knows no instruction: an opcode is its root and its modifiers.

>>> module = read('''
... .version 9.0
... .target sm_80
... .address_size 64
... .visible .entry k(.param .u64 p) {
...   .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %rd<2>;
...   ld.param.u64 %rd1, [p];
...   @!%q st.global.v2.b32 [%rd1+8], {%r1, 7};
... }
... ''')
>>> function = module.functions["k"]
>>> function.statements[1].root, function.statements[1].modifiers, function.statements[1].guard
('st', ('global', 'v2', 'b32'), Guard(register='%q', negated=True))
>>> function.statements[1].operands
(Address(base=Register(name='%rd1'), offset=8, more=()), (Register(name='%r1'), Number(value=7, kind='')))
"""

from __future__ import annotations

import operator
import re
import struct

from ..base.checks import literal, real
from ..base.errors import Error
from ..base.records import Cache
from .module import (
    Address,
    Function,
    Guard,
    Location,
    Module,
    Negated,
    Number,
    Pair,
    Register,
    Statement,
    Symbol,
    Variable,
    bits_of,
    count_of,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .module import Operand

__all__ = ["read"]

LARGEST = 1 << 32
"""Bytes of a variable."""
LONGEST = 1 << 26
"""Characters of a module that are read: a generated file of 64 MB is a mistake."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
    | (?P<line>\n)
    | (?P<word>\.?[%$_A-Za-z][\w$%]*(?:(?:\.|::)[\w$%]+)*)
    | (?P<float>0[fF][0-9A-Fa-f]{8}(?!\w)|0[dD][0-9A-Fa-f]{16}(?!\w)
        |\d*\.\d+(?:[eE][+-]?\d+)?(?!\w)|\d+\.(?:[eE][+-]?\d+)?(?!\w)|\d+[eE][+-]?\d+(?!\w))
    | (?P<int>(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|\d+)U?(?!\w))
    | (?P<text>"(?:[^"\\\n]|\\.)*")
    | (?P<mark>&&|\|\||==|!=|<=|>=|<<|>>|[@!{}()\[\];,:|<>+\-=*&~/%^?])
    """,
    re.VERBOSE | re.ASCII,
)


_known = Cache(8)
"""The modules of the texts that were read last: a Triton kernel is loaded for each of its launches."""


def read(text: str) -> Module:
    """Read a module of PTX; remembered for when the same text is read again.

    Raises:
        Error: the text is not PTX; says the line and what was expected.
    """
    if len(text) > LONGEST:
        raise Error(f"the PTX has {len(text)} characters; up to {LONGEST} are read")

    def made() -> Module:
        try:
            return _Reader(text).module()
        except RecursionError:
            raise Error("the PTX nests braces or parentheses too deeply to be read") from None

    module: Module = _known.get(text, made)
    return module


def _tokens(text: str) -> list[tuple[str, str, int, int]]:
    """(kind, text, line, place) of every token."""
    found, line, place = [], 1, 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            shown = text[place : place + 20].split("\n")[0]
            raise Error(f"line {line}: cannot read {shown!r} as PTX")
        kind, word = match.lastgroup or "", match[0]
        if kind == "line":
            line += 1
        elif kind == "space":
            line += word.count("\n")
        else:
            found.append((kind, word, line, place))
        place = match.end()
    found.append(("end", "", line, place))
    return found


def _integer(word: str) -> int:
    value = literal(word.rstrip("U"))
    if value is None:
        raise Error(f"'{word[:80]}' is not an integer of up to 64 bits")
    return value


def _float(word: str) -> Number:
    if word[:2] in ("0f", "0F"):
        return Number(_integer(f"0x{word[2:]}"), "f32")
    if word[:2] in ("0d", "0D"):
        return Number(_integer(f"0x{word[2:]}"), "f64")
    value = real(word)
    if value is None:
        raise Error(f"'{word[:80]}' is not a number")
    return Number(struct.unpack("<Q", struct.pack("<d", value))[0], "decimal")


def _aliased(aliases: Mapping[str, str], functions: Mapping[str, Function]) -> dict[str, Function]:
    """The functions of .alias by their other names."""
    for name, other in aliases.items():
        if other not in functions:
            raise Error(f"the alias {name} is of {other}, a function that the text lacks")
    return {name: functions[other]._replace(name=name) for name, other in aliases.items()}


def _wrapped(value: int) -> int:
    """Within 64 bits, signed unless it does not fit."""
    low = value & (1 << 64) - 1
    return value if -(1 << 63) <= value < 1 << 64 else low


_BINARY: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))}, {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": operator.or_}, {"^": operator.xor}, {"&": operator.and_},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {"<": lambda a, b: int(a < b), "<=": lambda a, b: int(a <= b), ">": lambda a, b: int(a > b),
     ">=": lambda a, b: int(a >= b)},
    {"<<": operator.lshift, ">>": operator.rshift}, {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1),
     "%": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1)},
)  # fmt: skip
"""Operators of constant expressions, the weakest first."""


class _Scope:
    """The registers of a function, by block: an inner block may declare a name again."""

    def __init__(self) -> None:
        self.registers: dict[str, str] = {}
        self._ranges: list[dict[str, tuple[int, str, str]]] = [{}]  # per block: prefix -> (count, type, suffix)
        self._names: list[dict[str, str]] = [{}]
        self._labels: list[dict[str, str]] = [{}]
        self._variables: list[dict[str, str]] = [{}]
        self._blocks = 0

    def open(self) -> None:
        self._blocks += 1
        self._ranges.append({})
        self._names.append({})
        self._labels.append({})
        self._variables.append({})

    def close(self) -> None:
        self._ranges.pop()
        self._names.pop()
        self._labels.pop()
        self._variables.pop()

    def variable(self, name: str) -> str:
        """The unique name of a variable that this block declares: blocks around calls declare the same ones."""
        suffix = f"@{self._blocks}" if len(self._names) > 1 else ""
        self._variables[-1][name] = name + suffix
        return name + suffix

    def symbol(self, word: str) -> str:
        """The unique name of a variable, the word itself if no block declares it."""
        for names in reversed(self._variables):
            if word in names:
                return names[word]
        return word

    def declare(self, name: str, type_: str, count: int | None) -> None:
        suffix = f"@{self._blocks}" if len(self._names) > 1 else ""
        if count is not None:
            self._ranges[-1][name] = (count, type_, suffix)
        else:
            self._names[-1][name] = name + suffix
            self.registers[name + suffix] = type_

    def register(self, word: str) -> str | None:
        """The unique name of a declared register, None if the word is not one."""
        for names, ranges in zip(reversed(self._names), reversed(self._ranges)):
            if word in names:
                return names[word]
            if ranges:
                prefix = word.rstrip("0123456789")
                number = word[len(prefix) :]
                if number and prefix in ranges and count_of(number) < ranges[prefix][0]:
                    name = word + ranges[prefix][2]
                    names[word] = name
                    self.registers[name] = ranges[prefix][1]
                    return name
        return None

    def label(self, word: str) -> str:
        """The unique name of a label that this block defines."""
        suffix = f"@{self._blocks}" if len(self._names) > 1 else ""
        self._labels[-1][word] = word + suffix
        return word + suffix

    def labels(self) -> list[dict[str, str]]:
        """The labels of this block and of those around it, the innermost last; read when the function is complete."""
        return list(self._labels)


class _Reader:
    """A cursor over the tokens of a module."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, _tokens(text), 0
        self.files: dict[int, str] = {}  # nvcc and Triton name them behind the functions
        for at, token in enumerate(self.tokens):
            if token[1] == ".file":
                self.at = at + 1
                self._file()
        self.at = 0
        self.variables: dict[str, Variable] = {}

    # --- tokens ---

    def bits(self, type_: str) -> int:
        """The bits of a type; names the line where it is unknown."""
        try:
            return bits_of(type_)
        except Error as error:
            raise Error(f"line {self.line}: {error}") from None

    @property
    def word(self) -> str:
        return self.tokens[self.at][1]

    @property
    def line(self) -> int:
        return self.tokens[self.at][2]

    def take(self) -> str:
        kind, word = self.tokens[self.at][:2]
        if kind == "end":
            raise self.wrong("more")
        self.at += 1
        return word

    def wrong(self, expected: str) -> Error:
        shown = repr(self.word) if self.tokens[self.at][0] != "end" else "the end of the text"
        return Error(f"line {self.line}: expected {expected}, got {shown}")

    def expect(self, mark: str) -> None:
        if self.word != mark:
            raise self.wrong(f"'{mark}'")
        self.at += 1

    def accept(self, mark: str) -> bool:
        if self.word == mark:
            self.at += 1
            return True
        return False

    def number(self) -> int:
        sign = -1 if self.accept("-") else 1
        if self.tokens[self.at][0] != "int":
            raise self.wrong("a number")
        return sign * _integer(self.take())

    def constant(self, level: int = 0) -> int:
        """A constant expression of integers (PTX ISA 4.5.5), without the conditional operator."""
        if level == len(_BINARY):
            return self._unary()
        found = self.constant(level + 1)
        while self.word in _BINARY[level]:
            line, mark = self.line, self.take()
            other = self.constant(level + 1)
            if (mark in "/%" and not other) or (mark in ("<<", ">>") and not 0 <= other < 64):
                raise Error(f"line {line}: cannot compute {found} {mark} {other}")
            found = _wrapped(_BINARY[level][mark](found, other))
        return found

    def _unary(self) -> int:
        signs = []
        while self.word in ("-", "+", "~", "!"):
            signs.append(self.take())
        if self.accept("("):
            found = self.constant()
            self.expect(")")
        elif self.word == "WARP_SZ":
            self.at, found = self.at + 1, 32
        else:
            found = self.number()
        for sign in reversed(signs):
            found = {"-": -found, "+": found, "~": ~found, "!": int(not found)}[sign]
        return found

    # --- the module ---

    def module(self) -> Module:  # noqa: C901
        version = target = ""
        functions: dict[str, Function] = {}
        aliases: dict[str, str] = {}
        linkage = (".visible", ".extern", ".weak", ".common")
        while self.tokens[self.at][0] != "end":
            word = self.take()
            if word == ".version":
                version = self.take()
            elif word == ".target":
                target = self.take()
                while self.accept(","):
                    self.take()
            elif word == ".address_size":
                if self.number() != 64:
                    raise Error(f"line {self.line}: only .address_size 64 is read")
            elif word == ".file":
                self._file()
            elif word == ".section":
                self._section()
            elif word in (*linkage, ";"):
                continue
            elif word in (".entry", ".func"):
                function = self._function(word == ".entry")
                if function.name not in functions or not function.external:
                    functions[function.name] = function
            elif word in (".global", ".const", ".shared"):
                for variable in self._variables(word[1:]):
                    self.variables[variable.name] = variable
                self.expect(";")
            elif word == ".pragma":
                self._skip_to(";")
            elif word == ".alias":
                name = self.take()
                self.expect(",")
                aliases[name] = self.take()
            else:
                self.at -= 1
                raise self.wrong("a directive of a module (.version, .target, .entry, .func, .global ...)")
        functions.update(_aliased(aliases, functions))
        if not target:
            raise Error("the text has no .target: it is not a PTX module")
        return Module(version, target, functions, dict(self.variables))

    def _skip_to(self, mark: str) -> None:
        while self.tokens[self.at][0] != "end" and self.take() != mark:
            pass

    def _file(self) -> None:
        number = self.number()
        self.files[number] = self.take().strip('"')
        while self.accept(","):
            self.take()

    def _section(self) -> None:
        """Debugging information: DWARF, which nothing here reads."""
        self.take()
        self.expect("{")
        self._skip_to("}")

    # --- variables ---

    def _variables(self, space: str) -> list[Variable]:
        """The declarations behind a state space, up to the semicolon."""
        kind = self._kind()
        found = [self._declared(space, *kind)]
        while self.accept(","):
            found.append(self._declared(space, *kind))
        return found

    def _kind(self) -> tuple[str, int, int]:
        """Type, alignment and vector length of a declaration."""
        align, type_, vector = 0, "", 1
        while self.word.startswith("."):
            word = self.take()
            if word == ".align":
                align = self.number()
            elif word in (".v2", ".v4", ".v8"):
                vector = count_of(word[2:])
            elif word == ".attribute":
                self.expect("(")
                self._skip_to(")")
            elif word in (".ptr", ".visible", ".extern", ".weak") or word[1:] in ("global", "const", "local", "shared"):
                continue
            else:
                type_ = word[1:]
        return type_, align, vector

    def _declared(self, space: str, type_: str, align: int, vector: int) -> Variable:
        line, name = self.line, self.take()
        if not type_:
            raise Error(f"line {line}: {name} has no type")
        each, size = max(self.bits(type_) // 8, 1) * vector, 1
        while self.accept("["):
            size *= 0 if self.word == "]" else self.constant()
            self.expect("]")
        if not 0 <= size * each <= LARGEST:
            raise Error(f"line {line}: {name} has {size * each} bytes; a variable has up to {LARGEST}")
        content = b""
        pointers: list[tuple[int, int, Symbol, int]] = []
        if self.accept("="):
            octets = bytearray()
            self._initial(type_, octets, pointers)
            content = bytes(octets)
            size = size or -(-len(content) // each)
        return Variable(name, space, type_, align or each, each * size, content, tuple(pointers), line)

    def _initial(self, type_: str, octets: bytearray, pointers: list[tuple[int, int, Symbol, int]]) -> None:
        """An initialiser: numbers, symbols and braces, appended to the bytes."""
        if self.accept("{"):
            while not self.accept("}"):
                self._initial(type_, octets, pointers)
                self.accept(",")
            return
        size = max(self.bits(type_) // 8, 1)
        kind, word = self.tokens[self.at][:2]
        negative = word == "-" and self.tokens[self.at + 1][0] == "float"
        if kind == "float" or negative:
            self.at += negative
            number = _float(self.take())
            octets += _float_bytes(number, size, negative, self.line)
        elif kind == "word":
            pointers.append((len(octets), size, self._pointer(), 0))
            octets += bytes(size)
        else:
            value = self.constant()
            if self.accept("("):  # 0xFF00(symbol): those bits of the address
                shift = (value & -value).bit_length() - 1
                if value != ((1 << 8 * size) - 1) << max(shift, 0):
                    raise Error(f"line {self.line}: the mask {value:#x} does not select {size} bytes of an address")
                pointers.append((len(octets), size, self._pointer(), shift))
                self.expect(")")
                value = 0
            octets += (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def _pointer(self) -> Symbol:
        """An address in an initialiser: a symbol, or generic(symbol), with an offset."""
        if self.word == "generic" and self.tokens[self.at + 1][1] == "(":
            self.at += 2
            symbol = self._pointer()
            self.expect(")")
        else:
            symbol = Symbol(self.take())
        while self.word in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            symbol = Symbol(symbol.name, symbol.offset + sign * self.number())
        return symbol

    # --- functions ---

    def _function(self, entry: bool) -> Function:
        line = self.line
        results = self._parameters() if self.word == "(" else ()
        name = self.take()
        parameters = self._parameters() if self.word == "(" else ()
        attributes: dict[str, tuple[int, ...]] = {}
        while self.word.startswith("."):
            key = self.take()[1:]
            values = []
            if key == "pragma":
                self._skip_to(";")
                continue
            while self.tokens[self.at][0] == "int":
                values.append(self.number())
                if not self.accept(","):
                    break
            attributes[key] = tuple(values)
        if self.accept(";"):
            return Function(name, entry, parameters, results, {}, (), (), {}, {}, attributes, True, line)
        body = _Body(self, parameters + results)
        self.expect("{")
        body.block()
        return Function(
            name, entry, parameters, results, body.scope.registers, tuple(body.variables), body.statements(),
            body.labels, body.tables, attributes, False, line,
        )  # fmt: skip

    def _parameters(self) -> tuple[Variable, ...]:
        self.expect("(")
        found: list[Variable] = []
        while not self.accept(")"):
            word = self.take()
            if word not in (".param", ".reg"):
                self.at -= 1
                raise self.wrong("a parameter (.param or .reg)")
            found.append(self._declared(word[1:], *self._kind()))
            self.accept(",")
            if self.word == ".noreturn":
                self.take()
        return tuple(found)


def _float_bytes(number: Number, size: int, negative: bool, line: int) -> bytes:
    """The bytes of a float of an initialiser."""
    if size not in (2, 4, 8):
        raise Error(f"line {line}: a float does not fit a variable of {size} bytes")
    value = struct.unpack("<f", struct.pack("<I", number.value))[0] if number.kind == "f32" else (
        struct.unpack("<d", struct.pack("<Q", number.value))[0]
    )  # fmt: skip
    value = -value if negative else value
    try:
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
    except OverflowError:
        raise Error(f"line {line}: {value} does not fit {size} bytes") from None


class _Body:
    """The body of a function."""

    def __init__(self, reader: _Reader, parameters: tuple[Variable, ...]) -> None:
        self.reader, self.scope = reader, _Scope()
        self.variables: list[Variable] = []
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.location: Location | None = None
        self.calling = False
        self.undeclared: dict[str, int] = {}  # the line of the first use of each name that nothing declares before
        self._made: list[tuple[Statement, list[dict[str, str]]]] = []
        for parameter in parameters:
            if parameter.space == "reg":
                self.scope.declare(parameter.name, parameter.type, None)

    def block(self) -> None:
        """Everything up to the closing brace."""
        reader = self.reader
        depth = 0
        while True:
            kind, word, line, place = reader.tokens[reader.at]
            if kind == "end":
                raise reader.wrong("'}'")
            if word == "{":
                reader.at += 1
                depth += 1
                self.scope.open()
            elif word == "}":
                reader.at += 1
                if not depth:
                    self._declared_later()
                    return
                depth -= 1
                self.scope.close()
            elif word == ";":
                reader.at += 1
            elif word.startswith("."):
                self._directive(reader.take())
            elif kind == "word" and reader.tokens[reader.at + 1][1] == ":":
                reader.at += 2
                self._label(word)
            else:
                self._instruction(line, place)

    def _declared_later(self) -> None:
        """Refuse a register that is declared behind its first use, as ptxas does; other names are not the reader's."""
        for word, line in self.undeclared.items():
            if self.scope.register(word) is not None:
                raise Error(f"line {line}: {word} is used before it is declared")

    def _label(self, word: str) -> None:
        reader = self.reader
        if reader.word in (".branchtargets", ".calltargets", ".callprototype"):
            kind = reader.take()
            start = reader.at
            reader._skip_to(";")
            names = [token[1] for token in reader.tokens[start : reader.at] if token[0] == "word"]
            self.tables[word] = tuple(names) if kind != ".callprototype" else ()
            return
        self.labels[self.scope.label(word)] = len(self._made)

    def _directive(self, word: str) -> None:
        reader = self.reader
        if word == ".reg":
            self._registers()
        elif word in (".shared", ".local", ".global", ".const", ".param"):
            for variable in reader._variables(word[1:]):
                self.variables.append(variable._replace(name=self.scope.variable(variable.name)))
            reader.expect(";")
        elif word == ".loc":
            file, line, column = (reader.number() for _ in range(3))
            place = Location(reader.files.get(file, ""), line, column)
            while reader.accept(","):
                if reader.take() == "inlined_at":
                    file, line, column = (reader.number() for _ in range(3))
                    place = place._replace(inlined_at=Location(reader.files.get(file, ""), line, column))
                while reader.tokens[reader.at][0] == "int" or reader.word in ("+",) or (
                    reader.tokens[reader.at][0] == "word" and reader.tokens[reader.at - 1][1] == "function_name"
                ):  # fmt: skip
                    reader.take()
            self.location = place
        elif word in (".pragma", ".branchtargets", ".callprototype", ".calltargets"):
            reader._skip_to(";")
        elif word in (".file",):
            reader._file()
        else:
            reader.at -= 1
            raise reader.wrong("a directive of a function body (.reg, .shared, .local, .param, .loc ...)")

    def _registers(self) -> None:
        reader = self.reader
        type_ = reader.take()[1:]
        while type_ in ("v2", "v4"):
            raise Error(f"line {reader.line}: vector registers (.{type_}) are not covered")
        while True:
            name = reader.take()
            count = None
            if reader.accept("<"):
                count = reader.number()
                reader.expect(">")
            self.scope.declare(name, type_, count)
            if not reader.accept(","):
                break
        reader.expect(";")

    # --- instructions ---

    def _instruction(self, line: int, place: int) -> None:
        reader, guard = self.reader, None
        if reader.accept("@"):
            negated = reader.accept("!")
            word = reader.take()
            register = self.scope.register(word)
            if register is None:
                raise Error(f"line {line}: the predicate {word} is not declared")
            guard = Guard(register, negated)
        if reader.tokens[reader.at][0] != "word":
            raise reader.wrong("an instruction")
        root, *modifiers = reader.take().split(".")
        self.calling = root == "call"
        operands: list[Operand] = []
        while not reader.accept(";"):
            operands.append(self._operand())
            if not reader.accept(",") and reader.word != ";":
                raise reader.wrong("',' or ';'")
        end = reader.tokens[reader.at - 1][3]
        text = " ".join(reader.text[place:end].split())
        made = Statement(line, guard, root, tuple(modifiers), tuple(operands), self.location, text)
        self._made.append((made, self.scope.labels()))

    def _operand(self) -> Operand:
        operand = self._simple()
        if self.reader.accept("|"):
            return Pair(operand, self._simple())
        return operand

    def _simple(self) -> Operand:
        reader = self.reader
        kind, word = reader.tokens[reader.at][:2]
        following = reader.tokens[min(reader.at + 1, len(reader.tokens) - 1)]
        if word == "{" or (word == "(" and self.calling):
            return self._list("}" if word == "{" else ")")
        if word == "[":
            return self._address()
        if word == "!" and following[0] != "int":
            reader.at += 1
            return Negated(self._simple())
        if word == "-" and (following[0] == "float" or following[1][:1] in "%"):
            reader.at += 1
            return self._negative()
        if kind == "int" or word in ("(", "-", "+", "~", "!") or (word == "WARP_SZ" and following[1] in "+-*/<<>>"):
            return Number(reader.constant())
        reader.at += 1
        if kind == "float":
            return _float(word)
        if kind == "word":
            return self._named(word)
        reader.at -= 1
        raise reader.wrong("an operand")

    def _negative(self) -> Operand:
        operand = self._simple()
        if isinstance(operand, Number):
            if not operand.kind:
                return Number(-operand.value)
            return Number(operand.value ^ 1 << (31 if operand.kind == "f32" else 63), operand.kind)
        return Negated(operand)

    def _named(self, word: str) -> Register | Symbol:
        register = self.scope.register(word)
        if register is not None:
            return Register(register)
        if word[0] == "%" or word == "WARP_SZ":
            self.undeclared.setdefault(word, self.reader.tokens[self.reader.at - 1][2])
            return Register(word)
        if word == "_":
            return Symbol("_")
        return Symbol(self.scope.symbol(word), self._offset())

    def _offset(self) -> int:
        if self.reader.accept("+"):
            return self.reader.number()
        return 0

    def _list(self, end: str) -> tuple[Operand, ...]:
        reader = self.reader
        reader.at += 1
        found = []
        while not reader.accept(end):
            found.append(self._operand())
            if not reader.accept(",") and reader.word != end:
                raise reader.wrong(f"',' or '{end}'")
        return tuple(found)

    def _address(self) -> Address:
        reader = self.reader
        reader.at += 1
        base: Register | Symbol | None = None
        offset = 0
        kind, word = reader.tokens[reader.at][:2]
        if kind == "word":
            reader.at += 1
            named = self._named(word)
            base, offset = (named, 0) if isinstance(named, Register) else (Symbol(named.name), named.offset)
        else:
            offset = reader.number()
        while reader.word in ("+", "-"):
            sign = 1 if reader.take() == "+" else -1
            offset += sign * reader.number()
        more = []
        while reader.accept(","):
            more.append(self._operand())
        reader.expect("]")
        return Address(base, offset, tuple(more))

    def statements(self) -> tuple[Statement, ...]:
        """The statements, with labels of inner blocks by their unique names."""
        found = []
        for statement, scopes in self._made:
            operands = statement.operands
            if statement.root in ("bra", "brx"):
                operands = tuple([self._target(operand, scopes) for operand in operands])
            found.append(statement._replace(operands=operands))
        return tuple(found)

    def _target(self, operand: Operand, scopes: list[dict[str, str]]) -> Operand:
        if not isinstance(operand, Symbol):
            return operand
        for labels in reversed(scopes):
            if operand.name in labels:
                return Symbol(labels[operand.name])
        return operand
