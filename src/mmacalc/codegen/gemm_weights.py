"""B of 4 bits in a GEMM of 16-bit elements: how a lane makes the values of two products from one word of B.

A word has eight weights of a column, 2 t and 2 t + 1 of each eight k, t being the lane's place among four: just what a
lane holds of B in two products of 16 k. Neighbours there are 16 bits apart in the word, so one shift, one lop3 and two
operations on pairs give a register: behind 0x6400 (of bf16 0x4300) four bits are 1024 + x (128 + x), from which 1032
(136) is taken. The result is rounded once, when it is multiplied by its scale.

Source: PTX ISA 9.1, sections 9.7.14.5.8 (the fragment of B), 9.7.8.6 (lop3).
"""

from __future__ import annotations

from ..base.errors import Error
from ..memory_access.swizzles import MODES
from .ptx import operands
from .staging import Side, matrix_swizzle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction
    from .gemm_staging import CudaPlan

__all__ = ["GROUP", "function", "operand_lines", "prologue", "side", "words"]

GROUP = 128  # k that share a scale
# By the type of A: the bits in front of a weight, and the statements that make it a number times its scale.
NUMBERS = {
    "f16": (0x64006400, ("sub.f16x2 pair, pair, %3;", "mul.f16x2 %0, pair, %2;"), (0x64086408,)),
    "bf16": (
        0x43004300,
        ("fma.rn.bf16x2 pair, pair, %3, %4;", "fma.rn.bf16x2 %0, pair, %2, %5;"),
        (0x3F803F80, 0xC308C308, 0x80008000),  # times 1 minus 136; minus 0
    ),
}


def side(inst: Instruction, extent: int, depth: int, order: str) -> Side:
    """B in a stage, two weights to a byte.

    Raises:
        Error: an instruction that this is not for, or B row by row.
    """
    form = inst.format("B").name
    if form not in NUMBERS or inst.k != 16 or inst.format("A").name != form or inst.sparse:
        raise Error(
            f"weights of int4 are made f16 or bf16 for a dense mma.sync of K = 16, such as m16n8k16; not {inst.name}"
        )
    if order != "col":
        raise Error("weights of int4 lie as mmacalc.pack_int4 has them, column by column: use order_b='col'")
    plain = Side("B", extent, depth // 2, "unsigned char", 8, True, False, MODES["none"])
    return plain._replace(swizzle=matrix_swizzle(plain.tile.row_bytes))


def function(inst: Instruction) -> Iterator[str]:
    """The function that makes a register of B."""
    front, statements, numbers = NUMBERS[inst.format("B").name]
    yield "// Two weights of a word, times their scale: bits 3:0 and 19:16, of which 8 is taken."
    yield "static __device__ unsigned int weights(unsigned int word, unsigned int scale) {"
    yield "    unsigned int found;"
    yield '    asm("{ .reg .b32 pair;\\n"'
    yield f'        "lop3.b32 pair, %1, 0x000f000f, {front:#x}, 0xea;\\n"  // (word & mask) | front'
    for number, statement in enumerate(statements, 1):
        end = " }" if number == len(statements) else "\\n"
        yield f'        "{statement}{end}"'
    inputs = ['"r"(word)', '"r"(scale)', *[f'"r"({number:#x})' for number in numbers]]
    yield from operands(['"=r"(found)'], inputs)
    yield "    return found;"
    yield "}"
    yield ""


def prologue(found: CudaPlan) -> Iterator[str]:
    """Where a lane's words lie in a stage, and how scales are fetched, a group ahead."""
    count = words(found)
    yield f"// B as mmacalc.pack_int4 lays it out; a scale for each {GROUP} k of a column."
    yield f"int b_at[{count}];"
    yield f"for (int word = 0; word < {count}; ++word) b_at[word] = b_place(warp_n + b_j, 16 * word + 4 * b_t);"
    yield "unsigned int scale[TILES_N], next_scale[TILES_N];"
    yield "const auto fetch = [&](int k) {"
    yield "#pragma unroll"
    yield "    for (int j = 0; j < TILES_N; ++j) {"
    yield f"        const int column = first_n + warp_n + j * {found.instruction.n} + b_j;"
    yield "        const bool inside = k < K && column < N;"
    yield f"        const unsigned int one = inside ? B_scales[(long long)(k / {GROUP}) * N + column] : 0;"
    yield "        next_scale[j] = one << 16 | one;"
    yield "    }"
    yield "};"
    yield "fetch(0);"


def words(found: CudaPlan) -> int:
    """The words of a column in a stage, for two products each."""
    return found.steps // 2


def operand_lines(found: CudaPlan, step: int) -> Iterator[str]:
    """The registers of B of one step."""
    row_bytes = found.b.tile.row_bytes
    if step == 0:
        yield f"if (k % {GROUP} == 0) {{"
        yield "#pragma unroll"
        yield "    for (int j = 0; j < TILES_N; ++j) scale[j] = next_scale[j];"
        yield f"    fetch(k + {GROUP});  // arrives while these are used"
        yield "}"
    if step % 2 == 0:
        kind = "unsigned int " if step == 0 else ""
        yield f"{kind}word[TILES_N];" if kind else "// The words of the next two steps."
        yield "#pragma unroll"
        yield "for (int j = 0; j < TILES_N; ++j)"
        yield f"    word[j] = *(const unsigned int *)(b_tile + b_at[{step // 2}] + j * {8 * row_bytes});"
    yield "#pragma unroll"
    yield "for (int j = 0; j < TILES_N; ++j) {"
    for part in range(2):
        shift = 8 * (step % 2) + 4 * part
        yield f"    b_part[j][{part}] = weights(word[j]{f' >> {shift}' if shift else ''}, scale[j]);"
    yield "}"
