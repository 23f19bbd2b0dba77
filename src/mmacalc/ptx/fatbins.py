"""The PTX in nvcc's fatbins, and in objects and programs that hold one.

The container is not documented; its fields are those that nvcc 12 and 13 write (a header of 16 bytes, then entries with
64 bytes in front of each), as `nvcc -fatbin` with and without --no-compress shows.
"""

from __future__ import annotations

import struct

from ..base.errors import Error, how_to_install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ptx_texts"]

MAGIC = 0xBA55ED50
PTX, LZ4, ZSTD = 1, 0x2000, 0x8000
LARGEST = 1 << 28


def ptx_texts(content: bytes, name: str) -> list[str]:
    """The PTX of every fatbin in some bytes.

    Raises:
        Error: there is none, it is damaged, or it is compressed in a way that this Python cannot undo.
    """
    found: list[str] = []
    cubins, at = 0, content.find(MAGIC.to_bytes(4, "little"))
    while at >= 0:
        if at + 16 > len(content):
            raise Error(f"'{name}' is a damaged fatbin: it ends within a header")
        _, _, header, size = struct.unpack_from("<IHHQ", content, at)
        for kind, text in _entries(content[at + header : at + header + size], name):
            if kind == PTX:
                found.append(text)
            else:
                cubins += 1
        at = content.find(MAGIC.to_bytes(4, "little"), at + header + size)
    if not found:
        raise Error(f"'{name}' is a fatbin with machine code alone, without PTX; compile with "
                    "-gencode arch=compute_90,code=compute_90, or nvcc -ptx")  # fmt: skip
    return list(dict.fromkeys(found))


def _entries(part: bytes, name: str) -> Iterator[tuple[int, str]]:
    at = 0
    while at + 64 <= len(part):
        kind, _, header, size, packed = struct.unpack_from("<HHIQI", part, at)
        flags, _, whole = struct.unpack_from("<QQQ", part, at + 40)
        if header < 64 or at + header + size > len(part) or whole > LARGEST:
            raise Error(f"'{name}' is a damaged fatbin: an entry is longer than the file")
        payload = part[at + header : at + header + size]
        text = ""
        if kind == PTX:
            if flags & ZSTD:
                payload = _zstd(payload[:packed] if packed else payload, name)
            elif flags & LZ4:
                payload = _lz4(payload[:packed], whole, name)
            text = payload.rstrip(b"\0").decode("utf-8", "replace")
        yield kind, text
        at += header + size


def _zstd(data: bytes, name: str) -> bytes:
    try:
        return bytes(_decompressor(name)(data))
    except Error:
        raise
    except Exception as problem:  # its own ZstdError
        raise Error(f"'{name}' is a damaged fatbin: {problem}") from None


def _decompressor(name: str) -> Callable[[bytes], bytes]:
    """Python 3.14's zstd, or that of the package zstandard."""
    from importlib import import_module

    try:
        found: Callable[[bytes], bytes] = import_module("compression.zstd").decompress
        return found
    except ImportError:
        pass
    try:
        of_package: Callable[[bytes], bytes] = import_module("zstandard").ZstdDecompressor().decompressobj().decompress
        return of_package
    except ImportError:
        raise Error(
            f"the PTX in '{name}' is compressed with zstd, which Python reads from 3.14 on, or with the package "
            f"zstandard: {how_to_install('zstandard')}; or compile with nvcc --no-compress"
        ) from None


def _lz4(data: bytes, size: int, name: str) -> bytes:
    """A block of LZ4 (lz4_Block_format.md)."""
    found, at = bytearray(), 0

    def length(short: int, at: int) -> tuple[int, int]:
        total = short
        while short == 15:
            more = data[at]
            at += 1
            total += more
            if more != 255:
                break
        return total, at

    try:
        while at < len(data) and len(found) < size:
            token = data[at]
            literals, at = length(token >> 4, at + 1)
            found += data[at : at + literals]
            at += literals
            if at >= len(data):
                break
            back = data[at] | data[at + 1] << 8
            copied, at = length(token & 15, at + 2)
            if not 0 < back <= len(found):
                raise IndexError
            for _ in range(copied + 4):
                found.append(found[-back])
    except IndexError:
        raise Error(f"'{name}' is a damaged fatbin: its compressed PTX cannot be read") from None
    return bytes(found)
