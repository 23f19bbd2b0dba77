"""Compare two instructions of any architectures side by side: shape, work, formats, registers and layouts.

    mmacalc compare gfx942 v_mfma_f32_16x16x16_f16 sm_80 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

Two layouts of Triton, Gluon or CuTe are compared as `mmacalc layout` does.
    mmacalc compare MI300X MI355X 16x16x32 bf16        the first dense one of each, as find lists them

Of an operand that is not held in registers, such as B of wgmma, the table names where it is.
"""

from __future__ import annotations

from types import MappingProxyType

from ..base.checks import arguments_checked
from ..base.errors import Error
from ..base.records import Record, json_keys
from ..catalog import entry
from ..command import Command, Reply, argument, option, show, tables
from ..command.common import INSTRUCTIONS, JSON
from ..foreign import reads
from ..formats import Format
from ..spelling import instruction_name
from .layout import TENSOR, answered, conversion_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..command import Options
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
    "cycles=instruction.cycles",
    "sparse=instruction.sparse",
    "provenance=instruction.provenance",
    "operands",
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


@json_keys("instructions")
class InstructionComparison(Record):
    """Two instructions side by side."""

    first: ComparedInstruction
    second: ComparedInstruction

    @property
    def instructions(self) -> tuple[ComparedInstruction, ComparedInstruction]:
        """Both."""
        return self.first, self.second

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands that either has."""
        return tuple(name for name in _ORDER if name in self.first.operands or name in self.second.operands)


@arguments_checked
def compare(first: Instruction, second: Instruction) -> InstructionComparison:
    """Set two instructions side by side: shape, work, and each operand's format, registers and layout.

    >>> import mmacalc
    >>> found = mmacalc.compare(
    ...     mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"),
    ...     mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> found.first.operations_per_lane, found.second.operands["A"].operand.pattern
    (128, '(i1 i0) (c t e) -> lane (i0 t), item (c i1 e)')
    """
    return InstructionComparison(_compared(first), _compared(second))


def _compared(inst: Instruction) -> ComparedInstruction:
    lanes = 128 if "wgmma" in inst.features else inst.architecture.waves[0]
    operands = {name: _operand(inst, name) for name in sorted(inst.operands, key=_ORDER.index)}
    return ComparedInstruction(inst, lanes, MappingProxyType(operands))


def _operand(inst: Instruction, name: str) -> ComparedOperand:
    if name in inst.register_operands:
        operand = inst.operand(name)
        return ComparedOperand(operand.format, operand.registers, operand)
    registers = inst.fragment_registers.get(name, 0)
    return ComparedOperand(inst.format(name), registers, elsewhere=inst.elsewhere[name])


def text(comparison: InstructionComparison) -> str:
    """A table of both, and the patterns below it."""
    sides = comparison.first, comparison.second
    rows = [
        ("architecture", *(side.instruction.architecture.title for side in sides)),
        ("shape", *(_shape(side) for side in sides)),
        ("lanes", *(str(side.lanes) for side in sides)),
        ("operations", *(str(side.instruction.flops) for side in sides)),
        ("operations per lane", *(str(side.operations_per_lane) for side in sides)),
        ("cycles", *(str(side.instruction.cycles or "not published") for side in sides)),
    ]
    operands = [(name, [side.operands.get(name) for side in sides]) for name in comparison.operands]
    rows += [(f"{name} format", *("-" if one is None else one.format.name for one in pair)) for name, pair in operands]
    rows += [
        (f"{name} registers", *("-" if one is None else str(one.registers) for one in pair)) for name, pair in operands
    ]
    header = ["", *(instruction_name(side.instruction) for side in sides)]
    return tables.write(header, rows, "grid") + "".join(_patterns(comparison))


def _shape(side: ComparedInstruction) -> str:
    inst = side.instruction
    blocks = f" x {inst.blocks}" if inst.blocks > 1 else ""
    return f"{inst.m}x{inst.n}x{inst.k}{blocks}"


def _patterns(comparison: InstructionComparison) -> Iterator[str]:
    sides = comparison.first, comparison.second
    width = max(len(side.instruction.arch) for side in sides)
    for name in comparison.operands:
        yield f"{name}\n"
        for side in sides:
            if name in side.operands:
                yield f"    {side.instruction.arch:{width}}  {_layout(side.operands[name])}\n"


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


def run(options: Options) -> Reply:
    """Compare the two."""
    if len(options.names) == 2 and not options.architecture and all(map(reads, options.names)):
        return answered(options.names, options.tensor, None, options.json)
    if len(options.names) > 2 and all(map(_is_architecture, options.names[:2])):
        first, second = (_found(arch, options.names[2:]) for arch in options.names[:2])
        return show(options.json, "compare", compare(first, second), text)
    architectures = options.names[::2] + options.architecture
    instructions = options.names[1::2] + options.instruction
    if len(options.names) % 2 or len(architectures) not in (1, 2) or len(instructions) != 2:
        got = " ".join([*architectures, *instructions]) or "none"
        raise Error(f"compare takes two instructions, each after its architecture, or -a and -i for each; got {got}")
    first, second = map(lambda arch, name: entry(arch).meant(name), (architectures * 2)[:2], instructions)
    return show(options.json, "compare", compare(first, second), text)


COMMAND = Command(
    "compare", "compare two instructions of any architectures side by side", "find", __doc__,
    (
        argument(
            "names", "the architecture and the instruction, first of one, then of the other", nargs="*",
            placeholder="INSTRUCTION",
        ),
        option(
            "-a", "--architecture", placeholder="NAME", many=True, default=[],
            help="an architecture; once for each or both",
        ),
        INSTRUCTIONS, TENSOR, JSON,
    ),
    run, {"compare": text, "layout-conversion": conversion_text},
)  # fmt: skip
