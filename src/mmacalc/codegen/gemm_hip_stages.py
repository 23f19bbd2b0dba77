"""How a tiled GEMM kernel of AMD moves and multiplies its stages: from memory to LDS, to registers, to sums.

A stage goes through registers on its way to LDS, or (gfx950, gfx1250) straight to it. On gfx1250 one wave copies A and
one B, each by one instruction whose descriptor says where the tile lies. On gfx950 each wave starts its loads a few at
a time, between the products of the stage before: one behind the other they would hold up the wave, since the first
cache takes them slower than a wave issues them. The parts of A and B of the next step are read before the products of
this one.
"""

from __future__ import annotations

from itertools import product

from .gemm_hip_reads import call, gathering, parts, reading, row_products
from .gemm_hip_scales import beside, beside_stage, halves, scale_functions
from .gemm_lds import VECTOR, WORD_BITS
from .gemm_scales import end_of_step, finer_blocks
from .hip import WAITS
from .source import indented
from .staging import WORDS, bytes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..compiler.dialects import Intrinsic
    from .gemm import Plan
    from .gemm_lds import Turn
    from .staging import Side

__all__ = ["LOADS", "TURNED", "stage_functions", "stages"]

LOADS = {1: ("unsigned char", "b8"), 2: ("unsigned short", "b16"), 4: ("unsigned int", "b32"), 8: ("u32x2", "b64")}

DIRECT = """\
// Starts to load 16 bytes of each lane to LDS, those of lane 0 to `to`, the others' behind it. Inline assembly, since
// around its builtin clang waits before every read of LDS.
static __device__ void load_to_lds(const unsigned char *from, int bytes, const unsigned char *to, int at) {
    const unsigned long address = (unsigned long)from;
    const u32x4 matrix = {(unsigned int)address, (unsigned int)(address >> 32) & 0xffff, (unsigned int)bytes, FLAGS};
    const unsigned int place = __builtin_bit_cast(unsigned int, (__attribute__((address_space(3))) const void *)to);
    asm volatile("s_mov_b32 m0, %0\\n"
                 "s_nop 0\\n"  // a wait state, for M0
                 "buffer_load_dwordx4 %1, %2, 0 offen lds" : : "s"(place), "v"(at), "s"(matrix) : "m0", "memory");
}

// Waits for all that this wave loads from memory.
static __device__ void wait_for_loads() { asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); }
"""


def _copy_functions(found: Plan) -> Iterator[str]:
    """The functions that copy a tile of A and of B."""
    yield "typedef int i32x4 __attribute__((ext_vector_type(4)));"
    yield "typedef int i32x8 __attribute__((ext_vector_type(8)));"
    yield "// Copies a tile of A (of B) to LDS, of which `rows` and `columns` are in the matrix, zeros for the others."
    yield "// The descriptor is that of the ISA guide of CDNA5, section 10.11."
    for side, _ in _sides(found):
        tile, size, (every, pad) = side.tile, max(1, side.bits // 8), side.gaps
        form = (size.bit_length() - 1) << 16
        if pad:
            form |= 1 << 20 | (every.bit_length() - 4) << 22 | (pad // 4 - 1) << 25
        letter, columns = side.name.lower(), tile.row_bytes // size
        yield f"static __device__ void copy_{letter}("
        yield "    const unsigned char *from, const unsigned char *to, int rows, int columns, int stride) {"
        yield "    const unsigned long address = (unsigned long)from;"
        yield "    const int place = __builtin_bit_cast(int, (__attribute__((address_space(3))) const void *)to);"
        yield "    const i32x4 where = {1, place, (int)address, (int)(address >> 32 & 0x1ffffff) | (int)(2u << 30)};"
        yield "    const i32x8 what = {"
        yield f"        {form:#x}, columns << 16, rows << 16, {columns} << 16, {tile.rows}, stride, 0, 0}};"
        yield "    __builtin_amdgcn_tensor_load_to_lds_d2(where, what, 0);"
        yield "}"
        yield ""


def _sides(found: Plan) -> tuple[tuple[Side, Turn | None], ...]:
    return (found.a, found.a_turn), (found.b, found.b_turn)


def _fetch(bits: int, widths: set[int]) -> Iterator[str]:
    """The functions that load a number of bytes at once."""
    size = max(1, bits // 8)
    kind, load = LOADS[size]
    for width in sorted(widths):
        whole = WORDS[width]
        yield f"// {width} bytes of a matrix; of one that is not aligned one by one, and `left` of them are inside."
        yield "template <bool aligned>"
        yield f"static __device__ {whole} fetch{bits}_{width}(__amdgpu_buffer_rsrc_t matrix, int at, int left) {{"
        yield f"    if (aligned) return __builtin_amdgcn_raw_buffer_load_b{8 * width}(matrix, at, 0, 0);"
        yield '    asm volatile("" : "+v"(at));  // or the place of each element is kept in a register of its own'
        yield f"    union {{ {whole} all; {kind} each[{width // size}]; }} found;"
        yield "#pragma unroll"
        yield f"    for (int e = 0; e < {width // size}; ++e) {{"
        place = f"e * {size} < left ? at + e * {size} : OUTSIDE" if size > 1 else "e < left ? at + e : OUTSIDE"
        yield f"        found.each[e] = __builtin_amdgcn_raw_buffer_load_{load}(matrix, {place}, 0, 0);"
        yield "    }"
        yield "    return found.all;"
        yield "}"
        yield ""


# A word of LDS from the words of neighbouring k: element `e` of each. v_perm_b32 takes bytes 0 to 3 from its second
# argument, 4 to 7 from its first.
TURNED = {
    16: (
        "// Element e of the words of two k, which become neighbours.",
        "static __device__ unsigned int turned16(unsigned int k0, unsigned int k1, int e) {",
        "    return __builtin_amdgcn_perm(k1, k0, e % 2 ? 0x07060302 : 0x05040100);",
        "}",
    ),
    8: (
        "// Element e of the words of four k, which become neighbours.",
        "static __device__ unsigned int turned8(unsigned int k0, unsigned int k1, unsigned int k2, unsigned int k3,",
        "                                             int e) {",
        "    const unsigned int pair = e % 4 < 2 ? 0x05010400 : 0x07030602;  // bytes e and e + 1 of two words",
        "    const unsigned int low = __builtin_amdgcn_perm(k1, k0, pair), high = __builtin_amdgcn_perm(k3, k2, pair);",
        "    return __builtin_amdgcn_perm(high, low, e % 2 ? 0x07060302 : 0x05040100);",
        "}",
    ),
    4: (
        "// Element e of the words of eight k, which become neighbours.",
        "static __device__ unsigned int turned4(unsigned int k0, unsigned int k1, unsigned int k2, unsigned int k3,",
        "                                       unsigned int k4, unsigned int k5, unsigned int k6, unsigned int k7,",
        "                                       int e) {",
        "    const unsigned int even = turned8(k0, k2, k4, k6, e % 8 / 2), odd = turned8(k1, k3, k5, k7, e % 8 / 2);",
        "    return e % 2 ? even >> 4 & 0x0f0f0f0f | odd & 0xf0f0f0f0 : even & 0x0f0f0f0f | odd << 4 & 0xf0f0f0f0;",
        "}",
    ),
}


def stage_functions(found: Plan) -> Iterator[str]:
    """The functions that load stages, and transpose them."""
    yield from scale_functions(found)
    if found.direct:
        yield DIRECT
    if found.copied:
        yield from _copy_functions(found)
    for bits in sorted({found.a.bits, found.b.bits}):
        yield from _fetch(bits, {turn.width if turn else VECTOR for side, turn in _sides(found) if side.bits == bits})
    turned = {side.bits for side, turn in _sides(found) if turn and side.bits < 32}
    for bits in sorted(turned | {8} if 4 in turned else turned, reverse=True):  # of 4 bits: bytes, first
        yield from TURNED[bits]
        yield ""
    for side, _ in _sides(found):
        yield from gathering(found, side)


def stages(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    """What loads, stores and multiplies a stage, as functions within the kernel's."""
    for side, turn in _sides(found):
        yield from _places(found, side, turn)
    yield from beside(found)
    if found.direct or found.copied:
        yield from _fetching_parts(found) if found.direct else _copying(found)
        yield from _bringing(found)
    else:
        yield from _fetching(found)
        yield from _storing(found)
    yield from _multiplying(found, builtin)


def _along(found: Plan, side: Side, k: str) -> str:
    """How many elements of a matrix a number of k is, as C text."""
    return f"{k} / {found.shares(side)}" if found.shares(side) > 1 else k


def _places(found: Plan, side: Side, turn: Turn | None) -> Iterator[str]:
    """Where this thread's part of a stage lies in memory."""
    letter, name = side.name.lower(), side.name
    begin, extent = ("first_m", "rows") if name == "A" else ("first_n", "columns")
    yield f"// {name}: what this thread loads for each stage, from the first byte of the stage on."
    yield f"const int {letter}_stride = {bytes_of(f'ld{letter}', side.bits)};  // bytes from row to row of memory"
    first = f"(long){begin} * {letter}_stride" if side.along_k else bytes_of(begin, side.bits)
    yield f"const unsigned char *{letter}_from = (const unsigned char *){name} + {first};"
    if found.copied:
        return
    if side.along_k:
        row = bytes_of(_along(found, side, "K"), side.bits)
        yield f"int {letter}_bytes = ({extent} - 1) * {letter}_stride + {row};"
        yield f"int {letter}_at[{name}_LOADS], {letter}_column[{name}_LOADS];"
    else:
        yield f"int {letter}_at[{name}_LOADS];"
    if turn:
        yield from _turned_places(side, turn)
        return
    yield f"for (int n = 0; n < {name}_LOADS; ++n) {{"
    yield f"    const int byte = {letter}_place((n * THREADS + thread) * {VECTOR});"
    if side.along_k:
        yield f"    {letter}_column[n] = byte % {name}_ROW;"
        yield f"    {letter}_at[n] = byte / {name}_ROW * {letter}_stride + {letter}_column[n];"
    else:
        yield f"    {letter}_at[n] = byte / {name}_ROW * {letter}_stride + byte % {name}_ROW;"
    yield "}"
    yield ""


def _turned_places(side: Side, turn: Turn) -> Iterator[str]:
    """A thread takes a piece of some neighbouring k, which it transposes."""
    letter = side.name.lower()
    pairs, count = side.depth // turn.rows, turn.width * 8 // side.bits
    yield f"// A piece is {count} rows of the tile, beginning at first, and {turn.rows} k, beginning at depth."
    yield f"int {letter}_first[{turn.count}], {letter}_depth[{turn.count}];"
    yield f"for (int n = 0; n < {turn.count}; ++n) {{"
    yield "    const int at = n * THREADS + thread;"
    lanes = turn.lanes
    part = f"at / {lanes * pairs} * {lanes} + at % {lanes}" if lanes > 1 else f"at / {pairs}"
    k = f"at / {lanes} % {pairs}" if lanes > 1 else f"at % {pairs}"
    yield f"    {letter}_first[n] = ({part}) * {count};"
    yield f"    {letter}_depth[n] = {k}" + (f" * {turn.rows};" if turn.rows > 1 else ";")
    yield f"    for (int m = 0; m < {turn.rows}; ++m)"
    row = f"({letter}_depth[n] + m) * {letter}_stride"
    yield f"        {letter}_at[n * {turn.rows} + m] = {row} + {bytes_of(f'{letter}_first[n]', side.bits)};"
    yield "}"
    yield ""


def _fetching(found: Plan) -> Iterator[str]:
    for side, turn in _sides(found):
        yield f"{WORDS[turn.width if turn else VECTOR]} {side.name.lower()}_next[{side.name}_LOADS];"
    yield "// Starts to load the stage of `k`, zeros beyond the matrices."
    yield "const auto fetch_stage = [&](int k) __attribute__((always_inline)) {"
    for lines in (_begun(found), _fetched(found), _ended(found)):
        yield from indented(lines)
    yield "};"


def _copying(found: Plan) -> Iterator[str]:
    """The function that copies a stage to LDS."""
    yield "// Starts to copy the stage of `k` to a buffer in LDS, zeros beyond the matrices: one wave A, another B."
    yield "const auto copy_stage = [&](int k, int to) __attribute__((always_inline)) {"
    yield "    if (wave > 1) return;"
    yield "    const int left = k < K ? least(K - k, BLOCK_K) : 0;  // k inside"
    for (side, _), way in zip(_sides(found), ("if (wave == 0)", "else")):
        letter, extent = side.name.lower(), "rows" if side.name == "A" else "columns"
        inside = _along(found, side, "left")
        given = f"{extent}, {bytes_of(inside, min(8, side.bits))}" if side.along_k else f"{inside}, {extent}"
        k = _along(found, side, "k")
        step = bytes_of(k, side.bits) if side.along_k else f"(long)({k}) * {letter}_stride"
        unit = side.bits // 8
        stride = f"{letter}_stride / {unit}" if unit > 1 else f"{letter}_stride"
        yield f"    {way} copy_{letter}({letter}_from + {step}, {letter}_tile[to], {given}, {stride});"
    yield "};"


def _bringing(found: Plan) -> Iterator[str]:
    """The function that brings a stage of matrices that are not aligned to LDS."""
    yield "// Brings the stage of `k` to LDS element by element, zeros beyond the matrices."
    yield "const auto bring_stage = [&](int k) __attribute__((always_inline)) {"
    yield from indented(beside_stage(found, "fetch", "k"))
    yield "    const int left = K - k;"
    yield "    int first = thread;"
    yield '    asm volatile("" : "+v"(first));  // or the places of all loads are kept in registers'
    for side, _ in _sides(found):
        letter, name, inside = side.name.lower(), side.name, f"{VECTOR}"
        extent, k = "rows" if side.name == "A" else "columns", _along(found, side, "k")
        size = bytes_of(_along(found, side, "left"), side.bits)
        if side.along_k:
            start, inside = bytes_of(k, side.bits), f"{size} - byte % {name}_ROW"
            bytes_ = f"({extent} - 1) * {letter}_stride + {size}"
        else:
            start, stage = f"(long)({k}) * {letter}_stride", _along(found, side, "least(left, BLOCK_K)")
            bytes_ = f"({stage} - 1) * {letter}_stride + {_row_end(extent, side)}"
        each = max(1, FEW_ELEMENTS * side.bits // (8 * VECTOR))
        yield f"    const __amdgpu_buffer_rsrc_t {letter}_matrix = buffer({letter}_from + {start}, {bytes_});"
        yield f"    for (int n = 0; n < {name}_LOADS; ++n) {{"
        yield f"        const int byte = (n * THREADS + first) * {VECTOR};"
        yield f"        const int at = byte / {name}_ROW * {letter}_stride + byte % {name}_ROW;"
        yield f"        *(u32x4 *)({letter}_tile[0] + {letter}_place(byte)) ="
        yield f"            fetch{side.bits}_{VECTOR}<false>({letter}_matrix, at, {inside});"
        yield f"        if (n % {each} == {each - 1}) __builtin_amdgcn_sched_barrier(0);"
        yield "    }"
    yield "};"


def _fetching_parts(found: Plan) -> Iterator[str]:
    """The functions for stages that come to LDS a few loads at a time."""
    yield "int a_size, b_size;  // bytes of the matrices from the stage on"
    yield "// Begins to load the stage of `k`, zeros beyond the matrices."
    yield "const auto begin_stage = [&](int k) __attribute__((always_inline)) {"
    yield from indented(_begun(found))
    for side, _ in _sides(found):
        yield f"    {side.name.lower()}_size = {_size(found, side)};"
    yield "};"
    yield "// Starts to load a part of it to a buffer in LDS."
    yield "const auto load_part = [&](int part, int to) __attribute__((always_inline)) {"
    for side, start, first in ((found.a, "if (part < A_LOADS)", "part"), (found.b, "else", "(part - A_LOADS)")):
        letter = side.name.lower()
        yield f"    {start}"
        yield f"        load_to_lds({letter}_from, {letter}_size,"
        yield f"                    {letter}_tile[to] + ({first} * THREADS + wave * WAVE) * {VECTOR},"
        yield f"                    {letter}_at[{first.strip('()')}]);"
    yield "};"
    yield "// Goes on to the next stage."
    yield "const auto end_stage = [&]() __attribute__((always_inline)) {"
    yield from indented(_ended(found))
    yield "};"
    yield "// All of it."
    yield "const auto fetch_stage = [&](int k, int to) __attribute__((always_inline)) {"
    yield "    begin_stage(k);"
    yield "    for (int part = 0; part < A_LOADS + B_LOADS; ++part) load_part(part, to);"
    yield "    end_stage();"
    yield "};"


def _begun(found: Plan) -> Iterator[str]:
    """Which k of a stage are inside, and its scales."""
    yield "const int left = K - k;"
    along = [side for side, _ in _sides(found) if side.along_k]
    if along:
        yield "if (aligned && left < BLOCK_K) {  // the last stage, or none: some of its k are outside"
        for side in along:
            letter = side.name.lower()
            yield f"    for (int n = 0; n < {side.name}_LOADS; ++n)"
            inside = bytes_of(_along(found, side, "left"), side.bits)
            yield f"        if ({letter}_column[n] >= {inside}) {letter}_at[n] = OUTSIDE;"
            yield f"    if (left <= 0) {letter}_bytes = 0;"
        yield "}"
        ends = ", ".join(f"{side.name.lower()}_bytes = 0" for side in along)
        yield f"if (!aligned && left <= 0) {ends};  // a buffer of one row would have a negative size"
    if len(along) < 2:
        yield "const int stage = least(left, BLOCK_K);  // k inside"
    yield from beside_stage(found, "fetch", "k")


def _size(found: Plan, side: Side) -> str:
    """The bytes of a matrix from a stage on, as C text."""
    letter, extent = side.name.lower(), "rows" if side.name == "A" else "columns"
    if side.along_k:
        return f"{letter}_bytes"
    return f"stage > 0 ? ({_along(found, side, 'stage')} - 1) * {letter}_stride + {_row_end(extent, side)} : 0"


def _row_end(extent: str, side: Side) -> str:
    """The bytes of a number of neighbouring elements, the last of which may end within a byte, as C text."""
    return bytes_of(extent if side.bits >= 8 else f"({extent} + {8 // side.bits - 1})", side.bits)


def _fetched(found: Plan) -> Iterator[str]:
    """The loads of a stage to registers."""
    for side, turn in _sides(found):
        letter, name, width = side.name.lower(), side.name, turn.width if turn else VECTOR
        left = bytes_of(_along(found, side, "left"), side.bits)
        inside = f"{left} - {letter}_column[n]" if side.along_k else f"{width}"
        yield f"const __amdgpu_buffer_rsrc_t {letter}_matrix = buffer({letter}_from, {_size(found, side)});"
        most = MOST_ELEMENTS[side.bits < 8]
        each = most * max(1, side.bits // 8) // width
        yield f"for (int n = 0; n < {name}_LOADS; ++n) {{"
        yield f"    {letter}_next[n] = fetch{side.bits}_{width}<aligned>({letter}_matrix, {letter}_at[n], {inside});"
        yield f"    // At most {most} {IN_REGISTERS[side.bits < 8]} on their way, each in a register."
        yield f"    if (!aligned && n % {each} == {each - 1}) __builtin_amdgcn_sched_barrier(0);"
        yield "}"


def _ended(found: Plan) -> Iterator[str]:
    """Advances to the next stage."""
    for side, _ in _sides(found):
        letter, k = side.name.lower(), _along(found, side, "BLOCK_K")
        if side.along_k:
            yield f"{letter}_from += {bytes_of(k, side.bits)};"
            yield f"{letter}_bytes -= {bytes_of(k, side.bits)};"
        else:
            yield f"{letter}_from += (long)({k}) * {letter}_stride;"


def _storing(found: Plan) -> Iterator[str]:
    number, place = ("int buffer", "[buffer]") if found.buffers > 1 else ("", "")
    yield "// Writes the stage that was loaded to LDS."
    yield f"const auto store_stage = [&]({number}) __attribute__((always_inline)) {{"
    for side, turn in _sides(found):
        letter, name = side.name.lower(), side.name
        if turn is None:
            yield f"    for (int n = 0; n < {name}_LOADS; ++n)"
            yield f"        *(u32x4 *)({letter}_tile{place} + (n * THREADS + thread) * {VECTOR}) = {letter}_next[n];"
            continue
        count, k = turn.width * 8 // side.bits, bytes_of(f"{letter}_depth[n]", side.bits)
        to = f"{letter}_tile{place} + {letter}_place(({letter}_first[n] + e) * {name}_ROW + {k})"
        yield f"    for (int n = 0; n < {turn.count}; ++n)"
        yield f"        for (int e = 0; e < {count}; ++e)"
        if turn.rows > 1:
            words = ", ".join(
                _word(
                    f"{letter}_next[n * {turn.rows}{f' + {m}' if m else ''}]",
                    turn.width,
                    f"e / {WORD_BITS // side.bits}",
                )
                for m in range(turn.rows)
            )
            yield f"            *(unsigned int *)({to}) ="
            yield f"                turned{side.bits}({words}, e);"
        else:
            word = _word(f"{letter}_next[n]", turn.width, "e")
            word = f"(u32x2){{{letter}_next[n][2 * e], {letter}_next[n][2 * e + 1]}}" if side.bits == 64 else word
            yield f"            *({WORDS[side.bits // 8]} *)({to}) = {word};"
    yield "};"


def _word(value: str, width: int, at: str) -> str:
    return f"{value}[{at}]" if width > 4 else value


def _multiplying(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    if found.direct:
        yield from _multiplying_parts(found, builtin)
        return
    number, place = (["int buffer"], "[buffer]") if found.buffers > 1 else ([], "")
    given = ", ".join([*number, *_stage_k(found)])
    yield "// Multiplies the stage that is in LDS."
    yield f"const auto multiply_stage = [&]({given}) __attribute__((always_inline)) {{"
    yield f"    for (int step = 0; step < {found.steps}; ++step) {{"
    if _row_by_row(found):
        yield from indented(_rows(found, builtin), 2)
        yield from indented(end_of_step(found), 2)
        yield from ["    }", "};"]
        return
    for side in (found.a, found.b):
        yield f"        {parts(found, side)};"
        yield from indented(reading(found, side, place), 2)
    if found.kpack > 1:
        yield f"        {RELABELLED}"
        yield f"        for (int part = 0; part < {found.kpack}; ++part)"
    more = "    " * (found.kpack > 1)
    yield from (f"        {more}{line}" for line in _products(found, builtin))
    yield from indented(end_of_step(found), 2)
    yield "    }"
    yield from indented(_apart(found))
    yield "};"


def _stage_k(found: Plan) -> list[str]:
    """The parameter for the k of a stage, where blocks of k are finer."""
    return ["int k"] * (finer_blocks(found) > 1)


def _row_by_row(found: Plan) -> bool:
    """Whether registers have no room for all parts of A and B beside the sums."""
    a, b, d = (found.instruction.operand(name, found.wave, **found.fields).registers for name in "ABD")
    parts = (found.tiles_m * a + found.tiles_n * b) * found.kpack + found.tiles_m * 2 * found.index_words
    sums = found.tiles_m * found.tiles_n * d
    return found.copied and not found.instruction.scaled and found.kpack == 1 and parts + sums > MOST_HELD


def _rows(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    """The products of a step, a row of tiles while the parts of A for the next one are read."""
    for side in (found.b, found.a):
        yield f"{parts(found, side)};"
    yield from reading(found, found.b, "[buffer]")
    yield "const auto read_row = [&](int tile) __attribute__((always_inline)) {"
    yield from indented(reading(found, found.a, "[buffer]")[1:-1])
    yield "};"
    yield "read_row(0);"
    yield "#pragma unroll"
    yield "for (int i = 0; i < TILES_M; ++i) {"
    yield "    if (i + 1 < TILES_M) read_row(i + 1);"
    yield from indented(row_products(found, builtin))
    yield "    __builtin_amdgcn_sched_barrier(0);  // or all rows are read at once, for which registers have no room"
    yield "}"


def _products(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    """The products of a step, two tiles at a time where a register has the scales of two."""
    if not found.instruction.scaled:
        yield "for (int i = 0; i < TILES_M; ++i) {"
        yield from indented(row_products(found, builtin))
        yield "}"
        return
    each = [halves(found, side) for side in "AB"]
    steps = [f"{index} += {count}" if count > 1 else f"++{index}" for index, count in zip("ij", each)]
    block = each != [1, 1]
    yield f"for (int i = 0; i < TILES_M; {steps[0]})"
    yield f"    for (int j = 0; j < TILES_N; {steps[1]})" + " {" * block
    for a, b in product(range(each[0]), range(each[1])):
        i, j = (index + f" + {half}" * bool(half) for index, half in zip("ij", (a, b)))
        yield f"        sum[{i}][{j}] = {builtin.builtin}("
        yield f"            {call(found, builtin, places=(i, j), rows=(a, b))});"
    yield from ["    }"] * block


def _apart(found: Plan) -> Iterator[str]:
    """The wait states behind products of gfx1250 that clang 22.1.8 leaves out.

    Its hazard recognizer (getWaitStatesSince) goes back through a block once, on whichever way it meets first, so
    behind branches it may count the instructions of the longer way.
    """
    if found.instruction.architecture.targets[0] == "gfx1250" and found.instruction.scaled:
        yield "// Others write what products read: behind branches clang 22.1.8 does not always wait for that."
        yield "__builtin_amdgcn_sched_barrier(0);"
        nops = "\\n".join(["v_nop"] * WAITS)
        yield f'asm volatile("{nops}" : "+v"(sum[TILES_M - 1][TILES_N - 1]) : : "memory");'


def _multiplying_parts(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    """The products of a stage, between which the loads of the next one are started."""
    alone = 2 * found.buffers * (found.a.tile.bytes + found.b.tile.bytes) > found.instruction.architecture.lds_bytes
    rows = max(1, found.steps * found.tiles_m // (2 if alone else 1))
    when = ", in the first half, since no other workgroup has work while they are on their way" * alone
    yield f"enum {{ STEPS = {found.steps}, LOADS = A_LOADS + B_LOADS, LOADING = {rows} }};  // LOADING: row by row"
    yield f"// Multiplies the stage in LDS; `loads` the next one meanwhile{when}."
    given = ", ".join(["int buffer", "bool loads", *_stage_k(found)])
    yield f"const auto multiply_stage = [&]({given}) __attribute__((always_inline)) {{"
    for side in (found.a, found.b):
        yield f"    {parts(found, side, 2)};"
    yield "    const auto read_step = [&](int step) __attribute__((always_inline)) {"
    for side in (found.a, found.b):
        yield from indented(reading(found, side, "[buffer]", "[step % 2]"), 2)
    yield "    };"
    yield "    read_step(0);"
    yield "#pragma unroll"
    yield "    for (int step = 0; step < STEPS; ++step) {"
    yield "        if (step + 1 < STEPS) read_step(step + 1);"
    yield "#pragma unroll"
    yield "        for (int i = 0; i < TILES_M; ++i) {"
    yield "            const int row = step * TILES_M + i;"
    yield "            if (loads && row < LOADING)"
    yield "                for (int part = LOADS * row / LOADING; part < LOADS * (row + 1) / LOADING; ++part)"
    yield "                    load_part(part, buffer ^ 1);"
    if found.kpack > 1:
        yield f"            {RELABELLED}"
        yield f"            for (int part = 0; part < {found.kpack}; ++part)"
    more = "    " * (found.kpack > 1)
    yield f"{more}            for (int j = 0; j < TILES_N; ++j)"
    yield f"{more}                sum[i][j] = {builtin.builtin}("
    yield f"{more}                    {call(found, builtin, '[step % 2]')});"
    yield "        }"
    yield "        __builtin_amdgcn_sched_barrier(0);  // nothing moves from step to step"
    yield from indented(end_of_step(found), 2)
    yield "    }"
    yield "};"


FEW_ELEMENTS = 32  # where they go to LDS at once
MOST_HELD = 240  # registers of sums and parts, of 256
MOST_ELEMENTS = (64, 32)  # of a thread on their way, where they are loaded one by one; bytes of narrower ones
IN_REGISTERS = ("elements", "bytes")
RELABELLED = "// k is relabelled: an instruction takes a part of the elements that a lane has read."
