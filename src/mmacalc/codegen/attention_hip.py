"""The source of an attention kernel of AMD, in HIP: see `mmacalc.codegen.attention` for its sizes.

Global memory is read and written by buffer instructions, for which keys beyond the last are 0 and queries beyond the
last are not stored. While a tile of K and V is in LDS the next is on its way into registers.
"""

from __future__ import annotations

from ..formats import FORMATS
from .attention import AttentionPlan, growth_of, o_format
from .attention_handing import PAD, exchanged, handing, rounding
from .attention_launch import head_comment, launch_arguments
from .fragments import fragment, linear_sum, runs
from .gemm_hip import FLAGS, HELPERS, place_function
from .gemm_hip_loops import LDS_READ, MEMORY_READ, PRODUCT
from .gemm_hip_reads import LOADED
from .gemm_hip_stages import TURNED
from .gemm_lds import VECTOR, pieces
from .hip import ARGUMENTS, FIELDS, HEADER, XDL_WAIT, reached
from .source import indented, memory_type
from .staging import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..compiler.dialects import Intrinsic
    from .attention import Problem
    from .gemm_lds import Piece

__all__ = ["source"]


LONG_CYCLES = 64  # of an instruction of 16 passes
AHEAD = {"gfx1250": {16: (2, 2), 8: (4, 4)}, "gfx12": {16: (2, 2), 8: (2, 2)}}
"""Pieces of K and of V that are read from LDS before those that are multiplied, by the bits of an element: as many as
registers have room for, of heads of up to MOST_AHEAD."""
MOST_AHEAD = 128
NARROW = {"f16": "_Float16", "bf16": "__bf16"}


def source(found: AttentionPlan, sizes: Problem) -> str:
    """The source of the kernel: O = softmax(scale Q K^T) V.

    Args:
        sizes: of the launch line that is shown.
    """
    builtin = reached(found.instruction, found.wave).builtin
    lines = [*head_comment(found), *_types(found, builtin), *_helpers(found), *_kernel(found, builtin)]
    return "\n".join([*lines, *_launch(found, sizes), ""])


def _types(found: AttentionPlan, builtin: Intrinsic) -> Iterator[str]:
    inst = found.instruction
    yield HEADER
    of_o = o_format(found.form)
    yield f"typedef {memory_type(found.form, 'hip')} element;"
    if of_o != found.form:
        yield f"typedef {memory_type(of_o, 'hip')} element_of_o;"
    yield f"typedef {NARROW[of_o]} narrow;  // to which the hardware rounds"
    arguments = dict(zip(builtin.arg_names, builtin.arg_types))
    for name, kind in (("value", arguments["a"]), ("result", builtin.return_type)):
        scalar, _, count = kind.partition(" x")
        yield f"typedef {scalar} {name}" + (f" __attribute__((ext_vector_type({count})));" if count else ";")
    yield "typedef unsigned int u32x2 __attribute__((ext_vector_type(2)));"
    yield "typedef unsigned int u32x4 __attribute__((ext_vector_type(4)));  // 16 bytes of a lane's access"
    yield ""
    yield f"enum {{ HEAD = {found.head}, HEAD_V = {found.head_v} }};  // elements of a row of Q and K, of V and O"
    yield f"enum {{ BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n} }};  // queries, keys"
    offset, most = growth_of(found.form_p)
    yield f"enum {{ GROWTH = {most} }};  // of the largest product, as a power of 2, until O is multiplied"
    if offset:
        yield f"enum {{ OFFSET = {offset} }};  // of exponentials, as a power of 2, for {found.form_p}"
    if found.seen.window:
        yield f"enum {{ WINDOW = {found.seen.window} }};  // keys, up to its own, that a query sees"
    yield f"enum {{ WAVE = {found.wave}, WAVES = {found.waves}, THREADS = {found.threads} }};"
    steps = found.head // (inst.k * found.kpack)
    yield (
        f"enum {{ TILES_Q = {found.tiles_q}, TILES_K = {found.block_n // inst.m}, TILES_V = {found.head_v // inst.m}, "
        f"STEPS = {steps} }};  // of the instruction in a wave"
    )
    yield f"enum {{ PARTS = {found.kpack}, PARTS_P = {found.block_n // inst.k} }};  // that a lane reads at once; of P"
    slots = len(fragment(inst.operand("D", found.wave)).items)
    yield f"enum {{ ROW_WAVE = {found.tiles_q * inst.n}, SLOTS = {slots} }};  // queries of a wave; results of a lane"
    turn = found.v_turn
    for side, loads in ((found.k, 0), (found.v, turn.count * turn.rows if turn else 0)):
        yield (
            f"enum {{ {side.name}_ROW = {side.tile.row_bytes}, {side.name}_TILE = {side.tile.bytes}, {side.name}_LOADS "
            f"= {loads or side.tile.bytes // VECTOR // found.threads} }};  // bytes of a row, of a tile; loads"
        )
    flags = next(flags for name, flags in FLAGS if inst.architecture.targets[0].startswith(name))
    yield f"enum {{ FLAGS = {flags:#x} }};  // of a buffer without a format whose size is in bytes"
    yield ""


def _helpers(found: AttentionPlan) -> Iterator[str]:
    yield HELPERS
    yield from place_function(found.k)
    yield from place_function(found.v)
    if found.v_turn:
        yield from TURNED[found.v.bits]
        yield ""
    yield from rounding(found)
    for distance in _distances(found):
        yield f"// What the lane with the other bit {distance.bit_length() - 1} of its number has."
        yield f"static __device__ float across{distance}(float value, int lane) {{"
        yield "    const unsigned int word = __builtin_bit_cast(unsigned int, value);"
        yield f"    const unsigned int other = {exchanged(found, distance)};"
        yield "    return __builtin_bit_cast(float, other);"
        yield "}"
        yield ""
    yield "// The part of Q, K, V or O from a row on, of which `rows` are inside, as a buffer."
    yield "template <class of_matrix>"
    yield "static __device__ __amdgpu_buffer_rsrc_t rows_of(const of_matrix *first, int rows, int stride, int width) {"
    yield "    return buffer(first, rows > 0 ? ((rows - 1) * stride + width) * (int)sizeof(of_matrix) : 0);"
    yield "}"
    yield ""


def _type_of_o(found: AttentionPlan) -> str:
    """The C type of O's elements in memory."""
    return "element" if o_format(found.form) == found.form else "element_of_o"


def _distances(found: AttentionPlan) -> list[int]:
    """The lane bits that tell the keys of one query apart."""
    d = fragment(found.instruction.operand("D", found.wave))
    digits = [digit for digit in d.digits if digit.row]
    return [digit.divisor << bit for digit in digits for bit in range((digit.size - 1).bit_length())]


def _kernel(found: AttentionPlan, builtin: Intrinsic) -> Iterator[str]:
    bounds = "amdgpu_flat_work_group_size(THREADS, THREADS)"
    if found.instruction.architecture.targets[0] == "gfx1250":
        yield "// Four waves on a SIMD, so 256 registers: of more, clang 22.1.8 takes wrong ones (s_set_vgpr_msb)."
        bounds += ", amdgpu_waves_per_eu(4)"
    yield f'extern "C" __global__ __attribute__(({bounds}))'
    yield f"void {found.name}("
    yield "    const element *__restrict__ Q, const element *__restrict__ K, const element *__restrict__ V,"
    yield f"    {_type_of_o(found)} *__restrict__ O, float *__restrict__ L, int M, int N, int heads, int group,"
    yield "    float scale, int q_row, int k_row, int v_row, int o_row, long long q_head, long long k_head,"
    yield "    long long v_head, long long o_head, long long q_batch, long long k_batch, long long v_batch,"
    yield "    long long o_batch) {"
    for part in (_prologue(found), _queries(found), _fetching(found), _storing(found)):
        yield from indented(part)
    for part in (_loop(found, builtin), _epilogue(found)):
        yield from indented(part)
    yield "}"
    yield ""


def _prologue(found: AttentionPlan) -> Iterator[str]:
    inst = found.instruction
    yield "__shared__ __attribute__((aligned(16))) unsigned char k_tile[K_TILE], v_tile[V_TILE];"
    if found.handover == "LDS":
        yield f"enum {{ P_ROW = BLOCK_N * (int)sizeof(element) + {PAD} }};"
        yield "__shared__ __attribute__((aligned(16))) unsigned char p_tiles[WAVES][ROW_WAVE * P_ROW];"
    yield "const int thread = __builtin_amdgcn_workitem_id_x(), lane = thread % WAVE;"
    yield "const int wave = __builtin_amdgcn_readfirstlane(thread / WAVE);"
    yield "const int head = __builtin_amdgcn_workgroup_id_y(), batch = __builtin_amdgcn_workgroup_id_z();"
    block = "__builtin_amdgcn_workgroup_id_x()"
    if found.seen.causal:
        yield "// The last queries, which see the most keys, begin first."
        block = f"(M + BLOCK_M - 1) / BLOCK_M - 1 - {block}"
    yield f"const int first_m = ({block}) * BLOCK_M;"
    yield "const int rows = least(M - first_m, BLOCK_M);"
    yield f"// Both products: A {inst.operand('A', found.wave).pattern}"
    yield f"//                B {inst.operand('B', found.wave).pattern}"
    yield f"//                D {inst.operand('D', found.wave).pattern}"
    d = fragment(inst.operand("D", found.wave))
    values = [sum(lane // digit.divisor % digit.size * digit.column for digit in d.digits) for lane in _lanes(found)]
    yield f"const int query = {linear_sum(values, 'lane')};  // of this lane in an instruction: a column of D"
    yield "const int wave_m = wave * ROW_WAVE;  // of the workgroup's queries"
    yield f"const int lane_key = {linear_sum(_lane_keys(found), 'lane')};  // of this lane's first result"
    last = "least(N, first_m + rows + N - M)" if found.seen.causal else "N"
    yield f"const int keys = {last};  // that any query of the workgroup sees"
    if found.seen.window:
        yield "const int oldest = first_m + N - M + 1 - WINDOW;  // that the first query sees"
        yield "const int first_key = oldest > 0 ? oldest / BLOCK_N * BLOCK_N : 0;"
    else:
        yield "const int first_key = 0;"
    yield ""


def _lanes(found: AttentionPlan) -> range:
    return range(found.wave)


def _row_of(found: AttentionPlan, lane: int) -> int:
    """The first row of D that a lane has."""
    d = fragment(found.instruction.operand("D", found.wave))
    return sum(lane // digit.divisor % digit.size * digit.row for digit in d.digits)


def _lane_keys(found: AttentionPlan) -> list[int]:
    first = fragment(found.instruction.operand("D", found.wave)).items[0].row
    return [found.keys[_row_of(found, lane) + first] - found.keys[first] for lane in _lanes(found)]


def _item_keys(found: AttentionPlan) -> list[int]:
    """For each result of a lane, of a unit of instructions: the key, beyond that of the lane and the unit."""
    inst, items = found.instruction, fragment(found.instruction.operand("D", found.wave)).items
    tiles = range(found.unit // inst.m)
    keys = [found.keys[tile * inst.m + item.row] for tile in tiles for item in items]
    for lane, more in zip(_lanes(found), _lane_keys(found)):
        row = _row_of(found, lane)
        given = [found.keys[tile * inst.m + item.row + row] for tile in tiles for item in items]
        assert given == [key + more for key in keys]
    return keys


def _queries(found: AttentionPlan) -> Iterator[str]:
    inst = found.instruction
    operand = inst.operand("B", found.wave)
    side = found.k._replace(name="Q", extent=inst.n)
    reads = pieces(operand, side, found.kpack)
    words = sum(piece.width for piece in reads) // 4
    yield "// Q stays in registers."
    yield "const __amdgpu_buffer_rsrc_t q_matrix ="
    yield "    rows_of(Q + batch * q_batch + head * q_head + (long long)first_m * q_row, rows, q_row, HEAD);"
    yield f"union {{ value part[PARTS]; unsigned int word[{words}]; }} q[TILES_Q][STEPS];"
    yield "for (int i = 0; i < TILES_Q; ++i)"
    yield "    for (int step = 0; step < STEPS; ++step) {"
    for piece in reads:
        row = linear_sum([row for row, _ in piece.table], "lane")
        byte = linear_sum([byte for _, byte in piece.table], "lane")
        yield f"        *({WORDS[piece.width]} *)&q[i][step].word[{piece.word}] ="
        yield f"            __builtin_amdgcn_raw_buffer_load_b{8 * piece.width}(q_matrix,"
        yield f"                (wave_m + i * {inst.n} + {row}) * q_row * (int)sizeof(element)"
        yield f"                    + step * {inst.k * found.kpack * found.k.bytes} + {byte}, 0, 0);"
    yield "    }"
    yield ""


def _fetching(found: AttentionPlan) -> Iterator[str]:
    turn = found.v_turn
    yield "// What this thread loads of each tile of K and V."
    for letter in "kv":
        size = turn.width if turn and letter == "v" else VECTOR
        name = letter.upper()
        yield f"{WORDS[size]} {letter}_next[{name}_LOADS];"
        yield f"int {letter}_at[{name}_LOADS];"
        yield f"const int {letter}_stride = {letter}_row * (int)sizeof(element);"
        yield f"const element *{letter}_from = {name} + batch * {letter}_batch + head / group * {letter}_head"
        yield f"    + (long long)first_key * {letter}_row;"
        if turn and letter == "v":
            yield from _turned_places(found)
            continue
        yield f"for (int n = 0; n < {name}_LOADS; ++n) {{"
        yield f"    const int byte = {letter}_place((n * THREADS + thread) * {VECTOR}), row = byte / {name}_ROW;"
        row = "row"
        if letter == "k" and found.tile_keys != tuple(range(found.block_n)):
            yield "    // The rows of K lie in the order in which the second product takes P."
            row = f"({linear_sum(found.tile_keys, 'row')})"
        yield f"    {letter}_at[n] = {row} * {letter}_stride + byte % {name}_ROW;"
        yield "}"
    yield "// Starts to load the keys from `key` on, zeros beyond the last."
    yield "const auto fetch_keys = [&](int key) __attribute__((always_inline)) {"
    for letter in "kv":
        size = turn.width if turn and letter == "v" else VECTOR
        given = f"{letter}_from, keys - key, {letter}_row, HEAD{'_V' if letter == 'v' else ''}"
        yield f"    const __amdgpu_buffer_rsrc_t {letter}_matrix = rows_of({given});"
        yield f"    for (int n = 0; n < {letter.upper()}_LOADS; ++n)"
        load = f"__builtin_amdgcn_raw_buffer_load_b{8 * size}"
        yield f"        {letter}_next[n] = {load}({letter}_matrix, {letter}_at[n], 0, 0);"
        yield f"    {letter}_from += (long long)BLOCK_N * {letter}_row;"
    yield "};"


def _turned_places(found: AttentionPlan) -> Iterator[str]:
    side, turn = found.v, found.v_turn
    assert turn is not None
    pairs, count, lanes = side.depth // turn.rows, turn.width // side.bytes, turn.lanes
    yield f"// V is transposed in registers: a piece is {count} elements of {turn.rows} keys."
    yield f"int v_first[{turn.count}], v_depth[{turn.count}];"
    yield f"for (int n = 0; n < {turn.count}; ++n) {{"
    yield "    const int at = n * THREADS + thread;"
    part = f"at / {lanes * pairs} * {lanes} + at % {lanes}" if lanes > 1 else f"at / {pairs}"
    key = f"at / {lanes} % {pairs}" if lanes > 1 else f"at % {pairs}"
    yield f"    v_first[n] = ({part}) * {count};"
    yield f"    v_depth[n] = {key} * {turn.rows};"
    yield f"    for (int m = 0; m < {turn.rows}; ++m)"
    yield f"        v_at[n * {turn.rows} + m] = (v_depth[n] + m) * v_stride + v_first[n] * (int)sizeof(element);"
    yield "}"


def _storing(found: AttentionPlan) -> Iterator[str]:
    turn = found.v_turn
    yield "// Writes what was loaded to LDS."
    yield "const auto store_keys = [&]() __attribute__((always_inline)) {"
    for letter in "kv":
        if letter == "v" and turn:
            continue
        yield f"    for (int n = 0; n < {letter.upper()}_LOADS; ++n)"
        yield f"        *(u32x4 *)({letter}_tile + (n * THREADS + thread) * {VECTOR}) = {letter}_next[n];"
    if turn:
        each = 4 // found.v.bytes
        at = f"[e / {each}]" if turn.width > 4 else ""
        words = ", ".join(f"v_next[n * {turn.rows} + {m}]{at}" for m in range(each))
        yield f"    for (int n = 0; n < {turn.count}; ++n)"
        yield f"        for (int e = 0; e < {turn.width // found.v.bytes}; ++e)"
        place = f"(v_first[n] + e) * V_ROW + v_depth[n]{f' * {found.v.bytes}' * (found.v.bytes > 1)}"
        yield f"            *(unsigned int *)(v_tile + v_place({place})) ="
        yield f"                turned{found.v.bits}({words}, e);"
    yield "};"
    yield ""


def _loop(found: AttentionPlan, builtin: Intrinsic) -> Iterator[str]:
    yield "result o[TILES_Q][TILES_V] = {};  // O transposed, until it is divided by the sums"
    yield "float base[TILES_Q], sum[TILES_Q] = {};  // what products have less before exp2; this lane's sum"
    yield "for (int i = 0; i < TILES_Q; ++i) base[i] = -__builtin_inff();"
    yield "const float factor = scale * 1.44269504f;  // exp(x) = exp2(x log2(e))"
    yield "fetch_keys(first_key);"
    yield "for (int key = first_key; key < keys; key += BLOCK_N) {"
    yield "    store_keys();"
    yield "    synchronize();"
    yield "    fetch_keys(key + BLOCK_N);  // arrive while these are multiplied"
    yield ""
    for part in (_scores(found, builtin), _mask(found), _softmax(found), handing(found), _values(found, builtin)):
        yield from indented(part)
    yield "    synchronize();  // before LDS is written again"
    yield "}"
    yield ""


def _arguments(found: AttentionPlan, builtin: Intrinsic, a: str, b: str, c: str) -> str:
    """The arguments of the instruction's builtin."""
    given = {**ARGUMENTS, "a": a, "b": b, "c": c, "a_scale": "0", "b_scale": "0"}
    texts = [given.get(name) or str(found.fields.get(FIELDS.get(name, name), 0)) for name in builtin.arg_names]
    return ", ".join(texts)


def _scores(found: AttentionPlan, builtin: Intrinsic) -> Iterator[str]:
    inst = found.instruction
    reads = found.k_pieces()
    words = sum(piece.width for piece in reads) // 4
    yield "// The products of keys and queries, S transposed."
    yield "result s[TILES_Q][TILES_K] = {};"
    yield "for (int step = 0; step < STEPS; ++step)"
    yield "    for (int tile = 0; tile < TILES_K; ++tile) {"
    yield f"        union {{ value part[PARTS]; unsigned int word[{words}]; }} k;"
    for piece in reads:
        row = f"tile * {inst.m} + {linear_sum([row for row, _ in piece.table], 'lane')}"
        byte = linear_sum([byte for _, byte in piece.table], "lane")
        at = f"({row}) * K_ROW + step * {inst.k * found.kpack * found.k.bytes} + {byte}"
        kind = WORDS[piece.width]
        yield f"        *({kind} *)&k.word[{piece.word}] = *(const {kind} *)(k_tile + k_place("
        yield f"            {at}));"
    yield "        for (int part = 0; part < PARTS; ++part)"
    yield "            for (int i = 0; i < TILES_Q; ++i)"
    yield f"                s[i][tile] = {builtin.builtin}("
    yield f"                    {_arguments(found, builtin, 'k.part[part]', 'q[i][step].part[part]', 's[i][tile]')});"
    yield "    }"
    yield from _between_products(found)
    yield from _reading_ahead(found, 0, len(reads), "STEPS * TILES_K")
    yield from _wait_states(found)
    yield ""


def _reading_ahead(found: AttentionPlan, which: int, reads: int, pieces_read: str) -> Iterator[str]:
    """What lets LDS be read some pieces before they are multiplied, where the compiler has them wait for each other: by
    the model of `profile` WMMA units are busy up to half as long again.

    Args:
        which: 0 of the first product, 1 of the second. reads: accesses of a piece; pieces_read: how many pieces.
    """
    target = found.instruction.architecture.targets[0]
    ahead = next((pieces for name, pieces in AHEAD.items() if target.startswith(name)), None)
    if ahead is None or max(found.head, found.head_v) > MOST_AHEAD:
        return
    count = ahead[FORMATS[found.form].bits][which] * reads
    yield f"__builtin_amdgcn_sched_group_barrier({LDS_READ:#x}, {count}, 0);  // read ahead"
    yield "#pragma unroll"
    yield f"for (int n = 0; n < {pieces_read}; ++n) {{"
    for kind, each in ((PRODUCT, found.kpack * found.tiles_q), (LDS_READ, reads)):
        yield f"    __builtin_amdgcn_sched_group_barrier({kind:#x}, {each}, 0);"
    yield "}"


def _wait_states(found: AttentionPlan) -> Iterator[str]:
    """The wait states of products of 16 passes on gfx950, of which clang 22.1.8 leaves one out where others than these
    take 19 of them: see docs/isa-errata.md."""
    inst = found.instruction
    if inst.architecture.targets[0] != "gfx950" or inst.cycles != LONG_CYCLES:
        return
    tiles = ", ".join(f'"+v"(s[{i}][{tile}])' for i in range(found.tiles_q) for tile in range(found.block_n // inst.m))
    yield "// The 20 wait states that its results need, of which clang 22.1.8 may leave one out."
    yield f"asm({XDL_WAIT} : {tiles});"


def _between_products(found: AttentionPlan) -> Iterator[str]:
    """What keeps the loads of the next keys between the products of these, on targets where it helps: one behind the
    other they hold up the wave, by the model of `profile` for 5 to 6 % of the time."""
    if not found.instruction.architecture.targets[0].startswith("gfx9"):
        return
    yield f"__builtin_amdgcn_sched_group_barrier({LDS_READ:#x}, 4, 0);"
    yield "#pragma unroll"
    yield "for (int n = 0; n < K_LOADS + V_LOADS; ++n) {  // a load behind every two products"
    for kind, count in ((PRODUCT, 2), (MEMORY_READ, 1), (LDS_READ, 2)):
        yield f"    __builtin_amdgcn_sched_group_barrier({kind:#x}, {count}, 0);"
    yield "}"


def _mask(found: AttentionPlan) -> Iterator[str]:
    inst = found.instruction
    items, count = _item_keys(found), len(fragment(inst.operand("D", found.wave)).items)
    tiles = found.unit // inst.m
    numbers = ", ".join(map(str, items))
    window = found.seen.window
    own = f"first_m + wave_m + i * {inst.n} + query + N - M"  # the key of the lane's query
    first, limit = "N", "N"
    if found.seen.causal:
        first, limit = "least(N, first_m + wave_m + N - M + 1)", f"least(N, {own} + 1)"
    old = "key <= first_m + wave_m + ROW_WAVE - 1 + N - M - WINDOW || " if window else ""
    yield f"if ({old}key + BLOCK_N > {first}) {{  // keys that a query does not see"
    yield f"    const unsigned char item_keys[{tiles}][{count}] = {{{numbers}}};"
    yield "    for (int i = 0; i < TILES_Q; ++i) {"
    yield f"        const int left = {limit} - key - lane_key;"
    if window:
        yield f"        const int begin = {own} + 1 - WINDOW - key - lane_key;"
    yield "        for (int tile = 0; tile < TILES_K; ++tile)"
    yield "            for (int e = 0; e < SLOTS; ++e) {"
    yield f"                const int at = tile / {tiles} * {found.unit} + item_keys[tile % {tiles}][e];"
    yield f"                if ({'at < begin || ' if window else ''}at >= left) s[i][tile][e] = -__builtin_inff();"
    yield "            }"
    yield "    }"
    yield "}"
    yield ""


def _softmax(found: AttentionPlan) -> Iterator[str]:
    yield "// The base of a query follows products that are larger by more than a factor of 2^GROWTH, and O follows it."
    yield "for (int i = 0; i < TILES_Q; ++i) {"
    yield "    float most = -__builtin_inff();"
    yield "    for (int tile = 0; tile < TILES_K; ++tile)"
    yield "        for (int e = 0; e < SLOTS; ++e) most = __builtin_fmaxf(most, s[i][tile][e]);"
    for distance in _distances(found):
        yield f"    most = __builtin_fmaxf(most, across{distance}(most, lane));"
    yield "    const bool grows = most * factor > base[i] + GROWTH;"
    # Around the jump clang 22.1.8 leaves a wait state out behind a WMMA of gfx1250: there O is multiplied always.
    jumps = found.instruction.architecture.targets[0] != "gfx1250"
    yield f"    if (__builtin_amdgcn_ballot_w{found.wave}(grows)) {{" if jumps else "    {"
    yield "        const float shrink = grows ? __builtin_amdgcn_exp2f(base[i] - most * factor) : 1;"
    yield "        base[i] = grows ? most * factor : base[i];"
    yield "        sum[i] *= shrink;"
    yield "        for (int tile = 0; tile < TILES_V; ++tile) o[i][tile] *= shrink;"
    yield "    }"
    yield "    // 0 as long as a query has seen no key: infinity - infinity is NaN."
    offset = " - OFFSET" * bool(growth_of(found.form_p).offset)
    yield f"    const float less = base[i] == -__builtin_inff() ? 0 : base[i]{offset};"
    yield "    for (int tile = 0; tile < TILES_K; ++tile)"
    yield "        for (int e = 0; e < SLOTS; ++e) {"
    yield "            s[i][tile][e] = __builtin_amdgcn_exp2f(__builtin_fmaf(s[i][tile][e], factor, -less));"
    yield "            sum[i] += s[i][tile][e];"
    yield "        }"
    yield "}"
    yield ""


def _values(found: AttentionPlan, builtin: Intrinsic) -> Iterator[str]:
    inst = found.instruction
    reads = pieces(inst.operand("A", found.wave), found.v, found.kpack)
    words = sum(piece.width for piece in reads) // 4
    if inst.architecture.targets[0] == "gfx1250":
        # Exponentials overwrite A or B of a WMMA behind which clang 22.1.8 leaves wait states out (of TRANS behind a
        # WMMA that reads: LLVM's pull request 186269).
        yield f"__builtin_amdgcn_sched_barrier({LDS_READ:#x});  // no exponential is between these products"
    yield "// O transposed += V transposed * P transposed"
    yield "for (int step = 0; step < PARTS_P / PARTS; ++step)"
    yield "    for (int tile = 0; tile < TILES_V; ++tile) {"
    yield f"        union {{ value part[PARTS]; unsigned int word[{words}]; }} v;"
    for piece in reads:
        yield from indented(_value_read(found, piece), 2)
    yield "        for (int part = 0; part < PARTS; ++part)"
    yield "            for (int i = 0; i < TILES_Q; ++i)"
    yield f"                o[i][tile] = {builtin.builtin}("
    arguments = _arguments(found, builtin, "v.part[part]", "p[i][step * PARTS + part].all", "o[i][tile]")
    yield f"                    {arguments});"
    yield "    }"
    yield from _reading_ahead(found, 1, len(reads), "PARTS_P / PARTS * TILES_V")


def _value_read(found: AttentionPlan, piece: Piece) -> Iterator[str]:
    inst = found.instruction
    row = linear_sum([row for row, _ in piece.table], "lane")
    byte = linear_sum([byte for _, byte in piece.table], "lane")
    depth = inst.k * found.kpack
    if found.v.rows_of_k:
        first, rest = f"(tile * {inst.m} + {row}) * V_ROW", f"step * {depth * found.v.bytes} + {byte}"
    else:
        first, rest = f"(step * {depth} + {row}) * V_ROW", f"tile * {inst.m * found.v.bytes} + {byte}"
    at = f"{first} + {rest}"
    kind = WORDS[piece.width]
    if not piece.load:
        yield f"*({kind} *)&v.word[{piece.word}] = *(const {kind} *)(v_tile + v_place("
        yield f"    {at}));"
        return
    yield "{  // these lanes' elements, transposed"
    yield f"    typedef {LOADED[piece.load[-3:]]} loaded __attribute__((ext_vector_type({piece.load[-4]})));"
    yield "    typedef __attribute__((address_space(3))) loaded place;"
    yield f"    *(loaded *)&v.word[{piece.word}] ="
    yield f"        __builtin_amdgcn_{piece.load}((place *)(v_tile + v_place("
    yield f"            {first}"
    yield f"                + {rest})));"
    yield "}"


def _epilogue(found: AttentionPlan) -> Iterator[str]:
    inst = found.instruction
    d = fragment(inst.operand("D", found.wave))
    stored = runs(d, "col")
    size = FORMATS[o_format(found.form)].bits // 8
    count = min(stored[0].count, VECTOR // size)
    firsts = [(run.first.row + at, run.first.slot + at) for run in stored for at in range(0, run.count, count)]
    yield "const __amdgpu_buffer_rsrc_t o_matrix ="
    yield "    rows_of(O + batch * o_batch + head * o_head + (long long)first_m * o_row, rows, o_row, HEAD_V);"
    yield "for (int i = 0; i < TILES_Q; ++i) {"
    for distance in _distances(found):
        yield f"    sum[i] += across{distance}(sum[i], lane);"
    yield "    const float share = sum[i] > 0 ? __builtin_amdgcn_rcpf(sum[i]) : 0;"
    yield f"    const int row = wave_m + i * {inst.n} + query;"
    values = [_row_of(found, lane) for lane in _lanes(found)]
    yield f"    const int first = row * o_row + {linear_sum(values, 'lane')};"
    yield f"    const unsigned char d_rows[] = {{{', '.join(str(row) for row, _ in firsts)}}};"
    yield f"    const unsigned char d_slots[] = {{{', '.join(str(slot) for _, slot in firsts)}}};"
    yield "    for (int tile = 0; tile < TILES_V; ++tile)"
    yield f"        for (int n = 0; n < {len(firsts)}; ++n) {{"
    kind = WORDS[count * size]
    yield f"            union {{ narrow each[{count}]; {kind} all; }} made;"
    yield f"            for (int e = 0; e < {count}; ++e)"
    yield "                made.each[e] = (narrow)(o[i][tile][d_slots[n] + e] * share);"
    yield f"            __builtin_amdgcn_raw_buffer_store_b{8 * count * size}(made.all, o_matrix,"
    yield f"                (first + tile * {inst.m} + d_rows[n]) * (int)sizeof(narrow), 0, 0);"
    yield "        }"
    yield "    if (L && row < rows && lane_key == 0)"
    yield "        L[((long long)batch * heads + head) * M + first_m + row] ="
    offset = " - OFFSET" * bool(growth_of(found.form_p).offset)
    yield f"            (base[i]{offset} + __builtin_amdgcn_logf(sum[i])) * 0.69314718f;"
    yield "}"


def _launch(found: AttentionPlan, sizes: Problem) -> Iterator[str]:
    blocks = -(-sizes.queries // found.block_m)
    grid = f"dim3({blocks}, {sizes.heads}, {sizes.batches})"
    yield f"// hipLaunchKernelGGL({found.name}, {grid}, dim3({found.threads}), 0, stream,"
    yield from launch_arguments(sizes)
