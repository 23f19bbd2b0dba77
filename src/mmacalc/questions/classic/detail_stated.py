"""The detail page of Apple's SIMD groups, AMX and SME."""

from __future__ import annotations

from ...base.errors import plural
from ...base.records import Record
from ...model.architecture import DOUBTFUL
from ...spelling import heading
from ..numerics import numerics_lines
from .about import ends_text
from .detail import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...model import Instruction
    from .detail import Detail

ROWS = {"A": "M x K", "B": "K x N", "C": "M x N", "D": "M x N"}
LANES = {
    "simdgroup": "a lane is a thread of the SIMD group, an item one of its thread_elements()",
    "amx": "a lane is 32 bits of a row, a register a row of the tile",
    "sme": "a lane is 32 bits of a vector, and of ZA a column; a register of ZA is a horizontal slice",
}


class StatedDetail(Record):
    """What only such an instruction has. lanes: what lanes and registers are there. not_known: what no source says."""

    lanes: str
    not_known: tuple[str, ...]


def own(detail: Detail) -> StatedDetail:
    """What lanes and registers are, and what is not known."""
    family = detail.instruction.architecture.family
    return StatedDetail(LANES[family.name], _not_known(detail.instruction))


def _not_known(inst: Instruction) -> tuple[str, ...]:
    from ...arithmetic.numerics import refusal

    topics, title = inst.architecture.family.unsupported_topics, inst.architecture.title
    return (*filter(None, [refusal(inst)]), topics["estimate"].format(title=title))


def text(detail: Detail) -> str:
    """Everything about one instruction."""
    return heading(detail.instruction) + "".join([f"    {line}\n" for line in _lines(detail)])


def _lines(detail: Detail) -> Iterator[str]:
    inst = detail.instruction
    if inst.aliases:
        yield f"Also: {', '.join(inst.aliases)}"
    yield "Matrix dimensions:"
    yield from (f"    {name}: {size}" for name, size in (("M", inst.m), ("N", inst.n), ("K", inst.k)))
    yield "Execution statistics:"
    yield f"    {'Ops' if inst.integer else 'FLOPs'}: {inst.flops}"
    yield f"Layouts ({LANES[inst.architecture.family.name]}):"
    for name in inst.operands:
        operand = inst.operand(name)
        sizes = ", ".join([f"{digit}={size}" for digit, size in operand.sizes.items()])
        count = plural(operand.registers, "register")
        yield f"    {name}: {ROWS[name]}, {operand.format.name}; {count} of {operand.lanes} lanes"
        yield f"        {operand.pattern}   {sizes}{ends_text(operand)}"
    if detail.numerics:
        yield from numerics_lines(detail.numerics)
    yield "Not known here:"
    yield from (f"    {reason}" for reason in _not_known(inst))
    doubts = [name for name in inst.operands if inst.provenance_of(name) in DOUBTFUL]
    yield f"Provenance: {inst.row_provenance}"
    yield from (f"    Layout of {name}: {inst.provenance_of(name)}" for name in doubts)
    yield from (f"    Note: {note}" for note in inst.notes)


def statement(inst: Instruction) -> str:
    """What the page writes after the name: nothing."""
    return ""


PAGE = Page(text, own, statement)
