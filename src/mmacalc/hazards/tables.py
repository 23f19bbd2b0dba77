"""The wait states that AMD's matrix instructions need, as rows of data; `mmacalc.hazards.recognizer` reads them.

A table has the numbers of one source for one generation. Its rows:

    (first, second, dependency, states, the source's own place or words[, between[, expiry]])

first and second: kinds of `register_use`, alternatives separated by spaces; `VALU-DOT` is VALU except DOT.
dependency: a name of `dependencies.DEPENDENCIES`. states: one number, or one for each length in the table's `lengths`.
between: the row holds only if an instruction of that kind is between the two. expiry: an `Expiry`, where other
instructions than v_nop or s_nop end the hazard.

Kinds: XDL (every MFMA and SMFMAC but those of f64 and f32 inputs), SGEMM (f32 inputs), DGEMM4 and DGEMM16 (f64),
MFMA (all of them); WMMA, SWMMAC, WMMA_F32 (16x16x4 f32); VALU, DOT, TRANS, FMA64, ACC_READ, ACC_WRITE, PERMLANE_SWAP
(each a VALU); WMMA_32 and SWMMAC_32 (those of 32 cycles), WMMA_F64; MEM (buffer, image, global, flat, scratch, LDS);
EXP; WAIT_VDST (lds_direct_load and lds_param_load whose wait_vdst is not 0) and WAIT_VDST_1 to WAIT_VDST_15;
VA_VDST (s_waitcnt_depctr with va_vdst(0)); EXEC_64 (a scalar instruction that writes all of EXEC, as in wave64);
SETREG, GETREG, RFE (s_setreg, s_getreg, s_rfe_b64); M0_WRITE (a scalar instruction that writes M0) and M0_READ (what
reads it when it is issued: messages, loads to LDS, s_movrels ...); PART (a VALU whose result is moved within its
register: the upper half by OP_SEL, a byte or word of SDWA); TO_LDS (a load to LDS by a buffer or global instruction);
VSKIP (s_setreg of MODE.VSKIP), SETVSKIP (s_setvskip); VCCZ_SOURCE, EXECZ_SOURCE, EXEC_SOURCE (a VALU that reads one of
them as data); PERMLANE (v_permlane16_b32 and its like, not the swaps); WORK (on gfx11 and gfx12 a VALU that is no
v_nop); DUAL (a pair, VOPD); OP_SEL_HI (a VOP3P instruction with the lowest bit of op_sel_hi).

LLVM's numbers are those of LLVM 22.1.8, confirmed by letting llc insert the nops (tests/test_waits_llvm.py).
Those of LLVM 24.0.0git are what the code generator in the wheel of Triton 3.9.0 inserts (hazards_24.tsv.gz).
"""

from __future__ import annotations

from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Lengths: TypeAlias = tuple[int, ...]
    Row: TypeAlias = (
        tuple[str, str, str, int | Lengths, str]
        | tuple[str, str, str, int | Lengths, str, str]
        | tuple[str, str, str, int | Lengths, str, str, "Expiry"]
    )

__all__ = [
    "EXPERT", "FORWARDING", "FURTHER", "LATER", "LLVM", "NEVER", "REPORTS", "RULES", "TABLES", "Expiry",
    "ForwardingRule", "HazardTable",
]  # fmt: skip


class Expiry(TupleRecord):
    """What ends a hazard before its wait states have passed.

    first, second: kinds of instruction; the first of `first` ends it, and so does the second of `second`.
    instruction: what to put before the second instruction where nothing ends the hazard; "" for wait states.
    words: what ends it, in words. disputed: who leaves the wait out; then it is noted, no finding. "" of all others.
    """

    first: str = ""
    second: str = ""
    instruction: str = ""
    words: str = ""
    disputed: str = ""


NEVER = Expiry()


class ForwardingRule(TupleRecord):
    """When a VALU instruction in wave64 must not read two registers, one written before and one after a scalar
    instruction wrote EXEC: between the two writes there are at most `between` VALU instructions, and from the later one
    to the read at most `after`."""

    between: int
    after: int
    place: str
    expiry: Expiry


class HazardTable(TupleRecord):
    """The numbers of one source for one generation.

    guide: whether the source is an ISA guide. partial: whether it has only what other sources lack: no row there means
    nothing.
    """

    source: str
    lengths: tuple[int, ...]
    rows: tuple[Row, ...]
    provenance: str
    guide: bool = False
    partial: bool = False


LLVM = "LLVM 22.1.8"
LATER = "LLVM 24.0.0git"
REPORTS = "LLVM on GitHub"
# Where LLVM's GCNHazardRecognizer has the numbers.
_908, _90A, _VALU = "checkMAIHazards908", "checkMAIHazards90A", "checkMAIVALUHazards"
_TRANS = "fixVALUTransCoexecutionHazards"
_PERMLANE, _DPP = "checkPermlaneHazards", "checkDPPHazards"
_VDEC = "checkVALUHazards, hasVDecCoExecHazard"
_PART, _STORED = "checkVALUHazards, hasDstSelForwardingHazard", "checkVALUHazards, has12DWordStoreHazard"
_M0 = "checkReadM0Hazards"
# The CDNA3 guide's Table 11 has it for scratch and global loads with LDS = 1 and for buffer_store_LDS_dword. AITER
# e404860, whose objects run on MI300X and MI355X, has thousands of buffer_load ... lds and some global_load_lds right
# behind a write of M0; another kernel for MI355X is said to have raced without the nop.
_TO_LDS = Expiry(disputed="AMD's AITER kernels for gfx942 and gfx950 have none there")
# The bit of OP_SEL_HI is in LLVM's operand that of a result in the upper half; Table 11 of the CDNA3 guide has the rule
# for results whose position changes alone. AITER has hundreds of v_pk_add_f32 and v_pk_mul_f32 right before a reader.
_PACKED = Expiry(
    disputed="LLVM takes op_sel_hi for a result's op_sel; AMD's AITER kernels for gfx942 and gfx950 have none there"
)
_LDST, _COEXEC, _WMMA = "checkMAILdStHazards", "checkWMMACoexecutionHazards", "fixWMMAHazards"

# Hazards without a matrix instruction, of all generations before gfx10.

_LLVM_SCALAR = (
    ("VALU MEM", "DPP", "read", 2, _DPP),
    ("VALU", "DPP", "EXEC", 5, _DPP),
    ("VALU", "DIV_FMAS", "VCC", 4, "checkDivFMasHazards"),
    ("VALU", "LANE_SELECT", "lane select", 4, "checkRWLaneHazards"),
    ("VALU", "VMEM", "scalar read", 5, "checkVMEMHazards"),
    ("VALU", "VMEM", "EXEC", 5, "checkVMEMHazards"),
    ("MEM", "VALU MFMA", "write data", 1, _STORED),
    ("SETREG", "GETREG SETREG", "hwreg", 2, "checkGetRegHazards, checkSetRegHazards"),
    ("SETREG", "RFE", "hwreg", 1, "checkRFEHazards"),
    ("M0_WRITE", "M0_READ-TO_LDS", "M0", 1, _M0),
)
_M0_TO_LDS = ("M0_WRITE", "TO_LDS", "M0", 1, _M0)

# --- gfx908: accumulators are in AccVGPRs, which only MFMA and v_accvgpr_* touch. Lengths 2, 8, 16 ---

_LLVM_GFX908 = (
    *_LLVM_SCALAR,
    _M0_TO_LDS,
    ("MFMA", "MFMA", "C exact", 0, _908),
    ("MFMA", "MFMA", "C overlap", 2, _908),
    ("MFMA", "MFMA", "A/B", 4, _908),
    ("MFMA", "ACC_READ", "read", (4, 10, 18), _908),
    ("MFMA", "ACC_WRITE", "write", (1, 7, 15), _908),
    ("MFMA", "ACC_WRITE", "write C", (0, 5, 13), _908),
    ("ACC_WRITE", "MFMA", "C", 1, _908),
    ("ACC_WRITE", "MFMA", "A/B", 3, _908),
    ("ACC_WRITE", "ACC_READ", "read", 3, _908),
    ("ACC_WRITE", "ACC_WRITE", "write", 3, _908),
    ("ACC_READ", "MEM", "read", 2, _LDST),
    # One state after the AccVGPR move, which has given one itself.
    ("VALU-ACC_READ-ACC_WRITE", "MEM", "read", 2, _LDST, "ACC_READ ACC_WRITE"),
    ("VALU-ACC_WRITE", "MFMA ACC_WRITE", "read", 2, _908),
    ("VALU", "MFMA ACC_WRITE", "EXEC", 4, _908),
)

# --- gfx90a and later: what is common ---

_LLVM_VALU = (
    ("DGEMM", "FMA64", "after", 2, _VALU),
    ("VALU-DOT", "MFMA", "read", 2, _90A),
    ("VALU", "MFMA", "EXEC", 4, _90A),
    ("DOT", "VALU", "same opcode C", 0, _VALU),
    ("DOT", "VALU", "same opcode A/B", 3, _VALU),
    ("DOT", "VALU MEM EXP", "other opcode read", 3, _VALU),
    ("DOT", "VALU MEM", "other opcode write", 3, _VALU),
)

# gfx942 and gfx950: results of transcendental instructions, of SGPRs and of EXEC are not forwarded.
_LLVM_SCALAR_GFX940 = (
    *_LLVM_SCALAR,
    ("TRANS", "VALU-TRANS TO_LDS", "read", 1, "checkVALUHazards, hasTransForwardingHazard"),
    ("VALU", "VALU", "scalar read", 2, _VDEC),
    (*_M0_TO_LDS, "", _TO_LDS),
    ("VALU", "READ_LANE", "read", 1, _VDEC),
    ("VALU", "LANE", "EXEC", 4, _VDEC),
    ("MEM", "VALU MFMA", "write data", 2, _STORED),
    ("PART", "VALU MFMA TO_LDS", "part read", 1, _PART),
    ("PART", "VALU MFMA", "part write", 1, _PART),
    ("OP_SEL_HI", "VALU MFMA TO_LDS", "read", 1, _PART, "", _PACKED),
    ("OP_SEL_HI", "VALU MFMA", "write", 1, _PART, "", _PACKED),
)

# --- gfx90a. Lengths 2, 8, 16 ---

_LLVM_GFX90A = (
    *_LLVM_VALU,
    *_LLVM_SCALAR,
    _M0_TO_LDS,
    ("XDL SGEMM", "MFMA", "C exact", 0, _90A),
    ("XDL SGEMM", "XDL SGEMM", "C overlap", (2, 8, 16), _90A),
    ("XDL SGEMM", "DGEMM", "C overlap", (3, 9, 17), _90A),
    ("XDL SGEMM", "MFMA", "A/B", (5, 11, 19), _90A),
    ("XDL SGEMM", "VALU MEM EXP", "read", (5, 11, 19), _VALU),
    ("XDL SGEMM", "VALU MEM", "write", (5, 11, 19), _VALU),
    ("XDL SGEMM", "VALU MEM", "write C", (1, 7, 15), _VALU),
    ("DGEMM16", "DGEMM", "C exact", 0, _90A),
    ("DGEMM16", "DGEMM", "C overlap", 9, _90A),
    ("DGEMM4", "DGEMM", "C", 4, _90A),
    ("DGEMM", "XDL SGEMM", "C", 0, _90A),
    ("DGEMM16", "MFMA", "A/B", 11, _90A),
    ("DGEMM16", "VALU", "read", 11, _VALU),
    ("DGEMM16", "MEM EXP", "read", 18, _VALU),
    ("DGEMM16", "VALU MEM", "write", 11, _VALU),
    ("DGEMM4", "MFMA", "A/B", 6, _90A),
    ("DGEMM4", "VALU", "read", 6, _VALU),
    ("DGEMM4", "MEM EXP", "read", 9, _VALU),
    ("DGEMM4", "VALU MEM", "write", 6, _VALU),
    ("VALU-MFMA", "MEM", "read", 2, _VALU, "DGEMM"),
)

# --- gfx942 and gfx950. Lengths 2, 4, 8, 16 ---

_LLVM_GFX940 = (
    *_LLVM_VALU,
    *_LLVM_SCALAR_GFX940,
    ("XDL SGEMM", "MFMA", "C exact", (2, 0, 0, 0), _90A),
    ("SGEMM", "SGEMM DGEMM", "C overlap", (2, 4, 8, 16), _90A),
    ("SGEMM", "XDL", "C overlap", 0, _90A),
    ("SGEMM", "MFMA", "A/B", (4, 6, 10, 18), _90A),
    ("SGEMM", "VALU MEM EXP", "read", (4, 6, 10, 18), _VALU),
    ("SGEMM", "VALU MEM", "write", (4, 6, 10, 18), _VALU),
    ("XDL", "VALU MEM", "write C", (1, 3, 7, 15), _VALU),
    ("DGEMM16", "MFMA", "C exact", 0, _90A),
    ("DGEMM", "XDL", "C overlap", 0, _90A),
    ("DGEMM4", "DGEMM4", "C exact", 4, _90A),
    ("DGEMM4", "SGEMM DGEMM", "C overlap", 4, _90A),
    ("DGEMM4", "MFMA", "A/B", 6, _90A),
    ("DGEMM4", "VALU", "read", 6, _VALU),
    ("DGEMM4", "MEM EXP", "read", 9, _VALU),
    ("DGEMM4", "VALU MEM", "write", 6, _VALU),
    ("DGEMM16", "MEM EXP", "read", 18, _VALU),
    ("DGEMM16", "VALU MEM", "write", 11, _VALU),
)


def _llvm_gfx940(xdl: Lengths, xdl_xdl_c: Lengths, xdl_other_c: Lengths, dgemm: int, dgemm_c: int) -> tuple[Row, ...]:
    """The rows of gfx942 and gfx950, whose XDL and 16x16x4 f64 instructions take different times.

    Args:
        xdl: after XDL, to read its result as A or B, by VALU or memory, or to write it.
        xdl_xdl_c, xdl_other_c: to read it in part as C: by XDL, and by SGEMM or DGEMM.
        dgemm, dgemm_c: likewise after a 16x16x4 f64.
    """
    return (
        *_LLVM_GFX940,
        ("XDL", "XDL", "C overlap", xdl_xdl_c, _90A),
        ("XDL", "SGEMM DGEMM", "C overlap", xdl_other_c, _90A),
        ("XDL", "MFMA", "A/B", xdl, _90A),
        ("XDL", "VALU MEM EXP", "read", xdl, _VALU),
        ("XDL", "VALU MEM", "write", xdl, _VALU),
        ("DGEMM16", "SGEMM DGEMM", "C overlap", dgemm_c, _90A),
        ("DGEMM16", "MFMA", "A/B", dgemm, _90A),
        ("DGEMM16", "VALU", "read", dgemm, _VALU),
    )


_LLVM_GFX942 = _llvm_gfx940((5, 7, 11, 19), (3, 5, 9, 17), (3, 5, 9, 17), 11, 9)
_LLVM_GFX950 = (
    *_llvm_gfx940((5, 8, 12, 20), (4, 6, 10, 18), (3, 6, 10, 18), 19, 17),
    ("VALU", "PERMLANE_SWAP", "read", 2, _PERMLANE),
    ("VALU", "PERMLANE_SWAP", "EXEC", 4, _PERMLANE),
)

# --- CDNA4 ISA guide, section 7.6, Table 38: the words are the table's first and second column, shortened ---

_XDL, _SGEMM = "XDL or V_SMFMA* write VGPR", "SGEMM write VGPR"
_D16, _D4, _DL = "V_MFMA_16x16x4_F64 write VGPR", "V_MFMA_4x4x4_F64 write VGPR", "DL ops write VGPR"

_GUIDE_COMMON = (
    ("VALU-DOT", "MFMA", "read", 2, "Non-DLops VALU write VGPR | V_MFMA* or V_SMFMA* read VGPR"),
    ("DOT", "DOT", "same opcode C", 0, f"{_DL} | DLops of the same opcode read it as SrcC"),
    ("DOT", "DOT", "same opcode A/B", 3, f"{_DL} | DLops of the same opcode read it as SrcA/B"),
    ("DOT", "VALU MFMA MEM EXP", "other opcode read", 3, f"{_DL} | any other opcode reads VGPR"),
    ("DOT", "VALU MFMA MEM", "other opcode write", 3, f"{_DL} | any other opcode writes VGPR"),
    ("XDL", "XDL", "C forwarded", (2, 0, 0, 0), f"{_XDL} | XDL reads SrcC exactly same as 1st vDst"),
    ("SGEMM", "SGEMM", "C forwarded", (2, 0, 0, 0), f"{_SGEMM} | SGEMM reads SrcC exactly same as 1st vDst"),
    ("SGEMM", "SGEMM DGEMM", "C not forwarded", (2, 4, 8, 16), f"{_SGEMM} | S/DGEMM read SrcC overlapped"),
    ("SGEMM", "XDL", "C", 0, f"{_SGEMM} | XDL reads SrcC overlapped"),
    ("SGEMM", "MFMA", "A/B", (4, 6, 10, 18), f"{_SGEMM} | MFMA reads SrcA, SrcB or index"),
    ("SGEMM", "MEM EXP", "read", (4, 6, 10, 18), f"{_SGEMM} | VM, LDS, FLAT, Export read VGPR"),
    ("SGEMM", "VALU", "read", (4, 6, 10, 18), f"{_SGEMM} | VALU read VGPR (RAW)"),
    ("SGEMM", "VALU", "write", (4, 6, 10, 18), f"{_SGEMM} | VALU write VGPR (WAW)"),
    ("DGEMM16", "DGEMM16", "C exact", 0, f"{_D16} | V_MFMA_16x16x4_F64 reads SrcC exactly same"),
    ("DGEMM16 DGEMM4", "XDL", "C", 0, "V_MFMA*F64 write VGPR | XDL reads SrcC overlapped"),
    ("DGEMM16", "MEM EXP", "read", 18, f"{_D16} | VM, LDS, FLAT and Export read VGPR"),
    ("DGEMM4", "DGEMM4", "C exact", 4, f"{_D4} | V_MFMA_4x4x4_F64 reads SrcC exactly same"),
    ("DGEMM4", "SGEMM DGEMM", "C overlap", 4, f"{_D4} | S/DGEMM read SrcC overlapped"),
    ("DGEMM4", "MFMA", "A/B", 6, f"{_D4} | MFMA reads SrcA, SrcB or index"),
    ("DGEMM4", "VALU", "read", 6, f"{_D4} | VALU read VGPR (RAW)"),
    ("DGEMM4", "VALU", "write", 6, f"{_D4} | VALU write VGPR (WAW)"),
    ("DGEMM4", "MEM EXP", "read", 9, f"{_D4} | VM, LDS, FLAT and Export read VGPR"),
    ("VALU", "MFMA", "EXEC", 4, "V_CMPX* write EXEC MASK | V_MFMA*"),
)


def _guide(xdl: Lengths, xdl_xdl_c: Lengths, xdl_other_c: Lengths, dgemm: int, dgemm_c: int) -> tuple[Row, ...]:
    """The rows in which the guides of CDNA3 and CDNA4 differ; arguments as for `_llvm_gfx940`."""
    return (
        *_GUIDE_COMMON,
        ("XDL", "XDL", "C not forwarded", xdl_xdl_c, f"{_XDL} | XDL reads SrcC overlapped"),
        ("XDL", "SGEMM DGEMM", "C", xdl_other_c, f"{_XDL} | S/DGEMM read SrcC"),
        ("XDL", "MFMA", "A/B", xdl, f"{_XDL} | MFMA reads SrcA, SrcB or index"),
        ("XDL", "MEM EXP", "read", xdl, f"{_XDL} | VM, LDS, FLAT, Export read VGPR"),
        ("XDL", "VALU", "read", xdl, f"{_XDL} | VALU read VGPR (RAW)"),
        ("XDL", "VALU", "write", xdl, f"{_XDL} | VALU write VGPR (WAW)"),
        ("DGEMM16", "SGEMM DGEMM", "C overlap", dgemm_c, f"{_D16} | S/DGEMM read SrcC overlapped"),
        ("DGEMM16", "MFMA", "A/B", dgemm, f"{_D16} | MFMA reads SrcA, SrcB or index"),
        ("DGEMM16", "VALU", "read", dgemm, f"{_D16} | VALU read VGPR (RAW)"),
        ("DGEMM16", "VALU", "write", dgemm, f"{_D16} | VALU write VGPR (WAW)"),
    )


_GUIDE_CDNA4 = _guide((5, 8, 12, 20), (4, 6, 10, 18), (3, 6, 10, 18), 19, 17)
# CDNA3's guide has the table without CDNA4's extra state. It is not among the project's sources, so it is
# unconfirmed: shown, but not counted.
_GUIDE_CDNA3 = _guide((5, 7, 11, 19), (3, 5, 9, 17), (3, 5, 9, 17), 11, 9)

# --- ISA guides, section 4.5, Table 11: the rows that LLVM lacks, since its code generator emits none of them. Mesa has
# those of VSKIP, VCCZ and EXECZ for GFX6 to GFX9 (ACO's aco_insert_NOPs.cpp, NOP_ctx_gfx6). ---

_Z = "VALU that sets VCC or EXEC | VALU that uses EXECZ or VCCZ as a data source"
_TABLE_11 = (
    ("SETVSKIP", "GETREG", "hwreg", 2, "SET_VSKIP | S_GETREG MODE"),
    ("VSKIP", "VALU MFMA MEM EXP", "VSKIP", 2, "S_SETREG MODE.vskip | any vector op"),
    ("VALU", "VCCZ_SOURCE", "VCCZ", 5, _Z),
    ("VALU", "EXECZ_SOURCE", "EXEC", 5, _Z),
)
_TABLE_11_CDNA3 = (*_TABLE_11, ("VALU", "EXEC_SOURCE", "EXEC", 2, "V_CMPX | VALU reads EXEC as constant"))

# --- WMMA: V_NOPs or independent VALU instructions ---

# What waits until the results of VALU instructions are written (the counter va_vdst is 0): by LLVM every access to
# memory or LDS and every export do, lds_direct_load and lds_param_load do not.
_VA_VDST, _WAIT = "VA_VDST MEM EXP", "s_waitcnt_depctr depctr_va_vdst(0)"
_ENDS = "{} with va_vdst(0), by an access to memory or LDS, by an export"
_TRANS_USE = "fixVALUTransUseHazard (gfx1100 to gfx1103)"
_LDS_DIRECT = "fixLdsDirectVALUHazard, which sets wait_vdst to the number of VALU instructions between"


def _lds_direct(kinds: str, instruction: str) -> tuple[Row, ...]:
    """The rows of loads into registers that VALU instructions of these kinds still read or write: wait_vdst may be at
    most the number of VALU instructions since, and 0 if a transcendental instruction, which can end before earlier
    ones, is among them."""
    expiry = Expiry(_VA_VDST, "", instruction, _ENDS.format(instruction.split()[0]))
    return tuple(
        (first, second, dependency, states, _LDS_DIRECT, between, expiry)
        for dependency in ("write", "write read")
        for first, second, states, between in (
            *((kinds, f"WAIT_VDST_{count}", count, "") for count in range(1, 16)),
            (kinds, "WAIT_VDST", 15, "TRANS"),
            ("TRANS", "WAIT_VDST", 15, ""),
        )
    )


# A permlane reads its lanes by the EXEC of before a v_cmpx, until another VALU instruction than v_nop has run: 15
# v_nops are taken to be enough, of which LLVM says nothing.
_PERMLANES = (
    "VALU", "PERMLANE", "EXEC", 15, "fixVcmpxPermlaneHazards", "",
    Expiry("WORK", "", "v_mov_b32_e32 v0, v0", "any VALU instruction but v_nop"),
)  # fmt: skip

_LLVM_GFX1150: tuple[Row, ...] = (
    _PERMLANES,
    ("WMMA", "WMMA", "A/B", 1, _WMMA),
    ("WMMA", "WMMA", "C", 0, _WMMA),
    *_lds_direct("VALU WMMA", _WAIT),
)

_TRANS_EXPIRY = Expiry(
    _VA_VDST, "TRANS", _WAIT, f"{_ENDS.format('s_waitcnt_depctr')}, by two transcendental instructions"
)

# gfx1100 to gfx1103: a result of the transcendental unit is not forwarded.
_LLVM_GFX11: tuple[Row, ...] = (
    *_LLVM_GFX1150,
    ("TRANS", "VALU WMMA", "read", 6, _TRANS_USE, "", _TRANS_EXPIRY),
)

_LLVM_GFX12: tuple[Row, ...] = (
    _PERMLANES,
    ("WMMA SWMMAC", "WMMA SWMMAC", "A/B/index", 1, _WMMA),
    ("WMMA SWMMAC", "WMMA SWMMAC", "C", 0, _WMMA),
    *_lds_direct("VALU WMMA SWMMAC", "s_wait_alu depctr_va_vdst(0)"),
)

# Lengths 8 and 16: LLVM's latency of the WMMA.
_LLVM_GFX1250: tuple[Row, ...] = (
    _PERMLANES,
    ("WMMA SWMMAC WMMA_F32", "WMMA SWMMAC WMMA_F32", "C", 0, _WMMA),
    ("WMMA SWMMAC WMMA_F32", "WMMA SWMMAC WMMA_F32", "A/B/index", 1, _WMMA),
    ("TRANS", "WMMA SWMMAC WMMA_F32 VALU-TRANS", "read", 1, _TRANS),
    # Of a pair (VOPD) LLVM does not look at what it writes.
    ("TRANS", "WMMA SWMMAC WMMA_F32 VALU-TRANS-DUAL", "write read", 1, _TRANS),
    ("WMMA", "WMMA SWMMAC", "A/B/index", (5, 9), _COEXEC),
    ("SWMMAC", "WMMA SWMMAC", "A/B/index", (3, 5), _COEXEC),
    ("WMMA", "VALU-TRANS", "read", (4, 8), _COEXEC),
    ("WMMA", "VALU-TRANS", "write", (4, 8), _COEXEC),
    ("WMMA", "VALU-TRANS", "write A/B/index", (4, 8), _COEXEC),
    ("SWMMAC", "VALU-TRANS", "read", (2, 4), _COEXEC),
    ("SWMMAC", "VALU-TRANS", "write", (2, 4), _COEXEC),
    ("SWMMAC", "VALU-TRANS", "write A/B/index", (2, 4), _COEXEC),
)

# What is known on gfx1250 beyond LLVM 22.1.8: TRANS instructions after a WMMA (LLVM 24.0.0git has them, with the cycles
# of stepping B0), and C of a WMMA, which it reads as late as A and B (issue 222932, with wrong results of
# v_wmma_bf16f32_16x16x32_bf16; LLVM 24.0.0git still lacks it).
_C_READ_LATE = "issue 222932: the C operand, which LLVM 24.0.0git lacks too"
_TRANS_TOO = "pull request 186269"
_REPORTS_GFX1250 = (
    ("WMMA", "TRANS", "read", (4, 8), _TRANS_TOO),
    ("WMMA", "TRANS", "write", (4, 8), _TRANS_TOO),
    ("WMMA", "TRANS", "write A/B/index", (4, 8), _TRANS_TOO),
    ("WMMA", "VALU", "write C, not D", (4, 8), _C_READ_LATE),
    ("SWMMAC", "TRANS", "read", (2, 4), _TRANS_TOO),
    ("SWMMAC", "TRANS", "write", (2, 4), _TRANS_TOO),
    ("SWMMAC", "TRANS", "write A/B/index", (2, 4), _TRANS_TOO),
)

# Stepping B0 of gfx1250 by the cycles that instructions take there: LLVM 24.0.0git has these (pull request 202522). A
# SWMMAC takes 4 on none.
_B0: dict[object, Lengths] = {(5, 9): (2, 5, 9), (4, 8): (1, 4, 8), (3, 5): (3, 3, 5), (2, 4): (2, 2, 4)}


def _of_b0(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows with a number more, for 4 cycles."""
    return tuple((*row[:3], _B0.get(row[3], row[3]), *row[4:]) for row in rows)


# gfx1251, which LLVM 22.1.8 treats as gfx1250: instructions of 16 and of 32 cycles (pull request 203145).
_EVERY_WMMA = "WMMA SWMMAC WMMA_F32 WMMA_F64"
_LATER_GFX1251: tuple[Row, ...] = (
    _PERMLANES,
    (_EVERY_WMMA, _EVERY_WMMA, "C", 0, _WMMA),
    (_EVERY_WMMA, _EVERY_WMMA, "A/B/index", 1, _WMMA),
    ("TRANS", f"{_EVERY_WMMA} VALU-TRANS", "read", 1, _TRANS),
    ("TRANS", f"{_EVERY_WMMA} VALU-TRANS-DUAL", "write read", 1, _TRANS),
    ("WMMA SWMMAC", "WMMA SWMMAC", "A/B/index", 9, _COEXEC),
    ("WMMA SWMMAC", "VALU", "read", 8, _COEXEC),
    ("WMMA SWMMAC", "VALU", "write", 8, _COEXEC),
    ("WMMA SWMMAC", "VALU", "write A/B/index", 8, _COEXEC),
    ("WMMA_32 SWMMAC_32", "WMMA SWMMAC", "A/B/index", 17, _COEXEC),
    ("WMMA_32 SWMMAC_32", "VALU", "read", 16, _COEXEC),
    ("WMMA_32 SWMMAC_32", "VALU", "write", 16, _COEXEC),
    ("WMMA_32 SWMMAC_32", "VALU", "write A/B/index", 16, _COEXEC),
)
_REPORTS_GFX1251 = (
    ("WMMA", "VALU", "write C, not D", 8, _C_READ_LATE),
    ("WMMA_32", "VALU", "write C, not D", 16, _C_READ_LATE),
)

# gfx942 and gfx950: a buffer's data are read late behind an SGPR as offset, too; LLVM 22.1.8 inserts nothing there.
_REPORTS_GFX940 = (("MEM", "VALU MFMA", "write data at an offset", 1, "pull request 197267, measured on gfx950"),)

_CONFIRMED = "two sources agree"  # the rows, and LLVM's own answers to generated pairs

TABLES = {
    "gfx908": HazardTable(LLVM, (2, 8, 16), _LLVM_GFX908, _CONFIRMED),
    "gfx90a": HazardTable(LLVM, (2, 8, 16), _LLVM_GFX90A, _CONFIRMED),
    "gfx942": HazardTable(LLVM, (2, 4, 8, 16), _LLVM_GFX942, _CONFIRMED),
    "gfx950": HazardTable(LLVM, (2, 4, 8, 16), _LLVM_GFX950, _CONFIRMED),
    "gfx11": HazardTable(LLVM, (8, 16), _LLVM_GFX11, _CONFIRMED),
    "gfx1150": HazardTable(LLVM, (8, 16), _LLVM_GFX1150, _CONFIRMED),
    "gfx12": HazardTable(LLVM, (8, 16), _LLVM_GFX12, _CONFIRMED),
    "gfx1250": HazardTable(LLVM, (8, 16), _LLVM_GFX1250, _CONFIRMED),
    "gfx1250 reports": HazardTable(REPORTS, (8, 16), _REPORTS_GFX1250, "one source", partial=True),
    "gfx940 reports": HazardTable(REPORTS, (), _REPORTS_GFX940, "one source", partial=True),
    "gfx1250 B0": HazardTable(LATER, (4, 8, 16), _of_b0(_LLVM_GFX1250), "one source"),
    "gfx1250 B0 reports": HazardTable(REPORTS, (4, 8, 16), _of_b0(_REPORTS_GFX1250), "one source", partial=True),
    "gfx1251 later": HazardTable(LATER, (), _LATER_GFX1251, "one source"),
    "gfx1251 reports": HazardTable(REPORTS, (), _REPORTS_GFX1251, "one source", partial=True),
    "CDNA3 guide": HazardTable("CDNA3 ISA guide, dependency table", (2, 4, 8, 16), _GUIDE_CDNA3, "unconfirmed", True),
    "Table 38": HazardTable("CDNA4 ISA guide, Table 38", (2, 4, 8, 16), _GUIDE_CDNA4, "one source", True),
    "Table 11 of CDNA3": HazardTable("CDNA3 ISA guide, Table 11", (), _TABLE_11_CDNA3, "one source", True, True),
    "Table 11 of CDNA4": HazardTable("CDNA4 ISA guide, Table 11", (), _TABLE_11_CDNA3, "one source", True, True),
    "Table 11, GFX9": HazardTable("CDNA3 ISA guide, Table 11", (), _TABLE_11, "two sources agree", True, True),
}

_FORWARDED = ForwardingRule(
    2, 4, "fixVALUPartialForwardingHazard", Expiry(_VA_VDST, "", _WAIT, _ENDS.format("s_waitcnt_depctr"))
)
FORWARDING = {"gfx11": _FORWARDED, "gfx1150": _FORWARDED}
"""The rules that have a `ForwardingRule`."""

# What catalog records name ("hazards") -> LLVM's table, the ISA guide's or a later LLVM's or None, what a wait state is
# filled with.
RULES: dict[str, tuple[str, str | None, str]] = {
    "gfx908": ("gfx908", None, "s_nop"),
    "gfx90a": ("gfx90a", None, "s_nop"),
    "gfx942": ("gfx942", "CDNA3 guide", "s_nop"),
    "gfx950": ("gfx950", "Table 38", "s_nop"),
    "gfx11": ("gfx11", None, "v_nop"),
    "gfx1150": ("gfx1150", None, "v_nop"),
    "gfx12": ("gfx12", None, "v_nop"),
    "gfx1250": ("gfx1250", None, "v_nop"),
    "gfx1250 B0": ("gfx1250 B0", None, "v_nop"),
    "gfx1251": ("gfx1250", "gfx1251 later", "v_nop"),
}

EXPERT = {"gfx1250": "gfx1250 B0"}
"""The rules for kernels in the mode of expert scheduling, where they are others. LLVM 24 sets it in every kernel (in
Triton 3.9) and counts by stepping B0; what LLVM 22 writes in that mode is enough there."""

# The same names -> partial tables: what the others lack, by reports or by an ISA guide.
FURTHER: dict[str, tuple[str, ...]] = {
    "gfx1250": ("gfx1250 reports",), "gfx1250 B0": ("gfx1250 B0 reports",), "gfx1251": ("gfx1251 reports",),
    "gfx908": ("Table 11, GFX9",),
    "gfx90a": ("Table 11, GFX9",), "gfx942": ("Table 11 of CDNA3", "gfx940 reports"),
    "gfx950": ("Table 11 of CDNA4", "gfx940 reports"),
}  # fmt: skip
