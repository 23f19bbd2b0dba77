"""Matrices in files: .npy, a member of an .npz, or CSV, known by what they hold; .npy or .csv to write.

Nothing is unpickled, and what the header of an .npy claims is not believed further than the file goes.
"""

from __future__ import annotations

from io import BytesIO
from math import prod

import numpy as np

from ..base.checks import number, real
from ..base.errors import Error
from .files import as_text, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO, Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["content", "file_of", "load"]

LARGEST_EXPANDED, RATIO = 1 << 26, 100  # of a member of an .npz: bytes, and their number to that of compressed ones
NPY, ZIP = b"\x93NUMPY", b"PK\x03\x04"


def file_of(path: str) -> str:
    """The file of a path, without the name of the member that may follow the file: `x.npz:a`."""
    file, colon, _ = path.rpartition(":")
    return file if colon and file.lower().endswith(".npz") else path


def load(option: str, path: str, shape: Sequence[int], codes: bool) -> Array:
    """A matrix from a file. A CSV file has one row a line; blocks stand below one another.

    Args:
        option: what gave the path, for messages.
        path: .npy, .npz, .npz:member or CSV.
        shape: of three sizes if the matrix has blocks.
        codes: whether the cells of CSV are whole numbers (decimal or 0x), not floats.

    Raises:
        Error: it cannot be read, or is not a matrix.
    """
    if not path:
        raise Error(f"{option} was given an empty name; it takes a file")
    file = file_of(path)
    try:
        data = read_bytes(file)
        if data.startswith(ZIP):
            array = _member(data, path[len(file) + 1 :])
        elif data.startswith(NPY):
            array = _npy(data)
        else:
            array = _csv(as_text(data), codes)
    except Error as problem:
        raise Error(f"{option}: {problem}", kind=problem.kind, file=problem.file) from None
    except (ValueError, TypeError, OverflowError) as problem:
        raise Error(f"{option} {path} cannot be read: {problem}", kind="file", file=path) from None
    return array.reshape(shape) if len(shape) == 3 and array.size == prod(shape) else array


def _member(data: bytes, name: str) -> Array:
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(BytesIO(data)) as archive:
            members = {entry.removesuffix(".npy"): entry for entry in archive.namelist()}
            if not name and len(members) == 1:
                (name,) = members
            if name not in members:
                which = f"has no array '{name}'" if name else "holds several arrays"
                raise ValueError(f"it {which}; say which as FILE.npz:NAME: {', '.join(members)}")
            with archive.open(members[name]) as member:
                _header(member)
            sizes = archive.getinfo(members[name])
            if sizes.file_size > LARGEST_EXPANDED and sizes.file_size > RATIO * sizes.compress_size:
                raise ValueError(
                    f"it is {sizes.compress_size} bytes that expand to {sizes.file_size}; save what is meant so as .npy"
                )
            return _npy(archive.read(members[name]))
    except (BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as problem:
        raise ValueError(f"it is a damaged .npz: {problem}") from None


def _npy(data: bytes) -> Array:
    """An array in .npy's format, its size checked before memory is asked for."""
    stream = BytesIO(data)
    shape, fortran, kind = _header(stream)
    held, needed = len(data) - stream.tell(), prod(shape) * kind.itemsize
    if needed > held:
        sizes = "x".join(map(str, shape))
        raise ValueError(f"it is cut short: {sizes} of {kind} are {needed} bytes, and {held} are there")
    flat = np.frombuffer(data, kind, prod(shape), stream.tell())
    return flat.reshape(shape, order="F" if fortran else "C")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, Any]:
    """The shape of an array in .npy's format, whether it is column by column, and its type.

    Raises:
        ValueError: it is not an array, or not of numbers.
    """
    npy_format: Any = np.lib.format  # which is untyped before NumPy 2.3
    try:
        version = npy_format.read_magic(stream)
    except ValueError:
        raise ValueError("it is not in the .npy format, or cut short") from None
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"it has version {version[0]}.{version[1]} of the .npy format, that of named fields")
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    try:
        shape, fortran, kind = read(stream)
    except Exception:  # the tokenizer's and the parser's errors, of which there are many, in NumPy's words
        raise ValueError("its header is none of .npy, which says type, order and shape") from None
    if min(shape, default=0) < 0 or kind.itemsize == 0:
        raise ValueError(f"its header has the shape {shape} of {kind}, which no array has")
    if kind.kind not in "biufcV" or kind.names:  # bfloat16 and the small floats are V
        what = {"O": "Python objects", "M": "dates", "m": "dates", "V": "records"}.get(kind.kind, "text")
        raise ValueError(f"it holds {what}; save it with a type of numbers")
    return shape, fortran, kind


def _csv(text: str, codes: bool) -> Array:
    rows = [line.replace(",", " ").split() for line in text.split("\n") if line.strip()]
    if lengths := {len(row) for row in rows} - {len(rows[0])} if rows else {0}:
        raise ValueError(f"its rows have {len(rows[0]) if rows else 0} and {lengths.pop()} numbers")
    if codes:
        return np.array([[_code(cell) for cell in row] for row in rows], np.uint64)
    return np.array([[_value(cell) for cell in row] for row in rows], np.float64)


def _value(cell: str) -> float:
    if (value := real(cell)) is None:
        raise ValueError(f"'{cell[:40]}' is not a number")
    return value


def _code(cell: str) -> int:
    value = number(cell, (1 << 64) - 1)
    if value is None:
        raise ValueError(f"'{cell[:40]}' is not an encoding: a whole number from 0 up, decimal or 0x")
    return value


def content(option: str, path: str, array: Array) -> bytes:
    """What to write for an array to a file of that name.

    Raises:
        Error: the name ends neither in .npy nor in .csv.
    """
    lower = path.lower()
    if lower.endswith(".npy"):
        stream = BytesIO()
        np.save(stream, array, allow_pickle=False)
        return stream.getvalue()
    if lower.endswith(".csv"):
        rows = array.reshape(-1, array.shape[-1]).tolist()
        return "".join(",".join(map(repr, row)) + "\n" for row in rows).encode("ascii")
    raise Error(f"{option} takes a file that ends in .npy or .csv; got '{path}'")
