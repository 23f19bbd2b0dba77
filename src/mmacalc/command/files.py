"""What the command line reads: files and standard input, as UTF-8 regardless of the locale.

Bytes that are not UTF-8 are kept as PEP 383 has it (surrogateescape); a byte order mark is skipped.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO

from ..base.errors import Error
from ..base.files import file_name, reason
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from . import Options, Reply

    ReadObject = Callable[[bytes, str, str | None], str]

__all__ = [
    "GivenText",
    "about",
    "as_text",
    "exists",
    "each_text",
    "expanded",
    "lines",
    "names_file",
    "read_bytes",
    "read_text",
    "readable",
    "standard_input_taken",
    "text_argument",
    "texts",
]

LONGEST_LINE = 1 << 20
ENDINGS = (
    ".s",
    ".co",
    ".asm",
    ".txt",
    ".ptx",
    ".sass",
    ".cu",
    ".cuh",
    ".hip",
    ".cpp",
    ".h",
    ".ll",
    ".log",
    ".dis",
    ".isa",
    ".o",
    ".hsaco",
    ".cubin",
    ".amdgcn",
    ".llir",
    ".ttgir",
    ".ttir",
    ".mlir",
)
"""How the names of files with assembly end."""
LISTINGS = (
    ".s",
    ".asm",
    ".amdgcn",
    ".isa",
    ".dis",
    ".hsaco",
    ".co",
    ".ptx",
    ".sass",
    ".ll",
    ".llir",
    ".ttir",
    ".ttgir",
)
"""How the names end of what is read of a folder."""
MOST_FILES = 100_000
"""How many files of a folder and below are looked at."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OBJECTS = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")
"""How ELF objects and clang's offload bundles begin."""
_OF_NVIDIA = "; of a cubin give its disassembly, such as cuobjdump -sass"
_taken: ContextVar[str] = ContextVar("taken", default="")
"""Who reads standard input while one of its lines is answered: the name of a command whose lines are command lines."""


def exists(path: str) -> bool:
    """Whether there is a file of that name, which may be no name of a file at all."""
    try:
        return os.path.exists(file_name(path))
    except ValueError:
        return False


def read_bytes(path: str) -> bytes:
    """All bytes of a file, or of standard input for "-".

    Raises:
        Error: it cannot be read.
    """
    try:
        if path == "-":
            return standard_input().read()
        with open(file_name(path), "rb") as file:
            return file.read()
    except (OSError, ValueError) as problem:
        raise unreadable(path, problem) from None


def read_text(path: str) -> str:
    """The text of a file, or of standard input for "-"; lines end with a line feed.

    Raises:
        Error: it cannot be read.
    """
    return as_text(read_bytes(path))


def text_argument(words: Sequence[str]) -> tuple[str, str]:
    """The text that arguments give, and what messages call it: a file's, standard input's ("-"), or their own.

    Raises:
        Error: a file cannot be read; or one word that looks like the path of one, and there is none.
    """
    if len(words) > 1:
        return " ".join(words), "the text"
    path = words[0]
    if path == "-":
        return read_text(path), "<stdin>"
    return (read_text(path), path) if names_file(path) else (path, "the text")


class GivenText(TupleRecord):
    """A text that arguments give.

    Attributes:
        text: of an object of an AMD GPU the assembly that `mmacalc disassemble` prints. name: what messages call it.
        listed: whether it is of an object. several: whether it is one of several. found: whether it was found in a
            folder, and not named. problem: why it cannot be read.
    """

    text: str
    name: str
    listed: bool = False
    several: bool = False
    found: bool = False
    problem: Error | None = None


def texts(words: Sequence[str], target: str | None, of_object: ReadObject) -> Iterator[GivenText]:
    """The texts that arguments give: of files, folders and patterns each, else one text.

    Args:
        words: the arguments. target: chooses an object of a bundle. of_object: the assembly of an object, by its bytes,
            its name and the target.

    Raises:
        Error: see `text_argument`; some of several words name files and others do not; or a folder has no listing.
    """
    if not any(map(names_file, words)):
        yield GivenText(*text_argument(words))
        return
    for word in words:
        if not names_file(word):
            raise Error(f"'{word}' is not a file, but other arguments are: give files, or one text")
    paths = list(expanded(words))
    for path, found in paths:
        name, rest = "<stdin>" if path == "-" else path, (len(paths) > 1, found)
        try:
            yield GivenText(*_read(path, name, target, of_object), *rest)
        except Error as refused:
            yield GivenText("", name, False, *rest, refused)


def expanded(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The files that words name, and whether each was found in a folder: of a folder those in it and below whose names
    end as listings and objects do, of a pattern (*, ?, [...], ** for folders) those that fit, in alphabetical order.

    Raises:
        Error: a folder or a pattern has none.
    """
    from glob import glob, has_magic

    for word in words:
        if exists(word) and os.path.isdir(word):
            chosen = sorted(path for path in _inside(word) if path.lower().endswith(LISTINGS))
            if not chosen:
                raise Error(f"'{word}' has no file that ends in {', '.join(LISTINGS)}", kind="file", file=word)
            yield from ((path, True) for path in chosen)
        elif has_magic(word) and not exists(word):
            chosen = sorted(path for path in glob(word, recursive=True) if not os.path.isdir(path))
            if not chosen:
                raise Error(f"no file fits '{word}'", kind="file", file=word)
            yield from ((path, False) for path in chosen)
        else:
            yield word, False


def _inside(folder: str) -> Iterator[str]:
    """The files in a folder and below.

    Raises:
        Error: there are more of them than a folder of listings has, as of a whole file system.
    """
    seen = 0
    for place, _, names in os.walk(folder):
        seen += len(names)
        if seen > MOST_FILES:
            problem = f"'{folder}' has more than {MOST_FILES:,} files; give a folder of listings or objects"
            raise Error(problem, kind="file", file=folder)
        yield from (os.path.join(place, name) for name in names)


def each_text(options: Options, reply: Callable[[GivenText, Options], Reply], of_object: ReadObject) -> Iterator[Reply]:
    """The answers about the texts that arguments give, one after another, also where one of several is refused.

    Args:
        options: with `text` and `architecture`, which may have features (gfx942:xnack+). reply: answers about
            one of them. of_object: see `texts`.

    Raises:
        Error: a single text is refused, or see `texts`.
    """
    from . import refused

    for given in texts(options.text, options.architecture, of_object):
        try:
            yield reply(readable(given), options)
        except Error as error:
            if not given.several:
                raise about(error, given.name) from None
            yield refused(options.json, error, given.name)


def readable(given: GivenText) -> GivenText:
    """A text that was read and has characters other than spaces.

    Raises:
        Error: it could not be read, or is empty, or of another kind of file.
    """
    text, name = given.text, given.name
    if given.problem is not None:
        raise given.problem
    if "\0" in text:  # a binary file must not be reported as clean
        raise Error(f"'{name}' is neither a text file nor an object of an AMD GPU{_OF_NVIDIA}")
    if not text.strip():
        raise Error(f"'{name}' is empty; give a listing", kind="nothing")
    return given


def _read(path: str, name: str, target: str | None, of_object: ReadObject) -> tuple[str, str, bool]:
    """The text of a file, its name, and whether it is of an object."""
    content = read_bytes(path)
    if content.startswith(OBJECTS):
        return of_object(content, name, target), name, True
    return as_text(content), name, False


def names_file(word: str) -> bool:
    """Whether a word is "-" or the path of a file, or looks like one."""
    looks = not any(map(str.isspace, word)) and ("/" in word or word.lower().endswith(ENDINGS))
    return word == "-" or looks or exists(word) or _is_pattern(word)


def _is_pattern(word: str) -> bool:
    """Whether a word is a pattern of names of files, which ends as one of them does (`v[0:3]` is none)."""
    return "*" in word and not any(map(str.isspace, word)) and word.lower().endswith(("*", *ENDINGS))


def as_text(data: bytes) -> str:
    """Bytes as text whose lines end with a line feed."""
    text = data.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def standard_input() -> BinaryIO:
    """Standard input as bytes.

    Raises:
        Error: it is closed, or another command reads it already.
    """
    if command := _taken.get():
        raise Error(f"standard input is already used for the lines of `mmacalc {command}`; give a file")
    if sys.stdin is None:
        raise Error("standard input is closed; give a file")
    found: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if found is None:  # a StringIO in its place, as tests and notebooks have
        return BytesIO(sys.stdin.read().encode("utf-8", "surrogateescape"))
    return found


@contextmanager
def standard_input_taken(command: str) -> Iterator[None]:
    """While this lasts, nothing reads standard input, whose lines `command` answers."""
    before = _taken.set(command)
    try:
        yield
    finally:
        _taken.reset(before)


def about(error: Error, name: str) -> Error:
    """An error about a text, which is called `name`: it knows the file then, if the text is from one."""
    if name != "the text" and not error.file:
        error.file = name
    return error


def unreadable(path: str, problem: Exception) -> Error:
    """The error for a file that the system does not read."""
    return (
        problem
        if isinstance(problem, Error)
        else Error(f"cannot read '{path}': {reason(problem)}", kind="file", file=path)
    )


# --- line by line -----------------------------------------------------------------------------------------------------


def lines(paths: Iterable[str]) -> Iterator[str | Error]:
    """The lines of files, or of standard input if there are none, each as soon as it comes, without its end.

    A line longer than LONGEST_LINE is an `Error` in its place.

    Raises:
        Error: a file cannot be read, or standard input is closed. All are opened before the first line comes.
    """
    opened = []
    for path in paths:
        try:
            opened.append(standard_input() if path == "-" else open(file_name(path), "rb"))  # noqa: SIM115 (closed below)
        except (OSError, ValueError) as problem:
            raise unreadable(path, problem) from None
    sources: list[BinaryIO] = [*opened] or [standard_input()]
    try:
        for source in sources:
            yield from _lines(source)
    except OSError as problem:
        raise Error(f"the lines cannot be read further: {reason(problem)}") from None
    finally:
        for file in opened:
            file.close()


def _lines(source: BinaryIO) -> Iterator[str | Error]:
    line = source.readline(LONGEST_LINE).removeprefix(BYTE_ORDER_MARK)
    while line:
        if line.endswith(b"\n") or len(line) < LONGEST_LINE - len(BYTE_ORDER_MARK):
            yield line.decode("utf-8", "surrogateescape").rstrip("\r\n")
        else:
            while line and not line.endswith(b"\n"):
                line = source.readline(LONGEST_LINE)
            yield Error(f"the line is longer than {LONGEST_LINE} bytes")
        line = source.readline(LONGEST_LINE)
