"""The formats of matrix instructions as tables: one row per field.

What these share with VOP3P is where `mmacalc.asm.formats` has it (`_AT`); fields of their own have the manuals' own bit
numbers.

Rows: (name, bits, meaning), then the value that the format itself writes, if it is not up to the instruction, and
True if a decoder ignores the field. Bit 0 is the lowest of the first word. The rows of a 16-byte format
are those of its two halves, the second half's bits counted on from 64.

Sources: CDNA3 and CDNA4 ISA guides, "VOP3P" and "VOP3P-MAI" (CDNA4: tables 88 and 89); RDNA3 and RDNA4 ISA guides,
"VOP3P"; CDNA5 ISA; AMD's Matrix Instruction Calculator README, "Details of AMD Matrix Multiplication Instruction
Encodings". Values of fields that matrix instructions leave unused, and what decoders ignore: LLVM 22.1.8.
"""

from __future__ import annotations

import re

from .fields import Encoding, Field
from .formats import vop3p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CDNA_VOP3P, _RDNA_VOP3P = vop3p("cdna").fields, vop3p("rdna4").fields
_AT = {name: field.bits for name, field in _CDNA_VOP3P.items()}  # but for OP and ENCODING, those of every generation
_SOURCES: Any = (
    ("SRC0", _AT["SRC0"], "A: 256 to 511 are registers 0 to 255"),
    ("SRC1", _AT["SRC1"], "B: 256 to 511 are registers 0 to 255"),
    ("SRC2", _AT["SRC2"], "C or the sparse index: 256 to 511 registers, 128 to 208 and 240 to 248 inline constants"),
)
_CDNA = (("ENCODING", _AT["ENCODING"], "VOP3P of CDNA", _CDNA_VOP3P["ENCODING"].value),)
_RDNA = (
    ("ENCODING", _RDNA_VOP3P["ENCODING"].bits, "VOP3P of RDNA and CDNA5", _RDNA_VOP3P["ENCODING"].value),
)  # fmt: skip
_OP = (("OP", _AT["OP"], "opcode"),)
_OP7 = (*_OP, ("RESERVED", "23", "must be 0", 0))
_OP8 = (("OP", _RDNA_VOP3P["OP"].bits, "opcode"),)
_NEG = (
    ("NEG_HI", _AT["NEG_HI"], "floats: negate the upper halves of A, of B; the absolute value of C"),
    ("NEG", _AT["NEG_LO"], "floats: negate the lower halves of A, of B; C. Integers: A, B are signed"),
)
_CLAMP = (("CLMP", _AT["CLAMP"], "integers: saturate the result"),)
_VDST = (("VDST", _AT["VDST"], "D: the first register"),)

_MAI: Any = (
    *_VDST,
    ("CBSZ", "10:8", "control broadcast size: 2^CBSZ blocks read one A"),
    ("ABID", "14:11", "which block of A is broadcast"),
    ("ACC_CD", "15", "C and D are AccVGPRs"),
    *_OP,
    *_CDNA,
    *_SOURCES,
    ("ACC", "60:59", "A (bit 59), B (bit 60) are AccVGPRs"),
    ("BLGP", "63:61", "B-matrix lane group pattern"),
)  # fmt: skip
# What the fields mean in other instructions than dense ones of one format.
MAI_SPARSE = {
    "CBSZ": "if 0, ABID chooses the set of indices, else set 0 is used", "ABID": "which set of indices in the register",
    "ACC_CD": "D is in AccVGPRs", "SRC2": "the sparse index: 256 to 511 are registers 0 to 255", "BLGP": "unused",
}  # fmt: skip
MAI_F64 = {"BLGP": "negate A, B, C"}
_FORMATS = "0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4"
MAI_F8F6F4 = {
    "CBSZ": f"the format of A: {_FORMATS}", "ABID": "bit 0: whether the scales are applied",
    "BLGP": f"the format of B: {_FORMATS}",
}  # fmt: skip
MAI_C = "C: 256 to 511 are registers 0 to 255"
MAI_C_CONSTANTS = f"{MAI_C}, 128 to 208 and 240 to 248 inline constants"

# CDNA1 has C and D in AccVGPRs always; the bit that CDNA2 gave a meaning is written 0 and not read.
_MAI_CDNA1 = tuple(("ACC_CD", "15", "unused: C and D are AccVGPRs", 0, True) if r[0] == "ACC_CD" else r for r in _MAI)

_ACCVGPR: Any = (
    ("VDST", _AT["VDST"], "the destination"),
    ("NEG_HI", _AT["NEG_HI"], "unused", 0),
    ("OPSEL", _AT["OP_SEL"], "unused", 0),
    ("OPSEL_HI", _AT["OP_SEL_HI"], "unused", 0b111, True),
    ("CLMP", _AT["CLAMP"], "unused", 0, True),
    *_OP,
    *_CDNA,
    ("SRC0", _AT["SRC0"], "the source"),
    ("SRC1", _AT["SRC1"], "unused", 0, True),
    ("SRC2", _AT["SRC2"], "unused", 0, True),
    ("NEG", _AT["NEG_LO"], "unused", 0),
)

_ACCVGPR_MOV: Any = (
    ("SRC0", "8:0", "the source"),
    ("OP", "16:9", "opcode"),
    ("VDST", "24:17", "the destination"),
    ("ENCODING", "31:25", "VOP1", 0b0111111),
)

_LD_SCALE: Any = (
    ("VDST", _AT["VDST"], "unused", 0),
    ("UNUSED", "62:61,9:8", "unused", 0, True),
    ("NEG_C", "63,10", "unused", 0),
    ("OPSEL", "12:11", "bit 0 of the scale's byte: for A (bit 11), for B (bit 12)"),
    ("OPSEL_C", "13", "unused", 0),
    ("OPSEL_HI2", "14", "unused", 1, True),
    ("CLMP", _AT["CLAMP"], "unused", 0),
    *_OP,
    *_CDNA,
    ("SRC0", _AT["SRC0"], "the scales of A"),
    ("SRC1", _AT["SRC1"], "the scales of B"),
    ("SRC2", _AT["SRC2"], "unused", 0, True),
    ("OPSEL_HI", "60:59", "bit 1 of the scale's byte: for A (bit 59), for B (bit 60)"),
)

_SCALE_CDNA4: Any = (
    ("SCALE_UNUSED", "63:61,58:50,15:13,10:0", "unused", 0, True),
    ("SCALE_OPSEL", "12:11", "bit 0 of the scale's byte: for A (bit 11), for B (bit 12)"),
    ("SCALE_OP", _AT["OP"], "opcode of the prefix"),
    ("SCALE_ENCODING", *_CDNA[0][1:]),
    ("SCALE_SRC0", _AT["SRC0"], "the scales of A"),
    ("SCALE_SRC1", _AT["SRC1"], "the scales of B"),
    ("SCALE_OPSEL_HI", "60:59", "bit 1 of the scale's byte: for A (bit 59), for B (bit 60)"),
)

_SCALE_CDNA5: Any = (
    ("SCALE_B_FMT", "9:8", "the format of B's scales"),
    ("SCALE_NEG_HI2", "10", "unused", 0),
    ("SCALE_A_ROW", "11", "which half of the wave holds the scales of A"),
    ("SCALE_OPSEL1", "12", "unused", 0),
    ("SCALE_A_REUSE", "13", "A may be kept for the next instruction"),
    ("SCALE_B_REUSE", "14", "B may be kept for the next instruction"),
    ("SCALE_CLMP", _AT["CLAMP"], "unused", 0),
    ("SCALE_OP", _RDNA_VOP3P["OP"].bits, "opcode of the prefix"),
    ("SCALE_ENCODING", *_RDNA[0][1:]),
    ("SCALE_SRC0", _AT["SRC0"], "the scales of A"),
    ("SCALE_SRC1", _AT["SRC1"], "the scales of B"),
    ("SCALE_SRC2", "57", "unused", 1, True),
    ("SCALE_SRC2_REST", "58,56:50", "unused", 0),
    ("SCALE_B_ROW", "59", "which half of the wave holds the scales of B"),
    ("SCALE_OPSEL_HI1", "60", "unused", 0),
    ("SCALE_A_FMT", "62:61", "the format of A's scales"),
    ("SCALE_NEG2", "63", "unused", 0),
)
# LLVM 22 wrote v0 into SRC2, LLVM 24 (pull requests 167777 and 178404) the inline constant 0, code 128; AMD's own
# kernels (AITER, hsa/gfx1250) have s0, code 0, or v0, and then sometimes 0 in the unused OPSEL_HI2 of an f4 product.
# LLVM 22 decodes neither: it prints the latter as V_WMMA_LD_SCALE*_PAIRED and words that are no instruction.
_SCALE_CDNA5_LLVM22 = (
    *(row for row in _SCALE_CDNA5 if not row[0].startswith("SCALE_SRC2")),
    ("SCALE_SRC2", _AT["SRC2"], "unused", 256),
)

_RDNA3: Any = (
    *_VDST,
    *_NEG,
    *_CLAMP,
    *_OP7,
    *_RDNA,
    *_SOURCES,
)
_RDNA3_OPSEL = (
    ("OPSEL", _AT["OP_SEL"], "bit 13: C and D use the upper halves of their registers"),
    ("OPSEL_HI", _AT["OP_SEL_HI"], "not read by the hardware", 0b111),
)
_RDNA3_PLAIN = (
    ("OPSEL", _AT["OP_SEL"], "unused", 0),
    ("OPSEL_HI", _AT["OP_SEL_HI"], "unused", 0b111, True),
)

_RDNA4: Any = (
    *_VDST,
    *_NEG,
    ("INDEX_KEY", "12:11", "sparse: which set of indices in the register"),
    ("OPSEL2", "13", "unused", 0),
    ("OPSEL_HI", _AT["OP_SEL_HI"], "unused", 0b111),
    *_CLAMP,
    *_OP7,
    *_RDNA,
    *_SOURCES,
)

_CDNA5: Any = (
    *_VDST,
    *_NEG,
    ("INDEX_KEY", "11", "sparse: which set of indices in the register"),
    ("OPSEL1", "12", "unused", 0),
    ("A_REUSE", "13", "A may be kept for the next instruction"),
    ("B_REUSE", "14", "B may be kept for the next instruction"),
    *_CLAMP,
    *_OP8,
    *_RDNA,
    *_SOURCES,
    ("OPSEL_HI", "60:59", "unused", 0b11),
)

_CDNA5_F8F6F4: Any = (
    *_VDST,
    *_NEG,
    ("A_FMT", "13:11", "the format of A: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4"),
    ("B_FMT", "14,60:59", "the format of B: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4"),
    ("CLMP", _AT["CLAMP"], "unused", 0),
    *_OP8,
    *_RDNA,
    *_SOURCES,
)

_CDNA5_F4: Any = (
    *_VDST,
    *_NEG,
    ("OPSEL", _AT["OP_SEL"], "unused", 0),
    ("OPSEL_HI2", "14", "unused", 1, True),  # 0 in AITER's kernels, where LLVM 22 wants 1
    ("OPSEL_HI", "60:59", "unused", 0b11),
    ("CLMP", _AT["CLAMP"], "unused", 0),
    *_OP8,
    *_RDNA,
    *_SOURCES,
)
_CDNA5_F4_LLVM22 = tuple(row[:4] if row[0] == "OPSEL_HI2" else row for row in _CDNA5_F4)


def _after(rows: Any) -> Any:
    """The rows of a second half: every bit number 64 higher, in the meanings too."""

    def higher(match: re.Match[str]) -> str:
        return str(int(match[0]) + 64)

    return [
        (name, re.sub(r"\d+", higher, bits), re.sub(r"(?<=\(bit )\d+", higher, meaning), *rest)
        for name, bits, meaning, *rest in rows
    ]


def _encoding(name: str, source: str, rows: Any) -> Encoding:
    return Encoding(name, source, [Field(*row) for row in rows])


_GUIDE3 = "CDNA3 and CDNA4 ISA guides, VOP3P-MAI"
_GUIDE4 = "CDNA4 ISA guide, section 13.3.6"
_GUIDE5 = "CDNA5 ISA, VOP3P and VOP3PX2"

VOP3P_MAI = _encoding("VOP3P-MAI", _GUIDE3, _MAI)
VOP3P_MAI_CDNA1 = _encoding("VOP3P-MAI (CDNA1)", "CDNA1 ISA guide, VOP3P-MAI", _MAI_CDNA1)
VOP3P_ACCVGPR = _encoding("VOP3P-MAI (AccVGPR move)", _GUIDE3, _ACCVGPR)
VOP1_ACCVGPR = _encoding("VOP1 (AccVGPR move)", "CDNA2 and CDNA3 ISA guides, VOP1", _ACCVGPR_MOV)
VOP3P_LD_SCALE = _encoding("VOP3P (scale load)", _GUIDE4, _LD_SCALE)
VOP3PX_CDNA4 = _encoding("VOP3PX", _GUIDE4, (*_SCALE_CDNA4, *_after(_MAI)))
VOP3P_RDNA3 = _encoding("VOP3P (RDNA3)", "RDNA3 ISA guide, VOP3P", (*_RDNA3, *_RDNA3_PLAIN))
VOP3P_RDNA3_OPSEL = _encoding("VOP3P (RDNA3, 16-bit D)", "RDNA3 ISA guide, VOP3P", (*_RDNA3, *_RDNA3_OPSEL))
VOP3P_RDNA4 = _encoding("VOP3P (RDNA4)", "RDNA4 ISA guide, VOP3P", _RDNA4)
VOP3P_CDNA5 = _encoding("VOP3P (CDNA5)", _GUIDE5, _CDNA5)
VOP3P_CDNA5_F8F6F4 = _encoding("VOP3P (CDNA5, f8f6f4)", _GUIDE5, _CDNA5_F8F6F4)
VOP3P_CDNA5_F4 = _encoding("VOP3P (CDNA5, f4)", _GUIDE5, _CDNA5_F4)
VOP3P_CDNA5_F4_LLVM22 = _encoding("VOP3P (CDNA5, f4, LLVM 22)", _GUIDE5, _CDNA5_F4_LLVM22)


def _scaled_cdna5(suffix: str, scale: Any, f4: Any) -> tuple[Encoding, Encoding, Encoding]:
    """The scale load, and the two 16-byte formats that begin with the scales."""
    load = (("SCALE_VDST", _AT["VDST"], "unused", 0), *scale)
    prefix = (("SCALE_VDST", _AT["VDST"], "unused", 0, True), *scale)
    return (
        _encoding(f"VOP3P (CDNA5, scale load{suffix})", _GUIDE5, load),
        _encoding(f"VOP3PX2{suffix and f' ({suffix[2:]})'}", _GUIDE5, (*prefix, *_after(_CDNA5_F8F6F4))),
        _encoding(f"VOP3PX2 (f4{suffix})", _GUIDE5, (*prefix, *_after(f4))),
    )


VOP3P_CDNA5_LD_SCALE, VOP3PX2_F8F6F4, VOP3PX2_F4 = _scaled_cdna5("", _SCALE_CDNA5, _CDNA5_F4)
VOP3P_CDNA5_LD_SCALE_LLVM22, VOP3PX2_F8F6F4_LLVM22, VOP3PX2_F4_LLVM22 = _scaled_cdna5(
    ", LLVM 22", _SCALE_CDNA5_LLVM22, _CDNA5_F4
)
