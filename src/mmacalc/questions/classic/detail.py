"""All about one instruction (-d): its operands by wave size, formats, modifiers, cost, compiler names, arithmetic."""

from __future__ import annotations

from types import MappingProxyType

from ...base.records import Record, TupleRecord, cached_property, json_keys
from ...spelling import spelling_of
from . import formulas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from ...arithmetic.numerics import Numerics
    from ...compiler.dialects import Intrinsic
    from ...model import Architecture, Instruction, Operand
    from .detail_amd import AmdDetail
    from .detail_dpas import DpasDetail
    from .detail_ptx import PtxDetail
    from .detail_stated import StatedDetail


@json_keys(
    "value",
    "format=operand.format.name",
    "format_title=operand.format.title",
    "bits=operand.format.bits",
    "registers=operand.registers",
    "pattern=operand.pattern",
)
class ChosenFormat(TupleRecord):
    """A value of a field, and the operand under it."""

    value: int
    operand: Operand


@json_keys("field", "operand", "values=formats")
class FormatChoice(Record):
    """A field that chooses the format of an operand, and the operand under each of its values."""

    field: str
    operand: str
    values: Mapping[int, Operand]

    @property
    def formats(self) -> tuple[ChosenFormat, ...]:
        """`values` as records."""
        return tuple([ChosenFormat(*each) for each in self.values.items()])


class SassOpcodes(TupleRecord):
    """What an instruction becomes on a target, and how sure that is."""

    opcodes: str
    status: str


@json_keys(
    "field=source_field: of the encoding, that names its registers",
    "format=operand.format.name",
    "format_title=operand.format.title",
    "registers=operand.registers",
    "provenance=operand.provenance",
    "pattern=operand.pattern",
    "sizes=operand.sizes: the number of values of each digit that the pattern names",
    "einops=operand.einops",
    "element_to_register: formulas",
    "register_to_element: formulas",
)
class OperandDetail(Record):
    """An operand, with the formulas of its layout both ways."""

    operand: Operand

    @property
    def source_field(self) -> str | None:
        """The field that names its registers."""
        return spelling_of(self.operand).source_fields.get(self.operand.name)

    @property
    def element_to_register(self) -> dict[str, str]:
        """By place, the formula of the coordinates."""
        return formulas.forward(self.operand)

    @property
    def register_to_element(self) -> dict[str, str]:
        """By coordinate, the formula of the place."""
        return formulas.backward(self.operand)


@json_keys(
    "**instruction",
    "cycles",
    "chosen=fields: the fields that choose formats, as they were given",
    "format_choices=choices: the fields that can choose formats, with the operand under each of their values",
    "cycles_provenance",
    "valu_cycles_provenance",
    "notes=instruction.notes",
    "encoding=architecture.encoding?",
    "valu_cycles: that other VALU instructions may take alongside",
    "register_alignment_bytes",
    "accumulator_registers=architecture.accumulators",
    "operations_per_unit_and_cycle=operations_per_cycle",
    "unit=architecture.unit",
    "prefix_opcode=instruction.prefix_opcode",
    "modifiers: with the values that each can have",
    "numerics",
    "waves: by wave size and operand",
    "**own",
)
class Detail(Record):
    """All about an instruction, under fields that choose its formats.

    Attributes:
        instruction: which. fields: the fields that choose formats, with their values.
        operands: by wave size, those that are held in registers.
        cycles, valu_cycles: under these fields; None if unpublished, or if it does not run alongside VALU instructions.
        operations_per_cycle: of one compute unit (of RDNA: workgroup processor); None where the cycles are.
        choices: the fields that can choose formats. modifiers: the values that each modifier can have, on some wave
            size and with some value of the others.
        numerics: the arithmetic; None for an instruction that only moves a matrix, or of which nothing is documented.
        sass: for each target of a PTX instruction the SASS opcodes; those that are not known left out.
    """

    instruction: Instruction
    fields: Mapping[str, int]
    operands: Mapping[int, Mapping[str, Operand]]
    cycles: int | None
    valu_cycles: int | None
    operations_per_cycle: int | None
    choices: tuple[FormatChoice, ...]
    modifiers: Mapping[str, tuple[int, ...]]
    numerics: Numerics | None
    sass: Mapping[str, SassOpcodes]

    @cached_property
    def intrinsics(self) -> dict[int, tuple[Intrinsic, ...]]:
        """clang's builtins by wave size; AMD's page lacks them, and to read them takes longer than all else."""
        from ...compiler.builtins import intrinsics

        return {wave: intrinsics(self.instruction, wave) for wave in self.operands}

    @property
    def architecture(self) -> Architecture:
        """That of the instruction."""
        return self.instruction.architecture

    @property
    def cycles_provenance(self) -> str:
        """How sure the cycles are."""
        return self.instruction.provenance_of("cycles")

    @property
    def valu_cycles_provenance(self) -> str:
        """How sure the VALU cycles are."""
        return self.instruction.provenance_of("valu_cycles")

    @property
    def register_alignment_bytes(self) -> int | None:
        """Of the registers of AMD's operands."""
        return self.architecture.register_alignment if self.architecture.encoding else None

    @property
    def waves(self) -> dict[int, dict[str, OperandDetail]]:
        """`operands` with their formulas."""
        return {
            wave: {name: OperandDetail(operand) for name, operand in operands.items()}
            for wave, operands in self.operands.items()
        }

    @property
    def own(self) -> AmdDetail | PtxDetail | DpasDetail | StatedDetail:
        """What only instructions of the vendor have."""
        return page_of(self.instruction).own(self)


class Page(TupleRecord):
    """What writes an instruction as its vendor's users do: the whole page; what only the vendor has; and what the
    interactive page has after the name."""

    text: Callable[[Detail], str]
    own: Callable[[Detail], AmdDetail | PtxDetail | DpasDetail | StatedDetail]
    statement: Callable[[Instruction], str]


def page_of(instruction: Instruction) -> Page:
    """The page of an instruction's vendor."""
    spelling = instruction.architecture.family.spelling
    if spelling == "amd":
        from .detail_amd import PAGE
    elif spelling == "ptx":
        from .detail_ptx import PAGE
    elif spelling == "dpas":
        from .detail_dpas import PAGE
    else:
        from .detail_stated import PAGE
    return PAGE


def text(detail: Detail) -> str:
    """The page of an instruction, as its vendor's users write."""
    return page_of(detail.instruction).text(detail)


def detail(instruction: Instruction, **fields: Any) -> Detail:
    """All about an instruction.

    Args:
        instruction: which. fields: the values of fields that choose formats, such as cbsz="fp4"; others and those
            that are 0 make no difference.

    Raises:
        Error: a field cannot have that value.

    >>> import mmacalc
    >>> found = detail(mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4"), cbsz="fp4", blgp="fp4")
    >>> found.cycles, found.operands[64]["A"].registers
    (16, 4)
    """
    given = instruction.resolved(fields)
    chosen = {name: given[name] for name in instruction.choices if given.get(name)}
    instruction.check_modifiers(None, chosen)
    cycles = instruction.cycles_for(**chosen)
    operands: dict[int, Mapping[str, Operand]] = {}
    for wave in sorted(instruction.architecture.waves):
        found = {name: instruction.operand(name, wave, **chosen) for name in instruction.register_operands}
        operands[wave] = MappingProxyType(found)
    rate = None if cycles is None else instruction.throughput(**chosen)
    return Detail(
        instruction, chosen, operands, cycles, instruction.valu_cycles_for(**chosen), rate, _choices(instruction),
        _modifiers(instruction, operands), _numerics(instruction, chosen),
        _sass(instruction),
    )  # fmt: skip


def _choices(inst: Instruction) -> tuple[FormatChoice, ...]:
    found = []
    for field, name in inst.choices.items():
        values = {value: inst.operand(name, **{field: value}) for value in inst.modifier_limits()[field]}
        found.append(FormatChoice(field, name, values))
    return tuple(found)


def _modifiers(inst: Instruction, waves: Iterable[int]) -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for wave in waves:
        for cbsz in inst.modifier_limits(wave).get("cbsz", (0,)):
            for name, values in inst.modifier_limits(wave, cbsz).items():
                found.setdefault(name, set()).update(values)
    return {name: tuple(sorted(values)) for name, values in found.items()}


def _numerics(inst: Instruction, fields: Mapping[str, int]) -> Numerics | None:
    from ...arithmetic.numerics import numerics, refusal

    return None if "move" in inst.features or refusal(inst) else numerics(inst, **fields)


def _sass(inst: Instruction) -> dict[str, SassOpcodes]:
    if not inst.targets:
        return {}
    from ...catalog.grammar.sass import sass_of

    found = {target: SassOpcodes(*sass_of(inst, target)) for target in inst.targets}
    return {target: known for target, known in found.items() if known.opcodes}
