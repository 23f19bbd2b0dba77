"""A GEMM's tile in ck_tile (C++, Composable Kernel): the same instruction, block, waves and depth of a lane.

The names are those of Composable Kernel as FlashAttention 2.8.3 carries it (August 2025): TileGemmShape has the block,
the waves and the "warp tile", which WarpGemmMfmaDispatcher turns into an instruction; GemmPipelineAGmemBGmemCRegV1
keeps one tile in LDS and the next in registers, and chooses the order in LDS itself.
"""

from __future__ import annotations

from ...base.errors import Error
from ...catalog import entry
from .gluon import MFMA_VERSIONS
from .plan import TilePlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...model import Instruction

__all__ = ["source", "warp_tile"]

TYPES = {
    "f16": "ck_tile::half_t", "bf16": "ck_tile::bf16_t", "i8": "ck_tile::int8_t", "f32": "float", "i32": "int32_t",
    "e4m3": "ck_tile::fp8_t", "e5m2": "ck_tile::bf8_t", "e4m3fnuz": "ck_tile::fp8_t", "e5m2fnuz": "ck_tile::bf8_t",
}  # fmt: skip
"""Of ck_tile's fp8_t and bf8_t the target decides whether they are OCP's or the FNUZ formats of CDNA3."""
DEPTHS: Mapping[tuple[str, str], Mapping[int, tuple[int, ...]]] = {
    ("f16", "f16"): {32: (8, 16), 16: (16, 32)}, ("bf16", "bf16"): {32: (8, 16), 16: (16, 32)},
    ("e4m3", "e4m3"): {32: (16, 32), 16: (32, 64)}, ("e5m2", "e5m2"): {32: (16, 32), 16: (32, 64)},
    ("e4m3", "e5m2"): {32: (16,)}, ("e5m2", "e4m3"): {32: (16,)}, ("i8", "i8"): {32: (16,), 16: (32,)},
}  # fmt: skip
"""By the formats of A and B, and M = N: the k of WarpGemmMfmaDispatcher's warp tiles (warp_gemm_dispatcher.hpp)."""


def warp_tile(plan: TilePlan) -> tuple[int, int, int]:
    """M, N and K of the warp tile: of an instruction, or of two whose k a lane has side by side.

    Raises:
        Error: ck_tile has no warp tile of the instruction.

    >>> import mmacalc
    >>> from .plan import tile_plan
    >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    >>> warp_tile(tile_plan(inst, 64, ("row", "col"), None, None))
    (32, 32, 16)
    """
    inst = plan.instruction
    formats = inst.format("A").name.removesuffix("fnuz"), inst.format("B").name.removesuffix("fnuz")
    depths = DEPTHS.get(formats, {}).get(inst.m, ())
    if inst.architecture.targets[0] not in MFMA_VERSIONS or inst.m != inst.n or inst.k not in depths:
        raise Error(
            f"ck_tile has no warp tile of {inst.name} on {inst.architecture.title}; it has MFMA of 32x32 and 16x16 in "
            "f16, bf16, fp8 and i8, the forms that gfx942 has and those of gfx950 in f16 and bf16: use "
            f"{'cute' if inst.architecture.family.language == 'cuda' else 'hip'}, or gluon"
        )
    depth = plan.kpack * inst.k
    return inst.m, inst.n, depth if depth in depths and not _has(inst, depth) else inst.k


def _has(inst: Instruction, depth: int) -> bool:
    """Whether the target has the instruction with another k: ck_tile would then take that one for a deeper tile."""
    others = entry(inst.arch).instructions()
    shape, formats = (inst.m, inst.n, depth), inst.format("A")
    return any((one.m, one.n, one.k) == shape and not one.sparse and one.format("A") == formats for one in others)


def source(plan: TilePlan, sizes: tuple[int, int, int]) -> str:
    """The C++ source of a kernel: D = A B; those of M, N and K along which A and B lie are multiples of 16 bytes.

    Args:
        sizes: M, N and K of the launch line that is shown.

    Raises:
        Error: ck_tile has no warp tile of the instruction; A or B does not lie along k.
    """
    if not all(side.k_first for side in plan.sides):
        # With A column by column or B row by row the pipeline stores past its LDS: so the emulator found in kernels of
        # 128x128x32 (gfx90a) and 128x128x64 (gfx950), compiled from FlashAttention 2.8.3's Composable Kernel.
        raise Error(
            "kernels of ck_tile are written for A row by row and B column by column, which its pipeline does not turn: "
            "leave out order-a and order-b, or use hip or gluon"
        )
    return "\n".join([*_head(plan), *_types(plan, warp_tile(plan)), *_kernel(plan), *_launch(plan, sizes), ""])


def _head(plan: TilePlan) -> Iterator[str]:
    inst = plan.instruction
    yield f"// D = A B with {inst.name} on {inst.architecture.title}, for ck_tile (Composable Kernel of August 2025):"
    yield f"// hipcc -std=c++17 -O3 --offload-arch={inst.architecture.targets[0]} -I composable_kernel/include"
    yield f"// {plan.memory}"
    yield f"// {plan.title[0].upper()}{plan.title[1:]}."
    yield "// One tile lies in LDS, in an order that ck_tile chooses; the next one is in registers meanwhile."
    multiples = [f"ld{side.name.lower()} of {side.vector}" for side in plan.sides]
    multiples += [f"{'K' if side.k_first else 'MN'[side.name == 'B']} of {side.vector}" for side in plan.sides]
    yield f"// Multiples: {', '.join(dict.fromkeys(multiples))}, ldd of 4 elements."
    for header in ("core", "ops/common", "ops/elementwise", "ops/epilogue", "ops/gemm"):
        yield f'#include "ck_tile/{header}.hpp"'
    yield ""


def _types(plan: TilePlan, tile: tuple[int, int, int]) -> Iterator[str]:
    inst = plan.instruction
    block, waves, warp = (", ".join(map(str, each)) for each in (plan.block, (*plan.waves, 1), tile))
    layouts = ["RowMajor" if side.order == (1, 0) else "ColumnMajor" for side in plan.sides]
    for side, layout in zip(plan.sides, layouts):
        yield f"using {side.name}Element = {TYPES[inst.format(side.name).name]};"
        yield f"using {side.name}Layout = ck_tile::tensor_layout::gemm::{layout};"
    yield f"using Output = {TYPES[plan.sums]};"
    yield "using DLayout = ck_tile::tensor_layout::gemm::RowMajor;"
    yield ""
    yield f"using Shape = ck_tile::TileGemmShape<ck_tile::sequence<{block}>,  // M, N and K of a block"
    yield f"                                     ck_tile::sequence<{waves}>,  // its waves"
    yield f"                                     ck_tile::sequence<{warp}>>;  // of {inst.name}"
    yield "using Partitioner = ck_tile::GemmTile1DPartitioner<Shape>;"
    yield "using Traits = ck_tile::TileGemmTraits<true, true, true, ALayout, BLayout, DLayout>;"
    yield "using Problem = ck_tile::GemmPipelineProblem<AElement, BElement, Output, Shape, Traits>;"
    yield "using Pipeline = ck_tile::GemmPipelineAGmemBGmemCRegV1<Problem>;"
    yield "using Epilogue = ck_tile::CShuffleEpilogue<ck_tile::CShuffleEpilogueProblem<"
    yield "    AElement, BElement, ck_tile::tuple<>, Output, Output, ck_tile::tuple<>, DLayout,"
    m, n = plan.block[:2]
    numbers = ", ".join(map(str, (plan.warps * plan.wave, m, n, *plan.waves, *tile)))
    yield f"    ck_tile::element_wise::PassThrough, {numbers}, false,"
    yield "    ck_tile::memory_operation_enum::set>>;"
    yield "using Kernel = ck_tile::GemmKernel<Partitioner, Pipeline, Epilogue>;"
    yield ""


def _kernel(plan: TilePlan) -> Iterator[str]:
    yield f'extern "C" __global__ __launch_bounds__({plan.warps * plan.wave}) void gemm('
    yield "    const AElement* a, const BElement* b, Output* d, int M, int N, int K, int lda, int ldb, int ldd)"
    yield "{"
    yield "    Kernel{}(ck_tile::UniversalGemmKernelArgs<>{{a}, {b}, {}, d, M, N, K, {lda}, {ldb}, {}, ldd, 1});"
    yield "}"
    yield ""


def _launch(plan: TilePlan, sizes: tuple[int, int, int]) -> Iterator[str]:
    m, n, k = sizes
    leads = [(k, m)[side.order == (0, 1)] if side.name == "A" else (n, k)[side.order == (0, 1)] for side in plan.sides]
    blocks = -(-m // plan.block[0]) * -(-n // plan.block[1])
    values = ", ".join(map(str, (m, n, k, *leads, n)))
    yield f"// gemm<<<{blocks}, {plan.warps * plan.wave}>>>(a, b, d, {values});"
