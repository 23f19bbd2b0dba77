"""Names of C++ kernels in words: those of the Itanium C++ ABI (section "Mangling"), as far as kernels need it.

Namespaces, templates with types and values, pointers, references, vectors, address spaces and substitutions are read;
of others (operators, lambdas, function types, expressions) the mangled name stays.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.checks import whole
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CppName", "demangled"]

_BUILTINS = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...",
}  # fmt: skip
_MORE = {"DF16_": "_Float16", "DF16b": "std::bfloat16_t", "Dh": "half", "Dn": "std::nullptr_t", "Di": "char32_t",
         "Ds": "char16_t", "Du": "char8_t"}  # fmt: skip
_STANDARD = {"St": "std", "Sa": "std::allocator", "Ss": "std::string", "Sb": "std::basic_string"}
_SUFFIXES = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}  # of literals


class CppName(TupleRecord):
    """A name: all of it, as llvm-cxxfilt writes it; qualified: without types, demo::reverse<3, int>; plain: without
    template arguments too."""

    text: str
    qualified: str
    plain: str


class _UnreadError(Exception):
    """A part that is not read here."""


@lru_cache(maxsize=4096)
def demangled(name: str) -> CppName | None:
    """What a mangled name means; None where it is not one, or has parts that are not read.

    >>> demangled("_ZN4demo7reverseILi3EiEEvPT0_PKS1_").text
    'void demo::reverse<3, int>(int*, int const*)'
    >>> demangled("gemm") is None
    True
    """
    if not name.startswith("_Z"):
        return None
    try:
        return _Reader(name[2:]).function()
    except (_UnreadError, IndexError, KeyError, RecursionError):
        return None


class _Reader:
    """Reads one name from its start."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.known: list[str] = []  # what S_, S0_ ... stand for
        self.arguments: list[str] = []  # of the function's template: T_, T0_ ...
        self.packed = False  # whether there was a pack of arguments, which T_ counts as one

    def function(self) -> CppName:
        """The whole name, with the types of the parameters."""
        qualified, plain, template = self.name()
        self.arguments = template or self.arguments
        types = []
        while self.at < len(self.text):
            types.append(self.type())
        if not types:
            return CppName(qualified, qualified, plain)
        result = f"{types.pop(0)} " if template is not None else ""
        if not types or ("void" in types and len(types) > 1):
            raise _UnreadError
        shown = "" if types == ["void"] else ", ".join(one for one in types if one)
        return CppName(f"{result}{qualified}({shown})", qualified, plain)

    # --- letters ---

    def take(self, letters: str) -> bool:
        """Whether these come next; if so, go on behind them."""
        found = self.text.startswith(letters, self.at)
        self.at += len(letters) * found
        return found

    def need(self, letters: str) -> None:
        """Go on behind letters that must come next."""
        if not self.take(letters):
            raise _UnreadError

    def digits(self) -> int:
        """A number, of which there must be a digit."""
        start = self.at
        while self.text[self.at : self.at + 1].isdigit():
            self.at += 1
        if start == self.at or self.at - start > 6:
            raise _UnreadError
        return whole(self.text[start : self.at], "a length", 999_999)

    def kept(self, text: str) -> str:
        """A part that later ones can stand for."""
        self.known.append(text)
        return text

    # --- names ---

    def name(self) -> tuple[str, str, list[str] | None]:
        """A name with template arguments, without them, and the arguments of its last part; None if it has none."""
        if self.take("N"):
            return self.nested()
        prefix = "std::" if self.take("St") else ""
        plain = prefix + (self.substitution() if self.text[self.at] == "S" else self.source_name())
        if self.text[self.at : self.at + 1] != "I":
            return plain, plain, None
        self.kept(plain)
        found = self.template_arguments()
        return plain + _listed(found), plain, found

    def nested(self) -> tuple[str, str, list[str] | None]:
        """The parts between N and E."""
        qualified = plain = ""
        found: list[str] | None = None
        while not self.take("E"):
            letter = self.text[self.at]
            if letter == "I":
                found = self.template_arguments()
                qualified = self.kept(qualified + _listed(found))
                continue
            if letter == "S":
                if qualified:
                    raise _UnreadError
                part = self.substitution()
                qualified = plain = part
                continue
            part, found = self.source_name(), None
            qualified = self.kept(f"{qualified}::{part}" if qualified else part)
            plain = f"{plain}::{part}" if plain else part
        if not qualified:
            raise _UnreadError
        if self.known:
            self.known.pop()  # the whole name of a function stands for nothing; a type is entered as a type
        return qualified, plain, found

    def source_name(self) -> str:
        """A length and as many letters."""
        self.take("L")
        if self.text[self.at] == "0":
            raise _UnreadError
        length = self.digits()
        found = self.text[self.at : self.at + length]
        if len(found) < length:
            raise _UnreadError
        self.at += length
        return "(anonymous namespace)" if found.startswith("_GLOBAL__N") else found

    def substitution(self) -> str:
        """S_, S0_, St ... of what came before."""
        for letters, meaning in _STANDARD.items():
            if self.take(letters):
                return meaning
        self.need("S")
        number = self.sequence("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        return self.known[number]

    def sequence(self, letters: str) -> int:
        """_, 0_, 1_ ... as 0, 1, 2 ..."""
        if self.take("_"):
            return 0
        number = 0
        while not self.take("_"):
            number = number * len(letters) + letters.index(self.text[self.at]) if self.text[self.at] in letters else -1
            if number < 0:
                raise _UnreadError
            self.at += 1
        return number + 1

    # --- template arguments ---

    def template_arguments(self) -> list[str]:
        """What stands between I and E."""
        self.need("I")
        found: list[str] = []
        while not self.take("E"):
            if self.take("J"):
                self.packed = True
                while not self.take("E"):
                    found.append(self.template_argument())
            else:
                found.append(self.template_argument())
        return found

    def template_argument(self) -> str:
        """A type, or a value."""
        if not self.take("L"):
            return self.type()
        start = self.at
        kind = self.type()
        letter = self.text[start : self.at]
        if letter in _MORE or letter in "vfdegz":
            raise _UnreadError
        sign, start = "-" if self.take("n") else "", self.at
        self.digits()
        value = sign + self.text[start : self.at]
        self.need("E")
        if letter == "b":
            return {"0": "false", "1": "true"}[value]
        return value + _SUFFIXES[letter] if letter in _SUFFIXES else f"({kind}){value}"

    # --- types ---

    def type(self) -> str:
        """A type; one that is not built in can be stood for later."""
        for letters, meaning in _MORE.items():
            if self.take(letters):
                return meaning
        letter = self.text[self.at]
        if letter in _BUILTINS:
            self.at += 1
            return _BUILTINS[letter]
        if letter in _WRITTEN:
            return self.kept(_WRITTEN[letter](self))
        before = self.packed
        found = self.named(letter)
        self.packed = before  # a pack of the type's own template
        return found

    def named(self, letter: str) -> str:
        """A class, or what an earlier type was."""
        if letter == "S" and self.text[self.at + 1] != "t":
            found = self.substitution()
            if self.text[self.at : self.at + 1] != "I":
                return found
            return self.kept(found + _listed(self.template_arguments()))
        if letter in "NS" or letter.isdigit():
            return self.kept(self.name()[0])
        raise _UnreadError

    def after(self, suffix: str) -> str:
        """A type that is another one with something behind it."""
        self.at += 1
        if self.text[self.at] in {"&": "RO", " ": "KV"}.get(suffix[0], ""):
            raise _UnreadError
        return self.type() + suffix

    def parameter(self) -> str:
        """T_, T0_ ...: an argument of the function's template."""
        self.need("T")
        if self.packed:
            raise _UnreadError
        return self.arguments[self.sequence("0123456789")]

    def vector(self) -> str:
        """Dv4_f."""
        self.need("Dv")
        count = self.digits()
        self.need("_")
        return f"{self.type()} vector[{count}]"

    def vendor(self) -> str:
        """U3AS1f: of an address space."""
        self.need("U")
        word = self.source_name()
        return f"{self.type()} {word}"


_WRITTEN: dict[str, Callable[[_Reader], str]] = {
    "P": lambda reader: reader.after("*"),
    "R": lambda reader: reader.after("&"),
    "O": lambda reader: reader.after("&&"),
    "K": lambda reader: reader.after(" const"),
    "V": lambda reader: reader.after(" volatile"),
    "T": _Reader.parameter,
    "D": _Reader.vector,
    "U": _Reader.vendor,
}


def _listed(arguments: list[str]) -> str:
    return f"<{', '.join(arguments)}>"
