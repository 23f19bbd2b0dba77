"""A GEMM kernel of Blackwell around tcgen05.mma: TMA, mbarriers, a warp for each task, sums in Tensor Memory.

A block has six warps. One copies stages of A and B by TMA, one starts the products, four store: each reads its 32
lanes of Tensor Memory. Tensor Memory holds the sums of two tiles where they fit, so one is stored while the next is
multiplied; blocks go on from tile to tile until all are done. With cta_group::2 a pair of blocks computes one tile:
each copies its half of A and of B, and the first starts the products of both.

Scales (mxf8f6f4, mxf4, mxf4nvf4) lie in memory as `mmacalc.pack_scales` lays them out: 512 bytes of 128 rows and four
blocks of k, just as tcgen05.cp.32x128b.warpx4 takes them to Tensor Memory. Each stage has its own cells there, since
no rule of the PTX ISA orders a copy behind the products that read what it overwrites. So it has for the metadata of a
compressed A, which `mmacalc.pack_sparse` lays out for tcgen05.cp.128x128b: 16 bytes of each of 128 rows.

Sources: PTX ISA 9.1, section 9.7.16 (tcgen05): 9.7.16.4 (descriptors), 9.7.16.6 (order), 9.7.16.7 (allocation),
9.7.16.8 (ld), 9.7.16.9 (cp), 9.7.16.10 (mma, scales), 9.7.16.11 (commit); and what `tensor_copies` cites.
"""

from __future__ import annotations

from ..families.descriptors import SWIZZLES, instruction_descriptor
from ..families.shared_memory import PADDED_ROW
from ..families.tensor_memory import SCALE_BLOCKS, SCALE_BYTES, SCALE_ROWS
from .epilogue import finishing, parameters
from .gemm_scales import declared, finer_blocks, function, passed
from .gemm_slices import (
    group_function,
    is_sliced,
    k_range,
    mapped_launch,
    mapped_notes,
    mapped_parameters,
    mapped_places,
    matrix_of,
    reduction,
    tile_plan,
)
from .gemm_staging import block_order
from .gemm_tcgen05_plan import METADATA_BOX, PIECE_COLUMNS, THREADS, TensorMemoryPlan, plan
from .gemm_tcgen05_store import STORING, all_tiles, block_loop, loaded, storing, tile_loop
from .ptx import GRID_CONSTANT, SHARED_ADDRESS, header
from .source import indented, matrix_notes
from .staging import compression
from .tcgen05_functions import FUNCTIONS, PAIR, cell_function, column_function, commit_function, multiply_function
from .tensor_copies import (
    ARRIVE,
    MBARRIERS,
    TENSOR_MAP,
    copied_bytes,
    copy_boxes,
    copy_lines,
    map_comments,
    multiple,
    offsets,
    step_bytes,
    swizzle_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TensorMemoryPlan", "plan", "source"]

COPYING, MULTIPLYING = STORING, STORING + 1  # the numbers of warps


def _products(found: TensorMemoryPlan) -> Iterator[str]:
    """The functions around tcgen05.mma, cp and commit."""
    yield from multiply_function(found.instruction)
    if found.instruction.scaled:
        yield "// Starts to copy 512 bytes of scales to four columns, 32 lanes of which have them four times."
        yield from cell_function("copy_scales", found.group, "32x128b.warpx4")
    if found.instruction.sparse:
        yield "// Starts to copy 2048 bytes of metadata to four columns."
        yield from cell_function("copy_metadata", found.group, "128x128b")
    yield from commit_function(found.group)


def _loading(found: TensorMemoryPlan) -> Iterator[str]:
    shape, split = ("16x32bx2", f", {found.lane_columns}") if found.halves else ("32x32b", "")
    yield from column_function("load_columns", loaded(found), shape=shape, split=split)


def source(found: TensorMemoryPlan, sizes: tuple[int, int, int]) -> str:
    """The source of the kernel: D = A B.

    Args:
        sizes: M, N and K of the launch line that is shown.
    """
    each, matrices = tile_plan(found), [matrix_of(found, side) for side in "AB"]
    given = copy_boxes(matrices)
    if found.group == 2:
        given = given.replace("complete_tx::bytes ", "complete_tx::bytes.cta_group::2 ")
    lines = [*_head(found), *_constants(found), f"{TENSOR_MAP}\n{MBARRIERS}\n{given}\n{FUNCTIONS}"]
    lines.append(PAIR if found.group == 2 else ARRIVE)
    lines += [*_products(found), *_loading(found), *block_order(), *group_function(found), *function(found)]
    lines += finishing(found.instruction, each.epilogue)
    return "\n".join([*lines, *_kernel(each), *reduction(found), *_launch(found, sizes), ""])


def _head(found: TensorMemoryPlan) -> Iterator[str]:
    inst, types = found.instruction, found.instruction.types
    yield f"// D = {found.epilogue.formula} with {inst.name}"
    given = ", ".join(f"{name} {types[name]}" for name in "ABD")
    yield f"// on {inst.architecture.title}: M {inst.m}, N {inst.n}, K {inst.k}; {given}."
    yield from matrix_notes(found)
    yield f"// The kernel takes tensor maps: lda is a multiple of {multiple(found.a)}, ldb of {multiple(found.b)}."
    yield from map_comments((found.a, found.b))
    yield from mapped_notes(found)
    if inst.scaled:
        boxes = " and ".join(" x ".join(map(str, found.scale_box(name))) for name in "AB")
        blocks = f"mmacalc.pack_scales(scales, {found.block_k // inst.block_size})"
        yield f"// Scales: a {inst.format('SA').name} for each {inst.block_size} k, laid out by {blocks}."
        several = ", and their third dimension" if found.batches else ", B's with theirs" if found.groups else ""
        yield f"// Maps of A's and B's: rows of tiles, 8 bytes to an element, no swizzle, boxes {boxes}{several}."
    if inst.sparse:
        several = ", and their third dimension" * bool(found.batches)
        box = f"box 1 x {METADATA_BOX}{several}"
        yield f"// Map of A's metadata: rows of tiles, 8 bytes to an element, no swizzle, {box}."
    pair = ["__cluster_dims__(x, y, z) __attribute__((cluster_dims(x, y, z)))"] * (found.group == 2)
    yield header(GRID_CONSTANT, *pair)
    yield SHARED_ADDRESS.rstrip()
    yield ""


def _constants(found: TensorMemoryPlan) -> Iterator[str]:
    inst, group = found.instruction, found.group
    of = "of a pair of blocks" if group == 2 else "of a block"
    yield f"enum {{ BLOCK_M = {inst.m}, BLOCK_N = {inst.n}, BLOCK_K = {found.block_k} }};  // {of}"
    warps = f"STORING = {STORING}, COPYING = {COPYING}, MULTIPLYING = {MULTIPLYING}"
    yield f"enum {{ {warps}, THREADS = {THREADS} }};  // how many warps store; which others do what"
    sizes = [f"A_BYTES = {found.a.tile.bytes}", f"B_BYTES = {found.b.tile.bytes}"]
    cells = dict(zip(("A_SCALES", "B_SCALES"), found.scale_bytes)) if inst.scaled else {}
    if inst.sparse:
        cells["METADATA"] = found.cell_bytes - sum(found.scale_bytes)
    if cells:
        sizes += [f"{name} = {size}" for name, size in cells.items()]
        yield f"enum {{ {', '.join(sizes)} }};  // of a stage"
        sizes = []
    sizes.append(f"STAGE_BYTES = {' + '.join(['A_BYTES', 'B_BYTES', *cells])}")
    yield f"enum {{ STAGES = {found.stages}, {', '.join(sizes)} }};"
    if found.padded:
        copied = copied_bytes(found.a) + copied_bytes(found.b) + found.cell_bytes
        yield f"enum {{ COPIED_BYTES = {copied} }};  // of a stage, without padding"
    sums = f"SUMS = {found.accumulators}, SUM_COLUMNS = {found.sum_columns}"
    yield f"enum {{ {sums} }};  // in Tensor Memory, of which {found.columns} columns are allocated"
    columns = dict(zip(("A_SCALE_COLUMNS", "B_SCALE_COLUMNS"), found.scale_columns)) if inst.scaled else {}
    if inst.sparse:
        columns["METADATA_COLUMNS"] = found.metadata_columns
    if columns:
        each = ", ".join([f"{name} = {count}" for name, count in columns.items()])
        yield f"enum {{ {each} }};  // of a stage, behind the sums"
    types = ", ".join(f"{name} {found.instruction.types[name]}" for name in "ABD")
    yield f"// The instruction descriptor: M {inst.m}, N {inst.n}, {types}" + _majors(found)
    yield f"enum {{ INSTRUCTION = {_descriptor(found):#x} }};"
    yield ""


def _majors(found: TensorMemoryPlan) -> str:
    majors = [f"{each.name} {'K' if each.rows_of_k else 'MN'}-major" for each in (found.a, found.b)]
    return f", {', '.join(majors)}."


def _descriptor(found: TensorMemoryPlan, scale: int = 0, selector: int = 0) -> int:
    """The instruction descriptor.

    Args:
        scale: the byte of the scales' words where they begin; selector: which of two products' metadata are meant.
    """
    inst, form = found.instruction, found.instruction.form
    types = inst.types
    options: dict[str, int | str] = {"a": types["A"], "b": types["B"]}
    if not inst.scaled:
        options["d"] = types["D"]
    else:
        options |= {"scale": inst.format("SA").name, "scale_id_a": scale, "scale_id_b": scale}
    if inst.sparse:
        options |= {"sparse": 1, **({"selector": selector} if selector else {})}
    turned = {f"transpose_{each.name.lower()}": 1 for each in (found.a, found.b) if not each.rows_of_k}
    return instruction_descriptor(form.kind, inst.m, inst.n, **options, **turned).word


def _kernel(found: TensorMemoryPlan) -> Iterator[str]:
    pair = "__cluster_dims__(2, 1, 1) " if found.group == 2 else ""
    yield f'extern "C" __global__ void {pair}__launch_bounds__(THREADS)'
    yield f"{found.name}("
    yield "    const __grid_constant__ tensor_map A, const __grid_constant__ tensor_map B,"
    if found.instruction.scaled:
        yield "    const __grid_constant__ tensor_map A_scales, const __grid_constant__ tensor_map B_scales,"
    if found.instruction.sparse:
        yield "    const __grid_constant__ tensor_map metadata,"
    yield f"    {mapped_parameters(found, declared(found))}) {{"
    yield from indented((*mapped_places(found), *_prologue(found), *_copying(found), *_multiplying(found)))
    yield from indented((*storing(found), *_end(found)))
    yield "}"
    yield ""


def _prologue(found: TensorMemoryPlan) -> Iterator[str]:
    pair = found.group == 2
    yield "extern __shared__ unsigned char memory[];  // STAGES * STAGE_BYTES, and up to 1024 to align them"
    yield "__shared__ unsigned long long full[STAGES], empty[STAGES], summed[SUMS], stored[SUMS];"
    yield "__shared__ unsigned int allocated;"
    yield "int thread, block, blocks;"
    yield 'asm("mov.u32 %0, %%tid.x;" : "=r"(thread));'
    yield 'asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));'
    yield 'asm("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));'
    yield "const int warp = thread / 32, lane = thread % 32;"
    if pair:
        yield "const int rank = block % 2;  // in the pair, of which the first starts the products"
        yield "block /= 2, blocks /= 2;"
    yield from all_tiles(found)
    yield "const unsigned int a_stages = (shared_address(memory) + 1023) & ~1023u;"
    yield "const unsigned int b_stages = a_stages + STAGES * A_BYTES;"
    if found.instruction.scaled:
        yield "const unsigned int a_scales = b_stages + STAGES * B_BYTES, b_scales = a_scales + STAGES * A_SCALES;"
    if found.instruction.sparse:
        last = ("b_scales", "B_SCALES") if found.instruction.scaled else ("b_stages", "B_BYTES")
        yield f"const unsigned int metadata_stages = {' + STAGES * '.join(last)};"
    yield "const unsigned int full_at = shared_address(full), empty_at = shared_address(empty);  // 8 bytes each"
    yield "const unsigned int summed_at = shared_address(summed), stored_at = shared_address(stored);"
    yield "if (thread == 0) {"
    yield from indented(_barriers("2 * STORING" if pair else "STORING"))
    yield "}"
    yield "if (warp == MULTIPLYING) {"
    name = f"cta_group::{found.group}.sync.aligned"
    yield f'    asm volatile("tcgen05.alloc.{name}.shared::cta.b32 [%0], {found.columns};\\n"'
    yield f'                 "tcgen05.relinquish_alloc_permit.{name};"'
    yield '                 : : "r"(shared_address(&allocated)) : "memory");'
    yield "}"
    yield 'asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");'
    yield from ["synchronize_pair();"] * pair
    yield 'asm volatile("bar.sync 0;" ::: "memory");'
    yield 'asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");'
    yield "const unsigned int sums = *(volatile unsigned int *)&allocated;  // in Tensor Memory"
    yield ""


def _barriers(warps: str) -> Iterator[str]:
    """The mbarriers of stages and of tiles' sums."""
    yield "for (int stage = 0; stage < STAGES; ++stage) {"
    yield "    begin(full_at + 8 * stage, 1);"
    yield "    begin(empty_at + 8 * stage, 1);"
    yield "}"
    yield "for (int sum = 0; sum < SUMS; ++sum) {"
    yield "    begin(summed_at + 8 * sum, 1);"
    yield f"    begin(stored_at + 8 * sum, {warps});  // a thread of each warp"
    yield "}"
    yield 'asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");'
    yield 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


def _copying(found: TensorMemoryPlan) -> Iterator[str]:
    inst, pair = found.instruction, found.group == 2
    copied = "COPIED_BYTES" if found.padded else "STAGE_BYTES"
    yield "if (warp == COPYING && elected()) {"
    yield "    // One thread copies, stage after stage."
    yield from indented(tile_loop(found, "stage = 0, round = 0"))
    more = {"A": f" + rank * {found.a.extent}" * pair, "B": f" + rank * {found.b.extent}" * pair}
    row = "group_row + " * bool(found.groups)
    yield f"        const int first_m = {row}tile_m * BLOCK_M{more['A']}, first_n = tile_n * BLOCK_N{more['B']};"
    yield _stages(found)
    yield "            if (round) wait(empty_at + 8 * stage, (round - 1) % 2);"
    if pair:
        yield "            const unsigned int barrier = in_block(full_at + 8 * stage, 0);  // of the first block"
        yield f"            if (rank == 0) arrive_and_expect(full_at + 8 * stage, 2 * {copied});  // of both"
    else:
        yield "            const unsigned int barrier = full_at + 8 * stage;"
        yield f"            arrive_and_expect(barrier, {copied});"
    for each, first in ((found.a, "first_m"), (found.b, "first_n")):
        lines = copy_lines(each, first, matrix_of(found, each.name), compression(inst, each.name))
        yield from indented(lines, 3)
    if inst.scaled:
        step = found.scale_tiles * SCALE_BYTES // 8
        at = f"k / BLOCK_K * {step}"
        row = "scale_row + " * bool(found.groups) + ("tile_m * 2 + rank" if pair else "tile_m")
        a, b = (f"{matrix}, barrier" if matrix else "barrier" for matrix in (matrix_of(found, side) for side in "AB"))
        yield f"            copy_box(a_scales + stage * A_SCALES, &A_scales, {at}, {row}, {a});"
        tiles = inst.n // SCALE_ROWS
        column = f"tile_n * {tiles}" if tiles > 1 else "tile_n"
        yield f"            copy_box(b_scales + stage * B_SCALES, &B_scales, {at}, {column}, {b});"
    if inst.sparse:
        row = "scale_row + " * bool(found.groups) + ("tile_m * 2 + rank" if pair else "tile_m")
        several = f"{matrix_of(found, 'A')}, " * bool(matrix_of(found, "A"))
        pieces = found.metadata_columns // PIECE_COLUMNS
        yield f"            for (int piece = 0; piece < {pieces}; ++piece)  // {PIECE_COLUMNS} columns of 128 lanes"
        at = f"(k / BLOCK_K * {pieces} + piece) * {METADATA_BOX}"
        to = f"metadata_stages + stage * METADATA + piece * {METADATA_BOX * 8}"
        yield f"                copy_box({to}, &metadata, {at}, {row}, {several}barrier);"
    yield "            if (++stage == STAGES) stage = 0, ++round;"
    yield "        }"
    yield "    }"
    yield "}"


def _stages(found: TensorMemoryPlan, summed: bool = False) -> str:
    """The loop over the stages of a tile, or over those that are summed up together."""
    first, end = k_range(found)
    if summed and found.scales:
        first, end = "block_k", f"{end} && k < block_k + {found.scales.depth}"
    return f"        for (int k = {first}; k < {end}; k += BLOCK_K) {{"


def _multiplying(found: TensorMemoryPlan) -> Iterator[str]:
    leader = " && rank == 0" if found.group == 2 else ""
    yield f"if (warp == MULTIPLYING{leader} && elected()) {{"
    yield "    // One thread starts the products as stages come; it says when a stage is free, when a tile is summed."
    turns, parts = "tiles" if not found.scales else "blocks of k", finer_blocks(found)
    yield f"    int stage = 0, round = 0, turn = 0;  // turn: {turns} before this one"
    if found.scales:
        yield "    for (int tile = block; tile < tiles; tile += blocks)" + " {" * (parts > 1)
        if parts == 1:
            yield from indented(block_loop(found, ", ++turn"))
    else:
        yield "    for (int tile = block; tile < tiles; tile += blocks, ++turn) {"
    if parts == 1:
        yield from indented(_free_sum(), 2)
    yield _stages(found, summed=parts == 1)
    yield "            wait(full_at + 8 * stage, round % 2);"
    yield '            asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");'
    for each in (found.a, found.b):
        leading, stride = offsets(each)
        code, letter = SWIZZLES["tcgen05"][swizzle_name(each)], each.name.lower()
        start = f"descriptor_at({letter}_stages + stage * {each.name}_BYTES, {leading}, {stride}, {code})"
        yield f"            const unsigned long long {letter}_start = {start};"
    yield from indented((*_scales(found), *_metadata(found)), 3)
    for part in range(parts if parts > 1 else 0):
        yield from indented(_block_of_stage(found, part, found.steps // parts), 3)
    for step in range(found.steps if parts == 1 else 0):
        yield f"            {_product(found, step)}"
    yield "            commit(empty_at + 8 * stage);"
    yield "            if (++stage == STAGES) stage = 0, ++round;"
    yield "        }"
    yield from ["        commit(summed_at + 8 * sum);"] * (parts == 1)
    yield "    }"
    yield "}"


def _free_sum() -> Iterator[str]:
    """The columns of the next sum, when what was in them is stored."""
    yield "const int sum = turn % SUMS;"
    yield "if (turn >= SUMS) wait(stored_at + 8 * sum, (turn / SUMS - 1) % 2);"
    yield 'asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");'


def _block_of_stage(found: TensorMemoryPlan, part: int, steps: int) -> Iterator[str]:
    """The products of one of several blocks of k that a stage has."""
    assert found.scales
    yield f"if (k + {part * found.scales.depth} < {k_range(found)[1]}) {{" if part else "{"
    yield from indented(_free_sum())
    for step in range(part * steps, (part + 1) * steps):
        yield f"    {_product(found, step, step == part * steps)}"
    yield "    commit(summed_at + 8 * sum);"
    yield "    ++turn;"
    yield "}"


def _scales(found: TensorMemoryPlan) -> Iterator[str]:
    """Where the stage's scales go in Tensor Memory, and their copies: word after word of k, rows within it."""
    if not found.instruction.scaled:
        return
    columns = found.scale_columns
    rows = found.instruction.n // SCALE_ROWS
    more = " + METADATA_COLUMNS" * found.instruction.sparse
    each = f"(A_SCALE_COLUMNS + B_SCALE_COLUMNS{more})"
    yield f"const unsigned int a_scaling = sums + SUMS * SUM_COLUMNS + stage * {each};"
    yield "const unsigned int b_scaling = a_scaling + A_SCALE_COLUMNS;"
    for letter, tiles in (("a", 1), ("b", rows)):
        start = f"descriptor_at({letter}_scales + stage * {letter.upper()}_SCALES, 16, 128, 0)"
        yield f"const unsigned long long {letter}_from = {start};"
        for word in range(found.scale_tiles):
            for tile in range(tiles):
                to = 4 * (word * tiles + tile)
                at = (tile * found.scale_tiles + word) * SCALE_BYTES // 16
                yield f"copy_scales({letter}_scaling{_more(to)}, {letter}_from{_more(at)});"
    assert columns == (4 * found.scale_tiles, 4 * found.scale_tiles * rows)


def _metadata(found: TensorMemoryPlan) -> Iterator[str]:
    """Where the stage's metadata go in Tensor Memory, and their copies."""
    if not found.instruction.sparse:
        return
    place = "b_scaling + B_SCALE_COLUMNS"
    if not found.instruction.scaled:
        place = "sums + SUMS * SUM_COLUMNS + stage * METADATA_COLUMNS"
    yield f"const unsigned int selecting = {place};"
    yield "const unsigned long long metadata_from = descriptor_at(metadata_stages + stage * METADATA, 16, 128, 0);"
    for piece in range(found.metadata_columns // PIECE_COLUMNS):
        at = _more(piece * METADATA_BOX * 8 // 16)
        yield f"copy_metadata(selecting{_more(piece * PIECE_COLUMNS)}, metadata_from{at});"


def _more(number: int) -> str:
    return f" + {number}" if number else ""


def _product(found: TensorMemoryPlan, step: int, begins: bool = False) -> str:
    """The product of a step of a stage; begins: whether a block of k within it begins with it."""
    inst = found.instruction
    a, b = (_more(step_bytes(each, inst.k // compression(inst, each.name), step) // 16) for each in (found.a, found.b))
    word, more, metadata = "INSTRUCTION", "", ""
    pair, selector = divmod(step, inst.index_sets())
    if inst.sparse:
        metadata = f", selecting{_more(pair * inst.operand('K').registers)}"
        word = f"{_descriptor(found, 0, selector):#x}" if selector else word
    if inst.scaled:
        first = step * inst.k // inst.block_size
        word = f"{_descriptor(found, first % SCALE_BLOCKS):#x}"
        columns = first // SCALE_BLOCKS * 4
        more = f", a_scaling{_more(columns)}, b_scaling{_more(columns * (inst.n // SCALE_ROWS))}"
    add = "true" if step else f"k > {'block_k' if found.scales else k_range(found)[0]}"
    add = "false" if begins else add
    return f"multiply(sums + sum * SUM_COLUMNS, a_start{a}, b_start{b}{metadata}, {word}{more}, {add});"


def _end(found: TensorMemoryPlan) -> Iterator[str]:
    yield "// Tensor Memory is not used any more."
    yield 'asm volatile("bar.warp.sync 0xffffffff;\\n"'
    yield '             "tcgen05.fence::before_thread_sync;\\n"'
    yield '             "bar.sync 0;\\n"'
    yield '             "tcgen05.fence::after_thread_sync;" ::: "memory");'
    yield from ["synchronize_pair();"] * (found.group == 2)
    yield "if (warp == MULTIPLYING)"
    yield f'    asm volatile("tcgen05.dealloc.cta_group::{found.group}.sync.aligned.b32 %0, {found.columns};"'
    yield '                 : : "r"(sums) : "memory");'


def _launch(found: TensorMemoryPlan, sizes: tuple[int, int, int]) -> Iterator[str]:
    m, n, k = sizes
    more = parameters(found.instruction, found.epilogue).passed
    inst = found.instruction
    scales = "A_scale_map, B_scale_map, " * inst.scaled + "metadata_map, " * inst.sparse
    along = passed(found)
    blocks = found.blocks(m, n)
    for each, ld in (
        (found.a, k // compression(inst, "A") if found.a.along_k else m),
        (found.b, k if found.b.along_k else n),
    ):
        if ld % multiple(each):
            padded = -(-ld // multiple(each)) * multiple(each)
            why = f"have whole boxes of {PADDED_ROW}" if each.packed else "begin at multiples of 16 bytes"
            yield f"// ld{each.name.lower()} is {padded}, not {ld}: rows of memory {why}."
    pairs = ", in pairs" if found.group == 2 else ""
    yield f"// Fewer blocks do as well{pairs}: one for each multiprocessor, which then goes on from tile to tile."
    if is_sliced(found):
        yield from mapped_launch(found, sizes, blocks, found.threads, found.shared)
        return
    yield f"// cudaFuncSetAttribute({found.name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {found.shared});"
    yield f"// {found.name}<<<{blocks}, {found.threads}, {found.shared}>>>("
    words = f"the maps, D, {along}M, N, K, ldd{more}"
    yield f"//     A_map, B_map, {scales}D, {along}{m}, {n}, {k}, {n}{more});  // {words}"
