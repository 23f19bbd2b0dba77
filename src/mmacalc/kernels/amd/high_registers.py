"""The VGPRs above 255 that the instructions of a kernel mean, as far as all paths to each agree (gfx1250).

S_SET_VGPR_MSB chooses the highest two bits of the registers of the instructions behind it, and so does
S_SETREG_IMM32_B32 of MODE (see `control`). A kernel starts with all of them 0 (LLVM 22, AMDGPULowerVGPREncoding.cpp).
"""

from __future__ import annotations

from ...base.errors import Error
from ...hazards.pending import decoded_blocks
from .control import MODES, hardware_field
from .indexing import with_high_bits
from .state import high_bits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...asm.decoded import DecodedInstruction
    from ...hazards.pending import Block

__all__ = ["chooses_registers", "with_registers_meant"]


def chooses_registers(instructions: Sequence[DecodedInstruction]) -> bool:
    """Whether a kernel chooses VGPRs above 255."""
    return any(one.name == "s_set_vgpr_msb" for one in instructions)


def with_registers_meant(instructions: Sequence[DecodedInstruction]) -> list[DecodedInstruction]:
    """The instructions of a kernel, with the registers that they mean.

    Raises:
        Error: those of an instruction depend on the path to it, or no path to it is known.
    """
    blocks = decoded_blocks(instructions)
    found = []
    for block, values in zip(blocks, _at_starts(instructions, blocks)):
        for one in instructions[block.start : block.end]:
            meant, *others = [with_high_bits(one, value) for value in sorted(values or (0, 0xFF))]
            if any(other != meant for other in others):
                why = "differ by the path to it" if values else "are not known: no path to it is"
                raise Error(f"the vector registers above v255 that {one.name} at {one.address:#x} means {why}")
            found.append(meant)
            values = _behind(one, values)
    return found


def _at_starts(instructions: Sequence[DecodedInstruction], blocks: Sequence[Block]) -> list[frozenset[int]]:
    """The bits that there may be where each block starts."""
    starts: list[frozenset[int]] = [frozenset() for _ in blocks]
    starts[0] = frozenset([0])
    waiting = [0]
    while waiting:
        number = waiting.pop()
        values = starts[number]
        for one in instructions[blocks[number].start : blocks[number].end]:
            values = _behind(one, values)
        for following in blocks[number].following:
            if not values <= starts[following]:
                starts[following] |= values
                waiting.append(following)
    return starts


def _behind(instruction: DecodedInstruction, values: frozenset[int]) -> frozenset[int]:
    """The bits behind an instruction, by those before it."""
    if instruction.name == "s_set_vgpr_msb":
        return frozenset([int(instruction.modifiers["simm16"]) & 0xFF])
    if instruction.name == "s_setreg_imm32_b32" and hardware_field(instruction)[0] in MODES:
        return frozenset([high_bits_of(int(getattr(instruction.sources[-1], "bits", 0)))])
    return values
