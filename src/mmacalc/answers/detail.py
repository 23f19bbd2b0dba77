"""All about one instruction (-d): its operands by wave size, formats, modifiers, cost, compiler names, arithmetic."""

from __future__ import annotations

from types import MappingProxyType

from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..arithmetic.numerics import Numerics
    from ..compiler.builtins import Intrinsic
    from ..model import Instruction, Operand

__all__ = ["Detail", "FormatChoice", "detail"]


class FormatChoice(Record):
    """A field that chooses the format of an operand, and the operand under each of its values."""

    field: str
    operand: str
    values: Mapping[int, Operand]


class Detail(Record):
    """All about an instruction, under fields that choose its formats.

    What takes long to find out (arithmetic, compiler names, SASS, the values of modifiers) is found out when it is
    asked for.

    Attributes:
        instruction: which. fields: the fields that choose formats, with their values.
        operands: by wave size, those that are held in registers.
        cycles, valu_cycles: under these fields; None if unpublished, or if it does not run beside VALU instructions.
        operations_per_cycle: of one compute unit (of RDNA: workgroup processor); None where the cycles are.
    """

    instruction: Instruction
    fields: Mapping[str, int]
    operands: Mapping[int, Mapping[str, Operand]]
    cycles: int | None
    valu_cycles: int | None
    operations_per_cycle: int | None

    @property
    def choices(self) -> tuple[FormatChoice, ...]:
        """The fields that can choose formats."""
        inst, found = self.instruction, []
        for field, name in inst.choices.items():
            values = {value: inst.operand(name, **{field: value}) for value in inst.modifier_limits()[field]}
            found.append(FormatChoice(field, name, values))
        return tuple(found)

    @property
    def modifiers(self) -> dict[str, tuple[int, ...]]:
        """The values that each modifier can have, on some wave size and with some value of the others."""
        inst = self.instruction
        found: dict[str, set[int]] = {}
        for wave in self.operands:
            for cbsz in inst.modifier_limits(wave).get("cbsz", (0,)):
                for name, values in inst.modifier_limits(wave, cbsz).items():
                    found.setdefault(name, set()).update(values)
        return {name: tuple(sorted(values)) for name, values in found.items()}

    @property
    def intrinsics(self) -> dict[int, tuple[Intrinsic, ...]]:
        """clang's builtins by wave size."""
        from ..compiler.builtins import intrinsics

        return {wave: intrinsics(self.instruction, wave) for wave in self.operands}

    @property
    def numerics(self) -> Numerics | None:
        """The arithmetic; None for an instruction that only moves a matrix, or of which nothing is documented."""
        from ..arithmetic.numerics import numerics

        inst = self.instruction
        unknown = "move" in inst.features or "arithmetic" in inst.architecture.family.unsupported_topics
        return None if unknown else numerics(inst, **self.fields)

    @property
    def sass(self) -> dict[str, tuple[str, str]]:
        """For each target of a PTX instruction the SASS opcodes and their status; those that are not known left out."""
        from ..catalog.grammar.sass import sass_of

        found = {target: sass_of(self.instruction, target) for target in self.instruction.targets}
        return {target: known for target, known in found.items() if known[0]}


def detail(instruction: Instruction, **fields: Any) -> Detail:
    """All about an instruction.

    Args:
        instruction: which. fields: the values of fields that choose formats, such as cbsz="fp4"; others and those
            that are 0 make no difference.

    Raises:
        Error: a field cannot have that value.

    >>> import mmacalc
    >>> found = detail(mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4"), cbsz="fp4", blgp="fp4")
    >>> found.cycles, found.operands[64]["A"].registers
    (16, 4)
    """
    given = instruction.resolved(fields)
    chosen = {name: given[name] for name in instruction.choices if given.get(name)}
    instruction.check_modifiers(None, chosen)
    cycles = instruction.cycles_for(**chosen)
    operands: dict[int, Mapping[str, Operand]] = {}
    for wave in sorted(instruction.architecture.waves):
        found = {name: instruction.operand(name, wave, **chosen) for name in instruction.register_operands}
        operands[wave] = MappingProxyType(found)
    rate = None if cycles is None else instruction.throughput(**chosen)
    return Detail(instruction, chosen, operands, cycles, instruction.valu_cycles_for(**chosen), rate)
