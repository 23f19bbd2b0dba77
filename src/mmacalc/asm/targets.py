"""Compiler targets: which architecture a name means, and what differs between the generations.

A user may name an architecture (cdna3), a product (MI300X) or a target (gfx942, gfx1150); what is encoded depends on
the target, so a named target is kept.
"""

from __future__ import annotations

from functools import lru_cache

from ..catalog import entry, known_name, product
from ..errors import Error
from ..later import imported
from ..records import TupleRecord
from .elf_machines import GENERIC
from .generations import generation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from ..catalog import Entry
    from .generations import Generation
    from .operand_codes import Scalars

__all__ = ["LLVM_VERSIONS", "Target", "agreed", "own_assembler", "runs_on", "target"]

LLVM_VERSIONS = (24, 22)  # those whose encodings were compared, the default first


class Target(TupleRecord):
    """A compiler target: its name, the catalog entry of its architecture, the wave size, its generation, the LLVM
    version whose encodings and rules are meant."""

    name: str
    entry: Entry
    wave: int
    generation: Generation
    llvm: int

    @property
    def scalars(self) -> Scalars:
        """Its registers; register tuples start at even ones where they are aligned to 64 bits."""
        return self.generation.scalars(1 if self.entry.architecture.register_alignment == 4 else 2)


@lru_cache(maxsize=256)
def own_assembler(arch: str) -> ModuleType | None:
    """The module that encodes an architecture's instructions, where that is not AMD's assembler (Intel's DPAS).

    Raises:
        Error: no such architecture.
    """
    name = entry(arch).architecture.family.assembler
    return imported(f"mmacalc.asm.{name}") if name else None


@lru_cache(maxsize=256)
def target(arch: str, wave: int | None = None, llvm: int | None = None) -> Target:
    """The target that a name means; the architecture's first if the name is not a target's own.

    Args:
        arch, wave: as for `mmacalc.assemble`. llvm: one of LLVM_VERSIONS; the newest if left out.

    Raises:
        Error: no such architecture or wave size, one that is not AMD's, or one that the LLVM version does not know.

    >>> target("MI300X").name, target("gfx1150").name, target("gfx1150", 64).wave
    ('gfx942', 'gfx1150', 64)
    >>> target("strix halo").name, target("RX 9060 XT").name, target("rdna4").name
    ('gfx1151', 'gfx1200', 'gfx1200')
    """
    listed = entry(arch)
    architecture = listed.architecture
    architecture.family.require("assembly", architecture.title)
    if own_assembler(arch):
        raise Error(f"{architecture.title} has an assembler of its own; this question is about LLVM's targets")
    if not architecture.assembly:
        raise Error(f'the catalog\'s record of {architecture.title} names no generation of encodings ("assembly")')
    name = known_name(arch)[0]
    if not name.startswith("gfx") or name.endswith("generic"):
        named = product(arch) if name != architecture.name else None
        name = named.target if named and named.target else (*architecture.targets, architecture.name)[0]
    version = LLVM_VERSIONS[0] if llvm is None else llvm
    if version not in LLVM_VERSIONS:
        raise Error(f"the encodings are those of LLVM {' or '.join(map(str, LLVM_VERSIONS))}; got {llvm!r}")
    first = architecture.since_llvm.get(name, version)
    if first > version:
        raise Error(f"LLVM {version} does not know {name}; LLVM {first} does")
    encodings = architecture.assembly_of.get(version, architecture.assembly)
    return Target(name, listed, architecture.wave(wave), generation(encodings), version)


def runs_on(name: str, arch: str) -> bool:
    """Whether code for a compiler target, perhaps a generic one, runs on an architecture.

    >>> runs_on("gfx942", "MI300X"), runs_on("gfx9-4-generic", "cdna4"), runs_on("gfx942", "cdna4")
    (True, True, False)
    """
    meant = entry(arch).architecture
    return not {meant.name, *meant.aliases, *meant.targets}.isdisjoint(GENERIC.get(name, (name,)))


def agreed(arch: str | None, named: tuple[str, ...], what: str) -> str:
    """The architecture that the caller and a file agree on.

    Args:
        arch: the caller's choice; None to take the file's.
        named: the compiler targets that the file names.
        what: how messages call the file.

    Raises:
        Error: neither names one, the file names several or only a generic target, or the two contradict each other.
    """
    if arch is not None:
        for each in named:
            if not runs_on(each, arch):
                raise Error(f"{what} is for {_described(each)}, not for {arch}")
        return arch
    if not named:
        raise Error(f"which architecture is {what} for? It names none; give one, such as -a gfx942")
    if len(named) > 1:
        raise Error(f"{what} names several targets, {', '.join(named)}; give its parts one by one")
    if named[0] in GENERIC:
        raise Error(f"{what} is for {_described(named[0])}; give one of them, such as -a {GENERIC[named[0]][-1]}")
    return named[0]


def _described(name: str) -> str:
    if name in GENERIC:
        return f"the generic target {name}, which runs on {', '.join(GENERIC[name])}"
    return name
