"""An attention kernel of NVIDIA in CUDA around mma.sync: see `mmacalc.codegen.attention_cuda_plan`.

K and V lie in shared memory in the order of memory, in panels under a swizzle, from where ldmatrix loads both: V turned
over, of 8 bits with a byte permutation behind it. Q and O are in registers. While a tile of keys is multiplied,
cp.async copies its V and the next K.
"""

from __future__ import annotations

from .attention_launch import launch_arguments
from .attention_parts import (
    constants,
    head,
    held_in_registers,
    is_fp8,
    masked,
    order_of_p,
    places,
    rescaled,
    result_type,
    rounded_words,
    seen,
    softmax_functions,
    stores,
)
from .fragments import fragment, runs
from .gemm_cuda_loads import PERMUTED, matrix_loads, product_functions
from .gemm_staging import VECTOR, copy_async
from .ldmatrix import matrices
from .ptx import SYNCHRONIZE
from .source import indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention import Problem
    from .attention_cuda_plan import CudaAttentionPlan
    from .attention_parts import Held
    from .ldmatrix import Matrices

__all__ = ["source"]

WAIT_ALL = """\
static __device__ void wait_for_all_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
"""
COPY_ROWS = """\
// Starts to copy a tile of K or V, panels of BLOCK_N rows of ROW_BYTES: `at` is the place in shared memory of what this
// thread copies first, whose row and column `from` points to; zeros beyond the rows that are left. The rows of a round
// have the swizzle of the first.
template <int ROW_BYTES, int PANELS>
static __device__ void copy_rows(unsigned char *at, const element *from, int stride, int row, int left) {
    enum { ROWS = THREADS * 16 / ROW_BYTES };  // that the threads copy at once
#pragma unroll
    for (int panel = 0; panel < PANELS; ++panel)
#pragma unroll
        for (int n = 0; n < BLOCK_N; n += ROWS)
            if (BLOCK_N % ROWS == 0 || row + n < BLOCK_N)
                copy(at + (panel * BLOCK_N + n) * ROW_BYTES, from + panel * (ROW_BYTES / (int)sizeof(element)) + \
(long long)n * stride,
                     row + n < left ? 16 : 0);
}
"""


def source(found: CudaAttentionPlan, sizes: Problem) -> str:
    """The source of the kernel: O = softmax(scale Q K^T) V.

    Args:
        sizes: of the launch line that is shown.
    """
    held = held_in_registers(found)
    lines = [*head(found), *_constants(found, held), *softmax_functions(found, held), *rescaled(held)]
    lines += [copy_async(1, "committed last", pointer=True), WAIT_ALL]
    for side in (found.k, found.v):
        lines += side.tile.function()
    lines += [COPY_ROWS, *[PERMUTED] * is_fp8(found), *matrix_loads(False), *matrix_loads(True)]
    lines += product_functions(found.instruction)
    return "\n".join([*lines, *_kernel(found, held), *_launch(found, sizes), ""])


def _constants(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    inst = found.instruction
    yield from constants(found, held)
    yield f"enum {{ STEPS = {found.head // inst.k}, STEPS_P = {found.block_n // inst.k} }};  // of each product"
    k, v = found.k.tile, found.v.tile
    yield f"enum {{ K_BYTES = {k.bytes}, V_BYTES = {v.bytes} }};"
    rows, counts = f"K_ROW = {k.panel}, V_ROW = {v.panel}", (each.row_bytes // each.panel for each in (k, v))
    yield "enum {{ {}, K_PANELS = {}, V_PANELS = {} }};  // bytes of a panel's row".format(rows, *counts)
    yield ""


def _kernel(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    yield 'extern "C" __global__ void __launch_bounds__(THREADS)'
    yield f"{found.name}("
    yield f"    const element *Q, const element *K, const element *V, {result_type(found)} *O, float *L,"
    yield "    int M, int N, int heads, int group, float scale, int q_row, int k_row, int v_row, int o_row,"
    yield "    long long q_head, long long k_head, long long v_head, long long o_head,"
    yield "    long long q_batch, long long k_batch, long long v_batch, long long o_batch) {"
    yield "    __shared__ __attribute__((aligned(128))) unsigned char k_tile[2 * K_BYTES], v_tile[V_BYTES];"
    yield "    const unsigned int k_stages = shared_address(k_tile), v_stage = shared_address(v_tile);"
    yield from indented(places(found))
    yield f"    const int lane = thread % LANES, first_m = block_m + thread / LANES * {found.instruction.m};"
    for lines in (_copied(found), seen(found, held), _queries(found), _matrix_places(found), _loop(found, held)):
        yield from indented(lines)
    yield from indented(stores(found, held, is_fp8(found)))
    yield "}"
    yield ""


def _copied(found: CudaAttentionPlan) -> Iterator[str]:
    """What a thread copies of each tile, from where and to where."""
    yield "// What this thread copies of each tile."
    for side in (found.k, found.v):
        letter, name = side.name.lower(), side.name
        yield f"const int {letter}_first = thread * {VECTOR} / {name}_ROW, "
        yield f"    {letter}_byte = thread * {VECTOR} % {name}_ROW;  // row and column"
        start = f"batch * {letter}_batch + head / group * {letter}_head"
        row = f"(long long)(first_key + {letter}_first) * {letter}_row"
        yield f"const element *{letter}_from = {name} + {start} + {row} + {letter}_byte / {side.bytes};"
        yield f"unsigned char *const {letter}_to = {letter}_tile + {letter}_place({letter}_first, {letter}_byte);"
    yield ""


def _loop(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    yield f"float o[TILES_V][{len(held.items)}] = {{}};"
    yield "copy_rows<K_ROW, K_PANELS>(k_to, k_from, k_row, k_first, keys - first_key);"
    yield "commit_copies();"
    yield "for (int key = first_key, stage = 0; key < keys; key += BLOCK_N, stage ^= 1) {"
    yield "    wait_for_all_copies();  // of K"
    yield f"    {SYNCHRONIZE}  // and V and the K before are multiplied: their places are free"
    yield "    copy_rows<V_ROW, V_PANELS>(v_to, v_from, v_row, v_first, keys - key);"
    yield "    commit_copies();"
    yield "    v_from += (long long)BLOCK_N * v_row;"
    yield "    k_from += (long long)BLOCK_N * k_row;"
    yield "    if (key + BLOCK_N < keys)"
    to = "k_to + (stage ^ 1) * K_BYTES"
    yield f"        copy_rows<K_ROW, K_PANELS>({to}, k_from, k_row, k_first, keys - key - BLOCK_N);"
    yield "    commit_copies();"
    yield ""
    yield from indented(_scores(found))
    yield f"    {masked(found)}"
    yield "    if (exponentials(s, factor, base, sum, shrink)) rescale(o, shrink);"
    yield "    wait_for_copies();  // of V"
    yield f"    {SYNCHRONIZE}"
    yield from indented(_values(found))
    yield "}"
    yield ""


def _both(found: CudaAttentionPlan) -> tuple[Matrices, Matrices | None]:
    """How ldmatrix loads K and V, which both lie in shared memory as rows of a head's elements; None: bytes of V are
    permuted behind it."""
    b = fragment(found.instruction.operand("B"))
    k, v = matrices(b, "col"), matrices(b, "row")
    assert k is not None  # from sm_75 on
    assert (v is None) == is_fp8(found)
    return k, v


def _queries(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    a = fragment(inst.operand("A"))
    pairs = runs(a, "row")
    rows = ", ".join(str(run.first.row) for run in pairs)
    columns = ", ".join(str(run.first.column) for run in pairs)
    yield "// Q stays in registers."
    for name in "AB":
        yield f"// {name}: {inst.operand(name).pattern}"
    yield from a.variables("a")
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


def _matrix_places(found: CudaAttentionPlan) -> Iterator[str]:
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
    yield f"    k_at[step] = k_place({inst.n} * {tile} + {k.row()}, step * {found.k.bytes * inst.k} + {k.byte()});"
    yield "int v_at[TILES_V];"
    yield "#pragma unroll"
    yield f"for (int tile = 0; tile < TILES_V; tile += {each})"
    place = f"{v.row()}, {2 * inst.n} * (tile + {tile}) + {v.byte()}" if v else f"lane, {inst.n} * tile"
    yield f"    v_at[tile] = v_place({place});"
    yield ""


def _scores(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    count = inst.operand("B").registers
    each = 4 // count
    yield "// The products of queries and keys."
    yield f"float s[TILES_K][{inst.operand('D').registers}] = {{}};"
    yield "const unsigned int k_stage = k_stages + stage * K_BYTES;"
    yield "#pragma unroll"
    yield "for (int step = 0; step < STEPS; ++step)"
    yield "#pragma unroll"
    yield f"    for (int tile = 0; tile < TILES_K; tile += {each}) {{"
    yield f"        unsigned int part[{each}][{count}];"
    yield f"        load_matrices(part[0], k_stage + k_at[step] + tile * {inst.n} * K_ROW);"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {each}; ++n) multiply(s[tile + n], q[step], part[n]);"
    yield "    }"
    yield ""


def _values(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    count = inst.operand("B").registers
    each = 4 // count
    words = ": V's keys take its order" if is_fp8(found) else ""
    yield f"// P is A of the second product as it lies in the first one's registers, rounded{words}."
    yield "#pragma unroll"
    yield "for (int step = 0; step < STEPS_P; ++step) {"
    yield f"    unsigned int p[{inst.operand('A').registers}];"
    count_p, of_tile = inst.operand("A").registers, inst.operand("D").registers
    yield from indented(rounded_words(count_p, of_tile, "step", is_fp8(found), order_of_p(found)))
    yield "#pragma unroll"
    yield f"    for (int tile = 0; tile < TILES_V; tile += {each}) {{"
    yield f"        unsigned int part[{each}][{count}];"
    if is_fp8(found):
        yield "        unsigned int pairs[4];  // of keys, of two neighbours in a row of V: of two tiles"
        yield f"        load_matrices_turned(pairs, v_stage + v_at[tile] + step * {inst.k} * V_ROW);"
        for n in range(4):
            which = "0x6420" if n < 2 else "0x7531"
            yield f"        part[{n // 2}][{n % 2}] = permuted(pairs[{n % 2 * 2}], pairs[{n % 2 * 2 + 1}], {which});"
    else:
        yield f"        load_matrices_turned(part[0], v_stage + v_at[tile] + step * {inst.k} * V_ROW);"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {each}; ++n) multiply(o[tile + n], p, part[n]);"
    yield "    }"
    yield "}"


def _launch(found: CudaAttentionPlan, sizes: Problem) -> Iterator[str]:
    grid = f"dim3({-(-sizes.queries // found.block_m)}, {sizes.heads}, {sizes.batches})"
    yield f"// {found.name}<<<{grid}, {found.threads}>>>("
    yield from launch_arguments(sizes)
