"""Files whose lines state all of an instruction: of Apple's simdgroup matrices, Intel's AMX and Arm's SME.

    (name, architectures, shape, {operand: format}, kind[, {more}])

The architectures are names of the file's records, between spaces. The shape is MxNxK, in which v stands for the wave
(of SME the vector length in 32-bit elements): "vxvx2". The kind is a key of the record's `patterns`; see
`mmacalc.families.stated`. `more` may have provenance, unconfirmed and aliases (a tuple of other names).
"""

from __future__ import annotations

from ...base.checks import fits, number, shown
from ...base.errors import Error, did_you_mean
from ...model import Instruction
from . import Entry as PlainEntry
from . import instruction_of_shape, name_alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from . import CatalogFile

__all__ = ["Entry", "shape_of"]

MORE = ("provenance", "unconfirmed", "aliases")
LINE = "tuple[str, str, str, Mapping[str, str], str]"


def shape_of(text: str, wave: int) -> tuple[int, int, int]:
    """M, N and K.

    Raises:
        Error: the text is not a shape.

    >>> shape_of("16x16x32", 16), shape_of("vxvx4", 16)
    ((16, 16, 32), (16, 16, 4))
    """
    sizes = [wave if part == "v" else number(part, 1 << 16) for part in text.split("x")]
    if len(sizes) != 3 or not all(sizes):
        raise Error(f"a shape is MxNxK, of numbers or v (the wave); got '{text}'")
    m, n, k = [size or 0 for size in sizes]
    return m, n, k


class Entry(PlainEntry):
    """An architecture and the instructions that its file states for it."""

    def __init__(self, record: Mapping[str, Any], file: CatalogFile) -> None:
        self._file = file
        super().__init__(record, file)

    @classmethod
    def check_types(cls, lines: tuple[tuple[Any, ...], ...], arch: str) -> None:
        """Refuse lines that are not built as the module says.

        Raises:
            Error: says which.
        """
        for line in lines:
            fields, more = (line[:-1], line[-1]) if len(line) == 6 else (line, {})
            if not fits(fields, LINE) or not fits(more, "Mapping[str, Any]"):
                raise Error(f"a line is (name, architectures, shape, formats, kind[, {{...}}]); got {shown(line)}")
            if unknown := [key for key in more if key not in MORE]:
                hint = did_you_mean(str(unknown[0]), MORE)
                raise Error(f"the line of {line[0]} has an unknown '{unknown[0]}'.{hint} Known: {', '.join(MORE)}")

    def _read_lines(self, lines: tuple[tuple[Any, ...], ...]) -> None:
        self.check_types(lines, self.architecture.name)
        self._stated = {line[0]: line for line in lines if self.architecture.name in line[1].split()}
        self._others = {
            alias.lower(): line[0]
            for line in self._stated.values()
            for alias in (line[5].get("aliases", ()) if len(line) == 6 else ())
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in catalog order."""
        return tuple(self._stated)

    @property
    def opcodes(self) -> dict[str, tuple[int, int | None]]:
        """None: encodings are not described."""
        return {}

    @property
    def unconfirmed_parts(self) -> set[str]:
        """The operands that no second source confirms, of any instruction."""
        mores = [line[5] for line in self._stated.values() if len(line) == 6]
        return {part for more in mores for part in more.get("unconfirmed", ())}

    def check_lines(self) -> None:
        """Refuse lines of architectures that the file does not have, and kinds without patterns.

        Raises:
            Error: says which, and what would be right.
        """
        known = {other["name"] for other in self._file.architectures}
        for line in self._file.instructions:
            if unknown := [word for word in line[1].split() if word not in known] or not line[1].split():
                raise Error(f"the line of {line[0]} is of {unknown}; this file has {', '.join(sorted(known))}")
        for name, line in self._stated.items():
            if line[4] not in self.architecture.patterns:
                kinds = ", ".join(self.architecture.patterns)
                raise Error(f"the line of {name} is of the kind '{line[4]}'; patterns of the record has {kinds}")

    def canonical(self, name: str) -> str | None:
        """The name that a text means; None if this architecture has no such instruction."""
        lower = name.strip().lower()
        found = self._others.get(lower, lower)
        return found if found in self._stated else None

    def instruction(self, name: str) -> Instruction:
        """The instruction of a name, or the only one of a shape; case-insensitive.

        Raises:
            Error: the architecture has none; the message names the closest.
        """
        key = self.canonical(name)
        if key is None:
            if found := instruction_of_shape(self, name):
                return found
            if (alone := name_alone(name, self.architecture.name)) != name:
                return self.instruction(alone)
            title, hint = self.architecture.title, did_you_mean(name.strip().lower(), (*self._stated, *self._others))
            listing = f"`-a {self.architecture.name} -L` lists them all."
            raise Error(f"{title} has no instruction '{name}'.{hint} {listing}", kind="unknown name")
        if key not in self._instructions:
            self._instructions.setdefault(key, self._made(key))
        return self._instructions[key]

    def _made(self, key: str) -> Instruction:
        _, _, shape, formats, kind, *rest = self._stated[key]
        more = rest[0] if rest else {}
        doubts = more.get("unconfirmed", ())
        return Instruction(
            self.architecture, key, *shape_of(shape, self.architecture.waves[0]), 1, dict(formats), kind=kind,
            aliases=tuple(more.get("aliases", ())),
            row_provenance=more.get("provenance", self.architecture.provenance or "two sources agree"),
            unconfirmed_parts=doubts if hasattr(doubts, "keys") else dict.fromkeys(doubts, ""),
        )  # fmt: skip

    def instructions(self, wanted: Callable[[str], bool] | None = None) -> tuple[Instruction, ...]:
        """Every instruction, in catalog order; those alone whose name is wanted, where that is given."""
        return tuple(self.instruction(name) for name in filter(wanted, self.names))
