"""From global to shared memory: how a GEMM kernel in CUDA stages A and B, and what such kernels have in common."""

from __future__ import annotations

from math import gcd

from ..records import TupleRecord
from .ptx import HEADER, SHARED_ADDRESS
from .source import kernel_name, memory_type
from .staging import Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction

__all__ = [
    "THREADS", "CudaPlan", "accumulator", "declarations", "element_of", "head", "launch_line", "registers_of",
    "signature_of", "stages", "staging",
]  # fmt: skip

VECTOR = 16  # bytes of a thread's access
THREADS = 128  # of a block: four warps
FIRST_ASYNC = 80  # sm_80 and later have cp.async


class CudaPlan(TupleRecord):
    """The sizes of a GEMM kernel: tiles of the instruction along M and along N in a warp (of wgmma: in the warpgroup),
    k-steps of a stage, and the two sides."""

    instruction: Instruction
    tiles_m: int
    tiles_n: int
    steps: int
    a: Side
    b: Side

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
        return self.a.depth


def element_of(inst: Instruction, name: str) -> str:
    """The C type of an element in memory; f16 and bf16 as their bits."""
    return memory_type(inst.format(name).name, "cuda")


def head(found: CudaPlan) -> Iterator[str]:
    """The comment, and what stands for CUDA's headers."""
    inst = found.instruction
    words = {True: "row by row", False: "column by column"}
    yield f"// D = A B with {inst.name} on {inst.architecture.title}."
    yield f"// A (M x K) lies {words[found.a.along_k]}, B (K x N) {words[not found.b.along_k]}, D (M x N) row by row."
    yield "// ld are in elements. Matrices begin at multiples of 16 bytes. Any sizes and ld are right; where ld is no"
    yield "// multiple of 16 bytes, elements are copied one by one."
    yield HEADER + SHARED_ADDRESS.rstrip()
    yield ""


COPY_ASYNC = """\
// Starts to copy 16 bytes to shared memory, of which the last 16 - bytes are zeros.
static __device__ void copy(unsigned char *to, const void *from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 : : "r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
}

static __device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all copies but those committed last.
static __device__ void wait_for_copies() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
"""
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


def staging(found: CudaPlan) -> Iterator[str]:
    """The functions that copy a stage of A and of B to shared memory."""
    copied = not (found.a.turned and found.b.turned)
    asynchronous = copied and int(found.instruction.arch[3:].rstrip("af")) >= FIRST_ASYNC
    yield COPY_ASYNC if asynchronous else COPY * copied + AT_ONCE
    for side in (found.a, found.b):
        yield from side.tile.function()
        yield from _turning(side) if side.turned else _copying(side)


def _parameters(side: Side) -> str:
    letter = side.name.lower()
    extents = ("M", "m") if side.name == "A" else ("N", "n")
    return (
        f"static __device__ void stage_{letter}(unsigned char *{letter}_tile, const {side.element} *{side.name}, "
        f"int first_{extents[1]},\n    int first_k, int {extents[0]}, int K, int ld{letter}, int thread) {{"
    )


def _copying(side: Side) -> Iterator[str]:
    """Rows of memory become rows of the tile."""
    tile, letter, count = side.tile, side.name.lower(), VECTOR // side.bytes
    m, extent = ("m", "M") if side.name == "A" else ("n", "N")
    row, column = (m, "k") if side.along_k else ("k", m)
    bounds = {m: extent, "k": "K"}
    vectors = tile.row_bytes // VECTOR
    yield f"// A stage of {side.name}: {tile.rows} rows of {tile.row_bytes} bytes, zeros beyond the matrix."
    yield _parameters(side)
    yield f"    for (int at = thread; at < {tile.rows} * {vectors}; at += THREADS) {{"
    yield f"        const int row = at / {vectors}, part = at % {vectors};"
    yield f"        const int {row} = first_{row} + row, {column} = first_{column} + part * {count};"
    yield f"        const int left = {row} < {bounds[row]} ? {bounds[column]} - {column} : 0;"
    yield f"        const int inside = left < 0 ? 0 : left < {count} ? left : {count};"
    yield f"        const {side.element} *from = {side.name} + (inside ? (long long){row} * ld{letter} + {column} : 0);"
    yield f"        unsigned char *to = {tile.place('row', f'part * {VECTOR}')};"
    yield f"        if (ld{letter} % {count} == 0) {{"
    size = f"inside * {side.bytes}" if side.bytes > 1 else "inside"
    yield f"            copy(to, from, {size});"
    yield "        } else {"
    yield f"            for (int e = 0; e < {count}; ++e) (({side.element} *)to)[e] = e < inside ? from[e] : 0;"
    yield "        }"
    yield "    }"
    yield "}"
    yield ""


def _turning(side: Side) -> Iterator[str]:
    """Rows of memory become columns of the tile: no instruction turns elements of this width over on the way."""
    tile, letter, count = side.tile, side.name.lower(), VECTOR // side.bytes
    m, extent = ("m", "M") if side.name == "A" else ("n", "N")
    vectors = side.extent // count
    lanes = gcd(4, vectors)  # for a line of up to 64 bytes
    yield f"// A stage of {side.name}, turned over; zeros beyond the matrix. {lanes} lanes take a line of each k."
    yield _parameters(side)
    yield f"    for (int at = thread; at < {vectors} * BLOCK_K; at += THREADS) {{"
    yield f"        const int row = at / {lanes} % BLOCK_K, part = at / ({lanes} * BLOCK_K) * {lanes} + at % {lanes};"
    yield f"        const int k = first_k + row, {m} = first_{m} + part * {count};"
    yield f"        const {side.element} *from = {side.name} + (long long)k * ld{letter} + {m};"
    yield f"        union {{ u32x4 whole; {side.element} each[{count}]; }} found = {{}};"
    yield f"        if (k < K && {m} + {count} <= {extent} && ld{letter} % {count} == 0) {{"
    yield "            found.whole = *(const u32x4 *)from;"
    yield "        } else if (k < K) {"
    yield "#pragma unroll  // so that the elements stay in registers"
    yield f"            for (int e = 0; e < {count}; ++e)"
    yield f"                if ({m} + e < {extent}) found.each[e] = from[e];"
    yield "        }"
    size = f"row * {side.bytes}" if side.bytes > 1 else "row"
    place = tile.place(f"part * {count} + e", size)
    yield f"        for (int e = 0; e < {count}; ++e) *({side.element} *)({place}) = found.each[e];"
    yield "    }"
    yield "}"
    yield ""


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


def signature_of(found: CudaPlan) -> Iterator[str]:
    """The head of the kernel."""
    arguments = f"const {found.a.element} *A, const {found.b.element} *B, {element_of(found.instruction, 'D')} *D"
    yield 'extern "C" __global__ void __launch_bounds__(THREADS)'
    yield f"gemm_{kernel_name(found.instruction)}({arguments},"
    yield "    int M, int N, int K, int lda, int ldb, int ldd) {"


def declarations(found: CudaPlan, alignment: int) -> Iterator[str]:
    """The two buffers of each tile, and where this thread is."""
    for side in (found.a, found.b):
        array = f"{side.name.lower()}_tiles[2][{side.tile.bytes}]"
        yield f"__shared__ __attribute__((aligned({alignment}))) unsigned char {array};"
    yield "int thread, block_m, block_n;"
    for variable, register in (("thread", "tid.x"), ("block_m", "ctaid.x"), ("block_n", "ctaid.y")):
        yield f'asm("mov.u32 %0, %%{register};" : "=r"({variable}));'


def stages() -> Iterator[str]:
    """The loop over the stages, until the buffer that is to be multiplied has arrived."""
    yield "stage_a(a_tiles[0], A, first_m, 0, M, K, lda, thread);"
    yield "stage_b(b_tiles[0], B, first_n, 0, N, K, ldb, thread);"
    yield "commit_copies();"
    yield "for (int k = 0, buffer = 0; k < K; k += BLOCK_K, buffer ^= 1) {"
    yield "    // The next stage comes from global memory while this one is multiplied."
    yield "    if (k + BLOCK_K < K) {"
    yield "        stage_a(a_tiles[buffer ^ 1], A, first_m, k + BLOCK_K, M, K, lda, thread);"
    yield "        stage_b(b_tiles[buffer ^ 1], B, first_n, k + BLOCK_K, N, K, ldb, thread);"
    yield "    }"
    yield "    commit_copies();  // nothing in the last round, so that there is always a group to leave out"
    yield "    wait_for_copies();"


def launch_line(found: CudaPlan, sizes: tuple[int, int, int]) -> Iterator[str]:
    """The line that launches the kernel from the host, as a comment."""
    m, n, k = sizes
    grid = f"dim3({-(-m // found.block_m)}, {-(-n // found.block_n)})"
    lda, ldb = k if found.a.along_k else m, k if found.b.along_k else n
    yield ""
    yield f"// gemm_{kernel_name(found.instruction)}<<<{grid}, {found.threads}>>>("
    yield f"//     A, B, D, {m}, {n}, {k}, {lda}, {ldb}, {n});  // A, B, D, M, N, K, lda, ldb, ldd"
