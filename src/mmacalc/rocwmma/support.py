"""What rocWMMA supports: a table of rows, and the refusals that say what it has instead.

Source: rocWMMA API guide, "Supported Data Types" and "Supported Matrix Layouts" (its second 32x32 row for i8 repeats
i8/i32/i32 where i8/i8/i32 is meant: both are supported); the minimal BlockK of each architecture, and the fp8, bf8 and
xf32 rows, from the rocWMMA 1.6 source. A minimal BlockK is the K of the instruction that a block of that size is
computed with; BlockK is that or a larger power of two.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .types import DataType

__all__ = ["Row", "TARGETS", "check_fragment", "check_multiply", "minimal_k", "supported", "target_of"]

TARGETS = {
    "gfx908": "cdna1", "gfx90a": "cdna2", "gfx942": "cdna3", "gfx950": "cdna4", "gfx1100": "rdna3",
    "gfx1101": "rdna3", "gfx1102": "rdna3", "gfx1200": "rdna4", "gfx1201": "rdna4",
}  # fmt: skip
"""The compiler targets that rocWMMA supports, with the catalog's name of each."""

CDNA, RDNA = ("cdna1", "cdna2", "cdna3", "cdna4"), ("rdna3", "rdna4")

MINIMAL_K = (
    # input type, architectures, minimal BlockK of 16x16 blocks, of 32x32 blocks (None: no such block)
    ("i8", ("cdna1", "cdna2"), 16, 8),
    ("i8", ("cdna3",), 32, 16),
    ("i8", ("cdna4",), 64, 32),
    ("i8", RDNA, 16, None),
    ("fp8", ("cdna3", "cdna4"), 32, 16),
    ("fp8", ("rdna4",), 16, None),
    ("bf8", ("cdna3", "cdna4"), 32, 16),
    ("bf8", ("rdna4",), 16, None),
    ("f16", ("cdna1", "cdna2", "cdna3"), 16, 8),
    ("f16", ("cdna4",), 32, 16),
    ("f16", RDNA, 16, None),
    ("half", ("cdna1", "cdna2", "cdna3"), 16, 8),
    ("half", ("cdna4",), 32, 16),
    ("half", RDNA, 16, None),
    ("bf16", ("cdna1",), 8, 4),
    ("bf16", ("cdna2", "cdna3"), 16, 8),
    ("bf16", ("cdna4",), 32, 16),
    ("bf16", RDNA, 16, None),
    ("f32", CDNA, 4, 2),
    ("xf32", ("cdna3",), 8, 4),
    ("f64", ("cdna2", "cdna3", "cdna4"), 4, None),
)

OUTPUTS = {
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


class Row(namedtuple("Row", "input output compute block_m block_n minimal_k")):
    """One row of the support table: Ti / To / Tc, BlockM, BlockN, and the smallest BlockK (a power of two)."""

    __slots__ = ()
    input: str
    output: str
    compute: str
    block_m: int
    block_n: int
    minimal_k: int


def target_of(architecture: str, target: str) -> str:
    """The catalog's name of an architecture that rocWMMA supports.

    Args:
        architecture: the catalog's name. target: as the user named it; a compiler target must be one of `TARGETS`.

    Raises:
        Error: rocWMMA does not support it.

    >>> target_of("cdna3", "mi300x")
    'cdna3'
    """
    if architecture not in TARGETS.values() or (target.startswith("gfx") and target not in TARGETS):
        raise Error(f"Unsupported architecture {target}: rocWMMA supports {', '.join(TARGETS)}")
    return architecture


@cache
def supported(architecture: str) -> tuple[Row, ...]:
    """The rows of the support table that hold on an architecture, by the catalog's name or a compiler target.

    >>> supported("gfx908")[0]
    Row(input='i8', output='i32', compute='i32', block_m=16, block_n=16, minimal_k=16)
    """
    name = TARGETS.get(architecture, architecture)
    return tuple(
        Row(kind, output, compute, block, block, least)
        for kind, architectures, *sizes in MINIMAL_K
        if name in architectures
        for output, compute in OUTPUTS[kind]
        for block, least in zip((16, 32), sizes)
        if least is not None
    )


def check_fragment(architecture: str, context: str, blocks: tuple[int, int, int], kind: DataType) -> None:
    """Refuse a fragment that no row has.

    Raises:
        Error: says which of the type, the block size and BlockK is wrong, and what is supported.
    """
    name = f"fragment<{context}, {', '.join(map(str, blocks))}, {kind.cpp}> on {_target(architecture)}"
    block_m, block_n, block_k = blocks
    rows = [row for row in supported(architecture) if kind.name in _types(row, context)]
    if not rows:
        role = "an accumulator" if context == "accumulator" else "an input"
        known = dict.fromkeys(t for row in supported(architecture) for t in _types(row, context))
        raise Error(f"{name}: Unsupported data type; {role} is one of {', '.join(known)} there")
    fitting = [row for row in rows if (row.block_m, row.block_n) == (block_m, block_n)]
    if not fitting:
        sizes = dict.fromkeys(f"{row.block_m} x {row.block_n}" for row in rows)
        raise Error(f"{name}: Unsupported block size {block_m} x {block_n}; {kind.name} has {' and '.join(sizes)}")
    if not any(_legal(row, block_k) for row in fitting):
        least = _minimal_text(fitting, kind.name if context != "accumulator" else None)
        raise Error(f"{name}: Unsupported BlockK {block_k}; {block_m} x {block_n} blocks take {least}")


def check_multiply(architecture: str, blocks: tuple[int, int, int], kind: DataType, compute: DataType) -> None:
    """Refuse a product that no row has: an input type with that compute type.

    Raises:
        Error: says what the input type can be multiplied into.
    """
    rows = [row for row in supported(architecture) if row.input == kind.name and row.block_m == blocks[0]]
    fitting = [row for row in rows if row.compute == compute.name]
    if not fitting:
        known = ", ".join(dict.fromkeys(row.compute for row in rows))
        raise Error(
            f"Unsupported Ti / Tc: {kind.name} is not accumulated in {compute.name} on {_target(architecture)}; "
            f"for {blocks[0]} x {blocks[1]} blocks of {kind.name} it is {known}"
        )
    if not any(_legal(row, blocks[2]) for row in fitting):
        raise Error(f"Unsupported BlockK {blocks[2]}; {kind.name} takes {_minimal_text(fitting, kind.name)}")


def minimal_k(architecture: str, kind: str, block: int) -> int:
    """The K of the instruction that multiplies blocks of this size and type."""
    for row in supported(architecture):
        if row.input == kind and row.block_m == block:
            return row.minimal_k
    raise Error(f"{kind} has no {block} x {block} blocks on {_target(architecture)}")


def _types(row: Row, context: str) -> tuple[str, ...]:
    return (row.output, row.compute) if context == "accumulator" else (row.input,)


def _legal(row: Row, block_k: int) -> bool:
    return block_k >= row.minimal_k and block_k & (block_k - 1) == 0


def _minimal_text(rows: list[Row], kind: str | None) -> str:
    if kind is not None:
        return f"a power of two from {rows[0].minimal_k} up"
    least = dict.fromkeys(f"{row.minimal_k} (of {row.input})" for row in rows)
    return f"a power of two from {' or '.join(least)} up"


def _target(architecture: str) -> str:
    return next(target for target, name in TARGETS.items() if name == architecture)
