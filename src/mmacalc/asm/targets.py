"""Compiler targets: which architecture a name means, and what differs between the generations.

A user may name an architecture (cdna3), a product (MI300X) or a target (gfx942, gfx1150); what is encoded depends on
the target, so the one that was named is kept.
"""

from __future__ import annotations

from collections import namedtuple

from ..catalog import entry, normalised, product
from ..errors import Error
from .elf_machines import GENERIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog import Entry

__all__ = ["LDS_DIRECT", "Target", "agreed", "runs_on", "target"]


def _words(**codes: int) -> dict[str, int]:
    return codes


def _row(prefix: str, first: int, count: int, width: int = 1) -> dict[str, int]:
    """Scalar registers, or (width 2) their even-aligned pairs."""
    if width == 1:
        return {f"{prefix}{number}": first + number for number in range(count)}
    return {f"{prefix}[{number}:{number + 1}]": first + number for number in range(0, count, 2)}


def _both(words: dict[str, int]) -> dict[str, int]:
    """Words that LLVM takes with and without "src_", printed with it."""
    return {**words, **{name.removeprefix("src_"): code for name, code in words.items()}}


_APERTURES = _words(src_shared_base=235, src_shared_limit=236, src_private_base=237, src_private_limit=238)
_SCC = _both(_words(src_scc=253))
_CDNA_WORDS = {
    **_both({**_APERTURES, "src_pops_exiting_wave_id": 239}),
    **_both(_words(src_vccz=251, src_execz=252)),
    **_SCC,
}
_CDNA_SCALARS = {
    **_row("s", 0, 102),
    **_words(flat_scratch_lo=102, flat_scratch_hi=103, xnack_mask_lo=104, xnack_mask_hi=105),
    **_words(vcc_lo=106, vcc_hi=107, m0=124, exec_lo=126, exec_hi=127),
    **_row("ttmp", 108, 16),
    **_CDNA_WORDS,
}
_RDNA_WORDS = {**_words(null=124), **_both(_APERTURES), **_SCC}
_CDNA5_WORDS = {**_RDNA_WORDS, **_words(src_flat_scratch_base_lo=230, src_flat_scratch_base_hi=231)}
_CDNA5_SCALARS = {
    **_row("s", 0, 106),
    **_words(vcc_lo=106, vcc_hi=107, m0=125, exec_lo=126, exec_hi=127),
    **_row("ttmp", 108, 16),
    **_CDNA5_WORDS,
}
# LLVM takes it as a scale of the 16-byte forms alone, though the target has no LDS-direct loads.
LDS_DIRECT = _both(_words(src_lds_direct=254))
_CDNA5_SCALAR_PAIRS = {
    **_row("s", 0, 106, 2),
    **_words(vcc=106, exec=126),
    **_row("ttmp", 108, 16, 2),
    **_CDNA5_WORDS,
}


class Generation:
    """What a generation's operand slots take besides vector registers.

    c_words: C; scalars, scalar_pairs: 32-bit and 64-bit scales, v_accvgpr_write; c_constants: whether C may be an
    inline constant; vgprs: how many registers a tuple may reach into (it begins at one of the first 256).
    """

    __slots__ = ("c_constants", "c_words", "name", "scalar_pairs", "scalars", "vgprs")

    def __init__(
        self,
        name: str,
        c_words: dict[str, int],
        scalars: dict[str, int] | None = None,
        scalar_pairs: dict[str, int] | None = None,
        c_constants: bool = True,
        vgprs: int = 256,
    ) -> None:
        self.name, self.c_words, self.scalars, self.scalar_pairs = name, c_words, scalars or {}, scalar_pairs or {}
        self.c_constants, self.vgprs = c_constants, vgprs


# By the architecture's name where it stands alone, else by its family of layouts. Source: LLVM 22.1.8.
_GENERATIONS = {
    "cdna1": Generation("cdna1", _CDNA_WORDS, LDS_DIRECT, c_constants=False),
    "mfma": Generation("cdna", _CDNA_WORDS, _CDNA_SCALARS),
    "wmma-replicated": Generation("rdna3", _RDNA_WORDS),
    "wmma-wave": Generation("rdna4", _RDNA_WORDS),
    "wmma-wave32": Generation("cdna5", _CDNA5_WORDS, _CDNA5_SCALARS, _CDNA5_SCALAR_PAIRS, vgprs=1024),
}


class Target(namedtuple("Target", "name entry wave generation")):
    """A compiler target: its name, the catalog entry of its architecture, the wave size, its generation."""

    __slots__ = ()
    name: str
    entry: Entry
    wave: int
    generation: Generation

    @property
    def alignment(self) -> int:
        """2 where register tuples start at even registers."""
        return 1 if self.entry.architecture.register_alignment == 4 else 2


def target(arch: str, wave: int | None = None) -> Target:
    """The target that a name means; the architecture's first if the name is not a target's own.

    Raises:
        Error: no such architecture or wave size, or one that is not AMD's.

    >>> target("MI300X").name, target("gfx1150").name, target("gfx1150", 64).wave
    ('gfx942', 'gfx1150', 64)
    >>> target("strix halo").name, target("RX 9060 XT").name, target("rdna4").name
    ('gfx1151', 'gfx1200', 'gfx1200')
    """
    found = entry(arch)
    architecture = found.architecture
    if architecture.vendor != "amd":
        raise Error(f"{architecture.title} has no public machine code; assembly is for AMD's architectures")
    name = normalised(arch)
    if not name.startswith("gfx") or name.endswith("generic"):
        named = product(arch) if name != architecture.name else None
        name = named.target if named and named.target else architecture.targets[0]
    generation = _GENERATIONS.get(architecture.name) or _GENERATIONS[architecture.layout]
    return Target(name, found, architecture.wave(wave), generation)


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
        arch: what the caller says; None for what the file says.
        named: the compiler targets that the file names.
        what: how messages call the file.

    Raises:
        Error: neither says, the file says several or only a generic target, or the two contradict each other.
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
