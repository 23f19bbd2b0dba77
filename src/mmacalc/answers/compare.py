"""Two instructions side by side, of any architectures."""

from __future__ import annotations

from types import MappingProxyType

from ..checks import arguments_checked
from ..formats import Format
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Instruction, Operand

__all__ = ["ComparedInstruction", "ComparedOperand", "InstructionComparison", "compare"]

_ORDER = ("A", "B", "C", "D", "K", "SA", "SB", "P")


class ComparedOperand(Record):
    """One operand of a compared instruction.

    Attributes:
        format: of its elements. registers: 32-bit registers of each lane.
        operand: its layout; None where it is not held in registers, or where the vendor leaves the layout open.
        elsewhere: where it is then.
    """

    format: Format
    registers: int
    operand: Operand | None = None
    elsewhere: str = ""


class ComparedInstruction(Record):
    """What is compared of one instruction.

    Attributes:
        instruction: which. lanes: how many carry it out together: a wave, a warp, or the 128 of a warpgroup.
        operands: by name, in the order A, B, C, D, K, SA, SB, P.
    """

    instruction: Instruction
    lanes: int
    operands: Mapping[str, ComparedOperand]

    @property
    def operations_per_lane(self) -> int:
        """The operations of the instruction over its lanes."""
        return self.instruction.flops // self.lanes


class InstructionComparison(Record):
    """Two instructions side by side."""

    first: ComparedInstruction
    second: ComparedInstruction

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands that either has."""
        return tuple(name for name in _ORDER if name in self.first.operands or name in self.second.operands)


@arguments_checked
def compare(first: Instruction, second: Instruction) -> InstructionComparison:
    """Set two instructions side by side: shape, work, and each operand's format, registers and layout.

    >>> import mmacalc
    >>> found = mmacalc.compare(
    ...     mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"),
    ...     mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> found.first.operations_per_lane, found.second.operands["A"].operand.pattern
    (128, '(i1 i0) (c t e) -> lane (i0 t), item (c i1 e)')
    """
    return InstructionComparison(_compared(first), _compared(second))


def _compared(inst: Instruction) -> ComparedInstruction:
    lanes = 128 if "wgmma" in inst.features else inst.architecture.waves[0]
    operands = {name: _operand(inst, name) for name in sorted(inst.operands, key=_ORDER.index)}
    return ComparedInstruction(inst, lanes, MappingProxyType(operands))


def _operand(inst: Instruction, name: str) -> ComparedOperand:
    if name in inst.register_operands:
        operand = inst.operand(name)
        return ComparedOperand(operand.format, operand.registers, operand)
    registers = inst.fragment_registers.get(name, 0)
    return ComparedOperand(inst.format(name), registers, elsewhere=inst.elsewhere[name])
