"""A tiled GEMM kernel in HIP: LDS staging without bank conflicts, double buffering, bounds for any size.

Each workgroup computes a tile of D with four waves, two by two; each wave keeps its part in accumulators. A and B are
staged in LDS with k contiguous, so a lane reads the k of `kpack` instructions at once: k is relabelled for A and B
alike, which changes nothing but the order of the sum. The bytes of LDS are swizzled as `mmacalc.memory(...).search()`
finds, so that neither reads nor writes conflict. A matrix that lies the other way round in memory is turned over when
it is written to LDS, element by element.
"""

from __future__ import annotations

from math import gcd

from ..compiler.builtins import intrinsic
from ..errors import Error
from ..memory_access.answer import memory
from ..memory_access.swizzles import MODES
from ..records import TupleRecord
from .fragments import fragment, total
from .hip import HEADER, SYNCHRONIZE
from .source import indented, memory_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..compiler.builtins import Intrinsic
    from ..memory_access.swizzles import Swizzle
    from ..model import Instruction
    from .fragments import Fragment

__all__ = ["Plan", "kernel", "plan"]

WAVES = 2  # along M and along N
VECTOR = 16  # bytes of a lane's global and LDS accesses
DEPTH_BYTES = 64  # of a row in LDS, at least


class Plan(TupleRecord):
    """The sizes of a GEMM kernel.

    kpack: the instructions whose k a lane reads at once; steps: how often it does so for each stage; tiles: of the
    instruction along M and along N in one wave; swizzle: of the bytes of LDS; order_a, order_b: "row" or "col", how A
    and B lie in memory.
    """

    instruction: Instruction
    wave: int
    kpack: int
    steps: int
    tiles: int
    swizzle: Swizzle
    order_a: str = "row"
    order_b: str = "col"

    def turned(self, side: str) -> bool:
        """Whether the rows of A (the columns of B), not k, are contiguous in memory."""
        return self.order_a == "col" if side == "a" else self.order_b == "row"

    @property
    def block_m(self) -> int:
        """The rows of D that a workgroup computes."""
        return WAVES * self.tiles * self.instruction.m

    @property
    def block_n(self) -> int:
        """The columns of D that a workgroup computes."""
        return WAVES * self.tiles * self.instruction.n

    @property
    def block_k(self) -> int:
        """The k of one stage."""
        return self.instruction.k * self.kpack * self.steps

    @property
    def element_bytes(self) -> int:
        """The bytes of an element of A and B."""
        return self.instruction.format("A").bits // 8

    @property
    def threads(self) -> int:
        """The work-items of a workgroup."""
        return WAVES * WAVES * self.wave


def plan(inst: Instruction, wave: int | None = None, order_a: str = "row", order_b: str = "col") -> Plan:
    """The sizes of a GEMM kernel around an instruction.

    Raises:
        Error: the instruction is sparse, scaled, has several blocks, elements below 8 bits, or no builtin.

    >>> import mmacalc
    >>> found = plan(mmacalc.instruction("mi300x", "v_mfma_f32_32x32x8_f16"))
    >>> found.block_m, found.block_k, found.kpack, found.swizzle
    (128, 32, 2, Swizzle(bits=2, base=4, shift=3))
    """
    size = inst.architecture.wave(wave)
    if inst.choices:
        fields = " and ".join(field.upper() for field in inst.choices)
        raise Error(f"a GEMM is generated for elements of one format; those of {inst.name} are chosen by {fields}")
    if not inst.architecture.builtins or inst.sparse or inst.scaled or inst.blocks > 1:
        raise Error(f"a GEMM is generated around a dense AMD instruction of one block without scales; not {inst.name}")
    if inst.format("A").bits < 8 or inst.format("B").bits != inst.format("A").bits:
        raise Error(
            f"a GEMM is generated for elements of whole bytes; A of {inst.name} has {inst.format('A').bits} bits"
        )
    if intrinsic(inst, size) is None:
        raise Error(f"{inst.name} on {inst.architecture.title} has no builtin to call")
    width = inst.format("A").bits // 8
    lane_bytes = _lane_elements(fragment(inst.operand("A", size))) * width
    kpack = max(1, VECTOR // lane_bytes)
    steps = max(1, DEPTH_BYTES // (inst.k * kpack * width))
    tiles = (64 if size == 64 else 32) // inst.m
    depth = inst.k * kpack * steps
    return Plan(inst, size, kpack, steps, max(1, tiles), _swizzle(inst, size, depth, kpack), order_a, order_b)


def _swizzle(inst: Instruction, wave: int, depth: int, kpack: int) -> Swizzle:
    """The swizzle of A's tile, where it serves B's too; none if no swizzle frees both."""
    a, b = inst.operand("A", wave), inst.operand("B", wave)
    found = memory(a, "row", ld=depth, kpack=kpack).search().swizzle
    if found is None or memory(b, "col", ld=depth, swizzle=found, kpack=kpack).lds.conflicts:
        return MODES["none"]
    return found


def _lane_elements(found: Fragment) -> int:
    """The k that a lane holds of one instruction."""
    return len(found.items)


def kernel(found: Plan, sizes: tuple[int, int, int]) -> str:
    """The source of the kernel: D = A B; it takes any sizes.

    Args:
        sizes: M, N and K of the launch line that is shown.
    """
    inst = found.instruction
    builtin = intrinsic(inst, found.wave)
    assert builtin is not None  # `plan` refuses the others
    a, b, d = (fragment(inst.operand(name, found.wave)) for name in "ABD")
    return "\n".join(
        [*_head(found, builtin), *_helpers(found), *_body(found, builtin, a, b, d), *_launch(found, sizes), ""]
    )


def _head(found: Plan, builtin: Intrinsic) -> Iterator[str]:
    inst = found.instruction
    yield f"// D = A B with {inst.name} on {inst.architecture.title}, wave{found.wave}."
    a, b = ("column by column" if order == "col" else "row by row" for order in (found.order_a, found.order_b))
    yield f"// A (M x K) lies {a}, B (K x N) {b}, D (M x N) row by row; ld in elements."
    yield HEADER
    yield f"typedef {memory_type(inst.format('A').name, 'hip')} element;"
    yield "typedef unsigned int vector __attribute__((ext_vector_type(4)));  // 16 bytes of a lane's access"
    arguments = dict(zip(builtin.arg_names, builtin.arg_types))
    for name, kind in (("a_value", arguments["a"]), ("b_value", arguments["b"]), ("result", builtin.return_type)):
        scalar, _, count = kind.partition(" x")
        yield f"typedef {scalar} {name}" + (f" __attribute__((ext_vector_type({count})));" if count else ";")
    yield ""
    sizes = f"BLOCK_M = {found.block_m}, BLOCK_N = {found.block_n}, BLOCK_K = {found.block_k}"
    yield f"enum {{ {sizes} }};  // of a workgroup"
    yield f"enum {{ WAVE = {found.wave}, WAVES = {WAVES}, TILES = {found.tiles}, THREADS = {found.threads} }};"
    yield f"enum {{ VECTOR = {VECTOR} / sizeof(element) }};"
    yield "enum { A_LOADS = BLOCK_M * BLOCK_K / VECTOR / THREADS, B_LOADS = BLOCK_N * BLOCK_K / VECTOR / THREADS };"
    yield ""


def _helpers(found: Plan) -> Iterator[str]:
    yield "typedef union { vector whole; element each[VECTOR]; } elements;"
    yield ""
    parameters = "const element *matrix, int row, int rows, int column, int columns, int ld"
    yield "// VECTOR elements of a row of memory, zero beyond the matrix. A vector load needs aligned rows."
    yield f"static __device__ elements fetch({parameters}) {{"
    yield "    elements found = {};"
    yield "    const element *from = matrix + (long)row * ld + column;"
    yield "    if (row < rows && column + VECTOR <= columns && ld % VECTOR == 0) {"
    yield "        found.whole = *(const vector *)from;"
    yield "    } else if (row < rows) {"
    yield "#pragma unroll  // so that the elements stay in registers"
    yield "        for (int n = 0; n < VECTOR; ++n)"
    yield "            if (column + n < columns) found.each[n] = from[n];"
    yield "    }"
    yield "    return found;"
    yield "}"
    yield ""
    bits, base, shift = found.swizzle
    yield "// Where an element of a tile lies in LDS: the swizzle keeps reads and writes free of bank conflicts."
    yield "static __device__ int place(int row, int k) {"
    yield "    const int byte = (row * BLOCK_K + k) * (int)sizeof(element);"
    yield f"    return (byte ^ ((byte >> {shift}) & {((1 << bits) - 1) << base:#x})) / (int)sizeof(element);"
    yield "}"
    yield ""
    yield SYNCHRONIZE


def _body(found: Plan, builtin: Intrinsic, a: Fragment, b: Fragment, d: Fragment) -> Iterator[str]:
    inst = found.instruction
    yield 'extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS)))'
    output = memory_type(inst.format("D").name, "hip")
    yield f"void gemm_{inst.name[2:]}(const element *A, const element *B, {output} *D,"
    yield "    int M, int N, int K, int lda, int ldb, int ldd) {"
    yield from indented(_prologue(a, b, d))
    yield from indented(_loop(found, builtin, a, b))
    yield from indented(_epilogue(found, d, output))
    yield "}"
    yield ""


def _launch(found: Plan, sizes: tuple[int, int, int]) -> Iterator[str]:
    m, n, k = sizes
    grid = f"dim3({-(-m // found.block_m)}, {-(-n // found.block_n)})"
    name = f"gemm_{found.instruction.name[2:]}"
    yield ""
    lda, ldb = m if found.turned("a") else k, n if found.turned("b") else k
    yield f"// hipLaunchKernelGGL({name}, {grid}, dim3({found.threads}), 0, stream,"
    yield f"//                    A, B, D, {m}, {n}, {k}, {lda}, {ldb}, {n});  // A, B, D, M, N, K, lda, ldb, ldd"


def _prologue(a: Fragment, b: Fragment, d: Fragment) -> Iterator[str]:
    yield "__shared__ __attribute__((aligned(16))) element a_tile[2][BLOCK_M * BLOCK_K], b_tile[2][BLOCK_N * BLOCK_K];"
    yield "const int thread = __builtin_amdgcn_workitem_id_x();"
    yield "const int lane = thread % WAVE, wave = thread / WAVE;"
    yield "const int first_m = __builtin_amdgcn_workgroup_id_x() * BLOCK_M;"
    yield "const int first_n = __builtin_amdgcn_workgroup_id_y() * BLOCK_N;"
    yield "const int wave_m = wave / WAVES * (BLOCK_M / WAVES), wave_n = wave % WAVES * (BLOCK_N / WAVES);"
    for name, found in (("A", a), ("B", b), ("D", d)):
        yield f"// {name}: {found.operand.pattern}"
        yield from found.variables(name.lower())
    yield ""
    yield "result sum[TILES][TILES] = {};"
    yield "elements a_next[A_LOADS], b_next[B_LOADS];"
    yield ""


def _place_of_vector(found: Plan, side: str) -> str:
    """Which row and k a thread's vector begins at: along k, or along the rows where memory has those contiguous."""
    if not found.turned(side):
        return "const int at = (n * THREADS + thread) * VECTOR, row = at / BLOCK_K, k = at % BLOCK_K;"
    extent = found.block_m if side == "a" else found.block_n
    lanes = gcd(4, extent * found.element_bytes // VECTOR)  # take a line of up to 64 bytes of each k
    row = f"(at / ({lanes} * BLOCK_K) * {lanes} + at % {lanes}) * VECTOR" if lanes > 1 else "at / BLOCK_K * VECTOR"
    k = f"at / {lanes} % BLOCK_K" if lanes > 1 else "at % BLOCK_K"
    return f"const int at = n * THREADS + thread, k = {k}, row = {row};"


def _fetches(found: Plan, side: str) -> Iterator[str]:
    """A loop over the vectors that this thread fetches for the next stage."""
    extent, matrix, first = ("M", "A", "first_m") if side == "a" else ("N", "B", "first_n")
    place = (f"{first} + row", extent), ("next + k", "K")
    (row, rows), (column, columns) = reversed(place) if found.turned(side) else place
    yield f"for (int n = 0; n < {side.upper()}_LOADS; ++n) {{"
    yield f"    {_place_of_vector(found, side)}"
    yield f"    {side}_next[n] = fetch({matrix}, {row}, {rows}, {column}, {columns}, ld{side});"
    yield "}"


def _stores(found: Plan, side: str) -> Iterator[str]:
    """A loop over the vectors that this thread writes to LDS, turned over if memory has them the other way round."""
    yield f"for (int n = 0; n < {side.upper()}_LOADS; ++n) {{"
    yield f"    {_place_of_vector(found, side)}"
    if found.turned(side):
        yield f"    for (int e = 0; e < VECTOR; ++e) {side}_tile[buffer][place(row + e, k)] = {side}_next[n].each[e];"
    else:
        yield f"    *(vector *)&{side}_tile[buffer][place(row, k)] = {side}_next[n].whole;"
    yield "}"


def _loop(found: Plan, builtin: Intrinsic, a: Fragment, b: Fragment) -> Iterator[str]:
    yield "for (int next = 0, buffer = 1; next < K + BLOCK_K; next += BLOCK_K) {"
    yield "    // The next stage comes from global memory while this one is multiplied."
    yield "    if (next < K) {"
    for side in "ab":
        yield from (f"        {line}" for line in _fetches(found, side))
    yield "    }"
    yield "    if (next > 0) {"
    yield f"        for (int step = 0; step < {found.steps}; ++step) {{"
    yield from (f"            {line}" for line in _multiply(found, builtin, a, b))
    yield "        }"
    yield "    }"
    yield "    buffer ^= 1;"
    yield "    if (next < K) {"
    for side in "ab":
        yield from (f"        {line}" for line in _stores(found, side))
    yield "    }"
    yield "    synchronize();"
    yield "}"
    yield ""


def _multiply(found: Plan, builtin: Intrinsic, a: Fragment, b: Fragment) -> Iterator[str]:
    inst = found.instruction
    elements = _lane_elements(a) * found.kpack
    vectors = max(1, elements * found.element_bytes // VECTOR)
    for side, part, extent in (("a", a, inst.m), ("b", b, inst.n)):
        kinds = f"{side}_value part[{found.kpack}]; vector whole[{vectors}];"
        yield f"union {{ {kinds} }} {side}[TILES];"
        row, group = _row_and_group(part, side)
        k = f"step * {inst.k * found.kpack}" + (f" + ({group}) * {elements}" if group != "0" else "")
        yield "for (int tile = 0; tile < TILES; ++tile) {"
        yield f"    const int row = wave_{'m' if side == 'a' else 'n'} + tile * {extent} + {row}, k = {k};"
        yield f"    for (int n = 0; n < {vectors}; ++n)"
        yield f"        {side}[tile].whole[n] = *(const vector *)&{side}_tile[buffer][place(row, k + n * VECTOR)];"
        yield "}"
    arguments = {"a": "a[i].part[part]", "b": "b[j].part[part]", "c": "sum[i][j]", "a_signed": "1", "b_signed": "1"}
    call = ", ".join(arguments.get(name, "0") for name in builtin.arg_names)
    yield f"for (int part = 0; part < {found.kpack}; ++part)  // k is relabelled: the parts of a lane's elements"
    yield "    for (int i = 0; i < TILES; ++i)"
    yield "        for (int j = 0; j < TILES; ++j)"
    yield f"            sum[i][j] = {builtin.builtin}({call});"


def _row_and_group(found: Fragment, side: str) -> tuple[str, str]:
    """The row (of B: column) of a lane, and the number of its group of lanes along k."""
    outer, inner = ("row", "column") if side == "a" else ("column", "row")
    groups = [digit for digit in found.digits if getattr(digit, inner)]
    weights, weight = [], 1
    for digit in sorted(groups, key=lambda digit: getattr(digit, inner)):
        weights.append((weight, f"{side}_{digit.name}"))
        weight *= digit.size
    return found.first(outer, side), total(weights)


def _epilogue(found: Plan, d: Fragment, output: str) -> Iterator[str]:
    inst = found.instruction
    row, column = d.first("row", "d"), d.first("column", "d")
    slots = d.operand.registers * 32 // d.operand.format.bits
    yield f"const unsigned char rows[] = {{{', '.join(str(item.row) for item in d.items)}}};  // of a lane's elements"
    yield f"const unsigned char slots[] = {{{', '.join(str(item.slot) for item in d.items)}}};"
    yield "for (int i = 0; i < TILES; ++i)"
    yield "    for (int j = 0; j < TILES; ++j) {"
    yield f"        union {{ result whole; {output} each[{slots}]; }} found = {{sum[i][j]}};"
    yield f"        const int column = first_n + wave_n + j * {inst.n} + {column};"
    yield f"        for (int n = 0; n < {len(d.items)}; ++n) {{"
    yield f"            const int row = first_m + wave_m + i * {inst.m} + {row} + rows[n];"
    yield "            if (row < M && column < N) D[(long)row * ldd + column] = found.each[slots[n]];"
    yield "        }"
    yield "    }"
