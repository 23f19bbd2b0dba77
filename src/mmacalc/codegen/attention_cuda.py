"""The source of an attention kernel of NVIDIA, in CUDA around mma.sync: see `mmacalc.codegen.attention`.

K and V have a place in shared memory each, in the order of memory under a swizzle, from where ldmatrix loads both: V
turned over. While the products of Q and K are computed V is on its way (cp.async), then the next K.
"""

from __future__ import annotations

from .attention_hip import head_comment, launch_arguments
from .epilogue import DIALECTS
from .fragments import fragment, runs
from .gemm_cuda import product_functions
from .gemm_staging import COPY_ASYNC, VECTOR
from .ldmatrix import matrices
from .ptx import HEADER, SHARED_ADDRESS, SYNCHRONIZE
from .source import indented, memory_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention import CudaAttentionPlan, Problem
    from .ldmatrix import Matrices

__all__ = ["source"]

HELPERS = """\
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

// What the lane with another bit of its number has: four lanes share the keys of a query.
static __device__ float across(float value, int distance) {
    float found;
    asm("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(found) : "f"(value), "r"(distance));
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

COPY_ROWS = """\
// Starts to copy a tile of K or V: `at` is the place in shared memory of what this thread copies first, whose row and
// column `from` points to; zeros beyond the rows that are left. The rows of a round have the swizzle of the first.
static __device__ void copy_rows(unsigned char *at, const element *from, int stride, int row, int left) {
#pragma unroll
    for (int n = 0; n < COPIES; ++n)
        copy(at + n * THREADS * 16, from + (long long)n * ROWS * stride, row + n * ROWS < left ? 16 : 0);
}
"""


def source(found: CudaAttentionPlan, sizes: Problem) -> str:
    """The source of the kernel: O = softmax(scale Q K^T) V.

    Args:
        sizes: of the launch line that is shown.
    """
    parts = (head_comment(found), _constants(found), _helpers(found), _kernel(found), _launch(found, sizes))
    return "\n".join([*[line for part in parts for line in part], ""])


def _constants(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    yield HEADER + SHARED_ADDRESS.rstrip()
    yield ""
    yield f"typedef {memory_type(inst.format('A').name, 'cuda')} element;  // the bits of {inst.format('A').name}"
    yield f"enum {{ HEAD = {found.head}, BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n} }};  // queries, keys"
    yield f"enum {{ THREADS = {found.threads}, ROW = {2 * found.head} }};  // bytes of a row"
    row, tile = 2 * found.head, 2 * found.head * found.block_n
    rows, copies = found.threads * VECTOR // row, tile // VECTOR // found.threads
    yield f"enum {{ COPIES = {copies}, ROWS = {rows} }};  // of a thread for a tile; rows that the threads copy at once"
    yield f"enum {{ STEPS = {found.head // inst.k}, TILES_K = {found.block_n // inst.n} }};  // of the first product"
    yield f"enum {{ STEPS_P = {found.block_n // inst.k}, TILES_V = {found.head // inst.n} }};  // of the second"
    yield ""


def _both(found: CudaAttentionPlan) -> tuple[Matrices, Matrices]:
    """How ldmatrix loads K and V, which both lie in shared memory as rows of a head's elements."""
    b = fragment(found.instruction.operand("B"))
    k, v = matrices(b, "col"), matrices(b, "row")
    assert k is not None  # of 16 bits, from sm_75 on
    assert v is not None
    return k, v


def _helpers(found: CudaAttentionPlan) -> Iterator[str]:
    for name in ("power_of_2", "reciprocal"):
        yield DIALECTS["cuda"].functions[name]
    yield HELPERS.replace("TYPE", found.instruction.format("A").name)
    yield COPY_ASYNC.replace("of the last ALL_BUT stages", "of none").replace("ALL_BUT", "0")
    for side in (found.k, found.v):
        yield from side.tile.function()
    yield from product_functions(found.instruction, {False, True})
    yield COPY_ROWS


def _kernel(found: CudaAttentionPlan) -> Iterator[str]:
    yield 'extern "C" __global__ void __launch_bounds__(THREADS)'
    yield f"{found.name}("
    yield "    const element *Q, const element *K, const element *V, element *O, float *L,"
    yield "    int M, int N, int heads, int group, float scale, int q_row, int k_row, int v_row, int o_row,"
    yield "    long long q_head, long long k_head, long long v_head, long long o_head,"
    yield "    long long q_batch, long long k_batch, long long v_batch, long long o_batch) {"
    for part in (_prologue(found), _queries(found), _places(found), _loop(found), _epilogue(found)):
        yield from indented(part)
    yield "}"
    yield ""


def _prologue(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    yield "__shared__ __attribute__((aligned(128))) unsigned char k_tile[BLOCK_N * ROW], v_tile[BLOCK_N * ROW];"
    yield "const unsigned int k_stage = shared_address(k_tile), v_stage = shared_address(v_tile);"
    yield "int thread, block, head, batch;"
    for name, register in (("thread", "tid.x"), ("block", "ctaid.x"), ("head", "ctaid.y"), ("batch", "ctaid.z")):
        yield f'asm("mov.u32 %0, %%{register};" : "=r"({name}));'
    yield f"const int lane = thread % 32, warp_m = thread / 32 * {inst.m};"
    if found.causal:
        yield "// The last queries, which see the most keys, begin first."
        yield "const int first_m = ((M + BLOCK_M - 1) / BLOCK_M - 1 - block) * BLOCK_M + warp_m;  // of the warp"
    else:
        yield "const int first_m = block * BLOCK_M + warp_m;  // of the warp"
    for name in "ABD":
        yield f"// {name}: {inst.operand(name).pattern}"
    yield from fragment(inst.operand("A")).variables("a")
    yield from fragment(inst.operand("D")).variables("d")
    if found.causal:
        yield "const int last_m = first_m - warp_m + BLOCK_M < M ? first_m - warp_m + BLOCK_M : M;"
        yield "const int keys = N < last_m + N - M ? N : last_m + N - M;  // that any query of the block sees"
    else:
        yield "const int keys = N;"
    yield ""


def _queries(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    a = fragment(inst.operand("A"))
    pairs = runs(a, "row")
    rows = ", ".join(str(run.first.row) for run in pairs)
    columns = ", ".join(str(run.first.column) for run in pairs)
    yield "// Q stays in registers."
    yield f"const unsigned char a_rows[] = {{{rows}}}, a_columns[] = {{{columns}}};  // of a lane's pairs of elements"
    yield f"unsigned int q[STEPS][{len(pairs)}];"
    yield "#pragma unroll"
    yield "for (int step = 0; step < STEPS; ++step)"
    yield "#pragma unroll"
    yield f"    for (int n = 0; n < {len(pairs)}; ++n) {{"
    yield f"        const int row = first_m + {a.first('row', 'a')} + a_rows[n];"
    yield "        const element *from = Q + batch * q_batch + head * q_head + (long long)row * q_row;"
    yield f"        const int column = step * {inst.k} + {a.first('column', 'a')} + a_columns[n];"
    yield "        q[step][n] = row < M ? *(const unsigned int *)(from + column) : 0;"
    yield "    }"
    yield ""


def _places(found: CudaAttentionPlan) -> Iterator[str]:
    """Where a lane's rows for ldmatrix lie: of K for each step, of V for each pair of tiles."""
    inst = found.instruction
    count = inst.operand("B").registers
    each = 4 // count  # tiles that one ldmatrix fills
    k, v = _both(found)
    tile = f"(lane / {8 * count})"
    yield "// Where the rows of matrices that this lane names lie in shared memory."
    yield "int k_at[STEPS];"
    yield "#pragma unroll"
    yield "for (int step = 0; step < STEPS; ++step)"
    yield f"    k_at[step] = k_place({inst.n} * {tile} + {k.row()}, step * {2 * inst.k} + {k.byte()});"
    yield "int v_at[TILES_V];"
    yield "#pragma unroll"
    yield f"for (int tile = 0; tile < TILES_V; tile += {each})"
    yield f"    v_at[tile] = v_place({v.row()}, {2 * inst.n} * (tile + {tile}) + {v.byte()});"
    yield "// What this thread copies of each tile."
    yield "const int row = thread * 16 / ROW, column = thread * 16 % ROW;  // in bytes"
    for letter in "kv":
        name, of = letter.upper(), f"batch * {letter}_batch + head / group * {letter}_head"
        yield f"const element *{letter}_from = {name} + {of} + (long long)row * {letter}_row + column / 2;"
        yield f"unsigned char *const {letter}_to = {letter}_tile + {letter}_place(row, column);"
    yield ""


def _loop(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    sums = inst.operand("D").registers
    yield f"float o[TILES_V][{sums}] = {{}};"
    yield "float highest[2], sum[2] = {};  // of a lane's two queries the largest product, and its part of the sum"
    yield "highest[0] = highest[1] = minus_infinity();"
    yield "const float factor = scale * 1.44269504f;  // exp(x) = exp2(x log2(e))"
    yield "copy_rows(k_to, k_from, k_row, row, keys);"
    yield "commit_copies();"
    yield "for (int key = 0; key < keys; key += BLOCK_N) {"
    yield "    wait_for_copies();  // of K"
    yield f"    {SYNCHRONIZE}  // and all warps have multiplied V, whose place is free"
    yield "    copy_rows(v_to, v_from, v_row, row, keys - key);"
    yield "    v_from += (long long)BLOCK_N * v_row;"
    yield "    commit_copies();"
    yield ""
    yield from indented(_scores(found))
    yield "    wait_for_copies();  // of V"
    yield f"    {SYNCHRONIZE}  // and all warps have multiplied K"
    yield "    k_from += (long long)BLOCK_N * k_row;"
    yield "    if (key + BLOCK_N < keys) copy_rows(k_to, k_from, k_row, row, keys - key - BLOCK_N);"
    yield "    commit_copies();"
    yield ""
    yield from indented(_mask(found))
    yield from indented(_softmax(found))
    yield from indented(_values(found))
    yield "}"
    yield ""


def _scores(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    count = inst.operand("B").registers
    each = 4 // count
    yield "// The products of queries and keys."
    yield f"float s[TILES_K][{inst.operand('D').registers}] = {{}};"
    yield "#pragma unroll"
    yield "for (int step = 0; step < STEPS; ++step)"
    yield "#pragma unroll"
    yield f"    for (int tile = 0; tile < TILES_K; tile += {each}) {{"
    yield f"        unsigned int part[{each}][{count}];"
    yield f"        load_matrices(part[0], k_stage + k_at[step] + tile * {inst.n} * ROW);"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {each}; ++n) multiply(s[tile + n], q[step], part[n]);"
    yield "    }"
    yield ""


def _rows(found: CudaAttentionPlan) -> list[tuple[int, int, int]]:
    """The number of its query, its row and its column of each result of a lane."""
    items = fragment(found.instruction.operand("D")).items
    rows = sorted({item.row for item in items})
    return [(rows.index(item.row), item.row, item.column) for item in items]


def _mask(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    d, places = fragment(inst.operand("D")), _rows(found)
    count = len(places)
    first = f"first_m + {d.first('row', 'd')}"
    limit = "first_m + N - M + 1 < N ? first_m + N - M + 1 : N" if found.causal else "N"
    yield f"if (key + BLOCK_N > ({limit})) {{  // keys that a query does not see"
    columns = ", ".join(str(column) for _, _, column in places)
    rows = ", ".join(str(row) for _, row, _ in places)
    yield f"    const unsigned char d_columns[] = {{{columns}}}" + (f", d_rows[] = {{{rows}}};" * found.causal or ";")
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_K; ++tile)"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {count}; ++e) {{"
    yield f"            const int at = key + tile * {inst.n} + {d.first('column', 'd')} + d_columns[e];"
    sees = f"at < N && at <= {first} + d_rows[e] + N - M" if found.causal else "at < N"
    yield f"            if (!({sees})) s[tile][e] = minus_infinity();"
    yield "        }"
    yield "}"
    yield ""


def _softmax(found: CudaAttentionPlan) -> Iterator[str]:
    count = len(_rows(found))
    queries = ", ".join(str(query) for query, _, _ in _rows(found))
    yield f"const unsigned char d_query[] = {{{queries}}};  // of the lane's two, for each of its results"
    yield "#pragma unroll"
    yield "for (int i = 0; i < 2; ++i) {"
    yield "    float most = highest[i];"
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_K; ++tile)"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {count}; ++e)"
    yield "            if (d_query[e] == i) most = largest(most, s[tile][e]);"
    for distance in _distances(found):
        yield f"    most = largest(most, across(most, {distance}));"
    yield "    // 0 as long as a query has seen no key: infinity - infinity is NaN."
    yield "    const float base = most == minus_infinity() ? 0 : most * factor;"
    yield "    const float shrink = power_of_2(highest[i] * factor - base);"
    yield "    highest[i] = most;"
    yield "    sum[i] *= shrink;"
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_V; ++tile)"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {count}; ++e)"
    yield "            if (d_query[e] == i) o[tile][e] *= shrink;"
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


def _distances(found: CudaAttentionPlan) -> list[int]:
    """The lane bits that tell the keys of one query apart."""
    digits = [digit for digit in fragment(found.instruction.operand("D")).digits if digit.column]
    return [digit.divisor << bit for digit in digits for bit in range((digit.size - 1).bit_length())]


def _values(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    count, words = inst.operand("B").registers, inst.operand("A").registers
    each, sums = 4 // count, inst.operand("D").registers
    yield "// P is A of the second product as it lies in the first one's registers, rounded."
    yield "#pragma unroll"
    yield "for (int step = 0; step < STEPS_P; ++step) {"
    yield f"    unsigned int p[{words}];"
    yield "#pragma unroll"
    yield f"    for (int n = 0; n < {words}; ++n) {{"
    yield f"        const int at = (step * {words} + n) * 2;"
    yield f"        p[n] = rounded(s[at / {sums}][at % {sums}], s[at / {sums}][at % {sums} + 1]);"
    yield "    }"
    yield "#pragma unroll"
    yield f"    for (int tile = 0; tile < TILES_V; tile += {each}) {{"
    yield f"        unsigned int part[{each}][{count}];"
    yield f"        load_matrices_turned(part[0], v_stage + v_at[tile] + step * {inst.k} * ROW);"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {each}; ++n) multiply(o[tile + n], p, part[n]);"
    yield "    }"
    yield "}"


def _epilogue(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    d, places = fragment(inst.operand("D")), _rows(found)
    pairs = [places[at] for at in range(0, len(places), 2)]
    yield "#pragma unroll"
    yield "for (int i = 0; i < 2; ++i) {"
    for distance in _distances(found):
        yield f"    sum[i] += across(sum[i], {distance});"
    rows = {query: row for query, row, _ in places}
    yield "    const float share = sum[i] > 0 ? reciprocal(sum[i]) : 0;"
    yield f"    const int row = first_m + {d.first('row', 'd')} + (i ? {rows[1]} : {rows[0]});"
    yield "    element *to = O + batch * o_batch + head * o_head + (long long)row * o_row;"
    yield f"    to += {d.first('column', 'd')};"
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_V; ++tile) {"
    for at, (query, _, column) in enumerate(pairs):
        words = f"rounded(o[tile][{2 * at}] * share, o[tile][{2 * at + 1}] * share)"
        place = f"tile * {inst.n}" + (f" + {column}" if column else "")
        yield f"        if (i == {query} && row < M) *(unsigned int *)(to + {place}) = {words};"
    yield "    }"
    yield f"    if (L && row < M && {d.first('column', 'd')} == 0)"
    yield "        L[((long long)batch * heads + head) * M + row] ="
    yield "            (highest[i] * factor + logarithm_of_2(sum[i])) * 0.69314718f;"
    yield "}"


def _launch(found: CudaAttentionPlan, sizes: Problem) -> Iterator[str]:
    grid = f"dim3({-(-sizes.queries // found.block_m)}, {sizes.heads}, {sizes.batches})"
    yield f"// {found.name}<<<{grid}, {found.threads}>>>("
    yield from launch_arguments(found.head, sizes)
