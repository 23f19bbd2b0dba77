"""The detail page of DPAS."""

from __future__ import annotations

from ...base.records import Record
from ...compiler.builtins import intrinsics
from ...families.dpas import SOURCES, vector_type, work_items
from ...model.architecture import DOUBTFUL
from ...spelling import heading
from . import formulas
from .about import ends_text
from .detail import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...compiler.dialects import Intrinsic
    from ...model import Instruction
    from .detail import Detail


_COORDINATES = {"A": "[i][k]", "B": "[k][j]", "C": "[i][j]", "D": "[i][j]", "SA": "[i][k]", "SB": "[k][j]"}
_ROWS = {"A": "M x K", "B": "K x N", "C": "M x N", "D": "M x N", "SA": "M x K", "SB": "K x N"}


def text(detail: Detail) -> str:
    """Everything about one instruction of one generation; the formulas are derived from the layouts."""
    inst = detail.instruction
    lines = [*_identity(inst), *_registers(inst), *_mappings(inst), *_work_items(inst), *_open(inst)]
    return heading(inst) + "".join([f"    {line}\n" for line in lines])


def syntax(inst: Instruction) -> str:
    """The instruction as iga64 writes it, with letters for the numbers of registers.

    >>> import mmacalc
    >>> syntax(mmacalc.instruction("xe-hpg", "dpas.8x4.d.d.u8.s2"))
    'dpas.8x4 (8|M0) rD:d rC:d rB:u8 rA.0:s2'
    """
    mnemonic, shape, d, c, b, a = inst.name.split(".")
    scales = " rSB.0:ub rSA.0:ub" if inst.scaled else ""
    return f"{mnemonic}.{shape} ({inst.n}|M0) rD:{d} rC:{c} rB:{b} rA.0:{a}{scales}"


def visa(inst: Instruction) -> str:
    """The instruction as vISA writes it: precision of src1 and src2, depth, repeat count.

    >>> import mmacalc
    >>> visa(mmacalc.instruction("xe-hpg", "dpas.8x4.d.d.u8.s2"))
    'dpas.u8.s2.8.4 (8) D C B A'
    """
    mnemonic, shape, _, _, b, a = inst.name.split(".")
    return f"{mnemonic}.{b}.{a}.{shape.replace('x', '.')} ({inst.n}) D C B A{' SB SA' if inst.scaled else ''}"


def statement(inst: Instruction) -> str:
    """What the page writes after the name: nothing, since the name has the types of the operands."""
    return ""


class WorkItems(Record):
    """How OpenCL's work-items hold an operand, and the bits of an element there."""

    pattern: str
    sizes: Mapping[str, int]
    element_bits: int


class DpasDetail(Record):
    """What only DPAS has."""

    iga64: str
    visa: str
    execution_size: int
    intrinsics: Mapping[int, tuple[Intrinsic, ...]]
    work_items: Mapping[str, WorkItems | None]


def own(detail: Detail) -> DpasDetail:
    """How iga64 and vISA write it, and how OpenCL's work-items hold its operands."""
    inst = detail.instruction
    found = {name: work_items(inst, name) for name in inst.operands}
    held = {
        name: None if each is None else WorkItems(each[0].pattern, each[0].trimmed_sizes, each[1])
        for name, each in found.items()
    }
    return DpasDetail(syntax(inst), visa(inst), inst.n, detail.intrinsics, held)


def _identity(inst: Instruction) -> Iterator[str]:
    yield f"iga64: {syntax(inst)}"
    yield f"vISA: {visa(inst)}"
    yield "Matrix dimensions:"
    yield f"    M: {inst.m} (repeat count)"
    yield f"    N: {inst.n} (execution size)"
    yield f"    K: {inst.k} (systolic depth 8, {inst.k // 8} in a channel)"
    yield "Execution statistics:"
    yield f"    {'Ops' if inst.integer else 'FLOPs'}: {inst.flops}"


def _registers(inst: Instruction) -> Iterator[str]:
    yield f"Registers of {4 * inst.n} bytes ({inst.n} channels of 32 bits):"
    for name in inst.operands:
        operand = inst.operand(name)
        if name in ("SA", "SB"):
            count = operand.shape[1] * operand.shape[2] // inst.block_size
            yield (
                f"    {name} ({SOURCES[name].lower()}): {_ROWS[name]}, {count} bytes in 1 register, one for "
                f"{inst.block_size} k; {operand.format.title}"
            )
            continue
        _, rows, columns = operand.shape
        size = rows * columns * operand.format.bits // 8
        fused = ", half of them in each of two fused EUs" if operand.wave_place else ""
        count = -(-size // (4 * inst.n))
        yield (
            f"    {name} ({SOURCES[name].lower()}): {_ROWS[name]}, {size} bytes in {count} "
            f"register{'s' * (count > 1)}{fused}; {operand.format.title}"
        )


def _mappings(inst: Instruction) -> Iterator[str]:
    same = inst.formats["C"] == inst.formats["D"]
    operands = {name: inst.operand(name) for name in inst.operands if not (same and name in "CD")}
    if same:
        operands["C or D"] = inst.operand("D")
    yield "Layouts (a lane is a channel of 32 bits, an item an element in one):"
    for label, operand in operands.items():
        sizes = ", ".join(f"{digit}={size}" for digit, size in operand.sizes.items())
        yield f"    {label}: {operand.pattern}   {sizes}{ends_text(operand)}"
    yield "Matrix element to register mapping:"
    for label, operand in operands.items():
        found = formulas.forward(operand)
        yield f"    {label}{_COORDINATES[operand.name]} channel: {found['Lane']}"
        yield f"    {label}{_COORDINATES[operand.name]} register: {found['GPR']}"
    yield "Register to matrix element mapping:"
    for label, operand in operands.items():
        for axis, formula in formulas.backward(operand).items():
            if axis != "block":
                words = formula.replace("GPR_num", "register").replace("GPR_bits", "bit").replace("lane", "channel")
                yield f"    {label} {axis}: {words}"


def _work_items(inst: Instruction) -> Iterator[str]:
    for one in intrinsics(inst):
        yield f"OpenCL: {one.prototype}"
    yield f"Work items of a sub-group of {inst.n} in OpenCL:"
    for name in inst.operands:
        found = work_items(inst, name)
        if found is None:
            yield f"    {name}: not in vectors of whole bytes of one sub-group"
            continue
        layout, width = found
        count = layout.spans["item"] * inst.format(name).bits // width
        sizes = ", ".join(f"{digit}={size}" for digit, size in layout.trimmed_sizes.items())
        yield f"    {name}: {vector_type(inst, name, width, count)}, {layout.pattern}   {sizes}"


def _open(inst: Instruction) -> Iterator[str]:
    yield "Not known: cycles, the dependences that stall, and how results are rounded; Intel documents none of them"
    doubts = [name for name in inst.operands if inst.provenance_of(name) in DOUBTFUL]
    single = inst.provenance == "one source"
    if doubts or inst.notes or single:
        yield "Provenance:"
        yield from ["    one source has this instruction, and nothing of it was seen to run"] * single
        yield from (f"    Layout of {name}: {inst.provenance_of(name)}" for name in doubts)
        yield from (f"    Note: {note}" for note in inst.notes)


PAGE = Page(text, own, statement)
