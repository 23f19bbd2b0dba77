"""One instruction run on the emulator, and its D compared with a kernel's."""

from __future__ import annotations

from ..arithmetic.numerics import numerics
from ..diagnosis.compare import diagnose, product
from ..emulator.arrays import conversion
from ..emulator.execution import execution_of
from ..emulator.registers import files
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..arithmetic.numerics import Numerics
    from ..diagnosis.compare import Diagnosis
    from ..emulator.arrays import Conversion
    from ..emulator.execution import Execution
    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["Run", "run"]


class Run(Record):
    """What an instruction computed.

    Attributes:
        instruction: which. modifiers: as they were given. numerics: how it rounds.
        bits: whether matrices are encodings. d: the result, (..., M, N).
        conversions: of each input that rounding to its format changed, what it did.
        comparison: of a kernel's D with this one, if one was given.
        registers: the register files (registers, lanes) by name, before and after, if they were asked for.
    """

    instruction: Instruction
    modifiers: Mapping[str, int | str]
    numerics: Numerics
    bits: bool
    d: Array
    conversions: tuple[Conversion, ...]
    comparison: Diagnosis | None
    registers: Mapping[str, Array]

    @property
    def differs(self) -> bool:
        """Whether the kernel's D is not this one."""
        found = self.comparison
        return found is not None and bool(found.different or found.explanations)


def run(
    instruction: Instruction,
    inputs: Mapping[str, Array],
    modifiers: Mapping[str, int | str] = {},
    *,
    flags: Mapping[str, Any] = {},
    bits: bool = False,
    given: Array | None = None,
    registers: bool = False,
) -> Run:
    """Run an instruction.

    Args:
        instruction: which. inputs: a, b, c, index, scale_a and scale_b as for `Instruction.multiply`.
        modifiers: its fields. flags: wave, clamp and satfinite as for `multiply`.
        bits: whether matrices are encodings. given: a kernel's D to compare. registers: whether to give register files.

    Raises:
        Error: an operand or a modifier that does not fit; see `multiply`.

    >>> import mmacalc, numpy
    >>> mfma = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    >>> found = run(mfma, {"a": numpy.full((16, 16), 0.1), "b": numpy.eye(16)})
    >>> float(found.d[0, 0]), [(one.operand, one.changed) for one in found.conversions]
    (0.0999755859375, [('A', 256)])
    """
    rest: dict[str, Any] = {**flags, **modifiers}
    if given is not None:
        d = product(instruction, bits=bits, **inputs, **rest)  # also of a whole GEMM
    else:
        d = (instruction.multiply_bits if bits else instruction.multiply)(**{**inputs, **rest})
    comparison = None if given is None else diagnose(instruction, d=given, bits=bits, **inputs, **rest)
    conversions: tuple[Conversion, ...] = ()
    if not bits:
        options = (flags.get("wave"), modifiers, flags.get("clamp", False), flags.get("satfinite", False))
        conversions = _conversions(execution_of(instruction, *options), {**inputs, "given": given})
    shown = _register_files(instruction, inputs, bits, rest) if registers else {}
    return Run(
        instruction, dict(modifiers), numerics(instruction, **modifiers), bits, d, conversions, comparison, shown
    )


def _conversions(execution: Execution, inputs: Mapping[str, Array | None]) -> tuple[Conversion, ...]:
    """What rounding does to the values given, where it changes any."""
    operands = {"a": "A", "b": "B", "c": "C", "given": "D"}
    found = [
        conversion(execution, operand, array)
        for name, operand in operands.items()
        if (array := inputs.get(name)) is not None
    ]
    return tuple(one for one in found if one.changed or one.given.startswith("|V"))


def _register_files(
    instruction: Instruction, inputs: Mapping[str, Array], bits: bool, rest: Mapping[str, Any]
) -> dict[str, Array]:
    before, after = files(instruction, bits=bits, **inputs, **rest)
    shown = {f"{name} before" if name in ("C", "D") else name: file for name, file in before.items()}
    return {**shown, "D after": after}
