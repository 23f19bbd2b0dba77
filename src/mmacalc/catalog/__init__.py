"""The catalog: one data file per architecture (or family), found by looking, loaded when asked for.

A catalog file is Python literals only: ARCHITECTURES, a tuple of dictionaries (the arguments of
`mmacalc.record.Architecture`), and INSTRUCTIONS, a tuple of lines, each the arguments of
`mmacalc.record.Instruction` after the architecture, in their order, with an optional dictionary of the
named ones last:

    (name, opcode, (M, N, K, blocks), (A, B, C, D), cycles, valu_cycles, "features", {"provenance": ...})

A line with "on": ("name", ...) among its named arguments belongs to those architectures of its file only.
A file may also have ALIASES, a dictionary from other spellings to the names of its lines, and TRANSPOSE_LOADS,
the loads of `mmacalc.loads.TransposeLoad`, whose fields a line gives after the architecture. One whose names
follow a grammar of their own says NAMES, the module of this folder that reads it (`_ptx`).
Files are those in this folder, and those that the environment variable MMACALC_CATALOG names.
"""

from __future__ import annotations

import os
from importlib import import_module

from ..checks import arguments_checked
from ..errors import Error, did_you_mean
from ..record import Architecture, Instruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

__all__ = ["Entry", "architecture", "architectures", "instruction", "instructions"]


class Entry:
    """An architecture with its catalog lines; an Instruction is made only when it is asked for."""

    def __init__(
        self,
        record: dict[str, Any],
        lines: tuple[tuple[Any, ...], ...],
        aliases: dict[str, str],
        transpose_loads: tuple[tuple[Any, ...], ...] = (),
    ) -> None:
        self.architecture = _architecture(record)
        self.transpose_loads = transpose_loads
        self._aliases = aliases
        self._made: dict[str, Instruction] = {}
        self._lines = {line[0]: line for line in lines if self._has(line)}

    def _has(self, line: tuple[Any, ...]) -> bool:
        named = line[-1] if isinstance(line[-1], dict) else {}
        return self.architecture.name in named.get("on", (self.architecture.name,))

    @property
    def names(self) -> tuple[str, ...]:
        """The mnemonics, in catalog order."""
        return tuple(self._lines)

    def instruction(self, name: str) -> Instruction:
        """The instruction of that name or alias, in either case.

        Raises:
            Error: the architecture has none; the message names the closest.
        """
        lower = name.lower()
        key = lower if lower in self._lines else self._aliases.get(lower, lower)
        if key not in self._made:
            if key not in self._lines:
                hint = did_you_mean(lower, (*self._lines, *self._aliases))
                title = self.architecture.title
                raise Error(f"{title} has no instruction '{name}'.{hint} `-a {title.lower()} -L` lists them all.")
            aliases = tuple(alias for alias, name in self._aliases.items() if name == key)
            self._made[key] = _make(self.architecture, self._lines[key], aliases)
        return self._made[key]

    def instructions(self) -> tuple[Instruction, ...]:
        """Every instruction, in catalog order."""
        return tuple(self.instruction(name) for name in self.names)


# What the detail page says of every AMD architecture.
_FACTS = ("encoding", "register_alignment", "accumulators", "unit")


def _architecture(record: dict[str, Any]) -> Architecture:
    fields = ("name", "title", "vendor", "layout", "waves", *(_FACTS if record.get("vendor") == "amd" else ()))
    if missing := [field for field in fields if field not in record]:
        raise Error(f"the catalog's record of architecture '{record.get('name')}' lacks: {', '.join(missing)}")
    return Architecture(**record)


def _make(architecture: Architecture, line: tuple[Any, ...], aliases: tuple[str, ...]) -> Instruction:
    named = {**line[-1]} if isinstance(line[-1], dict) else {}
    named.pop("on", None)
    named["aliases"] = aliases
    positional = line[:-1] if isinstance(line[-1], dict) else line
    try:
        return Instruction(architecture, *positional, **named)
    except (TypeError, ValueError) as problem:
        if isinstance(problem, Error):
            raise
        raise Error(f"catalog line of {line[0]} ({architecture.name}): {problem}") from None


BRANDS = ("nvidia", "amd", "tesla", "geforce", "instinct", "radeon")  # what drivers print before a chip's name
_entries: dict[str, Entry] = {}
_names: dict[str, str] = {}
_files: list[str] | None = None


def _pending() -> list[str]:
    """The catalog files that have not been loaded yet: module names of this package, and paths."""
    global _files
    if _files is None:
        here = os.listdir(os.path.dirname(__file__))
        _files = sorted(f[:-3] for f in here if f.endswith(".py") and not f.startswith("_"))
        _files += [path for path in os.environ.get("MMACALC_CATALOG", "").split(os.pathsep) if path]
    return _files


def _load(file: str) -> None:
    """Read one catalog file and add its architectures."""
    module = import_module(f"{__name__}.{file}") if file.isidentifier() else _read(file)
    for record in module.ARCHITECTURES:
        if hasattr(module, "NAMES"):
            entry: Entry = import_module(f"{__name__}.{module.NAMES}").Entry(module, record)
        else:
            loads = getattr(module, "TRANSPOSE_LOADS", ())
            entry = Entry(record, module.INSTRUCTIONS, getattr(module, "ALIASES", {}), loads)
        _entries[entry.architecture.name] = entry
        for name in (entry.architecture.name, *entry.architecture.aliases):
            _names[_squeezed(name)] = entry.architecture.name
    _pending().remove(file)


def _squeezed(name: str) -> str:
    """An architecture's name without what people write differently: GeForce RTX 4090, rtx-4090, sm90a."""
    short = name.lower().replace(" ", "").replace("-", "").replace("_", "")
    for brand in BRANDS:
        short = short.removeprefix(brand) or short
    return short


def _read(path: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(os.path.basename(path)[:-3], path)
    if not path.endswith(".py") or not os.path.isfile(path) or spec is None or spec.loader is None:
        raise Error(f"MMACALC_CATALOG names '{path}', which is not a readable Python file")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        raise Error(f"MMACALC_CATALOG names '{path}', which cannot be read: {problem}") from problem
    if missing := [name for name in ("ARCHITECTURES", "INSTRUCTIONS") if not hasattr(module, name)]:
        raise Error(f"MMACALC_CATALOG names '{path}', which has no {' and no '.join(missing)}")
    return module


def _load_all() -> None:
    for file in list(_pending()):
        _load(file)


@arguments_checked
def entry(name: str) -> Entry:
    """The catalog entry of an architecture, by name or alias, in either case.

    Raises:
        Error: no architecture is called that; the message names the closest.
    """
    short = _squeezed(name)
    if short not in _names and short in _pending():
        _load(short)
    while short not in _names and _pending():
        _load(_pending()[0])
    if short not in _names:
        hint = did_you_mean(short, _names)
        raise Error(f"unknown architecture '{name}'.{hint} Known: {', '.join(sorted(_entries))}.")
    return _entries[_names[short]]


def architecture(name: str) -> Architecture:
    """The record of an architecture, by name or alias."""
    return entry(name).architecture


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
