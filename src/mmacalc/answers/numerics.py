"""The arithmetic of every instruction of an architecture, or of all: which formats round how."""

from __future__ import annotations

from collections import namedtuple

from ..arithmetic.numerics import kind, numerics
from ..catalog import architectures, entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..arithmetic.numerics import Numerics
    from ..model import Instruction

__all__ = ["Arithmetic", "overview"]


class Arithmetic(namedtuple("Arithmetic", "architectures inputs outputs kinds shapes numerics roundings instructions")):
    """Instructions that compute alike.

    architectures: the canonical names of those that have them; inputs, outputs: the formats of A and B, and of D;
    kinds: mma, mma.sp, wgmma, mfma ...; shapes: (M, N, K); numerics: how the first of them computes; roundings: theirs,
    one or, where the name chooses, several; instructions: how many there are on the first architecture.
    """

    __slots__ = ()
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
        rows = _of(entry(name).instructions())
        alike.setdefault(repr(rows), (rows, []))[1].append(name)
    return tuple(one._replace(architectures=tuple(group)) for rows, group in alike.values() for one in rows)


def _of(instructions: Iterable[Instruction]) -> tuple[Arithmetic, ...]:
    """One row for all instructions that compute alike, in catalog order; no architectures yet."""
    rows: dict[tuple[object, ...], tuple[Numerics, list[dict[Any, None]]]] = {}
    for inst in instructions:
        if not {"A", "B"} <= set(inst.operands):
            continue
        found = numerics(inst)
        key = (
            found.model, found.step, found.subnormals, found.nan, found.provenance, found.source,
            inst.formats["D"],
            *sorted((name, value) for name, value in found.parameters.items() if name not in ("group", "rounding")),
        )  # fmt: skip
        sort = kind(inst) + ".sp" * (inst.sparse and inst.architecture.vendor == "nvidia")
        seen = (inst.formats["D"], sort, (inst.m, inst.n, inst.k), found.rounding, inst.name)
        _, (inputs, *others) = rows.setdefault(key, (found, [{} for _ in range(6)]))
        inputs |= dict.fromkeys((inst.formats["A"], inst.formats["B"]))
        for values, value in zip(others, seen):
            values[value] = None
    return tuple(
        Arithmetic((), tuple(inputs), tuple(outputs), tuple(kinds), tuple(shapes), found, tuple(roundings), len(names))
        for found, (inputs, outputs, kinds, shapes, roundings, names) in rows.values()
    )
