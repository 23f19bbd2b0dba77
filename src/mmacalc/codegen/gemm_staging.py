"""From global to shared memory: how a GEMM kernel in CUDA stages A and B, and what such kernels have in common."""

from __future__ import annotations

from itertools import pairwise

from ..base.checks import whole
from ..base.errors import Error
from ..base.records import TupleRecord
from .epilogue import NO_EPILOGUE, output_format, parameters
from .fragments import fragment, runs, total
from .gemm_scales import INPUTS, finer_blocks, stride_declared, stride_passed
from .gemm_slices import is_sliced, name_ending, notes, sliced_kernel, sliced_launch, tile_places, tile_rows
from .gemm_turned import TRANSPOSE, held_words, neighbours, turning
from .ldmatrix import blocks
from .ptx import SHARED_ADDRESS, header
from .source import indented, kernel_name, matrix_notes, memory_type
from .staging import VECTOR, Side, bytes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction
    from ..model.block_scales import BlockScales
    from .epilogue import Epilogue
    from .gemm_tcgen05_plan import TensorMemoryPlan
    from .gemm_tma import TmaPlan

__all__ = [
    "ALIGNMENT", "FIRST_ASYNC", "SHARED_BYTES", "STATIC_BYTES", "THREADS", "VECTOR", "CudaPlan", "accumulator",
    "arguments", "block_order", "copy_async", "element_of", "ended", "ends", "head", "kernels", "launch_line",
    "loop_head", "next_stage", "output_of", "place_of_block", "registers_of", "staging", "target_number",
    "tile_arguments",
]  # fmt: skip

IN_TURN = 'asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");  // what comes next is loaded later, or ptxas spills'
THREADS = 128  # of a block: four warps
FIRST_ASYNC = 80  # sm_80 and later have cp.async
STAGES = 3  # in shared memory, if they fit
MOST_HELD = 64  # registers of a stage that is held while another is multiplied, beside 128 sums: more are spilled
STATIC_BYTES = 48 << 10  # of shared memory that a kernel has without asking
SHARED_BYTES = 227 << 10  # that a block of Hopper and Blackwell can ask for
ALIGNMENT = 1024  # of a stage: the period of the widest swizzle
GROUP = 8  # rows of tiles of which blocks take all columns before they go on


class CudaPlan(TupleRecord):
    """The sizes of a GEMM kernel: tiles of the instruction along M and along N in a warp (of wgmma: in the warpgroup),
    k-steps of a stage, the two sides, and the stages in shared memory."""

    instruction: Instruction
    tiles_m: int
    tiles_n: int
    steps: int
    a: Side
    b: Side
    stages: int
    epilogue: Epilogue = NO_EPILOGUE
    weights: bool = False  # whether B has 4 bits, which the kernel makes 16
    split: int = 1  # the parts of K, and how many products the launch line has: see `gemm_slices`
    batches: int | None = None
    scales: BlockScales | None = None  # those along K
    groups: int | None = None  # how many the launch line has

    def with_stages(self, asked: int | None) -> CudaPlan:
        """The plan with a number of stages: as asked for, or three if they fit.

        Raises:
            Error: fewer than two (before sm_80, where nothing is copied in the background, other than two), or more
                than shared memory has.
        """
        room = SHARED_BYTES if self.dynamic else STATIC_BYTES
        most = (room - ALIGNMENT * self.dynamic) // self.stage_bytes
        asynchronous = target_number(self.instruction) >= FIRST_ASYNC
        highest = most if asynchronous else 2
        if asked is not None and not 2 <= asked <= highest:
            raise Error(f"stages of {self.instruction.name} are 2 to {highest} (in {room} bytes); got {asked}")
        return self._replace(stages=asked or (2 if self.dynamic else min(STAGES, highest)))

    @property
    def stage_bytes(self) -> int:
        """The bytes of a stage in shared memory."""
        return self.a.tile.bytes + self.b.tile.bytes

    @property
    def dynamic(self) -> bool:
        """Whether two stages do not fit into static shared memory."""
        return 2 * self.stage_bytes > STATIC_BYTES

    @property
    def shared(self) -> int:
        """The bytes of dynamic shared memory of a launch."""
        return self.stages * self.stage_bytes + ALIGNMENT if self.dynamic else 0

    @property
    def name(self) -> str:
        """The name of the kernel for aligned matrices; `_any` behind it is that of the other."""
        return f"gemm_{kernel_name(self.instruction)}{'_int4' * self.weights}{name_ending(self)}"

    @property
    def reduce_name(self) -> str:
        """The name of the kernel that adds the parts of K."""
        return f"{self.name}_reduce"

    def shares(self, side: Side) -> int:
        """The k of the product that one unit of a side in memory stands for: 2 of a compressed A, and of pairs of
        elements in a byte."""
        return self.block_k // side.depth

    def packed(self, side: Side) -> int:
        """The elements in a unit of a side, a byte: leading dimensions are given in elements, and counted in units."""
        if self.weights and side.name == "B":
            return 2
        return max(1, 8 // self.instruction.operand("A").placement.slot_bits)

    def lead_multiple(self, side: Side) -> int:
        """What the leading dimension of a side is a multiple of in aligned matrices."""
        return VECTOR // side.bytes * self.packed(side)

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the kernels take behind D: metadata of a sparse A, or scales."""
        scales = INPUTS if self.instruction.scaled or self.scales else ()
        return (*["metadata"] * self.instruction.sparse, *scales, *["B_scales"] * self.weights)

    @property
    def stored(self) -> int:
        """The neighbours in D that one store writes."""
        return runs(fragment(self.instruction.operand("D")), "row")[0].count * (2 if self.paired(self.b) else 1)

    def paired(self, side: Side) -> bool:
        """Whether neighbours of 8 bits are turned over in pairs, so that rows of 16 alternate: see `ldmatrix.Pairs`."""
        if side.bits != 8 or side.rows_of_k:
            return False
        return blocks(fragment(self.instruction.operand(side.name))) is None

    def blocks(self, m: int, n: int) -> int:
        """The blocks of a launch."""
        return tile_rows(m, self.block_m, self.groups) * -(-n // self.block_n)

    def aligned(self, m: int, n: int, k: int, lda: int, ldb: int, ldd: int) -> bool:
        """Whether the kernel for aligned matrices takes these sizes."""
        given = {"K": k, "lda": lda, "ldb": ldb, "M": m, "N": n, "ldd": ldd}
        return not any(given[name] % count for name, count in self.multiples.items())

    @property
    def multiples(self) -> dict[str, int]:
        """What the sizes of aligned matrices are multiples of, where that is more than 1."""
        sides = [("M", self.a), ("N", self.b)]
        rows = {name: VECTOR // side.bytes for name, side in sides if not side.rows_of_k}
        rows |= {name: neighbours(side) for name, side in sides if side.turned}
        found = {"K": self.depth_multiple, "lda": self.lead_multiple(self.a), "ldb": self.lead_multiple(self.b)}
        found |= {"M": rows.get("M", 1), "N": max(rows.get("N", 1), self.stored), "ldd": self.stored}
        return {name: count for name, count in found.items() if count > 1}

    @property
    def rows_of_k(self) -> tuple[Side, ...]:
        """The sides whose rows end where k does; weights have whole words behind it."""
        return tuple([side for side in (self.a, self.b) if side.along_k and not (self.weights and side.name == "B")])

    @property
    def depth_multiple(self) -> int:
        """What K is a multiple of in aligned matrices: 16 bytes of each that has k contiguous; 1 if none has."""
        every = [VECTOR // side.bytes * self.shares(side) for side in self.rows_of_k]
        return max(every, default=1)

    @property
    def wave(self) -> int:
        """The lanes of a warp."""
        return 32

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return THREADS

    @property
    def block_m(self) -> int:
        """The rows of D that a block computes."""
        return self.a.extent

    @property
    def block_n(self) -> int:
        """The columns of D that a block computes."""
        return self.b.extent

    @property
    def block_k(self) -> int:
        """The k of one stage."""
        return self.steps * self.instruction.k


def element_of(inst: Instruction, name: str) -> str:
    """The C type of an element in memory; f16 and bf16 as their bits."""
    return memory_type(inst.format(name).name, "cuda")


def output_of(found: CudaPlan | TensorMemoryPlan | TmaPlan) -> str:
    """The C type of D's elements in memory."""
    return memory_type(output_format(found.instruction, found.epilogue).name, "cuda")


def ends(found: CudaPlan | TensorMemoryPlan | TmaPlan, sums: str, count: int) -> Iterator[str]:
    """What the stores take the neighbours of D from: the sums, or what the epilogue makes of them.

    Args:
        sums: the first of the elements, as C text that ends in its number in brackets; count: how many are neighbours.
    """
    if not found.epilogue.words:
        yield f"const {output_of(found)} *from = &{sums};"
        return
    yield "neighbours made;"
    yield "#pragma unroll"
    yield f"for (int e = 0; e < {count}; ++e)"
    yield f"    made.element[e] = {ended(found, sums.removesuffix(']') + ' + e]', 'column + e')};"
    yield f"const {output_of(found)} *from = made.element;"


def ended(
    found: CudaPlan | TensorMemoryPlan | TmaPlan, element: str, column: str, given: tuple[str, str] | None = None
) -> str:
    """An element of D in the row `row` as C text: the sum, or what the epilogue makes of it.

    Args:
        given: the rows of D and the arguments of the epilogue, if they are not those of the kernel.
    """
    if not found.epilogue.words:
        return element
    rows, passed = given or ("M", parameters(found.instruction, found.epilogue).passed)
    return f"finished({element}, row, {column}, {rows}, N{passed})"


def head(found: CudaPlan) -> Iterator[str]:
    """The comment, and what stands for CUDA's headers."""
    inst = found.instruction
    yield f"// D = {found.epilogue.formula} with {inst.name} on {inst.architecture.title}."
    yield from matrix_notes(found)
    for side in (found.a, found.b):
        if side.packed:
            yield f"// Elements of {side.name} have {side.packed} bits in memory, one behind the other, the first in"
            yield "// the lowest bits of a byte: rows begin at whole bytes, and have whole ones."
    named: dict[int, list[str]] = {}
    for name, count in found.multiples.items():
        named.setdefault(count, []).append(name)
    multiples = "; ".join(f"{', '.join(names)} multiples of {count}" for count, names in named.items())
    yield f"// ld are in elements. {found.name}"
    yield f"// is for aligned matrices: {multiples};"
    yield f"// {found.name}_any for all others."
    yield from notes(found)
    yield header(one_block=_one_block(found)) + SHARED_ADDRESS.rstrip()
    yield ""


COPY_16 = """\
// Starts to copy 16 bytes to shared memory, of which the last 16 - bytes are zeros.
static __device__ void copy(ADDRESS to, const void *from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 : : "r"(SHARED), "l"(from), "r"(bytes) : "memory");
}

"""
COPY_NARROW = {
    4: """\
// Starts to copy 16 elements of 4 bits to the first half of 16 bytes of shared memory; zeros if bytes is 0.
static __device__ void copy_of_4(unsigned int to, const void *from, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" : : "r"(to), "l"(from), "r"(bytes) : "memory");
}

""",
    6: """\
// Starts to copy 16 elements of 6 bits to the first 12 of 16 bytes of shared memory; zeros if bytes is 0.
static __device__ void copy_of_6(unsigned int to, const void *from, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\\n"
                 "cp.async.ca.shared.global [%0+4], [%1+4], 4, %2;\\n"
                 "cp.async.ca.shared.global [%0+8], [%1+8], 4, %2;" : : "r"(to), "l"(from), "r"(bytes) : "memory");
}

""",
}
COPIED_AT_ONCE = {4: 8, 6: 4}  # bytes
COPY_ASYNC = """\
static __device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all copies but those LAST.
static __device__ void wait_for_copies() { asm volatile("cp.async.wait_group ALL_BUT;" ::: "memory"); }
"""


def copy_async(all_but: int, last: str, pointer: bool = False, whole: bool = True) -> str:
    """The functions around cp.async.

    Args:
        all_but: groups that are not waited for; last: which these are, in words. pointer: whether `copy` takes a
            pointer instead of an address in shared memory. whole: whether 16 bytes are copied at once.
    """
    address, shared = ("unsigned char *", "shared_address(to)") if pointer else ("unsigned int ", "to")
    text = (COPY_16 * whole + COPY_ASYNC).replace("ADDRESS ", address).replace("SHARED", shared)
    return text.replace("LAST", last).replace("ALL_BUT", str(all_but))


COPY = """\
// Copies 16 bytes to shared memory, of which the last 16 - bytes are zeros.
static __device__ void copy(unsigned char *to, const void *from, int bytes) {
    u32x4 found = {};
    if (bytes == 16) {
        found = *(const u32x4 *)from;
    } else {
#pragma unroll  // so that the bytes stay in registers
        for (int n = 0; n < 16; ++n)
            if (n < bytes) ((unsigned char *)&found)[n] = ((const unsigned char *)from)[n];
    }
    *(u32x4 *)to = found;
}

"""
AT_ONCE = """\
static __device__ void commit_copies() {}  // all is copied at once

static __device__ void wait_for_copies() {}
"""


def staging(found: CudaPlan, placed: bool = True) -> Iterator[str]:
    """What copies a stage of A and of B to shared memory.

    Args:
        placed: whether addresses in shared memory are asked for by row and byte.
    """
    copied = not (found.a.turned and found.b.turned)
    asynchronous = copied and target_number(found.instruction) >= FIRST_ASYNC
    if asynchronous:
        every = {side.packed for side in (found.a, found.b)}
        yield from (COPY_NARROW[bits] for bits in sorted(every - {0}))
        yield copy_async(found.stages - 2, f"of the last {found.stages - 2} stages", whole=0 in every)
    else:
        yield COPY * copied + AT_ONCE
    if any(side.turned and side.bytes == 1 for side in (found.a, found.b)):
        yield TRANSPOSE
    for side in (found.a, found.b):
        if placed or side.turned:
            yield from side.tile.function()
        depth = "BLOCK_K" if found.shares(side) == 1 else str(side.depth)
        if side.turned:
            yield from turning(
                side, depth, THREADS, found.depth_multiple % (VECTOR // side.bytes * found.shares(side)) == 0
            )
        else:
            yield from _copying(side, depth, asynchronous)


def _copying(side: Side, depth: str, asynchronous: bool) -> Iterator[str]:
    """Rows of memory become rows of the tile, in the order of the threads."""
    tile, letter = side.tile, side.name.lower()
    kind, name = f"{letter}_copies", side.name
    what = f"16 elements of {side.packed} bits" if side.packed else "16 bytes"
    yield f"// How a thread copies a stage of {name}, {what} at a time: shared memory is filled in threads' order,"
    yield "// and the swizzle says which bytes of which row those are. Zeros beyond the matrix."
    yield "template <bool aligned>"
    yield f"struct {kind} {{"
    yield f"    enum {{ COPIES = {_copies(side)}, ROW = {tile.row_bytes} }};"
    yield f"    const {side.element} *from[COPIES];"
    yield f"    long long next;  // {'bytes' if side.packed else 'elements'} from stage to stage"
    many = "[COPIES]" if _distance(side) is None else ""
    more = "" if side.along_k else ", inside[COPIES]"
    what = "the first k" + ("; the elements that the matrix has" if more else "")
    yield f"    int at, place{many}{more};  // in shared memory; {what}"
    yield ""
    yield from _beginning(side, depth, asynchronous)
    yield from _one_stage(side, asynchronous)
    yield "};"
    yield ""


def _copies(side: Side) -> int:
    """How often a thread copies 16 bytes of a stage."""
    return -(-side.tile.bytes // VECTOR // THREADS)


def _distance(side: Side) -> int | None:
    """How many k, or bytes of a row, lie between what a thread copies and what it copies next; None if that differs.

    >>> _distance(Side("B", 128, 32, "unsigned short", 16, False, False))
    8
    """
    tile = side.tile
    found: set[int] = set()
    for thread in range(THREADS):
        places = []
        for at in range(thread * VECTOR, tile.bytes, THREADS * VECTOR):
            byte = tile.swizzle.address(at)
            if tile.panel:
                rows = tile.rows * tile.panel
                row, column = byte % rows // tile.panel, byte // rows * tile.panel + byte % tile.panel
            else:
                row, column = divmod(byte, tile.row_bytes)
            places.append(column if side.along_k else row)
        found.update(later - place for place, later in pairwise(places))
    if tile.bytes % (VECTOR * THREADS) or len(found) > 1:
        return None
    return found.pop() if found else 0


def _beginning(side: Side, depth: str, asynchronous: bool) -> Iterator[str]:
    """The constructor: where the thread's bytes lie in memory."""
    tile, kind, count = side.tile, f"{side.name.lower()}_copies", VECTOR // side.bytes
    partly = tile.bytes % (VECTOR * THREADS)  # not every thread copies in the last round
    place = "place[n]" if _distance(side) is None else "if (n == 0) place"
    yield f"    __device__ {kind}(const {side.element} *matrix, int first, int extent, int ld, int thread) {{"
    yield f"        at = thread * {VECTOR};"
    yield f"        next = {bytes_of(depth, side.packed or 8) if side.along_k else f'(long long){depth} * ld'};"
    yield "#pragma unroll"
    yield "        for (int n = 0; n < COPIES; ++n) {"
    if partly:
        yield f"            if (at + n * {THREADS * VECTOR} >= {tile.bytes}) break;"
    yield from indented(_origin(side), 3)
    beyond = "is any %s: what it gives is not stored."
    if side.along_k:
        yield f"            // A row beyond the matrix {beyond % 'row'}"
        yield "            const int m = first + row < extent ? first + row : extent - 1;"
        yield f"            from[n] = matrix + (long long)m * ld + {bytes_of('column', side.packed or 8)};"
        yield f"            {place} = column;"
    else:
        yield f"            // What is beyond an aligned matrix {beyond % 'part of it'}"
        yield f"            const int m = !aligned || first + column < extent ? first + column : extent - {count};"
        yield f"            from[n] = matrix + (long long)row * ld + {bytes_of('m', side.packed or 8)};"
        yield f"            {place} = row;"
        yield f"            inside[n] = extent - m < {count} ? extent - m : {count};"
    if asynchronous:
        yield "            // The pointer stays in a register: else each stage computes it from row and column."
        yield '            if (aligned) asm("" : "+l"(from[n]));'
    yield "        }"
    yield "    }"
    yield ""


def _one_stage(side: Side, asynchronous: bool) -> Iterator[str]:
    """The copies of one stage."""
    tile, count, distance = side.tile, VECTOR // side.bytes, _distance(side)
    partly = tile.bytes % (VECTOR * THREADS)
    yield "    // `left`: k of this stage and all behind it."
    yield "    __device__ void copy_stage(unsigned char *tile, int left) {"
    to = "const unsigned int to = shared_address(tile)" if asynchronous else "unsigned char *const to = tile"
    yield f"        {to} + at;"
    yield "#pragma unroll"
    yield "        for (int n = 0; n < COPIES; ++n) {"
    if partly:
        yield f"            if (at + n * {THREADS * VECTOR} >= {tile.bytes}) break;"
    place = "place[n]"
    if distance is not None:
        place = total([(distance // side.bytes if side.along_k else distance, "n"), (1, "place")])
    if side.along_k:
        yield f"            const int more = left - {place if distance in (None, 0) else f'({place})'};"
    else:
        yield f"            const int more = {place} < left ? inside[n] : 0;"
    yield "            if (aligned) {"
    test = "more > 0" if side.along_k else f"{place} < left"
    copy, whole = (f"copy_of_{side.packed}", COPIED_AT_ONCE[side.packed]) if side.packed else ("copy", VECTOR)
    yield f"                {copy}(to + n * {THREADS * VECTOR}, from[n], {test} ? {whole} : 0);"
    yield "            } else {"
    yield f"                union {{ u32x4 whole; {side.element} each[{count}]; }} found;  // no store conflicts"
    yield "#pragma unroll"
    inside = bytes_of("more", side.packed or 8)
    some = count * (side.packed or 8) // 8
    yield f"                for (int e = 0; e < {some}; ++e) found.each[e] = e < {inside} ? from[n][e] : 0;"
    yield f"                *(u32x4 *)(tile + at + n * {THREADS * VECTOR}) = found.whole;"
    if not partly:
        yield f"                {IN_TURN}"
    yield "            }"
    yield "            from[n] += next;"
    yield "        }"
    yield "    }"


def _origin(side: Side) -> Iterator[str]:
    """The row and the column of the elements that belong at a place in shared memory."""
    tile, (bits, base, shift) = side.tile, side.tile.swizzle
    yield f"const int to = at + n * {THREADS * VECTOR};"
    if bits:
        mask = ((1 << bits) - 1) << base
        yield f"const int byte = to ^ ((to >> {shift}) & {mask:#x});  // the swizzle is its own inverse"
    else:
        yield "const int byte = to;"
    if tile.panel:
        rows = tile.rows * tile.panel
        yield f"const int row = byte % {rows} / {tile.panel};  // of a panel of {tile.panel} bytes"
        yield f"const int column = (byte / {rows} * {tile.panel} + byte % {tile.panel}) / {side.bytes};"
    else:
        yield f"const int row = byte / ROW, column = byte % ROW / {side.bytes};"


# --- what kernels around mma.sync and wgmma share ---


def registers_of(inst: Instruction, name: str) -> tuple[str, str, int]:
    """The C type of an operand's registers, their constraint in inline PTX, and their number."""
    operand = inst.operand(name)
    kind = operand.format.name
    if kind == "f64":
        return "double", "d", operand.registers // 2
    return (
        ("float", "f", operand.registers) if (name, kind) == ("D", "f32") else ("unsigned int", "r", operand.registers)
    )


def accumulator(inst: Instruction) -> str:
    """The type of a tile's accumulators: registers, and the elements in them."""
    kind, _, count = registers_of(inst, "D")
    each = count * (64 if kind == "double" else 32) // inst.format("D").bits
    return f"union {{ {kind} word[{count}]; {element_of(inst, 'D')} each[{each}]; }}"


def arguments(found: CudaPlan) -> str:
    """The parameters of the kernels."""
    kind = "float" if found.scales else "unsigned short" if found.weights else "unsigned int"
    more = "".join([f" const {kind} *{name}," for name in found.inputs])
    return (
        f"const {found.a.element} *A, const {found.b.element} *B, {output_of(found)} *D,{more}\n"
        f"    int M, int N, int K, int lda, int ldb, int ldd{parameters(found.instruction, found.epilogue).declared}"
    )


def tile_arguments(found: CudaPlan) -> str:
    """The parameters of a block's tile."""
    return arguments(found) + stride_declared(found) + tile_places(found)


def target_number(inst: Instruction) -> int:
    """The number of the instruction's target: 90 for sm_90a."""
    return whole(inst.arch[3:].rstrip("af"), "the number of a target")


def block_order() -> Iterator[str]:
    """The function that gives each block its tile."""
    yield "// Which tile of D a block computes. Blocks that run together share few rows and columns, for the caches:"
    yield f"// they take {GROUP} rows of tiles at a time, column by column."
    yield "static __device__ void place_block(int block, int tiles_m, int tiles_n, int *tile_m, int *tile_n) {"
    yield f"    enum {{ GROUP = {GROUP} }};"
    yield "    const int group = block / (GROUP * tiles_n), rest = block % (GROUP * tiles_n);"
    yield "    const int height = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;"
    yield "    *tile_m = group * GROUP + rest % height;"
    yield "    *tile_n = rest / height;"
    yield "}"
    yield ""


def place_of_block(found: CudaPlan, alignment: int) -> Iterator[str]:
    """The stages in shared memory, where this thread is, and what it copies for each stage."""
    arrays = ", ".join(f"{letter}_tiles[STAGES][{letter.upper()}_BYTES]" for letter in "ab")
    if found.shared:
        yield "extern __shared__ unsigned char memory[];  // STAGES * (A_BYTES + B_BYTES), and up to 1024 to align them"
        yield f"unsigned char *const tiles = memory + (-shared_address(memory) & {alignment - 1});"
        yield "unsigned char (*const a_tiles)[A_BYTES] = (unsigned char (*)[A_BYTES])tiles;"
        yield "unsigned char (*const b_tiles)[B_BYTES] = (unsigned char (*)[B_BYTES])(tiles + STAGES * A_BYTES);"
    else:
        yield f"__shared__ __attribute__((aligned({alignment}))) unsigned char {arrays};"
    yield "int thread, block, tile_m, tile_n;" if not found.groups else "int thread;"
    yield 'asm("mov.u32 %0, %%tid.x;" : "=r"(thread));'
    if not found.groups:
        yield 'asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));'
        yield "place_block(block, (M + BLOCK_M - 1) / BLOCK_M, (N + BLOCK_N - 1) / BLOCK_N, &tile_m, &tile_n);"
    yield "const int first_m = tile_m * BLOCK_M, first_n = tile_n * BLOCK_N;"
    yield "a_copies<aligned> a(A, first_m, M, lda, thread);"
    yield "b_copies<aligned> b(B, first_n, N, ldb, thread);"


def loop_head(found: CudaPlan) -> Iterator[str]:
    """The copies of the first stages, and the beginning of the loop over the stages."""
    yield "int left = K;  // k that are not yet copied"
    yield "const auto copy_stage = [&](int stage) {"
    held = _held(found)
    for side in (found.a, found.b):
        letter, shares = side.name.lower(), found.shares(side)
        left = f"left / {shares}" if shares > 1 else "left"
        if found.weights and letter == "b":
            left = "(left + 31) / 32 * 16"  # whole words
        yield f"    {letter}.{'load_stage(' if side.turned else f'copy_stage({letter}_tiles[stage], '}{left});"
        if side.turned and letter not in held:
            yield f"    {letter}.store_stage({letter}_tiles[stage]);"
    yield "    left -= BLOCK_K;"
    yield "    commit_copies();  // of nothing behind the last stage, so that there are always as many groups"
    yield "};"
    stored = " ".join(f"{letter}.store_stage({letter}_tiles[stage]);" for letter in held)
    first = f"{{ copy_stage(stage); {stored} }}" if stored else "copy_stage(stage);"
    yield f"for (int stage = 0; stage < STAGES - 1; ++stage) {first}"
    yield "for (int k = 0, stage = 0; k < K; k += BLOCK_K) {"
    yield "    wait_for_copies();  // of this stage"


def next_stage(found: CudaPlan) -> Iterator[str]:
    """The end of the loop over the stages: what is in registers of the next copied one is stored, where that was."""
    for letter in _held(found):
        yield f"    {letter}.store_stage({letter}_tiles[stage ? stage - 1 : STAGES - 1]);"
    yield "    stage = stage == STAGES - 1 ? 0 : stage + 1;"


def _held(found: CudaPlan) -> list[str]:
    """Of which of A and B threads hold the next stage in registers while one is multiplied: none that has no room."""
    turned = [side for side in (found.a, found.b) if side.turned]
    if sum(held_words(side, THREADS) for side in turned) > MOST_HELD:
        return []
    return [side.name.lower() for side in turned]


def _one_block(found: CudaPlan) -> bool:
    """Whether the kernels say that one block of a multiprocessor is enough: else ptxas 13.0 spills some registers of
    those that scale several blocks of k in a stage, so that three would fit."""
    return finer_blocks(found) > 1


def kernels(found: CudaPlan, ways: tuple[str, ...] = ("true", "false")) -> Iterator[str]:
    """The kernels: for aligned matrices ("true"), for all others ("false")."""
    for aligned in ways:
        name = found.name + "_any" * (aligned == "false")
        yield f'extern "C" __global__ void __launch_bounds__(THREADS{", 1" * _one_block(found)})'
        if is_sliced(found):
            yield from sliced_kernel(found, name, aligned)
            yield ""
            continue
        yield f"{name}({arguments(found)}) {{"
        more = parameters(found.instruction, found.epilogue).passed
        given = ", ".join(["A", "B", "D", *found.inputs])
        widths = ((side, side.packed or 8 // found.packed(side)) for side in (found.a, found.b))
        leads = ", ".join([bytes_of(f"ld{side.name.lower()}", bits) for side, bits in widths])
        yield f"    tile<{aligned}>({given}, M, N, K, {leads}, ldd{more}{stride_passed(found)});"
        yield "}"
        yield ""


def launch_line(found: CudaPlan, sizes: tuple[int, int, int]) -> Iterator[str]:
    """The line that launches the kernel from the host, as a comment."""
    m, n, k = sizes
    kept = k // (found.shares(found.a) // found.packed(found.a))  # of a compressed A
    lda, ldb = kept if found.a.along_k else m, k if found.b.along_k else n
    ldb = -(-ldb // 32) * 32 if found.weights else ldb
    name = found.name + "_any" * (not found.aligned(m, n, k, lda, ldb, n))
    if found.shared:
        yield f"// cudaFuncSetAttribute({name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {found.shared});"
    if is_sliced(found):
        yield from sliced_launch(found, sizes, name, (lda, ldb), found.shared)
        return
    yield f"// {name}<<<{found.blocks(m, n)}, {found.threads}{f', {found.shared}' * bool(found.shared)}>>>("
    more = parameters(found.instruction, found.epilogue).passed
    given = ", ".join(["A", "B", "D", *found.inputs])
    yield f"//     {given}, {m}, {n}, {k}, {lda}, {ldb}, {n}{more});  // {given}, M, N, K, lda, ldb, ldd{more}"
