"""Which element of a matrix each element of a fragment is, and how a fragment becomes an instruction's operands.

A lane's elements follow vector loads, not the instruction. Of a matrix_a fragment, element e of lane l is

    row = l % BlockM,  k = V * (l / BlockM) + e % V + V * (wave / BlockM) * (e / V)

with V the widest vector: 16 bytes, or all that a lane has (rocWMMA 1.6, MaxVectorWidth). matrix_b is the same with
columns for rows. The instructions take a lane's elements in their order, so the k that one instruction adds up are
not always neighbours: of f16 16x16 blocks with BlockK = 32 on gfx942, the first of two instructions takes k = 0..3,
8..11, 16..19 and 24..27. Since A and B agree, the product is right; since sums are rounded, it matters for the bits.

Of an accumulator, element e of lane l is at column l % BlockN, in vectors of V = 4 rows (gfx9), 1 (FP64, gfx11) or 8
(gfx12), which is D's layout in registers.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from ..catalog import architecture as architecture_named
from ..catalog import instruction, instructions
from ..errors import Error
from .support import minimal_k

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["Shape", "coordinates", "multiplier", "offsets", "operand_places"]

VECTOR_BYTES = 16
INSTRUCTION_FORMATS = {
    # the formats of the table's input types, where the catalog calls them otherwise
    "half": ("f16",), "fp8": ("e4m3", "e4m3fnuz"), "bf8": ("e5m2", "e5m2fnuz"), "i8": ("i8", "iu8"),
}  # fmt: skip


def _vector(context: str, architecture: str, itemsize: int, elements: int) -> int:
    """Neighbouring elements of one lane."""
    if context != "accumulator":
        return min(VECTOR_BYTES // itemsize, elements)
    return {"rdna3": 1, "rdna4": 8}.get(architecture, 1 if itemsize == 8 else 4)


@cache
def coordinates(context: str, blocks: tuple[int, int, int], itemsize: int, architecture: str) -> tuple[Array, Array]:
    """(row, column) in the matrix of every element of a fragment: arrays of shape (lanes, elements).

    >>> row, k = coordinates("matrix_a", (16, 16, 32), 2, "cdna3")
    >>> row.shape, k[17].tolist()
    ((64, 8), [8, 9, 10, 11, 12, 13, 14, 15])
    """
    lanes = architecture_named(architecture).waves[0]
    block_m, block_n, block_k = blocks
    rows, columns = {"matrix_a": (block_m, block_k), "matrix_b": (block_k, block_n)}.get(context, (block_m, block_n))
    elements = rows * columns // lanes
    wide = block_n if context == "accumulator" else block_m  # blocks are square
    vector = _vector(context, architecture, itemsize, elements)
    lane, e = np.arange(lanes)[:, None], np.arange(elements)[None, :]
    across = np.broadcast_to(lane % wide, (lanes, elements))
    along = vector * (lane // wide) + e % vector + vector * (lanes // wide) * (e // vector)
    return (across, along) if context == "matrix_a" else (along, across)


class Shape:
    """A fragment's elements as places in memory, for one layout and leading dimension: `places` of shape (lanes,
    elements), the least and the largest of them."""

    __slots__ = ("least", "most", "places")

    def __init__(self, places: Array) -> None:
        self.places, self.least, self.most = places, int(places.min()), int(places.max())


@lru_cache(maxsize=256)
def offsets(
    context: str, blocks: tuple[int, int, int], itemsize: int, architecture: str, row_major: bool, ldm: int
) -> Shape:
    """Where the elements of a fragment are in memory, from its first element.

    >>> offsets("accumulator", (16, 16, 16), 4, "cdna3", True, 100).places[17].tolist()
    [401, 501, 601, 701]
    """
    row, column = coordinates(context, blocks, itemsize, architecture)
    return Shape(row * ldm + column if row_major else column * ldm + row)


@cache
def multiplier(architecture: str, kind: str, compute: str, block: int) -> Instruction:
    """The instruction that multiplies blocks of an input type into a compute type.

    On CDNA it accumulates in f32 (i32, f64) whatever the compute type; RDNA has f16 and bf16 accumulators.

    >>> multiplier("cdna2", "bf16", "f32", 16).name
    'v_mfma_f32_16x16x16bf16_1k'
    """
    formats = INSTRUCTION_FORMATS.get(kind, (kind,))
    native = {"half": "f16"}.get(compute, compute)
    if native in ("f16", "bf16") and architecture.startswith("cdna"):
        native = "f32"
    shape = (block, block, minimal_k(architecture, kind, block), 1)
    fitting = [
        inst
        for inst in instructions(architecture)
        if (inst.m, inst.n, inst.k, inst.blocks) == shape and not inst.sparse and not inst.choices
        if inst.formats["A"] in formats and inst.formats["B"] in formats and inst.formats["D"] == native
    ]
    if len(fitting) != 1:
        raise Error(
            f"{len(fitting)} instructions of {architecture} multiply {block} x {block} blocks of {kind} into {native}"
        )
    return instruction(architecture, fitting[0].name)


@cache
def operand_places(inst: Instruction, context: str, block_k: int, itemsize: int) -> Array:
    """Which element of a fragment each element of an instruction's matrix is.

    Returns:
        Indices into the fragment's (lanes, elements), flat. Of A (steps, M, K) and of B (steps, K, N), a step for each
        instruction of a block; of C and D (M, N).
    """
    lanes = inst.architecture.waves[0]
    if context == "accumulator":
        row, column = coordinates(context, (inst.m, inst.n, block_k), itemsize, inst.arch)
        held = np.empty((inst.m, inst.n), np.intp)
        held[row, column] = np.arange(row.size).reshape(row.shape)
        return held
    rows = inst.m if context == "matrix_a" else inst.n
    each = rows * inst.k // lanes  # a lane's elements that one instruction takes
    elements = rows * block_k // lanes
    step, row, k = np.ogrid[: block_k // inst.k, :rows, : inst.k]
    places: Array = (row + rows * (k // each)) * elements + step * each + k % each
    return places if context == "matrix_a" else places.transpose(0, 2, 1)
