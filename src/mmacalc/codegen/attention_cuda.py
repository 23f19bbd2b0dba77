"""An attention kernel of NVIDIA in CUDA around mma.sync: see `mmacalc.codegen.attention`.

K and V lie in shared memory in the order of memory under a swizzle, from where ldmatrix loads both: V turned over. Q
and O are in registers.
"""

from __future__ import annotations

from .attention_parts import Parts, held_in_registers, rescaled, rounded_words, stores
from .fragments import fragment, runs
from .gemm_cuda import product_functions
from .ldmatrix import matrices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention import CudaAttentionPlan
    from .ldmatrix import Matrices

__all__ = ["parts"]


def parts(found: CudaAttentionPlan) -> Parts:
    """What a kernel around mma.sync has of its own."""
    held = held_in_registers(found)
    shared = (
        "__shared__ __attribute__((aligned(128))) unsigned char k_tile[2 * K_BYTES], v_tile[V_BYTES];",
        "const unsigned int k_stages = shared_address(k_tile), v_stage = shared_address(v_tile);",
    )
    return Parts(
        held,
        functions=tuple(product_functions(found.instruction, {False, True})),
        shared=shared,
        begin=(*_queries(found), *_matrix_places(found), f"float o[TILES_V][{len(held.items)}] = {{}};"),
        scores=tuple(_scores(found)),
        rescale=tuple(rescaled(held)),
        handing=(),
        values=tuple(_values(found)),
        end=tuple(stores(held)),
        asynchronous=False,
    )


def _both(found: CudaAttentionPlan) -> tuple[Matrices, Matrices]:
    """How ldmatrix loads K and V, which both lie in shared memory as rows of a head's elements."""
    b = fragment(found.instruction.operand("B"))
    k, v = matrices(b, "col"), matrices(b, "row")
    assert k is not None  # of 16 bits, from sm_75 on
    assert v is not None
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
    yield f"    k_at[step] = k_place({inst.n} * {tile} + {k.row()}, step * {2 * inst.k} + {k.byte()});"
    yield "int v_at[TILES_V];"
    yield "#pragma unroll"
    yield f"for (int tile = 0; tile < TILES_V; tile += {each})"
    yield f"    v_at[tile] = v_place({v.row()}, {2 * inst.n} * (tile + {tile}) + {v.byte()});"
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
    yield f"        load_matrices(part[0], k_stage + k_at[step] + tile * {inst.n} * PANEL);"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {each}; ++n) multiply(s[tile + n], q[step], part[n]);"
    yield "    }"
    yield ""


def _values(found: CudaAttentionPlan) -> Iterator[str]:
    inst = found.instruction
    count = inst.operand("B").registers
    each = 4 // count
    yield "// P is A of the second product as it lies in the first one's registers, rounded."
    yield "#pragma unroll"
    yield "for (int step = 0; step < STEPS_P; ++step) {"
    yield from (f"    {line}" for line in rounded_words(inst.operand("A").registers, inst.operand("D").registers))
    yield "#pragma unroll"
    yield f"    for (int tile = 0; tile < TILES_V; tile += {each}) {{"
    yield f"        unsigned int part[{each}][{count}];"
    yield f"        load_matrices_turned(part[0], v_stage + v_at[tile] + step * {inst.k} * PANEL);"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {each}; ++n) multiply(o[tile + n], p, part[n]);"
    yield "    }"
    yield "}"
