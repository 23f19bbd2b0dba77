"""The one error class that users meet, how its message is shown, and the "did you mean" that goes with it."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a third of a bare interpreter's start, so no module imports it
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LONGEST_WORD = 160  # the longest instruction name of PTX has 113 characters
LONGEST_MESSAGE = 2000  # the longest message of our own lists some 130 names


KINDS = ("input", "nothing", "unknown name", "usage", "file", "package", "memory", "bug")
"""What an error is about: what was given; a text that has nothing to answer about; a name that nothing has; the command
line; a file that cannot be read or written; a Python package that is missing; memory; mmacalc itself."""


class Error(ValueError):
    """Something the user gave cannot be answered.

    The message says what was given, what is allowed, and what would be right. Every public function
    raises this and no other error for bad input; the command line prints it and exits with status 2.

    A message repeats input, which may be anything, so it is shown by `printable`:

    >>> print(Error("unknown architecture 'gfx" + 1000 * "9" + "'"))
    unknown architecture 'gfx9999999999999999999999999999999999999999999999999999999999999...9999999999999999999'

    Programs read its parts: `kind` (one of KINDS), `suggestions`, and `file`, "" where it is about none.

    >>> error = Error("line 6: CDNA3 has no instruction 'v_mfna'. Did you mean v_mfma?", file="kernel.s")
    >>> error.kind, error.suggestions, error.file
    ('input', ('v_mfma',), 'kernel.s')
    """

    kind: str = "input"
    file: str = ""

    def __init__(self, *message: object, kind: str = "", file: str = "") -> None:
        super().__init__(*message)
        if kind:
            self.kind = kind
        if file:
            self.file = file

    def __str__(self) -> str:
        return printable(super().__str__())

    @property
    def suggestions(self) -> tuple[str, ...]:
        """What the message offers: names that may be meant, and command lines."""
        import re  # takes 2 ms, and only programs ask

        text = str(self)
        meant = [
            name.strip("` ") for clause in re.findall(r"Did you mean ([^?]+)\?", text) for name in clause.split(" or ")
        ]
        return tuple(dict.fromkeys([*meant, *re.findall(r"`(mmacalc [^`]+)`", text)]))


class UnclearNameError(Error):
    """A name that several things may be called; the message lists them."""

    kind = "unknown name"


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


def how_to_install(package: str) -> str:
    """The command that installs a Python package beside this mmacalc, by where it runs: pipx, uv, a virtual environment
    or the system's Python, which may refuse pip (PEP 668)."""
    import sys
    from importlib.util import find_spec
    from os.path import exists, join
    from sysconfig import get_path

    prefix = sys.prefix.replace("\\", "/").lower()
    if "/pipx/" in prefix:
        return f"pipx inject mmacalc {package}"
    if "/uv/tools/" in prefix:
        return f"uv tool install --with {package} . (in a clone of mmacalc)"
    if "/uv/" in prefix and "archive" in prefix:
        return f"uvx --with {package} --from . mmacalc (in a clone of mmacalc)"
    if sys.prefix != sys.base_prefix:
        return f"{sys.executable} -m pip install {package}" if find_spec("pip") else f"uv pip install {package}"
    if exists(join(get_path("stdlib"), "EXTERNALLY-MANAGED")) or not find_spec("pip"):
        return f"python3 -m venv .venv && .venv/bin/pip install {package}, and run mmacalc by .venv/bin/python"
    return f"{sys.executable} -m pip install {package}"


def plural(number: int, noun: str, nouns: str = "") -> str:
    """A number of things, in the singular where it is one.

    >>> plural(1, "byte"), plural(0, "byte"), plural(2, "class", "classes")
    ('1 byte', '0 bytes', '2 classes')
    """
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def abbreviated(names: Iterable[str], most: int = 4) -> str:
    """The first names of a list, and how many more there are.

    >>> abbreviated("abcdef"), abbreviated("abcd")
    ('a, b, c, d and 2 more', 'a, b, c, d')
    """
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def _alike(one: str, other: str) -> int:
    """How many characters two words begin with alike."""
    return next((at for at, (x, y) in enumerate(zip(one, other)) if x != y), min(len(one), len(other)))


def did_you_mean(given: str, known: Iterable[str], most: int = 3, shown: Mapping[str, str] | None = None) -> str:
    """A clause that names the closest known spellings, or an empty string when none is close.

    Args:
        given: what is unknown.
        known: the spellings.
        most: how many are named.
        shown: what is named for some of the spellings, such as the one name of several aliases.

    >>> did_you_mean("v_mfma_f32_32x32x8_f61", ["v_mfma_f32_32x32x8_f16", "v_mfma_f64_4x4x4_4b_f64"])
    ' Did you mean v_mfma_f32_32x32x8_f16?'
    >>> did_you_mean("mfma_32x32x8", ["v_mfma_i32_32x32x8i8", "v_mfma_f32_32x32x8_bf16"])
    ' Did you mean v_mfma_f32_32x32x8_bf16?'
    >>> did_you_mean("MI30X", ["MI300X", "MI308X", "MI350X", "MI430X"], most=2)
    ' Did you mean MI300X or MI308X?'
    """
    from difflib import SequenceMatcher, get_close_matches  # costs 4 ms, so only when something is already wrong

    spelt = {name.lower(): name for name in known}
    lower = given[:LONGEST_WORD].strip("' ").lower()  # the search takes time with the square of the length
    words = lower.split("_")
    # A name that has every word is meant, however much longer it is.
    close = [name for name in spelt if set(words) <= set(name.split("_"))] if len(words) > 1 else []
    if not close:
        close = get_close_matches(lower, spelt, n=5 * most, cutoff=0.7 if len(lower) > 5 else 0.6)
        likeness = {name: SequenceMatcher(None, name, lower).ratio() for name in close}
        # Of names that are as near: one that begins alike, then one without other characters.
        close.sort(key=lambda x: (-likeness[x], -_alike(lower, x), len({*x} - {*lower})))
    names = list(dict.fromkeys((shown or {}).get(spelt[name], spelt[name]) for name in close))[:most]
    return f" Did you mean {' or '.join(names)}?" if names else ""
