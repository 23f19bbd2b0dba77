"""Matrix instructions among all others: the forms of `mmacalc.asm.forms` as decoded instructions."""

from __future__ import annotations

from functools import lru_cache

from .decoded import ConstantOperand, DecodedInstruction, RegisterOperand
from .disassembler import FormDecoder, decoders
from .operand_codes import constant_patterns
from .tables import table
from .targets import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .operand_codes import Operand
    from .operands import OperandSlot
    from .tables import Table

__all__ = ["MatrixDecoder", "matrix_decoders"]


class MatrixDecoder:
    """The matrix instructions of a target, in the encodings of every LLVM version."""

    __slots__ = ("_decoders", "_table")

    def __init__(self, name: str, wave: int) -> None:
        self._decoders = [decoders(target(name, wave, version)) for version in (24, 22)]
        self._table: Table = table(name, wave)

    def read(self, bits: int, address: int) -> DecodedInstruction | None:
        """The matrix instruction that 16 bytes begin with; None if there is none."""
        for by_key in self._decoders:
            for decoder in by_key.get(bits >> 16 & 0xFFFF, ()):
                if bits & decoder.mask != decoder.value:
                    continue
                words = [bits >> 32 * number & 0xFFFFFFFF for number in range(4)]
                size, text = decoder.read(words, 0, 4)
                if size and text is not None:
                    return self._instruction(decoder, bits, address, text)
        return None

    def _instruction(self, decoder: FormDecoder, bits: int, address: int, text: str) -> DecodedInstruction:
        form = decoder.form
        fields = form.encoding.decode(bits & (1 << 32 * decoder.words) - 1)
        of_c = form.instruction.formats.get("C", "") if form.instruction is not None else ""
        operands = [(slot, self._operand(slot, fields, of_c if slot.name == "C" else "")) for slot in form.slots]
        modifiers: dict[str, int | str] = {
            modifier.name: fields[modifier.field] for modifier in form.modifiers
            if fields[modifier.field] or modifier.name == "op_sel_hi"
        }  # fmt: skip
        destinations = tuple(
            operand for slot, operand in operands if slot.destination and isinstance(operand, RegisterOperand)
        )
        sources = [operand for slot, operand in operands if not slot.destination]
        if form.slot("K") is not None:  # the accumulator of a sparse product is its destination
            sources += destinations
        encoding = "vop1" if decoder.words == 1 else "vop3p"
        return DecodedInstruction(
            address, 4 * decoder.words, form.name, form.name, encoding, destinations, tuple(sources), modifiers, None,
            text,
        )  # fmt: skip

    def _operand(self, slot: OperandSlot, fields: Mapping[str, int], of_c: str) -> Operand:
        code, count = fields[slot.field], slot.count(fields)
        banked = bool(slot.bank and fields[slot.bank[0]] >> slot.bank[1] & 1)
        if slot.destination or code >= 256:
            file = slot.files[-1] if banked or len(slot.files) == 1 else slot.files[0]
            return RegisterOperand(file, code & 255, count, 0, 32 * count)
        # The hardware reads a constant in C's format (LLVM's types follow the number of registers), one of 16 bits in
        # both halves: AMD's captures on gfx1100 and gfx1201 (ROCm/rocm-systems, packed_operand_cases.h).
        width, patterns = constant_patterns(of_c if of_c in ("f16", "bf16", "f64") else "f32")
        if code in patterns:
            return ConstantOperand(patterns[code] * (0x10001 if width == 16 else 1), False, max(width, 32))
        scalars = self._table.scalars  # what LLVM takes as a C of more registers may be one of them
        register = scalars.register(code, min(count, 2)) or scalars.register(code, 1)
        assert register is not None, f"{slot.name} has code {code}"
        return register


@lru_cache(maxsize=256)
def matrix_decoders(name: str, wave: int) -> MatrixDecoder:
    """The matrix instructions of a target."""
    return MatrixDecoder(name, wave)
