"""A tiled GEMM kernel in CUDA around wgmma: matrix descriptors of swizzled tiles, cp.async, two buffers, bounds.

A block is one warpgroup. A and B lie in shared memory as the canonical layouts have them: K-major with rows of 64
bytes, or as memory has them where 16-bit elements lie the other way round (MN-major). A step along k moves
the descriptor's start address; the swizzle is of absolute addresses, so it stays right.

Sources: PTX ISA 9.1, section 9.7.15.5; CUTLASS 7107b055, cute/arch/mma_sm90_desc.hpp, for moving the start address.
"""

from __future__ import annotations

from functools import partial
from itertools import chain, product

from ..base.errors import Error
from ..families.shared_memory import SWIZZLES, panel_offsets
from ..memory_access.swizzles import MODES
from .epilogue import finishing, output_format
from .fragments import fragment
from .gemm_scales import Sums, checked_scales, declarations, end_of_stage, finer_blocks, function
from .gemm_slices import group_function, reduction, tile_plan
from .gemm_sparse import fetching, next_words, selected
from .gemm_staging import (
    VECTOR,
    CudaPlan,
    accumulator,
    block_order,
    element_of,
    ends,
    head,
    kernels,
    launch_line,
    loop_head,
    next_stage,
    output_of,
    place_of_block,
    registers_of,
    staging,
    tile_arguments,
)
from .ptx import DESCRIPTOR, SYNCHRONIZE, braced, operands
from .source import indented
from .staging import Side, compression
from .wgmma import ROWS, widest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..model import Instruction
    from ..model.block_scales import BlockScales

__all__ = ["body", "plan", "source", "stores", "summed", "sums_of", "tiles_of"]

DEPTH_BYTES = 64  # of k in one stage: two buffers of the widest tiles fit into 48 KiB of static shared memory
LINE = 128  # of k where 32-bit elements are turned over: stores of four rows are free of conflicts, see gemm_turned;
# and where A is compressed, which has 64 then, and metadata in whole registers
WIDEST_PAIR = 128  # columns up to which a warpgroup keeps two tiles of 64 rows in registers


def plan(
    inst: Instruction, order_a: str, order_b: str, stages: int | None = None, scales: BlockScales | None = None
) -> CudaPlan:
    """The sizes of a GEMM kernel around a wgmma.

    Args:
        scales: those along K, for which there are twice as many sums.

    Raises:
        Error: the instruction has elements below 8 bits, or too few columns to be turned over, or too many for two sums
            of each.

    >>> import mmacalc
    >>> found = plan(mmacalc.instruction("h100", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"), "row", "col")
    >>> found.block_m, found.block_n, found.block_k, found.b.swizzle
    (128, 128, 32, Swizzle(bits=2, base=4, shift=3))
    """
    bits = inst.format("A").bits
    if bits < 8:
        raise Error(f"a GEMM is generated around wgmma with elements of whole bytes; not {inst.name}")
    turned = bits == 32 and (order_a == "col" or order_b == "row")
    depth = (LINE if turned or inst.sparse else DEPTH_BYTES) * 8 // bits
    tiles = tiles_of(inst, scales)
    a = _side(inst, "A", tiles * inst.m, depth // compression(inst, "A"), order_a == "row")
    b = _side(inst, "B", inst.n, depth, order_b == "col")
    found = CudaPlan(inst, tiles, 1, depth // inst.k, a, b, 1)
    return checked_scales(found.with_stages(stages), scales)


def tiles_of(inst: Instruction, scales: BlockScales | None) -> int:
    """How many tiles of 64 rows a warpgroup keeps in registers.

    Raises:
        Error: not even one, with sums and totals.
    """
    widest_pair = WIDEST_PAIR // (2 if scales else 1)
    if scales and inst.n > 2 * widest_pair:
        raise Error(
            f"with block_scales a thread keeps two sums of each element, for which {inst.name} has too many columns: "
            f"use one of at most {2 * widest_pair}"
        )
    return 2 if inst.n <= widest_pair else 1


def _side(inst: Instruction, name: str, extent: int, depth: int, along_k: bool) -> Side:
    size, element = inst.format(name).bits // 8, element_of(inst, name)
    if along_k or size != 2:
        if not along_k and extent * size % VECTOR:
            raise Error(
                f"B of {inst.name} has {extent * size} bytes in a row of memory, which is turned over 16 bytes at a "
                "time: use order_b='col', or a wgmma with more columns"
            )
        swizzle = MODES["128B" if depth * size == LINE else "64B"]
        return Side(name, extent, depth, element, 8 * size, along_k, not along_k, swizzle)
    mode = widest(extent * size)
    return Side(name, extent, depth, element, 8 * size, False, False, MODES[mode.name], mode.row_bytes)


def source(found: CudaPlan, sizes: tuple[int, int, int]) -> str:
    """The source of the kernel: D = A B; it takes any sizes.

    Args:
        sizes: M, N and K of the launch line that is shown.
    """
    each = tile_plan(found)
    lines = [*head(found), DESCRIPTOR, *block_order(), *group_function(found), *function(found)]
    lines += [*finishing(found.instruction, each.epilogue), *body(each)]
    return "\n".join([*lines, *kernels(found), *reduction(found), *launch_line(found, sizes), ""])


def body(found: CudaPlan) -> Iterator[str]:
    """The constants, the copies, and the tile that a block computes."""
    yield from _constants(found)
    yield from staging(found, placed=False)
    yield from _tile(found)


def _tile(found: CudaPlan) -> Iterator[str]:
    yield "// A block's tile of D."
    yield "template <bool aligned>"
    yield f"static __device__ void tile({tile_arguments(found)}) {{"
    yield from indented((*_prologue(found), *_loop(found), *stores(found)))
    yield "}"
    yield ""


def _constants(found: CudaPlan) -> Iterator[str]:
    yield f"enum {{ BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n}, BLOCK_K = {found.block_k} }};  // of a block"
    yield f"enum {{ THREADS = {found.threads}, TILES = {found.tiles_m} }};  // of a warpgroup; of 64 rows each"
    yield f"enum {{ STAGES = {found.stages}, A_BYTES = {found.a.tile.bytes}, B_BYTES = {found.b.tile.bytes} }};"
    yield ""


def _prologue(found: CudaPlan) -> Iterator[str]:
    yield from place_of_block(found, 1024)
    yield "const int lane = thread;  // of the warpgroup: 0 to 127"
    part = fragment(found.instruction.operand("D"))
    yield f"// D: {part.operand.pattern}"
    yield from part.variables("d")
    yield f"{accumulator(found.instruction)} sum[TILES] = {{}};"
    yield from declarations(found, sums_of(found))
    if found.instruction.sparse:
        yield from fetching(found.instruction, found.steps, "TILES", "first_m")
        yield "fetch(0);"
    yield ""


def _loop(found: CudaPlan) -> Iterator[str]:
    yield from loop_head(found)
    yield "    // The asynchronous proxy, through which wgmma reads, sees what this thread copied."
    yield '    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
    yield f"    {SYNCHRONIZE}  // and the stage before is multiplied, so its place is free"
    yield "    copy_stage(stage ? stage - 1 : STAGES - 1);"
    if found.instruction.sparse:
        yield from indented(next_words(""))
    for side in (found.a, found.b):
        yield f"    const unsigned long long {side.name.lower()}_start = {_descriptor(side)};  // {_words(side)}"
    yield from indented(summed(found, (found.tiles_m, found.steps), partial(_offset, found)))
    yield from next_stage(found)
    yield "}"
    yield ""


def sums_of(found: CudaPlan, first: str = "first_m") -> Sums:
    """Where a lane's sums are.

    Args:
        first: the first row of the warpgroup, as C text.
    """
    inst = found.instruction
    return Sums(
        fragment(inst.operand("D")), ("row", "column"), (first, "first_n"), ("", ""), (found.block_m, found.block_n),
        (inst.m, inst.n), (found.tiles_m, 1), ("TILES", ""), "[i]",
    )  # fmt: skip


def _words(side: Side) -> str:
    return f"{'K' if side.rows_of_k else 'MN'}-major, {_mode_name(side)} swizzle"


def _mode_name(side: Side) -> str:
    return next(name for name, swizzle in MODES.items() if swizzle == side.swizzle)


def _strides(side: Side) -> tuple[int, int]:
    """The leading and the stride dimension byte offset of a side's descriptor."""
    if side.rows_of_k:
        return VECTOR, ROWS * side.tile.row_bytes
    return panel_offsets(SWIZZLES[_mode_name(side)].row_bytes, side.depth)


def _descriptor(side: Side) -> str:
    leading, stride = _strides(side)
    tile = f"{side.name.lower()}_tiles[stage]"
    return f"descriptor({tile}, {leading}, {stride}, {SWIZZLES[_mode_name(side)].code})"


def _offset(found: CudaPlan, name: str, tile: int, step: int) -> int:
    """The bytes from the beginning of a side's tile to what one wgmma reads."""
    inst, side = found.instruction, found.a if name == "A" else found.b
    along = step * inst.k // found.shares(side)
    if side.rows_of_k:
        return tile * inst.m * side.tile.row_bytes + along * side.bytes
    return tile * inst.m * side.bytes // side.panel * side.depth * side.panel + along * side.panel


def summed(found: CudaPlan, counts: tuple[int, int], offset: Callable[[str, int, int], int]) -> Iterator[str]:
    """The products of a stage, and what is done with the sums behind each block of k.

    Args:
        counts: tiles of 64 rows, and steps along k. offset: the bytes from the start of the descriptor of A or B to
            what a wgmma of a tile and a step reads; B's tile is 0.
    """
    tiles, steps = counts
    stage = steps * found.instruction.k
    parts = finer_blocks(found, stage)
    if parts == 1:
        yield from _products(found, counts, offset)
        yield from end_of_stage(found, stage)
        return
    assert found.scales
    more = ", ".join(
        f"{name.lower()}_part = {name.lower()}_start + part * {offset(name, 0, steps // parts) // VECTOR}"
        for name in "AB"
    )
    yield "#pragma unroll 1  // so that scales of one block are in registers"
    yield f"for (int part = 0; part < {parts}; ++part) {{"
    yield f"    const unsigned long long {more};"
    yield from indented(_products(found, (tiles, steps // parts), offset, "part"))
    yield f"    add_block(k / {found.scales.depth} + part + 1);"
    yield "}"


def _products(
    found: CudaPlan, counts: tuple[int, int], offset: Callable[[str, int, int], int], start: str = "start"
) -> Iterator[str]:
    """The wgmma of a stage, or of a part of it, between one fence and one wait.

    Args:
        start: the end of the descriptors' names.
    """
    tiles, steps = counts
    inst = found.instruction
    _, constraint, count = registers_of(inst, "D")
    given: dict[tuple[int, int], list[str]] = {}
    for step, tile in product(range(steps), range(tiles)):
        moved = ("a", offset("A", tile, step) // VECTOR), ("b", offset("B", 0, step) // VECTOR)
        given[step, tile] = [f'"l"({letter}_{start}{f" + {number}" if number else ""})' for letter, number in moved]
        if inst.sparse:
            given[step, tile].append(f'"r"(now[{tile}][{selected(inst, step)[0]}])')
    unique = list(dict.fromkeys(chain(*given.values())))
    yield 'asm volatile("{ .reg .pred accumulate;\\n"'
    yield '             "setp.eq.u32 accumulate, 0, 0;\\n"  // true: D = A B + D'
    yield '             "wgmma.fence.sync.aligned;\\n"'
    for (step, tile), inputs in given.items():
        yield from _product(found, tile, step, [tiles * count + unique.index(each) for each in inputs])
    yield '             "wgmma.commit_group.sync.aligned;\\n"'
    yield '             "wgmma.wait_group.sync.aligned 0; }"'
    outputs = [f'"+{constraint}"(sum[{tile}].word[{n}])' for tile in range(tiles) for n in range(count)]
    yield from operands(outputs, unique, ' : "memory"')


def _product(found: CudaPlan, tile: int, step: int, inputs: list[int]) -> Iterator[str]:
    """One wgmma of a tile; inputs: the operands of the statement that are its descriptors and metadata."""
    inst = found.instruction
    count = registers_of(inst, "D")[2]
    immediates = [str(selected(inst, step)[1]), "accumulate"] if inst.sparse else ["accumulate"]
    if inst.format("D").name != "i32":
        immediates += ["1", "1"]
    if inst.format("A").bits == 16:
        immediates += [str(int(not side.rows_of_k)) for side in (found.a, found.b)]
    yield f'             "{inst.name} "  // step {step}, rows {tile * inst.m} to {tile * inst.m + inst.m - 1}'
    line = ""
    for part in braced(tile * count, count).split(" "):
        if len(line) + len(part) > 96:
            yield f'             "{line}"'
            line = ""
        line += f"{part} "
    yield f'             "{line[:-1]}, {", ".join([f"%{each}" for each in inputs] + immediates)};\\n"'


def stores(found: CudaPlan, first: str = "first_m", ways: tuple[str, ...] = ("true", "false")) -> Iterator[str]:
    """The stores of a warpgroup's tiles, from that row on.

    Args:
        ways: "true" for pairs of neighbours, "false" for elements; both by the parameter `aligned`.
    """
    inst = found.instruction
    d = fragment(inst.operand("D"))
    row, column, output = d.first("row", "d"), d.first("column", "d"), output_of(found)
    sums = "total" if found.scales else "sum"
    # The items of a lane: c steps of eight columns, two rows eight apart, two neighbours (see D's pattern).
    yield f"struct __attribute__((aligned({2 * output_format(inst, found.epilogue).bits // 8}))) neighbours {{"
    yield f"    {output} element[2];"
    yield "};"
    yield "#pragma unroll  // so that the sums stay in registers"
    yield "for (int tile = 0; tile < TILES; ++tile)"
    yield "#pragma unroll"
    yield f"    for (int n = 0; n < {len(d.items)}; n += 2) {{"
    yield f"        const int row = {first} + tile * {inst.m} + {row} + n / 2 % 2 * 8;"
    yield f"        const int column = first_n + {column} + n / 4 * 8;"
    yield f"        {output} *to = D + (long long)row * ldd + column;"
    yield from indented(ends(found, f"{sums}[tile].each[n]", 2), 2)
    pairs = "if (row < M && column < N) *(neighbours *)to = *(const neighbours *)from;"
    if ways == ("true",):
        yield f"        {pairs}"
    else:
        yield "        if (aligned) {"
        yield f"            {pairs}"
        yield "        } else {"
        yield "            for (int e = 0; e < 2; ++e)"
        yield "                if (row < M && column + e < N) to[e] = from[e];"
        yield "        }"
    yield "    }"
