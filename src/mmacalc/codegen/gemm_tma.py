"""A GEMM kernel of Hopper as libraries have it: TMA, mbarriers, a warp that only copies, two warpgroups that multiply.

The producer waits until a stage of shared memory is free, says how many bytes will come, and starts the tensor copies;
their arrival completes the stage's mbarrier, on which the warpgroups wait before they multiply. What a tensor map has
no elements for arrives as zeros, so no edge needs a branch. TMA wants rows of memory that begin at multiples of 16
bytes; for others the source has the kernel of `mmacalc.codegen.gemm_wgmma`, in a namespace of its own.

Sources: PTX ISA 9.1, sections 9.7.9.27 (cp.async.bulk.tensor), 9.7.13.15 (mbarrier), 9.7.15.5 (wgmma), 9.7.20
(setmaxnreg); CUDA Driver API, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

from functools import partial

from ..base.errors import Error
from ..base.records import TupleRecord
from ..families.shared_memory import SWIZZLES
from . import gemm_wgmma
from .epilogue import finishing, parameters
from .fragments import fragment
from .gemm_scales import checked_depth, declarations, declared, function, passed
from .gemm_scales import stride as scale_stride
from .gemm_slices import (
    group_function,
    group_places,
    is_sliced,
    k_range,
    mapped_group,
    mapped_launch,
    mapped_notes,
    mapped_parameters,
    mapped_places,
    matrix_of,
    reduction,
    tile_plan,
    tile_rows,
)
from .gemm_sparse import fetching, next_words
from .gemm_staging import CudaPlan, accumulator, block_order, kernels, launch_line
from .gemm_tma_turned import REGISTERS, fits, turned_over, turning
from .gemm_tma_turned import functions as turning_functions
from .ptx import DESCRIPTOR, ENTRY_OF_ONE_BLOCK, GRID_CONSTANT, SHARED_ADDRESS, header
from .source import indented, matrix_notes
from .staging import Side, compression
from .tensor_copies import (
    ALIGNMENT,
    ARRIVE,
    MBARRIERS,
    ROW_BYTES,
    SHARED_BYTES,
    TENSOR_MAP,
    copy_boxes,
    copy_lines,
    map_comments,
    multiple,
    offsets,
    side,
    step_bytes,
    swizzle_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction
    from ..model.block_scales import BlockScales
    from .epilogue import Epilogue

__all__ = ["TmaPlan", "plan", "source"]

CONSUMERS = 2  # warpgroups that multiply
WARPGROUP = 128
STAGES = 4
FIRST_ROW = "first_m + warpgroup * TILES * 64"  # of a warpgroup
COPYING_REGISTERS = 40, 232  # of a thread that copies, of one that multiplies: 128 x 40 + 256 x 232 fit into 65,536


class TmaPlan(TupleRecord):
    """The sizes of the kernel: tiles of 64 rows of one warpgroup, k-steps of a stage, the sides, the stages; and the
    plan of the kernel for matrices that are not aligned."""

    instruction: Instruction
    tiles: int
    steps: int
    a: Side
    b: Side
    stages: int
    other: CudaPlan

    @property
    def epilogue(self) -> Epilogue:
        """What is done with the sums, by both kernels."""
        return self.other.epilogue

    def with_epilogue(self, epilogue: Epilogue) -> TmaPlan:
        """The plan with an epilogue, of both kernels."""
        return self._replace(other=self.other._replace(epilogue=epilogue))

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return (CONSUMERS + 1) * WARPGROUP

    @property
    def turned(self) -> list[Side]:
        """The sides that are turned over in a stage."""
        return [each for each in (self.a, self.b) if each.turned]

    @property
    def registers(self) -> tuple[int, int]:
        """The registers of a thread of the producer, and of one that multiplies."""
        return REGISTERS if self.turned else COPYING_REGISTERS

    @property
    def shared(self) -> int:
        """The bytes of dynamic shared memory of a launch."""
        return self.stages * (self.a.tile.bytes + self.b.tile.bytes) + ALIGNMENT

    @property
    def name(self) -> str:
        """The name of the kernel; `_any` behind it is that of the other."""
        return self.other.name

    def blocks(self, m: int, n: int) -> int:
        """The blocks of a launch."""
        return tile_rows(m, self.a.extent, self.other.groups) * -(-n // self.b.extent)

    def aligned(self, lda: int, ldb: int, n: int, ldd: int) -> bool:
        """Whether TMA takes matrices with these leading dimensions, and D is stored in pairs."""
        return not (lda % multiple(self.a) or ldb % multiple(self.b) or n % 2 or ldd % 2)


def plan(
    inst: Instruction, order_a: str, order_b: str, stages: int | None = None, scales: BlockScales | None = None
) -> TmaPlan | None:
    """The sizes of a kernel around a wgmma; None where columns of B are turned over that do not make whole squares.

    Args:
        scales: those along K, for which there are twice as many sums.

    Raises:
        Error: as of `gemm_wgmma.plan`; stages that do not fit.

    >>> import mmacalc
    >>> found = plan(mmacalc.instruction("h100", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"), "row", "col")
    >>> found.a.extent, found.b.extent, found.a.depth, found.stages
    (128, 256, 64, 4)
    """
    other = gemm_wgmma.plan(inst, order_a, order_b, None, scales)
    tiles = gemm_wgmma.tiles_of(inst, scales)
    a = _side(other.a, inst, CONSUMERS * tiles * inst.m)
    b = _side(other.b, inst, inst.n)
    if not (fits(a) and fits(b)):
        return None
    most = (SHARED_BYTES - ALIGNMENT) // (a.tile.bytes + b.tile.bytes)
    if stages is not None and not 2 <= stages <= most:
        raise Error(f"stages of {inst.name} are 2 to {most} (in {SHARED_BYTES} bytes); got {stages}")
    checked_depth(other, b.depth)
    return TmaPlan(inst, tiles, b.depth // inst.k, a, b, stages or min(STAGES, most), other)


def _side(other: Side, inst: Instruction, extent: int) -> Side:
    """A or B in a stage; other: that of the kernel for matrices that are not aligned."""
    found = side(inst, other.name, extent, other.rows_of_k)
    return turned_over(found) if other.turned else found


DESCRIPTOR_AT = """\
// The matrix descriptor of wgmma for an address in shared memory; see `descriptor`.
static __device__ unsigned long long descriptor_at(unsigned int address, int leading, int stride, int swizzle) {
    return (unsigned long long)((address & 0x3FFFF) >> 4) | (unsigned long long)(leading / 16) << 16
        | (unsigned long long)(stride / 16) << 32 | (unsigned long long)swizzle << 62;
}
"""


def source(found: TmaPlan, sizes: tuple[int, int, int]) -> str:
    """The source of the kernels: D = A B.

    Args:
        sizes: M, N and K of the launch line that is shown.
    """
    each = found._replace(other=tile_plan(found.other))
    lines = [*_head(found), *_constants(found)]
    copies = copy_boxes(matrix_of(found.other, side) for side in "AB")
    lines += [f"{TENSOR_MAP}\n{MBARRIERS}\n{ARRIVE}\n{copies}\n{DESCRIPTOR_AT}", *block_order()]
    lines += group_function(found.other)
    lines += [*turning_functions(found.turned)]
    lines += [*function(found.other), *finishing(found.instruction, each.epilogue)]
    lines += [*_kernel(each), *_other(each, found), *reduction(found.other)]
    return "\n".join([*lines, *_launch(found, sizes), ""])


def _head(found: TmaPlan) -> Iterator[str]:
    inst = found.instruction
    yield f"// D = {found.epilogue.formula} with {inst.name} on {inst.architecture.title}, by TMA."
    yield from matrix_notes(found)
    yield f"// {found.name} takes tensor maps of A and B: lda and"
    yield f"// ldb multiples of {128 // found.a.bits} elements, N and ldd even; {found.name}_any takes all others."
    yield from map_comments((found.a, found.b))
    yield from mapped_notes(found.other)
    yield header(GRID_CONSTANT, one_block=True)
    yield SHARED_ADDRESS.rstrip()
    yield ""


def _constants(found: TmaPlan) -> Iterator[str]:
    sizes = f"BLOCK_M = {found.a.extent}, BLOCK_N = {found.b.extent}, BLOCK_K = {found.b.depth}"
    yield f"enum {{ {sizes} }};  // of a block"
    yield f"enum {{ CONSUMERS = {CONSUMERS}, WARPGROUP = {WARPGROUP}, THREADS = (CONSUMERS + 1) * WARPGROUP }};"
    yield f"enum {{ TILES = {found.tiles} }};  // of 64 rows in a warpgroup"
    yield f"enum {{ STAGES = {found.stages}, A_BYTES = {found.a.tile.bytes}, B_BYTES = {found.b.tile.bytes} }};"
    yield ""


def _kernel(found: TmaPlan) -> Iterator[str]:
    yield ENTRY_OF_ONE_BLOCK
    yield f"{found.name}("
    yield "    const __grid_constant__ tensor_map A, const __grid_constant__ tensor_map B,"
    yield f"    {mapped_parameters(found.other, declared(found.other))}) {{"
    yield from indented((*mapped_places(found.other), *_prologue(found)))
    yield from indented(_producer(found))
    yield from indented(_consumer(found))
    yield "}"
    yield ""


def _prologue(found: TmaPlan) -> Iterator[str]:
    yield "extern __shared__ unsigned char memory[];  // STAGES * (A_BYTES + B_BYTES), and up to 1024 to align them"
    yield f"__shared__ unsigned long long full[STAGES], empty[STAGES]{', turned[STAGES]' * bool(found.turned)};"
    yield f"int thread, block, tile_m, tile_n{group_places(found.other)};"
    yield 'asm("mov.u32 %0, %%tid.x;" : "=r"(thread));'
    yield 'asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));'
    rows = "M / BLOCK_M + groups" if found.other.groups else "(M + BLOCK_M - 1) / BLOCK_M"
    yield f"place_block(block, {rows}, (N + BLOCK_N - 1) / BLOCK_N, &tile_m, &tile_n);"
    if found.other.groups:
        yield from mapped_group(found.other)
    yield "const int first_m = tile_m * BLOCK_M, first_n = tile_n * BLOCK_N;"
    yield "int warpgroup;  // from lane 0 of the warp: so ptxas knows that all lanes have the same"
    yield 'asm volatile("shfl.sync.idx.b32 %0, %1, 0, 0x1f, 0xffffffff;" : "=r"(warpgroup) : "r"(thread / WARPGROUP));'
    yield "const unsigned int a_stages = (shared_address(memory) + 1023) & ~1023u;"
    yield "const unsigned int b_stages = a_stages + STAGES * A_BYTES;"
    yield "const unsigned int full_at = shared_address(full), empty_at = shared_address(empty);  // 8 bytes each"
    if found.turned:
        yield "const unsigned int turned_at = shared_address(turned);"
    yield "if (thread == 0) {"
    yield "    for (int stage = 0; stage < STAGES; ++stage) {"
    yield "        begin(full_at + 8 * stage, 1);  // the producer"
    yield "        begin(empty_at + 8 * stage, CONSUMERS);  // a thread of each"
    if found.turned:
        yield "        begin(turned_at + 8 * stage, WARPGROUP / 32);  // the warps that turn it over"
    yield "    }"
    yield '    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");'
    yield '    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
    yield "}"
    yield 'asm volatile("bar.sync 0;" ::: "memory");'
    yield ""


def _producer(found: TmaPlan) -> Iterator[str]:
    what = ", stage after stage" if not found.turned else " some stages ahead, and all turn over what has come"
    yield "if (warpgroup == CONSUMERS) {"
    yield f"    // The producer: one thread copies{what}; registers go to the others."
    yield f'    asm volatile("setmaxnreg.dec.sync.aligned.u32 {found.registers[0]};");'
    yield from indented(_turning(found) if found.turned else _copying(found))
    yield "    return;"
    yield "}"
    yield ""


def _copying(found: TmaPlan) -> Iterator[str]:
    yield "if (thread % WARPGROUP) return;"
    yield _stages(found)
    yield from indented(_copy(found))
    yield "    if (++stage == STAGES) stage = 0, ++round;"
    yield "}"


def _turning(found: TmaPlan) -> Iterator[str]:
    """The producer where a side is turned over: it waits for consumers of the stage before last, so that they multiply
    one while it turns the next."""
    first, end = k_range(found.other)
    yield f"int k = {first}, stage = 0, round = 0;  // of the next copy"
    yield "const auto copy_stage = [&] {"
    yield f"    if (k < {end} && thread % WARPGROUP == 0) {{"
    yield from indented(_copy(found), 2)
    yield "    }"
    yield "    k += BLOCK_K;"
    yield "    if (++stage == STAGES) stage = 0, ++round;"
    yield "};"
    yield "for (int ahead = 0; ahead < STAGES - 2; ++ahead) copy_stage();"
    yield f"for (int turned_k = {first}, at = 0, turn = 0; turned_k < {end}; turned_k += BLOCK_K) {{"
    yield "    copy_stage();"
    yield "    wait(full_at + 8 * at, turn % 2);"
    yield '    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");'
    yield from indented(turning(found.turned))
    yield "    if (++at == STAGES) at = 0, ++turn;"
    yield "}"


def _copy(found: TmaPlan) -> Iterator[str]:
    """The copies of the stage `stage`, once it is free."""
    yield "if (round) wait(empty_at + 8 * stage, (round - 1) % 2);"
    yield "const unsigned int barrier = full_at + 8 * stage;"
    yield "arrive_and_expect(barrier, A_BYTES + B_BYTES);"
    row = "group_row + first_m" if found.other.groups else "first_m"
    for each, start in ((found.a, row), (found.b, "first_n")):
        stands_for = compression(found.instruction, each.name)
        yield from copy_lines(each, start, matrix_of(found.other, each.name), stands_for)


def _stages(found: TmaPlan) -> str:
    """The loop over the stages of a block."""
    first, end = k_range(found.other)
    return f"for (int k = {first}, stage = 0, round = 0; k < {end}; k += BLOCK_K) {{"


def _consumer(found: TmaPlan) -> Iterator[str]:
    inst = found.instruction
    part = fragment(inst.operand("D"))
    yield f'asm volatile("setmaxnreg.inc.sync.aligned.u32 {found.registers[1]};");'
    yield "const int lane = thread % WARPGROUP;  // of the warpgroup: 0 to 127"
    yield f"// D: {part.operand.pattern}"
    yield from part.variables("d")
    yield f"{accumulator(inst)} sum[TILES] = {{}};"
    if found.other.scales or inst.sparse:
        yield f"const int scale_stride = {scale_stride(found.other)};"
    yield from declarations(found.other, gemm_wgmma.sums_of(found.other, FIRST_ROW), k_range(found.other))
    if inst.sparse:
        yield from fetching(inst, found.steps, "TILES", FIRST_ROW)
        yield f"fetch({k_range(found.other)[0]});"
    yield _stages(found)
    if inst.sparse:
        yield from indented(next_words(""))
    if len(found.turned) < 2:
        yield "    wait(full_at + 8 * stage, round % 2);"
    if found.turned:
        yield "    wait(turned_at + 8 * stage, round % 2);"
    tiles = _tile_bytes(found)
    yield f"    const unsigned int a_at = a_stages + stage * A_BYTES + warpgroup * {found.tiles * tiles};"
    yield "    const unsigned int b_at = b_stages + stage * B_BYTES;"
    for each in (found.a, found.b):
        leading, stride = offsets(each)
        code, letter = SWIZZLES[swizzle_name(each)].code, each.name.lower()
        major = "K" if each.rows_of_k else "MN"
        start = f"descriptor_at({letter}_at, {leading}, {stride}, {code})"
        yield f"    const unsigned long long {letter}_start = {start};  // {major}-major"
    lines = gemm_wgmma.summed(found.other, (found.tiles, found.steps), partial(_offset, found))
    yield from indented(lines)
    yield "    if (lane == 0) arrive(empty_at + 8 * stage);"
    yield "    if (++stage == STAGES) stage = 0, ++round;"
    yield "}"
    yield from gemm_wgmma.stores(found.other, FIRST_ROW, ("true",))


def _tile_bytes(found: TmaPlan) -> int:
    """The bytes from one tile of 64 rows of A to the next."""
    side, m = found.a, found.instruction.m
    if side.rows_of_k:
        return m * ROW_BYTES
    return m * side.bytes // side.panel * side.depth * side.panel


def _offset(found: TmaPlan, name: str, tile: int, step: int) -> int:
    """The bytes from the beginning of a warpgroup's part of a stage to what one wgmma reads."""
    side, k = found.a if name == "A" else found.b, found.instruction.k // compression(found.instruction, name)
    return tile * _tile_bytes(found) + step_bytes(side, k, step)


def _other(tile: TmaPlan, found: TmaPlan) -> Iterator[str]:
    """The kernel for matrices that are not aligned, around its tile."""
    yield "// For matrices that are not aligned: one warpgroup, which copies element by element."
    yield "namespace any_alignment {"
    yield ""
    yield DESCRIPTOR
    yield from gemm_wgmma.body(tile.other)
    yield from kernels(found.other, ("false",))
    yield "}  // namespace any_alignment"
    yield ""


def _launch(found: TmaPlan, sizes: tuple[int, int, int]) -> Iterator[str]:
    m, n, k = sizes
    lda = k // compression(found.instruction, "A") if found.a.along_k else m
    if not found.aligned(lda, k if found.b.along_k else n, n, n):
        yield from launch_line(found.other, sizes)
        return
    given, more = passed(found.other), parameters(found.instruction, found.epilogue).passed
    if is_sliced(found.other):
        yield from mapped_launch(found.other, sizes, found.blocks(m, n), found.threads, found.shared)
        return
    yield f"// cudaFuncSetAttribute({found.name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {found.shared});"
    yield f"// {found.name}<<<{found.blocks(m, n)}, {found.threads}, {found.shared}>>>("
    yield f"//     A_map, B_map, D, {given}{m}, {n}, {k}, {n}{more});  // the maps, D, {given}M, N, K, ldd{more}"
