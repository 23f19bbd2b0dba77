"""Matrix instructions of compiled kernels, carried out by `Instruction.executor`."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import ConstantOperand
from ...emulator.computing import is_stood_in
from .modifiers import modifiers_of
from .products import WaveProduct
from .state import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ...model import Instruction
    from .operands import Operand
    from .target import MachineTarget

__all__ = ["Multiplication", "fields_of"]

# Modifiers of the encodings that are no fields of the product: the default of OP_SEL_HI, hints.
# REUSE is a hint; MFMA ignores CBSZ, ABID and BLGP where its description has none of them (CDNA3 ISA guide, section 7).
WITHOUT_EFFECT = ("op_sel_hi", "matrix_a_reuse", "matrix_b_reuse", "cbsz", "abid", "blgp")
SPELLINGS = {"op_sel": "opsel", "index_key": "opsel", "neg_lo": "neg"}


def fields_of(instruction: DecodedInstruction, inst: Instruction, wave: int) -> dict[str, int]:
    """The modifiers of a decoded matrix instruction, as `Instruction.execute` names them."""
    modifiers = modifiers_of(instruction)
    given = {SPELLINGS.get(name, name): int(value) for name, value in modifiers.items() if value}
    if "neg" in instruction.modifiers and "blgp" in inst.features:  # LLVM's name for BLGP of FP64
        given["blgp"] = given.pop("neg")
    allowed = inst.modifier_limits(wave, given.get("cbsz", 0))
    # LLVM encodes more bits of these than have an effect; of OP_SEL those of A and B have none, by AMD's captures on
    # gfx1100 (packed_operand_cases.h).
    bits = () if inst.sparse else ("neg", "neg_hi", "opsel")
    for name in modifiers:  # those without an effect are named; any other that is not allowed is refused
        if SPELLINGS.get(name, name) in (*allowed, *WITHOUT_EFFECT) or ("blgp" in allowed and name == "neg"):
            modifiers.get(name)
    return {
        name: value & max(allowed[name]) if name in bits else value for name, value in given.items() if name in allowed
    }


class Multiplication:
    """A matrix instruction: A, B and C from registers, D into them. key: of the counts of such instructions. whole:
    whether it wants all lanes active.

    MFMA and SMFMAC do not look at EXEC; WMMA asks for all lanes (`checks.Products` reports it where they are not).
    """

    key: Any
    product: WaveProduct | None
    whole: bool

    def __init__(self, instruction: DecodedInstruction, inst: Instruction, target: MachineTarget) -> None:
        fields = fields_of(instruction, inst, target.wave)
        clamp = inst.format("A").kind == "either" and bool(instruction.modifiers.get("clamp"))
        sources = list(instruction.sources)
        self._instruction, self._destination = instruction, instruction.destinations[0]
        a, b, third = sources[:3]
        keywords: dict[str, Any] = {}
        c: Any = third
        if inst.sparse:
            keywords["index"], c = third, self._destination
        if inst.scaled:
            keywords["scale_a"], keywords["scale_b"] = sources[3:5]
        held = "C" if "C" in inst.operands else "D"
        counts = {"a": "A", "b": "B", "c": held, "index": "K", "scale_a": "SA", "scale_b": "SB"}
        operands = {"a": a, "b": b, "c": c, **keywords}
        self._reads = {
            name: _registers(operand, inst.operand(counts[name], target.wave).registers)
            for name, operand in operands.items()
        }
        own = c is self._destination
        self._reads["d"] = self._reads["c"] if own else _registers(self._destination, self._destination[2])
        self.key = (inst, tuple(sorted(fields.items())))
        self.whole = "mfma" not in instruction.name and "smfmac" not in instruction.name
        options: dict[str, Any] = {"clamp": clamp, "wave": target.wave, **fields}
        self._prepared = inst.executor(**options)
        self.product = None
        if not (inst.sparse or inst.scaled or clamp):
            named = {"A": a, "B": b, "C": c, "D": self._destination}
            self.product = WaveProduct.of(self._prepared.execution, named)

    def run(self, group: Group) -> None:
        """Execute it, and count it."""
        self.compute(group)
        group.batch.products.issued(group, self._instruction, self.key)

    def compute(self, group: Group) -> None:
        """Compute D of a group of waves."""
        if self.product is None or is_stood_in():
            self._defined(group)
        elif (left := self.product.carry_out(group)) is not None:
            self.finish(group, left)

    def finish(self, group: Group, left: Array) -> None:
        """Compute D of those waves of a group that the core has left."""
        self._defined(Group(group.registers, group.batch, group.numbers()[left]))

    def _defined(self, group: Group) -> None:
        """As `Instruction.executor` has it."""
        files = {name: read(group) for name, read in self._reads.items()}
        first, second, third = (files.pop(name) for name in "abc")
        d = self._prepared(first, second, third, **files)
        destination, file = self._destination, group.registers.file(self._destination)
        for number in range(destination[2]):
            file[destination[1] + number, group.rows] = d[..., number, :]


def _registers(operand: Operand, count: int) -> Callable[[Group], Array]:
    """The register file of an operand: (waves, registers, lanes)."""
    if isinstance(operand, ConstantOperand):
        words = [operand.bits >> (32 * (n % (operand.width // 32 or 1))) & 0xFFFFFFFF for n in range(count)]
        column = np.array(words, np.uint32)[:, None]
        return lambda group: np.broadcast_to(column, (group.count, count, group.lanes))
    first, count = operand[1], min(count, operand[2])
    if operand.file not in ("v", "a"):
        from .operands import scalar_row

        row = scalar_row(operand)
        return lambda group: np.broadcast_to(
            group.s[row : row + count, group.rows].T[:, :, None], (group.count, count, group.lanes)
        )

    def read(group: Group) -> Array:
        file = group.registers.file(operand)
        found: Array = np.ascontiguousarray(file[first : first + count, group.rows].swapaxes(0, 1))
        return found

    return read
