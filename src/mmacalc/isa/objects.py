"""Machine code out of what people have: hexadecimal text, a listing of llvm-objdump, raw bytes, an ELF code object."""

from __future__ import annotations

import re
import struct

from ..catalog import architecture
from ..errors import Error

__all__ = ["read", "read_hexadecimal"]

# llvm-objdump: `v_mfma... // 000000001900: D3CC8100 04022510`; llvm-mc -show-encoding: `; encoding: [0x00,0x81,...]`
_LISTED = re.compile(r"//\s*[0-9a-fA-F]+:\s*((?:[0-9a-fA-F]{8}\b[ \t]*)+)|encoding:\s*\[((?:0x[0-9a-fA-F]{2},?)+)\]")
_BUNDLE, _COMPRESSED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
_ELF_MACHINE = 224
# e_flags & 0xff of an ELF object for AMD GPUs. Source: LLVM, AMDGPU usage, "AMDGPU EF_AMDGPU_MACH Values".
_MACHINES = {
    0x30: "gfx908", 0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950", 0x41: "gfx1100", 0x43: "gfx1150", 0x4A: "gfx1151",
    0x48: "gfx1200", 0x4E: "gfx1201", 0x49: "gfx1250", 0x5A: "gfx1251",
}  # fmt: skip
_GROUP = re.compile(r"(0[xX])?((?:[0-9a-fA-F]{2})+)")


def read(content: bytes, name: str, arch: str | None = None) -> bytes:
    """The code in the content of a file.

    An ELF object gives its .text, and what clang bundles for several targets that of the object for `arch`; text gives
    its hexadecimal (groups of eight digits are words, as llvm-objdump prints them) or the words of its listing;
    anything else is the code itself.

    Args:
        content, name: what is in the file, and how messages call it.
        arch: any name of the architecture that the code is meant for; an object for another is refused.

    Raises:
        Error: there is no code in it, it is for something else, or pyelftools is needed and missing.
    """
    if content.startswith(_BUNDLE):
        content = _unbundled(content, name, arch)
    if content.startswith(_COMPRESSED):
        raise Error(f"'{name}' is a compressed offload bundle; clang-offload-bundler --unbundle takes the object out")
    if content.startswith(b"\x7fELF"):
        return _text_section(content, name, arch)
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return content
    if not text.isprintable() and re.search(r"[^\s\x20-\x7e]", text):
        return content
    if listed := _LISTED.findall(text):
        return b"".join(_words(words) if words else _bytes(octets) for words, octets in listed)
    try:
        return read_hexadecimal(text, f"'{name}'", words=True)
    except Error as error:
        if "neither" not in str(error):
            raise
        raise Error(
            f"'{name}' has no code: it is no object, no hexadecimal, and no listing with the bytes of its "
            "instructions, as llvm-objdump -d writes it"
        ) from None


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


def _unbundled(content: bytes, name: str, arch: str | None) -> bytes:
    """The object for an architecture in a bundle. Source: clang, "Offload Bundler", layout of bundled code objects."""
    try:
        found, at = {}, len(_BUNDLE) + 8
        for _ in range(struct.unpack_from("<Q", content, at - 8)[0]):
            start, size, length = struct.unpack_from("<3Q", content, at)
            at += 24 + length
            target = content[at - length : at].decode().rpartition("--")[2]  # hipv4-amdgcn-amd-amdhsa--gfx942:xnack+
            if target.startswith("gfx"):
                found[target.split(":")[0]] = content[start : start + size]
    except (struct.error, UnicodeDecodeError):
        raise Error(f"'{name}' is a damaged offload bundle") from None
    for target, code in found.items():
        if arch is None or _same(target, arch):
            return code
    raise Error(f"'{name}' is an offload bundle without code for {arch}; it has {', '.join(found) or 'none for AMD'}")


def _same(target: str, arch: str) -> bool:
    """Whether a compiler target and a name mean one architecture."""
    try:
        return architecture(target).name == architecture(arch).name
    except Error:
        return target == arch


def _text_section(content: bytes, name: str, arch: str | None) -> bytes:
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
        elf = ELFFile(BytesIO(content))
        machine, flags = content[18:20], elf.header["e_flags"]
        section = elf.get_section_by_name(".text")
        code = None if section is None else bytes(section.data())
    except (ELFError, ValueError, KeyError, OverflowError) as error:
        raise Error(f"'{name}' is a damaged ELF object: {error}") from None
    if int.from_bytes(machine, "little") != _ELF_MACHINE:
        raise Error(f"'{name}' is an ELF object of another processor; give the code object of an AMD GPU")
    built = _MACHINES.get(flags & 0xFF)
    if built and arch is not None and not _same(built, arch):
        raise Error(f"'{name}' is an ELF object for {built}, not for {arch}; give -a {built}")
    if not code:
        raise Error(f"'{name}' is an ELF object without code: it has no .text, or an empty one")
    return code
