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


class Flag(NamedTuple):
    """A flag that LLVM's records of some instructions lack, where its C++ asks for their opcodes."""

    flag: str
    names: tuple[str, ...]
    reason: str


FLAGS = (
    Flag("barrier", ("s_rfe_b64", "s_rfe_i64", "s_rfe_restore_b64"), "a return from a trap: nothing follows"),
    Flag("branch", ("s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join"), "they may lead elsewhere"),
    Flag(
        "permlane_swap", ("v_permlane16_swap_b32", "v_permlane32_swap_b32"),
        "a rule of their own: GCNHazardRecognizer::checkPermlaneHazards; OP_SEL has FI and BOUND_CTRL",
    ),
    Flag("lane_select", ("v_readlane_b32", "v_writelane_b32"), "the last operand chooses a lane: checkRWLaneHazards"),
    Flag("read_lane", ("v_readlane_b32", "v_readfirstlane_b32"), "a lane becomes an SGPR: checkVALUHazards"),
    Flag("div_fmas", ("v_div_fmas_f32", "v_div_fmas_f64"), "VCC as data: checkDivFMasHazards"),
    Flag("fma64", ("v_fma_f64", "v_fmac_f64"), "rules of DGEMM: checkMAIVALUHazards"),
    Flag(
        "relative", ("v_movreld_b32", "v_movrelsd_b32", "v_movrelsd_2_b32"),
        "M0 says which register is written, counted from the one that is named, which LLVM has as read",
    ),
    Flag(
        "byte_sel", ("v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_f16_fp8", "v_cvt_f16_bf8"),
        "bits 0 and 1 of OP_SEL are called byte_sel from RDNA4 on, the higher one first",
    ),
    Flag(
        "byte_sel_dst", ("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32", "v_cvt_sr_fp8_f16", "v_cvt_sr_bf8_f16"),
        "bits 2 and 3 of OP_SEL are called byte_sel from RDNA4 on",
    ),
    Flag("scale_sel", (
        *(f"v_cvt_scale_pk8_{to}_{of}" for to in ("f32", "f16", "bf16") for of in ("fp8", "bf8", "fp4")),
        *(f"v_cvt_scale_pk16_{to}_{of}" for to in ("f32", "f16", "bf16") for of in ("fp6", "bf6")),
    ), "OP_SEL is called scale_sel"),
)  # fmt: skip


def more_flags(name: str) -> set[str]:
    """The flags that an instruction has beside LLVM's."""
    return {one.flag for one in FLAGS if name in one.names}


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
