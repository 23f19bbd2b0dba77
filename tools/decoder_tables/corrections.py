"""What LLVM 22.1.8 says otherwise than the hardware does: each correction of a line by hand, with its reason.

The generated file is what `lines` makes of LLVM's answers, with these changes. A correction that changes nothing is
refused, so one that a newer LLVM makes superfluous does not stay here.
"""

from __future__ import annotations

from typing import NamedTuple

from mmacalc.asm.tables import FAMILY_OF

from .line import Line

_PARTS = ("suffix", "operands", "implied", "modifiers", "fixed", "ignored")
_CDNA = frozenset(("gfx908", "gfx90a", "gfx942", "gfx950"))
_EVERY = frozenset(FAMILY_OF)


class Correction(NamedTuple):
    """A change of one part of a line: `old` is replaced by `new`; an empty `old` adds `new` as the first word.

    form: the format it is about, without what follows a colon.
    """

    targets: frozenset[str]
    name: str
    form: str
    part: str
    old: str
    new: str
    reason: str


CORRECTIONS = (
    Correction(
        _CDNA, "v_pk_fmac_f16", "vop2", "operands", "both16", "v2f16",
        "LLVM has one operand type for all generations, by which a constant is in both halves; CDNA reads it as "
        "V_PK_ADD and V_PK_MUL do, in the low half (LLVM issue 94116 was seen on Navi 31)",
    ),
    Correction(
        _EVERY, "v_pk_fmac_f16", "vop2", "implied", "", "<VDST",
        "D = A * B + D (ISA guides, V_PK_FMAC_F16); LLVM ties no operand",
    ),
    Correction(_CDNA, "v_pk_fmac_f16", "vop3", "implied", "", "<VDST", "the same"),
    Correction(
        _EVERY, "s_version", "sopk", "operands", "SIMM16=inline", "SIMM16=version",
        "versions have names (UC_VERSION_GFX11); the sample that the generator asks for has none",
    ),
)  # fmt: skip


def corrected(target: str, lines: list[Line]) -> list[Line]:
    """The lines of a target with its corrections."""
    wanted = [one for one in CORRECTIONS if target in one.targets and any(line.name == one.name for line in lines)]
    used = set()
    result = []
    for line in lines:
        for one in wanted:
            if (line.name, line.format.partition(":")[0]) == (one.name, one.form):
                changed = _changed(line, one)
                used |= {one} if changed != line else set()
                line = changed
        result.append(line)
    if useless := [one for one in wanted if one not in used]:
        raise ValueError(f"corrections that change nothing on {target}: {useless}")
    return result


def _changed(line: Line, one: Correction) -> Line:
    parts = line.signature.split("|")
    at = _PARTS.index(one.part)
    words = parts[at].split()
    parts[at] = parts[at].replace(one.old, one.new) if one.old else " ".join([one.new, *words])
    return line._replace(signature="|".join(parts))
