"""Families whose catalog files state every layout: Apple's simdgroup matrices, Intel's AMX tiles, Arm's SME tiles.

A record has `patterns`: for each kind of instruction, by operand, a pattern in the notation of `mmacalc.layout` and the
sizes that do not follow from the shape. Of each coordinate at most one size may be left out: what the others leave of
M, N or K. So such hardware is one file, without code.

    A: "i (d e) -> lane (d), item (i e)", {"e": 2}     of 16 rows and 32 k: d = 16, and i = 16

A lane is what an index of the file counts: a thread of a SIMD group, or 32 bits of a row of a tile, or of a vector. An
item is an element of a lane; its register is then a row of the tile (AMX), a horizontal slice of ZA (SME), or as on
GPUs a register of 32 bits.
"""

from __future__ import annotations

import re

from ..base.errors import Error
from . import AXES, Family, Placement, packed, shared_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Instruction

__all__ = ["AMX", "SIMDGROUP", "SME", "sized"]

_WORD = re.compile(r"\w+")


class Stated(Family):
    """A family whose layouts are texts of the catalog file."""

    def operands(self, instruction: Instruction) -> tuple[str, ...]:
        """A, B, C and D."""
        return ("A", "B", "C", "D")

    def place(self, instruction: Instruction, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """The placement of one operand, as the file states it.

        Raises:
            Error: the file states none for the kind of the instruction, or one that does not fit its shape.
        """
        kind = instruction.kind
        stated = instruction.architecture.patterns.get(kind, {}).get(operand)
        if stated is None:
            raise Error(f"patterns of {instruction.arch} has none for {operand} of {kind}")
        text, given = stated
        shape = {"i": instruction.m, "j": instruction.n, "k": instruction.k}
        axes = AXES[operand]
        sizes = {"b": 1, **sized(text, given, [shape[axis] for axis in axes[1:]])}
        return packed(shared_layout(f"b {text}", axes, tuple(sizes.items())), instruction.format_of(operand).bits)


def sized(text: str, given: Mapping[str, int], extents: list[int]) -> dict[str, int]:
    """The size of every name of a pattern: those given, and of each coordinate the one that is left.

    Args:
        text: the pattern. given: sizes by name. extents: of the coordinates on the left, in their order.

    Raises:
        Error: two sizes of a coordinate are missing, or they do not divide it.

    >>> sized("i (d e) -> lane (d), item (i e)", {"e": 2}, [16, 32])
    {'i': 16, 'd': 16, 'e': 2}
    """
    groups = re.findall(r"\([^)]*\)|\w+", text.partition("->")[0])
    if len(groups) != len(extents):
        raise Error(f"the pattern '{text}' has {len(groups)} coordinates; there are {len(extents)}")
    found: dict[str, int] = {}
    for group, extent in zip(groups, extents):
        names = _WORD.findall(group)
        missing, product = [name for name in names if name not in given], 1
        for name in names:
            product *= given.get(name, 1)
        if len(missing) > 1 or extent % product or (not missing and product != extent):
            raise Error(f"the sizes of {group} in '{text}' do not make {extent}: {dict(given)}")
        found |= {name: given.get(name, extent // product) for name in names}
    return found


# What is refused of all of these families, and what more of those that are no GPUs.
_REFUSED = {
    "launch": "launch runs waves of AMD architectures and PTX; {title} has neither",
    "generate": "kernels are generated in HIP and CUDA; {title} has neither",
    "assembly": "instructions of {title} are not encoded here: use its own assembler",
    "explain": "no assembly of {title} is read here; `mmacalc -a ... -i ... -d` describes an instruction",
    "chain": "a chain needs instructions that move data between lanes, which are not described for {title}",
    "estimate": "no cycles of {title} are in the catalog, so no time can be estimated",
}
_NO_GPU = {
    **_REFUSED,
    "waits": "{title} is not a GPU whose program waits for its matrix instructions",
    "tile": "{title} has no waves that could share a tile; an instruction's own layouts are all there is",
}


_FPCR = "FPCR.{} is taken as 0: {{name}} is computed with FPCR 0 here, and {}"
_MODES = {
    "fz": "another would flush subnormal operands and results", "fiz": "another would flush subnormal operands",
    "fz16": "another would flush those of f16", "ah": "another would change the NaN and what is flushed",
    "rmode": "rounds to nearest even", "ebf": "another would round the sum of two bf16 products once",
    "dn": "gives the default NaN with any DN",
}  # fmt: skip
# Arm's FPCR, of which no other value is modelled; Intel's MXCSR, which AMX does not read.
FPCR = {name: _FPCR.format(name.upper(), why) for name, why in _MODES.items()}
MXCSR = dict.fromkeys(
    ("mxcsr", "daz", "ftz", "rc"),
    "{name} does not read MXCSR: it rounds to nearest even, and subnormals are as `mmacalc numerics` says",
)


def _no_gpu(
    name: str, vendor: str, functions: str, memory: str, nan_codes: Mapping[str, str], modes: Mapping[str, str]
) -> Stated:
    """A family of processors with matrix instructions, whose manual the vendor publishes."""
    return Stated(
        name, (), vendor=vendor, grammar="stated", spelling="stated", functions=functions, layouts_only=True,
        unsupported_topics={**_NO_GPU, "memory": memory}, nan_codes=nan_codes, fixed_modes=modes,
    )  # fmt: skip


SIMDGROUP = Stated(
    "simdgroup", (), vendor="apple", grammar="stated", spelling="stated", layouts_only=True,
    unsupported_topics={
        **_REFUSED,
        "arithmetic": "Apple does not publish how {title} rounds, so it is not computed here",
        "waits": "Apple publishes no wait states of {title}",
        "memory": "how threadgroup memory of {title} serves accesses is not published",
    },
)  # fmt: skip
AMX = _no_gpu(
    "amx",
    "intel",
    "headers",
    "{title} loads whole tiles by TILELOADD, row by row; no lanes' accesses could conflict",
    {"f32": "0xFFC00000; a NaN operand's own bits are not modelled"},
    MXCSR,
)
SME = _no_gpu(
    "sme",
    "arm",
    "headers",
    "{title} loads vectors and slices of ZA; there are no lanes whose accesses could conflict",
    {"f32": "0x7FC00000"},
    FPCR,
)
