"""Compare two instructions of any architectures: shape, cycles, registers, layouts, waits, rounding, builtins.

    mmacalc compare gfx942 v_mfma_f32_16x16x16_f16 sm_80 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    mmacalc compare MI300X MI355X 16x16x32 bf16        the first dense one of each, as find lists them

Wait states are those after the instruction, before what usually follows. Of an operand that is not held in registers,
such as B of wgmma, it is said where it is. An input on which the two round differently is found by trying. Two layouts
of Triton, Gluon or CuTe are compared as `mmacalc layout` does.
"""

from __future__ import annotations

from types import MappingProxyType

from ..base.checks import arguments_checked
from ..base.errors import Error, abbreviated
from ..base.records import Record, cached_property, json_keys
from ..catalog import entry
from ..command import Command, Reply, argument, refuse_given, show
from ..command.common import ARCHITECTURES, INSTRUCTIONS, JSON
from ..foreign import reads
from ..formats import Format
from ..throughput import duration
from .find.arithmetic import Arithmetic, aligned, held_text, lanes_of, side_by_side, size_text
from .layout import ELEMENT, TENSOR, answered, conversion_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..command import Options
    from ..compiler.dialects import Intrinsic
    from ..hazards.followers import Follower
    from ..model import Instruction, Operand

_ORDER = ("A", "B", "C", "D", "K", "SA", "SB", "P")


@json_keys(
    "format=format.name",
    "bits=format.bits",
    "registers",
    "[elsewhere]: where it is, if not in registers",
    "[elements_per_lane]",
    "[pattern]=operand.pattern",
    "[sizes]=operand.sizes",
)
class ComparedOperand(Record):
    """One operand of a compared instruction.

    Attributes:
        format: of its elements. registers: 32-bit registers of each lane.
        operand: its layout; None where it is not held in registers, or where the vendor leaves the layout open.
        elsewhere: where it is then.
    """

    format: Format
    registers: int
    operand: Operand | None = None
    elsewhere: str = ""

    @property
    def elements_per_lane(self) -> int | None:
        """How many elements a lane holds."""
        return None if self.operand is None else self.operand.layout.spans["item"]


@json_keys(
    "architecture=instruction.arch",
    "instruction=instruction.name",
    "m=instruction.m",
    "n=instruction.n",
    "k=instruction.k",
    "blocks=instruction.blocks",
    "lanes",
    "operations=instruction.flops",
    "operations_per_lane",
    "cycles: of one on its matrix unit, also as NVIDIA's rates have it",
    "sparse=instruction.sparse",
    "provenance=instruction.provenance",
    "cycles_provenance",
    "operands",
    "waits: wait states before what usually follows",
    "no_waits: why there are none to count; empty if there are",
    "builtins",
)
class ComparedInstruction(Record):
    """What is compared of one instruction.

    Attributes:
        instruction: which. lanes: how many carry it out together: a wave, a warp, or the 128 of a warpgroup.
        operands: by name, in the order A, B, C, D, K, SA, SB, P.
    """

    instruction: Instruction
    lanes: int
    operands: Mapping[str, ComparedOperand]

    @property
    def operations_per_lane(self) -> int:
        """The operations of the instruction over its lanes."""
        return self.instruction.flops // self.lanes

    @property
    def cycles(self) -> int | None:
        """For how long it occupies its matrix unit; None where that is not published."""
        return duration(self.instruction, {}, None)

    @property
    def cycles_provenance(self) -> str | None:
        """How sure the catalog's cycles are; None where it has none."""
        return self.instruction.provenance_of("cycles") if self.instruction.cycles else None

    @property
    def waits(self) -> tuple[Follower, ...]:
        """The wait states after it, before what usually follows."""
        return self._waits[0]

    @property
    def no_waits(self) -> str:
        """Why none are counted, else ""."""
        return self._waits[1]

    @cached_property
    def _waits(self) -> tuple[tuple[Follower, ...], str]:
        from ..hazards.followers import followers

        inst = self.instruction
        if not inst.flops:
            return (), f"{inst.name} multiplies no matrices"
        if "wgmma" in inst.features:
            return (), f"D of {inst.name} may be read behind wgmma.commit_group and wgmma.wait_group"
        if inst.in_tensor_memory:
            return (), f"D of {inst.name} may be read behind tcgen05.commit and a wait for its mbarrier"
        try:
            return followers(inst), ""
        except Error as refused:
            return (), str(refused).partition(". ")[0].removesuffix(".")

    @cached_property
    def builtins(self) -> tuple[Intrinsic, ...]:
        """The compilers' names for it."""
        from .intrinsic import intrinsic

        return intrinsic(self.instruction).intrinsics


@json_keys("instructions", "**arithmetic")
class InstructionComparison(Record):
    """Two instructions side by side."""

    first: ComparedInstruction
    second: ComparedInstruction

    @property
    def instructions(self) -> tuple[ComparedInstruction, ComparedInstruction]:
        """Both."""
        return self.first, self.second

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """How both round, and an input on which they differ."""
        return Arithmetic(self.first.instruction, self.second.instruction)

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands that either has."""
        return tuple(name for name in _ORDER if name in self.first.operands or name in self.second.operands)


@arguments_checked
def compare(first: Instruction, second: Instruction) -> InstructionComparison:
    """Set two instructions side by side: shape, cycles, operands, wait states, rounding and builtins.

    What takes time (waits, arithmetic, builtins) is computed when it is asked for.

    >>> import mmacalc
    >>> found = mmacalc.compare(
    ...     mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"),
    ...     mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> found.first.operations_per_lane, found.second.operands["A"].operand.pattern
    (128, '(i1 i0) (c t e) -> lane (i0 t), item (c i1 e)')
    >>> found.first.waits[0].states, found.arithmetic.difference is None
    (7, False)
    """
    return InstructionComparison(_compared(first), _compared(second))


def _compared(inst: Instruction) -> ComparedInstruction:
    operands = {name: _operand(inst, name) for name in sorted(inst.operands, key=_ORDER.index)}
    return ComparedInstruction(inst, lanes_of(inst), MappingProxyType(operands))


def _operand(inst: Instruction, name: str) -> ComparedOperand:
    if name in inst.register_operands:
        operand = inst.operand(name)
        return ComparedOperand(operand.format, operand.registers, operand)
    registers = inst.fragment_registers.get(name, 0)
    return ComparedOperand(inst.format(name), registers, elsewhere=inst.outside_registers[name])


def text(comparison: InstructionComparison) -> str:
    """A table of both, and below it the patterns, the builtins, and an input on which they round differently."""
    return "".join([f"{line}\n" for line in _lines(comparison)])


def _lines(comparison: InstructionComparison) -> Iterator[str]:
    sides = comparison.first, comparison.second
    both = sides[0].instruction, sides[1].instruction
    yield from aligned([(side.instruction.arch, side.instruction.name, size_text(side.instruction)) for side in sides])
    yield ""
    yield from side_by_side(both, list(_rows(comparison)))
    alike = {side.no_waits.replace(inst.architecture.title, ""): side.no_waits for inst, side in zip(both, sides)}
    yield from [f"{why}." for why in alike.values() if why]
    yield "layouts"
    yield from _patterns(comparison)
    yield "builtins"
    for side in sides:
        named = dict.fromkeys([name for one in side.builtins if (name := one.builtin or one.llvm_intrinsic)])
        yield f"    {side.instruction.arch:{_width(comparison)}}  {abbreviated([*named]) or 'none'}"
    if comparison.arithmetic.difference is None:
        yield ""
    yield from comparison.arithmetic.lines()


def _rows(comparison: InstructionComparison) -> Iterator[tuple[str, str, str]]:
    first, second = comparison.first, comparison.second
    yield "", first.instruction.arch, second.instruction.arch
    for what, said in (
        ("architecture", lambda side: side.instruction.architecture.title),
        ("lanes", lambda side: str(side.lanes)),
        ("operations", lambda side: str(side.instruction.flops)),
        ("operations per lane", lambda side: "-" if side.lanes == 1 else str(side.operations_per_lane)),
        ("cycles", _cycles),
        ("sparse", lambda side: "2:4" if side.instruction.sparse else "no"),
    ):
        yield what, said(first), said(second)
    for name in comparison.operands:
        yield f"{name}, each lane", _held(first.operands.get(name)), _held(second.operands.get(name))
    yield "layouts are from", first.instruction.provenance, second.instruction.provenance
    waits = [{one.what: one.states for one in side.waits} for side in (first, second)]
    for what in dict.fromkeys([*waits[0], *waits[1]]):
        yield f"waits: {what}", str(waits[0].get(what, "-")), str(waits[1].get(what, "-"))
    yield from comparison.arithmetic.parts


def _cycles(side: ComparedInstruction) -> str:
    sure = side.cycles_provenance
    return f"{side.cycles}{f' ({sure})' if sure == 'unconfirmed' else ''}" if side.cycles else "not published"


def _held(operand: ComparedOperand | None) -> str:
    if operand is None:
        return "-"
    return f"{operand.format.name}, {held_text(operand.registers or None)}"


def _width(comparison: InstructionComparison) -> int:
    return max(len(side.instruction.arch) for side in comparison.instructions)


def _patterns(comparison: InstructionComparison) -> Iterator[str]:
    for name in comparison.operands:
        yield f"  {name}"
        for side in comparison.instructions:
            if name in side.operands:
                yield f"    {side.instruction.arch:{_width(comparison)}}  {_layout(side.operands[name])}"


def _layout(compared: ComparedOperand) -> str:
    operand = compared.operand
    if operand is None:
        return compared.elsewhere
    return f"{operand.pattern}   {', '.join(f'{digit}={size}' for digit, size in operand.sizes.items())}"


def _is_architecture(name: str) -> bool:
    try:
        entry(name)
    except Error:
        return False
    return True


def _found(arch: str, words: Sequence[str]) -> Instruction:
    """The instruction of an architecture that words ask for, as find takes them; of several the first dense one whose A
    and B have one format, if there is any."""
    from .find import find

    found = find(arch=arch, name=" ".join(words))
    if not found:
        raise Error(f"{entry(arch).architecture.title} has no instruction for {' '.join(words)}; "
                    f"`mmacalc find {arch}` lists what there is")  # fmt: skip
    return min(found, key=lambda inst: (inst.sparse, inst.formats.get("A") != inst.formats.get("B")))


def _asked(architectures: Sequence[str], words: Sequence[str]) -> tuple[tuple[Instruction, Instruction], str]:
    """The instruction of each architecture that words ask for; where one has none, or a sparse one alone, what comes
    nearest to the other's, and a note that says so.

    Raises:
        Error: neither has one.
    """
    from .find.equivalents import equivalents

    found: list[Instruction | Error] = []
    for arch in architectures:
        try:
            found.append(_found(arch, words))
        except Error as refused:
            found.append(refused)
    for at, other in ((0, 1), (1, 0)):
        mine, known = found[at], found[other]
        if (isinstance(mine, Error) or mine.sparse) and not (isinstance(known, Error) or known.sparse):
            near = equivalents(known, architectures[at]).nearest
            lacking = f"{near.instruction.architecture.title} has no dense instruction for {' '.join(words)}"
            pair = (near.instruction, known) if at == 0 else (known, near.instruction)
            return pair, f"{lacking}; the nearest is compared, {near.target_count} for {near.source_count}"
    for one in found:
        if isinstance(one, Error):
            raise one
    first, second = [one for one in found if not isinstance(one, Error)]
    return (first, second), ""


def run(options: Options) -> Reply:
    """Compare the two."""
    if len(options.names) == 2 and not options.architecture and all(map(reads, options.names)):
        refuse_given(COMMAND, options, ("instruction",), "is for instructions; these are layouts")
        return answered(options.names, options.tensor, options.type, options.json)
    refuse_given(COMMAND, options, ("tensor", "type"), "is for layouts; instructions have their own sizes")
    if len(options.names) > 2 and all(map(_is_architecture, options.names[:2])):
        pair, note = _asked(options.names[:2], options.names[2:])
        return show(options.json, "compare", compare(*pair), text, notes=(note,) if note else ())
    names, others = options.names, options.architecture
    if len(names) % 2 and len(others) == 1:  # compare -a H100 X MI300X Y
        names, others = others + names, []
    architectures = names[::2] + others
    instructions = names[1::2] + options.instruction
    if len(names) % 2 or len(architectures) not in (1, 2) or len(instructions) != 2:
        got = " ".join([*architectures, *instructions]) or "none"
        raise Error(f"compare takes two instructions, each after its architecture, or -a and -i for each; got {got}")
    first, second = map(lambda arch, name: entry(arch).meant(name), (architectures * 2)[:2], instructions)
    return show(options.json, "compare", compare(first, second), text)


COMMAND = Command(
    "compare", "compare two instructions of any architectures side by side: layouts, waits, rounding", "find", __doc__,
    (
        argument(
            "names", "the architecture and the instruction, first of one, then of the other", nargs="*",
            placeholder="INSTRUCTION",
        ),
        ARCHITECTURES, INSTRUCTIONS, TENSOR, ELEMENT, JSON,
    ),
    run, {"compare": text, "layout-conversion": conversion_text},
)  # fmt: skip
