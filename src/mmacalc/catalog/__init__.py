"""The catalog: one data file per architecture (or family of targets), found by looking, loaded when asked for.

Every other Python file of this folder is data: literals only, assigned to these names.

    ARCHITECTURES     a tuple of dictionaries: the fields of `mmacalc.model.Architecture`
    INSTRUCTIONS      a tuple of lines (below)
    COMMON            fields that all records of ARCHITECTURES share; may be left out
    ALIASES           other spellings of mnemonics, with the name of the line; may be left out
    TRANSPOSE_LOADS   lines of `mmacalc.memory_access.transpose_loads.TransposeLoad` without the architecture, the last
                      fields as a dictionary, in which `on` names the only architectures with the load; may be left out
    VECTOR_INSTRUCTIONS   those of `mmacalc.chains.vector_instructions` that not every target has, each with the lanes
                      within which it moves data (1: it moves none); may be left out
    UNLISTED          of a file of DPAS: names that are found but not listed; may be left out
    WITHOUT_MATRIX_INSTRUCTIONS   names of targets that have none, each with a sentence; may be left out

A line of an AMD file is

    (name, opcode, cycles, VALU co-execution cycles[, "features"][, {more}])

Shape, blocks, formats, sparsity and block size follow from the name (`mmacalc.catalog.grammar.amd`), CBSZ and OPSEL
from the family. Cycles that differ between the file's architectures are a tuple, one for each, in their order; so are
narrow_cycles. Features are the other words that the family knows: blgp, neg, neg_c, opsel. `more` may have: on (the
only architectures of the file with this line), formats (those that the name states wrongly, by operand), narrow_cycles,
wait_cycles, prefix_opcode, scale_format, since_llvm (the first version of LLVM that assembles it), unconfirmed
(operands or fields, with or without reasons), provenance.
A line of a PTX file is a family of names: see `mmacalc.catalog.grammar.ptx`.

The environment variable MMACALC_CATALOG names further files. They are parsed, never executed, and cannot take names
away from the files of this folder.
"""

from __future__ import annotations

import os

from ..checks import arguments_checked
from ..errors import Error, did_you_mean
from ..families import family
from ..later import imported
from ..model import Architecture, Instruction, Product
from .grammar.amd import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "Entry", "architecture", "architectures", "entry", "every_instruction", "instruction", "instructions",
    "known_name", "product",
]  # fmt: skip

MORE = (
    "on", "formats", "narrow_cycles", "wait_cycles", "prefix_opcode", "scale_format", "since_llvm", "unconfirmed",
    "provenance",
)  # fmt: skip
FILE_NAMES = (
    "ARCHITECTURES", "INSTRUCTIONS", "COMMON", "ALIASES", "TRANSPOSE_LOADS", "VECTOR_INSTRUCTIONS", "OUTSIDE", "UNLISTED",
    "WITHOUT_MATRIX_INSTRUCTIONS",
)  # fmt: skip
# What drivers and shops print before a chip's name, in their order.
BRANDS = ("nvidia", "amd", "tesla", "geforce", "instinct", "radeon", "rtx", "rx")


class Entry:
    """An architecture with its catalog lines. An Instruction is made when it is first asked for.

    Raises:
        Error: the record or a line is wrong; says where and what would be right.
    """

    architecture: Architecture

    def __init__(self, record: dict[str, Any], file: Any) -> None:
        required = ("name", "title", "vendor", "layout", "waves")
        if missing := [field for field in required if field not in record]:
            raise Error(f"the catalog's record of architecture '{record.get('name')}' lacks: {', '.join(missing)}")
        products = _products(record)
        aliases = dict.fromkeys([*record.get("aliases", ()), *(name for one in products for name in _names_of(one))])
        self.architecture = Architecture(**{**record, "aliases": tuple(aliases), "products": products})
        self.transpose_loads: tuple[tuple[Any, ...], ...] = getattr(file, "TRANSPOSE_LOADS", ())
        self.vector_instructions: dict[str, int] = self._vector_instructions(file)
        self._aliases: dict[str, str] = getattr(file, "ALIASES", {})
        self._instructions: dict[str, Instruction] = {}
        self._lines: dict[str, Line] = {}
        self._place = [other["name"] for other in getattr(file, "ARCHITECTURES", (record,))].index(record["name"])
        self._read_lines(file.INSTRUCTIONS)

    def _vector_instructions(self, file: Any) -> dict[str, int]:
        return dict(getattr(file, "VECTOR_INSTRUCTIONS", {}))

    def _read_lines(self, lines: tuple[tuple[Any, ...], ...]) -> None:
        opcodes: dict[tuple[int, int | None], str] = {}
        for raw in lines:
            line = Line(raw, self.architecture.name, self._place)
            if self.architecture.name not in line.more.get("on", (self.architecture.name,)):
                continue
            taken = opcodes.setdefault((line.opcode, line.more.get("prefix_opcode")), line.name)
            if taken != line.name:
                raise Error(f"{line.where}: opcode {line.opcode:#x} is that of {taken} already")
            if line.name in self._lines:
                raise Error(f"{line.where}: there are two lines of that name")
            self._lines[line.name] = line

    @property
    def names(self) -> tuple[str, ...]:
        """The mnemonics, in catalog order."""
        return tuple(self._lines)

    @property
    def tensor_memory_names(self) -> tuple[str, ...]:
        """The instructions whose shape is a parameter (tcgen05 of NVIDIA), which `instructions` leaves out."""
        return ()

    @property
    def doubts(self) -> set[str]:
        """The operands and fields that no second source confirms, of any instruction."""
        return {part for line in self._lines.values() for part in line.more.get("unconfirmed", ())}

    def canonical(self, name: str) -> str | None:
        """The mnemonic that a name or alias means, case-insensitive; None if there is none."""
        lower = name.strip().lower()
        key = lower if lower in self._lines else self._aliases.get(lower, lower)
        return key if key in self._lines else None

    def instruction(self, name: str) -> Instruction:
        """The instruction of that name or alias, or the only one of that shape; case-insensitive.

        Raises:
            Error: the architecture has none, or several of a shape; the message names the closest.
        """
        key = self.canonical(name)
        if key is None or key not in self._instructions:
            if key is None:
                from .grammar.pasted import name_alone
                from .grammar.shape_names import instruction_of_shape

                if found := instruction_of_shape(self, name):
                    return found
                if (alone := name_alone(name, self.architecture.name)) != name:
                    return self.instruction(alone)
                lower = name.strip().lower()
                hint = did_you_mean(lower, (*self._lines, *self._aliases), shown=self._aliases)
                title = self.architecture.title
                raise Error(f"{title} has no instruction '{name}'.{hint} `-a {title.lower()} -L` lists them all.")
            aliases = tuple(alias for alias, name in self._aliases.items() if name == key)
            self._instructions[key] = self._lines[key].instruction(self.architecture, aliases)
        return self._instructions[key]

    def instructions(self) -> tuple[Instruction, ...]:
        """Every instruction, in catalog order."""
        return tuple(self.instruction(name) for name in self.names)


def _products(record: dict[str, Any]) -> tuple[Product, ...]:
    """The products of a record, whose lines are (name, units, clock in GHz[, {more}])."""
    products = []
    for line in record.get("products", ()):
        more = line[-1] if isinstance(line[-1], dict) else {}
        products.append(Product(*line[: len(line) - bool(more)], **more))
    return tuple(products)


def _names_of(product: Product) -> tuple[str, ...]:
    return (product.name.lower(), *product.aliases)


class Line:
    """A line of an AMD catalog file, split into its parts; `place` is that of the architecture in the file."""

    name: Any
    where: str
    opcode: Any
    valu_cycles: Any
    cycles: Any
    narrow_cycles: Any
    wait_cycles: Any
    features: Any

    def __init__(self, line: tuple[Any, ...], arch: str, place: int = 0) -> None:
        self.more: dict[str, Any] = line[-1] if isinstance(line[-1], dict) else {}
        fields = line[:-1] if self.more else line
        self.name = fields[0]
        self.where = f"catalog line of {self.name} ({arch})"
        if not 4 <= len(fields) <= 5 or not isinstance(self.name, str):
            raise Error(f"{self.where}: a line is (name, opcode, cycles, VALU cycles[, features][, {{...}}]); got {line}")
        self.opcode, cycles, self.valu_cycles = fields[1:4]
        narrow, self.wait_cycles = self.more.get("narrow_cycles"), self.more.get("wait_cycles")
        if isinstance(cycles, tuple):
            self.wait_cycles = self.wait_cycles or (cycles[0], narrow[0] if narrow else None)
            cycles, narrow = cycles[place], narrow[place] if narrow else None
        self.cycles, self.narrow_cycles = cycles, narrow
        self.features = fields[4].split() if len(fields) == 5 else []
        if unknown := [key for key in self.more if key not in MORE]:
            raise Error(f"{self.where}: unknown '{unknown[0]}'.{did_you_mean(unknown[0], MORE)} Known: {', '.join(MORE)}")

    def instruction(self, architecture: Architecture, aliases: tuple[str, ...]) -> Instruction:
        """The instruction of this line, whose shape, formats and features its name implies."""
        try:
            described = describe(self.name, architecture.format_names)
        except Error as problem:
            raise Error(f"{self.where}: {problem}") from None
        more = self.more
        formats = {**described.formats, **more.get("formats", {})}
        if described.block_size:
            formats |= dict.fromkeys(("SA", "SB"), more.get("scale_format", "e8m0"))
        doubts = more.get("unconfirmed", ())
        return Instruction(
            architecture, self.name, *described.shape, described.blocks, formats,
            opcode=self.opcode, cycles=self.cycles, valu_cycles=self.valu_cycles,
            features=(*architecture.family.implied_features(described), *self.features),
            narrow_cycles=self.narrow_cycles, wait_cycles=self.wait_cycles, block_size=described.block_size,
            prefix_opcode=more.get("prefix_opcode"), since_llvm=more.get("since_llvm", 0), aliases=aliases,
            stated_provenance=more.get("provenance", "two sources agree"),
            doubts=doubts if isinstance(doubts, dict) else dict.fromkeys(doubts, ""),
        )  # fmt: skip


_entries: dict[str, Entry] = {}
_without: dict[str, str] = {}  # names of targets that have no matrix instructions, with the reason
_names: dict[str, str] = {}
_spelled: dict[str, str] = {}  # every name as people write it, by its one spelling
_unread: list[str] | None = None  # the catalog files that are not loaded yet: module names of this package


def _unread_files() -> list[str]:
    global _unread
    if _unread is None:
        _unread = sorted(f[:-3] for f in os.listdir(os.path.dirname(__file__)) if f.endswith(".py") and f[0] != "_")
        _unread += [path for path in os.environ.get("MMACALC_CATALOG", "").split(os.pathsep) if path]
    return _unread


def _load(file: str) -> None:
    """Read one catalog file and add its architectures."""
    if file.isidentifier():
        module: Any = imported(f"{__name__}.{file}")
    else:
        for builtin in [name for name in _unread_files() if name.isidentifier()]:
            _load(builtin)
        from .grammar.literals import read_literals

        module = read_literals(file, FILE_NAMES)
    _without.update(getattr(module, "WITHOUT_MATRIX_INSTRUCTIONS", {}))
    for record in module.ARCHITECTURES:
        record = {**getattr(module, "COMMON", {}), **record}
        entry = _entry_type(record)(record, module)
        name = entry.architecture.name
        if name in _entries or normalised(name) in _names:
            raise Error(f"MMACALC_CATALOG names '{file}', whose architecture '{name}' exists already")
        if not file.isidentifier():
            entry.instructions()  # every line is checked now: nobody else has checked this file
        _entries[name] = entry
        for alias in (name, *entry.architecture.aliases):
            _names.setdefault(normalised(alias), name)
            _spelled.setdefault(normalised(alias), alias)
    _unread_files().remove(file)


def _entry_type(record: dict[str, Any]) -> type[Entry]:
    grammar = family(record["layout"]).grammar if "layout" in record else ""
    found: type[Entry] = imported(f"{__name__}.grammar.{grammar}").Entry if grammar else Entry
    return found


def normalised(name: str) -> str:
    """The one spelling of an architecture name that GeForce RTX 4090, rtx-4090 and 4090 share.

    >>> normalised("NVIDIA GeForce RTX 4090"), normalised("Radeon PRO W7900")
    ('4090', 'prow7900')
    """
    short = name.lower().replace(" ", "").replace("-", "").replace("_", "")
    for brand in BRANDS:
        short = short.removeprefix(brand) or short
    return short


def _load_all() -> None:
    for file in list(_unread_files()):
        if file in _unread_files():
            _load(file)


@arguments_checked
def entry(name: str) -> Entry:
    """The catalog entry of an architecture, by name or alias; case-insensitive.

    Raises:
        Error: no architecture is called that; the message names the closest.
    """
    return _entries[_names[known_name(name)[0]]]


def known_name(name: str) -> tuple[str, bool]:
    """The architecture's name that a text means, in the spelling of `normalised`, and whether it may be another product.

    Raises:
        Error: as `entry`.

    >>> known_name("AMD Instinct MI300X"), known_name("compute_90"), known_name("GeForce RTX 4090 Laptop GPU")
    (('mi300x', False), ('sm90', False), ('4090', True))
    """
    short = normalised(name)
    if short not in _names and short in _unread_files():
        _load(short)
    while short not in _names and _unread_files():
        _load(_unread_files()[0])
    return (short, False) if short in _names else _read(name, short)


def _read(name: str, short: str) -> tuple[str, bool]:
    """What a text means that is not a known name to the letter."""
    from .grammar.chips import meaning

    owners = {name: _names[known] for known, name in _spelled.items()}
    for entry in _entries.values():
        owners |= dict.fromkeys(entry.architecture.series, entry.architecture.name)
    found = meaning(name, {**owners, **dict.fromkeys(_without, "no matrix instructions")})
    if found is None:
        hint = did_you_mean(short, _spelled, shown=_spelled)
        raise Error(f"unknown architecture '{name}'.{hint} Known: {', '.join(sorted(_entries))}; `architectures` lists products.")
    if found.name in _without:
        raise Error(f"{name} has no matrix instructions: {_without[found.name]}")
    if found.name in owners and normalised(found.name) not in _names:  # a series
        return normalised(owners[found.name]), True
    return normalised(found.name), found.other


@arguments_checked
def architecture(name: str) -> Architecture:
    """The record of an architecture, by name or alias.

    Raises:
        Error: no architecture is called that.

    >>> architecture("MI300X").title
    'CDNA3'
    """
    return entry(name).architecture


@arguments_checked
def product(name: str) -> Product | None:
    """The product that an architecture's name means: the product of that name, else the first with that chip.

    None where the catalog has none.

    Raises:
        Error: no architecture is called that.

    >>> product("MI300A").units, product("gfx1151").name, product("sm_90")
    (228, 'Radeon 8060S (Strix Halo)', None)
    >>> product("NVIDIA A100-SXM4-80GB").name, product("NVIDIA GeForce RTX 4090 Laptop GPU")
    ('A100', None)
    """
    (short, other), products = known_name(name), architecture(name).products
    if other:
        return None  # a product that the catalog does not list
    named = [one for one in products if short in map(normalised, _names_of(one))]
    chip = [one for one in products if one.target == short]
    chips = {one.target for one in products} - {""}
    if chips and not named and not chip and short.startswith("gfx") and not short.endswith("generic"):
        return None  # a chip without a product, among chips that have some
    return next(iter((*named, *chip, *products)), None)


def architectures() -> dict[str, tuple[str, ...]]:
    """The canonical name of every architecture, with its aliases.

    >>> "gfx942" in architectures()["cdna3"]
    True
    """
    _load_all()
    return {name: _entries[name].architecture.aliases for name in sorted(_entries)}


@arguments_checked
def instructions(arch: str) -> tuple[Instruction, ...]:
    """Every instruction of an architecture, in the order in which AMD's tool lists them.

    Raises:
        Error: no such architecture.

    >>> len(instructions("rdna3"))
    6
    """
    return entry(arch).instructions()


@arguments_checked
def instruction(arch: str, name: str) -> Instruction:
    """One instruction, by any name of the architecture and of the instruction.

    Raises:
        Error: no such architecture or instruction; the message names the closest.

    >>> instruction("MI300X", "v_mfma_f32_16x16x16f16").name
    'v_mfma_f32_16x16x16_f16'
    """
    return entry(arch).instruction(name)


def every_instruction() -> Iterator[Instruction]:
    """Every instruction of every architecture."""
    for name in architectures():
        yield from instructions(name)
