"""The metadata of a compressed A in GEMMs whose threads have it in registers: mma.sp and wgmma.

A lane loads its words of a stage while the stage before is multiplied. What memory has no words for selects the first
two values of each group (of tf32 the first), which are zeros of A, or of rows that are not stored.

Source: PTX ISA 9.1, sections 9.7.14.6 and 9.7.15.6 (metadata, sparsity selector).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction

__all__ = ["fetching", "next_words", "selected"]


def fetching(inst: Instruction, steps: int, tiles: str, first: str) -> Iterator[str]:
    """The words `now` and `next` of a lane for each tile, and the function `fetch` that loads those of a stage.

    Args:
        steps: products along k of a stage. tiles: the name of their number along M; first: the first row, as C text.
    """
    depth = inst.index_sets() * inst.k
    words = steps * inst.k // depth
    yield f"// Metadata as mmacalc.pack_sparse lays it out: a word of each lane for {depth} k"
    yield f"// of {inst.m} rows, scale_stride words for all k; those of one stage, and those of the next."
    yield f"unsigned int now[{tiles}][{words}], next[{tiles}][{words}];"
    yield "const auto fetch = [&](int k) {"
    yield "#pragma unroll"
    yield f"    for (int i = 0; i < {tiles}; ++i) for (int word = 0; word < {words}; ++word) {{"
    yield f"        const int row = ({first}) / {inst.m} + i, at = k / {depth} + word;"
    yield f"        const bool inside = row * {inst.m} < M && at * {depth} < K;"
    place = f"((long long)row * scale_stride + at) * {inst.operand('K').lanes} + lane"
    yield f"        next[i][word] = inside ? metadata[{place}] : 0x44444444;"
    yield "    }"
    yield "};"


def next_words(*letters: str) -> Iterator[str]:
    """What was fetched becomes that of this stage, and that of the next is fetched.

    Args:
        letters: what the names of words begin with.
    """
    for letter in letters:
        yield "#pragma unroll"
        yield f"for (int n = 0; n < sizeof({letter}now) / 4; ++n) {letter}now[0][n] = {letter}next[0][n];"
    yield "fetch(k + BLOCK_K);  // arrives while this stage is multiplied"


def selected(inst: Instruction, step: int) -> tuple[int, int]:
    """The word of a stage that has the metadata of a step, and the sparsity selector that says which part of it."""
    return divmod(step, inst.index_sets())
