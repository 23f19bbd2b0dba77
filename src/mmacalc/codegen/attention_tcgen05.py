"""An attention kernel of Blackwell in CUDA around tcgen05.mma: see `mmacalc.codegen.attention_cuda_plan`.

A warp copies by TMA, a thread of another starts all products, and two warpgroups have 128 queries each: while one
computes exponentials, the products of the other run (FlashAttention-4: Algorithm and Kernel Pipelining Co-Design,
Zadouri et al., 2026). The products and O are in Tensor Memory. A thread has a lane of it, which is a query: it loads
its products, and puts P in their place, where it is A of the second product. O is multiplied by the same thread, when
the base of a query of its warp has moved.

The thread that starts products goes round like this, for each of the two tiles of queries: O += P V as soon as P has
been stored; then S = Q K of the next keys in P's place, which follows because products of one thread are carried out in
order. Its commit says that both are complete.

Source: PTX ISA 9.1, section 9.7.16: 9.7.16.6 (order), 9.7.16.8 (ld, st), 9.7.16.10 (mma, A in Tensor Memory).
"""

from __future__ import annotations

from math import gcd

from ..families.descriptors import SWIZZLES, instruction_descriptor
from .attention_parts import Held, is_fp8, logarithms, masked, rounded_words, seen, shares, softmax_functions
from .attention_tma import copying, descriptor, kernel_head, launch, step_offset, top
from .gemm_tcgen05_store import WORDS
from .ptx import SYNCHRONIZE
from .source import indented
from .tcgen05_functions import FUNCTIONS, column_function, commit_function, multiply_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention import Problem
    from .attention_cuda_plan import CudaAttentionPlan

__all__ = ["source"]

LEAST_COLUMNS = 32  # of an allocation
REGISTERS = (72, 216)  # of a thread without, and of one with a query: 128 x 72 + 256 x 216 = 384 x 168, as launched
WARPS = 4  # that have the 128 lanes of Tensor Memory
AFTER = 'asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");'
BEFORE = 'asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");'
BEFORE_ALL = 'asm volatile("tcgen05.fence::before_thread_sync;\\nbar.warp.sync 0xffffffff;" ::: "memory");'
STORED = 'asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");'


def source(found: CudaAttentionPlan, sizes: Problem) -> str:
    """The source of the kernel: O = softmax(scale Q K^T) V.

    Args:
        sizes: of the launch line that is shown.
    """
    held = Held(found.lanes, 8, tuple([(0, 0, column) for column in range(8)]), "lane", "0")
    lines = [*top(found, held), *_functions(found), *softmax_functions(found, held)]
    lines += kernel_head(found, {"free": ("STAGES", "1"), "done": ("GROUPS", "1"), "stored": ("GROUPS", "4")})
    for part in (_allocation(found), _others(found), _queries(found, held)):
        lines += indented(part)
    return "\n".join([*lines, "}", "", *launch(found, sizes), ""])


def _columns(found: CudaAttentionPlan) -> int:
    """The columns of Tensor Memory that are allocated: a power of two."""
    return max(LEAST_COLUMNS, 1 << (found.groups * (found.block_n + found.head_v) - 1).bit_length())


def _words_of_p(found: CudaAttentionPlan) -> int:
    """The columns of Tensor Memory that a query's P takes."""
    return found.block_n * found.instruction.format("A").bits // 32


def _functions(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    yield f"enum {{ WARPS = {WARPS * found.groups}, COPYING = WARPS, MULTIPLYING = WARPS + 1 }};"
    form, kind = inst.format("A").name, "f8f6f4" if is_fp8(found) else "f16"
    for product, n, turned in (("SCORES", found.block_n, 0), ("VALUES", found.head_v, 1)):
        code = instruction_descriptor(kind, inst.m, n, a=form, b=form, d="f32", transpose_b=turned).word
        major = "MN-major" if turned else "K-major"
        yield f"enum {{ {product} = {code:#x} }};  // instruction descriptor: M {inst.m}, N {n}, B {major}"
    yield ""
    yield FUNCTIONS
    yield from multiply_function(inst)
    yield from multiply_function(inst, "multiply_p", a_in_tensor_memory=True)
    yield from commit_function(1)
    number, word = ("float", "f"), ("unsigned int", "r")
    yield from column_function("load_products", gcd(found.block_n, WORDS), number)
    yield from column_function("load_columns", gcd(found.head_v, WORDS), number)
    yield from column_function("store_columns", gcd(found.head_v, WORDS), number, stores=True)
    yield from column_function("store_p", gcd(_words_of_p(found), WORDS), word, stores=True)
    yield from _scores(found)
    yield from _values(found)
    yield from _rescale(found)


def _scores(found: CudaAttentionPlan) -> Iterator[str]:
    inst, codes = found.instruction, SWIZZLES["tcgen05"]
    assert found.q
    yield "// Starts the products of queries and keys."
    yield "static __device__ void start_scores(unsigned int s, unsigned int q_at, unsigned int k_at) {"
    for side, at in ((found.q, "q_at"), (found.k, "k_at")):
        yield f"    const unsigned long long {side.name.lower()} = {descriptor(side, at, codes)};  // K-major"
    for step in range(found.head // inst.k):
        q, k = (step_offset(side, step, inst.k) for side in (found.q, found.k))
        yield f"    multiply(s, q + {q}, k + {k}, SCORES, {'true' if step else 'false'});"
    yield "}"
    yield ""


def _values(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    each = 32 // inst.format("A").bits
    yield f"// Starts O = P V, or O += P V: P is where S was, {each} numbers in a column."
    yield "static __device__ void start_values(unsigned int o, unsigned int p, unsigned int v_at, bool add) {"
    yield f"    const unsigned long long v = {descriptor(found.v, 'v_at', SWIZZLES['tcgen05'])};  // MN-major"
    for step in range(found.block_n // inst.k):
        p, v, add = step * inst.k // each, step_offset(found.v, step, inst.k), "true" if step else "add"
        yield f"    multiply_p(o, p + {p}, v + {v}, VALUES, {add});"
    yield "}"
    yield ""


def _rescale(found: CudaAttentionPlan) -> Iterator[str]:
    count = gcd(found.head_v, WORDS)
    yield "// O of this thread's query, times `shrink`."
    yield "static __device__ void rescale(unsigned int o, float shrink) {"
    yield f"    for (int first = 0; first < HEAD_V; first += {count}) {{"
    yield f"        float part[{count}];"
    yield "        load_columns(part, o + first);"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {count}; ++e) part[e] *= shrink;"
    yield "        store_columns(o + first, part);"
    yield "    }"
    yield "}"
    yield ""


def _allocation(found: CudaAttentionPlan) -> Iterator[str]:
    yield "__shared__ unsigned int allocated;"
    yield "const int warp = thread / 32;"
    yield "if (warp == MULTIPLYING)"
    name = "cta_group::1.sync.aligned"
    yield f'    asm volatile("tcgen05.alloc.{name}.shared::cta.b32 [%0], {_columns(found)};\\n"'
    yield f'                 "tcgen05.relinquish_alloc_permit.{name};"'
    yield '                 : : "r"(shared_address(&allocated)) : "memory");'
    yield from (BEFORE, SYNCHRONIZE, AFTER)
    yield "// In Tensor Memory: the products of each group, which P replaces, then O of each."
    yield "const unsigned int s_at = *(volatile unsigned int *)&allocated, o_at = s_at + GROUPS * BLOCK_N;"
    yield ""


def _others(found: CudaAttentionPlan) -> Iterator[str]:
    """What the warps without queries do."""
    yield "if (warp >= WARPS) {"
    if found.groups > 1:
        yield f'    asm volatile("setmaxnreg.dec.sync.aligned.u32 {REGISTERS[0]};");  // which go to the others'
    yield "    if (warp == COPYING && elected()) {"
    yield from indented(indented(copying(found)))
    yield "    }"
    yield "    if (warp == MULTIPLYING) {"
    yield "        if (elected()) {"
    yield from indented(indented(indented(_multiplying())))
    yield "        }"
    yield "        // Tensor Memory is freed when the last query has left it."
    yield '        asm volatile("bar.warp.sync 0xffffffff;\\n"'
    yield '                     "bar.sync 1, %0;" : : "n"(WARPS * 32 + 32) : "memory");'
    yield f"        {AFTER}"
    yield f'        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, {_columns(found)};"'
    yield '                     : : "r"(s_at) : "memory");'
    yield "    }"
    yield "    return;"
    yield "}"
    if found.groups > 1:
        yield f'asm volatile("setmaxnreg.inc.sync.aligned.u32 {REGISTERS[1]};");'


def _multiplying() -> Iterator[str]:
    """What the one thread does that starts products."""
    yield "#pragma unroll 1"
    yield "for (int tile = 0; tile < GROUPS && first_key < keys; ++tile) {"
    yield "    wait(q_came_at + 8 * tile, 0);"
    yield "    if (tile == 0) wait_for_tile(came_at, 0);"
    yield "    start_scores(s_at + tile * BLOCK_N, q_tiles + tile * Q_BYTES, tile_of(ring, 0));"
    yield "    commit(done_at + 8 * tile);"
    yield "    if (tile == GROUPS - 1) commit(free_at);"
    yield "}"
    yield "// turn: of V in the ring; K of the next keys is behind it."
    yield "for (int key = first_key, turn = 1, parity = 0; key < keys; key += BLOCK_N, turn += 2, parity ^= 1) {"
    yield "    const bool more = key + BLOCK_N < keys;"
    yield "    wait_for_tile(came_at, turn);"
    yield "#pragma unroll 1"
    yield "    for (int tile = 0; tile < GROUPS; ++tile) {"
    yield "        wait(stored_at + 8 * tile, parity);  // P, and O if it was multiplied"
    yield f"        {AFTER}"
    yield "        start_values(o_at + tile * HEAD_V, s_at + tile * BLOCK_N, tile_of(ring, turn), key > first_key);"
    yield "        if (tile == GROUPS - 1) commit(free_at + turn % STAGES * 8);"
    yield "        if (more && tile == 0) wait_for_tile(came_at, turn + 1);"
    yield "        if (more) start_scores(s_at + tile * BLOCK_N, q_tiles + tile * Q_BYTES, tile_of(ring, turn + 1));"
    yield "        commit(done_at + 8 * tile);"
    yield "    }"
    yield "    if (more) commit(free_at + (turn + 1) % STAGES * 8);"
    yield "}"


def _queries(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    """What the warps with queries do."""
    count = gcd(found.block_n, WORDS)
    yield f"const int tile = warp / {WARPS}, lane = thread % LANES, first_m = block_m + tile * {found.instruction.m};"
    yield f"const unsigned int lanes = warp % {WARPS} * 32 << 16;  // that this warp loads and stores"
    yield "const unsigned int s_here = s_at + tile * BLOCK_N + lanes, o_here = o_at + tile * HEAD_V + lanes;"
    yield from seen(found, held)
    yield "int parity = 0;"
    yield "for (int key = first_key; key < keys; key += BLOCK_N, parity ^= 1) {"
    yield "    wait(done_at + 8 * tile, parity);  // S of these keys, O of those before"
    yield f"    {AFTER}"
    yield "    float s[TILES_K][8];"
    yield "#pragma unroll"
    yield f"    for (int first = 0; first < BLOCK_N; first += {count}) load_products(s[first / 8], s_here + first);"
    yield f"    {masked(found)}"
    yield "    const bool moved = exponentials(s, factor, base, sum, shrink);"
    yield "    if (moved && key > first_key) rescale(o_here, shrink[0]);"
    yield from indented(_handing(found))
    yield "}"
    yield from _stores(found, held)
    yield ""


def _handing(found: CudaAttentionPlan) -> Iterator[str]:
    words = _words_of_p(found)
    count = gcd(words, WORDS)
    yield f"unsigned int p[{words}];"
    yield from rounded_words(words, 8, "0", is_fp8(found))
    yield "#pragma unroll"
    yield f"for (int first = 0; first < {words}; first += {count}) store_p(s_here + first, p + first);"
    yield STORED
    yield BEFORE_ALL
    yield "if (thread % 32 == 0) arrive(stored_at + 8 * tile);"


def _stores(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    count = gcd(found.head_v, WORDS)
    yield "if (first_key < keys) wait(done_at + 8 * tile, parity);"
    yield AFTER
    yield "const int i = 0;"
    yield from shares(found, held)
    yield f"for (int first = 0; first < HEAD_V; first += {count}) {{"
    yield f"    float part[{count}] = {{}};"
    yield "    if (first_key < keys) load_columns(part, o_here + first);"
    yield "    if (row >= M) continue;"
    yield "#pragma unroll"
    yield f"    for (int column = 0; column < {count}; column += 8) {{"
    yield "        u32x4 made;"
    yield "#pragma unroll"
    yield "        for (int e = 0; e < 4; ++e)"
    yield "            made.word[e] = rounded(part[column + 2 * e] * share, part[column + 2 * e + 1] * share);"
    yield "        *(u32x4 *)(to + first + column) = made;"
    yield "    }"
    yield "}"
    yield from logarithms(found, held)
    yield f"{BEFORE_ALL}  // all lanes have loaded O"
    yield 'asm volatile("bar.arrive 1, %0;" : : "n"(WARPS * 32 + 32) : "memory");'
