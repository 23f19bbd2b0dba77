"""A or B of 8 or 32 bits whose rows become columns in shared memory, on their way from TMA to wgmma.

wgmma takes such elements with k contiguous only, and TMA turns nothing over. So a stage arrives as memory has it, in
squares with rows of 128 bytes, and the warpgroup that copies turns each square over where it lies. ldmatrix does most
of it. Of 32 bits, one gives a lane four k of a row in four registers, which one store of 16 bytes takes as they are.
Of 8 bits, two ldmatrix.trans give it 16 k of two rows, and two byte permutations for each four k take them apart. What
the lanes of a load or of a store take at once lies in different banks, under the swizzle of 128 bytes in which TMA
writes and wgmma reads.

Sources: PTX ISA 9.1, sections 9.7.14.5 (ldmatrix), 9.7.15.5 (wgmma: operands that have not 16 bits are K-major).
"""

from __future__ import annotations

from .gemm_cuda_loads import PERMUTED, matrix_loads
from .tensor_copies import ROW_BYTES, copies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .staging import Side

__all__ = ["REGISTERS", "fits", "functions", "turned_over", "turning"]

REGISTERS = 72, 216  # of a thread that copies and turns, of one that multiplies: 128 x 72 + 256 x 216 fit into 65,536
STORE = """\
static __device__ void store(unsigned int to, const unsigned int *word) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                 : : "r"(to), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]) : "memory");
}
"""
TURN_WORDS = """\
// A warp turns 32 k of 32 elements of 32 bits over where they lie. Matrix m of a load has the k 4 n + m: so the four
// registers of a lane are neighbours in a row of k.
static __device__ void turn_words(unsigned int square, int lane) {
    const unsigned int from = square + lane / 8 * 128 + ((lane % 8 ^ lane / 8) * 16);
    const unsigned int to = square + lane * 128, slot = lane % 8 * 16;
    unsigned int word[8][4];
#pragma unroll
    for (int n = 0; n < 8; ++n) load_matrices(word[n], (from ^ n % 2 * 64) + n * 512);
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");  // all of it is in registers
#pragma unroll
    for (int n = 0; n < 8; ++n) store(to + (slot ^ n * 16), word[n]);
}
"""
TURN_BYTES = """\
// A warpgroup turns 128 k of 128 elements of 8 bits over where they lie. The eight matrices of two loads have 16 k of
// pairs of elements; which 16 elements, and whether the upper 64 k, goes by the rows of a matrix, against conflicts.
static __device__ void turn_bytes(unsigned int square, int thread) {
    const int lane = thread % 32, even = thread / 32 % 2, upper = thread / 64;  // which a warp takes
    const int named = lane % 8, k = (upper ^ named / 4) * 64 + lane / 8 * 2 + named % 2;  // that this lane names
    const unsigned int from = square + k * 128 + (((named & 6) + even ^ k % 8) * 16);
    const int pair = lane % 4, row = (pair * 2 + even) * 16 + lane / 4 * 2 + pair % 2;  // that it stores first
    const unsigned int to = square + row * 128 + (((upper ^ pair / 2) * 4 ^ row % 8) * 16);
    const unsigned int first = pair % 2 ? 0x7531 : 0x6420, second = first ^ 0x1111;  // odd elements, or even ones
    unsigned int word[4][8], four[4];
#pragma unroll
    for (int n = 0; n < 8; ++n) load_matrices_turned(word[n / 2] + n % 2 * 4, from + n * 1024);
    asm volatile("bar.sync 1, 128;" ::: "memory");  // all of it is in registers
#pragma unroll
    for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            four[e] = permuted(word[n / 2][e * 2], word[n / 2][e * 2 + 1], n % 2 ? second : first);
        store(to ^ n / 2 * 16 ^ n % 2 * 144, four);
    }
}
"""


def turned_over(given: Side) -> Side:
    """A side with k contiguous in a stage, of which memory has the rows of the matrix one behind the other.

    >>> import mmacalc
    >>> from .tensor_copies import box, side
    >>> inst = mmacalc.instruction("h100", "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32")
    >>> found = turned_over(side(inst, "B", 128, True))
    >>> box(found), copies(found)  # 32 k of 32 columns
    ((32, 32), 4)
    """
    return given._replace(along_k=False, turned=True)


def fits(given: Side) -> bool:
    """Whether whole squares are turned over.

    >>> import mmacalc
    >>> from .tensor_copies import side
    >>> inst = mmacalc.instruction("h100", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3")
    >>> fits(turned_over(side(inst, "A", 256, True))), fits(turned_over(side(inst, "B", 64, True)))
    (True, False)
    """
    return not given.turned or given.extent % (ROW_BYTES // given.bytes) == 0


def functions(sides: Sequence[Side]) -> Iterator[str]:
    """What stands before the kernel.

    Args:
        sides: those that are turned over; all have elements of one width.
    """
    if not sides:
        return
    wide = sides[0].bytes == 4
    yield from matrix_loads(not wide)
    yield from (STORE, TURN_WORDS) if wide else (PERMUTED, STORE, TURN_BYTES)


def turning(sides: Sequence[Side]) -> Iterator[str]:
    """The warpgroup that copied turns the stage `at` over, and tells the others."""
    for given in sides:
        count, name = copies(given), given.name
        square = f"{name.lower()}_stages + at * {name}_BYTES + square * {given.tile.bytes // count}"
        yield "#pragma unroll"
        if given.bytes == 4:
            yield f"for (int square = thread % WARPGROUP / 32; square < {count}; square += 4)"
            yield f"    turn_words({square}, thread % 32);"
        else:
            yield f"for (int square = 0; square < {count}; ++square) turn_bytes({square}, thread % WARPGROUP);"
    yield "// The asynchronous proxy, through which wgmma reads, sees what this thread stored."
    yield 'asm volatile("fence.proxy.async.shared::cta;\\n"'
    yield '             "bar.warp.sync 0xffffffff;" ::: "memory");'
    yield "if (thread % 32 == 0) arrive(turned_at + 8 * at);"
