"""From the catalog to what can be encoded: the form of every instruction on a target.

A `Form` says which encoding an instruction has, what its fixed fields are, which operands stand where, and which
modifiers follow in which order. It is derived: the opcode, the shape and the formats are the catalog's, the register
counts those of the operand layouts. What LLVM 22.1.8 takes beyond AMD's documents (CBSZ and BLGP of instructions
that ignore them) is taken here too.
"""

from __future__ import annotations

from functools import cache

from ..formats import named
from . import encodings
from .modifiers import Modifier, bits, choice, flag, number
from .operands import Slot
from .targets import LDS_DIRECT, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..model import Instruction
    from .fields import Encoding

__all__ = ["Form", "forms"]

# Instructions of the catalog that no assembler knows yet, so that their encoding cannot be confirmed.
UNENCODED = ("v_wmma_f64_16x16x4_f64",)

MATRIX_FMT = tuple(f"MATRIX_FMT_{name}" for name in ("FP8", "BF8", "FP6", "BF6", "FP4"))
SCALE_ROW = ("MATRIX_SCALE_ROW0", "MATRIX_SCALE_ROW1")
SCALE_FMT = tuple(f"MATRIX_SCALE_FMT_{name}" for name in ("E8", "E5M3", "E4M3"))
_TITLES = {"K": "The sparse index", "SA": "The scale of A", "SB": "The scale of B"}


class Form:
    """How one instruction is written and encoded.

    Attributes:
        name: the mnemonic; instruction: the catalog's record (None for a move or a scale load).
        encoding, fixed: the format, and the fields that every instruction of this form has alike.
        slots, modifiers: operands and modifiers in the order in which they are written.
        scalar_limit: how many different scalar registers it may read, None if that does not matter.
    """

    __slots__ = ("encoding", "fixed", "instruction", "modifiers", "name", "scalar_limit", "slots")

    def __init__(
        self,
        name: str,
        encoding: Encoding,
        fixed: Mapping[str, int],
        slots: Iterable[Slot],
        modifiers: Iterable[Modifier],
        instruction: Instruction | None = None,
        scalar_limit: int | None = None,
    ) -> None:
        self.name, self.encoding, self.fixed, self.instruction = name, encoding, dict(fixed), instruction
        self.slots, self.modifiers, self.scalar_limit = tuple(slots), tuple(modifiers), scalar_limit

    def __repr__(self) -> str:
        return f"Form({self.name!r}, {self.encoding.name})"

    @property
    def free(self) -> set[str]:
        """The fields that operands and modifiers fill."""
        banks = {slot.bank[0] for slot in self.slots if slot.bank}
        return {slot.field for slot in self.slots} | {modifier.field for modifier in self.modifiers} | banks

    def slot(self, name: str) -> Slot | None:
        """The operand of that name, None if there is none."""
        return next((slot for slot in self.slots if slot.name == name), None)


@cache
def forms(target: Target) -> dict[str, Form]:
    """Every form of a target by its mnemonic: the catalog's instructions, then the moves and scale loads.

    >>> from mmacalc.asm.targets import target
    >>> forms(target("gfx942"))["v_mfma_f32_16x16x16_f16"]
    Form('v_mfma_f32_16x16x16_f16', VOP3P-MAI)
    """
    made = [_form(inst, target) for inst in target.entry.instructions() if inst.name not in UNENCODED]
    return {form.name: form for form in (*made, *_helpers(target))}


@cache
def spellings(target: Target) -> dict[str, str]:
    """Every spelling that the assembler takes, with the mnemonic it stands for."""
    known = {name: name for name in forms(target)}
    for form in forms(target).values():
        known |= dict.fromkeys(form.instruction.aliases if form.instruction else (), form.name)
    known |= {name[:-4]: name for name in known if name.startswith("v_accvgpr_")}
    return {**known, **{f"{name}_e64": form for name, form in known.items()}}


def chosen_formats(inst: Instruction) -> bool:
    """Whether fields of the instruction choose the formats of A and B."""
    return "A" in inst.choices.values()


def _form(inst: Instruction, target: Target) -> Form:
    build = _mfma if inst.architecture.layout == "mfma" else _wmma
    encoding, fixed, modifiers = build(inst, target)
    fixed = {"OP": inst.opcode or 0, **fixed}
    if inst.prefix_opcode:
        fixed["SCALE_OP"] = inst.prefix_opcode
    return Form(inst.name, encoding, fixed, _slots(inst, target), modifiers, inst)


# --- operands ---


def _slots(inst: Instruction, target: Target) -> Iterable[Slot]:
    """D, A, B, then C or the sparse index, then the scales."""
    mfma = inst.architecture.layout == "mfma"
    accumulators = inst.architecture.accumulators
    either = ("v", "a") if mfma else ("v",)
    result = {"required": ("a",), "allowed": ("v", "a"), "none": ("v",)}[accumulators or "none"]
    shared = ("ACC_CD", 0) if len(result) == 2 else None
    vgprs = target.generation.vgprs
    for name, field, files, bank in (
        ("D", "VDST", result, shared),
        ("A", "SRC0", either, ("ACC", 0) if mfma else None),
        ("B", "SRC1", either, ("ACC", 1) if mfma else None),
    ):
        yield Slot(name, name, field, _registers(inst, name, target), files, bank, target.alignment, vgprs=vgprs)
    if inst.sparse:
        yield Slot(
            "K", _TITLES["K"], "SRC2", _registers(inst, "K", target), ("v",), None, target.alignment, vgprs=vgprs
        )
    else:
        kind = _constant_kind(inst, target) if target.generation.c_constants else None
        count, words = _registers(inst, "C", target), target.generation.c_words
        yield Slot("C", "C", "SRC2", count, result, shared, target.alignment, kind, words, vgprs)
    if inst.scaled:
        yield from _scales(inst, target)


def _registers(inst: Instruction, name: str, target: Target) -> int | tuple[str, tuple[int, ...]]:
    """The register count of an operand; where a field chooses its format, one count for every value of the field."""
    field = {operand: field for field, operand in inst.choices.items()}.get(name)
    if field is None:
        return inst.operand(name, target.wave).registers
    counts = [inst.operand(name, target.wave, **{field: value}).registers for value in range(len(MATRIX_FMT))]
    # LLVM takes the three unused values of CBSZ and BLGP and lets them stand for the first format.
    return _CHOICE_FIELDS[field], (*counts, *[counts[0]] * (8 - len(counts)))


_CHOICE_FIELDS = {"cbsz": "CBSZ", "blgp": "BLGP", "matrix_a_fmt": "A_FMT", "matrix_b_fmt": "B_FMT"}


def _constant_kind(inst: Instruction, target: Target) -> str:
    """The format in which an inline constant of C is read.

    MFMA and RDNA3 have 32-bit constants, or 64-bit ones. LLVM reads a C of RDNA3 in eight registers as f64.
    """
    kind = inst.formats["C"]
    layout = inst.architecture.layout
    if layout == "wmma-replicated":
        return "f64" if target.wave == 32 else "f32"
    if layout == "mfma":
        return kind if kind == "f64" else "f32"
    return kind if named(kind).is_float else "f32"


def _scales(inst: Instruction, target: Target, alone: bool = False) -> Iterable[Slot]:
    count = inst.operand("SA", target.wave).registers
    scalars, kind = target.generation.scalar_pairs, "f64"
    if count == 1:
        scalars, kind = {**target.generation.scalars, **({} if alone else LDS_DIRECT)}, "f32"
    for name, field in (("SA", "SCALE_SRC0"), ("SB", "SCALE_SRC1")):
        if inst.architecture.layout == "mfma":  # LLVM takes VGPRs alone; the ISA guide has inline constants too
            yield Slot(name, _TITLES[name], field, count)
        else:
            alignment = target.alignment
            yield Slot(
                name, _TITLES[name], field, count, ("v",), None, alignment, kind, scalars, target.generation.vgprs
            )


# --- encodings and modifiers ---


def _mfma(inst: Instruction, target: Target) -> tuple[Encoding, dict[str, int], list[Modifier]]:
    encoding = encodings.VOP3P_MAI_CDNA1 if target.generation.name == "cdna1" else encodings.VOP3P_MAI
    cbsz, abid, blgp = number("cbsz", "CBSZ", 7), number("abid", "ABID", 15), number("blgp", "BLGP", 7)
    if inst.scaled:
        op_sel = bits("op_sel", "SCALE_OPSEL", 3, dropped=4)
        op_sel_hi = bits("op_sel_hi", "SCALE_OPSEL_HI", 3, dropped=4, hidden=None)
        return encodings.VOP3PX_CDNA4, {"ABID": 1}, [op_sel, op_sel_hi, cbsz, blgp]
    if chosen_formats(inst):
        return encoding, {}, [cbsz, blgp]
    if inst.sparse:
        return encoding, {}, [cbsz, abid]
    if inst.formats["A"] == "f64" and "blgp" in inst.features:
        return encoding, {}, [cbsz, abid, bits("neg", "BLGP")]
    return encoding, {}, [cbsz, abid, blgp]


def _wmma(inst: Instruction, target: Target) -> tuple[Encoding, dict[str, int], list[Modifier]]:
    encoding, modifiers = _wmma_encoding(inst, target)
    form = inst.format("A")
    if form.bits < 16 and form.is_float:
        legal, legal_hi, dropped = (0, 0, 0) if inst.sparse else (4, 4, 0)
    elif form.is_float:
        legal = 3 if inst.sparse else 7
        # LLVM drops neg_hi of A and B where an element fills a register.
        legal_hi, dropped = (4, 3) if form.bits == 32 else (legal, 0)
    else:
        legal, legal_hi, dropped = 3, 0, 0
        if target.generation.name == "rdna3":
            legal = legal_hi = 7
    if legal:
        modifiers.append(bits("neg_lo", "NEG", legal))
    if legal_hi:
        modifiers.append(bits("neg_hi", "NEG_HI", legal_hi, dropped=dropped))
    if inst.integer:
        modifiers.append(flag("clamp", "CLMP"))
    return encoding, {}, modifiers


def _wmma_encoding(inst: Instruction, target: Target) -> tuple[Encoding, list[Modifier]]:
    """The encoding of a WMMA or SWMMAC, with the modifiers that stand before the negations."""
    if target.generation.name == "rdna3":
        if inst.format("D").bits == 32:
            return encodings.VOP3P_RDNA3, []
        return encodings.VOP3P_RDNA3_OPSEL, [
            bits("op_sel", "OPSEL"),
            bits("op_sel_hi", "OPSEL_HI", default=7, hidden=7),
        ]
    modifiers: list[Modifier] = []
    if target.generation.name == "rdna4":
        if inst.index_sets(target.wave) > 1:
            modifiers.append(number("index_key", "INDEX_KEY", inst.index_sets(target.wave) - 1))
        return encodings.VOP3P_RDNA4, modifiers
    if inst.sparse:
        modifiers.append(number("index_key", "INDEX_KEY", 1))
    if chosen_formats(inst):
        modifiers += [choice(f"matrix_{x}_fmt", f"{x.upper()}_FMT", MATRIX_FMT) for x in "ab"]
    if inst.scaled:
        modifiers += _scale_modifiers()
        return encodings.VOP3PX2_F8F6F4 if chosen_formats(inst) else encodings.VOP3PX2_F4, modifiers
    if chosen_formats(inst):
        return encodings.VOP3P_CDNA5_F8F6F4, modifiers
    if inst.format("A").bits < 8:
        return encodings.VOP3P_CDNA5_F4, modifiers
    return encodings.VOP3P_CDNA5, [*modifiers, flag("matrix_a_reuse", "A_REUSE"), flag("matrix_b_reuse", "B_REUSE")]


def _scale_modifiers() -> list[Modifier]:
    return [
        *(choice(f"matrix_{x}_scale", f"SCALE_{x.upper()}_ROW", SCALE_ROW) for x in "ab"),
        *(choice(f"matrix_{x}_scale_fmt", f"SCALE_{x.upper()}_FMT", SCALE_FMT) for x in "ab"),
        *(flag(f"matrix_{x}_reuse", f"SCALE_{x.upper()}_REUSE") for x in "ab"),
    ]


# --- moves and scale loads ---


def _helpers(target: Target) -> Iterable[Form]:
    """The instructions beside the matrix instructions: AccVGPR moves and, alone, the prefixes of scaled forms."""
    scalars = target.generation.scalars
    layout = target.entry.architecture.layout
    if layout == "mfma":
        d, a = Slot("D", "The destination", "VDST", 1), Slot("A", "The source", "SRC0", 1, ("a",))
        yield Form("v_accvgpr_read_b32", encodings.VOP3P_ACCVGPR, {"OP": 0x58}, (d, a), ())
        d = Slot("D", "The destination", "VDST", 1, ("a",))
        a = Slot("A", "The source", "SRC0", 1, constant="f32", specials=scalars)
        yield Form("v_accvgpr_write_b32", encodings.VOP3P_ACCVGPR, {"OP": 0x59}, (d, a), ())
    prefixes = {i.prefix_opcode: i for i in target.entry.instructions() if i.prefix_opcode is not None}
    for opcode, inst in prefixes.items():
        if layout == "mfma":
            op_sel = bits("op_sel", "OPSEL", 3, width=2)
            op_sel_hi = bits("op_sel_hi", "OPSEL_HI", 3, width=2, default=3, hidden=3)
            slots = [
                Slot(name, _TITLES[name], field, 1, constant="f32", specials=scalars)
                for name, field in (("SA", "SRC0"), ("SB", "SRC1"))
            ]
            encoding, fixed = encodings.VOP3P_LD_SCALE, {"OP": opcode}
            yield Form("v_mfma_ld_scale_b32", encoding, fixed, slots, (op_sel, op_sel_hi), scalar_limit=1)
        else:
            wide = inst.block_size == 16
            name = "v_wmma_ld_scale16_paired_b64" if wide else "v_wmma_ld_scale_paired_b32"
            encoding, fixed = encodings.VOP3P_CDNA5_LD_SCALE, {"SCALE_OP": opcode}
            yield Form(name, encoding, fixed, _scales(inst, target, alone=True), _scale_modifiers())
