"""The LDS loads that transpose: those of an architecture with what they fill, and those of one operand."""

from __future__ import annotations

from ..catalog import entry, instructions
from ..errors import Error, did_you_mean
from ..memory_access.transpose_loads import LoadStep, TransposeLoad, loads_for, transpose_loads
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Architecture, Operand

__all__ = ["LoadListing", "OperandLoads", "load_listing", "load_named", "operand_loads"]


class OperandLoads(Record):
    """The loads that fill one operand, in the order of its registers."""

    operand: Operand
    steps: tuple[LoadStep, ...]


class LoadListing(Record):
    """The loads of an architecture, each with the operands that it fills: (load, their loads)."""

    architecture: Architecture
    loads: tuple[tuple[TransposeLoad, tuple[OperandLoads, ...]], ...]


def operand_loads(operand: Operand) -> OperandLoads:
    """The loads that fill an operand from LDS where its other coordinate is the contiguous one.

    Raises:
        Error: no load fits the operand, and why.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16").operand("A")
    >>> [(step.load.name, step.first_register) for step in operand_loads(a).steps]
    [('ds_read_b64_tr_b16', 0), ('ds_read_b64_tr_b16', 2)]
    """
    _loads(operand.instruction.arch)
    return OperandLoads(operand, loads_for(operand))


def load_listing(arch: str) -> LoadListing:
    """The loads of an architecture that transpose, and what each fills, every format that a field can choose once.

    Raises:
        Error: the architecture has no such loads.

    >>> [(load.name, len(filled)) for load, filled in load_listing("gfx950").loads][0]
    ('ds_read_b64_tr_b4', 8)
    """
    loads = _loads(arch)
    filled = tuple(_filled(arch))
    return LoadListing(
        loads[0].architecture,
        tuple((load, tuple(one for one in filled if one.steps[0].load == load)) for load in loads),
    )


def load_named(arch: str, name: str) -> TransposeLoad:
    """One load by its mnemonic (case-insensitive).

    Raises:
        Error: the architecture has no such load.
    """
    loads = _loads(arch)
    for load in loads:
        if load.name == name.lower():
            return load
    names = [load.name for load in loads]
    raise Error(f"there is no load '{name}'.{did_you_mean(name, names)} They are {', '.join(names)}")


def _loads(arch: str) -> tuple[TransposeLoad, ...]:
    loads = transpose_loads(arch)
    if not loads:
        raise Error(f"{entry(arch).architecture.title} has no loads that transpose; cdna4 has four")
    return loads


def _filled(arch: str) -> Iterator[OperandLoads]:
    """The operands that loads fill."""
    for instruction in instructions(arch):
        fields = {operand: field for field, operand in instruction.choices.items()}
        for name in "AB":
            values = instruction.modifier_limits()[fields[name]] if name in fields else (None,)
            for value in values:
                operand = instruction.operand(name, **({} if value is None else {fields[name]: value}))
                try:
                    yield OperandLoads(operand, loads_for(operand))
                except Error:
                    continue
