"""From the catalog to what can be encoded: the form of every instruction on a target.

An `InstructionForm` says which encoding an instruction has, what its fixed fields are, its operands, and its
modifiers in their order. It is derived when it is first asked for: the opcode, the shape and the formats
are the catalog's, the register counts those of the operand layouts, encodings and modifiers those of the generation.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.errors import Error
from ..base.records import Record
from ..catalog import entry
from ..formats import CHOICES
from .generations import TITLES, generation
from .operands import OperandSlot
from .tables import Row, Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..model import Instruction
    from .fields import Encoding, Field
    from .modifiers import Modifier
    from .targets import Target

__all__ = ["InstructionForm", "MatrixRows", "form_of", "forms", "matrix_rows", "names", "spellings"]


class InstructionForm(Record):
    """How one instruction is written and encoded.

    Attributes:
        name: the mnemonic; instruction: the catalog's record (None for a move or a scale load).
        encoding, fixed: the format, and the fields that every instruction of this form has alike.
        slots, modifiers: operands and modifiers in the order in which they are written.
        scalar_limit: how many different scalar registers it may read, None if that does not matter.
        overlap_checked: whether LLVM refuses a C that overlaps D in part.
        meanings: what fields mean in this instruction, where that is not the format's own text.
    """

    name: str
    encoding: Encoding
    fixed: Mapping[str, int]
    slots: tuple[OperandSlot, ...]
    modifiers: tuple[Modifier, ...]
    scalar_limit: int | None = None
    instruction: Instruction | None = None
    overlap_checked: bool = False
    meanings: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"InstructionForm({self.name!r}, {self.encoding.name})"

    @property
    def free(self) -> set[str]:
        """The fields that operands and modifiers fill."""
        banks = {slot.bank[0] for slot in self.slots if slot.bank}
        return {slot.field for slot in self.slots} | {modifier.field for modifier in self.modifiers} | banks

    @property
    def template(self) -> tuple[int, int]:
        """What a decoder compares: (mask, value)."""
        return self.encoding.template(self.fixed, self.free)

    def meaning(self, field: Field, values: Mapping[str, int]) -> str:
        """What the value of a field means."""
        notes = []
        if field.name in ("OP", "SCALE_OP"):
            notes.append(f"{values[field.name]:#x}: {self.name}" if field.name == "OP" else f"{values[field.name]:#x}")
        notes += [f"{slot.name} = {slot.text(values)}" for slot in self.slots if slot.field == field.name]
        for modifier in self.modifiers:
            if modifier.field == field.name:
                shown = (modifier.text(values[field.name]) or "").strip()
                notes.append(shown or f"{modifier.name} at its default")
        meaning = self.meanings.get(field.name, field.meaning)
        return f"{meaning}; {', '.join(notes)}" if notes else meaning

    def model_modifiers(self, wave: int) -> dict[str, Modifier]:
        """The modifiers of the text that set a modifier of the instruction, by that modifier's name.

        >>> from mmacalc.asm.targets import target
        >>> list(form_of("v_swmmac_i32_16x16x32_iu8", target("gfx1200")).model_modifiers(32))
        ['opsel', 'neg']
        """
        if (inst := self.instruction) is None:
            return {}
        limits, found = inst.modifier_limits(wave), {}
        for modifier in self.modifiers:
            (name,) = inst.resolved({modifier.name: 0})
            field = name if name in limits else modifier.field.lower()  # `neg` of FP64 fills BLGP
            if field in limits:
                found[field] = modifier
        return found

    def slot(self, name: str) -> OperandSlot | None:
        """The operand of that name, None if there is none."""
        return next((slot for slot in self.slots if slot.name == name), None)


def form_of(mnemonic: str, target: Target) -> InstructionForm | None:
    """The form of a mnemonic, in any spelling that LLVM takes; None if the target has none.

    >>> from mmacalc.asm.targets import target
    >>> form_of("V_MFMA_F32_16X16X16F16_E64", target("gfx942"))
    InstructionForm('v_mfma_f32_16x16x16_f16', VOP3P-MAI)
    """
    name = mnemonic.lower().removesuffix("_e64")
    if "accvgpr" in name or "ld_scale" in name:
        return _helper_spellings(target).get(mnemonic.lower())
    inst = _instruction(name, target)
    return None if inst is None else _form(inst, target)


def _instruction(name: str, target: Target) -> Instruction | None:
    """The instruction of a mnemonic that the target's LLVM version assembles, perhaps another architecture's."""
    if (own := target.entry.canonical(name)) is not None:
        return target.entry.instruction(own)
    lender, prefix = target.entry.architecture.also_assembled.get(target.llvm, ("", ""))
    lent = entry(lender).canonical(name) if lender else None
    return entry(lender).instruction(lent) if lent is not None and lent.startswith(prefix) else None


@lru_cache(maxsize=8192)
def _form(inst: Instruction, target: Target) -> InstructionForm | None:
    if inst.since_llvm > target.llvm:
        return None
    own = inst.architecture is target.entry.architecture
    rules = target.generation if own else generation(inst.architecture.assembly)
    fixed = {"OP": inst.opcode or 0, **rules.fixed(inst)}
    if inst.prefix_opcode is not None:
        fixed["SCALE_OP"] = inst.prefix_opcode
    return InstructionForm(
        inst.name,
        rules.encoding(inst),
        fixed,
        tuple(_slots(inst, target)),
        tuple(rules.modifiers(inst, target.wave)),
        instruction=inst,
        overlap_checked=rules.overlap_checked(inst),
        meanings=rules.meanings(inst),
    )


@lru_cache(maxsize=128)
def _helpers(target: Target) -> dict[str, InstructionForm]:
    """The forms of AccVGPR moves and scale loads."""
    helpers = target.generation.helpers(target.entry, target.wave, target.scalars)
    return {
        one.name: InstructionForm(one.name, one.encoding, dict(one.fixed), one.slots, one.modifiers, one.scalar_limit)
        for one in helpers
    }


@lru_cache(maxsize=128)
def _helper_spellings(target: Target) -> dict[str, InstructionForm]:
    """The same by every spelling: with the suffix of its length, and AccVGPR moves of two words without the type."""
    found: dict[str, InstructionForm] = {}
    for name, form in _helpers(target).items():
        two_words = form.encoding.size > 4
        shorter = (name.removesuffix("_b32"),) if two_words and "accvgpr" in name else ()
        for spelling in (name, *shorter):
            found |= dict.fromkeys((spelling, f"{spelling}_e{64 if two_words else 32}"), form)
    return found


def names(target: Target) -> tuple[str, ...]:
    """The mnemonics that can be encoded: the catalog's instructions, those of another architecture, then moves and
    scale loads."""
    lender, prefix = target.entry.architecture.also_assembled.get(target.llvm, ("", ""))
    lent = [name for name in entry(lender).names if name.startswith(prefix)] if lender else []
    own = [inst.name for inst in target.entry.instructions() if inst.since_llvm <= target.llvm]
    return (*own, *lent, *_helpers(target))


@lru_cache(maxsize=128)
def forms(target: Target) -> dict[str, InstructionForm]:
    """Every form of a target by its mnemonic."""
    return {name: one for name in names(target) if (one := form_of(name, target)) is not None}


@lru_cache(maxsize=128)
def spellings(target: Target) -> dict[str, str]:
    """Every spelling that the assembler takes, with its mnemonic."""
    known = {name: name for name in names(target)}
    for one in forms(target).values():
        known |= dict.fromkeys(one.instruction.aliases if one.instruction else (), one.name)
    known |= {f"{spelling}_e64": name for spelling, name in known.items() if name not in _helpers(target)}
    return known | {spelling: form.name for spelling, form in _helper_spellings(target).items()}


# --- operands ---


def _slots(inst: Instruction, target: Target) -> Iterable[OperandSlot]:
    """D, A, B, then C or the sparse index, then the scales."""
    generation = target.generation
    inputs = generation.input_files
    result = {"required": ("a",), "allowed": ("v", "a"), "none": ("v",)}[inst.architecture.accumulators or "none"]
    shared = ("ACC_CD", 0) if len(result) == 2 else None

    def slot(name: str, field: str, **more: Any) -> OperandSlot:
        return OperandSlot(name, TITLES.get(name, name), field, _registers(inst, name, target), target.scalars, **more)

    yield slot("D", "VDST", files=result, bank=shared, destination=True)
    for bit, (name, field) in enumerate((("A", "SRC0"), ("B", "SRC1"))):
        yield slot(name, field, files=inputs, bank=("ACC", bit) if len(inputs) == 2 else None)
    if inst.sparse:
        yield slot("K", "SRC2")
    else:
        kind = generation.constant_kind(inst, target.wave) if generation.c_constants else None
        words, pattern = generation.words(target.scalars), _PATTERNS.get(inst.formats["C"], "f32")
        yield slot("C", "SRC2", files=result, bank=shared, constant=kind, pattern=pattern, words=words)
    for name, field in (("SA", "SCALE_SRC0"), ("SB", "SCALE_SRC1")) if inst.scaled else ():
        yield generation.scale_slot(name, field, inst.operand(name, target.wave).registers, target.scalars, False)


# The hardware reads a constant in C's format (LLVM's types follow the number of registers), one of 16 bits in both
# halves.
_PATTERNS = {"f16": "c16", "bf16": "cb16", "f64": "f64"}


def _registers(inst: Instruction, name: str, target: Target) -> int | tuple[str, tuple[int, ...]]:
    """The register count of an operand; where a field chooses its format, one count for every value of the field."""
    field = {operand: field for field, operand in inst.choices.items()}.get(name)
    if field is None:
        return inst.operand(name, target.wave).registers
    formats = CHOICES[inst.formats[name]]
    counts = [inst.operand(name, target.wave, **{field: value}).registers for value in range(len(formats))]
    # LLVM takes the three unused values of CBSZ and BLGP as the first format.
    return _FORMAT_FIELDS[field], (*counts, *[counts[0]] * (8 - len(counts)))


_FORMAT_FIELDS = {"cbsz": "CBSZ", "blgp": "BLGP", "matrix_a_fmt": "A_FMT", "matrix_b_fmt": "B_FMT"}


# --- rows ---


def _row(form: InstructionForm, target: Target, exact: bool | None) -> Row:
    """A form as a row of the instruction tables, which decodes and prints it.

    Args:
        exact: LLVM's assembler takes some words as C for which its disassembler has no text. They are printed for the
            encodings that the assembler emits, not for those with bits that it never sets and the decoder does not look
            at: a form with such bits has two rows, for what the assembler writes there (True) and for all else (False).
    """
    row = Row.__new__(Row)
    row.name = row.mnemonic = form.name
    row.format, row.size = form.encoding, form.encoding.size
    row.family, row.lane_mask = target.generation.family, target.wave // 32
    row.encoding = "vop1" if row.size == 4 else "vop3p"
    row.mask, row.value = form.template
    row.slots = tuple(_row_slot(slot, form.encoding, exact) for slot in form.slots)
    if exact:
        loose, usual = form.encoding.ignored()
        row.mask, row.value = row.mask | loose, row.value | usual
    # The accumulator of a sparse product is its destination.
    row.reads = ("VDST",) if form.slot("K") is not None else ()
    row.writes = row.keeps = ()
    row.branch, row.signs, row.implied = False, {}, {}
    row.op_sel = row.written_too = 0
    row.widths = {each.name: each.width for each in form.modifiers if each.kind == "bits"}
    row.modifiers = tuple(_row_modifier(each, form.encoding.fields[each.field]) for each in form.modifiers)
    operands = (f"{'>' * slot.destination}{slot.field}={slot.files[0]}{slot.count({})}" for slot in form.slots)
    row.signature = ("", " ".join(operands), " ".join(f"<{name}" for name in row.reads), "", "", "")
    row.acc, row.flags = 0, frozenset()
    return row


def _row_slot(slot: OperandSlot, encoding: Encoding, exact: bool | None) -> Slot:
    made, field = Slot(), encoding.fields[slot.field]
    made.field, made.destination = field, slot.destination
    made.shift, made.mask = field.pieces[0][1], (1 << field.width) - 1
    made.style, made.half, made.fixed, made.choice = "", None, None, None
    made.constant, made.texts = slot.constant or "", slot.texts()
    made.bank = encoding.fields[slot.bank[0]].spread(1 << slot.bank[1]) if slot.bank else 0
    words = slot.words & {slot.scalars.null} if exact is False and slot.name == "C" else slot.words
    if isinstance(slot.registers, int):
        made.entries = slot.entries(slot.registers, words)
    else:
        made.choice = encoding.fields[slot.registers[0]]
        made.entries = tuple(entry for count in slot.registers[1] for entry in slot.entries(count, words))
    return made


def _row_modifier(
    modifier: Modifier, field: Field
) -> tuple[str, int, int, Field | None, bool, int, frozenset[int] | None]:
    simple, most = len(field.pieces) == 1, 1 << field.width
    legal = frozenset(value for value in range(most) if modifier.takes(value))
    return (
        modifier.name, field.pieces[0][1] if simple else 0, most - 1, None if simple else field,
        modifier.name == "op_sel_hi", 0, legal if len(legal) < most else None,
    )  # fmt: skip


class MatrixRows:
    """The rows of a target's matrix instructions, scale loads and moves of AccVGPRs, made when their bits are met.

    Raises:
        Error: one encoding could be two instructions.
    """

    def __init__(self, where: Target) -> None:
        self._target = where
        self._names: dict[int, list[str]] = {}
        single: dict[int, str] = {}
        for name, (opcode, prefix) in _opcodes(where).items():
            self._names.setdefault(where.generation.first | (opcode if prefix is None else prefix), []).append(name)
            if prefix is None:
                single[opcode] = name
        self._others: list[Row] = []
        for form in _helpers(where).values():
            if form.encoding.size == 4:
                self._others += self._rows(form)
                continue
            opcode = form.fixed.get("OP", form.fixed.get("SCALE_OP", 0))
            self._names.setdefault(where.generation.first | opcode, []).append(form.name)
            if opcode in single:
                raise Error(
                    f"{form.name} and {single[opcode]} of {where.name} have one encoding, {form.template[1]:#x}"
                )
        self._made: dict[int, tuple[Row, ...]] = {}

    def _rows(self, form: InstructionForm) -> list[Row]:
        c = form.slot("C")
        two = c is not None and c.words and form.encoding.ignored()[0]
        return [_row(form, self._target, exact) for exact in ((True, False) if two else (None,))]

    def rows(self, word: int) -> tuple[Row, ...]:
        """The rows that a first word may begin, longer ones first."""
        key = word >> 16 & 0xFFFF
        found = self._made.get(key)
        if found is None:
            forms = [form for name in self._names.get(key, ()) if (form := form_of(name, self._target)) is not None]
            made = [row for form in forms for row in self._rows(form)]
            others = [row for row in self._others if not (word ^ row.value) & row.mask & 0xFFFF0000]
            found = self._made[key] = (*sorted(made, key=lambda row: -row.size), *others)
        return found


def _opcodes(where: Target) -> dict[str, tuple[int, int | None]]:
    """The opcodes of the matrix instructions that a target's LLVM version assembles."""
    own = where.entry.opcodes
    lender, prefix = where.entry.architecture.also_assembled.get(where.llvm, ("", ""))
    lent = entry(lender).opcodes if lender else {}
    return {**{name: codes for name, codes in lent.items() if name.startswith(prefix)}, **own}


@lru_cache(maxsize=256)
def matrix_rows(where: Target) -> MatrixRows:
    """`MatrixRows`, one for each target, wave size and LLVM version."""
    return MatrixRows(where)
