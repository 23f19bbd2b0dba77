"""Two instructions side by side, as text and as JSON."""

from __future__ import annotations

from . import tables
from .spelling import instruction_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..answers.compare import ComparedInstruction, ComparedOperand, InstructionComparison

__all__ = ["json_object", "text"]


def text(comparison: InstructionComparison) -> str:
    """A table of both, and the patterns below it."""
    sides = comparison.first, comparison.second
    rows = [
        ("architecture", *(side.instruction.architecture.title for side in sides)),
        ("shape", *(_shape(side) for side in sides)),
        ("lanes", *(str(side.lanes) for side in sides)),
        ("operations", *(str(side.instruction.flops) for side in sides)),
        ("operations per lane", *(str(side.operations_per_lane) for side in sides)),
        ("cycles", *(str(side.instruction.cycles or "not published") for side in sides)),
    ]
    operands = [(name, [side.operands.get(name) for side in sides]) for name in comparison.operands]
    rows += [(f"{name} format", *("-" if one is None else one.format.name for one in pair)) for name, pair in operands]
    rows += [
        (f"{name} registers", *("-" if one is None else str(one.registers) for one in pair)) for name, pair in operands
    ]
    header = ["", *(instruction_name(side.instruction) for side in sides)]
    return tables.write(header, rows, "grid") + "".join(_patterns(comparison))


def _shape(side: ComparedInstruction) -> str:
    inst = side.instruction
    blocks = f" x {inst.blocks}" if inst.blocks > 1 else ""
    return f"{inst.m}x{inst.n}x{inst.k}{blocks}"


def _patterns(comparison: InstructionComparison) -> Iterator[str]:
    sides = comparison.first, comparison.second
    width = max(len(side.instruction.arch) for side in sides)
    for name in comparison.operands:
        yield f"{name}\n"
        for side in sides:
            if name in side.operands:
                yield f"    {side.instruction.arch:{width}}  {_layout(side.operands[name])}\n"


def _layout(compared: ComparedOperand) -> str:
    operand = compared.operand
    if operand is None:
        return compared.elsewhere
    return f"{operand.pattern}   {', '.join(f'{digit}={size}' for digit, size in operand.sizes.items())}"


def json_object(comparison: InstructionComparison) -> dict[str, Any]:
    """The same as plain data."""
    return {"instructions": [_instruction(side) for side in (comparison.first, comparison.second)]}


def _instruction(side: ComparedInstruction) -> dict[str, Any]:
    inst = side.instruction
    return {
        "architecture": inst.arch,
        "instruction": inst.name,
        "m": inst.m,
        "n": inst.n,
        "k": inst.k,
        "blocks": inst.blocks,
        "lanes": side.lanes,
        "operations": inst.flops,
        "operations_per_lane": side.operations_per_lane,
        "cycles": inst.cycles,
        "sparse": inst.sparse,
        "provenance": inst.provenance,
        "operands": {name: _operand(compared) for name, compared in side.operands.items()},
    }


def _operand(compared: ComparedOperand) -> dict[str, Any]:
    about = {"format": compared.format.name, "bits": compared.format.bits, "registers": compared.registers}
    operand = compared.operand
    if operand is None:
        return {**about, "elsewhere": compared.elsewhere}
    return {
        **about,
        "elements_per_lane": operand.layout.spans["item"],
        "pattern": operand.pattern,
        "sizes": operand.sizes,
    }
