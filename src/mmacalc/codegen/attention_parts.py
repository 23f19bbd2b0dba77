"""What the attention kernels of NVIDIA share: masks, the online softmax, where results are, stores.

The kernels differ in how Q, K and V come to shared memory (`attention_cuda`: cp.async; `attention_tma`: tensor copies
by a warp of its own), in where the products and O are, and by which instruction they multiply.

What is taken from a query's products before the exponentials, its base, need not be the largest of them: see
`attention.MOST_GROWTH`.
"""

from __future__ import annotations

from ..base.records import TupleRecord
from ..chaining import chain
from .attention import FP8, growth_of, o_format
from .attention_launch import head_comment
from .epilogue import DIALECTS
from .fragments import fragment
from .ptx import GRID_CONSTANT, SHARED_ADDRESS, header
from .source import indented, memory_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .attention_cuda_plan import CudaAttentionPlan

__all__ = [
    "Held", "constants", "head", "held_in_registers", "is_fp8", "logarithms", "masked", "places", "rescaled",
    "order_of_p", "result_type", "rounded_words", "seen", "shares", "softmax_functions", "stores",
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
ANY_LANE = """\
// Whether it is so in any lane of the warp.
static __device__ bool in_any_lane(bool is_so) {
    unsigned int found;
    asm volatile("{ .reg .pred mine, any;\\n"
                 "setp.ne.u32 mine, %1, 0;\\n"
                 "vote.sync.any.pred any, mine, 0xffffffff;\\n"
                 "selp.u32 %0, 1, 0, any; }" : "=r"(found) : "r"((unsigned int)is_so));
    return found != 0;
}
"""


ROUNDED_P = """\
// Four numbers, rounded to the nearest e4m3, in a register: the first in its lowest byte.
static __device__ unsigned int rounded_p(float a, float b, float c, float d) {
    unsigned int found;
    asm("{ .reg .b16 low, high;\\n"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\\n"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\\n"
        "mov.b32 %0, {low, high}; }" : "=r"(found) : "f"(a), "f"(b), "f"(c), "f"(d));
    return found;
}
"""


CHAINS = 4  # of largest products and of sums, where a thread has one query: as many as a result takes cycles


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


def head(found: CudaAttentionPlan) -> Iterator[str]:
    """The comment, and what stands for CUDA's headers."""
    yield from head_comment(found)
    macros = ["__forceinline__ __inline__ __attribute__((always_inline))"]
    macros += [GRID_CONSTANT] * bool(found.q)
    yield header(*macros, one_block=True) + SHARED_ADDRESS.rstrip()
    yield ""


def constants(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    """The sizes that all kernels have."""
    inst, width = found.instruction, held.width
    yield f"typedef {memory_type(inst.format('A').name, 'cuda')} element;  // the bits of {inst.format('A').name}"
    if is_fp8(found):
        yield f"typedef {memory_type(o_format(found.form), 'cuda')} result;  // the bits of {o_format(found.form)}"
    yield f"enum {{ HEAD = {found.head}, HEAD_V = {found.head_v} }};  // elements of a row of Q and K, of V and O"
    yield f"enum {{ BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n} }};  // queries, keys"
    if found.seen.window:
        yield f"enum {{ WINDOW = {found.seen.window} }};  // keys, up to its own, that a query sees"
    yield f"enum {{ THREADS = {found.threads}, LANES = {held.lanes} }};  // of a block; of a product"
    yield f"enum {{ TILES_K = {found.block_n // width}, TILES_V = {found.head_v // width} }};  // of {width} columns"
    yield f"enum {{ QUERIES = {len(held.rows)} }};  // of which a thread has results"


def is_fp8(found: CudaAttentionPlan) -> bool:
    """Whether Q, K, V and P have 8 bits."""
    return found.form == FP8


def result_type(found: CudaAttentionPlan) -> str:
    """The C type of O's elements in memory."""
    return "result" if is_fp8(found) else "element"


def order_of_p(found: CudaAttentionPlan) -> tuple[int, ...]:
    """The results of the first product that become elements of P, in the order of one step of the second, where V's
    keys take their order; () where they are what lies there."""
    if not is_fp8(found) or found.instruction.in_tensor_memory:
        return ()
    inst = found.instruction
    sources = chain(inst, inst, "A").sources[: 4 * inst.operand("A").registers]
    return tuple([at for at in sources if at is not None])  # each is its lane's own


def softmax_functions(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    """The functions around the products: masks, the online softmax, and what they call."""
    yield DIALECTS["cuda"].functions["reciprocal"]
    yield HELPERS.replace("TYPE", o_format(found.form))
    if is_fp8(found):
        yield ROUNDED_P
    if held.distances:
        yield ACROSS
    yield ANY_LANE
    yield from _mask(found, held)
    yield from _exponentials(found, held)


def _arrays(held: Held, names: str = "end") -> tuple[str, str]:
    """The parameters of a tile of products, and the queries of a group of results as a table."""
    queries = ", ".join(str(query) for query, _, _ in held.items)
    return f"float (&s)[TILES_K][{len(held.items)}]", f"const unsigned char d_query[] = {{{queries}}};"


def _over_results(held: Held, body: str, indent: str = "    ") -> Iterator[str]:
    """A loop over a thread's results of a tile."""
    yield f"{indent}#pragma unroll"
    yield f"{indent}for (int tile = 0; tile < TILES_K; ++tile)"
    yield f"{indent}#pragma unroll"
    yield f"{indent}    for (int e = 0; e < {len(held.items)}; ++e)"
    yield f"{indent}        {body}"


def _mask(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    tile, queries = _arrays(held)
    columns = ", ".join(str(column) for _, _, column in held.items)
    yield "// The products with keys that a query does not see become -infinity: key counts from the thread's first."
    begin = ", const int (&begin)[QUERIES]" if found.seen.window else ""
    yield f"static __device__ __forceinline__ void mask({tile}, int key{begin}, const int (&end)[QUERIES]) {{"
    yield f"    {queries[:-1]}, d_columns[] = {{{columns}}};"
    at = f"key + tile * {held.width} + d_columns[e]"
    hidden = f"{at} >= end[d_query[e]]"
    if found.seen.window:
        hidden = f"{at} < begin[d_query[e]] || {hidden}"
    yield from _over_results(held, f"if ({hidden}) s[tile][e] = minus_infinity();")
    yield "}"
    yield ""


def _exponentials(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    tile, queries = _arrays(held)
    power, growth = growth_of(found.form_p)
    offset = f" - {power}" * bool(power)
    yield "// Turns products into exponentials, which are added to the sums. O is to be multiplied by shrink if the"
    yield "// result says so, for any lane of the warp: bases follow products that are larger by more than a factor of"
    yield f"// 2^{growth}."
    if offset:
        yield f"// Exponentials are 2^{power} times as large, for e4m3."
    yield f"static __device__ __forceinline__ bool exponentials({tile}, float factor,"
    yield "    float (&base)[QUERIES], float (&sum)[QUERIES], float (&shrink)[QUERIES]) {"
    yield f"    {queries}  // of the thread's, for each of its results"
    yield "    bool moved = false;"
    yield "#pragma unroll"
    yield "    for (int i = 0; i < QUERIES; ++i) {"
    yield from _largest(held)
    for distance in held.distances:
        yield f"        most = largest(most, across(most, {distance}));"
    yield f"        const bool grows = most * factor > base[i] + {growth};"
    yield "        shrink[i] = grows ? power_of_2(base[i] - most * factor) : 1;"
    yield "        base[i] = grows ? most * factor : base[i];"
    yield "        sum[i] *= shrink[i];"
    yield "        moved = moved || grows;"
    yield "        // 0 as long as a query has seen no key: infinity - infinity is NaN."
    yield f"        const float less = base[i] == minus_infinity() ? 0 : base[i]{offset};"
    yield from _powers(held)
    yield "    }"
    yield "    return in_any_lane(moved);"
    yield "}"
    yield ""


def _largest(held: Held) -> Iterator[str]:
    """The largest product of a query in a thread."""
    if len(held.rows) > 1:
        yield "        float most = minus_infinity();"
        yield from _over_results(held, "if (d_query[e] == i) most = largest(most, s[tile][e]);", "        ")
        return
    nothing = ", ".join(["minus_infinity()"] * CHAINS)
    yield f"        float part[{CHAINS}] = {{{nothing}}};  // of every fourth: none waits for the one before"
    yield from _over_results(held, f"part[e % {CHAINS}] = largest(part[e % {CHAINS}], s[tile][e]);", "        ")
    yield "        float most = largest(largest(part[0], part[1]), largest(part[2], part[3]));"


def _powers(held: Held) -> Iterator[str]:
    """The exponentials of a query in a thread, and their sum."""
    apart = len(held.rows) == 1
    if apart:
        yield f"        for (int n = 0; n < {CHAINS}; ++n) part[n] = 0;"
    yield "#pragma unroll"
    yield "        for (int tile = 0; tile < TILES_K; ++tile)"
    yield "#pragma unroll"
    yield f"            for (int e = 0; e < {len(held.items)}; ++e)"
    yield "                if (d_query[e] == i) {"
    yield "                    s[tile][e] = power_of_2(s[tile][e] * factor - less);"
    yield f"                    {f'part[e % {CHAINS}]' if apart else 'sum[i]'} += s[tile][e];"
    yield "                }"
    if apart:
        yield "        sum[i] += part[0] + part[1] + (part[2] + part[3]);"


def places(found: CudaAttentionPlan) -> Iterator[str]:
    """The block's place: its queries and head, and the keys that any of them sees."""
    yield "int thread, block, head, batch;"
    for name, register in (("thread", "tid.x"), ("block", "ctaid.x"), ("head", "ctaid.y"), ("batch", "ctaid.z")):
        yield f'asm("mov.u32 %0, %%{register};" : "=r"({name}));'
    if found.seen.causal:
        yield "// The last queries, which see the most keys, begin first."
        yield "const int block_m = ((M + BLOCK_M - 1) / BLOCK_M - 1 - block) * BLOCK_M;"
        yield "const int last_m = block_m + BLOCK_M < M ? block_m + BLOCK_M : M;"
        yield "const int keys = N < last_m + N - M ? N : last_m + N - M;  // that any query of the block sees"
    else:
        yield "const int block_m = block * BLOCK_M;"
        yield "const int keys = N;"
    if found.seen.window:
        yield "const int oldest = block_m + N - M + 1 - WINDOW;  // that the first query sees"
        yield "const int first_key = oldest > 0 ? oldest / BLOCK_N * BLOCK_N : 0;"
    else:
        yield "const int first_key = 0;"
    yield "const float factor = scale * 1.44269504f;  // exp(x) = exp2(x log2(e))"


def seen(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    """Which keys the thread's queries see, and what is kept of each query."""
    yield from held.lines
    column = f" - {held.column}" if held.column != "0" else ""
    names = ("begin", "end") if found.seen.window else ("end",)
    yield f"int {', '.join(f'{name}[QUERIES]' for name in names)};  // of the keys that a query sees"
    for number, row in enumerate(held.rows):
        query = f"first_m + {held.row}{f' + {row}' if row else ''}"
        yield f"end[{number}] = {_least('N', f'{query} + N - M + 1') if found.seen.causal else 'N'}{column};"
        if found.seen.window:
            yield f"begin[{number}] = {query} + N - M + 1 - WINDOW{column};"
    if found.seen.causal:
        yield f"const int all_see = {_least('N', 'first_m + N - M + 1')};  // keys before it, unless they are too old"
    else:
        yield "const int all_see = N;"
    if found.seen.window:
        yield f"const int too_old = first_m + {found.instruction.m} + N - M - WINDOW;  // for one of them"
    yield "float base[QUERIES], sum[QUERIES] = {}, shrink[QUERIES];  // of a query; sums of this thread's keys"
    yield "#pragma unroll"
    yield "for (int i = 0; i < QUERIES; ++i) base[i] = minus_infinity();"


def _least(one: str, other: str) -> str:
    return f"({other} < {one} ? {other} : {one})"


def masked(found: CudaAttentionPlan) -> str:
    """The mask of a tile from `key` on, where it needs one."""
    old, begin = ("key < too_old || ", "begin, ") if found.seen.window else ("", "")
    return f"if ({old}key + BLOCK_N > all_see) mask(s, key, {begin}end);"


def rescaled(held: Held) -> Iterator[str]:
    """The function that multiplies O in registers by `shrink`."""
    _, queries = _arrays(held)
    yield f"static __device__ __forceinline__ void rescale(float (&o)[TILES_V][{len(held.items)}],"
    yield "    const float (&shrink)[QUERIES]) {"
    yield f"    {queries}"
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_V; ++tile)"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {len(held.items)}; ++e) o[tile][e] *= shrink[d_query[e]];"
    yield "}"
    yield ""


def rounded_words(
    words: int, count: int, step: str = "step", fp8: bool = False, sources: Sequence[int] = ()
) -> Iterator[str]:
    """Fills `p`, words of P, with the products, rounded, in the order in which they lie.

    Args:
        words: of a step. count: results of a group. step: its number, as C text. fp8: whether a word has four of them.
        sources: the results that become the elements of a period of words, if not as they lie.
    """
    yield "#pragma unroll"
    if fp8:
        period = sources or range(4)
        yield f"for (int n = 0; n < {words}; ++n) {{"
        first = "n" if step == "0" else f"({step} * {words} + n)"
        each = len(period) // 4
        if each > 1:
            yield f"    const unsigned char firsts[] = {{{', '.join(str(at) for at in period[::4])}}};"
            last = period[2] - period[0]  # where the second pair lies
            assert list(period) == [start + more for start in period[::4] for more in (0, 1, last, last + 1)]
            yield f"    const int at = {first} / {each} * {4 * each} + firsts[{first} % {each}];"
            second = f"at + {last}"
        else:
            yield f"    const int at = {first} * 4;"
            second = "at + 2"
        values = [f"s[({at}) / {count}][({at}) % {count}]" for at in ("at", "at + 1", second, f"{second} + 1")]
        yield f"    p[n] = rounded_p({', '.join(values)});"
        yield "}"
        return
    yield f"for (int n = 0; n < {words}; ++n) {{"
    at = "n * 2" if step == "0" else f"({step} * {words} + n) * 2"
    yield f"    const int at = {at};"
    yield f"    p[n] = rounded(s[at / {count}][at % {count}], s[at / {count}][at % {count} + 1]);"
    yield "}"


def shares(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    """The sum of all lanes, what O is multiplied with, and where its row is; within a loop over `i`."""
    for distance in held.distances:
        yield f"sum[i] += across(sum[i], {distance});"
    yield "const float share = sum[i] > 0 ? reciprocal(sum[i]) : 0;"
    rows = f" + (i ? {held.rows[1]} : {held.rows[0]})" if len(held.rows) > 1 else ""
    yield f"const int row = first_m + {held.row}{rows};"
    yield f"{result_type(found)} *to = O + batch * o_batch + head * o_head + (long long)row * o_row;"


def logarithms(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    """The store of L."""
    first = f" && {held.column} == 0" if held.column != "0" else ""
    yield f"if (L && row < M{first})"
    yield "    L[((long long)batch * heads + head) * M + row] ="
    power = growth_of(found.form_p).offset
    offset = f" - {power}" * bool(power)
    yield f"        (base[i]{offset} + logarithm_of_2(sum[i])) * 0.69314718f;"


def stores(found: CudaAttentionPlan, held: Held, pairs: bool = False) -> Iterator[str]:
    """The stores of O, which is in registers, and of L.

    Args:
        pairs: whether columns of O alternate between two tiles.
    """
    yield "#pragma unroll"
    yield "for (int i = 0; i < QUERIES; ++i) {"
    yield from indented(shares(found, held))
    if pairs:
        yield from indented(_paired_stores(held))
        yield from indented(logarithms(found, held))
        yield "}"
        return
    yield f"    to += {held.column};"
    yield "#pragma unroll"
    yield "    for (int tile = 0; tile < TILES_V; ++tile) {"
    for at in range(0, len(held.items), 2):
        query, _, column = held.items[at]
        words = f"rounded(o[tile][{at}] * share, o[tile][{at + 1}] * share)"
        place = f"tile * {held.width}" + (f" + {column}" if column else "")
        yield f"        if (i == {query} && row < M) *(unsigned int *)(to + {place}) = {words};"
    yield "    }"
    yield from indented(logarithms(found, held))
    yield "}"


def _paired_stores(held: Held) -> Iterator[str]:
    """The stores of a row of O where two tiles have columns that alternate: four neighbours of a thread."""
    yield f"to += 2 * ({held.column});"
    yield "#pragma unroll"
    yield "for (int tile = 0; tile < TILES_V; tile += 2) {"
    for at in range(0, len(held.items), 2):
        query = held.items[at][0]
        words = ", ".join(f"rounded(o[tile][{slot}] * share, o[tile + 1][{slot}] * share)" for slot in (at, at + 1))
        yield f"    const u32x2 row_{query} = {{{words}}};"
        yield f"    if (i == {query} && row < M) *(u32x2 *)(to + tile * {held.width}) = row_{query};"
    yield "}"
