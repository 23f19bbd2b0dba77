"""Machine code out of what people have: hexadecimal text, a listing of llvm-objdump, raw bytes, an ELF code object."""

from __future__ import annotations

import re

from ..errors import Error

__all__ = ["read", "read_hexadecimal"]

# llvm-objdump: `v_mfma... // 000000001900: D3CC8100 04022510`; llvm-mc -show-encoding: `; encoding: [0x00,0x81,...]`
_LISTED = re.compile(r"//\s*[0-9a-fA-F]+:\s*((?:[0-9a-fA-F]{8}\b[ \t]*)+)|encoding:\s*\[((?:0x[0-9a-fA-F]{2},?)+)\]")
_GROUP = re.compile(r"(0[xX])?((?:[0-9a-fA-F]{2})+)")


def read(content: bytes, name: str) -> bytes:
    """The code in the content of a file.

    An ELF object gives its .text; text gives its hexadecimal (groups of eight digits are words, as llvm-objdump
    prints them) or the words of its listing; anything else is the code itself.

    Raises:
        Error: there is no code in it, or pyelftools is needed and missing.
    """
    if content.startswith(b"\x7fELF"):
        return _text_section(content, name)
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return content
    if not text.isprintable() and re.search(r"[^\s\x20-\x7e]", text):
        return content
    if listed := _LISTED.findall(text):
        return b"".join(_words(words) if words else _bytes(octets) for words, octets in listed)
    return read_hexadecimal(text, name, words=True)


def read_hexadecimal(text: str, name: str, words: bool = False) -> bytes:
    """The code that hexadecimal text spells.

    Bytes stand in memory order. Groups with 0x are words, and so are groups of eight digits when there are several
    (in a file: always), as llvm-objdump prints them: the highest digit first.

    Raises:
        Error: it is not hexadecimal, or empty.

    >>> read_hexadecimal("0081ccd310250204", "it") == read_hexadecimal("d3cc8100 04022510", "it")
    True
    """
    groups = text.replace(",", " ").split()
    if wrong := [group for group in groups if not _GROUP.fullmatch(group)]:
        raise Error(
            f"{name} is neither a file nor hexadecimal: cannot read '{wrong[0][:40]}'; write bytes as "
            "0081ccd310250204 or words as 0xd3cc8100 0x04022510"
        )
    if not groups:
        raise Error(f"{name} holds no code")
    if all(len(group) == 8 for group in groups) and (words or len(groups) > 1):
        return _words(text.replace(",", " "))
    return b"".join(_group(group) for group in groups)


def _group(group: str) -> bytes:
    return bytes.fromhex(group[2:])[::-1] if group[:2] in ("0x", "0X") else bytes.fromhex(group)


def _words(text: str) -> bytes:
    return b"".join(bytes.fromhex(word)[::-1] for word in text.split())


def _bytes(text: str) -> bytes:
    return bytes(int(octet, 16) for octet in text.split(",") if octet)


def _text_section(content: bytes, name: str) -> bytes:
    """The .text of an ELF object."""
    from io import BytesIO

    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise Error(
            f"'{name}' is an ELF object, and reading one needs pyelftools: install mmacalc[elf] or pyelftools"
        ) from None
    try:
        section = ELFFile(BytesIO(content)).get_section_by_name(".text")
        code = None if section is None else bytes(section.data())
    except (ELFError, ValueError, KeyError, OverflowError) as error:
        raise Error(f"'{name}' is a damaged ELF object: {error}") from None
    if not code:
        raise Error(f"'{name}' is an ELF object without code: it has no .text, or an empty one")
    return code
