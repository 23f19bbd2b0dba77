"""From the catalog to rows: the matrix instructions of a target, its scale loads and its moves of AccVGPRs.

A row is made when it is first asked for: the opcode, the shape and the formats are the catalog's, the numbers of
registers those of the operand layouts, encodings and modifiers those of the generation.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.errors import Error
from ..catalog import entry
from ..formats import CHOICES
from .decoded import ConstantOperand
from .generations import TITLES, Helper, Taken, generation
from .operand_codes import constant_patterns, constant_texts, vector_codes, word_sources
from .rows import Modifier, Row, Slot, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..model import Instruction
    from .fields import Encoding
    from .generations import Written
    from .targets import Target

__all__ = ["MatrixRows", "form_of", "forms", "matrix_rows", "model_modifiers", "names", "spellings"]


def form_of(mnemonic: str, target: Target) -> Row | None:
    """The row of a mnemonic, in any spelling that LLVM takes; None if the target has none.

    >>> from mmacalc.asm.targets import target
    >>> form_of("V_MFMA_F32_16X16X16F16_E64", target("gfx942"))
    Row('v_mfma_f32_16x16x16_f16', VOP3P-MAI)
    """
    found = _form_of(mnemonic, target)
    return found[0] if found else None


@lru_cache(maxsize=32768)
def _form_of(mnemonic: str, target: Target) -> tuple[Row, ...]:
    """The same, with a second row where the decoder has one."""
    inst = _instruction(mnemonic.lower().removesuffix("_e64"), target)
    return _helper_spellings(target).get(mnemonic.lower(), ()) if inst is None else _form(inst, target)


def _instruction(name: str, target: Target) -> Instruction | None:
    """The instruction of a mnemonic that the target's LLVM version assembles, perhaps another architecture's."""
    if (own := target.entry.canonical(name)) is not None:
        return target.entry.instruction(own)
    lender, prefix = target.entry.architecture.also_assembled.get(target.llvm, ("", ""))
    lent = entry(lender).canonical(name) if lender else None
    return entry(lender).instruction(lent) if lent is not None and lent.startswith(prefix) else None


@lru_cache(maxsize=8192)
def _form(inst: Instruction, target: Target) -> tuple[Row, ...]:
    if inst.since_llvm > target.llvm:
        return ()
    own = inst.architecture is target.entry.architecture
    rules = target.generation if own else generation(inst.architecture.assembly)
    fixed = {"OP": inst.opcode or 0, **rules.fixed(inst)}
    if inst.prefix_opcode is not None:
        fixed["SCALE_OP"] = inst.prefix_opcode
    made = Helper(
        inst.name,
        rules.encoding(inst),
        fixed,
        tuple(_operands(inst, target)),
        tuple(rules.modifiers(inst, target.wave)),
    )
    overlap = rules.overlap_checked(inst)
    return _rows(made, target, instruction=inst, overlap_checked=overlap, meanings=rules.meanings(inst))


@lru_cache(maxsize=128)
def _helpers(target: Target) -> dict[str, tuple[Row, ...]]:
    """The rows of AccVGPR moves and scale loads."""
    helpers = target.generation.helpers(target.entry, target.wave, target.scalars)
    return {one.name: _rows(one, target) for one in helpers}


@lru_cache(maxsize=128)
def _helper_spellings(target: Target) -> dict[str, tuple[Row, ...]]:
    """The same by every spelling: with the suffix of its length, and AccVGPR moves of two words without the type."""
    found: dict[str, tuple[Row, ...]] = {}
    for name, form in _helpers(target).items():
        two_words = form[0].size > 4
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
def forms(target: Target) -> dict[str, Row]:
    """Every such row of a target by its mnemonic."""
    return {name: one for name in names(target) if (one := form_of(name, target)) is not None}


@lru_cache(maxsize=128)
def spellings(target: Target) -> dict[str, str]:
    """Every spelling that the assembler takes, with its mnemonic."""
    known = {name: name for name in names(target)}
    for one in forms(target).values():
        known |= dict.fromkeys(one.instruction.aliases if one.instruction else (), one.name)
    known |= {f"{spelling}_e64": name for spelling, name in known.items() if name not in _helpers(target)}
    return known | {spelling: form[0].name for spelling, form in _helper_spellings(target).items()}


def model_modifiers(row: Row, wave: int) -> dict[str, Modifier]:
    """The modifiers of the text that set a modifier of the catalog's instruction, by that modifier's name.

    >>> from mmacalc.asm.targets import target
    >>> list(model_modifiers(form_of("v_swmmac_i32_16x16x32_iu8", target("gfx1200")), 32))
    ['opsel', 'neg']
    """
    if (inst := row.instruction) is None:
        return {}
    limits, found = inst.modifier_limits(wave), {}
    for modifier in row.modifiers:
        (name,) = inst.resolved({modifier.name: 0})
        field = name if name in limits else modifier.field.name.lower()  # `neg` of FP64 fills BLGP
        if field in limits:
            found[field] = modifier
    return found


# --- operands ---


def _operands(inst: Instruction, target: Target) -> Iterable[Taken]:
    """D, A, B, then C or the sparse index, then the scales."""
    rules = target.generation
    inputs = rules.input_files
    result = {"required": ("a",), "allowed": ("v", "a"), "none": ("v",)}[inst.architecture.accumulators or "none"]
    shared = ("ACC_CD", 0) if len(result) == 2 else None

    def taken(name: str, field: str, **more: Any) -> Taken:
        choice, counts = _registers(inst, name, target)
        return Taken(name, TITLES.get(name, name), field, counts, choice=choice, **more)

    yield taken("D", "VDST", files=result, bank=shared, destination=True)
    for bit, (name, field) in enumerate((("A", "SRC0"), ("B", "SRC1"))):
        yield taken(name, field, files=inputs, bank=("ACC", bit) if len(inputs) == 2 else None)
    if inst.sparse:
        yield taken("K", "SRC2")
    else:
        kind = rules.constant_kind(inst, target.wave) if rules.c_constants else ""
        words, pattern = rules.words(target.scalars), _PATTERNS.get(inst.formats["C"], "f32")
        yield taken("C", "SRC2", files=result, bank=shared, constant=kind, pattern=pattern, words=words)
    for name, field in (("SA", "SCALE_SRC0"), ("SB", "SCALE_SRC1")) if inst.scaled else ():
        yield rules.scale_slot(name, field, inst.operand(name, target.wave).registers, target.scalars, False)


# The hardware reads a constant in C's format (LLVM's types follow the number of registers), one of 16 bits in both
# halves.
_PATTERNS = {"f16": "c16", "bf16": "cb16", "f64": "f64"}


def _registers(inst: Instruction, name: str, target: Target) -> tuple[str, tuple[int, ...]]:
    """The register count of an operand; where a field chooses its format, that field and a count for every value."""
    field = {operand: field for field, operand in inst.choices.items()}.get(name)
    if field is None:
        return "", (inst.operand(name, target.wave).registers,)
    formats = CHOICES[inst.formats[name]]
    counts = [inst.operand(name, target.wave, **{field: value}).registers for value in range(len(formats))]
    # LLVM takes the three unused values of CBSZ and BLGP as the first format.
    return _FORMAT_FIELDS[field], (*counts, *[counts[0]] * (8 - len(counts)))


_FORMAT_FIELDS = {"cbsz": "CBSZ", "blgp": "BLGP", "matrix_a_fmt": "A_FMT", "matrix_b_fmt": "B_FMT"}


# --- rows ---


def _rows(made: Helper, target: Target, **more: Any) -> tuple[Row, ...]:
    """The row of an instruction, of which the assembler takes the first.

    LLVM's assembler takes some words as C for which its disassembler has no text. They are printed for the encodings
    that the assembler emits, not for those with bits that it never sets and the decoder does not look at: an
    instruction with such bits has two rows, for what the assembler writes there and for all else.
    """
    form = made.format
    loose, usual = form.ignored()
    free = {one.field for one in made.operands} | {one.field for one in made.modifiers}
    mask, value = form.template(made.fixed, free | {one.bank[0] for one in made.operands if one.bank})
    sparse = any(one.name == "K" for one in made.operands)
    shared = {
        "name": made.name, "mnemonic": made.name, "format": form, "family": target.generation.family, "signs": {},
        "lane_mask": target.wave // 32, "encoding": "vop1" if form.size == 4 else "vop3p", "fixed": made.fixed,
        "reads": ("VDST",) if sparse else (),  # the accumulator of a sparse product is its destination
        "widths": {each.name: each.width for each in made.modifiers if each.width},
        "dropped": {each.name: each.dropped for each in made.modifiers if each.dropped},
        "modifiers": tuple([_modifier(each, form) for each in made.modifiers]),
        "signature": ("", " ".join(_signature(one) for one in made.operands), "<VDST" if sparse else "", "", "", ""),
        "written_too": usual, **more,
    }  # fmt: skip
    slots = tuple([_slot(one, form, target) for one in made.operands])
    if not loose or not any(one.name == "C" and one.words for one in made.operands):
        return (Row(**shared, mask=mask, value=value, slots=slots),)
    null = {target.scalars.null}
    fewer = [one._replace(words=one.words & null) if one.name == "C" else one for one in made.operands]
    others = tuple([_slot(one, form, target) if one.name == "C" else slot for one, slot in zip(fewer, slots)])
    exact = Row(**shared, mask=mask | loose, value=value | usual, slots=slots)
    return exact, Row(**shared, mask=mask, value=value, slots=others)


def _signature(one: Taken) -> str:
    return f"{'>' * one.destination}{one.field}={one.files[0]}{one.counts[0]}"


def _slot(one: Taken, form: Encoding, target: Target) -> Slot:
    scalars, files = target.scalars, one.files if one.bank else (one.files[0],) * 2
    constant = one.pattern if one.constant else ""
    entries = [
        vector_codes(file, count, scalars) if one.destination
        else word_sources(file, count, constant, one.words, scalars)
        for count in one.counts for file in files
    ]  # fmt: skip
    return Slot(
        form.fields[one.field], name=one.name, title=one.title, destination=one.destination, counts=one.counts,
        files=one.files, even=scalars.vector_alignment == 2, constant=one.constant, entries=tuple(entries),
        texts=_texts(one.constant, one.pattern) if one.constant else {},
        choice=form.fields[one.choice] if one.choice else None,
        bank=form.fields[one.bank[0]].spread(1 << one.bank[1]) if one.bank else 0,
    )  # fmt: skip


@lru_cache(maxsize=64)
def _texts(constant: str, pattern: str) -> Mapping[object, str]:
    """What is printed for constants: LLVM's texts, which follow the format in which it reads them."""
    width, patterns = constant_patterns(pattern)
    return {
        ConstantOperand(patterns[code], False, max(width, 32)): text for code, text in constant_texts(constant).items()
    }


def _modifier(each: Written, form: Encoding) -> Modifier:
    field = form.fields[each.field]
    simple, most = len(field.pieces) == 1, 1 << field.width
    known = each.known if kind_of(each.name) != "flag" and each.known and len(each.known) < most else None
    always = each.name == "op_sel_hi"
    shift = field.pieces[0][1] if simple else 0
    return Modifier(each.name, shift, most - 1, None if simple else field, always, 0, known, field)


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
        for rows in _helpers(where).values():
            form = rows[0]
            if form.size == 4:
                self._others += rows
                continue
            opcode = form.fixed.get("OP", form.fixed.get("SCALE_OP", 0))
            self._names.setdefault(where.generation.first | opcode, []).append(form.name)
            if opcode in single:
                raise Error(f"{form.name} and {single[opcode]} of {where.name} have one encoding, {form.value:#x}")
        self._made: dict[int, tuple[Row, ...]] = {}

    def rows(self, word: int) -> tuple[Row, ...]:
        """The rows that a first word may begin, longer ones first."""
        key = word >> 16 & 0xFFFF
        found = self._made.get(key)
        if found is None:
            made = [row for name in self._names.get(key, ()) for row in _form_of(name, self._target)]
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
