"""Names of DPAS: iga64's mnemonic with the types of dst, src0, src1 and src2.

    dpas.8x4.f.bf.hf.hf     systolic depth 8, repeat count 4: D is f, C bf, B hf and A hf
    bdpas.8x8.f.f.bf8.hf8   with scales of B and A, which are bytes (ub, E8M0)

An instruction is also found by a line of assembly, `dpas.8x4 (16|M0) r40:f r30:bf r20:hf r10.0:hf`, and by vISA's name
`dpas.hf.hf.8.4` (precision of src1 and of src2, depth, repeat count), whose accumulators are f or d.
"""

from __future__ import annotations

from ...base.checks import fits, number, shown, whole
from ...base.errors import Error, did_you_mean
from ...base.records import cached_property
from ...families import NEIGHBOURS
from ...families.dpas import TYPES
from ...formats import named
from ...model import Instruction
from . import Entry as PlainEntry
from . import expand
from .ptx import check_more

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from . import CatalogFile

__all__ = ["Entry", "describe", "spelled"]

MNEMONICS = ("dpas", "dpasw", "bdpas")
BLOCK = 32  # the k that one scale of BDPAS multiplies, at most
OPERANDS = "DCBA"  # in the order of a line of assembly: dst, src0, src1, src2
SPELT = {"ub": "u8", "b": "s8"}


def describe(name: str, words: Mapping[str, str] = TYPES) -> dict[str, Any]:
    """What a name means but for the execution size: the repeat count m, k, and the formats.

    Args:
        words: the formats that the words for types mean.

    Raises:
        Error: the name is not built so, or has a word for a type that is not known.

    >>> describe("dpas.8x4.d.d.u8.s2")
    {'m': 4, 'k': 32, 'formats': {'D': 'i32', 'C': 'i32', 'B': 'u8', 'A': 'i2'}, 'features': ()}
    """
    mnemonic, _, rest = name.partition(".")
    shape, *types = rest.split(".")
    depth, _, repeats = shape.partition("x")
    if mnemonic not in MNEMONICS or not (depth.isdecimal() and repeats.isdecimal()) or len(types) != len(OPERANDS):
        raise Error(
            f"'{name}' should be dpas, dpasw or bdpas, depth x repeat count, and the types of dst, src0, src1 and src2, "
            f"such as dpas.8x4.f.f.bf.bf"
        )
    if unknown := [word for word in types if word not in words]:
        hint = did_you_mean(unknown[0], words)
        raise Error(
            f"'{name}' has the type '{unknown[0]}', which is not one of {', '.join(words)}.{hint} "
            "(format_names of the architecture names further ones)"
        )
    formats = {operand: words[word] for operand, word in zip(OPERANDS, types)}
    # OPS_PER_CHAN of IGC's DPAS.md: the elements of the wider source in 32 bits, and 8 where both have 4 bits or less.
    per_channel = min(8, NEIGHBOURS[max(named(formats[operand]).bits for operand in "AB")])
    k = whole(depth, "a depth") * per_channel
    described = {"m": whole(repeats, "a repeat count"), "k": k, "formats": formats, "features": ()}
    if mnemonic == "bdpas":
        scales = {"SA": "e8m0", "SB": "e8m0"}
        return {**described, "formats": formats | scales, "features": ("scale",), "block_size": min(BLOCK, k)}
    return {**described, "features": ("fused",)} if mnemonic == "dpasw" else described


def spelled(text: str, known: Mapping[str, str] = TYPES) -> tuple[str, int | None]:
    """The name that a text means, in any of its three spellings, and the execution size if the text has one.

    Args:
        known: the formats that the words for types mean.

    >>> spelled("dpasw.8x4 (8|M0) r40:d r30:d r20:ub r10.0:b"), spelled("dpas.bf.bf.8.8")
    (('dpasw.8x4.d.d.u8.s8', 8), ('dpas.8x8.f.f.bf.bf', None))
    """
    words = text.lower().replace("(", " (").replace(")", ") ").split()
    if words and words[0] == "(w)":
        words = words[1:]
    parts = words[0].split(".") if words else [""]
    size = None
    for word in words[1:]:
        if word[0] == "(":
            digits = word.strip("()").partition("|")[0]
            size = number(digits, 999) or 0
        elif ":" in word:
            parts.append(word.rpartition(":")[2])
    if parts[0] == "bdpas" and parts[6:] == ["ub", "ub"]:  # the scales of B and A
        del parts[6:]
    if len(parts) == 5 and parts[3].isdecimal() and parts[4].isdecimal():
        mnemonic, b, a, depth, repeats = parts
        accumulator = "d" if b in known and not named(known[b]).is_float else "f"
        parts = [mnemonic, f"{depth}x{repeats}", accumulator, accumulator, b, a]
    return ".".join([SPELT.get(part, part) for part in parts]), size


class Entry(PlainEntry):
    """A generation of Xe and the names that it has."""

    meaning: str

    def __init__(self, record: Mapping[str, Any], file: CatalogFile) -> None:
        self._file = file
        self.meaning = f"DPAS of {record['waves']}"
        super().__init__(record, file)
        self._types = {**TYPES, **self.architecture.format_names}

    @classmethod
    def check_types(cls, lines: tuple[tuple[Any, ...], ...], arch: str) -> None:
        """These lines are checked when they are read."""

    def _read_lines(self, lines: tuple[tuple[Any, ...], ...]) -> None:
        """Nothing is read ahead."""

    def _of(self, lines: tuple[tuple[Any, ...], ...]) -> dict[str, Mapping[str, Any]]:
        """Every name of a table of the file that this generation has, with what its line says besides."""
        return {
            name: line[2] if len(line) > 2 else {}
            for line in lines
            if self.architecture.name in line[1].split()
            for name in expand(line[0])
        }

    @cached_property
    def _listed(self) -> dict[str, Mapping[str, Any]]:
        return self._of(self._file.instructions)

    @cached_property
    def _every(self) -> dict[str, Mapping[str, Any]]:
        return {**self._listed, **self._of(self._file.unlisted)}

    def check_lines(self) -> None:
        """Refuse families that are not built as `mmacalc.catalog.xe` says.

        Raises:
            Error: says which, and what would be right.
        """
        known = {other["name"] for other in self._file.architectures}
        for line in (*self._file.instructions, *self._file.unlisted):
            if not fits(line, "tuple[str, str] | tuple[str, str, Mapping[str, Any]]"):
                raise Error(f"a line of INSTRUCTIONS is (names, generations[, {{...}}]); got {shown(line)}")
            check_more(line[0], line[2] if len(line) > 2 else {})
            if unknown := [word for word in line[1].split() if word not in known] or not line[1].split():
                raise Error(f"the family {line[0]} is of {unknown}; this file has {', '.join(sorted(known))}")
            for name in expand(line[0]):
                describe(name, self._types)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in catalog order."""
        return tuple(self._listed)

    @property
    def unconfirmed_parts(self) -> set[str]:
        """The operands that no second source confirms, of any instruction."""
        return {part for more in self._every.values() for part in more.get("unconfirmed", ())}

    def canonical(self, name: str) -> str | None:
        """The name that a text means; None if this generation has no such instruction."""
        full, size = spelled(name, self._types)
        return full if full in self._every and size in (None, self.architecture.waves[0]) else None

    def instruction(self, name: str) -> Instruction:
        """The instruction of a name, a line of assembly, or vISA's name; case-insensitive.

        Raises:
            Error: the generation has none; says what is wrong with the text.
        """
        full, size = spelled(name, self._types)
        if full not in self._every:
            raise Error("; ".join(self._wrong(name.strip(), full)))
        channels = self.architecture.waves[0]
        if size not in (None, channels):
            raise Error(f"DPAS of {self.architecture.title} has the execution size {channels}; got {size} in '{name}'")
        if full not in self._instructions:
            more = self._every[full]
            doubts = more.get("unconfirmed", {})
            provenance = more.get("provenance", self.architecture.provenance or "two sources agree")
            made = self._alike(full, lambda: Instruction(
                self.architecture, full, n=channels, blocks=1, **describe(full, self._types), unconfirmed_parts=doubts,
                row_provenance=provenance,
            ), n=channels, unconfirmed_parts=doubts, row_provenance=provenance)  # fmt: skip
            return self._instructions.setdefault(full, made)
        return self._instructions[full]

    def _wrong(self, given: str, full: str) -> Iterator[str]:
        title = self.architecture.title
        yield f"{title} has no instruction '{given}'"
        parts = full.split(".")
        mnemonics = dict.fromkeys(name.split(".")[0] for name in self._listed)
        same = [name.split(".") for name in self._every if name.split(".")[0] == parts[0]]
        if not same:
            hint = did_you_mean(parts[0], mnemonics)
            yield f"it has {' and '.join(mnemonics)}.{hint} `-a {self.architecture.name} -L` lists their names"
        elif len(parts) < 2 or parts[1] not in {name[1] for name in same}:
            counts = sorted({name[1].partition("x")[2] for name in same})
            few = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else counts[0]
            yield f"after {parts[0]} come the systolic depth, which is 8, and a repeat count of {few}: {same[0][0]}.{same[-1][1]}"
        elif len(parts) != 6:
            yield f"the types of dst, src0, src1 and src2 follow, as in {'.'.join([*parts[:2], 'f', 'f', 'bf', 'bf'])}"
        elif unknown := [part for part in parts[2:] if part not in self._types]:
            yield f"'{unknown[0]}' is not one of the types {', '.join(self._types)}"
        else:
            yield from self._wrong_types(parts, same)

    def _wrong_types(self, parts: list[str], same: list[list[str]]) -> Iterator[str]:
        sources = [name for name in same if name[4:] == parts[4:]]
        if sources:
            results = dict.fromkeys(".".join(name[2:4]) for name in sources)
            yield f"with src1 {parts[4]} and src2 {parts[5]} it has dst and src0 of {', '.join(results)}"
        else:
            pairs = dict.fromkeys(".".join(name[4:]) for name in same)
            floats = [pair for pair in pairs if named(self._types[pair.partition(".")[0]]).is_float]
            yield f"src1 and src2 are {', '.join(floats)}, or integers of 8, 4 and 2 bits (u8, s8, u4, s4, u2, s2)"

    def instructions(self, wanted: Callable[[str], bool] | None = None) -> tuple[Instruction, ...]:
        """Every listed instruction, in catalog order; those alone whose name is wanted, where that is given."""
        return tuple(self.instruction(name) for name in filter(wanted, self.names))
