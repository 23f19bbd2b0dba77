"""A or B of a GEMM in CUDA whose rows become columns on the way to shared memory: elements of 8 or 32 bits.

wgmma takes elements that have not 16 bits with k contiguous only, and so does the compressed A of mma.sp; TMA and
cp.async turn nothing over. So they go through registers: a stage is loaded before another is multiplied, and stored
behind that.
"""

from __future__ import annotations

from ..memory_access.swizzles import MODES
from .source import indented
from .staging import VECTOR, Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TRANSPOSE", "held_words", "neighbours", "turning"]

WORD = 4  # bytes of the wider elements
QUAD = 4  # rows of the tile that a thread fills at once
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


def turning(side: Side, depth: str, threads: int, whole: bool) -> Iterator[str]:
    """Rows of memory become columns of the tile: no instruction turns elements of this width over on the way.

    A thread takes neighbours of as many k as 16 bytes of a row of the tile have: four, which of 8-bit elements it turns
    over in registers, and of 32-bit elements only names in another order; or one element of 32 bits, where the tile's
    swizzle does not keep stores of four rows free of conflicts. So every store has 16 bytes.

    Args:
        depth: the k of a stage, as C text. threads: of a block. whole: whether K of aligned matrices is a multiple of
            the k of 16 bytes.
    """
    letter, per, deep, near = side.name.lower(), neighbours(side), VECTOR // side.bytes, _near(side)
    words = side.extent // per
    units, one = words * side.depth // deep, threads % (words * near) == 0
    yield from (
        f"// How a thread copies a stage of {side.name}, turned over: {per} of {deep} k at a time. Zeros beyond.",
        "template <bool aligned>",
        f"struct {letter}_copies {{",
    )
    counts = f"WORDS = {words}, UNITS = {units}, COPIES = {-(-units // threads)}"
    yield f"    enum {{ {counts} }};  // pieces of a k; of a stage"
    # Where a thread has the same piece of each k, one pointer is enough.
    several = "" if one else "[COPIES]"
    yield f"    const {side.element} *from{several};"
    yield f"    int ld, thread, inside{several};  // the elements from the piece on that the matrix has"
    count = _words_of_a_copy(side)
    yield f"    unsigned int words[COPIES][{count}];  // of the stage that is loaded, and not yet stored"
    yield ""
    yield f"    __device__ {letter}_copies(const {side.element} *matrix, int first, int extent, int ld, int thread)"
    yield "        : ld(ld), thread(thread) {"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {'1' if one else 'COPIES'}; ++n) {{"
    yield f"            const int at = thread + n * THREADS, m = first + {_word(side)} * {per};"
    yield "            // What is beyond an aligned matrix is any part of it: what it gives is not stored."
    yield f"            const int inner = !aligned || m < extent ? m : extent - {per};"
    yield f"            from{'' if one else '[n]'} = matrix + (long long)({_piece(side)} * {deep}) * ld + inner;"
    yield f"            inside{'' if one else '[n]'} = extent - m;"
    yield "        }"
    yield "    }"
    yield ""
    yield from _loads(side, depth, threads, whole)
    yield ""
    yield from _stores(side, threads)
    yield "};"
    yield ""


def _loads(side: Side, depth: str, threads: int, whole: bool) -> Iterator[str]:
    """The loads of one stage, as of `turning`."""
    deep, words = VECTOR // side.bytes, side.extent // neighbours(side)
    one = threads % (words * _near(side)) == 0
    yield "    __device__ void load_stage(int left) {"
    yield from _each_copy(words * side.depth // deep, threads)
    yield f"            const int more = left - {_piece(side)} * {deep};"
    first = f"from + (long long)(n * {threads // words * deep}) * ld" if one else "from[n]"
    loaded = _load_elements if side.bytes == WORD else _load_words
    yield from indented(loaded(side, first, "inside" if one else "inside[n]", whole), 3)
    if not one:
        yield f"            from[n] += (long long){depth} * ld;"
    yield "        }"
    if one:
        yield f"        from += (long long){depth} * ld;"
    yield "    }"


def _stores(side: Side, threads: int) -> Iterator[str]:
    """The stores of the stage that was loaded."""
    units = side.extent // neighbours(side) * side.depth * side.bytes // VECTOR
    yield f"    __device__ void store_stage(unsigned char *{side.name.lower()}_tile) {{"
    yield from _each_copy(units, threads)
    yield from indented((_store_elements if side.bytes == WORD else _store_words)(side), 3)
    yield "        }"
    yield "    }"


def _each_copy(units: int, threads: int) -> Iterator[str]:
    yield "#pragma unroll"
    yield "        for (int n = 0; n < COPIES; ++n) {"
    yield "            const int at = thread + n * THREADS;"
    if units % threads:
        yield "            if (at >= UNITS) break;"


def held_words(side: Side, threads: int) -> int:
    """The registers in which a thread holds its part of a stage.

    >>> held_words(Side("B", 128, 64, "unsigned char", 8, False, True, MODES["64B"]), 128)
    16
    """
    units = side.extent // neighbours(side) * side.depth * side.bytes // VECTOR
    return -(-units // threads) * _words_of_a_copy(side)


def _words_of_a_copy(side: Side) -> int:
    return VECTOR // side.bytes * neighbours(side) if side.bytes == WORD else VECTOR


def neighbours(side: Side) -> int:
    """How many neighbours in memory a thread takes at once."""
    return QUAD if side.bytes == 1 or _near(side) > 1 else 1


def _near(side: Side) -> int:
    """How many pieces of k neighbouring threads take, before they take the next elements of a k.

    Eight threads store 16 bytes at once, each to row m of its four: under the swizzle of 128 bytes four pieces of k of
    two such rows, which are four rows apart, lie in different banks. And they load whole lines of 128 bytes.
    """
    return QUAD if side.bytes == WORD and side.swizzle == MODES["128B"] else 1


def _word(side: Side) -> str:
    """Which piece of a k a thread takes, as C text."""
    near = _near(side)
    return f"at / {near} % WORDS" if near > 1 else "at % WORDS"


def _piece(side: Side) -> str:
    """Which 16 bytes of a row of the tile a thread makes, as C text."""
    near = _near(side)
    return f"(at / ({near} * WORDS) * {near} + at % {near})" if near > 1 else "at / WORDS"


def _load_elements(side: Side, first: str, inside: str, whole: bool) -> Iterator[str]:
    """The loads of a thread's elements of 32 bits; as of `_load_words`."""
    per, deep = neighbours(side), VECTOR // side.bytes
    vector = "u32x4" if per > 1 else "unsigned int"
    yield f"const {side.element} *at_k = {first};"
    yield "#pragma unroll"
    yield f"for (int e = 0; e < {deep}; ++e, at_k += ld) {{"
    yield f"    unsigned int *const word = words[n] + e * {per};"
    yield "    if (aligned) {"
    yield f"        {vector} found = {{}};"
    yield f"        if ({0 if whole else 'e'} < more) found = *(const {vector} *)at_k;"
    yield "#pragma unroll"
    yield f"        for (int m = 0; m < {per}; ++m) word[m] = found{'.word[m]' if per > 1 else ''};"
    yield "    } else {"
    yield "#pragma unroll"
    yield f"        for (int m = 0; m < {per}; ++m)"
    yield f"            word[m] = e < more && m < {inside} ? *(const unsigned int *)(at_k + m) : 0;"
    yield "    }"
    yield "}"


def _store_elements(side: Side) -> Iterator[str]:
    per = neighbours(side)
    yield "const unsigned int *const word = words[n];"
    yield "#pragma unroll"
    yield f"for (int m = 0; m < {per}; ++m) {{"
    yield f"    const u32x4 row = {{word[m], word[m + {per}], word[m + {2 * per}], word[m + {3 * per}]}};"
    place = side.tile.place(f"{_word(side)} * {per} + m", f"{_piece(side)} * {VECTOR}")
    yield f"    *(u32x4 *)({place}) = row;"
    yield "}"


def _load_words(side: Side, first: str, inside: str, whole: bool) -> Iterator[str]:
    """The loads of a thread's words of four elements of 8 bits.

    Args:
        first: the first of them; inside: how many elements from there on the matrix has, as C text. whole: as of
            `turning`.
    """
    yield "unsigned int *const word = words[n];"
    yield f"const {side.element} *at_k = {first};"
    yield "#pragma unroll"
    yield f"for (int e = 0; e < {VECTOR}; ++e, at_k += ld) {{"
    yield "    word[e] = 0;"
    yield "    if (aligned) {"
    yield f"        if ({0 if whole else 'e'} < more) word[e] = *(const unsigned int *)at_k;"
    yield "    } else {"
    yield "#pragma unroll"
    yield f"        for (int m = 0; m < {QUAD}; ++m)"
    yield f"            if (e < more && m < {inside}) word[e] |= (unsigned int)(unsigned char)at_k[m] << 8 * m;"
    yield "    }"
    yield "}"


def _store_words(side: Side) -> Iterator[str]:
    turn, whole_stage = _turn(side)
    order = f"at{'' if whole_stage else ' % WORDS'} / {turn} % {QUAD}" if turn else "0"
    yield "unsigned int *const word = words[n];"
    yield f"const int turn = {order};  // rows in another order, against conflicts"
    yield "#pragma unroll"
    yield f"for (int e = 0; e < {VECTOR}; e += {QUAD}) transpose(word + e, turn);"
    yield "#pragma unroll"
    yield f"for (int m = 0; m < {QUAD}; ++m) {{"
    yield "    const u32x4 row = {word[m], word[m + 4], word[m + 8], word[m + 12]};"
    place = side.tile.place(f"at % WORDS * {QUAD} + (m ^ turn)", f"at / WORDS * {VECTOR}")
    yield f"    *(u32x4 *)({place}) = row;"
    yield "}"


def _turn(side: Side) -> tuple[int, bool]:
    """How many words of a k in a row have their rows stored in the same order, so that fewest stores conflict (0: all);
    and whether they are counted through the stage, not from the beginning of each k: so rows of 128 bytes do not
    conflict where a k has four words behind the last eight.

    >>> from mmacalc.memory_access.swizzles import MODES
    >>> _turn(Side("A", 128, 64, "unsigned char", 8, False, True, MODES["64B"]))
    (2, False)
    >>> _turn(Side("B", 48, 128, "unsigned char", 8, False, True, MODES["128B"]))
    (2, True)
    """
    tile, words = side.tile, side.extent // QUAD

    def conflicts(given: tuple[int, bool]) -> int:
        found, (each, whole_stage) = 0, given
        for first in range(0, words * tile.row_bytes // VECTOR, 8):  # threads that store 16 bytes at once
            for m in range(QUAD):
                slots = set()
                for at in range(first, first + 8):
                    counted = at if whole_stage else at % words
                    row = at % words * QUAD + (m ^ (counted // each % QUAD if each else 0))
                    slots.add(tile.address(row * tile.row_bytes + at // words * VECTOR) // VECTOR % 8)
                found += 8 - len(slots)
        return found

    return min([(each, whole_stage) for whole_stage in (False, True) for each in (0, 1, 2, 4, 8)], key=conflicts)
