"""The detail page of an AMD instruction."""

from __future__ import annotations

from ...base.records import Record
from ...command import tables
from ...model.architecture import DOUBTFUL
from ...spelling import SOURCE_FIELDS, heading
from . import formulas
from .detail import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...compiler.dialects import Intrinsic
    from ...model import Instruction, Operand
    from .detail import Detail


_COORDINATES = {
    "A": "[i][k]", "B": "[k][j]", "C": "[i][j]", "D": "[i][j]", "K": "[i][k]", "SA": "[i][k]", "SB": "[k][j]",
}  # fmt: skip


class AmdDetail(Record):
    """What only AMD's instructions have: the compiler's names by wave size."""

    intrinsics: Mapping[int, tuple[Intrinsic, ...]]


def own(detail: Detail) -> AmdDetail:
    """The compiler's names."""
    return AmdDetail(detail.intrinsics)


def statement(inst: Instruction) -> str:
    """What the page writes after the name: nothing, since it has the instruction words."""
    return ""


def text(detail: Detail) -> str:
    """Everything about one instruction, line for line as AMD's tool prints it, and further lines for what that
    tool does not know: formats that a field chooses, scales, and how sure each part is.

    On architectures that AMD's tool lacks also the compiler's names and the arithmetic. The formulas are derived from
    the layouts; see `mmacalc.questions.classic.formulas`.
    """
    instruction = detail.instruction
    lines = [
        *_encoding(instruction),
        *_execution(detail),
        *_registers(detail),
        *(() if detail.fields else _choices(detail)),
        *_capabilities(instruction),
        *_modifiers(instruction),
        *_mappings(detail),
        *_provenance(instruction),
        *(() if instruction.architecture.amd_calculator else _further(detail)),
    ]
    return heading(instruction) + "".join([f"    {line}\n" for line in lines])


def _encoding(instruction: Instruction) -> Iterator[str]:
    encoding = instruction.architecture.encoding
    yield f"Encoding: {encoding}"
    if instruction.opcode is not None:
        yield f"VOP3P Opcode: {instruction.opcode:#x}"
        if encoding == "VOP3P-MAI":
            yield f"VOP3P-MAI Opcode: {instruction.opcode & 0x3F:#x}"
    if instruction.prefix_opcode is not None:
        yield f"VOP3P Opcode of the scale prefix: {instruction.prefix_opcode:#x}"
    yield "Matrix Dimensions:"
    yield f"    M: {instruction.m}"
    yield f"    N: {instruction.n}"
    yield f"    K: {instruction.k}"
    if instruction.architecture.family.blocks:
        yield f"    blocks: {instruction.blocks}"


def _execution(detail: Detail) -> Iterator[str]:
    instruction, valu_cycles = detail.instruction, detail.valu_cycles
    count, unit = "Ops" if instruction.integer else "FLOPs", instruction.architecture.unit
    yield "Execution statistics:"
    yield f"    {count}: {instruction.flops}"
    if detail.cycles is not None:
        yield f"    Execution cycles: {detail.cycles}"
        yield f"    {count}/{unit}/cycle: {detail.operations_per_cycle}"
    unknown = valu_cycles is None and instruction.provenance_of("valu_cycles") == "unconfirmed"
    yield f"    Can co-execute with VALU: {'not known' if unknown else valu_cycles is not None}"
    if valu_cycles is not None:
        yield f"    VALU co-execution cycles possible: {valu_cycles}"
    if instruction.narrow_cycles and not detail.fields:
        bits, narrow = instruction.narrow_cycles
        yield f"    Execution cycles where A and B have at most {bits} bits: {narrow}"
        yield f"    {count}/{unit}/cycle where A and B have at most {bits} bits: {4 * instruction.flops // narrow}"


def _choices(detail: Detail) -> Iterator[str]:
    """The table of the formats that fields choose: their values, widths, registers and layouts."""
    for choice in detail.choices:
        yield f"Formats of {choice.operand}, by {choice.field.upper()}:"
        rows = []
        for value, operand in choice.values.items():
            form = operand.format
            short = form.title.partition(" ")[0]
            rows.append((str(value), short, form.name, str(form.bits), str(operand.registers), operand.pattern))
        table = tables.write(("value", "format", "encoding", "bits", "GPRs", "layout"), rows, ruled=True)
        yield from (f"    {line}" for line in table.splitlines())


def _registers(detail: Detail) -> Iterator[str]:
    architecture = detail.instruction.architecture
    for wave, operands in detail.operands.items():
        prefix = f"Wave{wave} register usage" if len(detail.operands) > 1 else "Register usage"
        yield f"{prefix}:"
        for name, operand in operands.items():
            if name != "K":
                yield f"    GPRs required for {name}: {operand.registers}"
        yield f"    GPR alignment requirement: {architecture.register_alignment} bytes"
    yield f"{architecture.encoding} register encoding:"
    fields = sorted((SOURCE_FIELDS[name], name) for name in operands)
    for field, name in fields:
        yield "    Compression index field: Src2" if name == "K" else f"    {name} matrix source field: {field}"
    yield "Register data types:"
    for field, name in fields:
        yield f"    {field}: {operands[name].format.title}"


def _capabilities(instruction: Instruction) -> Iterator[str]:
    accumulators = instruction.architecture.accumulators
    if accumulators == "none":
        return
    yield "Register capabilities:"
    results = "D" if instruction.sparse else "C and D"
    for operand, architected in (("A", True), ("B", True), (results, accumulators != "required")):
        yield f"    {operand} matrix can use ArchVGPRs: {architected}"
        yield f"    {operand} matrix can use AccVGPRs: True"
    if instruction.scaled:
        # CDNA4 ISA guide, section 7.2.1.
        yield "    SA and SB can use ArchVGPRs: True"
        yield "    SA and SB can use inline constants: True"


def _modifiers(instruction: Instruction) -> Iterator[str]:
    has = instruction.features
    if instruction.sparse and all(instruction.index_sets(wave) == 1 for wave in instruction.architecture.waves):
        # One set of indices fills the register: CBSZ and ABID, or OPSEL, have nothing to choose.
        has = tuple(word for word in has if word not in ("cbsz", "opsel"))
    yield "Register modifiers:"
    for field, operand in instruction.choices.items():
        yield f"    {field.upper()} chooses the format of {operand}: True"
    if instruction.scaled:
        fields = " and ".join(field.upper() for field in instruction.architecture.scale_fields)
        yield f"    {fields} choose where the scales are: True"
    if instruction.architecture.family.blocks:
        yield f"    Sparse A matrix: {instruction.sparse}"
        yield f"    CBSZ and ABID bits supported: {'cbsz' in has}"
        yield f"    BLGP bits supported: {'blgp' in has}"
        return
    if instruction.architecture.family.half_results:
        yield "    OPSEL[1:0] supported: False"
        yield f"    OPSEL[2] supported: {'opsel' in has}"
    else:
        yield f"    OPSEL supported: {'opsel' in has}"
    yield f"    NEG bits supported: {'neg' in has}"
    if "neg_c" in has and not instruction.architecture.amd_calculator:  # of RDNA4's, AMD's page does not say it
        yield "    NEG bits supported for C only: True"


def _mappings(detail: Detail) -> Iterator[str]:
    chosen = ", ".join(f"{name.upper()} {value}" for name, value in detail.fields.items()) or "no modifiers"
    for title, direction in (("matrix element to register", _forward), ("register to matrix element", _backward)):
        for wave, operands in detail.operands.items():
            start = f"Wave{wave} {title}" if len(detail.operands) > 1 else title.capitalize()
            yield f"{start} mapping with {chosen}:"
            yield from direction(detail.instruction, operands)


def _shown(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """The operands that have formulas of their own, with their names on the page."""
    order = ("A", "K", "B", "C", "D") if instruction.sparse else ("A", "B", "D", "SA", "SB")
    for name in order:
        if name in instruction.operands:
            label = {"K": "compression", "D": "D" if instruction.sparse else "C or D"}.get(name, name)
            yield name, label


def _names_block(instruction: Instruction, name: str) -> bool:
    return instruction.architecture.family.blocks and name not in ("K", "SA", "SB")


def _forward(instruction: Instruction, operands: Mapping[str, Operand]) -> Iterator[str]:
    for name, label in _shown(instruction):
        suffix = ".block" if _names_block(instruction, name) else ""
        for quantity, formula in formulas.forward(operands[name]).items():
            yield f"    {label}{_COORDINATES[name]}{suffix} {quantity}: {formula}"


def _backward(instruction: Instruction, operands: Mapping[str, Operand]) -> Iterator[str]:
    for name, label in _shown(instruction):
        formula = formulas.backward(operands[name])
        axes = [axis for axis in formula if axis != "block"]
        if name in ("B", "SB"):
            axes.reverse()
        if _names_block(instruction, name):
            axes.append("block")
        for axis in axes:
            yield f"    {label} {axis}: {formula[axis]}"


def _provenance(instruction: Instruction) -> Iterator[str]:
    """What about the page is not confirmed; nothing where all of it is."""
    parts = {"cycles": "Execution cycles", "valu_cycles": "VALU co-execution cycles", "arithmetic": "Order of rounding"}
    for part in ("cycles", "valu_cycles"):
        if getattr(instruction, part) is None:
            del parts[part]
    parts |= {name: f"Layout of {name}" for name in instruction.operands}
    doubtful = {text: instruction.provenance_of(part) for part, text in parts.items()}
    doubtful = {text: word for text, word in doubtful.items() if word in DOUBTFUL}
    if doubtful or instruction.notes:
        yield "Provenance:"
        yield from (f"    {text}: {word}" for text, word in doubtful.items())
        yield from (f"    Note: {note}" for note in instruction.notes)


def _further(detail: Detail) -> Iterator[str]:
    from ..numerics import numerics_lines

    for found in detail.intrinsics.values():
        for intrinsic in found:
            yield "Compiler intrinsic:"
            yield f"    {intrinsic.prototype}"
            yield f"    {intrinsic.declaration}"
    if detail.numerics is not None:
        yield from numerics_lines(detail.numerics)


PAGE = Page(text, own, statement)
