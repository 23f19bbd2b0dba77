"""Steps of one wave: each instruction, and what its registers hold after it."""

from __future__ import annotations

from ...asm.decoded import RegisterOperand
from ...asm.decoder import text
from ...records import TupleRecord
from .operands import scalar_row
from .state import EXEC, SCC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .program import Step
    from .state import Group

__all__ = ["TraceStep", "tracer"]


class TraceStep(TupleRecord):
    """One instruction of the traced wave.

    number: counted from 0. address, text: the instruction. exec: EXEC after it, a bit for each lane. registers: what it
    wrote: (name, 32-bit values), one value for each lane of vector registers, one of scalar registers.
    """

    number: int
    address: int
    text: str
    exec: int
    registers: tuple[tuple[str, tuple[int, ...]], ...]


def tracer(show: Callable[[TraceStep], None]) -> Callable[[Step, Group, int], None]:
    """What `Batch` calls after each instruction of the traced wave; passes a `TraceStep` on."""
    numbers = iter(range(1 << 62))

    def traced(step: Step, group: Group, row: int) -> None:
        instruction = step.instruction
        halves = [instruction, *([instruction.second] if instruction.second is not None else [])]
        registers = [item for half in halves for operand in half.destinations for item in _values(operand, group, row)]
        wave = int(group.numbers()[row])
        words = [int(group.s[EXEC + part, wave]) for part in range(group.lanes // 32)]
        mask = sum(word << 32 * part for part, word in enumerate(words))
        show(TraceStep(next(numbers), instruction.address, text(instruction), mask, tuple(registers)))

    return traced


def _values(operand: RegisterOperand, group: Group, row: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    wave = int(group.numbers()[row])
    for part in range(operand[2]):
        if operand.file in ("v", "a"):
            file = group.v if operand.file == "v" else group.a
            yield f"{operand.file}{operand[1] + part}", tuple(file[operand[1] + part, wave].tolist())
        elif operand.file not in ("null", "off"):
            row_of = SCC if operand.file == "scc" else scalar_row(operand) + part
            name = f"s{operand[1] + part}" if operand.file == "s" else _named(operand, part)
            yield name, (int(group.s[row_of, wave]),)


def _named(operand: RegisterOperand, part: int) -> str:
    if operand.file in ("vcc", "exec"):
        return f"{operand.file}_{('lo', 'hi')[operand[1] + part]}"
    return operand.file
