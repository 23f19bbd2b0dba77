"""A GEMM kernel of Hopper as libraries have it: TMA, mbarriers, a warp that only copies, two warpgroups that multiply.

The producer waits until a stage of shared memory is free, says how many bytes will come, and starts the tensor copies;
their arrival completes the stage's mbarrier, on which the warpgroups wait before they multiply. What a tensor map has
no elements for arrives as zeros, so no edge needs a branch. TMA wants rows of memory that begin at multiples of 16
bytes; for others the source has the kernel of `mmacalc.codegen.gemm_wgmma`, in a namespace of its own.

Sources: PTX ISA 9.1, sections 9.7.9.27 (cp.async.bulk.tensor), 9.7.13.15 (mbarrier), 9.7.15.5 (wgmma), 9.7.20
(setmaxnreg); CUDA Driver API, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..families.shared_memory import SWIZZLES
from ..memory_access.swizzles import MODES
from . import gemm_wgmma
from .epilogue import NO_EPILOGUE, finishing, parameters
from .fragments import fragment
from .gemm_staging import CudaPlan, accumulator, block_order, element_of, kernels, output_of, registers_of
from .ptx import DESCRIPTOR, HEADER, SHARED_ADDRESS, operands
from .source import indented, kernel_name
from .staging import Side
from .wgmma import ROWS, panel_offsets, widest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction
    from .epilogue import Epilogue

__all__ = ["TmaPlan", "plan", "source", "swizzle_name"]

CONSUMERS = 2  # warpgroups that multiply
WARPGROUP = 128
ROW_BYTES = 128  # of k in a stage: the widest swizzle
STAGES = 4
SHARED_BYTES = 227 << 10  # that a block of Hopper can ask for
ALIGNMENT = 1024  # of a stage: the period of the widest swizzle
WIDEST_PAIR = 128  # columns up to which a warpgroup keeps two tiles of 64 rows in registers
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232  # of a thread: 128 x 40 + 256 x 232 fit into 65,536


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
    epilogue: Epilogue = NO_EPILOGUE

    def with_epilogue(self, epilogue: Epilogue) -> TmaPlan:
        """The plan with an epilogue, of both kernels."""
        return self._replace(epilogue=epilogue, other=self.other._replace(epilogue=epilogue))

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return (CONSUMERS + 1) * WARPGROUP

    @property
    def shared(self) -> int:
        """The bytes of dynamic shared memory of a launch."""
        return self.stages * (self.a.tile.bytes + self.b.tile.bytes) + ALIGNMENT

    @property
    def name(self) -> str:
        """The name of the kernel; `_any` behind it is that of the other."""
        return f"gemm_{kernel_name(self.instruction)}{self.epilogue.suffix}"

    def blocks(self, m: int, n: int) -> int:
        """The blocks of a launch."""
        return -(-m // self.a.extent) * -(-n // self.b.extent)

    def box(self, side: Side) -> tuple[int, int]:
        """The (rows of memory, elements) of one tensor copy."""
        if side.rows_of_k:
            return min(side.extent, 256), side.depth
        return side.depth, side.panel * 8 // side.bits

    def copies(self, side: Side) -> int:
        """The tensor copies of a stage."""
        rows, columns = self.box(side)
        return side.extent * side.depth // (rows * columns)

    def aligned(self, lda: int, ldb: int, n: int, ldd: int) -> bool:
        """Whether TMA takes matrices with these leading dimensions, and D is stored in pairs."""
        count = 128 // self.a.bits
        return not (lda % count or ldb % count or n % 2 or ldd % 2)


def plan(inst: Instruction, order_a: str, order_b: str, stages: int | None = None) -> TmaPlan | None:
    """The sizes of a kernel around a wgmma; None where a matrix has to be turned over, which TMA does not do.

    Raises:
        Error: as of `gemm_wgmma.plan`; stages that do not fit.

    >>> import mmacalc
    >>> found = plan(mmacalc.instruction("h100", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"), "row", "col")
    >>> found.a.extent, found.b.extent, found.a.depth, found.stages
    (128, 256, 64, 4)
    """
    other = gemm_wgmma.plan(inst, order_a, order_b)
    if other.a.turned or other.b.turned:
        return None
    tiles = 2 if inst.n <= WIDEST_PAIR else 1
    depth = ROW_BYTES * 8 // inst.format("A").bits
    a = _side(inst, "A", CONSUMERS * tiles * inst.m, depth, order_a == "row")
    b = _side(inst, "B", inst.n, depth, order_b == "col")
    most = (SHARED_BYTES - ALIGNMENT) // (a.tile.bytes + b.tile.bytes)
    if stages is not None and not 2 <= stages <= most:
        raise Error(f"stages of {inst.name} are 2 to {most} (in {SHARED_BYTES} bytes); got {stages}")
    return TmaPlan(inst, tiles, depth // inst.k, a, b, stages or min(STAGES, most), other)


def _side(inst: Instruction, name: str, extent: int, depth: int, along_k: bool) -> Side:
    bits, element = inst.format(name).bits, element_of(inst, name)
    if along_k:
        return Side(name, extent, depth, element, bits, True, False, MODES["128B"])
    mode = widest(extent * bits // 8)
    return Side(name, extent, depth, element, bits, False, False, MODES[mode.name], mode.row_bytes)


FUNCTIONS = """\
struct __attribute__((aligned(64))) tensor_map { unsigned long long word[16]; };  // CUtensorMap

static __device__ void begin(unsigned int barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(arrivals) : "memory");
}

static __device__ void arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
}

// Arrives, and lets the phase end only when that number of bytes has been copied.
static __device__ void arrive_and_expect(unsigned int barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}

// Waits until the phase of that parity has ended.
static __device__ void wait(unsigned int barrier, int parity) {
    asm volatile("{ .reg .pred ended;\\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\\n"
                 "@!ended bra again; }" : : "r"(barrier), "r"(parity) : "memory");
}

// Starts to copy a box of a matrix: x counts elements along a row of memory, y rows.
static __device__ void copy_box(unsigned int to, const tensor_map *map, int x, int y, unsigned int barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 : : "r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}

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
    lines = [*_head(found), *_constants(found), FUNCTIONS, *block_order()]
    lines += [*finishing(found.instruction, found.epilogue), *_kernel(found), *_other(found)]
    return "\n".join([*lines, *_launch(found, sizes), ""])


def _head(found: TmaPlan) -> Iterator[str]:
    inst, words = found.instruction, {True: "row by row", False: "column by column"}
    yield f"// D = {found.epilogue.formula} with {inst.name} on {inst.architecture.title}, by TMA."
    yield f"// A (M x K) lies {words[found.a.along_k]}, B (K x N) {words[not found.b.along_k]}, D (M x N) row by row."
    yield f"// {found.name} takes tensor maps of A and B: lda and"
    yield f"// ldb multiples of {128 // found.a.bits} elements, N and ldd even; {found.name}_any takes all others."
    for side in (found.a, found.b):
        rows, columns = found.box(side)
        mode = swizzle_name(side)
        yield f"// Map of {side.name}: rows as memory has them; box {rows} rows of {columns} elements, swizzle {mode}."
    yield HEADER.replace("#endif\n", "#define __grid_constant__ __attribute__((grid_constant))\n#endif\n", 1)
    yield SHARED_ADDRESS.rstrip()
    yield ""


def swizzle_name(side: Side) -> str:
    """The name of a side's swizzle, as `mmacalc.tensor_map` takes it."""
    return next(name for name, swizzle in MODES.items() if swizzle == side.swizzle)


def _constants(found: TmaPlan) -> Iterator[str]:
    sizes = f"BLOCK_M = {found.a.extent}, BLOCK_N = {found.b.extent}, BLOCK_K = {found.a.depth}"
    yield f"enum {{ {sizes} }};  // of a block"
    yield f"enum {{ CONSUMERS = {CONSUMERS}, WARPGROUP = {WARPGROUP}, THREADS = (CONSUMERS + 1) * WARPGROUP }};"
    yield f"enum {{ TILES = {found.tiles} }};  // of 64 rows in a warpgroup"
    yield f"enum {{ STAGES = {found.stages}, A_BYTES = {found.a.tile.bytes}, B_BYTES = {found.b.tile.bytes} }};"
    yield ""


def _kernel(found: TmaPlan) -> Iterator[str]:
    more = parameters(found.instruction, found.epilogue).declared
    yield 'extern "C" __global__ void __launch_bounds__(THREADS)'
    yield f"{found.name}("
    yield "    const __grid_constant__ tensor_map A, const __grid_constant__ tensor_map B,"
    yield f"    {output_of(found)} *D, int M, int N, int K, int ldd{more}) {{"
    yield from indented(_prologue())
    yield from indented(_producer(found))
    yield from indented(_consumer(found))
    yield "}"
    yield ""


def _prologue() -> Iterator[str]:
    yield "extern __shared__ unsigned char memory[];  // STAGES * (A_BYTES + B_BYTES), and up to 1024 to align them"
    yield "__shared__ unsigned long long full[STAGES], empty[STAGES];"
    yield "int thread, block, tile_m, tile_n;"
    yield 'asm("mov.u32 %0, %%tid.x;" : "=r"(thread));'
    yield 'asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));'
    yield "place_block(block, (M + BLOCK_M - 1) / BLOCK_M, (N + BLOCK_N - 1) / BLOCK_N, &tile_m, &tile_n);"
    yield "const int first_m = tile_m * BLOCK_M, first_n = tile_n * BLOCK_N, warpgroup = thread / WARPGROUP;"
    yield "const unsigned int a_stages = (shared_address(memory) + 1023) & ~1023u;"
    yield "const unsigned int b_stages = a_stages + STAGES * A_BYTES;"
    yield "const unsigned int full_at = shared_address(full), empty_at = shared_address(empty);  // 8 bytes each"
    yield "if (thread == 0) {"
    yield "    for (int stage = 0; stage < STAGES; ++stage) {"
    yield "        begin(full_at + 8 * stage, 1);  // the producer"
    yield "        begin(empty_at + 8 * stage, CONSUMERS);  // a thread of each"
    yield "    }"
    yield '    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");'
    yield '    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
    yield "}"
    yield 'asm volatile("bar.sync 0;" ::: "memory");'
    yield ""


def _producer(found: TmaPlan) -> Iterator[str]:
    yield "if (warpgroup == CONSUMERS) {"
    yield "    // The producer: one thread copies, stage after stage; registers go to the others."
    yield f'    asm volatile("setmaxnreg.dec.sync.aligned.u32 {PRODUCER_REGISTERS};");'
    yield "    if (thread % WARPGROUP) return;"
    yield "    for (int k = 0, stage = 0, round = 0; k < K; k += BLOCK_K) {"
    yield "        if (round) wait(empty_at + 8 * stage, (round - 1) % 2);"
    yield "        const unsigned int barrier = full_at + 8 * stage;"
    yield "        arrive_and_expect(barrier, A_BYTES + B_BYTES);"
    for side in (found.a, found.b):
        yield from (f"        {line}" for line in _copies(found, side))
    yield "        if (++stage == STAGES) stage = 0, ++round;"
    yield "    }"
    yield "    return;"
    yield "}"
    yield ""


def _copies(found: TmaPlan, side: Side) -> Iterator[str]:
    letter, first = side.name.lower(), "first_m" if side.name == "A" else "first_n"
    to, count = f"{letter}_stages + stage * {side.name}_BYTES", found.copies(side)
    if side.rows_of_k:
        assert count == 1
        yield f"copy_box({to}, &{side.name}, k, {first}, barrier);"
        return
    _, columns = found.box(side)
    each = side.tile.bytes // count
    yield f"for (int panel = 0; panel < {count}; ++panel)  // {columns} neighbours in memory, of all k"
    yield f"    copy_box({to} + panel * {each}, &{side.name}, {first} + panel * {columns}, k, barrier);"


def _consumer(found: TmaPlan) -> Iterator[str]:
    inst = found.instruction
    part = fragment(inst.operand("D"))
    yield f'asm volatile("setmaxnreg.inc.sync.aligned.u32 {CONSUMER_REGISTERS};");'
    yield "const int lane = thread % WARPGROUP;  // of the warpgroup: 0 to 127"
    yield f"// D: {part.operand.pattern}"
    yield from part.variables("d")
    yield f"{accumulator(inst)} sum[TILES] = {{}};"
    yield "for (int k = 0, stage = 0, round = 0; k < K; k += BLOCK_K) {"
    yield "    wait(full_at + 8 * stage, round % 2);"
    tiles = _tile_bytes(found)
    yield f"    const unsigned int a_at = a_stages + stage * A_BYTES + warpgroup * {found.tiles * tiles};"
    yield "    const unsigned int b_at = b_stages + stage * B_BYTES;"
    for side in (found.a, found.b):
        leading, stride = _strides(side)
        code, letter = SWIZZLES[swizzle_name(side)].code, side.name.lower()
        major = "K" if side.rows_of_k else "MN"
        start = f"descriptor_at({letter}_at, {leading}, {stride}, {code})"
        yield f"    const unsigned long long {letter}_start = {start};  // {major}-major"
    yield from (f"    {line}" for line in _products(found))
    yield "    if (lane == 0) arrive(empty_at + 8 * stage);"
    yield "    if (++stage == STAGES) stage = 0, ++round;"
    yield "}"
    yield from gemm_wgmma.stores(found.other, "first_m + warpgroup * TILES * 64", ("true",))


def _tile_bytes(found: TmaPlan) -> int:
    """The bytes from one tile of 64 rows of A to the next."""
    side, m = found.a, found.instruction.m
    if side.rows_of_k:
        return m * ROW_BYTES
    return m * side.bytes // side.panel * side.depth * side.panel


def _strides(side: Side) -> tuple[int, int]:
    """The leading and the stride dimension byte offset of a side's descriptor."""
    if side.rows_of_k:
        return 16, ROWS * ROW_BYTES
    return panel_offsets(SWIZZLES[swizzle_name(side)], side.depth)


def _products(found: TmaPlan) -> Iterator[str]:
    """All wgmma of a stage between one fence and one wait: the other warpgroup multiplies meanwhile."""
    inst = found.instruction
    _, constraint, count = registers_of(inst, "D")
    starts = []
    for step in range(found.steps):
        for tile in range(found.tiles):
            a = tile * _tile_bytes(found) + _step_bytes(found, found.a, step)
            starts += [("a", a // 16), ("b", _step_bytes(found, found.b, step) // 16)]
    texts = [f'"l"({name}_start + {more})' if more else f'"l"({name}_start)' for name, more in starts]
    unique = list(dict.fromkeys(texts))
    places = iter([found.tiles * count + unique.index(text) for text in texts])
    yield 'asm volatile("{ .reg .pred accumulate;\\n"'
    yield '             "setp.eq.u32 accumulate, 0, 0;\\n"  // true: D = A B + D'
    yield '             "wgmma.fence.sync.aligned;\\n"'
    for step in range(found.steps):
        for tile in range(found.tiles):
            yield from gemm_wgmma.product(found.other, tile, next(places), next(places), f"step {step}, tile {tile}")
    yield '             "wgmma.commit_group.sync.aligned;\\n"'
    yield '             "wgmma.wait_group.sync.aligned 0; }"'
    outputs = [f'"+{constraint}"(sum[{tile}].word[{n}])' for tile in range(found.tiles) for n in range(count)]
    yield from operands(outputs, unique, ' : "memory"')


def _step_bytes(found: TmaPlan, side: Side, step: int) -> int:
    return step * found.instruction.k * (side.bytes if side.rows_of_k else side.panel)


def _other(found: TmaPlan) -> Iterator[str]:
    """The kernel for matrices that are not aligned."""
    yield "// For matrices that are not aligned: one warpgroup, which copies element by element."
    yield "namespace any_alignment {"
    yield ""
    yield DESCRIPTOR
    yield from gemm_wgmma.body(found.other)
    yield from kernels(found.other, ("false",))
    yield "}  // namespace any_alignment"
    yield ""


def _launch(found: TmaPlan, sizes: tuple[int, int, int]) -> Iterator[str]:
    m, n, k = sizes
    lda, ldb = k if found.a.along_k else m, k if found.b.along_k else n
    more = parameters(found.instruction, found.epilogue).passed
    if found.aligned(lda, ldb, n, n):
        yield f"// cudaFuncSetAttribute({found.name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {found.shared});"
        yield f"// {found.name}<<<{found.blocks(m, n)}, {found.threads}, {found.shared}>>>("
        yield f"//     A_map, B_map, D, {m}, {n}, {k}, {n}{more});  // the maps, D, M, N, K, ldd{more}"
    else:
        yield f"// {found.name}_any<<<{found.other.blocks(m, n)}, {found.other.threads}>>>("
        yield f"//     A, B, D, {m}, {n}, {k}, {lda}, {ldb}, {n}{more});  // A, B, D, M, N, K, lda, ldb, ldd{more}"
