"""What differs between generations in how instructions are written and encoded.

A catalog record names its generation ("assembly"). A generation is one object: it knows the encoding, the modifiers and
the operand words of an instruction; the rest of the package asks it and never compares its name.

Source: the ISA guides; what LLVM 22.1.8 takes beyond AMD's documents (CBSZ and BLGP of instructions that ignore them)
is accepted here too.
"""

from __future__ import annotations

from ..base.errors import Error, did_you_mean
from ..base.records import Record, TupleRecord
from ..formats import named
from . import encodings
from .formats import vop3p
from .operand_codes import LDS_DIRECT, TRAP, register_text, scalar_codes
from .rows import MATRIX_FMT, NAMES, SCALE_FMT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..catalog import Entry
    from ..model import Instruction
    from .fields import Encoding
    from .operand_codes import Scalars

__all__ = ["GENERATIONS", "TITLES", "Generation", "Helper", "Taken", "Written", "chosen_formats", "generation"]

TITLES = {"K": "The sparse index", "SA": "The scale of A", "SB": "The scale of B"}


_BASE = frozenset({"src_flat_scratch_base_lo", "src_flat_scratch_base_hi"})
_OLDER = frozenset({"src_vccz", "src_execz", "src_pops_exiting_wave_id", "src_lds_direct"})
_MISSING = {
    "cdna1": _BASE | {"null"}, "cdna2": _BASE | {"null", "src_lds_direct"}, "cdna3": _BASE | {"null", "src_lds_direct"},
    "rdna3": _BASE | _OLDER, "rdna4": _BASE | _OLDER, "cdna5": _OLDER,
}  # fmt: skip


def missing_registers(family: str) -> frozenset[str]:
    """The registers whose codes LLVM decodes and which a family lacks."""
    return _MISSING[family]


def chosen_formats(inst: Instruction) -> bool:
    """Whether fields of the instruction choose the formats of A and B."""
    return "A" in inst.choices.values()


class Taken(TupleRecord):
    """What an operand takes: its name, how a message calls it, its field, and how many registers: a number for every
    value of the field `choice`, or one.

    files: the register files, "v", "a". bank: (field, bit) that is set for AccVGPRs, where both are possible.
    constant: the format in which LLVM reads inline constants, "" if there are none; pattern: the type of those that the
    hardware reads (see `mmacalc.asm.operand_codes`). words: the codes of the scalar registers and values of the
    hardware. destination: whether its field has eight bits, for registers.
    """

    name: str
    title: str
    field: str
    counts: tuple[int, ...]
    files: tuple[str, ...] = ("v",)
    bank: tuple[str, int] | None = None
    constant: str = ""
    pattern: str = "f32"
    words: frozenset[int] = frozenset()
    destination: bool = False
    choice: str = ""


class Written(TupleRecord):
    """A modifier: its name, its field, the values that it takes (None: all); width: how many bits of a list are
    printed; dropped: bits of a list that are accepted and not encoded."""

    name: str
    field: str
    known: frozenset[int] | None = None
    width: int = 0
    dropped: int = 0


def _number(name: str, field: str, most: int) -> Written:
    return Written(name, field, frozenset(range(most + 1)))


def _bits(name: str, field: str, legal: int = 7, width: int = 3, dropped: int = 0) -> Written:
    """A list of bits of which those of `legal` may be set; what it has beyond `width` bits is not looked at."""
    known = frozenset([value for value in range(8) if not value & ~legal])
    return Written(name, field, known, width, dropped | 15 >> width << width)


def _choice(name: str, field: str) -> Written:
    return Written(name, field, frozenset(range(len(NAMES[name]))))


class Helper(TupleRecord):
    """An auxiliary instruction (AccVGPR move, scale load): as `mmacalc.asm.rows.Row` has it."""

    name: str
    format: Encoding
    fixed: dict[str, int]
    operands: tuple[Taken, ...]
    modifiers: tuple[Written, ...] = ()


class Generation(Record):
    """A generation of encodings.

    Attributes:
        name: as catalog records name it.
        family: whose formats its other instructions have (`mmacalc.asm.formats`).
        first: the upper half of the first word of an instruction of opcode 0.
        lacks: values of the hardware that no matrix instruction takes, beside those that the family lacks.
        c_constants: whether C may be an inline constant.
        input_files: the register files of A and B.
    """

    name: str
    family: str
    first: int
    lacks: tuple[str, ...] = ()
    c_constants: bool = True
    input_files: tuple[str, ...] = ("v",)

    def words(self, scalars: Scalars, count: int = 0) -> frozenset[int]:
        """The codes of what a source takes beside vector registers and constants.

        Args:
            count: 0 of C, which takes values of the hardware; 1 and 2 of scales and AccVGPRs, which take scalar
                registers too.
        """
        lacking = {*missing_registers(self.family), *self.lacks, "src_lds_direct"}
        numbered = (*range(scalars.sgprs), *TRAP) if count else ()
        named = [code for code in scalars.named if count or code >= 128]
        found, single, several = set(), scalar_codes(1, scalars), scalar_codes(count or 1, scalars)
        for code in (*numbered, *named, scalars.null, *((scalars.m0,) if count else ())):
            register = (several if code < 128 else single)[code]
            if register is None:
                continue
            start = code - (TRAP.start if register.file == "ttmp" else 0)
            counted = register.file in ("s", "ttmp")
            if register.index == start if counted else register_text(register) not in lacking:
                found.add(code)
        return frozenset(found)

    def encoding(self, inst: Instruction) -> Encoding:
        """The instruction's format."""
        raise NotImplementedError

    def modifiers(self, inst: Instruction, wave: int) -> list[Written]:
        """What follows the operands, in the order in which it is written."""
        raise NotImplementedError

    def fixed(self, inst: Instruction) -> dict[str, int]:
        """Fields other than the opcodes that are the same in every instruction of this form."""
        return {}

    def meanings(self, inst: Instruction) -> Mapping[str, str]:
        """What fields mean in this instruction, where that is not what they mean in every one of the format."""
        return {}

    def overlap_checked(self, inst: Instruction) -> bool:
        """Whether LLVM refuses a C that overlaps D in part."""
        return False

    def refused(self, inst: Instruction, values: Mapping[str, int]) -> str:
        """Why values of fields do not go together; "" if they do."""
        return ""

    def constant_kind(self, inst: Instruction, wave: int) -> str:
        """The format in which an inline constant of C is read."""
        kind = inst.formats["C"]
        return kind if named(kind).is_float else "f32"

    def scale_slot(self, name: str, field: str, count: int, scalars: Scalars, helper: bool) -> Taken:
        """The operand of the scales of A or B, of a scaled instruction or (helper) of a scale load."""
        raise NotImplementedError

    def helpers(self, entry: Entry, wave: int, scalars: Scalars) -> Iterable[Helper]:
        """Auxiliary instructions of an architecture: AccVGPR moves, scale loads."""
        return ()


class _Cdna(Generation):
    """MFMA and SMFMAC of CDNA1 to CDNA4."""

    table: Encoding = encodings.VOP3P_MAI
    moves: bool = True  # between AccVGPRs, which CDNA1 lacks
    input_files: tuple[str, ...] = ("v", "a")

    def encoding(self, inst: Instruction) -> Encoding:
        return encodings.VOP3PX_CDNA4 if inst.scaled else self.table

    def modifiers(self, inst: Instruction, wave: int) -> list[Written]:
        cbsz, abid, blgp = _number("cbsz", "CBSZ", 7), _number("abid", "ABID", 15), _number("blgp", "BLGP", 7)
        if inst.scaled:
            op_sel = _bits("op_sel", "SCALE_OPSEL", 3, dropped=4)
            op_sel_hi = _bits("op_sel_hi", "SCALE_OPSEL_HI", 3, dropped=4)
            return [op_sel, op_sel_hi, cbsz, blgp]
        if chosen_formats(inst):
            return [cbsz, blgp]
        if inst.sparse:
            return [cbsz, abid]
        if inst.formats["A"] == "f64" and "blgp" in inst.features:
            return [cbsz, abid, _bits("neg", "BLGP")]
        return [cbsz, abid, blgp]

    def fixed(self, inst: Instruction) -> dict[str, int]:
        return {"ABID": 1} if inst.scaled else {}

    def meanings(self, inst: Instruction) -> Mapping[str, str]:
        """CBSZ, ABID and BLGP of dense, sparse, f64 and f8f6f4 instructions (CDNA3 and CDNA4 ISA guides, VOP3P-MAI)."""
        if inst.sparse:
            return encodings.MAI_SPARSE
        of_c = {"SRC2": encodings.MAI_C_CONSTANTS if self.c_constants else encodings.MAI_C}
        if chosen_formats(inst):
            return {**of_c, **encodings.MAI_F8F6F4}
        negated = inst.formats["A"] == "f64" and "blgp" in inst.features
        return {**of_c, **(encodings.MAI_F64 if negated else {})}

    def overlap_checked(self, inst: Instruction) -> bool:
        """Of results of more than four registers, but not of those of f8f6f4."""
        return inst.operand("D").registers > 4 and not chosen_formats(inst)

    def constant_kind(self, inst: Instruction, wave: int) -> str:
        """32-bit constants, or 64-bit ones."""
        return "f64" if inst.formats["C"] == "f64" else "f32"

    def scale_slot(self, name: str, field: str, count: int, scalars: Scalars, helper: bool) -> Taken:
        """LLVM takes only VGPRs; the ISA guide has inline constants too."""
        return Taken(name, TITLES[name], field, (count,))

    def helpers(self, entry: Entry, wave: int, scalars: Scalars) -> Iterable[Helper]:
        words = self.words(scalars, 1) if self.moves else frozenset({LDS_DIRECT})
        one = (1,)
        d = Taken("D", "The destination", "VDST", one, destination=True)
        a = Taken("A", "The source", "SRC0", one, ("a",))
        yield Helper("v_accvgpr_read_b32", encodings.VOP3P_ACCVGPR, {"OP": 0x58}, (d, a))
        d = Taken("D", "The destination", "VDST", one, ("a",), destination=True)
        of_any = Taken("A", "The source", "SRC0", one, constant="f32", words=words)
        yield Helper("v_accvgpr_write_b32", encodings.VOP3P_ACCVGPR, {"OP": 0x59}, (d, of_any))
        if self.moves:
            yield Helper("v_accvgpr_mov_b32", encodings.VOP1_ACCVGPR, {"OP": 0x52}, (d, a))
        for opcode in entry.prefixes:
            op_sel, op_sel_hi = _bits("op_sel", "OPSEL", 3, 2), _bits("op_sel_hi", "OPSEL_HI", 3, 2)
            sources = [
                Taken(name, TITLES[name], field, one, constant="f32", words=words)
                for name, field in (("SA", "SRC0"), ("SB", "SRC1"))
            ]
            encoding, fixed = encodings.VOP3P_LD_SCALE, {"OP": opcode}
            yield Helper("v_mfma_ld_scale_b32", encoding, fixed, tuple(sources), (op_sel, op_sel_hi))


class _Wmma(Generation):
    """What WMMA and SWMMAC of all generations share."""

    integer_neg: tuple[int, int] = (3, 0)
    dense_neg: int = 7  # of dense floats of 16 and 32 bits: which of A, B, C may be negated

    def modifiers(self, inst: Instruction, wave: int) -> list[Written]:
        """Those of the encoding, then the negations and clamp."""
        modifiers = self.leading(inst, wave)
        form, dropped = inst.format("A"), 0
        if not form.is_float:
            legal, legal_hi = self.integer_neg
        elif form.bits < 16:
            legal = legal_hi = 0 if inst.sparse else 4
        else:
            legal = 3 if inst.sparse else 7 if form.bits == 64 else self.dense_neg
            # LLVM drops neg_hi of A and B where an element fills a register.
            legal_hi, dropped = (legal & 4, legal & 3) if form.bits >= 32 else (legal, dropped)
        if legal:
            modifiers.append(_bits("neg_lo", "NEG", legal))
        if legal_hi:
            modifiers.append(_bits("neg_hi", "NEG_HI", legal_hi, dropped=dropped))
        if inst.integer:
            modifiers.append(Written("clamp", "CLMP"))
        return modifiers

    def leading(self, inst: Instruction, wave: int) -> list[Written]:
        """The modifiers before the negations."""
        raise NotImplementedError


class _Rdna3(_Wmma):
    integer_neg: tuple[int, int] = (7, 7)

    def encoding(self, inst: Instruction) -> Encoding:
        return encodings.VOP3P_RDNA3 if inst.format("D").bits == 32 else encodings.VOP3P_RDNA3_OPSEL

    def leading(self, inst: Instruction, wave: int) -> list[Written]:
        if inst.format("D").bits == 32:
            return []
        return [_bits("op_sel", "OPSEL"), _bits("op_sel_hi", "OPSEL_HI")]

    def constant_kind(self, inst: Instruction, wave: int) -> str:
        """LLVM reads a C in eight registers as f64."""
        return "f64" if wave == 32 else "f32"


class _Rdna4(_Wmma):
    def encoding(self, inst: Instruction) -> Encoding:
        return encodings.VOP3P_RDNA4

    def leading(self, inst: Instruction, wave: int) -> list[Written]:
        sets = inst.index_sets(wave)
        return [_number("index_key", "INDEX_KEY", sets - 1)] if sets > 1 else []


class _Cdna5(_Wmma):
    """As LLVM 24 encodes it. LLVM 22 let A and B of every dense float be negated (pull requests 188349, 188649,
    189115, 189468), wrote v0 into the scales' unused SRC2 (167777, 178404), and took every scale format everywhere."""

    dense_neg: int = 4
    scale_formats_checked: bool = True
    scaled_f8f6f4: Encoding = encodings.VOP3PX2_F8F6F4
    scaled_f4: Encoding = encodings.VOP3PX2_F4
    f4: Encoding = encodings.VOP3P_CDNA5_F4
    scale_load: Encoding = encodings.VOP3P_CDNA5_LD_SCALE

    def encoding(self, inst: Instruction) -> Encoding:
        if chosen_formats(inst):
            return self.scaled_f8f6f4 if inst.scaled else encodings.VOP3P_CDNA5_F8F6F4
        if inst.formats["A"] == "e2m1":
            return self.scaled_f4 if inst.scaled else self.f4
        return encodings.VOP3P_CDNA5

    def refused(self, inst: Instruction, values: Mapping[str, int]) -> str:
        """Scales other than E8 are for FP4, and alike where both operands are FP4. LLVM 24 checks it for f8f6f4."""
        if not (self.scale_formats_checked and inst.scaled and chosen_formats(inst)):
            return ""
        narrow = [MATRIX_FMT[values[f"{side}_FMT"]] == "MATRIX_FMT_FP4" for side in "AB"]
        scales = [values[f"SCALE_{side}_FMT"] for side in "AB"]
        if all(narrow) and scales[0] != scales[1]:
            names = " and ".join(SCALE_FMT[scale] for scale in scales)
            return f"two operands of {MATRIX_FMT[4]} have scales of one format; got {names}"
        for side, is_narrow, scale in zip("AB", narrow, scales):
            if scale and not is_narrow:
                return f"the scales of {side} are {SCALE_FMT[scale]}, which goes only with {MATRIX_FMT[4]}"
        return ""

    def leading(self, inst: Instruction, wave: int) -> list[Written]:
        modifiers = [_number("index_key", "INDEX_KEY", 1)] if inst.sparse else []
        if chosen_formats(inst):
            modifiers += [_choice(f"matrix_{x}_fmt", f"{x.upper()}_FMT") for x in "ab"]
        if inst.scaled:
            return [*modifiers, *self.scale_modifiers()]
        if inst.format("A").bits >= 8 and not chosen_formats(inst):
            modifiers += [Written("matrix_a_reuse", "A_REUSE"), Written("matrix_b_reuse", "B_REUSE")]
        return modifiers

    def scale_modifiers(self) -> list[Written]:
        """Which half of the wave holds the scales, their format, and the reuse hints for A and B."""
        return [
            *(_choice(f"matrix_{x}_scale", f"SCALE_{x.upper()}_ROW") for x in "ab"),
            *(_choice(f"matrix_{x}_scale_fmt", f"SCALE_{x.upper()}_FMT") for x in "ab"),
            *(Written(f"matrix_{x}_reuse", f"SCALE_{x.upper()}_REUSE") for x in "ab"),
        ]

    def scale_slot(self, name: str, field: str, count: int, scalars: Scalars, helper: bool) -> Taken:
        """LLVM takes src_lds_direct as a scale of the 16-byte forms, though the target has no such loads."""
        words = self.words(scalars, count) | ({LDS_DIRECT} if count == 1 and not helper else set())
        kind = "f32" if count == 1 else "f64"
        return Taken(name, TITLES[name], field, (count,), constant=kind, words=words)

    def helpers(self, entry: Entry, wave: int, scalars: Scalars) -> Iterable[Helper]:
        for opcode, first in entry.prefixes.items():
            inst = entry.instruction(first)
            name = "v_wmma_ld_scale16_paired_b64" if inst.block_size == 16 else "v_wmma_ld_scale_paired_b32"
            count = inst.operand("SA", wave).registers
            fields = (("SA", "SCALE_SRC0"), ("SB", "SCALE_SRC1"))
            slots = tuple(self.scale_slot(slot, field, count, scalars, True) for slot, field in fields)
            yield Helper(name, self.scale_load, {"SCALE_OP": opcode}, slots, tuple(self.scale_modifiers()))


def _first(generation: str) -> int:
    """The upper half of the first word of an instruction of opcode 0: the encoding of VOP3P."""
    encoding = vop3p(generation).fields["ENCODING"]
    return encoding.spread(encoding.value or 0) >> 16


_CDNA, _RDNA = _first("cdna"), _first("rdna4")
# What LLVM 22 takes and LLVM 24 does not: a word of CDNA1 to CDNA4, and private apertures on gfx1250 and gfx1251.
_POPS, _PRIVATE = ("src_pops_exiting_wave_id",), ("src_private_base", "src_private_limit")
GENERATIONS: dict[str, Generation] = {
    each.name: each
    for each in (
        _Cdna("cdna1", "cdna1", _CDNA, _POPS, c_constants=False, table=encodings.VOP3P_MAI_CDNA1, moves=False),
        _Cdna("cdna", "cdna3", _CDNA, _POPS),
        _Cdna("cdna1-llvm22", "cdna1", _CDNA, c_constants=False, table=encodings.VOP3P_MAI_CDNA1, moves=False),
        _Cdna("cdna-llvm22", "cdna3", _CDNA),
        _Rdna3("rdna3", "rdna3", _RDNA),
        _Rdna4("rdna4", "rdna4", _RDNA),
        _Cdna5("cdna5", "cdna5", _RDNA, _PRIVATE),
        _Cdna5("cdna5-llvm22", "cdna5", _RDNA, dense_neg=7,
               scaled_f8f6f4=encodings.VOP3PX2_F8F6F4_LLVM22, scaled_f4=encodings.VOP3PX2_F4_LLVM22,
               f4=encodings.VOP3P_CDNA5_F4_LLVM22, scale_load=encodings.VOP3P_CDNA5_LD_SCALE_LLVM22,
               scale_formats_checked=False),
    )
}  # fmt: skip


def generation(name: str) -> Generation:
    """The generation of a name.

    Raises:
        Error: there is none.
    """
    if name not in GENERATIONS:
        hint = did_you_mean(name, GENERATIONS)
        raise Error(
            f"unknown generation of encodings '{name}'.{hint} Known: {', '.join(GENERATIONS)}", kind="unknown name"
        )
    return GENERATIONS[name]
