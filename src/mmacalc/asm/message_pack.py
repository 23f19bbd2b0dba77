"""MessagePack, as far as the metadata of code objects has it: maps, arrays, strings, integers, booleans, floats.

Source: msgpack.org, "MessagePack specification".
"""

from __future__ import annotations

import struct

from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["unpacked"]

_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h",
            0xD2: ">i", 0xD3: ">q"}  # fmt: skip
_SIZED = {0xC4: ("bytes", ">B"), 0xC5: ("bytes", ">H"), 0xC6: ("bytes", ">I"), 0xD9: ("text", ">B"),
          0xDA: ("text", ">H"), 0xDB: ("text", ">I"), 0xDC: ("array", ">H"), 0xDD: ("array", ">I"),
          0xDE: ("map", ">H"), 0xDF: ("map", ">I")}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def unpacked(content: bytes) -> Any:
    """The value that the bytes begin with.

    Raises:
        Error: they are not MessagePack.

    >>> unpacked(bytes.fromhex("82a16101a16293c3f6cd0100"))
    {'a': 1, 'b': [True, -10, 256]}
    """
    try:
        return _value(content, 0)[0]
    except (struct.error, IndexError, UnicodeDecodeError, RecursionError, TypeError):
        raise Error("the metadata note is damaged: it is not MessagePack") from None


def _value(content: bytes, at: int) -> tuple[Any, int]:
    code = content[at]
    at += 1
    if code < 0x80:
        return code, at
    if code >= 0xE0:
        return code - 0x100, at
    if code in _CONSTANTS:
        return _CONSTANTS[code], at
    if code in _NUMBERS:
        return struct.unpack_from(_NUMBERS[code], content, at)[0], at + struct.calcsize(_NUMBERS[code])
    if code in _SIZED:
        kind, size = _SIZED[code]
        return _sized(kind, struct.unpack_from(size, content, at)[0], content, at + struct.calcsize(size))
    if code >= 0xC0:
        raise TypeError(f"extension {code:#x}")
    if code >= 0xA0:
        return _sized("text", code & 31, content, at)
    return _sized("array" if code >= 0x90 else "map", code & 15, content, at)


def _sized(kind: str, count: int, content: bytes, at: int) -> tuple[Any, int]:
    if kind in ("text", "bytes"):
        part = content[at : at + count]
        if len(part) < count:
            raise IndexError
        return part.decode() if kind == "text" else part, at + count
    values = []
    for _ in range(count if kind == "array" else 2 * count):
        value, at = _value(content, at)
        values.append(value)
    return values if kind == "array" else dict(zip(values[::2], values[1::2])), at
