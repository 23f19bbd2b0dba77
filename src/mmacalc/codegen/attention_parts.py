"""What the attention kernels of NVIDIA share: the loop over the keys, masks, the online softmax, copies, stores.

K and V go to shared memory by cp.async, a tile of keys at a time: while one is multiplied, its V and the next K are on
their way. The kernels differ in where Q, the products and O are, and by which instruction they multiply: `Parts`.
"""

from __future__ import annotations

from ..base.records import TupleRecord
from .attention_hip import head_comment, launch_arguments
from .epilogue import DIALECTS
from .fragments import fragment
from .gemm_staging import COPY_ASYNC, VECTOR
from .ptx import HEADER, SHARED_ADDRESS, SYNCHRONIZE
from .source import indented, memory_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention import CudaAttentionPlan, Problem

__all__ = [
    "Held", "Parts", "held_in_registers", "logarithms", "rescaled", "rounded_words", "shares", "source", "stores",
]  # fmt: skip

HELPERS = """\
static __device__ float power_of_2(float x) {
    float found;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(found) : "f"(x));
    return found;
}

static __device__ float largest(float a, float b) {
    float found;
    asm("max.f32 %0, %1, %2;" : "=f"(found) : "f"(a), "f"(b));
    return found;
}

static __device__ float minus_infinity() {
    float found;
    asm("mov.b32 %0, 0xff800000;" : "=f"(found));
    return found;
}

static __device__ float logarithm_of_2(float x) {
    float found;
    asm("lg2.approx.f32 %0, %1;" : "=f"(found) : "f"(x));
    return found;
}

// Two numbers, rounded to the nearest, in a register: the first in its lower half.
static __device__ unsigned int rounded(float low, float high) {
    unsigned int found;
    asm("cvt.rn.TYPEx2.f32 %0, %1, %2;" : "=r"(found) : "f"(high), "f"(low));
    return found;
}
"""
ACROSS = """\
// What the lane with another bit of its number has: four lanes share the keys of a query.
static __device__ float across(float value, int distance) {
    float found;
    asm("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(found) : "f"(value), "r"(distance));
    return found;
}
"""
WAIT_ALL = """\
static __device__ void wait_for_all_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
"""
COPY_ROWS = """\
// Starts to copy a tile of Q, K or V: `at` is the place in shared memory of what this thread copies first, whose row
// and column `from` points to; zeros beyond the rows that are left. The rows of a round have the swizzle of the first.
template <int TILE_ROWS>
static __device__ void copy_rows(unsigned char *at, const element *from, int stride, int row, int left) {
#pragma unroll
    for (int n = 0; n < TILE_ROWS; n += ROWS)
#pragma unroll
        for (int panel = 0; panel < PANELS; ++panel)
            copy(at + (panel * TILE_ROWS + n) * PANEL, from + (long long)n * stride + panel * PANEL / 2,
                 row + n < left ? 16 : 0);
}
"""
VISIBLE = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


class Held(TupleRecord):
    """What a thread holds of the products of queries and keys, and of O.

    lanes: the threads that hold those of one instruction; width: the columns of a group of results, which repeats along
    the keys; items: for each result of a group the number of its query among the thread's, its row and its column;
    row, column: where a thread begins, as C text, with the variables that `lines` declare; distances: the lane bits
    that tell the keys of one query apart.
    """

    lanes: int
    width: int
    items: tuple[tuple[int, int, int], ...]
    row: str
    column: str
    lines: tuple[str, ...] = ()
    distances: tuple[int, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """The row of each query of the thread, from its first row on."""
        return tuple(sorted({row for _, row, _ in self.items}))


class Parts(TupleRecord):
    """What a kernel has of its own, as lines of C.

    held: where its results are; functions: beside those that all have; shared: the declarations of shared memory;
    begin: Q and what else is ready before the loop; scores: S = Q K^T, into `s`; rescale: O times `shrink`, of the
    thread's query `i`; handing: what is done with P before all threads have come to the second product; values:
    O += P V; end: the stores; asynchronous: whether the asynchronous proxy reads shared memory.
    """

    held: Held
    functions: tuple[str, ...]
    shared: tuple[str, ...]
    begin: tuple[str, ...]
    scores: tuple[str, ...]
    rescale: tuple[str, ...]
    handing: tuple[str, ...]
    values: tuple[str, ...]
    end: tuple[str, ...]
    asynchronous: bool = True


def held_in_registers(found: CudaAttentionPlan) -> Held:
    """Where mma.sync and wgmma have their results: eight columns at a time."""
    d = fragment(found.instruction.operand("D"))
    group = [item for item in d.items if item.column < 8]
    rows = sorted({item.row for item in group})
    items = tuple([(rows.index(item.row), item.row, item.column) for item in group])
    for at, item in enumerate(d.items):  # the groups lie one behind the other
        first = group[at % len(group)]
        assert (item.slot, item.row, item.column) == (at, first.row, first.column + at // len(group) * 8)
    digits = [digit for digit in d.digits if digit.column]
    distances = [digit.divisor << bit for digit in digits for bit in range((digit.size - 1).bit_length())]
    lines = (f"// D: {d.operand.pattern}", *d.variables("d"))
    return Held(found.lanes, 8, items, d.first("row", "d"), d.first("column", "d"), lines, tuple(distances))


def source(found: CudaAttentionPlan, sizes: Problem, parts: Parts) -> str:
    """The source of the kernel: O = softmax(scale Q K^T) V.

    Args:
        sizes: of the launch line that is shown.
    """
    lines = [*head_comment(found), *_constants(found, parts.held), *_helpers(found, parts.held), *parts.functions]
    return "\n".join([*lines, *_kernel(found, parts), *_launch(found, sizes), ""])


def _constants(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    inst, tile = found.instruction, found.k.tile
    panel = tile.panel or tile.row_bytes
    yield HEADER + SHARED_ADDRESS.rstrip()
    yield ""
    yield f"typedef {memory_type(inst.format('A').name, 'cuda')} element;  // the bits of {inst.format('A').name}"
    yield f"enum {{ HEAD = {found.head}, BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n} }};  // queries, keys"
    yield f"enum {{ THREADS = {found.threads}, LANES = {held.lanes} }};  // of a block; of a product"
    yield f"enum {{ PANEL = {panel}, PANELS = {tile.row_bytes // panel} }};  // bytes of its rows; of HEAD"
    yield f"enum {{ ROWS = {found.threads * VECTOR // panel} }};  // that the threads copy at once"
    yield f"enum {{ K_BYTES = {tile.bytes}, V_BYTES = K_BYTES }};  // of a tile"
    width = held.width
    yield f"enum {{ STEPS = {found.head // inst.k}, TILES_K = {found.block_n // width} }};  // of the first product"
    yield f"enum {{ STEPS_P = {found.block_n // inst.k}, TILES_V = {found.head // width} }};  // of the second"
    yield f"enum {{ QUERIES = {len(held.rows)} }};  // of which a thread has results"
    yield ""


def _helpers(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    yield DIALECTS["cuda"].functions["reciprocal"]
    yield HELPERS.replace("TYPE", found.instruction.format("A").name)
    if held.distances:
        yield ACROSS
    yield COPY_ASYNC.replace("of the last ALL_BUT stages", "committed last").replace("ALL_BUT", "1")
    yield WAIT_ALL
    for side in found.sides:
        yield from side.tile.function()
    yield COPY_ROWS


def _kernel(found: CudaAttentionPlan, parts: Parts) -> Iterator[str]:
    yield 'extern "C" __global__ void __launch_bounds__(THREADS)'
    yield f"{found.name}("
    yield "    const element *Q, const element *K, const element *V, element *O, float *L,"
    yield "    int M, int N, int heads, int group, float scale, int q_row, int k_row, int v_row, int o_row,"
    yield "    long long q_head, long long k_head, long long v_head, long long o_head,"
    yield "    long long q_batch, long long k_batch, long long v_batch, long long o_batch) {"
    for lines in (_prologue(found, parts), _places(found), parts.begin, _loop(found, parts), parts.end):
        yield from indented(lines)
    yield "}"
    yield ""


def _prologue(found: CudaAttentionPlan, parts: Parts) -> Iterator[str]:
    yield from parts.shared
    yield "int thread, block, head, batch;"
    for name, register in (("thread", "tid.x"), ("block", "ctaid.x"), ("head", "ctaid.y"), ("batch", "ctaid.z")):
        yield f'asm("mov.u32 %0, %%{register};" : "=r"({name}));'
    if found.causal:
        yield "// The last queries, which see the most keys, begin first."
        yield "const int block_m = ((M + BLOCK_M - 1) / BLOCK_M - 1 - block) * BLOCK_M;"
    else:
        yield "const int block_m = block * BLOCK_M;"
    yield f"const int lane = thread % LANES, first_m = block_m + thread / LANES * {found.instruction.m};"
    yield from parts.held.lines
    if found.causal:
        yield "const int last_m = block_m + BLOCK_M < M ? block_m + BLOCK_M : M;"
        yield "const int keys = N < last_m + N - M ? N : last_m + N - M;  // that any query of the block sees"
    else:
        yield "const int keys = N;"
    yield ""


def _places(found: CudaAttentionPlan) -> Iterator[str]:
    """What a thread copies of each tile, from where and to where."""
    yield "// What this thread copies of each tile."
    yield "const int row = thread * 16 / PANEL, column = thread * 16 % PANEL;  // in bytes"
    for side in found.sides:
        letter, name = side.name.lower(), side.name
        of, first = ("head", "(block_m + row)") if letter == "q" else ("head / group", "row")
        start = f"batch * {letter}_batch + {of} * {letter}_head + (long long){first} * {letter}_row"
        yield f"const element *{letter}_from = {name} + {start} + column / 2;"
        yield f"unsigned char *const {letter}_to = {letter}_tile + {letter}_place(row, column);"
    yield ""


def _loop(found: CudaAttentionPlan, parts: Parts) -> Iterator[str]:
    yield "float highest[QUERIES], sum[QUERIES] = {};  // of each query the largest product, and this thread's sum"
    yield "#pragma unroll"
    yield "for (int i = 0; i < QUERIES; ++i) highest[i] = minus_infinity();"
    yield "const float factor = scale * 1.44269504f;  // exp(x) = exp2(x log2(e))"
    if found.q:
        yield "copy_rows<BLOCK_M>(q_to, q_from, q_row, row, M - block_m);"
    yield "copy_rows<BLOCK_N>(k_to, k_from, k_row, row, keys);"
    yield "commit_copies();"
    yield "for (int key = 0, stage = 0; key < keys; key += BLOCK_N, stage ^= 1) {"
    visible = ["    // The asynchronous proxy, through which the products read, sees what this thread copied."]
    visible = [*visible, f"    {VISIBLE}"] if parts.asynchronous else []
    yield "    wait_for_all_copies();  // of K"
    yield from visible
    yield f"    {SYNCHRONIZE}  // and V and the K before are multiplied: their places are free"
    yield "    copy_rows<BLOCK_N>(v_to, v_from, v_row, row, keys - key);"
    yield "    commit_copies();"
    yield "    v_from += (long long)BLOCK_N * v_row;"
    yield "    k_from += (long long)BLOCK_N * k_row;"
    yield "    if (key + BLOCK_N < keys)"
    yield "        copy_rows<BLOCK_N>(k_to + (stage ^ 1) * K_BYTES, k_from, k_row, row, keys - key - BLOCK_N);"
    yield "    commit_copies();"
    yield ""
    for lines in (parts.scores, _mask(found, parts.held), _softmax(parts), parts.handing):
        yield from indented(lines)
    yield "    wait_for_copies();  // of V"
    yield from visible[1:]
    yield f"    {SYNCHRONIZE}"
    yield from indented(parts.values)
    yield "}"
    yield ""


def _mask(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    limit = "first_m + N - M + 1 < N ? first_m + N - M + 1 : N" if found.causal else "N"
    yield f"if (key + BLOCK_N > ({limit})) {{  // keys that a query does not see"
    queries, columns = (", ".join([str(item[at]) for item in held.items]) for at in (0, 2))
    yield f"    const unsigned char d_query[] = {{{queries}}}, d_columns[] = {{{columns}}};"
    yield "    int left[QUERIES];  // of this tile, behind the first key that the thread has"
    first = f" - {held.column}" if held.column != "0" else ""
    for number, row in enumerate(held.rows):
        if found.causal:
            seen = f"first_m + {held.row}{f' + {row}' if row else ''} + N - M + 1"
            yield f"    left[{number}] = {seen};"
            yield f"    left[{number}] = (left[{number}] < N ? left[{number}] : N) - key{first};"
        else:
            yield f"    left[{number}] = N - key{first};"
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_K; ++tile)"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {len(held.items)}; ++e)"
    yield f"            if (tile * {held.width} + d_columns[e] >= left[d_query[e]]) s[tile][e] = minus_infinity();"
    yield "}"
    yield ""


def _softmax(parts: Parts) -> Iterator[str]:
    held = parts.held
    count, queries = len(held.items), ", ".join(str(query) for query, _, _ in held.items)
    yield f"const unsigned char d_query[] = {{{queries}}};  // of the thread's, for each of its results"
    yield "#pragma unroll"
    yield "for (int i = 0; i < QUERIES; ++i) {"
    yield "    float most = highest[i];"
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_K; ++tile)"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {count}; ++e)"
    yield "            if (d_query[e] == i) most = largest(most, s[tile][e]);"
    for distance in held.distances:
        yield f"    most = largest(most, across(most, {distance}));"
    yield "    // 0 as long as a query has seen no key: infinity - infinity is NaN."
    yield "    const float base = most == minus_infinity() ? 0 : most * factor;"
    yield "    const float shrink = power_of_2(highest[i] * factor - base);"
    yield "    highest[i] = most;"
    yield "    sum[i] *= shrink;"
    yield from indented(parts.rescale)
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_K; ++tile)"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {count}; ++e)"
    yield "            if (d_query[e] == i) {"
    yield "                s[tile][e] = power_of_2(s[tile][e] * factor - base);"
    yield "                sum[i] += s[tile][e];"
    yield "            }"
    yield "}"
    yield ""


def rescaled(held: Held) -> Iterator[str]:
    """O in registers, times `shrink`."""
    yield "#pragma unroll"
    yield "for (int tile = 0; tile < TILES_V; ++tile)"
    yield "#pragma unroll"
    yield f"    for (int e = 0; e < {len(held.items)}; ++e)"
    yield "        if (d_query[e] == i) o[tile][e] *= shrink;"


def rounded_words(words: int, count: int, step: str = "step") -> Iterator[str]:
    """Words of P, rounded, in the order in which the products lie.

    Args:
        words: of a step. count: results of a group. step: its number, as C text.
    """
    yield f"unsigned int p[{words}];"
    yield "#pragma unroll"
    yield f"for (int n = 0; n < {words}; ++n) {{"
    at = "n * 2" if step == "0" else f"({step} * {words} + n) * 2"
    yield f"    const int at = {at};"
    yield f"    p[n] = rounded(s[at / {count}][at % {count}], s[at / {count}][at % {count} + 1]);"
    yield "}"


def shares(held: Held) -> Iterator[str]:
    """The sum of all lanes, what O is multiplied with, and where its row is; within a loop over `i`."""
    for distance in held.distances:
        yield f"sum[i] += across(sum[i], {distance});"
    yield "const float share = sum[i] > 0 ? reciprocal(sum[i]) : 0;"
    rows = f" + (i ? {held.rows[1]} : {held.rows[0]})" if len(held.rows) > 1 else ""
    yield f"const int row = first_m + {held.row}{rows};"
    yield "element *to = O + batch * o_batch + head * o_head + (long long)row * o_row;"


def logarithms(held: Held) -> Iterator[str]:
    """The store of L."""
    first = f" && {held.column} == 0" if held.column != "0" else ""
    yield f"if (L && row < M{first})"
    yield "    L[((long long)batch * heads + head) * M + row] ="
    yield "        (highest[i] * factor + logarithm_of_2(sum[i])) * 0.69314718f;"


def stores(held: Held) -> Iterator[str]:
    """The stores of O, which is in registers, and of L."""
    yield "#pragma unroll"
    yield "for (int i = 0; i < QUERIES; ++i) {"
    yield from indented(shares(held))
    yield f"    to += {held.column};"
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_V; ++tile) {"
    for at in range(0, len(held.items), 2):
        query, _, column = held.items[at]
        words = f"rounded(o[tile][{at}] * share, o[tile][{at + 1}] * share)"
        place = f"tile * {held.width}" + (f" + {column}" if column else "")
        yield f"        if (i == {query} && row < M) *(unsigned int *)(to + {place}) = {words};"
    yield "    }"
    yield from indented(logarithms(held))
    yield "}"


def _launch(found: CudaAttentionPlan, sizes: Problem) -> Iterator[str]:
    grid = f"dim3({-(-sizes.queries // found.block_m)}, {sizes.heads}, {sizes.batches})"
    shared = f", {found.shared}" if found.shared else ""
    if shared:
        yield f"// cudaFuncSetAttribute({found.name}, cudaFuncAttributeMaxDynamicSharedMemorySize{shared});"
    yield f"// {found.name}<<<{grid}, {found.threads}{shared}>>>("
    yield from launch_arguments(found.head, sizes)
