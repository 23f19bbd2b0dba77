"""The one error class that users meet, how its message is shown, and the "did you mean" that goes with it."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a third of a bare interpreter's start, so no module imports it
if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_WORD = 160  # the longest instruction name of PTX has 113 characters
LONGEST_MESSAGE = 2000  # the longest message of our own lists some 130 names


class Error(ValueError):
    """Something the user gave cannot be answered.

    The message says what was given, what is allowed, and what would be right. Every public function
    raises this and no other error for bad input; the command line prints it and exits with status 2.

    A message repeats input, which may be anything, so it is shown by `printable`:

    >>> print(Error("unknown architecture 'gfx" + 1000 * "9" + "'"))
    unknown architecture 'gfx9999999999999999999999999999999999999999999999999999999999999...9999999999999999999'
    """

    def __str__(self) -> str:
        return printable(super().__str__())


def printable(text: str) -> str:
    r"""Text on one line: control characters escaped, overlong words and an overlong whole cut in the middle.

    >>> print(printable("no option \x1b[31mred\nnor caf\u00e9"))
    no option \x1b[31mred\nnor café
    """
    if len(text) > LONGEST_MESSAGE:
        words = [_cut(word, LONGEST_WORD, 20) for word in text.split(" ")]
        text = _cut(" ".join(words), LONGEST_MESSAGE, LONGEST_MESSAGE // 3)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escaped(c) for c in text)
    if len(text) > LONGEST_WORD:
        text = " ".join(_cut(word, LONGEST_WORD, 20) for word in text.split(" "))
    return text


def _cut(text: str, most: int, kept: int) -> str:
    """Text without its middle where it is longer than `most`; the last `kept` characters stay."""
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-kept:]}"


def _escaped(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8 (PEP 383)
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def did_you_mean(given: str, known: Iterable[str], most: int = 3) -> str:
    """A clause that names the closest known spellings, or an empty string when none is close.

    >>> did_you_mean("v_mfma_f32_32x32x8_f61", ["v_mfma_f32_32x32x8_f16", "v_mfma_f64_4x4x4_4b_f64"])
    ' Did you mean v_mfma_f32_32x32x8_f16?'
    """
    from difflib import get_close_matches  # costs 4 ms, so only when something is already wrong

    shortened = given[:LONGEST_WORD].lower()  # the search takes time with the square of the length
    close = get_close_matches(shortened, list(known), n=most, cutoff=0.7 if len(given) > 5 else 0.6)
    if not close:
        return ""
    return f" Did you mean {' or '.join(close)}?"
