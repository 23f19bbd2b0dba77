"""What NVIDIA's attention kernels with TMA share: tensor maps, a ring of tiles of K and V, the warp that copies them.

Q, K and V lie in shared memory as memory has them, in panels of 128 bytes of a row (of 64 or 32 where the head asks for
it): K-major for Q K^T, and V, whose rows are k of P V, MN-major. One thread waits until a place of the ring is free,
says how many bytes will come, and starts the tensor copies; their arrival completes the place's mbarrier, for which
whoever multiplies waits. Tiles take turns: K, V, K, V ...

Sources: as of `mmacalc.codegen.tensor_copies`.
"""

from __future__ import annotations

from .attention_launch import counts_passed, extents_of
from .attention_parts import constants, head, places, result_type
from .ptx import ENTRY_OF_ONE_BLOCK
from .source import indented
from .tensor_copies import ARRIVE, MBARRIERS, TENSOR_MAP, VECTOR, offsets, swizzle_name
from .wgmma import ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .attention import Problem
    from .attention_cuda_plan import CudaAttentionPlan
    from .attention_parts import Held
    from .staging import Side

__all__ = ["copying", "descriptor", "kernel_head", "launch", "step_offset", "top"]

COPY_TILE = """\
// Starts to copy rows of a head, panel after panel, to shared memory; `full` ends a phase when they are there.
static __device__ void copy_tile(unsigned int to, const tensor_map *map, int bytes, int panels, int width, int row,
                                 int head, int batch, unsigned int full) {
    arrive_and_expect(full, bytes);
    for (int panel = 0; panel < panels; ++panel)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3, %4, %5}], [%6];"
                     : : "r"(to + panel * (bytes / panels)), "l"(map), "r"(panel * width), "r"(row), "r"(head),
                     "r"(batch), "r"(full) : "memory");
}

// The tiles of K and V take turns in the ring: where a tile is, and waiting until it has come.
static __device__ unsigned int tile_of(unsigned int ring, int turn) { return ring + turn % STAGES * STAGE_BYTES; }

static __device__ void wait_for_tile(unsigned int full, int turn) {
    wait(full + turn % STAGES * 8, turn / STAGES % 2);
}

static __device__ void wait_for_place(unsigned int empty, int turn) {
    if (turn >= STAGES) wait(empty + turn % STAGES * 8, (turn / STAGES - 1) % 2);
}
"""


def top(found: CudaAttentionPlan, held: Held) -> Iterator[str]:
    """The source down to the functions for tensor copies."""
    yield from head(found)
    yield from constants(found, held)
    assert found.q
    sizes = [f"{side.name}_BYTES = {side.tile.bytes}" for side in (found.q, found.k, found.v)]
    yield f"enum {{ GROUPS = {found.groups}, {', '.join(sizes)} }};  // groups of LANES queries, tiles"
    yield f"enum {{ STAGES = {found.stages}, STAGE_BYTES = {found.stage_bytes} }};  // of K and V in shared memory"
    yield ""
    yield f"{TENSOR_MAP}\n{MBARRIERS}\n{ARRIVE}\n{COPY_TILE}"


def kernel_head(found: CudaAttentionPlan, barriers: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """The kernel's parameters, its place, and its mbarriers.

    Args:
        barriers: for each further array of mbarriers how many it has, and their arrivals.
    """
    yield ENTRY_OF_ONE_BLOCK
    yield f"{found.name}("
    yield "    const __grid_constant__ tensor_map Q, const __grid_constant__ tensor_map K,"
    d = f"{result_type(found)} *O, float *L"
    yield f"    const __grid_constant__ tensor_map V, {d}, int M, int N, int heads, int group,"
    yield "    float scale, int o_row, long long o_head, long long o_batch) {"
    yield from indented(_shared(barriers))
    if found.turned:
        yield "    const unsigned int turned_tiles = ring + STAGES * STAGE_BYTES;  // V turned over"
    yield from indented(places(found))
    yield from indented(_begun(barriers))


def _shared(barriers: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    yield "extern __shared__ unsigned char memory[];  // Q, the ring of K and V, and up to 1024 to align them"
    more = "".join(f", {name}[{count}]" for name, (count, _) in barriers.items())
    yield f"__shared__ unsigned long long q_came[GROUPS], came[STAGES]{more};"
    yield "const unsigned int q_tiles = (shared_address(memory) + 1023) & ~1023u, ring = q_tiles + GROUPS * Q_BYTES;"
    for name in ("q_came", "came", *barriers):
        yield f"const unsigned int {name}_at = shared_address({name});"


def _begun(barriers: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    every = {"q_came": ("GROUPS", "1"), "came": ("STAGES", "1"), **barriers}
    yield "if (thread == 0) {"
    for name, (count, arrivals) in every.items():
        yield f"    for (int n = 0; n < {count}; ++n) begin({name}_at + 8 * n, {arrivals});"
    yield '    asm volatile("fence.mbarrier_init.release.cluster;\\n"'
    yield '                 "fence.proxy.async.shared::cta;" ::: "memory");'
    yield "}"


def copying(found: CudaAttentionPlan) -> Iterator[str]:
    """What the one thread does that copies."""
    assert found.q
    yield "for (int n = 0; n < GROUPS && first_key < keys; ++n)"
    yield f"    copy_tile(q_tiles + n * Q_BYTES, &Q, {_copied(found.q)},"
    yield f"              block_m + n * {found.instruction.m}, head, batch, q_came_at + 8 * n);"
    yield "const int kv_head = head / group;"
    yield "#pragma unroll 1"
    yield "for (int key = first_key, turn = 0; key < keys; key += BLOCK_N) {"
    for side in (found.k, found.v):
        yield "    wait_for_place(free_at, turn);"
        yield f"    copy_tile(tile_of(ring, turn), &{side.name}, {_copied(side)}, key, kv_head, batch,"
        yield "              came_at + turn % STAGES * 8);"
        yield "    ++turn;"
    yield "}"


def _copied(side: Side) -> str:
    """The bytes, panels and elements of a panel's row."""
    return f"{side.name}_BYTES, {side.tile.row_bytes // side.panel}, {side.panel // side.bytes}"


def descriptor(side: Side, address: str, codes: Mapping[str, int]) -> str:
    """The matrix descriptor of a tile: Q, K and a V turned over are K-major, V is MN-major.

    Args:
        address: in shared memory, as C text. codes: of swizzles.
    """
    leading, stride = offsets(side) if side.name == "V" else (VECTOR, ROWS * side.panel)
    return f"descriptor_at({address}, {leading}, {stride}, {codes[swizzle_name(side)]})"


def step_offset(side: Side, step: int, k: int) -> int:
    """What is added to a descriptor for a step along k: of Q and K along the head, of V along the keys."""
    if side.name == "V":
        return step * k * side.panel // VECTOR
    byte = step * k * side.bytes
    return (byte // side.panel * side.tile.rows * side.panel + byte % side.panel) // VECTOR


def launch(found: CudaAttentionPlan, sizes: Problem) -> Iterator[str]:
    """The launch line, and the tensor maps."""
    assert found.q
    of_keys = (sizes.keys, sizes.kv_heads, sizes.batches)
    shapes = (sizes.head, sizes.queries, sizes.heads, sizes.batches), (sizes.head, *of_keys), (sizes.head_v, *of_keys)
    yield "// Tensor maps of (element, row, head, batch):"
    for side, shape, box in zip((found.q, found.k, found.v), shapes, found.boxes):
        dimensions, extents = (" x ".join(map(str, each)) for each in (shape, box[::-1]))
        yield f"// {side.name}_map: dimensions {dimensions}; box {extents}, swizzle {swizzle_name(side)}"
    blocks = -(-sizes.queries // found.block_m)
    yield f"// cudaFuncSetAttribute({found.name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {found.shared});"
    yield f"// {found.name}<<<dim3({blocks}, {sizes.heads}, {sizes.batches}), {found.threads}, {found.shared}>>>("
    rows, heads, batches = extents_of(sizes)
    yield f"//     Q_map, K_map, V_map, O, nullptr, {counts_passed(sizes)},"
    yield f"//     {rows[3]}, {heads[3]}, {batches[3]});"
    yield "//     the maps, O, L, M, N, heads, group, scale; strides of O's rows, heads, batches"
