"""A tiled GEMM kernel in CUDA around mma.sync: cp.async into several stages, ldmatrix, bounds for any size.

Each block computes a tile of D with four warps, two by two; each warp keeps its part in accumulators. A and B are
staged in shared memory in the order of memory, under a swizzle that keeps reads free of bank conflicts. While one stage
is multiplied, cp.async (from sm_80 on) fetches those behind it; there is one barrier for each stage. Two kernels are
written: one for matrices whose rows begin at multiples of 16 bytes, one for others, copied element by element.
"""

from __future__ import annotations

from ..base.errors import Error
from ..catalog.grammar.sass import sass_of
from ..families.tensor_memory import SCALE_BLOCKS, SCALE_ROWS
from ..memory_access.answer import memory
from ..memory_access.swizzles import MODES
from . import gemm_weights
from .epilogue import finishing, output_format
from .fragments import fragment, runs
from .gemm_cuda_loads import (
    PERMUTED,
    apart,
    by_matrix,
    filled,
    matrix_loads,
    product_functions,
    side_load,
    side_pairs,
    stage_places,
    tile_order,
)
from .gemm_scales import Sums, checked_scales, declarations, end_of_stage, finer_blocks, first_of_tile, function
from .gemm_slices import group_function, reduction, tile_plan
from .gemm_sparse import fetching, next_words, selected
from .gemm_staging import (
    CudaPlan,
    accumulator,
    block_order,
    element_of,
    ended,
    ends,
    head,
    kernels,
    launch_line,
    loop_head,
    next_stage,
    output_of,
    place_of_block,
    staging,
    tile_arguments,
)
from .ldmatrix import blocks, matrices
from .ptx import SYNCHRONIZE
from .source import indented
from .staging import Side, matrix_swizzle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeVar

    from ..model import Instruction
    from ..model.block_scales import BlockScales
    from .fragments import Digit, Fragment, Item

    Place = TypeVar("Place", Digit, Item)

__all__ = ["plan", "source"]

WARPS = 2  # along M and along N
WARP_M, WARP_N = 64, 64  # the part of D that a warp computes; half the columns where it takes too many registers
MOST_SUMS = 128  # registers
MOST_HELD = 208  # with A and B of a step, with more of which ptxas 13.0 spills
DEPTH_BYTES = 64  # of k in one stage, at least
LEAST_BITS = 4  # of an element
MATRICES = 4  # that an ldmatrix loads, each a register


def plan(
    inst: Instruction,
    order_a: str,
    order_b: str,
    stages: int | None = None,
    weights: bool = False,
    scales: BlockScales | None = None,
) -> CudaPlan:
    """The sizes of a GEMM kernel around an mma.sync.

    Args:
        weights: whether B has 4 bits, see `gemm_weights`. scales: those along K, for which there are two sums of each
            element.

    Raises:
        Error: the instruction is sparse, scaled, has several blocks, or elements below 8 bits.

    >>> import mmacalc
    >>> found = plan(mmacalc.instruction("a100", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "row", "col")
    >>> found.block_m, found.block_n, found.block_k, found.a.swizzle
    (128, 128, 32, Swizzle(bits=2, base=4, shift=3))
    """
    bits = _checked(inst, order_a, order_b)
    steps = max(1, DEPTH_BYTES * 8 // (inst.k * bits))
    if inst.sparse:
        steps = max(steps, inst.index_sets())
    tiles_m, tiles_n = WARP_M // inst.m, WARP_N // _shares(inst, bits, order_a == "row") // inst.n
    a_registers, b_registers, of_tile = (inst.operand(name).registers for name in "ABD")
    while (sums := tiles_m * tiles_n * of_tile * (2 if scales else 1)) > MOST_SUMS or (
        sums + tiles_m * a_registers + tiles_n * b_registers > MOST_HELD
    ):
        tiles_n //= 2
    if scales and scales.depth < steps * inst.k and scales.columns % inst.n:
        # Several times in a stage a lane loads scales of its own columns, for which it would spill.
        if tiles_n // 2 * b_registers >= MATRICES:
            tiles_n //= 2
        else:
            tiles_m //= 2
    extents = {"A": (WARPS * tiles_m * inst.m, order_a == "row"), "B": (WARPS * tiles_n * inst.n, order_b == "col")}
    shares = max(1, 8 // bits)  # elements of a byte
    a, b = (
        _side(inst, name, extent, steps * inst.k // (shares * (2 if inst.sparse and name == "A" else 1)), bits, along)
        for name, (extent, along) in extents.items()
    )
    if weights:
        b = gemm_weights.side(inst, b.extent, steps * inst.k, order_b)
    return checked_scales(CudaPlan(inst, tiles_m, tiles_n, steps, a, b, 1, weights=weights).with_stages(stages), scales)


def _shares(inst: Instruction, bits: int, along_k: bool) -> int:
    """What the columns of a warp are divided by, since ptxas 13.0 spills although sums, A and B would fit.

    It converts A and B of what the target has no opcode for, and holds metadata of a sparse A with long rows of B, or
    with an A that registers turn over.

    Args:
        along_k: whether A has k contiguous in memory.
    """
    if sass_of(inst, inst.arch)[1] == "emulated":
        return 4 if inst.sparse else 2
    return 2 if inst.sparse and (bits in (4, 16) or not along_k) else 1


def _checked(inst: Instruction, order_a: str, order_b: str) -> int:
    """The bits of an element of A and B in memory.

    Raises:
        Error: an instruction or an order that no kernel is generated for.
    """
    if inst.blocks > 1 or "wmma" in inst.features or (inst.sparse and inst.scaled):
        raise Error(
            "a GEMM is generated around mma.sync, mma.sp and wgmma, of one block, and with scales if A is dense; "
            f"not {inst.name}"
        )
    bits = {inst.operand(name).placement.slot_bits for name in "AB"}
    if len(bits) > 1 or min(bits) < LEAST_BITS:
        raise Error(f"a GEMM is generated for elements of 4 bits or more; A of {inst.name} has {min(bits)} bit")
    if min(bits) < 8 and (order_a, order_b) != ("row", "col"):
        raise Error(
            f"elements of {min(bits)} bits have k contiguous in memory, in pairs: use order_a='row', order_b='col' for "
            f"{inst.name}"
        )
    for name, order in (("A", "row"), ("B", "col")):
        if (inst.sparse or inst.scaled or min(bits) < 8) and not matrices(fragment(inst.operand(name)), order):
            raise Error(f"ldmatrix does not load {name} of {inst.name}: no GEMM is generated around it")
    return min(bits)


def _side(inst: Instruction, name: str, extent: int, depth: int, bits: int, along_k: bool) -> Side:
    operand = inst.operand(name)
    # The rows of a compressed A cannot alternate: its metadata has them in their order.
    turned = not along_k and bits != 16 and inst.sparse and name == "A" and not blocks(fragment(operand))
    side = Side(name, extent, depth, element_of(inst, name), max(8, bits), along_k, turned, packed=_padded(inst, name))
    if by_matrix(inst, side):
        return side._replace(swizzle=matrix_swizzle(side.tile.row_bytes))
    found = memory(operand, tile_order(side), ld=depth if side.rows_of_k else extent).search().swizzle
    return side._replace(swizzle=found or MODES["none"])


def _padded(inst: Instruction, name: str) -> int:
    """The bits of an element of which 16 are padded to 16 bytes on the way, as the ldmatrix wants them that puts each
    in a byte; 0 of others."""
    bits = inst.format(name).bits
    return bits if bits < inst.operand(name).placement.slot_bits == 8 else 0


def source(found: CudaPlan, sizes: tuple[int, int, int]) -> str:
    """The source of the kernel: D = A B; it takes any sizes.

    Args:
        sizes: M, N and K of the launch line that is shown.
    """
    a, b, d = *(fragment(found.instruction.operand(name)) for name in "AB"), _sums_of(found)
    each = tile_plan(found)
    lines = [
        *head(found),
        *_constants(found),
        *block_order(),
        *group_function(found),
        *staging(found),
        *_products(found),
    ]
    lines += gemm_weights.function(found.instruction) if found.weights else ()
    lines += function(found)
    lines += [*finishing(found.instruction, each.epilogue), *_tile(each, a, b, d), *kernels(found)]
    return "\n".join([*lines, *reduction(found), *launch_line(found, sizes), ""])


def _constants(found: CudaPlan) -> Iterator[str]:
    sizes = f"BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n}, BLOCK_K = {found.block_k}"
    yield f"enum {{ {sizes}, THREADS = {found.threads} }};  // of a block"
    tiles = f"TILES_M = {found.tiles_m}, TILES_N = {found.tiles_n}"
    yield f"enum {{ WARPS = {WARPS}, {tiles} }};  // of a block in each direction; of a warp"
    yield f"enum {{ STAGES = {found.stages}, A_BYTES = {found.a.tile.bytes}, B_BYTES = {found.b.tile.bytes} }};"
    yield ""


def _products(found: CudaPlan) -> Iterator[str]:
    inst = found.instruction
    sides = found.a, found.b
    every = {side_load(inst, side) for side in sides if by_matrix(inst, side)}
    yield from (line for bits, turned in sorted(every) for line in matrix_loads(turned, bits))
    yield from product_functions(inst)
    if any(side_pairs(inst, side) or apart(inst, side) for side in sides):
        yield PERMUTED


def _sums_of(found: CudaPlan) -> Fragment:
    """D of the instruction, with the rows and columns that it has in D."""
    d = fragment(found.instruction.operand("D"))

    def placed(part: Place) -> Place:
        row, column = (
            value % 8 * 2 + value // 8 if found.paired(side) else value
            for value, side in ((part.row, found.a), (part.column, found.b))
        )
        return part._replace(row=row, column=column)

    return d._replace(digits=tuple(map(placed, d.digits)), items=tuple(map(placed, d.items)))


def _tile(found: CudaPlan, a: Fragment, b: Fragment, d: Fragment) -> Iterator[str]:
    yield "// A block's tile of D."
    yield "template <bool aligned>"
    yield f"static __device__ void tile({tile_arguments(found)}) {{"
    yield from indented(_prologue(found, a, b, d))
    yield from indented(_loop(found, a, b))
    yield from indented(_epilogue(found, d))
    yield "}"
    yield ""


def _prologue(found: CudaPlan, a: Fragment, b: Fragment, d: Fragment) -> Iterator[str]:
    yield from place_of_block(found, 128)
    yield "const int lane = thread % 32, warp = thread / 32;"
    yield "const int warp_m = warp / WARPS * (BLOCK_M / WARPS), warp_n = warp % WARPS * (BLOCK_N / WARPS);"
    loaded = [side.name for side in (found.a, found.b) if by_matrix(found.instruction, side)]
    for name, part in (("A", a), ("B", b), ("D", d)):
        yield f"// {name}: {part.operand.pattern}"
        if name not in loaded:
            yield from part.variables(name.lower())
    yield f"{accumulator(found.instruction)} sum[TILES_M][TILES_N] = {{}};"
    for name in loaded:
        yield f"const unsigned int {name.lower()}_stages = shared_address({name.lower()}_tiles);"
    yield ""
    yield "// Where the warp's parts of a stage lie in shared memory."
    for side, part in ((found.a, a), (found.b, b)):
        yield from stage_places(found, side, part)
    if any(apart(found.instruction, side) for side in (found.a, found.b)):
        yield "const unsigned int same = M < 0 ? 0 : 0x3210;  // the bytes of a word as they are"
    if any(side_pairs(found.instruction, side) for side in (found.a, found.b)):
        yield "// The bytes of a lane's four k, of the even and of the odd row."
        yield "const unsigned int even = lane % 4 < 2 ? 0x6420 : 0x2064, odd = even + 0x1111;"
    yield ""


def _loop(found: CudaPlan, a: Fragment, b: Fragment) -> Iterator[str]:
    inst = found.instruction
    if inst.sparse or inst.scaled:
        yield from _fetching(found)
    if found.weights:
        yield from gemm_weights.prologue(found)
    yield from declarations(found, _sums(found))
    yield from loop_head(found)
    yield f"    {SYNCHRONIZE}  // and all warps have multiplied the one before, whose place is free"
    yield "    copy_stage(stage ? stage - 1 : STAGES - 1);"
    for side in (found.a, found.b):
        letter = side.name.lower()
        if by_matrix(inst, side):
            yield f"    const unsigned int {letter}_tile = {letter}_stages + stage * {side.name}_BYTES;"
        else:
            yield f"    const unsigned char *{letter}_tile = {letter}_tiles[stage];"
    if inst.sparse or inst.scaled or found.weights:
        given = _weighted(found, a) if found.weights else _steps(found, a, b)
        yield from indented(given)
        yield from next_stage(found)
        yield "}"
        yield ""
        return
    yield "#pragma unroll"
    yield f"    for (int step = 0; step < {found.steps}; ++step) {{"
    for side, part, tiles in ((found.a, a, "TILES_M"), (found.b, b, "TILES_N")):
        yield from indented(filled(found, side, part, tiles), 2)
    yield "#pragma unroll"
    yield "        for (int i = 0; i < TILES_M; ++i)"
    yield "#pragma unroll"
    yield "            for (int j = 0; j < TILES_N; ++j) multiply(sum[i][j].word, a_part[i], b_part[j]);"
    if found.scales and finer_blocks(found) > 1:
        depth = found.scales.depth
        yield f"        if ((step + 1) * {inst.k} % {depth} == 0) add_block((k + (step + 1) * {inst.k}) / {depth});"
    yield "    }"
    yield from indented(end_of_stage(found))
    yield from next_stage(found)
    yield "}"
    yield ""


def _sums(found: CudaPlan) -> Sums:
    """Where a lane's sums are."""
    inst = found.instruction
    return Sums(
        _sums_of(found), ("row", "column"), ("first_m", "first_n"), ("warp_m", "warp_n"),
        (found.block_m, found.block_n), (inst.m, inst.n), (found.tiles_m, found.tiles_n), ("TILES_M", "TILES_N"),
        "[i][j]", (found.paired(found.a), found.paired(found.b)),
    )  # fmt: skip


def _weighted(found: CudaPlan, a: Fragment) -> Iterator[str]:
    """The products of a stage with B of 4 bits."""
    yield "unsigned int b_part[TILES_N][2];"
    for step in range(found.steps):
        yield from gemm_weights.operand_lines(found, step)
        yield "{"
        yield f"    constexpr int step = {step};"
        yield from indented(filled(found, found.a, a, "TILES_M"))
        yield "#pragma unroll"
        yield "    for (int i = 0; i < TILES_M; ++i)"
        yield "#pragma unroll"
        yield "        for (int j = 0; j < TILES_N; ++j) multiply(sum[i][j].word, a_part[i], b_part[j]);"
        yield "}"


def _fetching(found: CudaPlan) -> Iterator[str]:
    """How a stage's metadata or scales come from memory to registers, one stage ahead."""
    if found.instruction.sparse:
        yield from fetching(found.instruction, found.steps, "TILES_M", "first_m + warp_m")
    else:
        yield from _scales_fetched(found)
    yield "fetch(0);"


def _scales_fetched(found: CudaPlan) -> Iterator[str]:
    inst = found.instruction
    words = _scale_words(found)
    deep = SCALE_BLOCKS * inst.block_size
    yield f"// Scales as mmacalc.pack_scales lays them out: a word of each row for {deep} k. A lane has those of the"
    yield "// rows and columns that thread ids choose: of two tiles of A, of four of B."
    yield "const int quad = lane % 4, eighth = lane / 4;  // scale_stride words are from tile to tile of 128 rows"
    counts = {"a": found.tiles_m // 2, "b": found.tiles_n // 4}
    every = ", ".join(
        f"{letter}_{when}[{count}][{words}]" for letter, count in counts.items() for when in ("now", "next")
    )
    yield f"unsigned int {every};"
    yield "const auto scale = [&](const unsigned int *scales, int row, int k) {"
    yield f"    const int tile = row / {SCALE_ROWS} * scale_stride + k / {deep};"
    yield f"    const int at = row % 32 * 4 + row % {SCALE_ROWS} / 32;"
    yield f"    const unsigned int word = scales[(long long)tile * {SCALE_ROWS} + at];"
    blocks = found.block_k // inst.block_size
    if blocks < SCALE_BLOCKS:
        yield f"    return word >> k / {inst.block_size} % {SCALE_BLOCKS} * 8;"
    else:
        yield "    return word;"
    yield "};"
    yield "const auto fetch = [&](int k) {"
    a, b = "quad / 2 * 16 + quad % 2 * 8 + eighth", "quad * 8 + eighth"
    alternating = "quad / 2 * 16 + quad % 2 + 2 * eighth"
    for letter, warp, first, rows in (
        ("a", "warp_m", "first_m", alternating if found.paired(found.a) else a),
        ("b", "warp_n", "first_n", alternating if found.paired(found.b) else b),
    ):
        place = f"32 * n + {rows}"
        yield "#pragma unroll"
        yield f"    for (int n = 0; n < {counts[letter]}; ++n) for (int word = 0; word < {words}; ++word) {{"
        yield f"        const int row = {first} + {warp} + {place}, at = k + word * {deep};"
        inside = f"at < K && row < {'M' if letter == 'a' else 'N'}"
        yield f"        {letter}_next[n][word] = {inside} ? scale({letter.upper()}_scales, row, at) : 0;"
        yield "    }"
    yield "};"


def _scale_words(found: CudaPlan) -> int:
    """The words of four scales that a row has in a stage."""
    return max(1, found.block_k // found.instruction.block_size // SCALE_BLOCKS)


def _steps(found: CudaPlan, a: Fragment, b: Fragment) -> Iterator[str]:
    """The products of a stage, step by step: what chooses metadata and scales is a constant of each."""
    inst = found.instruction
    yield from next_words("" if inst.sparse else "a_", *["b_"] * inst.scaled)
    for step in range(found.steps):
        yield "{"
        yield f"    constexpr int step = {step};"
        for side, part, tiles in ((found.a, a, "TILES_M"), (found.b, b, "TILES_N")):
            yield from indented(filled(found, side, part, tiles))
        yield "#pragma unroll"
        yield f"    for (int i = 0; i < TILES_M; i += {2 if inst.scaled else 1})"
        yield "#pragma unroll"
        yield f"        for (int j = 0; j < TILES_N; j += {4 if inst.scaled else 1}) {{"
        yield from indented(_step_products(found, step), 3)
        yield "        }"
        yield "}"


def _step_products(found: CudaPlan, step: int) -> Iterator[str]:
    inst = found.instruction
    if inst.sparse:
        word, selector = selected(inst, step)
        yield f"multiply<{selector}>(sum[i][j].word, a_part[i], b_part[j], now[i][{word}]);"
        return
    first = step * inst.k // inst.block_size
    word, byte = divmod(first, SCALE_BLOCKS)
    for i in range(2):
        for j in range(4):
            parts = f"sum[i + {i}][j + {j}].word, a_part[i + {i}], b_part[j + {j}]"
            scales = f"a_now[i / 2][{word}], b_now[j / 4][{word}]"
            yield f"multiply<{byte}, {i}, {j}>({parts}, {scales});"


def _epilogue(found: CudaPlan, d: Fragment) -> Iterator[str]:
    """The stores: pairs of neighbours where D is aligned."""
    inst = found.instruction
    output, stored, sums = output_of(found), found.stored, "total" if found.scales else "sum"
    first, both = f"{sums}[i][j].each[n * {stored}]", found.paired(found.b)  # two tiles have neighbouring columns
    every = [run.first.slot for run in runs(fragment(inst.operand("D")), "row")] if stored > 1 else range(len(d.items))
    firsts = [d.items[slot] for slot in every]
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
    yield f"    for (int j = 0; j < TILES_N; {'j += 2' if both else '++j'})"
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {len(firsts)}; ++n) {{"
    yield from indented(_stored_place(found, d), 3)
    yield f"            {output} *to = D + (long long)row * ldd + column;"
    if both:
        yield f"            {'float' if found.scales else element_of(inst, 'D')} each[{stored}];"
        yield "#pragma unroll"
        yield f"            for (int e = 0; e < {stored}; ++e)"
        yield f"                each[e] = {sums}[i][j + e % 2].each[n * {stored // 2} + e / 2];"
        first = "each[0]"
    if stored > 1:
        yield from indented(ends(found, first, stored), 3)
        yield "            if (aligned) {"
        yield "                if (row < M && column < N) *(neighbours *)to = *(const neighbours *)from;"
        yield "            } else {"
        yield "#pragma unroll"
        yield f"                for (int e = 0; e < {stored}; ++e)"
        yield "                    if (row < M && column + e < N) to[e] = from[e];"
        yield "            }"
    else:
        element = ended(found, f"{sums}[i][j].each[n]", "column")
        yield f"            if (row < M && column < N) *to = {element};"
    yield "        }"


def _stored_place(found: CudaPlan, d: Fragment) -> Iterator[str]:
    """The row and the column of a lane's n-th elements of a tile."""
    inst = found.instruction
    for axis, letter, index, unit, side in (
        ("row", "m", "i", inst.m, found.a),
        ("column", "n", "j", inst.n, found.b),
    ):
        tile = first_of_tile(index, unit, True) if found.paired(side) else f"{index} * {unit}"
        yield f"const int {axis} = first_{letter} + warp_{letter} + {tile} + {d.first(axis, 'd')} + {axis}s[n];"
