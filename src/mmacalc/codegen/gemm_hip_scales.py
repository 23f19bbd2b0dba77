"""How a GEMM of AMD moves what a product takes beside A and B: the scales of MX formats, the metadata of a sparse A.

Scales go from memory to LDS for several stages, to registers for one. A row of A (column of B) has one scale of 8 bits
for each 32 k, so a stage needs only a few bytes of each row, and a load of them costs the first cache as much as one of
16 bytes: a line for each row. So a work-item loads 16 bytes of a row at once, enough for several stages. They lie in
LDS word by word, those of all rows side by side, so that neither writes nor reads have bank conflicts. There are two
such tiles in turn: one is filled while the other is read. Where an instruction reads the scales of 16 rows from one
half of a wave (gfx1250), a register has those of two tiles.

Metadata go to registers, a stage ahead: each lane has words of its own, which lie side by side.
"""

from __future__ import annotations

import math

from .fragments import fragment, total
from .gemm import scale_span
from .gemm_lds import SCALED_K, VECTOR
from .source import indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .gemm import Plan
    from .staging import Side

__all__ = ["beside", "beside_stage", "halves", "index_of", "scale_functions"]

WORD = 4  # scales of 8 bits

BYTES = """\
// 16 scales of a row one by one, of which `left` are inside: where rows do not begin at words.
static __device__ u32x4 fetch_scale_bytes(__amdgpu_buffer_rsrc_t matrix, int at, int left) {
    asm volatile("" : "+v"(at));  // or the place of each byte is kept in a register of its own
    union { u32x4 all; unsigned char each[16]; } found;
#pragma unroll
    for (int e = 0; e < 16; ++e)
        found.each[e] = __builtin_amdgcn_raw_buffer_load_b8(matrix, e < left ? at + e : OUTSIDE, 0, 0);
    return found.all;
}
"""


def _by_bytes(found: Plan) -> bool:
    """Whether there are K whose rows of scales do not begin at words."""
    return bool(found.scales_k // SCALED_K % WORD or scale_span(found.block_k) % WORD)


def halves(found: Plan, side: str) -> int:
    """How many tiles of A (B) a register has the scales of: 2 if the instruction reads half a wave, else 1."""
    tiles = found.tiles_m if side == "A" else found.tiles_n
    half = f"matrix_{found.operand(side).name.lower()}_scale" in found.instruction.modifier_limits()
    return 2 if half and found.wave == 2 * found.tile(side) and tiles % 2 == 0 else 1


def scale_functions(found: Plan) -> Iterator[str]:
    """The function for rows that do not begin at words."""
    if found.instruction.scaled and _by_bytes(found):
        yield BYTES


def beside_stage(found: Plan, what: str, k: str) -> Iterator[str]:
    """The call that fetches, keeps or reads the scales or metadata of the stage at k, if there are any."""
    if found.instruction.scaled:
        yield f"{what}_scales({k});"
    if found.instruction.sparse and what != "read":  # metadata are in registers where they are kept
        yield f"{what}_index({k});"


def beside(found: Plan) -> Iterator[str]:
    """What loads and reads scales or metadata, as functions within the kernel's."""
    if found.instruction.scaled:
        yield from _scales(found)
    elif found.instruction.sparse:
        yield from _index(found)


def _index(found: Plan) -> Iterator[str]:
    """What loads metadata."""
    inst, words, sets = found.instruction, found.index_words, found.instruction.index_sets(found.wave)
    deep = inst.k * sets
    unit = math.lcm(deep, inst.k * found.kpack)  # k that are in an order of their own
    registers = inst.operand("K", found.wave).registers
    each = unit // deep * registers
    count = "index_stride" + (f" * {each}" if each > 1 else "")
    of_lane = "a word" if registers == 1 else f"{registers} words"
    yield f"// Metadata as mmacalc.pack_sparse lays it out: {of_lane} of each lane for {inst.m} rows and {deep} k."
    yield "// Those of one stage, and those of the next."
    if registers > 1:
        yield "typedef int i32x2 __attribute__((ext_vector_type(2)));  // those of a product"
    yield f"int index_now[TILES_M][{words}], index_next[TILES_M][{words}];"
    yield f"const int index_words = {count}, index_tile = (first_m + wave_m) / {inst.m};"
    yield f"const int index_tiles = (M + {inst.m - 1}) / {inst.m} - index_tile;"
    yield "const auto fetch_index = [&](int k) __attribute__((always_inline)) {"
    yield f"    const int first = k / {deep}{f' * {registers}' * (registers > 1)};"
    yield "    const __amdgpu_buffer_rsrc_t words = buffer("
    yield "        metadata + ((long)index_tile * index_words + first) * WAVE,"
    kept = f"(K + {unit - 1}) / {unit}{f' * {each}' * (each > 1)}"  # words of a row, of its part of K
    rest = f"((index_tiles - 1) * index_words + {kept} - first) * WAVE * {WORD}"
    yield f"        k < K && index_tiles > 0 ? {rest} : 0);"
    yield "#pragma unroll"
    yield "    for (int i = 0; i < TILES_M; ++i)"
    yield "#pragma unroll"
    yield f"        for (int word = 0; word < {words}; ++word)"
    yield "            index_next[i][word] = __builtin_amdgcn_raw_buffer_load_b32("
    yield f"                words, ((i * index_words + word) * WAVE + lane) * {WORD}, 0, 0);"
    yield "};"
    yield "const auto keep_index = [&](int k) __attribute__((always_inline)) {"
    yield "#pragma unroll"
    yield "    for (int i = 0; i < TILES_M; ++i)"
    yield "#pragma unroll"
    yield f"        for (int word = 0; word < {words}; ++word) index_now[i][word] = index_next[i][word]" + (
        f" >> k / {inst.k} % {sets} * {32 // sets};" if found.steps * found.kpack < sets else ";"
    )
    yield "};"


def index_of(found: Plan, tile: str) -> str:
    """The metadata of a product of a tile of A, as C text: a set of the lowest bits."""
    inst = found.instruction
    if not inst.sparse:
        return "0"
    sets, product = inst.index_sets(found.wave), "step"
    if found.kpack > 1:
        product = f"(step * {found.kpack} + part)"
    if inst.operand("K", found.wave).registers > 1:
        words = (f"index_now[{tile}][2 * {product}{more}]" for more in ("", " + 1"))
        return f"(i32x2){{{', '.join(words)}}}"
    word = f"index_now[{tile}][{product} / {sets}]" if found.index_words > 1 else f"index_now[{tile}][0]"
    return f"{word} >> {product} % {sets} * {32 // sets}" if sets > 1 and found.steps * found.kpack > 1 else word


def _scales(found: Plan) -> Iterator[str]:
    """What loads and reads scales."""
    span, rows = (
        scale_span(found.block_k),
        [-(-each // found.wave) * found.wave for each in (found.block_m, found.block_n)],
    )
    yield f"// Scales: one for each {SCALED_K} k of a row of A (column of B). {span} of a row come to LDS at once, for"
    yield f"// {span * SCALED_K} k: words side by side of A's rows, then B's columns; two such tiles in turn."
    yield f"enum {{ SPAN = {span}, PIECES = {-(-span // VECTOR)}, SCALE_LOADS = {-(-sum(rows) // found.threads)} }};"
    yield f"enum {{ A_SCALE_ROWS = {rows[0]}, SCALE_ROWS = {sum(rows)} }};  // of whole waves"
    yield "__shared__ unsigned int scale_tile[2][PIECES * 4][SCALE_ROWS];"
    yield f"const int blocks = K / {SCALED_K};  // of a row, or of its part"
    yield "u32x4 scale_next[SCALE_LOADS][PIECES];"
    yield from _fetching(found)
    yield from _keeping()
    yield from _reading(found)
    yield ""


def _fetching(found: Plan) -> Iterator[str]:
    yield "const auto fetch_scales = [&](int k) __attribute__((always_inline)) {"
    yield f"    const int first = k / {SCALED_K};"
    yield "    if (first % SPAN || k >= K) return;"
    yield "#pragma unroll"
    yield "    for (int n = 0; n < SCALE_LOADS; ++n) {"
    yield "        const int unit = n * THREADS + wave * WAVE;  // a wave has rows of A or columns of B alone"
    yield "        if (unit >= SCALE_ROWS) break;"
    yield "        const bool of_a = unit < A_SCALE_ROWS;"
    yield "        const unsigned char *from = of_a ? SA + (long)first_m * scale_stride"
    yield "                                         : SB + (long)first_n * scale_stride;"
    yield "        const int bytes = ((of_a ? rows : columns) - 1) * scale_stride + blocks;"
    yield "        const __amdgpu_buffer_rsrc_t matrix = buffer(from, bytes);"
    yield "        const int at = (unit - (of_a ? 0 : A_SCALE_ROWS) + lane) * scale_stride + first;"
    yield "#pragma unroll"
    yield "        for (int piece = 0; piece < PIECES; ++piece)"
    load = f"__builtin_amdgcn_raw_buffer_load_b128(matrix, at + {VECTOR} * piece, 0, 0)"
    if _by_bytes(found):
        yield f"            if (SPAN % {WORD} == 0 && scale_stride % {WORD} == 0)"
        yield f"                scale_next[n][piece] = {load};"
        yield "            else"
        yield "                scale_next[n][piece] = fetch_scale_bytes("
        yield f"                    matrix, at + {VECTOR} * piece, blocks - first - {VECTOR} * piece);"
    else:
        yield f"            scale_next[n][piece] = {load};"
    yield "    }"
    yield "};"


def _keeping() -> Iterator[str]:
    yield "const auto keep_scales = [&](int k) __attribute__((always_inline)) {"
    yield f"    const int first = k / {SCALED_K};"
    yield "    if (first % SPAN || k >= K) return;"
    yield "#pragma unroll"
    yield "    for (int n = 0; n < SCALE_LOADS; ++n) {"
    yield "        const int unit = n * THREADS + wave * WAVE;"
    yield "        if (unit >= SCALE_ROWS) break;"
    yield "#pragma unroll"
    yield "        for (int word = 0; word < PIECES * 4; ++word)  // behind K are scales of the next row, perhaps NaN"
    yield "            scale_tile[first / SPAN % 2][word][unit + lane] ="
    yield f"                first + {WORD} * word < blocks ? scale_next[n][word / 4][word % 4] : 0;"
    yield "    }"
    yield "};"


def _reading(found: Plan) -> Iterator[str]:
    """The function that reads the scales of a stage."""
    for side in (found.a, found.b):
        letter, count = side.name.lower(), f"TILES_{'M' if side.name == 'A' else 'N'}"
        held = f"{count} / 2" if halves(found, side.name) > 1 else count
        yield f"// S{side.name}: {found.scale(side.name).pattern}"
        yield f"unsigned int {letter}_scale[{found.steps * found.kpack}][{held}];"
    yield "const auto read_scales = [&](int k) __attribute__((always_inline)) {"
    yield f"    const int first = k / {SCALED_K} % SPAN;"
    yield f"    const auto *tile_of_k = scale_tile[k / {SCALED_K} / SPAN % 2];"
    for side in (found.a, found.b):
        yield from indented(_side_reading(found, side))
    yield "};"


def _side_reading(found: Plan, side: Side) -> Iterator[str]:
    """A lane's scales of A (B): one byte of a word, or the whole word."""
    letter, paired = side.name.lower(), halves(found, side.name) > 1
    part = fragment(found.scale(side.name))
    outer, inner = ("row", "column") if part.operand.name == "SA" else ("column", "row")
    each, tiles = found.instruction.k // SCALED_K, "TILES_M" if side.name == "A" else "TILES_N"
    packed = found.kpack  # instructions whose blocks of k lie in turn
    block = total([(getattr(digit, inner) // SCALED_K * packed, f"({digit.value})") for digit in part.digits])
    lane_row = "lane" if paired else total([(getattr(digit, outer), f"({digit.value})") for digit in part.digits])
    first = [(1, "wave_m")] if side.name == "A" else [(1, "A_SCALE_ROWS"), (1, "wave_n")]
    yield f"const int {letter}_scale_row = {total([*first, (1, lane_row)])};"
    if paired:
        yield f"// Lanes 0 to {found.tile(side.name) - 1} have the scales of one tile, the others those of the next."
    yield "#pragma unroll"
    yield f"for (int step = 0; step < {found.steps * packed}; ++step)"
    yield "#pragma unroll"
    yield f"    for (int tile = 0; tile < {tiles}{' / 2' * paired}; ++tile) {{"
    at_step = f"{each} * step" if packed == 1 else f"{each * packed} * (step / {packed}) + step % {packed}"
    apart = each * packed > WORD  # lanes have scales of several words
    yield f"        const int block = first + {at_step}{f' + {block}' * apart};"
    row = f"{letter}_scale_row + {found.tile(side.name) * (2 if paired else 1)} * tile"
    word = f"tile_of_k[block / {WORD}][{row}]"
    if len(part.items) == WORD:
        yield f"        {letter}_scale[step][tile] = {word};"
    else:
        yield f"        const auto *word = (const unsigned char *)&{word};"
        at = f"block % {WORD}" + (f" + {block}" if block != "0" and not apart else "")
        yield f"        {letter}_scale[step][tile] = word[{at}];"
    yield "    }"
