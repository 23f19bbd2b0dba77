"""The source of a tiled GEMM kernel of AMD, in HIP: see `mmacalc.codegen.gemm` for its sizes.

Global memory is read and written by buffer instructions, which give 0 for what lies outside and drop what is stored
there: so the rows of a tile that a matrix does not have need no branch. Two kernels are written: one for matrices whose
rows begin at multiples of 16 bytes, one for all others, which moves element by element.
"""

from __future__ import annotations

from .epilogue import finishing, output_format, parameters, sums_format
from .fragments import fragment, runs
from .gemm_hip_loops import loop
from .gemm_hip_reads import JOINED, argument
from .gemm_hip_stages import LOADS, stage_functions, stages
from .gemm_lds import SCALED_K, VECTOR
from .gemm_scales import (
    Sums,
    declarations,
    declared,
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
from .hip import HEADER, reached
from .source import indented, memory_type
from .staging import whole_accesses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..compiler.dialects import Intrinsic
    from ..model import Instruction
    from .fragments import Fragment
    from .gemm import Plan
    from .staging import Side

__all__ = ["FLAGS", "HELPERS", "compiler_note", "place_function", "source"]

GROUP = 8  # rows of tiles of which blocks take all columns before they go on
DIES = {"gfx942": 8, "gfx950": 8}  # with a cache of their own, to which blocks go in turn (MI300X, MI355X)

TOGETHER = {4: "4-bit elements in pairs: {} even", 6: "6-bit elements four in 3 bytes: {} multiples of 4"}

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
    named: dict[int, list[str]] = {}
    for side in (found.a, found.b):
        unit = whole_accesses(side.bits)
        along = named.setdefault(unit * found.shares(side), [])
        along += ["K"] * (side.along_k and "K" not in along)
        named.setdefault(unit, []).append(f"ld{side.name.lower()}")
    if found.stored > 1:
        named.setdefault(found.stored, []).extend(["N", "ldd"])
    return "; ".join(f"{', '.join(names)} multiples of {count}" for count, names in named.items() if names)


def _head(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    inst = found.instruction
    yield f"// D = {found.epilogue.formula} with {inst.name} on {inst.architecture.title}, wave{found.wave}."
    a, b = ("row by row" if way else "column by column" for way in (found.a.along_k, not found.b.along_k))
    yield f"// A (M x K{' / 2' * inst.sparse}) lies {a}, B (K x N) {b}, D (M x N) row by row; ld in elements."
    yield f"// {found.name} is for aligned matrices: {_aligned_words(found)};"
    even = "".join(
        f" ({what.format('K and ld' if any(side.along_k for side in narrow) else 'ld')})"
        for bits, what in TOGETHER.items()
        if (narrow := [side for side in (found.a, found.b) if side.bits == bits])
    )
    yield f"// {found.name}_any for all others{even}."
    yield from notes(found)
    yield from compiler_note(inst)
    yield from _beside_notes(found)
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
    values = {"a_value": arguments[argument(found, "A")], "b_value": arguments[argument(found, "B")]}
    for name, kind in (*values.items(), ("result", builtin.return_type)):
        scalar, _, count = kind.partition(" x")
        yield f"typedef {scalar} {name}" + (f" __attribute__((ext_vector_type({count})));" if count else ";")
    yield "typedef unsigned int u32x2 __attribute__((ext_vector_type(2)));"
    yield "typedef unsigned int u32x4 __attribute__((ext_vector_type(4)));  // 16 bytes of a lane's access"
    if 6 in (found.a.bits, found.b.bits):
        yield f"typedef unsigned int {JOINED} __attribute__((ext_vector_type(4), aligned(8)));  // which begin at 8"
    yield ""
    sizes = f"BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n}, BLOCK_K = {found.block_k}"
    yield f"enum {{ {sizes} }};  // of a workgroup"
    waves = f"WAVES_M = {found.waves_m}, WAVES_N = {found.waves_n}"
    yield f"enum {{ WAVE = {found.wave}, {waves}, THREADS = {found.threads} }};"
    yield f"enum {{ TILES_M = {found.tiles_m}, TILES_N = {found.tiles_n} }};  // of the instruction in a wave"
    for side, turn in ((found.a, found.a_turn), (found.b, found.b_turn)):
        letter = side.name
        loads = turn.count * turn.rows if turn else side.tile.filled // VECTOR // found.threads
        yield (
            f"enum {{ {letter}_ROW = {side.tile.row_bytes}, {letter}_TILE = {side.tile.bytes}, "
            f"{letter}_LOADS = {loads} }};  // bytes of a row and of a stage in LDS; loads of a thread"
        )
    if found.buffers > 1:
        yield f"enum {{ BUFFERS = {found.buffers} }};"
    yield f"enum {{ OUTSIDE = 0x{0x7FFFFFF0:x} }};  // an offset beyond every buffer"
    yield f"enum {{ FLAGS = {_flags(found):#x} }};  // of a buffer without a format whose size is in bytes"
    yield ""


def _beside_notes(found: Plan) -> Iterator[str]:
    """What the head of the source says of metadata and scales."""
    if found.instruction.sparse:
        yield "// A is 2:4 sparse and compressed: mmacalc.pack_sparse makes it and its metadata. K is a multiple of 4"
        yield "// for both kernels."
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


def _helpers(found: Plan) -> Iterator[str]:
    yield HELPERS
    yield from _block_order(found)
    yield from group_function(found)
    for side in (found.a, found.b):
        yield from place_function(side)
    yield from stage_functions(found)
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
        words = " and ".join(f"Swizzle<{each.bits},{each.base},{each.shift}>" for each, _ in terms)
        yield f"// Where a byte of {side.name}'s tile lies in LDS, and the inverse: against bank conflicts."
        yield f"// {words} of byte addresses."
        moved = "".join(f" ^ ((byte >> {each.shift}) & {mask:#x})" for each, mask in terms)
        yield f"static __device__ int {letter}_place(int byte) {{ return byte{moved}; }}"
    elif side.gaps[1]:
        every, pad = side.gaps
        yield f"// Where a byte of {side.name}'s tile lies in LDS: against conflicts, {pad} free behind each {every}."
        yield f"static __device__ int {letter}_place(int byte) {{ return byte + byte / {every} * {pad}; }}"
    else:
        yield f"// Where a byte of {side.name}'s tile lies in LDS: row by row, which has no bank conflicts."
        yield f"static __device__ int {letter}_place(int byte) {{ return byte; }}"
    yield ""


def _parameters(found: Plan) -> str:
    d = "output *D" if found.epilogue.beta else "output *__restrict__ D"  # C may be D
    return (
        f"const a_element *__restrict__ A, const b_element *__restrict__ B, {d},\n"
        f"    {declared(found)}int M, int N, int K, int lda, int ldb, int ldd"
        f"{parameters(found.instruction, found.epilogue).declared}"
    )


def _tile(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    yield "// A workgroup's tile of D."
    yield "template <bool aligned>"
    yield f"static __device__ void tile({_parameters(found)}{stride_declared(found)}{tile_places(found)}) {{"
    yield from indented(_prologue(found))
    yield "    result sum[TILES_M][TILES_N] = {};"
    yield from indented(declarations(found, _sums(found)))
    yield from indented(stages(found, builtin))
    yield from indented(loop(found))
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
    yield f"        int tile_row = wave_m + i * {found.tile('A')} + {d.first(m, 'd')};"
    yield f"        int tile_column = wave_n + j * {found.tile('B')} + {d.first(n, 'd')};"
    if ended and found.epilogue.placed:
        yield '        asm volatile("" : "+v"(tile_row), "+v"(tile_column));  // or all addresses are held'
    yield from unroll
    yield f"        for (int n = 0; n < {len(firsts)}; ++n) {{"
    yield "            const int row = tile_row + d_rows[n], column = tile_column + d_columns[n];"
    yield f"            const int at = (row * ldd + column) * {size};"
    yield from indented(_store(found, size), 3)
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
    yield from indented(_store_one(size, element.format(" + e"), place), 2)
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
        yield f"    tile<{aligned}>(A, B, D, {passed(found)}M, N, K, lda, ldb, ldd{more}{stride_passed(found)});"
        yield "}"
        yield ""


def _launch(found: Plan, sizes: tuple[int, int, int]) -> Iterator[str]:
    m, n, k = sizes
    lda, ldb = k // found.shares(found.a) if found.a.along_k else m, k if found.b.along_k else n
    name = found.name if found.aligned(m, n, k, lda, ldb, n) else f"{found.name}_any"
    if is_sliced(found):
        yield from sliced_launch(found, sizes, name, (lda, ldb))
        return
    yield f"// hipLaunchKernelGGL({name}, dim3({found.blocks(m, n)}), dim3({found.threads}), 0, stream,"
    scales = passed(found)
    more = parameters(found.instruction, found.epilogue).passed
    yield (
        f"//                    A, B, D, {scales}{m}, {n}, {k}, {lda}, {ldb}, {n}{more});"
        f"  // A, B, D, {scales}M, N, K, lda, ldb, ldd{more}"
    )
