"""Files that are written whole or not at all, and their names."""

from __future__ import annotations

import errno
import os
import time

from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["file_name", "reason", "write"]


def file_name(path: str) -> bytes:
    """A path as the system has it: in its encoding, or where that lacks a character in UTF-8."""
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape")


def reason(problem: Exception) -> str:
    """Why the system refuses a file, in its own words."""
    if isinstance(problem, ValueError):  # it has a NUL, or a character that the system's encoding lacks
        return "its name is not a valid file name on this system"
    return getattr(problem, "strerror", None) or str(problem)


def write(contents: Mapping[str, bytes], inputs: Iterable[str] = ()) -> None:
    """Write files: all of them, or none.

    Each is written to a file beside it, which then takes its name. What is not a regular file (a pipe, a device) is
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
        raise Error(f"'{path}' cannot be written: {reason(problem)}", kind="file", file=path) from None
    finally:
        for name in beside.values():
            os.unlink(name)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(file_name(one), file_name(other))
    except (OSError, ValueError):
        return False


def _target(path: str) -> bytes:
    """The file itself, where the path is a symbolic link.

    Raises:
        OSError: links that lead to each other. ValueError: a name that no file can have.
    """
    name = file_name(path)
    if os.path.islink(name) and not os.path.exists(name):
        _check_links(name)
    return os.path.realpath(name) if os.path.islink(name) else name


def _check_links(name: bytes) -> None:
    """Refuse links that lead to each other; one to what does not exist yet is written through."""
    try:
        os.stat(name)
    except FileNotFoundError:
        return


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
