"""A or B of a GEMM in CUDA whose rows become columns on the way to shared memory: elements of 8 or 32 bits.

wgmma takes elements that have not 16 bits with k contiguous only, and so does the compressed A of mma.sp; TMA and
cp.async turn nothing over. So they go through registers.
"""

from __future__ import annotations

from .staging import VECTOR, Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TRANSPOSE", "turning"]

WORD = 4  # bytes of a matrix that a thread loads at once
TRANSPOSE = """\
// Bytes of four words, turned over: word m becomes byte m ^ turn of each.
static __device__ void transpose(unsigned int *word, int turn) {
    const unsigned int front = turn & 2 ? 0x7362 : 0x5140, even = turn & 1 ? 0x7632 : 0x5410;
    const unsigned int choice[4] = {front, front ^ 0x2222, even, even ^ 0x2222};
    unsigned int half[4];
#pragma unroll
    for (int n = 0; n < 4; ++n)
        asm("prmt.b32 %0, %1, %2, %3;" : "=r"(half[n]) : "r"(word[n / 2 * 2]), \
"r"(word[n / 2 * 2 + 1]), "r"(choice[n % 2]));
#pragma unroll
    for (int n = 0; n < 4; ++n)
        asm("prmt.b32 %0, %1, %2, %3;" : "=r"(word[n]) : "r"(half[n / 2]), \
"r"(half[n / 2 + 2]), "r"(choice[2 + n % 2]));
}

"""


def turning(side: Side, depth: str, threads: int) -> Iterator[str]:
    """Rows of memory become columns of the tile: no instruction turns elements of this width over on the way.

    A thread takes words of four bytes of as many k as 16 bytes of a row of the tile have; of 8-bit elements it turns
    four by four over in registers. So every store has 16 bytes, and neighbouring threads load neighbouring words.

    Args:
        depth: the k of a stage, as C text. threads: of a block.
    """
    letter, per, deep = side.name.lower(), WORD // side.bytes, VECTOR // side.bytes
    words = side.extent // per
    units, one = words * side.depth // deep, threads % words == 0
    yield from (
        f"// How a thread copies a stage of {side.name}, turned over: words of {deep} k at a time. Zeros beyond.",
        "template <bool aligned>",
        f"struct {letter}_copies {{",
    )
    counts = f"WORDS = {words}, UNITS = {units}, COPIES = {-(-units // threads)}"
    yield f"    enum {{ {counts} }};  // words of a k; of a stage"
    # Where a thread has the same word of each k, one pointer is enough.
    several = "" if one else "[COPIES]"
    yield f"    const {side.element} *from{several};"
    yield f"    int ld, thread, inside{several};  // the elements from the word on that the matrix has"
    yield ""
    yield f"    __device__ {letter}_copies(const {side.element} *matrix, int first, int extent, int ld, int thread)"
    yield "        : ld(ld), thread(thread) {"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {'1' if one else 'COPIES'}; ++n) {{"
    yield f"            const int at = thread + n * THREADS, m = first + at % WORDS * {per};"
    yield "            // What is beyond an aligned matrix is any part of it: what it gives is not stored."
    yield f"            const int inner = !aligned || m < extent ? m : extent - {per};"
    yield f"            from{'' if one else '[n]'} = matrix + (long long)(at / WORDS * {deep}) * ld + inner;"
    yield f"            inside{'' if one else '[n]'} = extent - m;"
    yield "        }"
    yield "    }"
    yield ""
    yield f"    __device__ void copy_stage(unsigned char *{letter}_tile, int left) {{"
    yield "#pragma unroll"
    yield "        for (int n = 0; n < COPIES; ++n) {"
    yield "            const int at = thread + n * THREADS;"
    if units % threads:
        yield "            if (at >= UNITS) break;"
    yield f"            const int more = left - at / WORDS * {deep};"
    first = f"from + (long long)(n * {threads // words * deep}) * ld" if one else "from[n]"
    yield from (f"            {line}" for line in _turned_words(side, first, "inside" if one else "inside[n]"))
    if not one:
        yield f"            from[n] += (long long){depth} * ld;"
    yield "        }"
    if one:
        yield f"        from += (long long){depth} * ld;"
    yield "    }"
    yield "};"
    yield ""


def _turned_words(side: Side, first: str, inside: str) -> Iterator[str]:
    """The loads of a thread's words, and its stores.

    Args:
        first: the first of them; inside: how many elements from there on the matrix has, as C text.
    """
    per, deep = WORD // side.bytes, VECTOR // side.bytes  # elements of a word, k of 16 bytes
    yield f"unsigned int word[{deep}];"
    yield f"const {side.element} *at_k = {first};"
    yield "#pragma unroll"
    yield f"for (int e = 0; e < {deep}; ++e, at_k += ld) {{"
    yield "    word[e] = 0;"
    yield "    if (aligned) {"
    yield "        if (e < more) word[e] = *(const unsigned int *)at_k;"
    yield "    } else {"
    yield "#pragma unroll"
    yield f"        for (int m = 0; m < {per}; ++m)"
    shifted = "(unsigned int)(unsigned char)at_k[m] << 8 * m" if per > 1 else "*(const unsigned int *)at_k"
    yield f"            if (e < more && m < {inside}) word[e] |= {shifted};"
    yield "    }"
    yield "}"
    byte = f"at / WORDS * {VECTOR}"
    if per == 1:
        yield "const u32x4 row = {word[0], word[1], word[2], word[3]};"
        yield f"*(u32x4 *)({side.tile.place('at % WORDS', byte)}) = row;"
        return
    turn = _turn(side)
    order = f"at % WORDS / {turn} % {per}" if turn else "0"
    yield f"const int turn = {order};  // rows in another order, against conflicts"
    yield "#pragma unroll"
    yield f"for (int e = 0; e < {deep}; e += {per}) transpose(word + e, turn);"
    yield "#pragma unroll"
    yield f"for (int m = 0; m < {per}; ++m) {{"
    yield "    const u32x4 row = {word[m], word[m + 4], word[m + 8], word[m + 12]};"
    yield f"    *(u32x4 *)({side.tile.place(f'at % WORDS * {per} + (m ^ turn)', byte)}) = row;"
    yield "}"


def _turn(side: Side) -> int:
    """How many words of a k in a row have their rows stored in the same order, so that fewest stores conflict; 0: all.

    >>> from mmacalc.memory_access.swizzles import MODES
    >>> _turn(Side("A", 128, 64, "unsigned char", 8, False, True, MODES["64B"]))
    2
    """
    tile, words = side.tile, side.extent // WORD

    def conflicts(each: int) -> int:
        found = 0
        for first in range(0, words * tile.row_bytes // VECTOR, 8):  # threads that store 16 bytes at once
            for m in range(WORD):
                slots = set()
                for at in range(first, first + 8):
                    row = at % words * WORD + (m ^ (at % words // each % WORD if each else 0))
                    slots.add(tile.address(row * tile.row_bytes + at // words * VECTOR) // VECTOR % 8)
                found += 8 - len(slots)
        return found

    return min((0, 1, 2, 4, 8), key=conflicts)
