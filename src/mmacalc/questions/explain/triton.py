"""A dump of Triton's GPU IR as text: its dots with their instructions, and what moves between layouts."""

from __future__ import annotations

from ...base.records import Record, json_keys
from ...foreign.dumps import Dump, DumpStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...foreign import ForeignLayout

__all__ = ["DumpAnswer", "dump_text"]


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
        return tuple(map(_named, self.step.layouts))

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


def _named(layout: ForeignLayout) -> str:
    return f"{'x'.join(map(str, layout.shape))} {layout.element} {layout.kind}"


def dump_text(answer: DumpAnswer) -> str:
    """A paragraph for each step, and the sum of the conversions."""
    lines = [line for step in answer.steps for line in _lines(step)]
    through = [step for step in answer.steps if step.shared_bytes]
    moved = sum([step.shared_bytes for step in through])
    plural = "s" * (len(through) != 1)
    lines.append(f"{len(through)} conversion{plural} through shared memory, {moved} bytes")
    return "\n".join(lines) + "\n"


def _lines(line: DumpLine) -> Iterator[str]:
    step = line.step
    yield f"{step.line}: {step.operation}{f'  ({step.source})' if step.source else ''}"
    if line.layouts:
        yield f"    {' -> '.join(line.layouts)}"
    if step.unread:
        yield f"    {step.unread} of its layouts cannot be read here"
    if step.multiplies:
        if step.instruction is None:
            yield "    no single instruction of the catalog fits these layouts and types"
        else:
            turned = ", which computes the transpose" if step.layouts[-1].transposed else ""
            yield f"    {step.count} x {line.instruction} in each warp ({step.instruction.arch}){turned}"
    if found := step.conversion:
        cost = f"{found.shared_bytes} bytes, accesses of {found.vector} elements" if found.shared_bytes else ""
        yield f"    {found.kind}{': ' if cost else ''}{cost}"
