"""A text as a program: sections, labels and data around instructions, as clang -S and Triton write them.

The code is what the executable sections hold, one after another in the order in which they first appear. Sections of
data are read and left out, and so is what describes the object: symbols, kernel descriptors, metadata, debug lines.
Labels mean places of their own section; what needs a linker (addresses, symbols of other sections) is refused.
"""

from __future__ import annotations

import ast
import re

from ..base.errors import Error
from ..base.records import TupleRecord
from .tokens import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["Item", "Piece", "laid_out", "wave_named"]

_SIZES = {
    ".byte": 1, ".short": 2, ".2byte": 2, ".hword": 2, ".half": 2, ".long": 4, ".int": 4, ".4byte": 4, ".quad": 8,
    ".8byte": 8,
}  # fmt: skip
_SECTIONS = (".text", ".data", ".bss", ".rodata", ".section", ".pushsection", ".popsection", ".previous")
# What says something about the object, not about the code.
_SAID = (
    ".globl", ".global", ".weak", ".hidden", ".protected", ".internal", ".local", ".comm", ".type", ".size", ".file",
    ".loc", ".ident", ".addrsig", ".addrsig_sym", ".amdgcn_target", ".amd_amdgpu_isa", ".amdgpu_metadata",
    ".hsa_code_object_version", ".hsa_code_object_isa", ".amdgpu_hsa_kernel", ".set", ".equ", ".cfi_", ".amdhsa_",
    ".end_amdhsa_kernel", ".end_amdgpu_metadata", ".variant_pcs", ".section_end", ".amdgpu_lds",
)  # fmt: skip
_NOP = bytes.fromhex("000080bf")  # s_nop 0 of every target: what LLVM fills code with
_WAVE = re.compile(r"^\s*\.amdhsa_wavefront_size32\s+([01])\b", re.M)
_MOST = 1 << 26  # bytes of a section


class Item(TupleRecord):
    """A statement of a text: its number among them, its line, the labels before it, and its text."""

    number: int
    line: int
    labels: tuple[str, ...]
    text: str


class Piece(TupleRecord):
    """What a statement became: its number and text, and its bytes; instruction: whether it is one."""

    number: int
    text: str
    code: bytes
    instruction: bool


def wave_named(text: str) -> int | None:
    """The wave size that the kernels of a text name, if they agree.

    >>> wave_named(".amdhsa_wavefront_size32 0")
    64
    """
    found = set(_WAVE.findall(text))
    return {"1": 32, "0": 64}[found.pop()] if len(found) == 1 else None


class _Sections:
    """Which section statements are in; of every one its size, labels and pieces."""

    def __init__(self) -> None:
        self.current = ".text"
        self.executable = {".text": True}
        self.before: list[str] = []
        self.pushed: list[str] = []
        self.sizes: dict[str, int] = {".text": 0}
        self.labels: dict[str, dict[str, int]] = {}
        self.numeric: dict[str, dict[str, list[int]]] = {}  # of labels such as 1, which there may be several of
        self.pieces: dict[str, list[Piece]] = {".text": []}

    def switch(self, name: str, words: Sequence[str]) -> None:
        """To the section of a directive."""
        if name in (".popsection", ".previous"):
            stack = self.pushed if name == ".popsection" else self.before
            if not stack:
                raise Error(f"{name}: there is no section to go back to")
            self.before, self.current = [self.current], stack.pop()
            return
        if name == ".pushsection":
            self.pushed.append(self.current)
        named = name if name not in (".section", ".pushsection") else (words[0].strip('"') if words else "")
        if not named:
            raise Error(f"{name} names no section")
        flags = words[1].strip('"') if len(words) > 1 else ""
        code = "x" in flags or named == ".text" or named.startswith(".text.")
        self.before, self.current = [self.current], named
        self.executable.setdefault(named, code)
        self.sizes.setdefault(named, 0)
        self.pieces.setdefault(named, [])


def laid_out(
    items: Iterable[Item],
    encode: Callable[[Item, int, Mapping[str, int | None]], bytes],
    symbols: Mapping[str, int],
) -> list[Piece]:
    """The pieces of the code of a program.

    Args:
        items: its statements. encode: the bytes of an instruction at an address, with the places of labels, which are
            None in the first pass; its size is the same in both. symbols: values of names in numbers.

    Raises:
        Error: with the number of the line.
    """
    listed = list(items)
    first = _pass(listed, encode, symbols, None)
    second = _pass(listed, encode, symbols, first) if first.labels or first.numeric else first
    return [piece for name, pieces in second.pieces.items() if second.executable[name] for piece in pieces]


def _pass(
    items: Sequence[Item],
    encode: Callable[[Item, int, Mapping[str, int | None]], bytes],
    symbols: Mapping[str, int],
    known: _Sections | None,
) -> _Sections:
    found = _Sections()
    every = {label for item in items for label in item.labels}
    for item in items:
        try:
            _place(found, item, encode, symbols, known, every)
        except Error as error:
            raise Error(f"line {item.line}: {error}") from None
    return found


def _place(
    found: _Sections,
    item: Item,
    encode: Callable[[Item, int, Mapping[str, int | None]], bytes],
    symbols: Mapping[str, int],
    known: _Sections | None,
    every: set[str],
) -> None:
    section = found.current
    for label in item.labels:
        if label.isdigit():
            found.numeric.setdefault(section, {}).setdefault(label, []).append(found.sizes[section])
            continue
        own = found.labels.setdefault(section, {})
        if label in own:
            raise Error(f"the label {label} is defined twice")
        own[label] = found.sizes[section]
    name = item.text.split(None, 1)[0] if item.text else ""
    if not name:
        return
    lower, rest = name.lower(), item.text[len(name) :].strip()
    at, code, instruction = found.sizes[section], b"", False
    if lower in _SECTIONS:
        found.switch(lower, [word.strip() for word in rest.split(",")] if rest else [])
        return
    if lower.startswith("."):
        if lower.startswith(_SAID):
            return
        data = _data(lower, rest, at, symbols)
        if data is None and found.executable[section]:
            raise Error(f"the directive {name} is not taken; those of clang and Triton are, and .set and data")
        code = data or b""
    elif not found.executable[section]:
        raise Error(f"'{item.text[:60]}' is an instruction in {section}, a section of data")
    else:
        places: Mapping[str, int | None] = dict.fromkeys(every) if known is None else known.labels.get(section, {})
        item, places = _numbered(found, item, places, known)
        code, instruction = encode(item, at, places), True
    found.sizes[section] += len(code)
    if found.sizes[section] > _MOST:
        raise Error(f"the section {section} is larger than {_MOST} bytes")
    if code:
        found.pieces[section].append(Piece(item.number, item.text, code, instruction))


_NUMERIC = re.compile(r"(?<![\w.$@])(\d+)([bf])(?![\w.$@])")


def _numbered(
    found: _Sections, item: Item, places: Mapping[str, int | None], known: _Sections | None
) -> tuple[Item, Mapping[str, int | None]]:
    """An instruction with names for labels such as 1b and 1f, and the places of labels with those."""
    used = _NUMERIC.findall(item.text)
    if not used:
        return item, places
    found.numeric.setdefault(found.current, {})
    at = found.sizes[found.current]
    more = {f".{number}{side}": _nearest(known, found.current, at, number, side) for number, side in used}
    return item._replace(text=_NUMERIC.sub(r".\1\2", item.text)), {**places, **more}


def _nearest(known: _Sections | None, section: str, at: int, number: str, side: str) -> int | None:
    """Where 1b or 1f leads: the last label 1 up to an address, or the first behind it; None in the first pass.

    Raises:
        Error: there is none on that side.
    """
    if known is None:
        return None
    every = known.numeric.get(section, {}).get(number, [])
    places = [place for place in every if place <= at][-1:] if side == "b" else [one for one in every if one > at][:1]
    if not places:
        raise Error(f"{number}{side}: no label {number} stands {'before' if side == 'b' else 'after'} it in {section}")
    return places[0]


def _data(name: str, rest: str, at: int, symbols: Mapping[str, int]) -> bytes | None:
    """The bytes of a directive at an offset; None of one that is not known."""
    if name in _SIZES:
        size = _SIZES[name]
        return b"".join(_bytes(word, size, name, symbols) for word in rest.split(","))
    if name in (".ascii", ".asciz", ".string"):
        return b"".join(_string(word) + (b"" if name == ".ascii" else b"\0") for word in _STRINGS.findall(rest))
    if name in (".zero", ".space", ".skip"):
        count, *value = [integer(word, symbols) for word in rest.split(",")]
        return bytes([value[0] & 255 if value else 0]) * _count(count, name)
    if name == ".fill":
        count, size, number = (*[integer(word, symbols) for word in rest.split(",")], 1, 0)[:3] if rest else (0, 1, 0)
        return (number & (1 << 8 * size) - 1).to_bytes(size, "little") * _count(count * size, name, size)
    if re.fullmatch(r"\.(p2|b)?align[wl]?", name):
        return _aligned(name, rest, at, symbols)
    return None


_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')


def _string(text: str) -> bytes:
    try:
        value = ast.literal_eval(f"b{text}")
    except (SyntaxError, ValueError):
        raise Error(f"cannot read the string {text}") from None
    assert isinstance(value, bytes)
    return value


def _bytes(word: str, size: int, name: str, symbols: Mapping[str, int]) -> bytes:
    try:
        value = integer(word.strip(), symbols)
    except Error as reason:
        raise Error(f"{name}: {reason}") from None
    if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
        raise Error(f"{name} takes {8 * size}-bit numbers between commas; got {word.strip()}")
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def _count(count: int, name: str, size: int = 1) -> int:
    if not 0 <= count <= _MOST:
        raise Error(f"{name}: {count} bytes cannot be filled")
    return count // size


def _aligned(name: str, rest: str, at: int, symbols: Mapping[str, int]) -> bytes:
    """What fills a section up to a boundary: a number, or s_nop 0."""
    words = [word.strip() for word in rest.split(",")]
    first = integer(words[0], symbols)
    boundary = 1 << first if name.startswith(".p2") and 0 <= first < 32 else first
    if boundary & boundary - 1 or not 0 < boundary <= _MOST:
        raise Error(f"{name}: {first} is not a power of two up to {_MOST}")
    missing = -at % boundary
    size = {"w": 2, "l": 4}.get(name[-1], 1)
    if len(words) > 2 and words[2] and missing > integer(words[2], symbols):
        return b""
    if len(words) > 1 and words[1]:
        if missing % size:
            raise Error(f"{name}: {missing} bytes are missing, no multiple of {size}")
        return (integer(words[1], symbols) & (1 << 8 * size) - 1).to_bytes(size, "little") * (missing // size)
    return bytes(missing % 4) + _NOP * (missing // 4)
