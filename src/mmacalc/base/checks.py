"""What users give: arguments of public functions, checked by the annotations that the functions have anyway, and
numbers in texts.

`@arguments_checked` makes a wrong type an `Error` that names the argument, before the function runs:

    >>> @arguments_checked
    ... def rows(name: str, count: int | None = None, sparse: bool = False) -> None: ...
    >>> rows("A", count="16")
    Traceback (most recent call last):
    mmacalc.base.errors.Error: rows(): count = '16' should be a whole number

Checked are the words below, and unions of them. An annotation with a word of `ANYTHING` is left to the
function; one that is not understood is an error of the program. NumPy's scalars are taken, and become Python's.
"""

from __future__ import annotations

from .errors import Error, did_you_mean, how_to_install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = [
    "argument_class", "arguments_checked", "fits", "LARGEST", "literal", "missing_package", "number", "real",
    "require_int", "shown", "whole",
]  # fmt: skip

_REFUSED = object()
WIDEST = 1 << 64  # Python refuses to print numbers of thousands of digits, and nothing here is as large as this
PACKAGES = {"elftools": "pyelftools"}
"""How the registry calls a package, where an import calls it otherwise."""


def _whole(value: Any) -> Any:
    try:
        number: int = value.__index__()  # operator.index, without importing operator
    except (AttributeError, TypeError):
        return _REFUSED
    return number if -WIDEST < number < WIDEST else _REFUSED


def require_int(name: str, value: Any) -> int:
    """A number that a user gave, as an int; NumPy's integers are welcome.

    Raises:
        Error: it is not a whole number, or it is out of range.
    """
    number = _whole(value)
    if number is _REFUSED:
        raise Error(f"{name} = {shown(value)} should be a whole number")
    found: int = number
    return found


def _flag(value: Any) -> Any:
    return bool(value) if type(value).__name__ in ("bool", "bool_") or value in (0, 1) else _REFUSED


def _number(value: Any) -> Any:
    if isinstance(value, int) or not hasattr(type(value), "__float__"):
        return _whole(value)
    return float(value)


def _bytes(value: Any) -> Any:
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else _REFUSED


def _mapping(value: Any) -> Any:
    if type(value) is dict and not value:
        return value
    mapping = hasattr(value, "keys") and hasattr(value, "__getitem__")
    return value if mapping and all(isinstance(name, str) for name in value) else _REFUSED


def _names(value: Any) -> Any:
    return value if isinstance(value, (str, list, tuple)) and all(isinstance(name, str) for name in value) else _REFUSED


class _Looked:
    """No value has this type, so every value is checked."""


_classes: dict[str, type] = {}


def argument_class(known: type) -> None:
    """Let annotations name a class of a higher layer. One that is not imported yet has no objects."""
    _classes[known.__name__] = known


def _record(name: str) -> tuple[str, type, Callable[[Any], Any]]:
    """What a class of this package accepts: its own objects."""

    def accept(value: Any) -> Any:
        return value if isinstance(value, _classes.get(name, _Looked)) else _REFUSED

    return f"an object of mmacalc.{name}", _Looked, accept


# What an annotation's word accepts: its name in a message, the type that needs no further look, and what the value
# becomes (or _REFUSED).
WORDS: dict[str, tuple[str, type, Callable[[Any], Any]]] = {
    "str": ("text", str, lambda value: str(value) if isinstance(value, str) else _REFUSED),
    "int": ("a whole number", int, _whole),
    "float": ("a number", float, _number),
    "bool": ("True or False", bool, _flag),
    "bytes": ("bytes, such as bytes.fromhex('0081ccd310250204')", bytes, _bytes),
    "None": ("None", type(None), lambda _: _REFUSED),
    "Mapping[str, int]": ("a dictionary with names as keys", _Looked, _mapping),
    "Mapping[str, int | str]": ("a dictionary with names as keys", _Looked, _mapping),
    "list[Relocation]": ("a list", list, lambda _: _REFUSED),
    "Sequence[str]": ("a list or tuple of names", _Looked, _names),
    **{name: _record(name) for name in ("Architecture", "Instruction", "Layout", "Operand")},
}
ANYTHING = (
    "Any", "ArrayLike", "Size", "PathLike[str]", "Sequence[int]", "Swizzle", "RowSwizzle", "Kernel", "PtxKernel",
    "Callable[..., object]", "Mapping[int | str, ArrayLike]",
)  # fmt: skip
"""Annotations of values that the function itself checks: arrays, paths, and what has several forms."""


def words_of(annotation: str) -> list[str]:
    """The alternatives of an annotation, cut at each `|` outside brackets.

    >>> words_of("int | Mapping[str, int | str] | None")
    ['int', 'Mapping[str, int | str]', 'None']
    """
    return _cut(annotation, "|")


def _cut(text: str, mark: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == mark and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


class _Kinds:
    """What one parameter accepts, read from its annotation; `kinds` is empty where anything may be given.

    Raises:
        TypeError: the annotation has a word that is in neither `WORDS` nor `ANYTHING`.
    """

    def __init__(self, annotation: object) -> None:
        words = words_of(str(annotation))
        if unknown := [word for word in words if word not in WORDS and word not in ANYTHING]:
            raise TypeError(f"arguments_checked does not understand the annotation {unknown[0]!r}")
        anything = any(word in ANYTHING for word in words)
        self.kinds = [] if anything else [WORDS[word] for word in words]
        self.types = frozenset(known for _, known, _ in self.kinds)

    def checked(self, function: str, name: str, value: Any) -> Any:
        """The value as the function gets it.

        Raises:
            Error: it is of another type.
        """
        for _, _, accept in self.kinds:
            if (found := accept(value) if _single(value) else _REFUSED) is not _REFUSED:
                return found
        kinds = " or ".join(dict.fromkeys(text for text, known, _ in self.kinds if known is not type(None)))
        raise Error(f"{function}(): {name} = {shown(value)} should be {kinds}")


# --- values of records, which are read from files ---------------------------------------------------------------------

PLAIN = {"str": str, "int": int, "bool": bool, "bytes": bytes, "None": type(None)}


def fits(value: Any, annotation: str) -> bool:
    """Whether a value is of the type that an annotation of a record says, all of its parts included.

    Unlike an argument, True is not taken for a number: in a file it is a mistake.

    >>> fits((1, 2), "tuple[int, ...]"), fits({"A": True}, "Mapping[str, int]"), fits(2, "float | None")
    (True, False, True)
    >>> fits(("a", 1), "tuple[str, int]"), fits(("a",), "tuple[str, int]"), fits(object, "Any")
    (True, False, True)

    Raises:
        TypeError: the annotation is not understood.
    """
    return any(_fits(value, word) for word in words_of(annotation))


def _fits(value: Any, word: str) -> bool:
    if word == "Any":
        return True
    if word in PLAIN:
        return type(value) is PLAIN[word]
    if word == "float":
        return type(value) in (int, float) and value == value and abs(value) < WIDEST
    outer, _, rest = word.removesuffix("]").partition("[")
    parts = _cut(rest, ",")
    if outer == "Mapping" and len(parts) == 2:
        mapping = hasattr(value, "keys")
        return mapping and all(fits(name, parts[0]) and fits(held, parts[1]) for name, held in value.items())
    if outer == "tuple" and parts[-1] == "...":
        return type(value) is tuple and all(fits(held, parts[0]) for held in value)
    if outer == "tuple" and rest:
        alike = type(value) is tuple and len(value) == len(parts)
        return alike and all(fits(held, part) for held, part in zip(value, parts))
    if word in CLASSES:
        return type(value).__name__ == word and type(value).__module__.startswith("mmacalc.")
    raise TypeError(f"the annotation {word!r} is not understood")


CLASSES = ("Architecture", "Product", "Layout", "Form")
"""Classes of this package that fields of records have; what they hold is checked where it is made."""


def _single(value: Any) -> bool:
    """Whether a value is not an array (whose comparisons are arrays again), or one without axes."""
    return isinstance(value, memoryview) or not getattr(value, "ndim", 0)


def _huge(value: Any) -> bool:
    return type(value) is int and not -WIDEST < value < WIDEST


def shown(value: Any) -> str:
    """A value as a message repeats it."""
    if _huge(value):
        return f"a number of {value.bit_length()} bits (those here have at most 64)"
    try:
        text = repr(value)
    except Exception:  # the repr of a user's class, or of a list with a number of thousands of digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:60]}..."


def arguments_checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function that refuses arguments of a wrong type, and names that it has no parameter for, with an `Error`."""
    kinds: dict[str, _Kinds] = {}  # of the parameters that are checked
    positional: list[tuple[int, str, _Kinds]] = []  # those of them that have a position
    seen: list[bool] = []
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    named_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    accepted = frozenset((*names, *named_only))
    behind = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
    rest = code.co_varnames[behind] if code.co_flags & 8 else ""
    qualified = function.__qualname__
    called_name = qualified.removesuffix(".__init__").rpartition(".")[2]

    def refuse_name(name: str) -> Error:
        known = [each for each in (*names, *named_only) if each != "self"]
        takes = ", ".join(known) + (f", and {rest}" if rest else "")
        return Error(f"{called_name}() has no argument '{name}'.{did_you_mean(name, known)} It takes: {takes}")

    def called(*args: P.args, **given: P.kwargs) -> R:
        if not seen:  # on the first call, for most functions are never called
            parameters = {name: text for name, text in function.__annotations__.items() if name != "return"}
            read = {name: _Kinds(text) for name, text in parameters.items()}
            kinds.update({name: kind for name, kind in read.items() if kind.kinds})
            positional.extend((at, name, kinds[name]) for at, name in enumerate(names) if name in kinds)
            seen.append(True)  # last, for another thread goes on when it sees it
        for at, name, kind in positional:
            if at >= len(args):
                break
            value = args[at]
            if type(value) not in kind.types or (type(value) is int and not -WIDEST < value < WIDEST):
                args = (*args[:at], kind.checked(called_name, name, value), *args[at + 1 :])  # type: ignore[assignment]
        for name, value in given.items():
            misplaced = rest in kinds and not _single(value)  # an array is meant for another argument
            if name not in accepted and (not rest or misplaced):
                raise refuse_name(name)
            other = kinds.get(name if name in accepted else rest)
            if other and (type(value) not in other.types or _huge(value)):
                given[name] = other.checked(called_name, name, value)
        try:
            return function(*args, **given)
        except ModuleNotFoundError as missing:
            raise missing_package(missing) from missing

    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(called, name, getattr(function, name))
    vars(called)["__wrapped__"] = function  # all of this as functools.wraps does
    return called


def missing_package(missing: ModuleNotFoundError) -> Error | ModuleNotFoundError:
    """The error for a package that is not installed: which, and how to install it. One of our own stays as it is."""
    package = (missing.name or "").partition(".")[0]
    if package in ("", "mmacalc"):
        return missing
    name = PACKAGES.get(package, package)
    return Error(
        f"this needs the Python package {name}, which is not installed: {how_to_install(name)}", kind="package"
    )


# --- Numbers as users write them: the one place that reads a number from text ---
#
# int() and float() by themselves are wrong for what a user writes. int() refuses more than 4,300 digits with an error
# of its own and takes seconds for those just below; both take underscores, blanks and the digits of every script;
# int(text, 0) refuses the octal 010 that C, PTX and LLVM take. So every number of a command line, a file, an assembly
# text or a call comes through here, and each reader names its limits:
#
# - `number`: decimal, or 0x hexadecimal, as on the command line. A leading zero means nothing: 010 is ten.
# - `whole`: the same, where anything else is an Error.
# - `literal`: as C, C++, PTX, LLVM IR and GNU assembly write it: a leading zero is octal, 0b binary, suffixes as u.
# - `real`: a decimal fraction, inf or nan.
#
# A plugin of mypy, tools/typed_numbers.py, finds every int() and float() of text elsewhere.


LARGEST = 10**18 - 1
"""The largest number that is read where nothing smaller is said: 18 digits."""

_DIGITS = 20  # of what is read at all: 64 bits have 16 in hexadecimal and 20 in decimal
_LITERAL = (
    r"(?i:(?P<sign>-?)(?:0x(?P<hex>[0-9a-f]+(?:'[0-9a-f]+)*)|0b(?P<binary>[01]+(?:'[01]+)*)"
    r"|0(?P<octal>[0-7']*)|(?P<decimal>[1-9][0-9]*(?:'[0-9]+)*))(?:u?(?:ll?|z)?|(?:ll?|z)u))"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_REAL = r"(?i:[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan))"


def number(text: str, most: int = LARGEST, least: int = 0) -> int | None:
    r"""A whole number in decimal or 0x hexadecimal, from `least` to `most`; None if a text is none.

    A sign is taken where `least` is below zero.

    >>> number("17"), number("0x1F"), number("010"), number("-1"), number("-1", least=-8)
    (17, 31, 10, None, -1)
    >>> number("1_0"), number(" 1"), number("\u0661"), number("9" * 19), number("9" * 5000)
    (None, None, None, None, None)
    """
    negative = least < 0 and text[:1] == "-"
    digits = text[1:] if negative else text
    base = 10
    if digits[:2] in ("0x", "0X"):
        digits, base = digits[2:], 16
    if not digits.isascii() or not digits.isalnum() or len(digits) > _DIGITS:
        return None
    try:
        value = int(digits, base)
    except ValueError:
        return None
    value = -value if negative else value
    return value if least <= value <= most else None


def whole(text: str, what: str, most: int = LARGEST, least: int = 0) -> int:
    """A whole number as `number` reads it.

    Args:
        text: what was written. what: what it is the number of, for the message. most, least: the limits.

    Raises:
        Error: it is none, or it is outside the limits.

    >>> whole("R300"[1:], "a register of SASS", 254)
    Traceback (most recent call last):
    mmacalc.base.errors.Error: a register of SASS is a number from 0 to 254; got '300'
    """
    value = number(text, most, least)
    if value is None:
        limits = f"from {least} up (to 18 digits)" if most == LARGEST else f"from {least} to {most}"
        raise Error(f"{what} is a number {limits}; got '{text[:40]}'")
    return value


def literal(text: str, most: int = (1 << 64) - 1, least: int = -(1 << 63)) -> int | None:
    """An integer as C, C++, PTX, LLVM IR and GNU assembly write it; None if a text is none or it has over 64 bits.

    >>> literal("010"), literal("0xe"), literal("0b11"), literal("7ul"), literal("-1"), literal("1'000")
    (8, 14, 3, 7, -1, 1000)
    >>> literal("08"), literal("1_0"), literal("true"), literal("9" * 5000)
    (None, None, None, None)
    """
    import re  # a plain query does without it

    found = re.fullmatch(_LITERAL, text)
    if found is None:
        return None
    kind = found.lastgroup or ""
    digits = found[kind].replace("'", "").lstrip("0")
    if len(digits) > 64:
        return None
    value = int(digits or "0", _BASES[kind]) * (-1 if found["sign"] else 1)
    return value if least <= value <= most else None


def real(text: str) -> float | None:
    """A number with a decimal fraction, an exponent, inf or nan; None if a text is none. One that is too large is inf.

    >>> real("2.5"), real("-1e3"), real("1e999"), real("0x10"), real("1_0"), real("")
    (2.5, -1000.0, inf, None, None, None)
    """
    import re

    return float(text) if re.fullmatch(_REAL, text) else None
