"""The detail page of an AMD instruction."""

from __future__ import annotations

from ..formats import named
from . import formulas
from .text import SOURCE_FIELDS, heading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..record import Instruction

_COORDINATES = {"A": "[i][k]", "B": "[k][j]", "C": "[i][j]", "D": "[i][j]", "K": "[i][k]"}


def page(instruction: Instruction) -> str:
    """Everything about one instruction, line for line as AMD's tool prints it.

    The formulas are derived from the layouts; see `mmacalc.present.formulas`.
    """
    lines = [
        *_encoding(instruction),
        *_execution(instruction),
        *_registers(instruction),
        *_capabilities(instruction),
        *_modifiers(instruction),
        *_mappings(instruction),
    ]
    return heading(instruction) + "".join(f"    {line}\n" for line in lines) + "\n"


def has_blocks(instruction: Instruction) -> bool:
    """Whether the family has multi-block instructions, so that its pages and tables always name the block."""
    return instruction.architecture.layout == "mfma"


def _encoding(instruction: Instruction) -> Iterator[str]:
    encoding = instruction.architecture.facts["encoding"]
    yield f"Encoding: {encoding}"
    if instruction.opcode is not None:
        yield f"VOP3P Opcode: {instruction.opcode:#x}"
        if encoding == "VOP3P-MAI":
            yield f"VOP3P-MAI Opcode: {instruction.opcode & 0x3F:#x}"
    yield "Matrix Dimensions:"
    yield f"    M: {instruction.m}"
    yield f"    N: {instruction.n}"
    yield f"    K: {instruction.k}"
    if has_blocks(instruction):
        yield f"    blocks: {instruction.blocks}"


def _execution(instruction: Instruction) -> Iterator[str]:
    count = "Ops" if instruction.integer else "FLOPs"
    yield "Execution statistics:"
    yield f"    {count}: {instruction.flops}"
    if instruction.cycles is not None:
        yield f"    Execution cycles: {instruction.cycles}"
        unit = instruction.architecture.facts["unit"]
        yield f"    {count}/{unit}/cycle: {instruction.flops_per_unit_and_cycle}"
    yield f"    Can co-execute with VALU: {instruction.valu_cycles is not None}"
    if instruction.valu_cycles is not None:
        yield f"    VALU co-execution cycles possible: {instruction.valu_cycles}"


def _registers(instruction: Instruction) -> Iterator[str]:
    architecture = instruction.architecture
    for wave in sorted(architecture.waves):
        prefix = f"Wave{wave} register usage" if len(architecture.waves) > 1 else "Register usage"
        yield f"{prefix}:"
        for name in instruction.operands:
            if name != "K":
                yield f"    GPRs required for {name}: {instruction.operand(name, wave).registers}"
        yield f"    GPR alignment requirement: {architecture.facts['register_alignment']} bytes"
    yield f"{architecture.facts['encoding']} register encoding:"
    fields = sorted((SOURCE_FIELDS[name], name) for name in instruction.operands)
    for field, name in fields:
        yield "    Compression index field: Src2" if name == "K" else f"    {name} matrix source field: {field}"
    yield "Register data types:"
    for field, name in fields:
        yield f"    {field}: {named('index' if name == 'K' else instruction.formats[name]).title}"


def _capabilities(instruction: Instruction) -> Iterator[str]:
    accumulators = instruction.architecture.facts["accumulators"]
    if accumulators == "none":
        return
    yield "Register capabilities:"
    results = "D" if instruction.sparse else "C and D"
    for operand, architected in (("A", True), ("B", True), (results, accumulators != "required")):
        yield f"    {operand} matrix can use ArchVGPRs: {architected}"
        yield f"    {operand} matrix can use AccVGPRs: True"


def _modifiers(instruction: Instruction) -> Iterator[str]:
    has = instruction.features
    yield "Register modifiers:"
    if has_blocks(instruction):
        yield f"    Sparse A matrix: {instruction.sparse}"
        yield f"    CBSZ and ABID bits supported: {'cbsz' in has}"
        yield f"    BLGP bits supported: {'blgp' in has}"
        return
    if instruction.architecture.layout == "wmma-replicated":
        yield "    OPSEL[1:0] supported: False"
        yield f"    OPSEL[2] supported: {'opsel' in has}"
    else:
        yield f"    OPSEL supported: {'opsel' in has}"
    yield f"    NEG bits supported: {'neg' in has}"


def _mappings(instruction: Instruction) -> Iterator[str]:
    waves = sorted(instruction.architecture.waves)
    for title, direction in (("matrix element to register", _forward), ("register to matrix element", _backward)):
        for wave in waves:
            start = f"Wave{wave} {title}" if len(waves) > 1 else title.capitalize()
            yield f"{start} mapping with no modifiers:"
            yield from direction(instruction, wave)


def _shown(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """The operands that have formulas of their own, with their names on the page."""
    order = ("A", "K", "B", "C", "D") if instruction.sparse else ("A", "B", "D")
    for name in order:
        if name in instruction.operands:
            label = {"K": "compression", "D": "D" if instruction.sparse else "C or D"}.get(name, name)
            yield name, label


def _forward(instruction: Instruction, wave: int) -> Iterator[str]:
    for name, label in _shown(instruction):
        suffix = ".block" if has_blocks(instruction) and name != "K" else ""
        for quantity, formula in formulas.forward(instruction.operand(name, wave)).items():
            yield f"    {label}{_COORDINATES[name]}{suffix} {quantity}: {formula}"


def _backward(instruction: Instruction, wave: int) -> Iterator[str]:
    for name, label in _shown(instruction):
        formula = formulas.backward(instruction.operand(name, wave))
        axes = [axis for axis in formula if axis != "block"]
        if name == "B":
            axes.reverse()
        if has_blocks(instruction) and name != "K":
            axes.append("block")
        for axis in axes:
            yield f"    {label} {axis}: {formula[axis]}"
