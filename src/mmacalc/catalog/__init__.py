"""The catalog: one data file per architecture (or family of targets), found by looking, loaded when asked for.

Every other Python file of this folder is data: literals only, assigned to these names.

    ARCHITECTURES     a tuple of dictionaries: the fields of `mmacalc.model.Architecture`
    INSTRUCTIONS      a tuple of lines (below)
    COMMON            fields that all records of ARCHITECTURES share; may be left out
    ALIASES           other spellings of mnemonics, with the name of the line, besides those of gfx908 and gfx90a,
                      which follow from the names (`grammar.older_spellings`); may be left out
    TRANSPOSE_LOADS   lines of `mmacalc.memory_access.transpose_loads.TransposeLoad` without the architecture, the last
                      fields as a dictionary, in which `on` names the only architectures with the load; may be left out
    VECTOR_INSTRUCTIONS   those of `mmacalc.chaining.conversions` that not every target has, each with the lanes
                      within which it moves data (1: it moves none); may be left out
    UNLISTED          of a file of DPAS: names that are found but not listed; may be left out
    TENSOR_MEMORY, OUTSIDE   of a file of PTX: see `mmacalc.catalog.ptx`; may be left out
    WITHOUT_MATRIX_INSTRUCTIONS   names of targets that have none, each with a sentence; may be left out
    NOT_COVERED       names that are refused for another reason, each with what is known; may be left out

A line of an AMD file is

    (name, opcode, cycles, VALU co-execution cycles[, "features"][, {more}])

Shape, blocks, formats, sparsity and block size follow from the name (`mmacalc.catalog.grammar`), CBSZ and OPSEL
from the family. Cycles that differ between the file's architectures are a tuple, one for each, in their order; so are
narrow_cycles. Features are the other words that the family knows: blgp, neg, neg_c, opsel. `more` may have: on (the
only architectures of the file with this line), formats (those that the name states wrongly, by operand), narrow_cycles,
wait_cycles, prefix_opcode, scale_format, since_llvm (the first version of LLVM that assembles it), unconfirmed
(operands or fields, with or without reasons), provenance.
A line of a PTX file is a family of names: see `mmacalc.catalog.grammar.ptx`.

The environment variable MMACALC_CATALOG names further files. They are parsed, never executed, and cannot take names
away from the files of this folder. `mmacalc.catalog.grammar.check` holds them against all that they refer to when they
are read, and a test holds the files of this folder against the same.
"""

from __future__ import annotations

import os
from _thread import RLock

from ..base.checks import arguments_checked
from ..base.errors import Error, did_you_mean
from ..base.records import Cache, imported
from ..families import family
from ..model import Architecture, Instruction, Product
from ..model.architecture import VENDORS
from .grammar import Entry, contents, names_of, read_literals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from .grammar.chips import Meaning

__all__ = [
    "Catalog", "Entry", "architecture", "architectures", "entry", "every_instruction", "instruction", "instructions",
    "known_name", "product",
]  # fmt: skip

# What drivers and shops print before a chip's name, in their order.
BRANDS = ("nvidia", "amd", "tesla", "geforce", "instinct", "radeon", "rtx", "rx")
MAKERS = {
    "nvidia": "nvidia", "tesla": "nvidia", "geforce": "nvidia", "quadro": "nvidia", "rtx": "nvidia", "gtx": "nvidia",
    "amd": "amd", "instinct": "amd", "radeon": "amd", "rx": "amd",
    "intel": "intel", "arc": "intel", "iris": "intel", "xeon": "intel",
    "apple": "apple", "macbook": "apple", "mac": "apple",
    "arm": "arm", **dict.fromkeys(("mali", "adreno", "qualcomm", "powervr", "ascend", "huawei", "cambricon"), "another"),
}  # fmt: skip
"""Words of products that say whose they are, with the vendor of `mmacalc.model.Architecture`."""


class Catalog:
    """The architectures of the package's files, and of files outside it. A file is read when it is needed.

    Threads may share a catalog: a file is read under a lock, and is seen by others when all of it is there.

    Args:
        outside: paths of files outside the package.
    """

    def __init__(self, outside: Iterable[str] = ()) -> None:
        self._lock = RLock()
        self._entries: dict[str, Entry] = {}
        self._refused: dict[str, str] = {}  # names that are known and refused, with what is said of them
        self._names: dict[str, str] = {}  # the architecture of each name, in the spelling of `normalised`
        self._display_names: dict[str, str] = {}  # every name as people write it, by that spelling
        self._unread = [(name, False) for name in _own_files()] + [(path, True) for path in outside]

    def entry(self, name: str) -> Entry:
        """The entry of an architecture: see `mmacalc.catalog.entry`."""
        return self._entries[self._names[self.known_name(name)[0]]]

    def names(self) -> list[str]:
        """The canonical name of every architecture, in order."""
        with self._lock:
            while self._unread:
                self._read(*self._unread[0])
        return sorted(self._entries)

    def known_name(self, name: str) -> tuple[str, bool]:
        """What `mmacalc.catalog.known_name` gives."""
        short = normalised(name)
        if short in self._names and self._made_by(name, self._names[short]):
            return short, False  # without the lock: a name is entered when all that it leads to is there
        with self._lock:
            for file in [file for file, outside in self._unread if not outside and (file == short or _mentions(file, name))]:
                self._read(file, False)
            while short not in self._names and self._unread:
                self._read(*self._unread[0])
            known = short in self._names and self._made_by(name, self._names[short])
            known = known or (short in self._names and makers(name) <= makers(self._display_names[short]))
            if not known and (product := normalised(self._without_maker(name))) in self._names:
                return product, False
        return (short, False) if known else self._by_words(name, short)

    def _without_maker(self, name: str) -> str:
        """A name behind a word of its own vendor, which stands for itself even with another vendor's word in it, as in
        "Arm Apple M4 SME"; "" of others."""
        word, _, product = name.strip().partition(" ")
        known = self._names.get(normalised(product))
        own = known is not None and MAKERS.get(word.lower()) == self._entries[known].architecture.vendor
        return product if own else ""

    def _made_by(self, text: str, architecture: str) -> bool:
        """Whether a text has no word of another vendor than an architecture's."""
        return makers(text) <= {self._entries[architecture].architecture.vendor}

    def _by_vendor(self) -> dict[str, str]:
        """The names of the architectures that are known, by vendor; of NVIDIA without those of one chip's family."""
        found: dict[str, list[str]] = {}
        for name in sorted(self._entries):
            one = self._entries[name].architecture
            if one.vendor != "nvidia" or not name.endswith(("a", "f")):
                found.setdefault(VENDORS[one.vendor], []).append(name)
        return {vendor: ", ".join(names) for vendor, names in found.items()}

    def _by_words(self, name: str, short: str) -> tuple[str, bool]:
        """What a text means that is not a known name to the letter."""
        from .grammar.chips import meaning

        self.names()  # of all files
        owners = {name: self._names[known] for known, name in self._display_names.items()}
        for entry in self._entries.values():
            owners |= dict.fromkeys(entry.architecture.series, entry.architecture.name)
        refused = dict.fromkeys(self._refused, "refused")
        named = makers(name)
        own = {
            known: arch for known, arch in owners.items()
            if named <= makers(known) or named <= {self._entries[arch].architecture.vendor}
        }  # fmt: skip
        found = meaning(name, {**own, **refused})
        if found is None:
            raise self._unknown(name, short, meaning(name, owners), owners)
        if found.name in self._refused:
            raise Error(f"{name} {self._refused[found.name]}")
        if found.name in owners and normalised(found.name) not in self._names:  # a series
            return normalised(owners[found.name]), True
        return normalised(found.name), found.other

    def _unknown(self, name: str, short: str, other: Meaning | None, owners: Mapping[str, str]) -> Error:
        """The refusal of a name; `other` is what it means if the vendors that it names are left out."""
        named = makers(name)
        parts = [part for word in name.split() if (part := normalised(word)) in self._names]
        vendors = {arch: named <= {entry.architecture.vendor} for arch, entry in self._entries.items()}
        own = {known: shown for known, shown in self._display_names.items() if vendors[self._names[known]]}
        hint = did_you_mean(parts[0] if parts else short, own, shown=own)
        if other is not None:
            owner = self._entries[owners[other.name]].architecture
            whose = VENDORS[owner.vendor]
            hint = f" {other.name} is {whose}'s ({owner.name}); leave the other vendor's name out if you mean it.{hint}"
        known = "; ".join([f"{vendor} {names}" for vendor, names in self._by_vendor().items()])
        return Error(
            f"unknown architecture '{name}'.{hint} Known: {known}. `mmacalc architectures` lists them with their "
            "products; what is covered and what is not: https://mmacalc.github.io/mmacalc/coverage.html",
            kind="unknown name",
        )

    def _read(self, file: str, outside: bool) -> None:
        """Read one file and add its architectures: all of them, or with an `Error` none."""
        if outside:
            while own := [each for each in self._unread if not each[1]]:
                self._read(*own[0])
        found = list(self._outside_entries(file) if outside else self._own_entries(file))
        for entry, refused in found:
            self._refused.update(refused)
            arch = entry.architecture
            self._entries[arch.name] = entry
            for alias in (arch.name, *arch.aliases):
                self._display_names.setdefault(normalised(alias), alias)
                self._names.setdefault(normalised(alias), arch.name)
        self._unread.remove((file, outside))

    def _own_entries(self, file: str) -> Iterator[tuple[Entry, Mapping[str, str]]]:
        found = contents(vars(imported(f"{__name__}.{file}")))
        for record in found.records:
            yield _entry_type(record)(record, found), found.refused

    def _outside_entries(self, file: str) -> Iterator[tuple[Entry, Mapping[str, str]]]:
        """The entries of a file outside the package, every fact of which is checked."""
        from .grammar.check import check, check_file

        try:
            found = read_literals(file)
            check_file(found)
            taken = dict(self._names)
            for record in found.records:
                kind = _entry_type(record)
                kind.check_types(found.instructions, record.get("name", ""))
                entry = kind({"provenance": "assumed", **record}, found)
                check(entry, found, taken)
                arch = entry.architecture
                taken |= dict.fromkeys(map(normalised, (arch.name, *arch.aliases)), arch.name)
                yield entry, found.refused
        except Error as problem:
            raise Error(f"MMACALC_CATALOG names '{file}': {problem}") from None


def _mentions(file: str, name: str) -> bool:
    """Whether a file of this package has a name among its texts, so that it is read before the others."""
    try:
        with open(os.path.join(os.path.dirname(__file__), f"{file}.py"), encoding="utf-8") as stream:
            return f'"{name.strip().lower()}"' in stream.read().lower()
    except OSError:  # in a zip file
        return False


def _own_files() -> list[str]:
    """The names of the catalog's files in this package."""
    try:
        files = os.listdir(os.path.dirname(__file__))
    except OSError:  # in a zip file
        from pkgutil import iter_modules

        files = [f"{module.name}.py" for module in iter_modules(__path__) if not module.ispkg]
    return sorted(file[:-3] for file in files if file.endswith(".py") and file[0] != "_")


def _entry_type(record: Mapping[str, Any]) -> type[Entry]:
    grammar = family(record["layout"]).grammar if "layout" in record else ""
    found: type[Entry] = imported(f"{__name__}.grammar.{grammar}").Entry if grammar else Entry
    return found


_catalog = Catalog(path for path in os.environ.get("MMACALC_CATALOG", "").split(os.pathsep) if path)


def normalised(name: str) -> str:
    """The one spelling of an architecture name that GeForce RTX 4090, rtx-4090 and 4090 share.

    >>> normalised("NVIDIA GeForce RTX 4090"), normalised("Radeon PRO W7900")
    ('4090', 'prow7900')
    """
    short = name.lower().replace(" ", "").replace("-", "").replace("_", "")
    for brand in BRANDS:
        short = short.removeprefix(brand) or short
    return short


def makers(name: str) -> frozenset[str]:
    """The vendors that a product's text names: see `MAKERS`.

    >>> makers("Intel Arc A770"), makers("amd-mi300x"), makers("A100"), sorted(makers("AMD RTX4090"))
    (frozenset({'intel'}), frozenset({'amd'}), frozenset(), ['amd', 'nvidia'])
    """
    if len(name) > 100:  # longer than any name: not worth keeping
        return _makers(name)
    found: frozenset[str] = _MAKERS.get(name, lambda: _makers(name))
    return found


_MAKERS = Cache(4096)  # a text that is no name to the letter is compared with every name


def _makers(name: str) -> frozenset[str]:
    if name.isdecimal():
        return frozenset()
    words = "".join([letter if letter.isalnum() else " " for letter in name.lower()]).split()
    found = {MAKERS[word] for word in words if word in MAKERS}
    joined = "".join(words)
    for brand in BRANDS:
        if (rest := joined.removeprefix(brand)) and rest != joined:
            found.add(MAKERS[brand])
            joined = rest
    return frozenset(found)


@arguments_checked
def entry(name: str) -> Entry:
    """The catalog entry of an architecture, by name or alias; case-insensitive.

    Raises:
        Error: no architecture is called that; the message names the closest.
    """
    return _catalog.entry(name)


def known_name(name: str) -> tuple[str, bool]:
    """The architecture's name that a text means, in the spelling of `normalised`, and whether it may be another product.

    Raises:
        Error: as `entry`.

    >>> known_name("AMD Instinct MI300X"), known_name("compute_90"), known_name("GeForce RTX 4090 Laptop GPU")
    (('mi300x', False), ('sm90', False), ('4090', True))
    """
    return _catalog.known_name(name)


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
    named = [one for one in products if short in map(normalised, names_of(one))]
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
    return {name: _catalog.entry(name).architecture.aliases for name in _catalog.names()}


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
    """One instruction, by any name of the architecture and of the instruction, or by one that leaves no doubt: a part of
    it, a builtin, or the name of an atom of CuTe's.

    Raises:
        Error: no such architecture or instruction; the message names the closest.

    >>> instruction("MI300X", "v_mfma_f32_16x16x16f16").name
    'v_mfma_f32_16x16x16_f16'
    """
    return entry(arch).meant(name)


def every_instruction() -> Iterator[Instruction]:
    """Every instruction of every architecture."""
    for name in architectures():
        yield from instructions(name)
