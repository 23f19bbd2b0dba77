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
    *(
        Correction(
            frozenset(("gfx950",)), f"v_cvt_scalef32_sr_pk_fp4_{of}", "vop3", "implied", "", "<VDST",
            "the other bytes of the destination are kept, as by V_CVT_SCALEF32_PK_FP4; LLVM has the operand, and does "
            "not tie it",
        )
        for of in ("f32", "f16", "bf16")
    ),
    Correction(
        _EVERY, "s_version", "sopk", "operands", "SIMM16=inline", "SIMM16=version",
        "versions have names (UC_VERSION_GFX11); the sample that the generator asks for has none",
    ),
)  # fmt: skip


# Formats whose instructions another one has too, which LLVM 22 does not decode: see `mmacalc.asm.formats`, tensor:old.
OLDER = {"tensor": "tensor:old", "tensor:two": "tensor:two:old"}


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
    Flag(
        "part", tuple(f"v_cvt_scalef32_sr_pk_fp4_{of}" for of in ("f32", "f16", "bf16")),
        "the result is a byte wherever OP_SEL puts it: getDstSelForwardingOperand, isFP4DstSelInst",
    ),
    Flag(
        "byte", (
            "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32",
            *(f"v_cvt_scalef32_sr_{to}_{of}" for to in ("fp8", "bf8") for of in ("f32", "f16", "bf16")),
        ),
        "bits 2 and 3 of OP_SEL choose a byte of the destination: isFP8DstSelInst",
    ),
    Flag("hwreg", ("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"), "SIMM16 is a hardware register: isSSetReg"),
    Flag("from_trap", ("s_rfe_b64",), "TRAPSTS must have been set before: checkRFEHazards"),
    Flag("sets_vskip", ("s_setvskip",), "it writes MODE.VSKIP (CDNA4 ISA guide, section 4.5)"),
    Flag("swizzle", ("ds_swizzle_b32",), "OFFSET is a pattern of lanes"),
    Flag(
        "from_lds", (
            *(f"global_store_async_from_lds_b{bits}" for bits in (8, 32, 64, 128)), "tensor_store_from_lds",
            "buffer_store_lds_dword",
        ),
        "they read LDS and write memory; LLVM says that they load and store",
    ),
    Flag("message", ("s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64", "s_get_barrier_state"), "an answer comes later"),
    Flag(
        "lane_mask", (
            "v_cndmask_b16", "v_cndmask_b32", *(f"v_{name}_co_ci_u32" for name in ("add", "sub", "subrev")),
            *(f"v_{name}_co_u32" for name in ("addc", "subb", "subbrev")),
        ),
        "the third source is a mask of lanes, which is in SGPRs: validateConstantBusLimitations",
    ),
    Flag(
        "one_scalar", ("v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64"),
        "one scalar register also where other instructions read two: getConstantBusLimit",
    ),
    Flag(
        "signed_literal", (
            *(f"v_cmp{x}_{test}_i64" for x in ("", "x") for test in ("f", "lt", "eq", "le", "gt", "ne", "ge", "t")),
            "s_ashr_i64", "s_bfe_i64", "s_cls_i32_i64", "s_flbit_i32_i64", "s_add_pc_i64", "s_swap_pc_i64",
            "v_ashrrev_i64", "v_mad_i64_i32", "v_mad_co_i64_i32", "v_mad_nc_i64_i32", "v_max_i64", "v_min_i64",
        ),
        "a literal of 32 bits is extended by its sign, that of other 64-bit integers by zeros (ISA guides, Literals)",
    ),
    Flag(
        "invalidate", (
            "buffer_gl0_inv", "buffer_gl1_inv", "buffer_inv", "buffer_invl2", "global_inv", "s_dcache_inv",
            "s_gl1_inv", "s_icache_inv",
        ),
        "no data: caches are invalidated",
    ),
    Flag(
        "write_back", (
            "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_wbl2", "global_wb", "global_wbinv", "s_dcache_wb",
            "s_dcache_wb_vol",
        ),
        "no data: caches are written back",
    ),
    Flag(
        "prefetch", (
            "flat_prefetch_b8", "global_prefetch_b8", "s_buffer_prefetch_data", "s_prefetch_data",
            "s_prefetch_data_pc_rel", "s_prefetch_inst", "s_prefetch_inst_pc_rel",
        ),
        "no register: what comes goes into a cache",
    ),
    Flag(
        "waits_xcnt", (
            "s_branch", *(f"s_cbranch_{x}" for x in ("scc0", "scc1", "vccz", "vccnz", "execz", "execnz")), "s_call_i64",
            "s_set_pc_i64", "s_swap_pc_i64", "s_sendmsg", "s_sendmsghalt", "s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64",
            *(f"s_barrier_{x}" for x in ("init", "join", "leave", "signal", "signal_isfirst", "wait")), "s_endpgm",
            "s_endpgm_saved", "s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32", "s_set_vgpr_msb", "s_trap",
        ),
        "the hardware itself waits for translations before these (LLVM's pull requests 198823 and, of s_set_vgpr_msb, "
        "188527; of s_getreg, s_setreg and s_trap LLVM 24.0.0git, which leaves out the wait behind them)",
    ),
    Flag(
        "by_m0", (
            "s_movreld_b32", "s_movreld_b64", "s_movrels_b32", "s_movrels_b64", "s_movrelsd_2_b32", "s_set_gpr_idx_on",
            "v_movreld_b32", "v_movrels_b32", "v_movrelsd_2_b32", "v_movrelsd_b32",
        ),
        "M0 chooses registers that the text does not name",
    ),
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
        if line.format in OLDER:
            result.append(line._replace(format=OLDER[line.format]))
    if useless := [one for one in wanted if one not in used]:
        raise ValueError(f"corrections that change nothing on {target}: {useless}")
    return result


def _changed(line: Line, one: Correction) -> Line:
    parts = line.signature.split("|")
    at = _PARTS.index(one.part)
    words = parts[at].split()
    parts[at] = parts[at].replace(one.old, one.new) if one.old else " ".join([one.new, *words])
    return line._replace(signature="|".join(parts))
