"""The loops of a tiled GEMM kernel of AMD over its stages: by way of registers, by loads to LDS, by tensor copies."""

from __future__ import annotations

from .gemm_hip_scales import beside_stage
from .gemm_lds import VECTOR, pieces
from .gemm_scales import end_of_stage, finer_blocks
from .source import indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .gemm import Plan

__all__ = ["LDS_READ", "MEMORY_READ", "PRODUCT", "loop"]

SPREAD_LOADS = ("gfx908", "gfx90a", "gfx942")
"""Whose loads of the next stage are spread over the products: one behind the other they hold up the wave (on gfx90a the
matrix units are busy 0.93 instead of 0.80 of the time, by the model of `profile`)."""
LDS_READ, MEMORY_READ, PRODUCT = 0x100, 0x20, 0x8  # of llvm.amdgcn.sched.group.barrier (LLVM, AMDGPUUsage)

ELEMENTS = "element by element: registers have no room for these and parts of A and B"


def loop(found: Plan) -> Iterator[str]:
    """The loop over the stages."""
    yield ""
    if found.direct or found.copied:
        yield "if (aligned) {"
        yield from indented(_direct_loop(found) if found.direct else _copied_loop(found))
        yield "} else {"
        yield from indented(_brought_loop(found))
        yield "}"
    else:
        yield from _staged_loop(found)
    yield ""


def _multiplied(found: Plan, *given: str) -> str:
    """The call that multiplies a stage; of blocks of k finer than it, its k is asked for, too."""
    return f"multiply_stage({', '.join([*given, *['k'] * (finer_blocks(found) > 1)])});"


def _direct_loop(found: Plan) -> Iterator[str]:
    """The loop of the kernel whose stages come to LDS without registers."""
    yield "fetch_stage(0, 0);"
    yield "const auto next_stage = [&](int k, int buffer) __attribute__((always_inline)) {"
    yield "    wait_for_loads();  // of this stage"
    yield from indented(beside_stage(found, "keep", "k"))
    yield "    synchronize();  // and all have multiplied the one before, whose buffer is free"
    yield "    begin_stage(k + BLOCK_K);  // arrives while this stage is multiplied"
    yield from indented(beside_stage(found, "read", "k"))
    yield f"    {_multiplied(found, 'buffer', 'true')}"
    yield "    end_stage();"
    yield from indented(end_of_stage(found))
    yield "};"
    yield from _in_turn(2)
    yield "wait_for_loads();  // of the stage behind the last, or they come to LDS that is another workgroup's by then"


def _copied_loop(found: Plan) -> Iterator[str]:
    """The loop of the kernel whose stages come to LDS by tensor copies."""
    ahead = found.buffers - 1  # stages that are on their way while one is multiplied
    for stage in range(ahead):
        yield f"copy_stage({'BLOCK_K' if stage else '0'}, {stage});"
    yield from beside_stage(found, "fetch", "0")
    yield "const auto next_stage = [&](int k, int buffer) __attribute__((always_inline)) {"
    yield f"    __builtin_amdgcn_s_wait_tensorcnt({ahead - 1});  // for this stage"
    yield from indented(beside_stage(found, "keep", "k"))
    yield "    synchronize();  // and all have multiplied the one before, whose buffer is free"
    step, to = ("BLOCK_K", "buffer ^ 1") if ahead == 1 else ("2 * BLOCK_K", "(buffer + 2) % BUFFERS")
    yield f"    copy_stage(k + {step}, {to});  // arrives while this stage is multiplied"
    yield from indented(beside_stage(found, "fetch", "k + BLOCK_K"))
    yield from indented(beside_stage(found, "read", "k"))
    yield f"    {_multiplied(found, 'buffer')}"
    yield from indented(end_of_stage(found))
    yield "};"
    yield from _in_turn(found.buffers)
    yield "__builtin_amdgcn_s_wait_tensorcnt(0);  // for what is behind the last stage, or another workgroup gets it"


def _between_products(found: Plan) -> Iterator[str]:
    """What keeps the loads of the next stage between products: where nothing is transposed, registers have room."""
    if found.instruction.architecture.targets[0] not in SPREAD_LOADS or found.scales or found.a_turn or found.b_turn:
        return
    reads = found.steps * sum(
        len(pieces(found.operand(side.name), side, found.kpack)) * tiles
        for side, tiles in ((found.a, found.tiles_m), (found.b, found.tiles_n))
    )
    loads = (found.a.tile.filled + found.b.tile.filled) // VECTOR // found.threads
    products = found.steps * found.kpack * found.tiles_m * found.tiles_n
    yield "if (aligned) {  // a load every few products: one behind the other they would hold up the wave"
    yield f"    __builtin_amdgcn_sched_group_barrier({LDS_READ:#x}, {reads}, 0);  // reads of LDS"
    yield "#pragma unroll"
    yield f"    for (int n = 0; n < {loads}; ++n) {{"
    yield f"        __builtin_amdgcn_sched_group_barrier({MEMORY_READ:#x}, 1, 0);  // a load"
    each = max(1, products // (loads + 1))
    yield f"        __builtin_amdgcn_sched_group_barrier({PRODUCT:#x}, {each}, 0);  // products"
    yield "    }"
    yield "}"


def _brought_loop(found: Plan) -> Iterator[str]:
    """The other loop of a kernel whose stages come to LDS without registers, for matrices that are not aligned."""
    yield "for (int k = 0; k < K; k += BLOCK_K) {"
    yield "    bring_stage(k);"
    yield from indented(beside_stage(found, "keep", "k"))
    yield "    synchronize();"
    yield from indented(beside_stage(found, "read", "k"))
    yield f"    {_multiplied(found, '0', *['false'] * found.direct)}"
    yield from indented(end_of_stage(found))
    yield "    synchronize();  // before LDS is written again"
    yield "}"


def _in_turn(buffers: int) -> Iterator[str]:
    yield "// Each buffer in its turn, so that their addresses are constants."
    yield f"for (int k = 0; k < K; k += {buffers} * BLOCK_K) {{"
    yield "    next_stage(k, 0);"
    for buffer in range(1, buffers):
        step = f"{buffer} * BLOCK_K" if buffer > 1 else "BLOCK_K"
        yield f"    if (k + {step} < K) next_stage(k + {step}, {buffer});"
    yield "}"


def _staged_loop(found: Plan) -> Iterator[str]:
    """The loop of a kernel whose stages go through registers."""
    if found.buffers == 1:
        yield "if (aligned) fetch_stage(0);"
        yield "for (int k = 0; k < K; k += BLOCK_K) {"
        yield f"    if (!aligned) fetch_stage(k);  // {ELEMENTS}"
        yield "    store_stage();"
        yield from indented(beside_stage(found, "keep", "k"))
        yield "    synchronize();"
        yield "    if (aligned) fetch_stage(k + BLOCK_K);  // arrives while this stage is multiplied"
        yield from indented(beside_stage(found, "read", "k"))
        yield f"    {_multiplied(found)}"
        yield from indented(_between_products(found))
        yield from indented(end_of_stage(found))
        yield "    synchronize();  // before LDS is written again"
        yield "}"
    else:
        yield "fetch_stage(0);"
        yield "store_stage(0);"
        yield from beside_stage(found, "keep", "0")
        yield "synchronize();"
        yield "const auto next_stage = [&](int k, int buffer) __attribute__((always_inline)) {"
        yield "    if (aligned) fetch_stage(k + BLOCK_K);  // arrives while this stage is multiplied"
        yield from indented(beside_stage(found, "read", "k"))
        yield f"    {_multiplied(found, 'buffer')}"
        yield from indented(end_of_stage(found))
        yield f"    if (!aligned) fetch_stage(k + BLOCK_K);  // {ELEMENTS}"
        yield "    store_stage(buffer ^ 1);"
        yield from indented(beside_stage(found, "keep", "k + BLOCK_K"))
        yield "    synchronize();"
        yield "};"
        yield from _in_turn(2)
