"""The combinations of types and block sizes that rocWMMA supports, and errors that list them.

A block is multiplied by the architecture's dense instruction of that size and type with the largest K. That K is the
smallest BlockK; larger powers of two take several instructions. So the table follows from the catalog, but for which
output and compute types go with an input type.

Source: rocWMMA API guide, "Supported Data Types" and "Supported Matrix Layouts" (its second 32x32 row for i8 repeats
i8/i32/i32 where i8/i8/i32 is meant: both are supported); the fp8, bf8 and xf32 rows, and the smallest BlockK of each
architecture (which tests hold against the rule), from the rocWMMA 1.6 source.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.errors import Error
from ..base.records import TupleRecord
from ..catalog import architectures, entry, instructions
from .types import format_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..formats import Format
    from ..model import Architecture, Instruction
    from .types import DataType

__all__ = ["Row", "can_multiply", "check_fragment", "check_multiply", "check_target", "minimal_k", "supported"]

BLOCKS = (16, 32)
MACRO_TILE = 256
"""The most rows of a macro tile of matrix_a, and columns of one of matrix_b (rocWMMA 1.6's register transforms)."""
SELECTABLE = {"i8": "iu8"}
"""Formats that an instruction can have instead of an input type's: its fields choose the sign."""
ACCUMULATED_IN = {"f16": "f32", "bf16": "f32"}
"""What a compute type is accumulated in where no instruction has accumulators of that type."""

OUTPUTS: dict[str, tuple[tuple[str, str], ...]] = {
    # input type: (output type, compute type) of each row
    "i8": (("i32", "i32"), ("i8", "i32")),
    "fp8": (("f32", "f32"),),
    "bf8": (("f32", "f32"),),
    "f16": (("f32", "f32"), ("f16", "f32"), ("f16", "f16")),
    "half": (("f32", "f32"), ("half", "f32"), ("half", "half")),
    "bf16": (("f32", "f32"), ("bf16", "f32"), ("bf16", "bf16")),
    "f32": (("f32", "f32"),),
    "xf32": (("f32", "f32"),),
    "f64": (("f64", "f64"),),
}


class Row(TupleRecord):
    """One row of the support table: Ti / To / Tc, BlockM, BlockN, and the smallest BlockK (a power of two)."""

    input: str
    output: str
    compute: str
    block_m: int
    block_n: int
    minimal_k: int


def check_target(architecture: Architecture, target: str) -> None:
    """Refuse an architecture that rocWMMA does not support.

    Args:
        target: as the user named it; a compiler target must be one of those that rocWMMA is built for.

    Raises:
        Error: lists the supported targets.
    """
    if not architecture.rocwmma or (target.startswith("gfx") and target not in architecture.rocwmma):
        known = [target for name in architectures() for target in entry(name).architecture.rocwmma]
        raise Error(f"Unsupported architecture {target}: rocWMMA supports {', '.join(known)}")


def can_multiply(inst: Instruction, block: int, kind: Format | None = None) -> bool:
    """Whether rocWMMA multiplies blocks of a size, and of a format if given, by an instruction of this sort."""
    if (inst.m, inst.n, inst.blocks) != (block, block, 1) or inst.sparse or inst.choices or inst.scaled:
        return False
    return kind is None or {inst.formats["A"], inst.formats["B"]} in ({kind.name}, {SELECTABLE.get(kind.name, "")})


@lru_cache(maxsize=64)
def _rows(architecture: Architecture) -> tuple[Row, ...]:
    if not architecture.rocwmma:
        return ()
    dense = instructions(architecture.name)
    return tuple(
        Row(kind, output, compute, block, block, max(depths))
        for kind, outputs in OUTPUTS.items()
        for output, compute in outputs
        for block in BLOCKS
        if (depths := [inst.k for inst in dense if can_multiply(inst, block, format_of(kind, architecture))])
    )


def supported(architecture: str) -> tuple[Row, ...]:
    """The rows of the support table that hold on an architecture, by any of its names; none if rocWMMA lacks it.

    >>> supported("gfx908")[0]
    Row(input='i8', output='i32', compute='i32', block_m=16, block_n=16, minimal_k=16)
    """
    return _rows(entry(architecture).architecture)


def check_fragment(architecture: Architecture, context: str, blocks: tuple[int, int, int], kind: DataType) -> None:
    """Refuse a fragment that no row has.

    Raises:
        Error: says which of the type, the block size and BlockK is wrong, and what is supported.
    """
    name = f"fragment<{context}, {', '.join(map(str, blocks))}, {kind.cpp}> on {architecture.rocwmma[0]}"
    block_m, block_n, block_k = blocks
    rows = [row for row in _rows(architecture) if kind.name in _types(row, context)]
    if not rows:
        role = "an accumulator" if context == "accumulator" else "an input"
        known = dict.fromkeys(t for row in _rows(architecture) for t in _types(row, context))
        raise Error(f"{name}: Unsupported data type; {role} is one of {', '.join(known)} there")
    fitting = [row for row in rows if _takes(row, context, block_m, block_n)]
    if not fitting:
        sizes = dict.fromkeys(f"{row.block_m} x {row.block_n}" for row in rows)
        raise Error(f"{name}: Unsupported block size {block_m} x {block_n}; {kind.name} has {' and '.join(sizes)}")
    if not any(_legal(row, block_k) for row in fitting):
        least = _minimal_text(fitting, kind.name if context != "accumulator" else None)
        raise Error(f"{name}: Unsupported BlockK {block_k}; {block_m} x {block_n} blocks take {least}")


def _takes(row: Row, context: str, block_m: int, block_n: int) -> bool:
    """Whether a fragment is a block of a row of the table, or a macro tile: several such blocks of matrix_a one below
    the other, or of matrix_b side by side, for loads and stores."""
    if context == "matrix_b":
        block_m, block_n = block_n, block_m
    if context == "accumulator" or block_m <= row.block_m:
        return block_m == block_n == row.block_m
    return block_n == row.block_n and block_m <= MACRO_TILE and block_m & (block_m - 1) == 0


def check_multiply(architecture: Architecture, blocks: tuple[int, int, int], kind: DataType, compute: DataType) -> None:
    """Refuse a product that no row has: an input type with that compute type.

    Raises:
        Error: says what the input type can be multiplied into.
    """
    rows = [row for row in _rows(architecture) if row.input == kind.name and row.block_m == blocks[0]]
    fitting = [row for row in rows if row.compute == compute.name]
    if not fitting:
        known = ", ".join(dict.fromkeys(row.compute for row in rows))
        raise Error(
            f"Unsupported Ti / Tc: {kind.name} is not accumulated in {compute.name} on {architecture.rocwmma[0]}; "
            f"for {blocks[0]} x {blocks[1]} blocks of {kind.name} it is {known}"
        )
    if not any(_legal(row, blocks[2]) for row in fitting):
        raise Error(f"Unsupported BlockK {blocks[2]}; {kind.name} takes {_minimal_text(fitting, kind.name)}")


def minimal_k(architecture: Architecture, kind: str, block: int) -> int:
    """The K of the instruction that multiplies blocks of this size and type."""
    for row in _rows(architecture):
        if row.input == kind and row.block_m == block:
            return row.minimal_k
    raise Error(f"{kind} has no {block} x {block} blocks on {architecture.rocwmma[0]}")


def _types(row: Row, context: str) -> tuple[str, ...]:
    return (row.output, row.compute) if context == "accumulator" else (row.input,)


def _legal(row: Row, block_k: int) -> bool:
    return block_k >= row.minimal_k and block_k & (block_k - 1) == 0


def _minimal_text(rows: list[Row], kind: str | None) -> str:
    if kind is not None:
        return f"a power of two from {rows[0].minimal_k} up"
    least = dict.fromkeys(f"{row.minimal_k} (of {row.input})" for row in rows)
    return f"a power of two from {' or '.join(least)} up"
