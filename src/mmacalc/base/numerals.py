"""Numbers as users write them: the one place that reads a number from text.

int() and float() by themselves are wrong for what a user writes. int() refuses more than 4,300 digits with an error of
its own and takes seconds for those just below; both take underscores, blanks and the digits of every script;
int(text, 0) refuses the octal 010 that C, PTX and LLVM take. So every number of a command line, a file, an assembly
text or a call comes through here, and each reader names its limits:

- `number`: decimal, or 0x hexadecimal, as on the command line. A leading zero means nothing: 010 is ten.
- `whole`: the same, where anything else is an Error.
- `literal`: as C, C++, PTX, LLVM IR and GNU assembly write it: a leading zero is octal, 0b binary, suffixes such as u.
- `real`: a decimal fraction, inf or nan.

A plugin of mypy, tools/typed_numbers.py, finds every int() and float() of text elsewhere.
"""

from __future__ import annotations

from .errors import Error

__all__ = ["LARGEST", "literal", "number", "real", "whole"]

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
