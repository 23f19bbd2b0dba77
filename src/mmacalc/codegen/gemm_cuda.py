"""A tiled GEMM kernel in CUDA around mma.sync: cp.async into several stages, ldmatrix, bounds for any size.

Each block computes a tile of D with four warps, two by two; each warp keeps its part in accumulators. A and B are
staged in shared memory in the order of memory, under a swizzle that keeps ldmatrix free of bank conflicts; where memory
has the rows of 16-bit elements instead of k contiguous, ldmatrix.trans turns them over. Other elements are turned over
while they are staged. While one stage is multiplied, cp.async (from sm_80 on) fetches those behind it; there is one
barrier for each stage. Two kernels are written: one for matrices whose rows begin at multiples of 16 bytes, one for all
others, which copies element by element.
"""

from __future__ import annotations

from ..base.errors import Error
from ..memory_access.answer import memory
from ..memory_access.swizzles import MODES
from .epilogue import finishing, output_format
from .fragments import fragment, runs, total
from .gemm_staging import (
    CudaPlan,
    accumulator,
    arguments,
    block_order,
    element_of,
    ended,
    ends,
    head,
    kernels,
    launch_line,
    loop_head,
    output_of,
    place_of_block,
    registers_of,
    staging,
)
from .ldmatrix import matrices
from .ptx import SYNCHRONIZE, braced, operand_texts, operands
from .source import indented
from .staging import Side, matrix_swizzle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction
    from .fragments import Fragment
    from .ldmatrix import Matrices

__all__ = ["plan", "source"]

WARPS = 2  # along M and along N
WARP_M, WARP_N = 64, 64  # the part of D that a warp computes; half the columns where it takes too many registers
MOST_SUMS = 128  # registers
DEPTH_BYTES = 64  # of k in one stage, at least


def plan(inst: Instruction, order_a: str, order_b: str, stages: int | None = None) -> CudaPlan:
    """The sizes of a GEMM kernel around an mma.sync.

    Raises:
        Error: the instruction is sparse, scaled, has several blocks, or elements below 8 bits.

    >>> import mmacalc
    >>> found = plan(mmacalc.instruction("a100", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "row", "col")
    >>> found.block_m, found.block_n, found.block_k, found.a.swizzle
    (128, 128, 32, Swizzle(bits=2, base=4, shift=3))
    """
    if inst.sparse or inst.scaled or inst.blocks > 1 or "wmma" in inst.features:
        raise Error(
            f"a GEMM is generated around mma.sync and wgmma, dense, of one block, without scales; not {inst.name}"
        )
    bits = {inst.operand(name).placement.slot_bits for name in "AB"}
    if len(bits) > 1 or min(bits) < 8:
        raise Error(f"a GEMM is generated for elements of whole bytes; A of {inst.name} has {min(bits)} bits")
    width = min(bits) // 8
    steps = max(1, DEPTH_BYTES // (inst.k * width))
    sums = WARP_M // inst.m * (WARP_N // inst.n) * inst.operand("D").registers
    tiles_m, tiles_n = WARP_M // inst.m, WARP_N // (2 if sums > MOST_SUMS else 1) // inst.n
    extents = {"A": (WARPS * tiles_m * inst.m, order_a == "row"), "B": (WARPS * tiles_n * inst.n, order_b == "col")}
    a, b = (_side(inst, name, extent, steps * inst.k, width, along) for name, (extent, along) in extents.items())
    return CudaPlan(inst, tiles_m, tiles_n, steps, a, b, 1).with_stages(stages)


def _side(inst: Instruction, name: str, extent: int, depth: int, width: int, along_k: bool) -> Side:
    turned = not along_k and width != 2
    side = Side(name, extent, depth, element_of(inst, name), 8 * width, along_k, turned)
    if matrices(fragment(inst.operand(name)), _order(side)):
        return side._replace(swizzle=matrix_swizzle(side.tile.row_bytes))
    natural = "row" if name == "A" else "col"
    found = memory(inst.operand(name), natural, ld=depth).search().swizzle if side.rows_of_k else None
    return side._replace(swizzle=found or MODES["none"])


def _order(side: Side) -> str:
    """The order in memory that the tile has."""
    return "row" if side.rows_of_k == (side.name == "A") else "col"


def source(found: CudaPlan, sizes: tuple[int, int, int]) -> str:
    """The source of the kernel: D = A B; it takes any sizes.

    Args:
        sizes: M, N and K of the launch line that is shown.
    """
    a, b, d = (fragment(found.instruction.operand(name)) for name in "ABD")
    lines = [*head(found), *_constants(found), *block_order(), *staging(found), *_products(found)]
    lines += finishing(found.instruction, found.epilogue)
    return "\n".join([*lines, *_tile(found, a, b, d), *kernels(found), *launch_line(found, sizes), ""])


def _constants(found: CudaPlan) -> Iterator[str]:
    sizes = f"BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n}, BLOCK_K = {found.block_k}"
    yield f"enum {{ {sizes}, THREADS = {found.threads} }};  // of a block"
    tiles = f"TILES_M = {found.tiles_m}, TILES_N = {found.tiles_n}"
    yield f"enum {{ WARPS = {WARPS}, {tiles} }};  // of a block in each direction; of a warp"
    yield f"enum {{ STAGES = {found.stages}, A_BYTES = {found.a.tile.bytes}, B_BYTES = {found.b.tile.bytes} }};"
    yield ""


# --- from shared memory to registers, and the product ---


def _products(found: CudaPlan) -> Iterator[str]:
    inst = found.instruction
    given = [_matrices(inst, side) for side in (found.a, found.b)]
    transposed = {matrix.transposed for matrix in given if matrix}
    for trans in sorted(transposed):
        name = f"ldmatrix.sync.aligned.m8n8.x4{'.trans' * trans}.shared.b16"
        yield f"// Four 8x8 matrices{' of 16-bit elements, turned over' * trans}; each lane names a row."
        parameters = "unsigned int *word, const unsigned char *row"
        yield f"static __device__ void load_matrices{'_turned' * trans}({parameters}) {{"
        yield f'    asm volatile("{name} {braced(0, 4)}, [%4];"'
        outputs = [f'"=r"(word[{number}])' for number in range(4)]
        yield from (f"    {line}" for line in operands(outputs, ['"r"(shared_address(row))'], ' : "memory"'))
        yield "}"
        yield ""
    d, a, b = (registers_of(inst, name) for name in "DAB")
    yield "// d += a b"
    yield f"static __device__ void multiply({d[0]} *d, const {a[0]} *a, const {b[0]} *b) {{"
    texts, first = {}, 0
    for name, (_, _, count) in (("D", d), ("A", a), ("B", b)):
        texts[name] = braced(first, count)
        first += count
    texts["C"] = texts["D"]
    yield f'    asm volatile("{inst.name} "'
    yield from (f"    {line}" for line in operand_texts(texts, ";"))
    outputs = [f'"+{d[1]}"(d[{number}])' for number in range(d[2])]
    inputs = [
        f'"{kind}"({letter}[{number}])' for letter, (_, kind, many) in (("a", a), ("b", b)) for number in range(many)
    ]
    yield from (f"    {line}" for line in operands(outputs, inputs))
    yield "}"
    yield ""


def _matrices(inst: Instruction, side: Side) -> Matrices | None:
    """The matrices that fill a side's registers; None where it is loaded element by element."""
    return matrices(fragment(inst.operand(side.name)), _order(side))


def _tile(found: CudaPlan, a: Fragment, b: Fragment, d: Fragment) -> Iterator[str]:
    yield "// A block's tile of D."
    yield "template <bool aligned>"
    yield f"static __device__ void tile({arguments(found)}) {{"
    yield from indented(_prologue(found, a, b, d))
    yield from indented(_loop(found, a, b))
    yield from indented(_epilogue(found, d))
    yield "}"
    yield ""


def _prologue(found: CudaPlan, a: Fragment, b: Fragment, d: Fragment) -> Iterator[str]:
    yield from place_of_block(128)
    yield "const int lane = thread % 32, warp = thread / 32;"
    yield "const int warp_m = warp / WARPS * (BLOCK_M / WARPS), warp_n = warp % WARPS * (BLOCK_N / WARPS);"
    by_matrix = [side.name for side in (found.a, found.b) if _matrices(found.instruction, side)]
    for name, part in (("A", a), ("B", b), ("D", d)):
        yield f"// {name}: {part.operand.pattern}"
        if name not in by_matrix:
            yield from part.variables(name.lower())
    yield f"{accumulator(found.instruction)} sum[TILES_M][TILES_N] = {{}};"
    yield ""
    yield "// Where the warp's parts of a stage lie in shared memory."
    for side, part in ((found.a, a), (found.b, b)):
        yield from _offsets(found, side, part)
    yield ""


def _offsets(found: CudaPlan, side: Side, part: Fragment) -> Iterator[str]:
    """The places of a lane's first matrix in a stage, for all steps; where rows are k, for all tiles."""
    inst, letter = found.instruction, side.name.lower()
    given = _matrices(inst, side)
    if given is None:
        return
    count = registers_of(inst, side.name)[2]
    each = 4 // count  # tiles that one ldmatrix fills
    warp, extent, tiles = ("warp_m", inst.m, "TILES_M") if side.name == "A" else ("warp_n", inst.n, "TILES_N")
    more = f" + {extent} * (lane / {8 * count})" if each > 1 else ""
    if side.rows_of_k:
        yield f"int {letter}_at[{found.steps}];"
        yield f"for (int step = 0; step < {found.steps}; ++step)"
        byte = total([(inst.k * side.bytes, "step"), (1, given.byte())])
        yield f"    {letter}_at[step] = {letter}_place({warp}{more} + {given.row()}, {byte});"
        return
    yield f"int {letter}_at[{tiles}];"
    yield f"for (int tile = 0; tile < {tiles}; tile += {each})"
    byte = f"({warp} + {extent} * tile{more}) * {side.bytes}" + (f" + {given.byte()}" if given.byte() != "0" else "")
    yield f"    {letter}_at[tile] = {letter}_place({given.row()}, {byte});"


def _loop(found: CudaPlan, a: Fragment, b: Fragment) -> Iterator[str]:
    yield from loop_head()
    yield f"    {SYNCHRONIZE}  // and all warps have multiplied the one before, whose place is free"
    yield "    copy_stage(stage ? stage - 1 : STAGES - 1);"
    yield "    const unsigned char *a_tile = a_tiles[stage], *b_tile = b_tiles[stage];"
    yield "#pragma unroll"
    yield f"    for (int step = 0; step < {found.steps}; ++step) {{"
    for side, part, tiles in ((found.a, a, "TILES_M"), (found.b, b, "TILES_N")):
        yield from (f"        {line}" for line in _fill(found, side, part, tiles))
    yield "#pragma unroll"
    yield "        for (int i = 0; i < TILES_M; ++i)"
    yield "#pragma unroll"
    yield "            for (int j = 0; j < TILES_N; ++j) multiply(sum[i][j].word, a_part[i], b_part[j]);"
    yield "    }"
    yield "    stage = stage == STAGES - 1 ? 0 : stage + 1;"
    yield "}"
    yield ""


def _fill(found: CudaPlan, side: Side, part: Fragment, tiles: str) -> Iterator[str]:
    """The registers of one operand for one step: by ldmatrix, four registers at once, or element by element."""
    inst, letter = found.instruction, side.name.lower()
    kind, _, count = registers_of(inst, side.name)
    yield f"{kind} {letter}_part[{tiles}][{count}];"
    warp, extent = ("warp_m", inst.m) if side.name == "A" else ("warp_n", inst.n)
    given = _matrices(inst, side)
    yield "#pragma unroll"
    if given is None:
        row, byte = _element_place(side, part)
        yield f"for (int tile = 0; tile < {tiles}; ++tile) {{"
        for item in part.items:
            more, along = (item.row, item.column) if side.name == "A" else (item.column, item.row)
            line = total([(1, warp), (extent, "tile"), (1, row)], more)
            column = total([(inst.k * side.bytes, "step"), (1, byte)], along * side.bytes)
            yield f"    {letter}_part[tile][{item.slot}] ="
            yield f"        *(const {side.element} *)({side.tile.place(line, column)});"
        yield "}"
        return
    row_bytes = side.tile.row_bytes
    if side.rows_of_k:
        at = f"{letter}_at[step] + tile * {extent * row_bytes}"
    else:
        at = f"{letter}_at[tile] + step * {inst.k * row_bytes}"
    yield f"for (int tile = 0; tile < {tiles}; tile += {4 // count})"
    yield f"    load_matrices{'_turned' * given.transposed}({letter}_part[tile], {letter}_tile + {at});"


def _element_place(side: Side, part: Fragment) -> tuple[str, str]:
    """The row of a lane's first element in the tile, and the byte in that row."""
    letter = side.name.lower()
    across, along = ("row", "column") if side.name == "A" else ("column", "row")
    byte = total([(getattr(digit, along) * side.bytes, f"{letter}_{digit.name}") for digit in part.digits])
    return part.first(across, letter), byte


def _epilogue(found: CudaPlan, d: Fragment) -> Iterator[str]:
    """The stores: pairs of neighbours where D is aligned."""
    inst = found.instruction
    row, column = d.first("row", "d"), d.first("column", "d")
    output, stored = output_of(found), found.stored
    firsts = [run.first for run in runs(d, "row")] if stored > 1 else list(d.items)
    yield f"const unsigned char rows[] = {{{', '.join(str(item.row) for item in firsts)}}};  // of a lane's elements"
    yield f"const unsigned char columns[] = {{{', '.join(str(item.column) for item in firsts)}}};"
    if stored > 1:
        size = output_format(inst, found.epilogue).bits // 8
        yield f"struct __attribute__((aligned({stored * size}))) neighbours {{"
        yield f"    {output} element[{stored}];"
        yield "};"
    yield "#pragma unroll  // so that the sums stay in registers"
    yield "for (int i = 0; i < TILES_M; ++i)"
    yield "#pragma unroll"
    yield "    for (int j = 0; j < TILES_N; ++j)"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {len(firsts)}; ++n) {{"
    yield f"            const int row = first_m + warp_m + i * {inst.m} + {row} + rows[n];"
    yield f"            const int column = first_n + warp_n + j * {inst.n} + {column} + columns[n];"
    yield f"            {output} *to = D + (long long)row * ldd + column;"
    if stored > 1:
        yield from (f"            {line}" for line in ends(found, f"sum[i][j].each[n * {stored}]", stored))
        yield "            if (aligned) {"
        yield "                if (row < M && column < N) *(neighbours *)to = *(const neighbours *)from;"
        yield "            } else {"
        yield "#pragma unroll"
        yield f"                for (int e = 0; e < {stored}; ++e)"
        yield "                    if (row < M && column + e < N) to[e] = from[e];"
        yield "            }"
    else:
        element = ended(found, "sum[i][j].each[n]", "column")
        yield f"            if (row < M && column < N) *to = {element};"
    yield "        }"
