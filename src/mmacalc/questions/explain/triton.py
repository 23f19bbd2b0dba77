"""A dump of Triton's IR as text: its dots with their instructions, and what moves between layouts."""

from __future__ import annotations

from ...base.records import Record, json_keys
from ...foreign.dumps import Dump, DumpStep, PlainTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...foreign import ForeignLayout
    from ...model import Instruction

__all__ = ["DumpAnswer", "dump_text", "executed", "factors"]


@json_keys(
    "line=step.line", "operation=step.operation", "source=step.source: file and line of the program", "layouts",
    "instruction: that a dot becomes; null where the catalog has none, or several", "count=step.count: of each warp",
    "conversion: identical, registers, lanes or shared memory; null where it is none",
    "shared_bytes: of shared memory that a conversion goes through",
    "unread=step.unread: how many of its layouts are of kinds that are not read",
)  # fmt: skip
class DumpLine(Record):
    """One step of a dump."""

    step: DumpStep

    @property
    def layouts(self) -> tuple[str, ...]:
        """Shape, element type and kind of each."""
        return tuple(map(_named, self.step.tensors))

    @property
    def instruction(self) -> str | None:
        """The name."""
        return self.step.instruction.name if self.step.instruction else None

    @property
    def conversion(self) -> str | None:
        """What moves."""
        return self.step.conversion.kind if self.step.conversion else None

    @property
    def shared_bytes(self) -> int:
        """Of a conversion."""
        return self.step.conversion.shared_bytes if self.step.conversion else 0


@json_keys("steps", "names=dump.names: of the layouts that the dump defines")
class DumpAnswer(Record):
    """A dump as a whole."""

    dump: Dump

    @property
    def steps(self) -> tuple[DumpLine, ...]:
        """Dots and movements, in their order."""
        return tuple(map(DumpLine, self.dump.steps))


def _named(tensor: ForeignLayout | PlainTensor) -> str:
    if isinstance(tensor, PlainTensor):
        return str(tensor)
    return f"{'x'.join(map(str, tensor.shape))} {tensor.element} {tensor.kind}"


def factors(step: DumpStep) -> str:
    """The tensors of a dot of a .ttir.

    >>> from mmacalc.foreign.dumps import read_dump
    >>> factors(read_dump("tt.dot %a, %b, %c : tensor<8x4xf16> * tensor<4x8xf16> -> tensor<8x8xf32>").steps[0])
    '8x4 f16 x 4x8 f16 -> 8x8 f32'
    """
    *own, result = map(str, step.tensors)
    return f"{' x '.join(own)} -> {result}"


def dump_text(answer: DumpAnswer) -> str:
    """A paragraph for each step, and the sum of the conversions."""
    lines = [line for step in answer.steps for line in _lines(step)]
    if answer.dump.early:
        lines.append("A .ttir has no layouts yet: the .ttgir says which instructions its dots become")
        return "\n".join(lines) + "\n"
    through = [step for step in answer.steps if step.shared_bytes]
    moved = sum([step.shared_bytes for step in through])
    plural = "s" * (len(through) != 1)
    lines.append(f"{len(through)} conversion{plural} through shared memory, {moved} bytes")
    return "\n".join(lines) + "\n"


def executed(instruction: Instruction, count: int) -> str:
    """How many of an instruction there are, and who executes them; count: 0 where that is not known."""
    who = ", issued by one thread" if instruction.in_tensor_memory else " in each warp"
    return f"{f'{count} x ' if count else ''}{instruction.name}{who}"


def _lines(line: DumpLine) -> Iterator[str]:
    step = line.step
    yield f"{step.line}: {step.operation}{f'  ({step.source})' if step.source else ''}"
    if line.layouts:
        yield f"    {(', ' if step.multiplies else ' -> ').join(line.layouts) if step.layouts else factors(step)}"
    if step.unread:
        yield f"    {step.unread} of its layouts cannot be read here"
    if step.multiplies and step.layouts:
        if step.instruction is None:
            yield "    no single instruction of the catalog fits these layouts and types"
        else:
            turned = ", which computes the transpose" if step.layouts[-1].transposed else ""
            yield f"    {executed(step.instruction, step.count)} ({step.instruction.arch}){turned}"
    if found := step.conversion:
        cost = f"{found.shared_bytes} bytes, accesses of {found.vector} elements" if found.shared_bytes else ""
        yield f"    {found.kind}{': ' if cost else ''}{cost}"
