"""A GEMM's tile as a kernel of Gluon, whose layouts say which instruction is carried out and by which lanes.

Gluon (triton.experimental.gluon, of Triton 3.9) is Triton's language in which layouts are written down. Their
parameters come from the plan of the HIP or CUDA kernel: the instruction's shape, the waves and the instructions of
each, the neighbours along k that a lane holds, the swizzle. By the target, the shape and the types Triton then has one
instruction; where that is not the wanted one, the source is refused.
"""

from __future__ import annotations

import re

from ...base.errors import Error
from ..source import indented
from .plan import SharedTile, TilePlan
from .python import ELEMENTS, SUMS, block_order, check_formats, footer, header, kernel_head, zero

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["encodings", "source"]

MFMA_VERSIONS = {"gfx908": 1, "gfx90a": 2, "gfx942": 3, "gfx950": 4}
WMMA_VERSIONS = {"gfx11": 1, "gfx120": 2, "gfx125": 3}
WMMA_MODULES = {1: "rdna3", 2: "rdna4", 3: "cdna5"}
UNCOMPILED = {("cdna2", "v_mfma_f32_32x32x4bf16")}
MULTIPLES = "lda, ldb and, of M, N and K, those along which A and B lie are multiples of 16: cp.async copies 16 bytes."
ARGUMENT = re.compile(r", (?=\w+=)")
HOPPER = "gl.nvidia.hopper"
COPY = "gl.nvidia.ampere.async_copy"


def source(plan: TilePlan, sizes: tuple[int, int, int]) -> str:
    """The Python source of a kernel: D = A B; it takes any sizes that Triton's own copies take.

    Args:
        sizes: M, N and K of the launch line that is shown.

    Raises:
        Error: Gluon cannot say the instruction.
    """
    _check(plan)
    copies = plan.instruction.architecture.family.language == "cuda"
    lines = [*header(plan, "gluon", MULTIPLES if copies else ""), *_layouts(plan), *block_order("gluon", "gl")]
    body = _copying_body(plan) if copies else _loading_body(plan)
    kernel = [*kernel_head(plan, "gluon"), *indented([*_addresses(plan), *body, *_store()])]
    return "\n".join([*lines, *kernel, *footer(plan, sizes), ""])


def _check(plan: TilePlan) -> None:
    """Refuse what Gluon cannot say.

    Raises:
        Error: formats or an instruction for which Gluon has no type or layout.
    """
    check_formats(plan, "Gluon")
    inst = plan.instruction
    if (inst.arch, inst.name) in UNCOMPILED:
        raise Error(f"Triton 3.9 does not compile Gluon's layout of {inst.name} on {inst.architecture.title}")
    if inst.format("A").name == "f32" and "gfx942" in inst.architecture.targets:
        raise Error(
            f"Gluon's mfma of float32 does not say whether it is of f32 or xf32: {inst.name} cannot be asked for; use "
            "lang hip, or triton"
        )


def encodings(plan: TilePlan) -> dict[str, str]:
    """The layouts of D, A and B in registers, as Gluon writes them.

    >>> import mmacalc
    >>> from .plan import tile_plan
    >>> found = tile_plan(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16"), 64, ("row", "col"), None, None)
    >>> encodings(found)["A"]
    'gl.DotOperandLayout(operand_index=0, parent=SUMS, k_width=8)'
    """
    inst = plan.instruction
    target = inst.architecture.targets[0]
    if inst.architecture.family.language == "cuda":
        sums = _nvidia(plan)
    elif target in MFMA_VERSIONS:
        sums = _mfma(plan, MFMA_VERSIONS[target])
    else:
        sums = _wmma(plan, _wmma_version(plan))
    found = {"D": sums}
    for index, side in enumerate(plan.sides):
        if side.k_width:
            found[side.name] = f"gl.DotOperandLayout(operand_index={index}, parent=SUMS, k_width={side.k_width})"
    return found


def _nvidia(plan: TilePlan) -> str:
    inst = plan.instruction
    if "wgmma" in inst.features:
        return (
            f"gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta={list(plan.waves)}, "
            f"instr_shape=[16, {inst.n}, {inst.k}])"
        )
    if (inst.m, inst.n) != (16, 8):
        raise Error(f"Gluon's mma_v2 is of m16n8; {inst.name} is m{inst.m}n{inst.n}k{inst.k}")
    return f"gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta={list(plan.waves)}, instr_shape=[16, 8])"


def _mfma(plan: TilePlan, version: int) -> str:
    inst = plan.instruction
    bits = ", element_bitwidth=64" if plan.sums == "f64" else ""
    return (
        f"gl.amd.AMDMFMALayout(version={version}, instr_shape=[{inst.m}, {inst.n}, {inst.k}], "
        f"transposed={plan.swapped}, warps_per_cta={list(plan.waves)}{bits}, tiles_per_warp={list(plan.repeat)})"
    )


def _wmma_version(plan: TilePlan) -> int:
    target = plan.instruction.architecture.targets[0]
    return next(version for name, version in WMMA_VERSIONS.items() if target.startswith(name))


def _wmma(plan: TilePlan, version: int) -> str:
    """Bases count instructions: those of a wave are neighbours, the waves around them, along N first."""
    inst = plan.instruction
    registers = [*_bases(1, 1, plan.repeat[1]), *_bases(0, 1, plan.repeat[0])]
    warps = [*_bases(1, plan.repeat[1], plan.waves[1]), *_bases(0, plan.repeat[0], plan.waves[0])]
    return (
        f"gl.amd.AMDWMMALayout(version={version}, transposed={plan.swapped}, warp_bases={warps}, "
        f"reg_bases={registers}, instr_shape=[{inst.m}, {inst.n}, {inst.k}])"
    )


def _bases(axis: int, first: int, count: int) -> list[list[int]]:
    return [[0, first << bit] if axis else [first << bit, 0] for bit in range(count.bit_length() - 1)]


def _loads(side: SharedTile, plan: TilePlan) -> str:
    """Which thread fetches what: 16 bytes each, along the order of memory."""
    fast, slow = side.order
    across = min(side.shape[fast] // side.vector, plan.wave)
    sizes = [[0, 0], [0, 0], [0, 0]]
    for row, values in zip(sizes, ((side.vector, 1), (across, plan.wave // across), (1, plan.warps))):
        row[fast], row[slow] = values
    return f"gl.BlockedLayout({sizes[0]}, {sizes[1]}, {sizes[2]}, {list(side.order)})"


def _shared(side: SharedTile, plan: TilePlan) -> str:
    if "wgmma" in plan.instruction.features:
        return (
            f"gl.NVMMASharedLayout(swizzle_byte_width={min(128, side.row_bytes)}, element_bitwidth={side.bits}, "
            f"rank=2, transposed={side.order == (0, 1)})"
        )
    vec, per_phase, most = side.phases
    return f"gl.SwizzledSharedLayout(vec={vec}, per_phase={per_phase}, max_phase={most}, order={list(side.order)})"


def _layouts(plan: TilePlan) -> Iterator[str]:
    """The layouts by name."""
    found = encodings(plan)
    yield f"# The sums: D of {plan.instruction.name}{', transposed' * plan.swapped}."
    yield "SUMS = gl.constexpr("
    name, _, arguments = found["D"].partition("(")
    yield f"    {name}("
    yield from (f"        {one}," for one in ARGUMENT.split(arguments.removesuffix(")")))
    yield "    )"
    yield ")"
    for side in plan.sides:
        words = f" A lane holds {side.k_width} neighbours along k." if side.k_width else ""
        yield f"# {side.name}: 16 bytes of each access to memory; the swizzle of the generated kernel.{words}"
        yield f"{side.name}_LOADS = gl.constexpr({_loads(side, plan)})"
        yield f"{side.name}_SHARED = gl.constexpr({_shared(side, plan)})"
        if side.name in found:
            yield f"{side.name}_OPERAND = gl.constexpr({found[side.name]})"
    yield ""


def _addresses(plan: TilePlan) -> Iterator[str]:
    yield "tile_m, tile_n = place_block(gl.cdiv(M, BLOCK_M), gl.cdiv(N, BLOCK_N))"
    for side, size in zip(plan.sides, "mn"):
        name, axis = side.name.lower(), 1 if side.name == "A" else 0
        block = size.upper()
        slices = [f"gl.SliceLayout({at}, {side.name}_LOADS)" for at in (axis, 1 - axis)]
        yield f"{name}_{size} = tile_{size} * BLOCK_{block} + gl.arange(0, BLOCK_{block}, layout={slices[0]})"
        yield f"{name}_k = gl.arange(0, BLOCK_K, layout={slices[1]})"
        row, column = _expanded(side, size)
        along_k, across = (column, row) if side.name == "A" else (row, column)
        strided, plain = (across, along_k) if side.k_first else (along_k, across)
        yield f"{name}_at = {strided} * ld{name} + {plain}"
        yield f"{name}_step = {'BLOCK_K' if side.k_first else f'BLOCK_K * ld{name}'}"
        yield f"{name}_inside = {across} < {block}"
    stages = f"{plan.stages}, "
    for side in plan.sides:
        rows, columns = ("BLOCK_M", "BLOCK_K") if side.name == "A" else ("BLOCK_K", "BLOCK_N")
        yield (
            f"{side.name.lower()}_tiles = gl.allocate_shared_memory(gl.{ELEMENTS[_format(plan, side)]}, "
            f"[{stages}{rows}, {columns}], {side.name}_SHARED)"
        )
    yield f"sums = gl.zeros([BLOCK_M, BLOCK_N], gl.{SUMS[plan.sums]}, SUMS)"


def _format(plan: TilePlan, side: SharedTile) -> str:
    return plan.instruction.format(side.name).name


def _expanded(side: SharedTile, size: str) -> tuple[str, str]:
    """The indices along the rows and along the columns of the tensor."""
    name = side.name.lower()
    return (
        (f"{name}_{size}[:, None]", f"{name}_k[None, :]")
        if side.name == "A"
        else (f"{name}_k[:, None]", f"{name}_{size}[None, :]")
    )


def _k_of(side: SharedTile) -> str:
    return "a_k[None, :]" if side.name == "A" else "b_k[:, None]"


def _loading_body(plan: TilePlan) -> Iterator[str]:
    """Registers hold the next tiles while the present ones are multiplied."""
    inst = plan.instruction
    target = inst.architecture.targets[0]
    module = "cdna3.mfma" if target in MFMA_VERSIONS else f"{WMMA_MODULES[_wmma_version(plan)]}.wmma"
    for side in plan.sides:
        name = side.name.lower()
        yield from _fetched(plan, side, f"{_k_of(side)} < K")
    yield "for k in range(BLOCK_K, K + BLOCK_K, BLOCK_K):"
    index = "0" if plan.stages == 1 else f"k // BLOCK_K % {plan.stages}"
    for side in plan.sides:
        name = side.name.lower()
        yield f"    {name}_tile = {name}_tiles.index({index})"
        yield f"    {name}_tile.store({name}_next)"
    for side in plan.sides:
        name = side.name.lower()
        yield f"    {name}_at += {name}_step"
        yield from indented(_fetched(plan, side, f"{_k_of(side)} < K - k"))
    yield f"    sums = gl.amd.{module}(a_tile.load(A_OPERAND), b_tile.load(B_OPERAND), sums)"


def _fetched(plan: TilePlan, side: SharedTile, inside: str) -> Iterator[str]:
    """The next tile of a matrix comes to registers, zeros beyond it."""
    name = side.name.lower()
    yield f"{name}_next = gl.load({name} + {name}_at, mask={name}_inside & ({inside}), other={zero(plan, side)})"


def _copying_body(plan: TilePlan) -> Iterator[str]:
    """cp.async fills the tiles of the stages ahead."""
    ahead = plan.stages - 1
    yield f"for first in gl.static_range({ahead}):"
    yield from indented(_copied(plan, "first", "first * BLOCK_K"))
    yield "for k in range(0, K, BLOCK_K):"
    yield f"    stage, free = k // BLOCK_K % {plan.stages}, (k // BLOCK_K + {ahead}) % {plan.stages}"
    yield f"    {COPY}.wait_group({ahead - 1})"
    yield from indented(_products(plan))
    yield from indented(_copied(plan, "free", f"k - {ahead} * BLOCK_K"))


def _copied(plan: TilePlan, stage: str, first: str) -> Iterator[str]:
    """The next tiles come to a stage of shared memory, zeros beyond the matrices.

    Args:
        first: what is subtracted from K, as text: the k of the tile.
    """
    for side in plan.sides:
        name = side.name.lower()
        yield f"inside = {name}_inside & ({_k_of(side)} < K - {first})"
        yield f"{COPY}.async_load({name}_tiles.index({stage}), {name} + {name}_at, mask=inside)"
        yield f"{name}_at += {name}_step"
    yield f"{COPY}.commit_group()"


def _products(plan: TilePlan) -> Iterator[str]:
    if "wgmma" in plan.instruction.features:
        yield f"{HOPPER}.fence_async_shared()  # what threads copied, wgmma reads through another proxy"
        yield f"sums = {HOPPER}.warpgroup_mma(a_tiles.index(stage), b_tiles.index(stage), sums)"
        return
    yield "a_held, b_held = a_tiles.index(stage).load(A_OPERAND), b_tiles.index(stage).load(B_OPERAND)"
    yield "sums = gl.nvidia.ampere.mma_v2(a_held, b_held, sums)"


def _store() -> Iterator[str]:
    yield "d_m = tile_m * BLOCK_M + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, SUMS))"
    yield "d_n = tile_n * BLOCK_N + gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, SUMS))"
    yield "inside = (d_m[:, None] < M) & (d_n[None, :] < N)"
    yield "gl.store(d + d_m[:, None] * ldd + d_n[None, :], sums, mask=inside)"
