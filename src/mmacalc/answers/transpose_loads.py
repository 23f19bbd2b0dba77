"""The loads that transpose: those of an architecture with what they fill, and those of one operand."""

from __future__ import annotations

from ..catalog import architectures, entry, instructions
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


def operand_loads(operand: Operand, name: str | None = None) -> OperandLoads:
    """The loads that fill an operand where its other coordinate is the contiguous one in memory.

    Args:
        operand: A or B. name: the load, by any of its mnemonics; the first that fits if left out.

    Raises:
        Error: no load fits the operand, and why.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16").operand("A")
    >>> [(step.load.name, step.first_register) for step in operand_loads(a).steps]
    [('ds_read_b64_tr_b16', 0), ('ds_read_b64_tr_b16', 2)]
    """
    arch = operand.instruction.arch
    _loads(arch)
    return OperandLoads(operand, loads_for(operand, load_named(arch, name).name if name else None))


def load_listing(arch: str) -> LoadListing:
    """The loads of an architecture that transpose, and what each fills, every format that a field can choose once.

    Raises:
        Error: the architecture has no such loads.

    >>> [(load.name, len(filled)) for load, filled in load_listing("gfx950").loads][0]
    ('ds_read_b64_tr_b4', 8)
    """
    loads = _loads(arch)
    return LoadListing(loads[0].architecture, tuple((load, tuple(_filled(arch, load.name))) for load in loads))


def load_named(arch: str, name: str) -> TransposeLoad:
    """One load by its mnemonic (case-insensitive).

    Raises:
        Error: the architecture has no such load.
    """
    loads = _loads(arch)
    for load in loads:
        if name.lower() in (load.name, *load.aliases):
            return load
    names = [load.name for load in loads]
    raise Error(f"unknown load '{name}'.{did_you_mean(name, names)} Known: {', '.join(names)}")


def _loads(arch: str) -> tuple[TransposeLoad, ...]:
    loads = transpose_loads(arch)
    if not loads:
        record = entry(arch).architecture
        other = f". `mmacalc find -a {record.name} ldmatrix` lists NVIDIA's" if record.family.sass else ""
        raise Error(f"{record.title} has no loads that transpose; {_those_with()} have{other}")
    return loads


def _those_with() -> str:
    """The architectures that have such loads."""
    *some, last = [name for name in architectures() if transpose_loads(name)]
    return f"{', '.join(some)} and {last}"


def _filled(arch: str, load: str) -> Iterator[OperandLoads]:
    """The operands that a load fills."""
    for instruction in instructions(arch):
        fields = {operand: field for field, operand in instruction.choices.items()}
        for name in "AB":
            values = instruction.modifier_limits()[fields[name]] if name in fields else (None,)
            for value in values:
                operand = instruction.operand(name, **({} if value is None else {fields[name]: value}))
                try:
                    yield OperandLoads(operand, loads_for(operand, load))
                except Error:
                    continue
