"""How instructions round: one with an input that shows it, or every one of an architecture, format by format."""

from __future__ import annotations

from itertools import product

from ..arithmetic.numerics import kind
from ..arithmetic.numerics import numerics as model_of
from ..catalog import architectures, entry
from ..checks import arguments_checked
from ..families.tensor_memory_shapes import types_of
from ..model.tensor_memory import TensorMemoryInstruction
from ..records import Record, TupleRecord, cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ..arithmetic.numerics import Numerics
    from ..catalog import Entry
    from ..diagnosis.witness import RoundingExample
    from ..model import Instruction

__all__ = ["Arithmetic", "InstructionNumerics", "numerics", "overview"]


class InstructionNumerics(Record):
    """How one instruction rounds.

    Attributes:
        instruction: which. wave: the wave size. modifiers: as they were given. numerics: its arithmetic model, how sure
            that is, and the same in words.
    """

    instruction: Instruction
    wave: int
    modifiers: Mapping[str, int | str]
    numerics: Numerics

    @cached_property
    def example(self) -> RoundingExample | None:
        """A dot product on which the instruction differs from the exact sum rounded once, and from a chain of fused
        multiply-adds; None where there is none, as for integers. It is looked for with the emulator (NumPy)."""
        from ..diagnosis.witness import rounding_example
        from ..emulator.execution import execution_of

        return rounding_example(execution_of(self.instruction, self.wave, self.modifiers, False, False))


@arguments_checked
def numerics(instruction: Instruction, wave: int | None = None, **modifiers: int | str) -> InstructionNumerics:
    """How an instruction rounds.

    Args:
        instruction: which. wave: the wave size; the architecture's default if left out.
        modifiers: those that choose formats, such as cbsz="fp4"; others make no difference.

    Raises:
        Error: a modifier that the instruction lacks, or a value that it does not take; it only moves a matrix.

    >>> import mmacalc
    >>> found = mmacalc.numerics(mmacalc.instruction("gfx90a", "v_mfma_f32_32x32x8f16"))
    >>> found.numerics.model, found.numerics.provenance, found.example.instruction != found.example.exact
    ('pairwise_f32', 'two sources agree', True)
    """
    size, (shaped, fields) = instruction.architecture.wave(wave), instruction.with_parameters(modifiers)
    shaped.check_modifiers(size, shaped.resolved(fields))
    return InstructionNumerics(instruction, size, modifiers, model_of(shaped, **fields))


class Arithmetic(TupleRecord):
    """Instructions that compute alike.

    architectures: the canonical names of those that have them; inputs, outputs: the formats of A and B, and of D;
    kinds: mma, mma.sp, wgmma, mfma ...; shapes: (M, N, K), none of tcgen05; numerics: how the first of them computes;
    roundings: theirs, one or, where the name chooses, several; instructions: how many there are on the first
    architecture.
    """

    architectures: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kinds: tuple[str, ...]
    shapes: tuple[tuple[int, int, int], ...]
    numerics: Numerics
    roundings: tuple[str, ...]
    instructions: int


def overview(arch: str | None = None) -> tuple[Arithmetic, ...]:
    """How the instructions of an architecture compute, format by format; of all architectures without a name.

    Architectures that agree in everything stand together.

    Raises:
        Error: there is no such architecture.

    >>> for one in overview("cdna1"):
    ...     print(*one.inputs, "->", *one.outputs, one.numerics.model, one.numerics.step)
    f32 -> f32 fma_chain 1
    f16 -> f32 exact 4
    i8 -> i32 integer K
    bf16 -> f32 exact 2
    """
    names = tuple(architectures()) if arch is None else (entry(arch).architecture.name,)
    alike: dict[str, tuple[tuple[Arithmetic, ...], list[str]]] = {}
    for name in names:
        found = entry(name)
        if arch is None and "arithmetic" in found.architecture.family.unsupported_topics:
            continue
        found.architecture.family.require("arithmetic", found.architecture.title)
        rows = _of((*found.instructions(), *_in_tensor_memory(found)))
        alike.setdefault(repr(rows), (rows, []))[1].append(name)
    return tuple(one._replace(architectures=tuple(group)) for rows, group in alike.values() for one in rows)


def _in_tensor_memory(found: Entry) -> Iterator[Instruction]:
    """The instructions of Tensor Memory with each of their types whose documents are public (not kind::ti16)."""
    for name in found.tensor_memory_names:
        inst = found.instruction(name)
        if not isinstance(inst, TensorMemoryInstruction) or not inst.formats:
            continue
        for a, d in product(*types_of(inst.kind)):
            if (a, d) != ("bf16", "f16"):
                yield inst.shaped(a=a, b=a, d=d)


def _of(instructions: Iterable[Instruction]) -> tuple[Arithmetic, ...]:
    """One row for all instructions that compute alike, in catalog order; no architectures yet."""
    rows: dict[tuple[object, ...], tuple[Numerics, list[dict[Any, None]]]] = {}
    for inst in instructions:
        if not {"A", "B"} <= set(inst.operands):
            continue
        found = model_of(inst)
        key = (
            found.model, found.step, found.subnormals, found.nan, found.provenance, found.source,
            inst.formats["D"],
            *sorted((name, value) for name, value in found.parameters.items() if name not in ("group", "rounding")),
        )  # fmt: skip
        sort = kind(inst) + ".sp" * (".sp" in inst.name)
        seen = (inst.formats["D"], sort, (inst.m, inst.n, inst.k), found.rounding, inst.name)
        _, (inputs, *others) = rows.setdefault(key, (found, [{} for _ in range(6)]))
        inputs |= dict.fromkeys((inst.formats["A"], inst.formats["B"]))
        for values, value in zip(others, seen):
            values[value] = None
        if inst.in_tensor_memory:  # its shape is a parameter
            others[2].clear()
    return tuple(
        Arithmetic((), tuple(inputs), tuple(outputs), tuple(kinds), tuple(shapes), found, tuple(roundings), len(names))
        for found, (inputs, outputs, kinds, shapes, roundings, names) in rows.values()
    )
