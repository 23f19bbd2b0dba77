"""Registers that the instruction alone does not name.

M0 chooses them in the VGPR indexing mode of gfx9, and for V_MOVREL and S_MOVREL of RDNA3 and newer (CDNA3 ISA guide,
"VGPR indexing" and S_SET_GPR_IDX_ON; RDNA3 ISA guide, V_MOVRELS_B32 and its like). On gfx1250 S_SET_VGPR_MSB gives the
highest two bits of the VGPRs in four places of an instruction, so that there are 1024 (LLVM 22.1.8, whose disassembler
prints the registers meant; compared with it in tests/test_machine_registers.py).
"""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ...asm.tables import flags_of
from .operands import raw_reader
from .state import GPR_INDEX, M0, VGPR_HIGH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .operands import Operand
    from .state import Group
    from .target import MachineTarget

    Run = Callable[[Group], None]

__all__ = ["INDEX_MODE", "indexed", "is_relative", "relative_key"]

_DESTINATION = 8  # of the mode's bits: those of sources 0, 1 and 2 are 1, 2 and 4


def is_relative(name: str) -> bool:
    """Whether an instruction adds M0 to the number of a register by itself."""
    return "by_m0" in flags_of(name) and name not in INDEX_MODE


def relative_key(name: str, m0: Array) -> Array:
    """What decides which registers an instruction names: of V_MOVREL all of M0, else index and mode."""
    return m0 if is_relative(name) else m0 & np.uint32(0xF0FF)


def indexed(instruction: DecodedInstruction, key: int) -> DecodedInstruction:
    """The instruction with the registers that it names under a value of M0 (see `relative_key`)."""
    if is_relative(instruction.name):
        return _moved(instruction, key)
    index, mode = key & 0xFF, key >> 12
    sources = [_shifted(one, index, "v") if place < 3 and mode >> place & 1 else one
               for place, one in enumerate(instruction.sources)]  # fmt: skip
    destinations = instruction.destinations
    if mode & _DESTINATION:
        destinations = tuple([_shifted(one, index, "v") for one in destinations])
    return instruction._replace(sources=tuple(sources), destinations=destinations)


def _moved(instruction: DecodedInstruction, m0: int) -> DecodedInstruction:
    """V_MOVRELD, V_MOVRELS, V_MOVRELSD, V_MOVRELSD_2 and those of scalar registers, as moves."""
    kind = instruction.name.removesuffix("_b32").removesuffix("_b64").partition("movrel")[2]
    # The destinations of those that do not write the register named are among LLVM's sources, and M0 is the last one.
    operands = [*instruction.destinations, *instruction.sources]
    destination, source = operands[0], operands[1]
    by_source, by_destination = (m0 & 0x3FF, m0 >> 16 & 0x3FF) if kind == "sd_2" else (m0, m0)
    if "s" in kind:
        source = _shifted(source, by_source)
    if "d" in kind:
        destination = _shifted(destination, by_destination)
    name = f"{instruction.name[0]}_mov_{instruction.name[-3:]}"
    return instruction._replace(name=name, destinations=(destination,), sources=(source,))  # type: ignore[arg-type]


def _shifted(operand: Operand, by: int, files: str = "vs") -> Any:
    """An operand of one of some files, `by` registers on; the mode of gfx9 is of VGPRs alone."""
    if isinstance(operand, RegisterOperand) and operand.file in files:
        return operand._replace(index=operand[1] + by)
    return operand


def _set_high_bits(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """The upper byte of the constant is what the bits were before, for a trap handler."""
    high = int(instruction.modifiers["simm16"]) & 0xFF
    return lambda group: group.set_mode(group.mode.bits & ~(0xFF << VGPR_HIGH) | high << VGPR_HIGH)


# --- the instructions of the mode ---


def _on(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """Index and mode into M0."""
    read = raw_reader(instruction.sources[0])
    mode = int(instruction.modifiers["ssrc1"])

    def run(group: Group) -> None:
        kept = group.s[M0, group.rows] & np.uint32(0xFFFF0F00)
        group.write_scalar(M0, kept | read(group)[:, 0] & np.uint32(0xFF) | np.uint32(mode << 12))
        group.set_mode(group.mode.bits | GPR_INDEX)

    return run


def _off(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    return lambda group: group.set_mode(group.mode.bits & ~GPR_INDEX)


def _index(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    read = raw_reader(instruction.sources[0])

    def run(group: Group) -> None:
        kept = group.s[M0, group.rows] & np.uint32(0xFFFFFF00)
        group.write_scalar(M0, kept | read(group)[:, 0] & np.uint32(0xFF))

    return run


def _mode(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    mode = int(instruction.modifiers["simm16"]) & 15

    def run(group: Group) -> None:
        kept = group.s[M0, group.rows] & np.uint32(0xFFFF0FFF)
        group.write_scalar(M0, kept | np.uint32(mode << 12))

    return run


INDEX_MODE: dict[str, Callable[[DecodedInstruction, MachineTarget], Run]] = {
    "s_set_gpr_idx_on": _on,
    "s_set_gpr_idx_off": _off,
    "s_set_gpr_idx_idx": _index,
    "s_set_gpr_idx_mode": _mode,
    "s_set_vgpr_msb": _set_high_bits,
}
