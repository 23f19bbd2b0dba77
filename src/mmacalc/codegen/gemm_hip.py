"""The source of a tiled GEMM kernel of AMD, in HIP: see `mmacalc.codegen.gemm` for its sizes.

Global memory is read and written by buffer instructions, which give 0 for what lies outside and drop what is stored
there: so the rows of a tile that a matrix does not have need no branch. Two kernels are written: one for matrices whose
rows begin at multiples of 16 bytes, one for all others, which moves element by element.
"""

from __future__ import annotations

from .epilogue import finishing, output_format, parameters, sums_format
from .fragments import fragment, runs, total
from .gemm import SCALED_K, VECTOR, pieces
from .gemm_scales import (
    Sums,
    declarations,
    declared,
    end_of_stage,
    function,
    passed,
    stride_declared,
    stride_passed,
)
from .gemm_slices import (
    group_function,
    is_sliced,
    notes,
    reduction,
    sliced_kernel,
    sliced_launch,
    tile_places,
    tile_plan,
)
from .hip import ARGUMENTS, FIELDS, HEADER, reached, signs
from .source import indented, memory_type
from .staging import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..compiler.dialects import Intrinsic
    from ..model import Instruction
    from .fragments import Fragment
    from .gemm import Piece, Plan, Turn
    from .staging import Side

__all__ = ["FLAGS", "HELPERS", "TURNED", "compiler_note", "place_function", "source"]

GROUP = 8  # rows of tiles of which blocks take all columns before they go on
DIES = {"gfx942": 8, "gfx950": 8}  # with a cache of their own, to which blocks go in turn (MI300X, MI355X)

HELPERS = """\
static __device__ int least(int a, int b) { return a < b ? a : b; }

// A part of a matrix as buffer instructions take it: what lies outside reads as 0, and is not stored.
static __device__ __amdgpu_buffer_rsrc_t buffer(const void *first, int bytes) {
    return __builtin_amdgcn_make_buffer_rsrc((void *)first, 0, bytes, FLAGS);
}

// What this workgroup wrote to LDS can be read behind this. (Loads from global memory need not have arrived.)
static __device__ void synchronize() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
"""
# Data format and such of a raw buffer's last word; gfx10 and later: also that all is checked against its size.
FLAGS = (("gfx1250", 0x20000), ("gfx11", 0x31004000), ("gfx12", 0x31004000), ("gfx9", 0x27000))


def source(found: Plan, sizes: tuple[int, int, int]) -> str:
    """The source of the kernels: D = A B.

    Args:
        sizes: M, N and K of the launch line that is shown.
    """
    builtin = reached(found.instruction, found.wave).builtin
    each = tile_plan(found)
    lines = [*_head(each, builtin), *_helpers(each), *_tile(each, builtin), *_kernels(each)]
    lines += [*reduction(found), *_launch(found, sizes)]
    return "\n".join([*lines, ""])


def _output(found: Plan) -> str:
    return memory_type(output_format(found.instruction, found.epilogue).name, "hip")


def _aligned_words(found: Plan) -> str:
    """The condition of the kernel for aligned matrices."""
    named = {VECTOR * 8 // side.bits: [] for side in (found.a, found.b)}  # type: dict[int, list[str]]
    for side in (found.a, found.b):
        named[VECTOR * 8 // side.bits] += ["K"] * (side.along_k and "K" not in named[VECTOR * 8 // side.bits])
        named[VECTOR * 8 // side.bits].append(f"ld{side.name.lower()}")
    if found.stored > 1:
        named.setdefault(found.stored, []).extend(["N", "ldd"])
    return "; ".join(f"{', '.join(names)} multiples of {count}" for count, names in named.items())


def _head(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    inst = found.instruction
    yield f"// D = {found.epilogue.formula} with {inst.name} on {inst.architecture.title}, wave{found.wave}."
    a, b = ("row by row" if way else "column by column" for way in (found.a.along_k, not found.b.along_k))
    yield f"// A (M x K) lies {a}, B (K x N) {b}, D (M x N) row by row; ld in elements."
    yield f"// {found.name} is for aligned matrices: {_aligned_words(found)};"
    even = " (4-bit elements in pairs: K and ld even)" if min(found.a.bits, found.b.bits) < 8 else ""
    yield f"// {found.name}_any for all others{even}."
    yield from notes(found)
    yield from compiler_note(inst)
    yield from _scale_notes(found)
    yield f"// Rows of matrices are shorter than 2 GiB / {max(found.block_m, found.block_n)}."
    if found.swapped:
        yield "// The instruction computes the transposed product, B' A': so a lane's elements of D are neighbours."
    yield HEADER
    for side in (found.a, found.b):
        yield f"typedef {side.element} {side.name.lower()}_element;"
    sums = memory_type(sums_format(inst, found.epilogue).name, "hip")
    accumulated = f" typedef {sums} accumulated;" if found.epilogue.words else ""
    yield f"typedef {_output(found)} output;{accumulated}"
    arguments = dict(zip(builtin.arg_names, builtin.arg_types))
    values = {"a_value": arguments[_argument(found, "A")], "b_value": arguments[_argument(found, "B")]}
    for name, kind in (*values.items(), ("result", builtin.return_type)):
        scalar, _, count = kind.partition(" x")
        yield f"typedef {scalar} {name}" + (f" __attribute__((ext_vector_type({count})));" if count else ";")
    yield "typedef unsigned int u32x2 __attribute__((ext_vector_type(2)));"
    yield "typedef unsigned int u32x4 __attribute__((ext_vector_type(4)));  // 16 bytes of a lane's access"
    yield ""
    sizes = f"BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n}, BLOCK_K = {found.block_k}"
    yield f"enum {{ {sizes} }};  // of a workgroup"
    waves = f"WAVES_M = {found.waves_m}, WAVES_N = {found.waves_n}"
    yield f"enum {{ WAVE = {found.wave}, {waves}, THREADS = {found.threads} }};"
    yield f"enum {{ TILES_M = {found.tiles_m}, TILES_N = {found.tiles_n} }};  // of the instruction in a wave"
    for side, turn in ((found.a, found.a_turn), (found.b, found.b_turn)):
        letter = side.name
        loads = turn.count * turn.rows if turn else side.tile.bytes // VECTOR // found.threads
        yield (
            f"enum {{ {letter}_ROW = {side.tile.row_bytes}, {letter}_TILE = {side.tile.bytes}, "
            f"{letter}_LOADS = {loads} }};  // bytes of a row and of a stage in LDS; loads of a thread"
        )
    if found.buffers > 1:
        yield f"enum {{ BUFFERS = {found.buffers} }};"
    yield f"enum {{ OUTSIDE = 0x{0x7FFFFFF0:x} }};  // an offset beyond every buffer"
    yield f"enum {{ FLAGS = {_flags(found):#x} }};  // of a buffer without a format whose size is in bytes"
    yield ""


def _scale_notes(found: Plan) -> Iterator[str]:
    """What the head of the source says of scales."""
    if found.instruction.scaled:
        forms = [found.scale(side).format.name for side in "AB"]
        codes = f"{forms[0].upper()} codes" if forms[0] == forms[1] else f"codes of {' and '.join(forms)}"
        yield f"// Scales are {codes}: SA (M x K / {SCALED_K}) of A's rows, SB (N x K / {SCALED_K}) of B's columns,"
        yield f"// those of one row or column side by side. K is a multiple of {found.scales_k} for both kernels."


def compiler_note(inst: Instruction) -> Iterator[str]:
    """How a source for gfx1250 is compiled."""
    if inst.architecture.targets[0] == "gfx1250":
        yield "// Compile with -mllvm -amdgpu-enable-vopd=0: behind WMMA, clang 22.1.8 does not wait for pairs of VALU"
        yield "// instructions (v_dual_...)."


def _flags(found: Plan) -> int:
    return next(flags for name, flags in FLAGS if found.instruction.architecture.targets[0].startswith(name))


def _argument(found: Plan, side: str) -> str:
    """The builtin's argument that takes A or B."""
    return found.operand(side).name.lower()


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


def _helpers(found: Plan) -> Iterator[str]:
    yield HELPERS
    if found.direct:
        yield DIRECT
    yield from _block_order(found)
    yield from group_function(found)
    for side in (found.a, found.b):
        yield from place_function(side)
    for bits in sorted({found.a.bits, found.b.bits}):
        yield from _fetch(bits, {turn.width if turn else VECTOR for side, turn in _sides(found) if side.bits == bits})
    for size in sorted({side.bits // 8 for side, turn in _sides(found) if turn and side.bits < 32}):
        yield from TURNED[size]
        yield ""
    yield from function(found)
    yield from finishing(found.instruction, found.epilogue)


def _sums(found: Plan) -> Sums:
    """Where a lane's sums are."""
    d = fragment(found.instruction.operand("D", found.wave))
    axes = ("column", "row") if found.swapped else ("row", "column")
    return Sums(
        d, axes, ("first_m", "first_n"), ("wave_m", "wave_n"), (found.block_m, found.block_n),
        (found.tile("A"), found.tile("B")), (found.tiles_m, found.tiles_n), ("TILES_M", "TILES_N"), "[i][j]",
    )  # fmt: skip


def _sides(found: Plan) -> tuple[tuple[Side, Turn | None], ...]:
    return (found.a, found.a_turn), (found.b, found.b_turn)


def _block_order(found: Plan) -> Iterator[str]:
    dies = DIES.get(found.instruction.architecture.targets[0], 1)
    yield "// Which tile of D a block computes. Blocks that run together share few rows and columns, for the caches:"
    yield f"// they take {GROUP} rows of tiles at a time, column by column."
    if dies > 1:
        yield f"// Blocks go to {dies} dies in turn, each with a cache of its own, so a die takes neighbouring tiles."
    yield "static __device__ void place_block(int block, int tiles_m, int tiles_n, int *tile_m, int *tile_n) {"
    if dies > 1:
        yield f"    enum {{ DIES = {dies} }};"
        yield "    const int all = tiles_m * tiles_n, die = block % DIES;"
        yield "    block = die * (all / DIES) + least(die, all % DIES) + block / DIES;"
    yield f"    enum {{ GROUP = {GROUP} }};"
    yield "    const int group = block / (GROUP * tiles_n), rest = block % (GROUP * tiles_n);"
    yield "    const int height = least(tiles_m - group * GROUP, GROUP);"
    yield "    *tile_m = group * GROUP + rest % height;"
    yield "    *tile_n = rest / height;"
    yield "}"
    yield ""


def place_function(side: Side) -> Iterator[str]:
    """Where a byte of the tile lies in LDS."""
    letter = side.name.lower()
    terms = [(each, ((1 << each.bits) - 1) << each.base) for each in (side.swizzle, side.spread) if each.bits]
    if terms:
        inverse = ", and the inverse" * (len(terms) == 1)
        words = " and ".join(f"Swizzle<{each.bits},{each.base},{each.shift}>" for each, _ in terms)
        yield f"// Where a byte of {side.name}'s tile lies in LDS{inverse}: against bank conflicts."
        yield f"// {words} of byte addresses."
        moved = "".join(f" ^ ((byte >> {each.shift}) & {mask:#x})" for each, mask in terms)
        yield f"static __device__ int {letter}_place(int byte) {{ return byte{moved}; }}"
    else:
        yield f"// Where a byte of {side.name}'s tile lies in LDS: row by row, which has no bank conflicts."
        yield f"static __device__ int {letter}_place(int byte) {{ return byte; }}"
    yield ""


LOADS = {1: ("unsigned char", "b8"), 2: ("unsigned short", "b16"), 4: ("unsigned int", "b32"), 8: ("u32x2", "b64")}


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
    2: (
        "// Element e of the words of two k, which become neighbours.",
        "static __device__ unsigned int turned2(unsigned int k0, unsigned int k1, int e) {",
        "    return __builtin_amdgcn_perm(k1, k0, e % 2 ? 0x07060302 : 0x05040100);",
        "}",
    ),
    1: (
        "// Element e of the words of four k, which become neighbours.",
        "static __device__ unsigned int turned1(unsigned int k0, unsigned int k1, unsigned int k2, unsigned int k3,",
        "                                             int e) {",
        "    const unsigned int pair = e % 4 < 2 ? 0x05010400 : 0x07030602;  // bytes e and e + 1 of two words",
        "    const unsigned int low = __builtin_amdgcn_perm(k1, k0, pair), high = __builtin_amdgcn_perm(k3, k2, pair);",
        "    return __builtin_amdgcn_perm(high, low, e % 2 ? 0x07060302 : 0x05040100);",
        "}",
    ),
}


def _parameters(found: Plan) -> str:
    scales = "const unsigned char *__restrict__ SA, const unsigned char *__restrict__ SB,\n    "
    d = "output *D" if found.epilogue.beta else "output *__restrict__ D"  # C may be D
    return (
        f"const a_element *__restrict__ A, const b_element *__restrict__ B, {d},\n"
        f"    {scales * found.instruction.scaled}{declared(found)}int M, int N, int K, int lda, int ldb, int ldd"
        f"{parameters(found.instruction, found.epilogue).declared}"
    )


def _tile(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    yield "// A workgroup's tile of D."
    yield "template <bool aligned>"
    yield f"static __device__ void tile({_parameters(found)}{stride_declared(found)}{tile_places(found)}) {{"
    yield from indented(_prologue(found))
    for side, turn in _sides(found):
        yield from indented(_places(found, side, turn))
    if found.instruction.scaled:
        yield from indented(_scales(found))
    yield from indented(_fetching(found))
    yield from indented(_storing(found))
    yield from indented(_multiplying(found, builtin))
    yield from indented(declarations(found, _sums(found)))
    yield from indented(_loop(found))
    yield from indented(_epilogue(found))
    yield "}"
    yield ""


def _prologue(found: Plan) -> Iterator[str]:
    count = "[BUFFERS]" if found.buffers > 1 else ""
    arrays = ", ".join(f"{letter}_tile{count}[{letter.upper()}_TILE]" for letter in "ab")
    yield f"__shared__ __attribute__((aligned(16))) unsigned char {arrays};"
    yield "const int thread = __builtin_amdgcn_workitem_id_x(), lane = thread % WAVE;"
    yield "const int wave = __builtin_amdgcn_readfirstlane(thread / WAVE);"
    if not found.groups:
        yield "int tile_m, tile_n;"
        yield "place_block(__builtin_amdgcn_workgroup_id_x(), (M + BLOCK_M - 1) / BLOCK_M, (N + BLOCK_N - 1) / BLOCK_N,"
        yield "            &tile_m, &tile_n);"
    yield "const int first_m = tile_m * BLOCK_M, first_n = tile_n * BLOCK_N;"
    yield "const int rows = least(M - first_m, BLOCK_M), columns = least(N - first_n, BLOCK_N);  // of the tile in D"
    yield "const int wave_m = wave / WAVES_N * (BLOCK_M / WAVES_M), wave_n = wave % WAVES_N * (BLOCK_N / WAVES_N);"
    for side in (found.a, found.b):
        part = fragment(found.operand(side.name))
        yield f"// {side.name}: {part.operand.pattern}"
        if side.rows_of_k:
            yield from part.variables(side.name.lower())
    d = fragment(found.instruction.operand("D", found.wave))
    yield f"// D{' transposed' * found.swapped}: {d.operand.pattern}"
    yield from d.variables("d")
    yield ""


def _scaled(name: str, bits: int) -> str:
    """A number of elements in bytes, as C text."""
    return f"{name} * {bits // 8}" if bits > 8 else name if bits == 8 else f"{name} / {8 // bits}"


def _places(found: Plan, side: Side, turn: Turn | None) -> Iterator[str]:
    """Where this thread's part of a stage lies in memory."""
    letter, name = side.name.lower(), side.name
    row, extent = ("first_m", "rows") if name == "A" else ("first_n", "columns")
    yield f"// {name}: what this thread loads for each stage, from the first byte of the stage on."
    yield f"const int {letter}_stride = {_scaled(f'ld{letter}', side.bits)};  // bytes from row to row of memory"
    first = f"(long){row} * {letter}_stride" if side.along_k else _scaled(row, side.bits)
    yield f"const unsigned char *{letter}_from = (const unsigned char *){name} + {first};"
    if side.along_k:
        yield f"int {letter}_bytes = ({extent} - 1) * {letter}_stride + {_scaled('K', side.bits)};"
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
    letter, size = side.name.lower(), side.bits // 8
    pairs, count = side.depth // turn.rows, turn.width // size
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
    yield f"        {letter}_at[n * {turn.rows} + m] = {row} + {letter}_first[n] * {size};"
    yield "}"
    yield ""


def _scales(found: Plan) -> Iterator[str]:
    """Scales go from memory to the registers that the instruction takes, a stage ahead."""
    steps = found.steps
    yield f"// Scales: one for each {SCALED_K} k of a row of A (column of B), loaded a stage ahead like the stage."
    yield f"const int blocks = K / {SCALED_K};  // of a row"
    for side in (found.a, found.b):
        letter, name = side.name.lower(), side.name
        first, extent = ("first_m", "rows") if name == "A" else ("first_n", "columns")
        tiles = "TILES_M" if name == "A" else "TILES_N"
        part = fragment(found.scale(name))
        yield f"// S{name}: {part.operand.pattern}"
        yield from part.variables(f"s{letter}")
        yield f"const __amdgpu_buffer_rsrc_t {letter}_scales = buffer("
        yield f"    S{name} + (long){first} * blocks, {extent} * blocks);"
        yield f"unsigned int {letter}_scale[{steps}][{tiles}], {letter}_scale_next[{steps}][{tiles}];"
    yield "const auto fetch_scales = [&](int first) __attribute__((always_inline)) {"
    yield f"    for (int step = 0; step < {steps}; ++step) {{"
    for side in (found.a, found.b):
        yield from (f"        {line}" for line in _scale_loads(found, side))
    yield "    }"
    yield "};"
    yield "const auto keep_scales = [&]() __attribute__((always_inline)) {"
    yield f"    for (int step = 0; step < {steps}; ++step) {{"
    for side in (found.a, found.b):
        letter, tiles = side.name.lower(), "TILES_M" if side.name == "A" else "TILES_N"
        yield f"        for (int tile = 0; tile < {tiles}; ++tile)"
        yield f"            {letter}_scale[step][tile] = {letter}_scale_next[step][tile];"
    yield "    }"
    yield "};"
    yield ""


def _scale_loads(found: Plan, side: Side) -> Iterator[str]:
    letter, name = side.name.lower(), side.name
    wave, tiles = ("wave_m", "TILES_M") if name == "A" else ("wave_n", "TILES_N")
    part = fragment(found.scale(name))
    outer, inner = ("row", "column") if part.operand.name == "SA" else ("column", "row")
    block = total([(getattr(digit, inner) // SCALED_K, f"s{letter}_{digit.name}") for digit in part.digits])
    each = found.instruction.k // SCALED_K
    load = LOADS[len(part.items)][1]
    yield f"const int {letter}_block = first + {each} * step" + (f" + {block};" if block != "0" else ";")
    yield f"for (int tile = 0; tile < {tiles}; ++tile) {{"
    row = total([(1, wave), (found.tile(name), "tile"), (1, part.first(outer, f"s{letter}"))])
    yield f"    const int at = ({row}) * blocks + {letter}_block;"
    yield f"    {letter}_scale_next[step][tile] = __builtin_amdgcn_raw_buffer_load_{load}("
    yield f"        {letter}_scales, {letter}_block < blocks ? at : OUTSIDE, 0, 0);"
    yield "}"


def _fetching(found: Plan) -> Iterator[str]:
    sides = _sides(found)
    for side, turn in sides:
        yield f"{WORDS[turn.width if turn else VECTOR]} {side.name.lower()}_next[{side.name}_LOADS];"
    where = "; if aligned, to a buffer in LDS" if found.direct else ""
    yield f"// Starts to load the stage of `k`, zeros beyond the matrices{where}."
    number = ", int to" * found.direct
    yield f"const auto fetch_stage = [&](int k{number}) __attribute__((always_inline)) {{"
    yield "    const int left = K - k;"
    along = [side for side, _ in sides if side.along_k]
    if along:
        yield "    if (aligned && left < BLOCK_K) {  // the last stage, or none: some of its k are outside"
        for side in along:
            letter = side.name.lower()
            yield f"        for (int n = 0; n < {side.name}_LOADS; ++n)"
            yield f"            if ({letter}_column[n] >= {_scaled('left', side.bits)}) {letter}_at[n] = OUTSIDE;"
            yield f"        if (left <= 0) {letter}_bytes = 0;"
        yield "    }"
        ends = ", ".join(f"{side.name.lower()}_bytes = 0" for side in along)
        yield f"    if (!aligned && left <= 0) {ends};  // a buffer of one row would have a negative size"
    if len(along) < 2:
        yield "    const int stage = least(left, BLOCK_K);  // k inside"
    for side, turn in sides:
        yield from (f"    {line}" for line in _fetch_side(found, side, turn))
    if found.instruction.scaled:
        yield f"    fetch_scales(k / {SCALED_K});"
    yield "};"


def _fetch_side(found: Plan, side: Side, turn: Turn | None) -> Iterator[str]:
    letter, name = side.name.lower(), side.name
    extent = "rows" if name == "A" else "columns"
    width = turn.width if turn else VECTOR
    size = f"{letter}_bytes"
    if not side.along_k:
        size = f"stage > 0 ? (stage - 1) * {letter}_stride + {_scaled(extent, side.bits)} : 0"
    inside = f"{_scaled('left', side.bits)} - {letter}_column[n]" if side.along_k else f"{width}"
    yield f"const __amdgpu_buffer_rsrc_t {letter}_matrix = buffer({letter}_from, {size});"
    yield f"for (int n = 0; n < {name}_LOADS; ++n)"
    if found.direct:
        yield "    if (aligned)"
        yield f"        load_to_lds({letter}_from, {size},"
        yield f"                    {letter}_tile[to] + (n * THREADS + wave * WAVE) * {VECTOR}, {letter}_at[n]);"
        yield "    else"
    more = "    " * found.direct
    yield f"{more}    {letter}_next[n] = fetch{side.bits}_{width}<aligned>({letter}_matrix, {letter}_at[n], {inside});"
    if side.along_k:
        step = _scaled("BLOCK_K", side.bits)
        yield f"{letter}_from += {step};"
        yield f"{letter}_bytes -= {step};"
    else:
        yield f"{letter}_from += (long)BLOCK_K * {letter}_stride;"


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
        size = side.bits // 8
        count = turn.width // size
        to = f"{letter}_tile{place} + {letter}_place(({letter}_first[n] + e) * {name}_ROW + {letter}_depth[n] * {size})"
        yield f"    for (int n = 0; n < {turn.count}; ++n)"
        yield f"        for (int e = 0; e < {count}; ++e)"
        if turn.rows > 1:
            words = ", ".join(
                _word(f"{letter}_next[n * {turn.rows}{f' + {m}' if m else ''}]", turn.width, f"e / {4 // size}")
                for m in range(turn.rows)
            )
            yield f"            *(unsigned int *)({to}) ="
            yield f"                turned{size}({words}, e);"
        else:
            word = _word(f"{letter}_next[n]", turn.width, "e")
            word = f"(u32x2){{{letter}_next[n][2 * e], {letter}_next[n][2 * e + 1]}}" if size == 8 else word
            yield f"            *({WORDS[size]} *)({to}) = {word};"
    if found.instruction.scaled:
        yield "    keep_scales();"
    yield "};"


def _word(value: str, width: int, at: str) -> str:
    return f"{value}[{at}]" if width > 4 else value


def _multiplying(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    number, place = ("int buffer", "[buffer]") if found.buffers > 1 else ("", "")
    yield "result sum[TILES_M][TILES_N] = {};"
    yield "// Multiplies the stage that is in LDS."
    yield f"const auto multiply_stage = [&]({number}) __attribute__((always_inline)) {{"
    yield f"    for (int step = 0; step < {found.steps}; ++step) {{"
    for side in (found.a, found.b):
        yield from (f"        {line}" for line in _reading(found, side, place))
    if found.kpack > 1:
        yield "        // k is relabelled: an instruction takes a part of the elements that a lane has read."
        yield f"        for (int part = 0; part < {found.kpack}; ++part)"
    more = "    " * (found.kpack > 1)
    yield f"{more}        for (int i = 0; i < TILES_M; ++i)"
    yield f"{more}            for (int j = 0; j < TILES_N; ++j)"
    yield f"{more}                sum[i][j] = {builtin.builtin}("
    yield f"{more}                    {_call(found, builtin)});"
    yield "    }"
    yield "};"


def _call(found: Plan, builtin: Intrinsic) -> str:
    part = "part" if found.kpack > 1 else "0"
    values = {_argument(found, "A"): f"a[i].part[{part}]", _argument(found, "B"): f"b[j].part[{part}]"}
    given = {**ARGUMENTS, **signs(found.instruction, found.fields), **values, "c": "sum[i][j]"}
    given |= {"a_scale": "0", "b_scale": "0"}
    if found.instruction.scaled:
        given[f"{_argument(found, 'A')}_scale"] = "a_scale[step][i]"
        given[f"{_argument(found, 'B')}_scale"] = "b_scale[step][j]"
    texts = []
    for name in builtin.arg_names:
        field = FIELDS.get(name, name)
        texts.append(given.get(name) or str(found.fields.get(field, 0)))
    return ", ".join(texts)


def _reading(found: Plan, side: Side, place: str) -> Iterator[str]:
    """A lane's part of A (B) for one step, of all its tiles."""
    inst, letter = found.instruction, side.name.lower()
    reads = pieces(found.operand(side.name), side, found.kpack)
    tiles, wave = ("TILES_M", "wave_m") if side.name == "A" else ("TILES_N", "wave_n")
    words = sum(piece.width for piece in reads) // 4
    yield f"union {{ {letter}_value part[{found.kpack}]; unsigned int word[{words}]; }} {letter}[{tiles}];"
    yield f"for (int tile = 0; tile < {tiles}; ++tile) {{"
    for piece in reads:
        at = _address(found, side, piece, wave, inst.k * found.kpack)
        kind = WORDS[piece.width]
        target = f"*({kind} *)&{letter}[tile].word[{piece.word}]"
        if piece.load:
            vector = {"i16": "short", "i32": "int"}[piece.load[-3:]]
            count = piece.load[-4]
            yield "    {  // these lanes' elements, transposed"
            yield f"        typedef {vector} loaded __attribute__((ext_vector_type({count})));"
            yield "        typedef __attribute__((address_space(3))) loaded place;"
            yield f"        *(loaded *)&{letter}[tile].word[{piece.word}] ="
            yield f"            __builtin_amdgcn_{piece.load}((place *)({letter}_tile{place} + {at}));"
            yield "    }"
        else:
            yield f"    {target} = *(const {kind} *)({letter}_tile{place} + {at});"
    yield "}"


def _address(found: Plan, side: Side, piece: Piece, wave: str, k: int) -> str:
    """The place in LDS of what a lane reads, as C text."""
    letter, name, extent = side.name.lower(), side.name, found.tile(side.name)
    if side.rows_of_k:
        row, step = total([(1, wave), (extent, "tile"), (1, piece.row)]), k * side.bits // 8
        byte = total([(step, "step"), (1, piece.byte)] if piece.byte != "0" else [(step, "step")])
    else:
        row = total([(k, "step"), (1, piece.row)])
        byte = f"({wave} + {extent} * tile) * {side.bits // 8} + {piece.byte}"
    return f"{letter}_place(({row}) * {name}_ROW + {byte})"


def _loop(found: Plan) -> Iterator[str]:
    yield ""
    if found.direct:
        yield "if (aligned) {"
        yield from (f"    {line}" for line in _direct_loop(found))
        yield "} else {"
        yield from (f"    {line}" for line in _staged_loop(found))
        yield "}"
    else:
        yield from _staged_loop(found)
    yield ""


def _direct_loop(found: Plan) -> Iterator[str]:
    """The loop of the kernel whose stages come to LDS without registers."""
    yield "fetch_stage(0, 0);"
    yield "const auto next_stage = [&](int k, int buffer) __attribute__((always_inline)) {"
    yield "    wait_for_loads();  // of this stage"
    if found.instruction.scaled:
        yield "    keep_scales();"
    yield "    synchronize();  // and all have multiplied the one before, whose buffer is free"
    yield "    fetch_stage(k + BLOCK_K, buffer ^ 1);  // arrives while this stage is multiplied"
    yield "    multiply_stage(buffer);"
    yield from (f"    {line}" for line in end_of_stage(found))
    yield "};"
    yield from _in_turn()
    yield "wait_for_loads();  // of the stage behind the last, or they come to LDS that is another workgroup's by then"


def _in_turn() -> Iterator[str]:
    yield "// Both buffers in turn, so that their addresses are constants."
    yield "for (int k = 0; k < K; k += 2 * BLOCK_K) {"
    yield "    next_stage(k, 0);"
    yield "    if (k + BLOCK_K < K) next_stage(k + BLOCK_K, 1);"
    yield "}"


def _staged_loop(found: Plan) -> Iterator[str]:
    """The loop of a kernel whose stages go through registers."""
    more = ", 0" * found.direct
    yield f"fetch_stage(0{more});"
    if found.buffers == 1:
        yield "for (int k = 0; k < K; k += BLOCK_K) {"
        yield "    store_stage();"
        yield "    synchronize();"
        yield "    fetch_stage(k + BLOCK_K);  // arrives while this stage is multiplied"
        yield "    multiply_stage();"
        yield from (f"    {line}" for line in end_of_stage(found))
        yield "    synchronize();  // before LDS is written again"
        yield "}"
    else:
        yield "store_stage(0);"
        yield "synchronize();"
        yield "const auto next_stage = [&](int k, int buffer) __attribute__((always_inline)) {"
        yield f"    fetch_stage(k + BLOCK_K{more});  // arrives while this stage is multiplied"
        yield "    multiply_stage(buffer);"
        yield from (f"    {line}" for line in end_of_stage(found))
        yield "    store_stage(buffer ^ 1);"
        yield "    synchronize();"
        yield "};"
        yield from _in_turn()


def _epilogue(found: Plan) -> Iterator[str]:
    inst = found.instruction
    d = fragment(inst.operand("D", found.wave))
    size = output_format(inst, found.epilogue).bits // 8
    m, n = ("column", "row") if found.swapped else ("row", "column")
    firsts = _stored_firsts(found, d)
    slots = d.operand.registers * 32 // d.operand.format.bits
    yield "// Rows beyond D lie outside of the buffer; columns beyond it get an offset outside."
    yield "const __amdgpu_buffer_rsrc_t d_matrix = buffer("
    yield f"    D + (long)first_m * ldd + first_n, ((rows - 1) * ldd + columns) * {size});"
    vector = "vector of neighbours" if found.stored > 1 else "element"
    for axis, at in (("rows", 0), ("columns", 1), ("slots", 2)):
        numbers = ", ".join(str(first[at]) for first in firsts)
        words = f"  // of each {vector} of a lane" if axis == "rows" else ""
        yield f"const unsigned char d_{axis}[] = {{{numbers}}};{words}"
    ended = bool(found.epilogue.words)
    unroll = ["#pragma unroll"] * ended
    yield from [f"{line}  // so that the sums stay in registers" for line in unroll]
    yield "for (int i = 0; i < TILES_M; ++i)"
    yield from unroll
    yield "    for (int j = 0; j < TILES_N; ++j) {"
    kind = "accumulated" if ended else "output"
    all_of, sums = ("totals", "total") if found.scales else ("result", "sum")
    yield f"        const union {{ {all_of} all; {kind} each[{slots}]; }} found = {{{sums}[i][j]}};"
    yield from unroll
    yield f"        for (int n = 0; n < {len(firsts)}; ++n) {{"
    yield f"            const int row = wave_m + i * {found.tile('A')} + {d.first(m, 'd')} + d_rows[n];"
    yield f"            const int column = wave_n + j * {found.tile('B')} + {d.first(n, 'd')} + d_columns[n];"
    yield f"            const int at = (row * ldd + column) * {size};"
    yield from (f"            {line}" for line in _store(found, size))
    yield "        }"
    yield "    }"


def _stored_firsts(found: Plan, d: Fragment) -> list[tuple[int, int, int]]:
    """The row, the column and the slot of the first element of each store of a lane."""
    m, n = ("column", "row") if found.swapped else ("row", "column")
    return [
        (getattr(run.first, m), getattr(run.first, n) + at, run.first.slot + at)
        for run in runs(d, "col" if found.swapped else "row")
        for at in range(0, run.count, found.stored)
    ]


def _store(found: Plan, size: int) -> Iterator[str]:
    """The store of neighbours in D: of the sums, or of what the epilogue makes of them."""
    stored = found.stored
    kind, store = LOADS.get(size * stored, ("u32x4", "b128"))
    element = "found.each[d_slots[n]{}]"
    if found.epilogue.words:
        more = parameters(found.instruction, found.epilogue).passed
        yield f"union {{ output each[{stored}]; {kind} all; }} ended;"
        yield f"for (int e = 0; e < {stored}; ++e)"
        yield "    ended.each[e] = finished("
        yield f"        found.each[d_slots[n] + e], first_m + row, first_n + column + e, M, N{more});"
        element = "ended.each[0{}]"
    if stored == 1:
        yield from _store_one(size, element.format(""), "column < columns ? at : OUTSIDE")
        return
    yield "if (aligned) {"
    yield f"    __builtin_amdgcn_raw_buffer_store_{store}("
    yield f"        *(const {kind} *)&{element.format('')}, d_matrix,"
    yield "        column < columns ? at : OUTSIDE, 0, 0);"
    yield "} else {"
    yield f"    for (int e = 0; e < {stored}; ++e)"
    place = f"column + e < columns ? at + e * {size} : OUTSIDE"
    yield from (f"        {line}" for line in _store_one(size, element.format(" + e"), place))
    yield "}"


def _store_one(size: int, element: str, at: str) -> Iterator[str]:
    kind, store = LOADS[size]
    yield f"__builtin_amdgcn_raw_buffer_store_{store}("
    yield f"    *(const {kind} *)&{element}, d_matrix, {at}, 0, 0);"


def _kernels(found: Plan) -> Iterator[str]:
    bounds = "amdgpu_flat_work_group_size(THREADS, THREADS)"
    if found.instruction.architecture.targets[0] == "gfx1250":
        yield "// Four waves on a SIMD, so 256 registers: of more, clang 22.1.8 takes wrong ones (s_set_vgpr_msb)."
        bounds += ", amdgpu_waves_per_eu(4)"
    more = parameters(found.instruction, found.epilogue).passed
    for name, aligned in ((found.name, "true"), (f"{found.name}_any", "false")):
        yield f'extern "C" __global__ __attribute__(({bounds}))'
        if is_sliced(found):
            yield from sliced_kernel(found, name, aligned)
            yield ""
            continue
        yield f"void {name}({_parameters(found)}) {{"
        scales = "SA, SB, " * found.instruction.scaled + passed(found)
        yield f"    tile<{aligned}>(A, B, D, {scales}M, N, K, lda, ldb, ldd{more}{stride_passed(found)});"
        yield "}"
        yield ""


def _launch(found: Plan, sizes: tuple[int, int, int]) -> Iterator[str]:
    m, n, k = sizes
    lda, ldb = k if found.a.along_k else m, k if found.b.along_k else n
    name = found.name if found.aligned(m, n, k, lda, ldb, n) else f"{found.name}_any"
    if is_sliced(found):
        yield from sliced_launch(found, sizes, name, (lda, ldb))
        return
    yield f"// hipLaunchKernelGGL({name}, dim3({found.blocks(m, n)}), dim3({found.threads}), 0, stream,"
    scales = "SA, SB, " * found.instruction.scaled + passed(found)
    more = parameters(found.instruction, found.epilogue).passed
    yield (
        f"//                    A, B, D, {scales}{m}, {n}, {k}, {lda}, {ldb}, {n}{more});"
        f"  // A, B, D, {scales}M, N, K, lda, ldb, ldd{more}"
    )
