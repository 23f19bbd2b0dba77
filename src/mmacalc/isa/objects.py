"""Extract machine code from hexadecimal text, objdump listings, raw bytes, ELF objects and offload bundles."""

from __future__ import annotations

import re
import struct
from collections import namedtuple

from ..catalog import architecture
from ..errors import Error
from .elf_machines import GENERIC, MACHINES

__all__ = ["CodeFile", "Section", "read", "read_hexadecimal"]

# llvm-objdump: `v_mfma... // 000000001900: D3CC8100 04022510`; llvm-mc -show-encoding: `; encoding: [0x00,0x81,...]`
_LISTED = re.compile(r"//\s*[0-9a-fA-F]+:\s*((?:[0-9a-fA-F]{8}\b[ \t]*)+)|encoding:\s*\[((?:0x[0-9a-fA-F]{2},?)+)\]")
_BUNDLE, _COMPRESSED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
_ELF_MACHINE = 224  # EM_AMDGPU
_EXECUTABLE, _NO_BITS = 0x4, "SHT_NOBITS"  # SHF_EXECINSTR
_GROUP = re.compile(r"(0[xX])?((?:[0-9a-fA-F]{2})+)")


class Section(namedtuple("Section", "name code")):
    """Consecutive machine code: the name of its ELF section, empty where it comes from no object, and its bytes."""

    __slots__ = ()
    name: str
    code: bytes


class CodeFile(namedtuple("CodeFile", "target sections")):
    """The code of a file: the compiler target that the file names, None if it names none, and its sections."""

    __slots__ = ()
    target: str | None
    sections: tuple[Section, ...]


def read(content: bytes, name: str, arch: str | None = None) -> CodeFile:
    """The code in the content of a file.

    An ELF object gives its executable sections, and a bundle of clang's those of its object for `arch`; text gives its
    hexadecimal (groups of eight digits are words, as llvm-objdump prints them) or the words of its listing; anything
    else is the code itself.

    Args:
        content, name: what is in the file, and how messages call it.
        arch: the architecture that the code is meant for, by any of its names; "gfx942:xnack+" chooses among the
            objects of a bundle. An object for another architecture is refused.

    Raises:
        Error: there is no code in it, it is for something else, or pyelftools is needed and missing.
    """
    if content.startswith(_BUNDLE):
        content = _unbundled(content, name, arch)
    if content.startswith(_COMPRESSED):
        raise Error(f"'{name}' is a compressed offload bundle; clang-offload-bundler --unbundle takes the object out")
    if content.startswith(b"\x7fELF"):
        return _elf(content, name, arch and arch.partition(":")[0])
    text = _text(content)
    if text is None:
        return CodeFile(None, (Section("", content),))
    if listed := _LISTED.findall(text):
        code = b"".join(_words(words) if words else _bytes(octets) for words, octets in listed)
        return CodeFile(None, (Section("", code),))
    if not text.strip():
        raise Error(f"'{name}' is empty")
    try:
        return CodeFile(None, (Section("", read_hexadecimal(text, f"'{name}'", words=True)),))
    except Error:
        raise Error(
            f"no machine code found in '{name}': it is no ELF object, no hexadecimal, and no listing with the bytes "
            "of its instructions, as llvm-objdump -d writes it"
        ) from None


def _text(content: bytes) -> str | None:
    """The content as text; None if it is binary."""
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return None
    return None if re.search(r"[^\s\x20-\x7e]", text) else text


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
        raise Error(f"{name} has no code")
    if all(len(group) == 8 for group in groups) and (words or len(groups) > 1):
        return _words(text.replace(",", " "))
    return b"".join(_group(group) for group in groups)


def _group(group: str) -> bytes:
    return bytes.fromhex(group[2:])[::-1] if group[:2] in ("0x", "0X") else bytes.fromhex(group)


def _words(text: str) -> bytes:
    return b"".join(bytes.fromhex(word)[::-1] for word in text.split())


def _bytes(text: str) -> bytes:
    return bytes(int(octet, 16) for octet in text.split(",") if octet)


# --- offload bundles ---


def _unbundled(content: bytes, name: str, arch: str | None) -> bytes:
    """The object for an architecture in a bundle. Source: clang, "Offload Bundler", layout of bundled code objects."""
    entries = _entries(content, name)
    listed = ", ".join(entries) or "none for AMD"
    if arch is None:
        fitting = list(entries)
    else:
        wanted, _, features = arch.lower().partition(":")
        fitting = [entry for entry in entries if _runs_on(entry.partition(":")[0], wanted)]
        if features:
            fitting = [entry for entry in fitting if entry.partition(":")[2] == features]
    if len(fitting) == 1:
        return entries[fitting[0]]
    if not fitting:
        meant = "an AMD GPU" if arch is None else arch
        raise Error(f"'{name}' is an offload bundle without code for {meant}; it has {listed}")
    raise Error(f"'{name}' is an offload bundle with several objects to choose from; give one as -a: {listed}")


def _entries(content: bytes, name: str) -> dict[str, bytes]:
    """The AMD objects of a bundle by their targets, such as gfx942:xnack+."""
    entries = {}
    try:
        at = len(_BUNDLE) + 8
        for _ in range(struct.unpack_from("<Q", content, at - 8)[0]):
            start, size, length = struct.unpack_from("<3Q", content, at)
            at += 24 + length
            target = content[at - length : at].decode("ascii").rpartition("--")[2]  # hipv4-amdgcn-amd-amdhsa--gfx942
            if at > len(content) or start + size > len(content):
                raise Error(f"'{name}' is a damaged offload bundle: it ends before its objects do")
            if target.startswith("gfx"):
                entries[target.lower()] = content[start : start + size]
    except (struct.error, UnicodeDecodeError):
        raise Error(f"'{name}' is a damaged offload bundle") from None
    return entries


def _runs_on(target: str, arch: str) -> bool:
    """Whether code for a compiler target, perhaps a generic one, runs on an architecture."""
    meant = architecture(arch)
    names = {meant.name, *meant.aliases, *meant.targets}
    return not names.isdisjoint(GENERIC.get(target, (target,)))


# --- ELF ---


def _elf(content: bytes, name: str, arch: str | None) -> CodeFile:
    """The executable sections of an ELF object."""
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
        machine, flags = int.from_bytes(content[18:20], "little"), elf.header["e_flags"]
        headers = [(ascii(section.name)[1:-1], section.header) for section in elf.iter_sections()]
    except (ELFError, ValueError, KeyError, OverflowError, AttributeError) as error:
        raise Error(f"'{name}' is a damaged ELF object: {error}") from None
    if machine != _ELF_MACHINE:
        raise Error(f"'{name}' is an ELF object of another processor; give the code object of an AMD GPU")
    target = _built_for(flags & 0xFF, name, arch)
    sections = []
    for title, header in headers:
        if header["sh_flags"] & _EXECUTABLE and header["sh_type"] != _NO_BITS and header["sh_size"]:
            start, size = header["sh_offset"], header["sh_size"]
            if start + size > len(content):
                raise Error(
                    f"'{name}' is a damaged ELF object: its section {title} should end at byte {start + size}, and the "
                    f"file at {len(content)}"
                )
            sections.append(Section(title, content[start : start + size]))
    if not sections:
        raise Error(f"'{name}' is an ELF object without code: none of its sections is executable and has content")
    return CodeFile(target, tuple(sections))


def _built_for(number: int, name: str, arch: str | None) -> str:
    """The target of a machine number.

    Raises:
        Error: the number is unknown, or its code does not run on `arch`.
    """
    target = MACHINES.get(number)
    if target is None:
        raise Error(f"'{name}' is an ELF object for an AMD GPU that LLVM 22 does not know (machine {number:#x})")
    if arch is not None and not _runs_on(target, arch):
        members = GENERIC.get(target)
        what = f"the generic target {target}, which runs on {', '.join(members)}" if members else target
        raise Error(f"'{name}' is an ELF object for {what}, not for {arch}")
    return target
