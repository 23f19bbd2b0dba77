"""Which element of a matrix each element of a fragment is, and how a fragment becomes an instruction's operands.

Fragments are laid out as instructions are, in the notation of `mmacalc.layout`:

    matrix_a      (v i) (c g e) -> lane (g i), item (v c e)
    matrix_b      (c g e) (v j) -> lane (g j), item (v c e)
    accumulator   (v m h) j -> lane (m j), item (v h)

e is the widest vector load, 16 bytes or all that a lane has (rocWMMA 1.6, MaxVectorWidth). v is 1 but for macro tiles,
which have more rows (columns) than the wave has lanes; only loads and stores take those, so that where their elements
are cannot be observed, and is not rocWMMA's. The digits of an accumulator are those of D of the architecture's
instructions. The instructions take a lane's elements in their order, so the k
that one instruction adds up are not always neighbours: of f16 16x16 blocks with BlockK = 32 on gfx942, the first of two
instructions takes k = 0..3, 8..11, 16..19 and 24..27. Since A and B agree, the product is right; since sums are
rounded, it matters for the bits.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..base.errors import Error
from ..catalog import instructions
from ..layout import Layout
from .support import ACCUMULATED_IN, can_multiply, minimal_k
from .types import format_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..base.arrays import Array
    from ..model import Architecture, Instruction

    Blocks = tuple[int, int, int]

__all__ = ["MemoryShape", "coordinates", "fragment_layout", "memory_shape", "multiplier", "operand_places"]

VECTOR_BYTES = 16
MATRIX_A = "(v i) (c g e) -> lane (g i), item (v c e)"
MATRIX_B = "(c g e) (v j) -> lane (g j), item (v c e)"
ACCUMULATOR = "(v m h) j -> lane (m j), item (v h)"


@lru_cache(maxsize=512)
def fragment_layout(architecture: Architecture, context: str, blocks: Blocks, itemsize: int) -> Layout:
    """The layout of a fragment, with the axes i (or j) and k, or i and j.

    Args:
        context: matrix_a, matrix_b or accumulator. blocks: BlockM, BlockN, BlockK. itemsize: bytes of an element.

    >>> from mmacalc.catalog import architecture
    >>> fragment_layout(architecture("gfx942"), "matrix_a", (16, 16, 32), 2).locate({"i": 1, "k": 9})
    ((17, 1),)
    """
    block_m, block_n, block_k = blocks
    if context == "accumulator":
        return Layout(ACCUMULATOR, ("i", "j"), _result_sizes(architecture, block_m, itemsize))
    rows, lanes = block_m if context == "matrix_a" else block_n, architecture.waves[0]
    in_lanes = min(rows, lanes)
    groups = lanes // in_lanes
    vector = min(VECTOR_BYTES // itemsize, block_k // groups)
    sizes = {"v": rows // in_lanes, "g": groups, "e": vector, "c": block_k // (groups * vector)}
    if context == "matrix_a":
        return Layout(MATRIX_A, ("i", "k"), {"i": in_lanes, **sizes})
    return Layout(MATRIX_B, ("k", "j"), {"j": in_lanes, **sizes})


def _result_sizes(architecture: Architecture, block: int, itemsize: int) -> dict[str, int]:
    """The digits of D of the architecture's instructions on such blocks, of 64 bits or of fewer."""
    for inst in instructions(architecture.name):
        if can_multiply(inst, block) and (inst.format("D").bits == 64) == (itemsize == 8):
            sizes = inst.operand("D").layout.sizes
            return {digit: sizes[digit] for digit in "vmhj"}
    raise Error(f"{architecture.title} has no instruction for {block} x {block} blocks of {itemsize} bytes")


@lru_cache(maxsize=512)
def coordinates(architecture: Architecture, context: str, blocks: Blocks, itemsize: int) -> tuple[Array, Array]:
    """(row, column) in the matrix of every element of a fragment: arrays of shape (lanes, elements).

    >>> from mmacalc.catalog import architecture
    >>> row, k = coordinates(architecture("cdna3"), "matrix_a", (16, 16, 32), 2)
    >>> row.shape, k[17].tolist()
    ((64, 8), [8, 9, 10, 11, 12, 13, 14, 15])
    """
    layout = fragment_layout(architecture, context, blocks, itemsize)
    tables = layout.place_tables()
    row, column = (np.add.outer(tables["lane"][axis], tables["item"][axis]) for axis in layout.axes)
    return row, column


class MemoryShape:
    """A fragment's elements as places in memory, for one layout and leading dimension: `places` of shape (lanes,
    elements), the least and the largest of them."""

    __slots__ = ("least", "most", "places")
    least: int
    most: int
    places: Array

    def __init__(self, places: Array) -> None:
        self.places, self.least, self.most = places, int(places.min()), int(places.max())


@lru_cache(maxsize=256)
def memory_shape(
    architecture: Architecture, context: str, blocks: Blocks, itemsize: int, row_major: bool, ldm: int
) -> MemoryShape:
    """Where the elements of a fragment are in memory, from its first element; ldm in elements.

    >>> from mmacalc.catalog import architecture
    >>> memory_shape(architecture("cdna3"), "accumulator", (16, 16, 16), 4, True, 100).places[17].tolist()
    [401, 501, 601, 701]
    """
    row, column = coordinates(architecture, context, blocks, itemsize)
    return MemoryShape(row * ldm + column if row_major else column * ldm + row)


@lru_cache(maxsize=512)
def multiplier(architecture: Architecture, kind: str, compute: str, block: int) -> Instruction:
    """The instruction that multiplies blocks of an input type into a compute type.

    Where no instruction has an f16 or bf16 accumulator (CDNA), it is the one that accumulates in f32.

    >>> from mmacalc.catalog import architecture
    >>> multiplier(architecture("cdna2"), "bf16", "f32", 16).name
    'v_mfma_f32_16x16x16bf16_1k'
    """
    k = minimal_k(architecture, kind, block)
    fitting = {
        inst.formats["D"]: inst
        for inst in instructions(architecture.name)
        if can_multiply(inst, block, format_of(kind, architecture)) and inst.k == k
    }
    native = format_of(compute, architecture).name
    wide = ACCUMULATED_IN.get(native, native)
    if native not in fitting and wide not in fitting:
        raise Error(f"{architecture.title} has no instruction for {block} x {block} blocks of {kind} into {compute}")
    return fitting.get(native) or fitting[wide]


@lru_cache(maxsize=512)
def operand_places(inst: Instruction, context: str, block_k: int, itemsize: int) -> Array:
    """Which element of a fragment each element of an instruction's matrix is.

    Returns:
        Indices into the fragment's (lanes, elements), flat. Of A (steps, M, K) and of B (steps, K, N), a step for each
        instruction of a block; of C and D (M, N).
    """
    if context == "accumulator":
        row, column = coordinates(inst.architecture, context, (inst.m, inst.n, block_k), itemsize)
        places = np.empty((inst.m, inst.n), np.intp)
        places[row, column] = np.arange(row.size).reshape(row.shape)
        return places
    operand = inst.operand("A" if context == "matrix_a" else "B")
    table = operand.table()
    if operand.layout.copies > 1:  # gfx11 keeps each row twice; the fragment has it in halves, one in each copy's lane
        table = table[..., 0]
    lane, item = table["lane"].astype(np.intp), table["item"].astype(np.intp)
    lanes = inst.architecture.waves[0]
    each = lane.size // lanes  # of a lane's elements, those that one instruction takes
    elements = each * block_k // inst.k
    lane += lanes // operand.layout.copies * (item // each)
    steps = np.arange(block_k // inst.k)[:, None, None] * each
    return lane * elements + steps + item % each
