"""A GEMM's tile in CuTe (C++, CUTLASS 3 and 4): the atom of the instruction, a TiledMMA of the warps, swizzled layouts.

The atom is the instruction under CuTe's name; `make_tiled_mma` repeats it over the warps; the layouts of A and B in
shared memory have the plan's swizzle (of wgmma: the canonical layout of the same bytes); cp.async fills them.
"""

from __future__ import annotations

from ...base.errors import Error
from ..gemm_staging import FIRST_ASYNC, GROUP, target_number
from ..source import indented
from .plan import SharedTile, TilePlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["atom", "source"]

TYPES = {
    "f16": "cute::half_t", "bf16": "cute::bfloat16_t", "tf32": "cute::tfloat32_t", "f32": "float", "f64": "double",
    "s8": "int8_t", "i8": "int8_t", "u8": "uint8_t", "s32": "int32_t", "i32": "int32_t",
    "e4m3": "cute::float_e4m3_t", "e5m2": "cute::float_e5m2_t",
}  # fmt: skip
LETTERS = {"i8": "S8", "i32": "S32"}
ATOMS = {
    "sm_75": ("SM75_16x8x8_F32F16F16F32_TN",),
    "sm_80": (
        "SM80_16x8x8_F16F16F16F16_TN", "SM80_16x8x16_F16F16F16F16_TN", "SM80_16x8x8_F32F16F16F32_TN",
        "SM80_16x8x16_F32F16F16F32_TN", "SM80_16x8x8_F32BF16BF16F32_TN", "SM80_16x8x16_F32BF16BF16F32_TN",
        "SM80_16x8x4_F32TF32TF32F32_TN", "SM80_16x8x8_F32TF32TF32F32_TN", "SM80_16x8x16_S32S8S8S32_TN",
        "SM80_16x8x32_S32S8S8S32_TN", "SM80_16x8x16_S32U8U8S32_TN", "SM80_16x8x32_S32U8U8S32_TN",
    ),
    "sm_89": tuple([
        f"SM89_16x8x32_F32{a}{b}F32_TN" for a in ("E4M3", "E5M2") for b in ("E4M3", "E5M2")
    ]),
}  # fmt: skip
"""The atoms of mma.sync by the first target that has them (cute/arch/mma_sm75.hpp to mma_sm89.hpp of CUTLASS 4)."""


def atom(plan: TilePlan) -> str:
    """The MMA operation under CuTe's name.

    Raises:
        Error: CuTe has none for the instruction.

    >>> import mmacalc
    >>> from .plan import tile_plan
    >>> inst = mmacalc.instruction("h100", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16")
    >>> atom(tile_plan(inst, 32, ("row", "col"), None, None))
    'cute::SM90_64x128x16_F32F16F16_SS<cute::GMMA::Major::K, cute::GMMA::Major::K>'
    """
    inst = plan.instruction
    shape = f"{inst.m}x{inst.n}x{inst.k}"
    d, a, b = (LETTERS.get(name, name.upper()) for name in (inst.format(one).name for one in "DAB"))
    if "wgmma" in inst.features:
        if plan.a.bits != 16:
            scales = "" if d == "S32" else "<>"
            return f"cute::SM90_{shape}_{d}{a}{b}_SS_TN{scales}"
        majors = ", ".join([f"cute::GMMA::Major::{'K' if side.k_first else 'MN'}" for side in plan.sides])
        return f"cute::SM90_{shape}_{d}{a}{b}_SS<{majors}>"
    for number, names in ATOMS.items():
        name = f"SM{number[3:]}_{shape}_{d}{a}{b}{d}_TN"
        if name in names:
            return f"cute::{name}"
    known = ", ".join([name for names in ATOMS.values() for name in names])
    raise Error(f"CuTe has no atom for {inst.name}; of mma.sync it has {known}")


def source(plan: TilePlan, sizes: tuple[int, int, int]) -> str:
    """The C++ source of a kernel: D = A B; of M, N and K those along which A and B lie are multiples of 16 bytes.

    Args:
        sizes: M, N and K of the launch line that is shown.

    Raises:
        Error: CuTe has no atom for the instruction.
    """
    inst = plan.instruction
    if inst.architecture.family.language != "cuda":
        raise Error(
            f"CuTe has atoms for NVIDIA's instructions, none for {inst.name} of {inst.architecture.title}: use hip, "
            "triton or gluon"
        )
    if (wanted := inst.format("D").name) not in ("f32", "s32", "i32"):
        raise Error(f"{inst.name} adds in {wanted}; kernels of CuTe are written for sums of f32 and i32")
    if target_number(inst) < FIRST_ASYNC:
        raise Error(f"kernels of CuTe are filled by cp.async, which {inst.architecture.title} does not have")
    lines = [*_head(plan), *_types(plan), *_copy(plan), *_kernel(plan), *_launch(plan, sizes)]
    return "\n".join([*lines, ""])


def _head(plan: TilePlan) -> Iterator[str]:
    inst = plan.instruction
    yield f"// D = A B with {inst.name} on {inst.architecture.title}, for CuTe (CUTLASS 4):"
    yield f"// nvcc -std=c++17 --expt-relaxed-constexpr -arch={inst.arch} -I cutlass/include"
    yield f"// {plan.memory}"
    yield f"// {plan.title[0].upper()}{plan.title[1:]}."
    multiples = [f"ld{side.name.lower()} of {side.vector}" for side in plan.sides]
    multiples += [f"{_along(side)} of {side.vector}" for side in plan.sides]
    yield f"// Copies have 16 bytes. Multiples: {', '.join(dict.fromkeys(multiples))} elements."
    yield "#include <cute/tensor.hpp>"
    yield ""
    yield "using namespace cute;"
    yield ""


def _along(side: SharedTile) -> str:
    """The size along which a matrix lies in memory."""
    return "K" if side.k_first else "MN"[side.name == "B"]


def _types(plan: TilePlan) -> Iterator[str]:
    inst = plan.instruction
    m, n, k = plan.block
    for side in plan.sides:
        yield f"using {side.name}Element = {TYPES[inst.format(side.name).name]};"
    yield f"using Output = {TYPES[inst.format('D').name]};"
    yield f"using BlockM = Int<{m}>;"
    yield f"using BlockN = Int<{n}>;"
    yield f"using BlockK = Int<{k}>;"
    yield f"constexpr int STAGES = {plan.stages};"
    yield ""
    yield from _tiled_mma(plan)
    for side in plan.sides:
        yield from _shared(plan, side)
    yield ""


def _tiled_mma(plan: TilePlan) -> Iterator[str]:
    """The warps along N first, as in the CUDA kernel; two instructions of mma.sync along N share an ldmatrix."""
    inst = plan.instruction
    if "wgmma" in inst.features:
        yield f"using Mma = decltype(make_tiled_mma({atom(plan)}{{}}));"
        return
    waves = f"Layout<Shape<_{plan.waves[0]}, _{plan.waves[1]}, _1>, Stride<_{plan.waves[1]}, _1, _0>>"
    tile = f"Tile<_{inst.m * plan.waves[0]}, _{2 * inst.n * plan.waves[1]}, _{inst.k}>"
    yield f"using Mma = decltype(make_tiled_mma({atom(plan)}{{}}, {waves}{{}}, {tile}{{}}));"


def _shared(plan: TilePlan, side: SharedTile) -> Iterator[str]:
    block = f"Block{'M' if side.name == 'A' else 'N'}"
    element = f"{side.name}Element"
    if "wgmma" in plan.instruction.features:
        width = min(128, side.row_bytes)
        what = f"GMMA::Layout_{'K' if side.k_first else 'MN'}_SW{width}_Atom<{element}>"
        yield f"using {side.name}Shared = decltype(tile_to_shape({what}{{}}, Shape<{block}, BlockK, Int<STAGES>>{{}}));"
        return
    bits, base, shift = side.swizzle
    strides = "Stride<BlockK, _1>" if side.k_first else f"Stride<_1, {block}>"
    swizzle = f"Swizzle<{bits}, {base - (side.bits // 8).bit_length() + 1}, {shift}>"
    stage, shape = f"Layout<Shape<{block}, BlockK>, {strides}>", f"Shape<{block}, BlockK, Int<STAGES>>"
    yield f"using {side.name}Stage = decltype(composition({swizzle}{{}}, {stage}{{}}));"
    yield f"using {side.name}Shared = decltype(tile_to_shape({side.name}Stage{{}}, {shape}{{}}));"


def _threads(plan: TilePlan) -> int:
    return plan.warps * 32


def _copy(plan: TilePlan) -> Iterator[str]:
    """The tiled copies from memory and to registers."""
    for side in plan.sides:
        rows = side.shape[side.order[0]] // side.vector
        across = min(rows, _threads(plan))
        rest = _threads(plan) // across
        threads = f"Layout<Shape<_{across}, _{rest}>>"
        values = f"Layout<Shape<_{side.vector}, _1>>"
        if side.k_first:
            threads = f"Layout<Shape<_{rest}, _{across}>, Stride<_{across}, _1>>"
            values = f"Layout<Shape<_1, _{side.vector}>>"
        operation = "SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<cute::uint128_t>"
        yield f"using {side.name}Copy = decltype(make_tiled_copy(Copy_Atom<{operation}, {side.name}Element>{{}},"
        yield f"                                       {threads}{{}}, {values}{{}}));"
        if "wgmma" not in plan.instruction.features:
            yield f"using {side.name}Load = Copy_Atom<{_load(side)}, {side.name}Element>;"
    yield ""
    yield "// A tile of a matrix, of which `rows` and `depth` are inside: zeros beyond them."
    yield "template <class Copy, class Coordinates, class Source, class Target>"
    yield "__device__ void fetch(Copy const& copy, Coordinates const& at, Source const& from, Target&& to, int rows,"
    yield "                      int depth) {"
    yield "    auto inside = make_tensor<bool>(make_shape(size<1>(to), size<2>(to)));"
    yield "    CUTE_UNROLL"
    yield "    for (int m = 0; m < size<0>(inside); ++m)"
    yield "        CUTE_UNROLL"
    yield "        for (int k = 0; k < size<1>(inside); ++k)"
    yield "            inside(m, k) = elem_less(at(0, m, k), make_coord(rows, depth));"
    yield "    copy_if(copy, inside, from, to);"
    yield "}"
    yield ""


def _load(side: SharedTile) -> str:
    """How a warp reads its operand from shared memory: ldmatrix, transposing where k is not first."""
    if side.k_first:
        return "SM75_U32x4_LDSM_N"
    return "SM75_U16x8_LDSM_T" if side.bits == 16 else f"UniversalCopy<{side.name}Element>"


def _kernel(plan: TilePlan) -> Iterator[str]:
    name = kernel_name(plan)
    yield f'extern "C" __global__ void __launch_bounds__({_threads(plan)})'
    yield f"{name}("
    yield "    AElement const* A, BElement const* B, Output* D, int M, int N, int K, int lda, int ldb, int ldd) {"
    yield from indented([*_place(), *_tensors(plan), *_loop(plan), *_store()])
    yield "}"
    yield ""


def kernel_name(plan: TilePlan) -> str:
    """The name of the kernel."""
    return "gemm_" + plan.instruction.name.replace(".", "_")


def _place() -> Iterator[str]:
    for name in "AB":
        yield f"__shared__ alignas(1024) char {name.lower()}_tiles[cosize_v<{name}Shared> * sizeof({name}Element)];"
    yield "// Blocks that run together share few rows and columns, for the caches."
    yield "int const tiles_m = ceil_div(M, BlockM{}), tiles_n = ceil_div(N, BlockN{});"
    yield f"int const group = blockIdx.x / ({GROUP} * tiles_n), rest = blockIdx.x % ({GROUP} * tiles_n);"
    yield f"int const height = min(tiles_m - group * {GROUP}, {GROUP});"
    yield f"int const tile_m = group * {GROUP} + rest % height, tile_n = rest / height;"
    yield "int const rows = M - tile_m * BlockM{}, columns = N - tile_n * BlockN{};"


def _tensors(plan: TilePlan) -> Iterator[str]:
    for side, size in zip(plan.sides, "MN"):
        low, ld = side.name.lower(), f"ld{side.name.lower()}"
        stride = f"make_stride({ld}, _1{{}})" if side.k_first else f"make_stride(_1{{}}, {ld})"
        tile = f"tile_{size.lower()}"
        shape = f"make_shape(Block{size}{{}}, BlockK{{}})"
        yield f"Tensor {low}_memory = make_tensor(make_gmem_ptr({side.name}), make_shape({size}, K), {stride});"
        yield f"Tensor {low}_part = local_tile({low}_memory, {shape}, make_coord({tile}, _));"
        pointer = f"make_smem_ptr(({side.name}Element*){low}_tiles)"
        yield f"Tensor {low}_shared = make_tensor({pointer}, {side.name}Shared{{}});"
        yield f"auto {low}_copy = {side.name}Copy{{}};"
        yield f"auto {low}_thread = {low}_copy.get_slice(threadIdx.x);"
        yield f"Tensor {low}_from = {low}_thread.partition_S({low}_part);"
        yield f"Tensor {low}_to = {low}_thread.partition_D({low}_shared);"
        yield f"Tensor {low}_at = {low}_thread.partition_S(make_identity_tensor({shape}));"
    yield "Tensor d_memory = make_tensor(make_gmem_ptr(D), make_shape(M, N), make_stride(ldd, _1{}));"
    yield "Tensor d_part = local_tile(d_memory, make_shape(BlockM{}, BlockN{}), make_coord(tile_m, tile_n));"
    yield "auto mma = Mma{};"
    yield "auto thread = mma.get_slice(threadIdx.x);"
    yield "Tensor d = thread.partition_C(d_part);"
    yield "Tensor sums = thread.make_fragment_C(d);"
    yield "clear(sums);"
    if "wgmma" in plan.instruction.features:
        yield "Tensor a_operand = thread.make_fragment_A(thread.partition_A(a_shared));  // descriptors"
        yield "Tensor b_operand = thread.make_fragment_B(thread.partition_B(b_shared));"
        return
    for side in plan.sides:
        low = side.name.lower()
        yield f"Tensor {low}_operand = thread.partition_fragment_{side.name}({low}_shared(_, _, 0));"
        yield f"auto {low}_load = make_tiled_copy_{side.name}({side.name}Load{{}}, mma);"
        yield f"auto {low}_lane = {low}_load.get_slice(threadIdx.x);"
        yield f"Tensor {low}_read = {low}_lane.partition_S({low}_shared);"
        yield f"Tensor {low}_held = {low}_lane.retile_D({low}_operand);"


def _loop(plan: TilePlan) -> Iterator[str]:
    yield "int const steps = ceil_div(K, BlockK{});"
    yield "auto const fetch_stage = [&](int step) {"
    yield "    if (step < steps) {"
    for side, size in zip(plan.sides, ("rows", "columns")):
        low = side.name.lower()
        yield (
            f"        fetch({low}_copy, {low}_at, {low}_from(_, _, _, step), {low}_to(_, _, _, step % STAGES), {size}, "
            "K - step * BlockK{});"
        )
    yield "    }"
    yield "    cp_async_fence();"
    yield "};"
    yield "for (int step = 0; step < STAGES - 1; ++step) fetch_stage(step);"
    yield "for (int step = 0; step < steps; ++step) {"
    yield "    int const stage = step % STAGES;"
    yield "    cp_async_wait<STAGES - 2>();"
    yield from indented(_product(plan))
    yield "}"


def _product(plan: TilePlan) -> Iterator[str]:
    if "wgmma" in plan.instruction.features:
        yield "// wgmma reads through another proxy what this thread copied."
        yield 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
        yield "__syncthreads();"
        yield "fetch_stage(step + STAGES - 1);"
        yield "warpgroup_fence_operand(sums);"
        yield "warpgroup_arrive();"
        yield "gemm(mma, a_operand(_, _, _, stage), b_operand(_, _, _, stage), sums);"
        yield "warpgroup_commit_batch();"
        yield "warpgroup_wait<0>();"
        yield "warpgroup_fence_operand(sums);"
        return
    yield "__syncthreads();  // and the stage before is multiplied, so its place is free"
    yield "fetch_stage(step + STAGES - 1);"
    yield "CUTE_UNROLL"
    yield "for (int k = 0; k < size<2>(a_operand); ++k) {"
    yield "    copy(a_load, a_read(_, _, k, stage), a_held(_, _, k));"
    yield "    copy(b_load, b_read(_, _, k, stage), b_held(_, _, k));"
    yield "    gemm(mma, a_operand(_, _, k), b_operand(_, _, k), sums);"
    yield "}"


def _store() -> Iterator[str]:
    yield "Tensor d_at = thread.partition_C(make_identity_tensor(make_shape(BlockM{}, BlockN{})));"
    yield "CUTE_UNROLL"
    yield "for (int n = 0; n < size(sums); ++n)"
    yield "    if (elem_less(d_at(n), make_coord(rows, columns))) d(n) = sums(n);"


def _launch(plan: TilePlan, sizes: tuple[int, int, int]) -> Iterator[str]:
    m, n, k = sizes
    blocks = -(-m // plan.block[0]) * -(-n // plan.block[1])
    lda, ldb = (k if plan.a.k_first else m), (k if plan.b.k_first else n)
    yield f"// {kernel_name(plan)}<<<{blocks}, {_threads(plan)}>>>("
    yield f"//     A, B, D, {m}, {n}, {k}, {lda}, {ldb}, {n});"
