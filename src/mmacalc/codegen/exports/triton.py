"""A GEMM's tile as a kernel of Triton, which chooses instruction and layouts itself.

A Triton program says the tile, the warps, the stages and, for MFMA, the rows and columns of the instruction. By the
rules of Triton 3.9 (AccelerateMatmul.cpp, AccelerateAMDMatmul.cpp) it then has one instruction and one arrangement of
the warps. Where those are not the plan's, the source is refused: Gluon can say them.
"""

from __future__ import annotations

from ...base.errors import Error
from ...catalog import entry
from ..source import indented
from .plan import TilePlan
from .python import SUMS, block_order, check_deepest, check_formats, footer, header, kernel_head, zero

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["source"]

PRECISION = {"f32": "ieee", "tf32": "tf32", "xf32": "tf32"}
"""What tl.dot is told of products of 32-bit elements."""


def source(plan: TilePlan, sizes: tuple[int, int, int]) -> str:
    """The Python source of a kernel: D = A B; it takes any sizes.

    Args:
        sizes: M, N and K of the launch line that is shown.

    Raises:
        Error: Triton has another instruction or arrangement of the warps for the tile.
    """
    check_formats(plan, "Triton")
    _check(plan)
    lines = [*header(plan, "triton"), *block_order("triton", "tl"), *kernel_head(plan, "triton")]
    return "\n".join([*lines, *indented(_body(plan)), *footer(plan, sizes, _options(plan)), ""])


def _check(plan: TilePlan) -> None:
    """Refuse what Triton makes something else of.

    Raises:
        Error: the instruction or the arrangement of the warps would be another.
    """
    inst, title = plan.instruction, plan.instruction.architecture.title
    others = entry(inst.arch).instructions()
    newer = any("wgmma" in one.features for one in others) or entry(inst.arch).tensor_memory_names
    if inst.name.startswith("mma.sync") and newer:
        raise Error(f"Triton chooses the instruction itself, on {title} none of mma.sync: use lang cuda, or gluon")
    formats = {inst.format(name).name for name in "AB"}
    if len(formats) > 1 and inst.architecture.family.language == "hip":
        raise Error(f"Triton computes the transpose, with another instruction than {inst.name}: use lang gluon, or hip")
    chosen = any(one.choices and (one.m, one.n) == (inst.m, inst.n) for one in others)
    if chosen and inst.architecture.family.blocks and formats & {"e4m3", "e5m2"}:
        raise Error(f"Triton multiplies fp8 by f8f6f4 on {title}, not by {inst.name}, which lang gluon can say")
    if inst.architecture.family.language == "hip":
        check_deepest(plan, "Triton")
    if (warps := _warps(plan)) != plan.waves:
        ours, theirs = ("x".join(map(str, each)) for each in (plan.waves, warps))
        raise Error(
            f"Triton arranges {plan.warps} warps as {theirs} in a tile of {plan.block[0]}x{plan.block[1]}; those of "
            f"{inst.name} are {ours}, which lang gluon can say"
        )


def _warps(plan: TilePlan) -> tuple[int, int]:
    """How Triton arranges the warps along M and N (warpsPerTile, warpsPerTileV2, warpsPerTileV3)."""
    inst = plan.instruction
    if "wgmma" in inst.features:
        return plan.warps, 1
    m, n = plan.block[:2]
    # AMD's rule halves the rows, NVIDIA's doubles the columns of an instruction.
    rows, columns = (16, 16) if inst.architecture.family.language == "cuda" else (2 * inst.m, inst.n)
    warps_m = warps_n = 1
    while warps_m * warps_n < plan.warps:
        if m // (rows * warps_m) >= n // (columns * warps_n) and warps_m < m // inst.m:
            warps_m *= 2
        else:
            warps_n *= 2
    return warps_m, warps_n


def _options(plan: TilePlan) -> dict[str, int]:
    """Options of a launch besides the warps. Triton counts the tiles in registers, too, as a stage."""
    inst = plan.instruction
    if inst.architecture.family.language == "cuda":
        return {"num_stages": plan.stages}
    found = {"num_stages": plan.stages + 1}
    if inst.architecture.family.blocks:
        found["matrix_instr_nonkdim"] = inst.m
        if inst.architecture.targets[0] != "gfx950":
            found["kpack"] = min(2, plan.kpack)
    return found


def _body(plan: TilePlan) -> Iterator[str]:
    a, b = plan.sides
    sums = f"tl.{SUMS[plan.sums]}"
    precision = PRECISION.get(plan.instruction.format("A").name)
    said = f', input_precision="{precision}"' if precision else ""
    yield "tile_m, tile_n = place_block(tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N))"
    yield "m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]"
    yield "n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]"
    yield "a_k, b_k = tl.arange(0, BLOCK_K)[None, :], tl.arange(0, BLOCK_K)[:, None]"
    yield f"a_at = a + {'m * lda + a_k' if a.k_first else 'a_k * lda + m'}"
    yield f"b_at = b + {'n * ldb + b_k' if b.k_first else 'b_k * ldb + n'}"
    yield f"sums = tl.zeros((BLOCK_M, BLOCK_N), {sums})"
    yield "for k in range(0, K, BLOCK_K):"
    yield f"    a_tile = tl.load(a_at, mask=(m < M) & (a_k < K - k), other={zero(plan, a)})"
    yield f"    b_tile = tl.load(b_at, mask=(b_k < K - k) & (n < N), other={zero(plan, b)})"
    yield f"    sums = tl.dot(a_tile, b_tile, sums{said}, out_dtype={sums})"
    yield f"    a_at += BLOCK_K{'' if a.k_first else ' * lda'}"
    yield f"    b_at += BLOCK_K{'' if b.k_first else ' * ldb'}"
    yield "tl.store(d + m * ldd + n, sums, mask=(m < M) & (n < N))"
