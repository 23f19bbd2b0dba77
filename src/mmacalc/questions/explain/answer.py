"""The answer of `explain`: the matrix instructions of a text, each with its operands."""

from __future__ import annotations

from functools import lru_cache

from ...base.errors import Error
from ...base.records import Record, cached_property, json_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from ...hazards.lint import LintReport
    from ...layout import Layout
    from ...model import Element, Instruction, Operand

    _Statement = TypeVar("_Statement")

__all__ = ["CONDITION", "ExplainedLine", "ExplainedOperand", "Explanation", "explained_once"]


CONDITION = "whether C is added"
"""The role of an operand that says it."""


@json_keys(
    "role",
    "text",
    "registers",
    "first_register=first",
    "remarks",
    "pattern=placed.pattern",
    "provenance=operand.provenance",
    "lane=lane_shown: whose elements these are",
    "elements: those of each register",
)
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

    @cached_property
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

    @property
    def placed(self) -> Operand | Layout | None:
        """What has its layout."""
        return self.operand or self.layout

    @property
    def lane_shown(self) -> int | None:
        """`lane`; of what moves cells, thread 0."""
        return 0 if self.cells else self.lane

    @property
    def elements(self) -> tuple[tuple[str, ...], ...]:
        """The elements of each register, or the cells that it moves, in words."""
        from ...spelling import element_text

        layout = self.operand
        if self.cells:
            return tuple([tuple(map(cell_text, cells)) for cells in self.cells])
        if layout is None:
            return ()
        return tuple([
            tuple([element_text(layout, one.row, one.col, one.block) for one in held]) for held in self.held
        ])  # fmt: skip


def cell_text(cell: Sequence[int]) -> str:
    """A cell of Tensor Memory, counted from the address."""
    return "lane {}, column {}".format(*cell) if len(cell) == 2 else str(cell)


@lru_cache(1024)
def _first_lane(operand: Operand) -> int | None:
    return next((lane for lane in range(operand.lanes) if operand.contents(0, lane)), None)


@json_keys(
    "line=number",
    "text",
    "language",
    "name=instruction.name",
    "instruction=whole: null where it is not known, or its shape is a parameter",
    "modifiers=all_modifiers",
    "cycles",
    "cycles_elsewhere",
    "laid_out_elsewhere",
    "part?",
    "other_instructions=others",
    "problem?",
    "purpose?",
    "operands",
)
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
        problem: what is wrong with the line, each fault in a line of its own, or why it is not known; "" if nothing is.
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

    @property
    def whole(self) -> Instruction | None:
        """The instruction, unless its shape is a parameter."""
        return None if self.instruction is None or self.instruction.in_tensor_memory else self.instruction

    @property
    def all_modifiers(self) -> dict[str, int]:
        """Those of all three kinds."""
        return {**self.fields, **self.flags, **self.unused}


@json_keys("architecture", "also", "product?", "lines", "hazards=hazards.findings: null where there is nothing to lint")
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


# --- What the instructions around matrix products are for, in a sentence each: those that order, wait or allocate ---
#
# Sources: PTX ISA 9.1, sections 9.7.15.7 (wgmma) and 9.7.16 (tcgen05); that SASS's opcodes are those of PTX's
# instructions: ptxas 13.0.88 and nvdisasm 13.1.80.


PTX = {
    "wgmma.fence": (
        "orders accesses to registers between wgmma.mma_async and other instructions; it comes before the first "
        "wgmma.mma_async, and after registers of D or A are written by others"
    ),
    "wgmma.commit_group": "makes one group of all earlier wgmma.mma_async of the warp that are in no group yet",
    "wgmma.wait_group": (
        "waits until at most that many of the warp's latest groups of wgmma.mma_async are incomplete; D and A may be "
        "used only after it"
    ),
    "tcgen05.shift": "shifts the rows of a matrix in Tensor Memory down by one, 32 bytes of each; it is asynchronous",
    "tcgen05.alloc": (
        "allocates columns of Tensor Memory and writes their address to shared memory; it waits until there are as many"
    ),
    "tcgen05.dealloc": "frees columns of Tensor Memory that tcgen05.alloc allocated",
    "tcgen05.relinquish_alloc_permit": "says that the CTA allocates no more Tensor Memory",
    "tcgen05.commit": (
        "makes an mbarrier track the completion of all earlier asynchronous tcgen05 instructions of the thread"
    ),
    "tcgen05.wait::ld": "waits until all earlier tcgen05.ld of the thread are complete",
    "tcgen05.wait::st": "waits until all earlier tcgen05.st of the thread are complete",
    "tcgen05.fence::before_thread_sync": (
        "orders all earlier asynchronous tcgen05 instructions before those after a synchronisation of threads that "
        "follows"
    ),
    "tcgen05.fence::after_thread_sync": (
        "orders later asynchronous tcgen05 instructions after those before a synchronisation of threads that preceded"
    ),
}
MANAGEMENT = frozenset(PTX) - {"tcgen05.shift"}
"""Those that order, wait or allocate."""
# The words of an opcode, and the PTX instruction that becomes it.
SASS = {
    "WARPGROUP ARRIVE": "wgmma.fence", "WARPGROUP DEPBAR": "wgmma.wait_group", "UTCBAR": "tcgen05.commit",
    "UTCATOMSWS FIND_AND_SET": "tcgen05.alloc", "UTCATOMSWS AND": "tcgen05.dealloc", "UTCSHIFT": "tcgen05.shift",
}  # fmt: skip


def ptx_of_sass(opcode: str) -> str:
    """The PTX instruction, of those here, that becomes a SASS opcode; "" if none does.

    >>> ptx_of_sass("WARPGROUP.DEPBAR.LE"), ptx_of_sass("HMMA.16816.F32")
    ('wgmma.wait_group', '')
    """
    words = {*opcode.upper().split(".")}
    return next((ptx for known, ptx in SASS.items() if words.issuperset(known.split())), "")


def purpose(name: str) -> str:
    """What a PTX instruction or a SASS opcode is for; "" if it is none of these.

    >>> purpose("wgmma.commit_group.sync.aligned").partition(" of ")[0]
    'makes one group'
    """
    meant = ptx_of_sass(name)
    found = next((text for ptx, text in PTX.items() if f"{meant or name.lower()}.".startswith(f"{ptx}.")), "")
    return f"as {meant}: {found}" if meant else found
