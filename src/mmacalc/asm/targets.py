"""Compiler targets: which architecture a name means, and what differs between the generations.

A user may name an architecture (cdna3), a product (MI300X) or a target (gfx942, gfx1150); what is encoded depends on
the target, so a named target is kept.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.errors import Error
from ..base.records import TupleRecord, imported
from ..catalog import entry, known_name, product
from .generations import generation
from .operand_codes import registers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from ..catalog import Entry
    from .generations import Generation
    from .operand_codes import Scalars

__all__ = ["GENERIC", "LLVM_VERSIONS", "MACHINES", "Target", "agreed", "own_assembler", "runs_on", "target"]

LLVM_VERSIONS = (24, 22)  # those whose encodings were compared, the default first
# Sources: LLVM 22.1.8, "User Guide for AMDGPU Backend", tables of EF_AMDGPU_MACH values and of generic processors; of
# gfx1154, gfx117x and gfx1310 the objects of LLVM 24.0.0git (in the wheel of Triton 3.9.0).
# e_flags & 0xff -> target
MACHINES = {
    0x20: "gfx600", 0x21: "gfx601", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704",
    0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x2B: "gfx810", 0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904",
    0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3A: "gfx602", 0x3B: "gfx705", 0x3C: "gfx805",
    0x3D: "gfx1035", 0x3E: "gfx1034", 0x3F: "gfx90a", 0x40: "gfx940", 0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150",
    0x44: "gfx1103", 0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102", 0x48: "gfx1200", 0x49: "gfx1250",
    0x4A: "gfx1151", 0x4B: "gfx941", 0x4C: "gfx942", 0x4E: "gfx1201", 0x4F: "gfx950", 0x50: "gfx1310",
    0x51: "gfx9-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic", 0x55: "gfx1152",
    0x57: "gfx1154", 0x58: "gfx1153", 0x59: "gfx12-generic", 0x5A: "gfx1251", 0x5C: "gfx1172", 0x5D: "gfx1170",
    0x5E: "gfx1171", 0x5F: "gfx9-4-generic",
}  # fmt: skip

# A generic target's code runs on several GPUs: generic target -> those GPUs' targets.
GENERIC: dict[str, tuple[str, ...]] = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}


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
        return registers_of(self.generation.family, 1 if self.entry.architecture.register_alignment == 4 else 2)


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
