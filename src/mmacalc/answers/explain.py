"""What the matrix instructions of a text do: AMD's assembly, PTX (also in C++), SASS, iga64's; a line or a listing."""

from __future__ import annotations

from functools import lru_cache

from ..checks import arguments_checked
from ..errors import Error
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from typing import TypeVar

    from ..hazards.lint import LintReport
    from ..layout import Layout
    from ..model import Element, Instruction, Operand

    _Statement = TypeVar("_Statement")

__all__ = ["ExplainedLine", "ExplainedOperand", "Explanation", "explain", "explained_once"]


CONDITION = "whether C is added"
"""The role of an operand that says it."""


class ExplainedOperand(Record):
    """One operand of a line.

    Attributes:
        role: "D", "A", "B", "C", "K" (sparse index or metadata), "SA", "SB", or words for what is not a matrix.
        text: as the line has it. registers: the names of its registers, in order; empty where it has none.
        operand: its layout; None where it is not a matrix in registers, or where they lie elsewhere in each lane.
        first: which register of `operand` the first of `registers` is.
        remarks: what modifiers do to it: "negated", "absolute value", "low halves negated", "high halves negated",
            "signed", "unsigned", "transposed" (in shared memory, then M- or N-major), or a sentence.
        layout: of a tcgen05.ld or st, from the lane and column of Tensor Memory to the thread and register; cells: of
            each register of thread 0 the (lane, column) that it moves, counted from the address.
    """

    role: str
    text: str
    registers: tuple[str, ...] = ()
    operand: Operand | None = None
    first: int = 0
    remarks: tuple[str, ...] = ()
    layout: Layout | None = None
    cells: tuple[tuple[tuple[int, ...], ...], ...] = ()

    @property
    def lane(self) -> int | None:
        """The first lane of which elements are read; None where no lane has any."""
        return None if self.operand is None else _first_lane(self.operand)

    @property
    def held(self) -> tuple[tuple[Element, ...], ...]:
        """What that lane holds in each of `registers`."""
        if self.operand is None or (lane := self.lane) is None:
            return ((),) * len(self.registers)
        # PTX has one name for the two registers of a 64-bit element.
        step = 2 if 2 * len(self.registers) == self.operand.registers and self.operand.format.bits == 64 else 1
        return tuple([self.operand.contents(self.first + at * step, lane) for at in range(len(self.registers))])


@lru_cache(1024)
def _first_lane(operand: Operand) -> int | None:
    return next((lane for lane in range(operand.lanes) if operand.contents(0, lane)), None)


class ExplainedLine(Record):
    """One matrix instruction of a text.

    Attributes:
        number: of the line, from 1. text: the instruction as it was written.
        language: "AMD assembly", "builtin", "PTX", "SASS" or "iga64".
        instruction: what it is; None where that is not known. operands: in the order of the line.
        fields: the modifiers that concern layouts, formats and signs; flags: clamp and hints; unused: what the encoding
            has and the instruction is not known to read.
        cycles: how long it occupies its matrix unit; None where that is not published. others: PTX names that become
            the same SASS opcode.
        purpose: what an instruction that multiplies nothing is for, where its layouts do not say it.
        part: of an opcode that is one of several of a product, which: "STEP1"; its cycles are those of all.
        problem: what is wrong with the line, or why it is not known; "" if nothing is.
        cycles_elsewhere: of the architectures of `Explanation.also` those where the cycles are others, with these.
        laid_out_elsewhere: those where an operand has another layout.
    """

    number: int
    text: str
    language: str
    instruction: Instruction | None = None
    operands: tuple[ExplainedOperand, ...] = ()
    fields: Mapping[str, int] = {}
    cycles: int | None = None
    others: tuple[str, ...] = ()
    problem: str = ""
    part: str = ""
    flags: Mapping[str, int] = {}
    unused: Mapping[str, int] = {}
    purpose: str = ""
    cycles_elsewhere: Mapping[str, int | None] = {}
    laid_out_elsewhere: tuple[str, ...] = ()


class Explanation(Record):
    """The matrix instructions of a text.

    Attributes:
        architecture: the canonical name of that for which it is explained. also: other architectures that have all of
            the instructions, where the text names none and none was given; it is the newest of them.
        lines: the matrix instructions. hazards: of AMD's assembly, what `lint` finds; None for others, and where
            `lint` refuses the text.
        product: that for which the cycles hold, where those of the architecture's products differ; else "".
    """

    architecture: str
    also: tuple[str, ...]
    lines: tuple[ExplainedLine, ...]
    hazards: LintReport | None = None
    product: str = ""


@arguments_checked
def explain(text: str, arch: str | None = None) -> Explanation:
    """Every matrix instruction of a text: what it computes, its operands, its cycles, its hazards.

    Args:
        text: AMD's assembly, PTX, SASS, iga64's assembly, C++ with inline assembly or builtins, or LLVM IR, as
            compilers and disassemblers write it.
        arch: the architecture; where it is left out, that which the text names, else the newest that has all of its
            instructions; what differs on the others is said as well.

    Raises:
        Error: the text has no matrix instruction, no architecture has all of them, or the text names another one than
            `arch`.

    >>> found = explain("v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:0", "gfx942").lines[0]
    >>> found.instruction.k, found.cycles, found.operands[1].role, found.operands[1].held[0][1]
    (8, 32, 'A', Element(row=0, col=1, block=0, lsb=16, width=16))
    >>> explain("HMMA.16816.F32.BF16 R4, R8, R12, R4").lines[0].instruction.name
    'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32'
    """
    from . import explain_amd, explain_intel, explain_nvidia

    for reader in (explain_amd.explained, explain_nvidia.explained, explain_intel.explained):
        if (found := reader(text, arch)) is not None:
            return found
    if not text.strip():
        raise Error("the text is empty; give a line or a listing of assembly")
    first = next((line.strip() for line in text.split("\n") if line.strip()), "")
    raise Error(
        f"there is no matrix instruction of AMD's assembly, PTX, SASS or iga64's assembly in '{first[:80]}'"
        f"{' ...' if len(text.strip()) > len(first[:80]) else ''}.{_meant(first) or explain_nvidia.near(first)}"
    )


def explained_once(
    statements: Iterable[_Statement],
    key: Callable[[_Statement], Hashable],
    number: Callable[[_Statement], int],
    explained: Callable[[_Statement, str], ExplainedLine],
    where: str,
    also: tuple[str, ...],
    written: Callable[[_Statement], tuple[str, str]],
) -> list[ExplainedLine]:
    """The lines of statements, of which those that read alike are explained once: a listing has loops unrolled. What is
    wrong with one is a problem of its line.

    Args:
        statements: what is explained. key: what alike ones have in common. number: the line of one.
        explained: the explanation of one on an architecture. where: that for which they are explained.
        also: others, with which each instruction is compared. written: the text of one, and its language.
    """

    def explained_or_refused(one: _Statement, name: str) -> ExplainedLine:
        try:
            return explained(one, name)
        except Error as refused:
            text, language = written(one)
            return ExplainedLine(number(one), text, language, problem=str(refused))

    known: dict[Hashable, ExplainedLine] = {}
    differing: dict[Hashable, Mapping[str, object]] = {}
    lines = []
    for one in statements:
        alike = key(one)
        if (found := known.get(alike)) is None:
            found = explained_or_refused(one, where)
            inst = found.instruction
            if also and inst is not None and not inst.in_tensor_memory:
                same = (inst, *sorted(found.fields.items()), found.cycles)
                if same not in differing:
                    differing[same] = _differing(found, {name: explained_or_refused(one, name) for name in also})
                found = _changed(found, **differing[same])
            known[alike] = found
        lines.append(found if found.number == number(one) else _changed(found, number=number(one)))
    return lines


def _changed(line: ExplainedLine, **fields: object) -> ExplainedLine:
    return ExplainedLine(**{**vars(line), **fields})


def _differing(line: ExplainedLine, others: Mapping[str, ExplainedLine]) -> dict[str, object]:
    """What is otherwise on other architectures, as fields of the line."""
    having = {name: other for name, other in others.items() if other.instruction is not None}
    cycles = {name: other.cycles for name, other in having.items() if other.cycles != line.cycles}
    layouts = [name for name, other in having.items() if _layouts(other) != _layouts(line)]
    return {"cycles_elsewhere": cycles, "laid_out_elsewhere": tuple(layouts)}


def _layouts(line: ExplainedLine) -> list[str]:
    inst = line.instruction
    assert inst is not None
    return [inst.operand(role, **line.fields).pattern for role in inst.register_operands]


def _meant(line: str) -> str:
    """What a line stands for that is the name of no instruction, as a clause."""
    from ..compiler.cuda_names import is_wmma_name
    from ..hazards.register_use import is_matrix

    word = line.partition(" ")[0]
    if "#ttg." in line or "#triton_" in line:
        return " It is Triton's IR; give the PTX, the amdgcn or the LLVM IR (llir) that Triton makes of it"
    if is_wmma_name(line):
        return f' `mmacalc find "{line.partition("(")[0].strip()}"` lists the instructions that CUDA\'s mma.h uses'
    return f" Did you mean v_{word}?" if is_matrix(f"v_{word}") else ""
