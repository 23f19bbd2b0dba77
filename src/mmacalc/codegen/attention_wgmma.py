"""An attention kernel of Hopper in CUDA around wgmma: see `mmacalc.codegen.attention_cuda_plan`.

A warpgroup of its own copies by TMA. Two others multiply, 64 queries each, by turns: while one computes exponentials
the other's products run. Within a warpgroup the products of the next keys are started before P V of these, and the
exponentials of the next are computed while P V runs (FlashAttention-3: Shah et al., arXiv:2407.08608, algorithm 2 and
section 3.1). D of the first product, rounded, is A of the second.

Sources: PTX ISA 9.1, sections 9.7.13.1 (bar), 9.7.15.5 (wgmma), 9.7.20 (setmaxnreg); and those of `attention_tma`.
"""

from __future__ import annotations

from ..families.descriptors import SWIZZLES
from .attention_parts import (
    held_in_registers,
    masked,
    order_of_p,
    rescaled,
    rounded_words,
    seen,
    softmax_functions,
    stores,
)
from .attention_tma import copying, descriptor, kernel_head, launch, step_offset, top
from .attention_turned import functions, turning
from .gemm_tma import DESCRIPTOR_AT
from .ptx import SYNCHRONIZE, braced, operand_texts, operands
from .source import indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention import Problem
    from .attention_cuda_plan import CudaAttentionPlan
    from .attention_parts import Held

__all__ = ["source"]

REGISTERS = (24, 240)  # of a thread that copies, and of the others: 128 x 24 + 256 x 240 = 384 x 168, as launched
TURNING_REGISTERS = (56, 224)  # where V is turned over, too
TURNS = """\
// The warpgroups start their products by turns: barriers 1 and 2, at which one waits and the other arrives.
static __device__ void take_turn(int warpgroup) {
    asm volatile("bar.sync %0, 256;" : : "r"(1 + warpgroup) : "memory");
}

static __device__ void give_turn(int warpgroup) {
    asm volatile("bar.arrive %0, 256;" : : "r"(1 + warpgroup) : "memory");
}
"""


def source(found: CudaAttentionPlan, sizes: Problem) -> str:
    """The source of the kernel: O = softmax(scale Q K^T) V.

    Args:
        sizes: of the launch line that is shown.
    """
    held = held_in_registers(found)
    lines = [*top(found, held), DESCRIPTOR_AT, *softmax_functions(found, held), *rescaled(held)]
    lines += [*_scores(found), *_values(found), *_waits(found), *_rounding(found), *[TURNS] * (found.groups > 1)]
    turned = {"turned": ("PLACES", "1"), "left": ("PLACES", "GROUPS")} if found.turned else {}
    lines += functions(found) if turned else ()
    lines += kernel_head(found, {"free": ("STAGES", "GROUPS"), **turned})
    for part in (_producer(found), _consumer(found, held), stores(found, held)):
        lines += indented(part)
    return "\n".join([*lines, "}", "", *launch(found, sizes), ""])


def _results(name: str, words: int, constraint: str) -> list[str]:
    return [f'"{constraint}"({name}[{at // 4}][{at % 4}])' for at in range(words)]


def _scores(found: CudaAttentionPlan) -> Iterator[str]:
    inst, steps = found.instruction, found.head // found.instruction.k
    assert found.q
    words = inst.operand("D").registers
    yield "// Starts the products of queries and keys."
    yield "static __device__ __forceinline__ void start_scores(float (&s)[TILES_K][4],"
    yield "    unsigned long long q, unsigned int at) {"
    yield f"    const unsigned long long k = {descriptor(found.k, 'at', _codes())};  // K-major"
    yield '    asm volatile("wgmma.fence.sync.aligned;\\n"'
    inputs = []
    for step in range(steps):
        yield f'                 "{inst.name} "  // step {step}'
        a, b = words + 2 * step, words + 2 * step + 1
        texts = {"S": braced(0, words), "Q's and K's descriptors": f"%{a}, %{b}"}
        majors = ("", "") if found.turned else (", K-major both", ", 0, 0")
        texts[f"scale-d, signs{majors[0]}"] = f"{int(step > 0)}, 1, 1{majors[1]}"
        yield from indented(operand_texts(texts, ";\\n"))
        for name, side in (("q", found.q), ("k", found.k)):
            inputs.append(f'"l"({name} + {step_offset(side, step, inst.k)})')
    yield '                 "wgmma.commit_group.sync.aligned;"'
    yield from indented(operands(_results("s", words, "=f"), inputs, ' : "memory"'))
    yield "}"
    yield ""


def _codes() -> dict[str, int]:
    return SWIZZLES["wgmma"]


def _values(found: CudaAttentionPlan) -> Iterator[str]:
    inst, steps = found.instruction, found.block_n // found.instruction.k
    name = inst.name.replace(f"n{inst.n}k", f"n{found.head_v}k")
    words, each = found.head_v // 2, inst.operand("A").registers
    yield "// Starts O += P V: P is A as it lies in the first product's registers, rounded."
    yield "static __device__ __forceinline__ void start_values(float (&o)[TILES_V][4],"
    yield f"    const unsigned int (&p)[{steps * each}], unsigned int at) {{"
    v = found.turned or found.v
    yield f"    const unsigned long long v = {descriptor(v, 'at', _codes())};  // {'K' if found.turned else 'MN'}-major"
    yield '    asm volatile("wgmma.fence.sync.aligned;\\n"'
    inputs = [f'"r"(p[{at}])' for at in range(steps * each)]
    for step in range(steps):
        yield f'                 "{name} "  // step {step}'
        texts = {"O": braced(0, words), "P": braced(words + step * each, each)}
        texts["V's descriptor"] = f"%{words + len(inputs)}"
        if found.turned:
            texts["scale-d, signs"] = "1, 1, 1"
        else:
            texts["scale-d, signs, V MN-major"] = "1, 1, 1, 1"
        yield from indented(operand_texts(texts, ";\\n"))
        inputs.append(f'"l"(v + {step_offset(v, step, inst.k)})')
    yield '                 "wgmma.commit_group.sync.aligned;"'
    yield from indented(operands(_results("o", words, "+f"), inputs, ' : "memory"'))
    yield "}"
    yield ""


def _waits(found: CudaAttentionPlan) -> Iterator[str]:
    """The waits, after which the compiler may use S and O."""
    for name, array, tiles, words in (
        ("scores", "s", "TILES_K", found.block_n // 2), ("values", "o", "TILES_V", found.head_v // 2)
    ):  # fmt: skip
        yield f"// Waits for all products but the last ALL_BUT that were started: then {array.upper()} is complete."
        yield "template <int ALL_BUT>"
        yield f"static __device__ __forceinline__ void wait_for_{name}(float (&{array})[{tiles}][4]) {{"
        yield f'    asm volatile("wgmma.wait_group.sync.aligned %{words};"'
        yield from indented(operands(_results(array, words, "+f"), ['"n"(ALL_BUT)'], ' : "memory"'))
        yield "}"
        yield ""


def _words_of_p(found: CudaAttentionPlan) -> int:
    """A thread's registers of P."""
    return found.block_n // found.instruction.k * found.instruction.operand("A").registers


def _rounding(found: CudaAttentionPlan) -> Iterator[str]:
    count = _words_of_p(found)
    yield "// P: exponentials, rounded, in the order in which they lie."
    yield "static __device__ __forceinline__ void round_all("
    yield f"    unsigned int (&p)[{count}], const float (&s)[TILES_K][4]) {{"
    yield from indented(rounded_words(count, 4, "0", bool(found.turned), order_of_p(found)))
    yield "}"
    yield ""


def _producer(found: CudaAttentionPlan) -> Iterator[str]:
    yield SYNCHRONIZE
    yield "const int warpgroup = thread / LANES, lane = thread % LANES;"
    yield "if (warpgroup == GROUPS) {"
    words = "; registers go to the others" if found.groups > 1 else ""
    fewer, more = TURNING_REGISTERS if found.turned else REGISTERS
    yield f"    // One thread copies{words}."
    if found.groups > 1:
        yield f'    asm volatile("setmaxnreg.dec.sync.aligned.u32 {fewer};");'
    if found.turned:
        yield "    if (lane >= 32) {  // the other warps turn V over"
        yield from indented(indented(turning(found)))
        yield "        return;"
        yield "    }"
    yield "    if (lane) return;"
    yield from indented(copying(found))
    yield "    return;"
    yield "}"
    if found.groups > 1:
        yield f'asm volatile("setmaxnreg.inc.sync.aligned.u32 {more};");'
    yield ""


def _consumer(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    assert found.q
    yield f"const int first_m = block_m + warpgroup * {found.instruction.m};"
    yield from seen(found, held)
    yield "float o[TILES_V][4] = {}, s[TILES_K][4];"
    yield f"unsigned int p[{_words_of_p(found)}];"
    yield "if (first_key < keys) {"
    q = descriptor(found.q, "q_tiles + warpgroup * Q_BYTES", _codes())
    yield f"    const unsigned long long q = {q};  // K-major"
    yield "    int key = first_key, turn = 0;  // of the tile in the ring: K, V, K, V ..."
    yield "    wait(q_came_at + 8 * warpgroup, 0);"
    yield "    wait_for_tile(came_at, turn);"
    yield "    start_scores(s, q, tile_of(ring, turn));"
    yield "    wait_for_scores<0>(s);"
    yield "    if (lane == 0) arrive(free_at + turn % STAGES * 8);"
    yield f"    {masked(found)}"
    yield "    exponentials(s, factor, base, sum, shrink);"
    yield "    round_all(p, s);"
    yield from indented(_loop(found))
    wait, at, _ = _place_of_v(found)
    yield f"    {wait};"
    yield f"    start_values(o, p, {at});"
    yield "    wait_for_values<0>(o);"
    yield "}"


def _place_of_v(found: CudaAttentionPlan) -> tuple[str, str, str]:
    """C text: the wait for V of the keys whose K has the number `turn`, where it is, and the barrier that frees it."""
    if not found.turned:
        return "wait_for_tile(came_at, turn + 1)", "tile_of(ring, turn + 1)", "free_at + (turn + 1) % STAGES * 8"
    place = "turn / 2 % PLACES"
    return (
        f"wait(turned_at + {place} * 8, turn / 2 / PLACES % 2)",
        f"turned_tiles + {place} * T_BYTES",
        f"left_at + {place} * 8",
    )


def _loop(found: CudaAttentionPlan) -> Iterator[str]:
    turns = found.groups > 1
    if turns:
        yield "if (warpgroup == 1 && key + BLOCK_N < keys) give_turn(0);"
    yield "for (key += BLOCK_N; key < keys; key += BLOCK_N, turn += 2) {"
    yield "    wait_for_tile(came_at, turn + 2);"
    if turns:
        yield "    take_turn(warpgroup);"
    yield "    start_scores(s, q, tile_of(ring, turn + 2));  // of these keys"
    wait, at, free = _place_of_v(found)
    yield f"    {wait};"
    yield f"    start_values(o, p, {at});  // of the keys before"
    if turns:
        yield "    if (warpgroup == 0 || key + BLOCK_N < keys) give_turn(1 - warpgroup);"
    yield "    wait_for_scores<1>(s);"
    yield "    if (lane == 0) arrive(free_at + (turn + 2) % STAGES * 8);"
    yield f"    {masked(found)}"
    yield "    const bool moved = exponentials(s, factor, base, sum, shrink);"
    yield "    wait_for_values<0>(o);"
    yield f"    if (lane == 0) arrive({free});"
    yield "    if (moved) rescale(o, shrink);"
    yield "    round_all(p, s);"
    yield "}"
