"""An attention kernel of Blackwell in CUDA around tcgen05.mma: see `mmacalc.codegen.attention`.

Q, K and V lie in shared memory as for wgmma; the products and O are in Tensor Memory. One thread starts each product,
and all wait for it at an mbarrier. A thread has a lane of Tensor Memory, which is a query: it loads its products, puts
P in their place, of which it is A of the second product, and multiplies O where its largest product grew.

Source: PTX ISA 9.1, section 9.7.16: 9.7.16.6 (order), 9.7.16.8 (ld, st), 9.7.16.10 (mma, A in Tensor Memory).
"""

from __future__ import annotations

from math import gcd

from ..families.descriptors import SWIZZLES, instruction_descriptor
from .attention_parts import Held, Parts, logarithms, rounded_words, shares
from .attention_wgmma import descriptors, k_major_offset, tiles_in_shared_memory
from .gemm_tcgen05 import FUNCTIONS, WORDS, column_function, commit_function, multiply_function
from .ptx import SYNCHRONIZE
from .source import indented
from .tensor_copies import BEGIN_BARRIER, VECTOR, WAIT_FOR_BARRIER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .attention import CudaAttentionPlan

__all__ = ["parts"]

LEAST_COLUMNS = 32  # of an allocation
MOST_WORDS = 128  # of Tensor Memory that a thread loads at once
ANY = """\
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
AFTER = 'asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");'
BEFORE = 'asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");'


def parts(found: CudaAttentionPlan) -> Parts:
    """What a kernel around tcgen05.mma has of its own."""
    held = Held(found.lanes, 8, tuple([(0, 0, column) for column in range(8)]), "lane", "0")
    return Parts(
        held,
        functions=tuple(_functions(found)),
        shared=(
            *tiles_in_shared_memory(found),
            "__shared__ unsigned long long done;",
            "__shared__ unsigned int allocated;",
        ),
        begin=tuple(_begin(found)),
        scores=tuple(_scores(found)),
        rescale=tuple(_rescale(found)),
        handing=tuple(_handing(found)),
        values=tuple(_values(found)),
        end=tuple(_end(found, held)),
    )


def _columns(found: CudaAttentionPlan) -> int:
    """The columns of Tensor Memory that are allocated: a power of two."""
    return max(LEAST_COLUMNS, 1 << (found.block_n + found.head - 1).bit_length())


def _functions(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    yield f"{BEGIN_BARRIER}{WAIT_FOR_BARRIER}"
    yield FUNCTIONS
    yield ANY
    yield from multiply_function(inst)
    yield from multiply_function(inst, "multiply_p", a_in_tensor_memory=True)
    yield from commit_function(1)
    number, word = ("float", "f"), ("unsigned int", "r")
    yield from column_function("load_products", gcd(found.block_n, MOST_WORDS), number)
    yield from column_function("load_columns", gcd(found.head, WORDS), number)
    yield from column_function("store_columns", gcd(found.head, WORDS), number, stores=True)
    yield from column_function("store_p", gcd(found.block_n // 2, MOST_WORDS), word, stores=True)


def _begin(found: CudaAttentionPlan) -> Iterator[str]:
    inst, form = found.instruction, found.instruction.format("A").name
    texts = {name: f"descriptor_at(shared_address({name.lower()}_tile)" for name in "QKV"}
    yield from descriptors(found, SWIZZLES["tcgen05"], texts)
    for name, n, turned in (("SCORES", found.block_n, 0), ("VALUES", found.head, 1)):
        word = instruction_descriptor("f16", inst.m, n, a=form, b=form, d="f32", transpose_b=turned).word
        major = "MN-major" if turned else "K-major"
        yield f"enum {{ {name} = {word:#x} }};  // instruction descriptor: M {inst.m}, N {n}, B {major}"
    yield "const int warp = thread / 32;"
    yield "const unsigned int done_at = shared_address(&done);"
    yield "if (thread == 0) {"
    yield "    begin(done_at, 1);"
    yield '    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");'
    yield "}"
    yield "if (warp == 0)"
    name = "cta_group::1.sync.aligned"
    yield f'    asm volatile("tcgen05.alloc.{name}.shared::cta.b32 [%0], {_columns(found)};\\n"'
    yield f'                 "tcgen05.relinquish_alloc_permit.{name};"'
    yield '                 : : "r"(shared_address(&allocated)) : "memory");'
    yield from (BEFORE, SYNCHRONIZE, AFTER)
    yield "const unsigned int products = *(volatile unsigned int *)&allocated;  // in Tensor Memory; and P"
    yield "const unsigned int o_at = products + BLOCK_N;"
    yield "const unsigned int lanes = warp * 32 << 16;  // that this warp loads and stores"
    yield ""


def _multiplied(lines: Iterable[str], parity: int) -> Iterator[str]:
    """One thread starts products, and all wait until they are complete: those of S and of O end phases in turn."""
    yield "if (warp == 0 && elected()) {"
    yield from indented(lines)
    yield "    commit(done_at);"
    yield "}"
    yield f"wait(done_at, {parity});"
    yield AFTER


def _scores(found: CudaAttentionPlan) -> Iterator[str]:
    inst, count = found.instruction, gcd(found.block_n, MOST_WORDS)
    assert found.q
    lines = ["const unsigned long long k_stage = k_start + stage * (K_BYTES / 16);"]
    for step in range(found.head // inst.k):
        q, k = (k_major_offset(side, step, inst.k) // VECTOR for side in (found.q, found.k))
        add = "true" if step else "false"
        lines.append(f"multiply(products, q_start + {q}, k_stage + {k}, SCORES, {add});")
    yield "// The products of queries and keys."
    yield from _multiplied(lines, 0)
    yield "float s[TILES_K][8];"
    yield "#pragma unroll"
    yield f"for (int first = 0; first < BLOCK_N; first += {count})"
    yield "    load_products(s[first / 8], products + lanes + first);"
    yield ""


def _rescale(found: CudaAttentionPlan) -> Iterator[str]:
    count = gcd(found.head, WORDS)
    yield "// O, which the products before have left, where the largest product grew in a lane of the warp."
    yield "if (key && in_any_lane(shrink < 1))"
    yield f"    for (int first = 0; first < HEAD; first += {count}) {{"
    yield f"        float part[{count}];"
    yield "        load_columns(part, o_at + lanes + first);"
    yield "#pragma unroll"
    yield f"        for (int e = 0; e < {count}; ++e) part[e] *= shrink;"
    yield "        store_columns(o_at + lanes + first, part);"
    yield "    }"


def _handing(found: CudaAttentionPlan) -> Iterator[str]:
    words = found.block_n // 2
    count = gcd(words, MOST_WORDS)
    yield "// P, rounded, two numbers in a column, takes the place of the products."
    yield from rounded_words(words, 8, "0")
    yield "#pragma unroll"
    yield f"for (int first = 0; first < {words}; first += {count}) store_p(products + lanes + first, p + first);"
    yield 'asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");  // of P, and of O where it was multiplied'
    yield BEFORE
    yield ""


def _values(found: CudaAttentionPlan) -> Iterator[str]:
    inst, lines = found.instruction, [AFTER]
    for step in range(found.block_n // inst.k):
        p, v = step * inst.k // 2, step * inst.k * found.v.panel // VECTOR
        add = "true" if step else "key > 0"
        lines.append(f"multiply_p(o_at, products + {p}, v_start + {v}, VALUES, {add});")
    yield from _multiplied(lines, 1)


def _end(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    count = gcd(found.head, WORDS)
    yield "{"
    yield "    const int i = 0;"
    yield from indented(shares(held))
    yield f"    for (int first = 0; first < HEAD; first += {count}) {{"
    yield f"        float part[{count}] = {{}};"
    yield "        if (keys > 0) load_columns(part, o_at + lanes + first);"
    yield "        if (row >= M) continue;"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {count}; n += 8) {{"
    yield "            u32x4 made;"
    yield "#pragma unroll"
    yield "            for (int e = 0; e < 4; ++e)"
    yield "                made.word[e] = rounded(part[n + 2 * e] * share, part[n + 2 * e + 1] * share);"
    yield "            *(u32x4 *)(to + first + n) = made;"
    yield "        }"
    yield "    }"
    yield from indented(logarithms(held))
    yield "}"
    yield "// Tensor Memory is not used any more."
    yield from (BEFORE, SYNCHRONIZE, AFTER)
    yield "if (warp == 0)"
    yield f'    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, {_columns(found)};"'
    yield '                 : : "r"(products) : "memory");'
