"""The VGPRs above 255 that the instructions of a kernel mean, as far as all paths to each agree (gfx1250).

S_SET_VGPR_MSB chooses the highest two bits of the registers of the instructions behind it, and so does
S_SETREG_IMM32_B32 of MODE, of any bits (LLVM 22, FeatureSetregVGPRMSBFixup). A kernel, and a function,
starts with all of them 0 (AMDGPULowerVGPREncoding.cpp).
"""

from __future__ import annotations

import re

from ..base.errors import Error
from .blocks import decoded_blocks
from .decoded import RegisterOperand
from .immediates import hardware_field
from .rows import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from .blocks import Block
    from .decoded import ConstantOperand, DecodedInstruction

    Operand = RegisterOperand | ConstantOperand

__all__ = [
    "MODES",
    "MODE_HIGH",
    "chooses_registers",
    "commented",
    "high_bits_of",
    "with_high_bits",
    "with_registers_meant",
]

MODES = ("HW_REG_MODE", "HW_REG_WAVE_MODE")
MODE_HIGH = 12
"""The first of the eight bits of gfx1250's MODE that hold them, in another order (see `mode_register`)."""
_VECTORS = re.compile(r"\bv(?:\d+|\[\d+:\d+\])")


def chooses_registers(instructions: Sequence[DecodedInstruction]) -> bool:
    """Whether a kernel chooses VGPRs above 255."""
    return any(one.name == "s_set_vgpr_msb" for one in instructions)


def commented(text: str, meant: str) -> str:
    """The text of an instruction with the registers meant, where they are others, in comments, as LLVM prints it.

    >>> commented("v_mov_b32_e32 v1, v[2:3]", "v_mov_b32_e32 v257, v[2:3]")
    'v_mov_b32_e32 v1 /*v257*/, v[2:3]'
    """
    others = iter(_VECTORS.findall(meant))

    def shown(found: re.Match[str]) -> str:
        other = next(others)
        return found[0] if other == found[0] else f"{found[0]} /*{other}*/"

    return _VECTORS.sub(shown, text)


def with_registers_meant(
    instructions: Sequence[DecodedInstruction], entries: Collection[int] = ()
) -> list[DecodedInstruction]:
    """The instructions of a kernel, or of several, with the registers that they mean.

    Args:
        entries: addresses at which kernels and functions may begin, besides the first.

    Raises:
        Error: those of an instruction depend on the path to it, or no path to it is known.
    """
    blocks = decoded_blocks(instructions)
    found = []
    for block, values in zip(blocks, _at_starts(instructions, blocks, entries)):
        for one in instructions[block.start : block.end]:
            meant, *others = [with_high_bits(one, value) for value in sorted(values or (0, 0xFF))]
            if any(other != meant for other in others):
                why = "differ by the path to it" if values else "are not known: no path to it is"
                raise Error(f"the vector registers above v255 that {one.name} at {one.address:#x} means {why}")
            found.append(meant)
            values = _behind(one, values)
    return found


def _at_starts(
    instructions: Sequence[DecodedInstruction], blocks: Sequence[Block], entries: Collection[int]
) -> list[frozenset[int]]:
    """The bits that there may be where each block starts."""
    starts: list[frozenset[int]] = [frozenset() for _ in blocks]
    for number, block in enumerate(blocks):
        # A name that a path leads to is a label within a kernel.
        if number == 0 or (not starts[number] and instructions[block.start].address in entries):
            starts[number] = frozenset([0])
            _follow(instructions, blocks, starts, number)
    return starts


def _follow(
    instructions: Sequence[DecodedInstruction], blocks: Sequence[Block], starts: list[frozenset[int]], first: int
) -> None:
    """Carry the bits of a block to those that can follow."""
    waiting = [first]
    while waiting:
        number = waiting.pop()
        values = starts[number]
        for one in instructions[blocks[number].start : blocks[number].end]:
            values = _behind(one, values)
        for following in blocks[number].following:
            if not values <= starts[following]:
                starts[following] |= values
                waiting.append(following)


def _behind(instruction: DecodedInstruction, values: frozenset[int]) -> frozenset[int]:
    """The bits behind an instruction, by those before it."""
    if instruction.name == "s_set_vgpr_msb":
        return frozenset([int(instruction.modifiers["simm16"]) & 0xFF])
    if instruction.name == "s_setreg_imm32_b32" and hardware_field(instruction)[0] in MODES:
        return frozenset([high_bits_of(int(getattr(instruction.sources[-1], "bits", 0)))])
    return values


def high_bits_of(register: Any) -> Any:
    """The bits of S_SET_VGPR_MSB that a value of gfx1250's MODE register means; of a number or an array of them.

    >>> hex(high_bits_of(0x20F0)), hex(high_bits_of(0x50F0))
    ('0x80', '0x41')
    """
    raised = register >> MODE_HIGH & 0xFF
    return raised >> 2 | raised << 6 & 0xFF


# The place of two bits that each field takes: source 0, 1 and 2, and the destination.
_PLACES = {
    "SRC0": 0, "ADDR": 0, "VADDR": 0, "SRC1": 1, "VSRC1": 1, "DATA": 1, "DATA0": 1, "SRC2": 2, "VSRC2": 2, "DATA1": 2,
    "VDST": 3, "VDATA": 3,
}  # fmt: skip


def with_high_bits(instruction: DecodedInstruction, bits: int) -> DecodedInstruction:
    """The instruction with the registers that it names after S_SET_VGPR_MSB with some bits."""
    second = instruction.second
    sources, destinations = _places(instruction)
    return instruction._replace(
        sources=tuple([_raised(one, place, bits) for one, place in zip(instruction.sources, sources)]),
        destinations=tuple([_raised(one, place, bits) for one, place in zip(instruction.destinations, destinations)]),
        second=None if second is None else with_high_bits(second, bits),
    )


def _places(instruction: DecodedInstruction) -> tuple[list[int | None], list[int | None]]:
    """The place of each source and destination; None of those that take no bits."""
    assert isinstance(instruction.form, Row)
    # The register that FMAMK adds is its third source, though it is in the field of the second one.
    places = {**_PLACES, "VSRC1": 2} if instruction.form.literal_second else _PLACES
    found: dict[bool, list[int | None]] = {True: [], False: []}
    for slot in instruction.form.slots:
        if not slot.style or slot.field is None:
            found[slot.destination].append(None if slot.field is None else places.get(slot.field.name))
    found[False] += [places.get(name) for name in instruction.form.reads]
    found[True] += [None] * len(instruction.form.writes)
    return found[False], found[True]


def _raised(operand: Operand, place: int | None, bits: int) -> Any:
    if place is None or not isinstance(operand, RegisterOperand) or operand.file != "v":
        return operand
    return operand._replace(index=operand[1] + 256 * (bits >> 2 * place & 3))
