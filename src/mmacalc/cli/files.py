"""Files and streams of the command line: text is UTF-8 whatever the locale, and files are written whole or not at all.

Bytes that are not UTF-8 are kept as PEP 383 has it (surrogateescape); a byte order mark is passed over.
"""

from __future__ import annotations

import errno
import os
import sys
import time

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

__all__ = ["as_text", "lines", "read_bytes", "read_text", "write"]

LONGEST_LINE = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_taken = ""
"""Who reads standard input: the name of a command whose lines are command lines, or nobody."""


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


def as_text(data: bytes) -> str:
    """Bytes as text whose lines end with a line feed."""
    text = data.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def standard_input() -> BinaryIO:
    """Standard input as bytes.

    Raises:
        Error: it is closed, or another command reads it already.
    """
    if _taken:
        raise Error(f"standard input holds the lines of `mmacalc {_taken}`, so none of them can read it; give a file")
    if sys.stdin is None:
        raise Error("standard input is closed; give a file")
    return sys.stdin.buffer


def file_name(path: str) -> bytes:
    """A path as the system has it: in its encoding, or where that lacks a character in UTF-8."""
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape")


def unreadable(path: str, problem: Exception) -> Error:
    """The error for a file that the system does not read."""
    return problem if isinstance(problem, Error) else Error(f"cannot read '{path}': {_reason(problem)}")


def _reason(problem: Exception) -> str:
    if isinstance(problem, UnicodeEncodeError):
        return "its name is no file name of this system"
    return getattr(problem, "strerror", None) or str(problem)


# --- line by line -----------------------------------------------------------------------------------------------------


def lines(paths: Iterable[str], command: str) -> Iterator[str | Error]:
    """The lines of files, or of standard input if there are none, each as soon as it comes, without its end.

    A line longer than LONGEST_LINE is an `Error` in its place. While standard input is read, nobody else may.

    Raises:
        Error: a file cannot be read, or standard input is closed. All are opened before the first line comes.
    """
    global _taken
    opened = []
    for path in paths:
        try:
            opened.append(open(file_name(path), "rb"))  # noqa: SIM115 (closed below)
        except (OSError, ValueError) as problem:
            raise unreadable(path, problem) from None
    sources: list[BinaryIO] = [*opened] or [standard_input()]
    _taken = command
    try:
        for source in sources:
            yield from _lines(source)
    except OSError as problem:
        raise Error(f"the lines cannot be read further: {_reason(problem)}") from None
    finally:
        _taken = ""
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


# --- writing ----------------------------------------------------------------------------------------------------------


def write(contents: Mapping[str, bytes], inputs: Iterable[str] = ()) -> None:
    """Write files: all of them, or none.

    Each is written to a file beside it, which then takes its name. What is no regular file (a pipe, a device) is
    written to as it is.

    Args:
        contents: what to write, by path.
        inputs: files that the command read, none of which it may replace.

    Raises:
        Error: a file cannot be written, or is an input.
    """
    given = [path for path in inputs if path != "-"]
    for path in contents:
        if clash := next((name for name in given if _same(path, name)), None):
            raise Error(f"'{path}' would replace '{clash}', which is an input; write to another file")
    beside: dict[bytes, bytes] = {}
    try:
        for path, content in contents.items():
            target = _target(path)
            if not os.path.exists(target) or os.path.isfile(target):
                beside[target] = _written_beside(target, content)
        for path, content in contents.items():
            target = _target(path)
            if target in beside:
                os.replace(beside[target], target)
                del beside[target]
            else:
                with open(target, "wb", buffering=0) as file:
                    file.write(content)
    except (OSError, ValueError) as problem:
        raise Error(f"'{path}' cannot be written: {_reason(problem)}") from None
    finally:
        for name in beside.values():
            os.unlink(name)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(file_name(one), file_name(other))
    except (OSError, ValueError):
        return False


def _target(path: str) -> bytes:
    """The file itself, where the path is a symbolic link."""
    name = file_name(path)
    return os.path.realpath(name) if os.path.islink(name) else name


def _written_beside(target: bytes, content: bytes) -> bytes:
    """A new file with this content in the directory of the target, with the target's permissions."""
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if not target:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    name = os.path.join(os.path.dirname(target), b".mmacalc-%d-%d" % (os.getpid(), time.time_ns()))
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)  # a full disk may be noticed only here
        if os.path.exists(target):
            os.chmod(name, os.stat(target).st_mode & 0o7777)
    except BaseException:
        os.unlink(name)
        raise
    return name
