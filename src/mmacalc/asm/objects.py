"""Extract machine code from hexadecimal text, objdump listings, raw bytes, ELF objects and offload bundles."""

from __future__ import annotations

import re
import struct

from ..base.errors import Error, how_to_install
from ..base.records import TupleRecord
from .reader import AMD_MNEMONICS, Reader, named_targets
from .targets import MACHINES, agreed, runs_on

__all__ = ["CodeFile", "Section", "elf_content", "read", "read_hexadecimal", "read_text"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

# llvm-objdump: `v_mfma... // 000000001900: D3CC8100 04022510`; llvm-mc -show-encoding: `; encoding: [0x00,0x81,...]`
_LISTED = re.compile(r"//\s*[0-9a-fA-F]+:\s*((?:[0-9a-fA-F]{8}\b[ \t]*)+)|encoding:\s*\[((?:0x[0-9a-fA-F]{2},?)+)\]")
_BUNDLE, _COMPRESSED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
_ELF_MACHINE = 224  # EM_AMDGPU
_EXECUTABLE, _NO_BITS = 0x4, "SHT_NOBITS"  # SHF_EXECINSTR
_GROUP = re.compile(r"(0[xX])?((?:[0-9a-fA-F]{2})+)")


class Section(TupleRecord):
    """Consecutive machine code: the name of its ELF section, empty where it comes from no object, and its bytes.

    address: where it lies in the object; None where that is not known. labels: address -> the names of the symbols
    there, of which `kernels` are entries of kernels.
    """

    name: str
    code: bytes
    address: int | None = None
    labels: dict[int, tuple[str, ...]] = {}
    kernels: frozenset[str] = frozenset()


class CodeFile(TupleRecord):
    """What a file holds: the compiler targets that it names, and machine code in sections, or assembly."""

    targets: tuple[str, ...]
    sections: tuple[Section, ...]
    assembly: str = ""


def read(content: bytes, name: str, arch: str | None = None) -> CodeFile:
    """The code in the content of a file.

    An ELF object gives its executable sections, and a bundle of clang's those of its object for `arch`; text gives its
    hexadecimal (groups of eight digits are words, as llvm-objdump prints them), the words of its listing, or is
    assembly; anything else is the code itself.

    Args:
        content, name: what is in the file, and how messages call it.
        arch: the architecture that the code is meant for, by any of its names; "gfx942:xnack+" chooses among the
            objects of a bundle. An object for another architecture is refused.

    Raises:
        Error: it has no code, is for another target, or needs pyelftools, which is missing.
    """
    if content.startswith((_BUNDLE, _COMPRESSED, b"\x7fELF")):
        return _elf(content, name, arch)
    text = _text(content)
    if text is None:
        return CodeFile((), (Section("", content),))
    nothing = f"no machine code found in '{name}': it is not an ELF object, hexadecimal text, a listing or assembly"
    return read_text(text, nothing, words=True)


def read_text(text: str, nothing: str, words: bool = False) -> CodeFile:
    """The code that a text spells: see `read` and `read_hexadecimal`.

    Raises:
        Error: it is neither hexadecimal nor a listing nor assembly; the message begins with `nothing`.
    """
    if listed := _LISTED.findall(text):
        code = b"".join(_words(words) if words else _bytes(octets) for words, octets in listed)
        return CodeFile((), (Section("", code),))
    if any(line.lower().startswith(AMD_MNEMONICS) for _, line in Reader(text).statements()):
        return CodeFile(named_targets(text), (), text)
    return CodeFile((), (Section("", read_hexadecimal(text, nothing, words)),))


def _text(content: bytes) -> str | None:
    """The content as text; None if it is binary."""
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return None
    return None if re.search(r"[^\s\x20-\x7e]", text) else text


def read_hexadecimal(text: str, nothing: str = "no hexadecimal", words: bool = False) -> bytes:
    """The code that hexadecimal text spells.

    Bytes are in memory order. Groups with 0x are words, and so are groups of eight digits when there are several
    (in a file: always), as llvm-objdump prints them: the highest digit first.

    Raises:
        Error: it is not hexadecimal, or empty; the message begins with `nothing`.

    >>> read_hexadecimal("0081ccd310250204") == read_hexadecimal("d3cc8100 04022510")
    True
    """
    groups = text.replace(",", " ").split()
    if wrong := [group for group in groups if not _GROUP.fullmatch(group)]:
        raise Error(
            f"{nothing}: cannot read '{wrong[0]}'; write bytes as 0081ccd310250204, or words as 0xd3cc8100 0x04022510"
        )
    if not groups:
        raise Error(f"{nothing}: it is empty")
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
        fitting = [entry for entry in entries if runs_on(entry.partition(":")[0], wanted)]
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


# --- ELF ---


def elf_content(content: bytes, name: str, arch: str | None) -> tuple[ELFFile, str, bytes]:
    """An ELF object for an AMD GPU, out of its bundle if it is in one: as pyelftools reads it, its target, its bytes.

    Raises:
        Error: it is none, is damaged, is for another target than `arch`, or pyelftools is missing.
    """
    from io import BytesIO

    if content.startswith(_BUNDLE):
        content = _unbundled(content, name, arch)
    if content.startswith(_COMPRESSED):
        raise Error(f"'{name}' is a compressed offload bundle; clang-offload-bundler --unbundle takes the object out")
    if not content.startswith(b"\x7fELF"):
        raise Error(f"'{name}' is not an ELF object; give a code object, such as clang's kernel.hsaco")
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise Error(
            f"'{name}' is an ELF object, and reading one needs pyelftools: {how_to_install('pyelftools')}"
        ) from None
    try:
        elf = ELFFile(BytesIO(content))
        machine, flags = int.from_bytes(content[18:20], "little"), elf.header["e_flags"]
        for section in elf.iter_sections():
            ascii(section.name)
    except (ELFError, ValueError, KeyError, OverflowError, AttributeError) as error:
        raise Error(f"'{name}' is a damaged ELF object: {error}") from None
    if machine != _ELF_MACHINE:
        raise Error(f"'{name}' is an ELF object of another processor; give the code object of an AMD GPU")
    return elf, _built_for(flags & 0xFF, name, arch and arch.partition(":")[0]), content


def _elf(content: bytes, name: str, arch: str | None) -> CodeFile:
    """The executable sections of an ELF object."""
    elf, target, content = elf_content(content, name, arch)
    headers = [(ascii(section.name)[1:-1], section.header) for section in elf.iter_sections()]
    sections = []
    symbols = _symbols(elf, name)
    kernels = frozenset(symbol.removesuffix(".kd") for _, _, symbol in symbols if symbol.endswith(".kd"))
    for number, (title, header) in enumerate(headers):
        if header["sh_flags"] & _EXECUTABLE and header["sh_type"] != _NO_BITS and header["sh_size"]:
            start, size = header["sh_offset"], header["sh_size"]
            if start + size > len(content):
                raise Error(
                    f"'{name}' is a damaged ELF object: its section {title} should end at byte {start + size}, and the "
                    f"file at {len(content)}"
                )
            labels: dict[int, tuple[str, ...]] = {}
            for place, value, symbol in symbols:
                if place == number and symbol not in labels.get(value, ()):
                    labels[value] = (*labels.get(value, ()), symbol)
            sections.append(Section(title, content[start : start + size], header["sh_addr"], labels, kernels))
    if not sections:
        raise Error(f"'{name}' is an ELF object without code: none of its sections is executable and has content")
    return CodeFile((target,), tuple(sections))


def _symbols(elf: ELFFile, name: str) -> list[tuple[object, int, str]]:
    """The named symbols of an object, but those of sections and files: (number of the section, address, name)."""
    from elftools.common.exceptions import ELFError

    try:
        return [
            (symbol["st_shndx"], symbol["st_value"], ascii(symbol.name)[1:-1])
            for section in elf.iter_sections()
            if section["sh_type"] in ("SHT_DYNSYM", "SHT_SYMTAB")
            for symbol in section.iter_symbols()  # type: ignore[attr-defined]
            if symbol.name and symbol["st_info"]["type"] not in ("STT_SECTION", "STT_FILE")
        ]
    except (ELFError, ValueError, KeyError, IndexError, OverflowError, AttributeError, TypeError) as error:
        raise Error(f"'{name}' is a damaged ELF object: its symbols cannot be read ({error})") from None


def _built_for(number: int, name: str, arch: str | None) -> str:
    """The target of a machine number.

    Raises:
        Error: the number is unknown, or its code does not run on `arch`.
    """
    target = MACHINES.get(number)
    if target is None:
        raise Error(f"'{name}' is an ELF object for an AMD GPU that is not known here (machine {number:#x})")
    if arch is not None:
        agreed(arch, (target,), f"'{name}', an ELF object,")
    return target
