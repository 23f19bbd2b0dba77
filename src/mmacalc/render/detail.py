"""All about one instruction (-d), as the vendor's page and as JSON."""

from __future__ import annotations

from ..later import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    from ..answers.detail import Detail, FormatChoice
    from ..model import Instruction, Operand

__all__ = ["detail_module", "json_object", "text"]


def text(detail: Detail) -> str:
    """The page of an instruction, as its vendor's users write."""
    page: str = detail_module(detail.instruction).text(detail)
    return page


def detail_module(instruction: Instruction) -> ModuleType:
    """The module that writes the page of an instruction."""
    module: ModuleType = imported(f"mmacalc.render.{instruction.architecture.family.spelling}_detail")
    return module


def json_object(detail: Detail) -> dict[str, Any]:
    """The same as plain data, the formulas by wave size, operand and direction."""
    from .instruction_numerics import numerics_object
    from .json import instruction_object

    instruction, architecture = detail.instruction, detail.instruction.architecture
    return {
        **instruction_object(instruction),
        "cycles": detail.cycles,
        "chosen": dict(detail.fields),
        "format_choices": [_choice(choice) for choice in detail.choices],
        "cycles_provenance": instruction.provenance_of("cycles"),
        "valu_cycles_provenance": instruction.provenance_of("valu_cycles"),
        "notes": list(instruction.notes),
        "encoding": architecture.encoding or None,
        "valu_cycles": detail.valu_cycles,
        "register_alignment_bytes": architecture.register_alignment if architecture.encoding else None,
        "accumulator_registers": architecture.accumulators,
        "operations_per_unit_and_cycle": detail.operations_per_cycle,
        "unit": architecture.unit,
        "prefix_opcode": instruction.prefix_opcode,
        "modifiers": {name: list(values) for name, values in detail.modifiers.items()},
        "numerics": None if detail.numerics is None else numerics_object(detail.numerics),
        "waves": {str(wave): _operands(operands) for wave, operands in detail.operands.items()},
        **detail_module(instruction).own_object(detail),
    }


def _choice(choice: FormatChoice) -> dict[str, Any]:
    values = [
        {
            "value": value,
            "format": operand.format.name,
            "format_title": operand.format.title,
            "bits": operand.format.bits,
            "registers": operand.registers,
            "pattern": operand.pattern,
        }
        for value, operand in choice.values.items()
    ]
    return {"field": choice.field, "operand": choice.operand, "values": values}


def _operands(operands: Mapping[str, Operand]) -> dict[str, Any]:
    return {name: _operand(operand) for name, operand in operands.items()}


def _operand(operand: Operand) -> dict[str, Any]:
    from . import formulas
    from .spelling import vendor_text

    return {
        "field": vendor_text(operand).SOURCE_FIELDS.get(operand.name),
        "format": operand.format.name,
        "format_title": operand.format.title,
        "registers": operand.registers,
        "provenance": operand.provenance,
        "pattern": operand.pattern,
        "sizes": operand.sizes,
        "einops": operand.einops,
        "element_to_register": formulas.forward(operand),
        "register_to_element": formulas.backward(operand),
    }
